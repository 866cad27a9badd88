/* util_probe.c - a sample of one node and one step: read the kernel's files
 * once, and turn counters into rates.
 *
 * util_probe_take is a sample: the node, the step (its cgroup, or the sum of
 * its tasks), each task (util_tasks.c), and the ports of InfiniBand and RoCE
 * adapters. The counters whose rates are made are members of struct util_probe,
 * and so are the files that stay open because each sample reads them. */
#include "plugins/util/util_probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/num.h"
#include "common/ownproc.h"
#include "common/vector.h"
#include "plugins/util/util_gpu.h"
#include "common/procfs.h"
#include "plugins/util/util_rows.h"

/* The files of a port in sysfs. */
enum port_file {
    FILE_RATE,
    FILE_STATE,
    FILE_IN,
    FILE_OUT,
    FILE_WAIT,
    FILE_DOWNED,
    FILE_ERRORS, /* the first of five that are added up */
    PORT_FILES = FILE_ERRORS + 5
};

/* A port, with the last values of its counters. */
struct port {
    char id[UTIL_ID_MAX];
    char path[PATH_MAX];
    int fd[PORT_FILES];
    struct util_counter in, out, wait, errors, downed;
};

/* All ports of the node. */
struct util_ports {
    struct procfs_reader *reader;
    struct port *ports;
    size_t n;
};

#define PORTS_MAX 64
#define PORTS_OPEN 16 /* the files of this many ports stay open */

static const char *const file_names[PORT_FILES] = {
    [FILE_RATE] = "rate",
    [FILE_STATE] = "state",
    [FILE_IN] = "counters/port_rcv_data",
    [FILE_OUT] = "counters/port_xmit_data",
    [FILE_WAIT] = "counters/port_xmit_wait",
    [FILE_DOWNED] = "counters/link_downed",
    [FILE_ERRORS] = "counters/symbol_error",
    "counters/port_rcv_errors",
    "counters/port_xmit_discards",
    "counters/link_error_recovery",
    "counters/local_link_integrity_errors"};

/* Whether the name can be part of a row and of a path. */
static bool is_plain(const char *name)
{
    return *name && *name != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789_-.") == strlen(name);
}

#define DEVICES_MAX 64
#define KEPT_MAX 32 /* files that stay open */

/* CGROUP_UNKNOWN: no task has been seen yet. */
enum cgroup_version { CGROUP_UNKNOWN, CGROUP_NONE, CGROUP_1, CGROUP_2 };

/* Whether a network interface or a disk counts, which is determined once. */
struct device {
    char name[32];
    bool is_disk, counts;
};

/* --- the node ------------------------------------------------------------- */

/* The argument of is_hardware. any: all interfaces except loopback count, as in
 * a container, which shows none of hardware. */
struct devices {
    struct util_probe *probe;
    bool any;
};

/* A file of the node or the step that is read in each sample and stays open. */
struct kept {
    const char *folder, *name; /* name NULL: the place is free */
    int fd;
};

struct util_probe {
    struct util_step step;
    double ticks_s;
    uint64_t samples, last_mono_us; /* their number; time of the last one */
    double dt; /* seconds since the last sample; 0: this is the first */
    /* the node */
    struct util_counter user, nice, system, iowait, irq, softirq, steal;
    struct util_counter faults, net_in, net_out, disk_in, disk_out;
    struct util_counter cpu_wait, memory_wait, io_wait, agent;
    struct util_tasks *tasks;
    struct util_tasks_now now; /* of the last sample */
    /* the step */
    enum cgroup_version version;
    char cgroup[4][PATH_MAX]; /* v1: cpuacct, memory, blkio, cpu; v2: only the
                                 first */
    struct util_counter step_user, step_system, step_throttled, step_major;
    struct util_counter step_in, step_out, step_cpu_wait, step_memory_wait;
    struct util_counter step_io_wait;
    struct util_ports *ports;
    struct device devices[DEVICES_MAX];
    size_t n_devices;
    struct kept kept[KEPT_MAX];
    struct procfs_reader reader;
};

static bool sysfs_has(struct util_probe *p, const char *device, bool is_disk,
                      const char *path);

/* Whole disks: neither partitions nor devices on top of other disks, which
 * would count everything twice. */
