/* neighbours.h - operations of one launch in NCCL Inspector's verbose logs.
 *
 * As in launches.h, but a log has no launches: lines next to each other, of one
 * communicator and rank, tell of one batch where their times (by the GPU) are
 * the same to a microsecond and the host saw them begin and end within half of
 * that of each other. Operations that follow each other are a whole time apart.
 * Lines whose stamps by the host do not go with the GPU's time say nothing, nor
 * do times below 20 us. Logs without verbose traces cannot be told.
 */
#ifndef JP_NCCL_INSPECTOR_NEIGHBOURS_H
#define JP_NCCL_INSPECTOR_NEIGHBOURS_H

#include "plugins/nccl_recorder/launches.h"

struct neighbours;

/* Of one file; take is called with arg. NULL without memory. Destroy takes
 * NULL, and drops what is held. */
struct neighbours *neighbours_create(launches_take *take, void *arg);
void neighbours_destroy(struct neighbours *neighbours);

/* Takes a record with start and end; texts are copied. 0, or what take said. */
int neighbours_add(struct neighbours *neighbours, const struct record *record);

/* All that is held: at the end of the file, and before a record that is not
 * given to neighbours_add. */
int neighbours_flush(struct neighbours *neighbours);

#endif
