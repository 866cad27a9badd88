/* evidence.c - look at stuck processes, each part in a child with a limit. */
#include "orchestrator/evidence/evidence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/num.h"
#include "orchestrator/collect/clock.h"

enum {
    LOOK_MS = 3000,     /* /proc of one process */
    APART_MS = 1000,    /* between two looks, for processor time */
    RECORDER_MS = 4000, /* PyTorch writes its file */
    STACK_MS = 8000,    /* one eu-stack */
    ENVIRON_BYTES = 256 << 10,
    TEXT_BYTES = 4096,
    FRAMES = 64
};

struct thread {
    int64_t tid;
    char name[32];
    char state;
    uint64_t cpu_ms;
    char wchan[48];
    char syscall[64]; /* number and arguments, "running", or "" */
};

/* One process. A child fills it in: foreign, checked by taken(). */
struct look {
    int64_t pid;
    bool there;
    uint64_t left_out; /* threads */
    uint32_t n_threads;
    struct thread threads[EVIDENCE_THREADS];
    uint64_t tracer;
    uint64_t read_bytes, written_bytes;
    char pipe[512], dump[512]; /* PyTorch's flight recorder; "" */
};

/* A part that was tried: its file, or why there is none. */
struct part {
    const char *name;
    int64_t pid; /* 0: of the node */
    char file[64], why[200];
    uint64_t ms;
};

enum { PARTS = 4 * EVIDENCE_TARGETS + 2 };

struct taking {
    const struct evidence_order *order;
    char *folder;
    uint64_t start_ms, end_ms;
    struct look *looks, *later; /* shared with children */
    struct part parts[PARTS];
    size_t n_parts;
    struct ras_answer ras;
};

/* --- /proc -----------------------------------------------------------------
 */

