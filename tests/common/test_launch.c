/* test_launch.c - from settings to a step directory, and nothing left on
 * failure. */
#include "orchestrator/agent/launch.h"

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
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

/* The environment: NAME, value, ...; NULL ends it. */
static const char *env[32];

static const char *test_env(void *arg, const char *name)
{
    (void) arg;
    for (size_t i = 0; i + 1 < N(env) && env[i]; i += 2)
        if (!strcmp(env[i], name))
            return env[i + 1];
    return NULL;
}

static void set_env(const char *name, const char *value)
{
    size_t i = 0;

    while (env[i] && strcmp(env[i], name) != 0)
        i += 2;
    env[i] = name;
    env[i + 1] = value;
}

/* The input of a launch. */
struct input {
    struct plan_input plan;
    struct launch_facts given;
};

/* The result of a launch. */
struct answer {
    char *dir, *note;
    char hash[SHA256_HEX];
    unsigned limit_s;
    bool runs_beside;
};

/* A step 0 of job 12 in dir. */
static struct input input_of(const char *dir, const char *nccl)
{
    struct input in = {
        .given = {
            .nnodes = 2, .ntasks = 4, .command = "./train", .owner = true}};
    static char site[128];

    /* not the host's own site file */
    snprintf(site, sizeof(site), "%s/site.conf", dir);
    free(tempdir_file(dir, "site.conf", 0600, ""));
    in.plan.config = site;
    memset(env, 0, sizeof(env));
    set_env("SLURM_JOB_ID", "12");
    set_env("SLURM_STEP_ID", "0");
    set_env("SLURM_SUBMIT_DIR", dir);
    in.plan.given[OPTION_NCCL] = nccl;
    in.plan.env = test_env;
    return in;
}

/* Settings, facts, launch, in the way of jobprof-node resolve. */
static int try_step(const struct input *in, struct answer *out,
                    struct jp_error *err)
{
    struct launch_facts facts = in->given;
    struct launch launch, before;
    struct jp_plan plan;
    int rc;

    if (plan_make(&in->plan, &plan, err) < 0)
        return -1;
    facts_get(&in->plan, &facts);
    memset(&launch, 0x5a, sizeof(launch));
    before = launch;
    rc = launch_step(&facts, &plan, &launch, err);
    if (rc < 0) {
        assert_memory_equal(&launch, &before, sizeof(launch));
    } else {
        *out = (struct answer){.dir = launch.place.step_dir,
                               .note = launch.note,
                               .limit_s = launch_limit_s(&launch),
                               .runs_beside = launch.beside < OPTIONS};
        memcpy(out->hash, launch.hash, sizeof(out->hash));
        launch.place.step_dir = launch.note = NULL;
        launch_fini(&launch);
        launch_fini(&launch);
    }
    plan_fini(&plan);
    return rc;
}

static void answer_fini(struct answer *answer)
{
    free(answer->dir);
    free(answer->note);
}

/* The directory as a node finds it; NULL: the step is not profiled. */
static char *find_dir(const struct input *in, bool *hidden)
{
    struct launch_facts facts = {0};
    struct launch_place place = {0};
    struct jp_plan plan;
    char *dir;

    assert_int_equal(plan_make(&in->plan, &plan, NULL), 0);
    facts_get(&in->plan, &facts);
    if (plan_is_profiled(&plan))
        assert_int_equal(place_find(&facts, &plan, &place, NULL), 0);
    *hidden = place.hidden;
    dir = place.step_dir;
    place.step_dir = NULL;
    place_fini(&place);
    plan_fini(&plan);
    return dir;
}

static bool exists(const char *dir, const char *name)
{
    char *path = tempdir_path(dir, name);
    struct stat st;
    bool there = lstat(path, &st) == 0;

    free(path);
    return there;
}

/* The launch fails with that part of a sentence, and dir/name does not
 * exist. */
