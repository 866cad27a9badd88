/* Produced, written, lost, left out: the writer's side. */
#include "plugins/nccl_recorder/rec_tally.h"

#include <string.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_pack.h"
#include "plugins/nccl_recorder/rec_sink.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_thread.h"
#include "plugins/nccl_recorder/rec_env.h"
#include "plugins/nccl_recorder/rec_net.h"

/* More rows than this wait for the next flush: a row is 60 bytes at most. */
enum { MAX_ROWS = 1024, MAX_UNSEEN = 256, MAX_DOUBTS = 256 };
/* Between a call and its operation lies the end of the program's group: calls
 * are told as unseen when they were at two looks so far apart. */
#define UNSEEN_NS 500000000ULL

static struct {
    struct jpr_counts gone[JPR_N_OP_KINDS]; /* of released communicators */
    struct jpr_comm_counts rows[MAX_ROWS];
    struct jpr_unseen unseen[MAX_UNSEEN];
    struct jpr_doubts doubts[MAX_DOUBTS];
    uint64_t looked_ns; /* for calls without operation */
    uint64_t told_sum;  /* of all numbers in the last block */
    bool told_final;
} t;

void rec_tally_init(void)
{
    memset(&t, 0, sizeof(t));
}

static struct jp_rec_count *count_of(struct jp_rec_who who)
{
    return &rec_comm_at(who.comm)->counts[who.kind][who.func];
}

void rec_tally_written(struct jp_rec_who who)
{
    count_of(who)->written++;
}

void rec_tally_left_out(struct jp_rec_who who)
{
    count_of(who)->left_out++;
}

void rec_tally_take_back(struct jp_rec_who who, bool on_purpose)
{
    struct jp_rec_count *count = count_of(who);

    count->written--;
    if (on_purpose)
        count->left_out++;
    else
        atomic_fetch_add_explicit(&count->lost, 1, memory_order_relaxed);
}

static void add_counts(struct jpr_counts *sum, const struct jp_rec_count *count)
{
    /* produced last: what is accounted for was produced before */
    sum->lost += atomic_load_explicit(&count->lost, memory_order_acquire);
    sum->written += count->written;
    sum->left_out += count->left_out;
    sum->produced +=
        atomic_load_explicit(&count->produced, memory_order_acquire);
}

static uint64_t sum_of(const struct jpr_counts *c)
{
    return c->produced + c->written + c->lost + c->left_out;
}

/* The row of a function over all kinds; false when it has no numbers. */
static bool fill_row(const struct jp_rec_comm *comm, unsigned func,
                     struct jpr_comm_counts *row)
{
    int kind;

    *row = (struct jpr_comm_counts){.comm = comm->about.index,
                                    .func = rec_names_func_text(func),
                                    .finalized = atomic_load(&comm->finalized)};
    for (kind = 0; kind < JPR_N_OP_KINDS; kind++)
        add_counts(&row->counts, &comm->counts[kind][func]);
    return row->counts.produced > 0;
}

static void emit(struct jpr_counters *counters, bool final)
{
    struct jpr_out *out = rec_blocks_payload();

    counters->final = final;
    jpr_put_counters(out, counters);
    rec_blocks_add(JPR_BLOCK_COUNTERS, out->bytes, out->full ? 0 : out->used);
    counters->n_rows = 0;
    counters->n_unseen = 0;
    counters->n_doubts = 0;
}

static void add_rows(struct jpr_counters *counters, struct jp_rec_comm *comm,
                     bool all)
{
    unsigned func;

    for (func = 0; func < JP_REC_FUNCS; func++) {
        struct jpr_comm_counts row;
        uint64_t sum;

        if (!fill_row(comm, func, &row))
            continue;
        /* a row is written again when its communicator is finalized */
        sum = sum_of(&row.counts) * 2 + row.finalized;
        if (!all && sum == comm->told_sums[func])
            continue;
        if (counters->n_rows == MAX_ROWS)
            emit(counters, false);
        comm->told_sums[func] = sum;
        t.rows[counters->n_rows++] = row;
    }
}

static uint64_t unseen_of(const struct jp_rec_comm *comm, unsigned func)
{
    int64_t n = atomic_load_explicit(&comm->unseen[func], memory_order_relaxed);

    return n > 0 ? (uint64_t) n : 0;
}

/* Adds what changed; `all` is the end of it: nothing is still to come. */
static void add_unseen(struct jpr_counters *counters, struct jp_rec_comm *comm,
                       bool all, bool look)
{
    bool over = all || atomic_load(&comm->finalized);
    unsigned func;

    for (func = 0; func < JP_REC_FUNCS && (look || over); func++) {
        uint64_t now = unseen_of(comm, func);
        uint64_t n = now;

        if (!over && comm->looked_unseen[func] < now)
            n = comm->looked_unseen[func];
        if (look)
            comm->looked_unseen[func] = now;
        if (n == comm->told_unseen[func] && !(all && n > 0))
            continue;
        if (counters->n_unseen == MAX_UNSEEN)
            emit(counters, false);
        comm->told_unseen[func] = n;
        t.unseen[counters->n_unseen++] = (struct jpr_unseen){
            comm->about.index, rec_names_func_text(func), n};
    }
}

static struct jpr_doubts doubts_of(const struct jp_rec_comm *comm)
{
    const struct jp_rec_trust *trust = &comm->trust;

    return (struct jpr_doubts){
        .comm = comm->about.index,
        .reasons = atomic_load_explicit(&trust->reasons, memory_order_relaxed),
        .unsure = atomic_load_explicit(&trust->n_unsure, memory_order_relaxed),
        .refused =
            atomic_load_explicit(&trust->n_refused, memory_order_relaxed),
    };
}

