/* nvml.c - ask NVML in a child that may hang or crash. */
#include "orchestrator/topo/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/bounded.h"

static void ask(const void *library, void *shared)
{
    nvml_read(library, shared);
}

static void run(const char *library, struct jp_nvml *shared, uint32_t limit_ms)
{
    enum jp_bounded end = bounded_run(ask, library, shared, limit_ms);

    shared->calling[sizeof(shared->calling) - 1] = '\0';
    if (end == JP_BOUNDED_DONE)
        return;
    shared->probe = end == JP_BOUNDED_LATE ? JP_NVML_TIMEOUT : JP_NVML_ERROR;
    if (end == JP_BOUNDED_LATE)
        snprintf(shared->text, sizeof(shared->text),
                 "NVML %s: no answer within %u ms", shared->calling, limit_ms);
    else
        snprintf(shared->text, sizeof(shared->text), "NVML %s: %s",
                 shared->calling,
                 end == JP_BOUNDED_DIED ? "ended the process that asked"
                                        : "no process to ask in");
}

/* Printable ASCII, and an end. */
static void tidy_text(char *text, size_t size)
{
    text[size - 1] = '\0';
    for (; *text; text++)
        if (*text < 0x20 || *text > 0x7e)
            *text = '?';
}

static void tidy_gpu(struct jp_nvml_gpu *gpu)
{
    tidy_text(gpu->busid, sizeof(gpu->busid));
    tidy_text(gpu->uuid, sizeof(gpu->uuid));
    tidy_text(gpu->model, sizeof(gpu->model));
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

static int by_busid(const void *a, const void *b)
{
    const struct jp_nvml_gpu *x = a;
    const struct jp_nvml_gpu *y = b;
    return busid_compare(x->busid, y->busid);
}

/* The child shared its memory with a driver: nothing in it is trusted. */
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

struct jp_nvml *nvml_ask(const char *library, uint32_t limit_ms)
{
    struct jp_nvml *copy = malloc(sizeof(*copy));
    struct jp_nvml *shared = bounded_alloc(sizeof(*shared));

    if (copy && shared) {
        run(library, shared, limit_ms);
        memcpy(copy, shared, sizeof(*copy));
        tidy(copy);
    }
    bounded_free(shared, sizeof(*shared));
    if (shared)
        return copy;
    free(copy);
    return NULL;
}
