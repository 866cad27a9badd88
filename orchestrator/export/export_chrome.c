/* export_chrome.c - write all of a step's recordings as one trace.
 *
 * export_chrome makes two passes: the first finds the earliest time, which is
 * the trace's zero, and the ranks of processes. The second writes process by
 * process. Recordings have their operations in the order of their ends, viewers
 * need the order of starts, so a heap of 32,768 events sorts them
 * (trace_queue). Files of other profilers follow (struct foreign), then events
 * of features. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/clockmap.h"
#include "common/json_stream.h"
#include "common/vector.h"
#include "common/trace_out.h"
#include "orchestrator/export/export.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/show/jobranks.h"
#include "plugins/backend.h"
#include "plugins/nccl_example/example_reader.h"

#define TRACE_QUEUE_EVENTS 32768

struct trace_event {
    int64_t start_ns, end_ns; /* relative to the trace's origin */
    uint64_t number;          /* order of arrival */
    uint32_t comm;            /* index of the communicator in the file */
    char *members;            /* from trace_event_describe; owned */
};

/* The heap, and how many events have come. */
struct trace_queue {
    struct trace_event *events;
    size_t n;
    uint64_t numbered;
};

/* --- a binary heap of events by start */

/* Returns 0, or -1 without memory. */
static int trace_queue_init(struct trace_queue *queue)
{
    *queue = (struct trace_queue){
        .events = calloc(TRACE_QUEUE_EVENTS, sizeof(*queue->events))};
    return queue->events ? 0 : -1;
}

static void trace_queue_fini(struct trace_queue *queue)
{
    for (size_t i = 0; i < queue->n; i++)
        free(queue->events[i].members);
    free(queue->events);
    *queue = (struct trace_queue){0};
}

static bool trace_queue_is_full(const struct trace_queue *queue)
{
    return queue->n == TRACE_QUEUE_EVENTS;
}

/* Equal starts stay in the order of arrival. */
static bool is_before(const struct trace_event *a, const struct trace_event *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns
                                      : a->number < b->number;
}

/* Must not be called when full. Takes over event->members. */
static void trace_queue_push(struct trace_queue *queue,
                             struct trace_event event)
{
    struct trace_event *heap = queue->events;
    size_t i = queue->n++;

