/* drive_scenes.c - what drive does: how applications call NCCL, and how they
 * end. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contrib/fakecuda/drive_rank.h"

enum { SOME = 16384 }; /* elements of an operation whose size does not matter */

static struct drive_comm create_world(struct drive *d)
{
    return drive_comm_create(d, "world", drive_text(d, "name", "world"),
                             d->rank, d->ranks);
}

static void repeat(struct drive_comm *comm, const char *func, size_t count,
                   long n)
{
    while (n-- > 0)
        drive_op(comm, func, count, 0);
}

static void coll(struct drive *d)
{
    static const char *const funcs[] = {"AllReduce", "AllGather",
                                        "ReduceScatter", "Broadcast", "Reduce"};
    static const size_t counts[] = {256, 65536, 1048576};
    struct drive_comm c = create_world(d);
    long n = drive_arg(d, "n", 4);
    size_t i, k;
    long j;

    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (k = 0; k < sizeof(funcs) / sizeof(funcs[0]); k++) {
            size_t parts = k == 1 || k == 2 ? (size_t) d->ranks : 1;

            for (j = 0; j < n; j++)
                drive_op(&c, funcs[k], counts[i] / parts, (int) (j % d->ranks));
        }
    }
    if (d->api.nccl.all_to_all)
        repeat(&c, "AlltoAll", 4096, n);
    drive_comm_destroy(&c);
}

/* What happens to one rank at one operation: KIND=RANK KIND_at=NUMBER. */
static bool happens(const struct drive *d, const char *kind, long i, long n)
{
    char at[40];

    snprintf(at, sizeof(at), "%s_at", kind);
    return drive_arg(d, kind, -1) == d->rank && drive_arg(d, at, n / 2) == i;
}

static void disturb(struct drive_comm *c, long i, long n)
{
    struct drive *d = c->d;

    if (drive_arg(d, "late", -1) == d->rank)
        drive_sleep_us(drive_arg(d, "late_us", 1000));
    if (happens(d, "stall", i, n))
        drive_sleep_us(1000 * drive_arg(d, "stall_ms", 1000));
    if (happens(d, "hang", i, n)) {
        drive_flush(c);
        drive_note(d, "hangs");
        drive_sleep_us(1000 * drive_arg(d, "hang_ms", 30000));
        _exit(DRIVE_HUNG);
    }
    if (happens(d, "kill", i, n)) {
        drive_flush(c);
        drive_note(d, "kills itself");
        drive_sleep_us(drive_arg(d, "kill_after_us", 0));
        raise(SIGKILL);
    }
}

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

static double cpu_us(const struct rusage *use)
{
    return (double) (use->ru_utime.tv_sec + use->ru_stime.tv_sec) * 1e6 +
           (double) (use->ru_utime.tv_usec + use->ru_stime.tv_usec);
}

/* What a call costs the program: its time on the host, and the CPU time of the
 * process for each operation. The queue is kept short. */
static void measure(struct drive_comm *c, const char *func, size_t count,
                    long n)
{
    enum { WARM = 200, QUEUE = 16 };
    uint64_t *took = calloc((size_t) n, sizeof(*took));
    struct rusage before, after;
    long i;

    if (!took)
        abort();
    c->is_quiet = true;
    for (i = 0; i < WARM; i++) {
        drive_op(c, func, count, 0);
        if (i % QUEUE == 0)
            drive_wait(c);
    }
    getrusage(RUSAGE_SELF, &before);
    for (i = 0; i < n; i++) {
        uint64_t begin_ns = drive_now_ns();

        drive_op(c, func, count, 0);
        took[i] = drive_now_ns() - begin_ns;
        if (i % QUEUE == 0)
            drive_wait(c);
    }
    drive_wait(c);
    getrusage(RUSAGE_SELF, &after);
    qsort(took, (size_t) n, sizeof(*took), compare_ns);
    printf("rank %d: %s: call median %.3f us, 10 %% %.3f, 90 %% %.3f; CPU "
           "%.2f us an operation\n",
           c->d->rank, func, (double) took[n / 2] / 1e3,
           (double) took[n / 10] / 1e3, (double) took[n * 9 / 10] / 1e3,
           (cpu_us(&after) - cpu_us(&before)) / (double) n);
    free(took);
}

