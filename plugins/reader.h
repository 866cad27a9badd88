/* reader.h - the second face of a backend: its raw files become records.
 *
 * The caller tries the readers' probes in the registry's order, and the first
 * one that accepts a file reads it. A reader pushes records into a sink and
 * fills in a struct source_facts about the file itself. Code that gets the
 * records need not know which profiler wrote them.
 */
#ifndef JP_PLUGINS_READER_H
#define JP_PLUGINS_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/error.h"
#include "common/record.h"
#include "plugins/nccl_example/example_reader.h"
#include "plugins/nccl_recorder/recfile.h"
#include "plugins/traced.h"

/* First bytes of a file that a probe gets, unpacked. Tools put settings of
 * their own before the members of a trace. */
#define READER_HEAD (64 * 1024)

/* What only a recorder's file shows. */
struct source_recording {
    struct recfile_tail tail;       /* its last counters, and how it ends */
    struct recfile_process process; /* that wrote it */
};

/* What reading one file showed. The caller provides zeros, the reader fills it.
 * reader_facts_fini frees what the reader has put there. There may be many
 * thousands of files. */
struct source_facts {
    uint64_t bytes; /* decompressed */
    uint64_t lines, bad_lines, other_lines;
    uint64_t odd_lines; /* records with an unknown layout */
    /* Markers in which the writer says how many records follow (marked) and how
     * many it overwrote before it could write them (dropped). What is lost at
     * the end is in none. */
    uint64_t markers, marked, dropped;
    uint64_t bad_line; /* number of the first bad line (with counters: of the
                          first bad operation); 0: none */
    char why[64];      /* its reason */
    /* bad lines by kind: how many, and the number of the first */
    struct source_bad {
        uint64_t n, line;
    } bad[JP_BAD_KINDS];
    bool unreadable, cut;
    char trouble[160]; /* why the file is unreadable or damaged, or "" */
    /* The writer counts what it records and marks its end ("counted"): its
     * records, good or bad, and damaged blocks; source_tail has the counters.
     */
    bool has_counters;
    uint64_t records, damaged;
    struct source_recording *recording; /* NULL: it is none. Owned */
    char *notes; /* of a recording, settings that were ignored; else what the
                    file does not say; NULL: none. Owned */
    const char *unit; /* what bad_line counts, a constant; NULL: lines */
    struct traced_list traced; /* kernels of its processes. Owned */
    /* The writer keeps the last events of pools. `records` are good ones; of
     * these without a time, and with the time of some channels only; and
     * operations that are missing, by the sequence numbers. */
    bool has_pools;
    uint64_t untimed, partly, missing;
    uint64_t pools[TRACE_POOLS]; /* events */
    bool no_clock;               /* its times have an origin of their own */
    bool several; /* of several processes of one host, told apart by pid */
    /* --- of the caller, not the reader --- */
    /* Where several is set: busy, unstamped and timeline of the second process
     * and further ones. Owned */
    struct source_facts *also;
    size_t n_also;
    int64_t pid; /* with several: whose busy and timeline these are */
    struct hangs_evidence *evidence; /* NULL: not requested */
    struct busy *busy;  /* of records with start and end; NULL: not wanted */
    uint64_t unstamped; /* good records without start or end */
    /* of records with them; NULL: none, or not wanted */
    struct timeline *timeline;
    /* The same of a file whose records have no start and end: their order and
     * how long each took. Every start is 0. It ends at the first record that
     * has a start. NULL: the file began with such a record. */
    struct timeline *sequence;
    bool piece;   /* only a part of the file was read */
    bool foreign; /* no reader accepts it though it is named like a log: not
                     read */
};

/* The last counters of a recording; zeros of another file. */
static inline const struct recfile_tail *
source_tail(const struct source_facts *facts)
{
    static const struct recfile_tail none;

    return facts->recording ? &facts->recording->tail : &none;
}

/* The process that wrote a recording; of another file none is known. */
static inline const struct recfile_process *
source_process(const struct source_facts *facts)
{
    static const struct recfile_process none;

    return facts->recording ? &facts->recording->process : &none;
}

/* Makes room for what only a recording shows, once. NULL: no memory. */
struct source_recording *reader_recording(struct source_facts *facts);
/* Frees what readers have put into facts, but not what the caller has. */
void reader_facts_fini(struct source_facts *facts);
/* Counts a bad line or operation. The first one's reason is kept. */
void reader_note_bad(struct source_facts *facts, uint64_t line,
                     enum jp_bad kind, const char *why);
/* Notes that the file cannot be opened; err says "path: reason". Returns 0:
 * other files are still read. */
int reader_refuse(struct source_facts *facts, const char *path,
                  const struct jp_error *err);
/* Notes that the file ends early; NULL: it does not. The first reason is kept.
 */
void reader_note_damage(struct source_facts *facts, const char *damage);

/* Where records go. A hook that returns a value other than 0 ends the reading,
 * which returns that value. */
