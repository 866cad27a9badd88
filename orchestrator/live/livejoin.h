/* livejoin.h - node 0: joins the nodes' snapshots and applies the rule.
 *
 * Snapshots are files, or arrive by UDP (livelink.h) and are kept in memory. If
 * a node has both, the newer one counts.
 *
 * While all is well, only the heads of snapshots are read, every 30 s (with
 * more than 2,000 nodes every 15 ms x nodes). If a node waits or is in trouble,
 * or if somebody watches, all snapshots are joined (hangs.h) and judged
 * (hung.h). This happens at most every 5 s, and so rarely that it takes no more
 * than 1/LIVEJOIN_SHARE of a processor. alert.c reports the result. */
#ifndef JP_LIVE_LIVEJOIN_H
#define JP_LIVE_LIVEJOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/knob.h"
#include "orchestrator/ingest/hung.h"
#include "orchestrator/live/livesnap.h"
#include "orchestrator/live/livestall.h"

/* --- livelate.c --------------------------------------------------------- */

/* Which rank makes the others wait while the step runs, from the nodes'
 * snapshots.
 *
 * The idea is that of the report (orchestrator/insight/late.h). Between two
 * barriers all ranks of a communicator spend the same time, either
 * communicating or on their own. A rank that communicates less than the others
 * has spent more time on its own, and the others wait for that. Snapshots
 * contain the share of the last half minute that each process spent in
 * operations; neither clocks nor the order of operations are needed. The excess
 * of a process is how far its share is below the median of the others in a
 * communicator, averaged over its communicators by the time spent in them. A
 * rank on the same node that waits for a late one in one communicator is late
 * itself in another, so that it is as busy as all others; the ranks of a late
 * node are below those on other nodes.
 *
 *     struct livelate late = {0};
 *     ... livelate_add(&late, &snap) for each node ...
 *     livelate_finish(&late);
 *     ... late.processes[], the worst first ...
 *     livelate_fini(&late);
 */

enum livelate_limit {
    LIVELATE_SHARE, /* share of its time; a rank with less is not named */
    LIVELATE_PART,  /* share of what the others spend in communication */
    /* multiple of the others' median distance from their median */
    LIVELATE_SPREAD,
    LIVELATE_FEW, /* LIVELATE_SHARE with fewer than four others */
    /* share of its communication: communicators with less are ignored */
    LIVELATE_WEIGHT,
    LIVELATE_N_LIMITS
};

struct livelate_row {
    const char *name;
    double value;
    const char *reason;
};
extern const struct livelate_row livelate_rows[LIVELATE_N_LIMITS];

/* A process's membership in a communicator. */
struct livelate_member {
    uint64_t hash;
    char name[LIVE_COMM_NAME_LEN];
    int64_t n_ranks, rank;
    uint32_t process;
    double share; /* share of the process's time in this communicator */
};

struct livelate_process {
    char node[LIVE_NODE_LEN];
    int64_t pid, task;
    /* share of the process's time spent in operations; above 1 if they overlap
     */
    double share;
    bool known;  /* its share is known, and an operation ended recently */
    bool judged; /* the figures below are valid */
    /* share of the time for which others wait for it; below 0: it waits */
    double excess;
    bool late;
    /* the communicator that shows most of the excess */
    uint64_t hash;
    char name[LIVE_COMM_NAME_LEN];
    int64_t rank, n_ranks;
    double weight, needed, most; /* sums for livelate_finish */
};

/* Zero-initialised by its owner. */
struct livelate {
    struct livelate_process *processes;
    size_t n, room;
    struct livelate_member *members;
    size_t n_members, members_room;
    uint32_t n_late;
};

/* Returns 0, or -1 when out of memory. */
int livelate_add(struct livelate *late, const struct live_snap *snap);
/* Judges the processes and sorts them, latest first. Returns 0, or -1 without
 * memory. */
int livelate_finish(struct livelate *late);
void livelate_fini(struct livelate *late);

/* --- alert.c ------------------------------------------------------------ */

