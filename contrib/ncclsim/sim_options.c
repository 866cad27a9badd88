/* The command line: one table for parsing and for --help. */
#include "contrib/ncclsim/sim_options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"

enum type { INT, FLAG, SWITCH, INTERFACE, TIME, FACTOR, TEXT, FAULT, SEED };

/* `where` is the offset of the member in struct jp_sim_options. */
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
    {"--seed", "N", SEED, AT(seed), 0, INT64_MAX,
     "communicator ids and noise (job, step and restart count)"},
    {"--interface", "vN", INTERFACE, AT(interface), 1, 6,
     "use this profiler interface, not the newest"},
    {"--p2p", "on|off", SWITCH, AT(p2p), 0, 1,
     "pipeline Send and Recv between neighbouring nodes (on)"},
    {"--alltoall", NULL, FLAG, AT(alltoall), 0, 1,
     "an AlltoAll per iteration over all ranks"},
    {"--comm-threads", "N", INT, AT(threads), 1, 64,
     "user threads, each with communicators of its own (1)"},
    {"--fault", "KIND=ARGS", FAULT, 0, 0, 0,
     "plant a fault; may be given again (see below)"},
    {"--counts", "PATH", TEXT, AT(counts), 0, 0,
     "write what was issued as JSON: a directory, or a file name with %r"},
    {"--realtime", "FACTOR", FACTOR, AT(realtime), 0, 0,
     "take FACTOR wall seconds for each simulated second"},
    {"--seconds", "TIME", TIME, AT(seconds_us), 0, 30LL * 86400 * 1000000,
     "spread the iterations over this time (500ms, 20, 5m)"},
    {"--no-finalize", NULL, FLAG, AT(finalize), 0, 0,
     "exit without destroying the communicators, as many programs do"},
    {"--verbose", NULL, FLAG, AT(verbose), 0, 1, "say what each rank does"},
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
            "towards a profiler\nplugin (NCCL_PROFILER_PLUGIN), without a GPU "
            "and without talking to other ranks.\n\n");
    for (i = 0; i < N_ROWS; i++)
        fprintf(out, "  %s%s%s\n        %s\n", rows[i].name,
                rows[i].argument ? " " : "",
                rows[i].argument ? rows[i].argument : "", rows[i].help);
    fprintf(out, "\nFaults:\n");
    sim_faults_help(out);
}

static const struct row *find_row(const char *word, size_t n)
{
    int i;

    for (i = 0; i < N_ROWS; i++) {
        if (strlen(rows[i].name) == n && strncmp(rows[i].name, word, n) == 0)
            return &rows[i];
    }
    return NULL;
}

static int parse_factor(const char *text, double *out, struct jp_error *err)
{
    char *end;
    double v = strtod(text, &end);

    if (end == text || *end || !(v >= 0.0 && v <= 1e6))
        return error_set(err, "\"%s\" is not a factor of 0 to 1000000", text);
    *out = v;
    return 0;
}

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
    case INTERFACE:
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
    case TEXT:
        *(const char **) at = text;
        return 0;
    case FAULT:
        return sim_faults_add(&options->faults, text, err);
    default:
        return set_number(row, at, text, err);
    }
}

int sim_options_parse(struct jp_sim_options *options, int argc, char **argv,
                      struct jp_error *err)
{
    struct jp_sim_options o = {.iterations = 200,
                               .rank = -1,
                               .n_ranks = -1,
                               .ranks_per_node = -1,
                               .seed = -1,
                               .p2p = 1,
                               .threads = 1,
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
        if (row->argument && !value && i + 1 < argc)
            value = argv[++i];
        if (row->argument && !value)
            return error_set(err, "%s needs %s", row->name, row->argument);
        if (set(&o, row, value, err) < 0)
            return error_wrap(err, "%s", row->name);
    }
    *options = o;
    return 0;
}
