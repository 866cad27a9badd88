/* kernels.c - what NCCL's device code does to the memory that its host code
 * sees: steps of the connections, sizes for the network proxies, the profiler's
 * stamps. No data is moved.
 *
 * Rings and the protocol "simple" only (NCCL_ALGO=Ring NCCL_PROTO=Simple), and
 * at most two channels for Sends and Recvs. A kernel is read once into lists of
 * slices, which are then polled channel by channel until all are over or the
 * communicator is aborted. */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contrib/fakecuda/fakecuda.h"
#include "contrib/fakecuda/layout.h"

/* What is the same in all releases. */
enum {
    STEPS = 8, /* of a connection's buffer */
    STAMPS = 64,
    STAMP_BYTES = 16,
    SIMPLE = 2, /* the protocol; there are three */
    N_PROTOCOLS = 3,
    N_OPS = 5,
    N_RING_ALGOS = 6, /* of AllReduce; ring is 1 */
    SIMPLE_GRAIN = 512,
    MAX_CHANNELS = 64,
    WORK_P2P = 0,
    WORK_COLL = 1,
    WORK_COLL_REG = 2,
    WORK_BCAST = 3,
    STORED_IN_ARGS = 0,
};

enum func {
    UNKNOWN,
    P2P,
    ALL_GATHER,
    BROADCAST,
    ALL_GATHER_V,
    ALL_REDUCE,
    REDUCE,
    REDUCE_SCATTER
};

/* What a number of NCCL's table of functions stands for. */
struct function {
    enum func func;
    int elt_bytes;
};

/* Waits for the peers, then posts: steps of the connections recv and send, both
 * or either. */
struct slice {
    struct slice *next;
    char *recv, *send;
    int n_steps;
    long bytes;
};

/* What one group of warps does in order. */
struct lane {
    struct lane *next;
    struct slice *first, **last;
    char *recv, *send; /* connections that it opens and closes */
    uint64_t recv_step, send_step;
    int round; /* steps that an operation's begin is rounded up to */
    bool is_open, is_closed;
};

/* A work of a collective, or all works of a batch of Sends and Recvs. */
struct part {
    struct part *next;
    struct lane *lanes;
    uint64_t ready_ns; /* 0: its lanes are not over */
};

struct batch {
    struct batch *next;
    struct part *parts, **last; /* one after the other */
    bool is_started;
    unsigned n_works;
    uint64_t profiled; /* a bit a work */
};

struct channel {
    int id;
    char *device; /* NCCL's struct */
    struct batch *batches, **last;
    uint64_t counter; /* of works, for the stamps */
};

/* Memory of one kernel. */
struct arena {
    struct arena *next;
    size_t used;
    _Alignas(16) char bytes[65536];
};

enum { MOST_FUNCTIONS = 4096 };

static const struct layout *L; /* of the NCCL in this process */
static struct function functions[MOST_FUNCTIONS];

/* Members of NCCL's structs. */
static uint32_t get32(const char *at, unsigned offset)
{
    uint32_t v;

    memcpy(&v, at + offset, sizeof(v));
    return v;
}

static uint64_t get64(const char *at, unsigned offset)
{
    uint64_t v;

    memcpy(&v, at + offset, sizeof(v));
    return v;
}

static void put64(char *at, unsigned offset, uint64_t v)
{
    memcpy(at + offset, &v, sizeof(v));
}

static char *get_pointer(const char *at, unsigned offset)
{
    return (char *) (uintptr_t) get64(at, offset);
}

static bool get_bit(const char *at, struct layout_bit bit)
{
    return (uint8_t) at[bit.byte] & bit.mask;
}

/* Counters that other threads and processes write. */
static uint64_t load_counter(const char *at)
{
    return __atomic_load_n((const uint64_t *) at, __ATOMIC_SEQ_CST);
}

static void store(char *at, uint64_t v)
{
    __atomic_store_n((uint64_t *) at, v, __ATOMIC_SEQ_CST);
}