static void refuse(const struct input *in, const char *dir, const char *name,
                   const char *sentence)
{
    struct answer answer;
    struct jp_error err = {""};

    if (try_step(in, &answer, &err) != -1 || !strstr(err.text, sentence))
        fail_msg("\"%s\" lacks \"%s\"", err.text, sentence);
    if (exists(dir, name))
        fail_msg("%s is left behind", name);
    assert_int_equal(try_step(in, &answer, NULL), -1);
}

static void test_bad_environment(void **state)
{
    static const char *const rows[][3] = {
        {"SLURM_JOB_ID", NULL, "SLURM_JOB_ID is missing"},
        {"SLURM_JOB_ID", "0", "SLURM_JOB_ID is missing or not a number"},
        {"SLURM_JOB_ID", "../x", "SLURM_JOB_ID is missing or not a number"},
        {"SLURM_STEP_ID", "", "SLURM_STEP_ID is missing"},
        {"SLURM_STEP_ID", "extern", "SLURM_STEP_ID is missing or not a number"},
        {"SLURM_SUBMIT_DIR", NULL, "SLURM_SUBMIT_DIR is missing"},
        {"SLURM_SUBMIT_DIR", "here", "not absolute"},
        {"SLURM_SUBMIT_DIR", "/tmp/a\nb", "control character"},
        {"SLURM_SUBMIT_DIR", "/tmp/%N", "\"%N\" in the path"},
        {"JOBPROF_NCCL", "wibble", "JOBPROF_NCCL: unknown mode"},
    };

    for (size_t i = 0; i < N(rows); i++) {
        struct input in = input_of(*state, NULL);

        set_env("JOBPROF_NCCL", "auto");
        set_env(rows[i][0], rows[i][1]);
        refuse(&in, *state, "jobprof-12", rows[i][2]);
    }
}

static void test_bad_directories(void **state)
{
    const char *dir = *state;
    char *file = tempdir_file(dir, "file", 0600, "");
    char *path = tempdir_path(dir, "foreign-12");
    struct input in = input_of(dir, "auto,dir=file/prof");

    refuse(&in, dir, "file/prof", "Not a directory");
    in = input_of(dir, "auto,dir=file");
    free(tempdir_file(dir, "file-12", 0600, ""));
    refuse(&in, dir, "file/step-0", "file-12: Not a directory");
    in = input_of(dir, "auto,dir=/");
    refuse(&in, dir, "step-0", "not a directory for a job");
    in = input_of(dir, "example,dir=deep/er/prof");
    refuse(&in, dir, "deep", "no example library is configured");
    in = input_of(dir, "auto,dir=/proc/jobprof/x");
    refuse(&in, dir, "x", "/proc/jobprof");
    if (geteuid() == 0) {
        assert_int_equal(mkdir(path, 0777), 0);
        assert_int_equal(chown(path, 12345, 0), 0);
        in = input_of(dir, "auto,dir=foreign");
        refuse(&in, dir, "foreign-12/step-0", "uid 12345 owns it");
        assert_int_equal(chown(path, 0, 0), 0); /* to be removed */
    }
    free(path);
    free(file);
}

/* A failure half-way also removes the folders above. */
static void test_nothing_left(void **state)
{
    const struct launch_facts facts = {.owner = true};
    struct launch_place place = {0};
    struct jp_error err;
    char name[300];

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    place.job_dir = tempdir_path(*state, "new/deep/prof");
    place.step_dir = tempdir_path(place.job_dir, name);
    assert_int_equal(place_make(&place, &facts, &err), -1);
    assert_non_null(strstr(err.text, "File name too long"));
    assert_false(exists(*state, "new"));
    place_fini(&place);
    place_fini(&place);
}

