/* launch.c - start a second step beside the tasks, and end it with them. */
#include "config.h"

#include "orchestrator/agent/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "orchestrator/agent/runmarks.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"

#define POLL_MS 20
#define KEEP_POLL_MS 500
#define ARGS_MAX 32
/* After srun's end its nodes have KillWait and this before they are told. */
#define GRACE_MS 10000
/* From SIGTERM to SIGKILL for an srun that does not end. */
#define LAST_MS 10000

static const char ended_mark[] = "run/srun.ended";

/* --- the inner srun ------------------------------------------------------- */

struct words {
    char *argv[ARGS_MAX];
    int n;
    bool bad;
};

static void add(struct words *w, char *word) /* owned */
{
    if (!word || w->n >= ARGS_MAX - 1) {
        free(word);
        w->bad = true;
        return;
    }
    w->argv[w->n++] = word;
}

/* Both options off: it is not profiled itself. One that fails must not end the
 * others. */
static void make_command(const struct launch *l, const char *self,
                         struct words *w)
{
    static const char *const fixed[] = {"--overlap",
                                        "--ntasks-per-node=1",
                                        "--mem=0",
                                        "--gres=none",
                                        "--cpu-bind=none",
                                        "--mpi=none",
                                        "--export=NONE",
                                        "--input=none",
                                        "--wait=0",
                                        "--kill-on-bad-exit=0",
                                        "--nccl-profile=off",
                                        "--copper-profile=off",
                                        "--job-name=jobprof-copper"};

    add(w, strdup("srun"));
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
        add(w, strdup(fixed[i]));
    add(w, fileio_path("--jobid=%u", l->job_id));
    add(w, fileio_path("--nodelist=%s", l->nodes));
    add(w, fileio_path("--nodes=%u", l->n_nodes));
    add(w, fileio_path("--ntasks=%u", l->n_nodes));
    add(w, fileio_path("--cpus-per-task=%u", l->cpus ? l->cpus : 1));
    add(w, strdup(self));
    add(w, strdup("run"));
    add(w, strdup("--dir"));
    add(w, strdup(l->dir));
}

/* Nothing of the job's environment: its SLURM_ variables would shape this step
 * too, and our options' would profile it. */
static void __attribute__((noreturn))
become_srun(const struct words *w, pid_t keeper)
{
    const char *names[] = {"SLURM_CONF", "HOME"};
    char *env[8] = {NULL};
    sigset_t none;
    int n = 0;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* it passes that on to the nodes */
    if (getppid() != keeper)
        _exit(1);
    env[n++] = strdup("PATH=/usr/local/bin:/usr/bin:/bin");
    env[n++] = strdup("LC_ALL=C");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (getenv(names[i]))
            env[n++] = fileio_path("%s=%s", names[i], getenv(names[i]));
    environ = env;
    execvp(w->argv[0], w->argv);
    fprintf(stderr, "%s: %s\n", w->argv[0], strerror(errno));
    _exit(127);
}

/* --- the keeper ----------------------------------------------------------- */

/* srun learns of its own death by the end of pipes that nobody else may hold.
 */
static void let_go(const struct launch *l, int keep)
{
    char *path = fileio_path("%s/run/srun.log", l->dir);
    int null = open("/dev/null", O_RDWR), log = -1;

    if (path)
        log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
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

/* True: the process behind fd, or our child, has ended. */
static bool is_over(int fd)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};

    return poll(&end, 1, 0) > 0;
}

/* Until the inner srun has ended; its status. */
static int keep(const struct launch *l, int srun, pid_t inner)
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

static void __attribute__((noreturn))
keeper(const struct launch *l, const struct words *w, int srun)
{
    char *mark = fileio_path("%s/%s", l->dir, ended_mark);
    pid_t self, inner;

    setsid();
    let_go(l, srun);
    if (chdir("/") < 0)
        _exit(1);
    self = getpid();
    inner = fork();
    if (inner == 0)
        become_srun(w, self);
    if (inner > 0)
        keep(l, 3, inner);
    if (mark && runmarks_there(l->dir))
        fileio_write(mark, "", 0, NULL);
    _exit(0);
}

/* One name a line, as Copper's launch script has it: daemons read it, and the
 * report learns from it who should be there. */
static int write_nodes(const struct launch *l, struct jp_error *err)
{
    char *path = fileio_path("%s/raw/" JP_COPPER_NODES, l->dir);
    char **names = NULL, *text = NULL;
    size_t n = 0, len = 0;
    FILE *out = path ? open_memstream(&text, &len) : NULL;
    int rc = out ? nodelist_expand(l->nodes, &names, &n, err)
                 : error_set(err, "out of memory");

    for (size_t i = 0; i < n && out; i++)
        fprintf(out, "%s\n", names[i]);
    if (out && fclose(out) != 0)
        rc = error_set(err, "out of memory");
    if (rc == 0)
        rc = fileio_write(path, text, len, err);
    nodelist_free(names, n);
    free(text);
    free(path);
    return rc;
}

/* --- for resolve ---------------------------------------------------------- */

static int find_self(char path[PATH_MAX], struct jp_error *err)
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

    if (n <= 0)
        return error_set(err, "/proc/self/exe: %s", strerror(errno));
    path[n] = '\0';
    return 0;
}

static int fork_keeper(const struct launch *l, const struct words *w,
                       struct jp_error *err)
{
    int srun = (int) syscall(SYS_pidfd_open, l->srun, 0);
    pid_t pid;

    if (srun < 0)
        return error_set(err, "srun cannot be watched: %s", strerror(errno));
    pid = fork();
    if (pid == 0) {
        if (fork() == 0)
            keeper(l, w, srun);
        _exit(0);
    }
    close(srun);
    if (pid < 0)
        return error_set(err, "no process: %s", strerror(errno));
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

int launch_start(const struct launch *launch, struct jp_error *err)
{
    struct words words = {.n = 0};
    char self[PATH_MAX];
    int rc = find_self(self, err);

    if (rc == 0)
        rc = runmarks_make(launch->dir, err);
    if (rc == 0)
        rc = write_nodes(launch, err);
    if (rc == 0) {
        make_command(launch, self, &words);
        rc = words.bad ? error_set(err, "out of memory")
                       : fork_keeper(launch, &words, err);
    }
    for (int i = 0; i < words.n; i++)
        free(words.argv[i]);
    return rc;
}

uint32_t launch_await(const struct launch *launch, uint32_t wait_ms, int *ended)
{
    uint64_t end_ms = clock_mono_ms() + wait_ms;
    uint32_t n[RUNMARKS];

    for (;;) {
        *ended = stepdir_has(launch->dir, ended_mark);
        runmarks_count(launch->dir, n);
        if (*ended || n[RUNMARK_READY] + n[RUNMARK_FAILED] >= launch->n_nodes ||
            clock_mono_ms() >= end_ms)
            return n[RUNMARK_READY];
        clock_sleep_ms(POLL_MS);
    }
}

void launch_complaint(const struct launch *launch, char *buf, size_t len)
{
    char *path = fileio_path("%s/run/srun.log", launch->dir), *text = NULL;

    buf[0] = '\0';
    if (path && fileio_read(path, false, 65536, &text, NULL, NULL) == 0)
        snprintf(buf, len, "%.*s", (int) strcspn(text, "\n"), text);
    free(text);
    free(path);
}
