/* copper_tables_paths.c - the columns of a Copper cache's tables on paths,
 * folders and caches. See copper_tables.c.
 *
 * Figures on paths have two sources: the busiest paths of each daemon, whose
 * sums are lower bounds, and full tables, whose sums are exact. */
#include "orchestrator/copper/copper_feature.h"

#include <math.h>

#include "common/figure.h"

#define ALL SIZE_MAX
#define MAX_HTML 200 /* rows in the page */

/* --- classes of paths ----------------------------------------------------- */

JP_COPPER_SOME(class, classes, JP_COPPER_N_CLASSES,
               c->classes[i].top_rows || c->classes[i].paths)

/* Unknown unless a daemon left its busiest paths; below, the same for full
 * tables. */
static void value_of_top(const struct jp_row *row, struct jp_value *v,
                         uint64_t n)
{
    value_known(v, copper_of(row->report)->n_top, n);
}

static void value_of_tables(const struct jp_row *row, struct jp_value *v,
                            uint64_t n)
{
    value_known(v, copper_of(row->report)->n_tables, n);
}

#define SUM_GETTER(name, ...) JP_GETTER(name, jp_copper_class_sum, __VA_ARGS__)
SUM_GETTER(class_name, value_text(v, copper_class_names[at->class]))
SUM_GETTER(class_top_rows, value_of_top(row, v, at->top_rows))
SUM_GETTER(class_top_events, value_of_top(row, v, at->top_events))
SUM_GETTER(class_paths, value_of_tables(row, v, at->paths))
SUM_GETTER(class_events, value_of_tables(row, v, at->events))
SUM_GETTER(class_any_example,
           value_text(v, at->example ? at->example : at->top_example))

#define FIELD(member) JP_FIELD(struct jp_copper_class_sum, member)
/* top_*: lower bounds; paths, events, example: exact */
static const struct jp_column classes[] = {
    {"class", JP_COL_WORD, JP_CSV, 1, 1, 0, "Class", "of paths",
     .get = get_class_name},
    {"top_rows", JP_COL_COUNT, JP_CSV | JP_MAYBE | JP_TIP, 2, 2, 0, "Top rows",
     "rows of top_paths.csv, one a rank", .get = get_class_top_rows},
    {"top_events", JP_COL_COUNT, JP_CSV | JP_MAYBE | JP_TIP, 3, 3, 0,
     "Top events", "a lower bound; as Copper's own tool counts",
     .get = get_class_top_events},
    {"top_example", JP_COL_CODE, JP_CSV | JP_MAYBE, 4,
     .help = "the first of these", FIELD(top_example)},
    {"paths", JP_COL_COUNT, JP_CSV | JP_MAYBE | JP_TIP, 5, 4, 0, "Paths",
     "distinct, by full tables", .get = get_class_paths},
    {"events", JP_COL_COUNT, JP_CSV | JP_MAYBE | JP_TIP, 6, 5, 0, "Events",
     "exact, by full tables", .get = get_class_events},
    {"example", JP_COL_CODE, JP_CSV | JP_MAYBE, 7,
     .help = "the busiest of them", FIELD(example)},
    {"example", JP_COL_CODE, 0, 0, 6, 0, "Example", NULL,
     .get = get_class_any_example},
};
#undef FIELD
const struct jp_table table_copper_classes = {
    .name = "copper_classes",
    .json = "copper.path_classes",
    .help = "one row per class of paths",
    JP_COLUMNS(classes),
    JP_FOUND_BY(class),
    .max_json = JP_COPPER_N_CLASSES,
    .max_html = JP_COPPER_N_CLASSES,
};

/* --- paths ---------------------------------------------------------------- */

JP_COPPER_ARRAY(path, paths, n_paths)

static const char *const path_sources[] = {"top", "full"};

/* The full bar is the busiest path of the category, which comes first. */
static void get_path_events(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_copper *c = copper_of(row->report);
    const struct jp_copper_path *p = row->at;

    value_count(v, p->events);
    value_fill(v, (double) c->paths[c->path_from[p->category]].events);
}

/* Absent paths that the cache remembers have counters of their own. */
#define PATH_COUNT(name, is_ttl, i)                                            \
    JP_GETTER(path_##name, jp_copper_path,                                     \
              value_count(v, (at->category == COPPER_TTL) == (is_ttl)          \
                                 ? at->count[i]                                \
                                 : 0))
