/* ends_module.c - the node agent's module that sees how the processes with
 * recordings end.
 *
 * Slurm knows how its tasks end. If a task is a launcher that forks the ranks,
 * that is the launcher's exit status; it does not say which worker died first,
 * and why. The module opens a pidfd for each process that writes a recording,
 * and is woken when one ends. How it ended is in /proc/PID/stat until its
 * parent has waited for it, and then in the pidfd on kernels that keep it
 * (PIDFD_GET_INFO, Linux 6.15). Otherwise it is not known, which the line says.
 * A worker of torchelastic may have written the exception that ended it
 * (elasticfile.h).
 *
 * A line is written to nodes/<node>/ends.jsonl for each end, at once.
 * orchestrator/collect/nodes.h reads it. A recording is noticed when it is
 * created (inotify), and its process is watched from then on by the number in
 * the file's name; its header, which comes up to 100 ms later, confirms it. */
#include "orchestrator/live/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/num.h"
#include "common/ownfile.h"
#include "common/ownplace.h"
#include "common/ownproc.h"
#include "common/vector.h"
#include "orchestrator/live/elasticfile.h"
#include "plugins/nccl_recorder/recfile.h"

#define PERIOD_MS 250
/* Recordings of a node that are looked at; more are left alone. */
#define FILES_MAX 8192
/* Processes that are watched: each takes two descriptors, and a third one if it
 * has a file for its exception. */
#define WATCHED_MAX 4096
/* A recording without a whole header in so many ticks is given up. */
#define LOOKS_MAX 240
/* A process whose parent does not wait for it leaves its status in
 * /proc/PID/stat; one that has been waited for, in the pidfd, a moment after
 * its end. */
#define STATUS_LOOKS 8
#define STAT_EXIT_CODE 52 /* field of /proc/PID/stat, proc(5) */

/* The first version of the kernel's struct pidfd_info and its request
 * (include/uapi/linux/pidfd.h), which older headers lack. */
struct kernel_pidfd_info {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid;
    uint32_t ids[8];
    int32_t exit_code; /* a wait status */
};
#define PIDFD_HAS_EXIT (UINT64_C(1) << 3)
#define PIDFD_INFO_REQUEST _IOWR(0xFF, 11, struct kernel_pidfd_info)
_Static_assert(sizeof(struct kernel_pidfd_info) == 64, "as the kernel has it");

/* Identifies the folder's descriptor in events; other numbers are indices of
 * the list of watched processes. */
#define ID_FOLDER UINT32_MAX
#define NONE SIZE_MAX

/* A file in raw/<node>/. */
struct recording {
    char *name;
    unsigned looks; /* number so far that found no whole header */
    bool done;      /* its process is known, or it was given up */
    size_t early;   /* watched by the number in the name; NONE: nothing is */
};

struct watched {
    struct recfile_process is;
    struct ownproc proc;
    int pidfd;                /* -1: closed */
    int64_t mono_us, real_us; /* of its end; 0: unknown */
    unsigned looks;           /* number of looks at its status after its end */
    int status;               /* wait status; -1: not known yet */
    bool guessed; /* no header has confirmed that it is the writer */
    /* The folder of the file for its exception (-1: it has none, or has ended),
     * and the file's name (owned; NULL: it has none). The name and the folder's
     * numbers stay, so that processes with the same file are found. */
    int error_dir;
    char *error_name;
    dev_t error_dev;
    ino_t error_ino;
    struct elasticfile *error; /* read at its end (owned); NULL: nothing */
    enum { ALIVE, ENDED, TOLD } state;
};

struct ends {
    struct module_place place;
    char *raw;
    int epoll, inotify; /* inotify -1: none */
    bool is_told;       /* of files in the folder, which is there */
    struct recording *files;
    size_t n_files;
    struct timespec changed; /* of the folder, when it was read last */
    size_t n_open;           /* files whose process is not known yet */
    struct watched *list;
    size_t n, n_ended; /* n_ended: ended processes without a line yet */
    struct ownfile file;
    uint64_t bytes, n_told, n_unknown;
};

static void close_watched(struct watched *w)
{
    if (w->error_dir >= 0)
        close(w->error_dir);
    w->error_dir = -1;
    free(w->error);
    w->error = NULL;
    if (w->pidfd >= 0)
        close(w->pidfd); /* epoll forgets it, too */
    w->pidfd = -1;
    ownproc_close(&w->proc);
}

