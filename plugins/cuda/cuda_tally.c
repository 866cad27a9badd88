/* cuda_tally.c - what a callback adds to the counters. */
#include "plugins/cuda/cuda_tally.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "plugins/cuda/cuda_calls.h"
#include "plugins/cuda/cuda_cupti.h"

/* Threads share eight rows of sums, so that two seldom want the same line of
 * the processor's cache. */
enum { SHARDS = 8 };

static struct shard {
    _Alignas(128) _Atomic uint64_t sum[CUDA_COUNTERS_N];
} shards[SHARDS];

static atomic_bool off;

/* --- calls ---------------------------------------------------------------- */

struct call {
    uint8_t what, shape;
};

static const struct call calls[CUDA_CALLS_END] = {
#define ROW(name, id, what, shape) [id] = {what, shape},
    CUDA_CALLS(ROW)
#undef ROW
};

static const uint16_t ids[] = {
#define ROW(name, id, what, shape) id,
    CUDA_CALLS(ROW)
#undef ROW
        0};

uint32_t cuda_tally_wants(unsigned i)
{
    return ids[i];
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

static struct shard *own_shard(void)
{
    uint64_t self = (uint64_t) (uintptr_t) pthread_self();

    return &shards[(self * 0x9e3779b97f4a7c15u) >> 61];
}

static void add(struct shard *s, enum cuda_counter i, uint64_t n)
{
    atomic_fetch_add_explicit(&s->sum[i], n, memory_order_relaxed);
}

/* --- allocations ----------------------------------------------------------
 *
 * A free tells an address and no size, so sizes are kept: a table of fixed
 * size with linear probing. What does not fit is not known when it is freed.
 */
enum { SLOTS_BITS = 17, SLOTS = 1 << SLOTS_BITS, SLOTS_USED = SLOTS / 4 * 3 };
/* A handle of cuMemCreate beside addresses, which are below. */
#define HANDLE (1ull << 63)

static struct slot {
    uint64_t at, bytes; /* at 0: free */
} slots[SLOTS];
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t live, peak; /* under lock */

static size_t home(uint64_t at)
{
    return (size_t) ((at * 0x9e3779b97f4a7c15u) >> (64 - SLOTS_BITS));
}

static size_t find(uint64_t at)
{
    size_t i = home(at);

    while (slots[i].at && slots[i].at != at)
        i = (i + 1) % SLOTS;
    return i;
}

/* Those behind it that have probed over it move up. */
static void empty(size_t i)
{
    size_t k = i;

    for (;;) {
        size_t h;

        k = (k + 1) % SLOTS;
        if (!slots[k].at)
            break;
        h = home(slots[k].at);
        if ((k - h) % SLOTS >= (k - i) % SLOTS) {
            slots[i] = slots[k];
            i = k;
        }
    }
    slots[i].at = 0;
    used--;
}

static void keep(uint64_t at, uint64_t bytes)
{
    size_t i;

    if (!at)
        return;
    pthread_mutex_lock(&lock);
    i = find(at);
    if (slots[i].at) { /* freed by a call that is not seen */
        live -= slots[i].bytes;
        slots[i].bytes = bytes;
        live += bytes;
    } else if (used < SLOTS_USED) {
        slots[i] = (struct slot){at, bytes};
        used++;
        live += bytes;
    }
    peak = live > peak ? live : peak;
    pthread_mutex_unlock(&lock);
}

/* Its size; 0: not known. */
static uint64_t take_out(uint64_t at)
{
    uint64_t bytes = 0;
    size_t i;

    if (!at)
        return 0;
    pthread_mutex_lock(&lock);
    i = find(at);
    if (slots[i].at) {
        bytes = slots[i].bytes;
        live -= bytes;
        empty(i);
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* --- arguments ------------------------------------------------------------ */

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t all;

    return __builtin_mul_overflow(a, b, &all) ? 0 : all;
}

static uint64_t copied(enum cuda_shape shape, const void *params)
{
    const struct cu_batch_copy *batch = params;
    const struct cu_plane *plane;
    const struct cu_cube *cube;
    uint64_t all = 0;

    switch (shape) {
    case SHAPE_COPY:
        return ((const struct cu_copy *) params)->bytes;
    case SHAPE_ARRAY:
        return ((const struct cu_array_copy *) params)->bytes;
    case SHAPE_PEER:
        return ((const struct cu_peer_copy *) params)->bytes;
    case SHAPE_PLANE:
        plane = ((const struct cu_plane_copy *) params)->copy;
        return plane ? product(plane->width, plane->height) : 0;
    case SHAPE_CUBE:
        cube = ((const struct cu_cube_copy *) params)->copy;
        return cube ? product(product(cube->width, cube->height), cube->depth)
                    : 0;
    case SHAPE_BATCH:
        for (size_t i = 0; batch->sizes && i < batch->n; i++)
            all += batch->sizes[i];
        return all;
    default:
        return 0;
    }
}

/* CALL_OTHER where the types do not say it: arrays, unified memory. */
static enum cuda_what way(int from, int to)
{
    if (from == CU_HOST && to == CU_DEVICE)
        return CALL_H2D;
    if (from == CU_DEVICE && to == CU_HOST)
        return CALL_D2H;
    return from == CU_DEVICE && to == CU_DEVICE ? CALL_D2D : CALL_OTHER;
}

static enum cuda_what way_of(struct call call, const void *params)
{
    const struct cu_plane *plane;
    const struct cu_cube *cube;

    switch (call.shape & ~SHAPE_LATER) {
    case SHAPE_PLANE:
        plane = ((const struct cu_plane_copy *) params)->copy;
        return plane ? way(plane->from_type, plane->to_type) : CALL_OTHER;
    case SHAPE_CUBE:
        cube = ((const struct cu_cube_copy *) params)->copy;
        return cube ? way(cube->from_type, cube->to_type) : CALL_OTHER;
    default:
        return (enum cuda_what) call.what;
    }
}

static uint64_t n_copies(enum cuda_shape shape, const void *params)
{
    return shape == SHAPE_BATCH ? ((const struct cu_batch_copy *) params)->n
                                : 1;
}

/* --- a call --------------------------------------------------------------- */

static bool is_copy(struct call call)
{
    return call.what >= CALL_H2D && call.what <= CALL_OTHER;
}

static bool is_timed(struct call call)
{
    return call.what == CALL_SYNC ||
           (is_copy(call) && !(call.shape & SHAPE_LATER));
}

static uint64_t name_of(struct call call, const void *params)
{
    uint64_t at = ((const struct cu_free *) params)->at;

    return call.what == CALL_RELEASE && at ? at | HANDLE : at;
}

static void enter(struct call call, const struct cupti_callback *data)
{
    if (!data->scratch)
        return;
    *data->scratch = 0;
    if (is_timed(call))
        *data->scratch = now_ns();
    /* before the driver may give the same address to another thread */
    else if (call.shape == SHAPE_FREE && data->params)
        *data->scratch = take_out(name_of(call, data->params));
}

static uint64_t since(const struct cupti_callback *data)
{
    uint64_t now = now_ns();

    return data->scratch && *data->scratch && now > *data->scratch
               ? now - *data->scratch
               : 0;
}

static void add_copy(struct shard *s, struct call call,
                     const struct cupti_callback *data)
{
    enum cuda_shape shape = (enum cuda_shape)(call.shape & ~SHAPE_LATER);
    unsigned way = way_of(call, data->params) - CALL_H2D;
    enum cuda_counter i = (enum cuda_counter)(CUDA_H2D + 2 * way);

    add(s, i, n_copies(shape, data->params));
    add(s, (enum cuda_counter)(i + 1), copied(shape, data->params));
    if (is_timed(call))
        add(s, CUDA_COPY_NS, since(data));
}

_Static_assert(CALL_OTHER - CALL_H2D == 4 && CUDA_OTHER - CUDA_H2D == 8,
               "ways stand in one order");

static void add_allocation(struct shard *s, struct call call,
                           const struct cupti_callback *data)
{
    const struct cu_alloc *plain = data->params;
    const struct cu_pitch_alloc *pitch = data->params;
    uint64_t at = plain->at ? *plain->at : 0;
    uint64_t bytes = call.shape != SHAPE_PITCH ? plain->bytes
                     : pitch->pitch ? product(*pitch->pitch, pitch->height)
                                    : 0;

    add(s, CUDA_ALLOCS, 1);
    add(s, CUDA_ALLOC_BYTES, bytes);
    keep(call.what == CALL_CREATE && at ? at | HANDLE : at, bytes);
}

static void leave(struct call call, const struct cupti_callback *data)
{
    struct shard *s = own_shard();
    int result = data->result ? *(const int *) data->result : CU_OK;
    uint64_t freed = call.shape == SHAPE_FREE && data->scratch ? *data->scratch
                                                               : 0;

    add(s, CUDA_CALLS, 1);
    if (result != CU_OK) {
        if (result != CU_NOT_READY)
            add(s, CUDA_ERRORS, 1);
        if (freed && data->params)
            keep(name_of(call, data->params), freed);
        return;
    }
    if (is_copy(call) && data->params)
        add_copy(s, call, data);
    else if (call.what == CALL_LAUNCH)
        add(s, CUDA_LAUNCHES, 1);
    else if (call.what == CALL_GRAPH)
        add(s, CUDA_GRAPHS, 1);
    else if (call.what == CALL_SET)
        add(s, CUDA_SETS, 1);
    else if (call.what == CALL_SYNC) {
        add(s, CUDA_SYNCS, 1);
        add(s, CUDA_SYNC_NS, since(data));
    } else if (call.shape == SHAPE_FREE) {
        add(s, CUDA_FREES, 1);
        add(s, CUDA_FREE_BYTES, freed);
    } else if (call.shape == SHAPE_ALLOC || call.shape == SHAPE_PITCH) {
        if (data->params)
            add_allocation(s, call, data);
    }
}

void cuda_tally_see(void *arg, int domain, uint32_t id, const void *cbdata)
{
    const struct cupti_callback *data = cbdata;

    (void) arg;
    if (domain != CUPTI_DRIVER_API || id >= CUDA_CALLS_END || !data ||
        calls[id].what == CALL_NONE ||
        atomic_load_explicit(&off, memory_order_relaxed))
        return;
    if (data->site == CUPTI_ENTER)
        enter(calls[id], data);
    else if (data->site == CUPTI_EXIT)
        leave(calls[id], data);
}

void cuda_tally_take(struct cuda_file_record *record)
{
    memset(record, 0, sizeof(*record));
    for (size_t i = 0; i < SHARDS; i++)
        for (size_t k = 0; k < CUDA_COUNTERS_N; k++)
            record->sum[k] +=
                atomic_load_explicit(&shards[i].sum[k], memory_order_relaxed);
    pthread_mutex_lock(&lock);
    record->live_bytes = live;
    record->peak_bytes = peak;
    pthread_mutex_unlock(&lock);
}

void cuda_tally_stop(void)
{
    atomic_store(&off, true);
}
