/* What makes a rank late, done by the thing itself.
 *
 * Without a cause a late rank is late by its virtual clock only: nothing on the
 * machine shows it. With one the rank really does something, or the machine
 * really has something, and the rank is late by as much as that takes: it reads
 * a file, touches pages, shares its processor, has a GPU whose clock fell. How
 * much that is, it measures; the others hear it from sim_meet.h.
 *
 * A cause is one row of the table in sim_cause.c. Those that the machine has
 * (clock, steal, port, ...) are read where every program reads them: in NVML,
 * /proc and /sys.
 */
#ifndef JP_SIM_CAUSE_H
#define JP_SIM_CAUSE_H

#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

struct jp_sim_cause;

/* NULL: there is none of that name. */
const struct jp_sim_cause *sim_cause_find(const char *name);

/* Whether all ranks do the same, and only the late one is held up by it. */
int sim_cause_is_for_all(const struct jp_sim_cause *cause);

/* Prints a line for each cause. */
void sim_cause_help(FILE *out);

/* Where this process is and what it may use; all of it borrowed. */
struct jp_sim_spot {
    const char *nvml; /* for dlopen() */
    int gpu;          /* its number on the node */
    int is_late;      /* this process is one that is to be late */
};

struct jp_sim_work;

/* Opens what the cause needs. NULL on failure; release with
 * sim_cause_close(). */
struct jp_sim_work *sim_cause_open(const struct jp_sim_cause *cause,
                                   const struct jp_sim_spot *spot,
                                   struct jp_error *err);

/* Works for `ns`, or asks how long that takes as things are; how much later
 * than without the cause it is done. */
int64_t sim_cause_late_ns(struct jp_sim_work *work, int64_t ns);

void sim_cause_close(struct jp_sim_work *work); /* takes NULL */

#endif
