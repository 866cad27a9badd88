/* quality.c - figures about the data itself, and their section of the page.
 *
 * quality_items is the table of these figures; summary.json, quality.csv,
 * summary.txt and the page read it. A getter returns false if the figure is
 * unknown, which is not the same as 0. */
#include "orchestrator/report/sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/report/out.h"

/* Returns true if the processes lived long enough on average for a share of
 * their time to mean something (REPORT_LIMIT_OVERHEAD, us). */
static bool is_long(const struct jp_overhead *o)
{
    return o->wall_ns >= report_limits[REPORT_LIMIT_OVERHEAD].value * 1e3 *
                             (double) o->recordings;
}

double quality_overhead_share(const struct jp_overhead *o)
{
    return o->wall_ns > 0 && is_long(o)
               ? (o->callbacks_ns + o->life_ns) / o->wall_ns
               : NAN;
}

/* Adds the absolute times, which are valid for a run of any length. */
static void add_parts(const struct jp_overhead *o, struct jp_sentence *s)
{
    char each[40] = "";

    /* one of many is timed: in a short run it may be none */
    if (o->callbacks_ns > 0 && o->events)
        snprintf(each, sizeof(each), " of %.0f ns",
                 o->callbacks_ns / (double) o->events);
    else if (o->events)
        snprintf(each, sizeof(each), ", of which none was timed");
    sentence_add(s, "%s callbacks%s, and %s in init and finalize",
                 FIG_COUNT(o->events), each, FIG_US(o->life_ns / 1e3));
}

char *quality_overhead_percent(double share, char buf[JP_FIGURE_LEN])
{
    /* from 99.5 % on, %.2g would print an exponent */
    snprintf(buf, JP_FIGURE_LEN, share < 0.995 ? "%.2g %%" : "%.0f %%",
             100 * share);
    return buf;
}

/* Returns why the recorder's cost is unknown, by the kind of the input. */
static const char *who_does_not(const struct jp_quality *q)
{
    return q->recordings ? "unknown: the recordings are from an older release"
           : q->traces   ? "unknown: the example plugin does not measure it"
           : q->kernel_traces ? "unknown: traces of kernels do not contain it"
           : q->files ? "unknown: NCCL Inspector's logs do not contain it"
                      : "unknown: no data";
}

void quality_overhead_text(const struct jp_quality *q,
                           char text[JP_OVERHEAD_TEXT])
{
    const struct jp_overhead *o = &q->overhead;
    struct jp_sentence s;
    char parts[160], share[2][JP_FIGURE_LEN];
    struct jp_sentence p;

    sentence_init(&s, text, JP_OVERHEAD_TEXT);
    if (!o->recordings) {
        sentence_add(&s, "%s", who_does_not(q));
        return;
    }
    /* the parts are built first, as they stand within both sentences */
    sentence_init(&p, parts, sizeof(parts));
    add_parts(o, &p);
    /* a share for a long run, else the times alone */
    if (isfinite(quality_overhead_share(o))) {
        sentence_add(
            &s, "%s of the processes' time, at most %s of one: %s",
            quality_overhead_percent(quality_overhead_share(o), share[0]),
            quality_overhead_percent(o->worst_share, share[1]), parts);
        sentence_add(
            &s, "in addition %s of one CPU core to write %s",
            quality_overhead_percent(o->writer_ns / o->wall_ns, share[0]),
            FIG_BYTES(o->bytes));
    } else {
        sentence_add(&s,
                     "no share, as the run took %s (at least %g s are "
                     "needed): %s",
                     FIG_US(o->wall_ns / 1e3 / (double) o->recordings),
                     report_limits[REPORT_LIMIT_OVERHEAD].value / 1e6, parts);
        sentence_add(&s, "in addition %s of CPU time to write %s",
                     FIG_US(o->writer_ns / 1e3), FIG_BYTES(o->bytes));
    }
    if (q->recordings)
        sentence_add(&s, "NCCL's own work for its events is not included");
    /* the rest are logs or recordings of an older release */
    if (o->recordings < q->files)
        sentence_add(&s, "measured in %s of %s files", FIG_COUNT(o->recordings),
                     FIG_COUNT(q->files));
}

