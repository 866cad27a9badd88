/* result_hang.c - operations that were in flight for long at the end.
 *
 * Files are read a second time only where the first reading shows that one may
 * have been.
 */
#include <stdlib.h>
#include <stdio.h>

#include "orchestrator/aggregate/result_build.h"
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

static void judge(const struct jp_stuck *stuck, struct jp_hang *hang)
{
    for (size_t i = 0; i < stuck->n_groups; i++) {
        const struct stuck_group *group = &stuck->groups[i];
        uint64_t age_us = group->age_ns > 0 ? (uint64_t) group->age_ns / 1000
                                            : 0;

        if (age_us < JP_HANG_US || is_harmless(stuck, group))
            continue;
        if (!hang->operations++)
            stuck_answer_of(stuck, group, hang->text, sizeof(hang->text));
        if (age_us > hang->age_us)
            hang->age_us = age_us;
    }
}

/* The whole was done once; what this adds is not told apart. */
static int look(void *arg)
{
    const struct jp_aggregate_options *options = arg;

    return options->progress(options->progress_arg, 1, 1);
}

/* 0, or -1 without memory or stopped. Files that cannot be read any more are
 * left out. */
static int read_again(struct build *b, const char *const *paths, size_t n)
{
    struct jp_recwalk walk;
    struct jp_stuck stuck;
    struct jp_error err;
    int rc;

    if (recwalk_init(&walk, paths, n, &err) < 0)
        return 0; /* a file is gone */
    if (b->options->progress)
        walk.look = look;
    walk.look_arg = (void *) (uintptr_t) b->options;
    rc = stuck_read(&walk, &stuck, &err);
    b->stopped = walk.stopped;
    if (rc == 0) {
        judge(&stuck, &b->result->hang);
        stuck_fini(&stuck);
    }
    recwalk_fini(&walk);
    return b->stopped ? -1 : rc;
}

int result_hang(struct build *b)
{
    const char **paths;
    size_t n = 0;
    int rc;

    if (!may_hang(b))
        return 0;
    paths = calloc(b->walk->n_logs, sizeof(*paths));
    if (!paths)
        return -1;
    for (size_t i = 0; i < b->walk->n_logs; i++)
        if (b->files[i].recorder)
            paths[n++] = b->walk->logs[i].path;
    rc = read_again(b, paths, n);
    free(paths);
    return rc;
}