/* Report a hang to the user: on the terminal or in the batch output, in the
 * step's log, in live/alerts.jsonl, and by a command.
 *
 * A line on srun's terminal is printed by slurmctld, which is asked in a child
 * process (collect/slurmask.h). At most ALERT_OF_HANG lines about a hang and
 * ALERT_OF_JOB lines of a job are printed; further ones are only in the file.
 * Nothing is reported about a step that is ending. The command of on_hang runs
 * as the user, in a process group of its own, with the alert as JSON on its
 * standard input. It is killed after ALERT_COMMAND_MS. */

#define ALERT_OF_HANG 3
#define ALERT_OF_JOB 10
#define ALERT_COMMAND_MS 30000
#define ALERT_FILE_BYTES (256 << 10)

struct alert_place {
    const char *dir; /* directory of the step */
    uint64_t job;
    const char *step;
    const struct jp_onhang *on_hang;
    void (*log)(void *arg, const char *line); /* NULL: no log */
    void *log_arg;
    /* asks Slurm to print the line; NULL: slurmjob_notify is used */
    void (*notify)(void *arg, uint64_t job, const char *line);
    void *notify_arg;
};

struct alert {
    struct alert_place place;
    uint32_t hang, said; /* number of the hang; lines printed about it so far */
    /* something about the hang was reported, if only in the file */
    bool told;
    /* lines of the job, as counted at the last alert */
    uint32_t job_lines;
    int64_t command;     /* pid of the command; 0: none runs */
    uint64_t command_ms; /* when to kill it */
};

/* An alert, as in alerts.jsonl and on the command's standard input. All members
 * are always present; unknown ones are null. */
struct alert_event {
    enum hung_news news;
    const struct hung_view *view;
    const struct hung *stuck;
    uint64_t waited_ms; /* since the operation began */
    /* The stall of logs that show only ended operations; stuck is NULL then.
     * Otherwise NULL. */
    const struct livestall *silence;
};

/* Reports the alert. */
void alert_print(struct alert *alert, const struct alert_event *event);

/* Writes a line about an action ("the signal is requested") to the step's log.
 */
void alert_note(struct alert *alert, const char *text);

/* Kills the command if it runs for too long. */
void alert_tick(struct alert *alert, uint64_t now_ms);
void alert_fini(struct alert *alert);

/* --- livejoin.c --------------------------------------------------------- */

/* 1/1000: the search for late ranks takes at most 0.1 % of a processor */
#define LIVEJOIN_LATE_SHARE 1000
/* 1/50: at most 2 % of a processor, during a hang */
#define LIVEJOIN_SHARE 50

#define LIVEJOIN_KEPT_BYTES (16 << 20) /* limit of snapshots kept in memory */

struct livejoin;

struct livejoin_place {
    struct alert_place alert;
    uint32_t nodes; /* nodes of the step */
    /* First half of the hash of the step's job.conf; 0: unknown. Snapshots with
     * another hash were left by an earlier step. */
    uint64_t conf;
    const struct hung_times *times;
};

/* Borrows what place points to. Returns NULL when out of memory. */
struct livejoin *livejoin_create(const struct livejoin_place *place);
void livejoin_destroy(struct livejoin *join); /* accepts NULL */

struct livejoin_time {
    uint64_t real_ns, mono_ms;
};

/* Keeps a node's snapshot until a newer one arrives. *slot is SIZE_MAX for a
 * node's first snapshot, and must then be passed unchanged. Returns -1 if the
 * bytes are no snapshot, belong to another step, are not newer, or if there is
 * no room; the node's file is used then. */
int livejoin_keep(struct livejoin *join, uint64_t component, uint32_t nodeid,
                  size_t *slot, const uint8_t *bytes, size_t n,
                  uint64_t now_ms);

/* Looks at the snapshots if a look is due. urgent: this node waits, or somebody
 * watches. Returns -1 if the snapshots cannot be read. */
int livejoin_look(struct livejoin *join, const struct livejoin_time *now,
                  bool urgent, struct jp_error *err);

/* What the looks have found so far. */
struct livejoin_found {
    struct hung stuck;      /* operations in flight for too long */
    struct livestall stall; /* of logs that show only ended operations */
    /* Ranks that make the others wait, latest first. They are searched for at a
     * look without a hang, or less often because of LIVEJOIN_LATE_SHARE. */
    struct livelate late;
    uint32_t alerts; /* lines about the job's hangs that its user received */
};

/* Borrowed until the next look. */
const struct livejoin_found *livejoin_found(const struct livejoin *join);

#endif
