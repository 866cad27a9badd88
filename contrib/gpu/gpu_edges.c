/* gpu_edges.c - the edge set: what programs do with communicators now and then.
 *
 * Each function is one pattern: it creates communicators, runs some operations,
 * does the unusual thing, and writes what it has issued before the last
 * communicator is destroyed (gpu_rank_write). */
#include "contrib/gpu/gpu_patterns.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EIGHT = 8, WAIT_S = 60 };

/* Destroys a communicator. */
static int destroy(struct gpu_rank *r, void *comm, struct jp_error *err)
{
    return gpu_nccl_check(&r->api, r->api.nccl.destroy(comm), "ncclCommDestroy",
                          err);
}

/* Up to eight communicators of the same ranks are used in turn. The recorder
 * must keep their operations apart, although they look alike. */
int gpu_edge_eight(struct gpu_rank *r, const struct gpu_size *size,
                   struct jp_error *err)
{
    void *comms[EIGHT];
    int n = size->per_launch < EIGHT ? size->per_launch : EIGHT;
    int i, k;

    /* created before the first operation, so that all exist at the same time */
    for (k = 0; k < n; k++) {
        if (gpu_rank_join(r, &comms[k], err) < 0)
            return -1;
    }
    for (i = 0; i < size->count; i++) {
        for (k = 0; k < n; k++) {
            if (gpu_all_reduces(r, comms[k], size->bytes, 1, err) < 0)
                return -1;
        }
    }
    if (gpu_rank_write(r, err) < 0)
        return -1;
    for (k = 0; k < n; k++) {
        if (destroy(r, comms[k], err) < 0)
            return -1;
    }
    return 0;
}

/* A communicator is split, and both parent and child are used afterwards. The
 * child has the same ranks in reverse order, so a rank's number differs between
 * the two. */
int gpu_edge_split(struct gpu_rank *r, const struct gpu_size *size,
                   struct jp_error *err)
{
    void *all, *part;

    if (gpu_rank_join(r, &all, err) < 0 ||
        gpu_all_reduces(r, all, size->bytes, size->count, err) < 0 ||
        gpu_rank_sync(r, err) < 0 ||
        gpu_nccl_check(
            &r->api,
            /* one colour; the key reverses the order of ranks */
            r->api.nccl.split(all, 0, -r->rank + r->n_ranks, &part, NULL),
            "ncclCommSplit", err) < 0 ||
        gpu_all_reduces(r, part, size->bytes, size->count, err) < 0 ||
        gpu_all_reduces(r, all, size->bytes, size->count, err) < 0 ||
        gpu_rank_write(r, err) < 0)
        return -1;
    return destroy(r, part, err) < 0 ? -1 : destroy(r, all, err);
}

/* The communicator is aborted instead of destroyed: NCCL then ends its threads
 * without waiting for operations. */
int gpu_edge_abort(struct gpu_rank *r, const struct gpu_size *size,
                   struct jp_error *err)
{
    void *comm;

    if (gpu_rank_join(r, &comm, err) < 0 ||
        gpu_all_reduces(r, comm, size->bytes, size->count, err) < 0 ||
        gpu_rank_write(r, err) < 0)
        return -1;
    return gpu_nccl_check(&r->api, r->api.nccl.abort(comm), "ncclCommAbort",
                          err);
}

/* Waits until the communicator's last call has completed. */
static int wait_for(struct gpu_rank *r, void *comm, const char *what,
                    struct jp_error *err)
{
    int64_t until = gpu_now_us() + WAIT_S * 1000000LL;
    int state = GPU_NCCL_IN_PROGRESS;

    while (state == GPU_NCCL_IN_PROGRESS) {
        /* a limit, because a lost peer would leave the state at "in progress"
         * for ever */
        if (gpu_now_us() > until)
            return error_set(err, "%s: still in progress", what);
        if (gpu_nccl_check(&r->api, r->api.nccl.get_async_error(comm, &state),
                           "ncclCommGetAsyncError", err) < 0)
            return -1;
    }
    return gpu_nccl_check(&r->api, state, what, err);
}

/* Checks a call's result; "in progress" is no error. */
static int started(struct gpu_rank *r, int rc, const char *what,
                   struct jp_error *err)
{
    return gpu_nccl_check(&r->api, rc == GPU_NCCL_IN_PROGRESS ? 0 : rc, what,
                          err);
}

/* Runs one AllReduce on a communicator that does not block. */
static int nonblocking_one(struct gpu_rank *r, void *comm, uint64_t bytes,
                           struct jp_error *err)
{
    int rc;

    if (gpu_span_begin(r, "AllReduce", bytes, 1, err) < 0)
        return -1;
    rc = r->api.nccl.all_reduce(r->send, r->recv, bytes / sizeof(float),
                                GPU_NCCL_FLOAT, GPU_NCCL_SUM, comm, r->stream);
    if (started(r, rc, "ncclAllReduce", err) < 0 ||
        wait_for(r, comm, "ncclAllReduce", err) < 0)
        return -1;
    return gpu_span_end(r, err);
}

