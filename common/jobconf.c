/* jobconf.c - read job.conf. */
#include "common/jobconf.h"

#include <inttypes.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/conftext.h"
#include "common/fileio.h"
#include "common/jobconf_fields.h"

/* A list longer than this was not written by us. */
#define MAX_LIST 4096

/* Where reading stands, for errors. */
struct source {
    const char *name;
    struct jp_error *err;
};

static int bad(const struct source *src, const config_setting_t *s,
               const char *what)
{
    const char *key = config_setting_name(s);

    return error_set(src->err, "%s:%u: \"%s\" %s", src->name,
                     config_setting_source_line(s), key ? key : "(list)", what);
}

static int read_string(const struct source *src, const config_setting_t *s,
                       char **out)
{
    const char *text = config_setting_get_string(s);
    char *copy;

    if (config_setting_type(s) != CONFIG_TYPE_STRING || !text)
        return bad(src, s, "is not a string");
    copy = strdup(text);
    if (!copy)
        return error_set(src->err, "out of memory");
    free(*out);
    *out = copy;
    return 0;
}

static int read_number(const struct source *src, const config_setting_t *s,
                       uint64_t max, uint64_t *out)
{
    int type = config_setting_type(s);
    long long v;

    if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
        return bad(src, s, "is not a whole number");
    v = config_setting_get_int64(s);
    if (v < 0 || (uint64_t) v > max)
        return bad(src, s, "is out of range");
    *out = (uint64_t) v;
    return 0;
}

static int read_bool(const struct source *src, const config_setting_t *s,
                     bool *out)
{
    if (config_setting_type(s) != CONFIG_TYPE_BOOL)
        return bad(src, s, "is neither true nor false");
    *out = config_setting_get_bool(s) != 0;
    return 0;
}

static int read_summary(const struct source *src, const config_setting_t *s,
                        enum jp_summary *out)
{
    const char *text = config_setting_type(s) == CONFIG_TYPE_STRING
                           ? config_setting_get_string(s)
                           : NULL;

    for (int i = 0; text && i < 4; i++)
        if (!strcmp(text, jobconf_summary_words[i])) {
            *out = (enum jp_summary) i;
            return 0;
        }
    return bad(src, s, "is none of auto, off, line, card");
}

static int set_default(const struct jobconf_field *field, void *slot)
{
    switch (field->kind) {
    case JOBCONF_U32:
        *(uint32_t *) slot = (uint32_t) field->number;
        return 0;
    case JOBCONF_U64:
        *(uint64_t *) slot = field->number;
        return 0;
    case JOBCONF_BOOL:
        *(bool *) slot = field->number != 0;
        return 0;
    case JOBCONF_SUMMARY:
        *(enum jp_summary *) slot = (enum jp_summary) field->number;
        return 0;
    case JOBCONF_STRING:
        *(char **) slot = strdup(field->text);
        return *(char **) slot ? 0 : -1;
    }
    return -1;
}

static int read_field(const struct source *src, const config_setting_t *s,
                      const struct jobconf_field *field, void *slot)
{
    uint64_t v;

    switch (field->kind) {
    case JOBCONF_U32:
        if (read_number(src, s, UINT32_MAX, &v) < 0)
            return -1;
        *(uint32_t *) slot = (uint32_t) v;
        return 0;
    case JOBCONF_U64:
        return read_number(src, s, INT64_MAX, slot);
    case JOBCONF_BOOL:
        return read_bool(src, s, slot);
    case JOBCONF_SUMMARY:
        return read_summary(src, s, slot);
    case JOBCONF_STRING:
        return read_string(src, s, slot);
    }
    return -1;
}

/* The group named so, *out NULL if absent. */
static int find_group(const struct source *src, const config_t *cfg,
                      const char *name, config_setting_t **out)
{
    config_setting_t *root = config_root_setting(cfg);

    *out = *name ? config_setting_get_member(root, name) : root;
    if (*out && !config_setting_is_group(*out))
        return bad(src, *out, "is not a group");
    return 0;
}

static int read_scalars(const struct source *src, const config_t *cfg,
                        struct jp_jobconf *conf)
{
    for (size_t i = 0; i < jobconf_n_fields; i++) {
        const struct jobconf_field *field = &jobconf_fields[i];
        void *slot = (char *) conf + field->offset;
        config_setting_t *group, *s;

        if (set_default(field, slot) < 0)
            return error_set(src->err, "out of memory");
        if (find_group(src, cfg, field->group, &group) < 0)
            return -1;
        s = group ? config_setting_get_member(group, field->key) : NULL;
        if (s && read_field(src, s, field, slot) < 0)
            return -1;
    }
    return 0;
}

/* group.key as a list of groups; *n is 0 if it is absent. */
static int find_list(const struct source *src, const config_t *cfg,
                     const char *group_name, const char *key,
                     config_setting_t **out, size_t *n)
{
    config_setting_t *group;
    int count;

    *n = 0;
    *out = NULL;
    if (find_group(src, cfg, group_name, &group) < 0)
        return -1;
    *out = group ? config_setting_get_member(group, key) : NULL;
    if (!*out)
        return 0;
    if (!config_setting_is_list(*out))
        return bad(src, *out, "is not a list");
    count = config_setting_length(*out);
    if (count < 0 || count > MAX_LIST)
        return bad(src, *out, "has too many elements");
    for (int i = 0; i < count; i++) {
        config_setting_t *s = config_setting_get_elem(*out, (unsigned) i);

        if (!config_setting_is_group(s))
            return bad(src, s, "is not a group");
    }
    *n = (size_t) count;
    return 0;
}

