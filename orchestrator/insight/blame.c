/* blame.c - which late ranks and nodes are told, one finding for each cause.
 *
 * Two rules find them: sums of waits (late.c, late_measure.c) and own times
 * (orchestrator/judge). All that decides between the two is here:
 *
 *   blame_findings      whom sums call late (collect). Where own times speak
 *                       (owntime.c), they decide: tell_nodes, tell_ranks. What
 *                       they do not name is dropped (drop_contradicted) but for
 *                       the exceptions of is_contradicted, ask_node, named_of
 *   blame_by_own_times  whom own times alone name, unless another finding
 *                       explains it (explains)
 *
 * Texts: describe_rank, add_node, add_many (by sums), add_own_rank,
 * add_own_node (by own times). Times are in us, as GPU time: one process that
 * waits for 1 us costs 1 us.
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/figure.h"
#include "common/stats.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/insight/alltoall.h"
#include "orchestrator/insight/likes.h"
#include "orchestrator/insight/limits.h"

/* The least share of its excess by which a late rank arrives late. */
#define ARRIVES 0.03
/* What it costs explains an excess that is no more than so many times as long.
 */
#define SAME_WAIT 1.1

/* What to do about a late process, and a late node. */
static const char check_process[] =
    "check that process: clocks and temperature of its GPU, data loading, "
    "garbage collection, other work on its cores";
static const char check_node[] =
    "check that node: power and clock limits, cooling, file system mounts, "
    "other jobs' processes";

/* A late process, and the rank of it that shows the lateness best. */
struct suspect {
    size_t process;
    size_t rank; /* of the result: the one with the most timed operations */
    /* time that the others waited for it in its communicators */
    double cost_us;
    double all_us; /* the same in all connected communicators; a lower bound */
};

struct blame {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct jp_lateness *lateness;
    const struct judge *judge;
    bool speaks; /* owntime_speaks */
    /* likes: as late as all ranks of their role, so the program gives them
     * more work */
    struct suspect *suspects, *likes;
    size_t n, n_likes;
    uint32_t *of_role; /* [role of the judge] suspects that it has; all are 0
                          unless own times speak */
    /* [process] time in communication beyond the network's own time */
    double *waits_us;
    /* [rank] time that all others waited for this one alone */
    double *alone_us;
    size_t *up; /* [process] parent in a forest (union-find): trees are
                   processes that may wait for each other */
    struct jp_findings *findings;
};

/* Operations in which ranks wait for each other, and those in which this rank
 * came last. */
struct counted {
    uint64_t ops, last;
};

/* Counts for a rank: its timed operations; without any its AlltoAlls of Send
 * and Recv. */
static struct counted count_ops(const struct blame *b, size_t rank)
{
    const struct jp_rank *x = &b->r->ranks[rank];
    struct counted n = {x->timed_ops, x->last_ops};
    struct jp_op op;

    if (n.ops)
        return n;
    for (size_t k = 0, all = alltoall_count(b->r, b->p, x->comm); k < all; k++)
        if (alltoall_get(b->r, b->p, x->comm, k, &op)) {
            n.ops++;
            n.last += op.min_rank == x->rank;
        }
    return n;
}

static const struct jp_rank *rank_of(const struct blame *b,
                                     const struct suspect *s)
{
    return &b->r->ranks[s->rank];
}

/* Returns what the communicator's other ranks waited for this one in AlltoAll.
 * In any operation that ends together the last rank has the shortest time, so
 * what others took longer was a wait. */
static double grouped_cost(const struct blame *b, size_t rank)
{
    size_t c = b->r->ranks[rank].comm;
    double own = b->lateness[rank].grouped_us, cost = 0;

    for (size_t k = b->p->comm_start[c]; own > 0 && k < b->p->comm_start[c + 1];
         k++)
        cost += fmax(b->lateness[k].grouped_us - own, 0);
    return cost;
}

