/* topo_verdict.c - a topology's fault as a step's word. */
#include "orchestrator/insight/topo_verdict.h"

#include <stdio.h>
#include <string.h>

#include "orchestrator/insight/sentence.h"

static const struct jp_step_warning *find(const struct jp_step_labels *labels,
                                          enum jp_warning_kind kind)
{
    for (size_t i = 0; i < labels->n_warnings; i++)
        if (labels->warnings[i].kind == kind)
            return &labels->warnings[i];
    return NULL;
}

static const struct jp_step_warning *
find_fault(const struct jp_step_labels *labels)
{
    const struct jp_step_warning *dead = find(labels, JP_WARN_DEAD_NVLINK);

    if (dead || !find(labels, JP_WARN_ODD_NODE))
        return dead;
    return find(labels, JP_WARN_HCA_DOWN);
}

void topo_verdict_add(const struct jp_step_labels *labels,
                      struct jp_verdict *verdict)
{
    const struct jp_step_warning *fault = labels ? find_fault(labels) : NULL;
    char rest[sizeof(verdict->text)];
    struct jp_sentence s;

    if (!fault || verdict->word != JP_VERDICT_OK)
        return;
    memcpy(rest, verdict->text, sizeof(rest));
    sentence_init(&s, verdict->text, sizeof(verdict->text));
    sentence_add(&s, "%s", fault->text);
    sentence_add(&s, "%s", rest);
    verdict->word = JP_VERDICT_DEGRADED;
}
