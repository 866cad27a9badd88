/* test_cuda_option.c - --util-profile=cuda=1: the variables that the tasks
 * get. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/plan.h"
#include "plugins/cuda/cuda_file.h"
#include "plugins/cuda/cuda_launch.h"
#include "plugins/util/util_launch.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static const struct row {
    const char *site, *option, *nccl;
    const char *own, *set; /* CUDA_INJECTION64_PATH, JOBPROF_SET */
    bool contained;
    bool counts;
    const char *setting, *note; /* NULL: none */
} rows[] = {
    {"", "auto,cuda=1", NULL, NULL, NULL, false, true, "1", NULL},
    {"", "200ms,cuda=yes", NULL, NULL, NULL, false, true, "1", NULL},
    {"", "auto", NULL, NULL, NULL, false, false, NULL, NULL},
    {"", "auto,cuda=0", NULL, NULL, NULL, false, false, NULL, NULL},
    {"", NULL, "recorder", NULL, NULL, false, false, NULL, NULL},
    {"util: { cuda = 1; };", NULL, "recorder", NULL, NULL, false, true, "1",
     NULL},
    {"util: { cuda = 1; };", "auto,cuda=0", NULL, NULL, NULL, false, false,
     NULL, NULL},
    /* a step that nobody samples */
    {"util: { cuda = 1; };", "off", "recorder", NULL, NULL, false, false, NULL,
     NULL},
    {"", "auto,cuda=1", NULL, "/opt/own.so", NULL, false, false, "0",
     "CUDA_INJECTION64_PATH=/opt/own.so is set in the environment and "
     "stays"},
    {"", "auto,cuda=1", NULL, "/a\nb", NULL, false, false, "0", "stays"},
    /* what an outer profiled step has left is none of the user's */
    {"", "auto,cuda=1", NULL, "/opt/own.so", "A,CUDA_INJECTION64_PATH", false,
     true, "1", NULL},
    {"", "auto,cuda=1", NULL, JP_PKGLIBDIR "/" CUDA_LIBRARY_NAME, NULL, false,
     true, "1", NULL},
    {"", "auto,cuda=1", NULL, NULL, NULL, true, false, "0", "in a container"},
    {"", "0,cuda=1", "recorder", NULL, NULL, false, false, NULL,
     "nothing is sampled"},
};

static const struct row *current;

static const char *env(void *arg, const char *name)
{
    if (!strcmp(name, CUDA_ENV_LIBRARY))
        return current->own;
    return strcmp(name, "JOBPROF_SET") ? NULL : current->set;
}

static const struct jp_envvar *find(const struct jp_jobconf *conf,
                                    const char *name)
{
    for (size_t i = 0; i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name))
            return &conf->env[i];
    return NULL;
}

static void fill(const char *dir, const struct row *row,
                 struct jp_jobconf *conf, char **note)
{
    char *path = tempdir_file(dir, "site.conf", 0600, row->site);
    const struct plan_input in = {.config = path,
                                  .given[OPTION_UTIL] = row->option,
                                  .given[OPTION_NCCL] = row->nccl,
                                  .env = env};
    const struct launch_facts facts = {.contained = row->contained, .env = &in};
    struct jp_error err = {""};
    struct jp_plan plan;
    const struct side_step step = {&facts, &plan, "/step"};

    current = row;
    *conf = (struct jp_jobconf){.schema = 1};
    *note = NULL;
    if (plan_make(&in, &plan, &err) < 0 ||
        util_side.fill(&step, conf, note, &err) < 0 ||
        cuda_side.complete(&step, conf, note, &err) < 0)
        fail_msg("%s: %s", row->option, err.text);
    plan_fini(&plan);
    free(path);
}

static void test_fill(void **state)
{
    for (size_t i = 0; i < N(rows); i++) {
        const struct jp_envvar *library, *dir;
        const char *setting;
        struct jp_jobconf conf;
        char *note;

        fill(*state, &rows[i], &conf, &note);
        library = find(&conf, CUDA_ENV_LIBRARY);
        dir = find(&conf, CUDA_ENV_DIR);
        setting = jobconf_side_find(&conf, OPTION_UTIL, "cuda");
        if (!library == rows[i].counts || !dir == rows[i].counts)
            fail_msg("row %zu: counts or not", i);
        if (library) {
            assert_true(library->soft);
            assert_string_equal(library->value,
                                JP_PKGLIBDIR "/libjobprof-cuda.so");
            assert_string_equal(dir->value, "/step/raw/%N/cuda");
        }
        if (!setting != !rows[i].setting ||
            (setting && strcmp(setting, rows[i].setting) != 0))
            fail_msg("row %zu: setting %s", i, setting ? setting : "none");
        if (!note != !rows[i].note || (note && !strstr(note, rows[i].note)))
            fail_msg("row %zu: \"%s\"", i, note ? note : "");
        free(note);
        jobconf_fini(&conf);
    }
}

/* A node without the library does not set its variable. */
static void test_missing(void **state)
{
    struct jp_jobconf conf;
    char line[256] = "", *note, *there;
    size_t n;

    fill(*state, &rows[0], &conf, &note);
    n = conf.n_env;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(conf.env[i].name, CUDA_ENV_LIBRARY)) {
            free(conf.env[i].value);
            conf.env[i].value = strdup("/nonexistent/x.so");
        }
    cuda_side.adapt(&conf, NULL, line, sizeof(line));
    assert_string_equal(
        line, "no CUDA counters: /nonexistent/x.so is not on this node");
    assert_int_equal(conf.n_env, n - 1);
    assert_null(find(&conf, CUDA_ENV_LIBRARY));
    assert_non_null(find(&conf, CUDA_ENV_DIR));
    line[0] = '\0';
    cuda_side.adapt(&conf, NULL, line, sizeof(line));
    assert_string_equal(line, "");
    free(note);
    jobconf_fini(&conf);
    fill(*state, &rows[0], &conf, &note);
    there = tempdir_file(*state, "x.so", 0600, "");
    for (size_t i = 0; i < conf.n_env; i++)
        if (!strcmp(conf.env[i].name, CUDA_ENV_LIBRARY)) {
            free(conf.env[i].value);
            conf.env[i].value = strdup(there);
        }
    cuda_side.adapt(&conf, NULL, line, sizeof(line));
    assert_string_equal(line, "");
    assert_int_equal(conf.n_env, n);
    free(there);
    free(note);
    jobconf_fini(&conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fill, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_missing, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
