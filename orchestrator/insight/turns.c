/* turns.c - the sentence on ranks that wait by turns, each time for another
 * one.
 *
 * In many jobs the slowest rank is another one in each step: sequences have
 * different lengths, experts have different loads, input comes late. All others
 * wait for it, and nobody in particular causes it, so neither the search for
 * late ranks nor that for stalls reports anything. What it costs is an answer
 * of the judge (orchestrator/judge/judge_turns.c).
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>

#include "common/figure.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/judge/judge.h"

/* Returns why nothing is said; NULL: something is. */
static const char *why_silent(const struct jp_result *r, const struct judge *j,
                              const struct jp_findings *findings)
{
    const char *why;

    if (!j)
        return "own times of the processes are not known";
    if (!j->usable)
        return j->why;
    why = owntime_why_silent(r, j);
    if (why)
        return why;
    if (findings->part)
        return "not all operations were recorded";
    if (!(findings->run_us > 0))
        return "the times of the records do not show how long the run was";
    if (!j->timed)
        return "durations alone do not show what runs beside the computation";
    if (isnan(j->turns.cost_us))
        return "operations overlap in an order that could not be followed";
    return j->part || j->clock_us >= JUDGE_SPAN * j->run_us
               ? NULL
               : "start and end of the records do not span the run";
}

/* Returns the mean time of a process in operations, over all of the run. */
static double comm_us(const struct judge *j, const struct jp_processes *p)
{
    double us = 0;

    for (size_t i = 0; i < p->n; i++)
        us += j->processes[i].comm_us / (double) p->n;
    return j->part && !j->kept ? us / j->followed : us;
}

/* Formats of how much of the run the answer is: "", or " in the first 40 % of
 * the run". Returns buf. */
static const char *part_of(const struct judge *j, char *buf, size_t size)
{
    *buf = '\0';
    if (j->part)
        snprintf(buf, size, " in the first %s of the run",
                 FIG_SHARE(j->followed));
    return buf;
}

static int add_turns(const struct jp_result *r, const struct jp_processes *p,
                     const struct judge *j, struct jp_findings *findings)
{
    struct jp_finding *f = findings_add(findings, JP_FINDING_TURNS);
    const struct judge_turns *t = &j->turns;
    double spent_us = comm_us(j, p);
    char where[80] = "", part[80];

    if (!f)
        return -1;
    if (t->comm != UINT32_MAX) {
        f->comm = (int64_t) t->comm;
        snprintf(where, sizeof(where), ", mostly before those of %.40s",
                 processes_comm_name(&r->comms[t->comm]));
    }
    f->by_own_time = true;
    f->share = spent_us > 0 ? fmin(t->cost_us / spent_us, 1) : NAN;
    f->evidence = t->times;
    /* the run is longer by it for each of them */
    finding_cost(findings, f, t->cost_us * (double) p->at_once);
    finding_count(f, t->excess_us / (double) t->times, t->processes, t->times);
    snprintf(
        f->text, sizeof(f->text),
        "ranks wait by turns, each time for another one: %s of %s ranks "
        "were the slowest of their kind at some time, in %s operations%s%s, "
        "so nobody in particular causes it; with evenly shared work the "
        "run would take %s less; cost %s",
        FIG_COUNT(t->processes), FIG_COUNT(p->n), FIG_COUNT(t->times), where,
        part_of(j, part, sizeof(part)), FIG_SHARE(f->of_run), FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next),
             "even out what ranks get in a step: lengths of sequences (pack or "
             "sort them), load of experts, input that comes late");
    return 0;
}

int turns_findings(const struct jp_result *r, const struct jp_processes *p,
                   const struct judge *j, struct jp_findings *findings)
{
    const char *why = why_silent(r, j, findings);
    double least = limits_get(JP_LIMIT_TURNS_COST);
    char part[80];

    if (why) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_TURNS,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN, "%s", why);
        /* a longer run shows no more than durations, either */
        if (findings->hypotheses && j && j->usable && !j->timed)
            findings->hypotheses->of[JP_HYPOTHESIS_TURNS].todo =
                "record start and end of operations (verbose=1)";
        return 0;
    }
    if (j->part)
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_TURNS,
                       JP_HYPOTHESIS_NOT_FOUND, least,
                       "no waits by turns that cost %s%s", FIG_SHARE(least),
                       part_of(j, part, sizeof(part)));
    else
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_TURNS,
                       JP_HYPOTHESIS_NOT_FOUND, least, NULL);
    return j->turns.cost_us > least * j->run_us ? add_turns(r, p, j, findings)
                                                : 0;
}
