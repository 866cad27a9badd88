/* result_quality.c - how complete and how clean the input was.
 *
 * count_files has a note for each file with something wrong. sum_counters adds
 * up what the recorders counted, and set_expected decides from these and from
 * sequence numbers how many records there should be. At the end: labels, which
 * the topology adds to communicators. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/knob.h"
#include "common/vector.h"
#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/aggregate/result_build.h"

enum { MAX_NOTES = 100 }; /* that a result keeps */

/* Adds a note and owns `what`, an allocated sentence; NULL: no memory. Notes
 * come in any order and are sorted at the end. */
static int add_note(struct jp_quality *q, const char *path, char *what)
{
    struct jp_file_note *note = what ? VECTOR_DOUBLE_ADD(q->notes, q->n_notes)
                                     : NULL;

    if (!note) {
        free(what);
        return -1;
    }
    *note = (struct jp_file_note){strdup(path), what};
    return note->path ? 0 : -1;
}

/* Adds the notes that a recording's tail gives rise to. 0, or -1: no memory. */
static int note_recorder(struct jp_quality *q, const char *path,
                         const struct source_facts *f)
{
    const struct recfile_tail *t = source_tail(f);
    int rc = 0;

    if (t->counts.lost || t->counts.left_out)
        rc = add_note(q, path,
                      text_format("the recorder lost %" PRIu64 " of %" PRIu64
                                  " operations and left out %" PRIu64
                                  " at its cap (disk=)",
                                  t->counts.lost, t->counts.produced,
                                  t->counts.left_out));
    if (rc == 0 && t->lost_comms)
        rc = add_note(q, path,
                      text_format("the recorder had no room for %" PRIu64
                                  " communicators: their operations count as "
                                  "lost",
                                  t->lost_comms));
    if (rc == 0 && f->notes)
        rc = add_note(q, path, text_format("recorder: %s", f->notes));
    return rc;
}

/* Adds a note on what a log's own markers prove: records were overwritten. */
static int note_markers(struct jp_quality *q, const char *path,
                        const struct source_facts *f)
{
    uint64_t announced = num_add(f->marked, f->dropped);

    if (!f->dropped)
        return 0;
    return add_note(q, path,
                    text_format("Inspector overwrote %" PRIu64 " of %" PRIu64
                                " records before it could write them: its "
                                "rings were full (ring=, "
                                "NCCL_INSPECTOR_DUMP_COLL_RING_SIZE)",
                                f->dropped, announced));
}

/* Adds a note on the operations that a trace does not have. */
static int note_trace(struct jp_quality *q, const char *path,
                      const struct source_facts *f)
{
    if (!f->missing)
        return 0;
    return add_note(q, path,
                    text_format("holds %" PRIu64
                                " operations and misses at least %" PRIu64
                                " by its sequence numbers: the plugin's pools "
                                "were full (NCCL_PROFILE_*_POOL_SIZE)",
                                f->records, f->missing));
}

/* Adds a trace's events by pool: the largest number shows how large the pools
 * have to be. */
static void count_trace(struct jp_quality *q, const struct source_facts *f)
{
    static const enum trace_pool from[JP_TRACE_POOLS] = {
        [JP_TRACE_COLL] = TRACE_COLL,
        [JP_TRACE_P2P] = TRACE_P2P,
        [JP_TRACE_GROUP_API] = TRACE_GROUP_API,
        [JP_TRACE_GROUP] = TRACE_GROUP,
    };

    q->traces += f->has_pools; /* only traces have pools */
    q->partly_timed += f->partly;
    for (unsigned i = 0; i < JP_TRACE_POOLS; i++)
        if (f->pools[from[i]] > q->trace_most[i])
            q->trace_most[i] = f->pools[from[i]];
}

/* Whether it is unknown how much is missing from a cut recording. Of a recorder
 * that was killed, at most one flush after its last counters is not counted.
 * But if it had lost records or had reached its cap, or if blocks are damaged,
 * there is no bound. */
static bool is_unbounded(const struct source_facts *f)
{
    const struct jpr_counts *c = &source_tail(f)->counts;

    return f->has_counters && f->cut &&
           (!source_tail(f)->counted || c->lost || c->left_out || f->damaged);
}

