/* test_sitefile.c - settings files: hostile ones first, then their values. */
#include "common/sitefile.h"

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

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/ownplace.h"
#include "tests/common/foreign_leaks.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

/* Loading path fails with that part of a sentence. */
static void refuse(const char *path, enum sitefile_kind kind,
                   const char *sentence)
{
    struct jp_sitefile file, before;
    struct jp_error err = {""};

    memset(&file, 0x5a, sizeof(file));
    before = file;
    alarm(10); /* a reader that blocks fails the test */
    if (sitefile_load(path, kind, true, NULL, NULL, &file, &err) != -1 ||
        !strstr(err.text, sentence))
        fail_msg("\"%s\" lacks \"%s\"", err.text, sentence);
    alarm(0);
    assert_memory_equal(&file, &before, sizeof(file));
    assert_int_equal(sitefile_load(path, kind, true, NULL, NULL, &file, NULL),
                     -1);
}

static void refuse_text(const char *dir, enum sitefile_kind kind,
                        const char *text, const char *sentence)
{
    char *path = tempdir_file(dir, "t.conf", 0600, text);

    refuse(path, kind, sentence);
    free(path);
}

static void test_file_kinds(void **state)
{
    const char *dir = *state;
    char *path = tempdir_path(dir, "missing");
    struct jp_sitefile file;

    refuse(path, SITEFILE_SITE, "missing: No such file");
    assert_int_equal(
        sitefile_load(path, SITEFILE_SITE, false, NULL, NULL, &file, NULL), 0);
    assert_int_equal(file.n_values, 0);
    sitefile_fini(&file);
    sitefile_fini(NULL);
    free(path);
    refuse(dir, SITEFILE_SITE, "not a regular file");
    refuse("/dev/zero", SITEFILE_SITE, "not a regular file");
    path = tempdir_path(dir, "fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    refuse(path, SITEFILE_SITE, "not a regular file");
    free(path);
    path = tempdir_path(dir, "loop");
    assert_int_equal(symlink("loop", path), 0);
    refuse(path, SITEFILE_SITE, "loop: Too many levels");
    free(path);
    path = tempdir_file(dir, "sparse", 0600, "");
    assert_int_equal(truncate(path, 1L << 30), 0);
    refuse(path, SITEFILE_SITE, "1073741824 bytes are too many");
    free(path);
}

static void test_owner_and_mode(void **state)
{
    char *path = tempdir_file(*state, "mode.conf", 0602, "");
    struct jp_sitefile file;

    refuse(path, SITEFILE_SITE, "writable by everybody (mode 0602)");
    refuse(path, SITEFILE_USER, "writable by everybody");
    assert_int_equal(chmod(path, 0660), 0);
    refuse(path, SITEFILE_SITE, "writable by its group (mode 0660)");
    assert_int_equal(
        sitefile_load(path, SITEFILE_USER, true, NULL, NULL, &file, NULL), 0);
    sitefile_fini(&file);
    assert_int_equal(chmod(path, 0644), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, 0), 0);
        refuse(path, SITEFILE_SITE, "owned by uid 12345");
    }
    free(path);
}

