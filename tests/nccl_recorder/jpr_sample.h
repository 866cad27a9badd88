/* jpr_sample.h - a small recorder file in memory, with every member set. */
#ifndef JP_JPR_SAMPLE_H
#define JP_JPR_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_frame.h"

enum { SAMPLE_OPS = 10, SAMPLE_INFLIGHT = 3 };

extern const struct jpr_header sample_header;
extern const struct jpr_process sample_process;
extern const struct jpr_comm sample_comms[2];
extern const struct jpr_op sample_ops[SAMPLE_OPS];
extern const struct jpr_op sample_inflight[SAMPLE_INFLIGHT];
extern const struct jpr_counters sample_counters; /* final */
extern const struct jpr_room sample_room;

struct sample {
    uint8_t bytes[4 * 1024 * 1024];
    size_t n;
    size_t ends[16]; /* where each block ends, the head first */
    int n_ends;
};

void sample_begin(struct sample *file);
void sample_block(struct sample *file, enum jpr_block type, const void *raw,
                  size_t n, struct jpr_zip *zip);
/* Operations as one block of that type. */
void sample_ops_block(struct sample *file, enum jpr_block type,
                      const struct jpr_op *ops, int n, struct jpr_zip *zip);
/* Times of operations as one block. */
void sample_times_block(struct sample *file, uint64_t settled,
                        const struct jpr_times *times, int n,
                        struct jpr_zip *zip);
/* The whole file: header, process, communicators, operations, their times that
 * came later, snapshot, "nothing in flight", counters; packed where `zip` is
 * not NULL. */
void sample_fill(struct sample *file, struct jpr_zip *zip);

#endif
