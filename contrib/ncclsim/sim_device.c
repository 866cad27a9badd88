/* sim_device.c - the GPUs of a process that has several. */
#include "contrib/ncclsim/sim_device.h"

#include <dlfcn.h>
#include <stddef.h>

/* The driver's functions, by the CUDA driver API's reference manual. A context
 * is a pointer, a device a number. */
static struct {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*get)(int *device, int ordinal);
    int (*retain)(void **context, int device);
    int (*make_current)(void *context);
} driver;

static void *find_function(void *lib, const char *name, struct jp_error *err)
{
    void *function = lib ? dlsym(lib, name) : NULL;

    if (lib && !function)
        error_set(err, "libcuda.so.1 has no %s", name);
    return function;
}

int sim_device_load(int n, struct jp_error *err)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int has = 0;

    if (!lib)
        return error_set(err, "--gpus: %s", dlerror());
    driver.init = (int (*)(unsigned)) find_function(lib, "cuInit", err);
    driver.count = (int (*)(int *)) find_function(lib, "cuDeviceGetCount", err);
    driver.get = (int (*)(int *, int)) find_function(lib, "cuDeviceGet", err);
    driver.retain = (int (*)(void **, int)) find_function(
        lib, "cuDevicePrimaryCtxRetain", err);
    driver.make_current =
        (int (*)(void *)) find_function(lib, "cuCtxSetCurrent", err);
    if (!driver.init || !driver.count || !driver.get || !driver.retain ||
        !driver.make_current)
        return -1;
    if (driver.init(0) != 0 || driver.count(&has) != 0 || has < n)
        return error_set(err, "--gpus: CUDA has %d devices, not %d", has, n);
    return 0;
}

int sim_device_set(int device, struct jp_error *err)
{
    void *context;
    int handle;

    if (driver.get(&handle, device) == 0 &&
        driver.retain(&context, handle) == 0 &&
        driver.make_current(context) == 0)
        return 0;
    return error_set(err, "device %d cannot be set", device);
}