PATH_COUNT(hits, false, 0)
PATH_COUNT(misses, false, 1)
PATH_COUNT(negatives, false, 2)
PATH_COUNT(stores, true, 0)
PATH_COUNT(serves, true, 1)
PATH_COUNT(expires, true, 2)
PATH_COUNT(clears, true, 3)
/* A rank that does not list a path may still have used it. */
static void get_path_range(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_copper_path *p = row->at;

    v->type = JP_VALUE_TEXT;
    v->text = v->buf;
    v->real = (double) p->most;
    if (p->least == p->most)
        snprintf(v->buf, sizeof(v->buf), "%s", FIG_COUNT(p->most));
    else
        snprintf(v->buf, sizeof(v->buf), "%s to %s", FIG_COUNT(p->least),
                 FIG_COUNT(p->most));
}

JP_GETTER(path_category, jp_copper_path,
          value_text(v, copper_category_names[at->category]))
JP_GETTER(path_class, jp_copper_path,
          value_text(v, copper_class_names[at->class]))
JP_GETTER(path_source, jp_copper_path, value_text(v, path_sources[at->full]))

/* clang-format off */
#define PATH_COLUMNS                                                           \
    {"path", JP_COL_CODE, JP_CSV, 1, 1, 0, "Path", "below the mount",          \
     JP_FIELD(struct jp_copper_path, path)},                                   \
    {"class", JP_COL_WORD, JP_CSV, 2, 4, 0, "Class", "of paths",               \
     .get = get_path_class},                                                   \
    {"events", JP_COL_COUNT, JP_CSV | JP_BAR, 3, 2, 0, "Events",               \
     "of all ranks", .get = get_path_events},                                  \
    {"ranks", JP_COL_COUNT, JP_CSV, 4, 3, 0, "Ranks", "that saw it",           \
     JP_FIELD(struct jp_copper_path, ranks)}
#define COUNT_COLUMN(name, place, what, getter)                                \
    {name, JP_COL_COUNT, JP_CSV, place, .help = what, .get = getter}
#define CACHE_COLUMNS                                                          \
    COUNT_COLUMN("cache_hits", 5, "answered from memory", get_path_hits),      \
    COUNT_COLUMN("cache_misses", 6, "not in the cache", get_path_misses),      \
    COUNT_COLUMN("negative_results", 7, "ENOENT or another error",             \
                 get_path_negatives)
#define TTL_COLUMNS                                                            \
    COUNT_COLUMN("ttl_stores", 5, "remembered as absent", get_path_stores),    \
    COUNT_COLUMN("ttl_serves", 6, "answered from that", get_path_serves),      \
    COUNT_COLUMN("ttl_expires", 7, "ran out of time", get_path_expires),       \
    COUNT_COLUMN("ttl_clears", 8, "found after all", get_path_clears)
#define RANGE_COLUMNS                                                          \
    {"events_min", JP_COL_COUNT, JP_CSV, 9,                                    \
     .help = "of these ranks, the one with fewest",                            \
     JP_FIELD(struct jp_copper_path, least)},                                  \
    {"events_max", JP_COL_COUNT, JP_CSV, 10, .help = "the one with most",      \
     JP_FIELD(struct jp_copper_path, most)},                                   \
    {"range", JP_COL_FIGURE, JP_TIP, 0, 5, 0, "Events of one rank",            \
     "from the rank with fewest to the one with most", .get = get_path_range}
/* clang-format on */
static const struct jp_column paths[] = {
    {"category", JP_COL_WORD, JP_CSV, .help = "of Copper's tables",
     .get = get_path_category, .words = copper_category_names,
     .n_words = COPPER_N_CATEGORIES},
    PATH_COLUMNS,
    CACHE_COLUMNS,
    TTL_COLUMNS,
    {"source", JP_COL_WORD, JP_CSV, .help = "top: a lower bound",
     .get = get_path_source, JP_WORDS(path_sources)},
    RANGE_COLUMNS,
};
static const struct jp_column cached_paths[] = {PATH_COLUMNS, CACHE_COLUMNS,
                                                RANGE_COLUMNS};
static const struct jp_column absent_paths[] = {PATH_COLUMNS, TTL_COLUMNS,
                                                RANGE_COLUMNS};
const struct jp_table table_copper_paths = {
    .name = "copper_paths",
    .help = "one row per path of a category",
    JP_COLUMNS(paths),
    JP_FOUND_BY(path),
};

