/* parquet_parts.h - shared parts of the Parquet writer: growing byte arrays,
 * Thrift's compact protocol (github.com/apache/thrift,
 * doc/specs/thrift-compact-protocol.md), and a row group.
 */
#ifndef JP_PARQUET_PARQUET_PARTS_H
#define JP_PARQUET_PARQUET_PARTS_H

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "common/hash.h"
#include "common/vector.h"
#include "orchestrator/parquet/parquet.h"

/* Values from parquet.thrift. */
enum { THRIFT_BOOLEAN = 0, THRIFT_INT64 = 2, THRIFT_DOUBLE = 5, THRIFT_BYTES };
enum { ENC_PLAIN = 0, ENC_RLE = 3, ENC_DELTA = 5, ENC_DICTIONARY = 8 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
/* values of ConvertedType */
enum { UTF8 = 0, TIMESTAMP_MICROS = 10, UINT_64 = 14 };
enum { OPTIONAL = 1 };

/* --- growing byte arrays -------------------------------------------------- */

struct bytes {
    uint8_t *at;
    size_t n, size;
    bool failed; /* out of memory: further data is dropped */
};

/* Makes room for n more bytes; NULL without memory. */
static inline uint8_t *bytes_room(struct bytes *b, size_t n)
{
    if (n > b->size - b->n &&
        (b->failed || VECTOR_ROOM(b->at, b->n + n, b->size) < 0)) {
        b->failed = true;
        return NULL;
    }
    return b->at + b->n;
}

static inline void bytes_put(struct bytes *b, const void *data, size_t n)
{
    uint8_t *room = bytes_room(b, n);

    if (!room || !n)
        return;
    memcpy(room, data, n);
    b->n += n;
}

static inline void bytes_put_byte(struct bytes *b, unsigned byte)
{
    uint8_t one = (uint8_t) byte;

    bytes_put(b, &one, 1);
}

static inline void put_le(uint8_t *at, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        at[i] = (uint8_t) (value >> 8 * i);
}

static inline void bytes_put_le(struct bytes *b, uint64_t value, unsigned n)
{
    uint8_t at[8];

    put_le(at, value, n);
    bytes_put(b, at, n);
}

static inline void bytes_put_varint(struct bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        bytes_put_byte(b, 0x80 | (value & 0x7f));
    bytes_put_byte(b, (unsigned) value);
}

static inline uint64_t zigzag(uint64_t value)
{
    return value << 1 ^ (value >> 63 ? UINT64_MAX : 0);
}

static inline void bytes_free(struct bytes *b)
{
    free(b->at);
    *b = (struct bytes){0};
}

/* --- Thrift's compact protocol -------------------------------------------- */

enum {
    T_TRUE = 1,
    T_FALSE,
    T_I8,
    T_I32 = 5,
    T_I64,
    T_BINARY = 8,
    T_LIST,
    T_STRUCT = 12
};

/* Position in a struct: a field's number is written as difference to the last
 * one. */
struct thrift {
    struct bytes *to;
    int last;
};

static inline void field(struct thrift *t, int id, int type)
{
    bytes_put_byte(t->to, (unsigned) ((id - t->last) << 4 | type));
    t->last = id;
}

static inline void field_i32(struct thrift *t, int id, int64_t value)
{
    field(t, id, T_I32);
    bytes_put_varint(t->to, zigzag((uint64_t) value));
}

static inline void field_i64(struct thrift *t, int id, uint64_t value)
{
    field(t, id, T_I64);
    bytes_put_varint(t->to, zigzag(value));
}

static inline void put_binary(struct bytes *to, const void *data, size_t n)
{
    bytes_put_varint(to, n);
    bytes_put(to, data, n);
}

static inline void field_binary(struct thrift *t, int id, const void *data,
                                size_t n)
{
    field(t, id, T_BINARY);
    put_binary(t->to, data, n);
}

static inline void field_text(struct thrift *t, int id, const char *text)
{
    field_binary(t, id, text, strlen(text));
}

static inline void field_list(struct thrift *t, int id, int type, size_t n)
{
    field(t, id, T_LIST);
    if (n < 15) {
        bytes_put_byte(t->to, (unsigned) (n << 4) | (unsigned) type);
        return;
    }
    bytes_put_byte(t->to, 0xf0u | (unsigned) type);
    bytes_put_varint(t->to, n);
}

static inline struct thrift field_struct(struct thrift *t, int id)
{
    field(t, id, T_STRUCT);
    return (struct thrift){t->to, 0};
}

static inline void end_struct(const struct thrift *t)
{
    bytes_put_byte(t->to, 0);
}

/* Writes a field that is an empty struct. */
static inline void field_empty(struct thrift *t, int id)
{
    struct thrift inner = field_struct(t, id);

    end_struct(&inner);
}

/* --- a column's values ---------------------------------------------------- */

enum {
    DICTIONARY_MAX = 32768,     /* limit of entries */
    DICTIONARY_LOOK = 1024,     /* entries after which its benefit is checked */
    DICTIONARY_BYTES = 4 << 20, /* limit of text bytes */
    STATISTICS_BYTES = 64,      /* longest text in statistics */
    DELTA_BLOCK = 128,
    DELTA_MINI = 32
};

struct column {
    struct parquet_column is;
    uint8_t *known; /* one byte per row: whether there is a value */
    size_t n_known; /* allocated size of known */
    size_t n;       /* number of values */
    size_t nulls;
    bool dictionary; /* values are indices; otherwise they are plain */
    uint32_t *index; /* of the n values */
    size_t index_size;
    uint64_t *plain; /* bits of the n values; for text, offsets in texts */
    size_t plain_size;
    uint64_t *entries; /* in the format of plain */
    size_t n_entries, entries_size;
    struct hash_table table; /* of the entries */
    struct bytes texts;      /* PLAIN: length in 4 bytes, then the text */
    /* set by encoding: */
    int encoding;            /* of the data pages: ENC_... */
    struct bytes pages;      /* including their headers */
    size_t dictionary_bytes; /* length of the dictionary page in pages */
    size_t uncompressed;
    uint8_t low[STATISTICS_BYTES], high[STATISTICS_BYTES];
    size_t n_low, n_high;
    bool judged; /* low and high are set */
};

struct parquet_group {
    size_t n_columns, n_rows;
    enum parquet_codec codec;
    bool failed, encoded;
    size_t text_bytes;
    struct bytes page; /* a page before compression */
#ifdef HAVE_ZSTD
    ZSTD_CCtx *zstd;
#endif
    z_stream gzip;
    bool has_gzip;
    struct column columns[];
};

/* Removes all rows of a group. */
void parquet_group_clear(struct parquet_group *group);

#endif
