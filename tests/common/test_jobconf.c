/* test_jobconf.c - job.conf survives hostile text and round trips. */
#include "common/jobconf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/defaults.h"
#include "tests/common/tempdir.h"

/* Every byte that a value may have except NUL, UTF-8, and characters that need
 * quoting. */
static const char nasty[] = "a\"b\\c\n\r\t\f\v\x01\x1f\x7f"
                            "é\xff //#*/ @include "
                            "\n@include \"/tmp\"\n\\x41 %N ${X} `id`";

static const struct {
    const char *text;
    const char *error; /* part of it */
} bad_rows[] = {
    {"", "schema 0"},
    {"schema = 2;", "schema 2"},
    {"schema = 1", NULL},
    {"schema = \"1\";", "t:1: \"schema\" is not a whole number"},
    {"schema = 1;\nversion = 7;", "t:2: \"version\" is not a string"},
    {"schema = 1; job = 3;", "\"job\" is not a group"},
    {"schema = 1; job = ( 3 );", "\"job\" is not a group"},
    {"schema = 1; job = { id = -1; };", "\"id\" is out of range"},
    {"schema = 1; job = { uid = 4294967296L; };", "out of range"},
    {"schema = 1; nccl = { explicit = 1; };", "not true or false"},
    {"schema = 1; nccl = { summary = \"loud\"; };", "not auto, off"},
    {"schema = 1; nccl = { settings = 3; };", "is not a list"},
    {"schema = 1; nccl = { settings = ( 3 ); };", "is not a group"},
    {"schema = 1; nccl = { settings = ( { key = 3; } ); };", "not a string"},
    {"schema = 1; nccl = { env = ( { soft = \"x\"; } ); };", "not true"},
    {"schema = 1; nccl = {", "t:1: "},
    {"schema = 1; x = \"open", "t:1: "},
    {"@include \"/tmp\"", "t:1: @include"},
    {"schema = 1;\n\t @include \"/dev/zero\"\n", "t:2: @include"},
    {"x = \"\n@include \"/tmp\"\n", "t:2: @include"},
    {"/* \"\n@include \"/tmp\" */", "t:2: @include"},
    {"schema = 1; a = 1; a = 2;", "duplicate"},
};

static void test_bad_text(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(bad_rows) / sizeof(*bad_rows); i++) {
        struct jp_jobconf conf, before;
        struct jp_error err = {""};
        const char *text = bad_rows[i].text;
        int rc;

        memset(&conf, 0x5a, sizeof(conf));
        before = conf;
        rc = jobconf_parse(text, strlen(text), "t", &conf, &err);
        if (!bad_rows[i].error) {
            assert_int_equal(rc, 0);
            jobconf_fini(&conf);
            continue;
        }
        assert_int_equal(rc, -1);
        if (!strstr(err.text, bad_rows[i].error))
            fail_msg("%s: \"%s\" lacks \"%s\"", text, err.text,
                     bad_rows[i].error);
        assert_memory_equal(&conf, &before, sizeof(conf));
        assert_int_equal(jobconf_parse(text, strlen(text), "t", &conf, NULL),
                         -1);
    }
}

static void test_nul_byte(void **state)
{
    static const char text[] = "schema = 1;\0@include \"/tmp\"";
    struct jp_jobconf conf;
    struct jp_error err = {""};

    (void) state;
    assert_int_equal(jobconf_parse(text, sizeof(text) - 1, "t", &conf, &err),
                     -1);
    assert_string_equal(err.text, "t: has a NUL byte");
}

static void test_defaults(void **state)
{
    static const char text[] = "schema = 1; future = { x = 1; };";
    struct jp_jobconf conf;

    (void) state;
    assert_int_equal(jobconf_parse(text, strlen(text), "t", &conf, NULL), 0);
    assert_string_equal(conf.nccl_mode, "off");
    assert_string_equal(conf.sides[OPTION_COPPER].request, "off");
    assert_string_equal(conf.final_dir, "");
    assert_int_equal(conf.policy.finish_limit_ms, JP_DEF_FINISH_LIMIT_MS);
    assert_int_equal(conf.policy.watcher_life_ms, JP_DEF_WATCHER_LIFE_MS);
    assert_int_equal(conf.summary, JP_SUMMARY_AUTO);
    assert_int_equal(conf.n_settings, 0);
    assert_int_equal(conf.memory_bytes, 0);
    assert_int_equal(conf.kept_ops, 0);
    assert_string_equal(conf.lost, "");
    assert_null(jobconf_find(&conf, "mode"));
    jobconf_fini(&conf);
    jobconf_fini(&conf);
    jobconf_fini(NULL);
}

static void check_equal(const struct jp_jobconf *a, const struct jp_jobconf *b)
{
    assert_int_equal(a->created_us, b->created_us);
    assert_int_equal(a->job_id, b->job_id);
    assert_int_equal(a->uid, b->uid);
    assert_string_equal(a->job_name, b->job_name);
    assert_string_equal(a->command, b->command);
    assert_true(b->explicit_request && b->hidden);
    assert_int_equal(b->summary, JP_SUMMARY_CARD);
    assert_int_equal(b->policy.report_nice, 19);
    assert_int_equal(b->n_settings, 2);
    assert_string_equal(b->settings[1].value, nasty);
    assert_string_equal(b->settings[1].reason, nasty);
    assert_string_equal(jobconf_find(b, "mode"), "recorder");
    assert_int_equal(b->sides[OPTION_COPPER].n_settings, 1);
    assert_string_equal(b->sides[OPTION_COPPER].settings[0].key, "top");
    assert_int_equal(b->n_env, 1);
    assert_string_equal(b->env[0].value, "%N");
    assert_true(b->env[0].soft);
    assert_string_equal(b->env[0].reason, nasty);
    assert_int_equal(b->memory_bytes, a->memory_bytes);
    assert_int_equal(b->disk_bytes, a->disk_bytes);
    assert_int_equal(b->planned_ops, a->planned_ops);
    assert_int_equal(b->kept_ops, a->kept_ops);
    assert_string_equal(b->lost, nasty);
    assert_string_equal(b->known_issues, nasty);
}

