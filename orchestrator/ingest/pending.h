/* pending.h - the operations that a recorder's file says had not ended.
 *
 *     while (... each record of a file, in order ...)
 *         pending_add(&pending, &record);
 *     pending_settle(&pending);
 *     ... pending.ops[0..n) ...
 *
 * A snapshot replaces the one before it; an operation that ends behind the last
 * snapshot is no longer pending. At most PENDING_MAX are kept; the rest, and
 * what the recorder had no room for, is counted.
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
};

struct jp_pending {
    struct pending_op *ops;
    size_t n;
    uint64_t left_out;
    uint64_t at_mono_ns; /* of the snapshot; 0: there was none */
    uint32_t left;       /* of the snapshot, still to come */
    size_t first;        /* all before have ended */
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
