/* sitefile.c - read and check a settings file.
 *
 * The tables at the beginning define the keys that only a site sets;
 * sitekeys_all adds the knobs of all options. sitefile_load expands the file
 * (siteflat.h), lets libconfig parse each statement of the top level, and
 * checks every value by its key's knob. libconfig refuses a text in which a
 * group appears twice; statement by statement, groups of one name are merged.
 * All errors are reported, not only the first one.
 */
#include "common/sitefile.h"

#include <ctype.h>
#include <errno.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/nearest.h"
#include "common/policy.h"
#include "common/quote.h"
#include "common/siteflat.h"
#include "common/vector.h"

/* --- the keys --- */

#define MINUTE (60 * JP_SECOND)
#define DAY (24 * 60 * MINUTE)

const char *const sitekeys_groups[SITEKEYS_GROUPS] = {
#define ROW(up, low) #low,
    JP_OPTIONS(ROW)
#undef ROW
        "policy",
    "upload", "history", "metrics", ""};

/* Keys of the site file about NCCL profiles, whichever profiler makes them. */
static const struct jp_knob site_nccl[] = {
    {JP_KNOB("default_partitions", JP_KNOB_LIST, 0, 0, NULL, NULL,
             "partitions to which the default applies")},
    {JP_KNOB("default_accounts", JP_KNOB_LIST, 0, 0, NULL, NULL,
             "accounts to which the default applies")},
    {JP_KNOB(
        "default_gres", JP_KNOB_LIST, 0, 0, NULL, NULL,
        "generic resources; the default applies to jobs with one of them")},
    {JP_KNOB("default_min_time", JP_KNOB_TIME, JP_SECOND, 366 * DAY, NULL, NULL,
             "least time limit of a job to which the default applies")},
    {JP_KNOB("node_huge_pages", JP_KNOB_WORD, 0, 0, "0|1", NULL,
             "whether transparent huge pages are \"always\" on the nodes")},
    {JP_KNOB("node_memory", JP_KNOB_SIZE, 64 << 20, 1ULL << 50, NULL, NULL,
             "memory of the site's smallest node")},
    {JP_KNOB("known_bad", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "nccl-known-bad.conf to read instead of the installed one")},
    {0}};

/* Keys of the site file about nodes and links, at the top level. */
static const struct jp_knob site_nodes[] = {
    {JP_KNOB("topology_file", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "topology of a node as hwloc XML; %N is the node's name")},
    {JP_KNOB("nvml_library", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "libnvidia-ml.so.1 to use instead of the system's")},
    {JP_KNOB("rsmi_library", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "librocm_smi64.so to use instead of ROCm's")},
    {JP_KNOB("peaks_file", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "peaks.conf: bandwidths that the links can reach")},
    {JP_KNOB("baseline_file", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "bandwidths of earlier steps, written by jobprof baseline")},
    {JP_KNOB("inspector_folder", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "Inspector logs of jobs without jobprof; %j is the job")},
    {JP_KNOB("container_binds", JP_KNOB_LIST, 0, 0, NULL, NULL,
             "variables that list mounts for container runtimes")},
    {JP_KNOB("container_paths", JP_KNOB_MOUNTS, 0, 0, NULL, NULL,
             "paths of the host and their names inside containers")},
    {JP_KNOB("container_steps", JP_KNOB_WORD, 0, 0, "asked|all", "asked",
             "steps to which container_paths applies")},
    {0}};

