/* evidence.h - record the state of the processes of a stuck step while they
 * run.
 *
 * Evidence is taken once per hang on each node: of the missing ranks and of two
 * ranks that wait for them. Cheap parts come first: /proc of all threads (name,
 * state, what they wait for in the kernel, CPU time over one second), PyTorch's
 * flight recorder through its pipe, one query to NCCL's RAS, the GPUs' state by
 * nvidia-smi, stacks by eu-stack, and Python stacks by py-spy if the user has
 * installed it. Each part runs in a child with its own limit and leaves time
 * for the later ones. A process in kernel state D or a hanging tool thus costs
 * only that part. A thread is stopped only while eu-stack reads it (a few ms),
 * and no debugger is started.
 *
 * A process is known by its user and its start time (common/ownproc.h). Nothing
 * is taken from a process of another user: no path, no file, no address, no
 * environment. Root runs tools from fixed folders only.
 *
 *   <step directory>/hang/<node>/evidence.json   what was taken, and what not
 *                                 stack-<pid>.txt, python-<pid>.txt, gpus.txt,
 *                                 ras.txt or ras.json,
 *                                 flight-<pid>-rank<rank>.pickle
 */
#ifndef JP_EVIDENCE_EVIDENCE_H
#define JP_EVIDENCE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/ownproc.h"
#include "orchestrator/ingest/hangs.h"

struct module_hang; /* plugins/module.h */

/* The processes of a step on this node: those of the user whose environment
 * names job, step and node. */
struct proclook_step {
    uid_t uid;
    uint64_t job;     /* SLURM_JOB_ID; 0: any */
    const char *step; /* SLURM_STEP_ID; NULL: any */
    const char *node; /* node name in Slurm; NULL: any on this host */
};

/* --- sockowner.c -------------------------------------------------------- */

/* Whose socket answers on a TCP address: from /proc/net/tcp and tcp6, which
 * show each socket's uid and inode, and /proc/PID/fd of the step's processes.
 *
 * Any user of a node can listen on a free port. A listener is therefore checked
 * before a connection is made, and the socket at the other end before anything
 * is sent. Both must be of the step's user and, where the descriptors of all
 * its processes can be read, of a process of the step. A socket on another host
 * cannot be checked, so it is refused. */

struct sockaddr;

/* The socket that listens there. Returns 0 if it is the step's, else -1; err
 * says why not. */
int sockowner_check_listener(const struct proclook_step *step,
                             const struct sockaddr *at, struct jp_error *err);

/* The socket at the other end of fd, once its process has accepted the
 * connection; waits at most limit_ms for that. Returns as above. */
int sockowner_check_peer(const struct proclook_step *step, int fd,
                         uint32_t limit_ms, struct jp_error *err);

/* --- ras.c -------------------------------------------------------------- */

/* Query NCCL's RAS once: which ranks are behind, and which are missing.
 *
 * RAS is a thread in every process of a job, since NCCL 2.24. It answers on a
 * TCP port of the node, line by line and without authentication. The client
 * sends `SET FORMAT json`, `TIMEOUT 3` and `STATUS`; RAS answers and closes the
 * connection. The text and JSON formats are those of NCCL's
 * src/ras/client_support.cc, 2.24.3 to 2.30.7 (docs/live.md).
 *
 * A query can harm the job. Older releases corrupt memory if ranks are missing,
 * and all releases may crash while a communicator is being made. ras_may_ask
 * says when a query is safe. Send one query per hang, never in a loop.
 */

#define RAS_ANSWER_MAX (8UL << 20) /* a longer answer is truncated */
#define RAS_ROWS_MAX 4096
#define RAS_LIMIT_MS 12000
/* NCCL 2.28 and later: with more (communicator, rank) entries than this, the
 * JSON answer keeps the RAS thread busy for so long that its peers consider it
 * dead. */
#define RAS_JSON_ENTRIES 5000
/* Required time since the last communicator was made. */
#define RAS_QUIET_MS 60000

/* Whether a query is safe. release: JP_NCCL_RELEASE; 0: unknown. rccl: the
 * library is AMD's RCCL. quiet_ms: time since the last communicator was made.
 * entries: number of ranks, summed over communicators. If true, *json is the
 * format to request. If false, *why is the reason. */