static void destroy(void *state)
{
    struct ends *e = state;

    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++) {
        close_watched(&e->list[i]);
        free(e->list[i].error_name);
    }
    for (size_t i = 0; i < e->n_files; i++)
        free(e->files[i].name);
    free(e->files);
    free(e->list);
    free(e->raw);
    ownfile_close(&e->file);
    if (e->inotify >= 0)
        close(e->inotify);
    if (e->epoll >= 0)
        close(e->epoll);
    free(e);
}

static void *start(const struct module_place *place, struct jp_error *err)
{
    struct ends *e;

    error_set(err, "%s", "");
    if (!place->records_live || *place->root)
        return NULL;
    e = calloc(1, sizeof(*e));
    if (!e) {
        error_set(err, "out of memory");
        return NULL;
    }
    e->place = *place;
    e->raw = text_format("%s/raw/%s", place->dir, place->node);
    e->inotify = -1;
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (e->raw && e->epoll >= 0)
        return e;
    error_set(err, "%s", strerror(errno));
    destroy(e);
    return NULL;
}

/* --- one end -------------------------------------------------------------- */

/* Returns field `n` of the text of /proc/PID/stat, which has a name in brackets
 * as its second one; -1: it has none. */
static int64_t stat_field(const char *text, int n)
{
    const char *at = strrchr(text, ')');

    for (int field = 2; at && field < n; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoll(at + 1, NULL, 10) : -1;
}

/* Returns the wait status of a process that has ended; -1: not known (yet). */
static int status_of(const struct watched *w)
{
    struct kernel_pidfd_info info = {.mask = PIDFD_HAS_EXIT};
    char text[1024];
    int64_t code;

    if (ownproc_read(w->proc.dir, "stat", text, sizeof(text)) > 0 &&
        ownproc_state(text) == 'Z' && ownproc_start(text) == w->proc.start) {
        code = stat_field(text, STAT_EXIT_CODE);
        return code >= 0 && code <= 0xffff ? (int) code : -1;
    }
    if (ioctl(w->pidfd, PIDFD_INFO_REQUEST, &info) == 0 &&
        info.mask & PIDFD_HAS_EXIT)
        return info.exit_code & 0xffff;
    return -1;
}

/* Opens the file when there is something to write: a step whose processes have
 * not ended leaves none. */
static int open_file(struct ends *e, struct jp_error *err)
{
    char *folder = text_format("%s/nodes/%s", e->place.dir, e->place.node);
    int rc = 0;

    if (!folder || ownfile_open(&e->file, folder, 0) < 0 ||
        ownfile_create_anew(&e->file, "ends.jsonl") < 0)
        rc = error_set(err, "ends.jsonl: %s", strerror(errno));
    free(folder);
    return rc;
}

/* Formats the line of an end. Caller frees; NULL: no memory. */
static char *format_end(const struct watched *w, int status, size_t *n)
{
    static struct jp_json_stream s; /* one thread runs all modules */
    const struct elasticfile *error = w->error;
    char *line = NULL;
    FILE *out = open_memstream(&line, n);
    bool failed;

    if (!out)
        return NULL;
    json_stream_open(&s, JSON_PART, out);
    json_stream_int(&s, "pid", w->is.pid);
    json_stream_count(&s, "pid_ns", w->is.pid_namespace);
    json_stream_count(&s, "start", w->is.start);
    json_stream_int(&s, "procid", w->is.procid);
    json_stream_int(&s, "restarts", w->is.launched.restarts);
    json_stream_int(&s, "status", status);
    json_stream_int(&s, "mono_us", w->mono_us);
    json_stream_int(&s, "end_us", w->real_us);
    if (error) {
        json_stream_text(&s, "error", error->type);
        json_stream_text(&s, "message", error->message);
        json_stream_text(&s, "at", error->at);
    }
    failed = json_stream_close(&s, NULL) < 0;
    failed |= fputc('\n', out) == EOF;
    failed |= fclose(out) != 0;
    if (!failed)
        return line;
    free(line);
    return NULL;
}

/* Writes the line of an end. */
static int write_end(struct ends *e, struct watched *w, int status,
                     struct jp_error *err)
{
    size_t n = 0;
    char *line = format_end(w, status, &n);
    int rc = 0;

    e->n_ended -= w->state == ENDED;
    w->state = TOLD;
    close_watched(w);
    e->n_told++;
    e->n_unknown += status < 0;
    if (!line)
        return error_set(err, "ends.jsonl: out of memory");
    if (e->bytes + n <= e->place.disk_bytes) {
        if (!e->file.fd && open_file(e, err) < 0)
            rc = -1;
        else if (ownfile_write(&e->file, line, n, e->bytes) < 0)
            rc = error_set(err, "ends.jsonl: %s", strerror(errno));
        else
            e->bytes += n;
    }
    free(line);
    return rc;
}

/* Writes the line if the status is known, or will not become known. */
static int look_at_end(struct ends *e, struct watched *w, bool last,
                       struct jp_error *err)
{
    int status = w->status >= 0 ? w->status : status_of(w);

    /* At the next look the status may be gone; the header may be there. */
    w->status = status;
    if ((status < 0 || w->guessed) && !last && ++w->looks < STATUS_LOOKS)
        return 0;
    return write_end(e, w, status, err);
}

/* --- the worker's own error ---------------------------------------------- */

/* The environment of one process; one thread runs all modules. */
static char env_text[1 << 16];
static ssize_t env_len; /* <= 0: it could not be read */

static void read_env(int dir)
{
    env_len = ownproc_read(dir, "environ", env_text, sizeof(env_text));
}

static const char *env_variable(const char *name)
{
    return env_len > 0 ? ownproc_variable(env_text, (size_t) env_len, name)
                       : NULL;
}

/* Opens the folder of the file in which the process, which is open and whose
 * environment was read, will write its exception: the process's root is gone
 * when it has ended. */
static void open_error_folder(struct watched *w)
{
    const char *path = env_variable(ELASTICFILE_VARIABLE);
    const char *name = path ? strrchr(path, '/') : NULL;
    char *folder = name && name > path && name[1]
                       ? strndup(path, (size_t) (name - path))
                       : NULL;
    struct stat st;

    if (folder)
        w->error_dir =
            ownproc_open_inside(w->proc.dir, folder, O_RDONLY | O_DIRECTORY);
    free(folder);
    if (w->error_dir < 0 || fstat(w->error_dir, &st) < 0)
        return;
    w->error_dev = st.st_dev;
    w->error_ino = st.st_ino;
    w->error_name = strdup(name + 1);
}

/* Whether another process has, or had, the same file: one of them has inherited
 * the variable, and it is not known which. One that has ended counts as well:
 * the file may be its own. */
static bool shares_error_file(const struct ends *e, const struct watched *w)
{
    for (size_t i = 0; i < e->n; i++) {
        const struct watched *x = &e->list[i];

        if (x != w && x->error_name && x->error_dev == w->error_dev &&
            x->error_ino == w->error_ino &&
            !strcmp(x->error_name, w->error_name))
            return true;
    }
    return false;
}

/* Reads what the process has written of its end, at once: its launcher may
 * remove the folder. */
static void read_error(const struct ends *e, struct watched *w)
{
    if (!w->error_name || w->error || shares_error_file(e, w))
        return;
    w->error = calloc(1, sizeof(*w->error));
    if (w->error && elasticfile_read(w->error_dir, w->error_name, w->proc.uid,
                                     w->error, NULL) == 0)
        return;
    free(w->error);
    w->error = NULL;
}

/* --- new processes -------------------------------------------------------- */

static bool is_same(const struct recfile_process *x,
                    const struct recfile_process *y)
{
    return x->pid == y->pid && x->start == y->start &&
           x->pid_namespace == y->pid_namespace;
}

/* Whether the process is watched already, because it has another recording. */
static bool is_known(const struct ends *e, const struct recfile_process *is)
{
    for (size_t i = 0; i < e->n; i++)
        if (is_same(&e->list[i].is, is))
            return true;
    return false;
}

/* Whether the last process of the list is in the list before. */
static bool is_other(const struct ends *e, const struct watched *last)
{
    for (size_t i = 0; i + 1 < e->n; i++)
        if (is_same(&e->list[i].is, &last->is))
            return true;
    return false;
}

/* Opens a process's pidfd. Its folder is open. Returns 0 or -1. */
static int add_pidfd(struct ends *e, struct watched *w)
{
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u32 = (uint32_t) (w - e->list)};

    w->pidfd = (int) syscall(SYS_pidfd_open, w->proc.pid, 0);
    /* the number may have passed to another process in between */
    return w->pidfd >= 0 && ownproc_lives(&w->proc) &&
                   epoll_ctl(e->epoll, EPOLL_CTL_ADD, w->pidfd, &event) == 0
               ? 0
               : -1;
}

