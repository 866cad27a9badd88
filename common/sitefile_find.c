/* sitefile_find.c - look up and free what a settings file said. */
#include "common/sitefile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/sitekeys.h"

static const struct sitefile_value *find(const struct sitefile_value *list,
                                         size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

const struct sitefile_value *sitefile_find(const struct jp_sitefile *file,
                                           const char *name)
{
    return find(file->values, file->n_values, name);
}

const struct sitefile_value *sitefile_lock(const struct jp_sitefile *file,
                                           const char *name)
{
    return find(file->locks, file->n_locks, name);
}

char *sitefile_knob_name(const struct jp_grammar *grammar,
                         const struct jp_knob *knob, char *buf, size_t len)
{
    struct sitekey keys[SITEKEYS_MAX];
    size_t n = sitekeys_all(keys);

    snprintf(buf, len, "%s.%s", grammar->group, knob->name);
    for (size_t i = 0; i < n; i++)
        if (keys[i].knob == knob)
            snprintf(buf, len, "%s%s%s", keys[i].group,
                     *keys[i].group ? "." : "", keys[i].key);
    return buf;
}

/* Milliseconds of a time, rounded up; the number itself of a count. */
static uint32_t policy_number(const struct jp_knob *knob, const char *text)
{
    uint64_t v = 0;

    knob_number(knob, text, &v, NULL);
    return (uint32_t) (knob->kind == JP_KNOB_TIME ? (v + 999) / 1000 : v);
}

void sitefile_policy(const struct jp_sitefile *file, struct jp_policy *out)
{
    struct sitekey keys[SITEKEYS_MAX];
    size_t n = sitekeys_all(keys);
    char name[128];
    uint32_t least;

    *out = (struct jp_policy){
        .finish_limit_ms = JP_DEF_FINISH_LIMIT_MS,
        .alldone_wait_ms = JP_DEF_ALLDONE_WAIT_MS,
        .report_limit_ms = JP_DEF_REPORT_LIMIT_MS,
        .report_threads = JP_DEF_REPORT_THREADS,
        .report_nice = JP_DEF_REPORT_NICE,
        .claim_stale_ms = JP_DEF_CLAIM_STALE_MS,
        .watcher_delay_ms = JP_DEF_WATCHER_DELAY_MS,
        .watcher_life_ms = JP_DEF_WATCHER_LIFE_MS,
    };
    for (size_t i = 0; i < n; i++) {
        const struct sitefile_value *value;

        if (keys[i].policy_offset == SITEKEY_NO_POLICY)
            continue;
        snprintf(name, sizeof(name), "%s.%s", keys[i].group, keys[i].key);
        value = sitefile_find(file, name);
        if (value)
            *(uint32_t *) ((char *) out + keys[i].policy_offset) =
                policy_number(keys[i].knob, value->value);
    }
    /* a watcher that ends before it may report would be none */
    least = out->watcher_delay_ms + out->report_limit_ms;
    if (out->watcher_life_ms < least)
        out->watcher_life_ms = least;
}

static void free_values(struct sitefile_value *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i].name);
        free(list[i].value);
        free(list[i].where);
    }
    free(list);
}

void sitefile_fini(struct jp_sitefile *file)
{
    if (!file)
        return;
    free_values(file->values, file->n_values);
    free_values(file->locks, file->n_locks);
    *file = (struct jp_sitefile){0};
}
