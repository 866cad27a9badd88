/* copper_html.c - Copper's section of report.html.
 *
 * copper_html at the end is the order of the parts: findings, totals,
 * two pictures as SVG, an explanation of the counters, notes, links, answers,
 * tables. A "rank" is a daemon of Copper. */
#include "orchestrator/copper/copper_feature.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/figure.h"
#include "orchestrator/report/out.h"

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

/* --- two pictures, without a script --------------------------------------- */

#define WIDTH 900 /* in coordinates of the SVG */
#define HEIGHT 260
#define LEFT 80 /* room for the figures of the scale */
#define TOP 12
#define BOTTOM 40      /* room for the names of levels */
#define MAX_MARKS 5000 /* circles of a level; points of a line */

/* Opens a picture. The size is that of the SVG's own coordinates; the page
 * scales it. */
static void begin_picture(FILE *out, const char *caption)
{
    fprintf(out,
            "<figure style=\"margin:1em 0\"><figcaption>%s</figcaption>"
            "<svg class=\"copper\" viewBox=\"0 0 %d %d\" "
            "style=\"max-width:100%%\" role=\"img\" "
            "font-size=\"12\" fill=\"currentColor\">\n",
            caption, WIDTH, HEIGHT);
}

static void end_picture(FILE *out)
{
    fputs("</svg></figure>\n", out);
}

/* Return the position of a share (0 to 1) of the axis. */
static double place_x(double share)
{
    return LEFT + share * (WIDTH - LEFT - 10);
}

static double place_y(double share)
{
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
}

/* Draws lines at 0, half and all of `most`, each with its figure. */
static void put_scale(FILE *out, double most, bool us)
{
    for (int i = 0; i <= 2; i++) {
        /* the lines are at 0, the half and the whole */
        double y = place_y(i / 2.0), value = most * i / 2.0;

        fprintf(out,
                "<path d=\"M%d %.1fH%d\" stroke=\"currentColor\" "
                "stroke-opacity=\".25\"/><text x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%s</text>\n",
                LEFT, y, WIDTH - 10, LEFT - 6, y + 4,
                us ? FIG_US(value) : FIG_COUNT((uint64_t) llround(value)));
    }
}

/* Returns the mean time of a getattr, us; NaN if it is unknown. */
static double getattr_us(const struct jp_copper_rank *r)
{
    const struct copper_op *op = &r->op[copper_op_find("getattr", 7)];

    return r->has_ops && op->calls ? (double) op->time_us / (double) op->calls
                                   : NAN;
}

/* Returns true if the daemon is a slow outlier by any metric. */
static bool is_slow(const struct jp_copper *c, size_t rank)
{
    for (size_t i = 0; i < c->n_outliers; i++)
        if (c->outliers[i].rank == rank && c->outliers[i].slow)
            return true;
    return false;
}

/* Draws a daemon as a circle, with its host and its time as a tooltip. */
static void put_mark(FILE *out, double x, double y, bool slow,
                     const struct jp_copper_rank *rank, double us)
{
    fprintf(out,
            "<circle class=\"copper\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" "
            "fill=\"%s\"><title>",
            x, y, slow ? 5 : 3, slow ? "#D55E00" : "#0072B2");
    html_out_short(out, rank->host, 100);
    fprintf(out, ": %s</title></circle>\n", FIG_US(us));
}

/* Draws the daemons of one level side by side in its column, at most about
 * MAX_MARKS of them. Slow ones are always drawn. */
