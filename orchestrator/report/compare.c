/* compare.c - match the cells and findings of two summaries, or of a baseline
 * and a summary, and print what differs.
 *
 * init and init_baseline fill struct compare; print_text and print_json show
 * it. A cell has a side A (index 0) and a side B (index 1). All strings are
 * borrowed from the two summaries. */
#include "orchestrator/report/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/quote.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/out.h"
#include "orchestrator/table/table.h"

/* Our reports have no more (docs/summary.schema.json), but foreign files may.
 */
#define MAX_CELLS 5000
#define MAX_FINDINGS 200

enum compare_course {
    COMPARE_SAME,
    COMPARE_FASTER,
    COMPARE_SLOWER,
    COMPARE_FEW,        /* too few operations to compare */
    COMPARE_INCOMPLETE, /* records are missing */
    COMPARE_ONE_SIDED
};

struct compare_cell {
    const char *type, *coll; /* borrowed from the summaries */
    uint64_t bytes;          /* JSON_UNKNOWN: unknown */
    uint64_t ops[2];         /* 0: the side has no such cell */
    double time_us[2];       /* medians; NAN: unknown */
    double mean_us[2];       /* likewise */
    double busbw_gbs[2];
    double change;          /* change of time, as a share; NAN: unknown */
    char kind[NETKEY_NAME]; /* kind of a network cell; "" for other cells */
    enum compare_course course;
};

/* What the answer is about. */
enum compare_basis {
    COMPARE_BY_NOTHING,
    COMPARE_BY_STEP, /* the median of a step of the program's loop */
    /* the operations that both have, each as often as in A: means */
    COMPARE_BY_OPERATIONS
};

struct compare_answer {
    enum compare_basis basis;
    double us[2];
    double change; /* of time, as a share */
    /* the cell whose change, times its number in A, is the largest in that
     * direction; NULL: none, or the answer is that both are equal */
    const struct compare_cell *part;
};

struct compare {
    /* borrowed; A's is NULL if A is a baseline */
    const struct summary_file *sides[2];
    /* A if it is a baseline, else NULL; borrowed */
    const struct jp_baseline *baseline;
    double threshold;           /* a share */
    bool incomplete[2];         /* records of A, of B are missing */
    struct compare_cell *cells; /* in A's order, then cells of B only */
    size_t n_cells, slower, faster;
    /* findings of B only, and of A only; borrowed */
    const struct summary_finding **fresh, **gone;
    size_t n_fresh, n_gone;
    struct compare_answer answer;
};

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

/* Sets the key of a cell; its figures are unknown so far. */
static void set_key(const struct summary_cell *row, struct compare_cell *cell)
{
    *cell = (struct compare_cell){.type = row->comm_type,
                                  .coll = row->coll,
                                  .bytes = row->msg_size_bytes,
                                  .time_us = {NAN, NAN},
                                  .mean_us = {NAN, NAN},
                                  .busbw_gbs = {NAN, NAN},
                                  .change = NAN,
                                  .course = COMPARE_ONE_SIDED};
}

/* Sets the figures of one side. */
static void set_side(const struct summary_cell *row, struct compare_cell *cell,
                     int side)
{
    cell->ops[side] = json_count_or(row->ops, 0);
    cell->time_us[side] = row->exec_us.p50;
    cell->mean_us[side] = row->exec_us.mean;
    cell->busbw_gbs[side] = row->busbw_gbs.p50;
}

/* Finds A's cell with the key of `like`; NULL: B has it alone. *hint, initially
 * 0, makes a walk over all of B linear. */
static struct compare_cell *
find_cell(struct compare *c, const struct compare_cell *like, size_t *hint)
{
    /* both are sorted alike, so the next cell is usually the match */
    for (size_t i = 0; i < c->n_cells; i++) {
        struct compare_cell *cell = &c->cells[(*hint + i) % c->n_cells];

        /* compares the number first: it differs most often */
        if (cell->bytes == like->bytes && !strcmp(cell->type, like->type) &&
            !strcmp(cell->coll, like->coll)) {
            *hint = (size_t) (cell - c->cells) + 1;
            return cell;
        }
    }
    return NULL;
}

