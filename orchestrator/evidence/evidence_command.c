/* evidence_command.c - `jobprof evidence` and `jobprof-node evidence`: examine
 * the processes of a hanging step on this node.
 *
 * The processes are named by the command line (an agent does this, which knows
 * from all nodes who waits for whom), or found by the recordings of this node
 * (find_targets). evidence/ collects the data; this file makes the order for it
 * (set_order). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "common/knob.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/evidence/evidence.h"
#include "orchestrator/evidence/hangstacks.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/topo/rankread.h"

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

/* Parses "PID" or "PID:START". */
static int parse_process(char *word, struct evidence_target *one,
                         struct jp_error *err)
{
    char *start = strchr(word, ':');

    if (start)
        *start++ = '\0';
    if (num_parse_i64(word, 1, INT32_MAX, &one->pid, err) < 0)
        return error_wrap(err, "PID");
    if (start && num_parse_u64(start, 1, UINT64_MAX, &one->start, err) < 0)
        return error_wrap(err, "START");
    return 0;
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
        if (parse_process(word, one, err) < 0)
            return -1;
        order->n_targets++;
    }
    return 0;
}

static const struct cmd_option rows[] = {
    {"missing", "PID[:START],...",
     "look only at these, which keep others waiting; START is field 22 of "
     "/proc/PID/stat, and a process that started at another time is left alone",
     OPT_TAKE(take_pids), .min = EVIDENCE_MISSING},
    {"waiting", "PID[:START],...", "and at these, which wait",
     OPT_TAKE(take_pids), .min = EVIDENCE_WAITING},
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
static int parse_arguments(int argc, char **argv, struct arguments *a)
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

/* --- which processes ------------------------------------------------------ */

/* find_targets chooses the processes of a node to examine and collects the
 * facts for a RAS query, from the recordings of a running step.
 *
 * A missing rank is one that has not entered an operation that others are in.
 * Up to TARGETS_VICTIMS of the waiting ranks are examined as well. If nothing
 * is in flight or no recorder runs, all tasks of the node are taken, without
 * roles. */

#define TARGETS_TEXT 600 /* bytes of the answer */
#define TARGETS_VICTIMS 2

/* A process of this node when it started, from a record of the step. */
struct started {
    int64_t pid;
    uint64_t pid_namespace, start;
};

struct targets {
    struct jp_hangs hangs;
    struct started *started;
    size_t n_started;
    uint64_t recordings; /* number of the step's recordings visible here */
    char answer[TARGETS_TEXT];
    struct evidence_target list[EVIDENCE_TARGETS];
    size_t n;
    /* from this node's processes. nccl_release: oldest NCCL release
     * (JP_NCCL_RELEASE); 0: unknown. quiet_ms: time since the last communicator
     * was made; UINT64_MAX: none was made. entries: number of ranks, summed
     * over all communicators */
    uint32_t nccl_release;
    uint64_t quiet_ms, entries;
};

struct targets_step {
    const char *dir, *root;
    struct proclook_step of; /* the names are set */
    bool own; /* the missing ranks are known: read only raw/<node>/ and choose
               * no process */
};

static void free_targets(struct targets *targets)
{
    hangs_fini(&targets->hangs);
    free(targets->started);
    targets->hangs = (struct jp_hangs){0};
    targets->started = NULL;
    targets->n_started = 0;
}

/* Limits: communicators counted, and time to read the recordings. */
enum { COMMS = 4096, READ_MS = 8000 };

/* The recordings of a step, read file by file. */
struct reading {
    const struct targets_step *step;
    struct targets *out;
    struct jp_recwalk walk;
    struct hangs_sum sum;
    /* of the file that is being read */
    struct hangs_file file;
    bool *here;            /* by process of the sum: it is on this node */
    uint64_t comms[COMMS]; /* hashes of this node's, without duplicates */
    size_t n_comms;
    uint64_t made_ns; /* CLOCK_MONOTONIC of the last one */
    uint64_t end_ms;  /* when to stop reading, CLOCK_MONOTONIC */
};

/* Ends the reading when the time is over, because other nodes' recordings may
 * be large. Ranks whose file was not read are not blamed. */
static int is_over(void *arg)
{
    const struct reading *r = arg;

    return clock_mono_ms() >= r->end_ms;
}

/* Counts a communicator's entries for RAS once, and notes when the last one was
 * made. */
static void note_comm(struct reading *r, const struct jpr_comm *comm)
{
    if (comm->init_mono_ns > r->made_ns)
        r->made_ns = comm->init_mono_ns;
    for (size_t i = 0; i < r->n_comms; i++)
        if (r->comms[i] == comm->id)
            return;
    /* Beyond the limit duplicates are counted again, which only makes RAS less
     * likely to be asked. */
    if (r->n_comms < COMMS)
        r->comms[r->n_comms++] = comm->id;
    r->out->entries += comm->n_ranks > 0 ? (uint64_t) comm->n_ranks : 1;
}

/* Converts NCCL's release number to that of the knobs: 23007 is 2.30.7. */
static uint32_t release_of(uint64_t number)
{
    return number && number < 1000000
               ? JP_NCCL_RELEASE((uint32_t) number / 10000,
                                 (uint32_t) number / 100 % 100,
                                 (uint32_t) number % 100)
               : 0;
}

/* Takes what a RAS query needs from a record of this node. */
static void note(struct reading *r, const struct jpr_record *record)
{
    uint32_t release;

    if (record->type == JPR_COMM) {
        note_comm(r, record->comm);
    } else if (record->type == JPR_HEADER) {
        release = release_of(record->header->nccl_release);
        if (release &&
            /* The oldest release decides whether a query is safe. */
            (!r->out->nccl_release || release < r->out->nccl_release))
            r->out->nccl_release = release;
    }
}

/* Whether the file is below raw/<node>/. */
static bool is_here(const struct reading *r)
{
    size_t len = strlen(r->step->of.node);
    const char *below = r->walk.below;

    below += *below == '/';
    /* own: only this node's folder is read. */
    if (r->step->own)
        return true;
    return strncmp(below, r->step->of.node, len) == 0 && below[len] == '/';
}

/* Notes when a process of this node started. Returns -1 without memory. */
static int note_start(struct targets *out, const struct started *one)
{
    if (one->pid <= 0 || !one->start)
        return 0;
    if (VECTOR_DOUBLE(out->started, out->n_started) < 0)
        return -1;
    out->started[out->n_started++] = *one;
    return 0;
}

/* Reads one recording into the sum. Returns -1 without memory. */
static int read_file(struct reading *r)
{
    bool here = is_here(r);
    struct hangs_evidence evidence;
    struct jpr_record record;
    size_t before = r->sum.hangs->n_processes, now;
    int rc;

    while (recwalk_record(&r->walk, &record)) {
        if (here)
            note(r, &record);
        if (hangs_file_add(&r->file, &r->walk.file, &record) < 0)
            return -1;
    }
    if (hangs_file_end(&r->file, &r->walk.file, &evidence) < 0)
        return -1;
    rc = hangs_sum_add(&r->sum, &evidence);
    if (rc == 0 && here)
        rc =
            note_start(r->out, &(struct started){evidence.process.pid,
                                                 evidence.process.pid_namespace,
                                                 evidence.process.start});
    hangs_evidence_fini(&evidence);
    now = r->sum.hangs->n_processes;
    if (rc < 0 || vector_resize(&r->here, now + 1, sizeof(*r->here)) < 0)
        return -1;
    /* One flag for each process, in the order of hangs_sum_add. */
    while (before < now)
        r->here[before++] = here;
    return 0;
}

/* Reads all recordings. A step without a recorder has no folder; that is no
 * error. */
static int read_all(struct reading *r, struct jp_error *err)
{
    char *raw = r->step->own
                    ? text_format("%s/raw/%s", r->step->dir, r->step->of.node)
                    : text_format("%s/raw", r->step->dir);
    const char *inputs[] = {raw};
    int rc = raw ? 0 : error_set(err, "out of memory");
    bool there = raw && stepdir_is_folder(raw);

    if (there)
        rc = recwalk_init(&r->walk, inputs, 1, err);
    if (there && rc == 0) {
        /* The walk calls it while it reads large files. */
        r->walk.look = is_over;
        r->walk.look_arg = r;
        while (rc == 0 && recwalk_open(&r->walk))
            rc = read_file(r);
        if (rc == 0)
            rc = hangs_sum_finish(&r->sum);
        if (rc < 0)
            error_set(err, "out of memory");
        r->out->recordings = r->walk.files;
        hangs_sum_fini(&r->sum);
        hangs_file_fini(&r->file);
        recwalk_fini(&r->walk);
    }
    free(raw);
    return rc;
}

/* Adds a process once, with the role it was found in first. */
static void add_target(struct targets *out,
                       const struct evidence_target *target)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->list[i].pid == target->pid &&
            out->list[i].pid_namespace == target->pid_namespace)
            return;
    if (target->pid <= 0)
        return;
    /* processes beyond the limit are left out */
    if (out->n < EVIDENCE_TARGETS)
        out->list[out->n++] = *target;
}