/* Text of <root>/proc/<pid>/<name>, "" where there is none; its length. */
static size_t read_proc(const char *root, int64_t pid, const char *name,
                        char *text, size_t size)
{
    char path[512];
    size_t len = 0;
    ssize_t n = 1;
    int fd;

    snprintf(path, sizeof(path), "%s/proc/%" PRId64 "/%s", root, pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

static void copy_line(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%.*s", (int) strcspn(from, "\n"), from);
}

static void read_thread(const char *root, int64_t pid, int64_t tid,
                        struct thread *thread)
{
    char name[64], text[TEXT_BYTES];
    long hz = sysconf(_SC_CLK_TCK);
    unsigned long user = 0, system = 0;
    const char *end;

    *thread = (struct thread){.tid = tid, .state = '?'};
    snprintf(name, sizeof(name), "task/%" PRId64 "/comm", tid);
    read_proc(root, pid, name, text, sizeof(text));
    copy_line(thread->name, sizeof(thread->name), text);
    snprintf(name, sizeof(name), "task/%" PRId64 "/stat", tid);
    read_proc(root, pid, name, text, sizeof(text));
    end = strrchr(text, ')');
    if (end && end[1] == ' ') {
        thread->state = end[2];
        /* fields 14 and 15, counted from the state, which is the third */
        if (sscanf(end + 3, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu",
                   &user, &system) == 2)
            thread->cpu_ms = (uint64_t) (user + system) * 1000 /
                             (uint64_t) (hz > 0 ? hz : 100);
    }
    snprintf(name, sizeof(name), "task/%" PRId64 "/wchan", tid);
    read_proc(root, pid, name, text, sizeof(text));
    copy_line(thread->wchan, sizeof(thread->wchan),
              strcmp(text, "0") == 0 ? "" : text);
    snprintf(name, sizeof(name), "task/%" PRId64 "/syscall", tid);
    read_proc(root, pid, name, text, sizeof(text));
    copy_line(thread->syscall, sizeof(thread->syscall), text);
}

static void read_threads(const char *root, struct look *look)
{
    char path[512];
    struct dirent *entry;
    DIR *tasks;

    snprintf(path, sizeof(path), "%s/proc/%" PRId64 "/task", root, look->pid);
    tasks = opendir(path);
    look->there = tasks != NULL;
    while (tasks && (entry = readdir(tasks))) {
        int64_t tid;

        if (num_parse_i64(entry->d_name, 1, INT32_MAX, &tid, NULL) < 0)
            continue;
        if (look->n_threads >= EVIDENCE_THREADS)
            look->left_out++;
        else
            read_thread(root, look->pid, tid,
                        &look->threads[look->n_threads++]);
    }
    if (tasks)
        closedir(tasks);
}

static uint64_t behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* NAME's value in a block of "NAME=value\0", "" where it has none. */
static const char *value_of(const char *block, size_t len, const char *name)
{
    size_t n = strlen(name);

    for (const char *s = block; s < block + len; s += strlen(s) + 1)
        if (strncmp(s, name, n) == 0 && s[n] == '=')
            return s + n + 1;
    return "";
}

/* A path of the process as this one can open it: its mounts may be its own. */
static void set_path(char *to, size_t size, const struct look *look,
                     const char *root, const char *prefix, const char *rank,
                     const char *suffix)
{
    if (*prefix == '/' && *rank)
        snprintf(to, size, "%s/proc/%" PRId64 "/root%s%s%s", root, look->pid,
                 prefix, rank, suffix);
}

static void read_recorder(const char *root, struct look *look, char *env)
{
    size_t len = read_proc(root, look->pid, "environ", env, ENVIRON_BYTES);
    const char *rank = value_of(env, len, "RANK");
    const char *dump = value_of(env, len, "TORCH_FR_DUMP_TEMP_FILE");

    if (!*rank)
        rank = value_of(env, len, "SLURM_PROCID");
    if (!*dump)
        dump = value_of(env, len, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
    if (strspn(rank, "0123456789") != strlen(rank))
        return;
    set_path(look->pipe, sizeof(look->pipe), look, root,
             value_of(env, len, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"), rank,
             ".pipe");
    set_path(look->dump, sizeof(look->dump), look, root, dump, rank, "");
}

struct look_work {
    const char *root;
    struct look *look;
    bool again; /* only processor time is wanted */
};

static int do_look(void *arg, int out)
{
    const struct look_work *work = arg;
    char *env = malloc(ENVIRON_BYTES);
    char text[TEXT_BYTES];

    (void) out;
    read_threads(work->root, work->look);
    if (!work->again && env) {
        read_proc(work->root, work->look->pid, "status", text, sizeof(text));
        work->look->tracer = behind(text, "\nTracerPid:");
        read_proc(work->root, work->look->pid, "io", text, sizeof(text));
        work->look->read_bytes = behind(text, "rchar: ");
        work->look->written_bytes = behind(text, "wchar: ");
        read_recorder(work->root, work->look, env);
    }
    free(env);
    return 0;
}

/* --- parts -----------------------------------------------------------------
 */

static uint64_t left_ms(const struct taking *taking)
{
    uint64_t now = clock_mono_ms();

    return taking->end_ms > now ? taking->end_ms - now : 0;
}

static uint32_t limit_of(const struct taking *taking, uint32_t ms)
{
    uint64_t left = left_ms(taking);

    return left < ms ? (uint32_t) left : ms;
}

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

static void say_no(struct part *part, const char *why)
{
    snprintf(part->why, sizeof(part->why), "%.199s", why);
}

static void write_part(const struct taking *taking, struct part *part,
                       const char *name, const char *text, size_t len)
{
    char *path = fileio_path("%s/%s", taking->folder, name);
    struct jp_error err = {"out of memory"};

    if (path && fileio_write(path, text, len, &err) == 0)
        snprintf(part->file, sizeof(part->file), "%.63s", name);
    else
        say_no(part, err.text);
    free(path);
}

/* What a child has written is bounded by what it may write. */
static void check_look(struct look *look, int64_t pid)
{
    look->pid = pid;
    if (look->n_threads > EVIDENCE_THREADS)
        look->n_threads = EVIDENCE_THREADS;
    look->pipe[sizeof(look->pipe) - 1] = '\0';
    look->dump[sizeof(look->dump) - 1] = '\0';
    for (uint32_t i = 0; i < look->n_threads; i++) {
        struct thread *t = &look->threads[i];

        t->name[sizeof(t->name) - 1] = '\0';
        t->wchan[sizeof(t->wchan) - 1] = '\0';
        t->syscall[sizeof(t->syscall) - 1] = '\0';
    }
}

static void take_looks(struct taking *taking, bool again)
{
    for (size_t i = 0; i < taking->order->n_targets; i++) {
        int64_t pid = taking->order->targets[i].pid;
        struct look *look = again ? &taking->later[i] : &taking->looks[i];
        struct look_work work = {taking->order->root, look, again};
        const struct child child = {.work = do_look,
                                    .arg = &work,
                                    .dies_with_us = true,
                                    .limit_ms = limit_of(taking, LOOK_MS)};
        struct part *part = again ? NULL : begin_part(taking, "threads", pid);
        struct child_result r;
        enum child_end end;

        look->pid = pid;
        end = child_run(&child, &r);
        check_look(look, pid);
        if (!part)
            continue;
        if (end == CHILD_LATE)
            say_no(part, "/proc does not answer: it may wait for a disk");
        else if (!child_succeeded(end, &r))
            say_no(part, "no child");
        else if (!look->there)
            say_no(part, "the process is gone");
        end_part(part);
    }
}

/* PyTorch writes its flight recorder to a file of its own when a byte comes
 * through this pipe; the program goes on. */
static void wake_recorder(const struct look *look, struct part *part)
{
    int fd = open(look->pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;

    if (fd < 0)
        say_no(part,
               errno == ENXIO ? "nobody reads its pipe" : strerror(errno));
    else if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
        say_no(part, "its pipe is no pipe");
    else if (write(fd, "1", 1) != 1)
        say_no(part, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static bool is_fresh(const char *path, time_t since)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_size > 0 && st.st_mtime >= since;
}

/* The file stays where PyTorch puts it; the process may be gone soon, so it is
 * copied where it is small. */
static void fetch_dump(const struct taking *taking, const struct look *look,
                       struct part *part, time_t since)
{
    uint64_t end_ms = clock_mono_ms() + limit_of(taking, RECORDER_MS);
    struct jp_error err = {""};
    char name[64], *text = NULL;
    size_t len = 0;

    if (!*look->dump) {
        say_no(part, "asked for; where it writes is not told");
        return;
    }
    while (!is_fresh(look->dump, since) && clock_mono_ms() < end_ms)
        usleep(50000);
    usleep(100000); /* it is written in one go */
    snprintf(name, sizeof(name), "flight-%" PRId64 ".pickle", look->pid);
    if (!is_fresh(look->dump, since))
        say_no(part, "asked for, and no file came");
    else if (fileio_read(look->dump, false, 4 * EVIDENCE_STACK_BYTES, &text,
                         &len, &err) < 0)
        say_no(part, err.text);
    else
        write_part(taking, part, name, text, len);
    free(text);
}

static void take_recorders(struct taking *taking)
{
    time_t since = time(NULL) - 1;

    for (size_t i = 0; i < taking->order->n_targets; i++) {
        const struct look *look = &taking->looks[i];
        struct part *part;

        if (!*look->pipe || !look->there)
            continue;
        part = begin_part(taking, "flight recorder", look->pid);
        wake_recorder(look, part);
        if (!*part->why)
            fetch_dump(taking, look, part, since);
        end_part(part);
    }
}

static void take_ras(struct taking *taking)
{
    struct ras_question question = taking->order->ras;
    struct part *part = begin_part(taking, "RAS", 0);
    struct jp_error err = {""};

    question.limit_ms = limit_of(taking, RAS_LIMIT_MS);
    if (taking->order->no_ras)
        say_no(part, taking->order->no_ras);
    else if (ras_ask(&question, &taking->ras, &err) < 0)
        say_no(part, err.text);
    else
        write_part(taking, part, taking->ras.json ? "ras.json" : "ras.txt",
                   taking->ras.text, taking->ras.len);
    end_part(part);
}

/* A tool that was killed while it attached may leave the process stopped. */
static void wake_up(const struct taking *taking, const struct look *look)
{
    char text[TEXT_BYTES];
    const char *end;

    read_proc(taking->order->root, look->pid, "stat", text, sizeof(text));
    end = strrchr(text, ')');
    if (!end || end[1] != ' ' || end[2] != 'T')
        return;
    for (uint32_t i = 0; i < look->n_threads; i++)
        if (look->threads[i].tid == look->pid && look->threads[i].state == 'T')
            return; /* it was stopped before */
    read_proc(taking->order->root, look->pid, "status", text, sizeof(text));
    if (!behind(text, "\nTracerPid:"))
        kill((pid_t) look->pid, SIGCONT);
}

static void run_tool(struct taking *taking, const struct look *look,
                     char *const *argv, const char *name, const char *prefix)
{
    struct part *part = begin_part(taking, name, look->pid);
    struct child child = {.argv = argv,
                          .with_stderr = true,
                          .dies_with_us = true,
                          .limit_ms = limit_of(taking, STACK_MS),
                          .term_ms = 500,
                          .out = malloc(EVIDENCE_STACK_BYTES),
                          .room = EVIDENCE_STACK_BYTES};
    struct child_result r = {.len = 0};
    enum child_end end = child.out ? child_run(&child, &r) : CHILD_NEVER;
    char file[64];

    snprintf(file, sizeof(file), "%s-%" PRId64 ".txt", prefix, look->pid);
    if (end == CHILD_NEVER)
        say_no(part, "it could not be started");
    else if (end == CHILD_ENDED && WIFEXITED(r.status) &&
             WEXITSTATUS(r.status) == 127)
        say_no(part, "it is not installed");
    else if (r.len > 0)
        write_part(taking, part, file, child.out, r.len);
    if (end == CHILD_LATE)
        say_no(part, "it was late and was killed");
    else if (end == CHILD_ENDED && !child_succeeded(end, &r) && !*part->why)
        say_no(part, "it failed: its output says why");
    free(child.out);
    wake_up(taking, look);
    end_part(part);
}

static void take_stacks(struct taking *taking)
{
    unsetenv("DEBUGINFOD_URLS"); /* a server would be asked for minutes */
    for (size_t i = 0; i < taking->order->n_targets; i++) {
        const struct look *look = &taking->looks[i];
        char pid[24], frames[8];
        char *eu_stack[] = {(char *) "eu-stack", (char *) "-n", frames,
                            (char *) "-p",       pid,           NULL};
        char *py_spy[] = {(char *) "py-spy",        (char *) "dump",
                          (char *) "--pid",         pid,
                          (char *) "--nonblocking", NULL};

        if (!look->there)
            continue;
        snprintf(pid, sizeof(pid), "%" PRId64, look->pid);
        snprintf(frames, sizeof(frames), "%d", FRAMES);
        run_tool(taking, look, eu_stack, "eu-stack", "stack");
        run_tool(taking, look, py_spy, "py-spy", "python");
    }
}

/* --- what was taken --------------------------------------------------------
 */

static const struct thread *same_thread(const struct look *look, int64_t tid)
{
    for (uint32_t i = 0; i < look->n_threads; i++)
        if (look->threads[i].tid == tid)
            return &look->threads[i];
    return NULL;
}

static void put_threads(struct jp_json_stream *s, const struct look *look,
                        const struct look *later)
{
    json_stream_array(s, "threads");
    for (uint32_t i = 0; i < look->n_threads; i++) {
        const struct thread *t = &look->threads[i];
        const struct thread *again = same_thread(later, t->tid);
        char state[2] = {t->state, '\0'};

        json_stream_object(s, NULL);
        json_stream_int(s, "tid", t->tid);
        json_stream_text(s, "name", t->name);
        json_stream_text(s, "state", state);
        json_stream_text(s, "wchan", t->wchan);
        json_stream_text(s, "syscall", t->syscall);
        json_stream_count(s, "cpu_ms", t->cpu_ms);
        json_stream_known(s, "cpu_ms_after", again != NULL,
                          again ? again->cpu_ms - t->cpu_ms : 0);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

static void put_processes(struct jp_json_stream *s, const struct taking *taking)
{
    json_stream_array(s, "processes");
    for (size_t i = 0; i < taking->order->n_targets; i++) {
        const struct evidence_target *target = &taking->order->targets[i];
        const struct look *look = &taking->looks[i];

        json_stream_object(s, NULL);
        json_stream_int(s, "pid", target->pid);
        json_stream_int(s, "task", target->task);
        json_stream_text(s, "role", target->missing ? "missing" : "waiting");
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

static int write_summary(const struct taking *taking, struct jp_error *err)
{
    char *path = fileio_path("%s/" EVIDENCE_NAME, taking->folder);
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
    char *hang = fileio_path("%s/" EVIDENCE_FOLDER, taking->order->dir);
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
    size_t bytes = EVIDENCE_TARGETS * sizeof(struct look);
    struct taking *taking = calloc(1, sizeof(*taking));
    uint64_t apart_ms;
    int rc = -1;

    if (!taking)
        return error_set(err, "out of memory");
    taking->order = order;
    taking->start_ms = clock_mono_ms();
    taking->end_ms = taking->start_ms +
                     (order->limit_ms ? order->limit_ms : EVIDENCE_LIMIT_MS);
    taking->folder =
        fileio_path("%s/" EVIDENCE_FOLDER "/%s", order->dir, order->node);
    taking->looks = child_alloc(bytes);
    taking->later = child_alloc(bytes);
    if (!taking->folder || !taking->looks || !taking->later)
        error_set(err, "out of memory");
    else if (order->n_targets > EVIDENCE_TARGETS)
        error_set(err, "%zu processes, at most %d", order->n_targets,
                  EVIDENCE_TARGETS);
    else if (make_folder(taking, err) == 0) {
        take_looks(taking, false);
        take_recorders(taking);
        take_ras(taking);
        apart_ms = clock_mono_ms() - taking->start_ms;
        if (apart_ms < APART_MS)
            usleep((useconds_t) (APART_MS - apart_ms) * 1000);
        take_looks(taking, true);
        take_stacks(taking);
        rc = write_summary(taking, err);
    }
    ras_fini(&taking->ras);
    child_free(taking->looks, bytes);
    child_free(taking->later, bytes);
    free(taking->folder);
    free(taking);
    return rc;
}