/* Appends a process that is not watched yet. NULL: no memory. */
static struct watched *add_watched(struct ends *e,
                                   const struct recfile_process *is)
{
    struct watched *w = VECTOR_DOUBLE_ADD(e->list, e->n);

    if (!w)
        return NULL;
    *w = (struct watched){.is = *is,
                          .proc = OWNPROC_CLOSED,
                          .pidfd = -1,
                          .status = -1,
                          .error_dir = -1};
    return w;
}

/* Watches the writer of a recording, which the header names. If it is gone, it
 * is only known that it ended. Returns 0, or -1: no memory, or the file cannot
 * be written. */
static int watch_process(struct ends *e, const struct recfile_process *is,
                         struct jp_error *err)
{
    const struct ownproc_name name = {.root = e->place.root,
                                      .pid = is->pid,
                                      .pid_namespace = is->pid_namespace,
                                      .start = is->start,
                                      .uid = e->place.uid};
    struct watched *w = add_watched(e, is);

    if (!w)
        return error_set(err, "out of memory");
    if (ownproc_open(&name, &w->proc, NULL) == 0) {
        if (add_pidfd(e, w) == 0) {
            read_env(w->proc.dir);
            open_error_folder(w);
            return 0;
        }
    } else if (ownproc_is_here(&name) && (errno == ESRCH || errno == ESTALE)) {
        return write_end(e, w, -1, err);
    }
    /* not visible from here, or a kernel before 5.3 */
    w->state = TOLD;
    close_watched(w);
    return 0;
}

