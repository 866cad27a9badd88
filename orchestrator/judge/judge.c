/* judge.c - from own times to names: excess, errors by resampling, cost.
 *
 * Way through: judge_run, set_excess (each own time less that of the peers),
 * judge_stalls_find, add_blocks, measure (excess and error of each process),
 * set_least (the smallest excess that is named), name_*, judge_turns_find,
 * judge_price.
 */
#include "orchestrator/judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/stats.h"
#include "common/vector.h"
#include "orchestrator/aggregate/intervals.h"
#include "orchestrator/identity/barriers.h"

#define BLOCKS_MIN 8   /* of the run with operations, to know the scatter */
#define START_BLOCKS 4 /* JUDGE_START, with the block that it ends in */
#define ROLE_KNOWN 16  /* processes of a role that show how they differ */
#define APART_MOST 64  /* processes that are looked at as late ones together */
#define FEW 8          /* in a smaller role each moves the others' median */
#define APART_FEW 2    /* ... of few of them, if these are no more than half */
#define UNLIKE                                                                 \
    2.0 /* times the usual error of its role: a process has noise of its own,  \
           which its blocks alone must show */
#define HOSTS_KNOWN 6 /* hosts that show how they differ */
#define NET_SHARE 0.1 /* of an excess, by which its network may be slower */
#define BEFORE 0.25   /* an onset: of the excess since then, before it */
#define MOST_NAMED 8

