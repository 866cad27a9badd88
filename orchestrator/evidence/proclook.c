/* proclook.c - read the state of processes from /proc.
 *
 * proclook_take reads one process in a child, because files of a process in
 * kernel state D may hang. proclook_tasks finds the tasks of a step. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/num.h"
#include "orchestrator/collect/clock.h"

enum { ENVIRON_BYTES = 256 << 10, TEXT_BYTES = 4096, PROCESSES = 65536 };

/* Reads <root>/proc/<pid>/<name> ("" if missing). Returns its length. */
static size_t read_proc(const char *root, int64_t pid, const char *name,
                        char *text, size_t size)
{
    char path[512];
    size_t len = 0;
    ssize_t n = 1;
    int fd;

    snprintf(path, sizeof(path), "%s/proc/%" PRId64 "/%s", root, pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    /* In a loop: a file of /proc may return less than it has. */
    while (fd >= 0 && n > 0 && len + 1 < size) {
        n = read(fd, text + len, size - 1 - len);
        if (n > 0)
            len += (size_t) n;
    }
    if (fd >= 0)
        close(fd);
    text[len] = '\0';
    return len;
}

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
static void read_thread(const char *root, int64_t pid, int64_t tid,
                        struct proclook_thread *thread)
{
    char name[64], text[TEXT_BYTES];
    /* sysconf may fail; 100 is the kernel's usual value. */
    long hz = sysconf(_SC_CLK_TCK);
    const char *end;

    *thread = (struct proclook_thread){.tid = tid, .state = '?'};
    snprintf(name, sizeof(name), "task/%" PRId64 "/comm", tid);
    read_proc(root, pid, name, text, sizeof(text));
    copy_line(thread->name, sizeof(thread->name), text);
    snprintf(name, sizeof(name), "task/%" PRId64 "/stat", tid);
    read_proc(root, pid, name, text, sizeof(text));
    /* The name in brackets may contain brackets. */
    end = strrchr(text, ')');
    if (end && end[1] == ' ') {
        thread->state = end[2];
        thread->cpu_ms = ticks_of(end + 3) * 1000 /
                         (uint64_t) (hz > 0 ? hz : 100);
    }
    snprintf(name, sizeof(name), "task/%" PRId64 "/wchan", tid);
    read_proc(root, pid, name, text, sizeof(text));
    /* "0" means that the thread waits for nothing. */
    copy_line(thread->wchan, sizeof(thread->wchan),
              strcmp(text, "0") == 0 ? "" : text);
    snprintf(name, sizeof(name), "task/%" PRId64 "/syscall", tid);
    read_proc(root, pid, name, text, sizeof(text));
    copy_line(thread->syscall, sizeof(thread->syscall), text);
}

/* Reads all threads; those over the limit are counted. */
static void read_threads(const char *root, struct proclook *look)
{
    char path[512];
    struct dirent *entry;
    DIR *tasks;

    snprintf(path, sizeof(path), "%s/proc/%" PRId64 "/task", root, look->pid);
    tasks = opendir(path);
    /* A process without the folder has ended. */
    look->there = tasks != NULL;
    while (tasks && (entry = readdir(tasks))) {
        int64_t tid;

        if (num_parse_i64(entry->d_name, 1, INT32_MAX, &tid, NULL) < 0)
            continue;
        if (look->n_threads >= PROCLOOK_THREADS)
            look->left_out++;
        else
            read_thread(root, look->pid, tid,
                        &look->threads[look->n_threads++]);
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

/* NAME's value in a block of "NAME=value\0" strings; "" if missing. */
static const char *value_of(const char *block, size_t len, const char *name)
{
    size_t n = strlen(name);

    for (const char *s = block; s < block + len; s += strlen(s) + 1)
        if (strncmp(s, name, n) == 0 && s[n] == '=')
            return s + n + 1;
    return "";
}

/* Makes a path of the process usable from here; the process may have its own
 * mounts. */
static void set_path(char *to, size_t size, const struct proclook *look,
                     const char *root, const char *prefix, const char *rank,
                     const char *suffix)
{
    if (*prefix == '/' && *rank)
        snprintf(to, size, "%s/proc/%" PRId64 "/root%s%s%s", root, look->pid,
                 prefix, rank, suffix);
}

/* Finds the pipe and the dump of PyTorch's flight recorder, which is named by
 * the rank. */
static void read_recorder(const char *root, struct proclook *look,
                          const char *env, size_t len)
{
    const char *rank = value_of(env, len, "RANK");
    const char *dump = value_of(env, len, "TORCH_FR_DUMP_TEMP_FILE");

    /* torchrun sets RANK; programs that srun starts directly have SLURM_PROCID.
     */
    if (!*rank)
        rank = value_of(env, len, "SLURM_PROCID");
    if (!*dump)
        dump = value_of(env, len, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    /* The rank becomes part of a path. */
    if (strspn(rank, "0123456789") != strlen(rank))
        return;
    set_path(look->pipe, sizeof(look->pipe), look, root,
             value_of(env, len, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"), rank,
             ".pipe");
    set_path(look->dump, sizeof(look->dump), look, root, dump, rank, "");
}

/* Takes the settings that matter from the process's environment. */
static void read_settings(const char *root, struct proclook *look,
                          const char *env, size_t len)
{
    if (!env)
        return;
    read_recorder(root, look, env, len);
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

/* Runs in the child; *look is memory shared with the parent. */
static int do_look(void *arg, int out)
{
    const struct work *work = arg;
    const struct proclook_ask *ask = work->ask;
    struct proclook *look = work->look;
    char *env = ask->again ? NULL : malloc(ENVIRON_BYTES);
    char text[TEXT_BYTES];
    size_t len = 0;

    (void) out;
    if (env)
        len = read_proc(ask->root, ask->pid, "environ", env, ENVIRON_BYTES);
    /* Without its environment nothing shows that a process belongs to the job.
     */
    look->foreign = !ask->again && ask->job &&
                    (!env || !is_of_job(env, len, ask->job));
    if (!look->foreign)
        read_threads(ask->root, look);
    if (!look->foreign && !ask->again) {
        read_proc(ask->root, ask->pid, "status", text, sizeof(text));
        look->tracer = behind(text, "\nTracerPid:");
        read_proc(ask->root, ask->pid, "io", text, sizeof(text));
        look->read_bytes = behind(text, "rchar: ");
        look->written_bytes = behind(text, "wchar: ");
        read_settings(ask->root, look, env, len);
    }
    free(env);
    return 0;
}

/* Validates what a child has written to shared memory. */
static void check(struct proclook *look, int64_t pid)
{
    look->pid = pid;
    if (look->n_threads > PROCLOOK_THREADS)
        look->n_threads = PROCLOOK_THREADS;
    look->pipe[sizeof(look->pipe) - 1] = '\0';
    look->dump[sizeof(look->dump) - 1] = '\0';
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
    look->pid = ask->pid;
    end = child_run(&child, &r);
    check(look, ask->pid);
    look->late = end == CHILD_LATE;
    if (!child_succeeded(end, &r) && !look->late)
        look->there = false;
}

/* The state of the main thread now; '?' if it has ended. */
static char state_now(const char *root, const struct proclook *look)
{
    char text[TEXT_BYTES];
    const char *end;

    read_proc(root, look->pid, "stat", text, sizeof(text));
    end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : '?';
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
void proclook_wake(const char *root, const struct proclook *look,
                   uint32_t settle_ms)
{
    uint64_t end_ms = clock_mono_ms() + settle_ms;
    char text[TEXT_BYTES];

    if (was_stopped(look))
        return;
    /* At least one check, also without a settling time. */
    do {
        if (settle_ms)
            usleep(20000);
        if (state_now(root, look) != 'T')
            continue;
        read_proc(root, look->pid, "status", text, sizeof(text));
        if (!behind(text, "\nTracerPid:"))
            kill((pid_t) look->pid, SIGCONT);
    } while (clock_mono_ms() < end_ms);
}

/* --- the tasks of a step -------------------------------------------------- */

/* A program usually has more threads than the shell that started it. */
static uint32_t count_threads(const char *root, int64_t pid)
{
    char text[TEXT_BYTES];

    read_proc(root, pid, "status", text, sizeof(text));
    return (uint32_t) behind(text, "\nThreads:");
}

/* Whether the environment is that of a task of the step; *task is its number.
 */
static bool is_of_step(const char *env, size_t len,
                       const struct proclook_step *step, int64_t *task)
{
    const char *node = value_of(env, len, "SLURMD_NODENAME");

    /* several Slurm nodes may share a host */
    if (*node && step->node && strcmp(node, step->node) != 0)
        return false;
    return is_of_job(env, len, step->job) &&
           strcmp(value_of(env, len, "SLURM_STEP_ID"), step->step) == 0 &&
           num_parse_i64(value_of(env, len, "SLURM_PROCID"), 0, INT32_MAX, task,
                         NULL) == 0;
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

/* Reads the environment of each process of this user. */
size_t proclook_tasks(const char *root, const struct proclook_step *step,
                      struct proclook_task *tasks, size_t max)
{
    char *env = malloc(ENVIRON_BYTES), path[512];
    uid_t self = geteuid();
    struct dirent *entry;
    size_t n = 0, seen = 0;
    DIR *proc;

    snprintf(path, sizeof(path), "%s/proc", root);
    proc = env ? opendir(path) : NULL;
    while (proc && seen < PROCESSES && (entry = readdir(proc))) {
        struct proclook_task one;
        struct stat st;
        size_t len;

        /* Only processes of this user: the environment of others cannot be
         * read. */
        if (num_parse_i64(entry->d_name, 1, INT32_MAX, &one.pid, NULL) < 0 ||
            fstatat(dirfd(proc), entry->d_name, &st, 0) < 0 ||
            st.st_uid != self)
            continue;
        seen++;
        len = read_proc(root, one.pid, "environ", env, ENVIRON_BYTES);
        if (!is_of_step(env, len, step, &one.task))
            continue;
        one.threads = count_threads(root, one.pid);
        n = add_task(tasks, n, max, &one);
    }
    if (proc)
        closedir(proc);
    free(env);
    return n;
}
