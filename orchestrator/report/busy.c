/* busy.c - how busy processes and nodes were: figures, a sentence, tables.
 *
 * The share of a process is the time with at least one operation in flight, of
 * the time from its first start to its last end. It is NaN if the records do
 * not allow it; busy_why gives the reason. */
#include "orchestrator/report/busy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/sorted.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/report/tables.h"

/* --- shares of busy time ------------------------------------------------- */

/* share of the records: with fewer, a share of busy time is only a bound */
#define LITTLE_LOST 0.99

/* Returns the process's share over the run; NaN if it is unknown. */
static double busy_share(const struct jp_busy *b)
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
    /* only the part of the slice in which the process ran */
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
        /* SIZE_MAX: over the whole run */
        double share = slice == SIZE_MAX ? busy_share(b)
                                         : busy_slice_share(r, b, slice);

        if (!isnan(share))
            values[s.n++] = share;
    }
    if (!s.n)
        return s;
    qsort(values, s.n, sizeof(*values), sorted_ascending);
    /* sorted, so the ends are the extremes */
    s.least = values[0];
    s.most = values[s.n - 1];
    s.median = sorted_median(values, s.n);
    return s;
}

/* --- which process has which rank ---------------------------------------- */

/* Returns the process's rank in the job; -1 if it has none. */
static int64_t find_rank(const struct jp_processes *processes,
                         const struct jp_busy *b)
{
    const struct jp_process *process =
        processes_find(processes, b->host, b->pid, b->instance);

    return process ? process->world_rank : -1;
}

/* An index and its sort key. Equal keys keep the order of the indices. */
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

/* Writes the indices to `into`, sorted by their keys. */
static void sort_places(struct place *places, size_t n, size_t *into)
{
    if (n)
        qsort(places, n, sizeof(*places), by_key);
    for (size_t i = 0; i < n; i++)
        into[i] = places[i].at;
}