/* Adds a process by its index in the sum, if it is on this node. */
static void add_process(const struct reading *r, uint32_t process,
                        enum evidence_role role)
{
    const struct hangs_process *p;

    if (process >= r->out->hangs.n_processes || !r->here[process])
        return;
    p = &r->out->hangs.processes[process];
    add_target(r->out,
               &(struct evidence_target){.pid = p->pid,
                                         .pid_namespace = p->pid_namespace,
                                         .start = p->start,
                                         .task = p->task,
                                         .role = role});
}

/* Whether a rank has not entered the operation, as far as is known. */
static bool is_missing(enum hangs_state state)
{
    return state == HANGS_MISSING || state == HANGS_HELD ||
           state == HANGS_UNSURE;
}

/* Adds the ranks that have not entered the group's operation, as far as is
 * known. */
static void add_missing(const struct reading *r,
                        const struct hangs_group *group)
{
    for (uint32_t i = 0; group->states && i < group->n_ranks; i++)
        if (is_missing((enum hangs_state) group->states[i]))
            add_process(r, group->processes[i], EVIDENCE_MISSING);
}

/* Waiting processes that are chosen so far, of all groups. */
static size_t count_waiting(const struct targets *out)
{
    size_t n = 0;

    for (size_t i = 0; i < out->n; i++)
        n += out->list[i].role == EVIDENCE_WAITING;
    return n;
}

