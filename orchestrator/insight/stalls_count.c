/* stalls_count.c - count who was the only last one, and by how much. */
#include "orchestrator/insight/stalls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/alltoall.h"
#include "orchestrator/insight/likes.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"

enum { PLACES = 4096 }; /* of a step, at most */

static const char *const funcs[STALLS_EXCHANGE] = {"AllReduce", "AllGather",
                                                   "ReduceScatter", "AlltoAll"};

/* Index of a function; STALLS_FUNCS: not a barrier. */
static unsigned func_of(const char *name)
{
    for (unsigned f = 0; f < STALLS_EXCHANGE; f++)
        if (!strcmp(funcs[f], name))
            return f;
    return STALLS_FUNCS;
}

const char *stalls_func_name(unsigned func)
{
    return func < STALLS_EXCHANGE ? funcs[func] : NULL;
}

/* The smallest length. */
static uint64_t first_us(void)
{
    return (uint64_t) limits_get(JP_LIMIT_STALL_US);
}

static double length_us(unsigned k)
{
    return (double) (first_us() << k);
}

/* Returns how many lengths a time reaches. */
static unsigned over(uint64_t us)
{
    unsigned n = 0;

    while (n < STALLS_LENGTHS && us >= first_us() << n)
        n++;
    return n;
}

/* Returns the time that all waited for the last rank alone, beyond waits for
 * others. */
static uint64_t alone_us(const struct jp_op *op, uint32_t n)
{
    uint64_t alone = op->exec_second_us - op->exec_min_us;
    double waited = (double) op->exec_sum_us -
                    (double) n * (double) op->exec_min_us;

    if (n > 2 && alone >= first_us() &&
        (double) alone * (n - 1) < limits_get(JP_LIMIT_STALL_ALONE) * waited)
        return 0;
    return alone;
}

bool stalls_is_whole(const struct stalls_counts *c, size_t comm)
{
    return c->p->comm_start[comm + 1] - c->p->comm_start[comm] ==
           c->r->comms[comm].n_ranks;
}

/* --- operations --- */

/* Returns true if all ranks of the operation are known, and which was last. */
static bool is_told(const struct stalls_counts *c, const struct jp_op *op)
{
    uint32_t n = c->r->comms[op->comm].n_ranks;

    return n > 1 && op->n == n && op->n_exec == n;
}

typedef void each_op(void *arg, const struct jp_op *op, unsigned func);

static void walk_alltoall(const struct stalls_counts *c, each_op *each,
                          void *arg)
{
    for (size_t comm = 0; comm < c->r->n_comms; comm++) {
        size_t n = alltoall_count(c->r, c->p, comm);
        struct jp_op op;

        for (size_t k = 0; k < n; k++)
            if (alltoall_get(c->r, c->p, comm, k, &op))
                each(arg, &op, STALLS_EXCHANGE);
    }
}

/* Calls `each` for operations that identify a last rank. Returns 0, or -1 when
 * out of memory. */
static int walk(const struct stalls_counts *c, unsigned parts, each_op *each,
                void *arg)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        return -1;
    reader->ops = c->r->ops;
    ops_want(reader, parts);
    for (size_t i = 0; i < c->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        unsigned f = func_of(c->r->coll_names[op->coll]);

        if (f < STALLS_FUNCS && is_told(c, op) && stalls_is_whole(c, op->comm))
            each(arg, op, f);
    }
    free(reader);
    walk_alltoall(c, each, arg);
    return 0;
}

/* Returns true for a function in which only the root waits for the others. */
static bool has_waiting_root(const char *name)
{
    return !strcmp(name, "Reduce") || !strcmp(name, "Gather");
}

