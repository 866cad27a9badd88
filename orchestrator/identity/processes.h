/* processes.h - the processes of a step, and which of them has which rank.
 *
 * A process is (host, pid namespace, pid, start time), as far as its records
 * tell: those of NCCL Inspector have the host and the pid only. It has a rank
 * in each of its communicators. A process that has several ranks in one
 * communicator uses several GPUs, and counts as one process for each GPU. Its
 * rank in the job is decided once (rankrule.h), for findings, tables, charts,
 * `show` and `export`.
 */
#ifndef JP_IDENTITY_PROCESSES_H
#define JP_IDENTITY_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/collect/nodes.h"
#include "orchestrator/identity/rankrule.h"

struct jp_process {
    const char *host; /* borrowed from the result, never NULL */
    int64_t pid;
    uint64_t instance;  /* as in struct jp_rank */
    bool has_peers;     /* other entries of the list are the same process with
                           another GPU */
    int64_t task;       /* Slurm's id, if it is a task itself; -1: unknown, or a
                           child of a task */
    int64_t world_rank; /* in the job; -1: none */
    enum jp_rank_evidence evidence; /* the evidence for world_rank */
    uint32_t host_at;               /* index into hosts */
    size_t first, n;                /* its ranks in by_process */
    uint64_t timed_ops, last_ops;   /* sums over its ranks, limited to */
    uint64_t caused_us, wait_us;    /* UINT64_MAX */
};

/* A host, with sums over its processes. */
struct jp_process_host {
    const char *host;
    uint32_t n_processes;
    uint64_t timed_ops, last_ops;
    uint64_t caused_us, wait_us;
};

/* A process that wrote a recording without a record of an operation: it died
 * early, or waits in its first one. */
struct jp_process_silent {
    const char *host; /* borrowed from the result */
    int64_t pid;
    uint64_t instance;
    int64_t world_rank; /* in the job */
};

struct jp_processes {
    /* false: a process has two ranks in one communicator, and the records do
     * not show their GPUs, or whether they are two processes of one host and
     * pid; so processes cannot be told apart */
    bool known;
    bool has_workers;        /* some recording is not of a task itself, but of a
                                process that one has started */
    struct jp_process *list; /* by host, pid and instance */
    size_t n;
    size_t at_once; /* of these, so many ran at the same time: where ranks were
                       started anew, the processes of the largest attempt */
    struct jp_process_host *hosts; /* by name */
    size_t n_hosts;
    size_t *by_process; /* indices of the result's ranks */
    size_t *of_rank;    /* process of each of the result's ranks */
    size_t *comm_start; /* first rank of each communicator; n_comms + 1 */
    /* Those whose rank in the job is known; by host, pid and instance. */
    struct jp_process_silent *silent;
    size_t n_silent;
};

/* A process that is a task of the step. */
struct jp_process_task {
    const char *host;
    int64_t pid, task;
};

/* The known tasks, and the number of the step's tasks; 0: unknown. */
struct jp_process_tasks {
    const struct jp_process_task *list;
    size_t n;
    uint64_t of_step;
};

/* Makes the processes of a result, which is borrowed: only comms (n_ranks) and
 * ranks (comm, rank, host, pid, sums) are read. 0, or -1: no memory. Free with
 * processes_fini. Zeros are a valid, empty value. */
int processes_init(struct jp_processes *processes,
                   const struct jp_result *result,
                   const struct jp_process_tasks *tasks);
/* The same with the tasks that the nodes recorded; nodes may be NULL. */
int processes_init_nodes(struct jp_processes *processes,
                         const struct jp_result *result,
                         const struct jp_nodes *nodes);
/* Sets the attempts of the nodes' workers to those that the result has found
 * for their recordings. */
void processes_set_attempts(struct jp_nodes *nodes,
                            const struct jp_result *result);
void processes_fini(struct jp_processes *processes);

/* Returns the process; NULL: no such process has records, or several entries
 * are it (its GPUs; or, where instance is 0, processes of one host and pid). */
const struct jp_process *processes_find(const struct jp_processes *processes,
                                        const char *host, int64_t pid,
                                        uint64_t instance);
/* The same for one GPU of a process that has several. */
const struct jp_process *
processes_find_device(const struct jp_processes *processes,
                      const struct jp_result *result, const char *host,
                      int64_t pid, uint64_t instance, uint64_t device);
/* Returns the world rank of a process that may have no records. Negative: none.
 */
int64_t processes_rank_of(const struct jp_processes *processes,
                          const char *host, int64_t pid, uint64_t instance);
/* The same of a process whose recording names a task. */
int64_t processes_rank_of_task(const struct jp_processes *processes,
                               const char *host, int64_t pid, int64_t task);
/* Returns the index of a communicator's rank in the result. SIZE_MAX: the rank
 * has no record. */
size_t processes_rank(const struct jp_processes *processes,
                      const struct jp_result *result, size_t comm,
                      uint32_t rank);
/* The same for a process' rank in a communicator. SIZE_MAX: it has none. */
size_t processes_rank_in(const struct jp_processes *processes,
                         const struct jp_result *result, size_t process,
                         size_t comm);

/* Returns indexes into list (hosts) of those for which the others waited
 * longest: at most max, the longest first, without those that have no timed
 * operations. Caller frees. NULL: no memory. */
uint32_t *processes_heaviest(const struct jp_processes *processes, size_t max,
                             size_t *n);
uint32_t *processes_heaviest_hosts(const struct jp_processes *processes,
                                   size_t max, size_t *n);

/* Sorts indexes into list by world rank. Those without one come last. */
void processes_sort_by_rank(const struct jp_processes *processes,
                            uint32_t *places, size_t n);

/* Formats "19 gpu-node-0312": world rank and host. Without a world rank, the
 * rank in the largest of its communicators: "3 of TP1 gpu-node-0312 pid 4711".
 * Cut to fit. Returns buf. */
#define JP_PROCESS_NAME_LEN 192
char *processes_name(const struct jp_processes *processes,
                     const struct jp_result *result,
                     const struct jp_process *process,
                     char buf[JP_PROCESS_NAME_LEN]);
/* The two halves of that: "19", "3 of TP1" or "", and the host, with the pid if
 * there is no world rank. */
char *processes_place(const struct jp_process *process,
                      char buf[JP_PROCESS_NAME_LEN]);
char *processes_rank_name(const struct jp_processes *processes,
                          const struct jp_result *result,
                          const struct jp_process *process,
                          char buf[JP_PROCESS_NAME_LEN]);
/* Formats "rank 19 (gpu-node-0312, pid 4711)", for sentences, by the same rank.
 * Returns buf. */
char *processes_describe(const struct jp_processes *processes,
                         const struct jp_result *result,
                         const struct jp_process *process,
                         char buf[JP_PROCESS_NAME_LEN]);

/* The communicator's name, or its id if it has none. */
const char *processes_comm_name(const struct jp_comm *comm);

#endif