/* Where the figures of reports are sent (jobprof upload). */
static const struct jp_knob site_upload[] = {
    {JP_KNOB("to", JP_KNOB_TEXT, 0, 0, NULL, NULL,
             "server of Elasticsearch or OpenSearch that reports are sent to")},
    {JP_KNOB("credentials", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "file with user and password, api_key or bearer")},
    {JP_KNOB("ca", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "certificates to trust instead of the system's")},
    {JP_KNOB("proxy", JP_KNOB_TEXT, 0, 0, NULL, NULL,
             "proxy to the server; without it none is used")},
    {JP_KNOB("server_user", JP_KNOB_TEXT, 0, 0, NULL, NULL,
             "user of a server on this machine that gets credentials by http")},
    {JP_KNOB("detailed", JP_KNOB_TEXT, 0, 0, NULL, "kibana_project_detailed",
             "index of operations")},
    {JP_KNOB("summary", JP_KNOB_TEXT, 0, 0, NULL, "kibana_project_summary",
             "index of steps and cells")},
    {JP_KNOB("operations", JP_KNOB_COUNT, 0, UINT32_MAX, NULL, "1000000",
             "most documents of operations for each step")},
    {JP_KNOB("outbox", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "sticky folder in which documents of each user wait")},
    {JP_KNOB("outbox_size", JP_KNOB_SIZE, JP_MIB, 1ULL << 50, NULL, "1G",
             "most bytes of one user's waiting documents")},
    {0}};

/* Where a line about each step is written (jobprof history). */
static const struct jp_knob site_history[] = {
    {JP_KNOB("dir", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "sticky folder with a folder of lines for each user")},
    {JP_KNOB("command", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "program that reads a line from its input, run as the user")},
    {JP_KNOB("syslog", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "syslog socket for a line, such as /dev/log")},
    {JP_KNOB("size", JP_KNOB_SIZE, JP_MIB, 1ULL << 50, NULL, "256M",
             "most bytes of a user's lines; the oldest are removed")},
    {JP_KNOB("limit", JP_KNOB_TIME, JP_SECOND / 10, MINUTE, NULL, "10s",
             "time limit of the program")},
    {JP_KNOB("accounts", JP_KNOB_PATH, 0, 0, NULL, NULL,
             "root's list of users and their accounts, lines user|account")},
    {0}};

/* Metrics for Prometheus while a step runs. */
/* The rows by name, because sitefile_metrics reads their defaults. */
enum {
    METRICS_DIR,
    METRICS_SPOOL,
    METRICS_INTERVAL,
    METRICS_SERIES,
    METRICS_USER_SERIES,
    METRICS_NODE_SERIES,
    METRICS_ASK
};
static const struct jp_knob site_metrics[] = {
    [METRICS_DIR] = {JP_KNOB("textfile_dir", JP_KNOB_PATH, 0, 0, NULL, NULL,
                             "folder of node_exporter's textfile collector, "
                             "which only root can change")},
    [METRICS_SPOOL] = {JP_KNOB("spool_dir", JP_KNOB_PATH, 0, 0, NULL,
                               "/var/spool/jobprof",
                               "folder in which users' agents write")},
    [METRICS_INTERVAL] = {JP_KNOB("interval", JP_KNOB_TIME, 5 * JP_SECOND,
                                  10 * MINUTE, NULL, "15",
                                  "least time between two writes")},
    [METRICS_SERIES] = {JP_KNOB("series", JP_KNOB_COUNT, 50, 10000, NULL, "500",
                                "most series for each node and step")},
    [METRICS_USER_SERIES] = {JP_KNOB("user_series", JP_KNOB_COUNT, 50, 50000,
                                     NULL, "2000",
                                     "most series of a user on a node")},
    [METRICS_NODE_SERIES] = {JP_KNOB("node_series", JP_KNOB_COUNT, 50, 50000,
                                     NULL, "20000", "most series of a node")},
    [METRICS_ASK] = {JP_KNOB("ask_slurm", JP_KNOB_BOOL, 0, 1, NULL, "1",
                             "ask Slurm whose job a user's metrics name")},
    {0}};

/* Words among the policy. */
static const struct jp_knob site_policy[] = {
    {JP_KNOB("task_env", JP_KNOB_WORD, 0, 0, "first|last", "first",
             "last: the tasks' variables are set again after other SPANK "
             "modules")},
    {0}};

