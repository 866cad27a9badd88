/* samples.c - read the samples of a step as means over slices of the run. A
 * value that is not known is NAN everywhere, and never 0. */
#include "orchestrator/util/samples.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/vector.h"

/* A slice of one column while its file is read: weighted sum of values, and the
 * weights. */
struct sum {
    double sum, weight;
};

#define MEMORY_MAX ((size_t) 512 << 20)
#define MEMBERS_OF_FILE 16384

/* A member while its file is read. Columns are allocated when first used. */
struct open_member {
    char id[UTIL_ID_MAX];
    struct sum *columns[UTIL_COLUMNS_MAX];
};

/* The file being read. */
struct open_file {
    uint32_t node;
    enum util_kind kind;
    struct open_member *at;
    size_t n, room;
    size_t next; /* each sample lists its rows in the same order */
    size_t bytes;
};

enum util_kind samples_kind(enum jp_util_scope scope)
{
    switch (scope) {
    case JP_UTIL_NODE:
        return UTIL_NODE;
    case JP_UTIL_GPU:
        return UTIL_GPU;
    case JP_UTIL_PORT:
        return UTIL_PORT;
    default:
        return UTIL_TASK;
    }
}

int samples_column(enum jp_util_scope scope, const char *name)
{
    const struct util_table *table = &util_tables[samples_kind(scope)];

    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return (int) i;
    return -1;
}

/* --- a file --------------------------------------------------------------- */

static void close_file(struct open_file *file)
{
    for (size_t i = 0; file && i < file->n; i++)
        for (size_t c = 0; c < UTIL_COLUMNS_MAX; c++)
            free(file->at[i].columns[c]);
    if (file)
        free(file->at);
    free(file);
}

int samples_begin(struct samples *s, uint32_t node, enum util_kind kind,
                  struct jp_error *err)
{
    struct open_file *file = calloc(1, sizeof(*file));

    if (!file)
        return error_set(err, "out of memory");
    file->node = node;
    file->kind = kind;
    s->open = file;
    return 0;
}

/* Returns the member with this id, added if needed; NULL: no memory, or too
 * many. Each sample lists its members in the same order, so the search begins
 * after the last hit and usually ends at once. */
static struct open_member *find_member(struct open_file *file, const char *id)
{
    struct open_member *m;

    for (size_t i = 0; i < file->n; i++) {
        size_t at = (file->next + i) % file->n;

        if (strcmp(file->at[at].id, id) == 0) {
            file->next = at + 1;
            return &file->at[at];
        }
    }
    if (file->n == MEMBERS_OF_FILE)
        return NULL;
    if (VECTOR_ROOM(file->at, file->n + 1, file->room) < 0)
        return NULL;
    m = &file->at[file->n++];
    *m = (struct open_member){{0}, {0}};
    memcpy(m->id, id, sizeof(m->id));
    file->next = file->n;
    return m;
}

/* Distributes a value over the slices that its samples cover, by time. A row
 * describes the `samples` periods before t_us. */
static void spread(const struct samples *s, struct sum *slices, uint64_t t_us,
                   uint64_t samples, double v)
{
    double slice = (double) s->slice_us;
    double end = ((double) t_us - (double) s->from_us) / slice;
    double begin = end - (double) samples * (double) s->period_us / slice;

    begin = fmax(begin, 0);
    end = fmin(end, s->n_slices);
    /* A row outside of the run's time (the first sample ends at its start) gets
     * a tiny weight in the nearest slice: it only counts if nothing else is
     * known there. */
    if (end <= begin) {
        unsigned k = end <= 0 ? 0 : s->n_slices - 1;

        slices[k].sum += v * 1e-6;
        slices[k].weight += 1e-6;
        return;
    }
    for (unsigned k = (unsigned) begin; k < s->n_slices && k < end; k++) {
        double w = fmin(end, k + 1.0) - fmax(begin, k);

        slices[k].sum += v * w;
        slices[k].weight += w;
    }
}

