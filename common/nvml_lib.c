/* nvml_lib.c - find NVML's functions by their names. NVML adds a suffix if the
 * arguments change, so a name identifies one signature. */
#include "common/loadlib.h"
#include "common/nvml_lib.h"

#include <stddef.h>
#include <string.h>

/* The functions: names, the newest first, then an older one with the same
 * signature; the member of struct nvml_lib; whether NVML is useless without
 * it. */
static const struct loadlib_function functions[] = {
#define AT(member) offsetof(struct nvml_lib, member)
    {{"nvmlInit_v2", "nvmlInit"}, AT(init), true},
    {{"nvmlDeviceGetCount_v2", NULL}, AT(count), true},
    {{"nvmlDeviceGetHandleByIndex_v2", NULL}, AT(device), true},
    {{"nvmlDeviceGetPciInfo_v3", NULL}, AT(pci), true},
    {{"nvmlShutdown", NULL}, AT(shutdown), false},
    {{"nvmlErrorString", NULL}, AT(error), false},
    {{"nvmlSystemGetDriverVersion", NULL}, AT(driver), false},
    {{"nvmlDeviceGetUUID", NULL}, AT(uuid), false},
    {{"nvmlDeviceGetName", NULL}, AT(name), false},
    {{"nvmlDeviceGetMinorNumber", NULL}, AT(minor), false},
    {{"nvmlDeviceGetNvLinkState", NULL}, AT(link_state), false},
    {{"nvmlDeviceGetNvLinkVersion", NULL}, AT(link_version), false},
    {{"nvmlDeviceGetNvLinkCapability", NULL}, AT(link_cap), false},
    {{"nvmlDeviceGetNvLinkRemoteDeviceType", NULL}, AT(remote_type), false},
    {{"nvmlDeviceGetNvLinkRemotePciInfo_v2", NULL}, AT(remote_pci), false},
    {{"nvmlDeviceGetFieldValues", NULL}, AT(fields), false},
    {{"nvmlDeviceGetGpuFabricInfo", NULL}, AT(fabric), false},
    {{"nvmlDeviceGetGpuFabricInfoV", NULL}, AT(fabric_v), false},
    {{"nvmlDeviceGetMigMode", NULL}, AT(mig_mode), false},
    {{"nvmlDeviceGetMaxMigDeviceCount", NULL}, AT(mig_max), false},
    {{"nvmlDeviceGetMigDeviceHandleByIndex", NULL}, AT(mig_device), false},
    {{"nvmlDeviceGetUtilizationRates", NULL}, AT(use), false},
    {{"nvmlDeviceGetMemoryInfo", NULL}, AT(memory), false},
    {{"nvmlDeviceGetPowerUsage", NULL}, AT(power), false},
    {{"nvmlDeviceGetEnforcedPowerLimit", NULL}, AT(power_limit), false},
    {{"nvmlDeviceGetTotalEnergyConsumption", NULL}, AT(energy), false},
    {{"nvmlDeviceGetTemperature", NULL}, AT(temperature), false},
    {{"nvmlDeviceGetClockInfo", NULL}, AT(clock), false},
    {{"nvmlDeviceGetMaxClockInfo", NULL}, AT(max_clock), false},
    {{"nvmlDeviceGetCurrentClocksEventReasons",
      "nvmlDeviceGetCurrentClocksThrottleReasons"},
     AT(reasons),
     false},
    {{"nvmlDeviceGetCurrPcieLinkGeneration", NULL}, AT(generation), false},
    {{"nvmlDeviceGetCurrPcieLinkWidth", NULL}, AT(width), false},
    {{"nvmlDeviceGetPcieThroughput", NULL}, AT(throughput), false},
    {{"nvmlDeviceGetPcieReplayCounter", NULL}, AT(replays), false},
    {{"nvmlDeviceGetTotalEccErrors", NULL}, AT(ecc), false},
    {{"nvmlDeviceGetNvLinkErrorCounter", NULL}, AT(link_errors), false},
    {{"nvmlDeviceGetComputeRunningProcesses_v3",
      "nvmlDeviceGetComputeRunningProcesses_v2"},
     AT(processes),
     false},
    {{"nvmlDeviceGetProcessUtilization", NULL}, AT(process_use), false},
    {{"nvmlEventSetCreate", NULL}, AT(events_create), false},
    {{"nvmlDeviceRegisterEvents", NULL}, AT(events_add), false},
    /* the older function fills less of the same structure */
    {{"nvmlEventSetWait_v2", "nvmlEventSetWait"}, AT(events_wait), false},
    {{NULL, NULL}, 0, false},
#undef AT
};

const char *nvml_lib_open(struct nvml_lib *lib, const char *library)
{
    const char *const names[] = {library, NULL};

    memset(lib, 0, sizeof(*lib));
    return loadlib_open(lib, names, functions);
}

void nvml_lib_close(struct nvml_lib *lib)
{
    loadlib_close(lib);
    memset(lib, 0, sizeof(*lib));
}