/* The folders above a file: by their names, and after links. */
static void test_folders(void **state)
{
    char *safe = tempdir_path(*state, "safe");
    char *open = tempdir_path(*state, "open");
    char *link = tempdir_path(*state, "open/link");
    char *file = tempdir_path(*state, "safe/x.conf");
    char *by_link = tempdir_path(*state, "open/link/x.conf");
    const struct {
        mode_t safe, open;
        const char *path, *error; /* NULL: it is fine */
    } rows[] = {{0755, 0755, file, NULL},
                {0755, 0777, file, NULL}, /* not above the file */
                {0757, 0755, file, "safe: writable by everybody (mode 0757)"},
                {01777, 0755, file, NULL},
                {0755, 0755, by_link, NULL},
                {0755, 0777, by_link, "open: writable by everybody"},
                {0757, 0755, by_link, "safe: writable by everybody"}};
    struct jp_error err;

    assert_int_equal(mkdir(safe, 0755) | mkdir(open, 0755), 0);
    assert_int_equal(symlink("../safe", link), 0);
    free(tempdir_file(*state, "safe/x.conf", 0644, ""));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        err.text[0] = '\0';
        assert_int_equal(chmod(safe, rows[i].safe) | chmod(open, rows[i].open),
                         0);
        assert_int_equal(ownplace_check_folders(rows[i].path, &err),
                         rows[i].error ? -1 : 0);
        if (rows[i].error && !strstr(err.text, rows[i].error))
            fail_msg("row %zu: %s", i, err.text);
    }
    assert_int_equal(chmod(safe, 0775), 0);
    assert_int_equal(ownplace_check_folders(file, &err), geteuid() ? 0 : -1);
    if (geteuid() == 0) {
        assert_int_equal(chmod(safe, 0755) | chown(safe, 12345, 0), 0);
        assert_int_equal(ownplace_check_folders(file, &err), -1);
        assert_non_null(strstr(err.text, "safe: owned by uid 12345"));
        assert_int_equal(chown(safe, 0, 0), 0); /* to be removed */
    }
    free(by_link);
    free(file);
    free(link);
    free(open);
    free(safe);
}

static void test_includes(void **state)
{
    const char *dir = *state;
    char *self, *other, *fifo = tempdir_path(dir, "inc-fifo");
    char *bad = tempdir_file(dir, "bad.inc", 0600, "\n\nnccl = { men = 1; };");

    assert_int_equal(mkfifo(fifo, 0600), 0);
    refuse_text(dir, SITEFILE_SITE, "# x\n@include \"/tmp\"\n",
                "t.conf:2: @include: /tmp: not a regular file");
    refuse_text(dir, SITEFILE_SITE, "@include \".\"", "not a regular file");
    refuse_text(dir, SITEFILE_SITE, "@include \"inc-fifo\"",
                "inc-fifo: not a regular file");
    refuse_text(dir, SITEFILE_SITE, "@include \"gone\"", "gone: No such");
    refuse_text(dir, SITEFILE_SITE, "  @include", "a path in quotes");
    refuse_text(dir, SITEFILE_SITE, "@include \"x\ny\"", "path in quotes");
    refuse_text(dir, SITEFILE_SITE, "@include \"\"", "path in quotes");
    refuse_text(dir, SITEFILE_SITE, "@includeX \"a\"", "path in quotes");
    refuse_text(dir, SITEFILE_SITE, "dir = \"\n@include \\\"/tmp\\\"\";",
                "@include is not allowed");
    refuse_text(dir, SITEFILE_SITE, "/* */ @include \"/tmp\"",
                "@include is not allowed");
    /* each statement is read by itself, and may begin within a line */
    refuse_text(dir, SITEFILE_SITE, "# x\ndir = \"a\"; @include \"/tmp\"\n",
                "t.conf:2: @include must be at the beginning of a line");
    refuse_text(dir, SITEFILE_USER, "nccl = { } @include \"/etc/passwd\"\n",
                "@include must be at the beginning of a line");
    refuse_text(dir, SITEFILE_SITE, "@include \"bad.inc\"\n",
                "bad.inc:3: unknown key \"nccl.men\"");
    self = tempdir_file(dir, "self.conf", 0600, "@include \"self.conf\"\n");
    refuse(self, SITEFILE_SITE, "nested too deeply (a loop?)");
    other = tempdir_file(dir, "many.conf", 0600,
                         "@include \"many.conf\"\n@include \"many.conf\"\n");
    refuse(other, SITEFILE_SITE, "too deep");
    free(self);
    free(other);
    free(bad);
    free(fifo);
}

static void test_many_includes(void **state)
{
    static const char line[] = "@include \"e.inc\"\n";
    char text[70 * sizeof(line) + 1], *path;

    free(tempdir_file(*state, "e.inc", 0600, "# nothing\n"));
    for (size_t i = 0; i < 70; i++)
        memcpy(text + i * (sizeof(line) - 1), line, sizeof(line));
    path = tempdir_file(*state, "wide.conf", 0600, text);
    refuse(path, SITEFILE_SITE, "too many or too large files");
    free(path);
}