/* Returns true if records of the step are missing, by its summary. */
static bool is_incomplete(const struct summary_file *s)
{
    /* verdicts that mean missing data, or too few records */
    return summary_file_is(s, "INCOMPLETE") || summary_file_is(s, "NODATA") ||
           summary_file_is(s, "FAILED") ||
           s->quality.coverage < limits_table[JP_LIMIT_COVERAGE].value;
}

/* Decides a comparable cell. A cell is faster if A would count as slower in the
 * reverse comparison, so the result does not depend on the order of A and B. */
static void set_course(struct compare *c, struct compare_cell *cell)
{
    cell->course = COMPARE_SAME;
    if (c->incomplete[0] || c->incomplete[1]) {
        cell->course = COMPARE_INCOMPLETE;
    } else if (cell->change > c->threshold) {
        cell->course = COMPARE_SLOWER;
        c->slower++;
    } else if (1 / (1 + cell->change) - 1 > c->threshold) {
        cell->course = COMPARE_FASTER;
        c->faster++;
    }
}

/* Compares a cell of two reports by its median time. */
static void compare_medians(struct compare *c, struct compare_cell *cell)
{
    /* only one side has the cell */
    if (!cell->ops[0] || !cell->ops[1])
        return;
    cell->course = COMPARE_FEW;
    if (cell->ops[0] < COMPARE_MIN_OPS || cell->ops[1] < COMPARE_MIN_OPS ||
        !(cell->time_us[0] > 0) || !(cell->time_us[1] > 0))
        return;
    cell->change = cell->time_us[1] / cell->time_us[0] - 1;
    set_course(c, cell);
}

/* Lists A's cells, then those that only B has, and judges them. Returns 0, or
 * -1 when out of memory. */
static int match_cells(struct compare *c)
{
    const struct summary_file *a = c->sides[0], *b = c->sides[1];
    size_t n = at_most(a->n_cells, MAX_CELLS);
    size_t m = at_most(b->n_cells, MAX_CELLS), hint = 0;

    c->cells = calloc(n + m + 1, sizeof(*c->cells));
    if (!c->cells)
        return -1;
    for (size_t i = 0; i < n; i++, c->n_cells++) {
        set_key(&a->cells[i], &c->cells[i]);
        set_side(&a->cells[i], &c->cells[i], 0);
    }
    for (size_t i = 0; i < m; i++) {
        struct compare_cell like, *cell;

        set_key(&b->cells[i], &like);
        /* A's cell gets its second side, or B's cell is appended */
        cell = find_cell(c, &like, &hint);
        /* there is room for all of both */
        if (!cell) {
            cell = &c->cells[c->n_cells++];
            *cell = like;
        }
        set_side(&b->cells[i], cell, 1);
    }
    /* after both sides are read */
    for (size_t i = 0; i < c->n_cells; i++)
        compare_medians(c, &c->cells[i]);
    return 0;
}

/* Returns true if both findings are of one kind, on one node, and about one
 * rank of the program. Findings without a rank are equal in that. */
static bool same_finding(const struct summary_finding *x,
                         const struct summary_finding *y)
{
    return !strcmp(x->kind, y->kind) && !strcmp(x->host, y->host) &&
           x->world_rank == y->world_rank;
}

/* Returns true if the finding is reliable even in an incomplete step. */
static bool is_certain(const struct summary_finding *finding)
{
    return !strcmp(finding->kind, "hang");
}

/* Collects the findings of one side that the other (NULL: a baseline, which has
 * none) does not have. all: also those that need complete data on both sides.
 * Returns 0, or -1 when out of memory. */
static int only_in(bool all, const struct summary_file *these,
                   const struct summary_file *others,
                   const struct summary_finding ***list, size_t *n)
{
    size_t size = at_most(these->n_findings, MAX_FINDINGS);
    size_t n_others = others ? at_most(others->n_findings, MAX_FINDINGS) : 0;

    *list = calloc(size + 1, sizeof(**list));
    if (!*list)
        return -1;
    for (size_t i = 0; i < size; i++) {
        const struct summary_finding *finding = &these->findings[i];
        /* a finding that needs complete data is treated as if the other side
         * had it */
        bool found = !all && !is_certain(finding);

        for (size_t k = 0; k < n_others && !found; k++)
            found = same_finding(finding, &others->findings[k]);
        if (!found)
            (*list)[(*n)++] = finding;
    }
    return 0;
}

