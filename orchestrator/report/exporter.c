/* exporter.c - rows, files and folders of the exporter's tree.
 *
 * exporter_write is the way through it: exporter_table_init groups the
 * operations into rows and files, put_tree writes tables and scripts, draw runs
 * gnuplot on the scripts, output.log lists what was done. The formats follow
 * NCCL's script, so that tools for its output also read ours. */
#include "orchestrator/report/exporter.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/gnuplot.h"
#include "orchestrator/report/summary_file.h"

/* --- the exporter's notation --------------------------------------------- */

/* bytes of a function's name within a file's name */
#define NAME_MAX_BYTES 60

char *exporter_datetime(uint64_t us, char *buf)
{
    time_t seconds = (time_t) (us / 1000000);
    struct tm tm = {0};
    size_t len;

    localtime_r(&seconds, &tm);
    len = strftime(buf, EXPORTER_WORD, "%Y-%m-%d %H:%M:%S", &tm);
    /* truncated, not rounded */
    snprintf(buf + len, EXPORTER_WORD - len, ".%03u",
             (unsigned) (us % 1000000 / 1000));
    return buf;
}

char *exporter_duration(uint64_t us, char *buf)
{
    if (us < 1000)
        /* in whole us, as the records have them */
        snprintf(buf, EXPORTER_WORD, "%" PRIu64 ".0\xce\xbcs", us);
    else if (us < 1000000)
        snprintf(buf, EXPORTER_WORD, "%.1fms", (double) us / 1000);
    else
        snprintf(buf, EXPORTER_WORD, "%.1fs", (double) us / 1000000);
    return buf;
}

char *exporter_real(double value, char *buf)
{
    size_t len;

    snprintf(buf, EXPORTER_WORD, "%s", FIG_EXACT(value));
    len = strlen(buf);
    /* Python prints 3.0, not 3 */
    if (len && strspn(buf, "-0123456789") == len)
        snprintf(buf + len, EXPORTER_WORD - len, ".0");
    return buf;
}

/* Returns the name of a function for a file's name. Letters, digits and "._-"
 * stay; any other byte becomes '_', and then the function's number is appended
 * to keep names distinct. */
static char *exporter_coll(const struct jp_result *result, uint32_t coll,
                           char *buf)
{
    const char *name = result->coll_names[coll];
    bool changed = strlen(name) > NAME_MAX_BYTES;
    size_t n = 0;

    for (; *name && n < NAME_MAX_BYTES; name++) {
        unsigned char c = (unsigned char) *name;
        bool good = c < 0x80 && (isalnum(c) || strchr("._-", c));

        changed |= !good;
        buf[n++] = (char) (good ? c : '_');
    }
    buf[n] = '\0';
    /* two names may now be equal; the number gives each a file of its own */
    if (changed)
        snprintf(buf + n, EXPORTER_WORD - n, "-%" PRIu32, coll);
    return buf;
}

/* Returns true if NCCL's own exporter has files of this function. */
static bool exporter_knows(const char *coll)
{
    static const char *const known[] = {"AllReduce", "AllGather",
                                        "ReduceScatter", "Broadcast"};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(coll, known[i]))
            return true;
    return false;
}

/* --- sort operations into the exporter's rows and files */

/* Sorts the operations by file, then in the order of the file's rows. */
static int by_cell_and_row(const void *a, const void *b)
{
    const struct exporter_key *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->sn != y->sn)
        return x->sn < y->sn ? -1 : 1;
    if (x->comm != y->comm) /* sorted by id within their type */
        return x->comm < y->comm ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

/* Copies from each operation what the exporter needs. The sort then moves small
 * keys, and operations stay packed. */
static void fill_keys(struct exporter_table *table)
{
    const struct jp_result *r = table->result;
    struct ops_reader reader = {.ops = r->ops};

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);
        uint32_t type;

        if (op->comm >= r->n_comms || op->coll >= r->n_coll_names ||
            r->comms[op->comm].type >= JP_COMM_N_TYPES)
            continue; /* aggregate_run never makes such a result */
        type = (uint32_t) r->comms[op->comm].type;
        table->keys[table->n_keys++] = (struct exporter_key){
            .bytes = op->bytes,
            .sn = op->sn,
            /* one number for type and function, so the sort compares once */
            .group = type * (uint32_t) r->n_coll_names + op->coll,
            .comm = op->comm,
            .op = i,
            .busbw_sum_micro = op->busbw_sum_micro,
            .exec_max_us = op->exec_max_us,
            .dump_min_us = op->dump_min_us,
            .dump_max_us = op->dump_max_us,
            .n = op->n,
            .n_busbw = op->n_busbw};
    }
}

