/* nsys_tables.c - the columns of what exports of Nsight Systems show, and their
 * parts of the files of a report. See report/tables.c.
 *
 * The sums of all ranks are one table in the files and six for readers, one for
 * each kind of name (TABLE_OF). The ranks and the longest gaps have tables of
 * their own. */
#include "orchestrator/nsys/nsys_feature.h"

#include <math.h>
#include <string.h>

#include "orchestrator/report/out.h"
#include "orchestrator/report/tables.h"

/* rows of each kind in summary.txt and in the page */
enum { IN_TEXT = 8, ON_PAGE = 50 };

/* Returns the last part of a path. */
static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* --- names: calls, kernels, copies, ranges -------------------------------- */

/* No rows in any table without exports of nsys. */
static size_t count_sums(const struct jp_report *report)
{
    return nsys_of(report) ? nsys_of(report)->n_rows : 0;
}

/* The rows of all tables, one table after the other. */
static void find_sum(struct jp_row *row)
{
    row->at = &nsys_of(row->report)->rows[row->index];
}

JP_GETTER(sum_table, jp_nsys_row, value_text(v, nsys_table_names[at->table]))
/* all other tables are of times */
JP_GETTER(sum_unit, jp_nsys_row,
          value_text(v, at->table == NSYS_MEM_SIZE ? "bytes" : "ns"))
JP_GETTER(sum_average, jp_nsys_row, value_real(v, nsys_sum_average(&at->sum)))
JP_GETTER(sum_deviation, jp_nsys_row,
          value_real(v, nsys_sum_deviation(&at->sum)))

#define FIELD(member) JP_FIELD(struct jp_nsys_row, member)
/* figures are ns or bytes, by the table; unit names it */
static const struct jp_column sums[] = {
    {"table", JP_COL_WORD, JP_CSV, 1, .help = "kind of the name",
     .words = nsys_table_names, .n_words = NSYS_TABLES, .get = get_sum_table},
    {"name", JP_COL_TEXT, JP_CSV, 2, 9, 6, "Name",
     "of a call, kernel, operation or range", .width = 40, FIELD(name)},
    {"unit", JP_COL_TEXT, JP_CSV, 3, .help = "of the figures behind it",
     .get = get_sum_unit},
    {"share", JP_COL_SHARE, JP_CSV | JP_BAR, 4, 1, 1, "Share",
     "of its table's total", FIELD(share)},
    {"total", JP_COL_COUNT, JP_CSV, 5, 2, 2, "Total",
     "of all events of all ranks", .width = 16, FIELD(sum.total)},
    {"count", JP_COL_COUNT, JP_CSV, 6, 3, 3, "Count", "events", FIELD(sum.n)},
    {"average", JP_COL_NUMBER, JP_CSV, 7, 4, 4, "Average", "of the events",
     .get = get_sum_average},
    {"min", JP_COL_COUNT, JP_CSV, 8, 5, 0, "Least", "event", FIELD(sum.min)},
    {"max", JP_COL_COUNT, JP_CSV, 9, 6, 0, "Most", "event", FIELD(sum.max)},
    {"deviation", JP_COL_NUMBER, JP_CSV | JP_TIP, 10, 7, 0, "Deviation",
     "standard deviation of the events, as of a sample",
     .get = get_sum_deviation},
    {"ranks", JP_COL_COUNT, JP_CSV, 11, .help = "that have the name",
     FIELD(ranks)},
    {"rank_min", JP_COL_COUNT, JP_CSV, 12,
     .help = "the least total of a rank that has it", FIELD(rank_min)},
    {"rank_max", JP_COL_COUNT, JP_CSV, 13,
     .help = "the largest total of a rank", FIELD(rank_max)},
    {"imbalance", JP_COL_NUMBER, JP_CSV | JP_TIP, 14, 8, 5, "Imbalance",
     "the largest total of a rank over the mean of all ranks that were read",
     FIELD(imbalance)},
};
#undef FIELD

