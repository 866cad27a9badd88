/* judge.c - from own times to names: excess, errors by resampling, cost.
 *
 * Way through: judge_run, set_excess (each own time less that of the peers),
 * find_stalls, add_blocks, measure (excess and error of each process),
 * set_least (the smallest excess that is named), name_*, price.
 */
#include "orchestrator/judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/stats.h"

#define QUESTIONS 4        /* late, since when, node, stall */
#define BLOCKS_MIN 8       /* of the run with operations, to know the scatter */
#define START 0.05         /* of the run: ranks start at different times */
#define STALL_OTHERS 4.0   /* times the stalls of any other process */
#define BEFORE 0.25        /* an onset: of the excess since then, before it */
#define MOST_NAMED 8

const char *const judge_kinds[JUDGE_KINDS] = {
    [JUDGE_LATE] = "late",
    [JUDGE_ONSET] = "onset",
    [JUDGE_NODE] = "node",
    [JUDGE_STALL] = "stall",
};

struct work {
    struct judge *j;
    struct judge_run *run;
    const struct jp_processes *p;
    float *excess;       /* [item] NAN: nothing to compare with */
    uint32_t *members;   /* processes sorted by role */
    uint32_t *role_from; /* [role] its first in members; n_roles + 1 */
    double *scratch;     /* [3 x processes + JUDGE_BLOCKS] */
    double worth_us;
};

/* --- excess --------------------------------------------------------------- */

static int sort_members(struct work *w)
{
    size_t n = w->p->n;
    uint32_t *from = calloc(w->run->n_roles + 2, sizeof(*from));

    w->role_from = from;
    w->members = calloc(n + 1, sizeof(*w->members));
    if (!from || !w->members)
        return -1;
    for (size_t i = 0; i < n; i++)
        from[w->run->role[i] + 1]++;
    for (uint32_t k = 0; k < w->run->n_roles; k++)
        from[k + 1] += from[k];
    for (uint32_t i = 0; i < n; i++)
        w->members[from[w->run->role[i]]++] = i;
    for (uint32_t k = w->run->n_roles; k > 0; k--)
        from[k] = from[k - 1];
    from[0] = 0;
    return 0;
}

/* Returns the median of n sorted values without the one at k. */
static double median_without(const double *v, size_t n, size_t k)
{
    size_t low = (n - 2) / 2, high = (n - 1) / 2;

    return (v[low + (low >= k)] + v[high + (high >= k)]) / 2;
}

/* Replaces own times of one operation of the role by excesses. column: those of
 * its members, NAN: none. */
static void compare_column(struct work *w, float *column, size_t members,
                           size_t stride)
{
    double *sorted = w->scratch, most = 0;
    size_t n = 0;

    for (size_t m = 0; m < members; m++)
        if (isfinite(column[m * stride]))
            sorted[n++] = (double) column[m * stride];
    stats_sort(sorted, n);
    for (size_t m = 0; m < members; m++) {
        float *at = &column[m * stride];
        size_t low = 0, high = n;

        if (!isfinite(*at))
            continue;
        while (low < high) { /* its place among the sorted */
            size_t mid = (low + high) / 2;

            if (sorted[mid] < (double) *at)
                low = mid + 1;
            else
                high = mid;
        }
        *at = n > 1 ? (float) ((double) *at - median_without(sorted, n, low))
                    : NAN;
        if (n > 1)
            most = fmax(most, (double) *at);
    }
    w->j->turns_us += most;
}

