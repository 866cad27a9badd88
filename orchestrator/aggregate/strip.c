/* strip.c - add up what a process did, bin by bin. */
#include "orchestrator/aggregate/strip.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_SHIFT = 6,  /* finer than a picture of any run shows */
    EVENTS_A_BIN = 8, /* 512 bins for 1,024 processes */
};

enum strip_size strip_size_of(uint64_t bytes)
{
    return bytes < STRIP_MEDIUM_BYTES  ? STRIP_SMALL
           : bytes < STRIP_LARGE_BYTES ? STRIP_MEDIUM
                                       : STRIP_LARGE;
}

uint64_t strip_bins(uint64_t timeline_events)
{
    return timeline_events / EVENTS_A_BIN;
}

struct strip *strip_create(uint64_t bins)
{
    struct strip *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->room = bins < STRIP_MIN_BINS   ? STRIP_MIN_BINS
              : bins > STRIP_MAX_BINS ? STRIP_MAX_BINS
                                      : (unsigned) bins;
    s->shift = FIRST_SHIFT;
    return s;
}

void strip_destroy(struct strip *s)
{
    if (!s)
        return;
    for (unsigned i = 0; i < s->n_keys; i++)
        free(s->keys[i].us);
    free(s->keys);
    free(s);
}

static void add_us(uint32_t *us, uint64_t more)
{
    *us = more < UINT32_MAX - *us ? *us + (uint32_t) more : UINT32_MAX;
}

/* ------------------------------------------------------------------- bins */

/* Bins of twice the width. */
static void widen(struct strip *s)
{
    unsigned odd = s->first & 1, n = (s->n + odd + 1) / 2;

    for (unsigned k = 0; k < s->n_keys && s->n; k++) {
        uint32_t *us = s->keys[k].us;

        for (unsigned i = 0; i < n; i++) {
            unsigned from = 2 * i; /* in halves of the new ones */
            uint64_t sum = 0;

            if (from >= odd)
                sum += us[from - odd];
            if (from + 1 - odd < s->n)
                sum += us[from + 1 - odd];
            us[i] = sum < UINT32_MAX ? (uint32_t) sum : UINT32_MAX;
        }
        memset(us + n, 0, (s->room - n) * sizeof(*us));
    }
    s->n = s->n ? n : 0;
    s->first /= 2;
    s->shift++;
}

/* Has the bins begin earlier. */
static void begin_at(struct strip *s, uint64_t first)
{
    size_t more = (size_t) (s->first - first);

    for (unsigned k = 0; k < s->n_keys; k++) {
        memmove(s->keys[k].us + more, s->keys[k].us,
                s->n * sizeof(*s->keys[k].us));
        memset(s->keys[k].us, 0, more * sizeof(*s->keys[k].us));
    }
    s->first = first;
    s->n += (unsigned) more;
}

/* Has the bins cover these times. */
static void cover(struct strip *s, uint64_t from, uint64_t last_us)
{
    uint64_t first, last;

    for (;; widen(s)) {
        first = from >> s->shift;
        last = last_us >> s->shift;
        if (s->n && first > s->first)
            first = s->first;
        if (s->n && last < s->first + s->n - 1)
            last = s->first + s->n - 1;
        if (last - first < s->room)
            break;
    }
    if (!s->n)
        s->first = first;
    else if (first < s->first)
        begin_at(s, first);
    s->n = (unsigned) (last - first + 1);
}

/* Adds the time from..to, which is not empty, to a key. */
static void add_time(struct strip *s, unsigned key, uint64_t from, uint64_t to)
{
    uint64_t at = from >> s->shift, last = (to - 1) >> s->shift;

    if (at < s->first || last >= s->first + s->n) {
        cover(s, from, to - 1);
        at = from >> s->shift;
        last = (to - 1) >> s->shift;
    }
    for (; at < last; at++) {
        uint64_t edge = (at + 1) << s->shift;

        add_us(&s->keys[key].us[at - s->first], edge - from);
        from = edge;
    }
    add_us(&s->keys[key].us[at - s->first], to - from);
}

/* ------------------------------------------------------------------- keys */

