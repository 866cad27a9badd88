/* copper_target.h - the daemon that is mounted on this node already, and where
 * it writes. */
#ifndef JP_PLUGINS_COPPER_TARGET_H
#define JP_PLUGINS_COPPER_TARGET_H

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

struct copper_target {
    char *mount, *logs; /* absolute; owned */
    char *name;         /* of its files: "<host>-<pid>"; owned */
};

/* Finds the user's mount at `mount`, or his only one of Copper where that is
 * NULL, and the process behind it. May wait for a file system. -1: there is
 * none, or it is not clear which; *out holds nothing. */
int copper_target_find(const char *mount, struct copper_target *out,
                       struct jp_error *err);
void copper_target_fini(struct copper_target *target);

/* What a daemon's command line says; pointers into it, NULL where it does not.
 */
struct copper_cmdline {
    const char *logs, *view, *last;
};

/* text: words, a NUL behind each, and behind the last of len bytes in any case.
 * -1: it is no cu_fuse. Pure. */
int copper_cmdline_parse(const char *text, size_t len,
                         struct copper_cmdline *out);

#endif
