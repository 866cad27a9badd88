/* result_hang.c - operations that were in flight for long at the end.
 *
 * Files, or what partials hold of them, are read a second time only where the
 * first reading shows that one may have been.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/partial_set.h"
#include "orchestrator/aggregate/result_build.h"
#include "orchestrator/ingest/stuck_file.h"

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

/* In flight by the records, and no sign of a hang: captured in a graph and not
 * seen to run, it may wait for a launch; with a later one of its kind ended, or
 * ended by a rank where nobody lacks, NCCL has not told all of its ends. */
static bool is_harmless(const struct jp_stuck *stuck,
                        const struct stuck_group *group)
{
    const uint32_t *count = group->count;

    if (count[STUCK_DONE] &&
        count[STUCK_DONE] + count[STUCK_IN_FLIGHT] + count[STUCK_BEGUN] ==
            group->n_ranks)
        return true;
    for (size_t i = 0; i < group->n_ops; i++) {
        const struct stuck_op *op = &stuck->ops[group->first + i];

        if (!op->captured && !op->passed)
            return false;
    }
    return true;
}

static int64_t find_comm(const struct jp_result *r, const struct stuck_op *op)
{
    for (size_t i = 0; i < r->n_comms; i++)
        if (!strcmp(r->comms[i].id, op->id) &&
            (op->n_ranks <= 0 || r->comms[i].n_ranks == op->n_ranks))
            return (int64_t) i;
    return -1;
}

/* The first rank of a state; false: none is. */
static bool name_rank(const struct jp_stuck *stuck,
                      const struct stuck_group *group, enum stuck_state state,
                      struct jp_hang *hang)
{
    const struct stuck_process *process;
    uint32_t i = 0;

    while (group->states && i < group->n_ranks && group->states[i] != state)
        i++;
    if (!group->states || i == group->n_ranks)
        return false;
    hang->rank = i;
    if (group->processes[i] == UINT32_MAX)
        return true;
    process = &stuck->processes[group->processes[i]];
    hang->task = process->task;
    hang->pid = process->pid;
    snprintf(hang->host, sizeof(hang->host), "%s", process->host);
    return true;
}

/* The worst one's place. */
static void name_hang(const struct jp_result *r, const struct jp_stuck *stuck,
                      const struct stuck_group *group, struct jp_hang *hang)
{
    const struct stuck_op *op = &stuck->ops[group->first];

    stuck_answer_of(stuck, group, hang->text, sizeof(hang->text));
    hang->comm = find_comm(r, op);
    snprintf(hang->coll, sizeof(hang->coll), "%.39s", op->func);
    hang->sn = op->seq;
    hang->rank = hang->task = hang->pid = -1;
    if (!name_rank(stuck, group, STUCK_MISSING, hang))
        name_rank(stuck, group, STUCK_HELD, hang);
}

static void judge(const struct jp_result *r, const struct jp_stuck *stuck,
                  struct jp_hang *hang)
{
    for (size_t i = 0; i < stuck->n_groups; i++) {
        const struct stuck_group *group = &stuck->groups[i];
        uint64_t age_us = group->age_ns > 0 ? (uint64_t) group->age_ns / 1000
                                            : 0;

        if (age_us < JP_HANG_US || is_harmless(stuck, group))
            continue;
        if (!hang->operations++)
            name_hang(r, stuck, group, hang);
        if (age_us > hang->age_us)
            hang->age_us = age_us;
    }
}

/* The whole was done once; what this adds is not told apart. */
static bool is_stopped(struct build *b)
{
    const struct jp_aggregate_options *options = b->options;

    b->stopped = options->progress &&
                 options->progress(options->progress_arg, 1, 1) != 0;
    return b->stopped;
}

/* One that cannot be read any more is left out. */
static int add_file(const char *path, struct stuck_file *reading,
                    struct stuck_sum *sum)
{
    struct stuck_evidence evidence;
    struct jpr_record record;
    struct jp_recfile file;
    int rc = 0, got;

    if (recfile_open(&file, path, NULL) < 0)
        return 0;
    while (rc == 0 && (got = recfile_next(&file, &record, NULL)) != 0)
        if (got > 0)
            rc = stuck_file_add(reading, &file, &record);
    if (rc == 0)
        rc = stuck_file_end(reading, &file, &evidence);
    if (rc == 0) {
        rc = stuck_sum_add(sum, &evidence);
        stuck_evidence_fini(&evidence);
    }
    recfile_close(&file);
    return rc;
}

/* The merged node whose first log this is; *next moves on. */
static const struct partial_node *node_at(const struct partial_set *set,
                                          size_t *next, size_t log)
{
    while (set && *next < set->n && set->nodes[*next].first < log)
        ++*next;
    return set && *next < set->n && set->nodes[*next].first == log &&
                   set->nodes[*next].used
               ? &set->nodes[*next]
               : NULL;
}

/* All recordings in order of path. 0, or -1 without memory or stopped. */
static int read_again(struct build *b, struct stuck_sum *sum)
{
    struct stuck_file reading = {0};
    size_t next = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->walk->n_logs;) {
        const struct partial_node *node = node_at(b->partials, &next, i);
        size_t end = i + (node ? node->n : 1);

        rc = is_stopped(b) ? -1
             : node        ? partial_set_hangs(node, b->walk, sum)
                           : 1;
        for (; i < end && rc > 0; i++)
            if (b->files[i].recorder &&
                (is_stopped(b) ||
                 add_file(b->walk->logs[i].path, &reading, sum) < 0))
                rc = -1;
        i = end;
        rc = rc < 0 ? -1 : 0;
    }
    stuck_file_fini(&reading);
    return rc;
}

int result_hang(struct build *b)
{
    struct jp_stuck stuck = {0};
    struct stuck_sum sum = {.stuck = &stuck};
    int rc;

    if (!may_hang(b))
        return 0;
    rc = read_again(b, &sum);
    if (rc == 0)
        rc = stuck_sum_finish(&sum);
    if (rc == 0)
        judge(b->result, &stuck, &b->result->hang);
    stuck_sum_fini(&sum);
    stuck_fini(&stuck);
    return rc;
}