static bool is_disk(void *arg, const char *device)
{
    /* loop devices, RAM disks, device mapper, software RAID, compressed RAM */
    static const char *const above[] = {"loop", "ram", "dm-", "md", "zram"};
    const struct devices *d = arg;
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(above) / sizeof(*above); i++)
        if (strncmp(device, above[i], strlen(above[i])) == 0)
            return false;
    if (strchr(device, '/'))
        return false;
    procfs_reader_path(&d->probe->reader, path, "/sys/block/%s", device);
    return sysfs_has(d->probe, device, true, path);
}

/* Whether sysfs has the path. The result is kept for the device's name: names
 * do not change while a step runs, and new ones are looked up. */
static bool sysfs_has(struct util_probe *p, const char *device, bool is_disk,
                      const char *path)
{
    struct device *at;

    for (size_t i = 0; i < p->n_devices; i++)
        if (p->devices[i].is_disk == is_disk &&
            strcmp(p->devices[i].name, device) == 0)
            return p->devices[i].counts;
    /* no place to remember it: look each time */
    if (p->n_devices == DEVICES_MAX || strlen(device) >= sizeof(at->name))
        return access(path, F_OK) == 0;
    at = &p->devices[p->n_devices++];
    *at =
        (struct device){.is_disk = is_disk, .counts = access(path, F_OK) == 0};
    memcpy(at->name, device, strlen(device) + 1);
    return at->counts;
}

/* Adds a port. Without memory it is left out. */
static void add_port(struct util_ports *p, const char *device, const char *name)
{
    static const struct util_counter unset = {PROCFS_NONE};
    struct port *more = VECTOR_DOUBLE_ADD(p->ports, p->n);

    if (!more)
        return;
    *more = (struct port){.in = unset,
                          .out = unset,
                          .wait = unset,
                          .errors = unset,
                          .downed = unset};
    snprintf(more->id, sizeof(more->id), "%.30s/%.10s", device, name);
    snprintf(more->path, sizeof(more->path),
             "%s/sys/class/infiniband/%.255s/ports/%.255s", p->reader->root,
             device, name);
    for (size_t i = 0; i < PORT_FILES; i++)
        more->fd[i] = -1;
}

/* Adds the ports of an adapter. */
static void add_device(struct util_ports *p, const char *device)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *ports;

    procfs_reader_path(p->reader, path, "/sys/class/infiniband/%.255s/ports",
                       device);
    ports = opendir(path);
    while (ports && (entry = readdir(ports)))
        if (is_plain(entry->d_name) && p->n < PORTS_MAX)
            add_port(p, device, entry->d_name);
    if (ports)
        closedir(ports);
}

/* The ports that exist now; later ones are not seen. Returns NULL without
 * memory. */
static struct util_ports *ports_create(struct procfs_reader *reader)
{
    struct util_ports *p = calloc(1, sizeof(*p));
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *devices;

    if (!p)
        return NULL;
    p->reader = reader;
    devices =
        opendir(procfs_reader_path(reader, path, "/sys/class/infiniband"));
    while (devices && (entry = readdir(devices)))
        if (is_plain(entry->d_name))
            add_device(p, entry->d_name);
    if (devices)
        closedir(devices);
    return p;
}

static void ports_destroy(struct util_ports *p)
{
    for (size_t i = 0; p && i < p->n; i++)
        for (size_t k = 0; k < PORT_FILES; k++)
            if (p->ports[i].fd[k] >= 0)
                close(p->ports[i].fd[k]);
    if (p)
        free(p->ports);
    free(p);
}

/* The first number in a port's file; PROCFS_NONE: there is none. */
static uint64_t number_of(const struct util_ports *p, struct port *port,
                          unsigned file)
{
    bool stays = port < p->ports + PORTS_OPEN;
    char path[PATH_MAX], text[128];
    const char *found;

    snprintf(path, sizeof(path), "%.4000s/%s", port->path, file_names[file]);
    found =
        stays ? procfs_reader_again(p->reader, &port->fd[file], AT_FDCWD, path)
              : procfs_read_file(path, text, sizeof(text), NULL);
    return procfs_number(found ?: "");
}

/* Sum of the error counters that the adapter has; PROCFS_NONE: it has none. */
static uint64_t errors_of(const struct util_ports *p, struct port *port)
{
    uint64_t sum = PROCFS_NONE;

    for (unsigned i = FILE_ERRORS; i < PORT_FILES; i++) {
        uint64_t n = number_of(p, port, i);

        if (n != PROCFS_NONE)
            sum = num_add(sum == PROCFS_NONE ? 0 : sum, n);
    }
    return sum;
}

