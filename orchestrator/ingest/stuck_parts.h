/* stuck_parts.h - for stuck_*.c only. */
#ifndef JP_INGEST_STUCK_PARTS_H
#define JP_INGEST_STUCK_PARTS_H

#include "orchestrator/ingest/stuck_file.h"

/* Sorts the operations into groups and says what every rank has done of each.
 * 0, or -1 without memory. */
int stuck_group_ops(struct jp_stuck *stuck, const struct progress *progress);

/* The process of a rank of a group, NULL: none is known. */
const struct stuck_process *stuck_process_of(const struct jp_stuck *stuck,
                                             const struct stuck_group *group,
                                             uint32_t rank);

#endif
