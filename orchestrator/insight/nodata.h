/* nodata.h - say why there are no figures. */
#ifndef JP_INSIGHT_NODATA_H
#define JP_INSIGHT_NODATA_H

#include <stdbool.h>

#include "orchestrator/insight/evidence.h"
#include "orchestrator/insight/sentence.h"

/* True, and one clause added, if the evidence holds no record (or was not
 * analysed). The clause claims no more than was seen: a missing file does not
 * tell a program without NCCL from a profiler that was not loaded. */
bool nodata_explain(const struct jp_evidence *e, struct jp_sentence *s);

#endif
