/* csv_out.c - quote and separate the values of CSV rows. */
#include "orchestrator/report/csv_out.h"

#include <inttypes.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/report/clean.h"

void csv_out_empty(struct jp_csv *csv)
{
    if (csv->inside)
        putc_unlocked(',', csv->out);
    csv->inside = true;
}

void csv_out_end(struct jp_csv *csv)
{
    putc_unlocked('\n', csv->out);
    csv->inside = false;
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
            putc_unlocked('"', csv->out);
        putc_unlocked(*text, csv->out);
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

    if (n) {
        csv_out_empty(csv);
        fwrite_unlocked(text, 1, n, csv->out);
        return;
    }
    clean_text(text, JP_CLEAN_UTF8, buf, sizeof(buf));
    csv_out_empty(csv);
    if (!is_formula(buf) && buf[0] != ' ' && !strpbrk(buf, "\",")) {
        fputs_unlocked(buf, csv->out);
        return;
    }
    fputs_unlocked(is_formula(buf) ? "\"'" : "\"", csv->out);
    put_doubled(csv, buf);
    putc_unlocked('"', csv->out);
}

void csv_out_list(struct jp_csv *csv, char *const *texts, size_t n)
{
    csv_out_empty(csv);
    putc_unlocked('"', csv->out);
    for (size_t i = 0; i < n; i++) {
        char buf[JP_CLEAN_MAX];

        clean_text(texts[i], JP_CLEAN_UTF8, buf, sizeof(buf));
        if (i)
            putc_unlocked(' ', csv->out);
        else if (is_formula(buf))
            putc_unlocked('\'', csv->out);
        put_doubled(csv, buf);
    }
    putc_unlocked('"', csv->out);
}

/* At least so many digits: tables of operations have millions of counts, and
 * printf takes five times as long. */
static void put_digits(struct jp_csv *csv, uint64_t value, int least)
{
    char buf[24];
    char *p = buf + sizeof(buf);

    for (; value || least > 0; value /= 10, least--)
        *--p = (char) ('0' + value % 10);
    fwrite_unlocked(p, 1, (size_t) (buf + sizeof(buf) - p), csv->out);
}

void csv_out_count(struct jp_csv *csv, uint64_t value)
{
    csv_out_empty(csv);
    put_digits(csv, value, 1);
}

void csv_out_int(struct jp_csv *csv, int64_t value)
{
    csv_out_empty(csv);
    fprintf(csv->out, "%" PRId64, value);
}

void csv_out_real(struct jp_csv *csv, double value)
{
    csv_out_empty(csv);
    fputs_unlocked(FIG_EXACT(value), csv->out);
}

void csv_out_micro(struct jp_csv *csv, uint64_t micro)
{
    uint64_t rest = micro % 1000000;
    int digits = 6;

    csv_out_count(csv, micro / 1000000);
    for (; rest && rest % 10 == 0; digits--)
        rest /= 10;
    if (rest) {
        putc_unlocked('.', csv->out);
        put_digits(csv, rest, digits);
    }
}
