/* test_nsys_merge.c - several exports as one step: sums, tables, findings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/nsys/nsys_feature.h"
#include "tests/common/tempdir.h"
#include "tests/nsys/nsys_fixture.h"

/* --- the document's tables, character for character ------------------------
 */

/* A row with the figures that a document shows. */
static struct jp_nsys_row row(enum nsys_table table, const char *name,
                              double percent, uint64_t n, uint64_t total,
                              uint64_t min, uint64_t max, double deviation)
{
    return (struct jp_nsys_row){
        .table = table,
        .name = (char *) (uintptr_t) name,
        .share = percent / 100,
        .sum = {.n = n,
                .total = total,
                .min = min,
                .max = max,
                .squares = deviation * deviation * (double) (n - 1)}};
}

static const char golden[] =
    "CUDA API Statistics:\n"
    "\n"
    " Time(%)  Total Time (ns)  Num Calls  Average (ns)  Minimum (ns)  Maximum "
    "(ns)  StdDev (ns)               Name\n"
    " -------  ---------------  ---------  ------------  ------------  "
    "------------  -----------  -------------------------------\n"
    "    38.8       4657677341     523848        8891.3          3352      "
    "18555196      45882.5  cudaLaunchKernel\n"
    "    37.7       4521928840          1  4521928840.0    4521928840    "
    "4521928840          0.0  cudaMemGetInfo\n"
    "     0.0              100          1         100.0           100         "
    "  100          0.0  cudaStreamWaitEvent_of_31_chars\n"
    "\n"
    "CUDA Kernel Statistics:\n"
    "\n"
    " Time(%)  Total Time (ns)  Instances  Average (ns)  Minimum (ns)  Maximum "
    "(ns)  StdDev (ns)                                                  Name\n"
    " -------  ---------------  ---------  ------------  ------------  "
    "------------  -----------  "
    "--------------------------------------------------------------------------"
    "--------------------------\n"
    "     6.2       1078398020     145039        7435.2          3008         "
    "83777      11407.4  void "
    "at::native::vectorized_elementwise_kernel<(int)4, "
    "at::native::BinaryFunctor<float, float, floa\u2026\n"
    "     5.2        899943893       5061      177819.4         77825        "
    "286819      66300.8  volta_scudnn_128x64_stridedB_splitK_medium_nn_v1\n"
    "     5.0        864861126       5543      156027.6        106338        "
    "202018      27548.5  void wgrad_alg0_engine<float, (int)128, (int)6, "
    "(int)7, (int)3, (int)3, (int)5, (bool)0, (int)512>(\u2026\n"
    "\n"
    "CUDA Memory Operation Statistics (by time):\n"
    "\n"
    " Time(%)  Total Time (ns)  Count  Average (ns)  Minimum (ns)  Maximum "
    "(ns)  StdDev (ns)      Operation\n"
    " -------  ---------------  -----  ------------  ------------  "
    "------------  -----------  ------------------\n"
    "    78.7        421996974   1048      402668.9          1759       "
    "1814834     713867.9  [CUDA memcpy HtoD]\n"
    "    21.3        114288548  28205        4052.1          1664         "
    "16480       1771.9  [CUDA memset]\n"
    "     0.0            51136     24        2130.7          1984          "
    "3040        301.5  [CUDA memcpy DtoH]\n"
    "\n"
    "CUDA Memory Operation Statistics (by size):\n"
    "\n"
    " Total (MB)  Count  Average (MB)  Minimum (MB)  Maximum (MB)  StdDev (MB) "
    "     Operation\n"
    " ----------  -----  ------------  ------------  ------------  ----------- "
    " ------------------\n"
    "  18596.704  28205         0.659         0.000         3.981        0.834 "
    " [CUDA memset]\n"
    "   4232.271   1048         4.038         0.000        17.165        7.193 "
    " [CUDA memcpy HtoD]\n"
    "      0.000     24         0.000         0.000         0.000        0.000 "
    " [CUDA memcpy DtoH]\n"
    "\n";

