/* NCCL's profiler interface v5 in terms of the recorder's core. */
#define VERSION 5
#include "plugins/nccl_recorder/rec_abi_new.h"