/* Adds a note on a file that ends too early. */
static int note_cut(struct jp_quality *q, const char *path,
                    const struct source_facts *f)
{
    if (!f->has_counters)
        return add_note(q, path, text_format("cut last line"));
    if (!is_unbounded(f))
        return add_note(
            q, path,
            text_format(JP_NOTE_UNENDED
                        ": at most its last 100 ms are not counted"));
    if (!source_tail(f)->counted)
        return add_note(
            q, path,
            text_format(JP_NOTE_UNENDED
                        ", and has no counters: the further loss is unknown"));
    return add_note(
        q, path,
        text_format(JP_NOTE_UNENDED ": the further loss is unknown since %s",
                    FIG_UTC(source_tail(f)->clocks.real_ns / 1000)));
}

/* Adds a note if more than one record in 100 came in a layout that the fast
 * reader does not accept. */
static int note_layout(struct jp_quality *q, const char *path,
                       const struct source_facts *f)
{
    if (f->lines < 1000 || f->odd_lines <= f->lines / 100)
        return 0;
    return add_note(q, path,
                    text_format("%" PRIu64 " of %" PRIu64
                                " lines have records in an unknown layout (a "
                                "new version?): they are read, but slowly",
                                f->odd_lines, f->lines));
}

/* Adds notes on what is wrong with a file, the worst first. 0, or -1: no
 * memory. */
static int note_file(struct jp_quality *q, const char *path,
                     const struct source_facts *f)
{
    /* bad_line is the number of this */
    const char *unit = f->has_counters ? "operation"
                       : f->unit       ? f->unit
                                       : "line";
    int rc = 0;

    /* nothing else is known then */
    if (f->unreadable)
        return add_note(q, path, text_format("not read: %s", f->trouble));
    if (f->trouble[0])
        rc = add_note(q, path, text_format("%s", f->trouble));
    else if (f->cut && f->has_pools)
        rc = add_note(q, path, text_format("cut: its array has no end"));
    else if (f->cut)
        rc = note_cut(q, path, f);
    if (rc == 0 && f->bad_lines > 1)
        rc = add_note(
            q, path,
            text_format("%s %" PRIu64 ": %s (and %" PRIu64 " more bad %ss)",
                        unit, f->bad_line, f->why, f->bad_lines - 1, unit));
    else if (rc == 0 && f->bad_lines)
        rc = add_note(
            q, path,
            text_format("%s %" PRIu64 ": %s", unit, f->bad_line, f->why));
    if (rc == 0)
        rc = note_layout(q, path, f);
    if (rc == 0)
        rc = note_markers(q, path, f);
    if (rc == 0 && f->has_counters)
        return note_recorder(q, path, f);
    if (rc == 0 && f->notes)
        rc = add_note(q, path, text_format("%s", f->notes));
    return rc == 0 && f->has_pools ? note_trace(q, path, f) : rc;
}

/* Adds a note on a .json file that is neither a trace nor ours. Of other
 * programs' .txt files there are too many for that. */
static int note_foreign(struct jp_quality *q, const char *path)
{
    size_t len = strlen(path);

    if (len > 4 && !strcmp(path + len - 4, ".txt"))
        return 0;
    q->skipped_files++;
    return add_note(
        q, path,
        text_format("not read: neither a trace of PyTorch's profiler "
                    "nor of NCCL's example plugin"));
}

/* Counts bad lines of each kind. Files come in order of path, so the first of a
 * kind is that of the first path. */
static int count_bad(struct jp_quality *q, const char *path,
                     const struct source_facts *f)
{
    q->bad_lines += f->bad_lines;
    for (unsigned i = 0; i < JP_BAD_KINDS; i++) {
        struct jp_bad_lines *bad = &q->bad[i];

        bad->n += f->bad[i].n;
        /* only the first one */
        if (!f->bad[i].n || bad->path)
            continue;
        bad->line = f->bad[i].line;
        bad->path = strdup(path);
        if (!bad->path)
            return -1;
    }
    return 0;
}

