/* timeline_html.c - the section of the timeline: the figures that
 * web/src/timeline draws.
 *
 * Names and times are JSON. The cells, which are most of the bytes, are
 * arranged as planes of similar bytes, deflated, and written in base64. */
#include "orchestrator/report/timeline_page.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/json_stream.h"
#include "orchestrator/aggregate/clocks.h"
#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/report/sections.h"

/* A timeline needs one process with start and end times, in a file of its own.
 */
bool timeline_html_present(const struct jp_report *report)
{
    const struct jp_result *r = report->result;

    for (size_t i = 0; r && report->processes && i < r->n_timelines; i++)
        if (r->timelines[i]->strip && r->timelines[i]->strip->n &&
            !r->timelines[i]->mixed)
            return true;
    return false;
}

/* Findings for which the timeline shows when, and at which rank. */
bool timeline_html_proves(const struct jp_report *report)
{
    const struct jp_insight *x = report->insight;

    /* without charts, there is nothing to link to */
    if (!html_out_has_charts() || !timeline_html_present(report))
        return false;
    for (size_t i = 0; x && i < x->findings.n; i++)
        switch (x->findings.at[i].kind) {
        case JP_FINDING_HANG:
        case JP_FINDING_LATE_RANK:
        case JP_FINDING_LATE_NODE:
        case JP_FINDING_STALL:
        case JP_FINDING_LONG_WAIT:
        case JP_FINDING_DRIFT:
            return true;
        default:
            break;
        }
    return false;
}

/* The communicators of each row follow from its kinds. */
static void put_kinds(const struct timeline_page *p, const struct jp_result *r,
                      struct jp_json_stream *json)
{
    json_stream_array(json, "kinds");
    for (size_t i = 0; i < p->n_kinds && i < TIMELINE_KINDS; i++) {
        const struct timeline_kind *kind = &p->kinds[i];

        json_stream_array(json, NULL);
        json_stream_text(json, NULL, kind->id);
        json_stream_text(json, NULL,
                         kind->comm == SIZE_MAX ? ""
                                                : r->comms[kind->comm].name);
        json_stream_text(json, NULL, kind->func);
        json_stream_count(json, NULL, kind->size);
        json_stream_real(json, NULL, kind->us);
        json_stream_end_array(json);
    }
    json_stream_end_array(json);
}

/* Writes the hosts, and per row its host, its rank and its pid. Rows are sorted
 * by host, so a host's index is a running number. */
static void put_rows(const struct timeline_page *p, const struct jp_result *r,
                     const struct jp_processes *processes,
                     struct jp_json_stream *json)
{
    char name[JP_PROCESS_NAME_LEN];
    size_t host = 0;

    json_stream_array(json, "hosts");
    for (size_t i = 0; i < p->n_rows; i++)
        if (!i || strcmp(p->rows[i].host, p->rows[i - 1].host))
            json_stream_text(json, NULL, p->rows[i].host);
    json_stream_end_array(json);
    json_stream_array(json, "rows");
    for (size_t i = 0; i < p->n_rows; i++) {
        const struct timeline_row *row = &p->rows[i];

        /* the host changes: the next index */
        host += i && strcmp(row->host, p->rows[i - 1].host);
        json_stream_array(json, NULL);
        json_stream_count(json, NULL, host);
        if (row->process)
            json_stream_text(
                json, NULL,
                processes_rank_name(processes, r, row->process, name));
        else
            json_stream_null(json, NULL);
        json_stream_int(json, NULL, row->pid);
        json_stream_end_array(json);
    }
    json_stream_end_array(json);
}

/* Writes what the page needs to read the cells. Returns 0, or -1 when a write
 * failed. */
