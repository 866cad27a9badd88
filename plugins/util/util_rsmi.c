/* util_rsmi.c - what each AMD GPU does, by rocm_smi's functions.
 *
 * Runs in the child of util_gpu.c. The declarations follow rocm_smi.h of ROCm 5
 * to 7, because the header is not needed to build. Each read_... function fills
 * the figures of one topic; what the library or the GPU does not have stays
 * unknown. */
#include "plugins/util/util_gpu.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/loadlib.h"
#include "common/num.h"

/* Samples between two readings of processes and of what they copy. */
#define SELDOM 5
#define PROCESSES_MAX 256
#define METRICS_ROOM 65536 /* later releases append to the structure */

enum { RSMI_SUCCESS = 0 };
/* Arguments, each of the enumeration named. */
enum {
    RSMI_MEMORY_VRAM = 0,     /* rsmi_memory_type_t */
    RSMI_SENSOR_EDGE = 0,     /* rsmi_temperature_type_t */
    RSMI_SENSOR_JUNCTION = 1, /* likewise */
    RSMI_CURRENT = 0,         /* rsmi_temperature_metric_t */
    RSMI_CLOCK_SYSTEM = 0,    /* rsmi_clk_type_t */
    RSMI_BLOCK_MEMORY = 1,    /* rsmi_gpu_block_t: UMC */
};

/* Bits of indep_throttle_status, which are the same for all GPUs
 * (amdgpu_smu.h: SMU_THROTTLER_...): power and current; temperatures and hot
 * regulators; a signal from outside (PROCHOT). */
#define THROTTLED_POWER UINT64_C(0x00000000ffffffff)
#define THROTTLED_HEAT UINT64_C(0x00003fff00000000)
#define THROTTLED_HARDWARE UINT64_C(0x0000c00000000000)

/* rsmi_gpu_metrics_t up to its version 1.3. A field with all bits set is
 * unknown. */
struct rsmi_metrics {
    uint16_t size;
    uint8_t format, content; /* version of the layout */
    uint16_t temperatures[6];
    uint16_t gfx_busy, memory_busy, media_busy, power_w;
    uint64_t energy, clock_counter;
    uint16_t mean_clocks[7];
    uint16_t gfx_mhz, soc_mhz, memory_mhz, other_mhz[4];
    uint32_t throttle_own;
    uint16_t fan, width, speed; /* of the PCIe link, in 0.1 GT/s */
    uint32_t gfx_busy_sum, memory_busy_sum;
    uint16_t temperatures_hbm[4];
    uint64_t firmware_clock;
    uint16_t volts[3];
    uint64_t throttle;
};

struct rsmi_errors {
    uint64_t corrected, uncorrected;
};

struct rsmi_process {
    uint32_t pid, pasid;
    uint64_t memory, copied_us; /* time of its copy engines (SDMA) */
    uint32_t cu;
};

struct rsmi_version {
    uint32_t major, minor, patch;
    const char *build;
};

/* rsmi_frequencies_t since release 6. Before, the first member did not
 * exist. */
struct rsmi_frequencies {
    bool has_deep_sleep;
    uint32_t n, current;
    uint64_t hz[33];
};
struct rsmi_frequencies_5 {
    uint32_t n, current;
    uint64_t hz[33];
};

/* The functions of the library; NULL: the release does not have it. The names
 * are in functions[] below. */
