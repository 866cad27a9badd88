/* cmd_report.h - the parts of `jobprof report`.
 *
 * One step is reported in one session. cmd_report_session.c opens the step's
 * directory and decides whose turn it is; cmd_report_make.c makes the figures
 * and files under the claim; cmd_report_settle.c says what becomes of the
 * directory then; cmd_report.c has the
 * command line, and writes the formats of others last. Nodes, srun, the watcher
 * and users meet in the directory by the protocol of docs/contracts.md,
 * section 2.
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
    const char *config;   /* --config or NULL */
    const char *baseline; /* --baseline or NULL */
    /* reports of srun and the watcher: job.conf's checksum and the site file,
     * as the SPANK module knows them; NULL: not given */
    const char *hash, *site;
    const struct cmd_expect *expect;
    bool json, quiet, verbose, png, exporter, parquet;
    bool paths;  /* the report shows the user's absolute paths */
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
    bool written;             /* this session wrote the report */
    struct jp_result *result; /* kept for the formats of others, or NULL */
    bool told;      /* no node was profiled; the step's start has said so */
    bool job_ended; /* Slurm's answer, for a user's report of an open step */
};

/* --- cmd_report_session.c ------------------------------------------------ */

/* Opens dir, or its visible twin if dir was hidden and has been renamed since.
 * A job.conf that cannot be used is a warning in err with 1; no directory, or
 * one that is no step's, is -1. report_session_fini frees. */
int report_session_init(struct report_session *session, const char *dir,
                        const struct report_options *options,
                        struct jp_error *err);
void report_session_fini(struct report_session *session);

/* Sets the deadline by policy.report_limit_ms: srun's counts from the start of
 * the program, the watcher's from now, a user has none. */
void report_session_set_budget(struct report_session *session);

const char *report_kind_name(enum report_kind kind); /* srun watcher user */

/* Does the step's job.conf set this key to 1? */
bool report_session_asks(const struct report_session *session, const char *key);

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

/* --- cmd_report_settle.c ------------------------------------------------- */

/* Moves a hidden step into the visible job directory, claim and topologies
 * included. Does nothing for others, nor for a user while it runs. Trouble
 * leaves it hidden, said in the log. */
void report_settle_promote(struct report_session *session);

/* Removes a hidden step without records, and releases the claim. */
int report_settle_remove(struct report_session *session, struct jp_error *err);

/* After summary.json: the job's index, then the protocol's files and what a
 * killed finish left in nodes/ (but for a user's report of a step that is still
 * running). */
void report_settle_finish(struct report_session *session);

/* Removes temporary files of reporters that were killed. */
void report_settle_sweep(const struct report_session *session);

/* --- cmd_upload.c --------------------------------------------------------- */

/* Where the site says so (upload.to), starts the upload of a reported step in
 * the background, and returns at once. config: the site's file, or NULL. */
void cmd_upload_start(const char *dir, const char *config);

/* --- cmd_history.c -------------------------------------------------------- */

/* Where the site says so (history.dir, command, syslog), a process of its own
 * writes the line of a reported step. It is waited for a moment, because
 * Slurm may end it with the job. */
void cmd_history_start(const char *dir, const char *config);

#endif
