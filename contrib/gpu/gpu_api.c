/* gpu_api.c - NCCL and the CUDA runtime, loaded from the machine's libraries.
 *
 * The functions are rows: their name, and the member of the struct that gets
 * the address. */
#include "contrib/gpu/gpu_api.h"

#include <dlfcn.h>
#include <string.h>

/* Newest first. */
static const char *const cuda_runtimes[] = {
    "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"};

/* A function to find; is_optional: libraries without it are accepted. */
struct symbol {
    const char *name;
    size_t where;
    int is_optional;
};

#define CUDA(member, name)                                                     \
    {                                                                          \
        name, offsetof(struct gpu_cuda, member), 0                             \
    }
static const struct symbol cuda_symbols[] = {
    CUDA(get_device_count, "cudaGetDeviceCount"),
    CUDA(set_device, "cudaSetDevice"),
    CUDA(get_error_string, "cudaGetErrorString"),
    CUDA(malloc, "cudaMalloc"),
    CUDA(stream_create, "cudaStreamCreateWithFlags"),
    CUDA(stream_sync, "cudaStreamSynchronize"),
    CUDA(stream_query, "cudaStreamQuery"),
    CUDA(event_create, "cudaEventCreate"),
    CUDA(event_destroy, "cudaEventDestroy"),
    CUDA(event_record, "cudaEventRecord"),
    CUDA(event_elapsed, "cudaEventElapsedTime"),
    CUDA(begin_capture, "cudaStreamBeginCapture"),
    CUDA(end_capture, "cudaStreamEndCapture"),
    /* cudaGraphInstantiate() has other arguments before 12 */
    CUDA(graph_instantiate, "cudaGraphInstantiateWithFlags"),
    CUDA(graph_launch, "cudaGraphLaunch"),
    CUDA(graph_exec_destroy, "cudaGraphExecDestroy"),
    CUDA(graph_destroy, "cudaGraphDestroy"),
};

#define NCCL(member, name)                                                     \
    {                                                                          \
        name, offsetof(struct gpu_nccl, member), 0                             \
    }
#define LATER(member, name)                                                    \
    {                                                                          \
        name, offsetof(struct gpu_nccl, member), 1                             \
    }
static const struct symbol nccl_symbols[] = {
    NCCL(get_version, "ncclGetVersion"),
    NCCL(get_error_string, "ncclGetErrorString"),
    NCCL(get_unique_id, "ncclGetUniqueId"),
    NCCL(init_rank, "ncclCommInitRank"),
    NCCL(init_rank_config, "ncclCommInitRankConfig"),
    NCCL(split, "ncclCommSplit"),
    NCCL(finalize, "ncclCommFinalize"),
    NCCL(destroy, "ncclCommDestroy"),
    NCCL(abort, "ncclCommAbort"),
    NCCL(get_async_error, "ncclCommGetAsyncError"),
    NCCL(all_reduce, "ncclAllReduce"),
    NCCL(send, "ncclSend"),
    NCCL(recv, "ncclRecv"),
    /* ncclrun does without them; drive checks */
    LATER(all_gather, "ncclAllGather"),
    LATER(reduce_scatter, "ncclReduceScatter"),
    LATER(broadcast, "ncclBroadcast"),
    LATER(reduce, "ncclReduce"),
    LATER(all_to_all, "ncclAlltoAll"),
    LATER(init_all, "ncclCommInitAll"),
    LATER(shrink, "ncclCommShrink"),
    LATER(get_last_error, "ncclGetLastError"),
    NCCL(group_start, "ncclGroupStart"),
    NCCL(group_end, "ncclGroupEnd"),
    NCCL(mem_alloc, "ncclMemAlloc"),
    LATER(window_register, "ncclCommWindowRegister"),
    LATER(window_deregister, "ncclCommWindowDeregister"),
};

enum {
    N_RUNTIMES = sizeof(cuda_runtimes) / sizeof(cuda_runtimes[0]),
    N_CUDA = sizeof(cuda_symbols) / sizeof(cuda_symbols[0]),
    N_NCCL = sizeof(nccl_symbols) / sizeof(nccl_symbols[0]),
};

/* Whether the driver is new enough for this runtime, and finds a GPU. */
static int has_gpu(void *lib)
{
    int (*count)(int *) = (int (*)(int *)) dlsym(lib, "cudaGetDeviceCount");
    int n;

    return count && count(&n) == 0 && n > 0;
}

/* Returns the runtime at path, otherwise the newest one that finds a GPU,
 * otherwise the newest one. NULL: none. */
static void *open_runtime(const char *path)
{
    void *first = NULL;
    void *lib;
    int i;

    if (path)
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (i = 0; i < N_RUNTIMES; i++) {
        lib = dlopen(cuda_runtimes[i], RTLD_NOW | RTLD_LOCAL);
        if (lib && has_gpu(lib))
            return lib;
        first = first ? first : lib;
    }
    return first;
}

/* Finds all functions. Returns -1 and err if a needed one is missing. */
static int find_all(void *lib, const struct symbol *symbols, int n, void *out,
                    struct jp_error *err)
{
    int i;

    for (i = 0; i < n; i++) {
        void *function = dlsym(lib, symbols[i].name);

        if (!function && !symbols[i].is_optional)
            return error_set(err, "%s does not exist", symbols[i].name);
        memcpy((char *) out + symbols[i].where, &function, sizeof(function));
    }
    return 0;
}

int gpu_api_open(struct gpu_api *api, const char *nccl, const char *cudart,
                 struct jp_error *err)
{
    struct gpu_api a = {.version = 0};
    void *lib = open_runtime(cudart);

    if (!lib)
        return error_set(err, "CUDA runtime: %s", dlerror());
    if (find_all(lib, cuda_symbols, N_CUDA, &a.cuda, err) < 0)
        return error_wrap(err, "CUDA runtime");
    lib = dlopen(nccl, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return error_set(err, "NCCL: %s", dlerror());
    if (find_all(lib, nccl_symbols, N_NCCL, &a.nccl, err) < 0)
        return error_wrap(err, "%s", nccl);
    if (gpu_nccl_check(&a, a.nccl.get_version(&a.version), "ncclGetVersion",
                       err) < 0)
        return -1;
    *api = a;
    return 0;
}

int gpu_cuda_check(const struct gpu_api *api, int rc, const char *what,
                   struct jp_error *err)
{
    return rc ? error_set(err, "%s: %s", what, api->cuda.get_error_string(rc))
              : 0;
}

int gpu_nccl_check(const struct gpu_api *api, int rc, const char *what,
                   struct jp_error *err)
{
    return rc ? error_set(err, "%s: %s", what, api->nccl.get_error_string(rc))
              : 0;
}