/* Counts the files and what is wrong with them. 0, or -1: no memory. */
static int count_files(struct build *b)
{
    struct jp_quality *q = &b->result->quality;

    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct source_facts *f = &b->files[i];

        if (f->foreign && note_foreign(q, b->walk->logs[i].path) < 0)
            return -1;
        if (f->foreign) /* no file of a profiler */
            continue;
        count_trace(q, f);
        q->files += !f->unreadable;
        q->skipped_files += f->unreadable;
        q->cut_files += f->cut && !f->has_counters;
        q->bytes_read += f->bytes;
        q->unknown_lines += f->other_lines;
        if (count_bad(q, b->walk->logs[i].path, f) < 0 ||
            note_file(q, b->walk->logs[i].path, f) < 0)
            return -1;
    }
    /* what the walk did not open: links, FIFOs and so on */
    for (size_t i = 0; i < b->walk->n_skips; i++) {
        q->skipped_files++;
        if (add_note(q, b->walk->skips[i].path,
                     text_format("not read: %s", b->walk->skips[i].why)) < 0)
            return -1;
    }
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const struct jp_file_note *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order ? order : strcmp(x->what, y->what);
}

/* Sorts the notes and keeps the first MAX_NOTES. */
static void cut_notes(struct jp_quality *q)
{
    if (q->n_notes)
        qsort(q->notes, q->n_notes, sizeof(*q->notes), by_path);
    while (q->n_notes > MAX_NOTES) {
        q->n_notes--;
        q->notes_left_out++;
        free(q->notes[q->n_notes].path);
        free(q->notes[q->n_notes].what);
    }
}

/* Adds calls for which NCCL reported no operation, by function. Functions
 * beyond JP_UNSEEN_FUNCS are only in the sum. */
static void add_unseen(struct jp_quality *q, const struct recfile_tail *tail)
{
    q->unseen_calls = num_add(q->unseen_calls, tail->unseen_calls);
    for (uint32_t i = 0; i < tail->n_unseen; i++) {
        const struct recfile_unseen *one = &tail->unseen[i];
        size_t k = 0;

        /* names may be cut, so they are compared as they are kept */
        while (k < q->n_unseen && strncmp(q->unseen[k].func, one->func,
                                          sizeof(q->unseen[k].func) - 1) != 0)
            k++;
        if (k == JP_UNSEEN_FUNCS)
            continue;
        if (k == q->n_unseen)
            snprintf(q->unseen[q->n_unseen++].func, sizeof(q->unseen[k].func),
                     "%.*s", (int) sizeof(q->unseen[k].func) - 1, one->func);
        q->unseen[k].calls = num_add(q->unseen[k].calls, one->calls);
    }
}

/* Adds operations without a time, and the reasons. */
static void add_doubts(struct jp_quality *q, const struct recfile_tail *tail)
{
    _Static_assert((int) JP_DOUBTS == (int) RECFILE_DOUBTS, "the same reasons");
    q->unsure_records = num_add(q->unsure_records, tail->unsure);
    q->refused_times = num_add(q->refused_times, tail->refused);
    for (unsigned i = 0; i < JP_DOUBTS; i++)
        q->unsure_by[i] = num_add(q->unsure_by[i], tail->unsure_by[i]);
}

/* Adds the sums of the program's tags. */
static void add_tags(struct jp_quality *q, const struct recfile_tail *tail)
{
    for (uint32_t i = 0; i < tail->n_tags; i++) {
        const struct recfile_tag *from = &tail->tags[i];
        size_t k = 0;

        while (k < q->n_tags && q->tags[k].tag != from->tag)
            k++;
        if (k == JP_TAGS)
            continue;
        q->n_tags += k == q->n_tags;
        q->tags[k].tag = from->tag;
        q->tags[k].records = num_add(q->tags[k].records, from->ops);
        q->tags[k].exec_us += (double) from->exec_ns / 1e3;
        q->tags[k].sync_us += (double) from->sync_ns / 1e3;
    }
}