static void one(struct drive *d)
{
    const char *func = drive_text(d, "func", "AllReduce");
    size_t count = (size_t) drive_arg(d, "count", 65536);
    long n = drive_arg(d, "n", 100), sync = drive_arg(d, "sync", 1);
    struct drive_comm c;
    uint64_t begin_ns;
    long i;

    drive_sleep_us(drive_arg(d, "before_us", 0));
    c = create_world(d);
    if (drive_arg(d, "cost", 0)) {
        begin_ns = drive_now_ns();
        drive_op(&c, func, count, 0);
        drive_flush(&c);
        printf("rank %d: first operation %.1f ms\n", d->rank,
               (double) (drive_now_ns() - begin_ns) / 1e6);
        measure(&c, func, count, n);
        drive_comm_destroy(&c);
        return;
    }
    for (i = 0; i < n; i++) {
        drive_sleep_us(drive_arg(d, "gap_us", 0));
        disturb(&c, i, n);
        drive_op(&c, func, count, 0);
        if (sync && (i + 1) % sync == 0)
            drive_flush(&c);
    }
    drive_comm_destroy(&c);
}

static void grouped(struct drive *d)
{
    struct drive_comm c = create_world(d);
    long n = drive_arg(d, "n", 10), i;
    int k;

    for (i = 0; i < n; i++) {
        drive_group_start(&c);
        for (k = 0; k < 4; k++)
            drive_op(&c, "AllReduce", (size_t) 1024 << (2 * k), 0);
        drive_group_end(&c);
        drive_group_start(&c);
        drive_op(&c, "AllGather", 4096, 0);
        drive_op(&c, "ReduceScatter", 8192, 0);
        drive_group_end(&c);
        drive_flush(&c);
    }
    /* Broadcasts of several roots */
    for (i = 0; i < n && drive_arg(d, "bcast", 0); i++) {
        drive_group_start(&c);
        for (k = 0; k < d->ranks; k++)
            drive_op(&c, "Broadcast", 4096, k);
        drive_group_end(&c);
    }
    drive_flush(&c);
    repeat(&c, "AllReduce", SOME, drive_arg(d, "after", 0));
    drive_comm_destroy(&c);
}

/* Sends to `to` and receives from `from` at once. */
static void exchange(struct drive_comm *c, size_t count, int to, int from)
{
    drive_group_start(c);
    drive_op(c, "Send", count, to);
    drive_op(c, "Recv", count, from);
    drive_group_end(c);
}

static void p2p(struct drive *d)
{
    static const size_t counts[] = {16, 65536, 1048576};
    struct drive_comm c = create_world(d);
    long n = drive_arg(d, "n", 4), i;
    int me = d->rank, all = d->ranks, r;
    size_t k;

    for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        for (i = 0; i < n; i++) {
            exchange(&c, counts[k], (me + 1) % all, (me + all - 1) % all);
            if ((me ^ 1) < all)
                exchange(&c, counts[k], me ^ 1, me ^ 1);
            /* a pipeline */
            if (me > 0)
                drive_op(&c, "Recv", counts[k], me - 1);
            if (me < all - 1)
                drive_op(&c, "Send", counts[k], me + 1);
            drive_flush(&c);
        }
    }
    for (i = 0; i < n && drive_arg(d, "self", 1); i++) {
        drive_group_start(&c); /* all to all, oneself included */
        for (r = 0; r < all; r++) {
            drive_op(&c, "Send", 4096, r);
            drive_op(&c, "Recv", 4096, r);
        }
        drive_group_end(&c);
    }
    drive_comm_destroy(&c);
}

