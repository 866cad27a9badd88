/* copper_attach.c - attach=1: counters of a daemon that runs already, from
 * before the step and from after it.
 *
 * Three parts: find the user's mount and the cu_fuse process that serves it
 * (copper_target_find); have that daemon write its counters by an ioctl and
 * copy them (snap_files); and the runner, which does both in a child each time,
 * because a file system that hangs must not hang the supervisor. */
#include "plugins/copper/copper_work.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/ownproc.h"
#include "common/pattern.h"
#include "plugins/copper/copper_counts.h"
#include "plugins/copper/copper_mount.h"

#define CMDLINE_MAX (1024 * 1024) /* limit of a command line */
#define HOST_MAX 256

/* --- the mount ------------------------------------------------------------ */

struct search {
    const char *wanted; /* path of the mount; NULL: any of Copper's */
    char **found;       /* the first match, and one more to detect ambiguity */
};

/* Stores a path. true: no memory, which ends the search. */
static bool take_path(char **slot, const char *path)
{
    *slot = strdup(path);
    return !*slot;
}

/* Mounts of jobprof's own steps end with them, so they are no targets. */
static bool is_ours(const char *path)
{
    static const char prefix[] = "/tmp/jobprof-copper-";

    return !strncmp(path, prefix, sizeof(prefix) - 1);
}

/* Examines a mount; true ends the search. Without a wanted path, the search
 * ends at the second match. */
static bool see_mount(const void *arg, const struct copper_mountinfo *mount)
{
    const struct search *search = arg;

    /* another user's Copper may not be ours to query */
    if (!copper_mountinfo_is_users(mount, geteuid()))
        return false;
    if (search->wanted
            ? strcmp(mount->point, search->wanted) != 0
            : strcmp(mount->type, "fuse.cu_fuse") != 0 || is_ours(mount->point))
        return false;
    return take_path(&search->found[search->found[0] != NULL], mount->point) ||
           search->wanted || search->found[1];
}

/* Sets *mount, which the caller frees. */
static int find_mount(const char *said, char **mount, struct jp_error *err)
{
    char *found[2] = {NULL, NULL}, *real = said ? realpath(said, NULL) : NULL;
    /* mountinfo has no links in paths */
    const char *wanted = real ? real : said;
    struct search search = {wanted, found};
    int rc = 0;

    copper_mount_each(see_mount, &search);
    if (!found[0])
        rc = error_set(err, "%s%sno Copper mount of yours on this node",
                       wanted ? wanted : "", wanted ? ": " : "");
    /* several mounts: the user must name one */
    else if (found[1])
        rc = error_set(
            err, "Copper is mounted at %s and at %s: choose one with mount=",
            found[0], found[1]);
    free(real);
    free(found[1]);
    if (rc < 0)
        free(found[0]);
    else
        *mount = found[0];
    return rc;
}

/* --- its daemon ----------------------------------------------------------- */

int copper_cmdline_parse(const char *text, size_t len,
                         struct copper_cmdline *out)
{
    const char *name = len ? strrchr(text, '/') : NULL;

    *out = (struct copper_cmdline){NULL, NULL, NULL, NULL};
    if (!len || strcmp(name ? name + 1 : text, "cu_fuse") != 0)
        return -1;
    /* words are separated by NULs; the last one is the mount point */
    for (size_t at = strlen(text) + 1, next; at < len; at = next) {
        next = at + strlen(text + at) + 1;
        out->last = text + at;
        if (next < len && !strcmp(text + at, "-log_output_dir"))
            out->logs = text + next;
        else if (next < len && !strcmp(text + at, "-vpath"))
            out->view = text + next;
        else if (next < len && !strcmp(text + at, "-net_type"))
            out->net = text + next;
    }
    return 0;
}

/* Whether both paths are the same, apart from slashes at the end of `said`. */
static bool is_at(const char *said, const char *mount)
{
    size_t n = said ? strlen(said) : 0;

    while (n > 1 && said[n - 1] == '/')
        n--;
    return n && n == strlen(mount) && !memcmp(said, mount, n);
}

