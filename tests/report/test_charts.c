/* test_charts.c - the figures of the charts, compared with sums that the test
 * computes itself. */
#include "orchestrator/report/chart.h"
#include "orchestrator/util/util_feature.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/identity/processes.h"
#include "tests/report/fixture.h"

static struct fixture *f;

static int set_up(void **state)
{
    (void) state;
    f = calloc(1, sizeof(*f));
    return f ? 0 : -1;
}

static int tear_down(void **state)
{
    (void) state;
    fixture_fini(f);
    free(f);
    return 0;
}

/* Gives the report samples over time. */
static void lend_samples(const struct samples *samples)
{
    static struct feature_set features;
    static struct util_data data;

    data = (struct util_data){.samples = *samples};
    features = (struct feature_set){.data = {NULL}};
    feature_lend(&features, &feature_util, &data);
    f->report.features = &features;
}

/* Returns the JSON as text; the caller frees it. */
static char *text_of_charts(const struct jp_result *result)
{
    char *text = NULL;
    size_t len = 0;
    struct jp_processes processes = {0};
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    if (result)
        assert_int_equal(processes_init_nodes(&processes, result, NULL), 0);
    assert_int_equal(chart_data_write(result, &processes, f->report.insight,
                                      f->report.features, out),
                     0);
    processes_fini(&processes);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Returns all charts, parsed; the caller drops the reference. */
static json_t *charts_of(const struct jp_result *result)
{
    char *text = text_of_charts(result);
    json_error_t error;
    json_t *root;

    assert_null(strpbrk(text, "<>&"));
    root = json_loads(text, 0, &error);
    if (!root)
        fail_msg("%s near %.80s", error.text, text + error.position);
    free(text);
    return root;
}

static double number_at(const json_t *array, size_t i)
{
    return json_number_value(json_array_get(array, i));
}

/* Returns the sum of every size-th number, starting at first. */
static double sum_of(const json_t *array, size_t first, size_t size)
{
    double sum = 0;

    for (size_t i = first; i < json_array_size(array); i += size)
        sum += number_at(array, i);
    return sum;
}

/* Packs the first n operations again, changed. */
static void change_ops(size_t n, void (*change)(struct jp_op *op, size_t i))
{
    struct jp_result *r = &f->result;
    struct ops_reader reader = {.ops = r->ops};
    struct jp_ops *ops = ops_create();

    assert_non_null(ops);
    for (size_t i = 0; i < n; i++) {
        struct jp_op op = *ops_at(&reader, i);

        change(&op, i);
        assert_int_equal(ops_add(ops, &op), 0);
    }
    assert_int_equal(ops_end(ops), 0);
    ops_destroy(r->ops);
    r->ops = ops;
    r->n_ops = n;
}

static void is_json_whatever_there_is(void **state)
{
    (void) state;
    json_decref(charts_of(NULL));
    fixture_hostile(f);
    json_decref(charts_of(&f->result));
    fixture_fini(f);
    fixture_many(f, 3000);
    json_decref(charts_of(&f->result));
    fixture_fini(f);
    fixture_incomplete(f);
    json_decref(charts_of(&f->result));
}

static void keeps_to_its_bounds(void **state)
{
    char *text;

    (void) state;
    fixture_many(f, 5000);
    text = text_of_charts(&f->result);
    assert_true(strlen(text) < 300000);
    free(text);
}

/* A process has three ranks; its rank in the job is the one in the communicator
 * of all. */
static void finds_processes(void **state)
{
    const struct jp_processes *procs = &f->processes;
    uint32_t *worst;
    size_t n;

    (void) state;
    fixture_good(f);
    assert_int_equal(procs->n, 32);
    assert_int_equal(procs->n_hosts, 4);
    worst = processes_heaviest(procs, 1, &n);
    assert_non_null(worst);
    assert_int_equal(n, 1);
    assert_string_equal(procs->list[*worst].host, "gpu-node-0311");
    assert_int_equal(procs->list[*worst].pid, 4003);
    assert_int_equal(procs->list[*worst].world_rank, 13);
    assert_int_equal(procs->hosts[1].n_processes, 8);
    free(worst);
}

static void lose_a_rank(struct jp_op *op, size_t i)
{
    (void) i;
    op->n--;
}

static void give_two_sizes(struct jp_op *op, size_t i)
{
    op->sn = i % 432 / 2;
    op->bytes += i % 2;
}

static size_t count_waits(void)
{
    json_t *root = charts_of(&f->result);
    size_t n = json_array_size(json_object_get(
        json_object_get(json_object_get(root, "waits-time"), "ranks"),
        "cells"));

    json_decref(root);
    return n;
}

/* Each wait is counted once in the map of ranks and once in that of nodes. */
static void adds_up_waits(void **state)
{
    struct ops_reader reader = {.ops = NULL};
    double expected = 0;
    json_t *root, *map;

    (void) state;
    fixture_good(f);
    reader.ops = f->result.ops;
    for (size_t i = 0; i < f->result.n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);

        if (op->min_rank != UINT32_MAX)
            expected += 20.0 * op->n; /* (420 - 400) us a rank */
    }
    root = charts_of(&f->result);
    map = json_object_get(root, "waits-time");
    assert_true(sum_of(json_object_get(json_object_get(map, "ranks"), "cells"),
                       2, 3) == expected);
    assert_true(sum_of(json_object_get(json_object_get(map, "nodes"), "cells"),
                       2, 3) == expected);
    json_decref(root);
    /* an operation without a rank, or with a second size, blames no rank */
    change_ops(f->result.n_ops, lose_a_rank);
    assert_int_equal(count_waits(), 0);
    fixture_fini(f);
    fixture_good(f);
    assert_true(count_waits() > 0);
    change_ops(f->result.n_ops, give_two_sizes);
    assert_int_equal(count_waits(), 0);
}

