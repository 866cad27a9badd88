/* reasons.c - the table of reasons for NODATA, INCOMPLETE and UNJUDGED. */
#include "orchestrator/insight/reasons.h"

#include <string.h>

#include "orchestrator/insight/hypothesis.h"

/* The advice where neither a longer run nor more room would show more. */
#define SHOW                                                                   \
    {                                                                          \
        "jobprof show", false, true                                            \
    }
#define NODATA(name) JP_REASON_OF(name, NODATA)
#define INCOMPLETE(name) JP_REASON_OF(name, INCOMPLETE)
#define UNJUDGED(name) JP_REASON_OF(name, UNJUDGED)

#define DOCTOR                                                                 \
    {                                                                          \
        "jobprof doctor", false, false                                         \
    }

const struct jp_reason_row reasons_table[JP_REASONS] = {
    [JP_REASON_NOT_ANALYSED] =
        {NODATA("not_analysed"),
         .situation = "the time limit of the report ended before all records "
                      "were read",
         .command = {"jobprof report", false, true}},
    [JP_REASON_OFF] = {NODATA("off"),
                       .situation = "NCCL was not profiled (mode off)",
                       .command = DOCTOR},
    [JP_REASON_NO_NODE] =
        {NODATA("no_node"),
         .situation = "no node left a record, and none noted why",
         .checks = {"Did the tasks start? Look at the output of srun.",
                    "Can the nodes write to the report's directory? Run "
                    "jobprof doctor."},
         .command = DOCTOR},
    [JP_REASON_UNPROFILED] =
        {NODATA("unprofiled"),
         .situation = "nodes noted why their tasks ran unprofiled",
         .checks = {"Mend what the node has noted. jobprof doctor checks it."},
         .command = DOCTOR},
    [JP_REASON_GONE] =
        {NODATA("gone"),
         .situation = "the nodes had written files, and raw/ is gone",
         .checks =
             {"Did somebody move or remove raw/? Once it is back, jobprof "
              "report reads it.",
              "Are its files elsewhere? There, jobprof aggregate reads "
              "them.",
              "Is the directory's file system cleaned automatically? "
              "dir= sets another directory."},
         .command = {"jobprof show", false, true}},
    [JP_REASON_TASKS_FAILED] =
        {NODATA("tasks_failed"),
         .situation =
             "tasks ended by themselves with an error, and there is no "
             "file of a profiler",
         .checks = {"Read what the tasks have printed, and the command line of "
                    "srun."},
         .command = {"jobprof show", false, true}},
    [JP_REASON_TASKS_ENDED] =
        {NODATA("tasks_ended"),
         .situation = "the job was cancelled, interrupted, preempted or at its "
                      "time limit, and there is no file of a profiler",
         .checks = {"Did the program reach its first collective before it was "
                    "ended?"},
         .command = DOCTOR},
    [JP_REASON_OWN_PLUGIN] =
        {NODATA("own_plugin"),
         .situation = "NCCL_PROFILER_PLUGIN was set in the environment of srun "
                      "and stayed in place",
         .checks = {"Unset NCCL_PROFILER_PLUGIN, or let force=1 replace it."},
         .command = DOCTOR},
    [JP_REASON_OTHER_PLUGIN] =
        {NODATA("other_plugin"),
         .situation = "a process of the step had another NCCL_PROFILER_PLUGIN "
                      "than the one that was set for it",
         .checks = {"Remove what sets NCCL_PROFILER_PLUGIN. jobprof doctor "
                    "looks for it."},
         .command = DOCTOR},
    [JP_REASON_NO_LIBRARY] =
        {NODATA("no_library"),
         .situation = "the settings name no library of a profiler",
         .checks = {"Is jobprof installed completely? Run jobprof doctor."},
         .command = DOCTOR},
    [JP_REASON_LIBRARY_UNREADABLE] =
        {NODATA("bad_library"),
         .situation = "the profiler's library cannot be read",
         .checks = {"Is the profiler's library on the nodes, and readable? Run "
                    "jobprof doctor there."},
         .command = DOCTOR},
    [JP_REASON_OWN_VARIABLE] =
        {NODATA("own_variable"),
         .situation =
             "a variable of the profiler was set in the environment of "
             "srun and stayed in place",
         .checks = {"Unset the variables named above, or let force=1 replace "
                    "them."},
         .command = DOCTOR},
    [JP_REASON_PLANNED] =
        {NODATA("planned"),
         .situation = "the plan of the step expected that nothing is kept",
         .checks = {"Change the settings: jobprof plan shows what they keep."},
         .command = {"jobprof plan", false, false}},
    [JP_REASON_OWN_FOLDER] =
        {NODATA("own_folder"),
         .situation = "the user has directed the profiler's files to a folder "
                      "of his own, and none could be taken from it",
         .checks = {"Look into the folder named above. jobprof aggregate reads "
                    "the files there."},
         .command = DOCTOR},
    [JP_REASON_CONTAINER] =
        {NODATA("container"),
         .situation = "the step used a container that is not shown the library "
                      "or the directory",
         .checks =
             {"Mount the profiler's library and the step's directory into "
              "the container."},
         .command = DOCTOR},
    [JP_REASON_NO_OUTPUT] =
        {NODATA("no_output"),
         .situation = "tasks ran and ended well, without a file of a profiler "
                      "and without any of the reasons above",
         .checks = {"Does the program use NCCL? Otherwise there is nothing to "
                    "record.",
                    "Did NCCL load the profiler? The program or its container "
                    "may have hidden it. Run jobprof doctor."},
         .command = DOCTOR},
    [JP_REASON_NO_INPUT] =
        {NODATA("no_input"),
         .situation = "the input of jobprof aggregate has no file of a kind "
                      "that is read",
         .checks =
             {"Does the input have recordings (.jpr), logs of NCCL Inspector "
              "(.log, .jsonl) or traces of its example plugin (.json, .txt)?",
              "Or files of another kind that jobprof aggregate --help "
              "names?"},
         .command = {"jobprof aggregate --help", false, false}},
    [JP_REASON_DENIED] =
        {NODATA("denied"),
         .situation = "files or folders could not be read, and no other file "
                      "has a record",
         .checks = {"May you read the files and folders that the notes name?"},
         .command = {"jobprof aggregate --help", false, false}},
    [JP_REASON_NO_LOGS] =
        {NODATA("no_logs"),
         .situation = "the files are named like a profiler's, but no line is a "
                      "record of it",
         .checks = {"Are these files of a profiler? The notes on files name "
                    "the first line that is no record."},
         .command = {"jobprof aggregate --help", false, false}},
    [JP_REASON_UNREADABLE] =
        {NODATA("unreadable"),
         .situation = "the files are cut or damaged before their first record",
         .checks = {"Is the disk or the quota of the step's directory full?",
                    "Was the step killed in its first second? Then little was "
                    "written."},
         .command = DOCTOR},
    [JP_REASON_DAMAGED_INPUT] =
        {NODATA("damaged_input"),
         .situation = "the files of jobprof aggregate's input are cut or "
                      "damaged before their first record",
         .checks = {"Are the files whole? Compare them with the originals, if "
                    "they were copied.",
                    "The notes on files name what is wrong with each."},
         .command = {"jobprof aggregate --help", false, false}},
    [JP_REASON_BEGUN] =
        {NODATA("begun"), .situation = "operations had begun, and none ended",
         .checks = {"Do all ranks call the same collectives in the same order?",
                    "Did a rank end, or wait elsewhere? See which ranks never "
                    "entered.",
                    "Are all nodes alive? Look for GPU errors (Xid) in the "
                    "kernel's log."},
         .command = {"jobprof show --pending", false, true}},
    [JP_REASON_NO_ROOM] =
        {NODATA("no_room"),
         .situation = "the recorder left all operations out because of disk= "
                      "or min_free=",
         .checks = {"Free space on the file system of the step's directory, or "
                    "set the limit that is named above."},
         .command = {"jobprof plan", false, false}},
    [JP_REASON_LOST_ALL] =
        {NODATA("lost_all"),
         .situation = "the recorder counted operations and lost all of them",
         .checks =
             {"Is the disk or the quota of the step's directory full?",
              "Did the profiler's memory overflow? Size the next run with "
              "jobprof plan."},
         .command = {"jobprof plan", false, false}},
    [JP_REASON_CUT_ALL] =
        {NODATA("cut_all"),
         .situation = "recordings are cut before their first record",
         .checks = {"Was the step killed in its first second? Then little was "
                    "written.",
                    "Is the disk or the quota of the step's directory full?"},
         .command = DOCTOR},
    [JP_REASON_FILTERED] =
        {NODATA("filtered"),
         .situation = "there are communicators, and a filter left all "
                      "operations out",
         .checks = {"Set the filter that is named above to 0."},
         .command = {"jobprof plan", false, false}},
    [JP_REASON_IDLE] =
        {NODATA("idle"),
         .situation = "there are communicators, and no operation",
         .checks = {"Did the program call a collective before it ended?"},
         .command = {"jobprof show", false, true}},
    [JP_REASON_EMPTY] = {NODATA("empty"),
                         .situation = "the files are whole and hold no record",
                         .checks = {"Did the program make a communicator and "
                                    "call a collective before it ended?"},
                         .command = DOCTOR},
    [JP_REASON_NO_SAMPLES] =
        {NODATA("no_samples"),
         .situation = "only utilisation or clocks were asked for, and no node "
                      "left any",
         .checks = {"Why did the nodes leave no samples? log.txt of the step "
                    "names what failed."},
         .command = DOCTOR},
    [JP_REASON_SHARED] =
        {INCOMPLETE("shared"), .command = SHOW,
         .situation = "ranks have records of two processes",
         .checks = {"Did two runs write into this folder? Read each of them "
                    "with jobprof aggregate."}},
    [JP_REASON_TWINS] =
        {INCOMPLETE("twins"), .command = SHOW,
         .situation = "two communicators of one process have one id, as NCCL "
                      "2.23 gives them to splits of one colour",
         .checks = {"NCCL 2.24 and later give each communicator an id of its "
                    "own."}},
    [JP_REASON_UNSEEN] =
        {INCOMPLETE("unseen"), .command = SHOW,
         .situation = "NCCL reported no event of collectives",
         .checks = {"NCCL reports no event of symmetric kernels and copy "
                    "engines. Ranks can be compared in a run without them."}},
    [JP_REASON_IN_FLIGHT] =
        {INCOMPLETE("in_flight"),
         .command = {"jobprof show --pending", false, true},
         .situation = "operations had waited for much of the run when the "
                      "records end",
         .checks = {"Ranks waited when the records end. jobprof show --pending "
                    "says in what, and for whom."}},
    [JP_REASON_UNEVEN] =
        {INCOMPLETE("uneven"), .command = SHOW,
         .situation = "the records of some ranks end before those of others",
         .checks = {"How did the processes end whose records stop first? Look "
                    "at their output."}},
    [JP_REASON_MISCOUNTED] =
        {INCOMPLETE("miscounted"), .command = SHOW,
         .situation = "there are more records than the recorder has counted",
         .checks = {"Do all files belong to one run? Its counts say fewer "
                    "records."}},
    [JP_REASON_ELSEWHERE] =
        {INCOMPLETE("elsewhere"), .command = SHOW,
         .situation = "the missing ranks are in other steps of the job",
         .checks = {"Its communicators have ranks in other steps: read the "
                    "report of the job, ../job/report.html.",
                    "It is made when the last of these steps ends, and by "
                    "jobprof report JOBID."}},
    [JP_REASON_LOST_COMMS] =
        {INCOMPLETE("lost_comms"),
         .situation = "a process had more communicators than the recorder "
                      "keeps",
         .checks = {"The recorder keeps 4,096 communicators of a process at a "
                    "time. Are communicators destroyed?"}},
    [JP_REASON_LOST] =
        {INCOMPLETE("lost"),
         .situation = "the recorder counted operations that it could not keep",
         .checks =
             {"The recorder could not keep all records. Size the next run "
              "with jobprof plan --from."}},
    [JP_REASON_OVERWRITTEN] =
        {INCOMPLETE("overwritten"),
         .situation = "Inspector counted records that it overwrote before it "
                      "wrote them",
         .checks = {"Inspector's rings were full. A larger ring= or a shorter "
                    "interval= keeps more."}},
    [JP_REASON_POOLS] =
        {INCOMPLETE("pools"),
         .situation = "pools of the example plugin are full",
         .checks = {"The profiler's pools were full. Size the next run with "
                    "jobprof plan --from."}},
    [JP_REASON_TAIL] =
        {INCOMPLETE("tail"),
         .situation = "iterations= and colls= say that all ranks lost their "
                      "last operations",
         .checks = {"Did the program do as many operations as iterations= and "
                    "colls= say?"}},
    [JP_REASON_NODES] =
        {INCOMPLETE("nodes"), .command = SHOW,
         .situation = "nodes left no record",
         .checks = {"Did tasks start on the nodes without a record, and can "
                    "they write to the report's directory?"}},
    [JP_REASON_UNFINISHED] =
        {INCOMPLETE("unfinished"), .command = SHOW,
         .situation = "a node did not finish, and its records are not counted",
         .checks = {"Was the node that did not finish lost, or its slurmstepd "
                    "killed?"}},
    [JP_REASON_FOLDER] =
        {INCOMPLETE("folder"), .command = SHOW,
         .situation = "files stayed in the user's own folder",
         .checks = {"Files stayed in the user's own folder. jobprof aggregate "
                    "reads them there."}},
    [JP_REASON_RANKS_TRACED] =
        {INCOMPLETE("ranks_traced"), .command = SHOW,
         .situation = "ranks of the largest communicator have no trace of "
                      "kernels",
         .checks = {"Are the traces of all ranks here? PyTorch's profiler "
                    "writes one for each rank that starts it."}},
    [JP_REASON_RANKS] =
        {INCOMPLETE("ranks"), .command = SHOW,
         .situation = "ranks of the largest communicator left no record",
         .checks =
             {"Why did some ranks leave no records? Look at the output of "
              "their processes."}},
    [JP_REASON_COMMS] =
        {INCOMPLETE("comms"), .command = SHOW,
         .situation = "other communicators have missing ranks",
         .checks =
             {"Ranks of some communicators left no records there. jobprof "
              "show --comm lists those that did."}},
    [JP_REASON_DAMAGED] =
        {INCOMPLETE("damaged"), .command = SHOW,
         .situation = "blocks of recordings are damaged",
         .checks = {"Blocks of recordings are damaged. Is the file system "
                    "well?"}},
    [JP_REASON_BAD_LINES] =
        {INCOMPLETE("bad_lines"), .command = SHOW,
         .situation = "many lines of logs could not be read",
         .checks =
             {"Lines could not be read. The notes on files name the first "
              "ones."}},
    [JP_REASON_MEMORY] =
        {INCOMPLETE("memory"), .command = SHOW,
         .situation = "records did not fit into the memory limit",
         .checks = {"The memory limit left records out. jobprof aggregate "
                    "--memory raises it."}},
    [JP_REASON_CUT] =
        {INCOMPLETE("cut"), .command = SHOW,
         .situation = "recordings have no end, and more than their last moment "
                      "may be missing",
         .checks =
             {"Were processes killed, or was the disk full? Then the last "
              "records are missing."}},
    [JP_REASON_STEPS_DIFFER] =
        {INCOMPLETE("steps_differ"), .command = SHOW,
         .situation = "traces of kernels have more operations of some ranks "
                      "than of others",
         .checks =
             {"Were the same steps traced on all ranks? Give the profiler "
              "one schedule on all of them."}},
    [JP_REASON_UNKNOWN_CUT] =
        {INCOMPLETE("unknown_cut"),
         .situation = "records are missing of a step that did not end well, or "
                      "of which the end is unknown, for none of the reasons "
                      "above",
         .checks = {"Was the step cut short? Then each rank's last records are "
                    "missing.",
                    "Is the disk or the quota of the step's directory full?"}},
    [JP_REASON_UNKNOWN_LOSS] =
        {INCOMPLETE("unknown_loss"),
         .situation = "records are missing of a step that ended well, for none "
                      "of the reasons above",
         .checks = {"Was the profiler's memory full? Size the next run with "
                    "jobprof plan --from.",
                    "Is the disk or the quota of the step's directory full?"}},

    [JP_REASON_ONE_RANK] = {UNJUDGED("one_rank"), .command = SHOW,
                            .situation = "the job has one rank, so no other "
                                         "waits for it",
                            .says = "only one rank, so no other"},
    [JP_REASON_ONE_RECORDED] = {UNJUDGED("one_recorded"), .command = SHOW,
                                .situation = "only one of several ranks has "
                                             "records",
                                .says = "only one rank has records"},
    [JP_REASON_WAITS_UNKNOWN] =
        {UNJUDGED("waits_unknown"),
         .situation = "the memory limit is too small to sum up waits",
         .says = "too many records to sum up waits"},
    [JP_REASON_NO_PROCESSES] =
        {UNJUDGED("no_processes"), .command = SHOW,
         .situation = "records do not say which ranks are one process",
         .says = "do not tell the processes apart"},
    [JP_REASON_NO_TIMES] = {UNJUDGED("no_times"), .command = SHOW,
                            .situation = "most operations have no time",
                            .says = "most operations have no time"},
    [JP_REASON_BLIND] = {UNJUDGED("blind"),
                         .situation = "times vary so much that no lateness "
                                      "would be seen",
                         .says = HYPOTHESIS_BLIND},
    [JP_REASON_NO_WAITS] =
        {UNJUDGED("no_waits"),
         .situation = "no operation in which ranks wait for each other has the "
                      "records of all its ranks",
         .says = "no operation in which ranks wait"},
    [JP_REASON_ABSENT] =
        {UNJUDGED("absent"), .command = SHOW,
         .situation = "ranks have no records, or not of all operations, and "
                      "what the others waited for is not known",
         .says = "what the others waited for"},
    [JP_REASON_APART] =
        {UNJUDGED("apart"), .command = SHOW,
         .situation = "each communicator has one rank, so none waits for "
                      "another",
         .says = "no communicator has two ranks"},
    [JP_REASON_NO_BARRIERS] =
        {UNJUDGED("no_barriers"), .command = SHOW,
         .situation = "the job has collectives, but none in which all ranks "
                      "wait for each other (as in Broadcast and Reduce)",
         .says = "no operation in which all ranks wait"},
    [JP_REASON_UNEQUAL_ALLTOALLS] =
        {UNJUDGED("unequal_alltoalls"), .command = SHOW,
         .situation = "the job has only AlltoAlls of Send and Recv whose sizes "
                      "differ",
         .says = "AlltoAlls are of Send and Recv of different sizes"},
    [JP_REASON_MESSAGES] = {UNJUDGED("messages"), .command = SHOW,
                            .situation = "the job has only Send and Recv that "
                                         "form no AlltoAll",
                            .says = "only Send and Recv that are no AlltoAll"},
    [JP_REASON_FEW] = {UNJUDGED("few"),
                       .situation =
                           "there are too few complete operations of a "
                           "kind",
                       .says = "too few to compare ranks"},
    [JP_REASON_TORN] = {UNJUDGED("torn"), .command = SHOW,
                        .situation = "operations that the order of traces of "
                                     "kernels joins do not overlap in time",
                        .says = "the order of the traces joins"},
    /* INCOMPLETE when the step is over */
    [JP_REASON_SHARED_SO_FAR] =
        {UNJUDGED("shared_so_far"), .command = SHOW,
         .situation = "the step still runs, and ranks have records of two "
                      "processes",
         .says = "the records of several runs are mixed"},
    [JP_REASON_TWINS_SO_FAR] =
        {UNJUDGED("twins_so_far"), .command = SHOW,
         .situation = "the step still runs, and two communicators of one "
                      "process have one id",
         .says = "two communicators have one id"},
    [JP_REASON_UNSEEN_SO_FAR] =
        {UNJUDGED("unseen_so_far"), .command = SHOW,
         .situation = "the step still runs, and NCCL reported no event of "
                      "collectives",
         .says = "NCCL reported too few of the collectives"},
    [JP_REASON_ROUGH] = {UNJUDGED("rough"),
                         .situation = "only an effect above 3 % of the run "
                                      "would have been seen, or more than 3 % "
                                      "of the operations were left out"},
    [JP_REASON_FIGURES_ONLY] = {UNJUDGED("figures_only"),
                                .situation = "only utilisation or clocks were "
                                             "profiled"},
};

