/* util_tasks.c - find a step's processes and add up what each of its tasks
 * does.
 *
 * scan_processes walks /proc and recognises the step's processes by their
 * environment; add_to_task reads a process in each sample. Where a task is a
 * launcher, its workers are told apart by the number that it gave each of them
 * (common/launched.h), which a worker's own children inherit: each worker then
 * has a row of its own ("1/5": worker 5 of task 1), in place of its task. A
 * task's sums include children that have ended, so the end of a child changes
 * nothing. In large steps the tasks take turns: a task's figures, which are
 * means since its last turn, hold until its next one. */
#include "plugins/util/util_probe.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/launched.h"
#include "common/num.h"
#include "common/ownproc.h"
#include "common/vector.h"
#include "plugins/util/util_gpu.h"
#include "common/procfs.h"

#define PROCESSES_MAX 65536
#define CPUS_MAX 8192 /* highest number of a processor, plus 1 */
/* New processes are looked for in every SCAN_EVERY-th sample. Where tasks take
 * turns, they are looked for after SCAN_EVERY rounds of turns, and in the next
 * sample after some were found. A process that is not ours may be about to
 * execute a program that is, so it is examined LOOKS times; and once more after
 * AGAIN_EVERY / SCAN_EVERY looks, because its number may have passed to another
 * process. */
#define SCAN_EVERY 2
#define LOOKS 5
#define AGAIN_EVERY 60
/* With fewer processes, the files of all are read in each sample. With so many,
 * tasks take turns, at most TURNS_MAX. */
#define TURN_PROCESSES 64
#define TURNS_MAX 16
/* Where they take turns, /proc/PID/status, which costs the kernel as much as
 * the other files together, is read in each STATUS_TURNS-th turn: what it
 * tells (memory, processors, switches) changes slowly. */
#define STATUS_TURNS 4
/* Files of processes stay open for up to this fraction of the descriptors that
 * the agent may open. */
#define KEPT_SHARE 2

enum process_file { FILE_STAT, FILE_WAIT, FILE_STATUS, FILE_IO, PROCESS_FILES };
/* Descriptors of a process whose files stay open, with its folder and pidfd. */
#define PROCESS_DESCRIPTORS (PROCESS_FILES + 2)

/* A process is known by its start time. Its files are opened below its folder,
 * so that none of them is another process's. */
struct process {
    uint64_t pid, start;
    uint32_t rank;         /* of its task */
    int64_t number;        /* that the task gave it as a launcher; -1: none */
    bool is_kept;          /* folder and files stay open between samples */
    int dir;               /* /proc/PID; -1: not open */
    int fd[PROCESS_FILES]; /* -1: not open */
    int pidfd;             /* is in tasks.ends; -1: none */
};

/* A process that is not one of the step's. */
struct other {
    uint64_t pid;
    uint32_t looks;
    bool is_there; /* was met in this scan */
};

/* A task's counters: sums over its processes with their ended children. */
enum {
    USER,
    SYSTEM,
    MINOR,
    MAJOR,
    READ,
    WRITE,
    READ_CALLS,
    WRITE_CALLS,
    WAIT_NS, /* ready to run, but waiting for a processor */
    SWITCHES,
    SUMS
};

/* A task, or a worker of one. */
struct task {
    uint32_t rank;
    int64_t number;      /* of a worker; -1: the task's other processes */
    uint32_t n_numbers;  /* different numbers of its task's workers */
    struct util_row row; /* figures of its last turn */
    struct util_counter last[SUMS];
    uint64_t sum[SUMS];
    uint64_t turn_us;   /* when that was; 0: it had none yet */
    uint64_t turns;     /* that it had */
    uint64_t since_us;  /* its processes were not there at this time */
    bool is_there;      /* it has a process now */
    bool has_turn;      /* in this sample */
    bool has_status;    /* its turn includes status */
    uint64_t status_us; /* when it was read last; 0: not yet */
};

struct util_tasks {
    const struct util_step *step;
    struct procfs_reader *reader;
    char job[24]; /* as text, as in the environment */
    double ticks_s;
    uint64_t samples, mono_us;
    uint64_t scan_at; /* the sample of the next scan */
    uint64_t n_scans;
    uint64_t scan_us, before_us; /* times of the last scan and of the one before
                                  */
    struct process *processes;
    size_t n_processes, n_kept, kept_max; /* kept: with files that stay open */
    uint64_t turns;       /* samples until each task has had its turn */
    int ends;             /* epoll of pidfds; -1: none */
    bool some_ended;      /* of those with a pidfd, in this sample or before */
    struct other *others; /* sorted by number */
    size_t n_others;
    struct task *tasks;
    size_t n_tasks;
    /* processors that some task may use, a bit each */
    uint64_t cpus[CPUS_MAX / 64];
};

