/* test_util_rows.c - files of samples: written, cut, merged beyond their cap,
 * hostile. */
#include "plugins/util/util_rows.h"

#include <dirent.h>
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

#include "common/figure.h"
#include "common/fileio.h"
#include "tests/common/tempdir.h"

static const struct util_origin origin = {7, "0", "n1", 5000000};

struct seen {
    size_t rows;
    uint64_t samples, last_us;
    double sum, max; /* of the first column, weighted by samples */
    struct util_row last;
};

static int see(void *arg, const struct util_row *row, struct jp_error *err)
{
    struct seen *seen = arg;

    (void) err;
    assert_true(row->samples > 0 && row->t_us >= seen->last_us);
    seen->last_us = row->t_us;
    seen->rows++;
    seen->samples += row->samples;
    if (!isnan(row->v[0]))
        seen->sum += row->v[0] * (double) row->samples;
    if (row->max[0] > seen->max)
        seen->max = row->max[0];
    seen->last = *row;
    return 0;
}

static struct seen read_all(const char *dir, enum util_kind kind,
                            struct util_read *read)
{
    char name[64], *path;
    struct seen seen = {0};
    struct util_head head;
    struct jp_error err;

    snprintf(name, sizeof(name), "util-%s.csv.gz", util_tables[kind].name);
    path = tempdir_path(dir, name);
    assert_int_equal(util_rows_read(path, kind, &head, see, &seen, read, &err),
                     0);
    assert_int_equal(head.job, 7);
    assert_string_equal(head.step, "0");
    assert_string_equal(head.node, "n1");
    assert_int_equal(head.start_us, 5000000);
    free(path);
    return seen;
}

static void there_and_back(void **state)
{
    struct util_files *files = util_files_create(*state, &origin, 1 << 20);
    struct util_read read;
    struct util_row row;
    struct seen seen;

    for (unsigned i = 0; i < 10; i++) {
        util_row_init(&row, 1000 + i, 2000 + i, "3");
        row.v[0] = i;
        row.v[4] = 1.5e9;
        assert_int_equal(util_files_add(files, UTIL_TASK, &row, NULL), 0);
        if (i == 4) /* two members */
            assert_int_equal(util_files_flush(files, false, NULL), 0);
    }
    assert_int_equal(util_files_flush(files, true, NULL), 0);
    assert_true(util_files_bytes(files) > 0);
    util_files_destroy(files);
    seen = read_all(*state, UTIL_TASK, &read);
    assert_int_equal(read.rows, 10);
    assert_int_equal(read.bad_lines, 0);
    assert_false(read.cut);
    assert_true(seen.sum == 45 && seen.max == 9);
    assert_string_equal(seen.last.id, "3");
    assert_int_equal(seen.last.mono_us, 2009);
    assert_true(seen.last.v[4] == 1.5e9 && isnan(seen.last.v[1]));
}

/* Six digits of whole and other numbers, as by printf. */
static void digits(void **state)
{
    static const double values[] = {
        0,       1,          9,   10,        99999, 999999, 1000000,  1000001,
        1234567, 4294967296, 0.5, 0.1234567, 1e-9,  1e18,   999999.5, 123456.7};
    enum { N = sizeof(values) / sizeof(*values) };
    struct util_files *files = util_files_create(*state, &origin, 1 << 20);
    struct util_read read;
    struct util_row row;
    struct seen seen;
    char text[32];

    util_row_init(&row, 1000, 2000, "x");
    memcpy(row.v, values, sizeof(values));
    assert_int_equal(util_files_add(files, UTIL_GPU, &row, NULL), 0);
    assert_int_equal(util_files_flush(files, true, NULL), 0);
    util_files_destroy(files);
    seen = read_all(*state, UTIL_GPU, &read);
    assert_int_equal(read.bad_lines, 0);
    for (size_t i = 0; i < N; i++) {
        snprintf(text, sizeof(text), "%.6g", values[i]);
        assert_true(seen.last.v[i] == strtod(text, NULL));
    }
    assert_true(isnan(seen.last.v[N]));
}

/* Means and maxima survive merging, and so do times and numbers of samples. */
static void beyond_the_cap(void **state)
{
    enum { N = 60000, CAP = 20000 };
    struct util_files *files = util_files_create(*state, &origin, CAP);
    struct util_read read;
    struct util_row row;
    struct seen seen;
    double sum = 0;

    srand(1);
    for (unsigned i = 0; i < N; i++) {
        util_row_init(&row, 1000 + i, 2000 + i, "node");
        for (int c = 0; c < 10; c++)
            row.v[c] = rand() % 1000;
        if (i == 777)
            row.v[0] = 5000;
        sum += row.v[0];
        assert_int_equal(util_files_add(files, UTIL_NODE, &row, NULL), 0);
        if (i % 1000 == 0)
            assert_int_equal(util_files_flush(files, false, NULL), 0);
        assert_true(util_files_bytes(files) <= CAP);
    }
    assert_int_equal(util_files_flush(files, true, NULL), 0);
    assert_true(util_files_bytes(files) <= CAP);
    util_files_destroy(files);
    seen = read_all(*state, UTIL_NODE, &read);
    assert_int_equal(read.bad_lines, 0);
    assert_true(seen.rows < N / 10);
    assert_int_equal(seen.samples, N);
    assert_true(fabs(seen.sum / sum - 1) < 1e-4);
    assert_true(seen.max == 5000);
    assert_int_equal(seen.last_us, 1000 + N - 1);
}

