/* test_nsys_read.c - exports of Nsight Systems of all years, and files that are
 * none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugins/nsys/nsys_read.h"
#include "tests/common/tempdir.h"
#include "tests/nsys/nsys_fixture.h"

static const struct nsys_options usual = {.short_gap_ns = 100000,
                                          .small_kernel_ns = 10000};

static int read_it(const char *dir, const char *name, struct nsys_profile *p,
                   struct jp_error *err)
{
    char *path = tempdir_path(dir, name);
    int rc = nsys_read(path, &usual, p, err);

    free(path);
    return rc;
}

static struct nsys_profile must_read(const char *dir, const char *name)
{
    struct nsys_profile p = {.bad_rows = 99};
    struct jp_error err = {""};

    if (read_it(dir, name, &p, &err) < 0)
        fail_msg("%s", err.text);
    return p;
}

static const struct nsys_sum *sum_of(const struct nsys_profile *p,
                                     enum nsys_table table, const char *name)
{
    int64_t at = nsys_names_find(&p->of[table].names, name);

    return at < 0 ? NULL : &p->of[table].sums[at];
}

static void assert_sum(const struct nsys_profile *p, enum nsys_table table,
                       const char *name, uint64_t n, uint64_t total)
{
    const struct nsys_sum *sum = sum_of(p, table, name);

    if (!sum)
        fail_msg("no \"%s\"", name);
    assert_int_equal(sum->n, n);
    assert_int_equal(sum->total, total);
}

/* --- sums ------------------------------------------------------------------
 */

static void test_deviation(void **state)
{
    static const struct {
        uint64_t a, b;
        double deviation;
    } rows[] = {{169856, 172992, 2217.5}, {5981185, 7075951, 774116.5}};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct nsys_sum sum = {0}, one = {0}, other = {0};

        nsys_sum_add(&sum, rows[i].a);
        assert_true(nsys_sum_deviation(&sum) == 0);
        nsys_sum_add(&sum, rows[i].b);
        assert_true(fabs(nsys_sum_deviation(&sum) - rows[i].deviation) < 0.05);
        nsys_sum_add(&one, rows[i].a);
        nsys_sum_add(&other, rows[i].b);
        nsys_sum_merge(&one, &other);
        assert_true(fabs(nsys_sum_deviation(&one) - rows[i].deviation) < 0.05);
        assert_int_equal(one.min, rows[i].a);
        assert_int_equal(one.max, rows[i].b);
    }
}

static void test_merge_is_exact(void **state)
{
    struct nsys_sum whole = {0}, parts[7] = {{0}}, merged = {0};
    uint64_t seed = 1;

    (void) state;
    for (int i = 0; i < 10000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        nsys_sum_add(&whole, seed >> 40);
        nsys_sum_add(&parts[i * i % 7], seed >> 40);
    }
    for (int i = 0; i < 7; i++)
        nsys_sum_merge(&merged, &parts[i]);
    assert_int_equal(merged.n, whole.n);
    assert_int_equal(merged.total, whole.total);
    assert_int_equal(merged.min, whole.min);
    assert_int_equal(merged.max, whole.max);
    assert_true(fabs(nsys_sum_deviation(&merged) / nsys_sum_deviation(&whole) -
                     1) < 1e-12);
}

static void test_huge_sums(void **state)
{
    struct nsys_sum sum = {0};

    (void) state;
    nsys_sum_add(&sum, UINT64_MAX - 1);
    nsys_sum_add(&sum, UINT64_MAX - 1);
    assert_true(sum.total == UINT64_MAX);
}

/* --- busy ------------------------------------------------------------------
 */

enum { LINE = 5000 };

