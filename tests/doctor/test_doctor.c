/* test_doctor.c - plugstack.conf and shared libraries, good and damaged. */
#include <fcntl.h>
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
#include "orchestrator/doctor/doctor.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

/* --- plugstack.conf ------------------------------------------------------- */

static const struct {
    const char *text;
    size_t lines;
    const char *plugin, *arg; /* of the first line; "": none */
    bool required, trouble;
} stacks[] = {
    {"", 0, "", "", false, false},
    {"# nothing\n\n  \t\n", 0, "", "", false, false},
    {"optional\n", 0, "", "", false, true},
    {"perhaps a.so\n", 0, "", "", false, true},
    {"optionala.so", 0, "", "", false, true},
    {"include\n", 0, "", "", false, true},
    {"include /nonexistent/*.conf\n", 0, "", "", false, false},
    {"include *.conf\n", 0, "", "", false, true}, /* itself: too deep */
    {"optional a.so", 1, "a.so", "", false, false},
    {"required\t/x/a.so  config=/c # b\noptional b.so\r\n", 2, "/x/a.so",
     "config=/c", true, false},
    {"optional a.so 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9", 1, "a.so", "1",
     false, false},
    {"bad line\noptional a.so x\n", 1, "a.so", "x", false, true},
};

static void test_stacks(void **state)
{
    for (size_t i = 0; i < N(stacks); i++) {
        char *path = tempdir_file(*state, "p.conf", 0600, stacks[i].text);
        const struct plugstack_line *line;
        struct plugstack stack;
        struct jp_error err;

        if (plugstack_read(path, &stack, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        line = stack.lines;
        if (stack.n_lines != stacks[i].lines ||
            !stack.trouble != !stacks[i].trouble)
            fail_msg("row %zu: %zu lines, %s", i, stack.n_lines,
                     stack.trouble ? stack.trouble : "no trouble");
        if (stack.n_lines &&
            (strcmp(line->plugin, stacks[i].plugin) ||
             line->required != stacks[i].required ||
             strcmp(line->n_args ? line->args[0] : "", stacks[i].arg)))
            fail_msg("row %zu: %s", i, line->plugin);
        plugstack_fini(&stack);
        unlink(path);
        free(path);
    }
    assert_int_equal(
        plugstack_read("/nonexistent", &(struct plugstack){0}, NULL), -1);
    plugstack_fini(NULL);
}

static void test_stack_of_files(void **state)
{
    char *top = tempdir_file(*state, "top.conf", 0600,
                             "optional first.so\ninclude more/*.conf\n"
                             "optional /lib/slurm/last.so default=auto\n");
    char *folder = tempdir_path(*state, "more");
    int made = fileio_mkdirs(folder, NULL);
    char *a = tempdir_file(*state, "more/a.conf", 0600, "required a.so\n");
    char *b = tempdir_file(*state, "more/b.conf", 0600, "\noptional b.so k=\n");
    struct plugstack s;

    assert_int_equal(made, 0);
    assert_int_equal(plugstack_read(top, &s, NULL), 0);
    assert_int_equal(s.n_lines, 4);
    assert_int_equal(s.n_files, 3);
    assert_null(s.trouble);
    assert_string_equal(s.lines[1].plugin, "a.so");
    assert_true(s.lines[1].required);
    assert_string_equal(strrchr(s.lines[2].where, '/'), "/b.conf:2");
    assert_string_equal(plugstack_arg(&s.lines[2], "k"), "");
    assert_null(plugstack_arg(&s.lines[2], "other"));
    assert_true(plugstack_is(&s.lines[3], "last.so"));
    assert_false(plugstack_is(&s.lines[3], "ast.so"));
    assert_string_equal(plugstack_arg(&s.lines[3], "default"), "auto");
    plugstack_fini(&s);
    free(folder);
    free(top);
    free(a);
    free(b);
}

/* --- shared libraries ----------------------------------------------------- */

static char *built(const char *name)
{
    const char *top = getenv("top_builddir");

    return text_format("%s/%s", top ? top : ".", name);
}

static void test_library(void **state)
{
    char *path = built("tests/doctor/.libs/fakenccl.so");
    struct elfview view;
    struct jp_error err = {""};
    uint32_t number;

    (void) state;
    if (elfview_open(path, &view, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(elfview_exports(&view, "ncclGetVersion"));
    assert_false(elfview_exports(&view, "malloc"));
    assert_false(elfview_exports(&view, ""));
    assert_true(elfview_has_text(&view, "ncclProfiler_v4"));
    assert_false(elfview_has_text(&view, "ncclProfiler_v"));
    assert_false(elfview_has_text(&view, "Profiler_v4"));
    assert_string_equal(elfview_after(&view, "NCCL version "),
                        "2.27.3+cuda12.9");
    assert_null(elfview_after(&view, "version "));
    assert_int_equal(elfview_number(&view, "no_such", &number, &err), -1);
    elfview_close(&view);
    elfview_close(&view);
    elfview_close(NULL);
    free(path);
}

/* Each byte of the headers damaged, and each length of the file: it is read or
 * refused, never a crash. */
static void test_damage(void **state)
{
    static const unsigned char bad[] = {0x00, 0x7f, 0xff};
    char *path = built("tests/doctor/.libs/fakenccl.so");
    char *text, *twin = tempdir_path(*state, "damaged.so");
    size_t len, opened = 0, refused = 0;
    int fd = open(twin, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(fileio_read(path, true, 16 << 20, &text, &len, NULL), 0);
    assert_true(fd >= 0 && len > 4096);
    for (size_t at = 0; at < 4096; at++) {
        /* the header, then the section headers, which end the file */
        size_t where = at < 1024 ? at : len - (at - 1024) - 1;
        char byte = (char) bad[at % N(bad)];
        struct elfview view;
        uint32_t number;

        assert_int_equal(pwrite(fd, text, len, 0), (ssize_t) len);
        assert_int_equal(pwrite(fd, &byte, 1, (off_t) where), 1);
        if (at % 7 == 0)
            assert_int_equal(ftruncate(fd, (off_t) (len * at / 4096)), 0);
        if (elfview_open(twin, &view, NULL) < 0) {
            refused++;
            continue;
        }
        opened++;
        elfview_exports(&view, "ncclGetVersion");
        elfview_has_text(&view, "ncclProfiler_v4");
        elfview_number(&view, "ncclGetVersion", &number, NULL);
        elfview_close(&view);
    }
    assert_true(opened > 1000 && refused > 500);
    close(fd);
    free(text);
    free(twin);
    free(path);
}

/* --- commands ------------------------------------------------------------- */

static void test_commands(void **state)
{
    static const struct {
        const char *script;
        int rc;
        const char *said; /* NULL: err instead */
        bool errors;
    } rows[] = {
        {"echo yes", 0, "yes\n", false},
        {"echo no >&2; exit 3", 3, "", false},
        {"echo no >&2; exit 3", 3, "no\n", true},
        {"kill -9 $$", -1, NULL, false},
        {"exit 127", -1, NULL, false},
        {"cat; echo end", 0, "end\n", false},
        {"sleep 100", -1, NULL, false},
        {"trap '' TERM; exec >&-; while :; do sleep 0.1; done", -1, NULL,
         false},
    };
    struct jp_error err;

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char *const argv[] = {(char *) "sh", (char *) "-c",
                              (char *) rows[i].script, NULL};
        char *out = NULL;
        unsigned ms = i < 6 ? 60000 : 300;
        int rc = doctor_command(argv, ms, rows[i].errors, &out, &err);

        if (rc != rows[i].rc || !out != !rows[i].said ||
            (out && strcmp(out, rows[i].said)))
            fail_msg("row %zu: %d, \"%s\"", i, rc, out ? out : err.text);
        free(out);
    }
}

/* --- the probe ------------------------------------------------------------ */

/* After the folder was made, its name is given to another folder. */
static void test_swapped(void **state)
{
    char *bait = tempdir_path(*state, "bait"), *file = NULL;
    char *aside = tempdir_path(*state, "aside");
    struct probe probe;
    struct jp_error err = {""};

    assert_int_equal(mkdir(bait, 0700), 0);
    file = tempdir_file(*state, "bait/file", 0600, "keep");
    if (probe_open(*state, &probe, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(rename(probe.path, aside), 0);
    assert_int_equal(rename(bait, probe.path), 0);
    assert_int_equal(probe_write(probe.fd, "file", "1", &err), 0);
    assert_int_equal(probe_write(probe.fd, "file", "2", &err), 0);
    assert_int_equal(probe_close(&probe, &err), -1);
    assert_non_null(strstr(err.text, "cannot be removed"));
    assert_int_equal(rename(probe.path, bait), 0);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(rmdir(aside), 0); /* its files are gone */
    free(aside);
    free(file);
    free(bait);
}

/* A file in it may be replaced by a link, which is not followed. */
static void test_probe_files(void **state)
{
    char *target = tempdir_file(*state, "target", 0600, "keep"), *text = NULL;
    struct probe probe;
    struct jp_error err = {""};

    assert_int_equal(probe_open(*state, &probe, &err), 0);
    assert_int_equal(symlinkat(target, probe.fd, "file"), 0);
    assert_int_equal(symlinkat(target, probe.fd, "other.tmp"), 0);
    assert_int_equal(probe_write(probe.fd, "file", "1", &err), 0);
    assert_int_equal(probe_write(probe.fd, "other", "1", &err), -1);
    assert_int_equal(probe_close(&probe, &err), 0);
    assert_int_equal(access(probe.path, F_OK), -1);
    assert_int_equal(fileio_read(target, false, 10, &text, NULL, NULL), 0);
    assert_string_equal(text, "keep");
    assert_int_equal(probe_open("/nonexistent", &probe, &err), -1);
    free(text);
    free(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stacks, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_stack_of_files, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(test_library),
        cmocka_unit_test_setup_teardown(test_damage, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(test_commands),
        cmocka_unit_test_setup_teardown(test_swapped, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_probe_files, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
