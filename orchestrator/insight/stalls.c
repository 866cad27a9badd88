/* stalls.c - findings about the stalls that the judge found. */
#include "orchestrator/insight/stalls.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/stats.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/looks.h"

/* --- when ----------------------------------------------------------------- */

/* When operations began, according to the records: since 1970, us; 0:
 * unknown. */
struct moments {
    double first, last; /* of the first and the last stall */
};

static bool is_place(const struct jp_result *r, const struct jp_op *op,
                     const struct judge_place *place)
{
    return place->numbered && op->comm == place->comm && op->sn == place->sn &&
           !strcmp(r->coll_names[op->coll], place->func);
}

/* Looks up when the first and the last stall were. 0, or -1: no memory. */
static int find_moments(const struct jp_result *r, const struct judge_answer *a,
                        struct moments *at)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));

    *at = (struct moments){(double) a->waits[0].end_us,
                           (double) a->waits[a->times - 1].end_us};
    if (!reader)
        return -1;
    if (at->first > 0) {
        free(reader);
        return 0;
    }
    reader->ops = r->ops;
    ops_want(reader, OPS_SN | OPS_COUNTS | OPS_DUMP_MIN | OPS_STARTS);
    for (size_t i = 0; r->ops && i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        double us = (double) (op->n_start ? op->start_max_us : op->dump_min_us);

        if (is_place(r, op, &a->waits[0].in))
            at->first = us;
        if (is_place(r, op, &a->waits[a->times - 1].in))
            at->last = us;
    }
    free(reader);
    return 0;
}

/* --- findings ------------------------------------------------------------- */

static const char *name_of(const struct jp_comm *comm)
{
    return *comm->name && strcmp(comm->name, "unknown") ? comm->name : comm->id;
}

/* Returns the median length of the stalls. NAN: no memory. */
static double typical_us(const struct judge_answer *a)
{
    double *us = calloc(a->times + 1, sizeof(*us)), median = NAN;

    for (size_t i = 0; us && i < a->times; i++)
        us[i] = a->waits[i].us;
    if (us)
        median = stats_median(us, a->times);
    free(us);
    return median;
}

static int add_stalls(const struct jp_result *r, const struct jp_processes *p,
                      const struct judge *j, const struct judge_answer *a,
                      const struct moments *at, struct jp_findings *findings)
{
    const struct jp_process *who = &p->list[a->process];
    struct jp_finding *f = findings_add(findings, JP_FINDING_STALL);
    char when[80] = "at irregular intervals";
    char name[JP_PROCESS_NAME_LEN], seen[64] = "";

    if (!f || owntime_fill(r, p, j, a, findings, f) < 0)
        return -1;
    f->from_us = at->first > 0 ? at->first : NAN;
    f->to_us = at->last > 0 ? at->last : NAN;
    finding_count(f, typical_us(a), a->times,
                  j->processes[a->process].intervals);
    if (a->every > 0 && at->last > at->first && at->first > 0)
        snprintf(when, sizeof(when), "every %s operations (%s)",
                 FIG_COUNT((uint64_t) (a->every + 0.5)),
                 FIG_US((at->last - at->first) / a->rounds));
    else if (a->every > 0)
        snprintf(when, sizeof(when), "every %s operations",
                 FIG_COUNT((uint64_t) (a->every + 0.5)));
    if (f->comm >= 0)
        snprintf(seen, sizeof(seen), ", seen in %.40s",
                 name_of(&r->comms[f->comm]));
    snprintf(f->text, sizeof(f->text),
             "%s stalled %s%s times, for %s (at most %s), %s%s; cost %s",
             processes_describe(p, r, who, name), a->more ? "at least " : "",
             FIG_COUNT(a->times), FIG_US(f->by_us), FIG_US(a->longest_us), when,
             seen, FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next), "%s",
             a->every > 0
                 ? "check what that process does at such intervals: a "
                   "checkpoint, an evaluation, a log, its data loader"
                 : "check that process: garbage collection, data loading, "
                   "other work on its cores, a file system that stalls; of a "
                   "server: did it wait for requests?");
    return 0;
}

/* "AllReduce 37 of dp" */
static void format_place(const struct jp_result *r,
                         const struct judge_place *place, uint64_t last,
                         char *buf, size_t size)
{
    const char *of = processes_comm_name(&r->comms[place->comm]);

    if (!place->numbered)
        snprintf(buf, size, "%.20s %" PRIu64 " of %.40s", place->func,
                 place->sn + 1, of);
    else if (last > place->sn)
        snprintf(buf, size, "%.20s %" PRIu64 " to %" PRIu64 " of %.40s",
                 place->func, place->sn, last, of);
    else
        snprintf(buf, size, "%.20s %" PRIu64 " of %.40s", place->func,
                 place->sn, of);
}