/* Appends a key; one too many is dropped. */
static void add_key(struct sitekey *keys, size_t *n, const char *group,
                    const struct jp_knob *knob, bool site_only)
{
    if (*n < SITEKEYS_MAX)
        keys[(*n)++] = (struct sitekey){group, knob->name, knob, site_only,
                                        SITEKEY_NO_POLICY};
}

/* Appends the knobs of an option. A few of them have another group or name in a
 * file than in the option. */
static void add_knobs(const struct jp_grammar *grammar, struct sitekey *keys,
                      size_t *n)
{
    const struct jp_option_form *form = grammar->form;
    bool nccl = grammar->id == OPTION_NCCL;

    for (size_t i = 0; i < grammar->n_knobs && *n < SITEKEYS_MAX; i++) {
        const struct jp_knob *knob = &grammar->knobs[i];
        struct sitekey key = {grammar->group, knob->name, knob, false,
                              SITEKEY_NO_POLICY};

        if (nccl && !strcmp(knob->name, "mode"))
            continue; /* only mode plan has it, which no file can request */
        if (knob->kind == JP_KNOB_FILE)
            continue; /* a settings file cannot name another one */
        if (!nccl && !strcmp(knob->name, "summary"))
            continue; /* a file has one for all options */
        if (nccl &&
            (!strcmp(knob->name, "dir") || !strcmp(knob->name, "summary")))
            key.group = "";
        if (nccl && !strcmp(knob->name, "nccl"))
            key.key = "version";
        if (form->policy_knob && !strcmp(knob->name, form->policy_knob)) {
            key.group = "policy";
            key.key = form->policy_key;
            key.policy_offset = form->policy_at;
        }
        keys[(*n)++] = key;
    }
}

/* Appends rows that {0} ends, as keys that only a site may set. rows may be
 * NULL. */
static void add_site(const char *group, const struct jp_knob *rows,
                     struct sitekey *keys, size_t *n)
{
    for (; rows && rows->name; rows++)
        add_key(keys, n, group, rows, true);
}

/* Appends all keys of an option: its default, its knobs, and those of the site
 * and of its profilers. */
static void add_option(const struct jp_grammar *grammar, struct sitekey *keys,
                       size_t *n)
{
    add_key(keys, n, grammar->group, &grammar->by_default, false);
    add_knobs(grammar, keys, n);
    if (grammar->id == OPTION_NCCL)
        add_site(grammar->group, site_nccl, keys, n);
    for (size_t i = 0; profiler_registry[i]; i++)
        if (profiler_option(profiler_registry[i]) == grammar->id)
            add_site(grammar->group, profiler_registry[i]->site_keys, keys, n);
}

/* First the keys of each option, then those of the site. */
size_t sitekeys_all(struct sitekey keys[SITEKEYS_MAX])
{
    const struct jp_policy_row *row;
    size_t n = 0;

    for (enum jp_option i = 0; i < OPTIONS; i++)
        add_option(grammar_of(i), keys, &n);
    add_site("", site_nodes, keys, &n);
    add_site("upload", site_upload, keys, &n);
    add_site("history", site_history, keys, &n);
    add_site("metrics", site_metrics, keys, &n);
    add_site("policy", site_policy, keys, &n);
    for (size_t i = 0; (row = policy_row(i)) && n < SITEKEYS_MAX; i++)
        if (row->site.name) {
            add_key(keys, &n, "policy", &row->site, true);
            keys[n - 1].policy_offset = row->at;
        }
    return n;
}

/* --- the file --- */

#define WHERE_LEN 4352 /* room for PATH_MAX bytes and a line number */

/* A statement of the top level: the bytes of the text from `from` to `end`. */
struct statement {
    size_t from, end;
    unsigned line, end_line; /* of the text */
};

/* The state of one load. */
struct loader {
    struct siteflat flat;
    enum sitefile_kind kind;
    struct statement now; /* that is being read */
    size_t part_values;   /* the values before this part (siteflat_part) */
    struct sitekey keys[SITEKEYS_MAX];
    size_t n_keys;
    /* The result, while it is being filled. */
    struct jp_sitefile *file;
    /* Gets each error; NULL: nobody. */
    sitefile_report *report;
    void *arg;
    unsigned errors;
    struct jp_error *err; /* gets the first error */
};