struct work {
    struct judge *j;
    struct judge_run *run;
    const struct jp_processes *p;
    float *excess;         /* [item] NAN: nothing to compare with */
    uint32_t *members;     /* processes sorted by role */
    uint32_t *mates;       /* processes sorted by by_mates */
    uint32_t *role_from;   /* [role] its first in members; n_roles + 1 */
    double *scratch;       /* [3 x processes + JUDGE_BLOCKS] */
    struct rest *rest;     /* [role] for compare_rest */
    struct placed *placed; /* [process] likewise */
    const double **blocks; /* [process] or [host] for find_window */
    bool *stall;           /* [item], or [kept interval], by judge_stall.c */
    uint32_t *of_key, *of_item; /* [key], [item of a process] for add_work */
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

/* Returns how many of n sorted values are less. */
static size_t place_of(const double *sorted, size_t n, double value)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (sorted[mid] < value)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Replaces own times of one operation of the role by excesses. column: those of
 * its members, NAN: none. */
static void compare_column(struct work *w, float *column, size_t members,
                           size_t stride)
{
    double *sorted = w->scratch;
    size_t n = 0;

    for (size_t m = 0; m < members; m++)
        if (isfinite(column[m * stride]))
            sorted[n++] = (double) column[m * stride];
    stats_sort(sorted, n);
    for (size_t m = 0; m < members; m++) {
        float *at = &column[m * stride];

        if (!isfinite(*at))
            continue;
        *at = n > 1
                  ? (float) ((double) *at -
                             median_without(sorted, n,
                                            place_of(sorted, n, (double) *at)))
                  : NAN;
    }
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

/* Returns the key of which a process has the fewest operations, but at least
 * `enough`; *count: their number. UINT32_MAX: none has. */
static uint32_t rarest_key(struct work *w, uint32_t p, uint32_t enough,
                           uint32_t *count)
{
    const struct judge_run *run = w->run;
    uint32_t from = run->first[p], to = run->first[p + 1], best = UINT32_MAX;

    for (uint32_t i = from; i < to; i++)
        w->of_key[run->key[run->items[i].op]]++;
    *count = UINT32_MAX;
    for (uint32_t i = from; i < to; i++) {
        uint32_t k = run->key[run->items[i].op];

        if (w->of_key[k] >= enough && w->of_key[k] < *count) {
            *count = w->of_key[k];
            best = k;
        }
    }
    for (uint32_t i = from; i < to; i++)
        w->of_key[run->key[run->items[i].op]] = 0;
    return best;
}

/* Numbers the operations of a process by iterations, in of_item: operations of
 * its rarest key begin one each, unless they follow each other more closely
 * than they do on average. Returns the number of iterations. */
static uint32_t number_iterations(struct work *w, uint32_t p)
{
    const struct judge_run *run = w->run;
    uint32_t from = run->first[p], n = run->first[p + 1] - from, count;
    /* one for each block, so that all processes have as many iterations */
    uint32_t key = rarest_key(w, p, JUDGE_BLOCKS, &count);
    uint32_t iteration = 0, last = 0;
    bool any = false;

    if (key == UINT32_MAX)
        key = rarest_key(w, p, BLOCKS_MIN, &count);
    if (key == UINT32_MAX)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (run->key[run->items[from + i].op] == key) {
            iteration += any && 2 * (uint64_t) (i - last) * count > n;
            any = true;
            last = i;
        }
        w->of_item[i] = iteration;
    }
    return iteration + 1;
}

/* Adds up own times by blocks of whole iterations, as what ranks of one role do
 * differs from one operation to the next. A block with more iterations than
 * another counts as if it had as many. */
static void add_work(struct work *w, uint32_t p)
{
    struct judge_process *x = &w->j->processes[p];
    const struct judge_item *items = w->run->items + w->run->first[p];
    uint32_t n = w->run->first[p + 1] - w->run->first[p];
    uint32_t iterations = number_iterations(w, p);
    uint32_t rounds = iterations < JUDGE_BLOCKS ? iterations : JUDGE_BLOCKS;
    uint32_t in[JUDGE_BLOCKS] = {0};

    x->rounds = rounds < BLOCKS_MIN ? 0 : rounds;
    for (uint32_t k = 0; k < iterations && x->rounds; k++)
        in[(uint64_t) k * rounds / iterations]++;
    /* before its first operation a process starts */
    for (uint32_t i = 1; i < n; i++) {
        size_t b = x->rounds ? (uint64_t) w->of_item[i] * rounds / iterations
                             : judge_block_of(items[i].at);
        double times = x->rounds ? (double) iterations / rounds / in[b] : 1;

        if (isfinite(items[i].own_us))
            x->work_us[b] += (double) items[i].own_us * times;
    }
}

/* Sums up the blocks of a process, without stalls. Returns the blocks with
 * operations.
 */
static unsigned add_blocks(struct work *w, uint32_t p)
{
    struct judge_process *x = &w->j->processes[p];
    bool any[JUDGE_BLOCKS] = {false};
    unsigned n = 0;

    x->closest = w->run->closest[p];
    for (uint32_t i = w->run->first[p]; i < w->run->first[p + 1]; i++) {
        double us = (double) w->excess[i];
        float at = w->run->items[i].at;

        x->comm_us += (double) w->run->items[i].time_us;
        if (!isfinite(us))
            continue;
        any[judge_block_of(at)] = true;
        x->intervals++;
        x->later += us > 0;
        if (!w->stall[i])
            x->blocks_us[judge_block_of(at)] += us;
    }
    for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
        n += any[k];
    add_work(w, p);
    return n;
}

/* Sets the blocks of all processes of a run that is longer than its timelines,
 * by what is kept of it: own time without stalls, less the median of the others
 * of the role. */
static void add_kept(struct work *w)
{
    const struct judge_run *run = w->run;
    double *sorted = w->scratch;

    for (uint32_t p = 0; p < w->p->n; p++) {
        struct judge_process *x = &w->j->processes[p];
        const struct judge_kept *kept = &run->kept[p];
        const struct intervals *of = kept->of;

        x->closest = run->closest[p];
        x->later = UINT64_MAX;
        x->rounds = JUDGE_BLOCKS;
        if (!kept->strip)
            continue;
        for (unsigned b = 0; b < JUDGE_BLOCKS; b++)
            x->work_us[b] = x->blocks_us[b] = run->kept_own[p][b];
        x->intervals = kept->ops;
        x->comm_us = kept->comm_us;
        for (uint32_t i = of ? run->kept_first[p] : 0;
             of && i < run->kept_first[p + 1]; i++)
            if (w->stall[i]) {
                const struct interval *y = &of->at[i - run->kept_first[p]];

                x->blocks_us[judge_block_of((float) judge_kept_at(
                    run, p, y->to_us))] -= (double) run->kept_excess[i];
            }
    }
    for (uint32_t k = 0; k < run->n_roles; k++)
        for (unsigned b = 0; b < JUDGE_BLOCKS; b++) {
            const uint32_t *list = w->members + w->role_from[k];
            size_t n = w->role_from[k + 1] - w->role_from[k];

            for (size_t m = 0; m < n; m++)
                sorted[m] = w->j->processes[list[m]].blocks_us[b];
            stats_sort(sorted, n);
            for (size_t m = 0; m < n && n > 1; m++) {
                double *us = &w->j->processes[list[m]].blocks_us[b];

                *us -= median_without(sorted, n, place_of(sorted, n, *us));
            }
        }
}

/* Returns what is common to n excesses: a mean lies above the median where
 * times have a tail, for all processes alike. Below 0 is no such thing: a few
 * processes seem early because another one is late. Sorts v. */
static double common_to(double *v, size_t n)
{
    return n ? fmax(stats_median(v, n), 0) : 0;
}

/* Takes from each block what is common to the role. */
static void center_blocks(struct work *w)
{
    double *v = w->scratch;

    for (uint32_t k = 0; k < w->run->n_roles; k++)
        for (unsigned b = 0; b < JUDGE_BLOCKS; b++) {
            uint32_t from = w->role_from[k], to = w->role_from[k + 1];
            double middle;

            for (uint32_t i = from; i < to; i++)
                v[i - from] = w->j->processes[w->members[i]].blocks_us[b];
            middle = common_to(v, to - from);
            for (uint32_t i = from; i < to; i++)
                w->j->processes[w->members[i]].blocks_us[b] -= middle;
        }
}

/* Returns the variance of blocks by the differences of neighbours, which do not
 * count what comes, goes or grows as noise (von Neumann 1941). */
static double neighbours(const double *blocks)
{
    double squares = 0;

    for (unsigned k = START_BLOCKS; k + 1 < JUDGE_BLOCKS; k++)
        squares += (blocks[k + 1] - blocks[k]) * (blocks[k + 1] - blocks[k]);
    return squares / (2 * (JUDGE_BLOCKS - START_BLOCKS - 1));
}

/* Returns the error of the sum of the blocks by those in which a process is
 * ahead of its peers. Noise is on both sides; who comes and goes is late on
 * one, and the scatter of that is no noise. */
static double error_below(const double *blocks)
{
    double squares = 0;

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k += 2) {
        double pair = fmin(blocks[k] + blocks[k + 1], 0);

        squares += pair * pair;
    }
    return sqrt(2 * squares);
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

static unsigned freedom_of(unsigned blocks)
{
    return (unsigned) (0.6 * blocks / 2) - 1; /* kept pairs, less one */
}

static unsigned freedom_of_blocks(void)
{
    return freedom_of(JUDGE_BLOCKS);
}

/* Returns the standard deviation of a sum of squares with `freedom` degrees of
 * freedom. Few values do not show it well, so what processes differ by anyway
 * counts as that of JUDGE_DIFFER_KNOWN further ones (Smyth 2004: an empirical
 * Bayes estimate). *freedom: with these. */
static double moderate(const struct work *w, double squares, double *freedom)
{
    double usual = w->worth_us / 2, known = JUDGE_DIFFER_KNOWN;

    squares += known * usual * usual;
    *freedom += known;
    return sqrt(squares / *freedom);
}

/* How processes of a kind differ anyway. */
struct differ {
    double us;  /* who exceeds all others by so much stands apart */
    bool shown; /* they differ by more than is assumed of any */
};

/* The excesses of a role, without those that are late. */
struct rest {
    size_t all, n;
    double sum, squares;
};

static void leave_out(struct rest *of, double us)
{
    of->n--;
    of->sum -= us;
    of->squares -= us * us;
}

/* Returns the sum of the squared distances from what is usual in the role. An
 * excess is against the others, so in a role of a few it is n / (n - 1) times
 * the distance from the mean. Where one of a few is late, the others seem early
 * alike. */
static double squares_of(const struct rest *of)
{
    double n = (double) of->all, own = of->all < FEW ? (n - 1) / n : 1;
    double early = of->n ? fmin(of->sum, 0) * fmin(of->sum, 0) / (double) of->n
                         : 0;

    return own * own * fmax(of->squares - early, 0);
}

/* Says how those differ whose squares these are. */
static struct differ differ_by(const struct work *w, double squares,
                               double freedom, double chance)
{
    double usual = w->worth_us / 2;
    struct differ by = {.shown = squares > freedom * usual * usual};
    double sd = moderate(w, squares, &freedom);

    by.us = errors_of(chance, (unsigned) freedom) * sd;
    return by;
}

/* Returns from which excess on one of a role of n processes stands apart. Where
 * others do not show that they differ more, who costs much is told in any case;
 * durations may count an excess several times. */
static double apart_of(const struct work *w, const struct differ *by, size_t n)
{
    double us = by->us * sqrt(1 + 1 / (double) (n - 1));

    return by->shown || !w->j->timed
               ? us
               : fmin(us, JUDGE_TOLD / JUDGE_WORTH * w->worth_us);
}

/* A process's excess and role. */
struct placed {
    double us;
    uint32_t role;
};

static int by_excess(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

    if (x->us != y->us)
        return x->us < y->us ? -1 : 1;
    return x->role < y->role ? -1 : x->role > y->role;
}

/* Fills v with the judged ones of n processes, sorted. The mates of late ones
 * may lie as far below: they are pulled in to three times the median distance.
 */
static size_t place(struct work *w, const uint32_t *list, size_t n,
                    struct placed *v)
{
    double *us = w->scratch, middle, least;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (w->j->processes[list[i]].judged) {
            v[k].role = w->run->role[list[i]];
            us[k] = v[k].us = w->j->processes[list[i]].excess_us;
            k++;
        }
    middle = stats_median(us, k);
    for (size_t i = 0; i < k; i++)
        us[i] = fabs(v[i].us - middle);
    least = middle - 3 * 1.4826 * stats_median(us, k);
    for (size_t i = 0; i < k; i++)
        v[i].us = fmax(v[i].us, least);
    qsort(v, k, sizeof(*v), by_excess);
    return k;
}

/* Says how n processes differ, each from its role, as the generalized test for
 * outliers (Rosner 1983) has it: the last of the largest values that the rest,
 * without it and those above, does not explain. */
static struct differ compare_rest(struct work *w, const uint32_t *list,
                                  size_t n, double chance)
{
    struct placed *v = w->placed;
    size_t k = place(w, list, n, v), most, freedom = 0;
    struct differ by;
    double squares = 0;

    for (size_t i = 0; i < k; i++)
        w->rest[v[i].role] = (struct rest){0};
    for (size_t i = 0; i < k; i++) {
        struct rest *of = &w->rest[v[i].role];

        of->sum += v[i].us;
        of->squares += v[i].us * v[i].us;
        freedom += of->all > 0;
        of->n = ++of->all;
    }
    for (size_t i = 0; i < k; i++) {
        struct rest *of = &w->rest[v[i].role];

        squares += squares_of(of) / (double) of->all;
    }
    by = differ_by(w, squares, (double) freedom, chance);
    most = k / 4 > APART_MOST  ? APART_MOST
           : k / 4 > APART_FEW ? k / 4
                               : APART_FEW;
    for (size_t late = 1; late <= most && late < k; late++) {
        struct placed *x = &v[k - late];
        struct rest *of = &w->rest[x->role];
        struct differ without;

        /* of a half and another one neither is usual, but in a pair */
        if (2 * (of->n - 1) <= of->all && of->all > 2)
            break;
        if (of->n < 2)
            break;
        squares -= squares_of(of);
        leave_out(of, x->us);
        squares = freedom > 1 ? fmax(squares + squares_of(of), 0) : 0;
        without = differ_by(w, squares, (double) --freedom, chance);
        if (x->us > apart_of(w, &without, of->all))
            by = without;
    }
    return by;
}

static int by_mates(const void *a, const void *b, void *arg)
{
    const struct work *w = arg;
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    const uint32_t *closest = w->run->closest, *role = w->run->role;
    uint32_t host_x = w->p->list[x].host_at, host_y = w->p->list[y].host_at;

    return closest[x] != closest[y] ? (closest[x] < closest[y] ? -1 : 1)
           : role[x] != role[y]     ? (role[x] < role[y] ? -1 : 1)
           : host_x != host_y       ? (host_x < host_y ? -1 : 1)
           : x != y                 ? (x < y ? -1 : 1)
                                    : 0;
}

/* Does that for n mates, sorted by host. Where they are all of the role, each
 * was compared with its mates already. */
static void leave_group(struct work *w, const uint32_t *mates, size_t n)
{
    double *v = w->scratch, sum = 0;
    struct judge_process *all = w->j->processes;
    uint32_t role = w->run->role[*mates];
    bool whole = w->role_from[role + 1] - w->role_from[role] == n;
    size_t end;

    for (unsigned b = 0; b < JUDGE_BLOCKS; b++) {
        for (size_t i = 0; i < n; i++)
            v[i] = all[mates[i]].blocks_us[b];
        stats_sort(v, n);
        for (size_t i = 0; i < n; i++) {
            double own = all[mates[i]].blocks_us[b];

            all[mates[i]].own_us[b] =
                own - (n > 1 && !whole
                           ? median_without(v, n, place_of(v, n, own))
                           : 0);
        }
    }
    for (size_t i = 0; i < n; i++)
        sum += all[mates[i]].total_us;
    for (size_t i = 0; i < n; i = end) {
        uint32_t host = w->p->list[mates[i]].host_at;
        double here = 0;

        for (end = i; end < n && w->p->list[mates[end]].host_at == host; end++)
            here += all[mates[end]].total_us;
        for (size_t k = i; k < end; k++)
            all[mates[k]].out_us =
                end - i < n ? (sum - here) / (double) (n - (end - i)) : NAN;
    }
}

/* Takes from the blocks of each process those of its mates: the median of the
 * others of its role with the same communicator that they use most. Where
 * operations overlap computation, durations count the lateness of a group
 * several times, for all of its members alike. 0 or -1. */
static int leave_mates(struct work *w)
{
    size_t n = w->p->n, end;
    uint32_t *mates = w->mates = calloc(n + 1, sizeof(*mates));

    if (!mates)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        mates[i] = i;
    qsort_r(mates, n, sizeof(*mates), by_mates, w);
    for (size_t i = 0; i < n; i = end) {
        uint32_t closest = w->run->closest[mates[i]];
        uint32_t role = w->run->role[mates[i]];

        for (end = i + 1; end < n && closest != UINT32_MAX &&
                          w->run->closest[mates[end]] == closest &&
                          w->run->role[mates[end]] == role;
             end++)
            ;
        leave_group(w, mates + i, end - i);
    }
    return 0;
}

/* Returns the median error of the judged ones of n processes; 0: none. */
static double usual_error(struct work *w, const uint32_t *list, size_t n)
{
    double *v = w->scratch;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (w->j->processes[list[i]].judged)
            v[k++] = w->j->processes[list[i]].error_us;
    return k ? stats_median(v, k) : 0;
}

/* Sets what is apart: more than the role's processes (all, if the role is
 * small) differ anyway, and worth it; and the least excess that is named, which
 * is also above the process's own error. Processes of a role have noise of one
 * kind, so all of them show how large errors are, unless a process's own is far
 * larger. */
static void set_least(struct work *w)
{
    struct judge *j = w->j;
    double chance = judge_chance(j->n_judged);
    double by_blocks = errors_of(chance, freedom_of_blocks());
    double by_below = errors_of(chance, freedom_of_blocks() / 2);
    struct differ all = compare_rest(w, w->members, w->p->n, chance);
    double by_role = 0;
    size_t last = 0; /* the size of the role that by_role is for */

    for (uint32_t k = 0; k < w->run->n_roles; k++) {
        const uint32_t *list = w->members + w->role_from[k];
        size_t of = w->role_from[k + 1] - w->role_from[k];
        double usual = usual_error(w, list, of), apart_us;
        struct differ apart;

        if (of < 2) /* nobody to be compared with */
            continue;
        if (of != last)
            by_role = errors_of(chance, freedom_of_blocks() *
                                            (unsigned) (of > 2 ? of / 2 : 1));
        last = of;
        apart = compare_rest(w, list, of, chance);
        if (of < ROLE_KNOWN && all.us > apart.us)
            apart.us = all.us;
        apart.shown |= of < ROLE_KNOWN && all.shown;
        apart_us = fmax(w->worth_us, apart_of(w, &apart, of));
        for (size_t i = 0; i < of; i++) {
            struct judge_process *x = &j->processes[list[i]];
            bool unlike = x->error_us > UNLIKE * usual;
            double noise =
                unlike ? fmin(by_blocks * x->error_us, by_below * x->below_us)
                       : by_role * x->error_us;

            x->apart_us = apart_us;
            x->least_us = fmax(apart_us, fmax(noise, by_role * usual));
            if (unlike)
                x->error_us = fmax(usual, fmin(x->error_us, x->below_us));
            if (x->judged)
                j->least_us = fmax(j->least_us, x->least_us);
        }
    }
}

/* Takes from each excess what is common to the role. */
static void center_excess(struct work *w)
{
    double *v = w->scratch;

    for (uint32_t k = 0; k < w->run->n_roles; k++) {
        uint32_t from = w->role_from[k], to = w->role_from[k + 1];
        double middle;

        for (uint32_t i = from; i < to; i++)
            v[i - from] = w->j->processes[w->members[i]].excess_us;
        middle = common_to(v, to - from);
        for (uint32_t i = from; i < to; i++)
            w->j->processes[w->members[i]].excess_us -= middle;
    }
}

/* Sets by how much the blocks of a process of each role vary. */
static void set_noise(struct work *w)
{
    for (uint32_t k = 0; k < w->run->n_roles; k++) {
        uint32_t from = w->role_from[k], to = w->role_from[k + 1];
        double usual;

        for (uint32_t i = from; i < to; i++)
            w->scratch[i - from] =
                neighbours(w->j->processes[w->members[i]].own_us);
        usual = from < to ? stats_median(w->scratch, to - from) : 0;
        for (uint32_t i = from; i < to; i++)
            w->j->processes[w->members[i]].usual_noise = usual;
    }
}

/* Sets excess and error of each process. 0 or -1. */
static int measure(struct work *w)
{
    struct judge *j = w->j;

    if (w->run->kept)
        add_kept(w);
    for (uint32_t p = 0; p < w->p->n; p++) {
        struct judge_process *x = &j->processes[p];
        bool known = w->run->kept ? x->intervals >= JUDGE_KNOWN_INTERVALS
                                  : add_blocks(w, p) >= BLOCKS_MIN;

        x->role = w->run->role[p];
        x->likes = w->role_from[x->role + 1] - w->role_from[x->role];
        x->judged = known && x->likes > 1;
        j->n_judged += x->judged;
    }
    center_blocks(w);
    for (uint32_t p = 0; p < w->p->n; p++)
        j->processes[p].total_us =
            judge_resample(j->processes[p].blocks_us, JUDGE_BLOCKS).mean;
    if (leave_mates(w) < 0)
        return -1;
    for (uint32_t p = 0; p < w->p->n; p++) {
        struct judge_process *x = &j->processes[p];
        struct stats_trimmed own = judge_resample(x->own_us, JUDGE_BLOCKS);

        /* nobody is early because its mates are late, nor later than he is
           because they are early */
        x->excess_us = own.mean < 0      ? fmax(own.mean, fmin(x->total_us, 0))
                       : x->total_us > 0 ? fmin(own.mean, x->total_us)
                                         : own.mean;
        x->error_us = own.error;
        x->below_us = error_below(x->own_us);
    }
    center_excess(w);
    set_noise(w);
    set_least(w);
    return 0;
}

/* Sets how much more time its operations take without waiting than those of the
 * others of its role. */
static void measure_net(struct work *w)
{
    const struct judge_run *run = w->run;
    double *net = w->scratch, *sorted = w->scratch + w->p->n;

    for (size_t p = 0; p < w->p->n; p++) {
        uint32_t items = 0; /* that were reached */

        net[p] = 0;
        for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++) {
            if (!isfinite(run->items[i].own_us))
                continue;
            net[p] += (double) run->net_us[run->items[i].op];
            items++;
        }
        /* an excess by durations is of all of the run */
        if (run->kept && !run->timed && items)
            net[p] *= (double) run->kept[p].ops / (double) items;
    }
    for (uint32_t k = 0; k < run->n_roles; k++) {
        uint32_t from = w->role_from[k], to = w->role_from[k + 1];

        for (uint32_t i = from; i < to; i++)
            sorted[i - from] = net[w->members[i]];
        for (uint32_t i = from; i < to; i++)
            w->j->processes[w->members[i]].net_us = net[w->members[i]];
        if (from < to) {
            double middle = stats_median(sorted, to - from);

            for (uint32_t i = from; i < to; i++)
                w->j->processes[w->members[i]].net_us -= middle;
        }
    }
}