/* Sums the waits of roots. Who is root is not recorded. */
static int count_roots(struct stalls_counts *c)
{
    struct ops_reader *reader = NULL;
    bool any = false;

    c->roots_us = calloc(c->r->n_comms * STALLS_LENGTHS + 1, sizeof(double));
    for (size_t i = 0; i < c->r->n_coll_names; i++)
        any = any || has_waiting_root(c->r->coll_names[i]);
    if (!c->roots_us || !any)
        return c->roots_us ? 0 : -1;
    reader = calloc(1, sizeof(*reader));
    if (!reader)
        return -1;
    reader->ops = c->r->ops;
    ops_want(reader, OPS_N_EXEC | OPS_EXEC);
    for (size_t i = 0; i < c->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        uint64_t us = op->exec_max_us - op->exec_min_us;

        if (op->n_exec && has_waiting_root(c->r->coll_names[op->coll]))
            for (unsigned k = 0; k < over(us); k++)
                c->roots_us[op->comm * STALLS_LENGTHS + k] += (double) us;
    }
    free(reader);
    return 0;
}

/* --- the warm-up, and places of a step --- */

static struct stalls_series *series_of(const struct stalls_counts *c,
                                       size_t comm, unsigned f)
{
    return &c->series[comm * STALLS_FUNCS + f];
}

static void note(void *arg, const struct jp_op *op, unsigned f)
{
    struct stalls_counts *c = arg;
    struct stalls_series *s = series_of(c, op->comm, f);

    s->first_sn = s->ops++ ? s->first_sn : op->sn;
    s->last_sn = op->sn;
    c->told++;
}

double stalls_warm_share(const struct jp_netserieses *series)
{
    double warm = 0, ops = 0;
    struct jp_warmup w;

    warmup_sum(series, &w);
    for (size_t i = 0; w.ops && i < series->n; i++)
        if (series->at[i].warm_ops) {
            warm += (double) series->at[i].warm_ops;
            ops += (double) series->at[i].ops;
        }
    return ops > 0 ? warm / ops : 0;
}

/* Leaves out the warm-up, and half as much again: its last operations may take
 * as long as others by chance. */
static void skip_warmup(struct stalls_counts *c, double share)
{
    for (size_t i = 0; i < c->r->n_comms * STALLS_FUNCS; i++) {
        struct stalls_series *s = &c->series[i];
        double span = (double) (s->last_sn - s->first_sn + 1);

        s->from_sn = s->first_sn + (uint64_t) ceil(1.5 * share * span);
    }
}

/* Sets the number of places of a step; 1: they are not known. */
static void find_periods(struct stalls_counts *c)
{
    uint64_t steps = 0;

    for (size_t i = 0; i < c->r->n_comms * STALLS_FUNCS; i++)
        if (c->series[i].ops)
            steps = stats_divisor(steps, c->series[i].last_sn -
                                             c->series[i].first_sn + 1);
    for (size_t i = 0; i < c->r->n_comms * STALLS_FUNCS; i++) {
        struct stalls_series *s = &c->series[i];
        uint64_t places = s->ops ? (s->last_sn - s->first_sn + 1) / steps : 1;

        s->places = places > PLACES ||
                            (double) steps < limits_get(JP_LIMIT_STALL_STEPS)
                        ? 1
                        : places;
    }
}

static struct stalls_places *places_of(const struct stalls_counts *c,
                                       size_t comm, unsigned f)
{
    return &c->places[c->kind_of[comm] * STALLS_FUNCS + f];
}

/* A kind has places if all of its communicators have as many. Returns 0, or -1:
 * no memory. */
static int make_places(struct stalls_counts *c)
{
    for (size_t i = 0; i < c->r->n_comms * STALLS_FUNCS; i++) {
        struct stalls_places *of =
            places_of(c, i / STALLS_FUNCS, i % STALLS_FUNCS);

        if (c->series[i].ops)
            of->n = !of->n || of->n == c->series[i].places ? c->series[i].places
                                                           : 1;
    }
    for (size_t i = 0; i < c->n_kinds * STALLS_FUNCS; i++) {
        struct stalls_places *of = &c->places[i];

        if (of->n > 1 && !(of->stops = calloc(of->n, sizeof(*of->stops))))
            return -1;
    }
    return 0;
}

/* --- waits for one rank alone --- */

struct walking {
    struct stalls_counts *c;
    stalls_each *each;
    void *arg;
    /* the previous operation with the same rank last, in one run of them */
    size_t rank;
    unsigned func, over;
};

static uint64_t place_of(const struct stalls_counts *c, size_t comm, unsigned f,
                         uint64_t sn)
{
    const struct stalls_places *places = places_of(c, comm, f);

    return places->n ? (sn - series_of(c, comm, f)->first_sn) % places->n : 0;
}

