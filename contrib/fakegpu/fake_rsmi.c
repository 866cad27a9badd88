/* fake_rsmi.c - librocm_smi64.so.7 of a machine without an AMD GPU.
 *
 * Names, arguments and result numbers are those of rocm_smi's reference manual.
 * FAKEGPU_LOAD names a file of values over time, see fake_script.h; a value
 * whose name is missing there is not supported. Names and units are those of
 * fake_load.c, with two exceptions: reasons are the bits of
 * indep_throttle_status, and pid0_sdma ... are the microseconds that copy
 * engines have worked for that process. FAKEGPU_RSMI=5 simulates a library of
 * release 5. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "contrib/fakegpu/fake_script.h"
#include "contrib/fakegpu/fakegpu.h"

enum {
    SUCCESS = 0,
    INVALID_ARGS = 1,
    NOT_SUPPORTED = 2,
    INIT_ERROR = 8,
    NOT_FOUND = 10
};

struct fake_version {
    uint32_t major, minor, patch;
    const char *build;
};

struct fake_frequencies {
    bool has_deep_sleep;
    uint32_t n, current;
    uint64_t hz[33];
};

/* The layout before release 6. */
struct fake_frequencies_5 {
    uint32_t n, current;
    uint64_t hz[32];
};

struct fake_errors {
    uint64_t corrected, uncorrected;
};

struct fake_process {
    uint32_t pid, pasid;
    uint64_t memory, sdma_us;
    uint32_t cu;
};

/* rsmi_gpu_metrics_t: the members that the file sets, and some of those after
 * them. */
struct fake_metrics {
    uint16_t size;
    uint8_t format, content;
    uint16_t temperatures[6], activities[3], power;
    uint64_t energy, clock;
    uint16_t average_clocks[7], current_clocks[7];
    uint32_t throttle_own;
    uint16_t fan, width, speed;
    uint32_t activity_sums[2];
    uint16_t hbm[4];
    uint64_t firmware_clock;
    uint16_t volts[3];
    uint64_t throttle;
    unsigned char later[600];
};

#define FUNCTION FAKEGPU_EXPORT int
FUNCTION rsmi_init(uint64_t flags);
FUNCTION rsmi_shut_down(void);
FUNCTION rsmi_version_get(struct fake_version *out);
FUNCTION rsmi_num_monitor_devices(uint32_t *n);
FUNCTION rsmi_dev_pci_id_get(uint32_t gpu, uint64_t *out);
FUNCTION rsmi_dev_busy_percent_get(uint32_t gpu, uint32_t *out);
FUNCTION rsmi_dev_memory_busy_percent_get(uint32_t gpu, uint32_t *out);
FUNCTION rsmi_dev_memory_usage_get(uint32_t gpu, int type, uint64_t *out);
FUNCTION rsmi_dev_memory_total_get(uint32_t gpu, int type, uint64_t *out);
FUNCTION rsmi_dev_power_get(uint32_t gpu, uint64_t *uw, int *type);
FUNCTION rsmi_dev_power_cap_get(uint32_t gpu, uint32_t sensor, uint64_t *uw);
FUNCTION rsmi_dev_energy_count_get(uint32_t gpu, uint64_t *n, float *unit_uj,
                                   uint64_t *ns);
FUNCTION rsmi_dev_temp_metric_get(uint32_t gpu, uint32_t sensor, int what,
                                  int64_t *mc);
FUNCTION rsmi_dev_gpu_clk_freq_get(uint32_t gpu, int clock, void *out);
FUNCTION rsmi_dev_gpu_metrics_info_get(uint32_t gpu, struct fake_metrics *out);
FUNCTION rsmi_dev_pci_replay_counter_get(uint32_t gpu, uint64_t *out);
FUNCTION rsmi_dev_ecc_count_get(uint32_t gpu, uint64_t block,
                                struct fake_errors *out);
FUNCTION rsmi_compute_process_info_get(struct fake_process *list, uint32_t *n);
FUNCTION rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t gpu,
                                                 struct fake_process *out);

