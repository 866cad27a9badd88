/* test_knownbad.c - the list of bad releases: bad rows first, then matching. */
#include "common/knownbad.h"

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
#include "common/knob.h"
#include "tests/common/foreign_leaks.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

/* Everything that was reported, line by line. */
struct lines {
    char text[4096];
    size_t n;
};

static void add_line(void *arg, const char *sentence)
{
    struct lines *lines = arg;
    size_t len = strlen(lines->text);

    snprintf(lines->text + len, sizeof(lines->text) - len, "%s\n", sentence);
    lines->n++;
}

static void say_line(void *arg, const struct knownbad_row *row,
                     const char *sentence)
{
    (void) row;
    add_line(arg, sentence);
}

/* The file fails as a whole, with that part of a sentence; nothing changes. */
static void refuse(const char *path, const char *sentence)
{
    struct jp_knownbad list, before;
    struct lines lines = {"", 0};
    struct jp_error err = {""};

    memset(&list, 0x5a, sizeof(list));
    before = list;
    alarm(10); /* a reader that blocks fails the test */
    assert_int_equal(knownbad_load(path, true, add_line, &lines, &list, &err),
                     -1);
    alarm(0);
    if (!strstr(err.text, sentence) || !strstr(lines.text, sentence))
        fail_msg("\"%s\" lacks \"%s\"", err.text, sentence);
    assert_int_equal(lines.n, 1);
    assert_memory_equal(&list, &before, sizeof(list));
    assert_int_equal(knownbad_load(path, true, NULL, NULL, &list, NULL), -1);
}

static void refuse_text(const char *dir, const char *text, const char *sentence)
{
    char *path = tempdir_file(dir, "bad.conf", 0600, text);

    refuse(path, sentence);
    free(path);
}

/* A folder in which anybody could replace the list. */
static void test_folder(void **state)
{
    char *folder = tempdir_path(*state, "open"), *path;
    struct jp_knownbad list;

    assert_int_equal(mkdir(folder, 0755) | chmod(folder, 0757), 0);
    path = tempdir_file(*state, "open/list.conf", 0644, "known_bad = ( );");
    refuse(path, "open: writable by everybody");
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(knownbad_load(path, true, NULL, NULL, &list, NULL), 0);
    knownbad_fini(&list);
    free(path);
    free(folder);
}

