/* plan_text.h - a plan as a person reads it.
 *
 * What runs and why; what is recorded and what is not, with the warnings; the
 * job's shape; the cost in memory and on disk beside what there is; the
 * directory; the settings; the tasks' variables. Lines have 100 columns but for values that are longer.
 */
#ifndef JP_AGENT_PLAN_TEXT_H
#define JP_AGENT_PLAN_TEXT_H

#include "orchestrator/agent/plan_view.h"

/* head: how the first line starts. brief: without the two tables. -1: no
 * memory; whether out took it all is the caller's to check. */
int plan_text_print(FILE *out, const struct plan_view *view, const char *head,
                    bool brief, struct jp_error *err);

#endif
