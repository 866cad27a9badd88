/* html_style.h - the look and the only script of our pages. */
#ifndef JP_REPORT_HTML_STYLE_H
#define JP_REPORT_HTML_STYLE_H

extern const char html_style_sheet[];
extern const char html_style_script[]; /* sorts tables by a heading's click */

#endif
