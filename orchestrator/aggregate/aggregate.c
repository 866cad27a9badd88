/* aggregate.c - from folders of logs to one result, or to a node's partial.
 *
 * aggregate_run is the whole way: list the files (logwalk), find the nodes'
 * partials, join all records (join_all), and make the rows (result_build,
 * result.c). What hangs is judged last, by a second reading of the recordings
 * (result_hang). partial_make joins the logs of one node and writes them as a
 * partial. */
#include "orchestrator/aggregate/aggregate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/error.h"
#include "common/fileio.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/intervals.h"
#include "orchestrator/aggregate/joinrun.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/aggregate/result_build.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/hung.h"

/* --- operations that were in flight for long at the end ---
 *
 * Recordings, or what partials hold of them, are read a second time, and only
 * if the first reading shows that an operation may have been in flight for
 * long. */

/* Whether some operation was in flight for JP_HANG_US or longer when the last
 * recording ended. Different clocks may make it true wrongly, which costs a
 * second reading only. */
static bool may_hang(const struct build *b)
{
    uint64_t oldest = 0, last = 0;

    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct recfile_tail *t = &b->files[i].tail;

        if (t->oldest_ns && (!oldest || t->oldest_ns < oldest))
            oldest = t->oldest_ns;
        if (t->last_ns > last)
            last = t->last_ns;
    }
    return oldest && last > oldest && (last - oldest) / 1000 >= JP_HANG_US;
}

/* The index of an operation's communicator in the result. -1: it has none. */
static int64_t find_comm(const struct jp_result *r, const struct hangs_op *op)
{
    for (size_t i = 0; i < r->n_comms; i++)
        if (!strcmp(r->comms[i].id, op->id) &&
            (op->n_ranks <= 0 || r->comms[i].n_ranks == op->n_ranks))
            return (int64_t) i;
    return -1;
}

/* What the page shows for each state of hangs.h. */
static const uint8_t states[HANGS_N_STATES] = {
    [HANGS_NO_FILE] = JP_HANG_UNKNOWN, [HANGS_UNSURE] = JP_HANG_UNKNOWN,
    [HANGS_MISSING] = JP_HANG_ABSENT,  [HANGS_HELD] = JP_HANG_ELSEWHERE,
    [HANGS_BEGUN] = JP_HANG_IN,        [HANGS_IN_FLIGHT] = JP_HANG_IN,
    [HANGS_DONE] = JP_HANG_DONE,
};

/* Sets hang's rank to the first rank in a state, and its process if that is
 * known. False: no rank is in this state. */
static bool name_rank(const struct jp_hangs *hangs,
                      const struct hangs_group *group, enum hangs_state state,
                      struct jp_hang *hang)
{
    const struct hangs_process *process;
    uint32_t i = 0;

    while (group->states && i < group->n_ranks && group->states[i] != state)
        i++;
    if (!group->states || i == group->n_ranks)
        return false;
    hang->rank = i;
    if (group->processes[i] == UINT32_MAX)
        return true;
    process = &hangs->processes[group->processes[i]];
    hang->world_rank = process->rank;
    hang->pid = process->pid;
    hang->instance = process_instance(process->pid_namespace, process->start);
    snprintf(hang->host, sizeof(hang->host), "%s", process->host);
    if (process->final && process->last_ns > 0)
        hang->closed_us = process->last_ns / 1000;
    return true;
}

/* Describes the first group that hangs: the sentence, the operation, and the
 * first rank that never entered, or else the first that is held up elsewhere.
 */
static void name_hang(const struct jp_result *r, const struct jp_hangs *hangs,
                      const struct hangs_group *group, struct jp_hang *hang)
{
    const struct hangs_op *op = &hangs->ops[group->first];
    enum hangs_state who = group->count[HANGS_MISSING] ? HANGS_MISSING
                                                       : HANGS_HELD;
    char whom[512];

    hangs_answer_of(hangs, group, hang->text, sizeof(hang->text));
    hang->comm = find_comm(r, op);
    snprintf(hang->coll, sizeof(hang->coll), "%.39s", op->func);
    hang->sn = op->seq;
    hang->rank = hang->world_rank = hang->pid = -1;
    if (!name_rank(hangs, group, HANGS_MISSING, hang) &&
        !name_rank(hangs, group, HANGS_HELD, hang))
        return;
    /* the sentence begins with this rank; its length lets a reader put a better
     * name in its place */
    if (group->count[who] == 1 && hang->pid >= 0)
        hang->whom = strlen(hangs_whom(hangs, group, who, whom, sizeof(whom)));
}

