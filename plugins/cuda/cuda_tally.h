/* cuda_tally.h - counters of this process: added to by the calls of all its
 * threads, read by one. No lock but around allocations, no memory from the
 * heap. */
#ifndef JP_CUDA_TALLY_H
#define JP_CUDA_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "plugins/cuda/cuda_file.h"

/* CUPTI's callback (cupti_function). */
void cuda_tally_see(void *arg, int domain, uint32_t id, const void *data);

/* The numbers of the calls that it wants, one after the other: 0 ends them.
 * i: from 0 on. */
uint32_t cuda_tally_wants(unsigned i);

/* The sums now, without time and check sum. */
void cuda_tally_take(struct cuda_file_record *record);

/* Nothing is counted any more: of a child that fork() made. */
void cuda_tally_stop(void);

#endif
