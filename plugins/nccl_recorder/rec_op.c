/* Operations in flight, and the handles NCCL holds for them. */
#include "plugins/nccl_recorder/rec_op.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* 256 slots are about 300 KB; 256 chunks bound the table at 75 MB. NCCL keeps
 * no more than about a thousand launches in flight on one stream. */
enum { CHUNK_SLOTS = 256, MAX_CHUNKS = 256 };

/* Bits of a handle: kind 4, channel 8, index 20, generation 32. */
enum { CHANNEL_SHIFT = 4, INDEX_SHIFT = 12, GENERATION_SHIFT = 32 };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct jp_rec_op *) chunks[MAX_CHUNKS];
static atomic_int n_chunks;
static struct jp_rec_op *free_slots;
static atomic_int n_loose;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t) ts.tv_sec * 1000000000U + (uint64_t) ts.tv_nsec;
}

uint64_t rec_op_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t rec_op_wall_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

/* Adds a chunk of free slots; 0 or -1. Called with table_lock. */
static int grow(void)
{
    int n = atomic_load(&n_chunks);
    struct jp_rec_op *chunk;
    int i;

    if (n == MAX_CHUNKS)
        return -1;
    chunk = calloc(CHUNK_SLOTS, sizeof(*chunk));
    if (!chunk)
        return -1;
    for (i = CHUNK_SLOTS - 1; i >= 0; i--) {
        pthread_mutex_init(&chunk[i].lock, NULL);
        chunk[i].index = (uint32_t) (n * CHUNK_SLOTS + i);
        chunk[i].generation = 1;
        chunk[i].next_free = free_slots;
        free_slots = &chunk[i];
    }
    atomic_store(&chunks[n], chunk);
    atomic_store(&n_chunks, n + 1);
    return 0;
}

/* Zeroes what belongs to one operation and keeps what belongs to the slot.
 * The channels are left: a start writes both members before a stop reads. */
static void reset(struct jp_rec_op *op)
{
    const size_t from = offsetof(struct jp_rec_op, comm);
    const size_t to = offsetof(struct jp_rec_op, channels);

    memset((char *) op + from, 0, to - from);
    op->next_free = NULL;
    op->live = true;
}

struct jp_rec_op *rec_op_create(void)
{
    struct jp_rec_op *op;

    pthread_mutex_lock(&table_lock);
    if (!free_slots)
        (void) grow();
    op = free_slots;
    if (op)
        free_slots = op->next_free;
    pthread_mutex_unlock(&table_lock);
    if (!op)
        return NULL;
    pthread_mutex_lock(&op->lock);
    reset(op);
    return op;
}

void *rec_op_handle(const struct jp_rec_op *op, enum jp_rec_kind kind,
                    unsigned channel)
{
    uint64_t bits = (uint64_t) kind | (uint64_t) channel << CHANNEL_SHIFT |
                    (uint64_t) op->index << INDEX_SHIFT |
                    (uint64_t) op->generation << GENERATION_SHIFT;

    return (void *) (uintptr_t) bits;
}

struct jp_rec_op *rec_op_find(void *handle, enum jp_rec_kind *kind,
                              unsigned *channel)
{
    uint64_t bits = (uint64_t) (uintptr_t) handle;
    uint32_t index = (uint32_t) (bits >> INDEX_SHIFT) & 0xFFFFF;
    struct jp_rec_op *op;

    if (!handle || index >= (uint32_t) atomic_load(&n_chunks) * CHUNK_SLOTS)
        return NULL;
    op = atomic_load(&chunks[index / CHUNK_SLOTS]) + index % CHUNK_SLOTS;
    pthread_mutex_lock(&op->lock);
    if (!op->live || op->generation != (uint32_t) (bits >> GENERATION_SHIFT)) {
        pthread_mutex_unlock(&op->lock);
        return NULL;
    }
    *kind = (enum jp_rec_kind)(bits & 0xF);
    *channel = (unsigned) (bits >> CHANNEL_SHIFT) & 0xFF;
    return op;
}

void rec_op_retire(struct jp_rec_op *op)
{
    if (op->loose)
        atomic_fetch_sub(&n_loose, 1);
    op->live = false;
    op->generation++;
    pthread_mutex_unlock(&op->lock);
    pthread_mutex_lock(&table_lock);
    op->next_free = free_slots;
    free_slots = op;
    pthread_mutex_unlock(&table_lock);
}

void rec_op_each(void (*visit)(struct jp_rec_op *op, void *data), void *data)
{
    int n = atomic_load(&n_chunks) * CHUNK_SLOTS;
    struct jp_rec_op *op;
    int i;

    for (i = 0; i < n; i++) {
        op = atomic_load(&chunks[i / CHUNK_SLOTS]) + i % CHUNK_SLOTS;
        pthread_mutex_lock(&op->lock);
        if (op->live)
            visit(op, data);
        else
            pthread_mutex_unlock(&op->lock);
    }
}

void rec_op_set_loose(struct jp_rec_op *op)
{
    op->loose = true;
    atomic_fetch_add(&n_loose, 1);
}

bool rec_op_any_loose(void)
{
    return atomic_load(&n_loose) > 0;
}

void rec_op_after_fork(void)
{
    int n = atomic_load(&n_chunks) * CHUNK_SLOTS;
    struct jp_rec_op *op;
    int i;

    pthread_mutex_init(&table_lock, NULL);
    free_slots = NULL;
    atomic_store(&n_loose, 0);
    for (i = n - 1; i >= 0; i--) {
        op = atomic_load(&chunks[i / CHUNK_SLOTS]) + i % CHUNK_SLOTS;
        /* a thread that does not exist here may have held it */
        pthread_mutex_init(&op->lock, NULL);
        op->live = false;
        op->generation++; /* the parent's handle means nothing here */
        op->next_free = free_slots;
        free_slots = op;
    }
}
