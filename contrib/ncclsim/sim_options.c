/* sim_options.c - the command line: one table for parsing and for --help. */
#include "contrib/ncclsim/sim_options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "contrib/ncclsim/sim_version.h"
#include "plugins/nccl_recorder/nccl_profiler.h"

/* The type of a row's value. */
enum type {
    INT,
    FLAG,
    SWITCH,
    INTERFACE,
    TIME,
    FACTOR,
    TEXT,
    FAULT,
    SEED,
    RATE,
    SIZE,
};

/* `where` is the offset of the member in struct jp_sim_options. min and max
 * limit the value; for a FLAG, max is the value that it sets. */
static const struct row {
    const char *name;
    const char *argument; /* NULL: a flag */
    enum type type;
    size_t where;
    int64_t min, max;
    const char *help;
} rows[] = {
#define AT(member) offsetof(struct jp_sim_options, member)
    {"--iterations", "N", INT, AT(iterations), 0, 1000000000,
     "training iterations (200)"},
    {"--rank", "R", INT, AT(rank), 0, 65535, "our rank (SLURM_PROCID)"},
    {"--nranks", "N", INT, AT(n_ranks), 1, 65536,
     "ranks of the job (SLURM_STEP_NUM_TASKS)"},
    {"--ranks-per-node", "N", INT, AT(ranks_per_node), 1, 65536,
     "ranks of each node (SLURM_STEP_TASKS_PER_NODE)"},
    {"--gpus", "N", INT, AT(gpus), 1, 16,
     "GPUs of each process, with a rank and a thread each; --rank, --nranks\n"
     "        and --ranks-per-node count processes then (1)"},
    {"--seed", "N", SEED, AT(seed), 0, INT64_MAX,
     "communicator ids and noise (job, step and restart count)"},
    {"--interface", "vN", INTERFACE, AT(interface), 1, 7,
     "act as the first NCCL release with this profiler interface: 2.23 v1,\n"
     "        2.24 v2, 2.26 v3, 2.27 v4, 2.28 v5, 2.29 v6 (with all older), "
     "2.31 v7"},
    {"--nccl-version", "X.Y.Z", TEXT, AT(nccl_version), 0, 0,
     "act as this release in all differences (2.23.4, 2.24.3, 2.26.2,\n"
     "        2.27.7, 2.28.3, 2.29.2 or 2.31.2, by --interface); it sets "
     "the interface"},
    {"--p2p", "on|off", SWITCH, AT(p2p), 0, 1,
     "pipeline Send and Recv between neighbouring nodes (on)"},
    {"--pp", NULL, FLAG, AT(pp), 0, 1,
     "a communicator for each two neighbouring nodes and local number"},
    {"--tp-ranks", "N", INT, AT(tp_ranks), 1, 65536,
     "tp has N ranks in a row, as programs make it, and dp every N-th: then "
     "they\n"
     "        go over nodes as Slurm has placed the ranks (a node's)"},
    {"--alltoall", NULL, FLAG, AT(alltoall), 0, 1,
     "an AlltoAll per iteration over all ranks; the plain program: on each\n"
     "        communicator, before the collectives"},
    {"--comms", "N", INT, AT(n_comms), 1, 4096,
     "the plain program, each thread on N communicators of all ranks (1)"},
    {"--colls", "N", INT, AT(colls), 0, 1000000,
     "the plain program, N collectives an iteration and communicator (1)"},
    {"--p2p-ops", "N", INT, AT(p2p_ops), 0, 1000000,
     "the plain program, N Send and Recv an iteration and communicator (0)"},
    {"--group", "N", INT, AT(group), 1, 1024,
     "the plain program, N collectives of one function in each group call:\n"
     "        one launch, which share the channels and their times (1)"},
    {"--bytes", "SIZE", SIZE, AT(bytes), 2, 1LL << 40,
     "size of the plain program's operations (1M)"},
    {"--channels", "N", INT, AT(n_channels), 1, JP_NCCL_MAX_CHANNELS,
     "channels of every operation (2 to 16, by its size)"},
    {"--rate", "N/s", RATE, AT(rate), 1, 1000000000,
     "N operations a second, evenly, over all threads of the process"},
    {"--max-rate", NULL, FLAG, AT(is_inline), 0, 1,
     "the proxy thread's work in the user thread, at its least cost"},
    {"--silent-broadcast", "on|off", SWITCH, AT(silent_broadcast), 0, 1,
     "a Broadcast has API events only, as with NCCL 2.29 to 2.31 (then on, if\n"
     "        --nccl-version names one of them)"},
    {"--graph", "N", INT, AT(graph), 0, 1000000,
     "capture an iteration's collectives into CUDA graphs and replay them N\n"
     "        times an iteration, by a thread of CUDA's (0)"},
    {"--graph-comm", "COMM", TEXT, AT(graph_comm), 0, 0,
     "whose collectives are captured (tp; the plain program's: all)"},
    {"--graph-mix", NULL, FLAG, AT(graph_mix), 0, 1,
     "eager collectives on the same communicators between the replays: after\n"
     "        each, on comm1, comm3, ... before each"},
    {"--symmetric", NULL, FLAG, AT(symmetric), 0, 1,
     "AllReduce, AllGather and ReduceScatter within a node by symmetric "
     "kernels:\n"
     "        API events at most (2.27 on); from 2.31 on all, with phases"},
    {"--mute-from", "N", INT, AT(mute_from), 1, INT32_MAX,
     "from iteration N on NCCL's mask is clear, as RAS can do in 2.31"},
    {"--mute-mask", "BITS", INT, AT(mute_mask), 0, 65535,
     "... or has these events (6: collectives and messages, 66: collectives "
     "and\n"
     "        their kernels)"},
    {"--mute-to", "N", INT, AT(mute_to), 1, INT32_MAX,
     "from iteration N on the mask is there again"},
    {"--tags", NULL, FLAG, AT(tags), 0, 1,
     "calls have tags: a number for each function, from 1 (2.31 on)"},
    {"--copy-engine", NULL, FLAG, AT(copy_engine), 0, 1,
     "AllGather within a node by the copy engines: API events and, from 2.29 "
     "on,\n"
     "        their own; of a graph at its capture only (2.28 on)"},
    {"--quiet-single", "on|off", SWITCH, AT(quiet_single), 0, 1,
     "collectives of a communicator of one rank are not reported, as with\n"
     "        NCCL (on with --nccl-version, else off)"},
    {"--zero-bytes", NULL, FLAG, AT(zero_bytes), 0, 1,
     "the plain program's operations have no bytes: only Send and Recv are "
     "reported"},
    {"--allgatherv", NULL, FLAG, AT(allgatherv), 0, 1,
     "the plain program: a group of two Broadcasts before the collectives, "
     "with\n"
     "        different roots; from 2.29 on API events only, and drift"},
    {"--mixed-protocols", NULL, FLAG, AT(mixed_protocols), 0, 1,
     "the plain program's Send and Recv come small beside large in a launch:\n"
     "        with KernelCh 2.26 and 2.27 fail, exit status 1"},
    {"--collnet", NULL, FLAG, AT(collnet), 0, 1,
     "AllReduce between nodes by CollNet: no number of channels (2.27 on)"},
    {"--pxn", NULL, FLAG, AT(pxn), 0, 1,
     "ProxyOps for another process, with its context and parent, beside ours"},
    {"--together", NULL, FLAG, AT(together), 0, 1,
     "ranks really wait for each other in collectives, as those of NCCL do:\n"
     "        all run at once, on one host, in one folder"},
    {"--meet", NULL, FLAG, AT(meet), 0, 1,
     "as --together, but the GPU's times stay those of the simulated program:\n"
     "        only the ends of collectives are seen after all have begun them"},
    {"--late-events", NULL, FLAG, AT(late_events), 0, 1,
     "kernels of a communicator's last launch are reported after its "
     "finalize,\n"
     "        if there is another communicator, as with a shared proxy"},
    {"--drift", "on|off", SWITCH, AT(drift), 0, 1,
     "NCCL's work counters run apart where the GPU counts what the host does\n"
     "        not: after copies to oneself, AllGatherV, graphs beside eager "
     "calls (on,\n"
     "        from 2.26 on)"},
    {"--lost-starts", "N", INT, AT(lost_starts), 0, 1000000000,
     "each N-th kernel's start is not reported, and its end with the handle "
     "of\n"
     "        the previous kernel, as in a race of NCCL's (0: none)"},
    {"--lag", "N", INT, AT(lag), 0, 100000,
     "the progress thread reads the GPU's times only after N launches: from "
     "64\n"
     "        on they are those of other operations (0)"},
    {"--first-op", "TIME", TIME, AT(first_op_us), 0, 60LL * 1000000,
     "a communicator's first operation takes this time more on the host "
     "where\n"
     "        KernelCh is asked for: NCCL connects (40 ms, if --nccl-version "
     "names\n"
     "        2.26 to 2.30; with one processor it would be 6 s)"},
    {"--one-id", "on|off", SWITCH, AT(one_id), 0, 1,
     "tp and dp of one color have one id, as splits of NCCL 2.23 have (then "
     "on,\n"
     "        if --nccl-version names it)"},
    {"--comm-threads", "N", INT, AT(threads), 1, 64,
     "user threads, each with communicators of its own (1)"},
    {"--fault", "KIND=ARGS", FAULT, 0, 0, 0,
     "plant a fault; may be given again (see below)"},
    {"--nvml", "PATH", TEXT, AT(nvml), 0, 0,
     "library that causes query for the GPU of our local number\n"
     "        (libnvidia-ml.so.1)"},
    {"--counts", "PATH", TEXT, AT(counts), 0, 0,
     "write what was issued as JSON: a directory, or a file name with %r"},
    {"--realtime", "FACTOR", FACTOR, AT(realtime), 0, 0,
     "use FACTOR wall seconds for each simulated second"},
    {"--no-catch-up", NULL, FLAG, AT(no_catch_up), 0, 1,
     "with --realtime or --seconds: a rank that was delayed by 50 ms "
     "continues\n"
     "        from there and does not catch up"},
    {"--sync", NULL, FLAG, AT(sync), 0, 1,
     "wait for the GPU after each iteration, as a program that reads its "
     "loss;\n"
     "        else calls run ahead of it, by up to 256 launches"},
    {"--run-noise", "PERCENT", FACTOR, AT(run_noise), 0, 0,
     "scale all times of a run by one normally distributed factor with this\n"
     "        standard deviation (0)"},
    {"--seconds", "TIME", TIME, AT(seconds_us), 0, 30LL * 86400 * 1000000,
     "spread the iterations over this time (500ms, 20, 5m)"},
    {"--no-finalize", NULL, FLAG, AT(finalize), 0, 0,
     "exit without destroying the communicators, as many programs do"},
    {"--verbose", NULL, FLAG, AT(verbose), 0, 1,
     "print the actions of each rank"},
    {"--help", NULL, FLAG, AT(help), 0, 1, "this text"},
#undef AT
};

enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

void sim_options_help(FILE *out)
{
    int i;

    fprintf(out,
            "Usage: ncclsim [OPTION]...\n"
            "Behaves like a NCCL program of a 3-D parallel training job "
            "towards a profiler\n"
            "plugin (NCCL_PROFILER_PLUGIN), without a GPU and without talking "
            "to other ranks.\n"
            "\n");
    for (i = 0; i < N_ROWS; i++)
        fprintf(out, "  %s%s%s\n        %s\n", rows[i].name,
                rows[i].argument ? " " : "",
                rows[i].argument ? rows[i].argument : "", rows[i].help);
    fputs("\n"
          "The 3-D program has the communicators self, tp, dp and world. The "
          "plain one is\n"
          "iterations x communicators x (collectives + Send and Recv), all of "
          "one size;\n"
          "--comms, --colls, --p2p-ops or --group choose it.\n"
          "\n"
          "Exit status: 0, 1 failed, 2 usage, 3 hung, until the end of "
          "--seconds.\n",
          out);
    fprintf(out, "\nFaults:\n");
    sim_faults_help(out);
}

int sim_options_is_plain(const struct jp_sim_options *options)
{
    return options->n_comms >= 0 || options->colls >= 0 ||
           options->p2p_ops >= 0 || options->group > 1;
}