/* A communicator whose calls return before they are complete. Every call, also
 * the creation, may still be in progress afterwards. */
int gpu_edge_nonblocking(struct gpu_rank *r, const struct gpu_size *size,
                         struct jp_error *err)
{
    struct gpu_config config = {.size = offsetof(struct gpu_config, cga_size),
                                .magic = GPU_NCCL_MAGIC,
                                .version = GPU_NCCL_CONFIG_VERSION};
    const struct gpu_nccl *nccl = &r->api.nccl;
    struct gpu_id id;
    void *comm;
    int i;

    if (gpu_rank_id(r, &id, err) < 0 ||
        started(r,
                nccl->init_rank_config(&comm, r->n_ranks, id, r->rank, &config),
                "ncclCommInitRankConfig", err) < 0 ||
        wait_for(r, comm, "ncclCommInitRankConfig", err) < 0)
        return -1;
    for (i = 0; i < size->count; i++) {
        if (nonblocking_one(r, comm, size->bytes, err) < 0)
            return -1;
    }
    if (gpu_rank_write(r, err) < 0 ||
        /* needed before the destruction of such a communicator */
        started(r, nccl->finalize(comm), "ncclCommFinalize", err) < 0 ||
        wait_for(r, comm, "ncclCommFinalize", err) < 0)
        return -1;
    return destroy(r, comm, err);
}

/* Buffers that NCCL allocated are registered as symmetric windows. NCCL then
 * uses other kernels. Returns GPU_NOT_THERE for an NCCL without windows. */
int gpu_edge_windows(struct gpu_rank *r, const struct gpu_size *size,
                     struct jp_error *err)
{
    const struct gpu_nccl *nccl = &r->api.nccl;
    void *windows[2], *buffers[2], *comm;
    int i;

    if (!nccl->window_register || !nccl->window_deregister)
        return GPU_NOT_THERE;
    if (gpu_rank_join(r, &comm, err) < 0)
        return -1;
    for (i = 0; i < 2; i++) {
        if (gpu_nccl_check(&r->api, nccl->mem_alloc(&buffers[i], size->bytes),
                           "ncclMemAlloc", err) < 0 ||
            gpu_nccl_check(&r->api,
                           nccl->window_register(comm, buffers[i], size->bytes,
                                                 &windows[i],
                                                 GPU_NCCL_WIN_SYMMETRIC),
                           "ncclCommWindowRegister", err) < 0)
            return -1;
    }
    /* NCCL chooses symmetric kernels only for registered buffers */
    r->send = buffers[0];
    r->recv = buffers[1];
    if (gpu_all_reduces(r, comm, size->bytes, size->count, err) < 0 ||
        gpu_rank_write(r, err) < 0)
        return -1;
    for (i = 0; i < 2; i++) {
        if (gpu_nccl_check(&r->api, nccl->window_deregister(comm, windows[i]),
                           "ncclCommWindowDeregister", err) < 0)
            return -1;
    }
    return destroy(r, comm, err);
}

/* Forks a child that runs a program, or that exits at once without clean-up. */
static int spawn(const char *program, struct jp_error *err)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        if (program)
            execl(program, program, (char *) NULL);
        _exit(program ? 127 : 0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        return error_set(err, "a child failed");
    return 0;
}

/* The program forks between operations: the child has a copy of the recorder's
 * memory but none of its threads, and must not write to the parent's files,
 * whether it exits at once or starts another program. */
int gpu_edge_fork(struct gpu_rank *r, const struct gpu_size *size,
                  struct jp_error *err)
{
    void *comm;

    if (gpu_rank_join(r, &comm, err) < 0 ||
        gpu_all_reduces(r, comm, size->bytes, size->count, err) < 0 ||
        spawn(NULL, err) < 0 || spawn("/bin/true", err) < 0 ||
        gpu_all_reduces(r, comm, size->bytes, size->count, err) < 0 ||
        gpu_rank_write(r, err) < 0)
        return -1;
    return destroy(r, comm, err);
}

/* The program ends with _exit() and an open communicator. What the recorder has
 * written until then must be readable. */
int gpu_edge_exit(struct gpu_rank *r, const struct gpu_size *size,
                  struct jp_error *err)
{
    void *comm;

    if (gpu_rank_join(r, &comm, err) < 0 ||
        gpu_all_reduces(r, comm, size->bytes, size->count, err) < 0 ||
        gpu_rank_write(r, err) < 0)
        return -1;
    sleep(2); /* the recorder writes each 100 ms, counters each second */
    /* no destructor and no exit handler runs */
    _exit(0);
}
