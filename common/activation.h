/* activation.h - whether a site's default applies to this job.
 *
 * The site file may bind its default to partitions, accounts, generic resources
 * and a least time limit (nccl.default_*). All that are given must hold; what
 * cannot be known does not hold.
 */
#ifndef JP_COMMON_ACTIVATION_H
#define JP_COMMON_ACTIVATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/sitefile.h"

/* What is known of a job. "" and 0: not known. */
struct jp_jobfacts {
    char partition[128];
    char account[128];
    char gres[256];         /* names, commas between: "gpu,nvme" */
    uint64_t time_limit_us; /* UINT64_MAX: none */
};

/* Fills what is still unknown in *facts, in bounded time; it may fail to. */
typedef void jobfacts_ask(void *arg, struct jp_jobfacts *facts);
/* A variable's value, or NULL. */
typedef const char *jobfacts_env(const void *arg, const char *name);

struct activation_input {
    const struct jp_sitefile *site;
    jobfacts_env *env;
    const void *env_arg;
    jobfacts_ask *ask; /* called once at most, where env is not enough; NULL */
    void *ask_arg;
};

/* Are there any conditions? */
bool activation_is_bound(const struct jp_sitefile *site);

/* Do they hold? reason gets "default for partition gpu and account ai", or ""
 * where there are none. */
bool activation_holds(const struct activation_input *in, char *reason,
                      size_t len);

#endif
