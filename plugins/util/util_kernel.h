/* util_kernel.h - what Linux says of processors, memory, disks and networks.
 *
 * Each function takes the whole text of one file and fills what it finds there.
 * A figure that the text does not have stays as it was; callers begin with
 * UTIL_NONE, so a kernel without a file or a line leaves figures unknown and
 * never zero. Nothing is trusted: texts may be cut, empty or of another kernel.
 * Formats: proc(5) and Documentation/ of Linux 3.10 to 6.12 (filesystems/proc,
 * admin-guide/cgroup-v1 and cgroup-v2, accounting/psi, block/stat).
 */
#ifndef JP_UTIL_KERNEL_H
#define JP_UTIL_KERNEL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTIL_NONE UINT64_MAX /* not known */

/* A file's text, at most room - 1 bytes of it, or NULL; len may be NULL. Never
 * blocks: the kernel's files are regular ones. */
const char *util_read_file(const char *path, char *text, size_t room,
                           size_t *len);

/* /proc/stat. Times in ticks of sysconf(_SC_CLK_TCK), over all processors. */
struct util_cpu {
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
    uint64_t n; /* processors that are online */
    uint64_t switches, running, blocked;
};
/* False: no line of all processors. */
bool util_read_stat(const char *text, struct util_cpu *out);

/* /proc/meminfo, in bytes. */
struct util_memory {
    uint64_t total, available, swap_total, swap_free;
};
void util_read_meminfo(const char *text, struct util_memory *out);

/* The number behind key at the beginning of a line ("pgmajfault 12",
 * "usage_usec 7", "VmRSS:\t 12 kB"), or UTIL_NONE. */
uint64_t util_find(const char *text, const char *key);

/* A text that is one number; "max" and anything else: UTIL_NONE. */
uint64_t util_number(const char *text);

/* A pressure file: microseconds in which some task, or all of them, waited. */
struct util_pressure {
    uint64_t some_us, full_us;
};
void util_read_pressure(const char *text, struct util_pressure *out);

/* Bytes in both directions: received or read, sent or written. */
struct util_traffic {
    uint64_t in, out;
};
/* /proc/net/dev and /proc/diskstats: sums over the devices for which counts()
 * says yes. Both stay UTIL_NONE where none is. */
typedef bool util_counts(void *arg, const char *device);
void util_read_netdev(const char *text, util_counts *counts, void *arg,
                      struct util_traffic *out);
void util_read_diskstats(const char *text, util_counts *counts, void *arg,
                         struct util_traffic *out);
/* cgroup v2's io.stat and v1's blkio.throttle.io_service_bytes: all devices. */
void util_read_iostat(const char *text, struct util_traffic *out);

/* /proc/PID/stat. Times in ticks; times and faults with those of children that
 * have ended and were waited for. */
struct util_process {
    uint64_t pid, parent;
    uint64_t minor_faults, major_faults, user, system, threads, start;
};
/* False: not such a line. The name in brackets may hold anything. */
bool util_read_process(const char *text, struct util_process *out);

/* Whether a list of numbers ("0,4-7") has n. NULL, "" and text that is no list
 * have every number. */
bool util_list_has(const char *list, unsigned n);

/* Of a step on a node. With more of them it is not known whether a process on a
 * GPU belongs to the step. */
#define UTIL_PIDS_MAX 4096

/* The step's processes on this node. */
struct util_pids {
    uint32_t n; /* more than UTIL_PIDS_MAX: the list is not whole */
    uint32_t pid[UTIL_PIDS_MAX];
};
bool util_pids_have(const struct util_pids *pids, unsigned pid);

/* Whether an environment (NAME=VALUE, ended by NUL, len bytes in all) has name;
 * then its value, which is borrowed and ends with NUL as long as env does. */
const char *util_environ(const char *env, size_t len, const char *name);
/* /proc/PID/cgroup: the path of the unified hierarchy, or of the controller in
 * v1, cut behind the folder "step_...". False: the process is in no step's. */
bool util_cgroup_step(const char *text, const char *controller, char *out,
                      size_t room);

/* The kernel's files below a root, read again and again.
 *
 * A file that is read in each sample stays open: that saves two of three calls
 * to the kernel. A text is the reader's own and holds until the next one.
 */

#define UTIL_TEXT_MAX 65536 /* of a file; environments may be larger: cut */
#define UTIL_KEPT_MAX 32

struct util_reader {
    const char *root; /* replaces / in tests; "" is the machine */
    struct util_kept {
        const char *folder, *name; /* name NULL: free */
        int fd;
    } kept[UTIL_KEPT_MAX];
    char text[UTIL_TEXT_MAX];
};

/* A path below the root into out, which has PATH_MAX bytes. Returns out. */
const char *util_reader_path(const struct util_reader *reader, char *out,
                             const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The text of a file by its whole path; "" where there is none: readers find
 * nothing in it. */
const char *util_reader_text(struct util_reader *reader, const char *path);

/* The same through *fd, which is -1 at first and stays open; the caller closes
 * it. path is only for the first time. A file that cannot be read any more is
 * closed; the next call opens it again. */
const char *util_reader_again(struct util_reader *reader, int *fd,
                              const char *path);

/* The same of <folder>/<name>; the reader keeps the descriptor. Both texts stay
 * where they are as long as the reader lives. */
const char *util_reader_kept(struct util_reader *reader, const char *folder,
                             const char *name);

void util_reader_fini(struct util_reader *reader);

#endif
