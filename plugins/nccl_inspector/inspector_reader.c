/* inspector_reader.c - the lines of an Inspector log become records.
 *
 * Three parts. The parser: inspector_read_line() reads a line by speculation if
 * it can, else by the generic parser, which alone defines the meaning. The
 * tables of keys (reader_keys.c) describe the objects of a line.
 * take_section() reads an object by its table, take_value() a value by its key.
 * check() decides whether a record is complete.
 *
 * What is around it: lines of a source of blocks (loglines), and operations of
 * one launch in verbose logs (neighbours).
 *
 * The backend's reader, at the end: read_file() opens a file or a piece of it,
 * and read_lines() takes its lines: as many as possible by speculation
 * (take_ahead), else one by the parser (take_line).
 */
#include "plugins/nccl_inspector/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "plugins/nccl_inspector/inspector.h"
#include "plugins/nccl_inspector/reader_parts.h"

/* --- the generic parser --------------------------------------------------- */

/* One line being read. */
struct parse {
    struct reader_json_cursor c;
    struct inspector_reader *reader;
    struct record *record;
    unsigned has;
    uint64_t counts[N_COUNTS];
};

/* Refuses the line for a reason that names a key; the first reason is kept.
 * Returns false. */
static bool bad_key(struct parse *p, enum jp_bad kind, const char *what,
                    const char *quoted)
{
    struct inspector_reader *reader = p->reader;
    int len = (int) strlen(quoted) - 1;

    if (reader->why[0]) /* an inner value has a more precise reason */
        return false;
    snprintf(reader->why, sizeof(reader->why), "%s %.*s", what, len, quoted);
    reader->bad = kind;
    return false;
}

/* The same for a reason without a key. */
static bool refuse(struct inspector_reader *reader, enum jp_bad kind,
                   const char *why)
{
    if (reader->why[0])
        return false;
    snprintf(reader->why, sizeof(reader->why), "%s", why);
    reader->bad = kind;
    return false;
}

/* Returns what kind of mistake a refused value is. */
static enum jp_bad kind_of_value(const struct reader_key *key,
                                 const char *value, const char *end)
{
    struct reader_json_cursor c = {value, end};
    struct reader_json_raw ignored;

    if (value == end || key->kind == SKIP || key->kind == STAMPS ||
        key->kind >= CLOCK)
        return JP_BAD_SYNTAX;
    /* a number: of the wrong type, or out of range */
    if (key->kind != TEXT)
        return badkind_of_number(value, (size_t) (end - value),
                                 key->kind != DECIMAL);
    if (*value != '"')
        return JP_BAD_TYPE;
    return reader_json_string(&c, &ignored) ? JP_BAD_VALUE : JP_BAD_SYNTAX;
}

/* Returns whether an id is "0x" and 1 to 16 hex digits. */
static bool good_id(const struct record_text *id)
{
    if (id->len < 3 || id->len > RECORD_MAX_ID || memcmp(id->text, "0x", 2))
        return false;
    for (size_t i = 2; i < id->len; i++) {
        char b = id->text[i];

        if (!((b >= '0' && b <= '9') || (b >= 'a' && b <= 'f') ||
              (b >= 'A' && b <= 'F')))
            return false;
    }
    return true;
}

/* Takes a communicator's name. It is only shown, so it may be decoded and cut;
 * "unknown" means that there is none. */
static bool take_name(struct parse *p, const struct reader_json_raw *raw)
{
    struct record_text *name = &p->record->name;

    *name = (struct record_text){raw->text, raw->len};
    /* mostly the line's own bytes are used, without a copy */
    if (!raw->plain || raw->len > RECORD_MAX_NAME) {
        name->len =
            reader_json_decode(raw, p->reader->name, sizeof(p->reader->name));
        name->text = p->reader->name;
    }
    if (name->len == 7 && !memcmp(name->text, "unknown", 7))
        name->len = 0;
    return true;
}

/* Takes a text into the record: the line's own bytes, or a decoded copy. */
static bool take_text(struct parse *p, const struct reader_key *key)
{
    struct record *r = p->record;
    struct record_text *out = (void *) ((char *) r + key->offset);
    char *copy = out == &r->host ? p->reader->host
                 : out == &r->id ? p->reader->id
                                 : p->reader->func;
    struct reader_json_raw raw;

    if (!reader_json_string(&p->c, &raw))
        return false;
    if (out == &r->name)
        return take_name(p, &raw);
    *out = (struct record_text){raw.text, raw.len};
    /* one byte more than allowed is decoded, so that a longer text is refused
     */
    if (!raw.plain)
        *out = (struct record_text){
            copy, reader_json_decode(&raw, copy, key->max + 2)};
    return out == &r->id ? good_id(out)
                         : record_is_word(out->text, out->len, key->max);
}