static void put_level(const struct jp_copper *c, int level, unsigned column,
                      unsigned columns, double most, FILE *out)
{
    size_t n = 0, k = 0, step;

    for (size_t i = 0; i < c->n_ranks; i++)
        n += c->ranks[i].level == level && isfinite(getattr_us(&c->ranks[i]));
    fprintf(out,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s%s</text>\n",
            place_x((column + 0.5) / columns), HEIGHT - BOTTOM + 18,
            level < 0 ? "level unknown" : "level ",
            level < 0 ? "" : FIG_COUNT((uint64_t) level));
    /* daemons beyond the limit are skipped evenly */
    step = n / MAX_MARKS + 1;
    for (size_t i = 0; i < c->n_ranks; i++) {
        double us = getattr_us(&c->ranks[i]);

        if (c->ranks[i].level != level || !isfinite(us))
            continue;
        if (k++ % step == 0 || is_slow(c, i))
            put_mark(
                out,
                place_x((column + 0.1 + 0.8 * ((double) k - 0.5) / (double) n) /
                        columns),
                place_y(us / most), is_slow(c, i), &c->ranks[i], us);
    }
}

/* Draws what a getattr takes on each daemon. Nothing if no daemon has a time.
 */
static void ranks_by_level(const struct jp_copper *c, FILE *out)
{
    int least = 64, deepest = -1;
    double most = 0;

    /* the deepest and the highest level in use, and the end of the axis */
    for (size_t i = 0; i < c->n_ranks; i++) {
        double us = getattr_us(&c->ranks[i]);

        if (!isfinite(us))
            continue;
        most = fmax(most, us);
        least = c->ranks[i].level < least ? c->ranks[i].level : least;
        deepest = c->ranks[i].level > deepest ? c->ranks[i].level : deepest;
    }
    if (most <= 0)
        return;
    begin_picture(
        out, "What a getattr takes on each rank, by level in Copper's tree");
    put_scale(out, most, true);
    for (int level = least; level <= deepest; level++)
        put_level(c, level, (unsigned) (level - least),
                  (unsigned) (deepest - least + 1), most, out);
    end_picture(out);
}

/* Draws one rank's snapshots: the points [from, to). */
static void put_line(const struct jp_copper *c, size_t from, size_t to,
                     int64_t first, double span, double most, FILE *out)
{
    fputs("<polyline class=\"copper\" fill=\"none\" stroke=\"#0072B2\" "
          "stroke-opacity=\".7\" "
          "points=\"",
          out);
    for (size_t i = from; i < to; i++)
        fprintf(out, "%.1f,%.1f ",
                place_x((double) (c->points[i].time_us - first) / span),
                place_y((double) c->points[i].value[COPPER_OPERATIONS] / most));
    fputs("\"><title>", out);
    html_out_short(out, c->ranks[c->points[from].rank].host, 100);
    fputs("</title></polyline>\n", out);
}

/* Draws the operations of each daemon over its snapshots. */
static void series(const struct jp_copper *c, FILE *out)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    double most = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct jp_copper_point *p = &c->points[i];

        first = p->time_us < first ? p->time_us : first;
        last = p->time_us > last ? p->time_us : last;
        most = fmax(most, (double) p->value[COPPER_OPERATIONS]);
    }
    /* the snapshots final and pre-destroy are seconds apart; alone they are no
     * series */
    if (c->times_lost || c->n_points < 3 * c->n_ranks || most <= 0 ||
        last <= first)
        return;
    begin_picture(out, "Operations of each rank so far, at each snapshot");
    put_scale(out, most, false);
    for (size_t i = 0, k; i < c->n_points && i < MAX_MARKS; i = k) {
        for (k = i + 1;
             k < c->n_points && c->points[k].rank == c->points[i].rank;)
            k++;
        put_line(c, i, k, first, (double) (last - first), most, out);
    }
    fprintf(out,
            "<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" y=\"%d\" "
            "text-anchor=\"end\">%s</text>\n",
            LEFT, HEIGHT - BOTTOM + 18, WIDTH - 10, HEIGHT - BOTTOM + 18,
            FIG_US((double) (last - first)));
    end_picture(out);
}

static void put_pictures(const struct jp_copper *c, FILE *out)
{
    ranks_by_level(c, out);
    series(c, out);
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
    put_pictures(c, out);
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
