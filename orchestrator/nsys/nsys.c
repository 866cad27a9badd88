/* nsys.c - find the exports of a step's ranks, read each of them, merge them,
 * and print the tables.
 *
 * nsys_load: find the files, sort them by rank, read and merge one after the
 * other (take, merge_table), then sort the rows (collect). The first part
 * prints the tables in the layout of `nsys profile --stats`. */
#include "orchestrator/nsys/nsys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/utf8.h"
#include "common/vector.h"
#include "plugins/nsys/nsys_read.h"

/* The layout of tables, as in `nsys profile --stats`. */

/* CELL: bytes of a cell; a character has at most 4. */
enum { NAME_WIDTH = 100, MAX_COLUMNS = 12, CELL = 4 * NAME_WIDTH + 8 };

/* The figure that a column shows. The order is that of the columns. */
enum figure {
    SHARE,
    TOTAL,
    COUNT,
    AVERAGE,
    MINIMUM,
    MAXIMUM,
    DEVIATION,
    RANKS,
    RANK_MIN,
    RANK_MAX,
    IMBALANCE,
    NAME
};

/* Words and format of each table, as nsys has them. */
static const struct layout {
    const char *title;
    const char *count; /* heading of the counts */
    const char *name;  /* heading of the names */
    bool is_size;      /* MB instead of ns, and no share */
    bool always;       /* print it even without rows */
} layouts[NSYS_TABLES] = {
    [NSYS_API] = {"CUDA API Statistics:", "Num Calls", "Name", false, true},
    [NSYS_KERNELS] = {"CUDA Kernel Statistics:", "Instances", "Name", false,
                      true},
    [NSYS_MEM_TIME] = {"CUDA Memory Operation Statistics (by time):", "Count",
                       "Operation", false, true},
    [NSYS_MEM_SIZE] = {"CUDA Memory Operation Statistics (by size):", "Count",
                       "Operation", true, true},
    [NSYS_PUSHPOP] = {"NVTX Push-Pop Range Statistics:", "Instances", "Range",
                      false, false},
    [NSYS_STARTEND] = {"NVTX Start-End Range Statistics:", "Instances", "Range",
                       false, false},
};

/* The heading of a column; sizes have other words than times. */
static const char *heading(const struct layout *l, enum figure figure)
{
    static const char *const words[][2] = {
        [SHARE] = {"Time(%)", NULL},
        [TOTAL] = {"Total Time (ns)", "Total (MB)"},
        [AVERAGE] = {"Average (ns)", "Average (MB)"},
        [MINIMUM] = {"Minimum (ns)", "Minimum (MB)"},
        [MAXIMUM] = {"Maximum (ns)", "Maximum (MB)"},
        [DEVIATION] = {"StdDev (ns)", "StdDev (MB)"},
        [RANKS] = {"Ranks", "Ranks"},
        [RANK_MIN] = {"Rank Minimum (ns)", "Rank Minimum (MB)"},
        [RANK_MAX] = {"Rank Maximum (ns)", "Rank Maximum (MB)"},
        [IMBALANCE] = {"Imbalance", "Imbalance"},
    };

    return figure == COUNT  ? l->count
           : figure == NAME ? l->name
                            : words[figure][l->is_size];
}

/* Shortens text to NAME_WIDTH characters, the last one an ellipsis if it was
 * longer. Returns the number of characters, which is the width. */
static size_t cut(const char *text, char buf[CELL])
{
    size_t n = 0, at = 0, end = 0;

    while (text[at]) {
        uint32_t point;
        /* an invalid byte counts as a character */
        size_t len = utf8_decode(text + at, strlen(text + at), &point);

        if (n == NAME_WIDTH) {
            snprintf(buf, CELL, "%.*s\u2026", (int) end, text);
            return NAME_WIDTH;
        }
        /* where to cut, if the text turns out to be too long */
        if (++n < NAME_WIDTH)
            end = at + (len ? len : 1);
        at += len ? len : 1;
    }
    snprintf(buf, CELL, "%s", text);
    return n;
}

/* A figure that may have decimals: ns, or MB for sizes. */
static void put_amount(const struct layout *l, double amount, char buf[CELL])
{
    if (l->is_size)
        snprintf(buf, CELL, "%.3f", amount / 1e6);
    else
        snprintf(buf, CELL, "%.1f", amount);
}

