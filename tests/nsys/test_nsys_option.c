/* test_nsys_option.c - --nsys-profile: its words, and the tasks' variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/plan.h"
#include "plugins/nsys/nsys_env.h"
#include "plugins/nsys/nsys_launch.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static const struct {
    const char *text, *error; /* NULL: taken */
} rows[] = {
    {"auto", NULL},
    {"off", NULL},
    {"ranks=0", NULL},
    {"ranks=0;8;16-23,trace=cuda;nvtx;mpi", NULL},
    {"ranks=first-per-node,required=1", NULL},
    {"auto,delay=0,duration=1s,capture=cudaProfilerApi", NULL},
    {"", "needs a value: off or auto, or key=value"},
    {"on", "unknown mode \"on\""},
    {"./train", "looks like the program"},
    {"atuo", "did you mean \"auto\"?"},
    {"rank=0", "did you mean \"ranks\"?"},
    {"ranks=", "needs a value"},
    {"ranks=some", "is not a list of ranks (all|node0|first-per-node, or"},
    {"ranks=0,8", "\"8\" is not key=value"},
    {"ranks=9-3", "is not a list of ranks"},
    {"ranks=0;;1", "is not a list of ranks"},
    {"ranks=-1", "is not a list of ranks"},
    {"ranks=0;", "is not a list of ranks"},
    {"ranks=4294967295", "is not a list of ranks"},
    {"ranks=0,ranks=1", "given more than once"},
    {"auto,trace=cuda nvtx", "is not a list"},
    {"auto,trace=cuda;", "is not a list"},
    {"auto,trace=$(id)", "is not a list"},
    {"auto,delay=-1", "delay"},
    {"auto,delay=1441m", "delay"},
    {"auto,duration=1ms", "duration"},
    {"auto,capture=always", "capture"},
    {"auto,required=maybe", "required"},
    {"auto,wait=0", "wait"},
    {"off,ranks=0", "cannot be used with \"off\""},
    {"auto,iterations=3", "is a key of --nccl-profile"},
};

static void test_words(void **state)
{
    for (size_t i = 0; i < N(rows); i++) {
        struct jp_request request;
        struct jp_error err = {""};
        int rc = request_parse(grammar_of(OPTION_NSYS), rows[i].text, &request,
                               &err);

        if (rc == 0)
            request_fini(&request);
        if (!rows[i].error != !rc ||
            (rows[i].error && !strstr(err.text, rows[i].error)))
            fail_msg("%s: %d \"%s\", wanted \"%s\"", rows[i].text, rc, err.text,
                     rows[i].error ? rows[i].error : "");
    }
}

static const char *nothing(void *arg, const char *name)
{
    return NULL;
}

static const char *env_of(const struct jp_jobconf *conf, const char *name)
{
    for (size_t i = 0; i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name))
            return conf->env[i].value;
    return NULL;
}

/* Does what resolve does. The caller frees conf and note. */
static void fill(const char *dir, const char *site, const char *option,
                 const char *nccl, uint32_t tasks, struct jp_jobconf *conf,
                 char **note)
{
    char *path = tempdir_file(dir, "site.conf", 0600, site);
    const struct plan_input in = {.config = path,
                                  .given[OPTION_NSYS] = option,
                                  .given[OPTION_NCCL] = nccl,
                                  .env = nothing};
    const struct launch_facts facts = {.contained = tasks == 1};
    struct jp_error err = {""};
    struct jp_plan plan;
    const struct side_step step = {&facts, &plan, "/step"};

    *conf = (struct jp_jobconf){.schema = 1, .ntasks = tasks};
    *note = NULL;
    if (plan_make(&in, &plan, &err) < 0 ||
        nsys_side.fill(&step, conf, note, &err) < 0)
        fail_msg("%s: %s", option, err.text);
    plan_fini(&plan);
    free(path);
}

#define FLAGS                                                                  \
    "--sample=none --cpuctxsw=none --wait=primary --kill=none --export=none "  \
    "--force-overwrite=true"
#define ON "nsys = { default = \"auto\"; };"

