/* livetask.c - the state of a task from /proc/PID. */
#include "orchestrator/live/livenode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/num.h"
#include "common/ownproc.h"
#include "common/procfs.h"

#define IO_BYTES 1024 /* of /proc/PID/io */
#define MS_NS UINT64_C(1000000)
/* Bytes per second from which on a process counts as reading or writing. The
 * files of a recorder or logger are below it. */
#define IO_BYTES_A_SECOND 65536
/* Minimum time over which a task's share of a processor is measured. */
#define SHARE_NS (2000 * MS_NS)
/* /proc of a working task is read at this interval only. A task is working if
 * its counts have changed within WORKS_NS. */
#define TASK_NS (5000 * MS_NS)
#define WORKS_NS (1500 * MS_NS)
/* Looks in a row in state D before it counts as held by the disk. */
#define DISK_LOOKS 3

/* Returns the hexadecimal number after the key, or 0. */
static uint64_t hex_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

/* Turns "unknown" into 0. */
static uint64_t known(uint64_t value)
{
    return value == PROCFS_NONE ? 0 : value;
}

/* Takes the figures of the process from what its check has read, and the rest.
 * Returns as livetask_read. */
static int read_files(int dir, const struct ownproc_texts *texts,
                      struct livetask *task)
{
    char text[IO_BYTES];
    struct procfs_process p = {0};
    long hz = sysconf(_SC_CLK_TCK);

    if (!procfs_read_process(texts->stat, &p))
        return -1;
    task->state = ownproc_state(texts->stat);
    if (task->state == 'Z' || task->state == 'X')
        return 0;
    task->cpu_ms = num_mul(known(p.user) + known(p.system), 1000) /
                   (uint64_t) (hz > 0 ? hz : 100);
    /* "io" may be unreadable, for instance after a change of credentials; its
     * member then keeps its value. */
    task->traced = known(procfs_find(texts->status, "TracerPid:")) > 0;
    task->caught = hex_behind(texts->status, "\nSigCgt:");
    if (ownproc_read(dir, "io", text, sizeof(text)) > 0)
        task->io_bytes = known(procfs_find(text, "rchar:")) +
                         known(procfs_find(text, "wchar:")) +
                         known(procfs_find(text, "read_bytes:")) +
                         known(procfs_find(text, "write_bytes:"));
    return 1;
}

/* A task that is another user's is unknown and not gone: a container may give
 * it another uid. If its number has passed on, the start time shows it. */
static int open_task(const char *root, struct livetask *task,
                     struct ownproc *proc, struct ownproc_texts *texts)
{
    const struct ownproc_name name = {
        .root = root, .pid = task->pid, .start = task->start, .uid = geteuid()};

    if (ownproc_open_read(&name, proc, texts, NULL) == 0) {
        task->start = proc->start;
        return 1;
    }
    return errno == ESRCH || errno == ESTALE ? 0 : -1;
}

int livetask_read(const char *root, struct livetask *task)
{
    struct ownproc_texts texts;
    struct ownproc proc;
    int rc = open_task(root, task, &proc, &texts);

    if (rc == 1)
        rc = read_files(proc.dir, &texts, task);
    ownproc_close(&proc);
    return rc;
}

int livetask_signal(const char *root, struct livetask *task, int signal)
{
    struct ownproc_texts texts;
    struct ownproc proc;
    int rc = open_task(root, task, &proc, &texts);

    /* A signal without a handler would kill the task. */
    if (rc == 1)
        rc = read_files(proc.dir, &texts, task) == 1 &&
                     (task->caught >> (signal - 1) & 1) &&
                     ownproc_signal(&proc, signal, NULL) == 0
                 ? 0
                 : -1;
    else
        rc = -1;
    ownproc_close(&proc);
    return rc;
}

/* --- what is not watched --- */

