/* reader_speculate.c - a line that looks like one before, without parsing. */
#include "plugins/nccl_inspector/reader_cache.h"

#include "plugins/nccl_inspector/reader_json.h"
#include "plugins/nccl_inspector/reader_swar.h"

/* The key of a constant name stands exactly here, between numbers. */
#define TAKE(p, end, name) take(p, end, ",\"" name "\":", sizeof(name) + 3)

/* Of a constant length: a few words are compared. */
static inline SWAR_INLINE bool take(const char **p, const char *end,
                                    const char *text, size_t len)
{
    if (!swar_has(*p, end, len) || memcmp(*p, text, len))
        return false;
    *p += len;
    return true;
}

/* Takes bytes that stand exactly here. */
static inline SWAR_INLINE bool literal(const char **p, const char *end,
                                       const char *text, size_t len)
{
    if (!swar_has(*p, end, len) || !reader_json_same(*p, text, len))
        return false;
    *p += len;
    return true;
}

static inline SWAR_INLINE struct cache_head *
find_head(struct inspector_cache *cache, const char **p, const char *end)
{
    uint64_t tag;
    struct cache_head *set;
    unsigned *last, i;

    if (!swar_has(*p, end, CACHE_TAG_AT + 8))
        return NULL;
    tag = swar_load(*p + CACHE_TAG_AT);
    set = cache_set(cache, tag);
    last = &cache->last_way[(set - cache->heads) / CACHE_WAYS];
    i = *last;
    for (unsigned n = 0; n < CACHE_WAYS; n++, i = (i + 1) % CACHE_WAYS) {
        struct cache_head *head = &set[i];

        if (head->tag != tag || !head->len ||
            !swar_has(*p, end, head->len + 8u) ||
            memcmp(*p, head->text, head->len))
            continue;
        *p += head->len;
        *last = i;
        return head;
    }
    return NULL;
}

static inline SWAR_INLINE const struct cache_mid *
find_mid(const struct inspector_cache *cache, const char **p, const char *end)
{
    /* the newest first: those before are of other files */
    for (unsigned n = 0, i = cache->next_mid; n < cache->n_mids; n++) {
        const struct cache_mid *mid;

        i = (i ? i : CACHE_MIDS) - 1;
        mid = &cache->mids[i];
        if (!swar_has(*p, end, mid->len + 8u) ||
            swar_load(*p + mid->tag_at) != mid->tag ||
            memcmp(*p, mid->text, mid->len))
            continue;
        *p += mid->len;
        return mid;
    }
    return NULL;
}

static inline SWAR_INLINE bool take_late(struct inspector_cache *cache,
                                         bool p2p, const char **p,
                                         const char *end)
{
    for (unsigned n = 0; n < cache->n_lates; n++) {
        const struct cache_late *late = &cache->lates[cache->late];

        if (late->p2p == p2p && literal(p, end, late->text, late->len))
            return true;
        cache->late = (cache->late + 1) % cache->n_lates;
    }
    return false;
}

static bool is_digit(char b)
{
    return b >= '0' && b <= '9';
}

/* How a text is like a tail. */
struct likeness {
    const char *next; /* behind the text */
    unsigned longer;  /* numbers of another length */
    size_t alike;     /* from there in the tail on, none is */
};

/* How many blocks' bytes of the text at p are like those of the tail at `at`;
 * the last block may reach back, not behind `from`. */
static size_t match_blocks(const struct cache_tail *tail, size_t at,
                           const char *p, const char *end, size_t from)
{
    size_t start = at, left, back;

    while (tail->len - at >= SWAR_BLOCK && end - p >= SWAR_BLOCK) {
        if (swar_outside(p, tail->text + at, tail->span + at))
            return at - start;
        at += SWAR_BLOCK;
        p += SWAR_BLOCK;
    }
    left = tail->len - at;
    back = SWAR_BLOCK - left;
    if (left && left <= SWAR_BLOCK && at - from >= back &&
        (size_t) (end - p) >= left &&
        !swar_outside(p - back, tail->text + at - back, tail->span + at - back))
        at += left;
    return at - start;
}

/* Whether the text at p is like the tail but for the digits of its numbers. */
static bool match_tail(const struct cache_tail *tail, const char *p,
                       const char *end, struct likeness *like)
{
    const char *text = tail->text;
    size_t at = 0, same;

    like->alike = 0;
    for (like->longer = 0;; ++like->longer) {
        same = match_blocks(tail, at, p, end, like->alike);
        at += same;
        p += same;
        while (at < tail->len && p < end &&
               (text[at] == *p || (tail->span[at] && is_digit(*p)))) {
            at++;
            p++;
        }
        like->next = p;
        if (at == tail->len)
            return true;
        if (p == end || !at || !tail->span[at - 1] || !is_digit(p[-1]) ||
            !tail->span[at] == !is_digit(*p))
            return false;
        while (at < tail->len && tail->span[at])
            at++;
        while (p < end && is_digit(*p))
            p++;
        like->alike = at;
    }
}

/* When the operation ran, from the text at p. */
static struct reader_stamps take_stamps(const struct cache_tail *tail,
                                        const char *p,
                                        const struct likeness *like)
{
    size_t len = (size_t) (like->next - p);
    const char *stamps;

    if (!tail->stamps_at)
        return (struct reader_stamps){0, 0};
    if (like->alike <= tail->stamps_at && tail->map.n)
        return reader_stamps_mapped(like->next - (tail->len - tail->stamps_at),
                                    &tail->map);
    stamps = reader_tail_stamps(p, like->next, &len);
    return stamps ? reader_stamps_read(stamps, len, NULL)
                  : (struct reader_stamps){0, 0};
}

