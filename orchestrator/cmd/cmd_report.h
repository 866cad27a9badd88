/* cmd_report.h - the parts of `jobprof report`.
 *
 * One step is reported in one session: whose turn it is (cmd_report_turn.c),
 * the figures and files (cmd_report_make.c), and what happens to the directory
 * then (cmd_report_settle.c). Nodes, srun, the watcher and users meet there by
 * the protocol of docs/contracts.md, section 2.
 */
#ifndef JP_CMD_CMD_REPORT_H
#define JP_CMD_CMD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/cmd/cmd_expect.h"
#include "orchestrator/collect/claim.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/insight/verdict.h"

enum report_kind { REPORT_USER, REPORT_SRUN, REPORT_WATCHER };

struct report_options {
    enum report_kind kind;
    const char *config;   /* --config or NULL */
    const char *baseline; /* --baseline or NULL */
    /* of srun's report and the watcher's: the sum of job.conf and the site
     * file, as the module knows them; NULL: not told */
    const char *hash, *site;
    const struct cmd_expect *expect;
    bool json, quiet, verbose, png, exporter;
    bool paths;  /* of the user's go into the report */
    int fail_on; /* a verdict word, or -1 */
};

struct report_session {
    const struct report_options *options;
    char *dir;              /* step directory, absolute; changes on promotion */
    struct jp_jobconf conf; /* if has_conf */
    bool has_conf;
    struct jp_policy policy;
    uint64_t start_ms;    /* clock_mono_ms() */
    uint64_t deadline_ms; /* of the figures; 0: none */
    struct jp_claim *claim;
    /* the step was over, or reported, when the claim was taken */
    bool over;
    bool written;             /* the report, by us */
    struct jp_result *result; /* kept where more is to be written of it */
    bool told;      /* no node was profiled, which the step's start has said */
    bool job_ended; /* asked for a user's report of an unfinished step */
};

/* --- cmd_report_session.c ------------------------------------------------ */

/* Opens dir, or its visible twin if dir was hidden and has been renamed since.
 * A job.conf that cannot be used is a warning in err with 1; no directory, or
 * one that is no step's, is -1. report_session_fini frees. */
int report_session_init(struct report_session *session, const char *dir,
                        const struct report_options *options,
                        struct jp_error *err);
void report_session_fini(struct report_session *session);

/* Follows a hidden directory that has been renamed meanwhile. False: dir is
 * gone without a twin. */
bool report_session_follow(struct report_session *session);

/* Sets the deadline by policy.report_limit_ms: srun's counts from the start of
 * the program, the watcher's from now, a user has none. */
void report_session_set_budget(struct report_session *session);

const char *report_kind_name(enum report_kind kind); /* srun watcher user */

/* --- cmd_report_find.c --------------------------------------------------- */

/* The step directories that the user means: a step's or a job's directory, or
 * JOBID[.STEP]. Strings are malloc'ed; *dirs too. */
int report_find(const char *word, const char *config, char ***dirs, size_t *n,
                struct jp_error *err);

/* --- cmd_report_turn.c --------------------------------------------------- */

enum report_turn {
    REPORT_OURS,  /* session->claim is held: make the report */
    REPORT_DONE,  /* somebody else has made it */
    REPORT_GONE,  /* the directory is gone: a hidden step without records */
    REPORT_LATE,  /* somebody else is still at it: time is up */
    REPORT_FAILED /* err says why */
};

/* Waits until it is this session's turn, as its kind demands. */
enum report_turn report_turn_wait(struct report_session *session,
                                  struct jp_error *err);

/* srun and watcher, holding the claim: waits for nodes that have entered and
 * not left, at most policy.alldone_wait_ms. */
void report_turn_await_nodes(struct report_session *session);

/* --- cmd_report_make.c --------------------------------------------------- */

/* Makes the report under the claim and settles the step. Returns an enum
 * jp_exit, or REPORT_LOST. */
#define REPORT_LOST (-1) /* the claim was stolen: it is not our turn */
int report_make(struct report_session *session);

/* --- cmd_report_more.c --------------------------------------------------- */

/* Does the user's option or job.conf ask for the exporter's tree? */
bool report_wants_exporter(const struct report_session *session);

/* Last of all, behind the verdict and without the claim: what was asked for in
 * the formats of others. step-ID/JOBID-insp/ is the exporter's tree,
 * step-ID/inspector-logs/ has the recorder's files as Inspector's logs. Trouble
 * is told and logged; it never changes the report. -1: not all is there. */
int report_more(struct report_session *session);

/* --- cmd_report_settle.c ------------------------------------------------- */

/* Moves a hidden step into the visible job directory, claim and topologies
 * included. Does nothing for others, nor for a user while it runs. Trouble
 * leaves it hidden, said in the log.
 */
void report_settle_promote(struct report_session *session);

/* Removes a hidden step without records, and releases the claim. */
int report_settle_remove(struct report_session *session, struct jp_error *err);

/* After summary.json: the job's index, then the protocol's files and what a
 * killed finish left in nodes/ (but for a user's report of a step that is still
 * running). */
void report_settle_finish(struct report_session *session);

/* Removes temporary files of reporters that were killed. */
void report_settle_sweep(const struct report_session *session);

#endif
