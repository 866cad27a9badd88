/* cmd_report_turn.c - decide who of srun, watcher and users reports a step. */
#include "orchestrator/cmd/cmd_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/jobconf.h"
#include "common/defaults.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/agent/runmarks.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/barrier.h"
#include "orchestrator/collect/claim.h"
#include "orchestrator/collect/stepdir.h"

#define POLL_MS 50
#define WATCH_POLL_MS 500
#define NODES_POLL_MS 20
#define RUNNER_RESERVE_S 2 /* of KillWait: srun waits no longer */

/* Tries to take the claim, and looks again whether it is still wanted. */
static enum report_turn try_claim(struct report_session *session,
                                  struct jp_error *err)
{
    const struct report_options *options = session->options;
    int rc;

    if (!report_session_follow(session))
        return REPORT_GONE;
    if (options->kind != REPORT_USER && barrier_is_reported(session->dir))
        return REPORT_DONE;
    rc = claim_take(session->dir, report_kind_name(options->kind),
                    session->policy.claim_stale_ms, &session->claim, err);
    if (rc < 0)
        return stepdir_is_folder(session->dir) ? REPORT_FAILED : REPORT_LATE;
    if (rc == 0)
        return REPORT_LATE;
    if (options->kind != REPORT_USER && barrier_is_reported(session->dir)) {
        claim_release(session->claim);
        session->claim = NULL;
        return REPORT_DONE;
    }
    session->over = session->job_ended ||
                    stepdir_has(session->dir, "alldone") ||
                    barrier_is_reported(session->dir);
    return REPORT_OURS;
}

/* A user waits as long as the other one lives; srun within its limit. */
static enum report_turn wait_for_claim(struct report_session *session,
                                       struct jp_error *err)
{
    uint64_t deadline = session->start_ms + session->policy.report_limit_ms;
    bool said = false;

    for (;;) {
        enum report_turn turn = try_claim(session, err);

        if (turn != REPORT_LATE)
            return turn;
        if (session->options->kind == REPORT_SRUN &&
            clock_mono_ms() >= deadline)
            return REPORT_LATE;
        if (!said && session->options->kind == REPORT_USER &&
            !session->options->quiet)
            quote_printf(stderr, "jobprof: %s: waiting for another report\n",
                         session->dir);
        said = true;
        clock_sleep_ms(POLL_MS);
    }
}

/* Whether the watcher may step in now. owner is absent where no srun will come.
 */
static bool may_step_in(const struct report_session *session)
{
    uint64_t age_ms = clock_mono_ms() - session->start_ms;

    switch (claim_look(session->dir, session->policy.claim_stale_ms)) {
    case CLAIM_STALE:
        return true;
    case CLAIM_FREE:
        return age_ms >= session->policy.watcher_delay_ms ||
               !stepdir_has(session->dir, "owner");
    default:
        return false;
    }
}

/* Whether a reported step is left as it should be: who reported it clears the
 * markers away and releases his claim last, and if he was killed before that,
 * the watcher does both. */
static bool is_settled(struct report_session *session)
{
    enum claim_state state =
        claim_look(session->dir, session->policy.claim_stale_ms);

    if (state == CLAIM_LIVE)
        return false;
    if ((state == CLAIM_STALE || !barrier_is_clear(session->dir)) &&
        claim_take(session->dir, report_kind_name(REPORT_WATCHER),
                   session->policy.claim_stale_ms, &session->claim, NULL) > 0) {
        barrier_clear(session->dir);
        claim_release(session->claim);
        session->claim = NULL;
    }
    return true;
}

/* Looks on until the step is reported, or nobody does it. */
static enum report_turn watch(struct report_session *session,
                              struct jp_error *err)
{
    const struct jp_policy *policy = &session->policy;
    uint64_t end_ms = session->start_ms + policy->watcher_life_ms;
    uint32_t poll_ms = policy->watcher_delay_ms / 4 < WATCH_POLL_MS
                           ? policy->watcher_delay_ms / 4 + 1
                           : WATCH_POLL_MS;
    enum report_turn turn;

    while (clock_mono_ms() < end_ms) {
        if (!report_session_follow(session))
            return REPORT_GONE;
        if (barrier_is_reported(session->dir)) {
            if (is_settled(session))
                return REPORT_DONE;
        } else if (may_step_in(session)) {
            turn = try_claim(session, err);
            if (turn != REPORT_LATE)
                return turn;
        }
        clock_sleep_ms(poll_ms);
    }
    return REPORT_LATE;
}

enum report_turn report_turn_wait(struct report_session *session,
                                  struct jp_error *err)
{
    if (session->options->kind == REPORT_WATCHER)
        return watch(session, err);
    return wait_for_claim(session, err);
}

/* What ran beside the tasks writes its files within KillWait; the figures' time
 * begins behind that. */
static void await_runners(struct report_session *session)
{
    uint64_t start_ms = clock_mono_ms(), wait_s = JP_DEF_KILL_WAIT_S;
    uint32_t n[RUNMARKS];

    num_parse_u64(jobconf_copper(&session->conf, "kill_wait"), 0, 3600, &wait_s,
                  NULL);
    if (session->options->kind == REPORT_WATCHER &&
        wait_s > CEILING_KILL_WAIT_S)
        wait_s = CEILING_KILL_WAIT_S;
    wait_s -= wait_s > RUNNER_RESERVE_S ? RUNNER_RESERVE_S : 0;
    for (;;) {
        runmarks_count(session->dir, n);
        if (n[RUNMARK_DONE] >= n[RUNMARK_READY] ||
            clock_mono_ms() - start_ms >= wait_s * 1000)
            break;
        clock_sleep_ms(POLL_MS);
    }
    session->start_ms += clock_mono_ms() - start_ms;
    if (n[RUNMARK_DONE] < n[RUNMARK_READY])
        stepdir_log(session->dir, "Copper has not ended on %u nodes",
                    n[RUNMARK_READY] - n[RUNMARK_DONE]);
}

void report_turn_await_nodes(struct report_session *session)
{
    uint64_t wait_ms = session->policy.alldone_wait_ms;
    uint64_t end_ms;

    if (session->options->kind == REPORT_USER)
        return;
    /* half of the time that srun has stays for the figures */
    if (wait_ms > session->policy.report_limit_ms / 2)
        wait_ms = session->policy.report_limit_ms / 2;
    end_ms = session->start_ms + wait_ms;
    while (barrier_count_pending(session->dir) > 0 &&
           !stepdir_has(session->dir, "alldone") && clock_mono_ms() < end_ms)
        clock_sleep_ms(NODES_POLL_MS);
    if (session->has_conf && runmarks_there(session->dir)) {
        runmark_end_step(session->dir, NULL); /* a node may have died */
        await_runners(session);
    }
}
