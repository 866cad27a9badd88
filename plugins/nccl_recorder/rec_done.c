/* Finished operations on their way from NCCL's threads to the writer. */
#include "plugins/nccl_recorder/rec_done.h"

#include <stddef.h>

#include "plugins/nccl_recorder/rec_thread.h"

enum { CHUNK_RECORDS = 32 };

struct chunk {
    _Atomic uint32_t n;     /* records handed over */
    uint32_t read;          /* the writer's: of those, how many it has */
    _Atomic uint32_t below; /* in the stack of full ones, index + 1 */
    uint32_t unused;
    char records[];
};

static struct jp_rec_pool pool;
static char *chunks;
static size_t record_bytes;
static bool has_net;
static _Atomic uint32_t full;   /* top of the stack, index + 1 */
static _Atomic uint32_t n_full; /* about how many it holds */

static size_t bytes_of(bool net)
{
    return net ? sizeof(struct jp_rec_record)
               : offsetof(struct jp_rec_record, net);
}

static size_t chunk_bytes(size_t record)
{
    return sizeof(struct chunk) + CHUNK_RECORDS * record;
}

static struct chunk *chunk_at(uint32_t index)
{
    return (struct chunk *) (chunks + index * chunk_bytes(record_bytes));
}

size_t rec_done_bytes(uint32_t n, bool net)
{
    uint32_t n_chunks = n / CHUNK_RECORDS + 1;

    return n_chunks * chunk_bytes(bytes_of(net)) + rec_pool_bytes(n_chunks);
}

void rec_done_init(void *memory, uint32_t n, bool net)
{
    uint32_t n_chunks = n / CHUNK_RECORDS + 1;

    has_net = net;
    record_bytes = bytes_of(net);
    chunks = memory;
    rec_pool_init(&pool, n_chunks, 1,
                  chunks + n_chunks * chunk_bytes(record_bytes));
    atomic_store(&full, 0);
    atomic_store(&n_full, 0);
}

bool rec_done_has_net(void)
{
    return has_net;
}

struct jp_rec_record *rec_done_room(struct jp_rec_thread *thread)
{
    uint32_t index = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
    struct chunk *chunk;

    if (index == JP_REC_NONE) {
        index = rec_pool_take(&pool);
        if (index == JP_REC_NONE)
            return NULL;
        atomic_store_explicit(&thread->chunk, index, memory_order_release);
    }
    chunk = chunk_at(index);
    return (struct jp_rec_record *) (chunk->records +
                                     atomic_load_explicit(
                                         &chunk->n, memory_order_relaxed) *
                                         record_bytes);
}

bool rec_done_publish(struct jp_rec_thread *thread)
{
    uint32_t index = atomic_load_explicit(&thread->chunk, memory_order_relaxed);
    struct chunk *chunk = chunk_at(index);
    uint32_t n = atomic_load_explicit(&chunk->n, memory_order_relaxed) + 1;
    uint32_t top;

    atomic_store_explicit(&chunk->n, n, memory_order_release);
    if (n < CHUNK_RECORDS)
        return false;
    /* no longer ours before anybody may see it in the stack */
    atomic_store_explicit(&thread->chunk, JP_REC_NONE, memory_order_release);
    top = atomic_load_explicit(&full, memory_order_relaxed);
    do {
        atomic_store_explicit(&chunk->below, top, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(
        &full, &top, index + 1, memory_order_release, memory_order_relaxed));
    return atomic_fetch_add_explicit(&n_full, 1, memory_order_relaxed) >
           pool.n / 4;
}

/* Reads what is new in a chunk. */
static void read_chunk(struct chunk *chunk,
                       void (*take)(const struct jp_rec_record *record))
{
    uint32_t n = atomic_load_explicit(&chunk->n, memory_order_acquire);

    for (; chunk->read < n; chunk->read++)
        take((const struct jp_rec_record *) (chunk->records +
                                             chunk->read * record_bytes));
}

/* The stack upside down: first in, first out. */
static uint32_t take_full(void)
{
    uint32_t top = atomic_exchange_explicit(&full, 0, memory_order_acquire);
    uint32_t first = 0;

    atomic_store_explicit(&n_full, 0, memory_order_relaxed);
    while (top) {
        _Atomic uint32_t *below = &chunk_at(top - 1)->below;
        uint32_t next = atomic_load_explicit(below, memory_order_relaxed);

        atomic_store_explicit(below, first, memory_order_relaxed);
        first = top;
        top = next;
    }
    return first;
}

static void drain_full(void (*take)(const struct jp_rec_record *record))
{
    uint32_t at = take_full();

    while (at) {
        struct chunk *chunk = chunk_at(at - 1);
        uint32_t next =
            atomic_load_explicit(&chunk->below, memory_order_relaxed);

        read_chunk(chunk, take);
        chunk->read = 0;
        atomic_store_explicit(&chunk->n, 0, memory_order_release);
        rec_pool_give(&pool, at - 1);
        at = next;
    }
}

void rec_done_drain(void (*take)(const struct jp_rec_record *record))
{
    struct jp_rec_thread *threads = rec_thread_table();
    int i;

    if (!threads)
        return;
    drain_full(take);
    for (i = 0; i < JP_REC_MAX_THREADS; i++) {
        uint32_t index =
            atomic_load_explicit(&threads[i].chunk, memory_order_acquire);

        if (index != JP_REC_NONE)
            read_chunk(chunk_at(index), take);
    }
}