static const struct {
    enum sitefile_kind kind;
    const char *text, *error;
} bad_texts[] = {
    {SITEFILE_SITE, "nccl = {", "t.conf:1: syntax error"},
    {SITEFILE_SITE, "dir = \"open", "t.conf:1: a string has no end"},
    {SITEFILE_SITE, "\n/* open *", "t.conf:2: a comment has no end"},
    {SITEFILE_SITE, "dir = \"a\";\ndir = \"b\";",
     "t.conf:2: \"dir\" is set already in "},
    {SITEFILE_SITE,
     "nccl = {\n mem = \"4M\";\n};\nnccl = {\n mem = \"5M\";\n};",
     "t.conf:5: \"nccl.mem\" is set already in "},
    {SITEFILE_SITE, "nccl = {}\npolicy = {\n report_nic = 1; }",
     "t.conf:3: unknown key"},
    {SITEFILE_SITE, "dir = \"};\\\"x\";\nnccl = {\n men = 1; };",
     "t.conf:3: unknown key"},
    {SITEFILE_SITE, "dir = \"a\";;\n", "t.conf:1: syntax error"},
    {SITEFILE_SITE, "nccl = {}; }\n", "t.conf:1: syntax error"},
    {SITEFILE_SITE, "nccl = 3;", "\"nccl\" is not a group"},
    {SITEFILE_SITE, "\nncl = {};",
     "t.conf:2: unknown key \"ncl\"; did you "
     "mean \"nccl\"?"},
    {SITEFILE_SITE, "nccl = {\n mem = 1;\n};", "t.conf:2: nccl.mem: 1 is out"},
    {SITEFILE_SITE, "nccl = {\n\n men = 1;\n};",
     "t.conf:3: unknown key "
     "\"nccl.men\"; did you mean "
     "\"mem\"?"},
    {SITEFILE_SITE, "nccl = { wibble = 1; };", "unknown key \"nccl.wibble\""},
    {SITEFILE_SITE, "nccl = { mem = [ 1 ]; };",
     "\"nccl.mem\" is not a single value: needs 1 MiB to 1 TiB"},
    {SITEFILE_SITE, "nccl = { mem = -5; };", "nccl.mem: \"-5\" is not a size"},
    {SITEFILE_SITE, "nccl = { dir = \"x\"; };", "unknown key \"nccl.dir\""},
    {SITEFILE_SITE, "nccl = { dir = \"x\"; };", "did you mean \"dir\"?"},
    {SITEFILE_SITE, "mem = \"1M\";", "did you mean \"nccl.mem\"?"},
    {SITEFILE_SITE, "lock = [ \"mem\" ];", "did you mean \"nccl.mem\"?"},
    {SITEFILE_SITE, "lock = [ \"default\" ];", "mean \"nccl.default\"?"},
    {SITEFILE_SITE, "lock = [ \"nccl.default_gres\" ];", "is not a key that"},
    {SITEFILE_SITE, "nccl = { default_gres = \"\"; };", "the value is empty"},
    {SITEFILE_SITE, "nccl = { default_gres = \"a,,b\"; };", "is not a list"},
    {SITEFILE_SITE, "nccl = { default_gres = \"a b\"; };", "is not a list"},
    {SITEFILE_SITE, "nccl = { default_gres = \",a\"; };", "is not a list"},
    {SITEFILE_SITE, "nccl = { default_gres = [ 1 ]; };", "not a single value"},
    {SITEFILE_SITE, "nccl = { default_gres = { a = 1; }; };", "single value"},
    {SITEFILE_SITE, "nccl = { default_min_time = \"2h\"; };", "is not a time"},
    {SITEFILE_SITE, "nccl = { default_accont = \"a\"; };",
     "did you mean \"default_accounts\"?"},
    {SITEFILE_SITE, "nccl = { node_memory = \"1M\"; };",
     "(64 MiB to 1024 TiB)"},
    {SITEFILE_SITE, "nccl = { mode = \"recorder\"; };", "unknown key"},
    {SITEFILE_SITE, "nccl = { default = \"plan\"; };", "not one of off|auto"},
    {SITEFILE_SITE, "nccl = { recorder = \"x.so\"; };", "not an absolute"},
    {SITEFILE_SITE, "nccl = { version = 2.19; };", "no profiler interface"},
    {SITEFILE_SITE, "dir = \"../x\";", "\"..\" component"},
    {SITEFILE_SITE, "summary = \"crad\";", "did you mean \"card\"?"},
    {SITEFILE_SITE, "policy = { report_nice = 20; };", "out of range (0 to 19"},
    {SITEFILE_SITE, "policy = { report_nic = 1; };", "mean \"report_nice\"?"},
    {SITEFILE_SITE, "policy = { finish_limit = \"5 s\"; };", "is not a time"},
    {SITEFILE_SITE, "lock = \"nccl.mem\";", "is not a list of names"},
    {SITEFILE_SITE, "lock = ( 3 );", "is not a list of names"},
    {SITEFILE_SITE, "lock = [ \"nccl.men\" ];", "did you mean \"nccl.mem\"?"},
    {SITEFILE_SITE, "lock = [ \"policy.report_nice\" ];", "is not a key that"},
    {SITEFILE_USER, "lock = [ \"dir\" ];",
     "\"lock\" is allowed only in the site"},
    {SITEFILE_USER, "policy = { report_nice = 1; };",
     "is allowed only in the site"},
    {SITEFILE_USER, "nccl = { default_gres = \"gpu\"; };", "in the site file"},
    {SITEFILE_USER, "nccl = { node_memory = \"1T\"; };", "in the site file"},
    {SITEFILE_USER, "\n@include \"x.conf\"\n",
     "t.conf:2: @include is allowed only in the site file"},
    {SITEFILE_USER, "nccl = { inspector = \"/x\"; };",
     "is allowed only in the site"},
    {SITEFILE_SITE, "\x01\x02", "syntax error"},
};

