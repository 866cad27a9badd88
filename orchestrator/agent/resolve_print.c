/* resolve_print.c - print a plan, or settings, for people. */
#include "orchestrator/agent/resolve.h"

#include <string.h>

#include "orchestrator/agent/plan_table.h"
#include "orchestrator/agent/plan_text.h"

void resolve_print_settings(FILE *out, const struct jp_setting *settings,
                            size_t n)
{
    struct plan_table table = {.n_columns = 4, .limit = {32, 32, 40}};

    plan_table_add(&table, "setting");
    plan_table_add(&table, "value");
    plan_table_add(&table, "source");
    plan_table_add(&table, "reason");
    for (size_t i = 0; i < n; i++) {
        const struct jp_setting *s = &settings[i];
        bool named = *s->where && strcmp(s->where, s->key) != 0;

        plan_table_add(&table, "%s", s->key);
        plan_table_add(&table, "%s", s->value);
        plan_table_add(&table, "%s%s%s", s->source, named ? " " : "",
                       named ? s->where : "");
        plan_table_add(&table, "%s", s->reason);
    }
    plan_table_print(&table, 0, out, NULL);
}

int resolve_print(FILE *out, const struct resolve_input *in,
                  struct jp_error *err)
{
    struct plan_view view;
    struct jp_plan plan;
    int rc = -1;

    if (plan_make(&in->plan, &plan, err) < 0)
        return -1;
    if (plan_view_make(in, &plan, NULL, &view, err) == 0) {
        rc = plan_text_print(out, &view,
                             "jobprof: plan (this step runs unprofiled)", false,
                             err);
        plan_view_fini(&view);
    }
    plan_fini(&plan);
    return rc;
}
