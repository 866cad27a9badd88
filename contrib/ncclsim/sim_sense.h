/* sim_sense.h - read what delays a rank on this machine: its GPU, its host, its
 * port. */
#ifndef JP_SIM_SENSE_H
#define JP_SIM_SENSE_H

#include <stdint.h>

#include "common/error.h"

enum jp_sim_sense {
    SIM_SENSE_CLOCK,      /* NVML: the SM clock and its maximum */
    SIM_SENSE_PCIE,       /* NVML: generation and width, and those at first */
    SIM_SENSE_GPU_MEMORY, /* NVML: share of the time that memory is busy */
    SIM_SENSE_GPU_SHARED, /* NVML: share of the time of other processes */
    SIM_SENSE_ECC,        /* NVML: uncorrected errors */
    SIM_SENSE_STEAL,      /* /proc/stat */
    SIM_SENSE_PORT,       /* /sys/class/infiniband */
};

struct jp_sim_senses;

/* Returns NULL if the source cannot be read. nvml: for dlopen(). */
struct jp_sim_senses *sim_senses_create(enum jp_sim_sense sense,
                                        const char *nvml, int gpu,
                                        struct jp_error *err);
void sim_senses_destroy(struct jp_sim_senses *senses); /* accepts NULL */

/* Returns by how many ns work takes longer now that takes `ns` on a healthy
 * machine; 0 if nothing can be read:
 *
 *   CLOCK       ns * (maximum / clock - 1)
 *   PCIE        ns * (first link / link - 1), a link being width * 2^generation
 *   GPU_MEMORY  ns * busy / (1 - busy)
 *   GPU_SHARED  ns * theirs / (1 - theirs)
 *   STEAL       ns * stolen / (1 - stolen), since the last reading
 *   ECC         ns if there were new errors recently
 *   PORT        ns * (first rate / rate - 1) + ns * used / (1 - used), and ns
 *               each for new waits and new errors */
int64_t sim_senses_late_ns(struct jp_sim_senses *senses, int64_t ns);

#endif
