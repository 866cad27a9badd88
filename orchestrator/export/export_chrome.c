/* export_chrome.c - one trace of all the recorder's files of a step. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_stream.h"
#include "orchestrator/export/export.h"
#include "orchestrator/export/trace_event.h"
#include "orchestrator/ingest/pending.h"
#include "orchestrator/show/jobranks.h"

#define TRACE_QUEUE_EVENTS 32768

struct trace_event {
    int64_t start_ns, end_ns; /* since the trace's origin */
    uint64_t number;          /* order of arrival */
    uint32_t comm;            /* the file's index of the communicator */
    char *members;            /* trace_event_describe; owned */
};

struct trace_queue {
    struct trace_event *events;
    size_t n;
    uint64_t numbered;
};

/* --- a binary heap of events by start */

/* 0, or -1 without memory. */
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

static bool is_before(const struct trace_event *a, const struct trace_event *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns
                                      : a->number < b->number;
}

/* Not while it is full. event->members is taken over. */
static void trace_queue_push(struct trace_queue *queue,
                             struct trace_event event)
{
    struct trace_event *heap = queue->events;
    size_t i = queue->n++;

    event.number = queue->numbered++;
    while (i > 0 && is_before(&event, &heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = event;
}

/* The earliest, whose rest becomes the caller's; not while n is 0. */
static struct trace_event trace_queue_pop(struct trace_queue *queue)
{
    struct trace_event *heap = queue->events, first = heap[0];
    struct trace_event last = heap[--queue->n];
    size_t i = 0, k;

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

/* --- one trace of all the recorder's files of a step */

/* Threads of a communicator: lanes of operations, then those in flight. */
enum { LANES = 15, THREADS = LANES + 1 };
#define FREE_PIDS 1000000

struct comm_lanes {
    int64_t end_ns[LANES];
    unsigned used;
    bool in_flight;
};

struct trace {
    FILE *out;
    struct export_done *done;
    struct trace_queue queue;
    uint64_t origin_ns; /* unix */
    bool comma;
    struct jp_jobranks *ranks;
    struct jp_recfile *file;
    uint64_t pid;
    struct comm_lanes *comms; /* of the file, by index */
    uint32_t n_comms;
    int64_t rank; /* of the file's process in the job, < 0: none */
    bool *taken;  /* pids that are a rank */
    size_t n_taken;
};

/* The thread of a communicator's lane; 0 is the kernel's idle one to viewers.
 */
static uint64_t thread_of(uint32_t comm, unsigned lane)
{
    return (uint64_t) comm * THREADS + lane + 1;
}

/* The beginning of an event; more members follow, and close_event. */
static void begin_event(struct trace *t, struct jp_json_stream *s,
                        const char *phase, uint64_t tid)
{
    if (t->comma)
        fputs(",\n", t->out);
    t->comma = true;
    json_stream_open(s, JSON_PART, t->out);
    json_stream_text(s, "ph", phase);
    json_stream_count(s, "pid", t->pid);
    json_stream_count(s, "tid", tid);
}

/* The first header's time of all files: the trace's zero. */
static uint64_t find_origin(struct jp_recwalk *walk)
{
    void (*say)(void *, const char *) = walk->say;
    struct jpr_record record;
    uint64_t origin = UINT64_MAX;
    struct jp_recfile *file;

    walk->say = NULL; /* the second look tells */
    while ((file = recwalk_open(walk)))
        if (recwalk_record(walk, &record) && file->has_header &&
            file->clocks.real_ns < origin)
            origin = file->clocks.real_ns;
    walk->say = say;
    recwalk_rewind(walk);
    return origin == UINT64_MAX ? 0 : origin;
}

/* The lanes of a communicator; NULL without memory. */
static struct comm_lanes *lanes_of(struct trace *t, uint32_t comm)
{
    uint32_t n = t->n_comms;
    struct comm_lanes *more;

    if (comm < n)
        return &t->comms[comm];
    while (n <= comm)
        n = n ? 2 * n : 16;
    more = reallocarray(t->comms, n, sizeof(*more));
    if (!more)
        return NULL;
    memset(more + t->n_comms, 0, (n - t->n_comms) * sizeof(*more));
    t->comms = more;
    t->n_comms = n;
    return &more[comm];
}

/* The first lane that is free at the event's start. */
static unsigned pick_lane(struct comm_lanes *lanes,
                          const struct trace_event *event)
{
    unsigned lane = 0;

    while (lane < lanes->used && lane < LANES - 1 &&
           lanes->end_ns[lane] > event->start_ns)
        lane++;
    if (lane == lanes->used)
        lanes->used++;
    lanes->end_ns[lane] = event->end_ns;
    return lane;
}

static void write_first(struct trace *t)
{
    struct trace_event event = trace_queue_pop(&t->queue);
    struct comm_lanes *lanes = lanes_of(t, event.comm);
    struct jp_json_stream s;

    if (lanes) {
        begin_event(t, &s, "X",
                    thread_of(event.comm, pick_lane(lanes, &event)));
        json_stream_milli(&s, "ts", event.start_ns);
        json_stream_milli(&s, "dur", event.end_ns - event.start_ns);
        json_stream_members(&s, event.members);
        json_stream_close(&s, NULL); /* a failure shows in the stream */
        t->done->ops++;
    }
    free(event.members);
}

/* Where a time of the file lies in the trace; false: it has none. */
static bool place(const struct trace *t, uint64_t mono_ns, int64_t *ns)
{
    uint64_t wall = recfile_wall_ns(t->file, mono_ns);

    *ns = (int64_t) (wall - t->origin_ns);
    return wall != 0;
}

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
    begin_event(t, &s, "B", thread_of(op->comm, LANES));
    json_stream_milli(&s, "ts", ns);
    json_stream_members(&s, members);
    json_stream_close(&s, NULL);
    free(members);
}

/* A metadata event that names a process or a thread. */
static void put_name(struct trace *t, const char *what, uint64_t tid,
                     const char *name)
{
    struct jp_json_stream s;

    begin_event(t, &s, "M", tid);
    json_stream_text(&s, "name", what);
    json_stream_object(&s, "args");
    json_stream_text(&s, "name", name);
    json_stream_end_object(&s);
    json_stream_close(&s, NULL);
}

/* "dp 0x8a07aed05ae9a0 rank 3 of 8", with what it is of the communicator. */
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
    put_name(t, "thread_name", thread_of(comm, lane), text);
}

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
    put_name(t, "process_name", 0, text);
    begin_event(t, &s, "M", 0);
    json_stream_text(&s, "name", "process_sort_index");
    json_stream_object(&s, "args");
    json_stream_int(&s, "sort_index", rank < 0 ? (int64_t) t->pid : rank);
    json_stream_end_object(&s);
    json_stream_close(&s, NULL);
}

