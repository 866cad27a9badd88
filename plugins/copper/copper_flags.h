/* copper_flags.h - the daemon of a step's own: from job.conf to cu_fuse's
 * command line (pure), and the runner. */
#ifndef JP_COPPER_FLAGS_H
#define JP_COPPER_FLAGS_H

#include <sched.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "plugins/backend.h"

/* "1,2" or "0-3,8": the CPUs of a list, at least one. -1: it is none. */
int copper_flags_cores(const char *text, cpu_set_t *set, struct jp_error *err);

#define COPPER_FLAGS_MAX 96

struct copper_flags {
    char *argv[COPPER_FLAGS_MAX + 1]; /* owned, NULL at the end */
    int n;
};

/* What a Copper of its own launchers has, where job.conf says nothing else. */
#define COPPER_TTL_MS "2000"
#define COPPER_CACHE_BYTES "10485760"
#define COPPER_NET_SITE "cxi" /* where the site names a book */
#define COPPER_NET "tcp"

struct copper_paths {
    const char *view, *logs;
    const char *book; /* of the step's nodes: a file, or a FIFO */
    const char *list; /* the nodes, one a line; NULL: the daemons tell their own
                         addresses */
};

/* -1: *out holds nothing. */
int copper_flags_make(const struct jp_jobconf *conf,
                      const struct copper_paths *paths,
                      struct copper_flags *out, struct jp_error *err);
void copper_flags_fini(struct copper_flags *flags);

/* With attach=1 copper_work.h's runner takes its place. */
extern const struct backend_runner copper_runner;

#endif
