/* read_back.c - pages, encodings and Thrift read back, and compared with CSV.
 */
#include "tests/parquet/read_back.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

/* --- Thrift's compact protocol -------------------------------------------- */

struct in {
    const uint8_t *at, *end;
};

static uint64_t varint(struct in *in)
{
    uint64_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        assert(in->at < in->end && shift < 64);
        value |= (uint64_t) (*in->at & 0x7f) << shift;
        if (!(*in->at++ & 0x80))
            return value;
    }
}

static uint64_t unzigzag(struct in *in)
{
    uint64_t v = varint(in);

    return v >> 1 ^ (v & 1 ? UINT64_MAX : 0);
}

static struct in binary(struct in *in)
{
    uint64_t n = varint(in);
    struct in part = {in->at, in->at + n};

    assert(n <= (uint64_t) (in->end - in->at));
    in->at += n;
    return part;
}

/* The next field of a struct: its type, 0 at the end. */
static int next_field(struct in *in, int *id)
{
    assert(in->at < in->end);
    if (*in->at & 0xf && !(*in->at >> 4)) {
        int type = *in->at++ & 0xf;

        *id = (int) unzigzag(in);
        return type;
    }
    *id += *in->at >> 4;
    return *in->at++ & 0xf;
}

static uint64_t list_length(struct in *in, int *type)
{
    uint64_t n;

    assert(in->at < in->end);
    n = *in->at >> 4;
    *type = *in->at++ & 0xf;
    return n == 15 ? varint(in) : n;
}

static void skip(struct in *in, int type)
{
    int id = 0, inner;

    switch (type) {
    case 1:
    case 2:
        break;
    case 3:
        in->at++;
        break;
    case 4:
    case 5:
    case 6:
        varint(in);
        break;
    case 8:
        binary(in);
        break;
    case 9:
        for (uint64_t n = list_length(in, &inner); n; n--)
            skip(in, inner);
        break;
    default:
        assert(type == 12);
        while ((inner = next_field(in, &id)))
            skip(in, inner);
    }
}

/* --- a file --------------------------------------------------------------- */

enum { MAX_COLUMNS = 64 };

struct cell {
    bool known;
    uint64_t bits;
    struct in text;
};

struct chunk {
    uint64_t type, codec, values, data, dictionary, bytes, nulls;
    bool has_limits;
    struct in low, high;
};

struct reader {
    const uint8_t *file;
    size_t n;
    uint64_t types[MAX_COLUMNS];
    bool is_unsigned[MAX_COLUMNS];
    struct in names[MAX_COLUMNS];
    size_t n_columns;
    struct cell *cells[MAX_COLUMNS];
    uint64_t rows, filled[MAX_COLUMNS];
    uint8_t *pages[4096]; /* decompressed, kept for texts */
    size_t n_pages;
};

static void read_column(struct reader *r, struct in *in)
{
    int id = 0, type, n_children = 0;
    uint64_t physical = 0, converted = 99;
    struct in name = {0};

    while ((type = next_field(in, &id)))
        if (id == 1 && type == 5)
            physical = unzigzag(in);
        else if (id == 4)
            name = binary(in);
        else if (id == 5 && type == 5)
            n_children = (int) unzigzag(in);
        else if (id == 6 && type == 5)
            converted = unzigzag(in);
        else
            skip(in, type);
    if (n_children)
        return; /* the root */
    assert(r->n_columns < MAX_COLUMNS);
    r->types[r->n_columns] = physical;
    r->is_unsigned[r->n_columns] = converted == 14;
    r->names[r->n_columns++] = name;
}

static void read_limits(struct chunk *c, struct in *in)
{
    int id = 0, type;

    while ((type = next_field(in, &id)))
        if (id == 3)
            c->nulls = unzigzag(in);
        else if (id == 5)
            c->high = binary(in);
        else if (id == 6) {
            c->low = binary(in);
            c->has_limits = true;
        } else
            skip(in, type);
}

static struct chunk read_meta(struct in *in)
{
    struct chunk c = {.nulls = UINT64_MAX};
    int id = 0, type;

    while ((type = next_field(in, &id)))
        switch (id) {
        case 1:
            c.type = unzigzag(in);
            break;
        case 4:
            c.codec = unzigzag(in);
            break;
        case 5:
            c.values = unzigzag(in);
            break;
        case 7:
            c.bytes = unzigzag(in);
            break;
        case 9:
            c.data = unzigzag(in);
            break;
        case 11:
            c.dictionary = unzigzag(in);
            break;
        case 12:
            read_limits(&c, in);
            break;
        default:
            skip(in, type);
        }
    return c;
}

/* --- encodings ------------------------------------------------------------ */