/* Returns the root of a process's tree, and halves the path to it. */
static size_t root_of(size_t *up, size_t i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

/* Groups processes that share a communicator. */
static void join_processes(struct blame *b)
{
    for (size_t i = 0; i < b->p->n; i++)
        b->up[i] = i;
    for (size_t c = 0; c < b->r->n_comms; c++) {
        size_t from = b->p->comm_start[c], to = b->p->comm_start[c + 1];

        for (size_t k = from + 1; k < to; k++)
            b->up[root_of(b->up, b->p->of_rank[k])] =
                root_of(b->up, b->p->of_rank[from]);
    }
}

/* Adds the waits in Send and Recv: the time of the messages beyond bytes /
 * rate, where rate (GB/s, so 1e3 bytes per us) is one that few messages exceed.
 * Messages of AlltoAlls are counted with these instead. */
static void add_message_waits(struct blame *b)
{
    for (size_t i = 0; i < b->r->n_p2p; i++) {
        const struct jp_p2p *x = &b->r->p2p[i];
        size_t rank = processes_rank(b->p, b->r, x->comm,
                                     strcmp(x->func, "Send") ? x->dst : x->src);
        double gbs;

        if (rank == SIZE_MAX || b->lateness[rank].grouped_us > 0)
            continue;
        gbs = isfinite(x->fast_gbs) ? x->fast_gbs
                                    : b->r->ranks[rank].p2p_fast_gbs;
        if (gbs > 0)
            b->waits_us[b->p->of_rank[rank]] +=
                fmax((double) x->exec_us - (double) x->bytes / gbs / 1e3, 0);
    }
}

/* Fills waits_us: the waits in collectives by the join, in AlltoAll by
 * comparison with the rank that took least, and in messages. */
static void add_waits(struct blame *b)
{
    for (size_t c = 0; c < b->r->n_comms; c++) {
        size_t from = b->p->comm_start[c], to = b->p->comm_start[c + 1];
        double least = INFINITY;

        for (size_t i = from; i < to; i++)
            least = fmin(least, b->lateness[i].grouped_us);
        for (size_t i = from; i < to; i++)
            b->waits_us[b->p->of_rank[i]] += (double) b->r->ranks[i].wait_us +
                                             b->lateness[i].grouped_us - least;
    }
    add_message_waits(b);
    join_processes(b);
}

/* Adds one operation to its last rank. Had this rank come earlier, the
 * operation would have begun with the last but one, so only the difference of
 * the two shortest times is due to this rank alone. Needs the times of all
 * ranks. */
static void add_alone(struct blame *b, const struct jp_op *op)
{
    size_t from = b->p->comm_start[op->comm];

    if (op->min_rank < b->p->comm_start[op->comm + 1] - from &&
        op->n_exec == b->r->comms[op->comm].n_ranks)
        b->alone_us[from + op->min_rank] +=
            (double) (op->exec_second_us - op->exec_min_us);
}

/* Fills alone_us from all barrier-like collectives and all complete AlltoAlls.
 * O(operations). Returns 0 or -1. */
static int add_up_alone(struct blame *b)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    struct jp_op one;

    if (!reader)
        return -1;
    reader->ops = b->r->ops;
    ops_want(reader, OPS_COUNTS | OPS_RANK | OPS_EXEC);
    for (size_t i = 0; i < b->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (collective_is_barrier(b->r->coll_names[op->coll]))
            add_alone(b, op);
    }
    free(reader);
    for (size_t c = 0; c < b->r->n_comms; c++) {
        size_t n = alltoall_count(b->r, b->p, c);

        for (size_t k = 0; k < n; k++)
            if (alltoall_get(b->r, b->p, c, k, &one))
                add_alone(b, &one);
    }
    return 0;
}

/* Returns the GPU time that all connected processes lose by one late process, a
 * lower bound. Waits spread from its communicators to processes that share
 * another communicator with a waiting one, for example through the stages of a
 * pipeline.
 *
 * Each process counts with what it waited more than the late one, but with no
 * more than the late process kept one communicator waiting alone, nor than its
 * excess: what it was last by beyond its excess would remain without the fault.
 */
static double cost_of_all(const struct blame *b, size_t process)
{
    const struct jp_process *who = &b->p->list[process];
    double most = 0, excess = 0, cost = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = b->p->by_process[i];

        most = fmax(most, b->alone_us[rank]);
        if (b->lateness[rank].late || b->lateness[rank].with_likes)
            excess = fmax(excess, b->lateness[rank].excess_us);
    }
    most = fmin(most, excess);
    for (size_t i = 0; i < b->p->n; i++)
        if (root_of(b->up, i) == root_of(b->up, process))
            cost += fmin(fmax(b->waits_us[i] - b->waits_us[process], 0), most);
    return cost;
}

/* --- what mending a single late rank saves -------------------------------- */

/* Returns true if a process's communicators c and d have a further process in
 * common. */
static bool share_mates(const struct blame *b, size_t process, size_t c,
                        size_t d)
{
    for (size_t k = b->p->comm_start[d]; k < b->p->comm_start[d + 1]; k++)
        if (b->p->of_rank[k] != process &&
            processes_rank_in(b->p, b->r, b->p->of_rank[k], c) != SIZE_MAX)
            return true;
    return false;
}

/* Returns true if another rank of the process shows the same wait, and more of
 * it: mates that have waited in one communicator come to the other one
 * together, where part of the wait is no longer visible. */
static bool is_told_elsewhere(const struct blame *b, size_t process,
                              size_t rank)
{
    const struct jp_process *who = &b->p->list[process];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t other = b->p->by_process[i];

        if (b->alone_us[other] > b->alone_us[rank] &&
            share_mates(b, process, b->r->ranks[rank].comm,
                        b->r->ranks[other].comm))
            return true;
    }
    return false;
}

/* Returns the median of alone_us in other communicators of that shape. Some
 * rank always comes last, so this much is no fault; without the correction the
 * cost of a late rank would be overestimated. v: room for n_ranks. */
static double usual_alone(const struct blame *b, size_t comm, double *v)
{
    size_t n = 0;

    for (size_t k = 0; k < b->r->n_ranks; k++) {
        size_t c = b->r->ranks[k].comm;

        if (c != comm && !likes_by_place(&b->r->comms[c], &b->r->comms[comm]))
            v[n++] = b->alone_us[k];
    }
    return n ? stats_median(v, n) : 0;
}

