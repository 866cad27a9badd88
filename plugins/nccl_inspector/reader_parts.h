/* reader_parts.h - what the files of the reader share: a cursor over JSON, the
 * stamps of verbose records, and what the speculation on the structure of a
 * line remembers.
 *
 * Inspector writes all lines in the same way. So a line that the generic parser
 * has read is kept in parts, and later lines are compared with them:
 *   head  {"header":{"id":..,"nnodes":8},"metadata":{..,"dump_timestamp_us":
 *         a number
 *   mid   ,"hostname":..,"pid":9},"coll_perf":{"coll":"AllReduce","coll_sn":
 *         numbers between fixed keys
 *   late  ,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":
 *         two decimals, `,"coll_busbw_gbs":` between them
 *   tail  }} or what verbose records have besides, up to }}
 * A record of a batch (v4.3) has no head: {"coll_perf":{"coll":..,"coll_sn":
 * is its mid, and the batch has the rest.
 *
 * Keys that the generic parser does not know may stand between any two that it
 * knows: such a member becomes part of the text around it. Where it is between
 * numbers, that text is a joint, which replaces the fixed key. A number that is
 * the value of an unknown key is wild: any other number may stand there. A key
 * that the parser knows, but in another place, is not learned.
 *
 * head, mid, late and joints must be equal byte by byte, apart from wild
 * numbers. In a tail digits may differ, and so may the number of digits in a
 * row. This is exact: digits of unknown keys themselves must be equal, and all
 * others are in a skipped value, where the generic parser looks at brackets and
 * quotes only (a tail with a backslash is not kept). When there is no room, a
 * new part replaces another one.
 */
#ifndef JP_NCCL_INSPECTOR_READER_PARTS_H
#define JP_NCCL_INSPECTOR_READER_PARTS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plugins/nccl_inspector/reader.h"

/* --- when a verbose record's operation ran ------------------------------- */

/* "event_trace_ts":{"coll_start_ts":..,"coll_stop_ts":..,"kernel_events":[
 * {"channel_id":0,"kernel_start_ts":..,"kernel_stop_ts":..,
 * "kernel_record_ts":..},..]}, microseconds of the host's clock. Only the
 * kernels' stamps are used: coll_start and coll_stop enclose the enqueueing. */

#define STAMPS_CHANNELS 64 /* the most that NCCL has */
#define STAMPS_DIGITS 16   /* microseconds of the years 2001 to 2286 */

struct reader_stamps {
    uint64_t start_us, stop_us; /* 0: unknown */
};

/* Where the stamps of each channel are, in bytes from the begin of the text. */
struct stamps_map {
    unsigned n; /* channels; 0: no map */
    uint16_t start[STAMPS_CHANNELS], stop[STAMPS_CHANNELS];
};

/* Reads the value of event_trace_ts. With another form both are unknown. A
 * channel without a start is ignored; one without a stop makes the end unknown.
 * `map` (NULL: not wanted) is filled if all stamps have STAMPS_DIGITS. */
struct reader_stamps reader_stamps_read(const char *text, size_t len,
                                        struct stamps_map *map);

/* The same for a text that differs from the mapped one in digits only. */
struct reader_stamps reader_stamps_mapped(const char *text,
                                          const struct stamps_map *map);

enum {
    CACHE_SETS = 8, /* of heads, chosen by the digits of the id */
    CACHE_WAYS = 8,
    CACHE_HEADS = CACHE_SETS * CACHE_WAYS,
    CACHE_MIDS = RECORD_MAX_SERIES / CACHE_HEADS,
    CACHE_LATES = 8,
    CACHE_JOINTS = 16,
    CACHE_WILDS = 4,  /* of one part; a further number must be equal */
    CACHE_TAILS = 16, /* numbers of other lengths may get a tail of their own */
    CACHE_PART_BYTES = 512,
    CACHE_TAIL_BYTES = 20 * 1024, /* 64 channels */
    CACHE_TAG_AT = 19             /* just after {"header":{"id":"0x */
};