const struct jp_table table_nsys_sums = {
    .name = "nsys_sums",
    .json = "nsys.sums",
    .help = "one row per name: calls of CUDA, kernels, copies by time and by "
            "size, NVTX ranges, of all ranks together",
    JP_COLUMNS(sums),
    .count = count_sums,
    .find = find_sum,
    .max_json = 2000,
};

/* The rows of one kind of name, for readers. */
#define TABLE_OF(what, kind, heading)                                          \
    static size_t count_##what(const struct jp_report *report)                 \
    {                                                                          \
        size_t n = 0;                                                          \
                                                                               \
        if (nsys_of(report))                                                   \
            nsys_rows(nsys_of(report), kind, &n);                              \
        return n;                                                              \
    }                                                                          \
    static void find_##what(struct jp_row *row)                                \
    {                                                                          \
        size_t n;                                                              \
                                                                               \
        row->at = nsys_rows(nsys_of(row->report), kind, &n) + row->index;      \
    }                                                                          \
    static const struct jp_table table_##what = {                              \
        .name = "nsys_sums",                                                   \
        JP_COLUMNS(sums),                                                      \
        .count = count_##what,                                                 \
        .find = find_##what,                                                   \
        .max_html = ON_PAGE,                                                   \
        .max_text = IN_TEXT,                                                   \
        .title = heading,                                                      \
    };
TABLE_OF(api, NSYS_API, "CUDA calls, ns")
TABLE_OF(kernels, NSYS_KERNELS, "CUDA kernels, ns")
TABLE_OF(mem_time, NSYS_MEM_TIME, "CUDA memory operations, ns")
TABLE_OF(mem_size, NSYS_MEM_SIZE, "CUDA memory operations, bytes")
TABLE_OF(pushpop, NSYS_PUSHPOP, "NVTX ranges of a thread, ns")
TABLE_OF(startend, NSYS_STARTEND, "NVTX ranges between threads, ns")

/* --- ranks ---------------------------------------------------------------- */

static size_t count_ranks(const struct jp_report *report)
{
    return nsys_of(report) ? nsys_of(report)->n_ranks : 0;
}

static void find_rank(struct jp_row *row)
{
    row->at = &nsys_of(row->report)->ranks[row->index];
}

/* Returns part / whole; NaN if there is nothing to share. */
static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double) part / (double) whole : NAN;
}

JP_GETTER(nrank_rank, jp_nsys_rank, value_signed(v, at->rank))
JP_GETTER(nrank_host, jp_nsys_rank, value_name(v, at->host))
JP_GETTER(nrank_file, jp_nsys_rank, value_text(v, file_name(at->path)))
/* NaN, so unknown, without activity of a GPU */
JP_GETTER(nrank_busy, jp_nsys_rank, value_finite(v, nsys_busy_share(&at->p)))
JP_GETTER(nrank_short, jp_nsys_rank,
          value_finite(v, nsys_short_gap_share(&at->p)))
/* ns to us; unknown for an export that could not be read */
JP_GETTER(nrank_span, jp_nsys_rank,
          value_known(v, !at->bad, at->p.span_ns / 1000))
JP_GETTER(nrank_kernel_us, jp_nsys_rank,
          value_known(v, !at->bad, at->p.kernels.ns / 1000))
JP_GETTER(nrank_nccl, jp_nsys_rank,
          value_finite(v, share(at->p.nccl_kernels.ns, at->p.kernels.ns)))
JP_GETTER(nrank_small, jp_nsys_rank,
          value_finite(v, share(at->p.small_kernels.ns, at->p.kernels.ns)))
JP_GETTER(nrank_latency, jp_nsys_rank,
          value_finite(v, at->p.latency.n
                              ? nsys_sum_average(&at->p.latency) / 1000
                              : NAN))
JP_GETTER(nrank_pageable, jp_nsys_rank,
          value_known(v, !at->bad, at->p.pageable.bytes))
