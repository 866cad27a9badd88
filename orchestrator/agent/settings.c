/* settings.c - make, grow, free and print lists of settings, and append lines
 * to a text. All functions copy the strings that they are given. */
#include "orchestrator/agent/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/agent/plan_view.h"

/* --- append lines to a text ---------------------------------------------- */

int lines_add(char **text, struct jp_error *err, const char *fmt, ...)
{
    char *line = NULL, *both;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&line, fmt, ap) < 0)
        /* On failure, vasprintf leaves the pointer undefined. */
        line = NULL;
    va_end(ap);
    if (!line)
        return error_set(err, "out of memory");
    /* Lines are separated, not ended, by line breaks. */
    if (*text && asprintf(&both, "%s\n%s", *text, line) < 0)
        both = NULL;
    else if (!*text)
        both = strdup(line);
    free(line);
    if (!both)
        return error_set(err, "out of memory");
    free(*text);
    *text = both;
    return 0;
}

/* Frees the strings of one setting. */
static void free_one(struct jp_setting *one)
{
    free(one->key);
    free(one->value);
    free(one->source);
    free(one->where);
    free(one->reason);
}

/* A copy of text; NULL becomes "". */
static char *copy_of(const char *text)
{
    return strdup(text ? text : "");
}

int settings_add(struct jp_setting **list, size_t *n,
                 const struct jp_setting *one, struct jp_error *err)
{
    /* Copy everything first: the list changes only if nothing fails. */
    struct jp_setting copy = {copy_of(one->key), copy_of(one->value),
                              copy_of(one->source), copy_of(one->where),
                              copy_of(one->reason)};

    if (!copy.key || !copy.value || !copy.source || !copy.where ||
        !copy.reason || vector_resize(list, *n + 1, sizeof(**list)) < 0) {
        free_one(&copy);
        return error_set(err, "out of memory");
    }
    (*list)[(*n)++] = copy;
    return 0;
}

void settings_free(struct jp_setting *settings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free_one(&settings[i]);
    free(settings);
}

/* The reason of a setting that needs an explanation; "" for the others. */
static const char *reason_of(const struct plan_side *side,
                             const struct jp_knob *knob,
                             const struct plan_value *value)
{
    if (side->grammar == grammar_nccl() && !strcmp(knob->name, "nccl") &&
        value->source == PLAN_DEFAULT)
        return "an assumption: set nccl= or the site file";
    if (side->grammar == grammar_nccl() && !strcmp(knob->name, "dir") &&
        value->value && !place_names_job(value->value))
        return "does not name the job: -%j is appended";
    return "";
}

/* Knobs without a value are left out. */
int settings_list(const struct plan_side *side, struct jp_setting **out,
                  size_t *n, struct jp_error *err)
{
    struct jp_setting *list = NULL;
    size_t count = 0;

    for (size_t i = 0; i < side->grammar->n_knobs; i++) {
        const struct jp_knob *knob = &side->grammar->knobs[i];
        const struct plan_value *value = &side->values[i];
        /* settings_add copies the strings */
        struct jp_setting one = {(char *) knob->name, value->value,
                                 (char *) plan_source_words[value->source],
                                 value->where,
                                 (char *) reason_of(side, knob, value)};

        /* With a mode, list only the knobs that its profiler reads. */
        if (!value->value || (side->mode && !(knob->modes >> side->mode & 1)))
            continue;
        if (settings_add(&list, &count, &one, err) < 0) {
            settings_free(list, count);
            return -1;
        }
    }
    *out = list;
    *n = count;
    return 0;
}

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