/* Compares all members of a role, interval by interval. 0 or -1. */
static int compare_role(struct work *w, uint32_t role)
{
    struct judge_run *run = w->run;
    size_t cols = run->cols[role];
    size_t from = w->role_from[role], n = w->role_from[role + 1] - from;
    float *matrix;

    if (n < 2)
        return 0;
    matrix = malloc((cols * n + 1) * sizeof(*matrix));
    if (!matrix)
        return -1;
    for (size_t i = 0; i < cols * n; i++)
        matrix[i] = NAN;
    for (size_t m = 0; m < n; m++) {
        uint32_t p = w->members[from + m];

        /* before its first operation a process starts */
        for (uint32_t i = run->first[p] + 1; i < run->first[p + 1]; i++)
            matrix[m * cols + run->items[i].col] = run->items[i].own_us;
    }
    for (size_t c = 0; c < cols; c++)
        compare_column(w, matrix + c, n, cols);
    for (size_t m = 0; m < n; m++) {
        uint32_t p = w->members[from + m];

        for (uint32_t i = run->first[p] + 1; i < run->first[p + 1]; i++)
            w->excess[i] = matrix[m * cols + run->items[i].col];
    }
    free(matrix);
    return 0;
}

static int set_excess(struct work *w)
{
    int rc = 0;

    for (uint32_t i = 0; i < w->run->first[w->p->n]; i++)
        w->excess[i] = NAN;
    for (uint32_t k = 0; rc == 0 && k < w->run->n_roles; k++)
        rc = compare_role(w, k);
    return rc;
}

/* --- blocks --------------------------------------------------------------- */

static size_t block_of(float at)
{
    return at >= 1 ? JUDGE_BLOCKS - 1 : (size_t) (at * JUDGE_BLOCKS);
}

/* Sums up stalls and blocks of a process. Returns the blocks with operations. */
static unsigned add_blocks(struct work *w, uint32_t p)
{
    struct judge_process *x = &w->j->processes[p];
    bool any[JUDGE_BLOCKS] = {false};
    unsigned n = 0;

    for (uint32_t i = w->run->first[p]; i < w->run->first[p + 1]; i++) {
        double us = (double) w->excess[i];
        float at = w->run->items[i].at;

        if (!isfinite(us))
            continue;
        any[block_of(at)] = true;
        if (us > JUDGE_STALL_US && us > w->worth_us / 4) {
            x->stalls_us += at > (float) START ? us : 0;
            x->stalls += at > (float) START;
        } else {
            x->blocks_us[block_of(at)] += us;
        }
    }
    for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
        n += any[k];
    return n;
}

/* Returns the trimmed mean of the blocks, times their number, and its error:
 * the larger one of single blocks and of pairs, as noise may last. */
static struct stats_trimmed resample(const double *blocks)
{
    double one[JUDGE_BLOCKS], two[JUDGE_BLOCKS / 2];
    struct stats_trimmed a, b;

    memcpy(one, blocks, sizeof(one));
    for (unsigned k = 0; k < JUDGE_BLOCKS / 2; k++)
        two[k] = blocks[2 * k] + blocks[2 * k + 1];
    a = stats_trim(one, JUDGE_BLOCKS);
    b = stats_trim(two, JUDGE_BLOCKS / 2);
    a.mean *= JUDGE_BLOCKS;
    a.error = fmax(a.error * JUDGE_BLOCKS, b.error * (JUDGE_BLOCKS / 2));
    return a;
}

/* Returns how many errors an effect must exceed so that its chance is `chance`.
 */
static double errors_of(double chance, unsigned freedom)
{
    double low = 0, high = 1e4;

    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;

        if (stats_student_tail(mid, freedom) > chance)
            low = mid;
        else
            high = mid;
    }
    return high;
}

/* The share of the budget for each of n that are asked one question. */
static double chance_of(size_t n)
{
    return JUDGE_FALSE_ALARM / QUESTIONS / (double) (n ? n : 1);
}

static unsigned freedom_of_blocks(void)
{
    return (unsigned) (0.6 * JUDGE_BLOCKS / 2) - 1; /* kept pairs, less one */
}

/* Returns the spread of the excess of n processes: the median distance from
 * the median, as a standard deviation. */