static void test_busy(void **state)
{
    uint64_t seed = 7;

    (void) state;
    for (int round = 0; round < 50; round++) {
        struct nsys_busy b = {.most = round % 2 ? 0 : 64};
        bool is_busy[2][LINE] = {{false}};
        uint64_t want = 0, got = 0;

        for (int i = 0; i < 200; i++) {
            uint32_t device;
            int64_t start, end;

            seed = seed * 6364136223846793005u + 1442695040888963407u;
            device = seed >> 63;
            start = (int64_t) ((seed >> 33) % (LINE - 20));
            end = start + (int64_t) ((seed >> 20) % 15);
            for (int64_t t = start; t < end; t++)
                is_busy[device][t] = true;
            assert_int_equal(nsys_busy_add(&b, device, start, end), 0);
            assert_true(b.n <= 200 && (!b.most || b.n <= b.most));
        }
        nsys_busy_settle(&b);
        for (int i = 0; i < 2 * LINE; i++)
            want += is_busy[i / LINE][i % LINE];
        for (size_t i = 0; i < b.n; i++) {
            got += b.at[i].busy;
            assert_true(i == 0 || b.at[i].device > b.at[i - 1].device ||
                        b.at[i].start > b.at[i - 1].end);
        }
        if (b.most) /* gaps were closed: about as much */
            assert_true(b.merge_ns > 0 && got > want - want / 5 &&
                        got < want + want / 5);
        else
            assert_int_equal(got, want);
        free(b.at);
    }
}

/* --- exports ---------------------------------------------------------------
 */

static void test_names(void **state)
{
    static const char *const rows[][2] = {
        {"cudaLaunchKernel_v7000", "cudaLaunchKernel"},
        {"cudaStreamIsCapturing_v10000", "cudaStreamIsCapturing"},
        {"cuMemAlloc_v2", "cuMemAlloc_v2"},
        {"cudaFoo_v123456", "cudaFoo_v123456"},
        {"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel_ptsz"},
        {"a_v7000x", "a_v7000x"},
        {"", ""},
        {"_v7000", ""}};
    char name[64];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(name, sizeof(name), "%s", rows[i][0]);
        nsys_strip_version(name);
        assert_string_equal(name, rows[i][1]);
    }
}

/* Every column that is read, in each schema. */
static void fill(sqlite3 *db, enum fixture_schema schema)
{
    fixture_cuda(db, schema);
    fixture_run(db, "INSERT INTO StringIds VALUES "
                    "(1,'cudaLaunchKernel_v7000'),(2,'cudaMalloc_v3020'),"
                    "(3,'cudaMemcpy_v3020'),(4,'cudaDeviceSynchronize_v3020'),"
                    "(10,'void f<float>(int)'),(1010,'f'),"
                    "(11,'ncclDevKernel_AllReduce(x)'),(1011,"
                    "'ncclDevKernel_AllReduce')");
    fixture_call(db, 1000, 1500, 7, 1, 1);
    fixture_call(db, 2000, 2300, 7, 2, 1);
    fixture_call(db, 900000, 950000, 7, 3, 2);
    fixture_call(db, 600000, 800000, 7, 4, 3);
    fixture_call(db, 350000, 360000, 7, 5, 4);
    fixture_call(db, 350000, 360001, 7, 6, 99); /* no such string */
    fixture_kernel(db, 5000, 8000, 0, 1, 10);
    fixture_kernel(db, 50000, 90000, 0, 2, 11);
    fixture_kernel(db, 990000, 1000000, 0, 0, 10);
    fixture_copy(db, 620000, 640000, 4096, 1, 0, 2);
    fixture_copy(db, 640000, 645000, 100, 2, 2, 1);
    fixture_copy(db, 645000, 646000, 100, 8, 2, 2);
    fixture_run(db, "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start,end,"
                    "deviceId,contextId,streamId,value,bytes) VALUES "
                    "(700000,700500,0,1,7,0,1000000)");
}