/* Takes a word as its number. It explains a record and decides nothing, so what
 * is no known word is not refused. */
static bool take_word(struct parse *p, const struct reader_key *key)
{
    uint8_t *out = (uint8_t *) p->record + key->offset;
    struct reader_json_raw raw;
    const char *text;
    size_t len;

    *out = 0;
    reader_json_blank(&p->c);
    if (p->c.p >= p->c.end || *p->c.p != '"')
        return reader_json_skip(&p->c);
    if (!reader_json_string(&p->c, &raw))
        return false;
    text = raw.text;
    len = raw.len;
    if (!raw.plain) {
        text = p->reader->word;
        len =
            reader_json_decode(&raw, p->reader->word, sizeof(p->reader->word));
    }
    *out = key->kind == CLOCK  ? (uint8_t) record_clock_find(text, len)
           : key->kind == ALGO ? record_algo_find(text, len)
                               : record_proto_find(text, len);
    return true;
}

/* Takes a whole number of at most key->max. */
static bool take_number(struct parse *p, const struct reader_key *key)
{
    char *out = (char *) p->record + key->offset;
    uint64_t v;

    if (!reader_json_u64(&p->c, &v) || v > key->max)
        return false;
    if (key->kind == COUNT)
        p->counts[key->offset] = v;
    else if (key->kind == U32)
        *(uint32_t *) (void *) out = (uint32_t) v;
    else if (key->kind == I64)
        *(int64_t *) (void *) out = (int64_t) v;
    else
        *(uint64_t *) (void *) out = v;
    return true;
}

/* Takes the value that says when the operation ran; any form is accepted. */
static bool take_stamps(struct parse *p)
{
    struct reader_stamps stamps;
    const char *start;

    reader_json_blank(&p->c);
    start = p->c.p;
    if (!reader_json_skip(&p->c))
        return false;
    stamps = reader_stamps_read(start, (size_t) (p->c.p - start), NULL);
    p->record->start_us = stamps.start_us;
    p->record->end_us = stamps.stop_us;
    return true;
}

static bool take_section(struct parse *p, const struct reader_section *section);

static bool take_value(struct parse *p, const struct reader_key *key)
{
    const char *value;
    bool ok;

    reader_json_blank(&p->c);
    value = p->c.p;
    switch (key->kind) {
    case SECTION:
        ok = take_section(p, key->section);
        break;
    case TEXT:
        ok = take_text(p, key);
        break;
    case DECIMAL:
        ok = reader_json_decimal(&p->c, key->max, &p->record->busbw_micro,
                                 &p->record->busbw_nan);
        break;
    case STAMPS:
        ok = take_stamps(p);
        break;
    case SKIP:
        ok = reader_json_skip(&p->c);
        break;
    case CLOCK:
    case ALGO:
    case PROTO:
        ok = take_word(p, key);
        break;
    default:
        ok = take_number(p, key);
    }
    p->has |= key->has; /* present, though it may be bad */
    return ok ||
           bad_key(p, kind_of_value(key, value, p->c.end), "bad", key->quoted);
}

/* Takes one "key": value. *next is the row to guess first; further guesses
 * allow for two missing keys. */
static bool take_member(struct parse *p, const struct reader_section *section,
                        size_t *next)
{
    const struct reader_key *key;
    struct reader_json_raw raw;

    for (size_t i = *next; i < section->n && i < *next + 3; i++) {
        key = &section->keys[i];
        if (reader_json_guess(&p->c, key->quoted, key->len)) {
            *next = i + 1;
            return take_value(p, key);
        }
    }
    if (!reader_json_string(&p->c, &raw) || !reader_json_take(&p->c, ':'))
        return refuse(p->reader, JP_BAD_SYNTAX, "broken JSON");
    key = reader_find_key(section, &raw);
    if (!key)
        return reader_json_skip(&p->c) ||
               refuse(p->reader, JP_BAD_SYNTAX, "broken JSON");
    *next = (size_t) (key - section->keys) + 1;
    return take_value(p, key);
}

static bool take_section(struct parse *p, const struct reader_section *section)
{
    size_t next = 0;

    /* an object where the line must begin, or as the value of a key */
    if (!reader_json_take(&p->c, '{'))
        return refuse(p->reader,
                      section == &reader_line || p->c.p == p->c.end
                          ? JP_BAD_SYNTAX
                          : JP_BAD_TYPE,
                      "not a JSON object");
    if (reader_json_take(&p->c, '}'))
        return true;
    do {
        if (!take_member(p, section, &next))
            return false;
    } while (reader_json_take(&p->c, ','));
    return reader_json_take(&p->c, '}') ||
           refuse(p->reader, JP_BAD_SYNTAX, "broken JSON");
}

