/* How many records there must be: the counts file beside the log.
 *
 * The analysis needs the number of operations that were started to say how
 * complete the records are. One JSON object, replaced as a whole:
 *
 *   {"schema":1,"hostname":"n1","pid":7,"procid":0,"nodeid":0,"localid":0,
 *    "nccl_interface":"v6","records_written":200,"records_lost":0,
 *    "comms":[{"id":"0x1f","name":"dp","rank":0,"n_ranks":8,"nnodes":2,
 *              "produced":{"AllReduce":200},"written":{"AllReduce":200},
 *              "lost":{},"finalized":true}]}
 *
 * procid, nodeid, localid are Slurm's, null outside a step. Functions without
 * a count are left out. n_ranks and nnodes are 0 where NCCL did not tell
 * (v1 to v3). produced - written - lost operations were pending when the file
 * was written; it may be a second older than the log's last line.
 */
#ifndef JP_REC_COUNTS_H
#define JP_REC_COUNTS_H

#include <stdbool.h>

/* The interface in use, for "nccl_interface": 1 to 6. */
void rec_counts_interface(int version);

/* Writes the file if anything changed since the last time and at least one
 * operation was started. 0, or -1 when it could not be written. */
int rec_counts_write(void);

/* In a forked child: nothing was written yet. */
void rec_counts_after_fork(void);

#endif