static void *take_bytes(struct arena **arena, size_t bytes)
{
    struct arena *a = *arena;
    void *out;

    bytes = (bytes + 15) / 16 * 16;
    if (!a || a->used + bytes > sizeof(a->bytes)) {
        a = malloc(sizeof(*a));
        if (!a)
            abort();
        a->used = 0;
        a->next = *arena;
        *arena = a;
    }
    out = a->bytes + a->used;
    a->used += bytes;
    return memset(out, 0, bytes);
}

static void die(const char *what, int n)
{
    fprintf(stderr, "fakecuda: kernels: %s %d\n", what, n);
    abort();
}

/* -------------------------------------------------- NCCL's table of functions
 */

static void add_function(const int *rows, size_t n_rows, size_t row,
                         enum func func, int elt_bytes)
{
    int id = row < n_rows ? rows[row] : -1;

    if (id >= 0 && id < MOST_FUNCTIONS && functions[id].func == UNKNOWN)
        functions[id] = (struct function){func, elt_bytes};
}

/* The functions of reductions: operations, types, algorithms, protocols. */
static size_t add_reductions(const int *rows, size_t n_rows, size_t row,
                             enum func func, int n_algos, int ring)
{
    static const int type_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    int op, type;

    for (op = 0; op < N_OPS; op++) {
        for (type = 0; type < L->n_types; type++) {
            add_function(rows, n_rows,
                         row + (size_t) (ring * N_PROTOCOLS + SIMPLE), func,
                         type_bytes[type]);
            row += (size_t) (n_algos * N_PROTOCOLS);
        }
    }
    return row;
}

/* The order of the table's rows: generate.py of each release. */
int fake_kernels_init(int version, const int *rows, size_t n_rows)
{
    enum { GATHER_ALGOS = 4 };
    size_t row = 0;

    L = layout_find(version);
    if (!L)
        return -1;
    add_function(rows, n_rows, row, P2P, 1);
    row += 1;
    add_function(rows, n_rows, row + SIMPLE, ALL_GATHER, 1);
    row += (size_t) GATHER_ALGOS * N_PROTOCOLS;
    add_function(rows, n_rows, row + SIMPLE, BROADCAST, 1);
    row += N_PROTOCOLS;
    if (L->has_allgatherv) {
        add_function(rows, n_rows, row + SIMPLE, ALL_GATHER_V, 1);
        row += N_PROTOCOLS;
    }
    row = add_reductions(rows, n_rows, row, ALL_REDUCE, N_RING_ALGOS, 1);
    row = add_reductions(rows, n_rows, row, REDUCE, 1, 0);
    add_reductions(rows, n_rows, row, REDUCE_SCATTER, GATHER_ALGOS, 0);
    return 0;
}

/* ------------------------------------------------------- reading of a kernel
 */

static struct lane *add_lane(struct arena **arena, struct part *part,
                             char *recv, char *send, int round)
{
    struct lane *lane = take_bytes(arena, sizeof(*lane));

    lane->last = &lane->first;
    lane->recv = recv;
    lane->send = send;
    lane->round = round;
    lane->next = part->lanes;
    part->lanes = lane;
    return lane;
}

static struct part *add_part(struct arena **arena, struct batch *batch)
{
    struct part *part = take_bytes(arena, sizeof(*part));

    *batch->last = part;
    batch->last = &part->next;
    return part;
}

/* How a chunk is cut into slices. */
struct cut {
    int n_slices, n_steps, elt_bytes;
    long step_bytes;
};

static void add_chunk(struct arena **arena, struct lane *lane,
                      const struct cut *cut, char *recv, char *send, long n)
{
    long most = cut->step_bytes / cut->elt_bytes * cut->n_steps;
    long left = n > 0 ? n : 0;
    long units = 16L * cut->n_slices;
    long least = (left + units - 1) / units * 16;
    long each = least > most / 32 ? least : most / 32;
    int i;

    for (i = 0; i < cut->n_slices; i++) {
        struct slice *slice = take_bytes(arena, sizeof(*slice));
        long size = each < left ? each : left;

        *slice = (struct slice){.recv = recv,
                                .send = send,
                                .n_steps = cut->n_steps,
                                .bytes = size * cut->elt_bytes};
        *lane->last = slice;
        lane->last = &slice->next;
        left -= size;
    }
}

