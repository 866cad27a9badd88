/* pauses.c - the times in which the recording was off. */
#include "orchestrator/aggregate/pauses.h"

#include "common/num.h"

static bool meet(const struct jp_pause *a, const struct jp_pause *b)
{
    return (!b->to_us || a->from_us <= b->to_us) &&
           (!a->to_us || b->from_us <= a->to_us);
}

/* Makes one pause of two. */
static void join_pauses(struct jp_pause *into, const struct jp_pause *other)
{
    if (other->from_us < into->from_us)
        into->from_us = other->from_us;
    if (into->to_us && (!other->to_us || other->to_us > into->to_us))
        into->to_us = other->to_us;
    into->records = num_add(into->records, other->records);
}

void pauses_add(struct jp_quality *q, struct jp_pause one)
{
    size_t kept = 0, at;

    for (size_t i = 0; i < q->n_pauses; i++)
        if (meet(&one, &q->pauses[i]))
            join_pauses(&one, &q->pauses[i]);
        else
            q->pauses[kept++] = q->pauses[i];
    q->n_pauses = kept;
    if (kept == JP_PAUSES) {
        q->pauses_joined = true;
        join_pauses(&q->pauses[kept - 1], &one);
        return;
    }
    for (at = kept; at > 0 && q->pauses[at - 1].from_us > one.from_us; at--)
        q->pauses[at] = q->pauses[at - 1];
    q->pauses[at] = one;
    q->n_pauses++;
}

uint64_t pauses_us(const struct jp_quality *q, uint64_t from_us, uint64_t to_us)
{
    uint64_t us = 0;

    for (size_t i = 0; i < q->n_pauses; i++) {
        const struct jp_pause *x = &q->pauses[i];
        uint64_t from = x->from_us > from_us ? x->from_us : from_us;
        uint64_t to = x->to_us && x->to_us < to_us ? x->to_us : to_us;

        us += to > from ? to - from : 0;
    }
    return us;
}

uint64_t pauses_known_us(const struct jp_quality *q, uint64_t from_us,
                         uint64_t to_us)
{
    return q->pauses_joined ? 0 : pauses_us(q, from_us, to_us);
}

bool pauses_have(const struct jp_quality *q, uint64_t at_us)
{
    return pauses_us(q, at_us, at_us + 1) > 0;
}

bool pauses_ended(const struct jp_quality *q)
{
    for (size_t i = 0; i < q->n_pauses; i++)
        if (q->pauses[i].to_us)
            return true;
    return false;
}

uint64_t pauses_moment(const struct jp_quality *q, uint64_t from_us,
                       uint64_t recorded_us)
{
    uint64_t at = from_us + recorded_us;

    for (size_t i = 0; i < q->n_pauses; i++) {
        const struct jp_pause *x = &q->pauses[i];
        uint64_t from = x->from_us > from_us ? x->from_us : from_us;

        if (from <= at && x->to_us > from)
            at += x->to_us - from;
    }
    return at;
}

uint64_t pauses_records(const struct jp_quality *q, uint64_t first_us,
                        uint64_t last_us)
{
    uint64_t n = 0;

    for (size_t i = 0; i < q->n_pauses; i++) {
        const struct jp_pause *x = &q->pauses[i];

        if (x->from_us > first_us && x->to_us && x->to_us < last_us)
            n = num_add(n, x->records);
    }
    return n;
}
