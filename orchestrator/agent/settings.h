/* settings.h - merged settings as rows, for job.conf and for display; notes of
 * several lines. */
#ifndef JP_AGENT_SETTINGS_H
#define JP_AGENT_SETTINGS_H

#include <stddef.h>
#include <stdio.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "common/plan.h"

/* Lists one side's settings: the knobs of its mode, or all knobs if the mode is
 * off. Free with settings_free. */
int settings_list(const struct plan_side *side, struct jp_setting **out,
                  size_t *n, struct jp_error *err);
/* Appends a copy of one setting. NULL strings are copied as "". */
int settings_add(struct jp_setting **list, size_t *n,
                 const struct jp_setting *one, struct jp_error *err);
void settings_free(struct jp_setting *settings, size_t n);

/* Prints one table: key, value, source, reason. */
void settings_print(FILE *out, const struct jp_setting *settings, size_t n);

/* Appends a line to *text (NULL: none yet; the caller frees it). -1: no memory,
 * and *text is unchanged. */
int lines_add(char **text, struct jp_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
