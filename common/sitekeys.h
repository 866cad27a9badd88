/* sitekeys.h - which keys a settings file may hold, and of which type.
 *
 * Internal to sitefile.c and config show. The knobs of the options come from
 * grammar.h, what the site says of a profiler from common/profiler.h,
 * everything else stands in the tables here.
 */
#ifndef JP_COMMON_SITEKEYS_H
#define JP_COMMON_SITEKEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/jobconf.h"
#include "common/knob.h"
#include "common/grammar.h"

#define SITEKEYS_MAX (OPTIONS * JP_KNOBS_MAX + 80)

struct sitekey {
    const char *group; /* "" is the top level */
    const char *key;
    const struct jp_knob *knob; /* type and range of the value */
    bool site_only;
    size_t policy_offset; /* in struct jp_policy; SITEKEY_NO_POLICY */
};
#define SITEKEY_NO_POLICY ((size_t) -1)

/* Fills keys with every key of a settings file. Returns how many. */
size_t sitekeys_all(struct sitekey keys[SITEKEYS_MAX]);

/* The groups: "nccl", "copper", "util", "policy"; "" ends the list. */
extern const char *const sitekeys_groups[5];

#endif
