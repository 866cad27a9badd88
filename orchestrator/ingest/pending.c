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

static int keep(struct jp_pending *pending, const struct jpr_op *op)
{
    size_t n = pending->n;
    struct pending_op *more;
    struct jpr_op *copy;

    if (n == PENDING_MAX) {
        pending->left_out++;
        return 0;
    }
    if (!(n & (n - 1))) {
        more = reallocarray(pending->ops, n ? 2 * n : 1, sizeof(*more));
        if (!more)
            return -1;
        pending->ops = more;
    }
    pending->ops[n] = (struct pending_op){.op = *op};
    copy = &pending->ops[n].op;
    copy->func = lasting(pending, op->func);
    copy->datatype = lasting(pending, op->datatype);
    copy->algo = lasting(pending, op->algo);
    copy->proto = lasting(pending, op->proto);
    copy->api_func = lasting(pending, op->api_func);
    copy->api_datatype = lasting(pending, op->api_datatype);
    pending->n++;
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

void pending_clear(struct jp_pending *pending)
{
    pending->n = pending->first = 0;
    pending->left_out = 0;
    pending->at_mono_ns = 0;
    pending->left = 0;
}

int pending_add(struct jp_pending *pending, const struct jpr_record *record)
{
    const struct jpr_inflight *in = record->inflight;

    if (record->type == JPR_OP)
        mark_ended(pending, record->op);
    if (record->type != JPR_INFLIGHT)
        return 0;
    if (!pending->left || in->at_mono_ns != pending->at_mono_ns) {
        pending_clear(pending);
        pending->left_out = in->omitted;
    }
    pending->at_mono_ns = in->at_mono_ns;
    pending->left = in->left;
    return in->none ? 0 : keep(pending, &in->op);
}

void pending_settle(struct jp_pending *pending)
{
    size_t kept = 0;

    for (size_t i = 0; i < pending->n; i++)
        if (!pending->ops[i].ended)
            pending->ops[kept++] = pending->ops[i];
    pending->n = kept;
    pending->first = 0;
}

void pending_fini(struct jp_pending *pending)
{
    for (size_t i = 0; i < pending->n_texts; i++)
        free(pending->texts[i]);
    free(pending->ops);
    *pending = (struct jp_pending){0};
}
