/* join_parts.c - find or make communicators, members, series and lanes. */
#include "orchestrator/aggregate/join_parts.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/ingest/recfile.h"

/* What a slot in a hash and a pointer in an array cost besides, doubled for
 * their growth. */
enum { SLOT_BYTES = 64, BLOCK_SLOT_BYTES = 16 };

enum {
    FEW_ROWS = 4, /* JOIN_BLOCK is a power of 4 times that */
    TIMES_BYTES = JOIN_BLOCK * sizeof(uint16_t), /* of a lane's block */
    BELOW_FIRST = 1 << 14, /* us that times may be below the block's first */
};

bool join_charge(struct join *join, uint64_t bytes)
{
    struct join_budget *budget = join->budget;

    if (atomic_fetch_add(&budget->used, bytes) + bytes <= budget->limit) {
        join->charged += bytes;
        return true;
    }
    atomic_fetch_sub(&budget->used, bytes);
    join->over = true;
    return false;
}

/* Takes bytes from what the join was charged, or what there is; how many. */
static uint64_t take_charge(struct join *join, uint64_t bytes)
{
    uint64_t had = atomic_load(&join->charged), some;

    do
        some = bytes < had ? bytes : had;
    while (!atomic_compare_exchange_weak(&join->charged, &had, had - some));
    return some;
}

static void uncharge(struct join *join, uint64_t bytes)
{
    bytes = take_charge(join, bytes);
    atomic_fetch_add(&join->freed, bytes);
    atomic_fetch_sub(&join->budget->used, bytes);
}

void *join_alloc(struct join *join, size_t bytes)
{
    return join_charge(join, bytes) ? calloc(1, bytes) : NULL;
}

/* Room for one more pointer; the array doubles at powers of two. */
static int grow(void *array_of_pointers, uint32_t n)
{
    void **array = array_of_pointers, *more;

    if (n & (n - 1))
        return 0;
    more = reallocarray(*array, n ? 2 * (size_t) n : 1, sizeof(void *));
    if (!more)
        return -1;
    *array = more;
    return 0;
}

uint32_t join_func_get(struct join *join, const char *name, size_t len)
{
    for (uint32_t i = 0; i < join->n_funcs; i++)
        if (!strncmp(join->funcs[i], name, len) && !join->funcs[i][len])
            return i;
    if (join->n_funcs >= JOIN_MAX_FUNCS) {
        join->over = true;
        return KEYMAP_NONE;
    }
    if (grow(&join->funcs, join->n_funcs) < 0 ||
        !(join->funcs[join->n_funcs] = strndup(name, len)))
        return KEYMAP_NONE;
    return join->n_funcs++;
}

/* The id's digits as a number; 16 of them fit. */
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

/* What tells communicators of one id value apart. */
static uint64_t shape_value(size_t id_len, uint32_t n_ranks, uint32_t nnodes)
{
    return (uint64_t) id_len << 48 | (uint64_t) n_ranks << 24 | nnodes;
}

