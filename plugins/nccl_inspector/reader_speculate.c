/* reader_speculate.c - reads a line that has the layout of earlier ones without
 * parsing it.
 *
 * The first half learns: reader_learn() cuts a line that was parsed into parts
 * (take_head, take_mid, keep_fields, keep_tail) and keeps them. The second half
 * compares: take_line() finds the head, the mid, the numbers between fixed keys
 * and the tail of a line. reader_parts.h describes the parts. This is the
 * fastest path of reading logs: functions marked SWAR_INLINE must be inlined,
 * those marked RARE must not.
 */
#include "plugins/nccl_inspector/reader_parts.h"

/* --- a parsed line's parts, kept for the next ones ----------------------- */

/* Where the parts of a line begin and end; see reader_parts.h. */
struct parts {
    const char *head, *head_end, *mid, *func, *mid_end, *late, *late_end, *tail,
        *tail_end;
    bool p2p;
};

/* Takes a constant text if it is exactly here. */
#define GUESS(c, text) reader_json_guess(c, text, sizeof(text) - 1)

/* Takes an integer without a blank before it. */
static bool take_number(struct reader_json_cursor *c)
{
    uint64_t ignored;

    return c->p < c->end && *c->p != ' ' && reader_json_u64(c, &ignored);
}

static bool take_text(struct reader_json_cursor *c)
{
    struct reader_json_raw ignored;

    return reader_json_string(c, &ignored);
}

/* Takes everything up to the number of dump_timestamp_us, which it skips. Other
 * orders of keys are an unknown layout. */
static bool take_head(struct reader_json_cursor *c, struct parts *parts)
{
    parts->head = c->p;
    if (!GUESS(c, "{\"header\":{\"id\":") || !take_text(c) ||
        (GUESS(c, ",\"comm_name\":") && !take_text(c)) ||
        !GUESS(c, ",\"rank\":") || !take_number(c) ||
        !GUESS(c, ",\"n_ranks\":") || !take_number(c) ||
        !GUESS(c, ",\"nnodes\":") || !take_number(c) ||
        !GUESS(c, "},\"metadata\":{"))
        return false;
    /* three keys that may be absent */
    if (GUESS(c, "\"inspector_output_format_version\":") &&
        (!take_text(c) || !reader_json_take(c, ',')))
        return false;
    if (GUESS(c, "\"git_rev\":") &&
        (!take_text(c) || !reader_json_take(c, ',')))
        return false;
    if (GUESS(c, "\"rec_mechanism\":") &&
        (!take_text(c) || !reader_json_take(c, ',')))
        return false;
    if (!GUESS(c, "\"dump_timestamp_us\":"))
        return false;
    parts->head_end = c->p;
    return take_number(c);
}

/* Takes host, pid and function, up to the sequence number. */
static bool take_mid(struct reader_json_cursor *c, struct parts *parts)
{
    parts->mid = c->p;
    if (!GUESS(c, ",\"hostname\":") || !take_text(c) ||
        !GUESS(c, ",\"pid\":") || !take_number(c))
        return false;
    parts->p2p = GUESS(c, "},\"p2p_perf\":{\"p2p\":");
    if (!parts->p2p && !GUESS(c, "},\"coll_perf\":{\"coll\":"))
        return false;
    parts->func = c->p + 1;
    if (!take_text(c) ||
        !(parts->p2p ? GUESS(c, ",\"p2p_sn\":") : GUESS(c, ",\"coll_sn\":")))
        return false;
    parts->mid_end = c->p;
    return true;
}

