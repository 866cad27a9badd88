/* drive.c - a program that calls NCCL as applications do, and writes down what
 * it called (drive_rank.h). NCCL is a genuine one, CUDA is the stand-in
 * (fakecuda.h).
 *
 * Ranks are forked, or they are the tasks of a Slurm step. */
#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/num.h"
#include "contrib/fakecuda/drive_rank.h"

enum { MAX_RANKS = 64, GPUS = 8 };

struct options {
    const char *nccl, *cuda, *truth, *meet;
    const struct drive_scene *scene;
    int64_t ranks, survive_ms;
    bool is_probe;
    char *args[DRIVE_MAX_ARGS];
    int n_args;
};

static void help(FILE *out)
{
    const struct drive_scene *s;

    fputs("Usage: drive [OPTION]... SCENE [KEY=VALUE]...\n"
          "Calls a genuine NCCL on a CUDA that is a stand-in, and writes what "
          "it called.\n\n"
          "  --nccl PATH      the library (libnccl.so.2)\n"
          "  --cuda PATH      the stand-in (libcudart.so.13)\n"
          "  --ranks N        ranks to fork (2). In a Slurm step the tasks are "
          "the ranks\n"
          "  --truth DIR      truth-<rank>.csv go there (.)\n"
          "  --meet DIR       folder of all ranks of a Slurm step\n"
          "  --survive MS     how long the other ranks go on after one was "
          "killed (500)\n"
          "  --probe          print NCCL's release, and whether it can be led "
          "over\n\n"
          "Exit status: 0, 1 a rank failed, 2 usage, 77 the release cannot do "
          "it.\n\nScenes:\n",
          out);
    for (s = drive_scenes; s->name; s++)
        fprintf(out, "  %-12s %s\n", s->name, s->help);
}

static int set(struct options *o, const char *name, const char *value,
               struct jp_error *err)
{
    int rc = 0;

    if (strcmp(name, "--nccl") == 0)
        o->nccl = value;
    else if (strcmp(name, "--cuda") == 0)
        o->cuda = value;
    else if (strcmp(name, "--truth") == 0)
        o->truth = value;
    else if (strcmp(name, "--meet") == 0)
        o->meet = value;
    else if (strcmp(name, "--ranks") == 0)
        rc = num_parse_i64(value, 1, MAX_RANKS, &o->ranks, err);
    else if (strcmp(name, "--survive") == 0)
        rc = num_parse_i64(value, 0, 60000, &o->survive_ms, err);
    else
        return error_set(err, "unknown option \"%s\"; see --help", name);
    return rc < 0 ? error_wrap(err, "%s", name) : 0;
}

static const struct drive_scene *find_scene(const char *name)
{
    const struct drive_scene *s = drive_scenes;

    while (s->name && strcmp(s->name, name) != 0)
        s++;
    return s->name ? s : NULL;
}

static int parse(struct options *o, int argc, char **argv, struct jp_error *err)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--probe") == 0) {
            o->is_probe = true;
        } else if (argv[i][0] == '-') {
            if (i + 1 == argc)
                return error_set(err, "%s needs a value", argv[i]);
            if (set(o, argv[i], argv[i + 1], err) < 0)
                return -1;
            i++;
        } else if (!o->scene) {
            o->scene = find_scene(argv[i]);
            if (!o->scene)
                return error_set(err, "\"%s\" is not a scene; see --help",
                                 argv[i]);
        } else if (!strchr(argv[i], '=') || o->n_args == DRIVE_MAX_ARGS) {
            return error_set(err, "\"%s\" is not KEY=VALUE, or one too many",
                             argv[i]);
        } else {
            o->args[o->n_args++] = argv[i];
        }
    }
    return o->scene || o->is_probe ? 0 : error_set(err, "a scene is missing");
}

/* Loads both libraries, and leads NCCL's runtime to the stand-in. */
static int open_libraries(const struct options *o, struct drive *d,
                          struct jp_error *err)
{
    int (*lead)(const char *, int, const char **);
    const char *why = "";
    void *cuda;

    if (gpu_api_open(&d->api, o->nccl, o->cuda, err) < 0)
        return -1;
    cuda = dlopen(o->cuda, RTLD_NOW | RTLD_NOLOAD);
    lead = (int (*)(const char *, int, const char **)) dlsym(cuda,
                                                             "fakecuda_lead");
    d->event_ns = (uint64_t(*)(void *)) dlsym(cuda, "fakecuda_event_ns");
    if (!lead || !d->event_ns)
        return error_set(err, "%s is not the stand-in for CUDA", o->cuda);
    if (lead("libnccl.so", d->api.version, &why) < 0)
        return error_set(err, "%s: %s", o->nccl, why);
    return 0;
}

