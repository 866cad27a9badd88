/* stuck_read.c - the evidence of all of the recorder's files of a step. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/ingest/stuck_parts.h"

/* In flight over all files, about 350 B each. */
#define MAX_OPS 65536

/* Room for one more in an array that doubles. */
static void *grow(void *array, size_t n, size_t size)
{
    return n & (n - 1) ? array : reallocarray(array, n ? 2 * n : 1, size);
}

static int add_process(struct jp_stuck *stuck,
                       const struct stuck_process *process)
{
    struct stuck_process *more =
        grow(stuck->processes, stuck->n_processes, sizeof(*more));

    if (!more)
        return -1;
    stuck->processes = more;
    more[stuck->n_processes++] = *process;
    return 0;
}

static int add_op(struct jp_stuck *stuck, const struct stuck_op *op)
{
    struct stuck_op *more;

    if (stuck->n_ops == MAX_OPS) {
        stuck->left_out++;
        return 0;
    }
    more = grow(stuck->ops, stuck->n_ops, sizeof(*more));
    if (!more)
        return -1;
    stuck->ops = more;
    more[stuck->n_ops] = *op;
    more[stuck->n_ops++].process = (uint32_t) stuck->n_processes - 1;
    return 0;
}

int stuck_sum_add(struct stuck_sum *sum, const struct stuck_evidence *evidence)
{
    struct jp_stuck *stuck = sum->stuck;

    if (add_process(stuck, &evidence->process) < 0)
        return -1;
    stuck->left_out += evidence->left_out;
    for (size_t i = 0; i < evidence->n_ops; i++)
        if (add_op(stuck, &evidence->ops[i]) < 0)
            return -1;
    return progress_append(&sum->progress, &evidence->progress,
                           (uint32_t) stuck->n_processes - 1);
}

int stuck_sum_finish(struct stuck_sum *sum)
{
    progress_sort(&sum->progress);
    return stuck_group_ops(sum->stuck, &sum->progress);
}

void stuck_sum_fini(struct stuck_sum *sum)
{
    progress_fini(&sum->progress);
}

static int read_file(struct jp_recwalk *walk, struct stuck_file *reading,
                     struct stuck_sum *sum)
{
    struct stuck_evidence evidence;
    struct jpr_record record;
    int rc;

    while (recwalk_record(walk, &record))
        if (stuck_file_add(reading, &walk->file, &record) < 0)
            return -1;
    if (stuck_file_end(reading, &walk->file, &evidence) < 0)
        return -1;
    rc = stuck_sum_add(sum, &evidence);
    stuck_evidence_fini(&evidence);
    return rc;
}

int stuck_read(struct jp_recwalk *walk, struct jp_stuck *stuck,
               struct jp_error *err)
{
    struct stuck_sum sum = {.stuck = stuck};
    struct stuck_file reading = {0};
    int rc = 0;

    *stuck = (struct jp_stuck){0};
    while (rc == 0 && recwalk_open(walk))
        rc = read_file(walk, &reading, &sum);
    if (rc == 0)
        rc = stuck_sum_finish(&sum);
    stuck_sum_fini(&sum);
    stuck_file_fini(&reading);
    if (rc < 0) {
        stuck_fini(stuck);
        error_set(err, "out of memory");
    }
    return rc;
}

void stuck_fini(struct jp_stuck *stuck)
{
    for (size_t i = 0; i < stuck->n_groups; i++) {
        free(stuck->groups[i].states);
        free(stuck->groups[i].processes);
    }
    free(stuck->groups);
    free(stuck->ops);
    free(stuck->processes);
    *stuck = (struct jp_stuck){0};
}
