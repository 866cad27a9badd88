/* recfile_tail.h - what recfile_next keeps of a file's last state: for
 * recfile*.c only.
 */
#ifndef JP_INGEST_RECFILE_TAIL_H
#define JP_INGEST_RECFILE_TAIL_H

#include "orchestrator/ingest/recfile.h"

/* Copies text, cut at a whole character. */
void recfile_copy(char *out, size_t size, const char *text);

/* Each takes a record of its type into file->tail (counters also into the
 * communicators). 0, or -1 without memory. */
int recfile_tail_counters(struct jp_recfile *file,
                          const struct jpr_counters *counters);
void recfile_tail_inflight(struct jp_recfile *file,
                           const struct jpr_inflight *in);
void recfile_tail_op(struct jp_recfile *file, const struct jpr_op *op);

#endif
