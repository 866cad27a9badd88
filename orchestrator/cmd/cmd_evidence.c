/* cmd_evidence.c - `jobprof evidence` and `jobprof-node evidence`: examine the
 * processes of a hanging step on this node.
 *
 * The processes are named by the command line (an agent does this, which knows
 * from all nodes who waits for whom), or found by the recordings of this node.
 * evidence/ collects the data; this file makes the order for it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/evidence/evidence.h"
#include "orchestrator/evidence/hangstacks.h"

/* Limit of --limit. */
#define MAX_LIMIT_US 60000000
/* Longest request file that is read. */
#define WANT_BYTES 16384
#define SPARE_MS 15000 /* time for reading the recordings first */

struct arguments {
    struct evidence_order order;
    uint32_t nccl; /* JP_NCCL_RELEASE; 0: from the recordings */
    bool no_ras, quiet;
    char host[256];
};

/* Prints the error. Returns JP_EXIT_IO. */
static int failed(const struct jp_error *err)
{
    quote_printf(stderr, "jobprof: evidence: %s\n", err->text);
    return JP_EXIT_IO;
}

/* Adds the processes of --missing or --waiting, whose role is row->min. */
static int take_pids(void *arguments, const struct cmd_option *row, char *list,
                     struct jp_error *err)
{
    struct evidence_order *order = &((struct arguments *) arguments)->order;
    char *word;

    while ((word = strsep(&list, ","))) {
        struct evidence_target *one = &order->targets[order->n_targets];

        if (order->n_targets >= EVIDENCE_TARGETS)
            return error_set(err, "more than 16 processes");
        *one = (struct evidence_target){.task = -1,
                                        .role = (enum evidence_role) row->min};
        if (num_parse_i64(word, 1, INT32_MAX, &one->pid, err) < 0)
            return error_wrap(err, "PID");
        order->n_targets++;
    }
    return 0;
}

static const struct cmd_option rows[] = {
    {"missing", "PID,...", "look only at these, which keep others waiting",
     OPT_TAKE(take_pids), .min = EVIDENCE_MISSING},
    {"waiting", "PID,...", "and at these, which wait", OPT_TAKE(take_pids),
     .min = EVIDENCE_WAITING},
    {"node", "NAME",
     "this node's name (default SLURMD_NODENAME, else the host name)",
     OPT_TEXT(order.node)},
    {"nccl", "X.Y.Z",
     "NCCL release, if no recording has it; RAS of an unknown release is not "
     "queried",
     OPT_RELEASE(nccl)},
    {"no-ras", NULL, "do not query NCCL's RAS", OPT_FLAG(no_ras)},
    {"no-gpus", NULL, "do not run nvidia-smi", OPT_FLAG(order.no_gpus)},
    {"limit", "TIME", "time limit (20s; at most 60s)",
     OPT_TIME_MS(order.limit_ms, 1000000, MAX_LIMIT_US)},
    {"quiet", NULL, "do not print what could not be collected", OPT_FLAG(quiet),
     .letter = 'q'},
};

static const struct cmd_options command_line = {
    .command = "evidence",
    .about = "usage: jobprof evidence [options] DIR\n\n"
             "Look at the processes of a step on this node while they hang, "
             "and write what they do to DIR/hang/<node>/: threads and what "
             "they wait for, PyTorch's flight recorder, NCCL's RAS, the GPUs' "
             "state, stacks by eu-stack and py-spy. DIR is the step's "
             "directory. The processes are those for which others wait, as the "
             "recordings show, and two of those that wait. If no operation is "
             "known to be in flight, they are all tasks of the step on this "
             "node. No process is killed. A process stops for some ms while "
             "eu-stack reads a thread. To run it on all nodes of job 42:\n\n"
             "    srun --jobid=42 --overlap -N2 --ntasks-per-node=1 \\\n"
             "        jobprof evidence jobprof-42/step-0\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 4 no process of the step on this node, "
           "5 input or output failed.\n",
    .least = 1,
    .most = 1,
    .need = "takes one DIR",
};

/* Returns -1 to continue, otherwise an exit status. */
static int parse(int argc, char **argv, struct arguments *a)
{
    int rc = cmd_options_parse(&command_line, argc, argv, a);

    if (rc >= 0)
        return rc;
    /* .least makes sure that it is there */
    a->order.dir = argv[optind];
    if (!a->order.node)
        a->order.node = getenv("SLURMD_NODENAME");
    /* Slurm's node names are usually host names without the domain */
    if (!a->order.node && gethostname(a->host, sizeof(a->host) - 1) == 0) {
        a->host[strcspn(a->host, ".")] = '\0';
        a->order.node = a->host;
    }
    return stepdir_name_ok(a->order.node)
               ? -1
               : cmd_options_usage(&command_line,
                                   "--node: the name cannot be part of a path");
}

/* --- the order ------------------------------------------------------------ */

/* Fills the order from *found, which it borrows: the operations in flight, the
 * hang's sentence if the order has none, and whether and how to query RAS. */