/* A whole number: ns, or MB for sizes. */
static void put_whole(const struct layout *l, uint64_t amount, char buf[CELL])
{
    if (l->is_size)
        snprintf(buf, CELL, "%.3f", (double) amount / 1e6);
    else
        snprintf(buf, CELL, "%" PRIu64, amount);
}

/* Formats a cell. Returns its width. */
static size_t put_cell(const struct layout *l, const struct jp_nsys_row *row,
                       enum figure figure, char buf[CELL])
{
    switch (figure) {
    case SHARE:
        snprintf(buf, CELL, "%.1f", 100 * row->share);
        break;
    case TOTAL:
        put_whole(l, row->sum.total, buf);
        break;
    case COUNT:
        snprintf(buf, CELL, "%" PRIu64, row->sum.n);
        break;
    case AVERAGE:
        put_amount(l, nsys_sum_average(&row->sum), buf);
        break;
    case MINIMUM:
        put_whole(l, row->sum.min, buf);
        break;
    case MAXIMUM:
        put_whole(l, row->sum.max, buf);
        break;
    case DEVIATION:
        put_amount(l, nsys_sum_deviation(&row->sum), buf);
        break;
    case RANKS:
        snprintf(buf, CELL, "%" PRIu32, row->ranks);
        break;
    case RANK_MIN:
        put_whole(l, row->rank_min, buf);
        break;
    case RANK_MAX:
        put_whole(l, row->rank_max, buf);
        break;
    case IMBALANCE:
        snprintf(buf, CELL, "%.2f", row->imbalance);
        break;
    case NAME:
        return cut(row->name, buf);
    }
    return strlen(buf);
}

/* The columns of a table. Those about ranks are left out for a single rank.
 * Returns their number. */
static size_t choose(const struct layout *l, bool several,
                     enum figure columns[MAX_COLUMNS])
{
    size_t n = 0;

    for (int f = SHARE; f <= NAME; f++)
        if (!(l->is_size && f == SHARE) &&
            (several || f < RANKS || f > IMBALANCE))
            columns[n++] = (enum figure) f;
    return n;
}

/* Prints the headings, centred in their columns, and a line below them. */
static void put_headings(const struct layout *l, const enum figure *columns,
                         const size_t *widths, size_t n, FILE *out)
{
    size_t rest = 0;

    for (size_t i = 0; i < n; i++) {
        const char *word = heading(l, columns[i]);
        /* `rest` is the space right of the heading before */
        size_t left = (widths[i] - strlen(word)) / 2;

        fprintf(out, "%*s%s", (int) (rest + (i ? 2 : 1) + left), "", word);
        rest = widths[i] - strlen(word) - left;
    }
    fputc('\n', out);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "  " : " ", out);
        for (size_t k = 0; k < widths[i]; k++)
            fputc('-', out);
    }
    fputc('\n', out);
}

static void put_row(const struct layout *l, const struct jp_nsys_row *row,
                    const enum figure *columns, const size_t *widths, size_t n,
                    FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        char cell[CELL];
        size_t width = put_cell(l, row, columns[i], cell);

        /* figures are right-aligned, names left-aligned */
        fprintf(out, "%s%*s", i ? "  " : " ",
                columns[i] == NAME ? 0 : (int) (widths[i] - width), "");
        /* a name may contain anything */
        quote_print(out, cell);
    }
    fputc('\n', out);
}

/* Prints a table; top: limit of rows, 0: none. Widths are those of the rows
 * that are shown. */
static void put_table(const struct jp_nsys *nsys, enum nsys_table table,
                      size_t top, FILE *out)
{
    const struct layout *l = &layouts[table];
    size_t n, widths[MAX_COLUMNS], n_columns;
    const struct jp_nsys_row *rows = nsys_rows(nsys, table, &n);
    size_t shown = top && top < n ? top : n;
    enum figure columns[MAX_COLUMNS];
    char cell[CELL];

    /* NVTX tables are only printed if there are ranges */
    if (!n && !l->always)
        return;
    /* first find the widths, then print */
    n_columns = choose(l, nsys->n_ranks - nsys->n_bad > 1, columns);
    for (size_t i = 0; i < n_columns; i++) {
        widths[i] = strlen(heading(l, columns[i]));
        for (size_t k = 0; k < shown; k++) {
            size_t width = put_cell(l, &rows[k], columns[i], cell);

            widths[i] = widths[i] > width ? widths[i] : width;
        }
    }
    fprintf(out, "%s\n\n", l->title);
    if (!n) {
        fputs(" none\n\n", out);
        return;
    }
    put_headings(l, columns, widths, n_columns, out);
    for (size_t k = 0; k < shown; k++)
        put_row(l, &rows[k], columns, widths, n_columns, out);
    if (shown < n)
        fprintf(out, " ... and %zu more\n", n - shown);
    fputc('\n', out);
}

