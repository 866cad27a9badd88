/* fake_runtime.c - devices, versions and errors of the runtime and the driver,
 * and the way from a name to the driver's function. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "contrib/fakecuda/fakecuda.h"
#include "contrib/fakegpu/fakegpu.h"

/* NVIDIA's headers declare them; there are none here */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { VERSION = 13000 };

/* Attributes of a device, by their numbers, as an A100 has them. */
static const struct {
    int number, value;
} attributes[] = {
    {75, 8},         /* compute capability, major */
    {76, 0},         /* and minor */
    {8, 48 << 10},   /* shared memory of a block */
    {97, 163 << 10}, /* with opt-in */
    {16, 108},       /* multiprocessors */
    {41, 1},         /* unified addressing */
};

static _Thread_local int current;
static _Thread_local int last_error;

int fake_device(void)
{
    return current;
}

void fake_device_set(int device)
{
    current = device;
}

int fake_fail(int error)
{
    last_error = error;
    return error;
}

uint64_t fake_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000U + (uint64_t) t.tv_nsec;
}

/* A node has eight GPUs unless the test says otherwise. */
static void __attribute__((constructor)) set_count(void)
{
    setenv("FAKEGPU_COUNT", "8", 0);
}

static int attribute(int number)
{
    size_t i;

    for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (attributes[i].number == number)
            return attributes[i].value;
    }
    return 0;
}

FAKECUDA_EXPORT int cudaGetDeviceCount(int *count)
{
    *count = fakegpu_visible();
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGetDevice(int *device)
{
    *device = current;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaSetDevice(int device)
{
    if (fakegpu_index(device) < 0)
        return fake_fail(FAKE_INVALID_DEVICE);
    current = device;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaDriverGetVersion(int *version)
{
    *version = VERSION;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaRuntimeGetVersion(int *version)
{
    *version = VERSION;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGetLastError(void)
{
    int error = last_error;

    last_error = FAKE_OK;
    return error;
}

FAKECUDA_EXPORT int cudaPeekAtLastError(void)
{
    return last_error;
}

FAKECUDA_EXPORT const char *cudaGetErrorString(int error)
{
    return error == FAKE_OK ? "no error" : "error of the stand-in for CUDA";
}

FAKECUDA_EXPORT const char *cudaGetErrorName(int error)
{
    return error == FAKE_OK ? "cudaSuccess" : "cudaErrorOfStandIn";
}

FAKECUDA_EXPORT int cudaDeviceGetAttribute(int *value, int number, int device)
{
    (void) device;
    *value = attribute(number);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    int index = fakegpu_index(device);

    if (index < 0)
        return fake_fail(FAKE_INVALID_DEVICE);
    snprintf(id, (size_t) size, "0000:%02X:00.0",
             (unsigned) fakegpu_bus(index) & 0xFF);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    char name[16];
    int i;

    for (i = 0; cudaDeviceGetPCIBusId(name, sizeof(name), i) == FAKE_OK; i++) {
        if (strcasecmp(name, id) == 0) {
            *device = i;
            return FAKE_OK;
        }
    }
    return fake_fail(FAKE_INVALID_DEVICE);
}

FAKECUDA_EXPORT int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    (void) device, (void) peer;
    *can = 1;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void) peer, (void) flags;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaDeviceSetLimit(int limit, size_t value)
{
    (void) limit, (void) value;
    return FAKE_OK;
}

/* The begin of cudaDeviceProp: NCCL reads only the size of the memory. */
FAKECUDA_EXPORT int cudaGetDeviceProperties(char *out, int device)
{
    struct {
        char name[256];
        unsigned char uuid[FAKEGPU_UUID_BYTES], luid[8];
        unsigned luid_mask;
        size_t memory_bytes;
    } p = {.memory_bytes = (size_t) 80 << 30};

    snprintf(p.name, sizeof(p.name), "Fake GPU %d", device);
    memcpy(out, &p, sizeof(p));
    return FAKE_OK;
}

/* cudaFuncAttributes: three sizes, then numbers, of which NCCL reads two. */
FAKECUDA_EXPORT int cudaFuncGetAttributes(char *out, const void *function)
{
    struct {
        size_t shared_bytes, const_bytes, local_bytes;
        int max_threads, n_registers, ptx_version, binary_version, cache_mode;
        int max_dynamic_shared_bytes;
    } a = {.max_threads = 640,
           .n_registers = 96,
           .ptx_version = 80,
           .binary_version = 80,
           .max_dynamic_shared_bytes = 163 << 10};

    (void) function;
    memcpy(out, &a, sizeof(a));
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaFuncSetAttribute(const void *function, int number,
                                         int value)
{
    (void) function, (void) number, (void) value;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGetFuncBySymbol(const void **out, const void *symbol)
{
    *out = symbol;
    return FAKE_OK;
}

/* ----------------------------------------------------------------- driver */

/* A driver without memory management by handles and without multicast: NCCL
 * takes its older ways. */
FAKECUDA_EXPORT int
cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                 unsigned long long flags, int *result)
{
    enum { SYMBOL_FOUND = 0, SYMBOL_NOT_FOUND = 1 };
    static void *self;
    Dl_info us;

    (void) version, (void) flags;
    if (!self && dladdr((void *) &fake_device, &us))
        self = dlopen(us.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *out = self ? dlsym(self, name) : NULL;
    if (result)
        *result = *out ? SYMBOL_FOUND : SYMBOL_NOT_FOUND;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cudaGetDriverEntryPoint(const char *name, void **out,
                                            unsigned long long flags,
                                            int *result)
{
    return cudaGetDriverEntryPointByVersion(name, out, 0, flags, result);
}

FAKECUDA_EXPORT int cuInit(unsigned flags)
{
    (void) flags;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cuDriverGetVersion(int *version)
{
    return cudaDriverGetVersion(version);
}

FAKECUDA_EXPORT int cuGetErrorString(int error, const char **text)
{
    *text = cudaGetErrorString(error);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cuGetErrorName(int error, const char **text)
{
    *text = cudaGetErrorName(error);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cuDeviceGetCount(int *count)
{
    return cudaGetDeviceCount(count);
}

FAKECUDA_EXPORT int cuDeviceGet(int *device, int ordinal)
{
    if (fakegpu_index(ordinal) < 0)
        return FAKE_INVALID_DEVICE;
    *device = ordinal;
    return FAKE_OK;
}

FAKECUDA_EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t) size, "Fake GPU %d", device);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cuDeviceGetAttribute(int *value, int number, int device)
{
    return cudaDeviceGetAttribute(value, number, device);
}

FAKECUDA_EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    int index = fakegpu_index(device);

    if (index < 0)
        return FAKE_INVALID_DEVICE;
    fakegpu_uuid(index, uuid);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    return cuDeviceGetUuid(uuid, device);
}

FAKECUDA_EXPORT int cuDeviceGetPCIBusId(char *id, int size, int device)
{
    return cudaDeviceGetPCIBusId(id, size, device);
}

FAKECUDA_EXPORT int cuCtxGetDevice(int *device)
{
    return cudaGetDevice(device);
}

/* A device's context is its number plus one. */
FAKECUDA_EXPORT int cuCtxGetCurrent(void **context)
{
    *context = (void *) (uintptr_t) (current + 1);
    return FAKE_OK;
}

FAKECUDA_EXPORT int cuCtxSetCurrent(void *context)
{
    if (context)
        current = (int) (uintptr_t) context - 1;
    return FAKE_OK;
}
