/* noderead.h - read back one node's records, which are foreign input. */
#ifndef JP_COLLECT_NODEREAD_H
#define JP_COLLECT_NODEREAD_H

#include <stdint.h>

#include "common/error.h"
#include "orchestrator/collect/nodes.h"

/* Caps of what is read into memory; far above what a node writes. */
#define JP_NODEREAD_JSON_MAX (1024 * 1024)
#define JP_NODEREAD_TASKS_MAX (16 * 1024 * 1024)
#define JP_NODEREAD_MANIFEST_MAX (64 * 1024 * 1024)

/* What a node says of its whole step. */
struct jp_node_step {
    uint32_t nodes, tasks; /* 0 unknown */
    char *nodelist;        /* malloc'ed; NULL unknown */
};

/* node.json of folder into *node and *step (both zeroed by the caller, who
 * frees what was set, also on failure). -1: not there or not so. */
int noderead_record(const char *folder, struct jp_node *node,
                    struct jp_node_step *step, struct jp_error *err);

/* tasks.jsonl of folder: tasks sorted by gtid. 0 when it is not there. Returns
 * the number of lines that were dropped, or -1. */
int noderead_tasks(const char *folder, struct jp_node *node,
                   struct jp_error *err);

/* manifest of folder. 0 when it is not there (finished stays false). */
int noderead_manifest(const char *folder, struct jp_node *node,
                      struct jp_error *err);

#endif
