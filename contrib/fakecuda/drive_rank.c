/* drive_rank.c - communicators and operations of a rank of drive, and the truth
 * about them. */
#include "contrib/fakecuda/drive_rank.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/num.h"

enum { MUCH = 64 << 20, LITTLE = 1 << 20, MANY_CALLS = 4000 };

struct drive_call {
    char line[200];
    void *event; /* NULL: none */
};

const char *drive_text(const struct drive *d, const char *key,
                       const char *otherwise)
{
    size_t n = strlen(key);
    int i;

    for (i = d->n_args - 1; i >= 0; i--) { /* the last one counts */
        if (strncmp(d->args[i], key, n) == 0 && d->args[i][n] == '=')
            return d->args[i] + n + 1;
    }
    return otherwise;
}

long drive_arg(const struct drive *d, const char *key, long otherwise)
{
    const char *text = drive_text(d, key, NULL);
    struct jp_error err = {""};
    int64_t v;

    if (!text)
        return otherwise;
    if (num_parse_i64(text, 0, 1000000000, &v, &err) < 0) {
        fprintf(stderr, "drive: %s: %s\n", key, err.text);
        _exit(DRIVE_USAGE);
    }
    return (long) v;
}

uint64_t drive_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000U + (uint64_t) t.tv_nsec;
}

