/* busy.h - the share of wall time that processes spent communicating, and
 * its tables; also the tables of utilisation.
 *
 * The wall time of a process runs from the start of its first operation to the
 * end of its last one, by its own clock. In a slice of time, only the part of
 * the slice within that range counts. Communication may overlap with
 * computation, so a high share does not mean that time was lost.
 */
#ifndef JP_REPORT_BUSY_H
#define JP_REPORT_BUSY_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/identity/processes.h"

struct jp_busy_rows {
    int64_t *rank;   /* rank in the job of result->busy[i]; -1: unknown */
    size_t *by_rank; /* all indices into result->busy by rank; those without a
                        rank come last */
    size_t *told;    /* indices with a known share, least busy first */
    size_t n_told;
};

/* Returns 0, or -1 when out of memory. Free with busy_rows_fini. */
int busy_rows_make(const struct jp_result *result,
                   const struct jp_processes *processes,
                   struct jp_busy_rows *rows);
void busy_rows_fini(struct jp_busy_rows *rows);

/* The process's share of a slice. NAN: unknown. */
double busy_slice_share(const struct jp_result *result,
                        const struct jp_busy *busy, size_t slice);
/* The spread over all processes with a known share, n of them. The figures are
 * NAN if n is 0. */
struct jp_busy_spread {
    size_t n;
    double least, median, most;
};
/* slice SIZE_MAX: over the whole run. values: scratch for rows->n_told values.
 */
struct jp_busy_spread busy_spread(const struct jp_result *result,
                                  const struct jp_busy_rows *rows, size_t slice,
                                  double *values);

/* Writes one sentence on all processes, or why their shares are unknown.
 * coverage: share of the expected records that are present; < 0: unknown. */
#define JP_BUSY_TEXT 400
void busy_text(const struct jp_result *result, const struct jp_busy_rows *rows,
               double coverage, char text[JP_BUSY_TEXT]);

#endif
