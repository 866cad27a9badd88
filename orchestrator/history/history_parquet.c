/* history_parquet.c - write steps of the history as rows of a Parquet file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/quote.h"
#include "orchestrator/history/history_out.h"
#include "orchestrator/parquet/parquet.h"

/* Columns of the finding with the longest wait; they follow the members of a
 * line. */
enum { LATE_KIND, LATE_NODE, LATE_RANK, LATE_WAIT, LATE_CAUSE, LATE_COLUMNS };
static const struct parquet_column late_columns[LATE_COLUMNS] = {
    [LATE_KIND] = {"late_kind", PARQUET_TEXT},
    [LATE_NODE] = {"late_node", PARQUET_TEXT},
    [LATE_RANK] = {"late_rank", PARQUET_COUNT},
    [LATE_WAIT] = {"late_wait_s", PARQUET_REAL},
    [LATE_CAUSE] = {"late_cause", PARQUET_TEXT}};

struct history_parquet {
    struct parquet_column columns[PARQUET_COLUMNS];
    const struct history_field *fields[PARQUET_COLUMNS];
    size_t n, n_late; /* number of member columns; index of the first one after
                       * them */
    struct parquet_group *group;
    struct parquet_file *file;
};

static enum parquet_type type_of(enum history_kind kind)
{
    switch (kind) {
    case HISTORY_WORD:
        return PARQUET_TEXT;
    case HISTORY_CLOCK:
        return PARQUET_CLOCK;
    case HISTORY_FLAG:
        return PARQUET_BOOL;
    case HISTORY_REAL:
        return PARQUET_REAL;
    default:
        return PARQUET_COUNT;
    }
}

struct history_parquet *history_parquet_create(FILE *out, struct jp_error *err)
{
    struct history_parquet *p = calloc(1, sizeof(*p));

    if (!p) {
        error_set(err, "out of memory");
        return NULL;
    }
    for (const struct history_field *f = history_fields; f->kind; f++)
        if (f->kind != HISTORY_ROWS && p->n < PARQUET_COLUMNS - LATE_COLUMNS) {
            p->fields[p->n] = f;
            p->columns[p->n++] =
                (struct parquet_column){f->key, type_of(f->kind)};
        }
    p->n_late = p->n;
    for (size_t i = 0; i < LATE_COLUMNS; i++)
        p->columns[p->n++] = late_columns[i];
    p->group = parquet_group_create(p->columns, p->n, parquet_codec_best());
    if (p->group)
        p->file = parquet_create(out, "history", p->columns, p->n, err);
    else
        error_set(err, "out of memory");
    if (!p->file) {
        history_parquet_destroy(p);
        return NULL;
    }
    return p;
}

void history_parquet_destroy(struct history_parquet *p)
{
    if (!p)
        return;
    parquet_destroy(p->file);
    parquet_group_destroy(p->group);
    free(p);
}

static void put_text(struct history_parquet *p, size_t column,
                     struct history_text text)
{
    char buf[3 * HISTORY_TEXT];

    if (!text.len) {
        parquet_put_null(p->group, column);
        return;
    }
    history_text_copy(text, buf, sizeof(buf));
    parquet_put_text(p->group, column, buf, strlen(buf));
}

static void put_count(struct history_parquet *p, size_t column, uint64_t value)
{
    if (value == UINT64_MAX)
        parquet_put_null(p->group, column);
    else
        parquet_put_number(p->group, column, value);
}

static void put_real(struct history_parquet *p, size_t column, double value)
{
    if (isfinite(value))
        parquet_put_real(p->group, column, value);
    else
        parquet_put_null(p->group, column);
}

static void put_member(struct history_parquet *p, size_t column,
                       const struct history_step *step)
{
    const struct history_field *f = p->fields[column];
    const void *at = (const char *) step + f->at;

    if (f->kind == HISTORY_WORD)
        put_text(p, column, *(const struct history_text *) at);
    else if (f->kind == HISTORY_REAL)
        put_real(p, column, *(const double *) at);
    else if (f->kind == HISTORY_FLAG && *(const uint64_t *) at != UINT64_MAX)
        parquet_put_bool(p->group, column, *(const uint64_t *) at);
    else
        put_count(p, column, *(const uint64_t *) at);
}

static void put_late(struct history_parquet *p, const struct history_step *step)
{
    const struct history_finding none = {{"", 0},    {"", 0}, {"", 0}, {"", 0},
                                         UINT64_MAX, NAN,     NAN};
    const struct history_finding *late = &none;

    for (size_t i = 0; i < step->n_findings; i++)
        if (isfinite(step->findings[i].wait_s) &&
            !(step->findings[i].wait_s <= late->wait_s))
            late = &step->findings[i];
    put_text(p, p->n_late + LATE_KIND, late->kind);
    put_text(p, p->n_late + LATE_NODE, late->node);
    put_count(p, p->n_late + LATE_RANK, late->rank);
    put_real(p, p->n_late + LATE_WAIT, late->wait_s);
    put_text(p, p->n_late + LATE_CAUSE, late->cause);
}

static int flush_group(struct history_parquet *p, struct jp_error *err)
{
    return parquet_group_encode(p->group, err) < 0
               ? -1
               : parquet_append(p->file, p->group, err);
}

int history_parquet_add(struct history_parquet *p,
                        const struct history_step *step, const char *user,
                        struct jp_error *err)
{
    struct history_step as_read = *step;

    if (user)
        as_read.user = (struct history_text){user, (uint32_t) strlen(user)};
    for (size_t i = 0; i < p->n_late; i++)
        put_member(p, i, &as_read);
    put_late(p, step);
    parquet_group_end_row(p->group);
    return parquet_group_full(p->group) ? flush_group(p, err) : 0;
}

int history_parquet_finish(struct history_parquet *p, struct jp_error *err)
{
    return flush_group(p, err) < 0 ? -1 : parquet_finish(p->file, err);
}