/* Takes the numbers and, between them, the late part. */
static bool keep_fields(struct reader_json_cursor *c, struct parts *parts)
{
    bool p2p = parts->p2p;

    if (!take_number(c) ||
        (p2p && (!GUESS(c, ",\"p2p_peer\":") || !take_number(c))) ||
        !(p2p ? GUESS(c, ",\"p2p_msg_size_bytes\":")
              : GUESS(c, ",\"coll_msg_size_bytes\":")) ||
        !take_number(c) ||
        !(p2p ? GUESS(c, ",\"p2p_exec_time_us\":")
              : GUESS(c, ",\"coll_exec_time_us\":")) ||
        !take_number(c))
        return false;
    parts->late = c->p;
    if ((p2p ? GUESS(c, ",\"p2p_timing_source\":")
             : GUESS(c, ",\"coll_timing_source\":")) &&
        !take_text(c))
        return false;
    if (!(p2p ? GUESS(c, ",\"p2p_algobw_gbs\":")
              : GUESS(c, ",\"coll_algobw_gbs\":")))
        return false;
    parts->late_end = c->p;
    return reader_json_skip(c) && (p2p ? GUESS(c, ",\"p2p_busbw_gbs\":")
                                       : GUESS(c, ",\"coll_busbw_gbs\":"));
}

/* Takes what a verbose record has after the bandwidth. *stamps: as in
 * reader_tail_stamps(). */
static bool take_traces(struct reader_json_cursor *c, const char **stamps,
                        size_t *len)
{
    *stamps = NULL;
    for (;;) {
        bool ts = GUESS(c, ",\"event_trace_ts\":{");
        const char *start = c->p - 1;

        if (!ts && !GUESS(c, ",\"event_trace_sn\":{") &&
            !GUESS(c, ",\"events\":["))
            return true;
        c->p--;
        if (!reader_json_skip(c))
            return false;
        if (!ts)
            continue;
        *stamps = start;
        *len = (size_t) (c->p - start);
    }
}

/* Returns where the last event_trace_ts of a tail has its value of *len bytes,
 * or NULL if it has none. */
static const char *reader_tail_stamps(const char *tail, const char *end,
                                      size_t *len)
{
    struct reader_json_cursor c = {tail, end};
    const char *stamps;

    return take_traces(&c, &stamps, len) ? stamps : NULL;
}

/* Keeps a tail of at most CACHE_TAIL_BYTES, maybe in the place of another one.
 * Returns its number. */
static unsigned reader_keep_tail(struct inspector_cache *cache,
                                 const char *text, size_t len)
{
    unsigned i = cache->next_tail;
    struct cache_tail *tail = &cache->tails[i];
    const char *stamps;
    size_t n;

    cache->next_tail = (i + 1) % CACHE_TAILS;
    if (cache->n_tails < CACHE_TAILS)
        cache->n_tails++;
    for (size_t k = 0; k < len; k++) {
        bool digit = text[k] >= '0' && text[k] <= '9';

        tail->text[k] = digit ? '0' : text[k];
        tail->span[k] = digit ? 9 : 0;
    }
    tail->len = (uint32_t) len;
    tail->stamps_at = 0;
    tail->map.n = 0;
    stamps = reader_tail_stamps(text, text + len, &n);
    if (!stamps)
        return i;
    tail->stamps_at = (uint32_t) (stamps - text);
    reader_stamps_read(stamps, n, &tail->map);
    return i;
}

/* Takes the bandwidth and the tail, up to }}. A tail with a backslash is
 * refused. */
static bool keep_tail(struct reader_json_cursor *c, struct parts *parts)
{
    const char *ignored;
    size_t len;

    if (!reader_json_skip(c))
        return false;
    parts->tail = c->p;
    if (!take_traces(c, &ignored, &len))
        return false;
    if (c->end - c->p < 2 || memcmp(c->p, "}}", 2))
        return false;
    c->p += 2;
    parts->tail_end = c->p;
    return !memchr(parts->tail, '\\', (size_t) (c->p - parts->tail));
}

/* Keeps a head in its set, with what records need of it. Replacing one starts a
 * new generation: the numbers of series get another meaning. */
