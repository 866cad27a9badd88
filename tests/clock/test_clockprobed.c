/* test_clockprobed.c - a job whose nodes' agents have probed their clocks:
 * which source counts if probes and collectives are both there, and what
 * remains if one of them is missing or wrong. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/clocks.h"
#include "tests/common/tempdir.h"
#include "tests/insight/simlog.h"

enum { NODES = 4, SHIFTED = 2, SECONDS = 8 };
#define AHEAD_NS 250e6
#define DRIFT 12.5e-6
#define SECOND INT64_C(1000000000)
#define EPOCH_NS ((int64_t) SIMLOG_EPOCH_US * 1000)

static const struct simjob_shape shape = {
    .tp = 2,
    .pp = 1,
    .dp = NODES,
    .per_node = 2,
    .layers = 2,
    .microbatches = 1,
    .steps = 200,
    .tp_ops = 1,
    .world = true,
    .buckets = 2,
    .tp_bytes = 1 << 20,
    .dp_bytes = 16 << 20,
};

/* What the agents found. */
struct found {
    double wrong_ns; /* the shifted node's clock is said to be so far off */
    bool absent[NODES];
    bool lines;     /* any window at all */
    int cadence_us; /* of the windows; 0: as requested */
    /* the tasks' XLA has probed, too: two processes a node */
    enum { XLA_NO, XLA_YES, XLA_AMBIGUOUS } xla;
};

/* Each machine has booted at a time of its own. */
static int64_t booted_ns(uint32_t node)
{
    return EPOCH_NS - (node + 1) * 1000 * SECOND;
}

static int64_t mono_ns(uint32_t node, int64_t t)
{
    return EPOCH_NS + simlog_shown_ns(node, t) - booted_ns(node);
}

static int64_t theta_ns(const struct found *f, uint32_t a, uint32_t b,
                        int64_t t)
{
    int64_t wrong = llround(f->wrong_ns);

    return mono_ns(b, t) - mono_ns(a, t) + (b == SHIFTED ? wrong : 0) -
           (a == SHIFTED ? wrong : 0);
}

static void put_windows(FILE *out, const struct found *f, uint32_t a,
                        uint32_t b)
{
    for (int i = 0; f->lines && i < SECONDS; i++) {
        int64_t from = i * SECOND, to = (i + 1) * SECOND;
        int64_t start = mono_ns(a, from), end = mono_ns(a, to);
        int64_t beta = theta_ns(f, a, b, from);
        double slope = (double) (theta_ns(f, a, b, to) - beta) /
                       (double) (end - start);

        fprintf(out,
                "{\"v\":1,\"type\":\"window_stats\",\"window_id\":%d,"
                "\"node_id\":%u,\"dst\":%u,\"start_ns\":%" PRId64
                ",\"end_ns\":%" PRId64 ",\"alpha\":%.12f,\"beta_ns\":%" PRId64
                ",\"margin_ns\":900.0,\"unc_ns\":50.0,\"exchanges\":50,"
                "\"cadence_us\":%d,"
                "\"lost\":1,\"notx\":0,\"rtt_min_ns\":2000,"
                "\"status\":\"ok\"}\n",
                i, a, b, start, end, 1 + slope, beta,
                f->cadence_us ? f->cadence_us : 20000);
    }
}

/* <dir>/nodes/<node>/clock.jsonl of all nodes. */
static void put_probes(const char *dir, const struct found *f)
{
    char path[512], host[16];

    snprintf(path, sizeof(path), "%s/nodes", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        FILE *out;

        if (f->absent[i])
            continue;
        simlog_host(i, host);
        snprintf(path, sizeof(path), "%s/nodes/%s", dir, host);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof(path), "%s/nodes/%s/clock.jsonl", dir, host);
        out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out,
                "{\"v\":1,\"type\":\"config\",\"node_id\":%u,\"node\":\"%s\","
                "\"nodes\":%d,\"job\":7,\"cadence_us\":20000,"
                "\"window_ms\":1000,\"cpu_permille\":5}\n",
                i, host, NODES);
        for (int k = 0; k <= SECONDS; k++)
            fprintf(out,
                    "{\"v\":1,\"type\":\"snapshot\",\"mono_ns\":%" PRId64
                    ",\"real_ns\":%" PRId64 "}\n",
                    mono_ns(i, k * SECOND),
                    EPOCH_NS + simlog_shown_ns(i, k * SECOND));
        for (uint32_t k = i + 1; k < NODES; k++)
            if (!f->absent[k])
                put_windows(out, f, i, k);
        assert_int_equal(fclose(out), 0);
    }
}

