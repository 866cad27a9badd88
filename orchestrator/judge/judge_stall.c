/* judge_stall.c - single intervals in which a process makes the others wait:
 * often, a few times, or once.
 *
 * The run without its start is cut into PARTS parts. Of each process and part
 * only the longest excess is looked at, and parts in a row count once, as noise
 * lasts. If nobody stalls, the processes are alike (all of them, and those of a
 * role), and so are what is longer than some length u:
 *
 * - How many. Of kk ones of the others, and q = 1 / processes, a process has m
 *   longer than u with the probability of the negative binomial distribution.
 * - How long. What m of them exceed u by, as a share of that and of what the
 *   others' kk exceed it by, has a beta distribution with m and kk, if the tail
 *   is exponential. Where the longest of the others is longer than such a tail
 *   explains, the tail is taken to be a power: then the logarithms of the
 *   lengths over u are exponential (Renyi 1953), and far longer ones are asked
 *   for.
 *
 * Both together give the chance of a share as large as the process has. Some
 * lengths u are tried, those that a few to many of the others exceed; that is
 * paid for, and the budget is that of judge.h.
 *
 * Where noise has a heavy tail, no length is too long for chance. One interval
 * that takes JUDGE_FACT times what is worth a user's minute, and is
 * JUDGE_FACT_OTHERS times as long as any of another process, is told all the
 * same: that the others waited so long for this process, once, is a fact,
 * whatever made it late.
 *
 * Who is late all along, or in a part of the run, also has the longest
 * intervals, but nearly all of them, and little of its excess is in few.
 */
#include "orchestrator/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"
#include "orchestrator/aggregate/intervals.h"

enum { PARTS = 64, LADDER = 5, MOST_OTHERS = 64 };

/* The others' parts that are longer than the lengths that are tried. */
static const size_t ladder[LADDER] = {4, 8, 16, 32, MOST_OTHERS};

/* Of each process: fewer do not show how long its longest ones are by chance.
 */
#define INTERVALS_MIN 16
/* Of m exponential values, in multiples of their mean, the largest one is about
 * log m. By chance it exceeds that by more than 1 in one case of three. */
#define TAIL_PLUS 1.0
/* Of the intervals that are called stalls, by chance. */
#define OWN 0.1

/* The longest excess of a process in a part. */
struct entry {
    float us;
    uint32_t process, part;
};

/* Processes that are compared: all, or those of a role. */
struct group {
    struct entry *at; /* the longest first */
    size_t n;
    size_t processes;
    bool known;    /* all of them have INTERVALS_MIN */
    double chance; /* of each of them, if nobody stalls */
};

struct search {
    struct judge *j;
    const struct judge_run *run;
    const float *excess;
    float (*longest)[PARTS]; /* [process] */
    struct entry *entries;
    double *sums;        /* [process] excess of all intervals after the start */
    uint32_t *intervals; /* [process] after the start */
    double *scratch;
    double worth_us;
    double alone_us; /* a single interval as long is told for sure */
    /* the largest length up to which intervals of a process may not be kept,
     * that process, and the same of the others; 0: all are known */
    double floor_us, floor_others_us;
    uint32_t floor_of;
};

/* Sets from which length on intervals are known. */
static void find_floor(struct search *s)
{
    s->floor_of = UINT32_MAX;
    for (uint32_t p = 0; s->run->kept_first && p < s->run->p->n; p++) {
        const struct intervals *of = s->run->kept[p].of;
        double us = of ? (double) of->least_us : 0;

        if (us > s->floor_us) {
            s->floor_others_us = s->floor_us;
            s->floor_us = us;
            s->floor_of = p;
        } else {
            s->floor_others_us = fmax(s->floor_others_us, us);
        }
    }
}

/* Returns the length up to which intervals of the other processes may not be
 * kept; 0: all of them are known. process UINT32_MAX: of all. */
static double unknown_up_to(const struct search *s, uint32_t process)
{
    return process == s->floor_of && process != UINT32_MAX ? s->floor_others_us
                                                           : s->floor_us;
}

/* --- intervals: items, or of a longer run those that are kept ------------- */

