/* joinsplit.h - the turns in which threads take files: whole ones, or pieces of
 * a huge one.
 *
 * A plain log of eight pieces or more is split at newlines: a piece has the
 * lines that begin in its bytes. Where they are cut depends on the file's size
 * only, never on the number of threads, and what the pieces showed is put
 * together in their order, so the result is that of the whole file. Compressed
 * logs, recorders' files and traces are never split. A node's logs are one turn
 * where it has a good partial.
 */
#ifndef JP_AGGREGATE_JOINSPLIT_H
#define JP_AGGREGATE_JOINSPLIT_H

#include "orchestrator/aggregate/joinrun.h"

/* Small enough that the last ones end together, large enough that what threads
 * find twice is little. A file of fewer pieces stays whole: its communicators
 * are then closed as soon as their ranks are read. */
#define JOINSPLIT_BYTES (16u << 20)
#define JOINSPLIT_LEAST 8

struct partial_set;
struct partial_node;

struct join_turn {
    uint64_t size;             /* of what is to be read */
    size_t index;              /* of the file, or of the node's first one */
    struct partial_node *node; /* NULL: a file or a piece */
    uint64_t from, to;         /* to UINT64_MAX: to its end */
    struct join_file *file;  /* what it shows: the caller's for a whole file */
    struct join_file *whole; /* the caller's */
};

struct joinsplit {
    struct join_turn *turns;
    size_t n, n_nodes;
    struct join_file *own; /* of the pieces */
};

/* Makes the turns; partials may be NULL. piece_bytes 0: no file is split, and
 * turns are in order of path; else the largest come first. 0, or -1 without
 * memory. */
int joinsplit_init(struct joinsplit *split, const struct jp_logwalk *walk,
                   const struct partial_set *partials, uint64_t piece_bytes,
                   struct join_file *files);
/* Puts the pieces together into their files. */
void joinsplit_fold(const struct joinsplit *split);
void joinsplit_fini(struct joinsplit *split);

#endif
