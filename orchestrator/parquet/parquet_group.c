/* parquet_group.c - encode the values of a row group as pages.
 *
 * Values are collected by column (put_value), at first with a dictionary: each
 * value is the index of an entry, which a hash finds. If too many values
 * differ, the column goes on without one (leave_dictionary).
 * parquet_group_encode then makes each column's pages: definition levels and
 * values, encoded, compressed, after a header. */
#include "orchestrator/parquet/parquet.h"

#include <math.h>

#include "common/vector.h"
#include "orchestrator/parquet/parquet_parts.h"

/* The length of the text at this offset of c->texts: it stands before the
 * text. */
static uint32_t text_length(const struct column *c, uint64_t at)
{
    const uint8_t *p = c->texts.at + at;

    return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 |
           (uint32_t) p[3] << 24;
}

static bool is_text(const struct column *c)
{
    return c->is.type == PARQUET_TEXT;
}

/* Converts the values to plain, because the dictionary does not save space.
 * False: no memory. */
static bool leave_dictionary(struct column *c)
{
    if (VECTOR_ROOM(c->plain, c->n + 1, c->plain_size) < 0)
        return false;
    /* from indexes to what the entries hold */
    for (size_t i = 0; i < c->n; i++)
        c->plain[i] = c->entries[c->index[i]];
    c->dictionary = false;
    return true;
}

/* Whether the entry has this value. text NULL: the number `bits`. */
static bool is_entry(const struct column *c, uint32_t entry, uint64_t bits,
                     const char *text, size_t len)
{
    uint64_t at = c->entries[entry];

    if (!text)
        return at == bits;
    return text_length(c, at) == len &&
           (!len || !memcmp(c->texts.at + at + 4, text, len));
}

/* Stores a text and returns its offset. */
static uint64_t keep_text(struct column *c, const char *text, size_t len)
{
    uint64_t at = c->texts.n;

    bytes_put_le(&c->texts, len, 4);
    bytes_put(&c->texts, text, len);
    return at;
}

/* Whether the dictionary still saves space: it is small, and values come twice
 * on average. This is looked at whenever the number of entries is a power of
 * two. */
static bool pays(const struct column *c)
{
    size_t n = c->n_entries;

    if (n >= DICTIONARY_MAX || (is_text(c) && c->texts.n >= DICTIONARY_BYTES))
        return false;
    return n < DICTIONARY_LOOK || (n & (n - 1)) || c->n >= 2 * n;
}

/* Adds a value with a dictionary. text NULL: a number. False: no memory. */
static bool put_indexed(struct column *c, uint64_t bits, const char *text,
                        size_t len)
{
    uint64_t hash = text ? hash_bytes(hash_start(), text, len)
                         : hash_word(hash_start(), bits);
    uint32_t entry;

    if (VECTOR_ROOM(c->index, c->n + 1, c->index_size) < 0)
        return false;
    for (size_t i = 0; (entry = hash_next(&c->table, hash, &i)) != HASH_NONE;)
        if (is_entry(c, entry, bits, text, len))
            break;
    if (entry == HASH_NONE) {
        entry = (uint32_t) c->n_entries;
        if (VECTOR_ROOM(c->entries, c->n_entries + 1, c->entries_size) < 0 ||
            hash_add(&c->table, hash, entry) < 0)
            return false;
        c->entries[c->n_entries++] = text ? keep_text(c, text, len) : bits;
    }
    c->index[c->n++] = entry;
    return pays(c) || leave_dictionary(c);
}

/* Adds a value without a dictionary. False: no memory. */
static bool put_plain(struct column *c, uint64_t bits)
{
    if (VECTOR_ROOM(c->plain, c->n + 1, c->plain_size) < 0)
        return false;
    c->plain[c->n++] = bits;
    return true;
}

/* Adds a value to a column. A failure is kept in g->failed, so that callers
 * need not check each value. */
static void put_value(struct parquet_group *g, size_t column, uint64_t bits,
                      const char *text, size_t len)
{
    struct column *c = &g->columns[column];

    if (VECTOR_ROOM(c->known, g->n_rows + 1, c->n_known) < 0)
        g->failed = true;
    if (g->failed)
        return;
    c->known[g->n_rows] = 1;
    g->text_bytes += text ? len : 0;
    if (c->dictionary)
        g->failed = !put_indexed(c, bits, text, len);
    else
        g->failed = !put_plain(c, text ? keep_text(c, text, len) : bits);
}

