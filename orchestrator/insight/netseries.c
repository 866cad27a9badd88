/* netseries.c - the network's own time, and changes of it during a run.
 *
 * netseries_read walks once over all operations, which are sorted by
 * communicator and function. flush() gets the operations of one function,
 * add_operations() those of one size: their warm-up, their cell (netcells.h),
 * and with enough operations a series, which fit_series() fits. netseries.h has
 * the estimator.
 */
#include "orchestrator/insight/netseries.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/figure.h"
#include "common/keymap.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/limits.h"
#include "common/stats.h"
#include "common/vector.h"

/* --- warm-up -------------------------------------------------------------- */

/* The warm-up ends at the last slow operation for which at least half of all
 * operations up to it were slow: single slow ones later do not extend it, and
 * single fast ones at the start do not end it. */
size_t warmup_length(const double *us, size_t n, double *scratch,
                     double *usual_us)
{
    size_t most = n / limits_get(JP_LIMIT_WARMUP_PART), length = 0, slow = 0;

    *usual_us = 0;
    if (!most)
        return 0;
    memcpy(scratch, us + most, (n - most) * sizeof(*scratch));
    *usual_us = stats_median(scratch, n - most);
    for (size_t i = 0; i < most; i++) {
        if (us[i] <= limits_get(JP_LIMIT_WARMUP_TIMES) * *usual_us)
            continue;
        if (2 * ++slow >= i + 1)
            length = i + 1;
    }
    return length;
}

void warmup_sum(const struct jp_netserieses *kinds, struct jp_warmup *w)
{
    /* all_us and warm_kinds_us weigh kinds by their usual time, so that many
     * small kinds do not outvote the large ones. */
    double all_us = 0, warm_kinds_us = 0, took = 0, usual = 0;

    *w = (struct jp_warmup){.until_us = NAN};
    for (size_t i = 0; i < kinds->n; i++) {
        const struct jp_netseries *s = &kinds->at[i];
        double time_us = s->usual_us * (double) s->ops;

        w->of_kinds++;
        all_us += time_us;
        if (!s->warm_ops)
            continue;
        w->kinds++;
        w->ops += s->warm_ops;
        warm_kinds_us += time_us;
        took += s->warm_us;
        usual += s->usual_us * (double) s->warm_ops;
        if (!isnan(s->warm_until_us) && !(s->warm_until_us <= w->until_us))
            w->until_us = s->warm_until_us;
    }
    if (!w->ops || warm_kinds_us < limits_get(JP_LIMIT_WARMUP_KINDS) * all_us) {
        *w = (struct jp_warmup){.of_kinds = w->of_kinds, .until_us = NAN};
        return;
    }
    w->times = took / usual;
    w->took_us = took - usual;
}

void warmup_text(const struct jp_warmup *w, bool looked, uint64_t begin_us,
                 char text[JP_WARMUP_TEXT])
{
    struct jp_sentence s;

    sentence_init(&s, text, JP_WARMUP_TEXT);
    if (!looked) {
        sentence_add(&s, "not looked for, as ranks could not be compared");
    } else if (!w->of_kinds) {
        sentence_add(&s, "not looked for: no kind of collective has enough "
                         "complete operations");
    } else if (!w->ops) {
        sentence_add(&s,
                     "none detected: the first operations of %s kind%s "
                     "(communicator, function, size) took as long as later "
                     "ones",
                     FIG_COUNT(w->of_kinds), plural(w->of_kinds));
        sentence_add(&s, "findings on the network exclude the first twentieth "
                         "of each anyway");
    } else {
        bool known = begin_us && isfinite(w->until_us);
        bool later = known && w->until_us > (double) begin_us;

        sentence_add(
            &s,
            "the first %s operations of %s of %s kinds (communicator, "
            "function, size), %s%s, took %.1f times as long as later "
            "ones",
            FIG_COUNT(w->ops), FIG_COUNT(w->kinds), FIG_COUNT(w->of_kinds),
            later   ? "until "
            : known ? "all in the first records"
                    : "at an unknown time",
            later ? FIG_US(w->until_us - (double) begin_us) : "", w->times);
        sentence_add(&s, "findings exclude them, as NCCL connects and tunes "
                         "in its first operations; tables and charts of "
                         "bandwidth include them");
    }
}

/* --- cells ---------------------------------------------------------------- */

