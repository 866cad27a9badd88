/* csv_out.c - quote and separate the values of CSV. */
#include "orchestrator/table/csv_out.h"

#include <string.h>

#include "common/figure.h"
#include "common/quote.h"

void csv_out_begin(struct jp_csv *csv, FILE *out)
{
    csv->out = out;
    csv->inside = false;
    csv->from = csv->used = 0;
}

void csv_out_flush(struct jp_csv *csv)
{
    fwrite_unlocked(csv->bytes, 1, csv->used, csv->out);
    csv->used = 0;
    /* the bytes before are gone, so the current row cannot be kept any more */
    csv->from = csv->inside ? SIZE_MAX : 0;
}

/* Appends one byte to the buffer. */
static void put_byte(struct jp_csv *csv, char c)
{
    *csv_out_room(csv, 1) = c;
    csv->used++;
}

/* Writes bytes as they are. What is larger than the buffer goes straight to the
 * stream. */
static void put_bytes(struct jp_csv *csv, const char *text, size_t n)
{
    if (n > CSV_OUT_ROOM) {
        csv_out_flush(csv);
        fwrite_unlocked(text, 1, n, csv->out);
        return;
    }
    memcpy(csv_out_room(csv, n), text, n);
    csv->used += n;
}

void csv_out_end(struct jp_csv *csv)
{
    put_byte(csv, '\n');
    csv->inside = false;
    /* the next row starts here */
    csv->from = csv->used;
}

size_t csv_out_keep(const struct jp_csv *csv, char *buf, size_t size)
{
    size_t n = csv->used - csv->from;

    /* part of the row was flushed, or it does not fit */
    if (csv->from == SIZE_MAX || n > size)
        return 0;
    memcpy(buf, csv->bytes + csv->from, n);
    return n;
}

void csv_out_again(struct jp_csv *csv, const char *kept, size_t len)
{
    put_bytes(csv, kept, len);
    /* the copy ends with a value, so a comma comes next */
    csv->inside = true;
}

/* Returns true if a spreadsheet would evaluate the text. */
static bool is_formula(const char *text)
{
    return *text && strchr("=+-@", *text);
}

/* Writes the inside of a quoted value, with quotes doubled. */
static void put_doubled(struct jp_csv *csv, const char *text)
{
    for (; *text; text++) {
        if (*text == '"')
            put_byte(csv, '"');
        put_byte(csv, *text);
    }
}

/* Returns the length of a text that needs neither cleaning nor quotes, which is
 * the usual case; 0 if it must be checked in detail. */
static size_t plain_length(const char *text)
{
    size_t n = 0;

    if (!text || is_formula(text) || *text == ' ')
        return 0;
    /* long texts take the other way, which cuts them */
    for (; text[n]; n++)
        if (text[n] < 0x20 || text[n] > 0x7e || text[n] == '"' ||
            text[n] == ',' || n >= JP_CLEAN_MAX / 2)
            return 0;
    return n;
}

void csv_out_text(struct jp_csv *csv, const char *text)
{
    char buf[JP_CLEAN_MAX];
    size_t n = plain_length(text);

    csv_out_empty(csv);
    if (n) {
        put_bytes(csv, text, n);
        return;
    }
    /* the slow path: cleaning may shorten the text or change its first
     * character */
    clean_text(text, JP_CLEAN_UTF8, buf, sizeof(buf));
    if (!is_formula(buf) && buf[0] != ' ' && !strpbrk(buf, "\",")) {
        put_bytes(csv, buf, strlen(buf));
        return;
    }
    /* quotes are needed */
    put_byte(csv, '"');
    /* an apostrophe keeps it a text */
    if (is_formula(buf))
        put_byte(csv, '\'');
    put_doubled(csv, buf);
    put_byte(csv, '"');
}

void csv_out_list(struct jp_csv *csv, char *const *texts, size_t n)
{
    csv_out_empty(csv);
    /* always quoted, as most lists have a blank */
    put_byte(csv, '"');
    for (size_t i = 0; i < n; i++) {
        char buf[JP_CLEAN_MAX];

        clean_text(texts[i], JP_CLEAN_UTF8, buf, sizeof(buf));
        /* only the first character of a cell makes a formula */
        if (i)
            put_byte(csv, ' ');
        else if (is_formula(buf))
            put_byte(csv, '\'');
        put_doubled(csv, buf);
    }
    put_byte(csv, '"');
}

void csv_out_int(struct jp_csv *csv, int64_t value)
{
    char *p = csv_out_begin_number(csv);

    /* 0 - (uint64_t) value below: INT64_MIN has no positive int64_t */
    if (value < 0)
        *p++ = '-';
    csv_out_end_number(
        csv,
        decimal_count(value < 0 ? 0 - (uint64_t) value : (uint64_t) value, p));
}

void csv_out_real(struct jp_csv *csv, double value)
{
    const char *text;
    char *p = csv_out_begin_number(csv), *end = decimal_exact(value, p);

    /* the fast path writes into the buffer; NULL: printf must format the number
     */
    if (end) {
        csv_out_end_number(csv, end);
        return;
    }
    csv_out_end_number(csv, p);
    text = FIG_EXACT(value);
    put_bytes(csv, text, strlen(text));
}

void csv_out_micro(struct jp_csv *csv, uint64_t micro)
{
    csv_out_end_number(csv, decimal_micro(micro, csv_out_begin_number(csv)));
}

void csv_out_mean(struct jp_csv *csv, uint64_t sum, uint64_t n,
                  unsigned decimals)
{
    uint64_t mean = sum / n;
    /* at most 15 digits: such a double prints exactly */
    bool whole = mean * n == sum && sum < UINT64_C(1000000000000000);

    /* without a division in floating point, which is slow and may add digits */
    if (whole && decimals)
        csv_out_micro(csv, mean);
    else if (whole)
        csv_out_count(csv, mean);
    else if (decimals)
        csv_out_real(csv, (double) sum / (double) n / 1e6);
    else
        csv_out_real(csv, (double) sum / (double) n);
}
