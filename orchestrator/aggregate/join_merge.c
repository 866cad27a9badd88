/* join_merge.c - fold one thread's join into another's. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/join_parts.h"

/* What the numbers of `from` are in `into`. */
struct mapping {
    struct join *into, *from;
    uint32_t *funcs, *comms;
};

/* Rows of one block into one of as much room; two sizes for one row are left to
 * the ordered join. */
static void fold_rows(struct join *into, struct join_block *to,
                      const struct join_block *from)
{
    for (unsigned i = 0; i < from->room; i++) {
        if (!from->rows[i].n)
            continue;
        if (to->rows[i].n && to->rows[i].bytes != from->rows[i].bytes) {
            into->conflict = true;
            continue;
        }
        join_row_fold(&to->rows[i], &from->rows[i]);
        if (from->stamps)
            join_stamp_fold(&to->stamps[i], &from->stamps[i]);
    }
}

static int merge_series(struct mapping *m, struct join_series *to,
                        struct join_series *from)
{
    for (size_t i = 0; i < blockmap_slots(&from->blocks); i++) {
        struct join_block *block = (void *) from->blocks.slots[i], *mine;

        if (!block)
            continue;
        mine = blockmap_find(&to->blocks, block->number);
        if (!mine) {
            if (blockmap_add(&to->blocks, block) < 0)
                return -1;
            from->blocks.slots[i] = NULL; /* handed over */
            join_move_block(m->into, m->from, block);
            continue;
        }
        if (!join_row_get(m->into, mine, block->room - 1) ||
            (block->stamps && join_stamps_get(m->into, mine) < 0))
            return -1;
        fold_rows(m->into, mine, block);
        join_block_destroy(block);
        from->blocks.slots[i] = NULL;
    }
    blockmap_fini(&from->blocks);
    return 0;
}

/* A communicator that one side closed belongs to it alone; else records of it
 * came late. */
static void merge_closed(struct mapping *m, struct join_comm *to,
                         const struct join_comm *from)
{
    if ((from->closed && to->n_series) || (to->closed && from->n_series)) {
        m->into->conflict = true;
        m->into->late = true;
    } else if (from->closed) {
        to->closed = true;
        to->sums = from->sums;
    }
}

static int merge_comms(struct mapping *m)
{
    for (uint32_t i = 0; i < m->from->n_comms; i++) {
        struct join_comm *from = m->from->comms[i], *to;
        const char *name = from->name ? from->name : "";

        m->comms[i] = join_comm_get(m->into, from->id, strlen(from->id),
                                    from->n_ranks, from->nnodes);
        if (m->comms[i] == KEYMAP_NONE)
            return -1;
        to = m->into->comms[m->comms[i]];
        if (join_comm_name(to, name, strlen(name)) < 0)
            return -1;
        merge_closed(m, to, from);
        to->records += from->records;
        to->p2p_records += from->p2p_records;
        to->gaps_lost |= from->gaps_lost;
        if (from->counted)
            join_counts_fold(to, &from->counts);
        for (uint32_t k = 0; k < from->n_series; k++) {
            struct join_series *series =
                join_series_get(m->into, to, m->funcs[from->series[k]->func]);

            if (!series || merge_series(m, series, from->series[k]) < 0)
                return -1;
        }
    }
    return 0;
}

static int merge_times(struct join *into, struct join_lane_block *to,
                       const struct join_lane_block *from)
{
    uint64_t seen = from->seen;

    for (; seen; seen &= seen - 1) {
        unsigned k = (unsigned) __builtin_ctzll(seen);

        if (join_time_set(into, to, k, join_time(from, k)) < 0)
            return -1;
    }
    return 0;
}

static int merge_lane(struct mapping *m, struct join_lane *to,
                      struct join_lane *from)
{
    struct join *into = m->into;

    for (size_t i = 0; i < blockmap_slots(&from->blocks); i++) {
        struct join_lane_block *block = (void *) from->blocks.slots[i], *mine;

        if (!block)
            continue;
        mine = blockmap_find(&to->blocks, block->number);
        if (!mine) {
            if (blockmap_add(&to->blocks, block) < 0)
                return -1;
            from->blocks.slots[i] = NULL; /* handed over */
            join_move_lane_block(into, m->from, from->journal, block);
            continue;
        }
        if (mine->seen & block->seen)
            into->conflict = true;
        if (from->journal && !atomic_load(&into->budget->journal_off) &&
            merge_times(into, mine, block) < 0)
            return -1;
        mine->seen |= block->seen;
    }
    return 0;
}