void livetask_leave(struct livenode_left *left, const char *name)
{
    const char *at = NULL, *next = name;
    int64_t pid = 0;

    left->n++;
    while ((next = strstr(next, "-pid"))) /* a host's name may contain it */
        at = next += 4;
    for (; at && *at >= '0' && *at <= '9' && pid < INT32_MAX; at++)
        pid = 10 * pid + (*at - '0');
    if (pid > 0 && pid < INT32_MAX && left->n_pids < LIVENODE_LEFT_MAX)
        left->pids[left->n_pids++] = pid;
}

/* --- over the looks ------------------------------------------------------- */

void livewatch_name(struct livewatch *watch, const struct livewatch_process *is)
{
    watch->is = *is;
}

/* Finds the process, which may be in another PID namespace. Returns false if it
 * is not visible from here, as in a container of another runtime. Otherwise
 * w->task has its number. */
static bool find_task(struct livewatch *w, const char *root)
{
    const struct ownproc_name name = {.root = root,
                                      .pid = w->is.pid,
                                      .pid_namespace = w->is.pid_namespace,
                                      .start = w->is.start,
                                      .uid = geteuid()};
    struct ownproc proc;

    if (ownproc_open(&name, &proc, NULL) == 0) {
        w->task.pid = proc.pid;
        w->task.start = proc.start;
        ownproc_close(&proc);
        return true;
    }
    if (ownproc_is_here(&name) && (errno == ESRCH || errno == ESTALE)) {
        /* it has ended: the next read says so */
        w->task.pid = w->is.pid;
        w->task.start = w->is.start;
        return true;
    }
    return false;
}

/* Updates the task's share of a processor once SHARE_NS have passed. */
static void look_at_share(struct livewatch *w, uint64_t now_ns)
{
    if (!w->share_ns) {
        w->share_ns = now_ns;
        w->share_cpu_ms = w->task.cpu_ms;
    } else if (now_ns - w->share_ns >= SHARE_NS) {
        uint64_t ms = (now_ns - w->share_ns) / MS_NS;

        w->share = w->task.cpu_ms > w->share_cpu_ms
                       ? (double) (w->task.cpu_ms - w->share_cpu_ms) /
                             (double) ms
                       : 0;
        w->share_ns = now_ns;
        w->share_cpu_ms = w->task.cpu_ms;
    }
}

/* Notes whether the task read or wrote much since the last look. */
static void look_at_io(struct livewatch *w, uint64_t now_ns)
{
    uint64_t passed = now_ns - w->io_seen_ns, moved;

    moved = w->task.io_bytes > w->io_bytes ? w->task.io_bytes - w->io_bytes : 0;
    if (w->io_seen_ns &&
        (double) moved * 1e9 > (double) IO_BYTES_A_SECOND * (double) passed)
        w->io_ns = now_ns;
    w->io_bytes = w->task.io_bytes;
    w->io_seen_ns = now_ns;
}

void livewatch_look(struct livewatch *w, const char *root, uint64_t moved_ns,
                    uint64_t now_ns)
{
    int there;

    if (w->gone || w->is.pid <= 0)
        return;
    /* The files of the task show that it works, so reading /proc would only
     * cost time. */
    if (w->known && w->read_ns && now_ns - moved_ns < WORKS_NS &&
        now_ns - w->read_ns < (w->pause_ns > TASK_NS ? w->pause_ns : TASK_NS))
        return;
    w->read_ns = now_ns;
    if (!w->task.pid && !find_task(w, root))
        return; /* try again */
    there = livetask_read(root, &w->task);
    /* -1 is unknown, not gone: the next look tries again. */
    w->known = there >= 0;
    w->gone = there == 0;
    if (there <= 0)
        return;
    w->disk_looks = w->task.state == 'D' ? w->disk_looks + 1 : 0;
    look_at_share(w, now_ns);
    look_at_io(w, now_ns);
}

enum hung_state livewatch_held(const struct livewatch *w)
{
    if (w->gone)
        return HUNG_GONE;
    if (w->known && (w->task.traced || w->task.state == 't'))
        return HUNG_TRACED;
    if (w->known && w->task.state == 'T')
        return HUNG_STOPPED;
    return w->disk_looks >= DISK_LOOKS ? HUNG_DISK : HUNG_UNKNOWN;
}
