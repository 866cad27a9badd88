/* exporter_log.c - output.log: what was read, written and left out. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "common/figure.h"
#include "orchestrator/report/clean.h"
#include "orchestrator/report/exporter_files.h"
#include "orchestrator/report/exporter_words.h"
#include "orchestrator/report/version.h"

void exporter_log(FILE *out, const char *level, const char *fmt, ...)
{
    char text[JP_CLEAN_MAX], clean[JP_CLEAN_MAX], stamp[EXPORTER_WORD];
    struct timespec now;
    va_list args;

    clock_gettime(CLOCK_REALTIME, &now);
    exporter_datetime(
        (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000, stamp);
    stamp[strcspn(stamp, ".")] = ','; /* as Python's logging */
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fprintf(out, "%s - %s - %s\n", stamp, level,
            clean_text(text, JP_CLEAN_UTF8, clean, sizeof(clean)));
}

/* A line only where there is something to count. */
static void log_some(FILE *out, const char *level, uint64_t n, const char *what)
{
    if (n)
        exporter_log(out, level, "%s: %" PRIu64, what, n);
}

static void log_quality(const struct jp_quality *q, FILE *out)
{
    exporter_log(out, "INFO", "files read: %" PRIu64 ", %s", q->files,
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
    log_some(
        out, "WARNING", q->duplicate_records,
        "records left out, as their rank had told of the operation before");
    log_some(out, "WARNING", q->nan_busbw,
             "records without a bandwidth, left out of means");
    log_some(out, "WARNING", q->lost, "records that the recorder lost");
    log_some(out, "ERROR", q->bad_lines, "lines that could not be read");
    log_some(out, "ERROR", q->damaged_blocks, "damaged blocks, left out");
    log_some(out, "ERROR", q->left_out_records,
             "records over the memory limit, left out");
    for (size_t i = 0; i < q->n_notes; i++)
        exporter_log(
            out, strncmp(q->notes[i].what, "line ", 5) ? "WARNING" : "ERROR",
            "%s: %s", q->notes[i].path, q->notes[i].what);
    log_some(out, "WARNING", q->notes_left_out, "more files with such notes");
}

/* "2026-11-21 11:02:03.123 to ... (1.5s)" of two points in time. */
static void log_range(FILE *out, const char *what, uint64_t first,
                      uint64_t last)
{
    char start[EXPORTER_WORD], end[EXPORTER_WORD], length[EXPORTER_WORD];

    exporter_log(out, "INFO", "%s: from %s to %s, %s", what,
                 exporter_datetime(first, start), exporter_datetime(last, end),
                 exporter_duration(last - first, length));
}

void exporter_log_begin(const struct exporter_table *table, FILE *out)
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
                 what, to - from, to - from == 1 ? "" : "s", rows, records,
                 exporter_knows(coll) ? "" : " (the exporter has none of it)");
    log_range(out, what, first, last);
}

void exporter_log_end(const struct exporter_table *table,
                      const struct jp_exporter_done *done, FILE *out)
{
    for (size_t from = 0, to; from < table->n_cells; from = to) {
        to = exporter_table_series(table, from);
        log_series(table, from, to, out);
    }
    if (done->left_out)
        exporter_log(out, "WARNING",
                     "of %zu message sizes of types and functions, the %zu of "
                     "most time have files (--exporter-layout's bound)",
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
