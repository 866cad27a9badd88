/* stopfork.c - run a program and stop one of the processes that it forks before
 * its first instruction, as a user may do with a signal that comes in time.
 *
 *     stopfork N[.M...] PROGRAM [ARGUMENT...]
 *
 * N: the program's Nth process; N.M: the Mth that this one forks, and so on.
 * Prints the numbers of the stopped process and of the program, and returns
 * while the others go on. If there is no such process, prints how many the
 * program itself has forked when all have ended. The program leads a session,
 * like finish under the module. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 256 };

static struct process {
    pid_t pid;
    int parent; /* index; -1: none, or not known yet */
    int nth;    /* among its parent's */
    int forks;
    bool is_stopped; /* before its first instruction */
} all[MOST];
static int n_all;

/* The process, added if it is new. */
static struct process *find(pid_t pid)
{
    for (int i = 0; i < n_all; i++)
        if (all[i].pid == pid)
            return &all[i];
    if (n_all == MOST)
        exit(99);
    all[n_all] = (struct process){.pid = pid, .parent = -1};
    return &all[n_all++];
}

/* Whether it is the one that the word asks for: its last number is this
 * process's, the one before its parent's. */
static bool is_wanted(const struct process *p, const char *word)
{
    const char *at = word + strlen(word);

    for (; p->parent >= 0; p = &all[p->parent]) {
        while (at > word && at[-1] != '.')
            at--;
        if (atoi(at) != p->nth)
            return false;
        if (at == word)
            return p->parent == 0;
        at--;
    }
    return false;
}

/* Leaves it stopped, or lets it go on. Both its own stop and its parent's event
 * must have been seen. */
static void settle(struct process *p, const char *word)
{
    if (!p->is_stopped || p->parent < 0)
        return;
    p->is_stopped = false;
    if (is_wanted(p, word)) {
        ptrace(PTRACE_DETACH, p->pid, 0, SIGSTOP);
        printf("%d %d\n", (int) p->pid, (int) all[0].pid);
        exit(0); /* the others are let go */
    }
    ptrace(PTRACE_CONT, p->pid, 0, 0);
}

int main(int argc, char **argv)
{
    const long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    const char *word = argc > 2 ? argv[1] : "";
    int status;
    pid_t program = argc > 2 ? fork() : -1, pid;

    if (program == 0) {
        setsid();
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    if (program < 0 || waitpid(program, &status, 0) != program ||
        ptrace(PTRACE_SETOPTIONS, program, 0, options) < 0)
        return 99;
    find(program);
    ptrace(PTRACE_CONT, program, 0, 0);
    while ((pid = waitpid(-1, &status, __WALL)) > 0) {
        struct process *p = find(pid);
        int signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        unsigned long child;

        if (!WIFSTOPPED(status))
            continue;
        if (status >> 16) {
            if (ptrace(PTRACE_GETEVENTMSG, pid, 0, &child) == 0 &&
                status >> 16 != PTRACE_EVENT_STOP) {
                struct process *born = find((pid_t) child);

                born->parent = (int) (p - all);
                born->nth = ++p->forks;
                settle(born, word);
            }
            ptrace(PTRACE_CONT, pid, 0, 0);
        } else if (signal == SIGSTOP && pid != program && !p->forks &&
                   !p->is_stopped) {
            p->is_stopped = true; /* each child begins so */
            settle(p, word);
        } else {
            /* exec's SIGTRAP is no signal of its own */
            ptrace(PTRACE_CONT, pid, 0, signal == SIGTRAP ? 0 : signal);
        }
    }
    printf("%d\n", all[0].forks);
    return 0;
}