/* Keeps where each rank is, for the picture. Without memory there is none. */
static void keep_ranks(const struct jp_hangs *hangs,
                       const struct hangs_group *group, struct jp_hang_op *op)
{
    uint32_t n = group->n_ranks;
    bool in_job = true;

    op->states = calloc(n, sizeof(*op->states));
    op->ranks = calloc(n, sizeof(*op->ranks));
    if (!op->states || !op->ranks)
        return;
    for (uint32_t i = 0; i < n; i++) {
        op->states[i] = states[group->states[i]];
        op->ranks[i] = group->processes[i] == UINT32_MAX
                           ? -1
                           : hangs->processes[group->processes[i]].rank;
        in_job &= op->ranks[i] >= 0;
    }
    for (uint32_t i = 0; i < n && !in_job; i++)
        op->ranks[i] = i;
    op->n_ranks = n;
}

/* Keeps a group for the picture, unless there are enough or it has no states.
 */
static void keep_op(const struct jp_result *r, const struct jp_hangs *hangs,
                    const struct hangs_group *group, struct jp_hang *hang)
{
    const struct hangs_op *from = &hangs->ops[group->first];
    struct jp_hang_op *op = &hang->ops[hang->n_ops];

    if (hang->n_ops == JP_HANG_OPS || !group->states || !group->n_ranks ||
        group->n_ranks > JP_HANG_RANKS)
        return;
    hang->n_ops++;
    op->comm = find_comm(r, from);
    op->sn = from->seq;
    op->since_us = group->start_ns / 1000;
    op->age_us = group->age_ns > 0 ? (uint64_t) group->age_ns / 1000 : 0;
    snprintf(op->coll, sizeof(op->coll), "%.39s", from->func);
    snprintf(op->name, sizeof(op->name), "%.39s",
             from->name[0] ? from->name : from->id);
    keep_ranks(hangs, group, op);
}

/* Returns when the last operation of each communicator ended that all of its
 * ranks have ended, in us since 1970. Caller frees. NULL: no memory. */
static uint64_t *find_last_ends(const struct jp_result *r)
{
    uint64_t *last_us = calloc(r->n_comms + 1, sizeof(*last_us));
    struct ops_reader *reader = calloc(1, sizeof(*reader));

    if (!last_us || !reader) {
        free(last_us);
        free(reader);
        return NULL;
    }
    reader->ops = r->ops;
    ops_want(reader, OPS_N | OPS_DUMP_MAX);
    for (size_t i = 0; r->ops && i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (op->comm < r->n_comms && op->n == r->comms[op->comm].n_ranks &&
            op->dump_max_us > last_us[op->comm])
            last_us[op->comm] = op->dump_max_us;
    }
    free(reader);
    return last_us;
}

/* The uncertainty of clocks, in ns, up to which times of different nodes are
 * compared. */
#define CLOCKS_NS 1e9

/* Lets the group begin when the last operation of its communicator ended. A
 * program may call operations long before the GPU gets to them; the first one
 * in flight stands still only since then. */
static void begin_after(const struct jp_result *r, const struct jp_hangs *hangs,
                        const uint64_t *last_us, struct hangs_group *group)
{
    const struct hangs_op *op = &hangs->ops[group->first];
    int64_t comm = find_comm(r, op), later_ns;

    if (comm < 0 || group->start_ns <= 0 || group->age_ns <= 0)
        return;
    for (size_t i = 0; r->comms[comm].n_hosts > 1 && i < group->n_ops; i++)
        if (!(hangs->processes[op[i].process].unc_ns < CLOCKS_NS))
            return;
    later_ns = (int64_t) last_us[comm] * 1000 - group->start_ns;
    if (later_ns <= 0)
        return;
    later_ns = later_ns < group->age_ns ? later_ns : group->age_ns;
    group->start_ns += later_ns;
    group->age_ns -= later_ns;
}