static void keep_head(struct inspector_cache *cache, const struct parts *parts,
                      const struct record *r)
{
    size_t len = (size_t) (parts->head_end - parts->head);
    uint64_t tag = swar_load(parts->head + CACHE_TAG_AT);
    struct cache_head *set = cache->heads + cache_set(tag) * CACHE_WAYS, *head;
    unsigned *next = &cache->next_way[cache_set(tag)];

    /* known already: another part was new */
    for (unsigned i = 0; i < CACHE_WAYS; i++)
        if (set[i].len == len && !memcmp(set[i].text, parts->head, len))
            return;
    head = &set[*next];
    *next = (*next + 1) % CACHE_WAYS;
    if (head->len)
        cache->generation += RECORD_MAX_SERIES;
    head->tag = tag;
    head->len = (uint16_t) len;
    head->tail = 0;
    head->series = (uint16_t) ((head - cache->heads) * CACHE_MIDS);
    head->id_text = (struct record_text){head->id, r->id.len};
    head->name_text = (struct record_text){head->name, r->name.len};
    head->rank = r->rank;
    head->n_ranks = r->n_ranks;
    head->nnodes = r->nnodes;
    memcpy(head->id, r->id.text, r->id.len);
    if (r->name.len)
        memcpy(head->name, r->name.text, r->name.len);
    memcpy(head->text, parts->head, len);
}

/* Keeps a mid part, likewise. */
static void keep_mid(struct inspector_cache *cache, const struct parts *parts,
                     const struct record *r)
{
    size_t len = (size_t) (parts->mid_end - parts->mid);
    struct cache_mid *mid;

    for (unsigned i = 0; i < cache->n_mids; i++)
        if (cache->mids[i].len == len &&
            !memcmp(cache->mids[i].text, parts->mid, len))
            return;
    mid = &cache->mids[cache->next_mid];
    cache->next_mid = (cache->next_mid + 1) % CACHE_MIDS;
    if (cache->n_mids < CACHE_MIDS)
        cache->n_mids++;
    else
        cache->generation += RECORD_MAX_SERIES;
    mid->tag_at = (uint16_t) (parts->func - parts->mid);
    mid->tag = swar_load(parts->func);
    mid->len = (uint16_t) len;
    mid->p2p = parts->p2p;
    mid->pid = r->pid;
    mid->series = (uint16_t) (mid - cache->mids);
    mid->host_text = (struct record_text){mid->host, r->host.len};
    mid->func_text = (struct record_text){mid->func, r->func.len};
    memcpy(mid->host, r->host.text, r->host.len);
    memcpy(mid->func, r->func.text, r->func.len);
    memcpy(mid->text, parts->mid, len);
}

/* Keeps a late part. It is in no record, so replacing one needs no new
 * generation. */
static void keep_late(struct inspector_cache *cache, const struct parts *parts)
{
    size_t len = (size_t) (parts->late_end - parts->late);
    struct cache_late *late;

    for (unsigned i = 0; i < cache->n_lates; i++)
        if (cache->lates[i].len == len &&
            !memcmp(cache->lates[i].text, parts->late, len))
            return;
    late = &cache->lates[cache->next_late];
    cache->next_late = (cache->next_late + 1) % CACHE_LATES;
    if (cache->n_lates < CACHE_LATES)
        cache->n_lates++;
    late->p2p = parts->p2p;
    late->len = (uint16_t) len;
    memcpy(late->text, parts->late, len);
}

/* Returns whether there is room for parts of this length. */
static bool fits(const struct parts *parts)
{
    return parts->head_end - parts->head <= CACHE_PART_BYTES &&
           parts->mid_end - parts->mid <= CACHE_PART_BYTES &&
           parts->late_end - parts->late <= CACHE_PART_BYTES &&
           parts->tail_end - parts->tail <= CACHE_TAIL_BYTES;
}

bool reader_learn(struct inspector_cache *cache, const char *line, size_t len,
                  const struct record *record)
{
    struct reader_json_cursor c = {line, line + len};
    struct record ignored;
    struct parts parts;
    const char *next;

    if (!take_head(&c, &parts) || !take_mid(&c, &parts) ||
        !keep_fields(&c, &parts) || !keep_tail(&c, &parts))
        return false;
    /* nothing may follow */
    if (c.p < c.end && *c.p == '\r')
        c.p++;
    if (c.p != c.end)
        return false;
    if (!fits(&parts)) /* a known layout, but too long to keep */
        return true;
    keep_head(cache, &parts, record);
    keep_mid(cache, &parts, record);
    keep_late(cache, &parts);
    /* with a known tail the line can be compared now; else keep its tail */
    if (reader_speculate(cache, line, line + len, &ignored, &next))
        return true;
    if (parts.tail_end - parts.tail == 2)
        return false;
    reader_keep_tail(cache, parts.tail, (size_t) (parts.tail_end - parts.tail));
    return reader_speculate(cache, line, line + len, &ignored, &next);
}