/* Cells while they are filled. */
struct filling {
    const struct jp_result *r;
    const char *gpu; /* model, "": unknown */
    struct jp_netcells *cells;
    /* [communicator] equal for equal keys, coll and size aside */
    size_t *kind_of;
    struct keymap map; /* (kind and size class, function) to index of a cell */
};

static int by_kind(const void *a, const void *b, void *kinds)
{
    const struct jp_netkey *list = kinds;

    return netkey_compare(&list[*(const size_t *) a],
                          &list[*(const size_t *) b]);
}

/* Gives communicators of one kind the same number. Returns 0 or -1. */
static int number_kinds(struct filling *f)
{
    size_t n = f->r->n_comms, kind = 0;
    size_t *order = calloc(n + 1, sizeof(*order));
    struct jp_netkey *kinds = calloc(n + 1, sizeof(*kinds));
    int rc = -1;

    f->kind_of = calloc(n + 1, sizeof(*f->kind_of));
    if (!order || !kinds || !f->kind_of)
        goto out;
    for (size_t c = 0; c < n; c++) {
        netcells_key(&f->r->comms[c], f->gpu, "", 0, &kinds[c]);
        order[c] = c;
    }
    if (n)
        qsort_r(order, n, sizeof(*order), by_kind, kinds);
    for (size_t i = 0; i < n; i++) {
        if (i && by_kind(&order[i], &order[i - 1], kinds))
            kind++;
        f->kind_of[order[i]] = kind;
    }
    rc = 0;
out:
    free(order);
    free(kinds);
    return rc;
}

/* Returns room for one more cell, not counted yet. NULL: no memory. */
static struct jp_netcell *new_cell(struct jp_netcells *cells)
{
    return VECTOR_DOUBLE(cells->at, cells->n) < 0 ? NULL : cells->at + cells->n;
}

/* Returns the cell of a communicator's function (borrowed from the result) and
 * size, borrowed until the next call. NULL: no memory, or too many cells
 * (cells->full). */
static struct jp_netcell *get_cell(struct filling *f, size_t comm,
                                   const char *coll, uint64_t bytes)
{
    struct jp_netcells *cells = f->cells;
    uint64_t a = (uint64_t) f->kind_of[comm] << 32 | netcells_size(bytes);
    uint64_t b = (uint64_t) (uintptr_t) coll;
    uint32_t at = keymap_find(&f->map, a, b);
    struct jp_netcell *cell;

    if (at != KEYMAP_NONE) {
        cell = &cells->at[at];
        if (bytes < cell->bytes)
            cell->bytes = bytes;
        return cell;
    }
    if (cells->n == NETCELLS_MAX) {
        cells->full = true;
        return NULL;
    }
    cell = new_cell(cells);
    if (!cell || keymap_add(&f->map, a, b, (uint32_t) cells->n) < 0)
        return NULL;
    *cell = (struct jp_netcell){.comm = comm, .bytes = bytes};
    netcells_key(&f->r->comms[comm], f->gpu, coll, bytes, &cell->key);
    cells->n++;
    return cell;
}

static int by_key(const void *a, const void *b)
{
    const struct jp_netcell *x = a, *y = b;

    return netkey_compare(&x->key, &y->key);
}

/* Sorts the cells and frees what was needed to fill them. */
static void end_cells(struct filling *f)
{
    if (f->cells->n)
        qsort(f->cells->at, f->cells->n, sizeof(*f->cells->at), by_key);
    keymap_fini(&f->map);
    free(f->kind_of);
}

/* --- series --------------------------------------------------------------- */

#define B NETSERIES_BLOCKS
#define EDGE 2 /* least number of blocks on each side of a step */
/* What is needed of a complete operation. */
struct sample {
    uint64_t sn, bytes, dump_min_us, dump_max_us;
    double net_us, mean_us; /* net_us: of the last rank to arrive, which does
                               not wait; mean_us: over all ranks */
    uint32_t n;
};

/* The operations of one communicator's function. */
struct samples {
    struct sample *at;
    size_t n, room;
    bool by_size;    /* the operations came sorted by size */
    double *scratch; /* room for twice as many values */
};

/* The state of the walk. */
struct reading {
    struct jp_netserieses *list;
    struct filling filling;
    struct samples samples;
    uint64_t longest_us; /* longest operation of the function so far; gbs_us is
                            known from it */
};

