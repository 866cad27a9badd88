/* cmd_config.c - jobprof config: show effective settings, check files. */
#include "orchestrator/cmd/cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/num.h"
#include "common/request.h"
#include "common/sitekeys.h"
#include "orchestrator/agent/resolve.h"

static void usage(FILE *out)
{
    fprintf(out,
            "Usage: jobprof config show|check [--config FILE]\n"
            "  show    the effective settings, each with its source\n"
            "  check   read the site's and your settings file and variables\n"
            "  --config FILE  another site file than " JP_DEF_SITE_FILE "\n");
}

/* The modes and keys of one option, from its table. */
static void print_grammar(const struct jp_grammar *grammar)
{
    printf("\n%s (%s):\n", grammar->option, grammar->env);
    for (size_t i = 0; i < grammar->n_modes; i++)
        printf("  %-12s %s\n", grammar->modes[i].name, grammar->modes[i].help);
    for (size_t i = 0; i < grammar->n_knobs; i++) {
        const struct jp_knob *knob = &grammar->knobs[i];
        char range[64];

        printf("  %-12s %s (%s%s%s)\n", knob->name, knob->help,
               knob_format_range(knob, range, sizeof(range)),
               knob->def ? "; default " : "", knob->def ? knob->def : "");
    }
}

static void help(void)
{
    usage(stdout);
    print_grammar(&jp_grammar_nccl);
    print_grammar(&jp_grammar_copper);
}

static void print_error(void *arg, const char *text)
{
    (void) arg;
    fprintf(stderr, "jobprof: %s\n", text);
}

/* "mode" and the knobs of one side. */
static int add_side(const struct plan_side *side, struct jp_setting **list,
                    size_t *n, struct jp_error *err)
{
    const char *mode = side->grammar->modes[side->mode].name;
    struct jp_setting one = {(char *) side->grammar->group, (char *) mode,
                             (char *) plan_source_words[side->mode_source],
                             side->mode_where, NULL};
    struct jp_setting *knobs = NULL;
    size_t n_knobs = 0;
    int rc;

    if (resolve_settings(side, &knobs, &n_knobs, err) < 0)
        return -1;
    rc = resolve_add_setting(list, n, &one, err);
    for (size_t i = 0; i < n_knobs && rc == 0; i++) {
        char name[64];
        int k = grammar_find_knob(side->grammar, knobs[i].key);

        if (!strcmp(knobs[i].key, "mode"))
            continue;
        sitefile_knob_name(side->grammar, &side->grammar->knobs[k], name,
                           sizeof(name));
        free(knobs[i].key);
        knobs[i].key = strdup(name);
        rc = knobs[i].key ? resolve_add_setting(list, n, &knobs[i], err)
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
                        const struct jp_sitefile *site,
                        const struct jp_policy *policy,
                        struct jp_setting **list, size_t *n,
                        struct jp_error *err)
{
    const struct sitefile_value *value;
    struct jp_setting one = {0};
    char name[64], text[JP_PATTERN_MAX + 1];

    snprintf(name, sizeof(name), "%s.%s", key->group, key->key);
    value = sitefile_find(site, name);
    one.key = name;
    one.value = site_text(key, value, policy, text, sizeof(text));
    one.source = (char *) plan_source_words[value ? PLAN_SITE : PLAN_DEFAULT];
    one.where = value ? value->where : NULL;
    return *text ? resolve_add_setting(list, n, &one, err) : 0;
}

/* The site's limits, times and libraries. */
static int add_site(const struct plan_input *in, const struct jp_policy *policy,
                    struct jp_setting **list, size_t *n, struct jp_error *err)
{
    struct sitekey keys[SITEKEYS_MAX];
    size_t n_keys = sitekeys_all(keys);
    struct jp_sitefile site = {0};
    int rc = 0;

    if (sitefile_load(in->config ? in->config : JP_DEF_SITE_FILE, SITEFILE_SITE,
                      in->config != NULL, NULL, NULL, &site, err) < 0)
        return -1;
    for (size_t i = 0; i < n_keys && rc == 0; i++)
        if (keys[i].site_only)
            rc = add_site_key(&keys[i], &site, policy, list, n, err);
    sitefile_fini(&site);
    return rc;
}

static int show(const struct plan_input *in)
{
    struct jp_setting *list = NULL;
    struct jp_plan plan;
    struct jp_error err;
    size_t n = 0;
    int rc = JP_EXIT_OK;

    if (plan_make(in, &plan, &err) < 0) {
        print_error(NULL, err.text);
        return JP_EXIT_USAGE;
    }
    if (add_side(&plan.nccl, &list, &n, &err) < 0 ||
        add_side(&plan.copper, &list, &n, &err) < 0 ||
        add_site(in, &plan.policy, &list, &n, &err) < 0) {
        print_error(NULL, err.text);
        rc = JP_EXIT_USAGE;
    } else {
        resolve_print_settings(stdout, list, n);
    }
    resolve_free_settings(list, n);
    plan_fini(&plan);
    return rc;
}

/* Reads one file, all of its errors to stderr. Returns 1 for trouble. */
static int check_file(const char *path, enum sitefile_kind kind,
                      bool must_exist)
{
    struct jp_sitefile file = {0};
    FILE *there;
    int rc =
        sitefile_load(path, kind, must_exist, print_error, NULL, &file, NULL);

    sitefile_fini(&file);
    if (rc < 0)
        return 1;
    there = fopen(path, "re");
    printf("%s: %s\n", path, there ? "ok" : "not there (defaults)");
    if (there)
        fclose(there);
    return 0;
}

static int check_variable(const struct plan_input *in,
                          const struct jp_grammar *grammar)
{
    const char *text = plan_env(in, grammar->env);
    struct jp_request request;
    struct jp_error err;

    if (!text)
        return 0;
    if (request_parse(grammar, text, &request, &err) < 0) {
        fprintf(stderr, "jobprof: %s: %s\n", grammar->env, err.text);
        return 1;
    }
    request_fini(&request);
    printf("%s: ok\n", grammar->env);
    return 0;
}

static int check(struct plan_input *in)
{
    char *user = plan_user_path(in);
    struct jp_plan plan;
    struct jp_error err;
    int bad;

    bad = check_file(in->config ? in->config : JP_DEF_SITE_FILE, SITEFILE_SITE,
                     in->config != NULL);
    if (user)
        bad |= check_file(user, SITEFILE_USER, false);
    bad |= check_variable(in, &jp_grammar_nccl);
    bad |= check_variable(in, &jp_grammar_copper);
    in->strict = true;
    if (!bad && plan_make(in, &plan, &err) < 0) {
        print_error(NULL, err.text); /* a locked key */
        bad = 1;
    } else if (!bad) {
        plan_fini(&plan);
    }
    free(user);
    return bad ? JP_EXIT_USAGE : JP_EXIT_OK;
}

int cmd_config(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct plan_input in = {0};
    const char *verb;
    int c;

    optind = 0;
    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (c == 'h') {
            help();
            return JP_EXIT_OK;
        }
        if (c != 'c') {
            usage(stderr);
            return JP_EXIT_USAGE;
        }
        in.config = optarg;
    }
    verb = optind + 1 == argc ? argv[optind] : "";
    if (!strcmp(verb, "show"))
        return show(&in);
    if (!strcmp(verb, "check"))
        return check(&in);
    usage(stderr);
    return JP_EXIT_USAGE;
}
