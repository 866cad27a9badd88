/* doctor_place.c - can reports be written where the next job's would be? */
#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/ownplace.h"
#include "common/pattern.h"
#include "common/plan.h"
#include "orchestrator/doctor/probe.h"

#define CHECK "directory"
#define IN_MEMORY_1 0x01021994 /* tmpfs */
#define IN_MEMORY_2 0x858458f6 /* ramfs */

/* The job directory of an imagined job. Caller frees. */
static char *imagine(const struct doctor *d, const struct jp_plan *plan,
                     struct jp_error *err)
{
    const struct passwd *me = getpwuid(getuid());
    const struct pattern_facts facts = {.job_id = 1,
                                        .step_id = "0",
                                        .user = me ? me->pw_name : "",
                                        .job_name = "job",
                                        .array_job_id = 1};
    char *name = pattern_expand(plan_get(&plan->nccl, "dir"), &facts, err);
    char *path = name;

    if (name && *name != '/') {
        path = fileio_path("%s/%s", d->options->dir, name);
        free(name);
        if (!path)
            error_set(err, "out of memory");
    }
    return path;
}

/* Cuts path to what is there. */
static void climb(char *path)
{
    char *slash;

    while (access(path, F_OK) < 0 && (slash = strrchr(path, '/')) &&
           slash != path)
        *slash = '\0';
}

/* A folder and a file in it that replaces another, as a step does. */
static int try_writing(const char *parent, struct jp_error *err)
{
    struct probe probe;
    int rc;

    if (probe_open(parent, &probe, err) < 0)
        return -1;
    rc = probe_write(probe.fd, "probe", "1\n", err);
    if (rc == 0)
        rc = probe_write(probe.fd, "probe", "2\n", err);
    if (probe_close(&probe, rc < 0 ? NULL : err) < 0)
        rc = -1;
    return rc;
}

static void check_space(struct doctor *d, const char *path,
                        const struct jp_plan *plan)
{
    struct statfs fs;
    uint64_t least = plan_number(&plan->nccl, "min_free"), room;

    if (statfs(path, &fs) < 0)
        return;
    room = (uint64_t) fs.f_bavail * (uint64_t) fs.f_bsize;
    if (fs.f_type == IN_MEMORY_1 || (uint32_t) fs.f_type == IN_MEMORY_2)
        doctor_add(d, DOCTOR_WARN, CHECK, "nodes do not share it",
                   "%s is in this host's memory", path);
    if (room < least)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "no profile is written there (min_free=)",
                   "%s: %s free of the %s that must stay", path,
                   FIG_BYTES(room), FIG_BYTES(least));
}

void doctor_place(struct doctor *d)
{
    struct plan_input in = {
        .config = d->site && !access(d->site, F_OK) ? d->site : NULL,
        .settled = true};
    struct jp_plan plan;
    struct jp_error err;
    char *path;

    if (plan_make(&in, &plan, &err) < 0) {
        doctor_add(d, DOCTOR_SKIP, CHECK, "", "%s", err.text);
        return;
    }
    path = imagine(d, &plan, &err);
    if (path)
        climb(path);
    if (!path)
        doctor_add(d, DOCTOR_FAIL, CHECK, "", "%s", err.text);
    else if (ownplace_check(path, &err) < 0)
        doctor_add(d, DOCTOR_SKIP, CHECK,
                   "ask as a user who submits jobs there", "%s", err.text);
    else if (try_writing(path, &err) < 0)
        doctor_add(d, DOCTOR_FAIL, CHECK,
                   "steps run unprofiled: submit elsewhere, or set dir=", "%s",
                   err.text);
    else
        d->place = strdup(path);
    if (d->place) {
        doctor_add(d, DOCTOR_OK, CHECK, "", "%s can be written from here",
                   d->place);
        check_space(d, d->place, &plan);
    }
    free(path);
    plan_fini(&plan);
}