static void make_event(void *arg, const struct jp_op *op, unsigned f)
{
    struct walking *w = arg;
    const struct stalls_counts *c = w->c;
    const struct stalls_places *places = places_of(c, op->comm, f);
    uint64_t us = alone_us(op, c->r->comms[op->comm].n_ranks);
    struct stalls_event event = {
        .rank = c->p->comm_start[op->comm] + op->min_rank,
        .func = f,
        .sn = op->sn,
        .us = (double) us,
        .net_us = (double) op->exec_min_us,
        .gap_us = (double) (op->exec_second_us - op->exec_min_us),
        .over = over(us),
        .at_us = (double) (op->n_start ? op->start_max_us : op->dump_min_us)};

    if (op->min_rank == UINT32_MAX ||
        op->sn < series_of(c, op->comm, f)->from_sn) {
        w->rank = SIZE_MAX;
        return;
    }
    event.place = place_of(c, op->comm, f, op->sn);
    event.placed = places->stops != NULL;
    event.crowded = places->stops && places->stops[event.place] > places->most;
    if (w->rank == event.rank && w->func == f)
        event.again = w->over;
    w->rank = event.rank;
    w->func = f;
    w->over = event.over;
    w->each(w->arg, &event);
}

int stalls_events(struct stalls_counts *c, bool timed, stalls_each *each,
                  void *arg)
{
    const unsigned parts = OPS_SN | OPS_COUNTS | OPS_RANK | OPS_EXEC |
                           (timed ? OPS_DUMP_MIN | OPS_STARTS : 0);
    struct walking w = {.c = c, .each = each, .arg = arg, .rank = SIZE_MAX};

    return walk(c, parts, make_event, &w);
}

static void crowd(void *arg, const struct stalls_event *e)
{
    struct stalls_counts *c = arg;
    struct stalls_places *places =
        places_of(c, c->r->ranks[e->rank].comm, e->func);

    if (places->stops && e->over > e->again)
        places->stops[e->place]++;
}

/* Finds places with far more waits than the mean. */
static void find_crowded(struct stalls_counts *c)
{
    for (size_t i = 0; i < c->n_kinds * STALLS_FUNCS; i++) {
        struct stalls_places *places = &c->places[i];
        double sum = 0;

        for (uint64_t k = 0; places->stops && k < places->n; k++)
            sum += places->stops[k];
        if (places->stops)
            places->most = limits_get(JP_LIMIT_STALL_CROWD) * sum /
                           (double) places->n;
    }
}

static void count(void *arg, const struct stalls_event *e)
{
    struct stalls_counts *c = arg;
    const struct stalls_places *places =
        places_of(c, c->r->ranks[e->rank].comm, e->func);

    for (unsigned class = e->func; class < STALLS_CLASSES;
         class += STALLS_FUNCS) {
        struct stalls_tally *t = &c->tallies[e->rank * STALLS_CLASSES + class];

        if (class != e->func && (e->crowded || !places->stops))
            break;
        t->all_us += (float) e->us;
        t->most_us = fmaxf(t->most_us, (float) e->gap_us);
        for (unsigned k = 0; k < e->over; k++) {
            t->times[k] += k >= e->again;
            t->ops[k]++;
            t->us[k] += (float) e->us;
        }
    }
}

/* --- kinds, and the test --- */

static void add_to_kind(struct stalls_kind *kind, const struct stalls_tally *t,
                        size_t rank)
{
    double us = (double) t->most_us;

    kind->ranks++;
    for (unsigned k = 0; k < STALLS_LENGTHS; k++)
        kind->times[k] += t->times[k];
    if (us > kind->most_us) {
        kind->next_us = kind->most_us;
        kind->most_us = us;
        kind->most_rank = rank;
    } else if (us > kind->next_us) {
        kind->next_us = us;
    }
}

/* Counts one hypothesis per rank of a kind and length, unless another length,
 * or the class with crowded places, gives the same. */
