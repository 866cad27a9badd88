/* cmd_compare.h - find an earlier report to compare a step with. */
#ifndef JP_CMD_CMD_COMPARE_H
#define JP_CMD_CMD_COMPARE_H

#include <stddef.h>

#include "common/error.h"

struct jp_sitefile; /* common/sitefile.h */

/* Which of the earlier reports of the same job name, number of ranks and
 * nodes. */
enum earlier {
    EARLIER_NONE,
    EARLIER_WEEK, /* 4 to 10 days before, the closest to 7 */
    EARLIER_BEST  /* the shortest step of the program's loop */
};

/* The report that was found. */
struct earlier_found {
    char *dir;        /* of its step; owned by the caller */
    size_t of;        /* comparable reports that were looked at */
    double period_us; /* of a step of its loop; NAN: unknown */
    double own_us;    /* of the step itself */
    char name[128];   /* of the jobs */
    char when[64];    /* "2026-11-21 22:13:20 UTC" */
    size_t n_ranks;
};

/* Looks beside the job's directory of step_dir, and for the user's jobs that
 * commands know of (`earlier` of struct command), by their ids. Returns 1; 0
 * and why (a clause): there is none; or -1 and why: step_dir has no report that
 * can be read. */
int earlier_find(const char *step_dir, const char *config,
                 const struct jp_sitefile *site, enum earlier which,
                 struct earlier_found *found, struct jp_error *why);

#endif