void parquet_put_null(struct parquet_group *g, size_t column)
{
    struct column *c = &g->columns[column];

    if (VECTOR_ROOM(c->known, g->n_rows + 1, c->n_known) < 0)
        g->failed = true;
    if (g->failed)
        return;
    c->known[g->n_rows] = 0;
    c->nulls++;
}

void parquet_put_bool(struct parquet_group *g, size_t column, bool value)
{
    put_value(g, column, value, NULL, 0);
}

void parquet_put_number(struct parquet_group *g, size_t column, uint64_t value)
{
    put_value(g, column, value, NULL, 0);
}

void parquet_put_real(struct parquet_group *g, size_t column, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    put_value(g, column, bits, NULL, 0);
}

void parquet_put_text(struct parquet_group *g, size_t column, const char *text,
                      size_t len)
{
    /* NULL would mean a number */
    put_value(g, column, 0, text ? text : "", len);
}

void parquet_group_end_row(struct parquet_group *g)
{
    g->n_rows++;
}

bool parquet_group_full(const struct parquet_group *g)
{
    return g->n_rows >= PARQUET_ROWS || g->text_bytes >= PARQUET_TEXT_BYTES;
}

static void column_clear(struct column *c)
{
    c->n = c->nulls = c->n_entries = 0;
    /* a bool takes one bit */
    c->dictionary = c->is.type != PARQUET_BOOL;
    c->texts.n = c->pages.n = c->dictionary_bytes = c->uncompressed = 0;
    c->judged = false;
    hash_clear(&c->table);
}

void parquet_group_clear(struct parquet_group *g)
{
    for (size_t i = 0; i < g->n_columns; i++)
        column_clear(&g->columns[i]);
    g->n_rows = g->text_bytes = 0;
    g->encoded = false;
}

static void column_fini(struct column *c)
{
    free(c->known);
    free(c->index);
    free(c->plain);
    free(c->entries);
    hash_fini(&c->table);
    bytes_free(&c->texts);
    bytes_free(&c->pages);
}

struct parquet_group *parquet_group_create(const struct parquet_column *columns,
                                           size_t n, enum parquet_codec codec)
{
    struct parquet_group *g = calloc(1, sizeof(*g) + n * sizeof(*g->columns));

    if (!g)
        return NULL;
    g->n_columns = n;
    g->codec = codec;
    for (size_t i = 0; i < n; i++) {
        g->columns[i].is = columns[i];
        column_clear(&g->columns[i]);
    }
    if (codec == PARQUET_GZIP) {
        /* 16 more bits of the window: with a gzip header */
        g->has_gzip = deflateInit2(&g->gzip, 4, Z_DEFLATED, MAX_WBITS + 16, 8,
                                   Z_DEFAULT_STRATEGY) == Z_OK;
        g->failed = !g->has_gzip;
    }
#ifdef HAVE_ZSTD
    if (codec == PARQUET_ZSTD)
        g->failed = !(g->zstd = ZSTD_createCCtx());
#endif
    return g;
}

void parquet_group_destroy(struct parquet_group *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_columns; i++)
        column_fini(&g->columns[i]);
    bytes_free(&g->page);
    if (g->has_gzip)
        deflateEnd(&g->gzip);
#ifdef HAVE_ZSTD
    ZSTD_freeCCtx(g->zstd);
#endif
    free(g);
}

/* --- encodings ------------------------------------------------------------ */

/* Bits that the largest value needs. */
static unsigned width_of(uint64_t most)
{
    return most ? 64 - (unsigned) __builtin_clzll(most) : 0;
}

/* Packs n values of `width` bits each, lowest bit first, up to a whole group of
 * eight, which zeros fill. Values must be below 1 << width. */
static void pack(struct bytes *to, const uint64_t *values, size_t n,
                 unsigned width)
{
    size_t full = (n + 7) / 8 * 8, bytes = full / 8 * width;
    uint8_t *at = bytes_room(to, bytes);
    uint64_t held = 0;
    unsigned bits = 0;

    if (!at)
        return;
    for (size_t i = 0; i < full; i++) {
        uint64_t value = i < n ? values[i] : 0;

        /* in two halves, so that pending and new bits fit into 64 bits */
        for (unsigned left = width; left;) {
            unsigned part = left > 32 ? 32 : left;

            held |= (value & ((UINT64_C(1) << part) - 1)) << bits;
            value >>= part;
            left -= part;
            for (bits += part; bits >= 8; bits -= 8, held >>= 8)
                *at++ = (uint8_t) held;
        }
    }
    to->n += bytes;
}