void drive_sleep_us(long us)
{
    struct timespec t = {.tv_sec = us / 1000000,
                         .tv_nsec = us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

void drive_must(const struct drive *d, int rc, const char *what)
{
    if (rc == 0 || rc == GPU_NCCL_IN_PROGRESS)
        return;
    fprintf(stderr, "drive: rank %d: %s: %s (%s)\n", d->rank, what,
            d->api.nccl.get_error_string(rc),
            d->api.nccl.get_last_error ? d->api.nccl.get_last_error(NULL) : "");
    _exit(DRIVE_NCCL);
}

static void must_cuda(const struct drive *d, int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "drive: rank %d: %s: %d\n", d->rank, what, rc);
    _exit(DRIVE_FAILED);
}

void drive_note(struct drive *d, const char *text)
{
    pthread_mutex_lock(&d->lock);
    fprintf(d->truth, "# %llu %s\n", (unsigned long long) drive_now_ns(), text);
    fflush(d->truth);
    pthread_mutex_unlock(&d->lock);
}

/* ---------------------------------------------------------- communicators */

/* Rank 0 writes the communicator's id, the others wait for it. */
static struct gpu_id share_id(const struct drive *d, const char *where,
                              bool is_root)
{
    enum { RETRY_US = 2000 };
    char path[PATH_MAX], draft[PATH_MAX];
    struct gpu_id id;
    size_t got = 0;
    FILE *f;

    if (snprintf(path, sizeof(path), "%s/%s", d->meet, where) < 0 ||
        snprintf(draft, sizeof(draft), "%s/%s.new", d->meet, where) < 0)
        abort();
    if (is_root) {
        drive_must(d, d->api.nccl.get_unique_id(&id), "ncclGetUniqueId");
        f = fopen(draft, "we");
        if (!f || fwrite(&id, sizeof(id), 1, f) != 1 || fclose(f) != 0 ||
            rename(draft, path) < 0) {
            fprintf(stderr, "drive: %s: %s\n", path, strerror(errno));
            _exit(DRIVE_FAILED);
        }
        return id;
    }
    while (got != 1) {
        f = fopen(path, "re");
        if (f) {
            got = fread(&id, sizeof(id), 1, f);
            fclose(f);
        } else {
            drive_sleep_us(RETRY_US);
        }
    }
    return id;
}

/* The settings of a communicator, as a release of this age knows them. */
static struct gpu_config config(const struct drive *d, const char *name,
                                int blocking)
{
    bool has_name = d->api.version >= GPU_NCCL_NAMED_VERSION;
    struct gpu_config c = {
        .magic = GPU_NCCL_MAGIC,
        .size = has_name ? sizeof(c) : offsetof(struct gpu_config, comm_name),
        .version = has_name ? GPU_NCCL_NAMED_VERSION : GPU_NCCL_SPLIT_VERSION,
        .blocking = blocking,
        .cga_size = INT_MIN,
        .min_ctas = INT_MIN,
        .max_ctas = INT_MIN,
        .split_share = (int) drive_arg(d, "share", 0),
        .traffic_class = INT_MIN,
        .comm_name = name,
        .collnet = INT_MIN,
        .cta_policy = INT_MIN,
        .shrink_share = INT_MIN,
        .nvls_ctas = INT_MIN,
    };

    return c;
}

struct drive_comm drive_comm_take(struct drive *d, void *nccl, const char *name,
                                  int rank, int n)
{
    struct drive_comm comm = {.d = d, .nccl = nccl, .rank = rank, .n = n};

    snprintf(comm.name, sizeof(comm.name), "%s", name);
    if (!nccl)
        return comm;
    must_cuda(d, d->api.cuda.stream_create(&comm.stream, GPU_CUDA_NON_BLOCKING),
              "cudaStreamCreateWithFlags");
    must_cuda(d, d->api.cuda.malloc(&comm.from, MUCH), "cudaMalloc");
    must_cuda(d, d->api.cuda.malloc(&comm.to, MUCH), "cudaMalloc");
    return comm;
}

struct drive_comm drive_comm_create(struct drive *d, const char *where,
                                    const char *name, int rank, int n)
{
    struct gpu_config c = config(d, name, 1);
    struct gpu_id id = share_id(d, where, rank == 0);
    void *nccl = NULL;

    drive_must(d, d->api.nccl.init_rank_config(&nccl, n, id, rank, &c),
               "ncclCommInitRankConfig");
    return drive_comm_take(d, nccl, name, rank, n);
}

struct drive_comm drive_comm_create_async(struct drive *d, const char *where,
                                          const char *name)
{
    struct gpu_config c = config(d, name, 0);
    struct gpu_id id = share_id(d, where, d->rank == 0);
    struct drive_comm comm = {.d = d};

    drive_must(
        d, d->api.nccl.init_rank_config(&comm.nccl, d->ranks, id, d->rank, &c),
        "ncclCommInitRankConfig");
    drive_comm_settle(&comm);
    comm = drive_comm_take(d, comm.nccl, name, d->rank, d->ranks);
    comm.is_async = true;
    return comm;
}

struct drive_comm drive_comm_split(const struct drive_comm *comm, int color,
                                   int key, const char *name, int rank, int n)
{
    struct drive *d = comm->d;
    struct gpu_config c = config(d, name, 1);
    void *nccl = NULL;

    drive_must(d, d->api.nccl.split(comm->nccl, color, key, &nccl, &c),
               "ncclCommSplit");
    return drive_comm_take(d, nccl, name, rank, n);
}

struct drive_comm drive_comm_shrink(const struct drive_comm *comm,
                                    const char *name)
{
    struct drive *d = comm->d;
    struct gpu_config c = config(d, name, 1);
    int leaving = comm->n - 1;
    void *nccl = NULL;

    drive_must(d, d->api.nccl.shrink(comm->nccl, &leaving, 1, &nccl, &c, 0),
               "ncclCommShrink");
    return drive_comm_take(d, nccl, name, comm->rank, comm->n - 1);
}

void drive_comm_settle(struct drive_comm *comm)
{
    enum { RETRY_US = 200 };
    int state = GPU_NCCL_IN_PROGRESS;

    while (state == GPU_NCCL_IN_PROGRESS) {
        drive_must(comm->d,
                   comm->d->api.nccl.get_async_error(comm->nccl, &state),
                   "ncclCommGetAsyncError");
        if (state == GPU_NCCL_IN_PROGRESS)
            drive_sleep_us(RETRY_US);
    }
}

void drive_comm_destroy(struct drive_comm *comm)
{
    const struct gpu_nccl *nccl = &comm->d->api.nccl;

    if (!comm->nccl)
        return;
    drive_flush(comm);
    drive_must(comm->d, nccl->finalize(comm->nccl), "ncclCommFinalize");
    drive_comm_settle(comm);
    drive_must(comm->d, nccl->destroy(comm->nccl), "ncclCommDestroy");
    free(comm->calls);
    comm->calls = NULL;
}

/* ------------------------------------------------------------- operations */

static int call_all_reduce(struct drive_comm *c, size_t n, int peer)
{
    (void) peer;
    return c->d->api.nccl.all_reduce(c->from, c->to, n, GPU_NCCL_FLOAT,
                                     GPU_NCCL_SUM, c->nccl, c->stream);
}

static int call_all_gather(struct drive_comm *c, size_t n, int peer)
{
    (void) peer;
    return c->d->api.nccl.all_gather(c->from, c->to, n, GPU_NCCL_FLOAT, c->nccl,
                                     c->stream);
}

static int call_reduce_scatter(struct drive_comm *c, size_t n, int peer)
{
    (void) peer;
    return c->d->api.nccl.reduce_scatter(c->from, c->to, n, GPU_NCCL_FLOAT,
                                         GPU_NCCL_SUM, c->nccl, c->stream);
}

static int call_broadcast(struct drive_comm *c, size_t n, int peer)
{
    return c->d->api.nccl.broadcast(c->from, c->to, n, GPU_NCCL_FLOAT, peer,
                                    c->nccl, c->stream);
}

static int call_reduce(struct drive_comm *c, size_t n, int peer)
{
    return c->d->api.nccl.reduce(c->from, c->to, n, GPU_NCCL_FLOAT,
                                 GPU_NCCL_SUM, peer, c->nccl, c->stream);
}

static int call_all_to_all(struct drive_comm *c, size_t n, int peer)
{
    (void) peer;
    return c->d->api.nccl.all_to_all(c->from, c->to, n, GPU_NCCL_FLOAT, c->nccl,
                                     c->stream);
}

static int call_send(struct drive_comm *c, size_t n, int peer)
{
    return c->d->api.nccl.send(c->from, n, GPU_NCCL_FLOAT, peer, c->nccl,
                               c->stream);
}

static int call_recv(struct drive_comm *c, size_t n, int peer)
{
    return c->d->api.nccl.recv(c->to, n, GPU_NCCL_FLOAT, peer, c->nccl,
                               c->stream);
}

static const struct {
    const char *name;
    int (*call)(struct drive_comm *comm, size_t count, int peer);
} functions[] = {
    {"AllReduce", call_all_reduce},
    {"AllGather", call_all_gather},
    {"Send", call_send},
    {"ReduceScatter", call_reduce_scatter},
    {"Recv", call_recv},
    {"Broadcast", call_broadcast},
    {"Reduce", call_reduce},
    {"AlltoAll", call_all_to_all},
};

static int call(struct drive_comm *comm, const char *func, size_t n, int peer)
{
    size_t i;

    for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcmp(functions[i].name, func) == 0)
            return functions[i].call(comm, n, peer);
    }
    fprintf(stderr, "drive: no function \"%s\"\n", func);
    _exit(DRIVE_USAGE);
}