/* The line of the text for a line of the statement, as libconfig counts it. */
static unsigned line_of(const struct loader *ld, unsigned line)
{
    return ld->now.line + (line ? line - 1 : 0);
}

static unsigned line_of_setting(const struct loader *ld,
                                const config_setting_t *s)
{
    return line_of(ld, config_setting_source_line(s));
}

/* Reports the error in `one` with file and line, and counts it. Reading
 * continues. */
static void note_error(struct loader *ld, unsigned line, struct jp_error *one)
{
    char where[WHERE_LEN];

    error_wrap(one, "%s",
               siteflat_where(&ld->flat, line, where, sizeof(where)));
    /* Only the first error is returned; all of them are reported. */
    if (!ld->errors++ && ld->err)
        *ld->err = *one;
    if (ld->report)
        ld->report(ld->arg, one->text);
}

/* Finds a key of that name in another group, or by the option's word for it:
 * "mem" is "nccl.mem", "nccl.dir" is "dir", "nccl.nccl" is "nccl.version".
 * Writes its full name into buf. NULL: there is none. */
static const char *elsewhere(const struct loader *ld, const char *key,
                             char *buf, size_t len)
{
    /* Compare the name in the file and the name in the option. */
    for (size_t i = 0; i < ld->n_keys; i++)
        if (!strcmp(ld->keys[i].key, key) ||
            !strcmp(ld->keys[i].knob->name, key)) {
            snprintf(buf, len, "%s%s%s", ld->keys[i].group,
                     *ld->keys[i].group ? "." : "", ld->keys[i].key);
            return buf;
        }
    return NULL;
}

/* Reports an unknown key, with the best guess of what was meant. */
static void unknown_key(struct loader *ld, const char *group,
                        const config_setting_t *s)
{
    const char *names[SITEKEYS_MAX + OPTIONS + 2], *near;
    const char *key = config_setting_name(s);
    char buf[128];
    struct jp_error one;
    size_t n = 0;

    for (size_t i = 0; i < ld->n_keys; i++)
        if (!strcmp(ld->keys[i].group, group))
            names[n++] = ld->keys[i].key;
    /* At the top level, the names of groups are valid words as well. */
    for (size_t i = 0; !*group && *sitekeys_groups[i]; i++)
        names[n++] = sitekeys_groups[i];
    if (!*group)
        names[n++] = "lock";
    near = elsewhere(ld, key, buf, sizeof(buf));
    if (!near)
        near = nearest_find(key, names, n);
    error_set(&one, "unknown key \"%s%s%s\"%s%s%s", group, *group ? "." : "",
              QUOTE(key), near ? "; did you mean \"" : "", near ? near : "",
              near ? "\"?" : "");
    note_error(ld, line_of_setting(ld, s), &one);
}

/* Formats a number as a user would write it: 0.25, not 0.250000. */
static void format_float(double v, char *buf, size_t len)
{
    char *end;

    snprintf(buf, len, "%.6f", v);
    end = buf + strlen(buf);
    while (end > buf && end[-1] == '0')
        *--end = '\0';
    if (end > buf && end[-1] == '.')
        end[-1] = '\0';
}

/* The text of a scalar, which may be in buf. NULL: it is not a scalar. */
static const char *scalar_text(const config_setting_t *s, char *buf, size_t len)
{
    switch (config_setting_type(s)) {
    case CONFIG_TYPE_STRING:
        return config_setting_get_string(s);
    case CONFIG_TYPE_BOOL:
        return config_setting_get_bool(s) ? "1" : "0";
    /* libconfig has 32-bit and 64-bit integers; one call reads both. */
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        snprintf(buf, len, "%lld", config_setting_get_int64(s));
        return buf;
    case CONFIG_TYPE_FLOAT:
        format_float(config_setting_get_float(s), buf, len);
        return buf;
    default:
        return NULL;
    }
}

