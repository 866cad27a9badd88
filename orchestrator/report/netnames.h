/* netnames.h - a network cell's kind in a reader's words. */
#ifndef JP_REPORT_NETNAMES_H
#define JP_REPORT_NETNAMES_H

#include "orchestrator/insight/netcells.h"

#define NETNAMES_LEN 160

/* "nvswitch, ib"; without labels "mixed". Each into buf of NETNAMES_LEN, which
 * it returns. */
char *netnames_link(const struct jp_netkey *key, char *buf);
/* "16 ranks on 2 nodes" */
char *netnames_shape(const struct jp_netkey *key, char *buf);
/* "nvswitch, ib, 16r/2n": ranks and nodes in short */
char *netnames_kind(const struct jp_netkey *key, char *buf);
/* "AllReduce, nvswitch, ib, 16 ranks on 2 nodes" */
char *netnames_series(const struct jp_netkey *key, char *buf);

#endif