/* More goes one way than the other, so the two connections on which NCCL
 * watches kernels are not equally far. */
static void uneven(struct drive *d)
{
    struct drive_comm c = create_world(d);
    long n = drive_arg(d, "n", 40), i;
    int peer = d->rank ^ 1, k;

    for (i = 0; i < n; i++) {
        for (k = 0; k < 3; k++)
            drive_op(&c, d->rank & 1 ? "Recv" : "Send", SOME, peer);
        drive_op(&c, d->rank & 1 ? "Send" : "Recv", SOME, peer);
        repeat(&c, "AllReduce", SOME, 1);
        if (i % 8 == 7)
            drive_flush(&c);
    }
    drive_comm_destroy(&c);
}

static void split(struct drive *d)
{
    struct drive_comm w = create_world(d);
    int half = d->ranks / 2, r = d->rank;
    struct drive_comm tp = drive_comm_split(&w, r / 2, r, "tp", r % 2, 2);
    struct drive_comm dp = drive_comm_split(&w, r % 2, r, "dp", r / 2, half);
    struct drive_comm alone =
        drive_comm_split(&w, r == 0 ? 0 : GPU_NCCL_NO_COLOR, 0, "alone", 0, 1);
    long i;

    for (i = 0; i < drive_arg(d, "n", 10); i++) {
        drive_op(&tp, "AllReduce", 32768, 0);
        drive_op(&tp, "AllGather", 32768, 0);
        drive_flush(&tp);
        if (half > 1)
            drive_op(&dp, "AllReduce", 262144, 0);
        drive_flush(&dp);
        if (alone.nccl)
            drive_op(&alone, "AllReduce", 1024, 0);
        drive_flush(&alone);
    }
    drive_op(&w, "AllReduce", 1, 0);
    drive_comm_destroy(&tp);
    drive_comm_destroy(&dp);
    drive_comm_destroy(&alone);
    drive_comm_destroy(&w);
}

/* Communicators with streams of their own, all at once. */
static void many(struct drive *d)
{
    enum { MOST = 8 };
    struct drive_comm comms[MOST];
    long m = drive_arg(d, "m", 3), i, k;
    char name[16];

    m = m < MOST ? m : MOST;
    for (k = 0; k < m; k++) {
        snprintf(name, sizeof(name), "comm%ld", k);
        comms[k] = drive_comm_create(d, name, name, d->rank, d->ranks);
    }
    for (i = 0; i < drive_arg(d, "n", 20); i++) {
        for (k = 0; k < m; k++)
            drive_op(&comms[k], "AllReduce", 65536, 0);
    }
    for (k = 0; k < m; k++)
        drive_flush(&comms[k]);
    for (k = 0; k < m; k++)
        drive_comm_destroy(&comms[k]);
}

struct thread {
    struct drive *d;
    int number;
};

static void *run_thread(void *arg)
{
    const struct thread *t = arg;
    struct drive *d = t->d;
    struct drive_comm c;
    char name[16];
    long i;

    d->api.cuda.set_device(d->rank);
    snprintf(name, sizeof(name), "thread%d", t->number);
    c = drive_comm_create(d, name, name, d->rank, d->ranks);
    for (i = 0; i < drive_arg(d, "n", 60); i++) {
        drive_op(&c, "AllReduce", SOME, 0);
        if (i % 10 == 9)
            drive_flush(&c);
    }
    drive_comm_destroy(&c);
    return NULL;
}

static void threads(struct drive *d)
{
    enum { N = 2 };
    struct thread t[N];
    pthread_t ids[N];
    int k;

    for (k = 0; k < N; k++) {
        t[k] = (struct thread){d, k};
        if (pthread_create(&ids[k], NULL, run_thread, &t[k]) != 0)
            abort();
    }
    for (k = 0; k < N; k++)
        pthread_join(ids[k], NULL);
}

