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

/* A part of a line, and the numbers in it that may differ. */
struct part {
    const char *text, *end;
    unsigned n_wild;
    struct {
        const char *at, *end;
    } wild[CACHE_WILDS];
};

enum { BEFORES = BEFORE_BUSBW + 1 };

/* Where the parts of a line begin and end; see reader_parts.h. */
struct parts {
    bool p2p, headless;
    struct part head, mid, late;
    struct part joints[BEFORES]; /* text NULL: the fixed key is there */
    const char *func, *tail, *tail_end;
};

/* Takes a constant text if it is exactly here. */
#define GUESS(c, text) reader_json_guess(c, text, sizeof(text) - 1)

/* Takes an integer without a blank before it. */
static bool take_number(struct reader_json_cursor *c)
{
    uint64_t ignored;

    return c->p < c->end && *c->p != ' ' && reader_json_u64(c, &ignored);
}

/* Takes one character without a blank before it. */
static bool take_one(struct reader_json_cursor *c, char wanted)
{
    if (c->p == c->end || *c->p != wanted)
        return false;
    c->p++;
    return true;
}

static bool take_text(struct reader_json_cursor *c)
{
    struct reader_json_raw ignored;

    return reader_json_string(c, &ignored);
}

static bool is_digit(char b)
{
    return b >= '0' && b <= '9';
}

/* The most digits of a wild number, before and after its point. */
enum { WILD_DIGITS = 24 };

/* Returns where the number at p ends, "17" or "1.25"; NULL: it is none. `end`
 * NULL: enough bytes are there. */
static const char *wild_end(const char *p, const char *end)
{
    const char *from = p;

    while (p != end && p - from <= WILD_DIGITS && is_digit(*p))
        p++;
    if (p == from || p - from > WILD_DIGITS)
        return NULL;
    if (p == end || *p != '.')
        return p;
    from = ++p;
    while (p != end && p - from <= WILD_DIGITS && is_digit(*p))
        p++;
    return p == from || p - from > WILD_DIGITS ? NULL : p;
}

/* Notes a value of an unknown key: if it is a number, it may differ. */
static void note_wild(struct part *part, const char *value, const char *end)
{
    if (part->n_wild == CACHE_WILDS || wild_end(value, end) != end)
        return;
    part->wild[part->n_wild].at = value;
    part->wild[part->n_wild++].end = end;
}

/* Takes members of which the generic parser knows nothing, each with the comma
 * before it: its next key, or what else follows, remains. Returns false if a
 * value cannot be skipped. */
static bool take_unknown(struct reader_json_cursor *c,
                         enum reader_object object, struct part *part)
{
    for (;;) {
        struct reader_json_cursor at = *c;
        struct reader_json_raw key;
        const char *value;

        if (at.p == at.end || *at.p++ != ',' || at.p == at.end ||
            *at.p != '"' || !reader_json_string(&at, &key) || at.p == at.end ||
            *at.p++ != ':' || reader_knows(object, &key))
            return true;
        value = at.p;
        if (!reader_json_skip(&at))
            return false;
        note_wild(part, value, at.p);
        *c = at;
    }
}

static bool is_named(const struct reader_json_raw *key, const char *name)
{
    return key->len == strlen(name) && !memcmp(key->text, name, key->len);
}

/* Takes members of metadata up to the number of dump_timestamp_us. Host and pid
 * come after it, as the mid part has them. */
static bool take_metadata(struct reader_json_cursor *c)
{
    struct reader_json_raw key;

    while (!GUESS(c, "\"dump_timestamp_us\":")) {
        if (c->p == c->end || *c->p != '"' || !reader_json_string(c, &key) ||
            is_named(&key, "hostname") || is_named(&key, "pid") ||
            c->p == c->end || *c->p++ != ':' || !reader_json_skip(c) ||
            c->p == c->end || *c->p++ != ',')
            return false;
    }
    return true;
}

/* Takes everything up to the number of dump_timestamp_us, which it skips. Other
 * orders of the known keys are an unknown layout. */
