/* nodes.h - the records of a step's nodes in nodes/, read for the report.
 *
 * Every file is foreign input: sizes are limited, names checked, and a bad
 * record becomes a note while the rest is used. struct jp_nodes owns
 * everything; free with nodes_destroy.
 */
#ifndef JP_COLLECT_NODES_H
#define JP_COLLECT_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clockmap.h"
#include "common/error.h"
#include "orchestrator/collect/slurmask.h"

/* A task of Slurm, or a worker: a process with a recording that Slurm has not
 * started itself, but a task of it (a launcher). */
struct jp_task {
    uint32_t gtid, ltid; /* of a worker: the task that it descends from, by what
                            it inherited; UINT32_MAX: unknown */
    bool is_worker;
    int64_t pid;       /* of a worker: in its own pid namespace */
    uint64_t instance; /* of a worker, as in common/record.h; 0: unknown */
    uint64_t start;    /* of a worker: when it started, in 1/100 s after the
                          node's boot; 0: unknown */
    /* Of a worker: how often its launcher had started its workers anew; 0 in
     * the first attempt, or unknown. */
    uint32_t restarts;
    int status; /* wait(2) status; -1: unknown */
    /* time at which slurmstepd noticed its end, within 100 ms: by the node's
     * monotonic clock, and since 1970; 0: unknown (an older module) */
    int64_t mono_us, end_us;
    /* Of a worker of torchelastic, which has written it itself: the exception
     * that ended it, "RuntimeError: boom", and the user's line of code,
     * "train.py:10 in step" ("": unknown); NULL: it has written none. */
    char *error, *error_at;
};

/* Who set a variable of a process anew, after jobprof's SPANK module. */
enum jp_other_by {
    JP_OTHER_SLURM,   /* Slurm, a SPANK module or the TaskProlog */
    JP_OTHER_MODULE,  /* another SPANK module */
    JP_OTHER_PROLOG,  /* the TaskProlog, a SPANK module as the task began, or a
                         script that then became the program */
    JP_OTHER_PROGRAM, /* the program that Slurm started */
    JP_OTHERS
};

struct jp_node {
    char *step_dir; /* the step whose record it is; NULL: the only one */
    char *name;     /* Slurm's node name */
    char *hostname; /* gethostname() there; "" unknown */
    char *boot_id;
    char *topology_addr;
    uint32_t nodeid;
    uint64_t component;    /* job id of the component */
    bool finished;         /* finish has written a manifest */
    bool complete;         /* ... within its limits */
    struct jp_task *tasks; /* sorted by gtid */
    size_t n_tasks;
    /* Workers that have ended while the node's agent watched them, by pid and
     * instance; their times are when the agent saw their ends. */
    struct jp_task *workers;
    size_t n_workers;
    /* Another value of NCCL_PROFILER_PLUGIN than the one that was set, which a
     * process of the step had ("": not set); NULL: none was seen. */
    char *other_plugin;
    enum jp_other_by other_by;
    char other_program[64]; /* the process's name */
    uint64_t files, bytes;  /* sums over the manifest */
    uint64_t finish_us;     /* time of the manifest since 1970; 0: unknown */
    /* processes of any job that the kernel has killed on this node between
     * begin and finish because memory was short; 0: none, or unknown */
    uint64_t oom_kills;
    /* set by nodes_align: the map that was used for the node's times (borrowed;
     * NULL: they are unchanged), and the largest error of its tasks' ends in
     * microseconds (-1: unknown) */
    const struct clockmap_node *clock;
    double unc_us;
};

/* In nodes/<node>/ if the user has moved the profiler's files elsewhere
 * (ownfolder_note in agent.h). */
#define JP_NODES_FOLDER "folder.json"
/* In nodes/<node>/ if the tasks of the node run unprofiled: one line with the
 * reason. */
#define JP_NODES_UNPROFILED "unprofiled"

/* Whether a step that is not known to be over still runs. */
enum nodes_going {
    NODES_GOING_UNASKED,
    NODES_GOING_ON,     /* its job runs, or an agent of it has just written */
    NODES_GOING_UNKNOWN /* its folder is open, but nobody says so */
};

struct jp_nodes {
    struct jp_node *nodes; /* sorted by (component, nodeid); those of several
                              steps, by step first */
    size_t n_nodes;
    size_t n_steps; /* how many steps these are the nodes of; 1, unless read by
                       nodes_read_steps */
    uint32_t step_nodes, step_tasks; /* of the whole step; 0: unknown */
    char *step_nodelist;             /* "n[1-4]" or "" */
    char **missing;                  /* expected nodes without a record */
    size_t n_missing;
    size_t n_unprofiled;  /* nodes that have noted that they run unprofiled */
    char *why_unprofiled; /* "NODE: REASON" of the first one by name, or NULL */
    /* the user's own folder of raw files (the first node's; NULL: none), and
     * the numbers of files that were taken from it into raw/ or could not be */
    char *own_folder;
    uint64_t own_taken, own_missed;
    uint32_t tasks_failed; /* tasks with a non-zero status */
    char **notes;          /* one line for each bad record */
    size_t n_notes;
    /* set by the caller who makes the report: whether the step is over, and
     * Slurm's data about the job's end (end_us: since 1970, in whole seconds,
     * 0: unknown) */
    bool over;
    enum nodes_going going; /* of a step that is not over */
    enum slurmjob_state job_state;
    uint64_t job_end_us;
    /* set by the same caller: the job's other steps that have ranks of this
     * step's communicators ("1, 2"); "": none are known */
    char elsewhere[128];
};

/* Reads <step_dir>/nodes. A missing folder gives zero nodes. NULL: no
 * memory. */
struct jp_nodes *nodes_read(const char *step_dir, struct jp_error *err);
/* Reads the nodes of several steps of one job. Their tasks are numbered
 * through: those of the second step follow those of the first, so such a number
 * is none that Slurm knows. A node has a record for each of its steps. */
struct jp_nodes *nodes_read_steps(char *const *step_dirs, size_t n,
                                  struct jp_error *err);
/* The step directory of a node's record. step_dir: that of the only step. */
const char *nodes_step_dir(const struct jp_node *node, const char *step_dir);
/* Whether no node has two records. */
bool nodes_are_distinct(const struct jp_nodes *nodes);
/* Converts the ends of tasks and of finish to the reference clock of map (NULL:
 * none), which must outlive the nodes. Call it once. */
void nodes_align(struct jp_nodes *nodes, const struct clockmap *map);
/* Cuts the path of the user's own folder to its last component. -1: no
 * memory. */
int nodes_hide_paths(struct jp_nodes *nodes);
void nodes_destroy(struct jp_nodes *nodes);

#endif
