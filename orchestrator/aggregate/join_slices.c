/* join_slices.c - cut series into parts of the run, and add up ranks' times. */
#include "orchestrator/aggregate/join_slices.h"

#include <math.h>

#include "orchestrator/aggregate/join_parts.h"

/* The lowest and highest sequence number; false: the series is empty. */
static bool find_ends(const struct join_series *series, uint64_t *from,
                      uint64_t *to)
{
    bool any = false;

    for (size_t i = 0; i < blockmap_slots(&series->blocks); i++) {
        const struct join_block *block = (void *) series->blocks.slots[i];

        for (unsigned k = 0; block && k < block->room; k++) {
            uint64_t sn = block->number * JOIN_BLOCK + k;

            if (!block->rows[k].n)
                continue;
            *from = any && *from < sn ? *from : sn;
            *to = any && *to > sn ? *to : sn;
            any = true;
        }
    }
    return any;
}

/* Slice of a number, given one that is not behind it. */
static unsigned slice_of(const struct slice_cut *cut, uint64_t sn,
                         unsigned from)
{
    while (from + 1 < JP_SLICES && sn >= cut->start[from + 1])
        from++;
    return from;
}

void slice_cut_make(struct slice_cut *cut, const struct join_series *series)
{
    uint64_t from = 0, to = 0, n[JP_SLICES] = {0}, timed[JP_SLICES] = {0};

    *cut = (struct slice_cut){.series = series};
    if (!find_ends(series, &from, &to))
        return;
    for (unsigned s = 0; s < JP_SLICES; s++)
        cut->start[s] = from +
                        (uint64_t) (((double) (to - from) + 1) * s / JP_SLICES);
    for (size_t i = 0; i < blockmap_slots(&series->blocks); i++) {
        const struct join_block *block = (void *) series->blocks.slots[i];
        unsigned s = 0;

        for (unsigned k = 0; block && k < block->room; k++) {
            if (!block->rows[k].n)
                continue;
            s = slice_of(cut, block->number * JOIN_BLOCK + k, s);
            n[s]++;
            timed[s] += block->timed >> k & 1;
        }
    }
    for (unsigned s = 0; s < JP_SLICES; s++)
        cut->scale[s] = timed[s] ? (double) n[s] / (double) timed[s]
                        : n[s]   ? NAN
                                 : 0;
}

void slice_cut_add(const struct slice_cut *cut, const struct join_lane *lane,
                   float *sums)
{
    double own[JP_SLICES] = {0};

    for (size_t i = 0; i < blockmap_slots(&lane->blocks); i++) {
        const struct join_lane_block *mine = (void *) lane->blocks.slots[i];
        const struct join_block *block;
        uint64_t both;
        unsigned s = 0;

        if (!mine)
            continue;
        block = blockmap_find(&lane->series->blocks, mine->number);
        for (both = block ? block->timed & mine->seen : 0; both;
             both &= both - 1) {
            unsigned k = (unsigned) __builtin_ctzll(both);

            s = slice_of(cut, mine->number * JOIN_BLOCK + k, s);
            own[s] += join_time(mine, k);
        }
    }
    for (unsigned s = 0; s < JP_SLICES; s++)
        sums[s] += (float) (own[s] * cut->scale[s]);
}
