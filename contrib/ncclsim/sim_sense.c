/* sim_sense.c - read what delays a rank on this machine: its GPU, its host, its
 * port.
 *
 * Each sense is one function by_...(), which returns the share of the time by
 * which work takes longer now; 0 if nothing can be read. Tests replace the
 * sources (a fake NVML, files in a mount), so the functions read them like any
 * other program. */
#include "contrib/ncclsim/sim_sense.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_pace.h"

/* Limit of lost time; with a share of 1 work would never end. */
#define SHARE_MAX 0.95
/* A counter that has grown delays the rank for this long, because counters grow
 * in lumps. */
#define OF_LATE_NS 300000000

/* constants of NVIDIA's nvml.h */
enum { NVML_CLOCK_SM = 1, NVML_UNCORRECTED = 1, NVML_VOLATILE = 0 };

struct nvml_use {
    unsigned gpu, memory;
};

struct nvml_process_use {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder;
};

/* The functions of NVML that are used, and the GPU. */
struct nvml {
    void *handle;
    void *device;
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*max_clock)(void *device, int type, unsigned *mhz);
    int (*generation)(void *device, unsigned *n);
    int (*width)(void *device, unsigned *n);
    int (*use)(void *device, struct nvml_use *use);
    int (*process_use)(void *device, struct nvml_process_use *list, unsigned *n,
                       unsigned long long since_us);
    int (*ecc)(void *device, int type, int counter, unsigned long long *n);
};

struct jp_sim_senses {
    enum jp_sim_sense sense;
    struct nvml nvml;
    char port[PATH_MAX]; /* folder of the port */
    double first;        /* value of the link or rate at the first reading */
    double last, last_total;
    struct lumps {
        double count;
        int64_t grew_ns;
    } waits, errors;
    double bytes;
    double share; /* share that was stolen, or used of a port */
    int64_t last_ns;
    int is_known; /* there was an earlier reading */
};

/* --- NVML ----------------------------------------------------------------- */

/* Loads NVML and finds the GPU. Returns -1 and err if a function is missing. */
static int open_nvml(struct nvml *nvml, const char *library, int gpu,
                     struct jp_error *err)
{
    static const struct {
        const char *name;
        size_t where;
    } rows[] = {
        {"nvmlDeviceGetClockInfo", offsetof(struct nvml, clock)},
        {"nvmlDeviceGetMaxClockInfo", offsetof(struct nvml, max_clock)},
        {"nvmlDeviceGetCurrPcieLinkGeneration",
         offsetof(struct nvml, generation)},
        {"nvmlDeviceGetCurrPcieLinkWidth", offsetof(struct nvml, width)},
        {"nvmlDeviceGetUtilizationRates", offsetof(struct nvml, use)},
        {"nvmlDeviceGetProcessUtilization", offsetof(struct nvml, process_use)},
        {"nvmlDeviceGetTotalEccErrors", offsetof(struct nvml, ecc)},
    };
    int (*init)(void);
    int (*device)(unsigned index, void **device);
    void *found;
    size_t i;

    nvml->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!nvml->handle)
        return error_set(err, "%s cannot be loaded", library);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        found = dlsym(nvml->handle, rows[i].name);
        if (!found)
            return error_set(err, "%s has no %s", library, rows[i].name);
        /* C has no conversion from an object pointer to a function pointer */
        memcpy((char *) nvml + rows[i].where, &found, sizeof(found));
    }
    found = dlsym(nvml->handle, "nvmlInit_v2");
    memcpy(&init, &found, sizeof(found));
    found = dlsym(nvml->handle, "nvmlDeviceGetHandleByIndex_v2");
    memcpy(&device, &found, sizeof(found));
    if (!init || !device || init() != 0 ||
        device((unsigned) gpu, &nvml->device) != 0)
        return error_set(err, "no GPU %d", gpu);
    return 0;
}

/* --- files ---------------------------------------------------------------- */

/* Reads a file into text, "" if it cannot be read. Returns text. */
static const char *read_text(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);

    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

