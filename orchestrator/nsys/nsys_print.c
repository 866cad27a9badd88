/* nsys_print.c - tables in the layout of `nsys profile --stats`. */
#include <inttypes.h>
#include <string.h>

#include "common/quote.h"
#include "common/utf8.h"
#include "orchestrator/nsys/nsys.h"

enum { NAME_WIDTH = 100, MAX_COLUMNS = 12, CELL = 4 * NAME_WIDTH + 8 };

/* Which figure a column shows. */
enum figure {
    SHARE,
    TOTAL,
    COUNT,
    AVERAGE,
    MINIMUM,
    MAXIMUM,
    DEVIATION,
    RANKS,
    RANK_MIN,
    RANK_MAX,
    IMBALANCE,
    NAME
};

static const struct layout {
    const char *title;
    const char *count; /* heading of how many */
    const char *name;  /* heading of names */
    bool is_size;      /* MB in place of ns, and no share */
    bool always;       /* without rows, too */
} layouts[NSYS_TABLES] = {
    [NSYS_API] = {"CUDA API Statistics:", "Num Calls", "Name", false, true},
    [NSYS_KERNELS] = {"CUDA Kernel Statistics:", "Instances", "Name", false,
                      true},
    [NSYS_MEM_TIME] = {"CUDA Memory Operation Statistics (by time):", "Count",
                       "Operation", false, true},
    [NSYS_MEM_SIZE] = {"CUDA Memory Operation Statistics (by size):", "Count",
                       "Operation", true, true},
    [NSYS_PUSHPOP] = {"NVTX Push-Pop Range Statistics:", "Instances", "Range",
                      false, false},
    [NSYS_STARTEND] = {"NVTX Start-End Range Statistics:", "Instances", "Range",
                       false, false},
};

static const char *heading(const struct layout *l, enum figure figure)
{
    static const char *const words[][2] = {
        [SHARE] = {"Time(%)", NULL},
        [TOTAL] = {"Total Time (ns)", "Total (MB)"},
        [AVERAGE] = {"Average (ns)", "Average (MB)"},
        [MINIMUM] = {"Minimum (ns)", "Minimum (MB)"},
        [MAXIMUM] = {"Maximum (ns)", "Maximum (MB)"},
        [DEVIATION] = {"StdDev (ns)", "StdDev (MB)"},
        [RANKS] = {"Ranks", "Ranks"},
        [RANK_MIN] = {"Rank Minimum (ns)", "Rank Minimum (MB)"},
        [RANK_MAX] = {"Rank Maximum (ns)", "Rank Maximum (MB)"},
        [IMBALANCE] = {"Imbalance", "Imbalance"},
    };

    return figure == COUNT  ? l->count
           : figure == NAME ? l->name
                            : words[figure][l->is_size];
}

/* At most NAME_WIDTH characters of text, the last one an ellipsis where there
 * are more. Returns how many. */
static size_t cut(const char *text, char buf[CELL])
{
    size_t n = 0, at = 0, end = 0;

    while (text[at]) {
        uint32_t point;
        size_t len = utf8_decode(text + at, strlen(text + at), &point);

        if (n == NAME_WIDTH) {
            snprintf(buf, CELL, "%.*s\u2026", (int) end, text);
            return NAME_WIDTH;
        }
        if (++n < NAME_WIDTH)
            end = at + (len ? len : 1);
        at += len ? len : 1;
    }
    snprintf(buf, CELL, "%s", text);
    return n;
}

static void put_amount(const struct layout *l, double amount, char buf[CELL])
{
    if (l->is_size)
        snprintf(buf, CELL, "%.3f", amount / 1e6);
    else
        snprintf(buf, CELL, "%.1f", amount);
}

static void put_whole(const struct layout *l, uint64_t amount, char buf[CELL])
{
    if (l->is_size)
        snprintf(buf, CELL, "%.3f", (double) amount / 1e6);
    else
        snprintf(buf, CELL, "%" PRIu64, amount);
}

