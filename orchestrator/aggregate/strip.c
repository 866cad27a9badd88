/* strip.c - the time that a process spent in each kind of operation, by bin,
 * over all of the run.
 *
 * strip.h has the ideas. */
#include "orchestrator/aggregate/strip.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"

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
    uint64_t bins = timeline_events / EVENTS_A_BIN;

    return bins > STRIP_MIN_BINS ? bins : STRIP_MIN_BINS;
}

struct strip *strip_create(uint64_t bins)
{
    struct strip *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    /* within bounds, however many processes a run has */
    s->room = bins < STRIP_MIN_BINS   ? STRIP_MIN_BINS
              : bins > STRIP_MAX_BINS ? STRIP_MAX_BINS
                                      : (unsigned) bins;
    s->shift = FIRST_SHIFT; /* 64 us */
    return s;
}

void strip_drop_bins(struct strip *s)
{
    for (unsigned i = 0; i < s->n_keys; i++)
        free(s->keys[i].us);
    free(s->keys);
    free(s->known);
    s->keys = NULL;
    s->known = NULL;
    s->n_keys = 0;
}

void strip_destroy(struct strip *s)
{
    if (s)
        strip_drop_bins(s);
    free(s);
}

/* Adds a time to a bin, which saturates. */
static void add_us(uint32_t *us, uint64_t more)
{
    *us = more < UINT32_MAX - *us ? *us + (uint32_t) more : UINT32_MAX;
}

/* ------------------------------------------------------------------- bins */

/* Doubles the width of the bins. Bins begin at multiples of their width, so an
 * odd first bin is the second half of its new bin. */
