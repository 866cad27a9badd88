/* doctor_nodes.c - check that reports can be written, here and on nodes.
 *
 * doctor_place writes a trial folder where the next job's reports would be.
 * doctor_nodes starts a step on --nodes=N nodes; each node runs doctor_probe,
 * which writes into the same folder and prints its answer. Files that a node
 * has written must appear on this host.
 */
#include "config.h"

#include "orchestrator/doctor/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/pattern.h"
#include "common/plan.h"
#include "common/quote.h"
#include "orchestrator/collect/stepdir.h"

/* --- a trial folder in a parent that may be swapped meanwhile --- */

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
/* Names that are tried until one is free. */
enum { TRIES = 100 };

/* Makes the folder with a random name in p->parent and opens it. Later it is
 * identified by device and inode. -1: errno. */
static int make_folder(struct probe *p)
{
    struct stat st;
    uint64_t number;

    /* A random name cannot be prepared by another user. */
    for (int i = 0; i < TRIES; i++) {
        if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
            number = (uint64_t) getpid() * TRIES + (unsigned) i;
        snprintf(p->name, sizeof(p->name), ".jobprof-doctor-%08x",
                 (unsigned) number);
        if (mkdirat(p->parent, p->name, 0700) == 0)
            break;
        if (errno != EEXIST || i + 1 == TRIES)
            return -1;
    }
    p->fd = openat(p->parent, p->name, FOLDER);
    if (p->fd < 0 || fstat(p->fd, &st) < 0)
        return -1;
    p->dev = st.st_dev;
    p->ino = st.st_ino;
    if (st.st_uid == geteuid())
        return 0;
    /* a server has given it to another user (root squash) */
    unlinkat(p->parent, p->name, AT_REMOVEDIR);
    errno = EACCES;
    return -1;
}

int probe_open(const char *parent, struct probe *probe, struct jp_error *err)
{
    *probe = (struct probe){.parent = -1, .fd = -1};
    /* As root, only in folders that no other user can change. */
    probe->parent = ownplace_open(parent, OWNPLACE_ANY, err);
    if (probe->parent < 0)
        return -1;
    if (make_folder(probe) < 0) {
        error_set(err, "%s: %s", parent, strerror(errno));
        if (probe->fd >= 0)
            close(probe->fd);
        close(probe->parent);
        return -1;
    }
    snprintf(probe->path, sizeof(probe->path), "%s/%s", parent, probe->name);
    return 0;
}

/* Writes a new file with that text. Without a sync, because it is soon removed.
 * -1: errno. */
