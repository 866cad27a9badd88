/* ncclGetVersion(), which plugins look up in their process. */
#ifndef JP_SIM_VERSION_H
#define JP_SIM_VERSION_H

#include "common/error.h"

/* Sets what it says: "2.27.3", or NULL for the first release with the interface
 * (1 to 6; 0: the newest). 0 or -1, then nothing changed. */
int sim_version_set(const char *text, int interface, struct jp_error *err);

/* NCCL's own: 23007 is 2.30.7; 0, its success. */
int ncclGetVersion(int *version);

#endif