/* Rank 0 enters an operation to which the others never come, and aborts. */
static void stop_abort(struct drive *d)
{
    enum { ALONE_US = 300000 };
    struct drive_comm c = create_world(d);

    repeat(&c, "AllReduce", SOME, drive_arg(d, "n", 20));
    drive_flush(&c);
    if (d->rank == 0)
        drive_op(&c, "AllReduce", SOME, 0);
    drive_sleep_us(ALONE_US + 100000 * d->rank);
    drive_note(d, "aborts");
    drive_give_up(&c);
    drive_must(d, d->api.nccl.abort(c.nccl), "ncclCommAbort");
    drive_note(d, "aborted");
}

/* Returns from main without destroying the communicator. */
static void no_final(struct drive *d)
{
    struct drive_comm c = create_world(d);

    repeat(&c, "AllReduce", SOME, drive_arg(d, "n", 20));
    drive_flush(&c);
}

static void nonblocking(struct drive *d)
{
    struct drive_comm c = drive_comm_create_async(d, "world", "world");
    long i;

    for (i = 0; i < drive_arg(d, "n", 20); i++) {
        drive_op(&c, "AllReduce", SOME, 0);
        drive_comm_settle(&c);
    }
    drive_comm_destroy(&c);
}

/* Communicators of one rank. */
static void single(struct drive *d)
{
    struct drive_comm c;
    char where[24];
    long i;

    snprintf(where, sizeof(where), "only%d", d->rank);
    c = drive_comm_create(d, where, "single", 0, 1);
    for (i = 0; i < drive_arg(d, "n", 20); i++) {
        drive_op(&c, "AllReduce", SOME, 0);
        drive_op(&c, "AllGather", SOME, 0);
        exchange(&c, 1024, 0, 0);
    }
    drive_comm_destroy(&c);
}

/* Eager operations, then replays of a graph, then (after=) eager ones again. */
static void graph(struct drive *d)
{
    const struct gpu_cuda *cuda = &d->api.cuda;
    struct drive_comm c = create_world(d);
    long replays = drive_arg(d, "replays", 10), in = drive_arg(d, "in", 4);
    void *captured = NULL, *exec = NULL;
    long i, k;

    repeat(&c, "AllReduce", SOME, drive_arg(d, "eager", 10));
    drive_flush(&c);
    c.is_quiet = true;
    cuda->begin_capture(c.stream, GPU_CUDA_CAPTURE_RELAXED);
    repeat(&c, "AllReduce", 65536, in);
    cuda->end_capture(c.stream, &captured);
    c.is_quiet = false;
    if (cuda->graph_instantiate(&exec, captured, 0) != 0)
        abort();
    drive_note(d, "captured");
    for (i = 0; i < replays; i++) {
        unsigned long long begin_ns = drive_now_ns();

        cuda->graph_launch(exec, c.stream);
        drive_wait(&c);
        for (k = 0; k < in; k++)
            fprintf(d->truth, "%s,%d,%d,AllReduce,65536,0,0,%llu,%llu,%llu\n",
                    c.name, c.rank, c.n, begin_ns, begin_ns,
                    (unsigned long long) drive_now_ns());
    }
    repeat(&c, "AllReduce", SOME, drive_arg(d, "after", 0));
    drive_flush(&c);
    cuda->graph_exec_destroy(exec);
    cuda->graph_destroy(captured);
    drive_comm_destroy(&c);
}

