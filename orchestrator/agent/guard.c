/* guard.c - outlive a runner's supervisor, and end what a killed one leaves. */
#include "orchestrator/agent/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/agent/runmarks.h"
#include "orchestrator/agent/supervise.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"

#define LOOK_MS 500 /* at children, should a signal be lost */

static void block(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGCHLD);
    sigprocmask(SIG_BLOCK, set, NULL);
}

/* A signal that is not of a child's end, or 0. */
static int await_signal(uint32_t ms)
{
    const struct timespec time = {ms / 1000, (long) (ms % 1000) * 1000000};
    sigset_t set;
    int sig;

    block(&set);
    sig = sigtimedwait(&set, NULL, &time);
    return sig > 0 && sig != SIGCHLD ? sig : 0;
}

/* The status of its end. Orphans of its own, which are ours now, too. Without
 * its parent, slurmstepd, it is to end. */
static int await_child(pid_t child, pid_t parent)
{
    int status = 0, sig;
    bool alone = false;
    pid_t pid;

    for (;;) {
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
            if (pid == child)
                return status;
        sig = await_signal(LOOK_MS);
        if (!sig && !alone && getppid() != parent) {
            alone = true;
            sig = SIGTERM;
        }
        if (sig)
            kill(child, sig);
    }
}

/* Until no process of the dead child's is left. */
static bool await_orphans(uint32_t budget_ms)
{
    uint64_t end_ms = clock_mono_ms() + budget_ms;
    pid_t pid;

    for (;;) {
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0 && errno == ECHILD)
            return true;
        if (clock_mono_ms() >= end_ms)
            return false;
        await_signal(LOOK_MS);
    }
}

static void end_rest(const struct backend_runner *runner, const char *dir,
                     const char *node)
{
    char *path = fileio_path("%s/" JP_JOBCONF_NAME, dir);
    struct jp_jobconf conf = {0};

    if (path && jobconf_read(path, &conf, NULL) == 0) {
        if (!await_orphans(supervise_budget(&conf)))
            stepdir_log(dir, "%s: Copper: its daemon does not end", node);
        if (runner->sweep)
            runner->sweep(&conf, dir, node);
        jobconf_fini(&conf);
    }
    free(path);
}

int guard(const struct backend_runner *runner, const char *dir,
          const char *node, int (*work)(void *arg), void *arg,
          struct jp_error *err)
{
    pid_t self = getpid(), parent = getppid(), child;
    sigset_t set;
    int status;

    prctl(PR_SET_CHILD_SUBREAPER, 1);
    block(&set);
    child = fork();
    if (child == 0)
        _exit(getppid() == self ? work(arg) : 1);
    if (child < 0)
        return error_set(err, "no process for the supervisor");
    status = await_child(child, parent);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    error_set(err, "its supervisor was ended by signal %d", WTERMSIG(status));
    stepdir_log(dir, "%s: Copper: %s", node, err->text);
    if (!runmark_is_set(dir, node, RUNMARK_READY))
        runmark_set(dir, node, RUNMARK_FAILED, err->text, NULL);
    end_rest(runner, dir, node);
    runmark_set(dir, node, RUNMARK_DONE, "", NULL);
    return -1;
}
