/* proclook.c - read the state of processes from /proc.
 *
 * proclook_take reads one process in a child, because files of a process in
 * kernel state D may hang. proclook_tasks finds the tasks of a step. All of
 * them read below a process's held folder (common/ownproc.h), never by number.
 */
#include "orchestrator/evidence/evidence.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/num.h"
#include "common/ownproc.h"
#include "orchestrator/collect/clock.h"

/* status is long if a process has many groups. */
enum { ENVIRON_BYTES = 256 << 10, TEXT_BYTES = 4096, STATUS_BYTES = 65536 };

/* Copies the first line. */
static void copy_line(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%.*s", (int) strcspn(from, "\n"), from);
}

/* utime + stime, fields 14 and 15 of stat. text starts after the state, field
 * 3. */
static uint64_t ticks_of(const char *text)
{
    uint64_t ticks = 0;

    for (int field = 4; field <= 15; field++) {
        text += strspn(text, " ");
        if (field >= 14)
            ticks += strtoull(text, NULL, 10);
        text += strcspn(text, " ");
    }
    return ticks;
}

/* Reads one thread. Whatever cannot be read stays empty. */
static void read_thread(int dir, int64_t tid, struct proclook_thread *thread)
{
    char name[64], text[TEXT_BYTES];
    /* sysconf may fail; 100 is the kernel's usual value. */
    long hz = sysconf(_SC_CLK_TCK);
    const char *end;

    *thread = (struct proclook_thread){.tid = tid, .state = '?'};
    snprintf(name, sizeof(name), "task/%" PRId64 "/comm", tid);
    ownproc_read(dir, name, text, sizeof(text));
    copy_line(thread->name, sizeof(thread->name), text);
    snprintf(name, sizeof(name), "task/%" PRId64 "/stat", tid);
    ownproc_read(dir, name, text, sizeof(text));
    /* The name in brackets may contain brackets. */
    end = strrchr(text, ')');
    if (end && end[1] == ' ') {
        thread->state = end[2];
        thread->cpu_ms = ticks_of(end + 3) * 1000 /
                         (uint64_t) (hz > 0 ? hz : 100);
    }
    snprintf(name, sizeof(name), "task/%" PRId64 "/wchan", tid);
    ownproc_read(dir, name, text, sizeof(text));
    /* "0" means that the thread waits for nothing. */
    copy_line(thread->wchan, sizeof(thread->wchan),
              strcmp(text, "0") == 0 ? "" : text);
    snprintf(name, sizeof(name), "task/%" PRId64 "/syscall", tid);
    ownproc_read(dir, name, text, sizeof(text));
    copy_line(thread->syscall, sizeof(thread->syscall), text);
}

/* Reads all threads; those over the limit are counted. */
static void read_threads(int dir, struct proclook *look)
{
    int fd = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;

    if (fd >= 0 && !tasks)
        close(fd);
    /* A process without the folder has ended. */
    look->there = tasks != NULL;
    while (tasks && (entry = readdir(tasks))) {
        int64_t tid;

        if (num_parse_i64(entry->d_name, 1, INT32_MAX, &tid, NULL) < 0)
            continue;
        if (look->n_threads >= PROCLOOK_THREADS)
            look->left_out++;
        else
            read_thread(dir, tid, &look->threads[look->n_threads++]);
    }
    if (tasks)
        closedir(tasks);
}

/* Returns the number after the key; 0 if it is missing. */
static uint64_t behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* NAME's value in the environment; "" if missing. */
static const char *value_of(const char *env, size_t len, const char *name)
{
    const char *value = ownproc_variable(env, len, name);

    return value ? value : "";
}

/* Composes an absolute path as the process sees it; "" if it is none, or too
 * long. */
static void set_path(char *to, size_t size, const char *prefix,
                     const char *rank, const char *suffix)
{
    if (*prefix != '/' || !*rank ||
        (size_t) snprintf(to, size, "%s%s%s", prefix, rank, suffix) >= size)
        *to = '\0';
}

/* Finds where PyTorch's flight recorder writes its dump: to the place that a
 * variable names, else to where its releases write by default. */