/* Writes n values as one run of the RLE and bit-packing hybrid. */
static void put_hybrid(struct bytes *to, const uint64_t *values, size_t n,
                       unsigned width)
{
    bool same = true;

    for (size_t i = 1; i < n && same; i++)
        same = values[i] == values[0];
    /* a run is repeated (even header) or packed in eights (odd header) */
    if (same) {
        bytes_put_varint(to, n << 1);
        bytes_put_le(to, n ? values[0] : 0, (width + 7) / 8);
    } else {
        bytes_put_varint(to, (n + 7) / 8 << 1 | 1);
        pack(to, values, n, width);
    }
}

/* Writes integers as differences (Encodings.md, "Delta Encoding"): blocks of
 * 128, each with its smallest difference, and miniblocks of 32, each with a
 * width of its own. All is modulo 2^64. */
static void put_delta(struct bytes *to, const uint64_t *values, size_t n)
{
    bytes_put_varint(to, DELTA_BLOCK);
    bytes_put_varint(to, DELTA_BLOCK / DELTA_MINI);
    bytes_put_varint(to, n);
    bytes_put_varint(to, zigzag(n ? values[0] : 0));
    for (size_t i = 1; i < n; i += DELTA_BLOCK) {
        uint64_t delta[DELTA_BLOCK] = {0};
        size_t count = n - i < DELTA_BLOCK ? n - i : DELTA_BLOCK;
        unsigned width[DELTA_BLOCK / DELTA_MINI] = {0};
        int64_t least = INT64_MAX;

        for (size_t k = 0; k < count; k++) {
            delta[k] = values[i + k] - values[i + k - 1];
            if ((int64_t) delta[k] < least)
                least = (int64_t) delta[k];
        }
        bytes_put_varint(to, zigzag((uint64_t) least));
        for (size_t k = 0; k < count; k++) {
            unsigned *w = &width[k / DELTA_MINI];
            unsigned mine = width_of(delta[k] -= (uint64_t) least);

            *w = mine > *w ? mine : *w;
        }
        for (size_t m = 0; m < DELTA_BLOCK / DELTA_MINI; m++)
            bytes_put_byte(to, width[m]);
        /* miniblocks without a value are not written, only their width */
        for (size_t m = 0; m * DELTA_MINI < count; m++)
            pack(to, delta + m * DELTA_MINI, DELTA_MINI, width[m]);
    }
}

/* --- statistics ----------------------------------------------------------- */

/* Compares by bytes, as readers compare statistics of texts. */
static int compare_texts(const uint8_t *a, size_t na, const uint8_t *b,
                         size_t nb)
{
    size_t n = na < nb ? na : nb;
    int order = n ? memcmp(a, b, n) : 0;

    return order ? order : na < nb ? -1 : na > nb;
}

/* Finds the smallest and the largest text. Long ones are not kept. */
static void judge_texts(struct column *c, const uint64_t *at, size_t n)
{
    uint64_t low = at[0], high = at[0];

    for (size_t i = 1; i < n; i++) {
        const uint8_t *t = c->texts.at + at[i] + 4;
        size_t len = text_length(c, at[i]);

        if (compare_texts(t, len, c->texts.at + low + 4, text_length(c, low)) <
            0)
            low = at[i];
        if (compare_texts(t, len, c->texts.at + high + 4,
                          text_length(c, high)) > 0)
            high = at[i];
    }
    c->n_low = text_length(c, low);
    c->n_high = text_length(c, high);
    c->judged = c->n_low <= STATISTICS_BYTES && c->n_high <= STATISTICS_BYTES;
    if (!c->judged)
        return;
    memcpy(c->low, c->texts.at + low + 4, c->n_low);
    memcpy(c->high, c->texts.at + high + 4, c->n_high);
}

/* Maps a value's bits to unsigned numbers of the same order. The bits of a
 * negative double grow with its magnitude, so all are inverted; other doubles
 * get the first bit set. Signed integers have their first bit inverted. */
static uint64_t orderly(enum parquet_type type, uint64_t bits)
{
    if (type == PARQUET_REAL)
        return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
    return type == PARQUET_COUNT || type == PARQUET_BOOL
               ? bits
               : bits ^ UINT64_C(1) << 63;
}

