/* test_clock_rows.c - the file of windows, from its writer to its reader. */
#include <errno.h>
#include <inttypes.h>
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

#include "common/fileio.h"
#include "plugins/clock/clock_work.h"
#include "tests/common/tempdir.h"

static const char *const names[] = {"n0", "n1", "n2"};
static const struct clock_conf conf = {.cadence_us = 50000,
                                       .window_ms = 4000,
                                       .spacing_us = 100,
                                       .net.interfaces = "=eth0,ib"};

static const struct clock_origin origin = {
    .job = 42,
    .step = "3",
    .node = "n1",
    .nodes = names,
    .node_id = 1,
    .n_nodes = 3,
    .port = 4711,
    .address = "10.0.0.1",
    .source = "kernel_sw",
    .conf = &conf,
    .look = {1000, 1700000000000001000, 900, 40}};

static struct clock_window window_of(uint64_t id)
{
    int64_t start = (int64_t) id * 4000000000;

    return (struct clock_window){.id = id,
                                 .from = 1,
                                 .to = id % 2 ? 2 : 0,
                                 .start_ns = start,
                                 .end_ns = start + 4000000000,
                                 .beta_ns = -3140000000,
                                 .slope = 12.5e-6,
                                 .margin_ns = 110.5,
                                 .unc_ns = 50,
                                 .rtt_min_ns = 221,
                                 .exchanges = 60,
                                 .lost = 2,
                                 .no_stamp = 1,
                                 .disturbed = 3,
                                 .pure_there = 0.5,
                                 .pure_back = 1,
                                 .status = CLOCK_OK};
}

static void make_folder(const char *dir)
{
    char *nodes = tempdir_path(dir, "nodes"),
         *node = tempdir_path(dir, "nodes/n1");

    assert_int_equal(mkdir(nodes, 0700) | mkdir(node, 0700), 0);
    free(nodes);
    free(node);
}

/* The commands in XLA's guide search for these texts. */
static void has_text(const char *path, const char *what, size_t times)
{
    size_t found = 0;
    char *text;

    assert_int_equal(fileio_read(path, false, 1 << 20, &text, NULL, NULL), 0);
    for (const char *at = text; (at = strstr(at, what)); at++)
        found++;
    assert_int_equal(found, times);
    free(text);
}

static void all_records(void **state)
{
    char *dir = *state, *path = tempdir_path(dir, "nodes/n1/" CLOCK_FILE);
    struct clock_window w = window_of(7), bad = window_of(8);
    struct clock_look look = {2000, 1700000005000002000, 1900, 40};
    struct clock_file file = {.node = ""};
    struct clock_rows rows;
    int64_t ahead;

    make_folder(dir);
    bad.status = CLOCK_CROSSED;
    assert_int_equal(clock_rows_open(&rows, dir, &origin, 1 << 20, NULL), 0);
    assert_int_equal(clock_rows_window(&rows, &w, NULL), 0);
    assert_int_equal(clock_rows_window(&rows, &bad, NULL), 0);
    assert_int_equal(clock_rows_step(&rows, &look, 5000000000, NULL), 0);
    assert_int_equal(clock_rows_failure(&rows, 1, 0, 17, 3000, "lost", NULL),
                     0);
    clock_rows_close(&rows);
    has_text(path, "\"message\":\"Window completed\"", 1);
    has_text(path, "\"type\":\"window_stats\"", 2);
    has_text(path, "\"alpha\":1.0000125", 1);
    has_text(path, "\"beta\":-3140000000", 1);
    has_text(path, "\"status\":\"failed\"", 1);
    assert_int_equal(clock_file_read(path, &file, NULL), 0);
    assert_string_equal(file.node, "n1");
    assert_int_equal(file.node_id, 1);
    assert_int_equal(file.nodes, 3);
    assert_int_equal(file.job, 42);
    assert_int_equal(file.window_ms, 4000);
    assert_int_equal(file.bad_lines, 0);
    assert_int_equal(file.n_windows, 2);
    assert_int_equal(file.windows[1].status, CLOCK_CROSSED);
    assert_true(file.windows[0].beta_ns == w.beta_ns &&
                file.windows[0].start_ns == w.start_ns &&
                file.windows[0].end_ns == w.end_ns);
    /* alpha has 12 decimals */
    assert_true(file.windows[0].slope > 12.4999e-6 &&
                file.windows[0].slope < 12.5001e-6);
    assert_int_equal(file.windows[0].exchanges, 60);
    assert_int_equal(file.windows[0].lost, 2);
    assert_int_equal(file.windows[0].no_stamp, 1);
    assert_int_equal(file.windows[0].disturbed, 3);
    assert_int_equal(file.windows[0].rtt_min_ns, 221);
    assert_true(file.windows[0].pure_there == 0.5 &&
                file.windows[0].margin_ns == 110.5);
    assert_int_equal(file.n_walls, 2);
    assert_true(file.walls[1].is_set && !file.walls[0].is_set);
    assert_true(clock_file_wall(&file, 500, &ahead));
    assert_true(ahead == 1700000000000000000);
    assert_true(clock_file_wall(&file, 1999, &ahead));
    assert_true(ahead == 1700000000000000000);
    assert_true(clock_file_wall(&file, 2000, &ahead));
    assert_true(ahead == 1700000005000000000);
    clock_file_fini(&file);
    free(path);
}

