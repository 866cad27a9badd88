/* util_probe.c - read the kernel's files once a sample. */
#include "plugins/util/util_probe.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/num.h"
#include "plugins/util/util_kernel.h"
#include "plugins/util/util_counter.h"
#include "plugins/util/util_ports.h"

#define TEXT_MAX 65536 /* of a file; environments may be larger: cut */
#define PROCESSES_MAX 65536
#define CPUS_MAX 8192
/* New processes are looked for in every so many samples. One that is not ours
 * may be about to execute a program that is, so it is looked at some times; and
 * now and then again, because its number may be another's by then. */
#define SCAN_EVERY 2
#define LOOKS 5
#define AGAIN_EVERY 60
#define AGAIN_CGROUP 5

struct process {
    uint64_t pid, start;
    uint32_t rank;
};

struct other {
    uint64_t pid;
    uint32_t looks;
    bool is_there; /* was met in this scan */
};

/* What counts up in a task: sums over its processes with their children that
 * have ended, so that the end of a child changes nothing. */
enum {
    USER,
    SYSTEM,
    MINOR,
    MAJOR,
    READ,
    WRITE,
    READ_CALLS,
    WRITE_CALLS,
    WAIT_NS,
    SWITCHES,
    SUMS
};

struct task {
    uint32_t rank;
    struct util_row row; /* samples 0: it has no process any more */
    struct util_counter last[SUMS];
    uint64_t sum[SUMS];
};

enum cgroup_version { CGROUP_UNKNOWN, CGROUP_NONE, CGROUP_1, CGROUP_2 };

struct util_probe {
    struct util_step step;
    char job[24];
    double ticks_s;
    uint64_t samples, last_mono_us;
    double dt; /* seconds since the last sample; 0: this is the first */
    /* the node */
    struct util_counter user, nice, system, iowait, irq, softirq, steal;
    struct util_counter faults, net_in, net_out, disk_in, disk_out;
    struct util_counter cpu_wait, memory_wait, io_wait, agent;
    /* the tasks */
    struct process *processes;
    size_t n_processes;
    struct other *others; /* sorted: processes that are not ours */
    size_t n_others;
    struct task *tasks;
    size_t n_tasks;
    uint64_t cpus[CPUS_MAX / 64]; /* that some task may use */
    /* the step */
    enum cgroup_version version;
    char cgroup[4][PATH_MAX]; /* cpuacct or all, memory, blkio, cpu */
    struct util_counter step_user, step_system, step_throttled, step_major;
    struct util_counter step_in, step_out, step_cpu_wait, step_memory_wait;
    struct util_counter step_io_wait;
    struct util_ports *ports;
    char text[TEXT_MAX];
};

/* --- files ---------------------------------------------------------------- */

/* A path below root. */
static const char *at_root(const struct util_probe *p, char *out,
                           const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static const char *at_root(const struct util_probe *p, char *out,
                           const char *fmt, ...)
{
    int n = snprintf(out, PATH_MAX, "%s", p->step.root);
    va_list args;

    va_start(args, fmt);
    if (n >= 0 && n < PATH_MAX)
        vsnprintf(out + n, (size_t) (PATH_MAX - n), fmt, args);
    va_end(args);
    return out;
}

/* "" where there is none: readers find nothing in it. */
static const char *text_of(struct util_probe *p, const char *path)
{
    return util_read_file(path, p->text, sizeof(p->text), NULL) ?: "";
}

static const char *kernel_text(struct util_probe *p, const char *name)
{
    char path[PATH_MAX];

    return text_of(p, at_root(p, path, "/%s", name));
}

/* --- rates ---------------------------------------------------------------- */

/* Growth a second, of counts of `unit` seconds or bytes. */
static double rate(const struct util_probe *p, struct util_counter *counter,
                   uint64_t now, double unit)
{
    return util_rate(counter, now, unit, p->dt);
}

/* Of a time in microseconds: the share of the time that passed. */
static double share(const struct util_probe *p, struct util_counter *counter,
                    uint64_t now_us)
{
    double s = rate(p, counter, now_us, 1e-6);

    return s > 1 ? 1 : s; /* the files are read one after another */
}

/* Adds what is known. */
static void plus(double *sum, double v)
{
    if (!isnan(v))
        *sum = isnan(*sum) ? v : *sum + v;
}

/* --- the node ------------------------------------------------------------- */

/* Interfaces of hardware; where there is none (a container), all but loopback.
 */
struct devices {
    const struct util_probe *probe;
    bool any;
};

static bool is_hardware(void *arg, const char *device)
{
    const struct devices *d = arg;
    char path[PATH_MAX];

    if (strcmp(device, "lo") == 0 || strchr(device, '/'))
        return false;
    return d->any ||
           access(at_root(d->probe, path, "/sys/class/net/%s/device", device),
                  F_OK) == 0;
}

/* Whole disks: neither partitions nor what lies on top of other disks. */
static bool is_disk(void *arg, const char *device)
{
    static const char *const above[] = {"loop", "ram", "dm-", "md", "zram"};
    const struct devices *d = arg;
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(above) / sizeof(*above); i++)
        if (strncmp(device, above[i], strlen(above[i])) == 0)
            return false;
    return !strchr(device, '/') &&
           access(at_root(d->probe, path, "/sys/block/%s", device), F_OK) == 0;
}