/* --- names ---------------------------------------------------------------- */

/* A part of the run in which somebody is late, and outside of which he is not.
 */
struct window {
    uint32_t in;     /* the blocks, as bits; 0: none */
    double late_us;  /* excess in it */
    double error_us; /* its standard error */
    double tried;    /* how many windows it was chosen from */
    double height;   /* above the rest, of a block */
    double weight;   /* variance of that over the one of a block */
    double own;      /* variance of the blocks about both */
    double early;    /* the same by those outside of it, and by those in it that
                        are ahead of the rest */
    double chance;   /* that noise like `own` makes it, over all windows */
};

/* Noise of one kind: that of the blocks of all processes of a role, or of all
 * hosts. */
struct noise {
    const double *const *blocks; /* [n] */
    size_t n;
    double variance; /* median of the blocks', by neighbours() */
    /* Series that show how long noise lasts; NULL: the same ones. */
    const double *const *lasting; /* [n_lasting] */
    size_t n_lasting;
};

#define WINDOW_LEAST 4 /* blocks, in it and before it, after the start */
#define STRETCH 3      /* blocks of a stretch, on average: one event has two */
#define RAMPS 0.25     /* of the chance, for a lateness that grows */
#define PAIRS 2.0      /* noise lasts for so many blocks, at least */
#define CARRIED_MOST 0.9 /* of the noise of a block, to the next one */
#define SERIES_SHOWN 64  /* series that show what noise is like */

