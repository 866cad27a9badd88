/* util_nvml.c - what each NVIDIA GPU does, by NVML's functions.
 *
 * Runs in the child of util_gpu.c. Each read_... function fills the figures of
 * one topic; a function that the library does not have, or that the GPU does
 * not support, leaves its figures unknown. */
#include "plugins/util/util_gpu.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/nvml_lib.h"

/* Samples between two readings of traffic: PCIe throughput is measured for 20
 * ms inside the call, and a GPU has many NVLinks. */
#define SELDOM 5
#define LINKS_MAX 36   /* NVML_NVLINK_MAX_LINKS */
#define ON_GPU_MAX 256 /* processes on a GPU */
#define EVENTS_MAX 64  /* errors in one sample */

struct gpu {
    nvml_device device;
    char id[UTIL_ID_MAX];
    /* last values, from which rates are made */
    struct util_counter energy, replays, ecc, corrected;
    struct util_counter link_errors, link_in, link_out;
    /* of the last sample, of the last reading of traffic */
    uint64_t mono_us, seldom_us;
    /* traffic as read last, repeated until the next time */
    double pcie_in, pcie_out, errors_s, in_s, out_s;
    bool is_watched; /* the driver reports its Xid errors */
    double xid;      /* last error in this sample; 0: none */
};

struct util_nvml {
    struct nvml_lib lib;
    struct gpu gpus[UTIL_GPUS_MAX];
    size_t n_gpus;
    uint64_t samples, real_us; /* number of samples; time of the one before */
    nvml_event_set events;     /* NULL: errors are not reported */
};

/* True if the library has the function and the call succeeded. */
#define ASK(nvml, function, ...)                                               \
    ((nvml)->lib.function && (nvml)->lib.function(__VA_ARGS__) == NVML_SUCCESS)

/* --- which GPUs ------------------------------------------------------------
 */

/* Adds the GPU with that index if it is in the list of minor numbers. Rows are
 * identified by PCI bus id, as in the driver's own messages. */
static void add_gpu(struct util_nvml *nvml, unsigned index, const char *minors)
{
    struct gpu *gpu = &nvml->gpus[nvml->n_gpus];
    struct nvml_pci pci = {.domain = 0};
    unsigned minor = index;

    *gpu = (struct gpu){.energy = {PROCFS_NONE},
                        .replays = {PROCFS_NONE},
                        .ecc = {PROCFS_NONE},
                        .corrected = {PROCFS_NONE},
                        .link_errors = {PROCFS_NONE},
                        .link_in = {PROCFS_NONE},
                        .link_out = {PROCFS_NONE},
                        .pcie_in = NAN,
                        .pcie_out = NAN,
                        .errors_s = NAN,
                        .in_s = NAN,
                        .out_s = NAN};
    if (nvml->lib.device(index, &gpu->device) != NVML_SUCCESS ||
        nvml->lib.pci(gpu->device, &pci) != NVML_SUCCESS)
        return;
    if (!ASK(nvml, minor, gpu->device, &minor))
        minor = index;
    if (!list_has_number(minors, minor))
        return;
    /* made from numbers, because the library's text may be anything */
    snprintf(gpu->id, sizeof(gpu->id), "%04x:%02x:%02x.0", pci.domain & 0xffff,
             pci.bus & 0xff, pci.device & 0x1f);
    nvml->n_gpus++;
}

/* From here on the driver queues Xid errors for this process. Errors before are
 * not seen. */
static void watch_errors(struct util_nvml *nvml)
{
    if (!nvml->lib.events_add || !nvml->lib.events_wait ||
        !ASK(nvml, events_create, &nvml->events))
        nvml->events = NULL;
    for (size_t i = 0; nvml->events && i < nvml->n_gpus; i++)
        nvml->gpus[i].is_watched =
            nvml->lib.events_add(nvml->gpus[i].device, NVML_EVENT_XID,
                                 nvml->events) == NVML_SUCCESS;
}