/* Reads port i, dt seconds after the last time (0: the first time). false:
 * there are no more ports. Counters of data are in units of four bytes
 * (Documentation/ABI/stable/sysfs-class-infiniband). */
static bool take_port(struct util_ports *p, size_t i, double dt,
                      struct util_row *row)
{
    struct port *port;
    uint64_t gbit, state;

    if (i >= p->n)
        return false;
    port = &p->ports[i];
    /* the files hold text after the number */
    gbit = number_of(p, port, FILE_RATE);   /* "200 Gb/sec (4X HDR)" */
    state = number_of(p, port, FILE_STATE); /* "4: ACTIVE" */
    util_row_init(row, 0, 0, port->id);
    row->v[PORT_IN] = util_rate(&port->in, number_of(p, port, FILE_IN), 4, dt);
    row->v[PORT_OUT] =
        util_rate(&port->out, number_of(p, port, FILE_OUT), 4, dt);
    row->v[PORT_WAIT] =
        util_rate(&port->wait, number_of(p, port, FILE_WAIT), 1, dt);
    row->v[PORT_ERRORS] = util_rate(&port->errors, errors_of(p, port), 1, dt);
    row->v[PORT_DOWNED] =
        util_rate(&port->downed, number_of(p, port, FILE_DOWNED), 1, dt);
    /* Gbit/s in bytes per second */
    row->v[PORT_RATE] = util_known(gbit) * 1e9 / 8;
    row->v[PORT_UP] = state == PROCFS_NONE ? NAN : state == 4;
    return true;
}

/* Samples between two searches for a cgroup that was not found. */
#define AGAIN_CGROUP 5

/* --- rates ---------------------------------------------------------------- */

/* Growth per second of a counter in steps of `unit`. */
static double rate(const struct util_probe *p, struct util_counter *counter,
                   uint64_t now, double unit)
{
    return util_rate(counter, now, unit, p->dt);
}

/* Growth of a time in microseconds as a share of the time that passed. */
static double share(const struct util_probe *p, struct util_counter *counter,
                    uint64_t now_us)
{
    double s = rate(p, counter, now_us, 1e-6);

    return s > 1 ? 1 : s; /* files are read one after another, so the times
                             differ slightly */
}

/* The file's place among those that stay open; NULL: all places are in use.
 * Folders are compared by address: callers always pass the same buffer for a
 * folder. */
static struct kept *find_kept(struct util_probe *p, const char *folder,
                              const char *name)
{
    for (size_t i = 0; i < KEPT_MAX; i++) {
        struct kept *kept = &p->kept[i];

        if (!kept->name)
            *kept = (struct kept){folder, name, -1};
        if (kept->folder == folder && strcmp(kept->name, name) == 0)
            return kept;
    }
    return NULL;
}

/* The text of the file <folder>/<name>, which stays open between samples.
 * Borrowed until the next text; "" if the file cannot be read. */
static const char *kept_text(struct util_probe *p, const char *folder,
                             const char *name)
{
    struct kept *kept = find_kept(p, folder, name);
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.4000s/%s", folder, name);
    return kept ? procfs_reader_again(&p->reader, &kept->fd, AT_FDCWD, path)
                : procfs_reader_text(&p->reader, path);
}

/* A file of the node, for instance "proc/stat". */
static const char *kernel_text(struct util_probe *p, const char *name)
{
    return kept_text(p, p->step.root, name);
}

/* Interfaces of hardware have a device in sysfs; bridges and tunnels have
 * not. */
static bool is_hardware(void *arg, const char *device)
{
    const struct devices *d = arg;
    char path[PATH_MAX];

    /* a name with a slash would leave the folder */
    if (strcmp(device, "lo") == 0 || strchr(device, '/'))
        return false;
    if (d->any)
        return true;
    procfs_reader_path(&d->probe->reader, path, "/sys/class/net/%s/device",
                       device);
    return sysfs_has(d->probe, device, false, path);
}

