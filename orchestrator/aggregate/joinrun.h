/* joinrun.h - threads read the log files into one join.
 *
 * Threads take whole files or pieces of huge ones, largest first,
 * each into its own join; the joins are folded when all are read. Where that
 * leaves open which record came first (join.h), everything is read once more by
 * one thread in order of path; and once more without closing communicators
 * early where that turned out wrong. budget->keep is set then.
 *
 * A plain log of eight pieces or more is split at newlines: a piece has the
 * lines that begin in its bytes. Where they are cut depends on the file's size
 * only, never on the number of threads, and what the pieces showed is put
 * together in their order, so the result is that of the whole file. Compressed
 * logs, recorders' files and traces are never split. A node's logs are one turn
 * where it has a good partial.
 */
#ifndef JP_AGGREGATE_JOINRUN_H
#define JP_AGGREGATE_JOINRUN_H

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/busy.h"
#include "orchestrator/aggregate/join.h"
#include "orchestrator/ingest/logwalk.h"
#include "orchestrator/ingest/hangs.h"
#include "plugins/backend.h"

struct partial_set;
struct partial_node;

/* What a thread takes at a time: a file, a piece of it, or a node. */
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
};

/* Reads by that backend into reading->join; what is wrong with the source is in
 * *facts. */
enum join_status joinrun_read(const struct join_reading *reading,
                              const struct backend *backend,
                              const struct reader_input *in,
                              struct source_facts *facts);

/* How many threads the options ask for: 1 to 64. */
unsigned joinrun_threads(const struct jp_aggregate_options *options);

/* Operations that the timeline of each of n files may have. The same whoever
 * reads: a node, for its partial, knows no other's files. */
uint64_t joinrun_events(const struct jp_aggregate_options *options,
                        const struct join_budget *budget, size_t n_files);

/* Frees what n files hold, and the array. */
void joinrun_free_files(struct source_facts *files, size_t n);

/* Reads all logs of the walk, or in place of a node's logs its partial, where
 * partials (NULL: none) has a good one. files has walk->n_logs elements.
 * Returns the join (caller destroys; its strays are sorted) or NULL. */
struct join *joinrun(const struct jp_logwalk *walk,
                     const struct jp_aggregate_options *options,
                     struct join_budget *budget, struct partial_set *partials,
                     struct source_facts *files, struct jp_error *err);

#endif
