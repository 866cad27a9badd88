/* sidestep.c - start a second step beside the tasks, and end it with them.
 *
 * Three processes take part. resolve, a child of srun, prepares everything and
 * forks (fork_keeper). The keeper is a grandchild that outlives resolve
 * (keeper): it watches srun and the second step. The inner srun is the keeper's
 * child (become_srun) and runs `jobprof-node run` on each node. They meet in
 * the step directory: marks in run/, and run/srun.ended from the keeper.
 */
#include "config.h"

#include "orchestrator/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/ownproc.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"

/* Intervals of the waits: for the nodes' marks, for the end of a srun, for data
 * of nodes. */
#define POLL_MS 20
#define KEEP_POLL_MS 500
#define GATHER_POLL_MS 50
/* The part of a node's time to get ready that is reserved for building the
 * tree. */
#define GATHER_RESERVE_MS 15000
/* Words of the inner srun's command line, with the NULL at the end. */
#define ARGS_MAX 32
/* Delay, on top of KillWait, before the nodes are told that srun has ended. */
#define GRACE_MS 10000
/* Time from SIGTERM to SIGKILL for an inner srun that does not end. */
#define LAST_MS 10000

static const char ended_mark[] = "run/srun.ended";

/* Time limit of the query to the controller, which srun's user waits for. */
#define ASK_MS 2000
/* The nodes' own limit plus the start-up time of a step. */
#define WAIT_MS (JP_DEF_RUNNER_READY_MS + 2000)
/* Used if only a default requests the runner. The SPANK module does not expect
 * it then and waits for 3 s at most. */
#define WAIT_DEFAULT_MS 500
#define NAMED 3 /* number of nodes reported by name */

/* The second step. */
struct inner {
    const char *dir;   /* step directory */
    const char *hash;  /* checksum of its job.conf */
    const char *nodes; /* "n[1-4]" */
    uint32_t n_nodes, job_id;
    uint32_t kill_wait_s;
    uint32_t cpus; /* of each of its nodes, at least 1 */
    pid_t srun;    /* the first srun; the inner one uses the same program */
    const struct backend *backend; /* whose runner runs on each node */
};

/* What all nodes share. */
struct shared {
    /* Node names, from nodelist_expand. */
    char **nodes;
    size_t n;
    const struct backend_runner *gatherer; /* NULL: gathers nothing */
};

/* --- the inner srun ------------------------------------------------------- */

/* The command line of the inner srun, collected word by word. */
struct words {
    char *argv[ARGS_MAX];
    int n;
    /* No memory, or too many words. */
    bool bad;
};

/* The name of what runs, for sentences. */
static const char *title_of(const struct inner *l)
{
    return l->backend->about.title;
}

static void add_word(struct words *w, char *word) /* owned; NULL: no memory */
{
    if (!word || w->n >= ARGS_MAX - 1) {
        free(word);
        w->bad = true;
        return;
    }
    w->argv[w->n++] = word;
}

/* The path of the first srun's program: another srun in PATH may belong to
 * another Slurm. "srun" if it cannot be found out, or if the process is not
 * this user's and our parent any more: a program is executed by this path.
 * Caller frees. */
static char *find_srun(pid_t first)
{
    const struct ownproc_name process = {
        .root = "", .pid = first, .uid = geteuid()};
    struct ownproc proc;
    char path[PATH_MAX];
    const char *name;
    ssize_t n = -1;

    if (ownproc_open(&process, &proc, NULL) == 0)
        n = readlinkat(proc.dir, "exe", path, sizeof(path) - 1);
    /* While it is our parent, its number cannot be another process's. */
    if (getppid() != first)
        n = -1;
    ownproc_close(&proc);
    path[n > 0 ? n : 0] = '\0';
    name = strrchr(path, '/');
    return strdup(name && !strcmp(name, "/srun") && access(path, X_OK) == 0
                      ? path
                      : "srun");
}

