/* nvml.c - query NVML in a child process that may hang or crash.
 *
 * nvml_ask is the entry. The child writes its answer to shared memory
 * (nvml_read, read_gpus, read_gpu), so that GPUs read before a crash are kept.
 * The parent then checks the answer (tidy). nvml_read_proc is the fallback
 * without NVML. */
#include "orchestrator/topo/hardware.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/child.h"
#include "common/num.h"
#include "common/nvml_lib.h"
#include "orchestrator/topo/sysfile.h"

/* nvmlGpuFabricInfo_t */
struct nvml_fabric_v1 {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
};

/* nvmlGpuFabricInfo_v3_t; version 2 ends before health. */
struct nvml_fabric_v3 {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health_mask;
    unsigned char health;
};

struct nvml_fabric_v2 {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health_mask;
};

/* Calls the driver. Notes the function's name first, so that the parent can
 * name it if the call never returns. */
#define NVML_CALL(out, lib, function, ...)                                     \
    (note_call((out), #function), (lib)->function(__VA_ARGS__))

static void note_call(struct jp_nvml *out, const char *function);

/* --------------------------------------------- a GPU's links */

/* From this NVLink version on (NVLink 4, Hopper) the state is read from a
 * field: the older call may report a link in low power as inactive. */
#define VERSION_WITH_FIELDS 6

/* Remembers the call for the parent's message. */
static void note_call(struct jp_nvml *out, const char *function)
{
    snprintf(out->calling, sizeof(out->calling), "%s", function);
}

/* Returns the value of a field; -1: none. */
static int64_t get_field(const struct nvml_lib *lib, nvml_device device,
                         struct jp_nvml *out, unsigned id, unsigned scope)
{
    struct nvml_field field = {.id = id, .scope = scope, .result = -1};
    unsigned long long value;

    if (!lib->fields ||
        NVML_CALL(out, lib, fields, device, 1, &field) != NVML_SUCCESS ||
        field.result != NVML_SUCCESS)
        return -1;
    /* The driver chooses the type of the value. */
    if (field.type == NVML_VALUE_UINT)
        value = field.value.ui;
    else if (field.type == NVML_VALUE_ULONG)
        value = field.value.ul;
    else if (field.type == NVML_VALUE_ULL)
        value = field.value.ull;
    else
        return -1;
    /* A larger value is not plausible for any field used here. */
    return value <= INT32_MAX ? (int64_t) value : -1;
}

/* Speed in MB/s, one direction; -1: unknown. Older drivers have one field for
 * each link or one for all. */
static int64_t get_speed(const struct nvml_lib *lib, nvml_device device,
                         struct jp_nvml *out, unsigned link)
{
    int64_t mbs = get_field(lib, device, out, NVML_FIELD_LINK_SPEED, link);

    /* Links 0 to 5 and 6 to 11 have fields of their own. */
    if (mbs <= 0 && link < 6)
        mbs = get_field(lib, device, out, NVML_FIELD_SPEED_L0 + link, 0);
    else if (mbs <= 0 && link < 12)
        mbs = get_field(lib, device, out, NVML_FIELD_SPEED_L6 + link - 6, 0);
    if (mbs <= 0)
        mbs = get_field(lib, device, out, NVML_FIELD_SPEED_COMMON, 0);
    return mbs > 0 ? mbs : -1;
}

/* NVML's numbers of device types. */
static enum jp_link_remote remote_of(int type)
{
    switch (type) {
    case 0:
        return JP_REMOTE_GPU;
    case 1:
        return JP_REMOTE_CPU;
    case 2:
        return JP_REMOTE_SWITCH;
    default:
        return JP_REMOTE_UNKNOWN;
    }
}

/* Reads what is at the other end of an active link. */
static void read_remote(const struct nvml_lib *lib, nvml_device device,
                        struct jp_nvml *out, struct jp_nvml_link *link)
{
    struct nvml_pci pci = {.domain = 0};
    int type = -1;

    if (lib->remote_type && NVML_CALL(out, lib, remote_type, device, link->link,
                                      &type) == NVML_SUCCESS)
        link->remote = remote_of(type);
    if (lib->remote_pci && NVML_CALL(out, lib, remote_pci, device, link->link,
                                     &pci) == NVML_SUCCESS) {
        pci.id[sizeof(pci.id) - 1] = '\0';
        busid_tidy(pci.id, link->remote_busid);
    }
}

/* The call returns 0 or 1. The field (NVML_FI_DEV_NVLINK_GET_STATE) also has 2,
 * a link that sleeps until it is used, as the links of an idle H100 do. */
static enum jp_link_state state_of(int64_t number)
{
    return number == 1 || number == 2 ? JP_LINK_ACTIVE
           : number == 0              ? JP_LINK_INACTIVE
                                      : JP_LINK_UNKNOWN;
}

/* Returns the result of the query for the state; anything but NVML_SUCCESS
 * means that there is no such link. */
static int read_link(const struct nvml_lib *lib, nvml_device device,
                     struct jp_nvml *out, struct jp_nvml_link *link)
{
    unsigned number = link->link;
    unsigned value = 0;
    int active = -1;
    int64_t field;
    int rc;

    /* This call also wakes the link, so that the state below is the one in use.
     */
    if (lib->link_cap && NVML_CALL(out, lib, link_cap, device, number,
                                   NVML_CAP_P2P, &value) == NVML_SUCCESS)
        link->p2p = value != 0;
    rc = NVML_CALL(out, lib, link_state, device, number, &active);
    if (rc != NVML_SUCCESS)
        return rc;
    link->state = state_of(active);
    if (lib->link_version && NVML_CALL(out, lib, link_version, device, number,
                                       &value) == NVML_SUCCESS)
        link->version = value < 1000 ? (int) value : -1;
    field = link->version < VERSION_WITH_FIELDS
                ? -1
                : get_field(lib, device, out, NVML_FIELD_LINK_STATE, number);
    if (field >= 0)
        link->state = state_of(field);
    if (link->state == JP_LINK_ACTIVE) {
        link->speed_mbs = get_speed(lib, device, out, number);
        read_remote(lib, device, out, link);
    }
    return NVML_SUCCESS;
}

/* C2C joins a Grace CPU and its GPU. */
static void read_c2c(const struct nvml_lib *lib, nvml_device device,
                     struct jp_nvml *out, struct jp_nvml_gpu *gpu)
{
    int64_t n = get_field(lib, device, out, NVML_FIELD_C2C_COUNT, 0);

    gpu->c2c_links = n < 0 ? -1 : 0;
    for (unsigned i = 0; i < JP_NVML_MAX_LINKS && (int64_t) i < n; i++) {
        int64_t mbs;

        if (get_field(lib, device, out, NVML_FIELD_C2C_STATUS, i) != 1)
            continue;
        mbs = get_field(lib, device, out, NVML_FIELD_C2C_SPEED, i);
        gpu->c2c_links++;
        if (mbs > 0)
            gpu->c2c_speed_mbs = mbs;
    }
}

/* Reads links and C2C. */
static void read_links(const struct nvml_lib *lib, nvml_device device,
                       struct jp_nvml *out, struct jp_nvml_gpu *gpu)
{
    unsigned failed = 0;

    gpu->c2c_links = gpu->c2c_speed_mbs = -1;
    read_c2c(lib, device, out, gpu);
    if (!lib->link_state)
        return;
    for (unsigned i = 0; i < JP_NVML_MAX_LINKS; i++) {
        struct jp_nvml_link *link = &gpu->links[gpu->n_links];
        int rc;

        *link = (struct jp_nvml_link){
            .link = i, .p2p = -1, .version = -1, .speed_mbs = -1};
        rc = read_link(lib, device, out, link);
        /* "Not supported" means that there is no link of this number; later
         * numbers may exist. */
        if (rc == NVML_SUCCESS)
            gpu->n_links++;
        else if (rc == NVML_INVALID_ARGUMENT)
            break; /* no more links */
        else if (rc != NVML_NOT_SUPPORTED)
            failed++;
    }
    /* If one link could not be queried, the number of links is meaningless. */
    gpu->links_asked = failed == 0;
    if (failed)
        gpu->n_links = 0;
}

/* ------------------------------------------- the node's GPUs */

/* As NVML_STRUCT_VERSION(): size and number of the layout. */
#define STRUCT_VERSION(type, n) ((unsigned) (sizeof(type) | (n) << 24))

/* Sets the error of a call, with NVML's own text if there is one. */
static void fail(const struct nvml_lib *lib, struct jp_nvml *out,
                 const char *function, int result)
{
    const char *text = lib->error ? lib->error(result) : NULL;

    out->probe = JP_NVML_ERROR;
    snprintf(out->text, sizeof(out->text), "%s: %.80s (%d)", function,
             text ? text : "failed", result);
}

/* Copies a text of the driver; "" if the call failed. The driver may not
 * terminate it. */
static void keep_text(int result, char *to, const char *from)
{
    size_t n = result == NVML_SUCCESS ? strnlen(from, JP_NVML_TEXT - 1) : 0;

    memcpy(to, from, n);
    to[n] = '\0';
}

/* UUID, model and minor; each is optional. */
static void read_texts(const struct nvml_lib *lib, nvml_device device,
                       struct jp_nvml *out, struct jp_nvml_gpu *gpu)
{
    char text[JP_NVML_TEXT] = "";
    unsigned minor = 0;

    if (lib->uuid)
        keep_text(NVML_CALL(out, lib, uuid, device, text, sizeof(text)),
                  gpu->uuid, text);
    if (lib->name)
        keep_text(NVML_CALL(out, lib, name, device, text, sizeof(text)),
                  gpu->model, text);
    gpu->minor = -1;
    if (lib->minor &&
        NVML_CALL(out, lib, minor, device, &minor) == NVML_SUCCESS &&
        minor < 65536)
        gpu->minor = minor;
}

/* The members that all layouts have. */
static void keep_fabric(struct jp_nvml_fabric *fabric, unsigned char state,
                        int status, const unsigned char cluster[16],
                        unsigned clique)
{
    fabric->asked = true;
    fabric->state = state;
    fabric->status = status;
    fabric->clique = clique;
    memcpy(fabric->cluster, cluster, sizeof(fabric->cluster));
    fabric->health_mask = fabric->health = -1;
}

/* Tries the layouts from new to old until the driver accepts one. */
static void read_fabric(const struct nvml_lib *lib, nvml_device device,
                        struct jp_nvml *out, struct jp_nvml_fabric *fabric)
{
    struct nvml_fabric_v3 v3 = {
        .version = STRUCT_VERSION(struct nvml_fabric_v3, 3u)};
    struct nvml_fabric_v2 v2 = {
        .version = STRUCT_VERSION(struct nvml_fabric_v2, 2u)};
    struct nvml_fabric_v1 v1 = {.state = 0};

    if (lib->fabric_v &&
        NVML_CALL(out, lib, fabric_v, device, &v3) == NVML_SUCCESS) {
        keep_fabric(fabric, v3.state, v3.status, v3.cluster, v3.clique);
        fabric->health_mask = v3.health_mask;
        if (v3.health >= 1 && v3.health <= 3)
            fabric->health = v3.health;
    } else if (lib->fabric_v &&
               NVML_CALL(out, lib, fabric_v, device, &v2) == NVML_SUCCESS) {
        keep_fabric(fabric, v2.state, v2.status, v2.cluster, v2.clique);
        fabric->health_mask = v2.health_mask;
    } else if (lib->fabric &&
               NVML_CALL(out, lib, fabric, device, &v1) == NVML_SUCCESS) {
        keep_fabric(fabric, v1.state, v1.status, v1.cluster, v1.clique);
    }
}

/* MIG mode, and the UUIDs of the MIG devices. */
static void read_migs(const struct nvml_lib *lib, nvml_device device,
                      struct jp_nvml *out, struct jp_nvml_gpu *gpu)
{
    unsigned current = 0;
    unsigned pending = 0;
    unsigned max = JP_NVML_MAX_MIGS;

    gpu->mig = -1;
    if (!lib->mig_mode || NVML_CALL(out, lib, mig_mode, device, &current,
                                    &pending) != NVML_SUCCESS)
        return;
    /* The pending mode takes effect after a reset only. */
    gpu->mig = current == 1;
    if (!gpu->mig || !lib->mig_device || !lib->uuid)
        return;
    if (lib->mig_max &&
        (NVML_CALL(out, lib, mig_max, device, &max) != NVML_SUCCESS ||
         max > JP_NVML_MAX_MIGS))
        max = JP_NVML_MAX_MIGS;
    for (unsigned i = 0; i < max; i++) {
        char text[JP_NVML_TEXT] = "";
        nvml_device mig = NULL;

        if (NVML_CALL(out, lib, mig_device, device, i, &mig) != NVML_SUCCESS)
            continue; /* places may be empty */
        keep_text(NVML_CALL(out, lib, uuid, mig, text, sizeof(text)),
                  gpu->migs[gpu->n_migs], text);
        if (gpu->migs[gpu->n_migs][0])
            gpu->n_migs++;
    }
}

/* Returns -1 if the GPU has no PCI address, because nothing can be joined with
 * it then. */
static int read_gpu(const struct nvml_lib *lib, unsigned index,
                    struct jp_nvml *out, struct jp_nvml_gpu *gpu)
{
    struct nvml_pci pci = {.domain = 0};
    nvml_device device = NULL;

    if (NVML_CALL(out, lib, device, index, &device) != NVML_SUCCESS ||
        NVML_CALL(out, lib, pci, device, &pci) != NVML_SUCCESS)
        return -1;
    pci.id[sizeof(pci.id) - 1] = '\0';
    if (busid_tidy(pci.id, gpu->busid) < 0)
        return -1;
    read_texts(lib, device, out, gpu);
    read_links(lib, device, out, gpu);
    read_fabric(lib, device, out, &gpu->fabric);
    read_migs(lib, device, out, gpu);
    return 0;
}

/* Reads all GPUs. A GPU that cannot be read is skipped; n_told shows the
 * difference. */
static void read_gpus(const struct nvml_lib *lib, struct jp_nvml *out)
{
    char text[JP_NVML_TEXT] = "";
    unsigned n = 0;
    int rc;

    if (lib->driver)
        keep_text(NVML_CALL(out, lib, driver, text, sizeof(text)), out->driver,
                  text);
    rc = NVML_CALL(out, lib, count, &n);
    if (rc != NVML_SUCCESS) {
        fail(lib, out, "nvmlDeviceGetCount_v2", rc);
        return;
    }
    /* Such a number is more likely damage than a node. */
    if (n > JP_NVML_MAX_GPUS) {
        out->probe = JP_NVML_ERROR;
        snprintf(out->text, sizeof(out->text),
                 "nvmlDeviceGetCount_v2: %u GPUs are more than %d", n,
                 JP_NVML_MAX_GPUS);
        return;
    }
    out->n_told = n;
    for (unsigned i = 0; i < n; i++) {
        struct jp_nvml_gpu *gpu = &out->gpus[out->n_gpus];

        if (read_gpu(lib, i, out, gpu) == 0)
            out->n_gpus++; /* complete: it counts even if a later one hangs */
        else
            /* The slot is used for the next GPU. */
            memset(gpu, 0, sizeof(*gpu));
    }
    out->probe = JP_NVML_OK;
}

/* dlerror() ends with the reason, so the beginning of a long path is cut. */
static void copy_end(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);

    if (len < size)
        snprintf(to, size, "%s", text);
    else
        snprintf(to, size, "...%s", text + len - (size - 4));
}

/* Queries NVML in this process; *out is zeroed first. */
static void nvml_read(const char *library, struct jp_nvml *out)
{
    struct nvml_lib lib;
    const char *missing;
    int rc;

    memset(out, 0, sizeof(*out));
    note_call(out, "dlopen");
    missing = nvml_lib_open(&lib, library);
    if (missing) {
        const char *why = *missing ? NULL : dlerror();

        /* An absent library is normal on nodes without GPUs. */
        out->probe = why && strstr(why, "No such file") ? JP_NVML_ABSENT
                                                        : JP_NVML_ERROR;
        if (why)
            copy_end(out->text, sizeof(out->text), why);
        else
            snprintf(out->text, sizeof(out->text), "%s is missing", missing);
        nvml_lib_close(&lib);
        return;
    }
    rc = NVML_CALL(out, &lib, init);
    if (rc != NVML_SUCCESS) {
        fail(&lib, out, "nvmlInit_v2", rc);
    } else {
        read_gpus(&lib, out);
        if (lib.shutdown)
            NVML_CALL(out, &lib, shutdown);
    }
    nvml_lib_close(&lib);
}

/* ----------------------------- in a child */

struct question {
    const char *library;
    struct jp_nvml *answer; /* shared with the child */
};

/* Runs in the child. */
static int ask_driver(void *arg, int out)
{
    const struct question *q = arg;

    (void) out;
    nvml_read(q->library, q->answer);
    return 0;
}

/* Runs the child, and explains its end if it did not succeed. */
static void run_child(const char *library, struct jp_nvml *shared,
                      uint32_t limit_ms)
{
    struct question q = {library, shared};
    const struct child child = {.work = ask_driver,
                                .arg = &q,
                                .limit_ms = limit_ms,
                                .dies_with_us = true};
    struct child_result r;
    enum child_end end = child_run(&child, &r);

    /* The child may have been killed while it wrote the name. */
    shared->calling[sizeof(shared->calling) - 1] = '\0';
    if (child_succeeded(end, &r))
        return;
    shared->probe = end == CHILD_LATE ? JP_NVML_TIMEOUT : JP_NVML_ERROR;
    if (end == CHILD_LATE)
        snprintf(shared->text, sizeof(shared->text),
                 "NVML %s: no answer within %u ms", shared->calling, limit_ms);
    else
        snprintf(shared->text, sizeof(shared->text), "NVML %s: %s",
                 shared->calling,
                 end == CHILD_ENDED ? "ended the querying process"
                                    : "no process for the query");
}

/* Makes a text printable and terminated. */
static void tidy_text(char *text, size_t size)
{
    text[size - 1] = '\0';
    for (; *text; text++)
        if (*text < 0x20 || *text > 0x7e)
            *text = '?';
}

/* Bounds every count and enum of one GPU. */
static void tidy_gpu(struct jp_nvml_gpu *gpu)
{
    tidy_text(gpu->busid, sizeof(gpu->busid));
    tidy_text(gpu->uuid, sizeof(gpu->uuid));
    tidy_text(gpu->model, sizeof(gpu->model));
    /* A wrong count makes the whole list worthless. */
    if (gpu->n_links > JP_NVML_MAX_LINKS)
        gpu->n_links = 0;
    if (gpu->n_migs > JP_NVML_MAX_MIGS)
        gpu->n_migs = 0;
    for (uint32_t i = 0; i < gpu->n_links; i++) {
        struct jp_nvml_link *link = &gpu->links[i];

        tidy_text(link->remote_busid, sizeof(link->remote_busid));
        if ((unsigned) link->remote >= JP_N_REMOTES)
            link->remote = JP_REMOTE_UNKNOWN;
        if ((unsigned) link->state > JP_LINK_ACTIVE)
            link->state = JP_LINK_UNKNOWN;
    }
    for (uint32_t i = 0; i < gpu->n_migs; i++)
        tidy_text(gpu->migs[i], sizeof(gpu->migs[i]));
}

/* Sorted here, so that the order does not depend on the driver. */
static int by_busid(const void *a, const void *b)
{
    const struct jp_nvml_gpu *x = a;
    const struct jp_nvml_gpu *y = b;
    return busid_compare(x->busid, y->busid);
}

/* The child shares its memory with a driver, so nothing in it is trusted. */
static void tidy(struct jp_nvml *nvml)
{
    if ((unsigned) nvml->probe >= JP_N_NVML_PROBES)
        nvml->probe = JP_NVML_ERROR;
    if (nvml->n_gpus > JP_NVML_MAX_GPUS)
        nvml->n_gpus = 0;
    if (nvml->n_told > JP_NVML_MAX_GPUS)
        nvml->n_told = 0;
    tidy_text(nvml->text, sizeof(nvml->text));
    tidy_text(nvml->driver, sizeof(nvml->driver));
    for (uint32_t i = 0; i < nvml->n_gpus; i++)
        tidy_gpu(&nvml->gpus[i]);
    qsort(nvml->gpus, nvml->n_gpus, sizeof(*nvml->gpus), by_busid);
}

/* The answer is copied out of the shared memory, which is freed. */
struct jp_nvml *nvml_ask(const char *library, uint32_t limit_ms)
{
    struct jp_nvml *copy = malloc(sizeof(*copy));
    struct jp_nvml *shared = child_alloc(sizeof(*shared));

    /* Copy first: a killed child may still be writing. */
    if (copy && shared) {
        run_child(library, shared, limit_ms);
        memcpy(copy, shared, sizeof(*copy));
        tidy(copy);
    }
    child_free(shared, sizeof(*shared));
    if (shared)
        return copy;
    free(copy);
    return NULL;
}

/* --- without NVML: what the kernel driver lists in /proc ------------------ */

/* Returns the value after "key:" without blanks; "" if it is missing or
 * contains '?', as a UUID does before the GPU is used. */
static void get_value(const char *text, const char *key, char *out, size_t size)
{
    size_t n = strlen(key);
    size_t len;

    out[0] = '\0';
    for (; text && *text; text = strchr(text, '\n'), text += text != NULL) {
        if (strncmp(text, key, n) != 0 || text[n] != ':')
            continue;
        text += n + 1;
        text += strspn(text, " \t");
        len = strcspn(text, "\n");
        if (len < size && !memchr(text, '?', len)) {
            memcpy(out, text, len);
            out[len] = '\0';
        }
        return;
    }
}

/* Reads one GPU's information file. */
static int read_information(void *arg, int gpus, const char *name)
{
    struct jp_nvml *out = arg;
    struct jp_nvml_gpu gpu = {
        .minor = -1, .mig = -1, .c2c_links = -1, .c2c_speed_mbs = -1};
    char path[80], text[2048], number[16];
    uint64_t minor;
    ssize_t n;
    int fd;

    /* A folder's name is the bus id. */
    if (out->n_gpus == JP_NVML_MAX_GPUS || busid_tidy(name, gpu.busid) < 0)
        return 0;
    snprintf(path, sizeof(path), "%.40s/information", name);
    fd = openat(gpus, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    get_value(text, "Model", gpu.model, sizeof(gpu.model));
    get_value(text, "GPU UUID", gpu.uuid, sizeof(gpu.uuid));
    get_value(text, "Device Minor", number, sizeof(number));
    if (num_parse_u64(number, 0, 65535, &minor, NULL) == 0)
        gpu.minor = (int64_t) minor;
    out->gpus[out->n_gpus++] = gpu;
    return 0;
}

/* The kernel driver lists GPUs even when NVML does not work. */
void nvml_read_proc(const char *root, struct jp_nvml *out)
{
    int folder = sysfile_folder(root, "proc/driver/nvidia/gpus");

    memset(out->gpus, 0, sizeof(out->gpus));
    out->n_gpus = 0;
    if (folder >= 0)
        sysfile_each(folder, JP_NVML_MAX_GPUS, read_information, out, NULL);
}