/* Checks what only sends and receives have. */
static bool check_p2p(struct parse *p, uint32_t n_ranks)
{
    const struct record *r = p->record;

    if (!r->p2p)
        return true;
    if (r->func.len != 4 ||
        (memcmp(r->func.text, "Send", 4) && memcmp(r->func.text, "Recv", 4)))
        return bad_key(p, JP_BAD_VALUE, "bad", "\"p2p\":");
    if (r->peer >= n_ranks)
        return bad_key(p, JP_BAD_VALUE, "bad", "\"p2p_peer\":");
    return true;
}

/* Checks that all needed keys were there and agree with each other. A marker
 * only needs the first ones, which are the header's. */
static bool check(struct parse *p)
{
    enum { OF_HEADER = 4 };

    /* keys that must be there, by kind; NULL: not needed */
    static const struct {
        unsigned has;
        const char *coll, *p2p;
    } rows[] = {
        {HAS_ID, "\"id\":", "\"id\":"},
        {HAS_RANK, "\"rank\":", "\"rank\":"},
        {HAS_N_RANKS, "\"n_ranks\":", "\"n_ranks\":"},
        {HAS_NNODES, "\"nnodes\":", "\"nnodes\":"},
        {HAS_FUNC, "\"coll\":", "\"p2p\":"},
        {HAS_SN, "\"coll_sn\":", NULL},
        {HAS_BYTES, "\"coll_msg_size_bytes\":", "\"p2p_msg_size_bytes\":"},
        {HAS_EXEC, "\"coll_exec_time_us\":", "\"p2p_exec_time_us\":"},
        {HAS_PEER, NULL, "\"p2p_peer\":"},
    };
    struct record *r = p->record;
    size_t n = p->has & HAS_MARKER ? OF_HEADER : sizeof(rows) / sizeof(*rows);

    r->exec_unknown = !r->exec_us;
    for (size_t i = 0; i < n; i++) {
        const char *quoted = r->p2p ? rows[i].p2p : rows[i].coll;

        if (quoted && !(p->has & rows[i].has))
            return bad_key(p, JP_BAD_MISSING, "no", quoted);
    }
    if (!r->n_ranks && !r->nnodes) { /* sizes unknown: no bandwidth */
        r->busbw_nan = true;
        r->busbw_micro = 0;
        return check_p2p(p, RECORD_MAX_RANKS);
    }
    if (!r->n_ranks || r->rank >= r->n_ranks)
        return bad_key(p, JP_BAD_VALUE, "bad", "\"rank\":");
    if (!r->nnodes || r->nnodes > r->n_ranks)
        return bad_key(p, JP_BAD_VALUE, "bad", "\"nnodes\":");
    return check_p2p(p, r->n_ranks);
}

void inspector_begin_file(struct inspector_reader *reader)
{
    uint32_t place = reader->batch.place + 1;

    reader->batch = (struct inspector_batch){.place = place, .pid = -1};
}

/* Begins the batch of a good marker. */
static void begin_batch(struct parse *p)
{
    struct inspector_batch *b = &p->reader->batch;
    const struct record *r = p->record;

    if (b->host_len != r->host.len || b->pid != r->pid ||
        (r->host.len && memcmp(b->host, r->host.text, r->host.len)))
        b->place++;
    b->head = 0;
    b->left[0] = p->counts[COLLS];
    b->left[1] = p->counts[P2PS];
    b->id_len = (uint8_t) r->id.len;
    b->name_len = (uint8_t) r->name.len;
    b->host_len = (uint8_t) r->host.len;
    memcpy(b->id, r->id.text, r->id.len);
    if (r->name.len)
        memcpy(b->name, r->name.text, r->name.len);
    if (r->host.len)
        memcpy(b->host, r->host.text, r->host.len);
    b->rank = r->rank;
    b->n_ranks = r->n_ranks;
    b->nnodes = r->nnodes;
    b->pid = r->pid;
    b->dump_us = r->dump_us;
    p->reader->stats = (struct inspector_stats){
        .records = p->counts[COLLS] + p->counts[P2PS],
        .dropped = num_add(p->counts[COLLS_DROPPED], p->counts[P2PS_DROPPED])};
}

/* A record without a header is one of its marker's, as long as that has any
 * left. False: it has none. */
static bool take_base(struct parse *p, bool p2p)
{
    struct inspector_batch *batch = &p->reader->batch;

    if (!batch->left[p2p])
        return false;
    batch->left[p2p]--;
    inspector_batch_base(batch, p->record);
    p->has |= HAS_ID | HAS_RANK | HAS_N_RANKS | HAS_NNODES;
    return true;
}

/* Reads a whole line. */
static enum inspector_line parse_whole(struct parse *p)
{
    struct record *out = p->record;
    unsigned kinds;