static void test_round_trip(void **state)
{
    char mode[] = "mode", recorder[] = "recorder", empty[] = "", top[] = "top";
    char name[] = "NCCL_X", node[] = "%N";
    char *odd = strdup(nasty);
    struct jp_setting settings[] = {{mode, recorder, empty, empty, empty},
                                    {odd, odd, odd, odd, odd}};
    struct jp_setting copper = {top, empty, empty, empty, empty};
    struct jp_envvar env = {name, node, true, odd};
    struct jp_jobconf conf = {.schema = 1,
                              .created_us = 1795251741332365ULL,
                              .job_id = 1ULL << 40,
                              .uid = 4294967294u,
                              .job_name = odd,
                              .command = odd,
                              .explicit_request = true,
                              .hidden = true,
                              .summary = JP_SUMMARY_CARD,
                              .memory_bytes = 1ULL << 33,
                              .disk_bytes = 1ULL << 50,
                              .planned_ops = 40000,
                              .kept_ops = 1200,
                              .lost = odd,
                              .known_issues = odd,
                              .policy.report_nice = 19,
                              .settings = settings,
                              .n_settings = 2,
                              .sides[OPTION_COPPER].settings = &copper,
                              .sides[OPTION_COPPER].n_settings = 1,
                              .env = &env,
                              .n_env = 1};
    struct jp_jobconf back;
    char *path = tempdir_path(*state, "job.conf");
    char hash[SHA256_HEX], again[SHA256_HEX];
    struct stat st;

    assert_int_equal(jobconf_write(path, &conf, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(jobconf_read(path, &back, NULL), 0);
    check_equal(&conf, &back);
    assert_int_equal(jobconf_hash(path, hash, NULL), 0);
    assert_int_equal(strspn(hash, "0123456789abcdef"), 64);
    assert_int_equal(jobconf_write(path, &back, NULL), 0);
    assert_int_equal(jobconf_hash(path, again, NULL), 0);
    assert_string_equal(hash, again);
    jobconf_fini(&back);
    free(path);
    free(odd);
}

static void test_sum(void **state)
{
    static const struct {
        const char *text, *sum;
    } rows[] = {
        {"",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc",
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char big[1000], sum[SHA256_HEX];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        sha256_hex(rows[i].text, strlen(rows[i].text), sum);
        assert_string_equal(sum, rows[i].sum);
    }
    memset(big, 'a', sizeof(big));
    sha256_hex(big, sizeof(big), sum);
    assert_string_equal(
        sum,
        "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

/* A file other than the pinned one is refused, and nothing of it is used. */
static void test_pinned(void **state)
{
    struct jp_jobconf conf = {.schema = 1}, back = {0};
    char *path = tempdir_path(*state, "job.conf");
    char hash[SHA256_HEX];
    struct jp_error err;

    assert_int_equal(jobconf_write(path, &conf, NULL), 0);
    assert_int_equal(jobconf_hash(path, hash, NULL), 0);
    assert_int_equal(jobconf_read_pinned(path, hash, &back, NULL), 0);
    jobconf_fini(&back);
    conf.policy.watcher_life_ms = 86400000;
    assert_int_equal(jobconf_write(path, &conf, NULL), 0);
    back = (struct jp_jobconf){0};
    assert_int_equal(jobconf_read_pinned(path, hash, &back, &err), -1);
    assert_non_null(strstr(err.text, "srun did not write this file"));
    assert_int_equal(back.policy.watcher_life_ms, 0);
    assert_int_equal(jobconf_read_pinned(path, "", &back, NULL), 0);
    jobconf_fini(&back);
    assert_int_equal(jobconf_read_pinned(path, NULL, &back, NULL), 0);
    jobconf_fini(&back);
    free(path);
}

static void test_bad_files(void **state)
{
    char *path = tempdir_path(*state, "missing/job.conf");
    struct jp_jobconf conf = {0};
    struct jp_error err;
    char hash[SHA256_HEX];

    assert_int_equal(jobconf_read(path, &conf, &err), -1);
    assert_int_equal(jobconf_write(path, &conf, &err), -1);
    assert_int_equal(jobconf_hash(path, hash, &err), -1);
    assert_int_equal(jobconf_read(*state, &conf, &err), -1);
    assert_non_null(strstr(err.text, "not a regular file"));
    free(path);
    path = tempdir_path(*state, "fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(jobconf_read(path, &conf, &err), -1);
    free(path);
    path = tempdir_path(*state, "link");
    assert_int_equal(symlink("job.conf", path), 0);
    assert_int_equal(jobconf_read(path, &conf, &err), -1);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_text),  cmocka_unit_test(test_nul_byte),
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bad_files), cmocka_unit_test(test_sum),
        cmocka_unit_test(test_pinned),
    };

    return cmocka_run_group_tests_name("jobconf", tests, tempdir_make,
                                       tempdir_drop);
}