/* The target of a link in the folder of a process. Caller frees; NULL: it
 * cannot be read. */
static char *read_link(int dir, const char *name)
{
    char path[PATH_MAX];
    ssize_t n = readlinkat(dir, name, path, sizeof(path) - 1);

    return n > 0 ? text_format("%.*s", (int) n, path) : NULL;
}

/* A path of the daemon's command line is relative to the daemon's working
 * directory. Caller frees. */
static char *absolute(int dir, const char *path)
{
    char *cwd = *path == '/' ? NULL : read_link(dir, "cwd"), *full = NULL;

    if (*path == '/')
        full = strdup(path);
    else if (cwd)
        full = text_format("%s/%s", cwd, path);
    free(cwd);
    return full;
}

char *copper_attach_name(char *path, char **logs)
{
    static const char end[] = "-output.log";
    size_t n = strlen(path), m = sizeof(end) - 1;
    char *name = strrchr(path, '/');

    /* 5 characters for "/logs" before the name */
    if (n <= m || strcmp(path + n - m, end) != 0 || !name || name - path < 5 ||
        memcmp(name - 5, "/logs", 5) != 0 || (size_t) (path + n - m - name) < 2)
        return NULL;
    path[n - m] = '\0';
    name[-5] = '\0';
    *logs = path;
    return name + 1;
}

/* Sets name and log folder from the daemon's log, which is its standard error
 * at any log level. Copper takes its pid before libfuse forks: without -f, the
 * names of its files contain the pid of a process that has ended. */
static bool name_by_log(int dir, struct copper_target *out)
{
    char *path = read_link(dir, "fd/2"), *logs;
    const char *name = path ? copper_attach_name(path, &logs) : NULL;

    if (name) {
        out->name = strdup(name);
        out->logs = strdup(*logs ? logs : "/");
    }
    free(path);
    return name != NULL;
}

/* The command line of a process, at most CMDLINE_MAX. Caller frees; NULL: it
 * cannot be read. */
static char *read_cmdline(int dir, size_t *len)
{
    char *text = malloc(CMDLINE_MAX);
    ssize_t n = text ? ownproc_read(dir, "cmdline", text, CMDLINE_MAX) : -1;

    if (n < 0) {
        free(text);
        return NULL;
    }
    *len = (size_t) n;
    return text;
}

/* Whether that process serves the mount. Returns 1 and sets name and log
 * folder, or 0. */
static int look_at(const struct ownproc *proc, const char *mount,
                   struct copper_target *out)
{
    struct copper_cmdline line;
    char host[HOST_MAX] = "", *text;
    size_t len = 0;
    int rc = 0;

    text = read_cmdline(proc->dir, &len);
    if (text && copper_cmdline_parse(text, len, &line) == 0 && line.logs &&
        (is_at(line.view, mount) || is_at(line.last, mount)) &&
        gethostname(host, sizeof(host) - 1) == 0) {
        /* without such a log: by its own pid and host */
        if (!name_by_log(proc->dir, out)) {
            out->logs = absolute(proc->dir, line.logs);
            out->name = text_format("%s-%ld", host, (long) proc->pid);
        }
        rc = out->logs && out->name;
    }
    free(text);
    return rc;
}

/* For ownproc_walk: ends it at the daemon of the mount. */
static bool serves_mount(void *arg, struct ownproc *proc)
{
    struct copper_target *out = arg;

    if (look_at(proc, out->mount, out))
        return true;
    /* another process, or no memory for one of the two */
    free(out->logs);
    free(out->name);
    out->logs = out->name = NULL;
    return false;
}

/* Only a daemon of this user is believed. */
static int find_daemon(struct copper_target *out, struct jp_error *err)
{
    return ownproc_walk("", geteuid(), serves_mount, out)
               ? 0
               : error_set(err,
                           "%s: no cu_fuse with that -vpath and a "
                           "-log_output_dir runs here",
                           out->mount);
}