bool quality_phases_text(const struct jp_quality *q,
                         char text[JP_OVERHEAD_TEXT])
{
    const struct jp_phases *p = &q->phases;

    if (!p->records || !(p->exec_us > 0))
        return false;
    snprintf(text, JP_OVERHEAD_TEXT,
             "of %s in %s kernels %s is the wait for the other ranks before "
             "they begin and %s that before they end, as measured by the "
             "kernels' phases (NCCL 2.31)",
             FIG_US(p->exec_us), FIG_COUNT(p->records),
             FIG_SHARE(p->sync_us / p->exec_us),
             FIG_SHARE(p->close_us / p->exec_us));
    return true;
}

bool quality_tags_text(const struct jp_quality *q, char text[JP_TAGS_TEXT])
{
    struct jp_sentence s;

    sentence_init(&s, text, JP_TAGS_TEXT);
    for (size_t i = 0; i < q->n_tags; i++) {
        const struct jp_tag *t = &q->tags[i];

        sentence_add(&s, "%s: %s operation%s, %s%s%s", t->name,
                     FIG_COUNT(t->records), plural(t->records),
                     FIG_US(t->exec_us),
                     t->sync_us > 0 && t->exec_us > 0 ? ", waiting " : "",
                     t->sync_us > 0 && t->exec_us > 0
                         ? FIG_SHARE(t->sync_us / t->exec_us)
                         : "");
    }
    return q->n_tags > 0;
}

/* --- the table of data-quality figures */

/* Defines a getter for each plain counter of struct jp_quality. */
#define COUNTER(field)                                                         \
    static bool get_##field(const struct jp_report *report, uint64_t *value)   \
    {                                                                          \
        if (!report->result)                                                   \
            return false;                                                      \
        *value = report->result->quality.field;                                \
        return true;                                                           \
    }
/* the name of the member is the name of the figure */
COUNTER(records)
COUNTER(coll_records)
COUNTER(p2p_records)
COUNTER(lost)
COUNTER(overwritten)
COUNTER(capped)
COUNTER(in_flight)
COUNTER(in_flight_us)
COUNTER(unseen_calls)
COUNTER(paused_records)
COUNTER(unsure_records)
COUNTER(refused_times)
COUNTER(lost_steps)
COUNTER(recordings)
COUNTER(cut_recordings)
COUNTER(unbounded_recordings)
COUNTER(damaged_blocks)
COUNTER(traces)
COUNTER(overflow_records)
COUNTER(partly_timed)
COUNTER(untimed_records)
COUNTER(kernel_cpu_records)
COUNTER(call_cpu_records)
COUNTER(files)
COUNTER(bytes_read)
COUNTER(cut_files)
COUNTER(skipped_files)
COUNTER(bad_lines)
COUNTER(unknown_lines)
COUNTER(duplicate_records)
COUNTER(nan_busbw)
COUNTER(ranks_seen)
COUNTER(unseen_records)
COUNTER(left_out_records)
COUNTER(shared_ranks)
COUNTER(rounded_cells)

/* The expected number depends on the input: counted by the recorder, implied by
 * sequence numbers, or planned. */
static bool get_expected(const struct jp_report *report, uint64_t *value)
{
    if (!quality_expected_kind(report))
        return false;
    *value =
        expected_records(report->conf, report->nodes, report->result).records;
    return true;
}

/* 0 is unknown, also for the nodes below. */
static bool get_ranks_expected(const struct jp_report *report, uint64_t *value)
{
    *value = expected_ranks(report->conf, report->nodes, report->result);
    return *value > 0;
}

/* Without records of nodes, as for a folder of logs, the number is unknown. */
static bool get_nodes_seen(const struct jp_report *report, uint64_t *value)
{
    if (!report->nodes)
        return false;
    *value = report->nodes->n_nodes;
    return true;
}

static bool get_nodes_expected(const struct jp_report *report, uint64_t *value)
{
    *value = expected_nodes(report->conf, report->nodes);
    return *value > 0;
}

/* own_folder: files that the profiler wrote into a folder of the user's choice.
 */
