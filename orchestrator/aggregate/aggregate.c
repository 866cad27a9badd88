/* aggregate.c - from folders of logs to one result, or to a node's partial.
 *
 * aggregate_run is the whole way: list the files (logwalk), find the nodes'
 * partials, join all records (join_all), and make the rows (result_build,
 * result.c). What hangs is judged last, by a second reading of the recordings
 * (result_hang.c). partial_make joins the logs of one node and writes them as a
 * partial.
 *
 * join_logs makes a pass over all files (start_pass, make_pass), and once more
 * in order where the join is in conflict. A pass cuts the files into turns
 * (split_init), which workers take under the lock (take_turns). Each worker has
 * a join of its own; it finds the reader of each file and lets it read
 * (read_source, aggregate_read). merge_joins folds the workers' joins.
 *
 * Threads take whole files or pieces of huge ones, largest first, each into its
 * own join; the joins are folded when all are read. If that leaves open which
 * record came first (join.h), everything is read once more by one thread in
 * order of path; and once more without closing communicators early if that
 * turned out wrong (budget->keep is set then).
 *
 * A plain log of eight pieces or more is split at newlines: a piece has the
 * lines that begin in its bytes. Where it is cut depends on the file's size
 * only, never on the number of threads, and what the pieces showed is put
 * together in their order, so the result is that of the whole file. Compressed
 * logs, recorders' files and traces are never split. A node's logs are one turn
 * if the node has a good partial. */
#include "orchestrator/aggregate/aggregate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/defaults.h"
#include "common/error.h"
#include "common/fileio.h"
#include "common/logsource.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/intervals.h"
#include "orchestrator/aggregate/join.h"
#include "orchestrator/aggregate/partial.h"
#include "orchestrator/aggregate/result_build.h"
#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/ingest/hangs.h"

/* --- what threads take: files, and pieces of huge ones ------------------- */

/* What a thread takes at a time: a file, a piece of it, or a node's partial. */
struct join_turn {
    uint64_t size;             /* of what is to be read */
    size_t index;              /* of the file, or of the node's first one */
    struct partial_node *node; /* NULL: a file or a piece */
    uint64_t from, to;         /* to UINT64_MAX: to its end */
    struct source_facts
        *file; /* what it shows: the caller's for a whole file */
    struct source_facts *first; /* that of its file's first piece */
    struct source_facts *whole; /* the caller's */
};

/* Small enough for threads to end together, large enough to repeat little work.
 * A file of fewer pieces stays whole, so that its communicators can be closed
 * as soon as its ranks are read. */
#define JOINSPLIT_BYTES (16u << 20)
#define JOINSPLIT_LEAST 8

struct joinsplit {
    struct join_turn *turns;
    size_t n, n_nodes;        /* turns; of these, nodes with a partial */
    struct source_facts *own; /* of the pieces */
    uint64_t *followed; /* operations in their timelines so far; protected by
                           the run's lock */
};

/* Bytes of a piece. With one thread, nothing is split. */
static uint64_t piece_bytes(const struct jp_aggregate_options *options,
                            unsigned n)
{
    return n == 1                 ? 0
           : options->piece_bytes ? options->piece_bytes
                                  : JOINSPLIT_BYTES;
}

/* The number of a file's pieces. Opens it only if it is huge. */
static size_t pieces_of(const struct jp_logfile *log, uint64_t piece_bytes)
{
    const struct backend *backend;
    struct jp_logsource *source;
    struct jp_error err;
    size_t n = 1;

    if (!piece_bytes || log->size / piece_bytes < JOINSPLIT_LEAST)
        return 1;
    backend = reader_find(log->path, !log->maybe, &err);
    if (!backend || !backend->reader->splits)
        return 1;
    source = logsource_open(log->path, NULL);
    if (source && logsource_is_divisible(source))
        n = (size_t) (log->size / piece_bytes);
    logsource_close(source);
    return n;
}

/* Rounds a size to three binary digits, so that ranks of a node stay
 * neighbours: their logs have similar sizes. */
static uint64_t round_size(uint64_t size)
{
    unsigned shift = size > 7 ? 61 - (unsigned) __builtin_clzll(size) : 0;

    return size >> shift << shift;
}

