/* proclook.c - read a process's state from /proc in a child, and choose the
 * processes to examine.
 *
 * The first half (targets_find) reads a step's recordings and chooses the
 * processes of this node. The second half (proclook_take, proclook_tasks) reads
 * /proc. */

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
#include "common/fileio.h"
#include "common/knob.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/ingest/logwalk.h"
#include "common/error.h"
#include "orchestrator/evidence/evidence.h"
#include "orchestrator/ingest/hangs.h"

#define TARGETS_VICTIMS 2

/* Limits: communicators counted, and time to read the recordings. */
enum { COMMS = 4096, READ_MS = 8000 };

/* The recordings of a step, read file by file. */
struct reading {
    const struct targets_step *step;
    struct targets *out;
    struct jp_recwalk walk;
    struct hangs_sum sum;
    /* of the file that is being read */
    struct hangs_file file;
    bool *here; /* by process: it is on this node */
    /* also the number of flags in here */
    size_t n_files;
    uint64_t comms[COMMS]; /* hashes of this node's, without duplicates */
    size_t n_comms;
    uint64_t made_ns; /* CLOCK_MONOTONIC of the last one */
    uint64_t end_ms;  /* when to stop reading, CLOCK_MONOTONIC */
};

/* Ends the reading when the time is over, because other nodes' recordings may
 * be large. Ranks whose file was not read are not blamed. */
static int is_over(void *arg)
{
    const struct reading *r = arg;

    return clock_mono_ms() >= r->end_ms;
}

/* Counts a communicator's entries for RAS once, and notes when the last one was
 * made. */
static void note_comm(struct reading *r, const struct jpr_comm *comm)
{
    if (comm->init_mono_ns > r->made_ns)
        r->made_ns = comm->init_mono_ns;
    for (size_t i = 0; i < r->n_comms; i++)
        if (r->comms[i] == comm->id)
            return;
    /* Beyond the limit duplicates are counted again, which only makes RAS less
     * likely to be asked. */
    if (r->n_comms < COMMS)
        r->comms[r->n_comms++] = comm->id;
    r->out->entries += comm->n_ranks > 0 ? (uint64_t) comm->n_ranks : 1;
}

/* Converts NCCL's release number to that of the knobs: 23007 is 2.30.7. */
static uint32_t release_of(uint64_t number)
{
    return number && number < 1000000
               ? JP_NCCL_RELEASE((uint32_t) number / 10000,
                                 (uint32_t) number / 100 % 100,
                                 (uint32_t) number % 100)
               : 0;
}

/* Takes what a RAS query needs from a record of this node. */
static void note(struct reading *r, const struct jpr_record *record)
{
    uint32_t release;

    if (record->type == JPR_COMM) {
        note_comm(r, record->comm);
    } else if (record->type == JPR_HEADER) {
        release = release_of(record->header->nccl_release);
        if (release &&
            /* The oldest release decides whether a query is safe. */
            (!r->out->nccl_release || release < r->out->nccl_release))
            r->out->nccl_release = release;
    }
}

/* Whether the file is below raw/<node>/. */
static bool is_here(const struct reading *r)
{
    size_t len = strlen(r->step->node);
    const char *below = r->walk.below;

    below += *below == '/';
    /* own: only this node's folder is read. */
    if (r->step->own)
        return true;
    return strncmp(below, r->step->node, len) == 0 && below[len] == '/';
}

/* Reads one recording into the sum. Returns -1 without memory. */
static int read_file(struct reading *r)
{
    bool here = is_here(r);
    struct hangs_evidence evidence;
    struct jpr_record record;
    bool *more;
    int rc;

    while (recwalk_record(&r->walk, &record)) {
        if (here)
            note(r, &record);
        if (hangs_file_add(&r->file, &r->walk.file, &record) < 0)
            return -1;
    }
    if (hangs_file_end(&r->file, &r->walk.file, &evidence) < 0)
        return -1;
    rc = hangs_sum_add(&r->sum, &evidence);
    hangs_evidence_fini(&evidence);
    more = realloc(r->here, (r->n_files + 1) * sizeof(*more));
    if (rc < 0 || !more)
        return -1;
    /* One flag for each process, in the order of hangs_sum_add. */
    r->here = more;
    r->here[r->n_files++] = here;
    return 0;
}

/* Reads all recordings. A step without a recorder has no folder; that is no
 * error. */
static int read_all(struct reading *r, struct jp_error *err)
{
    char *raw = r->step->own
                    ? text_format("%s/raw/%s", r->step->dir, r->step->node)
                    : text_format("%s/raw", r->step->dir);
    const char *inputs[] = {raw};
    int rc = raw ? 0 : error_set(err, "out of memory");
    bool there = raw && stepdir_is_folder(raw);

    if (there)
        rc = recwalk_init(&r->walk, inputs, 1, err);
    if (there && rc == 0) {
        /* The walk calls it while it reads large files. */
        r->walk.look = is_over;
        r->walk.look_arg = r;
        while (rc == 0 && recwalk_open(&r->walk))
            rc = read_file(r);
        if (rc == 0)
            rc = hangs_sum_finish(&r->sum);
        if (rc < 0)
            error_set(err, "out of memory");
        r->out->recordings = r->walk.files;
        r->out->unread = r->walk.stopped;
        hangs_sum_fini(&r->sum);
        hangs_file_fini(&r->file);
        recwalk_fini(&r->walk);
    }
    free(raw);
    return rc;
}

