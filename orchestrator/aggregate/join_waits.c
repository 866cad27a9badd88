/* join_waits.c - the times of a communicator's ranks when it is closed: their
 * sums by part of the run, and how much later than others ranks came.
 *
 * The run of a series is cut into JP_SLICES parts of equally many operations,
 * in the order of their numbers (struct slice_cut). Numbers that no rank
 * recorded are in no part: a part without records would look like one in which
 * nobody waits. Only timed rows count, which join_close.c has marked. A part's
 * sum is divided by the share of its rows that are timed, so that parts can be
 * compared with others. Stalls are found operation by operation (find_stalled),
 * because the median of the ranks' times is needed. */
#include "orchestrator/aggregate/join.h"

#include <math.h>
#include <stdlib.h>

#include "common/sorted.h"
#include "orchestrator/aggregate/join_parts.h"

/* --- cut series into parts of the run, and add up ranks' times --- */

/* One series cut into parts of equally many operations. */
struct slice_cut {
    const struct join_series *series;
    uint64_t start[JP_SLICES]; /* first sequence number of each part */
    double scale[JP_SLICES];   /* operations / timed operations; NAN: none is
                                  timed */
};

/* The lowest and highest sequence number. Returns how many have records. */
static uint64_t find_ends(const struct join_series *series, uint64_t *from,
                          uint64_t *to)
{
    uint64_t count = 0;

    for (size_t i = 0; i < blockmap_slots(&series->blocks); i++) {
        const struct join_block *block = (void *) series->blocks.slots[i];

        for (unsigned k = 0; block && k < block->room; k++) {
            uint64_t sn = block->number * JOIN_BLOCK + k;

            if (!block->rows[k].n)
                continue;
            *from = count && *from < sn ? *from : sn;
            *to = count && *to > sn ? *to : sn;
            count++;
        }
    }
    return count;
}

static int by_number(const void *a, const void *b)
{
    const struct join_block *const *x = a, *const *y = b;

    return (*x)->number < (*y)->number ? -1 : (*x)->number > (*y)->number;
}

/* Sets where the parts of a series begin that has `count` operations, and
 * numbers between them without a record. 0, or -1: no memory. */
static int begin_parts(struct slice_cut *cut, uint64_t count)
{
    const struct blockmap *map = &cut->series->blocks;
    const struct join_block **blocks =
        calloc(blockmap_slots(map) + 1, sizeof(*blocks));
    uint64_t before = 0;
    unsigned s = 0;
    size_t n = 0;

    if (!blocks)
        return -1;
    for (size_t i = 0; i < blockmap_slots(map); i++)
        if (map->slots[i])
            blocks[n++] = (void *) map->slots[i];
    qsort(blocks, n, sizeof(*blocks), by_number);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < blocks[i]->room; k++) {
            if (!blocks[i]->rows[k].n)
                continue;
            while (s < JP_SLICES && before >= count * s / JP_SLICES)
                cut->start[s++] = blocks[i]->number * JOIN_BLOCK + k;
            before++;
        }
    free(blocks);
    return 0;
}

/* The slice of a sequence number, searched upwards from a slice that is not
 * beyond it. Calls come in ascending order. */
static unsigned slice_of(const struct slice_cut *cut, uint64_t sn,
                         unsigned from)
{
    while (from + 1 < JP_SLICES && sn >= cut->start[from + 1])
        from++;
    return from;
}

/* Fills the cut of a series after its timed rows were marked. 0, or -1: no
 * memory. */
static int cut_make(struct slice_cut *cut, const struct join_series *series)
{
    uint64_t from = 0, to = 0, n[JP_SLICES] = {0}, timed[JP_SLICES] = {0};
    uint64_t count = find_ends(series, &from, &to);

    *cut = (struct slice_cut){.series = series};
    if (!count)
        return 0;
    if (count <= to - from && begin_parts(cut, count) < 0)
        return -1;
    for (unsigned s = 0; count > to - from && s < JP_SLICES; s++)
        cut->start[s] = from +
                        (uint64_t) (((double) (to - from) + 1) * s / JP_SLICES);
    /* how many operations each part has, and how many of these are timed */
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
    return 0;
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
    /* only the bits that are set */
    for (; which; which &= which - 1)
        sum += join_time(block, (unsigned) __builtin_ctzll(which));
    return sum;
}