/* Adds processes that wait in the group's operation, up to the limit over all
 * groups. */
static void add_waiting(const struct reading *r,
                        const struct hangs_group *group)
{
    const struct jp_hangs *hangs = &r->out->hangs;

    for (size_t i = 0;
         i < group->n_ops && count_waiting(r->out) < TARGETS_VICTIMS; i++)
        add_process(r, hangs->ops[group->first + i].process, EVIDENCE_WAITING);
}

/* Missing ranks first: they are the likely cause. */
static void choose(const struct reading *r)
{
    const struct jp_hangs *hangs = &r->out->hangs;

    for (size_t i = 0; i < hangs->n_groups; i++)
        add_missing(r, &hangs->groups[i]);
    /* keeps room for waiting ranks */
    if (r->out->n > EVIDENCE_TARGETS - TARGETS_VICTIMS)
        r->out->n = EVIDENCE_TARGETS - TARGETS_VICTIMS;
    for (size_t i = 0; i < hangs->n_groups; i++)
        add_waiting(r, &hangs->groups[i]);
}

/* Chooses all tasks of the node, because the missing ranks are unknown. */
static void choose_all(const struct targets_step *step, struct targets *out)
{
    struct proclook_task tasks[EVIDENCE_TARGETS];
    size_t n = proclook_tasks(step->root, &step->of, tasks, EVIDENCE_TARGETS);

    for (size_t i = 0; i < n; i++)
        add_target(out, &(struct evidence_target){.pid = tasks[i].pid,
                                                  .start = tasks[i].start,
                                                  .task = tasks[i].task,
                                                  .role = EVIDENCE_TASK});
}

/* Notes the starts of the tasks from starts.jsonl. Returns -1 without memory.
 */
static int read_starts(const struct targets_step *step, struct targets *out,
                       struct jp_error *err)
{
    struct jp_rank_records records = {0};
    int rc = rankread_starts(&records, step->dir, step->of.node, err);

    for (size_t i = 0; i < records.n_tasks && rc == 0; i++) {
        const struct jp_rankmap_task *task = &records.tasks[i];

        if (note_start(out, &(struct started){task->pid, task->pid_ns,
                                              task->start}) < 0)
            rc = error_set(err, "out of memory");
    }
    rankread_fini(&records);
    return rc;
}

/* The recordings first; /proc only if nothing is in flight. Returns 0, and the
 * caller frees with free_targets; or -1 without memory, or if the recordings
 * cannot be read. */
