/* knownbad_load.c - read and check nccl-known-bad.conf. */
#include "common/knownbad.h"

#include <errno.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

#include "common/knob.h"
#include "common/nearest.h"
#include "common/quote.h"
#include "common/siteflat.h"

#define WHERE_LEN 4352 /* PATH_MAX and a line number */
#define LIST_NAME "known_bad"

static const struct jp_knob version_knob = {.name = "version",
                                            .kind = JP_KNOB_VERSION};
static const struct jp_knob mode_knob = {
    .name = "mode", .kind = JP_KNOB_WORD, .words = KNOWNBAD_MODES};
/* in the order of enum knownbad_action, without its first */
static const struct jp_knob action_knob = {
    .name = "action", .kind = JP_KNOB_WORD, .words = "note|warn|fallback"};

/* One loading. */
struct loader {
    struct siteflat flat;
    struct jp_knownbad list;
    knownbad_report *report;
    void *arg;
};

static char *where_of(const struct loader *ld, unsigned line, char *buf)
{
    return siteflat_where(&ld->flat, line, buf, WHERE_LEN);
}

static void note(const struct loader *ld, unsigned line, struct jp_error *one)
{
    char where[WHERE_LEN];

    error_wrap(one, "%s", where_of(ld, line, where));
    if (ld->report)
        ld->report(ld->arg, one->text);
}

static int unknown_key(const char *key, const char *const *names, size_t n,
                       struct jp_error *err)
{
    const char *near = nearest_find(key, names, n);

    return error_set(err, "unknown key \"%s\"%s%s%s", QUOTE(key),
                     near ? "; did you mean \"" : "", near ? near : "",
                     near ? "\"?" : "");
}

/* A release's first patch where it begins a range. */
static int parse_since(struct knownbad_row *row, const char *text,
                       struct jp_error *err)
{
    if (knob_number(&version_knob, text, &row->since, err) < 0)
        return -1;
    if (row->since % 1000 == JP_NCCL_NO_PATCH)
        row->since -= JP_NCCL_NO_PATCH;
    return 0;
}

static int parse_until(struct knownbad_row *row, const char *text,
                       struct jp_error *err)
{
    row->open = false;
    return knob_number(&version_knob, text, &row->until, err);
}

static int parse_mode(struct knownbad_row *row, const char *text,
                      struct jp_error *err)
{
    uint64_t word;

    if (knob_number(&mode_knob, text, &word, err) < 0)
        return -1;
    row->modes = word ? 1u << word : ~0u;
    return 0;
}

static int parse_action(struct knownbad_row *row, const char *text,
                        struct jp_error *err)
{
    uint64_t word;

    if (knob_number(&action_knob, text, &word, err) < 0)
        return -1;
    row->action = (enum knownbad_action)(word + 1);
    return 0;
}

static int copy_text(char **out, const char *text, size_t max,
                     struct jp_error *err)
{
    size_t len = strlen(text);

    if (!len)
        return error_set(err, "the value is empty");
    if (len > max)
        return error_set(err, "%zu bytes are too many (at most %zu)", len, max);
    for (const char *c = text; *c; c++)
        if ((unsigned char) *c < 0x20 || *c == 0x7f)
            return error_set(err, "has a control character");
    *out = strdup(text);
    return *out ? 0 : error_set(err, "out of memory");
}

static int parse_symptom(struct knownbad_row *row, const char *text,
                         struct jp_error *err)
{
    return copy_text(&row->symptom, text, KNOWNBAD_SYMPTOM_MAX, err);
}

static int parse_source(struct knownbad_row *row, const char *text,
                        struct jp_error *err)
{
    if (strncmp(text, "https://", 8) != 0 || !text[8] || strpbrk(text, " \t"))
        return error_set(err, "\"%s\" is not an https:// address", QUOTE(text));
    return copy_text(&row->source, text, KNOWNBAD_SOURCE_MAX, err);
}

static const struct key {
    const char *name;
    int (*parse)(struct knownbad_row *row, const char *text,
                 struct jp_error *err);
    bool optional;
} keys[] = {
    {"since", parse_since, false},     {"until", parse_until, true},
    {"mode", parse_mode, false},       {"action", parse_action, false},
    {"symptom", parse_symptom, false}, {"source", parse_source, false},
};

#define N_KEYS (sizeof(keys) / sizeof(*keys))

/* Every key of the row is one that we know; *bad is the one that is not. */
static int check_keys(const config_setting_t *s, const config_setting_t **bad,
                      struct jp_error *err)
{
    const char *names[N_KEYS];

    for (size_t i = 0; i < N_KEYS; i++)
        names[i] = keys[i].name;
    for (int i = 0; i < config_setting_length(s); i++) {
        const config_setting_t *member =
            config_setting_get_elem(s, (unsigned) i);
        const char *name = config_setting_name(member);
        size_t k = 0;

        while (k < N_KEYS && strcmp(names[k], name) != 0)
            k++;
        *bad = member;
        if (k == N_KEYS)
            return unknown_key(name, names, N_KEYS, err);
    }
    return 0;
}