/* Composes the command line of the inner srun. NCCL's option and that of the
 * runner are off, so that the inner step is not profiled. --wait=0 and
 * --kill-on-bad-exit=0: the failure of one node must not end the others.
 * --overlap, --mem=0 and --gres=none: it takes nothing away from the first
 * step. */
static void make_command(const struct inner *l, const char *self,
                         struct words *w)
{
    static const char *const fixed[] = {
        "--overlap",         "--ntasks-per-node=1",
        "--mem=0",           "--gres=none",
        "--cpu-bind=none",   "--mpi=none",
        "--export=NONE",     "--input=none",
        "--wait=0",          "--kill-on-bad-exit=0",
        "--nccl-profile=off"};
    const struct jp_profiler *about = &l->backend->about;

    add_word(w, find_srun(l->srun));
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
        add_word(w, strdup(fixed[i]));
    add_word(w, text_format("%s=off", grammar_of(about->option)->option));
    add_word(w, text_format("--job-name=jobprof-%s", about->name));
    add_word(w, text_format("--jobid=%u", l->job_id));
    add_word(w, text_format("--nodelist=%s", l->nodes));
    add_word(w, text_format("--nodes=%u", l->n_nodes));
    add_word(w, text_format("--ntasks=%u", l->n_nodes));
    add_word(w, text_format("--cpus-per-task=%u", l->cpus ? l->cpus : 1));
    add_word(w, strdup(self));
    add_word(w, strdup("run"));
    add_word(w, strdup("--dir"));
    add_word(w, strdup(l->dir));
    if (l->hash && *l->hash) {
        add_word(w, strdup("--hash"));
        add_word(w, strdup(l->hash));
    }
}

/* Becomes the inner srun. Clears the job's environment: its SLURM_ variables
 * would change this step, and the variables of our options would profile it.
 * Runs between fork and exec of a process without threads. */
static void __attribute__((noreturn))
become_srun(const struct words *w, pid_t keeper)
{
    const char *names[] = {"SLURM_CONF", "HOME"};
    char *env[8] = {NULL};
    sigset_t none;
    int n = 0;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* if the keeper is killed: srun forwards
                                         SIGTERM to the nodes */
    /* The keeper may have ended before prctl. */
    if (getppid() != keeper)
        _exit(1);
    env[n++] = strdup("PATH=/usr/local/bin:/usr/bin:/bin");
    env[n++] = strdup("LC_ALL=C");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (getenv(names[i]))
            env[n++] = text_format("%s=%s", names[i], getenv(names[i]));
    environ = env;
    execvp(w->argv[0], w->argv);
    fprintf(stderr, "%s: %s\n", w->argv[0], strerror(errno));
    _exit(127);
}

/* --- the keeper ----------------------------------------------------------- */

/* Closes inherited descriptors except `keep`, which becomes descriptor 3. The
 * first srun waits for the end of the pipes to its helpers, which no other
 * process may hold open. Output goes to run/srun.log. */
static void let_go(const struct inner *l, int keep)
{
    char *path = text_format("%s/run/srun.log", l->dir);
    int null = open("/dev/null", O_RDWR), log = -1;

    if (path)
        log = ownplace_append(path, NULL);
    for (int i = 0; i < 3; i++)
        dup2(i > 0 && log >= 0 ? log : null, i);
    if (keep != 3) {
        dup2(keep, 3);
        fcntl(3, F_SETFD, FD_CLOEXEC);
    }
#ifdef HAVE_CLOSE_RANGE
    close_range(4, ~0U, 0);
#else
    for (int fd = 4; fd < 1024; fd++)
        close(fd);
#endif
    free(path);
}

/* Whether the process of a pidfd has ended: it is readable then. */
static bool is_over(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};

    return poll(&end, 1, 0) > 0;
}

/* Gathers what the nodes have written about themselves, and distributes it,
 * until it is complete or the inner srun has ended: daemons may need the
 * addresses of all others to build their tree. */