/* Sets x->us and x->most_us to how long all other members waited for this one
 * alone: until then the last but one had come. The excess of the judge is
 * beyond the usual member, and who comes late, too, waits for less. Nothing is
 * changed unless each of the wait's operations has the records of all, or where
 * no member is known to have come last. 0, or -1: no memory. */
static int shorten_to_all(const struct jp_result *r, int64_t rank,
                          struct judge_wait *x)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    uint32_t n_ranks = r->comms[x->in.comm].n_ranks;
    double us = 0, most_us = 0;
    uint64_t n = 0;

    if (!reader)
        return -1;
    reader->ops = r->ops;
    ops_want(reader, OPS_SN | OPS_COUNTS | OPS_RANK | OPS_EXEC);
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        double alone = (double) op->exec_second_us - (double) op->exec_min_us;

        if (op->comm != x->in.comm || op->sn < x->in.sn ||
            op->sn > x->last.sn || op->n_exec != n_ranks ||
            strcmp(r->coll_names[op->coll], x->in.func) != 0)
            continue;
        n++;
        if (op->min_rank != (uint32_t) rank || n_ranks < 2)
            continue;
        us += alone;
        most_us = fmax(most_us, alone);
    }
    free(reader);
    if (n == x->ops && us > 0 && us < x->us) {
        x->us = us;
        x->most_us = most_us;
    }
    return 0;
}

static int add_once(const struct jp_result *r, const struct jp_processes *p,
                    const struct judge *j, const struct judge_answer *a,
                    const struct moments *at, struct jp_findings *findings)
{
    const struct jp_process *who = &p->list[a->process];
    struct judge_wait *x = &a->waits[0];
    struct jp_finding *f = findings_add(findings, JP_FINDING_LONG_WAIT);
    char name[JP_PROCESS_NAME_LEN], whom[40] = "the others", most[40] = "";
    char when[80] = "", before[200] = "", in[150] = "one operation";
    bool same = x->in.comm == x->last.comm && x->in.func == x->last.func;

    if (!f || owntime_fill(r, p, j, a, findings, f) < 0)
        return -1;
    if (x->in.func) {
        size_t rank = processes_rank_in(p, r, a->process, x->in.comm);

        f->comm = (int64_t) x->in.comm;
        f->rank = rank == SIZE_MAX ? -1 : (int64_t) r->ranks[rank].rank;
        format_place(r, &x->in, same ? x->last.sn : 0, in, sizeof(in));
        if (same && x->in.numbered && r->ops && f->rank >= 0 &&
            shorten_to_all(r, f->rank, x) < 0)
            return -1;
    }
    f->from_us = at->first > 0 ? at->first : NAN;
    f->to_us = f->from_us + x->us;
    if (x->in.func && x->in.numbered) {
        f->others = r->comms[x->in.comm].n_ranks - 1;
        snprintf(whom, sizeof(whom), "%s rank%s", FIG_COUNT(f->others),
                 plural(f->others));
    }
    finding_count(f, x->us, x->ops, 0);
    if (x->ops > 1)
        snprintf(most, sizeof(most), " (at most %s)", FIG_US(x->most_us));
    if (isfinite(f->from_us))
        snprintf(when, sizeof(when), ", at %s", FIG_UTC((uint64_t) f->from_us));
    if (j->timed && x->before.func) {
        char last[150];

        format_place(r, &x->before, 0, last, sizeof(last));
        snprintf(before, sizeof(before), "; it was on its own for %s after %s",
                 FIG_US(x->own_us), last);
    } else if (j->timed) {
        snprintf(before, sizeof(before), "; it was on its own for %s before it",
                 FIG_US(x->own_us));
    }
    snprintf(f->text, sizeof(f->text),
             "%s kept %s waiting for %s, in %s%s%s%s; cost %s",
             processes_describe(p, r, who, name), whom, FIG_US(x->us), in, most,
             when, before, FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next),
             "look at what that process did then: a checkpoint, an evaluation, "
             "data that came late, a file system that stopped");
    return 0;
}

/* Returns true if the sum of the durations is longer than the job, because
 * operations are in flight together. Then each of them counts the same stall
 * again, and lateness of one member shows in all members of its group. */
static bool is_overlapped(const struct judge *j)
{
    return !j->timed && j->clock_us > JUDGE_OVERLAP * j->run_us;
}

/* Counts operations that show the same stall only once, with the longest wait.
 */
static void count_once(struct judge_answer *a)
{
    double us = 0;

    for (size_t i = 0; i < a->times; i++) {
        a->waits[i].us = a->waits[i].most_us;
        us += a->waits[i].us;
    }
    a->excess_us = fmin(a->excess_us, us);
    a->cost_us = fmin(a->cost_us, us);
}