static bool take_head(struct reader_json_cursor *c, struct parts *parts)
{
    struct part ignored = {0}; /* all of a head must be equal */

    parts->head.text = c->p;
    if (!GUESS(c, "{\"header\":{\"id\":") || !take_text(c) ||
        !take_unknown(c, READER_HEADER, &ignored) ||
        (GUESS(c, ",\"comm_name\":") && !take_text(c)) ||
        !take_unknown(c, READER_HEADER, &ignored) || !GUESS(c, ",\"rank\":") ||
        !take_number(c) || !take_unknown(c, READER_HEADER, &ignored) ||
        !GUESS(c, ",\"n_ranks\":") || !take_number(c) ||
        !take_unknown(c, READER_HEADER, &ignored) ||
        !GUESS(c, ",\"nnodes\":") || !take_number(c) ||
        !take_unknown(c, READER_HEADER, &ignored) || !take_one(c, '}') ||
        !take_unknown(c, READER_LINE, &ignored) ||
        !GUESS(c, ",\"metadata\":{") || !take_metadata(c))
        return false;
    parts->head.end = c->p;
    return take_number(c);
}

/* Takes what is before the function's name: host and pid, or nothing. */
static bool take_place(struct reader_json_cursor *c, struct parts *parts)
{
    struct part *mid = &parts->mid;

    if (parts->headless) {
        parts->p2p = GUESS(c, "{\"p2p_perf\":{\"p2p\":");
        return parts->p2p || GUESS(c, "{\"coll_perf\":{\"coll\":");
    }
    if (!take_unknown(c, READER_METADATA, mid) || !GUESS(c, ",\"hostname\":") ||
        !take_text(c) || !take_unknown(c, READER_METADATA, mid) ||
        !GUESS(c, ",\"pid\":") || !take_number(c) ||
        !take_unknown(c, READER_METADATA, mid) || !take_one(c, '}') ||
        !take_unknown(c, READER_LINE, mid))
        return false;
    parts->p2p = GUESS(c, ",\"p2p_perf\":{\"p2p\":");
    return parts->p2p || GUESS(c, ",\"coll_perf\":{\"coll\":");
}

/* Takes the place, the function, its algorithm and protocol, up to the sequence
 * number. */
static bool take_mid(struct reader_json_cursor *c, struct parts *parts)
{
    struct part *mid = &parts->mid;

    mid->text = c->p;
    if (!take_place(c, parts))
        return false;
    parts->func = c->p + 1;
    if (!take_text(c) || !take_unknown(c, READER_PERF, mid) ||
        (!parts->p2p && GUESS(c, ",\"coll_algo\":") && !take_text(c)) ||
        !take_unknown(c, READER_PERF, mid) ||
        (!parts->p2p && GUESS(c, ",\"coll_proto\":") && !take_text(c)) ||
        !take_unknown(c, READER_PERF, mid) ||
        !(parts->p2p ? GUESS(c, ",\"p2p_sn\":") : GUESS(c, ",\"coll_sn\":")))
        return false;
    mid->end = c->p;
    return true;
}

/* Takes unknown members before a number, and the number's key. */
static bool take_joint(struct reader_json_cursor *c, struct parts *parts,
                       enum cache_before before, const char *key, size_t len)
{
    struct part *joint = &parts->joints[before];

    if (reader_json_guess(c, key, len))
        return true;
    joint->text = c->p;
    if (!take_unknown(c, READER_PERF, joint) || !reader_json_guess(c, key, len))
        return false;
    joint->end = c->p;
    return true;
}

#define JOINT(c, parts, before, key)                                           \
    take_joint(c, parts, before, ",\"" key "\":", sizeof(key) + 3)

