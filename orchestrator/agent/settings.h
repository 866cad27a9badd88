/* settings.h - lists of settings (common/settings.h) as text. */
#ifndef JP_AGENT_SETTINGS_H
#define JP_AGENT_SETTINGS_H

#include <stddef.h>
#include <stdio.h>

#include "common/settings.h"

/* Prints one table: key, value, source, reason. */
void settings_print(FILE *out, const struct jp_setting *settings, size_t n);

#endif