    reader_json_blank(&p->c);
    if (p->c.p == p->c.end)
        return INSPECTOR_BLANK;
    if (!take_section(p, &reader_line))
        return INSPECTOR_BAD;
    reader_json_blank(&p->c);
    if (p->c.p != p->c.end) {
        refuse(p->reader, JP_BAD_SYNTAX, "text after the object");
        return INSPECTOR_BAD;
    }
    /* exactly one of the kinds makes a record or a marker */
    kinds = p->has & (HAS_COLL | HAS_P2P | HAS_MARKER);
    p->reader->has_header = p->has & (HAS_HEADER | HAS_METADATA);
    if (!kinds)
        return INSPECTOR_OTHER;
    if (kinds & (kinds - 1)) {
        refuse(p->reader, JP_BAD_VALUE,
               kinds & HAS_MARKER ? "both dump_stats and a record"
                                  : "both coll_perf and p2p_perf");
        return INSPECTOR_BAD;
    }
    out->p2p = kinds == HAS_P2P;
    if (kinds == HAS_MARKER) {
        if (!check(p))
            return INSPECTOR_BAD;
        begin_batch(p);
        return INSPECTOR_MARKER;
    }
    if (!p->reader->has_header && !take_base(p, out->p2p)) {
        refuse(p->reader, JP_BAD_MISSING, "no header, and no marker counts it");
        return INSPECTOR_BAD;
    }
    out->has_sn = p->has & HAS_SN;
    if (!(p->has & HAS_BUSBW))
        out->busbw_nan = true;
    return check(p) ? INSPECTOR_RECORD : INSPECTOR_BAD;
}

/* Runs the generic parser. A bad line with bytes that are no text is of that
 * kind, whatever the parser found. */
static enum inspector_line reader_parse(struct inspector_reader *reader,
                                        const char *line, size_t len,
                                        struct record *out)
{
    struct parse p = {.c = {line, line + len}, .reader = reader, .record = out};
    enum inspector_line kind;

    reader->why[0] = '\0';
    reader->has_header = true; /* of a line that cannot be read: not known */
    *out = (struct record){.pid = -1};
    kind = parse_whole(&p);
    if (kind == INSPECTOR_BAD && !badkind_is_text(line, len))
        reader->bad = JP_BAD_BYTES;
    return kind;
}

/* --- by speculation or by the parser; both ways are counted -------------- */

struct inspector_cache *inspector_cache_create(void)
{
    struct inspector_cache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        return NULL;
    cache->generation = RECORD_MAX_SERIES;
    /* any digits and their value */
    memcpy(&cache->stamp_text, "10000000", sizeof(cache->stamp_text));
    cache->stamp_value = 10000000;
    for (unsigned i = 0; i < CACHE_SETS; i++)
        cache->last[i] = &cache->heads[i * CACHE_WAYS];
    return cache;
}

void inspector_cache_destroy(struct inspector_cache *cache)
{
    free(cache);
}

/* Returns whether speculation took the whole line. */
static bool speculate(struct inspector_reader *reader, const char *line,
                      size_t len, struct record *out)
{
    const char *next, *end = line + len;

    if (!reader_speculate(reader, line, end, out, &next) ||
        (next != end && (next + 1 != end || *next != '\r')))
        return false;
    if (reader_has_head(line, end))
        return true;
    if (!reader->batch.left[out->p2p])
        return false;
    reader->batch.left[out->p2p]--;
    return true;
}

enum inspector_line inspector_read_line(struct inspector_reader *reader,
                                        const char *line, size_t len,
                                        struct record *out)
{
    enum inspector_line kind;

    if (reader->cache && speculate(reader, line, len, out)) {
        reader->why[0] = '\0';
        reader->has_header = reader_has_head(line, line + len);
        reader->ways.speculated++;
        return INSPECTOR_RECORD;
    }
    /* parse it, and keep its layout for the next lines */
    kind = reader_parse(reader, line, len, out);
    if (reader->cache && kind == INSPECTOR_RECORD) {
        if (reader_learn(reader, line, len, out))
            reader->ways.learned++;
        else
            reader->ways.odd++;
    }
    if (reader->cache && kind == INSPECTOR_MARKER)
        reader_learn_marker(reader, line, len, out);
    return kind;
}

/* --- lines of a stream of blocks --- */

int loglines_init(struct jp_loglines *lines, struct jp_logsource *source)
{
    loglines_reset(lines, source);
    lines->buf = malloc(LOGLINES_MAX_BYTES + LOGLINES_BLOCK);
    return lines->buf ? 0 : -1;
}

/* Without a limit (`to`) until the caller sets one. */
void loglines_reset(struct jp_loglines *lines, struct jp_logsource *source)
{
    char *buf = lines->buf;

    *lines =
        (struct jp_loglines){.source = source, .buf = buf, .to = UINT64_MAX};
}

