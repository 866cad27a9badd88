/* finding.c - keep a list of findings. */
#include "orchestrator/insight/finding.h"

#include <math.h>
#include <stdlib.h>

const char *finding_kind_name(enum jp_finding_kind kind)
{
    static const char *const names[JP_N_FINDINGS] = {
        [JP_FINDING_HANG] = "hang",
        [JP_FINDING_LATE_RANK] = "late_rank",
        [JP_FINDING_LATE_NODE] = "late_node",
        [JP_FINDING_SLOW_NETWORK] = "slow_network",
        [JP_FINDING_DRIFT] = "drift",
        [JP_FINDING_IMBALANCE] = "imbalance",
        [JP_FINDING_SMALL_MESSAGES] = "small_messages",
    };

    return names[kind];
}

struct jp_finding *findings_add(struct jp_findings *list,
                                enum jp_finding_kind kind)
{
    struct jp_finding *more =
        reallocarray(list->at, list->n + 1, sizeof(*more));

    if (!more)
        return NULL;
    list->at = more;
    more += list->n++;
    *more = (struct jp_finding){.kind = kind,
                                .comm = -1,
                                .rank = -1,
                                .world_rank = -1,
                                .pid = -1,
                                .from_us = NAN,
                                .to_us = NAN,
                                .share = NAN,
                                .cost_us = NAN};
    return more;
}

void findings_fini(struct jp_findings *list)
{
    free(list->at);
    *list = (struct jp_findings){0};
}

static double weight(const struct jp_finding *f)
{
    return isfinite(f->cost_us) ? f->cost_us : 0;
}

void findings_sort(struct jp_findings *list)
{
    for (size_t i = 1; i < list->n; i++) {
        struct jp_finding f = list->at[i];
        size_t k = i;

        for (; k > 0 && (list->at[k - 1].kind > f.kind ||
                         (list->at[k - 1].kind == f.kind &&
                          weight(&list->at[k - 1]) < weight(&f)));
             k--)
            list->at[k] = list->at[k - 1];
        list->at[k] = f;
    }
}
