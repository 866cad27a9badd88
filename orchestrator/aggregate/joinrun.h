/* joinrun.h - threads read the log files into one join.
 *
 * Threads take whole files or pieces of huge ones, largest first, each into its
 * own join; the joins are folded when all are read. If that leaves open which
 * record came first (join.h), everything is read once more by one thread in
 * order of path; and once more without closing communicators early if that
 * turned out wrong (budget->keep is set then).
 *
 * A plain log of eight pieces or more is split at newlines: a piece has the
 * lines that begin in its bytes. Where it is cut depends on the file's size
 * only, never on the number of threads, and what the pieces showed is put
 * together in their order, so the result is that of the whole file. Compressed
 * logs, recorders' files and traces are never split. A node's logs are one turn
 * if the node has a good partial. */
#ifndef JP_AGGREGATE_JOINRUN_H
#define JP_AGGREGATE_JOINRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/record.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/join.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/logwalk.h"
#include "plugins/backend.h"

/* --- busy.c ------------------------------------------------------------- */

/* When a process had at least one operation in flight.
 *
 * The union of the intervals in one file, as sums in up to BUSY_SLOTS equal
 * slots. Their width is a power of two of microseconds, and their edges are
 * multiples of it, so sums of different files fold into each other exactly.
 *
 * An interval goes from a record's start to its end, which is when the host saw
 * them. It is no shorter than the execution time, which the GPU measured,
 * because a host that looks late may see both at once.
 *
 * Intervals come roughly in order. The last BUSY_KEPT are kept (those that
 * touch are one); earlier ones go into the slots. An interval that comes so
 * late that it reaches back into these is cut there and counted (`clipped`). Of
 * a piece of a split file the first BUSY_HEAD are also kept, so that the end of
 * the piece before can be joined to them. */

enum { BUSY_SLOTS = 256, BUSY_KEPT = 16384, BUSY_HEAD = 2048 };

struct busy_span {
    uint64_t from, to; /* us since 1970 */
};

struct busy_spans {
    struct busy_span *at;
    size_t n, room;
};

struct busy_slots {
    unsigned shift; /* width is 1 << shift us */
    uint64_t first; /* number of the first slot: its time >> shift */
    unsigned n;     /* 0: nothing yet */
    uint64_t *us;   /* room of BUSY_SLOTS; in a partial, to which nothing is
                       added, of n. Owned by struct busy */
};

/* The busy time of one file, or of a piece of it. */
struct busy {
    char host[RECORD_MAX_HOST + 1];
    int64_t pid;
    uint64_t instance;       /* as in struct record */
    bool mixed;              /* its records are of several processes */
    uint64_t timed;          /* records with start and end */
    uint64_t clipped;        /* intervals that came too late */
    uint64_t from_us, to_us; /* first start, last end */
    struct busy_slots slots;
    /* only while the file is read */
    struct busy_spans last, head;
    uint64_t low_us, high_us; /* what the slots hold lies between */
    bool piece;
};

/* On the heap. NULL: no memory. Destroy takes NULL. */
struct busy *busy_create(bool piece);
void busy_destroy(struct busy *busy);

/* Adds a record that has start and end. 0, or -1: no memory. */
int busy_add(struct busy *busy, const struct record *record);

/* Joins the next piece of the file. Only busy_destroy may follow for it. 0, or
 * -1: no memory. */
int busy_join(struct busy *into, struct busy *next);

/* Call it after the last record: moves all intervals into the slots. */
void busy_end(struct busy *busy);

/* Whether slots that come from a file are possible. */
bool busy_slots_good(const struct busy_slots *slots);

/* --- joinrun.c ---------------------------------------------------------- */

struct partial_set;
struct partial_node;

/* What a thread takes at a time: a file, a piece of it, or a node's partial. */
struct join_turn {
    uint64_t size;             /* of what is to be read */
    size_t index;              /* of the file, or of the node's first one */
    struct partial_node *node; /* NULL: a file or a piece */
    uint64_t from, to;         /* to UINT64_MAX: to its end */
    struct source_facts
        *file; /* what it shows: the caller's for a whole file */
    struct source_facts *first; /* that of its file's first piece */
    struct source_facts *whole; /* the caller's */
};

/* What one thread reads with. */
struct join_reading {
    struct join *join;
    struct reader_states *states;
    atomic_bool *stop;
    _Atomic uint64_t *done;
    bool evidence;            /* of recordings is wanted */
    bool timelines;           /* are wanted */
    uint64_t timeline_events; /* of each, at most */
    uint64_t strip_bins;      /* of the strip of each; of a piece's, too */
    bool apart; /* of a backend that is_second, only facts are wanted */
    const struct backend *const *readers; /* as in jp_aggregate_options */
};

/* Reads a source by its backend into reading->join. What is wrong with the
 * source is in *facts. JOIN_OK, or JOIN_NO_MEMORY. */
enum join_status joinrun_read(const struct join_reading *reading,
                              const struct backend *backend,
                              const struct reader_input *in,
                              struct source_facts *facts);

/* The number of threads by the options: 1 to 64. */
unsigned joinrun_threads(const struct jp_aggregate_options *options);

/* Frees what n files hold, and the array. Takes NULL. */
void joinrun_free_files(struct source_facts *files, size_t n);
/* Frees what one of them refers to; it is all zeros then. */
void joinrun_clear_file(struct source_facts *file);

/* Reads all logs of the walk, or in place of a node's logs its partial if
 * partials (NULL: none) has a good one. files has walk->n_logs elements.
 * Returns the join (the caller destroys it; its strays are sorted), or NULL and
 * err. */
struct join *joinrun(const struct jp_logwalk *walk,
                     const struct jp_aggregate_options *options,
                     struct join_budget *budget, struct partial_set *partials,
                     struct source_facts *files, struct jp_error *err);

#endif
