/* copper_paths.c - path events of all ranks, by full tables or top rows. */
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "orchestrator/copper/copper_build.h"

/* What to do with rows. */
struct sink {
    struct copper_build *b;
    size_t rank;
    bool classes, set; /* count top rows by class; add to the set */
    bool full;
    uint64_t *seen;   /* order in which classes were first seen */
    uint64_t wrapped; /* rows left out */
};

static int count_top(struct sink *sink, const struct copper_row *row)
{
    enum jp_copper_class class = copper_class_of(row->category, row->path);
    struct jp_copper_class_sum *sum = &sink->b->copper->classes[class];

    if (!sum->top_example) {
        sum->top_example = strdup(row->path);
        if (!sum->top_example)
            return -1;
        sink->seen[class] = ++sink->seen[JP_COPPER_N_CLASSES];
    }
    sum->top_rows++;
    sum->top_events = num_add(sum->top_events, copper_row_events(row));
    return 0;
}

static int add_row(struct sink *sink, const struct copper_row *row)
{
    int rc = 0;

    if (row->wrapped) {
        sink->wrapped++;
        return 0;
    }
    if (sink->classes && count_top(sink, row) < 0)
        return -1;
    if (sink->set)
        rc = copper_pathset_add(sink->b->paths, row, sink->rank, sink->full);
    sink->b->copper->left_out_rows += rc > 0;
    return rc < 0 ? -1 : 0;
}

/* All rows of a file; sink NULL: only looks whether it is whole. 0: whole;
 * 1: damaged, why says how; -1. */
static int read_rows(struct copper_build *b, const struct copper_file *file,
                     int category, struct sink *sink, struct jp_error *why)
{
    struct copper_stream stream;
    struct copper_rows rows;
    struct copper_row row;
    int rc;

    if (copper_stream_open(&stream, file->path, why) < 0)
        return 1;
    if (category < 0)
        copper_rows_top(&rows, &stream);
    else
        copper_rows_table(&rows, &stream, (enum copper_category) category);
    while ((rc = copper_rows_next(&rows, &row, why)) > 0)
        if (sink && add_row(sink, &row) < 0) {
            rc = -2;
            break;
        }
    copper_rows_fini(&rows);
    if (rc > -2 && sink && copper_read_done(b, &stream) < 0)
        rc = -2;
    copper_stream_close(&stream);
    return rc == -2 ? -1 : rc < 0;
}

/* The i-th of the daemon's files of that kind: those of the moment that its
 * counters come from, then by tag; NULL behind the last. */
static const struct copper_file *choice(const struct copper_daemon *d,
                                        const struct jp_copper_rank *rank,
                                        enum copper_kind kind, unsigned i)
{
    unsigned n = 0;

    for (int pass = 0; pass < 2; pass++)
        for (unsigned tag = 0; tag <= COPPER_TAG_PRE_RESET; tag++) {
            bool own = !strcmp(copper_tag_names[tag], rank->source);
            const struct copper_file *file =
                own == !pass ? copper_daemon_file(d, kind, tag, 0) : NULL;

            if (file && n++ == i)
                return file;
        }
    return NULL;
}

static bool is_whole(struct copper_build *b, const struct copper_file *file,
                     int category)
{
    struct jp_error why;

    return category < 0 ? read_rows(b, file, category, NULL, &why) == 0
                        : copper_table_is_whole(file->path);
}

/* The first whole file of the kind, else the first. */
static const struct copper_file *pick(struct copper_build *b,
                                      const struct copper_daemon *d,
                                      const struct jp_copper_rank *rank,
                                      enum copper_kind kind, int category)
{
    const struct copper_file *first = choice(d, rank, kind, 0), *file = first;

    for (unsigned i = 0; file; file = choice(d, rank, kind, ++i))
        if (is_whole(b, file, category))
            return file;
    return first;
}

/* 1: read whole; 0: absent, or damaged and noted. */
static int take_file(struct copper_build *b, const struct copper_file *file,
                     int category, struct sink *sink)
{
    struct jp_error why;
    int rc;

    if (!file)
        return 0;
    sink->wrapped = 0;
    rc = read_rows(b, file, category, sink, &why);
    if (rc == 0 && sink->wrapped)
        return copper_note(b, file->path, true,
                           "%llu rows left out: a counter passed 2^31",
                           (unsigned long long) sink->wrapped);
    if (rc <= 0)
        return rc < 0 ? -1 : 1;
    return copper_note(b, file->path, true, "%s; the rows before it count",
                       why.text);
}