/* Returns true if nobody waits in the communicator for longer than a small part
 * of that time. Its ranks come from an operation that has just made all of them
 * equal, so it shows nothing of a lateness. */
static bool never_waits(const struct blame *b, size_t comm, double excess_us)
{
    double waits = 0;

    for (size_t k = b->p->comm_start[comm]; k < b->p->comm_start[comm + 1]; k++)
        waits = fmax(waits, (double) b->r->ranks[k].wait_us +
                                b->lateness[k].grouped_us);
    return waits < limits_get(JP_LIMIT_LATE_SHARE) * excess_us;
}

/* Returns the GPU time that all connected processes lose by one late process:
 * the number of the others times the smallest time for which it alone kept one
 * of its communicators waiting, beyond what is usual. No more than its own
 * excess. Communicators that show the same wait count once, those that show
 * none do not count. 0: unknown. *at_least: its excess is more than that, and
 * the rest may be what the others waited for in its other communicators. */
static double single_cost(const struct blame *b, size_t process, bool *at_least)
{
    const struct jp_process *who = &b->p->list[process];
    double *v = calloc(b->r->n_ranks + 1, sizeof(*v));
    double us = INFINITY, excess = 0;
    size_t joined = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = b->p->by_process[i];

        if (b->lateness[rank].late)
            excess = fmax(excess, b->lateness[rank].excess_us);
    }
    for (size_t i = who->first; v && i < who->first + who->n; i++) {
        size_t rank = b->p->by_process[i], c = b->r->ranks[rank].comm;

        if (b->r->comms[c].n_ranks > 1 &&
            (b->r->ranks[rank].timed_ops || b->lateness[rank].grouped_us > 0) &&
            !never_waits(b, c, excess) && !is_told_elsewhere(b, process, rank))
            us = fmin(us, b->alone_us[rank] - usual_alone(b, c, v));
    }
    free(v);
    /* without times operations may run beside the computation, and the others
     * may lose less than they wait */
    *at_least = isfinite(us) && excess > SAME_WAIT * us &&
                b->findings->run_us > 0;
    for (size_t i = 0; i < b->p->n; i++)
        joined += root_of(b->up, i) == root_of(b->up, process);
    return isfinite(us) ? fmax(fmin(us, excess), 0) * (double) (joined - 1) : 0;
}

/* Returns how long others waited for the process in all its communicators. */
static double cost_of(const struct blame *b, size_t process)
{
    const struct jp_process *who = &b->p->list[process];
    double cost = 0;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = b->p->by_process[i];

        cost += (double) b->r->ranks[rank].caused_us + grouped_cost(b, rank);
    }
    return cost;
}

/* --- suspects ------------------------------------------------------------- */

/* Returns true if the process shares the communicator that it uses most with
 * one that stalls. Where operations overlap computation, durations show both of
 * them as late to the next operations. */
static bool has_stalling_mate(const struct judge *j,
                              const struct judge_process *x)
{
    for (size_t i = 0; i < j->n; i++) {
        const struct judge_answer *a = &j->answers[i];

        if (a->kind == JUDGE_STALL && x->closest != UINT32_MAX &&
            j->processes[a->process].closest == x->closest &&
            j->processes[a->process].role == x->role)
            return true;
    }
    return false;
}

/* Where a stall was told, clears `late` of ranks whose own times, without
 * stalls, show less than half of their lateness: they stall, or they waited for
 * one that stalls. */
static void excuse_stalls(const struct jp_result *r,
                          const struct jp_processes *p, const struct judge *j,
                          const struct jp_findings *findings,
                          struct jp_lateness *lateness)
{
    bool told = false;

    for (size_t i = 0; i < findings->n; i++)
        told |= finding_is_stall(findings->at[i].kind);
    for (size_t i = 0; told && i < r->n_ranks; i++) {
        const struct judge_process *x = &j->processes[p->of_rank[i]];
        double own_us = !j->timed && has_stalling_mate(j, x) ? x->excess_us
                                                             : x->total_us;

        if (lateness[i].late && x->judged && own_us < lateness[i].excess_us / 2)
            lateness[i].late = false;
    }
}

/* Returns the process's late rank (likes: rank that is as late as its role)
 * with the most timed operations; SIZE_MAX: none. */
static size_t most_telling(const struct blame *b, size_t process, bool likes)
{
    const struct jp_process *who = &b->p->list[process];
    size_t best = SIZE_MAX;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = b->p->by_process[i];
        const struct jp_lateness *x = &b->lateness[rank];

        if ((likes ? x->with_likes : x->late) &&
            (best == SIZE_MAX ||
             b->r->ranks[rank].timed_ops > b->r->ranks[best].timed_ops))
            best = rank;
    }
    return best;
}

/* Lists the late processes, and those that are as late as all of their role. */
static void collect(struct blame *b)
{
    for (size_t p = 0; p < b->p->n; p++) {
        size_t rank = most_telling(b, p, false);

        if (rank != SIZE_MAX)
            b->suspects[b->n++] =
                (struct suspect){p, rank, cost_of(b, p), cost_of_all(b, p)};
        rank = most_telling(b, p, true);
        if (rank != SIZE_MAX)
            b->likes[b->n_likes++] =
                (struct suspect){p, rank, cost_of(b, p), cost_of_all(b, p)};
    }
}

