/* gc.h - remove old raw data, one job at a time, and keep the results.
 *
 * A job is a folder with step directories (step-ID with a job.conf). It is
 * changed only if each of its steps has a finished report (summary.json and no
 * file of the protocol, docs/dev/contracts.md section 2) with at least one
 * record. Everything is done with the rights of the job's owner: for jobs of
 * others, root starts a process that becomes the owner for good. Nothing
 * follows a symbolic link, crosses a file system, or removes what another user
 * owns. Folders are held open, so that the folder that is claimed, examined and
 * removed is always the same, whatever is renamed above it.
 *
 * No owner can delay the others: each owner's process has a time limit, after
 * which it is abandoned, and the limits of the scan also apply to each owner
 * separately.
 */
#ifndef JP_GC_GC_H
#define JP_GC_GC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/payer.h"

#define GC_NO_QUOTA UINT64_MAX
/* Limits of one owner; they do not affect other owners. */
#define GC_OWNER_FOLDERS 2000000
#define GC_OWNER_JOBS 200000
#define GC_OWNER_MS 600000

struct gc_options {
    const char *root;
    uint64_t older_s;     /* jobs with an older last report are cleared */
    uint64_t quota_bytes; /* raw data of an owner below root; the oldest jobs go
                             first */
    bool reports;         /* remove whole steps, not only their raw data */
    bool dry_run;
    bool all_users; /* as root: jobs of all users, each with the rights of its
                       owner */
    /* for tests and --owner-time; 0: the limits above */
    uint64_t owner_folders, owner_jobs, owner_ms;
};

enum gc_state {
    GC_KEPT,   /* recent enough, and within the quota */
    GC_FREED,  /* its raw data (or all of it) is removed; dry run: would be */
    GC_BUSY,   /* it runs or has no report; see why */
    GC_FAILED, /* something could not be removed; see why */
};
extern const char *const gc_words[4];

struct gc_job {
    char *path; /* below root: "alice/jobprof-12"; "." is root itself */
    uid_t uid;
    dev_t dev;
    ino_t ino;
};

/* The result for a job, in memory that the owners' processes share. */
struct gc_outcome {
    enum gc_state state;
    uint32_t steps;
    uint64_t raw_bytes, freed_bytes; /* on disk */
    int64_t reported_s;              /* time of its last report; 0: none */
    bool done;                       /* the owner's process has handled it */
    char why[200];
};

/* An owner of folders below root, and what was charged. */
struct gc_owner {
    uid_t uid; /* GC_STRANGERS: all uids without a name */
    uint64_t folders, jobs, spent_us;
    /* beyond the limits: not all folders of the owner were examined */
    bool cut;
};
#define GC_STRANGERS PAYER_NAMELESS

struct gc_result {
    struct gc_job *jobs;
    size_t n;
    struct gc_outcome *outcomes; /* as jobs */
    struct gc_owner *owners;     /* by uid */
    size_t n_owners;
    bool cut;  /* an owner was cut */
    bool deep; /* folders deeper than 8 were not examined */
};

/* Finds the jobs and clears them. -1: root itself cannot be read. Problems with
 * a job are in its outcome. Free with gc_fini. */
int gc_run(const struct gc_options *options, struct gc_result *out,
           struct jp_error *err);
void gc_fini(struct gc_result *result);

/* --- gc_job.c: one job and the folders in it -------------------------------
 */

/* Examines a job with its owner's rights; the state becomes GC_KEPT or GC_BUSY.
 * reports: whole steps are to be removed. */
void gc_look(int root, const struct gc_job *job, bool reports,
             struct gc_outcome *out);
/* Clears a job after examining it again. */
void gc_clear(int root, const struct gc_job *job,
              const struct gc_options *options, struct gc_outcome *out);

/* Opens a folder below at, without following a link or entering a mount on the
 * way. -1: errno. */
int gc_open(int at, const char *path);
/* The bytes that our files in and below name take on disk; 0: it does not
 * exist. *newest_s (may be NULL): time of the last change of a file, since
 * 1970; 0: none. */
uint64_t gc_measure(int at, const char *name, int64_t *newest_s);

#endif