static void gather_node_data(const struct inner *l, const struct shared *shared,
                             pid_t inner)
{
    uint64_t late_ms = clock_mono_ms() + JP_DEF_RUNNER_READY_MS -
                       GATHER_RESERVE_MS;
    siginfo_t end = {0};
    struct jp_error err;
    int rc = 0;

    while (shared->gatherer && rc == 0) {
        rc = shared->gatherer->gather(l->dir, shared->nodes, shared->n,
                                      clock_mono_ms() >= late_ms, &err);
        if (rc < 0)
            stepdir_log(l->dir, "%s: %s", title_of(l), err.text);
        /* WNOWAIT leaves the child for wait_for_inner(), which needs its
         * status. */
        if (waitid(P_PID, (id_t) inner, &end, WEXITED | WNOHANG | WNOWAIT) <
                0 ||
            end.si_pid)
            break;
        if (rc == 0)
            clock_sleep_ms(GATHER_POLL_MS);
    }
}

/* Waits until the inner srun has ended. Returns its status. Normally each
 * node's supervisor ends with the step by its marks. If the first srun has
 * ended long ago, the inner one gets SIGTERM and finally SIGKILL. */
static int wait_for_inner(const struct inner *l, int srun, pid_t inner)
{
    uint64_t gone_ms = 0, told_ms = 0, now;
    int status = 0;

    while (waitpid(inner, &status, WNOHANG) == 0) {
        now = clock_mono_ms();
        if (!gone_ms && is_over(srun))
            gone_ms = now;
        if (gone_ms && !told_ms &&
            now - gone_ms > l->kill_wait_s * 1000ULL + GRACE_MS) {
            kill(inner, SIGTERM);
            told_ms = now;
        }
        if (told_ms && now - told_ms > l->kill_wait_s * 1000ULL + LAST_MS)
            kill(inner, SIGKILL);
        clock_sleep_ms(KEEP_POLL_MS);
    }
    return status;
}

/* The life of the keeper, from fork to exit. */
static void __attribute__((noreturn))
keeper(const struct inner *l, const struct words *w,
       const struct shared *shared, int srun)
{
    char *mark = text_format("%s/%s", l->dir, ended_mark);
    pid_t self, inner;

    setsid();
    let_go(l, srun);
    /* its descriptors are closed now; without it, paths are walked each time */
    (void) stepdir_hold(l->dir, NULL);
    if (chdir("/") < 0)
        _exit(1);
    self = getpid();
    inner = fork();
    if (inner == 0)
        become_srun(w, self);
    /* after the fork of the inner srun, because tasks inherit limits */
    confine_self(CONFINE_KEEPER, NULL, NULL);
    if (inner > 0) {
        gather_node_data(l, shared, inner);
        wait_for_inner(l, 3, inner);
    }
    /* The report may have removed run/ already; do not create it again. */
    if (mark && runmarks_there(l->dir))
        fileio_write(mark, "", 0, NULL);
    _exit(0);
}

/* Writes the runner's list of nodes, one name per line. Daemons read it, and
 * the report uses it as the list of expected nodes. */
static int write_nodes(const struct inner *l, const struct shared *shared,
                       struct jp_error *err)
{
    char *path =
        text_format("%s/raw/%s", l->dir, l->backend->runner->nodes_file);
    char *text = NULL;
    size_t len = 0;
    FILE *out = path ? open_memstream(&text, &len) : NULL;
    int rc = out ? 0 : error_set(err, "out of memory");

    for (size_t i = 0; i < shared->n && out; i++)
        fprintf(out, "%s\n", shared->nodes[i]);
    if (out && fclose(out) != 0)
        rc = error_set(err, "out of memory");
    if (rc == 0)
        rc = fileio_write(path, text, len, err);
    free(text);
    free(path);
    return rc;
}

/* Lets the runner write what the daemons need to know before they start.
 * shared->gatherer is set if the runner also has to gather data of the
 * nodes. */
static int prepare_daemons(const struct inner *l, struct shared *shared,
                           struct jp_error *err)
{
    const struct backend_runner *runner;
    struct jp_jobconf conf;
    int rc = jobconf_read_step(l->dir, l->hash, &conf, err);