/* Takes the groups in flight for long, worst first, as hangs_sum_finish has
 * sorted them. 0, or -1: no memory. */
static int judge_hang(const struct jp_result *r, struct jp_hangs *hangs,
                      struct jp_hang *hang)
{
    uint64_t *last_us = find_last_ends(r);

    if (!last_us)
        return -1;
    for (size_t i = 0; i < hangs->n_groups; i++) {
        struct hangs_group *group = &hangs->groups[i];
        uint64_t age_us;

        begin_after(r, hangs, last_us, group);
        age_us = group->age_ns > 0 ? (uint64_t) group->age_ns / 1000 : 0;

        if (age_us < JP_HANG_US || hung_is_harmless(hangs, group))
            continue;
        if (!hang->operations++)
            name_hang(r, hangs, group, hang);
        keep_op(r, hangs, group, hang);
        if (age_us > hang->age_us)
            hang->age_us = age_us;
        if (group->start_ns > 0 &&
            (!hang->since_us || group->start_ns / 1000 < hang->since_us))
            hang->since_us = group->start_ns / 1000;
    }
    free(last_us);
    return 0;
}

/* Lets the caller stop the second reading. It shows no progress of its own, so
 * all bytes are reported as done. */
static bool is_stopped(struct build *b)
{
    const struct jp_aggregate_options *options = b->options;

    b->stopped = options->progress &&
                 options->progress(options->progress_arg, 1, 1) != 0;
    return b->stopped;
}

/* Adds the evidence of one recording. A file that cannot be read any more is
 * left out. 0, or -1: no memory. */
static int add_file(const char *path, struct hangs_file *reading,
                    struct hangs_sum *sum)
{
    struct hangs_evidence evidence;
    struct jpr_record record;
    struct jp_recfile file;
    int rc = 0, got;

    if (recfile_open(&file, path, NULL) < 0)
        return 0;
    while (rc == 0 && (got = recfile_next(&file, &record, NULL)) != 0)
        if (got > 0) /* else a damaged block */
            rc = hangs_file_add(reading, &file, &record);
    if (rc == 0)
        rc = hangs_file_end(reading, &file, &evidence);
    if (rc == 0) {
        rc = hangs_sum_add(sum, &evidence);
        hangs_evidence_fini(&evidence);
    }
    recfile_close(&file);
    return rc;
}

/* Adds all recordings in order of path. 0, or -1: no memory, or stopped. */
static int read_again(struct build *b, struct hangs_sum *sum)
{
    struct hangs_file reading = {0};
    size_t next = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->walk->n_logs;) {
        const struct partial_node *node = partial_set_at(b->partials, &next, i);
        size_t end;

        if (node && !node->used) /* its logs were read */
            node = NULL;
        end = i + (node ? node->n : 1);
        rc = is_stopped(b) ? -1
             : node        ? partial_set_hangs(node, b->walk, sum)
                           : 1;
        /* rc 1: no partial, or it cannot be read any more */
        for (; i < end && rc > 0; i++)
            if (b->files[i].has_counters &&
                (is_stopped(b) ||
                 add_file(b->walk->logs[i].path, &reading, sum) < 0))
                rc = -1;
        i = end;
        rc = rc < 0 ? -1 : 0;
    }
    hangs_file_fini(&reading);
    return rc;
}

static int by_writer(const void *a, const void *b)
{
    const struct jp_recorded *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    if (order || x->pid != y->pid)
        return order ? order : x->pid < y->pid ? -1 : 1;
    return (x->instance > y->instance) - (x->instance < y->instance);
}

/* Lists the processes that wrote recordings; one that wrote several counts
 * once. 0, or -1: no memory. */
