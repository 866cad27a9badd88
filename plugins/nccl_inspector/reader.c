/* reader.c - the generic parser of Inspector records, and the way of a line:
 * first by speculation, then by this parser, which alone defines the meaning.
 *
 * The tables of keys (reader_keys.c) describe the objects of a line.
 * take_section() reads an object by its table, take_value() a value by its key.
 * check() decides whether a record is complete.
 */
#include "plugins/nccl_inspector/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "plugins/nccl_inspector/reader_parts.h"

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
static enum inspector_line parse(struct parse *p)
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
    kind = parse(&p);
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