static void test_unasked(void **state)
{
    static const char *const options[] = {NULL, "off"};

    for (size_t i = 0; i < N(options); i++) {
        struct input in = input_of(*state, options[i]);
        struct answer answer;
        bool hidden;

        memset(env, 0, sizeof(env)); /* nothing is read then */
        assert_false(plan_is_asked(&in.plan));
        assert_int_equal(try_step(&in, &answer, NULL), 0);
        assert_null(answer.dir);
        assert_null(answer.note);
        answer_fini(&answer);
        assert_null(find_dir(&in, &hidden));
    }
}

static struct answer resolve(const struct input *in)
{
    struct answer answer;
    struct jp_error err = {""};

    if (try_step(in, &answer, &err) < 0)
        fail_msg("%s", err.text);
    return answer;
}

static void test_step(void **state)
{
    static const char *const names[] = {"pending", "done",  "raw",
                                        "nodes",   "owner", "job.conf"};
    struct input in = input_of(*state, "auto,dir=a/b/%j-%x");
    struct answer answer;
    struct jp_jobconf conf;
    struct stat st;
    char *path, *dir, hash[SHA256_HEX];
    bool hidden;

    set_env("SLURM_JOB_NAME", "../up");
    answer = resolve(&in);
    path = tempdir_path(*state, "a/b/12-_._up/step-0");
    assert_string_equal(answer.dir, path);
    assert_int_equal(answer.limit_s, 30);
    free(path);
    for (size_t i = 0; i < N(names); i++)
        assert_true(exists(answer.dir, names[i]));
    assert_int_equal(stat(answer.dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    path = tempdir_path(answer.dir, "job.conf");
    assert_int_equal(jobconf_hash(path, hash, NULL), 0);
    assert_string_equal(hash, answer.hash);
    assert_int_equal(jobconf_read(path, &conf, NULL), 0);
    assert_string_equal(conf.nccl_mode, "recorder");
    assert_string_equal(conf.command, "./train");
    assert_true(conf.explicit_request && !conf.hidden);
    jobconf_fini(&conf);
    free(path);
    dir = find_dir(&in, &hidden);
    assert_string_equal(dir, answer.dir);
    assert_false(hidden);
    free(dir);
    answer_fini(&answer);
}

static void test_older_steps(void **state)
{
    struct input in = input_of(*state, "auto,dir=again");
    struct answer answer;
    char *path;

    path = tempdir_path(*state, "again-12");
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    path = tempdir_path(*state, "again-12/step-0");
    assert_int_equal(symlink("/tmp", path), 0);
    free(path);
    for (int i = 0; i < 3; i++) {
        answer = resolve(&in);
        answer_fini(&answer);
    }
    assert_true(exists(*state, "again-12/step-0/owner"));
    assert_true(exists(*state, "again-12/step-0.old-1"));
    assert_true(exists(*state, "again-12/step-0.old-2/owner"));
    assert_true(exists(*state, "again-12/step-0.old-3/owner"));
    set_env("SLURM_STEP_ID", "1");
    answer = resolve(&in);
    answer_fini(&answer);
    assert_true(exists(*state, "again-12/step-1/owner"));
    assert_false(exists(*state, "again-12/step-1.old-1"));
}

static void test_restart(void **state)
{
    struct input in = input_of(*state, "auto");
    struct answer answer;
    bool hidden;
    char *dir;

    set_env("SLURM_RESTART_COUNT", "2");
    answer = resolve(&in);
    assert_true(exists(*state, "jobprof-12_r2/step-0/job.conf"));
    answer_fini(&answer);
    in.plan.given[OPTION_NCCL] = "auto,dir=mine";
    dir = find_dir(&in, &hidden);
    assert_non_null(strstr(dir, "/mine-12_r2/step-0"));
    free(dir);
}

static void test_hidden(void **state)
{
    struct input in = input_of(*state, NULL);
    struct answer answer;
    struct jp_jobconf conf;
    char *path, *final_dir = tempdir_path(*state, "jobprof-12/step-0");

    in.plan.default_mode = "inspector";
    in.given.owner = false;
    /* a default alone is not asked for by the user */
    assert_false(plan_is_asked(&in.plan));
    answer = resolve(&in);
    assert_null(answer.note); /* a default prints nothing */
    path = tempdir_path(*state, ".jobprof-12/step-0/job.conf");
    assert_int_equal(jobconf_read(path, &conf, NULL), 0);
    assert_true(conf.hidden && !conf.explicit_request);
    assert_string_equal(conf.final_dir, final_dir);
    assert_false(exists(answer.dir, "owner"));
    jobconf_fini(&conf);
    free(path);
    free(final_dir);
    answer_fini(&answer);
}

static const struct jp_setting *setting(const struct jp_jobconf *conf,
                                        const char *key)
{
    for (size_t i = 0; i < conf->n_settings; i++)
        if (!strcmp(conf->settings[i].key, key))
            return &conf->settings[i];
    return NULL;
}

/* The user's own variables are kept and reported, except for ours and forced
 * ones. */
static void test_user_variables(void **state)
{
    static const struct {
        const char *option, *ours;
        bool reported;
    } rows[] = {{"auto,dir=u0", NULL, true},
                {"auto,dir=u1", "X,NCCL_PROFILER_PLUGIN", false},
                {"auto,dir=u2", "NCCL_PROFILER_PLUGI", true},
                {"auto,dir=u3,force=1", NULL, false}};

    for (size_t i = 0; i < N(rows); i++) {
        struct input in = input_of(*state, rows[i].option);
        struct answer answer;
        struct jp_jobconf conf;
        const struct jp_setting *s;
        char *path;

        set_env("NCCL_PROFILER_PLUGIN", "mine");
        set_env("JOBPROF_SET", rows[i].ours);
        answer = resolve(&in);
        path = tempdir_path(answer.dir, "job.conf");
        assert_int_equal(jobconf_read(path, &conf, NULL), 0);
        s = setting(&conf, "NCCL_PROFILER_PLUGIN");
        assert_int_equal(s != NULL, rows[i].reported);
        assert_int_equal(answer.note != NULL, rows[i].reported);
        if (s)
            assert_string_equal(s->source, "environment");
        assert_string_equal(conf.env[0].name, "NCCL_PROFILER_PLUGIN");
        assert_int_equal(conf.env[0].soft, i != 3);
        assert_string_equal(conf.env[1].name, "JOBPROF_RECORDER_DIR");
        assert_false(conf.env[1].soft);
        jobconf_fini(&conf);
        free(path);
        answer_fini(&answer);
    }
}

/* A file with the texts by which a profiler's library is recognised. */
static char *fake_library(const char *dir, const char *name, const char *mark)
{
    char text[128];

    snprintf(text, sizeof(text), "\177ELF ncclProfiler_v5 %s", mark);
    return tempdir_file(dir, name, 0600, text);
}

static const struct jp_envvar *variable(const struct jp_jobconf *conf,
                                        const char *name)
{
    for (size_t i = 0; i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name))
            return &conf->env[i];
    return NULL;
}

/* The user's script sets the library itself, as NVIDIA's pages recommend: that
 * profiler runs, is planned for, and is reported. */
static void test_own_library(void **state)
{
    static const char inspector[] = "NCCL_INSPECTOR_ENABLE";
    static const struct {
        const char *option, *library, *mark, *mode, *note;
    } rows[] = {
        {"inspector,dir=w0", "mine.so", inspector, "inspector", NULL},
        {"inspector,dir=w1", NULL, "inspector", "inspector", NULL},
        {"auto,dir=w2", "mine.so", inspector, "inspector",
         "names a library of NVIDIA's Inspector"},
        {"recorder,dir=w3", "mine.so", "NCCL_PROFILE_EVENT_MASK", "example",
         "names a library of NVIDIA's example plugin"},
        {"auto,dir=w4", "mine.so", "JOBPROF_RECORDER_DIR", "recorder", NULL},
        {"auto,dir=w5", "mine.so", "SOMEBODY_ELSE", "recorder",
         "the recorder does not run"},
        {"auto,dir=w6,force=1", "mine.so", inspector, "recorder", NULL}};

    for (size_t i = 0; i < N(rows); i++) {
        struct input in = input_of(*state, rows[i].option);
        char *library = rows[i].library ? fake_library(*state, rows[i].library,
                                                       rows[i].mark)
                                        : strdup(rows[i].mark);
        struct answer answer;
        struct jp_jobconf conf;
        const char *note;
        char *path;

        set_env("NCCL_PROFILER_PLUGIN", library);
        set_env("NCCL_INSPECTOR_DUMP_DIR", "logs");
        set_env("NCCL_INSPECTOR_DUMP_VERBOSE", "1");
        answer = resolve(&in);
        path = tempdir_path(answer.dir, "job.conf");
        assert_int_equal(jobconf_read(path, &conf, NULL), 0);
        assert_string_equal(conf.nccl_mode, rows[i].mode);
        note = answer.note ? answer.note : "";
        if (rows[i].note ? !strstr(note, rows[i].note)
                         : strstr(note, "NCCL_PROFILER_PLUGIN") != NULL)
            fail_msg("%s: \"%s\"", rows[i].option, note);
        if (!strcmp(rows[i].mode, "inspector")) {
            assert_string_equal(variable(&conf, "NCCL_PROFILER_PLUGIN")->value,
                                library);
            assert_string_equal(
                variable(&conf, "NCCL_INSPECTOR_DUMP_DIR")->value, "logs");
            assert_string_equal(
                variable(&conf, "NCCL_INSPECTOR_DUMP_VERBOSE")->value, "1");
            assert_string_equal(
                setting(&conf, "NCCL_INSPECTOR_DUMP_DIR")->value, "logs");
            /* the plan uses everything that the user has set: the forecast is
             * valid */
            assert_true(conf.planned_ops > 0);
        }
        jobconf_fini(&conf);
        free(path);
        free(library);
        answer_fini(&answer);
    }
}

/* kernels= in the tasks' environment; the user's own variable is that knob and
 * not a foreign one. */
static void test_kernels(void **state)
{
    static const struct {
        const char *option, *mine, *value, *source;
    } rows[] = {{"auto,dir=k0", NULL, "auto", "default"},
                {"recorder,dir=k1,kernels=1", NULL, "1", "option"},
                {"recorder,dir=k2", "0", "0", "environment"},
                {"recorder,dir=k3,force=1", "0", "0", "environment"},
                {"recorder,dir=k4,kernels=auto", "0", "auto", "option"}};

    for (size_t i = 0; i < N(rows); i++) {
        struct input in = input_of(*state, rows[i].option);
        struct answer answer;
        struct jp_jobconf conf;
        const char *value = NULL;
        char *path;

        set_env("NCCL_PROFILER_PLUGIN", NULL);
        set_env("JOBPROF_SET", NULL);
        set_env("JOBPROF_RECORDER_KERNELS", rows[i].mine);
        answer = resolve(&in);
        set_env("JOBPROF_RECORDER_KERNELS", NULL);
        path = tempdir_path(answer.dir, "job.conf");
        assert_int_equal(jobconf_read(path, &conf, NULL), 0);
        for (size_t k = 0; k < conf.n_env; k++)
            if (!strcmp(conf.env[k].name, "JOBPROF_RECORDER_KERNELS")) {
                assert_false(conf.env[k].soft);
                value = conf.env[k].value;
            }
        assert_non_null(value);
        assert_string_equal(value, rows[i].value);
        assert_string_equal(setting(&conf, "kernels")->value, rows[i].value);
        assert_string_equal(setting(&conf, "kernels")->source, rows[i].source);
        assert_null(setting(&conf, "JOBPROF_RECORDER_KERNELS"));
        assert_null(answer.note);
        jobconf_fini(&conf);
        free(path);
        answer_fini(&answer);
    }
}

/* chain=: what the recorder loads besides. own is the user's own library, which
 * the recorder then replaces; otherwise his own library stays. */
static void test_chain(void **state)
{
    static const struct {
        const char *option, *mine, *chain, *plugin; /* plugin NULL: soft, his */
    } rows[] = {
        {"auto,dir=c0", NULL, NULL, "jobprof"},
        {"recorder,dir=c1,chain=/l/i.so", NULL, "/l/i.so", "jobprof"},
        {"recorder,dir=c2,chain=inspector", NULL, "inspector", "jobprof"},
        {"auto,dir=c3,chain=own", "/l/mine.so", "/l/mine.so", "jobprof"},
        {"auto,dir=c4,chain=own", "inspector", "inspector", "jobprof"},
        {"auto,dir=c5,chain=own", NULL, NULL, "jobprof"},
        {"recorder,dir=c6,chain=/l/i.so", "/l/mine.so", "/l/i.so", NULL}};

    for (size_t i = 0; i < N(rows); i++) {
        struct input in = input_of(*state, rows[i].option);
        const struct jp_envvar *plugin, *chain;
        struct answer answer;
        struct jp_jobconf conf;
        char *path;

        set_env("JOBPROF_SET", NULL);
        set_env("NCCL_PROFILER_PLUGIN", rows[i].mine);
        answer = resolve(&in);
        set_env("NCCL_PROFILER_PLUGIN", NULL);
        path = tempdir_path(answer.dir, "job.conf");
        assert_int_equal(jobconf_read(path, &conf, NULL), 0);
        assert_string_equal(conf.nccl_mode, "recorder");
        plugin = variable(&conf, "NCCL_PROFILER_PLUGIN");
        chain = variable(&conf, "JOBPROF_RECORDER_CHAIN");
        if (rows[i].chain)
            assert_string_equal(chain->value, rows[i].chain);
        else
            assert_null(chain);
        if (rows[i].plugin) {
            assert_non_null(strstr(plugin->value, rows[i].plugin));
            assert_int_equal(plugin->soft, !rows[i].mine);
        } else {
            assert_true(plugin->soft);
        }
        jobconf_fini(&conf);
        free(path);
        answer_fini(&answer);
    }
}

static void test_copper(void **state)
{
    struct input in = input_of(*state, NULL);
    struct answer answer;
    struct jp_jobconf conf;
    char *path;

    in.plan.given[OPTION_COPPER] = "top,top=5";
    refuse(&in, *state, "copper", "cu_fuse is not set");
    in.plan.given[OPTION_NCCL] = "recorder,dir=copper";
    answer = resolve(&in);
    assert_non_null(strstr(answer.note, "cu_fuse is not set"));
    assert_false(answer.runs_beside);
    path = tempdir_path(answer.dir, "job.conf");
    assert_int_equal(jobconf_read(path, &conf, NULL), 0);
    assert_string_equal(conf.sides[OPTION_COPPER].request, "top");
    assert_string_equal(jobconf_side_find(&conf, OPTION_COPPER, "mode"), "off");
    assert_string_equal(conf.sides[OPTION_COPPER].settings[1].key, "top");
    assert_string_equal(conf.sides[OPTION_COPPER].settings[1].value, "5");
    jobconf_fini(&conf);
    free(path);
    answer_fini(&answer);
}

/* The value of a setting of Copper's in a step's job.conf. */
static void check_copper(const struct jp_jobconf *conf, const char *key,
                         const char *value)
{
    const char *found = jobconf_side_find(conf, OPTION_COPPER, key);

    if (!value != !found || (value && strcmp(value, found) != 0))
        fail_msg("%s is %s, not %s", key, found ? found : "absent",
                 value ? value : "absent");
}

static void test_copper_alone(void **state)
{
    static const char *const rows[][2] = {
        {"mode", "full"},     {"top", "20"},
        {"interval", "5"},    {"cu_fuse", "/opt/copper/build/cu_fuse"},
        {"ttl", NULL},        {"net_type", "na+sm"},
        {"kill_wait", "15"},  {"args", "-es 2"},
        {"mount", "/mnt/%N"}, {"address_book", NULL}};
    struct input in = input_of(*state, NULL);
    struct answer answer;
    struct jp_jobconf conf;
    char *path;

    free(tempdir_file(*state, "site.conf", 0600,
                      "copper = { cu_fuse = \"/site\"; net_type = \"na+sm\"; "
                      "args = \"-es 2\"; };"));
    in.given.kill_wait_s = 15;
    in.plan.given[OPTION_COPPER] =
        "full,interval=1m,root=/opt/copper,mount=/mnt/%N";
    answer = resolve(&in);
    assert_true(answer.runs_beside);
    assert_int_equal(answer.limit_s, 45);
    assert_non_null(strstr(answer.note, "interval is 5 s"));
    path = tempdir_path(answer.dir, "job.conf");
    assert_int_equal(jobconf_read(path, &conf, NULL), 0);
    assert_string_equal(conf.nccl_mode, "off");
    assert_true(conf.explicit_request && !conf.hidden);
    for (size_t i = 0; i < N(rows); i++)
        check_copper(&conf, rows[i][0], rows[i][1]);
    assert_int_equal(conf.n_env, 1);
    assert_string_equal(conf.env[0].name, "COPPER_MOUNT");
    assert_string_equal(conf.env[0].value, "/mnt/%N");
    jobconf_fini(&conf);
    free(path);
    answer_fini(&answer);
    set_env("SLURM_STEP_ID", "7");
    in.given.owner = false;
    refuse(&in, *state, "jobprof-12/step-7", "only srun");
    in.given.owner = true;
    set_env("SLURM_HET_SIZE", "2");
    refuse(&in, *state, "jobprof-12/step-7", "heterogeneous");
}

static void test_copper_attached(void **state)
{
    static const struct {
        const char *option, *mount, *variable, *note;
    } rows[] = {
        {"aggregate,attach=1", NULL, "", NULL},
        {"full,attach=1,mount=/mnt/%N", "/mnt/%N", "/mnt/%N", NULL},
        {"top,attach=1,top=5", NULL, "", "top has no effect with attach=1"}};

    free(
        tempdir_file(*state, "site.conf", 0600, "copper = { args = \"x\"; };"));
    for (size_t i = 0; i < N(rows); i++) {
        struct input in = input_of(*state, NULL);
        struct answer answer;
        struct jp_jobconf conf;
        char *path;

        in.plan.given[OPTION_COPPER] = rows[i].option;
        answer = resolve(&in);
        assert_true(answer.runs_beside);
        if (!rows[i].note != !answer.note ||
            (answer.note && !strstr(answer.note, rows[i].note)))
            fail_msg("%s: %s", rows[i].option, answer.note);
        path = tempdir_path(answer.dir, "job.conf");
        assert_int_equal(jobconf_read(path, &conf, NULL), 0);
        check_copper(&conf, "attach", "1");
        check_copper(&conf, "mount", rows[i].mount);
        check_copper(&conf, "cu_fuse", NULL);
        assert_int_equal(conf.n_env, 1);
        assert_string_equal(conf.env[0].value, rows[i].variable);
        jobconf_fini(&conf);
        free(path);
        answer_fini(&answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_environment),
        cmocka_unit_test(test_bad_directories),
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_unasked),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_older_steps),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_user_variables),
        cmocka_unit_test(test_own_library),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_copper),
        cmocka_unit_test(test_copper_alone),
        cmocka_unit_test(test_copper_attached),
    };

    return cmocka_run_group_tests_name("launch", tests, tempdir_make,
                                       tempdir_drop);
}
