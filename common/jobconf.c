/* jobconf.c - read, write, hash and search job.conf.
 *
 * Scalars are in one table, jobconf_fields, for reader, writer, defaults and
 * cleanup; a new one is a row there. Lists are handled by hand. Any text must
 * be safe to read: the file is in a folder that the job can change.
 */
#include "common/jobconf.h"

#include <inttypes.h>
#include <libconfig.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/siteflat.h"
#include "common/defaults.h"
#include "common/fileio.h"
#include "common/grammar.h"
#include "common/policy.h"
#include "common/vector.h"

/* --- the scalar fields: one table for reader and writer ---
 *
 * The lists (nccl.settings, nccl.env), the groups of the other options and the
 * policy (common/policy.h) are read and written by functions of their own.
 */

/* The types of members that a field can describe. */
enum jobconf_kind {
    JOBCONF_U32,
    JOBCONF_U64,
    JOBCONF_BOOL,
    JOBCONF_STRING,
    JOBCONF_SUMMARY, /* enum jp_summary by its word */
};

struct jobconf_field {
    const char *group; /* "" is the top level; the fields of a group follow each
                          other */
    const char *key;
    enum jobconf_kind kind;
    size_t offset;    /* in struct jp_jobconf */
    uint64_t number;  /* default of the numeric kinds */
    const char *text; /* default of a string */
};

/* A row of the table; STRING is a short form. */
#define FIELD(group, key, kind, member, number, text)                          \
    {                                                                          \
        group, key, kind, offsetof(struct jp_jobconf, member), number, text    \
    }
#define STRING(group, key, member, text)                                       \
    FIELD(group, key, JOBCONF_STRING, member, 0, text)

static const struct jobconf_field jobconf_fields[] = {
    FIELD("", "schema", JOBCONF_U32, schema, 0, NULL),
    STRING("", "version", version, ""),
    FIELD("", "created_us", JOBCONF_U64, created_us, 0, NULL),
    FIELD("job", "id", JOBCONF_U64, job_id, 0, NULL),
    STRING("job", "array", array, ""),
    STRING("job", "step", step_id, ""),
    FIELD("job", "restart", JOBCONF_U32, restart, 0, NULL),
    STRING("job", "user", user, ""),
    FIELD("job", "uid", JOBCONF_U32, uid, 0, NULL),
    STRING("job", "name", job_name, ""),
    STRING("job", "account", account, ""),
    STRING("job", "partition", partition, ""),
    STRING("job", "submit_dir", submit_dir, ""),
    STRING("job", "submit_host", submit_host, ""),
    STRING("job", "slurm", slurm_version, ""),
    FIELD("job", "nodes", JOBCONF_U32, nnodes, 0, NULL),
    FIELD("job", "tasks", JOBCONF_U32, ntasks, 0, NULL),
    STRING("job", "command", command, ""),
    STRING("job", "site_file", site_file, ""),
    STRING("nccl", "request", nccl_request, "off"),
    STRING("nccl", "mode", nccl_mode, "off"),
    FIELD("nccl", "explicit", JOBCONF_BOOL, explicit_request, 0, NULL),
    FIELD("nccl", "hidden", JOBCONF_BOOL, hidden, 0, NULL),
    STRING("nccl", "final_dir", final_dir, ""),
    FIELD("nccl", "memory_bytes", JOBCONF_U64, memory_bytes, 0, NULL),
    FIELD("nccl", "disk_bytes", JOBCONF_U64, disk_bytes, 0, NULL),
    FIELD("nccl", "planned_ops", JOBCONF_U64, planned_ops, 0, NULL),
    FIELD("nccl", "kept_ops", JOBCONF_U64, kept_ops, 0, NULL),
    STRING("nccl", "lost", lost, ""),
    STRING("nccl", "known_issues", known_issues, ""),
    STRING("nccl", "container_binds", container_binds, ""),
    STRING("nccl", "container_paths", container_paths, ""),
    STRING("nccl", "container_note", container_note, ""),
    FIELD("nccl", "summary", JOBCONF_SUMMARY, summary, JP_SUMMARY_AUTO, NULL),
};
static const size_t jobconf_n_fields = sizeof(jobconf_fields) /
                                       sizeof(*jobconf_fields);