static void test_schemas(void **state)
{
    static const enum fixture_schema schemas[] = {SCHEMA_2021, SCHEMA_3_16,
                                                  SCHEMA_3_28};
    static const char *const versions[] = {"", "3.16.1", "3.28.1"};

    for (size_t i = 0; i < 3; i++) {
        sqlite3 *db = fixture_open(*state, "a.sqlite", schemas[i]);
        struct nsys_profile p;

        fill(db, schemas[i]);
        if (schemas[i] != SCHEMA_2021) /* a backtrace is no call */
            fixture_run(db, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME "
                            "(start,end,eventClass,nameId,returnValue) VALUES "
                            "(1,100,67,1,0)");
        fixture_close(db);
        p = must_read(*state, "a.sqlite");
        assert_string_equal(p.schema, versions[i]);
        assert_string_equal(p.host, i ? "gpu7" : "");
        assert_true(p.start_utc_ns == (i ? 1700000000000000000u : 0));
        assert_int_equal(p.bad_rows, 0);
        assert_sum(&p, NSYS_API, "cudaLaunchKernel", 2, 800);
        assert_sum(&p, NSYS_API, "cudaMemcpy", 1, 200000);
        assert_sum(&p, NSYS_API, NSYS_UNKNOWN, 1, 10001);
        assert_sum(&p, NSYS_KERNELS, "void f<float>(int)", 2, 13000);
        assert_sum(&p, NSYS_MEM_TIME, "[CUDA memcpy HtoD]", 1, 20000);
        assert_sum(&p, NSYS_MEM_TIME, "[CUDA memcpy DtoD]", 1, 1000);
        assert_sum(&p, NSYS_MEM_SIZE, "[CUDA memset]", 1, 1000000);
        assert_int_equal(p.kernels.n, 3);
        assert_int_equal(p.small_kernels.n, 1);
        assert_int_equal(p.nccl_kernels.ns, 40000);
        assert_int_equal(p.pageable.bytes, 4096);
        assert_int_equal(p.copies.n, 3);
        assert_int_equal(p.sync_copies.ns, 200000);
        assert_int_equal(p.syncs.ns, 10000);
        assert_int_equal(p.late_allocations.n, 1);
        assert_int_equal(p.latency.n, 2);
        assert_int_equal(p.latency.total, 4000 + 48000);
        assert_int_equal(p.devices, 1);
        assert_int_equal(p.span_ns, 995000);
        assert_int_equal(p.busy_ns, 3000 + 40000 + 10000 + 26000 + 500);
        assert_int_equal(p.gaps.n, 4);
        assert_int_equal(p.short_gaps.n, 2);
        assert_int_equal(p.top[0].from_ns, 90000);
        assert_int_equal(p.top[0].to_ns, 620000);
        assert_string_equal(p.top[0].call, "cudaMemcpy");
        assert_int_equal(p.top[0].call_ns, 20000);
        assert_string_equal(p.top[1].call, "cudaMemcpy");
        assert_int_equal(p.top[1].call_ns, 99500);
        nsys_profile_fini(&p);
    }
}

static void test_nvtx(void **state)
{
    static const enum fixture_schema schemas[] = {SCHEMA_2021, SCHEMA_3_28};

    for (size_t i = 0; i < 2; i++) {
        sqlite3 *db = fixture_open(*state, "a.sqlite", schemas[i]);
        struct nsys_profile p;

        fixture_nvtx(db, schemas[i]);
        fixture_run(db, "INSERT INTO NVTX_EVENTS (start,end,eventType,text,"
                        "domainId) VALUES "
                        "(0,NULL,75,'NCCL',3),(10,30,59,'forward',0),"
                        "(40,50,59,'forward',0),(5,100,60,'step',NULL),"
                        "(7,8,34,'a mark',0),(1,4,59,'ncclAllReduce',3),"
                        "(50,NULL,59,'open',0),(9,3,59,'backwards',0)");
        if (schemas[i] != SCHEMA_2021)
            fixture_run(db, "INSERT INTO StringIds VALUES (5,'by id');"
                            "INSERT INTO NVTX_EVENTS (start,end,eventType,"
                            "textId) VALUES (1,2,59,5),(1,2,59,6)");
        fixture_close(db);
        p = must_read(*state, "a.sqlite");
        assert_sum(&p, NSYS_PUSHPOP, "forward", 2, 30);
        assert_sum(&p, NSYS_STARTEND, "step", 1, 95);
        assert_sum(&p, NSYS_PUSHPOP, "NCCL:ncclAllReduce", 1, 3);
        if (schemas[i] != SCHEMA_2021) {
            assert_sum(&p, NSYS_PUSHPOP, "by id", 1, 1);
            assert_sum(&p, NSYS_PUSHPOP, NSYS_UNKNOWN, 1, 1);
        }
        assert_null(sum_of(&p, NSYS_PUSHPOP, "a mark"));
        assert_int_equal(p.open_calls, 1);
        assert_int_equal(p.bad_rows, 1);
        assert_int_equal(p.kernels.n, 0);
        nsys_profile_fini(&p);
    }
}