/* The text of a value, which may be in buf. A list of names or mounts may be
 * written as ["a", "b"] and becomes "a,b". NULL: the value has the wrong
 * type. */
static const char *value_text(const struct jp_knob *knob,
                              const config_setting_t *s, char *buf, size_t len)
{
    size_t used = 0;

    bool list = knob->kind == JP_KNOB_LIST || knob->kind == JP_KNOB_MOUNTS;

    if (!list || !config_setting_is_aggregate(s) || config_setting_is_group(s))
        return scalar_text(s, buf, len);
    buf[0] = '\0';
    for (int i = 0; i < config_setting_length(s) && used < len; i++) {
        const char *name = config_setting_get_string_elem(s, i);

        /* An element that is not a string. */
        if (!name)
            return NULL;
        used += (size_t) snprintf(buf + used, len - used, "%s%s", i ? "," : "",
                                  name);
    }
    return used < len ? buf : NULL;
}

static void free_value(struct sitefile_value *value)
{
    free(value->name);
    free(value->value);
    free(value->where);
}

/* Appends a value or lock (copied). value NULL: a lock. -1: no memory. */
static int add_value(struct sitefile_value **list, size_t *n, const char *name,
                     const char *value, const char *where)
{
    struct sitefile_value *one;

    if (vector_resize(list, *n + 1, sizeof(**list)) < 0)
        return -1;
    one = &(*list)[*n];
    *one = (struct sitefile_value){strdup(name), value ? strdup(value) : NULL,
                                   strdup(where)};
    (*n)++;
    return one->name && (one->value || !value) && one->where ? 0 : -1;
}

/* Stores a value. One of an earlier part gives way to it; the same key twice in
 * a part is an error. 0, or -1 and err. */
static int keep_value(struct loader *ld, const char *name, const char *value,
                      const char *where, struct jp_error *err)
{
    struct jp_sitefile *file = ld->file;

    for (size_t i = 0; i < file->n_values; i++) {
        struct sitefile_value *old = &file->values[i];

        if (strcmp(old->name, name) != 0)
            continue;
        if (i >= ld->part_values)
            return error_set(err, "\"%s\" is set already in %s", name,
                             old->where);
        free_value(old);
        file->n_values--;
        ld->part_values--;
        memmove(old, old + 1, (file->n_values - i) * sizeof(*old));
        break;
    }
    if (add_value(&file->values, &file->n_values, name, value, where) < 0)
        return error_set(err, "out of memory");
    return 0;
}

/* The key of a group, or NULL. */
static const struct sitekey *find_key(const struct loader *ld,
                                      const char *group, const char *key)
{
    for (size_t i = 0; i < ld->n_keys; i++)
        if (!strcmp(ld->keys[i].group, group) && !strcmp(ld->keys[i].key, key))
            return &ld->keys[i];
    return NULL;
}

/* Checks one value and stores it. */
static void read_value(struct loader *ld, const char *group,
                       const config_setting_t *s)
{
    unsigned line = line_of_setting(ld, s);
    const char *name = config_setting_name(s), *text;
    const struct sitekey *key = find_key(ld, group, name);
    char buf[2048], full[128], where[WHERE_LEN];
    struct jp_error one;

    if (!key) {
        unknown_key(ld, group, s);
        return;
    }
    /* The full name of the key, for messages and for sitefile_find. */
    snprintf(full, sizeof(full), "%s%s%s", group, *group ? "." : "", name);
    text = value_text(key->knob, s, buf, sizeof(buf));
    /* The order of the checks decides which message a user sees. */
    if (key->site_only && ld->kind == SITEFILE_USER)
        error_set(&one, "\"%s\" is allowed only in the site file", full);
    else if (!text)
        error_set(&one, "\"%s\" is not a single value: needs %s", full,
                  knob_format_range(key->knob, buf, sizeof(buf)));
    else if (knob_check(key->knob, text, &one) < 0)
        error_wrap(&one, "%s", full);
    else if (keep_value(ld, full, text,
                        siteflat_where(&ld->flat, line, where, sizeof(where)),
                        &one) == 0)
        return;
    note_error(ld, line, &one);
}

