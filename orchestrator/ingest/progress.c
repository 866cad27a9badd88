/* progress.c - rows of (communicator, function, rank), made file by file. */
#include "orchestrator/ingest/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void progress_begin(struct progress *progress)
{
    progress->from = progress->n;
}

static int add(struct progress *progress, const struct progress_row *row)
{
    size_t n = progress->n;
    struct progress_row *more;

    if (!(n & (n - 1))) {
        more = reallocarray(progress->rows, n ? 2 * n : 1, sizeof(*more));
        if (!more)
            return -1;
        progress->rows = more;
    }
    progress->rows[progress->n++] = *row;
    return 0;
}

int progress_comm(struct progress *progress, const struct jpr_comm *comm,
                  uint32_t process)
{
    struct progress_row row = {.hash = comm->id,
                               .n_ranks = comm->n_ranks,
                               .rank = comm->rank,
                               .kind = JPR_N_OP_KINDS,
                               .process = process};

    return add(progress, &row);
}

/* The open file's row of a series; NULL: no memory. */
static struct progress_row *row_of(struct progress *progress,
                                   const struct jpr_comm *comm, unsigned kind,
                                   const char *func, uint32_t process)
{
    struct progress_row row = {.hash = comm->id,
                               .n_ranks = comm->n_ranks,
                               .rank = comm->rank,
                               .kind = kind,
                               .process = process};

    for (size_t i = progress->n; i-- > progress->from;) {
        struct progress_row *r = &progress->rows[i];

        if (r->kind == kind && r->hash == comm->id && r->rank == comm->rank &&
            r->n_ranks == comm->n_ranks &&
            !strncmp(r->func, func, sizeof(r->func) - 1))
            return r;
    }
    snprintf(row.func, sizeof(row.func), "%s", func);
    return add(progress, &row) < 0 ? NULL : &progress->rows[progress->n - 1];
}

int progress_op(struct progress *progress, const struct jpr_comm *comm,
                const struct jpr_op *op, bool ended, uint32_t process)
{
    uint64_t over = op->seq < UINT64_MAX ? op->seq + 1 : op->seq;
    struct progress_row *row;

    if (op->kind == JPR_P2P)
        return 0;
    row = row_of(progress, comm, op->kind, op->kind == JPR_COLL ? op->func : "",
                 process);
    if (!row)
        return -1;
    if (ended && over > row->ended)
        row->ended = over;
    if (over > row->begun)
        row->begun = over;
    return 0;
}

int progress_count(struct progress *progress, const struct jpr_comm *comm,
                   const char *func, uint64_t produced, uint32_t process)
{
    struct progress_row *row = row_of(progress, comm, JPR_COLL, func, process);

    if (row && produced > row->begun)
        row->begun = produced;
    return row ? 0 : -1;
}

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_series(const struct progress_row *x, const struct progress_row *y)
{
    int order = compare(x->hash, y->hash);

    if (!order)
        order = compare((uint64_t) x->n_ranks, (uint64_t) y->n_ranks);
    if (!order)
        order = compare(x->kind, y->kind);
    return order ? order : strcmp(x->func, y->func);
}

static int by_rank(const void *a, const void *b)
{
    const struct progress_row *x = a, *y = b;
    int order = by_series(x, y);

    return order ? order : compare((uint64_t) x->rank, (uint64_t) y->rank);
}

void progress_sort(struct progress *progress)
{
    if (progress->n)
        qsort(progress->rows, progress->n, sizeof(*progress->rows), by_rank);
}

const struct progress_row *progress_find(const struct progress *progress,
                                         uint64_t hash, int64_t n_ranks,
                                         unsigned kind, const char *func,
                                         size_t *n)
{
    struct progress_row key = {.hash = hash, .n_ranks = n_ranks, .kind = kind};
    size_t lo = 0, hi = progress->n, end;

    if (kind == JPR_COLL)
        snprintf(key.func, sizeof(key.func), "%s", func);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (by_series(&progress->rows[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (end = lo;
         end < progress->n && by_series(&progress->rows[end], &key) == 0;)
        end++;
    *n = end - lo;
    return *n ? &progress->rows[lo] : NULL;
}

void progress_fini(struct progress *progress)
{
    free(progress->rows);
    *progress = (struct progress){0};
}