/* The file never exceeds its limit, and has windows of the whole run. */
static void bounded(void **state)
{
    enum { MOST = 64 * 1024, WINDOWS = 20000 };
    char *dir = *state, *path = tempdir_path(dir, "nodes/n1/" CLOCK_FILE);
    struct clock_file file = {.node = ""};
    struct clock_rows rows;
    struct stat st;
    uint64_t last = 0, gap = 0;

    make_folder(dir);
    assert_int_equal(clock_rows_open(&rows, dir, &origin, MOST, NULL), 0);
    for (uint64_t id = 0; id < WINDOWS; id++) {
        struct clock_window w = window_of(id);
        struct clock_look look = {1000 + (int64_t) id, (int64_t) id, 0, 1};

        assert_int_equal(clock_rows_window(&rows, &w, NULL), 0);
        assert_int_equal(clock_rows_snapshot(&rows, &look, NULL), 0);
        assert_int_equal(
            clock_rows_failure(&rows, 1, 0, 17, 3000, "lost", NULL), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size <= MOST);
        assert_true((uint64_t) st.st_size == rows.bytes);
    }
    clock_rows_close(&rows);
    assert_int_equal(clock_file_read(path, &file, NULL), 0);
    assert_int_equal(file.bad_lines, 0);
    assert_true(file.n_windows > 30);
    for (size_t i = 0; i < file.n_windows; i++) {
        gap = file.windows[i].id - last > gap ? file.windows[i].id - last : gap;
        last = file.windows[i].id;
    }
    assert_true(gap <= 512 && WINDOWS - last <= 512);
    clock_file_fini(&file);
    free(path);
}

/* The node's folder is renamed and another one gets its name, also while the
 * file is rewritten; an older file and a link with the file's name are
 * replaced. */
static void held_folder(void **state)
{
    enum { MOST = 64 * 1024, WINDOWS = 5000 };
    char *victim = tempdir_file(*state, "victim", 0600, "mine"), *text;
    char *node = tempdir_path(*state, "nodes/n1");
    char *path = tempdir_path(*state, "nodes/n1/" CLOCK_FILE);
    char *moved = tempdir_path(*state, "moved");
    char *new = tempdir_path(*state, "moved/" CLOCK_FILE);
    struct clock_file file = {.node = ""};
    struct clock_rows rows;

    make_folder(*state);
    assert_int_equal(link(victim, path), 0);
    assert_int_equal(clock_rows_open(&rows, *state, &origin, MOST, NULL), 0);
    for (uint64_t id = 0; id < WINDOWS; id++) {
        struct clock_window w = window_of(id);

        if (id == 50)
            assert_int_equal(rename(node, moved) | mkdir(node, 0700), 0);
        assert_int_equal(clock_rows_window(&rows, &w, NULL), 0);
    }
    clock_rows_close(&rows);
    assert_int_equal(rmdir(node), 0); /* it is empty */
    assert_int_equal(clock_file_read(new, &file, NULL), 0);
    assert_int_equal(file.bad_lines, 0);
    assert_true(file.n_windows > 30 &&
                file.windows[file.n_windows - 1].id > WINDOWS / 2);
    clock_file_fini(&file);
    assert_int_equal(fileio_read(victim, false, 100, &text, NULL, NULL), 0);
    assert_string_equal(text, "mine");
    free(text);
    free(victim);
    free(node);
    free(path);
    free(moved);
    free(new);
}

/* No room at all, and a folder that does not exist. */
static void no_place(void **state)
{
    struct jp_error err = {""};
    struct clock_rows rows;

    assert_int_equal(clock_rows_open(&rows, *state, &origin, 1 << 20, &err),
                     -1);
    assert_non_null(strstr(err.text, CLOCK_FILE));
    make_folder(*state);
    assert_int_equal(clock_rows_open(&rows, *state, &origin, 10, NULL), 0);
    assert_int_equal(rows.bytes, 0);
    clock_rows_close(&rows);
}

