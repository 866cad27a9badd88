/* ownproc.h - whose process is it: processes that are known by more than their
 * number.
 *
 * A number says nothing. When a process ends, another user can fork until one
 * of his processes has its number, and give it any environment and any name. So
 * a process is opened once and checked: all four uids (real, effective, saved,
 * file system) are the expected one, and so is the start time, where one was
 * recorded.
 *
 * From then on, the descriptor of /proc/PID stands for the process. What is
 * opened below it belongs to this process, or fails with ESRCH once the process
 * has ended, even if its number is used again. The same descriptor is a pidfd
 * for pidfd_send_signal(2), since Linux 5.1, so that signals reach this process
 * or none.
 *
 * A start time is field 22 of /proc/PID/stat, in ticks after boot. It is the
 * same as long as the process lives, also after execve(). A zombie has ended,
 * unless only its first thread has.
 *
 * Only /proc/PID/stat and status are read. They take no lock that a process in
 * kernel state D may hold, so nothing here blocks, except for what a caller
 * reads by itself. Only libc and error.h are used.
 */
#ifndef JP_COMMON_OWNPROC_H
#define JP_COMMON_OWNPROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

/* What is known of a process before it is opened. */
struct ownproc_name {
    const char *root;       /* prefix in place of /; "" is the machine */
    int64_t pid;            /* in the PID namespace below */
    uint64_t pid_namespace; /* inode of its /proc/PID/ns/pid; 0: ours */
    uint64_t start;         /* 0: unknown */
    uid_t uid;              /* whose it must be */
};

struct ownproc {
    int dir;        /* /proc/PID; -1: closed */
    bool real;      /* of this machine: it can be signalled */
    pid_t pid;      /* as this process sees it */
    uint64_t start; /* ticks after boot */
    uid_t uid;
};

#define OWNPROC_CLOSED ((struct ownproc){.dir = -1})

/* Opens and checks the process. A process in another PID namespace is searched
 * among all processes of the uid. Returns 0, and the caller calls
 * ownproc_close. On failure returns -1, out is closed, and errno is
 *
 *   ESRCH   it has ended, or is not visible from here
 *   ESTALE  it has ended, and a process that started later has its number
 *   EPERM   the process with this number is another user's, at least in part
 *   other   /proc could not be read
 */
int ownproc_open(const struct ownproc_name *name, struct ownproc *out,
                 struct jp_error *err);

/* What was read for the check. status may be cut. */
struct ownproc_texts {
    char stat[4096], status[16384];
};

/* The same, and keeps the texts of /proc/PID/stat and status of a process that
 * is opened, for a caller who would read them next. */
int ownproc_open_read(const struct ownproc_name *name, struct ownproc *out,
                      struct ownproc_texts *texts, struct jp_error *err);

/* Whether its number is one of our own PID namespace: then it cannot be there
 * and not be visible. */
bool ownproc_is_here(const struct ownproc_name *name);

/* Checks again that the process lives and that all its uids are the expected
 * one (a program with the setuid bit changes them). Returns 0, or -1 with errno
 * as above. */
int ownproc_check(const struct ownproc *proc, struct jp_error *err);

/* Whether it lives, whoever's it is by now: reads less. */
bool ownproc_lives(const struct ownproc *proc);

/* Accepts a closed one. */
void ownproc_close(struct ownproc *proc);

/* Opens the folder /proc/PID, without any check: for callers that read the
 * start time below it themselves in each look (ownproc_start). Returns a
 * descriptor, or -1 with errno. */
int ownproc_hold(const char *root, int64_t pid);

/* Reads the file `name` of /proc/PID, at most size - 1 bytes, and adds a NUL.
 * Returns the number of bytes, or -1 with errno; text is "" then. dir: the
 * process's folder. */
ssize_t ownproc_read(int dir, const char *name, char *text, size_t size);

/* The start time in the text of /proc/PID/stat; 0 if it has none. The state
 * (R S D T t Z X ...), or '\0'. */
uint64_t ownproc_start(const char *stat);
char ownproc_state(const char *stat);

/* The value of name in the text of /proc/PID/environ (NAME=VALUE, each ended by
 * NUL, len bytes in all), or NULL. It is borrowed, and ends with NUL. */
const char *ownproc_variable(const char *env, size_t len, const char *name);

/* The step of srun that the process belongs to, by the same text; "batch" or
 * "interactive" in a step that srun has not started (JP_STEP_VARIABLE). NULL:
 * unknown. Borrowed. */
const char *ownproc_step(const char *env, size_t len);

/* Slurm gives the processes of a batch script no SLURM_STEP_ID, or leaves them
 * that of the step in which sbatch ran. In a profiled one, begin sets this. */
#define JP_STEP_VARIABLE "JOBPROF_STEP"

/* The inode of the process's PID namespace; 0: unknown. The process's folder is
 * dir. */
uint64_t ownproc_namespace(int dir);

/* Opens the absolute path as the process sees it: below its root, to which
 * absolute links lead as well (openat2, since Linux 5.6). The last component
 * must not be a link. flags as for open(2); O_CLOEXEC, O_NOFOLLOW, O_NOCTTY and
 * O_NONBLOCK are added, so that a FIFO does not block. Returns a descriptor, or
 * -1 with errno. dir: the process's folder. */
int ownproc_open_inside(int dir, const char *path, int flags);

/* Checks the process again and sends the signal to it, and to no other process.
 * A kernel without pidfd_send_signal(2) gets the number directly after the
 * check. Returns -1 with errno if nothing was sent. */
int ownproc_signal(const struct ownproc *proc, int signal,
                   struct jp_error *err);

/* Calls each() for the processes of the uid, in the order of /proc, until it
 * returns true. each() may keep the process: it copies *proc and sets proc->dir
 * to -1. Returns true if each() did. */
bool ownproc_walk(const char *root, uid_t uid,
                  bool (*each)(void *arg, struct ownproc *proc), void *arg);

#endif