static void take_cpu(struct util_probe *p, struct util_row *row)
{
    double tick = 1 / p->ticks_s, user, system, iowait, steal;
    struct util_cpu cpu;

    if (!util_read_stat(kernel_text(p, "proc/stat"), &cpu))
        return;
    user = rate(p, &p->user, cpu.user, tick) +
           rate(p, &p->nice, cpu.nice, tick);
    system = rate(p, &p->system, cpu.system, tick) +
             rate(p, &p->irq, cpu.irq, tick) +
             rate(p, &p->softirq, cpu.softirq, tick);
    iowait = rate(p, &p->iowait, cpu.iowait, tick);
    steal = rate(p, &p->steal, cpu.steal, tick);
    row->v[NODE_CPUS] = util_known(cpu.n);
    row->v[NODE_USER] = user;
    row->v[NODE_SYSTEM] = system;
    row->v[NODE_BUSY] = user + system;
    row->v[NODE_IOWAIT] = iowait;
    row->v[NODE_STEAL] = steal;
    row->v[NODE_RUNNING] = util_known(cpu.running);
}

static void take_memory(struct util_probe *p, struct util_row *row)
{
    struct util_memory m;

    util_read_meminfo(kernel_text(p, "proc/meminfo"), &m);
    row->v[NODE_MEMORY_TOTAL] = util_known(m.total);
    if (m.total != UTIL_NONE && m.available <= m.total)
        row->v[NODE_MEMORY_USED] = (double) (m.total - m.available);
    if (m.swap_total != UTIL_NONE && m.swap_free <= m.swap_total)
        row->v[NODE_SWAP_USED] = (double) (m.swap_total - m.swap_free);
    row->v[NODE_MAJOR_FAULTS] =
        rate(p, &p->faults,
             util_find(kernel_text(p, "proc/vmstat"), "pgmajfault"), 1);
}

static void take_traffic(struct util_probe *p, struct util_row *row)
{
    struct devices devices = {p, false};
    struct util_traffic t;
    const char *text = kernel_text(p, "proc/net/dev");

    util_read_netdev(text, is_hardware, &devices, &t);
    if (t.in == UTIL_NONE) {
        devices.any = true;
        util_read_netdev(text, is_hardware, &devices, &t);
    }
    row->v[NODE_NET_IN] = rate(p, &p->net_in, t.in, 1);
    row->v[NODE_NET_OUT] = rate(p, &p->net_out, t.out, 1);
    util_read_diskstats(kernel_text(p, "proc/diskstats"), is_disk, &devices,
                        &t);
    row->v[NODE_DISK_READ] = rate(p, &p->disk_in, t.in, 1);
    row->v[NODE_DISK_WRITE] = rate(p, &p->disk_out, t.out, 1);
}

static double pressure(struct util_probe *p, const char *path,
                       struct util_counter *counter)
{
    struct util_pressure wait;

    util_read_pressure(text_of(p, path), &wait);
    return share(p, counter, wait.some_us);
}

static void take_node(struct util_probe *p, uint64_t agent_us,
                      struct util_row *row)
{
    char path[PATH_MAX];

