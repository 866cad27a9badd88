/* NCCL's profiler interface v3 in terms of the recorder's core. */
#define VERSION 3
#define FUNC(event) (event).func
#define DATATYPE(event) (event).datatype
#define ALGO(event) (event).algo
#define PROTO(event) (event).proto
#include "plugins/nccl_recorder/rec_abi_old.h"