struct rsmi_lib {
    void *handle;
    int (*init)(uint64_t flags);
    int (*shutdown)(void);
    int (*version)(struct rsmi_version *out);
    int (*count)(uint32_t *n);
    int (*pci)(uint32_t gpu, uint64_t *out);
    int (*busy)(uint32_t gpu, uint32_t *percent);
    int (*memory_busy)(uint32_t gpu, uint32_t *percent);
    int (*memory_used)(uint32_t gpu, int type, uint64_t *bytes);
    int (*memory_total)(uint32_t gpu, int type, uint64_t *bytes);
    int (*power)(uint32_t gpu, uint64_t *uw, int *type);
    int (*power_mean)(uint32_t gpu, uint32_t sensor, uint64_t *uw);
    int (*power_limit)(uint32_t gpu, uint32_t sensor, uint64_t *uw);
    int (*energy)(uint32_t gpu, uint64_t *n, float *uj, uint64_t *ns);
    int (*temperature)(uint32_t gpu, uint32_t sensor, int what, int64_t *mc);
    int (*frequencies)(uint32_t gpu, int clock, void *out);
    int (*metrics)(uint32_t gpu, void *out);
    int (*replays)(uint32_t gpu, uint64_t *n);
    int (*errors)(uint32_t gpu, uint64_t block, struct rsmi_errors *out);
    int (*processes)(struct rsmi_process *list, uint32_t *n);
    int (*process)(uint32_t pid, uint32_t gpu, struct rsmi_process *out);
};

static const struct loadlib_function functions[] = {
#define AT(member) offsetof(struct rsmi_lib, member)
    {{"rsmi_init", NULL}, AT(init), true},
    {{"rsmi_num_monitor_devices", NULL}, AT(count), true},
    {{"rsmi_dev_pci_id_get", NULL}, AT(pci), true},
    {{"rsmi_shut_down", NULL}, AT(shutdown), false},
    {{"rsmi_version_get", NULL}, AT(version), false},
    {{"rsmi_dev_busy_percent_get", NULL}, AT(busy), false},
    {{"rsmi_dev_memory_busy_percent_get", NULL}, AT(memory_busy), false},
    {{"rsmi_dev_memory_usage_get", NULL}, AT(memory_used), false},
    {{"rsmi_dev_memory_total_get", NULL}, AT(memory_total), false},
    {{"rsmi_dev_power_get", NULL}, AT(power), false},
    {{"rsmi_dev_power_ave_get", NULL}, AT(power_mean), false},
    {{"rsmi_dev_power_cap_get", NULL}, AT(power_limit), false},
    {{"rsmi_dev_energy_count_get", NULL}, AT(energy), false},
    {{"rsmi_dev_temp_metric_get", NULL}, AT(temperature), false},
    {{"rsmi_dev_gpu_clk_freq_get", NULL}, AT(frequencies), false},
    {{"rsmi_dev_gpu_metrics_info_get", NULL}, AT(metrics), false},
    {{"rsmi_dev_pci_replay_counter_get", NULL}, AT(replays), false},
    {{"rsmi_dev_ecc_count_get", NULL}, AT(errors), false},
    {{"rsmi_compute_process_info_get", NULL}, AT(processes), false},
    {{"rsmi_compute_process_info_by_device_get", NULL}, AT(process), false},
    {{NULL, NULL}, 0, false},
#undef AT
};

struct gpu {
    uint32_t number;
    char id[UTIL_ID_MAX];
    double clock_max_mhz; /* constant */
    struct util_counter energy, replays, ecc, corrected, copied;
    double copy, n_ours, n_others; /* as of the last reading of processes */
};

struct util_rsmi {
    struct rsmi_lib lib;
    struct gpu gpus[UTIL_GPUS_MAX];
    size_t n_gpus;
    uint64_t samples, mono_us, looked_us; /* times of the last sample and of the
                                             last reading of processes */
    struct rsmi_process list[PROCESSES_MAX];
    _Alignas(8) unsigned char metrics[METRICS_ROOM];
};

/* True if the library has the function and the call succeeded. */
#define ASK(rsmi, function, ...)                                               \
    ((rsmi)->lib.function && (rsmi)->lib.function(__VA_ARGS__) == RSMI_SUCCESS)

/* --- the library, and which GPUs ------------------------------------------ */

/* See loadlib_open. */
static const char *open_library(struct rsmi_lib *lib, const char *library)
{
    /* ROCm's libraries carry their release in their names. The bare name
     * belongs to the development files. */
    static const char *const usual[] = {"librocm_smi64.so.7",
                                        "librocm_smi64.so.6",
                                        "librocm_smi64.so.5",
                                        "librocm_smi64.so",
                                        "/opt/rocm/lib/librocm_smi64.so",
                                        NULL};
    const char *const given[] = {library, NULL};

    return loadlib_open(lib, library && *library ? given : usual, functions);
}

