/* reader.h - a backend's second face: its raw files become records.
 *
 * The caller asks the readers' probes whose a file is, in the registry's order,
 * and lets the one that says yes read it. A reader pushes records into a sink
 * and fills what it knows of the file itself into a struct source_facts: what
 * is behind it never asks whose file that was.
 */
#ifndef JP_PLUGINS_READER_H
#define JP_PLUGINS_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/record.h"
#include "plugins/nccl_example/example_reader.h"
#include "plugins/nccl_recorder/recfile.h"

#define READER_HEAD 4096 /* bytes that a probe sees, unpacked */

/* What reading one file showed. Zeros before; the reader fills it. */
struct source_facts {
    uint64_t bytes; /* decompressed */
    uint64_t lines, bad_lines, other_lines;
    uint64_t odd_lines; /* records laid out in a way that is not known */
    uint64_t bad_line;  /* number of the first bad one (with counters: of the
                           operation), 0: none */
    char why[64];       /* its reason */
    struct source_bad { /* the bad ones of each kind, and the first's number */
        uint64_t n, line;
    } bad[JP_BAD_KINDS];
    bool unreadable, cut;
    char trouble[160]; /* why it is unreadable or damaged, or "" */
    /* The writer counts what it records and says when it ends: "counted". Then
     * its last counters, its records, good or bad, and damaged blocks. */
    bool has_counters;
    struct recfile_tail tail;
    uint64_t records, damaged;
    char *notes; /* settings that were not taken; NULL: none. Owned */
    /* The writer keeps the last events of pools: records above, good ones; of
     * these without a time, with that of some channels; and those that it lacks
     * by its sequence numbers. */
    bool has_pools;
    uint64_t untimed, partly, missing;
    uint64_t pools[TRACE_POOLS]; /* events */
    bool no_clock; /* its times have no origin that others share */
    /* --- the caller's --- */
    struct hangs_evidence *evidence; /* if requested, else NULL */
    struct busy *busy;         /* of records with start and end; NULL: none */
    uint64_t unstamped;        /* good records without */
    struct timeline *timeline; /* of those with; NULL: none, or not wanted */
    bool piece;                /* of a file */
    bool foreign;              /* unknown, but named like a log: not read */
};

/* Counts a bad line or operation. */
void reader_note_bad(struct source_facts *facts, uint64_t line,
                     enum jp_bad kind, const char *why);
/* The file cannot be opened: err says "path: reason". Returns 0: that is no
 * reason to end the reading of others. */
int reader_refuse(struct source_facts *facts, const char *path,
                  const struct jp_error *err);
/* The file ends early; NULL: it does not. The first reason is kept. */
void reader_note_damage(struct source_facts *facts, const char *damage);

/* Where records go. Each hook: not 0 ends the reading, which returns it. */
struct reader_sink {
    /* n records, whose texts are the reader's until it returns */
    int (*take)(void *arg, const struct record *records, size_t n);
    /* what the writer says of a communicator: base as of its records */
    int (*counts)(void *arg, const struct record *base,
                  const struct jpr_counts *counts);
    /* a recording's own records, and NULL at its end, for the search for hangs,
     * or NULL */
    int (*watch)(void *arg, const struct jp_recfile *file,
                 const struct jpr_record *record);
    void *arg;
};

struct reader_input {
    const char *path;
    const void *data; /* not NULL: len bytes as if they lay at path */
    size_t len;
    uint64_t from, to; /* of a reader that splits: the lines that begin in these
                          bytes; to the end: UINT64_MAX */
    const atomic_bool *stop; /* set: give up soon */
    _Atomic uint64_t *done;  /* grows by what a reader that splits has read */
    bool only_times; /* exec_us and busbw_micro are not used and may be wrong */
};

struct backend_reader {
    /* Is this one of my files? By its name and its first bytes. */
    bool (*probe)(const char *name, const void *head, size_t len);
    /* Takes files that no probe takes, if they are named like a log. Only one
     * reader has this. */
    bool takes_rest;
    bool splits; /* `from` and `to` are obeyed in files that are not packed */
    /* What a thread keeps from file to file; NULL: nothing. Destroy takes
     * NULL. */
    void *(*create)(void);
    void (*destroy)(void *state);
    /* Reads a file. Mistakes in it are counted in facts and are not errors. -1:
     * no memory; else 0 or the result of the sink. */
    int (*read)(void *state, const struct reader_input *in,
                const struct reader_sink *sink, struct source_facts *facts);
};

struct backend;

/* The backend whose reader takes the file; NULL: nobody's (*err empty), or it
 * cannot be read (*err says why; required). rest: what nobody knows is the
 * taker of the rest's. */
const struct backend *reader_find(const char *path, bool rest,
                                  struct jp_error *err);

/* The states of all readers; one a thread, made as they are needed. */
struct reader_states;
struct reader_states *reader_states_create(void);
void reader_states_destroy(struct reader_states *states); /* takes NULL */
/* Reads by that backend. As backend_reader.read. */
int reader_read(struct reader_states *states, const struct backend *backend,
                const struct reader_input *in, const struct reader_sink *sink,
                struct source_facts *facts);

#endif