/* Returns the number at the begin of a file; 0 if it cannot be read. */
static double number_at(const char *folder, const char *name)
{
    char path[PATH_MAX + 64], text[64];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return strtod(read_text(path, text, sizeof(text)), NULL);
}

/* Finds the first port of the first adapter that has one. */
static int find_port(struct jp_sim_senses *senses, struct jp_error *err)
{
    static const char *const top = "/sys/class/infiniband";
    DIR *dir = opendir(top);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (*entry->d_name == '.')
            continue;
        snprintf(senses->port, sizeof(senses->port), "%s/%s/ports/1", top,
                 entry->d_name);
        if (access(senses->port, R_OK) == 0)
            break;
        senses->port[0] = '\0';
    }
    if (dir)
        closedir(dir);
    return senses->port[0] ? 0 : error_set(err, "no port in %s", top);
}

struct jp_sim_senses *sim_senses_create(enum jp_sim_sense sense,
                                        const char *nvml, int gpu,
                                        struct jp_error *err)
{
    struct jp_sim_senses *senses = calloc(1, sizeof(*senses));
    int rc = 0;

    if (!senses) {
        error_set(err, "no memory");
        return NULL;
    }
    senses->sense = sense;
    if (sense == SIM_SENSE_PORT)
        rc = find_port(senses, err);
    else if (sense != SIM_SENSE_STEAL)
        rc = open_nvml(&senses->nvml, nvml, gpu, err);
    if (rc == 0)
        return senses;
    sim_senses_destroy(senses);
    return NULL;
}

void sim_senses_destroy(struct jp_sim_senses *senses)
{
    if (senses && senses->nvml.handle)
        dlclose(senses->nvml.handle);
    free(senses);
}

/* --- answers: the share of the time by which it takes longer -------------- */

/* Converts a share of lost time: if half is lost, work takes 1 (100 %) longer.
 */
static double longer(double lost)
{
    if (!(lost > 0))
        return 0;
    if (lost > SHARE_MAX)
        lost = SHARE_MAX;
    return lost / (1 - lost);
}

/* Compares a speed with the one at the first reading. */
static double slower(struct jp_sim_senses *senses, double now)
{
    if (!(now > 0))
        return 0;
    if (senses->first <= 0)
        senses->first = now;
    return senses->first > now ? senses->first / now - 1 : 0;
}

/* Whether a counter has grown within the last OF_LATE_NS. */
static int grew(const struct jp_sim_senses *senses, struct lumps *lumps,
                double count)
{
    int64_t now_ns = sim_pace_now_ns();

    if (senses->is_known && count > lumps->count)
        lumps->grew_ns = now_ns;
    lumps->count = count;
    return lumps->grew_ns > 0 && now_ns - lumps->grew_ns < OF_LATE_NS;
}

/* The SM clock compared with its maximum. */
static double by_clock(struct jp_sim_senses *senses)
{
    const struct nvml *nvml = &senses->nvml;
    unsigned now, most;

    if (nvml->clock(nvml->device, NVML_CLOCK_SM, &now) != 0 ||
        nvml->max_clock(nvml->device, NVML_CLOCK_SM, &most) != 0 || now == 0 ||
        now >= most)
        return 0;
    return (double) most / now - 1;
}

/* The PCIe link compared with the first reading. */
static double by_pcie(struct jp_sim_senses *senses)
{
    const struct nvml *nvml = &senses->nvml;
    unsigned generation, width;

    if (nvml->generation(nvml->device, &generation) != 0 ||
        nvml->width(nvml->device, &width) != 0 || generation > 16)
        return 0;
    /* each generation doubles the rate */
    return slower(senses, (double) width * (double) (1U << generation));
}

/* The share of the time in which the GPU's memory is busy. */
static double by_gpu_memory(struct jp_sim_senses *senses)
{
    struct nvml_use use;

    return senses->nvml.use(senses->nvml.device, &use) == 0
               ? longer(use.memory / 100.0)
               : 0;
}