/* Adds a process once, with the role it was found in first. */
static void add(struct targets *out, int64_t pid, int64_t task,
                enum evidence_role role)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->list[i].pid == pid)
            return;
    if (pid <= 0)
        return;
    if (out->n < EVIDENCE_TARGETS)
        out->list[out->n++] = (struct evidence_target){pid, task, role};
    else
        out->left_out++;
}

/* Adds a process by its index in the sum, if it is on this node. */
static void add_process(const struct reading *r, uint32_t process,
                        enum evidence_role role)
{
    const struct hangs_process *p;

    if (process >= r->n_files || !r->here[process])
        return;
    p = &r->out->hangs.processes[process];
    add(r->out, p->pid, p->task, role);
}

/* Whether a rank has not entered the operation, as far as is known. */
static bool is_missing(enum hangs_state state)
{
    return state == HANGS_MISSING || state == HANGS_HELD ||
           state == HANGS_UNSURE;
}

/* Adds the ranks known not to have entered the group's operation. */
static void add_missing(const struct reading *r,
                        const struct hangs_group *group)
{
    for (uint32_t i = 0; group->states && i < group->n_ranks; i++)
        if (is_missing((enum hangs_state) group->states[i]))
            add_process(r, group->processes[i], EVIDENCE_MISSING);
}

/* Waiting processes that are chosen so far, of all groups. */
static size_t count_waiting(const struct targets *out)
{
    size_t n = 0;

    for (size_t i = 0; i < out->n; i++)
        n += out->list[i].role == EVIDENCE_WAITING;
    return n;
}

/* Adds processes that wait in the group's operation, up to the limit over all
 * groups. */
static void add_waiting(const struct reading *r,
                        const struct hangs_group *group)
{
    const struct jp_hangs *hangs = &r->out->hangs;

    for (size_t i = 0;
         i < group->n_ops && count_waiting(r->out) < TARGETS_VICTIMS; i++)
        add_process(r, hangs->ops[group->first + i].process, EVIDENCE_WAITING);
}

/* Missing ranks first: they are the likely cause. */
static void choose(const struct reading *r)
{
    const struct jp_hangs *hangs = &r->out->hangs;
    size_t n_missing;

    for (size_t i = 0; i < hangs->n_groups; i++)
        add_missing(r, &hangs->groups[i]);
    n_missing = r->out->n;
    /* keeps room for waiting ranks */
    if (n_missing > EVIDENCE_TARGETS - TARGETS_VICTIMS) {
        r->out->left_out += n_missing - (EVIDENCE_TARGETS - TARGETS_VICTIMS);
        r->out->n = EVIDENCE_TARGETS - TARGETS_VICTIMS;
    }
    for (size_t i = 0; i < hangs->n_groups; i++)
        add_waiting(r, &hangs->groups[i]);
}

/* Chooses all tasks of the node, because the missing ranks are unknown. */
static void choose_all(const struct targets_step *step, struct targets *out)
{
    struct proclook_task tasks[EVIDENCE_TARGETS];
    const struct proclook_step of = {step->job, step->step, step->node};
    size_t n = proclook_tasks(step->root, &of, tasks, EVIDENCE_TARGETS);

    for (size_t i = 0; i < n; i++)
        add(out, tasks[i].pid, tasks[i].task, EVIDENCE_TASK);
}

/* The recordings first; /proc only if nothing is in flight. */
int targets_find(const struct targets_step *step, struct targets *out,
                 struct jp_error *err)
{
    struct reading *r = calloc(1, sizeof(*r));
    uint64_t now_ms = clock_mono_ms();
    int rc = -1;

    *out = (struct targets){.quiet_ms = UINT64_MAX};
    if (!r)
        return error_set(err, "out of memory");
    r->step = step;
    /* Without recordings no communicator was made, as far as is known. */
    r->out = out;
    r->sum.hangs = &out->hangs;
    r->end_ms = now_ms + READ_MS;
    if (read_all(r, err) == 0) {
        if (r->made_ns)
            out->quiet_ms = now_ms > r->made_ns / 1000000
                                ? now_ms - r->made_ns / 1000000
                                : 0;
        if (out->hangs.n_groups && !step->own)
            hangs_answer(&out->hangs, out->answer, sizeof(out->answer));
        if (!step->own)
            choose(r);
        if (!out->n && !out->hangs.n_groups && !step->own)
            choose_all(step, out);
        rc = 0;
    }
    if (rc < 0)
        targets_fini(out);
    free(r->here);
    free(r);
    return rc;
}

void targets_fini(struct targets *targets)
{
    hangs_fini(&targets->hangs);
    targets->hangs = (struct jp_hangs){0};
}

/* --- /proc ---------------------------------------------------------------- */

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
