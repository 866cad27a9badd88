/* cuda_launch.h - hooks of struct launch_side for cuda=1 of --util-profile. */
#ifndef JP_CUDA_LAUNCH_H
#define JP_CUDA_LAUNCH_H

#include "plugins/backend.h"

/* With cuda=1, adds the setting and the tasks' variables that count calls. A
 * CUDA injection library that the user has set is kept. */
int cuda_complete(const struct side_step *step, struct jp_jobconf *conf,
                  char **note, struct jp_error *err);
/* Removes the library from conf's variables if this node does not have it. */
void cuda_adapt(struct jp_jobconf *conf, const char *ready, char *line,
                size_t len);
/* Doctor's check of the library, which the nodes leave out if it is not
 * there. */
void cuda_check_step(const struct backend_host *host,
                     const struct jp_jobconf *conf);

#endif
