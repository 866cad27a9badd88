/* ownproc.c - open, check, read and signal a process that is known by its user
 * and its start time. */
#include "common/ownproc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* status has lines of any length before those that are needed: the groups of
 * the process. */
enum { STATUS_BYTES = 65536, UIDS = 4 };
/* The line of the uids comes before any that can be long. */
enum { UIDS_BYTES = 1024 };

/* --- texts of /proc ------------------------------------------------------- */

ssize_t ownproc_read(int dir, const char *name, char *text, size_t size)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    size_t len = 0;
    ssize_t n = 1;
    int error;

    text[0] = '\0';
    if (fd < 0)
        return -1;
    /* In a loop: a file of /proc may return less than it has. */
    while (len + 1 < size && (n = read(fd, text + len, size - 1 - len)) > 0)
        len += (size_t) n;
    error = errno;
    close(fd);
    if (n < 0) {
        text[0] = '\0';
        errno = error;
        return -1;
    }
    text[len] = '\0';
    return (ssize_t) len;
}

char ownproc_state(const char *stat)
{
    /* The name in brackets is the user's, and may hold brackets and blanks. */
    const char *end = strrchr(stat, ')');

    return end && end[1] == ' ' ? end[2] : '\0';
}

/* The number in field n, from 4 on, of the text of /proc/PID/stat; 0: none. */
static uint64_t number_in(const char *stat, int n)
{
    const char *at = strrchr(stat, ')');

    /* behind the name, before field 3 */
    for (int field = 2; at && field < n; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

uint64_t ownproc_start(const char *stat)
{
    return number_in(stat, 22);
}

/* A process whose first thread has ended is a zombie, but lives as long as
 * another thread of it does. */
static bool has_ended(const char *stat)
{
    char state = ownproc_state(stat);

    return !state || state == 'X' || (state == 'Z' && number_in(stat, 20) < 2);
}

uint64_t ownproc_namespace(int dir)
{
    struct stat st;

    return fstatat(dir, "ns/pid", &st, 0) == 0 ? (uint64_t) st.st_ino : 0;
}

const char *ownproc_variable(const char *env, size_t len, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < len; i += strnlen(env + i, len - i) + 1)
        /* a value that is cut at the end of env has no NUL and is not
         * returned */
        if (len - i > n && env[i + n] == '=' && memcmp(env + i, name, n) == 0 &&
            memchr(env + i, '\0', len - i))
            return env + i + n + 1;
    return NULL;
}

const char *ownproc_step(const char *env, size_t len)
{
    const char *step = ownproc_variable(env, len, JP_STEP_VARIABLE);

    return step ? step : ownproc_variable(env, len, "SLURM_STEP_ID");
}

/* The numbers of a line of status, at most max. Returns how many there are. */
static size_t read_numbers(const char *status, const char *key, uint64_t *out,
                           size_t max)
{
    const char *at = strstr(status, key);
    size_t n = 0;
    char *end;

    if (!at)
        return 0;
    at += strlen(key);
    while (n < max && (*at == '\t' || *at == ' ')) {
        out[n] = strtoull(at, &end, 10);
        if (end == at)
            break;
        at = end;
        n++;
    }
    return n;
}

/* Whether all four uids are this one. "Uid:" begins a line, and a name cannot
 * hold a line break: the kernel writes it as "\n". */
static bool is_users(const char *status, uid_t uid)
{
    uint64_t uids[UIDS];

    if (read_numbers(status, "\nUid:", uids, UIDS) != UIDS)
        return false;
    for (size_t i = 0; i < UIDS; i++)
        if (uids[i] != uid)
            return false;
    return true;
}

/* --- the process ---------------------------------------------------------- */

int ownproc_hold(const char *root, int64_t pid)
{
    char path[PATH_MAX];

    if (pid <= 0 || pid > INT_MAX) {
        errno = ESRCH;
        return -1;
    }
    if (snprintf(path, sizeof(path), "%s/proc/%" PRId64, root, pid) >=
        (int) sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Reads uids and start time of the process behind proc->dir. start: the
 * expected one, or 0. Sets proc->start. texts: gets what was read; NULL: the
 * caller does not need it. */
static int check_owner(struct ownproc *proc, uint64_t start,
                       struct ownproc_texts *texts, struct jp_error *err)
{
    char own_stat[sizeof(texts->stat)], own_status[UIDS_BYTES];
    char *stat = texts ? texts->stat : own_stat;
    char *status = texts ? texts->status : own_status;
    size_t size = texts ? sizeof(texts->status) : sizeof(own_status);
    bool own;

    /* The uids first: the start time, which is read later, shows that the
     * process still lives. */
    own = ownproc_read(proc->dir, "status", status, size) > 0 &&
          is_users(status, proc->uid);
    errno = ESRCH; /* for an empty file */
    if (ownproc_read(proc->dir, "stat", stat, sizeof(own_stat)) <= 0) {
        if (errno == ENOENT)
            errno = ESRCH;
        return error_set(err, "process %ld: %s", (long) proc->pid,
                         errno == ESRCH ? "it has ended" : strerror(errno));
    }
    proc->start = ownproc_start(stat);
    if (start && proc->start != start) {
        errno = ESTALE;
        return error_set(err,
                         "process %ld: it has ended, and its number is "
                         "another process's",
                         (long) proc->pid);
    }
    if (has_ended(stat)) {
        errno = ESRCH;
        return error_set(err, "process %ld: it has ended", (long) proc->pid);
    }
    if (!own) {
        errno = EPERM;
        return error_set(err, "process %ld: it is not of uid %lu alone",
                         (long) proc->pid, (unsigned long) proc->uid);
    }
    return 0;
}

/* Opens the process with this number in our own namespace. */
static int open_number(const struct ownproc_name *name, struct ownproc *out,
                       struct ownproc_texts *texts, struct jp_error *err)
{
    struct ownproc proc = {.dir = ownproc_hold(name->root, name->pid),
                           .real = !*name->root,
                           .pid = (pid_t) name->pid,
                           .uid = name->uid};
    int error;

    if (proc.dir < 0) {
        if (errno == ENOENT)
            errno = ESRCH;
        return error_set(err, "process %" PRId64 ": %s", name->pid,
                         errno == ESRCH ? "it has ended" : strerror(errno));
    }
    if (check_owner(&proc, name->start, texts, err) < 0) {
        error = errno;
        close(proc.dir);
        errno = error;
        return -1;
    }
    *out = proc;
    return 0;
}

/* A process of another namespace is known by its number there. */
struct search {
    const struct ownproc_name *name;
    struct ownproc found;
};

static bool is_searched(void *arg, struct ownproc *proc)
{
    struct search *search = arg;
    const struct ownproc_name *name = search->name;
    char *status;
    uint64_t pids[32]; /* of the nested namespaces, outermost first */
    size_t n = 0;

    /* The namespace first: it is one stat(), status is a text to parse. */
    if (ownproc_namespace(proc->dir) != name->pid_namespace ||
        (name->start && proc->start != name->start))
        return false;
    status = malloc(STATUS_BYTES);
    if (status && ownproc_read(proc->dir, "status", status, STATUS_BYTES) > 0)
        n = read_numbers(status, "\nNSpid:", pids, 32);
    free(status);
    if (!n || pids[n - 1] != (uint64_t) name->pid)
        return false;
    search->found = *proc;
    proc->dir = -1;
    return true;
}

/* Reads the texts of a process that was searched. On failure it is closed. */
static int check_found(struct ownproc *proc, struct ownproc_texts *texts,
                       struct jp_error *err)
{
    int error;

    if (check_owner(proc, proc->start, texts, err) == 0)
        return 0;
    error = errno;
    ownproc_close(proc);
    errno = error;
    return -1;
}

bool ownproc_is_here(const struct ownproc_name *name)
{
    char self[PATH_MAX];
    struct stat st;

    if (!name->pid_namespace)
        return true;
    return snprintf(self, sizeof(self), "%s/proc/self/ns/pid", name->root) <
               (int) sizeof(self) &&
           stat(self, &st) == 0 && st.st_ino == name->pid_namespace;
}

int ownproc_open(const struct ownproc_name *name, struct ownproc *out,
                 struct jp_error *err)
{
    return ownproc_open_read(name, out, NULL, err);
}

int ownproc_open_read(const struct ownproc_name *name, struct ownproc *out,
                      struct ownproc_texts *texts, struct jp_error *err)
{
    struct search search = {.name = name, .found = OWNPROC_CLOSED};

    *out = OWNPROC_CLOSED;
    if (!ownproc_is_here(name)) {
        if (ownproc_walk(name->root, name->uid, is_searched, &search)) {
            *out = search.found;
            return texts ? check_found(out, texts, err) : 0;
        }
        errno = ESRCH;
        return error_set(err,
                         "process %" PRId64 " of another PID namespace: "
                         "it has ended, or is not visible",
                         name->pid);
    }
    return open_number(name, out, texts, err);
}

int ownproc_check(const struct ownproc *proc, struct jp_error *err)
{
    struct ownproc now = *proc;

    return check_owner(&now, proc->start, NULL, err);
}

bool ownproc_lives(const struct ownproc *proc)
{
    char stat[sizeof(((struct ownproc_texts *) 0)->stat)];

    return ownproc_read(proc->dir, "stat", stat, sizeof(stat)) > 0 &&
           ownproc_start(stat) == proc->start && !has_ended(stat);
}

void ownproc_close(struct ownproc *proc)
{
    if (proc->dir >= 0)
        close(proc->dir);
    *proc = OWNPROC_CLOSED;
}

/* -1 with ENOSYS where the system's headers do not know the call. */
static int open_below(int root, const char *path, int flags)
{
#ifdef RESOLVE_IN_ROOT
    const struct open_how how = {.flags = (uint64_t) (unsigned) flags,
                                 .resolve = RESOLVE_IN_ROOT |
                                            RESOLVE_NO_MAGICLINKS};

    return (int) syscall(SYS_openat2, root, path, &how, sizeof(how));
#else
    (void) root;
    (void) path;
    (void) flags;
    errno = ENOSYS;
    return -1;
#endif
}

int ownproc_open_inside(int dir, const char *path, int flags)
{
    int root, fd, error;

    if (*path != '/') {
        errno = EINVAL;
        return -1;
    }
    root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    flags |= O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
    fd = open_below(root, path, flags);
    /* EPERM: a sandbox that does not know the call. EAGAIN: the kernel could
     * not rule out a concurrent rename. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN)) {
        path += strspn(path, "/");
        fd = openat(root, *path ? path : ".", flags);
    }
    error = errno;
    close(root);
    errno = error;
    return fd;
}

int ownproc_signal(const struct ownproc *proc, int signal, struct jp_error *err)
{
    if (!proc->real) {
        errno = EBADF;
        return error_set(err, "not a process of this machine");
    }
    if (ownproc_check(proc, err) < 0)
        return -1;
    if (syscall(SYS_pidfd_send_signal, proc->dir, signal, NULL, 0) == 0)
        return 0;
    /* Linux before 5.1, or a filter of a container that does not know the call:
     * the number, directly after another check. */
    if (errno == ENOSYS || errno == EPERM) {
        if (ownproc_check(proc, err) < 0)
            return -1;
        if (kill(proc->pid, signal) == 0)
            return 0;
    }
    return error_set(err, "process %ld: %s", (long) proc->pid, strerror(errno));
}

/* --- all processes of a user ---------------------------------------------- */

/* The number of an entry of /proc; 0 if it is not a process. */
static int64_t number_of(const char *name)
{
    char *end;
    long n;

    if (*name < '1' || *name > '9')
        return 0;
    errno = 0;
    n = strtol(name, &end, 10);
    return *end || errno || n > INT_MAX ? 0 : n;
}

bool ownproc_walk(const char *root, uid_t uid,
                  bool (*each)(void *arg, struct ownproc *proc), void *arg)
{
    char path[PATH_MAX];
    struct dirent *entry;
    bool found = false;
    DIR *proc;

    if (snprintf(path, sizeof(path), "%s/proc", root) >= (int) sizeof(path))
        return false;
    proc = opendir(path);
    while (proc && !found && (entry = readdir(proc))) {
        struct ownproc_name name = {
            .root = root, .pid = number_of(entry->d_name), .uid = uid};
        struct ownproc one;
        struct stat st;

        /* The folder's owner first, because that is cheap. A process that must
         * not be dumped has a folder of root: nothing of it could be read. */
        if (!name.pid ||
            fstatat(dirfd(proc), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            st.st_uid != uid || open_number(&name, &one, NULL, NULL) < 0)
            continue;
        found = each(arg, &one);
        ownproc_close(&one);
    }
    if (proc)
        closedir(proc);
    return found;
}
