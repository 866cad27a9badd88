/* cuda_launch.h - what cuda=1 adds to a step. The key is of the option that
 * takes samples (with_samples of struct jp_profiler). */
#ifndef JP_CUDA_LAUNCH_H
#define JP_CUDA_LAUNCH_H

#include "plugins/backend.h"

/* With cuda=1, adds the setting and the tasks' variables that count calls. A
 * CUDA injection library that the user has set is kept. On a node that does not
 * have the library, it is removed from the variables. */
extern const struct launch_side cuda_side;
/* Doctor's check of the library, which the nodes leave out if it is not
 * there. */
void cuda_check_step(const struct backend_host *host,
                     const struct jp_jobconf *conf);

#endif
