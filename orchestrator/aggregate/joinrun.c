/* joinrun.c - share the log files among threads and fold what they found. */
#include "orchestrator/aggregate/joinrun.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "orchestrator/aggregate/join_close.h"
#include "orchestrator/aggregate/joinsplit.h"
#include "orchestrator/aggregate/partial_set.h"

enum { MAX_THREADS = 64, DEFAULT_THREADS = 8, PROGRESS_MS = 100 };

/* Shared by the threads of one pass over the files. */
struct run {
    const struct jp_logwalk *walk;
    struct join_file *files;
    bool evidence;
    struct joinsplit split;
    size_t next;   /* turn; under the lock */
    uint64_t left; /* bytes of the turns from there on */
    unsigned threads;
    atomic_bool stop, no_memory, conflict, late;
    _Atomic uint64_t done;
    pthread_mutex_t lock;
    pthread_cond_t finished; /* running became 0 */
    unsigned running;
};

struct worker {
    pthread_t thread;
    struct run *run;
    struct join *join;
};

/* Ends the pass where it cannot go on. */
static void settle(struct worker *w, enum join_status status)
{
    struct run *run = w->run;

    if (status == JOIN_NO_MEMORY)
        atomic_store(&run->no_memory, true);
    if (w->join->conflict)
        atomic_store(&run->conflict, true);
    if (w->join->late)
        atomic_store(&run->late, true);
    if (status == JOIN_NO_MEMORY || w->join->conflict)
        atomic_store(&run->stop, true);
}

/* What was read to its end may complete communicators. */
static enum join_status end_file(struct worker *w, enum join_status status)
{
    if (status == JOIN_NO_MEMORY || w->join->conflict ||
        atomic_load(&w->run->stop))
        return status;
    return join_end_file(w->join) < 0 ? JOIN_NO_MEMORY : status;
}

/* number: no other file or piece has it. */
static void read_file(struct worker *w, const struct join_turn *turn,
                      size_t number, struct jp_loglines *lines)
{
    struct run *run = w->run;
    const struct join_reading reading = {w->join, lines, &run->stop, &run->done,
                                         run->evidence};
    enum join_status status;

    join_begin_file(w->join, (uint32_t) number);
    status = joinrun_read_file(&reading, &run->walk->logs[turn->index], turn);
    if (turn->file != turn->whole && w->join->n_strays)
        w->join->conflict = true; /* which size came first? */
    /* the other pieces of a file may be another thread's */
    settle(w, turn->file == turn->whole ? end_file(w, status) : status);
}

/* A node's partial; its logs where it turns out to be damaged. */
static void read_node(struct worker *w, const struct join_turn *turn,
                      size_t number, struct jp_loglines *lines)
{
    struct run *run = w->run;
    struct partial_node *node = turn->node;
    enum join_status status;

    join_begin_file(w->join, (uint32_t) number);
    status = partial_set_read(node, run->walk, w->join, run->files);
    for (size_t i = node->first;
         status == JOIN_LEFT_OUT && i < node->first + node->n &&
         !atomic_load(&run->stop);
         i++) {
        const struct join_turn log = {.index = i,
                                      .to = UINT64_MAX,
                                      .file = &run->files[i],
                                      .whole = &run->files[i]};

        read_file(w, &log, run->split.n + i, lines);
    }
    if (status == JOIN_OK) {
        atomic_fetch_add(&run->done, node->bytes);
        status = end_file(w, status);
    }
    settle(w, status);
}

/* Pieces are told apart as files are. */
static void read_turn(struct worker *w, size_t number,
                      struct jp_loglines *lines)
{
    const struct join_turn *turn = &w->run->split.turns[number];

    if (turn->node)
        read_node(w, turn, number, lines);
    else
        read_file(w, turn, number, lines);
}

/* Several turns at once, as long as much is left: neighbours by path are often
 * ranks of one node, whose operations are then joined in one thread and need no
 * folding. False: none is left. */
static bool take_turns(struct run *run, size_t *from, size_t *to)
{
    const struct join_turn *turns = run->split.turns;
    uint64_t bytes = 0, fair;

    pthread_mutex_lock(&run->lock);
    fair = run->left / (2 * run->threads);
    *from = run->next;
    while (run->next < run->split.n &&
           (run->next == *from || bytes + turns[run->next].size <= fair))
        bytes += turns[run->next++].size;
    *to = run->next;
    run->left -= bytes;
    pthread_mutex_unlock(&run->lock);
    return *to > *from;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct run *run = w->run;
    struct jp_loglines lines = {0};
    size_t i, end;

    if (loglines_init(&lines, NULL) < 0) {
        atomic_store(&run->no_memory, true);
        atomic_store(&run->stop, true);
    }
    while (!atomic_load(&run->stop) && take_turns(run, &i, &end))
        for (; i < end && !atomic_load(&run->stop); i++)
            read_turn(w, i, &lines);
    loglines_fini(&lines);
    join_sort_strays(w->join);
    pthread_mutex_lock(&run->lock);
    if (--run->running == 0)
        pthread_cond_signal(&run->finished);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* Waits for the threads and tells the caller how far they are. False: it wants
 * to stop. */
static bool watch(struct run *run, const struct jp_aggregate_options *options)
{
    bool wanted = true, over = false;

    while (!over) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PROGRESS_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_mutex_lock(&run->lock);
        if (run->running)
            pthread_cond_timedwait(&run->finished, &run->lock, &until);
        over = !run->running;
        pthread_mutex_unlock(&run->lock);
        if (wanted && options->progress &&
            options->progress(options->progress_arg, atomic_load(&run->done),
                              run->walk->bytes)) {
            wanted = false;
            atomic_store(&run->stop, true);
        }
    }
    return wanted;
}

