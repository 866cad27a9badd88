/* nvml_links.h - NVLink and NVLink-C2C of one GPU. Private to nvml*.c. */
#ifndef JP_TOPO_NVML_LINKS_H
#define JP_TOPO_NVML_LINKS_H

#include "orchestrator/topo/nvml.h"
#include "orchestrator/topo/nvml_lib.h"

/* A driver call: leaves the function's name where the parent looks when it
 * never comes back. */
#define NVML_CALL(out, lib, function, ...)                                     \
    (nvml_note((out), #function), (lib)->function(__VA_ARGS__))
void nvml_note(struct jp_nvml *out, const char *function);

/* Fills the members of links and C2C. */
void nvml_links_read(const struct nvml_lib *lib, nvml_device device,
                     struct jp_nvml *out, struct jp_nvml_gpu *gpu);

#endif
