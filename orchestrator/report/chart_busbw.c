/* chart_busbw.c - figures: cells by message size. */
#include "orchestrator/report/chart_data.h"

#include <math.h>
#include <string.h>

#define MAX_CELLS 400
#define MAX_COLLS 12 /* functions told apart; the rest is "other" */

static void put_point(struct jp_chart_json *json, const struct jp_cell *c)
{
    chart_json_count(json, c->bytes);
    chart_json_count(json, c->ops);
    chart_json_real(json, c->busbw.p5);
    chart_json_real(json, c->busbw.p50);
    chart_json_real(json, c->busbw.p95);
    if (c->net_busbw.n)
        chart_json_real(json, c->net_busbw.p50);
    else
        chart_json_null(json);
}

/* Cells are sorted by type and function, so those of a line follow each
 * other. */
static void put_lines(const struct jp_result *r, const struct jp_rows *rows,
                      struct jp_chart_json *json)
{
    const struct jp_cell *before = NULL;

    for (size_t i = 0; i < rows->n; i++) {
        const struct jp_cell *c = &r->cells[rows->index[i]];

        if (!(c->busbw.max > 0)) /* a single rank has none */
            continue;
        if (!before || c->type != before->type ||
            strcmp(c->coll, before->coll)) {
            if (before) {
                chart_json_end(json, ']');
                chart_json_end(json, '}');
            }
            chart_json_begin(json, '{');
            chart_json_put_text(json, "type", comm_type_name(c->type));
            chart_json_put_text(json, "coll", c->coll);
            chart_json_key(json, "points");
            chart_json_begin(json, '[');
        }
        put_point(json, c);
        before = c;
    }
    if (before) {
        chart_json_end(json, ']');
        chart_json_end(json, '}');
    }
}

static int put_busbw(const struct jp_chart_view *view, void *state,
                     struct jp_chart_json *json)
{
    const struct jp_result *r = view->result;
    struct jp_rows rows;

    if (rows_pick(r, r->n_cells, MAX_CELLS, rows_cell_busbw, false, &rows) < 0)
        return -1;
    chart_json_begin(json, '{');
    chart_json_key(json, "series");
    chart_json_begin(json, '[');
    put_lines(r, &rows, json);
    chart_json_end(json, ']');
    chart_json_end(json, '}');
    rows_fini(&rows);
    return 0;
}

const struct jp_chart chart_busbw = {.name = "busbw-size", .put = put_busbw};

/* Operations of one function whose size is in [2^exponent, 2^(exponent+1)). */
struct bin {
    uint64_t ops;
    double bytes, us;
};

struct bins {
    const char *colls[MAX_COLLS];
    size_t n_colls;
    struct bin list[64][MAX_COLLS + 1]; /* the last column: other functions */
};

static size_t coll_place(struct bins *b, const char *coll)
{
    for (size_t i = 0; i < b->n_colls; i++)
        if (!strcmp(b->colls[i], coll))
            return i;
    if (b->n_colls == MAX_COLLS)
        return MAX_COLLS;
    b->colls[b->n_colls] = coll;
    return b->n_colls++;
}

static void add_cell(struct bins *b, const struct jp_cell *c)
{
    unsigned exponent = c->bytes ? 63 - (unsigned) __builtin_clzll(c->bytes)
                                 : 0;
    struct bin *bin = &b->list[exponent][coll_place(b, c->coll)];

    bin->ops += c->ops;
    bin->bytes += (double) c->bytes * (double) c->ops;
    if (c->exec.n)
        bin->us += c->exec.mean * (double) c->exec.n;
}

static void put_bins(const struct bins *b, struct jp_chart_json *json)
{
    for (size_t e = 0; e < 64; e++)
        for (size_t k = 0; k <= MAX_COLLS; k++) {
            const struct bin *bin = &b->list[e][k];

            if (!bin->ops)
                continue;
            chart_json_count(json, e);
            chart_json_count(json, k == MAX_COLLS ? b->n_colls : k);
            chart_json_count(json, bin->ops);
            chart_json_real(json, bin->bytes);
            chart_json_real(json, bin->us);
        }
}

static int put_sizes(const struct jp_chart_view *view, void *state,
                     struct jp_chart_json *json)
{
    struct bins b = {.n_colls = 0};

    for (size_t i = 0; i < view->result->n_cells; i++)
        add_cell(&b, &view->result->cells[i]);
    chart_json_begin(json, '{');
    chart_json_key(json, "colls");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < b.n_colls; i++)
        chart_json_text(json, b.colls[i]);
    if (b.n_colls == MAX_COLLS)
        chart_json_text(json, "other");
    chart_json_end(json, ']');
    chart_json_key(json, "rows");
    chart_json_begin(json, '[');
    put_bins(&b, json);
    chart_json_end(json, ']');
    chart_json_end(json, '}');
    return 0;
}

const struct jp_chart chart_sizes = {.name = "sizes", .put = put_sizes};
