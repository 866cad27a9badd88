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
    int64_t pid;    /* as seen by this process */
    uint64_t start; /* ticks after boot; shows that a pid was reused */
    char state;     /* R S D T t Z X ... */
    bool traced;
    uint64_t cpu_ms;
    /* bytes read and written, by calls and by the disks; 0 if the kernel does
     * not report them */
    uint64_t io_bytes;
    uint64_t caught; /* bit i: signal i + 1 has a handler */
};

/* Returns 1 if the task exists; 0 if it is gone or a zombie; -1 if unknown.
 * task->pid is input; a start that is already set must match. root replaces /.
 */
int livetask_read(const char *root, struct livetask *task);

/* Returns the pid, as seen here, of a process with that pid in the namespace
 * with that inode. It is the same pid if that is our own namespace or unknown
 * (0). -1: none. Looks at all processes of the node. */
int64_t livetask_find(const char *root, int64_t pid, uint64_t pid_namespace);

#endif
