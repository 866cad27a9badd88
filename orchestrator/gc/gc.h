/* gc.h - remove old raw data, one job at a time, and keep the results.
 *
 * A job is a folder with step directories (step-ID with a job.conf). It is
 * touched only if each of its steps has a finished report (summary.json and no
 * file of the protocol, docs/contracts.md section 2) of at least one record,
 * and it is always its owner who does it: for others' jobs root starts a
 * process that is the owner for good. Nothing follows a symbolic link, crosses
 * a file system, or removes what another user owns; folders are held open, so
 * that what is claimed, looked at and removed is one and the same, whoever
 * renames what above it.
 *
 * No owner holds up the others: each process of an owner has its time, and is
 * then left behind; what is found is counted by owner, too.
 */
#ifndef JP_GC_GC_H
#define JP_GC_GC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/error.h"

#define GC_NO_QUOTA UINT64_MAX
/* Limits of one owner; they do not affect other owners. */
#define GC_OWNER_FOLDERS 2000000
#define GC_OWNER_JOBS 200000
#define GC_OWNER_MS 600000

struct gc_options {
    const char *root;
    uint64_t older_s;     /* jobs whose last report is older go */
    uint64_t quota_bytes; /* an owner's raw data below root, oldest go first */
    bool reports;         /* whole steps, not only their raw data */
    bool dry_run;
    bool all_users; /* as root: jobs of all users, each with the rights of its
                       owner */
    /* for tests and --owner-time; 0: the above */
    uint64_t owner_folders, owner_jobs, owner_ms;
};

enum gc_state {
    GC_KEPT,   /* young enough, and within the quota */
    GC_FREED,  /* its raw data (or all of it) is gone; of a dry run: would */
    GC_BUSY,   /* it runs, or lacks a report; why says which */
    GC_FAILED, /* something could not be removed; why says what */
};
extern const char *const gc_words[4];

struct gc_job {
    char *path; /* below root: "alice/jobprof-12"; "." is root itself */
    uid_t uid;
    dev_t dev;
    ino_t ino;
};

/* What became of a job; in memory that the owners' processes share. */
struct gc_outcome {
    enum gc_state state;
    uint32_t steps;
    uint64_t raw_bytes, freed_bytes; /* on disk */
    int64_t reported_s;              /* time of its last report; 0: none */
    bool done;                       /* the owner's process is through */
    char why[200];
};

/* Who has folders below root, and what they took. */
struct gc_owner {
    uid_t uid; /* GC_STRANGERS: all that have no name */
    uint64_t folders, jobs, spent_us;
    bool
        cut; /* beyond the limits: not all folders of the owner were examined */
};
#define GC_STRANGERS ((uid_t) -1)

struct gc_result {
    struct gc_job *jobs;
    size_t n;
    struct gc_outcome *outcomes; /* as jobs */
    struct gc_owner *owners;     /* by uid */
    size_t n_owners;
    bool cut;  /* an owner was */
    bool deep; /* folders more than 8 deep were not looked at */
};

/* Finds the jobs and clears them. -1: root itself cannot be read. What goes
 * wrong with a job is in its outcome. gc_fini frees. */
int gc_run(const struct gc_options *options, struct gc_result *out,
           struct jp_error *err);
void gc_fini(struct gc_result *result);

/* --- gc_job.c: one job and the folders in it -------------------------------
 */

/* Looks at a job (state GC_KEPT or GC_BUSY) as its owner. reports: the whole
 * steps are to go. */
void gc_look(int root, const struct gc_job *job, bool reports,
             struct gc_outcome *out);
/* Clears it, after another look. */
void gc_clear(int root, const struct gc_job *job,
              const struct gc_options *options, struct gc_outcome *out);

/* Opens a folder below at, no link and nothing that is mounted on
 * the way. -1 with errno. */
int gc_open(int at, const char *path);
/* Bytes that our files below (and with) name take on disk; 0: not there.
 * *newest_s (or NULL): when the last of them was written, since 1970; 0: none.
 */
uint64_t gc_measure(int at, const char *name, int64_t *newest_s);

#endif