static uint32_t first_of(const struct judge_run *run, size_t process)
{
    return run->kept_first ? run->kept_first[process] : run->first[process];
}

static const struct interval *kept_of(const struct judge_run *run,
                                      size_t process, uint32_t i)
{
    return &run->kept[process].of->at[i - run->kept_first[process]];
}

/* Returns how many operations of the process came before the interval. */
static uint32_t number_of(const struct judge_run *run, size_t process,
                          uint32_t i)
{
    return run->kept_first ? kept_of(run, process, i)->nth
                           : i - run->first[process];
}

/* Returns the operations of a process. */
static uint64_t count_of(const struct judge_run *run, size_t process)
{
    if (!run->kept_first)
        return run->first[process + 1] - run->first[process];
    return run->kept[process].of ? run->kept[process].of->ops : 0;
}

/* Returns when the interval was over, as a part of the run. */
static float at_of(const struct judge_run *run, size_t process, uint32_t i)
{
    return run->kept_first ? (float) judge_kept_at(
                                 run, process, kept_of(run, process, i)->to_us)
                           : run->items[i].at;
}

/* Returns true if the start of the run is over, by time or by the number of
 * operations: some programs have most of them early. */
static bool is_started(const struct judge_run *run, uint32_t process,
                       uint32_t i)
{
    return at_of(run, process, i) > (float) JUDGE_START ||
           number_of(run, process, i) >
               JUDGE_START * (double) count_of(run, process);
}

static uint32_t part_of(float at)
{
    return at >= 1 ? PARTS - 1 : (uint32_t) (at * PARTS);
}

static int by_length(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->us != y->us)
        return x->us > y->us ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

/* Fills the group of all processes with that role, or of all. */
static void fill_group(const struct search *s, uint32_t role, bool all,
                       struct entry *room, struct group *g)
{
    *g = (struct group){.at = room, .known = true};
    for (uint32_t p = 0; p < s->run->p->n; p++) {
        if ((!all && s->run->role[p] != role) || isnan(s->sums[p]))
            continue;
        g->processes++;
        g->known &= s->intervals[p] >= INTERVALS_MIN;
        for (uint32_t k = 0; k < PARTS; k++)
            if (s->longest[p][k] > 0)
                g->at[g->n++] = (struct entry){s->longest[p][k], p, k};
    }
    if (g->n)
        qsort(g->at, g->n, sizeof(*g->at), by_length);
}

/* What is longer than some length. */
struct above {
    size_t n;
    double us, logs; /* what they exceed it by, and its logarithm, in sum */
    double most;
};

/* Returns true if the entry is the first one of parts in a row that are longer
 * than u, and sets *most to the longest of these. */
static bool begins(const struct search *s, const struct entry *e, double u,
                   double *most)
{
    const float *of = s->longest[e->process];

    if (e->part && (double) of[e->part - 1] > u)
        return false;
    *most = 0;
    for (uint32_t k = e->part; k < PARTS && (double) of[k] > u; k++)
        *most = fmax(*most, (double) of[k]);
    return true;
}

/* Sums up what is longer than u: of the process, and of the others. floor_us:
 * the length up to which the others' are not known. If they show nothing above
 * it, they are taken to have as many such ones as the fewest that are looked
 * at: what stops any process may not be in their records. */
static void sum_above(const struct search *s, const struct group *g,
                      uint32_t process, double floor_us, double u,
                      struct above of[2])
{
    double most;

    memset(of, 0, 2 * sizeof(*of));
    for (size_t i = 0; i < g->n && (double) g->at[i].us > u; i++) {
        struct above *a = &of[g->at[i].process != process];

        if (!begins(s, &g->at[i], u, &most))
            continue;
        a->n++;
        a->us += most - u;
        a->logs += u > 0 ? log(most / u) : 0;
        a->most = fmax(a->most, most);
    }
    if (!of[1].n && !(u > floor_us)) {
        double usual = fmax(JUDGE_STALL_US, u);

        of[1] = (struct above){.n = ladder[0],
                               .us = (double) ladder[0] * usual,
                               .most = u + usual};
    }
    of[1].us = fmax(of[1].us, (double) of[1].n * JUDGE_STALL_US);
    of[1].logs = fmax(of[1].logs,
                      u > 0 ? (double) of[1].n * log1p(JUDGE_STALL_US / u) : 0);
}

