/* stages.c - which stage of a pipeline computes longer than the others.
 *
 * All ranks of a pipeline run equally long, so a rank that communicates less
 * has computed longer. Messages that one launch runs count once; where records
 * have no start, a stage must be the slowest by either count. Null
 * hypothesis: all stages compute equally long; they then differ by the scatter
 * between pipelines only.
 *
 * Own times (judge.h) are the second witness: they vary over the run instead
 * of over pipelines. Where they know that the stage's ranks do not compute
 * longer, the sums are wrong: ranks of a stage wait for each other and end
 * together, so few pipelines scatter too little. Where they know that one does,
 * it is named, whatever the sums show.
 *
 * A pipeline is a communicator of Send and Recv, or a chain of communicators of
 * two ranks each, as some programs make one for each two neighbours.
 *
 * Way through: stages_findings, find_pipelines, count_once, find_slowest,
 * find_own, judge_stages, price_stage.
 */
#include "orchestrator/insight/looks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/identity/operations.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"

enum {
    /* The most rows of Send and Recv of a pipeline's rank: to and from each of
     * two neighbours. */
    MAX_ROWS = 4,
    MAX_STAGES = 64
};

/* A pipeline. Its processes and communicators point into arrays of struct
 * stages. */
struct pipeline {
    size_t *processes; /* by stage */
    size_t *comms;
    uint32_t n, n_comms;
    size_t rank; /* of its first stage, in its first communicator */
};

/* Two neighbours with a communicator of their own. */
struct edge {
    size_t from, to; /* processes of its ranks 0 and 1 */
    size_t comm;
    bool skips; /* there is also a longer way between them: it closes a ring */
};

/* Times are in us, over the whole run. */
struct stages {
    const struct jp_result *r;
    const struct jp_processes *p;
    struct judge *judge;
    const struct jp_lateness *lateness;
    enum judge_side *side; /* [process] */
    double *spent_us;      /* [process] time in communication */
    double *perhaps_us; /* [process] the part of it that is perhaps the time of
                           a launch that has been counted already */
    double *within_us;  /* [process] the part of it in which it waited for ranks
                           of its own stage */
    uint32_t *rows;     /* [rank] number of pairs recorded */
    uint64_t *fewest;   /* [rank] fewest messages of any of its pairs */
    struct pipeline *at;
    size_t n;
    size_t *of_process; /* [process] its pipeline + 1; 0: none */
    size_t *room;       /* for processes and comms of all pipelines */
    struct edge *edges; /* sorted by from */
    size_t n_edges;
    double run_us;
    /* by the clock of the records, not estimated from what the ranks spent */
    bool run_known;
};

/* The slowest stage of all pipelines with a number of stages. */
struct slowest {
    uint32_t stage, stages;
    size_t pipelines;
    const struct pipeline *first;
    double us, error_us; /* excess over the median of the other stages */
    bool is_net;         /* ... without waits within a stage */
    bool is_own;         /* ... by own times, over the mean of the others */
    /* messages of a stage, as each pass through the pipeline has one */
    double passes;
    double peers_us; /* time in communication of the other stages */
};

/* Sums up each process's time in communication, and counts messages. */
static void add_up(struct stages *s)
{
    for (size_t i = 0; i < s->r->n_p2p; i++) {
        const struct jp_p2p *x = &s->r->p2p[i];
        size_t rank = processes_rank(s->p, s->r, x->comm,
                                     strcmp(x->func, "Send") ? x->dst : x->src);

        if (rank == SIZE_MAX)
            continue;
        if (!s->rows[rank]++ || x->count < s->fewest[rank])
            s->fewest[rank] = x->count;
    }
    late_spent(s->r, s->p, s->lateness, s->spent_us);
}

/* Whether one launch ran two messages: Send and Recv of a group, as programs
 * that go forward and backward in turns have them. Each record then has the
 * start and the time of the whole launch. */
enum shared { APART, PERHAPS, TOGETHER };

