/* jobprof.c - the user's program: the table of its subcommands.
 *
 * Each subcommand has a file of its own, cmd_NAME.c, or NAME_command.c in the
 * folder of its feature. commands_run in cmd_options.c chooses one and handles
 * --help and --version. */
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_options.h"

/* Commands of features, each in the feature's folder. */
extern const struct command command_evidence;
extern const struct command command_history;
extern const struct command command_nsys;
extern const struct command command_top;
extern const struct command command_topo;
extern const struct command command_trial;
extern const struct command command_upload;

/* In the order of --help: first what most users need. */
/* clang-format off */
const struct command *const command_registry[] = {
    COMMAND("report", cmd_report, "write the report of a step, or of a job's steps"),
    COMMAND("aggregate", cmd_aggregate, "write a report of folders of profiler logs"),
    COMMAND("plan", cmd_plan, "forecast settings, cost and losses of a profile"),
    COMMAND("show", cmd_show, "show a step's operations, or those that did not end"),
    &command_top,
    COMMAND("record", cmd_record, "switch the recording of a running step off or on"),
    COMMAND("compare", cmd_compare, "show whether a step is slower than another one"),
    &command_trial,
    COMMAND("baseline", cmd_baseline,
     "make a baseline of the network from earlier steps"),
    COMMAND("export", cmd_export, "convert recordings and reports to other formats"),
    &command_upload,
    &command_history,
    &command_topo,
    &command_evidence,
    &command_nsys,
    COMMAND("config", cmd_config, "show or check the settings"),
    COMMAND("metrics", cmd_metrics,
     "check users' metrics on a node and collect them for Prometheus"),
    COMMAND("gc", cmd_gc, "remove old raw data, keep the reports"),
    COMMAND("doctor", cmd_doctor, "check the installation, also from the nodes"),
    NULL,
};
/* clang-format on */

static const struct program program = {
    .name = "jobprof",
    .purpose =
        "Job-level profiles of Slurm steps: how the communication went, which\n"
        "ranks waited, and how complete the data is.",
    .commands = command_registry,
    .epilogue = "More: jobprof COMMAND --help, jobprof(1)\n"
                "Profile a step: srun --nccl-profile=auto ...\n",
};

int main(int argc, char **argv)
{
    return commands_run(&program, argc, argv);
}
