/* stuck_group.c - one operation of many ranks, and who is where in it. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/ingest/stuck_parts.h"

/* States of all groups together; a file may claim any n_ranks. */
#define MAX_STATES (UINT64_C(16) << 20)

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_group(const struct stuck_op *x, const struct stuck_op *y)
{
    int order = compare(x->hash, y->hash);

    if (!order)
        order = compare((uint64_t) x->n_ranks, (uint64_t) y->n_ranks);
    if (!order)
        order = compare(x->kind, y->kind);
    if (!order)
        order = strcmp(x->func, y->func);
    return order ? order : compare(x->seq, y->seq);
}

static int by_rank(const void *a, const void *b)
{
    const struct stuck_op *x = a, *y = b;
    int order = by_group(x, y);

    if (!order)
        order = compare((uint64_t) x->rank, (uint64_t) y->rank);
    return order ? order : compare(x->process, y->process);
}

static void set_state(struct stuck_group *group, int64_t rank, uint32_t process,
                      enum stuck_state state)
{
    if (rank < 0 || rank >= group->n_ranks ||
        group->states[rank] >= (uint8_t) state)
        return;
    group->states[rank] = (uint8_t) state;
    group->processes[rank] = process;
}

/* Whether the process should have entered by the last that it tells. */
static bool is_evident(const struct jp_stuck *stuck,
                       const struct stuck_group *group, uint32_t process)
{
    const struct stuck_process *p = &stuck->processes[process];
    const struct stuck_process *starter = &stuck->processes[group->starter];
    int64_t margin = strcmp(p->host, starter->host) ? STUCK_OTHER_HOST_NS
                                                    : STUCK_SAME_HOST_NS;

    if (p->damaged || !group->start_ns)
        return false;
    return p->final || p->counted_ns - margin >= group->start_ns;
}

static enum stuck_state absence(const struct jp_stuck *stuck,
                                const struct stuck_group *group,
                                uint32_t process)
{
    if (!is_evident(stuck, group, process))
        return STUCK_UNSURE;
    return stuck->processes[process].busy ? STUCK_HELD : STUCK_MISSING;
}

/* What every rank has done of the group's operation. */
static void fill_states(const struct jp_stuck *stuck, struct stuck_group *group,
                        const struct progress *progress)
{
    struct stuck_op *op = &stuck->ops[group->first];
    const struct progress_row *row;
    size_t n;

    row =
        progress_find(progress, op->hash, op->n_ranks, JPR_N_OP_KINDS, "", &n);
    for (size_t i = 0; i < n; i++)
        set_state(group, row[i].rank, row[i].process,
                  absence(stuck, group, row[i].process));
    row =
        progress_find(progress, op->hash, op->n_ranks, op->kind, op->func, &n);
    for (size_t i = 0; i < n; i++)
        if (row[i].ended > op->seq)
            set_state(group, row[i].rank, row[i].process, STUCK_DONE);
        else if (row[i].begun > op->seq)
            set_state(group, row[i].rank, row[i].process, STUCK_BEGUN);
    for (size_t i = 0; i < group->n_ops; i++)
        if (op[i].rank >= 0 && op[i].rank < group->n_ranks) {
            op[i].passed = group->states[op[i].rank] == STUCK_DONE &&
                           group->processes[op[i].rank] == op[i].process;
            /* what the rank's own snapshot says is surer than a number */
            group->states[op[i].rank] = STUCK_NO_FILE;
            set_state(group, op[i].rank, op[i].process, STUCK_IN_FLIGHT);
        }
    for (uint32_t i = 0; i < group->n_ranks; i++)
        group->count[group->states[i]]++;
}

int64_t stuck_age_ns(const struct stuck_op *op)
{
    return op->start_ns && op->until_ns >= op->start_ns
               ? op->until_ns - op->start_ns
               : -1;
}

