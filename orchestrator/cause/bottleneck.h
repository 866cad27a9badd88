/* bottleneck.h - what limits the job as a whole; several limits may apply. */
#ifndef JP_CAUSE_BOTTLENECK_H
#define JP_CAUSE_BOTTLENECK_H

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/cause/samples.h"
#include "orchestrator/util/util.h"

enum jp_bottleneck_kind {
    JP_BOTTLENECK_GPU,
    JP_BOTTLENECK_INPUT,
    JP_BOTTLENECK_CPU,
    JP_BOTTLENECK_IO,
    JP_BOTTLENECK_MEMORY,
    JP_BOTTLENECK_COMMUNICATION,
    JP_BOTTLENECK_GPU_MEMORY,
    JP_BOTTLENECK_IMBALANCE,
    JP_BOTTLENECK_THROTTLED,
    JP_BOTTLENECK_UNDER_USED,
    JP_BOTTLENECKS
};
extern const char *const bottleneck_words[JP_BOTTLENECKS]; /* "gpu_bound" */
/* What people read behind "bound by": "GPU". */
extern const char *const bottleneck_titles[JP_BOTTLENECKS];

struct jp_bottleneck {
    enum jp_bottleneck_kind kind;
    const char *metric; /* the metric behind the value */
    enum util_unit unit;
    double value, limit;
    char text[160]; /* the evidence, as a clause */
};

struct jp_bottlenecks {
    struct jp_bottleneck at[JP_BOTTLENECKS];
    size_t n;
    bool looked;    /* there was data to examine */
    char text[300]; /* all of them in one line; "": none */
};

/* Finds the bottlenecks. util and result may be NULL. samples, of the same
 * step, may be NULL as well; then no node is known to be used by this step
 * alone. */
void bottlenecks_find(const struct jp_util *util, const struct samples *samples,
                      const struct jp_result *result,
                      struct jp_bottlenecks *out);

#endif
