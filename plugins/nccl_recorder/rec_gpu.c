/* Which GPU the calling thread's communicator uses. */
#include "plugins/nccl_recorder/rec_gpu.h"

#include <stdio.h>
#include <string.h>

#include "plugins/nccl_recorder/rec_compat.h"

/* The parts of the driver's and the runtime's interface that are needed: a
 * device is an int, a UUID 16 bytes, success is 0. */
struct uuid {
    unsigned char bytes[16];
};

typedef int get_device_fn(int *device);
typedef int get_pci_fn(char *out, int size, int device);
typedef int get_uuid_fn(struct uuid *out, int device);
typedef int get_handle_fn(int *handle, int ordinal);

static const char *const cuda_runtimes[] = {
    "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"};

/* A library the process has already, or the program itself; never loads. */
static void *find_library(const char *name, const char *symbol)
{
    void *lib = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);

    if (lib && dlsym(lib, symbol))
        return lib;
    if (lib)
        dlclose(lib);
    return NULL;
}

/* A function of a library; a program linked statically has it itself. */
static void *find_function(void *lib, const char *symbol)
{
    return dlsym(lib ? lib : RTLD_DEFAULT, symbol);
}

static void *find_runtime(void)
{
    void *lib = NULL;
    size_t i;

    for (i = 0; !lib && i < sizeof(cuda_runtimes) / sizeof(cuda_runtimes[0]);
         i++)
        lib = find_library(cuda_runtimes[i], "cudaGetDevice");
    return lib;
}

static void format_uuid(const struct uuid *uuid, char *out, size_t size)
{
    const unsigned char *b = uuid->bytes;

    snprintf(out, size,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
}

/* Lower case, and the bus id of sysfs: four digits of domain. */
static void tidy_pci(char *pci)
{
    char *c;

    for (c = pci; *c; c++)
        *c |= *c >= 'A' && *c <= 'Z' ? 0x20 : 0;
    if (strlen(pci) == 16 && strncmp(pci, "0000", 4) == 0)
        memmove(pci, pci + 4, 13);
}

/* The driver's device of the thread: by its context, else as the runtime
 * numbers it, which before any context is the same for device 0 up. */
static int current_device(void *driver, void *runtime, int *device)
{
    get_device_fn *get =
        (get_device_fn *) find_function(driver, "cuCtxGetDevice");
    get_device_fn *number =
        (get_device_fn *) find_function(runtime, "cudaGetDevice");
    get_handle_fn *handle =
        (get_handle_fn *) find_function(driver, "cuDeviceGet");
    int ordinal;

    if (get && get(device) == 0)
        return 0;
    if (number && number(&ordinal) == 0 && handle)
        return handle(device, ordinal) == 0 ? 0 : -1;
    return -1;
}

void rec_gpu_identify(char *pci, size_t pci_size, char *uuid, size_t uuid_size)
{
    void *driver = find_library("libcuda.so.1", "cuDeviceGetPCIBusId");
    void *runtime = find_runtime();
    get_pci_fn *get_pci =
        (get_pci_fn *) find_function(driver, "cuDeviceGetPCIBusId");
    get_uuid_fn *get_uuid =
        (get_uuid_fn *) find_function(driver, "cuDeviceGetUuid_v2");
    struct uuid id;
    int device;

    pci[0] = uuid[0] = '\0';
    if (!get_uuid)
        get_uuid = (get_uuid_fn *) find_function(driver, "cuDeviceGetUuid");
    if (current_device(driver, runtime, &device) == 0) {
        if (get_pci && get_pci(pci, (int) pci_size, device) != 0)
            pci[0] = '\0';
        pci[pci_size - 1] = '\0';
        tidy_pci(pci);
        if (get_uuid && get_uuid(&id, device) == 0)
            format_uuid(&id, uuid, uuid_size);
    }
    if (driver)
        dlclose(driver);
    if (runtime)
        dlclose(runtime);
}

unsigned rec_gpu_nccl_release(void)
{
    typedef int get_version_fn(int *version);
    void *nccl = find_library("libnccl.so.2", "ncclGetVersion");
    get_version_fn *get =
        (get_version_fn *) find_function(nccl, "ncclGetVersion");
    int version = 0;

    if (!get || get(&version) != 0 || version < 0)
        version = 0;
    if (nccl)
        dlclose(nccl);
    return (unsigned) version;
}