static int write_new(int folder, const char *name, const char *text)
{
    int fd = openat(folder, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    size_t n = strlen(text);
    bool whole = fd >= 0 && write(fd, text, n) == (ssize_t) n;

    if (fd >= 0 && close(fd) < 0)
        whole = false;
    return whole ? 0 : -1;
}

int probe_write(int folder, const char *name, const char *text,
                struct jp_error *err)
{
    char temp[NAME_MAX + 1];

    snprintf(temp, sizeof(temp), "%.200s.tmp", name);
    if (write_new(folder, temp, text) < 0 ||
        renameat(folder, temp, folder, name) < 0)
        return error_set(err, "%s: %s", name, strerror(errno));
    return 0;
}

int probe_close(struct probe *probe, struct jp_error *err)
{
    /* readdir needs a descriptor of its own, because closedir closes it. */
    int copy = openat(probe->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    struct stat st;
    int rc;

    while (dir && (entry = readdir(dir)))
        /* Files only: nodes create nothing else. */
        unlinkat(probe->fd, entry->d_name, 0);
    if (dir)
        closedir(dir);
    else if (copy >= 0)
        close(copy);
    rc = fstatat(probe->parent, probe->name, &st, AT_SYMLINK_NOFOLLOW);
    /* Another folder of that name is not ours to remove. */
    if (rc == 0 && (st.st_dev != probe->dev || st.st_ino != probe->ino)) {
        errno = EBUSY;
        rc = -1;
    }
    if (rc == 0) /* removes an empty folder only */
        rc = unlinkat(probe->parent, probe->name, AT_REMOVEDIR);
    if (rc < 0)
        error_set(err, "%s: cannot be removed: %s", probe->path,
                  strerror(errno));
    close(probe->fd);
    close(probe->parent);
    return rc;
}

/* --- here, where the next job's reports would be --- */

#define PLACE "directory"
#define IN_MEMORY_1 0x01021994 /* tmpfs */
#define IN_MEMORY_2 0x858458f6 /* ramfs */

/* The directory of an imagined job with id 1. Caller frees; NULL: err. */
static char *imagine(const struct doctor *d, const struct jp_plan *plan,
                     struct jp_error *err)
{
    const struct passwd *me = getpwuid(getuid());
    const struct pattern_facts facts = {.job_id = 1,
                                        .step_id = "0",
                                        .user = me ? me->pw_name : "",
                                        .job_name = "job",
                                        .array_job_id = 1};
    char *name =
        pattern_expand(plan_get(&plan->sides[OPTION_NCCL], "dir"), &facts, err);
    char *path = name;

    if (name && *name != '/') {
        path = text_format("%s/%s", d->options->dir, name);
        free(name);
        if (!path)
            error_set(err, "out of memory");
    }
    return path;
}

/* Shortens path to the part that exists; at least its first component
 * remains. */
static void climb(char *path)
{
    char *slash;

    while (access(path, F_OK) < 0 && (slash = strrchr(path, '/')) &&
           slash != path)
        *slash = '\0';
}

/* Writes a file and replaces it, as a step does, in a trial folder in parent.
 * Removes everything again. */
static int try_writing(const char *parent, struct jp_error *err)
{
    struct probe probe;
    int rc;

    if (probe_open(parent, &probe, err) < 0)
        return -1;
    /* The second write replaces the first file. */
    rc = probe_write(probe.fd, "probe", "1\n", err);
    if (rc == 0)
        rc = probe_write(probe.fd, "probe", "2\n", err);
    if (probe_close(&probe, rc < 0 ? NULL : err) < 0)
        rc = -1;
    return rc;
}

/* Checks the file system: nodes cannot see one in memory, and too little space
 * prevents profiling. */
static void check_space(struct doctor *d, const char *path,
                        const struct jp_plan *plan)
{
    struct statfs fs;
    uint64_t least = plan_number(&plan->sides[OPTION_NCCL], "min_free"), room;

    if (statfs(path, &fs) < 0)
        return;
    room = (uint64_t) fs.f_bavail * (uint64_t) fs.f_bsize;
    if (fs.f_type == IN_MEMORY_1 || (uint32_t) fs.f_type == IN_MEMORY_2)
        doctor_add(d, DOCTOR_WARN, PLACE,
                   "choose a shared folder: nodes cannot see it",
                   "%s is a memory file system of this host", path);
    if (room < least)
        doctor_add(d, DOCTOR_WARN, PLACE,
                   "free some space: nothing is profiled below min_free=",
                   "%s: %s are free; min_free= keeps %s", path, FIG_BYTES(room),
                   FIG_BYTES(least));
}

/* Steps: compute the next job's directory, find the part of it that exists, and
 * try to write there. */
void doctor_place(struct doctor *d)
{
    struct plan_input in = {
        .config = d->site && !access(d->site, F_OK) ? d->site : NULL,
        .settled = true};
    struct jp_plan plan;
    struct jp_error err;
    char *path;

    if (plan_make(&in, &plan, &err) < 0) {
        doctor_add(d, DOCTOR_SKIP, PLACE, "", "%s", err.text);
        return;
    }
    path = imagine(d, &plan, &err);
    if (path)
        climb(path);
    if (!path)
        doctor_add(d, DOCTOR_FAIL, PLACE, "", "%s", err.text);
    else if (ownplace_check(path, &err) < 0)
        doctor_add(d, DOCTOR_SKIP, PLACE,
                   "run jobprof doctor as a user who submits jobs there", "%s",
                   err.text);
    else if (try_writing(path, &err) < 0)
        doctor_add(d, DOCTOR_FAIL, PLACE,
                   "submit elsewhere, or set dir=: steps run unprofiled", "%s",
                   err.text);
    else
        d->place = strdup(path);
    if (d->place) {
        doctor_add(d, DOCTOR_OK, PLACE, "", "%s is writable from this host",
                   d->place);
        check_space(d, d->place, &plan);
    }
    free(path);
    plan_fini(&plan);
}

#define NODES "nodes"
/* How long srun waits for an allocation, and how long the whole step may
 * take. */
#define IMMEDIATE_S 60
#define STEP_MS 120000
#define ARGS_MAX 24
#define ANSWER "jobprof-doctor"

/* --- on a node ------------------------------------------------------------ */

/* Prints a line of a node's answer: "jobprof-doctor NODE WORD TEXT". srun mixes
 * it with output of the site's prologs, hence the first word. */
static void answer(const char *node, const char *word, const char *text)
{
    quote_printf(stdout, ANSWER " %s %s %s\n", node, word, text);
}

/* On a node: tries to write a file into the trial folder. The file has the
 * node's name, so that the asking host can look for it. */
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
           *err.text ? err.text : "the folder is writable");
    if (fd >= 0)
        close(fd);
}

