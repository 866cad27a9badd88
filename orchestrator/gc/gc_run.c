/* gc_run.c - which jobs go, and who removes them. */
#include "orchestrator/gc/gc.h"

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

const char *const gc_words[4] = {"kept", "freed", "busy", "failed"};

struct run {
    const struct gc_options *options;
    struct gc_result *result;
    int root;
    int64_t now_s;
};

/* The oldest report first; those without one have no turn. */
static int by_age(const void *a, const void *b, void *arg)
{
    const struct gc_outcome *o = arg;
    int64_t x = o[*(const size_t *) a].reported_s;
    int64_t y = o[*(const size_t *) b].reported_s;

    return (x > y) - (x < y);
}

static bool is_old(const struct run *run, const struct gc_outcome *out)
{
    return run->now_s > out->reported_s &&
           (uint64_t) (run->now_s - out->reported_s) > run->options->older_s;
}

/* A job goes: by age, or while there is more than the quota. */
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

/* All jobs of one owner, who we are. */
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
    for (size_t k = 0; k < n; k++) /* and those that stay */
        r->outcomes[order[k]].done = true;
    free(order);
    return 0;
}

/* --- as each owner -------------------------------------------------------- */

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

static void fail_owner(struct gc_result *r, uid_t uid, const char *why)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->jobs[i].uid == uid && !r->outcomes[i].done) {
            r->outcomes[i].state = GC_FAILED;
            snprintf(r->outcomes[i].why, sizeof(r->outcomes[i].why), "%s", why);
        }
}

struct turn {
    const struct run *run;
    uid_t uid;
};

static int take_turn(void *arg, int out)
{
    const struct turn *turn = arg;

    (void) out;
    if (turn->uid != geteuid() && !become(turn->uid))
        return 2;
    return run_owner(turn->run, turn->uid) < 0;
}

/* Everything of his in a process that is him for good. He can stop it, and it
 * can wait for a file system of his that does not answer, when no signal ends
 * it: it has its time and is then left behind. */
static void run_as(const struct run *run, uid_t uid)
{
    uint64_t ms = run->options->owner_ms ?: GC_OWNER_MS;
    struct turn turn = {run, uid};
    const struct child child = {
        .work = take_turn, .arg = &turn, .limit_ms = (uint32_t) ms};
    struct child_result r;
    enum child_end end = child_run(&child, &r);

    if (end == CHILD_LATE)
        fail_owner(run->result, uid, "the time of its owner is over");
    else if (!child_succeeded(end, &r))
        fail_owner(run->result, uid, "no process of its owner could do it");
}

static int by_owner(const void *a, const void *b)
{
    const struct gc_job *x = a, *y = b;

    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int run_all(const struct run *run, struct jp_error *err)
{
    struct gc_result *r = run->result;
    uid_t me = geteuid();

    for (size_t i = 0; i < r->n; i++) {
        if (i > 0 && r->jobs[i].uid == r->jobs[i - 1].uid)
            continue; /* sorted: the owner has had his turn */
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
    if (r.n) /* no array else */
        qsort(r.jobs, r.n, sizeof(*r.jobs), by_owner);
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