/* Returns true if others waited for it long enough: a larger share than
 * `late_share_min` of the time that its peers communicate. Lateness that costs
 * the others nothing is not worth a search. */
static bool costs_much(const struct blame *b, const struct suspect *s)
{
    return s->cost_us >
           limits_get(JP_LIMIT_LATE_SHARE) * b->lateness[s->rank].peers_us;
}

/* Returns what is said that a suspect costs. A single one counts with what
 * mending it saves; of several one may hide another. */
static double told_cost(const struct blame *b, const struct suspect *s,
                        bool *at_least)
{
    double cost = b->n == 1 ? single_cost(b, s->process, at_least) : 0;

    if (cost > 0)
        return cost;
    *at_least = false;
    return fmax(s->cost_us, s->all_us);
}

/* Returns true if what is said that it costs is worth a search, and it arrives
 * late: a rank that is late all along by a small part of its excess only, or
 * arrives early on the whole, communicates less for another reason. */
static bool is_worth(const struct blame *b, const struct suspect *s)
{
    const struct jp_lateness *l = &b->lateness[s->rank];
    double least = l->spells ? 0 : ARRIVES * l->excess_us;
    bool at_least;

    return l->told_us >= least &&
           told_cost(b, s, &at_least) >
               limits_get(JP_LIMIT_LATE_TOLD) * b->findings->gpus_us;
}

/* Counts the processes of each host, and the late ones among them. */
static void count_hosts(const struct blame *b, size_t *all, size_t *late)
{
    for (size_t i = 0; i < b->p->n; i++)
        all[b->p->list[i].host_at]++;
    for (size_t i = 0; i < b->n; i++)
        late[b->p->list[b->suspects[i].process].host_at]++;
}

/* Returns the excess as a share of the peers' time in communication, at most 1.
 * This share is the effect in all outputs. NAN: unknown. */
static double share_of(const struct jp_lateness *l)
{
    return late_peers(l) > 0 ? fmin(l->excess_us / late_peers(l), 1) : NAN;
}

/* Returns the index of the first operation at or after (comm, coll), or n.
 * Operations are sorted by both, so a binary search does. */
static size_t find_op(struct ops_reader *reader, size_t n, size_t comm,
                      size_t coll)
{
    size_t from = 0, to = n;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct jp_op *op = ops_at(reader, middle);

        if (op->comm < comm || (op->comm == comm && op->coll < coll))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Returns the time since 1970 when that share (0 to 1) of the communicator's
 * operations was over, by its barrier-like function with the most operations.
 * Parts of the run are cut by number of operations, so this turns a part into a
 * time. NAN: unknown. */
static double time_at(const struct jp_result *r, size_t comm, double share)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    size_t first = 0, most = 0;
    double us = NAN;

    if (!reader)
        return NAN;
    reader->ops = r->ops;
    for (size_t k = 0; k < r->n_coll_names; k++) {
        size_t from = find_op(reader, r->n_ops, comm, k);
        size_t n = find_op(reader, r->n_ops, comm, k + 1) - from;

        if (n > most && collective_is_barrier(r->coll_names[k])) {
            most = n;
            first = from;
        }
    }
    if (most) {
        size_t at = (size_t) (share * (double) most);
        const struct jp_op *op =
            ops_at(reader, first + (at < most ? at : most - 1));
        uint64_t told = op->n_start ? op->start_max_us : op->dump_min_us;

        us = told ? (double) told : NAN;
    }
    free(reader);
    return us;
}

/* Formats when a rank was late, if it was late in parts of the run only. The
 * last part ends at 1; 0.98 leaves room for the rounding of its end. */
static void say_when(const struct blame *b, const struct suspect *s,
                     struct jp_finding *f, char *buf, size_t size)
{
    const struct jp_lateness *l = &b->lateness[s->rank];
    size_t comm = rank_of(b, s)->comm;
    bool to_end = l->to_share > 0.98;

    f->from_us = time_at(b->r, comm, l->from_share);
    f->to_us = time_at(b->r, comm, l->to_share);
    if (l->spells > 1)
        snprintf(buf, size, " %s times, in %s of the run", FIG_COUNT(l->spells),
                 FIG_SHARE(l->late_share));
    else if (to_end)
        snprintf(buf, size, " from %s of the run on", FIG_SHARE(l->from_share));
    else
        snprintf(buf, size, " from %s to %s of the run",
                 FIG_SHARE(fmax(l->from_share, 0)), FIG_SHARE(l->to_share));
}

/* Returns the standard error of share_of. NAN: unknown. */
static double error_of(const struct jp_lateness *l)
{
    return late_peers(l) > 0 ? l->error_us / late_peers(l) : NAN;
}

/* Sets what the others waited, by sums. Communicators that overlap have one
 * wait several times, which a replay corrects (whatif.c). No replay follows
 * messages across a pause of the recording, and then the sum is the most. */
static void set_cost(const struct blame *b, struct jp_finding *f, double us)
{
    finding_cost(b->findings, f, us);
    f->at_most = b->findings->paused;
}

/* Says where a late rank arrives late, by how much and how often: what sums of
 * waits show of it. The cost is there. */