/* The share of other processes on the GPU. */
static double by_others(struct jp_sim_senses *senses)
{
    struct nvml_process_use list[16];
    unsigned n = sizeof(list) / sizeof(list[0]), sum = 0, i;

    if (senses->nvml.process_use(senses->nvml.device, list, &n, 0) != 0)
        return 0;
    for (i = 0; i < n; i++) {
        if (list[i].pid != (unsigned) getpid())
            sum += list[i].sm;
    }
    return longer(sum / 100.0);
}

/* New uncorrected errors. */
static double by_ecc(struct jp_sim_senses *senses)
{
    unsigned long long n;

    if (senses->nvml.ecc(senses->nvml.device, NVML_UNCORRECTED, NVML_VOLATILE,
                         &n) != 0)
        return 0;
    return grew(senses, &senses->errors, (double) n);
}

/* The share of stolen processor time since the last reading: "cpu user nice
 * system idle iowait irq softirq steal". If the file has not changed since
 * then, the last share still holds. */
static double by_steal(struct jp_sim_senses *senses)
{
    char text[512];
    const char *at = read_text("/proc/stat", text, sizeof(text));
    double v[8], total = 0;
    char *end;
    int i;

    if (strncmp(at, "cpu ", 4) != 0)
        return 0;
    for (at += 4, i = 0; i < 8; i++, at = end) {
        v[i] = strtod(at, &end);
        total += v[i];
    }
    if (senses->is_known && total > senses->last_total)
        senses->share = (v[7] - senses->last) / (total - senses->last_total);
    senses->last = v[7];
    senses->last_total = total;
    return longer(senses->share);
}

/* Returns when the counter's file was written. A kernel's file does not have
 * that time. */
static int64_t written_ns(const char *folder, const char *name)
{
    char path[PATH_MAX + 64];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return stat(path, &st) == 0
               ? st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec
               : 0;
}

/* Returns the share of the port's rate that is used. Its counters change in
 * lumps; between two changes the last share still holds. */
static double port_use(struct jp_sim_senses *senses, double rate)
{
    /* the counter is in units of four bytes */
    double bytes = 4 * number_at(senses->port, "counters/port_xmit_data");
    int64_t ns = written_ns(senses->port, "counters/port_xmit_data");
    double s = (double) (ns - senses->last_ns) * 1e-9;

    if (senses->is_known && bytes == senses->bytes)
        return senses->share;
    senses->share = senses->is_known && rate > 0 && s > 0
                        ? (bytes - senses->bytes) / s / (rate * 1e9 / 8)
                        : 0;
    senses->bytes = bytes;
    senses->last_ns = ns;
    return senses->share;
}

/* A lower rate, use by others, waits and errors. */
static double by_port(struct jp_sim_senses *senses)
{
    double rate = number_at(senses->port, "rate"); /* "200 Gb/sec (4X HDR)" */
    double sum = slower(senses, rate) + longer(port_use(senses, rate));

    sum += grew(senses, &senses->waits,
                number_at(senses->port, "counters/port_xmit_wait"));
    sum += grew(senses, &senses->errors,
                number_at(senses->port, "counters/symbol_error") +
                    number_at(senses->port, "counters/port_rcv_errors"));
    return sum;
}

int64_t sim_senses_late_ns(struct jp_sim_senses *senses, int64_t ns)
{
    static double (*const answers[])(struct jp_sim_senses *) = {
        [SIM_SENSE_CLOCK] = by_clock,
        [SIM_SENSE_PCIE] = by_pcie,
        [SIM_SENSE_GPU_SHARED] = by_others,
        [SIM_SENSE_GPU_MEMORY] = by_gpu_memory,
        [SIM_SENSE_ECC] = by_ecc,
        [SIM_SENSE_STEAL] = by_steal,
        [SIM_SENSE_PORT] = by_port};
    double share = answers[senses->sense](senses);

    senses->is_known = 1;
    return (int64_t) (share * (double) ns);
}
