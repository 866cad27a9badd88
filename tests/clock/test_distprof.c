/* test_distprof.c - the JSON file and the variables of XLA's distributed
 * profiling, as --clock-profile takes them. */
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

#include "common/grammar.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static const struct {
    const char *text, *error; /* after the path; "" is a good file */
} json_rows[] = {
    {"{}", ""},
    {"{\"enabled\": true, \"probe_cadence_us\": 800, \"probe_window_s\": 4,\n"
     "\"packet_spacing_us\": 100, \"snapshot_period_ms\": 100,\n"
     "\"output_dir\": \"/tmp/xla_dist_prof\"}",
     ""},
    {"", ":1:0: '[' or '{' expected near end of file"},
    {"[]", ":1:1: not an object"},
    {"[[1]]", ":1:1: not an object"},
    {"1", ":1:1: '[' or '{' expected near '1'"},
    {"\xef\xbb\xbf{}", ":1:1: "},
    {"{\n  \"enabled\": true,\n}", ":3:1: string or '}' expected near '}'"},
    {"{\"enabled\": tru}", ":1:15: invalid token near 'tru'"},
    {"{} {}", ":1:4: end of file expected near '{'"},
    {"{\"probe_cadence_us\": NaN}", ":1:24: invalid token near 'NaN'"},
    {"{\"probe_cadence_us\": Infinity}", "invalid token"},
    {"{\"probe_cadence_us\": 1e999}", "real number overflow"},
    {"{\"probe_cadence_us\": 99999999999999999999}", "too big integer"},
    {"{\"probe_cadence_us\": 800.0}",
     ":1:2: \"probe_cadence_us\" is not a whole number"},
    {"{\"probe_cadence_us\": \"800\"}", "is not a whole number"},
    {"{\"probe_cadence_us\": null}", "is not a whole number"},
    {"{\"probe_cadence_us\": [800]}", "is not a whole number"},
    {"{\"probe_cadence_us\": -1}", ":1:2: probe_cadence_us: "},
    {"{\"probe_window_s\": 61}", "probe_window_s: 61 is out of range"},
    {"{\n \"enabled\": true,\n    \"probe_window_s\": 0\n}",
     ":3:5: probe_window_s: 0 is out of range"},
    {"{\"enabled\": 1}", ":1:2: \"enabled\" is not true or false"},
    {"{\"enabled\": \"true\"}", "is not true or false"},
    {"{\"output_dir\": 1}", "is not a string"},
    {"{\"output_dir\": \"tmp\"}", "output_dir: "},
    {"{\"output_dir\": \"/a\\nb\"}", "output_dir: "},
    {"{\"output_dir\": \"/a\\u0000b\"}", "\\u0000"},
    {"{\"enabled\": true, \"enabled\": false}", ":1:27: duplicate object key"},
    {"{\"probe_cadance_us\": 800}",
     ":1:2: unknown key \"probe_cadance_us\"; did you mean "
     "\"probe_cadence_us\"?"},
    {"{\"enabled\": true, \"a,\\\"b\": 1}", ":1:19: unknown key"},
    {"{\"x\": {\"enabled\": [{}, \"a\"]}, \"enabled\": 3}",
     ":1:2: unknown key"},
    {"{\"output_dir\": \"/a\", \"x\": 1}", ":1:22: unknown key \"x\""},
    {"{\"cadence\": 1}", "unknown key \"cadence\" (enabled, probe_cadence_us,"},
    {"{\"config\": \"/etc/passwd\"}", "unknown key \"config\""},
    {"{\"xla\": true}", "unknown key \"xla\""},
};

static void test_json(void **state)
{
    for (size_t i = 0; i < N(json_rows); i++) {
        char *path = tempdir_file(*state, "x.json", 0600, json_rows[i].text);
        struct jp_request request = {0};
        struct jp_error err = {""};
        int rc =
            request_read(grammar_of(OPTION_CLOCK), path, NULL, &request, &err);

        if (rc != (*json_rows[i].error ? -1 : 0) ||
            !strstr(err.text, json_rows[i].error) ||
            (rc < 0 && strncmp(err.text, path, strlen(path)) != 0))
            fail_msg("%s: %d \"%s\" lacks \"%s\"", json_rows[i].text, rc,
                     err.text, json_rows[i].error);
        request_fini(&request);
        free(path);
    }
}