/* Returns the chance of a difference of that many errors, if the blocks vary by
 * `own` (variance) about it. Noise is of one kind, so all series show how large
 * it is, unless the own one is far larger. Noise lasts for so many blocks,
 * which count as one. */
static double chance_of_errors(double errors, double own, double lasts,
                               const struct noise *noise)
{
    double freedom = (JUDGE_BLOCKS - START_BLOCKS) / lasts - 2;

    if (own <= UNLIKE * UNLIKE * noise->variance)
        freedom *= 1 + (double) (noise->n / 2);
    return stats_student_tail(errors / sqrt(lasts),
                              (unsigned) fmax(freedom, 1));
}

/* Returns every which of many series is looked at. */
static size_t step_of(size_t n)
{
    return (n + SERIES_SHOWN - 1) / SERIES_SHOWN;
}

/* Returns a bound of the chance that as many blocks as a window has, drawn from
 * all series outside of it, come to as much as they do (Chernoff 1952: by the
 * mean of exp(rate * block), at the best of some rates). Much of what blocks
 * vary by is single events, such as collections of garbage. Several of them
 * close to each other look like lateness, and errors do not say how often that
 * happens, as most blocks have none. No block counts more than the mean of the
 * window: a long event shows no more lateness than a short one. Who is late in
 * the same window, as others of a node are, has no event of its own in it. */
static double chance_of_events(const double *blocks, const struct window *late,
                               const struct noise *noise)
{
    double n_in = __builtin_popcount(late->in), most = late->late_us / n_in;
    double own = 0, least = 0; /* logarithm */

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++)
        own += late->in >> k & 1 ? fmin(blocks[k] / most, 1) : 0;
    for (double rate = 1; rate < 100; rate *= sqrt(2)) {
        double sum = 0, n = 0;

        for (size_t i = 0; i < noise->n; i += step_of(noise->n))
            for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
                if (late->in >> k & 1)
                    continue;
                sum += exp(rate * fmin(noise->blocks[i][k] / most, 1));
                n++;
            }
        least = fmin(least, n_in * log(sum / n) - rate * own);
    }
    return exp(least);
}

/* Returns which part of the noise of a block is carried to the next one: the
 * median of all series, by how much less their neighbouring blocks differ than
 * any two do (von Neumann 1941). A window is left out, and so is who is late in
 * the same one, as others of a node are. */
static double carried(const struct window *late, const struct noise *noise,
                      double *scratch)
{
    const double *const *series = noise->lasting ? noise->lasting
                                                 : noise->blocks;
    size_t of_all = noise->lasting ? noise->n_lasting : noise->n, n = 0;

    for (size_t i = 0; i < of_all; i += step_of(of_all)) {
        const double *blocks = series[i];
        double sum = 0, squares = 0, steps = 0, of = 0, pairs = 0, variance;

        for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
            if (late->in >> k & 1)
                continue;
            sum += blocks[k];
            squares += blocks[k] * blocks[k];
            of++;
            if (k + 1 == JUDGE_BLOCKS || late->in >> (k + 1) & 1)
                continue;
            steps += (blocks[k + 1] - blocks[k]) * (blocks[k + 1] - blocks[k]);
            pairs++;
        }
        variance = (squares - sum * sum / of) / (of - 1);
        if (pairs > 0 && variance > 0)
            scratch[n++] = 1 - steps / (2 * pairs) / variance;
    }
    return n ? fmin(fmax(stats_median(scratch, n), 0), CARRIED_MOST) : 0;
}

/* Returns the chance of a window if its own blocks have noise of variance
 * `own`, of which the part c is carried from one to the next. Where it is, a
 * mean of blocks varies as if (1 + c) / (1 - c) of them were one (a first-order
 * autoregressive series), and blocks vary by more than neighbours show. */
static double chance_of(const struct window *late, double own, double c,
                        const struct noise *noise)
{
    double wide = fmax(own, noise->variance / (1 - c));

    return late->tried *
           chance_of_errors(late->height / sqrt(wide * late->weight), own,
                            fmax(PAIRS, (1 + c) / (1 - c)), noise);
}

/* Returns true if noise makes a window of blocks with less than that chance,
 * also if it lasts as long as it does elsewhere: ranks wander, they are slower
 * for some iterations, then faster.
 *
 * Who is late does not lose equally much in each block: in an evaluation there
 * is less to compute. Such scatter is on one side only. Noise is on both, and
 * makes its process early, too. So the scatter on that side decides; with all
 * of it the window must still be confirmed. */
static bool stands_out(const double *blocks, const struct window *late,
                       const struct noise *noise, double chance,
                       double *scratch)
{
    double c;

    if (!late->in || !(late->late_us > 0) || !(late->chance < JUDGE_CONFIRMED))
        return false;
    c = carried(late, noise, scratch);
    return chance_of(late, late->own, c, noise) < JUDGE_CONFIRMED &&
           chance_of(late, late->early, c, noise) < chance &&
           late->tried * chance_of_events(blocks, late, noise) < chance;
}

static uint32_t bits_of(unsigned from, unsigned to)
{
    return (uint32_t) ((UINT64_C(1) << to) - (UINT64_C(1) << from));
}

/* Returns the number of stretches of blocks. */
static unsigned stretches(uint32_t in)
{
    return (unsigned) __builtin_popcount(in & ~(in << 1));
}

/* Splits the blocks by value, at the cut with the smallest sum of squares
 * (Fisher 1958). A single block between two of the other kind takes theirs. */
static uint32_t split_blocks(const double *blocks)
{
    enum { N = JUDGE_BLOCKS - START_BLOCKS };
    double v[N], best = INFINITY, cut = INFINITY;
    uint32_t in = 0;

    memcpy(v, blocks + START_BLOCKS, sizeof(v));
    stats_sort(v, N);
    for (unsigned i = 1; i < N; i++) {
        double rest = stats_squares(v, 0, i) + stats_squares(v, i, N);

        if (rest < best) {
            best = rest;
            cut = (stats_mean(v, 0, i) + stats_mean(v, i, N)) / 2;
        }
    }
    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++)
        in |= (uint32_t) (blocks[k] > cut) << k;
    for (unsigned k = START_BLOCKS + 1; k + 1 < JUDGE_BLOCKS; k++)
        if ((in >> (k - 1) & 1) == (in >> (k + 1) & 1))
            in = (in & ~(UINT32_C(1) << k)) | (in >> (k - 1) & 1) << k;
    return in;
}

/* Returns how many ways there are to choose so many stretches: their ends among
 * the edges of blocks. */
static double ways(unsigned n_stretches)
{
    double edges = JUDGE_BLOCKS - START_BLOCKS + 1, n = 1;

    for (unsigned i = 0; i < 2 * n_stretches; i++)
        n *= (edges - i) / (i + 1);
    return n;
}

/* Sets early, error_us and chance of a window. usual: the level outside of it.
 */
static void finish_window(struct window *w, const double *blocks, double usual,
                          const struct noise *noise)
{
    double out = 0, ahead = 0, n_out = 0, n = JUDGE_BLOCKS - START_BLOCKS;

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
        double off = blocks[k] - usual;
        bool in = w->in >> k & 1;

        out += in ? 0 : off * off;
        n_out += !in;
        ahead += fmin(off, 0) * fmin(off, 0);
    }
    w->early = fmax(out / fmax(n_out - 1, 1), 2 * ahead / n);
    w->error_us = sqrt(fmax(w->early, noise->variance) * w->weight) *
                  __builtin_popcount(w->in);
    w->chance = chance_of(w, w->own, 0, noise);
}

/* Returns several stretches of blocks as one part of the run, if they stand out
 * as such. */
