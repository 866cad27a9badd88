/* jobprof.c - the user's program: the table of its subcommands.
 *
 * Each subcommand has a file of its own, cmd_NAME.c. commands_run in
 * cmd_options.c chooses one and handles --help and --version. */
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_options.h"

/* In the order of --help: first what most users need. */
static const struct command commands[] = {
    {"report", cmd_report, "write the report of a step, or of a job's steps"},
    {"aggregate", cmd_aggregate, "write a report of folders of profiler logs"},
    {"plan", cmd_plan, "forecast settings, cost and losses of a profile"},
    {"show", cmd_show, "show a step's operations, or those that did not end"},
    {"top", cmd_top, "show what a running step does, and whether it hangs"},
    {"record", cmd_record, "switch the recording of a running step off or on"},
    {"compare", cmd_compare, "show whether a step is slower than another one"},
    {"trial", cmd_trial, "find the fastest placement and settings by trial"},
    {"baseline", cmd_baseline,
     "make a baseline of the network from earlier steps"},
    {"export", cmd_export, "convert recordings and reports to other formats"},
    {"upload", cmd_upload, "send a step's figures to Elasticsearch (Kibana)"},
    {"history", cmd_history,
     "show which nodes were slow in many steps of a site"},
    {"topo", cmd_topo, "show nodes' GPUs, HCAs and their connections"},
    {"evidence", cmd_evidence,
     "examine the processes of a hanging step on this node"},
    {"nsys", cmd_nsys, "print exports of Nsight Systems as tables"},
    {"config", cmd_config, "show or check the settings"},
    {"metrics", cmd_metrics,
     "check users' metrics on a node and collect them for Prometheus"},
    {"gc", cmd_gc, "remove old raw data, keep the reports"},
    {"doctor", cmd_doctor, "check the installation, also from the nodes"},
};

static const struct program program = {
    .name = "jobprof",
    .purpose =
        "Job-level profiles of Slurm steps: how the communication went, which\n"
        "ranks waited, and how complete the data is.",
    .commands = commands,
    .n_commands = sizeof(commands) / sizeof(commands[0]),
    .epilogue = "More: jobprof COMMAND --help, jobprof(1)\n"
                "Profile a step: srun --nccl-profile=auto ...\n",
};

int main(int argc, char **argv)
{
    return commands_run(&program, argc, argv);
}