/* Finds a value for the function. NOT_SUPPORTED: the file does not have it. */
static int find_value(const char *function, uint32_t gpu, const char *name,
                      unsigned long long *out)
{
    if (fakegpu_fails(function))
        return NOT_FOUND;
    if (gpu >= (uint32_t) fakegpu_count())
        return INVALID_ARGS;
    return fake_script_find((int) gpu, name, out) < 0 ? NOT_SUPPORTED : SUCCESS;
}

/* The same, multiplied by scale, for units that differ from the file's. */
static int look_scaled(const char *function, uint32_t gpu, const char *name,
                       unsigned scale, uint64_t *out)
{
    unsigned long long n;
    int rc = find_value(function, gpu, name, &n);

    if (rc == SUCCESS)
        *out = n * scale;
    return rc;
}

/* The same for a value of 32 bits. */
static int look_small(const char *function, uint32_t gpu, const char *name,
                      uint32_t *out)
{
    unsigned long long n;
    int rc = find_value(function, gpu, name, &n);

    if (rc == SUCCESS)
        *out = (uint32_t) n;
    return rc;
}

int rsmi_init(uint64_t flags)
{
    return fakegpu_fails(__func__) || flags ? INIT_ERROR : SUCCESS;
}

int rsmi_shut_down(void)
{
    return SUCCESS;
}

/* The release that is simulated. */
static uint32_t release(void)
{
    return (uint32_t) fakegpu_number("FAKEGPU_RSMI", 99, 7);
}

int rsmi_version_get(struct fake_version *out)
{
    *out = (struct fake_version){release(), 0, 0, "fake"};
    return SUCCESS;
}

int rsmi_num_monitor_devices(uint32_t *n)
{
    if (fakegpu_fails(__func__))
        return INIT_ERROR;
    *n = fakegpu_garbage("count") ? UINT32_MAX : (uint32_t) fakegpu_count();
    return SUCCESS;
}

int rsmi_dev_pci_id_get(uint32_t gpu, uint64_t *out)
{
    if (fakegpu_fails(__func__))
        return NOT_FOUND;
    if (gpu >= (uint32_t) fakegpu_count())
        return INVALID_ARGS;
    *out = (uint64_t) fakegpu_bus((int) gpu) << 8;
    return SUCCESS;
}

int rsmi_dev_busy_percent_get(uint32_t gpu, uint32_t *out)
{
    return look_small(__func__, gpu, "sm", out);
}

int rsmi_dev_memory_busy_percent_get(uint32_t gpu, uint32_t *out)
{
    return look_small(__func__, gpu, "memory", out);
}

int rsmi_dev_memory_usage_get(uint32_t gpu, int type, uint64_t *out)
{
    return type ? NOT_SUPPORTED : look_scaled(__func__, gpu, "used", 1, out);
}

int rsmi_dev_memory_total_get(uint32_t gpu, int type, uint64_t *out)
{
    return type ? NOT_SUPPORTED : look_scaled(__func__, gpu, "total", 1, out);
}

int rsmi_dev_power_get(uint32_t gpu, uint64_t *uw, int *type)
{
    *type = 1;
    return look_scaled(__func__, gpu, "power", 1000, uw);
}

int rsmi_dev_power_cap_get(uint32_t gpu, uint32_t sensor, uint64_t *uw)
{
    return sensor ? NOT_SUPPORTED
                  : look_scaled(__func__, gpu, "limit", 1000, uw);
}

/* The counter is in units of 8 uJ. */
int rsmi_dev_energy_count_get(uint32_t gpu, uint64_t *n, float *unit_uj,
                              uint64_t *ns)
{
    *unit_uj = 8;
    *ns = 0;
    return look_scaled(__func__, gpu, "energy", 1000 / 8, n);
}

int rsmi_dev_temp_metric_get(uint32_t gpu, uint32_t sensor, int what,
                             int64_t *mc)
{
    uint64_t n;
    int rc = sensor != 1 || what
                 ? NOT_SUPPORTED
                 : look_scaled(__func__, gpu, "celsius", 1000, &n);

    if (rc == SUCCESS)
        *mc = (int64_t) n;
    return rc;
}