void join_counts_fold(struct join_comm *into, const struct jpr_counts *counts)
{
    into->counted = true;
    into->counts.produced = join_sum(into->counts.produced, counts->produced);
    into->counts.written = join_sum(into->counts.written, counts->written);
    into->counts.lost = join_sum(into->counts.lost, counts->lost);
    into->counts.left_out = join_sum(into->counts.left_out, counts->left_out);
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
    if (!join_charge(join, SLOT_BYTES) || grow(&join->comms, join->n_comms))
        return KEYMAP_NONE;
    comm = join_alloc(join, sizeof(*comm));
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

bool join_is_barrier(const char *func)
{
    return !strcmp(func, "AllReduce") || !strcmp(func, "AllGather") ||
           !strcmp(func, "ReduceScatter");
}

/* The copy engines' operations are numbered by one counter a communicator. */
static bool is_numbered_together(const char *func)
{
    size_t len = strlen(func), n = strlen(RECFILE_CE);

    return len > n && !strcmp(func + len - n, RECFILE_CE);
}

struct join_series *join_series_get(struct join *join, struct join_comm *comm,
                                    uint32_t func)
{
    struct join_series *series;

    for (uint32_t i = 0; i < comm->n_series; i++)
        if (comm->series[i]->func == func)
            return comm->series[i];
    if (grow(&comm->series, comm->n_series) < 0 ||
        !(series = join_alloc(join, sizeof(*series))))
        return NULL;
    series->func = func;
    series->barrier = comm->n_ranks != 1 && join_is_barrier(join->funcs[func]);
    series->shares = is_numbered_together(join->funcs[func]);
    comm->series[comm->n_series++] = series;
    return series;
}

struct join_block *join_block_get(struct join *join, struct join_series *series,
                                  uint64_t number)
{
    struct join_block *block = blockmap_find(&series->blocks, number);

    if (block || !join_charge(join, BLOCK_SLOT_BYTES))
        return block;
    block = join_alloc(join, sizeof(*block));
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

    while (room <= k)
        room *= 4;
    rows = join_alloc(join, room * sizeof(*rows));
    if (!rows)
        return -1;
    if (block->room) {
        memcpy(rows, block->rows, block->room * sizeof(*rows));
        uncharge(join, block->room * sizeof(*rows));
    }
    free(block->rows);
    block->rows = rows;
    block->room = room;
    return 0;
}

int join_stamps_get(struct join *join, struct join_block *block)
{
    if (!block->stamps)
        block->stamps = join_alloc(join, JOIN_BLOCK * sizeof(*block->stamps));
    return block->stamps ? 0 : -1;
}

static uint64_t block_bytes(const struct join_block *block)
{
    return sizeof(*block) + BLOCK_SLOT_BYTES +
           block->room * sizeof(*block->rows) +
           (block->stamps ? JOIN_BLOCK * sizeof(*block->stamps) : 0);
}

static void move_charge(struct join *into, struct join *from, uint64_t bytes)
{
    atomic_fetch_add(&into->charged, take_charge(from, bytes));
}

void join_move_block(struct join *into, struct join *from,
                     const struct join_block *block)
{
    move_charge(into, from, block_bytes(block));
}

void join_lane_block_destroy(struct join_lane_block *block)
{
    if (block)
        free(block->wide);
    free(block);
}

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
    if (!block->wide && !block->based) {
        block->base = exec_us > BELOW_FIRST ? exec_us - BELOW_FIRST : 0;
        block->based = true;
    }
    if (!block->wide && exec_us - block->base <= UINT16_MAX) {
        block->narrow[k] = (uint16_t) (exec_us - block->base);
        return 0;
    }
    if (!block->wide) { /* base is what it was until all are copied */
        uint32_t *wide = join_alloc(join, JOIN_BLOCK * sizeof(*wide));

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
    uncharge(join, bytes);
    blockmap_fini(&series->blocks);
}

void join_lane_free(struct join *join, struct join_lane *lane)
{
    bool times = lane->journal && !atomic_load(&join->budget->journal_off);
    uint64_t bytes = 0;

    for (size_t i = 0; i < blockmap_slots(&lane->blocks); i++) {
        struct join_lane_block *block = (void *) lane->blocks.slots[i];

        if (!block)
            continue;
        bytes += lane_block_bytes(block, times);
        join_lane_block_destroy(block);
    }
    if (times)
        atomic_fetch_sub(&join->budget->journal_used,
                         lane->blocks.n * TIMES_BYTES);
    uncharge(join, bytes);
    blockmap_fini(&lane->blocks);
    free(lane);
}

void join_give_back(struct join *join)
{
    atomic_fetch_sub(&join->budget->used, join->charged);
    join->charged = 0;
}

static int add_member(struct join_comm *comm, uint32_t member)
{
    uint32_t n = comm->n_members, *more = comm->members;

    if (!(n & (n - 1)))
        more = reallocarray(more, n ? 2 * (size_t) n : 1, sizeof(*more));
    if (!more)
        return -1;
    comm->members = more;
    more[comm->n_members++] = member;
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
    if (!join_charge(join, SLOT_BYTES) || grow(&join->members, join->n_members))
        return NULL;
    member = join_alloc(join, sizeof(*member));
    if (!member || add_member(join->comms[comm], join->n_members) < 0 ||
        keymap_add(&join->member_map, key, 0, join->n_members) < 0) {
        free(member); /* of the communicator's, one more is never looked at: */
        return NULL;  /* the join has failed */
    }
    member->comm = comm;
    member->rank = rank;
    member->pid = -1;
    member->file = join->file;
    member->number = join->n_members;
    join->members[join->n_members++] = member;
    return member;
}

int join_touch(struct join *join, struct join_member *member)
{
    if (member->turn == join->turn)
        return 0;
    if (join->n_touched == join->room_touched) {
        uint32_t room = join->room_touched ? 2 * join->room_touched : 16;
        uint32_t *more = reallocarray(join->touched, room, sizeof(*more));

        if (!more)
            return -1;
        join->touched = more;
        join->room_touched = room;
    }
    join->touched[join->n_touched++] = member->number;
    member->turn = join->turn;
    return 0;
}

struct join_lane *join_lane_get(struct join *join, struct join_member *member,
                                struct join_series *series, uint32_t func)
{
    struct join_lane *lane;

    for (uint32_t i = 0; i < member->n_lanes; i++)
        if (member->lanes[i]->func == func &&
            member->lanes[i]->series == series)
            return member->lanes[i];
    if (grow(&member->lanes, member->n_lanes) < 0 ||
        !(lane = join_alloc(join, sizeof(*lane))))
        return NULL;
    lane->series = series;
    lane->func = func;
    lane->journal = series && series->barrier;
    member->lanes[member->n_lanes++] = lane;
    return lane;
}

/* Bytes of times the block shall hold; none once there were too many. */
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
    block = join_alloc(join, sizeof(*block) + journal_bytes(join, lane));
    if (!block)
        return NULL;
    block->number = number;
    if (blockmap_add(&lane->blocks, block) == 0)
        return block;
    free(block);
    return NULL;
}