static char *connection(const char *channel, int peer, unsigned side,
                        unsigned which)
{
    char *peers = get_pointer(channel, L->channel_peers);
    char *of = get_pointer(peers, (unsigned) peer * sizeof(char *));

    return of + side + which * L->conn_size;
}

/* The part of a collective that a channel has: elements, and those of a chunk.
 */
static void get_share(const char *work, int channel, int elt_bytes, long *count,
                      long *chunk)
{
    enum { GRAIN_BITS = 21 };
    int low = (uint8_t) work[0], high = (uint8_t) work[1];
    int third = channel == low ? 0 : channel == high ? 2 : 1;
    uint64_t grains = get64(work, L->coll_parts + 24U);

    *count = (long) get64(work, L->coll_parts + 8U * (unsigned) third);
    *chunk =
        (long) (grains >> (third * GRAIN_BITS) & ((1U << GRAIN_BITS) - 1)) *
        (SIMPLE_GRAIN / elt_bytes);
}

/* Where the chunk number i of a loop begins and what it has. */
static long chunk_of_loop(int i, int n, long chunk, long rest)
{
    long from = i % n * chunk;

    return from >= rest ? 0 : rest - from < chunk ? rest - from : chunk;
}

static void read_all_reduce(struct arena **arena, struct lane *lane,
                            const struct cut *cut, int n, int index, long count,
                            long grain)
{
    char *recv = lane->recv, *send = lane->send;
    long at;
    int j;

    for (at = 0; at < count; at += n * grain) {
        long rest = count - at, chunk = grain;

        if (rest < n * grain) {
            long unit = 16 / cut->elt_bytes;

            chunk = ((rest + n - 1) / n + unit - 1) / unit * unit;
        }
        add_chunk(arena, lane, cut, NULL, send,
                  chunk_of_loop(index + n - 1, n, chunk, rest));
        for (j = 2; j < n; j++)
            add_chunk(arena, lane, cut, recv, send,
                      chunk_of_loop(index + n - j, n, chunk, rest));
        add_chunk(arena, lane, cut, recv, send,
                  chunk_of_loop(index, n, chunk, rest));
        for (j = 1; j < n - 1; j++)
            add_chunk(arena, lane, cut, recv, send,
                      chunk_of_loop(index + n - j, n, chunk, rest));
        add_chunk(arena, lane, cut, recv, NULL,
                  chunk_of_loop(index + 1, n, chunk, rest));
    }
}

static void read_collective(struct arena **arena, const char *comm,
                            const struct channel *c, const char *work,
                            struct function f, struct part *part)
{
    const char *ring = c->device;
    const char *users = get_pointer(ring, L->channel_users);
    int n = (int) get32(comm, L->comm_ranks);
    bool is_rooted = f.func == BROADCAST || f.func == REDUCE;
    struct cut cut = {
        .n_slices = is_rooted ? 1 : 2,
        .n_steps = is_rooted ? 1 : 2,
        .elt_bytes = f.elt_bytes,
        .step_bytes = (int) get32(comm, L->comm_buffers + 4U * SIMPLE) / STEPS};
    char *recv =
        connection(ring, (int) get32(ring, L->channel_prev), L->peer_recv, 0);
    char *send =
        connection(ring, (int) get32(ring, L->channel_next), L->peer_send, 0);
    struct lane *lane =
        add_lane(arena, part, recv, send, cut.n_steps * cut.n_slices);
    uint32_t root = get32(work, L->coll_root), mine = get32(users, 0);
    bool is_first = f.func == BROADCAST
                        ? mine == root
                        : get32(users, 4U * (unsigned) (n - 1)) == root;
    bool is_last = f.func == BROADCAST ? get32(users, 4) == root : mine == root;
    long count, grain, at;
    int j;

