/* util_gpu.c - ask NVML for a sample, in a child. */
#include "plugins/util/util_gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugins/util/util_counter.h"

/* PCIe throughput is measured for 20 ms in the call: not in each sample. */
#define PCIE_EVERY 5

/* nvmlReturn_t, and the numbers of nvml.h */
enum {
    NVML_SUCCESS = 0,
    NVML_TEMPERATURE_GPU = 0,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEM = 2,
    NVML_PCIE_TX = 0,
    NVML_PCIE_RX = 1,
    NVML_UNCORRECTED = 1,
    NVML_VOLATILE = 0,
};

/* nvmlClocksEventReasons */
enum {
    REASON_POWER_CAP = 0x4,
    REASON_HW_SLOWDOWN = 0x8,
    REASON_SW_THERMAL = 0x20,
    REASON_HW_THERMAL = 0x40,
    REASON_HW_POWER_BRAKE = 0x80,
};

typedef struct nvml_device *nvml_device;

struct nvml_pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

struct nvml_use {
    unsigned gpu, memory;
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct gpu {
    nvml_device device;
    char id[UTIL_ID_MAX];
    struct util_counter replays, ecc;
    uint64_t mono_us;
    double pcie_in, pcie_out;
};

struct util_nvml {
    void *handle;
    int (*init)(void);
    int (*count)(unsigned *count);
    int (*device)(unsigned index, nvml_device *device);
    int (*pci)(nvml_device device, struct nvml_pci *pci);
    int (*minor)(nvml_device device, unsigned *minor);
    int (*use)(nvml_device device, struct nvml_use *use);
    int (*memory)(nvml_device device, struct nvml_memory *memory);
    int (*power)(nvml_device device, unsigned *mw);
    int (*power_limit)(nvml_device device, unsigned *mw);
    int (*temperature)(nvml_device device, int sensor, unsigned *celsius);
    int (*clock)(nvml_device device, int type, unsigned *mhz);
    int (*max_clock)(nvml_device device, int type, unsigned *mhz);
    int (*reasons)(nvml_device device, unsigned long long *bits);
    int (*generation)(nvml_device device, unsigned *n);
    int (*width)(nvml_device device, unsigned *lanes);
    int (*throughput)(nvml_device device, int counter, unsigned *kbs);
    int (*replays)(nvml_device device, unsigned *n);
    int (*ecc)(nvml_device device, int type, int counter,
               unsigned long long *n);
    struct gpu gpus[UTIL_GPUS_MAX];
    size_t n_gpus;
    uint64_t samples;
};

/* --- the library ---------------------------------------------------------- */

static const struct {
    const char *names[2]; /* an older name of the same function behind it */
    size_t where;
    bool needed;
} functions[] = {
#define AT(member) offsetof(struct util_nvml, member)
    {{"nvmlInit_v2", "nvmlInit"}, AT(init), true},
    {{"nvmlDeviceGetCount_v2", NULL}, AT(count), true},
    {{"nvmlDeviceGetHandleByIndex_v2", NULL}, AT(device), true},
    {{"nvmlDeviceGetPciInfo_v3", NULL}, AT(pci), true},
    {{"nvmlDeviceGetMinorNumber", NULL}, AT(minor), false},
    {{"nvmlDeviceGetUtilizationRates", NULL}, AT(use), false},
    {{"nvmlDeviceGetMemoryInfo", NULL}, AT(memory), false},
    {{"nvmlDeviceGetPowerUsage", NULL}, AT(power), false},
    {{"nvmlDeviceGetEnforcedPowerLimit", NULL}, AT(power_limit), false},
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
#undef AT
};

static int load(struct util_nvml *nvml, const char *library,
                struct jp_error *err)
{
    nvml->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!nvml->handle)
        return error_set(err, "no GPU: %s cannot be loaded", library);
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        void *found = dlsym(nvml->handle, functions[i].names[0]);