    if (rc == 0) {
        runner = backend_runner_of(l->backend->runner, &conf);
        if (runner->prepare)
            rc = runner->prepare(&conf, l->dir, shared->nodes, shared->n, err);
        if (rc > 0 && runner->gather)
            shared->gatherer = runner;
        jobconf_fini(&conf);
    }
    return rc < 0 ? -1 : 0;
}

/* --- start it ------------------------------------------------------------- */

/* The path of this program, which also runs on the nodes. */
static int find_self(char path[PATH_MAX], struct jp_error *err)
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

    if (n <= 0)
        return error_set(err, "/proc/self/exe: %s", strerror(errno));
    path[n] = '\0';
    return 0;
}

/* Forks the keeper and waits for the process in between. A pidfd of srun is
 * opened here, while srun is our parent: its process id could be reused later.
 */
static int fork_keeper(const struct inner *l, const struct words *w,
                       const struct shared *shared, struct jp_error *err)
{
    int srun = (int) syscall(SYS_pidfd_open, l->srun, 0);
    pid_t pid;

    if (srun < 0)
        return error_set(err, "srun cannot be watched: %s", strerror(errno));
    if (getppid() != l->srun) {
        close(srun);
        return error_set(err, "srun has ended");
    }
    pid = fork();
    if (pid == 0) {
        /* The second fork detaches the keeper: its parent is init
         * afterwards. */
        if (fork() == 0)
            keeper(l, w, shared, srun);
        _exit(0);
    }
    close(srun);
    if (pid < 0)
        return error_set(err, "no process: %s", strerror(errno));
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

/* Forks the keeper. It is a copy of this process and frees nothing. */
static int start_inner(const struct inner *l, const struct shared *shared,
                       struct jp_error *err)
{
    struct words words = {.n = 0};
    char self[PATH_MAX];
    int rc = find_self(self, err);

    if (rc == 0)
        rc = runmarks_make(l->dir, err);
    if (rc == 0) {
        make_command(l, self, &words);
        rc = words.bad ? error_set(err, "out of memory")
                       : fork_keeper(l, &words, shared, err);
    }
    for (int i = 0; i < words.n; i++)
        free(words.argv[i]);
    return rc;
}

/* Starts the second step. Returns once the keeper runs; the nodes may take
 * longer. */
static int start_step(const struct inner *l, struct jp_error *err)
{
    struct shared shared = {.n = 0};
    int rc = nodelist_expand(l->nodes, &shared.nodes, &shared.n, err);

    if (rc == 0)
        rc = write_nodes(l, &shared, err);
    if (rc == 0)
        rc = prepare_daemons(l, &shared, err);
    if (rc == 0)
        rc = start_inner(l, &shared, err);
    nodelist_free(shared.nodes, shared.n);
    return rc;
}

/* Waits at most wait_ms until each node is ready or has failed. Returns the
 * number of ready nodes. *ended: the inner srun has ended; it is read before
 * the marks, so that marks set by its last nodes are counted. */
static uint32_t await_nodes(const struct inner *l, uint32_t wait_ms, int *ended)
{
    uint64_t end_ms = clock_mono_ms() + wait_ms;
    uint32_t n[RUNMARKS];

    for (;;) {
        *ended = stepdir_has(l->dir, ended_mark);
        runmarks_count(l->dir, n);
        if (*ended || n[RUNMARK_READY] + n[RUNMARK_FAILED] >= l->n_nodes ||
            clock_mono_ms() >= end_ms)
            return n[RUNMARK_READY];
        clock_sleep_ms(POLL_MS);
    }
}

/* The first line of the inner srun's log into buf; "" if it is empty. It is
 * usually the reason why the step did not start. */
static void read_complaint(const struct inner *l, char *buf, size_t len)
{
    char *path = text_format("%s/run/srun.log", l->dir), *text = NULL;

    buf[0] = '\0';
    if (path && fileio_read(path, false, 65536, &text, NULL, NULL) == 0)
        snprintf(buf, len, "%.*s", (int) strcspn(text, "\n"), text);
    free(text);
    free(path);
}

/* --- for srun ------------------------------------------------------------- */

struct slurmstep *sidestep_ask(struct launch_facts *facts,
                               const struct jp_plan *plan)
{
    const char *id = facts->names.step_id;
    uint64_t step = UINT32_MAX;
    struct slurmstep *slurm;

    if (launch_beside(facts, plan) == OPTIONS)
        return NULL;
    num_parse_u64(id, 0, UINT32_MAX, &step, NULL);
    slurm = malloc(sizeof(*slurm));
    if (slurm && slurmstep_get((uint32_t) facts->names.job_id, (uint32_t) step,
                               ASK_MS, slurm)) {
        facts->kill_wait_s = slurm->kill_wait_s;
        return slurm;
    }
    free(slurm);
    return NULL;
}

/* The lines for the user: the first failed nodes by name, the others by
 * number. */
struct telling {
    void (*say)(const char *line);
    const char *title; /* of what runs */
    unsigned n;
};

/* Reports one failed node (runmarks_each). */
static void tell_node(void *arg, const char *node, const char *text)
{
    struct telling *t = arg;
    char line[700];

    if (t->n++ >= NAMED)
        return;
    snprintf(line, sizeof(line), "%s: %s runs without it: %s", t->title, node,
             text);
    t->say(line);
}

/* Reports the nodes that were not named, and those that are neither ready nor
 * failed. */
static void tell_rest(const struct inner *l, uint32_t ready, bool ended,
                      struct telling *t)
{
    char line[700], why[400];
    uint32_t n[RUNMARKS];

    runmarks_count(l->dir, n);
    if (t->n > NAMED) {
        snprintf(line, sizeof(line), "%s: and %u more nodes", t->title,
                 t->n - NAMED);
        t->say(line);
    }
    if (ready + n[RUNMARK_FAILED] >= l->n_nodes)
        return;
    read_complaint(l, why, sizeof(why));
    snprintf(line, sizeof(line), "%s: %u of %u nodes run without it: %s",
             t->title, l->n_nodes - ready - n[RUNMARK_FAILED], l->n_nodes,
             !ended ? "they are not ready in time"
             : *why ? why
                    : "its step has ended");
    t->say(line);
    stepdir_log(l->dir, "%s", line);
}

void sidestep_start(const struct slurmstep *slurm, const struct launch *launch,
                    void (*say)(const char *line))
{
    const struct jp_plan *plan = launch->plan;
    const struct backend *backend = backend_of_option(launch->beside);
    const char *title = backend->about.title;
    struct inner l = {
        .dir = launch->place.step_dir,
        .hash = launch->hash,
        .srun = getppid(),
        .cpus = backend->runner->cpus ? backend->runner->cpus(plan) : 1,
        .backend = backend,
        .job_id = (uint32_t) launch->facts->names.job_id};
    bool asked = plan->sides[launch->beside].mode_source >= PLAN_ENV;
    struct telling t = {.say = say, .title = title};
    struct jp_error err, why = {"Slurm does not list the step's nodes"};
    uint32_t ready;
    int ended;

    if (slurm) {
        l.nodes = slurm->nodes;
        l.n_nodes = slurm->n_nodes;
        l.kill_wait_s = slurm->kill_wait_s ? slurm->kill_wait_s
                                           : JP_DEF_KILL_WAIT_S;
    }
    if (!slurm || start_step(&l, &why) < 0) {
        error_set(&err, "%s does not run: %s", title, why.text);
        stepdir_log(l.dir, "%s", err.text);
        say(err.text);
        return;
    }
    ready = await_nodes(&l, asked ? WAIT_MS : WAIT_DEFAULT_MS, &ended);
    runmarks_each(l.dir, RUNMARK_FAILED, tell_node, &t);
    tell_rest(&l, ready, ended, &t);
}