static void describe_rank(struct blame *b, const struct suspect *s,
                          struct jp_finding *f)
{
    const struct jp_rank *rank = rank_of(b, s);
    const struct jp_comm *comm = &b->r->comms[rank->comm];
    const struct jp_lateness *l = &b->lateness[s->rank];
    struct counted n = count_ops(b, s->rank);
    char name[JP_PROCESS_NAME_LEN], when[60] = "";

    f->comm = (int64_t) rank->comm;
    f->rank = rank->rank;
    f->evidence = n.ops;
    finding_count(f, l->told_us / l->ops, n.last, n.ops);
    if (l->spells)
        say_when(b, s, f, when, sizeof(when));
    snprintf(f->text, sizeof(f->text),
             "%s arrived late on its own%s, in %.40s: by %s an operation%s, "
             "last in %s of %s; cost %s",
             processes_describe(b->p, b->r, &b->p->list[s->process], name),
             when, processes_comm_name(comm), FIG_US(f->by_us),
             l->spells ? " on average over the run" : "",
             FIG_SHARE((double) n.last / (double) n.ops), FIG_COUNT(n.ops),
             FINDING_LOSS(f));
}

/* Adds a finding of one late rank. Returns 0 or -1. */
static int add_rank(struct blame *b, const struct suspect *s)
{
    const struct jp_process *who = &b->p->list[s->process];
    const struct jp_lateness *l = &b->lateness[s->rank];
    struct jp_finding *f = findings_add(b->findings, JP_FINDING_LATE_RANK);
    bool at_least;

    if (!f)
        return -1;
    f->world_rank = who->world_rank;
    f->pid = who->pid;
    f->process = who - b->p->list;
    finding_measure(f, share_of(l), error_of(l));
    set_cost(b, f, told_cost(b, s, &at_least));
    f->at_least |= at_least;
    snprintf(f->host, sizeof(f->host), "%s", who->host);
    describe_rank(b, s, f);
    snprintf(f->next, sizeof(f->next), "%s", check_process);
    return 0;
}

/* Adds one finding of all suspects of a host: late of its `all` processes.
 * Returns 0 or -1. */
static int add_node(struct blame *b, size_t host, size_t late, size_t all)
{
    struct jp_finding *f = findings_add(b->findings, JP_FINDING_LATE_NODE);
    double share = 0, error = 0, cost = 0, arrival = 0, all_us = 0;
    const struct suspect *first = NULL;

    if (!f)
        return -1;
    for (size_t i = 0; i < b->n; i++) {
        const struct suspect *s = &b->suspects[i];
        const struct jp_lateness *l = &b->lateness[s->rank];

        if (b->p->list[s->process].host_at != host)
            continue;
        first = first ? first : s;
        share += share_of(l) / (double) late;
        /* no division by the root: mates have the same error */
        error += error_of(l) / (double) late;
        f->evidence += count_ops(b, s->rank).ops;
        cost += s->cost_us;
        /* the others wait for its ranks once */
        all_us = fmax(all_us, s->all_us);
        arrival += l->told_us / l->ops / (double) late;
    }
    f->comm = first ? (int64_t) rank_of(b, first)->comm : -1;
    finding_measure(f, share, error);
    set_cost(b, f, fmax(cost, all_us));
    finding_count(f, arrival, late, all);
    if (first)
        snprintf(f->host, sizeof(f->host), "%s",
                 b->p->list[first->process].host);
    snprintf(f->text, sizeof(f->text),
             "node %.64s arrived late: %s of its %s ranks, by %s an operation; "
             "cost %s",
             f->host, FIG_COUNT(late), FIG_COUNT(all), FIG_US(arrival),
             FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next), "%s", check_node);
    return 0;
}

/* Returns true if the late ranks of a host are reported as a late node: three
 * quarters of its processes, at least two. Half of them, at least three,
 * suffice if no other host has a late rank: then the lateness of the others is
 * only too small to be proved. With fewer a node would be accused for one rank.
 */
static bool is_node(const struct blame *b, size_t late, size_t all)
{
    return (late >= 2 && 4 * late >= 3 * all) ||
           (late >= 3 && 2 * late >= all && late == b->n);
}

/* Sets *told unless those ranks have no more work by their own times: whatever
 * makes all of them arrive late together, such as the end of a pipeline, is no
 * work. Returns 0 or -1. */
static int have_more(const struct blame *b, const struct suspect *list,
                     size_t n, bool *told)
{
    enum judge_side *side = malloc((b->p->n + 1) * sizeof(*side));
    struct judge_group group;
    double us = 0;

    if (!side)
        return -1;
    for (size_t i = 0; i < b->p->n; i++)
        side[i] = JUDGE_OTHER;
    for (size_t i = 0; i < n; i++) {
        side[list[i].process] = JUDGE_IN;
        us += b->lateness[list[i].rank].excess_us / (double) n;
    }
    *told = owntime_ask(b->r, b->p, b->judge, side, 1, us, &group) !=
            JP_OWN_NOT;
    free(side);
    return 0;
}

/* Adds one finding of many late ranks, as an imbalance: too many for one cause,
 * or all ranks of one role. Then the program gives some ranks more work, and no
 * process or node is at fault. It is told if it is worth a change of the
 * program. Returns 0 or -1. */