static void cut_anywhere(void **state)
{
    struct util_files *files = util_files_create(*state, &origin, 1 << 20);
    char *path = tempdir_path(*state, "util-gpu.csv.gz"), *text;
    struct util_row row;
    uint64_t ends[5];
    size_t len;

    for (unsigned i = 0; i < 50; i++) {
        util_row_init(&row, i, i, "0000:1a:00.0");
        row.v[0] = i / 100.0;
        util_files_add(files, UTIL_GPU, &row, NULL);
        if (i % 10 == 9) {
            util_files_flush(files, false, NULL);
            ends[i / 10] = util_files_bytes(files);
        }
    }
    util_files_destroy(files);
    assert_int_equal(fileio_read(path, false, 1 << 20, &text, &len, NULL), 0);
    for (size_t n = 0; n < len; n += 7) {
        struct seen seen = {0};
        struct util_head head;
        struct util_read read;
        struct jp_error err;

        if (util_rows_parse(text, n, UTIL_GPU, &head, see, &seen, &read, &err) <
            0)
            continue;
        assert_true(read.bad_lines == 0 && seen.rows <= 50);
        for (size_t i = 0; i < 5; i++) /* whole members are read */
            assert_true(n < ends[i] || seen.rows >= 10 * (i + 1));
    }
    free(text);
    free(path);
}

/* Each line: the text after the headings, then the number of rows and of bad
 * lines. */
static void hostile_lines(void **state)
{
    static const struct {
        const char *lines;
        size_t rows, bad;
    } table[] = {
        {"", 0, 0},
        {"1,2,1,mean,a,1,2\n", 1, 0},
        {"1,2,1,mean,a,1\n", 0, 1},
        {"1,2,1,mean,a,1,2,3\n", 0, 1},
        {"1,2,0,mean,a,1,2\n", 0, 1},
        {"1,2,1,most,a,1,2\n", 0, 1},
        {"1,2,1,mean,a,nan,2\n", 0, 1},
        {"1,2,1,mean,a,inf,2\n", 0, 1},
        {"1,2,1,mean,a,-1,2\n", 0, 1},
        {"1,2,1,mean,a,1e999,2\n", 0, 1},
        {"1,2,1,mean,a,0x10,2\n", 0, 1},
        {"-1,2,1,mean,a,1,2\n", 0, 1},
        {"1,2,1,max,a,1,2\n", 0, 1},
        {"1,2,2,mean,a,1,2\n1,2,2,max,a,3,4\n", 1, 0},
        {"1,2,2,mean,a,1,2\n1,2,2,max,b,3,4\n", 1, 1},
        {"1,2,1,mean,012345678901234567890123456789012345678901234567,1,2\n", 0,
         1},
        {"1,2,1,mean,a,1,2\n\n1,2,1,mean,a,1,2\n", 2, 1},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        char text[1024];
        struct seen seen = {0};
        struct util_head head;
        struct util_read read;
        struct jp_error err;
        int n = snprintf(text, sizeof(text),
                         "# jobprof util 1 kind=node job=1 step=0 node=n "
                         "start_us=1\nt_us,mono_us,samples,stat,id,cpus,"
                         "of_tomorrow\n%s",
                         table[i].lines);

        assert_int_equal(util_rows_parse(text, (size_t) n, UTIL_NODE, &head,
                                         see, &seen, &read, &err),
                         0);
        if (seen.rows != table[i].rows || read.bad_lines != table[i].bad)
            fail_msg("%s: %zu rows, %llu bad", table[i].lines, seen.rows,
                     (unsigned long long) read.bad_lines);
    }
}

static void foreign_files(void **state)
{
    static const char *const texts[] = {
        "", "x\n",
        "# jobprof util 1 kind=task job=1 step=0 node=n start_us=1\n",
        "# jobprof util 1 kind=node job=1\nt_us\n",
        "# jobprof util 1 kind=node job=1 step=0 node=n start_us=1\nt_us,id\n"};

    (void) state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct seen seen = {0};
        struct util_head head;
        struct util_read read;
        struct jp_error err = {""};

        assert_int_equal(util_rows_parse(texts[i], strlen(texts[i]), UTIL_NODE,
                                         &head, see, &seen, &read, &err),
                         -1);
        assert_true(*err.text);
    }
}

