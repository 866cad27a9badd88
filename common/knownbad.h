/* knownbad.h - NCCL releases with known issues with a profiler.
 *
 * The site's nccl-known-bad.conf, a libconfig file (nccl-known-bad.conf(5)):
 *
 *     known_bad = (
 *         { since = "2.28"; until = "2.29.7"; mode = "inspector";
 *           action = "fallback"; symptom = "..."; source = "https://..."; },
 *         ...
 *     );
 *
 * It is read like a settings file (siteflat.h: owner, mode, size), but may not
 * include another one.
 */
#ifndef JP_COMMON_KNOWNBAD_H
#define JP_COMMON_KNOWNBAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/knob.h"

/* What the planner does about a row, in ascending severity. */
enum knownbad_action {
    KNOWNBAD_NONE,     /* no row matches; no row has this action */
    KNOWNBAD_NOTE,     /* shown only in the plan */
    KNOWNBAD_WARN,     /* one line for the user */
    KNOWNBAD_FALLBACK, /* the profiler is not used with this release */
};

/* Bounds of a row's texts, so that a sentence fits into struct jp_error. */
#define KNOWNBAD_SYMPTOM_MAX 240
#define KNOWNBAD_SOURCE_MAX 120
#define KNOWNBAD_MAX_ROWS 256

struct knownbad_row {
    uint64_t since, until; /* JP_NCCL_RELEASE, both inclusive */
    bool open;             /* no until: all later releases as well */
    unsigned modes; /* bit i: the i-th word of knownbad_mode(); any: all */
    enum knownbad_action action;
    char *symptom, *source;
    char *where; /* "file:line" */
};

struct jp_knownbad {
    struct knownbad_row *rows; /* in the file's order */
    size_t n;
};

/* Receives "file:line: MESSAGE", once for each mistake. */
typedef void knownbad_report(void *arg, const char *sentence);

/* Reads path. A row with a mistake is reported (report may be NULL) and left
 * out; the others count. -1: the file as a whole cannot be read or parsed; this
 * is reported as well, and *out is unchanged. A missing file is an empty list
 * unless must_exist. Free with knownbad_fini. */
int knownbad_load(const char *path, bool must_exist, knownbad_report *report,
                  void *arg, struct jp_knownbad *out, struct jp_error *err);
void knownbad_fini(struct jp_knownbad *list);

/* Writes the releases with which a backend must not be used (KNOWNBAD_FALLBACK)
 * into buf: "2.27.3,2.31.2-2.31.5,2.32-"; "" if there are none. This is for the
 * profiler itself, which can see the release of the running NCCL. What does not
 * fit is left out. Returns buf. */
char *knownbad_ranges(const struct jp_knownbad *list, const char *mode,
                      char *buf, size_t len);

/* Receives the sentence of one matching row. */
typedef void knownbad_hit(void *arg, const struct knownbad_row *row,
                          const char *sentence);

/* Calls say (may be NULL) for each row that matches: the worst action first,
 * within one action in the order of the file. Returns the worst action. */
enum knownbad_action knownbad_check(const struct jp_knownbad *list,
                                    const char *mode, const char *release_text,
                                    uint64_t release, knownbad_hit *say,
                                    void *arg);

#endif