/* --- the next lines against these parts ---------------------------------- */

/* Keeps a function out of the common path, where it would cost registers. */
#define RARE __attribute__((noinline))

/* Takes the key of a constant name, exactly here, between numbers. */
#define TAKE(p, end, name) take(p, end, ",\"" name "\":", sizeof(name) + 3)

/* Of a constant length, so that a few words are compared without a call. */
static inline SWAR_INLINE bool take(const char **p, const char *end,
                                    const char *text, size_t len)
{
    if (!swar_has(*p, end, len) || memcmp(*p, text, len))
        return false;
    *p += len;
    return true;
}

/* Returns whether two texts of at least 16 bytes are equal. Differences are
 * collected, so that there is one branch at the end. */
static inline SWAR_INLINE bool same_text(const char *a, const char *b,
                                         size_t len)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    words sum = {0, 0}, x, y;
    size_t i;

    for (i = 0; i + sizeof(x) < len; i += sizeof(x)) {
        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        sum |= x ^ y;
    }
    memcpy(&x, a + len - sizeof(x), sizeof(x));
    memcpy(&y, b + len - sizeof(y), sizeof(y));
    sum |= x ^ y;
    return (sum[0] | sum[1]) == 0;
}

/* Returns whether p begins with this head. Eight more bytes must follow. */
static inline SWAR_INLINE bool is_head(const struct cache_head *head,
                                       uint64_t tag, const char *p,
                                       const char *end)
{
    return head->tag == tag && head->len && swar_has(p, end, head->len + 8u) &&
           !memcmp(p, head->text, head->len);
}

/* Finds a head that is not the last one of its set, and makes it that. */
static RARE struct cache_head *find_other(struct inspector_cache *cache,
                                          uint64_t tag, const char *p,
                                          const char *end)
{
    struct cache_head *set = &cache->heads[cache_set(tag) * CACHE_WAYS];

    for (unsigned i = 0; i < CACHE_WAYS; i++)
        if (is_head(&set[i], tag, p, end)) {
            cache->last[cache_set(tag)] = &set[i];
            return &set[i];
        }
    return NULL;
}

/* Returns the head at *p, which moves after it, or NULL. */
static inline SWAR_INLINE struct cache_head *
find_head(struct inspector_cache *cache, const char **p, const char *end)
{
    struct cache_head *head;
    uint64_t tag;

    if (!swar_has(*p, end, CACHE_TAG_AT + 8))
        return NULL;
    tag = swar_load(*p + CACHE_TAG_AT);
    head = cache->last[cache_set(tag)];
    if (!is_head(head, tag, *p, end) &&
        !(head = find_other(cache, tag, *p, end)))
        return NULL;
    *p += head->len;
    return head;
}

/* The same for the mid part. */
static inline SWAR_INLINE const struct cache_mid *
find_mid(const struct inspector_cache *cache, const char **p, const char *end)
{
    const struct cache_mid *mid = &cache->mids[cache->next_mid];

    /* newest first: older ones are mostly of other files */
    for (unsigned n = 0; n < cache->n_mids; n++) {
        mid = (mid == cache->mids ? &cache->mids[CACHE_MIDS] : mid) - 1;
        if (!swar_has(*p, end, mid->len + 8u) ||
            swar_load(*p + mid->tag_at) != mid->tag ||
            memcmp(*p, mid->text, mid->len))
            continue;
        *p += mid->len;
        return mid;
    }
    return NULL;
}

/* Takes a timestamp that does not begin like the last one. A timestamp mostly
 * has sixteen digits, of which the first eight rarely change. */
static RARE bool other_stamp(struct inspector_cache *cache, const char **p,
                             const char *end, uint64_t *out)
{
    const char *at = *p;

    if (!swar_long_number(p, end, out))
        return false;
    if (*p - at == STAMPS_DIGITS) {
        memcpy(&cache->stamp_text, at, sizeof(cache->stamp_text));
        cache->stamp_value = *out / 100000000;
    }
    return true;
}