/* Words of enum jp_summary: auto, off, line, card. */
static const char *const jobconf_summary_words[4] = {"auto", "off", "line",
                                                     "card"};

/* --- reading --- */

/* The longest list that is read; a longer one was not written by us. */
#define MAX_LIST 4096

/* The file that is being read, for errors. */
struct source {
    const char *name;
    struct jp_error *err;
};

/* Sets the error for one setting, with its line. Returns -1. */
static int bad(const struct source *src, const config_setting_t *s,
               const char *what)
{
    const char *key = config_setting_name(s);

    return error_set(src->err, "%s:%u: \"%s\" %s", src->name,
                     config_setting_source_line(s), key ? key : "(list)", what);
}

/* Replaces *out by a copy of the string; unchanged on failure. */
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

/* Reads a whole number from 0 to max. */
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

/* Reads true or false. */
static int read_bool(const struct source *src, const config_setting_t *s,
                     bool *out)
{
    if (config_setting_type(s) != CONFIG_TYPE_BOOL)
        return bad(src, s, "is not true or false");
    *out = config_setting_get_bool(s) != 0;
    return 0;
}

/* Reads the word of enum jp_summary. */
static int read_summary(const struct source *src, const config_setting_t *s,
                        enum jp_summary *out)
{
    const char *text = config_setting_type(s) == CONFIG_TYPE_STRING
                           ? config_setting_get_string(s)
                           : NULL;

    /* The index of the word is the value of the enum. */
    for (int i = 0; text && i < 4; i++)
        if (!strcmp(text, jobconf_summary_words[i])) {
            *out = (enum jp_summary) i;
            return 0;
        }
    return bad(src, s, "is not auto, off, line or card");
}

/* Sets a member to the field's default. -1: no memory. */
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

/* Reads one scalar into its member. */
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
        /* libconfig's integers are signed. */
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

/* Finds a group; "" is the top level. *out is NULL if it is absent. */
static int find_group(const struct source *src, const config_t *cfg,
                      const char *name, config_setting_t **out)
{
    config_setting_t *root = config_root_setting(cfg);

    *out = *name ? config_setting_get_member(root, name) : root;
    if (*out && !config_setting_is_group(*out))
        return bad(src, *out, "is not a group");
    return 0;
}

/* Sets every member to its default, then to the file's value. */
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
        /* A missing key keeps the default; unknown keys are never looked up. */
        s = group ? config_setting_get_member(group, field->key) : NULL;
        if (s && read_field(src, s, field, slot) < 0)
            return -1;
    }
    return 0;
}

/* Sets the policy to its defaults, then to the file's values. */
static int read_policy(const struct source *src, const config_t *cfg,
                       struct jp_policy *policy)
{
    const struct jp_policy_row *row;
    config_setting_t *group, *s;
    uint64_t v;

    policy_defaults(policy);
    if (find_group(src, cfg, "policy", &group) < 0)
        return -1;
    for (size_t i = 0; group && (row = policy_row(i)); i++) {
        s = config_setting_get_member(group, row->key);
        if (!s)
            continue;
        if (read_number(src, s, UINT32_MAX, &v) < 0)
            return -1;
        *policy_value(policy, row) = (uint32_t) v;
    }
    return 0;
}

/* Finds group.key, which must be a list of groups. *n is 0 if it is absent. */
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

        /* Checked here, so that the readers of elements need not. */
        if (!config_setting_is_group(s))
            return bad(src, s, "is not a group");
    }
    *n = (size_t) count;
    return 0;
}