/* Since when it is in flight, and how long by the ranks that are in it. */
static void begin_group(const struct jp_stuck *stuck, struct stuck_group *group)
{
    const struct stuck_op *op = &stuck->ops[group->first];

    group->age_ns = -1;
    for (size_t i = 0; i < group->n_ops; i++) {
        if (op[i].start_ns &&
            (!group->start_ns || op[i].start_ns < group->start_ns)) {
            group->start_ns = op[i].start_ns;
            group->starter = op[i].process;
        }
        if (stuck_age_ns(&op[i]) > group->age_ns)
            group->age_ns = stuck_age_ns(&op[i]);
    }
}

/* A rank that has not come shows that the others wait, even where their own
 * files end early; one that ended in order shows nothing of later. */
static void add_waiting(const struct jp_stuck *stuck, struct stuck_group *group)
{
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        const struct stuck_process *p = stuck_process_of(stuck, group, i);

        if ((group->states[i] == STUCK_MISSING ||
             group->states[i] == STUCK_HELD) &&
            p && !p->final && p->counted_ns - group->start_ns > group->age_ns)
            group->age_ns = p->counted_ns - group->start_ns;
    }
}

static int make_group(const struct jp_stuck *stuck, struct stuck_group *group,
                      const struct progress *progress, uint64_t *n_states)
{
    const struct stuck_op *op = &stuck->ops[group->first];

    begin_group(stuck, group);
    if (op->kind == JPR_P2P || op->n_ranks < 1 ||
        op->n_ranks > INSPECTOR_MAX_RANKS ||
        *n_states + (uint64_t) op->n_ranks > MAX_STATES)
        return 0;
    *n_states += (uint64_t) op->n_ranks;
    group->states = calloc((size_t) op->n_ranks, sizeof(*group->states));
    group->processes = calloc((size_t) op->n_ranks, sizeof(*group->processes));
    if (!group->states || !group->processes)
        return -1;
    group->n_ranks = (uint32_t) op->n_ranks;
    memset(group->processes, 0xff, group->n_ranks * sizeof(uint32_t));
    fill_states(stuck, group, progress);
    add_waiting(stuck, group);
    return 0;
}

static int worst_first(const void *a, const void *b)
{
    const struct stuck_group *x = a, *y = b;
    int order = compare(!x->count[STUCK_MISSING], !y->count[STUCK_MISSING]);

    if (!order)
        order = compare(!x->count[STUCK_HELD], !y->count[STUCK_HELD]);
    if (!order)
        order = compare(!x->count[STUCK_UNSURE], !y->count[STUCK_UNSURE]);
    if (!order) /* one that is not known comes last */
        order = compare((uint64_t) x->start_ns - 1, (uint64_t) y->start_ns - 1);
    return order ? order : compare(x->first, y->first);
}

int stuck_group_ops(struct jp_stuck *stuck, const struct progress *progress)
{
    uint64_t n_states = 0;

    if (!stuck->n_ops)
        return 0;
    qsort(stuck->ops, stuck->n_ops, sizeof(*stuck->ops), by_rank);
    stuck->groups = calloc(stuck->n_ops, sizeof(*stuck->groups));
    if (!stuck->groups)
        return -1;
    for (size_t i = 0; i < stuck->n_ops;) {
        struct stuck_group *group = &stuck->groups[stuck->n_groups++];
        const struct stuck_op *op = &stuck->ops[i];

        group->first = i++;
        while (i < stuck->n_ops && op->kind != JPR_P2P &&
               by_group(op, &stuck->ops[i]) == 0)
            i++;
        group->n_ops = i - group->first;
        if (make_group(stuck, group, progress, &n_states) < 0)
            return -1;
    }
    qsort(stuck->groups, stuck->n_groups, sizeof(*stuck->groups), worst_first);
    return 0;
}

const struct stuck_process *stuck_process_of(const struct jp_stuck *stuck,
                                             const struct stuck_group *group,
                                             uint32_t rank)
{
    uint32_t process = rank < group->n_ranks ? group->processes[rank]
                                             : UINT32_MAX;

    return process < stuck->n_processes ? &stuck->processes[process] : NULL;
}