/* Whether the process is one of this step's. Reads its environment. Then *is
 * has the task that it is or descends from, and its launcher's attempt. */
static bool is_of_step(const struct ends *e, int dir,
                       struct recfile_process *is)
{
    const char *job, *step, *id, *restarts;
    uint64_t number;

    is->procid = -1;
    launched_init(&is->launched);
    read_env(dir);
    if (env_len <= 0)
        return false;
    job = env_variable("SLURM_JOB_ID");
    step = ownproc_step(env_text, (size_t) env_len);
    id = env_variable("SLURM_PROCID");
    if (!job || !step || strcmp(step, e->place.step) != 0 ||
        num_parse_u64(job, 1, UINT32_MAX, &number, NULL) < 0 ||
        number != e->place.job)
        return false;
    if (id && num_parse_u64(id, 0, INT32_MAX, &number, NULL) == 0)
        is->procid = (int64_t) number;
    restarts = env_variable(LAUNCHED_RESTARTS);
    if (restarts)
        launched_take(&is->launched, LAUNCHED_RESTARTS, restarts);
    return true;
}

/* Watches the process that a new file's name names: "host-pid4711.jpr" or
 * "host-pid4711-1.jpr". Where it is in a pid namespace of its own, the number
 * is another process's or nobody's; the header will show it. */
static void watch_early(struct ends *e, struct recording *f)
{
    struct ownproc_name name = {.root = e->place.root, .uid = e->place.uid};
    const char *at = NULL, *next = f->name;
    struct recfile_process is = {.known = true, .procid = -1};
    struct watched *w;

    while ((next = strstr(next, "-pid")))
        at = next += 4;
    if (!at || e->n >= WATCHED_MAX)
        return;
    for (; *at >= '0' && *at <= '9' && name.pid < INT32_MAX; at++)
        name.pid = 10 * name.pid + (*at - '0');
    w = name.pid > 0 && name.pid < INT32_MAX ? add_watched(e, &is) : NULL;
    if (!w)
        return;
    w->guessed = true;
    if (ownproc_open(&name, &w->proc, NULL) == 0 &&
        is_of_step(e, w->proc.dir, &w->is)) {
        w->is.pid = w->proc.pid;
        w->is.start = w->proc.start;
        w->is.pid_namespace = ownproc_namespace(w->proc.dir);
        if (!is_other(e, w) && add_pidfd(e, w) == 0) {
            open_error_folder(w);
            f->early = (size_t) (w - e->list);
            return;
        }
    }
    close_watched(w);
    e->n--; /* it is the last one */
}

