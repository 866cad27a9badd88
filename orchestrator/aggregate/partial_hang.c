/* partial_hang.c - what a recording tells of operations that had not ended. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/partial_parts.h"

/* flags of a process; of an operation */
enum { IS_FINAL = 1, IS_BUSY = 2, IS_DAMAGED = 4 };
enum { WAS_CUT_SHORT = 1, IS_CAPTURED = 2 };

/* At least so many bytes each. */
enum { ROW_BYTES = 7, OP_BYTES = 15 };

/* Series of a file; 100 B each when they are read. */
enum { MAX_ROWS = 1 << 18 };

static void put_process(struct jpr_out *out, const struct stuck_process *p)
{
    jpr_put_text(out, p->host);
    jpr_put_i64(out, p->pid);
    jpr_put_i64(out, p->task);
    jpr_put_u64(out, (p->final ? IS_FINAL : 0u) | (p->busy ? IS_BUSY : 0u) |
                         (p->damaged ? IS_DAMAGED : 0u));
    jpr_put_u64(out, (uint64_t) p->counted_ns);
    jpr_put_u64(out, (uint64_t) p->last_ns);
}

static void put_row(struct jpr_out *out, const struct progress_row *row,
                    uint64_t last_hash)
{
    jpr_put_delta(out, row->hash, last_hash);
    jpr_put_i64(out, row->n_ranks);
    jpr_put_i64(out, row->rank);
    jpr_put_u64(out, row->kind);
    jpr_put_text(out, row->func);
    jpr_put_u64(out, row->ended);
    jpr_put_u64(out, row->begun);
}

static void put_op(struct jpr_out *out, const struct stuck_op *op,
                   uint64_t last_hash)
{
    jpr_put_delta(out, op->hash, last_hash);
    jpr_put_text(out, op->name);
    jpr_put_text(out, op->func);
    jpr_put_u64(out, op->kind);
    jpr_put_i64(out, op->n_ranks);
    jpr_put_i64(out, op->rank);
    jpr_put_i64(out, op->peer);
    jpr_put_u64(out, op->seq);
    jpr_put_u64(out, op->bytes);
    jpr_put_u64(out, (uint64_t) op->start_ns);
    jpr_put_u64(out, (uint64_t) op->until_ns);
    jpr_put_u64(out, (op->cut_short ? WAS_CUT_SHORT : 0u) |
                         (op->captured ? IS_CAPTURED : 0u));
    jpr_put_u64(out, op->channels);
    jpr_put_u64(out, op->started);
    jpr_put_u64(out, op->stopped);
}

static void put_evidence(struct jpr_out *out, const void *arg)
{
    const struct stuck_evidence *e = arg;
    uint64_t hash = 0;

    put_process(out, &e->process);
    jpr_put_u64(out, e->left_out);
    jpr_put_u64(out, e->progress.n);
    for (size_t i = 0; i < e->progress.n && !out->full; i++) {
        put_row(out, &e->progress.rows[i], hash);
        hash = e->progress.rows[i].hash;
    }
    jpr_put_u64(out, e->n_ops);
    for (size_t i = 0; i < e->n_ops && !out->full; i++) {
        put_op(out, &e->ops[i], hash);
        hash = e->ops[i].hash;
    }
}

int partial_put_hang(struct partial_out *w, struct stuck_evidence *evidence)
{
    if (evidence->progress.n > MAX_ROWS)
        return error_set(w->err, "a recording has too many communicators");
    progress_sort(&evidence->progress); /* small differences */
    return partial_put_block(w, PARTIAL_HANG, put_evidence, evidence);
}

static int64_t get_time(struct jpr_in *in)
{
    return (int64_t) jpr_get_bounded(in, INT64_MAX);
}