JP_GETTER(nrank_copied, jp_nsys_rank,
          value_known(v, !at->bad, at->p.copies.bytes))
JP_GETTER(nrank_sync, jp_nsys_rank,
          value_known(v, !at->bad, at->p.sync_copies.ns / 1000))
JP_GETTER(nrank_late, jp_nsys_rank,
          value_known(v, !at->bad, at->p.late_allocations.n))
JP_GETTER(nrank_why, jp_nsys_rank, value_name(v, at->why))
JP_GETTER(nrank_schema, jp_nsys_rank, value_name(v, at->p.schema))

#define FIELD(member) JP_FIELD(struct jp_nsys_rank, member)
/* an unreadable export has a row, with bad set and all figures unknown */
static const struct jp_column ranks[] = {
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE | JP_TIP, 1, 1, 1, "Rank",
     "by the file's name", .get = get_nrank_rank},
    {"host", JP_COL_TEXT, JP_CSV | JP_MAYBE, 2, 2, 2, "Host",
     "by the file's name, or the export", .width = 14, .get = get_nrank_host},
    {"file", JP_COL_CODE, JP_CSV, 3, .help = "the export",
     .get = get_nrank_file},
    {"bad", JP_COL_BOOL, JP_CSV, 4, .help = "it could not be read, see why",
     FIELD(bad)},
    {"gpus", JP_COL_COUNT, JP_CSV, 5, 3, 0, "GPUs", "with any activity",
     FIELD(p.devices)},
    {"span_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP, 6, 4, 3, "Time",
     "from the first to the last activity of each of its GPUs, added up",
     .get = get_nrank_span},
    {"busy_share", JP_COL_SHARE, JP_CSV | JP_MAYBE | JP_BAR, 7, 5, 4, "Busy",
     "of that time a GPU ran kernels, copies or memsets",
     .get = get_nrank_busy},
    {"short_gap_share", JP_COL_SHARE, JP_CSV | JP_MAYBE | JP_TIP, 8, 6, 5,
     "Short gaps", "of that time in gaps of less than gpu_short_gap_max",
     .get = get_nrank_short},
    {"gaps", JP_COL_COUNT, JP_CSV, 9, .help = "of any length", FIELD(p.gaps.n)},
    {"kernels", JP_COL_COUNT, JP_CSV, 10, 7, 6, "Kernels", "that ran",
     FIELD(p.kernels.n)},
    {"kernel_us", JP_COL_US, JP_CSV | JP_MAYBE, 11,
     .help = "their times, added up", .get = get_nrank_kernel_us},
    {"small_share", JP_COL_SHARE, JP_CSV | JP_MAYBE | JP_TIP, 12, 8, 0,
     "Small kernels",
     "of the kernels' time, in those below "
     "gpu_small_kernel_max",
     .get = get_nrank_small},
    {"nccl_share", JP_COL_SHARE, JP_CSV | JP_MAYBE | JP_TIP, 13, 9, 7, "NCCL",
     "of the kernels' time, in NCCL's, which include waits for other ranks",
     .get = get_nrank_nccl},
    {"launch_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP | JP_REAL, 14, 10, 8,
     "Launch",
     "mean time from a launch's call to its kernel's start; with a queue it "
     "is long",
     .get = get_nrank_latency},
    {"copied_bytes", JP_COL_BYTES, JP_CSV | JP_MAYBE, 15, 11, 0, "Copied",
     "by copies on GPUs", .get = get_nrank_copied},
    {"pageable_bytes", JP_COL_BYTES, JP_CSV | JP_MAYBE | JP_TIP, 16, 12, 0,
     "Pageable", "of that from or to pageable memory",
     .get = get_nrank_pageable},
    {"sync_copy_us", JP_COL_US, JP_CSV | JP_MAYBE | JP_TIP, 17, 13, 0,
     "In copies", "time of threads in synchronous copies",
     .get = get_nrank_sync},
    {"late_allocations", JP_COL_COUNT, JP_CSV | JP_MAYBE | JP_TIP, 18, 14, 0,
     "Allocations", "calls for memory in the second half of the kernels' time",
     .get = get_nrank_late},
    {"bad_rows", JP_COL_COUNT, JP_CSV, 19, .help = "invalid rows of the export",
     FIELD(p.bad_rows)},
    {"warnings", JP_COL_COUNT, JP_CSV, 20, .help = "nsys' own, and its errors",
     FIELD(p.warnings)},
    {"schema", JP_COL_TEXT, JP_CSV | JP_MAYBE, 21,
     .help = "the export's version", .get = get_nrank_schema},
    {"why", JP_COL_TEXT, JP_CSV | JP_MAYBE, 22, JP_LAST, 0, "Note",
     "why it could not be read, or nsys' first warning", .get = get_nrank_why},
};
#undef FIELD

