/* sim_cause.h - real causes of a late rank.
 *
 * Without a cause, a late rank is late by its virtual clock only, and nothing
 * on the machine shows it. With a cause, the rank really does something (reads
 * a file, touches pages, shares its processor), or the machine really has a
 * problem (a GPU whose clock fell), and the rank is late by the time that this
 * takes. The rank measures that time; the other ranks get it through
 * sim_meet.h.
 *
 * A cause is one row of the table in sim_cause.c. Causes that the machine has
 * (clock, steal, port, ...) are read from the same places as any program would
 * use: NVML, /proc and /sys. */
#ifndef JP_SIM_CAUSE_H
#define JP_SIM_CAUSE_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

struct jp_sim_cause;

/* Returns the cause of that name, or NULL. */
const struct jp_sim_cause *sim_cause_find(const char *name);

/* Whether all ranks do the same work, which delays only the late one. */
int sim_cause_is_for_all(const struct jp_sim_cause *cause);

/* Prints a line for each cause. */
void sim_cause_help(FILE *out);

/* Where this process is and what it may use; all borrowed. */
struct jp_sim_spot {
    const char *nvml; /* for dlopen() */
    int gpu;          /* its number on the node */
    int is_late;      /* this process is one of the late ones */
};

struct jp_sim_work;

/* Opens what the cause needs. Returns NULL on failure; release with
 * sim_cause_close(). */
struct jp_sim_work *sim_cause_open(const struct jp_sim_cause *cause,
                                   const struct jp_sim_spot *spot,
                                   struct jp_error *err);

/* Works for `ns`, or reads how long such work takes now. Returns by how many ns
 * it ends later than without the cause. */
int64_t sim_cause_late_ns(struct jp_sim_work *work, int64_t ns);

void sim_cause_close(struct jp_sim_work *work); /* accepts NULL */

#endif
