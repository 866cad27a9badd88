/* join_parts.c - find, make, fold and free the parts of a join.
 *
 * In this order: the memory budget, then functions, communicators, series and
 * their blocks of rows, members, lanes and pairs; then what the records of one
 * operation add up to (struct join_row, struct join_stamp); then strays and
 * names. Arrays grow by doubling whenever their number is a power of two, so
 * they need no member for their capacity. */
#include "orchestrator/aggregate/join_parts.h"

#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/vector.h"

/* What a slot in a hash and a pointer in an array cost, twice, because both
 * double when they grow. In bytes. */
enum { SLOT_BYTES = 64, BLOCK_SLOT_BYTES = 16 };

enum {
    FEW_ROWS = 4, /* JOIN_BLOCK is a power of 4 times that */
    TIMES_BYTES = JOIN_BLOCK * sizeof(uint16_t), /* of a lane's block */
    BELOW_FIRST =
        1 << 14, /* room in us for times below the block's first one */
};

bool join_charge(struct join *join, uint64_t bytes)
{
    struct join_budget *budget = join->budget;

    /* add first, so that two threads cannot both take the last bytes */
    if (atomic_fetch_add(&budget->used, bytes) + bytes <= budget->limit) {
        join->charged += bytes;
        return true;
    }
    atomic_fetch_sub(&budget->used, bytes);
    join->over = true;
    return false;
}

/* Takes bytes from the join's charge, or all of it if it is less. Returns how
 * many. */
static uint64_t take_charge(struct join *join, uint64_t bytes)
{
    uint64_t had = atomic_load(&join->charged), some;

    /* threads that close communicators free at the same time */
    do
        some = bytes < had ? bytes : had;
    while (!atomic_compare_exchange_weak(&join->charged, &had, had - some));
    return some;
}

/* Gives bytes back to the budget, and counts them for malloc_trim
 * (join_close.c). */
static void uncharge(struct join *join, uint64_t bytes)
{
    bytes = take_charge(join, bytes);
    atomic_fetch_add(&join->freed, bytes);
    atomic_fetch_sub(&join->budget->used, bytes);
}

/* calloc within the memory limit. NULL: no memory, or the limit (join->over).
 */
static void *alloc(struct join *join, size_t bytes)
{
    return join_charge(join, bytes) ? calloc(1, bytes) : NULL;
}

uint32_t join_func_get(struct join *join, const char *name, size_t len)
{
    for (uint32_t i = 0; i < join->n_funcs; i++)
        if (!strncmp(join->funcs[i], name, len) && !join->funcs[i][len])
            return i;
    /* names come from files; so many differ in no program */
    if (join->n_funcs >= JOIN_MAX_FUNCS) {
        join->over = true; /* the record is left out */
        return KEYMAP_NONE;
    }
    if (VECTOR_DOUBLE(join->funcs, join->n_funcs) < 0 ||
        !(join->funcs[join->n_funcs] = strndup(name, len)))
        return KEYMAP_NONE;
    return join->n_funcs++;
}

/* Puts a name into place i if that is free. *at: the name that is there then.
 * False: no memory. */
static bool put_phase(struct join_budget *budget, uint32_t i, const char *name,
                      size_t len, const char **at)
{
    char *mine = strndup(name, len), *there = NULL;

    if (!mine)
        return false;
    *at = mine;
    if (atomic_compare_exchange_strong(&budget->phases[i], &there, mine))
        return true;
    free(mine); /* another thread was first */
    *at = there;
    return true;
}

uint32_t join_phase_get(struct join_budget *budget, const char *name,
                        size_t len)
{
    for (uint32_t i = 0; i < JP_PHASES; i++) {
        const char *at =
            atomic_load_explicit(&budget->phases[i], memory_order_acquire);

        if (i == JP_PHASES - 1) {
            name = "others";
            len = strlen(name);
        }
        if (!at && !put_phase(budget, i, name, len, &at))
            return 0;
        if (!strncmp(at, name, len) && !at[len])
            return i + 1;
    }
    return JP_PHASES;
}