/* Returns the length that `others` parts of the other processes exceed. 0:
 * there are not so many. */
static double length_at(const struct group *g, uint32_t process, size_t others)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->at[i].process != process && !others--)
            return (double) g->at[i].us;
    return 0;
}

/* Returns true if what the others exceed u by has an exponential tail. */
static bool is_light(const struct above *others, double u)
{
    double n = (double) others->n;

    return !(u > 0) || others->most - u < others->us / n * (log(n) + TAIL_PLUS);
}

/* Returns the chance that one of 1 / q processes has that share, or more, of
 * what exceeds a length, if the others exceed it n times. */
static double chance_of_share(double share, size_t n, double q)
{
    double weight = exp((double) n * log1p(-q)), sum = 0;

    for (uint64_t m = 1; m < 100 * (uint64_t) n; m++) {
        weight *= (double) (m + n - 1) / (double) m * q;
        sum += weight * stats_binomial_tail(n, m + n - 1, 1 - share);
        if (weight < 1e-12 && (double) m > q * (double) n)
            break;
    }
    return fmin(sum, 1);
}

/* Returns the chance of the intervals of a process, and sets *best_us to the
 * length that shows most. */
static double chance_of_process(const struct search *s, const struct group *g,
                                uint32_t process, double *best_us)
{
    double best = 1, tried = 0, floor_us = unknown_up_to(s, process);

    for (int k = 0; k < LADDER; k++) {
        double u = length_at(g, process, ladder[k]), own, others, chance;
        struct above of[2];

        if (!g->known || (!(u > floor_us) && k))
            break;
        u = fmax(u, floor_us);
        sum_above(s, g, process, floor_us, u, of);
        if (!of[1].n)
            continue;
        tried++;
        if (!of[0].n)
            continue;
        own = is_light(&of[1], u) ? of[0].us : of[0].logs;
        others = is_light(&of[1], u) ? of[1].us : of[1].logs;
        chance = chance_of_share(own / (own + others), of[1].n,
                                 1 / (double) g->processes);
        if (chance < best) {
            best = chance;
            *best_us = u;
        }
    }
    return tried > 0 ? fmin(best * tried, 1) : 1;
}

/* Returns the length from which on a single interval is told whatever noise
 * there is. longest: the longest of the other processes. */
static double alone_us(const struct search *s, double longest)
{
    return fmax(JUDGE_FACT * s->worth_us, JUDGE_FACT_OTHERS * longest);
}

/* Returns true if intervals of the process are too long, or too many, for
 * chance, or one is told anyway. *us: the length that shows most. */
static bool stands_out(const struct search *s, const struct group *all,
                       const struct group *role, uint32_t process, double *us)
{
    double longest = 0, role_us = 0, others;

    for (uint32_t k = 0; k < PARTS; k++)
        longest = fmax(longest, (double) s->longest[process][k]);
    others = fmax(length_at(all, process, 0), unknown_up_to(s, process));
    *us = 0;
    if (all->known && longest > alone_us(s, others))
        return true;
    return longest > JUDGE_STALL_US &&
           chance_of_process(s, all, process, us) < all->chance &&
           (role->processes == all->processes ||
            chance_of_process(s, role, process, &role_us) < role->chance);
}

/* Returns from which length on the intervals of a process are stalls: at most
 * OWN of them are as many as the others have, too. */
static double stall_from(const struct search *s, const struct group *g,
                         uint32_t process, double best_us)
{
    double from = best_us, floor_us = unknown_up_to(s, process);
    struct above of[2];

    for (size_t k = 0; k <= MOST_OTHERS; k = k ? 2 * k : 1) {
        double u = length_at(g, process, k);

        if (u < floor_us)
            break;
        sum_above(s, g, process, floor_us, u, of);
        if (u > 0 && of[0].n &&
            (double) of[1].n <=
                OWN * (double) of[0].n * (double) (g->processes - 1))
            from = u;
    }
    return fmax(from, fmax(floor_us, JUDGE_STALL_US));
}