#define SLOW 6 /* DP2 */

static void slow_the_end(struct jp_op *op, size_t i)
{
    (void) i;
    op->dump_min_us = 1000000 + op->sn * 1000;
    op->dump_max_us = op->dump_min_us;
    if (op->comm == SLOW && op->sn >= 324)
        op->busbw_max_micro /= 2;
}

/* One communicator is half as fast in the last quarter of its 432 operations.
 * Slices have 4.32 ms, so the 76th starts with operation 324. */
static void shows_drift(void **state)
{
    struct jp_result *r = &f->result;
    json_t *root, *drift, *cells, *rows;
    size_t n_slow = 0;

    (void) state;
    fixture_good(f);
    change_ops(r->n_ops, slow_the_end);
    r->n_windows = 1;
    r->windows[0].t0_us = 1000000;
    r->windows[0].t1_us = 1432000;
    root = charts_of(r);
    drift = json_object_get(root, "drift");
    rows = json_object_get(drift, "rows");
    cells = json_object_get(drift, "cells");
    for (size_t i = 0; i < json_array_size(cells); i += 3) {
        json_t *row = json_array_get(rows, (size_t) number_at(cells, i));
        const char *id = json_string_value(json_object_get(row, "id"));
        bool is_slow = !strcmp(id, r->comms[SLOW].id) &&
                       number_at(cells, i + 1) >= 75;

        assert_true(number_at(cells, i + 2) == (is_slow ? -50 : 0));
        n_slow += is_slow;
    }
    assert_int_equal(n_slow, 25);
    json_decref(root);
}

/* Returns how many rows of a bar chart are marked. */
static unsigned count_named(const char *chart)
{
    json_t *root = charts_of(&f->result);
    json_t *rows = json_object_get(json_object_get(root, chart), "rows");
    unsigned n = 0;

    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);

        assert_int_equal(json_array_size(row), 6);
        n += number_at(row, 5) == 1;
    }
    json_decref(root);
    return n;
}

/* The rank or node that a finding names is marked. */
static void marks_who_is_named(void **state)
{
    struct jp_finding *rank, *node;

    (void) state;
    fixture_slow(f);
    rank = &f->insight.findings.at[0];
    node = &f->insight.findings.at[1];
    rank->pid = -1;
    assert_int_equal(count_named("waits"), 0);
    rank->pid = f->result.ranks[0].pid;
    snprintf(rank->host, sizeof(rank->host), "%s", f->result.ranks[0].host);
    assert_int_equal(count_named("waits"), 1);
    assert_int_equal(count_named("nodes"), 0);
    memcpy(node->host, rank->host, sizeof(node->host));
    assert_int_equal(count_named("waits"), 8);
    assert_int_equal(count_named("nodes"), 1);
}