/* A bit for each of a block's numbers below `end`. */
static uint64_t bits_before(uint64_t first, uint64_t end)
{
    return end <= first                ? 0
           : end - first >= JOIN_BLOCK ? UINT64_MAX
                                       : (UINT64_C(1) << (end - first)) - 1;
}

/* Adds a lane's times of timed operations to sums[JP_SLICES], scaled up to all
 * operations. Returns their sum without scaling. */
static uint64_t cut_add(const struct slice_cut *cut,
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
        /* timed rows of which this lane has the record */
        both = block ? block->timed & mine->seen : 0;
        first = mine->number * JOIN_BLOCK;
        /* a block of 64 rows may lie in several parts */
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

/* The cut of a series. NULL: it is not timed, because its communicator has one
 * rank. The last element of cuts has no series. */
static const struct slice_cut *find_cut(const struct slice_cut *cuts,
                                        const struct join_series *series)
{
    for (; cuts->series; cuts++)
        if (cuts->series == series)
            return cuts;
    return NULL;
}

/* --- to which operations a rank came far later than others --- */

/* Work space for a communicator's ranks; arrays are in the order of its
 * members. */
struct stalled {
    const struct join_lane **lanes;    /* lane of the current series */
    const struct join_lane_block **at; /* block of the current number */
    uint32_t *us; /* times of one operation's ranks, in any order */
    double (*sums)[JP_SLICES];
};

static void stalled_fini(struct stalled *x)
{
    free(x->lanes);
    free(x->at);
    free(x->us);
    free(x->sums);
}

/* 0, or -1: no memory, and nothing is allocated. */
static int stalled_init(struct stalled *x, size_t n)
{
    *x = (struct stalled){.lanes = calloc(n + 1, sizeof(*x->lanes)),
                          .at = calloc(n + 1, sizeof(*x->at)),
                          .us = calloc(2 * n + 1, sizeof(*x->us)),
                          .sums = calloc(n + 1, sizeof(*x->sums))};
    if (x->lanes && x->at && x->us && x->sums)
        return 0;
    stalled_fini(x);
    return -1;
}

/* The member's lane of a series. NULL: it has none. */
static const struct join_lane *find_lane(const struct join_member *member,
                                         const struct join_series *series)
{
    for (uint32_t i = 0; i < member->n_lanes; i++)
        if (member->lanes[i]->series == series && member->lanes[i]->journal)
            return member->lanes[i];
    return NULL;
}

/* Finds the ranks that came late to row k of the blocks in x->at. A rank with a
 * shorter time came later, because all leave together. Of two times in the
 * middle the longer one is taken, of the rank that came earlier: so if half of
 * the ranks come late, each of these counts. */
static void add_stalled(const struct join *join, const struct join_comm *comm,
                        struct stalled *x, unsigned k, unsigned slice)
{
    uint32_t n = comm->n_members, usual;

    for (uint32_t i = 0; i < n; i++) {
        if (!x->at[i] || !(x->at[i]->seen >> k & 1))
            return; /* a rank has no time */
        x->us[i] = x->us[n + i] = join_time(x->at[i], k);
    }
    usual = sorted_select_u32(x->us + n, n, n / 2);
    for (uint32_t i = 0; i < n; i++)
        if (usual > x->us[i] && usual - x->us[i] > JP_STALL_US) {
            x->sums[i][slice] += usual - x->us[i];
            join->members[comm->members[i]]->stalled_ops++;
        }
}

/* Adds up the stalls of one series. All members need a lane of it. */
static void find_stalled(const struct join *join, const struct join_comm *comm,
                         const struct slice_cut *cut, struct stalled *x)
{
    for (uint32_t i = 0; i < comm->n_members; i++) {
        x->lanes[i] = find_lane(join->members[comm->members[i]], cut->series);
        if (!x->lanes[i])
            return;
    }
    for (size_t i = 0; i < blockmap_slots(&cut->series->blocks); i++) {
        const struct join_block *b = (void *) cut->series->blocks.slots[i];

        for (uint32_t m = 0; b && b->timed && m < comm->n_members; m++)
            x->at[m] = blockmap_find(&x->lanes[m]->blocks, b->number);
        for (unsigned k = 0, s = 0; b && k < b->room; k++) {
            /* if the ranks are close together, no rank stalls */
            if (!(b->timed >> k & 1) ||
                b->rows[k].exec_max - b->rows[k].exec_min <= JP_STALL_US)
                continue;
            s = slice_of(cut, b->number * JOIN_BLOCK + k, s);
            add_stalled(join, comm, x, k, s);
        }
    }
    for (uint32_t m = 0; m < comm->n_members; m++)
        for (unsigned s = 0; s < JP_SLICES; s++) {
            float *sum =
                &join->members[comm->members[m]]->slices[JP_SLICES + s];

            if (x->sums[m][s] > 0)
                *sum += (float) (x->sums[m][s] * cut->scale[s]);
            x->sums[m][s] = 0;
        }
}

/* Adds up the stalls of a communicator with all its ranks, and allocates the
 * members' slices. cuts: as in take_member. 0, or -1: no memory. */
static int sum_stalled(const struct join *join, const struct join_comm *comm,
                       const struct slice_cut *cuts)
{
    struct stalled x;

    if (atomic_load(&join->budget->journal_off))
        return 0;
    for (uint32_t i = 0; i < comm->n_members; i++) {
        struct join_member *member = join->members[comm->members[i]];

        if (!member->slices)
            member->slices = calloc(2 * JP_SLICES, sizeof(*member->slices));
        if (!member->slices)
            return -1;
    }
    if (comm->n_members != comm->n_ranks || comm->n_ranks < 2)
        return 0;
    if (stalled_init(&x, comm->n_members) < 0)
        return -1;
    for (; cuts->series; cuts++)
        find_stalled(join, comm, cuts, &x);
    stalled_fini(&x);
    return 0;
}

/* Adds up a member's lanes of collectives and frees them. The lanes of Send and
 * Recv stay, as they find repeated records. cuts: of all series with times. */
static void take_member(struct join *join, struct join_member *member,
                        const struct slice_cut *cuts)
{
    bool journal = !atomic_load(&join->budget->journal_off) && member->slices;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < member->n_lanes; i++) {
        struct join_lane *lane = member->lanes[i];

        if (!lane->series) {
            member->lanes[kept++] = lane;
            continue;
        }
        if (journal && lane->journal) {
            const struct slice_cut *cut = find_cut(cuts, lane->series);

            if (cut)
                member->exec_us = num_add(member->exec_us,
                                          cut_add(cut, lane, member->slices));
        }
        join_lane_free(join, lane);
    }
    member->n_lanes = kept;
    if (!kept) {
        free(member->lanes);
        member->lanes = NULL;
    }
}

/* Closes all members of a communicator after its series. */
int join_waits(struct join *join, const struct join_comm *comm)
{
    struct slice_cut *cuts = calloc((size_t) comm->n_series + 1, sizeof(*cuts));
    struct slice_cut *next = cuts;
    int rc = cuts ? 0 : -1;

    /* the last element of cuts stays empty and ends the list */
    for (uint32_t i = 0; rc == 0 && i < comm->n_series; i++)
        if (comm->series[i]->barrier)
            rc = cut_make(next++, comm->series[i]);
    if (rc == 0)
        rc = sum_stalled(join, comm, cuts);
    for (uint32_t i = 0; rc == 0 && i < comm->n_members; i++)
        take_member(join, join->members[comm->members[i]], cuts);
    free(cuts);
    return rc;
}