/* Puts an event behind an operation. */
static void *mark(struct drive_comm *comm)
{
    const struct gpu_cuda *cuda = &comm->d->api.cuda;
    void *event;

    must_cuda(comm->d, cuda->event_create(&event), "cudaEventCreate");
    must_cuda(comm->d, cuda->event_record(event, comm->stream),
              "cudaEventRecord");
    return event;
}

static struct drive_call *add_call(struct drive_comm *comm)
{
    if (comm->n_calls == comm->room) {
        comm->room = comm->room ? 2 * comm->room : 64;
        comm->calls =
            reallocarray(comm->calls, comm->room, sizeof(*comm->calls));
        if (!comm->calls)
            abort();
    }
    return &comm->calls[comm->n_calls++];
}

void drive_op(struct drive_comm *comm, const char *func, size_t count, int peer)
{
    uint64_t begin_ns = drive_now_ns();
    struct drive_call *c;

    drive_must(comm->d, call(comm, func, count, peer), func);
    if (comm->is_async) /* the kernel is launched by a thread of NCCL */
        drive_comm_settle(comm);
    if (comm->is_quiet)
        return;
    c = add_call(comm);
    snprintf(c->line, sizeof(c->line), "%s,%d,%d,%s,%zu,%d,%d,%llu,%llu",
             comm->name, comm->rank, comm->n, func, count, peer, comm->in_group,
             (unsigned long long) begin_ns,
             (unsigned long long) drive_now_ns());
    c->event = comm->in_group ? NULL : mark(comm);
    if (!comm->in_group && comm->n_calls > MANY_CALLS)
        drive_flush(comm);
}

void drive_group_start(struct drive_comm *comm)
{
    comm->group = comm->n_calls;
    comm->in_group = true;
    drive_must(comm->d, comm->d->api.nccl.group_start(), "ncclGroupStart");
}

void drive_group_end(struct drive_comm *comm)
{
    drive_must(comm->d, comm->d->api.nccl.group_end(), "ncclGroupEnd");
    drive_group_mark(comm);
}

void drive_group_mark(struct drive_comm *comm)
{
    size_t i;

    comm->in_group = false;
    for (i = comm->group; i < comm->n_calls; i++)
        comm->calls[i].event = mark(comm);
}

static void write_calls(struct drive_comm *comm, bool are_complete)
{
    struct drive *d = comm->d;
    size_t i;

    pthread_mutex_lock(&d->lock);
    for (i = 0; i < comm->n_calls; i++) {
        struct drive_call *c = &comm->calls[i];

        fprintf(d->truth, "%s,%llu\n", c->line,
                (unsigned long long) (c->event && are_complete
                                          ? d->event_ns(c->event)
                                          : 0));
        if (c->event && are_complete)
            d->api.cuda.event_destroy(c->event);
    }
    fflush(d->truth);
    pthread_mutex_unlock(&d->lock);
    comm->n_calls = 0;
}

void drive_wait(struct drive_comm *comm)
{
    must_cuda(comm->d, comm->d->api.cuda.stream_sync(comm->stream),
              "cudaStreamSynchronize");
}

void drive_flush(struct drive_comm *comm)
{
    if (!comm->nccl)
        return;
    drive_wait(comm);
    write_calls(comm, true);
}

void drive_give_up(struct drive_comm *comm)
{
    write_calls(comm, false);
}