bool ras_may_ask(uint32_t release, bool rccl, uint64_t quiet_ms,
                 uint64_t entries, bool *json, const char **why);

enum ras_kind {
    RAS_BEHIND,  /* launched `count` operations of `func`, others `most` */
    RAS_MISSING, /* did not answer RAS */
    RAS_DEAD,    /* has not answered for 60 s */
    RAS_ERROR,   /* NCCL reports an error: `word` */
    RAS_N_KINDS
};
extern const char *const ras_kind_words[RAS_N_KINDS];

struct ras_row {
    enum ras_kind kind;
    uint64_t comm; /* communicator hash; 0: not about a communicator */
    int64_t rank;  /* rank in it; -1: unknown */
    int64_t pid;   /* pid in the rank's own namespace; -1: unknown */
    char host[48]; /* an address of the bootstrap network, or "" */
    char func[24]; /* AllReduce ... */
    char word[48]; /* of RAS_ERROR */
    uint64_t count, most;
};

/* Zero-initialised: empty. */
struct ras_answer {
    bool json, cut;
    char *text; /* as received, NUL-terminated */
    size_t len;
    char release[32]; /* "2.29.2", or "" */
    uint64_t n_comms; /* JSON: communicators reported; text: communicators
                       * listed */
    uint64_t timeouts;
    bool has_pid; /* contains a process of the question */
    struct ras_row *rows;
    size_t n_rows;
    uint64_t left_out; /* rows beyond RAS_ROWS_MAX */
};

struct ras_question {
    const char *address; /* host:port or [v6]:port as in NCCL_RAS_ADDR; NULL or
                          * "": localhost:28028 */
    uint32_t limit_ms;   /* total; 0: RAS_LIMIT_MS */
    bool json;           /* request JSON first */
    /* whose sockets are believed; required */
    const struct proclook_step *step;
    const int64_t *pids; /* of the step, on this node */
    size_t n_pids;
};

/* Whether RAS of the step listens on this node at the question's address.
 * Sends nothing. Returns 0, or -1; err says why it must not be asked. */
int ras_listens(const struct ras_question *question, struct jp_error *err);

/* Sends the query and parses the answer into *out. Addresses and connections
 * that are not the step's are left out (sockowner.c), before anything is sent.
 * Tries at most four connections to each address: it tries again if a
 * connection stays silent or answers for another job of the same user. Returns
 * -1 if there is no answer; err says why. */
int ras_ask(const struct ras_question *question, struct ras_answer *out,
            struct jp_error *err);

/* Parses out->text of length out->len, and detects the format (out->json).
 * Returns -1 if it is not an answer of RAS. */
int ras_parse(struct ras_answer *out, const int64_t *pids, size_t n_pids,
              struct jp_error *err);

void ras_fini(struct ras_answer *answer);

/* --- evidence.c --------------------------------------------------------- */

#define EVIDENCE_FOLDER "hang"
#define EVIDENCE_NAME "evidence.json"
#define EVIDENCE_LIMIT_MS 20000
#define EVIDENCE_TARGETS 16
#define EVIDENCE_STACK_BYTES (1UL << 20)

enum evidence_role {
    EVIDENCE_MISSING, /* the others wait for it */
    EVIDENCE_WAITING, /* waits for others, in an operation */
    EVIDENCE_TASK,    /* a task whose role is unknown */
    EVIDENCE_N_ROLES
};
extern const char *const evidence_role_words[EVIDENCE_N_ROLES];

/* A process is examined only if it is the order's user's and, where the start
 * time is known, has not been replaced by a later one. */
struct evidence_target {
    int64_t pid;            /* in this PID namespace: */
    uint64_t pid_namespace; /* 0: that of this process */
    uint64_t start;         /* 0: unknown */
    int64_t task;           /* SLURM_PROCID; -1: unknown */
    enum evidence_role role;
};

