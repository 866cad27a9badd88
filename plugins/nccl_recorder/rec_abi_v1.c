/* NCCL's profiler interface v1 in terms of the recorder's core. */
#define VERSION 1
#define FUNC(event) rec_names_v1_func((event).func)
#define DATATYPE(event) rec_names_v1_datatype((event).datatype)
#define ALGO(event) NULL
#define PROTO(event) NULL
#include "plugins/nccl_recorder/rec_abi_old.h"
