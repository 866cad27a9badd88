/* plan_site.h - what the site has the last word on: locks and its default.
 *
 * Internal to plan.c and plan_site.c.
 */
#ifndef JP_COMMON_PLAN_SITE_H
#define JP_COMMON_PLAN_SITE_H

#include "common/plan.h"

/* "nccl.default" or "copper.default". */
const char *plan_default_name(const struct jp_grammar *grammar);

/* Reads the site's file: config, or JP_DEF_SITE_FILE if it is there. */
int plan_load_site(const char *config, struct jp_sitefile *out,
                   struct jp_error *err);

/* Sets mode, source and where; forgets the reason of the mode before. */
int plan_set_mode(struct plan_side *side, int mode, const char *where,
                  enum plan_source source, struct jp_error *err);

/* Behind the merging: takes the site's default away where its conditions do
 * not hold, and makes it stay where it is locked. site_mode is the mode of the
 * site's sources alone. */
int plan_settle_mode(const struct plan_input *in,
                     const struct jp_sitefile *site, int site_mode,
                     struct plan_side *side, struct jp_error *err);

/* Refuses a locked knob's value that is not the site's. */
int plan_check_locks(const struct jp_sitefile *site,
                     const struct plan_side *side, struct jp_error *err);

#endif