/* A refused text that repeats a part n times. */
static void check_large(void *state, const char *unit, size_t n,
                        const char *after, const char *error)
{
    size_t len = strlen(unit);
    char *text = malloc(len * n + strlen(after) + 1), *path;
    struct jp_request request;
    struct jp_error err = {""};

    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        memcpy(text + i * len, unit, len);
    memcpy(text + n * len, after, strlen(after) + 1);
    path = tempdir_file(state, "large.json", 0600, text);
    assert_int_equal(
        request_read(grammar_of(OPTION_CLOCK), path, NULL, &request, &err), -1);
    if (!strstr(err.text, error))
        fail_msg("%s", err.text);
    free(path);
    free(text);
}

/* No file may block the reader or fill its memory. */
static void test_hostile_files(void **state)
{
    char *fifo = tempdir_path(*state, "fifo"),
         *folder = tempdir_path(*state, "folder"),
         *loop = tempdir_path(*state, "loop"),
         *link = tempdir_path(*state, "link"),
         *good = tempdir_file(*state, "good.json", 0600, "{\"enabled\": true}");
    const char *bad[] = {fifo,        folder,         loop,
                         "/dev/zero", "/nonexistent", "/dev/stdin"};
    struct jp_request request;
    struct jp_error err;

    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(symlink("loop", loop), 0);
    assert_int_equal(symlink("good.json", link), 0);
    for (size_t i = 0; i < N(bad); i++) {
        assert_int_equal(request_read(grammar_of(OPTION_CLOCK), bad[i], NULL,
                                      &request, &err),
                         -1);
        assert_non_null(strstr(err.text, bad[i]));
    }
    /* a link of the user, as for any settings file; a path in the user's
     * folder */
    assert_int_equal(
        request_read(grammar_of(OPTION_CLOCK), link, NULL, &request, &err), 0);
    request_fini(&request);
    assert_int_equal(request_read(grammar_of(OPTION_CLOCK), "good.json", *state,
                                  &request, &err),
                     0);
    assert_string_equal(request.values[0], "1");
    request_fini(&request);
    if (geteuid() == 0) { /* root reads no file that others can change */
        assert_int_equal(chmod(good, 0666), 0);
        assert_int_equal(
            request_read(grammar_of(OPTION_CLOCK), good, NULL, &request, &err),
            -1);
    }
    check_large(*state, " ", 1 << 20, "{}", "large.json");
    check_large(*state, "[", 60000, "", "large.json");
    check_large(*state, "{\"a\":", 10000, "", "large.json");
    check_large(*state, "[{},", 15000, "1]", "large.json");
    free(fifo);
    free(folder);
    free(loop);
    free(link);
    free(good);
}

/* Of another program's variables, only near misses are reported. */
static void test_names(void **state)
{
    static const struct {
        const char *pair, *meant;
    } cases[] = {
        {"XLA_PROBE_CADANCE_US=1", "XLA_PROBE_CADENCE_US"},
        {"XLA_PROBE_WINDOWS=4", "XLA_PROBE_WINDOW_S"},
        {"XLA_DIST_PROF_CONF=x", "XLA_DIST_PROF_CONFIG"},
        {"XLA_PROBE_CADENCE_US=1", NULL},
        {"XLA_FLAGS=--x", NULL},
        {"XLA_PYTHON_CLIENT_PREALLOCATE=false", NULL},
        {"XLA_ENABLE_PROBE_EXPORT=1", NULL},
        {"PATH=/bin", NULL},
    };

    for (size_t i = 0; i < N(cases); i++) {
        const char *meant = NULL;
        char name[64];
        int rc = ownvars_is_unknown(cases[i].pair, name, sizeof(name), &meant);

        if (rc != (cases[i].meant != NULL) ||
            (rc && strcmp(meant, cases[i].meant) != 0))
            fail_msg("%s: %d %s", cases[i].pair, rc, meant);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_json, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_hostile_files, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
