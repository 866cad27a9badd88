/* What the GPUs of a machine without one are doing: NVML's samples.
 *
 * FAKEGPU_LOAD names a file of values over time, see fake_script.h. A name that
 * is not there is not supported. Names: sm memory (percent), used total
 * (bytes), power limit (mW), celsius, sm_mhz sm_max_mhz memory_mhz, reasons
 * (NVML's bits), generation, width, rx tx (KB/s), replays, ecc.
 */
#include "contrib/fakegpu/fake_nvml.h"
#include "contrib/fakegpu/fake_script.h"

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, PCIE_TX = 0, PCIE_RX = 1 };

struct fake_use {
    unsigned gpu, memory;
};

struct fake_memory {
    unsigned long long total, free, used;
};

FAKEGPU_EXPORT int nvmlDeviceGetUtilizationRates(void *device,
                                                 struct fake_use *use);
FAKEGPU_EXPORT int nvmlDeviceGetMemoryInfo(void *device,
                                           struct fake_memory *memory);
FAKEGPU_EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
FAKEGPU_EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw);
FAKEGPU_EXPORT int nvmlDeviceGetTemperature(void *device, int sensor,
                                            unsigned *celsius);
FAKEGPU_EXPORT int nvmlDeviceGetClockInfo(void *device, int type,
                                          unsigned *mhz);
FAKEGPU_EXPORT int nvmlDeviceGetMaxClockInfo(void *device, int type,
                                             unsigned *mhz);
FAKEGPU_EXPORT int
nvmlDeviceGetCurrentClocksThrottleReasons(void *device,
                                          unsigned long long *bits);
FAKEGPU_EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void *device,
                                                       unsigned *n);
FAKEGPU_EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *n);
FAKEGPU_EXPORT int nvmlDeviceGetPcieThroughput(void *device, int counter,
                                               unsigned *kbs);
FAKEGPU_EXPORT int nvmlDeviceGetPcieReplayCounter(void *device, unsigned *n);
FAKEGPU_EXPORT int nvmlDeviceGetTotalEccErrors(void *device, int type,
                                               int counter,
                                               unsigned long long *n);

/* NOT_SUPPORTED: the file does not have it. */
static int look(const char *function, const void *device, const char *name,
                unsigned long long *out)
{
    if (fakegpu_fails(function))
        return UNKNOWN;
    if (!fake_nvml_is_gpu(device))
        return INVALID_ARGUMENT;
    return fake_script_find(fake_nvml_index(device), name, out) < 0
               ? NOT_SUPPORTED
               : SUCCESS;
}

static int look_small(const char *function, const void *device,
                      const char *name, unsigned *out)
{
    unsigned long long number = 0;
    int rc = look(function, device, name, &number);

    if (rc == SUCCESS)
        *out = (unsigned) number;
    return rc;
}

int nvmlDeviceGetUtilizationRates(void *device, struct fake_use *use)
{
    int rc = look_small(__func__, device, "sm", &use->gpu);

    return rc == SUCCESS ? look_small(__func__, device, "memory", &use->memory)
                         : rc;
}

int nvmlDeviceGetMemoryInfo(void *device, struct fake_memory *memory)
{
    int rc = look(__func__, device, "used", &memory->used);

    if (rc == SUCCESS)
        rc = look(__func__, device, "total", &memory->total);
    memory->free = memory->total - memory->used;
    return rc;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
    return look_small(__func__, device, "power", mw);
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw)
{
    return look_small(__func__, device, "limit", mw);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    return sensor == 0 ? look_small(__func__, device, "celsius", celsius)
                       : INVALID_ARGUMENT;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
    return type == CLOCK_SM ? look_small(__func__, device, "sm_mhz", mhz)
           : type == CLOCK_MEMORY
               ? look_small(__func__, device, "memory_mhz", mhz)
               : INVALID_ARGUMENT;
}

int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz)
{
    return type == CLOCK_SM ? look_small(__func__, device, "sm_max_mhz", mhz)
                            : INVALID_ARGUMENT;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device,
                                              unsigned long long *bits)
{
    return look(__func__, device, "reasons", bits);
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *n)
{
    return look_small(__func__, device, "generation", n);
}

int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *n)
{
    return look_small(__func__, device, "width", n);
}

int nvmlDeviceGetPcieThroughput(void *device, int counter, unsigned *kbs)
{
    return counter == PCIE_TX   ? look_small(__func__, device, "tx", kbs)
           : counter == PCIE_RX ? look_small(__func__, device, "rx", kbs)
                                : INVALID_ARGUMENT;
}

int nvmlDeviceGetPcieReplayCounter(void *device, unsigned *n)
{
    return look_small(__func__, device, "replays", n);
}

int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter,
                                unsigned long long *n)
{
    return type == 1 && counter == 0 ? look(__func__, device, "ecc", n)
                                     : NOT_SUPPORTED;
}