/* Returns the option whose name has these n bytes, or NULL. */
static const struct row *find_row(const char *word, size_t n)
{
    int i;

    for (i = 0; i < N_ROWS; i++) {
        if (strlen(rows[i].name) == n && strncmp(rows[i].name, word, n) == 0)
            return &rows[i];
    }
    return NULL;
}

/* Parses a number from 0 to 1000000. */
static int parse_factor(const char *text, double *out, struct jp_error *err)
{
    char *end;
    double v = strtod(text, &end);

    if (end == text || *end || !(v >= 0.0 && v <= 1e6))
        return error_set(err, "\"%s\" is not a factor of 0 to 1000000", text);
    *out = v;
    return 0;
}

/* Parses "20000/s" or "20000". */
static int parse_rate(const struct row *row, const char *text, double *out,
                      struct jp_error *err)
{
    size_t n = strlen(text);
    char word[16];
    int64_t v;

    if (n > 2 && strcmp(text + n - 2, "/s") == 0)
        n -= 2;
    if (n >= sizeof(word))
        return error_set(err, "\"%s\" is not a rate", text);
    memcpy(word, text, n);
    word[n] = '\0';
    if (num_parse_i64(word, row->min, row->max, &v, err) < 0)
        return -1;
    *out = (double) v;
    return 0;
}

