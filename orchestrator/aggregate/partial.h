/* partial.h - nodes/<node>/partial.jpp: a node's records, joined beforehand.
 *
 * A partial is a packed struct join of one node's logs: the node's sums of each
 * operation, and the times of each rank, from which the waits are computed once
 * it is known which operations are complete. Merged partials give the same
 * result as the logs, byte for byte. docs/dev/partial-format.md has the layout.
 *
 * A partial names the files it was made from. It is used only while each of
 * them has the same size and modification time, and no other log lies beside
 * them. Like every file it is foreign input: the limits are those of the
 * readers of logs, and a damaged partial is not used at all.
 */
#ifndef JP_AGGREGATE_PARTIAL_H
#define JP_AGGREGATE_PARTIAL_H

#include <stdio.h>

#include "common/error.h"
#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/aggregate/join.h"
#include "orchestrator/ingest/hangs.h"
#include "orchestrator/ingest/logwalk.h"
#include "plugins/backend.h"

/* VERSION is written, OLDEST is the oldest that is read. Version 5 has no
 * timelines, versions before STRIPS have no strips, those before COURSE have no
 * times of messages over the run, and those before PROCESSES do not tell
 * processes of equal host and pid, or the devices of one process, apart. From
 * version WORDS on a file may have what its markers count, and there are
 * algorithms, protocols and clocks. From SEQUENCES on there are those, with
 * strips, and from OWN on the longest intervals of processes. */
enum {
    /* differs in two bits from each older one, so that no flipped bit makes one
     * of another: the head has no checksum. 16, 32, 64 and 128 were written for
     * a short time, and are refused: their files are read instead. */
    PARTIAL_VERSION = 256,
    PARTIAL_BEFORE = 8, /* the version before it */
    PARTIAL_OLDEST = 5,
    PARTIAL_STRIPS = 7,
    PARTIAL_COURSE = 8,
    PARTIAL_PROCESSES = PARTIAL_VERSION,
    PARTIAL_WORDS = PARTIAL_VERSION,
    PARTIAL_SEQUENCES = PARTIAL_VERSION,
    PARTIAL_OWN = PARTIAL_VERSION
};

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
    uint64_t timeline_events; /* set by the caller: the most operations of each
                                 timeline; after the open: all */
    bool over;                /* set by partial_load: memory limit reached */
};

/* Opens a partial and reads its list of files. NULL and err: it does not exist
 * (errno ENOENT), or it is cut, damaged or of another version. */
struct partial *partial_open(const char *path, struct jp_error *err);
/* The same for n bytes in memory, borrowed until partial_close. */
struct partial *partial_open_bytes(const void *bytes, size_t n,
                                   struct jp_error *err);
/* Reads the rest into a new join for join_merge. The caller destroys it. Only
 * once after an open. NULL and err: damaged, no memory, or partial->over. */
struct join *partial_load(struct partial *partial, struct join_budget *budget,
                          struct jp_error *err);
/* Instead of partial_load: reads the evidence of hangs of its *n recordings, in
 * order of path. The caller frees it with partial_free_hangs. NULL and err:
 * damaged, or no memory. */
struct hangs_evidence *partial_load_hangs(struct partial *partial, size_t *n,
                                          struct jp_error *err);
void partial_free_hangs(struct hangs_evidence *evidence, size_t n);
void partial_close(struct partial *partial);

/* Writes a finished join with sorted strays, and the files it was made from,
 * without the first `skip` bytes of their paths. Only join_destroy may follow,
 * because the blocks get sorted. -1 and err: the join does not fit the format
 * (a name is too long, too many lanes), or the stream failed. */
int partial_write(FILE *stream, struct join *join,
                  const struct jp_logwalk *walk, size_t skip,
                  const struct source_facts *files, struct jp_error *err);

/* Estimates from their sizes how long it takes to read the logs below a folder,
 * in ms; rather too long than too short. Does not follow symbolic links. 0: no
 * logs, or no folder. */
uint64_t partial_estimate_ms(const char *raw);

/* Joins the logs below raw and writes the partial to path, by a temporary file
 * and rename. Uses one thread, whatever options->threads is. 0: written; 1:
 * there are no logs, nothing is written; -1 and err: stopped, memory limit
 * reached, or a log cannot be read. path has not changed then. */
int partial_make(const char *raw, const char *path,
                 const struct jp_aggregate_options *options,
                 struct jp_error *err);

/* --- partials that replace the logs of their nodes --- */

/* A node with a partial and logs. Threads share the array, but each node
 * belongs to one thread. */
struct partial_node {
    char *path;      /* of the partial */
    char *name;      /* of the node */
    size_t first, n; /* its logs in the walk */
    size_t skip;     /* length of "<raw>/<node>/" */
    uint64_t bytes;  /* of these logs */
    bool good;       /* its files have not changed */
    bool used;       /* it was merged */
    char why[200];   /* why it is not good, or "" */
};

struct partial_set {
    struct partial_node *nodes;
    size_t n;
};

/* Opens folder/<node>/partial.jpp for each folder <node> in raw. The walk holds
 * the logs below raw. gone: for nodes without any log below raw, the logs from
 * which their partials were made are added to the walk. 0, or -1: no memory. */
int partial_set_init(struct partial_set *set, struct jp_logwalk *walk,
                     const char *raw, const char *folder, bool gone);
void partial_set_fini(struct partial_set *set);

/* The node whose logs begin at this log of the walk. NULL: there is none, or
 * set is NULL. *next is 0 at first; calls are in ascending order of logs. */
struct partial_node *partial_set_at(const struct partial_set *set, size_t *next,
                                    size_t log);

/* Merges a node's partial into join and fills the elements of files that are
 * its logs. Their timelines have `events` operations at most.
 * JOIN_LEFT_OUT: nothing has changed, and node->why has the reason; read the
 *   logs instead.
 * JOIN_OK with join->conflict: join everything again, without partials. */
enum join_status partial_set_read(struct partial_node *node,
                                  const struct jp_logwalk *walk,
                                  struct join *join, uint64_t events,
                                  struct source_facts *files);

/* Fills the elements of timelines that are the node's logs (NULL before), with
 * `events` operations each at most. 1: the partial cannot be read any more, and
 * the elements stay NULL. */
int partial_set_timelines(const struct partial_node *node,
                          const struct jp_logwalk *walk, uint64_t events,
                          struct timeline **timelines);

/* Adds the evidence of hangs of a node that was merged. 1: the partial cannot
 * be read any more, and nothing was added; -1: no memory. */
int partial_set_hangs(const struct partial_node *node,
                      const struct jp_logwalk *walk, struct hangs_sum *sum);

#endif
