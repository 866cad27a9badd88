/* test_copper_node.c - what Copper's runner reads on a node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/copper/copper_flags.h"
#include "plugins/copper/copper_mountinfo.h"
#include "plugins/copper/copper_target.h"

#define N(array) (sizeof(array) / sizeof(*(array)))
#define HEAD "36 35 0:50 / "

static void test_mountinfo(void **state)
{
    static const struct {
        const char *line, *point, *type;
        bool users; /* of uid 1000 */
    } rows[] = {
        {"", NULL, NULL, false},
        {HEAD "/mnt rw", NULL, NULL, false},
        {HEAD "/mnt rw -", NULL, NULL, false},
        {HEAD "/mnt rw - fuse", NULL, NULL, false},
        {HEAD "/mnt rw - fuse  rw", NULL, NULL, false},
        {HEAD " rw - fuse x rw", NULL, NULL, false},
        {HEAD "/mnt rw - ext4 /dev/x", "/mnt", "ext4", false},
        {HEAD "/- - - - fuse x user_id=1000", "/-", "-", false},
        {HEAD "/a\\040b rw shared:1 - fuse.cu_fuse x rw,user_id=1000,g=1\n",
         "/a b", "fuse.cu_fuse", true},
        {HEAD "/a\\0\\400\\000 rw - fuse x user_id=1000", "/a\\0\\400\\000",
         "fuse", true},
        {HEAD "/m rw - fuse x rw,user_id=10001", "/m", "fuse", false},
        {HEAD "/m rw - fuse x rw,xuser_id=1000", "/m", "fuse", false},
        {HEAD "/m rw - fuse x rw,user_id=", "/m", "fuse", false},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        struct copper_mountinfo mount;
        char *line = strdup(rows[i].line);
        bool yes = copper_mountinfo_parse(line, &mount);

        if (yes != (rows[i].point != NULL))
            fail_msg("\"%s\": %d", rows[i].line, yes);
        if (yes) {
            assert_string_equal(mount.point, rows[i].point);
            assert_string_equal(mount.type, rows[i].type);
            assert_int_equal(copper_mountinfo_is_users(&mount, 1000),
                             rows[i].users);
        }
        free(line);
    }
}

static void test_cmdline(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        const char *logs, *view, *last;
    } rows[] = {
#define ROW(text) text, sizeof(text)
        {"", 0, NULL, NULL, NULL},
        {ROW("bash\0-vpath\0/m"), NULL, NULL, NULL},
        {ROW("/opt/cu_fuse2\0/m"), NULL, NULL, NULL},
        {ROW("cu_fuse"), NULL, NULL, ""},
        {ROW("/opt/cu_fuse\0-vpath"), NULL, NULL, "-vpath"},
        {ROW("cu_fuse\0-f\0-log_output_dir\0/l\0-vpath\0/m\0/n"), "/l", "/m",
         "/n"},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        struct copper_cmdline line;
        int rc = copper_cmdline_parse(rows[i].text, rows[i].len, &line);

        assert_int_equal(rc, rows[i].last ? 0 : -1);
        if (rc < 0)
            continue;
        assert_string_equal(line.last ? line.last : "", rows[i].last);
        assert_string_equal(line.logs ? line.logs : "",
                            rows[i].logs ? rows[i].logs : "");
        assert_string_equal(line.view ? line.view : "",
                            rows[i].view ? rows[i].view : "");
    }
}

static void test_cores(void **state)
{
    static const struct {
        const char *text;
        int n; /* 0: refused */
    } rows[] = {{"", 0},    {"x", 0},      {"3-1", 0}, {"1,,2", 0},
                {"1-", 0},  {"99999", 0},  {"0", 1},   {"1,2", 2},
                {"0-3", 4}, {"0-3,2,8", 5}};

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        struct jp_error err;
        cpu_set_t set;

        CPU_ZERO(&set);
        assert_int_equal(copper_flags_cores(rows[i].text, &set, &err),
                         rows[i].n ? 0 : -1);
        assert_int_equal(CPU_COUNT(&set), rows[i].n);
    }
}