struct util_nvml *util_nvml_open(const char *library, const char *minors,
                                 struct jp_error *err)
{
    struct util_nvml *nvml = calloc(1, sizeof(*nvml));
    const char *missing;
    unsigned n = 0;
    int rc;

    if (!nvml) {
        error_set(err, "out of memory");
        return NULL;
    }
    missing = nvml_lib_open(&nvml->lib, library);
    if (missing) {
        if (*missing)
            error_set(err, "%s has no %s", library, missing);
        else
            error_set(err, "no GPU: %s cannot be loaded", library);
        goto fail;
    }
    rc = nvml->lib.init();
    if (rc != NVML_SUCCESS || (rc = nvml->lib.count(&n)) != NVML_SUCCESS) {
        error_set(err, "no GPU: NVML reports error %d", rc);
        goto fail;
    }
    for (unsigned i = 0; i < n && i < UTIL_GPUS_MAX; i++)
        add_gpu(nvml, i, minors);
    watch_errors(nvml);
    if (nvml->n_gpus)
        return nvml;
    error_set(err, "no GPU of this step");
fail:
    util_nvml_close(nvml);
    return NULL;
}

void util_nvml_close(struct util_nvml *nvml)
{
    if (nvml)
        nvml_lib_close(&nvml->lib);
    free(nvml);
}

/* --- a sample ------------------------------------------------------------- */

static void read_use(const struct util_nvml *nvml, nvml_device device,
                     struct util_row *row)
{
    struct nvml_memory memory;
    struct nvml_use use;

    /* above 100 %: not a figure */
    if (ASK(nvml, use, device, &use) && use.gpu <= 100 && use.memory <= 100) {
        row->v[GPU_SM] = use.gpu / 100.0;
        row->v[GPU_MEMORY_BUSY] = use.memory / 100.0;
    }
    if (ASK(nvml, memory, device, &memory) && memory.used <= memory.total) {
        row->v[GPU_MEMORY_USED] = (double) memory.used;
        row->v[GPU_MEMORY_TOTAL] = (double) memory.total;
    }
}

static void read_power(const struct util_nvml *nvml, struct gpu *gpu, double dt,
                       struct util_row *row)
{
    unsigned long long bits, mj;
    unsigned n;

    if (ASK(nvml, power, gpu->device, &n))
        row->v[GPU_POWER] = n / 1000.0;
    if (ASK(nvml, power_limit, gpu->device, &n))
        row->v[GPU_POWER_LIMIT] = n / 1000.0;
    if (ASK(nvml, energy, gpu->device, &mj))
        row->v[GPU_POWER_MEAN] = util_rate(&gpu->energy, mj, 1e-3, dt);
    if (ASK(nvml, temperature, gpu->device, NVML_TEMPERATURE_GPU, &n))
        row->v[GPU_TEMPERATURE] = n;
    if (ASK(nvml, clock, gpu->device, NVML_CLOCK_SM, &n))
        row->v[GPU_SM_CLOCK] = n;
    if (ASK(nvml, max_clock, gpu->device, NVML_CLOCK_SM, &n))
        row->v[GPU_SM_CLOCK_MAX] = n;
    if (ASK(nvml, clock, gpu->device, NVML_CLOCK_MEM, &n))
        row->v[GPU_MEMORY_CLOCK] = n;
    /* the reasons why the clock is lowered */
    if (!ASK(nvml, reasons, gpu->device, &bits))
        return;
    row->v[GPU_THROTTLE_POWER] = (bits & NVML_REASON_POWER_CAP) != 0;
    row->v[GPU_THROTTLE_THERMAL] =
        (bits & (NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL)) != 0;
    row->v[GPU_THROTTLE_HARDWARE] =
        (bits & (NVML_REASON_HW_SLOWDOWN | NVML_REASON_HW_POWER_BRAKE)) != 0;
}

