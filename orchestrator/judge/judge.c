/* judge.c - from own times to names: excess, errors by resampling, cost.
 *
 * Way through: judge_measure, set_excess (each own time less that of the
 * peers), judge_stalls_find, add_blocks, measure (excess and error of each
 * process), set_least (the smallest excess that is named), judge_name_all
 * (judge_name.c), judge_turns_find. judge_price (judge_cost.c) comes later,
 * after sums of waits.
 */
#include "orchestrator/judge/judge_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/stats.h"
#include "orchestrator/aggregate/intervals.h"
#include "orchestrator/identity/barriers.h"

#define ITERATIONS_SHOWN 16 /* that show the scatter as blocks of one each */
#define BLOCKS_MIN 8  /* of the run with operations, to know the scatter */
#define ROLE_KNOWN 16 /* processes of a role that show how they differ */
#define APART_MOST 64 /* processes that are looked at as late ones together */
#define FEW 8         /* in a smaller role each moves the others' median */
#define APART_FEW 2   /* ... of few of them, if these are no more than half */
#define MOST_NAMED 8

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
            if (!run->items[i].hidden)
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
 * its rarest key, of those with `enough`, begin one each, unless they follow
 * each other more closely than they do on average. Returns the number of
 * iterations. */
static uint32_t number_iterations(struct work *w, uint32_t p, uint32_t enough)
{
    const struct judge_run *run = w->run;
    uint32_t from = run->first[p], n = run->first[p + 1] - from, count;
    uint32_t key = rarest_key(w, p, enough, &count);
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

/* Returns how many iterations make a key rare, for add_work. A short run has
 * parts of iterations, such as micro-batches, that come once for each block.
 * Blocks of these would differ by which parts fall into each. So the iterations
 * of all processes count where they are as many. If not, there must be one for
 * each block, so that all have as many blocks. */
static uint32_t rare_from(struct work *w)
{
    uint32_t common = 0;

    for (uint32_t p = 0; p < w->p->n; p++) {
        uint32_t n = number_iterations(w, p, ITERATIONS_SHOWN);

        if (!n || (common && n != common))
            return JUDGE_BLOCKS;
        common = n;
    }
    return ITERATIONS_SHOWN;
}

/* Adds up own times by blocks of whole iterations, as what ranks of one role do
 * differs from one operation to the next. A block with more iterations than
 * another counts as if it had as many. */
static void add_work(struct work *w, uint32_t p, uint32_t rare)
{
    struct judge_process *x = &w->j->processes[p];
    const struct judge_item *items = w->run->items + w->run->first[p];
    uint32_t n = w->run->first[p + 1] - w->run->first[p];
    uint32_t iterations = number_iterations(w, p, rare);
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
static unsigned add_blocks(struct work *w, uint32_t p, uint32_t rare)
{
    struct judge_process *x = &w->j->processes[p];
    bool any[JUDGE_BLOCKS] = {false};
    unsigned n = 0;
    uint64_t clear = 0; /* intervals before which few waited in line */
    double all_us = 0, clear_us = 0;

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
        all_us += us;
        if (!w->run->items[i].in_line) {
            clear_us += us;
            clear++;
        }
        if (!w->stall[i])
            x->blocks_us[judge_block_of(at)] += us;
    }
    for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
        n += any[k];
    x->not_in_line = clear == x->intervals ? 1
                                           : clear_us / (double) clear /
                                                 all_us * (double) x->intervals;
    add_work(w, p, rare);
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
        x->not_in_line = 1;
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

/* How processes of a kind differ anyway. */
struct differ {
    double us;       /* who exceeds all others by so much stands apart */
    double known_us; /* the same, if they differ by what is assumed of any */
    bool shown;      /* they differ by more than that */
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
static struct differ differ_by(double worth_us, double squares, double freedom,
                               double chance)
{
    double usual = worth_us / 2;
    struct differ by = {.shown = squares > freedom * usual * usual};
    double known = freedom, sd = judge_moderate(worth_us, squares, &freedom);
    double errors = stats_student_quantile(chance, (unsigned) freedom);

    by.us = errors * sd;
    by.known_us = errors * judge_moderate(worth_us, 0, &known);
    return by;
}

/* Returns what is told however few there are to compare with. */
static double told_us(double worth_us)
{
    return JUDGE_TOLD / JUDGE_WORTH * worth_us;
}

/* Returns by how much the mean of n processes must exceed that of the others if
 * each of them differs by us. */
static double mean_apart(double us, double n, double others)
{
    return us * sqrt(1 / n + 1 / others);
}

/* Returns from which excess on the mean of n processes stands apart from that
 * of the others. Where they do not show that they differ more, who costs much
 * is told in any case; durations may count an excess several times. */
static double apart_of(const struct judge *j, double worth_us,
                       const struct differ *by, double n, double others)
{
    double us = mean_apart(by->us, n, others);

    return by->shown || !j->timed ? us : fmin(us, told_us(worth_us));
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

static int by_role(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;

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
    by = differ_by(w->worth_us, squares, (double) freedom, chance);
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
        without = differ_by(w->worth_us, squares, (double) --freedom, chance);
        if (x->us >
            apart_of(w->j, w->worth_us, &without, 1, (double) (of->all - 1)))
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
    double by_blocks =
        stats_student_quantile(chance, judge_freedom_of(JUDGE_BLOCKS));
    double by_below =
        stats_student_quantile(chance, judge_freedom_of(JUDGE_BLOCKS) / 2);
    struct differ all = compare_rest(w, w->members, w->p->n, chance);
    double by_role = 0;
    size_t last = 0; /* the size of the role that by_role is for */

    for (uint32_t k = 0; k < w->run->n_roles; k++) {
        const uint32_t *list = w->members + w->role_from[k];
        size_t of = w->role_from[k + 1] - w->role_from[k];
        double usual = usual_error(w, list, of), apart_us, known_us;
        struct differ apart;

        if (of < 2) /* nobody to be compared with */
            continue;
        if (of != last)
            by_role = stats_student_quantile(
                chance, judge_freedom_of(JUDGE_BLOCKS) *
                            (unsigned) (of > 2 ? of / 2 : 1));
        last = of;
        apart = compare_rest(w, list, of, chance);
        if (of < ROLE_KNOWN && all.us > apart.us)
            apart.us = all.us;
        apart.shown |= of < ROLE_KNOWN && all.shown;
        apart_us = fmax(w->worth_us, apart_of(w->j, w->worth_us, &apart, 1,
                                              (double) (of - 1)));
        known_us = mean_apart(of < ROLE_KNOWN
                                  ? fmin(apart.known_us, all.known_us)
                                  : apart.known_us,
                              1, (double) (of - 1));
        for (size_t i = 0; i < of; i++) {
            struct judge_process *x = &j->processes[list[i]];
            bool unlike = x->error_us > UNLIKE * usual;
            double noise =
                unlike ? fmin(by_blocks * x->error_us, by_below * x->below_us)
                       : by_role * x->error_us;

            x->apart_us = apart_us;
            x->known_us = fmin(known_us, told_us(w->worth_us));
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
                judge_neighbours(w->j->processes[w->members[i]].own_us);
        usual = from < to ? stats_median(w->scratch, to - from) : 0;
        for (uint32_t i = from; i < to; i++)
            w->j->processes[w->members[i]].usual_noise = usual;
    }
}

/* Sets excess and error of each process. 0 or -1. */
static int measure(struct work *w)
{
    struct judge *j = w->j;
    uint32_t rare = 0;

    if (w->run->kept)
        add_kept(w);
    else
        rare = rare_from(w);
    for (uint32_t p = 0; p < w->p->n; p++) {
        struct judge_process *x = &j->processes[p];
        bool known = w->run->kept ? x->intervals >= JUDGE_KNOWN_INTERVALS
                                  : add_blocks(w, p, rare) >= BLOCKS_MIN;

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
static void scale_to_run(struct work *w)
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

        if (judge_is_late(a) && a->excess_us > stall->excess_us &&
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

static int judge_all(struct work *w)
{
    struct judge *j = w->j;
    bool *named = calloc(w->p->n + 1, sizeof(*named));
    int rc = named ? judge_name_all(w, named) : -1;

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
        rc = judge_sum_alone(w);
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
        if (!run->items[i].after_start && /* it waits for no barrier */
            isfinite(run->items[i].own_us))
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
    j->hidden = barriers_us > JUDGE_WORTH * j->clock_us;
    if (j->hidden)
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

struct judge *judge_measure(struct jp_result *r, const struct jp_processes *p,
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
    w.worth_us = judge_worth(j);
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
    scale_to_run(&w);
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
    result_drop_intervals(r);
    if (rc < 0) {
        judge_destroy(j);
        return NULL;
    }
    return j;
}

struct judge *judge_run(struct jp_result *r, const struct jp_processes *p,
                        double run_us)
{
    struct judge *j = judge_measure(r, p, run_us);

    if (!j || judge_price(j, r, p) == 0)
        return j;
    judge_destroy(j);
    return NULL;
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

/* Says how the processes of a group differ, each from those of its role. Who
 * has more work has it alike; a group that only seems slow differs within.
 * Returns false without memory. */
static bool differ_within(const struct judge *j, const enum judge_side *side,
                          size_t n, double chance, struct differ *by)
{
    struct placed *v = calloc(n + 1, sizeof(*v));
    size_t k = 0, roles = 0;
    double squares = 0;

    if (!v)
        return false;
    for (size_t p = 0; p < n; p++)
        if (side[p] == JUDGE_IN)
            v[k++] =
                (struct placed){.us = judge_resample(j->processes[p].work_us,
                                                     j->processes[p].rounds)
                                          .mean,
                                .role = j->processes[p].role};
    qsort(v, k, sizeof(*v), by_role);
    for (size_t from = 0, to; from < k; from = to, roles++) {
        double mean = 0;

        for (to = from; to < k && v[to].role == v[from].role; to++)
            mean += v[to].us;
        mean /= (double) (to - from);
        for (size_t i = from; i < to; i++)
            squares += (v[i].us - mean) * (v[i].us - mean);
    }
    free(v);
    *by = differ_by(JUDGE_WORTH * j->run_us, squares, (double) (k - roles),
                    chance);
    return true;
}

bool judge_compare(const struct judge *j, const enum judge_side *side, size_t n,
                   size_t questions, struct judge_group *out)
{
    double blocks[JUDGE_BLOCKS] = {0}, of[2] = {0};
    double worth_us = JUDGE_WORTH * j->run_us;
    double chance = judge_chance(questions);
    unsigned rounds = common_rounds(j, side, n);
    struct stats_trimmed t;
    struct differ within;

    for (size_t p = 0; p < n; p++)
        if (side[p] != JUDGE_ASIDE)
            of[side[p] == JUDGE_OTHER]++;
    if (!(of[0] > 0) || !(of[1] > 0) || !rounds ||
        !differ_within(j, side, n, chance, &within))
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
        fmax(stats_student_quantile(chance, judge_freedom_of(rounds)) * t.error,
             fmax(worth_us, apart_of(j, worth_us, &within, of[0], of[1])));
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
