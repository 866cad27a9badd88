/* whatif.c - what mending the findings of a run saves.
 *
 * whatif_findings is the entry. make_cause turns a finding into a cause, and
 * replay_gains (orchestrator/replay/replay.h) replays the run without them. A
 * gain is an estimate under the model of replay.h; where there is nothing to
 * compare with, none is given.
 */
#include "orchestrator/insight/whatif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/limits.h"

/* --- from findings to causes ---------------------------------------------- */

/* Lists the processes that a finding on lateness is about: one, or those of a
 * host. Returns their number. */
static size_t list_late(const struct jp_processes *p,
                        const struct jp_finding *f, size_t *list)
{
    size_t n = 0;

    if (f->kind != JP_FINDING_LATE_NODE) {
        if (f->process >= 0)
            list[n++] = (size_t) f->process;
        return n;
    }
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->list[i].host, f->host))
            list[n++] = i;
    return n;
}

/* Returns true for a kind of finding that a replay can assess. */
static bool has_cause(const struct jp_finding *f)
{
    switch (f->kind) {
    case JP_FINDING_LATE_RANK:
    case JP_FINDING_LATE_NODE:
    case JP_FINDING_STALL:
    case JP_FINDING_LONG_WAIT:
    case JP_FINDING_SLOW_NETWORK:
    case JP_FINDING_DRIFT:
    case JP_FINDING_IMBALANCE:
        return true;
    default:
        return false;
    }
}

/* Fills list with all processes and stage[] with the pipeline stage of each.
 * Collectives connect processes of one stage only, except for a communicator of
 * all processes. Returns the number of stages. */
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
    while (changed) { /* the smallest number spreads */
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
    for (size_t i = 0; i < p->n;
         i++) /* each group starts with the number of its first process */
        stage[i] = stage[i] == i ? n++ : stage[stage[i]];
    return n;
}

/* Makes the cause of a finding. list, stage: room for all processes. Returns
 * false if a replay cannot take the fault away. */
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
    case JP_FINDING_LONG_WAIT:
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
    case JP_FINDING_IMBALANCE: /* of messages: within a communicator */
        cause->kind = REPLAY_STAGES;
        cause->stage = stage;
        cause->n = p->n;
        return f->comm < 0 && find_stages(r, p, list, stage) > 1;
    default:
        return false;
    }
}

/* Adds the gain to the finding's text. n: findings that were replayed. */
static void add_gain_text(struct jp_finding *f, size_t n)
{
    size_t used = strlen(f->text);
    char all[60] = "";
    bool evened = f->kind == JP_FINDING_IMBALANCE;

    if (n > 1)
        snprintf(all, sizeof(all), ", without all %s causes %s less",
                 FIG_COUNT(n), FIG_SHARE(f->gain_all));
    snprintf(f->text + used, sizeof(f->text) - used,
             "; %s%s %s would take %s less%s", evened ? "evened" : "without it",
             n > 1    ? " alone"
             : evened ? ","
                      : "",
             f->gain_kind == JP_GAIN_PART ? "the part of the run that was "
                                            "replayed"
                                          : "the run",
             FIG_SHARE(f->gain), all);
}

/* A finding that is replayed. */
struct subject {
    struct jp_finding *f;
    struct replay_gain gain;
    size_t *processes;
    uint32_t *stage;
};

/* What is asked of a replay. */
struct whatif {
    const struct jp_result *r;
    const struct jp_processes *p;
    struct jp_findings *findings;
    bool part; /* only the start of the run is replayed */
    struct subject of[WHATIF_FINDINGS];
    struct replay_cause causes[WHATIF_FINDINGS];
    size_t n;
};

static void whatif_clear(struct whatif *w)
{
    for (size_t i = 0; i < w->n; i++) {
        free(w->of[i].processes);
        free(w->of[i].stage);
    }
    w->n = 0;
}

/* Lists the first findings that have a cause. Returns 0 or -1. */
static int list_subjects(struct whatif *w)
{
    size_t n = w->p->n + 1;

    for (size_t i = 0; i < w->findings->n && w->n < WHATIF_FINDINGS; i++) {
        struct jp_finding *f = &w->findings->at[i];
        struct subject *to = &w->of[w->n];

        if (!has_cause(f))
            continue;
        *to = (struct subject){.f = f,
                               .processes = calloc(n, sizeof(*to->processes)),
                               .stage = calloc(n, sizeof(*to->stage))};
        w->n++;
        if (!to->processes || !to->stage)
            return -1;
        if (make_cause(w->r, w->p, f, to->processes, to->stage,
                       &w->causes[w->n - 1]))
            continue;
        w->n--;
        free(to->processes);
        free(to->stage);
    }
    return 0;
}

static bool is_of_ranks(const struct jp_finding *f)
{
    return f->kind == JP_FINDING_LATE_RANK || f->kind == JP_FINDING_LATE_NODE ||
           finding_is_stall(f->kind);
}

static bool is_unknown(const struct subject *s)
{
    return !isfinite(replay_worth(&s->gain)) ||
           replay_misses(&s->gain, s->f->of_run, NAN);
}

/* Returns true if the replay says that a late rank or node costs next to
 * nothing, where its waits do not say more: it is late beside others that are
 * last anyway. Who is named by own times costs more than is worth a search, one
 * of a few whom sums alone name more than few GPUs differ by, and the replay
 * must agree; about a node, unless sums of waits name it, too. */