/* Fills the lists of *rows, which have room. places: scratch. */
static void fill_rows(const struct jp_result *r,
                      const struct jp_processes *processes,
                      struct jp_busy_rows *rows, struct place *places)
{
    for (size_t i = 0; i < r->n_busy; i++) {
        int64_t rank = rows->rank[i] = find_rank(processes, &r->busy[i]);

        /* without a rank: at the end */
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
    /* told is also the sign of success: busy_rows_fini clears it */
    if (places && rows->rank && rows->by_rank && rows->told)
        fill_rows(r, processes, rows, places);
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

/* --- sentences ----------------------------------------------------------- */

/* Returns why a process's share is unknown; NULL if it is known. */
static const char *busy_why(const struct jp_busy *b)
{
    switch (b->state) {
    case JP_BUSY_UNTIMED:
        return "more than one record in 100 has no start and end";
    case JP_BUSY_MIXED:
        return "its file holds records of other processes";
    case JP_BUSY_SEVERAL:
        return "several files hold its records";
    case JP_BUSY_ORDER:
        return "records are too far out of order";
    default:
        return b->to_us > b->from_us ? NULL : "no time passed";
    }
}

/* Adds why files or traces give no share at all. */
static void put_silent(const struct jp_result *r, struct jp_sentence *s)
{
    if (r->quality.traces && !r->n_busy)
        sentence_add(s, "unknown: the clocks of the example plugin's traces "
                        "cannot be compared");
    else if (r->busy_silent)
        sentence_add(s,
                     "unknown for %s file%s without the starts and ends of "
                     "operations (NCCL Inspector gives them with verbose=1, "
                     "the recorder always)",
                     FIG_COUNT(r->busy_silent), plural(r->busy_silent));
    else if (!r->n_busy)
        sentence_add(s, "unknown: there are no records");
}

void busy_text(const struct jp_result *r, const struct jp_busy_rows *rows,
               double coverage, char text[JP_BUSY_TEXT])
{
    /* missing records can only make a share smaller */
    bool bound = coverage >= 0 && coverage < LITTLE_LOST;
    struct jp_sentence s;

    sentence_init(&s, text, JP_BUSY_TEXT);
    /* first what is known, then how much is unknown and why */
    if (rows->n_told) {
        const struct jp_busy *low = &r->busy[rows->told[0]];
        const struct jp_busy *high = &r->busy[rows->told[rows->n_told - 1]];
        size_t n = rows->n_told;
        /* told[] is sorted, so the median is in its middle */
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

        /* one reason, that of the first process, stands for all */
        while (!busy_why(&r->busy[i]))
            i++;
        sentence_add(&s, "unknown for %s process%s: %s",
                     FIG_COUNT(r->n_busy - rows->n_told),
                     r->n_busy - rows->n_told == 1 ? "" : "es",
                     busy_why(&r->busy[i]));
    }
    put_silent(r, &s);
}

/* --- table of processes; extra is a struct jp_busy_rows ------------------ */

static size_t count_busy(const struct jp_report *report)
{
    return report->result ? report->result->n_busy : 0;
}

/* The table's rows are sorted by rank; busy[] is not. */
static void find_busy(struct jp_row *row)
{
    const struct jp_busy_rows *rows = row->extra;

    row->at = &row->result->busy[rows->by_rank[row->index]];
}

static void get_busy_rank(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_busy_rows *rows = row->extra;

    value_signed(v, rows->rank[rows->by_rank[row->index]]);
}

JP_GETTER(busy_pid, jp_busy, v->type = JP_VALUE_INT; v->number = at->pid;
          if (at->pid < 0) v->type = JP_VALUE_UNKNOWN)
/* the times are unknown together with the share */
JP_GETTER(busy_from, jp_busy, value_known(v, !busy_why(at), at->from_us))
JP_GETTER(busy_to, jp_busy, value_known(v, !busy_why(at), at->to_us))
JP_GETTER(busy_time, jp_busy,
          value_known(v, !busy_why(at), at->to_us - at->from_us))
JP_GETTER(busy_busy, jp_busy, value_known(v, !busy_why(at), at->busy_us))
JP_GETTER(busy_share, jp_busy, value_finite(v, busy_share(at)))
JP_GETTER(busy_why, jp_busy, value_text(v, busy_why(at)))

/* The page shows the reason in place of the share. */
static void get_busy_share_or_why(const struct jp_row *row, struct jp_value *v)
{
    get_busy_share(row, v);
    if (v->type == JP_VALUE_UNKNOWN)
        get_busy_why(row, v);
}

#define FIELD(member) JP_FIELD(struct jp_busy, member)
/* a row per process, also if its share is unknown: why has the reason */
static const struct jp_column busy[] = {
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE | JP_TIP, 1, 1, 0, "Rank",
     "in the job, where it is known", .get = get_busy_rank},
    {"host", JP_COL_TEXT, JP_CSV, 2, 2, 0, "Host", "on which it ran",
     FIELD(host)},
    {"pid", JP_COL_PID, JP_CSV | JP_MAYBE | JP_TIP | JP_LOWEST, 3, 3, 0,
     "Process", "process id on the host", .get = get_busy_pid},
    {"timed", JP_COL_COUNT, JP_CSV | JP_TIP, 4, 4, 0, "Operations",
     "records with start and end, Send and Recv among them", FIELD(timed)},
    {"untimed", JP_COL_COUNT, JP_CSV, 5, .help = "records without start or end",
     FIELD(untimed)},
    {"from_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE, 6, .help = "first start",
     .get = get_busy_from},
    {"to_us", JP_COL_CLOCK, JP_CSV | JP_MAYBE, 7, .help = "last end",
     .get = get_busy_to},
    {"busy_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP, 8, 6, 0, "Busy",
     "at least one operation was in flight", .get = get_busy_busy},
    {"share", JP_COL_SHARE, JP_CSV | JP_MAYBE, 9,
     .help = "busy_us of the time from from_us to to_us",
     .get = get_busy_share},
    {"why", JP_COL_TEXT, JP_CSV | JP_MAYBE, 10,
     .help = "why the share is unknown", .get = get_busy_why},
    {"time", JP_COL_US, JP_TIP | JP_MAYBE, 0, 5, 0, "Time",
     "from the first start to the last end", .get = get_busy_time},
    {"share", JP_COL_SHARE, JP_TIP | JP_BAR, 0, 7, 0, "Share",
     "busy of that time", .get = get_busy_share_or_why},
};
#undef FIELD
const struct jp_table table_busy = {
    .name = "busy",
    .json = "rows",
    .help = "a row a process",
    JP_COLUMNS(busy),
    .count = count_busy,
    .find = find_busy,
    .max_json = 10000,
    .max_html = 200,
};

/* --- table of slices of time; extra is a struct jp_busy_rows ------------- */

/* A row per slice and process, slice by slice. */
static size_t count_busy_windows(const struct jp_report *report)
{
    return report->result
               ? report->result->n_busy_slices * report->result->n_busy
               : 0;
}

/* Returns the slice of a row. */
static size_t slice_of(const struct jp_row *row)
{
    return row->index / row->result->n_busy;
}

/* Sets at to NULL for a slice in which the process did not run: no row. */
static void find_busy_window(struct jp_row *row)
{
    const struct jp_busy_rows *rows = row->extra;
    const struct jp_busy *b =
        &row->result->busy[rows->by_rank[row->index % row->result->n_busy]];

    row->at = isnan(busy_slice_share(row->result, b, slice_of(row))) ? NULL : b;
}

/* The start of the row's slice, plus `slices` slices. */
static void value_slice_end(const struct jp_row *row, size_t slices,
                            struct jp_value *v)
{
    const struct jp_result *r = row->result;

