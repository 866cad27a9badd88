/* follows.c - habits of kinds of operations, learnt from their times. */
#include "orchestrator/identity/follows.h"

#include <math.h>
#include <stdlib.h>

#include "common/stats.h"
#include "common/vector.h"

enum {
    /* operations from which the usual times are learnt: the first ones */
    SAMPLE = 1 << 19,
    OF_EACH = 64, /* least number per process */
    LEAST = 5     /* least number per kind */
};

/* An operation follows the start of the one before if its time after that start
 * varies less than STEADIER times as much as its time after the end: after the
 * end it also varies by the waits in between. */
#define STEADIER 0.85
/* Operations that follow the end of the one before never wait in line. Where a
 * tenth do, they follow the start unless the time after the end is as much
 * steadier. */
#define LINED 0.1
/* median deviations that are unlikely by chance (2.7 sigma) */
#define UNUSUAL 4
#define FREE_US 50 /* an operation this late did not wait in line */

/* Of operations in which most members waited in line, in how many somebody did
 * not: he was the last one, for whom the others waited. */
#define AHEAD 0.5

/* Where hashes of kinds start: the same in each process, as what is said of a
 * run must not depend on chance. */
#define KIND_START UINT64_C(0x3C6EF372FE94F82B)

/* --- operations in flight ------------------------------------------------- */

void follows_land(struct follows_flight *f, uint64_t at_us)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < f->n; i++) {
        if (f->open[i].end_us > at_us + FOLLOWS_NEAR_US &&
            f->n < FOLLOWS_OPEN) {
            f->open[kept++] = f->open[i];
        } else if (f->ended == FOLLOWS_NONE ||
                   f->open[i].end_us >= f->ended_us) {
            f->ended = f->open[i].operation;
            f->ended_us = f->open[i].end_us;
        }
    }
    f->n = kept;
}

void follows_take_off(struct follows_flight *f, uint32_t operation,
                      uint64_t end_us)
{
    follows_land(f, 0);
    f->open[f->n].operation = operation;
    f->open[f->n++].end_us = end_us;
}

/* --- habits --------------------------------------------------------------- */

struct follows_lag follows_lag_of(const struct follows_moment *operation,
                                  const struct follows_moment *before,
                                  uint64_t two, uint32_t members)
{
    uint64_t own = hash_word(KIND_START, operation->what);

    return (struct follows_lag){
        .kind = hash_word(hash_word(own, before->what), two),
        .members = members,
        .us = {[FOLLOWS_END] = operation->start_us - before->end_us,
               [FOLLOWS_START] = operation->start_us - before->start_us}};
}

struct follows_lag follows_lag_between(struct follows_lag lag, uint64_t other,
                                       double ended_us)
{
    lag.kind = hash_word(lag.kind, other);
    lag.us[FOLLOWS_END] = ended_us;
    return lag;
}

void follows_fini(struct follows *f)
{
    free(f->at);
    hash_fini(&f->table);
}

size_t follows_most(size_t processes, size_t n)
{
    size_t most = SAMPLE / processes + OF_EACH;

    return n < most ? n : most;
}

static struct follows_habit *find_habit(const struct follows *f, uint64_t kind)
{
    uint64_t hash = hash_word(hash_start(), kind);
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&f->table, hash, &i)) != HASH_NONE;)
        if (f->at[at].kind == kind)
            return &f->at[at];
    return NULL;
}

const struct follows_habit *follows_find(const struct follows *f, uint64_t kind)
{
    return find_habit(f, kind);
}

/* Returns the habit of a kind, which is added if needed. NULL: no memory. */
static struct follows_habit *habit_get(struct follows *f, uint64_t kind)
{
    struct follows_habit *habit = find_habit(f, kind);

    if (habit)
        return habit;
    habit = VECTOR_ADD(f->at, f->n, f->room);
    if (!habit || hash_add(&f->table, hash_word(hash_start(), kind),
                           (uint32_t) f->n - 1) < 0)
        return NULL;
    habit->kind = kind;
    return habit;
}

