/* report_copper_html.c - Copper's sections of report.html. */
#include <inttypes.h>
#include <math.h>

#include "common/figure.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/html_sections.h"
#include "orchestrator/report/report_copper.h"

#define MAX_NOTES 20
#define MAX_FINDINGS 20

static void put_fact(FILE *out, const char *name, const char *value)
{
    fprintf(out, "<dt>%s</dt><dd>", name);
    html_out_short(out, value, 400);
    fputs("</dd>\n", out);
}

static void put_ranks_fact(const struct jp_copper *c, FILE *out)
{
    char text[200];
    int n = snprintf(text, sizeof(text), "%" PRIu32 " of %zu in the sums",
                     c->n_counted, c->n_ranks);

    for (unsigned i = 1; i < JP_COPPER_N_STATES && n < (int) sizeof(text); i++)
        if (c->n_state[i])
            n += snprintf(text + n, sizeof(text) - (size_t) n,
                          ", %" PRIu32 " %s", c->n_state[i],
                          copper_state_names[i]);
    put_fact(out, "Ranks (daemons)", text);
}

static void put_settings(const struct jp_copper *c, FILE *out)
{
    const struct copper_settings *s = &c->settings;

    if (*s->mode)
        put_fact(out, "Profiling mode", s->mode);
    if (s->ttl_ms >= 0)
        put_fact(out, "ENOENT remembered for",
                 FIG_US((double) s->ttl_ms * 1000));
    if (s->top_n > 0)
        put_fact(out, "Top paths of each rank", FIG_COUNT((uint64_t) s->top_n));
    if (c->settings_differ)
        put_fact(out, "Settings", "differ between ranks");
}

static void put_totals(const struct jp_copper *c, FILE *out)
{
    uint64_t latency = c->total[COPPER_LATENCY_US];

    fputs("<dl>\n", out);
    put_ranks_fact(c, out);
    put_settings(c, out);
    if (c->n_counted) {
        put_fact(out, "Counted operations",
                 FIG_COUNT(c->total[COPPER_OPERATIONS]));
        put_fact(out, "Cache hits", FIG_COUNT(c->total[COPPER_HITS]));
        put_fact(out, "Cache misses", FIG_COUNT(c->total[COPPER_MISSES]));
        put_fact(out, "Negative results",
                 FIG_COUNT(c->total[COPPER_NEGATIVES]));
        put_fact(out, "Measured latency", FIG_US((double) latency));
        put_fact(out, "of it start-up (init)", FIG_US((double) c->init_us));
        put_fact(out, "Latency without start-up",
                 FIG_US((double) c->without_init_us));
    }
    if (c->n_ttl) {
        put_fact(out, "ENOENT remembered",
                 FIG_COUNT(c->total[COPPER_TTL_STORES]));
        put_fact(out, "Lookups saved by it",
                 FIG_COUNT(c->total[COPPER_TTL_SERVES]));
        put_fact(out, "Expired", FIG_COUNT(c->total[COPPER_TTL_EXPIRES]));
        put_fact(out, "Cleared", FIG_COUNT(c->total[COPPER_TTL_CLEARS]));
    }
    if (c->unjudged)
        put_fact(out, "Ranks not compared with others", FIG_COUNT(c->unjudged));
    if (c->compared) {
        char text[64];

        snprintf(text, sizeof(text), "equal on %" PRIu32 " of %" PRIu32,
                 c->equal, c->compared);
        put_fact(out, "Pre-destroy and final files", text);
    }
    fputs("</dl>\n", out);
}

static void put_findings(const struct jp_copper *c, FILE *out)
{
    if (!c->n_findings)
        return;
    fputs("<ul>\n", out);
    for (size_t i = 0; i < c->n_findings && i < MAX_FINDINGS; i++) {
        fputs("<li>", out);
        html_out_short(out, c->findings[i].text, 600);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
    if (c->n_findings > MAX_FINDINGS)
        fprintf(out, "<p class=\"note\">and %zu more in summary.json</p>\n",
                c->n_findings - MAX_FINDINGS);
}

static void put_answers(const struct jp_copper *c, FILE *out)
{
    fputs("<h3>What the profile answers</h3>\n<dl>\n", out);
    for (size_t i = 0; i < JP_COPPER_QUESTIONS; i++) {
        fputs("<dt>", out);
        html_out_text(out, c->answers[i].question);
        fputs("</dt><dd>", out);
        html_out_short(out, c->answers[i].answer, 2000);
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n", out);
}

static void put_guidance(const struct jp_copper *c, FILE *out)
{
    if (!c->n_advice)
        return;
    fputs("<h3>What could be pruned</h3>\n<ul>\n", out);
    for (size_t i = 0; i < c->n_advice; i++) {
        const struct jp_copper_advice *a = &c->advice[i];

        fputs("<li>", out);
        html_out_short(out, a->text, 1000);
        if (a->n_paths)
            fputs("<ul class=\"files\">", out);
        for (size_t k = 0; k < a->n_paths; k++) {
            fputs("<li><code>", out);
            html_out_short(out, a->paths[k], 400);
            fputs("</code></li>", out);
        }
        fputs(a->n_paths ? "</ul></li>\n" : "</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void put_notes(const struct jp_copper *c, FILE *out)
{
    uint64_t all = c->n_notes + c->notes_left_out;

    if (!all)
        return;
    fputs("<details><summary>Notes on files</summary><ul>\n", out);
    for (size_t i = 0; i < c->n_notes && i < MAX_NOTES; i++) {
        fputs("<li><code>", out);
        html_out_short(out, c->notes[i].path, 400);
        fputs("</code>: ", out);
        html_out_short(out, c->notes[i].what, 400);
        fputs("</li>\n", out);
    }
    fputs("</ul>", out);
    if (all > MAX_NOTES)
        fprintf(out,
                "<p class=\"note\">and %s more in "
                "<a href=\"csv/copper_notes.csv\">"
                "csv/copper_notes.csv</a></p>",
                FIG_COUNT(all - MAX_NOTES));
    fputs("</details>\n", out);
}

static void put_link(FILE *out, const char *path)
{
    fprintf(out, "<li><a href=\"%s\">%s</a></li>\n", path, path);
}

static void put_files(const struct jp_copper *c, FILE *out)
{
    fputs("<details><summary>Files with all rows</summary><ul class=\"files\">"
          "\n",
          out);
    for (size_t i = 0; report_copper_sheet(i); i++) {
        char path[64];

        snprintf(path, sizeof(path), "csv/copper_%s.csv",
                 report_copper_sheet(i));
        put_link(out, path);
    }
    if (c->n_used)
        put_link(out, "copper_paths/");
    fputs("</ul></details>\n", out);
}

bool html_copper_present(const struct jp_report *report)
{
    return report->copper;
}

int html_copper_put(const struct jp_report *report, FILE *out)
{
    const struct jp_copper *c = report->copper;

    put_findings(c, out);
    put_totals(c, out);
    report_copper_pictures(c, out);
    report_copper_guide(out);
    put_notes(c, out);
    put_files(c, out);
    put_answers(c, out);
    report_copper_tables(c, out);
    put_guidance(c, out);
    return 0;
}
