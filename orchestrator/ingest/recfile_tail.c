/* recfile_tail.c - the last state that a recorder's file tells. */
#include "orchestrator/ingest/recfile_tail.h"

#include <stdlib.h>
#include <string.h>

static void add(uint64_t *sum, uint64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = UINT64_MAX;
}

void recfile_sum(const struct recfile_comm *comm, struct jpr_counts *sum)
{
    *sum = (struct jpr_counts){0};
    for (size_t i = 0; i < comm->n_counts; i++) {
        add(&sum->produced, comm->counts[i].counts.produced);
        add(&sum->written, comm->counts[i].counts.written);
        add(&sum->lost, comm->counts[i].counts.lost);
        add(&sum->left_out, comm->counts[i].counts.left_out);
    }
}

/* NCCL has a dozen functions; a file that names more is not worth memory. */
#define MAX_COUNTS 64

/* Replaces the row of a (communicator, function). */
static int take_row(struct recfile_comm *comm,
                    const struct jpr_comm_counts *row)
{
    struct recfile_count *more, one = {.counts = row->counts};

    recfile_copy(one.func, sizeof(one.func), row->func);
    for (size_t i = 0; i < comm->n_counts; i++)
        if (!strcmp(comm->counts[i].func, one.func)) {
            comm->counts[i] = one;
            return 0;
        }
    if (comm->n_counts == MAX_COUNTS)
        return 0;
    more = reallocarray(comm->counts, comm->n_counts + 1, sizeof(*more));
    if (!more)
        return -1;
    comm->counts = more;
    more[comm->n_counts++] = one;
    return 0;
}

static int take_rows(struct jp_recfile *file, const struct jpr_counters *c)
{
    for (uint64_t i = 0; i < c->n_rows; i++) {
        uint32_t comm = c->rows[i].comm;

        if (comm < file->n_comms && file->comms[comm] &&
            take_row(file->comms[comm], &c->rows[i]) < 0)
            return -1;
    }
    return 0;
}

/* Adds calls of a function to the sums over all communicators. */
static void add_unseen(struct recfile_tail *tail, const char *func,
                       uint64_t calls, uint64_t before)
{
    uint32_t i = 0;

    tail->unseen_calls += calls - before; /* modulo 2^64, as it may sink */
    while (i < tail->n_unseen && strcmp(tail->unseen[i].func, func) != 0)
        i++;
    if (i == RECFILE_UNSEEN)
        return;
    if (i == tail->n_unseen) {
        recfile_copy(tail->unseen[i].func, sizeof(tail->unseen[i].func), func);
        tail->unseen[i].calls = 0;
        tail->n_unseen++;
    }
    tail->unseen[i].calls += calls - before;
}

static int take_unseen(struct recfile_tail *tail, struct recfile_comm *comm,
                       const struct jpr_unseen *row)
{
    uint64_t calls = row->calls < UINT32_MAX ? row->calls : UINT32_MAX;
    struct recfile_unseen *more, one = {.calls = calls};

    recfile_copy(one.func, sizeof(one.func), row->func);
    for (size_t i = 0; i < comm->n_unseen; i++)
        if (!strcmp(comm->unseen[i].func, one.func)) {
            add_unseen(tail, one.func, calls, comm->unseen[i].calls);
            comm->unseen[i].calls = calls;
            return 0;
        }
    if (comm->n_unseen == MAX_COUNTS)
        return 0;
    more = reallocarray(comm->unseen, comm->n_unseen + 1, sizeof(*more));
    if (!more)
        return -1;
    comm->unseen = more;
    more[comm->n_unseen++] = one;
    add_unseen(tail, one.func, calls, 0);
    return 0;
}

static int take_all_unseen(struct jp_recfile *file,
                           const struct jpr_counters *c)
{
    for (uint64_t i = 0; i < c->n_unseen; i++) {
        uint32_t comm = c->unseen[i].comm;

        if (comm < file->n_comms && file->comms[comm] &&
            take_unseen(&file->tail, file->comms[comm], &c->unseen[i]) < 0)
            return -1;
    }
    return 0;
}

static void set_oldest(struct recfile_tail *tail)
{
    tail->oldest_ns = !tail->fly_ns                 ? tail->cut_ns
                      : !tail->cut_ns               ? tail->fly_ns
                      : tail->fly_ns < tail->cut_ns ? tail->fly_ns
                                                    : tail->cut_ns;
}

/* The file tells of this time. */
static void take_time(struct jp_recfile *file, uint64_t mono_ns)
{
    uint64_t at = recfile_wall_ns(file, mono_ns);

    if (at > file->tail.last_ns)
        file->tail.last_ns = at;
}

static uint64_t earlier(const struct jp_recfile *file, uint64_t before_ns,
                        const struct jpr_op *op)
{
    uint64_t start = recfile_wall_ns(file, op->enqueue_start_mono_ns);

    return start && (!before_ns || start < before_ns) ? start : before_ns;
}

void recfile_tail_inflight(struct jp_recfile *file,
                           const struct jpr_inflight *in)
{
    struct recfile_tail *tail = &file->tail;

    if (in->at_mono_ns != tail->at_mono_ns)
        tail->fly_ns = 0;
    tail->at_mono_ns = in->at_mono_ns;
    take_time(file, in->at_mono_ns);
    if (!in->none)
        tail->fly_ns = earlier(file, tail->fly_ns, &in->op);
    set_oldest(tail);
}

void recfile_tail_op(struct jp_recfile *file, const struct jpr_op *op)
{
    if (!op->incomplete || op->overtaken)
        return;
    file->tail.cut_short++;
    file->tail.cut_ns = earlier(file, file->tail.cut_ns, op);
    set_oldest(&file->tail);
}

static void take_counters(struct recfile_tail *tail,
                          const struct jpr_counters *c)
{
    tail->counted = true;
    tail->final = c->final;
    tail->clocks = c->clocks;
    tail->in_flight = c->in_flight;
    tail->lost_steps = c->lost_steps;
    tail->lost_comms = c->lost_comms;
    tail->by_ce = c->kinds[JPR_CE].produced;
    tail->counts = (struct jpr_counts){0};
    for (int i = 0; i < JPR_N_OP_KINDS; i++) {
        add(&tail->counts.produced, c->kinds[i].produced);
        add(&tail->counts.written, c->kinds[i].written);
        add(&tail->counts.lost, c->kinds[i].lost);
        add(&tail->counts.left_out, c->kinds[i].left_out);
    }
    add(&tail->counts.produced, c->lost_foreign);
    add(&tail->counts.lost, c->lost_foreign);
}

static void take_cost(struct jp_recfile *file, const struct jpr_counters *c)
{
    file->tail.cost = c->cost;
    file->tail.wall_ns = c->clocks.mono_ns > file->clocks.mono_ns
                             ? c->clocks.mono_ns - file->clocks.mono_ns
                             : 0;
}

int recfile_tail_counters(struct jp_recfile *file,
                          const struct jpr_counters *counters)
{
    take_counters(&file->tail, counters);
    if (counters->cost.told)
        take_cost(file, counters);
    if (!counters->in_flight) { /* all of the last snapshot has ended */
        file->tail.fly_ns = 0;
        set_oldest(&file->tail);
    }
    take_time(file, counters->clocks.mono_ns);
    return take_rows(file, counters) < 0 ? -1 : take_all_unseen(file, counters);
}