/* Takes a timestamp: if its first half is the last one's, only the second half
 * is computed. */
static inline SWAR_INLINE bool take_stamp(struct inspector_cache *cache,
                                          const char **p, const char *end,
                                          uint64_t *out)
{
    uint64_t t;

    if (!swar_has(*p, end, STAMPS_DIGITS) ||
        memcmp(*p, &cache->stamp_text, sizeof(cache->stamp_text)))
        return other_stamp(cache, p, end, out);
    t = swar_load(*p + 8) ^ SWAR_ALL(0x30);
    if (swar_no_digits(t))
        return other_stamp(cache, p, end, out);
    *out = cache->stamp_value * 100000000 + swar_value(t);
    *p += STAMPS_DIGITS; /* a 17th digit would not match any mid part */
    return true;
}

static inline SWAR_INLINE bool is_late(const struct cache_late *late, bool p2p,
                                       const char *p, const char *end)
{
    return late->p2p == p2p && swar_has(p, end, late->len) &&
           same_text(p, late->text, late->len);
}

/* Takes a late part other than the last one. */
static RARE bool take_other_late(struct inspector_cache *cache, bool p2p,
                                 const char **p, const char *end)
{
    for (unsigned i = 0; i < cache->n_lates; i++)
        if (is_late(&cache->lates[i], p2p, *p, end)) {
            cache->late = i;
            *p += cache->lates[i].len;
            return true;
        }
    return false;
}

/* Takes the late part, mostly the same as in the last line. */
static inline SWAR_INLINE bool take_late(struct inspector_cache *cache,
                                         bool p2p, const char **p,
                                         const char *end)
{
    const struct cache_late *late = &cache->lates[cache->late];

    if (!cache->n_lates || !is_late(late, p2p, *p, end))
        return take_other_late(cache, p2p, p, end);
    *p += late->len;
    return true;
}

static bool is_digit(char b)
{
    return b >= '0' && b <= '9';
}

/* How similar a text is to a tail. */
struct likeness {
    const char *next; /* after the text */
    unsigned longer;  /* how many numbers differ in length */
    size_t alike; /* after this place in the tail no number differs in length */
};

/* Returns how many bytes of the text at p match the tail at `at`, in whole
 * blocks. The last block may overlap what was compared, but not begin before
 * `from`. */
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

/* Returns whether the text at p is the tail with other digits. Numbers may
 * differ in length: then both sides skip the number and go on. */
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

/* Returns when the operation ran, from the text at p: by the map of the tail if
 * no number after the stamps' begin differs in length, else by reading. */
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

/* Returns a tail that is more similar to the text than tail i, where its
 * numbers have become longer: another one, or a new one. */
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

/* Takes the tail of a verbose record, beginning with the last one that followed
 * this head. Returns the place after it, or NULL. */
