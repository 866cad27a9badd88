/* copper_ranks.c - load the counters of the last launch's ranks and find
 * missing ranks.
 *
 * A daemon may have written its counters several times: at its end, before
 * that, as snapshots, or by an ioctl. The files of one time are a set (struct
 * copper_set). each_set loads and grades all sets of a daemon, is_better
 * chooses one, settle_rank makes the rank from it. Every set that can be used
 * also becomes a point of the rank's course over time. */
#include "orchestrator/copper/copper_build.h"

#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/vector.h"

/* How far a set can be trusted, best first. HALF: only one of the two files is
 * good. CONTRADICTORY: they disagree. */
enum copper_grade {
    COPPER_SET_WHOLE,
    COPPER_SET_HALF,
    COPPER_SET_CONTRADICTORY,
    COPPER_SET_NOTHING
};

/* The files that a daemon wrote at one time. */
struct copper_set {
    enum copper_tag tag;
    uint64_t copy;
    int64_t mtime_us;                /* of the file read last */
    bool has_totals, has_ops, dumps; /* which files are good; dumps: by an
                                        ioctl */
    bool since; /* for dumps: values before the step are subtracted */
    enum copper_grade grade;
    struct copper_totals totals;
    struct copper_ops ops;
    struct jp_error why; /* what is wrong with it; "": nothing */
};

/* The name of the set in the report: "final", ..., "ioctl dumps". */
static const char *set_source(const struct copper_set *set)
{
    return set->dumps ? "ioctl dumps" : copper_tag_names[set->tag];
}

/* Reads one file of a set. */
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

/* Reads one file. A broken file is noted as harmless, because other files may
 * replace it. Returns 1 if it is valid, 0 if it is absent or broken. */
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
        /* the reason appears without the folder */
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

/* Notes what was ignored in a file. */
static int note_odd(struct copper_build *b, const struct copper_file *file,
                    const struct jp_error *odd)
{
    return file && *odd->text
               ? copper_note(b, file->path, false, "%s", odd->text)
               : 0;
}

/* Written while the daemon was at work. */
static bool set_is_snapshot(enum copper_tag tag)
{
    return tag == COPPER_TAG_RUNTIME || tag == COPPER_TAG_IOCTL;
}

/* Whether the operations file was cut. An aggregate with all its rows is
 * complete. Operations may have been cut after any row; then all their sums are
 * smaller. */
static bool rows_are_missing(const struct copper_set *set)
{
    struct copper_totals sum;

    copper_ops_sum(&set->ops, &sum);
    for (size_t i = 0; i < COPPER_N_METRICS; i++)
        if (sum.value[i] > set->totals.value[i])
            return false;
    return true;
}

/* Grades a set after its files were read. A contradiction in a snapshot is
 * normal and only noted. */
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
    /* a snapshot is written without a lock while operations continue */
    if (set_is_snapshot(set->tag))
        return copper_note(b, totals->path, false, "%s", why.text);
    set->why = why;
    /* if rows of the operations are missing, the aggregate alone is used */
    set->grade = COPPER_SET_CONTRADICTORY;
    if (rows_are_missing(set)) {
        error_wrap(&set->why, "rows of the table of operations are missing");
        set->grade = COPPER_SET_HALF;
        set->has_ops = false;
    }
    return copper_note(b, set->has_ops ? totals->path : ops->path, false, "%s",
                       set->why.text);
}

/* Reads and grades the set of its tag and copy. Problems are noted and stored
 * in why. Returns -1 when out of memory, or stopped. */
static int set_load(struct copper_build *b, const struct copper_daemon *d,
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

/* Loads one dump of all counters: five files, which must all be good, otherwise
 * *set only gets another mtime_us. Returns -1 when out of memory, or
 * stopped. */
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
    /* a part of the fields is of no use */
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

/* Replaces *best by complete dumps of an ioctl, minus those made before the
 * step if they exist. Returns -1 when out of memory, or stopped. */
static int set_attached(struct copper_build *b, const struct copper_daemon *d,
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
        /* counters were reset during the step: nothing can be subtracted */
        if (copper_ops_since(&now.ops, &before.ops, &now.ops, &why) < 0)
            return copper_note(b, d->files->path, false, "%s", why.text);
        copper_ops_sum(&now.ops, &now.totals);
        now.since = true;
    }
    *best = now;
    return 0;
}

/* --- a daemon's counters from the best of its files --- */

/* Adds the set to the rank's points, if its figures can be used. Returns -1
 * without memory. */
