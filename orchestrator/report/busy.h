/* busy.h - the share of wall time in which processes were communicating, and
 * its tables; the tables of utilisation.
 *
 * Of a process: from its first operation's start to its last one's end, by its
 * own clock; a slice's share is of what lies between these. Communication may
 * hide behind computation, so this is no time lost.
 */
#ifndef JP_REPORT_BUSY_H
#define JP_REPORT_BUSY_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/processes.h"

struct jp_busy_rows {
    int64_t *rank;   /* in the job, of result->busy[i]; -1: none */
    size_t *by_rank; /* all places in result->busy; those without come last */
    size_t *told;    /* places of which a share is known, least busy first */
    size_t n_told;
};

/* 0, or -1 without memory. Free with busy_rows_fini. */
int busy_rows_make(const struct jp_result *result,
                   const struct jp_processes *processes,
                   struct jp_busy_rows *rows);
void busy_rows_fini(struct jp_busy_rows *rows);

/* NAN: not told. */
double busy_slice_share(const struct jp_result *result,
                        const struct jp_busy *busy, size_t slice);
/* Over the processes that tell; NAN: none does. In slice SIZE_MAX: in all. */
struct jp_busy_spread {
    size_t n;
    double least, median, most;
};
/* values: room for rows->n_told. */
struct jp_busy_spread busy_spread(const struct jp_result *result,
                                  const struct jp_busy_rows *rows, size_t slice,
                                  double *values);

/* One sentence on all, or why nothing is told. coverage: records of those
 * expected, < 0: not known. */
#define JP_BUSY_TEXT 400
void busy_text(const struct jp_result *result, const struct jp_busy_rows *rows,
               double coverage, char text[JP_BUSY_TEXT]);

#endif
