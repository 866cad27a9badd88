/* livetask.c - the state of a task from /proc/PID. */
#include "orchestrator/live/livenode.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/num.h"
#include "plugins/util/util_kernel.h"

#define TEXT_BYTES 4096
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

/* Returns the text of /proc/PID/name, or NULL with errno. */
static const char *read_of(const char *root, int64_t pid, const char *name,
                           char text[TEXT_BYTES])
{
    char path[512];

    snprintf(path, sizeof(path), "%s/proc/%lld/%s", root, (long long) pid,
             name);
    return util_read_file(path, text, TEXT_BYTES, NULL);
}

/* Returns the state letter after the name in brackets. The name may itself
 * contain brackets, so the last one is used. Returns NUL if there is none. */
static char state_in(const char *text)
{
    const char *end = strrchr(text, ')');

    return end && end[1] == ' ' ? end[2] : '\0';
}

/* Returns the hexadecimal number after the key, or 0. */
static uint64_t hex_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

/* Turns "unknown" into 0. */
static uint64_t known(uint64_t value)
{
    return value == UTIL_NONE ? 0 : value;
}

int livetask_read(const char *root, struct livetask *task)
{
    char text[TEXT_BYTES];
    struct util_process p = {0};
    long hz = sysconf(_SC_CLK_TCK);
    const char *got;

    errno = 0;
    got = read_of(root, task->pid, "stat", text);
    if (!got)
        /* ESRCH: the process ended between open and read. */
        return errno == ENOENT || errno == ESRCH ? 0 : -1;
    if (!util_read_process(text, &p))
        return -1;
    task->state = state_in(text);
    /* A zombie is as good as gone. Another start time means that the pid was
     * reused. */
    if (task->state == 'Z' || task->state == 'X' ||
        (task->start && task->start != p.start))
        return 0;
    task->start = p.start;
    task->cpu_ms = num_mul(known(p.user) + known(p.system), 1000) /
                   (uint64_t) (hz > 0 ? hz : 100);
    /* "io" may be unreadable, for instance after a change of credentials; its
     * member then keeps its value. */
    if (read_of(root, task->pid, "status", text)) {
        task->traced = known(util_find(text, "TracerPid:")) > 0;
        task->caught = hex_behind(text, "\nSigCgt:");
    }
    if (read_of(root, task->pid, "io", text))
        task->io_bytes = known(util_find(text, "rchar:")) +
                         known(util_find(text, "wchar:")) +
                         known(util_find(text, "read_bytes:")) +
                         known(util_find(text, "write_bytes:"));
    return 1;
}

/* Returns the last number of "NSpid:", the pid in the process's own namespace.
 * Returns -1 if the kernel does not report it. */
static int64_t inner_pid(const char *status)
{
    const char *at = strstr(status, "\nNSpid:");
    int64_t last = -1;

    if (!at)
        return -1;
    at += strlen("\nNSpid:");
    while (*at == '\t' || *at == ' ') {
        char *end;

        last = strtoll(at, &end, 10);
        if (end == at)
            return -1;
        at = end;
    }
    return last;
}

/* Returns the inode of a process's PID namespace, or 0 if it cannot be read. */
static uint64_t namespace_of(const char *root, const char *pid)
{
    char path[512];
    struct stat st;

    snprintf(path, sizeof(path), "%s/proc/%s/ns/pid", root, pid);
    return stat(path, &st) == 0 ? (uint64_t) st.st_ino : 0;
}

/* Returns the pid, in this namespace, of the process that has that pid in the
 * given PID namespace. Namespace 0, or our own: the same pid. Returns -1 if
 * there is none. Looks at all processes of the node. */
static int64_t find_task(const char *root, int64_t pid, uint64_t pid_namespace)
{
    char path[512], text[TEXT_BYTES];
    struct dirent *entry;
    int64_t found = -1;
    DIR *proc;

    if (!pid_namespace || pid_namespace == namespace_of(root, "self"))
        return pid;
    snprintf(path, sizeof(path), "%s/proc", root);
    proc = opendir(path);
    while (proc && found < 0 && (entry = readdir(proc))) {
        int64_t outer;

        /* The namespace is compared first: it is one stat(), "status" is a file
         * to parse. */
        if (num_parse_i64(entry->d_name, 1, INT32_MAX, &outer, NULL) == 0 &&
            namespace_of(root, entry->d_name) == pid_namespace &&
            read_of(root, outer, "status", text) && inner_pid(text) == pid)
            found = outer;
    }
    if (proc)
        closedir(proc);
    return found;
}

/* --- over the looks ------------------------------------------------------- */

void livewatch_name(struct livewatch *watch, int64_t pid,
                    uint64_t pid_namespace)
{
    watch->inner = pid;
    watch->pid_namespace = pid_namespace;
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

    if (w->gone || w->inner <= 0)
        return;
    /* The files of the task show that it works, so reading /proc would only
     * cost time. */
    if (w->known && w->read_ns && now_ns - moved_ns < WORKS_NS &&
        now_ns - w->read_ns < TASK_NS)
        return;
    w->read_ns = now_ns;
    if (!w->task.pid) {
        w->task.pid = find_task(root, w->inner, w->pid_namespace);
        if (w->task.pid < 0)
            w->task.pid = 0; /* not visible from here, as in a container of
                                another runtime; try again */
        if (!w->task.pid)
            return;
    }
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