static int take_recorded(struct jp_result *r, const struct source_facts *files,
                         size_t n)
{
    size_t found = 0, kept = 0;

    r->recorded = calloc(n + 1, sizeof(*r->recorded));
    for (size_t i = 0; r->recorded && i < n; i++) {
        const struct recfile_process *p = &files[i].process;
        struct jp_recorded *row = &r->recorded[found];

        if (!p->known)
            continue;
        *row = (struct jp_recorded){
            .host = strdup(p->host),
            .pid = p->pid,
            .instance = process_instance(p->pid_namespace, p->start),
            .procid = p->procid,
            .launched = p->launched,
            .cut = files[i].cut};
        if (!row->host)
            return -1;
        r->n_recorded = ++found;
    }
    if (!r->recorded)
        return -1;
    if (found)
        qsort(r->recorded, found, sizeof(*r->recorded), by_writer);
    for (size_t i = 0; i < found; i++) {
        if (kept && by_writer(&r->recorded[kept - 1], &r->recorded[i]) == 0) {
            r->recorded[kept - 1].cut |= r->recorded[i].cut;
            free(r->recorded[i].host);
        } else {
            r->recorded[kept++] = r->recorded[i];
        }
    }
    r->n_recorded = kept;
    return 0;
}

/* Finds hangs, if there may be any, for result->hang. 0, or -1: no memory, or
 * stopped (b->stopped). */
static int result_hang(struct build *b)
{
    struct jp_hangs hangs = {0};
    struct hangs_sum sum = {.hangs = &hangs, .clocks = b->clocks};
    int rc;

    if (!may_hang(b))
        return 0;
    rc = read_again(b, &sum);
    if (rc == 0)
        rc = hangs_sum_finish(&sum);
    if (rc == 0)
        rc = judge_hang(b->result, &hangs, &b->result->hang);
    hangs_sum_fini(&sum);
    hangs_fini(&hangs);
    return rc;
}

/* --- from files to a result --- */
#define DEFAULT_MEMORY (UINT64_C(1) << 30)
#define PARTIAL_MEMORY (UINT64_C(256) << 20)
#define BYTES_A_ROW 32 /* of cells, with room to sort */
/* Timelines get one operation for so many bytes of the memory limit. */
#define TIMELINE_BYTES 256

static uint64_t memory_of(const struct jp_aggregate_options *options)
{
    return options->memory_bytes ? options->memory_bytes : DEFAULT_MEMORY;
}

/* Operations that the timeline of each of n files may have. Nodes and the
 * report compute the same number: for its partial, a node has its own files and
 * the step's number of processes. */
static uint64_t events_of(const struct jp_aggregate_options *options,
                          const struct join_budget *budget, size_t n_files)
{
    uint64_t all = budget->limit / TIMELINE_BYTES;

    /* a node has a memory limit of its own, but must not have fewer than the
     * report */
    if (options->evidence || all > TIMELINE_EVENTS)
        all = TIMELINE_EVENTS;
    if (options->processes > n_files)
        return all / options->processes;
    return n_files ? all / n_files : 0;
}

static int by_process(const void *a, const void *b)
{
    const struct traced *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    /* an unknown rank, -1, comes last */
    if (x->rank != y->rank)
        return (uint64_t) x->rank < (uint64_t) y->rank ? -1 : 1;
    if (order)
        return order;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

/* Whether two traces are copies of one. */
static bool is_copy(const struct traced *a, const struct traced *b)
{
    int64_t step_a = a->n_steps ? a->steps->number : -1;
    int64_t step_b = b->n_steps ? b->steps->number : -1;

    return a->rank == b->rank && a->pid == b->pid && a->kernels &&
           a->kernels == b->kernels && a->first_ns == b->first_ns &&
           a->all.length_ns == b->all.length_ns && step_a == step_b &&
           !strcmp(a->host, b->host) && !strcmp(a->source, b->source);
}

/* Leaves out all but the first of traces that are copies; they are sorted. */
static void drop_copies(struct traced_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++)
        if (kept && is_copy(&list->at[kept - 1], &list->at[i]))
            traced_fini(&list->at[i]);
        else
            list->at[kept++] = list->at[i];
    list->n = kept;
}

/* Moves what is known of kernels to the result. 0, or -1: no memory. */
static int take_traced(struct jp_result *r, struct source_facts *files,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        r->quality.kernel_traces += files[i].traced.n > 0;
        for (size_t k = 0; k < files[i].traced.n; k++)
            if (traced_list_add(&r->traced, &files[i].traced.at[k]) < 0)
                return -1;
    }
    if (r->traced.n)
        qsort(r->traced.at, r->traced.n, sizeof(*r->traced.at), by_process);
    drop_copies(&r->traced);
    return 0;
}

/* Makes the result from a finished join. NULL and err: no memory, or stopped.
 */