        if (!found && functions[i].names[1])
            found = dlsym(nvml->handle, functions[i].names[1]);
        if (!found && functions[i].needed)
            return error_set(err, "%s has no %s", library,
                             functions[i].names[0]);
        memcpy((char *) nvml + functions[i].where, &found, sizeof(found));
    }
    return 0;
}

/* Whether a list of numbers ("0,4-7") has n; an empty one has all. */
static bool lists(const char *list, unsigned n)
{
    unsigned long from, to;
    char *end;

    if (!list || !*list)
        return true;
    for (const char *at = list; *at; at = *end ? end + 1 : end) {
        from = to = strtoul(at, &end, 10);
        if (end == at) /* no list of numbers: it says nothing of GPUs */
            return true;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        if (n >= from && n <= to)
            return true;
        if (*end && *end != ',')
            return true;
    }
    return false;
}

static void add_gpu(struct util_nvml *nvml, unsigned index, const char *minors)
{
    struct gpu *gpu = &nvml->gpus[nvml->n_gpus];
    struct nvml_pci pci = {.domain = 0};
    unsigned minor = index;

    *gpu = (struct gpu){.replays = {UTIL_NONE},
                        .ecc = {UTIL_NONE},
                        .pcie_in = NAN,
                        .pcie_out = NAN};
    if (nvml->device(index, &gpu->device) != NVML_SUCCESS ||
        nvml->pci(gpu->device, &pci) != NVML_SUCCESS)
        return;
    if (nvml->minor && nvml->minor(gpu->device, &minor) != NVML_SUCCESS)
        minor = index;
    if (!lists(minors, minor))
        return;
    /* from the numbers: the text may be anything */
    snprintf(gpu->id, sizeof(gpu->id), "%04x:%02x:%02x.0", pci.domain & 0xffff,
             pci.bus & 0xff, pci.device & 0x1f);
    nvml->n_gpus++;
}

struct util_nvml *util_nvml_open(const char *library, const char *minors,
                                 struct jp_error *err)
{
    struct util_nvml *nvml = calloc(1, sizeof(*nvml));
    unsigned n = 0;
    int rc;

    if (!nvml) {
        error_set(err, "out of memory");
        return NULL;
    }
    if (load(nvml, library, err) < 0)
        goto fail;
    rc = nvml->init();
    if (rc != NVML_SUCCESS || (rc = nvml->count(&n)) != NVML_SUCCESS) {
        error_set(err, "no GPU: NVML says error %d", rc);
        goto fail;
    }
    for (unsigned i = 0; i < n && nvml->n_gpus < UTIL_GPUS_MAX; i++)
        add_gpu(nvml, i, minors);
    if (nvml->n_gpus)
        return nvml;
    error_set(err, "no GPU of this step");
fail:
    util_nvml_close(nvml);
    return NULL;
}

void util_nvml_close(struct util_nvml *nvml)
{
    if (nvml && nvml->handle)
        dlclose(nvml->handle);
    free(nvml);
}

/* --- a sample ------------------------------------------------------------- */

/* Each of these is called if the library has it, and answers. */
#define ASK(nvml, function, ...)                                               \
    ((nvml)->function && (nvml)->function(__VA_ARGS__) == NVML_SUCCESS)

static void read_use(const struct util_nvml *nvml, nvml_device device,
                     struct util_row *row)
{
    struct nvml_memory memory;
    struct nvml_use use;

    if (ASK(nvml, use, device, &use) && use.gpu <= 100 && use.memory <= 100) {
        row->v[GPU_SM] = use.gpu / 100.0;
        row->v[GPU_MEMORY_BUSY] = use.memory / 100.0;
    }
    if (ASK(nvml, memory, device, &memory) && memory.used <= memory.total) {
        row->v[GPU_MEMORY_USED] = (double) memory.used;
        row->v[GPU_MEMORY_TOTAL] = (double) memory.total;
    }
}

static void read_power(const struct util_nvml *nvml, nvml_device device,
                       struct util_row *row)
{
    unsigned long long bits;
    unsigned n;