static uint64_t bits_at(struct in in, uint64_t from, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < width; i++) {
        uint64_t bit = from + i;

        assert(bit / 8 < (uint64_t) (in.end - in.at));
        value |= (uint64_t) (in.at[bit / 8] >> bit % 8 & 1) << i;
    }
    return value;
}

static void hybrid(struct in *in, unsigned width, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint64_t head = varint(in), count = head >> 1, value = 0;

        assert(count);
        if (head & 1) {
            struct in run = *in;

            for (uint64_t k = 0; k < 8 * count && i < n; k++)
                out[i++] = bits_at(run, k * width, width);
            assert(count * width <= (uint64_t) (in->end - in->at));
            in->at += count * width;
            continue;
        }
        for (unsigned b = 0; b < (width + 7) / 8; b++) {
            assert(in->at < in->end);
            value |= (uint64_t) *in->at++ << 8 * b;
        }
        for (; count && i < n; count--)
            out[i++] = value;
        assert(!count);
    }
}

static void delta(struct in *in, uint64_t *out, size_t n)
{
    uint64_t block = varint(in), minis = varint(in), count = varint(in);
    uint64_t value = unzigzag(in);
    size_t i = 0;

    assert(count == n && block % 128 == 0 && minis && block / minis % 32 == 0);
    if (n)
        out[i++] = value;
    while (i < n) {
        uint64_t least = unzigzag(in), each = block / minis;
        const uint8_t *widths = in->at;

        assert(minis <= (uint64_t) (in->end - in->at));
        in->at += minis;
        for (uint64_t m = 0; m < minis && i < n; m++) {
            struct in run = *in;

            for (uint64_t k = 0; k < each && i < n; k++)
                out[i++] = value += least +
                                    bits_at(run, k * widths[m], widths[m]);
            assert(each * widths[m] / 8 <= (uint64_t) (in->end - in->at));
            in->at += each * widths[m] / 8;
        }
    }
}

static struct cell plain(struct in *in, uint64_t type, size_t i, struct in all)
{
    struct cell c = {.known = true};

    if (type == 0) {
        c.bits = bits_at(all, i, 1);
    } else if (type == 6) {
        uint64_t n = 0;

        assert(in->end - in->at >= 4);
        for (unsigned b = 0; b < 4; b++)
            n |= (uint64_t) *in->at++ << 8 * b;
        assert(n <= (uint64_t) (in->end - in->at));
        c.text = (struct in){in->at, in->at + n};
        in->at += n;
    } else {
        assert(in->end - in->at >= 8);
        for (unsigned b = 0; b < 8; b++)
            c.bits |= (uint64_t) *in->at++ << 8 * b;
    }
    return c;
}

/* --- pages ---------------------------------------------------------------- */

struct page {
    uint64_t type, unpacked, packed, values, encoding;
    struct in body;
};

static struct in unpack(struct reader *r, const struct page *p, uint64_t codec,
                        const uint8_t *at)
{
    uint8_t *to;
    z_stream z = {0};

    if (codec == 0) {
        assert(p->packed == p->unpacked);
        return (struct in){at, at + p->packed};
    }
    assert(codec == 2 && r->n_pages < 4096);
    to = malloc(p->unpacked + 1);
    assert(to && inflateInit2(&z, MAX_WBITS + 16) == Z_OK);
    z.next_in = (Bytef *) (uintptr_t) at;
    z.avail_in = (uInt) p->packed;
    z.next_out = to;
    z.avail_out = (uInt) p->unpacked + 1;
    assert(inflate(&z, Z_FINISH) == Z_STREAM_END);
    assert(z.total_out == p->unpacked && !z.avail_in);
    inflateEnd(&z);
    r->pages[r->n_pages++] = to;
    return (struct in){to, to + p->unpacked};
}

static struct page read_page(struct reader *r, struct in *in, uint64_t codec)
{
    struct page p = {0};
    int id = 0, type, inner;

    while ((type = next_field(in, &id)))
        if (id == 1)
            p.type = unzigzag(in);
        else if (id == 2)
            p.unpacked = unzigzag(in);
        else if (id == 3)
            p.packed = unzigzag(in);
        else if (id == 5 || id == 7) {
            int k = 0;

            while ((inner = next_field(in, &k)))
                if (k == 1)
                    p.values = unzigzag(in);
                else if (k == 2)
                    p.encoding = unzigzag(in);
                else
                    skip(in, inner);
        } else
            skip(in, type);
    assert(p.packed <= (uint64_t) (in->end - in->at));
    p.body = unpack(r, &p, codec, in->at);
    in->at += p.packed;
    return p;
}

