/* chart_json.c - JSON, value by value, safe within a page. */
#include "orchestrator/report/chart_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "orchestrator/report/clean.h"

#define TEXT_MAX 96 /* bytes shown of a name */

static void begin_value(struct jp_chart_json *json)
{
    if (json->comma)
        fputc(',', json->out);
    json->comma = true;
}

void chart_json_begin(struct jp_chart_json *json, char bracket)
{
    begin_value(json);
    fputc(bracket, json->out);
    json->comma = false;
}

void chart_json_end(struct jp_chart_json *json, char bracket)
{
    fputc(bracket, json->out);
    json->comma = true;
}

void chart_json_key(struct jp_chart_json *json, const char *key)
{
    begin_value(json);
    fprintf(json->out, "\"%s\":", key);
    json->comma = false;
}

void chart_json_text(struct jp_chart_json *json, const char *text)
{
    char buf[TEXT_MAX];

    begin_value(json);
    fputc('"', json->out);
    for (const char *s = clean_text(text, JP_CLEAN_UTF8, buf, sizeof(buf)); *s;
         s++) {
        if (strchr("\"\\<>&", *s))
            fprintf(json->out, "\\u%04x", (unsigned) (unsigned char) *s);
        else
            fputc(*s, json->out);
    }
    fputc('"', json->out);
}

void chart_json_count(struct jp_chart_json *json, uint64_t value)
{
    begin_value(json);
    fprintf(json->out, "%" PRIu64, value < INT64_MAX ? value : INT64_MAX);
}

void chart_json_real(struct jp_chart_json *json, double value)
{
    char buf[32], *comma;

    if (!isfinite(value)) {
        chart_json_null(json);
        return;
    }
    begin_value(json);
    snprintf(buf, sizeof(buf), "%.4g", value);
    comma = strchr(buf, ','); /* a locale's decimal point */
    if (comma)
        *comma = '.';
    fputs(buf, json->out);
}

void chart_json_null(struct jp_chart_json *json)
{
    begin_value(json);
    fputs("null", json->out);
}

void chart_json_put_text(struct jp_chart_json *json, const char *key,
                         const char *text)
{
    chart_json_key(json, key);
    chart_json_text(json, text);
}

void chart_json_put_count(struct jp_chart_json *json, const char *key,
                          uint64_t value)
{
    chart_json_key(json, key);
    chart_json_count(json, value);
}