/* Rates are cores: seconds of processor time per second. */
static void take_cpu(struct util_probe *p, struct util_row *row)
{
    double tick = 1 / p->ticks_s, user, system, iowait, steal;
    struct procfs_cpu cpu;

    if (!procfs_read_stat(kernel_text(p, "proc/stat"), &cpu))
        return;
    /* /proc/stat keeps the time of programs with a positive nice value apart */
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
    /* time in guests is part of user; waiting for disks is idle time */
    row->v[NODE_BUSY] = user + system;
    row->v[NODE_IOWAIT] = iowait;
    row->v[NODE_STEAL] = steal;
    row->v[NODE_RUNNING] = util_known(cpu.running);
}

static void take_memory(struct util_probe *p, struct util_row *row)
{
    struct procfs_memory m;

    procfs_read_meminfo(kernel_text(p, "proc/meminfo"), &m);
    row->v[NODE_MEMORY_TOTAL] = util_known(m.total);
    /* PROCFS_NONE is larger than any total, so it fails the test */
    if (m.total != PROCFS_NONE && m.available <= m.total)
        row->v[NODE_MEMORY_USED] = (double) (m.total - m.available);
    if (m.swap_total != PROCFS_NONE && m.swap_free <= m.swap_total)
        row->v[NODE_SWAP_USED] = (double) (m.swap_total - m.swap_free);
    row->v[NODE_MAJOR_FAULTS] =
        rate(p, &p->faults,
             procfs_find(kernel_text(p, "proc/vmstat"), "pgmajfault"), 1);
}

static void take_traffic(struct util_probe *p, struct util_row *row)
{
    struct devices devices = {p, false};
    struct procfs_traffic t;
    const char *text = kernel_text(p, "proc/net/dev");

    procfs_read_netdev(text, is_hardware, &devices, &t);
    /* no interface of hardware: a container */
    if (t.in == PROCFS_NONE) {
        devices.any = true;
        procfs_read_netdev(text, is_hardware, &devices, &t);
    }
    row->v[NODE_NET_IN] = rate(p, &p->net_in, t.in, 1);
    row->v[NODE_NET_OUT] = rate(p, &p->net_out, t.out, 1);
    procfs_read_diskstats(kernel_text(p, "proc/diskstats"), is_disk, &devices,
                          &t);
    row->v[NODE_DISK_READ] = rate(p, &p->disk_in, t.in, 1);
    row->v[NODE_DISK_WRITE] = rate(p, &p->disk_out, t.out, 1);
}

/* Share of the time in which some task waited. */
static double pressure(const struct util_probe *p, const char *text,
                       struct util_counter *counter)
{
    struct procfs_pressure wait;

    procfs_read_pressure(text, &wait);
    return share(p, counter, wait.some_us);
}

static void take_node(struct util_probe *p, uint64_t agent_us,
                      struct util_row *row)
{
    take_cpu(p, row);
    take_memory(p, row);
    take_traffic(p, row);
    row->v[NODE_CPU_PRESSURE] =
        pressure(p, kernel_text(p, "proc/pressure/cpu"), &p->cpu_wait);
    row->v[NODE_MEMORY_PRESSURE] =
        pressure(p, kernel_text(p, "proc/pressure/memory"), &p->memory_wait);
    row->v[NODE_IO_PRESSURE] =
        pressure(p, kernel_text(p, "proc/pressure/io"), &p->io_wait);
    row->v[NODE_AGENT] = rate(p, &p->agent, agent_us, 1e-6);
}

/* --- the step ------------------------------------------------------------- */

/* The path of a file in the step's cgroup, into path. */
static const char *step_file(const struct util_probe *p, int which,
                             const char *name, char *path)
{
    snprintf(path, PATH_MAX, "%.4000s/%s", p->cgroup[which], name);
    return path;
}

/* Takes the step's cgroup from the text of a process's file "cgroup", if it is
 * in one. v2 is tried first; a hybrid system may have both, but then v2 has no
 * cpu.stat for us. */
static void take_cgroup(struct util_probe *p, const char *text)
{
    static const char *const v1[] = {"cpuacct", "memory", "blkio", "cpu"};
    char path[PATH_MAX], step[2048];

    p->version = CGROUP_NONE;
    if (procfs_cgroup_step(text, "", step, sizeof(step))) {
        procfs_reader_path(&p->reader, p->cgroup[0], "/sys/fs/cgroup%s", step);
        /* the cgroup exists and is visible from here */
        if (access(step_file(p, 0, "cpu.stat", path), R_OK) == 0)
            p->version = CGROUP_2;
    }
    for (int i = 0; i < 4 && p->version != CGROUP_2; i++) {
        p->cgroup[i][0] = '\0';
        if (procfs_cgroup_step(text, v1[i], step, sizeof(step))) {
            procfs_reader_path(&p->reader, p->cgroup[i], "/sys/fs/cgroup/%s%s",
                               v1[i], step);
            p->version = CGROUP_1;
        }
    }
}

