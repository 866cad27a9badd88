/* fakegpu.h - GPUs that do not exist, as the stand-in libraries for CUDA, NVML
 * and rocm_smi see them.
 *
 * The environment describes them. It is read at every call, so a test may
 * change it while a program runs:
 *
 *   FAKEGPU_COUNT         number of the node's GPUs (1), at most 16
 *   CUDA_VISIBLE_DEVICES  numbers of the GPUs that the process sees, "2,3";
 *                         CUDA's ordinals count these, NVML's indices all
 *   FAKEGPU_DEVICE        ordinal of a thread that never called cudaSetDevice()
 *                         (0)
 *   FAKEGPU_MIG           UUID of the MIG instance that the visible devices
 * are, "MIG-<8-4-4-4-12>"; unset: whole GPUs FAKEGPU_BUSES         PCI buses of
 * the GPUs in hexadecimal, "1b,3d" FAKEGPU_FAIL          functions that fail,
 * "cuDeviceGetUuid,cudaGetDevice", or "all" and for NVML alone: FAKEGPU_MACHINE
 * machine whose links the GPUs have (fake_links.c): v100 a100 a100x4 h100
 * h100x4 b200 nvl72 power9; FAKEGPU_COUNT is then the machine's unless it is
 * set; unset: no NVLink FAKEGPU_DEAD          links that are down, "2:5,3:0"
 * (GPU:link) FAKEGPU_ASLEEP        links that sleep while the GPU idles (from
 * version 6) FAKEGPU_CLIQUE        fabric clique of nvl72 (1) FAKEGPU_FABRIC 1
 * or 2: newest layout of fabric information that the driver has (3)
 *   FAKEGPU_HANG          functions that never return
 *   FAKEGPU_CRASH         functions that end the process
 *   FAKEGPU_LOAD          file with the GPUs' values over time (fake_script.h)
 *   FAKEGPU_GARBAGE       results that are out of all bounds: "count", "links",
 *                         "texts"
 *
 * A program with an environment of its own (the node agent) reads them from the
 * file fakegpu.env beside the library, lines of NAME=VALUE; the environment
 * takes precedence. GPU number i has the PCI bus id 0000:<1A + 8 i>:00.0,
 * unless FAKEGPU_BUSES names its bus, and the UUID
 * GPU-fa4e0000-0000-4000-8000-00000000000<i> (hexadecimal). */
#ifndef JP_FAKEGPU_H
#define JP_FAKEGPU_H

#include <stddef.h>

#define FAKEGPU_EXPORT __attribute__((visibility("default")))

enum { FAKEGPU_MAX = 16, FAKEGPU_UUID_BYTES = 16 };

/* Whether this function has to fail. Hangs or aborts if the test demands that.
 */
int fakegpu_fails(const char *function);

/* Whether a variable of the environment has the word in its list, or is "all".
 */
int fakegpu_lists(const char *name, const char *word);
int fakegpu_garbage(const char *what);

/* Returns a number of the environment, 0 to `max`; `fallback` if it is not set
 * or invalid. */
int fakegpu_number(const char *name, int max, int fallback);

int fakegpu_count(void); /* of the node */
/* A machine's number of GPUs if FAKEGPU_COUNT is not set. Weak, because only
 * the library for NVML has machines. */
int fakegpu_machine_count(void) __attribute__((weak));
int fakegpu_visible(void); /* number of GPUs visible to the process */

/* Returns the node's number of an ordinal, or -1. */
int fakegpu_index(int ordinal);

/* Returns the calling thread's ordinal. */
int fakegpu_current(void);
int fakegpu_bus(int index);

/* Returns a GPU's UUID. */
void fakegpu_uuid(int index, unsigned char uuid[FAKEGPU_UUID_BYTES]);

/* Returns the MIG instance's UUID; -1: the devices are whole GPUs. */
int fakegpu_mig_uuid(unsigned char uuid[FAKEGPU_UUID_BYTES]);

/* Formats "GPU-fa4e0000-...". Returns -1 if `size` is too small. */
int fakegpu_format_uuid(const char *prefix, const unsigned char *uuid,
                        char *out, size_t size);

#endif
