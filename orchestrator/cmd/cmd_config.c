/* cmd_config.c - `jobprof config`: show the effective settings, and check the
 * files that they come from.
 *
 * show collects one struct jp_setting per key, with its source, from the plan
 * that a step would get now, and from the site's keys. check reads each file
 * and variable by itself, so that it reports all errors instead of the first,
 * and makes a plan at the end to check them together. */
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_options.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/grammar.h"
#include "common/json_stream.h"
#include "common/knownbad.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/peaks.h"
#include "common/plan.h"
#include "common/quote.h"
#include "common/sitefile.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/agent/settings.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/summary_file.h"

/* The options; in.config is --config. */
struct arguments {
    struct plan_input in;
    bool json, quiet, verbose;
};

/* Prints "jobprof: TEXT" to stderr, made harmless for a terminal. */
static void print_error(const char *text)
{
    fputs("jobprof: ", stderr);
    quote_print(stderr, text);
    fputc('\n', stderr);
}

/* The path of the site file in use. */
static const char *site_path(const struct plan_input *in)
{
    return in->config ? in->config : JP_DEF_SITE_FILE;
}

/* --- show ---------------------------------------------------------------- */

/* The settings to show, and the site file for its locks. */
struct shown {
    struct jp_setting *list;
    size_t n;
    const struct jp_sitefile *site;
};

/* Adds the knobs without a value or a default. */
static int add_empty(const struct plan_side *side, struct shown *shown,
                     struct jp_error *err)
{
    for (size_t i = 0; i < side->grammar->n_knobs; i++) {
        const struct jp_knob *knob = &side->grammar->knobs[i];
        struct jp_setting one = {0};
        char name[64];

        /* if a mode is set, list only the knobs that it uses */
        if (side->values[i].value ||
            (side->mode && !(knob->modes >> side->mode & 1)))
            continue;
        sitefile_knob_name(side->grammar, knob, name, sizeof(name));
        one.key = name;
        one.source = (char *) plan_source_words[PLAN_DEFAULT];
        if (settings_add(&shown->list, &shown->n, &one, err) < 0)
            return -1;
    }
    return 0;
}

/* Adds the option's mode and its knobs as settings named GROUP.KEY. reason: why
 * the mode is not what it seems, or "". */
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

    if (settings_list(side, &knobs, &n_knobs, err) < 0)
        return -1;
    /* the mode comes first */
    rc = settings_add(&shown->list, &shown->n, &one, err);
    for (size_t i = 0; i < n_knobs && rc == 0; i++) {
        char name[64];
        int k = grammar_find_knob(side->grammar, knobs[i].key);

        if (!strcmp(knobs[i].key, "mode"))
            continue;
        sitefile_knob_name(side->grammar, &side->grammar->knobs[k], name,
                           sizeof(name));
        /* the list has the knob's own name; here it gets its group */
        free(knobs[i].key);
        knobs[i].key = strdup(name);
        rc = knobs[i].key
                 ? settings_add(&shown->list, &shown->n, &knobs[i], err)
                 : error_set(err, "out of memory");
    }
    settings_free(knobs, n_knobs);
    return rc < 0 ? rc : add_empty(side, shown, err);
}

/* Formats the effective value of a site key to buf; "" if it has none. */
static char *site_text(const struct sitekey *key,
                       const struct sitefile_value *value,
                       const struct jp_policy *policy, char *buf, size_t len)
{
    uint32_t v;

    snprintf(buf, len, "%s",
             value            ? value->value
             : key->knob->def ? key->knob->def
                              : "");
    /* the policy has the value after clamping; other keys have no such member
     */
    if (key->policy_offset == SITEKEY_NO_POLICY)
        return buf;
    v = *(const uint32_t *) ((const char *) policy + key->policy_offset);
    if (key->knob->kind == JP_KNOB_TIME)
        return num_format_time_us((uint64_t) v * 1000, buf, (unsigned) len);
    snprintf(buf, len, "%u", v);
    return buf;
}

/* Adds a key that only the site file has. */
static int add_site_key(const struct sitekey *key,
                        const struct jp_policy *policy, struct shown *shown,
                        struct jp_error *err)
{
    const struct sitefile_value *value;
    struct jp_setting one = {0};
    char name[64], text[2048];