static void compare_fini(struct compare *c)
{
    free(c->cells);
    free(c->fresh);
    free(c->gone);
    *c = (struct compare){0};
}

/* --- the answer ----------------------------------------------------------- */

/* Returns whether a change of time is more than the threshold, whichever of the
 * two is called A. */
static bool is_more(const struct compare *c, double change)
{
    return change > c->threshold || 1 / (1 + change) - 1 > c->threshold;
}

/* Reads the durations of a step of the program's loop. Returns false if one is
 * unknown or comes from samples, or if the loops differ. */
static bool read_steps(const struct compare *c, double us[2])
{
    uint64_t ops[2];

    for (int side = 0; side < 2; side++) {
        const struct summary_file *s = c->sides[side];

        us[side] = s->iteration.period_us;
        ops[side] = json_count_or(s->iteration.ops, 0);
        if (!(us[side] > 0) || strcmp(s->iteration.source, "collectives") != 0)
            return false;
    }
    return ops[0] && ops[0] == ops[1];
}

/* Whether a cell's means of both sides can be compared. */
static bool has_means(const struct compare_cell *cell)
{
    return (cell->course == COMPARE_SAME || cell->course == COMPARE_FASTER ||
            cell->course == COMPARE_SLOWER) &&
           cell->mean_us[0] > 0 && cell->mean_us[1] > 0;
}

/* Returns what a cell adds to the difference of B and A, in us: as often as in
 * A. */
static double cell_adds(const struct compare_cell *cell)
{
    return (double) cell->ops[0] * (cell->mean_us[1] - cell->mean_us[0]);
}

/* Sums up the operations that both have. Returns false if there are none. */
static bool sum_operations(const struct compare *c, double us[2])
{
    us[0] = us[1] = 0;
    for (size_t i = 0; i < c->n_cells; i++)
        for (int side = 0; has_means(&c->cells[i]) && side < 2; side++)
            us[side] += (double) c->cells[i].ops[0] * c->cells[i].mean_us[side];
    return us[0] > 0;
}

/* Finds the answer, if both sides are complete. */
static void find_answer(struct compare *c)
{
    struct compare_answer *a = &c->answer;
    double most = 0;

    if (c->incomplete[0] || c->incomplete[1])
        return;
    if (read_steps(c, a->us))
        a->basis = COMPARE_BY_STEP;
    else if (sum_operations(c, a->us))
        a->basis = COMPARE_BY_OPERATIONS;
    else
        return;
    a->change = a->us[1] / a->us[0] - 1;
    for (size_t i = 0; is_more(c, a->change) && i < c->n_cells; i++) {
        const struct compare_cell *cell = &c->cells[i];
        double adds = has_means(cell) ? cell_adds(cell) : 0;

        if (cell->course == COMPARE_SAME || (adds > 0) != (a->change > 0) ||
            fabs(adds) <= most)
            continue;
        most = fabs(adds);
        a->part = cell;
    }
}

/* Compares two reports. Returns 0, or -1 when out of memory; *c is then empty.
 */
static int compare_init(struct compare *c, const struct summary_file *a,
                        const struct summary_file *b, double threshold)
{
    bool all;

    *c = (struct compare){.sides = {a, b},
                          .threshold = threshold,
                          .incomplete = {is_incomplete(a), is_incomplete(b)}};
    all = !c->incomplete[0] && !c->incomplete[1];
    if (match_cells(c) == 0 &&
        only_in(all, b, a, &c->fresh, &c->n_fresh) == 0 &&
        only_in(all, a, b, &c->gone, &c->n_gone) == 0) {
        find_answer(c);
        return 0;
    }
    compare_fini(c);
    return -1;
}

/* Reads a row of the report's network into side B. Returns false if it is not a
 * valid row. */
static bool read_network(const struct summary_network *row,
                         struct jp_netkey *key, struct compare_cell *cell)
{
    struct jp_bwhist hist = {0};
    bool good = netkey_read_row(row->row, key, &hist, NULL) == 0;