/* Takes the numbers and, between them, joints and the late part. */
static bool keep_fields(struct reader_json_cursor *c, struct parts *parts)
{
    bool p2p = parts->p2p;

    if (!take_number(c) ||
        (p2p &&
         (!JOINT(c, parts, BEFORE_PEER, "p2p_peer") || !take_number(c))) ||
        !(p2p ? JOINT(c, parts, BEFORE_BYTES, "p2p_msg_size_bytes")
              : JOINT(c, parts, BEFORE_BYTES, "coll_msg_size_bytes")) ||
        !take_number(c) ||
        !(p2p ? JOINT(c, parts, BEFORE_EXEC, "p2p_exec_time_us")
              : JOINT(c, parts, BEFORE_EXEC, "coll_exec_time_us")) ||
        !take_number(c))
        return false;
    parts->late.text = c->p;
    if (!take_unknown(c, READER_PERF, &parts->late) ||
        ((p2p ? GUESS(c, ",\"p2p_timing_source\":")
              : GUESS(c, ",\"coll_timing_source\":")) &&
         !take_text(c)) ||
        !take_unknown(c, READER_PERF, &parts->late))
        return false;
    if (!(p2p ? GUESS(c, ",\"p2p_algobw_gbs\":")
              : GUESS(c, ",\"coll_algobw_gbs\":")))
        return false;
    parts->late.end = c->p;
    return reader_json_skip(c) &&
           (p2p ? JOINT(c, parts, BEFORE_BUSBW, "p2p_busbw_gbs")
                : JOINT(c, parts, BEFORE_BUSBW, "coll_busbw_gbs"));
}

/* What a tail has besides known text. */
enum { TAIL_KEYS = 8 };

struct tail {
    const char *stamps; /* the last value of event_trace_ts; NULL: none */
    size_t stamps_len;
    unsigned n_keys; /* unknown ones, whose digits must be equal */
    struct {
        const char *at, *end;
    } keys[TAIL_KEYS];
};

/* Takes an unknown member of a tail, without its comma. */
static bool take_tail_member(struct reader_json_cursor *c,
                             enum reader_object object, struct tail *tail)
{
    struct reader_json_raw key;

    if (tail->n_keys == TAIL_KEYS || c->p == c->end || *c->p != '"' ||
        !reader_json_string(c, &key) || c->p == c->end || *c->p++ != ':' ||
        reader_knows(object, &key))
        return false;
    tail->keys[tail->n_keys].at = key.text;
    tail->keys[tail->n_keys++].end = key.text + key.len;
    return reader_json_skip(c);
}

/* Takes the traces of a verbose record and unknown members after the bandwidth,
 * up to the end of the object. */
static bool take_members(struct reader_json_cursor *c, struct tail *tail)
{
    while (c->p < c->end && *c->p == ',') {
        bool ts = GUESS(c, ",\"event_trace_ts\":");
        const char *start = c->p;

        if (!ts && !GUESS(c, ",\"event_trace_sn\":")) {
            c->p++;
            if (!take_tail_member(c, READER_PERF, tail))
                return false;
            continue;
        }
        if (c->p == c->end || *c->p != '{' || !reader_json_skip(c))
            return false;
        if (!ts)
            continue;
        tail->stamps = start;
        tail->stamps_len = (size_t) (c->p - start);
    }
    return true;
}

/* Takes a tail: members of the record and of the line, each up to its }. */
static bool take_whole_tail(struct reader_json_cursor *c, struct tail *tail)
{
    *tail = (struct tail){0};
    if (!take_members(c, tail) || !take_one(c, '}'))
        return false;
    while (take_one(c, ','))
        if (!take_tail_member(c, READER_LINE, tail))
            return false;
    return take_one(c, '}');
}

/* Keeps a tail of at most CACHE_TAIL_BYTES, maybe in the place of another one.
 * Returns its number. */
static unsigned reader_keep_tail(struct inspector_cache *cache,
                                 const char *text, size_t len)
{
    unsigned i = cache->next_tail;
    struct cache_tail *tail = &cache->tails[i];
    struct reader_json_cursor c = {text, text + len};
    struct tail found;

    cache->next_tail = (i + 1) % CACHE_TAILS;
    if (cache->n_tails < CACHE_TAILS)
        cache->n_tails++;
    for (size_t k = 0; k < len; k++) {
        bool digit = is_digit(text[k]);

        tail->text[k] = digit ? '0' : text[k];
        tail->span[k] = digit ? 9 : 0;
    }
    tail->len = (uint32_t) len;
    tail->stamps_at = 0;
    tail->map.n = 0;
    if (!take_whole_tail(&c, &found)) {
        tail->len = 0; /* no tail is this short: it fits nothing */
        return i;
    }
    for (unsigned k = 0; k < found.n_keys; k++) {
        size_t at = (size_t) (found.keys[k].at - text);
        size_t n = (size_t) (found.keys[k].end - found.keys[k].at);

        memcpy(tail->text + at, text + at, n);
        memset(tail->span + at, 0, n);
    }
    if (!found.stamps)
        return i;
    tail->stamps_at = (uint32_t) (found.stamps - text);
    reader_stamps_read(found.stamps, found.stamps_len, &tail->map);
    return i;
}