static enum shared one_launch(const struct operation *a,
                              const struct operation *b)
{
    uint64_t apart = a->time_us > b->time_us ? a->time_us - b->time_us
                                             : b->time_us - a->time_us;
    uint64_t begin = a->start_us > b->start_us ? a->start_us - b->start_us
                                               : b->start_us - a->start_us;
    uint64_t shorter = a->time_us < b->time_us ? a->time_us : b->time_us;

    if (!a->p2p || !b->p2p || a->comm != b->comm ||
        (a->sends == b->sends && a->peer == b->peer))
        return APART;
    /* messages that ran one after the other may have one time, too */
    if (!a->start_us || !b->start_us)
        return apart <= 1 ? PERHAPS : APART;
    /* short messages that follow one another begin as close together */
    return begin <= OPERATIONS_LAUNCH_US && apart <= OPERATIONS_LAUNCH_US &&
                   2 * begin <= shorter && 2 * apart <= shorter
               ? TOGETHER
               : APART;
}

/* Sets the time of a source's messages that another message of their launch
 * has already: us[TOGETHER], and us[PERHAPS]. 0, or -1: no memory. */
static int read_twice(const struct operations_source *source,
                      double us[TOGETHER + 1])
{
    const struct timeline *t = source->timeline;
    struct operations_reader reader;
    struct operation last = {0}, next;

    us[APART] = us[PERHAPS] = us[TOGETHER] = 0;
    if (operations_open(&reader, source) < 0)
        return -1;
    while (operations_next(&reader, &next)) {
        us[one_launch(&last, &next)] += (double) (next.time_us < last.time_us
                                                      ? next.time_us
                                                      : last.time_us);
        last = next;
    }
    operations_close(&reader);
    for (int k = APART; k <= TOGETHER && t->n; k++)
        /* later operations are like those that it holds */
        us[k] *= (double) (t->n + t->left) / (double) t->n;
    return 0;
}

/* Takes time that was counted twice from spent_us of all processes in
 * pipelines, and sets perhaps_us. Returns 0, or -1 without memory. */
static int count_once(struct stages *s)
{
    struct operations all;
    int rc;

    if (!s->n)
        return 0;
    rc = operations_init(&all, s->r, s->p, true);
    for (size_t i = 0; rc == 0 && i < all.n_sources; i++) {
        const struct operations_source *source = &all.sources[i];
        double us[TOGETHER + 1], *spent;

        if (source->process == SIZE_MAX || !s->of_process[source->process])
            continue;
        rc = read_twice(source, us);
        if (rc < 0)
            break;
        spent = &s->spent_us[source->process];
        *spent = fmax(*spent - us[TOGETHER], 0);
        s->perhaps_us[source->process] += us[PERHAPS];
    }
    operations_fini(&all);
    return rc;
}

/* Sets the run's length. By the clock it may be shorter than what a process
 * spent in it, as records are written in batches. Then the longest of these is
 * a lower bound. */
static void set_run(struct stages *s, double run_us)
{
    s->run_us = run_us;
    s->run_known = run_us > 0;
    for (size_t i = 0; i < s->p->n; i++) {
        s->run_known &= s->run_us > s->spent_us[i];
        s->run_us = fmax(s->run_us, s->spent_us[i]);
    }
}

/* --- pipelines ------------------------------------------------------------ */

/* Returns true if the communicator has records of all ranks, Send and Recv with
 * one or two neighbours, and nothing else. */
static bool is_pipeline(const struct stages *s, size_t c)
{
    size_t from = s->p->comm_start[c], to = s->p->comm_start[c + 1];

    if (to - from < 2 || to - from > MAX_STAGES ||
        to - from != s->r->comms[c].n_ranks)
        return false;
    for (size_t i = from; i < to; i++)
        if (!s->rows[i] || s->rows[i] > MAX_ROWS ||
            s->lateness[i].grouped_us > 0 || s->r->ranks[i].timed_ops)
            return false;
    return true;
}

