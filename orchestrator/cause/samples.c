/* samples.c - the samples of a step as means over slices of the run, when
 * findings delayed the others in these slices, and tests of differences.
 *
 * Three parts: courses_make divides the slices for each finding; deviation_*
 * are the two tests of cause_find.c; the rest (samples_*) reads the files. A
 * value that is not known is NAN everywhere, and never 0.
 */
#include "orchestrator/cause/cause.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"
#include "orchestrator/aggregate/ops.h"

#define NONE UINT32_MAX
#define VARIES 0.3 /* least deviation of the waits, relative to their mean */

/* The courses while they are made. */
struct making {
    const struct causes_input *in;
    struct course *courses;
    uint32_t *of_process; /* [process] finding that it is late in, or NONE */
    uint32_t *of_host;    /* [host] finding that it is late in, or NONE */
    uint64_t first_us, last_us;
};

static bool is_late(const struct jp_finding *f)
{
    return f->kind == JP_FINDING_LATE_RANK || f->kind == JP_FINDING_LATE_NODE ||
           finding_is_stall(f->kind);
}

/* --- waits ---------------------------------------------------------------- */

/* Assigns the late findings to processes and hosts. If a process both is late
 * and stalls, its waits belong to the first of the two findings: counting them
 * twice would double the cost. */
static void mark(struct making *m)
{
    const struct jp_processes *p = m->in->processes;
    const struct jp_findings *list = &m->in->insight->findings;

    for (size_t i = 0; i < p->n; i++)
        m->of_process[i] = NONE;
    for (size_t i = 0; i < p->n_hosts; i++)
        m->of_host[i] = NONE;
    for (uint32_t k = 0; k < list->n; k++) {
        const struct jp_finding *f = &list->at[k];

        for (size_t i = 0; is_late(f) && i < p->n; i++) {
            const struct jp_process *who = &p->list[i];

            if (strcmp(who->host, f->host) != 0)
                continue;
            if (f->kind == JP_FINDING_LATE_NODE)
                m->of_host[who->host_at] = k;
            else if (who->pid == f->pid && m->of_process[i] == NONE)
                m->of_process[i] = k;
        }
    }
}

/* Adds a wait to the slice of a finding's course. Times outside of the samples'
 * time are dropped. */
static void add_wait(struct making *m, uint32_t finding, uint64_t t_us,
                     double us)
{
    const struct samples *s = m->in->samples;
    uint64_t k;

    if (finding == NONE || t_us < s->from_us)
        return;
    k = (t_us - s->from_us) / s->slice_us;
    if (k < s->n_slices)
        m->courses[finding].waits_us[k] += us;
}

/* Adds the waits in one operation to the findings of its last rank and that
 * rank's host. */
static void take_op(struct making *m, const struct jp_op *op)
{
    const struct jp_processes *p = m->in->processes;
    uint64_t t_us = op->n_start ? op->start_max_us : op->dump_min_us;
    uint64_t begin = op->n_start ? op->start_min_us : op->dump_min_us;
    uint64_t end = op->end_max_us ? op->end_max_us : op->dump_max_us;
    size_t rank;

    if (begin && begin < m->first_us)
        m->first_us = begin;
    if (end > m->last_us)
        m->last_us = end;
    if (op->min_rank == UINT32_MAX || !t_us)
        return;
    rank = processes_rank(p, m->in->result, op->comm, op->min_rank);
    if (rank == SIZE_MAX)
        return;
    rank = p->of_rank[rank];
    /* For a process: the time that all others waited for it alone. For a node:
     * the time that the first rank waited, which is for the node's ranks. */
    add_wait(m, m->of_process[rank], t_us,
             (double) (op->exec_second_us - op->exec_min_us));
    add_wait(m, m->of_host[p->list[rank].host_at], t_us,
             (double) (op->exec_max_us - op->exec_min_us));
}

/* Fills waits_us of all courses. O(operations). Returns 0 or -1. */
static int read_ops(struct making *m)
{
    const struct jp_result *r = m->in->result;
    struct ops_reader reader = {.ops = r->ops};

    m->of_process = calloc(m->in->processes->n + 1, sizeof(*m->of_process));
    m->of_host = calloc(m->in->processes->n_hosts + 1, sizeof(*m->of_host));
    if (!m->of_process || !m->of_host)
        return -1;
    mark(m);
    ops_want(&reader,
             OPS_N | OPS_N_START | OPS_RANK | OPS_EXEC | OPS_DUMP | OPS_STARTS);
    for (size_t i = 0; i < r->n_ops; i++)
        take_op(m, ops_at(&reader, i));
    return 0;
}

