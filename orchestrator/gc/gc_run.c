/* gc_run.c - find the jobs, choose which go, run a process for each owner.
 *
 * gc_run scans the tree below the root once (gc_scan), then clears the jobs of
 * each owner (run_owner), as root in a process with the owner's rights
 * (run_as). While it scans, the time is charged to the owner of each folder, so
 * that a user with millions of folders cannot stop the removal for all
 * others.
 */
#include "orchestrator/gc/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/openhere.h"
#include "common/payer.h"
#include "common/vector.h"

/* --- find the jobs below a root, and charge each owner --- */

/* How deep jobs are searched below the root. */
#define DEPTH_MAX 8

/* The state of one scan. */
struct scan {
    struct gc_result *out;
    /* All users' jobs, otherwise only those of uid. */
    bool all;
    uid_t uid;
    /* Limits of one owner. */
    uint64_t owner_folders, owner_jobs, owner_us;
    uint64_t now_us; /* when somebody was last charged */
    struct payers payers;
    bool no_memory;
};

/* --- charging owners ------------------------------------------------------ */

/* CLOCK_MONOTONIC in microseconds. */
static uint64_t clock_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/* The index of uid among the owners, or where it would be inserted. */
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

/* Whether uid is among the owners already. */
static bool is_owner(const struct gc_result *r, uid_t uid)
{
    size_t at = place_of(r, uid);

    return at < r->n_owners && r->owners[at].uid == uid;
}

/* Adds uid to the owners, unless it is there. -1: no memory. */
static int add_owner(struct gc_result *r, uid_t uid)
{
    size_t at = place_of(r, uid);

    if (is_owner(r, uid))
        return 0;
    if (VECTOR_DOUBLE(r->owners, r->n_owners) < 0)
        return -1;
    memmove(r->owners + at + 1, r->owners + at,
            (r->n_owners - at) * sizeof(*r->owners));
    r->owners[at] = (struct gc_owner){.uid = uid};
    r->n_owners++;
    return 0;
}

/* The owner who is charged for a folder of uid. All uids without a name share
 * one limit, because in root's folder no other owner's limit applies. */
static uid_t payer_of(struct scan *s, uid_t uid)
{
    return uid == s->uid || is_owner(s->out, uid)
               ? uid
               : payers_find(&s->payers, uid);
}

/* Charges the owner for the time since the last call, and for these folders and
 * jobs. Returns false if the owner's limit is used up. Root has no limit,
 * because others can put folders into root's folders. */
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

/* The status of an entry, without following a link or asking a mounted file
 * system. -1: errno. */
static int stat_entry(int at, const char *name, struct stat *st)
{
    int fd = openhere(at, name), rc = fd < 0 ? -1 : fstat(fd, st);
    int kept = errno;

    if (fd >= 0)
        close(fd);
    errno = kept;
    return rc;
}

/* Whether the entry is a step directory, whatever its state. */
static bool is_step(int at, const char *name)
{
    struct stat st;
    int fd;
    bool found;

    if (strncmp(name, "step-", 5) != 0)
        return false;
    fd = gc_open(at, name);
    found = fd >= 0 && stat_entry(fd, JP_JOBCONF_NAME, &st) == 0 &&
            S_ISREG(st.st_mode);
    if (fd >= 0)
        close(fd);
    return found;
}

/* Adds the folder fd as a job. */
static void add_job(struct scan *s, int fd, const char *path)
{
    struct gc_result *out = s->out;
    struct stat st;

    if (fstat(fd, &st) < 0 || (!s->all && st.st_uid != s->uid) ||
        !bill(s, st.st_uid, 0, 1))
        return;
    if (VECTOR_DOUBLE(out->jobs, out->n) < 0) {
        s->no_memory = true;
        return;
    }
    out->jobs[out->n] = (struct gc_job){.path = strdup(path),
                                        .uid = st.st_uid,
                                        .dev = st.st_dev,
                                        .ino = st.st_ino};
    if (out->jobs[out->n].path)
        out->n++;
    else
        s->no_memory = true;
}

/* Searches a folder that is not a step, unless it is of another file system.
 * above: the owner of the folder that contains it, who is also charged for the
 * look-up of its owner. */
