/* join_close_all.c - end all communicators that are open, some at a time. */
#include "orchestrator/aggregate/join_close.h"

#include <pthread.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* A thread is not worth less than this of rows and times. */
enum { CLOSER_BYTES = 4 << 20, MAX_CLOSERS = 64 };

/* Shared by the threads. */
struct closers {
    struct join *join;
    uint32_t *order;       /* the communicators, of most records first */
    _Atomic uint32_t next; /* of these */
    atomic_bool failed;
};

struct closer {
    pthread_t thread;
    struct closers *all;
    struct jp_ops *ops;
};

/* Pages go back to the system once so much was freed. */
static void give_back(struct join *join, uint64_t least)
{
    if (atomic_load(&join->freed) < least)
        return;
    atomic_store(&join->freed, 0);
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Closes what no other thread has taken. */
static void *work(void *arg)
{
    struct closer *c = arg;
    struct join *join = c->all->join;
    uint32_t i;

    while (!atomic_load(&c->all->failed) &&
           (i = atomic_fetch_add(&c->all->next, 1)) < join->n_comms) {
        if (join_close_comm(join, c->ops, c->all->order[i]) < 0)
            atomic_store(&c->all->failed, true);
        /* rows and what they become shall not be in memory at once; before,
         * while files are read, what was freed is used again */
        give_back(join, 4u << 20);
    }
    return NULL;
}

/* The operations that another thread wrote become the join's. */
static int take(struct join *join, struct jp_ops *ops, const uint32_t *same)
{
    int rc = ops_take(join->ops, ops, same, same);

    ops_destroy(ops);
    return rc;
}

/* Numbers that stay what they are. NULL without memory. */
static uint32_t *make_same(uint32_t n)
{
    uint32_t *same = calloc((size_t) n + 1, sizeof(*same));

    if (!same)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        same[i] = i;
    return same;
}

/* With n - 1 more threads, or as many as can be had. */
static int close_beside(struct closers *all, unsigned n)
{
    struct closer first = {.all = all, .ops = all->join->ops};
    struct closer more[MAX_CLOSERS];
    unsigned started = 0;
    uint32_t *same = make_same(all->join->n_comms + JOIN_MAX_FUNCS);
    int rc = same ? 0 : -1;

    for (; rc == 0 && started + 1 < n; started++) {
        struct closer *c = &more[started];

        *c = (struct closer){.all = all, .ops = ops_create()};
        if (c->ops && pthread_create(&c->thread, NULL, work, c) == 0)
            continue;
        ops_destroy(c->ops);
        break;
    }
    if (rc == 0)
        work(&first);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(more[i].thread, NULL);
        if (take(all->join, more[i].ops, same) < 0)
            rc = -1;
    }
    free(same);
    return atomic_load(&all->failed) ? -1 : rc;
}

static int by_records(const void *a, const void *b, void *arg)
{
    const struct join *join = arg;
    uint32_t i = *(const uint32_t *) a, k = *(const uint32_t *) b;
    uint64_t x = join->comms[i]->records, y = join->comms[k]->records;

    return x != y ? (x > y ? -1 : 1) : i < k ? -1 : i > k;
}

/* With as many threads as are worth it. */
static int close_ordered(struct join *join, unsigned threads)
{
    struct closers all = {.join = join, .order = make_same(join->n_comms)};
    uint64_t worth = atomic_load(&join->charged) / CLOSER_BYTES;
    unsigned n = threads < MAX_CLOSERS ? threads : MAX_CLOSERS;

    int rc;

    if (!all.order)
        return -1;
    if (join->n_comms)
        qsort_r(all.order, join->n_comms, sizeof(*all.order), by_records, join);
    rc = close_beside(&all, worth < n ? (unsigned) worth : n);
    free(all.order);
    return rc;
}

int join_close_all(struct join *join, unsigned threads)
{
    if (!join->ops && !(join->ops = ops_create()))
        return -1;
    if (close_ordered(join, threads) < 0)
        return -1;
    give_back(join, 64u << 10);
    return ops_end(join->ops);
}
