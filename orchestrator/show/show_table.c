/* show_table.c - write a table of `jobprof show`. */
#include "orchestrator/show/show_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "common/figure.h"
#include "common/quote.h"

static const void *at(const struct show_column *c, const void *row)
{
    return (const char *) row + c->offset;
}

/* Formats a figure for people; NULL: as it is. */
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

/* The text of a figure, in buf or borrowed. */
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

void show_table_print(const struct show_table *table, const void *rows,
                      size_t n, enum show_form form, FILE *out)
{
    for (size_t i = 0; i <= n; i++) {
        const char *row = (const char *) rows +
                          (i ? i - 1 : 0) * table->row_size;
        const char *blank = "";

        for (size_t k = 0; k < table->n_columns; k++) {
            const struct show_column *c = &table->columns[k];
            char buf[400];

            if (!c->head)
                continue;
            if (!i)
                quote_printf(out, "%s%*s", blank, c->width,
                             form == SHOW_HUMAN && c->human ? c->human
                                                            : c->head);
            else
                quote_printf(out, "%s%*.*s", blank, c->width,
                             c->cut ? c->cut : (int) sizeof(buf),
                             text_of(c, row, form, buf, sizeof(buf)));
            blank = " ";
        }
        fputc('\n', out);
    }
}

static void put_json(struct jp_json_stream *s, const struct show_column *c,
                     const void *row)
{
    if (c->known && !c->known(row))
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
    if (failed && errno == EPIPE)
        return 0;
    return failed || ferror(out) ? error_set(err, "output failed: %m") : 0;
}