static struct window find_stretches(const double *blocks,
                                    const struct noise *noise)
{
    uint32_t in = split_blocks(blocks);
    struct window w = {.in = in};
    double n = JUDGE_BLOCKS - START_BLOCKS, sum[2] = {0}, squares = 0;
    double late, usual, s, n_in = __builtin_popcount(in);

    if (stretches(in) < 2 || n_in < STRETCH * stretches(in) ||
        n - n_in < STRETCH * stretches(in))
        return (struct window){.chance = 1};
    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
        sum[in >> k & 1] += blocks[k];
        squares += blocks[k] * blocks[k];
    }
    late = sum[1] / n_in;
    usual = sum[0] / (n - n_in);
    s = fmax(squares - late * sum[1] - usual * sum[0], 0) / (n - 2);
    w.weight = 1 / n_in + 1 / (n - n_in);
    if (!(fabs(usual) < BEFORE * late))
        return (struct window){.chance = 1};
    w.late_us = sum[1];
    w.tried = ways(stretches(in)) / (1 - RAMPS);
    w.height = late - usual;
    w.own = s;
    finish_window(&w, blocks, usual, noise);
    return w;
}

/* A fit of a shape to blocks after the start: what is there without it, and
 * how high it is. */
struct fit {
    double usual, late, variance; /* of the rest, about both */
    double spread;                /* of the shape: its sum of squares */
};

/* Fits a level until block `from`, a line up to block `top`, and a level since
 * then. */
static struct fit fit_ramp(const double *blocks, unsigned from, unsigned top)
{
    double n = JUDGE_BLOCKS - START_BLOCKS, x = 0, xx = 0, y = 0, xy = 0,
           yy = 0;
    struct fit f;

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
        double at = k < from  ? 0
                    : k < top ? (k - from + 0.5) / (double) (top - from)
                              : 1;

        x += at;
        xx += at * at;
        y += blocks[k];
        xy += at * blocks[k];
        yy += blocks[k] * blocks[k];
    }
    f.spread = xx - x * x / n;
    f.late = (xy - x * y / n) / f.spread;
    f.usual = (y - f.late * x) / n;
    f.variance = fmax(yy - y * y / n - f.late * f.late * f.spread, 0) / (n - 2);
    return f;
}

/* Finds a window up to the end in which lateness grows up to some block, as of
 * a node that becomes hot. */
static struct window find_ramp(const double *blocks, const struct noise *noise)
{
    struct window best = {.chance = 1};
    double most = 0, usual = 0;
    unsigned tried = 0;

    for (unsigned from = START_BLOCKS + WINDOW_LEAST;
         from + WINDOW_LEAST <= JUDGE_BLOCKS; from++)
        for (unsigned top = from + 2; top <= JUDGE_BLOCKS; top++) {
            struct fit f = fit_ramp(blocks, from, top);
            double e = sqrt(fmax(f.variance, noise->variance) / f.spread);
            double us = 0;

            tried++;
            if (!(f.late > most * e) || !(fabs(f.usual) < BEFORE * f.late))
                continue;
            for (unsigned k = from; k < JUDGE_BLOCKS; k++)
                us += blocks[k];
            most = f.late / e;
            usual = f.usual;
            best = (struct window){.in = bits_of(from, JUDGE_BLOCKS),
                                   .late_us = us,
                                   .height = f.late,
                                   .weight = 1 / f.spread,
                                   .own = f.variance};
        }
    best.tried = tried / RAMPS;
    if (best.in)
        finish_window(&best, blocks, usual, noise);
    return best;
}

/* Finds the window of a series of blocks that stands out most, several
 * stretches of it, or one in which lateness grows at first. Most lateness is
 * there at once, so a growing one has RAMPS of the chance. */
static struct window find_window(const double *blocks,
                                 const struct noise *noise)
{
    struct window best = {.chance = 1}, many, ramp;
    double sum[JUDGE_BLOCKS + 1] = {0}, squares = 0, most = 0, rest = 0;
    double n = JUDGE_BLOCKS - START_BLOCKS;
    unsigned tried = 0;

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
        sum[k + 1] = sum[k] + blocks[k];
        squares += blocks[k] * blocks[k];
    }
    for (unsigned from = START_BLOCKS + WINDOW_LEAST;
         from + WINDOW_LEAST <= JUDGE_BLOCKS; from++)
        for (unsigned to = from + WINDOW_LEAST; to <= JUDGE_BLOCKS; to++) {
            double in = to - from, out = n - in;
            double late = (sum[to] - sum[from]) / in;
            double usual = (sum[JUDGE_BLOCKS] - late * in) / out;
            double s =
                fmax(squares - late * late * in - usual * usual * out, 0) /
                (n - 2);
            double weight = 1 / in + 1 / out;
            double e = sqrt(fmax(s, noise->variance) * weight);

            tried++;
            if (!(late - usual > most * e) || !(fabs(usual) < BEFORE * late))
                continue;
            most = (late - usual) / e;
            rest = usual;
            best = (struct window){.in = bits_of(from, to),
                                   .late_us = late * in,
                                   .height = late - usual,
                                   .weight = weight,
                                   .own = s};
        }
    best.tried = tried / (1 - RAMPS);
    if (best.in)
        finish_window(&best, blocks, rest, noise);
    many = find_stretches(blocks, noise);
    if (many.chance < best.chance)
        best = many;
    ramp = find_ramp(blocks, noise);
    return ramp.chance < best.chance ? ramp : best;
}

static void set_window(struct judge_answer *a, const struct window *late)
{
    a->blocks = late->in;
    a->stretches = stretches(late->in);
    a->share = (double) __builtin_popcount(late->in) / JUDGE_BLOCKS;
    a->from = (double) __builtin_ctz(late->in) / JUDGE_BLOCKS;
    a->to = 1 - (double) __builtin_clz(late->in) / JUDGE_BLOCKS;
}

/* Returns true if a slower network may look like that excess: where operations
 * overlap computation, durations count its time several times. */
static bool is_by_net(const struct judge *j, double net_us, double excess_us)
{
    return !j->timed && net_us > NET_SHARE * excess_us;
}

/* The two shortest durations of an operation, and whose is the shorter one. */
struct shortest {
    float us, next_us;
    float at; /* when the latter arrived */
    uint32_t process, n;
    bool hosts; /* its members are on several hosts */
};

/* Returns them for each operation. NULL: no memory. */
static struct shortest *find_shortest(const struct work *w)
{
    const struct judge_run *run = w->run;
    struct shortest *of = calloc((size_t) run->n_ops + 1, sizeof(*of));

    for (uint32_t p = 0; of && p < w->p->n; p++)
        for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++) {
            struct shortest *s = &of[run->items[i].op];
            float us = run->items[i].time_us;

            if (!isfinite(run->items[i].own_us)) /* it was not reached */
                continue;
            s->hosts |= s->n &&
                        w->p->list[s->process].host_at != w->p->list[p].host_at;
            if (!s->n++ || us < s->us) {
                s->next_us = s->n > 1 ? s->us : INFINITY;
                s->us = us;
                s->at = run->items[i].at;
                s->process = p;
            } else if (us < s->next_us) {
                s->next_us = us;
            }
        }
    return of;
}

/* Returns true if all members of an operation were there, and it is no message:
 * of these one side always waits, as a part of the work of a pipeline. */
static bool is_waited_for(const struct judge_run *run, uint32_t op,
                          const struct shortest *s)
{
    return s->n > 1 && s->n == run->expected[op] &&
           strcmp(run->keys[run->key[op]].func, "message") != 0;
}

/* What the processes of a host have in common. */
struct host {
    size_t n, all; /* judged processes; all */
    size_t worst;  /* the process of the largest total */
    double total, net,
        out; /* sums of total_us and net_us; the most of out_us */
    double blocks[JUDGE_BLOCKS]; /* mean of its processes */
    struct stats_trimmed t;
};

/* What the processes of hosts do apart from each other. */
struct apart {
    double blocks[SERIES_SHOWN][JUDGE_BLOCKS];
    const double *list[SERIES_SHOWN];
    size_t n;
};

/* All hosts, and how they differ. */
struct hosts {
    struct host *at; /* [n] */
    size_t n;
    double middle; /* median of their means; 0: they are too few */
    double spread; /* their standard deviation by the median distance from it;
                      NAN: they are too few */
    double within; /* standard deviation of the processes of one host */
    struct noise noise;
    struct apart apart;
    /* How long the others of its host waited for a process alone, in operations
     * that nobody else is in, by blocks: [process]; NULL: not asked yet. */
    float (*led)[JUDGE_BLOCKS];
};

static void add_to_host(const struct work *w, size_t p, struct host *h)
{
    const struct judge_process *x = &w->j->processes[p];

    h->all++;
    if (!x->judged)
        return;
    if (!h->n || x->total_us > w->j->processes[h->worst].total_us)
        h->worst = p;
    h->n++;
    h->total += x->total_us;
    h->net += x->net_us;
    if (isfinite(x->out_us))
        h->out = fmax(h->out, x->out_us);
    for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
        h->blocks[k] += x->blocks_us[k];
}

