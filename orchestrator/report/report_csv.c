/* report_csv.c - the files of csv/; ops.csv by several threads.
 *
 * A CSV file always has a header row. Columns and units:
 * docs/dev/report-format.md. report_write_csvs writes one file per table. Most
 * tables follow from their description (table_csv); the table `special` names
 * those with a writer of their own.
 *
 * ops.csv can have tens of millions of rows. csv_ops_write cuts them into
 * chunks of rows; threads format chunks in parallel and write them in order. */
#include "orchestrator/report/report.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/vector.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/report/busy.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/tables.h"

/* --- csv/ops.csv, by several threads ------------------------------------- */

#define CHUNK (128 * OPS_CHUNK) /* rows; about 2 MB of text */
#define MAX_THREADS 8

/* The first columns of table_ops as text, for one communicator and function.
 * Neighbouring rows share them, and formatting them again would take most of
 * the time. */
struct beginning {
    uint32_t comm, coll;
    size_t len; /* 0: not set */
    char text[512];
};

/* Begins a row with those columns, from *last if they are the same. */
static void begin_op(struct jp_csv *csv, const struct jp_row *row,
                     struct beginning *last)
{
    const struct jp_op *o = row->at;

    if (last->len && last->comm == o->comm && last->coll == o->coll) {
        csv_out_again(csv, last->text, last->len);
        return;
    }
    table_csv_part(csv, &table_ops, row, 0, TABLES_OP_BEGINNING);
    last->comm = o->comm;
    last->coll = o->coll;
    /* 0 if they do not fit; then each row formats them again */
    last->len = csv_out_keep(csv, last->text, sizeof(last->text));
}

/* Writes the operations [from, to) with a reader of its own, so threads do not
 * share one. */
static void put_rows(struct jp_csv *csv, const struct jp_result *r, size_t from,
                     size_t to)
{
    struct ops_reader reader = {.ops = r->ops};
    struct beginning last = {.len = 0};
    struct jp_row row = {.result = r};

    for (size_t i = from; i < to; i++) {
        row.at = ops_at(&reader, i);
        begin_op(csv, &row, &last);
        tables_op_csv(csv, &row);
        csv_out_end(csv);
    }
}

/* Threads take chunks in turn and write them to out in the same order, so the
 * file does not depend on the number of threads. */
struct line {
    const struct jp_result *r;
    FILE *out;
    pthread_mutex_t lock;  /* of the two counts */
    pthread_cond_t moved;  /* signalled when `written` grows */
    size_t taken, written; /* numbers of chunks */
};

/* Returns the number of the next chunk that no thread has taken. */
static size_t take_chunk(struct line *line)
{
    size_t chunk;

    pthread_mutex_lock(&line->lock);
    chunk = line->taken++;
    pthread_mutex_unlock(&line->lock);
    return chunk;
}

/* Waits until all earlier chunks are written. */
static void wait_turn(struct line *line, size_t chunk)
{
    pthread_mutex_lock(&line->lock);
    /* in a loop: each end of a turn wakes all waiting threads */
    while (line->written != chunk)
        pthread_cond_wait(&line->moved, &line->lock);
    pthread_mutex_unlock(&line->lock);
}

static void end_turn(struct line *line)
{
    pthread_mutex_lock(&line->lock);
    line->written++;
    pthread_cond_broadcast(&line->moved);
    pthread_mutex_unlock(&line->lock);
}

/* The text that a thread has formatted: a memory stream, reused for each chunk,
 * because fresh memory costs more than formatting. */
struct text {
    FILE *stream; /* NULL: out of memory */
    char *at;
    size_t used, size;
};

/* Appends bytes to the text: the stream's write function. Returning 0 marks the
 * stream as failed. */
static ssize_t keep_bytes(void *cookie, const char *bytes, size_t n)
{
    struct text *t = cookie;

    if (VECTOR_ROOM(t->at, t->used + n, t->size) < 0)
        return 0;
    memcpy(t->at + t->used, bytes, n);
    t->used += n;
    return (ssize_t) n;
}

static void text_init(struct text *t)
{
    *t = (struct text){0};
    t->stream =
        fopencookie(t, "w", (cookie_io_functions_t){.write = keep_bytes});
    if (t->stream)
        setvbuf(t->stream, NULL, _IONBF, 0); /* jp_csv already has a buffer */
}

static void text_fini(struct text *t)
{
    if (t->stream)
        fclose(t->stream);
    free(t->at);
}

/* Formats the rows [from, to) into *t. Returns false when out of memory. */
static bool format_rows(const struct jp_result *r, size_t from, size_t to,
                        struct text *t)
{
    struct jp_csv csv;