/* Finds the step's cgroup by that of one of its processes: the first one that
 * is in one. A launcher may be outside of the cgroup that it makes. */
static void find_cgroup(struct util_probe *p)
{
    struct procfs_some some;

    util_tasks_some(p->tasks, &some);
    for (uint32_t i = 0; i < some.n && p->version <= CGROUP_NONE; i++) {
        const struct ownproc_name name = {.root = p->step.root,
                                          .pid = some.pid[i],
                                          .start = some.start[i],
                                          .uid = p->step.uid};
        struct ownproc proc;

        /* it has just ended */
        if (ownproc_open(&name, &proc, NULL) < 0)
            continue;
        ownproc_read(proc.dir, "cgroup", p->reader.text,
                     sizeof(p->reader.text));
        ownproc_close(&proc);
        take_cgroup(p, p->reader.text);
    }
}

static const char *step_text(struct util_probe *p, int which, const char *name)
{
    return kept_text(p, p->cgroup[which], name);
}

/* A file that holds a single number. */
static uint64_t step_number(struct util_probe *p, int which, const char *name)
{
    return procfs_number(step_text(p, which, name));
}

/* A limit of 2^60 bytes or more means "no limit"; PROCFS_NONE also becomes
 * NAN. */
static double limit_of(uint64_t bytes)
{
    return bytes >= UINT64_C(1) << 60 ? NAN : (double) bytes;
}

static void take_cgroup2(struct util_probe *p, struct util_row *row)
{
    struct procfs_traffic io;
    const char *text = step_text(p, 0, "cpu.stat");

    row->v[TASK_USER] =
        rate(p, &p->step_user, procfs_find(text, "user_usec"), 1e-6);
    row->v[TASK_SYSTEM] =
        rate(p, &p->step_system, procfs_find(text, "system_usec"), 1e-6);
    row->v[TASK_THROTTLED] =
        share(p, &p->step_throttled, procfs_find(text, "throttled_usec"));
    row->v[TASK_MEMORY] = util_known(step_number(p, 0, "memory.current"));
    row->v[TASK_MEMORY_PEAK] = util_known(step_number(p, 0, "memory.peak"));
    row->v[TASK_MEMORY_LIMIT] = limit_of(step_number(p, 0, "memory.max"));
    text = step_text(p, 0, "memory.stat");
    row->v[TASK_MAJOR_FAULTS] =
        rate(p, &p->step_major, procfs_find(text, "pgmajfault"), 1);
    procfs_read_iostat(step_text(p, 0, "io.stat"), &io);
    row->v[TASK_READ] = rate(p, &p->step_in, io.in, 1);
    row->v[TASK_WRITE] = rate(p, &p->step_out, io.out, 1);
    row->v[TASK_CPU_PRESSURE] =
        pressure(p, step_text(p, 0, "cpu.pressure"), &p->step_cpu_wait);
    row->v[TASK_MEMORY_PRESSURE] =
        pressure(p, step_text(p, 0, "memory.pressure"), &p->step_memory_wait);
    row->v[TASK_IO_PRESSURE] =
        pressure(p, step_text(p, 0, "io.pressure"), &p->step_io_wait);
}

