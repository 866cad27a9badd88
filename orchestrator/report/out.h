/* out.h - the frame of a page, and what it has beside text and tables
 * (orchestrator/table/). */
#ifndef JP_REPORT_OUT_H
#define JP_REPORT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "orchestrator/table/csv_out.h"
#include "orchestrator/table/html_out.h"
#include "orchestrator/table/text_out.h"

/* Writes the page from the doctype to <body>. The page makes no network
 * requests (a content security policy enforces that) and follows the reader's
 * light or dark setting. */
void html_out_begin(FILE *out, const char *title);
void html_out_end(FILE *out);

/* Returns true if this program was built with the charts
 * (docs/dependencies.md). */
bool html_out_has_charts(void);

void html_out_base64(FILE *out, const unsigned char *data, size_t len);

/* A name (HTML) and its value within <dl>. The value is cleaned and cut to 400
 * bytes; NULL or "" becomes "-". */
void html_out_fact(FILE *out, const char *name, const char *value);

/* The frame of a picture that proves a verdict: its kind (a class of the style
 * sheet), its heading, and a last line (plain text; NULL: none). */
void html_out_proof(FILE *out, const char *kind, const char *caption);
void html_out_proof_end(FILE *out, const char *note);

/* Writes a note such as "12 steps: 1 HANG, 2 SLOW, 9 OK.", the worst verdict
 * first. count: of each enum jp_verdict_word. */
void html_out_verdicts(FILE *out, const char *what, size_t n,
                       const size_t *count);

/* --- style sheet and scripts of our pages, from the files in web/ --------
 *
 * The build generates html_assets.c from these files (web/embed.sh), so the
 * program needs no other file at run time. */

extern const char html_assets_style[]; /* web/page.css */
/* web/page.js and the scripts it needs */
extern const char html_assets_script[];
/* charts of report.html: web/src with its libraries; "" if built without charts
 */
extern const char html_assets_charts[];

#endif