/* The busiest paths of a category. */
#define HOT(name_, category, list, key)                                        \
    static size_t count_##name_(const struct jp_report *report)                \
    {                                                                          \
        const struct jp_copper *c = copper_of(report);                         \
                                                                               \
        return c ? c->path_from[(category) + 1] - c->path_from[category] : 0;  \
    }                                                                          \
    static void find_##name_(struct jp_row *row)                               \
    {                                                                          \
        const struct jp_copper *c = copper_of(row->report);                    \
                                                                               \
        row->at = &c->paths[c->path_from[category] + row->index];              \
    }                                                                          \
    static const struct jp_table table_##name_ = {                             \
        .name = "copper_paths",                                                \
        .json = "copper.hot_paths." key,                                       \
        JP_COLUMNS(list),                                                      \
        JP_FOUND_BY(name_),                                                    \
        .max_json = JP_COPPER_HOT,                                             \
        .max_html = JP_COPPER_HOT,                                             \
    };
HOT(hot_metadata, COPPER_METADATA, cached_paths, "metadata")
HOT(hot_data, COPPER_DATA, cached_paths, "data")
HOT(hot_folders, COPPER_TREE, cached_paths, "tree")
HOT(hot_absent, COPPER_TTL, absent_paths, "metadata_ttl")
const struct jp_table *const tables_copper_hot[COPPER_N_CATEGORIES] = {
    [COPPER_METADATA] = &table_hot_metadata,
    [COPPER_DATA] = &table_hot_data,
    [COPPER_TREE] = &table_hot_folders,
    [COPPER_TTL] = &table_hot_absent};

/* --- folders searched for what they do not hold --------------------------- */

JP_COPPER_ARRAY(search, failed_lookups, n_failed_lookups)

JP_GETTER(search_class, jp_copper_failed,
          value_text(v, copper_class_names[at->class]))

/* Unknown unless all daemons left full tables, which name every file that was
 * read. */
static void get_search_never_read(const struct jp_row *row, struct jp_value *v)
{
    const struct jp_copper_failed *at = row->at;

    value_bool(v, at->wholly);
    if (!copper_of(row->report)->vain_known)
        v->type = JP_VALUE_UNKNOWN;
}

#define FIELD(member) JP_FIELD(struct jp_copper_failed, member)
/* the folders with most failed lookups */
static const struct jp_column searches[] = {
    {"folder", JP_COL_CODE, JP_CSV, 1, 1, 0, "Folder", "that was searched",
     FIELD(folder)},
    {"names", JP_COL_COUNT, JP_CSV | JP_TIP, 2, 3, 0, "Names", "distinct",
     FIELD(names)},
    {"lookups", JP_COL_COUNT, JP_CSV | JP_TIP, 3, 2, 0, "Lookups",
     "that ended in ENOENT", FIELD(events)},
    {"never_read", JP_COL_BOOL, JP_CSV | JP_MAYBE | JP_TIP, 4, 4, 0,
     "Never read", "no file below it was read", .get = get_search_never_read},
    {"class", JP_COL_WORD, JP_CSV, 5, 5, 0, "Mostly",
     "class of most of these lookups", .get = get_search_class},
    {"example", JP_COL_CODE, JP_CSV, 6, 6, 0, "Example", "of a path",
     FIELD(example)},
};
#undef FIELD
const struct jp_table table_copper_searches = {
    .name = "copper_vain",
    .json = "copper.searched_in_vain",
    .help = "one row per folder with lookups of names that do not exist",
    JP_COLUMNS(searches),
    JP_FOUND_BY(search),
    .max_json = 100,
    .max_html = MAX_HTML,
};

/* --- coverage of roots ---------------------------------------------------- */

JP_COPPER_ARRAY(root, used_roots, n_used_roots)

/* Returns true if all files below the root were counted. */
static bool is_counted(const struct jp_copper_root *r)
{
    return r->exists && !r->cut;
}

/* A share of files; unknown if they were not counted. */
static void value_part(struct jp_value *v, const struct jp_copper_root *r,
                       uint64_t part, uint64_t all)
{
    value_finite(v, is_counted(r) && all ? (double) part / (double) all : NAN);
}

/* by exists + cut */
static const char *const root_states[] = {"no", "yes", "cut"};