    get_share(work, c->id, f.elt_bytes, &count, &grain);
    if (f.func == ALL_REDUCE) {
        read_all_reduce(arena, lane, &cut, n,
                        (int) get32(ring, L->channel_index), count, grain);
        return;
    }
    for (at = 0; at < count; at += grain) {
        long chunk = count - at < grain ? count - at : grain;

        if (is_rooted) {
            add_chunk(arena, lane, &cut, is_first ? NULL : recv,
                      is_last ? NULL : send, chunk);
            continue;
        }
        add_chunk(arena, lane, &cut, NULL, send, chunk);
        for (j = 1; j < n - 1; j++)
            add_chunk(arena, lane, &cut, recv, send, chunk);
        add_chunk(arena, lane, &cut, recv, NULL, chunk);
    }
}

/* A number of eight bits: three of them are the mantissa. */
static long decode_chunk(uint8_t x)
{
    unsigned exponent = x >> 3, mantissa = x & 7U;

    return exponent ? (long) (mantissa | 8U) << (exponent - 1)
                    : (long) mantissa;
}

/* Cuts the part of one direction's bytes that this channel has. */
static void read_direction(struct arena **arena, const char *comm,
                           const struct channel *c, const char *work,
                           bool is_send, struct part *part)
{
    int n_channels = (uint8_t) work[L->p2p_channels];
    int base = (uint8_t) work[L->p2p_base];
    int which = (c->id - base) & (n_channels - 1);
    int n_parts = (uint8_t) work[is_send ? L->p2p_sends : L->p2p_recvs];
    int peer = (int) get32(work, is_send ? L->p2p_send_rank : L->p2p_recv_rank);
    uint8_t coded =
        (uint8_t) work[is_send ? L->p2p_send_chunk : L->p2p_recv_chunk];
    long bytes =
        (long) get64(work, is_send ? L->p2p_send_bytes : L->p2p_recv_bytes);
    long per = ((bytes + n_parts - 1) / (n_parts ? n_parts : 1) + 4095) / 4096 *
               4096;
    long from = which * per < bytes ? which * per : bytes;
    long to = from + per < bytes ? from + per : bytes;
    long unit = decode_chunk(coded), at = 0;
    struct cut cut = {.n_slices = 1,
                      .n_steps = 1,
                      .elt_bytes = 1,
                      .step_bytes = (int) get32(comm, L->comm_p2p_chunk)};
    char *conn;
    struct lane *lane;

    if (which >= n_parts)
        return;
    if (get_bit(work, is_send ? L->p2p_send_ll : L->p2p_recv_ll))
        die("Send or Recv with protocol LL, peer", peer);
    conn =
        connection(c->device, peer, is_send ? L->peer_send : L->peer_recv, 1);
    lane =
        add_lane(arena, part, is_send ? NULL : conn, is_send ? conn : NULL, 1);
    do {
        long left = to - from - at;
        long chunk = unit < left ? unit : left;

        add_chunk(arena, lane, &cut, lane->recv, lane->send, chunk);
        at += chunk;
    } while (at < to - from);
}

static void read_p2p(struct arena **arena, const char *comm,
                     const struct channel *c, const char *work,
                     struct part *part)
{
    /* a copy to oneself */
    if (get32(work, L->p2p_send_rank) == get32(comm, L->comm_rank))
        return;
    read_direction(arena, comm, c, work, false, part);
    read_direction(arena, comm, c, work, true, part);
}