/* A member of a list's element; absent: "". */
static int read_member(const struct source *src, const config_setting_t *group,
                       const char *key, char **out)
{
    config_setting_t *s = config_setting_get_member(group, key);

    if (s)
        return read_string(src, s, out);
    *out = strdup("");
    return *out ? 0 : error_set(src->err, "out of memory");
}

static int read_settings(const struct source *src, const config_t *cfg,
                         const char *group, struct jp_setting **out,
                         size_t *n_out)
{
    config_setting_t *list;
    size_t n;

    if (find_list(src, cfg, group, "settings", &list, &n) < 0)
        return -1;
    *out = calloc(n + 1, sizeof(**out));
    if (!*out)
        return error_set(src->err, "out of memory");
    *n_out = n; /* now: jobconf_fini frees the half-filled ones too */
    for (size_t i = 0; i < n; i++) {
        config_setting_t *s = config_setting_get_elem(list, (unsigned) i);
        struct jp_setting *one = &(*out)[i];

        if (read_member(src, s, "key", &one->key) < 0 ||
            read_member(src, s, "value", &one->value) < 0 ||
            read_member(src, s, "source", &one->source) < 0 ||
            read_member(src, s, "where", &one->where) < 0 ||
            read_member(src, s, "reason", &one->reason) < 0)
            return -1;
    }
    return 0;
}

static int read_env(const struct source *src, const config_t *cfg,
                    struct jp_jobconf *conf)
{
    config_setting_t *list;
    size_t n;

    if (find_list(src, cfg, "nccl", "env", &list, &n) < 0)
        return -1;
    conf->env = calloc(n + 1, sizeof(*conf->env));
    if (!conf->env)
        return error_set(src->err, "out of memory");
    conf->n_env = n;
    for (size_t i = 0; i < n; i++) {
        config_setting_t *s = config_setting_get_elem(list, (unsigned) i);
        config_setting_t *soft = config_setting_get_member(s, "soft");
        struct jp_envvar *one = &conf->env[i];

        if (read_member(src, s, "name", &one->name) < 0 ||
            read_member(src, s, "value", &one->value) < 0 ||
            read_member(src, s, "reason", &one->reason) < 0 ||
            (soft && read_bool(src, soft, &one->soft) < 0))
            return -1;
    }
    return 0;
}

int jobconf_parse(const char *text, size_t len, const char *name,
                  struct jp_jobconf *out, struct jp_error *err)
{
    struct source src = {name, err};
    struct jp_jobconf conf = {0};
    config_t cfg;
    char *copy = NULL;
    int rc = -1;

    config_init(&cfg);
    if (conftext_check(text, len, name, err) < 0)
        goto out;
    copy = strndup(text, len);
    if (!copy) {
        error_set(err, "%s: out of memory", name);
        goto out;
    }
    if (config_read_string(&cfg, copy) != CONFIG_TRUE) {
        error_set(err, "%s:%d: %s", name, config_error_line(&cfg),
                  config_error_text(&cfg));
        goto out;
    }
    if (read_scalars(&src, &cfg, &conf) < 0 ||
        read_settings(&src, &cfg, "nccl", &conf.settings, &conf.n_settings) <
            0 ||
        read_settings(&src, &cfg, "copper", &conf.copper_settings,
                      &conf.n_copper_settings) < 0 ||
        read_settings(&src, &cfg, "util", &conf.util_settings,
                      &conf.n_util_settings) < 0 ||
        read_env(&src, &cfg, &conf) < 0)
        goto out;
    if (conf.schema != JP_JOBCONF_SCHEMA) {
        error_set(err, "%s: schema %" PRIu32 " is not %d", name, conf.schema,
                  JP_JOBCONF_SCHEMA);
        goto out;
    }
    *out = conf;
    conf = (struct jp_jobconf){0};
    rc = 0;
out:
    jobconf_fini(&conf);
    config_destroy(&cfg);
    free(copy);
    return rc;
}

int jobconf_read(const char *path, struct jp_jobconf *out, struct jp_error *err)
{
    return jobconf_read_pinned(path, NULL, out, err);
}

int jobconf_read_pinned(const char *path, const char *pin,
                        struct jp_jobconf *out, struct jp_error *err)
{
    char sum[SHA256_HEX] = "";
    char *text = NULL;
    size_t len = 0;
    int rc;

    if (fileio_read(path, false, JP_JOBCONF_MAX_BYTES, &text, &len, err) < 0)
        return -1;
    if (pin && *pin)
        sha256_hex(text, len, sum);
    if (*sum && strcmp(sum, pin) != 0)
        rc = error_set(err, "%s: refused: not the one that srun wrote", path);
    else
        rc = jobconf_parse(text, len, path, out, err);
    free(text);
    return rc;
}
