/* livetask.h - what /proc says of a task: is it there, stopped, held by a
 * debugger; does it compute, read or write.
 *
 * From /proc/PID/stat, status and io, which take no lock that a process in the
 * kernel's state D may hold (as maps and cmdline do), so that they never block.
 */
#ifndef JP_LIVE_LIVETASK_H
#define JP_LIVE_LIVETASK_H

#include <stdbool.h>
#include <stdint.h>

struct livetask {
    int64_t pid;    /* as this process sees it */
    uint64_t start; /* ticks after boot: tells a pid that was given again */
    char state;     /* R S D T t Z X ... */
    bool traced;
    uint64_t cpu_ms;
    uint64_t io_bytes; /* read and written, by calls and by the disks; 0 where
                          the kernel does not tell */
    uint64_t caught;   /* bit i: signal i + 1 has a handler */
};

/* 1: it is there; 0: it is gone, or only a zombie is left; -1: cannot be told.
 * task->pid is given; a start that is known already must be the same. root
 * stands in for /. */
int livetask_read(const char *root, struct livetask *task);

/* The pid here of a process that calls itself pid in the namespace with that
 * inode; the same where that is this one's own or not known (0). -1: none.
 * Looks at all processes of the node. */
int64_t livetask_find(const char *root, int64_t pid, uint64_t pid_namespace);

#endif