static bool get_process(struct jpr_in *in, struct stuck_process *p)
{
    bool good = partial_get_short(in, p->host, sizeof(p->host));
    uint64_t flags;

    p->pid = jpr_get_i64(in);
    p->task = jpr_get_i64(in);
    flags = jpr_get_bounded(in, IS_FINAL | IS_BUSY | IS_DAMAGED);
    p->final = flags & IS_FINAL;
    p->cut = !p->final;
    p->busy = flags & IS_BUSY;
    p->damaged = flags & IS_DAMAGED;
    p->counted_ns = get_time(in);
    p->last_ns = get_time(in);
    return good && !in->bad;
}

static bool get_row(struct jpr_in *in, struct progress_row *row,
                    uint64_t last_hash)
{
    bool good;

    row->hash = jpr_get_delta(in, last_hash);
    row->n_ranks = jpr_get_i64(in);
    row->rank = jpr_get_i64(in);
    row->kind = (unsigned) jpr_get_bounded(in, JPR_N_OP_KINDS);
    good = partial_get_short(in, row->func, sizeof(row->func));
    row->ended = jpr_get_u64(in);
    row->begun = jpr_get_u64(in);
    return good && !in->bad;
}

static bool get_rows(struct jpr_in *in, struct progress *progress,
                     uint64_t *hash)
{
    size_t left = (size_t) (in->end - in->at) / ROW_BYTES;
    uint64_t n = jpr_get_bounded(in, left < MAX_ROWS ? left : MAX_ROWS);

    for (uint64_t i = 0; i < n; i++) {
        struct progress_row row = {0};

        if (!get_row(in, &row, *hash) || progress_add(progress, &row) < 0)
            return false;
        *hash = row.hash;
    }
    return !in->bad;
}

static bool get_op(struct jpr_in *in, struct stuck_op *op, uint64_t last_hash)
{
    uint64_t flags;

    op->hash = jpr_get_delta(in, last_hash);
    recfile_id(op->hash, op->id);
    if (!partial_get_short(in, op->name, sizeof(op->name)) ||
        !partial_get_short(in, op->func, sizeof(op->func)))
        return false;
    op->kind = (enum jpr_op_kind) jpr_get_bounded(in, JPR_N_OP_KINDS - 1);
    op->n_ranks = jpr_get_i64(in);
    op->rank = jpr_get_i64(in);
    op->peer = jpr_get_i64(in);
    op->seq = jpr_get_u64(in);
    op->bytes = jpr_get_u64(in);
    op->start_ns = get_time(in);
    op->until_ns = get_time(in);
    flags = jpr_get_bounded(in, WAS_CUT_SHORT | IS_CAPTURED);
    op->cut_short = flags & WAS_CUT_SHORT;
    op->captured = flags & IS_CAPTURED;
    op->channels = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    op->started = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    op->stopped = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    return !in->bad;
}

static bool get_ops(struct jpr_in *in, struct stuck_evidence *e, uint64_t hash)
{
    size_t left = (size_t) (in->end - in->at) / OP_BYTES;
    size_t n = (size_t) jpr_get_bounded(
        in, left < 2 * PENDING_MAX ? left : 2 * PENDING_MAX);

    e->ops = n ? calloc(n, sizeof(*e->ops)) : NULL;
    if (n && !e->ops)
        return false;
    for (e->n_ops = 0; e->n_ops < n; e->n_ops++) {
        if (!get_op(in, &e->ops[e->n_ops], hash))
            return false;
        hash = e->ops[e->n_ops].hash;
    }
    return !in->bad;
}

int partial_get_hang(struct jpr_in *in, struct stuck_evidence *evidence)
{
    struct stuck_evidence e = {0};
    uint64_t hash = 0;
    bool good = get_process(in, &e.process);

    e.left_out = jpr_get_bounded(in, UINT64_C(1) << 40);
    if (good && get_rows(in, &e.progress, &hash) && get_ops(in, &e, hash)) {
        *evidence = e;
        return 0;
    }
    stuck_evidence_fini(&e);
    return -1;
}
