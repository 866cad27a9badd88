/* copper_flags.h - the daemon of a step: cu_fuse's command line from job.conf
 * (pure), and the runner. */
#ifndef JP_COPPER_FLAGS_H
#define JP_COPPER_FLAGS_H

#include <sched.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "plugins/backend.h"

/* The CPUs of a list, "1,2" or "0-3,8". Returns -1 if it is no list or
 * empty. */
int copper_flags_cores(const char *text, cpu_set_t *set, struct jp_error *err);

#define COPPER_FLAGS_MAX 96

struct copper_flags {
    char *argv[COPPER_FLAGS_MAX + 1]; /* owned, NULL at the end */
    int n;
};

/* As Copper's own launchers set them; used where job.conf has no value. */
#define COPPER_TTL_MS "2000"
#define COPPER_CACHE_BYTES "10485760"
#define COPPER_NET_SITE "cxi" /* if the site has an address book */
#define COPPER_NET "tcp"

struct copper_paths {
    const char *view, *logs;
    const char *book; /* addresses of the step's nodes: a file, or a FIFO */
    const char *list; /* the nodes, one a line; NULL: the daemons report their
                         own addresses */
};

/* Returns -1 with *out empty. */
int copper_flags_make(const struct jp_jobconf *conf,
                      const struct copper_paths *paths,
                      struct copper_flags *out, struct jp_error *err);
void copper_flags_fini(struct copper_flags *flags);

/* With attach=1, the runner of copper_work.h is used instead. */
extern const struct backend_runner copper_runner;

#endif
