/* rec_gpu.h - which GPU the calling thread's communicator uses. */
#ifndef JP_REC_GPU_H
#define JP_REC_GPU_H

#include <stddef.h>

/* PCI bus id ("0000:4f:00.0") and UUID ("GPU-...") of the current device, ""
 * where they cannot be had. Asks only libraries that the process has loaded
 * already; loads nothing, makes no context. */
void rec_gpu_identify(char *pci, size_t pci_size, char *uuid, size_t uuid_size);

/* NCCL's own version number (23007: 2.30.7), 0 where it does not tell. */
unsigned rec_gpu_nccl_release(void);

#endif