static void read_errors(const struct util_nvml *nvml, struct gpu *gpu,
                        double dt, struct util_row *row)
{
    unsigned long long errors;
    unsigned n;

    if (ASK(nvml, generation, gpu->device, &n))
        row->v[GPU_PCIE_GENERATION] = n;
    if (ASK(nvml, width, gpu->device, &n))
        row->v[GPU_PCIE_WIDTH] = n;
    if (ASK(nvml, replays, gpu->device, &n))
        row->v[GPU_PCIE_REPLAYS] = util_rate(&gpu->replays, n, 1, dt);
    if (ASK(nvml, ecc, gpu->device, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE,
            &errors))
        row->v[GPU_ECC_ERRORS] = util_rate(&gpu->ecc, errors, 1, dt);
    if (ASK(nvml, ecc, gpu->device, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE,
            &errors))
        row->v[GPU_ECC_CORRECTED] = util_rate(&gpu->corrected, errors, 1, dt);
    if (gpu->is_watched)
        row->v[GPU_XID] = gpu->xid;
}

/* Sum over all links that have counters; PROCFS_NONE: none has. */
static uint64_t sum_link_errors(const struct util_nvml *nvml, nvml_device gpu)
{
    unsigned long long n;
    uint64_t sum = PROCFS_NONE;

    for (unsigned link = 0; nvml->lib.link_errors && link < LINKS_MAX; link++)
        for (int i = 0; i < NVML_LINK_ERRORS; i++) {
            int rc = nvml->lib.link_errors(gpu, link, i, &n);

            if (rc == NVML_SUCCESS)
                sum = num_add(sum == PROCFS_NONE ? 0 : sum, n);
            /* no such link: those after it do not exist either */
            else if (i == 0)
                return sum;
        }
    return sum;
}

/* The value of a field over all links; PROCFS_NONE: unknown. NVML returns one
 * of several integer types. */
static uint64_t field_of(const struct util_nvml *nvml, nvml_device gpu,
                         unsigned id)
{
    struct nvml_field field = {.id = id, .scope = NVML_ALL_LINKS, .result = -1};

    if (!ASK(nvml, fields, gpu, 1, &field) || field.result != NVML_SUCCESS)
        return PROCFS_NONE;
    return field.type == NVML_VALUE_UINT    ? field.value.ui
           : field.type == NVML_VALUE_ULONG ? field.value.ul
           : field.type == NVML_VALUE_ULL   ? field.value.ull
                                            : PROCFS_NONE;
}

/* Traffic is measured every SELDOM samples, and repeated in between. */
static void read_traffic(const struct util_nvml *nvml, struct gpu *gpu,
                         uint64_t mono_us, struct util_row *row)
{
    double dt = gpu->seldom_us ? (double) (mono_us - gpu->seldom_us) * 1e-6 : 0;
    unsigned n;

    if (nvml->samples % SELDOM == 0) {
        gpu->seldom_us = mono_us;
        gpu->pcie_in = ASK(nvml, throughput, gpu->device, NVML_PCIE_RX, &n)
                           ? n * 1024.0 /* the library counts KiB/s */
                           : NAN;
        gpu->pcie_out = ASK(nvml, throughput, gpu->device, NVML_PCIE_TX, &n)
                            ? n * 1024.0
                            : NAN;
        gpu->in_s = util_rate(&gpu->link_in,
                              field_of(nvml, gpu->device, NVML_FIELD_NVLINK_RX),
                              1024, dt);
        gpu->out_s = util_rate(
            &gpu->link_out, field_of(nvml, gpu->device, NVML_FIELD_NVLINK_TX),
            1024, dt);
        gpu->errors_s = util_rate(&gpu->link_errors,
                                  sum_link_errors(nvml, gpu->device), 1, dt);
    }
    row->v[GPU_PCIE_IN] = gpu->pcie_in;
    row->v[GPU_PCIE_OUT] = gpu->pcie_out;
    row->v[GPU_NVLINK_IN] = gpu->in_s;
    row->v[GPU_NVLINK_OUT] = gpu->out_s;
    row->v[GPU_NVLINK_ERRORS] = gpu->errors_s;
}