/* Reads a string of a list's element; "" if it is absent. */
static int read_member(const struct source *src, const config_setting_t *group,
                       const char *key, char **out)
{
    config_setting_t *s = config_setting_get_member(group, key);

    if (s)
        return read_string(src, s, out);
    *out = strdup("");
    return *out ? 0 : error_set(src->err, "out of memory");
}

/* Reads the list "settings" of a group. */
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
    *n_out = n; /* now, so that jobconf_fini frees a list that is half filled */
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

/* Reads a number or a text of an option's group; 0 or "" if it is absent. */
static int read_conf_key(const struct source *src,
                         const config_setting_t *group,
                         const struct jp_conf_key *key, uint32_t *number,
                         char **text)
{
    config_setting_t *s = group ? config_setting_get_member(group, key->name)
                                : NULL;
    uint64_t v = 0;

    if (key->is_text) {
        *text = strdup("");
        if (!*text)
            return error_set(src->err, "out of memory");
        return s ? read_string(src, s, text) : 0;
    }
    if (s && read_number(src, s, UINT32_MAX, &v) < 0)
        return -1;
    *number = (uint32_t) v;
    return 0;
}

/* Reads the group of each option besides --nccl-profile. */
static int read_sides(const struct source *src, const config_t *cfg,
                      struct jp_jobconf *conf)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct jp_grammar *grammar = grammar_of(i);
        const struct jp_conf_key *key = grammar->form->conf_keys;
        struct jobconf_side *side = &conf->sides[i];
        config_setting_t *group, *s;

        side->request = strdup("off");
        if (!side->request)
            return error_set(src->err, "out of memory");
        if (find_group(src, cfg, grammar->group, &group) < 0)
            return -1;
        s = group ? config_setting_get_member(group, "request") : NULL;
        if (s && read_string(src, s, &side->request) < 0)
            return -1;
        for (size_t k = 0; key && key[k].name; k++)
            if (read_conf_key(src, group, &key[k], &side->numbers[k],
                              &side->texts[k]) < 0)
                return -1;
        if (read_settings(src, cfg, grammar->group, &side->settings,
                          &side->n_settings) < 0)
            return -1;
    }
    return 0;
}

/* Reads the list of the tasks' variables. */
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

/* Steps: refuse what libconfig must not see, parse, read all fields and lists,
 * check the schema. On failure, everything that was read is freed. */
int jobconf_parse(const char *text, size_t len, const char *name,
                  struct jp_jobconf *out, struct jp_error *err)
{
    struct source src = {name, err};
    struct jp_jobconf conf = {0};
    config_t cfg;
    char *copy = NULL;
    int rc = -1;

    /* libconfig must not see an @include, and needs a text with a NUL. */
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
        read_policy(&src, &cfg, &conf.policy) < 0 ||
        read_settings(&src, &cfg, "nccl", &conf.settings, &conf.n_settings) <
            0 ||
        read_sides(&src, &cfg, &conf) < 0 || read_env(&src, &cfg, &conf) < 0)
        goto out;
    /* A file without a schema has schema 0. */
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
    /* Hash the bytes that are parsed, not the file again: it may change in
     * between. */
    if (pin && *pin)
        sha256_hex(text, len, sum);
    if (*sum && strcmp(sum, pin) != 0)
        rc = error_set(err, "%s: refused, because srun did not write this file",
                       path);
    else
        rc = jobconf_parse(text, len, path, out, err);
    free(text);
    return rc;
}