/* Reads who writes a recording. False: its header is not there yet. */
static bool read_process(const struct ends *e, const char *name,
                         struct recfile_process *is)
{
    char *path = text_format("%s/%s", e->raw, name);
    struct jp_recfile file;
    struct jpr_record record;

    *is = (struct recfile_process){0};
    if (path && recfile_open(&file, path, NULL) == 0) {
        /* the header, and what the process tells of itself */
        for (int i = 0; i < 2 && recfile_next(&file, &record, NULL) > 0; i++)
            ;
        recfile_process_of(&file, is);
        recfile_close(&file);
    }
    free(path);
    return is->known;
}

static int look_at_files(struct ends *e, struct jp_error *err)
{
    struct recfile_process is;
    int rc = 0;

    for (size_t i = 0; e->n_open && i < e->n_files; i++) {
        struct recording *f = &e->files[i];

        if (f->done)
            continue;
        if (!read_process(e, f->name, &is) && ++f->looks < LOOKS_MAX)
            continue;
        f->done = true;
        e->n_open--;
        if (f->early != NONE && is.known) {
            struct watched *w = &e->list[f->early];

            w->guessed = false;
            if (is_same(&w->is, &is)) {
                w->is = is;
                continue;
            }
            /* it is another process: it is in another namespace, or its number
             * was used again */
            e->n_ended -= w->state == ENDED;
            w->state = TOLD;
            close_watched(w);
            free(w->error_name);
            w->error_name = NULL;
        }
        if (is.known && is.start && e->n < WATCHED_MAX && !is_known(e, &is) &&
            watch_process(e, &is, err) < 0)
            rc = -1;
    }
    return rc;
}

static bool has_file(const struct ends *e, const char *name)
{
    for (size_t i = 0; i < e->n_files; i++)
        if (!strcmp(e->files[i].name, name))
            return true;
    return false;
}

static int add_file(struct ends *e, const char *name)
{
    struct recording *more;

    if (VECTOR_DOUBLE(e->files, e->n_files) < 0)
        return -1;
    more = &e->files[e->n_files];
    *more = (struct recording){.name = strdup(name), .early = NONE};
    if (!more->name)
        return -1;
    e->n_files++;
    e->n_open++;
    watch_early(e, more);
    return 0;
}

/* Asks to be told of entries that are made in a folder. Returns 0 or -1. */
static int watch_entries(struct ends *e, const char *folder)
{
    return inotify_add_watch(e->inotify, folder,
                             IN_CREATE | IN_MOVED_TO | IN_ONLYDIR |
                                 IN_DONT_FOLLOW) >= 0
               ? 0
               : -1;
}

/* Watches the folder for new files; those that it already has count as new. The
 * first recording makes the folder, and its process may die soon. Until the
 * folder exists, the folders above are watched. */
static void watch_folder(struct ends *e)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = ID_FOLDER};
    char *above;

    if (e->is_told)
        return;
    if (e->inotify < 0)
        e->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (e->inotify < 0)
        return; /* the ticks look for files */
    if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->inotify, &event) < 0 &&
        errno != EEXIST) {
        close(e->inotify);
        e->inotify = -1;
        return;
    }
    above = text_format("%s/raw", e->place.dir);
    if (above && watch_entries(e, above) < 0)
        watch_entries(e, e->place.dir);
    /* it may have been made in between */
    if (above && watch_entries(e, above) == 0)
        e->is_told = watch_entries(e, e->raw) == 0;
    free(above);
}

