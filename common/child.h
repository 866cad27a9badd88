/* child.h - work in a separate process, bounded in time.
 *
 * A library that may hang or crash, a program, a file system that may not
 * answer: each is used in a child, which is killed at its deadline. A child
 * that a driver keeps from ending is left to init.
 */
#ifndef JP_COMMON_CHILD_H
#define JP_COMMON_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How long child_run waits for the end of a child that it has killed. */
#define CHILD_LAST_MS 200

enum child_end {
    CHILD_ENDED, /* it has ended in time; status has the result */
    CHILD_LATE,  /* it was killed at its deadline */
    CHILD_NEVER, /* it could not be created: errno */
};

/* What the child does: either work or argv is set. */
struct child {
    /* Runs in the child with default signals. Its return value is the exit
     * status. out: descriptor for its output, -1 if none is wanted. */
    int (*work)(void *arg, int out);
    void *arg;
    bool leads_group; /* work calls setpgid(0, 0) first; like a program it is
                         killed with its process group */
    /* A program, found by PATH. It leads a process group, which is killed as a
     * whole. Its standard streams are /dev/null, except for the output. Exit
     * status 127: not found; 126: it could not be started. */
    char *const *argv;
    const char *dir;   /* working directory of a program; NULL: ours */
    bool with_stderr;  /* standard error is also captured */
    bool dies_with_us; /* the child is killed when the thread that made it ends
                        */
    uint32_t limit_ms;
    uint32_t term_ms; /* from SIGTERM to SIGKILL; 0: SIGKILL at once */
    /* For child_start: a descriptor that becomes the program's standard output
     * and error; 0: /dev/null. */
    int log;
    /* Output: at most room bytes are kept, the rest is read and dropped. The
     * child counts as running until all processes that hold its output have
     * closed it. */
    char *out;
    size_t room;
};

struct child_result {
    pid_t pid;
    int status; /* as waitpid gives it; only for CHILD_ENDED */
    size_t len; /* bytes in out */
};

/* Runs a child from start to end. result may be NULL. */
enum child_end child_run(const struct child *child,
                         struct child_result *result);

/* Whether the child has ended without a signal and with exit status 0. */
bool child_succeeded(enum child_end end, const struct child_result *result);

/* Starts a child, whose output goes to log. No limit applies; the caller waits
 * for it. Returns its process id, or -1 with errno. */
pid_t child_start(const struct child *child);

/* For a child that outlives its parent: makes its standard streams /dev/null
 * and closes all other descriptors, so that no reader of the parent's output
 * waits for the child's end. Returns -1 if a stream could not be replaced; the
 * other descriptors are closed all the same. */
int child_let_go(void);

/* Waits at most limit_ms for the end of a child (0: only checks). Returns 1 if
 * it has ended, with *status; 0: not yet; -1: it is not our child. */
int child_await(pid_t pid, uint32_t limit_ms, int *status);

/* Zeroed memory that a child shares with its parent, for results that outlive
 * it; NULL: no memory. child_free takes NULL. What a child has written is
 * foreign input: the parent must check every number in it. */
void *child_alloc(size_t size);
void child_free(void *shared, size_t size);

#endif
