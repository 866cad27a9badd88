/* judge_stall.c - single intervals in which a process makes the others wait. */
#include <math.h>

#include "orchestrator/judge/judge.h"

#define STALL_OTHERS                                                           \
    4.0 /* times the longest interval of any other process;                    \
           twice as many where there are few stalls */
#define STALL_FEW 3

/* Returns the longest excess of a process on an interval, after the start. */
static double longest_of(const struct judge_run *run, const float *excess,
                         size_t p)
{
    double most = 0;

    for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++)
        if (isfinite(excess[i]) && run->items[i].at > (float) JUDGE_START)
            most = fmax(most, (double) excess[i]);
    return most;
}

/* Returns from which excess on an interval of the process is a stall: it is far
 * longer than any of the other processes. of: the process with the longest
 * one; then that, and the longest one of another process. */
static double stall_from(size_t p, size_t of, double first, double second)
{
    return fmax(JUDGE_STALL_US, STALL_OTHERS * (p == of ? second : first));
}

/* Sets *first to the longest excess, *second to that of another process, and
 * returns the process of the first one. */
static size_t find_longest(const struct judge_run *run, const float *excess,
                           double *first, double *second)
{
    size_t of = SIZE_MAX;

    *first = *second = 0;
    for (size_t p = 0; p < run->p->n; p++) {
        double most = longest_of(run, excess, p);

        if (most > *first) {
            *second = *first;
            *first = most;
            of = p;
        } else {
            *second = fmax(*second, most);
        }
    }
    return of;
}

void judge_stalls_find(struct judge *j, const struct judge_run *run,
                       const float *excess, bool *stall)
{
    double first, second;
    size_t of = find_longest(run, excess, &first, &second);

    for (size_t p = 0; p < run->p->n; p++) {
        struct judge_process *x = &j->processes[p];
        double from = stall_from(p, of, first, second);

        for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++) {
            stall[i] = isfinite(excess[i]) && (double) excess[i] > from;
            if (!stall[i] || !(run->items[i].at > (float) JUDGE_START))
                continue;
            x->stalls_us += (double) excess[i];
            x->stalls++;
        }
    }
}

/* Names the process that stalls: only one has intervals that are so much longer
 * than those of all others. */
int judge_stalls_name(struct judge *j, const struct judge_run *run,
                      const float *excess, const bool *stall, double worth_us,
                      const bool *named)
{
    double first, second;
    size_t of = find_longest(run, excess, &first, &second);

    (void) stall;
    for (size_t p = 0; p < run->p->n; p++) {
        const struct judge_process *x = &j->processes[p];
        double longest = longest_of(run, excess, p);
        struct judge_answer *a;

        if (named[p] || !x->judged || !(x->stalls_us > worth_us) ||
            (x->stalls < STALL_FEW &&
             longest < 2 * stall_from(p, of, first, second)))
            continue;
        a = judge_add(j, run->p, JUDGE_STALL, p);
        if (!a)
            return -1;
        a->excess_us = x->stalls_us;
        a->times = x->stalls;
        a->longest_us = longest;
    }
    return 0;
}