static void count_hypotheses(struct stalls_counts *c)
{
    for (size_t i = 0; i < c->n_kinds * STALLS_CLASSES; i++) {
        const struct stalls_kind *kind = &c->kinds[i];
        bool again = i % STALLS_CLASSES >= STALLS_FUNCS;

        for (unsigned k = 0; k < STALLS_LENGTHS; k++)
            if (kind->times[k] &&
                (k + 1 == STALLS_LENGTHS ||
                 kind->times[k] != kind->times[k + 1]) &&
                !(again && kind->times[k] == kind[-STALLS_FUNCS].times[k]))
                c->tried += (double) kind->ranks;
    }
}

static int add_up(struct stalls_counts *c)
{
    c->kinds = calloc(c->n_kinds * STALLS_CLASSES + 1, sizeof(*c->kinds));
    if (!c->kinds)
        return -1;
    for (size_t i = 0; i < c->r->n_ranks; i++)
        for (unsigned class = 0; class < STALLS_CLASSES; class ++)
            add_to_kind(
                &c->kinds[c->kind_of[c->r->ranks[i].comm] * STALLS_CLASSES +
                          class],
                stalls_tally(c, i, class), i);
    count_hypotheses(c);
    return 0;
}

/* Returns the longest delay by another rank of the kind. */
static double others_us(const struct stalls_kind *kind, size_t rank)
{
    return kind->most_rank == rank ? kind->next_us : kind->most_us;
}

/* Returns the number of stalls of all ranks of the rank's communicator. */
static uint64_t comm_times(const struct stalls_counts *c, size_t rank,
                           unsigned class, unsigned k)
{
    const size_t *at = &c->p->comm_start[c->r->ranks[rank].comm];
    uint64_t times = 0;

    for (size_t i = at[0]; i < at[1]; i++)
        times += stalls_tally(c, i, class)->times[k];
    return times;
}

double stalls_chance(const struct stalls_counts *c, size_t rank, unsigned class,
                     unsigned k)
{
    const struct stalls_kind *kind = stalls_kind(c, rank, class);
    uint32_t times = stalls_tally(c, rank, class)->times[k];
    uint32_t n = c->r->comms[c->r->ranks[rank].comm].n_ranks;
    double longer = length_us(k) / fmax(others_us(kind, rank), 1);
    double in_kind =
        stats_binomial_tail(times, kind->times[k], 1 / (double) kind->ranks);
    double in_comm = stats_binomial_tail(times, comm_times(c, rank, class, k),
                                         1 / (double) n);

    return 2 * c->tried * fmin(in_kind, in_comm) *
           pow(fmax(longer, 1),
               -limits_get(JP_LIMIT_STALL_TAIL) * (double) times);
}

int stalls_counts_init(const struct jp_result *r, const struct jp_processes *p,
                       const struct jp_netserieses *series,
                       struct stalls_counts *c)
{
    *c = (struct stalls_counts){.r = r, .p = p};
    c->tallies = calloc(r->n_ranks * STALLS_CLASSES + 1, sizeof(*c->tallies));
    c->kind_of = calloc(r->n_comms + 1, sizeof(*c->kind_of));
    c->series = calloc(r->n_comms * STALLS_FUNCS + 1, sizeof(*c->series));
    if (!c->tallies || !c->kind_of || !c->series ||
        likes_number(r, likes_by_work, c->kind_of, &c->n_kinds) < 0)
        return -1;
    c->places = calloc(c->n_kinds * STALLS_FUNCS + 1, sizeof(*c->places));
    if (!c->places || walk(c, OPS_SN | OPS_COUNTS, note, c) < 0)
        return -1;
    skip_warmup(c, stalls_warm_share(series));
    find_periods(c);
    if (make_places(c) < 0 || stalls_events(c, false, crowd, c) < 0)
        return -1;
    find_crowded(c);
    if (stalls_events(c, false, count, c) < 0 || count_roots(c) < 0)
        return -1;
    return add_up(c);
}

void stalls_counts_fini(struct stalls_counts *c)
{
    for (size_t i = 0; c->places && i < c->n_kinds * STALLS_FUNCS; i++)
        free(c->places[i].stops);
    free(c->places);
    free(c->tallies);
    free(c->kind_of);
    free(c->kinds);
    free(c->series);
    free(c->roots_us);
    *c = (struct stalls_counts){0};
}
