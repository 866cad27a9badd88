/* export_chrome.c - one trace of all the recorder's files of a step. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/export/export.h"
#include "orchestrator/export/trace_event.h"
#include "orchestrator/export/trace_queue.h"
#include "orchestrator/ingest/jsontext.h"
#include "orchestrator/ingest/pending.h"

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
    struct jp_recfile *file;
    uint64_t pid;
    struct comm_lanes *comms; /* of the file, by index */
    uint32_t n_comms;
    bool *taken; /* pids that are a SLURM_PROCID */
    size_t n_taken;
};

/* The thread of a communicator's lane; 0 is the kernel's idle one to viewers.
 */
static uint64_t thread_of(uint32_t comm, unsigned lane)
{
    return (uint64_t) comm * THREADS + lane + 1;
}

/* The beginning of an event, up to "tid". */
static void begin(struct trace *t, char phase, uint64_t tid)
{
    fprintf(t->out, "%s{\"ph\":\"%c\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64,
            t->comma ? ",\n" : "", phase, t->pid, tid);
    t->comma = true;
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

    if (lanes) {
        begin(t, 'X', thread_of(event.comm, pick_lane(lanes, &event)));
        fputs(",\"ts\":", t->out);
        trace_event_us(t->out, event.start_ns);
        fputs(",\"dur\":", t->out);
        trace_event_us(t->out, event.end_ns - event.start_ns);
        fprintf(t->out, "%s}", event.rest);
        t->done->ops++;
    }
    free(event.rest);
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
        !(event.rest = trace_event_describe(t->file, op))) {
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
    uint64_t start, end;
    int64_t ns;
    char *rest;

    if (!lanes || !recfile_comm(t->file, op->comm) ||
        !trace_event_span(op, &start, &end) || !place(t, start, &ns) ||
        !(rest = trace_event_describe(t->file, op))) {
        t->done->left_out++;
        return;
    }
    lanes->in_flight = true;
    begin(t, 'B', thread_of(op->comm, LANES));
    fputs(",\"ts\":", t->out);
    trace_event_us(t->out, ns);
    fprintf(t->out, "%s}", rest);
    free(rest);
}

/* A metadata event that names a process or a thread; the name follows. */
static void begin_name(struct trace *t, const char *what, uint64_t tid)
{
    begin(t, 'M', tid);
    fprintf(t->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
}

/* "dp 0x8a07aed05ae9a0 rank 3 of 8", with what it is of the communicator. */
static void name_thread(struct trace *t, uint32_t comm, unsigned lane,
                        const char *what)
{
    const struct jpr_comm *c = jpr_comm(t->file->reader, comm);
    const struct recfile_comm *told = recfile_comm(t->file, comm);
    char text[2 * INSPECTOR_MAX_NAME];

    if (!c || !told)
        return;
    snprintf(text, sizeof(text), "%s%s%s rank %" PRId64 " of %" PRId64 "%s",
             told->name, told->name[0] ? " " : "", told->id, c->rank,
             c->n_ranks, what);
    begin_name(t, "thread_name", thread_of(comm, lane));
    jsontext_put(t->out, text);
    fputs("}}", t->out);
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
    int64_t rank = recfile_rank(t->file);
    char text[INSPECTOR_MAX_HOST + 64];

    if (rank >= 0)
        snprintf(text, sizeof(text), "rank %" PRId64 " %s pid %" PRId64, rank,
                 t->file->host, t->file->pid);
    else
        snprintf(text, sizeof(text), "%s pid %" PRId64, t->file->host,
                 t->file->pid);
    begin_name(t, "process_name", 0);
    jsontext_put(t->out, text);
    fputs("}}", t->out);
    begin(t, 'M', 0);
    fprintf(t->out,
            ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%" PRId64
            "}}",
            rank < 0 ? (int64_t) t->pid : rank);
}

/* A task's number once; who comes later under the same gets one of its own. */
static void pick_pid(struct trace *t, uint64_t index)
{
    int64_t task = t->file->procid;
    size_t n = t->n_taken;
    bool *more;

    t->pid = FREE_PIDS + index;
    if (task < 0 || task >= FREE_PIDS)
        return;
    if ((size_t) task >= n) {
        while (n <= (size_t) task)
            n = n ? 2 * n : 64;
        more = realloc(t->taken, n);
        if (!more)
            return;
        memset(more + t->n_taken, 0, n - t->n_taken);
        t->taken = more;
        t->n_taken = n;
    }
    if (!t->taken[task])
        t->pid = (uint64_t) task;
    t->taken[task] = true;
}

static void write_process(struct trace *t, struct jp_recwalk *walk)
{
    struct jp_pending pending = {0};
    struct jpr_record record;
    bool begun = false;

    t->n_comms = 0;
    while (!ferror(t->out) && recwalk_record(walk, &record)) {
        if (!begun)
            pick_pid(t, walk->files);
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
    free(t.taken);
    free(t.comms);
    return rc;
}