/* Sets middle and spread. */
static void compare_hosts(struct hosts *all, double *scratch)
{
    size_t k = 0;

    for (size_t h = 0; h < all->n; h++)
        if (all->at[h].n)
            scratch[k++] = all->at[h].t.mean;
    all->spread = NAN;
    if (k < 3)
        return;
    all->middle = stats_median(scratch, k);
    for (size_t i = 0; i < k; i++)
        scratch[i] = fabs(scratch[i] - all->middle);
    if (k >= HOSTS_KNOWN)
        all->spread = 1.4826 * stats_median(scratch, k);
}

/* Returns true if all processes of a host are late by about as much, `late` of
 * them on average, in the window (NULL: in the whole run). */
static bool is_host_alike(const struct work *w, size_t host, double late,
                          const struct window *part)
{
    for (size_t p = 0; p < w->p->n; p++) {
        const struct judge_process *x = &w->j->processes[p];
        double own = x->total_us;

        if (w->p->list[p].host_at != host || !x->judged)
            continue;
        if (part) {
            own = 0;
            for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
                own += part->in >> k & 1 ? x->blocks_us[k] : 0;
        }
        if (!(own > late / 2))
            return false;
    }
    return true;
}

/* Returns what a process exceeds its mates by in the window (NULL: in the whole
 * run). */
static double beyond_mates(const struct judge_process *x,
                           const struct window *part)
{
    double us = part ? 0 : x->excess_us;

    for (unsigned k = 0; part && k < JUDGE_BLOCKS; k++)
        us += part->in >> k & 1 ? x->own_us[k] : 0;
    return us;
}

/* Returns true if one of a host's processes exceeds its mates by more than half
 * of `late`, which some of its mates here do not do by half as much. Then that
 * process is late, and its mates are so with it. */
static bool is_one_apart(const struct work *w, size_t host, double late,
                         const struct window *part)
{
    const uint32_t *mates = w->mates, *closest = w->run->closest;
    size_t end;

    for (size_t i = 0; i < w->p->n; i = end) {
        double most = -INFINITY, fewest = INFINITY;

        for (end = i;
             end < w->p->n && w->p->list[mates[end]].host_at == host &&
             (end == i || (closest[mates[end]] == closest[mates[i]] &&
                           closest[mates[i]] != UINT32_MAX &&
                           w->run->role[mates[end]] == w->run->role[mates[i]]));
             end++) {
            double us = beyond_mates(&w->j->processes[mates[end]], part);

            most = fmax(most, us);
            fewest = fmin(fewest, us);
        }
        if (end > i + 1 && most > late / 2 && fewest < most / 2)
            return true;
        end += end == i; /* of another host */
    }
    return false;
}

/* Fills `led`. 0, or -1: no memory. */
static int find_led(const struct work *w, struct hosts *all)
{
    struct shortest *of = find_shortest(w);

    all->led = calloc(w->p->n + 1, sizeof(*all->led));
    for (uint32_t i = 0; of && all->led && i < w->run->n_ops; i++)
        if (!of[i].hosts && is_waited_for(w->run, i, &of[i]))
            all->led[of[i].process][judge_block_of(of[i].at)] += of[i].next_us -
                                                                 of[i].us;
    free(of);
    return of && all->led ? 0 : -1;
}

/* Sets *led if the others of a host waited for one of them by more than half of
 * `late`, and by as much more than for each other, in the window (NULL: in the
 * whole run). Where operations of other hosts overlap computation, these
 * compute while they wait, so all of the host seem to compute longer for the
 * one that is late. 0, or -1: no memory. */
static int ask_led(const struct work *w, struct hosts *all, size_t host,
                   double late, const struct window *part, bool *led)
{
    double most = 0, next = 0;

    if (!all->led && find_led(w, all) < 0)
        return -1;
    for (size_t p = 0; p < w->p->n; p++) {
        double us = 0;

        for (unsigned k = 0; w->p->list[p].host_at == host && k < JUDGE_BLOCKS;
             k++)
            us += !part || part->in >> k & 1 ? (double) all->led[p][k] : 0;
        next = fmax(next, fmin(us, most));
        most = fmax(most, us);
    }
    *led = most - next > late / 2;
    return 0;
}

/* Returns the standard deviation of the processes of one host. */
static double spread_within(const struct work *w, const struct host *hosts)
{
    double squares = 0;
    size_t n = 0, used = 0;

    for (size_t p = 0; p < w->p->n; p++) {
        const struct host *h = &hosts[w->p->list[p].host_at];
        const struct judge_process *x = &w->j->processes[p];
        double off = x->total_us - h->total / (double) h->n;

        if (!x->judged || h->n < 2)
            continue;
        squares += off * off;
        n++;
    }
    for (size_t h = 0; h < w->p->n_hosts; h++)
        used += hosts[h].n > 1;
    return n > used ? sqrt(squares / (double) (n - used)) : 0;
}

/* Returns by how much the mean of a host may exceed that of the others if
 * processes differ as they do within hosts. */
static double least_of_host(const struct work *w, const struct host *h,
                            double within)
{
    double others = (double) (w->j->n_judged - h->n);
    size_t freedom = w->j->n_judged - w->p->n_hosts;

    if (others < 1)
        return w->j->run_us;
    return errors_of(judge_chance(w->p->n_hosts), (unsigned) freedom) * within *
           sqrt(1 / (double) h->n + 1 / others);
}

/* Returns true if a host is late, by `late` on average: more than the means of
 * hosts, or of processes where hosts are few, differ. */
static bool is_host_late(const struct work *w, const struct hosts *all,
                         const struct host *h, double late)
{
    double least = least_of_host(w, h, all->within);

    if (isfinite(all->spread)) {
        double freedom = (double) all->n / 3;
        double sd = moderate(w, freedom * all->spread * all->spread, &freedom);

        least = fmax(least,
                     errors_of(judge_chance(all->n), (unsigned) freedom) * sd);
    }
    return late - h->out > fmax(least, w->worth_us) &&
           !is_by_net(w->j, h->net / (double) h->n, late);
}

/* Names a host if it is late, in a part of the run or all along. 0 or -1. */
static int name_node(struct work *w, struct hosts *all, size_t host,
                     bool *named)
{
    const struct host *h = &all->at[host];
    struct window late;
    double chance = judge_chance(all->n), mean = h->t.mean - all->middle;
    bool onset, all_along, led;
    struct judge_answer *a;

    if (h->n < 2 || h->n < h->all || w->j->n_judged <= all->n)
        return 0;
    late = find_window(h->blocks, &all->noise);
    onset = w->j->processes[h->worst].intervals >= JUDGE_KNOWN_INTERVALS &&
            stands_out(h->blocks, &late, &all->noise, chance, w->scratch) &&
            is_host_late(w, all, h, late.late_us) &&
            is_host_alike(w, host, late.late_us, &late) &&
            !is_one_apart(w, host, late.late_us, &late);
    all_along = mean > errors_of(chance, freedom_of_blocks()) * h->t.error &&
                is_host_late(w, all, h, mean) &&
                is_host_alike(w, host, h->t.mean, NULL) &&
                !is_one_apart(w, host, mean, NULL);
    if (!onset && !all_along)
        return 0;
    if (ask_led(w, all, host, onset ? late.late_us : mean, onset ? &late : NULL,
                &led) < 0)
        return -1;
    if (led)
        return 0;
    a = judge_add(w->j, w->p, JUDGE_NODE, h->worst);
    if (!a)
        return -1;
    a->excess_us = onset ? late.late_us : mean;
    a->error_us = onset ? late.error_us : h->t.error;
    a->times = h->n;
    if (onset)
        set_window(a, &late);
    for (size_t p = 0; p < w->p->n; p++)
        named[p] |= w->p->list[p].host_at == host;
    return 0;
}

/* Fills `apart` from some of the processes. A host that becomes late makes the
 * others seem early to the same extent, and all the more the fewer they are, so
 * means of hosts do not show how long noise lasts. */
static void set_apart(const struct work *w, struct hosts *all)
{
    struct apart *of = &all->apart;
    size_t step = step_of(w->p->n);

    for (size_t p = 0; p < w->p->n; p += step) {
        const struct judge_process *x = &w->j->processes[p];
        const struct host *h = &all->at[w->p->list[p].host_at];

        if (!x->judged || h->n < 2)
            continue;
        of->list[of->n] = of->blocks[of->n];
        for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
            of->blocks[of->n][k] = x->blocks_us[k] - h->blocks[k];
        of->n++;
    }
    all->noise.lasting = of->n ? of->list : NULL;
    all->noise.n_lasting = of->n;
}

