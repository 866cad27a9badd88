/* sitelist.h - read a site's file that holds one list of groups:
 *
 *     NAME = ( { key = value; ... }, ... );
 *
 * Internal to the readers of nccl-known-bad.conf and peaks.conf. The file is
 * read like a settings file (siteflat.h: owner, mode, size), in safe folders
 * (fileio_check_folders), but may not include another one. A row with a
 * mistake is reported and left out, the others stand.
 */
#ifndef JP_COMMON_SITELIST_H
#define JP_COMMON_SITELIST_H

#include <stdbool.h>
#include <stddef.h>

#include <libconfig.h>

#include "common/error.h"

/* One key of a row: parse sets its part of row from the setting. */
struct sitelist_key {
    const char *name;
    int (*parse)(void *row, const config_setting_t *setting,
                 struct jp_error *err);
    bool optional;
};

struct sitelist_format {
    const char *name; /* of the list */
    int max_rows;
    const struct sitelist_key *keys;
    size_t n_keys;
    /* A row begins, as it is without any key. Borrowed until the next call. */
    void *(*begin)(void *arg);
    /* Its keys are parsed: where is "file:line". -1: it is not taken. */
    int (*take)(void *arg, void *row, const char *where, struct jp_error *err);
    /* It had a mistake: free what it owns. May be NULL. */
    void (*drop)(void *arg, void *row);
};

/* Gets "file:line: what is wrong", once for each mistake. */
typedef void sitelist_report(void *arg, const char *sentence);

/* Reads path; arg is the format's, report (may be NULL) has its own. -1: the
 * file as a whole cannot be read or parsed; errno is ENOENT or ENOTDIR only
 * where it is not there. */
int sitelist_read(const char *path, const struct sitelist_format *format,
                  void *arg, sitelist_report *report, void *report_arg,
                  struct jp_error *err);

/* A string in quotes, or NULL and err. Borrowed. */
const char *sitelist_text(const config_setting_t *setting,
                          struct jp_error *err);

/* Is text neither empty nor longer than max bytes, without control characters?
 * 0 or -1. */
int sitelist_check_text(const char *text, size_t max, struct jp_error *err);

#endif