void loglines_fini(struct jp_loglines *lines)
{
    free(lines->buf);
    lines->buf = NULL;
}

/* Moves the rest to the front and reads a block after it. Of a line that is too
 * long nothing is kept. Returns 0, or -1 with err. */
static int fill_lines(struct jp_loglines *lines, struct jp_error *err)
{
    size_t rest = lines->end - lines->start;
    ssize_t n;

    /* a line without end must not grow the buffer */
    if (rest > LOGLINES_MAX_BYTES || lines->skipping) {
        lines->skipping = true;
        rest = 0;
    } else if (rest && lines->start) {
        memmove(lines->buf, lines->buf + lines->start, rest);
    }
    lines->start = 0;
    lines->end = rest;
    n = logsource_read(lines->source, lines->buf + rest, LOGLINES_BLOCK, err);
    if (n < 0)
        return -1;
    lines->eof = n == 0;
    lines->end += (size_t) n;
    lines->bytes += (uint64_t) n;
    return 0;
}

/* Hands out the bytes up to `end` as a line; the next one begins at `next`. */
static enum loglines_kind give(struct jp_loglines *lines, size_t end,
                               size_t next, enum loglines_kind kind,
                               const char **text, size_t *len)
{
    *text = lines->buf + lines->start;
    *len = end - lines->start;
    lines->start = next;
    if (lines->skipping || *len > LOGLINES_MAX_BYTES) {
        lines->skipping = false;
        *text = NULL;
        *len = 0;
        return LOGLINES_TOO_LONG;
    }
    return kind;
}

enum loglines_kind loglines_next(struct jp_loglines *lines, const char **text,
                                 size_t *len, struct jp_error *err)
{
    size_t looked = 0; /* bytes after start that are known to have no newline */

    for (;;) {
        char *from = lines->buf + lines->start + looked;
        char *newline = memchr(from, '\n', lines->end - lines->start - looked);
        size_t at = newline ? (size_t) (newline - lines->buf) : lines->end;

        /* a line, the rest of the file, or another block */
        if (newline)
            return give(lines, at, at + 1, LOGLINES_LINE, text, len);
        if (lines->eof && (at > lines->start || lines->skipping))
            return give(lines, at, at, LOGLINES_LAST, text, len);
        if (lines->eof || (lines->stop && atomic_load(lines->stop)))
            return LOGLINES_END;
        looked = at - lines->start; /* not to be searched again */
        if (fill_lines(lines, err) < 0) {
            lines->eof = true;
            lines->start = lines->end = 0;
            lines->skipping = false;
            return LOGLINES_ERROR;
        }
        if (lines->skipping)
            looked = 0;
    }
}

/* --- operations of one launch in verbose logs --- */

/* At most MOST records of one batch are held. Where they begin depends on the
 * first one's series (STARTS places), so that series which alternate find their
 * texts there already (copy_record). LEAST_US: shorter times are not compared.
 */
enum { MOST = 128, LEAST_US = 20, STARTS = 8 };

/* A record with its own texts. */
struct line {
    struct record record;
    char id[RECORD_MAX_ID + 1], name[RECORD_MAX_NAME + 1];
    char host[RECORD_MAX_HOST + 1], func[RECORD_MAX_FUNC + 1];
};

struct neighbours {
    launches_take *take;
    void *arg;
    size_t n;
    struct line *held; /* the first of n in lines */
    struct line lines[STARTS + MOST];
};

struct neighbours *neighbours_create(launches_take *take, void *arg)
{
    struct neighbours *n = calloc(1, sizeof(*n));

    if (n) {
        n->take = take;
        n->arg = arg;
        n->held = n->lines;
    }
    return n;
}

void neighbours_destroy(struct neighbours *neighbours)
{
    free(neighbours);
}

/* Copies a text to `to`, cut to size, and lets it point there. */
static void keep_text(struct record_text *text, char *to, size_t size)
{
    size_t len = text->len < size ? text->len : size - 1;

    memcpy(to, text->text ? text->text : "", len);
    to[len] = '\0';
    *text = (struct record_text){to, len};
}

/* Copies a record. Records of one series have the same texts, so those of the
 * record that was here before are often right already. */
static void copy_record(struct line *line, const struct record *record)
{
    struct record *r = &line->record;

    if (record->series && record->series == r->series) {
        const struct record_text id = r->id, name = r->name, host = r->host,
                                 func = r->func;

        *r = *record;
        r->id = id;
        r->name = name;
        r->host = host;
        r->func = func;
        return;
    }
    *r = *record;
    keep_text(&r->id, line->id, sizeof(line->id));
    keep_text(&r->name, line->name, sizeof(line->name));
    keep_text(&r->host, line->host, sizeof(line->host));
    keep_text(&r->func, line->func, sizeof(line->func));
}

