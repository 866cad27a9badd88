/* livekeep.h - have the processes of a hang looked at while they live, by
 * `jobprof-node evidence`.
 *
 *     jobprof-node evidence -q --node NODE --missing PID,... --waiting PID,...
 *         STEP_DIRECTORY
 *
 * It runs in a child of the agent's process group, which ends with the step,
 * with nothing but /dev/null open, and for LIVEKEEP_LIFE_S at most. Nobody
 * waits for it: what it finds is in the step directory.
 */
#ifndef JP_LIVE_LIVEKEEP_H
#define JP_LIVE_LIVEKEEP_H

#include "plugins/module.h"

#define LIVEKEEP_LIFE_S 60

/* A module_place.take_evidence. program: instead of this process' own, for
 * tests; NULL: that. */
void livekeep_start(void *program, const struct module_hang *hang);

#endif
