/* fake_memory.c - device memory and pinned memory: pages of the host.
 *
 * Blocks are kept in a tree, so that the block that holds an address is found.
 * Memory of other processes cannot be opened, so NCCL takes its ways through
 * shared memory and sockets. */
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "contrib/fakecuda/fakecuda.h"

/* NVIDIA's headers declare them; there are none here */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { PAGE = 4096, MUCH = 1 << 20, HOST = -1 };

/* cudaMemoryType */
enum { UNREGISTERED = 0, ON_HOST = 1, ON_DEVICE = 2 };

struct block {
    uintptr_t base, end;
    int device; /* HOST: pinned */
    bool is_ours;
};

/* cudaPointerAttributes, with the room that release 13 reserves */
struct pointer_attributes {
    int type, device;
    void *device_pointer, *host_pointer;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *blocks; /* tree of struct block */

/* Blocks never overlap; an address is a block of one byte. */
static int compare_blocks(const void *a, const void *b)
{
    const struct block *x = a, *y = b;

    return x->end <= y->base ? -1 : y->end <= x->base ? 1 : 0;
}

static int add_block(void *at, size_t bytes, int device, bool is_ours)
{
    struct block *block = malloc(sizeof(*block));

    if (!block)
        return fake_fail(FAKE_NO_MEMORY);
    *block = (struct block){.base = (uintptr_t) at,
                            .end = (uintptr_t) at + bytes,
                            .device = device,
                            .is_ours = is_ours};
    pthread_mutex_lock(&lock);
    if (!tsearch(block, &blocks, compare_blocks))
        abort();
    pthread_mutex_unlock(&lock);
    return FAKE_OK;
}

/* Finds the block that holds an address. */
static bool find_block(const void *at, struct block *out)
{
    struct block key = {.base = (uintptr_t) at, .end = (uintptr_t) at + 1};
    struct block **found;

    pthread_mutex_lock(&lock);
    found = tfind(&key, &blocks, compare_blocks);
    if (found)
        *out = **found;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

void fake_memory_free(void *at)
{
    struct block key = {.base = (uintptr_t) at, .end = (uintptr_t) at + 1};
    struct block **found, *block = NULL;

    pthread_mutex_lock(&lock);
    found = tfind(&key, &blocks, compare_blocks);
    if (found && (*found)->base == key.base) {
        block = *found;
        tdelete(&key, &blocks, compare_blocks);
    }
    pthread_mutex_unlock(&lock);
    if (block && block->is_ours)
        munmap((void *) block->base, block->end - block->base);
    free(block);
}

static int take_block(void **out, size_t bytes, int device)
{
    size_t n = bytes ? (bytes + PAGE - 1) / PAGE * PAGE : PAGE;
    void *at = mmap(NULL, n, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED)
        return fake_fail(FAKE_NO_MEMORY);
    *out = at;
    return add_block(at, n, device, true);
}

void fake_memory_fill(void *at, int value, size_t bytes)
{
    uintptr_t from = (uintptr_t) at, to = from + bytes;
    uintptr_t first = (from + PAGE - 1) / PAGE * PAGE;
    uintptr_t last = to / PAGE * PAGE;
    struct block block;

    if (value || bytes < MUCH || !find_block(at, &block) || !block.is_ours) {
        memset(at, value, bytes);
        return;
    }
    memset(at, 0, first - from);
    madvise((void *) first, last - first, MADV_DONTNEED);
    memset((void *) last, 0, to - last);
}

FAKECUDA_EXPORT int cudaMalloc(void **out, size_t bytes)
{
    return take_block(out, bytes, fake_device());
}

FAKECUDA_EXPORT int cudaMallocAsync(void **out, size_t bytes, struct stream *s)
{
    (void) s;
    return cudaMalloc(out, bytes);
}

FAKECUDA_EXPORT int cudaMallocFromPoolAsync(void **out, size_t bytes,
                                            void *pool, struct stream *s)
{
    (void) pool;
    return cudaMallocAsync(out, bytes, s);
}

FAKECUDA_EXPORT int cudaFree(void *at)
{
    fake_memory_free(at);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void) flags;
    return take_block(out, bytes, HOST);
}

FAKECUDA_EXPORT int cudaFreeHost(void *at)
{
    return cudaFree(at);
}

FAKECUDA_EXPORT int cudaHostRegister(void *at, size_t bytes, unsigned flags)
{
    (void) flags;
    return add_block(at, bytes, HOST, false);
}

FAKECUDA_EXPORT int cudaHostUnregister(void *at)
{
    return cudaFree(at);
}

FAKECUDA_EXPORT int cudaHostGetDevicePointer(void **out, void *at,
                                             unsigned flags)
{
    (void) flags;
    *out = at;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaPointerGetAttributes(struct pointer_attributes *out,
                                             const void *at)
{
    struct pointer_attributes a = {.type = UNREGISTERED,
                                   .host_pointer = (void *) at};
    struct block block;

    if (find_block(at, &block)) {
        a.device_pointer = (void *) at;
        a.type = block.device == HOST ? ON_HOST : ON_DEVICE;
        if (a.type == ON_DEVICE) {
            a.device = block.device;
            a.host_pointer = NULL;
        }
    }
    *out = a;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaMemcpy(void *to, const void *from, size_t bytes,
                               int kind)
{
    (void) kind;
    memmove(to, from, bytes);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaMemset(void *at, int value, size_t bytes)
{
    fake_memory_fill(at, value, bytes);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaMemPoolCreate(void **out, const void *properties)
{
    static char pool;

    (void) properties;
    *out = &pool;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaMemPoolDestroy(void *pool)
{
    (void) pool;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaMemPoolSetAttribute(void *pool, int attribute,
                                            void *value)
{
    (void) pool, (void) attribute, (void) value;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaIpcGetMemHandle(void *handle, void *at)
{
    (void) handle, (void) at;
    return fake_fail(FAKE_NOT_SUPPORTED);
}

/* A handle travels by value. */
struct ipc_handle {
    char bytes[64];
};

FAKECUDA_EXPORT int cudaIpcOpenMemHandle(void **out, struct ipc_handle handle,
                                         unsigned flags)
{
    (void) out, (void) handle, (void) flags;
    return fake_fail(FAKE_NOT_SUPPORTED);
}

FAKECUDA_EXPORT int cudaIpcCloseMemHandle(void *at)
{
    (void) at;
    return fake_fail(FAKE_NOT_SUPPORTED);
}

FAKECUDA_EXPORT int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes,
                                            uint64_t at)
{
    struct block block;

    if (!find_block((void *) (uintptr_t) at, &block))
        return FAKE_NOT_FOUND;
    if (base)
        *base = block.base;
    if (bytes)
        *bytes = block.end - block.base;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cuMemGetAddressRange(uint64_t *base, size_t *bytes,
                                         uint64_t at)
{
    return cuMemGetAddressRange_v2(base, bytes, at);
}

/* What a GPU has; nothing is ever allocated by it here. */
FAKECUDA_EXPORT int
cuMemGetAllocationGranularity(size_t *out, const void *properties, int option)
{
    (void) properties, (void) option;
    *out = (size_t) 2 << 20;
    return FAKE_OK;
}
