/* picture.h - small pictures in a page: a row of ticks, a strip of colours, a
 * histogram.
 *
 * The program writes only figures, as JSON in an attribute. The script
 * web/pictures.js draws them when the page opens. Names and figures beside a
 * picture are text of the page, which is also there without JavaScript.
 *
 *     struct jp_json_stream figures;
 *
 *     picture_begin(&figures, "bar", out);
 *     json_stream_array(&figures, "parts");
 *     ...
 *     picture_end(&figures);
 *
 * The kinds, with the members of their figures. A "look" is a class of
 * page.css, such as "hit", which is marked; "" is usual. Unknown values are
 * null.
 *
 * | kind     | figures                                                        |
 * |----------|----------------------------------------------------------------|
 * | bar      | parts: [[share of the row, look], ...], side by side           |
 * | ticks    | most: where the row ends, it starts at 0; at: [value, ...];    |
 * |          | look                                                           |
 * | interval | from, to: ends of the row; low, high: of the interval;         |
 * |          | at: [value, ...]                                               |
 * | strip    | most: the darkest value; rows: [[value, ...], ...]             |
 * | columns  | from, full: ends of the height; values: [value, ...];          |
 * |          | marked: [index, ...]; limit: a line at so many columns; base:  |
 * |          | a line at this value                                           |
 * | course   | most: top of the height; band: [low, middle, high];            |
 * |          | change: a line at so many slices; series, others: [value of a  |
 * |          | slice, ...]                                                    |
 * | verdicts | label; steps: [[words, verdict], ...]                          |
 * | trend    | label; steps: [[words, verdict, value], ...]                   |
 */
#ifndef JP_REPORT_PICTURE_H
#define JP_REPORT_PICTURE_H

#include <stdio.h>

#include "common/json_stream.h"

/* Starts a picture; the caller writes its figures, with these functions or
 * those of json_stream.h. */
void picture_begin(struct jp_json_stream *figures, const char *kind, FILE *out);
/* An array of n numbers. */
void picture_numbers(struct jp_json_stream *figures, const char *key,
                     const double *values, size_t n);
/* Ends the picture. A write that failed shows in the stream. */
void picture_end(struct jp_json_stream *figures);

/* A row of bars with one part. */
void picture_bar(FILE *out, double share, const char *look);

#endif