struct strip_key *strip_new_key(struct strip *s, const char *id,
                                const char *func, enum strip_size size,
                                bool p2p)
{
    struct strip_key *more;
    uint32_t *us;

    if (s->n_keys == STRIP_KEYS || strlen(id) > RECORD_MAX_ID ||
        strlen(func) > RECORD_MAX_FUNC)
        return NULL;
    more = reallocarray(s->keys, s->n_keys + 1, sizeof(*more));
    if (!more)
        return NULL;
    s->keys = more;
    us = calloc(s->room, sizeof(*us));
    if (!us)
        return NULL;
    more += s->n_keys++;
    *more = (struct strip_key){.size = size, .p2p = p2p, .us = us};
    memcpy(more->id, id, strlen(id) + 1);
    memcpy(more->func, func, strlen(func) + 1);
    return more;
}

static bool is_text(const char *have, const struct record_text *text)
{
    return (!text->len || !strncmp(have, text->text, text->len)) &&
           !have[text->len];
}

/* The record's key; STRIP_KEYS: there is no room for it; -1: no memory. */
static int key_get(struct strip *s, const struct record *r,
                   enum strip_size size)
{
    char id[RECORD_MAX_ID + 1] = "", func[RECORD_MAX_FUNC + 1] = "";

    if (r->id.len > RECORD_MAX_ID || r->func.len > RECORD_MAX_FUNC)
        return STRIP_KEYS;
    for (unsigned i = 0; i < s->n_keys; i++)
        if (s->keys[i].size == size && is_text(s->keys[i].func, &r->func) &&
            is_text(s->keys[i].id, &r->id))
            return (int) i;
    if (s->n_keys == STRIP_KEYS)
        return STRIP_KEYS;
    if (r->id.len)
        memcpy(id, r->id.text, r->id.len);
    if (r->func.len)
        memcpy(func, r->func.text, r->func.len);
    return strip_new_key(s, id, func, size, r->p2p) ? (int) s->n_keys - 1 : -1;
}

/* The same, quick for a series that was met. */
static int key_find(struct strip *s, const struct record *r)
{
    enum strip_size size = strip_size_of(r->bytes);
    struct strip_known *known =
        &s->known[(r->series ^ r->series >> 5) % STRIP_KNOWN];
    int key;

    if (r->series && known->series == r->series && known->key[size])
        return known->key[size] - 1;
    key = key_get(s, r, size);
    if (r->series && key >= 0) {
        if (known->series != r->series)
            *known = (struct strip_known){.series = r->series};
        known->key[size] = (uint8_t) (key + 1);
    }
    return key;
}

int strip_add(struct strip *s, const struct record *r)
{
    uint64_t to = r->end_us > r->start_us ? r->end_us : r->start_us + 1;
    uint64_t from = r->start_us;
    int key;

    if (!r->exec_unknown && r->exec_us && r->exec_us < to)
        from = to - r->exec_us;
    if (to - from > RECORD_MAX_TIME_US || to > INT64_MAX)
        return 0;
    key = key_find(s, r);
    if (key < 0)
        return -1;
    if (key == STRIP_KEYS)
        s->left++;
    else
        add_time(s, (unsigned) key, from, to);
    return 0;
}

/* ---------------------------------------------------------------- joining */

bool strip_begin(struct strip *s, unsigned shift, uint64_t first, unsigned n)
{
    if (shift > STRIP_MAX_SHIFT || n > s->room ||
        first > (UINT64_C(1) << 62 >> shift))
        return false;
    s->shift = shift;
    s->first = first;
    s->n = n;
    return true;
}

static int key_of(struct strip *s, const struct strip_key *key)
{
    for (unsigned i = 0; i < s->n_keys; i++)
        if (s->keys[i].size == key->size &&
            !strcmp(s->keys[i].func, key->func) &&
            !strcmp(s->keys[i].id, key->id))
            return (int) i;
    if (s->n_keys == STRIP_KEYS)
        return STRIP_KEYS;
    return strip_new_key(s, key->id, key->func, key->size, key->p2p)
               ? (int) s->n_keys - 1
               : -1;
}

int strip_join(struct strip *into, const struct strip *from)
{
    into->left += from->left;
    if (!from->n)
        return 0;
    while (into->shift < from->shift)
        widen(into);
    cover(into, from->first << from->shift,
          ((from->first + from->n) << from->shift) - 1);
    for (unsigned k = 0; k < from->n_keys; k++) {
        int key = key_of(into, &from->keys[k]);

        if (key < 0)
            return -1;
        if (key == STRIP_KEYS)
            into->left++;
        for (unsigned i = 0; i < from->n && key < STRIP_KEYS; i++)
            add_us(&into->keys[key]
                        .us[((from->first + i) << from->shift >> into->shift) -
                            into->first],
                   from->keys[k].us[i]);
    }
    return 0;
}
