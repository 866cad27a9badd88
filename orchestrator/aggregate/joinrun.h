/* joinrun.h - threads read the log files into one join.
 *
 * Threads take whole files or pieces of huge ones (joinsplit.h), largest first,
 * each into its own join; the joins are folded when all are read. Where that
 * leaves open which record came first (join.h), everything is read once more by
 * one thread in order of path; and once more without closing communicators
 * early (join_close.h) where that turned out wrong. budget->keep is set then.
 */
#ifndef JP_AGGREGATE_JOINRUN_H
#define JP_AGGREGATE_JOINRUN_H

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/busy.h"
#include "orchestrator/aggregate/join.h"
#include "orchestrator/ingest/loglines.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/ingest/recfile.h"
#include "orchestrator/ingest/stuck_file.h"
#include "orchestrator/ingest/tracefile.h"

/* What reading one file showed. */
struct join_file {
    uint64_t bytes; /* decompressed */
    uint64_t lines, bad_lines, other_lines;
    uint64_t odd_lines; /* records laid out in a way that is not known */
    uint64_t bad_line;  /* number of the first bad one (in a recorder's file of
                           the operation), 0: none */
    char why[64];       /* its reason */
    struct join_bad {   /* the bad ones of each kind, and the first's number */
        uint64_t n, line;
    } bad[JP_BAD_KINDS];
    bool unreadable, cut;
    char trouble[160]; /* why it is unreadable or damaged, or "" */
    /* a recorder's file: what its last counters say, and its records, good or
     * bad */
    bool recorder;
    struct recfile_tail tail;
    uint64_t records, damaged; /* blocks */
    char *notes;               /* settings that were not taken; NULL: none */
    struct stuck_evidence *evidence; /* where it was asked for; else NULL */
    /* a trace of the example plugin; records above, good ones; of these without
     * a time, with that of some channels; and those that it lacks by its
     * sequence numbers */
    bool trace;
    uint64_t untimed, partly, missing;
    uint64_t pools[TRACE_POOLS]; /* events */
    struct busy *busy;           /* of records with start and end; NULL: none */
    uint64_t unstamped;          /* good records without */
    bool piece;                  /* of a file */
    bool foreign; /* neither a trace nor a log, only named as one: not read */
};

/* Counts a bad line, or operation of a recorder's file. */
void joinrun_note_bad(struct join_file *file, uint64_t line, enum jp_bad kind,
                      const char *why);

/* A good record's time in flight. JOIN_OK, or JOIN_NO_MEMORY. */
enum join_status joinrun_stamp(struct join_file *file,
                               const struct inspector_record *record);
static inline enum join_status
joinrun_take(struct join *join, struct join_file *file,
             const struct inspector_record *record)
{
    if (record->start_us && record->end_us) {
        if (joinrun_stamp(file, record) != JOIN_OK)
            return JOIN_NO_MEMORY;
    } else {
        file->unstamped++;
    }
    return join_add(join, record);
}

/* Reads the rest of a source into join, or the lines that begin before
 * lines->to. lines' source is open. *stop is looked at now and then; *done
 * grows by the bytes consumed. JOIN_NO_MEMORY ends the reading, nothing else
 * does. */
enum join_status joinrun_read(struct join *join, struct jp_loglines *lines,
                              struct join_file *file, atomic_bool *stop,
                              _Atomic uint64_t *done);

/* The same for a recorder's file that is open; fills file->evidence, if that is
 * there. */
enum join_status joinrun_read_recorder(struct join *join,
                                       struct jp_recfile *source,
                                       struct join_file *file,
                                       atomic_bool *stop);

/* The same for a trace. */
enum join_status joinrun_read_trace(struct join *join,
                                    struct jp_tracefile *source,
                                    struct join_file *file, atomic_bool *stop);

struct join_turn; /* joinsplit.h */

/* What one thread reads with. */
struct join_reading {
    struct join *join;
    struct jp_loglines *lines;
    atomic_bool *stop;
    _Atomic uint64_t *done;
    bool evidence; /* of recordings is wanted */
};

/* What a file is, by its first bytes and name; -1: it cannot be read. */
enum join_kind { JOIN_LINES, JOIN_RECORDER, JOIN_TRACE, JOIN_FOREIGN };
int joinrun_kind(const struct jp_logfile *log, struct jp_error *err);

/* Opens a turn's file and reads it, or the turn's piece, by one of the three
 * above; what is wrong with it is in *turn->file. */
enum join_status joinrun_read_file(const struct join_reading *reading,
                                   const struct jp_logfile *log,
                                   const struct join_turn *turn);

/* How many threads the options ask for: 1 to 64. */
unsigned joinrun_threads(const struct jp_aggregate_options *options);

/* Frees what n files hold, and the array. */
void joinrun_free_files(struct join_file *files, size_t n);

struct partial_set;

/* Reads all logs of the walk, or in place of a node's logs its partial, where
 * partials (NULL: none) has a good one. files has walk->n_logs elements.
 * Returns the join (caller destroys; its strays are sorted) or NULL. */
struct join *joinrun(const struct jp_logwalk *walk,
                     const struct jp_aggregate_options *options,
                     struct join_budget *budget, struct partial_set *partials,
                     struct join_file *files, struct jp_error *err);

#endif
