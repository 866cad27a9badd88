/* copper_rank.c - one daemon's counters from the best of its files. */
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/copper/copper_build.h"

/* How far a set of files can be trusted, best first. */
enum grade { WHOLE, HALF, CONTRADICTORY, NOTHING };

/* The files that a daemon wrote at one moment. */
struct set {
    enum copper_tag tag;
    uint64_t copy;
    int64_t mtime_us;
    bool has_totals, has_ops, dumps;
    bool since; /* of dumps: since those before the step */
    enum grade grade;
    struct copper_totals totals;
    struct copper_ops ops;
    struct jp_error why; /* what is wrong with it; "" nothing */
};

static const char *source_name(const struct set *set)
{
    return set->dumps ? "ioctl dumps" : copper_tag_names[set->tag];
}

typedef int read_file(struct copper_stream *, struct set *, struct jp_error *);

static int read_totals(struct copper_stream *s, struct set *set,
                       struct jp_error *err)
{
    return copper_totals_read(s, &set->totals, err);
}

static int read_ops(struct copper_stream *s, struct set *set,
                    struct jp_error *err)
{
    return copper_ops_read(s, &set->ops, err);
}

/* What a rank could still be known by decides later whether a broken file
 * matters, so it is noted here as it is. 1: good; 0: absent or broken. */
static int load_file(struct copper_build *b, const struct copper_file *file,
                     read_file *read, struct set *set)
{
    struct copper_stream stream;
    struct jp_error why;
    int rc;

    if (!file)
        return 0;
    if (copper_stream_open(&stream, file->path, &why) < 0) {
        set->why = why;
        return copper_note(b, file->path, false, "%s", why.text);
    }
    rc = read(&stream, set, &why);
    if (rc < 0) {
        const char *slash = strrchr(file->path, '/');

        set->why = why;
        error_wrap(&set->why, "%s", slash ? slash + 1 : file->path);
        rc = copper_note(b, file->path, false, "%s", why.text);
    } else {
        set->mtime_us = file->mtime_us;
        rc = 1;
    }
    if (copper_read_done(b, &stream) < 0)
        rc = -1;
    copper_stream_close(&stream);
    return rc;
}

static int note_odd(struct copper_build *b, const struct copper_file *file,
                    const struct jp_error *odd)
{
    return file && *odd->text
               ? copper_note(b, file->path, false, "%s", odd->text)
               : 0;
}

static bool is_snapshot(enum copper_tag tag)
{
    return tag == COPPER_TAG_RUNTIME || tag == COPPER_TAG_IOCTL;
}

static int grade(struct copper_build *b, struct set *set,
                 const struct copper_file *totals,
                 const struct copper_file *ops)
{
    struct jp_error why;

    set->grade = set->has_totals && set->has_ops   ? WHOLE
                 : set->has_totals || set->has_ops ? HALF
                                                   : NOTHING;
    if (set->grade == HALF && !*set->why.text)
        error_set(&set->why, "%s is missing",
                  set->has_ops ? "the aggregate" : "the table of operations");
    if (set->grade != WHOLE || set->totals.overflow || set->ops.overflow ||
        copper_counts_agree(&set->totals, &set->ops, &why) == 0)
        return note_odd(b, totals, &set->totals.odd) < 0 ||
                       note_odd(b, ops, &set->ops.odd) < 0
                   ? -1
                   : 0;
    /* a snapshot is written without a lock while operations go on */
    if (is_snapshot(set->tag))
        return copper_note(b, totals->path, false, "%s", why.text);
    set->grade = CONTRADICTORY;
    set->why = why;
    return copper_note(b, totals->path, false, "%s", why.text);
}

static int load_set(struct copper_build *b, const struct copper_daemon *d,
                    struct set *set)
{
    const struct copper_file *totals =
        copper_daemon_file(d, COPPER_FILE_AGGREGATE, set->tag, set->copy);
    const struct copper_file *ops =
        copper_daemon_file(d, COPPER_FILE_OPERATIONS, set->tag, set->copy);
    int a = load_file(b, totals, read_totals, set);
    int o = a < 0 ? -1 : load_file(b, ops, read_ops, set);

