/* util.c - make rows from samples.
 *
 * util_load reads the files of all nodes. Each column of each member (a node,
 * task, GPU or port) becomes a series while its file is read; close_member
 * turns it into a row and adds it to the total of its scope; add_totals makes
 * the rows for all members. */
#include "orchestrator/util/util.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/sorted.h"
#include "common/vector.h"

/* Percentiles use at most this many values of a series, evenly spaced. */
#define KEPT_VALUES 2048
#define MEMBERS_MAX 16384 /* limit of ids per file */

/* One column of one member, or the means of all members. */
struct series {
    double *values; /* kept for percentiles */
    size_t n, room;
    uint64_t stride, skipped; /* every stride-th value is kept */
    double weight, sum, min,
        max; /* weight: samples; sum: of values by weight */
    uint64_t samples, first_us, last_us;
};

struct member {
    char id[UTIL_ID_MAX];
    struct series series[UTIL_COLUMNS_MAX]; /* by column */
};

/* One column over all members of a scope. */
struct total {
    struct series means; /* one value per member */
    struct series all;   /* sums and bounds of samples; keeps no values */
};

struct loading {
    struct jp_util *util;
    size_t rows_room;
    struct total totals[JP_UTIL_SCOPES][UTIL_COLUMNS_MAX];
    struct member *members; /* members of the file being read */
    size_t n_members;
    uint64_t lost_members;
    const struct clockmap_node *clock; /* clock of the file's node */
};

/* In which file the rows of a scope are. */
static const enum util_kind kind_of[JP_UTIL_SCOPES] = {
    [JP_UTIL_STEP] = UTIL_TASK, [JP_UTIL_NODE] = UTIL_NODE,
    [JP_UTIL_TASK] = UTIL_TASK, [JP_UTIL_GPU] = UTIL_GPU,
    [JP_UTIL_PORT] = UTIL_PORT,
};

const char *util_scope_name(enum jp_util_scope scope)
{
    static const char *const names[JP_UTIL_SCOPES] = {"step", "node", "task",
                                                      "gpu", "port"};

    return names[scope];
}

/* --- series --------------------------------------------------------------- */

/* Doubles the stride and drops every second value. */
static void thin_out(struct series *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i += 2)
        s->values[kept++] = s->values[i];
    /* every second value is gone, so the rest stays evenly spaced */
    s->n = kept;
    s->stride *= 2;
}

/* Keeps every stride-th value. Returns -1 without memory. */
static int keep_value(struct series *s, double v, struct jp_error *err)
{
    if (s->stride == 0)
        s->stride = 1;
    if (s->skipped++ % s->stride)
        return 0;
    /* the value that would be too many is only kept if it fits the new
     * stride */
    if (s->n == KEPT_VALUES) {
        thin_out(s);
        if ((s->skipped - 1) % s->stride)
            return 0;
    }
    if (VECTOR_ROOM(s->values, s->n + 1, s->room) < 0)
        return error_set(err, "out of memory");
    s->values[s->n++] = v;
    return 0;
}

/* Adds the mean and the maximum of `samples` samples. */
static void add_figure(struct series *s, double mean, double max,
                       uint64_t samples)
{
    double weight = (double) samples;

    if (s->samples == 0) {
        s->min = mean;
        s->max = max;
    }
    s->min = fmin(s->min, mean);
    s->max = fmax(s->max, max);
    s->weight += weight;
    s->sum += mean * weight;
    s->samples = num_add(s->samples, samples);
}

static void add_times(struct series *s, uint64_t first_us, uint64_t last_us)
{
    if (!s->first_us || first_us < s->first_us)
        s->first_us = first_us;
    if (last_us > s->last_us)
        s->last_us = last_us;
}

static void series_fini(struct series *s)
{
    free(s->values);
    *s = (struct series){0};
}

/* --- a file --------------------------------------------------------------- */

/* The member of that id, made if necessary; NULL: too many, or no memory. */
static struct member *find_member(struct loading *l, const char *id)
{
    struct member *more;

    /* each sample lists its rows in the same order */
    for (size_t i = 0; i < l->n_members; i++)
        if (strcmp(l->members[i].id, id) == 0)
            return &l->members[i];
    /* a hostile file could name a new id in every line */
    if (l->n_members >= MEMBERS_MAX)
        return NULL;
    more = VECTOR_DOUBLE_ADD(l->members, l->n_members);
    if (!more)
        return NULL;
    /* zeros are empty series */
    memcpy(more->id, id, sizeof(more->id));
    return more;
}

