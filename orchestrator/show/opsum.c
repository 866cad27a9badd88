/* opsum.c - filter operations and sum them up. */
#include "orchestrator/show/opsum.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 65536
#define SLOTS (2 * MAX_ROWS)

struct reading {
    struct jp_recwalk *walk;
    const struct opsum_filter *filter;
    struct jp_opsum *sum;
    uint32_t *slots; /* a row's index + 1; 0: free */
};

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    return hash;
}

static bool same(const struct opsum_row *row, const struct recfile_comm *comm,
                 const struct jp_recfile *file, uint64_t bytes)
{
    return row->bytes == bytes && !strcmp(row->func, file->func->name) &&
           !strcmp(row->id, comm->id) && !strcmp(row->name, comm->name);
}

/* The row's place; NULL: no room or no memory (*failed). */
static struct opsum_row *find_row(struct reading *r,
                                  const struct recfile_comm *comm,
                                  uint64_t bytes, bool *failed)
{
    const struct jp_recfile *file = &r->walk->file;
    struct jp_opsum *sum = r->sum;
    uint64_t at = mix(
        mix(mix(bytes * UINT64_C(0x9e3779b97f4a7c15), comm->id), comm->name),
        file->func->name);
    struct opsum_row *more;

    for (at %= SLOTS; r->slots[at]; at = (at + 1) % SLOTS)
        if (same(&sum->rows[r->slots[at] - 1], comm, file, bytes))
            return &sum->rows[r->slots[at] - 1];
    if (sum->n == MAX_ROWS)
        return NULL;
    if (!(sum->n & (sum->n - 1))) {
        more = reallocarray(sum->rows, sum->n ? 2 * sum->n : 1, sizeof(*more));
        *failed = !more;
        if (!more)
            return NULL;
        sum->rows = more;
    }
    more = &sum->rows[sum->n++];
    *more = (struct opsum_row){.bytes = bytes, .exec_min_us = UINT64_MAX};
    memcpy(more->id, comm->id, sizeof(more->id));
    memcpy(more->name, comm->name, sizeof(more->name));
    memcpy(more->func, file->func->name, sizeof(more->func));
    r->slots[at] = (uint32_t) sum->n;
    return more;
}

static void add(struct opsum_row *row, const struct inspector_record *record)
{
    uint64_t at = record->dump_us;

    row->ops++;
    row->exec_sum_us += record->exec_us;
    row->busbw_sum += (double) record->busbw_micro / 1e6;
    if (record->exec_us < row->exec_min_us)
        row->exec_min_us = record->exec_us;
    if (record->exec_us > row->exec_max_us)
        row->exec_max_us = record->exec_us;
    if (at && (!row->first_us || at < row->first_us))
        row->first_us = at;
    if (at > row->last_us)
        row->last_us = at;
}

static int take_op(struct reading *r, const struct jpr_op *op)
{
    struct jp_recfile *file = &r->walk->file;
    const char *wanted = r->filter->comm;
    const struct recfile_comm *comm = recfile_comm(file, op->comm);
    struct inspector_record record;
    struct opsum_row *row;
    bool failed = false;

    if (wanted &&
        (!comm || (strcmp(comm->id, wanted) && strcmp(comm->name, wanted))))
        return 0;
    if (recfile_record(file, op, &record)) {
        r->sum->left_out++;
        return 0;
    }
    if (r->filter->func && strcmp(file->func->name, r->filter->func))
        return 0;
    row = find_row(r, comm, op->bytes, &failed);
    if (failed)
        return -1;
    if (row)
        add(row, &record);
    else
        r->sum->left_out++;
    return 0;
}

/* Is the node the file's host, or a folder of its path? */
static bool is_node(const struct jp_recwalk *walk, const char *node)
{
    size_t n = strlen(node);

    if (!strcmp(walk->file.host, node))
        return true;
    for (const char *at = walk->path; (at = strstr(at, node)); at++)
        if (at > walk->path && at[-1] == '/' && at[n] == '/')
            return true;
    return false;
}

static bool is_wanted(const struct reading *r)
{
    const struct jp_recfile *file = &r->walk->file;

    if (r->filter->rank >= 0 && recfile_rank(file) != r->filter->rank)
        return false;
    return !r->filter->node || is_node(r->walk, r->filter->node);
}

static int read_file(struct reading *r)
{
    struct jpr_record record;
    bool judged = false;

    while (recwalk_record(r->walk, &record)) {
        if (record.type != JPR_OP)
            continue;
        if (!judged && !is_wanted(r))
            return 0;
        r->sum->processes += !judged;
        judged = true;
        if (take_op(r, record.op) < 0)
            return -1;
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct opsum_row *x = a, *y = b;
    int order = strcmp(x->id, y->id);

    if (!order)
        order = strcmp(x->name, y->name);
    if (!order)
        order = strcmp(x->func, y->func);
    return order ? order : x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

int opsum_read(struct jp_recwalk *walk, const struct opsum_filter *filter,
               struct jp_opsum *sum, struct jp_error *err)
{
    struct reading r = {.walk = walk, .filter = filter, .sum = sum};
    int rc = 0;

    *sum = (struct jp_opsum){0};
    r.slots = calloc(SLOTS, sizeof(*r.slots));
    if (!r.slots)
        return error_set(err, "out of memory");
    while (rc == 0 && recwalk_open(walk))
        rc = read_file(&r);
    free(r.slots);
    if (rc < 0) {
        opsum_fini(sum);
        return error_set(err, "out of memory");
    }
    if (sum->n)
        qsort(sum->rows, sum->n, sizeof(*sum->rows), by_name);
    return 0;
}

void opsum_fini(struct jp_opsum *sum)
{
    free(sum->rows);
    *sum = (struct jp_opsum){0};
}
