/* fake_counts.c - the stand-in's counters, and the files that they become.
 *
 * There are counters per operation (rows) and, for three tables, per path (a
 * binary tree each). fake_write makes the files of a snapshot or of the end,
 * fake_dump those of an ioctl. Names and contents of files are Copper's,
 * including a spelling mistake. */
#include "contrib/fakecopper/fake_counts.h"

#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 4096 /* size of a cached entry; all have the same */

/* The counters of an operation. */
struct row {
    uint64_t calls, hits, misses, negative, us;
};

/* The counters of a path in a table. */
struct seen {
    char *path;
    uint64_t hits, misses, negative;
};

static const char *const op_names[FAKE_OPS] = {
    "getattr", "readlink", "open",       "read", "flush",   "release",
    "opendir", "readdir",  "releasedir", "init", "destroy", "ioctl"};
static const struct {
    const char *file, *title, *category;
} tables[FAKE_TABLES] = {
    {"md", "Metdata Cache Events", "metadata"}, /* Copper's spelling */
    {"data", "Data Cache Events", "data"},
    {"tree", "Tree Cache Events", "tree"}};

static struct row rows[FAKE_OPS];
static void *paths[FAKE_TABLES];

/* Orders entries by path. */
static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct seen *) a)->path,
                  ((const struct seen *) b)->path);
}

/* Returns the path's entry, created if it is new (*made). */
static struct seen *find_entry(enum fake_table table, const char *path,
                               bool *made)
{
    struct seen key = {.path = (char *) path};
    struct seen **slot = tfind(&key, &paths[table], compare_entries);
    struct seen *one;

    *made = !slot;
    if (slot)
        return *slot;
    one = calloc(1, sizeof(*one));
    if (!one || !(one->path = strdup(path)) ||
        !tsearch(one, &paths[table], compare_entries))
        abort();
    return one;
}

void fake_count(enum fake_op op, uint64_t us)
{
    rows[op].calls++;
    rows[op].us += us;
}

void fake_count_path(enum fake_op op, enum fake_table table, const char *path,
                     bool negative, uint64_t us)
{
    bool made;
    struct seen *one = find_entry(table, path, &made);

    fake_count(op, us);
    if (negative) {
        rows[op].negative++;
        one->negative++;
        /* Copper counts no misses of getattr */
    } else if (made && op != FAKE_GETATTR) {
        rows[op].misses++;
        one->misses++;
    } else {
        rows[op].hits++;
        one->hits++;
    }
}

/* --- files ---------------------------------------------------------------- */

/* Opens a file of a snapshot, and creates its folders. NULL on failure: the
 * daemon goes on. */
static FILE *open_file(const struct fake_profile *p, const char *family,
                       const char *tag, const char *kind)
{
    const char *logs = p->logs;
    bool final = !strcmp(tag, "final");
    char path[PATH_MAX], host[65] = "host";

    gethostname(host, sizeof(host) - 1);
    snprintf(path, sizeof(path), "%s/%s", logs, family);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%s/%s/%s", logs, family, tag);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%s/%s/%s/%s-%ld-%s%s%s", logs, family, tag,
             host, p->pid, final ? "" : tag, final ? "" : "-", kind);
    return fopen(path, "w");
}

/* Adds up all operations. */
static struct row sum(void)
{
    struct row all = {0};

    for (int i = 0; i < FAKE_OPS; i++) {
        all.calls += rows[i].calls;
        all.hits += rows[i].hits;
        all.misses += rows[i].misses;
        all.negative += rows[i].negative;
        all.us += rows[i].us;
    }
    return all;
}

/* Writes the totals. The lines about ENOENT's TTL are there, but the stand-in
 * has none. */
