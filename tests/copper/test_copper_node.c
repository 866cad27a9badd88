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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mountinfo),
        cmocka_unit_test(test_cmdline),
        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_no_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