/* Takes a row of the file that is being read; rows of members beyond the limit
 * are counted. A callback of type util_take. */
static int take_row(void *arg, const struct util_row *row, struct jp_error *err)
{
    struct loading *l = arg;
    struct member *member = find_member(l, row->id);
    /* nodes' clocks differ: use the step's */
    uint64_t t_us = clockmap_us(l->clock, row->t_us);

    if (!member) {
        l->lost_members++;
        return 0;
    }
    for (size_t i = 0; i < UTIL_COLUMNS_MAX; i++) {
        struct series *s = &member->series[i];
        /* a row of a single sample has no maximum of its own */
        double max = isnan(row->max[i]) ? row->v[i] : row->max[i];

        /* unknown figures do not count as samples */
        if (isnan(row->v[i]))
            continue;
        add_figure(s, row->v[i], max, row->samples);
        add_times(s, t_us, t_us);
        if (keep_value(s, row->v[i], err) < 0)
            return -1;
    }
    return 0;
}

static int add_row(struct loading *l, const struct jp_util_row *row,
                   struct jp_error *err)
{
    struct jp_util *util = l->util;

    /* double the room */
    if (VECTOR_ROOM(util->rows, util->n_rows + 1, l->rows_room) < 0)
        return error_set(err, "out of memory");
    util->rows[util->n_rows++] = *row;
    return 0;
}

/* Fills a row from its series. Sorts the series' values. */
static void describe(struct jp_util_row *row, struct series *s)
{
    qsort(s->values, s->n, sizeof(*s->values), sorted_ascending);
    row->samples = s->samples;
    /* a row that covers more samples weighs more */
    row->mean = s->sum / s->weight;
    row->p50 = sorted_quantile(s->values, s->n, 0.5);
    row->p95 = sorted_quantile(s->values, s->n, 0.95);
    row->min = s->min;
    row->max = s->max;
    row->imbalance = NAN;
    row->first_us = s->first_us;
    row->last_us = s->last_us;
}

/* Adds a member's series to the total of its scope: its mean as one value, and
 * its samples. */
static int add_to_total(struct total *total, const struct series *s,
                        struct jp_error *err)
{
    double mean = s->sum / s->weight;

    add_figure(&total->means, mean, mean, 1);
    if (total->all.samples == 0) {
        total->all.min = s->min;
        total->all.max = s->max;
    }
    total->all.min = fmin(total->all.min, s->min);
    total->all.max = fmax(total->all.max, s->max);
    total->all.weight += s->weight;
    total->all.sum += s->sum;
    total->all.samples = num_add(total->all.samples, s->samples);
    add_times(&total->all, s->first_us, s->last_us);
    return keep_value(&total->means, mean, err);
}

/* The row "step" of a task file is the step's cgroup. */
static enum jp_util_scope scope_of(enum util_kind kind, const char *id)
{
    switch (kind) {
    case UTIL_NODE:
        return JP_UTIL_NODE;
    case UTIL_GPU:
        return JP_UTIL_GPU;
    case UTIL_PORT:
        return JP_UTIL_PORT;
    default:
        return strcmp(id, "step") == 0 ? JP_UTIL_STEP : JP_UTIL_TASK;
    }
}

/* Makes the rows of a member and frees its series. */
static int close_member(struct loading *l, enum util_kind kind,
                        const char *node, struct member *member,
                        struct jp_error *err)
{
    struct jp_util_row row = {
        .scope = scope_of(kind, member->id), .node = node, .members = 1};
    /* a node and its step need no id besides the node's name */
    bool named = row.scope != JP_UTIL_NODE && row.scope != JP_UTIL_STEP;
    int rc = 0;

    if (named)
        memcpy(row.id, member->id, sizeof(row.id));
    for (size_t i = 0; i < util_tables[kind].n; i++) {
        struct series *s = &member->series[i];

        /* after an error, the rest is only freed */
        if (rc == 0 && s->samples) {
            row.column = &util_tables[kind].columns[i];
            describe(&row, s);
            rc = add_to_total(&l->totals[row.scope][i], s, err);
            if (rc == 0 && l->util->n_rows < UTIL_ROWS_MAX)
                rc = add_row(l, &row, err);
            else if (rc == 0)
                l->util->left_out++;
        }
        series_fini(s);
    }
    return rc;
}

