/* claim.h - report.claim: the right to write a step's report.
 *
 * The file is created with O_EXCL and says "HOST PID KIND TIME_US\n". A thread
 * of its owner touches it every second (four times in the stale time, if that
 * is shorter) by CLOCK_MONOTONIC. One claim at a time per process.
 *
 * A claim looks stale when its last touch is longer ago than the stale time, by
 * the clock that the file system gives a probe file beside it. That clock may
 * be this host's, and hosts may disagree or set theirs; so nobody steals by it
 * alone: the claim must also stay untouched while the thief looks on for two
 * beats of his own stopwatch. It is then removed under a flock on it, where the
 * file system has one, by rename to report.claim.stale.HOST.PID and unlink.
 */
#ifndef JP_COLLECT_CLAIM_H
#define JP_COLLECT_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define JP_CLAIM_NAME "report.claim"

struct jp_claim;

/* Takes the claim, stealing a stale one (which takes two beats), and starts the
 * heartbeat. kind is one of srun, watcher, user. Returns 1 with *out set; 0
 * when somebody else holds it; -1 on error. While it is held, SIGTERM, SIGINT
 * and SIGHUP remove the claim before they end the process. */
int claim_take(const char *dir, const char *kind, uint32_t stale_ms,
               struct jp_claim **out, struct jp_error *err);

/* Whether it is still ours: one that was stopped for long may have lost it. */
bool claim_held(const struct jp_claim *claim);

/* The step directory was renamed to dir: the claim went with it. */
int claim_moved(struct jp_claim *claim, const char *dir, struct jp_error *err);

/* Stops the heartbeat, removes the file if it is still ours, frees. NULL: does
 * nothing. */
void claim_release(struct jp_claim *claim);

enum claim_state {
    CLAIM_FREE,  /* it is free */
    CLAIM_LIVE,  /* its owner's heart beats */
    CLAIM_STALE, /* it looks as if its owner were gone or stopped */
    CLAIM_BAD    /* the directory is gone or cannot be read or written */
};

/* How does the claim of dir look now? Does not wait. */
enum claim_state claim_look(const char *dir, uint32_t stale_ms);

/* This host's name, as claims say it. */
void claim_host(char out[65]);

#endif
