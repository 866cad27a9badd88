/* ranklines.h - read starts.jsonl and ranks.jsonl of a step's nodes.
 *
 * Format: docs/hardware-format.md. A line that is not so is counted and left
 * out. All texts live as long as the records.
 */
#ifndef JP_TOPO_RANKLINES_H
#define JP_TOPO_RANKLINES_H

#include <stdint.h>

#include "common/error.h"
#include "orchestrator/topo/rankmap.h"

#define RANKLINES_MAX_BYTES (64u << 20) /* of a file */
#define RANKLINES_MAX_LINES 1000000     /* kept, of all files */

/* A variable of a process. One without a name stands for a process of which all
 * that are set are told. */
struct jp_rank_variable {
    const char *host;
    int64_t pid;
    const char *name, *value;
};

/* A path that NCCL's log named. */
struct jp_rank_path {
    const char *comm, *via, *detail, *device;
    uint64_t lines;
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
    uint64_t bad_lines;
    struct ranklines_block *blocks; /* texts */
};

/* Adds both files of <folder>, which is the node's in the step. Absent ones are
 * no error. -1 without memory. */
int ranklines_read(const char *folder, const char *node,
                   struct jp_rank_records *records, struct jp_error *err);

/* Adds one line of ranks.jsonl, or of starts.jsonl. -1 without memory. */
int ranklines_add_rank(const char *line, size_t len, const char *node,
                       struct jp_rank_records *records);
int ranklines_add_start(const char *line, size_t len, const char *node,
                        struct jp_rank_records *records);

void ranklines_fini(struct jp_rank_records *records);

#endif