static void test_document(void **state)
{
    struct jp_nsys_row rows[] = {
        row(NSYS_API, "cudaLaunchKernel", 38.8, 523848, 4657677341, 3352,
            18555196, 45882.5),
        row(NSYS_API, "cudaMemGetInfo", 37.7, 1, 4521928840, 4521928840,
            4521928840, 0),
        row(NSYS_API, "cudaStreamWaitEvent_of_31_chars", 0, 1, 100, 100, 100,
            0),
        row(NSYS_KERNELS,
            "void at::native::vectorized_elementwise_kernel<(int)4, "
            "at::native::BinaryFunctor<float, float, float, at::native::Add>>",
            6.2, 145039, 1078398020, 3008, 83777, 11407.4),
        row(NSYS_KERNELS, "volta_scudnn_128x64_stridedB_splitK_medium_nn_v1",
            5.2, 5061, 899943893, 77825, 286819, 66300.8),
        row(NSYS_KERNELS,
            "void wgrad_alg0_engine<float, (int)128, (int)6, (int)7, (int)3, "
            "(int)3, (int)5, (bool)0, (int)512>(int, int)",
            5.0, 5543, 864861126, 106338, 202018, 27548.5),
        row(NSYS_MEM_TIME, "[CUDA memcpy HtoD]", 78.7, 1048, 421996974, 1759,
            1814834, 713867.9),
        row(NSYS_MEM_TIME, "[CUDA memset]", 21.3, 28205, 114288548, 1664, 16480,
            1771.9),
        row(NSYS_MEM_TIME, "[CUDA memcpy DtoH]", 0, 24, 51136, 1984, 3040,
            301.5),
        row(NSYS_MEM_SIZE, "[CUDA memset]", 0, 28205, 18596704000, 4, 3981000,
            834000),
        row(NSYS_MEM_SIZE, "[CUDA memcpy HtoD]", 0, 1048, 4232271000, 4,
            17165000, 7193000),
        row(NSYS_MEM_SIZE, "[CUDA memcpy DtoH]", 0, 24, 96, 4, 4, 0),
    };
    struct jp_nsys nsys = {
        .n_ranks = 1, .rows = rows, .n_rows = sizeof(rows) / sizeof(*rows)};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    (void) state;
    nsys_print(&nsys, 0, out);
    fclose(out);
    assert_string_equal(text, golden);
    free(text);
}

/* --- ranks -----------------------------------------------------------------
 */

static struct jp_nsys *load(const char *dir)
{
    const struct jp_nsys_options options = nsys_options();
    struct jp_nsys *nsys = NULL;
    struct jp_error err = {""};

    if (nsys_load(&dir, 1, &options, &nsys, &err) < 0)
        fail_msg("%s", err.text);
    return nsys;
}

