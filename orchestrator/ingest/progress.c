/* progress.c - rows of (communicator, function, rank), made file by file. */
#include "orchestrator/ingest/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Series of a file: four functions of every communicator; and rows of all
 * files, about 350 MB. What is beyond is left out. */
#define MAX_SERIES (4u * JPR_MAX_COMMS)
#define MAX_ROWS (1u << 22)

int progress_add(struct progress *progress, const struct progress_row *row)
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

int progress_append(struct progress *progress, const struct progress *file,
                    uint32_t process)
{
    for (size_t i = 0; i < file->n && progress->n < MAX_ROWS; i++) {
        struct progress_row row = file->rows[i];

        row.process = process;
        if (progress_add(progress, &row) < 0)
            return -1;
    }
    return 0;
}

int progress_copy(struct progress *to, const struct progress *from)
{
    if (!from->n)
        return 0;
    to->rows = reallocarray(NULL, from->n, sizeof(*to->rows));
    if (!to->rows)
        return -1;
    memcpy(to->rows, from->rows, from->n * sizeof(*to->rows));
    to->n = from->n;
    return 0;
}

int progress_comm(struct progress *progress, const struct jpr_comm *comm)
{
    struct progress_row row = {.hash = comm->id,
                               .n_ranks = comm->n_ranks,
                               .rank = comm->rank,
                               .kind = JPR_N_OP_KINDS};

    return progress_add(progress, &row);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

/* Of what tells series apart, each part mixed by itself: ids and ranks of a
 * file may have been chosen so that they cancel. */
static uint64_t hash_of(const struct jpr_comm *comm, unsigned kind,
                        const char *func)
{
    static char salt;
    uint64_t hash = (uintptr_t) &salt ^ kind; /* not known to who wrote it */

    hash = mix(hash, comm->id);
    hash = mix(hash, (uint64_t) comm->rank);
    hash = mix(hash, (uint64_t) comm->n_ranks);
    for (size_t i = 0; i < RECORD_MAX_FUNC && func[i]; i++)
        hash = (hash ^ (unsigned char) func[i]) * UINT64_C(0x100000001b3);
    return mix(hash, 0);
}

static bool is_series(const struct progress_row *r, const struct jpr_comm *comm,
                      unsigned kind, const char *func)
{
    return r->kind == kind && r->hash == comm->id && r->rank == comm->rank &&
           r->n_ranks == comm->n_ranks &&
           !strncmp(r->func, func, sizeof(r->func) - 1);
}

/* The series' slot, or the free one where it belongs. */
static uint32_t *slot_of(const struct progress *progress,
                         const struct jpr_comm *comm, unsigned kind,
                         const char *func)
{
    size_t mask = progress->n_slots - 1;
    size_t i = hash_of(comm, kind, func) & mask;

    while (
        progress->slots[i] &&
        !is_series(&progress->rows[progress->slots[i] - 1], comm, kind, func))
        i = (i + 1) & mask;
    return &progress->slots[i];
}

/* Twice the slots. */
static int grow(struct progress *progress)
{
    uint32_t *old = progress->slots;
    size_t n = progress->n_slots;

    progress->slots = calloc(n ? 2 * n : 64, sizeof(*old));
    if (!progress->slots) {
        progress->slots = old;
        return -1;
    }
    progress->n_slots = n ? 2 * n : 64;
    for (size_t i = 0; i < n; i++) {
        const struct progress_row *row;
        struct jpr_comm comm;

        if (!old[i])
            continue;
        row = &progress->rows[old[i] - 1];
        comm = (struct jpr_comm){
            .id = row->hash, .rank = row->rank, .n_ranks = row->n_ranks};
        *slot_of(progress, &comm, row->kind, row->func) = old[i];
    }
    free(old);
    return 0;
}

/* The file's row of a series, or one that nobody reads where there are too
 * many; NULL: no memory. */
static struct progress_row *row_of(struct progress *progress,
                                   const struct jpr_comm *comm, unsigned kind,
                                   const char *func)
{
    struct progress_row row = {.hash = comm->id,
                               .n_ranks = comm->n_ranks,
                               .rank = comm->rank,
                               .kind = kind};
    static _Thread_local struct progress_row rest;
    uint32_t *slot;

    if (2 * progress->used >= progress->n_slots && grow(progress) < 0)
        return NULL;
    slot = slot_of(progress, comm, kind, func);
    if (*slot)
        return &progress->rows[*slot - 1];
    if (progress->used == MAX_SERIES) {
        rest = row;
        return &rest;
    }
    snprintf(row.func, sizeof(row.func), "%s", func);
    if (progress_add(progress, &row) < 0)
        return NULL;
    *slot = (uint32_t) progress->n;
    progress->used++;
    return &progress->rows[progress->n - 1];
}

void progress_freeze(struct progress *progress)
{
    free(progress->slots);
    progress->slots = NULL;
    progress->n_slots = progress->used = 0;
}

int progress_op(struct progress *progress, const struct jpr_comm *comm,
                const struct jpr_op *op, bool ended)
{
    uint64_t over = op->seq < UINT64_MAX ? op->seq + 1 : op->seq;
    struct progress_row *row;

    if (recfile_seq(op) != op->seq)
        return 0; /* a replay: not every rank is told of each */
    row =
        row_of(progress, comm, op->kind, op->kind == JPR_COLL ? op->func : "");
    if (!row)
        return -1;
    if (ended && over > row->ended)
        row->ended = over;
    if (over > row->begun)
        row->begun = over;
    return 0;
}

int progress_count(struct progress *progress, const struct jpr_comm *comm,
                   const char *func, uint64_t produced)
{
    struct progress_row *row = row_of(progress, comm, JPR_COLL, func);

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

    if (!order)
        order = compare((uint64_t) x->rank, (uint64_t) y->rank);
    return order ? order : compare(x->process, y->process);
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
    progress_freeze(progress);
    *progress = (struct progress){0};
}
