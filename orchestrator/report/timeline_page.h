/* timeline_page.h - the timeline of all ranks, as figures for the page.
 *
 * Each row is a process, each column a bin of time. A cell holds the kind of
 * operation (communicator, function, class of size) that took most of the bin.
 * It also holds how much of the bin the process spent in operations, and how
 * much of that it waited for others (four bits each).
 *
 * Waits: if no rank can leave an operation before all ranks are in it, the
 * operation is at work only for the duration of its last rank, up to its end.
 * Before that, a rank in it waits. So the wait of a row is its time in
 * operations beyond that, for each communicator, function and bin.
 *
 * Times are on one clock if the nodes' clocks could be aligned.
 */
#ifndef JP_REPORT_TIMELINE_PAGE_H
#define JP_REPORT_TIMELINE_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/strip.h"
#include "orchestrator/identity/processes.h"

enum {
    /* limit for the page: beyond it, bins get wider */
    TIMELINE_CELLS = 1 << 20,
    /* further rows are not drawn, and the page says so */
    TIMELINE_ROWS = STRIP_ROWS,
    TIMELINE_KINDS = 65534,
};

struct timeline_row {
    const char *host; /* borrowed from the result's timelines */
    int64_t pid;
    const struct jp_process *process; /* NULL: not a process of the result */
};

struct timeline_kind {
    const char *id, *func; /* borrowed from the result's timelines */
    unsigned size;         /* enum strip_size */
    size_t comm;           /* index into comms; SIZE_MAX: not found */
    double us;             /* time over all rows */
};

struct timeline_cell {
    /* index into kinds + 1; 0: no operation, or one without a kind */
    uint16_t kind;
    /* fifteenths; busy is > 0 if there was any operation */
    uint8_t busy, waits;
};

struct timeline_page {
    uint64_t from_us, width_us; /* start of the first bin, width of a bin */
    size_t n_bins;
    uint64_t span_us; /* of what is drawn: the bins begin and end a little
                         outside of it */
    struct timeline_row *rows; /* sorted by node, then rank */
    size_t n_rows, rows_left;  /* rows_left: number of rows not shown */
    struct timeline_kind *kinds;
    size_t n_kinds;
    struct timeline_cell *cells; /* n_rows x n_bins */
    /* number of operations whose kind did not fit into a strip */
    uint64_t left;
    bool waits; /* whether waits are known */
};

/* Makes the page's timeline. It has no rows if no record has start and end
 * times. Returns 0, or -1 when out of memory. timeline_page_fini accepts a
 * struct of zeros. */
int timeline_page_make(const struct jp_result *result,
                       const struct jp_processes *processes,
                       struct timeline_page *page);
/* The same without kinds and cells, which are NULL: what it draws, and how much
 * of the run. */
int timeline_page_extent(const struct jp_result *result,
                         const struct jp_processes *processes,
                         struct timeline_page *page);
/* Writes bytes, deflated and in base64, as web/inflate.js reads them. Does not
 * change bytes. Returns 0, or -1 when out of memory. */
int timeline_put_packed(unsigned char *bytes, size_t n, FILE *out);
void timeline_page_fini(struct timeline_page *page);

#endif
