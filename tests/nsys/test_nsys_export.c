/* test_nsys_export.c - reports of nsys become exports: which ones, how many at
 * once, within which time, and what fails. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/nsys/nsys.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"

/* `nsys export ... --output=FILE REPORT`: records its arguments and copies the
 * report. */
static const char stub[] =
    "#!/bin/sh\n"
    "echo \"$*\" >>\"$0.log\"\n"
    "for w; do case $w in --output=*) out=${w#--output=} ;; esac; last=$w; "
    "done\n"
    "case $last in *hang*) exec sleep 60 ;; *bad*) exit 1 ;; esac\n"
    "sleep 0.2; echo \"$(nice) of $(basename \"$last\")\" >\"$out\"; : "
    ">\"$out-wal\"\n";

static char *folder, *program, *temporary;

static int setup(void **state)
{
    char *path;

    if (tempdir_make(state) < 0)
        return -1;
    folder = tempdir_path(*state, "raw");
    temporary = tempdir_path(*state, "tmp");
    program = tempdir_file(*state, "nsys", 0700, stub);
    path = tempdir_path(*state, "raw/n1");
    mkdir(folder, 0700);
    mkdir(temporary, 0700);
    mkdir(path, 0700);
    free(path);
    setenv("TMPDIR", temporary, 1);
    return 0;
}

static int teardown(void **state)
{
    free(folder);
    free(program);
    free(temporary);
    return tempdir_drop(state);
}

static void put(void **state, const char *name, const char *text)
{
    free(tempdir_file(*state, name, 0600, text));
}

static bool is_there(void **state, const char *name, const char *want)
{
    char *path = tempdir_path(*state, name), *text = NULL;
    bool there = fileio_read(path, false, 4096, &text, NULL, NULL) == 0;
    bool same = there && strstr(text, want) != NULL;

    free(path);
    free(text);
    return same;
}

static struct nsys_export_done export_all(unsigned at_once, uint32_t ms)
{
    const struct nsys_export_options options = {
        .program = program, .at_once = at_once, .limit_ms = ms};
    struct nsys_export_done done;
    struct jp_error err;

    assert_int_equal(nsys_export(folder, &options, &done, &err), 0);
    assert_int_equal(rmdir(temporary), 0); /* nothing is left in it */
    assert_int_equal(mkdir(temporary, 0700), 0);
    return done;
}

static void touch(void **state, const char *name, time_t s)
{
    char *path = tempdir_path(*state, name);
    const struct timespec when[] = {{s, 0}, {s, 0}};

    assert_int_equal(utimensat(AT_FDCWD, path, when, 0), 0);
    free(path);
}

/* Reports without an export, or with an older one; a second run finds none. */
static void test_which(void **state)
{
    struct nsys_export_done done;
    char text[40];
    int nice_as;

    if (!nsys_sql_built())
        skip_check("this build cannot read SQLite");
    put(state, "raw/n1/a.nsys-rep", "x");
    put(state, "raw/n1/fresh.nsys-rep", "x");
    put(state, "raw/n1/fresh.sqlite", "mine");
    put(state, "raw/n1/old.nsys-rep", "x");
    put(state, "raw/n1/old.sqlite", "mine");
    put(state, "raw/n1/other.qdrep", "x");
    touch(state, "raw/n1/fresh.nsys-rep", 1000);
    touch(state, "raw/n1/old.sqlite", 1000);
    done = export_all(4, 60000);
    assert_int_equal(done.wanted, 2);
    assert_int_equal(done.made, 2);
    assert_string_equal(done.why, "");
    /* nsys runs 10 nicer than this process, at most 19 */
    nice_as = getpriority(PRIO_PROCESS, 0) + 10;
    snprintf(text, sizeof(text), "%d of a.nsys-rep",
             nice_as < 19 ? nice_as : 19);
    assert_true(is_there(state, "raw/n1/a.sqlite", text));
    assert_true(is_there(state, "raw/n1/old.sqlite", "of old.nsys-rep"));
    assert_true(is_there(state, "raw/n1/fresh.sqlite", "mine"));
    assert_true(is_there(state, "nsys.log",
                         "export --type=sqlite --force-overwrite=true "
                         "--output="));
    assert_int_equal(export_all(4, 60000).wanted, 0);
}

/* After a failure no other export is started, and no part of a file is left. */
static void test_fails(void **state)
{
    struct nsys_export_done done;

    if (!nsys_sql_built())
        skip_check("this build cannot read SQLite");
    put(state, "raw/n1/bad.nsys-rep", "x");
    done = export_all(1, 60000);
    assert_int_equal(done.failed, 1);
    assert_non_null(strstr(done.why, "nsys export failed: "));
    assert_false(is_there(state, "raw/n1/bad.sqlite", ""));
}

static void test_hangs(void **state)
{
    struct nsys_export_done done;

    if (!nsys_sql_built())
        skip_check("this build cannot read SQLite");
    put(state, "raw/n1/hang1.nsys-rep", "x");
    put(state, "raw/n1/hang2.nsys-rep", "x");
    put(state, "raw/n1/hang3.nsys-rep", "x");
    done = export_all(2, 500);
    assert_int_equal(done.wanted, 3);
    assert_int_equal(done.late, 2);
    assert_non_null(strstr(done.why, "no time for its export: "));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

/* The program that profiled the ranks, from its file; not from a file that
 * others could have written. */
static void test_program(void **state)
{
    struct nsys_export_done done;
    char *path;

    if (!nsys_sql_built())
        skip_check("this build cannot read SQLite");
    put(state, "raw/n1/a.nsys-rep", "x");
    put(state, "raw/n1/nsys.path", program);
    path = tempdir_path(*state, "raw/n1/nsys.path");
    free(program);
    program = NULL;
    assert_int_equal(chmod(path, 0666), 0); /* anybody could have written it */
    setenv("PATH", "/usr/bin:/bin", 1);
    done = export_all(1, 60000);
    assert_int_equal(done.made, 0);
    assert_non_null(strstr(done.why, "no nsys for the export: "));
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(export_all(1, 60000).made, 1);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_which, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hangs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_program, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
