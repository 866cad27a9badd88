/* procfs.h - what Linux reports about processors, memory, disks and
 * networks.
 *
 * Each function takes the whole text of one file and fills in what it finds. A
 * figure that the text does not have stays as it was; callers begin with
 * PROCFS_NONE, so a kernel without a file or a line leaves figures unknown,
 * never zero. The texts are not trusted: they may be cut, empty or from another
 * kernel. Formats: proc(5) and Documentation/ of Linux 3.10 to 6.12
 * (filesystems/proc, admin-guide/cgroup-v1 and cgroup-v2, accounting/psi,
 * block/stat). */
#ifndef JP_COMMON_PROCFS_H
#define JP_COMMON_PROCFS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCFS_NONE UINT64_MAX /* unknown */

/* A file's text, at most room - 1 bytes of it, with a NUL; NULL: it cannot be
 * read. len may be NULL. Never blocks: the kernel's files are regular ones. */
const char *procfs_read_file(const char *path, char *text, size_t room,
                             size_t *len);

/* /proc/stat. Times in ticks of sysconf(_SC_CLK_TCK), over all processors. */
struct procfs_cpu {
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
    uint64_t n; /* processors that are online */
    uint64_t switches, running, blocked;
};
/* false: there is no line for all processors. */
bool procfs_read_stat(const char *text, struct procfs_cpu *out);

/* /proc/meminfo, in bytes. */
struct procfs_memory {
    uint64_t total, available, swap_total, swap_free;
};
void procfs_read_meminfo(const char *text, struct procfs_memory *out);

/* The number after key at the beginning of a line ("pgmajfault 12", "usage_usec
 * 7", "VmRSS:\t 12 kB"), or PROCFS_NONE. */
uint64_t procfs_find(const char *text, const char *key);

/* The number at the beginning of the text; PROCFS_NONE for "max" and anything
 * else. */
uint64_t procfs_number(const char *text);

/* A pressure file: microseconds in which some task waited, or all of them. */
struct procfs_pressure {
    uint64_t some_us, full_us;
};
void procfs_read_pressure(const char *text, struct procfs_pressure *out);

/* Bytes in both directions: received or read, sent or written. */
struct procfs_traffic {
    uint64_t in, out;
};
/* /proc/net/dev and /proc/diskstats: sums over the devices for which counts()
 * returns true. Both stay PROCFS_NONE if there is none. */
typedef bool procfs_counts(void *arg, const char *device);
void procfs_read_netdev(const char *text, procfs_counts *counts, void *arg,
                        struct procfs_traffic *out);
void procfs_read_diskstats(const char *text, procfs_counts *counts, void *arg,
                           struct procfs_traffic *out);
/* io.stat of cgroup v2 and blkio.throttle.io_service_bytes of v1: all
 * devices. */
void procfs_read_iostat(const char *text, struct procfs_traffic *out);

/* /proc/PID/stat. Times are in ticks. Times and faults include children that
 * have ended and were waited for. */
struct procfs_process {
    uint64_t pid, parent;
    uint64_t minor_faults, major_faults, user, system, threads, start;
};
/* false: not such a line. The name in brackets may hold anything. */
bool procfs_read_process(const char *text, struct procfs_process *out);

/* Whether a list of numbers ("0,4-7") has n. NULL, "" and text that is no list
 * have every number. */
bool list_has_number(const char *list, unsigned n);

/* Limit of a step's processes on a node. With more of them it is not known
 * whether a process on a GPU belongs to the step. */
#define PROCFS_PIDS_MAX 4096

/* The step's processes on this node. */
struct procfs_pids {
    uint32_t n; /* more than PROCFS_PIDS_MAX: the list is not whole */
    uint32_t pid[PROCFS_PIDS_MAX];
};
bool procfs_pids_have(const struct procfs_pids *pids, unsigned pid);

/* Some of them, evenly spaced, with what is needed to open them
 * (common/ownproc.h). root is borrowed. */
#define PROCFS_SOME_MAX 32
struct procfs_some {
    const char *root;
    uint32_t uid, n;
    int64_t pid[PROCFS_SOME_MAX];
    uint64_t start[PROCFS_SOME_MAX];
};

/* From /proc/PID/cgroup: the path in the unified hierarchy (controller ""), or
 * in that of the controller in v1, cut after the folder "step_...". false: the
 * process is not in a step's cgroup. */
bool procfs_cgroup_step(const char *text, const char *controller, char *out,
                        size_t room);

/* The kernel's files below a root, read again and again. A file that is read in
 * each sample stays open, which saves two of three calls to the kernel. A text
 * belongs to the reader and holds until the next one. */

/* Limit of a text; longer ones (environments) are cut. */
#define PROCFS_TEXT_MAX 65536

struct procfs_reader {
    const char *root; /* replaces / in tests; "" is the machine */
    char text[PROCFS_TEXT_MAX];
};

/* Formats a path below the root into out, which has PATH_MAX bytes. Returns
 * out. */
const char *procfs_reader_path(const struct procfs_reader *reader, char *out,
                               const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The text of a file by its whole path; "" if it cannot be read. */
const char *procfs_reader_text(struct procfs_reader *reader, const char *path);

/* The same through *fd, which is -1 at first and stays open; the caller closes
 * it. at and path are as for openat(2), and only used to open the file. A file
 * that cannot be read any more is closed, and opened again by the next call. */
const char *procfs_reader_again(struct procfs_reader *reader, int *fd, int at,
                                const char *path);

#endif