static void scan_below(struct scan *s, int at, const char *path,
                       const char *name, uid_t above, int depth)
{
    int fd = gc_open(at, name);
    char *below = NULL;
    struct stat st;

    if (fd < 0)
        return; /* not a folder, not readable, or mounted there */
    if (fstat(fd, &st) == 0 && st.st_uid != above) {
        payer_of(s, st.st_uid);
        bill(s, above, 0, 0);
    }
    if (fstat(fd, &st) < 0 || !bill(s, st.st_uid, 1, 0)) {
        close(fd);
        return;
    }
    below = strcmp(path, ".") ? text_format("%s/%s", path, name) : strdup(name);
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

/* Searches a folder. fd is taken over. uid: the owner of the folder, who is
 * charged for reading it. */
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
        /* The root itself is read to its end, whoever owns it. */
        if (!bill(s, uid, 0, 0) && depth > 0)
            break;
        /* Some file systems do not report the type. */
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

/* A limit of the options; 0: the default. */
static uint64_t limit(uint64_t asked, uint64_t otherwise)
{
    return asked ? asked : otherwise;
}

/* Finds the jobs of uid (all: of everybody) below the open root. Mounted file
 * systems are not touched, because a call to one that has stopped never
 * returns. */
static int gc_scan(int root, bool all, uid_t uid,
                   const struct gc_options *limits, struct gc_result *out,
                   struct jp_error *err)
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
    payers_fini(&s.payers);
    return s.no_memory ? error_set(err, "out of memory") : 0;
}

/* --- clear them, in one process for each owner --- */

const char *const gc_words[4] = {"kept", "freed", "busy", "failed"};

/* What clearing the jobs of an owner needs. */
struct run {
    const struct gc_options *options;
    struct gc_result *result;
    int root;
    int64_t now_s;
};

/* Compares indices of jobs by the time of their last report, the oldest
 * first. */
static int by_age(const void *a, const void *b, void *arg)
{
    const struct gc_outcome *o = arg;
    int64_t x = o[*(const size_t *) a].reported_s;
    int64_t y = o[*(const size_t *) b].reported_s;

    return (x > y) - (x < y);
}

/* Whether the last report of a job is older than the limit. */
static bool is_old(const struct run *run, const struct gc_outcome *out)
{
    return run->now_s > out->reported_s &&
           (uint64_t) (run->now_s - out->reported_s) > run->options->older_s;
}

/* Clears job i, or computes what would be freed (dry run). */
static void clear(const struct run *run, size_t i)
{
    const struct gc_job *job = &run->result->jobs[i];
    struct gc_outcome *out = &run->result->outcomes[i];

    if (!run->options->dry_run) {
        gc_clear(run->root, job, run->options, out);
        return;
    }
    out->state = GC_FREED;
    out->freed_bytes = run->options->reports
                           ? gc_measure(run->root, job->path, NULL)
                           : out->raw_bytes;
}

/* Examines and clears all jobs of one owner, with the rights that we have. -1:
 * no memory. */
static int run_owner(const struct run *run, uid_t uid)
{
    struct gc_result *r = run->result;
    size_t *order = calloc(r->n ? r->n : 1, sizeof(*order)), n = 0;
    uint64_t total = 0;

    if (!order)
        return -1;
    for (size_t i = 0; i < r->n; i++)
        if (r->jobs[i].uid == uid) {
            gc_look(run->root, &r->jobs[i], run->options->reports,
                    &r->outcomes[i]);
            total += r->outcomes[i].raw_bytes;
            order[n++] = i;
        }
    qsort_r(order, n, sizeof(*order), by_age, r->outcomes);
    for (size_t k = 0; k < n; k++) {
        struct gc_outcome *out = &r->outcomes[order[k]];
        /* Jobs go by age, or while the owner has more than the quota, oldest
         * first. A job without raw data does not reduce the total. */
        bool over = total > run->options->quota_bytes && out->raw_bytes > 0;

        if (out->state != GC_KEPT || !out->steps ||
            !(over || is_old(run, out)) ||
            (!out->raw_bytes && !run->options->reports))
            continue;
        clear(run, order[k]);
        if (out->state == GC_FREED)
            total -= out->raw_bytes < total ? out->raw_bytes : total;
        out->done = true;
    }
    for (size_t k = 0; k < n; k++) /* the jobs that stay are done as well */
        r->outcomes[order[k]].done = true;
    free(order);
    return 0;
}

/* --- with the rights of each owner ---------------------------------------- */

