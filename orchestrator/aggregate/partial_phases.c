/* partial_phases.c - pack the phases of operations, and read them.
 *
 * Most programs give none, so phases are no column of the operations: they
 * follow them in blocks of their own. The first one has the names and the
 * phases of strays, then each series that has phases follows. A run is of
 * operations that follow each other in number and have one phase. */
#include <stdlib.h>

#include "orchestrator/aggregate/partial_parts.h"

/* A phase as it is written: 0 none, 1 several, then the numbers from 1 on. */
static uint64_t code_of(uint32_t phase)
{
    return !phase ? 0 : phase == JOIN_SEVERAL ? 1 : phase + UINT64_C(1);
}

/* --- writing -------------------------------------------------------------- */

/* The payload of the first block. */
static void put_names(struct jpr_out *out, const void *arg)
{
    const struct join *join = arg;
    uint64_t n = 0;

    while (n < JP_PHASES && atomic_load(&join->budget->phases[n]))
        n++;
    jpr_put_u64(out, 0);
    jpr_put_u64(out, n);
    for (uint64_t i = 0; i < n; i++)
        jpr_put_text(out, atomic_load(&join->budget->phases[i]));
    for (size_t i = 0; i < join->n_strays; i++)
        jpr_put_u64(out, code_of(join->strays[i].stamp.phase));
}

/* A series with its communicator. Its blocks are sorted. */
struct phased {
    uint32_t comm;
    const struct join_series *series;
};

/* Writes the runs of phases, or only counts them (out is NULL). Returns how
 * many there are. */
static uint64_t walk_runs(const struct join_series *series, struct jpr_out *out)
{
    uint64_t runs = 0, from = 0, n = 0, next = 0;
    uint32_t phase = 0;

    for (size_t i = 0; i <= series->blocks.n; i++) {
        const struct join_block *block =
            i < series->blocks.n ? (const void *) series->blocks.slots[i]
                                 : NULL;

        /* beyond the last block: only the last run is written */
        for (unsigned k = 0; k < (block ? JOIN_BLOCK : 1); k++) {
            uint64_t sn = block ? block->number * JOIN_BLOCK + k : 0;
            bool is = block && block->stamps && k < block->room &&
                      block->rows[k].n && block->stamps[k].phase;

            if (is && n && sn == from + n && block->stamps[k].phase == phase) {
                n++;
                continue;
            }
            if (n && (is || !block)) {
                runs++;
                if (out) {
                    jpr_put_u64(out, from - next);
                    jpr_put_u64(out, n);
                    jpr_put_u64(out, code_of(phase));
                }
                next = from + n;
            }
            if (!is)
                continue;
            from = sn;
            n = 1;
            phase = block->stamps[k].phase;
        }
    }
    return runs;
}

static void put_series(struct jpr_out *out, const void *arg)
{
    const struct phased *at = arg;

    jpr_put_u64(out, at->comm + UINT64_C(1));
    jpr_put_u64(out, at->series->func);
    jpr_put_u64(out, walk_runs(at->series, NULL));
    walk_runs(at->series, out);
}

int partial_put_phases(struct partial_out *w)
{
    const struct join *join = w->join;

    if (!atomic_load(&join->budget->phases[0]))
        return 0;
    if (partial_put_block(w, PARTIAL_PHASES, put_names, join) < 0)
        return -1;
    for (uint32_t i = 0; i < join->n_comms; i++)
        for (uint32_t k = 0; k < join->comms[i]->n_series; k++) {
            struct phased at = {i, join->comms[i]->series[k]};

            if (walk_runs(at.series, NULL) &&
                partial_put_block(w, PARTIAL_PHASES, put_series, &at) < 0)
                return -1;
        }
    return 0;
}

/* --- reading -------------------------------------------------------------- */

/* Reads a phase. False: there is none of that number. */
static bool get_phase(struct partial_in *r, uint32_t *phase)
{
    uint64_t code = jpr_get_bounded(&r->in, r->n_phases + UINT64_C(1));

    *phase = code == 0 ? 0 : code == 1 ? JOIN_SEVERAL : r->phases[code - 2];
    return !r->in.bad;
}

/* Reads the names, which are numbered anew, and the phases of strays. */
static int get_names(struct partial_in *r)
{
    uint64_t n = jpr_get_bounded(&r->in, JP_PHASES);

    if (r->n_phases || !n) /* twice */
        return -1;
    for (uint64_t i = 0; i < n; i++) {
        const char *text;
        size_t len = jpr_get_text(&r->in, &text);

        if (r->in.bad || !record_is_phase(text, len))
            return -1;
        r->phases[i] = join_phase_get(r->join->budget, text, len);
        if (!r->phases[i])
            return -1;
        r->join->conflict |= r->phases[i] == JP_PHASES; /* as in join.c */
    }
    r->n_phases = (uint32_t) n;
    for (size_t i = 0; i < r->join->n_strays; i++)
        if (!get_phase(r, &r->join->strays[i].stamp.phase))
            return -1;
    return 0;
}

/* Sets the phase of an operation. False: there is no such operation, or it has
 * one already. */
static bool set_phase(struct partial_in *r, const struct join_series *series,
                      uint64_t sn, uint32_t phase)
{
    struct join_block *block = blockmap_find(&series->blocks, sn / JOIN_BLOCK);
    unsigned k = sn % JOIN_BLOCK;

    if (!block || k >= block->room || !block->rows[k].n ||
        join_stamps_get(r->join, block) < 0 || block->stamps[k].phase)
        return false;
    block->stamps[k].phase = phase;
    return true;
}

static const struct join_series *find_series(const struct join *join,
                                             uint64_t comm, uint64_t func)
{
    const struct join_comm *c =
        comm && comm <= join->n_comms ? join->comms[comm - 1] : NULL;

    for (uint32_t i = 0; c && i < c->n_series; i++)
        if (c->series[i]->func == func)
            return c->series[i];
    return NULL;
}

int partial_get_phases(struct partial_in *r)
{
    uint64_t comm = jpr_get_u64(&r->in), func, runs, sn = 0;
    const struct join_series *series;

    if (!comm)
        return get_names(r);
    func = jpr_get_u64(&r->in);
    runs = jpr_get_u64(&r->in);
    series = find_series(r->join, comm, func);
    if (!series)
        return -1;
    for (; runs && !r->in.bad; runs--) {
        uint64_t gap = jpr_get_u64(&r->in), n = jpr_get_u64(&r->in);
        uint32_t phase;

        if (__builtin_add_overflow(sn, gap, &sn) || !n ||
            !get_phase(r, &phase) || !phase)
            return -1;
        /* ends at the first number without an operation */
        for (; n; n--, sn++)
            if (!set_phase(r, series, sn, phase))
                return -1;
    }
    return r->in.bad ? -1 : 0;
}