/* Runs n workers to their end; without threads the first works here. */
static bool run_workers(struct run *run, struct worker *workers, unsigned n,
                        const struct jp_aggregate_options *options)
{
    unsigned started = 0;
    bool wanted;

    run->running = n;
    while (started < n && pthread_create(&workers[started].thread, NULL, work,
                                         &workers[started]) == 0)
        started++;
    for (unsigned i = started; i < n; i++) {
        if (i == 0)
            work(&workers[0]);
        else {
            pthread_mutex_lock(&run->lock);
            run->running--;
            pthread_mutex_unlock(&run->lock);
        }
    }
    wanted = watch(run, options);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    return wanted;
}

/* Folds all joins into the first, which becomes the caller's. */
static int fold(struct run *run, struct worker *workers, unsigned n)
{
    struct join *into = workers[0].join;

    for (unsigned i = 1; i < n; i++) {
        enum join_status status = join_merge(into, workers[i].join);

        join_destroy(workers[i].join);
        workers[i].join = NULL;
        if (status == JOIN_NO_MEMORY)
            return -1;
        if (into->conflict)
            break;
    }
    join_sort_strays(into);
    if (into->conflict)
        atomic_store(&run->conflict, true);
    if (into->late)
        atomic_store(&run->late, true);
    return 0;
}

/* One pass over all files. *conflict: the result says nothing, do it again in
 * order. */
static struct join *pass(struct run *run, unsigned n, bool ordered,
                         const struct jp_aggregate_options *options,
                         struct join_budget *budget, struct jp_error *err)
{
    struct worker workers[MAX_THREADS] = {0};
    struct join *join = NULL;
    unsigned made;

    for (made = 0; made < n; made++) {
        workers[made] =
            (struct worker){.run = run, .join = join_create(budget, ordered)};
        if (!workers[made].join) {
            error_set(err, "out of memory");
            goto out;
        }
    }
    if (!run_workers(run, workers, n, options)) {
        error_set(err, "stopped");
        goto out;
    }
    if (atomic_load(&run->no_memory) ||
        (!atomic_load(&run->conflict) && fold(run, workers, n) < 0)) {
        error_set(err, "out of memory");
        goto out;
    }
    join = workers[0].join;
    workers[0].join = NULL;
out:
    for (unsigned i = 0; i < made; i++)
        join_destroy(workers[i].join);
    return join;
}

static void clear_file(struct join_file *file)
{
    if (file->evidence)
        stuck_evidence_fini(file->evidence);
    free(file->evidence);
    free(file->notes);
    busy_destroy(file->busy);
    *file = (struct join_file){0};
}

void joinrun_free_files(struct join_file *files, size_t n)
{
    for (size_t i = 0; files && i < n; i++)
        clear_file(&files[i]);
    free(files);
}

unsigned joinrun_threads(const struct jp_aggregate_options *options)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned n = options->threads;

    if (!n)
        n = cpus < 1                 ? 1
            : cpus < DEFAULT_THREADS ? (unsigned) cpus
                                     : DEFAULT_THREADS;
    return n > MAX_THREADS ? MAX_THREADS : n;
}

/* Bytes of a piece; without threads nothing is split. */
static uint64_t piece_bytes(const struct jp_aggregate_options *options,
                            unsigned n)
{
    return n == 1                 ? 0
           : options->piece_bytes ? options->piece_bytes
                                  : JOINSPLIT_BYTES;
}

static struct join *start(struct run *run, unsigned n,
                          const struct jp_aggregate_options *options,
                          struct join_budget *budget,
                          struct partial_set *partials, struct jp_error *err)
{
    size_t n_files = run->walk->n_logs;
    struct join *join;

    for (size_t i = 0; i < n_files; i++)
        clear_file(&run->files[i]);
    joinsplit_fini(&run->split);
    if (joinsplit_init(&run->split, run->walk, partials,
                       piece_bytes(options, n), run->files) < 0) {
        error_set(err, "out of memory");
        return NULL;
    }
    n = run->split.n < n ? run->split.n ? (unsigned) run->split.n : 1 : n;
    run->next = 0;
    run->left = 0;
    for (size_t i = 0; i < run->split.n; i++)
        run->left += run->split.turns[i].size;
    run->threads = n;
    atomic_store(&run->stop, false);
    atomic_store(&run->conflict, false);
    atomic_store(&run->done, 0);
    atomic_store(&budget->used, 0);
    atomic_store(&budget->journal_used, 0);
    atomic_store(&budget->journal_off, false);
    join = pass(run, n, n == 1 && !run->split.n_nodes, options, budget, err);
    joinsplit_fold(&run->split);
    return join;
}

struct join *joinrun(const struct jp_logwalk *walk,
                     const struct jp_aggregate_options *options,
                     struct join_budget *budget, struct partial_set *partials,
                     struct join_file *files, struct jp_error *err)
{
    struct run run = {
        .walk = walk, .files = files, .evidence = options->evidence};
    struct join *join;

    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.finished, NULL);
    join =
        start(&run, joinrun_threads(options), options, budget, partials, err);
    /* in order there is only one conflict left, and at most once: LATE */
    while (join && atomic_load(&run.conflict)) {
        for (size_t i = 0; partials && i < partials->n; i++)
            partials->nodes[i].used = false;
        budget->keep |= atomic_load(&run.late);
        join_destroy(join);
        join = start(&run, 1, options, budget, NULL, err);
    }
    pthread_cond_destroy(&run.finished);
    pthread_mutex_destroy(&run.lock);
    joinsplit_fini(&run.split);
    return join;
}