/* Returns whether two texts have the same bytes. */
static bool is_equal(const struct record_text *a, const struct record_text *b)
{
    return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

/* Returns the difference of two numbers. */
static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Returns whether the host's stamps fit the time that the GPU measured: within
 * a factor of two. */
static bool is_plausible(const struct record *r)
{
    uint64_t seen = r->end_us > r->start_us ? r->end_us - r->start_us : 0;

    return r->exec_us >= LEAST_US && 2 * seen >= r->exec_us &&
           seen <= 2 * r->exec_us;
}

/* Returns whether two records are of one batch; reader.h has the rule. */
static bool is_of_batch(const struct record *a, const struct record *b)
{
    /* what differs in most lines is compared first; a was found plausible when
     * it was added */
    return 2 * apart(a->start_us, b->start_us) <= a->exec_us &&
           2 * apart(a->end_us, b->end_us) <= a->exec_us &&
           apart(a->exec_us, b->exec_us) <= 1 && a->p2p == b->p2p &&
           a->rank == b->rank && a->pid == b->pid && is_equal(&a->id, &b->id) &&
           is_equal(&a->host, &b->host) &&
           (!a->p2p || is_equal(&a->func, &b->func));
}

/* Divides the batch's time among its records. */
static void divide(struct neighbours *neighbours)
{
    struct launches_member members[MOST];
    uint64_t longest_us = 0;

    for (size_t i = 0; i < neighbours->n; i++) {
        struct line *line = &neighbours->held[i];

        members[i] = (struct launches_member){
            .record = &line->record, .rule = bandwidth_find(line->func)};
        if (line->record.exec_us > longest_us)
            longest_us = line->record.exec_us;
    }
    launches_divide(members, neighbours->n, longest_us);
}

int neighbours_flush(struct neighbours *neighbours)
{
    size_t n = neighbours->n;
    int rc = 0;

    if (n > 1) /* a single operation keeps its time */
        divide(neighbours);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = neighbours->take(neighbours->arg, &neighbours->held[i].record);
    neighbours->n = 0;
    return rc;
}

int neighbours_add(struct neighbours *neighbours, const struct record *record)
{
    bool plausible = is_plausible(record);
    size_t n = neighbours->n;
    int rc = 0;

    if (n > 0 && (n == MOST || !plausible ||
                  !is_of_batch(&neighbours->held[n - 1].record, record)))
        rc = neighbours_flush(neighbours);
    if (rc == 0 && !plausible) /* it is of no batch, so it need not be held */
        return neighbours->take(neighbours->arg, record);
    /* the first of a batch chooses the place for all */
    if (!neighbours->n)
        neighbours->held = &neighbours->lines[record->series % STARTS];
    copy_record(&neighbours->held[neighbours->n++], record);
    return rc;
}

/* --- the reader ----------------------------------------------------------- */

/* What a thread keeps from file to file. */
struct state {
    struct inspector_reader reader; /* with a cache */
    struct jp_loglines lines;
};

/* One log on its way into the sink. */
struct way {
    struct state *state;
    const struct reader_sink *sink;
    struct source_facts *facts;
    struct neighbours *neighbours; /* NULL before the first verbose record */
    bool headed; /* a record or marker with a header was read */
};

static void destroy(void *arg)
{
    struct state *state = arg;

    if (!state)
        return;
    inspector_cache_destroy(state->reader.cache);
    loglines_fini(&state->lines);
    free(state);
}

static void *create(void)
{
    struct state *state = calloc(1, sizeof(*state));

    if (!state)
        return NULL;
    /* without a cache lines could be read, but many times slower */
    state->reader.cache = inspector_cache_create();
    if (state->reader.cache && loglines_init(&state->lines, NULL) == 0)
        return state;
    destroy(state);
    return NULL;
}

/* Receives records from the neighbours. */
static int take_neighbours(void *arg, const struct record *record)
{
    struct way *w = arg;

    return w->sink->take(w->sink->arg, record, 1);
}

/* Passes on the line of what follows. */
static void give_line(const struct way *w, const char *text, size_t len)
{
    if (w->sink->line)
        w->sink->line(w->sink->arg, text, len);
}

/* Passes a record on. Only verbose records can be of a batch; others end it. */
static int take_record(struct way *w, const struct record *record)
{
    if (w->sink->line) /* the times of the line */
        return w->sink->take(w->sink->arg, record, 1);
    if (!record->start_us || !record->end_us) {
        int rc = w->neighbours ? neighbours_flush(w->neighbours) : 0;

        return rc ? rc : w->sink->take(w->sink->arg, record, 1);
    }
    if (!w->neighbours)
        w->neighbours = neighbours_create(take_neighbours, w);
    return w->neighbours ? neighbours_add(w->neighbours, record) : -1;
}

/* Takes what a marker counts. It is a lower bound: what was in the rings when
 * the communicator was destroyed is in no marker. */
static int take_marker(struct way *w)
{
    const struct inspector_reader *reader = &w->state->reader;
    struct record base = {.pid = -1};
    struct jpr_counts counts = {
        .produced = num_add(reader->stats.records, reader->stats.dropped),
        .written = reader->stats.records,
        .lost = reader->stats.dropped};

    w->facts->markers++;
    w->facts->marked = num_add(w->facts->marked, counts.written);
    w->facts->dropped = num_add(w->facts->dropped, counts.lost);
    inspector_batch_base(&reader->batch, &base);
    return w->sink->counts ? w->sink->counts(w->sink->arg, &base, &counts) : 0;
}

/* Reads a line with the parser. A bad last line without a newline means that
 * the file is cut, not that it is wrong. */
static int take_line(struct way *w, enum loglines_kind kind, const char *text,
                     size_t len)
{
    struct inspector_reader *reader = &w->state->reader;
    struct source_facts *facts = w->facts;
    struct record record;

    switch (inspector_read_line(reader, text, len, &record)) {
    case INSPECTOR_RECORD:
        give_line(w, text, len);
        w->headed |= reader->has_header;
        return take_record(w, &record);
    case INSPECTOR_MARKER:
        give_line(w, text, len);
        w->headed = true;
        return take_marker(w);
    case INSPECTOR_OTHER:
        facts->other_lines++;
        break;
    case INSPECTOR_BAD:
        if (kind == LOGLINES_LAST)
            facts->cut = true; /* the writer was killed, or still writes */
        else
            reader_note_bad(facts, facts->lines, reader->bad, reader->why);
        break;
    case INSPECTOR_BLANK:
        break;
    }
    return 0;
}

/* Reports how far the file is read. Returns false to stop. */
static bool tick(const struct jp_loglines *lines, uint64_t *seen,
                 const struct reader_input *in)
{
    uint64_t now = logsource_consumed(lines->source);

    atomic_fetch_add_explicit(in->done, now - *seen, memory_order_relaxed);
    *seen = now;
    return !atomic_load_explicit(in->stop, memory_order_relaxed);
}

/* Takes lines that have the layout of earlier ones, as many as are in the
 * buffer. */
static int take_ahead(struct way *w, struct jp_loglines *lines)
{
    const char *text;
    size_t used, len = loglines_ahead(lines, &text);
    uint64_t at = loglines_at(lines);
    int rc = 0;

    /* a line that begins before `to` is ours, wherever it ends */
    while (rc == 0 && at < lines->to) {
        struct record record;

        if (!inspector_read_ahead(&w->state->reader, text, len, &record, &used))
            break;
        give_line(w, text, used);
        rc = take_record(w, &record);
        w->facts->lines++;
        loglines_take(lines, used);
        text += used;
        len -= used;
        at += used;
    }
    return rc;
}

/* Skips the line in which a piece begins: it belongs to the piece before. */
static bool skip_first(struct jp_loglines *lines, struct jp_error *err)
{
    const char *text;
    size_t len;

    return lines->from == 0 ||
           loglines_next(lines, &text, &len, err) < LOGLINES_END;
}

/* Records without a header belong to the piece that has their marker, wherever
 * they are; all other lines to the piece in which they begin. So a piece begins
 * with `borrowed` lines: they are counted here and read by the piece before, up
 * to the first line with a header. At its end it reads on to that line. */

/* Reads a line of a piece's beginning. Returns whether it has no header, and so
 * is not ours. */
static bool is_borrowed(struct way *w, const char *text, size_t len)
{
    struct inspector_reader *reader = &w->state->reader;
    struct record ignored;
    enum inspector_line kind;

    if (!text) /* too long: any line */
        return false;
    kind = inspector_read_line(reader, text, len, &ignored);
    return kind == INSPECTOR_BAD && !reader->has_header;
}

/* Reads the records after a piece's end that belong to its last marker. */
static int read_beyond(struct way *w, struct jp_loglines *lines,
                       struct jp_error *err)
{
    struct inspector_reader *reader = &w->state->reader;
    struct source_facts *facts = w->facts;
    uint64_t number = facts->lines;
    int rc = 0;

    while (rc == 0) {
        const char *text;
        size_t len;
        enum loglines_kind kind = loglines_next(lines, &text, &len, err);
        struct record record;

        if (kind == LOGLINES_END || kind == LOGLINES_ERROR)
            break;
        number++;
        if (kind == LOGLINES_TOO_LONG)
            continue;
        switch (inspector_read_line(reader, text, len, &record)) {
        case INSPECTOR_RECORD:
            if (reader->has_header)
                return 0;
            give_line(w, text, len);
            rc = take_record(w, &record);
            break;
        case INSPECTOR_MARKER:
            return 0;
        case INSPECTOR_BAD:
            if (!reader->has_header)
                reader_note_bad(facts, number, reader->bad, reader->why);
            break;
        case INSPECTOR_OTHER:
        case INSPECTOR_BLANK:
            break;
        }
    }
    return rc;
}

/* Fills in what is known after the end of a file or piece. */
static void sum_up(struct source_facts *facts, const struct jp_loglines *lines,
                   const struct jp_error *err)
{
    const char *damage = logsource_damage(lines->source);

    if (damage || err->text[0]) {
        facts->cut = true;
        reader_note_damage(facts, damage ? damage : err->text);
    }
}

/* Reads all lines from here on; the source of `lines` is open. *end is where
 * the lines that are counted end. */
static int read_lines(struct way *w, const struct reader_input *in,
                      struct jp_loglines *lines, uint64_t *end,
                      struct jp_error *err)
{
    struct source_facts *facts = w->facts;
    uint64_t read = 0, seen = 0;
    bool more = true, borrowed = lines->from > 0;
    int rc = 0;

    while (more) {
        const char *text;
        size_t len;
        enum loglines_kind kind;

        rc = borrowed ? 0 : take_ahead(w, lines);
        if (rc || loglines_at(lines) >= lines->to)
            break;
        kind = loglines_next(lines, &text, &len, err);
        if (kind == LOGLINES_END || kind == LOGLINES_ERROR)
            break;
        facts->lines++;
        if (borrowed && is_borrowed(w, text, len))
            ;
        else if (kind == LOGLINES_TOO_LONG)
            reader_note_bad(facts, facts->lines, JP_BAD_LONG,
                            "line longer than 1 MiB");
        else
            rc = take_line(w, kind, text, len);
        /* from the first line with a header on all are ours */
        borrowed = borrowed && !w->headed;
        more = rc == 0;
        /* report once a block, not for each line */
        if (more && lines->bytes != read)
            more = tick(lines, &seen, in);
        read = lines->bytes;
    }
    *end = loglines_at(lines);
    if (rc == 0 && !borrowed && *end >= lines->to && lines->to != UINT64_MAX)
        rc = read_beyond(w, lines, err);
    /* the last batch */
    if (w->neighbours && rc == 0)
        rc = neighbours_flush(w->neighbours);
    tick(lines, &seen, in);
    return rc;
}

_Static_assert(sizeof(struct inspector_batch) <= sizeof(struct reader_resume),
               "a batch can be resumed");

/* Goes on with the batch in which a growing file was left. Other files were
 * read meanwhile, so the cache has no series for it. */
static void resume(struct inspector_reader *reader,
                   const struct reader_resume *from)
{
    uint32_t place = reader->batch.place;

    memcpy(&reader->batch, from, sizeof(reader->batch));
    reader->batch.place = place;
    reader->batch.head = 0;
}

/* Reads an open source from its first whole line on. */
static int read_source(struct state *state, const struct reader_input *in,
                       const struct reader_sink *sink,
                       struct source_facts *facts)
{
    struct way w = {.state = state, .sink = sink, .facts = facts};
    struct jp_loglines *lines = &state->lines;
    uint64_t odd = state->reader.ways.odd, from, end;
    struct jp_error err = {""};
    int rc = 0;

    /* checked for each block, as a line may be of any length */
    lines->stop = in->stop;
    inspector_begin_file(&state->reader);
    if (in->resume)
        resume(&state->reader, in->resume);
    if (skip_first(lines, &err)) {
        from = loglines_at(lines);
        rc = read_lines(&w, in, lines, &end, &err);
    } else {
        from = end = loglines_at(lines);
    }
    if (in->resume)
        memcpy(in->resume, &state->reader.batch, sizeof(state->reader.batch));
    neighbours_destroy(w.neighbours);
    facts->bytes = end - from;
    /* the reader counts over all files of the thread */
    facts->odd_lines = state->reader.ways.odd - odd;
    sum_up(facts, lines, &err);
    return rc;
}

static int read_file(void *arg, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    struct state *state = arg;
    struct jp_error err = {""};
    /* one byte before: is it a newline? */
    uint64_t from = in->from ? in->from - 1 : 0;
    struct jp_logsource *source =
        in->data ? logsource_open_memory(in->data, in->len, &err)
        : from   ? logsource_open_at(in->path, from, &err)
                 : logsource_open(in->path, &err);
    int rc;

    if (!source)
        return reader_refuse(facts, in->path, &err);
    loglines_reset(&state->lines, source);
    state->lines.from = from;
    state->lines.to = in->to;
    rc = read_source(state, in, sink, facts);
    logsource_close(source);
    return rc;
}

const struct backend_reader inspector_reader = {.takes_rest = true,
                                                .splits = true,
                                                .create = create,
                                                .destroy = destroy,
                                                .read = read_file};
