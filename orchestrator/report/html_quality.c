/* html_quality.c - section: how complete the data is. */
#include "orchestrator/report/html_sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/pools.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/overhead.h"
#include "orchestrator/report/quality.h"

#define MAX_NOTES 20

static void put_notes(FILE *out, const struct jp_quality *q)
{
    uint64_t all = q->n_notes + q->notes_left_out;

    if (!all)
        return;
    fputs("<details><summary>Notes on files</summary><ul>\n", out);
    for (size_t i = 0; i < q->n_notes && i < MAX_NOTES; i++) {
        fputs("<li><code>", out);
        html_out_short(out, q->notes[i].path, 400);
        fputs("</code>: ", out);
        html_out_short(out, q->notes[i].what, 400);
        fputs("</li>\n", out);
    }
    fputs("</ul>", out);
    if (all > MAX_NOTES)
        fprintf(out, "<p class=\"note\">and %s more</p>",
                FIG_COUNT(all - MAX_NOTES));
    fputs("</details>\n", out);
}

/* Bad lines by kind, those that there are. */
static void put_bad(FILE *out, const struct jp_quality *q)
{
    for (unsigned i = 0; i < JP_BAD_KINDS; i++) {
        char *value;

        if (!q->bad[i].n)
            continue;
        value = fileio_path("%s, first %s:%" PRIu64, FIG_COUNT(q->bad[i].n),
                            q->bad[i].path, q->bad[i].line);
        if (value)
            html_out_fact(out, badkind_text((enum jp_bad) i), value);
        free(value);
    }
}

static const char *explain_kind(const char *kind)
{
    if (!kind)
        return "Nothing says how many records there should be.";
    if (!strcmp(kind, "counted"))
        return "Expected is what the recorder counted as produced.";
    return "Expected is what the sequence numbers imply: a tail lost by all "
           "ranks would not show.";
}

int html_quality_put(const struct jp_report *report, FILE *out)
{
    double coverage = report->verdict->coverage;
    char share[128], warmup[JP_WARMUP_TEXT];

    fputs("<dl>\n", out);
    snprintf(share, sizeof(share), "%s%s",
             coverage < 0 ? "unknown" : FIG_SHARE(coverage),
             coverage < 0 ? "" : quality_coverage_of(report));
    html_out_fact(out, "Coverage", share);
    for (size_t i = 0; i < quality_n_items; i++) {
        uint64_t value = 0;
        bool known = quality_items[i].get(report, &value);

        if (quality_items[i].always || value)
            html_out_fact(out, quality_items[i].label,
                          known ? FIG_COUNT(value) : "unknown");
    }
    if (report->result)
        put_bad(out, &report->result->quality);
    if (report->result) {
        char text[JP_OVERHEAD_TEXT];

        overhead_text(&report->result->quality, text);
        html_out_fact(out, "Recorder&#39;s own cost", text);
    }
    if (quality_warmup(report, warmup))
        html_out_fact(out, "Warm-up", warmup);
    for (size_t i = 0; report->conf && i < report->conf->n_settings; i++)
        if (expected_is_filter(report->conf, &report->conf->settings[i]))
            html_out_fact(out, "Left out by", report->conf->settings[i].key);
    if (pools_planned_loss(report->conf))
        html_out_fact(out, "As planned, the plugin",
                      pools_planned_loss(report->conf));
    fprintf(out, "</dl><p class=\"note\">%s</p>\n",
            explain_kind(quality_expected_kind(report)));
    if (report->result)
        put_notes(out, &report->result->quality);
    return 0;
}
