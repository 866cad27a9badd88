/* claim.h - report.claim: the right to write a step's report.
 *
 * The file is created with O_EXCL and says "HOST PID KIND TIME_US\n". A thread
 * of its owner touches it every second (four times in the stale time, if that
 * is shorter). One claim at a time per process. Stealing: rival.h.
 */
#ifndef JP_COLLECT_CLAIM_H
#define JP_COLLECT_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define JP_CLAIM_NAME "report.claim"

struct jp_claim;

/* Takes the claim, stealing a stale one, and starts the heartbeat. kind is one
 * of srun, watcher, user. Returns 1 with *out set; 0 when somebody else holds
 * it; -1 on error. While it is held, SIGTERM, SIGINT and SIGHUP remove the
 * claim before they end the process. */
int claim_take(const char *dir, const char *kind, uint32_t stale_ms,
               struct jp_claim **out, struct jp_error *err);

/* Whether it is still ours: one that was stopped for long may have lost it. */
bool claim_held(const struct jp_claim *claim);

/* The step directory was renamed to dir: the claim went with it. */
int claim_moved(struct jp_claim *claim, const char *dir, struct jp_error *err);

/* Stops the heartbeat, removes the file if it is still ours, frees. NULL: does
 * nothing. */
void claim_release(struct jp_claim *claim);

#endif