/* A model fitted to the logarithms of the blocks' medians by least squares. */
struct fit {
    double rest; /* sum of squares of the residuals */
    /* standard error of change, in units of the blocks' scatter */
    double error;
    double change; /* change of the logarithm over the step, the line or the
                      hump */
    unsigned at;   /* first block after the step */
    unsigned to;   /* first block after the hump */
};

/* Fits two constants. Every place is tried with EDGE blocks on each side at
 * least, because the mean of one block follows any outlier. */
static struct fit fit_step(const double v[B])
{
    struct fit best = {.rest = INFINITY};

    for (unsigned at = EDGE; at <= B - EDGE; at++) {
        double rest = stats_squares(v, 0, at) + stats_squares(v, at, B);

        if (rest < best.rest)
            best = (struct fit){.rest = rest,
                                .error = sqrt(1.0 / at + 1.0 / (B - at)),
                                .change = stats_mean(v, at, B) -
                                          stats_mean(v, 0, at),
                                .at = at,
                                .to = B};
    }
    return best;
}

/* Fits a hump: the blocks before and after it share one constant. O(B^3), with
 * B = 20. */
static struct fit fit_hump(const double v[B])
{
    struct fit best = {.rest = INFINITY};

    for (unsigned at = EDGE; at <= B - 2 * EDGE; at++)
        for (unsigned to = at + EDGE; to <= B - EDGE; to++) {
            unsigned out = B - (to - at);
            double usual =
                (stats_mean(v, 0, at) * at + stats_mean(v, to, B) * (B - to)) /
                out;
            double rest = stats_squares(v, at, to);

            for (unsigned i = 0; i < B; i++)
                if (i < at || i >= to)
                    rest += (v[i] - usual) * (v[i] - usual);
            if (rest < best.rest)
                best = (struct fit){.rest = rest,
                                    .error = sqrt(1.0 / out + 1.0 / (B - out)),
                                    .change = stats_mean(v, at, to) - usual,
                                    .at = at,
                                    .to = to};
        }
    return best;
}

/* Fits a straight line (a steady growth of the time by a factor). */
static struct fit fit_line(const double v[B])
{
    double middle = (B - 1) / 2.0, m = stats_mean(v, 0, B), xy = 0, xx = 0,
           slope;
    struct fit fit = {0};

    for (unsigned i = 0; i < B; i++) {
        xy += (i - middle) * (v[i] - m);
        xx += (i - middle) * (i - middle);
    }
    slope = xy / xx;
    for (unsigned i = 0; i < B; i++) {
        double left = v[i] - m - slope * (i - middle);

        fit.rest += left * left;
    }
    fit.change = slope * (B - 1);
    fit.error = (B - 1) / sqrt(xx);
    return fit;
}

/* Returns true if the model is significant and large enough. The null
 * hypothesis is a constant with independent noise; the test is an F test with B
 * - 2 degrees of freedom. The limit (`net_fit_min`) is far above usual ones,
 * because the place of the step was searched and blocks depend on each other.
 * The floor and the quantum (half a microsecond of rounding) keep a nearly
 * noiseless series from making a tiny change significant. Only growth counts: a
 * network that becomes faster is no fault. */
static bool explains(const struct fit *fit, double all, double quantum)
{
    double rest = fit->rest / (B - 2) + limits_get(JP_LIMIT_NET_FLOOR) +
                  quantum * quantum;

    return (all - fit->rest) / rest > limits_get(JP_LIMIT_NET_FIT) &&
           exp(fit->change) - 1 > limits_get(JP_LIMIT_NET_CHANGE);
}

/* Returns the first of n operations in block b, if the first `skip` are left
 * out. */
static size_t block_start(size_t n, size_t skip, unsigned b)
{
    return skip + (n - skip) * b / B;
}

/* Medians, because single operations jitter upwards only; logarithms, because a
 * slowdown is a factor. */
static void block_medians(const struct sample *ops, size_t n, size_t skip,
                          double *scratch, double v[B])
{
    for (unsigned b = 0; b < B; b++) {
        size_t from = block_start(n, skip, b), to = block_start(n, skip, b + 1);

        for (size_t i = from; i < to; i++)
            scratch[i - from] = ops[i].net_us;
        v[b] = log(stats_median(scratch, to - from));
    }
}