/* Returns true if the process's intervals longer than `from` are few between
 * others, and most of its excess. A long one counts for more than short ones:
 * as many as would have the sum and the sum of squares if they were equal.
 * usual: the median excess of its role. */
static bool are_stalls(const struct search *s, uint32_t process, double from,
                       double usual)
{
    const struct judge_run *run = s->run;
    uint32_t first = UINT32_MAX, last = 0;
    double us = 0, squares = 0, n;
    bool once; /* all within two parts: one wait over several operations */

    for (uint32_t i = first_of(run, process); i < first_of(run, process + 1);
         i++) {
        if (!is_started(run, process, i) || !((double) s->excess[i] > from))
            continue;
        last = number_of(run, process, i);
        first = first == UINT32_MAX ? last : first;
        us += (double) s->excess[i];
        squares += (double) s->excess[i] * (double) s->excess[i];
    }
    n = squares > 0 ? us * us / squares : 0;
    once = PARTS * (uint64_t) (last - first + 1) <= 2 * count_of(run, process);
    return us > s->worth_us && (once || n < JUDGE_RECURS ||
                                (n < JUDGE_DENSE * (last - first + 1) &&
                                 s->sums[process] - usual < 2 * us));
}

/* Marks the intervals of a process that are longer. */
static void mark_stalls(const struct search *s, uint32_t process, double from,
                        bool *stall)
{
    struct judge_process *x = &s->j->processes[process];

    for (uint32_t i = first_of(s->run, process);
         i < first_of(s->run, process + 1); i++) {
        stall[i] = is_started(s->run, process, i) &&
                   (double) s->excess[i] > from;
        if (!stall[i])
            continue;
        x->stalls_us += (double) s->excess[i];
        x->stalls++;
        x->longest_us = fmax(x->longest_us, (double) s->excess[i]);
    }
}

/* Returns the median of the sums of a role. */
static double usual_sum(const struct search *s, uint32_t role)
{
    size_t n = 0;

    for (uint32_t p = 0; p < s->run->p->n; p++)
        if (s->run->role[p] == role && isfinite(s->sums[p]))
            s->scratch[n++] = s->sums[p];
    return n ? stats_median(s->scratch, n) : 0;
}

/* Sets the lengths from which on a single stall, and JUDGE_RECURS equal ones,
 * would be named in the group, if that is longer. */
static void set_least(const struct search *s, const struct group *g)
{
    double once = INFINITY, again = INFINITY;
    double floor_us = unknown_up_to(s, UINT32_MAX);

    for (int k = 0; k < LADDER; k++) {
        double u = length_at(g, UINT32_MAX, ladder[k]), low = 0, high = 1, sum;
        struct above of[2];

        if (!g->known || (!(u > floor_us) && k))
            break;
        u = fmax(u, floor_us);
        sum_above(s, g, UINT32_MAX, floor_us, u, of);
        if (!of[1].n)
            continue;
        for (int i = 0; i < 40; i++) {
            double mid = (low + high) / 2;

            if (LADDER *
                    chance_of_share(mid, of[1].n, 1 / (double) g->processes) >
                g->chance)
                low = mid;
            else
                high = mid;
        }
        sum = high / (1 - high);
        if (is_light(&of[1], u)) {
            once = fmin(once, u + of[1].us * sum);
            again = fmin(again, u + of[1].us * sum / JUDGE_RECURS);
        } else {
            once = fmin(once, u * exp(of[1].logs * sum));
            again = fmin(again, u * exp(of[1].logs * sum / JUDGE_RECURS));
        }
    }
    /* in that time the run may wait for others anyway */
    floor_us = fmax(floor_us, length_at(g, UINT32_MAX, ladder[0]));
    once = fmax(once, s->worth_us + floor_us);
    again = fmax(again, s->worth_us / JUDGE_RECURS + floor_us);
    if (g->known && g->processes)
        once = fmin(once, s->alone_us);
    again = fmin(again, once);
    s->j->stall_once_us = fmax(s->j->stall_once_us, fmax(once, JUDGE_STALL_US));
    s->j->stall_again_us =
        fmax(s->j->stall_again_us, fmax(again, JUDGE_STALL_US));
}