/* --- which processes ------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct other *) a)->pid,
             y = ((const struct other *) b)->pid;

    return (x > y) - (x < y);
}

/* Whether the process is one of the step's already. */
static bool is_known(const struct util_tasks *p, uint64_t pid)
{
    for (size_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].pid == pid)
            return true;
    return false;
}

/* Whether the environment is that of a task of this step on this node; *rank is
 * its rank then. SLURMD_NODENAME matters where a host has several slurmd. */
static bool is_task(const char *env, size_t len, const char *job,
                    const char *step, const char *node, uint32_t *rank)
{
    const char *its_job = ownproc_variable(env, len, "SLURM_JOB_ID"),
               *its_step = ownproc_step(env, len),
               *its_node = ownproc_variable(env, len, "SLURMD_NODENAME"),
               *id = ownproc_variable(env, len, "SLURM_PROCID");
    uint64_t n;

    if (!its_job || !its_step || !id || strcmp(its_job, job) != 0 ||
        strcmp(its_step, step) != 0 ||
        (its_node && strcmp(its_node, node) != 0) ||
        num_parse_u64(id, 0, UINT32_MAX, &n, NULL) < 0)
        return false;
    *rank = (uint32_t) n;
    return true;
}

/* The number that the process's launcher gave it, by the first variable that it
 * has: -1: none. */
static int64_t number_of(const char *env, size_t len)
{
    for (int i = 0; i < LAUNCHED_KINDS; i++) {
        const char *text = ownproc_variable(env, len, launched_rank_names[i]);
        uint64_t n;

        if (text && num_parse_u64(text, 0, INT32_MAX, &n, NULL) == 0)
            return (int64_t) n;
    }
    return -1;
}

/* Whether the process belongs to a task of the step. jobprof's own helpers for
 * a task have the task's environment and are excluded by their name. */
static bool is_ours(struct util_tasks *p, const struct ownproc *proc,
                    uint32_t *rank, int64_t *number)
{
    char *text = p->reader->text, name[64];
    ssize_t len =
        ownproc_read(proc->dir, "environ", text, sizeof(p->reader->text));

    if (len <= 0 || !is_task(text, (size_t) len, p->job, p->step->step,
                             p->step->node, rank))
        return false;
    *number = number_of(text, (size_t) len);
    return ownproc_read(proc->dir, "comm", name, sizeof(name)) < 0 ||
           strncmp(name, "jobprof", 7) != 0;
}

/* Has the kernel tell when the process ends, so that no look at each of many
 * processes is needed. Its folder is open. Without a pidfd it is looked at. */
static void watch_end(struct util_tasks *p, struct process *process)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (p->ends < 0)
        p->ends = epoll_create1(EPOLL_CLOEXEC);
    if (p->ends < 0 || *p->reader->root)
        return;
    process->pidfd = (int) syscall(SYS_pidfd_open, (pid_t) process->pid, 0);
    if (process->pidfd < 0)
        return;
    /* the folder shows that the number is still this process's */
    if (faccessat(process->dir, "stat", F_OK, 0) == 0 &&
        epoll_ctl(p->ends, EPOLL_CTL_ADD, process->pidfd, &event) == 0)
        return;
    close(process->pidfd);
    process->pidfd = -1;
}

/* Adds a process, and keeps its folder open; its files are opened when they are
 * first read. */
static int add_process(struct util_tasks *p, struct ownproc *proc,
                       uint32_t rank, int64_t number, struct jp_error *err)
{
    struct process *more = VECTOR_DOUBLE_ADD(p->processes, p->n_processes);

    if (!more)
        return error_set(err, "out of memory");
    *more = (struct process){.pid = (uint64_t) proc->pid,
                             .start = proc->start,
                             .rank = rank,
                             .number = number,
                             .dir = proc->dir,
                             .pidfd = -1,
                             .is_kept = p->n_kept < p->kept_max};
    proc->dir = -1;
    for (size_t i = 0; i < PROCESS_FILES; i++)
        more->fd[i] = -1;
    p->n_kept += more->is_kept;
    if (more->is_kept)
        watch_end(p, more);
    return 0;
}