static double spread_of(struct work *w, const uint32_t *list, size_t n)
{
    double *v = w->scratch + w->p->n, middle;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (w->j->processes[list[i]].judged)
            v[k++] = w->j->processes[list[i]].excess_us;
    if (k < 2)
        return NAN;
    middle = stats_median(v, k);
    for (size_t i = 0; i < k; i++)
        v[i] = fabs(v[i] - middle);
    return 1.4826 * stats_median(v, k);
}

/* Sets the excess of each process, and the least that is named: above its own
 * error, the spread of its role (of all, if the role is small), and what is
 * worth it. */
static void measure(struct work *w)
{
    struct judge *j = w->j;
    size_t n = w->p->n, judged = 0;
    double all, chance, by_error;

    for (uint32_t p = 0; p < n; p++) {
        struct judge_process *x = &j->processes[p];
        struct stats_trimmed t;
        uint32_t role = w->run->role[p];

        x->role = role;
        x->judged = add_blocks(w, p) >= BLOCKS_MIN &&
                    w->role_from[role + 1] - w->role_from[role] > 1;
        t = resample(x->blocks_us);
        x->excess_us = t.mean;
        x->error_us = t.error;
        judged += x->judged;
    }
    j->n_judged = judged;
    chance = chance_of(judged);
    by_error = errors_of(chance, freedom_of_blocks());
    all = spread_of(w, w->members, n);
    for (uint32_t p = 0; p < n; p++) {
        struct judge_process *x = &j->processes[p];
        uint32_t from = w->role_from[x->role];
        size_t of = w->role_from[x->role + 1] - from;
        double spread = spread_of(w, w->members + from, of);
        size_t free = of < 8 ? judged - j->roles : of - 1;

        if (!x->judged)
            continue;
        if (of < 8)
            spread = fmax(spread, all);
        if (of < 8 && judged < j->roles + 2)
            free = 1;
        x->least_us =
            fmax(w->worth_us,
                 fmax(by_error * x->error_us,
                      errors_of(chance, free > 1 ? (unsigned) free - 1 : 1) *
                          spread));
        j->least_us = fmax(j->least_us, x->least_us);
    }
}

/* --- names ---------------------------------------------------------------- */

static struct judge_answer *add_answer(struct judge *j, enum judge_kind kind,
                                       size_t process, const struct work *w)
{
    struct judge_answer *more =
        reallocarray(j->answers, j->n + 1, sizeof(*more));

    if (!more)
        return NULL;
    j->answers = more;
    more += j->n++;
    *more = (struct judge_answer){.kind = kind,
                                  .process = process,
                                  .host = w->p->list[process].host_at,
                                  .cost_us = NAN};
    return more;
}

/* Names hosts of which all processes are late by about as much. named: set for
 * their processes. 0 or -1. */
static int name_nodes(struct work *w, bool *named)
{
    struct judge *j = w->j;

    for (size_t h = 0; h < w->p->n_hosts; h++) {
        double blocks[JUDGE_BLOCKS] = {0}, sum = 0, squares = 0, least = 0;
        size_t n = 0, later = 0, all = 0, worst = 0;
        struct judge_answer *a;
        struct stats_trimmed t;

        for (size_t p = 0; p < w->p->n; p++) {
            const struct judge_process *x = &j->processes[p];

            if (w->p->list[p].host_at != h)
                continue;
            all++;
            if (!x->judged)
                continue;
            if (!n || x->excess_us > j->processes[worst].excess_us)
                worst = p;
            n++;
            sum += x->excess_us;
            squares += x->excess_us * x->excess_us;
            least = fmax(least, x->least_us);
            for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
                blocks[k] += x->blocks_us[k];
        }
        if (n < 2 || n < all)
            continue;
        for (size_t p = 0; p < w->p->n; p++)
            later += w->p->list[p].host_at == h &&
                     j->processes[p].excess_us > sum / (double) n / 2;
        for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
            blocks[k] /= (double) n;
        t = resample(blocks);
        if (later < n || !(t.mean > least) ||
            !(t.mean > errors_of(chance_of(w->p->n_hosts),
                                 freedom_of_blocks()) *
                           t.error))
            continue;
        a = add_answer(j, JUDGE_NODE, worst, w);
        if (!a)
            return -1;
        a->excess_us = t.mean;
        a->error_us = t.error;
        a->times = n;
        for (size_t p = 0; p < w->p->n; p++)
            named[p] |= w->p->list[p].host_at == h;
    }
    return 0;
}