/* Sums up the time of all ranks beyond the usual one in the operations from..to
 * - 1, and when these were. Operations that were faster count as no excess, not
 * as a negative one. */
static void weigh(struct jp_netseries *s, const struct sample *ops, size_t from,
                  size_t to)
{
    for (size_t i = from; i < to; i++) {
        double over = ops[i].net_us - s->before_us;

        if (over > 0)
            s->excess_us += over * ops[i].n;
    }
    if (from < to && ops[from].dump_min_us)
        s->from_us = (double) ops[from].dump_min_us;
    if (ops[to - 1].dump_max_us)
        s->to_us = (double) ops[to - 1].dump_max_us;
}

/* Fills the warm-up of a series. Times are means over ranks, because a rank
 * that is not ready makes the others wait. scratch: room for 2 n values. */
static void find_warmup(struct jp_netseries *s, const struct sample *ops,
                        size_t n, double *scratch)
{
    s->warm_us = 0;
    s->warm_until_us = NAN;
    for (size_t i = 0; i < n; i++)
        scratch[i] = ops[i].mean_us;
    s->warm_ops = warmup_length(scratch, n, scratch + n, &s->usual_us);
    for (size_t i = 0; i < s->warm_ops; i++)
        s->warm_us += ops[i].mean_us;
    if (s->warm_ops && ops[s->warm_ops - 1].dump_max_us)
        s->warm_until_us = (double) ops[s->warm_ops - 1].dump_max_us;
}

/* Returns how many operations are left out at the start: the warm-up, and at
 * least one in `warmup_skip`, as a short warm-up may stay undetected. */
static size_t warmup_of(const struct jp_netseries *s, size_t n)
{
    return s->warm_ops > n / limits_get(JP_LIMIT_WARMUP_SKIP)
               ? s->warm_ops
               : n / limits_get(JP_LIMIT_WARMUP_SKIP);
}

/* Fits all models to one series and takes the simplest that explains it. A hump
 * has one more edge to fit with, so it must leave less than half of what the
 * others leave. A step and a line have equally many parameters. */
static void fit_series(struct jp_netseries *s, const struct sample *ops,
                       size_t n, double *scratch)
{
    size_t skip = warmup_of(s, n), from = skip, to = n;
    double v[B], all, quantum;
    struct fit step, line, hump;

    for (size_t i = skip; i < n; i++)
        scratch[i - skip] = ops[i].net_us;
    s->median_us = stats_median(scratch, n - skip);
    s->noise = NAN;
    /* Times are in whole microseconds: short ones are mostly rounding. */
    if (s->median_us < limits_get(JP_LIMIT_NET_US))
        return;
    block_medians(ops, n, skip, scratch, v);
    quantum = 0.5 / s->median_us;
    all = stats_squares(v, 0, B);
    step = fit_step(v);
    line = fit_line(v);
    hump = fit_hump(v);
    s->noise = sqrt(fmin(step.rest, line.rest) / (B - 2) +
                    limits_get(JP_LIMIT_NET_FLOOR) + quantum * quantum);
    if (hump.rest <
            limits_get(JP_LIMIT_NET_HUMP) * fmin(step.rest, line.rest) &&
        explains(&hump, all, quantum)) {
        s->course = NET_STEP;
        s->passed = true;
        s->after_us = exp(stats_mean(v, hump.at, hump.to));
        s->before_us = s->after_us / exp(hump.change);
        s->change_error = hump.error * s->noise;
        from = block_start(n, skip, hump.at);
        to = block_start(n, skip, hump.to);
    } else if (step.rest <= line.rest && explains(&step, all, quantum)) {
        s->course = NET_STEP;
        s->before_us = exp(stats_mean(v, 0, step.at));
        s->after_us = exp(stats_mean(v, step.at, B));
        s->change_error = step.error * s->noise;
        from = block_start(n, skip, step.at);
    } else if (explains(&line, all, quantum)) {
        s->course = NET_LINE;
        s->before_us = exp(stats_mean(v, 0, B) - line.change / 2);
        s->after_us = exp(stats_mean(v, 0, B) + line.change / 2);
        s->change_error = line.error * s->noise;
    } else {
        return;
    }
    weigh(s, ops, from, to);
}