int jobconf_read_step(const char *step_dir, const char *pin,
                      struct jp_jobconf *out, struct jp_error *err)
{
    char *path = text_format("%s/" JP_JOBCONF_NAME, step_dir);
    int rc = path ? jobconf_read_pinned(path, pin, out, err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* --- writing, hash, search --- */

/* Writes a quoted string between two texts. -1: no memory. */
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

/* Writes a number. An int of libconfig has 32 bits and a sign; larger numbers
 * need an L. */
static void put_u32(FILE *f, uint32_t v)
{
    fprintf(f, "%" PRIu32 "%s;\n", v, v > INT32_MAX ? "L" : "");
}

/* Writes one scalar as libconfig reads it back. */
static int put_field(FILE *f, const char *indent,
                     const struct jobconf_field *field,
                     const struct jp_jobconf *conf)
{
    const void *slot = (const char *) conf + field->offset;

    fprintf(f, "%s%s = ", indent, field->key);
    switch (field->kind) {
    case JOBCONF_U32:
        put_u32(f, *(const uint32_t *) slot);
        return 0;
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

/* Writes one list of settings. */
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

/* Writes the list of the tasks' variables. */
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

/* Writes the groups of all options besides --nccl-profile. */
static int put_sides(FILE *f, const struct jp_jobconf *conf)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct jp_grammar *grammar = grammar_of(i);
        const struct jp_conf_key *key = grammar->form->conf_keys;
        const struct jobconf_side *side = &conf->sides[i];

        fprintf(f, "%s = {\n", grammar->group);
        if (put_string(f, "  request = ", side->request, ";\n") < 0)
            return -1;
        for (size_t k = 0; key && key[k].name; k++) {
            fprintf(f, "  %s = ", key[k].name);
            if (!key[k].is_text)
                put_u32(f, side->numbers[k]);
            else if (put_string(f, "", side->texts[k], ";\n") < 0)
                return -1;
        }
        if (put_settings(f, side->settings, side->n_settings) < 0)
            return -1;
        fputs("};\n", f);
    }
    return 0;
}

static void put_policy(FILE *f, const struct jp_policy *policy)
{
    struct jp_policy values = *policy;
    const struct jp_policy_row *row;

    fputs("policy = {\n", f);
    for (size_t i = 0; (row = policy_row(i)); i++) {
        fprintf(f, "  %s = ", row->key);
        put_u32(f, *policy_value(&values, row));
    }
    fputs("};\n", f);
}

/* Writes the whole file, group by group in the order of the table. */
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
        if (!last || !*group)
            continue;
        /* NCCL's group ends with its lists; the other options follow it. */
        if (strcmp(group, "nccl") != 0)
            fputs("};\n", f);
        else if (put_settings(f, conf->settings, conf->n_settings) < 0 ||
                 put_env(f, conf->env, conf->n_env) < 0 ||
                 fputs("};\n", f) < 0 || put_sides(f, conf) < 0)
            return -1;
    }
    put_policy(f, &conf->policy);
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

/* Frees a list of settings with its strings. list may be NULL. */
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

/* The caller passes the result of strdup or text_format directly: NULL is
 * handled here, once for all. */
int jobconf_add_env(struct jp_jobconf *conf, const char *name, char *value,
                    const char *reason, bool soft, struct jp_error *err)
{
    struct jp_envvar *env;

    if (vector_resize(&conf->env, conf->n_env + 1, sizeof(*env)) < 0) {
        free(value);
        return error_set(err, "out of memory");
    }
    /* The entry counts even if a copy has failed: jobconf_fini frees it. */
    env = &conf->env[conf->n_env++];
    *env = (struct jp_envvar){strdup(name), value, soft, strdup(reason)};
    return env->name && value && env->reason ? 0
                                             : error_set(err, "out of memory");
}

void jobconf_fini(struct jp_jobconf *conf)
{
    if (!conf)
        return;
    for (size_t i = 0; i < jobconf_n_fields; i++)
        /* Strings are the only scalars with memory. */
        if (jobconf_fields[i].kind == JOBCONF_STRING)
            free(*(char **) ((char *) conf + jobconf_fields[i].offset));
    free_settings(conf->settings, conf->n_settings);
    for (enum jp_option i = 0; i < OPTIONS; i++) {
        free(conf->sides[i].request);
        free_settings(conf->sides[i].settings, conf->sides[i].n_settings);
        for (size_t k = 0; k < JP_CONF_KEYS_MAX; k++)
            free(conf->sides[i].texts[k]);
    }
    for (size_t i = 0; i < conf->n_env; i++) {
        free(conf->env[i].name);
        free(conf->env[i].value);
        free(conf->env[i].reason);
    }
    free(conf->env);
    *conf = (struct jp_jobconf){0};
}

/* The value of a setting in a list; NULL: not there. */
static const char *find_setting(const struct jp_setting *list, size_t n,
                                const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].key, key))
            return list[i].value;
    return NULL;
}