    if (ASK(nvml, power, device, &n))
        row->v[GPU_POWER] = n / 1000.0;
    if (ASK(nvml, power_limit, device, &n))
        row->v[GPU_POWER_LIMIT] = n / 1000.0;
    if (ASK(nvml, temperature, device, NVML_TEMPERATURE_GPU, &n))
        row->v[GPU_TEMPERATURE] = n;
    if (ASK(nvml, clock, device, NVML_CLOCK_SM, &n))
        row->v[GPU_SM_CLOCK] = n;
    if (ASK(nvml, max_clock, device, NVML_CLOCK_SM, &n))
        row->v[GPU_SM_CLOCK_MAX] = n;
    if (ASK(nvml, clock, device, NVML_CLOCK_MEM, &n))
        row->v[GPU_MEMORY_CLOCK] = n;
    if (!ASK(nvml, reasons, device, &bits))
        return;
    row->v[GPU_THROTTLE_POWER] = (bits & REASON_POWER_CAP) != 0;
    row->v[GPU_THROTTLE_THERMAL] =
        (bits & (REASON_SW_THERMAL | REASON_HW_THERMAL)) != 0;
    row->v[GPU_THROTTLE_HARDWARE] =
        (bits & (REASON_HW_SLOWDOWN | REASON_HW_POWER_BRAKE)) != 0;
}

static void read_pcie(const struct util_nvml *nvml, struct gpu *gpu,
                      uint64_t mono_us, struct util_row *row)
{
    double seconds = gpu->mono_us && mono_us > gpu->mono_us
                         ? (double) (mono_us - gpu->mono_us) * 1e-6
                         : 0;
    unsigned long long errors;
    unsigned n;

    if (ASK(nvml, generation, gpu->device, &n))
        row->v[GPU_PCIE_GENERATION] = n;
    if (ASK(nvml, width, gpu->device, &n))
        row->v[GPU_PCIE_WIDTH] = n;
    if (nvml->samples % PCIE_EVERY == 0) {
        gpu->pcie_in = ASK(nvml, throughput, gpu->device, NVML_PCIE_RX, &n)
                           ? n * 1024.0
                           : NAN;
        gpu->pcie_out = ASK(nvml, throughput, gpu->device, NVML_PCIE_TX, &n)
                            ? n * 1024.0
                            : NAN;
    }
    row->v[GPU_PCIE_IN] = gpu->pcie_in;
    row->v[GPU_PCIE_OUT] = gpu->pcie_out;
    if (ASK(nvml, replays, gpu->device, &n))
        row->v[GPU_PCIE_REPLAYS] = util_rate(&gpu->replays, n, 1, seconds);
    if (ASK(nvml, ecc, gpu->device, NVML_UNCORRECTED, NVML_VOLATILE, &errors))
        row->v[GPU_ECC_ERRORS] = util_rate(&gpu->ecc, errors, 1, seconds);
    gpu->mono_us = mono_us;
}

size_t util_nvml_read(struct util_nvml *nvml, uint64_t mono_us,
                      struct util_row *out)
{
    for (size_t i = 0; i < nvml->n_gpus; i++) {
        struct gpu *gpu = &nvml->gpus[i];

        util_row_init(&out[i], 0, 0, gpu->id);
        read_use(nvml, gpu->device, &out[i]);
        read_power(nvml, gpu->device, &out[i]);
        read_pcie(nvml, gpu, mono_us, &out[i]);
    }
    nvml->samples++;
    return nvml->n_gpus;
}

/* --- the child ------------------------------------------------------------ */

/* What the child sends: one message a question, whole (SOCK_SEQPACKET). */
struct answer {
    uint32_t n;
    char why[200]; /* n is 0: there will be no more */
    struct util_row rows[UTIL_GPUS_MAX];
};

struct util_gpus {
    pid_t pid;
    int fd;
    bool asked, first;
    uint64_t asked_ms;
    struct answer answer;
};

static size_t answer_bytes(uint32_t n)
{
    return offsetof(struct answer, rows) + n * sizeof(struct util_row);
}