/* A cell's text; returns its width. */
static size_t put_cell(const struct layout *l, const struct jp_nsys_row *row,
                       enum figure figure, char buf[CELL])
{
    switch (figure) {
    case SHARE:
        snprintf(buf, CELL, "%.1f", 100 * row->share);
        break;
    case TOTAL:
        put_whole(l, row->sum.total, buf);
        break;
    case COUNT:
        snprintf(buf, CELL, "%" PRIu64, row->sum.n);
        break;
    case AVERAGE:
        put_amount(l, nsys_sum_average(&row->sum), buf);
        break;
    case MINIMUM:
        put_whole(l, row->sum.min, buf);
        break;
    case MAXIMUM:
        put_whole(l, row->sum.max, buf);
        break;
    case DEVIATION:
        put_amount(l, nsys_sum_deviation(&row->sum), buf);
        break;
    case RANKS:
        snprintf(buf, CELL, "%" PRIu32, row->ranks);
        break;
    case RANK_MIN:
        put_whole(l, row->rank_min, buf);
        break;
    case RANK_MAX:
        put_whole(l, row->rank_max, buf);
        break;
    case IMBALANCE:
        snprintf(buf, CELL, "%.2f", row->imbalance);
        break;
    case NAME:
        return cut(row->name, buf);
    }
    return strlen(buf);
}

static size_t choose(const struct layout *l, bool several,
                     enum figure columns[MAX_COLUMNS])
{
    size_t n = 0;

    for (int f = SHARE; f <= NAME; f++)
        if (!(l->is_size && f == SHARE) &&
            (several || f < RANKS || f > IMBALANCE))
            columns[n++] = (enum figure) f;
    return n;
}

/* Headings stand in the middle of their columns. */
static void put_headings(const struct layout *l, const enum figure *columns,
                         const size_t *widths, size_t n, FILE *out)
{
    size_t rest = 0;

    for (size_t i = 0; i < n; i++) {
        const char *word = heading(l, columns[i]);
        size_t left = (widths[i] - strlen(word)) / 2;

        fprintf(out, "%*s%s", (int) (rest + (i ? 2 : 1) + left), "", word);
        rest = widths[i] - strlen(word) - left;
    }
    fputc('\n', out);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "  " : " ", out);
        for (size_t k = 0; k < widths[i]; k++)
            fputc('-', out);
    }
    fputc('\n', out);
}

static void put_row(const struct layout *l, const struct jp_nsys_row *row,
                    const enum figure *columns, const size_t *widths, size_t n,
                    FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        char cell[CELL];
        size_t width = put_cell(l, row, columns[i], cell);

        fprintf(out, "%s%*s", i ? "  " : " ",
                columns[i] == NAME ? 0 : (int) (widths[i] - width), "");
        quote_print(out, cell);
    }
    fputc('\n', out);
}

static void put_table(const struct jp_nsys *nsys, enum nsys_table table,
                      size_t top, FILE *out)
{
    const struct layout *l = &layouts[table];
    size_t n, widths[MAX_COLUMNS], n_columns;
    const struct jp_nsys_row *rows = nsys_rows(nsys, table, &n);
    size_t shown = top && top < n ? top : n;
    enum figure columns[MAX_COLUMNS];
    char cell[CELL];

    if (!n && !l->always)
        return;
    n_columns = choose(l, nsys->n_ranks - nsys->n_bad > 1, columns);
    for (size_t i = 0; i < n_columns; i++) {
        widths[i] = strlen(heading(l, columns[i]));
        for (size_t k = 0; k < shown; k++) {
            size_t width = put_cell(l, &rows[k], columns[i], cell);

            widths[i] = widths[i] > width ? widths[i] : width;
        }
    }
    fprintf(out, "%s\n\n", l->title);
    if (!n) {
        fputs(" none\n\n", out);
        return;
    }
    put_headings(l, columns, widths, n_columns, out);
    for (size_t k = 0; k < shown; k++)
        put_row(l, &rows[k], columns, widths, n_columns, out);
    if (shown < n)
        fprintf(out, " ... and %zu more\n", n - shown);
    fputc('\n', out);
}

void nsys_print(const struct jp_nsys *nsys, size_t top, FILE *out)
{
    for (int t = 0; t < NSYS_TABLES; t++)
        put_table(nsys, (enum nsys_table) t, top, out);
}
