/* copper_rank.c - one daemon's counters from the best of its files. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/copper/copper_set.h"

static int keep_point(struct copper_build *b, const struct copper_set *set,
                      size_t rank)
{
    struct jp_copper *c = b->copper;
    struct jp_copper_point *more = c->points;

    if (set->grade > COPPER_SET_HALF || set->totals.overflow ||
        set->ops.overflow)
        return 0;
    if (!(c->n_points & (c->n_points - 1))) {
        more = reallocarray(more, c->n_points ? 2 * c->n_points : 1,
                            sizeof(*more));
        if (!more)
            return -1;
        c->points = more;
    }
    more[c->n_points] = (struct jp_copper_point){.rank = rank,
                                                 .tag = copper_set_source(set),
                                                 .copy = set->copy,
                                                 .time_us = set->mtime_us};
    memcpy(more[c->n_points].value, set->totals.value,
           sizeof(set->totals.value));
    if (!set->has_totals) {
        struct copper_totals sum;

        copper_ops_sum(&set->ops, &sum);
        memcpy(more[c->n_points].value, sum.value, sizeof(sum.value));
    }
    c->n_points++;
    return 0;
}

static uint64_t operations(const struct copper_set *set)
{
    struct copper_totals sum;

    if (set->has_totals)
        return set->totals.value[COPPER_OPERATIONS];
    copper_ops_sum(&set->ops, &sum);
    return sum.value[COPPER_OPERATIONS];
}

/* Less is better: final and pre-destroy, whole or in part, as they miss nothing
 * that was counted; then snapshots; then what a reset left behind. */
static unsigned score(const struct copper_set *set)
{
    unsigned half = set->grade == COPPER_SET_HALF ? 2 : 0;

    if (set->grade >= COPPER_SET_CONTRADICTORY)
        return 90 + set->grade;
    if (set->dumps)
        return 20;
    if (copper_set_is_snapshot(set->tag))
        return 4 + half;
    return (set->tag == COPPER_TAG_PRE_RESET ? 10 : set->tag) + half;
}

static bool is_better(const struct copper_set *a, const struct copper_set *b)
{
    unsigned x = score(a), y = score(b);

    return x != y ? x < y : operations(a) > operations(b);
}

/* Does pre-destroy tell the same as final? */
static enum jp_copper_compared compare(const struct copper_set *a,
                                       const struct copper_set *b)
{
    if (a->grade != COPPER_SET_WHOLE || b->grade != COPPER_SET_WHOLE)
        return JP_COPPER_NOT_COMPARED;
    return !memcmp(a->totals.value, b->totals.value, sizeof(a->totals.value)) &&
                   !memcmp(a->ops.row, b->ops.row, sizeof(a->ops.row))
               ? JP_COPPER_EQUAL
               : JP_COPPER_DIFFERENT;
}

static enum jp_copper_state state_of(const struct copper_set *best)
{
    if (best->grade >= COPPER_SET_CONTRADICTORY)
        return JP_COPPER_DAMAGED;
    if (best->totals.overflow || best->ops.overflow)
        return JP_COPPER_OVERFLOW;
    if (best->grade == COPPER_SET_HALF)
        return JP_COPPER_PARTIAL;
    return best->dumps || best->tag <= COPPER_TAG_PRE_DESTROY
               ? JP_COPPER_GOOD
               : JP_COPPER_EARLIER;
}

static int explain(struct jp_copper_rank *rank, const struct copper_set *best,
                   const struct copper_set *final)
{
    const char *why = "";

    if (rank->state == JP_COPPER_OVERFLOW)
        why = "a counter passed 2^31 and wrapped: in no sum";
    else if (best->since)
        why = "counters of the step: the difference of two ioctls' dumps";
    else if (best->dumps)
        why = "counters since the daemon's start, by an ioctl";
    else if (best->grade == COPPER_SET_NOTHING && !*best->why.text)
        why = "no file of counters";
    else if (best->grade != COPPER_SET_WHOLE)
        why = best->why.text;
    else if (best->tag != COPPER_TAG_FINAL)
        why = *final->why.text ? final->why.text : "no final files";
    rank->why = strdup(why);
    return rank->why ? 0 : -1;
}