int rsmi_dev_gpu_clk_freq_get(uint32_t gpu, int clock, void *out)
{
    uint64_t hz;
    int rc = clock ? NOT_SUPPORTED
                   : look_scaled(__func__, gpu, "sm_max_mhz", 1000000, &hz);

    if (rc != SUCCESS)
        return rc;
    if (release() < 6)
        *(struct fake_frequencies_5 *) out =
            (struct fake_frequencies_5){.n = 2, .hz = {hz / 4, hz}};
    else
        *(struct fake_frequencies *) out =
            (struct fake_frequencies){.n = 2, .hz = {hz / 4, hz}};
    return SUCCESS;
}

int rsmi_dev_gpu_metrics_info_get(uint32_t gpu, struct fake_metrics *out)
{
    /* per PCIe generation, in 0.1 GT/s */
    static const uint16_t speeds[] = {25, 50, 80, 160, 320, 640};
    unsigned long long n;

    if (fakegpu_fails(__func__))
        return NOT_FOUND;
    /* all ones mean unknown */
    memset(out, 0xff, sizeof(*out));
    out->size = sizeof(*out);
    out->format = 1;
    out->content = 3;
    if (find_value(__func__, gpu, "sm_mhz", &n) == SUCCESS)
        out->current_clocks[0] = (uint16_t) n;
    if (find_value(__func__, gpu, "memory_mhz", &n) == SUCCESS)
        out->current_clocks[2] = (uint16_t) n;
    if (find_value(__func__, gpu, "width", &n) == SUCCESS)
        out->width = (uint16_t) n;
    if (find_value(__func__, gpu, "generation", &n) == SUCCESS && n >= 1 &&
        n <= 6)
        out->speed = speeds[n - 1];
    if (find_value(__func__, gpu, "reasons", &n) == SUCCESS)
        out->throttle = n;
    return SUCCESS;
}

int rsmi_dev_pci_replay_counter_get(uint32_t gpu, uint64_t *out)
{
    return look_scaled(__func__, gpu, "replays", 1, out);
}

int rsmi_dev_ecc_count_get(uint32_t gpu, uint64_t block,
                           struct fake_errors *out)
{
    if (block != 1 ||
        look_scaled(__func__, gpu, "corrected", 1, &out->corrected) != SUCCESS)
        return NOT_SUPPORTED;
    return look_scaled(__func__, gpu, "ecc", 1, &out->uncorrected);
}

enum { PROCESSES = 4 };

/* Returns the pid of the GPU's process number i in the file; 0: none. */
static uint32_t process(const char *function, uint32_t gpu, int i)
{
    char name[16];
    uint32_t pid = 0;

    snprintf(name, sizeof(name), "pid%d", i);
    return look_small(function, gpu, name, &pid) == SUCCESS ? pid : 0;
}

int rsmi_compute_process_info_get(struct fake_process *list, uint32_t *n)
{
    uint32_t found = 0;

    for (int g = 0; g < fakegpu_count(); g++)
        for (int i = 0; i < PROCESSES && found < *n; i++) {
            uint32_t pid = process(__func__, (uint32_t) g, i);
            /* a process may use several GPUs but is listed once */
            bool known = !pid;

            for (uint32_t k = 0; k < found; k++)
                known |= list[k].pid == pid;
            if (!known)
                list[found++] = (struct fake_process){.pid = pid};
        }
    *n = found;
    return SUCCESS;
}

int rsmi_compute_process_info_by_device_get(uint32_t pid, uint32_t gpu,
                                            struct fake_process *out)
{
    for (int i = 0; i < PROCESSES; i++) {
        char name[24];

        if (process(__func__, gpu, i) != pid)
            continue;
        *out = (struct fake_process){.pid = pid};
        snprintf(name, sizeof(name), "pid%d_sdma", i);
        (void) look_scaled(__func__, gpu, name, 1, &out->sdma_us);
        return SUCCESS;
    }
    return NOT_FOUND;
}
