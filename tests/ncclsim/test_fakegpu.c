/* The stand-ins for CUDA and NVML: one GPU has the same name in all three. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_tests;
static int n_bad;

static void check(int ok, const char *what)
{
    printf("%sok %d - %s\n", ok ? "" : "not ", ++n_tests, what);
    n_bad += !ok;
}

static void *open_library(const char *name)
{
    const char *build = getenv("top_builddir");
    char path[4096];

    snprintf(path, sizeof(path), "%s/contrib/fakegpu/.libs/%s",
             build ? build : ".", name);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Functions of one library; what is not there ends the test. */
static void *find(void *library, const char *name)
{
    void *function = library ? dlsym(library, name) : NULL;

    if (!function) {
        printf("Bail out! %s does not exist\n", name);
        exit(1);
    }
    return function;
}

static void check_one_gpu(void *cuda, void *cudart, void *nvml)
{
    int (*get)(int *) = (int (*)(int *)) find(cudart, "cudaGetDevice");
    int (*bus)(char *, int, int) =
        (int (*)(char *, int, int)) find(cuda, "cuDeviceGetPCIBusId");
    int (*uuid)(unsigned char *, int) =
        (int (*)(unsigned char *, int)) find(cuda, "cuDeviceGetUuid");
    int (*by_bus)(const char *, void **) = (int (*)(
        const char *, void **)) find(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
    int (*name)(void *, char *, unsigned) =
        (int (*)(void *, char *, unsigned)) find(nvml, "nvmlDeviceGetUUID");
    int device = -1;
    char id[32] = "";
    char text[64] = "";
    char want[64];
    unsigned char u[16] = {0};
    void *handle = NULL;

    check(get(&device) == 0 && device == 1, "FAKEGPU_DEVICE is the ordinal");
    check(bus(id, sizeof(id), device) == 0 && strcmp(id, "0000:32:00.0") == 0,
          "CUDA_VISIBLE_DEVICES says which GPU that is");
    check(uuid(u, device) == 0 && by_bus(id, &handle) == 0 &&
              name(handle, text, sizeof(text)) == 0,
          "NVML knows it by its bus id");
    snprintf(want, sizeof(want),
             "GPU-%02x%02x0000-0000-4000-8000-0000000000%02x", u[0], u[1],
             u[15]);
    check(strcmp(text, want) == 0 && u[15] == 3, "and gives the same UUID");
    check(uuid(u, 2) != 0, "there are two");
    check(name(handle, text, 8) != 0, "a short buffer is an error");
}

static void check_mig(void *cuda)
{
    static const unsigned char want[2] = {0x12, 0x9a};
    int (*v1)(unsigned char *, int) =
        (int (*)(unsigned char *, int)) find(cuda, "cuDeviceGetUuid");
    int (*v2)(unsigned char *, int) =
        (int (*)(unsigned char *, int)) find(cuda, "cuDeviceGetUuid_v2");
    unsigned char u[16] = {0};

    setenv("FAKEGPU_MIG", "MIG-12345678-9abc-4def-8000-0123456789ab", 1);
    check(v2(u, 0) == 0 && u[0] == want[0] && u[4] == want[1],
          "a MIG instance has its own UUID");
    check(v1(u, 0) == 0 && u[0] == 0xfa, "and its GPU keeps its own");
    setenv("FAKEGPU_FAIL", "cudaGetDevice,cuDeviceGetUuid_v2", 1);
    check(v2(u, 0) != 0 && v1(u, 0) == 0, "what FAKEGPU_FAIL names fails");
}

int main(void)
{
    void *cuda = open_library("libcuda.so.1");
    void *cudart = open_library("libcudart.so.12");
    void *nvml = open_library("libnvidia-ml.so.1");

    unsetenv("FAKEGPU_MIG");
    unsetenv("FAKEGPU_FAIL");
    setenv("FAKEGPU_COUNT", "4", 1);
    setenv("CUDA_VISIBLE_DEVICES", "2,3", 1);
    setenv("FAKEGPU_DEVICE", "1", 1);
    puts("1..9");
    check_one_gpu(cuda, cudart, nvml);
    check_mig(cuda);
    return n_bad > 0;
}
