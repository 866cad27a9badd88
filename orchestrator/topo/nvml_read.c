/* nvml_read.c - ask NVML for the node's GPUs. */
#include "orchestrator/topo/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/nvml_lib.h"
#include "orchestrator/topo/nvml_links.h"

/* NVML_STRUCT_VERSION(): size and number of the layout. */
#define STRUCT_VERSION(type, n) ((unsigned) (sizeof(type) | (n) << 24))

static void fail(const struct nvml_lib *lib, struct jp_nvml *out,
                 const char *function, int result)
{
    const char *text = lib->error ? lib->error(result) : NULL;

    out->probe = JP_NVML_ERROR;
    snprintf(out->text, sizeof(out->text), "%s: %.80s (%d)", function,
             text ? text : "failed", result);
}

/* A text of the driver's into `to`, "" where the call failed. */
static void keep_text(int result, char *to, const char *from)
{
    size_t n = result == NVML_SUCCESS ? strnlen(from, JP_NVML_TEXT - 1) : 0;

    memcpy(to, from, n);
    to[n] = '\0';
}

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

/* The newest layout that the driver takes. */
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

/* -1: the GPU has no address, so nothing can be joined with it. */
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
    nvml_links_read(lib, device, out, gpu);
    read_fabric(lib, device, out, &gpu->fabric);
    read_migs(lib, device, out, gpu);
    return 0;
}

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
            out->n_gpus++; /* whole: counts even if a later one hangs */
        else
            memset(gpu, 0, sizeof(*gpu));
    }
    out->probe = JP_NVML_OK;
}

/* dlerror ends with the reason: of a long path the beginning goes. */
static void copy_end(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);

    if (len < size)
        snprintf(to, size, "%s", text);
    else
        snprintf(to, size, "...%s", text + len - (size - 4));
}

void nvml_read(const char *library, struct jp_nvml *out)
{
    struct nvml_lib lib;
    const char *missing;
    int rc;

    memset(out, 0, sizeof(*out));
    nvml_note(out, "dlopen");
    missing = nvml_lib_open(library, &lib);
    if (missing) {
        const char *why = *missing ? NULL : dlerror();

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