static void __attribute__((noreturn))
serve(int fd, const char *library, const char *minors)
{
    struct answer *answer = calloc(1, sizeof(*answer));
    struct jp_error err = {"out of memory"};
    struct util_nvml *nvml = answer ? util_nvml_open(library, minors, &err)
                                    : NULL;
    struct timespec now;
    char question;

    while (answer && recv(fd, &question, 1, 0) == 1) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (nvml)
            answer->n = (uint32_t) util_nvml_read(
                nvml,
                (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000,
                answer->rows);
        else
            snprintf(answer->why, sizeof(answer->why), "%.199s", err.text);
        if (send(fd, answer, answer_bytes(answer->n), MSG_NOSIGNAL) < 0 ||
            !nvml)
            break;
    }
    _exit(0);
}

struct util_gpus *util_gpus_start(const char *library, const char *minors,
                                  struct jp_error *err)
{
    struct util_gpus *gpus = calloc(1, sizeof(*gpus));
    int fd[2] = {-1, -1};
    pid_t parent = getpid();

    if (!gpus ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0) {
        error_set(err, "no GPU: %s", strerror(errno));
        free(gpus);
        return NULL;
    }
    gpus->first = true;
    gpus->pid = fork();
    if (gpus->pid == 0) {
        close(fd[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            serve(fd[1], library, minors);
        _exit(0);
    }
    close(fd[1]);
    gpus->fd = fd[0];
    fcntl(gpus->fd, F_SETFL, O_NONBLOCK);
    if (gpus->pid > 0)
        return gpus;
    error_set(err, "no GPU: %s", strerror(errno));
    util_gpus_stop(gpus);
    return NULL;
}

int util_gpus_fd(const struct util_gpus *gpus)
{
    return gpus->fd;
}

void util_gpus_ask(struct util_gpus *gpus, uint64_t now_ms)
{
    char question = '?';

    if (gpus->fd < 0 || gpus->asked ||
        send(gpus->fd, &question, 1, MSG_NOSIGNAL) != 1)
        return;
    gpus->asked = true;
    gpus->asked_ms = now_ms;
}

/* A child that does not die in a driver is left to init. */
static void end_child(struct util_gpus *gpus)
{
    if (gpus->fd >= 0)
        close(gpus->fd);
    gpus->fd = -1;
    if (gpus->pid <= 0)
        return;
    kill(gpus->pid, SIGKILL);
    for (int i = 0; i < 50 && waitpid(gpus->pid, NULL, WNOHANG) == 0; i++)
        usleep(1000);
    gpus->pid = 0;
}

int util_gpus_take(struct util_gpus *gpus, uint64_t now_ms,
                   struct util_row *out, struct jp_error *err)
{
    uint64_t limit = gpus->first ? UTIL_GPU_FIRST_MS : UTIL_GPU_LIMIT_MS;
    struct answer *a = &gpus->answer;
    ssize_t n;

    if (gpus->fd < 0)
        return 0;
    n = recv(gpus->fd, a, sizeof(*a), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (!gpus->asked || now_ms - gpus->asked_ms < limit)
            return 0;
        end_child(gpus);
        return error_set(err,
                         "GPUs are not sampled any more: NVML gave no "
                         "answer within %u s",
                         (unsigned) (limit / 1000));
    }
    gpus->asked = gpus->first = false;
    if (n < (ssize_t) answer_bytes(0) || a->n > UTIL_GPUS_MAX ||
        (size_t) n != answer_bytes(a->n)) {
        end_child(gpus);
        return error_set(err, "GPUs are not sampled any more: the process that "
                              "asked NVML ended");
    }
    if (a->n == 0) {
        a->why[sizeof(a->why) - 1] = '\0';
        end_child(gpus);
        return error_set(err, "%s", a->why);
    }
    for (uint32_t i = 0; i < a->n; i++) {
        out[i] = a->rows[i];
        out[i].id[UTIL_ID_MAX - 1] = '\0';
    }
    return (int) a->n;
}

void util_gpus_stop(struct util_gpus *gpus)
{
    if (gpus)
        end_child(gpus);
    free(gpus);
}