static struct jp_result *build_result(struct build b, struct jp_error *err)
{
    b.row_limit = b.options->row_limit ? b.options->row_limit
                                       : memory_of(b.options) / BYTES_A_ROW;
    b.threads = joinrun_threads(b.options);
    b.result = calloc(1, sizeof(*b.result));
    if (!b.result || result_build(&b) < 0 ||
        take_recorded(b.result, b.files, b.walk->n_logs) < 0 ||
        result_hang(&b) < 0) {
        error_set(err, b.stopped ? "stopped" : "out of memory");
        result_destroy(b.result);
        b.result = NULL;
    }
    free(b.comm_at);
    free(b.comm_from);
    free(b.func_at);
    return b.result;
}

/* Moves a file's timeline and sequence to the result, which has room. */
static void take_timeline(struct jp_result *r, struct source_facts *file)
{
    if (file->timeline && r->timelines) {
        file->timeline->ordered = file->sequence && r->sequences;
        if (file->timeline->intervals &&
            intervals_cut(file->timeline->intervals) < 0) {
            intervals_destroy(file->timeline->intervals);
            file->timeline->intervals = NULL;
        }
        r->timelines[r->n_timelines++] = file->timeline;
        file->timeline = NULL;
    }
    if (file->sequence && r->sequences) {
        r->sequences[r->n_sequences++] = file->sequence;
        file->sequence = NULL;
    }
}

/* Drops the bins of strips that the page does not show. Without memory they
 * stay. */
static void drop_strips(const struct jp_result *r)
{
    struct timeline **list = calloc(r->n_timelines + 1, sizeof(*list));

    if (list && r->n_timelines) {
        memcpy(list, r->timelines, r->n_timelines * sizeof(*list));
        timelines_drop_strips(list, r->n_timelines);
    }
    free(list);
}

/* Moves timelines and sequences to the result. Without memory the result has
 * none. */
static void take_timelines(struct jp_result *r, struct source_facts *files,
                           size_t n)
{
    size_t room = n + 1;

    for (size_t i = 0; i < n; i++)
        room += files[i].n_also;
    r->timelines = calloc(room, sizeof(*r->timelines));
    r->sequences = calloc(room, sizeof(*r->sequences));
    for (size_t i = 0; i < n; i++) {
        take_timeline(r, &files[i]);
        for (size_t k = 0; k < files[i].n_also; k++)
            take_timeline(r, &files[i].also[k]);
    }
    drop_strips(r);
}

/* Moves timelines together. They, and the packed operations, were made while
 * records were joined, and lie between what is freed now, so that hardly a page
 * is free as a whole. Some are copied before any is freed, as else malloc takes
 * what was just freed. */
static void move_timelines(struct timeline **list, size_t n)
{
    enum { AT_ONCE = 8192 };
    struct timeline *copies[AT_ONCE];

    for (size_t from = 0; from < n; from += AT_ONCE) {
        size_t some = n - from < AT_ONCE ? n - from : AT_ONCE;

        for (size_t i = 0; i < some; i++)
            copies[i] = timeline_copy(list[from + i]);
        for (size_t i = 0; i < some; i++)
            if (copies[i]) { /* without memory it stays */
                timeline_destroy(list[from + i]);
                list[from + i] = copies[i];
            }
        result_give_back();
    }
}

/* Compares the clocks after the files were read with unmapped times, or where
 * only the agents have times. */
static struct jp_clocks *compare(const struct source_facts *files, size_t n,
                                 const char *nodes)
{
    struct timeline **timelines = calloc(n + 1, sizeof(struct timeline *));
    struct jp_clocks *clocks = NULL;
    size_t found = 0;

    for (size_t i = 0; timelines && i < n; i++)
        if (files[i].timeline)
            timelines[found++] = files[i].timeline;
    if (timelines && (found || nodes))
        clocks = clocks_make(timelines, found, nodes);
    free(timelines);
    return clocks;
}

/* Joins everything. Maps times to one clock if there are several clocks that
 * can be compared. The caller owns *clocks. */
static struct join *join_all(const struct jp_logwalk *walk,
                             const struct jp_aggregate_options *options,
                             struct join_budget *budget,
                             struct partial_set *partials,
                             struct source_facts *files,
                             struct jp_clocks **clocks, struct jp_error *err)
{
    struct join *join;

