/* plan_site.c - hold merged settings against the site's locks and conditions.
 */
#include "common/plan_site.h"

#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/quote.h"
#include "common/request.h"

const char *plan_default_name(const struct jp_grammar *grammar)
{
    return grammar == &jp_grammar_nccl ? "nccl.default" : "copper.default";
}

int plan_load_site(const char *config, struct jp_sitefile *out,
                   struct jp_error *err)
{
    return sitefile_load(config ? config : JP_DEF_SITE_FILE, SITEFILE_SITE,
                         config != NULL, NULL, NULL, out, err);
}

/* --- the default ---------------------------------------------------------- */

static const char *env_of(const void *arg, const char *name)
{
    return plan_env(arg, name);
}

static bool applies(const struct plan_input *in, const struct jp_sitefile *site,
                    const struct plan_side *side, char *reason, size_t len)
{
    const struct activation_input job = {site, env_of, in, in->ask,
                                         in->ask_arg};

    reason[0] = '\0';
    return side->grammar != &jp_grammar_nccl || in->settled ||
           !activation_is_bound(site) || activation_holds(&job, reason, len);
}

static int say(char **slot, const char *text, struct jp_error *err)
{
    free(*slot);
    *slot = strdup(text);
    return *slot ? 0 : error_set(err, "out of memory");
}

static int refuse_mode(const struct plan_side *side, int site_mode,
                       const char *where, struct jp_error *err)
{
    const char *from = side->mode_where && *side->mode_where
                           ? side->mode_where
                           : side->grammar->option;

    return error_set(err, "%s: mode \"%s\" is locked to \"%s\" by %s", from,
                     side->grammar->modes[side->mode].name,
                     side->grammar->modes[site_mode].name, where);
}

int plan_settle_mode(const struct plan_input *in,
                     const struct jp_sitefile *site, int site_mode,
                     struct plan_side *side, struct jp_error *err)
{
    const struct sitefile_value *lock =
        sitefile_lock(site, plan_default_name(side->grammar));
    bool differs = lock && side->mode != site_mode;
    bool by_site = side->mode && side->mode_source == PLAN_SITE;
    char reason[512];
    struct jp_error refusal;

    if (!by_site && !differs)
        return 0;
    if (!applies(in, site, side, reason, sizeof(reason)))
        return by_site ? plan_set_mode(side, 0, "", PLAN_DEFAULT, err) : 0;
    if (!differs)
        return say(&side->mode_reason, reason, err);
    refuse_mode(side, site_mode, lock->where, &refusal);
    if (in->strict)
        return error_set(err, "%s", refusal.text);
    if (plan_set_mode(side, site_mode, lock->where, PLAN_SITE, err) < 0 ||
        say(&side->mode_reason, reason, err) < 0)
        return -1;
    return say(&side->overruled, refusal.text, err);
}

/* --- locks ---------------------------------------------------------------- */

/* The site's value of a knob, else its default. */
static const char *site_value(const struct jp_sitefile *site,
                              const struct jp_knob *knob, const char *name,
                              const char **where)
{
    const struct sitefile_value *value = sitefile_find(site, name);
    const struct sitefile_value *lock = sitefile_lock(site, name);

    *where = value ? value->where : lock->where;
    return value ? value->value : knob->def;
}

/* Refuses value for a locked knob unless it is the site's. */
static int check_lock(const struct jp_sitefile *site,
                      const struct jp_grammar *grammar, size_t i,
                      const char *value, struct jp_error *err)
{
    const struct jp_knob *knob = &grammar->knobs[i];
    const char *locked, *where;
    char name[64];

    sitefile_knob_name(grammar, knob, name, sizeof(name));
    if (!value || !sitefile_lock(site, name))
        return 0;
    locked = site_value(site, knob, name, &where);
    if (locked && knob_equal(knob, value, locked))
        return 0;
    return error_set(err, "\"%s=%s\" is locked%s%s by %s", knob->name,
                     QUOTE(value), locked ? " to " : "", locked ? locked : "",
                     where);
}

int plan_check_locks(const struct jp_sitefile *site,
                     const struct plan_side *side, struct jp_error *err)
{
    for (size_t i = 0; i < side->grammar->n_knobs; i++) {
        const struct plan_value *v = &side->values[i];

        if (check_lock(site, side->grammar, i, v->value, err) < 0) {
            const char *where = *v->where ? v->where : side->grammar->option;

            return error_wrap(err, "%s", where);
        }
    }
    return 0;
}

/* The same for a locked default; a plugstack line's is not known here. */
static int check_mode(const struct jp_sitefile *site,
                      const struct jp_request *request, struct jp_error *err)
{
    const struct jp_grammar *grammar = request->grammar;
    const char *name = plan_default_name(grammar);
    const struct sitefile_value *lock = sitefile_lock(site, name);
    const struct sitefile_value *value = sitefile_find(site, name);
    const char *mode = grammar->modes[request->mode].name;

    if (!lock || !value || !strcmp(mode, value->value) ||
        (grammar == &jp_grammar_nccl && activation_is_bound(site)))
        return 0;
    return error_set(err, "mode \"%s\" is locked to \"%s\" by %s", mode,
                     value->value, lock->where);
}

int plan_check(const struct jp_grammar *grammar, const char *text,
               const char *config, struct jp_error *err)
{
    struct jp_request request;
    struct jp_sitefile site = {0};
    int rc = 0;

    if (request_parse(grammar, text, &request, err) < 0)
        return -1;
    if (plan_load_site(config, &site, NULL) == 0) {
        rc = check_mode(&site, &request, err);
        for (size_t i = 0; i < grammar->n_knobs && rc == 0; i++)
            rc = check_lock(&site, grammar, i, request.values[i], err);
    }
    sitefile_fini(&site);
    request_fini(&request);
    return rc;
}