    snprintf(name, sizeof(name), "%s%s%s", key->group, *key->group ? "." : "",
             key->key);
    value = sitefile_find(shown->site, name);
    one.key = name;
    one.value = site_text(key, value, policy, text, sizeof(text));
    one.source = (char *) plan_source_words[value ? PLAN_SITE : PLAN_DEFAULT];
    one.where = value ? value->where : NULL;
    return settings_add(&shown->list, &shown->n, &one, err);
}

/* Adds the reason why a locked setting cannot be changed. */
static int mark_locks(struct shown *shown, struct jp_error *err)
{
    for (size_t i = 0; i < shown->n; i++) {
        struct jp_setting *s = &shown->list[i];
        const struct sitefile_value *lock;
        bool is_group = false;
        char name[64], *reason;

        /* the key of a mode is its group, but the site file calls it
         * GROUP.default */
        for (enum jp_option o = 0; o < OPTIONS; o++)
            is_group = is_group || !strcmp(s->key, grammar_of(o)->group);
        snprintf(name, sizeof(name), "%s%s", s->key,
                 is_group ? ".default" : "");
        lock = sitefile_lock(shown->site, name);
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

/* Collects all effective settings. */
static int collect_settings(const struct jp_plan *plan, struct shown *shown,
                            struct jp_error *err)
{
    struct sitekey keys[SITEKEYS_MAX];
    size_t n_keys = sitekeys_all(keys);
    const char *reason = "";

    /* the site's default may be limited to some jobs */
    if (plan->sides[OPTION_NCCL].mode_source == PLAN_SITE &&
        activation_is_bound(shown->site))
        reason = "for jobs that meet all nccl.default_...";
    for (enum jp_option i = 0; i < OPTIONS; i++) {
        const struct plan_side *side = &plan->sides[i];

        if (i != OPTION_NCCL)
            reason = backend_side(i)->reason ? backend_side(i)->reason(side)
                                             : "";
        if (add_side(side, reason, shown, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < n_keys; i++)
        if (keys[i].site_only &&
            add_site_key(&keys[i], &plan->policy, shown, err) < 0)
            return -1;
    return mark_locks(shown, err);
}

/* Prints the settings as JSON. */
static int print_settings(const struct shown *shown, struct jp_error *err)
{
    struct jp_json_stream json;

    json_stream_open(&json, JSON_FILE, stdout);
    json_stream_count(&json, "schema_version", 1);
    json_stream_array(&json, "settings");
    for (size_t i = 0; i < shown->n; i++) {
        const struct jp_setting *s = &shown->list[i];

        json_stream_object(&json, NULL);
        json_stream_text(&json, "key", s->key);
        json_stream_text(&json, "value", s->value);
        json_stream_text(&json, "source", s->source);
        json_stream_text(&json, "where", s->where);
        json_stream_text(&json, "reason", s->reason);
        json_stream_end_object(&json);
    }
    json_stream_end_array(&json);
    return json_stream_close(&json, err);
}

/* Prints which files are read (--verbose). */
static void say_files(const struct plan_input *in)
{
    char *user = plan_user_path(in);

    quote_printf(stderr, "jobprof: site file %s\n", site_path(in));
    quote_printf(stderr, "jobprof: user file %s\n", user ? user : "unknown");
    free(user);
}

/* Prints the blocks of settings that a file, a variable or the site turns on.
 */
static int print_blocks(const struct jp_plan *plan, const struct plan_input *in)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct launch_side *side = backend_side(i);
        char *block = NULL;
        struct jp_error err;

        if (side->block_of && side->block_of(plan, in, &block, &err) < 0) {
            print_error(err.text);
            return JP_EXIT_USAGE;
        }
        if (block)
            quote_printf(stdout, "\n");
        /* line by line, because foreign text must be made harmless */
        for (char *rest = block, *line; (line = strsep(&rest, "\n"));)
            quote_printf(stdout, "%s\n", line);
        free(block);
    }
    return JP_EXIT_OK;
}

/* Returns an exit status. */
static int show_settings(struct arguments *o)
{
    struct shown shown = {0};
    struct jp_plan plan;
    struct jp_error err;
    int rc = JP_EXIT_OK;

    o->in.settled = true; /* there is no job whose facts could be asked for */
    if (o->verbose)
        say_files(&o->in);
    if (plan_make(&o->in, &plan, &err) < 0) {
        print_error(err.text);
        return JP_EXIT_USAGE;
    }
    shown.site = plan.site;
    if (collect_settings(&plan, &shown, &err) < 0) {
        print_error(err.text);
        rc = JP_EXIT_USAGE;
    } else if (o->json) {
        rc = print_settings(&shown, &err) < 0 ? JP_EXIT_IO : JP_EXIT_OK;
    } else {
        settings_print(stdout, shown.list, shown.n);
        rc = print_blocks(&plan, &o->in);
    }
    settings_free(shown.list, shown.n);
    plan_fini(&plan);
    return rc;
}

/* --- check --------------------------------------------------------------- */

/* One check: what was read, and the errors found. */
struct check {
    const struct arguments *options;
    struct jp_sitefile site; /* empty if it does not exist */
    bool has_site;           /* false: it is bad, which was reported */
    struct jp_json json;
    json_t *files, *errors; /* NULL: text output */
    unsigned n_errors;
};

/* Counts and prints an error. A callback of the readers. */
static void note_error(void *arg, const char *text)
{
    struct check *c = arg;

    c->n_errors++;
    print_error(text);
    /* the JSON repeats the errors, which stderr has in any case */
    if (c->errors)
        json_out_append(&c->json, c->errors, json_out_string(text));
}

/* Reports the state of a file or a variable. */
static void note_state(struct check *c, const char *name, const char *state)
{
    if (c->files) {
        json_t *one = json_out_object(&c->json);

        json_out_text(&c->json, one, "name", name);
        json_out_text(&c->json, one, "state", state);
        json_out_append(&c->json, c->files, one);
        /* the errors of a bad one have been printed */
    } else if (!c->options->quiet && strcmp(state, "bad") != 0) {
        quote_printf(stdout, "%s: %s\n", name,
                     strcmp(state, "missing") ? state
                                              : "does not exist (defaults)");
    }
}

/* Reports the state of a file that was read. A missing file is not an error
 * here. */
static void note_file(struct check *c, const char *path, bool good)
{
    note_state(c, path,
               !good                    ? "bad"
               : access(path, F_OK) < 0 ? "missing"
                                        : "ok");
}

/* Reads a file and reports all its errors. Returns true if the file is valid;
 * otherwise *file is empty. */
static bool check_file(struct check *c, const char *path,
                       enum sitefile_kind kind, bool must_exist,
                       struct jp_sitefile *file)
{
    int rc;

    if (c->options->verbose)
        quote_printf(stderr, "jobprof: reading %s\n", path);
    rc = sitefile_load(path, kind, must_exist, note_error, c, file, NULL);
    if (rc < 0 || !file->n_files)
        note_state(c, path, rc < 0 ? "bad" : "missing");
    /* also what it includes, and the fragments of a site */
    for (size_t i = 0; rc == 0 && i < file->n_files; i++)
        note_state(c, file->files[i], "ok");
    return rc == 0;
}

/* Checks the site file. A missing one is an error if it was named. */
static void check_site(struct check *c)
{
    const char *path = site_path(&c->options->in);

    /* a missing file means defaults, so the other checks go on */
    c->has_site = check_file(c, path, SITEFILE_SITE,
                             c->options->in.config != NULL, &c->site) ||
                  access(path, F_OK) < 0;
}

/* Checks the user's settings file, which may be missing. */
static void check_user(struct check *c)
{
    char *path = plan_user_path(&c->options->in);
    struct jp_sitefile file = {0};

    if (path && check_file(c, path, SITEFILE_USER, false, &file))
        sitefile_fini(&file);
    free(path);
}

/* Checks the list of known-bad releases: the site's, or the installed one. */
static void check_known_bad(struct check *c)
{
    const struct sitefile_value *named =
        sitefile_find(&c->site, "nccl.known_bad");
    const char *path = named ? named->value : JP_DEF_KNOWN_BAD;
    unsigned before = c->n_errors;
    struct jp_knownbad list = {0};

    /* note_error counts the errors: a list with bad rows is loaded without
     * them, and the result is 0 */
    if (knownbad_load(path, named != NULL, note_error, c, &list, NULL) == 0)
        knownbad_fini(&list);
    note_file(c, path, c->n_errors == before);
}

/* Checks the site's list of peak rates. */
static void check_peaks(struct check *c)
{
    const struct sitefile_value *named = sitefile_find(&c->site, "peaks_file");
    unsigned before = c->n_errors;
    struct jp_peaks peaks = {0};

    if (!named)
        return;
    if (peaks_load(named->value, note_error, c, &peaks, NULL) == 0)
        peaks_fini(&peaks);
    note_file(c, named->value, c->n_errors == before);
}

/* Checks the site's baseline. */
static void check_baseline(struct check *c)
{
    const struct sitefile_value *named =
        sitefile_find(&c->site, "baseline_file");
    struct jp_baseline baseline = {0};
    struct jp_error err;
    int rc;

    if (!named)
        return;
    rc = baseline_file_read(named->value, true, &baseline, &err);
    if (rc < 0)
        note_error(c, err.text);
    note_file(c, named->value, rc == 0);
    baseline_fini(&baseline);
}

/* Checks one hwloc file: it must be readable, and nobody but the site may write
 * to it or replace it. */
static void check_topology(struct check *c, const char *path)
{
    unsigned before = c->n_errors;
    struct jp_error err;
    int fd = fileio_open_regular(path, true, &err);

    if (fd < 0 || ownplace_check_site(fd, path, &err) < 0)
        note_error(c, err.text);
    if (fd >= 0)
        close(fd);
    note_state(c, path, c->n_errors == before ? "ok" : "bad");
}

/* Checks the files that topology_file can mean on this host, for any node. */
static void check_topologies(struct check *c)
{
    const struct sitefile_value *named =
        sitefile_find(&c->site, "topology_file");
    char *pattern = named ? strdup(named->value) : NULL;
    glob_t found = {0};

    /* %N stands for the node's name */
    for (char *hit = pattern; hit && (hit = strstr(hit, "%N"));)
        *hit = '*', memmove(hit + 1, hit + 2, strlen(hit + 1));
    if (pattern && glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            check_topology(c, found.gl_pathv[i]);
    else if (pattern)
        note_state(c, named->value, "missing");
    globfree(&found);
    free(pattern);
}

/* Checks the option's environment variable, if it is set. */
static void check_variable(struct check *c, const struct jp_grammar *grammar)
{
    const char *text = plan_env(&c->options->in, grammar->env);
    struct jp_request request;
    struct jp_error err;

    if (!text)
        return;
    /* by the grammar alone; contradictions follow in check_together */
    if (request_parse(grammar, text, &request, &err) < 0) {
        error_wrap(&err, "%s", grammar->env);
        note_error(c, err.text);
        note_state(c, grammar->env, "bad");
        return;
    }
    request_fini(&request);
    note_state(c, grammar->env, "ok");
}

/* Finds variables that jobprof does not know and would ignore silently. */
static void check_names(struct check *c)
{
    const char *meant;
    char name[128];

    for (char **pair = environ; pair && *pair; pair++) {
        struct jp_error err;

        /* a misspelt name would be ignored silently */
        if (!ownvars_is_unknown(*pair, name, sizeof(name), &meant))
            continue;
        if (meant)
            error_set(&err, "%s: not a jobprof variable; did you mean %s?",
                      name, meant);
        else
            error_set(&err, "%s: not a jobprof variable", name);
        note_error(c, err.text);
        note_state(c, name, "bad");
    }
}

/* Makes a plan from all sources, which finds contradictions such as a locked
 * setting. Only useful if each source is valid by itself. */
static void check_together(struct check *c)
{
    struct plan_input in = c->options->in;
    struct jp_plan plan;
    struct jp_error err;

    in.strict = in.settled = true;
    in.site = &c->site;
    if (plan_make(&in, &plan, &err) < 0)
        note_error(c, err.text);
    else
        plan_fini(&plan);
}

/* Prints the result as JSON. */
static int print_check(struct check *c, json_t *root)
{
    json_out_count(&c->json, root, "schema_version", 1);
    json_out_put(&c->json, root, "ok", json_boolean(!c->n_errors));
    json_out_put(&c->json, root, "files", c->files);
    json_out_put(&c->json, root, "errors", c->errors);
    return json_out_dump(&c->json, root, stdout, NULL);
}

/* Returns an exit status. */
static int check_settings(const struct arguments *o)
{
    struct check c = {.options = o};
    json_t *root = NULL;
    int rc;

    if (o->json) {
        root = json_out_object(&c.json);
        c.files = json_out_array(&c.json);
        c.errors = json_out_array(&c.json);
    }
    check_site(&c);
    check_user(&c);
    /* these files are named by the site file */
    if (c.has_site) {
        check_known_bad(&c);
        check_peaks(&c);
        check_baseline(&c);
        check_topologies(&c);
    }
    for (enum jp_option i = 0; i < OPTIONS; i++)
        check_variable(&c, grammar_of(i));
    check_names(&c);
    /* otherwise it would repeat the errors above */
    if (!c.n_errors)
        check_together(&c);
    rc = c.n_errors ? JP_EXIT_USAGE : JP_EXIT_OK;
    if (o->json && print_check(&c, root) < 0)
        rc = JP_EXIT_IO;
    sitefile_fini(&c.site);
    return rc;
}

/* --- the command line ---------------------------------------------------- */

/* Prints the modes and keys of one option, from its table. */
static void print_grammar(const struct jp_grammar *grammar)
{
    quote_printf(stdout, "\n%s (%s):\n", grammar->option, grammar->env);
    for (size_t i = 0; i < grammar->n_modes; i++)
        quote_printf(stdout, "  %-12s %s%s%s\n", grammar->modes[i].name,
                     grammar->modes[i].help, grammar->modes[i].sets ? ": " : "",
                     grammar->modes[i].sets ? grammar->modes[i].sets : "");
    for (size_t i = 0; i < grammar->n_knobs; i++) {
        const struct jp_knob *knob = &grammar->knobs[i];
        char range[64];

        /* from the same rows as the parser */
        quote_printf(stdout, "  %-12s %s (%s%s%s)\n", knob->name, knob->help,
                     knob_format_range(knob, range, sizeof(range)),
                     knob->def ? "; default " : "", knob->def ? knob->def : "");
    }
}

/* Prints the options after --help. */
static void print_grammars(void)
{
    for (enum jp_option i = 0; i < OPTIONS; i++)
        print_grammar(grammar_of(i));
}

static const struct cmd_option rows[] = {
    {"config", "FILE", "site file instead of " JP_DEF_SITE_FILE,
     OPT_TEXT(in.config)},
    {"json", NULL, "JSON on stdout", OPT_FLAG(json)},
    {"quiet", NULL, "print only mistakes", OPT_FLAG(quiet), .letter = 'q'},
    {"verbose", NULL, "print which files are read", OPT_FLAG(verbose),
     .letter = 'v'},
};

static const struct cmd_options command_line = {
    .command = "config",
    .about =
        "usage: jobprof config show|check [options]\n\n"
        "  show    the effective settings, each with its source\n"
        "  check   check the site file, your settings file and variables\n",
    CMD_ROWS(rows),
    .more = print_grammars,
    .least = 1,
    .most = 1,
    .need = "needs show or check",
};

/* Checks standard output: a write error takes precedence over rc. */
static int finish_output(int rc)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return rc;
    quote_printf(stderr, "jobprof: standard output: %s\n", strerror(errno));
    return JP_EXIT_IO;
}

int cmd_config(int argc, char **argv)
{
    struct arguments a = {0};
    int rc = cmd_options_parse(&command_line, argc, argv, &a);

    if (rc >= 0)
        return rc;
    if (!strcmp(argv[optind], "show"))
        return finish_output(show_settings(&a));
    if (!strcmp(argv[optind], "check"))
        return finish_output(check_settings(&a));
    return cmd_options_usage(&command_line, command_line.need);
}