const char *jobconf_find(const struct jp_jobconf *conf, const char *key)
{
    return find_setting(conf->settings, conf->n_settings, key);
}

const char *jobconf_side_find(const struct jp_jobconf *conf,
                              enum jp_option option, const char *key)
{
    const struct jobconf_side *side = &conf->sides[option];

    return find_setting(side->settings, side->n_settings, key);
}

const char *jobconf_labels(const struct jp_jobconf *conf)
{
    const char *labels = NULL;

    for (enum jp_option i = 0; i < OPTIONS && !labels; i++)
        labels = jobconf_side_find(conf, i, "labels");
    return labels;
}

/* --- without a user's paths -------------------------------------------------
 */

#define CUT "..."

/* Cuts an absolute path: "/home/alice/run/train" becomes ".../train", and a
 * path in the step directory ".../step-0/raw/%N". Other texts stay. step:
 * "/step-ID", or NULL. -1: no memory. */
static int cut_path(char **text, const char *step)
{
    const char *from;
    char *cut;

    if (!*text || **text != '/')
        return 0;
    from = step ? strstr(*text, step) : NULL;
    cut = text_format(CUT "%s", from ? from : strrchr(*text, '/'));
    if (!cut)
        return -1;
    free(*text);
    *text = cut;
    return 0;
}

/* Cuts the paths in a list of settings, except for those of the site file and
 * the defaults, which are not private. */
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

/* Whether the value of a variable may be shown: only the profiler's library,
 * unless the user has set it. */
static bool is_public(const struct jp_jobconf *conf,
                      const struct jp_envvar *var)
{
    const char *own = jobconf_find(conf, var->name);

    return !strcmp(var->name, "NCCL_PROFILER_PLUGIN") &&
           !(own && !strcmp(own, var->value));
}

char *jobconf_step_name(const struct jp_jobconf *conf,
                        char buf[JP_JOBCONF_NAME_LEN])
{
    size_t n;

    if (conf->array && *conf->array)
        snprintf(buf, JP_JOBCONF_NAME_LEN, "%.40s", conf->array);
    else
        snprintf(buf, JP_JOBCONF_NAME_LEN, "%" PRIu64, conf->job_id);
    n = strlen(buf);
    if (conf->step_id)
        snprintf(buf + n, JP_JOBCONF_NAME_LEN - n, ".%.60s", conf->step_id);
    return buf;
}

int jobconf_hide_paths(struct jp_jobconf *conf)
{
    char *step = text_format("/step-%s", conf->step_id);
    int rc = step ? 0 : -1;

    for (size_t i = 0; i < conf->n_env && rc == 0; i++)
        if (!is_public(conf, &conf->env[i]))
            rc = cut_path(&conf->env[i].value, step);
    free(step);
    if (rc < 0 || cut_path(&conf->command, NULL) < 0 ||
        cut_settings(conf->settings, conf->n_settings) < 0)
        return -1;
    for (enum jp_option i = 0; i < OPTIONS; i++)
        if (cut_settings(conf->sides[i].settings, conf->sides[i].n_settings) <
            0)
            return -1;
    /* It is a path of the user as a whole. */
    if (conf->submit_dir)
        conf->submit_dir[0] = '\0';
    return 0;
}
