/* The six tables that NCCL looks up by name; all that the library exports. */
#ifndef JP_REC_ABI_H
#define JP_REC_ABI_H

#include "plugins/nccl_recorder/nccl_profiler.h"

#define JP_REC_EXPORT __attribute__((visibility("default")))

extern struct jp_nccl_plugin_v1 ncclProfiler_v1;
extern struct jp_nccl_plugin_v2 ncclProfiler_v2;
extern struct jp_nccl_plugin_v3 ncclProfiler_v3;
extern struct jp_nccl_plugin_v4 ncclProfiler_v4;
extern struct jp_nccl_plugin_v5 ncclProfiler_v5;
extern struct jp_nccl_plugin_v6 ncclProfiler_v6;

#endif