struct cache_head {
    uint64_t tag;    /* the 8 bytes at CACHE_TAG_AT */
    uint16_t len;    /* 0: free */
    uint16_t series; /* its part of record.series */
    uint8_t tail;    /* the last one that followed it */
    uint32_t rank, n_ranks, nnodes;
    struct record_text id_text, name_text; /* of these: */
    char id[RECORD_MAX_ID];
    char name[RECORD_MAX_NAME];
    char text[CACHE_PART_BYTES];
};

/* A text in which numbers may differ: they are cut out. wild: where, in bytes
 * of the rest, each followed by at least one byte. */
struct cache_text {
    uint16_t len;
    uint8_t n_wild;
    uint16_t wild[CACHE_WILDS];
    char text[CACHE_PART_BYTES];
};

struct cache_mid {
    uint64_t tag; /* the 8 bytes at tag_at: the function's name. 0: not looked
                     at, as a wild number may precede it */
    uint16_t tag_at, series;
    uint32_t place; /* of the batch that it needs; 0: it has a head */
    uint8_t algo, proto;
    bool p2p;
    int64_t pid;
    struct record_text host_text, func_text; /* of these: */
    char host[RECORD_MAX_HOST];
    char func[RECORD_MAX_FUNC];
    struct cache_text text;
};

struct cache_late {
    bool p2p;
    uint8_t clock;
    struct cache_text text;
};

/* Which number a joint precedes. */
enum cache_before { BEFORE_PEER, BEFORE_BYTES, BEFORE_EXEC, BEFORE_BUSBW };

struct cache_joint {
    bool p2p;
    uint8_t before;
    struct cache_text text;
};

struct cache_tail {
    uint32_t len, stamps_at;        /* stamps_at 0: no event_trace_ts */
    struct stamps_map map;          /* from stamps_at on */
    char text[CACHE_TAIL_BYTES];    /* with each digit replaced by 0 */
    uint8_t span[CACHE_TAIL_BYTES]; /* 9 at a digit, else 0: the range allowed
                                       there */
};

struct inspector_cache {
    /* record.series is this plus the numbers of a head and a mid; it grows when
     * one of them is replaced */
    uint64_t generation;
    /* the first eight of the sixteen digits of the last timestamp */
    uint64_t stamp_text, stamp_value;
    unsigned n_mids, n_lates, n_tails, n_joints;
    unsigned next_way[CACHE_SETS], next_mid, next_late, next_tail, next_joint;
    uint8_t batch_tail; /* the last one of a record without a head */
    struct cache_head *last[CACHE_SETS]; /* found last in each set */
    unsigned late;                       /* used last */
    struct cache_head heads[CACHE_HEADS];
    struct cache_mid mids[CACHE_MIDS];
    struct cache_late lates[CACHE_LATES];
    struct cache_joint joints[CACHE_JOINTS];
    struct cache_tail tails[CACHE_TAILS];
};

/* Returns the set of heads for a tag; the multiplication spreads similar ids.
 */
static inline unsigned cache_set(uint64_t tag)
{
    return (unsigned) (tag * UINT64_C(0x9e3779b97f4a7c15) >> 61);
}

/* --- a bounds-checked JSON cursor over one line -------------------------- */

/* Nothing here allocates, and no function reads at or after `end`. A function
 * moves the cursor after what it took and returns true. On false the cursor is
 * somewhere in the line, and the line is refused. The grammar is RFC 8259 with
 * one addition that NVIDIA's writer needs: reader_json_decimal() takes the bare
 * words nan, inf and null for "not a number". */

/* Nesting that reader_json_skip() follows; deeper values are refused. */
#define JSON_MAX_DEPTH 64

struct reader_json_cursor {
    const char *p, *end;
};

/* The bytes of a string between its quotes. plain: only printable ASCII and no
 * escape, so the bytes are the value. */
struct reader_json_raw {
    const char *text;
    size_t len;
    bool plain;
};

static inline void reader_json_blank(struct reader_json_cursor *c)
{
    while (c->p < c->end &&
           (*c->p == ' ' || *c->p == '\t' || *c->p == '\r' || *c->p == '\n'))
        c->p++;
}