static void write_aggregate(FILE *out)
{
    struct row all = sum();

    fprintf(out,
            "metric,value\ntotal_counted_fuse_operations,%" PRIu64
            "\ntotal_cache_hits,%" PRIu64 "\ntotal_cache_misses,%" PRIu64
            "\ntotal_negative_results,%" PRIu64
            "\nestimated_cache_served_operations_saved_by_copper,%" PRIu64
            "\nmetadata_enoent_ttl_stores,0\nmetadata_enoent_ttl_serves,0\n"
            "metadata_enoent_ttl_expires,0\n"
            "metadata_enoent_ttl_clears_on_success_or_non_enoent,0\n"
            "estimated_repeated_metadata_lookups_avoided_by_ttl,0\n"
            "total_measured_latency_seconds,%.6f\n",
            all.calls, all.hits, all.misses, all.negative, all.hits,
            (double) all.us / 1e6);
}

/* Writes a row per operation that occurred. */
static void write_operations(FILE *out)
{
    fputs("operation,total_calls,cache_hits,cache_misses,negative_results,"
          "avg_latency_us,total_latency_s\n",
          out);
    for (int i = 0; i < FAKE_OPS; i++)
        if (rows[i].calls)
            fprintf(out,
                    "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                    ",%.2f,%.6f\n",
                    op_names[i], rows[i].calls, rows[i].hits, rows[i].misses,
                    rows[i].negative,
                    (double) rows[i].us / (double) rows[i].calls,
                    (double) rows[i].us / 1e6);
}

/* Writes the settings. */
static void write_summary(FILE *out, const struct fake_profile *p)
{
    fprintf(out,
            "# Copper Profiling Summary\n\n- Profiling mode: `%s`\n"
            "- Metadata ENOENT TTL (ms): `%d`\n- Top-path limit: `%d`\n"
            "- Full path outputs enabled: `%s`\n",
            p->full        ? "full-path"
            : p->top_n > 0 ? "top-path"
                           : "aggregate-only",
            p->ttl_ms, p->top_n, p->full ? "yes" : "no");
}

/* --- tables: the walks of a tree have no argument ------------------------- */

/* twalk() passes no argument to its callback. */
static FILE *walk_out;
static struct seen **walk_list;
static size_t walk_n;

/* Writes a path's counters. twalk() visits inner nodes three times; one visit
 * counts. */
static void print_entry(const void *node, VISIT which, int depth)
{
    const struct seen *one = *(struct seen *const *) node;

    (void) depth;
    if (which == postorder || which == leaf)
        fprintf(walk_out,
                "%s {\ncache hits: %" PRIu64 ",\ncache misses: %" PRIu64
                ",\nneg: %" PRIu64 "\n}\n",
                one->path, one->hits, one->misses, one->negative);
}

/* Appends a path to walk_list, which doubles at each power of two. */
static void list_entry(const void *node, VISIT which, int depth)
{
    (void) depth;
    if (which != postorder && which != leaf)
        return;
    if (!(walk_n & (walk_n - 1))) {
        walk_list = realloc(walk_list,
                            (walk_n ? 2 * walk_n : 1) * sizeof(struct seen *));
        if (!walk_list)
            abort();
    }
    walk_list[walk_n++] = *(struct seen *const *) node;
}

/* Orders by number of events, most first. */
static int by_events(const void *a, const void *b)
{
    const struct seen *x = *(struct seen *const *) a;
    const struct seen *y = *(struct seen *const *) b;
    uint64_t n = x->hits + x->misses + x->negative;
    uint64_t m = y->hits + y->misses + y->negative;

    return (n < m) - (n > m);
}

/* Writes the paths with the most events of each table. */
static void write_top(FILE *out, int top_n)
{
    fputs("category,path,total_events,cache_hits,cache_misses,"
          "negative_results,ttl_stores,ttl_serves,ttl_expires,ttl_clears\n",
          out);
    for (int t = 0; t < FAKE_TABLES; t++) {
        walk_n = 0;
        twalk(paths[t], list_entry);
        if (walk_n)
            qsort(walk_list, walk_n, sizeof(struct seen *), by_events);
        for (size_t i = 0; i < walk_n && i < (size_t) top_n; i++) {
            const struct seen *e = walk_list[i];

            fprintf(out,
                    "%s,\"%s\",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                    ",0,0,0,0\n",
                    tables[t].category, e->path,
                    e->hits + e->misses + e->negative, e->hits, e->misses,
                    e->negative);
        }
    }
}