static void take_cgroup1(struct util_probe *p, struct util_row *row)
{
    struct procfs_traffic io;
    uint64_t throttled_ns;
    const char *text = step_text(p, 0, "cpuacct.stat");
    double tick = 1 / p->ticks_s;

    row->v[TASK_USER] = rate(p, &p->step_user, procfs_find(text, "user"), tick);
    row->v[TASK_SYSTEM] =
        rate(p, &p->step_system, procfs_find(text, "system"), tick);
    row->v[TASK_MEMORY] =
        util_known(step_number(p, 1, "memory.usage_in_bytes"));
    row->v[TASK_MEMORY_PEAK] =
        util_known(step_number(p, 1, "memory.max_usage_in_bytes"));
    row->v[TASK_MEMORY_LIMIT] =
        limit_of(step_number(p, 1, "memory.limit_in_bytes"));
    text = step_text(p, 1, "memory.stat");
    row->v[TASK_MAJOR_FAULTS] =
        rate(p, &p->step_major, procfs_find(text, "total_pgmajfault"), 1);
    procfs_read_iostat(step_text(p, 2, "blkio.throttle.io_service_bytes"), &io);
    row->v[TASK_READ] = rate(p, &p->step_in, io.in, 1);
    row->v[TASK_WRITE] = rate(p, &p->step_out, io.out, 1);
    throttled_ns = procfs_find(step_text(p, 3, "cpu.stat"), "throttled_time");
    row->v[TASK_THROTTLED] =
        share(p, &p->step_throttled,
              throttled_ns == PROCFS_NONE ? PROCFS_NONE : throttled_ns / 1000);
}

/* What the cgroup does not have is taken from the sum of the tasks. */
static void take_step(struct util_probe *p, struct util_row *row)
{
    /* a task may be moved to its cgroup after it has begun */
    if (p->version == CGROUP_UNKNOWN ||
        (p->version == CGROUP_NONE && p->samples % AGAIN_CGROUP == 0))
        find_cgroup(p);
    if (p->version == CGROUP_2)
        take_cgroup2(p, row);
    else if (p->version == CGROUP_1)
        take_cgroup1(p, row);
    /* columns that the cgroup has not filled */
    for (size_t c = 0; c < TASK_COLUMNS; c++)
        if (isnan(row->v[c]))
            row->v[c] = p->now.sum.v[c];
}

/* --- all ------------------------------------------------------------------ */

struct util_probe *util_probe_create(const struct util_step *step)
{
    struct util_probe *p = calloc(1, sizeof(*p));
    /* all counters start as unknown */
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
        node[i]->last = PROCFS_NONE;
    p->step = *step;
    /* the reader must exist before ports and tasks, which borrow it */
    p->reader.root = step->root;
    p->ticks_s = (double) sysconf(_SC_CLK_TCK);
    p->ports = ports_create(&p->reader);
    p->tasks = util_tasks_create(&p->step, &p->reader);
    if (p->ports && p->tasks)
        return p;
    util_probe_destroy(p);
    return NULL;
}

static void close_kept(const struct util_probe *p)
{
    for (size_t i = 0; i < KEPT_MAX; i++)
        if (p->kept[i].name && p->kept[i].fd >= 0)
            close(p->kept[i].fd);
}

void util_probe_destroy(struct util_probe *p)
{
    if (p) {
        util_tasks_destroy(p->tasks);
        ports_destroy(p->ports);
        close_kept(p);
    }
    free(p);
}

/* t_us and mono_us are the times of all rows. */
int util_probe_take(struct util_probe *p, uint64_t t_us, uint64_t mono_us,
                    uint64_t agent_us, util_put *put, void *arg,
                    struct jp_error *err)
{
    struct util_row row;
    int rc;

    p->dt = p->samples && mono_us > p->last_mono_us
                ? (double) (mono_us - p->last_mono_us) * 1e-6
                : 0;
    util_row_init(&row, t_us, mono_us, "node");
    take_node(p, agent_us, &row);
    /* the tasks before the step, which may need their sum and one of their
     * processes */
    if (put(arg, UTIL_NODE, &row, err) < 0 ||
        util_tasks_take(p->tasks, mono_us, &p->now, err) < 0)
        return -1;
    util_row_init(&row, t_us, mono_us, "step");
    take_step(p, &row);
    rc = put(arg, UTIL_TASK, &row, err);
    if (rc == 0)
        rc = util_tasks_put(p->tasks, t_us, mono_us, put, arg, err);
    for (size_t i = 0; rc == 0 && take_port(p->ports, i, p->dt, &row); i++) {
        row.t_us = t_us;
        row.mono_us = mono_us;
        rc = put(arg, UTIL_PORT, &row, err);
    }
    p->samples++;
    p->last_mono_us = mono_us;
    return rc;
}

void util_probe_some(const struct util_probe *p, struct procfs_some *out)
{
    util_tasks_some(p->tasks, out);
}

size_t util_probe_seen(const struct util_probe *p, struct procfs_pids *out)
{
    util_tasks_pids(p->tasks, out);
    return p->now.seen;
}