/* Sets how hosts differ, and what their noise is like. */
static void measure_hosts(struct work *w, struct hosts *all)
{
    double *noise = w->scratch;
    size_t k = 0;

    for (size_t h = 0; h < all->n; h++) {
        struct host *host = &all->at[h];

        if (!host->n)
            continue;
        for (unsigned b = 0; b < JUDGE_BLOCKS; b++)
            host->blocks[b] /= (double) host->n;
        host->t = judge_resample(host->blocks, JUDGE_BLOCKS);
        noise[k] = neighbours(host->blocks);
        w->blocks[k++] = host->blocks;
    }
    all->noise = (struct noise){.blocks = w->blocks, .n = k};
    if (!k)
        return;
    all->noise.variance = stats_median(noise, k);
    set_apart(w, all);
    compare_hosts(all, w->scratch);
    all->within = spread_within(w, all->at);
}

/* Names hosts of which all processes are late by about as much. named: set for
 * their processes. 0 or -1. */
static int name_nodes(struct work *w, bool *named)
{
    struct hosts *all = calloc(1, sizeof(*all));
    int rc = all ? 0 : -1;

    if (rc == 0) {
        all->n = w->p->n_hosts;
        all->at = calloc(all->n + 1, sizeof(*all->at));
        rc = all->at ? 0 : -1;
    }
    for (size_t p = 0; rc == 0 && p < w->p->n; p++)
        add_to_host(w, p, &all->at[w->p->list[p].host_at]);
    if (rc == 0)
        measure_hosts(w, all);
    for (size_t h = 0; rc == 0 && h < all->n; h++)
        rc = name_node(w, all, h, named);
    if (all) {
        free(all->at);
        free(all->led);
    }
    free(all);
    return rc;
}

/* Names a process that is late from some time on, or all along. A part of the
 * run is told only where its blocks have enough intervals: of a run of a few
 * steps a part is one step, and its work differs by chance. 0 or -1. */
static int name_process(struct work *w, size_t p, bool *named)
{
    struct judge *j = w->j;
    struct judge_process *x = &j->processes[p];
    const struct noise noise = {.blocks = w->blocks + w->role_from[x->role],
                                .n = x->likes,
                                .variance = x->usual_noise};
    const struct window late = find_window(x->own_us, &noise);
    bool onset = x->intervals >= JUDGE_KNOWN_INTERVALS &&
                 late.late_us > w->worth_us &&
                 stands_out(x->own_us, &late, &noise, judge_chance(j->n_judged),
                            w->scratch);
    struct judge_answer *a;

    if ((!onset && !(x->excess_us > x->least_us)) ||
        (!onset && !(x->total_us > x->apart_us / 2)) ||
        is_by_net(j, x->net_us, onset ? late.late_us : x->excess_us))
        return 0;
    a = judge_add(j, w->p, onset ? JUDGE_ONSET : JUDGE_LATE, p);
    if (!a)
        return -1;
    a->excess_us = onset ? late.late_us : x->excess_us;
    a->error_us = onset ? late.error_us : x->error_us;
    if (onset)
        set_window(a, &late);
    a->times = w->run->first[p + 1] - w->run->first[p];
    a->part = x->total_us > x->excess_us ? x->excess_us / x->total_us : 1;
    named[p] = true;
    return 0;
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
    /* of two copies of a file each operation would follow itself */
    if ((double) w->run->r->quality.duplicate_records >
        (1 - JUDGE_WHOLE) * (double) w->run->r->quality.records)
        return "records are there twice";
    if ((double) j->lacking > (1 - JUDGE_WHOLE) * (double) j->events)
        return "too many operations lack members, or are out of order";
    return NULL;
}

/* Normalises arrivals to the run. Clocks by durations lack what all ranks
 * compute, so lateness fills more of them than of the run; there the number of
 * the operation shows the part of the run. */
static void scale(struct work *w)
{
    struct judge_run *run = w->run;

    for (size_t p = 0; p < w->p->n; p++) {
        uint32_t from = run->first[p], to = run->first[p + 1];
        float n = (float) (to - from), us = (float) w->j->clock_us;

        for (uint32_t i = from; i < to; i++)
            run->items[i].at = !run->timed ? (float) (i - from) / n
                               : us > 0    ? run->items[i].at / us
                                           : 0;
    }
}

/* So many are no culprits: the work differs. */
static void drop_crowd(struct judge *j)
{
    for (size_t i = 0; i < j->n; i++)
        j->crowd += j->answers[i].kind == JUDGE_STALL;
    judge_drop_answers(j);
}

/* Makes one answer of those about all processes of a host: each of them is late
 * beyond doubt, so their node is, though the mean of its blocks may vary by the
 * lateness itself. 0 or -1. */
static int join_nodes(struct work *w)
{
    struct judge *j = w->j;
    size_t *named = calloc(w->p->n_hosts + 1, sizeof(*named)), kept = 0;
    size_t *all = calloc(w->p->n_hosts + 1, sizeof(*all));
    size_t *first = calloc(w->p->n_hosts + 1, sizeof(*first));
    int rc = named && all && first ? 0 : -1;

    for (size_t p = 0; rc == 0 && p < w->p->n; p++)
        all[w->p->list[p].host_at]++;
    for (size_t i = 0; rc == 0 && i < j->n; i++)
        named[j->answers[i].host] += j->answers[i].kind == JUDGE_LATE ||
                                     j->answers[i].kind == JUDGE_ONSET;
    for (size_t i = 0; rc == 0 && i < j->n; i++) {
        struct judge_answer *a = &j->answers[i], *node;
        size_t h = a->host;

        if (a->kind == JUDGE_NODE || named[h] < 2 || named[h] < all[h] ||
            all[h] == w->p->n) {
            j->answers[kept++] = *a;
            continue;
        }
        if (!first[h]) {
            first[h] = kept + 1;
            j->answers[kept] = *a;
            node = &j->answers[kept++];
            node->kind = JUDGE_NODE;
            node->excess_us = 0;
            node->part = 1;
            node->times = all[h];
        }
        node = &j->answers[first[h] - 1];
        node->excess_us += a->excess_us / (double) all[h];
        node->error_us = fmax(node->error_us, a->error_us);
        if (j->processes[a->process].total_us >
            j->processes[node->process].total_us)
            node->process = a->process;
        if ((node->blocks | a->blocks) != node->blocks) {
            struct window late = {.in = node->blocks | a->blocks};

            set_window(node, &late);
        }
    }
    if (rc == 0)
        j->n = kept;
    free(named);
    free(all);
    free(first);
    return rc;
}

/* Returns true if processes are of one role, and share the communicator that
 * they use most with each other and not with all. */
static bool are_mates(const struct work *w, size_t p, size_t q)
{
    const struct judge_run *run = w->run;

    return run->closest[p] != UINT32_MAX &&
           run->closest[p] == run->closest[q] && run->role[p] == run->role[q] &&
           run->r->comms[run->closest[p]].n_ranks < w->p->n;
}

/* Returns true if a mate is late by more than somebody stalls. */
static bool is_late_mate(const struct work *w, const struct judge_answer *stall)
{
    for (size_t i = 0; i < w->j->n; i++) {
        const struct judge_answer *a = &w->j->answers[i];

        if ((a->kind == JUDGE_LATE || a->kind == JUDGE_ONSET) &&
            a->excess_us > stall->excess_us &&
            are_mates(w, a->process, stall->process))
            return true;
    }
    return false;
}

/* Drops the stalls of those with a mate that is late by more: who waits for it
 * in most operations may come late with it to a few others. */
static void drop_late_mates(struct work *w)
{
    struct judge *j = w->j;
    size_t kept = 0;

    for (size_t i = 0; i < j->n; i++)
        if (j->answers[i].kind == JUDGE_STALL &&
            is_late_mate(w, &j->answers[i]))
            free(j->answers[i].waits);
        else
            j->answers[kept++] = j->answers[i];
    j->n = kept;
}

/* Sums up how long all others of their operations waited for each process
 * alone: members leave an operation together, so that whose duration is the
 * shortest came last. 0, or -1: no memory. */
static int sum_alone(struct work *w)
{
    struct shortest *of = find_shortest(w);

    if (!of)
        return -1;
    for (uint32_t i = 0; i < w->run->n_ops; i++)
        if (is_waited_for(w->run, i, &of[i]))
            w->j->processes[of[i].process].alone_us +=
                (double) (of[i].next_us - of[i].us);
    free(of);
    return 0;
}

