/* result_hang.c - what hangs: operations that were in flight for long at the
 * end.
 *
 * Recordings, or what partials hold of them, are read a second time, and only
 * if the first reading shows that an operation may have been in flight for
 * long. */
#include "orchestrator/aggregate/result_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/error.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/ingest/hung.h"

/* Whether some operation was in flight for JP_HANG_US or longer when the last
 * recording ended. Different clocks may make it true wrongly, which costs a
 * second reading only. */
static bool may_hang(const struct build *b)
{
    uint64_t oldest = 0, last = 0;

    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct recfile_tail *t = source_tail(&b->files[i]);

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

int result_hang(struct build *b)
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