/* Stores a whole number, size or time in the member at `at`. */
static int set_number(const struct row *row, void *at, const char *text,
                      struct jp_error *err)
{
    int64_t v;
    uint64_t us;

    switch (row->type) {
    case TIME:
        if (num_parse_time_us(text, (uint64_t) row->min, (uint64_t) row->max,
                              &us, err) < 0)
            return -1;
        *(int64_t *) at = (int64_t) us;
        return 0;
    case SEED:
        return num_parse_i64(text, row->min, row->max, at, err);
    case SIZE:
        return num_parse_size(text, (uint64_t) row->min, (uint64_t) row->max,
                              at, err);
    case INTERFACE:
        /* "v4" and "4" mean the same */
        text += text[0] == 'v';
        break;
    default:
        break;
    }
    if (num_parse_i64(text, row->min, row->max, &v, err) < 0)
        return -1;
    *(int *) at = (int) v;
    return 0;
}

/* Stores the option's value. text: NULL for flags. */
static int set(struct jp_sim_options *options, const struct row *row,
               const char *text, struct jp_error *err)
{
    void *at = (char *) options + row->where;
    bool on;

    switch (row->type) {
    case FLAG: /* the value is the row's max */
        *(int *) at = (int) row->max;
        return 0;
    case SWITCH:
        if (num_parse_bool(text, &on, err) < 0)
            return -1;
        *(int *) at = on;
        return 0;
    case FACTOR:
        return parse_factor(text, at, err);
    case RATE:
        return parse_rate(row, text, at, err);
    case TEXT:
        *(const char **) at = text;
        return 0;
    case FAULT:
        return sim_faults_add(&options->faults, text, err);
    default:
        return set_number(row, at, text, err);
    }
}

/* What 128 connections take where processors are idle. */
#define CONNECT_US 40000

void sim_options_follow(struct jp_sim_options *o)
{
    const struct jp_sim_nccl *nccl = sim_nccl();
    int named = o->nccl_version != NULL;

    if (o->silent_broadcast < 0)
        o->silent_broadcast = named && nccl->silent_bcast;
    if (o->quiet_single < 0)
        o->quiet_single = named;
    if (o->first_op_us < 0)
        o->first_op_us = named && nccl->connects ? CONNECT_US : 0;
    if (o->one_id < 0)
        o->one_id = named && nccl->shares_ids;
}

int sim_options_parse(struct jp_sim_options *options, int argc, char **argv,
                      struct jp_error *err)
{
    struct jp_sim_options o = {.iterations = 200,
                               .rank = -1,
                               .n_ranks = -1,
                               .ranks_per_node = -1,
                               .seed = -1,
                               .n_comms = -1,
                               .colls = -1,
                               .p2p_ops = -1,
                               .group = 1,
                               .bytes = 1024 * 1024,
                               .p2p = 1,
                               .drift = 1,
                               .silent_broadcast = -1,
                               .quiet_single = -1,
                               .first_op_us = -1,
                               .one_id = -1,
                               .nvml = "libnvidia-ml.so.1",
                               .threads = 1,
                               .gpus = 1,
                               .finalize = 1};
    int i;

    for (i = 1; i < argc; i++) {
        size_t n = strcspn(argv[i], "=");
        const struct row *row = find_row(argv[i], n);
        const char *value = argv[i][n] ? argv[i] + n + 1 : NULL;

        if (!row)
            return error_set(err, "unknown option \"%s\"; see --help", argv[i]);
        if (!row->argument && value)
            return error_set(err, "%s takes no value", row->name);
        /* --option=VALUE or --option VALUE */
        if (row->argument && !value && i + 1 < argc)
            value = argv[++i];
        if (row->argument && !value)
            return error_set(err, "%s needs %s", row->name, row->argument);
        if (set(&o, row, value, err) < 0)
            return error_wrap(err, "%s", row->name);
    }
    /* threads would write into the same files of sim_meet.h */
    if (o.threads > 1 && sim_faults_have_causes(&o.faults))
        return error_set(err, "a fault with by= needs --comm-threads=1");
    if (o.threads > 1 && (o.together || o.meet))
        return error_set(err, "--together and --meet need --comm-threads=1");
    *options = o;
    return 0;
}