static int put_figures(const struct timeline_page *p,
                       const struct jp_report *report, FILE *out)
{
    struct jp_json_stream json;

    json_stream_open(&json, JSON_SCRIPT, out);
    json_stream_count(&json, "from", p->from_us);
    json_stream_count(&json, "width", p->width_us);
    json_stream_count(&json, "bins", p->n_bins);
    json_stream_bool(&json, "waits", p->waits);
    json_stream_count(&json, "rowsLeft", p->rows_left);
    json_stream_count(&json, "left", p->left);
    /* 1: kinds have two bytes */
    json_stream_count(&json, "wide", p->n_kinds > UINT8_MAX);
    put_kinds(p, report->result, &json);
    put_rows(p, report->result, report->processes, &json);
    return json_stream_close(&json, NULL);
}

/* Stores low bytes of the kinds; their high bytes if needed; then a byte with
 * busy and, in the high half, waits. Similar bytes are grouped, so they
 * compress well. */
static unsigned char *make_planes(const struct timeline_page *p, size_t *len)
{
    size_t n = p->n_rows * p->n_bins;
    /* the high bytes only if there are more kinds than a byte can name */
    bool wide = p->n_kinds > UINT8_MAX;
    unsigned char *planes = malloc((wide ? 3 : 2) * n + 1), *at = planes;

    for (size_t i = 0; planes && i < n; i++)
        *at++ = (unsigned char) (p->cells[i].kind & 255);
    for (size_t i = 0; planes && wide && i < n; i++)
        *at++ = (unsigned char) (p->cells[i].kind >> 8);
    for (size_t i = 0; planes && i < n; i++)
        *at++ = (unsigned char) (p->cells[i].busy | p->cells[i].waits << 4);
    *len = (size_t) (at - planes);
    return planes;
}

/* Returns the bytes deflated, without a header; the caller frees them. NULL
 * when out of memory. */
static unsigned char *shrink_bytes(unsigned char *bytes, size_t n, size_t *len)
{
    z_stream z = {.next_in = bytes, .avail_in = (uInt) n};
    unsigned char *small = NULL;
    uLong room;

    /* -MAX_WBITS: raw deflate; page.js has its own inflater */
    if (deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return NULL;
    room = deflateBound(&z, n);
    small = malloc(room);
    z.next_out = small;
    z.avail_out = (uInt) room;
    if (small && deflate(&z, Z_FINISH) != Z_STREAM_END) {
        free(small);
        small = NULL;
    }
    *len = z.total_out;
    deflateEnd(&z);
    return small;
}

int timeline_put_packed(unsigned char *bytes, size_t n, FILE *out)
{
    size_t len = 0;
    unsigned char *small = shrink_bytes(bytes, n, &len);

    if (small)
        html_out_base64(out, small, len);
    free(small);
    return small ? 0 : -1;
}

/* Writes the cells. Returns 0, or -1 when out of memory. */
static int put_cells(const struct timeline_page *p, FILE *out)
{
    size_t n = 0;
    unsigned char *planes = make_planes(p, &n);
    int rc = planes ? timeline_put_packed(planes, n, out) : -1;

    free(planes);
    return rc;
}

/* Writes whether rows of different nodes are comparable. */
static void put_clocks(const struct jp_report *report, FILE *out)
{
    char text[CLOCKS_TEXT];

    if (!report->result->clocks || !*clocks_text(report->result->clocks, text))
        return;
    fputs("<p class=\"note\">", out);
    html_out_text(out, text);
    fputs("</p>\n", out);
}

/* Writes the section; nothing without a timeline. */
int timeline_html(const struct jp_report *report, FILE *out)
{
    struct timeline_page page = {0};
    int rc;

    if (!timeline_html_present(report))
        return 0;
    if (timeline_page_make(report->result, report->processes, &page) < 0)
        return -1;
    put_clocks(report, out);
    fputs("<figure class=\"timeline\"></figure>\n"
          "<script type=\"application/json\" id=\"timeline-data\">",
          out);
    /* the scripts are closed in any case, so the page stays valid */
    rc = put_figures(&page, report, out);
    fputs("</script>\n<script type=\"text/plain\" id=\"timeline-cells\">", out);
    rc = rc < 0 ? rc : put_cells(&page, out);
    fputs("</script>\n", out);
    timeline_page_fini(&page);
    return rc;
}