void join_phases_fini(struct join_budget *budget)
{
    for (uint32_t i = 0; i < JP_PHASES; i++)
        free(atomic_exchange(&budget->phases[i], NULL));
}

/* The hexadecimal digits of an id after "0x" as a number; 16 of them fit.
 * Readers accept no other characters. */
static uint64_t id_value(const char *id, size_t len)
{
    uint64_t v = 0;

    for (size_t i = 2; i < len; i++) {
        unsigned char b = (unsigned char) id[i];

        v = v << 4 |
            (b <= '9' ? (unsigned) b - '0' : ((unsigned) b | 0x20) - 'a' + 10);
    }
    return v;
}

/* The part of the key that distinguishes communicators of one id value. */
static uint64_t shape_value(size_t id_len, uint32_t n_ranks, uint32_t nnodes)
{
    return (uint64_t) id_len << 48 | (uint64_t) n_ranks << 24 | nnodes;
}

void join_counts_fold(struct join_comm *into, const struct jpr_counts *counts)
{
    into->counted = true;
    /* counts come from files, so sums saturate */
    into->counts.produced = num_add(into->counts.produced, counts->produced);
    into->counts.written = num_add(into->counts.written, counts->written);
    into->counts.lost = num_add(into->counts.lost, counts->lost);
    into->counts.left_out = num_add(into->counts.left_out, counts->left_out);
}

uint32_t join_comm_get(struct join *join, const char *id, size_t id_len,
                       uint32_t n_ranks, uint32_t nnodes)
{
    uint64_t a = id_value(id, id_len);
    uint64_t b = shape_value(id_len, n_ranks, nnodes);
    uint32_t i = keymap_find(&join->comm_map, a, b);
    struct join_comm *comm;

    if (i != KEYMAP_NONE)
        return i;
    /* all that may fail comes before the first change */
    if (!join_charge(join, SLOT_BYTES) ||
        VECTOR_DOUBLE(join->comms, join->n_comms) < 0)
        return KEYMAP_NONE;
    comm = alloc(join, sizeof(*comm));
    if (!comm || keymap_add(&join->comm_map, a, b, join->n_comms) < 0) {
        free(comm);
        return KEYMAP_NONE;
    }
    memcpy(comm->id, id, id_len);
    comm->n_ranks = n_ranks;
    comm->nnodes = nnodes;
    join->comms[join->n_comms] = comm;
    return join->n_comms++;
}

/* Whether a function's operations share their sequence numbers with other
 * functions: those of the copy engines have one counter for each communicator.
 */
static bool is_numbered_together(const char *func)
{
    size_t len = strlen(func), n = strlen(RECORD_CE);

    return len > n && !strcmp(func + len - n, RECORD_CE);
}

struct join_series *join_series_get(struct join *join, struct join_comm *comm,
                                    uint32_t func)
{
    struct join_series *series;

    /* a communicator uses few functions */
    for (uint32_t i = 0; i < comm->n_series; i++)
        if (comm->series[i]->func == func)
            return comm->series[i];
    if (VECTOR_DOUBLE(comm->series, comm->n_series) < 0 ||
        !(series = alloc(join, sizeof(*series))))
        return NULL;
    series->func = func;
    /* n_ranks 0 is unknown, so the series may have waits */
    series->barrier = comm->n_ranks != 1 &&
                      collective_is_barrier(join->funcs[func]);
    series->shares = is_numbered_together(join->funcs[func]);
    comm->series[comm->n_series++] = series;
    return series;
}

void join_block_destroy(struct join_block *block)
{
    if (!block)
        return;
    free(block->stamps);
    free(block->rows);
    free(block);
}