int samples_row(void *samples, const struct util_row *row, struct jp_error *err)
{
    struct samples *s = samples;
    struct open_file *file = s->open;
    struct open_member *m = find_member(file, row->id);
    uint64_t t_us = clockmap_us(s->nodes[file->node].clock, row->t_us);

    if (!m || s->left_out) {
        s->left_out += !m;
        return 0;
    }
    for (size_t c = 0; c < util_tables[file->kind].n; c++) {
        if (isnan(row->v[c]))
            continue;
        if (!m->columns[c])
            m->columns[c] = calloc(s->n_slices, sizeof(*m->columns[c]));
        if (!m->columns[c])
            return error_set(err, "out of memory");
        spread(s, m->columns[c], t_us, row->samples, row->v[c]);
    }
    return 0;
}

/* Returns the scope of a member. The row "step" in a file of tasks is the sum
 * of the step's tasks on the node. */
static enum jp_util_scope scope_of(enum util_kind kind, const char *id)
{
    for (int scope = 0; scope < JP_UTIL_SCOPES; scope++)
        if (samples_kind((enum jp_util_scope) scope) == kind &&
            (kind != UTIL_TASK ||
             (scope == JP_UTIL_STEP) == (strcmp(id, "step") == 0)))
            return (enum jp_util_scope) scope;
    return JP_UTIL_NODE;
}

/* Turns a member's sums into means and appends it. Returns 0 or -1. */
static int keep_mean(struct samples *s, const struct open_file *file,
                     const struct open_member *m)
{
    struct sampled *more = VECTOR_DOUBLE_ADD(s->at, s->n);

    if (!more)
        return -1;
    *more = (struct sampled){.scope = scope_of(file->kind, m->id),
                             .node = file->node};
    memcpy(more->id, m->id, sizeof(more->id));
    for (size_t c = 0; c < UTIL_COLUMNS_MAX; c++) {
        if (!m->columns[c])
            continue;
        more->slices[c] = calloc(s->n_slices, sizeof(float));
        if (!more->slices[c])
            return -1;
        for (unsigned k = 0; k < s->n_slices; k++) {
            const struct sum *sum = &m->columns[c][k];

            more->slices[c][k] =
                sum->weight > 0 ? (float) (sum->sum / sum->weight) : NAN;
        }
    }
    return 0;
}

int samples_end(struct samples *s, struct jp_error *err)
{
    struct open_file *file = s->open;
    size_t each = sizeof(float) * s->n_slices * UTIL_COLUMNS_MAX;
    int rc = 0;

    for (size_t i = 0; i < file->n && rc == 0; i++) {
        if (s->n >= MEMORY_MAX / (each + sizeof(struct sampled)))
            s->left_out++;
        else
            rc = keep_mean(s, file, &file->at[i]);
    }
    close_file(file);
    s->open = NULL;
    return rc < 0 ? error_set(err, "out of memory") : 0;
}

/* --- all ------------------------------------------------------------------ */

int samples_init(struct samples *s, const struct jp_nodes *nodes,
                 uint64_t from_us, uint64_t to_us, uint64_t period_us,
                 struct jp_error *err)
{
    uint64_t time_us = to_us > from_us ? to_us - from_us : 0;

    *s = (struct samples){.from_us = from_us, .period_us = period_us};
    if (!time_us || !period_us || time_us > UINT64_C(1) << 53)
        return error_set(err, "no period with samples");
    s->n_slices = time_us / period_us < SAMPLES_SLICES
                      ? (unsigned) (time_us / period_us)
                      : SAMPLES_SLICES;
    if (!s->n_slices)
        s->n_slices = 1;
    s->slice_us = (time_us + s->n_slices - 1) / s->n_slices;
    s->nodes = calloc(nodes->n_nodes + 1, sizeof(*s->nodes));
    if (!s->nodes)
        return error_set(err, "out of memory");
    s->n_nodes = nodes->n_nodes;
    for (size_t i = 0; i < s->n_nodes; i++)
        s->nodes[i] = (struct samples_node){.name = nodes->nodes[i].name,
                                            .shared = true,
                                            .clock = nodes->nodes[i].clock};
    return 0;
}

void samples_fini(struct samples *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t c = 0; c < UTIL_COLUMNS_MAX; c++)
            free(s->at[i].slices[c]);
    free(s->at);
    free(s->nodes);
    close_file(s->open);
    *s = (struct samples){0};
}