/* Takes one character; blanks may precede it. */
static inline bool reader_json_take(struct reader_json_cursor *c, char wanted)
{
    if (c->p < c->end && *c->p == wanted) {
        c->p++;
        return true;
    }
    reader_json_blank(c);
    if (c->p >= c->end || *c->p != wanted)
        return false;
    c->p++;
    return true;
}

static inline uint64_t reader_json_load(const char *p, size_t len)
{
    uint64_t v = 0;

    memcpy(&v, p, len);
    return v;
}

/* As memcmp() == 0, for four bytes or more, in words and without a call. The
 * last word overlaps the one before. */
static inline bool reader_json_same(const char *a, const char *b, size_t len)
{
    size_t i;

    if (len < 8)
        return reader_json_load(a, 4) == reader_json_load(b, 4) &&
               reader_json_load(a + len - 4, 4) ==
                   reader_json_load(b + len - 4, 4);
    for (i = 0; i + 8 < len; i += 8)
        if (reader_json_load(a + i, 8) != reader_json_load(b + i, 8))
            return false;
    return reader_json_load(a + len - 8, 8) == reader_json_load(b + len - 8, 8);
}

/* Takes `literal` (four bytes or more) only if it is exactly here: a guess at
 * the next key. */
static inline bool reader_json_guess(struct reader_json_cursor *c,
                                     const char *literal, size_t len)
{
    if ((size_t) (c->end - c->p) < len || !reader_json_same(c->p, literal, len))
        return false;
    c->p += len;
    return true;
}

/* Takes a non-negative integer without sign, fraction or exponent. */
static inline bool reader_json_u64(struct reader_json_cursor *c, uint64_t *out)
{
    const char *p, *start;
    uint64_t v = 0;

    reader_json_blank(c);
    for (p = start = c->p; p < c->end; p++) {
        unsigned digit = (unsigned) (unsigned char) *p - '0';

        if (digit > 9)
            break;
        if (p - start >= 18 && (__builtin_mul_overflow(v, 10, &v) ||
                                __builtin_add_overflow(v, digit, &v)))
            return false;
        if (p - start < 18)
            v = v * 10 + digit;
    }
    if (p == start || (*start == '0' && p - start > 1))
        return false;
    if (p < c->end && (*p == '.' || *p == 'e' || *p == 'E'))
        return false;
    c->p = p;
    *out = v;
    return true;
}

/* Takes a string. Escapes are checked for form only; control characters are
 * refused. */
bool reader_json_string(struct reader_json_cursor *c,
                        struct reader_json_raw *out);

/* Takes a non-negative decimal as an integer of 1e-6: exact up to six decimals,
 * then rounded half up; at most `max`. A string or bare word nan, inf or null
 * sets *nan, and *micro to 0. */
bool reader_json_decimal(struct reader_json_cursor *c, uint64_t max,
                         uint64_t *micro, bool *nan);

/* Skips any value. Brackets must match and strings must end; what is between
 * brackets is not checked further. */
bool reader_json_skip(struct reader_json_cursor *c);

/* Decodes escapes into buf (NUL-terminated, at most cap - 1 bytes, cut at a
 * character). Control characters, lone surrogates and bytes that are invalid
 * UTF-8 become '?'. Returns the length. */
size_t reader_json_decode(const struct reader_json_raw *raw, char *buf,
                          size_t cap);

/* --- speculation ----------------------------------------------------------
 */

/* Whether a line begins with a header. Only compact lines are speculated on. */
static inline bool reader_has_head(const char *p, const char *end)
{
    return end - p > 2 && p[2] == 'h';
}

/* Reads a line at p that consists of known parts. *next is after its }}. The
 * count of the reader's batch is left alone. On false *out is undefined. */
bool reader_speculate(struct inspector_reader *reader, const char *p,
                      const char *end, struct record *out, const char **next);

/* Keeps the parts of a line that the generic parser made *record of. Returns
 * false if its layout is unknown. */
bool reader_learn(struct inspector_reader *reader, const char *line, size_t len,
                  const struct record *record);

/* Keeps the head of a marker, so that the records of its batch have series. */
void reader_learn_marker(struct inspector_reader *reader, const char *line,
                         size_t len, const struct record *record);

/* --- the keys that the generic parser reads (reader_keys.c) ------------------
 */