/* By size, then in the order of the run. */
static int by_size(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->sn < y->sn ? -1 : x->sn > y->sn;
}

/* Adds the bandwidths of n operations of one size, except for the first `skip`,
 * to their cell. Returns 0, also if there are too many cells; -1 without
 * memory. */
static int add_to_cell(struct filling *filling,
                       const struct jp_netseries *which,
                       const struct sample *ops, size_t n, size_t skip)
{
    double gbs_us = which->gbs_us * (double) ops[0].bytes;
    struct jp_netcell *cell;

    if (!(gbs_us > 0))
        return 0;
    cell = get_cell(filling, which->comm, which->coll, ops[0].bytes);
    if (!cell)
        return filling->cells->full ? 0 : -1;
    for (size_t i = skip; i < n; i++) {
        cell->time_us += ops[i].net_us;
        if (ops[i].net_us > 0 &&
            bwhist_add(&cell->gbs, bwhist_bucket(gbs_us / ops[i].net_us), 1) <
                0)
            return -1;
    }
    return 0;
}

/* Adds n operations of one size, in order: to their cell, and as a series if
 * they are enough. which: their communicator and function. Returns 0 or -1. */
static int add_operations(struct reading *rd, const struct jp_netseries *which,
                          const struct sample *ops, size_t n)
{
    struct jp_netserieses *list = rd->list;
    struct jp_netseries series = *which, *more;

    if (!n)
        return 0;
    find_warmup(&series, ops, n, rd->samples.scratch);
    if (add_to_cell(&rd->filling, which, ops, n, warmup_of(&series, n)) < 0)
        return -1;
    if ((double) n < limits_get(JP_LIMIT_NET_OPS))
        return 0;
    more = VECTOR_DOUBLE_ADD(list->at, list->n);
    if (!more)
        return -1;
    *more = series;
    more->bytes = ops[0].bytes;
    more->gbs_us = which->gbs_us * (double) more->bytes;
    more->ops = n;
    more->net_us = 0;
    for (size_t i = 0; i < n; i++)
        more->net_us += ops[i].net_us * ops[i].n;
    fit_series(more, ops, n, rd->samples.scratch);
    return 0;
}

/* Operations and network time of one communicator's function. */
struct weight {
    size_t comm;
    uint64_t ops;
    double net_us;
};

/* Fills list->fewest: for each communicator the number of operations of its
 * rarest function that matters (`net_weight_min` of its time). Ranks are judged
 * by sums over all functions, so the rarest one limits how sure these are.
 * Weights of a communicator are neighbours. */
static void find_fewest(struct jp_netserieses *list, const struct weight *w,
                        size_t n)
{
    size_t end;

    for (size_t i = 0; i < n; i = end) {
        double all = 0;

        for (end = i; end < n && w[end].comm == w[i].comm; end++)
            all += w[end].net_us;
        for (size_t k = i; k < end; k++)
            if (w[k].net_us >= limits_get(JP_LIMIT_NET_WEIGHT) * all &&
                (!list->fewest[w[i].comm] ||
                 w[k].ops < list->fewest[w[i].comm]))
                list->fewest[w[i].comm] = w[k].ops;
    }
}

/* Adds the collected operations size by size, and discards them. Returns 0 or
 * -1. */
static int flush(struct reading *rd, const struct jp_netseries *which)
{
    struct samples *samples = &rd->samples;
    struct sample *ops = samples->at;
    size_t start = 0;
    int rc = 0;

    if (!samples->by_size)
        qsort(ops, samples->n, sizeof(*ops), by_size);
    for (size_t i = 1; i <= samples->n && rc == 0; i++) {
        if (i < samples->n && ops[i].bytes == ops[start].bytes)
            continue;
        rc = add_operations(rd, which, ops + start, i - start);
        start = i;
    }
    samples->n = 0;
    samples->by_size = true;
    return rc;
}

/* Collects one operation. The scratch buffer grows with the list. Returns 0 or
 * -1. */
static int gather(struct samples *s, const struct jp_op *op)
{
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;

        if (vector_resize(&s->at, room, sizeof(*s->at)) < 0 ||
            vector_resize(&s->scratch, room, 2 * sizeof(*s->scratch)) < 0)
            return -1;
        s->room = room;
    }
    s->by_size &= !s->n || s->at[s->n - 1].bytes <= op->bytes;
    s->at[s->n++] = (struct sample){.sn = op->sn,
                                    .bytes = op->bytes,
                                    .dump_min_us = op->dump_min_us,
                                    .dump_max_us = op->dump_max_us,
                                    .net_us = (double) op->exec_min_us,
                                    .mean_us = (double) op->exec_sum_us / op->n,
                                    .n = op->n};
    return 0;
}