static uint64_t sum_of_doubts(const struct jpr_doubts *doubts)
{
    return (doubts->unsure + doubts->refused) * (JPR_DOUBTS + 1) +
           doubts->reasons;
}

static void add_doubts(struct jpr_counters *counters, struct jp_rec_comm *comm,
                       bool all)
{
    struct jpr_doubts doubts = doubts_of(comm);
    uint64_t sum = sum_of_doubts(&doubts);

    if (sum == comm->told_doubts && !(all && sum > 0))
        return;
    if (counters->n_doubts == MAX_DOUBTS)
        emit(counters, false);
    comm->told_doubts = sum;
    t.doubts[counters->n_doubts++] = doubts;
}

static void sum_kinds(struct jpr_counters *counters)
{
    unsigned i;
    int kind, func;

    memcpy(counters->kinds, t.gone, sizeof(t.gone));
    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        for (kind = 0; rec_comm_used(comm) && kind < JPR_N_OP_KINDS; kind++) {
            for (func = 0; func < JP_REC_FUNCS; func++)
                add_counts(&counters->kinds[kind], &comm->counts[kind][func]);
        }
    }
}

static uint64_t sum_of_all(const struct jpr_counters *c)
{
    return sum_of(&c->kinds[JPR_COLL]) + sum_of(&c->kinds[JPR_P2P]) +
           sum_of(&c->kinds[JPR_CE]) + c->lost_steps + c->lost_comms +
           c->lost_foreign;
}

/* Rows of all communicators that the file knows. */
static void add_comms(struct jpr_counters *counters, bool all)
{
    bool look = counters->clocks.mono_ns - t.looked_ns > UNSEEN_NS;
    unsigned i;

    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        if (!rec_comm_used(comm) || !comm->told)
            continue;
        add_rows(counters, comm, all);
        add_unseen(counters, comm, all, look);
        add_doubts(counters, comm, all);
    }
    if (look)
        t.looked_ns = counters->clocks.mono_ns;
}

/* What is accounted for nowhere else; exact in a final block too, though a
 * thread may have begun an operation after it was looked for. */
static uint64_t missing(const struct jpr_counters *counters)
{
    uint64_t n = 0;
    int kind;

    for (kind = 0; kind < JPR_N_OP_KINDS; kind++) {
        const struct jpr_counts *c = &counters->kinds[kind];

        n += c->produced - c->written - c->lost - c->left_out;
    }
    return n;
}

enum jp_rec_tally rec_tally_add(uint64_t in_flight, bool final, bool anyway)
{
    struct jpr_counters counters = {
        .in_flight = in_flight,
        .lost_steps = rec_net_lost(),
        .lost_comms = rec_comm_lost(),
        .lost_foreign = rec_comm_lost_foreign(),
        .rows = t.rows,
        .unseen = t.unseen,
        .doubts = t.doubts,
    };
    bool changed;

    rec_env_clocks(&counters.clocks);
    rec_cost_sum(&counters.cost);
    add_comms(&counters, final && !t.told_final);
    sum_kinds(&counters);
    if (final)
        counters.in_flight = missing(&counters);
    changed = counters.n_rows > 0 || counters.n_unseen > 0 ||
              counters.n_doubts > 0 || sum_of_all(&counters) != t.told_sum ||
              final != t.told_final;
    if (!changed && !anyway)
        return JP_REC_TALLY_NONE;
    t.told_sum = sum_of_all(&counters);
    t.told_final = final;
    emit(&counters, final);
    return changed ? JP_REC_TALLY_CHANGED : JP_REC_TALLY_BEAT;
}

/* All of it must be written again. */
static void forget_told(struct jp_rec_comm *comm)
{
    unsigned func;

    memset(comm->told_sums, 0, sizeof(comm->told_sums));
    comm->told_doubts = 0;
    for (func = 0; func < JP_REC_FUNCS; func++) {
        if (comm->told_unseen[func] > 0)
            comm->told_unseen[func] = UINT64_MAX;
    }
}

void rec_tally_told(bool in_file)
{
    unsigned i;

    if (!in_file) {
        t.told_sum = 0;
        t.told_final = false;
    }
    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        if (!rec_comm_used(comm))
            continue;
        if (in_file)
            comm->in_file = comm->told;
        else
            forget_told(comm);
        comm->told = comm->in_file;
    }
}

/* Everything that was produced is accounted for, and the file knows. */
static bool is_done(const struct jp_rec_comm *comm, bool anyway)
{
    const struct jpr_doubts doubts = doubts_of(comm);
    unsigned func;

    if (!anyway && comm->told_doubts != sum_of_doubts(&doubts))
        return false;
    for (func = 0; func < JP_REC_FUNCS; func++) {
        struct jpr_comm_counts row;

        if (!anyway && comm->told_unseen[func] != unseen_of(comm, func))
            return false;
        if (!fill_row(comm, func, &row))
            continue;
        if (row.counts.produced !=
            row.counts.written + row.counts.lost + row.counts.left_out)
            return false;
        if (!anyway && comm->told_sums[func] != sum_of(&row.counts) * 2 + 1)
            return false;
    }
    return true;
}

void rec_tally_release(bool anyway)
{
    unsigned i;
    int kind, func;

    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        if (!rec_comm_used(comm) || !atomic_load(&comm->finalized) ||
            !is_done(comm, anyway))
            continue;
        for (kind = 0; kind < JPR_N_OP_KINDS; kind++) {
            for (func = 0; func < JP_REC_FUNCS; func++)
                add_counts(&t.gone[kind], &comm->counts[kind][func]);
        }
        rec_comm_release(comm);
    }
}
