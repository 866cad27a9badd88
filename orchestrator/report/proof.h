/* proof.h - the one picture that proves a verdict, for the page's first screen.
 *
 * HTML with stretched SVG inside: text keeps its size on a narrow screen, on
 * paper and without JavaScript; colours are classes of page.css, and what is
 * marked is also named in words. What is drawn is bounded: see each picture.
 */
#ifndef JP_REPORT_PROOF_H
#define JP_REPORT_PROOF_H

#include "orchestrator/report/report.h"

/* Writes a <figure>, or nothing where there is nothing to draw. 0, or -1
 * without memory. */
int proof_write(const struct jp_report *report, FILE *out);

/* --- for the pictures ------------------------------------------------------
 */

/* Each 0 or -1 as above, 1: nothing to draw, nothing was written. finding may
 * be NULL. */
typedef int proof_picture(const struct jp_report *report,
                          const struct jp_finding *finding, FILE *out);
proof_picture proof_arrivals; /* who came how late, over the run */
proof_picture proof_stalls;   /* the same of stalls */
proof_picture proof_excess;   /* no rank stands out */
proof_picture proof_records;  /* whose records are missing */
proof_picture proof_network;  /* bandwidth over the run, or by communicator */
proof_picture proof_hang;     /* who waits where, for whom */
proof_picture proof_tasks;    /* who ended first */
proof_picture proof_copper;   /* a slow daemon, else what caches answered */

#endif