/* Runs a rank. Returns the exit status. */
static int run_rank(const struct options *o, int rank, int ranks, int local)
{
    struct drive d = {.rank = rank,
                      .ranks = ranks,
                      .meet = o->meet,
                      .args = o->args,
                      .n_args = o->n_args};
    struct jp_error err = {""};
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/truth-%d.csv", o->truth, rank);
    d.truth = fopen(path, "we");
    if (!d.truth) {
        fprintf(stderr, "drive: %s: %s\n", path, strerror(errno));
        return DRIVE_FAILED;
    }
    if (open_libraries(o, &d, &err) < 0) {
        fprintf(stderr, "drive: %s\n", err.text);
        return DRIVE_FAILED;
    }
    pthread_mutex_init(&d.lock, NULL);
    fprintf(d.truth, "# pid %d NCCL %d\n", (int) getpid(), d.api.version);
    d.api.cuda.set_device(local % GPUS);
    o->scene->run(&d);
    return fclose(d.truth) == 0 ? 0 : DRIVE_FAILED;
}

/* Reads a number of Slurm's environment. */
static int task_number(const char *name, int *out, struct jp_error *err)
{
    const char *text = getenv(name);
    int64_t v;

    if (!text)
        return error_set(err, "%s is not set", name);
    if (num_parse_i64(text, 0, 65535, &v, err) < 0)
        return error_wrap(err, "%s", name);
    *out = (int) v;
    return 0;
}

/* Runs this task's rank. All tasks of the step meet in a folder of its own. */
static int run_task(struct options *o, struct jp_error *err)
{
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    char meet[PATH_MAX];
    int rank, ranks, local;

    if (task_number("SLURM_PROCID", &rank, err) < 0 ||
        task_number("SLURM_NTASKS", &ranks, err) < 0 ||
        task_number("SLURM_LOCALID", &local, err) < 0)
        return -1;
    snprintf(meet, sizeof(meet), "%s/%s.%s", o->meet, job ? job : "",
             step ? step : "");
    if (mkdir(meet, 0700) < 0 && errno != EEXIST)
        return error_set(err, "%s: %s", meet, strerror(errno));
    o->meet = meet;
    return run_rank(o, rank, ranks, local);
}

/* Waits for all ranks. Where one was killed the others go on for a while, then
 * they are killed, too. Returns the worst exit status. */
static int wait_all(const struct options *o, pid_t *pids, int n)
{
    int left = n, worst = 0, status, i;

    while (left > 0) {
        pid_t pid = wait(&status);

        if (pid < 0)
            return DRIVE_FAILED;
        left--;
        for (i = 0; i < n; i++)
            pids[i] = pids[i] == pid ? 0 : pids[i];
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == DRIVE_SKIPPED) {
            worst = worst ? worst : DRIVE_SKIPPED;
            continue;
        }
        worst = DRIVE_FAILED;
        if (left == n - 1)
            drive_sleep_us((long) o->survive_ms * 1000);
        for (i = 0; i < n; i++) {
            if (pids[i] > 0)
                kill(pids[i], SIGKILL);
        }
    }
    return worst;
}

static int remove_entry(const char *path, const struct stat *st, int type,
                        struct FTW *ftw)
{
    (void) st, (void) type, (void) ftw;
    return remove(path);
}

/* Forks the ranks. */
static int fork_ranks(struct options *o, struct jp_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char meet[PATH_MAX];
    pid_t pids[MAX_RANKS];
    int n = o->scene->one_process ? 1 : (int) o->ranks, i, rc;

    snprintf(meet, sizeof(meet), "%s/drive-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(meet))
        return error_set(err, "%s: %s", meet, strerror(errno));
    o->meet = meet;
    for (i = 0; i < n; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            exit(run_rank(o, i, (int) o->ranks, i));
        }
        if (pids[i] < 0) {
            rc = error_set(err, "fork: %s", strerror(errno));
            while (i-- > 0)
                kill(pids[i], SIGKILL);
            return rc;
        }
    }
    rc = wait_all(o, pids, n);
    nftw(meet, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return rc;
}

static int probe(const struct options *o, struct jp_error *err)
{
    struct drive d = {.rank = 0};

    if (open_libraries(o, &d, err) < 0)
        return -1;
    printf("%d.%d.%d\n", d.api.version / 10000, d.api.version / 100 % 100,
           d.api.version % 100);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {.nccl = "libnccl.so.2",
                        .cuda = "libcudart.so.13",
                        .truth = ".",
                        .ranks = 2,
                        .survive_ms = 500};
    struct jp_error err = {""};
    int rc;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        help(stdout);
        return 0;
    }
    if (parse(&o, argc, argv, &err) < 0) {
        fprintf(stderr, "drive: %s\n", err.text);
        return DRIVE_USAGE;
    }
    rc = o.is_probe ? probe(&o, &err)
         : o.meet   ? run_task(&o, &err)
                    : fork_ranks(&o, &err);
    if (rc < 0)
        fprintf(stderr, "drive: %s\n", err.text);
    return rc < 0 ? DRIVE_FAILED : rc;
}
