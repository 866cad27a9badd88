/* limits.c - the table of limits. */
#include "orchestrator/insight/limits.h"

#include "orchestrator/aggregate/aggregate.h"

const struct jp_limit limits_table[JP_N_LIMITS] = {
    [JP_LIMIT_HANG] =
        {
            .name = "hang_min",
            .value = JP_HANG_US,
            .unit = JP_LIMIT_IS_US,
            .text = "HANG where an operation was in flight at the end, and for "
                    "no less",
            .reason = "operations take milliseconds, and seconds where a rank "
                      "loads data or writes a checkpoint; watchdogs end a hang "
                      "after minutes, so that none is missed",
        },
    [JP_LIMIT_COVERAGE] =
        {
            .name = "coverage_min",
            .value = 0.99,
            .text =
                "INCOMPLETE where fewer of the expected records are present",
            .reason = "one record in a hundred moves neither a median nor a "
                      "rank's share of late arrivals by more than a hundredth",
        },
    [JP_LIMIT_BAD_LINES] =
        {
            .name = "bad_lines_max",
            .value = 0.01,
            .text = "INCOMPLETE where more of the lines could not be read",
            .reason = "a line that cannot be read is a record of unknown rank "
                      "and size, so it is judged as strictly as a lost one",
        },
    [JP_LIMIT_LATE_OPS] =
        {
            .name = "late_ops_min",
            .value = 80,
            .unit = JP_LIMIT_IS_NUMBER,
            .text = "No late rank is named in a communicator with fewer "
                    "complete operations of a function, nor where another one "
                    "that takes a hundredth of the time has fewer",
            .reason = "steps of training have up to a dozen operations on the "
                      "communicator that synchronises least; a handful of "
                      "steps is warm-up, whatever its statistics",
        },
    [JP_LIMIT_LATE_SHARE] =
        {
            .name = "late_share_min",
            .value = 0.01,
            .text = "SLOW where a rank's own excess over its peers is a larger "
                    "share of their time in communication, and for no less",
            .reason = "less is not worth a search: one in a hundred of the "
                      "time that ranks communicate",
        },
    [JP_LIMIT_LATE_COST] =
        {
            .name = "late_cost_min",
            .value = 0.0125,
            .text = "... and a larger share of the run's time, which all ranks "
                    "together lose",
            .reason = "GPUs of one kind at one clock limit differ by a percent "
                      "or so anyway; whoever finds and replaces a rank that is "
                      "later wins more of the job's GPU time than that",
        },
    [JP_LIMIT_LATE_SLOWER] =
        {
            .name = "late_slower_min",
            .value = 0.04,
            .text = "... or a larger share of the part of the run in which its "
                    "peers do not communicate",
            .reason = "no GPU of a kind is that much slower than the others; "
                      "where ranks compute for a part of the run only, it "
                      "costs less than it shows",
        },
    [JP_LIMIT_LATE_LEAST] =
        {
            .name = "late_least_min",
            .value = 0.004,
            .text = "... and then still a larger share of the run's time",
            .reason = "less of a job's GPU time is not worth a search",
        },
    [JP_LIMIT_LATE_ERRORS] =
        {
            .name = "late_errors_min",
            .value = 7,
            .unit = JP_LIMIT_IS_NUMBER,
            .text = "... and is more of its standard errors",
            .reason = "by Student's t of the dozen parts of the run that "
                      "count, by chance once in 100,000 ranks",
        },
    [JP_LIMIT_LATE_SPREAD] =
        {
            .name = "late_spread_min",
            .value = 5,
            .unit = JP_LIMIT_IS_NUMBER,
            .text = "... and is more times what ranks of a kind differ by "
                    "anyway (standard deviation, by the closest half; for n "
                    "ranks 1 + 6/n times as many)",
            .reason = "GPUs of one kind differ by a percent in clock; by "
                      "chance once in 3 million ranks, and few ranks may be "
                      "close by luck",
        },
    [JP_LIMIT_LATE_NODE] =
        {
            .name = "late_node_min",
            .value = 2.5,
            .unit = JP_LIMIT_IS_NUMBER,
            .text = "... which for all ranks of a node together is",
            .reason = "the mean of four ranks exceeds 2.5 of their standard "
                      "deviations by chance once in 3 million nodes",
        },
    [JP_LIMIT_LATE_OWN] =
        {
            .name = "late_own_min",
            .value = 0.1,
            .text = "... and is a larger part of its lateness",
            .reason = "the stages of a late node's pipeline each make a part "
                      "of what all of them are late; whoever only passes a "
                      "wait on has next to none of his own",
        },
    [JP_LIMIT_STALL_STEPS] =
        {
            .name = "stall_steps_min",
            .value = 10,
            .unit = JP_LIMIT_IS_NUMBER,
            .text = "From ended operations only, HANG where one communicator "
                    "stopped within a step of its likes, and after no fewer "
                    "steps",
            .reason = "programs begin with operations that not all "
                      "communicators of a shape share",
        },
    [JP_LIMIT_NET_OPS] =
        {
            .name = "net_ops_min",
            .value = 60,
            .unit = JP_LIMIT_IS_NUMBER,
            .text = "Nothing is said on the network's course from fewer "
                    "complete operations of a communicator, function and size",
            .reason = "twenty medians of three operations each",
        },
    [JP_LIMIT_NET_FIT] =
        {
            .name = "net_fit_min",
            .value = 40,
            .unit = JP_LIMIT_IS_NUMBER,
            .text = "DEGRADED where a step or a line explains more times the "
                    "variance that it leaves",
            .reason = "an F of 40 on 18 degrees of freedom comes by chance "
                      "once in 100,000 series",
        },
    [JP_LIMIT_NET_CHANGE] =
        {
            .name = "net_change_min",
            .value = 0.1,
            .text = "... and the network's time grew by more",
            .reason = "congestion by other jobs makes a tenth",
        },
    [JP_LIMIT_NET_LIKES] =
        {
            .name = "net_likes_min",
            .value = 0.25,
            .text = "DEGRADED where the network's time in a communicator is "
                    "longer than the median of its likes (shape, function and "
                    "size) by more",
            .reason = "rings of one shape differ in their paths by some tenths "
                      "at most; a lane or link that is down takes more",
        },
    [JP_LIMIT_NET_PEAKS] =
        {
            .name = "net_peaks_min",
            .value = 0.1,
            .text = "DEGRADED where the network's time in a communicator is "
                    "longer than the site's peaks expect by more",
            .reason = "the site says what is healthy; a tenth is what other "
                      "jobs' congestion makes",
        },
    [JP_LIMIT_NET_BASELINE] =
        {
            .name = "net_baseline_min",
            .value = 0.15,
            .text = "DEGRADED where the network's time in a communicator is "
                    "longer than the median of the baseline's reports by more, "
                    "and its bandwidth is twice as far below theirs as that of "
                    "19 of 20 reports",
            .reason = "steps differ by a tenth in their place on the fabric; "
                      "what earlier steps differed by anyway is no news",
        },
    [JP_LIMIT_NET_REPORTS] =
        {
            .name = "net_reports_min",
            .value = 5,
            .unit = JP_LIMIT_IS_NUMBER,
            .text = "The baseline says nothing from fewer reports",
            .reason = "of fewer steps nobody knows how much they differ",
        },
    [JP_LIMIT_NET_SHARE] =
        {
            .name = "net_share_min",
            .value = 0.002,
            .text = "... and that is a larger share of the time in "
                    "communication",
            .reason =
                "a change this clear is worth a line long before it is worth "
                "an hour of the job",
        },
    [JP_LIMIT_NET_PAIRS] =
        {
            .name = "net_pairs_min",
            .value = 0.2,
            .text = "DEGRADED where Send and Recv with one node, or between "
                    "two, take longer than their likes by more",
            .reason = "the fastest messages of the side that waits least hold "
                      "next to no waits; a lane or link that is down takes "
                      "more",
        },
    [JP_LIMIT_SMALL_SHARE] =
        {
            .name = "small_share_min",
            .value = 0.2,
            .text = "small_messages where messages below 64 KiB take a larger "
                    "share of the network's time",
            .reason = "below it a link's latency is most of the time, and "
                      "larger buckets would save it",
        },
    [JP_LIMIT_IMBALANCE] =
        {
            .name = "imbalance_min",
            .value = 2,
            .unit = JP_LIMIT_IS_NUMBER,
            .text = "imbalance where a rank receives more times the mean of "
                    "its communicator by Send and Recv",
            .reason = "the inner stages of a pipeline receive up to twice what "
                      "the outer ones do; the mean lies between",
        },
};