/* The reverse of orderly. */
static uint64_t disorderly(enum parquet_type type, uint64_t bits)
{
    if (type == PARQUET_REAL)
        return bits >> 63 ? bits & ~(UINT64_C(1) << 63) : ~bits;
    return orderly(type, bits);
}

static bool is_nan(uint64_t bits)
{
    double real;

    memcpy(&real, &bits, sizeof(real));
    return isnan(real);
}

/* Finds the smallest and the largest number. A column with NAN has no
 * statistics. */
static void judge_numbers(struct column *c, const uint64_t *at, size_t n)
{
    enum parquet_type type = c->is.type;
    uint64_t low = UINT64_MAX, high = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t value = orderly(type, at[i]);

        if (type == PARQUET_REAL && is_nan(at[i]))
            return; /* these have no order */
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    /* back to bits, as statistics have the values themselves */
    low = disorderly(type, low);
    high = disorderly(type, high);
    if (type == PARQUET_REAL) { /* zeros: the smallest is -0, the largest +0 */
        low = low ? low : UINT64_C(1) << 63;
        high = high << 1 ? high : 0;
    }
    c->n_low = c->n_high = type == PARQUET_BOOL ? 1 : 8;
    put_le(c->low, low, (unsigned) c->n_low);
    put_le(c->high, high, (unsigned) c->n_high);
    c->judged = true;
}

/* Makes the statistics of a column. With a dictionary its entries are enough.
 */
static void make_statistics(struct column *c)
{
    const uint64_t *at = c->dictionary ? c->entries : c->plain;
    size_t n = c->dictionary ? c->n_entries : c->n;

    if (!n)
        return;
    if (is_text(c))
        judge_texts(c, at, n);
    else
        judge_numbers(c, at, n);
}

/* --- pages ---------------------------------------------------------------- */

/* Appends g->page, compressed. False: no memory. */
static bool compress_zstd(struct parquet_group *g, struct bytes *to)
{
#ifdef HAVE_ZSTD
    size_t most = ZSTD_compressBound(g->page.n);
    uint8_t *room = bytes_room(to, most);
    size_t n =
        room ? ZSTD_compressCCtx(g->zstd, room, most, g->page.at, g->page.n, 1)
             : 0;

    if (!room || ZSTD_isError(n))
        return false;
    to->n += n;
    return true;
#else
    (void) g;
    (void) to;
    return false;
#endif
}

/* The same with gzip; the stream is used again for each page. */
static bool compress_gzip(struct parquet_group *g, struct bytes *to)
{
    size_t most = deflateBound(&g->gzip, (uLong) g->page.n) + 64;
    uint8_t *room = bytes_room(to, most);

    if (!room || deflateReset(&g->gzip) != Z_OK)
        return false;
    g->gzip.next_in = g->page.at;
    g->gzip.avail_in = (uInt) g->page.n;
    g->gzip.next_out = room;
    g->gzip.avail_out = (uInt) most;
    if (deflate(&g->gzip, Z_FINISH) != Z_STREAM_END)
        return false;
    to->n += most - g->gzip.avail_out;
    return true;
}

/* Appends a PageHeader and g->page, compressed, to the column's pages. n: its
 * values, nulls included. False: no memory. */
static bool put_page(struct parquet_group *g, struct column *c, int type,
                     size_t n, int encoding)
{
    struct bytes packed = {0}, header = {0};
    struct thrift t = {&header, 0}, inner;
    bool ok = !g->page.failed;

    if (ok && g->codec == PARQUET_ZSTD)
        ok = compress_zstd(g, &packed);
    else if (ok && g->codec == PARQUET_GZIP)
        ok = compress_gzip(g, &packed);
    else if (ok)
        bytes_put(&packed, g->page.at, g->page.n);
    field_i32(&t, 1, type);
    field_i32(&t, 2, (int64_t) g->page.n);
    field_i32(&t, 3, (int64_t) packed.n);
    /* DataPageHeader or DictionaryPageHeader */
    inner = field_struct(&t, type == PAGE_DATA ? 5 : 7);
    field_i32(&inner, 1, (int64_t) n);
    field_i32(&inner, 2, encoding);
    if (type == PAGE_DATA) {
        field_i32(&inner, 3, ENC_RLE);
        field_i32(&inner, 4, ENC_RLE);
    }
    end_struct(&inner);
    end_struct(&t);
    bytes_put(&c->pages, header.at, header.n);
    bytes_put(&c->pages, packed.at, packed.n);
    c->uncompressed += header.n + g->page.n;
    ok = ok && !header.failed && !packed.failed && !c->pages.failed;
    bytes_free(&header);
    bytes_free(&packed);
    return ok;
}