/* readers see the ranks with the least busy GPUs first */
const struct jp_table table_nsys_ranks = {
    .name = "nsys_ranks",
    .json = "nsys.ranks",
    .help = "one row per export of nsys, usually one per rank",
    JP_COLUMNS(ranks),
    .count = count_ranks,
    .find = find_rank,
    .max_json = 10000,
    .max_html = 200,
    .max_text = 16,
    .by_weight = true,
    .worst = "busy_share",
    .least_first = true,
    .title = "GPUs' time by nsys",
};

/* --- gaps ----------------------------------------------------------------- */

static size_t count_gaps(const struct jp_report *report)
{
    return nsys_of(report) ? nsys_of(report)->n_gaps : 0;
}

static void find_gap(struct jp_row *row)
{
    row->at = &nsys_of(row->report)->gaps[row->index];
}

/* Returns the rank that the row's gap belongs to. */
static const struct jp_nsys_rank *rank_of(const struct jp_row *row)
{
    const struct jp_nsys_gap *gap = row->at;

    return &nsys_of(row->report)->ranks[gap->rank];
}

/* Returns the length of the gap, ns. */
static uint64_t length_of(const struct jp_nsys_gap *gap)
{
    return (uint64_t) (gap->gap.to_ns - gap->gap.from_ns);
}

JP_GETTER(gap_rank, jp_nsys_gap, (void) at; value_signed(v, rank_of(row)->rank))
JP_GETTER(gap_host, jp_nsys_gap, (void) at; value_name(v, rank_of(row)->host))
JP_GETTER(gap_file, jp_nsys_gap, (void) at;
          value_text(v, file_name(rank_of(row)->path)))
JP_GETTER(gap_length, jp_nsys_gap, value_real(v, (double) length_of(at) / 1000))
JP_GETTER(gap_from, jp_nsys_gap, value_real(v, (double) at->gap.from_ns / 1000))
JP_GETTER(gap_call, jp_nsys_gap, value_name(v, at->gap.call))
JP_GETTER(gap_share, jp_nsys_gap,
          value_real(v, share(at->gap.call_ns, length_of(at))))

#define FIELD(member) JP_FIELD(struct jp_nsys_gap, member)
/* call is the CUDA call of the process during the gap: what the GPU waited for
 */
static const struct jp_column gaps[] = {
    {"rank", JP_COL_RANK, JP_CSV | JP_MAYBE, 1, 1, 1, "Rank",
     "by the file's name", .get = get_gap_rank},
    {"host", JP_COL_TEXT, JP_CSV | JP_MAYBE, 2, 2, 2, "Host", "of the rank",
     .width = 14, .get = get_gap_host},
    {"file", JP_COL_CODE, JP_CSV, 3, .help = "the export", .get = get_gap_file},
    {"gpu", JP_COL_RANK, JP_CSV, 4, 3, 3, "GPU",
     "in the numbering of the process", FIELD(gap.device)},
    {"from_us", JP_COL_NUMBER, JP_CSV | JP_TIP, 5, 4, 4, "From, us",
     "in the session of nsys", .width = 14, .get = get_gap_from},
    {"length_us", JP_COL_US, JP_CSV | JP_REAL, 6, 5, 5, "Length",
     "without any activity of the GPU", .get = get_gap_length},
    {"call", JP_COL_TEXT, JP_CSV | JP_MAYBE | JP_TIP, 7, 6, 6, "Meanwhile",
     "the call into CUDA that took most of it; none: the program was "
     "elsewhere",
     .none = "no call into CUDA", .width = 24, .get = get_gap_call},
    {"call_share", JP_COL_SHARE, JP_CSV, 8, 7, 7, "Share",
     "of the gap in that call", .get = get_gap_share},
};
#undef FIELD

