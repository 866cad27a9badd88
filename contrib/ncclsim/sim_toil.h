/* sim_toil.h - work that a rank really does: it computes, reads, writes,
 * touches memory. */
#ifndef JP_SIM_TOIL_H
#define JP_SIM_TOIL_H

#include <stdint.h>

#include "common/error.h"

struct jp_sim_toil;

enum {
    SIM_TOIL_RIVAL = 1, /* another program on our processor */
    SIM_TOIL_FILE = 2,  /* an unlinked file in the current folder */
};

/* Returns NULL on failure. */
struct jp_sim_toil *sim_toil_create(unsigned needs, struct jp_error *err);
void sim_toil_destroy(struct jp_sim_toil *toil); /* accepts NULL */

/* Each works for about `ns`. Returns by how many ns it ends later than without
 * that work; sim_toil_share() than with a processor of its own. */
int64_t sim_toil_compute(struct jp_sim_toil *toil, int64_t ns);
int64_t sim_toil_share(struct jp_sim_toil *toil, int64_t ns);
int64_t sim_toil_read(struct jp_sim_toil *toil, int64_t ns);
int64_t sim_toil_write(struct jp_sim_toil *toil, int64_t ns);
int64_t sim_toil_fault(struct jp_sim_toil *toil, int64_t ns);

#endif
