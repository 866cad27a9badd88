/* partial_rows_in.c - unpack the operations of a series into a join.
 *
 * partial_get_ops reads one block: head, sequence numbers, sizes, lanes; then
 * it finds or makes the rows, and reads their values (get_values) column by
 * column. Times that the writer derived from the lanes are derived here in the
 * same way. All is foreign input: whatever contradicts itself makes the partial
 * damaged. */
#include "common/vector.h"
#include "orchestrator/aggregate/partial_parts.h"

#include <stdlib.h>
#include <string.h>

/* The reverse of put_column in partial_rows.c. False: it is damaged. */
static bool get_column(struct jpr_in *in, uint64_t *values, size_t n)
{
    uint64_t others = partial_get(in);
    size_t at = 0;

    if (others == n + 1) {
        for (size_t i = 0; i < n; i++)
            values[i] = partial_get_signed(in);
        return !in->bad;
    }
    if (in->bad || others > n / 2)
        return false;
    memset(values, 0, n * sizeof(*values));
    for (; others; others--) {
        uint64_t distance = partial_get(in);

        if (distance >= n - at)
            return false;
        at += (size_t) distance;
        values[at] = partial_get_signed(in);
    }
    return !in->bad;
}

/* A member's lane in this block. */
struct partial_lane {
    struct join_member *member;
    struct join_lane *lane;
    const uint8_t *there; /* a bit for each operation; NULL: it has all */
};

/* Work space for one block; arrays are by operation, but for sizes and work. */
struct partial_rows {
    uint32_t comm, func; /* numbers in the join */
    enum bandwidth_rule rule;
    struct join_series *series;
    size_t n; /* operations */
    uint64_t sn[PARTIAL_ROWS];
    struct join_row *rows[PARTIAL_ROWS];
    struct join_block *blocks[PARTIAL_ROWS]; /* of this block */
    uint64_t sizes[PARTIAL_ROWS];            /* distinct ones, ascending */
    double work[PARTIAL_ROWS];               /* of a size: partial_work */
    uint16_t size_at[PARTIAL_ROWS];          /* index into sizes */
    uint32_t n_lanes;                        /* of partial_in.lanes */
    bool derived; /* the rows' times follow from the lanes */
    uint64_t shortest[PARTIAL_ROWS];
    uint64_t second[PARTIAL_ROWS];    /* above the shortest; or JOIN_NO_TIME */
    uint64_t above[PARTIAL_ROWS];     /* the longest above the shortest */
    uint64_t above_sum[PARTIAL_ROWS]; /* their sum */
    uint64_t rate_sum[PARTIAL_ROWS];
    uint32_t seen[PARTIAL_ROWS], min_rank[PARTIAL_ROWS];
    uint32_t timed[PARTIAL_ROWS]; /* of these, records with a time */
    /* the lanes' times where they are not above the shortest */
    uint64_t lane_min[PARTIAL_ROWS], lane_max[PARTIAL_ROWS];
    uint64_t column[PARTIAL_ROWS];
};

#define NOBODY (UINT32_MAX - 1) /* no rank had the shortest time so far */

static bool get_shortest(struct jpr_in *in, struct partial_rows *c)
{
    uint64_t max = c->derived ? JOIN_LONG_US - 1 : RECORD_MAX_TIME_US;
    /* by size, as in put_shortest */
    uint64_t *last = c->column;

    memset(c->column, 0, sizeof(c->column));
    for (size_t i = 0; i < c->n; i++) {
        uint64_t v = last[c->size_at[i]] + partial_get_signed(in);

        if (v > max)
            return false;
        last[c->size_at[i]] = c->shortest[i] = v;
    }
    return !in->bad;
}

/* Adds a lane's time, given as what exceeds the shortest, to the sums of its
 * operation. False: it is too long for the journal. */
static inline bool take_above(struct partial_rows *c, size_t i, uint64_t above,
                              uint32_t rank)
{
    if (above >= JOIN_LONG_US - c->shortest[i] || !c->shortest[i])
        return false;
    c->timed[i]++;
    c->above_sum[i] += above;
    if (above > c->above[i])
        c->above[i] = above;
    /* the first time that equals the shortest is the shortest itself, and
     * another one is the second */
    if ((above || c->min_rank[i] != NOBODY) && above < c->second[i])
        c->second[i] = above;
    if (!above)
        c->min_rank[i] = c->min_rank[i] == NOBODY ? rank : JOIN_NO_RANK;
    c->rate_sum[i] +=
        partial_rate(c->work[c->size_at[i]], c->shortest[i] + above);
    return true;
}

