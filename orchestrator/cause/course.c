/* course.c - waits of operations, by the process they are for, over time. */
#include "orchestrator/cause/course.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/ops.h"

#define NONE UINT32_MAX
#define VARIES 0.3 /* waits' deviation over their mean */

struct making {
    const struct causes_input *in;
    struct course *courses;
    uint32_t *of_process; /* the finding of a late process; NONE */
    uint32_t *of_host;    /* and of a late host */
    uint64_t first_us, last_us;
};

static bool is_late(const struct jp_finding *f)
{
    return f->kind == JP_FINDING_LATE_RANK || f->kind == JP_FINDING_LATE_NODE ||
           f->kind == JP_FINDING_STALL;
}

/* --- waits ---------------------------------------------------------------- */

/* Whom each late finding is about. A process that is late and stalls has its
 * waits in the first of the two. */
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
    /* what all others waited for the last one alone; of a node, what the first
     * one waited for its ranks */
    add_wait(m, m->of_process[rank], t_us,
             (double) (op->exec_second_us - op->exec_min_us));
    add_wait(m, m->of_host[p->list[rank].host_at], t_us,
             (double) (op->exec_max_us - op->exec_min_us));
}

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

static double slice_begin(const struct samples *s, unsigned k)
{
    return (double) s->from_us + k * (double) s->slice_us;
}

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

/* Is most of the slice in the finding's own time? */
static bool is_inside(const struct samples *s, const struct jp_finding *f,
                      unsigned k)
{
    double middle = slice_begin(s, k) + (double) s->slice_us / 2;

    return !(middle < f->from_us) && !(middle > f->to_us);
}

/* The mean wait that a microsecond of waits has: slices without are left out.
 */
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
        double least = f->kind == JP_FINDING_STALL ? 0.1 : 0.25;

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
    if (!c->n_late) /* shorter than a slice, or by another clock */
        for (unsigned k = c->first; k < c->end; k++) {
            c->late[k] = true;
            c->rest[k] = c->outside[k] = false;
            c->n_late++;
            c->n_rest = c->n_outside = 0;
        }
    /* stalls are moments: a slice says little of when */
    c->parts = f->kind != JP_FINDING_STALL && c->n_outside > 0 &&
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