/* <dir>/raw/<node>/probe_windows_node<N>.jsonl of all processes, in the order
 * of a scheduler that deals them out: process k is on node k % NODES. */
static void put_xla(const char *dir, const struct found *f)
{
    char path[512], host[16];

    for (uint32_t k = 0; f->xla && k < 2 * NODES; k++) {
        uint32_t a = k % NODES;
        FILE *out;

        simlog_host(a, host);
        snprintf(path, sizeof(path), "%s/raw/%s", dir, host);
        mkdir(path, 0700);
        snprintf(path, sizeof(path), "%s/raw/%s/probe_windows_node%u.jsonl",
                 dir, host, f->xla == XLA_AMBIGUOUS && k == 1 ? 0 : k);
        out = fopen(path, "w");
        assert_non_null(out);
        fprintf(out,
                "{\"meta\":true,\"node_id\":%u,\"start_walltime_ns\":1,"
                "\"start_gpu_ns\":1}\nrubbish\n",
                f->xla == XLA_AMBIGUOUS && k == 1 ? 0 : k);
        for (int i = 0; i < SECONDS; i++) {
            int64_t t = EPOCH_NS + simlog_shown_ns(a, i * SECOND);

            fprintf(
                out,
                "{\"window_start_ns\":%" PRId64 ",\"window_end_ns\":%" PRId64
                ",\"window_id\":%d,\"round_id\":%d,\"node_id\":%u,"
                "\"edges\":[",
                t, t + SECOND, i, i, f->xla == XLA_AMBIGUOUS && k == 1 ? 0 : k);
            for (uint32_t b = 0; b < 2 * NODES; b++) {
                int64_t theta = simlog_shown_ns(b % NODES, i * SECOND) -
                                simlog_shown_ns(a, i * SECOND);
                double alpha = ((b % NODES == SHIFTED) - (a == SHIFTED)) *
                               12.5e-6;

                if (b != k)
                    fprintf(out,
                            "%s{\"dst\":%u,\"alpha\":%.10f,\"beta\":%" PRId64
                            ",\"pairs\":%d,\"lost\":0}",
                            b == (k == 0) ? "" : ",", b,
                            b % 3 == 1 ? 1 + alpha : alpha, theta,
                            b % 3 == 2 ? 5 : 400);
            }
            fprintf(out, "]}\n");
        }
        assert_int_equal(fclose(out), 0);
    }
}

static void drop_xla(const char *dir)
{
    char path[512], host[16];

    for (uint32_t k = 0; k < 2 * NODES; k++) {
        simlog_host(k % NODES, host);
        for (uint32_t n = 0; n < 2 * NODES; n++) {
            snprintf(path, sizeof(path), "%s/raw/%s/probe_windows_node%u.jsonl",
                     dir, host, n);
            unlink(path);
        }
        snprintf(path, sizeof(path), "%s/raw/%s", dir, host);
        rmdir(path);
    }
    snprintf(path, sizeof(path), "%s/raw", dir);
    rmdir(path);
}

/* verbose: the logs tell starts and ends. */
static struct jp_result *make(const char *dir, const struct found *f,
                              bool verbose)
{
    char raw[512], nodes[512];
    const char *input = raw;
    const struct jp_aggregate_options options = {.threads = 2, .nodes = nodes};
    struct simjob_truth truth;
    struct jp_result *result;

    simlog_clock = (struct simlog_clock){.verbose = verbose,
                                         .node = SHIFTED,
                                         .ahead_ns = AHEAD_NS,
                                         .drift = DRIFT};
    snprintf(raw, sizeof(raw), "%s/raw", dir);
    snprintf(nodes, sizeof(nodes), "%s/nodes", dir);
    assert_int_equal(mkdir(raw, 0700), 0);
    put_probes(dir, f);
    put_xla(dir, f);
    assert_int_equal(
        simlog_write(&shape, SIMJOB_LATE_RANK, 0.3, 5, raw, &truth), 0);
    result = aggregate_run(&input, 1, &options, NULL);
    assert_non_null(result);
    assert_non_null(result->clocks);
    simlog_remove(&shape, raw);
    drop_xla(dir);
    return result;
}