static bool get_own_taken(const struct jp_report *report, uint64_t *value)
{
    if (!report->nodes || !report->nodes->own_folder)
        return false;
    *value = report->nodes->own_taken;
    return true;
}

static bool get_own_missed(const struct jp_report *report, uint64_t *value)
{
    if (!report->nodes || !report->nodes->own_folder)
        return false;
    *value = report->nodes->own_missed;
    return true;
}

/* key, label, help, whether readers see it even if it is 0, getter */
const struct jp_quality_item quality_items[] = {
    {"records", "Records read", "valid records of collectives and Send/Recv",
     true, get_records},
    {"expected", "Records expected", "see expected_kind", true, get_expected},
    {"coll_records", "Records of collectives", "", false, get_coll_records},
    {"p2p_records", "Records of Send/Recv", "", false, get_p2p_records},
    {"lost", "Lost by the recorder", "by the recorder's own count", false,
     get_lost},
    {"overwritten", "Overwritten by Inspector",
     "by its own count (dump_stats), before it could write them", false,
     get_overwritten},
    {"unseen_records", "Recorded by no rank",
     "by sequence numbers: lost by all, or below the size filter", false,
     get_unseen_records},
    {"overflow_records", "Dropped by full pools",
     "included in the expected records: gaps in the sequence numbers of "
     "traces (NCCL_PROFILE_*_POOL_SIZE); losses after the last record are "
     "unknown",
     false, get_overflow_records},
    {"left_out_records", "Left out of the join",
     "the join reached its memory limit", false, get_left_out_records},
    {"rounded_cells", "Cells of rounded percentiles",
     "too many operations to keep: p5, p50, p95 and p99 are within 0.3 %",
     false, get_rounded_cells},
    {"ranks_seen", "Ranks seen", "processes; one with several GPUs has several",
     true, get_ranks_seen},
    {"ranks_expected", "Ranks expected",
     "by the communicators, by the step's tasks where some miss ranks, by the "
     "recordings where no operation ended, by PyTorch's traces where there is "
     "nothing else",
     true, get_ranks_expected},
    {"shared_ranks", "Ranks of two processes",
     "records of more than one process as one rank", false, get_shared_ranks},
    {"nodes_seen", "Nodes with a record", "of the launch", true,
     get_nodes_seen},
    {"nodes_expected", "Nodes expected", "", true, get_nodes_expected},
    {"files", "Files read", "", true, get_files},
    {"bytes_read", "Bytes read", "", false, get_bytes_read},
    {"cut_files", "Files cut off within a line", "the writer was stopped",
     false, get_cut_files},
    {"skipped_files", "Files skipped", "not regular files, or not readable",
     false, get_skipped_files},
    {"bad_lines", "Lines that could not be read", "", false, get_bad_lines},
    {"unknown_lines", "Lines of other kinds", "", false, get_unknown_lines},
    {"duplicate_records", "Duplicate records", "counted once", false,
     get_duplicate_records},
    {"nan_busbw", "Records without a bandwidth",
     "nan in the file; not included in means", false, get_nan_busbw},
    {"kernel_cpu_records", "Times by a CPU's clock",
     "of the kernel's events, as a CPU saw them: about 10 us off, 90 us in one "
     "of ten",
     false, get_kernel_cpu_records},
    {"call_cpu_records", "Times from the call on",
     "by a CPU's clock, with the wait in the stream: no lateness is judged by "
     "them",
     false, get_call_cpu_records},
    {"untimed_records", "Records without a time",
     "counted, but not used for waits", false, get_untimed_records},
    {"partly_timed", "Partly timed",
     "the example plugin recorded no end of the other channels", false,
     get_partly_timed},
    {"traces", "Example plugin's traces", "among the files read", false,
     get_traces},
    {"capped", "Left out at the recorder's cap", "on purpose (disk=)", false,
     get_capped},
    {"in_flight", "In flight at the end",
     "not complete at the recorder's last count or at the end of the process",
     false, get_in_flight},
    {"in_flight_us", "Longest of these",
     "us from its start to the end of its recording: a lower bound", false,
     get_in_flight_us},
    {"unsure_records", "Operations without kernel events",
     "not recorded, or not reliable: no time and no wait", false,
     get_unsure_records},
    {"refused_times", "Times refused",
     "time stamps of the GPU that contradict each other, or that may be "
     "those of another operation",
     false, get_refused_times},
    {"lost_steps", "Network steps lost", "not included in waits", false,
     get_lost_steps},
    {"recordings", "Files of the recorder", "among the files read", false,
     get_recordings},
    {"cut_recordings", "Recordings cut",
     "no final block: at most the last 100 ms of each are not counted, except "
     "of the recordings of the next row",
     false, get_cut_recordings},
    {"unbounded_recordings", "Recordings cut, loss unknown",
     "of these: operations had been lost or left out, or the file has no "
     "counters",
     false, get_unbounded_recordings},
    {"unseen_calls", "Calls without an NCCL event",
     "calls of the program that NCCL did not report; included in the expected "
     "records",
     false, get_unseen_calls},
    {"paused_records", "Not recorded on purpose",
     "while the recording was switched off; included in the expected records",
     false, get_paused_records},
    {"damaged_blocks", "Damaged blocks", "in the recorder's files, skipped",
     false, get_damaged_blocks},
    {"own_taken", "Files from the user's own folder",
     "set by the user in a variable (own_folder); raw/ holds links to the "
     "files, or copies",
     false, get_own_taken},
    {"own_missed", "Files that stay in the user's own folder",
     "they are on another file system and too large to copy", false,
     get_own_missed},
};
const size_t quality_n_items = sizeof(quality_items) / sizeof(*quality_items);