    if (!t->stream)
        return false;
    csv_out_begin(&csv, t->stream);
    t->used = 0;
    put_rows(&csv, r, from, to);
    csv_out_flush(&csv);
    if (!ferror(t->stream))
        return true;
    /* the next chunk may fit into memory again */
    clearerr(t->stream);
    return false;
}

/* Formats a chunk without a lock, then waits for its turn to write it. Without
 * memory, the chunk is formatted directly into the file, in its turn. */
static void write_chunk(struct line *line, size_t chunk, struct text *t)
{
    size_t from = chunk * CHUNK, to = from + CHUNK;
    bool formatted;

    if (to > line->r->n_ops)
        to = line->r->n_ops;
    formatted = format_rows(line->r, from, to, t);
    wait_turn(line, chunk);
    if (formatted) {
        fwrite_unlocked(t->at, 1, t->used, line->out);
    } else {
        struct jp_csv csv;

        csv_out_begin(&csv, line->out);
        put_rows(&csv, line->r, from, to);
        csv_out_flush(&csv);
    }
    end_turn(line);
}

/* A thread's work: chunks until none is left. */
static void *format_chunks(void *arg)
{
    struct line *line = arg;
    struct text text;
    size_t chunk;

    text_init(&text);
    while (chunk = take_chunk(line),
           chunk < (line->r->n_ops + CHUNK - 1) / CHUNK)
        write_chunk(line, chunk, &text);
    text_fini(&text);
    return NULL;
}

/* Returns how many threads to use: those wanted (0: one per CPU), at most
 * MAX_THREADS, and no more than there are chunks. */
static unsigned count_threads(const struct jp_result *r, unsigned wanted)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = wanted ? wanted : cpus > 0 ? (size_t) cpus : 1;
    size_t chunks = (r->n_ops + CHUNK - 1) / CHUNK;

    n = n < MAX_THREADS ? n : MAX_THREADS;
    return (unsigned) (n < chunks ? n : chunks);
}

void csv_ops_write(struct jp_csv *csv, const struct jp_result *r,
                   unsigned threads)
{
    struct line line = {.r = r, .out = csv->out};
    pthread_t helpers[MAX_THREADS];
    unsigned wanted = count_threads(r, threads), n = 0;

    if (wanted < 2) {
        put_rows(csv, r, 0, r->n_ops);
        return;
    }
    pthread_mutex_init(&line.lock, NULL);
    pthread_cond_init(&line.moved, NULL);
    /* The caller is one of the threads. If a thread cannot be created, those
     * that exist do the work. */
    while (n + 1 < wanted &&
           pthread_create(&helpers[n], NULL, format_chunks, &line) == 0)
        n++;
    format_chunks(&line);
    while (n)
        pthread_join(helpers[--n], NULL);
    pthread_cond_destroy(&line.moved);
    pthread_mutex_destroy(&line.lock);
}

/* --- csv/: one table a file ---------------------------------------------- */

/* Writes the number of bad lines of each kind that occurred. */
static void put_bad_kinds(struct jp_csv *csv, const struct jp_quality *q)
{
    for (unsigned i = 0; i < JP_BAD_KINDS; i++) {
        char item[64], note[JP_CLEAN_MAX + 64];

        if (!q->bad[i].n)
            continue;
        snprintf(item, sizeof(item), "bad_lines.%s",
                 badkind_key((enum jp_bad) i));
        snprintf(note, sizeof(note), "%s; first %s:%" PRIu64,
                 badkind_text((enum jp_bad) i), q->bad[i].path, q->bad[i].line);
        csv_out_text(csv, item);
        csv_out_count(csv, q->bad[i].n);
        csv_out_text(csv, note);
        csv_out_end(csv);
    }
}

/* Writes the profiler's own share of the processes' time. */
static void put_overhead(struct jp_csv *csv, const struct jp_result *r)
{
    static const struct jp_quality none;
    const struct jp_quality *q = r ? &r->quality : &none;
    char text[JP_OVERHEAD_TEXT];

    quality_overhead_text(q, text);
    csv_out_text(csv, "overhead");
    if (q->overhead.recordings)
        csv_out_real(csv, quality_overhead_share(&q->overhead));
    else
        csv_out_empty(csv);
    csv_out_text(csv, text);
    csv_out_end(csv);
}