void reasons_add_row(struct jp_reasons *reasons,
                     const struct jp_reason_row *row)
{
    for (unsigned i = 0; reasons && i < reasons->n; i++)
        if (reasons->of[i] == row)
            return;
    if (reasons && reasons->n < JP_PLAIN_CHECKS)
        reasons->of[reasons->n++] = row;
}

void reasons_add(struct jp_reasons *reasons, enum jp_reason reason)
{
    if (reason < JP_REASONS)
        reasons_add_row(reasons, &reasons_table[reason]);
}

enum jp_reason reasons_number(const struct jp_reason_row *row)
{
    for (int i = 0; i < JP_REASONS; i++)
        if (row == &reasons_table[i])
            return (enum jp_reason) i;
    return JP_REASONS;
}

void reasons_checks(const struct jp_reasons *reasons,
                    const char *checks[JP_PLAIN_CHECKS])
{
    unsigned n = 0;

    for (unsigned i = 0; i < reasons->n; i++) {
        const char *const *of = reasons->of[i]->checks;

        for (unsigned k = 0; k < JP_PLAIN_CHECKS && of[k]; k++)
            if (n < JP_PLAIN_CHECKS)
                checks[n++] = of[k];
    }
    while (n < JP_PLAIN_CHECKS)
        checks[n++] = NULL;
}

enum jp_reason reasons_find(const char *why)
{
    for (int i = 0; i < JP_REASONS; i++)
        if (reasons_table[i].says && strstr(why, reasons_table[i].says))
            return (enum jp_reason) i;
    return JP_REASONS;
}
