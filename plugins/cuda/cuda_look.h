/* cuda_look.h - what of this machine counting CUDA's calls needs. */
#ifndef JP_CUDA_LOOK_H
#define JP_CUDA_LOOK_H

#include <stddef.h>

/* "CUDA's calls (cuda=1): PATH, libcupti at PATH", or what is not there, into
 * buf; no library is loaded. Returns buf. */
const char *cuda_look(char *buf, size_t len);

#endif
