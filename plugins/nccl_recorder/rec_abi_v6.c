/* NCCL's profiler interface v6 in terms of the recorder's core. */
#define VERSION 6
#include "plugins/nccl_recorder/rec_abi_new.h"
