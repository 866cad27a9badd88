/* scout.c - reads the timelines alone, with several threads, and compares the
 * clocks of the nodes (clocks.h).
 *
 * First it looks whether there are several nodes at all (has_several): if not,
 * nothing more is read. Then threads take logs one after the other, and a
 * partial in place of its node's logs. */
#include "orchestrator/aggregate/clocks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/partial.h"
#include "orchestrator/aggregate/result_build.h"
#include "orchestrator/aggregate/timeline.h"

/* The first records of so many files show whether there are several nodes. In
 * each file, up to so many records are read until one has a start. */
enum { PEEKED = 64, PEEKED_RECORDS = 1024 };
enum { MAX_THREADS = 64 };

/* Shared by the threads. */
struct scout {
    const struct jp_logwalk *walk;
    const struct jp_aggregate_options *options;
    struct partial_node **nodes; /* by log; NULL: the log itself is read */
    struct timeline **timelines; /* by log */
    uint64_t events;
    _Atomic size_t next; /* log */
    atomic_bool stop;
};

/* The state while one file is read into its timeline. */
struct way {
    struct scout *scout;
    struct source_facts *facts;
    struct timeline *timeline;
    uint64_t events;  /* after so many, reading ends */
    uint64_t records; /* records left to read */
    bool asks;        /* runs in the caller's thread, which reports progress */
};

/* Reports progress. False: the caller's progress function stopped it. */
static bool ask_progress(struct scout *s)
{
    const struct jp_aggregate_options *o = s->options;

    if (o->progress && o->progress(o->progress_arg, 0, s->walk->bytes))
        atomic_store(&s->stop, true);
    return !atomic_load(&s->stop);
}

/* The sink's callback: adds records to the timeline until it is full. 1: enough
 * is read; -1: no memory. */
static int take_records(void *arg, const struct record *records, size_t n)
{
    struct way *w = arg;

    for (size_t i = 0; i < n; i++) {
        if (w->facts->no_clock || w->timeline->n >= w->events ||
            w->timeline->left || w->records-- == 0)
            return 1;
        if (records[i].start_us && records[i].end_us &&
            timeline_add(w->timeline, &records[i]) < 0)
            return -1;
    }
    return w->asks && !ask_progress(w->scout) ? 1 : 0;
}

/* The sink's callback for counters, which have no times. */
static int ignore(void *arg, const struct record *base,
                  const struct jpr_counts *counts)
{
    (void) arg;
    (void) base;
    (void) counts;
    return 0;
}

/* The timeline of a log's first `events` operations. NULL: it has none, or no
 * memory. */
static struct timeline *read_log(struct scout *s, struct reader_states *states,
                                 const struct jp_logfile *log, struct way w)
{
    static const atomic_bool never;
    _Atomic uint64_t done = 0; /* not read by anyone */
    struct jp_error err = {""};
    const struct backend *backend =
        reader_find_with(log->path, !log->maybe, s->options->readers, &err);
    const struct reader_input in = {.path = log->path,
                                    .to = UINT64_MAX,
                                    .stop = &never,
                                    .done = &done,
                                    .only_times = true};
    struct source_facts facts = {0};
    const struct reader_sink sink = {
        .take = take_records, .counts = ignore, .arg = &w};

    if (!backend || !(w.timeline = timeline_create(s->events, 0)))
        return NULL;
    w.scout = s;
    w.facts = &facts;
    /* a file without usable times has no timeline */
    if (reader_read(states, backend, &in, &sink, &facts) < 0 ||
        !w.timeline->n || facts.no_clock) {
        timeline_destroy(w.timeline);
        w.timeline = NULL;
    }
    reader_facts_fini(&facts);
    return w.timeline;
}

/* --- are there several nodes? --- */