const char *quality_expected_kind(const struct jp_report *report)
{
    if (!report->result)
        return NULL;
    /* the words of the schema */
    switch (
        expected_records(report->conf, report->nodes, report->result).kind) {
    case JP_EXPECT_COUNTED:
        return "counted";
    case JP_EXPECT_BOUND:
        return "bound";
    case JP_EXPECT_PLANNED:
        return "planned";
    default:
        return NULL;
    }
}

const char *quality_warmup(const struct jp_report *report, char *text)
{
    const struct jp_result *r = report->result;

    /* without collectives, there is no warm-up to look for */
    if (!report->insight || !r || !r->quality.coll_records)
        return NULL;
    warmup_text(&report->insight->warmup, report->insight->judged,
                r->n_windows ? r->windows[0].t0_us : 0, text);
    return text;
}

const char *quality_coverage_of(const struct jp_report *report)
{
    /* sequence numbers cannot show what all ranks lost */
    return expected_records(report->conf, report->nodes, report->result)
                   .excludes_unseen
               ? " of the sequence numbers any rank recorded"
               : "";
}

bool quality_has_nccl(const struct jp_report *report)
{
    /* without a feature's data, the report of a step that was to be profiled
     * is about NCCL even if there is no data */
    bool asked = !report->conf || strcmp(report->conf->nccl_mode, "off") != 0;

    return (asked && !feature_known(report->features)) ||
           (report->result && report->result->quality.files);
}

const struct feature *quality_in_place(const struct jp_report *report)
{
    if (report->conf || (report->result && report->result->quality.files))
        return NULL;
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->role == FEATURE_OPERATIONS &&
            report_has(report, feature_registry[i]))
            return feature_registry[i];
    return NULL;
}

const char *quality_judged(const struct jp_report *report,
                           char buf[JP_HYPOTHESES_LINE])
{
    return report->insight && report->result &&
                   report->result->quality.records > 0
               ? hypotheses_line(&report->insight->hypotheses, buf)
               : NULL;
}

/* --- section: how complete the data is ------------------------------------ */

#define MAX_NOTES 20 /* in the page */

void quality_html_notes(FILE *out, const struct jp_file_note *notes, size_t n,
                        uint64_t left_out, const char *where)
{
    uint64_t all = n + left_out;

    if (!all)
        return;
    fputs("<details><summary>Notes on files</summary><ul>\n", out);
    for (size_t i = 0; i < n && i < MAX_NOTES; i++) {
        fputs("<li><code>", out);
        html_out_short(out, notes[i].path, 400);
        fputs("</code>: ", out);
        html_out_short(out, notes[i].what, 400);
        fputs("</li>\n", out);
    }
    fputs("</ul>", out);
    /* notes beyond the limit of the list, and those that were not kept */
    if (all > MAX_NOTES) {
        fprintf(out, "<p class=\"note\">and %s more",
                FIG_COUNT(all - MAX_NOTES));
        if (where)
            fprintf(out, " in <a href=\"%s\">%s</a>", where, where);
        fputs("</p>", out);
    }
    fputs("</details>\n", out);
}

