/* settings.c - make, grow and free lists of settings, and append lines to a
 * text. All functions copy the strings that they are given. */
#include "common/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pattern.h"
#include "common/vector.h"

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
        value->value && !pattern_names_job(value->value))
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

int settings_add_value(struct jobconf_side *side, const char *key,
                       const char *value, const struct plan_value *from,
                       const char *reason, struct jp_error *err)
{
    const struct jp_setting one = {(char *) key, (char *) value,
                                   (char *) plan_source_words[from->source],
                                   from->where, (char *) reason};

    return settings_add(&side->settings, &side->n_settings, &one, err);
}

int settings_add_mode(struct jobconf_side *side, const struct plan_side *plan,
                      const char *mode, const char *reason,
                      struct jp_error *err)
{
    const struct jp_setting one = {
        (char *) "mode", (char *) mode,
        (char *) plan_source_words[plan->mode_source], plan->mode_where,
        (char *) reason};

    return settings_add(&side->settings, &side->n_settings, &one, err);
}

int settings_request(struct jp_jobconf *conf, const struct plan_side *plan,
                     struct jp_error *err)
{
    struct jobconf_side *side = &conf->sides[plan->grammar->id];

    side->request = strdup(plan->grammar->modes[plan->mode].name);
    return side->request ? 0 : error_set(err, "out of memory");
}