/* One process has all ranks: ncclCommInitAll(). */
static void all_in_one(struct drive *d)
{
    enum { MOST = 8 };
    const struct gpu_nccl *nccl = &d->api.nccl;
    struct drive_comm comms[MOST];
    void *handles[MOST] = {NULL};
    int n = d->ranks < MOST ? d->ranks : MOST, r;
    long i;

    drive_must(d, nccl->init_all(handles, n, NULL), "ncclCommInitAll");
    for (r = 0; r < n; r++) {
        d->api.cuda.set_device(r);
        comms[r] = drive_comm_take(d, handles[r], "", r, n); /* no name */
    }
    for (i = 0; i < drive_arg(d, "n", 20); i++) {
        drive_must(d, nccl->group_start(), "ncclGroupStart");
        for (r = 0; r < n; r++) {
            comms[r].in_group = true;
            comms[r].group = comms[r].n_calls;
            drive_op(&comms[r], "AllReduce", 65536, 0);
        }
        drive_must(d, nccl->group_end(), "ncclGroupEnd");
        for (r = 0; r < n; r++)
            drive_group_mark(&comms[r]);
        for (r = 0; r < n; r++)
            drive_flush(&comms[r]);
    }
    drive_must(d, nccl->group_start(), "ncclGroupStart");
    for (r = 0; r < n; r++)
        drive_must(d, nccl->finalize(handles[r]), "ncclCommFinalize");
    drive_must(d, nccl->group_end(), "ncclGroupEnd");
    for (r = 0; r < n; r++)
        drive_must(d, nccl->destroy(handles[r]), "ncclCommDestroy");
}

/* Communicators come and go. */
static void churn(struct drive *d)
{
    char name[32];
    long k;

    for (k = 0; k < drive_arg(d, "m", 5); k++) {
        struct drive_comm c;

        snprintf(name, sizeof(name), "churn%ld", k);
        c = drive_comm_create(d, name, name, d->rank, d->ranks);
        repeat(&c, "AllReduce", 1024, drive_arg(d, "n", 5));
        drive_comm_destroy(&c);
    }
}

/* Children of a process that has communicators, as data loaders are: one runs
 * the handlers of exit(), the next one does not. */