static int add_many(struct blame *b, const struct suspect *list, size_t n)
{
    struct jp_finding *f;
    double share = 0, error = 0, cost = 0;
    char name[JP_PROCESS_NAME_LEN];
    bool told;

    for (size_t i = 0; i < n; i++)
        /* the others wait for all of them once */
        cost = fmax(cost, list[i].all_us);
    /* 0: unknown */
    if (cost > 0 &&
        cost < limits_get(JP_LIMIT_LATE_COST) * b->findings->gpus_us)
        return 0;
    if (have_more(b, list, n, &told) < 0)
        return -1;
    if (!told)
        return 0;
    f = findings_add(b->findings, JP_FINDING_IMBALANCE);
    if (!f)
        return -1;
    for (size_t i = 0; i < n; i++) {
        share += share_of(&b->lateness[list[i].rank]) / (double) n;
        error += error_of(&b->lateness[list[i].rank]) / (double) n;
        f->evidence += count_ops(b, list[i].rank).ops;
    }
    finding_measure(f, share, error);
    set_cost(b, f, cost);
    snprintf(f->text, sizeof(f->text),
             "%s of %s ranks arrive late on their own, among them rank %.60s: "
             "they have more work than others; cost %s",
             FIG_COUNT(n), FIG_COUNT(b->p->n),
             processes_rank_name(b->p, b->r, &b->p->list[list->process], name),
             FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next),
             "check how layers, experts or samples are split among ranks");
    return 0;
}

/* --- findings by own times ------------------------------------------------ */

/* Formats in which part of the run, if that is not all of it. */
static const char *part_of(const struct judge_answer *a, char *buf, size_t size)
{
    *buf = '\0';
    if (a->stretches > 1)
        snprintf(buf, size, " %s times, in %s of the run",
                 FIG_COUNT(a->stretches), FIG_SHARE(a->share));
    else if (a->to < 1 && !(a->from > 0))
        snprintf(buf, size, " until %s of the run", FIG_SHARE(a->to));
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
        f->from_us = (double) pauses_moment(&r->quality, r->ops->dump_first,
                                            (uint64_t) (a->from * j->run_us));
}

/* Returns how much longer a process computes before an operation. Where others
 * waited in line its excess counts one delay again: the other operations tell,
 * or what it costs, in which each delay is once. */
static double longer_us(const struct judge *j, const struct judge_answer *a)
{
    const struct judge_process *x = &j->processes[a->process];
    double us = x->not_in_line > 0 ? fmin(x->not_in_line, 1) * a->excess_us
                                   : fmin(a->excess_us, a->worth_us);

    return us / (a->share * (double) x->intervals);
}

static int add_own_rank(const struct jp_result *r, const struct jp_processes *p,
                        const struct judge *j, const struct judge_answer *a,
                        struct jp_findings *findings)
{
    const struct judge_process *x = &j->processes[a->process];
    struct jp_finding *f = findings_add(findings, JP_FINDING_LATE_RANK);
    char name[JP_PROCESS_NAME_LEN], when[60], times[80];
    bool known = x->later != UINT64_MAX;

    if (!f || owntime_fill(r, p, j, a, findings, f) < 0)
        return -1;
    finding_count(f, longer_us(j, a), known ? x->later : 0,
                  known ? x->intervals : 0);
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
    snprintf(f->next, sizeof(f->next), "%s", check_process);
    return 0;
}

static int add_own_node(const struct jp_result *r, const struct jp_processes *p,
                        const struct judge *j, const struct judge_answer *a,
                        struct jp_findings *findings)
{
    struct jp_finding *f = findings_add(findings, JP_FINDING_LATE_NODE);
    char when[60];

    if (!f || owntime_fill(r, p, j, a, findings, f) < 0)
        return -1;
    finding_count(f, longer_us(j, a), a->times, a->times);
    fill_start(r, j, a, f);
    snprintf(f->text, sizeof(f->text),
             "the %s ranks of node %.64s compute longer than their peers%s, by "
             "%s before an operation; cost %s",
             FIG_COUNT(a->times), f->host, part_of(a, when, sizeof(when)),
             FIG_US(f->by_us), FINDING_LOSS(f));
    snprintf(f->next, sizeof(f->next), "%s", check_node);
    return 0;
}

/* Appends a finding by own times. 0, or -1: no memory. */
static int add_own(const struct jp_result *r, const struct jp_processes *p,
                   const struct judge *j, const struct judge_answer *a,
                   struct jp_findings *findings)
{
    return a->kind == JUDGE_NODE ? add_own_node(r, p, j, a, findings)
                                 : add_own_rank(r, p, j, a, findings);
}

/* --- which of both decides ------------------------------------------------ */

/* Returns the answer by which a process is late, all along or in a part of the
 * run. NULL: it is not late. */
static const struct judge_answer *find_late(const struct judge *j,
                                            size_t process)
{
    for (size_t i = 0; i < j->n; i++)
        if (judge_is_late(&j->answers[i]) && j->answers[i].process == process)
            return &j->answers[i];
    return NULL;
}

