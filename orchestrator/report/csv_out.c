/* csv_out.c - quote and separate the values of CSV rows. */
#include "orchestrator/report/csv_out.h"

#include <inttypes.h>
#include <string.h>

#include "common/decimal.h"
#include "common/figure.h"
#include "orchestrator/report/clean.h"

void csv_out_flush(struct jp_csv *csv)
{
    fwrite_unlocked(csv->bytes, 1, csv->used, csv->out);
    csv->used = 0;
    csv->from = csv->inside ? SIZE_MAX : 0;
}

/* Room for n <= CSV_OUT_ROOM bytes. */
static inline char *room(struct jp_csv *csv, size_t n)
{
    if (csv->used + n > CSV_OUT_ROOM)
        csv_out_flush(csv);
    return csv->bytes + csv->used;
}

static void put(struct jp_csv *csv, char c)
{
    *room(csv, 1) = c;
    csv->used++;
}

static void put_bytes(struct jp_csv *csv, const char *text, size_t n)
{
    if (n > CSV_OUT_ROOM) {
        csv_out_flush(csv);
        fwrite_unlocked(text, 1, n, csv->out);
        return;
    }
    memcpy(room(csv, n), text, n);
    csv->used += n;
}

/* Where a number of at most JP_DECIMAL_ROOM goes, behind its comma. */
static inline char *begin_number(struct jp_csv *csv)
{
    char *p = room(csv, JP_DECIMAL_ROOM + 1);

    *p = ',';
    p += csv->inside;
    csv->inside = true;
    return p;
}

static inline void end_number(struct jp_csv *csv, const char *end)
{
    csv->used = (size_t) (end - csv->bytes);
}

void csv_out_empty(struct jp_csv *csv)
{
    if (csv->inside)
        put(csv, ',');
    csv->inside = true;
}

void csv_out_end(struct jp_csv *csv)
{
    put(csv, '\n');
    csv->inside = false;
    csv->from = csv->used;
}

size_t csv_out_keep(const struct jp_csv *csv, char *buf, size_t size)
{
    size_t n = csv->used - csv->from;

    if (csv->from == SIZE_MAX || n > size)
        return 0;
    memcpy(buf, csv->bytes + csv->from, n);
    return n;
}

void csv_out_again(struct jp_csv *csv, const char *kept, size_t len)
{
    put_bytes(csv, kept, len);
    csv->inside = true;
}

static bool is_formula(const char *text)
{
    return *text && strchr("=+-@", *text);
}

/* The inside of a quoted value. */
static void put_doubled(struct jp_csv *csv, const char *text)
{
    for (; *text; text++) {
        if (*text == '"')
            put(csv, '"');
        put(csv, *text);
    }
}

/* Length of a text that needs neither cleaning nor quotes, most are; 0: look
 * closer. */
static size_t plain_length(const char *text)
{
    size_t n = 0;

    if (!text || is_formula(text) || *text == ' ')
        return 0;
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
    clean_text(text, JP_CLEAN_UTF8, buf, sizeof(buf));
    if (!is_formula(buf) && buf[0] != ' ' && !strpbrk(buf, "\",")) {
        put_bytes(csv, buf, strlen(buf));
        return;
    }
    put(csv, '"');
    if (is_formula(buf))
        put(csv, '\'');
    put_doubled(csv, buf);
    put(csv, '"');
}

void csv_out_list(struct jp_csv *csv, char *const *texts, size_t n)
{
    csv_out_empty(csv);
    put(csv, '"');
    for (size_t i = 0; i < n; i++) {
        char buf[JP_CLEAN_MAX];

        clean_text(texts[i], JP_CLEAN_UTF8, buf, sizeof(buf));
        if (i)
            put(csv, ' ');
        else if (is_formula(buf))
            put(csv, '\'');
        put_doubled(csv, buf);
    }
    put(csv, '"');
}

void csv_out_count(struct jp_csv *csv, uint64_t value)
{
    end_number(csv, decimal_count(value, begin_number(csv)));
}

void csv_out_int(struct jp_csv *csv, int64_t value)
{
    char *p = begin_number(csv);

    if (value < 0)
        *p++ = '-';
    end_number(
        csv,
        decimal_count(value < 0 ? 0 - (uint64_t) value : (uint64_t) value, p));
}

void csv_out_real(struct jp_csv *csv, double value)
{
    const char *text;
    char *p = begin_number(csv), *end = decimal_exact(value, p);

    if (end) {
        end_number(csv, end);
        return;
    }
    end_number(csv, p);
    text = FIG_EXACT(value);
    put_bytes(csv, text, strlen(text));
}

void csv_out_micro(struct jp_csv *csv, uint64_t micro)
{
    end_number(csv, decimal_micro(micro, begin_number(csv)));
}