static void fork_child(struct drive *d)
{
    enum { EACH = 20, CHILD_US = 100000 };
    struct drive_comm c = create_world(d);
    long i;

    for (i = 0; i < drive_arg(d, "n", 60); i++) {
        pid_t pid;

        drive_op(&c, "AllReduce", SOME, 0);
        drive_flush(&c);
        if (i % EACH != EACH / 2)
            continue;
        pid = fork();
        if (pid == 0) {
            drive_sleep_us(CHILD_US);
            if (i / EACH % 2 == 0)
                exit(0);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    drive_comm_destroy(&c);
}

static void shrink(struct drive *d)
{
    struct drive_comm c, smaller;

    if (!d->api.nccl.shrink)
        exit(DRIVE_SKIPPED);
    c = create_world(d);
    repeat(&c, "AllReduce", SOME, 20);
    drive_flush(&c);
    if (d->rank < d->ranks - 1) {
        smaller = drive_comm_shrink(&c, "smaller");
        repeat(&smaller, "AllReduce", SOME, 20);
        drive_comm_destroy(&smaller);
    }
    drive_must(d, d->api.nccl.destroy(c.nccl), "ncclCommDestroy");
}

static void *abort_later(void *arg)
{
    struct drive_comm *c = arg;

    drive_sleep_us(1000 * drive_arg(c->d, "abort_ms", 400));
    drive_note(c->d, "aborts");
    drive_must(c->d, c->d->api.nccl.abort(c->nccl), "ncclCommAbort");
    drive_note(c->d, "aborted");
    return NULL;
}

/* A collective hangs; another thread aborts it, and the program goes on or, as
 * PyTorch's watchdog does, dies (die=1). */
static void watchdog(struct drive *d)
{
    struct drive_comm c = create_world(d), again;
    pthread_t thread;

    repeat(&c, "AllReduce", SOME, 20);
    drive_flush(&c);
    if (pthread_create(&thread, NULL, abort_later, &c) != 0)
        abort();
    if (d->rank != 0) {
        drive_op(&c, "AllReduce", SOME, 0);
        drive_give_up(&c);
        drive_wait(&c);
    }
    pthread_join(thread, NULL);
    if (drive_arg(d, "die", 0))
        abort();
    again = drive_comm_create(d, "again", "again", d->rank, d->ranks);
    repeat(&again, "AllReduce", SOME, 20);
    drive_comm_destroy(&again);
}

/* A step of training: tensor-parallel collectives layer by layer, Sends and
 * Recvs between pipeline stages, an AllReduce over the replicas at its end. */
static void train(struct drive *d)
{
    int tps = (int) drive_arg(d, "tp", 2), pps = (int) drive_arg(d, "pp", 1);
    int dps = d->ranks / tps / pps;
    /* rank = (stage * replicas + replica) * tps + tensor */
    int t = d->rank % tps, r = d->rank / tps % dps, p = d->rank / tps / dps;
    struct drive_comm w = create_world(d);
    struct drive_comm tp =
        drive_comm_split(&w, d->rank / tps, d->rank, "tp", t, tps);
    struct drive_comm dp =
        drive_comm_split(&w, p * tps + t, d->rank, "dp", r, dps);
    struct drive_comm pp =
        drive_comm_split(&w, r * tps + t, d->rank, "pp", p, pps);
    long n = drive_arg(d, "n", 20), i, k;

    for (i = 0; i < n; i++) {
        if (p > 0) {
            drive_op(&pp, "Recv", 65536, p - 1);
            drive_flush(&pp);
        }
        for (k = 0; k < drive_arg(d, "layers", 4); k++) {
            drive_sleep_us(drive_arg(d, "gap_us", 1000)); /* computes */
            if (k == 0)
                disturb(&tp, i, n);
            drive_op(&tp, k % 2 ? "AllGather" : "AllReduce", 65536, 0);
            drive_flush(&tp);
        }
        if (p < pps - 1) {
            drive_op(&pp, "Send", 65536, p + 1);
            drive_flush(&pp);
        }
        repeat(&dp, "Broadcast", 4096, dps > 1 ? drive_arg(d, "bcast", 0) : 0);
        if (dps > 1)
            drive_op(&dp, "AllReduce", 262144, 0);
        drive_flush(&dp);
    }
    drive_comm_destroy(&tp);
    drive_comm_destroy(&dp);
    drive_comm_destroy(&pp);
    drive_comm_destroy(&w);
}

const struct drive_scene drive_scenes[] = {
    {"coll", "five collectives of three sizes, AlltoAll: n=", coll, false},
    {"one",
     "one function: func= count= n= sync= gap_us= before_us= cost=1 late=RANK "
     "late_us= stall=RANK stall_at= stall_ms= hang=RANK hang_at= hang_ms= "
     "kill=RANK kill_at=",
     one, false},
    {"grouped", "collectives in groups: n= bcast=1 after=", grouped, false},
    {"p2p", "Sends and Recvs, in rings, pairs and a pipeline: n= self=0", p2p,
     false},
    {"uneven", "three Sends for a Recv: n=", uneven, false},
    {"split", "communicators split from one: n= share=1", split, false},
    {"many", "communicators at once: m= n=", many, false},
    {"threads", "a communicator a thread: n=", threads, false},
    {"abort", "an operation that one rank enters, and ncclCommAbort",
     stop_abort, false},
    {"nofinal", "no ncclCommDestroy", no_final, false},
    {"nonblocking", "a communicator that does not block", nonblocking, false},
    {"single", "communicators of one rank", single, false},
    {"graph", "replays of a graph: eager= in= replays= after=", graph, false},
    {"all_in_one", "one process with all ranks", all_in_one, true},
    {"churn", "communicators that come and go: m= n=", churn, false},
    {"forkchild", "children of a process with communicators", fork_child,
     false},
    {"shrink", "a communicator without its last rank", shrink, false},
    {"watchdog", "a hung collective, aborted by a thread: die=1", watchdog,
     false},
    {"train", "steps of training: tp= pp= n= layers= gap_us= bcast= late=...",
     train, false},
    {NULL, NULL, NULL, false},
};