static void close_files(const struct util_tasks *p, struct process *process)
{
    if (process->pidfd >= 0) {
        /* a child that was forked may still have it open */
        epoll_ctl(p->ends, EPOLL_CTL_DEL, process->pidfd, NULL);
        close(process->pidfd);
    }
    process->pidfd = -1;
    for (size_t i = 0; i < PROCESS_FILES; i++) {
        if (process->fd[i] >= 0)
            close(process->fd[i]);
        process->fd[i] = -1;
    }
    if (process->dir >= 0)
        close(process->dir);
    process->dir = -1;
}

/* The text of one of a process's files, borrowed until the next read; "": the
 * process is gone, or the file is not readable. Its folder is open. */
static const char *process_text(struct util_tasks *p, struct process *process,
                                enum process_file which)
{
    static const char *const names[PROCESS_FILES] = {[FILE_STAT] = "stat",
                                                     [FILE_WAIT] = "schedstat",
                                                     [FILE_STATUS] = "status",
                                                     [FILE_IO] = "io"};
    char *text = p->reader->text;

    if (process->is_kept)
        return procfs_reader_again(p->reader, &process->fd[which], process->dir,
                                   names[which]);
    ownproc_read(process->dir, names[which], text, sizeof(p->reader->text));
    return text;
}

/* Remembers a process that is not ours. Beyond PROCESSES_MAX, it is simply
 * examined in each scan. */
static int add_other(struct util_tasks *p, uint64_t pid, struct jp_error *err)
{
    struct other *more;

    if (p->n_others >= PROCESSES_MAX)
        return 0;
    more = VECTOR_DOUBLE_ADD(p->others, p->n_others);
    if (!more)
        return error_set(err, "out of memory");
    *more = (struct other){.pid = pid, .looks = 1, .is_there = true};
    return 0;
}

/* Removes others that this scan has not met. */
static void forget_others(struct util_tasks *p)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->n_others; i++)
        if (p->others[i].is_there) {
            p->others[kept] = p->others[i];
            p->others[kept++].is_there = false;
        }
    p->n_others = kept;
}

/* Whether the folder of the process is the user's: a cheap look, because most
 * processes of a node are not. */
static bool is_users(const struct util_tasks *p, uint64_t pid)
{
    char path[PATH_MAX];
    struct stat st;

    return stat(procfs_reader_path(p->reader, path, "/proc/%llu",
                                   (unsigned long long) pid),
                &st) == 0 &&
           st.st_uid == p->step->uid;
}

/* Handles a process that the scan meets. sorted: number of others at the start
 * of the scan; those that it adds come after them, unsorted, and are not met
 * twice. */
static int look_at(struct util_tasks *p, uint64_t pid, size_t sorted,
                   bool again, struct jp_error *err)
{
    struct other key = {.pid = pid}, *other = NULL;
    const struct ownproc_name name = {
        .root = p->reader->root, .pid = (int64_t) pid, .uid = p->step->uid};
    struct ownproc proc;
    bool ours = false;
    uint32_t rank = 0;
    int64_t number = -1;
    int rc = 0;

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
    if (is_users(p, pid) && ownproc_open(&name, &proc, NULL) == 0) {
        ours = is_ours(p, &proc, &rank, &number);
        if (ours && p->n_processes < PROCESSES_MAX)
            rc = add_process(p, &proc, rank, number, err);
        ownproc_close(&proc);
    }
    return ours || other ? rc : add_other(p, pid, err);
}

