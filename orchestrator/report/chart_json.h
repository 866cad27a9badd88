/* chart_json.h - stream the compact JSON that the page's charts read.
 *
 * Commas are placed by the writer; text is cleaned, and no < > & leaves it, so
 * that the block may stand within <script>. Failed writes show in the stream.
 */
#ifndef JP_REPORT_CHART_JSON_H
#define JP_REPORT_CHART_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct jp_chart_json {
    FILE *out;
    bool comma; /* before the next value or key */
};

void chart_json_begin(struct jp_chart_json *json, char bracket); /* { or [ */
void chart_json_end(struct jp_chart_json *json, char bracket);   /* } or ] */
/* key is ours: [a-z0-9_-]. */
void chart_json_key(struct jp_chart_json *json, const char *key);
void chart_json_text(struct jp_chart_json *json, const char *text);
/* What is above INT64_MAX is given as INT64_MAX. */
void chart_json_count(struct jp_chart_json *json, uint64_t value);
/* Four significant digits; what is not finite becomes null. */
void chart_json_real(struct jp_chart_json *json, double value);
void chart_json_null(struct jp_chart_json *json);

/* A key with its value. */
void chart_json_put_text(struct jp_chart_json *json, const char *key,
                         const char *text);
void chart_json_put_count(struct jp_chart_json *json, const char *key,
                          uint64_t value);

#endif
