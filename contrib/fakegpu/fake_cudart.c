/* fake_cudart.c - libcudart.so.12 of a machine without a GPU.
 *
 * It has only what profiler plugins call: the current device, and events, which
 * measure the host's time. Names, arguments and result numbers are those of the
 * CUDA runtime API's reference manual. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "contrib/fakegpu/fakegpu.h"

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    MEMORY_ALLOCATION = 2,
    INVALID_DEVICE = 101,
    UNKNOWN = 999,
};

/* An event is the time at which it was recorded: nothing runs in a stream. */
struct event {
    struct timespec at;
};

FAKEGPU_EXPORT const char *cudaGetErrorString(int error);
FAKEGPU_EXPORT int cudaRuntimeGetVersion(int *version);
FAKEGPU_EXPORT int cudaGetDeviceCount(int *count);
FAKEGPU_EXPORT int cudaSetDevice(int device);
FAKEGPU_EXPORT int cudaGetDevice(int *device);
FAKEGPU_EXPORT int cudaDeviceGetPCIBusId(char *id, int size, int device);
FAKEGPU_EXPORT int cudaEventCreate(struct event **event);
FAKEGPU_EXPORT int cudaEventCreateWithFlags(struct event **event,
                                            unsigned flags);
FAKEGPU_EXPORT int cudaEventRecord(struct event *event, void *stream);
FAKEGPU_EXPORT int cudaEventQuery(struct event *event);
FAKEGPU_EXPORT int cudaEventElapsedTime(float *ms, const struct event *start,
                                        const struct event *stop);
FAKEGPU_EXPORT int cudaEventDestroy(struct event *event);

static __thread int device_set; /* ordinal + 1; 0: never set */

const char *cudaGetErrorString(int error)
{
    return error == SUCCESS ? "no error" : "no such GPU";
}

int cudaRuntimeGetVersion(int *version)
{
    if (fakegpu_fails("cudaRuntimeGetVersion"))
        return UNKNOWN;
    *version = 12040;
    return SUCCESS;
}

int cudaGetDeviceCount(int *count)
{
    if (fakegpu_fails("cudaGetDeviceCount"))
        return UNKNOWN;
    *count = fakegpu_visible();
    return SUCCESS;
}

int cudaSetDevice(int device)
{
    if (fakegpu_fails("cudaSetDevice"))
        return UNKNOWN;
    if (fakegpu_index(device) < 0)
        return INVALID_DEVICE;
    device_set = device + 1;
    return SUCCESS;
}

int cudaGetDevice(int *device)
{
    /* a device per thread, as in CUDA */
    int ordinal = device_set ? device_set - 1 : fakegpu_current();

    if (fakegpu_fails("cudaGetDevice"))
        return UNKNOWN;
    if (fakegpu_index(ordinal) < 0)
        return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

int cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    int index = fakegpu_index(device);
    int n;

    if (fakegpu_fails("cudaDeviceGetPCIBusId"))
        return UNKNOWN;
    if (index < 0)
        return INVALID_DEVICE;
    if (size < 1)
        return INVALID_VALUE;
    n = snprintf(id, (size_t) size, "0000:%02X:00.0", fakegpu_bus(index));
    return n < size ? SUCCESS : INVALID_VALUE;
}

int cudaEventCreateWithFlags(struct event **event, unsigned flags)
{
    (void) flags;
    if (fakegpu_fails("cudaEventCreateWithFlags"))
        return UNKNOWN;
    *event = calloc(1, sizeof(**event));
    return *event ? SUCCESS : MEMORY_ALLOCATION;
}

int cudaEventCreate(struct event **event)
{
    return cudaEventCreateWithFlags(event, 0);
}

int cudaEventRecord(struct event *event, void *stream)
{
    (void) stream;
    if (fakegpu_fails("cudaEventRecord"))
        return UNKNOWN;
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    return SUCCESS;
}

int cudaEventQuery(struct event *event)
{
    /* always complete */
    (void) event;
    return fakegpu_fails("cudaEventQuery") ? UNKNOWN : SUCCESS;
}

int cudaEventElapsedTime(float *ms, const struct event *start,
                         const struct event *stop)
{
    if (fakegpu_fails("cudaEventElapsedTime"))
        return UNKNOWN;
    *ms = (float) ((double) (stop->at.tv_sec - start->at.tv_sec) * 1e3 +
                   (double) (stop->at.tv_nsec - start->at.tv_nsec) / 1e6);
    return SUCCESS;
}

int cudaEventDestroy(struct event *event)
{
    free(event);
    return SUCCESS;
}
