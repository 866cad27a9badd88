/* jobconf_write.c - write, hash, search and free a job.conf. */
#include "common/jobconf.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/conftext.h"
#include "common/fileio.h"
#include "common/jobconf_fields.h"

static int put_string(FILE *f, const char *before, const char *s,
                      const char *after)
{
    char *quoted = conftext_quote(s ? s : "");

    if (!quoted)
        return -1;
    fprintf(f, "%s%s%s", before, quoted, after);
    free(quoted);
    return 0;
}

static int put_field(FILE *f, const char *indent,
                     const struct jobconf_field *field,
                     const struct jp_jobconf *conf)
{
    const void *slot = (const char *) conf + field->offset;

    fprintf(f, "%s%s = ", indent, field->key);
    switch (field->kind) {
    case JOBCONF_U32: {
        uint32_t v = *(const uint32_t *) slot;

        /* an int of libconfig is signed: larger ones need the L */
        fprintf(f, "%" PRIu32 "%s;\n", v, v > INT32_MAX ? "L" : "");
        return 0;
    }
    case JOBCONF_U64:
        fprintf(f, "%" PRIu64 "L;\n", *(const uint64_t *) slot);
        return 0;
    case JOBCONF_BOOL:
        fprintf(f, "%s;\n", *(const bool *) slot ? "true" : "false");
        return 0;
    case JOBCONF_SUMMARY:
        fprintf(f, "\"%s\";\n",
                jobconf_summary_words[*(const enum jp_summary *) slot & 3]);
        return 0;
    case JOBCONF_STRING:
        return put_string(f, "", *(char *const *) slot, ";\n");
    }
    return -1;
}

static int put_settings(FILE *f, const struct jp_setting *list, size_t n)
{
    fputs("  settings = (", f);
    for (size_t i = 0; i < n; i++) {
        const struct jp_setting *s = &list[i];

        fputs(i ? ",\n    { " : "\n    { ", f);
        if (put_string(f, "key = ", s->key, "; ") < 0 ||
            put_string(f, "value = ", s->value, "; ") < 0 ||
            put_string(f, "source = ", s->source, ";\n      ") < 0 ||
            put_string(f, "where = ", s->where, "; ") < 0 ||
            put_string(f, "reason = ", s->reason, "; }") < 0)
            return -1;
    }
    fputs(" );\n", f);
    return 0;
}

static int put_env(FILE *f, const struct jp_envvar *list, size_t n)
{
    fputs("  env = (", f);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ",\n    { " : "\n    { ", f);
        if (put_string(f, "name = ", list[i].name, "; ") < 0 ||
            put_string(f, "value = ", list[i].value, "; ") < 0)
            return -1;
        fprintf(f, "soft = %s; ", list[i].soft ? "true" : "false");
        if (put_string(f, "reason = ", list[i].reason ? list[i].reason : "",
                       "; }") < 0)
            return -1;
    }
    fputs(" );\n", f);
    return 0;
}

/* The lists that end a group. */
static int put_lists(FILE *f, const char *group, const struct jp_jobconf *conf)
{
    if (!strcmp(group, "nccl"))
        return put_settings(f, conf->settings, conf->n_settings) < 0 ||
                       put_env(f, conf->env, conf->n_env) < 0
                   ? -1
                   : 0;
    if (!strcmp(group, "copper"))
        return put_settings(f, conf->copper_settings, conf->n_copper_settings);
    if (!strcmp(group, "util"))
        return put_settings(f, conf->util_settings, conf->n_util_settings);
    return 0;
}

static int put_all(FILE *f, const struct jp_jobconf *conf)
{
    const char *group = "";

    fputs("# written by jobprof-node resolve; see jobprof.conf(5)\n", f);
    for (size_t i = 0; i < jobconf_n_fields; i++) {
        const struct jobconf_field *field = &jobconf_fields[i];
        bool last;

        if (strcmp(field->group, group) != 0) {
            group = field->group;
            fprintf(f, "%s = {\n", group);
        }
        if (put_field(f, *group ? "  " : "", field, conf) < 0)
            return -1;
        last = i + 1 == jobconf_n_fields ||
               strcmp(jobconf_fields[i + 1].group, group) != 0;
        if (last && *group) {
            if (put_lists(f, group, conf) < 0)
                return -1;
            fputs("};\n", f);
        }
    }
    return 0;
}