/* --- slices --------------------------------------------------------------- */

/* Returns the begin of slice k, in us since 1970. */
static double slice_begin(const struct samples *s, unsigned k)
{
    return (double) s->from_us + k * (double) s->slice_us;
}

/* Finds the slices with operations. Before and after them nothing can be late.
 */
static void find_active(const struct making *m, struct course *c)
{
    const struct samples *s = m->in->samples;

    c->first = 0;
    c->end = s->n_slices;
    if (m->first_us >= m->last_us)
        return;
    while (c->first + 1 < c->end &&
           slice_begin(s, c->first + 1) <= (double) m->first_us)
        c->first++;
    while (c->end > c->first + 1 &&
           slice_begin(s, c->end - 1) >= (double) m->last_us)
        c->end--;
}

/* Returns true if the middle of the slice is in the finding's time. An unknown
 * begin or end (NAN) does not bound it. */
static bool is_inside(const struct samples *s, const struct jp_finding *f,
                      unsigned k)
{
    double middle = slice_begin(s, k) + (double) s->slice_us / 2;

    return !(middle < f->from_us) && !(middle > f->to_us);
}

/* A slice of one column while its file is read: weighted sum of values, and the
 * weights. */
struct sum {
    double sum, weight;
};

/* Returns the typical wait of a slice: the mean weighted by itself, so that
 * slices without waits do not lower it. */
static double typical(const struct course *c, const bool *in)
{
    double sum = 0, squares = 0;

    for (unsigned k = c->first; k < c->end; k++)
        if (in[k]) {
            sum += c->waits_us[k];
            squares += c->waits_us[k] * c->waits_us[k];
        }
    return sum > 0 ? squares / sum : 0;
}

/* Sets whether waits vary enough for a correlation to mean something. */
static void find_varies(struct course *c)
{
    double sum = 0, squares = 0, n = c->end - c->first;

    for (unsigned k = c->first; k < c->end; k++) {
        sum += c->waits_us[k];
        squares += c->waits_us[k] * c->waits_us[k];
    }
    c->varies = n >= 8 && sum > 0 &&
                sqrt(fmax(squares / n - sum / n * sum / n, 0)) >
                    VARIES * sum / n;
}

/* Divides the slices for one finding: late, rest and outside. A slice within
 * the finding's time but with few waits is not late; it is in rest, though not
 * in outside, because the cause may be there without an operation to show it.
 * Stalls are short, so a slice needs less for them. */
static void divide(const struct making *m, const struct jp_finding *f,
                   struct course *c)
{
    const struct samples *s = m->in->samples;
    bool inside[SAMPLES_SLICES] = {false};
    double usual;

    find_active(m, c);
    find_varies(c);
    for (unsigned k = c->first; k < c->end; k++)
        inside[k] = is_inside(s, f, k);
    usual = typical(c, inside);
    for (unsigned k = c->first; k < c->end; k++) {
        double least = finding_is_stall(f->kind) ? 0.1 : 0.25;

        c->late[k] = inside[k] &&
                     (usual <= 0 || c->waits_us[k] > least * usual);
        c->rest[k] = !inside[k] || (usual > 0 && isfinite(f->from_us) &&
                                    c->waits_us[k] <= 0.1 * usual);
        c->rest[k] &= !c->late[k];
        c->n_late += c->late[k];
        c->outside[k] = !inside[k];
        c->n_rest += c->rest[k];
        c->n_outside += c->outside[k];
    }
    if (!c->n_late) /* shorter than a slice, or by another clock: the whole run
                     */
        for (unsigned k = c->first; k < c->end; k++) {
            c->late[k] = true;
            c->rest[k] = c->outside[k] = false;
            c->n_late++;
            c->n_rest = c->n_outside = 0;
        }
    /* Stalls are moments, which slices are too long for: no contrast with the
     * time before. */
    c->parts = !finding_is_stall(f->kind) && c->n_outside > 0 &&
               (isfinite(f->from_us) || isfinite(f->to_us));
}

struct course *courses_make(const struct causes_input *in)
{
    const struct jp_findings *list = &in->insight->findings;
    struct making m = {.in = in, .first_us = UINT64_MAX};
    int rc = 0;

    m.courses = calloc(list->n + 1, sizeof(*m.courses));
    if (m.courses && in->result && in->result->ops && in->processes)
        rc = read_ops(&m);
    for (size_t i = 0; m.courses && rc == 0 && i < list->n; i++)
        divide(&m, &list->at[i], &m.courses[i]);
    free(m.of_process);
    free(m.of_host);
    if (rc < 0) {
        free(m.courses);
        return NULL;
    }
    return m.courses;
}