static void test_bad_files(void **state)
{
    const char *dir = *state;
    char *path = tempdir_path(dir, "missing"), *big;
    struct jp_knownbad list;

    refuse(path, "missing: No such file");
    assert_int_equal(knownbad_load(path, false, NULL, NULL, &list, NULL), 0);
    assert_int_equal(list.n, 0);
    knownbad_fini(&list);
    knownbad_fini(NULL);
    free(path);
    refuse(dir, "not a regular file");
    path = tempdir_path(dir, "fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    refuse(path, "not a regular file");
    free(path);
    path = tempdir_file(dir, "open.conf", 0660, "");
    refuse(path, "writable by its group (mode 0660)");
    free(path);
    big = tempdir_file(dir, "big.conf", 0600, "");
    assert_int_equal(truncate(big, 2 << 20), 0);
    refuse(big, "2097152 bytes are too many");
    free(big);
    free(tempdir_file(dir, "other.conf", 0600, "# nothing\n"));
    refuse_text(dir, "@include \"other.conf\"\n", "@include is not allowed");
    refuse_text(dir, "@include \"/tmp\"\n", "not a regular file");
    refuse_text(dir, "known_bad = (", "bad.conf:1: syntax error");
    refuse_text(dir, "\nknown_bad = \"open", "bad.conf:2: a string has no end");
    refuse_text(dir, "known_bad = ();\nknown_bad = ();", "duplicate setting");
    refuse_text(dir, "known_bad = (\n{ mode = \"any\"; mode = \"any\"; });",
                "bad.conf:2: duplicate setting");
}

/* Each is the only row of a file: it is left out, and the file is accepted. */
#define REST "action = \"warn\"; symptom = \"s\"; source = \"https://x/1\"; }"
static const struct {
    const char *text, *error;
} bad_rows[] = {
    {"known_bad = { };", "\"known_bad\" is not a list"},
    {"known_bad = [ \"x\" ];", "\"known_bad\" is not a list"},
    {"known_bad = 3;", "\"known_bad\" is not a list"},
    {"known_bda = ();", "unknown key \"known_bda\"; did you mean"},
    {"known_bad = (\n 3 );", "a row is not a group"},
    {"known_bad = (\n ( ) );", "a row is not a group"},
    {"known_bad = (\n { } );", "bad.conf:2: \"since\" is missing"},
    {"known_bad = ({ since = \"2.28\";\n sinec = \"2\"; });",
     "bad.conf:2: unknown key \"sinec\"; did you mean \"since\"?"},
    {"known_bad = ({ wibble = 1; });", "bad.conf:1: unknown key \"wibble\""},
    {"known_bad = ({\n since = 2.28; mode = \"any\"; " REST " );",
     "bad.conf:2: since: is not a string in quotes"},
    {"known_bad = ({ since = \"2.30.\"; });",
     "since: \"2.30.\" is not an NCCL release"},
    {"known_bad = ({ since = \"2.22\"; });", "has no profiler interface"},
    {"known_bad = ({ since = \"-1.2\"; });", "is not an NCCL release"},
    {"known_bad = ({ since = \"\"; });", "is not an NCCL release"},
    {"known_bad = ({ since = \"2.28.9\";\n until = \"2.28.3\";\n"
     "mode = \"any\"; " REST " );",
     "bad.conf:3: until: is before since"},
    {"known_bad = ({ since = \"2.28\"; });", "\"mode\" is missing"},
    {"known_bad = ({ since = \"2.28\";\nmode = \"inspecter\"; });",
     "bad.conf:2: mode: \"inspecter\" is not one of "
     "any|inspector|rccl-inspector|"
     "example|recorder; did you mean \"inspector\"?"},
    {"known_bad = ({ since = \"2.28\"; mode = \"any\"; action = \"none\"; });",
     "action: \"none\" is not one of note|warn|fallback"},
    {"known_bad = ({ since = \"2.28\"; mode = \"any\"; action = \"wran\"; });",
     "did you mean \"warn\"?"},
    {"known_bad = ({ since = \"2.28\"; mode = \"any\"; action = \"warn\";\n"
     "symptom = \"\"; });",
     "bad.conf:2: symptom: the value is empty"},
    {"known_bad = ({ since = \"2.28\"; mode = \"any\"; action = \"warn\";\n"
     "symptom = \"a\\x1b[31m\"; });",
     "symptom: has a control character (U+001B)"},
    {"known_bad = ({ since = \"2.28\"; mode = \"any\"; action = \"warn\";\n"
     "symptom = \"s\"; source = \"https://x/\xc1/\"; });",
     "source: byte 11 (\\xc1) is not UTF-8"},
    {"known_bad = ({ since = \"2.28\"; mode = \"any\"; action = \"warn\";\n"
     "symptom = \"a \xe2\x80\xae b\"; });",
     "symptom: has a control character (U+202E)"},
    {"known_bad = ({ since = \"2.28\"; mode = \"any\"; action = \"warn\";\n"
     "symptom = \"s\"; });",
     "\"source\" is missing"},
    {"known_bad = ({ since = \"2.28\"; mode = \"any\"; action = \"warn\";\n"
     "symptom = \"s\"; source = \"http://x\"; });",
     "source: \"http://x\" is not an https:// address"},
    {"known_bad = ({ since = \"2.28\"; mode = \"any\"; action = \"warn\";\n"
     "symptom = \"s\"; source = \"https://\"; });",
     "is not an https:// address"},
};

static void test_bad_rows(void **state)
{
    for (size_t i = 0; i < N(bad_rows); i++) {
        char *path = tempdir_file(*state, "bad.conf", 0600, bad_rows[i].text);
        struct jp_error err = {""};
        struct lines lines = {"", 0};
        struct jp_knownbad list;

        assert_int_equal(
            knownbad_load(path, true, add_line, &lines, &list, &err), 0);
        assert_int_equal(list.n, 0);
        assert_int_equal(lines.n, 1);
        if (!strstr(lines.text, bad_rows[i].error))
            fail_msg("\"%s\" lacks \"%s\"", lines.text, bad_rows[i].error);
        knownbad_fini(&list);
        assert_int_equal(knownbad_load(path, true, NULL, NULL, &list, NULL), 0);
        knownbad_fini(&list);
        free(path);
    }
}

static void load(const char *dir, const char *text, struct jp_knownbad *list,
                 struct lines *lines)
{
    char *path = tempdir_file(dir, "list.conf", 0644, text);
    struct jp_error err = {""};

    if (knownbad_load(path, true, add_line, lines, list, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
}

/* The good rows around a bad one remain, in order and with their lines. */
static void test_rest_stays(void **state)
{
    struct lines lines = {"", 0};
    struct jp_knownbad list;

    load(*state,
         "known_bad = (\n"
         "{ since = \"2.28\"; mode = \"any\"; " REST ",\n"
         "{ since = \"2.28\"; mode = \"all\"; " REST ",\n"
         "{ since = \"2.29.2\"; until = \"2.29\"; mode = \"example\"; " REST
         ");\nextra = 1;\n",
         &list, &lines);
    assert_int_equal(lines.n, 2);
    assert_non_null(strstr(lines.text, "list.conf:3: mode: \"all\""));
    assert_non_null(strstr(lines.text, "list.conf:5: unknown key \"extra\""));
    assert_int_equal(list.n, 2);
    assert_true(list.rows[0].open);
    assert_int_equal(list.rows[0].since, 2028000);
    assert_non_null(strstr(list.rows[0].where, "list.conf:2"));
    assert_false(list.rows[1].open);
    assert_int_equal(list.rows[1].since, 2029002);
    assert_int_equal(list.rows[1].until, 2029999);
    assert_int_equal(list.rows[1].action, KNOWNBAD_WARN);
    knownbad_fini(&list);
    assert_int_equal(list.n, 0);
}

/* Texts of the maximum length are complete in the sentence; longer ones are
 * refused. The same holds for the number of rows. */
static void say_long(void *arg, const struct knownbad_row *row,
                     const char *sentence)
{
    (void) row;
    assert_string_equal(sentence + strlen(sentence) - 3, "01)");
    ++*(size_t *) arg;
}

static void test_bounds(void **state)
{
    static const char row[] = "{ since = \"2.23\"; until = \"99.999.998\"; "
                              "mode = \"inspector\"; action = \"warn\"; "
                              "symptom = \"%0*d\"; source = \"https://%0*d\"; "
                              "},";
    char *text = malloc(512 * (KNOWNBAD_MAX_ROWS + 4)), *end = text;
    struct lines lines = {"", 0};
    struct jp_knownbad list;
    size_t said = 0;

    end += snprintf(end, 16, "known_bad = (\n");
    end += snprintf(end, 512, row, KNOWNBAD_SYMPTOM_MAX + 1, 1, 9, 1);
    end += snprintf(end, 512, row, 9, 1, KNOWNBAD_SOURCE_MAX - 7, 1);
    for (int i = 0; i < KNOWNBAD_MAX_ROWS; i++)
        end += snprintf(end, 512, row, KNOWNBAD_SYMPTOM_MAX, 1,
                        KNOWNBAD_SOURCE_MAX - 8, 1);
    snprintf(end, 16, "{ });");
    load(*state, text, &list, &lines);
    free(text);
    assert_int_equal(lines.n, 3);
    assert_non_null(strstr(lines.text, "symptom: 241 bytes are too many"));
    assert_non_null(strstr(lines.text, "source: 121 bytes are too many"));
    assert_non_null(strstr(lines.text, "259 rows are too many (at most 256)"));
    assert_int_equal(list.n, KNOWNBAD_MAX_ROWS - 2);
    knownbad_check(&list, "inspector", "99.999.998", 99999998, say_long, &said);
    assert_int_equal(said, KNOWNBAD_MAX_ROWS - 2);
    knownbad_check(&list, "inspector", "99.999", 99999999, say_long, &said);
    assert_int_equal(said, 2 * (KNOWNBAD_MAX_ROWS - 2));
    knownbad_fini(&list);
}

static const char matching[] =
    "known_bad = (\n"
    "{ since = \"2.28.3\"; until = \"2.30.7\"; mode = \"example\";\n"
    "  action = \"warn\"; symptom = \"A\"; source = \"https://x/a\"; },\n"
    "{ since = \"2.28\"; until = \"2.29.7\"; mode = \"inspector\";\n"
    "  action = \"warn\"; symptom = \"B\"; source = \"https://x/b\"; },\n"
    "{ since = \"2.30\"; mode = \"any\"; action = \"note\";\n"
    "  symptom = \"C\"; source = \"https://x/c\"; },\n"
    "{ since = \"2.28\"; until = \"2.28\"; mode = \"inspector\";\n"
    "  action = \"fallback\"; symptom = \"D\"; source = \"https://x/d\"; });\n";

static const struct {
    const char *mode, *release;
    enum knownbad_action worst;
    const char *lines; /* in this order */
} matches[] = {
    {"plan", "2.28.3", KNOWNBAD_NONE, ""},
    {"any", "2.30.3", KNOWNBAD_NONE, ""},
    {"", "2.30.3", KNOWNBAD_NONE, ""},
    {NULL, "2.30.3", KNOWNBAD_NONE, ""},
    {"example", "2.27.7", KNOWNBAD_NONE, ""},
    {"example", "2.27", KNOWNBAD_NONE, ""},
    {"example", "2.28.2", KNOWNBAD_NONE, ""},
    {"example", "2.28.3", KNOWNBAD_WARN,
     "NCCL 2.28.3, example: A (https://x/a)\n"},
    {"example", "2.28", KNOWNBAD_WARN,
     "NCCL 2.28.x may be affected (2.28.3 to 2.30.7), example: A "
     "(https://x/a)\n"},
    {"example", "2.29", KNOWNBAD_WARN,
     "NCCL 2.29.x, example: A (https://x/a)\n"},
    {"example", "2.30.7", KNOWNBAD_WARN,
     "NCCL 2.30.7, example: A (https://x/a)\n"
     "NCCL 2.30.7, example: C (https://x/c)\n"},
    {"example", "2.30", KNOWNBAD_WARN,
     "NCCL 2.30.x may be affected (2.28.3 to 2.30.7), example: A "
     "(https://x/a)\n"
     "NCCL 2.30.x, example: C (https://x/c)\n"},
    {"example", "2.30.8", KNOWNBAD_NOTE,
     "NCCL 2.30.8, example: C (https://x/c)\n"},
    {"recorder", "2.28.3", KNOWNBAD_NONE, ""},
    {"recorder", "99.1", KNOWNBAD_NOTE,
     "NCCL 99.1.x, recorder: C (https://x/c)\n"},
    {"inspector", "2.28.9", KNOWNBAD_FALLBACK,
     "NCCL 2.28.9, inspector: D (https://x/d)\n"
     "NCCL 2.28.9, inspector: B (https://x/b)\n"},
    {"inspector", "2.28", KNOWNBAD_FALLBACK,
     "NCCL 2.28.x, inspector: D (https://x/d)\n"
     "NCCL 2.28.x, inspector: B (https://x/b)\n"},
    {"inspector", "2.29", KNOWNBAD_WARN,
     "NCCL 2.29.x may be affected (2.28 to 2.29.7), inspector: B "
     "(https://x/b)\n"},
};

static uint64_t release_of(const char *text)
{
    static const struct jp_knob knob = {.kind = JP_KNOB_VERSION};
    uint64_t release = 0;

    assert_int_equal(knob_number(&knob, text, &release, NULL), 0);
    return release;
}

static void test_matches(void **state)
{
    struct lines reported = {"", 0};
    struct jp_knownbad list;

    load(*state, matching, &list, &reported);
    assert_int_equal(reported.n, 0);
    for (size_t i = 0; i < N(matches); i++) {
        uint64_t release = release_of(matches[i].release);
        struct lines lines = {"", 0};

        assert_int_equal(knownbad_check(&list, matches[i].mode,
                                        matches[i].release, release, say_line,
                                        &lines),
                         matches[i].worst);
        assert_string_equal(lines.text, matches[i].lines);
        assert_int_equal(knownbad_check(&list, matches[i].mode,
                                        matches[i].release, release, NULL,
                                        NULL),
                         matches[i].worst);
    }
    knownbad_fini(&list);
}

/* A row without an end and a release without a patch. */
static void test_open_end(void **state)
{
    struct lines reported = {"", 0}, lines = {"", 0};
    struct jp_knownbad list;

    load(*state,
         "known_bad = ({ since = \"2.30.3\"; mode = \"any\"; " REST ");", &list,
         &reported);
    knownbad_check(&list, "recorder", "2.30", release_of("2.30"), say_line,
                   &lines);
    assert_string_equal(lines.text, "NCCL 2.30.x may be affected (2.30.3 and "
                                    "later), recorder: s (https://x/1)\n");
    knownbad_fini(&list);
}

/* Only users of kernel events get the warnings about 2.26 and 2.27. */
static void check_kernel_rows(const struct jp_knownbad *list)
{
    static const struct {
        const char *mode, *release, *words;
    } told[] = {
        {"example", "2.25.1", NULL},
        {"example", "2.26.2", "jobprof leaves them out of the event mask"},
        {"example", "2.27", "jobprof leaves them out of the event mask"},
        {"example", "2.28", NULL},
        {"recorder", "2.25.1", NULL},
        {"recorder", "2.26.2", "the recorder asks for none"},
        {"recorder", "2.27.7", "the recorder asks for none"},
        {"recorder", "2.28.3", NULL},
    };

    for (size_t i = 0; i < N(told); i++) {
        struct lines lines = {"", 0};
        const char *words = told[i].words ? told[i].words : "issues/2039";

        knownbad_check(list, told[i].mode, told[i].release,
                       release_of(told[i].release), say_line, &lines);
        if ((strstr(lines.text, words) != NULL) != (told[i].words != NULL))
            fail_msg("%s %s: %s", told[i].mode, told[i].release, lines.text);
    }
}

/* The shipped list has no mistake and contains the important cases. */
static void test_shipped(void **state)
{
    static const struct {
        const char *mode, *release;
        enum knownbad_action worst;
    } cases[] = {
        {"inspector", "2.28.9", KNOWNBAD_FALLBACK},
        {"inspector", "2.29.7", KNOWNBAD_FALLBACK},
        {"inspector", "2.29", KNOWNBAD_FALLBACK},
        {"inspector", "2.30.3", KNOWNBAD_NOTE},
        {"inspector", "2.30", KNOWNBAD_NOTE},
        {"example", "2.24", KNOWNBAD_WARN},
        {"example", "2.29.7", KNOWNBAD_WARN},
        {"example", "2.30.3", KNOWNBAD_WARN},
        {"recorder", "2.25.1", KNOWNBAD_WARN},
        {"recorder", "2.26.6", KNOWNBAD_WARN},
        {"recorder", "2.27.3", KNOWNBAD_WARN},
        {"recorder", "2.27.7", KNOWNBAD_WARN},
        {"recorder", "2.28.9", KNOWNBAD_NOTE},
        {"recorder", "2.30", KNOWNBAD_NOTE},
        {"recorder", "2.31.2", KNOWNBAD_WARN},
    };
    const char *top = getenv("top_srcdir");
    char *path = tempdir_path(top ? top : JP_SRCDIR, "etc/nccl-known-bad.conf");
    struct lines reported = {"", 0};
    struct jp_error err = {""};
    char *text = NULL, declined[512];
    struct jp_knownbad list;

    if (fileio_read(path, true, 1 << 20, &text, NULL, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
    /* the source tree may belong to anybody */
    load(*state, text, &list, &reported);
    free(text);
    if (reported.n)
        fail_msg("%s", reported.text);
    assert_in_range(list.n, 10, KNOWNBAD_MAX_ROWS);
    for (size_t i = 0; i < list.n; i++)
        if (strncmp(list.rows[i].source, "https://github.com/NVIDIA/nccl/", 31))
            fail_msg("%s: no public source", list.rows[i].where);
    for (size_t i = 0; i < N(cases); i++)
        if (knownbad_check(&list, cases[i].mode, cases[i].release,
                           release_of(cases[i].release), NULL,
                           NULL) != cases[i].worst)
            fail_msg("%s %s", cases[i].mode, cases[i].release);
    /* no row requires anything that could end the program */
    assert_string_equal(
        knownbad_ranges(&list, "recorder", declined, sizeof(declined)), "");
    check_kernel_rows(&list);
    knownbad_fini(&list);
}

/* The ranges that the recorder gets to decline. */
static void test_ranges(void **state)
{
    static const char text[] =
        "known_bad = ("
        "{ since = \"2.27.3\"; until = \"2.27.3\"; mode = \"any\"; "
        "action = \"fallback\"; symptom = \"a\"; source = "
        "\"https://x/1\"; },"
        "{ since = \"2.28\"; until = \"2.28.5\"; mode = \"recorder\"; "
        "action = \"fallback\"; symptom = \"a\"; source = "
        "\"https://x/2\"; },"
        "{ since = \"2.29\"; mode = \"recorder\"; action = \"warn\"; "
        "symptom = \"a\"; source = \"https://x/3\"; },"
        "{ since = \"2.32\"; mode = \"recorder\"; action = \"fallback\"; "
        "symptom = \"a\"; source = \"https://x/4\"; });";
    struct jp_knownbad list = {0};
    char *path = tempdir_file(*state, "ranges.conf", 0600, text);
    struct jp_error err = {""};
    char buf[64];

    if (knownbad_load(path, true, NULL, NULL, &list, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(list.n, 4);
    assert_string_equal(knownbad_ranges(&list, "recorder", buf, sizeof(buf)),
                        "2.27.3,2.28-2.28.5,2.32-");
    assert_string_equal(knownbad_ranges(&list, "example", buf, sizeof(buf)),
                        "2.27.3");
    assert_string_equal(knownbad_ranges(&list, "wibble", buf, sizeof(buf)), "");
    /* what does not fit is left out whole */
    assert_string_equal(knownbad_ranges(&list, "recorder", buf, 12), "2.27.3");
    knownbad_fini(&list);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),     cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_folder),     cmocka_unit_test(test_bad_rows),
        cmocka_unit_test(test_rest_stays), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_matches),    cmocka_unit_test(test_open_end),
        cmocka_unit_test(test_shipped),
    };

    return cmocka_run_group_tests_name("knownbad", tests, tempdir_make,
                                       tempdir_drop);
}