static int by_from(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Returns the first edge of a process, or the place where it would be. */
static size_t first_edge(const struct stages *s, size_t process)
{
    size_t from = 0, to = s->n_edges;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (s->edges[middle].from < process)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Returns true if edges lead from one process to another one. seen: [process]
 * where the search has been. */
static bool leads_to(const struct stages *s, size_t process, size_t to,
                     unsigned depth, bool *seen)
{
    if (process == to)
        return true;
    if (seen[process] || !depth)
        return false;
    seen[process] = true;
    for (size_t i = first_edge(s, process);
         i < s->n_edges && s->edges[i].from == process; i++)
        if (leads_to(s, s->edges[i].to, to, depth - 1, seen))
            return true;
    return false;
}

/* Marks edges that a longer way replaces, such as the one between the last
 * stage and the first one. Returns 0, or -1 without memory. */
static int find_skips(struct stages *s)
{
    bool *seen = calloc(s->p->n + 1, sizeof(*seen));

    if (!seen)
        return -1;
    for (size_t i = 0; i < s->n_edges; i++) {
        struct edge *e = &s->edges[i];

        for (size_t k = first_edge(s, e->from);
             !e->skips && k < s->n_edges && s->edges[k].from == e->from; k++) {
            if (s->edges[k].to == e->to)
                continue;
            memset(seen, 0, s->p->n * sizeof(*seen));
            seen[e->from] = true;
            e->skips = leads_to(s, s->edges[k].to, e->to, MAX_STAGES, seen);
        }
    }
    free(seen);
    return 0;
}

/* Returns the only edge that leaves a process; SIZE_MAX: there is none, or
 * several. */
static size_t only_edge(const struct stages *s, size_t process)
{
    size_t found = SIZE_MAX;

    for (size_t i = first_edge(s, process);
         i < s->n_edges && s->edges[i].from == process; i++) {
        if (s->edges[i].skips)
            continue;
        if (found != SIZE_MAX)
            return SIZE_MAX;
        found = i;
    }
    return found;
}

static void add_process(struct stages *s, struct pipeline *to, size_t process)
{
    to->processes[to->n++] = process;
    s->of_process[process] = s->n;
}

/* Begins a pipeline. Its arrays follow those of the one before. */
static struct pipeline *new_pipeline(struct stages *s, size_t comm)
{
    struct pipeline *x = &s->at[s->n];

    *x =
        (struct pipeline){.processes = s->room, .rank = s->p->comm_start[comm]};
    if (s->n)
        x->processes = x[-1].comms + x[-1].n_comms;
    s->n++;
    return x;
}

/* Follows the chain of pairs from its first process. into: [process] the number
 * of edges that lead to it. */
static void add_chain(struct stages *s, size_t edge, const uint32_t *into)
{
    struct pipeline *x = new_pipeline(s, s->edges[edge].comm);
    size_t comms[MAX_STAGES];

    add_process(s, x, s->edges[edge].from);
    while (edge != SIZE_MAX && x->n < MAX_STAGES) {
        size_t process = s->edges[edge].to;

        comms[x->n_comms++] = s->edges[edge].comm;
        add_process(s, x, process);
        edge = only_edge(s, process);
        if (edge != SIZE_MAX &&
            (into[process] != 1 || into[s->edges[edge].to] != 1))
            edge = SIZE_MAX; /* another chain begins with it */
    }
    x->comms = x->processes + x->n;
    memcpy(x->comms, comms, x->n_comms * sizeof(*comms));
}

/* Makes pipelines of pairs. Returns 0, or -1 without memory. */
static int add_chains(struct stages *s)
{
    uint32_t *into = calloc(s->p->n + 1, sizeof(*into));

    if (!into)
        return -1;
    qsort(s->edges, s->n_edges, sizeof(*s->edges), by_from);
    if (find_skips(s) < 0) {
        free(into);
        return -1;
    }
    for (size_t i = 0; i < s->n_edges; i++)
        into[s->edges[i].to] += !s->edges[i].skips;
    for (size_t i = 0; i < s->n_edges; i++) {
        const struct edge *e = &s->edges[i];
        /* a chain begins where several edges, or none, lead to its process, or
         * leave it */
        bool first = into[e->from] != 1 || only_edge(s, e->from) == SIZE_MAX ||
                     into[e->to] != 1;

        if (!e->skips && first)
            add_chain(s, i, into);
    }
    free(into);
    return 0;
}

/* Finds all pipelines. Returns 0, or -1 without memory. */
static int find_pipelines(struct stages *s)
{
    for (size_t c = 0; c < s->r->n_comms; c++) {
        size_t from = s->p->comm_start[c], to = s->p->comm_start[c + 1];
        struct pipeline *x;

        if (!is_pipeline(s, c))
            continue;
        if (to - from == 2) {
            s->edges[s->n_edges++] = (struct edge){
                s->p->of_rank[from], s->p->of_rank[from + 1], c, false};
            continue;
        }
        x = new_pipeline(s, c);
        for (size_t i = from; i < to; i++)
            add_process(s, x, s->p->of_rank[i]);
        x->comms = x->processes + x->n;
        x->comms[x->n_comms++] = c;
    }
    return add_chains(s);
}

/* Returns true if a communicator has several stages of one pipeline, which it
 * makes wait for each other. stamp: [pipeline + 1] */
static bool joins_stages(const struct stages *s, size_t comm, size_t *stamp)
{
    for (size_t i = s->p->comm_start[comm]; i < s->p->comm_start[comm + 1];
         i++) {
        size_t of = s->of_process[s->p->of_rank[i]];

        if (of && stamp[of] == comm + 1)
            return true;
        stamp[of] = comm + 1;
    }
    return false;
}

/* Fills within_us. Returns 0, or -1 without memory. */
static int add_within(struct stages *s)
{
    size_t *stamp = calloc(s->n + 2, sizeof(*stamp));

    if (!stamp)
        return -1;
    for (size_t c = 0; c < s->r->n_comms; c++)
        if (!joins_stages(s, c, stamp))
            for (size_t i = s->p->comm_start[c]; i < s->p->comm_start[c + 1];
                 i++)
                s->within_us[s->p->of_rank[i]] +=
                    (double) s->r->ranks[i].wait_us;
    free(stamp);
    return 0;
}

/* --- the slowest stage ---------------------------------------------------- */

/* How much less a stage's process communicates than the median of the other
 * stages, in us. */
struct longer {
    double us;       /* in all communication */
    double net_us;   /* without waits within a stage */
    double peers_us; /* the median of the others' time in communication */
};

static struct longer get_longer(const struct stages *s,
                                const struct pipeline *x, uint32_t stage)
{
    double all[MAX_STAGES], net[MAX_STAGES];
    size_t own = x->processes[stage], n = 0;
    struct longer by;

    for (uint32_t i = 0; i < x->n; i++) {
        size_t p = x->processes[i];

        if (i == stage)
            continue;
        all[n] = s->spent_us[p];
        net[n++] = s->spent_us[p] - s->within_us[p];
    }
    by.peers_us = stats_median(all, n);
    by.us = by.peers_us - s->spent_us[own];
    by.net_us = stats_median(net, n) - (s->spent_us[own] - s->within_us[own]);
    return by;
}

/* Sum and squares of an excess over pipelines. */
struct moments {
    double sum, squares;
};

static void add_moment(struct moments *m, double us)
{
    m->sum += us;
    m->squares += us * us;
}

/* The standard error of the mean of n pipelines whose stages compute for that
 * long. A few of them may be alike by chance, so what GPUs of one kind differ
 * by anyway counts, too: with two pipelines alone, one even stage in twenty
 * seems far beyond their scatter. */
static double error_of(const struct moments *m, double n, double computes_us)
{
    double mean = m->sum / n, freedom = n - 1;

    return judge_moderate(JUDGE_WORTH * fmax(computes_us, 0),
                          fmax(m->squares - n * mean * mean, 0), &freedom) /
           sqrt(n);
}

/* Takes the mean of one stage's excess over all pipelines with this number of
 * stages, and its standard error from the scatter among them. *best becomes the
 * stage with the largest mean. One pipeline has no scatter, so there must be
 * `stage_pipelines_min`.
 *
 * A stage whose ranks are slow by turns waits within itself, and is not faster
 * for that; a stage behind it waits for its messages instead. So the smaller
 * excess counts, of that with waits within a stage and of that without. */
static void measure_stage(const struct stages *s, uint32_t stages,
                          uint32_t stage, struct slowest *best)
{
    struct slowest own = {.stage = stage, .stages = stages, .passes = INFINITY};
    struct moments all = {0}, net = {0};
    double n, computes_us;

    for (size_t k = 0; k < s->n; k++) {
        const struct pipeline *x = &s->at[k];
        struct longer by;

        if (x->n != stages)
            continue;
        by = get_longer(s, x, stage);
        own.first = own.pipelines++ ? own.first : x;
        own.passes = fmin(own.passes, (double) s->fewest[x->rank]);
        add_moment(&all, by.us);
        add_moment(&net, by.net_us);
        own.peers_us += by.peers_us;
    }
    if (own.pipelines < limits_get(JP_LIMIT_STAGE_PIPELINES))
        return;
    n = (double) own.pipelines;
    own.peers_us /= n;
    own.is_net = net.sum < all.sum;
    own.us = (own.is_net ? net.sum : all.sum) / n;
    computes_us = s->run_us - own.peers_us;
    own.error_us =
        fmax(error_of(&all, n, computes_us), error_of(&net, n, computes_us));
    if (!best->pipelines || own.us > best->us)
        *best = own;
}

/* Looks at each number of stages once. */
static struct slowest find_slowest(const struct stages *s)
{
    bool seen[MAX_STAGES + 1] = {false};
    struct slowest best = {0};

    for (size_t k = 0; k < s->n; k++) {
        uint32_t n = s->at[k].n;

        for (uint32_t stage = 0; !seen[n] && stage < n; stage++)
            measure_stage(s, n, stage, &best);
        seen[n] = true;
    }
    return best;
}

/* Leaves aside whom own times name, a rank or all those of a node: what they
 * have more to do than others of their stage, also now and then, is not the
 * stage's. */
static void leave_named(const struct stages *s)
{
    for (size_t k = 0; s->judge && k < s->judge->n; k++)
        for (size_t i = 0; i < s->p->n; i++)
            if (judge_concerns(&s->judge->answers[k], s->p, i))
                s->side[i] = JUDGE_ASIDE;
}

/* Sets the sides of a stage of all pipelines with so many, against the others.
 */
static void mark_stage(const struct stages *s, uint32_t stages, uint32_t stage)
{
    for (size_t i = 0; i < s->p->n; i++)
        s->side[i] = JUDGE_ASIDE;
    for (size_t k = 0; k < s->n; k++)
        for (uint32_t i = 0; s->at[k].n == stages && i < stages; i++)
            s->side[s->at[k].processes[i]] = i == stage ? JUDGE_IN
                                                        : JUDGE_OTHER;
}

/* Asks own times whether a stage of all pipelines with so many computes longer
 * than the others, which by sums is by_us. */
static enum jp_own_word ask_own_times(const struct stages *s, uint32_t stages,
                                      uint32_t stage, double by_us,
                                      struct judge_group *group)
{
    mark_stage(s, stages, stage);
    leave_named(s);
    return owntime_ask(s->r, s->p, s->judge, s->side, stages, by_us, group);
}

/* Returns true if own times name a late rank or node: a part of a stage, which
 * then seems to compute longer as a whole. */
static bool names_part(const struct judge *j)
{
    for (size_t i = 0; j && i < j->n; i++)
        if (j->answers[i].kind != JUDGE_STALL)
            return true;
    return false;
}

/* Finds the stage that is the slowest by own times alone, of those that are so
 * beyond doubt. */
static struct slowest find_own(const struct stages *s)
{
    bool seen[MAX_STAGES + 1] = {false};
    struct slowest best = {0};

    if (names_part(s->judge))
        return best;
    for (size_t k = 0; k < s->n; k++) {
        uint32_t n = s->at[k].n;

        for (uint32_t stage = 0; !seen[n] && stage < n; stage++) {
            struct slowest sums = {0};
            struct judge_group own;

            if (ask_own_times(s, n, stage, 0, &own) != JP_OWN_SO ||
                own.us <= best.us)
                continue;
            measure_stage(s, n, stage, &sums);
            if (!sums.pipelines) /* too few */
                continue;
            best = sums;
            best.is_own = true;
            best.is_net = false;
            best.us = own.us;
            best.error_us = own.error_us;
        }
        seen[n] = true;
    }
    return best;
}

/* Returns the time of a communicator's messages without waits, each message
 * once, in us. A message waits for the side that comes last, so the faster side
 * shows the network's time. INFINITY: unknown. */
static double messages_us(const struct stages *s, size_t comm)
{
    double us = 0;

    for (size_t i = 0; i < s->r->n_p2p; i++) {
        const struct jp_p2p *x = &s->r->p2p[i], *other = x + 1;
        double gbs = x->fast_gbs;

        if (x->comm != comm || !x->count)
            continue;
        if (i + 1 < s->r->n_p2p && other->comm == comm &&
            other->src == x->src && other->dst == x->dst) {
            /* both sides of a pair are neighbours; one rate may be NAN */
            gbs = fmax(gbs, other->fast_gbs);
            i++;
        }
        if (!(gbs > 0))
            return INFINITY;
        us += (double) x->bytes / (double) x->count / (gbs * 1e3);
    }
    return us;
}

/* Returns true if the run had so few passes that its length is uncertain: it is
 * known up to one batch of records. */
static bool is_short(const struct slowest *x)
{
    return x->passes < limits_get(JP_LIMIT_LATE_OPS);
}

/* Returns what the ranks of all stages do for one message of a pipeline, in us:
 * computation, collectives without waits, and messages. INFINITY: the run's
 * length is not known well enough. */
static double pass_us(const struct stages *s, const struct slowest *x)
{
    double us = 0, sent = 0;

    if (!s->run_known || is_short(x))
        return INFINITY;
    for (uint32_t i = 0; i < x->stages; i++) {
        size_t p = x->first->processes[i];
        const struct jp_process *who = &s->p->list[p];

        us += fmax(0, s->run_us - s->spent_us[p]);
        for (size_t k = who->first; k < who->first + who->n; k++) {
            const struct jp_rank *rank = &s->r->ranks[s->p->by_process[k]];

            us += (double) rank->exec_us - (double) rank->wait_us;
        }
    }
    for (uint32_t i = 0; i < x->first->n_comms; i++)
        sent += messages_us(s, x->first->comms[i]);
    return us / x->passes + sent;
}

/* Returns how much longer than others a stage may run without a fault, in us.
 * The first stages end last, and the others wait for that in no operation. That
 * takes no longer than half a pass through all stages at the pace of a message,
 * nor than what the stages do for one message (which is less where one works
 * after the other). Guards against accusing the first stages of short runs. */
static double end_us(const struct stages *s, const struct slowest *x)
{
    return fmin(x->stages / 2.0 * s->run_us / x->passes, pass_us(s, x));
}

/* --- findings ------------------------------------------------------------- */

/* Returns the host that has the ranks of that stage of all pipelines and no
 * other ranks: SIZE_MAX if there is none. Then a stage with more work cannot be
 * told from a slow node. */
static size_t host_of(const struct stages *s, const struct slowest *x,
                      uint32_t stage)
{
    size_t host = s->p->list[x->first->processes[stage]].host_at, on = 0;

    for (size_t i = 0; i < s->p->n; i++)
        on += s->p->list[i].host_at == host;
    for (size_t k = 0; k < s->n; k++) {
        if (s->at[k].n != x->stages)
            continue;
        if (s->p->list[s->at[k].processes[stage]].host_at != host)
            return SIZE_MAX;
        on--;
    }
    return on ? SIZE_MAX : host;
}

/* Returns the host that has all ranks of that stage beside others, if these
 * compute longer than ranks elsewhere, too: SIZE_MAX if there is none. Then the
 * node may be slow, and the stage is only the slowest one of it. */
static size_t host_beyond(const struct stages *s, const struct slowest *x)
{
    size_t host = s->p->list[x->first->processes[x->stage]].host_at;
    struct judge_group others;

    for (size_t i = 0; i < s->p->n; i++)
        s->side[i] = JUDGE_ASIDE;
    for (size_t k = 0; k < s->n; k++)
        for (uint32_t i = 0; s->at[k].n == x->stages && i < x->stages; i++) {
            size_t process = s->at[k].processes[i];
            bool here = s->p->list[process].host_at == host;

            if (i == x->stage && !here)
                return SIZE_MAX;
            if (i != x->stage)
                s->side[process] = here ? JUDGE_IN : JUDGE_OTHER;
        }
    return owntime_ask(s->r, s->p, s->judge, s->side, x->stages, x->us,
                       &others) >= JP_OWN_MAYBE
               ? host
               : SIZE_MAX;
}

/* Adds to the finding of a late node that it is one stage, if it is. */
static void tell_node(const struct stages *s, const struct slowest *x,
                      struct jp_findings *findings)
{
    for (size_t i = 0; x->pipelines && i < findings->n; i++) {
        struct jp_finding *f = &findings->at[i];
        size_t len = strlen(f->text);

        if (f->kind != JP_FINDING_LATE_NODE)
            continue;
        for (uint32_t stage = 0; stage < x->stages; stage++) {
            size_t host = host_of(s, x, stage);

            if (host == SIZE_MAX || strcmp(s->p->hosts[host].host, f->host))
                continue;
            f->stage = stage + 1;
            f->stages = x->stages;
            snprintf(f->text + len, sizeof(f->text) - len,
                     "; it is stage %u of %u, which may have more layers",
                     stage + 1, x->stages);
        }
    }
}

/* Drops findings that some ranks have more to do: they are the ranks of the
 * slow stage. */
static void drop_many(struct jp_findings *findings)
{
    size_t kept = 0;

    for (size_t i = 0; i < findings->n; i++)
        if (findings->at[i].kind != JP_FINDING_IMBALANCE ||
            findings->at[i].rank >= 0)
            findings->at[kept++] = findings->at[i];
    findings->n = kept;
}

/* Sets *us to what the others lose by a stage: its excess, or less, as a replay
 * has it, where another stage is as slow. A stage without which nothing would
 * be saved is not named. 0 or -1. */
static int price_stage(const struct stages *s, const struct slowest *x,
                       double *us)
{
    double cost_us = NAN;
    int rc = 0;

    if (s->judge) {
        mark_stage(s, x->stages, x->stage);
        rc = judge_group_cost(s->judge, s->r, s->p, s->side, x->us, &cost_us);
    }
    *us = isfinite(cost_us) ? cost_us : x->us;
    return rc;
}

/* Adds the finding. All other stages of all pipelines lose us each. 0 or -1. */
static int add_stage_finding(const struct stages *s, const struct slowest *x,
                             double us, struct jp_findings *findings)
{
    size_t host = host_of(s, x, x->stage);
    const char *name = host == SIZE_MAX ? "" : s->p->hosts[host].host;
    char where[160] = "";
    struct jp_finding *f;

    drop_many(findings);
    f = findings_add(findings, JP_FINDING_IMBALANCE);
    if (!f)
        return -1;
    f->comm = (int64_t) x->first->comms[0];
    f->stage = x->stage + 1;
    f->stages = x->stages;
    f->by_own_time = x->is_own;
    f->share = fmin(us / x->peers_us, 1);
    f->by_us = x->us;
    finding_cost(findings, f,
                 us * (double) (x->stages - 1) * (double) x->pipelines);
    snprintf(f->host, sizeof(f->host), "%s", name);
    if (*name)
        snprintf(where, sizeof(where), "; it is node %.64s, which may be slow",
                 name);
    else if (host_beyond(s, x) != SIZE_MAX)
        snprintf(
            where, sizeof(where),
            "; all ranks of node %.64s compute longer, so that node may be "
            "slow",
            s->p->hosts[host_beyond(s, x)].host);
    snprintf(f->text, sizeof(f->text),
             "stage %u of %u computes longer than the others: its ranks spend "
             "%s %s%s, in all %s pipelines; cost %s%s",
             x->stage + 1, x->stages, FIG_US(x->us),
             x->is_own ? "more between operations" : "less in communication",
             x->is_net ? " (without waits within a stage)" : "",
             FIG_COUNT(x->pipelines), FINDING_LOSS(f), where);
    snprintf(f->next, sizeof(f->next),
             "give that stage fewer layers, or check its nodes if it has the "
             "same work as the others");
    return 0;
}

/* Whether that stage is the slowest by more than least, too, if all messages
 * that may have been one launch were one. */
static bool is_slowest_once(struct stages *s, const struct slowest *x,
                            double least)
{
    struct slowest once;

    for (size_t i = 0; i < s->p->n; i++)
        s->spent_us[i] -= s->perhaps_us[i];
    once = find_slowest(s);
    for (size_t i = 0; i < s->p->n; i++)
        s->spent_us[i] += s->perhaps_us[i];
    return once.pipelines && once.stages == x->stages &&
           once.stage == x->stage && once.us > least;
}

/* Returns how much longer the slowest stage must compute to be named by sums.
 * Worth a search, and many standard errors: with few pipelines the error itself
 * is uncertain, and the slowest of many stages was picked. */
static double least_us(const struct stages *s, const struct slowest *x)
{
    double least = fmax(late_worth(s->run_us, x->peers_us),
                        limits_get(JP_LIMIT_LATE_ERRORS) * x->error_us);

    return fmax(least, end_us(s, x));
}

/* Looks for the slowest stage, and adds the finding or answers the question. 0,
 * or -1 without memory. */
static int judge_stages(struct stages *s, struct jp_findings *findings)
{
    struct slowest x, own;
    struct judge_group group;
    enum jp_own_word own_word;
    double least, us;

    add_up(s);
    if (find_pipelines(s) < 0 || add_within(s) < 0 || count_once(s) < 0)
        return -1;
    set_run(s, findings->run_us);
    x = find_slowest(s);
    if (!x.pipelines) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "no two pipelines of Send and Recv");
        return 0;
    }
    tell_node(s, &x, findings);
    own = find_own(s);
    if (own.pipelines && !findings_has_late(findings)) {
        if (price_stage(s, &own, &us) < 0)
            return -1;
        if (us > JUDGE_WORTH * s->run_us)
            return add_stage_finding(s, &own, us, findings);
    }
    if (is_short(&x) && !s->run_known) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "the times of the records do not show how long the run "
                       "was");
        return 0;
    }
    least = least_us(s, &x);
    hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                   JP_HYPOTHESIS_NOT_FOUND,
                   s->run_us > 0 ? least / s->run_us : NAN, NULL);
    if (x.us <= least || findings_has_late(findings))
        return 0;
    own_word = ask_own_times(s, x.stages, x.stage, x.us, &group);
    if (own_word == JP_OWN_NOT)
        return 0;
    /* what a part of a stage has more to do is in these sums, too */
    if (owntime_speaks(s->r, s->judge, findings) && names_part(s->judge) &&
        own_word != JP_OWN_SO)
        return 0;
    if (!is_slowest_once(s, &x, least)) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "records without a start do not show which messages ran "
                       "in one launch, and the stages differ by that");
        return 0;
    }
    if (price_stage(s, &x, &us) < 0)
        return -1;
    return us > late_worth(s->run_us, x.peers_us)
               ? add_stage_finding(s, &x, us, findings)
               : 0;
}

