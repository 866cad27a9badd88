/* proof.h - the picture that proves a verdict, for the page's first screen.
 *
 * Each picture is text of the page beside small pictures (picture.h), which the
 * page draws. So text keeps its size on a narrow screen, and is there without
 * JavaScript. Colours are classes of page.css. A mark in colour is also named
 * in words. The size of each picture is bounded.
 */
#ifndef JP_REPORT_PROOF_H
#define JP_REPORT_PROOF_H

#include "orchestrator/report/report.h"

/* Writes a <figure>; nothing if there is nothing to draw. Returns 0, or -1 when
 * out of memory. */
int proof_write(const struct jp_report *report, FILE *out);

/* --- for the pictures ------------------------------------------------------
 */

/* Each returns 0, -1 when out of memory, or 1 if there was nothing to draw and
 * nothing was written. finding may be NULL. */
typedef int proof_picture(const struct jp_report *report,
                          const struct jp_finding *finding, FILE *out);
/* how late each rank was, or stalled, over the run */
proof_picture proof_strips;
proof_picture proof_excess;  /* no rank stands out */
proof_picture proof_records; /* which processes miss records */
proof_picture proof_network; /* bandwidth over the run, or by communicator */

#endif