/* Broadcasts of several roots in one: chunk by chunk, root by root. */
static void read_all_gather_v(struct arena **arena, const char *comm,
                              const struct channel *c, const char *const *works,
                              size_t n_works, struct part *part)
{
    const char *ring = c->device;
    int last = (int) get32(comm, L->comm_ranks) - 1;
    struct cut cut = {
        .n_slices = 1,
        .n_steps = 1,
        .elt_bytes = 1,
        .step_bytes = (int) get32(comm, L->comm_buffers + 4U * SIMPLE) / STEPS};
    char *recv =
        connection(ring, (int) get32(ring, L->channel_prev), L->peer_recv, 0);
    char *send =
        connection(ring, (int) get32(ring, L->channel_next), L->peer_send, 0);
    struct lane *lane = add_lane(arena, part, recv, send, 1);
    uint64_t at[64] = {0};
    bool is_open = true;
    size_t i;

    while (is_open) {
        is_open = false;
        for (i = 0; i < n_works; i++) {
            uint64_t left = get64(works[i], L->bcast_bytes) - at[i];
            uint64_t chunk = get32(works[i], L->bcast_chunk);
            int depth = (int) get32(works[i], L->bcast_depth);

            if (chunk > left)
                chunk = left;
            if (chunk)
                add_chunk(arena, lane, &cut, depth == 0 ? NULL : recv,
                          depth == last ? NULL : send, (long) chunk);
            at[i] += chunk;
            is_open = is_open || chunk < left;
        }
    }
}

static size_t work_size(unsigned type)
{
    return type == WORK_P2P        ? L->p2p_size
           : type == WORK_COLL     ? L->coll_size
           : type == WORK_COLL_REG ? L->coll_reg_size
                                   : L->bcast_size;
}

/* Reads one of NCCL's batches into ours. Returns the works of a merged
 * Broadcast, which are one part together. */
static size_t read_works(struct arena **arena, const char *args,
                         const char *comm, const struct channel *c,
                         const char *from, struct batch *batch,
                         const char *bcasts[64])
{
    uint32_t flags = get32(from, 0);
    unsigned type = flags >> 15 & 3, id = flags >> 17;
    uint64_t bits = get64(from, L->batch_bits);
    size_t n_bcasts = 0;
    unsigned bit;

    for (bit = 0; bit < 64; bit++) {
        uint32_t at = get32(from, L->batch_base) +
                      bit * (uint32_t) work_size(type);
        struct layout_bit profiled = type == WORK_P2P ? L->p2p_profiled
                                                      : L->coll_profiled;
        const char *work;

        if (!(bits >> bit & 1))
            continue;
        work = args[L->args_storage] == STORED_IN_ARGS
                   ? args + at
                   : get_pointer(args, L->args_buf) +
                         (at & get32(args, L->args_mask));
        if (batch->n_works == 64)
            die("more works in a batch than", 64);
        /* for a merged Broadcast, too, NCCL reads the flag of a collective */
        if (get_bit(work, profiled))
            batch->profiled |= 1ULL << batch->n_works;
        batch->n_works++;
        if (type == WORK_P2P) {
            read_p2p(arena, comm, c, work,
                     batch->parts ? batch->parts : add_part(arena, batch));
        } else if (type == WORK_BCAST) {
            bcasts[n_bcasts++] = work;
        } else {
            if (id >= MOST_FUNCTIONS || functions[id].func < ALL_GATHER)
                die("unknown function", (int) id);
            read_collective(arena, comm, c, work, functions[id],
                            add_part(arena, batch));
        }
    }
    return n_bcasts;
}

/* Reads what the block of one channel has to do. */
static void read_channel(struct arena **arena, const char *args,
                         const char *comm, unsigned block, struct channel *c)
{
    const char *from = args + L->args_size + (size_t) block * L->batch_size;
    bool is_extended = false;
    struct batch *batch = NULL;

    for (;;) {
        uint32_t flags = get32(from, 0);
        unsigned jump = flags & 0x3FFF;
        const char *bcasts[64];
        size_t n;

        if (!is_extended) {
            batch = take_bytes(arena, sizeof(*batch));
            batch->last = &batch->parts;
            *c->last = batch;
            c->last = &batch->next;
        }
        n = read_works(arena, args, comm, c, from, batch, bcasts);
        if (n > 0)
            read_all_gather_v(arena, comm, c, bcasts, n,
                              add_part(arena, batch));
        is_extended = flags & 0x4000;
        if (!jump)
            return;
        from += (size_t) jump * L->batch_size;
    }
}