/* The highest clock that the GPU can take, in MHz; NAN: unknown. The layout of
 * the answer depends on the release. */
static double highest_clock(const struct util_rsmi *rsmi, uint32_t number)
{
    union {
        struct rsmi_frequencies now;
        struct rsmi_frequencies_5 old;
    } f;
    struct rsmi_version version = {.major = 0};
    const uint64_t *hz;
    uint64_t most = 0;
    uint32_t n;

    memset(&f, 0, sizeof(f));
    if (!ASK(rsmi, version, &version) ||
        !ASK(rsmi, frequencies, number, RSMI_CLOCK_SYSTEM, &f))
        return NAN;
    hz = version.major >= 6 ? f.now.hz : f.old.hz;
    n = version.major >= 6 ? f.now.n : f.old.n;
    for (uint32_t i = 0; i < n && i < 32; i++)
        if (hz[i] > most)
            most = hz[i];
    return most ? (double) most / 1e6 : NAN;
}

static void add_gpu(struct util_rsmi *rsmi, uint32_t number)
{
    struct gpu *gpu = &rsmi->gpus[rsmi->n_gpus];
    uint64_t pci = 0;

    if (rsmi->lib.pci(number, &pci) != RSMI_SUCCESS)
        return;
    *gpu = (struct gpu){.number = number,
                        .clock_max_mhz = highest_clock(rsmi, number),
                        .energy = {PROCFS_NONE},
                        .replays = {PROCFS_NONE},
                        .ecc = {PROCFS_NONE},
                        .corrected = {PROCFS_NONE},
                        .copied = {PROCFS_NONE},
                        .copy = NAN,
                        .n_ours = NAN,
                        .n_others = NAN};
    /* domain, bus, device and function, packed as in rsmi_dev_pci_id_get */
    snprintf(gpu->id, sizeof(gpu->id), "%04x:%02x:%02x.%x",
             (unsigned) (pci >> 32) & 0xffff, (unsigned) (pci >> 8) & 0xff,
             (unsigned) (pci >> 3) & 0x1f, (unsigned) pci & 7);
    rsmi->n_gpus++;
}

/* An empty err.text means: no such library, which is normal on a node without
 * AMD GPUs. */
struct util_rsmi *util_rsmi_open(const char *library, const char *numbers,
                                 struct jp_error *err)
{
    struct util_rsmi *rsmi = calloc(1, sizeof(*rsmi));
    const char *missing;
    uint32_t n = 0;
    int rc;

    if (!rsmi) {
        error_set(err, "out of memory");
        return NULL;
    }
    missing = open_library(&rsmi->lib, library);
    if (missing) {
        /* no library: no GPU of this kind, nothing to say */
        error_set(err, "%s%s", *missing ? "rocm_smi has no " : "", missing);
        goto fail;
    }
    rc = rsmi->lib.init(0);
    if (rc != RSMI_SUCCESS || (rc = rsmi->lib.count(&n)) != RSMI_SUCCESS) {
        error_set(err, "no GPU: rocm_smi reports error %d", rc);
        goto fail;
    }
    for (uint32_t i = 0; i < n && i < UTIL_GPUS_MAX; i++)
        if (list_has_number(numbers, i))
            add_gpu(rsmi, i);
    if (rsmi->n_gpus)
        return rsmi;
    error_set(err, "no GPU of this step");
fail:
    util_rsmi_close(rsmi);
    return NULL;
}

void util_rsmi_close(struct util_rsmi *rsmi)
{
    if (rsmi && rsmi->lib.handle) {
        if (rsmi->lib.shutdown)
            rsmi->lib.shutdown();
        loadlib_close(&rsmi->lib);
    }
    free(rsmi);
}

/* --- a sample ------------------------------------------------------------- */