/* Adds a time of the journal to the extremes of the lanes. The operation's own
 * sums come later (get_sums). */
static inline bool take_whole(struct partial_rows *c, size_t i, uint64_t time)
{
    if (time > JOIN_LONG_US)
        return false;
    if (!c->timed[i] || time < c->lane_min[i])
        c->lane_min[i] = time;
    if (time > c->lane_max[i])
        c->lane_max[i] = time;
    c->timed[i]++;
    return true;
}

/* The lane's block for a sequence number; *keep: it has room for times. NULL:
 * no memory. */
static struct join_lane_block *block_of(struct partial_in *r,
                                        const struct partial_lane *from,
                                        uint64_t sn, bool *keep)
{
    struct join_lane_block *block =
        join_lane_block_get(r->join, from->lane, sn / JOIN_BLOCK);

    *keep = from->lane->journal && !atomic_load(&r->join->budget->journal_off);
    return block;
}

/* Reads the times of one lane and sets its bits. False: damaged, or no memory.
 */
static bool take_lane(struct partial_in *r, struct partial_rows *c,
                      const struct partial_lane *from)
{
    bool times = c->derived ? c->n_lanes > 1 : c->series->barrier;
    struct join_lane_block *block = NULL;
    uint32_t rank = from->member->rank;
    struct jpr_in in = r->in; /* in registers */
    uint64_t records = 0;
    bool keep = false;

    for (size_t i = 0; i < c->n; i++) {
        unsigned k = c->sn[i] % JOIN_BLOCK;
        uint64_t time, code;

        if (from->there && !(from->there[i / 8] >> i % 8 & 1))
            continue;
        if ((!block || block->number != c->sn[i] / JOIN_BLOCK) &&
            !(block = block_of(r, from, c->sn[i], &keep)))
            return false;
        /* 0: the record has no time */
        code = times ? partial_get(&in) : c->derived && c->shortest[i];
        time = code && c->derived ? c->shortest[i] + code - 1 : code;
        if (code && !(c->derived ? take_above(c, i, code - 1, rank)
                                 : take_whole(c, i, time)))
            return false;
        if (!c->derived)
            c->min_rank[i] = rank;
        if (keep && join_time_set(r->join, block, k, (uint32_t) time) < 0)
            return false;
        block->seen |= UINT64_C(1) << k;
        c->seen[i]++;
        records++;
    }
    r->in = in;
    from->member->records += records;
    r->join->comms[c->comm]->records += records;
    r->join->coll_records += records;
    return !r->in.bad;
}

static bool get_times(struct partial_in *r, struct partial_rows *c)
{
    /* sums of an earlier block */
    memset(c->above, 0, sizeof(c->above));
    memset(c->above_sum, 0, sizeof(c->above_sum));
    memset(c->rate_sum, 0, sizeof(c->rate_sum));
    memset(c->seen, 0, sizeof(c->seen));
    memset(c->timed, 0, sizeof(c->timed));
    memset(c->lane_max, 0, sizeof(c->lane_max));
    for (size_t i = 0; i < c->n; i++) {
        c->min_rank[i] = NOBODY;
        c->second[i] = JOIN_NO_TIME;
    }
    for (uint32_t i = 0; i < c->n_lanes; i++)
        if (!take_lane(r, c, &r->lanes[i]))
            return false;
    for (size_t i = 0; i < c->n; i++) {
        /* no record of it has a time */
        if (c->derived && !c->timed[i] && !c->shortest[i])
            c->min_rank[i] = JOIN_NO_RANK;
        /* an operation without a record, or no lane with the shortest time */
        if (!c->seen[i] || c->min_rank[i] == NOBODY)
            return false;
    }
    return true;
}

/* A time as the journal keeps it. */
static uint64_t in_journal(uint64_t exec_us)
{
    return exec_us < JOIN_LONG_US ? exec_us : JOIN_LONG_US;
}

/* Reads how many records have no time. In a series with waits the lanes show
 * how many have one, and both must agree. */
static bool get_timed(struct partial_in *r, struct partial_rows *c)
{
    if (!get_column(&r->in, c->column, c->n))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t timed = c->seen[i] - (uint32_t) c->column[i];

        if (c->column[i] > c->seen[i] ||
            (c->series->barrier && timed != c->timed[i]) ||
            /* a shortest time, if and only if there is one */
            !timed != !c->shortest[i])
            return false;
        c->timed[i] = timed;
    }
    return true;
}