/* --- whose processes -------------------------------------------------------
 */

/* Processes on the GPU: of the step, and of others. */
static void count_processes(const struct util_nvml *nvml, nvml_device gpu,
                            const struct procfs_pids *pids,
                            struct util_row *row)
{
    struct nvml_process list[ON_GPU_MAX];
    unsigned n = ON_GPU_MAX, others = 0;

    if (!ASK(nvml, processes, gpu, &n, list) || n > ON_GPU_MAX)
        return;
    for (unsigned i = 0; i < n; i++)
        others += !procfs_pids_have(pids, list[i].pid);
    row->v[GPU_PROCESSES] = n - others;
    row->v[GPU_OTHERS] = others;
}

/* Share of time in which kernels of other processes ran. The library returns
 * several samples a process since since_us; the last one of each counts. */
static void share_others(const struct util_nvml *nvml, nvml_device gpu,
                         const struct procfs_pids *pids, uint64_t since_us,
                         struct util_row *row)
{
    struct nvml_process_use list[ON_GPU_MAX];
    unsigned n = ON_GPU_MAX, percent = 0;
    int rc;

    if (!nvml->lib.process_use)
        return;
    rc = nvml->lib.process_use(gpu, list, &n, since_us);
    if (rc == NVML_NOT_FOUND) /* no process used the GPU */
        n = 0;
    else if (rc != NVML_SUCCESS || n > ON_GPU_MAX)
        return;
    for (unsigned i = 0; i < n; i++) {
        bool later = false;

        for (unsigned k = i + 1; k < n; k++)
            later = later || list[k].pid == list[i].pid;
        if (!later && list[i].sm <= 100 && !procfs_pids_have(pids, list[i].pid))
            percent += list[i].sm;
    }
    row->v[GPU_OTHERS_SM] = percent > 100 ? 1 : percent / 100.0;
}

/* Takes the errors that the driver has queued since the last sample. The last
 * one of a GPU is kept. */
static void take_events(struct util_nvml *nvml)
{
    struct nvml_event event;

    for (size_t i = 0; i < nvml->n_gpus; i++)
        nvml->gpus[i].xid = 0;
    for (int n = 0; nvml->events && n < EVENTS_MAX; n++) {
        /* older drivers fill only a part */
        memset(&event, 0, sizeof(event));
        if (nvml->lib.events_wait(nvml->events, &event, 0) != NVML_SUCCESS)
            break;
        for (size_t i = 0; i < nvml->n_gpus; i++)
            if (nvml->gpus[i].device == event.device &&
                event.type == NVML_EVENT_XID && event.data < 100000)
                nvml->gpus[i].xid = (double) event.data;
    }
}

size_t util_nvml_read(struct util_nvml *nvml, uint64_t real_us,
                      uint64_t mono_us, const struct procfs_pids *pids,
                      struct util_row *out)
{
    take_events(nvml);
    for (size_t i = 0; i < nvml->n_gpus; i++) {
        struct gpu *gpu = &nvml->gpus[i];
        /* 0 in the first sample: no rates yet */
        double dt = gpu->mono_us && mono_us > gpu->mono_us
                        ? (double) (mono_us - gpu->mono_us) * 1e-6
                        : 0;

        util_row_init(&out[i], 0, 0, gpu->id);
        read_use(nvml, gpu->device, &out[i]);
        read_power(nvml, gpu, dt, &out[i]);
        read_errors(nvml, gpu, dt, &out[i]);
        read_traffic(nvml, gpu, mono_us, &out[i]);
        if (pids && pids->n <= PROCFS_PIDS_MAX) {
            count_processes(nvml, gpu->device, pids, &out[i]);
            /* the first sample has no start of a period */
            if (nvml->real_us)
                share_others(nvml, gpu->device, pids, nvml->real_us, &out[i]);
        }
        gpu->mono_us = mono_us;
    }
    nvml->real_us = real_us;
    nvml->samples++;
    return nvml->n_gpus;
}