    *cell = (struct compare_cell){.type = comm_type_name(key->type),
                                  .coll = row->coll,
                                  .time_us = {NAN, NAN},
                                  .busbw_gbs = {NAN, NAN},
                                  .change = NAN,
                                  .course = COMPARE_ONE_SIDED};
    cell->bytes = netcells_bytes(key->size);
    cell->ops[1] = hist.total;
    cell->busbw_gbs[1] = bwhist_quantile(&hist, 0.5);
    netkey_name(key, NETKEY_BRIEF, cell->kind);
    bwhist_fini(&hist);
    return good;
}

/* Compares a network cell with the baseline. Bandwidths are compared, and the
 * change is given as a change of time: half the bandwidth is twice the time. */
static void judge_network(struct compare *c, const struct jp_netkey *key,
                          struct compare_cell *cell)
{
    const struct jp_baseline_cell *usual = baseline_find(c->baseline, key);

    if (!usual)
        return;
    cell->ops[0] = usual->ops.total;
    cell->busbw_gbs[0] = bwhist_quantile(&usual->medians, 0.5);
    cell->course = COMPARE_FEW;
    if (cell->ops[0] < COMPARE_MIN_OPS || cell->ops[1] < COMPARE_MIN_OPS ||
        !(cell->busbw_gbs[0] > 0) || !(cell->busbw_gbs[1] > 0))
        return;
    cell->change = cell->busbw_gbs[0] / cell->busbw_gbs[1] - 1;
    set_course(c, cell);
}

/* Compares a report with a baseline. Returns 0, or -1 when out of memory. */
static int init_baseline(struct compare *c, const struct jp_baseline *baseline,
                         const struct summary_file *b, double threshold)
{
    size_t n = at_most(b->n_network, MAX_CELLS);

    *c = (struct compare){.sides = {NULL, b},
                          .baseline = baseline,
                          .threshold = threshold,
                          .incomplete = {false, is_incomplete(b)}};
    c->cells = calloc(n + 1, sizeof(*c->cells));
    for (size_t i = 0; c->cells && i < n; i++) {
        struct compare_cell *cell = &c->cells[c->n_cells];
        struct jp_netkey key;

        /* a damaged row is ignored; the cell is not overwritten until the next
         * one */
        if (!read_network(&b->network[i], &key, cell))
            continue;
        judge_network(c, &key, cell);
        c->n_cells++;
    }
    if (c->cells &&
        only_in(!c->incomplete[1], b, NULL, &c->fresh, &c->n_fresh) == 0)
        return 0;
    compare_fini(c);
    return -1;
}

/* Returns true if both sides have cells, but none in common. */
static bool has_nothing(const struct compare *c)
{
    for (size_t i = 0; i < c->n_cells; i++)
        if (c->cells[i].course != COMPARE_ONE_SIDED)
            return false;
    return c->n_cells > 0;
}

/* --- show what differs between two reports */

static const char *const courses[] = {[COMPARE_SAME] = "",
                                      [COMPARE_FASTER] = "faster",
                                      [COMPARE_SLOWER] = "SLOWER",
                                      [COMPARE_FEW] = "few",
                                      [COMPARE_INCOMPLETE] = "incomplete",
                                      [COMPARE_ONE_SIDED] = "only"};

/* Prints A or B: its path, and its verdict or the size of the baseline. */
static void put_side(const struct compare *c, const char *name, int side,
                     FILE *out)
{
    const struct summary_file *s = c->sides[side];
    char text[400], path[JP_CLEAN_MAX];

    clean_text(name, JP_CLEAN_ASCII, path, sizeof(path));
    quote_printf(out, "%c  %s\n   ", side ? 'B' : 'A', path);
    /* a baseline has no verdict */
    if (!s) {
        quote_printf(out, "baseline of %s earlier steps\n",
                     FIG_COUNT(c->baseline->n_reports));
        return;
    }
    clean_text(s->verdict.text, JP_CLEAN_ASCII, text, sizeof(text));
    quote_printf(out, "%s ", s->verdict.word);
    text_out_wrap(out, 12, 6, text);
}