/* Takes the bandwidth and the tail, up to its last }. A tail with a backslash
 * is refused. */
static bool keep_tail(struct reader_json_cursor *c, struct parts *parts)
{
    struct tail ignored;

    if (!reader_json_skip(c))
        return false;
    parts->tail = c->p;
    if (!take_whole_tail(c, &ignored))
        return false;
    parts->tail_end = c->p;
    return !memchr(parts->tail, '\\', (size_t) (c->p - parts->tail));
}

static size_t length(const struct part *part)
{
    return (size_t) (part->end - part->text);
}

/* Returns whether a kept text is this part, with the same wild numbers. */
static bool is_part(const struct cache_text *kept, const struct part *part)
{
    const char *at = part->text;
    size_t from = 0;

    if (kept->n_wild != part->n_wild)
        return false;
    for (unsigned i = 0; i <= part->n_wild; i++) {
        const char *end = i < part->n_wild ? part->wild[i].at : part->end;
        size_t to = i < part->n_wild ? kept->wild[i] : kept->len;

        if (to - from != (size_t) (end - at) ||
            memcmp(kept->text + from, at, to - from) != 0)
            return false;
        from = to;
        if (i < part->n_wild)
            at = part->wild[i].end;
    }
    return true;
}

/* Keeps a part, without its wild numbers. */
static void keep_text(struct cache_text *kept, const struct part *part)
{
    const char *at = part->text;

    kept->len = 0;
    kept->n_wild = (uint8_t) part->n_wild;
    for (unsigned i = 0; i <= part->n_wild; i++) {
        const char *end = i < part->n_wild ? part->wild[i].at : part->end;

        memcpy(kept->text + kept->len, at, (size_t) (end - at));
        kept->len = (uint16_t) (kept->len + (end - at));
        if (i == part->n_wild)
            break;
        kept->wild[i] = kept->len;
        at = part->wild[i].end;
    }
}

/* Keeps a head in its set, with what records need of it. Replacing one starts a
 * new generation: the numbers of series get another meaning. Returns it. */
static struct cache_head *keep_head(struct inspector_cache *cache,
                                    const struct parts *parts,
                                    const struct record *r)
{
    size_t len = length(&parts->head);
    uint64_t tag = swar_load(parts->head.text + CACHE_TAG_AT);
    struct cache_head *set = cache->heads + cache_set(tag) * CACHE_WAYS, *head;
    unsigned *next = &cache->next_way[cache_set(tag)];

    /* known already: another part was new */
    for (unsigned i = 0; i < CACHE_WAYS; i++)
        if (set[i].len == len && !memcmp(set[i].text, parts->head.text, len))
            return &set[i];
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
    memcpy(head->text, parts->head.text, len);
    return head;
}

/* Keeps a mid part, likewise. */
static void keep_mid(struct inspector_cache *cache, const struct parts *parts,
                     uint32_t place, const struct record *r)
{
    struct cache_mid *mid;

    for (unsigned i = 0; i < cache->n_mids; i++)
        if (cache->mids[i].place == place &&
            is_part(&cache->mids[i].text, &parts->mid))
            return;
    mid = &cache->mids[cache->next_mid];
    cache->next_mid = (cache->next_mid + 1) % CACHE_MIDS;
    if (cache->n_mids < CACHE_MIDS)
        cache->n_mids++;
    else
        cache->generation += RECORD_MAX_SERIES;
    mid->tag_at = (uint16_t) (parts->func - parts->mid.text);
    mid->tag = swar_load(parts->func);
    mid->place = place;
    mid->p2p = parts->p2p;
    mid->algo = r->algo;
    mid->proto = r->proto;
    mid->pid = r->pid;
    mid->series = (uint16_t) (mid - cache->mids);
    mid->host_text = (struct record_text){mid->host, r->host.len};
    mid->func_text = (struct record_text){mid->func, r->func.len};
    if (r->host.len)
        memcpy(mid->host, r->host.text, r->host.len);
    memcpy(mid->func, r->func.text, r->func.len);
    keep_text(&mid->text, &parts->mid);
}