    take_cpu(p, row);
    take_memory(p, row);
    take_traffic(p, row);
    row->v[NODE_CPU_PRESSURE] =
        pressure(p, at_root(p, path, "/proc/pressure/cpu"), &p->cpu_wait);
    row->v[NODE_MEMORY_PRESSURE] =
        pressure(p, at_root(p, path, "/proc/pressure/memory"), &p->memory_wait);
    row->v[NODE_IO_PRESSURE] =
        pressure(p, at_root(p, path, "/proc/pressure/io"), &p->io_wait);
    row->v[NODE_AGENT] = rate(p, &p->agent, agent_us, 1e-6);
}

/* --- the tasks ------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct other *) a)->pid,
             y = ((const struct other *) b)->pid;

    return (x > y) - (x < y);
}

static bool is_known(const struct util_probe *p, uint64_t pid)
{
    for (size_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].pid == pid)
            return true;
    return false;
}

/* Whether the process is the step's; then its rank. A helper of jobprof's for a
 * task has the task's variables. */
static bool is_ours(struct util_probe *p, uint64_t pid, uint32_t *rank)
{
    char path[PATH_MAX], name[64];
    struct stat st;
    size_t len = 0;

    if (stat(at_root(p, path, "/proc/%llu", (unsigned long long) pid), &st) <
            0 ||
        st.st_uid != p->step.uid)
        return false;
    at_root(p, path, "/proc/%llu/environ", (unsigned long long) pid);
    if (!util_read_file(path, p->text, sizeof(p->text), &len) ||
        !util_is_task(p->text, len, p->job, p->step.step, p->step.node, rank))
        return false;
    at_root(p, path, "/proc/%llu/comm", (unsigned long long) pid);
    return !util_read_file(path, name, sizeof(name), &len) ||
           strncmp(name, "jobprof", 7) != 0;
}

static int add_process(struct util_probe *p, uint64_t pid, uint32_t rank,
                       struct jp_error *err)
{
    struct process *more =
        realloc(p->processes, (p->n_processes + 1) * sizeof(*more));

    if (!more)
        return error_set(err, "out of memory");
    p->processes = more;
    more[p->n_processes++] =
        (struct process){.pid = pid, .rank = rank, .start = UTIL_NONE};
    return 0;
}

static int add_other(struct util_probe *p, uint64_t pid, struct jp_error *err)
{
    struct other *more;

    if (p->n_others >= PROCESSES_MAX)
        return 0;
    more = realloc(p->others, (p->n_others + 1) * sizeof(*more));
    if (!more)
        return error_set(err, "out of memory");
    p->others = more;
    more[p->n_others++] =
        (struct other){.pid = pid, .looks = 1, .is_there = true};
    return 0;
}

/* Forgets those that are gone. */
static void forget_others(struct util_probe *p)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->n_others; i++)
        if (p->others[i].is_there) {
            p->others[kept] = p->others[i];
            p->others[kept++].is_there = false;
        }
    p->n_others = kept;
}

/* A process that was met; so many of the others are sorted. */
static int look_at(struct util_probe *p, uint64_t pid, size_t sorted,
                   bool again, struct jp_error *err)
{
    struct other key = {.pid = pid}, *other = NULL;
    uint32_t rank;

    if (is_known(p, pid))
        return 0;
    if (sorted)
        other = bsearch(&key, p->others, sorted, sizeof(key), by_number);
    if (other) {
        other->is_there = true;
        if (other->looks >= LOOKS && !again)
            return 0;
        other->looks++;
    }
    if (is_ours(p, pid, &rank))
        return p->n_processes < PROCESSES_MAX ? add_process(p, pid, rank, err)
                                              : 0;
    return other ? 0 : add_other(p, pid, err);
}

static int scan_processes(struct util_probe *p, struct jp_error *err)
{
    char path[PATH_MAX];
    DIR *proc = opendir(at_root(p, path, "/proc"));
    bool again = p->samples % AGAIN_EVERY == 0;
    size_t sorted = p->n_others;
    struct dirent *entry;
    uint64_t pid;
    int rc = 0;

    while (rc == 0 && proc && (entry = readdir(proc)))
        if (isdigit((unsigned char) *entry->d_name) &&
            num_parse_u64(entry->d_name, 1, UINT32_MAX, &pid, NULL) == 0)
            rc = look_at(p, pid, sorted, again, err);
    if (proc)
        closedir(proc);
    forget_others(p);
    if (p->n_others)
        qsort(p->others, p->n_others, sizeof(*p->others), by_number);
    return rc;
}