/* A communicator is closed in one join only: the other one has none. */
static void merge_slices(struct join_member *to, struct join_member *from)
{
    if (to->slices || !from->slices)
        return;
    to->slices = from->slices;
    from->slices = NULL;
}

static int merge_member(struct mapping *m, struct join_member *from)
{
    uint32_t comm = m->comms[from->comm];
    struct join_member *to = join_member_get(m->into, comm, from->rank);
    const char *host = from->host ? from->host : "";

    if (to && to->host)
        to->many_files = true; /* two threads never share a file */
    if (!to || join_member_process(to, host, strlen(host), from->pid) < 0)
        return -1;
    if (join_touch(m->into, to) < 0)
        return -1;
    merge_slices(to, from);
    to->exec_us += from->exec_us;
    to->last_ops += from->last_ops;
    to->caused_us += from->caused_us;
    to->shared |= from->shared;
    to->many_files |= from->many_files;
    to->records += from->records;
    to->p2p_records += from->p2p_records;
    if (from->p2p_last > to->p2p_last)
        to->p2p_last = from->p2p_last;
    if (join_rates_merge(m->into, &to->rates, &from->rates) < 0)
        return -1;
    for (uint32_t i = 0; i < from->n_lanes; i++) {
        struct join_lane *lane = from->lanes[i], *mine;
        uint32_t func = m->funcs[lane->func];
        struct join_series *series = NULL;

        if (lane->series &&
            !(series = join_series_get(m->into, m->into->comms[comm], func)))
            return -1;
        mine = join_lane_get(m->into, to, series, func);
        if (!mine || merge_lane(m, mine, lane) < 0)
            return -1;
    }
    return 0;
}

static int merge_p2p(struct mapping *m)
{
    for (uint32_t i = 0; i < m->from->n_p2p; i++) {
        const struct join_p2p *from = m->from->p2p[i];
        struct join_p2p *to = join_p2p_get(m->into, m->comms[from->comm],
                                           from->src, from->dst, from->recv);

        if (!to || (join_p2p_has_rates(m->into, to) &&
                    join_rates_merge(m->into, &to->rates, &from->rates) < 0))
            return -1;
        to->count += from->count;
        to->bytes = join_sum(to->bytes, from->bytes);
        to->exec_us = join_sum(to->exec_us, from->exec_us);
        to->busbw_sum = join_sum(to->busbw_sum, from->busbw_sum);
        to->n_busbw += from->n_busbw;
    }
    return 0;
}

static int merge_strays(struct mapping *m)
{
    for (size_t i = 0; i < m->from->n_strays; i++) {
        struct join_stray stray = m->from->strays[i];

        stray.comm = m->comms[stray.comm];
        stray.func = m->funcs[stray.func];
        if (join_stray_add(m->into, &stray) < 0)
            return -1;
    }
    return 0;
}

static int merge_ops(struct mapping *m)
{
    if (!m->into->ops && !(m->into->ops = ops_create()))
        return -1;
    return ops_take(m->into->ops, m->from->ops, m->comms, m->funcs);
}

static int merge_all(struct mapping *m)
{
    for (uint32_t i = 0; i < m->from->n_funcs; i++) {
        const char *name = m->from->funcs[i];

        m->funcs[i] = join_func_get(m->into, name, strlen(name));
        if (m->funcs[i] == KEYMAP_NONE)
            return -1;
    }
    if (merge_comms(m) < 0)
        return -1;
    for (uint32_t i = 0; i < m->from->n_members; i++)
        if (merge_member(m, m->from->members[i]) < 0)
            return -1;
    if (merge_p2p(m) < 0 || merge_strays(m) < 0)
        return -1;
    return m->from->ops ? merge_ops(m) : 0;
}

enum join_status join_merge(struct join *into, struct join *from)
{
    struct mapping m = {into, from, NULL, NULL};
    enum join_status status = JOIN_NO_MEMORY;

    m.funcs = calloc(from->n_funcs + 1, sizeof(*m.funcs));
    m.comms = calloc(from->n_comms + 1, sizeof(*m.comms));
    if (!m.funcs || !m.comms)
        goto out;
    if (merge_all(&m) < 0) {
        into->conflict |= into->over; /* the bound: joined again in order */
        status = into->over ? JOIN_LEFT_OUT : JOIN_NO_MEMORY;
        goto out;
    }
    into->coll_records += from->coll_records;
    into->p2p_records += from->p2p_records;
    into->duplicates += from->duplicates;
    into->nan_busbw += from->nan_busbw;
    into->untimed += from->untimed;
    into->left_out += from->left_out;
    into->conflict |= from->conflict;
    into->late |= from->late;
    status = JOIN_OK;
out:
    free(m.funcs);
    free(m.comms);
    return status;
}
