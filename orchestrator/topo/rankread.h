/* rankread.h - ranks.jsonl and starts.jsonl of a step's nodes: read both, write
 * the first.
 *
 * Foreign input: sizes and numbers are checked, a bad line is counted and the
 * rest used. Texts live until rankread_fini and are never NULL.
 */
#ifndef JP_TOPO_RANKREAD_H
#define JP_TOPO_RANKREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/topo/rankmap.h"

/* A variable of a process. One without a name stands for a process of which all
 * that are set are told. */
struct jp_rank_variable {
    const char *host;
    int64_t pid;
    const char *name, *value;
};

/* A path that NCCL's log named. */
struct jp_rank_path {
    const char *comm, *via, *detail, *device, *layer;
    bool gdr, pxn;
    uint64_t lines;
};

/* What the log says of a communicator as a whole. */
struct jp_rank_carriers {
    const char *comm;
    int64_t nvls_channels; /* -1: not told */
    bool nvls, collnet;
};

struct jp_rank_records {
    struct jp_rankmap_fact *facts;
    size_t n_facts, fact_room;
    struct jp_rankmap_task *tasks;
    size_t n_tasks, task_room;
    struct jp_rank_variable *variables;
    size_t n_variables, variable_room;
    struct jp_rank_path *paths;
    size_t n_paths, path_room;
    struct jp_rank_carriers *carriers;
    size_t n_carriers, carrier_room;
    uint64_t bad_lines;
    struct ranklines_block *blocks; /* texts */
    size_t n_blocks;
};

/* Adds both files of <step_dir>/nodes/<node>/; absent ones are no error. Where
 * finish was killed before it wrote ranks.jsonl, it is made first of
 * raw/<node>/, by deadline_ms of CLOCK_MONOTONIC at the latest; of own folders
 * only. -1 without memory. */
int rankread_node(struct jp_rank_records *records, const char *step_dir,
                  const char *node, uint64_t deadline_ms, struct jp_error *err);

/* Adds one line of ranks.jsonl, or of starts.jsonl; node must live as long as
 * the records. -1 without memory. */
int rankread_rank_line(struct jp_rank_records *records, const char *node,
                       const char *line, size_t len);
int rankread_start_line(struct jp_rank_records *records, const char *node,
                        const char *line, size_t len);

void rankread_fini(struct jp_rank_records *records);

/* --- ranks.jsonl: what the files of a node tell of its ranks ------------- */

/* Looks into raw/<node>/ (recordings, logs named <host>-pid<pid>.*, NCCL's own
 * log) and into the files that NCCL_DEBUG_FILE of a recorded process or of a
 * task's start record names. Of a recording the operations are skipped, so
 * it costs a look at each block. Format: docs/hardware-format.md. */

#define JP_RANKSCAN_FILES_MAX 20000
#define JP_RANKSCAN_LINES_MAX 200000

/* Writes <step_dir>/nodes/<node>/ranks.jsonl by temp + rename; what is not read
 * by deadline_ms of CLOCK_MONOTONIC is left out, and its last line says so. */
int rankscan_write(const char *step_dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err);

#endif