void nsys_print(const struct jp_nsys *nsys, size_t top, FILE *out)
{
    for (int t = 0; t < NSYS_TABLES; t++)
        put_table(nsys, (enum nsys_table) t, top, out);
}

const char *const nsys_table_names[NSYS_TABLES] = {
    [NSYS_API] = "api",
    [NSYS_KERNELS] = "kernel",
    [NSYS_MEM_TIME] = "memory_time",
    [NSYS_MEM_SIZE] = "memory_size",
    [NSYS_PUSHPOP] = "nvtx_pushpop",
    [NSYS_STARTEND] = "nvtx_startend",
};

/* --- find ---------------------------------------------------------------- */

/* Exports and reports below the inputs. */
struct files {
    char **at;
    size_t n, room, skipped;
    char **reports; /* names without their ending */
    size_t n_reports, reports_room;
    bool failed;
};

/* Whether the name ends so, and is longer than that. */
static bool ends(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

/* Appends the first len bytes of path to a list. */
static void add_path(char ***list, size_t *n, size_t *room, const char *path,
                     size_t len, bool *failed)
{
    if (VECTOR_ROOM(*list, *n + 1, *room) < 0) {
        *failed = true;
        return;
    }
    (*list)[*n] = strndup(path, len);
    if ((*list)[*n])
        ++*n;
    else
        *failed = true;
}

static void add_file(struct files *f, const char *path)
{
    if (f->n == JP_NSYS_MAX)
        f->skipped++;
    else
        add_path(&f->at, &f->n, &f->room, path, strlen(path), &f->failed);
}

/* A callback of type treewalk_see. */
static int see_file(void *arg, const struct treewalk_entry *entry)
{
    static const char *const reports[] = {".nsys-rep", ".qdrep"};
    struct files *f = arg;

    if (entry->what != TREEWALK_FILE)
        return 0;
    if (ends(entry->name, ".sqlite"))
        add_file(f, entry->path);
    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++)
        if (ends(entry->name, reports[i]) && f->n_reports < JP_NSYS_MAX)
            add_path(&f->reports, &f->n_reports, &f->reports_room, entry->path,
                     strlen(entry->path) - strlen(reports[i]), &f->failed);
    return 0;
}

/* Walks a folder. A file that was named explicitly is taken whatever its ending
 * is. */
static int find_exports(const char *input, struct files *f,
                        struct jp_error *err)
{
    int fd = open(input, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    /* treewalk takes over the descriptor */
    if (fd >= 0)
        return treewalk(fd, input, JP_NSYS_DEPTH, see_file, f) < 0 || f->failed
                   ? error_set(err, "out of memory")
                   : 0;
    /* neither a folder nor a file */
    if (errno != ENOTDIR)
        return error_set(err, "%s: %m", QUOTE(input));
    add_file(f, input);
    return f->failed ? error_set(err, "out of memory") : 0;
}

/* For qsort and bsearch of paths. */
static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Counts reports that have no export beside them. The exports are sorted. */
static size_t count_unexported(const struct files *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n_reports; i++) {
        /* nsys names an export like its report */
        char *export = text_format("%s.sqlite", f->reports[i]);

        n += export &&
             !(f->n && bsearch(&export, f->at, f->n, sizeof(*f->at), by_text));
        free(export);
    }
    return n;
}

static void files_fini(struct files *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->at[i]);
    for (size_t i = 0; i < f->n_reports; i++)
        free(f->reports[i]);
    free(f->at);
    free(f->reports);
}

/* --- merge --------------------------------------------------------------- */

/* The rows made so far, by number of their name. */
struct merging {
    struct jp_nsys *out;
    struct nsys_names names[NSYS_TABLES];
    struct jp_nsys_row *rows[NSYS_TABLES];
    size_t room[NSYS_TABLES];
};

/* The row of a name, made if necessary; beyond NSYS_NAMES that of NSYS_OTHERS.
 * NULL: no memory. */
