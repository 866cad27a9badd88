/* sim_device.h - the GPUs of a process that has several: each thread has one
 * current device, as in CUDA.
 *
 * A profiler plugin asks CUDA which device a communicator's thread has. So the
 * libraries of CUDA must be there: the genuine ones, or contrib/fakegpu's on
 * LD_LIBRARY_PATH. */
#ifndef JP_SIM_DEVICE_H
#define JP_SIM_DEVICE_H

#include "common/error.h"

/* Loads libcuda.so.1 and checks that it has so many devices. Returns 0 or -1.
 */
int sim_device_load(int n, struct jp_error *err);

/* Makes the device the calling thread's current one. Returns 0 or -1. */
int sim_device_set(int device, struct jp_error *err);

#endif