static int keep_point(struct copper_build *b, const struct copper_set *set,
                      size_t rank)
{
    struct jp_copper *c = b->copper;
    struct jp_copper_point *point;

    if (set->grade > COPPER_SET_HALF || set->totals.overflow ||
        set->ops.overflow)
        return 0;
    if (VECTOR_DOUBLE(c->points, c->n_points) < 0)
        return -1;
    point = &c->points[c->n_points];
    *point = (struct jp_copper_point){.rank = rank,
                                      .tag = set_source(set),
                                      .copy = set->copy,
                                      .time_us = set->mtime_us};
    memcpy(point->value, set->totals.value, sizeof(set->totals.value));
    /* without the aggregate, from the operations */
    if (!set->has_totals) {
        struct copper_totals sum;

        copper_ops_sum(&set->ops, &sum);
        memcpy(point->value, sum.value, sizeof(sum.value));
    }
    c->n_points++;
    return 0;
}

/* Number of operations that a set has counted. */
static uint64_t operations(const struct copper_set *set)
{
    struct copper_totals sum;

    if (set->has_totals)
        return set->totals.value[COPPER_OPERATIONS];
    copper_ops_sum(&set->ops, &sum);
    return sum.value[COPPER_OPERATIONS];
}

/* Lower is better. Final and pre-destroy files come first, even half ones,
 * because they include all counts; then snapshots; then files written at a
 * reset; then dumps; last, sets that cannot be trusted. */
static unsigned score(const struct copper_set *set)
{
    unsigned half = set->grade == COPPER_SET_HALF ? 2 : 0;

    if (set->grade >= COPPER_SET_CONTRADICTORY)
        return 90 + set->grade;
    if (set->dumps)
        return 20;
    if (set_is_snapshot(set->tag))
        return 4 + half;
    return (set->tag == COPPER_TAG_PRE_RESET ? 10 : set->tag) + half;
}

/* With equal scores, the set that counted more is the later one. */
static bool is_better(const struct copper_set *a, const struct copper_set *b)
{
    unsigned x = score(a), y = score(b);

    return x != y ? x < y : operations(a) > operations(b);
}

/* Compares the pre-destroy counters with the final ones. */
static enum jp_copper_compared compare_sets(const struct copper_set *a,
                                            const struct copper_set *b)
{
    if (a->grade != COPPER_SET_WHOLE || b->grade != COPPER_SET_WHOLE)
        return JP_COPPER_NOT_COMPARED;
    return !memcmp(a->totals.value, b->totals.value, sizeof(a->totals.value)) &&
                   !memcmp(a->ops.row, b->ops.row, sizeof(a->ops.row))
               ? JP_COPPER_EQUAL
               : JP_COPPER_DIFFERENT;
}

/* The rank's state, by its best set. */
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

/* Sets why a rank is not "good from its final files". Returns -1 without
 * memory. */
static int explain(struct jp_copper_rank *rank, const struct copper_set *best,
                   const struct copper_set *final)
{
    const char *why = "";

    if (rank->state == JP_COPPER_OVERFLOW)
        why = "a counter exceeded 2^31 and wrapped: excluded from sums";
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

/* Makes the rank from its best set. Returns -1 without memory. */
static int settle_rank(struct jp_copper_rank *rank,
                       const struct copper_set *best,
                       const struct copper_set *final)
{
    rank->state = state_of(best);
    rank->source = best->grade == COPPER_SET_NOTHING ? "" : set_source(best);
    /* a wrapped counter is in no sum */
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

/* Reads all sets of the daemon's profiles and keeps the best one. */
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

            /* a set begins with its aggregate, or with its operations if there
             * is no aggregate */
            if (name->tag != tag || name->kind > COPPER_FILE_OPERATIONS ||
                (name->kind == COPPER_FILE_OPERATIONS &&
                 copper_daemon_file(d, COPPER_FILE_AGGREGATE, tag, name->copy)))
                continue;
            if (set_load(b, d, &set) < 0 || keep_point(b, &set, rank) < 0)
                return -1;
            if (tag == COPPER_TAG_FINAL)
                *final = set;
            if (tag == COPPER_TAG_PRE_DESTROY)
                early = set;
            if (is_better(&set, best))
                *best = set;
        }
    *compared = compare_sets(final, &early);
    return 0;
}

/* After a reset, counters start at 0 again. */
static int note_reset(struct copper_build *b, const struct copper_daemon *d)
{
    const struct copper_file *file =
        copper_daemon_file(d, COPPER_FILE_AGGREGATE, COPPER_TAG_PRE_RESET, 0);

    return copper_note(b, file->path, false,
                       "counters were reset after this: later values count "
                       "from the reset");
}

/* Loads the counters of one daemon into a rank. */
static int rank_load(struct copper_build *b, const struct copper_daemon *d,
                     struct jp_copper_rank *rank, size_t index)
{
    /* the best set and the final one, on the heap because of their size */
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
    /* Dumps are used if nothing else is good. They are also used if some were
     * made before the step: the daemon's own files then include what it counted
     * earlier. */
    if ((sets[0].grade > COPPER_SET_HALF ||
         copper_daemon_file(d, COPPER_FILE_DUMP_COUNT, COPPER_TAG_BEFORE, 0)) &&
        set_attached(b, d, &sets[0]) < 0)
        goto out;
    if (sets[0].dumps && keep_point(b, &sets[0], index) < 0)
        goto out;
    rc = settle_rank(rank, &sets[0], &sets[1]);
out:
    free(sets);
    return rc;
}

