/* medium.h - what a communicator runs over, in a few words. */
#ifndef JP_REPORT_MEDIUM_H
#define JP_REPORT_MEDIUM_H

#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/aggregate/aggregate.h"

/* "nvswitch + ib, rail aligned, HCA PIX (!)"; "-" where it has no label. The
 * mark stands for warnings. Returns buf. */
char *medium_text(const struct jp_comm *comm, char *buf, size_t size);

/* Some part of the label is known. */
bool medium_known(const struct jp_comm *comm);

#endif