/* ranks NULL: no rank runs under nsys. */
static const struct {
    const char *site, *option, *nccl;
    uint32_t tasks;
    const char *ranks, *flags, *wait, *required;
} fills[] = {
    {"", "auto", NULL, 32, "all", "--trace=cuda,nvtx " FLAGS, "120", NULL},
    {"", "auto", NULL, 33, "first-per-node", "--trace=cuda,nvtx " FLAGS, "120",
     NULL},
    {"", "auto", NULL, 0, "first-per-node", "--trace=cuda,nvtx " FLAGS, "120",
     NULL},
    {"", "ranks=0;8,trace=cuda;mpi,delay=1500ms,duration=30s,required=1,wait=5",
     NULL, 64, "0;8", "--trace=cuda,mpi " FLAGS " --delay=2 --duration=30", "5",
     "1"},
    {"", "auto,capture=nvtx", NULL, 2, "all",
     "--trace=cuda,nvtx " FLAGS
     " --capture-range=nvtx --capture-range-end=stop",
     "120", NULL},
    {"nsys = { ranks = \"node0\"; };", "auto", NULL, 2, "node0",
     "--trace=cuda,nvtx " FLAGS, "120", NULL},
    {"", "off", "recorder", 2, NULL, NULL, NULL, NULL},
    {ON, NULL, NULL, 2, NULL, NULL, NULL, NULL}, /* no user has requested it */
    {ON, NULL, "recorder", 2, "all", "--trace=cuda,nvtx " FLAGS, "120", NULL},
    {ON, "off", "recorder", 2, NULL, NULL, NULL, NULL},
};

static void same(size_t i, const char *got, const char *want)
{
    if (!got != !want || (want && strcmp(got, want) != 0))
        fail_msg("row %zu: \"%s\", wanted \"%s\"", i, got ? got : "(none)",
                 want ? want : "(none)");
}

static void test_fill(void **state)
{
    for (size_t i = 0; i < N(fills); i++) {
        bool runs = NSYS_CAN_WRAP && fills[i].ranks;
        struct jp_jobconf conf;
        char *note, text[128];

        fill(*state, fills[i].site, fills[i].option, fills[i].nccl,
             fills[i].tasks, &conf, &note);
        same(i, env_of(&conf, NSYS_ENV_RANKS), runs ? fills[i].ranks : NULL);
        same(i, jobconf_side_find(&conf, OPTION_NSYS, "ranks"),
             runs ? fills[i].ranks : NULL);
        same(i, env_of(&conf, NSYS_ENV_FLAGS), runs ? fills[i].flags : NULL);
        same(i, env_of(&conf, NSYS_ENV_WAIT), runs ? fills[i].wait : NULL);
        same(i, env_of(&conf, NSYS_ENV_REQUIRED),
             runs ? fills[i].required : NULL);
        same(i, env_of(&conf, NSYS_ENV_DIR), runs ? "/step/raw/%N/nsys" : NULL);
        assert_true(!runs == !env_of(&conf, NSYS_ENV_WRAP));
        nsys_side.describe(&conf, text, sizeof(text));
        assert_int_equal(strncmp(text, runs ? "nsys: ranks " : "nsys: no rank",
                                 runs ? 12 : 13),
                         0);
        free(note);
        jobconf_fini(&conf);
    }
}

/* If Slurm cannot start nsys, the line to type; otherwise the needs of a
 * container. */
static void test_notes(void **state)
{
    struct jp_error err = {""};
    struct jp_jobconf conf;
    char *note;

    assert_int_equal(nsys_side.check("off", &err), 0);
    assert_int_equal(nsys_side.check("auto", &err), NSYS_CAN_WRAP ? 0 : -1);
    if (!NSYS_CAN_WRAP)
        assert_non_null(strstr(err.text, "type: srun ... nsys profile -o "));
    fill(*state, "", "auto,duration=10m", NULL, 1, &conf, &note);
    assert_non_null(note);
    assert_non_null(
        strstr(note, NSYS_CAN_WRAP ? "five minutes" : "type: srun ... nsys"));
    if (NSYS_CAN_WRAP)
        assert_non_null(strstr(note, "must be in its image"));
    free(note);
    jobconf_fini(&conf);
    fill(*state, "", "auto", NULL, 2, &conf, &note);
    assert_int_equal(note == NULL, NSYS_CAN_WRAP);
    free(note);
    jobconf_fini(&conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test_setup_teardown(test_fill, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_notes, tempdir_make, tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