/* A rank once; who comes later under the same gets a number of its own. */
static void pick_pid(struct trace *t, uint64_t index)
{
    int64_t rank = t->rank;
    size_t n = t->n_taken;
    bool *more;

    t->pid = FREE_PIDS + index;
    if (rank < 0 || rank >= FREE_PIDS)
        return;
    if ((size_t) rank >= n) {
        while (n <= (size_t) rank)
            n = n ? 2 * n : 64;
        more = realloc(t->taken, n);
        if (!more)
            return;
        memset(more + t->n_taken, 0, n - t->n_taken);
        t->taken = more;
        t->n_taken = n;
    }
    if (!t->taken[rank])
        t->pid = (uint64_t) rank;
    t->taken[rank] = true;
}

static void write_process(struct trace *t, struct jp_recwalk *walk)
{
    struct jp_pending pending = {0};
    struct jpr_record record;
    bool begun = false;

    t->n_comms = 0;
    while (!ferror(t->out) && recwalk_record(walk, &record)) {
        if (!begun) {
            t->rank = jobranks_find(t->ranks, walk->path, t->file->host,
                                    t->file->pid);
            pick_pid(t, walk->files);
        }
        begun = true;
        if (record.type == JPR_OP)
            take_op(t, record.op);
        if (pending_add(&pending, &record) < 0)
            t->done->left_out++;
    }
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

int export_chrome(struct jp_recwalk *walk, FILE *out, struct export_done *done,
                  struct jp_error *err)
{
    struct trace t = {.out = out, .done = done};
    int rc = -1;

    if (trace_queue_init(&t.queue) < 0)
        return error_set(err, "out of memory");
    t.origin_ns = find_origin(walk);
    t.ranks = jobranks_read(walk);
    if (!t.ranks) {
        trace_queue_fini(&t.queue);
        return error_set(err, "out of memory");
    }
    fprintf(out,
            "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"origin_unix_us\":"
            "%" PRIu64 ".%03u},\n\"traceEvents\":[\n",
            t.origin_ns / 1000, (unsigned) (t.origin_ns % 1000));
    while (!ferror(out) && (t.file = recwalk_open(walk)))
        write_process(&t, walk);
    fputs("\n]}\n", out);
    if (fflush(out) != 0 || ferror(out))
        error_set(err, "output failed: %m");
    else
        rc = 0;
    trace_queue_fini(&t.queue);
    jobranks_destroy(t.ranks);
    free(t.taken);
    free(t.comms);
    return rc;
}