/* Writes values as PLAIN: bools as bits, texts with their length, others as 8
 * bytes. */
static void put_all_plain(struct bytes *to, const struct column *c,
                          const uint64_t *at, size_t n)
{
    if (c->is.type == PARQUET_BOOL) {
        pack(to, at, n, 1);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (is_text(c))
            bytes_put(to, c->texts.at + at[i], 4 + text_length(c, at[i]));
        else
            bytes_put_le(to, at[i], 8);
}

/* Writes the dictionary page. False: no memory. */
static bool put_dictionary(struct parquet_group *g, struct column *c)
{
    g->page.n = 0;
    put_all_plain(&g->page, c, c->entries, c->n_entries);
    if (!put_page(g, c, PAGE_DICTIONARY, c->n_entries, ENC_PLAIN))
        return false;
    c->dictionary_bytes = c->pages.n;
    return true;
}

/* Whether these are integers with differences that cannot overflow in a reader.
 */
static bool is_delta(const struct column *c)
{
    if (is_text(c) || c->is.type == PARQUET_REAL || c->is.type == PARQUET_BOOL)
        return false;
    for (size_t i = 0; i < c->n; i++)
        if (c->plain[i] >> 62) /* also negative numbers */
            return false;
    return true;
}

/* The encoding of a column that has values. */
static int encoding_of(const struct column *c)
{
    return c->dictionary ? ENC_DICTIONARY : is_delta(c) ? ENC_DELTA : ENC_PLAIN;
}

/* Writes rows [from, to), whose values are [first, first + n). */
static bool put_rows(struct parquet_group *g, struct column *c, size_t from,
                     size_t to, size_t first, size_t n, int encoding,
                     uint64_t *room)
{
    size_t levels;

    g->page.n = 0;
    /* definition levels: their length, filled in below, a bit for each row */
    bytes_put_le(&g->page, 0, 4);
    /* level 1: there is a value; 0: null */
    for (size_t i = from; i < to; i++)
        room[i - from] = c->known[i];
    put_hybrid(&g->page, room, to - from, 1);
    levels = g->page.n - 4;
    /* now the length is known */
    if (!g->page.failed)
        put_le(g->page.at, levels, 4);
    if (encoding == ENC_DICTIONARY) {
        /* indexes have their width in front */
        unsigned width = width_of(c->n_entries ? c->n_entries - 1 : 0);

        for (size_t i = 0; i < n; i++)
            room[i] = c->index[first + i];
        bytes_put_byte(&g->page, width);
        put_hybrid(&g->page, room, n, width);
    } else if (encoding == ENC_DELTA) {
        put_delta(&g->page, c->plain + first, n);
    } else if (n) {
        put_all_plain(&g->page, c, c->plain + first, n);
    }
    return put_page(g, c, PAGE_DATA, to - from, encoding);
}

/* Makes all pages of a column. room: work space of PARQUET_PAGE_ROWS values.
 * False: no memory. */
static bool encode(struct parquet_group *g, struct column *c, uint64_t *room)
{
    int encoding;
    size_t first = 0;

    if (!c->n)
        c->dictionary = false; /* only nulls */
    encoding = c->n ? encoding_of(c) : ENC_PLAIN;
    c->encoding = encoding;
    if (c->texts.failed || (c->dictionary && !put_dictionary(g, c)))
        return false;
    /* page by page; nulls have no value */
    for (size_t from = 0, to; from < g->n_rows; from = to) {
        size_t n = 0;

        to = from + PARQUET_PAGE_ROWS < g->n_rows ? from + PARQUET_PAGE_ROWS
                                                  : g->n_rows;
        for (size_t i = from; i < to; i++)
            n += c->known[i];
        if (!put_rows(g, c, from, to, first, n, encoding, room))
            return false;
        first += n;
    }
    make_statistics(c);
    return true;
}

int parquet_group_encode(struct parquet_group *g, struct jp_error *err)
{
    uint64_t *room = malloc(PARQUET_PAGE_ROWS * sizeof(*room));
    bool ok = room && !g->failed;

    for (size_t i = 0; i < g->n_columns && ok; i++)
        ok = encode(g, &g->columns[i], room);
    free(room);
    g->encoded = ok;
    return ok ? 0 : error_set(err, "out of memory");
}