static void test_bad_texts(void **state)
{
    for (size_t i = 0; i < N(bad_texts); i++)
        refuse_text(*state, bad_texts[i].kind, bad_texts[i].text,
                    bad_texts[i].error);
}

static void test_deep_nesting(void **state)
{
    size_t n = JP_SITEFILE_MAX_BYTES - 8;
    char *text = malloc(n + 1);

    memset(text, '(', n);
    memcpy(text, "a = ", 4);
    text[n] = '\0';
    refuse_text(*state, SITEFILE_SITE, text, "t.conf:1: ");
    free(text);
}

static void count(void *arg, const char *text)
{
    (void) text;
    ++*(int *) arg;
}

static void test_all_errors(void **state)
{
    char *path = tempdir_file(*state, "t.conf", 0600,
                              "a = 1;\nnccl = { b = 1; mem = 1; };\n"
                              "lock = ( \"x\", \"dir\" );\n");
    struct jp_sitefile file;
    struct jp_error err;
    int errors = 0;

    assert_int_equal(
        sitefile_load(path, SITEFILE_SITE, true, count, &errors, &file, &err),
        -1);
    assert_int_equal(errors, 4);
    assert_non_null(strstr(err.text, "t.conf:1: unknown key \"a\""));
    free(path);
}

static void check(const struct jp_sitefile *file, const char *name,
                  const char *value, const char *where)
{
    const struct sitefile_value *v = sitefile_find(file, name);

    if (!v)
        fail_msg("%s is missing", name);
    assert_string_equal(v->value, value);
    if (!strstr(v->where, where))
        fail_msg("%s: %s, not %s", name, v->where, where);
}

