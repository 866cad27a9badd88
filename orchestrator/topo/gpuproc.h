/* gpuproc.h - the GPUs that NVIDIA's kernel driver lists in /proc.
 *
 * /proc/driver/nvidia/gpus/<bus id>/information has the model, the UUID and the
 * minor: what a node still says of itself where NVML does not answer.
 */
#ifndef JP_TOPO_GPUPROC_H
#define JP_TOPO_GPUPROC_H

#include "orchestrator/topo/nvml.h"

/* Replaces the GPUs of out; of links, fabric and MIG they tell nothing. root:
 * "" for the machine, else the folder that stands for /. */
void gpuproc_read(const char *root, struct jp_nvml *out);

#endif
