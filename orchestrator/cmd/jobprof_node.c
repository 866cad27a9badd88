/* jobprof_node.c - the SPANK module's helper: the table of its subcommands. */
#include <signal.h>
#include <sys/stat.h>

#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/commands.h"

static const struct command commands[] = {
    {"resolve", cmd_resolve, "turn settings into a step directory (in srun)"},
    {"begin", cmd_begin, "prepare this node for a profiled step"},
    {"agent", cmd_agent, "sample this node while the tasks run"},
    {"task", cmd_task, "record that a task of this node starts"},
    {"finish", cmd_finish, "finish a profiled step on this node"},
    {"run", cmd_run, "run programs beside the tasks of this node"},
    {"evidence", cmd_evidence,
     "examine the tasks of a hanging step on this node"},
};

static const struct program program = {
    .name = "jobprof-node",
    .purpose = "The SPANK module of jobprof runs this as the job's user.",
    .commands = commands,
    .n_commands = sizeof(commands) / sizeof(commands[0]),
    .epilogue = "Only jobprof calls it; its arguments may change.\n",
};

/* Makes writes fail with EPIPE or EFBIG instead of ending the process. Uses a
 * handler, not SIG_IGN, so that programs we exec start with the default. */
static void on_write_signal(int sig)
{
    (void) sig;
}

static void survive_writes(void)
{
    const struct sigaction action = {.sa_handler = on_write_signal,
                                     .sa_flags = SA_RESTART};

    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
    umask(077);
    survive_writes();
    return commands_run(&program, argc, argv);
}
