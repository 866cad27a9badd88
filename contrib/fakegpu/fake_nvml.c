/* fake_nvml.c - libnvidia-ml.so.1 of a machine without a GPU: which GPUs there
 * are, and their names.
 *
 * Names, arguments and result numbers are those of the NVML reference manual. A
 * GPU's handle is its index plus one; that of its MIG instance is 100 more.
 * fake_links.c, fake_load.c and fake_peers.c have the other functions of the
 * library. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "contrib/fakegpu/fake_nvml.h"

/* Distance between the handles of a GPU and of its MIG instance. */
enum { MIG_HANDLE = 100 };

FAKEGPU_EXPORT int nvmlInit_v2(void);
FAKEGPU_EXPORT int nvmlShutdown(void);
FAKEGPU_EXPORT const char *nvmlErrorString(int result);
FAKEGPU_EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
FAKEGPU_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
FAKEGPU_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id,
                                                    void **device);
FAKEGPU_EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size);
FAKEGPU_EXPORT int nvmlDeviceGetMinorNumber(void *device, unsigned *minor);
FAKEGPU_EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device,
                                                  unsigned *count);
FAKEGPU_EXPORT int nvmlDeviceGetIndex(void *device, unsigned *index);
FAKEGPU_EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned size);
FAKEGPU_EXPORT int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size);
FAKEGPU_EXPORT int nvmlDeviceGetPciInfo_v3(void *device, struct fake_pci *pci);
FAKEGPU_EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *current,
                                        unsigned *pending);
FAKEGPU_EXPORT int
nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **mig);

int fake_nvml_index(const void *device)
{
    return (int) ((uintptr_t) device % MIG_HANDLE) - 1;
}

/* Whether the handle is that of a MIG instance. */
static int is_mig(const void *device)
{
    return (uintptr_t) device > MIG_HANDLE;
}

/* Whether the handle is that of an existing GPU or its instance. */
static int is_known(const void *device)
{
    return fake_nvml_index(device) >= 0 &&
           fake_nvml_index(device) < fakegpu_count();
}

int fake_nvml_is_gpu(const void *device)
{
    return is_known(device) && !is_mig(device);
}

int nvmlInit_v2(void)
{
    return fakegpu_fails("nvmlInit_v2") ? UNKNOWN : SUCCESS;
}

int nvmlShutdown(void)
{
    return fakegpu_fails("nvmlShutdown") ? UNKNOWN : SUCCESS;
}

const char *nvmlErrorString(int result)
{
    return result == SUCCESS ? "Success" : "no such GPU";
}

/* "garbage" results are formally valid but absurd; a caller must check them. */
int nvmlDeviceGetCount_v2(unsigned *count)
{
    if (fakegpu_fails("nvmlDeviceGetCount_v2"))
        return UNKNOWN;
    *count = fakegpu_garbage("count") ? UINT32_MAX : (unsigned) fakegpu_count();
    return SUCCESS;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    if (fakegpu_fails("nvmlSystemGetDriverVersion"))
        return UNKNOWN;
    return snprintf(text, size, "550.54.15") < (int) size ? SUCCESS
                                                          : INSUFFICIENT_SIZE;
}

/* Instances have no device file of their own, as on a real machine. */
int nvmlDeviceGetMinorNumber(void *device, unsigned *minor)
{
    if (fakegpu_fails("nvmlDeviceGetMinorNumber"))
        return UNKNOWN;
    if (!is_known(device) || is_mig(device))
        return INVALID_ARGUMENT;
    *minor = (unsigned) fake_nvml_index(device);
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (fakegpu_fails("nvmlDeviceGetHandleByIndex_v2"))
        return UNKNOWN;
    if (index >= (unsigned) fakegpu_count())
        return INVALID_ARGUMENT;
    *device = (void *) (uintptr_t) (index + 1);
    return SUCCESS;
}

/* Accepts the domain with eight digits, as NVML writes it, or four, as CUDA
 * does. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device)
{
    int i;

    if (fakegpu_fails("nvmlDeviceGetHandleByPciBusId_v2"))
        return UNKNOWN;
    for (i = 0; i < fakegpu_count(); i++) {
        char name[32];

        snprintf(name, sizeof(name), "00000000:%02X:00.0", fakegpu_bus(i));
        if (strcasecmp(id, name) == 0 || strcasecmp(id, name + 4) == 0) {
            *device = (void *) (uintptr_t) (i + 1);
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetIndex(void *device, unsigned *index)
{
    if (fakegpu_fails("nvmlDeviceGetIndex"))
        return UNKNOWN;
    if (!is_known(device))
        return INVALID_ARGUMENT;
    *index = is_mig(device) ? 0 : (unsigned) fake_nvml_index(device);
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    if (fakegpu_fails("nvmlDeviceGetName"))
        return UNKNOWN;
    if (!is_known(device))
        return INVALID_ARGUMENT;
    return snprintf(name, size, "Fake GPU") < (int) size ? SUCCESS
                                                         : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
    unsigned char uuid[FAKEGPU_UUID_BYTES];
    const char *prefix = is_mig(device) ? "MIG" : "GPU";

    if (fakegpu_fails("nvmlDeviceGetUUID"))
        return UNKNOWN;
    if (!is_known(device))
        return INVALID_ARGUMENT;
    if (fakegpu_garbage("texts")) {
        memset(text, 0xA5, size); /* without a terminating NUL */
        return SUCCESS;
    }
    if (!is_mig(device))
        fakegpu_uuid(fake_nvml_index(device), uuid);
    else if (fakegpu_mig_uuid(uuid) < 0)
        return NOT_FOUND;
    return fakegpu_format_uuid(prefix, uuid, text, size) < 0 ? INSUFFICIENT_SIZE
                                                             : SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct fake_pci *pci)
{
    unsigned bus;

    if (fakegpu_fails("nvmlDeviceGetPciInfo_v3"))
        return UNKNOWN;
    if (!is_known(device) || is_mig(device))
        return INVALID_ARGUMENT;
    bus = (unsigned) fakegpu_bus(fake_nvml_index(device)) & 0xFF;
    memset(pci, 0, sizeof(*pci));
    pci->bus = bus;
    snprintf(pci->legacy_id, sizeof(pci->legacy_id), "0000:%02X:00.0", bus);
    snprintf(pci->id, sizeof(pci->id), "00000000:%02X:00.0", bus);
    return SUCCESS;
}

int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
    if (fakegpu_fails("nvmlDeviceGetMigMode"))
        return UNKNOWN;
    if (!is_known(device))
        return INVALID_ARGUMENT;
    *current = *pending = getenv("FAKEGPU_MIG") != NULL;
    return SUCCESS;
}

/* With FAKEGPU_MIG each GPU has exactly one instance. */
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index,
                                        void **mig)
{
    if (fakegpu_fails("nvmlDeviceGetMigDeviceHandleByIndex"))
        return UNKNOWN;
    if (!getenv("FAKEGPU_MIG"))
        return NOT_SUPPORTED;
    if (!is_known(device) || index != 0)
        return NOT_FOUND;
    *mig = (void *) ((uintptr_t) device + MIG_HANDLE);
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count)
{
    if (fakegpu_fails("nvmlDeviceGetMaxMigDeviceCount"))
        return UNKNOWN;
    if (!is_known(device))
        return INVALID_ARGUMENT;
    *count = fakegpu_garbage("count") ? UINT32_MAX : 7;
    return SUCCESS;
}