/* Returns true if two operations belong to one file. */
static bool same_cell(const struct exporter_key *a,
                      const struct exporter_key *b)
{
    return a->group == b->group && a->bytes == b->bytes;
}

/* Computes the figures of a cell whose keys are set. */
static void sum_cell(const struct exporter_table *table,
                     struct exporter_cell *cell)
{
    double sum = 0;

    cell->first_us = UINT64_MAX;
    /* by rows, as the exporter's figures are means of rows */
    for (size_t at = cell->from; at < cell->to;) {
        struct exporter_row row;

        at = exporter_table_row(table, cell, at, &row);
        cell->rows++;
        cell->records += row.records;
        if (row.start_us < cell->first_us)
            cell->first_us = row.start_us;
        if (row.end_us > cell->last_us)
            cell->last_us = row.end_us;
        if (isnan(row.mean)) /* none of its records has a time */
            continue;
        if (!cell->valued || row.mean < cell->min)
            cell->min = row.mean;
        if (!cell->valued || row.mean > cell->max)
            cell->max = row.mean;
        cell->valued++;
        sum += row.mean;
    }
    if (cell->valued)
        cell->mean = sum / (double) cell->valued;
    cell->last_sn = table->keys[cell->to - 1].sn;
    /* the time of a cell decides whether it is kept */
    for (size_t i = cell->from; i < cell->to; i++) {
        uint64_t us = table->keys[i].exec_max_us;

        if (__builtin_add_overflow(cell->time_us, us, &cell->time_us))
            cell->time_us = UINT64_MAX;
    }
}

/* Makes a cell for each run of keys with the same type, function and size.
 * Returns 0, or -1 when out of memory. */
static int fill_cells(struct exporter_table *table)
{
    const struct jp_result *r = table->result;
    size_t n = 0;

    /* count first: the keys are sorted, so cells are runs of equal ones */
    for (size_t i = 0; i < table->n_keys; i++)
        n += i == 0 || !same_cell(&table->keys[i - 1], &table->keys[i]);
    table->cells = calloc(n + 1, sizeof(*table->cells));
    if (!table->cells)
        return -1;
    for (size_t from = 0, to; from < table->n_keys; from = to) {
        const struct exporter_key *key = &table->keys[from];
        struct exporter_cell *cell = &table->cells[table->n_cells++];

        for (to = from + 1;
             to < table->n_keys && same_cell(key, &table->keys[to]); to++)
            ;
        *cell = (struct exporter_cell){
            .type = (enum jp_comm_type)(key->group / r->n_coll_names),
            .coll = (uint32_t) (key->group % r->n_coll_names),
            .bytes = key->bytes,
            .from = from,
            .to = to};
        sum_cell(table, cell);
    }
    return 0;
}

