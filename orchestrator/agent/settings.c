/* settings.c - print lists of settings. */
#include "orchestrator/agent/settings.h"

#include <stdio.h>
#include <string.h>

#include "orchestrator/agent/plan_view.h"

/* The source, and the place where the setting is. A variable of the user is its
 * own key: it is not repeated. */
JP_GETTER(source, jp_setting, {
    bool named = *at->where && strcmp(at->where, at->key) != 0;

    value_text(v, at->source);
    if (!named)
        return;
    /* a path that is too long stands alone */
    value_text(v, snprintf(v->buf, sizeof(v->buf), "%s %s", at->source,
                           at->where) < (int) sizeof(v->buf)
                      ? v->buf
                      : at->where);
})

#define FIELD(member) JP_FIELD(struct jp_setting, member)
/* key, kind, flags, places in JSON, on a page and in text */
static const struct jp_column columns[] = {
    {"key", JP_COL_TEXT, 0, 1, 0, 1, "setting", .width = 32, FIELD(key)},
    {"value", JP_COL_TEXT, 0, 2, 0, 2, "value", .width = 32, FIELD(value)},
    {"source", JP_COL_WORD, 0, 3, FIELD(source)},
    {"source", JP_COL_TEXT, 0, 0, 0, 3, "source", .width = 40,
     .get = get_source},
    {"where", JP_COL_TEXT, 0, 4, FIELD(where)},
    {"reason", JP_COL_PROSE, 0, 5, 0, 4, "reason", .none = "", FIELD(reason)},
};
#undef FIELD
const struct jp_table plan_settings = {.name = "settings",
                                       JP_COLUMNS(columns),
                                       .row_size = sizeof(struct jp_setting),
                                       .max_json = SIZE_MAX};

void settings_print(FILE *out, const struct jp_setting *settings, size_t n)
{
    table_lay_out(&plan_settings,
                  &(const struct table_source){.rows = settings, .n = n}, out,
                  NULL);
}