static void read_values(struct reader *r, size_t column, const struct page *p,
                        const struct cell *dictionary, size_t n_dictionary,
                        uint64_t *nulls)
{
    uint64_t *levels = calloc(p->values + 1, sizeof(*levels));
    uint64_t *values = calloc(p->values + 1, sizeof(*values));
    struct in in = p->body, part;
    uint64_t length = 0, known = 0, k = 0;
    struct cell *to = r->cells[column] + r->filled[column];

    assert(levels && values && in.end - in.at >= 4);
    for (unsigned b = 0; b < 4; b++)
        length |= (uint64_t) *in.at++ << 8 * b;
    assert(length <= (uint64_t) (in.end - in.at));
    part = (struct in){in.at, in.at + length};
    hybrid(&part, 1, levels, p->values);
    assert(part.at == part.end);
    in.at += length;
    for (uint64_t i = 0; i < p->values; i++)
        known += levels[i];
    part = in;
    if (p->encoding == 8 && known) {
        unsigned width = *in.at++;

        hybrid(&in, width, values, known);
    } else if (p->encoding == 5) {
        delta(&in, values, known);
    }
    for (uint64_t i = 0; i < p->values; i++) {
        struct cell c = {.known = levels[i]};

        if (c.known && p->encoding == 8) {
            assert(values[k] < n_dictionary);
            c = dictionary[values[k++]];
        } else if (c.known && p->encoding == 5) {
            c.bits = values[k++];
        } else if (c.known) {
            assert(p->encoding == 0);
            c = plain(&in, r->types[column], k++, part);
        }
        to[i] = c;
        *nulls += !c.known;
    }
    r->filled[column] += p->values;
    free(levels);
    free(values);
}

/* All of a chunk, which must end as its metadata has it. */
static void read_chunk(struct reader *r, size_t column, const struct chunk *c)
{
    uint64_t begin = c->dictionary ? c->dictionary : c->data;
    uint64_t until = r->filled[column] + c->values, nulls = 0;
    struct in in = {r->file + begin, r->file + begin + c->bytes};
    struct cell *dictionary = NULL;
    size_t n = 0;

    assert(begin >= 4 && begin <= r->n && c->bytes <= r->n - begin);
    assert(c->type == r->types[column] && until <= r->rows);
    if (c->dictionary) {
        struct page p = read_page(r, &in, c->codec);
        struct in body = p.body;

        assert(p.type == 2 && p.encoding == 0);
        dictionary = calloc(p.values + 1, sizeof(*dictionary));
        assert(dictionary);
        for (n = 0; n < p.values; n++)
            dictionary[n] = plain(&body, c->type, n, p.body);
        assert(body.at == body.end || c->type == 0);
        assert(in.at == r->file + c->data);
    }
    while (r->filled[column] < until) {
        struct page p = read_page(r, &in, c->codec);

        assert(p.type == 0 && r->filled[column] + p.values <= until);
        read_values(r, column, &p, dictionary, n, &nulls);
    }
    assert(in.at == in.end && nulls == c->nulls);
    free(dictionary);
}

static uint64_t le(struct in in)
{
    uint64_t v = 0;

    for (unsigned i = 0; in.at + i < in.end && i < 8; i++)
        v |= (uint64_t) in.at[i] << 8 * i;
    return v;
}

static int order_texts(struct in a, struct in b)
{
    size_t na = (size_t) (a.end - a.at), nb = (size_t) (b.end - b.at);
    int order = na && nb ? memcmp(a.at, b.at, na < nb ? na : nb) : 0;

    return order ? order : na < nb ? -1 : na > nb;
}

static int order(const struct reader *r, size_t column, struct cell c,
                 struct in limit)
{
    uint64_t bits = le(limit);

    if (r->types[column] == 6)
        return order_texts(c.text, limit);
    if (r->types[column] == 5) {
        double a, b;

        memcpy(&a, &c.bits, 8);
        memcpy(&b, &bits, 8);
        return a < b ? -1 : a > b;
    }
    if (r->is_unsigned[column] || r->types[column] == 0)
        return c.bits < bits ? -1 : c.bits > bits;
    return (int64_t) c.bits < (int64_t) bits
               ? -1
               : (int64_t) c.bits > (int64_t) bits;
}

/* No value lies beyond the chunk's limits. */
static void check_limits(const struct reader *r, size_t column,
                         const struct chunk *c, uint64_t from)
{
    for (uint64_t i = from; c->has_limits && i < r->filled[column]; i++)
        if (r->cells[column][i].known) {
            assert(order(r, column, r->cells[column][i], c->low) >= 0);
            assert(order(r, column, r->cells[column][i], c->high) <= 0);
        }
}

