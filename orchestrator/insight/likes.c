/* likes.c - shapes of communicators, and which ones are behind others of their
 * kind.
 *
 * The first half has the orders by which communicators are alike; late ranks,
 * stalls and the network compare within these. The second half is for hangs:
 * which communicators have done fewer operations than others of their kind
 * because they stopped, and not because the program gives them less to do in
 * each step (shortness_of).
 */
#include "orchestrator/insight/likes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/insight/limits.h"
#include "common/stats.h"

/* --- which communicators are alike ---------------------------------------- */

static int by_size(const struct jp_comm *x, const struct jp_comm *y)
{
    return x->n_ranks != y->n_ranks ? (x->n_ranks < y->n_ranks ? -1 : 1) : 0;
}

/* Communicators of one purpose have about equally many operations: the same
 * power of two. Their exact numbers differ if the run was cut. */
static int by_ops(const struct jp_comm *x, const struct jp_comm *y)
{
    return stats_magnitude(x->ops) - stats_magnitude(y->ops);
}

int likes_by_place(const struct jp_comm *x, const struct jp_comm *y)
{
    int order = by_size(x, y);

    if (!order && x->nnodes != y->nnodes)
        order = x->nnodes < y->nnodes ? -1 : 1;
    if (!order)
        order = by_ops(x, y);
    return order ? order : strcmp(x->name, y->name);
}