/* Returns the word for a cell's row. A cell of one side names the side. */
static const char *course_text(const struct compare_cell *cell)
{
    return cell->course != COMPARE_ONE_SIDED ? courses[cell->course]
           : cell->ops[0]                    ? "only in A"
                                             : "only in B";
}

JP_GETTER(kind, compare_cell, value_text(v, at->kind))
JP_GETTER(bytes, compare_cell,
          value_known(v, at->bytes != JSON_UNKNOWN, at->bytes))
JP_GETTER(time_a, compare_cell, value_finite(v, at->time_us[0]))
JP_GETTER(time_b, compare_cell, value_finite(v, at->time_us[1]))
JP_GETTER(busbw_a, compare_cell, value_finite(v, at->busbw_gbs[0]))
JP_GETTER(busbw_b, compare_cell, value_finite(v, at->busbw_gbs[1]))
/* with a sign: "+12.3 %", "-4.0 %" */
JP_GETTER(change, compare_cell, {
    snprintf(v->buf, sizeof(v->buf), "%+.1f %%", 100 * at->change);
    value_text(v, isfinite(at->change) ? v->buf : NULL);
})
JP_GETTER(course, compare_cell, value_text(v, course_text(at)))

#define FIELD(member) JP_FIELD(struct compare_cell, member)
/* Columns of text: what both tables have. */
#define CELL_COLUMNS                                                           \
    {"coll",      JP_COL_TEXT, .text = 2, .brief = "function",                 \
     .width = 13, FIELD(coll)},                                                \
        {"bytes",         JP_COL_BYTES, .text = 3,                             \
         .brief = "size", .width = 8,   .get = get_bytes},                     \
        {"busbw_a",         JP_COL_GBS, .text = 6,                             \
         .brief = "GB/s A", .width = 8, .get = get_busbw_a},                   \
        {"busbw_b",    JP_COL_GBS, .text = 7,                                  \
         .brief = "B", .width = 8, .get = get_busbw_b},                        \
        {"change",        JP_COL_FIGURE, .text = 8,                            \
         .brief = "time", .width = 9,    .get = get_change},                   \
    {                                                                          \
        "course", JP_COL_WORD, .text = 9, .brief = "", .none = "",             \
                               .get = get_course                               \
    }
static const struct jp_column cell_columns[] = {
    {"type", JP_COL_TEXT, .text = 1, .brief = "type", .width = 11, FIELD(type)},
    {"time_a", JP_COL_US, .text = 4, .brief = "time A", .width = 8,
     .get = get_time_a},
    {"time_b", JP_COL_US, .text = 5, .brief = "B", .width = 8,
     .get = get_time_b},
    CELL_COLUMNS,
};
/* compared with a baseline, which has no times */
static const struct jp_column network_columns[] = {
    {"kind", JP_COL_TEXT, .text = 1, .brief = "network", .width = 29,
     .get = get_kind},
    CELL_COLUMNS,
};
#undef CELL_COLUMNS
#undef FIELD
static const struct jp_table cell_table = {
    .name = "cells",
    JP_COLUMNS(cell_columns),
    .row_size = sizeof(struct compare_cell),
    .max_text = SIZE_MAX};
static const struct jp_table network_table = {
    .name = "network",
    JP_COLUMNS(network_columns),
    .row_size = sizeof(struct compare_cell),
    .max_text = SIZE_MAX};

/* Prints findings, each with its sign and its kind. */
static void put_findings(const struct summary_finding *const *list, size_t n,
                         const char *sign, FILE *out)
{
    char text[400], kind[24];

    for (size_t i = 0; i < n; i++) {
        clean_text(list[i]->text, JP_CLEAN_ASCII, text, sizeof(text));
        quote_printf(
            out, "  %s %-15s ", sign,
            clean_text(list[i]->kind, JP_CLEAN_ASCII, kind, sizeof(kind)));
        text_out_wrap(out, 20, 20, text);
    }
}

