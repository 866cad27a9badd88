/* fake_streams.c - streams, events, graphs, and the launch of kernels.
 *
 * A stream is a queue of tasks and, from its first task that has to wait on, a
 * thread that runs them in order. A capture takes the tasks instead; a launch
 * of the graph queues copies of them. An event knows the number of the capture
 * in which it was recorded, not the capture: it may outlive it. One lock serves
 * all; tasks run without it. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/fakecuda/fakecuda.h"

/* NVIDIA's headers declare them; there are none here */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { SMALL = 65536, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 3 };
enum { RECORD_EXTERNAL = 1 };          /* cudaEventRecordExternal */
enum { NOT_CAPTURING = 0, CAPTURING }; /* cudaStreamCaptureStatus */
enum { COMPLETION_EVENT = 12 };        /* CU_LAUNCH_ATTRIBUTE_... */

struct event {
    int refs;
    uint64_t recorded, completed; /* generations */
    uint64_t at_ns;               /* of the last completion */
    unsigned long long capture;   /* 0: not recorded in one */
};

struct task {
    struct task *next;
    void (*run)(struct task *task);
    struct event *event; /* a reference, or NULL */
    uint64_t generation; /* of the event; 0: the next one when it runs */
    void (*function)(void *data);
    void *data;
    char *to;
    const char *from;
    int value;
    size_t bytes, n_args; /* args follows the task */
    _Alignas(16) char args[];
};

struct tasks {
    struct task *first, **last;
};

struct object {
    struct object *next;
    int refs;
    void (*destroy)(void *data);
    void *data;
};

/* A capture, and the graph that it becomes. */
struct graph {
    unsigned long long id;
    int refs;
    struct tasks tasks;
    struct object *objects; /* destroyed with it */
};

struct stream {
    struct stream *next; /* of all streams */
    unsigned long long id;
    int device;
    bool is_started, is_ending;
    struct tasks queue;
    uint64_t pushed, finished;
    pthread_cond_t some; /* the queue is not empty, or is_ending */
    struct graph *capture;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* a task ended */
static struct stream *streams;
static unsigned long long last_id;

/* ------------------------------------------------------------------ tasks */

static struct task *new_task(void (*run)(struct task *), size_t n_args)
{
    struct task *task = malloc(sizeof(*task) + n_args);

    if (!task)
        abort();
    *task = (struct task){.run = run, .n_args = n_args};
    return task;
}

static void append(struct tasks *tasks, struct task *task)
{
    task->next = NULL;
    *tasks->last = task;
    tasks->last = &task->next;
}

/* With the lock. */
static void unref_event(struct event *event)
{
    if (event && --event->refs == 0)
        free(event);
}

static void free_task(struct task *task)
{
    pthread_mutex_lock(&lock);
    unref_event(task->event);
    pthread_mutex_unlock(&lock);
    free(task);
}

static struct task *copy_task(const struct task *task)
{
    struct task *copy = new_task(task->run, task->n_args);