/* Rows that make no sense are counted; the rest is as without them. */
static void test_bad_rows(void **state)
{
    sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_3_16);
    struct nsys_profile p;

    fill(db, SCHEMA_3_16);
    fixture_kernel(db, 100, 50, 0, 0, 10);
    fixture_kernel(db, INT64_MIN, INT64_MAX, 0, 0, 10);
    fixture_kernel(db, 1, 2, -1, 0, 10);
    fixture_kernel(db, 1, 2, 1000000, 0, 10);
    fixture_run(db, "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET correlationId=NULL "
                    "WHERE correlationId=2");
    fixture_copy(db, 1, 2, -5, 1, 0, 2);
    fixture_copy(db, 1, 2, 5, 77, 0, 2);
    fixture_run(db, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start,end,"
                    "eventClass,nameId,returnValue) VALUES ('x',2,0,1,0),"
                    "(1.5,2,0,1,0),(1,x'00',0,1,0)");
    fixture_close(db);
    p = must_read(*state, "a.sqlite");
    assert_int_equal(p.bad_rows, 4 + 1 + 3);
    assert_sum(&p, NSYS_KERNELS, "void f<float>(int)", 2, 13000);
    assert_sum(&p, NSYS_MEM_TIME, "[CUDA memcpy kind 77]", 1, 1);
    assert_int_equal(p.latency.n, 1);
    nsys_profile_fini(&p);
}

static void test_missing_tables(void **state)
{
    static const char *const names[] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                                        "CUPTI_ACTIVITY_KIND_KERNEL",
                                        "CUPTI_ACTIVITY_KIND_MEMCPY",
                                        "CUPTI_ACTIVITY_KIND_MEMSET",
                                        "StringIds",
                                        "ENUM_NSYS_EVENT_CLASS",
                                        "META_DATA_EXPORT"};

    for (size_t i = 0; i <= sizeof(names) / sizeof(*names); i++) {
        sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_3_28);
        struct nsys_profile p;

        fill(db, SCHEMA_3_28);
        if (i < sizeof(names) / sizeof(*names))
            fixture_run(db, "DROP TABLE %s", names[i]);
        else /* all there, and empty */
            for (size_t k = 0; k < 4; k++)
                fixture_run(db, "DELETE FROM %s", names[k]);
        fixture_close(db);
        p = must_read(*state, "a.sqlite");
        assert_int_equal(p.bad_rows, 0);
        if (i == 4)
            assert_sum(&p, NSYS_KERNELS, NSYS_UNKNOWN, 3, 53000);
        if (i == 7)
            assert_int_equal(p.kernels.n + p.of[NSYS_API].names.n, 0);
        nsys_profile_fini(&p);
    }
}

/* Columns that an old nsys did not have. */
static void test_missing_columns(void **state)
{
    sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_2021);
    struct nsys_profile p;

    fixture_run(db, "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end "
                    "INT, nameId INT, correlationId INT);"
                    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end "
                    "INT, deviceId INT, shortName INT, correlationId INT);"
                    "INSERT INTO StringIds VALUES (1,'cuLaunchKernel'),(2,"
                    "'k');"
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,3,1,9);"
                    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5,9,0,2,"
                    "9);");
    fixture_close(db);
    p = must_read(*state, "a.sqlite");
    assert_sum(&p, NSYS_API, "cuLaunchKernel", 1, 2);
    assert_sum(&p, NSYS_KERNELS, "k", 1, 4);
    assert_int_equal(p.latency.total, 4);
    nsys_profile_fini(&p);
}