/* Adds the finding about the stalls of a process. Returns 0, or -1 without
 * memory. */
static int add_stall_finding(const struct jp_result *r,
                             const struct jp_processes *p,
                             const struct judge *j, struct judge_answer *a,
                             struct jp_findings *findings)
{
    struct moments at;

    if (find_moments(r, a, &at) < 0)
        return -1;
    if (is_overlapped(j))
        count_once(a);
    return a->times == 1 ? add_once(r, p, j, a, &at, findings)
                         : add_stalls(r, p, j, a, &at, findings);
}

/* --- what else would have been found -------------------------------------- */

/* Returns why stalls cannot be judged; NULL: they are. */
static const char *why_not(const struct jp_result *r,
                           const struct jp_processes *p, const struct judge *j)
{
    const char *why;

    if (p->known && p->n == 1)
        return "only one rank, so no other waits for it";
    if (!j->usable)
        return j->why;
    why = owntime_why_silent(r, j);
    if (why)
        return why;
    return isfinite(j->stall_again_us)
               ? NULL
               : "too few operations to tell a stall from chance";
}

static void answer_stalls(const struct jp_result *r,
                          const struct jp_processes *p, const struct judge *j,
                          const char *why, struct jp_hypotheses *h)
{
    const char *in = expected_seen(r) < 1 - limits_get(JP_LIMIT_STATED)
                         ? " in the operations that were recorded"
                         : "";
    char part[80] = "";

    if (why) {
        hypothesis_set(h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "%s", why);
        return;
    }
    if (j->crowd) {
        hypothesis_set(h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "%s of %s ranks stop at times of their own, so their "
                       "work differs",
                       FIG_COUNT(j->crowd), FIG_COUNT(p->n));
        return;
    }
    if (j->part && !j->kept_stalls)
        snprintf(part, sizeof(part), " in the first %s of the %s",
                 FIG_SHARE(j->followed), j->timed ? "run" : "operations");
    /* the smallest effect of the question is that of stalls that come again */
    hypothesis_set(
        h, JP_HYPOTHESIS_STALL, JP_HYPOTHESIS_NOT_FOUND, j->stall_again_us,
        "no recurring stall over %s, no single one over %s%s%s",
        FIG_US(j->stall_again_us), FIG_US(j->stall_once_us), in, part);
}

/* Adds to the last finding how many more ranks stall than are told. */
static void tell_rest(struct jp_findings *findings, size_t told, size_t all)
{
    struct jp_finding *f = &findings->at[findings->n - 1];
    size_t used = strlen(f->text);

    snprintf(f->text + used, sizeof(f->text) - used,
             "; %s more rank%s stalled, %s in all", FIG_COUNT(all - told),
             plural(all - told), FIG_COUNT(all));
}

int stalls_findings(const struct jp_result *r, const struct jp_processes *p,
                    const struct judge *j, struct jp_findings *findings,
                    struct jp_stalls *stalls)
{
    const char *why = why_not(r, p, j);
    size_t stalling = 0, told = 0;

    answer_stalls(r, p, j, why, findings->hypotheses);
    *stalls = (struct jp_stalls){.once_us = NAN, .again_us = NAN};
    if (why || j->crowd)
        return 0;
    *stalls = (struct jp_stalls){.judged = true,
                                 .once_us = j->stall_once_us,
                                 .again_us = j->stall_again_us};
    for (size_t i = 0; i < j->n; i++) {
        if (j->answers[i].kind != JUDGE_STALL)
            continue;
        if ((double) ++stalling > limits_get(JP_LIMIT_LATE_MANY))
            continue;
        if (add_stall_finding(r, p, j, &j->answers[i], findings) < 0)
            return -1;
        told++;
    }
    if (told && stalling > told)
        tell_rest(findings, told, stalling);
    return 0;
}

void stalls_leave_out(const struct jp_processes *p, const struct judge *j,
                      struct jp_hypotheses *h)
{
    struct jp_judgement *late = &h->of[JP_HYPOTHESIS_LATE_RANK];
    size_t named = 0;

    for (size_t i = 0; i < j->n; i++)
        named += j->answers[i].kind == JUDGE_STALL;
    if (named && late->state == JP_HYPOTHESIS_NOT_FOUND && late->least > 0 &&
        !*late->text && named < p->n)
        hypothesis_set(h, JP_HYPOTHESIS_LATE_RANK, JP_HYPOTHESIS_NOT_FOUND,
                       late->least, "%s of %s ranks cost less than %s",
                       FIG_COUNT(p->n - named), FIG_COUNT(p->n),
                       FIG_SHARE(late->least));
}
