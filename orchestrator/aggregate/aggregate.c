/* aggregate.c - from folders of logs to one result, or to a node's partial. */
#include "orchestrator/aggregate/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/error.h"
#include "common/fileio.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/joinrun.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/aggregate/result_build.h"
#include "orchestrator/aggregate/scout.h"

#define DEFAULT_MEMORY (UINT64_C(1) << 30)
#define PARTIAL_MEMORY (UINT64_C(256) << 20)
#define BYTES_A_ROW 32 /* of cells, with room to sort */

static uint64_t memory_of(const struct jp_aggregate_options *options)
{
    return options->memory_bytes ? options->memory_bytes : DEFAULT_MEMORY;
}

static int make_result(struct build *b)
{
    static int (*const steps[])(struct build *) = {
        result_comms,   result_ranks,
        result_ops,     result_cells_and_windows,
        result_p2p,     result_p2p_nodes,
        result_quality, result_busy,
        result_hang,
    };

    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
        if (steps[i](b) < 0)
            return -1;
    return 0;
}

static struct jp_result *build_result(struct build b, struct jp_error *err)
{
    b.row_limit = b.options->row_limit ? b.options->row_limit
                                       : memory_of(b.options) / BYTES_A_ROW;
    b.threads = joinrun_threads(b.options);
    b.result = calloc(1, sizeof(*b.result));
    if (!b.result || make_result(&b) < 0) {
        error_set(err, b.stopped ? "stopped" : "out of memory");
        result_destroy(b.result);
        b.result = NULL;
    }
    free(b.comm_at);
    free(b.comm_from);
    free(b.func_at);
    return b.result;
}

/* Moves the processes' timelines to the result. Without memory it has none. */
static void take_timelines(struct jp_result *r, struct source_facts *files,
                           size_t n)
{
    r->timelines = calloc(n + 1, sizeof(*r->timelines));
    for (size_t i = 0; r->timelines && i < n; i++)
        if (files[i].timeline) {
            r->timelines[r->n_timelines++] = files[i].timeline;
            files[i].timeline = NULL;
        }
}

/* The clocks of files that were read without knowing them. */
static struct jp_clocks *compare(const struct source_facts *files, size_t n)
{
    struct timeline **timelines = calloc(n + 1, sizeof(struct timeline *));
    struct jp_clocks *clocks = NULL;
    size_t found = 0;

    for (size_t i = 0; timelines && i < n; i++)
        if (files[i].timeline)
            timelines[found++] = files[i].timeline;
    if (found)
        clocks = clocks_make(timelines, found);
    free(timelines);
    return clocks;
}

/* Joins all with times on one clock, if there are several and they can be
 * compared; *clocks is the caller's. */
static struct join *join_all(const struct jp_logwalk *walk,
                             const struct jp_aggregate_options *options,
                             struct join_budget *budget,
                             struct partial_set *partials,
                             struct source_facts *files,
                             struct jp_clocks **clocks, struct jp_error *err)
{
    uint64_t events = joinrun_events(options, budget, walk->n_logs);
    struct join *join;

    if (!options->as_recorded)
        *clocks = scout_clocks(walk, partials, options, events);
    budget->clocks = clocks_map(*clocks);
    join = joinrun(walk, options, budget, partials, files, err);
    if (!join || *clocks)
        return join;
    *clocks = compare(files, walk->n_logs);
    if (options->as_recorded || !clocks_map(*clocks))
        return join;
    budget->clocks = clocks_map(*clocks);
    join_destroy(join); /* the first records did not say so: once more */
    return joinrun(walk, options, budget, partials, files, err);
}

/* Counts the nodes that came from partials, and notes what was wrong with the
 * others. */
static void note_partials(const struct partial_set *set,
                          const struct jp_aggregate_options *options,
                          struct jp_result *result)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct partial_node *node = &set->nodes[i];

        if (result)
            result->quality.partial_nodes += node->used;
        if (node->why[0] && options->note)
            options->note(options->note_arg, node->name, node->why);
    }
}

struct jp_result *aggregate_run(const char *const *inputs, size_t n_inputs,
                                const struct jp_aggregate_options *options,
                                struct jp_error *err)
{
    static const struct jp_aggregate_options defaults;
    struct jp_result *result = NULL;
    struct source_facts *files = NULL;
    struct join_budget budget = {0};
    struct partial_set partials = {0};
    struct join *join = NULL;
    struct jp_clocks *clocks = NULL;
    struct jp_logwalk walk;
    const char *raw;