static int by_time_of_tag(const void *a, const void *b)
{
    const struct jp_tag *x = a, *y = b;

    if (x->exec_us != y->exec_us)
        return x->exec_us < y->exec_us ? 1 : -1;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static void add_phases(struct jp_phases *sum, const struct recfile_phases *from)
{
    sum->records = num_add(sum->records, from->ops);
    sum->exec_us += (double) from->exec_ns / 1e3;
    sum->sync_us += (double) from->sync_ns / 1e3;
    sum->close_us += (double) from->close_ns / 1e3;
}

static void add_pauses(struct jp_quality *q, const struct recfile_tail *tail)
{
    q->pauses_joined |= tail->n_pauses == RECFILE_PAUSES;
    for (uint32_t i = 0; i < tail->n_pauses; i++) {
        const struct recfile_pause *p = &tail->pauses[i];

        pauses_add(q, (struct jp_pause){p->from_ns / 1000,
                                        p->to_ns ? (p->to_ns + 999) / 1000 : 0,
                                        p->skipped});
        q->paused_records = num_add(q->paused_records, p->skipped);
        q->paused_by_mask = q->paused_by_mask || p->by_mask;
    }
}

static void add_room(struct jp_room *into, const struct recfile_room *one)
{
    uint64_t us = one->since_ns / 1000;

    if (!one->limits)
        return;
    into->limits |= one->limits;
    into->error = into->error ? into->error : one->error;
    if (!into->recordings++ || us < into->since_us)
        into->since_us = us;
}

/* Counts a recording of which an unknown part is missing. 0 as the time is the
 * earliest: then the time is unknown. */
static void add_unbounded(struct jp_quality *q, const struct source_facts *f)
{
    uint64_t at =
        source_tail(f)->counted ? source_tail(f)->clocks.real_ns / 1000 : 0;

    if (!q->unbounded_recordings++ || at < q->unbounded_since_us)
        q->unbounded_since_us = at;
}

static int by_calls(const void *a, const void *b)
{
    const struct jp_unseen *x = a, *y = b;

    if (x->calls != y->calls)
        return x->calls < y->calls ? 1 : -1;
    return strcmp(x->func, y->func);
}

/* Sorts by calls, the most first, and drops functions for which operations came
 * after all. */
static void sort_unseen(struct jp_quality *q)
{
    qsort(q->unseen, q->n_unseen, sizeof(*q->unseen), by_calls);
    while (q->n_unseen && !q->unseen[q->n_unseen - 1].calls)
        q->n_unseen--;
}

/* Adds the recorder's own cost in its process. Callbacks are timed in a sample
 * only, so their time is scaled up to all. */
static void add_overhead(struct jp_overhead *o, const struct source_facts *f)
{
    const struct jpr_cost *c = &source_tail(f)->cost;
    double callbacks = c->timed ? (double) c->timed_ns / (double) c->timed *
                                      (double) c->events
                                : 0;
    double wall = (double) source_tail(f)->wall_ns, share;

    if (!c->told || !source_tail(f)->wall_ns) /* no figures, or no wall time */
        return;
    o->recordings++;
    o->events = num_add(o->events, c->events);
    o->callbacks_ns += callbacks;
    o->life_ns += (double) c->life_ns;
    o->writer_ns += (double) c->writer_ns;
    o->wall_ns += wall;
    o->bytes = num_add(o->bytes, f->bytes);
    share = (callbacks + (double) c->life_ns) / wall;
    if (share > o->worst_share)
        o->worst_share = share;
}

/* Returns how often the launchers had started their workers anew in the last
 * attempt; -1: no process knows. */
static int64_t last_restart(const struct build *b)
{
    int64_t last = -1;

    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct recfile_process *p = source_process(&b->files[i]);

        if (p->known && p->launched.restarts > last)
            last = p->launched.restarts;
    }
    return last;
}

/* Whether the file's process was of an attempt before the last one. */
static bool is_over(const struct source_facts *f, int64_t last)
{
    const struct recfile_process *p = source_process(f);

    return p->known && p->launched.restarts >= 0 && p->launched.restarts < last;
}