static void set_order(struct arguments *a, const struct targets *found,
                      int64_t pids[EVIDENCE_TARGETS])
{
    struct evidence_order *order = &a->order;
    const char *why = NULL;

    for (size_t i = 0; i < order->n_targets; i++)
        pids[i] = order->targets[i].pid;
    order->ras.pids = pids;
    order->ras.n_pids = order->n_targets;
    order->no_ras = a->no_ras ? "--no-ras" : NULL;
    order->hangs = &found->hangs;
    if (!order->what)
        order->what = found->answer;
    if (!order->no_ras &&
        !ras_may_ask(a->nccl ? a->nccl : found->nccl_release, false,
                     found->quiet_ms, found->entries, &order->ras.json, &why))
        order->no_ras = why;
}

/* Prints what could not be collected, by the file that was just written. */
static void print_lacks(const char *dir, const char *node)
{
    char *path = text_format("%s/" EVIDENCE_FOLDER "/%s", dir, node);
    struct hangstacks *view = NULL;

    if (path && hangstacks_load_node(path, &view, NULL) == 0)
        hangstacks_print_lacks(view, stderr);
    hangstacks_destroy(view);
    free(path);
}

/* The request of node 0's agent in live/live.want: "hang N TEXT". Caller frees;
 * NULL: none. */
static char *asked_hang(const char *dir)
{
    char *path = text_format("%s/live/live.want", dir), *text = NULL, *rest;
    char *line, *hang = NULL;

    if (path && fileio_read(path, false, WANT_BYTES, &text, NULL, NULL) == 0) {
        rest = text;
        while (!hang && (line = strsep(&rest, "\n")))
            /* the file has other requests as well */
            if (strncmp(line, "hang ", 5) == 0 && strchr(line + 5, ' '))
                hang = strdup(strchr(line + 5, ' ') + 1);
    }
    free(text);
    free(path);
    return hang;
}

/* Collects and writes the evidence. Returns an exit status. */
static int take(struct arguments *a, const struct targets *found)
{
    int64_t pids[EVIDENCE_TARGETS];
    struct jp_error err = {""};

    /* none was named: take those that the recordings show */
    if (!a->order.n_targets) {
        memcpy(a->order.targets, found->list, sizeof(found->list));
        a->order.n_targets = found->n;
    }
    if (!a->order.n_targets) {
        if (!a->quiet)
            fprintf(stderr, "jobprof: evidence: no process of the step on this "
                            "node waits or keeps others waiting\n");
        return JP_EXIT_NODATA;
    }
    /* only a warning: stacks may explain the hang */
    if (!a->quiet && !found->recordings)
        fprintf(stderr, "jobprof: no recording found, so the operations in "
                        "flight are unknown\n");
    set_order(a, found, pids);
    if (evidence_take(&a->order, &err) < 0)
        return failed(&err);
    quote_printf(stdout, "%s/" EVIDENCE_FOLDER "/%s/" EVIDENCE_NAME "\n",
                 a->order.dir, a->order.node);
    if (!a->quiet)
        print_lacks(a->order.dir, a->order.node);
    return JP_EXIT_OK;
}

/* Finds the step's processes on this node and examines them. Returns an exit
 * status. */
static int run(struct arguments *a, const struct jp_jobconf *conf)
{
    const struct targets_step step = {.dir = a->order.dir,
                                      .node = a->order.node,
                                      .root = "",
                                      .job = conf->job_id,
                                      .step = conf->step_id,
                                      .own = a->order.n_targets > 0};
    /* only an agent's request has the sentence about the hang */
    char *hang = step.own ? asked_hang(a->order.dir) : NULL;
    struct jp_error err = {""};
    struct targets found;
    int rc;

    a->order.root = "";
    a->order.job = conf->job_id;
    a->order.what = hang;
    if (targets_find(&step, &found, &err) == 0) {
        rc = take(a, &found);
        targets_fini(&found);
    } else {
        rc = failed(&err);
    }
    free(hang);
    return rc;
}

int cmd_evidence(int argc, char **argv)
{
    struct arguments a = {.nccl = 0};
    int rc = parse(argc, argv, &a);
    struct jp_error err = {""};
    struct jp_jobconf conf;
    char *path;

    if (rc >= 0)
        return rc;
    /* an agent ignores it, and the exit of children would go unnoticed */
    signal(SIGCHLD, SIG_DFL);
    path = text_format("%s/" JP_JOBCONF_NAME, a.order.dir);
    /* the files of another user's step must not be trusted */
    if (!path || stepdir_check_own(a.order.dir, &err) < 0 ||
        jobconf_read(path, &conf, &err) < 0) {
        rc = failed(&err);
    } else {
        confine_timer(
            (a.order.limit_ms ? a.order.limit_ms : EVIDENCE_LIMIT_MS) +
                SPARE_MS,
            NULL);
        rc = run(&a, &conf);
        jobconf_fini(&conf);
    }
    free(path);
    return rc;
}
