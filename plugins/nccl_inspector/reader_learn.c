/* reader_learn.c - take a line apart for the speculation on the next ones. */
#include "plugins/nccl_inspector/reader_cache.h"

#include "plugins/nccl_inspector/reader_json.h"
#include "plugins/nccl_inspector/reader_swar.h"

/* A line's parts; see reader_cache.h. */
struct parts {
    const char *head, *head_end, *mid, *func, *mid_end, *late, *late_end, *tail,
        *tail_end;
    bool p2p;
};

#define GUESS(c, text) reader_json_guess(c, text, sizeof(text) - 1)

/* An integer without a blank before it. */
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

static bool take_fields(struct reader_json_cursor *c, struct parts *parts)
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

/* What a verbose record has behind the bandwidth; *stamps: see
 * reader_tail_stamps. */
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

const char *reader_tail_stamps(const char *tail, const char *end, size_t *len)
{
    struct reader_json_cursor c = {tail, end};
    const char *stamps;

    return take_traces(&c, &stamps, len) ? stamps : NULL;
}

unsigned reader_keep_tail(struct inspector_cache *cache, const char *text,
                          size_t len)
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

/* The bandwidth and the tail. */
static bool take_tail(struct reader_json_cursor *c, struct parts *parts)
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

static void keep_head(struct inspector_cache *cache, const struct parts *parts,
                      const struct record *r)
{
    size_t len = (size_t) (parts->head_end - parts->head);
    uint64_t tag = swar_load(parts->head + CACHE_TAG_AT);
    struct cache_head *set = cache->heads + cache_set(tag) * CACHE_WAYS, *head;
    unsigned *next = &cache->next_way[cache_set(tag)];

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
        !take_fields(&c, &parts) || !take_tail(&c, &parts))
        return false;
    if (c.p < c.end && *c.p == '\r')
        c.p++;
    if (c.p != c.end)
        return false;
    if (!fits(&parts))
        return true;
    keep_head(cache, &parts, record);
    keep_mid(cache, &parts, record);
    keep_late(cache, &parts);
    if (reader_speculate(cache, line, line + len, &ignored, &next))
        return true;
    if (parts.tail_end - parts.tail == 2)
        return false;
    reader_keep_tail(cache, parts.tail, (size_t) (parts.tail_end - parts.tail));
    return reader_speculate(cache, line, line + len, &ignored, &next);
}