    if (!options)
        options = &defaults;
    raw = options->gone ? options->gone : n_inputs ? inputs[0] : NULL;
    budget.limit = memory_of(options);
    budget.journal_limit = budget.limit / 4;
    if (logwalk_init(&walk, inputs, n_inputs, err) < 0)
        return NULL;
    if (options->partials && options->gone &&
        partial_set_recall(&walk, raw, options->partials) < 0) {
        error_set(err, "out of memory");
        goto out;
    }
    files = calloc(walk.n_logs + 1, sizeof(*files));
    if (!files ||
        (options->partials && raw &&
         partial_set_init(&partials, &walk, raw, options->partials) < 0)) {
        error_set(err, "out of memory");
        goto out;
    }
    join = join_all(&walk, options, &budget, &partials, files, &clocks, err);
    if (join)
        result = build_result((struct build){.join = join,
                                             .walk = &walk,
                                             .files = files,
                                             .partials = &partials,
                                             .clocks = budget.clocks,
                                             .options = options},
                              err);
    if (result) {
        take_timelines(result, files, walk.n_logs);
        result->clocks = clocks;
        clocks = NULL;
    }
    note_partials(&partials, options, result);
out:
    clocks_destroy(clocks);
    partial_set_fini(&partials);
    join_destroy(join);
    joinrun_free_files(files, walk.n_logs);
    logwalk_fini(&walk);
    return result;
}

/* --- one node's logs, joined and written --- */

/* Bytes that one core reads in a millisecond, rounded down. A compressed log
 * holds about 25 times its size. */
enum {
    PLAIN_PER_MS = 500000,
    PACKED_PER_MS = 15000,
    RECORDING_PER_MS = 10000,
    TRACE_PER_MS = 100000,
    PACKED_TRACE_PER_MS = 4000
};

static uint64_t speed_of(const struct jp_logfile *log)
{
    const char *path = log->path;
    size_t len = strlen(path);
    bool packed = len > 3 && !strcmp(path + len - 3, ".gz");

    if (len > 4 && !strcmp(path + len - 4, ".jpr"))
        return RECORDING_PER_MS;
    if (log->maybe)
        return packed ? PACKED_TRACE_PER_MS : TRACE_PER_MS;
    return packed ? PACKED_PER_MS : PLAIN_PER_MS;
}

uint64_t partial_estimate_ms(const char *raw)
{
    struct jp_logwalk walk;
    uint64_t ms = 0;

    if (logwalk_init(&walk, &raw, 1, NULL) < 0)
        return 0;
    if (walk.n_logs) {
        for (size_t i = 0; i < walk.n_logs; i++)
            ms += walk.logs[i].size / speed_of(&walk.logs[i]);
        ms++;
    }
    logwalk_fini(&walk);
    return ms;
}

/* A partial holds whole operations only. If some did not fit, the report reads
 * the logs. */
static int check_join(const struct join *join, struct jp_error *err)
{
    if (join->left_out || atomic_load(&join->budget->journal_off) ||
        atomic_load(&join->budget->kernels_off))
        return error_set(err, "its operations do not fit the memory bound");
    return 0;
}

static int write_file(const char *path, struct join *join,
                      const struct jp_logwalk *walk, size_t skip,
                      const struct source_facts *files, struct jp_error *err)
{
    struct jp_tempfile file;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    if (partial_write(file.stream, join, walk, skip, files, err) == 0)
        return fileio_temp_commit_synced(&file, JP_DEF_SYNC_MS, err);
    fileio_temp_abort(&file);
    return -1;
}

int partial_make(const char *raw, const char *path,
                 const struct jp_aggregate_options *options,
                 struct jp_error *err)
{
    struct jp_aggregate_options one = *options;
    struct join_budget budget = {0};
    struct source_facts *files = NULL;
    struct join *join = NULL;
    struct jp_logwalk walk;
    int rc = -1;

    one.threads = 1; /* in order of path: nothing is left open */
    one.evidence = true;
    budget.limit = one.memory_bytes ? one.memory_bytes : PARTIAL_MEMORY;
    budget.journal_limit = budget.limit / 4;
    budget.keep = true;
    if (logwalk_init(&walk, &raw, 1, err) < 0)
        return -1;
    if (!walk.n_logs) {
        logwalk_fini(&walk);
        return 1;
    }
    files = calloc(walk.n_logs, sizeof(*files));
    if (!files) {
        error_set(err, "out of memory");
        goto out;
    }
    join = joinrun(&walk, &one, &budget, NULL, files, err);
    if (join && check_join(join, err) == 0)
        rc = write_file(path, join, &walk, strlen(raw) + 1, files, err);
out:
    join_destroy(join);
    joinrun_free_files(files, walk.n_logs);
    logwalk_fini(&walk);
    return rc;
}
