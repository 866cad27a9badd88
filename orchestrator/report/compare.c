/* compare.c - match the cells and findings of two summaries. */
#include "orchestrator/report/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/report/netkey_json.h"
#include "orchestrator/report/summary_file.h"

/* A report has no more (docs/summary.schema.json); another file may. */
#define MAX_CELLS 5000
#define MAX_FINDINGS 200

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

static void read_cell(const json_t *row, struct compare_cell *cell)
{
    *cell = (struct compare_cell){.type = summary_file_text(row, "comm_type"),
                                  .coll = summary_file_text(row, "coll"),
                                  .time_us = {NAN, NAN},
                                  .busbw_gbs = {NAN, NAN},
                                  .change = NAN,
                                  .course = COMPARE_ONE_SIDED};
    summary_file_count(row, "msg_size_bytes", &cell->bytes);
}

static void read_side(const json_t *row, struct compare_cell *cell, int side)
{
    summary_file_count(row, "ops", &cell->ops[side]);
    cell->time_us[side] =
        summary_file_real(json_object_get(row, "exec_us"), "p50");
    cell->busbw_gbs[side] =
        summary_file_real(json_object_get(row, "busbw_gbs"), "p50");
}

static struct compare_cell *
find_cell(struct jp_compare *c, const struct compare_cell *like, size_t *hint)
{
    /* both are sorted alike: the next one is most often it */
    for (size_t i = 0; i < c->n_cells; i++) {
        struct compare_cell *cell = &c->cells[(*hint + i) % c->n_cells];

        if (cell->bytes == like->bytes && !strcmp(cell->type, like->type) &&
            !strcmp(cell->coll, like->coll)) {
            *hint = (size_t) (cell - c->cells) + 1;
            return cell;
        }
    }
    return NULL;
}

/* Is one of a step's records missing, as far as it tells? */
static bool is_incomplete(const json_t *root)
{
    const json_t *quality = json_object_get(root, "quality");
    const json_t *verdict = json_object_get(root, "verdict");
    const char *word = summary_file_text(verdict, "word");
    double coverage = summary_file_real(quality, "coverage");

    return !strcmp(word, "INCOMPLETE") || !strcmp(word, "NODATA") ||
           coverage < limits_table[JP_LIMIT_COVERAGE].value;
}

static void set_course(struct jp_compare *c, struct compare_cell *cell)
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

static void judge(struct jp_compare *c, struct compare_cell *cell)
{
    if (!cell->ops[0] || !cell->ops[1])
        return;
    cell->course = COMPARE_FEW;
    if (cell->ops[0] < COMPARE_MIN_OPS || cell->ops[1] < COMPARE_MIN_OPS ||
        !(cell->time_us[0] > 0) || !(cell->time_us[1] > 0))
        return;
    cell->change = cell->time_us[1] / cell->time_us[0] - 1;
    set_course(c, cell);
}

static int match_cells(struct jp_compare *c)
{
    const json_t *a = json_object_get(c->roots[0], "cells");
    const json_t *b = json_object_get(c->roots[1], "cells");
    size_t n = at_most(json_array_size(a), MAX_CELLS);
    size_t m = at_most(json_array_size(b), MAX_CELLS), hint = 0;

    c->cells = calloc(n + m + 1, sizeof(*c->cells));
    if (!c->cells)
        return -1;
    for (size_t i = 0; i < n; i++, c->n_cells++) {
        read_cell(json_array_get(a, i), &c->cells[i]);
        read_side(json_array_get(a, i), &c->cells[i], 0);
    }
    for (size_t i = 0; i < m; i++) {
        struct compare_cell like, *cell;

        read_cell(json_array_get(b, i), &like);
        cell = find_cell(c, &like, &hint);
        if (!cell) {
            cell = &c->cells[c->n_cells++];
            *cell = like;
        }
        read_side(json_array_get(b, i), cell, 1);
    }
    for (size_t i = 0; i < c->n_cells; i++)
        judge(c, &c->cells[i]);
    return 0;
}

static bool same_finding(const json_t *x, const json_t *y)
{
    static const char *const keys[] = {"kind", "host"};
    uint64_t a = UINT64_MAX, b = UINT64_MAX;

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strcmp(summary_file_text(x, keys[i]),
                   summary_file_text(y, keys[i])))
            return false;
    summary_file_count(x, "world_rank", &a);
    summary_file_count(y, "world_rank", &b);
    return a == b;
}

