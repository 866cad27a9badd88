/* copper_html.c - Copper's section of report.html.
 *
 * copper_html at the end is the order of the parts: findings, totals,
 * two charts, an explanation of the counters, notes, links, answers,
 * tables. A "rank" is a daemon of Copper. */
#include "orchestrator/copper/copper_feature.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/figure.h"
#include "orchestrator/report/chart.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"

/* --- what Copper's counters count, for their readers */

static const struct {
    const char *term, *meaning;
} guide[] = {
    {"Rank", "One cu_fuse daemon, normally one a node; not a task."},
    {"Counted operations",
     "Requests of the kernel to the daemon. Some (open, release, flush, lock, "
     "opendir) do nothing and take no time; an ioctl that Copper does not "
     "support (Python checks whether a file is a terminal) counts as ioctl "
     "and as ext_getattr."},
    {"Measured latency",
     "Time in the daemon, summed over operations. It includes the daemon's "
     "start (init), which is shown separately here."},
    {"Cache hit",
     "Answered from memory, except getattr: it counts as a hit even when the "
     "daemon had to ask its parent in the tree. The hit rate of getattr is "
     "about 100 % by construction."},
    {"Cache miss",
     "A read or readdir that was not in this daemon's cache. A child's first "
     "read fills its parents' caches, so the root may show none although it "
     "did all the reading. No counter shows what the file system served."},
    {"Negative result",
     "Of getattr: an ENOENT or another error. Of read: mostly files too large "
     "for the cache, not absent files. A failed readdir is counted in the "
     "metadata table."},
    {"ENOENT stores, serves, expires",
     "Absent paths remembered, lookups answered from that memory, entries "
     "that ran out of time. A parent also counts its children's requests, so "
     "the root of the tree always differs from the others."},
    {"Pre-destroy",
     "Written when the unmount begins; the final files follow two to three "
     "seconds later with the same figures. Used where a final file is missing "
     "or cut."},
    {"Top paths",
     "The N busiest paths of each daemon: sums over them are lower "
     "bounds."},
    {"Full tables", "Every path: sums over them are exact."},
};

/* Writes the meaning of the counters, folded. The texts are HTML. */
static void put_guide(FILE *out)
{
    fputs("<details><summary>How to read these figures</summary><dl>\n", out);
    for (size_t i = 0; i < sizeof(guide) / sizeof(*guide); i++)
        fprintf(out, "<dt>%s</dt><dd>%s</dd>\n", guide[i].term,
                guide[i].meaning);
    fputs("</dl></details>\n", out);
}

/* --- tables --------------------------------------------------------------- */

/* Writes a table with its heading. title and note are HTML. */
static int put_table(const struct jp_table *table, const char *title,
                     const char *note, const struct jp_report *report,
                     FILE *out)
{
    fprintf(out, "<h3>%s</h3>\n", title);
    if (note)
        fprintf(out, "<p class=\"note\">%s</p>\n", note);
    return table_html(table, report, NULL, out);
}

/* Writes the busiest paths of each category. */
static int put_hot(const struct jp_report *report, FILE *out)
{
    static const char *const titles[COPPER_N_CATEGORIES] = {
        "Hot metadata paths", "Hot data paths", "Hot directories",
        "Hot absent paths"};
    const struct jp_copper *c = copper_of(report);

    for (unsigned k = 0; k < COPPER_N_CATEGORIES; k++)
        if (table_count(tables_copper_hot[k], report) &&
            put_table(tables_copper_hot[k], titles[k],
                      c->n_tables < c->n_counted
                          ? "By the busiest paths of each rank: lower bounds."
                          : NULL,
                      report, out) < 0)
            return -1;
    return 0;
}

/* Writes the tables that have something to show. Returns 0, or -1 when out of
 * memory. */
static int put_tables(const struct jp_report *report, FILE *out)
{
    const struct jp_copper *c = copper_of(report);
    const struct {
        bool present;
        const struct jp_table *table; /* NULL: the table of hot paths */
        const char *title, *note;
    } parts[] = {
        {c->n_ops, &table_copper_operations, "Operations", NULL},
        {c->n_counted > 1, &table_copper_known_ranges, "Stability across ranks",
         NULL},
        {true, &table_copper_ranks, "Ranks", NULL},
        {c->n_outliers, &table_copper_outliers,
         "Ranks that differ from their tree level",
         "A rank is compared only with ranks of its own level, at least four. "
         "The root and its children always differ from the others."},
        {c->n_launches > 1, &table_copper_launches,
         "Launches in the same folder",
         "The daemons were started more than once. All other figures are from "
         "the last launch."},
        {c->n_paths, &table_copper_classes, "Path classes", NULL},
        {true, NULL, NULL, NULL},
        {c->n_failed_lookups, &table_copper_searches,
         "Folders searched without a match", NULL},
        {c->n_used_roots, &table_copper_roots, "Coverage of roots",
         "The existing files were listed when this report was made. A file "
         "that was not observed may still be needed."},
        {c->cache[JP_COPPER_CACHE_COMBINED].files_found, &table_copper_cache,
         "Cache use", "Only if an ioctl requested it."},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i].present &&
            (parts[i].table ? put_table(parts[i].table, parts[i].title,
                                        parts[i].note, report, out)
                            : put_hot(report, out)) < 0)
            return -1;
    return 0;
}

/* --- Copper's sections of report.html */

#define MAX_FINDINGS 20

