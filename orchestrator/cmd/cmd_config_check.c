/* cmd_config_check.c - jobprof config check: every mistake, file and line. */
#include "orchestrator/cmd/cmd_config.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/knownbad.h"
#include "common/peaks.h"
#include "common/request.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/report/baseline_file.h"
#include "orchestrator/report/json_out.h"

/* One check: what was read, and what is wrong. */
struct check {
    const struct config_options *options;
    struct jp_json json;
    json_t *files, *errors; /* NULL: text */
    unsigned n_errors;
};

static void note_error(void *arg, const char *text)
{
    struct check *c = arg;

    c->n_errors++;
    config_say(text);
    if (c->errors)
        json_out_append(&c->json, c->errors, json_out_string(text));
}

/* Says how a file or variable is. */
static void note_state(struct check *c, const char *name, const char *state)
{
    if (c->files) {
        json_t *one = json_out_object(&c->json);

        json_out_text(&c->json, one, "name", name);
        json_out_text(&c->json, one, "state", state);
        json_out_append(&c->json, c->files, one);
    } else if (!c->options->quiet && strcmp(state, "bad") != 0) {
        printf("%s: %s\n", name,
               strcmp(state, "missing") ? state : "not there (defaults)");
    }
}

static void note_file(struct check *c, const char *path, bool good)
{
    note_state(c, path,
               !good                    ? "bad"
               : access(path, F_OK) < 0 ? "missing"
                                        : "ok");
}

static void check_file(struct check *c, const char *path,
                       enum sitefile_kind kind, bool must_exist)
{
    struct jp_sitefile file = {0};
    int rc;

    if (c->options->verbose)
        fprintf(stderr, "jobprof: reading %s\n", path);
    rc = sitefile_load(path, kind, must_exist, note_error, c, &file, NULL);
    note_file(c, path, rc == 0);
    sitefile_fini(&file);
}

/* The list of known trouble that the site names, or the installed one. */
static void check_known_bad(struct check *c)
{
    const struct plan_input *in = &c->options->in;
    unsigned before = c->n_errors;
    struct jp_sitefile site = {0};
    struct jp_knownbad list = {0};
    const struct sitefile_value *named;
    const char *path;

    if (sitefile_load(config_site_path(in), SITEFILE_SITE, false, NULL, NULL,
                      &site, NULL) < 0)
        return; /* said already */
    named = sitefile_find(&site, "nccl.known_bad");
    path = named ? named->value : JP_DEF_KNOWN_BAD;
    if (knownbad_load(path, named != NULL, note_error, c, &list, NULL) == 0)
        knownbad_fini(&list);
    note_file(c, path, c->n_errors == before);
    sitefile_fini(&site);
}

/* What the site says about its links. */
static void check_peaks(struct check *c)
{
    unsigned before = c->n_errors;
    struct jp_sitefile site = {0};
    struct jp_peaks peaks = {0};
    const struct sitefile_value *named;

    if (sitefile_load(config_site_path(&c->options->in), SITEFILE_SITE, false,
                      NULL, NULL, &site, NULL) < 0)
        return; /* said already */
    named = sitefile_find(&site, "peaks_file");
    if (named && peaks_load(named->value, note_error, c, &peaks, NULL) == 0)
        peaks_fini(&peaks);
    if (named)
        note_file(c, named->value, c->n_errors == before);
    sitefile_fini(&site);
}

/* What the network did earlier. */
static void check_baseline(struct check *c)
{
    struct jp_sitefile site = {0};
    struct jp_baseline baseline = {0};
    const struct sitefile_value *named;
    struct jp_error err;
    int rc = 0;

    if (sitefile_load(config_site_path(&c->options->in), SITEFILE_SITE, false,
                      NULL, NULL, &site, NULL) < 0)
        return; /* said already */
    named = sitefile_find(&site, "baseline_file");
    if (named &&
        (rc = baseline_file_read(named->value, true, &baseline, &err)) < 0)
        note_error(c, err.text);
    if (named)
        note_file(c, named->value, rc == 0);
    baseline_fini(&baseline);
    sitefile_fini(&site);
}

static void check_topology(struct check *c, const char *path)
{
    unsigned before = c->n_errors;
    struct jp_error err;
    int fd = fileio_open_regular(path, true, &err);

    if (fd < 0 || fileio_check_site(fd, path, &err) < 0)
        note_error(c, err.text);
    if (fd >= 0)
        close(fd);
    note_state(c, path, c->n_errors == before ? "ok" : "bad");
}

/* The files that topology_file can mean on this host, whatever its node. */
static void check_topologies(struct check *c)
{
    struct jp_sitefile site = {0};
    const struct sitefile_value *named;
    glob_t found = {0};
    char *pattern;

    if (sitefile_load(config_site_path(&c->options->in), SITEFILE_SITE, false,
                      NULL, NULL, &site, NULL) < 0)
        return; /* said already */
    named = sitefile_find(&site, "topology_file");
    pattern = named ? strdup(named->value) : NULL;
    for (char *hit = pattern; hit && (hit = strstr(hit, "%N"));)
        *hit = '*', memmove(hit + 1, hit + 2, strlen(hit + 1));
    if (pattern && glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            check_topology(c, found.gl_pathv[i]);
    else if (pattern)
        note_state(c, named->value, "missing");
    globfree(&found);
    free(pattern);
    sitefile_fini(&site);
}

static void check_variable(struct check *c, const struct jp_grammar *grammar)
{
    const char *text = plan_env(&c->options->in, grammar->env);
    struct jp_request request;
    struct jp_error err;

    if (!text)
        return;
    if (request_parse(grammar, text, &request, &err) < 0) {
        error_wrap(&err, "%s", grammar->env);
        note_error(c, err.text);
        note_state(c, grammar->env, "bad");
        return;
    }
    request_fini(&request);
    note_state(c, grammar->env, "ok");
}

/* What only shows when the sources meet: locks. */
static void check_together(struct check *c)
{
    struct plan_input in = c->options->in;
    struct jp_plan plan;
    struct jp_error err;

    in.strict = in.settled = true;
    if (plan_make(&in, &plan, &err) < 0)
        note_error(c, err.text);
    else
        plan_fini(&plan);
}

static int print_json(struct check *c, json_t *root)
{
    json_out_count(&c->json, root, "schema_version", 1);
    json_out_put(&c->json, root, "ok", json_boolean(!c->n_errors));
    json_out_put(&c->json, root, "files", c->files);
    json_out_put(&c->json, root, "errors", c->errors);
    return json_out_dump(&c->json, root, stdout, NULL);
}

int config_check(struct config_options *o)
{
    struct check c = {.options = o};
    char *user = plan_user_path(&o->in);
    json_t *root = NULL;

    if (o->json) {
        root = json_out_object(&c.json);
        c.files = json_out_array(&c.json);
        c.errors = json_out_array(&c.json);
    }
    check_file(&c, config_site_path(&o->in), SITEFILE_SITE,
               o->in.config != NULL);
    if (user)
        check_file(&c, user, SITEFILE_USER, false);
    check_known_bad(&c);
    check_peaks(&c);
    check_baseline(&c);
    check_topologies(&c);
    check_variable(&c, &jp_grammar_nccl);
    check_variable(&c, &jp_grammar_copper);
    if (!c.n_errors)
        check_together(&c);
    free(user);
    if (o->json && print_json(&c, root) < 0)
        return JP_EXIT_IO;
    return c.n_errors ? JP_EXIT_USAGE : JP_EXIT_OK;
}
