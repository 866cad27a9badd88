/* CUDA's runtime and NCCL in one library that does nothing: it writes down what
 * contrib/gpu/ncclrun calls.
 *
 * FAKE_GPU_LOG.<pid> gets a line for each call that a test asks about. Other
 * variables: FAKE_GPU_COUNT, GPUs (1); FAKE_GPU_NCCL, the release (23007);
 * FAKE_GPU_FAIL, a function that fails; FAKE_GPU_HANG, the stream never ends.
 * FAKE_GPU_OLD leaves out what NCCL 2.27 added.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contrib/gpu/gpu_api.h"

/* NVIDIA's headers declare them; there are none here */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define FAKE __attribute__((visibility("default")))
enum { FAILED = 1, EVENT_US = 125 };

static int captures; /* a stream is being captured */
static int n_ids;
static int in_progress; /* answers of ncclCommGetAsyncError() left */

static int number(const char *name, int fallback)
{
    const char *text = getenv(name);

    return text ? (int) strtol(text, NULL, 10) : fallback;
}

static int __attribute__((format(printf, 2, 3)))
call(const char *function, const char *fmt, ...)
{
    const char *log = getenv("FAKE_GPU_LOG");
    const char *fail = getenv("FAKE_GPU_FAIL");
    char path[4096];
    va_list ap;
    FILE *f;

    if (log) {
        snprintf(path, sizeof(path), "%s.%d", log, (int) getpid());
        f = fopen(path, "a");
        if (!f)
            abort();
        fprintf(f, "%s", function);
        va_start(ap, fmt);
        vfprintf(f, fmt, ap);
        va_end(ap);
        fprintf(f, "%s\n", captures ? " captured" : "");
        fclose(f);
    }
    return fail && strcmp(fail, function) == 0 ? FAILED : 0;
}

/* A handle is only ever given back. */
static void give(void **out)
{
    static char handle;

    *out = &handle;
}

/* --------------------------------------------------------------------- CUDA */

FAKE int cudaGetDeviceCount(int *n)
{
    *n = number("FAKE_GPU_COUNT", 1);
    return call(__func__, "%s", "");
}

FAKE int cudaSetDevice(int device)
{
    return call(__func__, " %d", device);
}

FAKE const char *cudaGetErrorString(int rc)
{
    return rc ? "it fails" : "no error";
}

FAKE int cudaMalloc(void **out, size_t bytes)
{
    *out = malloc(bytes);
    return call(__func__, " %zu", bytes);
}

FAKE int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
    give(stream);
    return call(__func__, " %u", flags);
}

FAKE int cudaStreamSynchronize(void *stream)
{
    (void) stream;
    return call(__func__, "%s", "");
}

FAKE int cudaStreamQuery(void *stream)
{
    (void) stream;
    return getenv("FAKE_GPU_HANG") ? GPU_CUDA_NOT_READY : 0;
}

FAKE int cudaEventCreate(void **event)
{
    give(event);
    return 0;
}

FAKE int cudaEventDestroy(void *event)
{
    (void) event;
    return 0;
}

FAKE int cudaEventRecord(void *event, void *stream)
{
    (void) event;
    (void) stream;
    return call(__func__, "%s", "");
}

FAKE int cudaEventElapsedTime(float *ms, void *start, void *stop)
{
    (void) start;
    (void) stop;
    *ms = (float) EVENT_US / 1000.0f;
    return 0;
}

FAKE int cudaStreamBeginCapture(void *stream, int mode)
{
    int rc = call(__func__, " %d", mode);

    (void) stream;
    captures = 1;
    return rc;
}

FAKE int cudaStreamEndCapture(void *stream, void **graph)
{
    (void) stream;
    captures = 0;
    give(graph);
    return call(__func__, "%s", "");
}

FAKE int cudaGraphInstantiateWithFlags(void **exec, void *graph,
                                       unsigned long long flags)
{
    (void) graph;
    give(exec);
    return call(__func__, " %llu", flags);
}

FAKE int cudaGraphLaunch(void *exec, void *stream)
{
    (void) exec;
    (void) stream;
    return call(__func__, "%s", "");
}