/* The task of this rank. One that begins between two samples has counted from
 * zero since the first of them. */
static struct task *find_task(struct util_probe *p, uint32_t rank)
{
    struct task *more;

    for (size_t i = 0; i < p->n_tasks; i++)
        if (p->tasks[i].rank == rank)
            return &p->tasks[i];
    more = realloc(p->tasks, (p->n_tasks + 1) * sizeof(*more));
    if (!more)
        return NULL;
    p->tasks = more;
    more = &p->tasks[p->n_tasks++];
    *more = (struct task){.rank = rank};
    for (size_t i = 0; i < SUMS; i++)
        more->last[i].last = p->samples ? 0 : UTIL_NONE;
    return more;
}

static void add_sum(struct task *task, int which, uint64_t n)
{
    if (n == UTIL_NONE || task->sum[which] == UTIL_NONE)
        task->sum[which] = UTIL_NONE;
    else
        task->sum[which] = num_add(task->sum[which], n);
}

/* How many processors a list ("0-3,8") names; they are added to all. */
static double add_list(struct util_probe *p, const char *list)
{
    uint64_t from, to, n = 0;
    char *end;

    list += strspn(list, " \t");
    for (; isdigit((unsigned char) *list); list = *end == ',' ? end + 1 : end) {
        from = to = strtoull(list, &end, 10);
        if (*end == '-')
            to = strtoull(end + 1, &end, 10);
        if (to < from || to >= CPUS_MAX)
            return NAN;
        n += to - from + 1;
        for (; from <= to; from++)
            p->cpus[from / 64] |= UINT64_C(1) << from % 64;
    }
    return n ? (double) n : NAN;
}

static void add_status(struct util_probe *p, struct task *task,
                       const char *folder)
{
    struct util_row *row = &task->row;
    char path[PATH_MAX];
    const char *text, *list;
    uint64_t kb;

    snprintf(path, sizeof(path), "%.4000s/status", folder);
    text = text_of(p, path);
    if ((kb = util_find(text, "VmRSS:")) != UTIL_NONE)
        plus(&row->v[TASK_MEMORY], (double) kb * 1024);
    if ((kb = util_find(text, "VmHWM:")) != UTIL_NONE)
        plus(&row->v[TASK_MEMORY_PEAK], (double) kb * 1024);
    add_sum(task, SWITCHES, util_find(text, "nonvoluntary_ctxt_switches:"));
    list = strstr(text, "\nCpus_allowed_list:");
    if (list)
        row->v[TASK_CPUS] = fmax(row->v[TASK_CPUS], add_list(p, list + 19));
}

static void add_io(struct util_probe *p, struct task *task, const char *folder)
{
    char path[PATH_MAX];
    const char *text;

    snprintf(path, sizeof(path), "%.4000s/io", folder);
    text = text_of(p, path);
    add_sum(task, READ, util_find(text, "read_bytes:"));
    add_sum(task, WRITE, util_find(text, "write_bytes:"));
    add_sum(task, READ_CALLS, util_find(text, "rchar:"));
    add_sum(task, WRITE_CALLS, util_find(text, "wchar:"));
}

/* "ran waited slices", of the first thread, times in ns
 * (Documentation/scheduler/sched-stats.rst). */
static void add_wait(struct util_probe *p, struct task *task,
                     const char *folder)
{
    char path[PATH_MAX];
    const char *text;

    snprintf(path, sizeof(path), "%.4000s/schedstat", folder);
    text = text_of(p, path);
    text += strcspn(text, " ");
    add_sum(task, WAIT_NS, util_number(text));
}