struct join_p2p *join_p2p_get(struct join *join, uint32_t comm, uint32_t src,
                              uint32_t dst, bool recv)
{
    uint64_t a = (uint64_t) comm << 1 | recv;
    uint64_t b = (uint64_t) src << 32 | dst;
    uint32_t i = keymap_find(&join->p2p_map, a, b);
    struct join_member *member;
    struct join_p2p *p2p;

    if (i != KEYMAP_NONE)
        return join->p2p[i];
    if (!join_charge(join, SLOT_BYTES) || grow(&join->p2p, join->n_p2p))
        return NULL;
    p2p = join_alloc(join, sizeof(*p2p));
    if (!p2p || keymap_add(&join->p2p_map, a, b, join->n_p2p) < 0) {
        free(p2p);
        return NULL;
    }
    *p2p =
        (struct join_p2p){.comm = comm, .src = src, .dst = dst, .recv = recv};
    join->p2p[join->n_p2p++] = p2p;
    member = join_p2p_member(join, p2p);
    if (member)
        member->p2p_rows++;
    return p2p;
}

struct join_member *join_p2p_member(const struct join *join,
                                    const struct join_p2p *p2p)
{
    uint32_t rank = p2p->recv ? p2p->dst : p2p->src;
    uint64_t key = (uint64_t) p2p->comm << 32 | rank;
    uint32_t at = keymap_find(&join->member_map, key, 0);

    return at == KEYMAP_NONE ? NULL : join->members[at];
}

bool join_p2p_has_rates(const struct join *join, const struct join_p2p *p2p)
{
    const struct join_member *member = join_p2p_member(join, p2p);

    return member && member->p2p_rows <= JOIN_P2P_ROWS;
}
