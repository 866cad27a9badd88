/* join_strays.c - records of a second size for one sequence number. */
#include <stdlib.h>

#include "orchestrator/aggregate/join_parts.h"

int join_stray_add(struct join *join, const struct join_stray *stray)
{
    size_t n = join->n_strays;

    if (!join_charge(join, 2 * sizeof(*stray)))
        return -1;
    if (!(n & (n - 1))) {
        struct join_stray *more =
            reallocarray(join->strays, n ? 2 * n : 1, sizeof(*more));

        if (!more)
            return -1;
        join->strays = more;
    }
    join->strays[join->n_strays++] = *stray;
    join->comms[stray->comm]->strays = true;
    return 0;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int join_stray_order(const struct join_stray *x, const struct join_stray *y)
{
    int order = compare(x->comm, y->comm);

    if (!order)
        order = compare(x->func, y->func);
    if (!order)
        order = compare(x->sn, y->sn);
    if (!order)
        order = compare(x->row.bytes, y->row.bytes);
    return order ? order : compare(x->rank, y->rank);
}

static int by_arrival(const void *a, const void *b)
{
    const struct join_stray *x = a, *y = b;
    int order = join_stray_order(x, y);

    return order ? order : compare(x->seq, y->seq);
}

/* Takes back what join_add counted for a record that turned out repeated. */
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

        if (kept && join_stray_order(&join->strays[kept - 1], stray) == 0)
            take_back(join, stray);
        else
            join->strays[kept++] = *stray;
    }
    join->n_strays = kept;
}

struct join_stray *join_find_strays(const struct join *join, uint32_t comm,
                                    uint32_t func, size_t *n)
{
    size_t lo = 0, hi = join->n_strays, end;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct join_stray *s = &join->strays[mid];

        if (s->comm < comm || (s->comm == comm && s->func < func))
            lo = mid + 1;
        else
            hi = mid;
    }
    for (end = lo; end < join->n_strays && join->strays[end].comm == comm &&
                   join->strays[end].func == func;)
        end++;
    *n = end - lo;
    return *n ? &join->strays[lo] : NULL;
}