/* How the value of a key is read. */
enum reader_kind {
    SKIP,
    SECTION,
    U32,
    U64,
    I64,
    TEXT,
    DECIMAL,
    STAMPS,
    COUNT, /* of a marker: `offset` is its place in struct parse */
    CLOCK, /* words that become numbers; what is no string is unknown */
    ALGO,
    PROTO
};

enum {
    /* bits of what a line had */
    HAS_ID = 1 << 0,
    HAS_RANK = 1 << 1,
    HAS_N_RANKS = 1 << 2,
    HAS_NNODES = 1 << 3,
    HAS_FUNC = 1 << 4,
    HAS_SN = 1 << 5,
    HAS_BYTES = 1 << 6,
    HAS_EXEC = 1 << 7,
    HAS_BUSBW = 1 << 8,
    HAS_PEER = 1 << 9,
    HAS_COLL = 1 << 10,
    HAS_P2P = 1 << 11,
    HAS_MARKER = 1 << 12,
    HAS_HEADER = 1 << 13,
    HAS_METADATA = 1 << 14
};

/* Numbers of a marker: records that follow, and those that were dropped since
 * the communicator's last marker. */
enum { COLLS, P2PS, COLLS_DROPPED, P2PS_DROPPED, N_COUNTS };

/* A key of an object. `quoted` is `"key":`, as a compact writer has it. */
struct reader_key {
    const char *quoted;
    size_t len;
    enum reader_kind kind;
    unsigned has;  /* bit to set, or 0 */
    size_t offset; /* into struct record */
    uint64_t max;  /* of the number, or of the text's length */
    const struct reader_section *section;
};

/* The keys of one object. */
struct reader_section {
    const struct reader_key *keys;
    size_t n;
};

extern const struct reader_section reader_line; /* a whole line */

/* Returns the row of a key in an object, or NULL: it is not read. */
const struct reader_key *reader_find_key(const struct reader_section *section,
                                         const struct reader_json_raw *raw);

enum reader_object { READER_LINE, READER_HEADER, READER_METADATA, READER_PERF };

/* Whether the parser reads this key in an object: PERF is either kind of
 * record. */
bool reader_knows(enum reader_object object, const struct reader_json_raw *key);

/* Eight characters at a time in one 64-bit word.
 *
 * The first character is the lowest byte, on machines of either order.
 */

/* Forces inlining, so that no check is left where `end` is a constant NULL. */
#define SWAR_INLINE __attribute__((always_inline))

#define SWAR_ALL(byte) ((byte) *UINT64_C(0x0101010101010101))

