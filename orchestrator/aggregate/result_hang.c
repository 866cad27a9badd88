/* result_hang.c - operations that were in flight for long at the end.
 *
 * Files, or what partials hold of them, are read a second time only where the
 * first reading shows that one may have been.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/partial.h"
#include "orchestrator/aggregate/result_build.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/stuck.h"

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

static int64_t find_comm(const struct jp_result *r, const struct hangs_op *op)
{
    for (size_t i = 0; i < r->n_comms; i++)
        if (!strcmp(r->comms[i].id, op->id) &&
            (op->n_ranks <= 0 || r->comms[i].n_ranks == op->n_ranks))
            return (int64_t) i;
    return -1;
}

/* The first rank of a state; false: none is. */
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
    hang->task = process->task;
    hang->pid = process->pid;
    snprintf(hang->host, sizeof(hang->host), "%s", process->host);
    return true;
}

/* The worst one's place. */
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
    hang->rank = hang->task = hang->pid = -1;
    if (!name_rank(hangs, group, HANGS_MISSING, hang) &&
        !name_rank(hangs, group, HANGS_HELD, hang))
        return;
    if (group->count[who] == 1 && hang->pid >= 0)
        hang->whom = strlen(hangs_whom(hangs, group, who, whom, sizeof(whom)));
}

static const uint8_t states[HANGS_N_STATES] = {
    [HANGS_NO_FILE] = JP_HANG_UNKNOWN, [HANGS_UNSURE] = JP_HANG_UNKNOWN,
    [HANGS_MISSING] = JP_HANG_ABSENT,  [HANGS_HELD] = JP_HANG_ELSEWHERE,
    [HANGS_BEGUN] = JP_HANG_IN,        [HANGS_IN_FLIGHT] = JP_HANG_IN,
    [HANGS_DONE] = JP_HANG_DONE,
};

/* Who is where, for a picture. Without memory the picture is left out. */
static void keep_ranks(const struct jp_hangs *hangs,
                       const struct hangs_group *group, struct jp_hang_op *op)
{
    uint32_t n = group->n_ranks;

    op->states = calloc(n, sizeof(*op->states));
    op->tasks = calloc(n, sizeof(*op->tasks));
    if (!op->states || !op->tasks)
        return;
    for (uint32_t i = 0; i < n; i++) {
        op->states[i] = states[group->states[i]];
        op->tasks[i] = group->processes[i] == UINT32_MAX
                           ? -1
                           : hangs->processes[group->processes[i]].task;
    }
    op->n_ranks = n;
}

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

static void judge(const struct jp_result *r, const struct jp_hangs *hangs,
                  struct jp_hang *hang)
{
    for (size_t i = 0; i < hangs->n_groups; i++) {
        const struct hangs_group *group = &hangs->groups[i];
        uint64_t age_us = group->age_ns > 0 ? (uint64_t) group->age_ns / 1000
                                            : 0;

        if (age_us < JP_HANG_US || stuck_is_harmless(hangs, group))
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
        if (got > 0)
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
static int read_again(struct build *b, struct hangs_sum *sum)
{
    struct hangs_file reading = {0};
    size_t next = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->walk->n_logs;) {
        const struct partial_node *node = node_at(b->partials, &next, i);
        size_t end = i + (node ? node->n : 1);

        rc = is_stopped(b) ? -1
             : node        ? partial_set_hangs(node, b->walk, sum)
                           : 1;
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
        judge(b->result, &hangs, &b->result->hang);
    hangs_sum_fini(&sum);
    hangs_fini(&hangs);
    return rc;
}
