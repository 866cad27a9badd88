/* evidence.c - examine stuck processes, each part in a child with a limit.
 *
 * evidence_take is the entry and shows the order of the parts: first the cheap
 * and safe ones, last the stacks, which stop a thread. The processes are opened
 * and checked once (open_processes); a part that needs a number, as a tracer,
 * checks directly before and after. Each part appends a
 * struct part with its file, or with the reason why there is none. The state of
 * all processes is read twice, one second apart, to measure their CPU time. */
#include "orchestrator/evidence/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/num.h"
#include "orchestrator/collect/clock.h"

enum {
    LOOK_MS = 3000,     /* /proc of one process */
    APART_MS = 1000,    /* between two looks, to measure CPU time */
    RECORDER_MS = 4000, /* PyTorch writing its files */
    GPUS_MS = 5000,     /* nvidia-smi */
    STACK_MS = 5000,    /* one eu-stack */
    SETTLE_MS = 300,    /* until a signal of a killed tool takes effect */
    /* time that a stage leaves for the later stages */
    AFTER_LOOKS_MS = 11000,
    AFTER_RECORDER_MS = 9000,
    AFTER_RAS_MS = 6000,
    AFTER_GPUS_MS = 4000,
    FRAMES = 128,
    FLIGHTS = 1024,
    ASKED_S = 60 /* after this time, another query is allowed */
};

#define SYSTEM_PATH "/usr/local/bin:/usr/bin:/bin"
/* Where root's tools are; folders that others than root can change are left
 * out. */
static const char *const root_folders[] = {"/usr/local/sbin", "/usr/local/bin",
                                           "/usr/sbin",       "/usr/bin",
                                           "/sbin",           "/bin"};

/* A part that was tried: its file, or why there is none. */
struct part {
    const char *name;
    int64_t pid; /* 0: concerns the node */
    char file[64], why[200];
    uint64_t ms;
};

enum { PARTS = 4 * EVIDENCE_TARGETS + 3 };

const char *const evidence_role_words[EVIDENCE_N_ROLES] = {"missing", "waiting",
                                                           "task"};

/* Everything that is collected. */
struct taking {
    const struct evidence_order *order;
    char *folder;
    uint64_t start_ms, end_ms; /* end_ms: no part may run longer */
    /* by target; closed: it is not examined, and gone says why */
    struct ownproc procs[EVIDENCE_TARGETS];
    const char *gone[EVIDENCE_TARGETS];
    /* the two looks, in memory shared with children */
    struct proclook *looks, *later;
    /* in the order in which they were tried */
    struct part parts[PARTS];
    size_t n_parts;
    /* empty if RAS was not queried */
    struct ras_answer ras;
};

/* --- parts ---------------------------------------------------------------- */

/* The time limit of a part: ms, but no more than what remains after reserving
 * others_ms; half of the rest if the reserve is too large. Never 0, so a child
 * that starts too late is killed at once. */
static uint32_t limit_of(const struct taking *taking, uint32_t ms,
                         uint32_t others_ms)
{
    uint64_t now = clock_mono_ms();
    uint64_t left = taking->end_ms > now ? taking->end_ms - now : 1;

    left = left > 2 * (uint64_t) others_ms ? left - others_ms : (left + 1) / 2;
    return left < ms ? (uint32_t) left : ms;
}

/* Whether there is enough time to do more than start. */
static bool is_time(const struct taking *taking, struct part *part)
{
    if (limit_of(taking, LOOK_MS, 0) >= 50)
        return true;
    snprintf(part->why, sizeof(part->why), "the time limit ran out");
    return false;
}

/* Appends a part; its time starts now. If there are too many, the last one is
 * overwritten. */
static struct part *begin_part(struct taking *taking, const char *name,
                               int64_t pid)
{
    struct part *part = &taking->parts[taking->n_parts];

    *part = (struct part){.name = name, .pid = pid, .ms = clock_mono_ms()};
    if (taking->n_parts + 1 < PARTS)
        taking->n_parts++;
    return part;
}

static void end_part(struct part *part)
{
    part->ms = clock_mono_ms() - part->ms;
}

/* Sets why the part has no file. */
static void say_no(struct part *part, const char *why)
{
    snprintf(part->why, sizeof(part->why), "%.199s", why);
}

