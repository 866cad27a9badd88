/* report_copper_paths.c - the page's tables on paths, roots and caches. */
#include <inttypes.h>
#include <math.h>

#include "common/figure.h"
#include "orchestrator/report/copper_html.h"
#include "orchestrator/report/report_copper.h"

static void classes(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Class", NULL, false},
        {"Top rows", "rows of top_paths.csv, one a rank", true},
        {"Top events", "a lower bound; as Copper's own tool counts", true},
        {"Paths", "distinct, by full tables", true},
        {"Events", "exact, by full tables", true},
        {"Example", NULL, false}};

    copper_html_begin(out, "Path classes", NULL, COPPER_COLUMNS(columns));
    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        const struct jp_copper_class_sum *s = &c->classes[i];

        if (!s->top_rows && !s->paths)
            continue;
        html_out_row(out);
        html_out_cell(out, copper_class_names[s->class]);
        copper_html_known(out, c->n_top, s->top_rows);
        copper_html_known(out, c->n_top, s->top_events);
        copper_html_known(out, c->n_tables, s->paths);
        copper_html_known(out, c->n_tables, s->events);
        html_out_code(out, s->example ? s->example : s->top_example);
        html_out_row_end(out);
    }
    copper_html_end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
}

static void hot(const struct jp_copper *c, enum copper_category category,
                FILE *out)
{
    static const struct jp_html_column columns[] = {{"Path", NULL, false},
                                                    {"Events", NULL, true},
                                                    {"Ranks", NULL, true},
                                                    {"Class", NULL, false}};
    static const char *const titles[COPPER_N_CATEGORIES] = {
        "Hot metadata paths", "Hot data paths", "Hot directories",
        "Hot absent paths"};
    size_t from = c->path_from[category], to = c->path_from[category + 1];

    if (from == to)
        return;
    copper_html_begin(out, titles[category],
                      c->n_tables < c->n_counted
                          ? "By the busiest paths of each rank: lower bounds."
                          : NULL,
                      COPPER_COLUMNS(columns));
    for (size_t i = from; i < to && i < from + JP_COPPER_HOT; i++) {
        const struct jp_copper_path *p = &c->paths[i];

        html_out_row(out);
        html_out_code(out, p->path);
        html_out_bar(out, FIG_COUNT(p->events), (double) p->events,
                     (double) p->events / (double) c->paths[from].events);
        copper_html_count(out, p->ranks);
        html_out_cell(out, copper_class_names[p->class]);
        html_out_row_end(out);
    }
    html_out_table_end(out, sizeof(columns) / sizeof(*columns),
                       to - from > JP_COPPER_HOT ? to - from - JP_COPPER_HOT
                                                 : 0,
                       "csv/copper_paths.csv");
}

static void vain(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Folder", NULL, false},
        {"Lookups", "that ended in ENOENT", true},
        {"Names", "distinct", true},
        {"Never read", "no file below it was read", false},
        {"Mostly", NULL, false},
        {"Example", NULL, false}};

    copper_html_begin(out, "Folders searched in vain", NULL,
                      COPPER_COLUMNS(columns));
    for (size_t i = 0; i < c->n_vain && i < COPPER_HTML_ROWS; i++) {
        const struct jp_copper_vain *v = &c->vain[i];

        html_out_row(out);
        html_out_code(out, v->folder);
        copper_html_count(out, v->events);
        copper_html_count(out, v->names);
        html_out_cell(out, !c->vain_known ? "-" : v->wholly ? "yes" : "no");
        html_out_cell(out, copper_class_names[v->class]);
        html_out_code(out, v->example);
        html_out_row_end(out);
    }
    copper_html_end(out, sizeof(columns) / sizeof(*columns), c->n_vain,
                    "csv/copper_vain.csv");
}

static void share(FILE *out, bool is, uint64_t part, uint64_t all)
{
    double value = is && all ? (double) part / (double) all : NAN;

    html_out_figure(out, isfinite(value) ? FIG_SHARE(value) : "-", value);
}

static void roots(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Root", NULL, false},
        {"Observed", NULL, true},
        {"Files observed", NULL, true},
        {"of", NULL, true},
        {"Share", NULL, true},
        {"Folders observed", NULL, true},
        {"of", NULL, true},
        {"Share", NULL, true},
        {"Absent", "looked up, not there", true}};

    copper_html_begin(
        out, "Coverage of roots",
        "What exists was looked up when this report was made. That a file "
        "was not observed does not prove that it can go.",
        COPPER_COLUMNS(columns));
    for (size_t i = 0; i < c->n_used_roots; i++) {
        const struct jp_copper_root *r = &c->used_roots[i];
        bool all = r->exists && !r->cut;

        html_out_row(out);
        html_out_code(out, r->path);
        copper_html_count(out, r->observed);
        copper_html_known(out, r->exists, r->observed_files);
        copper_html_known(out, all, r->files);
        share(out, all, r->observed_files, r->files);
        copper_html_known(out, r->exists, r->observed_dirs);
        copper_html_known(out, all, r->dirs);
        share(out, all, r->observed_dirs, r->dirs);
        copper_html_known(out, r->exists, r->missing);
        html_out_row_end(out);
    }
    copper_html_end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
}

static void cache(const struct jp_copper *c, FILE *out)
{
    static const struct jp_html_column columns[] = {{"Cache", NULL, false},
                                                    {"Ranks", NULL, true},
                                                    {"Used", NULL, true},
                                                    {"Entries", NULL, true}};

    copper_html_begin(out, "Cache use", "When an ioctl asked for it.",
                      COPPER_COLUMNS(columns));
    for (size_t i = 0; i < JP_COPPER_N_CACHES; i++) {
        const struct jp_copper_cache_sum *s = &c->cache[i];

        html_out_row(out);
        html_out_cell(out, s->table);
        copper_html_count(out, s->files_found);
        html_out_figure(out, s->files_found ? FIG_BYTES(s->used_bytes) : "-",
                        (double) s->used_bytes);
        copper_html_known(out, s->files_found, s->entries);
        html_out_row_end(out);
    }
    copper_html_end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
}

void report_copper_path_tables(const struct jp_copper *c, FILE *out)
{
    if (c->n_paths)
        classes(c, out);
    for (unsigned k = 0; k < COPPER_N_CATEGORIES; k++)
        hot(c, k, out);
    if (c->n_vain)
        vain(c, out);
    if (c->n_used_roots)
        roots(c, out);
    if (c->cache[JP_COPPER_CACHE_COMBINED].files_found)
        cache(c, out);
}