static int find_targets(const struct targets_step *step, struct targets *out,
                        struct jp_error *err)
{
    struct reading *r = calloc(1, sizeof(*r));
    uint64_t now_ms = clock_mono_ms();
    int rc = -1;

    /* Until a recording names one, no communicator was made. */
    *out = (struct targets){.quiet_ms = UINT64_MAX};
    if (!r)
        return error_set(err, "out of memory");
    r->step = step;
    r->out = out;
    r->sum.hangs = &out->hangs;
    r->end_ms = now_ms + READ_MS;
    if (read_all(r, err) == 0 && read_starts(step, out, err) == 0) {
        if (r->made_ns)
            out->quiet_ms = now_ms > r->made_ns / 1000000
                                ? now_ms - r->made_ns / 1000000
                                : 0;
        if (out->hangs.n_groups && !step->own)
            hangs_answer(&out->hangs, out->answer, sizeof(out->answer));
        if (!step->own)
            choose(r);
        if (!out->n && !out->hangs.n_groups && !step->own)
            choose_all(step, out);
        rc = 0;
    }
    if (rc < 0)
        free_targets(out);
    free(r->here);
    free(r);
    return rc;
}

/* --- the order ------------------------------------------------------------ */

/* Sets the start times of the processes that are named by their number alone,
 * where the step has recorded them: then a later process with the number is not
 * taken for them. Of several records of a number, the last start counts. */
static void set_starts(struct evidence_order *order,
                       const struct targets *found)
{
    struct stat st;
    uint64_t own = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;

    for (size_t i = 0; i < order->n_targets; i++) {
        struct evidence_target *target = &order->targets[i];
        uint64_t start = 0;

        for (size_t k = 0; k < found->n_started; k++) {
            const struct started *one = &found->started[k];

            if (one->pid == target->pid && one->start > start &&
                (one->pid_namespace == target->pid_namespace ||
                 (!target->pid_namespace &&
                  (!one->pid_namespace || one->pid_namespace == own))))
                start = one->start;
        }
        if (!target->start)
            target->start = start;
    }
}

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

/* Prints what could not be collected, from the file that was just written. */
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
static int take_evidence(struct arguments *a, const struct targets *found)
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
    set_starts(&a->order, found);
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
static int examine_step(struct arguments *a, const struct jp_jobconf *conf)
{
    /* The step directory is this user's (run_command), and so is the step. */
    const struct targets_step step = {.dir = a->order.dir,
                                      .root = "",
                                      .of = {.uid = geteuid(),
                                             .job = conf->job_id,
                                             .step = conf->step_id,
                                             .node = a->order.node},
                                      .own = a->order.n_targets > 0};
    /* only an agent's request has the sentence about the hang */
    char *hang = step.own ? asked_hang(a->order.dir) : NULL;
    struct jp_error err = {""};
    struct targets found;
    int rc;

    a->order.root = "";
    a->order.step = step.of;
    a->order.what = hang;
    if (find_targets(&step, &found, &err) == 0) {
        rc = take_evidence(a, &found);
        free_targets(&found);
    } else {
        rc = failed(&err);
    }
    free(hang);
    return rc;
}

static int run_command(int argc, char **argv)
{
    struct arguments a = {.nccl = 0};
    int rc = parse_arguments(argc, argv, &a);
    struct jp_error err = {""};
    struct jp_jobconf conf;

    if (rc >= 0)
        return rc;
    /* a caller may ignore it, and the exit of children would go unnoticed */
    signal(SIGCHLD, SIG_DFL);
    /* the files of another user's step must not be trusted */
    if (stepdir_hold(a.order.dir, &err) < 0 ||
        jobconf_read_step(a.order.dir, NULL, &conf, &err) < 0) {
        rc = failed(&err);
    } else {
        confine_timer(
            (a.order.limit_ms ? a.order.limit_ms : EVIDENCE_LIMIT_MS) +
                SPARE_MS,
            NULL);
        rc = examine_step(&a, &conf);
        jobconf_fini(&conf);
    }
    return rc;
}

extern const struct command command_evidence;
const struct command command_evidence = {
    .name = "evidence",
    .run = run_command,
    .summary = "examine the processes of a hanging step on this node",
    .take_evidence = evidence_start,
};