/* Writes the part's file, or notes why that failed. */
static void write_part(const struct taking *taking, struct part *part,
                       const char *name, const char *text, size_t len)
{
    char *path = text_format("%s/%s", taking->folder, name);
    struct jp_error err = {"out of memory"};

    if (path && fileio_write(path, text, len, &err) == 0)
        snprintf(part->file, sizeof(part->file), "%.63s", name);
    else
        say_no(part, err.text);
    free(path);
}

/* Why a process is not examined, by the errno of ownproc_open. */
static const char *why_gone(int error)
{
    switch (error) {
    case ESRCH:
        return "the process has ended";
    case ESTALE:
        return "the process has ended, and another one has its number";
    case EPERM:
        return "the process with this number belongs to another user";
    default:
        return strerror(error);
    }
}

/* Opens the processes, and checks whose they are. */
static void open_processes(struct taking *taking)
{
    const struct evidence_order *order = taking->order;

    for (size_t i = 0; i < order->n_targets; i++) {
        const struct evidence_target *target = &order->targets[i];
        const struct ownproc_name name = {
            .root = order->root,
            .pid = target->pid,
            .pid_namespace = target->pid_namespace,
            .start = target->start,
            .uid = order->step.uid};

        if (ownproc_open(&name, &taking->procs[i], NULL) < 0)
            taking->gone[i] = why_gone(errno);
    }
}

/* Looks at all processes. again: the second look, which is not a part of its
 * own. */
static void take_looks(struct taking *taking, bool again)
{
    for (size_t i = 0; i < taking->order->n_targets; i++) {
        const struct ownproc *proc = &taking->procs[i];
        struct proclook *look = again ? &taking->later[i] : &taking->looks[i];
        struct part *part =
            again ? NULL
                  : begin_part(taking, "threads",
                               proc->dir >= 0 ? proc->pid
                                              : taking->order->targets[i].pid);
        const struct proclook_ask ask = {
            proc, taking->order->step.job, again,
            limit_of(taking, LOOK_MS, AFTER_LOOKS_MS)};

        if (proc->dir >= 0)
            proclook_take(&ask, look);
        if (!part)
            continue;
        /* The order of the tests matters: of a foreign or late process nothing
         * is read, so it is not "there" either.
         */
        if (taking->gone[i])
            say_no(part, taking->gone[i]);
        else if (look->foreign)
            say_no(part, "the process has ended, or belongs to another job");
        else if (look->late)
            say_no(part,
                   "/proc does not answer: the process may wait for a disk");
        else if (!look->there)
            say_no(part, "the process has ended");
        end_part(part);
    }
}

/* Opens a file that the process has named in its environment. It must be of the
 * step's user and have that type; no link, and no second name of another file.
 * Returns a descriptor, or -1 with errno; EPERM: it is another file. */
static int open_named(const struct ownproc *proc, const char *path, int flags,
                      mode_t type)
{
    int fd = ownproc_open_inside(proc->dir, path, flags);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) < 0 || (st.st_mode & S_IFMT) != type ||
                    st.st_uid != proc->uid || st.st_nlink != 1)) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

/* Makes PyTorch write its flight recorder to its file by sending a byte through
 * this pipe. The program continues. */
