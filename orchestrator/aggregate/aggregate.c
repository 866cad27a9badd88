/* aggregate.c - from folders of logs to one result. */
#include "orchestrator/aggregate/aggregate.h"

#include <pthread.h>
#include <stdlib.h>

#include "orchestrator/aggregate/joinrun.h"
#include "orchestrator/aggregate/partial_set.h"
#include "orchestrator/aggregate/result_build.h"

#define DEFAULT_MEMORY (UINT64_C(1) << 30)
#define BYTES_A_ROW 32   /* of cells, with room to sort */
#define BESIDE_OPS 20000 /* from which a thread of its own pays */

static uint64_t memory_of(const struct jp_aggregate_options *options)
{
    return options->memory_bytes ? options->memory_bytes : DEFAULT_MEMORY;
}

/* A step that has a thread of its own. */
struct beside {
    struct build *build;
    int rc;
};

static void *make_windows(void *arg)
{
    struct beside *beside = arg;

    beside->rc = result_windows(beside->build);
    return NULL;
}

/* The cells' numbers, while another thread makes the windows: they share
 * nothing. *rc is that of the windows. */
static struct cells *assign_beside(struct build *b, int *rc)
{
    struct beside windows = {.build = b};
    struct cells *cells;
    pthread_t thread;

    if (pthread_create(&thread, NULL, make_windows, &windows) != 0) {
        *rc = result_windows(b);
        return result_cells_assign(b);
    }
    cells = result_cells_assign(b);
    pthread_join(thread, NULL);
    *rc = windows.rc;
    return cells;
}

/* One thread makes the windows last: what cells take besides is free then. */
static int make_cells_and_windows(struct build *b)
{
    struct cells *cells;
    int rc = 0;

    if (b->threads < 2 || b->result->n_ops < BESIDE_OPS)
        return result_cells(b) < 0 ? -1 : result_windows(b);
    cells = assign_beside(b, &rc);
    if (rc == 0)
        rc = cells ? result_cells_fill(cells, true) : -1;
    result_cells_free(cells);
    return rc;
}

static int make_result(struct build *b)
{
    static int (*const steps[])(struct build *) = {
        result_comms,           result_ranks, result_ops,
        make_cells_and_windows, result_p2p,   result_p2p_nodes,
        result_quality,         result_busy,  result_hang,
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

/* What each process did becomes the result's. Without memory there is none. */
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

/* Which nodes came from partials, and what was wrong with the others. */
static void tell_partials(const struct partial_set *set,
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
    join = joinrun(&walk, options, &budget, &partials, files, err);
    if (join)
        result = build_result((struct build){.join = join,
                                             .walk = &walk,
                                             .files = files,
                                             .partials = &partials,
                                             .options = options},
                              err);
    if (result)
        take_timelines(result, files, walk.n_logs);
    tell_partials(&partials, options, result);
out:
    partial_set_fini(&partials);
    join_destroy(join);
    joinrun_free_files(files, walk.n_logs);
    logwalk_fini(&walk);
    return result;
}