/* ------------------------------------------------------------------ running */

static void open_lane(struct lane *lane)
{
    uint64_t round = (uint64_t) lane->round;

    if (lane->recv) {
        uint64_t step = get64(lane->recv, L->conn_step);

        lane->recv_step = (step + round - 1) / round * round;
        store(get_pointer(lane->recv, L->conn_head), lane->recv_step);
    }
    if (lane->send) {
        uint64_t step = get64(lane->send, L->conn_step);

        lane->send_step = (step + round - 1) / round * round;
    }
    lane->is_open = true;
}

static bool slice_is_ready(const struct lane *lane, const struct slice *slice)
{
    uint64_t n = (uint64_t) slice->n_steps;

    if (slice->recv && load_counter(get_pointer(slice->recv, L->conn_tail)) <
                           lane->recv_step + n)
        return false;
    return !slice->send ||
           load_counter(get_pointer(slice->send, L->conn_head)) + STEPS >=
               lane->send_step + n;
}

static void post_slice(struct lane *lane, const struct slice *slice)
{
    uint64_t n = (uint64_t) slice->n_steps;

    if (slice->send) {
        char *fifo = get_pointer(slice->send, L->conn_fifo);

        if (fifo)
            store(fifo + lane->send_step % STEPS * L->fifo_entry_size +
                      L->fifo_size,
                  (uint64_t) slice->bytes);
        lane->send_step += n;
        store(get_pointer(slice->send, L->conn_tail), lane->send_step);
    }
    if (slice->recv) {
        lane->recv_step += n;
        store(get_pointer(slice->recv, L->conn_head), lane->recv_step);
    }
}

/* Returns whether something moved. */
static bool poll_lane(struct lane *lane)
{
    bool moved = false;

    if (!lane->is_open)
        open_lane(lane);
    while (lane->first && slice_is_ready(lane, lane->first)) {
        post_slice(lane, lane->first);
        lane->first = lane->first->next;
        moved = true;
    }
    if (lane->first || lane->is_closed)
        return moved;
    if (lane->recv)
        put64(lane->recv, L->conn_step, lane->recv_step);
    if (lane->send)
        put64(lane->send, L->conn_step, lane->send_step);
    lane->is_closed = true;
    return true;
}

/* The stamps of a batch: all its works share its begin and its end. The GPU's
 * timer counts 32 ns. */
static void put_stamps(const char *comm, struct channel *c,
                       const struct batch *batch, bool is_stop, unsigned drop)
{
    char *all = L->comm_started ? get_pointer(comm, is_stop ? L->comm_completed
                                                            : L->comm_started)
                                : NULL;
    struct timespec t;
    uint64_t now_ns;
    unsigned i;

    clock_gettime(CLOCK_REALTIME, &t);
    now_ns = ((uint64_t) t.tv_sec * 1000000000U + (uint64_t) t.tv_nsec) &
             ~31ULL;
    for (i = 0; all && i < batch->n_works; i++) {
        uint64_t number = c->counter + 1 + i;
        char *at = all +
                   ((size_t) c->id * STAMPS + number % STAMPS) * STAMP_BYTES;

        if (!(batch->profiled >> i & 1) ||
            (drop && c->id && number % drop == 0))
            continue;
        store(at + 8, now_ns);
        store(at, number);
    }
    if (is_stop)
        c->counter += batch->n_works;
}

struct pace {
    uint64_t least_ns; /* of a work */
    unsigned drop;     /* FAKECUDA_DROP_STAMP */
};

/* Polls a part. Returns whether it is over; lowers *wake_ns to the time at
 * which it will be. */