#define ROOT_GETTER(name, ...)                                                 \
    JP_GETTER(root_##name, jp_copper_root, __VA_ARGS__)
ROOT_GETTER(state, value_text(v, root_states[at->exists + at->cut]))
ROOT_GETTER(files, value_known(v, is_counted(at), at->files))
ROOT_GETTER(dirs, value_known(v, is_counted(at), at->dirs))
ROOT_GETTER(file_share, value_part(v, at, at->observed_files, at->files))
ROOT_GETTER(dir_share, value_part(v, at, at->observed_dirs, at->dirs))

#define FIELD(member) JP_FIELD(struct jp_copper_root, member)
#define EXISTS JP_IF(struct jp_copper_root, exists)
/* files of the root now, against the paths that were observed then */
static const struct jp_column roots[] = {
    {"root", JP_COL_CODE, JP_CSV, 1, 1, 0, "Root", "folder", FIELD(path)},
    {"exists", JP_COL_WORD, JP_CSV,
     .help = "when the report was made; cut: too large to count",
     .get = get_root_state, JP_WORDS(root_states)},
    {"observed_paths", JP_COL_COUNT, JP_CSV, 4, 2, 0, "Observed",
     "paths below it", FIELD(observed)},
    {"observed_files", JP_COL_COUNT, JP_CSV | JP_MAYBE, 5, 3, 0,
     "Files observed", "of these", FIELD(observed_files), EXISTS},
    {"files", JP_COL_COUNT, JP_CSV | JP_MAYBE, 6, 4, 0, "of", "that exist",
     .get = get_root_files},
    {"observed_dirs", JP_COL_COUNT, JP_CSV | JP_MAYBE, 7, 6, 0,
     "Folders observed", "of these", FIELD(observed_dirs), EXISTS},
    {"dirs", JP_COL_COUNT, JP_CSV | JP_MAYBE, 8, 7, 0, "of", "that exist",
     .get = get_root_dirs},
    {"missing_probe_paths", JP_COL_COUNT, JP_CSV | JP_MAYBE | JP_TIP, 9, 9, 0,
     "Absent", "looked up, but absent", FIELD(missing), EXISTS},
    {"example", JP_COL_CODE, JP_CSV | JP_MAYBE, 10,
     .help = "the first observed path", FIELD(example)},
    {"exists", JP_COL_BOOL, 0, 2, .help = "when the report was made",
     FIELD(exists)},
    {"cut", JP_COL_BOOL, 0, 3, .help = "too large to count", FIELD(cut)},
    {"file_share", JP_COL_SHARE, 0, 0, 5, 0, "Share", NULL,
     .get = get_root_file_share},
    {"dir_share", JP_COL_SHARE, 0, 0, 8, 0, "Share", NULL,
     .get = get_root_dir_share},
};
#undef FIELD
#undef EXISTS
const struct jp_table table_copper_roots = {
    .name = "copper_roots",
    .json = "copper.roots",
    .help = "one row per root; its files were compared with the observed "
            "paths",
    JP_COLUMNS(roots),
    JP_FOUND_BY(root),
    .max_json = ALL,
    .max_html = ALL,
};

/* --- cache use ------------------------------------------------------------ */

JP_COPPER_SOME(cache, cache, JP_COPPER_N_CACHES, 1)

static const char *const cache_names[] = {"data", "tree", "metadata",
                                          "combined"};

JP_GETTER(cache_human, jp_copper_cache_sum,
          value_name(v, at->files_found ? figure_bytes(at->used_bytes, v->buf)
                                        : NULL))

#define FIELD(member) JP_FIELD(struct jp_copper_cache_sum, member)
#define FOUND JP_IF(struct jp_copper_cache_sum, files_found)
/* only daemons in which an ioctl asked for the figures */
static const struct jp_column caches[] = {
    {"table", JP_COL_WORD, JP_CSV, 1, 1, 0, "Cache", "one of a daemon's",
     FIELD(table), JP_WORDS(cache_names)},
    {"files_found", JP_COL_COUNT, JP_CSV, 2, 2, 0, "Ranks",
     "that were requested by an ioctl", FIELD(files_found)},
    {"used_bytes", JP_COL_BYTES, JP_CSV | JP_MAYBE, 3, 3, 0, "Used",
     "over these", FIELD(used_bytes), FOUND},
    {"used_human", JP_COL_TEXT, JP_CSV | JP_MAYBE, .help = "used_bytes to read",
     .get = get_cache_human},
    {"entries", JP_COL_COUNT, JP_CSV | JP_MAYBE, 4, 4, 0, "Entries",
     "over these", FIELD(entries), FOUND},
};
#undef FIELD
#undef FOUND
const struct jp_table table_copper_cache = {
    .name = "copper_cache",
    .json = "copper.cache_use",
    .help = "one row per cache of the daemons, over ranks",
    JP_COLUMNS(caches),
    JP_FOUND_BY(cache),
    .max_json = JP_COPPER_N_CACHES,
    .max_html = JP_COPPER_N_CACHES,
};
