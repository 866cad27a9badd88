/* gc_scan.c - find the jobs below a root, and bill each owner for his own. */
#include "orchestrator/gc/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"

#define DEPTH_MAX 8
/* So many uids without a name among the 65,536 that begin alike, which is what
 * a user gets for his namespaces: the rest of them are not asked for. */
#define NAMELESS_MAX 256

struct scan {
    struct gc_result *out;
    bool all;
    uid_t uid;
    uint64_t owner_folders, owner_jobs, owner_us;
    uint64_t now_us;  /* of the last bill */
    uid_t *strangers; /* sorted: those that have no name */
    size_t n_strangers;
    bool no_memory;
};

/* --- bills ---------------------------------------------------------------- */

static uint64_t clock_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/* Where uid stands among the owners, or would. */
static size_t place_of(const struct gc_result *r, uid_t uid)
{
    size_t low = 0, high = r->n_owners;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (r->owners[mid].uid < uid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_owner(const struct gc_result *r, uid_t uid)
{
    size_t at = place_of(r, uid);

    return at < r->n_owners && r->owners[at].uid == uid;
}

static int add_owner(struct gc_result *r, uid_t uid)
{
    size_t at = place_of(r, uid);
    struct gc_owner *more;

    if (is_owner(r, uid))
        return 0;
    more = reallocarray(r->owners, r->n_owners + 1, sizeof(*more));
    if (!more)
        return -1;
    r->owners = more;
    memmove(more + at + 1, more + at, (r->n_owners - at) * sizeof(*more));
    more[at] = (struct gc_owner){.uid = uid};
    r->n_owners++;
    return 0;
}

/* How many of the strangers come before uid. */
static size_t strangers_before(const struct scan *s, uid_t uid)
{
    size_t low = 0, high = s->n_strangers;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->strangers[mid] < uid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_stranger(const struct scan *s, uid_t uid)
{
    size_t at = strangers_before(s, uid), last;

    if (at < s->n_strangers && s->strangers[at] == uid)
        return true;
    last = strangers_before(s, uid | 0xffff);
    return last - strangers_before(s, uid & ~(uid_t) 0xffff) >= NAMELESS_MAX;
}

static void add_stranger(struct scan *s, uid_t uid)
{
    size_t at = strangers_before(s, uid);
    uid_t *more = reallocarray(s->strangers, s->n_strangers + 1, sizeof(*more));

    if (!more) {
        s->no_memory = true;
        return;
    }
    s->strangers = more;
    memmove(more + at + 1, more + at, (s->n_strangers - at) * sizeof(*more));
    more[at] = uid;
    s->n_strangers++;
}

/* A user may have tens of thousands of uids without a name (/etc/subuid): these
 * have one bill in common. A directory service is asked once for each, and not
 * for all: in root's folder nobody else pays. */
static uid_t payer_of(struct scan *s, uid_t uid)
{
    if (uid == s->uid || is_owner(s->out, uid))
        return uid;
    if (!is_stranger(s, uid)) {
        if (getpwuid(uid))
            return uid;
        add_stranger(s, uid);
    }
    return GC_STRANGERS;
}

/* Bills the time since the last bill, and so many folders and jobs. False: he
 * has used up what he may. Root may use all: what others put into its folders
 * takes its time, too. */
static bool bill(struct scan *s, uid_t uid, unsigned folders, unsigned jobs)
{
    struct gc_owner *owner;
    uint64_t now;

    uid = payer_of(s, uid);
    if (add_owner(s->out, uid) < 0) {
        s->no_memory = true;
        return false;
    }
    owner = &s->out->owners[place_of(s->out, uid)];
    now = clock_us();
    owner->folders += folders;
    owner->jobs += jobs;
    owner->spent_us += now - s->now_us;
    s->now_us = now;
    if (uid == 0 && s->all)
        return true;
    if (owner->folders > s->owner_folders || owner->jobs > s->owner_jobs ||
        owner->spent_us > s->owner_us)
        owner->cut = s->out->cut = true;
    return !owner->cut;
}

/* --- folders -------------------------------------------------------------- */

static void scan_folder(struct scan *s, int fd, const char *path, uid_t uid,
                        int depth);

/* A step directory, whatever its state. */
static bool is_step(int at, const char *name)
{
    struct stat st;
    int fd;
    bool found;

    if (strncmp(name, "step-", 5) != 0)
        return false;
    fd = gc_open(at, name);
    found = fd >= 0 && gc_stat(fd, JP_JOBCONF_NAME, &st) == 0 &&
            S_ISREG(st.st_mode);
    if (fd >= 0)
        close(fd);
    return found;
}

static void add_job(struct scan *s, int fd, const char *path)
{
    struct gc_result *out = s->out;
    struct gc_job *more;
    struct stat st;

    if (fstat(fd, &st) < 0 || (!s->all && st.st_uid != s->uid) ||
        !bill(s, st.st_uid, 0, 1))
        return;
    more = reallocarray(out->jobs, out->n + 1, sizeof(*more));
    if (!more) {
        s->no_memory = true;
        return;
    }
    out->jobs = more;
    out->jobs[out->n] = (struct gc_job){.path = strdup(path),
                                        .uid = st.st_uid,
                                        .dev = st.st_dev,
                                        .ino = st.st_ino};
    if (out->jobs[out->n].path)
        out->n++;
    else
        s->no_memory = true;
}

/* Folders that are no step are looked into; of other file systems none. above:
 * whose folder they are in. He pays for the question whose they are, too. */
static void scan_below(struct scan *s, int at, const char *path,
                       const char *name, uid_t above, int depth)
{
    int fd = gc_open(at, name);
    char *below = NULL;
    struct stat st;

    if (fd < 0)
        return; /* no folder, not for us, or mounted there */
    if (fstat(fd, &st) == 0 && st.st_uid != above) {
        payer_of(s, st.st_uid);
        bill(s, above, 0, 0);
    }
    if (fstat(fd, &st) < 0 || !bill(s, st.st_uid, 1, 0)) {
        close(fd);
        return;
    }
    below = strcmp(path, ".") ? fileio_path("%s/%s", path, name) : strdup(name);
    if (depth >= DEPTH_MAX) {
        s->out->deep = true;
        close(fd);
    } else if (!below) {
        s->no_memory = true;
        close(fd);
    } else {
        scan_folder(s, fd, below, st.st_uid, depth + 1);
    }
    free(below);
}

/* uid: whose folder it is, and so who pays for reading it. */
static void scan_folder(struct scan *s, int fd, const char *path, uid_t uid,
                        int depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    bool job = false;

    if (!dir) {
        close(fd);
        return;
    }
    while (!s->no_memory && (entry = readdir(dir))) {
        const char *name = entry->d_name;

        if (!strcmp(name, ".") || !strcmp(name, ".."))
            continue;
        if (!bill(s, uid, 0, 0) && depth > 0)
            break;
        if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
            continue;
        if (is_step(dirfd(dir), name))
            job = true;
        else
            scan_below(s, dirfd(dir), path, name, uid, depth);
    }
    if (job)
        add_job(s, dirfd(dir), path);
    closedir(dir);
}

static uint64_t limit(uint64_t asked, uint64_t otherwise)
{
    return asked ? asked : otherwise;
}

int gc_scan(int root, bool all, uid_t uid, const struct gc_options *limits,
            struct gc_result *out, struct jp_error *err)
{
    struct scan s = {
        .out = out,
        .all = all,
        .uid = uid,
        .owner_folders = limit(limits->owner_folders, GC_OWNER_FOLDERS),
        .owner_jobs = limit(limits->owner_jobs, GC_OWNER_JOBS),
        .owner_us = limit(limits->owner_ms, GC_OWNER_MS) * 1000,
        .now_us = clock_us()};
    int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        if (fd >= 0)
            close(fd);
        return error_set(err, "%s", strerror(errno));
    }
    scan_folder(&s, fd, ".", st.st_uid, 0);
    free(s.strangers);
    return s.no_memory ? error_set(err, "out of memory") : 0;
}