static const char config[] =
    "{\"v\":1,\"type\":\"config\",\"node_id\":1,\"node\":\"n1\",\"nodes\":3}\n";

/* The file cut at every byte, and with every byte changed. */
static void damaged(void **state)
{
    char *dir = *state, *path = tempdir_path(dir, "nodes/n1/" CLOCK_FILE),
         *text;
    struct clock_window w = window_of(7);
    struct clock_file file;
    struct clock_rows rows;
    size_t len;

    make_folder(dir);
    assert_int_equal(clock_rows_open(&rows, dir, &origin, 1 << 20, NULL), 0);
    assert_int_equal(clock_rows_window(&rows, &w, NULL), 0);
    clock_rows_close(&rows);
    assert_int_equal(fileio_read(path, false, 1 << 20, &text, &len, NULL), 0);
    for (size_t n = 0; n < len; n++)
        if (clock_file_parse(text, n, &file, NULL) == 0) {
            assert_int_equal(file.n_windows, 0);
            clock_file_fini(&file);
        }
    for (size_t i = 0; i < len; i++)
        for (int c = 0; c < 256; c += 15) {
            char was = text[i];

            text[i] = (char) c;
            if (clock_file_parse(text, len, &file, NULL) == 0)
                clock_file_fini(&file);
            text[i] = was;
        }
    free(text);
    free(path);
}

static void hostile(void **state)
{
    static const char start[] =
        "{\"type\":\"window_stats\",\"window_id\":1,\"node_id\":1,\"dst\":2,";
    static const char end[] = "\"exchanges\":9,\"lost\":0,\"notx\":0}\n";
    static const struct {
        const char *part;
        size_t windows;
    } table[] = {
        {"\"start_ns\":0,\"end_ns\":1,\"status\":\"few\",", 1},
        {"\"start_ns\":0,\"end_ns\":1,\"status\":\"fine\",", 0},
        {"\"start_ns\":0,\"end_ns\":1,", 0},
        {"\"start_ns\":2,\"end_ns\":1,\"status\":\"few\",", 0},
        {"\"start_ns\":0,\"end_ns\":9223372036854775807,\"status\":\"few\",",
         0},
        {"\"start_ns\":0,\"end_ns\":1,\"status\":\"ok\",", 0},
        {"\"start_ns\":0,\"end_ns\":1,\"status\":\"ok\",\"alpha\":1,"
         "\"beta_ns\":5,\"margin_ns\":1,\"unc_ns\":1,",
         1},
        {"\"start_ns\":0,\"end_ns\":1,\"status\":\"ok\",\"alpha\":2,"
         "\"beta_ns\":5,\"margin_ns\":1,\"unc_ns\":1,",
         0},
        {"\"start_ns\":0,\"end_ns\":1,\"status\":\"ok\",\"alpha\":nan,"
         "\"beta_ns\":5,\"margin_ns\":1,\"unc_ns\":1,",
         0},
        {"\"start_ns\":0,\"end_ns\":1,\"status\":\"ok\",\"alpha\":1e999,"
         "\"beta_ns\":5,\"margin_ns\":1,\"unc_ns\":1,",
         0},
        {"\"start_ns\":0,\"end_ns\":1,\"status\":\"ok\",\"alpha\":1,"
         "\"beta_ns\":5,\"margin_ns\":1,\"unc_ns\":-1,",
         0},
    };
    static const char *const none[] = {
        "",
        "\n",
        "{}\n",
        "null\n",
        "{\"type\":\"config\",\"node_id\":3,\"node\":\"n1\",\"nodes\":3}\n",
        "{\"type\":\"config\",\"node_id\":1,\"node\":\"../n1\",\"nodes\":3}\n",
        "{\"type\":\"config\",\"node_id\":1,\"node\":\"\",\"nodes\":3}\n",
        "{\"type\":\"window_stats\"}\n"};
    struct clock_file file;
    struct jp_error err = {""};
    char text[1000];

    (void) state;
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_int_equal(
            clock_file_parse(none[i], strlen(none[i]), &file, &err), -1);
    assert_non_null(strstr(err.text, "config"));
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        snprintf(text, sizeof(text), "%s%s%s%s", config, start, table[i].part,
                 end);
        assert_int_equal(clock_file_parse(text, strlen(text), &file, NULL), 0);
        if (file.n_windows != table[i].windows ||
            file.bad_lines != 1 - table[i].windows)
            fail_msg("row %zu: %zu windows", i, file.n_windows);
        clock_file_fini(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_records, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(bounded, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(held_folder, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(no_place, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(damaged, tempdir_make, tempdir_drop),
        cmocka_unit_test(hostile),
    };

    return cmocka_run_group_tests_name("clock_rows", tests, NULL, NULL);
}