static inline uint64_t swar_load(const char *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

/* Returns the high bit of every byte that is no digit. t: bytes ^ '0'. */
static inline uint64_t swar_no_digits(uint64_t t)
{
    return (((t & SWAR_ALL(0x7f)) + SWAR_ALL(0x76)) | t) & SWAR_ALL(0x80);
}

/* Returns the number of the byte with the lowest set bit; bits must not be 0.
 */
static inline unsigned swar_first(uint64_t bits)
{
    return (unsigned) __builtin_ctzll(bits) / 8;
}

#define SWAR_BLOCK 64

/* Returns whether any byte of a block is outside of the span + 1 values from
 * least on. The compiler uses the vectors that the machine has. */
static inline bool swar_outside(const char *p, const char *least,
                                const uint8_t *span)
{
    typedef uint8_t bytes __attribute__((vector_size(16)));
    typedef uint64_t words __attribute__((vector_size(16)));
    words sum = {0, 0};

    for (unsigned i = 0; i < SWAR_BLOCK; i += sizeof(bytes)) {
        bytes x, from, wide;

        memcpy(&x, p + i, sizeof(x));
        memcpy(&from, least + i, sizeof(from));
        memcpy(&wide, span + i, sizeof(wide));
        sum |= (words) (bytes) (x - from > wide);
    }
    return (sum[0] | sum[1]) != 0;
}

/* Returns whether n bytes are there. end NULL: the caller has checked that. */
static inline bool swar_has(const char *p, const char *end, size_t n)
{
    return !end || (size_t) (end - p) >= n;
}

/* Returns the value of eight digits, each 0 to 9, the first in the lowest byte.
 * Pairs, then fours of digits are combined by multiplication. */
static inline SWAR_INLINE uint64_t swar_value(uint64_t t)
{
    t = t * 10 + (t >> 8);
    return ((t & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
            (t >> 16 & UINT64_C(0x000000ff000000ff)) *
                UINT64_C(0x0000271000000001)) >>
           32;
}

/* Takes a number of 1 to 18 digits without leading zeros, followed by something
 * else; *p moves after it. Needs eight readable bytes wherever it looks. */
static inline bool swar_long_number(const char **p, const char *end,
                                    uint64_t *out)
{
    static const uint64_t power[] = {1,      10,      100,      1000,     10000,
                                     100000, 1000000, 10000000, 100000000};
    const char *at = *p;
    uint64_t v = 0;
    unsigned n;

    do {
        uint64_t t, other;

        if (!swar_has(at, end, 8))
            return false;
        t = swar_load(at) ^ SWAR_ALL(0x30);
        other = swar_no_digits(t);
        n = other ? swar_first(other) : 8;
        if (n)
            v = v * power[n] + swar_value(t << (64 - 8 * n));
        at += n;
    } while (n == 8 && at - *p < 24);
    if (at == *p || at - *p > 18 || (**p == '0' && at - *p > 1))
        return false;
    *p = at;
    *out = v;
    return true;
}

/* The same, fast for numbers of at most seven digits. */
static inline SWAR_INLINE bool swar_number(const char **p, const char *end,
                                           uint64_t *out)
{
    uint64_t t, other;
    unsigned bits;

    if (!swar_has(*p, end, 8))
        return false;
    t = swar_load(*p) ^ SWAR_ALL(0x30);
    other = swar_no_digits(t);
    if (!other)
        return swar_long_number(p, end, out);
    bits = (unsigned) __builtin_ctzll(other) & 56;
    if (!bits || (!(t & 0xff) && bits > 8))
        return false;
    *p += bits / 8;
    *out = swar_value(t << (64 - bits));
    return true;
}

/* Returns where the point of a "%.6f" below 1e7 is, 1 to 7; 0: it is none. *t
 * has the digits before it, *fraction those after it and two more bytes. */
static inline SWAR_INLINE unsigned swar_point(const char *at, const char *end,
                                              uint64_t *t, uint64_t *fraction)
{
    uint64_t other;
    unsigned n;

    if (!swar_has(at, end, 8))
        return 0;
    *t = swar_load(at) ^ SWAR_ALL(0x30);
    other = swar_no_digits(*t);
    n = other ? swar_first(other) : 0;
    if (n == 0 || at[n] != '.' || (*at == '0' && n > 1) ||
        !swar_has(at, end, n + 9))
        return 0;
    *fraction = swar_load(at + n + 1) ^ SWAR_ALL(0x30);
    return swar_no_digits(*fraction) << 16 ? 0 : n;
}

static inline bool swar_nan(const char **p, const char *end)
{
    if (!swar_has(*p, end, 5) || **p != '"' || memcmp(*p, "\"nan\"", 5))
        return false;
    *p += 5;
    return true;
}

/* Takes a "%.6f" below 1e7 as an integer of 1e-6, or "nan" in quotes. */
static inline SWAR_INLINE bool swar_decimal(const char **p, const char *end,
                                            uint64_t *micro, bool *nan)
{
    uint64_t t, fraction;
    unsigned n = swar_point(*p, end, &t, &fraction);

    *micro = 0;
    *nan = n == 0;
    if (n == 0)
        return swar_nan(p, end);
    *micro = swar_value(t << (64 - 8 * n)) * 1000000 +
             swar_value(fraction << 16);
    *p += n + 7;
    return true;
}

/* Skips the same. */
static inline SWAR_INLINE bool swar_skip_decimal(const char **p,
                                                 const char *end)
{
    uint64_t t, fraction;
    unsigned n = swar_point(*p, end, &t, &fraction);

    if (n == 0)
        return swar_nan(p, end);
    *p += n + 7;
    return true;
}

#endif