static int take_rank(struct copper_build *b, const struct copper_daemon *d,
                     size_t index, uint64_t *seen)
{
    struct jp_copper_rank *rank = &b->copper->ranks[index];
    const struct copper_file *top = pick(b, d, rank, COPPER_FILE_TOP, -1);
    struct sink sink = {.b = b, .rank = index, .set = true, .full = true};
    unsigned tables = 0, whole = 0;
    int rc;

    for (unsigned c = 0; c < COPPER_N_CATEGORIES; c++) {
        const struct copper_file *file =
            pick(b, d, rank, COPPER_FILE_TABLE_METADATA + c, (int) c);

        rc = take_file(b, file, (int) c, &sink);
        if (rc < 0)
            return -1;
        tables += file != NULL;
        whole += rc > 0;
    }
    rank->has_tables = tables == COPPER_N_CATEGORIES && whole == tables;
    sink = (struct sink){
        .b = b, .rank = index, .classes = true, .set = !tables, .seen = seen};
    rc = take_file(b, top, -1, &sink);
    rank->has_top = top != NULL && rc >= 0;
    b->copper->n_tables += rank->has_tables;
    b->copper->n_top += rank->has_top;
    return rc < 0 ? -1 : 0;
}

/* Exact sums over what full tables told, each with its busiest path. */
static int sum_classes(struct jp_copper *c)
{
    uint64_t most[JP_COPPER_N_CLASSES] = {0};

    for (size_t i = 0; i < c->n_paths; i++) {
        const struct jp_copper_path *p = &c->paths[i];
        struct jp_copper_class_sum *sum = &c->classes[p->class];

        c->category_events[p->category] =
            num_add(c->category_events[p->category], p->events);
        if (!p->full)
            continue;
        sum->paths++;
        sum->events = num_add(sum->events, p->events);
        if (sum->example && p->events <= most[p->class])
            continue;
        most[p->class] = p->events;
        free(sum->example);
        sum->example = strdup(p->path);
        if (!sum->example)
            return -1;
    }
    return 0;
}

/* Most events of top rows first; ties as first seen, those of full tables
 * only behind them. */
static void sort_classes(struct jp_copper *c, const uint64_t *seen)
{
    for (size_t i = 1; i < JP_COPPER_N_CLASSES; i++)
        for (size_t k = i; k > 0; k--) {
            struct jp_copper_class_sum *a = &c->classes[k - 1];
            struct jp_copper_class_sum *b = &c->classes[k], swap = *a;
            bool later = a->top_events != b->top_events
                             ? a->top_events < b->top_events
                         : seen[a->class] != seen[b->class]
                             ? seen[a->class] - 1 > seen[b->class] - 1
                             : a->events < b->events;

            if (!later)
                break;
            *a = *b;
            *b = swap;
        }
}

static void mark_categories(struct jp_copper *c)
{
    size_t at = 0;

    for (unsigned k = 0; k < COPPER_N_CATEGORIES; k++) {
        c->path_from[k] = at;
        while (at < c->n_paths && c->paths[at].category == k)
            at++;
    }
    c->path_from[COPPER_N_CATEGORIES] = at;
}

int copper_paths(struct copper_build *b)
{
    uint64_t seen[JP_COPPER_N_CLASSES + 1] = {0};
    struct jp_copper *c = b->copper;
    size_t rank = 0;

    for (unsigned i = 0; i < JP_COPPER_N_CLASSES; i++)
        c->classes[i].class = i;
    b->paths = copper_pathset_create(b->options->memory_bytes);
    if (!b->paths)
        return -1;
    for (size_t i = 0; i < b->n_daemons; i++) {
        if (b->daemons[i].launch + 1 != c->n_launches)
            continue;
        if (b->daemons[i].has_profile &&
            take_rank(b, &b->daemons[i], rank, seen) < 0)
            return -1;
        rank++;
    }
    copper_pathset_take(b->paths, &c->paths, &c->n_paths, &c->memory);
    mark_categories(c);
    if (sum_classes(c) < 0)
        return -1;
    sort_classes(c, seen);
    return 0;
}