/* Returns the largest error of the map for a node's times, in us. */
static double error_us(const struct jp_clocks *c, uint32_t node)
{
    char host[16];
    const struct clockmap_node *at;
    double worst = 0;

    simlog_host(node, host);
    at = clockmap_find(&c->map, host, strlen(host));
    assert_non_null(at);
    assert_true(at->aligned);
    for (int k = 0; k <= SECONDS; k++) {
        int64_t t = EPOCH_NS + simlog_shown_ns(node, k * SECOND);
        int64_t truth = simlog_shown_ns(node, k * SECOND) - k * SECOND;

        worst = fmax(worst, fabs((double) (clockmap_offset_ns(at, t) - truth)));
    }
    return worst / 1000;
}

static void says(const struct jp_clocks *c, const char *what)
{
    char text[CLOCKS_TEXT];

    clocks_text(c, text);
    printf("# %s\n", text);
    if (!strstr(text, what))
        fail_msg("\"%s\" does not say \"%s\"", text, what);
}

/* Agents that had to probe less often to keep their budget: the report says
 * so, and only then. */
static void slowed(void **state)
{
    const struct found f = {.lines = true, .cadence_us = 61000};
    struct jp_result *r = make(*state, &f, true);
    const struct jp_clocks *c = r->clocks;

    assert_int_equal(c->probes.wanted_us, 20000);
    assert_int_equal(c->probes.cadence_us, 61000);
    assert_int_equal(c->probes.cpu_permille, 5);
    says(c,
         "To take no more than 0.5 % of a processor, agents probed a node "
         "every 61.0 ms instead of every 20.0 ms; the uncertainty is that of "
         "these probes.");
    result_destroy(r);
}

/* Both sources are there and right. */
static void agreed(void **state)
{
    const struct found f = {.lines = true};
    struct jp_result *r = make(*state, &f, true);
    const struct jp_clocks *c = r->clocks;
    char text[CLOCKS_TEXT];

    assert_int_equal(c->map.method, CLOCKMAP_PROBES);
    assert_int_equal(c->probes.files, NODES);
    assert_int_equal(c->probes.nodes, NODES);
    assert_int_equal(c->probes.windows, NODES * (NODES - 1) / 2 * SECONDS);
    assert_int_equal(c->probes.failures, c->probes.windows);
    assert_true(c->probes.used && c->probes.check.done);
    assert_int_equal(c->probes.check.compared, NODES - 1);
    assert_int_equal(c->probes.check.apart, 0);
    assert_true(c->before.violations > c->before.operations / 2);
    assert_int_equal(c->after.violations, 0);
    assert_true(error_us(c, SHIFTED) < 1);
    says(c, "by probes between the nodes");
    assert_null(strstr(clocks_text(c, text), "instead of every"));
    says(c, "Probes and collectives agree.");
    assert_int_equal(c->n_arrivals, 2 * NODES);
    assert_true(c->compared > 100 && c->disagreed * 20 < c->compared);
    result_destroy(r);
}

/* Probes that are wrong by a little more than both sources allow, while all
 * operations still overlap: the probes count, with that much uncertainty. */
static void doubted(void **state)
{
    const struct found f = {.lines = true, .wrong_ns = 4000};
    struct jp_result *r = make(*state, &f, true);
    const struct jp_clocks *c = r->clocks;

    assert_int_equal(c->map.method, CLOCKMAP_PROBES);
    assert_true(c->probes.used);
    assert_int_equal(c->probes.check.apart, 1);
    assert_string_equal(c->nodes[c->probes.check.worst].host, "node002");
    assert_true(c->probes.check.apart_us > 3 && c->probes.check.apart_us < 5);
    assert_true(c->nodes[SHIFTED].unc_us > 3);
    assert_true(c->nodes[1].unc_us < 2);
    says(c, "disagree on 1 of 3 clocks, on that of node002");
    says(c, "times are those of the probes");
    result_destroy(r);
}

/* Probes that are wrong by more than operations last: they win, and the clock
 * is as uncertain as the collectives are away from it, so that nobody is called
 * late by the difference. */