static bool is_nothing(const struct whatif *w, const struct subject *s)
{
    const struct jp_finding *f = s->f;
    double worth = replay_worth(&s->gain);

    if (w->part || is_unknown(s) ||
        (f->kind != JP_FINDING_LATE_RANK && f->kind != JP_FINDING_LATE_NODE))
        return false;
    if ((!f->by_own_time && !f->of_few) ||
        (f->confirmed && f->kind == JP_FINDING_LATE_NODE))
        return worth < limits_get(JP_LIMIT_LATE_TOLD) &&
               !(f->of_run > REPLAY_SURE);
    return worth < (f->of_few ? JUDGE_TOLD : limits_get(JP_LIMIT_OWN_WORTH));
}

/* Makes the cost what the replay says, if the whole run was replayed.
 *
 * Ranks that come late cost what the others lose. Where operations run beside
 * the computation, the others wait for one delay in each operation until the
 * next one that the computation needs, so the sum of waits has it several
 * times. A cost that is a least one is only one communicator's part of it.
 *
 * A slow network costs all ranks what the run is longer by: less than its
 * operations take where they run beside the computation, more where ranks of
 * other communicators wait, too. */
static void correct_cost(const struct whatif *w, const struct subject *s,
                         const struct replay_cause *cause)
{
    struct jp_finding *f = s->f;
    bool net = cause->kind == REPLAY_NET;
    double waiting = (double) w->p->at_once - (net ? 0 : (double) cause->n);
    double us = s->gain.share * w->findings->run_us * waiting;
    double factor = f->cost_us > 0 ? us / f->cost_us : 1;

    if (w->part || !(s->gain.share > REPLAY_SURE) || !(us > 0))
        return;
    if (net || (is_of_ranks(f) &&
                (f->cost_us > us || (f->at_least && !w->findings->part))))
        /* a cost is higher because more ranks wait than share is of */
        finding_recost(w->findings, f, us, net ? factor : fmin(factor, 1));
}

/* Drops the subjects that are nothing. Returns their number. */
static size_t drop_nothing(struct whatif *w)
{
    struct jp_findings *findings = w->findings;
    size_t kept = 0, before = findings->n;

    for (size_t i = 0; i < findings->n; i++) {
        bool nothing = false;

        for (size_t k = 0; k < w->n; k++)
            nothing |= w->of[k].f == &findings->at[i] &&
                       is_nothing(w, &w->of[k]);
        if (!nothing)
            findings->at[kept++] = findings->at[i];
    }
    findings->n = kept;
    return before - kept;
}

/* Replays the run without the listed findings, and tells what they cost. Those
 * that are nothing are dropped, and the others asked again, as what each of
 * several costs depends on all of them. Returns 0 or -1. */
static int replay_subjects(struct whatif *w, struct replay *x)
{
    struct replay_gain gains[WHATIF_FINDINGS];
    size_t known = 0;
    double all = NAN;

    do {
        whatif_clear(w);
        if (list_subjects(w) < 0)
            return -1;
        if (w->n && replay_gains(x, w->causes, w->n, gains, &all) < 0)
            return -1;
        for (size_t i = 0; i < w->n; i++)
            w->of[i].gain = gains[i];
    } while (drop_nothing(w));
    for (size_t i = 0; i < w->n; i++)
        known += !is_unknown(&w->of[i]);
    for (size_t i = 0; i < w->n; i++) {
        struct jp_finding *f = w->of[i].f;

        if (is_unknown(&w->of[i]))
            continue;
        f->gain = w->of[i].gain.alone;
        f->gain_kind = w->part ? JP_GAIN_PART : JP_GAIN_REPLAYED;
        if (known > 1) {
            f->gain_last = w->of[i].gain.last;
            f->gain_all = all;
        }
        correct_cost(w, &w->of[i], &w->causes[i]);
        add_gain_text(f, known);
    }
    return 0;
}

int whatif_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    const struct judge *judge, struct jp_findings *findings)
{
    struct whatif w = {.r = result, .p = processes, .findings = findings};
    bool any = false, own = judge && judge->replay;
    struct replay_state state = {0};
    struct replay *x;
    int rc = 0;

    for (size_t i = 0; i < findings->n; i++) {
        /* Unless a replay succeeds, all waits are an upper bound of the gain.
         */
        if (isfinite(findings->at[i].cost_us))
            findings->at[i].gain_kind = JP_GAIN_BOUND;
        /* they were replayed by the judge */
        if (findings->at[i].kind == JP_FINDING_TURNS && judge && judge->timed) {
            findings->at[i].gain = findings->at[i].of_run;
            findings->at[i].gain_kind = judge->part ? JP_GAIN_PART
                                                    : JP_GAIN_REPLAYED;
        }
        any |= has_cause(&findings->at[i]);
    }
    if (!any || !processes->known || findings->part)
        return 0;
    /* by durations alone the judge replays, too: only an upper bound */
    if (!result->n_timelines || (own && judge->replay_state.by_order))
        return 0;
    x = own ? judge->replay : replay_create(result, processes, &state);
    if (!x)
        return -1;
    if (own)
        state = judge->replay_state;
    /* a clock was set in between: its times are not those of the run */
    if (findings->run_us > 0 && state.run_us > 2 * findings->run_us)
        state.usable = false;
    w.part = state.part;
    if (state.usable)
        rc = replay_subjects(&w, x);
    whatif_clear(&w);
    if (!own)
        replay_destroy(x);
    return rc;
}