static void test_good(void **state)
{
    const char *dir = *state;
    char *path, *inc = tempdir_file(dir, "more.inc", 0600,
                                    "# nested\npolicy = {\n"
                                    "  report_limit = 20;\n"
                                    "  finish_limit = \"1500ms\"; };");
    struct jp_sitefile file;
    struct jp_policy policy;
    struct jp_error err = {""};

    path = tempdir_file(dir, "good.conf", 0644,
                        "// @include \"/tmp\"\n"
                        "/* \"\n@include \"/tmp\" */\n"
                        "nccl : { mem = 268435456L; verbose = true;\n"
                        "  interval = 0.25; ring = 0x800;\n"
                        "  version = \"2.27\"; p2p = \"off\"; }\n"
                        "\t@include \"more.inc\" # why\n"
                        "dir = \"/s/\" \"%u # \\\"q\\\" // %j\";\n"
                        "lock = [ \"nccl.mem\", \"nccl.version\" ];\n");
    if (sitefile_load(path, SITEFILE_SITE, true, NULL, NULL, &file, &err) < 0)
        fail_msg("%s", err.text);
    check(&file, "nccl.mem", "268435456", "good.conf:4");
    check(&file, "nccl.verbose", "1", "good.conf:4");
    check(&file, "nccl.interval", "0.25", "good.conf:5");
    check(&file, "nccl.ring", "2048", "good.conf:5");
    check(&file, "policy.report_limit", "20", "more.inc:3");
    check(&file, "dir", "/s/%u # \"q\" // %j", "good.conf:8");
    assert_non_null(sitefile_lock(&file, "nccl.version"));
    assert_null(sitefile_lock(&file, "dir"));
    assert_null(sitefile_find(&file, "nccl.disk"));
    sitefile_policy(&file, &policy);
    assert_int_equal(policy.report_limit_ms, 20000);
    assert_int_equal(policy.finish_limit_ms, 1500);
    assert_int_equal(policy.watcher_life_ms, JP_DEF_WATCHER_LIFE_MS);
    sitefile_fini(&file);
    free(path);
    free(inc);
}

/* The guide's way: a group at the end of a file that has it already. */
static void test_groups_merge(void **state)
{
    char *path = tempdir_file(*state, "twice.conf", 0600,
                              "nccl = {\n    # mem = 1;\n};\n"
                              "policy = {};\n"
                              "nccl = { default_partitions = \"gpu\";\n"
                              "  mem = \"4M\"; };\n"
                              "lock = [ \"nccl.mem\" ];\n"
                              "lock = [ \"dir\" ];\n");
    struct jp_sitefile file;
    struct jp_error err = {""};

    if (sitefile_load(path, SITEFILE_USER, true, NULL, NULL, &file, &err) == 0)
        fail_msg("a user's lock is taken");
    if (sitefile_load(path, SITEFILE_SITE, true, NULL, NULL, &file, &err) < 0)
        fail_msg("%s", err.text);
    check(&file, "nccl.default_partitions", "gpu", "twice.conf:5");
    check(&file, "nccl.mem", "4M", "twice.conf:6");
    assert_non_null(sitefile_lock(&file, "nccl.mem"));
    assert_non_null(sitefile_lock(&file, "dir"));
    assert_int_equal(file.n_values, 2);
    assert_int_equal(file.n_files, 1);
    sitefile_fini(&file);
    free(path);
}

/* A folder with a jobprof.conf and a conf.d of three fragments, one of them
 * without an end, and names that are none. */
static char *make_fragments(const char *dir, const char *name)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"jobprof.conf", "dir = \"first\";\nnccl = { mem = \"4M\"; };"},
        {"conf.d/10-a.conf", "dir = \"second\"\n"},
        {"conf.d/20-b.conf", "nccl = { disk = \"1G\"; };\n\n"
                             "dir = \"third\";\nlock = [ \"dir\" ];\n"},
        {"conf.d/9-last.conf", "lock = [ \"nccl.mem\" ]"},
        {"conf.d/.hidden.conf", "x"},
        {"conf.d/README", "x"},
        {"conf.d/30-c.conf.dpkg-old", "x"},
        {"conf.d/.conf", "x"},
    };
    char *top = tempdir_path(dir, name), *conf = tempdir_path(top, "conf.d");

    assert_int_equal(mkdir(top, 0700), 0);
    assert_int_equal(mkdir(conf, 0700), 0);
    for (size_t i = 0; i < N(files); i++)
        free(tempdir_file(top, files[i].name, 0600, files[i].text));
    free(conf);
    return top;
}