static struct jp_nsys_row *row_of(struct merging *m, enum nsys_table table,
                                  const char *name)
{
    struct nsys_names *names = &m->names[table];
    int64_t at = nsys_names_find(names, name);

    if (at < 0)
        /* leave one name for the rest */
        at = nsys_names_put(names,
                            names->n < NSYS_NAMES - 1 ? name : NSYS_OTHERS);
    if (at < 0)
        return NULL;
    if ((size_t) at >= m->room[table]) {
        size_t room = m->room[table] ? 2 * m->room[table] : 64;

        if (vector_resize(&m->rows[table], room, sizeof(*m->rows[table])) < 0)
            return NULL;
        memset(m->rows[table] + m->room[table], 0,
               (room - m->room[table]) * sizeof(*m->rows[table]));
        m->room[table] = room;
    }
    return &m->rows[table][at];
}

/* Adds the sums of one rank to the rows. Returns -1 without memory. */
static int merge_table(struct merging *m, enum nsys_table table,
                       const struct nsys_lines *lines)
{
    for (size_t i = 0; i < lines->names.n; i++) {
        const struct nsys_sum *sum = &lines->sums[i];
        struct jp_nsys_row *row = row_of(m, table, lines->names.at[i]);

        if (!row)
            return -1;
        /* a name whose rows were all bad */
        if (!sum->n)
            continue;
        nsys_sum_merge(&row->sum, sum);
        /* bounds are over the ranks that have the name */
        row->rank_min = row->ranks && row->rank_min < sum->total ? row->rank_min
                                                                 : sum->total;
        row->rank_max = row->rank_max > sum->total ? row->rank_max : sum->total;
        row->ranks++;
    }
    return 0;
}

/* Compares by rank (unknown ranks, -1, last), then by path. */
static int by_rank(const void *a, const void *b)
{
    const char *x = *(char *const *) a, *y = *(char *const *) b;
    char host[256];
    uint64_t i = (uint64_t) nsys_name_read(x, host, sizeof(host)),
             k = (uint64_t) nsys_name_read(y, host, sizeof(host));

    return i != k ? i < k ? -1 : 1 : strcmp(x, y);
}

/* Keeps the longest gaps of a rank. Returns -1 without memory. */
static int keep_gaps(struct merging *m, size_t rank)
{
    struct jp_nsys *out = m->out;
    const struct nsys_profile *p = &out->ranks[rank].p;

    /* no gap in this rank */
    if (!p->n_top)
        return 0;
    if (vector_resize(&out->gaps, out->n_gaps + p->n_top, sizeof(*out->gaps)) <
        0)
        return -1;
    for (size_t i = 0; i < p->n_top; i++)
        out->gaps[out->n_gaps++] = (struct jp_nsys_gap){rank, p->top[i]};
    return 0;
}

/* Returns -1 without memory. An unreadable file is marked as bad. */
static int take_file(struct merging *m, char *path,
                     const struct jp_nsys_options *options)
{
    const struct nsys_options how = {
        .short_gap_ns = options->short_gap_ns,
        .small_kernel_ns = options->small_kernel_ns,
        .short_names = options->short_names,
        .stop = options->stop,
        .arg = options->arg};
    struct jp_nsys_rank *rank = &m->out->ranks[m->out->n_ranks++];
    struct nsys_profile p;
    struct jp_error err;
    int rc = 0;

    /* takes over the path */
    *rank = (struct jp_nsys_rank){.path = path};
    rank->rank = nsys_name_read(rank->path, rank->host, sizeof(rank->host));
    if (nsys_read(path, &how, &p, &err) < 0) {
        rank->bad = true;
        clean_text(err.text, JP_CLEAN_UTF8, rank->why, sizeof(rank->why));
        m->out->n_bad++;
        return 0;
    }
    for (int i = 0; i < NSYS_TABLES && rc == 0; i++)
        rc = merge_table(m, (enum nsys_table) i, &p.of[i]);
    /* the profile without its names, which are freed */
    rank->p = p;
    /* the tables stay with p and are freed with it */
    memset(rank->p.of, 0, sizeof(rank->p.of));
    nsys_profile_fini(&p);
    /* a name without a host: the export may have it */
    if (!*rank->host)
        clean_text(rank->p.host, JP_CLEAN_ASCII, rank->host,
                   sizeof(rank->host));
    if (rank->p.warnings)
        clean_text(rank->p.warning, JP_CLEAN_UTF8, rank->why,
                   sizeof(rank->why));
    return rc < 0 ? -1 : keep_gaps(m, (size_t) (rank - m->out->ranks));
}