static int in_order(const void *a, const void *b)
{
    const struct join_turn *x = a, *y = b;

    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int larger_first(const void *a, const void *b)
{
    const struct join_turn *x = a, *y = b;

    if (round_size(x->size) != round_size(y->size))
        return x->size > y->size ? -1 : 1;
    return in_order(a, b);
}

/* The turns of one file; the last piece is the longest. */
static void put_turns(struct joinsplit *split, const struct jp_logfile *log,
                      size_t index, size_t pieces, uint64_t piece_bytes,
                      struct source_facts *file)
{
    for (size_t k = 0; k < pieces; k++) {
        struct join_turn *turn = &split->turns[split->n];
        bool last = k + 1 == pieces;

        *turn = (struct join_turn){
            .index = index,
            .from = k * piece_bytes,
            .to = last ? UINT64_MAX : (k + 1) * piece_bytes,
            .file = pieces > 1 ? &split->own[split->n] : file,
            .first = pieces > 1 ? &split->own[split->n - k] : file,
            .whole = file};
        turn->size = last ? log->size - turn->from : piece_bytes;
        split->n++;
    }
}

/* Fills pieces and nodes of each log. Logs that a partial replaces have one
 * turn together. Returns the number of turns. */
static size_t count_turns(const struct jp_logwalk *walk,
                          const struct partial_set *partials,
                          uint64_t piece_bytes, size_t *pieces,
                          struct partial_node **nodes)
{
    size_t n = 0, next = 0;

    for (size_t i = 0; i < walk->n_logs;) {
        nodes[i] = partial_set_at(partials, &next, i);
        if (nodes[i] && !nodes[i]->good)
            nodes[i] = NULL;
        pieces[i] = nodes[i] ? 1 : pieces_of(&walk->logs[i], piece_bytes);
        n += pieces[i];
        i += nodes[i] ? nodes[i]->n : 1;
    }
    return n;
}

static void put_node(struct joinsplit *split, size_t index,
                     struct partial_node *node)
{
    split->turns[split->n++] =
        (struct join_turn){.size = node->bytes, .index = index, .node = node};
    split->n_nodes++;
}

static void split_fini(struct joinsplit *split)
{
    for (size_t i = 0; split->own && i < split->n; i++) {
        busy_destroy(split->own[i].busy);
        timeline_destroy(split->own[i].timeline);
        timeline_destroy(split->own[i].sequence);
    }
    free(split->turns);
    free(split->own);
    free(split->followed);
    *split = (struct joinsplit){0};
}

/* Makes the turns; partials may be NULL. piece_bytes 0: no file is split, and
 * turns are in order of path. Otherwise the largest come first. 0, or -1: no
 * memory. */
static int split_init(struct joinsplit *split, const struct jp_logwalk *walk,
                      const struct partial_set *partials, uint64_t piece_bytes,
                      struct source_facts *files)
{
    size_t *pieces = calloc(walk->n_logs + 1, sizeof(*pieces)), n = 0;
    struct partial_node **nodes = calloc(walk->n_logs + 1, sizeof(*nodes));
    int rc = -1;

    *split = (struct joinsplit){0};
    if (!pieces || !nodes)
        goto out;
    n = count_turns(walk, partials, piece_bytes, pieces, nodes);
    split->turns = calloc(n + 1, sizeof(*split->turns));
    if (!split->turns)
        goto out;
    for (size_t i = 0; i < walk->n_logs && !split->own; i++)
        if (pieces[i] > 1 &&
            (!(split->own = calloc(n, sizeof(*split->own))) ||
             !(split->followed = calloc(n, sizeof(*split->followed)))))
            goto out;
    for (size_t i = 0; i < walk->n_logs; i++)
        if (nodes[i])
            put_node(split, i, nodes[i]);
        else
            put_turns(split, &walk->logs[i], i, pieces[i], piece_bytes,
                      &files[i]);
    if (piece_bytes && n) /* several threads */
        qsort(split->turns, n, sizeof(*split->turns), larger_first);
    rc = 0;
out:
    if (rc < 0)
        split_fini(split);
    free(pieces);
    free(nodes);
    return rc;
}

/* Joins the busy time of a piece to that of the pieces before it. Without
 * memory the busy time is unknown, as if records came too late. */
static void add_busy(struct source_facts *into, struct source_facts *piece)
{
    into->unstamped += piece->unstamped;
    if (!piece->busy)
        return;
    if (!into->busy) {
        into->busy = piece->busy;
        piece->busy = NULL;
    } else if (busy_join(into->busy, piece->busy) < 0) {
        into->busy->clipped++;
    }
    busy_destroy(piece->busy);
    piece->busy = NULL;
}

/* Joins a piece's timeline. Without memory the timeline ends there. */
static void add_timeline(struct timeline **into, struct timeline **piece)
{
    if (!*into) {
        *into = *piece;
        *piece = NULL;
    } else if (*piece && timeline_join(*into, *piece) < 0) {
        (*into)->left++;
    }
    timeline_destroy(*piece);
    *piece = NULL;
}

/* Begins the sequence of a file that has records with start and end, and now
 * one without: it has all of them. 0, or -1: no memory. */
static int order_timeline(struct source_facts *facts)
{
    if (!facts->sequence && facts->timeline)
        facts->sequence = timeline_order(facts->timeline);
    return !facts->timeline || facts->sequence ? 0 : -1;
}

/* Joins a piece's sequence, before its timeline is joined. Where only one of
 * both has a record without start, the other one's sequence is its timeline.
 * Without memory the sequence ends there. */
static void add_sequence(struct source_facts *into, struct source_facts *piece)
{
    if (!into->sequence && !piece->sequence)
        return;
    if (order_timeline(into) < 0) {
        /* what a sequence lacks at its begin cannot be told */
        timeline_destroy(piece->sequence);
        piece->sequence = NULL;
        return;
    }
    if (order_timeline(piece) < 0 && into->sequence)
        into->sequence->left++;
    add_timeline(&into->sequence, &piece->sequence);
}

/* Adds the facts of a piece to `into`, which has those of the pieces before it.
 */
static void add_piece(struct source_facts *into, struct source_facts *piece)
{
    add_busy(into, piece);
    add_sequence(into, piece);
    add_timeline(&into->timeline, &piece->timeline);
    if (piece->bad_lines && !into->bad_lines) {
        into->bad_line = into->lines + piece->bad_line;
        memcpy(into->why, piece->why, sizeof(into->why));
    }
    for (unsigned i = 0; i < JP_BAD_KINDS; i++) {
        if (piece->bad[i].n && !into->bad[i].n)
            into->bad[i].line = into->lines + piece->bad[i].line;
        into->bad[i].n += piece->bad[i].n;
    }
    if (!into->trouble[0])
        memcpy(into->trouble, piece->trouble, sizeof(into->trouble));
    into->bytes += piece->bytes;
    into->lines += piece->lines;
    into->odd_lines += piece->odd_lines;
    into->bad_lines += piece->bad_lines;
    into->other_lines += piece->other_lines;
    into->markers += piece->markers;
    into->marked = num_add(into->marked, piece->marked);
    into->dropped = num_add(into->dropped, piece->dropped);
    into->unreadable |= piece->unreadable;
    into->cut |= piece->cut;
}

/* Puts the pieces together into their files. */
static void split_fold(const struct joinsplit *split)
{
    if (!split->own)
        return;
    qsort(split->turns, split->n, sizeof(*split->turns), in_order);
    for (size_t i = 0; i < split->n; i++)
        if (split->turns[i].file != split->turns[i].whole)
            add_piece(split->turns[i].whole, split->turns[i].file);
    for (size_t i = 0; i < split->n; i++) {
        struct source_facts *whole = split->turns[i].whole;

        if (split->turns[i].file != whole && whole->busy)
            busy_end(whole->busy); /* may be called again */
    }
}

/* --- one file into a join, by the reader that takes it --- */

/* The state while one file is read into a join. */
struct way {
    struct join *join;
    struct source_facts *facts;
    struct hangs_file reading;
    bool timelines; /* are wanted */
    uint64_t timeline_events, strip_bins;
};

/* Adds a record's time in flight. JOIN_OK, or JOIN_NO_MEMORY. */
static enum join_status add_time_in_flight(struct source_facts *facts,
                                           const struct record *record)
{
    if (!facts->busy && !(facts->busy = busy_create(facts->piece)))
        return JOIN_NO_MEMORY;
    return busy_add(facts->busy, record) < 0 ? JOIN_NO_MEMORY : JOIN_OK;
}

/* Adds a record to the timeline, which the replay and the page use. 0, or -1:
 * no memory. */
static int add_to_timeline(const struct way *w, struct source_facts *facts,
                           const struct record *record)
{
    if (!w->timelines || facts->no_clock)
        return 0;
    if (!facts->timeline &&
        !(facts->timeline = timeline_create(w->timeline_events, w->strip_bins)))
        return -1;
    return timeline_add(facts->timeline, record);
}

/* The facts that get the times of a record's process. NULL: no memory. */
static struct source_facts *facts_of(struct source_facts *facts,
                                     const struct record *record)
{
    struct source_facts *more;

    if (!facts->several)
        return facts;
    if (!facts->busy && !facts->n_also)
        facts->pid = record->pid;
    if (facts->pid == record->pid)
        return facts;
    for (size_t i = 0; i < facts->n_also; i++)
        if (facts->also[i].pid == record->pid)
            return &facts->also[i];
    more = VECTOR_DOUBLE_ADD(facts->also, facts->n_also);
    if (more)
        more->pid = record->pid;
    return more;
}

/* Adds a record to the sequence, which has all records of a file of which one
 * lacks start and end. Of a timed one its order and time. 0, or -1: no memory.
 */
static int put_in_order(const struct way *w, struct source_facts *facts,
                        const struct record *record, bool timed)
{
    struct record plain = *record;

    if (!w->timelines || w->facts->no_clock ||
        (timed ? !facts->sequence : record->exec_unknown || record->start_us))
        return 0;
    if (timed && plain.end_us - plain.start_us > plain.exec_us)
        plain.exec_us = plain.end_us - plain.start_us;
    plain.start_us = plain.end_us = 0;
    if (order_timeline(facts) < 0 ||
        (!facts->sequence && !(facts->sequence = timeline_create_order(
                                   w->timeline_events, w->strip_bins))))
        return -1;
    /* it was written soon after it had ended. Messages of one launch are in
     * flight side by side, so their times do not add up */
    timeline_add_time(facts->sequence, plain.exec_us,
                      record->p2p ? 0
                      : timed     ? record->end_us
                                  : record->dump_us);
    return timeline_add(facts->sequence, &plain);
}

/* The sink's callback for records. 0, 1 to stop because of a conflict, -1: no
 * memory. */
static int take_records(void *arg, const struct record *records, size_t n)
{
    const struct way *w = arg;

    for (size_t i = 0; i < n; i++) {
        struct source_facts *facts = facts_of(w->facts, &records[i]);

        if (!facts)
            return -1;
        if (records[i].start_us && records[i].end_us) {
            if (add_time_in_flight(facts, &records[i]) != JOIN_OK ||
                put_in_order(w, facts, &records[i], true) < 0 ||
                add_to_timeline(w, facts, &records[i]) < 0)
                return -1;
        } else {
            facts->unstamped += !w->facts->no_clock;
            if (put_in_order(w, facts, &records[i], false) < 0)
                return -1;
        }
        if (join_add(w->join, &records[i]) == JOIN_NO_MEMORY)
            return -1;
        if (w->join->conflict) /* all is read again */
            return 1;
    }
    return 0;
}

static int take_counts(void *arg, const struct record *base,
                       const struct jpr_counts *told)
{
    const struct way *w = arg;

    return join_add_counts(w->join, base, told) == JOIN_NO_MEMORY ? -1 : 0;
}

/* The sink's callback for a recording's records (NULL: its end), if evidence of
 * hangs is wanted. */
static int take_evidence(void *arg, const struct jp_recfile *file,
                         const struct jpr_record *record)
{
    struct way *w = arg;

    if (!w->facts->evidence &&
        !(w->facts->evidence = calloc(1, sizeof(*w->facts->evidence))))
        return -1;
    return record ? hangs_file_add(&w->reading, file, record)
                  : hangs_file_end(&w->reading, file, w->facts->evidence);
}

enum join_status aggregate_read(const struct join_reading *r,
                                const struct backend *backend,
                                const struct reader_input *in,
                                struct source_facts *facts)
{
    struct way w = {.join = r->join,
                    .facts = facts,
                    .timelines = r->timelines,
                    .timeline_events = r->timeline_events,
                    .strip_bins = r->strip_bins};
    const struct reader_sink sink = {.take = take_records,
                                     .counts = take_counts,
                                     .watch = r->evidence ? take_evidence
                                                          : NULL,
                                     .arg = &w};
    int rc = reader_read(r->states, backend, in, &sink, facts);

    hangs_file_fini(&w.reading);
    return rc < 0 ? JOIN_NO_MEMORY : JOIN_OK;
}

/* Finds the backend of a turn's file and reads the file or the piece.
 * *turn->file has what is wrong with it. */
static enum join_status read_source(const struct join_reading *r,
                                    const struct jp_logfile *log,
                                    const struct join_turn *turn)
{
    struct jp_error err = {""};
    const struct backend *backend =
        reader_find_with(log->path, !log->maybe, r->readers, &err);
    const struct reader_input in = {.path = log->path,
                                    .from = turn->from,
                                    .to = turn->to,
                                    .only_facts = r->apart,
                                    .stop = r->stop,
                                    .done = r->done};
    enum join_status status = JOIN_OK;

    turn->file->piece = turn->file != turn->whole;
    if (backend)
        status = aggregate_read(r, backend, &in, turn->file);
    else if (*err.text)
        reader_refuse(turn->file, log->path, &err);
    else
        turn->file->foreign = true;
    if (turn->file->busy && !turn->file->piece)
        busy_end(turn->file->busy);
    for (size_t i = 0; i < turn->file->n_also; i++)
        if (turn->file->also[i].busy)
            busy_end(turn->file->also[i].busy);
    if (!backend || !backend->reader->splits) /* else the reader counts */
        atomic_fetch_add(r->done, log->size);
    return status;
}

/* --- share the log files among threads and fold what they found --- */

enum { PROGRESS_MS = 100 };

/* Shared by the threads of one pass over the files. */
struct run {
    const struct jp_logwalk *walk; /* the files, in order of path */
    struct source_facts *files;    /* what each of them shows; the caller's */
    bool evidence;                 /* of hangs is wanted */
    bool apart;                    /* as in struct join_reading */
    const struct backend *const *readers; /* the same */
    uint64_t timeline_events;             /* of each file's, at most */
    struct joinsplit split;
    size_t next;      /* turn; under the lock */
    uint64_t left;    /* bytes of the turns from there on */
    unsigned threads; /* of this pass */
    atomic_bool stop, no_memory, conflict, late; /* see note_status() */
    _Atomic uint64_t done;                       /* bytes read, for progress */
    struct timeline **drawn; /* of whole files, whose strips may have bins */
    size_t n_drawn, room_drawn;
    size_t most_drawn;       /* so many: then those without a row lose them */
    pthread_mutex_t lock;    /* of next, left, running, drawn, split.followed */
    pthread_cond_t finished; /* running became 0 */
    unsigned running;        /* workers that have not ended */
};

struct worker {
    pthread_t thread;
    struct run *run;
    struct join *join; /* only this thread uses it */
};

/* Notes what a file has led to, and stops the pass if it cannot go on. */
static void note_status(struct worker *w, enum join_status status)
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

/* Closes the communicators that are complete with this file. Nothing is closed
 * after a stop, because the file was not read to its end. */
static enum join_status end_file(struct worker *w, enum join_status status)
{
    if (status == JOIN_NO_MEMORY || w->join->conflict ||
        atomic_load(&w->run->stop))
        return status;
    return join_end_file(w->join) < 0 ? JOIN_NO_MEMORY : status;
}

/* How many operations of a piece its file's timeline can still take. 0: the
 * pieces before it have filled it. */
static uint64_t room_of(struct run *run, const struct join_turn *turn)
{
    uint64_t before = 0;

    if (turn->file == turn->whole)
        return run->timeline_events;
    pthread_mutex_lock(&run->lock);
    for (const struct source_facts *at = turn->first; at < turn->file; at++)
        before += run->split.followed[at - run->split.own];
    pthread_mutex_unlock(&run->lock);
    return before < run->timeline_events ? run->timeline_events : 0;
}

/* Notes how many operations a piece has put into its timeline, for room_of. */
static void note_followed(struct run *run, const struct join_turn *turn)
{
    const struct timeline *timeline = turn->file->sequence;

    if (!timeline)
        timeline = turn->file->timeline;
    if (turn->file == turn->whole || !timeline)
        return;
    pthread_mutex_lock(&run->lock);
    run->split.followed[turn->file - run->split.own] = timeline->n;
    pthread_mutex_unlock(&run->lock);
}

/* Notes that a file was read as a whole. Of thousands of processes the page
 * shows the first ones, and the strips of the others are dropped soon. */
static void note_drawn(struct run *run, const struct source_facts *file)
{
    struct timeline *timeline = file->timeline;

    if (!timeline || !timeline->strip)
        return;
    pthread_mutex_lock(&run->lock);
    if (run->n_drawn == run->most_drawn) {
        run->n_drawn = timelines_drop_strips(run->drawn, run->n_drawn);
        run->most_drawn = run->n_drawn + STRIP_ROWS / 4;
    }
    /* without memory they are dropped at the end */
    if (VECTOR_ROOM(run->drawn, run->n_drawn + 1, run->room_drawn) == 0)
        run->drawn[run->n_drawn++] = timeline;
    pthread_mutex_unlock(&run->lock);
}

/* Reads a file or a piece. number: unique among files and pieces. */
static void read_file(struct worker *w, const struct join_turn *turn,
                      size_t number, struct reader_states *states)
{
    struct run *run = w->run;
    const struct join_reading reading = {w->join,
                                         states,
                                         &run->stop,
                                         &run->done,
                                         run->evidence,
                                         true,
                                         room_of(run, turn),
                                         strip_bins(run->timeline_events),
                                         run->apart,
                                         run->readers};
    enum join_status status;

    join_begin_file(w->join, (uint32_t) number);
    status = read_source(&reading, &run->walk->logs[turn->index], turn);
    note_followed(run, turn);
    if (turn->file == turn->whole)
        note_drawn(run, turn->file);
    if (turn->file != turn->whole && w->join->n_strays)
        w->join->conflict = true; /* which of the two sizes came first? */
    /* the other pieces of a file may be another thread's */
    note_status(w, turn->file == turn->whole ? end_file(w, status) : status);
}

/* Reads a node's partial, or its logs if the partial is damaged. */
static void read_node(struct worker *w, const struct join_turn *turn,
                      size_t number, struct reader_states *states)
{
    struct run *run = w->run;
    struct partial_node *node = turn->node;
    enum join_status status;

    join_begin_file(w->join, (uint32_t) number);
    status = partial_set_read(node, run->walk, w->join, run->timeline_events,
                              run->files);
    for (size_t i = node->first;
         status == JOIN_LEFT_OUT && i < node->first + node->n &&
         !atomic_load(&run->stop);
         i++) {
        const struct join_turn log = {.index = i,
                                      .to = UINT64_MAX,
                                      .file = &run->files[i],
                                      .whole = &run->files[i]};

        read_file(w, &log, run->split.n + i, states);
    }
    if (status == JOIN_OK) {
        for (size_t i = node->first; i < node->first + node->n; i++)
            note_drawn(run, &run->files[i]);
        atomic_fetch_add(&run->done, node->bytes);
        status = end_file(w, status);
    }
    note_status(w, status);
}

/* Each piece has a file number of its own. */
static void read_turn(struct worker *w, size_t number,
                      struct reader_states *states)
{
    const struct join_turn *turn = &w->run->split.turns[number];

    if (turn->node)
        read_node(w, turn, number, states);
    else
        read_file(w, turn, number, states);
}

/* Takes several turns at once while many are left. Neighbours by path are often
 * ranks of one node; one thread then joins their operations, and nothing has to
 * be merged. False: no turn is left. */
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

static void *read_turns(void *arg)
{
    struct worker *w = arg;
    struct run *run = w->run;
    struct reader_states *states = reader_states_create();
    size_t i, end;

    if (!states) {
        atomic_store(&run->no_memory, true);
        atomic_store(&run->stop, true);
    }
    while (!atomic_load(&run->stop) && take_turns(run, &i, &end))
        for (; i < end && !atomic_load(&run->stop); i++)
            read_turn(w, i, states);
    reader_states_destroy(states);
    join_sort_strays(w->join);
    pthread_mutex_lock(&run->lock);
    /* wait_for_workers() waits for the last one */
    if (--run->running == 0)
        pthread_cond_signal(&run->finished);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

/* Waits for the threads and reports progress. False: the caller's progress
 * function stopped it. */
static bool wait_for_workers(struct run *run,
                             const struct jp_aggregate_options *options)
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

/* Runs n workers to their end. If no thread can be created, the first one works
 * in this thread. */
static bool run_workers(struct run *run, struct worker *workers, unsigned n,
                        const struct jp_aggregate_options *options)
{
    unsigned started = 0;
    bool wanted;

    run->running = n;
    while (started < n && pthread_create(&workers[started].thread, NULL,
                                         read_turns, &workers[started]) == 0)
        started++;
    for (unsigned i = started; i < n; i++) {
        if (i == 0)
            read_turns(&workers[0]);
        else {
            pthread_mutex_lock(&run->lock);
            run->running--;
            pthread_mutex_unlock(&run->lock);
        }
    }
    wanted = wait_for_workers(run, options);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    return wanted;
}

/* Merges all joins into the first one, which the caller owns then. 0, or -1: no
 * memory. A conflict ends it early, as everything is read again. */
static int merge_joins(struct run *run, struct worker *workers, unsigned n)
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

/* One pass over all files. *conflict: the result is not valid; read again in
 * order. */
static struct join *make_pass(struct run *run, unsigned n, bool ordered,
                              const struct jp_aggregate_options *options,
                              struct join_budget *budget, struct jp_error *err)
{
    struct worker workers[AGGREGATE_THREADS] = {0};
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
        (!atomic_load(&run->conflict) && merge_joins(run, workers, n) < 0)) {
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

void aggregate_clear_facts(struct source_facts *file)
{
    if (file->evidence)
        hangs_evidence_fini(file->evidence);
    free(file->evidence);
    reader_facts_fini(file);
    busy_destroy(file->busy);
    timeline_destroy(file->timeline);
    timeline_destroy(file->sequence);
    for (size_t i = 0; i < file->n_also; i++) {
        busy_destroy(file->also[i].busy);
        timeline_destroy(file->also[i].timeline);
        timeline_destroy(file->also[i].sequence);
    }
    free(file->also);
    *file = (struct source_facts){0};
}

/* Frees what n files hold, and the array. Takes NULL. */
static void free_files(struct source_facts *files, size_t n)
{
    for (size_t i = 0; files && i < n; i++)
        aggregate_clear_facts(&files[i]);
    free(files);
}

/* Resets all that an earlier pass has left, and makes a pass with n threads.
 * NULL and err: as join_logs. */
static struct join *start_pass(struct run *run, unsigned n,
                               const struct jp_aggregate_options *options,
                               struct join_budget *budget,
                               struct partial_set *partials,
                               struct jp_error *err)
{
    size_t n_files = run->walk->n_logs;
    struct join *join;

    for (size_t i = 0; i < n_files; i++)
        aggregate_clear_facts(&run->files[i]);
    split_fini(&run->split);
    if (split_init(&run->split, run->walk, partials, piece_bytes(options, n),
                   run->files) < 0) {
        error_set(err, "out of memory");
        return NULL;
    }
    n = run->split.n < n ? run->split.n ? (unsigned) run->split.n : 1 : n;
    run->next = 0;
    run->left = 0;
    run->n_drawn = 0; /* the timelines are gone */
    for (size_t i = 0; i < run->split.n; i++)
        run->left += run->split.turns[i].size;
    run->threads = n;
    atomic_store(&run->stop, false);
    atomic_store(&run->conflict, false);
    atomic_store(&run->done, 0);
    atomic_store(&budget->used, 0);
    atomic_store(&budget->journal_used, 0);
    atomic_store(&budget->kernels_used, 0);
    atomic_store(&budget->kernels_off, false);
    atomic_store(&budget->journal_off, false);
    join_phases_fini(budget);
    join =
        make_pass(run, n, n == 1 && !run->split.n_nodes, options, budget, err);
    split_fold(&run->split);
    return join;
}

/* Whether the files are of an NCCL profiler and of one whose operations are the
 * same (reader.h, is_second). Reads the first bytes of some files. */
static bool is_mixed(const struct jp_logwalk *walk,
                     const struct backend *const *readers)
{
    struct jp_error err;
    bool second = false;
    size_t i;

    for (i = 0; i < walk->n_logs && !second; i++) {
        const struct backend *b =
            logwalk_is_log(walk->logs[i].path)
                ? NULL
                : reader_find_with(walk->logs[i].path, false, readers, &err);

        second = b && b->reader->is_second;
    }
    for (i = 0; i < walk->n_logs && second; i++) {
        const struct jp_logfile *log = &walk->logs[i];
        /* a name of a log is enough: strangers were removed from the walk */
        const struct backend *b =
            log->size ? reader_find_with(log->path, logwalk_is_log(log->path),
                                         readers, &err)
                      : NULL;

        if (b && !b->reader->is_second)
            return true;
    }
    return false;
}

/* Reads all logs of the walk, or in place of a node's logs its partial if
 * partials (NULL: none) has a good one. files has walk->n_logs elements.
 * Returns the join (the caller destroys it; its strays are sorted), or NULL and
 * err. */
static struct join *join_logs(const struct jp_logwalk *walk,
                              const struct jp_aggregate_options *options,
                              struct join_budget *budget,
                              struct partial_set *partials,
                              struct source_facts *files, struct jp_error *err)
{
    struct run run = {.walk = walk,
                      .files = files,
                      .evidence = options->evidence,
                      .apart = is_mixed(walk, options->readers),
                      .readers = options->readers,
                      .timeline_events = budget->timeline_events,
                      .most_drawn = STRIP_ROWS + STRIP_ROWS / 4};
    struct join *join;

    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.finished, NULL);
    join = start_pass(&run, aggregate_threads(options), options, budget,
                      partials, err);
    /* a join in order can only be late, and only once, as then nothing is
     * closed early */
    while (join && atomic_load(&run.conflict)) {
        for (size_t i = 0; partials && i < partials->n; i++)
            partials->nodes[i].used = false;
        budget->keep |= atomic_load(&run.late);
        join_destroy(join);
        join = start_pass(&run, 1, options, budget, NULL, err);
    }
    pthread_cond_destroy(&run.finished);
    pthread_mutex_destroy(&run.lock);
    split_fini(&run.split);
    free(run.drawn);
    return join;
}

/* --- from files to a result --- */

static int by_writer(const void *a, const void *b)
{
    const struct jp_recorded *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    if (order || x->pid != y->pid)
        return order ? order : x->pid < y->pid ? -1 : 1;
    return (x->instance > y->instance) - (x->instance < y->instance);
}

/* Lists the processes that wrote recordings; one that wrote several counts
 * once. 0, or -1: no memory. */
static int take_recorded(struct jp_result *r, const struct source_facts *files,
                         size_t n)
{
    size_t found = 0, kept = 0;

    r->recorded = calloc(n + 1, sizeof(*r->recorded));
    for (size_t i = 0; r->recorded && i < n; i++) {
        const struct recfile_process *p = source_process(&files[i]);
        struct jp_recorded *row = &r->recorded[found];

        if (!p->known)
            continue;
        *row = (struct jp_recorded){
            .host = strdup(p->host),
            .pid = p->pid,
            .instance = process_instance(p->pid_namespace, p->start),
            .procid = p->procid,
            .launched = p->launched,
            .cut = files[i].cut};
        if (!row->host)
            return -1;
        r->n_recorded = ++found;
    }
    if (!r->recorded)
        return -1;
    if (found)
        qsort(r->recorded, found, sizeof(*r->recorded), by_writer);
    for (size_t i = 0; i < found; i++) {
        if (kept && by_writer(&r->recorded[kept - 1], &r->recorded[i]) == 0) {
            r->recorded[kept - 1].cut |= r->recorded[i].cut;
            free(r->recorded[i].host);
        } else {
            r->recorded[kept++] = r->recorded[i];
        }
    }
    r->n_recorded = kept;
    return 0;
}

#define DEFAULT_MEMORY (UINT64_C(1) << 30)
#define PARTIAL_MEMORY (UINT64_C(256) << 20)
#define BYTES_A_ROW 32 /* of cells, with room to sort */
/* Timelines get one operation for so many bytes of the memory limit. */
#define TIMELINE_BYTES 256

static uint64_t memory_of(const struct jp_aggregate_options *options)
{
    return options->memory_bytes ? options->memory_bytes : DEFAULT_MEMORY;
}

/* Operations that the timeline of each of n files may have. Nodes and the
 * report compute the same number: for its partial, a node has its own files and
 * the step's number of processes. */
static uint64_t events_of(const struct jp_aggregate_options *options,
                          const struct join_budget *budget, size_t n_files)
{
    uint64_t all = budget->limit / TIMELINE_BYTES;

    /* a node has a memory limit of its own, but must not have fewer than the
     * report */
    if (options->evidence || all > TIMELINE_EVENTS)
        all = TIMELINE_EVENTS;
    if (options->processes > n_files)
        return all / options->processes;
    return n_files ? all / n_files : 0;
}

static int by_process(const void *a, const void *b)
{
    const struct traced *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    /* an unknown rank, -1, comes last */
    if (x->rank != y->rank)
        return (uint64_t) x->rank < (uint64_t) y->rank ? -1 : 1;
    if (order)
        return order;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

/* Whether two traces are copies of one. */
static bool is_copy(const struct traced *a, const struct traced *b)
{
    int64_t step_a = a->n_steps ? a->steps->number : -1;
    int64_t step_b = b->n_steps ? b->steps->number : -1;

    return a->rank == b->rank && a->pid == b->pid && a->kernels &&
           a->kernels == b->kernels && a->first_ns == b->first_ns &&
           a->all.length_ns == b->all.length_ns && step_a == step_b &&
           !strcmp(a->host, b->host) && !strcmp(a->source, b->source);
}

/* Leaves out all but the first of traces that are copies; they are sorted. */
static void drop_copies(struct traced_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->n; i++)
        if (kept && is_copy(&list->at[kept - 1], &list->at[i]))
            traced_fini(&list->at[i]);
        else
            list->at[kept++] = list->at[i];
    list->n = kept;
}

/* Moves what is known of kernels to the result. 0, or -1: no memory. */
static int take_traced(struct jp_result *r, struct source_facts *files,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        r->quality.kernel_traces += files[i].traced.n > 0;
        for (size_t k = 0; k < files[i].traced.n; k++)
            if (traced_list_add(&r->traced, &files[i].traced.at[k]) < 0)
                return -1;
    }
    if (r->traced.n)
        qsort(r->traced.at, r->traced.n, sizeof(*r->traced.at), by_process);
    drop_copies(&r->traced);
    return 0;
}

/* Makes the result from a finished join. NULL and err: no memory, or stopped.
 */
static struct jp_result *build_result(struct build b, struct jp_error *err)
{
    b.row_limit = b.options->row_limit ? b.options->row_limit
                                       : memory_of(b.options) / BYTES_A_ROW;
    b.threads = aggregate_threads(b.options);
    b.result = calloc(1, sizeof(*b.result));
    if (!b.result || result_build(&b) < 0 ||
        take_recorded(b.result, b.files, b.walk->n_logs) < 0 ||
        result_hang(&b) < 0) {
        error_set(err, b.stopped ? "stopped" : "out of memory");
        result_destroy(b.result);
        b.result = NULL;
    }
    free(b.comm_at);
    free(b.comm_from);
    free(b.func_at);
    return b.result;
}

/* Moves a file's timeline and sequence to the result, which has room. */
static void take_timeline(struct jp_result *r, struct source_facts *file)
{
    if (file->timeline && r->timelines) {
        file->timeline->ordered = file->sequence && r->sequences;
        if (file->timeline->intervals &&
            intervals_cut(file->timeline->intervals) < 0) {
            intervals_destroy(file->timeline->intervals);
            file->timeline->intervals = NULL;
        }
        r->timelines[r->n_timelines++] = file->timeline;
        file->timeline = NULL;
    }
    if (file->sequence && r->sequences) {
        r->sequences[r->n_sequences++] = file->sequence;
        file->sequence = NULL;
    }
}

/* Drops the bins of strips that the page does not show. Without memory they
 * stay. */
static void drop_strips(const struct jp_result *r)
{
    struct timeline **list = calloc(r->n_timelines + 1, sizeof(*list));

    if (list && r->n_timelines) {
        memcpy(list, r->timelines, r->n_timelines * sizeof(*list));
        timelines_drop_strips(list, r->n_timelines);
    }
    free(list);
}

/* Moves timelines and sequences to the result. Without memory the result has
 * none. */
static void take_timelines(struct jp_result *r, struct source_facts *files,
                           size_t n)
{
    size_t room = n + 1;

    for (size_t i = 0; i < n; i++)
        room += files[i].n_also;
    r->timelines = calloc(room, sizeof(*r->timelines));
    r->sequences = calloc(room, sizeof(*r->sequences));
    for (size_t i = 0; i < n; i++) {
        take_timeline(r, &files[i]);
        for (size_t k = 0; k < files[i].n_also; k++)
            take_timeline(r, &files[i].also[k]);
    }
    drop_strips(r);
}

/* So many timelines are moved at once. */
enum { AT_ONCE = 8192 };

/* Moves timelines together. They, and the packed operations, were made while
 * records were joined, and lie between what is freed now, so that hardly a page
 * is free as a whole. Some are copied before any is freed, as else malloc takes
 * what was just freed. */
static void move_timelines(struct timeline **list, size_t n)
{
    struct timeline *copies[AT_ONCE];

    for (size_t from = 0; from < n; from += AT_ONCE) {
        size_t some = n - from < AT_ONCE ? n - from : AT_ONCE;

        for (size_t i = 0; i < some; i++)
            copies[i] = timeline_copy(list[from + i]);
        for (size_t i = 0; i < some; i++)
            if (copies[i]) { /* without memory it stays */
                copies[i]->intervals = list[from + i]->intervals;
                list[from + i]->intervals = NULL;
                timeline_destroy(list[from + i]);
                list[from + i] = copies[i];
            }
        result_give_back();
    }
}

/* Moves the intervals of timelines to a place of their own, as they are freed
 * long before the rest (result_drop_intervals). */
static void move_intervals(struct timeline **list, size_t n)
{
    struct intervals *copies[AT_ONCE];

    for (size_t from = 0; from < n; from += AT_ONCE) {
        size_t some = n - from < AT_ONCE ? n - from : AT_ONCE;

        for (size_t i = 0; i < some; i++)
            copies[i] = list[from + i]->intervals
                            ? intervals_copy(list[from + i]->intervals)
                            : NULL;
        for (size_t i = 0; i < some; i++)
            if (copies[i]) { /* without memory they stay */
                intervals_destroy(list[from + i]->intervals);
                list[from + i]->intervals = copies[i];
            }
        result_give_back();
    }
}

/* Compares the clocks after the files were read with unmapped times, or where
 * only the agents have times. */
static struct jp_clocks *compare_clocks(const struct source_facts *files,
                                        size_t n, const char *nodes)
{
    struct timeline **timelines = calloc(n + 1, sizeof(struct timeline *));
    struct jp_clocks *clocks = NULL;
    size_t found = 0;

    for (size_t i = 0; timelines && i < n; i++)
        if (files[i].timeline)
            timelines[found++] = files[i].timeline;
    if (timelines && (found || nodes))
        clocks = clocks_make(timelines, found, nodes);
    free(timelines);
    return clocks;
}

/* Joins everything. Maps times to one clock if there are several clocks that
 * can be compared. The caller owns *clocks. */
static struct join *join_all(const struct jp_logwalk *walk,
                             const struct jp_aggregate_options *options,
                             struct join_budget *budget,
                             struct partial_set *partials,
                             struct source_facts *files,
                             struct jp_clocks **clocks, struct jp_error *err)
{
    struct join *join;

    budget->timeline_events = events_of(options, budget, walk->n_logs);
    /* clocks first: records that meet in the join need times of one clock */
    if (!options->as_recorded)
        *clocks =
            scout_clocks(walk, partials, options, budget->timeline_events);
    budget->clocks = clocks_map(*clocks);
    join = join_logs(walk, options, budget, partials, files, err);
    /* either failed, or joined with a map */
    if (!join || *clocks)
        return join;
    *clocks = compare_clocks(files, walk->n_logs, options->nodes);
    if (options->as_recorded || !clocks_map(*clocks))
        return join;
    budget->clocks = clocks_map(*clocks);
    join_destroy(join); /* the first records did not show several nodes: join
                           once more */
    return join_logs(walk, options, budget, partials, files, err);
}

/* Counts the nodes that came from partials, and notes what was wrong with the
 * others. */
static void note_partials(const struct partial_set *set,
                          const struct jp_aggregate_options *options,
                          struct jp_result *result)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct partial_node *node = &set->nodes[i];

        if (result)
            result->quality.partial_nodes += node->used;
        if (node->why[0] && options->note)
            options->note(options->note_arg, node->name, node->why);
    }
}