/* Sets the longest excess of each process and part, and the sums. */
static void find_longest(struct search *s)
{
    const struct judge_run *run = s->run;

    for (uint32_t p = 0; p < run->p->n; p++) {
        s->sums[p] = NAN;
        if (run->kept_first && run->kept[p].of) {
            /* what others of the role have, too, is no excess: see usual_sum */
            s->sums[p] = (double) run->kept[p].of->own_us;
            s->intervals[p] = (uint32_t) fmin((double) count_of(run, p), 1e9);
        }
        for (uint32_t i = first_of(run, p); i < first_of(run, p + 1); i++) {
            float *at = &s->longest[p][part_of(at_of(run, p, i))];

            if (!isfinite(s->excess[i]) || !is_started(run, p, i))
                continue;
            *at = fmaxf(*at, s->excess[i]);
            if (run->kept_first)
                continue;
            s->sums[p] = (isnan(s->sums[p]) ? 0 : s->sums[p]) +
                         (double) s->excess[i];
            s->intervals[p]++;
        }
    }
}

/* Looks at the processes of a role. all: the group of all processes. */
static void find_in_role(const struct search *s, const struct group *all,
                         uint32_t role, bool *stall)
{
    double usual = usual_sum(s, role);
    struct group of;

    fill_group(s, role, false, s->entries + all->n, &of);
    if (of.processes < 2)
        return;
    of.chance = JUDGE_CONFIRMED;
    set_least(s, &of);
    for (uint32_t p = 0; p < s->run->p->n; p++) {
        double us;

        if (s->run->role[p] != role || isnan(s->sums[p]))
            continue;
        if (stands_out(s, all, &of, p, &us)) {
            double from = stall_from(s, all, p, us);

            if (are_stalls(s, p, from, usual))
                mark_stalls(s, p, from, stall);
        }
    }
}

int judge_stalls_find(struct judge *j, const struct judge_run *run,
                      const float *excess, double worth_us, bool *stall)
{
    size_t n = run->p->n;
    struct search s = {
        .j = j, .run = run, .excess = excess, .worth_us = worth_us};
    struct group all;
    int rc = -1;

    s.longest = calloc(n + 1, sizeof(*s.longest));
    s.entries = calloc(2 * PARTS * n + 1, sizeof(*s.entries));
    s.sums = calloc(n + 1, sizeof(*s.sums));
    s.intervals = calloc(n + 1, sizeof(*s.intervals));
    s.scratch = calloc(n + 1, sizeof(*s.scratch));
    if (s.longest && s.entries && s.sums && s.intervals && s.scratch) {
        find_floor(&s);
        find_longest(&s);
        fill_group(&s, 0, true, s.entries, &all);
        all.chance = judge_chance(all.processes);
        s.alone_us = alone_us(&s, fmax(all.n ? (double) all.at[0].us : 0,
                                       unknown_up_to(&s, UINT32_MAX)));
        set_least(&s, &all);
        for (uint32_t k = 0; k < run->n_roles; k++)
            find_in_role(&s, &all, k, stall);
        rc = 0;
    }
    free(s.longest);
    free(s.entries);
    free(s.sums);
    free(s.intervals);
    free(s.scratch);
    return rc;
}

/* --- what is told --------------------------------------------------------- */

/* Returns what follows a kept interval. */
static struct judge_place place_of_kept(const struct judge_run *run, size_t p,
                                        uint32_t i)
{
    const struct interval *x = kept_of(run, p, i);
    struct judge_place place = {.func = NULL};

    if (x->series != UINT32_MAX)
        place = run->kept[p].places[x->series];
    /* messages are counted from 1 */
    place.sn = place.numbered || !x->sn ? x->sn : x->sn - 1;
    return place;
}

/* Returns what is before, or at, the item of a process. */
static struct judge_place place_of(const struct judge_run *run, size_t process,
                                   uint32_t item)
{
    const struct judge_key *key;
    uint32_t op;

    if (run->kept_first)
        return place_of_kept(run, process, item);
    op = run->items[item].op;
    key = &run->keys[run->key[op]];
    return (struct judge_place){.comm = key->comm,
                                .func = key->func,
                                .sn = key->low + op - key->base,
                                .numbered = key->numbered};
}