/* Keeps a late part. It has the clock only, which series need not share, so
 * replacing one needs no new generation. */
static void keep_late(struct inspector_cache *cache, const struct parts *parts,
                      const struct record *r)
{
    struct cache_late *late;

    for (unsigned i = 0; i < cache->n_lates; i++)
        if (is_part(&cache->lates[i].text, &parts->late))
            return;
    late = &cache->lates[cache->next_late];
    cache->next_late = (cache->next_late + 1) % CACHE_LATES;
    if (cache->n_lates < CACHE_LATES)
        cache->n_lates++;
    late->p2p = parts->p2p;
    late->clock = r->clock;
    keep_text(&late->text, &parts->late);
}

/* Keeps a joint. */
static void keep_joint(struct inspector_cache *cache, const struct parts *parts,
                       enum cache_before before)
{
    const struct part *part = &parts->joints[before];
    struct cache_joint *joint;

    for (unsigned i = 0; i < cache->n_joints; i++) {
        joint = &cache->joints[i];
        if (joint->p2p == parts->p2p && joint->before == before &&
            is_part(&joint->text, part))
            return;
    }
    joint = &cache->joints[cache->next_joint];
    cache->next_joint = (cache->next_joint + 1) % CACHE_JOINTS;
    if (cache->n_joints < CACHE_JOINTS)
        cache->n_joints++;
    joint->p2p = parts->p2p;
    joint->before = (uint8_t) before;
    keep_text(&joint->text, part);
}

/* Returns whether there is room for parts of this length. */
static bool fits(const struct parts *parts)
{
    for (unsigned i = 0; i < BEFORES; i++)
        if (parts->joints[i].text &&
            length(&parts->joints[i]) > CACHE_PART_BYTES)
            return false;
    return (parts->headless || length(&parts->head) <= CACHE_PART_BYTES) &&
           length(&parts->mid) <= CACHE_PART_BYTES &&
           length(&parts->late) <= CACHE_PART_BYTES &&
           parts->tail_end - parts->tail <= CACHE_TAIL_BYTES;
}

void reader_learn_marker(struct inspector_reader *reader, const char *line,
                         size_t len, const struct record *record)
{
    struct reader_json_cursor c = {line, line + len};
    struct parts parts = {0};

    if (take_head(&c, &parts) && length(&parts.head) <= CACHE_PART_BYTES)
        reader->batch.head =
            (uint16_t) (keep_head(reader->cache, &parts, record) -
                        reader->cache->heads + 1);
}

bool reader_learn(struct inspector_reader *reader, const char *line, size_t len,
                  const struct record *record)
{
    struct inspector_cache *cache = reader->cache;
    struct reader_json_cursor c = {line, line + len};
    struct record ignored;
    struct parts parts = {.headless = !reader_has_head(line, line + len)};
    const char *next;

    if ((!parts.headless && !take_head(&c, &parts)) || !take_mid(&c, &parts) ||
        !keep_fields(&c, &parts) || !keep_tail(&c, &parts))
        return false;
    /* nothing may follow */
    if (c.p < c.end && *c.p == '\r')
        c.p++;
    if (c.p != c.end)
        return false;
    if (!fits(&parts)) /* a known layout, but too long to keep */
        return true;
    if (!parts.headless)
        keep_head(cache, &parts, record);
    keep_mid(cache, &parts, parts.headless ? reader->batch.place : 0, record);
    keep_late(cache, &parts, record);
    for (unsigned i = 0; i < BEFORES; i++)
        if (parts.joints[i].text)
            keep_joint(cache, &parts, (enum cache_before) i);
    /* with a known tail the line can be compared now; else keep its tail */
    if (reader_speculate(reader, line, line + len, &ignored, &next))
        return true;
    if (parts.tail_end - parts.tail == 2)
        return false;
    reader_keep_tail(cache, parts.tail, (size_t) (parts.tail_end - parts.tail));
    return reader_speculate(reader, line, line + len, &ignored, &next);
}

