/* cmd_report.h - the parts of `jobprof report`.
 *
 * One session reports one step. cmd_report_session.c opens the step's directory
 * and decides who writes the report; in the end it moves or cleans the
 * directory. cmd_report.c has the command line, makes figures and files while
 * it holds the claim, and finally writes the formats of other tools. Nodes,
 * srun, the watcher and users coordinate through the directory by the protocol
 * of docs/dev/contracts.md, section 2.
 */
#ifndef JP_CMD_CMD_REPORT_H
#define JP_CMD_CMD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/collect/claim.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/verdict.h"

enum report_kind { REPORT_USER, REPORT_SRUN, REPORT_WATCHER };

struct report_options {
    enum report_kind kind;
    const char *config;   /* value of --config, or NULL */
    const char *baseline; /* value of --baseline, or NULL */
    /* for reports of srun and the watcher: checksum of job.conf and path of the
     * site file, as known to the SPANK module; NULL: not given */
    const char *hash, *site;
    const struct cmd_expect *expect;
    bool json, quiet, verbose, png, exporter;
    uint32_t formats; /* of other tools: bits of feature.h */
    bool paths;       /* the report contains the user's absolute paths */
    /* only steps without a report, from outside of the job: value of --missing
     */
    bool missing;
    /* set for the watcher and --missing: this process is outside of the job's
     * cgroups, so it starts no program and takes no variable of the job */
    bool outside;
    int fail_on; /* value of a verdict word, or -1 */
};

struct report_session {
    const struct report_options *options;
    char *dir;              /* absolute step directory; changes on promotion */
    struct jp_jobconf conf; /* valid if has_conf */
    bool has_conf;
    struct jp_policy policy;
    uint64_t start_ms;    /* time by clock_mono_ms() */
    uint64_t deadline_ms; /* for the figures; 0: none */
    struct jp_claim *claim;
    /* the step was over or reported when the claim was taken */
    bool over;
    bool written; /* this session wrote the report */
    /* only for the history: a site's default samples a step that turned out to
     * be without NCCL. The hidden directory is removed then, with its report */
    bool passing;
    /* owned; kept for the formats of other tools, or NULL */
    struct jp_result *result;
    /* of a job's report: the directories of its steps, whose files it joins; 0:
     * the report of the step in dir */
    char **steps;
    size_t n_steps;
    bool has_kin; /* other steps have ranks of this one's communicators */
    bool told; /* no node was profiled, and the user has read this at the step's
                  start */
    /* of a user's report of an open step: whether Slurm says that the job has
     * ended or runs, and whether the step does */
    bool job_ended, job_runs;
    enum nodes_going going;
};

/* --- cmd_report_session.c ------------------------------------------------ */

/* Opens dir, or its visible twin if dir was hidden and has been renamed since.
 * Returns 1 and a warning in err if job.conf cannot be used, -1 if the
 * directory is missing or is not that of a step. Free with
 * report_session_fini. */
int report_session_init(struct report_session *session, const char *dir,
                        const struct report_options *options,
                        struct jp_error *err);
void report_session_fini(struct report_session *session);

/* "srun", "watcher" or "user". */
const char *report_kind_name(enum report_kind kind);

/* Whether the step's job.conf sets this key to 1. */
bool report_session_enabled(const struct report_session *session,
                            const char *key);

enum report_turn {
    REPORT_OURS,  /* session->claim is held: make the report */
    REPORT_DONE,  /* another process has made it */
    REPORT_GONE,  /* the directory is gone: a hidden step without records */
    REPORT_LATE,  /* another process still makes it, and time is up */
    REPORT_FAILED /* see err */
};

/* Waits for this session's turn, according to its kind. Before it returns
 * REPORT_OURS, it removes temporary files of reporters that were killed; for
 * srun and the watcher, it also waits for nodes that have entered but not left,
 * at most policy.alldone_wait_ms, and sets the time limit of the figures. */
enum report_turn report_turn_wait(struct report_session *session,
                                  struct jp_error *err);

/* --- cmd_report_job.c ----------------------------------------------------- */

/* Opens a session for <job>/job/ (REPORT_JOB_FOLDER), the report of the steps
 * that have ranks of the same communicators; of several such groups, of the one
 * with most ranks. s has options and times only. Returns 1; 0: the job has no
 * such steps with reports of their own, or srun and the watcher leave it to a
 * later step, as one of the job's visible steps has no report yet; -1 and err.
 * Free with report_job_close in any case. */
int report_job_open(struct report_session *s, const char *job_dir,
                    struct jp_error *err);
void report_job_close(struct report_session *s);

/* Formats the ids of the job's other steps whose recordings have a communicator
 * of which the result (NULL: none) lacks ranks: "1, 2"; "": none, as far as
 * their first recordings show. A step may still run. Returns buf. */
char *report_job_kin(const char *step_dir, const struct jp_result *result,
                     char *buf, size_t size);

/* --- cmd_report.c -------------------------------------------------------- */

/* Sets the job's end in nodes from the report in dir, as Slurm told it then;
 * unknown if there is none. */
void cmd_report_recall_end(const char *dir, struct jp_nodes *nodes);

/* --- cmd_report_session.c, in the end ------------------------------------ */

/* Whether the job has other steps, hidden or not. */
bool report_settle_has_others(const struct report_session *session);

/* Moves a hidden step into the visible job directory, including the claim and
 * the topologies. Does nothing for visible steps, nor for a user's report of a
 * running step. On an error the step stays hidden, and the log says why. */
void report_settle_promote(struct report_session *session);

/* Removes a hidden step without records, and releases the claim. */
int report_settle_remove(struct report_session *session, struct jp_error *err);

/* Call it after summary.json is written. Writes the job's index, then removes
 * the protocol's files and what a killed finish left in nodes/, except for a
 * user's report of a running step. */
void report_settle_finish(struct report_session *session);

#endif