/* A log is written ten times in a run: there are ten slices, and none is empty.
 */
static void cuts_where_records_are(void **state)
{
    static const struct {
        uint64_t every;
        size_t n;
        int slices;
    } cases[] = {{20, 10, 10}, {2, 100, 100}, {1, 200, 100}, {199, 1, 100}};
    struct jp_window windows[200];
    struct jp_result r;

    (void) state;
    fixture_good(f);
    r = f->result;
    r.windows = windows;
    memset(windows, 0, sizeof(windows));
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct jp_chart_view view;

        r.n_windows = cases[i].n;
        for (size_t k = 0; k < r.n_windows; k++) {
            r.windows[k].t0_us = 1000000 + k * cases[i].every * 1000;
            r.windows[k].t1_us = r.windows[k].t0_us + 1000;
        }
        assert_int_equal(chart_view_make(&r, &f->processes, &view), 0);
        assert_int_equal(view.slices, cases[i].slices);
        chart_view_fini(&view);
    }
}

static void raise_busbw(struct jp_op *op, size_t i)
{
    op->comm = SLOW;
    op->busbw_sum_micro = (i + 1) * 1000000 * op->n_busbw;
}

/* A cell with bandwidths of 1 to 201 GB/s. */
static void shows_the_spread(void **state)
{
    struct jp_result *r = &f->result;
    json_t *root, *cell, *hist;
    uint64_t n = 0;

    (void) state;
    fixture_good(f);
    change_ops(201, raise_busbw);
    root = charts_of(r);
    cell = json_array_get(
        json_object_get(json_object_get(root, "spread"), "cells"), 0);
    assert_int_equal(json_array_size(json_object_get(
                         json_object_get(root, "spread"), "cells")),
                     1);
    assert_int_equal(json_integer_value(json_object_get(cell, "n")), 201);
    for (size_t i = 0; i < 7; i++) {
        static const double box[] = {1, 11, 51, 101, 151, 191, 201};

        assert_true(number_at(json_object_get(cell, "box"), i) == box[i]);
    }
    for (size_t i = 0; i <= 100; i++)
        assert_true(number_at(json_object_get(cell, "ecdf"), i) ==
                    1 + 2 * (double) i);
    hist = json_object_get(cell, "hist");
    assert_true(json_number_value(json_object_get(hist, "from")) == 1);
    assert_true(json_number_value(json_object_get(hist, "width")) == 5);
    assert_int_equal(json_array_size(json_object_get(hist, "counts")), 40);
    for (size_t i = 0; i < 40; i++)
        n += (uint64_t) number_at(json_object_get(hist, "counts"), i);
    assert_int_equal(n, 201);
    json_decref(root);
}

/* One slow operation among many is the least value, also if it is not in the
 * sample. */
static void samples_what_is_large(void **state)
{
    enum { OPS = 400000 };
    struct jp_ops *ops = ops_create();
    struct jp_op op = {.comm = SLOW, .coll = 1, .bytes = 64 << 20};
    json_t *root, *cell;

    (void) state;
    fixture_good(f);
    assert_non_null(ops);
    op.n = op.n_busbw = op.n_exec = 4;
    for (size_t i = 0; i < OPS; i++) {
        op.sn = i;
        op.busbw_sum_micro = 4000000 * (i == 399000 ? 1 : 10 + i % 2 * 10);
        assert_int_equal(ops_add(ops, &op), 0);
    }
    assert_int_equal(ops_end(ops), 0);
    ops_destroy(f->result.ops);
    f->result.ops = ops;
    f->result.n_ops = OPS;
    root = charts_of(&f->result);
    cell = json_array_get(
        json_object_get(json_object_get(root, "spread"), "cells"), 0);
    assert_int_equal(json_integer_value(json_object_get(cell, "n")), OPS);
    assert_int_equal(json_integer_value(json_object_get(cell, "sample")),
                     131072);
    assert_true(number_at(json_object_get(cell, "box"), 0) == 1);
    assert_true(number_at(json_object_get(cell, "box"), 6) == 20);
    assert_true(fabs(json_number_value(json_object_get(cell, "mean")) - 15) <
                0.05);
    json_decref(root);
}