/* Finds the block from which on a process is late: mean of the excess since
 * then, of the blocks before, and its chance over all cuts. Returns 0: there is
 * none. */
static unsigned find_onset(const struct judge_process *x, double *late_us,
                           double *error_us, double *chance)
{
    unsigned best = 0;

    *chance = 1;
    for (unsigned k = 4; k <= JUDGE_BLOCKS - 4; k++) {
        unsigned after = JUDGE_BLOCKS - k;
        double a = stats_mean(x->blocks_us, 0, k);
        double b = stats_mean(x->blocks_us, k, JUDGE_BLOCKS);
        double s = (stats_squares(x->blocks_us, 0, k) +
                    stats_squares(x->blocks_us, k, JUDGE_BLOCKS)) /
                   (JUDGE_BLOCKS - 2);
        double e = sqrt(s * (1.0 / k + 1.0 / after));
        /* pairs of blocks, as noise may last */
        double p =
            stats_student_tail((b - a) / (e * sqrt(2)), JUDGE_BLOCKS / 2 - 2);

        if (!(p < *chance) || !(fabs(a) < BEFORE * b))
            continue;
        *chance = p;
        *late_us = b * after;
        *error_us = e * after;
        best = k;
    }
    *chance *= JUDGE_BLOCKS - 7;
    return best;
}

/* Names a process that is late from some time on, or all along. 0 or -1. */
static int name_process(struct work *w, size_t p, bool *named)
{
    struct judge *j = w->j;
    const struct judge_process *x = &j->processes[p];
    double late_us = 0, error_us = 0, chance;
    unsigned from = find_onset(x, &late_us, &error_us, &chance);
    double spread = x->least_us; /* includes the spread of its peers */
    bool onset = from && chance < chance_of(j->n_judged) && late_us > spread;
    struct judge_answer *a;

    if (!onset && !(x->excess_us > x->least_us))
        return 0;
    a = add_answer(j, onset ? JUDGE_ONSET : JUDGE_LATE, p, w);
    if (!a)
        return -1;
    a->excess_us = onset ? late_us : x->excess_us;
    a->error_us = onset ? error_us : x->error_us;
    a->from = onset ? (double) from / JUDGE_BLOCKS : 0;
    a->times = w->run->first[p + 1] - w->run->first[p];
    named[p] = true;
    return 0;
}

/* Names the process whose stalls are far more than those of any other one. 0 or
 * -1. */
static int name_stalls(struct work *w, bool *named)
{
    struct judge *j = w->j;
    size_t first = 0;
    double second_us = 0;
    struct judge_answer *a;

    for (size_t p = 1; p < w->p->n; p++)
        if (j->processes[p].stalls_us > j->processes[first].stalls_us)
            first = p;
    for (size_t p = 0; p < w->p->n; p++)
        if (p != first)
            second_us = fmax(second_us, j->processes[p].stalls_us);
    if (!w->p->n || named[first] || !j->processes[first].judged ||
        !(j->processes[first].stalls_us > w->worth_us) ||
        !(j->processes[first].stalls_us > STALL_OTHERS * second_us))
        return 0;
    a = add_answer(j, JUDGE_STALL, first, w);
    if (!a)
        return -1;
    a->excess_us = j->processes[first].stalls_us;
    a->times = j->processes[first].stalls;
    for (uint32_t i = w->run->first[first]; i < w->run->first[first + 1]; i++)
        if (w->run->items[i].at > (float) START &&
            isfinite(w->excess[i]))
            a->longest_us = fmax(a->longest_us, (double) w->excess[i]);
    return 0;
}

