/* fake_nvml.h - what the files of the stand-in for libnvidia-ml.so.1 share:
 * NVML's names and layouts, as in its reference manual. */
#ifndef JP_FAKE_NVML_H
#define JP_FAKE_NVML_H

#include "contrib/fakegpu/fakegpu.h"

enum {
    SUCCESS = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    TIMEOUT = 10,
    VERSION_MISMATCH = 25,
    UNKNOWN = 999,
};

struct fake_pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

struct fake_field {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type, result;
    union {
        unsigned ui;
        unsigned long long ull;
        double d;
    } value;
};

/* nvmlGpuFabricInfo_v3_t; version 2 ends before health. */
struct fake_fabric {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health_mask;
    unsigned char health;
};

/* The number of a handle's GPU; and whether it is a whole GPU. */
int fake_nvml_index(const void *device);
int fake_nvml_is_gpu(const void *device);

/* Finds a value in the file of FAKEGPU_LOAD. Returns NVML's result. */
int fake_load_number(const void *device, const char *name,
                     unsigned long long *out);

FAKEGPU_EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned link,
                                            int *active);
FAKEGPU_EXPORT int nvmlDeviceGetNvLinkVersion(void *device, unsigned link,
                                              unsigned *version);
FAKEGPU_EXPORT int nvmlDeviceGetNvLinkCapability(void *device, unsigned link,
                                                 int capability,
                                                 unsigned *result);
FAKEGPU_EXPORT int
nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, int *type);
FAKEGPU_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device,
                                                       unsigned link,
                                                       struct fake_pci *pci);
FAKEGPU_EXPORT int nvmlDeviceGetFieldValues(void *device, int n,
                                            struct fake_field *fields);
FAKEGPU_EXPORT int nvmlDeviceGetGpuFabricInfoV(void *device,
                                               struct fake_fabric *info);

#endif
