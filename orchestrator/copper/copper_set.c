/* copper_set.c - read a daemon's files of one moment, and grade them. */
#include "orchestrator/copper/copper_set.h"

#include <stdlib.h>
#include <string.h>

const char *copper_set_source(const struct copper_set *set)
{
    return set->dumps ? "ioctl dumps" : copper_tag_names[set->tag];
}

typedef int read_file(struct copper_stream *, struct copper_set *,
                      struct jp_error *);

static int read_totals(struct copper_stream *s, struct copper_set *set,
                       struct jp_error *err)
{
    return copper_totals_read(s, &set->totals, err);
}

static int read_ops(struct copper_stream *s, struct copper_set *set,
                    struct jp_error *err)
{
    return copper_ops_read(s, &set->ops, err);
}

/* What a rank could still be known by decides later whether a broken file
 * matters, so it is noted here as it is. 1: good; 0: absent or broken. */
static int load_file(struct copper_build *b, const struct copper_file *file,
                     read_file *read, struct copper_set *set)
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

bool copper_set_is_snapshot(enum copper_tag tag)
{
    return tag == COPPER_TAG_RUNTIME || tag == COPPER_TAG_IOCTL;
}

/* An aggregate with all its rows was not cut; operations may have been, behind
 * any row. Then they hold less of everything. */
static bool rows_are_missing(const struct copper_set *set)
{
    struct copper_totals sum;

    copper_ops_sum(&set->ops, &sum);
    for (size_t i = 0; i < COPPER_N_METRICS; i++)
        if (sum.value[i] > set->totals.value[i])
            return false;
    return true;
}

static int grade(struct copper_build *b, struct copper_set *set,
                 const struct copper_file *totals,
                 const struct copper_file *ops)
{
    struct jp_error why;

    set->grade = set->has_totals && set->has_ops   ? COPPER_SET_WHOLE
                 : set->has_totals || set->has_ops ? COPPER_SET_HALF
                                                   : COPPER_SET_NOTHING;
    if (set->grade == COPPER_SET_HALF && !*set->why.text)
        error_set(&set->why, "%s is missing",
                  set->has_ops ? "the aggregate" : "the table of operations");
    if (set->grade != COPPER_SET_WHOLE || set->totals.overflow ||
        set->ops.overflow ||
        copper_counts_agree(&set->totals, &set->ops, &why) == 0)
        return note_odd(b, totals, &set->totals.odd) < 0 ||
                       note_odd(b, ops, &set->ops.odd) < 0
                   ? -1
                   : 0;
    /* a snapshot is written without a lock while operations go on */
    if (copper_set_is_snapshot(set->tag))
        return copper_note(b, totals->path, false, "%s", why.text);
    set->why = why;
    set->grade = COPPER_SET_CONTRADICTORY;
    if (rows_are_missing(set)) {
        error_wrap(&set->why, "rows of the table of operations are missing");
        set->grade = COPPER_SET_HALF;
        set->has_ops = false;
    }
    return copper_note(b, set->has_ops ? totals->path : ops->path, false, "%s",
                       set->why.text);
}

int copper_set_load(struct copper_build *b, const struct copper_daemon *d,
                    struct copper_set *set)
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
                      enum copper_tag tag, struct copper_set *set)
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
    *set = (struct copper_set){.tag = tag,
                               .dumps = true,
                               .mtime_us = set->mtime_us,
                               .has_ops = true,
                               .grade = COPPER_SET_WHOLE,
                               .ops = ops};
    copper_ops_sum(&ops, &set->totals);
    return 0;
}

/* Dumps, less those made before the step where there are some. */
int copper_set_attached(struct copper_build *b, const struct copper_daemon *d,
                        struct copper_set *best)
{
    struct copper_set now = {.grade = COPPER_SET_NOTHING},
                      before = {.grade = COPPER_SET_NOTHING};
    struct jp_error why;

    if (load_dumps(b, d, COPPER_TAG_FINAL, &now) < 0 ||
        load_dumps(b, d, COPPER_TAG_BEFORE, &before) < 0)
        return -1;
    if (now.grade != COPPER_SET_WHOLE)
        return 0;
    if (before.grade == COPPER_SET_WHOLE) {
        if (copper_ops_since(&now.ops, &before.ops, &now.ops, &why) < 0)
            return copper_note(b, d->files->path, false, "%s", why.text);
        copper_ops_sum(&now.ops, &now.totals);
        now.since = true;
    }
    *best = now;
    return 0;
}