int jobconf_write(const char *path, const struct jp_jobconf *conf,
                  struct jp_error *err)
{
    struct jp_tempfile file;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    if (put_all(file.stream, conf) < 0) {
        fileio_temp_abort(&file);
        return error_set(err, "%s: out of memory", path);
    }
    return fileio_temp_commit(&file, err);
}

int jobconf_hash(const char *path, char out[SHA256_HEX], struct jp_error *err)
{
    char *text = NULL;
    size_t len = 0;

    if (fileio_read(path, false, JP_JOBCONF_MAX_BYTES, &text, &len, err) < 0)
        return -1;
    sha256_hex(text, len, out);
    free(text);
    return 0;
}

static void free_settings(struct jp_setting *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i].key);
        free(list[i].value);
        free(list[i].source);
        free(list[i].where);
        free(list[i].reason);
    }
    free(list);
}

void jobconf_fini(struct jp_jobconf *conf)
{
    if (!conf)
        return;
    for (size_t i = 0; i < jobconf_n_fields; i++)
        if (jobconf_fields[i].kind == JOBCONF_STRING)
            free(*(char **) ((char *) conf + jobconf_fields[i].offset));
    free_settings(conf->settings, conf->n_settings);
    free_settings(conf->copper_settings, conf->n_copper_settings);
    free_settings(conf->util_settings, conf->n_util_settings);
    for (size_t i = 0; i < conf->n_env; i++) {
        free(conf->env[i].name);
        free(conf->env[i].value);
        free(conf->env[i].reason);
    }
    free(conf->env);
    *conf = (struct jp_jobconf){0};
}

static const char *find(const struct jp_setting *list, size_t n,
                        const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].key, key))
            return list[i].value;
    return NULL;
}

const char *jobconf_find(const struct jp_jobconf *conf, const char *key)
{
    return find(conf->settings, conf->n_settings, key);
}

const char *jobconf_copper(const struct jp_jobconf *conf, const char *key)
{
    return find(conf->copper_settings, conf->n_copper_settings, key);
}

const char *jobconf_util(const struct jp_jobconf *conf, const char *key)
{
    return find(conf->util_settings, conf->n_util_settings, key);
}

/* --- without a user's paths -------------------------------------------------
 */

#define CUT "..."

/* "/home/alice/run/train" becomes ".../train", a path in a step directory
 * ".../step-0/raw/%N"; anything but an absolute path stays. */
static int cut_path(char **text, const char *step)
{
    const char *from;
    char *cut;

    if (!*text || **text != '/')
        return 0;
    from = step ? strstr(*text, step) : NULL;
    cut = fileio_path(CUT "%s", from ? from : strrchr(*text, '/'));
    if (!cut)
        return -1;
    free(*text);
    *text = cut;
    return 0;
}

/* What the site has set, or nobody, is no secret of the user's. */
static int cut_settings(struct jp_setting *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(list[i].source, "site file") ||
            !strcmp(list[i].source, "default"))
            continue;
        if (cut_path(&list[i].value, NULL) < 0 ||
            cut_path(&list[i].where, NULL) < 0)
            return -1;
    }
    return 0;
}

/* The library, unless it is one that the user has named himself. */
static bool is_public(const struct jp_jobconf *conf,
                      const struct jp_envvar *var)
{
    const char *own = jobconf_find(conf, var->name);

    return !strcmp(var->name, "NCCL_PROFILER_PLUGIN") &&
           !(own && !strcmp(own, var->value));
}

int jobconf_hide_paths(struct jp_jobconf *conf)
{
    char *step = fileio_path("/step-%s", conf->step_id);
    int rc = step ? 0 : -1;

    for (size_t i = 0; i < conf->n_env && rc == 0; i++)
        if (!is_public(conf, &conf->env[i]))
            rc = cut_path(&conf->env[i].value, step);
    free(step);
    if (rc < 0 || cut_path(&conf->command, NULL) < 0 ||
        cut_settings(conf->settings, conf->n_settings) < 0 ||
        cut_settings(conf->copper_settings, conf->n_copper_settings) < 0 ||
        cut_settings(conf->util_settings, conf->n_util_settings) < 0)
        return -1;
    if (conf->submit_dir)
        conf->submit_dir[0] = '\0';
    return 0;
}