static RARE const char *take_long_tail(struct inspector_cache *cache,
                                       struct cache_head *head, const char *p,
                                       const char *end, struct record *out)
{
    struct reader_stamps stamps;
    struct likeness like;

    for (unsigned n = 0, i = head->tail; n < cache->n_tails; n++, i++) {
        i = i < cache->n_tails ? i : 0;
        if (!match_tail(&cache->tails[i], p, end, &like))
            continue;
        /* numbers that have grown make the comparison slow */
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

/* Takes the tail: mostly just }}. */
static inline const char *take_tail(struct inspector_cache *cache,
                                    struct cache_head *head, const char *p,
                                    const char *end, struct record *out)
{
    out->start_us = out->end_us = 0;
    return end - p >= 2 && p[0] == '}' && p[1] == '}'
               ? p + 2
               : take_long_tail(cache, head, p, end, out);
}

/* Takes peer, size, times and bandwidth, with the bounds of common/record.h.
 * Compiled twice, with p2p a constant. */
static inline SWAR_INLINE bool take_fields(struct inspector_cache *cache,
                                           bool p2p, const char **p,
                                           const char *end, struct record *out)
{
    uint64_t peer = 0;

    if (!swar_number(p, end, &out->sn))
        return false;
    if (p2p && (!TAKE(p, end, "p2p_peer") || !swar_number(p, end, &peer) ||
                peer >= (out->n_ranks ? out->n_ranks : RECORD_MAX_RANKS)))
        return false;
    out->peer = (uint32_t) peer;
    return (p2p ? TAKE(p, end, "p2p_msg_size_bytes")
                : TAKE(p, end, "coll_msg_size_bytes")) &&
           swar_number(p, end, &out->bytes) && out->bytes <= RECORD_MAX_BYTES &&
           (p2p ? TAKE(p, end, "p2p_exec_time_us")
                : TAKE(p, end, "coll_exec_time_us")) &&
           swar_number(p, end, &out->exec_us) &&
           out->exec_us <= RECORD_MAX_TIME_US &&
           take_late(cache, p2p, p, end) && swar_skip_decimal(p, end) &&
           (p2p ? TAKE(p, end, "p2p_busbw_gbs")
                : TAKE(p, end, "coll_busbw_gbs")) &&
           swar_decimal(p, end, &out->busbw_micro, &out->busbw_nan);
}

/* Sets the fields that the parts have, one by one: clearing the whole struct
 * would cost a tenth of all time. A field that is added to struct record must
 * be set here or after this. */
static inline void fill(struct record *out, const struct cache_head *head,
                        const struct cache_mid *mid)
{
    out->id = head->id_text;
    out->name = head->name_text;
    out->rank = head->rank;
    out->n_ranks = head->n_ranks;
    out->nnodes = head->nnodes;
    out->host = mid->host_text;
    out->func = mid->func_text;
    out->pid = mid->pid;
    out->p2p = mid->p2p;
    out->has_sn = true;
    out->gaps_lost = false;
    out->launch_us = 0;
}

/* Takes all parts but the tail, where *next is set. end NULL: NEAR bytes are
 * there, and no check is compiled. */
static inline SWAR_INLINE struct cache_head *
take_parts(struct inspector_cache *cache, const char *p, const char *end,
           struct record *out, const char **next)
{
    struct cache_head *head = find_head(cache, &p, end);
    const struct cache_mid *mid;

    if (!head || !take_stamp(cache, &p, end, &out->dump_us))
        return NULL;
    mid = find_mid(cache, &p, end);
    if (!mid)
        return NULL;
    fill(out, head, mid);
    if (!(mid->p2p ? take_fields(cache, true, &p, end, out)
                   : take_fields(cache, false, &p, end, out)))
        return NULL;
    out->series = cache->generation + head->series + mid->series;
    *next = p;
    return head;
}

/* More bytes than the parts before a tail can have: three of CACHE_PART_BYTES,
 * six numbers of at most 24 digits, keys. */
enum { NEAR = 4 * CACHE_PART_BYTES };

/* Takes a line. Returns the place after its }}, or NULL. */
static inline SWAR_INLINE const char *take_line(struct inspector_cache *cache,
                                                const char *p, const char *end,
                                                struct record *out)
{
    const char *tail;
    struct cache_head *head = end - p >= NEAR
                                  ? take_parts(cache, p, NULL, out, &tail)
                                  : take_parts(cache, p, end, out, &tail);

    if (!head)
        return NULL;
    out->exec_unknown = !out->exec_us;
    if (!head->n_ranks) { /* sizes unknown: no bandwidth */
        out->busbw_micro = 0;
        out->busbw_nan = true;
    }
    return take_tail(cache, head, tail, end, out);
}

bool reader_speculate(struct inspector_cache *cache, const char *p,
                      const char *end, struct record *out, const char **next)
{
    *next = take_line(cache, p, end, out);
    return *next != NULL;
}

bool inspector_read_ahead(struct inspector_reader *reader, const char *text,
                          size_t len, struct record *out, size_t *used)
{
    const char *end = text + len, *next;

    next = reader->cache ? take_line(reader->cache, text, end, out) : NULL;
    if (!next)
        return false;
    /* the whole line must be there, to its newline */
    if (next < end && *next == '\r')
        next++;
    if (next == end || *next != '\n')
        return false;
    reader->ways.speculated++;
    *used = (size_t) (next - text) + 1;
    return true;
}