/* Adds up the recorders' counters. *complete: every file has them. */
static void sum_counters(struct build *b, uint64_t *produced, bool *complete)
{
    struct jp_quality *q = &b->result->quality;
    int64_t last = last_restart(b);

    *complete = b->walk->n_logs > 0;
    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct source_facts *f = &b->files[i];
        const struct recfile_tail *t = source_tail(f);
        const struct jpr_counts *c = &t->counts;
        /* what the file shows itself */
        uint64_t there = num_add(f->records, num_add(c->lost, c->left_out));

        /* no file of a profiler */
        if (f->foreign)
            continue;
        *complete = *complete && f->has_counters && t->counted;
        /* markers bound it from below: the end of a run is in none */
        *produced = num_add(*produced, num_add(f->marked, f->dropped));
        q->overwritten = num_add(q->overwritten, f->dropped);
        if (!f->has_counters)
            continue;
        q->recordings++;
        q->cut_recordings += f->cut; /* without a final block */
        q->twin_recordings += t->has_twins;
        q->damaged_blocks = num_add(q->damaged_blocks, f->damaged);
        /* records may have come after the last counters */
        *produced =
            num_add(*produced, c->produced > there ? c->produced : there);
        q->lost = num_add(q->lost, c->lost);
        q->capped = num_add(q->capped, c->left_out);
        q->in_flight =
            num_add(q->in_flight, num_add(t->in_flight, t->cut_short));
        if (is_over(f, last))
            q->in_flight_ended = num_add(q->in_flight_ended, t->in_flight);
        else if (t->oldest_ns && t->last_ns > t->oldest_ns &&
                 (t->last_ns - t->oldest_ns) / 1000 > q->in_flight_us)
            q->in_flight_us = (t->last_ns - t->oldest_ns) / 1000;
        /* what else is missing has no bound */
        if (is_unbounded(f))
            add_unbounded(q, f);
        add_unseen(q, t);
        add_doubts(q, t);
        add_overhead(&q->overhead, f);
        add_tags(q, t);
        add_phases(&q->phases, &t->phases);
        add_pauses(q, t);
        add_room(&q->room, &t->room);
        q->lost_steps = num_add(q->lost_steps, t->lost_steps);
        q->lost_comms = num_add(q->lost_comms, t->lost_comms);
    }
}

/* By process, then by communicator. */
static int by_process(const void *a, const void *b)
{
    const struct jp_rank *x = *(const struct jp_rank *const *) a;
    const struct jp_rank *y = *(const struct jp_rank *const *) b;
    int order = strcmp(x->host ? x->host : "", y->host ? y->host : "");

    if (!order)
        order = (x->pid > y->pid) - (x->pid < y->pid);
    if (!order)
        order = (x->instance > y->instance) - (x->instance < y->instance);
    return order ? order : (x->comm > y->comm) - (x->comm < y->comm);
}

/* Whether both ranks are of one process. An instance may be unknown: 0. */
static bool are_of_one(const struct jp_rank *x, const struct jp_rank *y)
{
    return x->pid == y->pid &&
           !strcmp(x->host ? x->host : "", y->host ? y->host : "") &&
           (x->instance == y->instance || !x->instance || !y->instance);
}

/* Ranks of a process, and the attempt in which it ran. */
struct share {
    int64_t restarts; /* -1: unknown */
    uint32_t ranks;
};

static int by_attempt(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    return (x->restarts > y->restarts) - (x->restarts < y->restarts);
}

/* Returns how many ranks the attempt with the most ranks has. A job that was
 * started anew has its ranks once, not once for each attempt. Ranks of unknown
 * attempts count besides. Sorts the shares. */
static uint32_t most_ranks(struct share *shares, size_t n)
{
    uint32_t most = 0, here = 0, untold = 0;

    if (n)
        qsort(shares, n, sizeof(*shares), by_attempt);
    for (size_t i = 0; i < n; i++) {
        if (shares[i].restarts < 0) {
            untold += shares[i].ranks;
            continue;
        }
        if (i && shares[i].restarts != shares[i - 1].restarts)
            here = 0;
        here += shares[i].ranks;
        most = here > most ? here : most;
    }
    return untold + most;
}

/* Returns how many ranks of the job left records; no memory: 0. A process has
 * as many ranks as it has in one of its communicators at most: a process with
 * eight GPUs has eight, one with a rank in each of two communicators has one.
 * Processes that cannot be told apart count by the same rule. */