static void read_use(const struct util_rsmi *rsmi, const struct gpu *gpu,
                     struct util_row *row)
{
    uint64_t used, total;
    uint32_t percent;

    if (ASK(rsmi, busy, gpu->number, &percent) && percent <= 100)
        row->v[GPU_SM] = percent / 100.0;
    if (ASK(rsmi, memory_busy, gpu->number, &percent) && percent <= 100)
        row->v[GPU_MEMORY_BUSY] = percent / 100.0;
    if (ASK(rsmi, memory_used, gpu->number, RSMI_MEMORY_VRAM, &used) &&
        ASK(rsmi, memory_total, gpu->number, RSMI_MEMORY_VRAM, &total) &&
        used <= total) {
        row->v[GPU_MEMORY_USED] = (double) used;
        row->v[GPU_MEMORY_TOTAL] = (double) total;
    }
}

static void read_power(const struct util_rsmi *rsmi, struct gpu *gpu, double dt,
                       struct util_row *row)
{
    uint64_t n, ns;
    int64_t mc;
    float unit_uj;
    int type;

    /* newer GPUs have only the first, older ones only the second; microwatts */
    if (ASK(rsmi, power, gpu->number, &n, &type) ||
        ASK(rsmi, power_mean, gpu->number, 0, &n))
        row->v[GPU_POWER] = (double) n / 1e6;
    if (ASK(rsmi, power_limit, gpu->number, 0, &n))
        row->v[GPU_POWER_LIMIT] = (double) n / 1e6;
    if (ASK(rsmi, energy, gpu->number, &n, &unit_uj, &ns) && unit_uj > 0)
        row->v[GPU_POWER_MEAN] =
            util_rate(&gpu->energy, n, (double) unit_uj * 1e-6, dt);
    /* the hottest point, otherwise the edge; thousandths of a degree */
    if ((ASK(rsmi, temperature, gpu->number, RSMI_SENSOR_JUNCTION, RSMI_CURRENT,
             &mc) ||
         ASK(rsmi, temperature, gpu->number, RSMI_SENSOR_EDGE, RSMI_CURRENT,
             &mc)) &&
        mc >= 0)
        row->v[GPU_TEMPERATURE] = (double) mc / 1000;
    row->v[GPU_SM_CLOCK_MAX] = gpu->clock_max_mhz;
}

/* PCIe's generation by the speed of a lane in 0.1 GT/s; NAN: not a known
 * speed. */
static double generation_of(uint16_t speed)
{
    static const uint16_t speeds[] = {25, 50, 80, 160, 320, 640};

    for (size_t i = 0; i < sizeof(speeds) / sizeof(*speeds); i++)
        if (speed == speeds[i])
            return (double) (i + 1);
    return NAN;
}

static void read_metrics(struct util_rsmi *rsmi, const struct gpu *gpu,
                         struct util_row *row)
{
    struct rsmi_metrics m;

    /* an older release fills less than the struct: the rest is unknown */
    memset(rsmi->metrics, 0xff, sizeof(m));
    if (!ASK(rsmi, metrics, gpu->number, rsmi->metrics))
        return;
    memcpy(&m, rsmi->metrics, sizeof(m));
    if (m.format != 1) /* an APU, which has another layout */
        return;
    if (m.gfx_mhz != UINT16_MAX)
        row->v[GPU_SM_CLOCK] = m.gfx_mhz;
    if (m.memory_mhz != UINT16_MAX)
        row->v[GPU_MEMORY_CLOCK] = m.memory_mhz;
    if (m.width && m.width <= 32)
        row->v[GPU_PCIE_WIDTH] = m.width;
    row->v[GPU_PCIE_GENERATION] = generation_of(m.speed);
    if (m.throttle == UINT64_MAX)
        return;
    row->v[GPU_THROTTLE_POWER] = (m.throttle & THROTTLED_POWER) != 0;
    row->v[GPU_THROTTLE_THERMAL] = (m.throttle & THROTTLED_HEAT) != 0;
    row->v[GPU_THROTTLE_HARDWARE] = (m.throttle & THROTTLED_HARDWARE) != 0;
}

