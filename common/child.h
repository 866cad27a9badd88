/* child.h - work in a process of its own, bounded in time.
 *
 * A library that may hang or crash, a program, a file system that may not
 * answer: each is asked in a child, which is killed at its deadline. A child
 * that a driver keeps from dying is left to init.
 */
#ifndef JP_COMMON_CHILD_H
#define JP_COMMON_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How long a killed child is waited for. */
#define CHILD_LAST_MS 200

enum child_end {
    CHILD_ENDED, /* it ended in time; status has the result */
    CHILD_LATE,  /* it was killed at its deadline */
    CHILD_NEVER, /* none could be made: errno */
};

/* What is to be done; one of work and argv. */
struct child {
    /* Runs in the child with default signals; its value is the exit status.
     * Output goes to descriptor out, -1 where none is wanted. */
    int (*work)(void *arg, int out);
    void *arg;
    /* A program, found by PATH. It leads a process group, which is killed as a
     * whole; its standard streams are /dev/null but for the output. Exit
     * status 127: not found; 126: it could not be started. */
    char *const *argv;
    const char *dir;   /* where a program runs; NULL: here */
    bool with_stderr;  /* standard error is also captured */
    bool dies_with_us; /* the child ends with the thread that made it */
    uint32_t limit_ms;
    uint32_t term_ms; /* from SIGTERM to SIGKILL; 0: SIGKILL at once */
    /* Output: at most room bytes are kept, the rest is read and dropped. The
     * child is over when all who hold its output have closed it. */
    char *out;
    size_t room;
};

struct child_result {
    pid_t pid;
    int status; /* as waitpid gives it; of CHILD_ENDED only */
    size_t len; /* bytes in out */
};

/* From start to end. result may be NULL. */
enum child_end child_run(const struct child *child,
                         struct child_result *result);

/* It ended without a signal and with exit status 0. */
bool child_succeeded(enum child_end end, const struct child_result *result);

/* Starts it without output; no limit applies, the caller awaits it. Its pid,
 * -1 with errno. */
pid_t child_start(const struct child *child);

/* For a child that outlives its parent: makes its standard streams /dev/null
 * and closes all other descriptors, so that no reader of the parent's output
 * waits for the child's end. Returns -1 and errno without /dev/null. */
int child_let_go(void);

/* Waits for a child's end at most limit_ms (0: only looks). 1: it has ended,
 * *status says how; 0: not yet; -1: it is no child of ours. */
int child_await(pid_t pid, uint32_t limit_ms, int *status);

/* Zeroed memory that a child shares with its parent, for results that are to
 * outlive it; NULL without. child_free takes NULL. What a child wrote is
 * foreign: the parent checks every number in it. */
void *child_alloc(size_t size);
void child_free(void *shared, size_t size);

#endif