/* Returns the continued fraction of the incomplete beta function, by Lentz's
 * method (Numerical Recipes; DiDonato and Morris 1992). 1e-300 avoids divisions
 * by 0. */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1), h;

    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    h = d;
    for (int m = 1; m <= 300; m++) {
        for (int odd = 0; odd < 2; odd++) {
            double num = odd ? -(a + m) * (a + b + m) * x /
                                   ((a + 2 * m) * (a + 2 * m + 1))
                             : m * (b - m) * x /
                                   ((a + 2 * m - 1) * (a + 2 * m));

            d = 1 + num * d;
            c = 1 + num / c;
            d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
            c = fabs(c) < 1e-300 ? 1e-300 : c;
            h *= d * c;
        }
        if (fabs(d * c - 1) < 1e-12)
            break;
    }
    return h;
}

/* Returns the regularised incomplete beta function. The fraction converges fast
 * on one side of the mean only; the other side follows by symmetry. */
static double incomplete_beta(double x, double a, double b)
{
    double front;

    if (x <= 0 || x >= 1)
        return x >= 1;
    front =
        exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2)
               ? front * beta_fraction(x, a, b) / a
               : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double deviation_t_tail(double t, double dof)
{
    double tail = incomplete_beta(dof / (dof + t * t), dof / 2, 0.5) / 2;

    return t >= 0 ? tail : 1 - tail;
}

/* Returns the median absolute deviation of n values, scaled to the standard
 * deviation of normal ones, with factors for small samples (Croux and Rousseeuw
 * 1992). Robust: up to half of the peers may be outliers. Changes v. */
static double mad(double *v, size_t n, double median)
{
    static const double factor[] = {0,     0,     1.196, 1.495, 1.363,
                                    1.206, 1.200, 1.140, 1.129, 1.107};

    if (n < 2)
        return 0;
    for (size_t i = 0; i < n; i++)
        v[i] = fabs(v[i] - median);
    return 1.4826 * stats_median(v, n) *
           (n < 10 ? factor[n] : (double) n / ((double) n - 0.8));
}

/* Returns the variance of a few peers, moderated by what is usual, as if that
 * came from `cause_prior` further peers (Smyth 2004). Two or three peers may be
 * close by luck; without it, small jobs would name innocent metrics. */
static double moderated(double variance, double dof, double usual)
{
    double prior = limits_get(JP_LIMIT_CAUSE_PRIOR);

    return (prior * usual * usual + dof * variance) / (prior + dof);
}

double deviation_chance(double *peers, size_t n, double median, double excess,
                        double usual, double *deviations)
{
    double dof = n > 1 ? (double) n - 1 : 0, s = mad(peers, n, median);
    /* The excess is against the median, which is uncertain itself: it has pi /
     * 2n times the variance of a normal value. */
    double variance = moderated(s * s, dof, usual) *
                      (1 + acos(-1) / 2 / (double) n);

    *deviations = excess / sqrt(variance);
    return deviation_t_tail(*deviations,
                            dof + limits_get(JP_LIMIT_CAUSE_PRIOR));
}

double deviation_within(double variance, size_t n, double a, double b,
                        double excess, double usual, double *deviations)
{
    /* Neighbouring slices resemble each other: three count as one. */
    double dof = n > 2 ? (double) (n - 2) / 3 : 0;

    *deviations = excess /
                  sqrt(moderated(variance, dof, usual) * (1 / a + 1 / b));
    return deviation_t_tail(*deviations,
                            dof + limits_get(JP_LIMIT_CAUSE_PRIOR));
}

/* Of all samples; a thousand nodes with eight GPUs take about 130 MB. */
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
    if (file->n == file->room) {
        size_t room = file->room ? file->room * 2 : 16;
        struct open_member *more = realloc(file->at, room * sizeof(*more));

        if (!more)
            return NULL;
        file->at = more;
        file->room = room;
    }
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

/* Turns a member's sums into means and appends it. The list doubles at each
 * power of two. Returns 0 or -1. */
static int keep(struct samples *s, const struct open_file *file,
                const struct open_member *m)
{
    struct sampled *more;
    size_t room = s->n & (s->n - 1) ? 0 : s->n ? s->n * 2 : 1;

    if (room) {
        more = realloc(s->at, room * sizeof(*more));
        if (!more)
            return -1;
        s->at = more;
    }
    more = &s->at[s->n++];
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
            rc = keep(s, file, &file->at[i]);
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