/* Adds one process to its task. False: it is gone. */
static bool add_to_task(struct util_probe *p, struct process *process)
{
    struct util_process now;
    struct task *task;
    char folder[PATH_MAX], path[PATH_MAX];

    at_root(p, folder, "/proc/%llu", (unsigned long long) process->pid);
    snprintf(path, sizeof(path), "%.4000s/stat", folder);
    if (!util_read_process(text_of(p, path), &now) ||
        (process->start != UTIL_NONE && process->start != now.start) ||
        !(task = find_task(p, process->rank)))
        return false;
    process->start = now.start;
    if (task->row.samples == 0) {
        util_row_init(&task->row, 0, 0, "");
        memset(task->sum, 0, sizeof(task->sum));
    }
    plus(&task->row.v[TASK_PROCESSES], 1);
    plus(&task->row.v[TASK_THREADS], (double) now.threads);
    add_sum(task, USER, now.user);
    add_sum(task, SYSTEM, now.system);
    add_sum(task, MINOR, now.minor_faults);
    add_sum(task, MAJOR, now.major_faults);
    add_status(p, task, folder);
    add_io(p, task, folder);
    add_wait(p, task, folder);
    return true;
}

static void finish_task(struct util_probe *p, struct task *task)
{
    static const enum util_task_column columns[SUMS] = {
        TASK_USER,     TASK_SYSTEM,  TASK_MINOR_FAULTS, TASK_MAJOR_FAULTS,
        TASK_READ,     TASK_WRITE,   TASK_READ_CALLS,   TASK_WRITE_CALLS,
        TASK_CPU_WAIT, TASK_SWITCHES};

    for (size_t i = 0; i < SUMS; i++)
        task->row.v[columns[i]] = rate(p, &task->last[i], task->sum[i],
                                       i == USER || i == SYSTEM ? 1 / p->ticks_s
                                       : i == WAIT_NS           ? 1e-9
                                                                : 1);
    if (task->row.v[TASK_CPU_WAIT] > 1) /* of several processes */
        task->row.v[TASK_CPU_WAIT] = 1;
}

static int take_tasks(struct util_probe *p, struct jp_error *err)
{
    size_t kept = 0;

    if (p->samples % SCAN_EVERY == 0 || p->n_processes == 0)
        if (scan_processes(p, err) < 0)
            return -1;
    memset(p->cpus, 0, sizeof(p->cpus));
    for (size_t i = 0; i < p->n_tasks; i++)
        p->tasks[i].row.samples = 0;
    for (size_t i = 0; i < p->n_processes; i++)
        if (add_to_task(p, &p->processes[i]))
            p->processes[kept++] = p->processes[i];
    p->n_processes = kept;
    for (size_t i = 0; i < p->n_tasks; i++)
        if (p->tasks[i].row.samples)
            finish_task(p, &p->tasks[i]);
    return 0;
}

/* --- the step ------------------------------------------------------------- */

static const char *step_file(const struct util_probe *p, int which,
                             const char *name, char *path)
{
    snprintf(path, PATH_MAX, "%.4000s/%s", p->cgroup[which], name);
    return path;
}

/* Where the step's cgroup is, by that of one of its tasks. */
static void find_cgroup(struct util_probe *p)
{
    static const char *const v1[] = {"cpuacct", "memory", "blkio", "cpu"};
    char path[PATH_MAX], step[2048];
    const char *text;

    if (p->n_processes == 0)
        return;
    text = text_of(p, at_root(p, path, "/proc/%llu/cgroup",
                              (unsigned long long) p->processes[0].pid));
    p->version = CGROUP_NONE;
    if (util_cgroup_step(text, "", step, sizeof(step))) {
        at_root(p, p->cgroup[0], "/sys/fs/cgroup%s", step);
        if (access(step_file(p, 0, "cpu.stat", path), R_OK) == 0)
            p->version = CGROUP_2;
    }
    for (int i = 0; i < 4 && p->version != CGROUP_2; i++) {
        p->cgroup[i][0] = '\0';
        if (util_cgroup_step(text, v1[i], step, sizeof(step))) {
            at_root(p, p->cgroup[i], "/sys/fs/cgroup/%s%s", v1[i], step);
            p->version = CGROUP_1;
        }
    }
}

static uint64_t step_number(struct util_probe *p, int which, const char *name)
{
    char path[PATH_MAX];

    return util_number(text_of(p, step_file(p, which, name, path)));
}

/* A limit that no machine reaches is none. */
static double limit_of(uint64_t bytes)
{
    return bytes >= UINT64_C(1) << 60 ? NAN : (double) bytes;
}