static int order_of_words(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

int likes_by_link(const struct jp_comm *x, const struct jp_comm *y)
{
    int order = stats_order(x->n_ranks, y->n_ranks);

    order = order ? order : stats_order(x->nnodes, y->nnodes);
    order = order ? order : stats_order(x->n_hosts, y->n_hosts);
    order = order ? order : stats_order(x->type, y->type);
    order = order ? order : order_of_words(x->fabric, y->fabric);
    return order ? order : order_of_words(x->inter, y->inter);
}

struct numbering {
    const struct jp_comm *comms;
    likes_order *order;
};

static int by_order(const void *a, const void *b, void *arg)
{
    const struct numbering *by = arg;

    return by->order(&by->comms[*(const size_t *) a],
                     &by->comms[*(const size_t *) b]);
}

/* Sorts by shape, then numbers the runs of equal ones: O(n log n). */
int likes_number(const struct jp_result *r, likes_order *order,
                 size_t *class_of, size_t *n_classes)
{
    struct numbering by = {r->comms, order};
    size_t n = r->n_comms, *list = calloc(n + 1, sizeof(*list));

    if (!list)
        return -1;
    for (size_t i = 0; i < n; i++)
        list[i] = i;
    if (n)
        qsort_r(list, n, sizeof(*list), by_order, &by);
    *n_classes = 0;
    for (size_t i = 0; i < n; i++) {
        *n_classes += !i || by_order(&list[i - 1], &list[i], &by);
        class_of[list[i]] = *n_classes - 1;
    }
    free(list);
    return 0;
}

/* --- which one has done less than most ------------------------------------ */

/* Communicators of one kind are compared for hangs: same size and name, and
 * both with collectives or both with messages only. */
static int by_kind(const struct jp_comm *x, const struct jp_comm *y)
{
    int order = by_size(x, y);

    if (order)
        return order;
    if (!x->ops != !y->ops)
        return x->ops ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Within a kind by operations done, most first. The last comparison makes the
 * order independent of qsort. */
static int by_done(const void *a, const void *b, void *arg)
{
    const struct jp_comm *comms = arg;
    const struct jp_comm *x = &comms[*(const size_t *) a],
                         *y = &comms[*(const size_t *) b];
    int order = by_kind(x, y);

    if (order)
        return order;
    if (likes_done(x) != likes_done(y))
        return likes_done(x) > likes_done(y) ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Returns the fewest operations in any communicator of the first rank's
 * process: about the number of the program's steps. Communicators used only at
 * the start (below `hang_steps_min`) do not count. 0: none. */
static uint64_t steps_of(const struct jp_likes *s, size_t comm)
{
    double least = limits_get(JP_LIMIT_HANG_STEPS);
    const struct jp_process *who;
    uint64_t steps = UINT64_MAX;

    if (s->p->comm_start[comm] == s->p->comm_start[comm + 1])
        return 0;
    who = &s->p->list[s->p->of_rank[s->p->comm_start[comm]]];
    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t at = s->r->ranks[s->p->by_process[i]].comm;
        const struct jp_comm *c = &s->r->comms[at];

        if (c->n_ranks > 1 && (double) c->ops >= least && c->ops < steps)
            steps = c->ops;
    }
    return steps == UINT64_MAX ? 0 : steps;
}

/* A part of the run, as shares of it from 0 to 1. */
struct stretch {
    double from, to;
};

/* Returns what a window adds to the mean number of ended operations over a
 * stretch: operations before the stretch count fully, those within it for the
 * rest of the stretch. */
static double mean_of(const struct jp_window *w, const struct jp_window *first,
                      double run_us, struct stretch in)
{
    double at = (double) (w->t1_us - first->t0_us) / run_us;

    return at >= in.to ? 0
                       : (double) w->ops * (in.to - fmax(at, in.from)) /
                             (in.to - in.from);
}

/* Returns for each communicator its operations between an early and a late part
 * of the run, as the difference of two means over many moments: stages of a
 * pipeline advance in turns, so numbers at two single moments would differ by
 * chance. Zeros if there are no windows. Caller frees. NULL: no memory. */
static double *count_gain(const struct jp_result *r)
{
    static const struct stretch early = {0.1, 0.4}, late = {0.6, 0.9};
    double *gain = calloc(r->n_comms + 1, sizeof(*gain)), run_us;

    if (!gain || !r->n_windows)
        return gain;
    run_us =
        (double) (r->windows[r->n_windows - 1].t1_us - r->windows[0].t0_us);
    for (size_t i = 0; i < r->n_windows && run_us > 0; i++) {
        const struct jp_window *w = &r->windows[i];

        gain[w->comm] += mean_of(w, r->windows, run_us, late) -
                         mean_of(w, r->windows, run_us, early);
    }
    return gain;
}

/* Why a communicator has fewer operations than the most advanced of its kind.
 * If it stopped at the end, it gained as much as that one in the middle of the
 * run. If it does less in each step, about half of the difference is there
 * already, since the two parts are half of the run apart. */
enum shortness { SHORT_BY_STOP, SHORT_BY_WORK, SHORT_UNSURE };

/* Distinguishes the two reasons by the part of the lag that is missing in the
 * middle of the run. Between `hang_stopped_max` and `hang_less_min` it is
 * unsure, and no communicator is accused. `steps` may count each step
 * `hang_buckets_max` times; a lag of less than one operation in two steps
 * cannot come from less work in each step. */
static enum shortness shortness_of(const struct jp_likes *s, const double *gain,
                                   size_t comm, size_t first, uint64_t lag)
{
    double part = (gain[first] - gain[comm]) / (double) lag;

    if (!lag || !s->r->comms[comm].ops ||
        2 * lag <= s->steps[first] / limits_get(JP_LIMIT_HANG_BUCKETS))
        return SHORT_BY_STOP;
    if (!(gain[first] > 0))
        return s->r->n_windows ? SHORT_UNSURE : SHORT_BY_STOP;
    return fabs(part) < limits_get(JP_LIMIT_HANG_STOPPED) ? SHORT_BY_STOP
           : part > limits_get(JP_LIMIT_HANG_LESS)        ? SHORT_BY_WORK
                                                          : SHORT_UNSURE;
}

/* Compares n communicators of a kind, most operations first, with the first
 * one. Returns how many of them are within a few steps of each other; the
 * caller goes on with the rest as a new group. */
static size_t count_alike(struct jp_likes *s, const double *gain,
                          const size_t *likes, size_t n)
{
    uint64_t most = likes_done(&s->r->comms[likes[0]]), width;
    size_t end = 1, even = 0;

    s->steps[likes[0]] = steps_of(s, likes[0]);
    if (!s->steps[likes[0]])
        return 1;
    /* A communicator that hung is at most one step behind. `steps` may count
     * each step `hang_buckets_max` times, because gradients are cut into
     * buckets, so a step has up to that many times most / steps operations. */
    width = limits_get(JP_LIMIT_HANG_BUCKETS) * (most / s->steps[likes[0]] + 1);
    for (; end < n; end++) {
        size_t c = likes[end];
        uint64_t lag = most - likes_done(&s->r->comms[c]);

        enum shortness by = lag > width
                                ? SHORT_BY_WORK
                                : shortness_of(s, gain, c, likes[0], lag);

        if (by == SHORT_BY_WORK)
            break;
        s->unsure |= by == SHORT_UNSURE;
        s->lag[c] = lag;
        s->n_lags += lag > 0;
    }
    for (size_t i = 0; i < end; i++)
        even += !s->lag[likes[i]];
    for (size_t i = 0; i < end; i++) {
        s->likes[likes[i]] = end;
        s->even[likes[i]] = even;
        s->steps[likes[i]] = s->steps[likes[0]];
    }
    return end;
}

/* Counts for each process in how many of its communicators it is behind. */
static void count_lags(struct jp_likes *s)
{
    for (size_t i = 0; i < s->r->n_ranks; i++)
        s->lags_of[s->p->of_rank[i]] += s->lag[s->r->ranks[i].comm] > 0;
}

int likes_compare(struct jp_likes *s, const struct jp_result *r,
                  const struct jp_processes *p)
{
    size_t n = r->n_comms, *order = calloc(n + 1, sizeof(*order)), at = 0;
    double *gain = count_gain(r);
    int rc = -1;

    *s = (struct jp_likes){.r = r, .p = p};
    s->lag = calloc(n + 1, sizeof(*s->lag));
    s->likes = calloc(n + 1, sizeof(*s->likes));
    s->even = calloc(n + 1, sizeof(*s->even));
    s->steps = calloc(n + 1, sizeof(*s->steps));
    s->lags_of = calloc(p->n + 1, sizeof(*s->lags_of));
    if (!order || !gain || !s->lag || !s->likes || !s->even || !s->steps ||
        !s->lags_of)
        goto out;
    rc = 0;
    for (size_t i = 0; i < n; i++)
        if (r->comms[i].n_ranks > 1 && likes_done(&r->comms[i]))
            order[at++] = i;
    n = at;
    if (n)
        qsort_r(order, n, sizeof(*order), by_done, r->comms);
    /* Kinds are neighbours in the order; within a kind each call of judge takes
     * a group off the front. */
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1;
             end < n && !by_kind(&r->comms[order[i]], &r->comms[order[end]]);
             end++)
            ;
        while (i < end)
            i += count_alike(s, gain, order + i, end - i);
    }
    count_lags(s);
out:
    free(order);
    free(gain);
    if (rc < 0)
        likes_fini(s);
    return rc;
}

void likes_fini(struct jp_likes *s)
{
    free(s->lag);
    free(s->likes);
    free(s->even);
    free(s->steps);
    free(s->lags_of);
    *s = (struct jp_likes){0};
}