struct join_block *join_block_get(struct join *join, struct join_series *series,
                                  uint64_t number)
{
    struct join_block *block = blockmap_find(&series->blocks, number);

    /* also NULL at the limit */
    if (block || !join_charge(join, BLOCK_SLOT_BYTES))
        return block;
    block = alloc(join, sizeof(*block));
    if (!block)
        return NULL;
    block->number = number;
    /* many series have a few operations; of those with more, most blocks are
     * full */
    if (join_rows_more(join, block,
                       series->blocks.n ? JOIN_BLOCK - 1 : FEW_ROWS - 1) == 0 &&
        blockmap_add(&series->blocks, block) == 0)
        return block;
    join_block_destroy(block);
    return NULL;
}

int join_rows_more(struct join *join, struct join_block *block, unsigned k)
{
    unsigned room = block->room ? block->room : FEW_ROWS;
    struct join_row *rows;

    /* 4, 16 or 64 rows */
    while (room <= k)
        room *= 4;
    rows = alloc(join, room * sizeof(*rows));
    if (!rows)
        return -1;
    if (block->room) {
        memcpy(rows, block->rows, block->room * sizeof(*rows));
        uncharge(join, block->room * sizeof(*rows)); /* of the smaller array */
    }
    free(block->rows);
    block->rows = rows;
    block->room = room;
    return 0;
}

int join_stamps_get(struct join *join, struct join_block *block)
{
    if (!block->stamps)
        block->stamps = alloc(join, JOIN_BLOCK * sizeof(*block->stamps));
    return block->stamps ? 0 : -1;
}

/* What a block has been charged with; must agree with join_block_get. */
static uint64_t block_bytes(const struct join_block *block)
{
    return sizeof(*block) + BLOCK_SLOT_BYTES +
           block->room * sizeof(*block->rows) +
           (block->stamps ? JOIN_BLOCK * sizeof(*block->stamps) : 0);
}

/* Moves bytes from one join's charge to another's; the budget has them either
 * way. */
static void move_charge(struct join *into, struct join *from, uint64_t bytes)
{
    atomic_fetch_add(&into->charged, take_charge(from, bytes));
}

void join_move_block(struct join *into, struct join *from,
                     const struct join_block *block)
{
    move_charge(into, from, block_bytes(block));
}

static void lane_block_destroy(struct join_lane_block *block)
{
    if (block)
        free(block->wide);
    free(block);
}

/* As block_bytes, for a lane's block. journal: it has room for times. */
static uint64_t lane_block_bytes(const struct join_lane_block *block,
                                 bool journal)
{
    return sizeof(*block) + BLOCK_SLOT_BYTES + (journal ? TIMES_BYTES : 0) +
           (block->wide ? JOIN_BLOCK * sizeof(*block->wide) : 0);
}

void join_move_lane_block(struct join *into, struct join *from, bool journal,
                          const struct join_lane_block *block)
{
    move_charge(into, from, lane_block_bytes(block, journal));
}

int join_time_any(struct join *join, struct join_lane_block *block, unsigned k,
                  uint32_t exec_us)
{
    /* the first time sets the base, with room below it for shorter ones */
    if (!block->wide && !block->based) {
        block->base = exec_us > BELOW_FIRST ? exec_us - BELOW_FIRST : 0;
        block->based = true;
    }
    if (!block->wide && exec_us - block->base <= UINT16_MAX) {
        block->narrow[k] = (uint16_t) (exec_us - block->base);
        return 0;
    }
    /* a time that does not fit 16 bits above the base: 32 bits for all */
    if (!block->wide) { /* base must not change before all are copied */
        uint32_t *wide = alloc(join, JOIN_BLOCK * sizeof(*wide));

        if (!wide)
            return -1;
        for (unsigned i = 0; i < JOIN_BLOCK; i++)
            wide[i] = join_time(block, i);
        block->wide = wide;
    }
    block->wide[k] = exec_us;
    return 0;
}

