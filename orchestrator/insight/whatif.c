/* whatif.c - from findings to causes that a replay takes away. */
#include "orchestrator/insight/whatif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"

/* Whose own times a finding on lateness is about. */
static size_t list_late(const struct jp_processes *p,
                        const struct jp_finding *f, size_t *list)
{
    const struct jp_process *one;
    size_t n = 0;

    if (f->kind != JP_FINDING_LATE_NODE) {
        one = processes_find(p, f->host, f->pid);
        if (one)
            list[n++] = (size_t) (one - p->list);
        return n;
    }
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->list[i].host, f->host))
            list[n++] = i;
    return n;
}

/* Is it a kind that a replay may have something to say of? */
static bool has_cause(const struct jp_finding *f)
{
    switch (f->kind) {
    case JP_FINDING_LATE_RANK:
    case JP_FINDING_LATE_NODE:
    case JP_FINDING_STALL:
    case JP_FINDING_SLOW_NETWORK:
    case JP_FINDING_DRIFT:
    case JP_FINDING_IMBALANCE:
        return true;
    default:
        return false;
    }
}

/* Fills list with all processes and stage[] with which of a pipeline's stages
 * each is of: collectives join those of one, and none but one of all processes
 * joins several. Returns how many there are. */
static uint32_t find_stages(const struct jp_result *r,
                            const struct jp_processes *p, size_t *list,
                            uint32_t *stage)
{
    uint32_t n = 0;
    bool changed = true;

    for (size_t i = 0; i < p->n; i++) {
        list[i] = i;
        stage[i] = (uint32_t) i;
    }
    while (changed) { /* the least number spreads */
        changed = false;
        for (size_t c = 0; c < r->n_comms; c++) {
            size_t from = p->comm_start[c], to = p->comm_start[c + 1];
            uint32_t least = UINT32_MAX;

            if (!r->comms[c].ops || to - from == p->n)
                continue;
            for (size_t k = from; k < to; k++)
                if (stage[p->of_rank[k]] < least)
                    least = stage[p->of_rank[k]];
            for (size_t k = from; k < to; k++) {
                changed |= stage[p->of_rank[k]] != least;
                stage[p->of_rank[k]] = least;
            }
        }
    }
    for (size_t i = 0; i < p->n; i++) /* the first of each has its own */
        stage[i] = stage[i] == i ? n++ : stage[stage[i]];
    return n;
}

/* list: room for all processes. False: nothing in the run is to blame alone. */
static bool make_cause(const struct jp_result *r, const struct jp_processes *p,
                       const struct jp_finding *f, size_t *list,
                       uint32_t *stage, struct replay_cause *cause)
{
    *cause =
        (struct replay_cause){.processes = list, .comm = -1, .from_us = NAN};
    switch (f->kind) {
    case JP_FINDING_LATE_RANK:
    case JP_FINDING_LATE_NODE:
    case JP_FINDING_STALL:
        cause->kind = REPLAY_LATE;
        cause->n = list_late(p, f, list);
        return cause->n > 0;
    case JP_FINDING_SLOW_NETWORK:
        cause->kind = REPLAY_NET;
        cause->host = f->host;
        cause->comm = f->comm;
        cause->from_us = f->from_us;
        return f->against == JP_AGAINST_LIKES || isfinite(f->from_us);
    case JP_FINDING_DRIFT:
        cause->kind = REPLAY_NET;
        cause->grows = true;
        return true;
    case JP_FINDING_IMBALANCE: /* of messages: in a communicator */
        cause->kind = REPLAY_STAGES;
        cause->stage = stage;
        cause->n = p->n;
        return f->comm < 0 && find_stages(r, p, list, stage) > 1;
    default:
        return false;
    }
}

/* Behind what the finding's text says. */
static void say(struct jp_finding *f)
{
    size_t n = strlen(f->text);

    snprintf(f->text + n, sizeof(f->text) - n, "; %s %s would take %s less",
             f->kind == JP_FINDING_IMBALANCE ? "evened," : "without it",
             f->gain_kind == JP_GAIN_PART ? "the part of the run that was "
                                            "replayed"
                                          : "the run",
             FIG_SHARE(f->gain));
}

static int replay(struct replay *x, const struct jp_result *r,
                  const struct jp_processes *p, bool part,
                  struct jp_findings *findings)
{
    size_t *list = calloc(p->n + 1, sizeof(*list)), done = 0;
    uint32_t *stage = calloc(p->n + 1, sizeof(*stage));
    int rc = list && stage ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < findings->n && done < WHATIF_FINDINGS;
         i++) {
        struct jp_finding *f = &findings->at[i];
        struct replay_cause cause;

        if (!make_cause(r, p, f, list, stage, &cause))
            continue;
        rc = replay_without(x, &cause, &f->gain);
        done++;
        if (rc < 0 || !isfinite(f->gain))
            continue;
        f->gain_kind = part ? JP_GAIN_PART : JP_GAIN_REPLAYED;
        say(f);
    }
    free(list);
    free(stage);
    return rc;
}

int whatif_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_findings *findings, struct replay_state *state)
{
    bool any = false;
    struct replay *x;
    int rc = 0;

    *state = (struct replay_state){0};
    for (size_t i = 0; i < findings->n; i++) {
        if (isfinite(findings->at[i].cost_us))
            findings->at[i].gain_kind = JP_GAIN_BOUND;
        any |= has_cause(&findings->at[i]);
    }
    if (!any || !result->n_timelines || !processes->known)
        return 0;
    x = replay_create(result, processes, state);
    if (!x)
        return -1;
    if (state->usable)
        rc = replay(x, result, processes, state->part, findings);
    replay_destroy(x);
    return rc;
}
