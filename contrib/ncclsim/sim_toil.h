/* Work that a rank really does: it computes, reads, writes, touches memory. */
#ifndef JP_SIM_TOIL_H
#define JP_SIM_TOIL_H

#include <stdint.h>

#include "common/error.h"

struct jp_sim_toil;

enum {
    SIM_TOIL_RIVAL = 1, /* a program that is not ours on our processor */
    SIM_TOIL_FILE = 2,  /* a file without a name in the current folder */
};

/* NULL on failure. */
struct jp_sim_toil *sim_toil_create(unsigned needs, struct jp_error *err);
void sim_toil_destroy(struct jp_sim_toil *toil); /* takes NULL */

/* Each works for about `ns`, and gives how much later it is done than a rank
 * without that work; sim_toil_share() than one with a processor of its own. */
int64_t sim_toil_compute(struct jp_sim_toil *toil, int64_t ns);
int64_t sim_toil_share(struct jp_sim_toil *toil, int64_t ns);
int64_t sim_toil_read(struct jp_sim_toil *toil, int64_t ns);
int64_t sim_toil_write(struct jp_sim_toil *toil, int64_t ns);
int64_t sim_toil_fault(struct jp_sim_toil *toil, int64_t ns);

#endif