/* One that is more like the text than tail i, where its numbers have grown:
 * another one, or a new one. */
static unsigned better_tail(struct inspector_cache *cache, unsigned i,
                            const char *p, struct likeness *like)
{
    size_t len = (size_t) (like->next - p);
    struct likeness other;

    for (unsigned k = 0; k < cache->n_tails; k++)
        if (k != i && cache->tails[k].len == len &&
            match_tail(&cache->tails[k], p, like->next, &other) &&
            !other.longer) {
            *like = other;
            return k;
        }
    if (len > CACHE_TAIL_BYTES)
        return i;
    i = reader_keep_tail(cache, p, len);
    *like = (struct likeness){.next = p + len};
    return i;
}

static const char *take_tail(struct inspector_cache *cache,
                             struct cache_head *head, const char *p,
                             const char *end, struct inspector_record *out)
{
    struct reader_stamps stamps;
    struct likeness like;

    out->start_us = out->end_us = 0;
    if (end - p >= 2 && p[0] == '}' && p[1] == '}')
        return p + 2;
    for (unsigned n = 0, i = head->tail; n < cache->n_tails; n++, i++) {
        i = i < cache->n_tails ? i : 0;
        if (!match_tail(&cache->tails[i], p, end, &like))
            continue;
        if (like.longer > 2)
            i = better_tail(cache, i, p, &like);
        head->tail = (uint8_t) i;
        stamps = take_stamps(&cache->tails[i], p, &like);
        out->start_us = stamps.start_us;
        out->end_us = stamps.stop_us;
        return like.next;
    }
    return NULL;
}

/* Peer, size, times and bandwidth. Made twice, with p2p a constant. */
static inline SWAR_INLINE bool take_fields(struct inspector_cache *cache,
                                           bool p2p, const char **p,
                                           const char *end,
                                           struct inspector_record *out)
{
    uint64_t peer = 0;

    if (!swar_number(p, end, &out->sn))
        return false;
    if (p2p && (!TAKE(p, end, "p2p_peer") || !swar_number(p, end, &peer) ||
                peer >= (out->n_ranks ? out->n_ranks : INSPECTOR_MAX_RANKS)))
        return false;
    out->peer = (uint32_t) peer;
    return (p2p ? TAKE(p, end, "p2p_msg_size_bytes")
                : TAKE(p, end, "coll_msg_size_bytes")) &&
           swar_number(p, end, &out->bytes) &&
           out->bytes <= INSPECTOR_MAX_BYTES &&
           (p2p ? TAKE(p, end, "p2p_exec_time_us")
                : TAKE(p, end, "coll_exec_time_us")) &&
           swar_number(p, end, &out->exec_us) &&
           out->exec_us <= INSPECTOR_MAX_TIME_US &&
           take_late(cache, p2p, p, end) && swar_skip_decimal(p, end) &&
           (p2p ? TAKE(p, end, "p2p_busbw_gbs")
                : TAKE(p, end, "coll_busbw_gbs")) &&
           swar_decimal(p, end, &out->busbw_micro, &out->busbw_nan);
}

/* Fields of the parts, one by one: a whole struct costs a tenth of all time. A
 * field that is new in struct inspector_record must be set here or behind. */
static inline void fill(struct inspector_record *out,
                        const struct cache_head *head,
                        const struct cache_mid *mid)
{
    out->id = (struct inspector_text){head->id, head->id_len};
    out->name = (struct inspector_text){head->name, head->name_len};
    out->rank = head->rank;
    out->n_ranks = head->n_ranks;
    out->nnodes = head->nnodes;
    out->host = (struct inspector_text){mid->host, mid->host_len};
    out->func = (struct inspector_text){mid->func, mid->func_len};
    out->pid = mid->pid;
    out->p2p = mid->p2p;
    out->has_sn = true;
    out->gaps_lost = false;
}

/* All parts but the tail, which *next is set before. end NULL: NEAR bytes are
 * there. */
static inline SWAR_INLINE struct cache_head *
take_parts(struct inspector_cache *cache, const char *p, const char *end,
           struct inspector_record *out, const char **next)
{
    struct cache_head *head = find_head(cache, &p, end);
    const struct cache_mid *mid;

    if (!head || !swar_number(&p, end, &out->dump_us))
        return NULL;
    mid = find_mid(cache, &p, end);
    if (!mid)
        return NULL;
    fill(out, head, mid);
    if (!(mid->p2p ? take_fields(cache, true, &p, end, out)
                   : take_fields(cache, false, &p, end, out)))
        return NULL;
    out->series = cache->generation * INSPECTOR_MAX_SERIES +
                  (uint64_t) (head - cache->heads) * CACHE_MIDS +
                  (uint64_t) (mid - cache->mids);
    *next = p;
    return head;
}

/* More than the parts before a tail can have: three of CACHE_PART_BYTES, six
 * numbers of at most 24 digits, keys. */
enum { NEAR = 4 * CACHE_PART_BYTES };

bool reader_speculate(struct inspector_cache *cache, const char *p,
                      const char *end, struct inspector_record *out,
                      const char **next)
{
    struct cache_head *head = end - p >= NEAR
                                  ? take_parts(cache, p, NULL, out, next)
                                  : take_parts(cache, p, end, out, next);

    if (!head)
        return false;
    out->exec_unknown = !out->exec_us;
    if (!head->n_ranks) { /* not told: no bandwidth */
        out->busbw_micro = 0;
        out->busbw_nan = true;
    }
    *next = take_tail(cache, head, *next, end, out);
    return *next != NULL;
}
