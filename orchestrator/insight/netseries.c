/* netseries.c - the network's own time, and changes of it during a run.
 *
 * netseries_read walks once over all operations, which are sorted by
 * communicator and function. end_function() gets the operations of one
 * function, add_operations() those of one size: their warm-up, their cell
 * (netcells.h), and with enough operations a series. end_communicator() looks
 * for a change in the series of a communicator (nettrend.h).
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

/* What is needed of a complete operation. */
struct sample {
    uint64_t sn, bytes, dump_min_us, dump_max_us;
    double net_us, mean_us; /* net_us: of the last rank to arrive, which does
                               not wait; mean_us: over all ranks */
    double at; /* when, among all operations of the communicator (set_times) */
    uint32_t n;
};

/* The operations of one communicator. */
struct samples {
    struct sample *at;
    size_t n, room;
    size_t function; /* the first one of the function at hand */
    bool by_size;    /* its operations came sorted by size */
    double *scratch; /* room for twice as many values */
};

/* A series of that communicator, and where its operations are. */
struct kind {
    size_t series;
    size_t start, n;
    size_t skip; /* the first ones, which are left out */
};

/* The state of the walk. */
struct reading {
    struct jp_netserieses *list;
    struct filling filling;
    struct samples samples;
    struct kind *kinds;
    size_t n_kinds;
    struct nettrend_op *trend; /* room for as many as samples have */
    uint64_t longest_us; /* longest operation of the function so far; gbs_us is
                            known from it */
};

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

/* Adds n operations of one size, in order, which begin with number `start` of
 * the samples: to their cell, and as a series if they are enough. which: their
 * communicator and function. Returns 0 or -1. */
static int add_operations(struct reading *rd, const struct jp_netseries *which,
                          size_t start, size_t n)
{
    const struct sample *ops = rd->samples.at + start;
    struct jp_netserieses *list = rd->list;
    struct jp_netseries series = *which, *more;
    double *scratch = rd->samples.scratch;
    size_t skip;

    if (!n)
        return 0;
    find_warmup(&series, ops, n, scratch);
    skip = warmup_of(&series, n);
    if (add_to_cell(&rd->filling, which, ops, n, skip) < 0)
        return -1;
    if ((double) n < limits_get(JP_LIMIT_NET_OPS))
        return 0;
    more = VECTOR_DOUBLE_ADD(list->at, list->n);
    if (!more || VECTOR_DOUBLE(rd->kinds, rd->n_kinds) < 0)
        return -1;
    rd->kinds[rd->n_kinds++] = (struct kind){
        .series = list->n - 1, .start = start, .n = n, .skip = skip};
    *more = series;
    more->bytes = ops[0].bytes;
    more->gbs_us = which->gbs_us * (double) more->bytes;
    more->ops = n;
    more->net_us = 0;
    more->noise = NAN;
    for (size_t i = 0; i < n; i++)
        more->net_us += ops[i].net_us * ops[i].n;
    for (size_t i = skip; i < n; i++)
        scratch[i - skip] = ops[i].net_us;
    more->median_us = stats_median(scratch, n - skip);
    return 0;
}

/* --- changes during the run ----------------------------------------------- */

/* Returns true if every operation of the kinds has a time. */
static bool has_times(const struct reading *rd)
{
    for (size_t k = 0; k < rd->n_kinds; k++)
        for (size_t i = 0; i < rd->kinds[k].n; i++)
            if (!rd->samples.at[rd->kinds[k].start + i].dump_min_us)
                return false;
    return true;
}

/* Sets when each operation was: the time at which it was first written, but no
 * earlier than the one before it, whose clock may have been set back since. If
 * not all have a time, its place among those of its kind. */
static void set_times(struct reading *rd)
{
    bool timed = has_times(rd);

    for (size_t k = 0; k < rd->n_kinds; k++) {
        struct sample *ops = rd->samples.at + rd->kinds[k].start;
        size_t n = rd->kinds[k].n;

        for (size_t i = 0; i < n; i++)
            ops[i].at = !timed ? ((double) i + 0.5) / (double) n
                               : fmax((double) ops[i].dump_min_us,
                                      i ? ops[i - 1].at : 0);
    }
}

/* Fits the course of n kinds together. */
static void fit_kinds(struct reading *rd, const struct kind *kinds, size_t n,
                      struct nettrend *trend)
{
    size_t n_ops = 0;

    for (size_t k = 0; k < n; k++) {
        const struct sample *ops = rd->samples.at + kinds[k].start;
        double usual = rd->list->at[kinds[k].series].median_us;

        for (size_t i = kinds[k].skip; usual > 0 && i < kinds[k].n; i++)
            rd->trend[n_ops++] = (struct nettrend_op){
                .at = ops[i].at,
                .log = log(fmax(ops[i].net_us, 0.5) / usual),
                .usual_us = usual};
    }
    nettrend_fit(rd->trend, n_ops, trend);
}

static bool is_within(const struct sample *op, const struct nettrend *trend)
{
    return op->at >= trend->from && op->at < trend->to;
}

/* The medians of a kind's operations within the slow part and outside of it. */
struct levels {
    size_t in, out; /* operations */
    double in_us, out_us;
};

static struct levels get_levels(const struct reading *rd,
                                const struct kind *kind,
                                const struct nettrend *trend)
{
    const struct sample *ops = rd->samples.at + kind->start;
    double *scratch = rd->samples.scratch;
    struct levels l = {0};

    for (size_t i = kind->skip; i < kind->n; i++)
        if (is_within(&ops[i], trend))
            scratch[l.in++] = ops[i].net_us;
    l.in_us = stats_median(scratch, l.in);
    for (size_t i = kind->skip; i < kind->n; i++)
        if (!is_within(&ops[i], trend))
            scratch[l.out++] = ops[i].net_us;
    l.out_us = stats_median(scratch, l.out);
    return l;
}

