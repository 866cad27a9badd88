/* cuda_launch.h - hooks of struct launch_side for cuda=1 of --util-profile. */
#ifndef JP_CUDA_LAUNCH_H
#define JP_CUDA_LAUNCH_H

#include "plugins/side.h"

/* With cuda=1, adds the setting and the tasks' variables that count calls. A
 * CUDA injection library that the user has set is kept. */
int cuda_complete(const struct side_step *step, struct jp_jobconf *conf,
                  char **note, struct jp_error *err);
/* Removes the library from conf's variables if this node does not have it. */
void cuda_adapt(struct jp_jobconf *conf, const char *ready, char *line,
                size_t len);

#endif