/* --- cost ----------------------------------------------------------------- */

/* Sets the cost of an answer: the run without the excess of its processes. 0 or
 * -1. */
static int price(struct work *w, struct judge_answer *a, float *own,
                 double base_us)
{
    const struct judge_run *run = w->run;
    double us;

    for (uint32_t p = 0; p < w->p->n; p++) {
        bool its = a->kind == JUDGE_NODE ? w->p->list[p].host_at == a->host
                                         : p == a->process;

        for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++) {
            double x = (double) w->excess[i];
            bool taken = its && isfinite(x) &&
                         (double) run->items[i].at >= a->from &&
                         (a->kind != JUDGE_STALL ||
                          (x > JUDGE_STALL_US && x > w->worth_us / 4));

            own[i] = isfinite(run->items[i].own_us)
                         ? run->items[i].own_us - (taken ? (float) x : 0)
                         : 0;
            own[i] = fmaxf(own[i], 0);
        }
    }
    if (judge_walk(w->run, own, &us) < 0)
        return -1;
    a->cost_us = fmax(base_us - us, 0);
    return 0;
}

static int by_cost(const void *a, const void *b)
{
    const struct judge_answer *x = a, *y = b;

    if (x->cost_us != y->cost_us)
        return x->cost_us > y->cost_us ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

/* Prices all answers, and drops those that are not worth it. 0 or -1. */
static int price_all(struct work *w)
{
    struct judge *j = w->j;
    float *own = malloc(((size_t) w->run->first[w->p->n] + 1) * sizeof(*own));
    struct judge_answer nobody = {.process = SIZE_MAX};
    double base_us;
    size_t kept = 0;
    int rc = own ? 0 : -1;

    if (rc == 0 && j->n) {
        rc = price(w, &nobody, own, 0) < 0 ||
                     judge_walk(w->run, own, &base_us) < 0
                 ? -1
                 : 0;
        for (size_t i = 0; rc == 0 && i < j->n; i++)
            rc = price(w, &j->answers[i], own, base_us);
    }
    for (size_t i = 0; rc == 0 && i < j->n; i++)
        if (j->answers[i].cost_us > w->worth_us)
            j->answers[kept++] = j->answers[i];
    j->n = rc == 0 ? kept : j->n;
    if (rc == 0 && j->n)
        qsort(j->answers, j->n, sizeof(*j->answers), by_cost);
    free(own);
    return rc;
}

/* --- all ------------------------------------------------------------------ */

/* Returns why the matrix says nothing; NULL: it does. */
static const char *why_unusable(const struct work *w)
{
    const struct judge *j = w->j;

    if (w->run->why)
        return w->run->why;
    if (!j->events)
        return "no operation has a place in the order of its process";
    if ((double) j->lacking > (1 - JUDGE_WHOLE) * (double) j->events)
        return "too many operations lack members, or are out of order";
    return NULL;
}

/* Normalises arrivals to the run. */
static void scale(struct work *w)
{
    struct judge_run *run = w->run;

    for (size_t p = 0; p < w->p->n; p++)
        for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++)
            run->items[i].at = w->j->clock_us > 0
                                   ? run->items[i].at / (float) w->j->clock_us
                                   : 0;
}

static int judge_all(struct work *w)
{
    struct judge *j = w->j;
    bool *named = calloc(w->p->n + 1, sizeof(*named));
    int rc = named ? name_nodes(w, named) : -1;

    for (size_t p = 0; rc == 0 && p < w->p->n; p++)
        if (j->processes[p].judged && !named[p])
            rc = name_process(w, p, named);
    if (rc == 0)
        rc = name_stalls(w, named);
    if (rc == 0 && j->n > MOST_NAMED)
        j->n = 0; /* so many are no culprits: the work differs */
    free(named);
    return rc < 0 ? -1 : price_all(w);
}