static bool poll_part(struct part *part, const struct pace *pace, bool *moved,
                      uint64_t *wake_ns)
{
    struct lane *lane;
    bool is_over = true;

    if (!part->ready_ns) {
        for (lane = part->lanes; lane; lane = lane->next) {
            *moved |= !lane->is_closed && poll_lane(lane);
            is_over = is_over && lane->is_closed;
        }
        if (!is_over)
            return false;
        part->ready_ns = fake_now_ns() + pace->least_ns;
    }
    if (fake_now_ns() >= part->ready_ns)
        return true;
    if (part->ready_ns < *wake_ns)
        *wake_ns = part->ready_ns;
    return false;
}

/* Returns whether something moved. */
static bool poll_channel(const char *comm, struct channel *c,
                         const struct pace *pace, uint64_t *wake_ns)
{
    bool moved = false;

    while (c->batches) {
        struct batch *batch = c->batches;

        if (!batch->is_started) {
            batch->is_started = true;
            put_stamps(comm, c, batch, false, pace->drop);
            moved = true;
        }
        while (batch->parts && poll_part(batch->parts, pace, &moved, wake_ns)) {
            batch->parts = batch->parts->next;
            moved = true;
        }
        if (batch->parts)
            return moved;
        put_stamps(comm, c, batch, true, pace->drop);
        c->batches = batch->next;
    }
    return moved;
}

static unsigned number(const char *name)
{
    const char *text = getenv(name);

    return text ? (unsigned) strtoul(text, NULL, 10) : 0;
}

/* Rests where nothing moves: first the thread yields, then it sleeps. */
static void rest(unsigned *idle, uint64_t wake_ns)
{
    enum { YIELDS = 20, MOST_NS = 50000, MOST_KNOWN_NS = 2000000 };
    bool is_known = wake_ns != UINT64_MAX;
    uint64_t now_ns = fake_now_ns();
    uint64_t ns = is_known ? wake_ns > now_ns ? wake_ns - now_ns : 0 : MOST_NS;

    if (!is_known && (*idle)++ < YIELDS) {
        sched_yield();
        return;
    }
    nanosleep(
        &(struct timespec){
            .tv_nsec = (long) (ns < MOST_KNOWN_NS ? ns : MOST_KNOWN_NS)},
        NULL);
}

/* Polls all channels until they are over, or NCCL aborts the communicator. */
static void run_channels(const char *comm, struct channel *channels, unsigned n)
{
    const volatile uint32_t *abort_flag =
        (const volatile uint32_t *) get_pointer(comm, L->comm_abort);
    struct pace pace = {.least_ns = number("FAKECUDA_KERNEL_US") * 1000ULL,
                        .drop = number("FAKECUDA_DROP_STAMP")};
    unsigned idle = 0, i;

    while (!*abort_flag) {
        uint64_t wake_ns = UINT64_MAX;
        bool moved = false, is_over = true;

        for (i = 0; i < n; i++) {
            moved |= poll_channel(comm, &channels[i], &pace, &wake_ns);
            is_over = is_over && !channels[i].batches;
        }
        if (is_over)
            return;
        if (moved)
            idle = 0;
        else
            rest(&idle, wake_ns);
    }
}

void fake_kernel(const char *args)
{
    const char *comm;
    struct channel channels[MAX_CHANNELS];
    struct arena *arena = NULL;
    uint64_t mask;
    unsigned n = 0, i;
    int id;

    if (!L)
        die("NCCL's release is not known", 0);
    comm = get_pointer(args, L->args_comm);
    mask = get64(args, L->args_channels);
    for (id = 0; id < MAX_CHANNELS; id++) {
        struct channel *c = &channels[n];

        if (!(mask >> id & 1))
            continue;
        *c = (struct channel){.id = id,
                              .device = (char *) comm + L->comm_channels +
                                        (size_t) id * L->channel_size};
        c->last = &c->batches;
        if (L->channel_counter)
            c->counter = get64(c->device, L->channel_counter);
        read_channel(&arena, args, comm, n++, c);
    }
    run_channels(comm, channels, n);
    for (i = 0; i < n && L->channel_counter; i++)
        put64(channels[i].device, L->channel_counter, channels[i].counter);
    while (arena) {
        struct arena *next = arena->next;

        free(arena);
        arena = next;
    }
}
