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

/* The sum of some records' times. */
static uint64_t times_of(const struct join_lane_block *block, uint64_t which)
{
    uint64_t sum = 0;

    if (which == UINT64_MAX && !block->wide) { /* most often */
        uint32_t above = 0;

        for (unsigned k = 0; k < JOIN_BLOCK; k++)
            above += block->narrow[k];
        return JOIN_BLOCK * (uint64_t) block->base + above;
    }
    for (; which; which &= which - 1)
        sum += join_time(block, (unsigned) __builtin_ctzll(which));
    return sum;
}

/* A block's numbers that are in front of `end`. */
static uint64_t bits_before(uint64_t first, uint64_t end)
{
    return end <= first                ? 0
           : end - first >= JOIN_BLOCK ? UINT64_MAX
                                       : (UINT64_C(1) << (end - first)) - 1;
}

uint64_t slice_cut_add(const struct slice_cut *cut,
                       const struct join_lane *lane, float *sums)
{
    double own[JP_SLICES] = {0};
    uint64_t all = 0;

    for (size_t i = 0; i < blockmap_slots(&lane->blocks); i++) {
        const struct join_lane_block *mine = (void *) lane->blocks.slots[i];
        const struct join_block *block;
        uint64_t both, first, before, some;

        if (!mine)
            continue;
        block = blockmap_find(&lane->series->blocks, mine->number);
        both = block ? block->timed & mine->seen : 0;
        first = mine->number * JOIN_BLOCK;
        for (unsigned s = slice_of(cut, first, 0); both; s++, both &= ~before) {
            before = s + 1 < JP_SLICES ? bits_before(first, cut->start[s + 1])
                                       : UINT64_MAX;
            some = times_of(mine, both & before);
            own[s] += (double) some;
            all += some;
        }
    }
    for (unsigned s = 0; s < JP_SLICES; s++)
        sums[s] += (float) (own[s] * cut->scale[s]);
    return all;
}
