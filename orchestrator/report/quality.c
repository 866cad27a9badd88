/* quality.c - the table of data-quality figures. */
#include "orchestrator/report/quality.h"

#include "orchestrator/insight/expected.h"

/* One getter for each plain counter of struct jp_quality. */
#define COUNTER(field)                                                         \
    static bool get_##field(const struct jp_report *report, uint64_t *value)   \
    {                                                                          \
        if (!report->result)                                                   \
            return false;                                                      \
        *value = report->result->quality.field;                                \
        return true;                                                           \
    }
COUNTER(records)
COUNTER(coll_records)
COUNTER(p2p_records)
COUNTER(lost)
COUNTER(capped)
COUNTER(in_flight)
COUNTER(unseen_calls)
COUNTER(lost_steps)
COUNTER(recordings)
COUNTER(cut_recordings)
COUNTER(unbounded_recordings)
COUNTER(damaged_blocks)
COUNTER(traces)
COUNTER(overflow_records)
COUNTER(partly_timed)
COUNTER(untimed_records)
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

static bool get_expected(const struct jp_report *report, uint64_t *value)
{
    if (!quality_expected_kind(report))
        return false;
    *value =
        expected_records(report->conf, report->nodes, report->result).records;
    return true;
}

static bool get_ranks_expected(const struct jp_report *report, uint64_t *value)
{
    *value = expected_ranks(report->conf, report->nodes, report->result);
    return *value > 0;
}

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

const struct jp_quality_item quality_items[] = {
    {"records", "Records read", "good records of collectives and Send/Recv",
     true, get_records},
    {"expected", "Records expected", "see expected_kind", true, get_expected},
    {"coll_records", "Records of collectives", "", false, get_coll_records},
    {"p2p_records", "Records of Send/Recv", "", false, get_p2p_records},
    {"lost", "Lost by the recorder", "by its own count", false, get_lost},
    {"unseen_records", "Recorded by no rank",
     "by sequence numbers: lost by all, or below the size filter", false,
     get_unseen_records},
    {"overflow_records", "Dropped by full pools",
     "among the expected: gaps in the sequence numbers of traces "
     "(NCCL_PROFILE_*_POOL_SIZE); what followed the last one is not known",
     false, get_overflow_records},
    {"left_out_records", "Left out of the join", "its memory limit was reached",
     false, get_left_out_records},
    {"rounded_cells", "Cells of rounded percentiles",
     "too many operations to keep: p5, p50, p95 and p99 are within 0.3 %",
     false, get_rounded_cells},
    {"ranks_seen", "Ranks seen", "of the largest communicator", true,
     get_ranks_seen},
    {"ranks_expected", "Ranks expected",
     "the largest communicator's size, else the step's tasks", true,
     get_ranks_expected},
    {"shared_ranks", "Ranks of two processes",
     "records of more than one process as one rank", false, get_shared_ranks},
    {"nodes_seen", "Nodes with a record", "of the launch", true,
     get_nodes_seen},
    {"nodes_expected", "Nodes expected", "", true, get_nodes_expected},
    {"files", "Files read", "", true, get_files},
    {"bytes_read", "Bytes read", "", false, get_bytes_read},
    {"cut_files", "Files cut in mid-line", "the writer was stopped", false,
     get_cut_files},
    {"skipped_files", "Files left aside", "no regular files, or not readable",
     false, get_skipped_files},
    {"bad_lines", "Lines that could not be read", "", false, get_bad_lines},
    {"unknown_lines", "Lines of another kind", "", false, get_unknown_lines},
    {"duplicate_records", "Records met twice", "counted once", false,
     get_duplicate_records},
    {"nan_busbw", "Records without a bandwidth",
     "nan in the file; left out of means", false, get_nan_busbw},
    {"untimed_records", "Records without a time", "counted, but in no wait",
     false, get_untimed_records},
    {"partly_timed", "Timed by some channels",
     "the example plugin did not end the others", false, get_partly_timed},
    {"traces", "Example plugin's traces", "among the files read", false,
     get_traces},
    {"capped", "Left out at the recorder's cap", "by intent (disk=)", false,
     get_capped},
    {"in_flight", "In flight at the end",
     "had not ended when the recorder counted last, or when the process did",
     false, get_in_flight},
    {"lost_steps", "Network steps lost", "no wait includes them", false,
     get_lost_steps},
    {"recordings", "Files of the recorder", "among the files read", false,
     get_recordings},
    {"cut_recordings", "Recordings cut",
     "without a final block: each misses at most 100 ms besides, but for the "
     "next",
     false, get_cut_recordings},
    {"unbounded_recordings", "Recordings cut, loss unknown",
     "of these: had lost or left out operations, or hold no counters", false,
     get_unbounded_recordings},
    {"unseen_calls", "Calls that NCCL told nothing of",
     "the program made them; among the expected", false, get_unseen_calls},
    {"damaged_blocks", "Damaged blocks", "of the recorder's files, left aside",
     false, get_damaged_blocks},
};
const size_t quality_n_items = sizeof(quality_items) / sizeof(*quality_items);

const char *quality_expected_kind(const struct jp_report *report)
{
    if (!report->result)
        return NULL;
    switch (
        expected_records(report->conf, report->nodes, report->result).kind) {
    case JP_EXPECT_COUNTED:
        return "counted";
    case JP_EXPECT_BOUND:
        return "bound";
    default:
        return NULL;
    }
}

const char *quality_warmup(const struct jp_report *report, char *text)
{
    const struct jp_result *r = report->result;

    if (!report->insight || !r || !r->quality.coll_records)
        return NULL;
    warmup_text(&report->insight->warmup, report->insight->judged,
                r->n_windows ? r->windows[0].t0_us : 0, text);
    return text;
}

const char *quality_coverage_of(const struct jp_report *report)
{
    return expected_records(report->conf, report->nodes, report->result)
                   .excludes_unseen
               ? " of the sequence numbers any rank recorded"
               : "";
}

bool report_has_nccl(const struct jp_report *report)
{
    return !report->copper || (report->result && report->result->quality.files);
}
