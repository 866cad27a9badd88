/* course.c - when findings delayed the others, in slices of the samples, and
 * tests of differences.
 *
 * courses_make divides the slices for each finding; deviation_* are the two
 * tests of cause_find.c.
 */
#include "orchestrator/util/cause.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/vector.h"
#include "common/stats.h"
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
    double prior = cause_limit(LIMIT_CAUSE_PRIOR);

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
    return deviation_t_tail(*deviations, dof + cause_limit(LIMIT_CAUSE_PRIOR));
}

double deviation_within(double variance, size_t n, double a, double b,
                        double excess, double usual, double *deviations)
{
    /* Neighbouring slices resemble each other: three count as one. */
    double dof = n > 2 ? (double) (n - 2) / 3 : 0;

    *deviations = excess /
                  sqrt(moderated(variance, dof, usual) * (1 / a + 1 / b));
    return deviation_t_tail(*deviations, dof + cause_limit(LIMIT_CAUSE_PRIOR));
}

/* Of all samples; a thousand nodes with eight GPUs take about 130 MB. */