/* Walks /proc. Returns -1 without memory. */
static int scan_processes(struct util_tasks *p, struct jp_error *err)
{
    char path[PATH_MAX];
    DIR *proc = opendir(procfs_reader_path(p->reader, path, "/proc"));
    bool again = p->n_scans++ % (AGAIN_EVERY / SCAN_EVERY) == 0;
    size_t sorted = p->n_others;
    struct dirent *entry;
    uint64_t pid;
    int rc = 0;

    p->before_us = p->scan_us;
    p->scan_us = p->mono_us;
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

/* --- what they do --------------------------------------------------------- */

/* Counts the workers of a task that have different numbers, in each of its
 * rows. */
static void count_workers(struct util_tasks *p, uint32_t rank)
{
    uint32_t n = 0;

    for (size_t i = 0; i < p->n_tasks; i++)
        n += p->tasks[i].rank == rank && p->tasks[i].number >= 0;
    for (size_t i = 0; i < p->n_tasks; i++)
        if (p->tasks[i].rank == rank)
            p->tasks[i].n_numbers = n;
}

/* The task or worker that the process belongs to, made if necessary; NULL
 * without memory. One that begins between two scans has counted from zero since
 * then, so its rates are known at once. */
static struct task *find_task(struct util_tasks *p,
                              const struct process *process)
{
    uint32_t rank = process->rank;
    struct task *more;

    for (size_t i = 0; i < p->n_tasks; i++)
        if (p->tasks[i].rank == rank && p->tasks[i].number == process->number)
            return &p->tasks[i];
    more = VECTOR_DOUBLE_ADD(p->tasks, p->n_tasks);
    if (!more)
        return NULL;
    *more = (struct task){
        .rank = rank, .number = process->number, .since_us = p->before_us};
    for (size_t i = 0; i < SUMS; i++)
        more->last[i].last = p->samples ? 0 : PROCFS_NONE;
    count_workers(p, rank);
    return more;
}

/* Adds a known figure to a sum, which is NAN until one is known. */
static void plus(double *sum, double v)
{
    if (!isnan(v))
        *sum = isnan(*sum) ? v : *sum + v;
}

/* Adds to a counter. One unknown part makes the whole sum unknown. */
static void add_sum(struct task *task, int which, uint64_t n)
{
    if (n == PROCFS_NONE || task->sum[which] == PROCFS_NONE)
        task->sum[which] = PROCFS_NONE;
    else
        task->sum[which] = num_add(task->sum[which], n);
}

/* Number of processors in a list ("0-3,8"), which are also added to p->cpus;
 * NAN: no such list. */
static double add_list(struct util_tasks *p, const char *list)
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

static void add_status(struct util_tasks *p, struct task *task,
                       const char *text)
{
    struct util_row *row = &task->row;
    const char *list;
    uint64_t kb;

    if ((kb = procfs_find(text, "VmRSS:")) != PROCFS_NONE)
        plus(&row->v[TASK_MEMORY], (double) kb * 1024);
    if ((kb = procfs_find(text, "VmHWM:")) != PROCFS_NONE)
        plus(&row->v[TASK_MEMORY_PEAK], (double) kb * 1024);
    add_sum(task, SWITCHES, procfs_find(text, "nonvoluntary_ctxt_switches:"));
    list = strstr(text, "\nCpus_allowed_list:");
    if (list)
        /* of several processes, the one that may use most */
        row->v[TASK_CPUS] = fmax(row->v[TASK_CPUS], add_list(p, list + 19));
}

/* /proc/PID/io: bytes from storage, and bytes of system calls. */
static void add_io(struct task *task, const char *text)
{
    add_sum(task, READ, procfs_find(text, "read_bytes:"));
    add_sum(task, WRITE, procfs_find(text, "write_bytes:"));
    add_sum(task, READ_CALLS, procfs_find(text, "rchar:"));
    add_sum(task, WRITE_CALLS, procfs_find(text, "wchar:"));
}

/* schedstat is "ran waited slices" of the first thread, in ns
 * (Documentation/scheduler/sched-stats.rst). */
static void add_wait(struct task *task, const char *text)
{
    text += strcspn(text, " ");
    add_sum(task, WAIT_NS, procfs_number(text));
}

static bool is_turn(const struct util_tasks *p, const struct task *task)
{
    return !task->turn_us ||
           p->samples % p->turns ==
               (task->rank + (uint64_t) (task->number + 1)) % p->turns;
}

/* Whether its turn includes status: always its first one, and with few
 * processes each one. */
static bool reads_status(const struct util_tasks *p, const struct task *task)
{
    uint64_t apart = task->rank + (uint64_t) (task->number + 1);

    return p->turns == 1 || !task->turns ||
           (task->turns + apart) % STATUS_TURNS == 0;
}

/* Meets the first process of a task in this sample. In its turn its sums start.
 */
static void begin_task(const struct util_tasks *p, struct task *task)
{
    static const enum util_task_column held[] = {TASK_MEMORY, TASK_MEMORY_PEAK,
                                                 TASK_SWITCHES, TASK_CPUS};
    struct util_row before = task->row;

    task->is_there = true;
    task->has_turn = is_turn(p, task);
    if (!task->has_turn)
        return;
    task->has_status = reads_status(p, task);
    memset(task->sum, 0, sizeof(task->sum));
    util_row_init(&task->row, 0, 0, "");
    for (size_t i = 0; i < sizeof(held) / sizeof(*held) && !task->has_status;
         i++)
        task->row.v[held[i]] = before.v[held[i]];
}

/* Reads the process's stat. false: it is gone, or its number belongs to another
 * one, which started later. */
static bool read_stat(struct util_tasks *p, struct process *process,
                      struct procfs_process *now)
{
    return procfs_read_process(process_text(p, process, FILE_STAT), now) &&
           process->start == now->start;
}

/* Adds a process to its task. false: the process is gone. */
static bool add_to_task(struct util_tasks *p, struct process *process)
{
    struct procfs_process now;
    struct task *task = find_task(p, process);

    if (process->dir < 0)
        process->dir = ownproc_hold(p->reader->root, (int64_t) process->pid);
    if (process->dir < 0 || !task)
        return false;
    /* The folder that stays open is this process's: its files need not be read
     * to see whether it lives. */
    if (process->is_kept && task->turn_us && !is_turn(p, task)) {
        if ((process->pidfd < 0 || p->some_ended) &&
            faccessat(process->dir, "stat", F_OK, 0) < 0)
            return false;
        task->is_there = true;
        return true;
    }
    if (!read_stat(p, process, &now))
        return false;
    if (!task->is_there)
        begin_task(p, task);
    if (task->has_turn) {
        plus(&task->row.v[TASK_PROCESSES], 1);
        plus(&task->row.v[TASK_THREADS], (double) now.threads);
        add_sum(task, USER, now.user);
        add_sum(task, SYSTEM, now.system);
        add_sum(task, MINOR, now.minor_faults);
        add_sum(task, MAJOR, now.major_faults);
        add_wait(task, process_text(p, process, FILE_WAIT));
        if (task->has_status)
            add_status(p, task, process_text(p, process, FILE_STATUS));
        add_io(task, process_text(p, process, FILE_IO));
    }
    if (!process->is_kept)
        close_files(p, process);
    return true;
}

/* Turns a task's sums into rates over the time since its last turn. Before its
 * first turn, it was not there at the last scan. */
static void finish_task(const struct util_tasks *p, struct task *task)
{
    static const enum util_task_column columns[SUMS] = {
        TASK_USER,     TASK_SYSTEM,  TASK_MINOR_FAULTS, TASK_MAJOR_FAULTS,
        TASK_READ,     TASK_WRITE,   TASK_READ_CALLS,   TASK_WRITE_CALLS,
        TASK_CPU_WAIT, TASK_SWITCHES};
    uint64_t since_us = task->turn_us ? task->turn_us : task->since_us;
    double dt = (double) (p->mono_us - since_us) * 1e-6;

    for (int i = 0; i < SUMS; i++) {
        double unit = i == USER || i == SYSTEM ? 1 / p->ticks_s
                      : i == WAIT_NS           ? 1e-9
                                               : 1;

        if (i != SWITCHES)
            task->row.v[columns[i]] =
                util_rate(&task->last[i], task->sum[i], unit, dt);
    }
    if (task->has_status) {
        since_us = task->status_us ? task->status_us : task->since_us;
        task->row.v[TASK_SWITCHES] =
            util_rate(&task->last[SWITCHES], task->sum[SWITCHES], 1,
                      (double) (p->mono_us - since_us) * 1e-6);
        task->status_us = p->mono_us;
    }
    /* several processes can wait at the same time */
    if (task->row.v[TASK_CPU_WAIT] > 1)
        task->row.v[TASK_CPU_WAIT] = 1;
    task->turn_us = p->mono_us;
    task->turns++;
}

/* All tasks together. Peaks do not add up, because they were not at the same
 * time; a share of waiting belongs to one task. A processor that several tasks
 * may use counts once. */
static void sum_tasks(const struct util_tasks *p, struct util_row *sum)
{
    unsigned cpus = 0;

    util_row_init(sum, 0, 0, "");
    for (size_t i = 0; i < p->n_tasks; i++)
        for (size_t c = 0; c < TASK_COLUMNS && p->tasks[i].is_there; c++)
            plus(&sum->v[c], p->tasks[i].row.v[c]);
    sum->v[TASK_MEMORY_PEAK] = NAN;
    sum->v[TASK_CPU_WAIT] = NAN;
    for (size_t i = 0; i < sizeof(p->cpus) / sizeof(*p->cpus); i++)
        cpus += (unsigned) __builtin_popcountll(p->cpus[i]);
    sum->v[TASK_CPUS] = cpus ? cpus : NAN;
}

int util_tasks_take(struct util_tasks *p, uint64_t mono_us,
                    struct util_tasks_now *now, struct jp_error *err)
{
    size_t kept = 0, before = p->n_processes;
    struct epoll_event event;

    p->mono_us = mono_us;
    p->some_ended = p->ends >= 0 && epoll_wait(p->ends, &event, 1, 0) > 0;
    /* a step that has just begun is looked for in each sample */
    if (p->samples >= p->scan_at || before == 0)
        if (scan_processes(p, err) < 0)
            return -1;
    p->turns = 1 + p->n_processes / TURN_PROCESSES;
    if (p->turns > TURNS_MAX)
        p->turns = TURNS_MAX;
    if (p->n_processes > before && p->turns > 1)
        p->scan_at = p->samples + 1;
    else if (p->samples >= p->scan_at)
        p->scan_at = p->samples + SCAN_EVERY * p->turns;
    if (p->turns == 1) /* with turns, the set is kept from the turns before */
        memset(p->cpus, 0, sizeof(p->cpus));
    for (size_t i = 0; i < p->n_tasks; i++)
        p->tasks[i].is_there = p->tasks[i].has_turn = false;
    for (size_t i = 0; i < p->n_processes; i++)
        if (add_to_task(p, &p->processes[i])) {
            p->processes[kept++] = p->processes[i];
        } else {
            p->n_kept -= p->processes[i].is_kept;
            close_files(p, &p->processes[i]);
        }
    p->n_processes = kept;
    for (size_t i = 0; i < p->n_tasks; i++)
        if (p->tasks[i].has_turn)
            finish_task(p, &p->tasks[i]);
    p->samples++;
    now->seen = p->n_tasks;
    sum_tasks(p, &now->sum);
    return 0;
}

/* --- all ------------------------------------------------------------------ */

struct util_tasks *util_tasks_create(const struct util_step *step,
                                     struct procfs_reader *reader)
{
    struct util_tasks *p = calloc(1, sizeof(*p));
    long files = sysconf(_SC_OPEN_MAX);

    if (!p)
        return NULL;
    /* both are borrowed */
    p->step = step;
    p->reader = reader;
    snprintf(p->job, sizeof(p->job), "%llu", (unsigned long long) step->job);
    p->ticks_s = (double) sysconf(_SC_CLK_TCK);
    p->kept_max = files > 0 ? (size_t) files / KEPT_SHARE / PROCESS_DESCRIPTORS
                            : 0;
    p->turns = 1;
    p->ends = -1;
    return p;
}

void util_tasks_destroy(struct util_tasks *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_processes; i++)
        close_files(p, &p->processes[i]);
    if (p->ends >= 0)
        close(p->ends);
    free(p->processes);
    free(p->others);
    free(p->tasks);
    free(p);
}