static void read_dumps(struct proclook *look, const char *env, size_t len)
{
    static const struct {
        const char *variable, *behind;
    } places[] = {{"XDG_CACHE_HOME", "/torch/comm_lib_trace_rank_"},
                  {"HOME", "/.cache/torch/comm_lib_trace_rank_"},
                  {"HOME", "/.cache/torch/nccl_trace_rank_"},
                  {NULL, "/tmp/nccl_trace_rank_"}};
    const char *named = value_of(env, len, "TORCH_FR_DUMP_TEMP_FILE");
    char prefix[480];

    _Static_assert(sizeof(places) / sizeof(*places) == PROCLOOK_DUMPS,
                   "a place each");
    if (!*named)
        named = value_of(env, len, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    if (*named) {
        set_path(look->dumps[0], sizeof(look->dumps[0]), named, look->rank, "");
        return;
    }
    for (size_t i = 0; i < PROCLOOK_DUMPS; i++) {
        const char *base =
            places[i].variable ? value_of(env, len, places[i].variable) : "";

        if ((places[i].variable && !*base) ||
            (size_t) snprintf(prefix, sizeof(prefix), "%s%s", base,
                              places[i].behind) >= sizeof(prefix))
            continue;
        set_path(look->dumps[i], sizeof(look->dumps[i]), prefix, look->rank,
                 "");
    }
}

/* Finds the pipe and the dump of PyTorch's flight recorder, which are named by
 * the rank. The variables have two names, as PyTorch has renamed them. */
static void read_recorder(struct proclook *look, const char *env, size_t len)
{
    const char *rank = value_of(env, len, "RANK");
    const char *pipe = value_of(env, len, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE");

    /* torchrun sets RANK; programs that srun starts directly have SLURM_PROCID.
     */
    if (!*rank)
        rank = value_of(env, len, "SLURM_PROCID");
    if (!*pipe)
        pipe = value_of(env, len, "TORCH_FR_DEBUG_INFO_PIPE_FILE");
    /* The rank becomes part of a path. */
    if (strspn(rank, "0123456789") != strlen(rank) ||
        strlen(rank) >= sizeof(look->rank))
        return;
    snprintf(look->rank, sizeof(look->rank), "%s", rank);
    set_path(look->pipe, sizeof(look->pipe), pipe, look->rank, ".pipe");
    read_dumps(look, env, len);
}

/* Takes the settings that matter from the process's environment. */
static void read_settings(struct proclook *look, const char *env, size_t len)
{
    if (!env)
        return;
    read_recorder(look, env, len);
    snprintf(look->ras, sizeof(look->ras), "%.79s",
             value_of(env, len, "NCCL_RAS_ADDR"));
    look->no_ras = strcmp(value_of(env, len, "NCCL_RAS_ENABLE"), "0") == 0;
    look->has_task = num_parse_i64(value_of(env, len, "SLURM_PROCID"), 0,
                                   INT32_MAX, &look->task, NULL) == 0;
    if (strlen(value_of(env, len, "PATH")) < sizeof(look->path))
        snprintf(look->path, sizeof(look->path), "%s",
                 value_of(env, len, "PATH"));
}

/* What the child gets. */
struct work {
    const struct proclook_ask *ask;
    struct proclook *look;
};

/* Checks the job's own id, or that of the heterogeneous job's leader. */
static bool is_of_job(const char *env, size_t len, uint64_t job)
{
    return strtoull(value_of(env, len, "SLURM_JOB_ID"), NULL, 10) == job ||
           strtoull(value_of(env, len, "SLURM_HET_JOB_ID"), NULL, 10) == job;
}

/* Reads the environment of the process; its length, 0 if it is unreadable. */
static size_t read_environ(int dir, char *env)
{
    ssize_t n = ownproc_read(dir, "environ", env, ENVIRON_BYTES);

    return n > 0 ? (size_t) n : 0;
}

/* Runs in the child; *look is memory shared with the parent. */
static int do_look(void *arg, int out)
{
    const struct work *work = arg;
    const struct proclook_ask *ask = work->ask;
    struct proclook *look = work->look;
    char *env = ask->again ? NULL : malloc(ENVIRON_BYTES);
    char *text = malloc(STATUS_BYTES);
    int dir = ask->proc->dir;
    size_t len = env ? read_environ(dir, env) : 0;

    (void) out;
    /* Without its environment nothing shows that a process belongs to the job.
     */
    look->foreign = !ask->again && ask->job &&
                    (!env || !is_of_job(env, len, ask->job));
    if (!look->foreign)
        read_threads(dir, look);
    if (!look->foreign && !ask->again && text) {
        ownproc_read(dir, "status", text, STATUS_BYTES);
        look->tracer = behind(text, "\nTracerPid:");
        ownproc_read(dir, "io", text, STATUS_BYTES);
        look->read_bytes = behind(text, "rchar: ");
        look->written_bytes = behind(text, "wchar: ");
        read_settings(look, env, len);
    }
    free(text);
    free(env);
    return 0;
}

/* Validates what a child has written to shared memory. */
static void check_look(struct proclook *look, int64_t pid)
{
    look->pid = pid;
    if (look->n_threads > PROCLOOK_THREADS)
        look->n_threads = PROCLOOK_THREADS;
    look->pipe[sizeof(look->pipe) - 1] = '\0';
    for (size_t i = 0; i < PROCLOOK_DUMPS; i++)
        look->dumps[i][sizeof(look->dumps[i]) - 1] = '\0';
    look->rank[sizeof(look->rank) - 1] = '\0';
    /* it becomes a part of a name here, too */
    if (strspn(look->rank, "0123456789") != strlen(look->rank))
        look->rank[0] = '\0';
    look->ras[sizeof(look->ras) - 1] = '\0';
    look->path[sizeof(look->path) - 1] = '\0';
    for (uint32_t i = 0; i < look->n_threads; i++) {
        struct proclook_thread *t = &look->threads[i];

        t->name[sizeof(t->name) - 1] = '\0';
        t->wchan[sizeof(t->wchan) - 1] = '\0';
        t->syscall[sizeof(t->syscall) - 1] = '\0';
    }
}

void proclook_take(const struct proclook_ask *ask, struct proclook *look)
{
    struct work work = {ask, look};
    const struct child child = {.work = do_look,
                                .arg = &work,
                                .dies_with_us = true,
                                .limit_ms = ask->limit_ms};
    struct child_result r;
    enum child_end end;

    /* The child may be killed before it writes anything. */
    look->pid = ask->proc->pid;
    end = child_run(&child, &r);
    check_look(look, ask->proc->pid);
    look->late = end == CHILD_LATE;
    if (!child_succeeded(end, &r) && !look->late)
        look->there = false;
}

/* Whether the process is stopped by a signal and not held by a debugger. */
static bool is_stopped(const struct ownproc *proc)
{
    char stat[TEXT_BYTES], *status = malloc(STATUS_BYTES);
    bool stopped = false;

    ownproc_read(proc->dir, "stat", stat, sizeof(stat));
    if (status && ownproc_state(stat) == 'T')
        stopped = ownproc_read(proc->dir, "status", status, STATUS_BYTES) > 0 &&
                  !behind(status, "\nTracerPid:");
    free(status);
    return stopped;
}

/* Whether the user had stopped the process before the tool ran. */
static bool was_stopped(const struct proclook *look)
{
    for (uint32_t i = 0; i < look->n_threads; i++)
        if (look->threads[i].tid == look->pid)
            return look->threads[i].state == 'T';
    return false;
}

/* Signals only a process that is stopped, not traced, and was not stopped
 * before. */
void proclook_wake(const struct ownproc *proc, const struct proclook *look,
                   uint32_t settle_ms)
{
    uint64_t end_ms = clock_mono_ms() + settle_ms;

    if (was_stopped(look))
        return;
    /* At least one check, also without a settling time. */
    do {
        if (settle_ms)
            usleep(20000);
        if (is_stopped(proc))
            ownproc_signal(proc, SIGCONT, NULL);
    } while (clock_mono_ms() < end_ms);
}

/* --- the tasks of a step -------------------------------------------------- */

/* A program usually has more threads than the shell that started it. */
static uint32_t count_threads(int dir)
{
    char *text = malloc(STATUS_BYTES);
    uint32_t n = 0;

    if (text && ownproc_read(dir, "status", text, STATUS_BYTES) > 0)
        n = (uint32_t) behind(text, "\nThreads:");
    free(text);
    return n;
}

/* Whether the environment is that of a process of the step. */
static bool is_of_step(const char *env, size_t len,
                       const struct proclook_step *step)
{
    const char *node = value_of(env, len, "SLURMD_NODENAME");

    /* several Slurm nodes may share a host */
    if (*node && step->node && strcmp(node, step->node) != 0)
        return false;
    return (!step->job || is_of_job(env, len, step->job)) &&
           (!step->step ||
            strcmp(ownproc_step(env, len) ?: "", step->step) == 0);
}

bool proclook_is_of_step(const struct ownproc *proc,
                         const struct proclook_step *step)
{
    char *env = malloc(ENVIRON_BYTES);
    bool is = env && is_of_step(env, read_environ(proc->dir, env), step);

    free(env);
    return is;
}

/* Adds a task. Of several processes it keeps the one with the most threads: a
 * shell in front of the program has one. */
static size_t add_task(struct proclook_task *tasks, size_t n, size_t max,
                       const struct proclook_task *one)
{
    size_t i = 0;

    while (i < n && tasks[i].task < one->task)
        i++;
    if (i < n && tasks[i].task == one->task) {
        if (one->threads > tasks[i].threads)
            tasks[i] = *one;
        return n;
    }
    if (i >= max)
        return n;
    n += n < max;
    memmove(&tasks[i + 1], &tasks[i], (n - 1 - i) * sizeof(*tasks));
    tasks[i] = *one;
    return n;
}

/* The tasks that a walk has found so far. */
struct finding {
    const struct proclook_step *step;
    struct proclook_task *tasks;
    size_t n, max;
    char *env; /* ENVIRON_BYTES */
};

/* Looks at one process of the user; never ends the walk. */
static bool look_for_task(void *arg, struct ownproc *proc)
{
    struct finding *f = arg;
    struct proclook_task one = {.pid = proc->pid, .start = proc->start};
    size_t len = read_environ(proc->dir, f->env);

    if (is_of_step(f->env, len, f->step) &&
        num_parse_i64(value_of(f->env, len, "SLURM_PROCID"), 0, INT32_MAX,
                      &one.task, NULL) == 0) {
        one.threads = count_threads(proc->dir);
        f->n = add_task(f->tasks, f->n, f->max, &one);
    }
    return false;
}

size_t proclook_tasks(const char *root, const struct proclook_step *step,
                      struct proclook_task *tasks, size_t max)
{
    struct finding f = {step, tasks, 0, max, malloc(ENVIRON_BYTES)};

    if (f.env)
        ownproc_walk(root, step->uid, look_for_task, &f);
    free(f.env);
    return f.n;
}
