/* partial.h - nodes/<node>/partial.jpp: a node's records, joined beforehand.
 *
 * What one node's logs say as a struct join says it, packed: per operation the
 * node's sums, and per rank the times from which the waits are made once it is
 * known which operations are complete. Merged, partials give what the logs
 * themselves would have given, to the byte. The layout is
 * docs/partial-format.md.
 *
 * A partial names the files it was made from; it counts only while each of them
 * has the size and the time it had then, and no other log is beside them. Like
 * every file it is foreign input: bounds are those of the readers of logs, and
 * a partial is taken whole or not at all.
 */
#ifndef JP_AGGREGATE_PARTIAL_H
#define JP_AGGREGATE_PARTIAL_H

#include <stdio.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/join.h"
#include "orchestrator/aggregate/joinrun.h"
#include "orchestrator/ingest/logwalk.h"

/* What is written; the oldest one that is read lacks timelines, 6 strips. */
enum { PARTIAL_VERSION = 7, PARTIAL_OLDEST = 5, PARTIAL_STRIPS = 7 };

/* A log that a partial was made from; path is relative to raw/<node>/. */
struct partial_file {
    char *path;
    uint64_t size;
    int64_t mtime_us;
    struct source_facts read;
};

struct partial {
    FILE *stream;
    uint8_t *bytes; /* of the block being read */
    size_t room;
    uint32_t version;
    struct partial_file *files; /* sorted by path */
    size_t n_files, n_recordings;
    uint64_t timeline_events; /* partial_load: of each, at most; as opened: all
                                 that are there */
    bool over;                /* partial_load: the memory bound was hit */
};

/* Opens a partial and reads its list of files. NULL and err: there is none
 * (errno ENOENT), or it is cut, damaged or of another version. */
struct partial *partial_open(const char *path, struct jp_error *err);
/* The same over bytes, borrowed until the close. */
struct partial *partial_open_bytes(const void *bytes, size_t n,
                                   struct jp_error *err);
/* The rest, as a join of its own for join_merge; caller destroys. Once an open.
 * NULL and err: damaged, or no memory, or over. */
struct join *partial_load(struct partial *partial, struct join_budget *budget,
                          struct jp_error *err);
/* In place of partial_load: what its recordings, in order of path, tell of
 * hangs; *n how many. Caller frees each and the array (partial_free_hangs).
 * NULL and err: damaged, or no memory. */
struct hangs_evidence *partial_load_hangs(struct partial *partial, size_t *n,
                                          struct jp_error *err);
void partial_free_hangs(struct hangs_evidence *evidence, size_t n);
void partial_close(struct partial *partial);

/* Writes a finished join (its strays are sorted; its blocks get sorted, so it
 * is then good for join_destroy only) and the files it was made from, whose
 * paths lose their first `skip` bytes; recordings have their evidence. -1 and
 * err: it does not fit the format (a name too long, too many lanes), or the
 * stream failed. */
int partial_write(FILE *stream, struct join *join,
                  const struct jp_logwalk *walk, size_t skip,
                  const struct source_facts *files, struct jp_error *err);

/* How long reading the logs below a folder takes at most, by their sizes, in
 * ms; cautious, to be compared with a limit. Symbolic links are not followed.
 * 0: no logs, or no folder. */
uint64_t partial_estimate_ms(const char *raw);

/* Joins the logs below raw and writes them to path, by temp + rename.
 * options: threads is ignored (one). 0; 1: no logs: nothing written; -1 and
 * err: stopped, over the memory bound, a log cannot be read: path is as it was.
 */
int partial_make(const char *raw, const char *path,
                 const struct jp_aggregate_options *options,
                 struct jp_error *err);

/* --- the partials that stand for the logs of their nodes --- */

/* A node that has a partial and logs. Threads share the array, not a node. */
struct partial_node {
    char *path;      /* of the partial */
    char *name;      /* of the node */
    size_t first, n; /* its logs in the walk */
    size_t skip;     /* length of "<raw>/<node>/" */
    uint64_t bytes;  /* of these logs */
    bool good;       /* its files are as they were */
    bool used;       /* merged */
    char why[200];   /* why it is not good, or "" */
};

struct partial_set {
    struct partial_node *nodes;
    size_t n;
};

/* Adds to the walk the logs that folder/<node>/partial.jpp were made from,
 * where none of that node's is left below raw. 0, or -1 without memory. */
int partial_set_recall(struct jp_logwalk *walk, const char *raw,
                       const char *folder);

/* Looks into folder/<node>/partial.jpp for the folders <node> in raw, whose
 * logs the walk holds. 0, or -1 without memory. */
int partial_set_init(struct partial_set *set, const struct jp_logwalk *walk,
                     const char *raw, const char *folder);
void partial_set_fini(struct partial_set *set);

/* Merges a node's partial into join and fills its elements of files, whose
 * timelines have at most so many operations. Else
 * JOIN_LEFT_OUT: nothing has changed, node->why says why; read its logs.
 * JOIN_OK with join->conflict: the caller joins again, without partials. */
enum join_status partial_set_read(struct partial_node *node,
                                  const struct jp_logwalk *walk,
                                  struct join *join, uint64_t events,
                                  struct source_facts *files);

/* Fills the node's elements of timelines (by log, NULL so far), of at most so
 * many operations each. 0; 1: it cannot be read any more, they stay NULL. */
int partial_set_timelines(const struct partial_node *node,
                          const struct jp_logwalk *walk, uint64_t events,
                          struct timeline **timelines);

/* Adds what the recordings of a node that was merged tell of hangs. 0; 1: it
 * cannot be read any more, nothing was added; -1: no memory. */
int partial_set_hangs(const struct partial_node *node,
                      const struct jp_logwalk *walk, struct hangs_sum *sum);

#endif
