/* claim.h - report.claim: the right to write a step's report.
 *
 * The file is created with O_EXCL and contains "HOST PID KIND TIME_US\n". A
 * thread of its owner touches it every second (four times in the stale time, if
 * that is shorter), by CLOCK_MONOTONIC. A process has at most one claim.
 *
 * A claim looks stale if its last touch is longer ago than the stale time, by
 * the clock that the file system gives to a probe file beside it. That may be
 * the clock of this host, and clocks of hosts may differ or be set. Therefore a
 * claim is never stolen for its age alone: it must also stay untouched while
 * the thief watches it for two beats of its own monotonic clock. It is then
 * removed under a flock on it, if the file system has locks, by rename to
 * report.claim.stale.HOST.PID and unlink.
 */
#ifndef JP_COLLECT_CLAIM_H
#define JP_COLLECT_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define JP_CLAIM_NAME "report.claim"

struct jp_claim;

/* Takes the claim and starts the heartbeat. A stale claim is stolen, which
 * takes two beats. kind is one of srun, watcher, user. Returns 1 with *out set;
 * 0 if another process has the claim; -1 on error. While it is held, SIGTERM,
 * SIGINT and SIGHUP remove the claim before they end the process. dir may be
 * renamed meanwhile: the claim moves with it. */
int claim_take(const char *dir, const char *kind, uint32_t stale_ms,
               struct jp_claim **out, struct jp_error *err);

/* Whether the claim is still ours. A process that was stopped for long may have
 * lost it. */
bool claim_held(const struct jp_claim *claim);

/* Stops the heartbeat, removes the file if it is still ours, and frees claim,
 * which may be NULL. */
void claim_release(struct jp_claim *claim);

enum claim_state {
    CLAIM_FREE,  /* nobody has the claim */
    CLAIM_LIVE,  /* its owner is alive */
    CLAIM_STALE, /* its owner seems to be gone or stopped */
    CLAIM_BAD    /* the directory is gone or cannot be read or written */
};

/* The state of the claim of dir. Does not wait. */
enum claim_state claim_look(const char *dir, uint32_t stale_ms);

/* This host's name as it is written in claims. */
void claim_host(char out[65]);

#endif