void join_series_empty(struct join *join, struct join_series *series)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < blockmap_slots(&series->blocks); i++) {
        struct join_block *block = (void *) series->blocks.slots[i];

        if (!block)
            continue;
        bytes += block_bytes(block);
        join_block_destroy(block);
    }
    /* without a join the whole join goes, and its budget with it */
    if (join)
        uncharge(join, bytes);
    blockmap_fini(&series->blocks);
}

void join_lane_free(struct join *join, struct join_lane *lane)
{
    bool times = join && lane->journal &&
                 !atomic_load(&join->budget->journal_off);
    uint64_t bytes = 0;

    for (size_t i = 0; i < blockmap_slots(&lane->blocks); i++) {
        struct join_lane_block *block = (void *) lane->blocks.slots[i];

        if (!block)
            continue;
        bytes += lane_block_bytes(block, times);
        lane_block_destroy(block);
    }
    /* must agree with journal_bytes */
    if (times)
        atomic_fetch_sub(&join->budget->journal_used,
                         lane->blocks.n * TIMES_BYTES);
    if (join)
        uncharge(join, bytes);
    blockmap_fini(&lane->blocks);
    free(lane);
}

/* Adds a number to a communicator's members. 0, or -1: no memory. */
static int add_member(struct join_comm *comm, uint32_t member)
{
    if (VECTOR_DOUBLE(comm->members, comm->n_members) < 0)
        return -1;
    comm->members[comm->n_members++] = member;
    return 0;
}

struct join_member *join_member_get(struct join *join, uint32_t comm,
                                    uint32_t rank)
{
    uint64_t key = (uint64_t) comm << 32 | rank;
    uint32_t i = keymap_find(&join->member_map, key, 0);
    struct join_member *member;

    if (i != KEYMAP_NONE)
        return join->members[i];
    if (!join_charge(join, SLOT_BYTES) ||
        VECTOR_DOUBLE(join->members, join->n_members) < 0)
        return NULL;
    member = alloc(join, sizeof(*member));
    if (!member || add_member(join->comms[comm], join->n_members) < 0 ||
        keymap_add(&join->member_map, key, 0, join->n_members) < 0) {
        free(member); /* one more of the communicator's numbers is never read */
        return NULL;  /* the join has failed */
    }
    member->comm = comm;
    member->rank = rank;
    /* -1: no process yet, see join_member_process */
    member->pid = -1;
    member->file = join->file;
    member->number = join->n_members;
    join->members[join->n_members++] = member;
    return member;
}

struct join_lane *join_lane_get(struct join *join, struct join_member *member,
                                struct join_series *series, uint32_t func)
{
    struct join_lane *lane;

    for (uint32_t i = 0; i < member->n_lanes; i++)
        if (member->lanes[i]->func == func &&
            member->lanes[i]->series == series)
            return member->lanes[i];
    if (VECTOR_DOUBLE(member->lanes, member->n_lanes) < 0 ||
        !(lane = alloc(join, sizeof(*lane))))
        return NULL;
    lane->series = series;
    lane->func = func;
    lane->journal = series && series->barrier; /* keeps times */
    member->lanes[member->n_lanes++] = lane;
    return lane;
}

/* Bytes for a block's times. 0: the lane keeps none, or the journal's limit is
 * reached. Then no lane keeps times any more, as waits of some ranks only would
 * be misleading. */
static size_t journal_bytes(struct join *join, const struct join_lane *lane)
{
    struct join_budget *budget = join->budget;
    if (!lane->journal)
        return 0;
    if (atomic_fetch_add(&budget->journal_used, TIMES_BYTES) + TIMES_BYTES >
        budget->journal_limit)
        atomic_store(&budget->journal_off, true);
    return atomic_load(&budget->journal_off) ? 0 : TIMES_BYTES;
}

struct join_lane_block *
join_lane_block_get(struct join *join, struct join_lane *lane, uint64_t number)
{
    struct join_lane_block *block = blockmap_find(&lane->blocks, number);

    if (block || !join_charge(join, BLOCK_SLOT_BYTES))
        return block;
    block = alloc(join, sizeof(*block) + journal_bytes(join, lane));
    if (!block)
        return NULL;
    block->number = number;
    if (blockmap_add(&lane->blocks, block) == 0)
        return block;
    free(block);
    return NULL;
}