/* More names than are kept. */
static void test_many_names(void **state)
{
    sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_3_16);
    struct nsys_profile p;

    fixture_nvtx(db, SCHEMA_3_16);
    fixture_run(db,
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "
                "FROM n WHERE i<%d) INSERT INTO NVTX_EVENTS (start,end,"
                "eventType,text) SELECT 0,1,59,'r'||i FROM n",
                NSYS_NAMES + 500);
    fixture_close(db);
    p = must_read(*state, "a.sqlite");
    assert_int_equal(p.of[NSYS_PUSHPOP].names.n, NSYS_NAMES);
    assert_sum(&p, NSYS_PUSHPOP, NSYS_OTHERS, 501, 501);
    nsys_profile_fini(&p);
}

/* --- what is no export -----------------------------------------------------
 */

static void assert_refused(const char *dir, const char *name, const char *why)
{
    struct nsys_profile p = {.bad_rows = 99};
    struct jp_error err = {""};

    if (read_it(dir, name, &p, &err) == 0)
        fail_msg("%s was read", name);
    if (!strstr(err.text, why))
        fail_msg("%s: \"%s\" does not say \"%s\"", name, err.text, why);
    assert_int_equal(p.bad_rows, 99); /* unchanged */
}

static void test_refused(void **state)
{
    char *path = tempdir_path(*state, "fifo.sqlite");
    sqlite3 *db;

    assert_int_equal(mkfifo(path, 0600), 0);
    free(path);
    free(tempdir_file(*state, "empty.sqlite", 0600, ""));
    free(tempdir_file(*state, "text.sqlite", 0600, "QDSTRM is no SQLite"));
    free(tempdir_file(*state, "short.sqlite", 0600, "SQLite format 3"));
    db = fixture_open(*state, "other.sqlite", SCHEMA_2021);
    fixture_close(db);
    assert_refused(*state, "gone.sqlite", "No such file");
    assert_refused(*state, "fifo.sqlite", "regular");
    assert_refused(*state, "empty.sqlite", "empty");
    assert_refused(*state, "text.sqlite", "not an SQLite file");
    assert_refused(*state, "short.sqlite", "truncated");
    assert_refused(*state, "other.sqlite", "not an nsys export");
    assert_refused(*state, ".", "regular");
}

static void test_links_and_journals(void **state)
{
    sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_3_16);
    char *link = tempdir_path(*state, "link.sqlite");
    struct nsys_profile p;

    fill(db, SCHEMA_3_16);
    fixture_close(db);
    assert_int_equal(symlink("a.sqlite", link), 0);
    free(link);
    assert_refused(*state, "link.sqlite", "link");
    free(tempdir_file(*state, "a.sqlite-journal", 0600, ""));
    p = must_read(*state, "a.sqlite"); /* an empty one is none */
    nsys_profile_fini(&p);
    free(tempdir_file(*state, "a.sqlite-journal", 0600, "x"));
    assert_refused(*state, "a.sqlite", "incomplete");
}

/* At each length except the full one the file is refused, and nothing leaks. */
static void test_cut(void **state)
{
    sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_3_28);
    char *path = tempdir_path(*state, "a.sqlite");
    struct stat st;

    fill(db, SCHEMA_3_28);
    for (int i = 0; i < 2000; i++)
        fixture_kernel(db, 2000000 + 100 * i, 2000050 + 100 * i, 0, 10 + i, 10);
    fixture_close(db);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 100000);
    for (off_t size = st.st_size - 1; size > 0;
         size -= size > 8192 ? 4093 : 511) {
        assert_int_equal(truncate(path, size), 0);
        assert_refused(*state, "a.sqlite", "");
    }
    free(path);
}

/* No computed column of the file is evaluated. */
static void test_no_foreign_code(void **state)
{
    sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_3_16);
    struct nsys_profile p;

    fixture_run(db, "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "
                    "end INTEGER GENERATED ALWAYS AS (start + 5), nameId "
                    "INTEGER);"
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start,nameId) "
                    "VALUES (1,1)");
    fixture_close(db);
    p = must_read(*state, "a.sqlite");
    assert_int_equal(p.of[NSYS_API].names.n, 0);
    assert_int_equal(p.bad_rows, 1);
    nsys_profile_fini(&p);
}

