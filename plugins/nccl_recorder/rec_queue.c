/* Finished operations on their way from NCCL's threads to the writer. */
#include "plugins/nccl_recorder/rec_queue.h"

#include <pthread.h>
#include <stdlib.h>

struct array {
    struct jp_rec_record *items;
    size_t n;
    size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct array filling; /* under the lock */
static struct array taken;   /* the writer's */

/* Makes room for one more; false at the bound or without memory. */
static bool reserve(struct array *a)
{
    size_t size = a->size ? 2 * a->size : JP_REC_QUEUE_WAKE;
    struct jp_rec_record *items;

    if (a->n < a->size)
        return true;
    if (size > JP_REC_QUEUE_MAX)
        return false;
    items = realloc(a->items, size * sizeof(*items));
    if (!items)
        return false;
    a->items = items;
    a->size = size;
    return true;
}

bool rec_queue_push(const struct jp_rec_record *record, bool *wake)
{
    bool ok;

    pthread_mutex_lock(&lock);
    ok = reserve(&filling);
    if (ok)
        filling.items[filling.n++] = *record;
    *wake = filling.n % JP_REC_QUEUE_WAKE == 0;
    pthread_mutex_unlock(&lock);
    return ok;
}

size_t rec_queue_take(const struct jp_rec_record **records)
{
    struct array full;

    pthread_mutex_lock(&lock);
    full = filling;
    filling = taken;
    filling.n = 0;
    pthread_mutex_unlock(&lock);
    taken = full;
    *records = taken.items;
    return taken.n;
}

void rec_queue_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    filling.n = 0;
    taken.n = 0;
}