struct reader_sink {
    /* takes n records; their texts are valid until it returns */
    int (*take)(void *arg, const struct record *records, size_t n);
    /* takes the writer's counters of a communicator; base is what its records
     * share */
    int (*counts)(void *arg, const struct record *base,
                  const struct jpr_counts *counts);
    /* gets a recording's own records, and NULL at its end, for the search for
     * hangs; or NULL */
    int (*watch)(void *arg, const struct jp_recfile *file,
                 const struct jpr_record *record);
    /* gets the line of a log before the record or the counters that are read
     * from it; records then have the times that are written there, also where
     * several operations share a launch; or NULL */
    void (*line)(void *arg, const char *text, size_t len);
    void *arg;
};

/* What a reader keeps of a file that is read as it grows, from call to call.
 * Zeros before the first one, and where a part of the file was passed over. */
struct reader_resume {
    uint64_t words[96];
};

struct reader_input {
    const char *path;
    const void *data; /* not NULL: read these len bytes in place of the file */
    size_t len;
    uint64_t from, to; /* for a reader that splits: read the lines that begin in
                          these bytes; to the end: UINT64_MAX */
    const atomic_bool *stop;      /* when it is set, stop soon */
    _Atomic uint64_t *done;       /* a reader that splits adds to it */
    struct reader_resume *resume; /* NULL: nothing was read before */
    bool only_times; /* exec_us and busbw_micro are not needed and may be wrong
                      */
    bool only_facts; /* for a reader that is_second: pass no records on */
};

struct backend_reader {
    /* Returns whether the file is this profiler's, by its name and its first
     * bytes. */
    bool (*probe)(const char *name, const void *head, size_t len);
    /* This reader gets files that no probe accepts, if they are named like a
     * log. Only one reader may have this. */
    bool takes_rest;
    bool splits; /* `from` and `to` are supported, in files that are not
                    compressed */
    /* Its operations are also in the files of an NCCL profiler. Where there are
     * such files, only the facts of its files are used, so that nothing is
     * counted twice. */
    bool is_second;
    /* What a thread keeps from file to file; NULL: nothing. Destroy accepts
     * NULL. */
    void *(*create)(void);
    void (*destroy)(void *state);
    /* Reads a file. Mistakes in the file are counted in facts and are not
     * errors. Returns 0, -1 without memory, or the result of the sink. */
    int (*read)(void *state, const struct reader_input *in,
                const struct reader_sink *sink, struct source_facts *facts);
};

struct backend;

/* Returns the backend whose reader's probe accepts a file of this name, without
 * its folder, that begins with the n bytes at head. NULL: none does. */
const struct backend *reader_probe(const char *name, const void *head,
                                   size_t n);

/* Returns the backend with the reader that accepts the file. NULL: none does
 * (*err is empty), or the file cannot be read (*err says why; required). rest:
 * a file that no probe accepts goes to the reader with takes_rest. */
const struct backend *reader_find(const char *path, bool rest,
                                  struct jp_error *err);

/* The same, and where no backend of the registry accepts the file, the first of
 * these, which ends with NULL and may be NULL. Their readers keep no state. */
const struct backend *reader_find_with(const char *path, bool rest,
                                       const struct backend *const *more,
                                       struct jp_error *err);

/* The states of all readers, one set for each thread; made when needed. */
struct reader_states;
struct reader_states *reader_states_create(void);
void reader_states_destroy(struct reader_states *states); /* takes NULL */
/* Reads a file with that backend, as backend_reader.read. */
int reader_read(struct reader_states *states, const struct backend *backend,
                const struct reader_input *in, const struct reader_sink *sink,
                struct source_facts *facts);

/* --- kinds of files, which orchestrator/ingest/filekinds.h tells apart -----
 */

/* What a row may look at. */
struct filekind_look {
    const char *name;   /* without its folder */
    const char *folder; /* name of the folder, or "" */
    const char *head;   /* the first bytes, unpacked */
    size_t len;
    bool given; /* the user has named this file itself */
    /* Whether jobprof writes files of this name, besides those that the walk
     * knows. NULL: none. */
    bool (*is_own_name)(const char *name);
};

/* Bytes of a file that a row gets. Properties of eight GPUs, which come first
 * in a Kineto trace, take about 4 KB. */
#define FILEKIND_HEAD 65536

struct filekind_row {
    const char *one, *many; /* "Kineto trace", "Kineto traces" */
    bool (*probe)(const struct filekind_look *look); /* NULL: by the walk */
    bool joined; /* aggregate_run may read it; otherwise another reader does, or
                    none */
    bool stranger; /* no reader takes it */
    /* what to do with a stranger, a sentence; NULL: nothing is known */
    const char *advice;
    bool by_name; /* of a backend: the probe needs no content */
};

/* Whether the name ends in one of the endings, and is longer. NULL ends them.
 */
static inline bool filekind_ends_in(const char *name,
                                    const char *const *endings)
{
    size_t len = strlen(name);

    for (; *endings; endings++) {
        size_t n = strlen(*endings);

        if (len > n && !strcmp(name + len - n, *endings))
            return true;
    }
    return false;
}

#endif