/* Does an incomplete step tell it all the same? */
static bool is_certain(const json_t *finding)
{
    return !strcmp(summary_file_text(finding, "kind"), "hang");
}

/* Findings of one side that the other does not have; all: also those that need
 * complete data on both sides. */
static int only_in(bool all, const json_t *these, const json_t *others,
                   const json_t ***list, size_t *n)
{
    size_t size = at_most(json_array_size(these), MAX_FINDINGS);
    size_t n_others = at_most(json_array_size(others), MAX_FINDINGS);

    *list = calloc(size + 1, sizeof(**list));
    if (!*list)
        return -1;
    for (size_t i = 0; i < size; i++) {
        const json_t *finding = json_array_get(these, i);
        bool found = !all && !is_certain(finding);

        for (size_t k = 0; k < n_others && !found; k++)
            found = same_finding(finding, json_array_get(others, k));
        if (!found)
            (*list)[(*n)++] = finding;
    }
    return 0;
}

int compare_init(struct jp_compare *c, const json_t *a, const json_t *b,
                 double threshold)
{
    const json_t *old = json_object_get(a, "findings");
    const json_t *new = json_object_get(b, "findings");
    bool all;

    *c =
        (struct jp_compare){.roots = {a, b},
                            .threshold = threshold,
                            .incomplete = {is_incomplete(a), is_incomplete(b)}};
    all = !c->incomplete[0] && !c->incomplete[1];
    if (match_cells(c) == 0 &&
        only_in(all, new, old, &c->fresh, &c->n_fresh) == 0 &&
        only_in(all, old, new, &c->gone, &c->n_gone) == 0)
        return 0;
    compare_fini(c);
    return -1;
}

/* A row of the report's network; false: it is none. */
static bool read_network(const json_t *row, struct jp_netkey *key,
                         struct compare_cell *cell)
{
    struct jp_bwhist hist = {0};
    bool good = netkey_read(row, key, NULL) == 0 &&
                netkey_read_hist(row, "histogram", &hist, NULL) == 0;

    *cell = (struct compare_cell){.type = comm_type_name(key->type),
                                  .coll = summary_file_text(row, "coll"),
                                  .time_us = {NAN, NAN},
                                  .busbw_gbs = {NAN, NAN},
                                  .change = NAN,
                                  .course = COMPARE_ONE_SIDED};
    cell->bytes = netcells_bytes(key->size);
    cell->ops[1] = hist.total;
    cell->busbw_gbs[1] = bwhist_quantile(&hist, 0.5);
    netnames_kind(key, cell->kind);
    bwhist_fini(&hist);
    return good;
}

static void judge_network(struct jp_compare *c, const struct jp_netkey *key,
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

int compare_init_baseline(struct jp_compare *c,
                          const struct jp_baseline *baseline, const json_t *b,
                          double threshold)
{
    const json_t *rows = json_object_get(b, "network");
    const json_t *new = json_object_get(b, "findings");
    size_t n = at_most(json_array_size(rows), MAX_CELLS);

    *c = (struct jp_compare){.roots = {NULL, b},
                             .baseline = baseline,
                             .threshold = threshold,
                             .incomplete = {false, is_incomplete(b)}};
    c->cells = calloc(n + 1, sizeof(*c->cells));
    for (size_t i = 0; c->cells && i < n; i++) {
        struct compare_cell *cell = &c->cells[c->n_cells];
        struct jp_netkey key;

        if (!read_network(json_array_get(rows, i), &key, cell))
            continue;
        judge_network(c, &key, cell);
        c->n_cells++;
    }
    if (c->cells &&
        only_in(!c->incomplete[1], new, NULL, &c->fresh, &c->n_fresh) == 0)
        return 0;
    compare_fini(c);
    return -1;
}

bool compare_has_nothing(const struct jp_compare *c)
{
    for (size_t i = 0; i < c->n_cells; i++)
        if (c->cells[i].course != COMPARE_ONE_SIDED)
            return false;
    return c->n_cells > 0;
}

void compare_fini(struct jp_compare *c)
{
    free(c->cells);
    free(c->fresh);
    free(c->gone);
    *c = (struct jp_compare){0};
}
