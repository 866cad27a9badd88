/* settings.c - print lists of settings. */
#include "orchestrator/agent/settings.h"

#include <stdio.h>
#include <string.h>

#include "orchestrator/agent/plan_view.h"

void settings_print(FILE *out, const struct jp_setting *settings, size_t n)
{
    /* A long value must not push the other columns away. */
    struct plan_table table = {.n_columns = 4, .limit = {32, 32, 40}};

    plan_table_add(&table, "setting");
    plan_table_add(&table, "value");
    plan_table_add(&table, "source");
    plan_table_add(&table, "reason");
    for (size_t i = 0; i < n; i++) {
        const struct jp_setting *s = &settings[i];
        /* A variable of the user is its own key: do not print it twice. */
        bool named = *s->where && strcmp(s->where, s->key) != 0;

        plan_table_add(&table, "%s", s->key);
        plan_table_add(&table, "%s", *s->value ? s->value : "-");
        plan_table_add(&table, "%s%s%s", s->source, named ? " " : "",
                       named ? s->where : "");
        plan_table_add(&table, "%s", s->reason);
    }
    plan_table_print(&table, 0, out, NULL);
}