static void take_cgroup2(struct util_probe *p, struct util_row *row)
{
    struct util_traffic io;
    char path[PATH_MAX];
    const char *text = text_of(p, step_file(p, 0, "cpu.stat", path));

    row->v[TASK_USER] =
        rate(p, &p->step_user, util_find(text, "user_usec"), 1e-6);
    row->v[TASK_SYSTEM] =
        rate(p, &p->step_system, util_find(text, "system_usec"), 1e-6);
    row->v[TASK_THROTTLED] =
        share(p, &p->step_throttled, util_find(text, "throttled_usec"));
    row->v[TASK_MEMORY] = util_known(step_number(p, 0, "memory.current"));
    row->v[TASK_MEMORY_PEAK] = util_known(step_number(p, 0, "memory.peak"));
    row->v[TASK_MEMORY_LIMIT] = limit_of(step_number(p, 0, "memory.max"));
    text = text_of(p, step_file(p, 0, "memory.stat", path));
    row->v[TASK_MAJOR_FAULTS] =
        rate(p, &p->step_major, util_find(text, "pgmajfault"), 1);
    util_read_iostat(text_of(p, step_file(p, 0, "io.stat", path)), &io);
    row->v[TASK_READ] = rate(p, &p->step_in, io.in, 1);
    row->v[TASK_WRITE] = rate(p, &p->step_out, io.out, 1);
    row->v[TASK_CPU_PRESSURE] =
        pressure(p, step_file(p, 0, "cpu.pressure", path), &p->step_cpu_wait);
    row->v[TASK_MEMORY_PRESSURE] = pressure(
        p, step_file(p, 0, "memory.pressure", path), &p->step_memory_wait);
    row->v[TASK_IO_PRESSURE] =
        pressure(p, step_file(p, 0, "io.pressure", path), &p->step_io_wait);
}

static void take_cgroup1(struct util_probe *p, struct util_row *row)
{
    struct util_traffic io;
    uint64_t throttled_ns;
    char path[PATH_MAX];
    const char *text = text_of(p, step_file(p, 0, "cpuacct.stat", path));
    double tick = 1 / p->ticks_s;

    row->v[TASK_USER] = rate(p, &p->step_user, util_find(text, "user"), tick);
    row->v[TASK_SYSTEM] =
        rate(p, &p->step_system, util_find(text, "system"), tick);
    row->v[TASK_MEMORY] =
        util_known(step_number(p, 1, "memory.usage_in_bytes"));
    row->v[TASK_MEMORY_PEAK] =
        util_known(step_number(p, 1, "memory.max_usage_in_bytes"));
    row->v[TASK_MEMORY_LIMIT] =
        limit_of(step_number(p, 1, "memory.limit_in_bytes"));
    text = text_of(p, step_file(p, 1, "memory.stat", path));
    row->v[TASK_MAJOR_FAULTS] =
        rate(p, &p->step_major, util_find(text, "total_pgmajfault"), 1);
    util_read_iostat(
        text_of(p, step_file(p, 2, "blkio.throttle.io_service_bytes", path)),
        &io);
    row->v[TASK_READ] = rate(p, &p->step_in, io.in, 1);
    row->v[TASK_WRITE] = rate(p, &p->step_out, io.out, 1);
    throttled_ns = util_find(text_of(p, step_file(p, 3, "cpu.stat", path)),
                             "throttled_time");
    row->v[TASK_THROTTLED] =
        share(p, &p->step_throttled,
              throttled_ns == UTIL_NONE ? UTIL_NONE : throttled_ns / 1000);
}

static double count_cpus(const struct util_probe *p)
{
    unsigned n = 0;

    for (size_t i = 0; i < sizeof(p->cpus) / sizeof(*p->cpus); i++)
        n += (unsigned) __builtin_popcountll(p->cpus[i]);
    return n ? n : NAN;
}