/* Returns true if the operation shows the network's time: all ranks have a time
 * in it, and none leaves it before the last has arrived. */
static bool is_judged(const struct jp_result *r, const struct jp_op *op)
{
    uint32_t n_ranks = r->comms[op->comm].n_ranks;

    return n_ranks > 1 && op->n == n_ranks && op->n_exec == n_ranks &&
           collective_is_barrier(r->coll_names[op->coll]);
}

/* Adds one operation to the weight of its function. first: it begins a new
 * function. Returns 0 or -1. */
static int weigh_in(struct weight **weights, size_t *n, const struct jp_op *op,
                    bool first)
{
    if (first) {
        if (VECTOR_DOUBLE(*weights, *n) < 0)
            return -1;
        (*weights)[(*n)++] = (struct weight){.comm = op->comm};
    }
    (*weights)[*n - 1].ops++;
    (*weights)[*n - 1].net_us += (double) op->exec_min_us;
    return 0;
}

/* Stores bandwidth times time per byte, which does not depend on the size: from
 * it follows the bandwidth of any time. The longest operation has the smallest
 * rounding error. */
static void note_rate(struct reading *rd, struct jp_netseries *which,
                      const struct jp_op *op)
{
    if (op->exec_min_us <= rd->longest_us || !op->bytes || op->n_busbw != op->n)
        return;
    rd->longest_us = op->exec_min_us;
    which->gbs_us = (double) op->busbw_max_micro / 1e6 *
                    (double) op->exec_min_us / (double) op->bytes;
}

/* Walks over all operations. Returns 0 or -1. */
static int walk(const struct jp_result *r, struct reading *rd,
                struct ops_reader *reader, struct weight **weights,
                size_t *n_weights)
{
    struct jp_netseries which = {.comm = SIZE_MAX};
    bool first = true;

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        const char *coll = r->coll_names[op->coll];

        if (which.comm != op->comm || which.coll != coll) {
            if (flush(rd, &which) < 0)
                return -1;
            which = (struct jp_netseries){.comm = op->comm,
                                          .coll = coll,
                                          .from_us = NAN,
                                          .to_us = NAN,
                                          .gbs_us = NAN};
            rd->longest_us = 0;
            first = true;
        }
        if (!is_judged(r, op))
            continue;
        rd->list->time_us += (double) op->exec_sum_us;
        rd->list->net_us += (double) op->exec_min_us * op->n;
        note_rate(rd, &which, op);
        if (gather(&rd->samples, op) < 0 ||
            weigh_in(weights, n_weights, op, first) < 0)
            return -1;
        first = false;
    }
    return flush(rd, &which);
}

int netseries_read(const struct jp_result *r, const char *gpu,
                   struct jp_netcells *cells, struct jp_netserieses *list)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    struct reading rd = {.list = list,
                         .filling = {.r = r, .gpu = gpu, .cells = cells},
                         .samples = {.by_size = true}};
    struct weight *weights = NULL;
    size_t n_weights = 0;
    int rc = -1;

    *list = (struct jp_netserieses){0};
    *cells = (struct jp_netcells){0};
    list->fewest = calloc(r->n_comms + 1, sizeof(*list->fewest));
    if (reader && list->fewest && number_kinds(&rd.filling) == 0) {
        reader->ops = r->ops;
        ops_want(reader, OPS_SN | OPS_BYTES | OPS_COUNTS | OPS_EXEC |
                             OPS_BUSBW | OPS_DUMP);
        rc = walk(r, &rd, reader, &weights, &n_weights);
    }
    if (rc == 0)
        find_fewest(list, weights, n_weights);
    else
        netseries_fini(list);
    end_cells(&rd.filling);
    free(reader);
    free(weights);
    free(rd.samples.at);
    free(rd.samples.scratch);
    return rc;
}

void netseries_fini(struct jp_netserieses *list)
{
    free(list->at);
    free(list->fewest);
    *list = (struct jp_netserieses){0};
}
