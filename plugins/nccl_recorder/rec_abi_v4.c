/* NCCL's profiler interface v4 in terms of the recorder's core. */
#define VERSION 4
#include "plugins/nccl_recorder/rec_abi_new.h"