/* Whether the longest time and the sum are possible: the longest is that of the
 * lanes, and all but the shortest are at most the longest. */
static bool good_sums(const struct partial_rows *c, size_t i)
{
    uint64_t n = c->timed[i], above = c->above[i], sum = c->above_sum[i];

    if (!n)
        return !above && !sum;
    return above <= RECORD_MAX_TIME_US - c->shortest[i] && sum >= above &&
           sum <= (n - 1) * above && /* one has none */
           (!c->series->barrier ||
            (c->lane_min[i] == in_journal(c->shortest[i]) &&
             c->lane_max[i] == in_journal(c->shortest[i] + above)));
}

/* Reads the second-shortest times, as what exceeds the shortest. False:
 * damaged. */
static bool get_second(struct partial_in *r, struct partial_rows *c)
{
    if (!get_column(&r->in, c->second, c->n))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        uint64_t n = c->timed[i];

        /* all but the shortest take at least the second time, and one takes the
         * longest */
        if (n > 1 ? c->second[i] > c->above[i] ||
                        c->above_sum[i] < (n - 2) * c->second[i] + c->above[i]
                  : c->second[i] != 0)
            return false;
        if (n < 2)
            c->second[i] = JOIN_NO_TIME;
    }
    return true;
}

/* Reads what cannot be computed from the lanes. False: damaged. */
static bool get_sums(struct partial_in *r, struct partial_rows *c)
{
    if (!get_timed(r, c) || !get_column(&r->in, c->above, c->n) ||
        !get_column(&r->in, c->above_sum, c->n))
        return false;
    for (size_t i = 0; i < c->n; i++)
        if (!good_sums(c, i))
            return false;
    if (!get_second(r, c) || !get_column(&r->in, c->column, c->n))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        uint64_t n = c->timed[i], rank = c->column[i] - 1;
        uint64_t key = (uint64_t) c->comm << 32 | rank;

        if (!n && c->column[i])
            return false;
        c->rate_sum[i] =
            n ? n * partial_rate(c->work[c->size_at[i]],
                                 c->shortest[i] + c->above_sum[i] / n)
              : 0;
        /* the only rank was set by take_lane */
        if (c->seen[i] == 1 && n)
            continue;
        c->min_rank[i] = c->column[i] ? (uint32_t) rank : JOIN_NO_RANK;
        if (c->column[i] &&
            (rank >= RECORD_MAX_RANKS ||
             keymap_find(&r->join->member_map, key, 0) == KEYMAP_NONE))
            return false;
    }
    return true;
}

/* Fills the rows: times as read, and bandwidths as they follow from them. */
static void put_rows(struct partial_rows *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct join_row *row = c->rows[i];

        row->bytes = c->sizes[c->size_at[i]];
        row->n = c->seen[i];
        row->n_exec = c->timed[i];
        row->min_rank = c->min_rank[i];
        row->exec_min = c->shortest[i];
        row->exec_second = c->second[i] == JOIN_NO_TIME
                               ? JOIN_NO_TIME
                               : c->shortest[i] + c->second[i];
        row->exec_max = c->shortest[i] + c->above[i];
        row->exec_sum = c->timed[i] * c->shortest[i] + c->above_sum[i];
        row->busbw_sum = c->rate_sum[i];
        row->busbw_min = partial_rate(c->work[c->size_at[i]], row->exec_max);
        row->busbw_max = partial_rate(c->work[c->size_at[i]], row->exec_min);
    }
}

/* Reads how bandwidths differ from those that follow from times and size. The
 * sum may wrap on its way, but not in the end. */
static bool get_bandwidths(struct jpr_in *in, struct partial_rows *c)
{
    static const size_t members[] = {offsetof(struct join_row, busbw_sum),
                                     offsetof(struct join_row, busbw_min),
                                     offsetof(struct join_row, busbw_max)};

    for (unsigned k = 0; k < 3; k++) {
        if (!get_column(in, c->column, c->n))
            return false;
        for (size_t i = 0; i < c->n; i++) {
            uint64_t *at = (void *) ((char *) c->rows[i] + members[k]);
            /* the first column is a sum over the records */
            uint64_t n = k ? 1 : c->seen[i];

            *at += c->column[i];
            if (*at > n * RECORD_MAX_BUSBW_MICRO)
                return false;
        }
    }
    if (!get_column(in, c->column, c->n))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        if (c->column[i] > c->seen[i])
            return false;
        c->rows[i]->n_busbw = c->seen[i] - (uint32_t) c->column[i];
    }
    return true;
}

