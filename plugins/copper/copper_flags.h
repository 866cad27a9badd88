/* copper_flags.h - from job.conf to cu_fuse's command line. Pure. */
#ifndef JP_COPPER_FLAGS_H
#define JP_COPPER_FLAGS_H

#include <sched.h>

#include "common/error.h"
#include "common/jobconf.h"

/* "1,2" or "0-3,8": the CPUs of a list, at least one. -1: it is none. */
int copper_flags_cores(const char *text, cpu_set_t *set, struct jp_error *err);

#define COPPER_FLAGS_MAX 96

struct copper_flags {
    char *argv[COPPER_FLAGS_MAX + 1]; /* owned, NULL at the end */
    int n;
};

/* mount, logs, book (addresses that the daemons write themselves) and list (the
 * step's nodes, one a line) are this node's paths. -1: *out holds nothing. */
int copper_flags_make(const struct jp_jobconf *conf, const char *mount,
                      const char *logs, const char *book, const char *list,
                      struct copper_flags *out, struct jp_error *err);
void copper_flags_fini(struct copper_flags *flags);

#endif