/* On a node: reports a file of the site's settings that cannot be read. */
static void probe_file(const char *node, const char *path)
{
    char *text = NULL;

    if (access(path, R_OK) == 0)
        return;
    text = text_format("%s: %s", path, strerror(errno));
    answer(node, "fail", text ? text : path);
    free(text);
}

/* Runs on the node as the same user: everything that it prints is evaluated by
 * take_answer. */
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

/* --- the nodes, asked from here --------------------------------------------
 */

/* The state of one query of the nodes. */
struct asked {
    struct doctor *doctor;
    const char *dir; /* the trial folder; may be invisible to the nodes */
    unsigned good, releases; /* nodes: can write; have answered */
};

/* Handles one line of srun's output. Lines that are not answers are ignored. */
static void take_answer(struct asked *a, char *line)
{
    char *rest = line, *node, *word;
    struct doctor *d = a->doctor;

    /* Answers may come from a program of another release: check every word. */
    if (strcmp(strsep(&rest, " "), ANSWER) != 0 || !rest)
        return;
    node = strsep(&rest, " ");
    word = rest ? strsep(&rest, " ") : NULL;
    if (!word || !rest || !stepdir_name_ok(node))
        return;
    if (!strcmp(word, "ok")) {
        /* The node's file must be visible here, or the folder is not shared. */
        if (stepdir_has(a->dir, node))
            a->good++;
        else
            doctor_add(d, DOCTOR_FAIL, NODES,
                       "submit jobs from a shared file system, or set dir=",
                       "%s: files that it writes do not appear on this host",
                       node);
    } else if (!strcmp(word, "release")) {
        a->releases++;
        if (strcmp(rest, PACKAGE_VERSION) != 0)
            doctor_add(
                d, DOCTOR_FAIL, NODES, "install one release on all hosts",
                "%s: jobprof %s, this host: " PACKAGE_VERSION, node, rest);
    } else {
        doctor_add(d, DOCTOR_FAIL, NODES, "steps run unprofiled on such nodes",
                   "%s: %s", node, rest);
    }
}

/* Adds a word (owned) to the command; one too many is dropped. */
static void add_word(char **argv, size_t *n, char *word)
{
    if (word && *n < ARGS_MAX)
        argv[(*n)++] = word;
    else
        free(word);
}

/* Composes the srun command: a step in the current job, or a new job. Our own
 * options are off, because the step is not to be profiled. */
