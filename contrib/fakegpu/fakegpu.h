/* GPUs that are not there, as the three stand-in libraries see them.
 *
 * The environment says what exists; it is read at every call, so a test may
 * change it on the way:
 *   FAKEGPU_COUNT         GPUs of the node (1), at most 16
 *   CUDA_VISIBLE_DEVICES  numbers of those the process sees, "2,3"; CUDA's
 *                         ordinals count these, NVML's indices all
 *   FAKEGPU_DEVICE        the ordinal of a thread that never called
 *                         cudaSetDevice() (0)
 *   FAKEGPU_MIG           UUID of the MIG instance that the visible devices
 *                         are, "MIG-<8-4-4-4-12>"; unset: whole GPUs
 *   FAKEGPU_BUSES         PCI buses of the GPUs in hexadecimal, "1b,3d"
 *   FAKEGPU_FAIL          functions that fail, "cuDeviceGetUuid,cudaGetDevice",
 *                         or "all"
 * and of NVML alone:
 *   FAKEGPU_MACHINE       whose links the GPUs have, fake_links.c's table: v100
 *                         a100 a100x4 h100 h100x4 b200 nvl72 power9; then
 *                         FAKEGPU_COUNT is the machine's unless it is set;
 *                         unset: no NVLink
 *   FAKEGPU_DEAD          links that are down, "2:5,3:0" (GPU:link)
 *   FAKEGPU_ASLEEP        links that sleep while the GPU idles (version 6 on)
 *   FAKEGPU_CLIQUE        the fabric clique of nvl72 (1)
 *   FAKEGPU_FABRIC        1 or 2: the newest layout of fabric information that
 *                         the driver knows (3)
 *   FAKEGPU_HANG          functions that never come back
 *   FAKEGPU_CRASH         functions that end the process
 *   FAKEGPU_LOAD          a file of what the GPUs are doing over time, see
 *                         fake_script.h
 *   FAKEGPU_GARBAGE       what is out of all bounds: "count", "links", "texts"
 * A program with an environment of its own (the node agent) finds them in the
 * file fakegpu.env beside the library, lines of NAME=VALUE; the environment
 * comes before it.
 * GPU number i has the PCI bus id 0000:<1A + 8 i>:00.0, unless FAKEGPU_BUSES
 * names its bus, and the UUID
 * GPU-fa4e0000-0000-4000-8000-00000000000<i> (in hexadecimal).
 */
#ifndef JP_FAKEGPU_H
#define JP_FAKEGPU_H

#include <stddef.h>

#define FAKEGPU_EXPORT __attribute__((visibility("default")))

enum { FAKEGPU_MAX = 16, FAKEGPU_UUID_BYTES = 16 };

/* Whether the test wants this function to fail. */
int fakegpu_fails(const char *function);

/* Whether a variable of the environment lists the word, or is "all". */
int fakegpu_lists(const char *name, const char *word);
int fakegpu_garbage(const char *what);

/* A number of the environment, 0 to `max`; `fallback` where it is none. */
int fakegpu_number(const char *name, int max, int fallback);

int fakegpu_count(void); /* of the node */
/* A machine's number of GPUs, where FAKEGPU_COUNT says nothing; weak: only
 * NVML's library knows machines. */
int fakegpu_machine_count(void) __attribute__((weak));
int fakegpu_visible(void); /* to the process */

/* The node's number of an ordinal; -1 where there is none. */
int fakegpu_index(int ordinal);

/* The calling thread's ordinal. */
int fakegpu_current(void);
int fakegpu_bus(int index);

/* A GPU's UUID. */
void fakegpu_uuid(int index, unsigned char uuid[FAKEGPU_UUID_BYTES]);

/* The MIG instance's UUID; -1 where the devices are whole GPUs. */
int fakegpu_mig_uuid(unsigned char uuid[FAKEGPU_UUID_BYTES]);

/* Writes "GPU-fa4e0000-...": -1 where `size` is too small. */
int fakegpu_format_uuid(const char *prefix, const unsigned char *uuid,
                        char *out, size_t size);

#endif
