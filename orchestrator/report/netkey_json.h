/* netkey_json.h - a network cell's key and distributions as JSON, both ways:
 * in summary.json and in baselines.
 */
#ifndef JP_REPORT_NETKEY_JSON_H
#define JP_REPORT_NETKEY_JSON_H

#include <jansson.h>

#include "common/json_stream.h"
#include "orchestrator/insight/netcells.h"

/* fabric, inter, comm_type, n_ranks, n_hosts, gpu, coll, size_from_bytes,
 * size_to_bytes. */
void netkey_put(struct jp_json_stream *s, const struct jp_netkey *key);
/* p5, p50, p95; null where there is none. */
void netkey_put_quantiles(struct jp_json_stream *s, const char *name,
                          const struct jp_bwhist *hist);
/* [[bucket, count], ...] */
void netkey_put_hist(struct jp_json_stream *s, const char *name,
                     const struct jp_bwhist *hist);

/* From foreign JSON; -1 and err names the key. *key, *hist (empty before; fini
 * in any case) as far as they were read. */
int netkey_read(const json_t *row, struct jp_netkey *key, struct jp_error *err);
int netkey_read_hist(const json_t *row, const char *name,
                     struct jp_bwhist *hist, struct jp_error *err);

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
