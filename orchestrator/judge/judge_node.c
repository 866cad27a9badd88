/* judge_node.c - whether all processes of a node are late.
 *
 * judge_name_nodes() takes the mean of the processes of each host, measures how
 * hosts differ (measure_hosts), and asks each one (name_node): late in a part
 * of the run or all along, all of its processes alike, and not because they
 * wait for one of them.
 */
#include "orchestrator/judge/judge_work.h"

#include <math.h>
#include <stdlib.h>

#include "common/stats.h"

#define HOSTS_KNOWN 6 /* hosts that show how they differ */

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
    struct shortest *of = judge_find_shortest(w);

    all->led = calloc(w->p->n + 1, sizeof(*all->led));
    for (uint32_t i = 0; of && all->led && i < w->run->n_ops; i++)
        if (!of[i].hosts && judge_is_waited_for(w->run, i, &of[i]))
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
    return stats_student_quantile(judge_chance(w->p->n_hosts),
                                  (unsigned) freedom) *
           within * sqrt(1 / (double) h->n + 1 / others);
}

/* Returns true if a host is late, by `late` on average: more than the means of
 * hosts, or of processes where hosts are few, differ. */
static bool is_host_late(const struct work *w, const struct hosts *all,
                         const struct host *h, double late)
{
    double least = least_of_host(w, h, all->within);

    if (isfinite(all->spread)) {
        double freedom = (double) all->n / 3;
        double sd = judge_moderate(
            w->worth_us, freedom * all->spread * all->spread, &freedom);

        least = fmax(least, stats_student_quantile(judge_chance(all->n),
                                                   (unsigned) freedom) *
                                sd);
    }
    return late - h->out > fmax(least, w->worth_us) &&
           !judge_is_by_net(w->j, h->net / (double) h->n, late);
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
    late = judge_window_find(h->blocks, &all->noise);
    onset = w->j->processes[h->worst].intervals >= JUDGE_KNOWN_INTERVALS &&
            judge_window_stands_out(h->blocks, &late, &all->noise, chance,
                                    w->scratch) &&
            is_host_late(w, all, h, late.late_us) &&
            is_host_alike(w, host, late.late_us, &late) &&
            !is_one_apart(w, host, late.late_us, &late);
    all_along =
        mean > stats_student_quantile(chance, judge_freedom_of(JUDGE_BLOCKS)) *
                   h->t.error &&
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
        judge_window_set(a, &late);
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
    size_t step = judge_window_step(w->p->n);

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
        noise[k] = judge_neighbours(host->blocks);
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

int judge_name_nodes(struct work *w, bool *named)
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