static int judge_all(struct work *w)
{
    struct judge *j = w->j;
    bool *named = calloc(w->p->n + 1, sizeof(*named));
    int rc = named ? name_nodes(w, named) : -1;

    for (size_t i = 0; i < w->p->n; i++)
        w->blocks[i] = j->processes[w->members[i]].own_us;
    for (size_t p = 0; rc == 0 && p < w->p->n; p++)
        if (j->processes[p].judged && !named[p])
            rc = name_process(w, p, named);
    if (rc == 0)
        rc = join_nodes(w);
    if (rc == 0)
        rc = judge_stalls_name(
            j, w->run, w->run->kept_first ? w->run->kept_excess : w->excess,
            w->stall, named);
    if (rc == 0)
        drop_late_mates(w);
    if (rc == 0 && j->n > MOST_NAMED)
        drop_crowd(j);
    free(named);
    if (rc == 0 && w->run->kept_first)
        judge_price_kept_stalls(j, w->run);
    else if (rc == 0 && j->n)
        rc = sum_alone(w);
    if (rc == 0)
        rc = judge_turns_find(j, w->run, w->members, w->role_from);
    return rc == 0 && j->n && !w->run->timed && (!w->run->part || w->run->kept)
               ? judge_replay_by_order(j, w->run)
               : rc;
}

/* Takes from own times what was waiting for members that had met before an
 * operation. *most_us: what was taken from the process that waited longest. 0,
 * or -1: no memory. */
static int leave_barriers(struct judge_run *run, double *most_us)
{
    struct barrier *of = calloc((size_t) run->n_ops + 1, sizeof(*of));
    uint32_t n = run->first[run->p->n];

    *most_us = 0;
    if (!of)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        barrier_add(&of[run->items[i].op], run->items[i].time_us,
                    run->items[i].own_us);
    for (size_t p = 0; p < run->p->n; p++) {
        double waited_us = 0;

        for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++) {
            struct judge_item *item = &run->items[i];

            if (!barrier_is_met(&of[item->op], run->expected[item->op]))
                continue;
            waited_us += (double) (item->own_us - of[item->op].own_least_us);
            item->own_us = of[item->op].own_least_us;
        }
        *most_us = fmax(*most_us, waited_us);
    }
    free(of);
    return 0;
}

/* Follows the clocks, or takes those of the records. 0 or -1. */
static int follow(struct work *w)
{
    struct judge *j = w->j;
    struct judge_run *run = w->run;
    double barriers_us = 0;
    int rc = 0;

    if (!run->timed)
        rc = judge_walk(run, &j->clock_us);
    else
        rc = leave_barriers(run, &barriers_us);
    for (size_t p = 0; run->timed && p < w->p->n; p++)
        j->clock_us = fmax(j->clock_us, run->clock[p]);
    for (uint32_t i = 0; run->timed && i < run->n_ops; i++)
        run->net_us[i] = INFINITY;
    for (uint32_t i = 0; run->timed && i < run->first[w->p->n]; i++) {
        float *net = &run->net_us[run->items[i].op];

        *net = fminf(*net, run->items[i].time_us);
    }
    /* what is kept of all of the run has such waits as own times */
    if (barriers_us > JUDGE_WORTH * j->clock_us)
        judge_kept_fini(run);
    j->lacking = run->lacking;
    return rc;
}

/* Returns the most operations of a process. */
static uint32_t longest_of(const struct judge_run *run)
{
    uint32_t most = 0;

    for (size_t p = 0; p < run->p->n; p++)
        if (run->first[p + 1] - run->first[p] > most)
            most = run->first[p + 1] - run->first[p];
    return most;
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
    j->run_us = run_us > 0 ? run_us : fmax(j->clock_us, run.kept_us);
    if (run.kept && !run.timed)
        judge_kept_check(&run, j->run_us);
    j->kept = run.kept;
    j->kept_stalls = run.kept_first;
    j->followed = run.timed
                      ? fmin(j->clock_us / j->run_us, 1)
                      : (double) j->events / (double) (j->events + run.left);
    w.worth_us = JUDGE_WORTH * (j->part && !j->kept ? j->clock_us : j->run_us);
    j->processes = calloc(p->n + 1, sizeof(*j->processes));
    w.excess = calloc((size_t) j->events + 1, sizeof(*w.excess));
    w.stall =
        calloc((run.kept_first ? run.kept_first[p->n] : (size_t) j->events) + 1,
               sizeof(*w.stall));
    w.scratch = calloc(3 * p->n + JUDGE_BLOCKS, sizeof(*w.scratch));
    w.rest = calloc(run.n_roles + 1, sizeof(*w.rest));
    w.placed = calloc(p->n + 1, sizeof(*w.placed));
    w.blocks = calloc(p->n + 1, sizeof(*w.blocks));
    w.of_key = calloc((size_t) run.n_keys + 1, sizeof(*w.of_key));
    w.of_item = calloc((size_t) longest_of(&run) + 1, sizeof(*w.of_item));
    if (!j->processes || !w.excess || !w.stall || !w.scratch || !w.rest ||
        !w.placed || !w.blocks || !w.of_key || !w.of_item ||
        sort_members(&w) < 0)
        goto out;
    scale(&w);
    rc = set_excess(&w);
    if (rc == 0)
        rc = judge_stalls_find(j, &run,
                               run.kept_first ? run.kept_excess : w.excess,
                               w.worth_us, w.stall);
    if (rc == 0)
        rc = measure(&w);
    if (rc == 0) {
        measure_net(&w);
        rc = judge_all(&w);
    }
out:
    free(w.excess);
    free(w.members);
    free(w.mates);
    free(w.role_from);
    free(w.scratch);
    free(w.rest);
    free(w.placed);
    free(w.blocks);
    free(w.of_key);
    free(w.of_item);
    free(w.stall);
    judge_build_fini(&run); /* a replay takes as much memory */
    if (rc == 0 && !j->why)
        rc = judge_price(j, r, p, w.worth_us);
    j->usable = rc == 0 && !j->why;
    if (rc < 0) {
        judge_destroy(j);
        return NULL;
    }
    return j;
}

/* Returns the number of blocks in which processes can be compared: that of
 * their iterations, if all have as many. 0: none. */
static unsigned common_rounds(const struct judge *j,
                              const enum judge_side *side, size_t n)
{
    unsigned rounds = 0;
    bool any = false;

    for (size_t p = 0; p < n; p++) {
        if (side[p] == JUDGE_ASIDE)
            continue;
        if (any && j->processes[p].rounds != rounds)
            return 0;
        rounds = j->processes[p].rounds;
        any = true;
    }
    return rounds;
}

bool judge_compare(const struct judge *j, const enum judge_side *side, size_t n,
                   size_t questions, struct judge_group *out)
{
    double blocks[JUDGE_BLOCKS] = {0}, of[2] = {0};
    unsigned rounds = common_rounds(j, side, n);
    struct stats_trimmed t;

    for (size_t p = 0; p < n; p++)
        if (side[p] != JUDGE_ASIDE)
            of[side[p] == JUDGE_OTHER]++;
    if (!(of[0] > 0) || !(of[1] > 0) || !rounds)
        return false;
    for (size_t p = 0; p < n; p++)
        for (unsigned k = 0; k < rounds && side[p] != JUDGE_ASIDE; k++)
            blocks[k] += side[p] == JUDGE_IN
                             ? j->processes[p].work_us[k] / of[0]
                             : -j->processes[p].work_us[k] / of[1];
    t = judge_resample(blocks, rounds);
    out->us = t.mean;
    out->error_us = t.error;
    out->least_us =
        fmax(JUDGE_WORTH * j->run_us,
             errors_of(judge_chance(questions), freedom_of(rounds)) * t.error);
    return true;
}

bool judge_speaks(const struct judge *j)
{
    return j->usable && (!j->part || j->kept) && (j->replayed || !j->n) &&
           (j->kept || (j->timed ? j->clock_us >= JUDGE_SPAN * j->run_us
                                 : j->clock_us <= JUDGE_OVERLAP * j->run_us));
}

bool judge_speaks_of_part(const struct judge *j)
{
    return j->usable && j->part && !j->kept && j->timed && j->clock_us > 0 &&
           j->clock_us <= j->run_us;
}

bool judge_has_likes_elsewhere(const struct judge *j,
                               const struct jp_processes *p, size_t process)
{
    const struct judge_process *all = j->processes;

    for (size_t i = 0; i < p->n; i++)
        if (all[i].judged && all[i].role == all[process].role &&
            p->list[i].host_at != p->list[process].host_at)
            return true;
    return false;
}

void judge_drop_replay(struct judge *j)
{
    replay_destroy(j->replay);
    j->replay = NULL;
}

void judge_destroy(struct judge *j)
{
    if (!j)
        return;
    judge_drop_answers(j);
    judge_drop_replay(j);
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
            j->replayed ? FIG_SHARE(a->cost_us / j->run_us) : "unknown");
    }
    if (n + 1 < JUDGE_LINE)
        snprintf(buf + n, JUDGE_LINE - n, "%sleast %s, %zu of %zu judged, %s",
                 j->n ? "; " : "nobody; ", FIG_SHARE(j->least_us / j->run_us),
                 j->n_judged, p->n, j->timed ? "by times" : "by durations");
    return buf;
}
