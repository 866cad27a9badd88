/* jpr_maker.h - write a recorder's file, for tests and the benchmark.
 *
 * Goes through the codec's own writing side; dies on any failure. Counters are
 * kept as a recorder would: produced = written + lost + left out + in flight.
 */
#ifndef JP_TESTS_JPR_MAKER_H
#define JP_TESTS_JPR_MAKER_H

#include <stdbool.h>
#include <stdio.h>

#include "plugins/nccl_recorder/jpr_frame.h"

/* Clocks of every file: CLOCK_MONOTONIC 1 s is 2023-11-14 22:13:20 UTC. */
#define JPR_MAKER_MONO_NS UINT64_C(1000000000)
#define JPR_MAKER_REAL_NS UINT64_C(1700000000000000000)

struct jpr_maker {
    FILE *out;
    struct jpr_packer *packer;
    struct jpr_zip *zip;
    bool open; /* a block of operations has begun */
    struct jpr_counters counters;
    struct jpr_comm_counts rows[64];
    struct jpr_unseen unseen[8];
    struct jpr_pause pauses[JPR_MAX_PAUSES];
    uint8_t block[2 * JPR_MAX_RAW_BYTES];
};

/* The texts of an operation that has none, for initialisers. */
#define JPR_MAKER_NO_TEXTS                                                     \
    .datatype = "", .algo = "", .proto = "", .api_func = "", .api_datatype = ""

/* The caller keeps out. */
struct jpr_maker *jpr_maker_create(FILE *out);
/* Blocks are not compressed from now on. */
void jpr_maker_store(struct jpr_maker *maker);
void jpr_maker_header(struct jpr_maker *maker, const char *host, uint64_t pid,
                      int64_t task, const char *note);
/* The same of a process that need be no task: what it says of itself is given
 * (NULL: nothing, as in files of older releases). */
void jpr_maker_header_of(struct jpr_maker *maker, const char *host,
                         uint64_t pid, int64_t task, const char *note,
                         const struct jpr_process *process);
void jpr_maker_comm(struct jpr_maker *maker, const struct jpr_comm *comm);
/* The texts of op must be valid until the next flush. */
void jpr_maker_op(struct jpr_maker *maker, const struct jpr_op *op);
void jpr_maker_flush(struct jpr_maker *maker);
void jpr_maker_snapshot(struct jpr_maker *maker, uint64_t at_mono_ns,
                        const struct jpr_op *ops, size_t n);
/* Part of the next counters; func must be valid until then. */
void jpr_maker_unseen(struct jpr_maker *maker, uint32_t comm, const char *func,
                      uint64_t calls);
/* A time in which the recording was off. It is in all counters that follow. */
void jpr_maker_pause(struct jpr_maker *maker, const struct jpr_pause *pause);
/* lost and left_out count as collectives of the first row. Flushes. */
void jpr_maker_counters(struct jpr_maker *maker, uint64_t at_mono_ns,
                        bool final, uint64_t lost, uint64_t left_out);
void jpr_maker_destroy(struct jpr_maker *maker); /* flushes */

/* An operation that was enqueued at start, whose kernel began 10 us later and
 * ran for exec_us. */
void jpr_maker_times(struct jpr_op *op, uint64_t start_mono_ns,
                     uint64_t exec_us);

#endif