static void target_fini(struct copper_target *target)
{
    free(target->mount);
    free(target->logs);
    free(target->name);
    *target = (struct copper_target){NULL, NULL, NULL};
}

/* Whether the process runs on another (simulated) machine that shares this
 * kernel: it has another UTS namespace, so another host name. */
static bool is_elsewhere(int dir)
{
    char here[64], there[64];
    ssize_t n = readlink("/proc/self/ns/uts", here, sizeof(here));
    ssize_t m = readlinkat(dir, "ns/uts", there, sizeof(there));

    return n > 0 && m > 0 && (n != m || memcmp(here, there, (size_t) n) != 0);
}

/* A daemon of any user counts: the device is one for all. */
long copper_attach_on(const char *net)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    long found = 0;

    while (proc && !found && (entry = readdir(proc))) {
        struct copper_cmdline line;
        char *text = NULL;
        int64_t pid;
        size_t len = 0;
        int dir = -1;

        /* command lines are readable for everybody, unless /proc hides
         * processes */
        if (num_parse_i64(entry->d_name, 1, INT32_MAX, &pid, NULL) == 0)
            dir = ownproc_hold("", pid);
        if (dir >= 0)
            text = read_cmdline(dir, &len);
        if (text && copper_cmdline_parse(text, len, &line) == 0 &&
            !strcmp(line.net ? line.net : "cxi", net) && !is_elsewhere(dir))
            found = (long) pid;
        free(text);
        if (dir >= 0)
            close(dir);
    }
    if (proc)
        closedir(proc);
    return found;
}

int copper_target_find(const char *mount, struct copper_target *out,
                       struct jp_error *err)
{
    struct copper_target target = {NULL, NULL, NULL};

    if (find_mount(mount, &target.mount, err) < 0)
        return -1;
    if (find_daemon(&target, err) < 0) {
        target_fini(&target);
        return -1;
    }
    *out = target;
    return 0;
}

/* --- have a daemon write its counters, and keep them --- */
/* Copper's ioctl 2000 returns when the files are written. Any other such ioctl,
 * also of another step, overwrites them. So the copies are read, and if one is
 * cut, the daemon is asked again. */

#define WRITE_ALL 2000 /* the ioctl */
#define TRIES 3
#define PAUSE_US 200000
/* Limit of a file: cache sizes have a line for each path. */
#define FILE_MAX (256 * 1024 * 1024)

/* Kinds of files: in the order of enum copper_dump, then the sizes of the
 * caches. */
static const char *const kinds[] = {
    "operation_count",      "operation_time",      "operation_cache_hit",
    "operation_cache_miss", "operation_cache_neg", "data_cache_size",
    "tree_cache_size",      "md_cache_size"};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

/* Has the daemon write its counters. May hang with the daemon. */
static int ask_mount(const char *mount, struct jp_error *err)
{
    int fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (fd < 0)
        return error_set(err, "%s: %s", mount, strerror(errno));
    rc = ioctl(fd, WRITE_ALL, 0);
    if (rc < 0)
        error_set(err, "%s: its ioctl %d: %s", mount, WRITE_ALL,
                  strerror(errno));
    close(fd);
    return rc < 0 ? -1 : 0;
}

/* Copies at most FILE_MAX bytes. */
static int copy_file(int from, const char *to, struct jp_error *err)
{
    struct jp_tempfile out;
    char buf[65536];
    ssize_t n = 0;
    size_t all = 0;

    if (fileio_temp_open(&out, to, err) < 0)
        return -1;
    while (all <= FILE_MAX && (n = read(from, buf, sizeof(buf))) > 0 &&
           fwrite(buf, 1, (size_t) n, out.stream) == (size_t) n)
        all += (size_t) n;
    /* the end was reached, and everything was written */
    if (n == 0)
        return fileio_temp_commit(&out, err);
    fileio_temp_abort(&out);
    return error_set(err, "%s: %s", to,
                     all > FILE_MAX ? "too large" : strerror(errno));
}