/* Returns the points of n operations of one kind, one of them slow and one
 * fast. */
static json_t *dots_of(size_t n, size_t slow, size_t fast)
{
    struct jp_ops *ops = ops_create();
    struct jp_op op = {.comm = SLOW, .coll = 1, .bytes = 64 << 20};
    json_t *root, *series;

    assert_non_null(ops);
    op.n = op.n_busbw = op.n_exec = 4;
    op.exec_sum_us = 4000;
    for (size_t i = 0; i < n; i++) {
        op.sn = i;
        op.busbw_sum_micro = 4000000 * (i == slow   ? 1
                                        : i == fast ? 99
                                                    : 10 + i % 2 * 10);
        assert_int_equal(ops_add(ops, &op), 0);
    }
    assert_int_equal(ops_end(ops), 0);
    ops_destroy(f->result.ops);
    f->result.ops = ops;
    f->result.n_ops = n;
    root = charts_of(&f->result);
    series = json_object_get(json_object_get(root, "numbers"), "series");
    assert_int_equal(json_array_size(series), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_array_get(series, 0), "n")), n);
    return root;
}

static json_t *points_of(json_t *root)
{
    return json_object_get(
        json_array_get(
            json_object_get(json_object_get(root, "numbers"), "series"), 0),
        "points");
}

/* There is a point per operation, by sequence number. Many points are thinned
 * evenly, but the slowest and the fastest stay. */
static void thins_the_dots(void **state)
{
    enum { MANY = 1 << 17, DOTS = 512, TENTHS = 10 };
    json_t *root, *points;
    size_t n, tenths[TENTHS] = {0}, slow = 0, fast = 0, odd = 0;

    (void) state;
    fixture_good(f);
    root = dots_of(DOTS, 7, 300);
    points = points_of(root);
    assert_int_equal(json_array_size(points), 3 * DOTS);
    for (size_t i = 0; i < DOTS; i++) {
        assert_true(number_at(points, 3 * i) == (double) i);
        assert_true(number_at(points, 3 * i + 2) == 1000);
    }
    assert_true(number_at(points, 3 * 7 + 1) == 1);
    json_decref(root);
    root = dots_of(MANY, 99000, 3);
    points = points_of(root);
    n = json_array_size(points) / 3;
    assert_in_range(n, DOTS, DOTS + 2);
    for (size_t i = 0; i < n; i++) {
        double sn = number_at(points, 3 * i);

        assert_true(!i || sn > number_at(points, 3 * i - 3));
        tenths[(size_t) (sn * TENTHS / MANY)]++;
        odd += (size_t) sn % 2;
        slow += sn == 99000 && number_at(points, 3 * i + 1) == 1;
        fast += sn == 3 && number_at(points, 3 * i + 1) == 99;
    }
    assert_int_equal(slow, 1);
    assert_int_equal(fast, 1);
    for (size_t i = 0; i < TENTHS; i++)
        assert_in_range(tenths[i], DOTS / TENTHS - 1, DOTS / TENTHS + 4);
    assert_in_range(odd, DOTS / 3, 2 * DOTS / 3); /* the sample has no period */
    json_decref(root);
    root = dots_of(DOTS + 1, 7, 300);
    assert_in_range(json_array_size(points_of(root)) / 3, DOTS / 2,
                    DOTS / 2 + 3);
    json_decref(root);
}

/* A pair counts once, although both sides recorded it. */
static void fills_the_matrix(void **state)
{
    const struct jp_result *r = &f->result;
    json_t *root, *p2p;

    (void) state;
    fixture_good(f);
    root = charts_of(r);
    p2p = json_object_get(root, "p2p");
    assert_string_equal(json_string_value(json_object_get(p2p, "by")), "rank");
    assert_int_equal(json_array_size(json_object_get(p2p, "names")), 32);
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(p2p, "names"), 5)),
        "5 gpu-node-0311");
    assert_true(fabs(sum_of(json_object_get(p2p, "cells"), 2, 4) /
                         (32.0 * (800 << 20)) -
                     1) < 1e-3);
    json_decref(root);
}

static void forget_time(struct jp_op *op, size_t i)
{
    (void) i;
    op->dump_min_us = op->dump_max_us = 0;
}