/* --- sort ---------------------------------------------------------------- */

/* By table, then largest total first. */
static int by_total(const void *a, const void *b)
{
    const struct jp_nsys_row *x = a, *y = b;

    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    if (x->sum.total != y->sum.total)
        return x->sum.total > y->sum.total ? -1 : 1;
    return strcmp(x->name, y->name);
}

static uint64_t gap_ns(const struct jp_nsys_gap *g)
{
    return (uint64_t) (g->gap.to_ns - g->gap.from_ns);
}

/* Longest gap first. */
static int by_length(const void *a, const void *b)
{
    const struct jp_nsys_gap *x = a, *y = b;

    if (gap_ns(x) != gap_ns(y))
        return gap_ns(x) > gap_ns(y) ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Makes the list of rows. Names pass from m to the rows. Returns -1 without
 * memory. */
static int collect(struct merging *m)
{
    struct jp_nsys *out = m->out;
    size_t n = 0, good = out->n_ranks - out->n_bad;

    for (int t = 0; t < NSYS_TABLES; t++)
        n += m->names[t].n;
    out->rows = calloc(n + 1, sizeof(*out->rows));
    if (!out->rows)
        return -1;
    for (int t = 0; t < NSYS_TABLES; t++) {
        /* shares are of the table's total */
        double total = 0;

        for (size_t i = 0; i < m->names[t].n; i++)
            total += (double) m->rows[t][i].sum.total;
        for (size_t i = 0; i < m->names[t].n; i++) {
            struct jp_nsys_row row = m->rows[t][i];
            double sum = (double) row.sum.total;

            if (!row.sum.n)
                continue;
            row.table = (enum nsys_table) t;
            row.name = m->names[t].at[i];
            /* the row owns the name now */
            m->names[t].at[i] = NULL;
            row.share = total > 0 ? sum / total : 0;
            /* the largest rank's total divided by the mean over all ranks that
             * were read */
            row.imbalance =
                sum > 0 ? (double) row.rank_max * (double) good / sum : 1;
            out->rows[out->n_rows++] = row;
        }
    }
    if (out->n_rows)
        qsort(out->rows, out->n_rows, sizeof(*out->rows), by_total);
    if (out->n_gaps)
        qsort(out->gaps, out->n_gaps, sizeof(*out->gaps), by_length);
    return 0;
}

static void merging_fini(struct merging *m)
{
    for (int t = 0; t < NSYS_TABLES; t++) {
        nsys_names_fini(&m->names[t]);
        free(m->rows[t]);
    }
}

/* Removes duplicates from overlapping inputs. The list is sorted. */
static void drop_twins(struct files *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++)
        if (n && strcmp(f->at[n - 1], f->at[i]) == 0)
            free(f->at[i]);
        else
            f->at[n++] = f->at[i];
    f->n = n;
}

/* Reads and merges the files, until options->stop. Files that are left unread
 * stay in f. */
static int read_files(struct files *f, const struct jp_nsys_options *options,
                      struct jp_nsys *out)
{
    struct merging m = {.out = out};
    int rc = 0;

    for (size_t i = 0; i < f->n && rc == 0; i++) {
        char *path = f->at[i];

        /* checked before each file, and by the reader within one */
        if (options->stop && options->stop(options->arg)) {
            out->out_of_time = true;
            break;
        }
        /* take owns the path from here on */
        f->at[i] = NULL;
        rc = take_file(&m, path, options);
    }
    if (rc == 0)
        rc = collect(&m);
    merging_fini(&m);
    return rc;
}

