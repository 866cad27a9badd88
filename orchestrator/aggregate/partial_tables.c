/* partial_tables.c - a partial's functions, communicators, members and what
 * they sent point to point. */
#include <string.h>

#include "orchestrator/aggregate/partial_parts.h"

void partial_put_counts(struct jpr_out *out, const struct jpr_counts *counts)
{
    jpr_put_u64(out, counts->produced);
    jpr_put_u64(out, counts->written);
    jpr_put_u64(out, counts->lost);
    jpr_put_u64(out, counts->left_out);
}

static void put_rates(struct jpr_out *out, const struct join_rates *rates)
{
    uint32_t next = 0;

    jpr_put_u64(out, rates->n);
    for (uint32_t i = 0; i < rates->n; i++) {
        jpr_put_u64(out, rates->at[i].bucket - next);
        jpr_put_u64(out, rates->at[i].count);
        next = rates->at[i].bucket + 1;
    }
}

static void put_member(struct jpr_out *out, const struct join_member *m)
{
    jpr_put_u64(out, m->rank);
    jpr_put_text(out, m->host);
    jpr_put_i64(out, m->pid);
    jpr_put_u64(out, m->shared | (unsigned) m->many_files << 1);
    jpr_put_u64(out, m->p2p_records);
    jpr_put_u64(out, m->p2p_last);
    put_rates(out, &m->rates);
}

static void put_comm(struct jpr_out *out, const struct partial_out *w,
                     uint32_t at)
{
    const struct join_comm *c = w->join->comms[at];

    jpr_put_text(out, c->id);
    jpr_put_text(out, c->name);
    jpr_put_u64(out, c->n_ranks);
    jpr_put_u64(out, c->nnodes);
    jpr_put_u64(out, c->gaps_lost);
    jpr_put_u64(out, c->counted);
    if (c->counted)
        partial_put_counts(out, &c->counts);
    jpr_put_u64(out, w->first[at + 1] - w->first[at]);
    for (uint32_t i = w->first[at]; i < w->first[at + 1]; i++)
        put_member(out, w->members[i]);
}

static void put_tables(struct jpr_out *out, const void *arg)
{
    const struct partial_out *w = arg;
    const struct join *join = w->join;

    jpr_put_u64(out, join->n_funcs);
    for (uint32_t i = 0; i < join->n_funcs; i++)
        jpr_put_text(out, join->funcs[i]);
    jpr_put_u64(out, join->n_comms);
    for (uint32_t i = 0; i < join->n_comms && !out->full; i++)
        put_comm(out, w, i);
    jpr_put_u64(out, join->duplicates);
    jpr_put_u64(out, join->nan_busbw);
    jpr_put_u64(out, join->untimed);
}

int partial_put_tables(struct partial_out *w)
{
    return partial_put_block(w, PARTIAL_TABLES, put_tables, w);
}

static void put_pairs(struct jpr_out *out, const void *arg)
{
    const struct join *join = arg;

    jpr_put_u64(out, join->n_p2p);
    for (uint32_t i = 0; i < join->n_p2p; i++) {
        static const struct join_rates none;
        const struct join_p2p *p = join->p2p[i];

        jpr_put_u64(out, p->comm);
        jpr_put_u64(out, p->src);
        jpr_put_u64(out, p->dst);
        jpr_put_u64(out, p->recv);
        jpr_put_u64(out, p->count);
        jpr_put_u64(out, p->bytes);
        jpr_put_u64(out, p->exec_us);
        jpr_put_u64(out, p->busbw_sum);
        jpr_put_u64(out, p->n_busbw);
        put_rates(out, join_p2p_has_rates(join, p) ? &p->rates : &none);
    }
}

int partial_put_pairs(struct partial_out *w)
{
    return w->join->n_p2p
               ? partial_put_block(w, PARTIAL_PAIRS, put_pairs, w->join)
               : 0;
}

struct lane_bits {
    uint32_t member;
    const struct join_lane *lane;
    void **blocks; /* sorted */
};

static void put_lane_bits(struct jpr_out *out, const void *arg)
{
    const struct lane_bits *bits = arg;
    size_t n = bits->lane->blocks.n;
    uint64_t next = 0;

    jpr_put_u64(out, bits->member);
    jpr_put_u64(out, bits->lane->func);
    jpr_put_u64(out, n);
    for (size_t i = 0; i < n; i++) {
        const struct join_lane_block *block = bits->blocks[i];

        jpr_put_u64(out, block->number - next);
        jpr_put_u64(out, ~block->seen); /* mostly all are seen */
        next = block->number + 1;
    }
}

int partial_put_bits(struct partial_out *w)
{
    for (uint32_t i = 0; i < w->join->n_members; i++)
        for (uint32_t k = 0; k < w->members[i]->n_lanes; k++) {
            struct join_lane *lane = w->members[i]->lanes[k];
            struct lane_bits bits = {.member = i, .lane = lane};

            if (lane->series)
                continue;
            bits.blocks = blockmap_sort(&lane->blocks);
            if (partial_put_block(w, PARTIAL_BITS, put_lane_bits, &bits) < 0)
                return -1;
        }
    return 0;
}

static void put_strays(struct jpr_out *out, const void *arg)
{
    const struct partial_out *w = arg;

    jpr_put_u64(out, w->join->n_strays);
    for (size_t i = 0; i < w->join->n_strays && !out->full; i++) {
        const struct join_stray *s = &w->join->strays[i];
        uint64_t key = (uint64_t) s->comm << 32 | s->rank;
        uint32_t at = keymap_find(&w->join->member_map, key, 0);

        jpr_put_u64(out, w->place[at]);
        jpr_put_u64(out, s->func);
        jpr_put_u64(out, s->sn);
        jpr_put_u64(out, s->row.bytes);
        jpr_put_u64(out, s->row.exec_sum);
        jpr_put_u64(out, s->row.busbw_sum);
        jpr_put_u64(out, s->row.n_busbw);
        jpr_put_u64(out, s->row.dump_min);
        jpr_put_u64(out, s->stamp.start_min);
        jpr_put_u64(out, s->stamp.end_max);
    }
}

int partial_put_strays(struct partial_out *w)
{
    return w->join->n_strays
               ? partial_put_block(w, PARTIAL_STRAYS, put_strays, w)
               : 0;
}