/* Writes all paths. end: text after the last brace, which differs between
 * Copper's two ways to write it. */
static void write_tables(const struct fake_profile *p, const char *tag,
                         const char *end)
{
    for (int t = 0; t < FAKE_TABLES; t++) {
        char kind[64];

        snprintf(kind, sizeof(kind), "%s_table_cache_event.output",
                 tables[t].file);
        walk_out = open_file(p, "tables", tag, kind);
        if (!walk_out)
            continue;
        fprintf(walk_out, "%s {\n", tables[t].title);
        twalk(paths[t], print_entry);
        fprintf(walk_out, "}%s", end);
        fclose(walk_out);
    }
}

/* Writes the size of a path's entry. */
static void print_size(const void *node, VISIT which, int depth)
{
    const struct seen *one = *(struct seen *const *) node;

    (void) depth;
    if (which != postorder && which != leaf)
        return;
    walk_n++;
    fprintf(walk_out, "%s: %d\n", one->path, SIZE);
}

/* Writes the sizes of the cached entries. */
static void write_sizes(const struct fake_profile *p)
{
    for (int t = 0; t < FAKE_TABLES; t++) {
        char kind[64];

        snprintf(kind, sizeof(kind), "%s_cache_size.output", tables[t].file);
        walk_out = open_file(p, "tables", "final", kind);
        if (!walk_out)
            continue;
        walk_n = 0;
        twalk(paths[t], print_size);
        fprintf(walk_out, "====\nTotal bytes: %zu\ntotal number of %s: %zu\n",
                walk_n * SIZE, t == FAKE_DATA ? "files" : "entries", walk_n);
        fclose(walk_out);
    }
}

/* Writes one of the four files, whose number is `which`. */
static void write_one(const struct fake_profile *p, const char *tag,
                      const char *kind, int which)
{
    FILE *out = open_file(p, "profiling", tag, kind);

    if (!out)
        return;
    if (which == 0)
        write_aggregate(out);
    else if (which == 1)
        write_operations(out);
    else if (which == 2)
        write_summary(out, p);
    else
        write_top(out, p->top_n);
    fclose(out);
}

void fake_write(const struct fake_profile *profile, const char *tag)
{
    if (!profile->on)
        return;
    write_one(profile, tag, "profiling_aggregate.csv", 0);
    write_one(profile, tag, "profiling_operations.csv", 1);
    write_one(profile, tag, "profiling_summary.md", 2);
    if (profile->top_n > 0)
        write_one(profile, tag, "profiling_top_paths.csv", 3);
    if (profile->full)
        write_tables(profile, tag, "");
}

/* --- an ioctl's ----------------------------------------------------------- */

/* Writes one counter of all operations. */
static void dump_column(const struct fake_profile *p, const char *kind,
                        const char *title, size_t offset)
{
    FILE *out = open_file(p, "tables", "final", kind);

    if (!out)
        return;
    fprintf(out, "%s {\n", title);
    for (int i = 0; i < FAKE_OPS; i++)
        fprintf(out, "%s: %" PRIu64 "%s\n", op_names[i],
                *(const uint64_t *) ((const char *) &rows[i] + offset),
                i + 1 < FAKE_OPS ? "," : "");
    fputs("}\n", out);
    fclose(out);
}

void fake_dump(const struct fake_profile *p)
{
    dump_column(p, "operation_count.output", "Aggregate Operation Counter",
                offsetof(struct row, calls));
    dump_column(p, "operation_time.output",
                "Aggregate Operation Time (microseconds)",
                offsetof(struct row, us));
    dump_column(p, "operation_cache_hit.output",
                "Aggregate Operation Cache Hit", offsetof(struct row, hits));
    dump_column(p, "operation_cache_miss.output",
                "Aggregate Operation Cache Miss", offsetof(struct row, misses));
    dump_column(p, "operation_cache_neg.output",
                "Aggregate Operation Cache Negative",
                offsetof(struct row, negative));
    write_tables(
        p, "final",
        "\n"); /* everything since the start: counters are never reset */
    write_sizes(p);
    fake_write(p, "ioctl-snapshot");
}