/* Sorts pointers to cells, so that the table itself keeps its order. */
static int most_time_first(const void *a, const void *b)
{
    const struct exporter_cell *x = *(struct exporter_cell *const *) a;
    const struct exporter_cell *y = *(struct exporter_cell *const *) b;

    if (x->time_us != y->time_us)
        return x->time_us > y->time_us ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Marks the max cells of most time as kept. Returns 0, or -1 when out of
 * memory. */
static int keep_cells(struct exporter_table *table, size_t max)
{
    struct exporter_cell **all =
        /* calloc(0) may return NULL */
        calloc(table->n_cells + 1, sizeof(*all));

    if (!all)
        return -1;
    for (size_t i = 0; i < table->n_cells; i++)
        all[i] = &table->cells[i];
    qsort(all, table->n_cells, sizeof(struct exporter_cell *), most_time_first);
    table->n_kept = table->n_cells < max ? table->n_cells : max;
    for (size_t i = 0; i < table->n_kept; i++)
        all[i]->kept = true;
    free(all);
    return 0;
}

int exporter_table_init(struct exporter_table *table,
                        const struct jp_result *result, size_t max_cells)
{
    *table = (struct exporter_table){.result = result};
    table->keys = reallocarray(NULL, result->n_ops + 1, sizeof(*table->keys));
    if (!table->keys)
        return -1;
    fill_keys(table);
    qsort(table->keys, table->n_keys, sizeof(*table->keys), by_cell_and_row);
    if (fill_cells(table) == 0 && keep_cells(table, max_cells) == 0)
        return 0;
    exporter_table_fini(table);
    return -1;
}

void exporter_table_fini(struct exporter_table *table)
{
    free(table->keys);
    free(table->cells);
    *table = (struct exporter_table){0};
}

/* Returns the index after the last cell with the type and function of cell
 * `from`. */
static size_t exporter_table_series(const struct exporter_table *table,
                                    size_t from)
{
    const struct exporter_cell *first = &table->cells[from];
    size_t to = from + 1;

    while (to < table->n_cells && table->cells[to].type == first->type &&
           table->cells[to].coll == first->coll)
        to++;
    return to;
}

/* --- the rows of one summary_*.csv */

/* communicators with the same id have few different sizes */
#define MAX_LIST 16

/* Writes the distinct sizes of the row's communicators, ascending, as "[4 8]".
 */
static void put_sizes(struct jp_csv *csv, const struct exporter_table *table,
                      const struct exporter_row *row, bool nodes)
{
    const struct jp_comm *comms = table->result->comms;
    char list[MAX_LIST * 22 + 8] = "[";
    size_t used = 1;
    uint64_t least = 0; /* smallest size not yet written */

    /* the next larger size each time, without a sorted copy */
    for (unsigned n = 0;; n++) {
        uint64_t next = UINT64_MAX;

        for (size_t i = row->from; i < row->to; i++) {
            const struct jp_comm *comm = &comms[table->keys[i].comm];
            uint64_t value = nodes ? comm->nnodes : comm->n_ranks;

            if (value >= least && value < next)
                next = value;
        }
        if (next == UINT64_MAX)
            break;
        if (n == MAX_LIST) {
            used += (size_t) snprintf(list + used, sizeof(list) - used, " ...");
            break;
        }
        used += (size_t) snprintf(list + used, sizeof(list) - used,
                                  "%s%" PRIu64, n ? " " : "", next);
        least = next + 1;
    }
    snprintf(list + used, sizeof(list) - used, "]");
    csv_out_text(csv, list);
}

/* Writes one row with the exporter's columns. size: the cell's size in words.
 */
static void put_row(const struct exporter_table *table,
                    const struct exporter_cell *cell,
                    const struct exporter_row *row, const char *size,
                    struct jp_csv *csv)
{
    const uint64_t duration = row->end_us - row->start_us;
    char word[EXPORTER_WORD];

    csv_out_text(csv, row->id);
    csv_out_count(csv, row->sn);
    csv_out_count(csv, cell->bytes);
    csv_out_text(csv, exporter_real(row->mean, word));
    csv_out_count(csv, row->records);
    put_sizes(csv, table, row, false);
    put_sizes(csv, table, row, true);
    csv_out_count(csv, row->start_us);
    csv_out_count(csv, row->end_us);
    csv_out_count(csv, duration);
    csv_out_text(csv, size);
    csv_out_text(csv, exporter_datetime(row->start_us, word));
    csv_out_text(csv, exporter_datetime(row->end_us, word));
    csv_out_text(csv, exporter_duration(duration, word));
    csv_out_end(csv);
}

/* Writes summary_TYPE_COLL_BYTES.csv: one row per operation, with the
 * exporter's columns. n_ranks and nnodes are lists as numpy prints them ("[8]";
 * at most 16 values, then "..."). */
static void exporter_csv(const struct exporter_table *table,
                         const struct exporter_cell *cell, FILE *out)
{
    struct jp_csv csv = {.out = out};
    char size[EXPORTER_WORD];

    exporter_size(cell->bytes, size);
    fputs("id,coll_sn,coll_msg_size_bytes,mean_coll_busbw_gbs,log_count,"
          "n_ranks,nnodes,coll_start_timestamp_us,coll_end_timestamp_us,"
          "coll_duration_us,human_readable_coll_msg_size_bytes,"
          "coll_start_datetime,coll_end_datetime,coll_duration_human\n",
          out);
    /* a row may consist of several operations */
    for (size_t at = cell->from; at < cell->to;) {
        struct exporter_row row;

        at = exporter_table_row(table, cell, at, &row);
        put_row(table, cell, &row, size, &csv);
    }
    csv_out_flush(&csv);
}

/* --- output.log: what was read, written and left out */

/* Writes one line. level is INFO, WARNING or ERROR. */
static void exporter_log(FILE *out, const char *level, const char *fmt, ...)
{
    char text[JP_CLEAN_MAX], clean[JP_CLEAN_MAX], stamp[EXPORTER_WORD];
    struct timespec now;
    va_list args;

    clock_gettime(CLOCK_REALTIME, &now);
    exporter_datetime(
        (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000, stamp);
    stamp[strcspn(stamp, ".")] = ','; /* as Python's logging does */
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fprintf(out, "%s - %s - %s\n", stamp, level,
            clean_text(text, JP_CLEAN_UTF8, clean, sizeof(clean)));
}

/* Returns a time for measuring durations. */
static uint64_t clock_mono_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

/* Logs the duration of a stage; nothing if it is unknown. */
static void log_stage(FILE *out, const char *stage, uint64_t us)
{
    char length[EXPORTER_WORD];

    if (us)
        exporter_log(out, "INFO", "time of %s: %s", stage,
                     exporter_duration(us, length));
}

/* Logs a line only if n is not 0. */
static void log_some(FILE *out, const char *level, uint64_t n, const char *what)
{
    if (n)
        exporter_log(out, level, "%s: %" PRIu64, what, n);
}

/* Logs what was read and what was wrong with it. */
static void log_quality(const struct jp_quality *q, FILE *out)
{
    exporter_log(out, "INFO", "Processing files: %" PRIu64 "/%" PRIu64 ", %s",
                 q->files, q->files + q->skipped_files,
                 FIG_BYTES(q->bytes_read));
    exporter_log(out, "INFO", "records of collectives: %" PRIu64,
                 q->coll_records);
    log_some(out, "INFO", q->p2p_records,
             "records of Send and Recv, in no table here");
    log_some(out, "INFO", q->unknown_lines, "lines of other kinds");
    log_some(out, "WARNING", q->cut_files, "files cut in their last line");
    log_some(out, "WARNING", q->skipped_files, "files not read");
    log_some(out, "WARNING", q->cut_recordings,
             "recordings without their final block");
    log_some(out, "WARNING", q->duplicate_records,
             "records left out: their rank had already recorded the operation");
    log_some(out, "WARNING", q->nan_busbw,
             "records without a bandwidth, left out of means");
    log_some(out, "WARNING", q->lost, "records that the recorder lost");
    log_some(out, "ERROR", q->bad_lines, "lines that could not be read");
    log_some(out, "ERROR", q->damaged_blocks, "damaged blocks, left out");
    log_some(out, "ERROR", q->left_out_records,
             "records over the memory limit, left out");
    /* a bad line is an error, an odd file a warning */
    for (size_t i = 0; i < q->n_notes; i++)
        exporter_log(
            out, strncmp(q->notes[i].what, "line ", 5) ? "WARNING" : "ERROR",
            "%s: %s", q->notes[i].path, q->notes[i].what);
    log_some(out, "WARNING", q->notes_left_out, "more files with such notes");
}

/* Logs "2026-11-21 11:02:03.123 to ... (1.5s)" for two points in time. */
static void log_range(FILE *out, const char *what, uint64_t first,
                      uint64_t last)
{
    char start[EXPORTER_WORD], end[EXPORTER_WORD], length[EXPORTER_WORD];

    exporter_log(out, "INFO", "%s: from %s to %s, %s", what,
                 exporter_datetime(first, start), exporter_datetime(last, end),
                 exporter_duration(last - first, length));
}

/* Writes the beginning of output.log: files, records, their oddities, and the
 * time range. Lines are "2026-11-21 11:02:03,123 - INFO - text", in local time.
 */
static void exporter_log_begin(const struct exporter_table *table, FILE *out)
{
    uint64_t first = UINT64_MAX, last = 0;
    size_t rows = 0;

    exporter_log(out, "INFO",
                 "jobprof " JP_VERSION ", NCCL Inspector's exporter layout");
    log_quality(&table->result->quality, out);
    for (size_t i = 0; i < table->n_cells; i++) {
        const struct exporter_cell *cell = &table->cells[i];

        rows += cell->rows;
        first = cell->first_us < first ? cell->first_us : first;
        last = cell->last_us > last ? cell->last_us : last;
    }
    if (!table->n_cells) {
        exporter_log(out, "WARNING", "no operation: no table, no picture");
        return;
    }
    exporter_log(out, "INFO", "operations: %zu", rows);
    log_range(out, "time range of all", first, last);
}

/* Logs the cells [from, to), which have one type and function. */
static void log_series(const struct exporter_table *table, size_t from,
                       size_t to, FILE *out)
{
    uint64_t rows = 0, records = 0, first = UINT64_MAX, last = 0;
    const struct exporter_cell *cell = &table->cells[from];
    const char *coll = table->result->coll_names[cell->coll];
    char what[EXPORTER_WORD];

    for (size_t i = from; i < to; i++) {
        cell = &table->cells[i];
        rows += cell->rows;
        records += cell->records;
        first = cell->first_us < first ? cell->first_us : first;
        last = cell->last_us > last ? cell->last_us : last;
        /* also counted above: the log is about all operations */
        if (!cell->kept)
            exporter_log(out, "WARNING",
                         "%s %s, %" PRIu64 " bytes: left out, %" PRIu64
                         " operations, %s",
                         comm_type_name(cell->type), coll, cell->bytes,
                         cell->rows, FIG_US((double) cell->time_us));
    }
    snprintf(what, sizeof(what), "%s %s", comm_type_name(cell->type), coll);
    exporter_log(out, "INFO",
                 "%s: %zu message size%s, %" PRIu64 " operations, %" PRIu64
                 " records%s",
                 what, to - from, plural(to - from), rows, records,
                 exporter_knows(coll) ? "" : " (the exporter has none of it)");
    log_range(out, what, first, last);
}

/* Writes the end of output.log: counts of files, sizes left out, pictures. */
static void exporter_log_end(const struct exporter_table *table,
                             const struct jp_exporter_done *done, FILE *out)
{
    for (size_t from = 0, to; from < table->n_cells; from = to) {
        to = exporter_table_series(table, from);
        log_series(table, from, to, out);
    }
    if (done->left_out)
        exporter_log(out, "WARNING",
                     "%zu message sizes (of all types and functions): only "
                     "the %zu with most time have files (limit of "
                     "--exporter-layout)",
                     table->n_cells, table->n_kept);
    exporter_log(out, "INFO",
                 "written: %" PRIu64 " tables, %" PRIu64 " pictures",
                 done->tables, done->pictures);
    if (done->scripts)
        exporter_log(out, "WARNING",
                     "%" PRIu64 " pictures not drawn: %s; their scripts (.gp) "
                     "stand in their places: cd summary; gnuplot -d FILE.gp",
                     done->scripts, done->no_picture.text);
}

/* --- folders, files and pictures of the exporter's tree */

/* A picture takes 0.02 s, a scatter plot of many points 0.5 s. */
#define RENDER_LIMIT_MS 5000
#define RENDER_EACH_MS 500 /* more for each script of a run */

struct tree {
    struct exporter_table table;
    char *dir;    /* .../summary */
    char **names; /* pictures to draw: paths relative to dir, without suffix */
    size_t n_names;
    struct jp_exporter_done *done; /* the caller's counts */
};

/* Opens dir/name.suffix, and creates its folder. */
static int open_file(const struct tree *tree, const char *name,
                     const char *suffix, struct jp_tempfile *file,
                     struct jp_error *err)
{
    char *path = text_format("%s/%s.%s", tree->dir, name, suffix);
    char *slash = path ? strrchr(path, '/') : NULL;
    int rc = -1;

    if (!path) {
        error_set(err, "out of memory");
    } else {
        *slash = '\0';
        rc = fileio_mkdirs(path, err);
        *slash = '/';
    }
    if (rc == 0)
        rc = fileio_temp_open(file, path, err);
    free(path);
    return rc;
}

/* Writes one script for the cells from..to; a picture of one size uses only
 * cell `from`. Takes over name. */
static int put_script(struct tree *tree, enum exporter_picture kind,
                      size_t from, size_t to, char *name, struct jp_error *err)
{
    struct jp_tempfile gp;

    if (!name)
        return error_set(err, "out of memory");
    tree->names[tree->n_names++] = name;
    if (open_file(tree, name, "gp", &gp, err) < 0)
        return -1;
    if (exporter_picture_put(&tree->table, kind, from, to, name, gp.stream) <
        0) {
        fileio_temp_abort(&gp);
        return error_set(err, "out of memory");
    }
    gnuplot_remove(tree->dir, name, "png"); /* remove a picture of older data */
    return fileio_temp_commit(&gp, err);
}

/* Writes the table of one cell and the scripts of its two pictures. Returns 0,
 * or -1 and err. */
static int put_cell(struct tree *tree, size_t at, struct jp_error *err)
{
    const struct exporter_cell *cell = &tree->table.cells[at];
    char coll[EXPORTER_WORD], size[EXPORTER_WORD], *folder, *name;
    const char *type = comm_type_name(cell->type);
    struct jp_tempfile csv;
    int rc = -1;

    exporter_coll(tree->table.result, cell->coll, coll);
    /* as the exporter names it: bytes and a readable size */
    folder = text_format("msg_size_%" PRIu64 "_%s", cell->bytes,
                         exporter_size_numpy(cell->bytes, size));
    name = folder ? text_format("%s/summary_%s_%s_%" PRIu64, folder, type, coll,
                                cell->bytes)
                  : NULL;
    if (!name) {
        error_set(err, "out of memory");
        goto out;
    }
    if (open_file(tree, name, "csv", &csv, err) < 0)
        goto out;
    exporter_csv(&tree->table, cell, csv.stream);
    if (fileio_temp_commit(&csv, err) < 0)
        goto out;
    tree->done->tables++;
    rc = put_script(tree, EXPORTER_HISTOGRAM, at, at + 1,
                    text_format("%s/histograms/histogram_%s_%s_%" PRIu64,
                                folder, type, coll, cell->bytes),
                    err);
    if (rc == 0)
        rc = put_script(tree, EXPORTER_BOXPLOT, at, at + 1,
                        text_format("%s/boxplots/boxplot_%s_%s_%" PRIu64,
                                    folder, type, coll, cell->bytes),
                        err);
out:
    free(name);
    free(folder);
    return rc;
}

/* Writes the pictures of a type and function over all sizes, if one of the
 * cells was kept. */
static int put_series(struct tree *tree, size_t from, size_t to,
                      struct jp_error *err)
{
    const struct exporter_cell *cell = &tree->table.cells[from];
    const char *type = comm_type_name(cell->type);
    char coll[EXPORTER_WORD];
    bool kept = false;
    int rc;

    for (size_t i = from; i < to; i++)
        kept |= tree->table.cells[i].kept;
    if (!kept)
        return 0;
    exporter_coll(tree->table.result, cell->coll, coll);
    rc = put_script(tree, EXPORTER_SCATTER, from, to,
                    text_format("scatter_plot_%s_%s", type, coll), err);
    if (rc == 0)
        rc = put_script(tree, EXPORTER_COMBINED, from, to,
                        text_format("combined_scatter_plot_%s_%s", type, coll),
                        err);
    for (size_t i = from; i < to && rc == 0; i++)
        if (tree->table.cells[i].kept)
            rc = put_cell(tree, i, err);
    return rc;
}

/* Draws up to GNUPLOT_MAX_SCRIPTS scripts from `at`. Returns 0, or else why
 * holds the reason. */
static int draw_some(struct tree *tree, size_t at, size_t n,
                     struct jp_error *why)
{
    int rc = gnuplot_run(tree->dir, (const char *const *) tree->names + at, n,
                         RENDER_LIMIT_MS + RENDER_EACH_MS * (unsigned) n, why);

    for (size_t i = 0; i < n; i++)
        /* a drawn script is not needed; a picture of a failed run may be
         * incomplete */
        gnuplot_remove(tree->dir, tree->names[at + i], rc == 0 ? "gp" : "png");
    return rc;
}

/* Stops at the first failure: a gnuplot that hangs would do so each time. */
static void draw_pictures(struct tree *tree,
                          const struct jp_exporter_options *options)
{
    size_t at = 0, n;

    if (options->no_pictures)
        error_set(&tree->done->no_picture, "%s", options->no_pictures);
    for (; at < tree->n_names && !options->no_pictures; at += n) {
        n = tree->n_names - at < GNUPLOT_MAX_SCRIPTS ? tree->n_names - at
                                                     : GNUPLOT_MAX_SCRIPTS;
        if (draw_some(tree, at, n, &tree->done->no_picture) != 0)
            break;
        if (options->progress)
            options->progress(options->progress_arg, at + n, tree->n_names);
    }
    tree->done->pictures = at < tree->n_names ? at : tree->n_names;
    tree->done->scripts = tree->n_names - tree->done->pictures;
}

/* Returns true if the folder has files of an earlier run. */
static bool has_entries(const char *dir)
{
    DIR *open = opendir(dir);
    unsigned n = 0;

    while (open && n < 3 && readdir(open))
        n++; /* "." and ".." count */
    if (open)
        closedir(open);
    return n > 2;
}

/* Writes all tables and scripts, draws the pictures, and logs each stage. */
static int put_tree(struct tree *tree,
                    const struct jp_exporter_options *options, FILE *log,
                    struct jp_error *err)
{
    uint64_t start_us = clock_mono_us();

    log_stage(log, "reading and joining", options->reading_us);
    exporter_log_begin(&tree->table, log);
    if (has_entries(tree->dir))
        exporter_log(log, "WARNING",
                     "summary/ was not empty: files that this run did not "
                     "rewrite are from an earlier one");
    for (size_t from = 0, to; from < tree->table.n_cells; from = to) {
        to = exporter_table_series(&tree->table, from);
        if (put_series(tree, from, to, err) < 0)
            return -1;
    }
    log_stage(log, "tables and scripts", clock_mono_us() - start_us);
    start_us = clock_mono_us();
    draw_pictures(tree, options);
    log_stage(log, "pictures", clock_mono_us() - start_us);
    exporter_log_end(&tree->table, tree->done, log);
    return 0;
}

static void tree_fini(struct tree *tree)
{
    for (size_t i = 0; i < tree->n_names; i++)
        free(tree->names[i]);
    free(tree->names);
    free(tree->dir);
    exporter_table_fini(&tree->table);
}

int exporter_write(const struct jp_result *result, const char *dir,
                   const struct jp_exporter_options *options,
                   struct jp_exporter_done *done, struct jp_error *err)
{
    struct tree tree = {.dir = text_format("%s/summary", dir), .done = done};
    char *path = text_format("%s/output.log", dir);
    struct jp_tempfile log;
    int rc = -1;

    *done = (struct jp_exporter_done){.no_picture = {""}};
    tzset();
    if (!path || !tree.dir ||
        exporter_table_init(&tree.table, result, EXPORTER_MAX_CELLS) < 0 ||
        !(tree.names = calloc(4 * tree.table.n_kept + 1, sizeof(char *)))) {
        error_set(err, "out of memory");
        goto out;
    }
    /* known before anything is written */
    done->left_out = tree.table.n_cells - tree.table.n_kept;
    if (fileio_mkdirs_held(tree.dir, err) < 0 ||
        fileio_temp_open(&log, path, err) < 0)
        goto out;
    rc = put_tree(&tree, options, log.stream, err);
    if (rc == 0)
        rc = fileio_temp_commit(&log, err);
    else
        fileio_temp_abort(&log);
out:
    tree_fini(&tree);
    free(path);
    return rc;
}
