/* timeline_page.h - the timeline of all ranks, as figures for the page.
 *
 * A row a process, a bin of time a column. A cell says in one number which kind
 * of operation (communicator, function, class of size) took most of the bin,
 * and in two halves of a byte how much of it the process was in operations, and
 * how much of that it waited for others.
 *
 * Waits. An operation that no rank leaves before all are in it is at work for
 * the time of its last rank, up to its end; before that a rank in it waits. So
 * what a row has more than that, in a communicator, function and bin, is wait.
 *
 * Times are on one clock where the clocks of the nodes could be aligned.
 */
#ifndef JP_REPORT_TIMELINE_PAGE_H
#define JP_REPORT_TIMELINE_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/processes.h"

enum {
    TIMELINE_CELLS = 1 << 20, /* of the page at most: bins get wider */
    TIMELINE_ROWS = 4096,     /* more are not drawn, and it is said */
    TIMELINE_KINDS = 65534,
};

struct timeline_row {
    const char *host; /* borrowed from the result's timelines */
    int64_t pid;
    const struct jp_process *process; /* NULL: not among the result's */
};

struct timeline_kind {
    const char *id, *func; /* borrowed likewise */
    unsigned size;         /* enum strip_size */
    size_t comm;           /* index into comms; SIZE_MAX: not there */
    double us;             /* of all rows */
};

struct timeline_cell {
    uint16_t kind;       /* index + 1; 0: nothing, or what has no kind */
    uint8_t busy, waits; /* of 15; busy is not 0 where there was anything */
};

struct timeline_page {
    uint64_t from_us, width_us; /* of a bin */
    size_t n_bins;
    struct timeline_row *rows; /* by node, then rank */
    size_t n_rows, rows_left;  /* rows_left: not shown */
    struct timeline_kind *kinds;
    size_t n_kinds;
    struct timeline_cell *cells; /* n_rows x n_bins */
    uint64_t left;               /* operations of kinds beyond a strip's */
    bool waits;                  /* are known */
};

/* No rows where no record tells start and end. 0, or -1 without memory. fini
 * takes one of zeros. */
int timeline_page_make(const struct jp_result *result,
                       const struct jp_processes *processes,
                       struct timeline_page *page);
/* Bytes, deflated, in base64: what web/inflate.js reads. 0, or -1 without
 * memory. bytes are not changed. */
int timeline_put_packed(unsigned char *bytes, size_t n, FILE *out);
void timeline_page_fini(struct timeline_page *page);

#endif