/* A communicator of fewer complete operations than this share is not counted in
 * the time that its ranks communicate. */
#define WHOLE 0.95

/* Returns true if collectives of a communicator are missing. Who waited in them
 * seems to communicate less: with one of 256 files missing, the last stage of
 * an even pipeline. */
static bool lacks_operations(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_comms; i++)
        if (r->comms[i].n_ranks > 1 && (double) r->comms[i].ops_complete <
                                           WHOLE * (double) r->comms[i].ops)
            return true;
    return false;
}

int stages_findings(const struct jp_result *r, const struct jp_processes *p,
                    struct judge *own, const struct jp_lateness *lateness,
                    struct jp_findings *findings)
{
    struct stages s = {.r = r, .p = p, .judge = own, .lateness = lateness};
    int rc = -1;

    if (r->quality.waits_unknown || !p->known) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "processes or their waits cannot be separated");
        return 0;
    }
    if (lacks_operations(r)) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "records of collectives are missing, so how long a "
                       "stage communicates is not known");
        return 0;
    }
    if (pauses_ended(&r->quality)) {
        hypothesis_set(findings->hypotheses, JP_HYPOTHESIS_STAGE_IMBALANCE,
                       JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "the recording was off for a while, and the ranks began "
                       "again at different messages");
        return 0;
    }
    s.side = calloc(p->n + 1, sizeof(*s.side));
    s.spent_us = calloc(p->n + 1, sizeof(*s.spent_us));
    s.perhaps_us = calloc(p->n + 1, sizeof(*s.perhaps_us));
    s.within_us = calloc(p->n + 1, sizeof(*s.within_us));
    s.rows = calloc(r->n_ranks + 1, sizeof(*s.rows));
    s.fewest = calloc(r->n_ranks + 1, sizeof(*s.fewest));
    s.at = calloc(r->n_comms + 1, sizeof(*s.at));
    s.of_process = calloc(p->n + 1, sizeof(*s.of_process));
    s.edges = calloc(r->n_comms + 1, sizeof(*s.edges));
    /* the processes of a pipeline, and its communicators: of a chain each
     * communicator adds one process, and its first one another */
    s.room = calloc(r->n_ranks + 3 * r->n_comms + 1, sizeof(*s.room));
    if (s.side && s.spent_us && s.perhaps_us && s.within_us && s.rows &&
        s.fewest && s.at && s.of_process && s.edges && s.room)
        rc = judge_stages(&s, findings);
    free(s.side);
    free(s.spent_us);
    free(s.perhaps_us);
    free(s.within_us);
    free(s.rows);
    free(s.fewest);
    free(s.at);
    free(s.of_process);
    free(s.edges);
    free(s.room);
    return rc;
}