struct jp_result *aggregate_run(const char *const *inputs, size_t n_inputs,
                                const struct jp_aggregate_options *options,
                                struct jp_error *err)
{
    static const struct jp_aggregate_options defaults;
    struct jp_result *result = NULL;
    struct source_facts *files = NULL;
    struct join_budget budget = {0};
    struct partial_set partials = {0};
    struct join *join = NULL;
    struct jp_clocks *clocks = NULL;
    struct jp_logwalk walk;
    const char *raw;

    if (!options)
        options = &defaults;
    raw = options->gone ? options->gone : n_inputs ? inputs[0] : NULL;
    budget.limit = memory_of(options);
    /* the rest is for rows and their indexes */
    budget.journal_limit = budget.limit / 4;
    /* files and nodes */
    if (logwalk_init(&walk, inputs, n_inputs, err) < 0)
        return NULL;
    if (options->use &&
        logwalk_filter(&walk, options->use, options->use_arg) < 0) {
        error_set(err, "out of memory");
        goto out;
    }
    if ((options->partials && raw &&
         partial_set_init(&partials, &walk, raw, options->partials,
                          options->gone != NULL) < 0) ||
        !(files = calloc(walk.n_logs + 1, sizeof(*files)))) {
        error_set(err, "out of memory");
        goto out;
    }
    /* records, then rows */
    join = join_all(&walk, options, &budget, &partials, files, &clocks, err);
    if (join)
        result = build_result((struct build){.join = join,
                                             .walk = &walk,
                                             .files = files,
                                             .partials = &partials,
                                             .clocks = budget.clocks,
                                             .options = options},
                              err);
    if (result && take_traced(result, files, walk.n_logs) < 0) {
        error_set(err, "out of memory");
        result_destroy(result);
        result = NULL;
    }
    if (result) {
        take_timelines(result, files, walk.n_logs);
        result->clocks = clocks;
        clocks = NULL;
    }
    note_partials(&partials, options, result);
out:
    clocks_destroy(clocks);
    partial_set_fini(&partials);
    join_destroy(join);
    join_phases_fini(&budget);
    free_files(files, walk.n_logs);
    logwalk_fini(&walk);
    result_give_back();
    if (result) {
        if (result->ops)
            ops_move(result->ops);
        move_timelines(result->timelines, result->n_timelines);
        move_timelines(result->sequences, result->n_sequences);
        move_intervals(result->timelines, result->n_timelines);
    }
    return result;
}