/* Sets after how many operations a stall comes again, if distances are equal;
 * some may be missing. at: numbers of the items. */
static void look_even(const uint32_t *at, double *scratch,
                      struct judge_answer *a)
{
    size_t even = 0, n = a->times;
    double usual;

    if (n < 3)
        return;
    for (size_t i = 0; i + 1 < n; i++)
        scratch[i] = at[i + 1] - at[i];
    usual = stats_median(scratch, n - 1);
    for (size_t i = 0; i + 1 < n; i++) {
        double far = at[i + 1] - at[i], whole = fmax(round(far / usual), 1);

        even += fabs(far - whole * usual) < fmax(JUDGE_EVEN * usual, 1.5) &&
                whole <= 3;
    }
    if (usual > 2 && 10 * even >= 9 * (n - 1)) {
        a->every = usual;
        a->rounds = (double) (at[n - 1] - at[0]) / usual;
    }
}

/* Returns the wait that begins with an interval. */
static struct judge_wait begin_wait(const struct judge_run *run, size_t process,
                                    uint32_t i)
{
    struct judge_wait wait = {.in = place_of(run, process, i)};

    if (run->kept_first) {
        const struct interval *x = kept_of(run, process, i);

        wait.own_us = (double) (x->to_us - x->from_us);
        wait.end_us = x->to_us;
    } else {
        wait.own_us = (double) run->items[i].own_us;
        wait.before = place_of(run, process, i - 1);
    }
    return wait;
}

/* Keeps the intervals of an answer; those in a row are one stall. 0 or -1. */
static int keep_waits(const struct judge_run *run, const float *excess,
                      const bool *stall, size_t most, struct judge_answer *a)
{
    uint32_t last = 0; /* number of the one before, + 1 */
    uint32_t *at = calloc(most + 1, sizeof(*at));
    double *scratch = calloc(most + 1, sizeof(*scratch));
    int rc = -1;

    a->waits = calloc(most + 1, sizeof(*a->waits));
    if (at && scratch && a->waits)
        rc = 0;
    a->times = 0;
    for (uint32_t i = first_of(run, a->process);
         rc == 0 && i < first_of(run, a->process + 1); i++) {
        uint32_t number = number_of(run, a->process, i);
        struct judge_wait *x;

        if (!stall[i])
            continue;
        if (!last || number > last) {
            at[a->times] = number;
            a->waits[a->times++] = begin_wait(run, a->process, i);
        }
        last = number + 1;
        x = &a->waits[a->times - 1];
        x->us += (double) excess[i];
        x->most_us = fmax(x->most_us, (double) excess[i]);
        x->ops++;
        x->last = place_of(run, a->process, i);
    }
    if (rc == 0)
        look_even(at, scratch, a);
    free(at);
    free(scratch);
    return rc;
}

/* Returns true if stalls of the process may not be kept: nothing is that is
 * shorter than all of them and no stall. */
static bool are_there_more(const struct judge_run *run, const bool *stall,
                           size_t process)
{
    uint64_t shortest[2] = {UINT64_MAX, UINT64_MAX}; /* [stall] */

    for (uint32_t i = first_of(run, process); i < first_of(run, process + 1);
         i++) {
        const struct interval *x = kept_of(run, process, i);
        uint64_t us = x->to_us - x->from_us;

        if (us < shortest[stall[i]])
            shortest[stall[i]] = us;
    }
    return run->kept[process].of->least_us && shortest[0] > shortest[1];
}

int judge_stalls_name(struct judge *j, const struct judge_run *run,
                      const float *excess, const bool *stall, const bool *named)
{
    for (size_t p = 0; p < run->p->n; p++) {
        const struct judge_process *x = &j->processes[p];
        struct judge_answer *a;

        if (named[p] || !x->stalls)
            continue;
        a = judge_add(j, run->p, JUDGE_STALL, p);
        if (!a || keep_waits(run, excess, stall, x->stalls, a) < 0)
            return -1;
        a->excess_us = x->stalls_us;
        a->longest_us = x->longest_us;
        a->more = run->kept_first && are_there_more(run, stall, p);
    }
    return 0;
}
