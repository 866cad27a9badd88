/* rankscan_parts.h - what rankscan*.c share. */
#ifndef JP_TOPO_RANKSCAN_PARTS_H
#define JP_TOPO_RANKSCAN_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "orchestrator/topo/nccldebug.h"
#include "orchestrator/topo/rankscan.h"

#define RANKSCAN_PATTERNS 16

struct rankscan_process {
    char *host;
    int64_t pid;
};

struct rankscan {
    const char *step_dir, *node;
    uint64_t deadline_ms;
    FILE *out;
    size_t lines;
    struct nccldebug *log;
    struct rankscan_process *processes; /* whose logs may lie elsewhere */
    size_t n_processes, room;
    char *patterns[RANKSCAN_PATTERNS]; /* of NCCL_DEBUG_FILE, all different */
    size_t n_patterns;
    char why[160]; /* why it is not complete; "" it is */
};

/* Writes {"kind": json}, which is taken over (NULL: no memory). */
void rankscan_put(struct rankscan *scan, const char *kind, json_t *json);
void rankscan_cut(struct rankscan *scan, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
bool rankscan_late(struct rankscan *scan);

/* A process of the step, and where its NCCL logs to. */
void rankscan_add_process(struct rankscan *scan, const char *host, int64_t pid);
void rankscan_add_pattern(struct rankscan *scan, const char *pattern);

/* rankscan_file.c: one file of raw/<node>/. */
void rankscan_file(struct rankscan *scan, const char *path, const char *name);

/* rankscan_log.c: logs that patterns name; then what the logs told. */
void rankscan_named_logs(struct rankscan *scan);
void rankscan_put_log(struct rankscan *scan);

#endif
