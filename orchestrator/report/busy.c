/* busy.c - shares of busy time, and what is said of them. */
#include "orchestrator/report/busy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/sorted.h"
#include "orchestrator/insight/sentence.h"

#define LITTLE_LOST 0.99 /* of the records: with fewer, a share is a bound */

double busy_share(const struct jp_busy *b)
{
    return b->state == JP_BUSY_TOLD && b->to_us > b->from_us
               ? (double) b->busy_us / (double) (b->to_us - b->from_us)
               : NAN;
}

double busy_slice_share(const struct jp_result *r, const struct jp_busy *b,
                        size_t slice)
{
    uint64_t from = r->busy_from_us + slice * r->busy_slice_us;
    uint64_t to = from + r->busy_slice_us;

    if (b->state != JP_BUSY_TOLD)
        return NAN;
    from = from > b->from_us ? from : b->from_us;
    to = to < b->to_us ? to : b->to_us;
    return from < to ? (double) b->slice_us[slice] / (double) (to - from) : NAN;
}

struct jp_busy_spread busy_spread(const struct jp_result *r,
                                  const struct jp_busy_rows *rows, size_t slice,
                                  double *values)
{
    struct jp_busy_spread s = {0, NAN, NAN, NAN};

    for (size_t i = 0; i < rows->n_told; i++) {
        const struct jp_busy *b = &r->busy[rows->told[i]];
        double share = slice == SIZE_MAX ? busy_share(b)
                                         : busy_slice_share(r, b, slice);

        if (!isnan(share))
            values[s.n++] = share;
    }
    if (!s.n)
        return s;
    qsort(values, s.n, sizeof(*values), sorted_ascending);
    s.least = values[0];
    s.most = values[s.n - 1];
    s.median = sorted_median(values, s.n);
    return s;
}

/* ------------------------------------------------------------------- rows */

static int64_t find_rank(const struct jp_processes *processes,
                         const struct jp_busy *b)
{
    const struct jp_process *process =
        processes_find(processes, b->host, b->pid);

    return process ? process->world_rank : -1;
}

/* A place with what it is sorted by. */
struct place {
    double key;
    size_t at;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_places(struct place *places, size_t n, size_t *into)
{
    if (n)
        qsort(places, n, sizeof(*places), by_key);
    for (size_t i = 0; i < n; i++)
        into[i] = places[i].at;
}

static void fill(const struct jp_result *r,
                 const struct jp_processes *processes,
                 struct jp_busy_rows *rows, struct place *places)
{
    for (size_t i = 0; i < r->n_busy; i++) {
        int64_t rank = rows->rank[i] = find_rank(processes, &r->busy[i]);

        places[i] = (struct place){rank < 0 ? INFINITY : (double) rank, i};
    }
    sort_places(places, r->n_busy, rows->by_rank);
    for (size_t i = 0; i < r->n_busy; i++)
        if (!isnan(busy_share(&r->busy[i])))
            places[rows->n_told++] = (struct place){busy_share(&r->busy[i]), i};
    sort_places(places, rows->n_told, rows->told);
}

int busy_rows_make(const struct jp_result *r,
                   const struct jp_processes *processes,
                   struct jp_busy_rows *rows)
{
    struct place *places = calloc(r->n_busy + 1, sizeof(*places));

    *rows = (struct jp_busy_rows){0};
    rows->rank = calloc(r->n_busy + 1, sizeof(*rows->rank));
    rows->by_rank = calloc(r->n_busy + 1, sizeof(*rows->by_rank));
    rows->told = calloc(r->n_busy + 1, sizeof(*rows->told));
    if (places && rows->rank && rows->by_rank && rows->told)
        fill(r, processes, rows, places);
    else
        busy_rows_fini(rows);
    free(places);
    return rows->told ? 0 : -1;
}

void busy_rows_fini(struct jp_busy_rows *rows)
{
    free(rows->rank);
    free(rows->by_rank);
    free(rows->told);
    *rows = (struct jp_busy_rows){0};
}

/* ------------------------------------------------------------------ words */

const char *busy_why(const struct jp_busy *b)
{
    switch (b->state) {
    case JP_BUSY_UNTIMED:
        return "more than one record in 100 has no start and end";
    case JP_BUSY_MIXED:
        return "its file holds records of other processes";
    case JP_BUSY_SEVERAL:
        return "several files hold its records";
    case JP_BUSY_ORDER:
        return "records came too far out of order";
    default:
        return b->to_us > b->from_us ? NULL : "no time passed";
    }
}

static void put_silent(const struct jp_result *r, struct jp_sentence *s)
{
    if (r->quality.traces && !r->n_busy)
        sentence_add(s, "not told: the example plugin's traces have no clock "
                        "in common with others");
    else if (r->busy_silent)
        sentence_add(s,
                     "not told by %s file%s without the starts and ends of "
                     "operations (NCCL Inspector gives them with verbose=1, "
                     "the recorder always)",
                     FIG_COUNT(r->busy_silent), plural(r->busy_silent));
    else if (!r->n_busy)
        sentence_add(s, "not told: there are no records");
}

void busy_text(const struct jp_result *r, const struct jp_busy_rows *rows,
               double coverage, char text[JP_BUSY_TEXT])
{
    bool bound = coverage >= 0 && coverage < LITTLE_LOST;
    struct jp_sentence s;

    sentence_init(&s, text, JP_BUSY_TEXT);
    if (rows->n_told) {
        const struct jp_busy *low = &r->busy[rows->told[0]];
        const struct jp_busy *high = &r->busy[rows->told[rows->n_told - 1]];
        size_t n = rows->n_told;
        double middle = (busy_share(&r->busy[rows->told[(n - 1) / 2]]) +
                         busy_share(&r->busy[rows->told[n / 2]])) /
                        2;

        sentence_add(&s,
                     "%s%s to %s of wall time, median %s, over %s process%s",
                     bound ? "at least " : "", FIG_SHARE(busy_share(low)),
                     FIG_SHARE(busy_share(high)), FIG_SHARE(middle),
                     FIG_COUNT(n), n == 1 ? "" : "es");
        if (bound)
            sentence_add(&s, "records are missing");
    }
    if (r->n_busy > rows->n_told) {
        size_t i = 0;

        while (!busy_why(&r->busy[i]))
            i++;
        sentence_add(&s, "not told of %s process%s: %s",
                     FIG_COUNT(r->n_busy - rows->n_told),
                     r->n_busy - rows->n_told == 1 ? "" : "es",
                     busy_why(&r->busy[i]));
    }
    put_silent(r, &s);
}