/* Writes the number of bad lines of each kind that occurred, with the place of
 * the first one. */
static void put_bad(FILE *out, const struct jp_quality *q)
{
    for (unsigned i = 0; i < JP_BAD_KINDS; i++) {
        char *value;

        if (!q->bad[i].n)
            continue;
        value = text_format("%s, first %s:%" PRIu64, FIG_COUNT(q->bad[i].n),
                            q->bad[i].path, q->bad[i].line);
        /* without memory, the line is left out */
        if (value)
            html_out_fact(out, badkind_text((enum jp_bad) i), value);
        free(value);
    }
}

/* Returns a sentence on what the expected number of records is based on. */
static const char *explain_kind(const char *kind)
{
    if (!kind)
        return "The number of expected records is unknown.";
    if (!strcmp(kind, "counted"))
        return "Expected: the number of records that the recorder counted.";
    if (!strcmp(kind, "planned"))
        return "Expected: the number of records in the plan. Full pools hold "
               "only a part, or all ranks lost their last operations.";
    return "Expected: the number that the sequence numbers imply. A tail that "
           "all ranks lost does not show.";
}

/* Writes how complete the records are, and what they cost. */
static void put_figures(const struct jp_report *report, FILE *out)
{
    double coverage = report->verdict->coverage;
    char share[128], warmup[JP_WARMUP_TEXT];

    fputs("<dl>\n", out);
    /* < 0: coverage is unknown */
    snprintf(share, sizeof(share), "%s%s",
             coverage < 0 ? "unknown" : FIG_SHARE(coverage),
             coverage < 0 ? "" : quality_coverage_of(report));
    html_out_fact(out, "Coverage", share);
    for (size_t i = 0; i < quality_n_items; i++) {
        uint64_t value = 0;
        bool known = quality_items[i].get(report, &value);

        /* a counter of problems is worth a line only if it is not 0 */
        if (quality_items[i].always || value)
            html_out_fact(out, quality_items[i].label,
                          known ? FIG_COUNT(value) : "unknown");
    }
    if (report->nodes && report->nodes->own_folder)
        html_out_fact(out, "The user's own folder", report->nodes->own_folder);
    if (report->result)
        put_bad(out, &report->result->quality);
    if (report->result) {
        char text[JP_OVERHEAD_TEXT];

        quality_overhead_text(&report->result->quality, text);
        html_out_fact(out, "Recorder&#39;s own cost", text);
        if (quality_phases_text(&report->result->quality, text))
            html_out_fact(out, "Symmetric kernels", text);
    }
    if (report->result) {
        char text[JP_TAGS_TEXT];

        if (quality_tags_text(&report->result->quality, text))
            html_out_fact(out, "The program&#39;s tags", text);
    }
    if (quality_warmup(report, warmup))
        html_out_fact(out, "Warm-up", warmup);
    /* settings that leave out records by intent, so they are no loss */
    for (size_t i = 0; report->conf && i < report->conf->n_settings; i++)
        if (expected_is_filter(report->conf, &report->conf->settings[i]))
            html_out_fact(out, "Left out by", report->conf->settings[i].key);
    if (expected_planned_loss(report->conf))
        html_out_fact(out, "As planned, the plugin",
                      expected_planned_loss(report->conf));
    fprintf(out, "</dl><p class=\"note\">%s</p>\n",
            explain_kind(quality_expected_kind(report)));
}

int quality_html(const struct jp_report *report, FILE *out)
{
    if (!quality_has_nccl(report))
        return 0;
    if (!quality_in_place(report))
        put_figures(report, out);
    if (report->result)
        quality_html_notes(out, report->result->quality.notes,
                           report->result->quality.n_notes,
                           report->result->quality.notes_left_out, NULL);
    return 0;
}