static void test_fragments(void **state)
{
    char *top = make_fragments(*state, "frag");
    char *path = tempdir_path(top, "jobprof.conf");
    struct jp_sitefile file;
    struct jp_error err = {""};

    if (sitefile_load(path, SITEFILE_SITE, true, NULL, NULL, &file, &err) < 0)
        fail_msg("%s", err.text);
    check(&file, "dir", "third", "20-b.conf:3");
    check(&file, "nccl.mem", "4M", "jobprof.conf:2");
    check(&file, "nccl.disk", "1G", "20-b.conf:1");
    assert_int_equal(file.n_values, 3);
    assert_non_null(sitefile_lock(&file, "nccl.mem"));
    assert_int_equal(file.n_files, 4);
    assert_non_null(strstr(file.files[1], "/conf.d/10-a.conf"));
    sitefile_fini(&file);
    /* a user's file has none */
    assert_int_equal(
        sitefile_load(path, SITEFILE_USER, true, NULL, NULL, &file, &err), 0);
    check(&file, "dir", "first", "jobprof.conf:1");
    sitefile_fini(&file);
    /* nor has a file of another name */
    free(path);
    path = tempdir_file(top, "other.conf", 0600, "dir = \"other\";");
    assert_int_equal(
        sitefile_load(path, SITEFILE_SITE, true, NULL, NULL, &file, &err), 0);
    assert_int_equal(file.n_files, 1);
    sitefile_fini(&file);
    free(path);
    free(top);
}

/* Without jobprof.conf the fragments count, unless it was named. */
static void test_fragments_alone(void **state)
{
    char *top = make_fragments(*state, "alone");
    char *path = tempdir_path(top, "jobprof.conf");
    struct jp_sitefile file;
    struct jp_error err = {""};

    assert_int_equal(unlink(path), 0);
    if (sitefile_load(path, SITEFILE_SITE, false, NULL, NULL, &file, &err) < 0)
        fail_msg("%s", err.text);
    check(&file, "dir", "third", "20-b.conf:3");
    assert_int_equal(file.n_files, 3);
    sitefile_fini(&file);
    refuse(path, SITEFILE_SITE, "jobprof.conf: No such file");
    free(path);
    free(top);
}

static void test_bad_fragments(void **state)
{
    char *top = make_fragments(*state, "bad");
    char *path = tempdir_path(top, "jobprof.conf");
    char *conf = tempdir_path(top, "conf.d"), *moved = tempdir_path(top, "x");
    char *link = tempdir_path(conf, "50-link.conf");

    /* the error is in the file that has it, and in no later one */
    free(tempdir_file(conf, "10-a.conf", 0600, "nccl = {\n mem = \"4M\";\n"));
    refuse(path, SITEFILE_SITE, "10-a.conf:3: syntax error");
    free(tempdir_file(conf, "10-a.conf", 0600, "dir = \"open"));
    refuse(path, SITEFILE_SITE, "10-a.conf:1: a string has no end");
    free(tempdir_file(conf, "10-a.conf", 0600, "dir = \"a\";\ndir = \"b\";"));
    refuse(path, SITEFILE_SITE, "10-a.conf:2: \"dir\" is set already in ");
    free(tempdir_file(conf, "10-a.conf", 0600, ""));
    /* files and folders that others can change */
    assert_int_equal(symlink("/dev/zero", link), 0);
    refuse(path, SITEFILE_SITE, "50-link.conf: not a regular file");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(mkfifo(link, 0600), 0);
    refuse(path, SITEFILE_SITE, "50-link.conf: not a regular file");
    assert_int_equal(unlink(link), 0);
    assert_int_equal(chmod(conf, 0777), 0);
    refuse(path, SITEFILE_SITE, "conf.d: ");
    assert_int_equal(chmod(conf, 0700), 0);
    assert_int_equal(rename(conf, moved), 0);
    assert_int_equal(symlink("x", conf), 0);
    refuse(path, SITEFILE_SITE, "conf.d: not a folder that can be read");
    free(link);
    free(moved);
    free(conf);
    free(path);
    free(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_merge),
        cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_fragments_alone),
        cmocka_unit_test(test_bad_fragments),
        cmocka_unit_test(test_file_kinds),
        cmocka_unit_test(test_owner_and_mode),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_includes),
        cmocka_unit_test(test_many_includes),
        cmocka_unit_test(test_bad_texts),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_all_errors),
        cmocka_unit_test(test_good),
    };

    return cmocka_run_group_tests_name("sitefile", tests, tempdir_make,
                                       tempdir_drop);
}