/* What the cgroup does not tell is the sum of the tasks. */
static void take_step(struct util_probe *p, struct util_row *row)
{
    struct util_row sum;

    util_row_init(&sum, 0, 0, "");
    for (size_t i = 0; i < p->n_tasks; i++)
        for (size_t c = 0; c < TASK_COLUMNS && p->tasks[i].row.samples; c++)
            plus(&sum.v[c], p->tasks[i].row.v[c]);
    sum.v[TASK_MEMORY_PEAK] = NAN; /* not at the same time */
    sum.v[TASK_CPU_WAIT] = NAN;    /* a share is a task's own */
    sum.v[TASK_CPUS] = count_cpus(p);
    /* a task may be moved after it has begun */
    if (p->version == CGROUP_UNKNOWN ||
        (p->version == CGROUP_NONE && p->samples % AGAIN_CGROUP == 0))
        find_cgroup(p);
    if (p->version == CGROUP_2)
        take_cgroup2(p, row);
    else if (p->version == CGROUP_1)
        take_cgroup1(p, row);
    for (size_t c = 0; c < TASK_COLUMNS; c++)
        if (isnan(row->v[c]))
            row->v[c] = sum.v[c];
}

/* --- all ------------------------------------------------------------------ */

struct util_probe *util_probe_create(const struct util_step *step)
{
    struct util_probe *p = calloc(1, sizeof(*p));
    struct util_counter *const node[] = {
        &p->user,           &p->nice,          &p->system,
        &p->iowait,         &p->irq,           &p->softirq,
        &p->steal,          &p->faults,        &p->net_in,
        &p->net_out,        &p->disk_in,       &p->disk_out,
        &p->cpu_wait,       &p->memory_wait,   &p->io_wait,
        &p->agent,          &p->step_user,     &p->step_system,
        &p->step_throttled, &p->step_major,    &p->step_in,
        &p->step_out,       &p->step_cpu_wait, &p->step_memory_wait,
        &p->step_io_wait};

    if (!p)
        return NULL;
    for (size_t i = 0; i < sizeof(node) / sizeof(*node); i++)
        node[i]->last = UTIL_NONE;
    p->step = *step;
    snprintf(p->job, sizeof(p->job), "%llu", (unsigned long long) step->job);
    p->ticks_s = (double) sysconf(_SC_CLK_TCK);
    p->ports = util_ports_create(step->root);
    if (p->ports)
        return p;
    util_probe_destroy(p);
    return NULL;
}

void util_probe_destroy(struct util_probe *p)
{
    if (p) {
        free(p->processes);
        free(p->others);
        free(p->tasks);
        util_ports_destroy(p->ports);
    }
    free(p);
}

int util_probe_take(struct util_probe *p, uint64_t t_us, uint64_t mono_us,
                    uint64_t agent_us, util_put *put, void *arg,
                    struct jp_error *err)
{
    struct util_row row;
    char id[UTIL_ID_MAX];
    int rc;

    p->dt = p->samples && mono_us > p->last_mono_us
                ? (double) (mono_us - p->last_mono_us) * 1e-6
                : 0;
    util_row_init(&row, t_us, mono_us, "node");
    take_node(p, agent_us, &row);
    if (put(arg, UTIL_NODE, &row, err) < 0 || take_tasks(p, err) < 0)
        return -1;
    util_row_init(&row, t_us, mono_us, "step");
    take_step(p, &row);
    rc = put(arg, UTIL_TASK, &row, err);
    for (size_t i = 0; i < p->n_tasks && rc == 0; i++) {
        if (!p->tasks[i].row.samples)
            continue;
        row = p->tasks[i].row;
        row.t_us = t_us;
        row.mono_us = mono_us;
        snprintf(id, sizeof(id), "%u", p->tasks[i].rank);
        memcpy(row.id, id, sizeof(id));
        rc = put(arg, UTIL_TASK, &row, err);
    }
    for (size_t i = 0; rc == 0 && util_ports_take(p->ports, i, p->dt, &row);
         i++) {
        row.t_us = t_us;
        row.mono_us = mono_us;
        rc = put(arg, UTIL_PORT, &row, err);
    }
    p->samples++;
    p->last_mono_us = mono_us;
    return rc;
}

void util_probe_pids(const struct util_probe *p, struct util_pids *out)
{
    out->n = (uint32_t) p->n_processes;
    for (size_t i = 0; i < p->n_processes && i < UTIL_PIDS_MAX; i++)
        out->pid[i] = (uint32_t) p->processes[i].pid;
}

size_t util_probe_tasks(const struct util_probe *p)
{
    return p->n_tasks;
}