/* Reads one file if it exists. A file that cannot be read is counted; the rows
 * before the damage are used. */
static int load_file(struct loading *l, enum util_kind kind, const char *path,
                     const char *node, bool *there, struct jp_error *err)
{
    struct jp_util *util = l->util;
    struct util_head head;
    struct util_read read;
    struct jp_error why = {""};
    int rc = 0;

    /* a node without such devices has no file */
    if (access(path, F_OK) < 0)
        return 0;
    l->n_members = 0;
    util->files++;
    *there = true;
    if (util_rows_read(path, kind, &head, take_row, l, &read, &why) < 0) {
        util->bad_files++;
        if (!*util->trouble)
            snprintf(util->trouble, sizeof(util->trouble), "%.255s", why.text);
    }
    util->cut_files += read.cut;
    /* also counted for a file that ended in an error */
    util->bad_lines += read.bad_lines;
    for (size_t i = 0; i < l->n_members; i++)
        if (close_member(l, kind, node, &l->members[i], rc ? NULL : err) < 0)
            rc = -1;
    return rc;
}

/* Reads the files of a node. Its name is kept if it has any. */
static int load_node(struct loading *l, const char *dir, const char *name,
                     struct jp_error *err)
{
    struct jp_util *util = l->util;
    bool there = false;
    int rc = 0;

    if (VECTOR_DOUBLE(util->nodes, util->n_nodes) < 0)
        return error_set(err, "out of memory");
    /* the name is kept only if there is a file */
    util->nodes[util->n_nodes] = strdup(name);
    if (!util->nodes[util->n_nodes])
        return error_set(err, "out of memory");
    for (int kind = 0; kind < UTIL_KINDS && rc == 0; kind++) {
        char *path = text_format("%s/nodes/%s/util-%s.csv.gz", dir, name,
                                 util_tables[kind].name);

        rc = path ? load_file(l, (enum util_kind) kind, path,
                              util->nodes[util->n_nodes], &there, err)
                  : error_set(err, "out of memory");
        free(path);
    }
    if (there || rc < 0)
        util->n_nodes++; /* rows borrow the name */
    else
        free(util->nodes[util->n_nodes]);
    return rc;
}

/* --- all members ---------------------------------------------------------- */

/* Percentiles of all members are over their means; mean and bounds are over all
 * samples. */
static void close_total(struct total *total, struct jp_util_row *row)
{
    struct series *all = &total->all;
    double mean_of_means = total->means.sum / total->means.weight;

    describe(row, &total->means);
    row->members = total->means.samples;
    row->samples = all->samples;
    row->mean = all->sum / all->weight;
    /* a single member has no imbalance */
    if (row->members > 1 && mean_of_means > 0)
        row->imbalance = total->means.max / mean_of_means;
    row->min = all->min;
    row->max = all->max;
    row->first_us = all->first_us;
    row->last_us = all->last_us;
}

/* Puts the rows for all members before those of single members. */
static int add_totals(struct loading *l, struct jp_error *err)
{
    struct jp_util *util = l->util;
    struct jp_util_row *members = util->rows;
    size_t n_members = util->n_rows;
    int rc = 0;

    /* start a new list: totals first, then the rows made so far */
    util->rows = NULL;
    util->n_rows = l->rows_room = 0;
    for (int scope = 0; scope < JP_UTIL_SCOPES; scope++)
        for (size_t i = 0; i < util_tables[kind_of[scope]].n; i++) {
            struct total *total = &l->totals[scope][i];
            struct jp_util_row row = {.scope = (enum jp_util_scope) scope,
                                      .node = ""};

            if (rc == 0 && total->all.samples) {
                row.column = &util_tables[kind_of[scope]].columns[i];
                close_total(total, &row);
                rc = add_row(l, &row, err);
            }
            series_fini(&total->means);
        }
    for (size_t i = 0; i < n_members && rc == 0; i++)
        rc = add_row(l, &members[i], err);
    free(members);
    return rc;
}

int util_load(const char *step_dir, const struct jp_nodes *nodes,
              struct jp_util **out, struct jp_error *err)
{
    struct loading *l = calloc(1, sizeof(*l));
    int rc = 0;

