/* test_pairs.c - the answer that begin gives to the SPANK module. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/agent/agent.h"

static char name_a[] = "NCCL_A", name_bad[] = "A=B", name_digit[] = "1A";
static char name_none[] = "";
static char plugin[] = "NCCL_PROFILER_PLUGIN";

static void test_format(void **state)
{
    static char plain[] = "1", twice[] = "/x/%N/%N", percent[] = "%%%n%",
                lines[] = "a\nb", empty[] = "", code[] = "%J";
    static const struct {
        struct jp_envvar var;
        const char *wanted; /* NULL: refused */
    } table[] = {
        {{name_a, plain, false, NULL}, "NCCL_A=1\n.\n"},
        {{name_a, plain, true, NULL}, "?NCCL_A=1\n.\n"},
        {{name_a, twice, false, NULL}, "NCCL_A=/x/n1/n1\n.\n"},
        {{name_a, percent, false, NULL}, "NCCL_A=%%%n%\n.\n"},
        {{name_a, code, false, NULL}, "NCCL_A=%J\n.\n"},
        {{name_a, empty, false, NULL}, "NCCL_A=\n.\n"},
        {{name_a, lines, false, NULL}, NULL},
        {{name_bad, plain, false, NULL}, NULL},
        {{name_digit, plain, false, NULL}, NULL},
        {{name_none, plain, false, NULL}, NULL},
        {{name_a, NULL, false, NULL}, NULL},
        {{NULL, plain, false, NULL}, NULL},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct jp_envvar var = table[i].var;
        struct jp_jobconf conf = {.env = &var, .n_env = 1};
        char *text = pairs_format(&conf, "n1", NULL);

        if (table[i].wanted)
            assert_string_equal(text, table[i].wanted);
        else
            assert_null(text);
        free(text);
    }
}

static void test_limits(void **state)
{
    struct jp_envvar *vars = calloc(JP_PAIRS_MAX, sizeof(*vars));
    struct jp_jobconf conf = {.env = vars};
    char *big = calloc(1, JP_PAIRS_MAX_BYTES + 1);
    char value[] = "1";
    char *text;

    (void) state;
    text = pairs_format(&conf, "n1", NULL);
    assert_string_equal(text, ".\n");
    free(text);
    for (size_t i = 0; i < JP_PAIRS_MAX; i++)
        vars[i] = (struct jp_envvar){name_a, value, false, NULL};
    conf.n_env = JP_PAIRS_MAX - 1; /* and the dot */
    text = pairs_format(&conf, "n1", NULL);
    assert_non_null(text);
    free(text);
    conf.n_env = JP_PAIRS_MAX;
    assert_null(pairs_format(&conf, "n1", NULL));
    memset(big, 'x', JP_PAIRS_MAX_BYTES);
    vars[0].value = big;
    conf.n_env = 1;
    assert_null(pairs_format(&conf, "n1", NULL));
    free(big);
    free(vars);
}

static void test_plugin(void **state)
{
    static char here[] = "/proc/self/exe", bare[] = "libx.so",
                gone[] = "/nonexistent/libx.so", folder[] = "/tmp";
    static const struct {
        char *value;
        int rc;
    } table[] = {{here, 0}, {bare, 0}, {gone, -1}, {folder, -1}};

    (void) state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct jp_envvar var = {plugin, table[i].value, true, NULL};
        struct jp_jobconf conf = {.env = &var, .n_env = 1};

        assert_int_equal(pairs_check_plugin(&conf, NULL), table[i].rc);
    }
}

/* The variables of tasks in a container; the first column maps the host's
 * paths. */
static void test_container(void **state)
{
    static const struct {
        const char *paths, *binds, *library, *dir, *wanted;
    } table[] = {
        {"", "", "/l/p.so", "/s",
         "?NCCL_PROFILER_PLUGIN=/l/p.so\nJOBPROF_DIR=/s/raw/n1\nN=7\n.\n"},
        {"/l=/opt,/s=/out", "", "/l/p.so", "/s",
         "?NCCL_PROFILER_PLUGIN=/opt/p.so\nJOBPROF_DIR=/out/raw/n1\nN=7\n"
         ".\n"},
        {"", "A,B", "/l/p.so", "/s",
         "?NCCL_PROFILER_PLUGIN=/l/p.so\nJOBPROF_DIR=/s/raw/n1\nN=7\n"
         "?A=/s/raw/n1:/s/raw/n1,/l/p.so:/l/p.so:ro\n"
         "?B=/s/raw/n1:/s/raw/n1,/l/p.so:/l/p.so:ro\n.\n"},
        {"/l=/opt", "A", "/l/p.so", "/s",
         "?NCCL_PROFILER_PLUGIN=/opt/p.so\nJOBPROF_DIR=/s/raw/n1\nN=7\n"
         "?A=/s/raw/n1:/s/raw/n1,/l/p.so:/opt/p.so:ro\n.\n"},
        /* Apptainer's list is appended to the existing one */
        {"", "APPTAINER_BINDPATH,APPTAINER_BINDING", "/l/p.so", "/s",
         "?NCCL_PROFILER_PLUGIN=/l/p.so\nJOBPROF_DIR=/s/raw/n1\nN=7\n"
         "+APPTAINER_BINDPATH=/s/raw/n1:/s/raw/n1,/l/p.so:/l/p.so:ro\n"
         "?APPTAINER_BINDING=/s/raw/n1:/s/raw/n1,/l/p.so:/l/p.so:ro\n.\n"},
        /* found by the dynamic linker */
        {"/l=/opt", "A", "p.so", "/s",
         "?NCCL_PROFILER_PLUGIN=p.so\nJOBPROF_DIR=/s/raw/n1\nN=7\n"
         "?A=/s/raw/n1:/s/raw/n1\n.\n"},
        /* a separator of the list in a path */
        {"", "A", "/l/p.so", "/s a",
         "?NCCL_PROFILER_PLUGIN=/l/p.so\nJOBPROF_DIR=/s a/raw/n1\nN=7\n.\n"},
        {"", "A", "/l:/p.so", "/s",
         "?NCCL_PROFILER_PLUGIN=/l:/p.so\nJOBPROF_DIR=/s/raw/n1\nN=7\n.\n"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct jp_jobconf conf = {
            .container_paths = strdup(table[i].paths),
            .container_binds = strdup(table[i].binds),
            .env = calloc(3, sizeof(*conf.env)),
            .n_env = 3,
        };
        char raw[64], *text;

        snprintf(raw, sizeof(raw), "%s/raw/%%N", table[i].dir);
        conf.env[0] = (struct jp_envvar){strdup(plugin),
                                         strdup(table[i].library), true, NULL};
        conf.env[1] =
            (struct jp_envvar){strdup("JOBPROF_DIR"), strdup(raw), false, NULL};
        conf.env[2] = (struct jp_envvar){strdup("N"), strdup("7"), false, NULL};
        assert_int_equal(pairs_contain(&conf, table[i].dir, "n1", NULL), 0);
        text = pairs_format(&conf, "n1", NULL);
        assert_string_equal(text, table[i].wanted);
        free(text);
        jobconf_fini(&conf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_plugin),
        cmocka_unit_test(test_container),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