/* Reads dump times and puts them on the common clock. */
static bool get_dumps(struct jpr_in *in, struct partial_rows *c,
                      const struct clockmap_node *clock)
{
    uint64_t last = 0;

    if (!get_column(in, c->column, c->n))
        return false;
    for (size_t i = 0; i < c->n; i++)
        c->rows[i]->dump_min = last += c->column[i];
    if (!get_column(in, c->column, c->n))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        struct join_row *row = c->rows[i];

        row->dump_max = row->dump_min + c->column[i];
        if (row->dump_min > INT64_MAX || row->dump_max > INT64_MAX)
            return false;
        row->dump_min = clockmap_us(clock, row->dump_min);
        row->dump_max = clockmap_us(clock, row->dump_max);
    }
    return true;
}

/* Sets an operation's stamps, which come from four columns. False: damaged, or
 * no memory. */
static bool put_stamp(struct partial_in *r, struct partial_rows *c, size_t i,
                      const struct join_stamp *stamp)
{
    struct join_block *block = c->blocks[i];
    struct join_stamp *to;

    if (stamp->n > c->seen[i] || !stamp->n != !stamp->start_min ||
        stamp->start_max < stamp->start_min || stamp->start_max > INT64_MAX ||
        stamp->end_max > INT64_MAX)
        return false;
    if (!stamp->n && !stamp->end_max)
        return true;
    if (join_stamps_get(r->join, block) < 0)
        return false;
    /* a clock's map keeps the order, so the first start stays the first */
    to = &block->stamps[c->sn[i] % JOIN_BLOCK];
    to->n = stamp->n;
    to->start_min = clockmap_us(r->clock, stamp->start_min);
    to->start_max = clockmap_us(r->clock, stamp->start_max);
    to->end_max = clockmap_us(r->clock, stamp->end_max);
    return true;
}

static bool get_stamps(struct partial_in *r, struct partial_rows *c)
{
    /* arrays that are not needed any more */
    uint64_t *n = c->lane_min, *first = c->lane_max, *span = c->above_sum;
    uint64_t last = 0;

    if (!get_column(&r->in, n, c->n) || !get_column(&r->in, first, c->n) ||
        !get_column(&r->in, span, c->n) || !get_column(&r->in, c->column, c->n))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        struct join_stamp stamp = {.n = (uint32_t) n[i]};

        last += first[i];
        stamp.start_min = n[i] ? last : 0;
        stamp.start_max = stamp.start_min + span[i];
        stamp.end_max = c->column[i] ? stamp.start_max + c->column[i] - 1 : 0;
        if (n[i] > UINT32_MAX || !put_stamp(r, c, i, &stamp))
            return false;
    }
    return true;
}

/* Adds times, bandwidths and dump times to the rows and lanes. False: damaged.
 */
static bool get_values(struct partial_in *r, struct partial_rows *c)
{
    c->derived = !jpr_get_bounded(&r->in, 1);
    if (!get_shortest(&r->in, c) || !get_times(r, c) ||
        (!c->derived && !get_sums(r, c)))
        return false;
    put_rows(c);
    return get_bandwidths(&r->in, c) && get_dumps(&r->in, c, r->clock) &&
           get_stamps(r, c);
}

/* --- unpack the operations of a series into a join --- */

/* Reads communicator, function, rule of bandwidth and number of operations. */
static bool get_head(struct partial_in *r, struct partial_rows *c)
{
    uint64_t comm = jpr_get_u64(&r->in), func = jpr_get_u64(&r->in);

    c->rule =
        (enum bandwidth_rule) jpr_get_bounded(&r->in, BANDWIDTH_ALL_REDUCE);
    c->n = (size_t) jpr_get_bounded(&r->in, PARTIAL_ROWS);
    if (r->in.bad || !c->n || comm >= r->join->n_comms ||
        func >= r->join->n_funcs)
        return false;
    c->comm = (uint32_t) comm;
    c->func = (uint32_t) func;
    c->series = join_series_get(r->join, r->join->comms[comm], c->func);
    return c->series != NULL;
}

