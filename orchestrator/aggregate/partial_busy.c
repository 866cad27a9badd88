/* partial_busy.c - when a file's process had operations in flight. */
#include <stdlib.h>

#include "orchestrator/aggregate/partial_parts.h"

void partial_put_busy(struct jpr_out *out, const struct busy *busy)
{
    const struct busy_slots *s = &busy->slots;

    jpr_put_text(out, busy->host);
    jpr_put_i64(out, busy->pid);
    jpr_put_u64(out, busy->mixed);
    jpr_put_u64(out, busy->timed);
    jpr_put_u64(out, busy->clipped);
    jpr_put_u64(out, busy->from_us);
    jpr_put_u64(out, busy->to_us - busy->from_us);
    jpr_put_u64(out, s->shift);
    jpr_put_u64(out, s->first);
    jpr_put_u64(out, s->n);
    for (unsigned i = 0; i < s->n; i++)
        jpr_put_u64(out, s->us[i]);
}

static bool get(struct jpr_in *in, struct busy *busy)
{
    struct busy_slots *s = &busy->slots;

    if (!partial_get_short(in, busy->host, sizeof(busy->host)))
        return false;
    busy->pid = jpr_get_i64(in);
    busy->mixed = jpr_get_bounded(in, 1);
    busy->timed = jpr_get_u64(in);
    busy->clipped = jpr_get_u64(in);
    busy->from_us = jpr_get_bounded(in, INT64_MAX);
    busy->to_us = busy->from_us + jpr_get_bounded(in, INT64_MAX);
    s->shift = (unsigned) jpr_get_bounded(in, 63);
    s->first = jpr_get_u64(in);
    s->n = (unsigned) jpr_get_bounded(in, BUSY_SLOTS);
    for (unsigned i = 0; i < s->n; i++)
        s->us[i] = jpr_get_u64(in);
    return !in->bad && busy->timed && busy_slots_good(s);
}

bool partial_get_busy(struct jpr_in *in, struct busy **busy)
{
    *busy = busy_create(false);
    return *busy && get(in, *busy);
}
