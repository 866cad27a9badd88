/* copper_attach.h - the daemon that is mounted on this node already, and where
 * it writes: attach=1 has it write its counters before and after the step. */
#ifndef JP_PLUGINS_COPPER_ATTACH_H
#define JP_PLUGINS_COPPER_ATTACH_H

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "plugins/backend.h"

struct copper_target {
    char *mount, *logs; /* absolute; owned */
    char *name;         /* of its files: "<host>-<pid>"; owned */
};

/* The process id of a cu_fuse, anybody's, that uses the network device net on
 * this node; 0: none is seen. */
long copper_attach_on(const char *net);

/* The name of a daemon's files from the path of its log, in place:
 * "<logs>/logs/<name>-output.log"; *logs is the folder. NULL: it is no log.
 * Pure.
 */
char *copper_attach_name(char *path, char **logs);

/* What a daemon's command line says; pointers into it, NULL where it does not.
 */
struct copper_cmdline {
    const char *logs, *view, *net, *last;
};

/* Finds the user's mount at `mount`, or his only one of Copper where that is
 * NULL, and the process behind it. May wait for a file system. -1: there is
 * none, or it is not clear which; *out holds nothing. */
int copper_target_find(const char *mount, struct copper_target *out,
                       struct jp_error *err);

/* text: words, a NUL behind each, and behind the last of len bytes in any case.
 * -1: it is no cu_fuse. Pure. */
int copper_cmdline_parse(const char *text, size_t len,
                         struct copper_cmdline *out);

/* The runner of attach=1. */
extern const struct backend_runner copper_attach;

#endif
