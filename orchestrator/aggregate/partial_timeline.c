/* partial_timeline.c - what a file's process did, in a partial. */
#include "orchestrator/aggregate/partial_parts.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/timeline.h"

struct item {
    size_t file;
    const struct timeline *timeline;
};

static void put_series(struct jpr_out *out, const struct timeline_series *s)
{
    jpr_put_text(out, s->id);
    jpr_put_text(out, s->func);
    jpr_put_u64(out, s->n_ranks);
    jpr_put_u64(out, s->nnodes);
    jpr_put_u64(out, s->rank);
    jpr_put_u64(out, s->p2p);
}

static void put(struct jpr_out *out, const void *arg)
{
    const struct item *item = arg;
    const struct timeline *t = item->timeline;

    jpr_put_u64(out, item->file);
    jpr_put_text(out, t->host);
    jpr_put_i64(out, t->pid);
    jpr_put_u64(out, t->mixed);
    jpr_put_u64(out, t->left);
    jpr_put_u64(out, t->n_series);
    for (uint32_t i = 0; i < t->n_series; i++)
        put_series(out, &t->series[i]);
    jpr_put_u64(out, t->n);
    if (t->used)
        jpr_put_bytes(out, t->bytes, t->used);
}

int partial_put_timeline(struct partial_out *w, size_t file,
                         const struct timeline *timeline)
{
    const struct item item = {file, timeline};

    return partial_put_block(w, PARTIAL_TIMELINE, put, &item);
}

/* --- reading --- */

enum { SERIES_BYTES = 6 }; /* at least */

/* A text that has a place of its own; false: too long, or not clean. */
static bool get_text(struct jpr_in *in, char *buf, size_t size)
{
    const char *text;
    size_t n = jpr_get_text(in, &text);

    if (in->bad || n >= size)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char) text[i] < 0x20 || text[i] == 0x7f)
            return false;
    memcpy(buf, text, n);
    buf[n] = '\0';
    return true;
}

static bool get_series(struct jpr_in *in, struct timeline_series *s)
{
    if (!get_text(in, s->id, sizeof(s->id)) ||
        !get_text(in, s->func, sizeof(s->func)))
        return false;
    s->n_ranks = (uint32_t) jpr_get_bounded(in, RECORD_MAX_RANKS);
    s->nnodes = (uint32_t) jpr_get_bounded(in, s->n_ranks);
    s->rank = (uint32_t) jpr_get_bounded(in, s->n_ranks ? s->n_ranks - 1
                                                        : RECORD_MAX_RANKS - 1);
    s->p2p = jpr_get_bounded(in, 1);
    return !in->bad;
}

static bool get_all_series(struct jpr_in *in, struct timeline *t)
{
    size_t left = (size_t) (in->end - in->at) / SERIES_BYTES;
    uint64_t n = jpr_get_bounded(in, left < TIMELINE_SERIES ? left
                                                            : TIMELINE_SERIES);

    t->series = calloc((size_t) n + 1, sizeof(*t->series));
    if (!t->series)
        return false;
    t->room_series = (uint32_t) n + 1;
    while (t->n_series < n)
        if (!get_series(in, &t->series[t->n_series++]))
            return false;
    return !in->bad;
}

/* The packed operations, to the payload's end: no more than `limit` stay. */
static bool get_events(struct jpr_in *in, struct timeline *t, uint64_t limit)
{
    size_t size = (size_t) (in->end - in->at);
    uint64_t n = jpr_get_bounded(in, size);
    uint8_t *less;

    size = (size_t) (in->end - in->at);
    t->bytes = malloc(size + 1);
    if (in->bad || !t->bytes)
        return false;
    memcpy(t->bytes, in->at, size);
    in->at = in->end;
    t->used = size;
    t->room = size + 1;
    if (!timeline_settle(t, n, limit))
        return false;
    less = realloc(t->bytes, t->used + 1);
    if (less) {
        t->bytes = less;
        t->room = t->used + 1;
    }
    return true;
}

static bool get(struct jpr_in *in, struct timeline *t, uint64_t limit)
{
    if (!get_text(in, t->host, sizeof(t->host)))
        return false;
    t->pid = jpr_get_i64(in);
    t->mixed = jpr_get_bounded(in, 1);
    t->left = jpr_get_bounded(in, INT64_MAX);
    return get_all_series(in, t) && get_events(in, t, limit);
}

int partial_get_timeline(struct partial_in *r)
{
    struct partial *p = r->partial;
    size_t at = (size_t) jpr_get_bounded(&r->in, UINT32_MAX);
    struct timeline *t;

    if (r->in.bad || at >= p->n_files || at < r->next_timeline)
        return -1;
    r->next_timeline = at + 1;
    t = p->files[at].read.timeline = timeline_create(0);
    return t && get(&r->in, t, p->timeline_events) ? 0 : -1;
}
