/* fake_load.c - what the GPUs of a machine without one are doing: NVML's
 * samples.
 *
 * FAKEGPU_LOAD names a file of values over time, see fake_script.h. A value
 * whose name is missing there is not supported. Names: sm memory (percent),
 * used total (bytes), power limit (mW), energy (mJ), celsius, sm_mhz sm_max_mhz
 * memory_mhz, reasons (NVML's bits), generation, width, rx tx (KB/s), replays,
 * ecc, corrected, link_errors (of link 0), nvlink_tx nvlink_rx (KiB), pid0 to
 * pid3 (processes) with pid0_sm ... (percent), xid (an event at each change).
 */
#include <stdint.h>
#include <stdio.h>

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

struct fake_process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

struct fake_process_use {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder;
};

struct fake_event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

FAKEGPU_EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device,
                                                       unsigned long long *mj);
FAKEGPU_EXPORT int nvmlDeviceGetNvLinkErrorCounter(void *device, unsigned link,
                                                   int counter,
                                                   unsigned long long *n);
FAKEGPU_EXPORT int
nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n,
                                        struct fake_process *list);
FAKEGPU_EXPORT int
nvmlDeviceGetProcessUtilization(void *device, struct fake_process_use *list,
                                unsigned *n, unsigned long long since_us);
FAKEGPU_EXPORT int nvmlEventSetCreate(void **set);
FAKEGPU_EXPORT int
nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set);
FAKEGPU_EXPORT int nvmlEventSetWait_v2(void *set, struct fake_event *event,
                                       unsigned timeout_ms);

static int find_value(const char *function, const void *device,
                      const char *name, unsigned long long *out);

int fake_load_number(const void *device, const char *name,
                     unsigned long long *out)
{
    return find_value("nvmlDeviceGetFieldValues", device, name, out);
}

/* Finds a value for the function. NOT_SUPPORTED: the file does not have it. */
static int find_value(const char *function, const void *device,
                      const char *name, unsigned long long *out)
{
    if (fakegpu_fails(function))
        return UNKNOWN;
    if (!fake_nvml_is_gpu(device))
        return INVALID_ARGUMENT;
    return fake_script_find(fake_nvml_index(device), name, out) < 0
               ? NOT_SUPPORTED
               : SUCCESS;
}

/* The same for a value of 32 bits. */
static int look_small(const char *function, const void *device,
                      const char *name, unsigned *out)
{
    unsigned long long number = 0;
    int rc = find_value(function, device, name, &number);

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
    int rc = find_value(__func__, device, "used", &memory->used);

    if (rc == SUCCESS)
        rc = find_value(__func__, device, "total", &memory->total);
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
    return find_value(__func__, device, "reasons", bits);
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
    return counter != 0 ? NOT_SUPPORTED
                        : find_value(__func__, device,
                                     type == 1 ? "ecc" : "corrected", n);
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
    return find_value(__func__, device, "energy", mj);
}

int nvmlDeviceGetNvLinkErrorCounter(void *device, unsigned link, int counter,
                                    unsigned long long *n)
{
    if (link > 0)
        return INVALID_ARGUMENT;
    return counter == 0 ? find_value(__func__, device, "link_errors", n)
                        : NOT_SUPPORTED;
}

enum { PROCESSES = 4 };

/* Returns a value of the file's process number i, such as its pid (what ""); 0:
 * none. */
static unsigned process(const char *function, const void *device, int i,
                        const char *what)
{
    char name[16];
    unsigned n = 0;

    snprintf(name, sizeof(name), "pid%d%s", i, what);
    return look_small(function, device, name, &n) == SUCCESS ? n : 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n,
                                            struct fake_process *list)
{
    unsigned found = 0, ignored;

    if (look_small(__func__, device, "pid0", &ignored) != SUCCESS)
        return NOT_SUPPORTED;
    for (int i = 0; i < PROCESSES && found < *n; i++) {
        unsigned pid = process(__func__, device, i, "");

        if (pid)
            list[found++] = (struct fake_process){.pid = pid};
    }
    *n = found;
    return SUCCESS;
}

int nvmlDeviceGetProcessUtilization(void *device, struct fake_process_use *list,
                                    unsigned *n, unsigned long long since_us)
{
    unsigned found = 0, ignored;

    if (look_small(__func__, device, "pid0", &ignored) != SUCCESS)
        return NOT_SUPPORTED;
    for (int i = 0; i < PROCESSES && found < *n; i++) {
        unsigned pid = process(__func__, device, i, "");

        if (pid)
            list[found++] = (struct fake_process_use){
                .pid = pid,
                /* newer than the caller's last sample */
                .time_us = since_us + 1,
                .sm = process(__func__, device, i, "_sm")};
    }
    *n = found;
    return found ? SUCCESS : NOT_FOUND;
}

int nvmlEventSetCreate(void **set)
{
    static char the_set;

    if (fakegpu_fails(__func__))
        return UNKNOWN;
    *set = &the_set;
    return SUCCESS;
}

/* The GPUs that are watched, and the last error that was reported of each. */
static unsigned long long told[FAKEGPU_MAX];
static int is_watched[FAKEGPU_MAX];

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set)
{
    unsigned long long xid;

    /* 8: critical Xid errors */
    if (!set || types != 8 ||
        find_value(__func__, device, "xid", &xid) != SUCCESS)
        return NOT_SUPPORTED;
    is_watched[fake_nvml_index(device)] = 1;
    return SUCCESS;
}

int nvmlEventSetWait_v2(void *set, struct fake_event *event,
                        unsigned timeout_ms)
{
    for (int i = 0; i < fakegpu_count() && set; i++) {
        void *device = (void *) (uintptr_t) (i + 1);
        unsigned long long xid = 0;

        if (!is_watched[i] ||
            find_value(__func__, device, "xid", &xid) != SUCCESS ||
            xid == told[i])
            continue;
        told[i] = xid;
        *event = (struct fake_event){.device = device, .type = 8, .data = xid};
        return SUCCESS;
    }
    /* an agent must never wait here */
    return timeout_ms ? UNKNOWN : TIMEOUT;
}
