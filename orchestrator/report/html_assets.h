/* html_assets.h - style sheet and scripts of our pages, from the files in web/.
 *
 * html_assets.c is made of them when jobprof is built (web/embed.sh), so the
 * program needs no file beside it.
 */
#ifndef JP_REPORT_HTML_ASSETS_H
#define JP_REPORT_HTML_ASSETS_H

extern const char html_assets_style[];  /* web/page.css */
extern const char html_assets_script[]; /* web/page.js */
/* report.html's charts: web/src with its libraries; "": built without */
extern const char html_assets_charts[];

#endif
