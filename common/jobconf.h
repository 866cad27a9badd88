/* jobconf.h - job.conf: the only contract between launch and analysis.
 *
 * srun's side (`jobprof-node resolve`) writes it once into the step directory;
 * every node and the report read it. libconfig syntax, mode 0600, replaced by
 * rename. Unknown keys are ignored, because the writer may be newer; missing
 * optional keys have the defaults of common/defaults.h; a wrong type is an
 * error with file and line. Format: docs/dev/contracts.md, section 3.
 */
#ifndef JP_COMMON_JOBCONF_H
#define JP_COMMON_JOBCONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/options.h"
#include "common/sha256.h"

#define JP_JOBCONF_SCHEMA 1
#define JP_JOBCONF_NAME "job.conf"
#define JP_JOBCONF_MAX_BYTES (1024 * 1024)

/* What Slurm knew of the job of a report that was made of its logs alone
 * (jobprof aggregate JOBID): the part "job" of a job.conf, which such a report
 * does not have; and the step there, which stands for all of the job. */
#define JP_JOBCONF_OF_SLURM "slurm-job.conf"
#define JP_JOBCONF_ALL_STEPS "insp"

/* One effective setting and where it came from. All strings owned. */
struct jp_setting {
    char *key;    /* as in the option grammar: "mode", "iterations" ... */
    char *value;  /* canonical text */
    char *source; /* one of plan_source_words */
    char *where;  /* "/etc/jobprof/jobprof.conf:12" or "" */
    char *reason; /* one sentence or "" */
};

/* One variable for the tasks. `%N` in value is the node's name, expanded on
 * the node. */
struct jp_envvar {
    char *name;
    char *value;
    bool soft;    /* a value that the user has set wins */
    char *reason; /* why it has this value, a clause; NULL or "": needs no
                     reason */
};

/* Limits and times of the protocol, rows of common/policy.h. */
struct jp_policy {
    uint32_t finish_limit_ms;  /* finish on a node is killed after this */
    uint32_t alldone_wait_ms;  /* the report waits for the nodes */
    uint32_t report_limit_ms;  /* srun waits for the report */
    uint32_t report_threads;   /* 0 = as many as CPUs, at most 8 */
    uint32_t report_nice;      /* 0..19 */
    uint32_t claim_stale_ms;   /* a claim without heartbeat can be stolen */
    uint32_t watcher_delay_ms; /* time from alldone to the watcher's report */
    uint32_t watcher_life_ms;
    /* what the node agent runs; the options describe them */
    uint32_t period_ms;       /* between samples; 0: none */
    uint32_t disk_mib;        /* disk space of each module on a node */
    uint32_t hang_suspect_ms; /* an operation in flight for longer may hang; 0:
                                 no check */
};

enum jp_summary {
    JP_SUMMARY_AUTO,
    JP_SUMMARY_OFF,
    JP_SUMMARY_LINE,
    JP_SUMMARY_CARD
};

/* What an option besides --nccl-profile adds to a step. All strings owned. */
#define JP_CONF_KEYS_MAX 8
struct jobconf_side {
    char *request;               /* the requested mode: "off" ... */
    struct jp_setting *settings; /* in effect; none if the option does
                                    nothing in this step */
    size_t n_settings;
    /* By conf_keys of its struct jp_option_form: 0 or the number, "" or the
     * text. */
    uint32_t numbers[JP_CONF_KEYS_MAX];
    char *texts[JP_CONF_KEYS_MAX];
};

