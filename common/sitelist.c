/* sitelist.c - the rows of a site's list, each checked by itself. */
#include "common/sitelist.h"

#include <errno.h>
#include <string.h>

#include "common/fileio.h"
#include "common/nearest.h"
#include "common/quote.h"
#include "common/siteflat.h"

#define WHERE_LEN 4352 /* PATH_MAX and a line number */
#define MAX_KEYS 16

/* One reading. */
struct loader {
    const struct sitelist_format *format;
    void *arg;
    struct siteflat flat;
    sitelist_report *report;
    void *report_arg;
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
        ld->report(ld->report_arg, one->text);
}

static int unknown_key(const char *key, const char *const *names, size_t n,
                       struct jp_error *err)
{
    const char *near = nearest_find(key, names, n);

    return error_set(err, "unknown key \"%s\"%s%s%s", QUOTE(key),
                     near ? "; did you mean \"" : "", near ? near : "",
                     near ? "\"?" : "");
}

const char *sitelist_text(const config_setting_t *s, struct jp_error *err)
{
    const char *text = config_setting_type(s) == CONFIG_TYPE_STRING
                           ? config_setting_get_string(s)
                           : NULL;

    if (!text)
        error_set(err, "is not a string in quotes");
    return text;
}

int sitelist_check_text(const char *text, size_t max, struct jp_error *err)
{
    size_t len = strlen(text);

    if (!len)
        return error_set(err, "the value is empty");
    if (len > max)
        return error_set(err, "%zu bytes are too many (at most %zu)", len, max);
    for (const char *c = text; *c; c++)
        if ((unsigned char) *c < 0x20 || *c == 0x7f)
            return error_set(err, "has a control character");
    return 0;
}

/* Every key of the row is one that the format has; *bad is the one that is
 * not. */
static int check_keys(const struct sitelist_format *format,
                      const config_setting_t *s, const config_setting_t **bad,
                      struct jp_error *err)
{
    const char *names[MAX_KEYS];
    size_t n = format->n_keys < MAX_KEYS ? format->n_keys : MAX_KEYS;

    for (size_t i = 0; i < n; i++)
        names[i] = format->keys[i].name;
    for (int i = 0; i < config_setting_length(s); i++) {
        const config_setting_t *member =
            config_setting_get_elem(s, (unsigned) i);
        const char *name = config_setting_name(member);
        size_t k = 0;

        while (k < n && strcmp(names[k], name) != 0)
            k++;
        *bad = member;
        if (k == n)
            return unknown_key(name, names, n, err);
    }
    return 0;
}

/* Fills row. *bad is the setting to blame. */
static int parse_row(const struct sitelist_format *format,
                     const config_setting_t *s, void *row,
                     const config_setting_t **bad, struct jp_error *err)
{
    if (!config_setting_is_group(s))
        return error_set(err, "a row is not a group { ... }");
    if (check_keys(format, s, bad, err) < 0)
        return -1;
    for (size_t i = 0; i < format->n_keys; i++) {
        const struct sitelist_key *key = &format->keys[i];
        const config_setting_t *member =
            config_setting_get_member(s, key->name);

        *bad = member ? member : s;
        if (!member && key->optional)
            continue;
        if (!member)
            return error_set(err, "\"%s\" is missing", key->name);
        if (key->parse(row, member, err) < 0)
            return error_wrap(err, "%s", key->name);
    }
    return 0;
}

/* Takes one row, or reports why it is left out. */
static void read_row(struct loader *ld, const config_setting_t *s)
{
    const struct sitelist_format *format = ld->format;
    void *row = format->begin(ld->arg);
    const config_setting_t *bad = s;
    struct jp_error err = {""};
    char where[WHERE_LEN];

    if (parse_row(format, s, row, &bad, &err) == 0 &&
        format->take(ld->arg, row,
                     where_of(ld, config_setting_source_line(s), where),
                     &err) == 0)
        return;
    note(ld, config_setting_source_line(bad), &err);
    if (format->drop)
        format->drop(ld->arg, row);
}

static void read_list(struct loader *ld, const config_setting_t *s)
{
    int n = config_setting_length(s), max = ld->format->max_rows;
    struct jp_error one;

    if (!config_setting_is_list(s)) {
        error_set(&one, "\"%s\" is not a list ( ... )", ld->format->name);
        note(ld, config_setting_source_line(s), &one);
        return;
    }
    for (int i = 0; i < n && i < max; i++)
        read_row(ld, config_setting_get_elem(s, (unsigned) i));
    if (n > max) {
        error_set(&one, "%d rows are too many (at most %d)", n, max);
        note(ld, config_setting_source_line(s), &one);
    }
}

static void read_root(struct loader *ld, const config_setting_t *root)
{
    const char *const names[] = {ld->format->name};

    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *s = config_setting_get_elem(root, (unsigned) i);
        struct jp_error one;

        if (!strcmp(config_setting_name(s), ld->format->name)) {
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

int sitelist_read(const char *path, const struct sitelist_format *format,
                  void *arg, sitelist_report *report, void *report_arg,
                  struct jp_error *err)
{
    struct loader ld = {.format = format,
                        .arg = arg,
                        .report = report,
                        .report_arg = report_arg};
    int rc = -1;

    if (siteflat_read(path, false, &ld.flat, err) < 0)
        return -1;
    if (fileio_check_folders(path, err) < 0)
        ; /* a stranger can put another one there */
    else if (ld.flat.n_files > 1)
        error_set(err, "%s: @include is not allowed here", path);
    else
        rc = parse(&ld, err);
    siteflat_fini(&ld.flat);
    errno = 0;
    return rc;
}
