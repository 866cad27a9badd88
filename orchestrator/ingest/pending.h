/* pending.h - the operations that a recorder's file says had not ended.
 *
 *     while (... each record of a file, in order ...)
 *         pending_add(&pending, &record);
 *     pending_settle(&pending);
 *     ... pending.ops[0..n) and pending.cut_short[0..n_cut_short) ...
 *
 * A snapshot replaces the one before it; an operation that ends behind the last
 * snapshot is no longer pending. One that finalize or exit ended (a watchdog's
 * abort of a hang) stays: it was in flight then. At most PENDING_MAX of either
 * are kept; the rest, and what the recorder had no room for, is counted.
 */
#ifndef JP_INGEST_PENDING_H
#define JP_INGEST_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr_read.h"

#define PENDING_MAX 16384
#define PENDING_TEXTS 256 /* different names; more are told as "?" */

struct pending_op {
    struct jpr_op op; /* texts belong to the pending */
    bool ended;       /* false behind pending_settle */
    uint32_t next;    /* 1 over the next one of its bucket; 0: none */
    /* when it was in flight still, at the latest that the file tells */
    uint64_t until_mono_ns;
};

struct jp_pending {
    struct pending_op *ops;
    size_t n;
    uint64_t left_out;
    uint64_t at_mono_ns;          /* of the snapshot; 0: there was none */
    uint32_t left;                /* of the snapshot, still to come */
    struct pending_op *cut_short; /* by finalize or exit */
    size_t n_cut_short, n_dated;  /* dated: until is known */
    uint64_t told_mono_ns;        /* the last counters; 0: there were none */
    /* the snapshot's operations that have not ended, by what tells them apart;
     * 1 over the first; NULL until there are any */
    uint32_t *buckets;
    char *texts[PENDING_TEXTS];
    size_t n_texts;
};

/* 0, or -1 without memory (what is kept so far stays good). */
int pending_add(struct jp_pending *pending, const struct jpr_record *record);
/* At the end of the file: only what has not ended stays. */
void pending_settle(struct jp_pending *pending);
/* Ready for another file; texts stay. */
void pending_clear(struct jp_pending *pending);
void pending_fini(struct jp_pending *pending);

#endif
