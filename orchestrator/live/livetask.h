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

#include "orchestrator/ingest/stuck.h"

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

/* A task over the looks; zero-initialised by its owner. */
struct livewatch {
    struct livetask task;
    int64_t inner; /* its own pid; 0: not named yet */
    uint64_t pid_namespace;
    bool known, gone;
    uint64_t read_ns; /* when /proc was read, monotonic; 0: is due */
    unsigned disk_looks;
    uint64_t io_ns, io_bytes; /* reads or writes much; by then */
    uint64_t io_seen_ns;
    uint64_t share_ns, share_cpu_ms; /* where the share's span began */
    double share;                    /* of a processor, in the last span */
};

/* Sets the task to watch: the process with this pid in the PID namespace with
 * this inode; 0: in this process' own namespace. */
void livewatch_name(struct livewatch *watch, int64_t pid,
                    uint64_t pid_namespace);

/* Reads /proc where that is due: seldom while its files tell that it works,
 * which they did at moved_ns. Times are monotonic. */
void livewatch_look(struct livewatch *watch, const char *root,
                    uint64_t moved_ns, uint64_t now_ns);

/* What the kernel alone says: gone, held by a debugger, stopped, in state D for
 * longer than a look; else STUCK_UNKNOWN. */
enum stuck_state livewatch_held(const struct livewatch *watch);

#endif
