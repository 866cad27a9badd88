/* registry.c - the features, a line each, in the order of a report. */
#include "orchestrator/feature/feature.h"

extern const struct feature feature_cause;
extern const struct feature feature_clock;
extern const struct feature feature_copper;
extern const struct feature feature_cuda;
extern const struct feature feature_evidence;
extern const struct feature feature_flight;
extern const struct feature feature_gputime;
extern const struct feature feature_nsys;
extern const struct feature feature_parquet;
extern const struct feature feature_topodraw;
extern const struct feature feature_util;

/* clang-format off */
const struct feature *const feature_registry[] = {
    &feature_copper,
    &feature_util,
    &feature_cause,
    &feature_clock,
    &feature_nsys,
    &feature_gputime,
    &feature_cuda,
    &feature_evidence,
    &feature_flight,
    &feature_topodraw,
    &feature_parquet,
    NULL,
};
/* clang-format on */

_Static_assert(sizeof(feature_registry) / sizeof(*feature_registry) <=
                   FEATURES_MAX,
               "struct feature_set has room for all features");