/* The member that recorded a pair's messages: the receiver of Recv, the sender
 * of Send. NULL: it comes from a partial. */
static struct join_member *p2p_member(const struct join *join,
                                      const struct join_p2p *p2p)
{
    uint32_t rank = p2p->recv ? p2p->dst : p2p->src;
    uint64_t key = (uint64_t) p2p->comm << 32 | rank;
    uint32_t at = keymap_find(&join->member_map, key, 0);

    return at == KEYMAP_NONE ? NULL : join->members[at];
}

struct join_p2p *join_p2p_get(struct join *join, uint32_t comm, uint32_t src,
                              uint32_t dst, bool recv)
{
    /* the key: communicator and direction, and both ranks */
    uint64_t a = (uint64_t) comm << 1 | recv;
    uint64_t b = (uint64_t) src << 32 | dst;
    uint32_t i = keymap_find(&join->p2p_map, a, b);
    struct join_member *member;
    struct join_p2p *p2p;

    if (i != KEYMAP_NONE)
        return join->p2p[i];
    if (!join_charge(join, SLOT_BYTES) ||
        VECTOR_DOUBLE(join->p2p, join->n_p2p) < 0)
        return NULL;
    p2p = alloc(join, sizeof(*p2p));
    if (!p2p || keymap_add(&join->p2p_map, a, b, join->n_p2p) < 0) {
        free(p2p);
        return NULL;
    }
    *p2p =
        (struct join_p2p){.comm = comm, .src = src, .dst = dst, .recv = recv};
    join->p2p[join->n_p2p++] = p2p;
    member = p2p_member(join, p2p);
    /* a member with many pairs has no rates of single pairs */
    if (member)
        member->p2p_rows++;
    return p2p;
}

bool join_p2p_has_rates(const struct join *join, const struct join_p2p *p2p)
{
    const struct join_member *member = p2p_member(join, p2p);

    return member && member->p2p_rows <= JOIN_P2P_ROWS;
}

/* --- what the records of one operation add up to ------------------------- */

void join_row_fill(struct join_row *row, const struct record *r)
{
    /* what a row does not count is not among its sums */
    bool has_rate = !r->busbw_nan && !r->exec_unknown;

    *row =
        (struct join_row){.bytes = r->bytes,
                          .exec_sum = r->exec_us,
                          .exec_min = r->exec_us,
                          .exec_max = r->exec_us,
                          .exec_second = JOIN_NO_TIME,
                          .busbw_sum = has_rate ? r->busbw_micro : 0,
                          .busbw_min = has_rate ? r->busbw_micro : 0,
                          .busbw_max = has_rate ? r->busbw_micro : 0,
                          .dump_min = r->dump_us,
                          .dump_max = r->dump_us,
                          .n = 1,
                          .n_busbw = has_rate,
                          .n_exec = !r->exec_unknown,
                          .min_rank = r->exec_unknown ? JOIN_NO_RANK : r->rank};
}

/* Adds the times of `from`, which has some, to those of `into`: sum, extremes,
 * the second-shortest and which rank had the shortest. */
static void exec_fold(struct join_row *into, const struct join_row *from)
{
    if (!into->n_exec) {
        into->exec_min = from->exec_min;
        into->exec_second = from->exec_second;
        into->min_rank = from->min_rank;
    } else if (from->exec_min < into->exec_min) {
        into->exec_second = from->exec_second < into->exec_min
                                ? from->exec_second
                                : into->exec_min;
        into->exec_min = from->exec_min;
        into->min_rank = from->min_rank;
    } else {
        if (from->exec_min < into->exec_second)
            into->exec_second = from->exec_min;
        if (from->exec_min == into->exec_min)
            into->min_rank = JOIN_NO_RANK; /* both came last */
    }
    if (from->exec_max > into->exec_max)
        into->exec_max = from->exec_max;
    into->exec_sum += from->exec_sum;
    into->n_exec += from->n_exec;
}

