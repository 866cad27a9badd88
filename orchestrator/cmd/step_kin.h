/* step_kin.h - which other steps of a job have ranks of a step's communicators.
 */
#ifndef JP_CMD_STEP_KIN_H
#define JP_CMD_STEP_KIN_H

#include <stddef.h>

#include "orchestrator/aggregate/aggregate.h"

/* Formats the ids of the job's other steps whose recordings have a communicator
 * of which the result (NULL: none) lacks ranks: "1, 2"; "": none, as far as
 * their first recordings show. A step may still run. Returns buf. */
char *step_kin_find(const char *step_dir, const struct jp_result *result,
                    char *buf, size_t size);

#endif
