/* owntime.c - findings by own time.
 *
 * The judge (orchestrator/judge) sees who computes longer also where the waits
 * of single ranks are not known: AlltoAll of sizes that differ between ranks,
 * in particular. Where it speaks (owntime_speaks), ranks and nodes that are
 * late all along are told by it, and so are onsets that sums of waits do not
 * name and no other finding explains. Nobody is told where ranks lack records.
 * If nobody is named, the smallest effect that would have been seen is its own
 * (insight.c).
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/judge/judge.h"

/* Returns the rank of the result by which the process is named: in the
 * communicator that it uses most. SIZE_MAX: none. */
static size_t rank_of(const struct jp_result *r, const struct jp_processes *p,
                      const struct judge *j, size_t process)
{
    uint32_t comm = j->processes[process].closest;

    if (comm == UINT32_MAX)
        return p->list[process].n ? p->by_process[p->list[process].first]
                                  : SIZE_MAX;
    return processes_rank_in(p, r, process, comm);
}

/* Returns the set that a process is in; halves the way to it. */
static size_t set_of(size_t *set, size_t process)
{
    while (set[process] != process)
        process = set[process] = set[set[process]];
    return process;
}

/* Who waits for a process: all that share communicators with it, directly or
 * by others, except itself and, for a node, the processes of that node. */
struct waiters {
    double n;       /* no more of them than ran at the same time */
    double comm_us; /* how long each is in operations, the mean; 0: unknown */
};

/* 0, or -1: no memory. */
static int find_waiters(const struct jp_result *r, const struct jp_processes *p,
                        const struct judge *j, const struct judge_answer *a,
                        struct waiters *out)
{
    size_t *set = calloc(p->n + 1, sizeof(*set));
    size_t *first = calloc(r->n_comms + 1, sizeof(*first));
    size_t n = 0;
    double us = 0;

    if (!set || !first) {
        free(set);
        free(first);
        return -1;
    }
    for (size_t i = 0; i < p->n; i++)
        set[i] = i;
    for (size_t i = 0; i < r->n_comms; i++)
        first[i] = SIZE_MAX;
    for (size_t i = 0; i < r->n_ranks; i++) {
        size_t *of_comm = &first[r->ranks[i].comm];

        if (*of_comm == SIZE_MAX)
            *of_comm = p->of_rank[i];
        set[set_of(set, p->of_rank[i])] = set_of(set, *of_comm);
    }
    for (size_t i = 0; i < p->n; i++) {
        if (i == a->process || set_of(set, i) != set_of(set, a->process) ||
            (a->kind == JUDGE_NODE &&
             p->list[i].host_at == p->list[a->process].host_at))
            continue;
        n++;
        us += j->processes[i].comm_us;
    }
    out->n = fmin((double) n, (double) p->at_once - 1);
    out->comm_us = n ? us / (double) n : 0;
    free(set);
    free(first);
    return 0;
}

/* Fills what all findings by own time have. 0, or -1: no memory. */
int owntime_fill(const struct jp_result *r, const struct jp_processes *p,
                 const struct judge *j, const struct judge_answer *a,
                 struct jp_findings *findings, struct jp_finding *f)
{
    const struct jp_process *who = &p->list[a->process];
    const struct judge_process *x = &j->processes[a->process];
    size_t rank = rank_of(r, p, j, a->process);
    struct waiters waiters;

    if (find_waiters(r, p, j, a, &waiters) < 0)
        return -1;

    f->by_own_time = true;
    if (rank != SIZE_MAX)
        f->comm = (int64_t) r->ranks[rank].comm;
    if (rank != SIZE_MAX && a->kind != JUDGE_NODE)
        f->rank = r->ranks[rank].rank;
    if (a->kind != JUDGE_NODE) {
        f->world_rank = who->world_rank;
        f->pid = who->pid;
        f->process = (int64_t) a->process;
    }
    snprintf(f->host, sizeof(f->host), "%s", p->hosts[a->host].host);
    if (waiters.comm_us > 0)
        finding_measure(f, fmin(a->cost_us / waiters.comm_us, 1),
                        /* as sure as the excess is */
                        a->cost_us / waiters.comm_us * a->error_us /
                            a->excess_us);
    f->evidence = x->intervals;
    /* each of them loses the time by which the run is longer */
    finding_cost(findings, f, a->cost_us * waiters.n);
    f->at_most = !j->timed && a->kind != JUDGE_STALL;
    return 0;
}