/* Reads the folder if it has changed: a recording is made once. */
static int scan_folder(struct ends *e, struct jp_error *err)
{
    struct stat st;
    struct dirent *entry;
    DIR *folder;
    int rc = 0;

    watch_folder(e);
    if (lstat(e->raw, &st) < 0 || (st.st_mtim.tv_sec == e->changed.tv_sec &&
                                   st.st_mtim.tv_nsec == e->changed.tv_nsec))
        return 0;
    folder = ownplace_opendir(e->raw);
    while (rc == 0 && folder && (entry = readdir(folder))) {
        size_t len = strlen(entry->d_name);

        if (len > 4 && !strcmp(entry->d_name + len - 4, ".jpr") &&
            e->n_files < FILES_MAX && !has_file(e, entry->d_name))
            rc = add_file(e, entry->d_name);
    }
    if (folder)
        closedir(folder);
    if (rc < 0)
        return error_set(err, "out of memory");
    e->changed = st.st_mtim;
    return 0;
}

/* Takes the news of the folder, whose names only say that it has changed. */
static int take_files(struct ends *e, struct jp_error *err)
{
    char news[4096];

    while (read(e->inotify, news, sizeof(news)) > 0)
        ;
    return scan_folder(e, err);
}

/* Takes the ends that have happened, and new files. */
static int take_ends(struct ends *e, struct jp_error *err)
{
    struct epoll_event events[64];
    struct timespec mono, real;
    int n = epoll_wait(e->epoll, events, 64, 0), rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_REALTIME, &real);
    for (int i = 0; i < n; i++) {
        struct watched *w = &e->list[events[i].data.u32];

        if (events[i].data.u32 == ID_FOLDER) {
            if (take_files(e, err) < 0)
                rc = -1;
            continue;
        }
        if (w->state != ALIVE)
            continue;
        w->state = ENDED;
        e->n_ended++;
        w->mono_us = (int64_t) mono.tv_sec * 1000000 + mono.tv_nsec / 1000;
        w->real_us = (int64_t) real.tv_sec * 1000000 + real.tv_nsec / 1000;
        read_error(e, w);
        /* it stays readable, and would wake the agent for ever */
        epoll_ctl(e->epoll, EPOLL_CTL_DEL, w->pidfd, NULL);
        if (look_at_end(e, w, false, err) < 0)
            rc = -1;
    }
    return rc;
}

/* --- the module ----------------------------------------------------------- */

/* Takes ends, then those of which the status was not known yet, then new
 * recordings. */
static int tick(void *state, const struct module_time *now,
                struct jp_error *err)
{
    struct ends *e = state;
    int rc = take_ends(e, err);

    (void) now;
    for (size_t i = 0; i < e->n; i++)
        if (e->list[i].state == ENDED &&
            look_at_end(e, &e->list[i], false, err) < 0)
            rc = -1;
    if (scan_folder(e, err) < 0 || look_at_files(e, err) < 0)
        rc = -1;
    return rc;
}

static int fd(void *state)
{
    const struct ends *e = state;

    return e->epoll;
}

static int readable(void *state, const struct module_time *now,
                    struct jp_error *err)
{
    (void) now;
    return take_ends(state, err);
}

/* New files and ends wake the module; what it looks at again and again are new
 * recordings without a header, and ends whose status is not known yet. */
static bool rests(void *state)
{
    const struct ends *e = state;

    return e->is_told && !e->n_open && !e->n_ended;
}

static uint64_t bytes(void *state)
{
    const struct ends *e = state;

    return e->bytes;
}

static void record(void *state, struct jp_json_stream *s)
{
    const struct ends *e = state;

    json_stream_count(s, "processes", e->n);
    json_stream_count(s, "ends", e->n_told);
    json_stream_count(s, "ends_unknown", e->n_unknown);
}

/* The step's processes have ended, or end now. */
static void finish(void *state)
{
    struct ends *e = state;
    struct jp_error err;

    scan_folder(e, &err);
    look_at_files(e, &err);
    take_ends(e, &err);
    for (size_t i = 0; i < e->n; i++)
        if (e->list[i].state == ENDED)
            look_at_end(e, &e->list[i], true, &err);
}

const struct node_module ends_module = {
    .name = "ends",
    .budget = 0.001,
    .memory_bytes = 16 << 20,
    .period_ms = PERIOD_MS,
    .start = start,
    .fd = fd,
    .tick = tick,
    .readable = readable,
    .rests = rests,
    .bytes = bytes,
    .record = record,
    .finish = finish,
    .destroy = destroy,
};