    if (o < 0)
        return -1;
    set->has_totals = a > 0;
    set->has_ops = o > 0;
    return grade(b, set, totals, ops);
}

/* One of the dumps of all counters. */
static int load_dumps(struct copper_build *b, const struct copper_daemon *d,
                      enum copper_tag tag, struct set *set)
{
    struct copper_ops ops = {.odd = {""}};
    unsigned n = 0;

    for (unsigned i = 0; i < COPPER_N_DUMPS; i++) {
        const struct copper_file *file =
            copper_daemon_file(d, COPPER_FILE_DUMP_COUNT + i, tag, 0);
        struct copper_stream stream;
        struct jp_error why;
        int rc;

        if (!file)
            continue;
        if (copper_stream_open(&stream, file->path, &why) < 0)
            return copper_note(b, file->path, false, "%s", why.text);
        rc = copper_dump_read(&stream, i, &ops, &why);
        n += rc == 0;
        set->mtime_us = file->mtime_us;
        if ((rc < 0 && copper_note(b, file->path, false, "%s", why.text) < 0) ||
            copper_read_done(b, &stream) < 0) {
            copper_stream_close(&stream);
            return -1;
        }
        copper_stream_close(&stream);
    }
    if (n < COPPER_N_DUMPS)
        return 0;
    *set = (struct set){.tag = tag,
                        .dumps = true,
                        .mtime_us = set->mtime_us,
                        .has_ops = true,
                        .grade = WHOLE,
                        .ops = ops};
    copper_ops_sum(&ops, &set->totals);
    return 0;
}

/* Dumps, less those made before the step where there are some. */
static int attached(struct copper_build *b, const struct copper_daemon *d,
                    struct set *best)
{
    struct set now = {.grade = NOTHING}, before = {.grade = NOTHING};
    struct jp_error why;

    if (load_dumps(b, d, COPPER_TAG_FINAL, &now) < 0 ||
        load_dumps(b, d, COPPER_TAG_BEFORE, &before) < 0)
        return -1;
    if (now.grade != WHOLE)
        return 0;
    if (before.grade == WHOLE) {
        if (copper_ops_since(&now.ops, &before.ops, &now.ops, &why) < 0)
            return copper_note(b, d->files->path, false, "%s", why.text);
        copper_ops_sum(&now.ops, &now.totals);
        now.since = true;
    }
    *best = now;
    return 0;
}