/* --- one node's logs, joined and written --- */

/* Bytes that one core reads in a millisecond, rounded down. A compressed log
 * holds about 25 times its size. "RECORDING" is the recorder's .jpr, "TRACE" a
 * file of the example plugin. */
enum {
    PLAIN_PER_MS = 500000,
    PACKED_PER_MS = 15000,
    RECORDING_PER_MS = 10000,
    TRACE_PER_MS = 100000,
    PACKED_TRACE_PER_MS = 4000
};

/* How many bytes of a file are read in a millisecond, by its name. */
static uint64_t speed_of(const struct jp_logfile *log)
{
    const char *path = log->path;
    size_t len = strlen(path);
    bool packed = len > 3 && !strcmp(path + len - 3, ".gz");

    if (len > 4 && !strcmp(path + len - 4, ".jpr"))
        return RECORDING_PER_MS;
    if (log->maybe)
        return packed ? PACKED_TRACE_PER_MS : TRACE_PER_MS;
    return packed ? PACKED_PER_MS : PLAIN_PER_MS;
}

uint64_t partial_estimate_ms(const char *raw)
{
    struct jp_logwalk walk;
    uint64_t ms = 0;

    if (logwalk_init(&walk, &raw, 1, NULL) < 0)
        return 0;
    if (walk.n_logs) {
        for (size_t i = 0; i < walk.n_logs; i++)
            ms += walk.logs[i].size / speed_of(&walk.logs[i]);
        /* never 0 if there is a log */
        ms++;
    }
    logwalk_fini(&walk);
    return ms;
}