/* Whether the first records of some files, spread evenly, are of two hosts. */
static bool peek(struct scout *s, struct reader_states *states)
{
    size_t n = s->walk->n_logs, most = n < PEEKED ? n : PEEKED;
    struct timeline *first = NULL;
    bool several = false;

    /* neighbours are mostly of one node, so the last file comes second */
    for (size_t k = 0; k < most && !several && ask_progress(s); k++) {
        size_t at = k % 2 ? most - 1 - k / 2 : k / 2;
        struct timeline *t = read_log(
            s, states, &s->walk->logs[most > 1 ? at * (n - 1) / (most - 1) : 0],
            (struct way){.events = 1, .records = PEEKED_RECORDS});

        if (first && t)
            several = strcmp(first->host, t->host) != 0;
        /* the first timeline that was found is kept to compare with */
        if (first)
            timeline_destroy(t);
        else
            first = t;
    }
    timeline_destroy(first);
    return several;
}

/* Fills nodes. Returns how many partials are good. */
static size_t find_nodes(struct scout *s, const struct partial_set *partials)
{
    size_t good = 0;

    for (size_t i = 0; partials && i < partials->n; i++) {
        struct partial_node *node = &partials->nodes[i];

        for (size_t k = 0; node->good && k < node->n; k++)
            s->nodes[node->first + k] = node;
        good += node->good;
    }
    return good;
}

/* --- all timelines --- */

/* Reads log i. The first log of a node stands for its partial, or for all its
 * logs if the partial is damaged. */
static void take_turn(struct scout *s, struct reader_states *states, size_t i,
                      bool asks)
{
    const struct partial_node *node = s->nodes[i];
    size_t from = i, to = i + 1;

    if (node && node->first != i)
        return;
    if (node &&
        partial_set_timelines(node, s->walk, s->events, s->timelines) == 0)
        return;
    if (node)
        to = node->first + node->n;
    for (i = from; i < to && !atomic_load(&s->stop); i++)
        s->timelines[i] = read_log(s, states, &s->walk->logs[i],
                                   (struct way){.events = s->events,
                                                .records = UINT64_MAX,
                                                .asks = asks});
}

/* Takes logs until none is left. asks: as in struct way. */
static void scout_logs(struct scout *s, bool asks)
{
    struct reader_states *states = reader_states_create();
    size_t i;

    while (states && !atomic_load(&s->stop) &&
           (i = atomic_fetch_add(&s->next, 1)) < s->walk->n_logs)
        if (!asks || ask_progress(s))
            take_turn(s, states, i, asks);
    reader_states_destroy(states);
}

static void *read_timelines(void *arg)
{
    scout_logs(arg, false);
    return NULL;
}

/* Uses n - 1 more threads, or as many as can be created. */
static void run_all(struct scout *s, unsigned n)
{
    pthread_t more[MAX_THREADS];
    unsigned started = 0;

    while (started + 1 < n && started < MAX_THREADS &&
           pthread_create(&more[started], NULL, read_timelines, s) == 0)
        started++;
    scout_logs(s, true);
    for (unsigned i = 0; i < started; i++)
        pthread_join(more[i], NULL);
}

/* Whether the logs may be of several nodes: two partials, or two hosts in the
 * first records. */
static bool has_several(struct scout *s, size_t n_partials)
{
    struct reader_states *states;
    bool several = n_partials > 1;

    if (several || s->walk->n_logs < 2)
        return several;
    states = reader_states_create();
    several = states && peek(s, states);
    reader_states_destroy(states);
    return several;
}

struct jp_clocks *scout_clocks(const struct jp_logwalk *walk,
                               const struct partial_set *partials,
                               const struct jp_aggregate_options *options,
                               uint64_t events)
{
    struct scout s = {.walk = walk, .options = options, .events = events};
    struct jp_clocks *clocks = NULL;
    size_t n = walk->n_logs;

    s.nodes = calloc(n + 1, sizeof(*s.nodes));
    s.timelines = calloc(n + 1, sizeof(*s.timelines));
    if (s.nodes && s.timelines && has_several(&s, find_nodes(&s, partials))) {
        run_all(&s, aggregate_threads(options));
        /* timelines of a stopped run would be of some nodes only */
        if (!atomic_load(&s.stop))
            clocks = clocks_make(s.timelines, n, options->nodes);
    }
    for (size_t i = 0; s.timelines && i < n; i++)
        timeline_destroy(s.timelines[i]);
    free(s.timelines);
    free(s.nodes);
    return clocks;
}