struct jp_jobconf {
    uint32_t schema;
    char *version;       /* release of the jobprof that has written it */
    uint64_t created_us; /* CLOCK_REALTIME */
    /* the job; step ids as Slurm prints them ("0", "interactive") */
    uint64_t job_id; /* leader's id in a heterogeneous job */
    char *array; /* the name of a task of an array, "12_1"; "": it is none */
    char *step_id;
    uint32_t restart;
    char *user;
    uint32_t uid;
    char *job_name, *account, *partition, *submit_dir, *submit_host;
    char *slurm_version;
    uint32_t nnodes, ntasks; /* as srun knew them */
    char *command;           /* argv[0] of the task */
    char *site_file;         /* config= of plugstack.conf, or "" */
    /* NCCL */
    char *nccl_request;    /* requested mode: off auto inspector example ... */
    char *nccl_mode;       /* profiler that runs: off recorder inspector ... */
    bool explicit_request; /* false: only the site's default requests it */
    bool hidden;           /* the directory is hidden until there is a record */
    char *final_dir; /* where a hidden step directory is moved then, or "" */
    /* the plan's forecast for one rank; 0: not known */
    uint64_t memory_bytes, disk_bytes;
    uint64_t planned_ops, kept_ops; /* of the requested run */
    char *lost; /* a sentence about data that will be missing, or "" */
    /* a line about known issues of NCCL's release, for a user if the step has
     * used NCCL, or "" */
    char *known_issues;
    /* containers (the site's keys): names of variables for the runtime's
     * mounts; mapping of paths for the tasks, "" if they see the host's
     * paths */
    char *container_binds, *container_paths;
    /* a sentence about what may hide the library or the folder from the tasks
     * of a container, or "" */
    char *container_note;
    struct jp_setting *settings;
    size_t n_settings;
    /* The other options. That of OPTION_NCCL is empty: its members are above.
     */
    struct jobconf_side sides[OPTIONS];
    struct jp_envvar *env;
    size_t n_env;
    enum jp_summary summary;
    struct jp_policy policy;
};

/* Reads <path>. On success *out is complete; free with jobconf_fini. On failure
 * *out is unchanged. */
int jobconf_read(const char *path, struct jp_jobconf *out,
                 struct jp_error *err);
/* The same, but fails if pin is a checksum (not NULL or "") and the file has
 * another one: then it is not the file that srun has written. */
int jobconf_read_pinned(const char *path, const char *pin,
                        struct jp_jobconf *out, struct jp_error *err);
/* The same of the job.conf in a step's directory; pin may be NULL. */
int jobconf_read_step(const char *step_dir, const char *pin,
                      struct jp_jobconf *out, struct jp_error *err);
/* The same from memory. Errors use name instead of a path. Never exits the
 * process, whatever text contains (no @include). */
int jobconf_parse(const char *text, size_t len, const char *name,
                  struct jp_jobconf *out, struct jp_error *err);
/* Adds a variable for the tasks. Takes ownership of value, even on failure;
 * NULL counts as a failed allocation of the caller. Returns 0, or -1 with err:
 * no memory. */
int jobconf_add_env(struct jp_jobconf *conf, const char *name, char *value,
                    const char *reason, bool soft, struct jp_error *err);
/* Writes by temp + rename, mode 0600. */
int jobconf_write(const char *path, const struct jp_jobconf *conf,
                  struct jp_error *err);
/* Lower-case hex SHA-256 of a file's bytes: SLURM_JOBPROF_HASH. */
int jobconf_hash(const char *path, char out[SHA256_HEX], struct jp_error *err);
void jobconf_fini(struct jp_jobconf *conf);
/* How users know the step, and commands take it: "12.0", or "12_1.0" where the
 * job is a task of an array. Returns buf. */
#define JP_JOBCONF_NAME_LEN 120
char *jobconf_step_name(const struct jp_jobconf *conf,
                        char buf[JP_JOBCONF_NAME_LEN]);
/* Reduces absolute paths of the user (command, settings, variables) to their
 * last part, or to the part after the step's directory, and empties submit_dir,
 * because reports are shared. The library's path is kept unless the user has
 * set it, and so are settings of the site. -1: out of memory. */
int jobconf_hide_paths(struct jp_jobconf *conf);
/* The value of a setting for NCCL, or NULL. Borrowed. */
const char *jobconf_find(const struct jp_jobconf *conf, const char *key);
/* The user's labels of the run, a setting of whichever option; NULL: none. */
const char *jobconf_labels(const struct jp_jobconf *conf);
/* The value of a setting of another option, or NULL. Borrowed. */
const char *jobconf_side_find(const struct jp_jobconf *conf,
                              enum jp_option option, const char *key);

#endif