static int by_kind(const void *a, const void *b)
{
    const struct follows_lag *x = a, *y = b;

    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Returns the median absolute deviation of n values. */
static double deviation(double *v, size_t n, double *median)
{
    *median = stats_median(v, n);
    for (size_t i = 0; i < n; i++)
        v[i] = fabs(v[i] - *median);
    return stats_median(v, n);
}

/* Adds one process's lags of one kind. */
static void add_lags(struct follows_habit *to, const struct follows_lag *lags,
                     size_t n, double *scratch)
{
    double weight = (double) n, median[FOLLOWS_N], off[FOLLOWS_N];
    double waited = 0, ahead = 0;

    for (unsigned of = 0; of < FOLLOWS_N; of++) {
        for (size_t i = 0; i < n; i++)
            scratch[i] = lags[i].us[of];
        off[of] = deviation(scratch, n, &median[of]);
    }
    for (size_t i = 0; i < n; i++) {
        waited += lags[i].us[FOLLOWS_END] <= FOLLOWS_QUEUED_US;
        ahead += lags[i].us[FOLLOWS_END] > FREE_US;
    }
    for (unsigned of = 0; of < FOLLOWS_N; of++)
        if (!(to->n > 0) || median[of] < to->usual_us[of])
            to->usual_us[of] = median[of];
    to->n += weight;
    to->start_off += weight * off[FOLLOWS_START];
    /* what waits in line varies like what it waits for, so it says nothing */
    if (median[FOLLOWS_END] <= FOLLOWS_QUEUED_US) {
        to->queued += weight;
        to->ops += weight / lags->members;
        to->ahead += ahead;
        return;
    }
    to->steady += weight;
    to->free += median[FOLLOWS_END] > FREE_US ? weight : 0;
    to->lined += waited;
    for (unsigned of = 0; of < FOLLOWS_N; of++)
        to->off[of] += weight * off[of];
}

int follows_learn(struct follows *f, struct follows_lag *lags, size_t n)
{
    double *scratch = calloc(n + 1, sizeof(*scratch));
    size_t end;

    if (!scratch)
        return -1;
    if (n)
        qsort(lags, n, sizeof(*lags), by_kind);
    for (size_t i = 0; i < n; i = end) {
        struct follows_habit *habit;

        for (end = i + 1; end < n && lags[end].kind == lags[i].kind; end++)
            ;
        if (end - i < LEAST)
            continue;
        habit = habit_get(f, lags[i].kind);
        if (!habit) {
            free(scratch);
            return -1;
        }
        add_lags(habit, lags + i, end - i, scratch);
    }
    free(scratch);
    return 0;
}

/* Returns true if the time after the start of the one before is steadier, by
 * more than the resolution of the times. */
static bool is_start_steadier(const struct follows_habit *h)
{
    double steadier = h->lined > LINED * h->steady ? 1 / STEADIER : STEADIER;

    return h->off[FOLLOWS_START] < steadier * h->off[FOLLOWS_END] &&
           h->off[FOLLOWS_END] > h->steady * FOLLOWS_QUEUED_US;
}

/* The start: if the time after it is steadier; or if most wait in line (their
 * own time is hidden by the wait), but some do not. */
bool follows_start(const struct follows_habit *h)
{
    return is_start_steadier(h) ||
           (h->queued >= h->free && (h->free > 0 || h->ahead > AHEAD * h->ops));
}

bool follows_what_ended(const struct follows_habit *between)
{
    return between && between->steady > 0 && !is_start_steadier(between);
}

bool follows_anew(const struct follows_habit *h, const double us[FOLLOWS_N])
{
    double usual = h->usual_us[FOLLOWS_START];
    double most = usual + FOLLOWS_QUEUED_US + UNUSUAL * h->start_off / h->n;

    /* where most wait in line, those that do not are late, or begin anew */
    if (h->steady > 0 && h->queued > h->steady && us[FOLLOWS_END] > usual / 2)
        return us[FOLLOWS_START] > most;
    return us[FOLLOWS_END] > most;
}

bool follows_beside(const struct follows_habit *h, double before_us,
                    double after_us)
{
    double usual = h->usual_us[FOLLOWS_END];
    double off = h->steady > 0 ? h->off[FOLLOWS_END] / h->steady : 0;

    return after_us < usual - UNUSUAL * off &&
           fabs(before_us - usual) < fabs(after_us - usual);
}
