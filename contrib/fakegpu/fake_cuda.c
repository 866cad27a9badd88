/* fake_cuda.c - libcuda.so.1 of a machine without a GPU.
 *
 * It has only what profiler plugins call. Names, arguments and result numbers
 * are those of the CUDA driver API's reference manual. */
#include <stdio.h>
#include <string.h>

#include "contrib/fakegpu/fakegpu.h"

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, UNKNOWN = 999 };

struct uuid {
    unsigned char bytes[FAKEGPU_UUID_BYTES];
};

FAKEGPU_EXPORT int cuInit(unsigned flags);
FAKEGPU_EXPORT int cuDriverGetVersion(int *version);
FAKEGPU_EXPORT int cuGetErrorString(int error, const char **text);
FAKEGPU_EXPORT int cuDeviceGetCount(int *count);
FAKEGPU_EXPORT int cuDeviceGet(int *device, int ordinal);
FAKEGPU_EXPORT int cuCtxGetDevice(int *device);
FAKEGPU_EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
FAKEGPU_EXPORT int cuCtxSetCurrent(void *context);
FAKEGPU_EXPORT int cuDeviceGetName(char *name, int size, int device);
FAKEGPU_EXPORT int cuDeviceGetPCIBusId(char *id, int size, int device);
FAKEGPU_EXPORT int cuDeviceGetUuid(struct uuid *uuid, int device);
FAKEGPU_EXPORT int cuDeviceGetUuid_v2(struct uuid *uuid, int device);

int cuInit(unsigned flags)
{
    return fakegpu_fails("cuInit") ? UNKNOWN : flags ? INVALID_VALUE : SUCCESS;
}

int cuDriverGetVersion(int *version)
{
    if (fakegpu_fails("cuDriverGetVersion"))
        return UNKNOWN;
    *version = 12040;
    return SUCCESS;
}

int cuGetErrorString(int error, const char **text)
{
    *text = error == SUCCESS ? "no error" : "no such GPU";
    return SUCCESS;
}

int cuDeviceGetCount(int *count)
{
    if (fakegpu_fails("cuDeviceGetCount"))
        return UNKNOWN;
    *count = fakegpu_visible();
    return SUCCESS;
}

/* A device's handle is its ordinal. */
int cuDeviceGet(int *device, int ordinal)
{
    if (fakegpu_fails("cuDeviceGet"))
        return UNKNOWN;
    if (fakegpu_index(ordinal) < 0)
        return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

/* A context is its device's place here. */
static char contexts[FAKEGPU_MAX];
static __thread char *current;

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    if (fakegpu_fails("cuDevicePrimaryCtxRetain"))
        return UNKNOWN;
    if (fakegpu_index(device) < 0 || device >= FAKEGPU_MAX)
        return INVALID_DEVICE;
    *context = &contexts[device];
    return SUCCESS;
}

int cuCtxSetCurrent(void *context)
{
    if (fakegpu_fails("cuCtxSetCurrent"))
        return UNKNOWN;
    current = context;
    return SUCCESS;
}

int cuCtxGetDevice(int *device)
{
    if (fakegpu_fails("cuCtxGetDevice"))
        return UNKNOWN;
    if (current)
        return cuDeviceGet(device, (int) (current - contexts));
    /* a thread without a context has the default device here */
    return cuDeviceGet(device, fakegpu_current());
}

int cuDeviceGetName(char *name, int size, int device)
{
    if (fakegpu_fails("cuDeviceGetName"))
        return UNKNOWN;
    if (fakegpu_index(device) < 0 || size < 1)
        return INVALID_DEVICE;
    snprintf(name, (size_t) size, "Fake GPU");
    return SUCCESS;
}

int cuDeviceGetPCIBusId(char *id, int size, int device)
{
    int index = fakegpu_index(device);
    int n;

    if (fakegpu_fails("cuDeviceGetPCIBusId"))
        return UNKNOWN;
    if (index < 0)
        return INVALID_DEVICE;
    if (size < 1)
        return INVALID_VALUE;
    n = snprintf(id, (size_t) size, "0000:%02X:00.0", fakegpu_bus(index));
    /* as CUDA, which does not accept a buffer that is too small */
    return n < size ? SUCCESS : INVALID_VALUE;
}

/* Returns the whole GPU's UUID, even if the device is a part of it. */
int cuDeviceGetUuid(struct uuid *uuid, int device)
{
    int index = fakegpu_index(device);

    if (fakegpu_fails("cuDeviceGetUuid"))
        return UNKNOWN;
    if (index < 0)
        return INVALID_DEVICE;
    fakegpu_uuid(index, uuid->bytes);
    return SUCCESS;
}

/* Returns the MIG instance's UUID if the device is one. */
int cuDeviceGetUuid_v2(struct uuid *uuid, int device)
{
    if (fakegpu_fails("cuDeviceGetUuid_v2"))
        return UNKNOWN;
    if (fakegpu_index(device) < 0)
        return INVALID_DEVICE;
    if (fakegpu_mig_uuid(uuid->bytes) < 0)
        fakegpu_uuid(fakegpu_index(device), uuid->bytes);
    return SUCCESS;
}