int nsys_load(const char *const *inputs, size_t n,
              const struct jp_nsys_options *options, struct jp_nsys **out,
              struct jp_error *err)
{
    struct jp_nsys *nsys = NULL;
    struct files f = {0};
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = find_exports(inputs[i], &f, err);
    if (rc < 0 || (!f.n && !f.n_reports))
        goto out;
    if (f.n)
        /* by path first, for drop_twins and count_unexported */
        qsort(f.at, f.n, sizeof(*f.at), by_text);
    drop_twins(&f);
    nsys = calloc(1, sizeof(*nsys));
    if (nsys)
        nsys->ranks = calloc(f.n + 1, sizeof(*nsys->ranks));
    if (nsys)
        nsys->unexported = count_unexported(&f);
    if (f.n)
        /* the order in which ranks are read and listed */
        qsort(f.at, f.n, sizeof(*f.at), by_rank);
    if (!nsys || !nsys->ranks || read_files(&f, options, nsys) < 0) {
        rc = error_set(err, "out of memory");
        nsys_destroy(nsys);
        nsys = NULL;
    } else {
        nsys->skipped = f.skipped;
    }
out:
    files_fini(&f);
    if (rc == 0)
        *out = nsys;
    return rc;
}

void nsys_destroy(struct jp_nsys *nsys)
{
    if (!nsys)
        return;
    for (size_t i = 0; i < nsys->n_ranks; i++)
        free(nsys->ranks[i].path);
    for (size_t i = 0; i < nsys->n_rows; i++)
        free(nsys->rows[i].name);
    free(nsys->ranks);
    free(nsys->rows);
    free(nsys->gaps);
    free(nsys);
}

/* --- figures ------------------------------------------------------------- */

const struct jp_nsys_row *nsys_rows(const struct jp_nsys *nsys,
                                    enum nsys_table table, size_t *n)
{
    /* rows are sorted by table */
    size_t from = 0, to;

    while (from < nsys->n_rows && nsys->rows[from].table < table)
        from++;
    for (to = from; to < nsys->n_rows && nsys->rows[to].table == table;)
        to++;
    *n = to - from;
    return nsys->rows + from;
}

double nsys_busy_share(const struct nsys_profile *p)
{
    return p->span_ns ? (double) p->busy_ns / (double) p->span_ns : NAN;
}

double nsys_short_gap_share(const struct nsys_profile *p)
{
    return p->span_ns ? (double) p->short_gaps.ns / (double) p->span_ns : NAN;
}

/* One sentence; bad and unexported files are only mentioned if there are
 * any. */
char *nsys_text(const struct jp_nsys *nsys, char buf[JP_NSYS_TEXT])
{
    size_t good = 0, n = 0;
    uint64_t kernels = 0, kernel_ns = 0, nccl_ns = 0;
    double least = INFINITY, most = -INFINITY;
    int len;

    for (size_t i = 0; i < nsys->n_ranks; i++) {
        const struct nsys_profile *p = &nsys->ranks[i].p;
        double share = nsys_busy_share(p);

        /* one nsys may have seen all processes of a node */
        if (!nsys->ranks[i].bad)
            good += p->processes > 1 ? p->processes : 1;
        kernels += p->kernels.n;
        kernel_ns = num_add(kernel_ns, p->kernels.ns);
        nccl_ns = num_add(nccl_ns, p->nccl_kernels.ns);
        /* a rank without GPUs has no share */
        if (isfinite(share)) {
            least = fmin(least, share);
            most = fmax(most, share);
            n++;
        }
    }
    len =
        snprintf(buf, JP_NSYS_TEXT, "%s rank%s", FIG_COUNT(good), plural(good));
    /* one GPU's share is no range */
    if (n && n > 1)
        len += snprintf(buf + len, JP_NSYS_TEXT - (size_t) len,
                        ", GPUs busy for %s to %s of the time from their "
                        "first to their last activity",
                        FIG_SHARE(least), FIG_SHARE(most));
    else if (n)
        len += snprintf(buf + len, JP_NSYS_TEXT - (size_t) len,
                        ", GPU busy for %s of the time from its first to its "
                        "last activity",
                        FIG_SHARE(least));
    if (kernels)
        len += snprintf(
            buf + len, JP_NSYS_TEXT - (size_t) len,
            "; %s kernel%s, %s of their time in NCCL's", FIG_COUNT(kernels),
            plural(kernels),
            FIG_SHARE(kernel_ns ? (double) nccl_ns / (double) kernel_ns : 0));
    if (nsys->n_bad)
        len += snprintf(buf + len, JP_NSYS_TEXT - (size_t) len,
                        "; %s file%s could not be read", FIG_COUNT(nsys->n_bad),
                        plural(nsys->n_bad));
    if (nsys->unexported)
        snprintf(buf + len, JP_NSYS_TEXT - (size_t) len,
                 "; %s report%s not exported", FIG_COUNT(nsys->unexported),
                 plural(nsys->unexported));
    return buf;
}