/* Whether a copied dump is complete. Cache sizes are checked when they are
 * read. */
static int check_file(const char *path, size_t kind, struct jp_error *err)
{
    struct copper_ops ops = {.odd = {""}};
    struct copper_stream stream;
    int rc;

    if (kind >= COPPER_N_DUMPS)
        return 0;
    if (copper_stream_open(&stream, path, err) < 0)
        return -1;
    rc = copper_dump_read(&stream, (enum copper_dump) kind, &ops, err);
    copper_stream_close(&stream);
    return rc < 0 ? error_wrap(err, "%s", path) : 0;
}

/* Copies one kind of file. Cache sizes may be missing. */
static int keep_file(const struct copper_target *target, const char *to,
                     size_t kind, struct jp_error *err)
{
    char *from = text_format("%s/tables/final/%s-%s.output", target->logs,
                             target->name, kinds[kind]);
    char *path = text_format("%s/%s-%s.output", to, target->name, kinds[kind]);
    int fd = from ? fileio_open_regular(from, false, err) : -1;
    int rc = -1;

    if (!from || !path)
        error_set(err, "out of memory");
    else if (fd >= 0)
        rc = copy_file(fd, path, err) < 0 ? -1 : check_file(path, kind, err);
    else if (kind >= COPPER_N_DUMPS)
        rc = 0; /* no figure depends on cache sizes */
    if (fd >= 0)
        close(fd);
    free(from);
    free(path);
    return rc;
}

static int keep_all(const struct copper_target *target, const char *to,
                    struct jp_error *err)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (keep_file(target, to, i, err) < 0)
            return -1;
    return 0;
}

/* Has the daemon write its counters and copies them to the folder `to`, which
 * is made. After a failure, copies of cut files may be there. Waits for the
 * daemon. */
static int snap_files(const struct copper_target *target, const char *to,
                      struct jp_error *err)
{
    int rc;

    if (fileio_mkdirs(to, err) < 0)
        return -1;
    for (int i = 0;; i++) {
        rc = ask_mount(target->mount, err);
        if (rc == 0)
            rc = keep_all(target, to, err);
        /* cut copies: another ioctl has written at the same time */
        if (rc == 0 || i + 1 >= TRIES)
            return rc;
        usleep(PAUSE_US);
    }
}

/* --- the runner of attach=1 --- */

/* The runner of attach=1 starts only a child before the step and one after it.
 * The child writes to a pipe: the path of the mount, or what went wrong. */

#define TEXT_MAX 4096 /* of a single write to the pipe */

/* BEFORE and AFTER: the child is at work. */
enum phase { BEFORE, DURING, AFTER, OVER };

struct attach {
    char *mount, *raw; /* mount NULL: to be found */
    enum phase phase;
    bool lost; /* no counters after the step; text says why */
    pid_t child;
    int from_child;
    char text[TEXT_MAX];
};

static void __attribute__((noreturn))
child(const struct attach *a, const char *to, int out)
{
    struct copper_target target;
    struct jp_error err = {""};
    const char *text;
    int rc;

    /* the child must not outlive the supervisor */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    rc = copper_target_find(a->mount, &target, &err);
    if (rc == 0)
        rc = snap_files(&target, to, &err);
    /* one write of at most TEXT_MAX, which fits into the pipe */
    text = rc == 0 ? target.mount : err.text;
    if (write(out, text, strnlen(text, TEXT_MAX - 1)) < 0)
        rc = -1;
    _exit(rc < 0);
}

/* Starts the child; folder: "before" or "final". */
static int start_child(struct attach *a, const char *folder,
                       struct jp_error *err)
{
    char *to = text_format("%s/tables/%s", a->raw, folder);
    int ends[2];