/* Writes how many daemons are in the sums, and the states of the others. */
static void put_ranks_fact(const struct jp_copper *c, FILE *out)
{
    char text[200];
    int n = snprintf(text, sizeof(text), "%s of %s in the sums",
                     FIG_COUNT(c->n_counted), FIG_COUNT(c->n_ranks));

    for (unsigned i = 1; i < JP_COPPER_N_STATES && n < (int) sizeof(text); i++)
        if (c->n_state[i])
            n += snprintf(text + n, sizeof(text) - (size_t) n, ", %s %s",
                          FIG_COUNT(c->n_state[i]), copper_state_names[i]);
    html_out_fact(out, "Ranks (daemons)", text);
}

/* Writes the daemons' settings, as far as their profiles contain them. */
static void put_settings(const struct jp_copper *c, FILE *out)
{
    const struct copper_settings *s = &c->settings;

    if (*s->mode)
        html_out_fact(out, "Profiling mode", s->mode);
    if (s->ttl_ms >= 0)
        html_out_fact(out, "ENOENT remembered for",
                      FIG_US((double) s->ttl_ms * 1000));
    if (s->top_n > 0)
        html_out_fact(out, "Top paths of each rank",
                      FIG_COUNT((uint64_t) s->top_n));
    if (c->settings_differ)
        html_out_fact(out, "Settings", "differ between ranks");
}

/* Writes the sums over the daemons. */
static void put_totals(const struct jp_copper *c, FILE *out)
{
    uint64_t latency = c->total[COPPER_LATENCY_US];

    fputs("<dl>\n", out);
    put_ranks_fact(c, out);
    put_settings(c, out);
    /* a daemon without counters is in no sum */
    if (c->n_counted) {
        html_out_fact(out, "Counted operations",
                      FIG_COUNT(c->total[COPPER_OPERATIONS]));
        html_out_fact(out, "Cache hits", FIG_COUNT(c->total[COPPER_HITS]));
        html_out_fact(out, "Cache misses", FIG_COUNT(c->total[COPPER_MISSES]));
        html_out_fact(out, "Negative results",
                      FIG_COUNT(c->total[COPPER_NEGATIVES]));
        html_out_fact(out, "Measured latency", FIG_US((double) latency));
        html_out_fact(out, "of it start-up (init)",
                      FIG_US((double) c->init_us));
        html_out_fact(out, "Latency without start-up",
                      FIG_US((double) c->without_init_us));
    }
    if (c->n_ttl) {
        html_out_fact(out, "ENOENT remembered",
                      FIG_COUNT(c->total[COPPER_TTL_STORES]));
        html_out_fact(out, "Lookups saved by it",
                      FIG_COUNT(c->total[COPPER_TTL_SERVES]));
        html_out_fact(out, "Expired", FIG_COUNT(c->total[COPPER_TTL_EXPIRES]));
        html_out_fact(out, "Cleared", FIG_COUNT(c->total[COPPER_TTL_CLEARS]));
    }
    if (c->unjudged)
        html_out_fact(out, "Ranks not compared with others",
                      FIG_COUNT(c->unjudged));
    /* daemons with both kinds of files */
    if (c->compared) {
        char text[64];

        snprintf(text, sizeof(text), "equal on %s of %s", FIG_COUNT(c->equal),
                 FIG_COUNT(c->compared));
        html_out_fact(out, "Pre-destroy and final files", text);
    }
    fputs("</dl>\n", out);
}

/* Writes the first findings. */
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
        fprintf(out, "<p class=\"note\">and %s more in summary.json</p>\n",
                FIG_COUNT(c->n_findings - MAX_FINDINGS));
}

/* Writes each fixed question with its answer. */
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

/* Writes which paths could be left out of the searched folders, with examples.
 */
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
        /* examples of what the advice is about */
        for (size_t k = 0; k < a->n_paths; k++) {
            fputs("<li><code>", out);
            html_out_short(out, a->paths[k], 400);
            fputs("</code></li>", out);
        }
        fputs(a->n_paths ? "</ul></li>\n" : "</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void put_link(FILE *out, const char *path)
{
    fprintf(out, "<li><a href=\"%s\">%s</a></li>\n", path, path);
}

/* Links the files of csv/ that have every row. */
static void put_files(const struct jp_copper *c, FILE *out)
{
    fputs("<details><summary>Files with all rows</summary><ul class=\"files\">"
          "\n",
          out);
    for (size_t i = 0; tables_copper[i]; i++) {
        char path[64];

        snprintf(path, sizeof(path), "csv/%s.csv", tables_copper[i]->name);
        put_link(out, path);
    }
    if (c->n_used)
        put_link(out, "copper_paths/");
    fputs("</ul></details>\n", out);
}

int copper_html(const struct jp_report *report, FILE *out)
{
    const struct jp_copper *c = copper_of(report);

    if (!c)
        return 0;
    /* findings first, then the figures that support them */
    put_findings(c, out);
    put_totals(c, out);
    html_put_chart(out, chart_copper_ranks.name);
    html_put_chart(out, chart_copper_series.name);
    put_guide(out);
    quality_html_notes(out, c->notes, c->n_notes, c->notes_left_out,
                       "csv/copper_notes.csv");
    put_files(c, out);
    put_answers(c, out);
    if (put_tables(report, out) < 0)
        return -1;
    put_guidance(c, out);
    return 0;
}
