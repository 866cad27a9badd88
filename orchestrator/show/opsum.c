/* opsum.c - filter operations and sum them up. */
#include "orchestrator/show/opsum.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 65536
#define SLOTS (2 * MAX_ROWS)

struct reading {
    struct jp_recwalk *walk;
    const struct opsum_filter *filter;
    struct opsum_builder to;
};

static uint64_t mix(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    return hash;
}

static bool same(const struct opsum_row *row, const struct opsum_key *key)
{
    return row->bytes == key->bytes && !strcmp(row->func, key->func) &&
           !strcmp(row->id, key->id) && !strcmp(row->name, key->name);
}

static void copy(char *to, size_t size, const char *text)
{
    size_t n = strnlen(text, size - 1);

    memcpy(to, text, n);
    to[n] = '\0';
}

/* The row's place; NULL: no room or no memory (*failed). */
static struct opsum_row *find_row(struct opsum_builder *b,
                                  const struct opsum_key *key, bool *failed)
{
    struct jp_opsum *sum = b->sum;
    uint64_t at = mix(
        mix(mix(key->bytes * UINT64_C(0x9e3779b97f4a7c15), key->id), key->name),
        key->func);
    struct opsum_row *more;

    for (at %= SLOTS; b->slots[at]; at = (at + 1) % SLOTS)
        if (same(&sum->rows[b->slots[at] - 1], key))
            return &sum->rows[b->slots[at] - 1];
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
    *more = (struct opsum_row){.bytes = key->bytes, .exec_min_us = UINT64_MAX};
    copy(more->id, sizeof(more->id), key->id);
    copy(more->name, sizeof(more->name), key->name);
    copy(more->func, sizeof(more->func), key->func);
    b->slots[at] = (uint32_t) sum->n;
    return more;
}

int opsum_begin(struct opsum_builder *b, struct jp_opsum *sum,
                struct jp_error *err)
{
    *sum = (struct jp_opsum){0};
    *b = (struct opsum_builder){.sum = sum,
                                .slots = calloc(SLOTS, sizeof(*b->slots))};
    return b->slots ? 0 : error_set(err, "out of memory");
}

int opsum_put(struct opsum_builder *b, const struct opsum_key *key,
              const struct opsum_some *some)
{
    bool failed = false;
    struct opsum_row *row = find_row(b, key, &failed);

    if (!row) {
        b->sum->left_out += some->ops;
        return failed ? -1 : 0;
    }
    row->ops += some->ops;
    row->exec_sum_us += some->exec_sum_us;
    row->busbw_sum += some->busbw_sum;
    if (some->exec_min_us < row->exec_min_us)
        row->exec_min_us = some->exec_min_us;
    if (some->exec_max_us > row->exec_max_us)
        row->exec_max_us = some->exec_max_us;
    if (some->first_us && (!row->first_us || some->first_us < row->first_us))
        row->first_us = some->first_us;
    if (some->last_us > row->last_us)
        row->last_us = some->last_us;
    return 0;
}

int opsum_put_record(struct opsum_builder *b, const struct opsum_key *key,
                     const struct inspector_record *record)
{
    return opsum_put(b, key,
                     &(const struct opsum_some){
                         .ops = 1,
                         .exec_min_us = record->exec_us,
                         .exec_max_us = record->exec_us,
                         .exec_sum_us = record->exec_us,
                         .busbw_sum = (double) record->busbw_micro / 1e6,
                         .first_us = record->dump_us,
                         .last_us = record->dump_us});
}

bool opsum_is_comm(const struct opsum_filter *filter, const char *id,
                   const char *name)
{
    return !filter->comm || !strcmp(id, filter->comm) ||
           !strcmp(name, filter->comm);
}

static int take_op(struct reading *r, const struct jpr_op *op)
{
    struct jp_recfile *file = &r->walk->file;
    const struct recfile_comm *comm = recfile_comm(file, op->comm);
    struct inspector_record record;

    if (r->filter->comm &&
        (!comm || !opsum_is_comm(r->filter, comm->id, comm->name)))
        return 0;
    if (recfile_record(file, op, &record)) {
        r->to.sum->left_out++;
        return 0;
    }
    if (r->filter->func && strcmp(file->func->name, r->filter->func))
        return 0;
    return opsum_put_record(&r->to,
                            &(const struct opsum_key){comm->id, comm->name,
                                                      file->func->name,
                                                      op->bytes},
                            &record);
}

bool opsum_is_node(const char *path, const char *host, const char *node)
{
    size_t n = strlen(node);

    if (!strcmp(host, node))
        return true;
    for (const char *at = path; (at = strstr(at, node)); at++)
        if (at > path && at[-1] == '/' && at[n] == '/')
            return true;
    return false;
}

static bool is_wanted(const struct reading *r)
{
    const struct jp_recfile *file = &r->walk->file;

    if (r->filter->rank >= 0 && recfile_rank(file) != r->filter->rank)
        return false;
    return !r->filter->node ||
           opsum_is_node(r->walk->path, file->host, r->filter->node);
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
        r->to.sum->processes += !judged;
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

int opsum_end(struct opsum_builder *b, int rc, struct jp_error *err)
{
    free(b->slots);
    if (rc < 0) {
        opsum_fini(b->sum);
        return error_set(err, "out of memory");
    }
    if (b->sum->n)
        qsort(b->sum->rows, b->sum->n, sizeof(*b->sum->rows), by_name);
    return 0;
}

int opsum_read(struct jp_recwalk *walk, const struct opsum_filter *filter,
               struct jp_opsum *sum, struct jp_error *err)
{
    struct reading r = {.walk = walk, .filter = filter};
    int rc = 0;

    if (opsum_begin(&r.to, sum, err) < 0)
        return -1;
    sum->source = "recorder";
    while (rc == 0 && recwalk_open(walk))
        rc = read_file(&r);
    return opsum_end(&r.to, rc, err);
}

void opsum_fini(struct jp_opsum *sum)
{
    free(sum->rows);
    *sum = (struct jp_opsum){0};
}