    if (!to)
        return error_set(err, "out of memory");
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        free(to);
        return error_set(err, "no pipe: %s", strerror(errno));
    }
    a->child = fork();
    if (a->child == 0)
        child(a, to, ends[1]);
    close(ends[1]);
    free(to);
    if (a->child > 0) {
        a->from_child = ends[0];
        return 0;
    }
    close(ends[0]);
    return error_set(err, "no process: %s", strerror(errno));
}

/* Returns 0 while the child works, 1 if it succeeded, -1 if it failed. a->text
 * is what it wrote. */
static int poll_child(struct attach *a)
{
    int status = 0;
    ssize_t n;

    if (waitpid(a->child, &status, WNOHANG) == 0)
        return 0;
    /* read only now: the pipe is complete when the child has ended */
    a->child = 0;
    n = read(a->from_child, a->text, TEXT_MAX - 1);
    a->text[n > 0 ? n : 0] = '\0';
    close(a->from_child);
    a->from_child = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && n > 0)
        return 1;
    if (n <= 0)
        strncpy(a->text, "the process that queries Copper was killed",
                TEXT_MAX - 1);
    return -1;
}

/* Kills the child; init collects it. */
static void end_child(struct attach *a)
{
    if (a->child > 0)
        kill(a->child, SIGKILL);
    if (a->from_child >= 0)
        close(a->from_child);
    a->child = 0;
    a->from_child = -1;
}

static void destroy(void *state)
{
    struct attach *a = state;

    if (!a)
        return;
    end_child(a);
    free(a->mount);
    free(a->raw);
    free(a);
}

static int start(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err)
{
    const char *mount = jobconf_side_find(conf, OPTION_COPPER, "mount");
    struct attach *a = calloc(1, sizeof(*a));

    if (a) {
        a->from_child = -1;
        a->raw = text_format("%s/raw/%s", step_dir, node);
        a->mount = mount ? pattern_expand_node(mount, node) : NULL;
    }
    if (!a || !a->raw || (mount && !a->mount))
        error_set(err, "out of memory");
    else if (start_child(a, "before", err) == 0) {
        *state = a;
        return 0;
    }
    destroy(a);
    return -1;
}

static int ready(void *state, struct jp_error *err)
{
    struct attach *a = state;
    int rc = a->phase == BEFORE ? poll_child(a) : 1;

    if (rc < 0) {
        a->phase = OVER;
        return error_set(err, "%s", a->text);
    }
    if (rc > 0 && a->phase == BEFORE) {
        a->phase = DURING;
        free(a->mount); /* replace the path as typed by that of mountinfo */
        a->mount = strdup(a->text);
    }
    return rc;
}

/* The tasks use the mount that exists. */
static const char *place(void *state)
{
    return ((struct attach *) state)->mount;
}

/* Counters from before the step are useless without those from after it. */
static void lose(struct attach *a, const char *why)
{
    end_child(a);
    a->phase = OVER;
    a->lost = true;
    strncpy(a->text, why, TEXT_MAX - 1);
}

static int stop(void *state, bool force)
{
    struct attach *a = state;
    struct jp_error err;
    int rc;

    /* the step ended before the first counters were copied */
    if (a->phase == BEFORE) {
        end_child(a);
        a->phase = OVER;
    }
    /* the tasks have ended: second counters */
    if (a->phase == DURING) {
        a->phase = AFTER;
        if (start_child(a, "final", &err) < 0)
            lose(a, err.text);
    }
    /* the supervisor has no more time */
    if (a->phase == AFTER && force)
        lose(a, "Copper does not answer");
    if (a->phase == AFTER && (rc = poll_child(a)) != 0) {
        a->phase = OVER;
        a->lost = rc < 0;
    }
    return a->phase == OVER;
}

static int collect(void *state, struct jp_error *err)
{
    const struct attach *a = state;

    return a->lost ? error_set(err, "no counters after the step: %s", a->text)
                   : 0;
}

const struct backend_runner copper_attach = {
    .start = start,
    .ready = ready,
    .place = place,
    .stop = stop,
    .collect = collect,
    .destroy = destroy,
};
