/* cmd_aggregate_inputs.c - which files the words of `jobprof aggregate` mean.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/plan.h"
#include "orchestrator/cmd/cmd_aggregate.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/stepdir.h"

#define DIGITS "0123456789"

/* "12345" or "12345.0", and no file of that name. */
static bool is_job(const char *word)
{
    size_t digits = strspn(word, DIGITS);
    const char *rest = word + digits;

    return digits &&
           (!*rest ||
            (*rest == '.' && rest[1] && !rest[1 + strspn(rest + 1, DIGITS)])) &&
           access(word, F_OK) < 0;
}

static int add(struct aggregate_inputs *in, char *path, struct jp_error *err)
{
    char **more = path ? reallocarray(in->paths, in->n + 1, sizeof(*more))
                       : NULL;

    if (!more) {
        free(path);
        return error_set(err, "out of memory");
    }
    in->paths = more;
    in->paths[in->n++] = path;
    return 0;
}

/* The pattern with the job's number for each %j. Caller frees. */
static char *expand(const char *pattern, const char *word)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    for (const char *c = pattern; out && *c; c++)
        if (c[0] == '%' && c[1] == 'j') {
            /* raw: a path */
            fprintf(out, "%.*s", (int) strspn(word, DIGITS), word);
            c++;
        } else {
            putc(*c, out);
        }
    if (!out || fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* The folder of the job's Inspector logs, where there is one. */
static int add_folder(const struct jp_sitefile *site, const char *word,
                      struct aggregate_inputs *in, struct jp_error *err)
{
    const struct sitefile_value *pattern =
        sitefile_find(site, "inspector_folder");
    char *path = pattern ? expand(pattern->value, word) : NULL;

    if (pattern && !path)
        return error_set(err, "out of memory");
    if (path && access(path, R_OK) == 0)
        return add(in, path, err);
    free(path);
    return 0;
}

static int add_steps(const char *config, const char *word,
                     struct aggregate_inputs *in, struct jp_error *err)
{
    char **dirs = NULL;
    size_t n = 0;
    int rc = 0;

    if (report_find(word, config, &dirs, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n && rc == 0; i++)
        if (stepdir_has(dirs[i], "raw"))
            rc = add(in, fileio_path("%s/raw", dirs[i]), err);
    nodelist_free(dirs, n);
    return rc;
}

static int add_job(const char *config, const struct jp_sitefile *site,
                   const char *word, struct aggregate_inputs *in,
                   struct jp_error *err)
{
    struct jp_error why = {""};
    size_t before = in->n;

    if (add_folder(site, word, in, err) < 0)
        return -1;
    if (add_steps(config, word, in, &why) == 0 && in->n > before)
        return 0;
    return in->n > before ? 0
                          : error_set(err, "%s%s", *why.text ? why.text : word,
                                      sitefile_find(site, "inspector_folder")
                                          ? "; nothing by inspector_folder"
                                          : "; no inspector_folder in the "
                                            "site's file");
}

int aggregate_inputs_find(const char *config, char *const *words, size_t n,
                          struct aggregate_inputs *out, struct jp_error *err)
{
    struct aggregate_inputs in = {0};
    struct jp_sitefile site = {0};
    const struct sitefile_value *layout;
    bool jobs = false;
    int rc = 0;

    for (size_t i = 0; i < n; i++)
        jobs = jobs || is_job(words[i]);
    /* where no job is asked for a site's bad file is somebody else's trouble */
    if (plan_load_site(config, &site, err) < 0 && jobs)
        return -1;
    layout = sitefile_find(&site, "nccl.exporter_layout");
    in.exporter = layout && !strcmp(layout->value, "1");
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = is_job(words[i]) ? add_job(config, &site, words[i], &in, err)
                              : add(&in, strdup(words[i]), err);
    if (rc == 0 && n == 1 && is_job(words[0]) &&
        !(in.output = fileio_path("%s-insp", words[0])))
        rc = error_set(err, "out of memory");
    sitefile_fini(&site);
    if (rc == 0)
        *out = in;
    else
        aggregate_inputs_fini(&in);
    return rc;
}

void aggregate_inputs_fini(struct aggregate_inputs *inputs)
{
    for (size_t i = 0; i < inputs->n; i++)
        free(inputs->paths[i]);
    free(inputs->paths);
    free(inputs->output);
    *inputs = (struct aggregate_inputs){0};
}