int util_tasks_put(const struct util_tasks *p, uint64_t t_us, uint64_t mono_us,
                   util_put *put, void *arg, struct jp_error *err)
{
    int rc = 0;

    for (size_t i = 0; i < p->n_tasks && rc == 0; i++) {
        struct util_row row = p->tasks[i].row;

        /* Tasks that have no process now get no row; neither does a launcher
         * beside its workers, of which it is no peer. */
        if (!p->tasks[i].is_there ||
            (p->tasks[i].n_numbers && p->tasks[i].number < 0))
            continue;
        row.t_us = t_us;
        row.mono_us = mono_us;
        if (p->tasks[i].n_numbers > 1)
            snprintf(row.id, sizeof(row.id), "%u/%lld", p->tasks[i].rank,
                     (long long) p->tasks[i].number);
        else
            snprintf(row.id, sizeof(row.id), "%u", p->tasks[i].rank);
        rc = put(arg, UTIL_TASK, &row, err);
    }
    return rc;
}

void util_tasks_pids(const struct util_tasks *p, struct procfs_pids *out)
{
    out->n = (uint32_t) p->n_processes;
    for (size_t i = 0; i < p->n_processes && i < PROCFS_PIDS_MAX; i++)
        out->pid[i] = (uint32_t) p->processes[i].pid;
}

void util_tasks_some(const struct util_tasks *p, struct procfs_some *out)
{
    size_t n = p->n_processes;

    *out = (struct procfs_some){.root = p->reader->root, .uid = p->step->uid};
    out->n = n < PROCFS_SOME_MAX ? (uint32_t) n : PROCFS_SOME_MAX;
    for (uint32_t i = 0; i < out->n; i++) {
        const struct process *one = &p->processes[(size_t) i * n / out->n];

        out->pid[i] = (int64_t) one->pid;
        out->start[i] = one->start;
    }
}