/* By scope, node and id, so that members of a node are neighbours. */
static int by_place(const void *a, const void *b)
{
    const struct sampled *x = a, *y = b;

    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* Returns the largest slice mean of a column on a node; NAN: unknown. */
static double most(const struct samples *s, const struct samples_node *node,
                   enum jp_util_scope scope, int column)
{
    double found = NAN;

    for (size_t i = 0; i < node->n[scope]; i++) {
        const float *v = s->at[node->first[scope] + i].slices[column];

        for (unsigned k = 0; v && k < s->n_slices; k++)
            found = fmax(found, (double) v[k]); /* fmax ignores a NAN */
    }
    return found;
}

void samples_settle(struct samples *s)
{
    if (s->n)
        qsort(s->at, s->n, sizeof(*s->at), by_place);
    for (size_t i = 0, scope = 0; scope <= JP_UTIL_SCOPES; scope++) {
        while (i < s->n && s->at[i].scope < scope)
            i++;
        s->first[scope] = i;
    }
    for (size_t i = s->n; i-- > 0;) {
        struct samples_node *node = &s->nodes[s->at[i].node];

        node->first[s->at[i].scope] = i;
        node->n[s->at[i].scope]++;
    }
    for (size_t i = 0; i < s->n_nodes; i++) {
        /* Shared unless the step certainly has all processors of the node. */
        double mine = most(s, &s->nodes[i], JP_UTIL_STEP, TASK_CPUS);
        double all = most(s, &s->nodes[i], JP_UTIL_NODE, NODE_CPUS);

        s->nodes[i].shared = !(mine >= all);
    }
}

static int load_file(struct samples *s, uint32_t node, enum util_kind kind,
                     const char *path, struct jp_error *err)
{
    struct util_head head;
    struct util_read read;

    if (access(path, F_OK) < 0)
        return 0;
    if (samples_begin(s, node, kind, err) < 0)
        return -1;
    /* Errors were reported by the first reader of this file (util.h); what
     * could be read is used. */
    util_rows_read(path, kind, &head, samples_row, s, &read, NULL);
    return samples_end(s, err);
}

/* Finds the time of all samples, and the shortest period of any node. */
static void find_time(const struct jp_util *util, uint64_t *from_us,
                      uint64_t *to_us, uint64_t *period_us)
{
    *from_us = UINT64_MAX;
    *to_us = 0;
    *period_us = UINT64_MAX;
    for (size_t i = 0; i < util->n_rows; i++) {
        const struct jp_util_row *r = &util->rows[i];
        uint64_t us = r->last_us - r->first_us;

        if (*from_us > r->first_us)
            *from_us = r->first_us;
        if (*to_us < r->last_us)
            *to_us = r->last_us;
        if (*r->node && r->samples > 1 && us / (r->samples - 1) < *period_us)
            *period_us = us / (r->samples - 1);
    }
    if (*period_us < 1000 || *period_us == UINT64_MAX) /* one sample each */
        *period_us = *to_us > *from_us ? *to_us - *from_us : 1000000;
    if (*from_us <= *to_us && *from_us > *period_us)
        *from_us -= *period_us; /* a row describes the time before it */
}

int samples_load(struct samples *s, const char *step_dir,
                 const struct jp_nodes *nodes, const struct jp_util *util,
                 struct jp_error *err)
{
    uint64_t from_us, to_us, period_us;
    int rc = 0;

    *s = (struct samples){0};
    if (!util || !util->n_rows)
        return 0;
    find_time(util, &from_us, &to_us, &period_us);
    if (samples_init(s, nodes, from_us, to_us, period_us, err) < 0)
        return -1;
    for (uint32_t i = 0; i < nodes->n_nodes && rc == 0; i++)
        for (int kind = 0; kind < UTIL_KINDS && rc == 0; kind++) {
            char *path = text_format("%s/nodes/%s/util-%s.csv.gz",
                                     nodes_step_dir(&nodes->nodes[i], step_dir),
                                     nodes->nodes[i].name,
                                     util_tables[kind].name);

            rc = path ? load_file(s, i, (enum util_kind) kind, path, err)
                      : error_set(err, "out of memory");
            free(path);
        }
    samples_settle(s);
    if (rc < 0)
        samples_fini(s);
    return rc;
}