/* Unlike the others, this table has rows even without a result. */
static int put_quality_rows(struct jp_csv *csv, const struct jp_report *report,
                            const struct jp_table *table)
{
    const struct jp_result *r = report->result;
    const char *kind = quality_expected_kind(report);

    (void) table;
    for (size_t i = 0; i < quality_n_items; i++) {
        uint64_t value = 0;

        csv_out_text(csv, quality_items[i].key);
        if (quality_items[i].get(report, &value))
            csv_out_count(csv, value);
        else
            csv_out_empty(csv);
        csv_out_text(csv, quality_items[i].help);
        csv_out_end(csv);
    }
    /* below the table: rows whose keys depend on the input */
    if (r)
        put_bad_kinds(csv, &r->quality);
    put_overhead(csv, r);
    csv_out_text(csv, "coverage");
    if (report->verdict->coverage >= 0)
        csv_out_real(csv, report->verdict->coverage);
    else
        csv_out_empty(csv);
    csv_out_text(csv, kind ? kind : "unknown");
    csv_out_end(csv);
    for (size_t i = 0; r && i < r->quality.n_notes; i++) {
        char note[2 * JP_CLEAN_MAX];

        snprintf(note, sizeof(note), "%s: %s", r->quality.notes[i].path,
                 r->quality.notes[i].what);
        csv_out_text(csv, "note");
        csv_out_empty(csv);
        csv_out_text(csv, note);
        csv_out_end(csv);
    }
    return 0;
}

/* Both tables of busy time need the processes sorted by rank. */
static int put_busy_rows(struct jp_csv *csv, const struct jp_report *report,
                         const struct jp_table *table)
{
    struct jp_busy_rows rows;

    if (!report->result)
        return 0;
    if (busy_rows_make(report->result, report->processes, &rows) < 0)
        return -1;
    table_csv(csv, table, report, &rows);
    busy_rows_fini(&rows);
    return 0;
}

/* Writes ops.csv. Returns 0; failures show in the stream. */
static int put_ops(struct jp_csv *csv, const struct jp_report *report,
                   const struct jp_table *table)
{
    (void) table;
    if (report->result)
        csv_ops_write(csv, report->result, report->threads);
    return 0;
}

/* Tables that need their own writer. */
static const struct {
    const struct jp_table *table;
    int (*put)(struct jp_csv *, const struct jp_report *,
               const struct jp_table *);
} special[] = {
    {&table_ops, put_ops},
    {&table_busy, put_busy_rows},
    {&table_busy_windows, put_busy_rows},
    {&table_quality, put_quality_rows},
};

/* Writes all rows of a table. Returns 0, or -1 when out of memory. */
static int put_table(struct jp_csv *csv, const struct jp_report *report,
                     const struct jp_table *table)
{
    for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
        if (special[i].table == table)
            return special[i].put(csv, report, table);
    for (size_t k = 0; feature_registry[k]; k++)
        for (const struct feature_rows *rows = feature_registry[k]->rows;
             rows && rows->table; rows++)
            if (rows->table == table)
                return rows->put(csv, report, table);
    table_csv(csv, table, report, NULL);
    return 0;
}

/* Writes <dir>/<name>.csv by temp + rename. */
static int write_table(const struct jp_report *report, const char *dir,
                       const struct jp_table *table, struct jp_error *err)
{
    char *path = text_format("%s/%s.csv", dir, table->name);
    struct jp_tempfile file;
    struct jp_csv csv = {0};
    int rc = -1;

    if (!path) {
        error_set(err, "out of memory");
        goto out;
    }
    if (fileio_temp_open(&file, path, err) < 0)
        goto out;
    csv.out = file.stream;
    /* the header also stands in a table without rows */
    table_csv_head(table, csv.out);
    rc = put_table(&csv, report, table);
    csv_out_flush(&csv);
    if (rc == 0) {
        rc = fileio_temp_commit(&file, err);
    } else {
        fileio_temp_abort(&file);
        error_set(err, "out of memory");
    }
out:
    free(path);
    return rc;
}

int report_write_csvs(const struct jp_report *report, const char *csv_dir,
                      struct jp_error *err)
{
    if (fileio_mkdir(csv_dir, err) < 0)
        return -1;
    for (size_t i = 0; tables[i]; i++)
        /* a table whose first column is not in CSV has no file */
        if (tables[i]->columns->flags & JP_CSV &&
            write_table(report, csv_dir, tables[i], err) < 0)
            return -1;
    for (size_t k = 0; feature_registry[k]; k++)
        for (size_t i = 0;
             report_has(report, feature_registry[k]) &&
             feature_registry[k]->tables && feature_registry[k]->tables[i];
             i++)
            if (write_table(report, csv_dir, feature_registry[k]->tables[i],
                            err) < 0)
                return -1;
    return 0;
}