/* Formats the answer as one sentence, "" if there is none. */
static void format_answer(const struct compare *c, char *buf, size_t size)
{
    const struct compare_answer *a = &c->answer;
    const struct compare_cell *part = a->part;
    bool step = a->basis == COMPARE_BY_STEP;
    char coll[16], type[16];
    size_t n;

    *buf = '\0';
    if (a->basis == COMPARE_BY_NOTHING)
        return;
    if (is_more(c, a->change))
        n = (size_t) snprintf(
            buf, size, "B is %s %s: %s%s -> %s %s", FIG_SHARE(fabs(a->change)),
            a->change > 0 ? "slower" : "faster",
            step ? "" : "the operations that both have take ", FIG_US(a->us[0]),
            FIG_US(a->us[1]), step ? "a step" : "in all");
    else
        n = (size_t) snprintf(
            buf, size, "B takes as long as A, within %s: %s%s -> %s %s",
            FIG_SHARE(c->threshold),
            step ? "" : "the operations that both have take ", FIG_US(a->us[0]),
            FIG_US(a->us[1]), step ? "a step" : "in all");
    if (part)
        snprintf(buf + n, size - n,
                 "; of the collectives, %s of %s in %s communicators changed "
                 "most, from %s to %s",
                 clean_text(part->coll, JP_CLEAN_ASCII, coll, sizeof(coll)),
                 FIG_BYTES(part->bytes),
                 clean_text(part->type, JP_CLEAN_ASCII, type, sizeof(type)),
                 FIG_US(part->mean_us[0]), FIG_US(part->mean_us[1]));
}

/* Prints the comparison for a terminal: the answer, both sides, the cells, the
 * findings, the counts. */
static int print_text(const struct compare *c, const char *const names[2],
                      FILE *out, struct jp_error *err)
{
    const struct table_source cells = {.rows = c->cells, .n = c->n_cells};
    char answer[400];

    errno = 0;
    format_answer(c, answer, sizeof(answer));
    if (*answer) {
        text_out_wrap(out, 0, 0, answer);
        fputc('\n', out);
    }
    for (int side = 0; side < 2; side++)
        put_side(c, names[side], side, out);
    if (table_write_text(c->baseline ? &network_table : &cell_table, &cells,
                         out) < 0)
        return error_set(err, "out of memory");
    if (c->n_fresh || c->n_gone)
        fputs("\nFindings: + new in B, - gone\n", out);
    put_findings(c->fresh, c->n_fresh, "+", out);
    put_findings(c->gone, c->n_gone, "-", out);
    /* explain why no cell is called slower or faster */
    if (c->incomplete[0] || c->incomplete[1])
        quote_printf(
            out,
            "\nINCOMPLETE: %s records are missing, so nothing is called "
            "slower or faster\n",
            !c->incomplete[1]   ? "A's"
            : !c->incomplete[0] ? "B's"
                                : "both sides'");
    quote_printf(out,
                 "\nOf %s row%s, %s slower by more than %s, %s faster; %s "
                 "finding%s new, %s gone\n",
                 FIG_COUNT(c->n_cells), plural(c->n_cells),
                 FIG_COUNT(c->slower), FIG_SHARE(c->threshold),
                 FIG_COUNT(c->faster), FIG_COUNT(c->n_fresh),
                 plural(c->n_fresh), FIG_COUNT(c->n_gone));
    if (has_nothing(c))
        fputs("Nothing could be compared: no function and size is in both\n",
              out);
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}

/* Returns [A, B]; null for an unknown figure. */
static json_t *make_pair(struct jp_json *j, const double v[2])
{
    json_t *array = json_out_array(j);

    for (int side = 0; side < 2; side++)
        json_out_append(j, array,
                        isfinite(v[side]) ? json_real(v[side]) : json_null());
    return array;
}

/* Returns a cell as an object. */
static json_t *cell_row(struct jp_json *j, const struct compare_cell *cell)
{
    static const char *const words[] = {[COMPARE_SAME] = "same",
                                        [COMPARE_FASTER] = "faster",
                                        [COMPARE_SLOWER] = "slower",
                                        [COMPARE_FEW] = "few",
                                        [COMPARE_INCOMPLETE] = "incomplete",
                                        [COMPARE_ONE_SIDED] = "one_sided"};
    const double ops[2] = {(double) cell->ops[0], (double) cell->ops[1]};
    json_t *row = json_out_object(j);

    json_out_text(j, row, "comm_type", cell->type);
    if (*cell->kind)
        json_out_text(j, row, "network", cell->kind);
    json_out_text(j, row, "coll", cell->coll);
    json_out_put(j, row, "msg_size_bytes",
                 cell->bytes == JSON_UNKNOWN
                     ? json_null()
                     : json_integer((json_int_t) cell->bytes));
    json_out_put(j, row, "ops", make_pair(j, ops));
    json_out_put(j, row, "exec_us", make_pair(j, cell->time_us));
    json_out_put(j, row, "busbw_gbs", make_pair(j, cell->busbw_gbs));
    json_out_real(j, row, "change", cell->change);
    json_out_text(j, row, "course", words[cell->course]);
    return row;
}