const struct jp_table table_nsys_gaps = {
    .name = "nsys_gaps",
    .json = "nsys.gaps",
    .help = "one row per gap in a GPU's work: the longest gaps of each rank",
    JP_COLUMNS(gaps),
    .count = count_gaps,
    .find = find_gap,
    .max_json = 200,
    .max_html = 50,
    .max_text = 5,
    .title = "Longest gaps of GPUs",
};

/* --- all of it ------------------------------------------------------------ */

const struct jp_table *const tables_nsys[] = {
    &table_nsys_sums, &table_nsys_ranks, &table_nsys_gaps, NULL};

void nsys_report_json(struct jp_json_stream *s, const char *key,
                      const struct jp_report *report)
{
    const struct jp_nsys *nsys = nsys_of(report);
    char text[JP_NSYS_TEXT];

    json_stream_object(s, key);
    /* {} without exports */
    if (nsys) {
        json_stream_text(s, "text", nsys_text(nsys, text));
        json_stream_count(s, "files", nsys->n_ranks + nsys->skipped);
        json_stream_count(s, "bad_files", nsys->n_bad);
        json_stream_count(s, "unread_files", nsys->skipped);
        json_stream_count(s, "unexported", nsys->unexported);
        tables_json(s, tables_nsys, report, 0);
    }
    json_stream_end_object(s);
}

/* What readers see: first what ran, by kind of name, then ranks and gaps. */
static const struct jp_table *const tables_shown[] = {
    [NSYS_API] = &table_api,
    [NSYS_KERNELS] = &table_kernels,
    [NSYS_MEM_TIME] = &table_mem_time,
    [NSYS_MEM_SIZE] = &table_mem_size,
    [NSYS_PUSHPOP] = &table_pushpop,
    [NSYS_STARTEND] = &table_startend,
    [NSYS_TABLES] = &table_nsys_ranks,
    &table_nsys_gaps,
    NULL,
};

int nsys_report_text(const struct jp_report *report, FILE *out)
{
    return tables_text(tables_shown, report, out);
}

/* Writes the sentence, and the tables that have rows. */
static int put_html(const struct jp_report *report, FILE *out)
{
    char text[JP_NSYS_TEXT];

    fputs("<p>", out);
    html_out_text(out, nsys_text(nsys_of(report), text));
    fputs(".</p>\n", out);
    return tables_html(tables_shown, report, out);
}

/* "4 ranks" */
static bool put_figure(const struct jp_report *report, char *buf)
{
    char text[JP_NSYS_TEXT];

    nsys_text(nsys_of(report), text);
    snprintf(buf, DRAWER_FIGURE, "%.*s", (int) strcspn(text, ",;"), text);
    return true;
}

const struct jp_html_section nsys_sections[] = {
    {.id = "nsys",
     .title = "GPUs by Nsight Systems",
     .note = "What calls of CUDA, kernels, copies and NVTX ranges of the "
             "profiled ranks add up to; csv/nsys_sums.csv, nsys_ranks.csv and "
             "nsys_gaps.csv have all rows.",
     .kind = JP_HTML_WIDE,
     .put = put_html,
     .figure = put_figure,
     .before = "operations",
     .order = 3},
    {.id = NULL},
};