static void read_group(struct reader *r, struct in *in)
{
    int id = 0, type, inner;

    while ((type = next_field(in, &id))) {
        if (id != 1) {
            skip(in, type);
            continue;
        }
        assert(list_length(in, &inner) == r->n_columns);
        for (size_t k = 0; k < r->n_columns; k++) {
            int field = 0, kind;

            while ((kind = next_field(in, &field)))
                if (field == 3) {
                    struct chunk c = read_meta(in);
                    uint64_t from = r->filled[k];

                    read_chunk(r, k, &c);
                    check_limits(r, k, &c, from);
                } else
                    skip(in, kind);
        }
    }
}

static void read_file(struct reader *r)
{
    struct in in;
    uint64_t length = 0;
    int id = 0, type, inner;

    assert(r->n >= 12 && !memcmp(r->file, "PAR1", 4) &&
           !memcmp(r->file + r->n - 4, "PAR1", 4));
    for (unsigned b = 0; b < 4; b++)
        length |= (uint64_t) r->file[r->n - 8 + b] << 8 * b;
    assert(length <= r->n - 12);
    in = (struct in){r->file + r->n - 8 - length, r->file + r->n - 8};
    while ((type = next_field(&in, &id)))
        if (id == 2)
            for (uint64_t n = list_length(&in, &inner); n; n--)
                read_column(r, &in);
        else if (id == 3) {
            r->rows = unzigzag(&in);
            for (size_t k = 0; k < r->n_columns; k++)
                r->cells[k] = calloc(r->rows + 1, sizeof(**r->cells));
        } else if (id == 4)
            for (uint64_t n = list_length(&in, &inner); n; n--)
                read_group(r, &in);
        else
            skip(&in, type);
    assert(in.at == in.end);
}

/* --- against the CSV text ------------------------------------------------- */

/* The next cell, unquoted, into buf; *end follows it. */
static size_t csv_cell(const char **at, const char *until, char *buf, char *end)
{
    const char *p = *at;
    size_t n = 0;
    bool quoted = p < until && *p == '"';

    for (p += quoted; p < until; p++) {
        if (quoted && *p == '"' && p + 1 < until && p[1] == '"')
            p++;
        else if (quoted && *p == '"') {
            quoted = false;
            continue;
        } else if (!quoted && (*p == ',' || *p == '\n'))
            break;
        buf[n++] = *p;
    }
    assert(p < until);
    *end = *p;
    *at = p + 1;
    buf[n] = '\0';
    return n;
}

static void compare(const struct reader *r, size_t column, struct cell c,
                    const char *text, size_t n)
{
    char *end;

    if (!c.known) {
        /* a time of more than 63 bits is none */
        assert(!n || (r->types[column] == 2 && !r->is_unsigned[column] &&
                      strtoull(text, NULL, 10) > INT64_MAX));
    } else if (r->types[column] == 6) {
        assert((size_t) (c.text.end - c.text.at) == n);
        for (size_t i = 0; i < n; i++)
            assert(c.text.at[i] == (uint8_t) text[i] || c.text.at[i] == '?');
    } else if (r->types[column] == 0) {
        assert(!strcmp(text, c.bits ? "yes" : "no"));
    } else if (r->types[column] == 5) {
        double real;

        memcpy(&real, &c.bits, 8);
        assert(real == strtod(text, &end) && !*end && n);
    } else if (r->is_unsigned[column]) {
        assert(c.bits == strtoull(text, &end, 10) && !*end && n);
    } else {
        assert((int64_t) c.bits == strtoll(text, &end, 10) && !*end && n);
    }
}

void read_back_equal(const uint8_t *file, size_t n, const char *csv, size_t len,
                     uint64_t rows)
{
    struct reader *r = calloc(1, sizeof(*r));
    const char *until = csv + len;
    char *buf = malloc(len + 1), end = '\0';

    assert(r && buf);
    r->file = file;
    r->n = n;
    read_file(r);
    assert(r->rows == rows);
    for (size_t k = 0; k < r->n_columns; k++) {
        size_t length = csv_cell(&csv, until, buf, &end);

        assert(r->filled[k] == rows);
        assert((size_t) (r->names[k].end - r->names[k].at) == length &&
               !memcmp(r->names[k].at, buf, length));
        assert((end == '\n') == (k + 1 == r->n_columns));
    }
    for (uint64_t i = 0; i < rows; i++)
        for (size_t k = 0; k < r->n_columns; k++) {
            size_t length = csv_cell(&csv, until, buf, &end);

            compare(r, k, r->cells[k][i], buf, length);
        }
    assert(csv == until);
    for (size_t k = 0; k < r->n_columns; k++)
        free(r->cells[k]);
    while (r->n_pages)
        free(r->pages[--r->n_pages]);
    free(r);
    free(buf);
}