    if (l)
        l->util = calloc(1, sizeof(*l->util));
    if (!l || !l->util) {
        free(l);
        return error_set(err, "out of memory");
    }
    for (size_t i = 0; i < nodes->n_nodes && rc == 0; i++) {
        l->clock = nodes->nodes[i].clock;
        rc = load_node(l, nodes_step_dir(&nodes->nodes[i], step_dir),
                       nodes->nodes[i].name, err);
    }
    /* also after an error, because it frees the totals */
    if (add_totals(l, rc ? NULL : err) < 0)
        rc = -1;
    l->util->left_out += l->lost_members;
    /* no files: no result, and no error */
    if (rc < 0 || l->util->files == 0) {
        util_destroy(l->util);
        l->util = NULL;
    }
    if (rc == 0)
        *out = l->util;
    free(l->members);
    free(l);
    return rc;
}

void util_destroy(struct jp_util *util)
{
    if (!util)
        return;
    for (size_t i = 0; i < util->n_nodes; i++)
        free(util->nodes[i]);
    free(util->nodes);
    free(util->rows);
    free(util);
}

const struct jp_util_row *util_find_row(const struct jp_util *util,
                                        enum jp_util_scope scope,
                                        unsigned column)
{
    const struct util_column *wanted =
        &util_tables[kind_of[scope]].columns[column];

    for (size_t i = 0; i < util->n_rows && !*util->rows[i].node; i++)
        if (util->rows[i].scope == scope && util->rows[i].column == wanted)
            return &util->rows[i];
    return NULL;
}

/* --- a sentence ----------------------------------------------------------- */

/* The sum of all members' means; NAN: none is known. */
static double sum_of(const struct jp_util *util, enum jp_util_scope scope,
                     unsigned column)
{
    const struct jp_util_row *row = util_find_row(util, scope, column);

    return row ? row->mean * (double) row->members : NAN;
}

/* The largest sample of any member; NAN: unknown. */
static double most_of(const struct jp_util *util, enum jp_util_scope scope,
                      unsigned column)
{
    const struct jp_util_row *row = util_find_row(util, scope, column);

    return row ? row->max : NAN;
}

/* Appends to a list separated by "; ". */
static void append_text(char *buf, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void append_text(char *buf, size_t size, const char *fmt, ...)
{
    size_t n = strlen(buf);
    va_list args;

    /* not the first part */
    if (n && n < size)
        n += (size_t) snprintf(buf + n, size - n, "; ");
    va_start(args, fmt);
    if (n < size)
        vsnprintf(buf + n, size - n, fmt, args);
    va_end(args);
}

static uint64_t bytes_of(double v)
{
    return v > 0 ? (uint64_t) v : 0;
}

char *util_text(const struct jp_util *util, char *buf, size_t size)
{
    double busy = most_of(util, JP_UTIL_GPU, GPU_SM), cores, all, read;
    const struct jp_util_row *gpu = util_find_row(util, JP_UTIL_GPU, GPU_SM);

    buf[0] = '\0';
    if (gpu && !isnan(busy))
        append_text(buf, size, "GPU%s %.0f %% busy",
                    gpu->members == 1 ? "" : "s", gpu->mean * 100);
    /* of the step on all nodes */
    cores = sum_of(util, JP_UTIL_STEP, TASK_USER) +
            sum_of(util, JP_UTIL_STEP, TASK_SYSTEM);
    all = sum_of(util, JP_UTIL_STEP, TASK_CPUS);
    if (!isnan(cores) && !isnan(all))
        append_text(buf, size, "CPU %.3g of %.0f cores", cores, all);
    all = most_of(util, JP_UTIL_GPU, GPU_MEMORY_TOTAL);
    if (!isnan(all))
        append_text(
            buf, size, "GPU memory %s of %s at most",
            FIG_BYTES(bytes_of(most_of(util, JP_UTIL_GPU, GPU_MEMORY_USED))),
            FIG_BYTES(bytes_of(all)));
    all = most_of(util, JP_UTIL_NODE, NODE_MEMORY_TOTAL);
    if (!isnan(most_of(util, JP_UTIL_STEP, TASK_MEMORY)) && !isnan(all))
        append_text(
            buf, size, "memory %s of a node's %s at most",
            FIG_BYTES(bytes_of(most_of(util, JP_UTIL_STEP, TASK_MEMORY))),
            FIG_BYTES(bytes_of(all)));
    read = sum_of(util, JP_UTIL_STEP, TASK_READ_CALLS);
    /* less than 1 MB/s is not worth a mention */
    if (!isnan(read) && read >= 1e6)
        append_text(buf, size, "read %.3g MB/s", read / 1e6);
    return buf;
}
