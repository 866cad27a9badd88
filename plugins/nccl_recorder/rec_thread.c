/* What each thread that NCCL calls us from has for itself. */
#include "plugins/nccl_recorder/rec_thread.h"

#include <stdbool.h>
#include <stddef.h>

#include "plugins/nccl_recorder/rec_compat.h"

static struct jp_rec_thread *table;
static pthread_key_t key;
static bool have_key;

static __thread struct jp_rec_thread *mine;

static void give_back(void *thread)
{
    if (mine == thread)
        atomic_store_explicit(&mine->taken, false, memory_order_release);
    mine = NULL;
}

/* Not inlined: rec_thread_get() needs no stack without it. */
__attribute__((noinline)) static struct jp_rec_thread *claim(void)
{
    int i;

    for (i = 0; table && i < JP_REC_MAX_THREADS; i++) {
        bool taken =
            atomic_load_explicit(&table[i].taken, memory_order_relaxed);

        if (!taken && atomic_compare_exchange_strong_explicit(
                          &table[i].taken, &taken, true, memory_order_acquire,
                          memory_order_relaxed)) {
            mine = &table[i];
            pthread_setspecific(key, mine);
            return mine;
        }
    }
    return NULL;
}

struct jp_rec_thread *rec_thread_get(void)
{
    struct jp_rec_thread *thread = mine;

    return thread ? thread : claim();
}

struct jp_rec_thread *rec_thread_table(void)
{
    return table;
}

int rec_thread_init(struct jp_rec_thread *memory)
{
    int i;

    if (!have_key && pthread_key_create(&key, give_back) != 0)
        return -1;
    have_key = true;
    for (i = 0; i < JP_REC_MAX_THREADS; i++) {
        atomic_init(&memory[i].chunk, JP_REC_NONE);
        memory[i].ops.first = JP_REC_NONE;
        memory[i].steps.first = JP_REC_NONE;
    }
    table = memory;
    return 0;
}

void rec_thread_after_fork(void)
{
    table = NULL;
    mine = NULL; /* the thread that forked is the child's only one */
}