static void wake_recorder(const struct ownproc *proc,
                          const struct proclook *look, struct part *part)
{
    /* It is opened without blocking: one that nobody reads would wait for
     * ever. */
    int fd = open_named(proc, look->pipe, O_WRONLY, S_IFIFO);

    if (fd < 0)
        say_no(part, errno == ENXIO   ? "no process reads its pipe"
                     : errno == EPERM ? "its pipe is not a pipe of the user"
                                      : strerror(errno));
    else if (write(fd, "1", 1) != 1)
        say_no(part, strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* 20,000 calls with their stacks. */
#define DUMP_BYTES (16UL << 20)

/* A recorder that was woken, and its part. */
struct dump {
    const struct ownproc *proc;
    const struct proclook *look;
    struct part *part;
};

/* Opens the dump if it was written since then: an older one belongs to an
 * earlier request. *path is where it is. */
static int open_dump(const struct dump *dump, time_t since, const char **path)
{
    for (size_t i = 0; i < PROCLOOK_DUMPS; i++) {
        struct stat st;
        int fd;

        *path = dump->look->dumps[i];
        if (!**path)
            continue;
        fd = open_named(dump->proc, *path, O_RDONLY, S_IFREG);
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 &&
            st.st_mtime >= since)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* Copies a small dump, because the process may be gone soon. The original stays
 * where PyTorch has written it. Returns -1 if there is none yet. */
static int fetch_dump(struct taking *taking, struct dump *dump, time_t since)
{
    const struct proclook *look = dump->look;
    struct jp_error err = {""};
    char name[64], *text = NULL;
    const char *path;
    int fd = open_dump(dump, since, &path);
    size_t len = 0;

    if (fd < 0)
        return -1;
    usleep(100000); /* lets PyTorch complete it: it writes without a pause */
    snprintf(name, sizeof(name), "flight-%" PRId64 "-rank%s.pickle", look->pid,
             look->rank);
    if (fileio_read_fd(fd, path, DUMP_BYTES, &text, &len, &err) < 0)
        say_no(dump->part, err.text);
    else
        write_part(taking, dump->part, name, text, len);
    close(fd);
    free(text);
    end_part(dump->part);
    return 0;
}

/* Whether a place of the dump is known. */
static bool has_dump(const struct proclook *look)
{
    for (size_t i = 0; i < PROCLOOK_DUMPS; i++)
        if (*look->dumps[i])
            return true;
    return false;
}

/* Wakes all recorders first, so that they write at the same time. */
static size_t wake_recorders(struct taking *taking, struct dump *dumps)
{
    size_t n = 0;

    for (size_t i = 0; i < taking->order->n_targets; i++) {
        const struct ownproc *proc = &taking->procs[i];
        const struct proclook *look = &taking->looks[i];
        struct part *part;

        if (!*look->pipe || !look->there)
            continue;
        part = begin_part(taking, "flight recorder", look->pid);
        wake_recorder(proc, look, part);
        if (!*part->why && !has_dump(look))
            say_no(part, "requested; where it writes is unknown");
        if (*part->why)
            end_part(part);
        else
            dumps[n++] = (struct dump){proc, look, part};
    }
    return n;
}

/* Waits for the dumps of all woken recorders together. */
static void take_recorders(struct taking *taking)
{
    time_t since = time(NULL) - 1; /* file systems may round times down */
    struct dump dumps[EVIDENCE_TARGETS];
    size_t n = wake_recorders(taking, dumps);
    uint64_t end_ms = clock_mono_ms() +
                      limit_of(taking, RECORDER_MS, AFTER_RECORDER_MS);
    bool late = false;

    while (n > 0 && !late) {
        /* One more attempt after the time limit, because the last sleep may
         * have been long. */
        late = clock_mono_ms() >= end_ms;
        for (size_t i = n; i-- > 0;)
            if (fetch_dump(taking, &dumps[i], since) == 0)
                dumps[i] = dumps[--n];
        if (n > 0 && !late)
            usleep(50000);
    }
    for (size_t i = 0; i < n; i++) {
        say_no(dumps[i].part, "requested, but no file was written");
        end_part(dumps[i].part);
    }
}

/* Uses the address that the processes have set. Returns NULL if RAS is on,
 * otherwise why it is not. */
static const char *set_address(const struct taking *taking,
                               struct ras_question *question)
{
    for (size_t i = 0; i < taking->order->n_targets; i++) {
        const struct proclook *look = &taking->looks[i];

        if (look->no_ras)
            return "it is switched off: NCCL_RAS_ENABLE=0";
        if (!question->address && *look->ras)
            question->address = look->ras;
    }
    return NULL;
}

/* Claims the query for this node: the first node that creates the file asks for
 * all. Returns NULL if that is this node. */
static const char *claim_question(const struct taking *taking)
{
    char *path =
        text_format("%s/" EVIDENCE_FOLDER "/.ras-asked", taking->order->dir);
    const char *why = NULL;
    struct stat st;
    int fd = -1;

    /* A claim is never given back: one older than ASKED_S is of an earlier
     * query, and is removed once. */
    for (int i = 0; path && i < 2 && fd < 0 && !why; i++) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0)
            close(fd);
        else if (errno == EEXIST && i == 0 && lstat(path, &st) == 0 &&
                 time(NULL) - st.st_mtime > ASKED_S)
            unlink(path);
        else
            why = "it was queried a moment ago, from this or another node";
    }
    free(path);
    return why;
}

/* Queries RAS, unless any reason speaks against it. */
static void take_ras(struct taking *taking)
{
    struct ras_question question = taking->order->ras;
    struct part *part = begin_part(taking, "RAS", 0);
    const char *why = taking->order->no_ras;
    struct jp_error err = {""};

    question.limit_ms = limit_of(taking, RAS_LIMIT_MS, AFTER_RAS_MS);
    question.step = &taking->order->step;
    if (!why)
        why = set_address(taking, &question);
    /* Before the claim: RAS may listen on another node of the step. */
    if (!why && ras_listens(&question, &err) < 0)
        why = err.text;
    if (!why)
        why = claim_question(taking);
    if (why)
        say_no(part, why);
    else if (ras_ask(&question, &taking->ras, &err) < 0)
        say_no(part, err.text);
    else
        write_part(taking, part, taking->ras.json ? "ras.json" : "ras.txt",
                   taking->ras.text, taking->ras.len);
    end_part(part);
}

/* A program to run, and where its output goes. */
struct tool {
    const char *name;
    const char *file; /* file for its output */
    char *const *argv;
    int64_t pid; /* 0: concerns the node */
    uint32_t limit_ms;
    bool partly;                /* exit status 1 means partial output */
    const struct ownproc *proc; /* the process that it gets by number */
};

/* Whether the number is still that of the process. */
static bool is_still(const struct tool *tool, struct part *part)
{
    if (!tool->proc || ownproc_check(tool->proc, NULL) == 0)
        return true;
    say_no(part, why_gone(errno));
    return false;
}

/* Runs the tool as a part. Returns how the child ended. */
static enum child_end run_tool(struct taking *taking, const struct tool *tool)
{
    struct part *part = begin_part(taking, tool->name, tool->pid);
    struct child child = {.argv = tool->argv,
                          .with_stderr = true,
                          .dies_with_us = true,
                          .limit_ms = tool->limit_ms,
                          .term_ms = 500,
                          .out = malloc(EVIDENCE_STACK_BYTES),
                          .room = EVIDENCE_STACK_BYTES};
    struct child_result r = {.len = 0};
    enum child_end end = CHILD_NEVER;

    /* Without memory or time the tool is not started, nor for a process that
     * has ended. */
    if (child.out && is_time(taking, part) && is_still(tool, part)) {
        end = child_run(&child, &r);
        /* As the process lives, its number was its own all the time. Otherwise
         * the tool may have read another process. */
        if (!is_still(tool, part)) {
            free(child.out);
            end_part(part);
            return end;
        }
    }
    if (end == CHILD_NEVER && !*part->why)
        say_no(part, "it could not be started");
    /* child.c exits with 127 if the program is not found, as a shell does. */
    else if (end == CHILD_ENDED && WIFEXITED(r.status) &&
             WEXITSTATUS(r.status) == 127)
        say_no(part, "it is not installed");
    else if (r.len > 0)
        write_part(taking, part, tool->file, child.out, r.len);
    if (end == CHILD_LATE)
        say_no(part, "it took too long and was killed");
    else if (end == CHILD_ENDED && !child_succeeded(end, &r) && !*part->why &&
             !(tool->partly && r.len && WEXITSTATUS(r.status) == 1))
        say_no(part, r.len ? "it failed: see its file" : "it failed");
    free(child.out);
    end_part(part);
    return end;
}

/* Runs in a child with a limit. If the driver hangs, nvidia-smi hangs as well,
 * which is a result, too. */
static void take_gpus(struct taking *taking)
{
    char *argv[] = {(char *) "nvidia-smi", (char *) "-q", (char *) "-d",
                    (char *) "UTILIZATION,POWER,CLOCK,TEMPERATURE,ECC,"
                             "PERFORMANCE,PIDS,ROW_REMAPPER",
                    NULL};
    const struct tool tool = {
        .name = "nvidia-smi",
        .file = "gpus.txt",
        .argv = argv,
        .limit_ms = limit_of(taking, GPUS_MS, AFTER_GPUS_MS)};

    if (!taking->order->no_gpus)
        run_tool(taking, &tool);
}

static const struct proclook_thread *find_thread(const struct proclook *look,
                                                 int64_t tid)
{
    for (uint32_t i = 0; i < look->n_threads; i++)
        if (look->threads[i].tid == tid)
            return &look->threads[i];
    return NULL;
}

/* Returns why a process must not be traced, or NULL. Tracing must not leave it
 * stopped. A thread waiting in the kernel would be stopped later, by a signal
 * that is delivered when it wakes. */
static const char *why_no_stack(const struct taking *taking, size_t i)
{
    const struct proclook *look = &taking->looks[i], *later = &taking->later[i];

    if (look->tracer)
        return "a debugger has stopped it";
    for (uint32_t k = 0; k < look->n_threads; k++) {
        const struct proclook_thread *again =
            find_thread(later, look->threads[k].tid);

        if (look->threads[k].state == 'D' && (!again || again->state == 'D'))
            return "a thread waits in the kernel, state D";
    }
    return NULL;
}

/* Runs a tool that stops the process while it reads a stack. */
static void take_stack(struct taking *taking, size_t i, const char *name,
                       const char *prefix, char *const *argv)
{
    const struct proclook *look = &taking->looks[i];
    char file[64];
    const struct tool tool = {name,
                              file,
                              argv,
                              look->pid,
                              limit_of(taking, STACK_MS, 0),
                              .partly = true,
                              .proc = &taking->procs[i]};

    /* A tool that was killed may leave the process stopped. */
    snprintf(file, sizeof(file), "%s-%" PRId64 ".txt", prefix, look->pid);
    proclook_wake(&taking->procs[i], look,
                  run_tool(taking, &tool) == CHILD_LATE ? SETTLE_MS : 0);
}

/* The fixed folders that only root can change, as a PATH. Caller frees; NULL:
 * no memory. */
static char *root_path(void)
{
    char *path = strdup("");

    for (size_t i = 0; path && i < sizeof(root_folders) / sizeof(*root_folders);
         i++) {
        char *more;

        if (access(root_folders[i], X_OK) < 0 ||
            ownplace_check(root_folders[i], NULL) < 0)
            continue;
        more = text_format("%s%s%s", path, *path ? ":" : "", root_folders[i]);
        free(path);
        path = more;
    }
    return path;
}

/* PATH with that of the processes, which usually contains py-spy, and which the
 * agent does not have. They are all of this user. Caller frees; NULL: no
 * memory. */
static char *users_path(const struct taking *taking)
{
    const char *own = getenv("PATH"), *theirs = "";

    for (size_t i = 0; i < taking->order->n_targets && !*theirs; i++)
        theirs = taking->looks[i].path;
    return text_format("%s%s%s", own && *own ? own : SYSTEM_PATH,
                       *theirs ? ":" : "", theirs);
}

/* Sets where the tools are searched. Root takes nothing from the processes:
 * they are root's, but may run in a container or folder of another user. */
static int set_path(const struct taking *taking, struct jp_error *err)
{
    const char *tools = taking->order->tools;
    char *path = tools            ? strdup(tools)
                 : geteuid() == 0 ? root_path()
                                  : users_path(taking);
    int rc = path ? 0 : error_set(err, "out of memory");

    /* An empty PATH would mean the current folder. */
    if (rc == 0 && setenv("PATH", *path ? path : "/usr/bin", 1) < 0)
        rc = error_set(err, "out of memory");
    free(path);
    return rc;
}

/* eu-stack for native frames, py-spy for Python's; the latter is often missing.
 */
static void take_stacks(struct taking *taking)
{
    unsetenv("DEBUGINFOD_URLS"); /* prevents minutes of waiting for a debug
                                  * server */
    for (size_t i = 0; i < taking->order->n_targets; i++) {
        const struct proclook *look = &taking->looks[i];
        const char *why = why_no_stack(taking, i);
        char pid[24], frames[8];
        char *eu_stack[] = {
            (char *) "eu-stack", (char *) "-m", (char *) "-n", frames,
            (char *) "-p",       pid,           NULL};
        char *py_spy[] = {(char *) "py-spy",        (char *) "dump",
                          (char *) "--pid",         pid,
                          (char *) "--nonblocking", NULL};

        if (!look->there)
            continue;
        if (why) {
            struct part *part = begin_part(taking, "eu-stack", look->pid);

            say_no(part, why);
            end_part(part);
            continue;
        }
        snprintf(pid, sizeof(pid), "%" PRId64, look->pid);
        snprintf(frames, sizeof(frames), "%d", FRAMES);
        take_stack(taking, i, "eu-stack", "stack", eu_stack);
        take_stack(taking, i, "py-spy", "python", py_spy);
    }
}

/* --- the result ----------------------------------------------------------- */

/* The members of evidence.json are documented in docs/live.md. */
static void put_threads(struct jp_json_stream *s, const struct proclook *look,
                        const struct proclook *later)
{
    json_stream_array(s, "threads");
    for (uint32_t i = 0; i < look->n_threads; i++) {
        const struct proclook_thread *t = &look->threads[i];
        const struct proclook_thread *again = find_thread(later, t->tid);
        /* The difference is unknown if the thread has ended, or if its id was
         * reused. */
        bool known = again && again->cpu_ms >= t->cpu_ms;
        char state[2] = {t->state, '\0'};

        json_stream_object(s, NULL);
        json_stream_int(s, "tid", t->tid);
        json_stream_text(s, "name", t->name);
        json_stream_text(s, "state", state);
        json_stream_text(s, "wchan", t->wchan);
        json_stream_text(s, "syscall", t->syscall);
        json_stream_count(s, "cpu_ms", t->cpu_ms);
        json_stream_known(s, "cpu_ms_after", known,
                          known ? again->cpu_ms - t->cpu_ms : 0);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

static void put_processes(struct jp_json_stream *s, const struct taking *taking)
{
    json_stream_array(s, "processes");
    for (size_t i = 0; i < taking->order->n_targets; i++) {
        const struct evidence_target *target = &taking->order->targets[i];
        const struct proclook *look = &taking->looks[i];
        const struct ownproc *proc = &taking->procs[i];
        bool open = proc->dir >= 0;

        json_stream_object(s, NULL);
        json_stream_int(s, "pid", open ? proc->pid : target->pid);
        json_stream_count(s, "start", open ? proc->start : target->start);
        json_stream_int(s, "task",
                        /* The target's task comes from the recording, otherwise
                         * from the process's environment. */
                        target->task < 0 && look->has_task ? look->task
                                                           : target->task);
        json_stream_text(s, "role", evidence_role_words[target->role]);
        json_stream_bool(s, "there", look->there);
        json_stream_count(s, "tracer", look->tracer);
        json_stream_count(s, "read_bytes", look->read_bytes);
        json_stream_count(s, "written_bytes", look->written_bytes);
        json_stream_count(s, "threads_left_out", look->left_out);
        put_threads(s, look, &taking->later[i]);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

static void put_ras(struct jp_json_stream *s, const struct ras_answer *ras)
{
    json_stream_array(s, "ras");
    for (size_t i = 0; i < ras->n_rows; i++) {
        const struct ras_row *row = &ras->rows[i];
        char comm[24];

        snprintf(comm, sizeof(comm), "0x%" PRIx64, row->comm);
        json_stream_object(s, NULL);
        json_stream_text(s, "kind", ras_kind_words[row->kind]);
        json_stream_text(s, "comm", comm);
        json_stream_int(s, "rank", row->rank);
        json_stream_int(s, "pid", row->pid);
        json_stream_text(s, "host", row->host);
        json_stream_text(s, "func", row->func);
        json_stream_text(s, "word", row->word);
        json_stream_count(s, "launched", row->count);
        json_stream_count(s, "most", row->most);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes the operations in flight on this node. */
static void put_flights(struct jp_json_stream *s, const struct jp_hangs *hangs)
{
    char text[400];

    json_stream_array(s, "in_flight");
    for (size_t i = 0; hangs && i < hangs->n_ops && i < FLIGHTS; i++) {
        const struct hangs_op *op = &hangs->ops[i];
        /* -1: the start is unknown. */
        int64_t age_ns = hangs_age_ns(op);

        json_stream_object(s, NULL);
        json_stream_int(s, "pid", hangs->processes[op->process].pid);
        json_stream_int(s, "rank", op->rank);
        json_stream_text(s, "operation",
                         hangs_format_op(op, text, sizeof(text)));
        json_stream_known(s, "in_flight_us", age_ns >= 0,
                          age_ns >= 0 ? (uint64_t) age_ns / 1000 : 0);
        json_stream_count(s, "channels", op->channels);
        json_stream_count(s, "started", op->started);
        json_stream_count(s, "stopped", op->stopped);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

static void put_parts(struct jp_json_stream *s, const struct taking *taking)
{
    json_stream_array(s, "parts");
    for (size_t i = 0; i < taking->n_parts; i++) {
        const struct part *part = &taking->parts[i];

        json_stream_object(s, NULL);
        json_stream_text(s, "part", part->name);
        json_stream_int(s, "pid", part->pid);
        json_stream_text(s, "file", part->file);
        json_stream_text(s, "why", part->why);
        json_stream_count(s, "ms", part->ms);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes evidence.json by temp + rename, so that readers never see half of it.
 */
static int write_summary(const struct taking *taking, struct jp_error *err)
{
    char *path = text_format("%s/" EVIDENCE_NAME, taking->folder);
    struct jp_json_stream *s = calloc(1, sizeof(*s));
    struct jp_tempfile file = {0};
    int rc = -1;

    if (!path || !s) {
        error_set(err, "out of memory");
    } else if (fileio_temp_open(&file, path, err) == 0) {
        json_stream_open(s, JSON_FILE, file.stream);
        json_stream_count(s, "version", 1);
        json_stream_text(s, "node", taking->order->node);
        json_stream_text(s, "hang", taking->order->what);
        json_stream_count(s, "taken_us", clock_real_us());
        json_stream_count(s, "ms", clock_mono_ms() - taking->start_ms);
        put_parts(s, taking);
        put_processes(s, taking);
        put_flights(s, taking->order->hangs);
        put_ras(s, &taking->ras);
        rc = json_stream_close(s, err);
        if (rc == 0)
            rc = fileio_temp_commit(&file, err);
        else
            fileio_temp_abort(&file);
    }
    free(path);
    free(s);
    return rc;
}

static int make_folder(const struct taking *taking, struct jp_error *err)
{
    char *hang = text_format("%s/" EVIDENCE_FOLDER, taking->order->dir);
    int rc = -1;

    if (!hang)
        error_set(err, "out of memory");
    else if (fileio_mkdir(hang, err) == 0)
        rc = fileio_mkdir(taking->folder, err);
    free(hang);
    return rc;
}

int evidence_take(const struct evidence_order *order, struct jp_error *err)
{
    /* One look per process, in one block of shared memory. */
    size_t bytes = EVIDENCE_TARGETS * sizeof(struct proclook);
    struct taking *taking = calloc(1, sizeof(*taking));
    uint64_t apart_ms;
    int rc = -1;

    if (!taking)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < EVIDENCE_TARGETS; i++)
        taking->procs[i] = OWNPROC_CLOSED;
    taking->order = order;
    taking->start_ms = clock_mono_ms();
    taking->end_ms = taking->start_ms +
                     (order->limit_ms ? order->limit_ms : EVIDENCE_LIMIT_MS);
    taking->folder =
        text_format("%s/" EVIDENCE_FOLDER "/%s", order->dir, order->node);
    taking->looks = child_alloc(bytes);
    taking->later = child_alloc(bytes);
    if (!taking->folder || !taking->looks || !taking->later)
        error_set(err, "out of memory");
    else if (order->n_targets > EVIDENCE_TARGETS)
        error_set(err, "%zu processes, at most %d", order->n_targets,
                  EVIDENCE_TARGETS);
    else if (make_folder(taking, err) == 0) {
        open_processes(taking);
        take_looks(taking, false);
        if (set_path(taking, err) < 0)
            goto out;
        take_recorders(taking);
        take_ras(taking);
        take_gpus(taking);
        /* The second look must not come too early, or the CPU time would be too
         * coarse. */
        apart_ms = clock_mono_ms() - taking->start_ms;
        if (apart_ms < APART_MS)
            usleep((useconds_t) (APART_MS - apart_ms) * 1000);
        take_looks(taking, true);
        take_stacks(taking);
        rc = write_summary(taking, err);
    }
out:
    for (size_t i = 0; i < EVIDENCE_TARGETS; i++)
        ownproc_close(&taking->procs[i]);
    ras_fini(&taking->ras);
    child_free(taking->looks, bytes);
    child_free(taking->later, bytes);
    free(taking->folder);
    free(taking);
    return rc;
}