/* Returns the answer by which all of a host is late. NULL: it is not. */
static const struct judge_answer *find_node(const struct judge *j, size_t host)
{
    for (size_t i = 0; i < j->n; i++)
        if (j->answers[i].kind == JUDGE_NODE && j->answers[i].host == host)
            return &j->answers[i];
    return NULL;
}

/* Returns what own times have of a suspect; NULL: they do not speak. */
static const struct judge_process *own_of(const struct blame *b,
                                          const struct suspect *s)
{
    return b->speaks ? &b->judge->processes[s->process] : NULL;
}

/* Counts the suspects of each role. */
static void count_roles(struct blame *b)
{
    for (size_t i = 0; b->speaks && i < b->n; i++)
        b->of_role[b->judge->processes[b->suspects[i].process].role]++;
}

/* Returns true if a suspect is one of a few that do the same work, with start
 * and end, and sums show much of him. Where more than half of these are late,
 * their work is longer than that of other roles, and nobody stands apart. */
static bool is_of_few(const struct blame *b, const struct suspect *s)
{
    const struct judge_process *x = own_of(b, s);

    return x && x->judged && b->judge->timed && x->likes <= JUDGE_FEW &&
           2 * b->of_role[x->role] <= x->likes &&
           b->lateness[s->rank].excess_us > JUDGE_TOLD * b->judge->run_us;
}

/* Returns true if own times contradict that a suspect is late whom they do not
 * name, all along or in a part of the run: by start and end. By durations a
 * late part may drown in waits, and a slower network looks like own times, so
 * nobody is named who may have one (is_by_net of judge_name.c). There sums
 * decide: of a part of the run, and all along, unless he is not apart, or his
 * network is slower by more than he is late. Sums also decide of a process that
 * no other one does the work of, and of a few that do the same work, with start
 * and end, where they show as much as is told however few there are
 * (JUDGE_TOLD). */
static bool is_contradicted(const struct blame *b, const struct suspect *s)
{
    const struct judge_process *x = own_of(b, s);

    if (!x)
        return false;
    if (!x->judged || is_of_few(b, s))
        return false;
    if (b->judge->timed || b->lateness[s->rank].spells)
        return b->judge->timed;
    return x->excess_us <= x->apart_us || x->excess_us < x->net_us;
}

/* Returns true if own times name a suspect, alone or with all of his host. */
static bool is_named(const struct blame *b, const struct suspect *s)
{
    return own_of(b, s) &&
           (find_late(b->judge, s->process) ||
            find_node(b->judge, b->p->list[s->process].host_at));
}

/* Sets *told if all ranks of a host are told by sums alone, whom own times do
 * not name: where these do not speak of them, or are durations and do not
 * contradict that they have more work. Then each of the host's `all` processes
 * must be late, or all of this be worth a search. 0, or -1: no memory. */
static int ask_node(const struct blame *b, size_t host, size_t all, bool *told)
{
    struct suspect *list = malloc((b->n + 1) * sizeof(*list));
    double cost_us = 0, all_us = 0;
    bool sure = false, much;
    size_t n = 0;
    int rc = list ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < b->n; i++) {
        const struct suspect *s = &b->suspects[i];

        if (b->p->list[s->process].host_at != host)
            continue;
        list[n++] = *s;
        cost_us += s->cost_us;
        all_us = fmax(all_us, s->all_us);
        sure |= !is_contradicted(b, s) ||
                !judge_has_likes_elsewhere(b->judge, b->p, s->process);
    }
    *told = sure;
    much = n == all || fmax(cost_us, all_us) > limits_get(JP_LIMIT_LATE_COST) *
                                                   b->findings->gpus_us;
    if (rc == 0 && !sure && !b->judge->timed && much)
        rc = have_more(b, list, n, told);
    free(list);
    return rc;
}

/* Drops the suspects whom own times contradict, but for those of `is`: hosts
 * that were told. */
static void drop_contradicted(struct blame *b, const bool *is)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->n; i++) {
        const struct suspect *s = &b->suspects[i];

        if (!is[b->p->list[s->process].host_at] &&
            (is_named(b, s) || !is_contradicted(b, s)))
            b->suspects[kept++] = *s;
    }
    b->n = kept;
}

/* Reports a host that own times name: sums say where its ranks are late. all:
 * they call the host late, too. 0, or -1: no memory. */
static int tell_own_node(struct blame *b, size_t host,
                         const struct judge_answer *named, bool all)
{
    struct jp_finding *f;

    if (add_own(b->r, b->p, b->judge, named, b->findings) < 0)
        return -1;
    f = &b->findings->at[b->findings->n - 1];
    f->confirmed = all;
    for (size_t i = b->n; i-- > 0;)
        if (b->p->list[b->suspects[i].process].host_at == host)
            f->comm = (int64_t) rank_of(b, &b->suspects[i])->comm;
    return 0;
}

/* Returns true if own times by start and end name a rank of a host, and not the
 * host: the others of it wait for that rank. */
static bool names_one_of(const struct blame *b, size_t host)
{
    if (!b->speaks || !b->judge->timed)
        return false;
    for (size_t i = 0; i < b->judge->n; i++)
        if (judge_is_late(&b->judge->answers[i]) &&
            b->judge->answers[i].host == host)
            return true;
    return false;
}