    event.number = queue->numbered++;
    /* parents that are later move down */
    while (i > 0 && is_before(&event, &heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = event;
}

/* Removes the earliest event, whose members the caller then owns. n must not be
 * 0. */
static struct trace_event trace_queue_pop(struct trace_queue *queue)
{
    struct trace_event *heap = queue->events, first = heap[0];
    struct trace_event last = heap[--queue->n];
    size_t i = 0, k;

    /* the earlier child moves up */
    while ((k = 2 * i + 1) < queue->n) {
        if (k + 1 < queue->n && is_before(&heap[k + 1], &heap[k]))
            k++;
        if (!is_before(&heap[k], &last))
            break;
        heap[i] = heap[k];
        i = k;
    }
    heap[i] = last;
    return first;
}

/* --- one trace of all of a step's recordings */

/* Threads of a communicator: lanes of operations, then one for those in
 * flight. */
enum { LANES = 15, THREADS = LANES + 1 };
#define FREE_PIDS 1000000

/* Which lanes of a communicator are in use, and until when. */
struct comm_lanes {
    int64_t end_ns[LANES];
    unsigned used;
    bool in_flight;
};

/* The trace being written, and the process that is written now. */
struct trace {
    struct trace_out events;
    struct export_done *done;
    struct trace_queue queue;
    uint64_t origin_ns;                /* unix time, by the common clock */
    const struct clockmap *clocks;     /* NULL: times stay as recorded */
    const struct clockmap_node *clock; /* clock of the file; NULL: the same */
    struct jp_jobranks *ranks;
    struct jp_recfile *file;
    uint64_t pid;
    struct comm_lanes *comms; /* of the file, by index */
    uint32_t n_comms;
    int64_t rank; /* rank of the file's process in the job; < 0: none */
    bool *taken;  /* which ranks are used as pids */
    size_t n_taken;
};

/* The thread of a communicator's lane. Viewers show thread 0 as the idle
 * thread. */
static uint64_t thread_of(uint32_t comm, unsigned lane)
{
    return (uint64_t) comm * THREADS + lane + 1;
}

/* The map of a host's clock; NULL: its times stay as recorded. */
static const struct clockmap_node *clock_of(const struct clockmap *clocks,
                                            const char *host)
{
    return clockmap_find(clocks, host, strlen(host));
}

/* The earliest header time of all files, which becomes the trace's zero. */
static uint64_t find_origin(struct jp_recwalk *walk,
                            const struct clockmap *clocks)
{
    void (*say)(void *, const char *) = walk->say;
    struct jpr_record record;
    uint64_t origin = UINT64_MAX;
    struct jp_recfile *file;

    walk->say = NULL; /* errors are reported by the second pass */
    while ((file = recwalk_open(walk)))
        if (recwalk_record(walk, &record) && file->has_header) {
            uint64_t at =
                clockmap_ns(clock_of(clocks, file->host), file->clocks.real_ns);

            origin = at < origin ? at : origin;
        }
    walk->say = say;
    recwalk_rewind(walk);
    return origin == UINT64_MAX ? 0 : origin;
}

/* Finds or makes the lanes of a communicator; NULL without memory. */
static struct comm_lanes *lanes_of(struct trace *t, uint32_t comm)
{
    uint32_t n = t->n_comms;

    if (comm < n)
        return &t->comms[comm];
    while (n <= comm)
        n = n ? 2 * n : 16;
    if (vector_resize(&t->comms, n, sizeof(*t->comms)) < 0)
        return NULL;
    /* no lane in use */
    memset(t->comms + t->n_comms, 0, (n - t->n_comms) * sizeof(*t->comms));
    t->n_comms = n;
    return &t->comms[comm];
}

/* The first lane that is free at the event's start. */
static unsigned pick_lane(struct comm_lanes *lanes,
                          const struct trace_event *event)
{
    unsigned lane = 0;

    /* the last lane takes all that overlap even more */
    while (lane < lanes->used && lane < LANES - 1 &&
           lanes->end_ns[lane] > event->start_ns)
        lane++;
    if (lane == lanes->used)
        lanes->used++;
    lanes->end_ns[lane] = event->end_ns;
    return lane;
}

/* Writes the earliest event of the heap. */
static void write_first(struct trace *t)
{
    struct trace_event event = trace_queue_pop(&t->queue);
    struct comm_lanes *lanes = lanes_of(t, event.comm);
    struct jp_json_stream s;

    if (lanes) {
        trace_out_begin(&t->events, &s, "X", t->pid,
                        thread_of(event.comm, pick_lane(lanes, &event)));
        json_stream_milli(&s, "ts", event.start_ns);
        json_stream_milli(&s, "dur", event.end_ns - event.start_ns);
        json_stream_members(&s, event.members);
        json_stream_close(&s, NULL); /* an error is visible in the stream */
        t->done->ops++;
    }
    free(event.members);
}

/* Converts a time of the file to the trace's time; false if it has none. */
static bool place(const struct trace *t, uint64_t mono_ns, int64_t *ns)
{
    uint64_t wall = clockmap_ns(t->clock, recfile_wall_ns(t->file, mono_ns));

    *ns = (int64_t) (wall - t->origin_ns);
    return wall != 0;
}

/* Adds an operation to the heap. Without a time it is left out. */
static void take_op(struct trace *t, const struct jpr_op *op)
{
    struct trace_event event = {.comm = op->comm};
    uint64_t start, end;

    if (!recfile_comm(t->file, op->comm) ||
        !trace_event_span(op, &start, &end) ||
        !place(t, start, &event.start_ns) || !place(t, end, &event.end_ns) ||
        !(event.members = trace_event_describe(t->file, op))) {
        t->done->left_out++;
        return;
    }
    if (trace_queue_is_full(&t->queue))
        write_first(t);
    trace_queue_push(&t->queue, event);
}

/* Writes an operation that had not ended, on a thread of its own. */
static void write_pending(struct trace *t, const struct jpr_op *op)
{
    struct comm_lanes *lanes = lanes_of(t, op->comm);
    struct jp_json_stream s;
    uint64_t start, end;
    int64_t ns;
    char *members;

    if (!lanes || !recfile_comm(t->file, op->comm) ||
        !trace_event_span(op, &start, &end) || !place(t, start, &ns) ||
        !(members = trace_event_describe(t->file, op))) {
        t->done->left_out++;
        return;
    }
    lanes->in_flight = true;
    trace_out_begin(&t->events, &s, "B", t->pid, thread_of(op->comm, LANES));
    json_stream_milli(&s, "ts", ns);
    json_stream_members(&s, members);
    json_stream_close(&s, NULL);
    free(members);
}

/* Names a thread "dp 0x8a07aed05ae9a0 rank 3 of 8". what: the part of the
 * communicator that the thread shows. */
static void name_thread(struct trace *t, uint32_t comm, unsigned lane,
                        const char *what)
{
    const struct jpr_comm *c = jpr_comm(t->file->reader, comm);
    const struct recfile_comm *told = recfile_comm(t->file, comm);
    char text[2 * RECORD_MAX_NAME];

    if (!c || !told)
        return;
    snprintf(text, sizeof(text), "%s%s%s rank %" PRId64 " of %" PRId64 "%s",
             told->name, told->name[0] ? " " : "", told->id, c->rank,
             c->n_ranks, what);
    trace_out_name(&t->events, "thread_name", t->pid, thread_of(comm, lane),
                   text);
}

/* Chooses a pid: the rank, if it is still free; otherwise a number of its
 * own. */
static void pick_pid(struct trace *t, uint64_t index)
{
    int64_t rank = t->rank;
    size_t n = t->n_taken;

    t->pid = FREE_PIDS + index;
    /* no rank, or one that a number of our own could be */
    if (rank < 0 || rank >= FREE_PIDS)
        return;
    if ((size_t) rank >= n) {
        while (n <= (size_t) rank)
            n = n ? 2 * n : 64;
        if (vector_resize(&t->taken, n, sizeof(*t->taken)) < 0)
            return;
        memset(t->taken + t->n_taken, 0, n - t->n_taken);
        t->n_taken = n;
    }
    /* two processes with one rank: the first one gets it */
    if (!t->taken[rank])
        t->pid = (uint64_t) rank;
    t->taken[rank] = true;
}

/* --- files of other profilers: Inspector's logs, the example plugin's traces
 */

struct foreign_comm {
    char id[RECORD_MAX_ID + 1];
    char name[RECORD_MAX_NAME + 1];
    uint32_t rank, n_ranks;
};

/* State for one such file. It uses t's communicators, with the same indices. */
struct foreign {
    struct trace *t;
    struct jp_jobranks *ranks; /* for Inspector's processes */
    const char *path;
    struct foreign_comm *comms;
    uint32_t n_comms, last;
    char host[RECORD_MAX_HOST + 1];
    int64_t pid;
    uint64_t first_us; /* earliest start in all files */
    uint64_t index;    /* index of the file */
    bool own_clock;    /* its times have an origin of their own */
    bool no_memory;
};

/* Copies a record's string, truncated to size. */
static void copy_text(char *to, size_t size, const struct record_text *text)
{
    snprintf(to, size, "%.*s", (int) text->len, text->len ? text->text : "");
}

/* Returns the index of the record's communicator, or -1 without memory.
 * *is_new: it was not seen before. */
static int64_t foreign_comm(struct foreign *f, const struct record *r,
                            bool *is_new)
{
    struct foreign_comm one = {.rank = r->rank, .n_ranks = r->n_ranks};

    copy_text(one.id, sizeof(one.id), &r->id);
    *is_new = false;
    /* records of a communicator mostly follow each other */
    for (uint32_t i = 0; i < f->n_comms; i++) {
        uint32_t at = (f->last + i) % f->n_comms;

        if (!strcmp(f->comms[at].id, one.id) && f->comms[at].rank == one.rank)
            return f->last = at;
    }
    if (VECTOR_DOUBLE(f->comms, f->n_comms) < 0) {
        f->no_memory = true;
        return -1;
    }
    copy_text(one.name, sizeof(one.name), &r->name);
    f->comms[f->n_comms] = one;
    *is_new = true;
    return f->last = f->n_comms++;
}

/* First pass: finds the earliest time and the owners of the processes. */
static int look_at(void *arg, const struct record *records, size_t n)
{
    struct foreign *f = arg;
    bool is_new;

    for (size_t i = 0; i < n; i++) {
        const struct record *r = &records[i];
        uint64_t start;

        if (i == 0 || r->host.len != records[i - 1].host.len ||
            memcmp(r->host.text, records[i - 1].host.text, r->host.len))
            f->t->clock =
                clockmap_find(f->t->clocks, r->host.text, r->host.len);
        start = clockmap_us(f->t->clock, r->start_us);
        if (start && start < f->first_us)
            f->first_us = start;
        if (foreign_comm(f, r, &is_new) < 0)
            return -1;
        /* a communicator's size shows whether its ranks are those of the job */
        if (is_new && r->n_ranks && f->ranks) {
            struct jobranks_claim claim = {.host = f->host,
                                           .pid = r->pid,
                                           .task = -1,
                                           .id = f->comms[f->last].id,
                                           .n_ranks = r->n_ranks,
                                           .rank = r->rank};

            copy_text(f->host, sizeof(f->host), &r->host);
            if (jobranks_add(f->ranks, f->path, &claim) < 0)
                return -1;
        }
    }
    return 0;
}

/* Identifies the file's process by its first record. */
static void find_process(struct foreign *f, const struct record *r)
{
    copy_text(f->host, sizeof(f->host), &r->host);
    f->pid = r->pid;
    f->t->clock = f->own_clock ? NULL : clock_of(f->t->clocks, f->host);
    f->t->rank = f->own_clock
                     ? -1
                     : jobranks_find(f->ranks, f->path, f->host, f->pid, 0);
    pick_pid(f->t, f->index);
}

/* Adds an operation with times of the file's clock. Without a time it is left
 * out. */
static void take_record(struct foreign *f, const struct record *r,
                        int64_t start_ns, int64_t end_ns,
                        const struct trace_op *op)
{
    struct trace *t = f->t;
    struct trace_event event;
    bool is_new;
    int64_t comm = foreign_comm(f, r, &is_new);

    /* the first record of the file */
    if (is_new && f->n_comms == 1)
        find_process(f, r);
    if (!f->own_clock) {
        int64_t origin = (int64_t) t->origin_ns;

        start_ns = (int64_t) clockmap_ns(t->clock, (uint64_t) start_ns) -
                   origin;
        end_ns = (int64_t) clockmap_ns(t->clock, (uint64_t) end_ns) - origin;
    }
    event = (struct trace_event){.start_ns = start_ns, .end_ns = end_ns};
    if (comm < 0 || start_ns < 0 || end_ns <= start_ns ||
        !(event.members = trace_event_of_record(r, op))) {
        t->done->left_out++;
        return;
    }
    event.comm = (uint32_t) comm;
    if (trace_queue_is_full(&t->queue))
        write_first(t);
    trace_queue_push(&t->queue, event);
}

/* Adds the records of Inspector's verbose logs, which have start and end. */
static int take_records(void *arg, const struct record *records, size_t n)
{
    struct foreign *f = arg;

    for (size_t i = 0; i < n; i++) {
        const struct record *r = &records[i];

        uint64_t end_us = r->end_us > r->start_us ? r->end_us
                                                  : r->start_us + r->exec_us;

        if (!r->start_us) /* the log is not verbose */
            f->t->done->left_out++;
        else
            take_record(f, r, (int64_t) r->start_us * 1000,
                        (int64_t) end_us * 1000, NULL);
    }
    return f->no_memory || ferror(f->t->events.out) ? -1 : 0;
}

/* Adds a trace, whose times are on its process's own clock. */
static void take_trace(struct foreign *f, struct source_facts *facts)
{
    enum trace_status kind;
    struct jp_tracefile file;
    struct jp_error err;
    struct record r;

    if (tracefile_open(&file, f->path, &err) < 0) {
        reader_refuse(facts, f->path, &err);
        return;
    }
    while (!ferror(f->t->events.out) &&
           (kind = tracefile_next(&file, &r)) <= TRACE_OP_BAD) {
        if (kind == TRACE_OP)
            take_record(f, &r, (int64_t) file.op.start_ns,
                        (int64_t) (file.op.start_ns + file.op.exec_ns),
                        &file.op);
        else
            reader_note_bad(facts, file.line, file.bad, file.why);
    }
    reader_note_damage(facts, logsource_damage(file.source));
    tracefile_close(&file);
}

/* "comm0 0xb27172190b8ec2 rank 3 of 8", or "rank 3" if the size is unknown. */
static void name_foreign_threads(const struct foreign *f)
{
    struct trace *t = f->t;
    char text[2 * RECORD_MAX_NAME], of[24], lane[24];

    for (uint32_t i = 0; i < f->n_comms && i < t->n_comms; i++)
        for (unsigned k = 0; k < t->comms[i].used; k++) {
            const struct foreign_comm *c = &f->comms[i];

            snprintf(of, sizeof(of), " of %" PRIu32, c->n_ranks);
            snprintf(lane, sizeof(lane), ", lane %u", k + 1);
            snprintf(text, sizeof(text), "%s%s%s rank %" PRIu32 "%s%s", c->name,
                     c->name[0] ? " " : "", c->id, c->rank,
                     c->n_ranks ? of : "", k ? lane : "");
            trace_out_name(&t->events, "thread_name", t->pid, thread_of(i, k),
                           text);
        }
}

/* Reports what is wrong with a file. */
static void tell_foreign(struct jp_recwalk *walk, const char *path,
                         const struct source_facts *facts)
{
    char text[512];

    if (!facts->bad_lines && !facts->trouble[0])
        return;
    walk->troubles++;
    snprintf(text, sizeof(text), "%s: %s", path,
             facts->trouble[0] ? facts->trouble : facts->why);
    if (walk->say)
        walk->say(walk->arg, text);
}

/* The backend of a file; NULL: the recorder's, or unknown. */
static const struct backend *find_foreign(const struct jp_logfile *log)
{
    struct jp_error err = {""};
    const struct backend *backend = reader_find(log->path, !log->maybe, &err);

    return backend && backend->reader && !backend->about.counts ? backend
                                                                : NULL;
}

/* Reads all such files through `take`, and calls `end` after each (may be
 * NULL). */
static void read_foreign(struct jp_recwalk *walk, struct foreign *f,
                         int (*take)(void *, const struct record *, size_t),
                         void (*end)(struct jp_recwalk *, struct foreign *,
                                     const struct source_facts *))
{
    static const atomic_bool never;
    _Atomic uint64_t done = 0; /* required, not used */
    struct reader_states *states = reader_states_create();
    const struct reader_sink sink = {.take = take, .arg = f};

    for (size_t i = 0; states && i < walk->walk.n_logs; i++) {
        const struct jp_logfile *log = &walk->walk.logs[i];
        const struct backend *backend = find_foreign(log);
        const struct reader_input in = {
            .path = log->path, .to = UINT64_MAX, .stop = &never, .done = &done};
        struct source_facts facts = {0};

        if (!backend)
            continue;
        f->path = log->path;
        f->n_comms = f->last = f->t->n_comms = 0;
        f->index = walk->files + 1;
        f->own_clock = backend->about.keeps_last;
        if (end && f->own_clock)
            take_trace(f, &facts);
        else
            reader_read(states, backend, &in, &sink, &facts);
        if (end)
            end(walk, f, &facts);
        reader_facts_fini(&facts);
    }
    f->no_memory = f->no_memory || !states;
    reader_states_destroy(states);
}

/* Finishes the process of a file. */
static void end_foreign(struct jp_recwalk *walk, struct foreign *f,
                        const struct source_facts *facts)
{
    struct trace *t = f->t;
    char text[RECORD_MAX_HOST + 96];

    while (t->queue.n)
        write_first(t);
    /* the walk has counted it as another profiler's */
    walk->others -= walk->others > 0;
    walk->files++;
    tell_foreign(walk, f->path, facts);
    if (!f->n_comms)
        return;
    if (t->rank >= 0)
        snprintf(text, sizeof(text), "rank %" PRId64 " %s pid %" PRId64,
                 t->rank, f->host, f->pid);
    else if (f->own_clock)
        snprintf(text, sizeof(text), "%s, rank %" PRIu32 " of %s, own clock",
                 f->host[0] ? f->host : "trace", f->comms[0].rank,
                 f->comms[0].id);
    else
        snprintf(text, sizeof(text), "%s pid %" PRId64, f->host, f->pid);
    trace_out_name(&t->events, "process_name", t->pid, 0, text);
    name_foreign_threads(f);
    t->done->files++;
}

/* Names the threads that a recording's communicators use. */
static void name_threads(struct trace *t)
{
    char lane[24];

    for (uint32_t i = 0; i < t->n_comms; i++) {
        for (unsigned k = 0; k < t->comms[i].used; k++) {
            snprintf(lane, sizeof(lane), ", lane %u", k + 1);
            name_thread(t, i, k, k ? lane : "");
        }
        if (t->comms[i].in_flight)
            name_thread(t, i, LANES, ", in flight");
    }
}

/* Names a recording's process and places it by its rank. */
static void name_process(struct trace *t)
{
    int64_t rank = t->rank;
    char text[RECORD_MAX_HOST + 64];
    struct jp_json_stream s;

    if (rank >= 0)
        snprintf(text, sizeof(text), "rank %" PRId64 " %s pid %" PRId64, rank,
                 t->file->host, t->file->pid);
    else
        snprintf(text, sizeof(text), "%s pid %" PRId64, t->file->host,
                 t->file->pid);
    trace_out_name(&t->events, "process_name", t->pid, 0, text);
    trace_out_begin(&t->events, &s, "M", t->pid, 0);
    json_stream_text(&s, "name", "process_sort_index");
    json_stream_object(&s, "args");
    json_stream_int(&s, "sort_index", rank < 0 ? (int64_t) t->pid : rank);
    json_stream_end_object(&s);
    json_stream_close(&s, NULL);
}

/* Writes all of one recording. */
static void write_process(struct trace *t, struct jp_recwalk *walk)
{
    struct jp_pending pending = {0};
    struct jpr_record record;
    bool begun = false;

    t->n_comms = 0;
    while (!ferror(t->events.out) && recwalk_record(walk, &record)) {
        if (!begun) {
            t->clock = clock_of(t->clocks, t->file->host);
            t->rank = jobranks_find(
                t->ranks, walk->path, t->file->host, t->file->pid,
                process_instance(t->file->pid_namespace, t->file->start));
            pick_pid(t, walk->files);
        }
        begun = true;
        if (record.type == JPR_OP)
            take_op(t, record.op);
        if (pending_add(&pending, &record) < 0)
            t->done->left_out++;
    }
    /* the rest of the heap, then what had not ended */
    while (t->queue.n)
        write_first(t);
    pending_settle(&pending);
    for (size_t i = 0; i < pending.n; i++)
        write_pending(t, &pending.ops[i].op);
    t->done->left_out += pending.left_out;
    if (begun) {
        name_process(t);
        name_threads(t);
        t->done->files++;
    }
    pending_fini(&pending);
}

/* Finds the files of all features that have events of GPUs. */
static int find_events(struct jp_recwalk *walk, const struct clockmap *clocks,
                       struct feature_found gpus[FEATURES_MAX])
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->events &&
            feature_registry[i]->events->find(&gpus[i], walk->inputs,
                                              walk->n_inputs, clocks, walk->say,
                                              walk->arg) < 0)
            return -1;
    return 0;
}