/* Adds findings under a key, as they are in their summary. */
static void put_copies(struct jp_json *j, json_t *root, const char *key,
                       const struct summary_finding *const *list, size_t n)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < n; i++)
        json_out_append(j, array, json_deep_copy(list[i]->row));
    json_out_put(j, root, key, array);
}

/* Adds the answer; null if there is none. */
static void put_answer(struct jp_json *j, json_t *root, const struct compare *c)
{
    static const char *const words[] = {
        [COMPARE_BY_STEP] = "step", [COMPARE_BY_OPERATIONS] = "operations"};
    const struct compare_answer *a = &c->answer;
    json_t *one = json_out_object(j);
    char text[400];

    if (a->basis == COMPARE_BY_NOTHING) {
        json_decref(one);
        json_out_put(j, root, "answer", json_null());
        return;
    }
    format_answer(c, text, sizeof(text));
    json_out_text(j, one, "basis", words[a->basis]);
    json_out_put(j, one, "us", make_pair(j, a->us));
    json_out_real(j, one, "change", a->change);
    json_out_put(j, one, "largest",
                 a->part ? cell_row(j, a->part) : json_null());
    json_out_text(j, one, "text", text);
    json_out_put(j, root, "answer", one);
}

/* Prints the same as JSON. */
static int print_json(const struct compare *c, const char *const names[2],
                      FILE *out, struct jp_error *err)
{
    struct jp_json j = {0};
    json_t *root = json_out_object(&j), *cells = json_out_array(&j);

    json_out_count(&j, root, "schema_version", 1);
    json_out_real(&j, root, "threshold", c->threshold);
    put_answer(&j, root, c);
    for (int side = 0; side < 2; side++) {
        json_t *one = json_out_object(&j);

        json_out_text(&j, one, "dir", names[side]);
        /* a baseline has no verdict's word */
        if (c->sides[side])
            json_out_text(&j, one, "word", c->sides[side]->verdict.word);
        else
            json_out_count(&j, one, "baseline_reports", c->baseline->n_reports);
        json_out_put(&j, one, "incomplete", json_boolean(c->incomplete[side]));
        json_out_put(&j, root, side ? "b" : "a", one);
    }
    for (size_t i = 0; i < c->n_cells; i++)
        json_out_append(&j, cells, cell_row(&j, &c->cells[i]));
    json_out_put(&j, root, "cells", cells);
    json_out_count(&j, root, "slower", c->slower);
    json_out_count(&j, root, "faster", c->faster);
    put_copies(&j, root, "new", c->fresh, c->n_fresh);
    put_copies(&j, root, "gone", c->gone, c->n_gone);
    return json_out_dump(&j, root, out, err);
}

int compare_print(const struct jp_comparison *what, FILE *out,
                  struct jp_compared *done, struct jp_error *err)
{
    struct compare c;
    int rc = what->baseline
                 ? init_baseline(&c, what->baseline, what->b, what->threshold)
                 : compare_init(&c, what->a, what->b, what->threshold);

    if (rc < 0)
        return error_set(err, "out of memory");
    *done = (struct jp_compared){
        .slower = c.slower,
        .faster = c.faster,
        .n_fresh = c.n_fresh,
        .n_gone = c.n_gone,
        .incomplete = c.incomplete[0] || c.incomplete[1],
        .slower_answer = c.answer.basis != COMPARE_BY_NOTHING &&
                         c.answer.change > c.threshold,
        .has_nothing = has_nothing(&c)};
    rc = (what->json ? print_json : print_text)(&c, what->names, out, err);
    compare_fini(&c);
    return rc;
}