/* Gives up root's rights for good and becomes uid. False: uid has no name, or a
 * call failed; then the process must do nothing. setuid(0) must fail
 * afterwards, otherwise the rights were not given up. */
static bool become(uid_t uid)
{
    const struct passwd *user = getpwuid(uid);
    uid_t r, e, s;

    return user && setgroups(0, NULL) == 0 &&
           setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
           setresuid(uid, uid, uid) == 0 && getresuid(&r, &e, &s) == 0 &&
           r == uid && e == uid && s == uid && setuid(0) < 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* Marks the jobs of an owner that were not finished as failed. */
static void fail_owner(struct gc_result *r, uid_t uid, const char *why)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->jobs[i].uid == uid && !r->outcomes[i].done) {
            r->outcomes[i].state = GC_FAILED;
            snprintf(r->outcomes[i].why, sizeof(r->outcomes[i].why), "%s", why);
        }
}

/* The argument of a child. */
struct turn {
    const struct run *run;
    uid_t uid;
};

/* Runs in the child (child.work). Returns the exit status. */
static int take_turn(void *arg, int out)
{
    const struct turn *turn = arg;

    (void) out;
    if (turn->uid != geteuid() && !become(turn->uid))
        return 2;
    return run_owner(turn->run, turn->uid) < 0;
}

/* Clears everything of an owner in a process with only the owner's rights. The
 * owner can stop it, or it can hang on a file system that does not answer,
 * where no signal ends it. After its time limit it is therefore abandoned. */
static void run_as(const struct run *run, uid_t uid)
{
    uint64_t ms = run->options->owner_ms ?: GC_OWNER_MS;
    struct turn turn = {run, uid};
    const struct child child = {
        .work = take_turn, .arg = &turn, .limit_ms = (uint32_t) ms};
    struct child_result r;
    enum child_end end = child_run(&child, &r);

    if (end == CHILD_LATE)
        fail_owner(run->result, uid, "the owner's time limit ran out");
    else if (!child_succeeded(end, &r))
        fail_owner(run->result, uid,
                   "the process with the owner's rights failed");
}

/* Sorts jobs by owner, then by path. */
static int by_owner(const void *a, const void *b)
{
    const struct gc_job *x = a, *y = b;

    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Clears the jobs of each owner in turn. -1: no memory. */
static int run_all(const struct run *run, struct jp_error *err)
{
    struct gc_result *r = run->result;
    uid_t me = geteuid();

    for (size_t i = 0; i < r->n; i++) {
        if (i > 0 && r->jobs[i].uid == r->jobs[i - 1].uid)
            continue; /* sorted by owner: this owner's jobs are done */
        if (run->options->all_users)
            run_as(run, r->jobs[i].uid);
        else if (run_owner(run, me) < 0)
            return error_set(err, "out of memory");
    }
    return 0;
}

int gc_run(const struct gc_options *options, struct gc_result *out,
           struct jp_error *err)
{
    struct gc_result r = {0};
    struct run run = {.options = options, .result = &r, .now_s = time(NULL)};
    bool all = options->all_users && geteuid() == 0;
    int rc = -1;

    run.root = open(options->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run.root < 0)
        return error_set(err, "%s: %s", options->root, strerror(errno));
    if (gc_scan(run.root, all, geteuid(), options, &r, err) < 0)
        goto out;
    if (r.n) /* qsort must not get a NULL array */
        qsort(r.jobs, r.n, sizeof(*r.jobs), by_owner);
    /* Shared memory, because children write the outcomes. */
    r.outcomes = mmap(NULL, (r.n + 1) * sizeof(*r.outcomes),
                      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                      0);
    if (r.outcomes == MAP_FAILED) {
        r.outcomes = NULL;
        error_set(err, "out of memory");
        goto out;
    }
    rc = run_all(&run, err);
    if (rc == 0) {
        *out = r;
        r = (struct gc_result){0};
    }
out:
    close(run.root);
    gc_fini(&r);
    return rc;
}

void gc_fini(struct gc_result *result)
{
    if (!result)
        return;
    if (result->outcomes)
        munmap(result->outcomes, (result->n + 1) * sizeof(*result->outcomes));
    for (size_t i = 0; i < result->n; i++)
        free(result->jobs[i].path);
    free(result->jobs);
    free(result->owners);
    *result = (struct gc_result){0};
}