/* Checks that a lock names a key that users can set. */
static int check_lock(const struct loader *ld, const char *name,
                      struct jp_error *err)
{
    char names[SITEKEYS_MAX][64];
    const char *list[SITEKEYS_MAX], *near = NULL;
    size_t n = 0;

    /* Collects all keys that users can set, for the proposal. */
    for (size_t i = 0; i < ld->n_keys; i++) {
        const struct sitekey *key = &ld->keys[i];

        if (key->site_only)
            continue;
        snprintf(names[n], sizeof(names[n]), "%s%s%s", key->group,
                 *key->group ? "." : "", key->key);
        list[n] = names[n];
        if (!strcmp(list[n], name))
            return 0;
        if (!near && !strcmp(key->key, name))
            near = list[n]; /* "mem" instead of "nccl.mem" */
        n++;
    }
    if (!near)
        near = nearest_find(name, list, n);
    return error_set(err, "lock: \"%s\" is not a key that can be locked%s%s%s",
                     QUOTE(name), near ? "; did you mean \"" : "",
                     near ? near : "", near ? "\"?" : "");
}

/* Reads the list "lock". */
static void read_locks(struct loader *ld, const config_setting_t *s)
{
    unsigned line = line_of_setting(ld, s);
    int type = config_setting_type(s);
    char where[WHERE_LEN];
    struct jp_error one;

    /* Locks bind users, so users cannot set them. */
    if (ld->kind == SITEFILE_USER) {
        error_set(&one, "\"lock\" is allowed only in the site file");
        note_error(ld, line, &one);
        return;
    }
    if (type != CONFIG_TYPE_LIST && type != CONFIG_TYPE_ARRAY) {
        error_set(&one, "\"lock\" is not a list of names");
        note_error(ld, line, &one);
        return;
    }
    for (int i = 0; i < config_setting_length(s); i++) {
        const char *name = config_setting_get_string_elem(s, i);

        error_set(&one, "out of memory");
        if (!name)
            error_set(&one, "\"lock\" is not a list of names");
        else if (check_lock(ld, name, &one) == 0 &&
                 add_value(&ld->file->locks, &ld->file->n_locks, name, NULL,
                           siteflat_where(&ld->flat, line, where,
                                          sizeof(where))) == 0)
            continue;
        note_error(ld, line, &one);
    }
}

/* The group of that name, as in sitekeys_groups, or NULL. */
static const char *find_group(const char *name)
{
    for (size_t i = 0; *sitekeys_groups[i]; i++)
        if (!strcmp(sitekeys_groups[i], name))
            return sitekeys_groups[i];
    return NULL;
}

/* Reads the settings of a group; "" is the top level, which has the groups. */
static void read_group(struct loader *ld, const char *group,
                       const config_setting_t *parent)
{
    struct jp_error one;

    if (!config_setting_is_group(parent)) {
        error_set(&one, "\"%s\" is not a group { ... }", group);
        note_error(ld, line_of_setting(ld, parent), &one);
        return;
    }
    /* At the top level, a member is a group, the list of locks, or a value. */
    for (int i = 0; i < config_setting_length(parent); i++) {
        const config_setting_t *s =
            config_setting_get_elem(parent, (unsigned) i);
        const char *name = config_setting_name(s);
        /* Groups are not nested. */
        const char *sub = *group ? NULL : find_group(name);

        if (sub)
            read_group(ld, sub, s);
        else if (!*group && !strcmp(name, "lock"))
            read_locks(ld, s);
        else
            read_value(ld, group, s);
    }
}

/* Moves to the next statement of the text. It ends with ';' or ',' outside of
 * brackets, with the bracket that ends a group, or where its part ends. false:
 * there is none. */