/* Slices cover the run; every operation with a bandwidth is in one. */
static void covers_the_run(void **state)
{
    struct jp_result *r = &f->result;
    struct ops_reader reader = {.ops = NULL};
    double ops = 0, expected = 0;
    json_t *root, *time, *series;

    (void) state;
    fixture_good(f);
    reader.ops = r->ops;
    for (size_t i = 0; i < r->n_ops; i++)
        expected += r->comms[ops_at(&reader, i)->comm].type == JP_COMM_HCA_ONLY;
    root = charts_of(r);
    time = json_object_get(root, "busbw-time");
    assert_int_equal(json_integer_value(json_object_get(time, "slices")), 100);
    series = json_object_get(time, "series");
    for (size_t i = 0; i < json_array_size(series); i++)
        ops +=
            sum_of(json_object_get(json_array_get(series, i), "points"), 1, 5);
    /* only this cell of the fixture has operations */
    assert_true(ops == expected);
    json_decref(root);
    /* as in traces, which also have no windows */
    change_ops(r->n_ops, forget_time);
    r->n_windows = 0;
    root = charts_of(r);
    assert_true(json_is_null(json_object_get(root, "busbw-time")));
    assert_true(json_is_null(json_object_get(root, "drift")));
    assert_true(json_is_null(json_object_get(root, "waits-time")));
    json_decref(root);
}

/* Every chart has what the writers rely on. */
static void describes_all(void **state)
{
    const struct feature *of;
    const struct jp_chart *c;
    size_t n = 0, own = 0; /* of all; of the report, which names no feature */

    (void) state;
    for (; (c = charts_at(n, &of)); n++) {
        const struct jp_chart_plot *p = c->plot;

        own += !of;
        assert_true(c->name || p);
        assert_true(!c->name == !c->caption);
        assert_true(!c->build != !c->put);
        assert_true(!c->build == !c->n_columns);
        assert_in_range(c->n_columns, 0, JP_CHART_COLUMNS);
        assert_in_range(c->max_lines, 0, JP_CHART_MAX_LINES);
        for (size_t i = 0; i < c->n_columns; i++) {
            assert_non_null(c->columns[i].heading);
            assert_true(c->columns[i].unit > 0);
        }
        if (c->name)
            /* each name occurs once */
            assert_ptr_equal(chart_find(c->name), c);
        /* those of features are in plots/, on the page, or both */
        assert_true(!of || c->name || p);
        if (!p)
            continue;
        assert_true(p->name && p->title && p->nothing && (p->x || p->y));
        assert_in_range(p->max_lines, 0, JP_CHART_MAX_LINES);
        assert_in_range(p->label_size, 0, 40);
        assert_true(!p->max_lines == !p->using && !p->using == !p->label_size);
    }
    assert_in_range(n, own, 64);
    assert_in_range(own, 10, 32);
}

/* Clocks of four GPUs on two nodes over four slices: one drops, one is there in
 * the last slice only, and one has a hostile name. */
static void shows_utilisation(void **state)
{
    static float clocks[4][4] = {{1980, 1980, 1980, 1980},
                                 {1980, 1980, 1100, 1100},
                                 {1980, 1980, 1980, 1980},
                                 {NAN, NAN, NAN, 1900}};
    static float busy[4] = {0.5F, 0.5F, 0.5F, 0.5F}; /* never changes */
    struct samples_node nodes[2] = {{.name = "n1"}, {.name = "<n2>"}};
    struct sampled at[4] = {{.scope = JP_UTIL_GPU, .id = "0000:1a:00.0"},
                            {.scope = JP_UTIL_GPU, .id = "0000:22:00.0"},
                            {.scope = JP_UTIL_GPU, .node = 1, .id = "a"},
                            {.scope = JP_UTIL_GPU, .node = 1, .id = "b"}};
    const struct samples samples = {
        .at = at,
        .n = 4,
        .first = {[JP_UTIL_GPU + 1] = 4, [JP_UTIL_SCOPES] = 4},
        .nodes = nodes,
        .n_nodes = 2,
        .from_us = 5000000,
        .slice_us = 1000000,
        .n_slices = 4};
    json_t *root, *metric, *out, *map;

    (void) state;
    for (size_t i = 0; i < 4; i++)
        at[i].slices[GPU_SM_CLOCK] = clocks[i];
    at[0].slices[GPU_SM] = busy;
    lend_samples(&samples);
    root = charts_of(NULL);
    metric = json_object_get(json_object_get(root, "util"), "metrics");
    assert_int_equal(json_array_size(metric), 1);
    metric = json_array_get(metric, 0);
    assert_string_equal(json_string_value(json_object_get(metric, "name")),
                        "sm_clock");
    out = json_object_get(metric, "out");
    /* not the one of the last slice only */
    assert_int_equal(json_array_size(out), 1);
    out = json_array_get(out, 0);
    assert_string_equal(json_string_value(json_object_get(out, "name")),
                        "GPU 22:00.0 of n1");
    assert_true(number_at(json_object_get(out, "values"), 2) == 1100);
    assert_true(number_at(json_object_get(metric, "low"), 2) == 1980);
    map = json_array_get(
        json_object_get(json_object_get(root, "util-time"), "maps"), 0);
    assert_int_equal(json_integer_value(json_object_get(map, "rows")), 4);
    assert_int_equal(json_array_size(json_object_get(map, "cells")), 3 * 13);
    assert_true(number_at(json_object_get(map, "cells"), 2) == 1980);
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(map, "names"), 2)),
        "<n2> a");
    json_decref(root);
    f->report.features = NULL;
    root = charts_of(NULL);
    assert_true(json_is_null(json_object_get(root, "util")));
    json_decref(root);
}

