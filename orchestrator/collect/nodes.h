/* nodes.h - what the nodes of a step left in nodes/: read for the report.
 *
 * Every file is foreign input: sizes are capped, names checked, a bad record is
 * noted and the rest used. Owned by struct jp_nodes; nodes_destroy frees.
 */
#ifndef JP_COLLECT_NODES_H
#define JP_COLLECT_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockmap.h"
#include "common/error.h"
#include "orchestrator/collect/slurmask.h"

/* Of tasks.jsonl; far above what a node writes. */
#define JP_NODES_TASKS_MAX (16 * 1024 * 1024)

struct jp_task {
    uint32_t gtid, ltid;
    int64_t pid;
    int status; /* wait(2) status, -1 unknown */
    /* when slurmstepd saw its end, within 100 ms: by the node's monotonic
     * clock, and since 1970; 0: unknown (an older module) */
    int64_t mono_us, end_us;
};

struct jp_node {
    char *name;     /* Slurm's node name */
    char *hostname; /* gethostname() there; "" unknown */
    char *boot_id;
    char *topology_addr;
    uint32_t nodeid;
    uint64_t component;    /* job id of the component */
    bool finished;         /* its finish made a manifest */
    bool complete;         /* ... within its budget */
    struct jp_task *tasks; /* sorted by gtid */
    size_t n_tasks;
    uint64_t files, bytes; /* of the manifest */
    uint64_t finish_us;    /* when that was made, since 1970; 0: unknown */
    /* processes that the kernel killed for want of memory on this node, from
     * begin to finish: of any job; 0: none, or unknown */
    uint64_t oom_kills;
    /* set by nodes_align: what puts the node's times on the step's clock, NULL:
     * they stay, borrowed; and how wrong its tasks' ends may be then, -1: not
     * known */
    const struct clockmap_node *clock;
    double unc_us;
};

/* In nodes/<node>/ if the user has moved the profiler's files elsewhere
 * (agent/ownfolder.h). */
#define JP_NODES_FOLDER "folder.json"
/* In nodes/<node>/ of a node whose tasks run unprofiled: why, a line. */
#define JP_NODES_UNPROFILED "unprofiled"

struct jp_nodes {
    struct jp_node *nodes; /* sorted by (component, nodeid) */
    size_t n_nodes;
    uint32_t step_nodes, step_tasks; /* of the whole step; 0 unknown */
    char *step_nodelist;             /* "n[1-4]" or "" */
    char **missing;                  /* expected nodes without a record */
    size_t n_missing;
    size_t n_unprofiled;  /* of them: without a profiler */
    char *why_unprofiled; /* what one of those says, or NULL */
    /* the user's own folder of raw files: the first node's, or NULL; files that
     * were taken from it into raw/, and those that could not be */
    char *own_folder;
    uint64_t own_taken, own_missed;
    uint32_t tasks_failed; /* non-zero status */
    char **notes;          /* one line a bad record */
    size_t n_notes;
    /* set by who reports: whether the step is over, and what Slurm says of its
     * job's end (end_us: since 1970, in whole seconds, 0 unknown) */
    bool over;
    enum slurmjob_state job_state;
    uint64_t job_end_us;
};

/* Reads <step_dir>/nodes. An absent folder gives zero nodes. NULL only when
 * out of memory. */
struct jp_nodes *nodes_read(const char *step_dir, struct jp_error *err);
/* Puts the ends of tasks and of finish on one clock (map NULL: none), which
 * must outlive the nodes. Once. */
void nodes_align(struct jp_nodes *nodes, const struct clockmap *map);
/* Cuts the user's own folder to its last part. -1: out of memory. */
int nodes_hide_paths(struct jp_nodes *nodes);
void nodes_destroy(struct jp_nodes *nodes);

#endif