static uint32_t count_ranks(const struct jp_result *r)
{
    const struct jp_rank **list = calloc(r->n_ranks + 1, sizeof(*list));
    struct share *shares = calloc(r->n_ranks + 1, sizeof(*shares));
    uint32_t here = 0, ranks = 0;
    size_t n = 0;

    for (size_t i = 0; list && i < r->n_ranks; i++)
        list[i] = &r->ranks[i];
    if (list && r->n_ranks)
        qsort(list, r->n_ranks, sizeof(struct jp_rank *), by_process);
    for (size_t i = 0; list && shares && i < r->n_ranks; i++) {
        bool same = i && are_of_one(list[i - 1], list[i]);

        here = same && list[i - 1]->comm == list[i]->comm ? here + 1 : 1;
        if (!same)
            shares[n++] = (struct share){list[i]->restarts, 0};
        if (here > shares[n - 1].ranks)
            shares[n - 1].ranks = here;
    }
    if (shares)
        ranks = most_ranks(shares, n);
    free(list);
    free(shares);
    return ranks;
}

/* The same by recordings: each is of one process. */
static uint32_t count_recordings(const struct build *b)
{
    struct share *shares = calloc(b->walk->n_logs + 1, sizeof(*shares));
    uint32_t ranks = 0;
    size_t n = 0;

    for (size_t i = 0; shares && i < b->walk->n_logs; i++) {
        const struct source_facts *f = &b->files[i];

        if (f->has_counters && f->records > 0)
            shares[n++] = (struct share){
                source_process(f)->known ? source_process(f)->launched.restarts
                                         : -1,
                1};
    }
    if (shares)
        ranks = most_ranks(shares, n);
    free(shares);
    return ranks;
}

/* The job's ranks as traces of kernels tell them, where all records are from
 * such traces. 0: unknown. */
static uint32_t count_traced(const struct build *b)
{
    uint32_t world = 0;

    for (size_t i = 0; i < b->walk->n_logs; i++) {
        const struct source_facts *f = &b->files[i];

        if (f->records && !f->traced.n)
            return 0;
        for (size_t k = 0; k < f->traced.n; k++)
            if (f->traced.at[k].world > world)
                world = f->traced.at[k].world;
    }
    return world;
}

/* Counts the job's ranks: those with records, of as many as the largest
 * communicator has at least. *all: every rank of the largest communicators has
 * records. */
static int set_ranks(const struct build *b, bool *all)
{
    struct jp_result *r = b->result;
    struct jp_quality *q = &r->quality;
    uint32_t largest = 0, files = 0, world;

    q->ranks_seen = count_ranks(r);
    /* two communicators with one id look like one, and two of its processes
     * like one rank */
    if (q->twin_recordings)
        files = count_recordings(b);
    if (files > q->ranks_seen)
        q->ranks_seen = files;
    for (size_t i = 0; i < r->n_comms; i++) {
        q->short_comms += r->comms[i].ranks_seen < r->comms[i].n_ranks;
        if (r->comms[i].n_ranks > largest)
            largest = r->comms[i].n_ranks;
    }
    *all = true;
    for (size_t i = 0; i < r->n_comms; i++)
        if (r->comms[i].n_ranks == largest &&
            r->comms[i].ranks_seen < r->comms[i].n_ranks)
            *all = false;
    world = count_traced(b);
    if (world > largest)
        largest = world;
    q->ranks_expected = largest > q->ranks_seen ? largest : q->ranks_seen;
    return q->ranks_seen || !r->n_ranks ? 0 : -1;
}

/* Returns how many records of Send and Recv there should be at least: in a
 * communicator without records of some ranks, these have as many as the others
 * at the mean. */
static uint64_t expected_messages(const struct jp_result *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->n_comms; i++) {
        const struct jp_comm *c = &r->comms[i];
        uint64_t n = c->p2p_records;

        if (c->ranks_seen && c->ranks_seen < c->n_ranks)
            n = num_mul(n, c->n_ranks) / c->ranks_seen;
        sum = num_add(sum, n);
    }
    return sum;
}

/* Decides how many records there should be, and how well that is known.
 * Counters of ranks without a record are in no sum. If ranks are missing, the
 * sum is only another lower bound. */