/* Follows the clocks, or takes those of the records. 0 or -1. */
static int follow(struct work *w)
{
    struct judge *j = w->j;
    struct judge_run *run = w->run;
    int rc = 0;

    if (!run->timed)
        rc = judge_walk(run, NULL, &j->clock_us);
    for (size_t p = 0; run->timed && p < w->p->n; p++)
        j->clock_us = fmax(j->clock_us, run->clock[p]);
    for (uint32_t i = 0; run->timed && i < run->n_ops; i++)
        run->net_us[i] = INFINITY;
    for (uint32_t i = 0; run->timed && i < run->first[w->p->n]; i++) {
        float *net = &run->net_us[run->items[i].op];

        *net = fminf(*net, run->items[i].time_us);
    }
    j->lacking = run->lacking;
    return rc;
}

struct judge *judge_run(const struct jp_result *r, const struct jp_processes *p,
                        double run_us)
{
    struct judge *j = calloc(1, sizeof(*j));
    struct judge_run run = {.r = r, .p = p};
    struct work w = {.j = j, .run = &run, .p = p};
    int rc = -1;

    if (!j)
        return NULL;
    j->why = "the records do not tell the processes apart";
    if (!p->known || !p->n)
        return j;
    if (judge_build(&run) < 0 || (!run.why && follow(&w) < 0))
        goto out;
    j->timed = run.timed;
    j->part = run.part;
    j->events = run.first[p->n];
    j->roles = run.n_roles;
    j->why = why_unusable(&w);
    if (j->why) {
        rc = 0;
        goto out;
    }
    j->run_us = run_us > 0 ? run_us : j->clock_us;
    w.worth_us = JUDGE_WORTH * (j->part ? j->clock_us : j->run_us);
    j->processes = calloc(p->n + 1, sizeof(*j->processes));
    w.excess = calloc((size_t) j->events + 1, sizeof(*w.excess));
    w.scratch = calloc(3 * p->n + JUDGE_BLOCKS, sizeof(*w.scratch));
    if (!j->processes || !w.excess || !w.scratch || sort_members(&w) < 0)
        goto out;
    scale(&w);
    rc = set_excess(&w);
    if (rc == 0) {
        measure(&w);
        rc = judge_all(&w);
    }
    j->usable = rc == 0;
out:
    free(w.excess);
    free(w.members);
    free(w.role_from);
    free(w.scratch);
    judge_build_fini(&run);
    if (rc < 0) {
        judge_destroy(j);
        return NULL;
    }
    return j;
}

void judge_destroy(struct judge *j)
{
    if (!j)
        return;
    free(j->processes);
    free(j->answers);
    free(j);
}

char *judge_line(const struct judge *j, const struct jp_result *r,
                 const struct jp_processes *p, char buf[JUDGE_LINE])
{
    char name[JP_PROCESS_NAME_LEN];
    size_t n = 0;

    if (!j->usable) {
        snprintf(buf, JUDGE_LINE, "unusable: %s", j->why);
        return buf;
    }
    for (size_t i = 0; i < j->n && n + 1 < JUDGE_LINE; i++) {
        const struct judge_answer *a = &j->answers[i];

        n += (size_t) snprintf(
            buf + n, JUDGE_LINE - n, "%s%s %s excess %s cost %s", i ? "; " : "",
            judge_kinds[a->kind],
            a->kind == JUDGE_NODE
                ? p->hosts[a->host].host
                : processes_describe(p, r, &p->list[a->process], name),
            FIG_SHARE(a->excess_us / j->run_us),
            FIG_SHARE(a->cost_us / j->run_us));
    }
    if (n + 1 < JUDGE_LINE)
        snprintf(buf + n, JUDGE_LINE - n, "%sleast %s, %zu of %zu judged, %s",
                 j->n ? "; " : "nobody; ", FIG_SHARE(j->least_us / j->run_us),
                 j->n_judged, p->n, j->timed ? "by times" : "by durations");
    return buf;
}
