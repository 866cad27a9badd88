/* show_table.c - write a table of `jobprof show`.
 *
 * A column says where its value is and how it is formatted; text_of and
 * put_json are the two readers of a cell. For people, fit adapts the table to
 * the terminal: first columns become as narrow as their texts, then columns are
 * dropped in their given order, finally the text of the last column is cut. */
#include "orchestrator/show/show_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/figure.h"
#include "common/quote.h"

/* Returns the address of the column's value in a row. */
static const void *at(const struct show_column *c, const void *row)
{
    return (const char *) row + c->offset;
}

/* Formats a figure for people in buf. NULL: the column has no such form. */
static const char *human_of(const struct show_column *c, const void *row,
                            char *buf)
{
    double value = c->kind == SHOW_COUNT
                       ? (double) *(const uint64_t *) at(c, row)
                   : c->kind == SHOW_REAL ? c->real(row)
                                          : NAN;

    switch (c->unit) {
    case SHOW_GROUPED:
        return figure_count(*(const uint64_t *) at(c, row), buf);
    case SHOW_BYTES:
        return figure_bytes(*(const uint64_t *) at(c, row), buf);
    case SHOW_US:
        return figure_us(value, buf);
    case SHOW_GBS:
        return figure_gbs(value, buf);
    default:
        return NULL;
    }
}

/* Returns the text of a cell, in buf or borrowed. "-" means unknown or empty.
 */
static const char *text_of(const struct show_column *c, const void *row,
                           enum show_form form, char *buf, size_t size)
{
    const char *text = at(c, row), *human;

    if (c->known && !c->known(row))
        return "-";
    human = form == SHOW_HUMAN ? human_of(c, row, buf) : NULL;
    if (human)
        return human;
    switch (c->kind) {
    case SHOW_TEXT:
        return *text ? text : "-";
    case SHOW_COUNT:
        snprintf(buf, size, "%" PRIu64, *(const uint64_t *) at(c, row));
        return buf;
    case SHOW_PID:
        if (*(const int64_t *) at(c, row) < 0)
            return "-";
        snprintf(buf, size, "%" PRId64, *(const int64_t *) at(c, row));
        return buf;
    default:
        snprintf(buf, size, "%.*f", c->decimals, c->real(row));
        return buf;
    }
}

/* --- a table on a terminal ------------------------------------------------ */

/* Limits. */
#define COLUMNS 20 /* of a table, at most */
#define TEXT 400   /* bytes of a figure */
#define LINE 8192  /* of a line of text */

/* One table on its way to a terminal or a pipe. */
struct print {
    const struct show_table *table;
    const void *rows;
    size_t n;
    enum show_form form;
    int widths[COLUMNS]; /* 0: not printed */
    int most;            /* bytes of the last one's texts */
};

/* Returns the text of a cell, or of the heading for row 0. */
static const char *cell(const struct print *p, size_t row, size_t column,
                        char buf[TEXT])
{
    const struct show_column *c = &p->table->columns[column];

    if (!row)
        return p->form == SHOW_HUMAN && c->human ? c->human : c->head;
    return text_of(c, (const char *) p->rows + (row - 1) * p->table->row_size,
                   p->form, buf, TEXT);
}

/* Whether the output has the column at all. */
static bool is_shown(const struct print *p, size_t column)
{
    const struct show_column *c = &p->table->columns[column];
    bool people = p->form == SHOW_HUMAN;

    /* columns without a heading are only in JSON */
    if (!c->head || c->where == (people ? SHOW_FOR_PROGRAMS : SHOW_FOR_PEOPLE))
        return false;
    for (size_t i = 0; c->optional && i < p->n; i++)
        if (c->known((const char *) p->rows + i * p->table->row_size))
            return true;
    return !c->optional;
}

/* Returns the width of the table, with a blank between columns. */
static int total(const struct print *p)
{
    int sum = -1;

    for (size_t k = 0; k < p->table->n_columns; k++)
        if (p->widths[k])
            sum += 1 + abs(p->widths[k]);
    return sum;
}

/* Returns the width that the column's texts need; negative if left-aligned,
 * like the column's own width. */
static int narrow(const struct print *p, size_t column)
{
    const struct show_column *c = &p->table->columns[column];
    char buf[TEXT];
    int most = 0;

    for (size_t i = 0; i <= p->n; i++) {
        int len = (int) strlen(cell(p, i, column, buf));

        len = i && c->cut && len > c->cut ? c->cut : len;
        most = len > most ? len : most;
    }
    return c->width < 0 ? -most : most;
}

/* Fits the table into the terminal's columns. Returns the index of the last
 * column, if it is left-aligned and was fitted, otherwise the number of
 * columns. */
