/* html_sections.c - which sections report.html has, in which order. */
#include "orchestrator/report/html_sections.h"

#include "orchestrator/report/quality.h"

const struct jp_html_section html_sections[] = {
    {"quality", "Data quality", NULL, true, report_has_nccl, html_quality_put},
    {"job", "Job", NULL, true, NULL, html_job_put},
    {"communicators", "Communicators", "Most time first.", false,
     html_comms_present, html_comms_put},
    {"operations", "Collective operations",
     "By type of communicator, function and message size. Bus bandwidth in "
     "GB/s (1e9 bytes a second) is the mean over an operation's ranks; "
     "percentiles are over operations.",
     false, html_cells_present, html_cells_put},
    {"ranks", "Ranks",
     "Most wait caused first. The rank that arrives last has the shortest "
     "time in an operation, as the others wait in it. That it arrived late "
     "does not say why: computing, input, host or network may be the cause.",
     false, html_ranks_present, html_ranks_put},
    {"p2p", "Send and Recv",
     "Most data first. AlltoAll, Gather and Scatter appear here too, as NCCL "
     "makes them of Send and Recv.",
     false, html_p2p_present, html_p2p_put},
    {"p2p-hosts", "Send and Recv between hosts",
     "Most data first. Each message may stand twice, as its sender and its "
     "receiver recorded it; with both one host it stayed within.",
     false, html_p2p_nodes_present, html_p2p_nodes_put},
    {"copper", "Copper cache", NULL, false, html_copper_present,
     html_copper_put},
    {"settings", "Settings", NULL, false, html_settings_present,
     html_settings_put},
    {"environment", "Environment set for the tasks", NULL, false,
     html_env_present, html_env_put},
    {"files", "Files", NULL, false, NULL, html_files_put},
};
const size_t html_n_sections = sizeof(html_sections) / sizeof(*html_sections);
