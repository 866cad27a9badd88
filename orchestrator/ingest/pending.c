/* pending.c - the last snapshot of what is in flight. */
#include "orchestrator/ingest/pending.h"

#include <stdlib.h>
#include <string.h>

/* A lasting copy of a text, "?" where there is no room. */
static const char *lasting(struct jp_pending *pending, const char *text)
{
    size_t n = pending->n_texts;

    for (size_t i = 0; i < n; i++)
        if (!strcmp(pending->texts[i], text))
            return pending->texts[i];
    if (n == PENDING_TEXTS || !(pending->texts[n] = strdup(text)))
        return "?";
    return pending->texts[pending->n_texts++];
}

/* Adds to a list of *n. */
static int keep(struct jp_pending *pending, struct pending_op **ops, size_t *n,
                const struct jpr_op *op)
{
    struct pending_op *more;
    struct jpr_op *copy;

    if (*n == PENDING_MAX) {
        pending->left_out++;
        return 0;
    }
    if (!(*n & (*n - 1))) {
        more = reallocarray(*ops, *n ? 2 * *n : 1, sizeof(*more));
        if (!more)
            return -1;
        *ops = more;
    }
    (*ops)[*n] = (struct pending_op){.op = *op};
    copy = &(*ops)[*n].op;
    copy->func = lasting(pending, op->func);
    copy->datatype = lasting(pending, op->datatype);
    copy->algo = lasting(pending, op->algo);
    copy->proto = lasting(pending, op->proto);
    copy->api_func = lasting(pending, op->api_func);
    copy->api_datatype = lasting(pending, op->api_datatype);
    ++*n;
    return 0;
}

/* --------------------------------------------------------------- snapshot --
 */

/* Which bucket: the salt keeps a file from filling one of them. */
static uint32_t *bucket_of(const struct jp_pending *pending,
                           const struct jpr_op *op)
{
    static char salt;
    uint64_t hash = (uintptr_t) &salt ^ (uint64_t) op->comm << 32 ^ op->kind;

    hash = (hash ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ op->seq ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    for (const char *c = op->func; *c; c++)
        hash = (hash ^ (unsigned char) *c ^ hash >> 32) *
               UINT64_C(0x9e3779b97f4a7c15);
    return &pending->buckets[(hash ^ hash >> 32) % PENDING_MAX];
}

/* One of the snapshot into its bucket. */
static void put(struct jp_pending *pending, size_t i)
{
    uint32_t *at = bucket_of(pending, &pending->ops[i].op);

    pending->ops[i].next = *at;
    *at = (uint32_t) i + 1;
}

static int keep_inflight(struct jp_pending *pending, const struct jpr_op *op)
{
    size_t before = pending->n;

    if (!pending->buckets) {
        pending->buckets = calloc(PENDING_MAX, sizeof(*pending->buckets));
        if (!pending->buckets)
            return -1;
    }
    if (keep(pending, &pending->ops, &pending->n, op) < 0)
        return -1;
    if (pending->n > before)
        put(pending, before);
    return 0;
}

/* An operation that has ended since the snapshot. */
static void mark_ended(struct jp_pending *pending, const struct jpr_op *op)
{
    uint32_t *at = pending->n ? bucket_of(pending, op) : NULL;

    while (at && *at) {
        struct pending_op *p = &pending->ops[*at - 1];

        if (p->op.seq == op->seq && p->op.comm == op->comm &&
            p->op.kind == op->kind && !strcmp(p->op.func, op->func)) {
            p->ended = true;
            *at = p->next;
            return;
        }
        at = &p->next;
    }
}

static void clear_snapshot(struct jp_pending *pending)
{
    for (size_t i = 0; i < pending->n; i++)
        *bucket_of(pending, &pending->ops[i].op) = 0;
    pending->n = 0;
    pending->left_out = 0;
    pending->at_mono_ns = 0;
    pending->left = 0;
}

void pending_clear(struct jp_pending *pending)
{
    clear_snapshot(pending);
    pending->n_cut_short = pending->n_dated = 0;
    pending->told_mono_ns = 0;
}

static int take_op(struct jp_pending *pending, const struct jpr_op *op)
{
    mark_ended(pending, op);
    return op->incomplete && !op->overtaken
               ? keep(pending, &pending->cut_short, &pending->n_cut_short, op)
               : 0;
}

/* Finalize and exit write counters right behind what they cut short. */
static void take_counters(struct jp_pending *pending,
                          const struct jpr_counters *counters)
{
    pending->told_mono_ns = counters->clocks.mono_ns;
    while (pending->n_dated < pending->n_cut_short)
        pending->cut_short[pending->n_dated++].until_mono_ns =
            pending->told_mono_ns;
}

static int take_inflight(struct jp_pending *pending,
                         const struct jpr_inflight *in)
{
    if (!pending->left || in->at_mono_ns != pending->at_mono_ns) {
        clear_snapshot(pending);
        pending->left_out = in->omitted;
    }
    pending->at_mono_ns = in->at_mono_ns;
    pending->left = in->left;
    return in->none ? 0 : keep_inflight(pending, &in->op);
}

int pending_add(struct jp_pending *pending, const struct jpr_record *record)
{
    switch (record->type) {
    case JPR_OP:
        return take_op(pending, record->op);
    case JPR_INFLIGHT:
        return take_inflight(pending, record->inflight);
    case JPR_COUNTERS:
        take_counters(pending, record->counters);
        return 0;
    default:
        return 0;
    }
}

void pending_settle(struct jp_pending *pending)
{
    uint64_t last = pending->at_mono_ns > pending->told_mono_ns
                        ? pending->at_mono_ns
                        : pending->told_mono_ns;
    size_t kept = 0;

    for (size_t i = 0; i < pending->n; i++)
        *bucket_of(pending, &pending->ops[i].op) = 0; /* they move */
    for (size_t i = 0; i < pending->n; i++)
        if (!pending->ops[i].ended) {
            pending->ops[kept] = pending->ops[i];
            pending->ops[kept++].until_mono_ns = last;
        }
    pending->n = kept;
    for (size_t i = 0; i < kept; i++)
        put(pending, i);
    while (pending->n_dated < pending->n_cut_short)
        pending->cut_short[pending->n_dated++].until_mono_ns = last;
}

void pending_fini(struct jp_pending *pending)
{
    for (size_t i = 0; i < pending->n_texts; i++)
        free(pending->texts[i]);
    free(pending->ops);
    free(pending->buckets);
    free(pending->cut_short);
    *pending = (struct jp_pending){0};
}