static void read_errors(const struct util_rsmi *rsmi, struct gpu *gpu,
                        double dt, struct util_row *row)
{
    struct rsmi_errors errors;
    uint64_t n;

    if (ASK(rsmi, replays, gpu->number, &n))
        row->v[GPU_PCIE_REPLAYS] = util_rate(&gpu->replays, n, 1, dt);
    if (!ASK(rsmi, errors, gpu->number, RSMI_BLOCK_MEMORY, &errors))
        return;
    row->v[GPU_ECC_ERRORS] = util_rate(&gpu->ecc, errors.uncorrected, 1, dt);
    row->v[GPU_ECC_CORRECTED] =
        util_rate(&gpu->corrected, errors.corrected, 1, dt);
}

/* Counts the processes on the GPU, ours and others, and the time in which its
 * copy engines worked for ours. */
static void look_at_processes(struct util_rsmi *rsmi, struct gpu *gpu,
                              const struct procfs_pids *pids, uint32_t n,
                              double dt)
{
    unsigned ours = 0, others = 0;
    uint64_t copied = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct rsmi_process one = {.pid = 0};

        if (!ASK(rsmi, process, rsmi->list[i].pid, gpu->number, &one))
            continue;
        if (!procfs_pids_have(pids, rsmi->list[i].pid)) {
            others++;
            continue;
        }
        ours++;
        copied = num_add(copied, one.copied_us);
    }
    gpu->n_ours = ours;
    gpu->n_others = others;
    gpu->copy = util_rate(&gpu->copied, copied, 1e-6, dt);
    if (gpu->copy > 1) /* several engines: their times add up */
        gpu->copy = 1;
}

/* Reads the processes of all GPUs. Without a whole list of the step's own,
 * nothing is known about others. */
static void take_processes(struct util_rsmi *rsmi, uint64_t mono_us,
                           const struct procfs_pids *pids)
{
    double dt = rsmi->looked_us && mono_us > rsmi->looked_us
                    ? (double) (mono_us - rsmi->looked_us) * 1e-6
                    : 0;
    uint32_t n = PROCESSES_MAX;
    bool known = pids && pids->n <= PROCFS_PIDS_MAX && rsmi->lib.process &&
                 ASK(rsmi, processes, rsmi->list, &n) && n <= PROCESSES_MAX;

    rsmi->looked_us = mono_us;
    for (size_t i = 0; i < rsmi->n_gpus; i++) {
        struct gpu *gpu = &rsmi->gpus[i];

        if (known)
            look_at_processes(rsmi, gpu, pids, n, dt);
        else
            gpu->copy = gpu->n_ours = gpu->n_others = NAN;
    }
}

size_t util_rsmi_read(struct util_rsmi *rsmi, uint64_t mono_us,
                      const struct procfs_pids *pids, struct util_row *out,
                      size_t room)
{
    double dt = rsmi->mono_us && mono_us > rsmi->mono_us
                    ? (double) (mono_us - rsmi->mono_us) * 1e-6
                    : 0;
    size_t n = rsmi->n_gpus < room ? rsmi->n_gpus : room;

    if (rsmi->samples % SELDOM == 0)
        take_processes(rsmi, mono_us, pids);
    for (size_t i = 0; i < n; i++) {
        struct gpu *gpu = &rsmi->gpus[i];

        util_row_init(&out[i], 0, 0, gpu->id);
        read_use(rsmi, gpu, &out[i]);
        read_power(rsmi, gpu, dt, &out[i]);
        read_metrics(rsmi, gpu, &out[i]);
        read_errors(rsmi, gpu, dt, &out[i]);
        out[i].v[GPU_PROCESSES] = gpu->n_ours;
        out[i].v[GPU_OTHERS] = gpu->n_others;
        out[i].v[GPU_COPY] = gpu->copy;
    }
    rsmi->mono_us = mono_us;
    rsmi->samples++;
    return n;
}