/* Reads the runs of sequence numbers, which ascend. */
static bool get_numbers(struct jpr_in *in, struct partial_rows *c)
{
    uint64_t runs = jpr_get_bounded(in, c->n), next = 0;
    size_t at = 0;

    for (; runs; runs--) {
        uint64_t sn, n, gap = partial_get(in);

        if (__builtin_add_overflow(next, gap, &sn))
            return false;
        n = jpr_get_bounded(in, c->n - at);
        /* UINT64_MAX is no sequence number */
        if (in->bad || !n || __builtin_add_overflow(sn, n, &next))
            return false;
        while (n--)
            c->sn[at++] = sn++;
    }
    return at == c->n;
}

static bool get_sizes(struct partial_in *r, struct partial_rows *c)
{
    uint32_t n_ranks = r->join->comms[c->comm]->n_ranks;
    uint64_t n = jpr_get_bounded(&r->in, c->n), size = 0;

    for (uint64_t i = 0; i < n; i++) {
        size += jpr_get_bounded(&r->in, RECORD_MAX_BYTES);
        if (size > RECORD_MAX_BYTES)
            return false;
        c->sizes[i] = size;
        c->work[i] = partial_work(c->rule, n_ranks, size);
    }
    /* one size: no indexes follow */
    if (n < 2)
        memset(c->size_at, 0, sizeof(c->size_at));
    for (size_t i = 0; n > 1 && i < c->n; i++) {
        uint64_t at = partial_get(&r->in);

        if (at >= n)
            return false;
        c->size_at[i] = (uint16_t) at;
    }
    return n > 0 && !r->in.bad;
}

/* Reads which operations member `at` has a record of. The bits stay in the
 * payload. */
static bool get_lane(struct partial_in *r, struct partial_rows *c,
                     struct partial_lane *lane, uint32_t at)
{
    size_t bytes = (c->n + 7) / 8;
    struct join_member *member = r->join->members[at];

    *lane = (struct partial_lane){.member = member};
    if (jpr_get_bounded(&r->in, 1)) {
        if (bytes > (size_t) (r->in.end - r->in.at))
            return false;
        lane->there = r->in.at;
        r->in.at += bytes;
    }
    lane->lane = join_lane_get(r->join, member, c->series, c->func);
    return lane->lane && !r->in.bad;
}

/* Reads the lanes of the communicator's members, ascending. */
static bool get_lanes(struct partial_in *r, struct partial_rows *c)
{
    uint32_t at = r->first[c->comm], end = r->first[c->comm + 1];
    uint32_t n = (uint32_t) jpr_get_bounded(&r->in, end - at);

    if (n > r->room_lanes || !r->lanes) {
        if (vector_resize(&r->lanes, (size_t) n + 1, sizeof(*r->lanes)) < 0)
            return false;
        r->room_lanes = n;
    }
    c->n_lanes = n;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t gap = jpr_get_u64(&r->in);

        if (r->in.bad || gap >= end - at)
            return false;
        at += (uint32_t) gap;
        if (!get_lane(r, c, &r->lanes[i], at++))
            return false;
    }
    return true;
}

/* The block of operation i, with room for all operations in it, so that its
 * rows do not move. NULL: no memory. */
static struct join_block *block_at(struct partial_in *r, struct partial_rows *c,
                                   size_t i)
{
    uint64_t number = c->sn[i] / JOIN_BLOCK, last = c->sn[c->n - 1];
    struct join_block *block = join_block_get(r->join, c->series, number);

    return block && join_row_get(r->join, block,
                                 last / JOIN_BLOCK == number
                                     ? (unsigned) (last % JOIN_BLOCK)
                                     : JOIN_BLOCK - 1)
               ? block
               : NULL;
}

/* Finds or makes the rows. A row with records is already known: a partial has
 * each operation once. */
static bool find_rows(struct partial_in *r, struct partial_rows *c)
{
    struct join_block *block = NULL;

    for (size_t i = 0; i < c->n; i++) {
        uint64_t number = c->sn[i] / JOIN_BLOCK;

        if (!block || block->number != number)
            block = block_at(r, c, i);
        if (!block || block->rows[c->sn[i] % JOIN_BLOCK].n)
            return false;
        c->blocks[i] = block;
        c->rows[i] = &block->rows[c->sn[i] % JOIN_BLOCK];
    }
    return true;
}

int partial_get_ops(struct partial_in *r)
{
    struct partial_rows *c = r->rows;

    /* one work space for all blocks */
    if (!c && !(c = r->rows = calloc(1, sizeof(*c))))
        return -1;
    return get_head(r, c) && get_numbers(&r->in, c) && get_sizes(r, c) &&
                   get_lanes(r, c) && find_rows(r, c) && get_values(r, c)
               ? 0
               : -1;
}