static void write_events(struct trace *t, struct jp_recwalk *walk,
                         const struct feature_found gpus[FEATURES_MAX])
{
    for (size_t i = 0; feature_registry[i]; i++) {
        const struct feature_events *events = feature_registry[i]->events;

        if (!events)
            continue;
        walk->troubles += gpus[i].bad +
                          events->write(&gpus[i], t->origin_ns, t->taken,
                                        t->n_taken, 2 * FREE_PIDS, &t->events);
        walk->files += gpus[i].n;
        t->done->files += gpus[i].n;
    }
}

int export_chrome(struct jp_recwalk *walk, const struct clockmap *clocks,
                  FILE *out, struct export_done *done, struct jp_error *err)
{
    struct trace t = {.events = {.out = out}, .done = done, .clocks = clocks};
    struct foreign others = {.t = &t, .first_us = UINT64_MAX / 1000};
    struct feature_found gpus[FEATURES_MAX] = {{.n = 0}};
    int rc = -1;

    if (trace_queue_init(&t.queue) < 0)
        return error_set(err, "out of memory");
    t.origin_ns = find_origin(walk, clocks);
    t.ranks = jobranks_read(walk);
    others.ranks = jobranks_create(walk->inputs, walk->n_inputs);
    if (t.ranks && others.ranks)
        read_foreign(walk, &others, look_at, NULL);
    if (!t.ranks || !others.ranks || others.no_memory ||
        find_events(walk, clocks, gpus) < 0 ||
        jobranks_decide(others.ranks) < 0) {
        error_set(err, "out of memory");
        goto out;
    }
    /* other files may begin earlier */
    if (others.first_us < UINT64_MAX / 1000 &&
        (!t.origin_ns || others.first_us * 1000 < t.origin_ns))
        t.origin_ns = others.first_us * 1000;
    for (size_t i = 0; i < FEATURES_MAX; i++)
        if (gpus[i].n && (!t.origin_ns || gpus[i].first_ns < t.origin_ns))
            t.origin_ns = gpus[i].first_ns;
    /* the head, then all events */
    fprintf(out,
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"origin_unix_us\":"
            "%" PRIu64 ".%03u%s%s%s},\n\"traceEvents\":[\n",
            t.origin_ns / 1000, (unsigned) (t.origin_ns % 1000),
            clocks ? ",\"clocks\":\"" : "",
            clocks ? clockmap_method_name(clocks->method) : "",
            clocks ? "\"" : "");
    while (!ferror(out) && (t.file = recwalk_open(walk)))
        write_process(&t, walk);
    read_foreign(walk, &others, take_records, end_foreign);
    write_events(&t, walk, gpus);
    fputs("\n]}\n", out);
    if (fflush(out) != 0 || ferror(out))
        error_set(err, "output failed: %m");
    else
        rc = 0;
out:
    trace_queue_fini(&t.queue);
    jobranks_destroy(t.ranks);
    jobranks_destroy(others.ranks);
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->events)
            feature_registry[i]->events->fini(&gpus[i]);
    free(others.comms);
    free(t.taken);
    free(t.comms);
    return rc;
}