static size_t fit(struct print *p, int columns)
{
    const struct show_table *table = p->table;
    size_t last = table->n_columns;

    /* the normal widths are nicer: they are the same for every step */
    if (total(p) <= columns)
        return table->n_columns;
    for (size_t k = 0; k < table->n_columns; k++)
        if (p->widths[k])
            p->widths[k] = narrow(p, k);
    for (unsigned turn = 1; turn <= table->n_columns; turn++)
        for (size_t k = 0; k < table->n_columns && total(p) > columns; k++)
            if (table->columns[k].dropped == turn)
                p->widths[k] = 0;
    while (last > 0 && !p->widths[last - 1])
        last--;
    if (!last || p->widths[--last] > 0)
        return table->n_columns;
    p->most = -p->widths[last]; /* no padding at the end of a line */
    if (total(p) > columns && p->most > total(p) - columns)
        p->most -= total(p) - columns;
    /* a width of 1 pads nothing; p->most limits the text */
    p->widths[last] = -1;
    return last;
}

/* Returns the number of the terminal's columns; 0 if the output is no terminal.
 */
static int columns_of(FILE *out)
{
    struct winsize size;

    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void show_table_line(FILE *out, int indent, const char *fmt, ...)
{
    int columns = columns_of(out), room = columns;
    char text[LINE];
    const char *rest = text;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    /* on a very narrow terminal the line stays whole */
    while (columns > 2 * indent && (int) strlen(rest) > room) {
        int n = room;

        while (n && rest[n] != ' ')
            n--;
        n = n ? n : room;
        quote_printf(out, "%.*s\n%*s", n, rest, indent, "");
        rest += n + strspn(rest + n, " ");
        room = columns - indent;
    }
    quote_printf(out, "%s\n", rest);
}

bool show_table_print(const struct show_table *table, const void *rows,
                      size_t n, enum show_form form, FILE *out)
{
    struct print p = {table, rows, n, form, {0}, TEXT};
    int columns = form == SHOW_HUMAN ? columns_of(out) : 0;
    bool whole = true;
    size_t last = table->n_columns; /* that is left-aligned */

    for (size_t k = 0; k < table->n_columns; k++)
        p.widths[k] = is_shown(&p, k) ? table->columns[k].width : 0;
    if (columns)
        last = fit(&p, columns);
    for (size_t k = 0; k < table->n_columns; k++)
        whole &= p.widths[k] || !is_shown(&p, k);
    for (size_t i = 0; i <= n; i++) {
        const char *blank = "";

        for (size_t k = 0; k < table->n_columns; k++) {
            const struct show_column *c = &table->columns[k];
            char buf[TEXT];

            if (!p.widths[k])
                continue;
            quote_printf(out, "%s%*.*s", blank, p.widths[k],
                         k == last     ? p.most
                         : i && c->cut ? c->cut
                                       : TEXT,
                         cell(&p, i, k, buf));
            blank = " ";
        }
        fputc('\n', out);
    }
    return whole;
}

char *show_rank(int64_t job_rank, int64_t comm_rank, char buf[SHOW_RANK_LEN])
{
    if (job_rank < 0 && comm_rank < 0)
        snprintf(buf, SHOW_RANK_LEN, "-");
    else if (job_rank < 0)
        snprintf(buf, SHOW_RANK_LEN, "- (%" PRId64 ")", comm_rank);
    else if (comm_rank < 0 || comm_rank == job_rank)
        snprintf(buf, SHOW_RANK_LEN, "%" PRId64, job_rank);
    else
        snprintf(buf, SHOW_RANK_LEN, "%" PRId64 " (%" PRId64 ")", job_rank,
                 comm_rank);
    return buf;
}

/* --- JSON ----------------------------------------------------------------- */

/* Writes one cell; an unknown value has no member. */
static void put_json(struct jp_json_stream *s, const struct show_column *c,
                     const void *row)
{
    if (!c->key || (c->known && !c->known(row)))
        return;
    switch (c->kind) {
    case SHOW_TEXT:
        json_stream_text(s, c->key, at(c, row));
        break;
    case SHOW_COUNT:
        json_stream_count(s, c->key, *(const uint64_t *) at(c, row));
        break;
    case SHOW_PID:
        if (*(const int64_t *) at(c, row) < 0)
            json_stream_null(s, c->key);
        else
            json_stream_int(s, c->key, *(const int64_t *) at(c, row));
        break;
    default:
        json_stream_fixed(s, c->key, c->real(row), c->json_decimals);
    }
}

void show_table_json(struct jp_json_stream *s, const char *key,
                     const struct show_table *table, const void *rows, size_t n)
{
    json_stream_array(s, key);
    for (size_t i = 0; i < n; i++) {
        const char *row = (const char *) rows + i * table->row_size;

        json_stream_object(s, NULL);
        /* first the normal columns, then those that are placed at the end */
        for (int last = 0; last < 2; last++)
            for (size_t k = 0; k < table->n_columns; k++)
                if (table->columns[k].last == last)
                    put_json(s, &table->columns[k], row);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

int show_table_end(struct jp_json_stream *s, FILE *out, struct jp_error *err)
{
    bool failed = s && json_stream_close(s, NULL) < 0;

    failed |= fflush(out) != 0;
    /* the reader has seen enough */
    if (failed && errno == EPIPE)
        return 0;
    return failed || ferror(out) ? error_set(err, "output failed: %m") : 0;
}