void join_row_fold(struct join_row *into, const struct join_row *from)
{
    if (!into->n) {
        *into = *from;
        return;
    }
    into->n += from->n;
    if (from->n_exec)
        exec_fold(into, from);
    if (from->n_busbw) {
        if (!into->n_busbw || from->busbw_min < into->busbw_min)
            into->busbw_min = from->busbw_min;
        if (!into->n_busbw || from->busbw_max > into->busbw_max)
            into->busbw_max = from->busbw_max;
        into->busbw_sum += from->busbw_sum;
        into->n_busbw += from->n_busbw;
    }
    /* 0 is no time stamp, so it must not become the minimum */
    if (from->dump_min && (!into->dump_min || from->dump_min < into->dump_min))
        into->dump_min = from->dump_min;
    if (from->dump_max > into->dump_max)
        into->dump_max = from->dump_max;
}

/* Adds a time to a row that has one. The same as exec_fold of a single time. */
static inline void exec_add(struct join_row *into, uint64_t us, uint32_t rank)
{
    if (us < into->exec_min) {
        into->exec_second = into->exec_min;
        into->exec_min = us;
        into->min_rank = rank;
    } else if (us == into->exec_min) { /* two came last together */
        into->exec_second = us;
        into->min_rank = JOIN_NO_RANK;
    } else if (us < into->exec_second) {
        into->exec_second = us;
    }
    if (us > into->exec_max)
        into->exec_max = us;
    into->exec_sum += us;
    into->n_exec++;
}

/* Adds a bandwidth to a row that has one. */
static inline void busbw_add(struct join_row *into, uint64_t micro)
{
    if (micro < into->busbw_min)
        into->busbw_min = micro;
    if (micro > into->busbw_max)
        into->busbw_max = micro;
    into->busbw_sum += micro;
    into->n_busbw++;
}

/* The general way to add a record: values may be the row's first, or unknown.
 */
static JOIN_RARE void add_any(struct join_row *into, const struct record *r)
{
    struct join_row row;

    join_row_fill(&row, r);
    join_row_fold(into, &row);
}

void join_row_add(struct join_row *into, const struct record *r)
{
    /* the quick way is for rows and records with all values (exec_us 0:
     * unknown) */
    if (!into->n_exec || !into->n_busbw || !into->dump_min || !r->exec_us ||
        r->busbw_nan || !r->dump_us) {
        add_any(into, r);
        return;
    }
    into->n++;
    exec_add(into, r->exec_us, r->rank);
    busbw_add(into, r->busbw_micro);
    if (r->dump_us < into->dump_min)
        into->dump_min = r->dump_us;
    if (r->dump_us > into->dump_max)
        into->dump_max = r->dump_us;
}

void join_stamp_fill(struct join_stamp *stamp, const struct record *r,
                     uint32_t phase)
{
    *stamp = (struct join_stamp){.start_min = r->start_us,
                                 .start_max = r->start_us,
                                 .end_max = r->end_us,
                                 .n = r->start_us != 0,
                                 .phase = phase};
}

void join_stamp_fold(struct join_stamp *into, const struct join_stamp *from)
{
    /* n counts starts, so it shows whether there is a minimum */
    if (from->n && (!into->n || from->start_min < into->start_min))
        into->start_min = from->start_min;
    if (from->start_max > into->start_max)
        into->start_max = from->start_max;
    if (from->end_max > into->end_max)
        into->end_max = from->end_max;
    into->n += from->n;
    /* a rank that gave none does not contradict the others */
    if (from->phase && into->phase && from->phase != into->phase)
        into->phase = JOIN_SEVERAL;
    else if (from->phase)
        into->phase = from->phase;
}

/* --- records of a second size for one sequence number -------------------- */

