/* cuda_feature.h - the part of a report that counters of CUDA's calls have. */
#ifndef JP_CUDA_CUDA_FEATURE_H
#define JP_CUDA_CUDA_FEATURE_H

#include "orchestrator/cuda/cuda.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/report/report.h"

extern const struct feature feature_cuda;
#define CUDA_FEATURE "cuda" /* its name */

/* The report's counters, or NULL. */
static inline const struct jp_cuda *cuda_of(const struct jp_report *report)
{
    return feature_data_of(report->features, CUDA_FEATURE);
}

/* cuda_tables.c */
extern const struct jp_table table_cuda, table_gpu_clocks;
extern const struct jp_table *const tables_cuda[]; /* ends with NULL */

#endif