static void widen_bins(struct strip *s)
{
    unsigned odd = s->first & 1, n = (s->n + odd + 1) / 2;

    for (unsigned k = 0; k < s->n_keys && s->n; k++) {
        uint32_t *us = s->keys[k].us;

        for (unsigned i = 0; i < n; i++) {
            unsigned from = 2 * i; /* in halves of the new bins */
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

/* Makes the bins begin at an earlier number. There is room for them. */
static void begin_at(struct strip *s, uint64_t first)
{
    size_t more = (size_t) (s->first - first);

    /* all keys have the same bins */
    for (unsigned k = 0; k < s->n_keys; k++) {
        memmove(s->keys[k].us + more, s->keys[k].us,
                s->n * sizeof(*s->keys[k].us));
        memset(s->keys[k].us, 0, more * sizeof(*s->keys[k].us));
    }
    s->first = first;
    s->n += (unsigned) more;
}

/* Makes the bins cover these times, in us, and wider if they would be too many.
 */
static void cover(struct strip *s, uint64_t from, uint64_t last_us)
{
    uint64_t first, last;

    /* first and last number of the bins that are needed */
    for (;; widen_bins(s)) {
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

void strip_add_time(struct strip *s, unsigned key, uint64_t from, uint64_t to)
{
    uint64_t at = from >> s->shift, last = (to - 1) >> s->shift;

    /* widths may change, so the numbers are computed again */
    if (at < s->first || last >= s->first + s->n) {
        cover(s, from, to - 1);
        at = from >> s->shift;
        last = (to - 1) >> s->shift;
    }
    /* an operation may lie in several bins */
    for (; at < last; at++) {
        uint64_t edge = (at + 1) << s->shift;

        add_us(&s->keys[key].us[at - s->first], edge - from);
        from = edge;
    }
    add_us(&s->keys[key].us[at - s->first], to - from);
}

void strip_add_at(struct strip *s, uint64_t us, const uint64_t *amounts,
                  unsigned n)
{
    uint64_t at = us >> s->shift;

    if (at < s->first || at >= s->first + s->n)
        cover(s, us, us);
    at = us >> s->shift;
    for (unsigned i = 0; i < n; i++)
        add_us(&s->keys[i].us[at - s->first], amounts[i]);
}

void strip_take_time(struct strip *s, unsigned key, uint64_t from, uint64_t to)
{
    for (uint64_t i = 0; i < s->n; i++) {
        uint64_t begin = (s->first + i) << s->shift;
        uint64_t end = (s->first + i + 1) << s->shift;
        uint64_t low = from > begin ? from : begin, high = to < end ? to : end;
        uint32_t *us = &s->keys[key].us[i];

        if (high > low)
            *us = high - low < *us ? *us - (uint32_t) (high - low) : 0;
    }
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
    if (VECTOR_DOUBLE(s->keys, s->n_keys) < 0)
        return NULL;
    /* room for all bins, so that bins never move */
    us = calloc(s->room, sizeof(*us));
    if (!us)
        return NULL;
    more = &s->keys[s->n_keys++];
    *more = (struct strip_key){.size = size, .p2p = p2p, .us = us};
    memcpy(more->id, id, strlen(id) + 1);
    memcpy(more->func, func, strlen(func) + 1);
    return more;
}

/* The index of the record's key, which is made if it is new. STRIP_KEYS: there
 * is no room; -1: no memory. */
static int key_get(struct strip *s, const struct record *r,
                   enum strip_size size)
{
    char id[RECORD_MAX_ID + 1] = "", func[RECORD_MAX_FUNC + 1] = "";

    if (r->id.len > RECORD_MAX_ID || r->func.len > RECORD_MAX_FUNC)
        return STRIP_KEYS;
    /* a process has few kinds of operations */
    for (unsigned i = 0; i < s->n_keys; i++)
        if (s->keys[i].size == size &&
            record_text_is(s->keys[i].func, &r->func) &&
            record_text_is(s->keys[i].id, &r->id))
            return (int) i;
    if (s->n_keys == STRIP_KEYS)
        return STRIP_KEYS;
    if (r->id.len)
        memcpy(id, r->id.text, r->id.len);
    if (r->func.len)
        memcpy(func, r->func.text, r->func.len);
    return strip_new_key(s, id, func, size, r->p2p) ? (int) s->n_keys - 1 : -1;
}

/* The same, faster for a series that is known by its number. The texts of a
 * series never change, but its sizes may, so each class of size has a key. */
static int key_find(struct strip *s, const struct record *r)
{
    enum strip_size size = strip_size_of(r->bytes);
    struct strip_known *known;
    int key;

    if (!s->known && !(s->known = calloc(STRIP_KNOWN, sizeof(*s->known))))
        return -1;
    known = &s->known[(r->series ^ r->series >> 5) % STRIP_KNOWN];

    /* a key is stored with 1 added, as 0 is unknown */
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

    /* when the GPU was in it: its time, counted back from the end */
    if (!r->exec_unknown && r->exec_us && r->exec_us < to)
        from = to - r->exec_us;
    /* no real time */
    if (to - from > RECORD_MAX_TIME_US || to > INT64_MAX)
        return 0;
    key = key_find(s, r);
    if (key < 0)
        return -1;
    if (key == STRIP_KEYS)
        s->left++; /* of a kind without a key */
    else
        strip_add_time(s, (unsigned) key, from, to);
    return 0;
}

/* ---------------------------------------------------------------- joining */

bool strip_begin(struct strip *s, unsigned shift, uint64_t first, unsigned n)
{
    if (shift > STRIP_MAX_SHIFT || n > s->room ||
        first > (UINT64_C(1) << 62 >> shift))
        return false;
    s->room = n ? n : 1;
    s->shift = shift;
    s->first = first;
    s->n = n;
    return true;
}

void strip_trim(struct strip *s)
{
    if (!s->n)
        return;
    for (unsigned i = 0; i < s->n_keys; i++)
        if (vector_resize(&s->keys[i].us, s->n, sizeof(*s->keys[i].us)) < 0)
            break; /* it keeps its room */
    s->room = s->n;
}

struct strip *strip_copy(const struct strip *from)
{
    struct strip *s;

    if (vector_copy(&s, from, 1, sizeof(*s)) < 0)
        return NULL;
    s->known = NULL;
    s->room = s->n;
    s->n_keys = 0; /* those that have bins of their own, until all have */
    if (vector_copy(&s->keys, from->keys, from->n_keys, sizeof(*s->keys)) < 0)
        s->keys = NULL;
    while (s->keys && s->n_keys < from->n_keys &&
           vector_copy(&s->keys[s->n_keys].us, from->keys[s->n_keys].us, s->n,
                       sizeof(*s->keys->us)) == 0)
        s->n_keys++;
    if (s->n_keys == from->n_keys)
        return s;
    strip_destroy(s);
    return NULL;
}

/* As key_get, for a key of another strip. */
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
    /* bins of the wider width hold whole bins of the other */
    while (into->shift < from->shift)
        widen_bins(into);
    cover(into, from->first << from->shift,
          ((from->first + from->n) << from->shift) - 1);
    for (unsigned k = 0; k < from->n_keys; k++) {
        int key = key_of(into, &from->keys[k]);
        const uint32_t *us = from->keys[k].us;

        if (key < 0)
            return -1;
        if (key == STRIP_KEYS)
            into->left++;
        for (unsigned i = 0; i < from->n && key < STRIP_KEYS; i++)
            if (us[i]) /* a kind has nothing in most bins */
                add_us(
                    &into->keys[key]
                         .us[((from->first + i) << from->shift >> into->shift) -
                             into->first],
                    us[i]);
    }
    return 0;
}