FAKE int cudaGraphExecDestroy(void *exec)
{
    (void) exec;
    return call(__func__, "%s", "");
}

FAKE int cudaGraphDestroy(void *graph)
{
    (void) graph;
    return call(__func__, "%s", "");
}

/* --------------------------------------------------------------------- NCCL */

FAKE int ncclGetVersion(int *version)
{
    *version = number("FAKE_GPU_NCCL", 23007);
    return 0;
}

FAKE const char *ncclGetErrorString(int rc)
{
    return rc ? "it fails" : "no error";
}

FAKE int ncclGetUniqueId(struct gpu_id *id)
{
    memset(id, 0, sizeof(*id));
    snprintf(id->bytes, sizeof(id->bytes), "id%d-%d", (int) getpid(), n_ids++);
    return call(__func__, "%s", "");
}

static const char *sharing(void)
{
    const char *host = getenv("NCCL_HOSTID");

    return host ? host : getenv("NCCL_MULTI_RANK_GPU_ENABLE") ? "shared" : "-";
}

FAKE int ncclCommInitRank(void **comm, int n_ranks, struct gpu_id id, int rank)
{
    give(comm);
    return call(__func__, " %d of %d %s %s", rank, n_ranks, id.bytes,
                sharing());
}

FAKE int ncclCommInitRankConfig(void **comm, int n_ranks, struct gpu_id id,
                                int rank, struct gpu_config *config)
{
    int rc = call(__func__, " %d of %d %s magic=%x blocking=%d", rank, n_ranks,
                  id.bytes, config->magic, config->blocking);

    give(comm);
    in_progress = 3;
    return rc ? rc : GPU_NCCL_IN_PROGRESS;
}

FAKE int ncclCommSplit(void *comm, int color, int key, void **out,
                       struct gpu_config *config)
{
    (void) comm;
    (void) config;
    give(out);
    return call(__func__, " %d %d", color, key);
}

FAKE int ncclCommFinalize(void *comm)
{
    (void) comm;
    in_progress = 3;
    return call(__func__, "%s", "");
}

FAKE int ncclCommDestroy(void *comm)
{
    (void) comm;
    return call(__func__, "%s", "");
}

FAKE int ncclCommAbort(void *comm)
{
    (void) comm;
    return call(__func__, "%s", "");
}

FAKE int ncclCommGetAsyncError(void *comm, int *error)
{
    (void) comm;
    *error = in_progress > 0 ? GPU_NCCL_IN_PROGRESS : 0;
    in_progress -= in_progress > 0;
    return call(__func__, "%s", "");
}

FAKE int ncclAllReduce(const void *send, void *recv, size_t count, int type,
                       int op, void *comm, void *stream)
{
    (void) comm;
    (void) stream;
    if (send == recv || op != GPU_NCCL_SUM)
        return FAILED;
    return call(__func__, " %zu of %d", count, type);
}

FAKE int ncclSend(const void *buf, size_t count, int type, int peer, void *comm,
                  void *stream)
{
    (void) buf;
    (void) comm;
    (void) stream;
    return call(__func__, " %zu of %d to %d", count, type, peer);
}

FAKE int ncclRecv(void *buf, size_t count, int type, int peer, void *comm,
                  void *stream)
{
    (void) buf;
    (void) comm;
    (void) stream;
    return call(__func__, " %zu of %d from %d", count, type, peer);
}

FAKE int ncclGroupStart(void)
{
    return call(__func__, "%s", "");
}

FAKE int ncclGroupEnd(void)
{
    return call(__func__, "%s", "");
}

FAKE int ncclMemAlloc(void **out, size_t bytes)
{
    *out = malloc(bytes);
    return call(__func__, " %zu", bytes);
}

#ifndef FAKE_GPU_OLD
FAKE int ncclCommWindowRegister(void *comm, void *buf, size_t bytes,
                                void **window, int flags)
{
    (void) comm;
    (void) buf;
    give(window);
    return call(__func__, " %zu %d", bytes, flags);
}

FAKE int ncclCommWindowDeregister(void *comm, void *window)
{
    (void) comm;
    (void) window;
    return call(__func__, "%s", "");
}
#endif
