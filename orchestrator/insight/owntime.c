/* owntime.c - what own times may say: whether they speak of a result at all,
 * whether a group of processes computes longer than others, and what all
 * findings by them have in common. The judge (orchestrator/judge) measures
 * them; blame.c, stalls.c, stages.c and turns.c make findings.
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