static void contradicted(void **state)
{
    const struct found f = {.lines = true, .wrong_ns = 50e6};
    struct jp_result *r = make(*state, &f, true);
    const struct jp_clocks *c = r->clocks;

    assert_int_equal(c->map.method, CLOCKMAP_PROBES);
    assert_true(c->probes.used);
    assert_true(c->probes.check.apart > 0);
    assert_true(fabs(error_us(c, SHIFTED) - 50e3) < 100);
    assert_true(c->nodes[SHIFTED].unc_us > 49e3);
    assert_true(c->nodes[1].unc_us < 100);
    says(c, "times are those of the probes");
    result_destroy(r);
}

/* A node without an agent is aligned by its collectives. */
static void one_missing(void **state)
{
    const struct found f = {.lines = true, .absent = {[3] = true}};
    struct jp_result *r = make(*state, &f, true);
    const struct jp_clocks *c = r->clocks;

    assert_int_equal(c->map.method, CLOCKMAP_PROBES);
    assert_int_equal(c->probes.files, NODES - 1);
    assert_int_equal(c->probes.nodes, NODES - 1);
    assert_int_equal(c->map.n_nodes, NODES);
    assert_true(error_us(c, SHIFTED) < 1);
    assert_true(error_us(c, 3) < 100);
    assert_int_equal(c->after.violations, 0);
    result_destroy(r);
}

/* Logs without starts and ends: only the probes know. */
static void alone(void **state)
{
    const struct found f = {.lines = true};
    struct jp_result *r = make(*state, &f, false);
    const struct jp_clocks *c = r->clocks;

    assert_int_equal(c->map.method, CLOCKMAP_PROBES);
    assert_int_equal(c->map.n_nodes, NODES);
    assert_int_equal(c->before.operations, 0);
    assert_false(c->probes.check.done);
    assert_true(error_us(c, SHIFTED) < 1);
    assert_non_null(clocks_map(c));
    says(c, "The clock of node002 is 250");
    says(c, "by probes");
    result_destroy(r);
}

/* Agents that have never received a packet of each other. */
static void silent(void **state)
{
    const struct found f = {.lines = false};
    struct jp_result *r = make(*state, &f, true);
    const struct jp_clocks *c = r->clocks;

    assert_int_equal(c->map.method, CLOCKMAP_COLLECTIVES);
    assert_int_equal(c->probes.files, NODES);
    assert_false(c->probes.tied);
    says(c, "Probes of 4 nodes were too few");
    result_destroy(r);
}

/* The tasks' XLA has probed. Its files take the place of the agents'. Process
 * indices belong to the nodes in whose folders the files are, and the stated
 * error holds. */
static void by_xla(void **state)
{
    const struct found f = {.lines = true, .xla = XLA_YES};
    struct jp_result *r = make(*state, &f, false);
    const struct jp_clocks *c = r->clocks;

    assert_true(c->probes.by_xla && c->probes.used);
    assert_int_equal(c->probes.files, NODES);
    assert_int_equal(c->probes.nodes, NODES);
    assert_true(c->probes.windows > 100 && c->probes.bad_windows > 20);
    assert_int_equal(c->map.method, CLOCKMAP_PROBES);
    assert_true(error_us(c, SHIFTED) < 40);
    assert_true(c->nodes[SHIFTED].unc_us > 20 && c->nodes[SHIFTED].unc_us < 80);
    assert_true(error_us(c, 3) < 40);
    says(c, "by probes of the tasks' XLA");
    result_destroy(r);
}

/* One process index on two nodes: these windows belong to neither. */
static void xla_ambiguous(void **state)
{
    const struct found f = {.lines = true, .xla = XLA_AMBIGUOUS};
    struct jp_result *r = make(*state, &f, true);
    const struct jp_clocks *c = r->clocks;

    assert_true(c->probes.xla_ambiguous && !c->probes.by_xla);
    assert_true(c->probes.used && error_us(c, SHIFTED) < 1);
    says(c, "by probes between the nodes");
    says(c, "a process index is on two nodes");
    result_destroy(r);
}

int main(void)
{
#define CASE(name)                                                             \
    cmocka_unit_test_setup_teardown(name, tempdir_make, tempdir_drop)
    const struct CMUnitTest tests[] = {
        CASE(agreed),      CASE(doubted),       CASE(contradicted),
        CASE(one_missing), CASE(alone),         CASE(silent),
        CASE(by_xla),      CASE(xla_ambiguous), CASE(slowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
