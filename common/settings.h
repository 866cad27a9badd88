/* settings.h - merged settings as rows, for job.conf and for display; notes of
 * several lines. */
#ifndef JP_COMMON_SETTINGS_H
#define JP_COMMON_SETTINGS_H

#include <stddef.h>

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

/* Appends a setting to an option's side of job.conf; its source is that of a
 * value of the plan. */
int settings_add_value(struct jobconf_side *side, const char *key,
                       const char *value, const struct plan_value *from,
                       const char *reason, struct jp_error *err);
/* The same for the row "mode", with the source of the plan's mode. */
int settings_add_mode(struct jobconf_side *side, const struct plan_side *plan,
                      const char *mode, const char *reason,
                      struct jp_error *err);
/* Stores the requested mode of an option in its side of conf. */
int settings_request(struct jp_jobconf *conf, const struct plan_side *plan,
                     struct jp_error *err);

/* Appends a line to *text (NULL: none yet; the caller frees it). -1: no memory,
 * and *text is unchanged. */
int lines_add(char **text, struct jp_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
