/* doctor_nodes.c - ask nodes, by a step of their own, what they see. */
#include "config.h"

#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/doctor/probe.h"

#define CHECK "nodes"
/* srun waits so long for an allocation, and the step may take so long. */
#define IMMEDIATE_S 60
#define STEP_MS 120000
#define ARGS_MAX 24
#define ANSWER "jobprof-doctor"

/* --- on a node ------------------------------------------------------------ */

/* A line of the answer: ANSWER node word text. */
static void answer(const char *node, const char *word, const char *text)
{
    quote_printf(stdout, ANSWER " %s %s %s\n", node, word, text);
}

static void probe_folder(const char *node, const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct jp_error err = {""};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        error_set(&err, "%s: %s", dir, strerror(errno));
    else if (st.st_uid != geteuid())
        error_set(&err, "%s: belongs to uid %lu", dir,
                  (unsigned long) st.st_uid);
    else if (ownplace_check(dir, &err) == 0)
        probe_write(fd, node, node, &err);
    answer(node, *err.text ? "fail" : "ok",
           *err.text ? err.text : "the folder can be written");
    if (fd >= 0)
        close(fd);
}

/* What the site's settings name must be there on the nodes. */
static void probe_file(const char *node, const char *path)
{
    char *text = NULL;

    if (access(path, R_OK) == 0)
        return;
    text = fileio_path("%s: %s", path, strerror(errno));
    answer(node, "fail", text ? text : path);
    free(text);
}

int doctor_probe(const char *dir, const char *const *files)
{
    const char *name = getenv("SLURMD_NODENAME");
    char host[JP_STEPDIR_NAME_MAX + 1] = "";

    if (!name && gethostname(host, sizeof(host) - 1) == 0)
        name = host;
    if (!stepdir_name_ok(name))
        return -1;
    probe_folder(name, dir);
    for (; *files; files++)
        probe_file(name, *files);
    answer(name, "release", PACKAGE_VERSION);
    return fflush(stdout) == 0 ? 0 : -1;
}

/* --- here ----------------------------------------------------------------- */

struct asked {
    struct doctor *doctor;
    const char *dir; /* shared with the nodes, or not: that is the question */
    unsigned good, releases; /* nodes */
};

/* One line of srun's output; others than answers are the site's own. */
static void take_answer(struct asked *a, char *line)
{
    char *rest = line, *node, *word;
    struct doctor *d = a->doctor;

    if (strcmp(strsep(&rest, " "), ANSWER) != 0 || !rest)
        return;
    node = strsep(&rest, " ");
    word = rest ? strsep(&rest, " ") : NULL;
    if (!word || !rest || !stepdir_name_ok(node))
        return;
    if (!strcmp(word, "ok")) {
        if (stepdir_has(a->dir, node))
            a->good++;
        else
            doctor_add(d, DOCTOR_FAIL, CHECK,
                       "jobs must be submitted from a shared file system, or "
                       "set dir=",
                       "%s: what it writes is not seen from here", node);
    } else if (!strcmp(word, "release")) {
        a->releases++;
        if (strcmp(rest, PACKAGE_VERSION) != 0)
            doctor_add(d, DOCTOR_FAIL, CHECK, "install one release",
                       "%s: jobprof %s, here " PACKAGE_VERSION, node, rest);
    } else {
        doctor_add(d, DOCTOR_FAIL, CHECK, "such nodes run unprofiled", "%s: %s",
                   node, rest);
    }
}

static void add(char **argv, size_t *n, char *word)
{
    if (word && *n < ARGS_MAX)
        argv[(*n)++] = word;
    else
        free(word);
}

/* Inside of a job, beside its steps; else in one of its own. */
static void make_command(const struct doctor *d, const char *dir, char **argv,
                         size_t *n)
{
    static const char *const fixed[] = {
        "srun",         "--ntasks-per-node=1", "--time=2",
        "--mpi=none",   "--input=none",        "--job-name=jobprof-doctor",
        "--export=ALL", "--kill-on-bad-exit=0"};

    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
        add(argv, n, strdup(fixed[i]));
    add(argv, n, strdup(getenv("SLURM_JOB_ID") ? "--overlap" : "--exclusive"));
    add(argv, n, fileio_path("--immediate=%d", IMMEDIATE_S));
    add(argv, n, fileio_path("--nodes=%u", d->options->nodes));
    add(argv, n, fileio_path("--ntasks=%u", d->options->nodes));
    if (d->loaded) { /* else srun knows no such option */
        add(argv, n, strdup("--nccl-profile=off"));
        add(argv, n, strdup("--copper-profile=off"));
    }
    add(argv, n, strdup(d->options->self));
    add(argv, n, strdup("doctor"));
    add(argv, n, fileio_path("--probe=%s", dir));
    add(argv, n, strdup(d->node_program));
    if (d->library)
        add(argv, n, strdup(d->library));
    if (d->cu_fuse)
        add(argv, n, strdup(d->cu_fuse));
    if (d->fusermount)
        add(argv, n, strdup(d->fusermount));
}

static void ask(struct asked *a)
{
    struct doctor *d = a->doctor;
    char *argv[ARGS_MAX + 1] = {NULL}, *said = NULL, *rest, *line;
    struct jp_error err;
    size_t n = 0, lines = d->n_lines;
    int rc;

    make_command(d, a->dir, argv, &n);
    rc = doctor_command(argv, STEP_MS, true, &said, &err);
    rest = said;
    while (rest && (line = strsep(&rest, "\n")))
        if (rc == 0 || !strncmp(line, ANSWER " ", sizeof(ANSWER)))
            take_answer(a, line);
        else if (*line && d->n_lines - lines < 8)
            doctor_add(d, DOCTOR_FAIL, CHECK, "", "%s", line);
    if (rc < 0)
        doctor_add(d, DOCTOR_FAIL, CHECK, "", "%s", err.text);
    else if (a->releases < d->options->nodes)
        doctor_add(d, DOCTOR_FAIL, CHECK,
                   "is jobprof installed there, in the same place?",
                   "%u of %u nodes answered (srun's exit status %d)",
                   a->releases, d->options->nodes, rc);
    else if (a->good == d->options->nodes)
        doctor_add(d, DOCTOR_OK, CHECK, "",
                   "%u of them write where reports go, and it is seen here",
                   a->good);
    for (size_t i = 0; i < n; i++)
        free(argv[i]);
    free(said);
}

void doctor_nodes(struct doctor *d)
{
    struct asked a = {.doctor = d};
    struct probe probe;
    struct jp_error err;

    if (!d->options->nodes)
        return;
    if (!d->srun_major || !d->place) {
        doctor_add(d, DOCTOR_SKIP, CHECK, "", "%s",
                   d->srun_major ? "no folder that they could write"
                                 : "no srun here");
        return;
    }
    if (probe_open(d->place, &probe, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, CHECK, "", "%s", err.text);
    } else {
        a.dir = probe.path;
        ask(&a);
        probe_close(&probe, NULL);
    }
}
