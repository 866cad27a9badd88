/* fake_peers.c - libnvidia-ml.so.1 of a machine without a GPU: what NCCL asks of
 * it beyond the other files. NCCL uses the names without a version. */
#include "contrib/fakegpu/fake_nvml.h"

/* nvmlGpuP2PStatus_t */
enum { P2P_OK = 0 };

FAKEGPU_EXPORT int nvmlInit(void);
FAKEGPU_EXPORT int nvmlInit_v2(void);
FAKEGPU_EXPORT int nvmlDeviceGetCount(unsigned *count);
FAKEGPU_EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
FAKEGPU_EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, void **device);
FAKEGPU_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
FAKEGPU_EXPORT int nvmlDeviceGetHandleByPciBusId(const char *id, void **device);
FAKEGPU_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id,
                                                    void **device);
FAKEGPU_EXPORT int nvmlDeviceGetNvLinkRemotePciInfo(void *device, unsigned link,
                                                    struct fake_pci *pci);
FAKEGPU_EXPORT int nvmlDeviceGetCudaComputeCapability(void *device, int *major,
                                                      int *minor);
FAKEGPU_EXPORT int nvmlDeviceGetP2PStatus(void *a, void *b, int what,
                                          int *status);

int nvmlInit(void)
{
    return nvmlInit_v2();
}

int nvmlDeviceGetCount(unsigned *count)
{
    return nvmlDeviceGetCount_v2(count);
}

int nvmlDeviceGetHandleByIndex(unsigned index, void **device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

int nvmlDeviceGetHandleByPciBusId(const char *id, void **device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(id, device);
}

int nvmlDeviceGetNvLinkRemotePciInfo(void *device, unsigned link,
                                     struct fake_pci *pci)
{
    return nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, pci);
}

/* An A100's, as contrib/fakecuda's. */
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    if (!fake_nvml_is_gpu(device))
        return INVALID_ARGUMENT;
    *major = 8;
    *minor = 0;
    return SUCCESS;
}

int nvmlDeviceGetP2PStatus(void *a, void *b, int what, int *status)
{
    (void) what;
    if (!fake_nvml_is_gpu(a) || !fake_nvml_is_gpu(b))
        return INVALID_ARGUMENT;
    *status = P2P_OK;
    return SUCCESS;
}