static bool next_statement(const struct siteflat *flat, struct statement *s)
{
    const char *text = flat->text + s->end;
    unsigned line = s->end_line, part, depth = 0;
    bool string = false;

    for (; isspace((unsigned char) *text); text++)
        line += *text == '\n';
    if (!*text)
        return false;
    s->from = (size_t) (text - flat->text);
    s->line = line;
    part = siteflat_part(flat, line);
    for (; *text; text++) {
        if (*text == '\n' && siteflat_part(flat, line + 1) != part)
            break;
        line += *text == '\n';
        if (*text == '"')
            string = !string;
        else if (string && *text == '\\' && text[1])
            line += *++text == '\n';
        else if (string)
            continue;
        else if (strchr("{[(", *text))
            depth++;
        else if (strchr("}])", *text) && depth)
            depth--;
        if (string || depth || !strchr("};,", *text))
            continue;
        /* A group may be followed by ';', which is a part of the statement. */
        if (*text != '}' ||
            !strchr(";,", text[1 + strspn(text + 1, " \t\r\n")]))
            break;
    }
    /* the line break before another part belongs to no statement */
    s->end = (size_t) (text - flat->text) + (*text && *text != '\n');
    s->end_line = line;
    return true;
}

/* Parses and reads the current statement. */
static void read_statement(struct loader *ld)
{
    char *text =
        strndup(ld->flat.text + ld->now.from, ld->now.end - ld->now.from);
    struct jp_error one;
    config_t cfg;

    /* No line of the file begins with an @include any more (siteflat.h), but a
     * statement within a line may. libconfig would open what it names, and ends
     * the process where that is a folder. */
    config_init(&cfg);
    if (!text) {
        error_set(&one, "out of memory");
        note_error(ld, ld->now.line, &one);
    } else if (!strncmp(text, "@include", strlen("@include"))) {
        error_set(&one, "@include must be at the beginning of a line");
        note_error(ld, ld->now.line, &one);
    } else if (config_read_string(&cfg, text) != CONFIG_TRUE) {
        error_set(&one, "%s", config_error_text(&cfg));
        note_error(ld, line_of(ld, (unsigned) config_error_line(&cfg)), &one);
    } else {
        read_group(ld, "", config_root_setting(&cfg));
    }
    config_destroy(&cfg);
    free(text);
}

/* Reads the expanded text. -1: there were errors. */
static int parse_file(struct loader *ld)
{
    unsigned part = 0;

    ld->now = (struct statement){.end_line = 1};
    while (ld->flat.text && next_statement(&ld->flat, &ld->now)) {
        if (siteflat_part(&ld->flat, ld->now.line) != part) {
            part = siteflat_part(&ld->flat, ld->now.line);
            ld->part_values = ld->file->n_values;
        }
        read_statement(ld);
    }
    return ld->errors ? -1 : 0;
}

/* Moves the names of the files that were read to the result. -1: no memory. */
static int take_files(struct loader *ld)
{
    struct siteflat *flat = &ld->flat;
    struct jp_sitefile *file = ld->file;

    file->files = calloc(flat->n_files + 1, sizeof(*file->files));
    if (!file->files)
        return -1;
    memcpy(file->files, flat->files, flat->n_files * sizeof(*file->files));
    file->n_files = flat->n_files;
    flat->n_files = 0;
    return 0;
}

int sitefile_load(const char *path, enum sitefile_kind kind, bool must_exist,
                  sitefile_report *report, void *arg, struct jp_sitefile *out,
                  struct jp_error *err)
{
    struct jp_sitefile file = {0};
    struct loader ld = {
        .kind = kind, .file = &file, .report = report, .arg = arg, .err = err};
    struct jp_error one = {""};
    int rc;