/* A partial has all operations or is not written: if some did not fit, the
 * report reads the logs. */
static int check_join(const struct join *join, struct jp_error *err)
{
    if (join->left_out || atomic_load(&join->budget->journal_off) ||
        atomic_load(&join->budget->kernels_off))
        return error_set(err, "its operations do not fit the memory bound");
    return 0;
}

/* What is known of kernels is not in a partial. */
static int check_files(const struct source_facts *files, size_t n,
                       struct jp_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (files[i].traced.n)
            return error_set(err, "a trace of kernels is read by the report");
    return 0;
}

/* Writes the partial by a temporary file, so that a partial is whole or
 * missing. */
static int write_file(const char *path, struct join *join,
                      const struct jp_logwalk *walk, size_t skip,
                      const struct source_facts *files, struct jp_error *err)
{
    struct jp_tempfile file;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    if (partial_write(file.stream, join, walk, skip, files, err) == 0)
        return fileio_temp_commit_synced(&file, JP_DEF_SYNC_MS, err);
    fileio_temp_abort(&file);
    return -1;
}

int partial_make(const char *raw, const char *path,
                 const struct jp_aggregate_options *options,
                 struct jp_error *err)
{
    struct jp_aggregate_options one = *options;
    struct join_budget budget = {0};
    struct source_facts *files = NULL;
    struct join *join = NULL;
    struct jp_logwalk walk;
    int rc = -1;

    one.threads = 1; /* in order of path, so there are no conflicts */
    one.evidence = true;
    budget.limit = one.memory_bytes ? one.memory_bytes : PARTIAL_MEMORY;
    budget.journal_limit = budget.limit / 4;
    budget.keep = true;
    if (logwalk_init(&walk, &raw, 1, err) < 0)
        return -1;
    if (!walk.n_logs) {
        logwalk_fini(&walk);
        return 1;
    }
    files = calloc(walk.n_logs, sizeof(*files));
    if (!files) {
        error_set(err, "out of memory");
        goto out;
    }
    budget.timeline_events = events_of(&one, &budget, walk.n_logs);
    join = join_logs(&walk, &one, &budget, NULL, files, err);
    if (join && check_join(join, err) == 0 &&
        check_files(files, walk.n_logs, err) == 0)
        rc = write_file(path, join, &walk, strlen(raw) + 1, files, err);
out:
    join_destroy(join);
    join_phases_fini(&budget);
    free_files(files, walk.n_logs);
    logwalk_fini(&walk);
    return rc;
}