/* Strings are borrowed. */
struct evidence_order {
    const char *dir;  /* the step directory */
    const char *node; /* this node's name in Slurm */
    const char *root; /* prefix in place of / */
    /* whose processes they are; those of other jobs are skipped */
    struct proclook_step step;
    /* PATH for the tools, in tests; NULL: fixed folders for root; for other
     * users PATH, and that of the processes */
    const char *tools;
    const char *what; /* the hang in one line, or "" */
    struct evidence_target targets[EVIDENCE_TARGETS];
    size_t n_targets;
    const struct jp_hangs *hangs; /* operations in flight; NULL: unknown */
    struct ras_question ras;
    const char *no_ras; /* why RAS is not queried; NULL: it is queried */
    bool no_gpus;       /* do not run nvidia-smi */
    uint32_t limit_ms;  /* total; 0: EVIDENCE_LIMIT_MS */
};

/* Takes the evidence. Returns 0 even if parts are missing; evidence.json lists
 * them with the reasons. Returns -1 if nothing could be written. Takes up to
 * limit_ms: call it in a child. */
int evidence_take(const struct evidence_order *order, struct jp_error *err);

/* --- proclook.c --------------------------------------------------------- */

/* Read the state of a process and all its threads from /proc.
 *
 * Reading /proc of a process in kernel state D may block, so proclook_take
 * reads it in a child with a time limit. Everything is readable with the same
 * uid, except what a thread waits for: that needs the permission to trace it,
 * and is "" otherwise.
 */

#define PROCLOOK_THREADS 512
#define PROCLOOK_DUMPS 4

struct proclook_thread {
    int64_t tid;
    char name[32];
    char state; /* R S D T t Z X ... */
    uint64_t cpu_ms;
    char wchan[48];
    char syscall[64]; /* number and arguments, "running", or "" */
};

struct proclook {
    int64_t pid;
    bool there, late; /* late: /proc did not answer in time */
    bool foreign;     /* of another job: nothing else is filled in */
    uint64_t left_out;
    uint32_t n_threads;
    struct proclook_thread threads[PROCLOOK_THREADS];
    uint64_t tracer;
    uint64_t read_bytes, written_bytes;
    /* of PyTorch's flight recorder, absolute, as the process sees them; "".
     * Releases write the dump to different places; each is looked at. */
    char pipe[512], dumps[PROCLOOK_DUMPS][512];
    char rank[12]; /* RANK, which ends these names */
    char ras[80];  /* value of NCCL_RAS_ADDR, or "" */
    bool no_ras;   /* NCCL_RAS_ENABLE=0 is set */
    bool has_task;
    int64_t task;    /* SLURM_PROCID */
    char path[2048]; /* the user's PATH; "" if it is too long */
};

struct proclook_ask {
    const struct ownproc *proc;
    uint64_t job; /* required SLURM_JOB_ID; 0: any */
    bool again;   /* read only the threads */
    uint32_t limit_ms;
};

/* Fills *look, which must be zeroed memory of child_alloc. Sets all members. */
void proclook_take(const struct proclook_ask *ask, struct proclook *look);

/* Sends SIGCONT if a tool was killed while it traced the process and left it
 * stopped. Watches for settle_ms, because the stop may come late. before: the
 * state before the tool ran. */
void proclook_wake(const struct ownproc *proc, const struct proclook *before,
                   uint32_t settle_ms);

/* Whether it is a process of the step. May block. */
bool proclook_is_of_step(const struct ownproc *proc,
                         const struct proclook_step *step);

/* A task of a step. Among several processes with its SLURM_PROCID, this is the
 * one with the most threads. */
struct proclook_task {
    int64_t pid, task;
    uint64_t start;
    uint32_t threads;
};

/* Lists the tasks of the step on this node, ordered by number, at most max. May
 * block. */
size_t proclook_tasks(const char *root, const struct proclook_step *step,
                      struct proclook_task *tasks, size_t max);

/* --- evidence_start.c ----------------------------------------------------- */

/* Starts a program that examines the processes of a hang while they exist:
 *
 *     jobprof-node evidence -q --node NODE --missing PID:START,...
 *         --waiting PID:START,... STEP_DIRECTORY
 *
 * It runs in a child of the agent's process group, which ends with the step.
 * Only /dev/null is open, and it is killed after EVIDENCE_LIFE_S. The agent
 * does not wait for it; its results are in the step directory. */
#define EVIDENCE_LIFE_S 60

/* For module_place.take_evidence. program: the executable, for tests; NULL:
 * that of this process. */
void evidence_start(void *program, const struct module_hang *hang);

#endif