/* --- the next lines against these parts ---------------------------------- */

/* Keeps a function out of the common path, where it would cost registers. */
#define RARE __attribute__((noinline))

/* Takes the key of a constant name, exactly here, between numbers. */
#define TAKE(p, end, name)                                                     \
    take_constant(p, end, ",\"" name "\":", sizeof(name) + 3)

/* Of a constant length, so that a few words are compared without a call. */
static inline SWAR_INLINE bool take_constant(const char **p, const char *end,
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

/* Returns where a text with wild numbers ends, or NULL: it is not at p. */
static RARE const char *match_wild(const struct cache_text *text, const char *p,
                                   const char *end)
{
    size_t from = 0;

    for (unsigned i = 0; i <= text->n_wild; i++) {
        size_t n = (i < text->n_wild ? text->wild[i] : text->len) - from;

        if (!swar_has(p, end, n) || memcmp(p, text->text + from, n) != 0)
            return NULL;
        p += n;
        from += n;
        if (i < text->n_wild && !(p = wild_end(p, end)))
            return NULL;
    }
    return p;
}

/* The same for any text: mostly it has no wild numbers. */
static inline SWAR_INLINE const char *match_text(const struct cache_text *text,
                                                 const char *p, const char *end)
{
    if (text->n_wild)
        return match_wild(text, p, end);
    return swar_has(p, end, text->len) && !memcmp(p, text->text, text->len)
               ? p + text->len
               : NULL;
}

/* Returns the mid part at *p for this place (0: of a line with a head). */
static inline SWAR_INLINE const struct cache_mid *
find_mid(const struct inspector_cache *cache, uint32_t place, const char **p,
         const char *end)
{
    const struct cache_mid *mid = &cache->mids[cache->next_mid];

    /* newest first: older ones are mostly of other files */
    for (unsigned n = 0; n < cache->n_mids; n++) {
        const char *next;

        mid = (mid == cache->mids ? &cache->mids[CACHE_MIDS] : mid) - 1;
        if (mid->place != place ||
            (!mid->text.n_wild && (!swar_has(*p, end, mid->text.len + 8u) ||
                                   swar_load(*p + mid->tag_at) != mid->tag)))
            continue;
        next = match_text(&mid->text, *p, end);
        if (!next)
            continue;
        *p = next;
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

/* Whether a late part without wild numbers is here. */
static inline SWAR_INLINE bool is_late(const struct cache_late *late, bool p2p,
                                       const char *p, const char *end)
{
    return late->p2p == p2p && !late->text.n_wild &&
           swar_has(p, end, late->text.len) &&
           same_text(p, late->text.text, late->text.len);
}

/* Takes a late part other than the last one. */
static RARE bool take_other_late(struct inspector_cache *cache, bool p2p,
                                 const char **p, const char *end,
                                 uint8_t *clock)
{
    for (unsigned i = 0; i < cache->n_lates; i++) {
        const struct cache_late *late = &cache->lates[i];
        const char *next = late->p2p == p2p ? match_text(&late->text, *p, end)
                                            : NULL;

        if (!next)
            continue;
        cache->late = i;
        *clock = late->clock;
        *p = next;
        return true;
    }
    return false;
}

/* Takes the late part, mostly the same as in the last line. */
static inline SWAR_INLINE bool take_late(struct inspector_cache *cache,
                                         bool p2p, const char **p,
                                         const char *end, uint8_t *clock)
{
    const struct cache_late *late = &cache->lates[cache->late];

    if (!cache->n_lates || !is_late(late, p2p, *p, end))
        return take_other_late(cache, p2p, p, end, clock);
    *clock = late->clock;
    *p += late->text.len;
    return true;
}

/* Takes a joint in place of the key before a number. */
static RARE bool take_known_joint(const struct inspector_cache *cache, bool p2p,
                                  enum cache_before before, const char **p,
                                  const char *end)
{
    for (unsigned i = 0; i < cache->n_joints; i++) {
        const struct cache_joint *joint = &cache->joints[i];
        const char *next = joint->p2p == p2p && joint->before == before
                               ? match_text(&joint->text, *p, end)
                               : NULL;

        if (!next)
            continue;
        *p = next;
        return true;
    }
    return false;
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
    if (!tail->len)
        return false;
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
    struct reader_json_cursor c = {p, like->next};
    struct tail found;

    if (!tail->stamps_at)
        return (struct reader_stamps){0, 0};
    if (like->alike <= tail->stamps_at && tail->map.n)
        return reader_stamps_mapped(like->next - (tail->len - tail->stamps_at),
                                    &tail->map);
    return take_whole_tail(&c, &found) && found.stamps
               ? reader_stamps_read(found.stamps, found.stamps_len, NULL)
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

/* Takes the tail of a verbose record, beginning with the `last` one. Returns
 * the place after it, or NULL. */
static RARE const char *take_long_tail(struct inspector_cache *cache,
                                       uint8_t *last, const char *p,
                                       const char *end, struct record *out)
{
    struct reader_stamps stamps;
    struct likeness like;

    for (unsigned n = 0, i = *last; n < cache->n_tails; n++, i++) {
        i = i < cache->n_tails ? i : 0;
        if (!match_tail(&cache->tails[i], p, end, &like))
            continue;
        /* numbers that have grown make the comparison slow */
        if (like.longer > 2)
            i = better_tail(cache, i, p, &like);
        *last = (uint8_t) i;
        stamps = take_stamps(&cache->tails[i], p, &like);
        out->start_us = stamps.start_us;
        out->end_us = stamps.stop_us;
        return like.next;
    }
    return NULL;
}

/* Takes the tail: mostly just }}. */
static inline const char *take_tail(struct inspector_cache *cache,
                                    uint8_t *last, const char *p,
                                    const char *end, struct record *out)
{
    out->start_us = out->end_us = 0;
    return end - p >= 2 && p[0] == '}' && p[1] == '}'
               ? p + 2
               : take_long_tail(cache, last, p, end, out);
}

/* Takes the fixed key before a number, or a joint. */
#define STEP(name, which)                                                      \
    (TAKE(p, end, name) || take_known_joint(cache, p2p, which, p, end))

/* Takes peer, size, times and bandwidth, with the bounds of common/record.h.
 * Compiled twice, with p2p a constant. */
static inline SWAR_INLINE bool take_fields(struct inspector_cache *cache,
                                           bool p2p, const char **p,
                                           const char *end, struct record *out)
{
    uint64_t peer = 0;

    if (!swar_number(p, end, &out->sn))
        return false;
    if (p2p && (!STEP("p2p_peer", BEFORE_PEER) || !swar_number(p, end, &peer) ||
                peer >= (out->n_ranks ? out->n_ranks : RECORD_MAX_RANKS)))
        return false;
    out->peer = (uint32_t) peer;
    return (p2p ? STEP("p2p_msg_size_bytes", BEFORE_BYTES)
                : STEP("coll_msg_size_bytes", BEFORE_BYTES)) &&
           swar_number(p, end, &out->bytes) && out->bytes <= RECORD_MAX_BYTES &&
           (p2p ? STEP("p2p_exec_time_us", BEFORE_EXEC)
                : STEP("coll_exec_time_us", BEFORE_EXEC)) &&
           swar_number(p, end, &out->exec_us) &&
           out->exec_us <= RECORD_MAX_TIME_US &&
           take_late(cache, p2p, p, end, &out->clock) &&
           swar_skip_decimal(p, end) &&
           (p2p ? STEP("p2p_busbw_gbs", BEFORE_BUSBW)
                : STEP("coll_busbw_gbs", BEFORE_BUSBW)) &&
           swar_decimal(p, end, &out->busbw_micro, &out->busbw_nan);
}

/* Sets the fields that the parts have, one by one: clearing the whole struct
 * would cost a tenth of all time. A field that is added to struct record must
 * be set here or after this. */
static inline void fill_record(struct record *out, const struct cache_mid *mid)
{
    out->func = mid->func_text;
    out->algo = mid->algo;
    out->proto = mid->proto;
    out->p2p = mid->p2p;
    out->has_sn = true;
    out->gaps_lost = false;
    /* Inspector does not tell them */
    out->instance = out->device = out->launch_us = 0;
    out->phase.len = 0;
}

/* The same for what the head has, and the mid part after a head. */
static inline void fill_place(struct record *out, const struct cache_head *head,
                              const struct cache_mid *mid)
{
    out->id = head->id_text;
    out->name = head->name_text;
    out->rank = head->rank;
    out->n_ranks = head->n_ranks;
    out->nnodes = head->nnodes;
    out->host = mid->host_text;
    out->pid = mid->pid;
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
    mid = find_mid(cache, 0, &p, end);
    if (!mid)
        return NULL;
    fill_record(out, mid);
    fill_place(out, head, mid);
    if (!(mid->p2p ? take_fields(cache, true, &p, end, out)
                   : take_fields(cache, false, &p, end, out)))
        return NULL;
    out->series = cache->generation + head->series + mid->series;
    *next = p;
    return head;
}

/* More bytes than the parts before a tail can have: head, mid, late and four
 * joints of CACHE_PART_BYTES, six numbers of at most 24 digits, keys, and four
 * wild numbers in each part but the head, of 2 x WILD_DIGITS and a point. */
enum { NEAR = 12 * CACHE_PART_BYTES };

/* What is derived from other fields. */
static inline void set_derived(struct record *out)
{
    out->exec_unknown = !out->exec_us;
    if (!out->n_ranks) { /* sizes unknown: no bandwidth */
        out->busbw_micro = 0;
        out->busbw_nan = true;
    }
}

/* Takes a line with a header. Returns the place after its last }, or NULL. */
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
    set_derived(out);
    return take_tail(cache, &head->tail, tail, end, out);
}

/* Takes the numbers of a record of a batch, which has the rest. */
static inline SWAR_INLINE const struct cache_mid *
take_numbers(struct inspector_cache *cache, uint32_t place, const char *p,
             const char *end, struct record *out, const char **next)
{
    const struct cache_mid *mid = find_mid(cache, place, &p, end);

    if (!mid || !(mid->p2p ? take_fields(cache, true, &p, end, out)
                           : take_fields(cache, false, &p, end, out)))
        return NULL;
    *next = p;
    return mid;
}

/* Takes a record of a batch. Returns the place after its last }, or NULL. */
static RARE const char *take_payload(struct inspector_reader *reader,
                                     const char *p, const char *end,
                                     struct record *out)
{
    const struct inspector_batch *batch = &reader->batch;
    struct inspector_cache *cache = reader->cache;
    const struct cache_mid *mid;
    const char *tail;

    inspector_batch_base(batch, out);
    mid = end - p >= NEAR
              ? take_numbers(cache, batch->place, p, NULL, out, &tail)
              : take_numbers(cache, batch->place, p, end, out, &tail);
    if (!mid)
        return NULL;
    fill_record(out, mid);
    out->series = batch->head ? cache->generation +
                                    (uint64_t) (batch->head - 1) * CACHE_MIDS +
                                    mid->series
                              : 0;
    set_derived(out);
    return take_tail(cache, &cache->batch_tail, tail, end, out);
}

bool reader_speculate(struct inspector_reader *reader, const char *p,
                      const char *end, struct record *out, const char **next)
{
    *next = reader_has_head(p, end) ? take_line(reader->cache, p, end, out)
                                    : take_payload(reader, p, end, out);
    return *next != NULL;
}

bool inspector_read_ahead(struct inspector_reader *reader, const char *text,
                          size_t len, struct record *out, size_t *used)
{
    const char *end = text + len, *next;
    bool head = reader_has_head(text, end);

    if (!reader->cache)
        return false;
    next = head ? take_line(reader->cache, text, end, out)
                : take_payload(reader, text, end, out);
    if (!next || (!head && !reader->batch.left[out->p2p]))
        return false;
    /* the whole line must be there, to its newline */
    if (next < end && *next == '\r')
        next++;
    if (next == end || *next != '\n')
        return false;
    if (!head)
        reader->batch.left[out->p2p]--;
    reader->ways.speculated++;
    *used = (size_t) (next - text) + 1;
    return true;
}