/* Formats in which part of the run, if that is not all of it. */
static const char *part_of(const struct judge_answer *a, char *buf, size_t size)
{
    *buf = '\0';
    if (a->stretches > 1)
        snprintf(buf, size, " %s times, in %s of the run",
                 FIG_COUNT(a->stretches), FIG_SHARE(a->share));
    else if (a->to < 1)
        snprintf(buf, size, " from %s to %s of the run", FIG_SHARE(a->from),
                 FIG_SHARE(a->to));
    else if (a->from > 0)
        snprintf(buf, size, " from %s of the run on", FIG_SHARE(a->from));
    return buf;
}

/* Sets when that part begins. */
static void fill_start(const struct jp_result *r, const struct judge *j,
                       const struct judge_answer *a, struct jp_finding *f)
{
    if (a->from > 0 && r->ops && r->ops->dump_first)
        f->from_us = (double) r->ops->dump_first + a->from * j->run_us;
}

static int add_late(const struct jp_result *r, const struct jp_processes *p,
                    const struct judge *j, const struct judge_answer *a,
                    struct jp_findings *findings)
{
    const struct judge_process *x = &j->processes[a->process];
    struct jp_finding *f = findings_add(findings, JP_FINDING_LATE_RANK);
    char name[JP_PROCESS_NAME_LEN], when[60], times[80];
    bool known = x->later != UINT64_MAX;

    if (!f || owntime_fill(r, p, j, a, findings, f) < 0)
        return -1;
    finding_count(f, a->excess_us / (a->share * (double) x->intervals),
                  known ? x->later : 0, known ? x->intervals : 0);
    fill_start(r, j, a, f);
    if (known)
        snprintf(times, sizeof(times), "an operation, in %s of %s",
                 FIG_COUNT(f->times), FIG_COUNT(f->of));
    else
        snprintf(times, sizeof(times), "each of its %s operations, on average",
                 FIG_COUNT(x->intervals));
    snprintf(f->text, sizeof(f->text),
             "%s computes longer than its peers%s: by %s before %s; cost %s",
             processes_describe(p, r, &p->list[a->process], name),
             part_of(a, when, sizeof(when)), FIG_US(f->by_us), times,
             FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next),
             "check that process: clocks and temperature of its GPU, data "
             "loading, garbage collection, other work on its cores");
    return 0;
}

static int add_node(const struct jp_result *r, const struct jp_processes *p,
                    const struct judge *j, const struct judge_answer *a,
                    struct jp_findings *findings)
{
    const struct judge_process *x = &j->processes[a->process];
    struct jp_finding *f = findings_add(findings, JP_FINDING_LATE_NODE);

    char when[60];

    if (!f || owntime_fill(r, p, j, a, findings, f) < 0)
        return -1;
    finding_count(f, a->excess_us / (a->share * (double) x->intervals),
                  a->times, a->times);
    fill_start(r, j, a, f);
    snprintf(f->text, sizeof(f->text),
             "the %s ranks of node %.64s compute longer than their peers%s, by "
             "%s before an operation; cost %s",
             FIG_COUNT(a->times), f->host, part_of(a, when, sizeof(when)),
             FIG_US(f->by_us), FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next),
             "check that node: power and clock limits, cooling, file system "
             "mounts, other jobs' processes");
    return 0;
}

/* Returns true if a finding is about what own times with start and end do not
 * have in them: the network, or a whole stage, as each process is compared with
 * others of its stage. */
static bool is_beside(const struct jp_finding *f)
{
    return f->kind == JP_FINDING_SLOW_NETWORK || f->kind == JP_FINDING_DRIFT ||
           (f->kind == JP_FINDING_IMBALANCE && f->stages);
}

/* Returns true if a finding decides the verdict, and may also explain that own
 * times name a process. That ranks wait by turns does not, and who is late does
 * not explain who else is. By durations the mates of a rank that stalls may be
 * late with it, and the network is in own times (is_beside). */
static bool explains(const struct jp_finding *f, const struct judge *j,
                     const struct judge_answer *a)
{
    if (f->kind == JP_FINDING_TURNS ||
        (a->kind == JUDGE_LATE && f->kind == JP_FINDING_LATE_RANK) ||
        (a->kind == JUDGE_LATE && j->timed && finding_is_stall(f->kind)) ||
        (j->timed && is_beside(f)))
        return false;
    return finding_verdict(f) != JP_VERDICT_OK;
}

/* Returns true if one of the first n findings explains the answer, or is about
 * the same process. */
static bool is_told(const struct jp_findings *findings, size_t n,
                    const struct jp_processes *p, const struct judge *j,
                    const struct judge_answer *a)
{
    for (size_t i = 0; i < n; i++) {
        const struct jp_finding *f = &findings->at[i];

        if (explains(f, j, a) || (f->kind == JP_FINDING_LATE_RANK &&
                                  f->pid == p->list[a->process].pid &&
                                  !strcmp(f->host, p->list[a->process].host)))
            return true;
    }
    return false;
}

