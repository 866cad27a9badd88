/* partial_strip.c - what a process did over the run, in a partial. */
#include "orchestrator/aggregate/partial_parts.h"

#include "orchestrator/aggregate/timeline.h"

struct strip_item {
    size_t file;
    const struct strip *strip;
};

/* Its bins from the first to the last that is not zero. */
static void put_strip_key(struct jpr_out *out, const struct strip_key *key,
                          unsigned n)
{
    unsigned from = 0;

    while (from < n && !key->us[from])
        from++;
    while (n > from && !key->us[n - 1])
        n--;
    jpr_put_text(out, key->id);
    jpr_put_text(out, key->func);
    jpr_put_u64(out, key->size);
    jpr_put_u64(out, key->p2p);
    jpr_put_u64(out, from);
    jpr_put_u64(out, n - from);
    for (; from < n; from++)
        jpr_put_u64(out, key->us[from]);
}

static void put_strip(struct jpr_out *out, const void *arg)
{
    const struct strip_item *item = arg;
    const struct strip *s = item->strip;

    jpr_put_u64(out, item->file);
    jpr_put_u64(out, s->left);
    jpr_put_u64(out, s->shift);
    jpr_put_u64(out, s->first);
    jpr_put_u64(out, s->n);
    jpr_put_u64(out, s->n_keys);
    for (unsigned i = 0; i < s->n_keys; i++)
        put_strip_key(out, &s->keys[i], s->n);
}

int partial_put_strip(struct partial_out *w, size_t file,
                      const struct strip *strip)
{
    const struct strip_item item = {file, strip};

    return strip ? partial_put_block(w, PARTIAL_STRIP, put_strip, &item) : 0;
}

static bool get_strip_key(struct jpr_in *in, struct strip *s)
{
    char id[RECORD_MAX_ID + 1], func[RECORD_MAX_FUNC + 1];
    struct strip_key *key;
    enum strip_size size;
    uint64_t at, n;

    if (!partial_get_short(in, id, sizeof(id)) ||
        !partial_get_short(in, func, sizeof(func)))
        return false;
    size = (enum strip_size) jpr_get_bounded(in, STRIP_N_SIZES - 1);
    key = strip_new_key(s, id, func, size, jpr_get_bounded(in, 1));
    at = jpr_get_bounded(in, s->n);
    n = jpr_get_bounded(in, s->n - at);
    for (; key && !in->bad && n; n--)
        key->us[at++] = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    return key && !in->bad;
}

static bool get_strip(struct jpr_in *in, struct strip *s)
{
    unsigned shift;
    uint64_t first, n;

    s->left = jpr_get_bounded(in, INT64_MAX);
    shift = (unsigned) jpr_get_bounded(in, STRIP_MAX_SHIFT);
    first = jpr_get_u64(in);
    n = jpr_get_bounded(in, STRIP_MAX_BINS);
    if (in->bad || !strip_begin(s, shift, first, (unsigned) n))
        return false;
    for (n = jpr_get_bounded(in, STRIP_KEYS); n && !in->bad; n--)
        if (!get_strip_key(in, s))
            return false;
    return !in->bad;
}

/* Into one of as many bins as the report gives each: who wrote it may have
 * known of fewer processes. */
int partial_get_strip(struct partial_in *r)
{
    struct partial *p = r->partial;
    size_t at = (size_t) jpr_get_bounded(&r->in, UINT32_MAX);
    struct strip *strip = strip_create(STRIP_MAX_BINS), *into = NULL;
    struct timeline *t;
    int rc = -1;

    if (!strip || r->in.bad || at + 1 != r->next_timeline ||
        !(t = p->files[at].read.timeline) || t->strip)
        goto out;
    into = strip_create(strip_bins(p->timeline_events));
    if (!into || !get_strip(&r->in, strip) || strip_join(into, strip) < 0)
        goto out;
    t->strip = into;
    into = NULL;
    rc = 0;
out:
    strip_destroy(strip);
    strip_destroy(into);
    return rc;
}