int join_stray_add(struct join *join, const struct join_stray *stray)
{
    size_t n = join->n_strays;

    /* twice, because the array doubles */
    if (!join_charge(join, 2 * sizeof(*stray)))
        return -1;
    if (VECTOR_DOUBLE(join->strays, n) < 0)
        return -1;
    join->strays[join->n_strays++] = *stray;
    join->comms[stray->comm]->strays = true;
    return 0;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int join_stray_order(const struct join_stray *x, const struct join_stray *y)
{
    int order = compare_numbers(x->comm, y->comm);

    if (!order)
        order = compare_numbers(x->func, y->func);
    if (!order)
        order = compare_numbers(x->sn, y->sn);
    if (!order)
        order = compare_numbers(x->row.bytes, y->row.bytes);
    return order ? order : compare_numbers(x->rank, y->rank);
}

/* Equal records are in the order in which they came, so that the first one
 * counts. */
static int by_arrival(const void *a, const void *b)
{
    const struct join_stray *x = a, *y = b;
    int order = join_stray_order(x, y);

    return order ? order : compare_numbers(x->seq, y->seq);
}

/* Takes back what join_add counted for a record that is a repetition. */
static void take_back(struct join *join, const struct join_stray *stray)
{
    uint64_t key = (uint64_t) stray->comm << 32 | stray->rank;
    struct join_member *member =
        join->members[keymap_find(&join->member_map, key, 0)];

    member->records--;
    join->comms[stray->comm]->records--;
    join->coll_records--;
    join->nan_busbw -= !stray->row.n_busbw;
    join->untimed -= !stray->row.n_exec;
    join->duplicates++;
    /* as in join.c's repeated() */
    if (member->many_files && !join->ordered)
        join->conflict = true;
}

void join_sort_strays(struct join *join)
{
    size_t kept = 0;

    if (!join->n_strays)
        return;
    qsort(join->strays, join->n_strays, sizeof(*join->strays), by_arrival);
    for (size_t i = 0; i < join->n_strays; i++) {
        struct join_stray *stray = &join->strays[i];

        /* the same rank, operation and size: repeated */
        if (kept && join_stray_order(&join->strays[kept - 1], stray) == 0)
            take_back(join, stray);
        else
            join->strays[kept++] = *stray;
    }
    join->n_strays = kept;
}

/* --- keep the smallest of the names that ranks give ----------------------- */

int join_comm_name(struct join_comm *comm, const char *name, size_t len)
{
    char *copy;

    if (!len) /* not every rank has a name */
        return 0;
    if (comm->name) {
        size_t old = strlen(comm->name);
        int order = memcmp(name, comm->name, len < old ? len : old);

        /* a name that is the begin of the other one is the smaller one */
        if (order > 0 || (order == 0 && len >= old))
            return 0;
    }
    copy = strndup(name, len);
    if (!copy)
        return -1;
    free(comm->name);
    comm->name = copy;
    return 0;
}

/* Orders the member's process and another one on the same host. */
static int compare_process(const struct join_member *member,
                           const struct join_process *process)
{
    if (member->pid != process->pid)
        return member->pid < process->pid ? -1 : 1;
    if (member->instance != process->instance)
        return member->instance < process->instance ? -1 : 1;
    return (member->device > process->device) -
           (member->device < process->device);
}

int join_member_process(struct join_member *member,
                        const struct join_process *process)
{
    char *copy = strndup(process->host, process->len);
    int order;

    if (!copy)
        return -1;
    order = member->host ? strcmp(member->host, copy) : 1;
    if (order == 0)
        order = compare_process(member, process);
    /* the smaller process is kept, whatever the order of the files */
    if (member->host && order)
        member->shared = true;
    if (order <= 0) {
        free(copy);
        return 0;
    }
    free(member->host);
    member->host = copy;
    member->pid = process->pid;
    member->instance = process->instance;
    member->device = process->device;
    return 0;
}