    ld.n_keys = sitekeys_all(ld.keys);
    rc = kind == SITEFILE_USER
             ? siteflat_read(path, true, &ld.flat, &one)
             : siteflat_read_site(path, must_exist, &ld.flat, &one);
    if (rc < 0) {
        /* errno distinguishes a missing file from one that cannot be read */
        if ((errno == ENOENT || errno == ENOTDIR) && !must_exist) {
            *out = file;
            return 0;
        }
        if (err)
            *err = one;
        if (report)
            report(arg, one.text);
        return -1;
    }
    rc = parse_file(&ld);
    if (rc == 0 && take_files(&ld) < 0)
        rc = error_set(err, "out of memory");
    siteflat_fini(&ld.flat);
    if (rc < 0)
        sitefile_fini(&file);
    else
        *out = file;
    return rc;
}

/* --- what is in it ----------------------------------------------------------
 */

/* The first value of that name in a list, or NULL. */
static const struct sitefile_value *
find_value(const struct sitefile_value *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

const struct sitefile_value *sitefile_find(const struct jp_sitefile *file,
                                           const char *name)
{
    return find_value(file->values, file->n_values, name);
}

const struct sitefile_value *sitefile_lock(const struct jp_sitefile *file,
                                           const char *name)
{
    return find_value(file->locks, file->n_locks, name);
}

char *sitefile_knob_name(const struct jp_grammar *grammar,
                         const struct jp_knob *knob, char *buf, size_t len)
{
    struct sitekey keys[SITEKEYS_MAX];
    size_t n = sitekeys_all(keys);

    /* The usual name; a few knobs have another one in the table. */
    snprintf(buf, len, "%s.%s", grammar->group, knob->name);
    for (size_t i = 0; i < n; i++)
        /* by address: knobs of different options may have the same name */
        if (keys[i].knob == knob)
            snprintf(buf, len, "%s%s%s", keys[i].group,
                     *keys[i].group ? "." : "", keys[i].key);
    return buf;
}

/* A value of the policy: a time in milliseconds, rounded up, or a count. */
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

    /* The defaults, then what the file sets. */
    policy_defaults(out);
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
    /* A watcher must live long enough to wait and to make the report. */
    least = out->watcher_delay_ms + out->report_limit_ms;
    if (out->watcher_life_ms < least)
        out->watcher_life_ms = least;
}

static void free_values(struct sitefile_value *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free_value(&list[i]);
    free(list);
}

void sitefile_fini(struct jp_sitefile *file)
{
    if (!file)
        return;
    free_values(file->values, file->n_values);
    free_values(file->locks, file->n_locks);
    for (size_t i = 0; i < file->n_files; i++)
        free(file->files[i]);
    free(file->files);
    *file = (struct jp_sitefile){0};
}

/* A number of the group metrics: from the file, or the table's default. */
static uint64_t metrics_number(const struct jp_sitefile *file, size_t row,
                               const char *name)
{
    const struct sitefile_value *v = sitefile_find(file, name);
    uint64_t n = 0;

    if (!v || knob_number(&site_metrics[row], v->value, &n, NULL) < 0)
        (void) knob_number(&site_metrics[row], site_metrics[row].def, &n, NULL);
    return n;
}

void sitefile_metrics(const struct jp_sitefile *file,
                      struct jp_site_metrics *out)
{
    const struct sitefile_value *text =
        sitefile_find(file, "metrics.textfile_dir");
    const struct sitefile_value *spool =
        sitefile_find(file, "metrics.spool_dir");

    *out = (struct jp_site_metrics){
        .textfile = text ? text->value : NULL,
        .spool = spool  ? spool->value
                 : text ? site_metrics[METRICS_SPOOL].def
                        : NULL,
        .interval_ms = (uint32_t) (metrics_number(file, METRICS_INTERVAL,
                                                  "metrics.interval") /
                                   1000),
        .series =
            (uint32_t) metrics_number(file, METRICS_SERIES, "metrics.series"),
        .user_series = (uint32_t) metrics_number(file, METRICS_USER_SERIES,
                                                 "metrics.user_series"),
        .node_series = (uint32_t) metrics_number(file, METRICS_NODE_SERIES,
                                                 "metrics.node_series"),
        .ask_slurm = metrics_number(file, METRICS_ASK, "metrics.ask_slurm") !=
                     0};
}
