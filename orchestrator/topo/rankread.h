/* rankread.h - read ranks.jsonl and starts.jsonl of a step's nodes.
 *
 * Foreign input: sizes, words and numbers are checked, a bad line is counted
 * and the rest used. Texts live until rankread_fini. What it holds is what
 * rankmap_resolve takes, and the transports and variables that NCCL's log and
 * the recordings told.
 */
#ifndef JP_TOPO_RANKREAD_H
#define JP_TOPO_RANKREAD_H

#include <stdbool.h>

#include "orchestrator/topo/nccldebug.h"
#include "orchestrator/topo/rankmap.h"

/* Over all nodes; more are left out and counted as bad. */
#define JP_RANKREAD_MAX (4u << 20)

struct jp_rank_path {
    const char *node, *host, *comm; /* comm "": not tied to one */
    int64_t pid;
    uint32_t rank, peer; /* peer: NCCLDEBUG_NO_PEER */
    enum jp_nccl_via via;
    const char *detail, *device; /* "IB", "mlx5_0"; "": unknown */
    bool gdr;
    uint64_t lines;
};

struct jp_rank_variable {
    const char *node, *host;
    int64_t pid;
    const char *name, *value;
};

struct jp_rank_records {
    struct jp_rankmap_fact *facts;
    size_t n_facts, room_facts;
    struct jp_rankmap_task *tasks;
    size_t n_tasks, room_tasks;
    struct jp_rank_path *paths;
    size_t n_paths, room_paths;
    struct jp_rank_variable *variables;
    size_t n_variables, room_variables;
    size_t nodes;            /* that have a ranks.jsonl */
    size_t nodes_incomplete; /* of these, or without its end */
    size_t bad_lines;
    void **owned; /* texts and arrays */
    size_t n_owned, room_owned;
};

/* Adds what <step_dir>/nodes/<node>/ has; a ranks.jsonl that does not exist is
 * made first where raw/<node>/ is (its finish was killed), for at most
 * limit_ms. node is copied. -1 only without memory. */
int rankread_node(struct jp_rank_records *records, const char *step_dir,
                  const char *node, uint32_t limit_ms, struct jp_error *err);

/* One line of each file, for rankread_node and fuzzing; node must live as long
 * as the records. 0; 1: a bad line; -1 without memory. end: the last line was
 * read and says that the file is complete. */
int rankread_rank_line(struct jp_rank_records *records, const char *node,
                       const char *line, size_t len, bool *end);
int rankread_start_line(struct jp_rank_records *records, const char *node,
                        const char *line, size_t len);

void rankread_fini(struct jp_rank_records *records);

#endif