/* --- the ranks of the last launch, and the missing ones --- */

const char *const copper_state_names[JP_COPPER_N_STATES] = {
    "good", "earlier", "partial", "overflow", "damaged", "missing"};

/* Reads the start options from the head of a summary.md, otherwise from the
 * log. Returns -1 when out of memory, or stopped. */
static int load_settings(struct copper_build *b, const struct copper_daemon *d,
                         struct copper_settings *out)
{
    *out = d->log.settings;
    for (unsigned tag = 0; tag <= COPPER_TAG_PRE_RESET; tag++) {
        const struct copper_file *file =
            copper_daemon_file(d, COPPER_FILE_SUMMARY, tag, 0);
        struct copper_stream stream;
        struct jp_error why;
        int rc;

        if (!file)
            continue;
        if (copper_stream_open(&stream, file->path, &why) < 0)
            return copper_note(b, file->path, false, "%s", why.text);
        rc = copper_summary_read(&stream, out, &why);
        if (rc == 0) {
            rc = copper_read_done(b, &stream);
            copper_stream_close(&stream);
            return rc;
        }
        copper_stream_close(&stream);
        if (copper_note(b, file->path, false, "%s", why.text) < 0)
            return -1;
    }
    return 0;
}

/* Keeps the first rank's settings, and notices when others differ. */
static void merge_settings(struct jp_copper *c, const struct copper_settings *s)
{
    struct copper_settings *all = &c->settings;

    if (!*s->mode && s->ttl_ms < 0 && s->top_n < 0 && s->full < 0)
        return;
    if (!*all->mode && all->ttl_ms < 0 && all->top_n < 0 && all->full < 0)
        *all = *s;
    else if (strcmp(all->mode, s->mode) || all->ttl_ms != s->ttl_ms ||
             all->top_n != s->top_n || all->full != s->full)
        c->settings_differ = true;
}

/* Reads the cache sizes that an ioctl has dumped. */
static int load_caches(struct copper_build *b, const struct copper_daemon *d,
                       struct jp_copper_rank *rank)
{
    struct copper_cache_size *sum = &rank->cache[JP_COPPER_CACHE_COMBINED];

    for (unsigned i = 0; i < JP_COPPER_CACHE_COMBINED; i++) {
        const struct copper_file *file = copper_daemon_file(
            d, COPPER_FILE_SIZE_DATA + i, COPPER_TAG_FINAL, 0);
        struct copper_stream stream;
        struct jp_error why;
        int rc;

        if (!file)
            continue;
        if (copper_stream_open(&stream, file->path, &why) < 0)
            return copper_note(b, file->path, false, "%s", why.text);
        rc = copper_cache_size_read(&stream, &rank->cache[i], &why);
        if (rc < 0)
            rc = copper_note(b, file->path, false, "%s", why.text);
        else
            rank->has_cache[i] = true;
        if (rc == 0)
            rc = copper_read_done(b, &stream);
        copper_stream_close(&stream);
        if (rc < 0)
            return -1;
        if (!rank->has_cache[i])
            continue;
        rank->has_cache[JP_COPPER_CACHE_COMBINED] = true;
        sum->bytes = num_add(sum->bytes, rank->cache[i].bytes);
        sum->entries = num_add(sum->entries, rank->cache[i].entries);
    }
    return 0;
}

/* Makes a rank of a daemon of the last launch. */
static int take_daemon(struct copper_build *b, const struct copper_daemon *d)
{
    struct jp_copper *c = b->copper;
    struct jp_copper_rank *rank = &c->ranks[c->n_ranks];
    struct copper_settings settings;

    *rank = (struct jp_copper_rank){.host = strdup(d->host),
                                    .pid = d->pid,
                                    .state = JP_COPPER_MISSING,
                                    .source = "",
                                    .level = d->level,
                                    .level_from = d->level_from,
                                    .has_log = d->has_log,
                                    .log = d->log};
    c->n_ranks++;
    if (!rank->host)
        return -1;
    /* a log alone shows that the daemon ran */
    if (!d->has_profile) {
        rank->why = strdup("it wrote a log but no profile: it was killed, or "
                           "started without profiling");
        return rank->why ? 0 : -1;
    }
    if (rank_load(b, d, rank, c->n_ranks - 1) < 0 ||
        load_settings(b, d, &settings) < 0 || load_caches(b, d, rank) < 0)
        return -1;
    merge_settings(c, &settings);
    return 0;
}

