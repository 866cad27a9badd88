/* copper_ranks.c - the last launch's ranks, and who is missing among them. */
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "orchestrator/copper/copper_build.h"

const char *const copper_state_names[JP_COPPER_N_STATES] = {
    "good", "earlier", "partial", "overflow", "damaged", "missing"};

/* How it was started, by the head of a summary.md or its log. */
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

/* Cache sizes that an ioctl dumped. */
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
    if (!d->has_profile) {
        rank->why = strdup("it wrote a log but no profile: it was killed, or "
                           "started without profiling");
        return rank->why ? 0 : -1;
    }
    if (copper_rank_load(b, d, rank, c->n_ranks - 1) < 0 ||
        load_settings(b, d, &settings) < 0 || load_caches(b, d, rank) < 0)
        return -1;
    merge_settings(c, &settings);
    return 0;
}

/* A step's folders have the names that Slurm gives nodes, not their own. */
static bool is_in_folder(const struct copper_daemon *d, const char *node)
{
    size_t n = strlen(node), len = d->files->root_len;

    return len > n && d->files->path[len - n - 1] == '/' &&
           !memcmp(d->files->path + len - n, node, n);
}

static bool is_present(const struct copper_build *b, const char *host)
{
    for (size_t i = 0; i < b->n_daemons; i++)
        if (b->daemons[i].launch + 1 == b->copper->n_launches &&
            (copper_same_host(b->daemons[i].host, host) ||
             is_in_folder(&b->daemons[i], host)))
            return true;
    return false;
}

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

static void add_to_launch(struct jp_copper_launch *launch,
                          const struct jp_copper_rank *rank)
{
    launch->ranks += rank->state != JP_COPPER_MISSING;
    launch->counted += rank->has_counts;
    for (size_t i = 0; rank->has_counts && i < COPPER_N_METRICS; i++)
        launch->value[i] = num_add(launch->value[i], rank->value[i]);
}

/* An older launch gives its sums only. */
static int older(struct copper_build *b, const struct copper_daemon *d)
{
    struct jp_copper *c = b->copper;
    struct jp_copper_rank rank = {.state = JP_COPPER_MISSING};
    size_t points = c->n_points;
    int rc = d->has_profile ? copper_rank_load(b, d, &rank, 0) : 0;

    c->n_points = points;
    if (rc == 0)
        add_to_launch(&c->launches[d->launch], &rank);
    free(rank.why);
    return rc;
}

static int by_count(const void *a, const void *b)
{
    const struct jp_copper_point *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->value[0] > y->value[0]) - (x->value[0] < y->value[0]);
}

static int by_time(const void *a, const void *b)
{
    const struct jp_copper_point *x = a, *y = b;

    if (x->rank == y->rank && x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return by_count(a, b);
}

static bool is_reset(const struct jp_copper_point *p)
{
    return !strcmp(p->tag, copper_tag_names[COPPER_TAG_PRE_RESET]);
}

/* Counters only grow, but for a reset: where they fall from one file to a
 * later one, the times are those of a copy. */
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