/* A schema with programs in it, or larger than any export's, is refused. */
static void test_budget(void **state)
{
    static const struct {
        const char *sql, *why;
    } rows[] = {
        {"CREATE VIEW v AS SELECT 1", "views"},
        {"CREATE TRIGGER t AFTER INSERT ON META_DATA_EXPORT BEGIN SELECT 1; "
         "END",
         "triggers"},
        {"PRAGMA writable_schema=1; INSERT INTO sqlite_master VALUES ('table',"
         "'v','v',0,'CREATE VIRTUAL TABLE v USING fts3(a)')",
         "virtual tables"},
        {"PRAGMA writable_schema=1; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
         "SELECT i+1 FROM n WHERE i<2500) INSERT INTO sqlite_master SELECT "
         "'table','t'||i,'t'||i,2,'CREATE TABLE t'||i||'(a)' FROM n",
         "the limit is 2000"},
        {"PRAGMA writable_schema=1; WITH RECURSIVE n(i,c) AS (SELECT 1,'c0' "
         "UNION ALL SELECT i+1,c||',c'||i FROM n WHERE i<300) INSERT INTO "
         "sqlite_master SELECT 'table','t','t',2,'CREATE TABLE t('||c||')' "
         "FROM n WHERE i=300",
         "too many columns"},
        {"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, "
         "copyKind TEXT); INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1,2,"
         "hex(zeroblob(600000)))",
         "1048576 bytes"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_3_16);
        char *path = tempdir_path(*state, "a.sqlite");

        fixture_run(db, "%s", rows[i].sql);
        fixture_close(db);
        assert_refused(*state, "a.sqlite", rows[i].why);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
}

static bool stop_now(void *arg)
{
    ++*(int *) arg;
    return true;
}

static void test_stop(void **state)
{
    sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_3_16);
    char *path = tempdir_path(*state, "a.sqlite");
    struct nsys_options options = usual;
    struct nsys_profile p = {0};
    struct jp_error err = {""};
    int asked = 0;

    fixture_cuda(db, SCHEMA_3_16);
    fixture_run(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 "
                    "FROM n WHERE i<100000) INSERT INTO "
                    "CUPTI_ACTIVITY_KIND_RUNTIME (start,end,eventClass,nameId,"
                    "returnValue) SELECT i,i+1,0,1,0 FROM n");
    fixture_close(db);
    options.stop = stop_now;
    options.arg = &asked;
    assert_int_equal(nsys_read(path, &options, &p, &err), -1);
    assert_non_null(strstr(err.text, "the time limit ran out"));
    assert_true(asked > 0);
    free(path);
}

static void test_read_only_folder(void **state)
{
    sqlite3 *db = fixture_open(*state, "a.sqlite", SCHEMA_3_16);
    struct nsys_profile p;

    fill(db, SCHEMA_3_16);
    fixture_close(db);
    assert_int_equal(chmod(*state, 0500), 0);
    p = must_read(*state, "a.sqlite");
    assert_int_equal(p.kernels.n, 3);
    nsys_profile_fini(&p);
    assert_int_equal(chmod(*state, 0700), 0);
}

int main(void)
{
#define IN_FOLDER(test)                                                        \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deviation),
        cmocka_unit_test(test_merge_is_exact),
        cmocka_unit_test(test_huge_sums),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_names),
        IN_FOLDER(test_schemas),
        IN_FOLDER(test_nvtx),
        IN_FOLDER(test_bad_rows),
        IN_FOLDER(test_missing_tables),
        IN_FOLDER(test_missing_columns),
        IN_FOLDER(test_many_names),
        IN_FOLDER(test_refused),
        IN_FOLDER(test_links_and_journals),
        IN_FOLDER(test_cut),
        IN_FOLDER(test_no_foreign_code),
        IN_FOLDER(test_budget),
        IN_FOLDER(test_stop),
        IN_FOLDER(test_read_only_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