/* Three GPUs on each of four nodes. A node that is lower as a whole is a band,
 * a GPU of another node is a line, and neither is in the band of the others. */
static void shows_nodes_as_bands(void **state)
{
    enum { NODES = 4, EACH = 3, ALL = NODES * EACH };
    static float power[ALL][2];
    struct samples_node nodes[NODES] = {
        {.name = "n1"}, {.name = "n2"}, {.name = "n3"}, {.name = "n4"}};
    struct sampled at[ALL] = {{.scope = JP_UTIL_GPU}};
    const struct samples samples = {
        .at = at,
        .n = ALL,
        .first = {[JP_UTIL_GPU + 1] = ALL, [JP_UTIL_SCOPES] = ALL},
        .nodes = nodes,
        .n_nodes = NODES,
        .from_us = 5000000,
        .slice_us = 1000000,
        .n_slices = 2};
    json_t *root, *metric, *node, *out;

    (void) state;
    for (unsigned i = 0; i < ALL; i++) {
        float v = i == 0 ? 300 : i / EACH == 2 ? 400 + (float) i : 600;

        at[i] = (struct sampled){.scope = JP_UTIL_GPU, .node = i / EACH};
        snprintf(at[i].id, sizeof(at[i].id), "0000:%02x:00.0", i);
        power[i][0] = power[i][1] = v;
        at[i].slices[GPU_POWER] = power[i];
    }
    lend_samples(&samples);
    root = charts_of(NULL);
    metric = json_array_get(
        json_object_get(json_object_get(root, "util"), "metrics"), 0);
    assert_int_equal(json_array_size(json_object_get(metric, "nodes")), 1);
    node = json_array_get(json_object_get(metric, "nodes"), 0);
    assert_string_equal(json_string_value(json_object_get(node, "name")), "n3");
    assert_int_equal(json_integer_value(json_object_get(node, "of")), EACH);
    assert_true(number_at(json_object_get(node, "low"), 0) == 406);
    assert_true(number_at(json_object_get(node, "mid"), 0) == 407);
    assert_true(number_at(json_object_get(node, "high"), 1) == 408);
    assert_int_equal(json_array_size(json_object_get(metric, "out")), 1);
    out = json_array_get(json_object_get(metric, "out"), 0);
    assert_string_equal(json_string_value(json_object_get(out, "name")),
                        "GPU 00:00.0 of n1");
    assert_true(number_at(json_object_get(metric, "low"), 0) == 600);
    json_decref(root);
    f->report.features = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shows_nodes_as_bands, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(is_json_whatever_there_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(keeps_to_its_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shows_utilisation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(adds_up_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shows_drift, set_up, tear_down),
        cmocka_unit_test_setup_teardown(marks_who_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_where_records_are, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(shows_the_spread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_what_is_large, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(thins_the_dots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(fills_the_matrix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(covers_the_run, set_up, tear_down),
        cmocka_unit_test(describes_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