/* Sums up the time of all ranks beyond the usual one in the slow part, and when
 * that was. Operations that were faster count as no excess, not as a negative
 * one. */
static void weigh(struct jp_netseries *s, const struct sample *ops,
                  const struct kind *kind, const struct nettrend *trend)
{
    for (size_t i = kind->skip; i < kind->n; i++) {
        if (!is_within(&ops[i], trend))
            continue;
        s->excess_us += fmax(0, ops[i].net_us - s->before_us) * ops[i].n;
        if (ops[i].dump_min_us && !(s->from_us <= (double) ops[i].dump_min_us))
            s->from_us = (double) ops[i].dump_min_us;
        if (ops[i].dump_max_us && !(s->to_us >= (double) ops[i].dump_max_us))
            s->to_us = (double) ops[i].dump_max_us;
    }
}

/* Few operations do not show by themselves what is usual of a kind. */
#define LEVEL_OPS 3

/* Gives a kind the course that it has with others, if it shows it itself as far
 * as its operations can: short ones need not become slower with long ones. */
static void set_course(struct reading *rd, const struct kind *kind,
                       const struct nettrend *trend)
{
    struct jp_netseries *s = &rd->list->at[kind->series];
    struct levels l;

    s->noise = trend->noise;
    s->blocks = trend->blocks;
    if (trend->course == NET_STEADY)
        return;
    l = get_levels(rd, kind, trend);
    if (!l.in)
        return;
    s->before_us = s->median_us * exp(trend->before);
    s->after_us = s->median_us * exp(trend->after);
    if (trend->course == NET_STEP && l.in >= LEVEL_OPS && l.out >= LEVEL_OPS) {
        s->before_us = l.out_us;
        s->after_us = l.in_us;
    }
    if (!(s->after_us > s->before_us * (1 + limits_get(JP_LIMIT_NET_CHANGE))))
        return;
    s->course = trend->course;
    s->passed = trend->passed;
    s->change_error = trend->error;
    weigh(s, rd->samples.at + kind->start, kind, trend);
}

/* Fits the course of a communicator's kinds together; if they show none, that
 * of each alone, as one may have changed beside longer ones that did not. */
static void fit_communicator(struct reading *rd)
{
    struct nettrend all;

    set_times(rd);
    fit_kinds(rd, rd->kinds, rd->n_kinds, &all);
    for (size_t k = 0; k < rd->n_kinds; k++) {
        const struct kind *kind = &rd->kinds[k];
        struct nettrend one = all;

        if (all.course == NET_STEADY && rd->n_kinds > 1)
            fit_kinds(rd, kind, 1, &one);
        set_course(rd, kind, one.course == NET_STEADY ? &all : &one);
    }
    rd->n_kinds = 0;
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

/* Adds the operations of one function size by size. Returns 0 or -1. */
static int end_function(struct reading *rd, const struct jp_netseries *which)
{
    struct samples *samples = &rd->samples;
    size_t start = samples->function;
    int rc = 0;

    if (!samples->by_size)
        qsort(samples->at + start, samples->n - start, sizeof(*samples->at),
              by_size);
    for (size_t i = start + 1; i <= samples->n && rc == 0; i++) {
        if (i < samples->n && samples->at[i].bytes == samples->at[start].bytes)
            continue;
        rc = add_operations(rd, which, start, i - start);
        start = i;
    }
    samples->function = samples->n;
    samples->by_size = true;
    return rc;
}

/* Fits the series of one communicator, and discards its operations. */
static void end_communicator(struct reading *rd)
{
    fit_communicator(rd);
    rd->samples.n = rd->samples.function = 0;
}

/* Collects one operation. What is as long as the list grows with it. Returns 0
 * or -1. */
static int gather(struct reading *rd, const struct jp_op *op)
{
    struct samples *s = &rd->samples;

    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;

        if (vector_resize(&s->at, room, sizeof(*s->at)) < 0 ||
            vector_resize(&s->scratch, room, 2 * sizeof(*s->scratch)) < 0 ||
            vector_resize(&rd->trend, room, sizeof(*rd->trend)) < 0)
            return -1;
        s->room = room;
    }
    s->by_size &= s->n == s->function || s->at[s->n - 1].bytes <= op->bytes;
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
static int add_all_operations(const struct jp_result *r, struct reading *rd,
                              struct ops_reader *reader,
                              struct weight **weights, size_t *n_weights)
{
    struct jp_netseries which = {.comm = SIZE_MAX};
    bool first = true;

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        const char *coll = r->coll_names[op->coll];

        if (which.comm != op->comm || which.coll != coll) {
            if (end_function(rd, &which) < 0)
                return -1;
            if (which.comm != op->comm)
                end_communicator(rd);
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
        if (gather(rd, op) < 0 || weigh_in(weights, n_weights, op, first) < 0)
            return -1;
        first = false;
    }
    if (end_function(rd, &which) < 0)
        return -1;
    end_communicator(rd);
    return 0;
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
        rc = add_all_operations(r, &rd, reader, &weights, &n_weights);
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
    free(rd.kinds);
    free(rd.trend);
    return rc;
}

void netseries_fini(struct jp_netserieses *list)
{
    free(list->at);
    free(list->fewest);
    *list = (struct jp_netserieses){0};
}