static void make_command(const struct doctor *d, const char *dir, char **argv,
                         size_t *n)
{
    static const char *const fixed[] = {
        "srun",         "--ntasks-per-node=1", "--time=2",
        "--mpi=none",   "--input=none",        "--job-name=jobprof-doctor",
        "--export=ALL", "--kill-on-bad-exit=0"};

    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
        add_word(argv, n, strdup(fixed[i]));
    /* In a job: beside its steps. Otherwise: nodes of its own. */
    add_word(argv, n,
             strdup(getenv("SLURM_JOB_ID") ? "--overlap" : "--exclusive"));
    add_word(argv, n, text_format("--immediate=%d", IMMEDIATE_S));
    add_word(argv, n, text_format("--nodes=%u", d->options->nodes));
    add_word(argv, n, text_format("--ntasks=%u", d->options->nodes));
    if (d->loaded) { /* without the module, srun has no such options */
        for (enum jp_option i = 0; i < OPTIONS; i++)
            add_word(argv, n, text_format("%s=off", grammar_of(i)->option));
    }
    add_word(argv, n, strdup(d->options->self));
    add_word(argv, n, strdup("doctor"));
    add_word(argv, n, text_format("--probe=%s", dir));
    add_word(argv, n, strdup(d->node_program));
    if (d->library)
        add_word(argv, n, strdup(d->library));
    for (size_t i = 0; i < d->n_needed; i++)
        add_word(argv, n, strdup(d->needed[i]));
}

/* The number of nodes of this job, or of the largest partition; 0: unknown.
 * srun would wait for the allocation until its time limit. */
static unsigned nodes_there(void)
{
    static char *const argv[] = {(char *) "sinfo", (char *) "--noheader",
                                 (char *) "--format=%R %D", NULL};
    const char *job = getenv("SLURM_JOB_ID") ? getenv("SLURM_JOB_NUM_NODES")
                                             : NULL;
    char *said = NULL, *rest, *line, name[65] = "";
    struct jp_error err;
    uint64_t n, sum = 0, most = 0;

    if (job)
        return num_parse_u64(job, 1, UINT32_MAX, &n, NULL) < 0 ? 0
                                                               : (unsigned) n;
    if (doctor_command(argv, STEP_MS, false, &said, &err) != 0) {
        free(said);
        return 0;
    }
    /* sinfo prints a row for each state of a partition's nodes: add them up */
    for (rest = said; (line = strsep(&rest, "\n"));) {
        char *space = strrchr(line, ' ');

        if (!space || num_parse_u64(space + 1, 0, UINT32_MAX, &n, NULL) < 0)
            continue;
        *space = '\0';
        if (strcmp(name, line) != 0)
            sum = 0;
        snprintf(name, sizeof(name), "%s", line);
        sum += n;
        most = sum > most ? sum : most;
    }
    free(said);
    return (unsigned) most;
}

/* Runs the step and evaluates the answers. srun's own messages are shown only
 * if it has failed, and only the first ones. */
static void ask_nodes(struct asked *a)
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
        /* After an error of srun, lines that are not answers explain it. */
        if (rc == 0 || !strncmp(line, ANSWER " ", sizeof(ANSWER)))
            take_answer(a, line);
        else if (*line && d->n_lines - lines < 8)
            doctor_add(d, DOCTOR_FAIL, NODES, "", "%s", line);
    if (rc < 0)
        doctor_add(d, DOCTOR_FAIL, NODES, "", "%s", err.text);
    else if (a->releases < d->options->nodes)
        doctor_add(d, DOCTOR_FAIL, NODES,
                   "install jobprof on the others, at the same place",
                   "%u of %u node%s answered (exit status of srun: %d)",
                   a->releases, d->options->nodes,
                   d->options->nodes == 1 ? "" : "s", rc);
    else if (a->good == d->options->nodes)
        doctor_add(d, DOCTOR_OK, NODES, "",
                   "%u of them can write to the reports' folder, and this host "
                   "sees the files",
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
    unsigned there;

    if (!d->options->nodes)
        return;
    if (!d->srun_major || !d->place) {
        doctor_add(d, DOCTOR_SKIP, NODES, "", "%s",
                   d->srun_major ? "no folder to test"
                                 : "no srun on this host");
        return;
    }
    there = nodes_there();
    if (there && there < d->options->nodes) {
        doctor_add(d, DOCTOR_FAIL, NODES,
                   "ask for at most that many with --nodes",
                   "%u nodes requested, but %s %u", d->options->nodes,
                   getenv("SLURM_JOB_ID") ? "this job has"
                                          : "the largest partition has",
                   there);
    } else if (probe_open(d->place, &probe, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, NODES, "", "%s", err.text);
    } else {
        a.dir = probe.path;
        ask_nodes(&a);
        probe_close(&probe, NULL);
    }
}
