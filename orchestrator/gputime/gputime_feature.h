/* gputime_feature.h - the part of a report that traces of kernels have. */
#ifndef JP_GPUTIME_GPUTIME_FEATURE_H
#define JP_GPUTIME_GPUTIME_FEATURE_H

#include "orchestrator/feature/feature.h"
#include "orchestrator/insight/verdict.h"

extern const struct feature feature_gputime;

#endif