/* Whether the daemon's files are in that node's folder. The folders of a step
 * have Slurm's node names, which may differ from the hosts' own names. */
static bool is_in_folder(const struct copper_daemon *d, const char *node)
{
    size_t n = strlen(node), len = d->files->root_len;

    return len > n && d->files->path[len - n - 1] == '/' &&
           !memcmp(d->files->path + len - n, node, n);
}

/* Whether the expected host has a daemon in the last launch. */
static bool is_present(const struct copper_build *b, const char *host)
{
    for (size_t i = 0; i < b->n_daemons; i++)
        if (b->daemons[i].launch + 1 == b->copper->n_launches &&
            (copper_same_host(b->daemons[i].host, host) ||
             is_in_folder(&b->daemons[i], host)))
            return true;
    return false;
}

/* Adds a rank for an expected host without any file. */
static int add_missing(struct jp_copper *c, const char *host)
{
    struct jp_copper_rank *rank = &c->ranks[c->n_ranks++];

    *rank = (struct jp_copper_rank){
        .host = strdup(host),
        .state = JP_COPPER_MISSING,
        .source = "",
        .why = strdup("it is in the list of nodes, but left no file"),
        .level = -1,
        .level_from = "",
        .log = {.start_us = -1,
                .registration_us = -1,
                .first_rpc_us = -1,
                .parent_us = -1,
                .probes = -1,
                .level = -1,
                .trees = -1,
                .settings = {"", -1, -1, -1}}};
    return rank->host && rank->why ? 0 : -1;
}

/* Adds a rank to the sums of its launch. */
static void add_to_launch(struct jp_copper_launch *launch,
                          const struct jp_copper_rank *rank)
{
    launch->ranks += rank->state != JP_COPPER_MISSING;
    launch->counted += rank->has_counts;
    for (size_t i = 0; rank->has_counts && i < COPPER_N_METRICS; i++)
        launch->value[i] = num_add(launch->value[i], rank->value[i]);
}

/* Adds only the sums of a daemon of an earlier launch; its points are
 * dropped. */
static int older(struct copper_build *b, const struct copper_daemon *d)
{
    struct jp_copper *c = b->copper;
    struct jp_copper_rank rank = {.state = JP_COPPER_MISSING};
    size_t points = c->n_points;
    int rc = d->has_profile ? rank_load(b, d, &rank, 0) : 0;

    c->n_points = points;
    if (rc == 0)
        add_to_launch(&c->launches[d->launch], &rank);
    free(rank.why);
    return rc;
}

/* By rank, then by number of operations. */
static int by_count(const void *a, const void *b)
{
    const struct jp_copper_point *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->value[0] > y->value[0]) - (x->value[0] < y->value[0]);
}

/* By rank, then by time of the file. */
static int by_time(const void *a, const void *b)
{
    const struct jp_copper_point *x = a, *y = b;

    if (x->rank == y->rank && x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return by_count(a, b);
}

/* Written just before the counters were reset. */
static bool is_reset(const struct jp_copper_point *p)
{
    return !strcmp(p->tag, copper_tag_names[COPPER_TAG_PRE_RESET]);
}

/* Sorts the snapshots. Counters only grow, except at a reset. If they decrease
 * between two files, the files' times are those of a copy. */
static void sort_points(struct jp_copper *c)
{
    if (!c->n_points)
        return;
    qsort(c->points, c->n_points, sizeof(*c->points), by_time);
    for (size_t i = 1; i < c->n_points; i++) {
        const struct jp_copper_point *p = &c->points[i - 1], *q = p + 1;

        c->times_lost |= p->rank == q->rank && !is_reset(p) && !is_reset(q) &&
                         p->value[0] > q->value[0];
    }
    if (c->times_lost)
        qsort(c->points, c->n_points, sizeof(*c->points), by_count);
}

int copper_ranks(struct copper_build *b)
{
    struct jp_copper *c = b->copper;

    c->settings = (struct copper_settings){"", -1, -1, -1};
    c->ranks = calloc(b->n_daemons + b->n_roster + 1, sizeof(*c->ranks));
    if (!c->ranks)
        return -1;
    for (size_t i = 0; i < b->n_daemons; i++)
        if ((b->daemons[i].launch + 1 == c->n_launches
                 ? take_daemon(b, &b->daemons[i])
                 : older(b, &b->daemons[i])) < 0)
            return -1;
    for (size_t i = 0; i < b->n_roster; i++)
        if (!is_present(b, b->roster[i]) && add_missing(c, b->roster[i]) < 0)
            return -1;
    for (size_t i = 0; i < c->n_ranks; i++) {
        c->n_state[c->ranks[i].state]++;
        add_to_launch(&c->launches[c->n_launches - 1], &c->ranks[i]);
    }
    sort_points(c);
    return 0;
}