static void test_no_target(void **state)
{
    struct copper_target target;
    struct jp_error err = {""};

    (void) state;
    assert_int_equal(copper_target_find("/nonexistent", &target, &err), -1);
    assert_string_equal(err.text,
                        "/nonexistent: no Copper of yours is mounted on this "
                        "node");
}

/* "KEY=VALUE KEY=VALUE ..." and cu_fuse's words from them. */
static void test_flags(void **state)
{
#define BEGIN                                                                  \
    "/opt/cu_fuse -f -tpath / -vpath /m -log_output_dir /l -log_level 4"
#define END " -s /m"
#define BOOK " -facility_address_book /b -prefiltered_address_book 1"
    static const struct {
        const char *settings, *words;
    } rows[] = {
        {"mode=aggregate", BEGIN BOOK " -profile_metrics" END},
        {"mode=aggregate;top=5;interval=0;ttl=",
         BEGIN BOOK " -md_enoent_ttl_ms  -profile_metrics" END},
        {"mode=top;top=5", BEGIN BOOK " -profile_metrics -profile_top_n 5" END},
        {"mode=full;top=5;interval=30",
         BEGIN BOOK " -profile_metrics -profile_top_n 5 -profile_paths_full "
                    "-profile_snapshot_interval_s 30" END},
        {"mode=top;net_type=cxi;address_book=/site",
         BEGIN " -net_type cxi -nf /n -facility_address_book /site "
               "-prefiltered_address_book 0 -profile_metrics" END},
        {"cache_size=1M;ttl=100",
         BEGIN BOOK " -md_enoent_ttl_ms 100 -max_cacheable_byte_size 1048576 "
                    "-profile_metrics" END},
        {"cache_size=many", BEGIN BOOK " -profile_metrics" END},
        {"args=  -a  b ", BEGIN BOOK " -profile_metrics -a b" END},
        {"args=", BEGIN BOOK " -profile_metrics" END},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        char *text = strdup(rows[i].settings), *rest = text, *pair;
        struct jp_setting settings[8] = {
            {.key = (char[]){"cu_fuse"}, .value = (char[]){"/opt/cu_fuse"}}};
        struct jp_jobconf conf = {.copper_settings = settings,
                                  .n_copper_settings = 1};
        struct copper_flags flags;
        char said[1024] = "";

        while ((pair = strsep(&rest, ";"))) {
            struct jp_setting *s = &settings[conf.n_copper_settings++];

            s->key = strsep(&pair, "=");
            s->value = pair;
        }
        assert_int_equal(
            copper_flags_make(&conf, "/m", "/l", "/b", "/n", &flags, NULL), 0);
        assert_null(flags.argv[flags.n]);
        for (int k = 0; k < flags.n; k++)
            snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s",
                     k ? " " : "", flags.argv[k]);
        assert_string_equal(said, rows[i].words);
        copper_flags_fini(&flags);
        free(text);
    }
}

/* Refused whole: the caller's struct is as before. */
static void test_flags_refused(void **state)
{
    char many[2 * COPPER_FLAGS_MAX + 1] = "";
    struct jp_setting settings[] = {
        {.key = (char[]){"cu_fuse"}, .value = (char[]){"/opt/cu_fuse"}},
        {.key = (char[]){"args"}, .value = many}};
    struct jp_jobconf conf = {.copper_settings = settings};
    struct copper_flags flags = {.n = 77};
    struct jp_error err = {""};

    (void) state;
    assert_int_equal(
        copper_flags_make(&conf, "/m", "/l", "/b", "/n", &flags, &err), -1);
    assert_string_equal(err.text, "job.conf names no cu_fuse");
    conf.n_copper_settings = 2;
    for (int i = 0; i < COPPER_FLAGS_MAX; i++)
        memcpy(many + 2 * i, "x ", 3);
    assert_int_equal(
        copper_flags_make(&conf, "/m", "/l", "/b", "/n", &flags, &err), -1);
    assert_non_null(strstr(err.text, "flags for cu_fuse"));
    assert_int_equal(flags.n, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mountinfo), cmocka_unit_test(test_cmdline),
        cmocka_unit_test(test_cores),     cmocka_unit_test(test_no_target),
        cmocka_unit_test(test_flags),     cmocka_unit_test(test_flags_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