static int settle(struct jp_copper_rank *rank, const struct copper_set *best,
                  const struct copper_set *final)
{
    rank->state = state_of(best);
    rank->source = best->grade == COPPER_SET_NOTHING ? ""
                                                     : copper_set_source(best);
    rank->has_counts = best->grade <= COPPER_SET_HALF &&
                       rank->state != JP_COPPER_OVERFLOW;
    rank->has_ttl = rank->has_counts && best->has_totals;
    rank->has_ops = rank->has_counts && best->has_ops;
    if (rank->has_ttl) {
        memcpy(rank->value, best->totals.value, sizeof(rank->value));
    } else if (rank->has_ops) {
        struct copper_totals sum;

        copper_ops_sum(&best->ops, &sum);
        memcpy(rank->value, sum.value, sizeof(rank->value));
    }
    if (rank->has_ops)
        memcpy(rank->op, best->ops.row, sizeof(rank->op));
    return explain(rank, best, final);
}

/* Reads every set of profiles that the daemon has, keeps the best. */
static int each_set(struct copper_build *b, const struct copper_daemon *d,
                    size_t rank, struct copper_set *best,
                    struct copper_set *final, enum jp_copper_compared *compared)
{
    struct copper_set early = {.grade = COPPER_SET_NOTHING};

    for (unsigned tag = 0; tag < COPPER_N_TAGS; tag++)
        for (size_t i = 0; i < d->n_files; i++) {
            const struct copper_name *name = &d->files[i].name;
            struct copper_set set = {
                .tag = tag, .copy = name->copy, .grade = COPPER_SET_NOTHING};

            if (name->tag != tag || name->kind > COPPER_FILE_OPERATIONS ||
                (name->kind == COPPER_FILE_OPERATIONS &&
                 copper_daemon_file(d, COPPER_FILE_AGGREGATE, tag, name->copy)))
                continue;
            if (copper_set_load(b, d, &set) < 0 ||
                keep_point(b, &set, rank) < 0)
                return -1;
            if (tag == COPPER_TAG_FINAL)
                *final = set;
            if (tag == COPPER_TAG_PRE_DESTROY)
                early = set;
            if (is_better(&set, best))
                *best = set;
        }
    *compared = compare(final, &early);
    return 0;
}

static int note_reset(struct copper_build *b, const struct copper_daemon *d)
{
    const struct copper_file *file =
        copper_daemon_file(d, COPPER_FILE_AGGREGATE, COPPER_TAG_PRE_RESET, 0);

    return copper_note(b, file->path, false,
                       "counters were reset after this: what is written later "
                       "counts from there");
}

int copper_rank_load(struct copper_build *b, const struct copper_daemon *d,
                     struct jp_copper_rank *rank, size_t index)
{
    /* kilobytes each */
    struct copper_set *sets = calloc(2, sizeof(*sets));
    int rc = -1;

    if (!sets)
        return -1;
    sets[0].grade = sets[1].grade = COPPER_SET_NOTHING;
    if (each_set(b, d, index, &sets[0], &sets[1], &rank->pre_destroy) < 0)
        goto out;
    if (copper_daemon_file(d, COPPER_FILE_AGGREGATE, COPPER_TAG_PRE_RESET, 0) &&
        note_reset(b, d) < 0)
        goto out;
    /* what was counted before the step is not the step's */
    if ((sets[0].grade > COPPER_SET_HALF ||
         copper_daemon_file(d, COPPER_FILE_DUMP_COUNT, COPPER_TAG_BEFORE, 0)) &&
        copper_set_attached(b, d, &sets[0]) < 0)
        goto out;
    if (sets[0].dumps && keep_point(b, &sets[0], index) < 0)
        goto out;
    rc = settle(rank, &sets[0], &sets[1]);
out:
    free(sets);
    return rc;
}