/* A link in place of a file is not followed when writing. */
static void links_are_refused(void **state)
{
    struct util_files *files = util_files_create(*state, &origin, 1 << 20);
    char *victim = tempdir_file(*state, "victim", 0600, "mine");
    char *path = tempdir_path(*state, "util-port.csv.gz"), *text;
    struct util_row row;
    struct jp_error err = {""};

    assert_int_equal(symlink(victim, path), 0);
    util_row_init(&row, 1, 1, "mlx5_0/1");
    assert_int_equal(util_files_add(files, UTIL_PORT, &row, &err), 0);
    assert_int_equal(util_files_flush(files, true, &err), -1);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(fileio_read(victim, false, 100, &text, NULL, NULL), 0);
    assert_string_equal(text, "mine");
    util_files_destroy(files);
    free(text);
    free(path);
    free(victim);
}

/* Counts the entries of a folder that are not hidden. */
static int n_entries(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int n = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)))
        n += *entry->d_name != '.';
    closedir(folder);
    return n;
}

/* The step's folder is renamed and another one gets its name, also while files
 * are rewritten. */
static void folder_renamed(void **state)
{
    enum { N = 20000, CAP = 10000 };
    char *old = tempdir_path(*state, "old"), *new = tempdir_path(*state, "new");
    struct util_files *files;
    struct util_read read;
    struct util_row row;
    struct seen seen;

    assert_int_equal(mkdir(old, 0700), 0);
    files = util_files_create(old, &origin, CAP);
    for (unsigned i = 0; i < N; i++) {
        util_row_init(&row, 1000 + i, 2000 + i, "node");
        for (int c = 0; c < 10; c++)
            row.v[c] = rand() % 1000;
        assert_int_equal(util_files_add(files, UTIL_NODE, &row, NULL), 0);
        if (i % 1000 == 0)
            assert_int_equal(util_files_flush(files, false, NULL), 0);
        if (i == N / 2)
            assert_int_equal(rename(old, new) | mkdir(old, 0700), 0);
    }
    assert_int_equal(util_files_flush(files, true, NULL), 0);
    util_files_destroy(files);
    assert_int_equal(n_entries(old), 0);
    assert_int_equal(n_entries(new), 1);
    seen = read_all(new, UTIL_NODE, &read);
    assert_int_equal(seen.samples, N);
    free(old);
    free(new);
}

/* The file's name is another file's by now. */
static void name_taken(void **state)
{
    struct util_files *files = util_files_create(*state, &origin, 1 << 20);
    char *path = tempdir_path(*state, "util-node.csv.gz"), *text;
    struct util_row row;

    for (int i = 0; i < 2; i++) {
        util_row_init(&row, 1000, 2000, "node");
        assert_int_equal(util_files_add(files, UTIL_NODE, &row, NULL), 0);
        assert_int_equal(util_files_flush(files, false, NULL), 0);
        if (i == 0) {
            assert_int_equal(unlink(path), 0);
            free(tempdir_file(*state, "util-node.csv.gz", 0600, "mine"));
        }
    }
    util_files_destroy(files);
    assert_int_equal(fileio_read(path, false, 100, &text, NULL, NULL), 0);
    assert_string_equal(text, "mine");
    free(text);
    free(path);
}

/* A figure as people read it. */
static void figures(void **state)
{
    static const struct {
        enum util_unit unit;
        double value;
        const char *text;
    } rows[] = {
        {UTIL_COUNT, 2, "2"},
        {UTIL_COUNT, 5.967, "5.97"},
        {UTIL_CORES, 1.585, "1.58 cores"},
        {UTIL_CORES, 0.000864, "<0.001 cores"},
        {UTIL_SHARE, 0.713, "71.3 %"},
        {UTIL_BYTES, 7340032, "7 MiB"},
        {UTIL_BYTES, -1, "-1 bytes"},
        {UTIL_BYTES_S, 2048, "2 KiB/s"},
        {UTIL_PER_S, 30.21, "30.2/s"},
        {UTIL_WATTS, 412, "412 W"},
        {UTIL_CELSIUS, 61,
         "61 \xc2\xb0"
         "C"},
        {UTIL_MHZ, 1980, "1,980 MHz"},
    };
    char buf[JP_FIGURE_LEN];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_string_equal(util_figure(rows[i].unit, rows[i].value, buf),
                            rows[i].text);
}

int main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, tempdir_make, tempdir_drop)
    const struct CMUnitTest tests[] = {
        TEST(there_and_back),    TEST(digits),
        TEST(beyond_the_cap),    TEST(cut_anywhere),
        TEST(hostile_lines),     TEST(foreign_files),
        TEST(links_are_refused), TEST(folder_renamed),
        TEST(name_taken),        TEST(figures)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
