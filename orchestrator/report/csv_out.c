/* csv_out.c - quote and separate the values of CSV rows. */
#include "orchestrator/report/csv_out.h"

#include <inttypes.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/report/clean.h"

void csv_out_empty(struct jp_csv *csv)
{
    if (csv->inside)
        fputc(',', csv->out);
    csv->inside = true;
}

void csv_out_end(struct jp_csv *csv)
{
    fputc('\n', csv->out);
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
            fputc('"', csv->out);
        fputc(*text, csv->out);
    }
}

void csv_out_text(struct jp_csv *csv, const char *text)
{
    char buf[JP_CLEAN_MAX];

    clean_text(text, JP_CLEAN_UTF8, buf, sizeof(buf));
    csv_out_empty(csv);
    if (!is_formula(buf) && buf[0] != ' ' && !strpbrk(buf, "\",")) {
        fputs(buf, csv->out);
        return;
    }
    fputs(is_formula(buf) ? "\"'" : "\"", csv->out);
    put_doubled(csv, buf);
    fputc('"', csv->out);
}

void csv_out_list(struct jp_csv *csv, char *const *texts, size_t n)
{
    csv_out_empty(csv);
    fputc('"', csv->out);
    for (size_t i = 0; i < n; i++) {
        char buf[JP_CLEAN_MAX];

        clean_text(texts[i], JP_CLEAN_UTF8, buf, sizeof(buf));
        if (i)
            fputc(' ', csv->out);
        else if (is_formula(buf))
            fputc('\'', csv->out);
        put_doubled(csv, buf);
    }
    fputc('"', csv->out);
}

void csv_out_count(struct jp_csv *csv, uint64_t value)
{
    csv_out_empty(csv);
    fprintf(csv->out, "%" PRIu64, value);
}

void csv_out_int(struct jp_csv *csv, int64_t value)
{
    csv_out_empty(csv);
    fprintf(csv->out, "%" PRId64, value);
}

void csv_out_real(struct jp_csv *csv, double value)
{
    csv_out_empty(csv);
    fputs(FIG_EXACT(value), csv->out);
}

void csv_out_micro(struct jp_csv *csv, uint64_t micro)
{
    uint64_t rest = micro % 1000000;
    int digits = 6;

    csv_out_count(csv, micro / 1000000);
    for (; rest && rest % 10 == 0; digits--)
        rest /= 10;
    if (rest)
        fprintf(csv->out, ".%0*" PRIu64, digits, rest);
}
