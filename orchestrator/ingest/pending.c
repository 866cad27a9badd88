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

/* An operation that has ended since the snapshot: most often the oldest. */
static void mark_ended(struct jp_pending *pending, const struct jpr_op *op)
{
    for (size_t i = pending->first; i < pending->n; i++) {
        struct pending_op *p = &pending->ops[i];

        if (p->ended || p->op.seq != op->seq || p->op.comm != op->comm ||
            p->op.kind != op->kind || strcmp(p->op.func, op->func))
            continue;
        p->ended = true;
        break;
    }
    while (pending->first < pending->n && pending->ops[pending->first].ended)
        pending->first++;
}

static void clear_snapshot(struct jp_pending *pending)
{
    pending->n = pending->first = 0;
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
    return in->none ? 0 : keep(pending, &pending->ops, &pending->n, &in->op);
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
        if (!pending->ops[i].ended) {
            pending->ops[kept] = pending->ops[i];
            pending->ops[kept++].until_mono_ns = last;
        }
    pending->n = kept;
    pending->first = 0;
    while (pending->n_dated < pending->n_cut_short)
        pending->cut_short[pending->n_dated++].until_mono_ns = last;
}

void pending_fini(struct jp_pending *pending)
{
    for (size_t i = 0; i < pending->n_texts; i++)
        free(pending->texts[i]);
    free(pending->ops);
    free(pending->cut_short);
    *pending = (struct jp_pending){0};
}