/* Fills row; what it owns is freed by the caller, also on failure. *bad is the
 * setting to blame. */
static int parse_row(const config_setting_t *s, struct knownbad_row *row,
                     const config_setting_t **bad, struct jp_error *err)
{
    if (!config_setting_is_group(s))
        return error_set(err, "a row is not a group { ... }");
    if (check_keys(s, bad, err) < 0)
        return -1;
    for (size_t i = 0; i < N_KEYS; i++) {
        const config_setting_t *member =
            config_setting_get_member(s, keys[i].name);

        *bad = member ? member : s;
        if (!member && keys[i].optional)
            continue;
        if (!member)
            return error_set(err, "\"%s\" is missing", keys[i].name);
        if (config_setting_type(member) != CONFIG_TYPE_STRING)
            return error_set(err, "\"%s\" is not a string in quotes",
                             keys[i].name);
        if (keys[i].parse(row, config_setting_get_string(member), err) < 0)
            return error_wrap(err, "%s", keys[i].name);
    }
    if (row->since > row->until)
        return error_set(err, "until: is before since");
    return 0;
}

/* Adds one row, or reports why it is left out. */
static void read_row(struct loader *ld, const config_setting_t *s)
{
    struct jp_knownbad *list = &ld->list;
    struct knownbad_row row = {.until = UINT64_MAX, .open = true}, *bigger;
    const config_setting_t *bad = s;
    struct jp_error err = {""};
    char where[WHERE_LEN];

    if (parse_row(s, &row, &bad, &err) < 0)
        goto out;
    error_set(&err, "out of memory");
    row.where = strdup(where_of(ld, config_setting_source_line(s), where));
    bigger = realloc(list->rows, (list->n + 1) * sizeof(*bigger));
    if (bigger)
        list->rows = bigger;
    if (!bigger || !row.where)
        goto out;
    bigger[list->n++] = row;
    return;
out:
    note(ld, config_setting_source_line(bad), &err);
    free(row.symptom);
    free(row.source);
    free(row.where);
}

static void read_list(struct loader *ld, const config_setting_t *s)
{
    int n = config_setting_length(s);
    struct jp_error one;

    if (!config_setting_is_list(s)) {
        error_set(&one, "\"" LIST_NAME "\" is not a list ( ... )");
        note(ld, config_setting_source_line(s), &one);
        return;
    }
    for (int i = 0; i < n && i < KNOWNBAD_MAX_ROWS; i++)
        read_row(ld, config_setting_get_elem(s, (unsigned) i));
    if (n > KNOWNBAD_MAX_ROWS) {
        error_set(&one, "%d rows are too many (at most %d)", n,
                  KNOWNBAD_MAX_ROWS);
        note(ld, config_setting_source_line(s), &one);
    }
}

static void read_root(struct loader *ld, const config_setting_t *root)
{
    static const char *const names[] = {LIST_NAME};

    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *s = config_setting_get_elem(root, (unsigned) i);
        struct jp_error one;

        if (!strcmp(config_setting_name(s), LIST_NAME)) {
            read_list(ld, s);
        } else {
            unknown_key(config_setting_name(s), names, 1, &one);
            note(ld, config_setting_source_line(s), &one);
        }
    }
}

static int parse(struct loader *ld, struct jp_error *err)
{
    char where[WHERE_LEN];
    config_t cfg;
    int rc = -1;

    config_init(&cfg);
    if (config_read_string(&cfg, ld->flat.text ? ld->flat.text : "") ==
        CONFIG_TRUE) {
        read_root(ld, config_root_setting(&cfg));
        rc = 0;
    } else {
        error_set(err, "%s: %s",
                  where_of(ld, (unsigned) config_error_line(&cfg), where),
                  config_error_text(&cfg));
    }
    config_destroy(&cfg);
    return rc;
}

int knownbad_load(const char *path, bool must_exist, knownbad_report *report,
                  void *arg, struct jp_knownbad *out, struct jp_error *err)
{
    struct loader ld = {.report = report, .arg = arg};
    struct jp_error one = {""};
    int rc = -1;

    if (siteflat_read(path, false, &ld.flat, &one) < 0) {
        if ((errno == ENOENT || errno == ENOTDIR) && !must_exist) {
            *out = ld.list;
            return 0;
        }
        goto out;
    }
    if (ld.flat.n_files > 1)
        error_set(&one, "%s: @include is not allowed here", path);
    else
        rc = parse(&ld, &one);
    siteflat_fini(&ld.flat);
out:
    if (rc == 0) {
        *out = ld.list;
        return 0;
    }
    knownbad_fini(&ld.list);
    if (report)
        report(arg, one.text);
    return error_set(err, "%s", one.text);
}
