/* ownvars.h - the variables of jobprof's own, to find a mistyped one.
 *
 * They are the options' (JOBPROF_NCCL ...), those of the profilers'
 * descriptions (common/profiler.h), and a few that jobprof sets itself.
 */
#ifndef JP_COMMON_OWNVARS_H
#define JP_COMMON_OWNVARS_H

/* The prefix of them all. */
#define OWNVARS_PREFIX "JOBPROF_"

/* "NAME=value": a variable that begins like ours and is none of them? Then 1,
 * with its name in name (cut to len) and the one that may be meant in *meant
 * (NULL: none is near; borrowed). Else 0. */
int ownvars_is_unknown(const char *pair, char *name, unsigned len,
                       const char **meant);

#endif