static int keep_point(struct copper_build *b, const struct set *set,
                      size_t rank)
{
    struct jp_copper *c = b->copper;
    struct jp_copper_point *more = c->points;

    if (set->grade > HALF || set->totals.overflow || set->ops.overflow)
        return 0;
    if (!(c->n_points & (c->n_points - 1))) {
        more = reallocarray(more, c->n_points ? 2 * c->n_points : 1,
                            sizeof(*more));
        if (!more)
            return -1;
        c->points = more;
    }
    more[c->n_points] = (struct jp_copper_point){.rank = rank,
                                                 .tag = source_name(set),
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

static uint64_t operations(const struct set *set)
{
    struct copper_totals sum;

    if (set->has_totals)
        return set->totals.value[COPPER_OPERATIONS];
    copper_ops_sum(&set->ops, &sum);
    return sum.value[COPPER_OPERATIONS];
}

/* final, then pre-destroy, then the snapshot with most behind it. */
static unsigned rank_of_tag(const struct set *set)
{
    return set->dumps                         ? 4
           : is_snapshot(set->tag)            ? 2
           : set->tag == COPPER_TAG_PRE_RESET ? 3
                                              : (unsigned) set->tag;
}

static bool is_better(const struct set *a, const struct set *b)
{
    unsigned x = rank_of_tag(a), y = rank_of_tag(b);

    if (a->grade != b->grade)
        return a->grade < b->grade;
    return x != y ? x < y : operations(a) > operations(b);
}

/* Does pre-destroy tell the same as final? */
static enum jp_copper_compared compare(const struct set *a, const struct set *b)
{
    if (a->grade != WHOLE || b->grade != WHOLE)
        return JP_COPPER_NOT_COMPARED;
    return !memcmp(a->totals.value, b->totals.value, sizeof(a->totals.value)) &&
                   !memcmp(a->ops.row, b->ops.row, sizeof(a->ops.row))
               ? JP_COPPER_EQUAL
               : JP_COPPER_DIFFERENT;
}

static enum jp_copper_state state_of(const struct set *best)
{
    if (best->grade >= CONTRADICTORY)
        return JP_COPPER_DAMAGED;
    if (best->totals.overflow || best->ops.overflow)
        return JP_COPPER_OVERFLOW;
    if (best->grade == HALF)
        return JP_COPPER_PARTIAL;
    return best->dumps || best->tag <= COPPER_TAG_PRE_DESTROY
               ? JP_COPPER_GOOD
               : JP_COPPER_EARLIER;
}

static int explain(struct jp_copper_rank *rank, const struct set *best,
                   const struct set *final)
{
    const char *why = "";

    if (rank->state == JP_COPPER_OVERFLOW)
        why = "a counter passed 2^31 and wrapped: in no sum";
    else if (best->since)
        why = "counters of the step: the difference of two ioctls' dumps";
    else if (best->dumps)
        why = "counters since the daemon's start, by an ioctl";
    else if (best->grade == NOTHING && !*best->why.text)
        why = "no file of counters";
    else if (best->grade != WHOLE)
        why = best->why.text;
    else if (best->tag != COPPER_TAG_FINAL)
        why = *final->why.text ? final->why.text : "no final files";
    rank->why = strdup(why);
    return rank->why ? 0 : -1;
}

static int settle(struct jp_copper_rank *rank, const struct set *best,
                  const struct set *final)
{
    rank->state = state_of(best);
    rank->source = best->grade == NOTHING ? "" : source_name(best);
    rank->has_counts = best->grade <= HALF && rank->state != JP_COPPER_OVERFLOW;
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
                    size_t rank, struct set *best, struct set *final,
                    enum jp_copper_compared *compared)
{
    struct set early = {.grade = NOTHING};

    for (unsigned tag = 0; tag < COPPER_N_TAGS; tag++)
        for (size_t i = 0; i < d->n_files; i++) {
            const struct copper_name *name = &d->files[i].name;
            struct set set = {.tag = tag, .copy = name->copy, .grade = NOTHING};

            if (name->tag != tag || name->kind > COPPER_FILE_OPERATIONS ||
                (name->kind == COPPER_FILE_OPERATIONS &&
                 copper_daemon_file(d, COPPER_FILE_AGGREGATE, tag, name->copy)))
                continue;
            if (load_set(b, d, &set) < 0 || keep_point(b, &set, rank) < 0)
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

int copper_rank_load(struct copper_build *b, const struct copper_daemon *d,
                     struct jp_copper_rank *rank, size_t index)
{
    /* kilobytes each */
    struct set *sets = calloc(2, sizeof(*sets));
    int rc = -1;

    if (!sets)
        return -1;
    sets[0].grade = sets[1].grade = NOTHING;
    if (each_set(b, d, index, &sets[0], &sets[1], &rank->pre_destroy) < 0)
        goto out;
    /* what was counted before the step is not the step's */
    if ((sets[0].grade > HALF ||
         copper_daemon_file(d, COPPER_FILE_DUMP_COUNT, COPPER_TAG_BEFORE, 0)) &&
        attached(b, d, &sets[0]) < 0)
        goto out;
    if (sets[0].dumps && keep_point(b, &sets[0], index) < 0)
        goto out;
    rc = settle(rank, &sets[0], &sets[1]);
out:
    free(sets);
    return rc;
}
