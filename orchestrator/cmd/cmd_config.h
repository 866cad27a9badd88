/* cmd_config.h - the two halves of jobprof config.
 *
 * Internal to cmd_config*.c.
 */
#ifndef JP_CMD_CMD_CONFIG_H
#define JP_CMD_CMD_CONFIG_H

#include <stdbool.h>

#include "common/error.h"
#include "common/plan.h"

struct config_options {
    struct plan_input in;
    bool json, quiet, verbose;
};

/* Return the exit status; flushing stdout is the caller's. */
int config_show(struct config_options *o);
int config_check(struct config_options *o);

/* The site's file that is read. */
const char *config_site_path(const struct plan_input *in);

/* "jobprof: TEXT" on stderr, harmless to a terminal. */
void config_say(const char *text);

#endif
