/* cmd_config_show.c - jobprof config show: effective settings and sources. */
#include "orchestrator/cmd/cmd_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/num.h"
#include "common/sitekeys.h"
#include "orchestrator/agent/resolve.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/report/json_out.h"

/* What is shown: settings, and the site's file for its locks. */
struct shown {
    struct jp_setting *list;
    size_t n;
    struct jp_sitefile site;
};

/* "mode" and the knobs of one side. */
static int add_side(const struct plan_side *side, const char *reason,
                    struct shown *shown, struct jp_error *err)
{
    const char *mode = side->grammar->modes[side->mode].name;
    struct jp_setting one = {(char *) side->grammar->group, (char *) mode,
                             (char *) plan_source_words[side->mode_source],
                             side->mode_where, (char *) reason};
    struct jp_setting *knobs = NULL;
    size_t n_knobs = 0;
    int rc;

    if (resolve_settings(side, &knobs, &n_knobs, err) < 0)
        return -1;
    rc = resolve_add_setting(&shown->list, &shown->n, &one, err);
    for (size_t i = 0; i < n_knobs && rc == 0; i++) {
        char name[64];
        int k = grammar_find_knob(side->grammar, knobs[i].key);

        if (!strcmp(knobs[i].key, "mode"))
            continue;
        sitefile_knob_name(side->grammar, &side->grammar->knobs[k], name,
                           sizeof(name));
        free(knobs[i].key);
        knobs[i].key = strdup(name);
        rc = knobs[i].key
                 ? resolve_add_setting(&shown->list, &shown->n, &knobs[i], err)
                 : error_set(err, "out of memory");
    }
    resolve_free_settings(knobs, n_knobs);
    return rc;
}

/* The effective value of a site's key into buf; "" where it has none. */
static char *site_text(const struct sitekey *key,
                       const struct sitefile_value *value,
                       const struct jp_policy *policy, char *buf, size_t len)
{
    uint32_t v;

    snprintf(buf, len, "%s", value ? value->value : "");
    if (key->policy_offset == SITEKEY_NO_POLICY)
        return buf;
    v = *(const uint32_t *) ((const char *) policy + key->policy_offset);
    if (key->knob->kind == JP_KNOB_TIME)
        return num_format_time_us((uint64_t) v * 1000, buf, (unsigned) len);
    snprintf(buf, len, "%u", v);
    return buf;
}

static int add_site_key(const struct sitekey *key,
                        const struct jp_policy *policy, struct shown *shown,
                        struct jp_error *err)
{
    const struct sitefile_value *value;
    struct jp_setting one = {0};
    char name[64], text[2048];

    snprintf(name, sizeof(name), "%s.%s", key->group, key->key);
    value = sitefile_find(&shown->site, name);
    one.key = name;
    one.value = site_text(key, value, policy, text, sizeof(text));
    one.source = (char *) plan_source_words[value ? PLAN_SITE : PLAN_DEFAULT];
    one.where = value ? value->where : NULL;
    return *text ? resolve_add_setting(&shown->list, &shown->n, &one, err) : 0;
}

/* Adds why a locked setting cannot be changed. */
static int mark_locks(struct shown *shown, struct jp_error *err)
{
    for (size_t i = 0; i < shown->n; i++) {
        struct jp_setting *s = &shown->list[i];
        const struct sitefile_value *lock;
        char name[64], *reason;

        snprintf(name, sizeof(name), "%s%s", s->key,
                 strcmp(s->key, "nccl") && strcmp(s->key, "copper")
                     ? ""
                     : ".default");
        lock = sitefile_lock(&shown->site, name);
        if (!lock)
            continue;
        if (asprintf(&reason, "locked by %s%s%s", lock->where,
                     *s->reason ? "; " : "", s->reason) < 0)
            return error_set(err, "out of memory");
        free(s->reason);
        s->reason = reason;
    }
    return 0;
}

/* Everything that is effective. */
static int collect(const struct plan_input *in, const struct jp_plan *plan,
                   struct shown *shown, struct jp_error *err)
{
    struct sitekey keys[SITEKEYS_MAX];
    size_t n_keys = sitekeys_all(keys);
    const char *reason = "";

    if (sitefile_load(config_site_path(in), SITEFILE_SITE, in->config != NULL,
                      NULL, NULL, &shown->site, err) < 0)
        return -1;
    if (plan->nccl.mode_source == PLAN_SITE &&
        activation_is_bound(&shown->site))
        reason = "for jobs that meet all nccl.default_...";
    if (add_side(&plan->nccl, reason, shown, err) < 0 ||
        add_side(&plan->copper, "", shown, err) < 0)
        return -1;
    for (size_t i = 0; i < n_keys; i++)
        if (keys[i].site_only &&
            add_site_key(&keys[i], &plan->policy, shown, err) < 0)
            return -1;
    return mark_locks(shown, err);
}

static int print_json(const struct shown *shown, struct jp_error *err)
{
    struct jp_json json = {false};
    json_t *root = json_out_object(&json), *list = json_out_array(&json);

    json_out_count(&json, root, "schema_version", 1);
    for (size_t i = 0; i < shown->n; i++) {
        const struct jp_setting *s = &shown->list[i];
        json_t *one = json_out_object(&json);

        json_out_text(&json, one, "key", s->key);
        json_out_text(&json, one, "value", s->value);
        json_out_text(&json, one, "source", s->source);
        json_out_text(&json, one, "where", s->where);
        json_out_text(&json, one, "reason", s->reason);
        json_out_append(&json, list, one);
    }
    json_out_put(&json, root, "settings", list);
    return json_out_dump(&json, root, stdout, err);
}

static void say_files(const struct plan_input *in)
{
    char *user = plan_user_path(in);

    fprintf(stderr, "jobprof: site file %s\n", config_site_path(in));
    fprintf(stderr, "jobprof: user file %s\n", user ? user : "unknown");
    free(user);
}

int config_show(struct config_options *o)
{
    struct shown shown = {0};
    struct jp_plan plan;
    struct jp_error err;
    int rc = JP_EXIT_OK;

    o->in.settled = true; /* there is no job to ask about */
    if (o->verbose)
        say_files(&o->in);
    if (plan_make(&o->in, &plan, &err) < 0) {
        config_say(err.text);
        return JP_EXIT_USAGE;
    }
    if (collect(&o->in, &plan, &shown, &err) < 0) {
        config_say(err.text);
        rc = JP_EXIT_USAGE;
    } else if (o->json) {
        rc = print_json(&shown, &err) < 0 ? JP_EXIT_IO : JP_EXIT_OK;
    } else {
        resolve_print_settings(stdout, shown.list, shown.n);
    }
    resolve_free_settings(shown.list, shown.n);
    sitefile_fini(&shown.site);
    plan_fini(&plan);
    return rc;
}