    value_count(v,
                r->busy_from_us + (slice_of(row) + slices) * r->busy_slice_us);
}

static void get_slice_rank(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_busy_rows *rows = row->extra;

    value_signed(v,
                 rows->rank[rows->by_rank[row->index % row->result->n_busy]]);
}

/* the bounds of the slice; the process may have run in a part of it */
JP_GETTER(slice_from, jp_busy, (void) at; value_slice_end(row, 0, v))
JP_GETTER(slice_to, jp_busy, (void) at; value_slice_end(row, 1, v))
JP_GETTER(slice_busy, jp_busy, value_count(v, at->slice_us[slice_of(row)]))
JP_GETTER(slice_share, jp_busy,
          value_finite(v, busy_slice_share(row->result, at, slice_of(row))))

/* a row per process and slice */
static const struct jp_column busy_windows[] = {
    {"t0_us", JP_COL_CLOCK, JP_CSV, .help = "begin of the slice",
     .get = get_slice_from},
    {"t1_us", JP_COL_CLOCK, JP_CSV, .help = "its end", .get = get_slice_to},
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE,
     .help = "in the job, where it is known", .get = get_slice_rank},
    {"host", JP_COL_TEXT, JP_CSV, .help = "on which it ran",
     JP_FIELD(struct jp_busy, host)},
    {"pid", JP_COL_PID, JP_CSV | JP_MAYBE, .help = "process id on the host",
     .get = get_busy_pid},
    {"busy_us", JP_COL_US, JP_CSV,
     .help = "at least one operation was in flight", .get = get_slice_busy},
    {"share", JP_COL_SHARE, JP_CSV,
     .help = "of the part of the slice between from_us and to_us",
     .get = get_slice_share},
};
const struct jp_table table_busy_windows = {
    .name = "busy_windows",
    .help = "one row per process and slice of time: at most 200 slices of "
            "equal length",
    JP_COLUMNS(busy_windows),
    .count = count_busy_windows,
    .find = find_busy_window,
};