/* Returns true if times were taken by a CPU's clock. It also counts until a
 * thread of NCCL noticed the end, which differs between ranks by more than
 * what is looked for here. */
static bool is_by_cpu(const struct jp_quality *q)
{
    return (double) (q->kernel_cpu_records + q->call_cpu_records) >
           (1 - JUDGE_WHOLE) * (double) q->records;
}

/* Returns true if ranks of a communicator have no records. What the others
 * followed is then unknown, and with it how long they computed: of a step that
 * has half of a job's ranks, the excess and its cost were not those of the
 * job. */
static bool lacks_ranks(const struct jp_result *r)
{
    for (size_t c = 0; c < r->n_comms; c++) {
        const struct jp_comm *comm = &r->comms[c];

        if (!comm->guessed && comm->ranks_seen < comm->n_ranks &&
            (comm->records || comm->p2p_records))
            return true;
    }
    return false;
}

const char *owntime_why_silent(const struct jp_result *r, const struct judge *j)
{
    if (lacks_ranks(r))
        return "ranks of a communicator have no records";
    if (is_by_cpu(&r->quality))
        return "times are by the CPU's clock, and count until it noticed the "
               "end";
    if (j->n && !j->replayed && !j->kept_stalls)
        return "operations overlap in an order that could not be followed";
    return NULL;
}

/* What own times say where only a part of the run was followed, whose timelines
 * are no longer. The sums of waits are of all of it. What makes a group longer
 * for all of the run does so in that part, too: where half of it would be
 * outside of the error there, sums alone prove nothing. Nobody is named by a
 * part. */
static enum jp_own_word ask_part(const struct judge *j,
                                 const enum judge_side *side, size_t n,
                                 size_t questions, double by_us,
                                 struct judge_group *group)
{
    if (!judge_speaks_of_part(j) ||
        !judge_compare(j, side, n, questions, group))
        return JP_OWN_UNKNOWN;
    return (group->us + group->error_us) * j->run_us > by_us / 2 * j->clock_us
               ? JP_OWN_UNKNOWN
               : JP_OWN_NOT;
}

enum jp_own_word owntime_ask(const struct jp_result *r,
                             const struct jp_processes *p,
                             const struct judge *j, const enum judge_side *side,
                             size_t questions, double by_us,
                             struct judge_group *group)
{
    if (!j || owntime_why_silent(r, j))
        return JP_OWN_UNKNOWN;
    if (j->part && !j->kept)
        return ask_part(j, side, p->n, questions, by_us, group);
    if (!judge_speaks(j) || !judge_compare(j, side, p->n, questions, group))
        return JP_OWN_UNKNOWN;
    return group->us > group->least_us ? JP_OWN_SO
           : group->us > by_us / 2     ? JP_OWN_MAYBE
                                       : JP_OWN_NOT;
}

bool owntime_speaks(const struct jp_result *r, const struct judge *j,
                    const struct jp_findings *findings)
{
    return j && !findings->part && judge_speaks(j) && !owntime_why_silent(r, j);
}

const struct judge_answer *owntime_late(const struct judge *j, size_t process)
{
    for (size_t i = 0; i < j->n; i++) {
        const struct judge_answer *a = &j->answers[i];

        if ((a->kind == JUDGE_LATE || a->kind == JUDGE_ONSET) &&
            a->process == process)
            return a;
    }
    return NULL;
}

const struct judge_answer *owntime_node(const struct judge *j, size_t host)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->answers[i].kind == JUDGE_NODE && j->answers[i].host == host)
            return &j->answers[i];
    return NULL;
}

int owntime_add(const struct jp_result *r, const struct jp_processes *p,
                const struct judge *j, const struct judge_answer *a,
                struct jp_findings *findings)
{
    return a->kind == JUDGE_NODE ? add_node(r, p, j, a, findings)
                                 : add_late(r, p, j, a, findings);
}

int owntime_findings(const struct jp_result *r, const struct jp_processes *p,
                     const struct judge *j, struct jp_findings *findings)
{
    size_t before = findings->n;
    int rc = 0;

    if (!judge_speaks(j) || owntime_why_silent(r, j))
        return 0;
    for (size_t i = 0; rc == 0 && i < j->n; i++) {
        const struct judge_answer *a = &j->answers[i];

        /* stalls are told by stalls.c */
        if (a->kind == JUDGE_STALL || is_told(findings, before, p, j, a))
            continue;
        rc = owntime_add(r, p, j, a, findings);
    }
    return rc;
}