static void set_expected(struct build *b, bool complete, bool all,
                         uint64_t produced)
{
    struct jp_quality *q = &b->result->quality;

    /* the sum of all ranks */
    if (complete && all && !q->paused_by_mask) {
        q->expected_kind = JP_EXPECT_COUNTED;
        q->expected = num_add(produced, q->paused_records);
    } else if (q->records) {
        q->expected_kind = JP_EXPECT_BOUND; /* a lower bound */
        q->expected = num_add(b->expected, expected_messages(b->result));
        if (q->expected < q->records)
            q->expected = q->records;
        q->unseen_records = b->unseen;
        q->unseen_before = b->before < b->unseen ? b->before : b->unseen;
        /* records were lost, so gaps are likely lost records, too */
        if (b->ragged || produced > q->records)
            q->expected = num_add(q->expected, b->unseen);
        produced = num_add(produced, q->paused_records);
        if (q->expected < produced)
            q->expected = produced;
    }
}

int result_quality(struct build *b)
{
    struct jp_quality *q = &b->result->quality;
    uint64_t produced = 0;
    bool complete, all;

    if (count_files(b) < 0)
        return -1;
    /* counters first: they decide how many records there should be */
    sum_counters(b, &produced, &complete);
    sort_unseen(q);
    qsort(q->tags, q->n_tags, sizeof(*q->tags), by_time_of_tag);
    for (size_t i = 0; i < q->n_tags; i++)
        usertags_name(b->options->tags, q->tags[i].tag, q->tags[i].name);
    cut_notes(q);
    q->coll_records = b->join->coll_records;
    q->p2p_records = b->join->p2p_records;
    q->records = q->coll_records + q->p2p_records;
    q->duplicate_records = b->join->duplicates;
    q->nan_busbw = b->join->nan_busbw;
    q->left_out_records = b->join->left_out;
    q->untimed_records = b->join->untimed;
    for (size_t i = 0; i < b->result->n_ranks; i++) {
        q->kernel_cpu_records += b->result->ranks[i].kernel_cpu;
        q->call_cpu_records += b->result->ranks[i].call_cpu;
    }
    q->overflow_records = b->overflow; /* of traces only */
    if (set_ranks(b, &all) < 0)
        return -1;
    set_expected(b, complete, all, produced);
    return 0;
}

/* --- what the topology adds ----------------------------------------------- */

static void free_notes(struct jp_file_note *notes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(notes[i].path);
        free(notes[i].what);
    }
}

static void free_label(struct jp_comm_label *label)
{
    for (size_t i = 0; i < label->n_warnings; i++)
        free(label->warnings[i]);
    free(label->warnings);
    free(label->why);
}

void labels_fini(struct jp_labels *labels)
{
    for (size_t i = 0; i < labels->n_comms; i++)
        free_label(&labels->comms[i]);
    free_notes(labels->notes, labels->n_notes);
    free(labels->comms);
    free(labels->notes);
    *labels = (struct jp_labels){0};
}

/* Moves a label to its communicator. */
static void put_label(struct jp_comm *comm, struct jp_comm_label *label)
{
    comm->fabric = label->fabric;
    comm->inter = label->inter;
    comm->rail = label->rail;
    comm->hca_path = label->hca_path;
    comm->carriers = label->carriers;
    if (label->evidence)
        comm->evidence = label->evidence;
    free(comm->why);
    comm->why = label->why;
    comm->warnings = label->warnings;
    comm->n_warnings = label->n_warnings;
    *label = (struct jp_comm_label){0};
}

int result_label(struct jp_result *result, struct jp_labels *labels,
                 struct jp_error *err)
{
    struct jp_quality *q = &result->quality;
    /* all that may fail comes before the first change */
    size_t room = q->n_notes < MAX_NOTES ? MAX_NOTES - q->n_notes : 0;
    size_t taken = labels->n_notes < room ? labels->n_notes : room;

    if (vector_resize(&q->notes, q->n_notes + taken + 1, sizeof(*q->notes)) < 0)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < taken; i++) {
        q->notes[q->n_notes++] = labels->notes[i];
        labels->notes[i] = (struct jp_file_note){0};
    }
    q->notes_left_out += labels->n_notes - taken;
    for (size_t i = 0; i < labels->n_comms && i < result->n_comms; i++)
        put_label(&result->comms[i], &labels->comms[i]);
    labels_fini(labels);
    return 0;
}