/* Reports nodes that are late: those that own times name, if sums call any of
 * their ranks late, and those that sums alone name. Their ranks are then no
 * longer suspects, nor are those whom own times contradict. */
static int tell_nodes(struct blame *b, const size_t *all, const size_t *late)
{
    bool *is = calloc(b->p->n_hosts + 1, sizeof(*is));
    int rc = is ? 0 : -1;

    for (size_t h = 0; rc == 0 && h < b->p->n_hosts; h++) {
        const struct judge_answer *named = b->speaks ? find_node(b->judge, h)
                                                     : NULL;
        bool whole = is_node(b, late[h], all[h]);

        /* without a name, ranks of several hosts are under one */
        if (!*b->p->hosts[h].host || !(whole || (named && late[h])))
            continue;
        if (named) {
            is[h] = true;
            rc = tell_own_node(b, h, named, whole);
            continue;
        }
        if (names_one_of(b, h))
            continue;
        rc = ask_node(b, h, all[h], &is[h]);
        if (rc == 0 && is[h])
            rc = add_node(b, h, late[h], all[h]);
    }
    if (rc == 0)
        drop_contradicted(b, is);
    free(is);
    return rc;
}

/* Returns what names a suspect by own times. NULL: nothing, or sums alone show
 * that he is late in a part of the run only. */
static const struct judge_answer *named_of(const struct blame *b,
                                           const struct suspect *s)
{
    const struct judge_answer *a =
        own_of(b, s) ? find_late(b->judge, s->process) : NULL;

    return a && b->lateness[s->rank].spells && a->kind != JUDGE_ONSET ? NULL
                                                                      : a;
}

/* Reports a suspect whom own times name. sure: the sums alone would have told
 * him; then they also say where he is late. 0, or -1: no memory. */
static int tell_own(struct blame *b, const struct suspect *s,
                    const struct judge_answer *named, bool sure)
{
    bool in_part = b->lateness[s->rank].spells > 0;
    struct jp_finding *f;

    if (add_own(b->r, b->p, b->judge, named, b->findings) < 0)
        return -1;
    if (!sure || in_part != (named->kind == JUDGE_ONSET))
        return 0;
    f = &b->findings->at[b->findings->n - 1];
    f->confirmed = true;
    describe_rank(b, s, f);
    return 0;
}

/* Reports single ranks: who is late all along own times say, where they speak
 * of him; of the others sums do. */
static int tell_ranks(struct blame *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct suspect *s = &b->suspects[i];
        bool sure = costs_much(b, s) && is_worth(b, s);
        const struct judge_answer *named = named_of(b, s);
        int rc = 0;

        if (named)
            rc = tell_own(b, s, named, sure);
        else if (sure && (rc = add_rank(b, s)) == 0)
            b->findings->at[b->findings->n - 1].of_few = is_of_few(b, s);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Reports roles, else nodes, then single ranks or, if they are many, the
 * imbalance. Returns 0 or -1. */
static int add_all_findings(struct blame *b, const size_t *all,
                            const size_t *late)
{
    if (!b->n && b->n_likes)
        return add_many(b, b->likes, b->n_likes);
    if (tell_nodes(b, all, late) < 0)
        return -1;
    return b->n > limits_get(JP_LIMIT_LATE_MANY)
               ? add_many(b, b->suspects, b->n)
               : tell_ranks(b);
}

int blame_findings(const struct jp_result *r, const struct jp_processes *p,
                   const struct judge *judge, struct jp_lateness *lateness,
                   struct jp_findings *findings)
{
    struct blame b = {.r = r,
                      .p = p,
                      .judge = judge,
                      .speaks = owntime_speaks(r, judge, findings),
                      .lateness = lateness,
                      .findings = findings};
    size_t *all = calloc(p->n_hosts + 1, sizeof(*all));
    size_t *late = calloc(p->n_hosts + 1, sizeof(*late));
    int rc = -1;

    b.suspects = calloc(p->n + 1, sizeof(*b.suspects));
    b.likes = calloc(p->n + 1, sizeof(*b.likes));
    b.of_role = calloc(p->n + 1, sizeof(*b.of_role));
    b.waits_us = calloc(p->n + 1, sizeof(*b.waits_us));
    b.alone_us = calloc(r->n_ranks + 1, sizeof(*b.alone_us));
    b.up = calloc(p->n + 1, sizeof(*b.up));
    if (all && late && b.suspects && b.likes && b.of_role && b.waits_us &&
        b.alone_us && b.up && add_up_alone(&b) == 0) {
        excuse_stalls(r, p, judge, findings, lateness);
        add_waits(&b);
        collect(&b);
        count_roles(&b);
        count_hosts(&b, all, late);
        rc = add_all_findings(&b, all, late);
    }
    free(b.suspects);
    free(b.likes);
    free(b.of_role);
    free(b.waits_us);
    free(b.alone_us);
    free(b.up);
    free(all);
    free(late);
    return rc;
}

/* --- whom own times alone name -------------------------------------------- */

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

int blame_by_own_times(const struct jp_result *r, const struct jp_processes *p,
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
        rc = add_own(r, p, j, a, findings);
    }
    return rc;
}