static const struct jp_nsys_row *find(const struct jp_nsys *nsys,
                                      enum nsys_table table, const char *name)
{
    size_t n;
    const struct jp_nsys_row *rows = nsys_rows(nsys, table, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fail_msg("no \"%s\"", name);
    return NULL;
}

static void make_rank(const char *dir, const char *name, int times)
{
    sqlite3 *db = fixture_open(dir, name, SCHEMA_3_28);

    fixture_cuda(db, SCHEMA_3_28);
    fixture_run(db, "INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),"
                    "(10,'k'),(11,'only on one')");
    for (int i = 0; i < times; i++)
        fixture_kernel(db, 100 * i, 100 * i + 10 + i % 7, 0, i + 1, 10);
    if (times == 300)
        fixture_kernel(db, 100000, 100050, 0, 999, 11);
    fixture_close(db);
}

static void test_ranks(void **state)
{
    const struct jp_nsys_row *k;
    struct nsys_sum want = {0};
    struct jp_nsys *nsys;

    make_rank(*state, "7.0.rank00010.nodeb.sqlite", 300);
    make_rank(*state, "7.0.rank00002.nodea.sqlite", 100);
    make_rank(*state, "by hand.sqlite", 200);
    for (int times = 100; times <= 300; times += 100)
        for (int i = 0; i < times; i++)
            nsys_sum_add(&want, 10 + (unsigned) i % 7);
    nsys = load(*state);
    assert_int_equal(nsys->n_ranks, 3);
    assert_int_equal(nsys->ranks[0].rank, 2);
    assert_string_equal(nsys->ranks[0].host, "nodea");
    assert_int_equal(nsys->ranks[1].rank, 10);
    assert_int_equal(nsys->ranks[2].rank, -1);
    assert_string_equal(nsys->ranks[2].host, "gpu7");
    k = find(nsys, NSYS_KERNELS, "k");
    assert_int_equal(k->sum.n, 600);
    assert_int_equal(k->sum.total, want.total);
    assert_true(fabs(nsys_sum_deviation(&k->sum) - nsys_sum_deviation(&want)) <
                1e-9);
    assert_int_equal(k->ranks, 3);
    assert_true(k->rank_min < k->rank_max);
    assert_true(fabs(k->imbalance -
                     (double) k->rank_max * 3 / (double) want.total) < 1e-12);
    k = find(nsys, NSYS_KERNELS, "only on one");
    assert_int_equal(k->ranks, 1);
    assert_true(fabs(k->imbalance - 3) < 1e-12);
    nsys_destroy(nsys);
}

/* A bad file becomes a rank that is bad; a report without an export is
 * counted. */
static void test_bad_files(void **state)
{
    struct jp_nsys *nsys;

    assert_null(load(*state));
    free(tempdir_file(*state, "b.nsys-rep", 0600, "x"));
    nsys = load(*state);
    assert_int_equal(nsys->unexported, 1);
    assert_int_equal(nsys->n_ranks, 0);
    nsys_destroy(nsys);
    free(tempdir_file(*state, "b.sqlite", 0600, "nothing"));
    make_rank(*state, "7.0.rank00002.nodea.sqlite", 100);
    nsys = load(*state);
    assert_int_equal(nsys->unexported, 0);
    assert_int_equal(nsys->n_ranks, 2);
    assert_int_equal(nsys->n_bad, 1);
    assert_true(nsys->ranks[1].bad);
    assert_non_null(strstr(nsys->ranks[1].why, "not an SQLite file"));
    assert_true(find(nsys, NSYS_KERNELS, "k")->imbalance == 1);
    nsys_destroy(nsys);
}

/* --- findings --------------------------------------------------------------
 */

/* What a rank does in each of a thousand steps of 10 us. */
struct habit {
    const char *name;
    int kernel_ns;         /* in each step */
    int every;             /* of a step, ns */
    int copies, kind_from; /* copies of 2 us, and the kind of their memory */
    int sync_ns;           /* of a synchronous copy in every tenth step */
    int allocations;       /* 1: one of 5 us in each step */
    double others;         /* factor of these times for the second rank */
    enum jp_finding_kind want; /* JP_N_FINDINGS: none */
};

static const struct habit habits[] = {
    {"sound", 500000, 520000, 0, 1, 0, 0, 1, JP_N_FINDINGS},
    {"launch bound", 20000, 60000, 0, 1, 0, 0, 1, JP_FINDING_GPU_IDLE},
    {"waits for input", 20000, 600000, 0, 1, 0, 0, 1, JP_N_FINDINGS},
    {"small kernels", 4000, 4100, 0, 1, 0, 0, 1, JP_FINDING_SMALL_KERNELS},
    {"pageable", 20000, 24000, 1, 0, 0, 0, 1, JP_FINDING_PAGEABLE_COPIES},
    {"pinned", 20000, 24000, 1, 1, 0, 0, 1, JP_N_FINDINGS},
    {"synchronous", 20000, 21000, 0, 1, 30000, 0, 1, JP_FINDING_SYNC_COPIES},
    {"allocates", 20000, 21000, 0, 1, 0, 1, 1, JP_FINDING_LATE_ALLOCATIONS},
    {"uneven", 20000, 61000, 0, 1, 0, 0, 2.5, JP_FINDING_GPU_IDLE},
    {"uneven and busy", 400000, 1000000, 0, 1, 0, 0, 2.4,
     JP_FINDING_GPU_IMBALANCE},
};

static void live(const char *dir, const char *name, const struct habit *h,
                 double times)
{
    sqlite3 *db = fixture_open(dir, name, SCHEMA_3_16);

    fixture_cuda(db, SCHEMA_3_16);
    fixture_run(db, "INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),"
                    "(2,'cudaMemcpy_v3020'),(3,'cudaMalloc_v3020'),(10,'k')");
    for (int i = 0; i < 1500; i++) {
        long long at = (long long) i * h->every;
        long long end = at + (long long) (h->kernel_ns * times);

        fixture_call(db, at - 500, at, 7, i + 1, 1);
        fixture_kernel(db, at, end, 0, i + 1, 10);
        if (h->copies)
            fixture_copy(db, end, end + 2000, 1 << 16, 1, h->kind_from, 2);
        if (h->sync_ns && i % 10 == 0)
            fixture_call(db, at, at + h->sync_ns, 7, 9000 + i, 2);
        if (h->allocations)
            fixture_call(db, at, at + 5000, 7, 9000 + i, 3);
    }
    fixture_close(db);
}

static void test_findings(void **state)
{
    for (size_t i = 0; i < sizeof(habits) / sizeof(*habits); i++) {
        const struct habit *h = &habits[i];
        struct jp_insight x = {.judged = true};
        const struct jp_finding *first;
        struct jp_nsys *nsys;

        live(*state, "1.0.rank00000.a.sqlite", h, 1);
        live(*state, "1.0.rank00001.b.sqlite", h, h->others);
        nsys = load(*state);
        nsys_judge(nsys, NULL, &x);
        first = x.findings.n ? x.findings.at : NULL;
        if ((h->want == JP_N_FINDINGS) != !first)
            fail_msg("%s: %zu findings, %s", h->name, x.findings.n,
                     first ? first->text : "");
        assert_int_equal(x.hypotheses.of[JP_HYPOTHESIS_GPU_TIME].state,
                         first ? JP_HYPOTHESIS_FOUND : JP_HYPOTHESIS_NOT_FOUND);
        if (first && first->kind != h->want)
            fail_msg("%s: %s", h->name, first->text);
        for (size_t k = 0; k < x.findings.n; k++) {
            assert_true(x.findings.at[k].share > 0);
            assert_true(strlen(x.findings.at[k].text) > 40 &&
                        strlen(x.findings.at[k].next) > 20);
        }
        if (h->others > 1) { /* the rank with more to do is named */
            const struct jp_finding *last = &x.findings.at[x.findings.n - 1];

            assert_int_equal(last->kind, JP_FINDING_GPU_IMBALANCE);
            assert_int_equal(last->world_rank, 1);
            assert_string_equal(last->host, "b");
        }
        findings_fini(&x.findings);
        nsys_destroy(nsys);
    }
}

static void test_nothing_to_judge(void **state)
{
    struct jp_insight x = {.judged = true};

    (void) state;
    nsys_judge(NULL, NULL, &x);
    assert_int_equal(x.findings.n, 0);
    assert_int_equal(x.hypotheses.of[JP_HYPOTHESIS_GPU_TIME].state,
                     JP_HYPOTHESIS_NOT_JUDGED);
    assert_string_equal(hypothesis_why(&x.hypotheses, JP_HYPOTHESIS_GPU_TIME),
                        "no export of nsys");
}

int main(void)
{
#define IN_FOLDER(test)                                                        \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        IN_FOLDER(test_ranks),
        IN_FOLDER(test_bad_files),
        IN_FOLDER(test_findings),
        cmocka_unit_test(test_nothing_to_judge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
