/* html_sections.c - which sections report.html has, in which order. */
#include "orchestrator/report/html_sections.h"

#include "orchestrator/report/quality.h"

const struct jp_html_section html_sections[] = {
    {"findings", "Findings",
     "Worst first. What nodes' topologies and Copper's profiles tell stands in "
     "their own sections.",
     JP_HTML_WIDE, html_findings_present, html_findings_put},
    {"quality", "Data quality", NULL, JP_HTML_HALF, report_has_nccl,
     html_quality_put},
    {"job", "Job", NULL, JP_HTML_HALF, NULL, html_job_put},
    {"topology", "Topology",
     "What the nodes have, by their own records; how a communicator's label "
     "follows from it stands in its row below.",
     JP_HTML_WIDE, html_topology_present, html_topology_put},
    {"communicators", "Communicators", "Most time first.", JP_HTML_WIDE,
     html_comms_present, html_comms_put},
    {"time", "Over the run",
     "By the time at which records were written. csv/windows.csv has the "
     "figures by communicator.",
     JP_HTML_CHARTS, html_time_present, html_time_put},
    {"pictures", "Pictures", NULL, JP_HTML_WIDE, html_pictures_present,
     html_pictures_put},
    {"ranks", "Waits",
     "Most wait caused first. The rank that arrives last has the shortest "
     "time in an operation, as the others wait in it. That it arrived late "
     "does not say why: computing, input, host or network may be the cause. "
     "Who waited for a late rank comes late to its next operation, so waits "
     "travel on: the findings name who was late on its own.",
     JP_HTML_WIDE, html_ranks_present, html_ranks_put},
    {"nodes", "Nodes", "Sums over a node&#39;s processes and communicators.",
     JP_HTML_WIDE, html_nodes_present, html_nodes_put},
    {"busy", "Communication-busy share",
     "The share of its wall time, from its first operation&#39;s start to its "
     "last one&#39;s end, in which a process had at least one collective, Send "
     "or Recv in flight. Computing may go on beside it: this is neither time "
     "lost nor a measure of overlap.",
     JP_HTML_WIDE, html_busy_present, html_busy_put},
    {"operations", "Operations",
     "By type of communicator, function and message size. Bus bandwidth in "
     "GB/s (1e9 bytes a second) is the mean over an operation's ranks; "
     "percentiles are over operations.",
     JP_HTML_WIDE, html_cells_present, html_cells_put},
    {"network", "Network",
     "The network&#39;s own bandwidth in GB/s, from the time of the rank that "
     "came last, by kind of communicator, function and size, most time first; "
     "what is expected is said by the site&#39;s peaks, else by earlier steps "
     "(jobprof baseline), else it is the best twentieth of the same "
     "operations. Warm-up is left out.",
     JP_HTML_WIDE, html_network_present, html_network_put},
    {"spread", "Spread",
     "Bus bandwidth of the operations of one kind: those of most time.",
     JP_HTML_CHARTS, html_spread_present, html_spread_put},
    {"sizes", "Message sizes", NULL, JP_HTML_WIDE, html_sizes_present,
     html_sizes_put},
    {"p2p", "Send and Recv",
     "Most data first. AlltoAll, Gather and Scatter appear here too, as NCCL "
     "makes them of Send and Recv.",
     JP_HTML_WIDE, html_p2p_present, html_p2p_put},
    {"p2p-hosts", "Send and Recv between hosts",
     "Most data first. Each message may stand twice, as its sender and its "
     "receiver recorded it; with both one host it stayed within.",
     JP_HTML_WIDE, html_p2p_nodes_present, html_p2p_nodes_put},
    {"copper", "Copper cache", NULL, JP_HTML_WIDE, html_copper_present,
     html_copper_put},
    {"settings", "Settings", NULL, JP_HTML_WIDE, html_settings_present,
     html_settings_put},
    {"environment", "Environment", "Set for the tasks.", JP_HTML_WIDE,
     html_env_present, html_env_put},
    {"command", "Commands", NULL, JP_HTML_WIDE, html_command_present,
     html_command_put},
    {"files", "Files", NULL, JP_HTML_WIDE, NULL, html_files_put},
};
const size_t html_n_sections = sizeof(html_sections) / sizeof(*html_sections);