    budget->timeline_events = events_of(options, budget, walk->n_logs);
    /* clocks first: records that meet in the join need times of one clock */
    if (!options->as_recorded)
        *clocks =
            scout_clocks(walk, partials, options, budget->timeline_events);
    budget->clocks = clocks_map(*clocks);
    join = joinrun(walk, options, budget, partials, files, err);
    /* either failed, or joined with a map */
    if (!join || *clocks)
        return join;
    *clocks = compare(files, walk->n_logs, options->nodes);
    if (options->as_recorded || !clocks_map(*clocks))
        return join;
    budget->clocks = clocks_map(*clocks);
    join_destroy(join); /* the first records did not show several nodes: join
                           once more */
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
    /* the rest is for rows and their indexes */
    budget.journal_limit = budget.limit / 4;
    /* files and nodes */
    if (logwalk_init(&walk, inputs, n_inputs, err) < 0)
        return NULL;
    if (options->use &&
        logwalk_filter(&walk, options->use, options->use_arg) < 0) {
        error_set(err, "out of memory");
        goto out;
    }
    if ((options->partials && raw &&
         partial_set_init(&partials, &walk, raw, options->partials,
                          options->gone != NULL) < 0) ||
        !(files = calloc(walk.n_logs + 1, sizeof(*files)))) {
        error_set(err, "out of memory");
        goto out;
    }
    /* records, then rows */
    join = join_all(&walk, options, &budget, &partials, files, &clocks, err);
    if (join)
        result = build_result((struct build){.join = join,
                                             .walk = &walk,
                                             .files = files,
                                             .partials = &partials,
                                             .clocks = budget.clocks,
                                             .options = options},
                              err);
    if (result && take_traced(result, files, walk.n_logs) < 0) {
        error_set(err, "out of memory");
        result_destroy(result);
        result = NULL;
    }
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
    join_phases_fini(&budget);
    joinrun_free_files(files, walk.n_logs);
    logwalk_fini(&walk);
    result_give_back();
    if (result) {
        if (result->ops)
            ops_move(result->ops);
        move_timelines(result->timelines, result->n_timelines);
        move_timelines(result->sequences, result->n_sequences);
    }
    return result;
}

/* --- one node's logs, joined and written --- */

/* Bytes that one core reads in a millisecond, rounded down. A compressed log
 * holds about 25 times its size. "RECORDING" is the recorder's .jpr, "TRACE" a
 * file of the example plugin. */
enum {
    PLAIN_PER_MS = 500000,
    PACKED_PER_MS = 15000,
    RECORDING_PER_MS = 10000,
    TRACE_PER_MS = 100000,
    PACKED_TRACE_PER_MS = 4000
};

/* How many bytes of a file are read in a millisecond, by its name. */
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
        /* never 0 if there is a log */
        ms++;
    }
    logwalk_fini(&walk);
    return ms;
}

/* A partial has all operations or is not written: if some did not fit, the
 * report reads the logs. */
static int check_join(const struct join *join, struct jp_error *err)
{
    if (join->left_out || atomic_load(&join->budget->journal_off) ||
        atomic_load(&join->budget->kernels_off))
        return error_set(err, "its operations do not fit the memory bound");
    return 0;
}

/* What is known of kernels is not in a partial. */
static int check_files(const struct source_facts *files, size_t n,
                       struct jp_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (files[i].traced.n)
            return error_set(err, "a trace of kernels is read by the report");
    return 0;
}

/* Writes the partial by a temporary file, so that a partial is whole or
 * missing. */
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

    one.threads = 1; /* in order of path, so there are no conflicts */
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
    budget.timeline_events = events_of(&one, &budget, walk.n_logs);
    join = joinrun(&walk, &one, &budget, NULL, files, err);
    if (join && check_join(join, err) == 0 &&
        check_files(files, walk.n_logs, err) == 0)
        rc = write_file(path, join, &walk, strlen(raw) + 1, files, err);
out:
    join_destroy(join);
    join_phases_fini(&budget);
    joinrun_free_files(files, walk.n_logs);
    logwalk_fini(&walk);
    return rc;
}