    memcpy(copy, task, sizeof(*task) + task->n_args);
    if (copy->event) {
        pthread_mutex_lock(&lock);
        copy->event->refs++;
        pthread_mutex_unlock(&lock);
    }
    return copy;
}

static void run_copy(struct task *task)
{
    memmove(task->to, task->from ? task->from : task->args, task->bytes);
}

static void run_fill(struct task *task)
{
    fake_memory_fill(task->to, task->value, task->bytes);
}

static void run_host(struct task *task)
{
    task->function(task->data);
}

static void run_kernel(struct task *task)
{
    fake_kernel(task->args);
}

static void run_record(struct task *task)
{
    struct event *event = task->event;
    uint64_t generation = task->generation;

    pthread_mutex_lock(&lock);
    if (!generation)
        generation = ++event->recorded;
    if (generation > event->completed)
        event->completed = generation;
    event->at_ns = fake_now_ns();
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void run_wait(struct task *task)
{
    pthread_mutex_lock(&lock);
    while (task->event->completed < task->generation)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* ---------------------------------------------------------------- streams */

/* Runs a stream's tasks until the stream is destroyed and nothing is left. */
static void *serve(void *arg)
{
    struct stream *s = arg;

    fake_device_set(s->device);
    pthread_mutex_lock(&lock);
    for (;;) {
        struct task *task = s->queue.first;

        if (!task && s->is_ending)
            break;
        if (!task) {
            pthread_cond_wait(&s->some, &lock);
            continue;
        }
        s->queue.first = task->next;
        if (!task->next)
            s->queue.last = &s->queue.first;
        pthread_mutex_unlock(&lock);
        task->run(task);
        free_task(task);
        pthread_mutex_lock(&lock);
        s->finished++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&s->some);
    free(s);
    return NULL;
}

/* With the lock. */
static void start_thread(struct stream *s)
{
    pthread_t thread;

    if (s->is_started)
        return;
    if (pthread_create(&thread, NULL, serve, s) != 0)
        abort();
    pthread_detach(thread);
    s->is_started = true;
}

/* Takes a task over. at_once: may run in the calling thread where nothing is
 * before it. */
static void push(struct stream *s, struct task *task, bool at_once)
{
    pthread_mutex_lock(&lock);
    if (s->capture) {
        append(&s->capture->tasks, task);
    } else if (at_once && s->pushed == s->finished) {
        pthread_mutex_unlock(&lock);
        task->run(task);
        free_task(task);
        return;
    } else {
        start_thread(s);
        append(&s->queue, task);
        s->pushed++;
        pthread_cond_signal(&s->some);
    }
    pthread_mutex_unlock(&lock);
}

static void wait_stream(struct stream *s)
{
    uint64_t until;

    pthread_mutex_lock(&lock);
    until = s->pushed;
    while (s->finished < until)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* With the lock. */
static struct stream *add_stream(void)
{
    struct stream *s = calloc(1, sizeof(*s));

    if (!s)
        abort();
    s->id = ++last_id;
    s->device = fake_device();
    s->queue.last = &s->queue.first;
    pthread_cond_init(&s->some, NULL);
    s->next = streams;
    streams = s;
    return s;
}

/* The stream of a handle: NULL, 1 and 2 are the device's default stream. */
static struct stream *real(struct stream *s)
{
    enum { N_NAMED = 3, DEVICES = 16 };
    static struct stream *defaults[DEVICES];
    struct stream **own = &defaults[fake_device() % DEVICES];

    if ((uintptr_t) s >= N_NAMED)
        return s;
    pthread_mutex_lock(&lock);
    if (!*own)
        *own = add_stream();
    pthread_mutex_unlock(&lock);
    return *own;
}

FAKECUDA_EXPORT int cudaStreamCreateWithFlags(struct stream **out,
                                              unsigned flags)
{
    (void) flags;
    pthread_mutex_lock(&lock);
    *out = add_stream();
    pthread_mutex_unlock(&lock);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaStreamCreate(struct stream **out)
{
    return cudaStreamCreateWithFlags(out, 0);
}

FAKECUDA_EXPORT int cudaStreamCreateWithPriority(struct stream **out,
                                                 unsigned flags, int priority)
{
    (void) priority;
    return cudaStreamCreateWithFlags(out, flags);
}

/* As in CUDA, what is queued still runs, and the call does not wait for it.
 * NCCL destroys streams that have joined a capture. */
FAKECUDA_EXPORT int cudaStreamDestroy(struct stream *s)
{
    struct stream **at = &streams;

    if (!s)
        return FAKE_OK;
    pthread_mutex_lock(&lock);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->capture = NULL;
    s->is_ending = true;
    pthread_cond_signal(&s->some);
    if (!s->is_started) {
        pthread_cond_destroy(&s->some);
        free(s);
    }
    pthread_mutex_unlock(&lock);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaStreamSynchronize(struct stream *s)
{
    wait_stream(real(s));
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaStreamQuery(struct stream *s)
{
    struct stream *q = real(s);
    bool is_idle;

    pthread_mutex_lock(&lock);
    is_idle = q->pushed == q->finished;
    pthread_mutex_unlock(&lock);
    return is_idle ? FAKE_OK : FAKE_NOT_READY;
}

FAKECUDA_EXPORT int cudaStreamGetId(struct stream *s, unsigned long long *id)
{
    *id = real(s)->id;
    return FAKE_OK;
}

/* Waits for the streams that the device has now. */
FAKECUDA_EXPORT int cudaDeviceSynchronize(void)
{
    struct stream *s;

    pthread_mutex_lock(&lock);
again:
    for (s = streams; s; s = s->next) {
        if (s->device == fake_device() && s->pushed != s->finished) {
            pthread_cond_wait(&changed, &lock);
            goto again;
        }
    }
    pthread_mutex_unlock(&lock);
    return FAKE_OK;
}

/* ----------------------------------------------------------- copies, calls */

/* Memory of the host is read before the call returns. */
FAKECUDA_EXPORT int cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                    int kind, struct stream *s)
{
    struct stream *q = real(s);
    bool keep = !q->capture && bytes <= SMALL && kind != DEVICE_TO_DEVICE &&
                kind != DEVICE_TO_HOST;
    struct task *task = new_task(run_copy, keep ? bytes : 0);

    task->to = to;
    task->bytes = bytes;
    if (keep)
        memcpy(task->args, from, bytes);
    else
        task->from = from;
    push(q, task, bytes <= SMALL);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaMemsetAsync(void *at, int value, size_t bytes,
                                    struct stream *s)
{
    struct task *task = new_task(run_fill, 0);

    task->to = at;
    task->value = value;
    task->bytes = bytes;
    push(real(s), task, true);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaMemcpyBatchAsync(void *const *to,
                                         const void *const *from,
                                         const size_t *bytes, size_t n,
                                         void *attributes, size_t *indices,
                                         size_t n_attributes, struct stream *s)
{
    size_t i;

    (void) attributes, (void) indices, (void) n_attributes;
    for (i = 0; i < n; i++)
        cudaMemcpyAsync(to[i], from[i], bytes[i], DEVICE_TO_DEVICE, s);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaLaunchHostFunc(struct stream *s,
                                       void (*function)(void *), void *data)
{
    struct task *task = new_task(run_host, 0);

    task->function = function;
    task->data = data;
    push(real(s), task, false);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaFreeAsync(void *at, struct stream *s)
{
    struct task *task = new_task(run_host, 0);

    task->function = fake_memory_free;
    task->data = at;
    push(real(s), task, true);
    return FAKE_OK;
}

/* ----------------------------------------------------------------- events */

FAKECUDA_EXPORT int cudaEventCreateWithFlags(struct event **out, unsigned flags)
{
    (void) flags;
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return fake_fail(FAKE_NO_MEMORY);
    (*out)->refs = 1;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaEventCreate(struct event **out)
{
    return cudaEventCreateWithFlags(out, 0);
}

FAKECUDA_EXPORT int cudaEventDestroy(struct event *event)
{
    pthread_mutex_lock(&lock);
    unref_event(event);
    pthread_mutex_unlock(&lock);
    return FAKE_OK;
}

/* With the lock. */
static struct task *event_task(void (*run)(struct task *), struct event *event,
                               uint64_t generation)
{
    struct task *task = new_task(run, 0);

    event->refs++;
    task->event = event;
    task->generation = generation;
    return task;
}

FAKECUDA_EXPORT int cudaEventRecordWithFlags(struct event *event,
                                             struct stream *s, unsigned flags)
{
    struct stream *q = real(s);
    struct task *task;

    pthread_mutex_lock(&lock);
    if (q->capture && !(flags & RECORD_EXTERNAL)) {
        event->capture = q->capture->id;
        pthread_mutex_unlock(&lock);
        return FAKE_OK;
    }
    event->capture = 0;
    task = event_task(run_record, event, q->capture ? 0 : ++event->recorded);
    pthread_mutex_unlock(&lock);
    push(q, task, true);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaEventRecord(struct event *event, struct stream *s)
{
    return cudaEventRecordWithFlags(event, s, 0);
}

FAKECUDA_EXPORT int cudaEventQuery(struct event *event)
{
    bool is_complete;

    pthread_mutex_lock(&lock);
    is_complete = event->completed >= event->recorded;
    pthread_mutex_unlock(&lock);
    return is_complete ? FAKE_OK : FAKE_NOT_READY;
}

FAKECUDA_EXPORT int cudaEventSynchronize(struct event *event)
{
    uint64_t generation;

    pthread_mutex_lock(&lock);
    generation = event->recorded;
    while (event->completed < generation)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaEventElapsedTime(float *ms, struct event *from,
                                         struct event *to)
{
    pthread_mutex_lock(&lock);
    *ms = (float) ((double) (int64_t) (to->at_ns - from->at_ns) / 1e6);
    pthread_mutex_unlock(&lock);
    return FAKE_OK;
}

uint64_t fakecuda_event_ns(struct event *event)
{
    uint64_t at_ns;

    pthread_mutex_lock(&lock);
    at_ns = event->at_ns;
    pthread_mutex_unlock(&lock);
    return at_ns;
}

/* Returns the capture of this number that goes on, or NULL. With the lock. */
static struct graph *find_capture(unsigned long long id)
{
    struct stream *s;

    for (s = streams; s; s = s->next) {
        if (s->capture && s->capture->id == id)
            return s->capture;
    }
    return NULL;
}

/* A stream that waits for an event of a capture joins the capture. A wait of a
 * captured stream for what is outside of it is not kept: it is over before the
 * graph is launched. */
FAKECUDA_EXPORT int cudaStreamWaitEvent(struct stream *s, struct event *event,
                                        unsigned flags)
{
    struct stream *q = real(s);
    struct task *task = NULL;

    (void) flags;
    pthread_mutex_lock(&lock);
    if (event->capture) {
        if (!q->capture)
            q->capture = find_capture(event->capture);
    } else if (!q->capture && event->completed < event->recorded) {
        task = event_task(run_wait, event, event->recorded);
    }
    pthread_mutex_unlock(&lock);
    if (task)
        push(q, task, false);
    return FAKE_OK;
}

/* ----------------------------------------------------------------- graphs */

/* cudaHostNodeParams */
struct host_node {
    void (*function)(void *data);
    void *data;
};

FAKECUDA_EXPORT int cudaStreamBeginCapture(struct stream *s, int mode)
{
    struct stream *q = real(s);
    struct graph *graph = calloc(1, sizeof(*graph));

    (void) mode;
    if (!graph)
        return fake_fail(FAKE_NO_MEMORY);
    graph->refs = 1;
    graph->tasks.last = &graph->tasks.first;
    pthread_mutex_lock(&lock);
    graph->id = ++last_id;
    q->capture = graph;
    pthread_mutex_unlock(&lock);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaStreamEndCapture(struct stream *s, struct graph **out)
{
    struct graph *graph = real(s)->capture;
    struct stream *each;

    pthread_mutex_lock(&lock);
    for (each = streams; each; each = each->next) {
        if (each->capture == graph)
            each->capture = NULL;
    }
    pthread_mutex_unlock(&lock);
    *out = graph;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaStreamIsCapturing(struct stream *s, int *status)
{
    *status = real(s)->capture ? CAPTURING : NOT_CAPTURING;
    return FAKE_OK;
}

/* The graph that this names serves to add nodes and objects. */
FAKECUDA_EXPORT int cudaStreamGetCaptureInfo_v2(struct stream *s, int *status,
                                                unsigned long long *id,
                                                struct graph **graph,
                                                const void **nodes, size_t *n)
{
    struct graph *capture = real(s)->capture;

    *status = capture ? CAPTURING : NOT_CAPTURING;
    if (!capture)
        return FAKE_OK;
    if (id)
        *id = capture->id;
    if (graph)
        *graph = capture;
    if (nodes)
        *nodes = NULL;
    if (n)
        *n = 0;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaStreamGetCaptureInfo(struct stream *s, int *status,
                                             unsigned long long *id,
                                             struct graph **graph,
                                             const void **nodes,
                                             const void **edges, size_t *n)
{
    if (edges)
        *edges = NULL;
    return cudaStreamGetCaptureInfo_v2(s, status, id, graph, nodes, n);
}

FAKECUDA_EXPORT int
cudaStreamUpdateCaptureDependencies(struct stream *s, void *nodes,
                                    const void *edges, size_t n, unsigned flags)
{
    (void) s, (void) nodes, (void) edges, (void) n, (void) flags;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    (void) mode;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGraphInstantiateWithFlags(struct graph **out,
                                                  struct graph *graph,
                                                  unsigned long long flags)
{
    (void) flags;
    pthread_mutex_lock(&lock);
    graph->refs++;
    pthread_mutex_unlock(&lock);
    *out = graph;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGraphInstantiate(struct graph **out,
                                         struct graph *graph,
                                         unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(out, graph, flags);
}

FAKECUDA_EXPORT int cudaGraphLaunch(struct graph *exec, struct stream *s)
{
    struct stream *q = real(s);
    struct task *task;

    for (task = exec->tasks.first; task; task = task->next)
        push(q, copy_task(task), false);
    return FAKE_OK;
}

/* The objects of a graph are NCCL's: they call NCCL, so the lock is free. */
FAKECUDA_EXPORT int cudaGraphDestroy(struct graph *graph)
{
    int left;

    pthread_mutex_lock(&lock);
    left = --graph->refs;
    pthread_mutex_unlock(&lock);
    if (left > 0)
        return FAKE_OK;
    while (graph->tasks.first) {
        struct task *task = graph->tasks.first;

        graph->tasks.first = task->next;
        free_task(task);
    }
    while (graph->objects) {
        struct object *object = graph->objects;

        graph->objects = object->next;
        object->destroy(object->data);
        free(object);
    }
    free(graph);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGraphExecDestroy(struct graph *exec)
{
    return cudaGraphDestroy(exec);
}

FAKECUDA_EXPORT int cudaUserObjectCreate(struct object **out, void *data,
                                         void (*destroy)(void *), unsigned refs,
                                         unsigned flags)
{
    (void) refs, (void) flags;
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return fake_fail(FAKE_NO_MEMORY);
    (*out)->destroy = destroy;
    (*out)->data = data;
    return FAKE_OK;
}

/* Takes the object over: NCCL moves its only reference. */
FAKECUDA_EXPORT int cudaGraphRetainUserObject(struct graph *graph,
                                              struct object *object,
                                              unsigned count, unsigned flags)
{
    (void) count, (void) flags;
    object->next = graph->objects;
    graph->objects = object;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGraphAddDependencies(struct graph *graph,
                                             const void *from, const void *to,
                                             const void *edges, size_t n)
{
    (void) graph, (void) from, (void) to, (void) edges, (void) n;
    return FAKE_OK;
}

/* Nodes are tasks in the order in which they were added. */
static int add_node(void **node, struct graph *graph, struct task *task)
{
    pthread_mutex_lock(&lock);
    append(&graph->tasks, task);
    pthread_mutex_unlock(&lock);
    *node = NULL;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGraphAddEventRecordNode(void **node,
                                                struct graph *graph,
                                                const void *nodes, size_t n,
                                                struct event *event)
{
    struct task *task;

    (void) nodes, (void) n;
    pthread_mutex_lock(&lock);
    task = event_task(run_record, event, 0);
    pthread_mutex_unlock(&lock);
    return add_node(node, graph, task);
}

FAKECUDA_EXPORT int cudaGraphAddEventWaitNode(void **node, struct graph *graph,
                                              const void *nodes, size_t n,
                                              struct event *event)
{
    (void) graph, (void) nodes, (void) n, (void) event;
    *node = NULL;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGraphAddHostNode(void **node, struct graph *graph,
                                         const void *nodes, size_t n,
                                         const struct host_node *host)
{
    struct task *task = new_task(run_host, 0);

    (void) nodes, (void) n;
    task->function = host->function;
    task->data = host->data;
    return add_node(node, graph, task);
}

/* ---------------------------------------------------------------- kernels */

struct dim3 {
    unsigned x, y, z;
};

/* cudaLaunchConfig_t */
struct launch_config {
    struct dim3 grid, block;
    size_t shared_bytes;
    struct stream *stream;
    void *attributes;
    unsigned n_attributes;
};

/* CUlaunchAttribute */
struct attribute {
    int id;
    struct event *event;
    char rest[56];
};

/* CUlaunchConfig */
struct cu_launch_config {
    unsigned grid[3], block[3], shared_bytes;
    struct stream *stream;
    const struct attribute *attributes;
    unsigned n_attributes;
};

void fake_launch(struct stream *s, const void *args, size_t bytes)
{
    struct task *task = new_task(run_kernel, FAKE_MAX_ARGS);

    memcpy(task->args, args, bytes < FAKE_MAX_ARGS ? bytes : FAKE_MAX_ARGS);
    push(real(s), task, false);
}

FAKECUDA_EXPORT int cudaLaunchKernel(const void *function, struct dim3 grid,
                                     struct dim3 block, void **args,
                                     size_t shared_bytes, struct stream *s)
{
    (void) function, (void) grid, (void) block, (void) shared_bytes;
    fake_launch(s, args[0], FAKE_MAX_ARGS);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaLaunchKernelExC(const struct launch_config *config,
                                        const void *function, void **args)
{
    (void) function;
    fake_launch(config->stream, args[0], FAKE_MAX_ARGS);
    return FAKE_OK;
}

/* `extra` is a list of names and values that ends with 0: the arguments in one
 * piece. */
FAKECUDA_EXPORT int cuLaunchKernel(void *function, unsigned grid_x,
                                   unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes,
                                   struct stream *s, void **args, void **extra)
{
    enum { BUFFER = 1, SIZE = 2 };
    const void *buffer = args ? args[0] : NULL;
    size_t bytes = FAKE_MAX_ARGS;
    int i;

    (void) function, (void) grid_x, (void) grid_y, (void) grid_z;
    (void) block_x, (void) block_y, (void) block_z, (void) shared_bytes;
    for (i = 0; extra && extra[i]; i += 2) {
        if (extra[i] == (void *) BUFFER)
            buffer = extra[i + 1];
        else if (extra[i] == (void *) SIZE)
            bytes = *(size_t *) extra[i + 1];
    }
    fake_launch(s, buffer, bytes);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cuLaunchKernelEx(const struct cu_launch_config *config,
                                     void *function, void **args, void **extra)
{
    unsigned i;

    for (i = 0; i < config->n_attributes; i++) {
        if (config->attributes[i].id == COMPLETION_EVENT)
            cudaEventRecord(config->attributes[i].event, config->stream);
    }
    return cuLaunchKernel(function, 0, 0, 0, 0, 0, 0, 0, config->stream, args,
                          extra);
}

/* cudaKernelNodeParams */
struct kernel_node {
    void *function;
    struct dim3 grid, block;
    unsigned shared_bytes;
    void **args, **extra;
};

FAKECUDA_EXPORT int cudaGraphAddKernelNode(void **node, struct graph *graph,
                                           const void *nodes, size_t n,
                                           const struct kernel_node *kernel)
{
    struct task *task = new_task(run_kernel, FAKE_MAX_ARGS);

    (void) nodes, (void) n;
    memcpy(task->args, kernel->args[0], FAKE_MAX_ARGS);
    return add_node(node, graph, task);
}
