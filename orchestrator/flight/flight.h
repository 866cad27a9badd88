/* flight.h - dumps of PyTorch's Flight Recorder: what each rank was in, and who
 * holds up whom.
 *
 * PyTorch keeps the last calls of each process in a ring
 * (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_FR_BUFFER_SIZE) and writes them to one
 * file per rank when a collective runs into its timeout, or on request. The
 * members of a file were read in PyTorch's source
 * (torch/csrc/distributed/c10d/FlightRecorder*, versions "1.x" to "2.10").
 *
 * What a dump shows, and what it does not:
 * - An entry is made when the program calls the collective. Its state is
 *   "completed", "started" (its kernel was seen to run) or "scheduled". Without
 *   TORCH_NCCL_ENABLE_TIMING no start is recorded, so "scheduled" then means
 *   "called and not completed".
 * - The ring drops the oldest entries; a dump may also leave out completed
 * ones. An entry that is missing below the group's last one proves nothing. One
 *   above it was not called: the ring keeps the newest.
 * - pg_status has each group's last called and last completed operation, by the
 *   process's own number of the group. Entries show which group has which
 *   number. Where a group has no entry, the order of creation does, if names of
 *   groups are numbers and all groups are in both lists.
 * - Ranks write their dumps at different times, and a rank without a dump may
 * be anywhere.
 */
#ifndef JP_FLIGHT_FLIGHT_H
#define JP_FLIGHT_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define FLIGHT_RANKS_MAX 65536  /* dumps, and ranks of a group */
#define FLIGHT_GROUPS_MAX 65536 /* process groups, over all dumps */
#define FLIGHT_OPS_MAX 1024     /* entries kept of a dump, not completed */
#define FLIGHT_FRAMES 24        /* Python frames kept of an entry */
#define FLIGHT_SEEN_MAX 256     /* blocked operations, worst first */

enum flight_op_state { FLIGHT_SCHEDULED, FLIGHT_STARTED, FLIGHT_COMPLETED };

/* A process group: the same name and ranks in several dumps are one group. */
struct flight_group {
    const char *name;  /* "42" */
    const char *desc;  /* "TENSOR_MODEL_PARALLEL_GROUP", or "" */
    int64_t *ranks;    /* of the job, by rank in the group; owned */
    size_t n_ranks;    /* 0: no dump lists them */
    bool has_messages; /* send and recv: its numbers in pg_status are mixed */
};

/* An entry that has not completed. Texts belong to the jp_flight. */
struct flight_op {
    size_t group;
    int64_t record; /* its number in the dump's ring */
    int64_t seq;    /* of the group's collectives, from 1 on */
    int64_t p2p_seq;
    const char *func; /* "all_reduce" */
    enum flight_op_state state;
    bool message;        /* send or recv */
    bool part;           /* of a coalesced call, whose entry has the state */
    int64_t peer;        /* rank in the job of a message's other end; -1 */
    bool sends;          /* of a message */
    uint64_t in, out;    /* elements of all inputs and outputs */
    const char *dtype;   /* of the first input, or output; "" */
    int64_t created_us;  /* since 1970; 0: unknown */
    int64_t started_us;  /* when PyTorch noticed its start; 0: unknown */
    int64_t timeout_ms;  /* 0: unknown */
    const char **frames; /* "step (/home/a/train.py:30)", innermost first;
                            owned */
    size_t n_frames;
    const char *where; /* the first frame of the user's own code; "": unknown */
};

/* How far a rank has come in a group. Numbers are those of collectives; -1:
 * unknown. */
struct flight_place {
    size_t group;
    int64_t pg_id;           /* the process's own number of it; -1: unknown */
    int64_t low, high;       /* the first and last that the dump has */
    int64_t low_us, high_us; /* when they were called; 0: unknown */
    int64_t called, ended;   /* last called and completed, by pg_status */
    bool messages;
    bool ordered; /* pg_id is known by the order of creation only */
};

struct flight_dump {
    char *path;
    int64_t rank; /* in the job; -1: unknown */
    bool bad;     /* it could not be read, or its rank is unknown or taken */
    bool other;   /* bad, since it is of another incident */
    char why[200];
    char version[16];
    char nccl[24];
    uint64_t entries;   /* in the file */
    uint64_t completed; /* of these */
    uint64_t dropped;   /* entries before the first one, at least */
    int64_t last_us;    /* the latest time in it; 0: none */
    int64_t written_us; /* of the file: the dump is not younger; 0: unknown */
    struct flight_op *ops; /* by record */
    size_t n_ops, ops_room;
    uint64_t left_out;           /* entries that are not kept */
    struct flight_place *places; /* by group */
    size_t n_places;
};

enum flight_state {
    FLIGHT_NO_DUMP,
    FLIGHT_UNSURE, /* its dump does not show it */
    FLIGHT_NEVER,  /* it never called it, and is in nothing else */
    FLIGHT_HELD,   /* it never called it, and is in another operation */
    FLIGHT_INSIDE, /* it has called it, and it has not completed there */
    FLIGHT_DONE,
    FLIGHT_N_STATES
};
extern const char *const flight_state_words[FLIGHT_N_STATES];

/* A collective that has not completed in some rank. */
struct flight_seen {
    size_t group;
    int64_t seq;
    const char *func;
    int64_t since_us;   /* the first call of it; 0: unknown */
    int64_t age_us;     /* at least so long, by the dumps' own times */
    int64_t at_most_us; /* not longer, by the files' times; -1: unknown */
    int64_t timeout_ms;
    bool mismatch;     /* ranks have called different things */
    char differs[200]; /* in what, as a clause */
    size_t n;          /* members */
    uint8_t *states;   /* enum flight_state of each; owned */
    int64_t *ranks;    /* in the job, ascending; owned */
    uint32_t count[FLIGHT_N_STATES];
    const struct flight_op *first; /* the entry of the rank that called first */
};

enum flight_cause {
    FLIGHT_NOTHING,     /* no dump has anything in flight */
    FLIGHT_RUNNING,     /* in flight for too short a time to be a hang */
    FLIGHT_BY_MISMATCH, /* ranks called different operations */
    FLIGHT_BY_ABSENCE,  /* ranks never called one, and are in nothing */
    FLIGHT_BY_STUCK,    /* ranks are inside one that others have left */
    FLIGHT_BY_ORDER,    /* ranks are in another operation instead */
    FLIGHT_BY_MESSAGE,  /* ranks wait for messages */
    FLIGHT_BY_UNKNOWN,  /* all known ranks are inside; others left no dump */
    FLIGHT_INSIDE_ALL,  /* all ranks have called it, and it moves nowhere */
    FLIGHT_N_CAUSES
};
/* "never_entered" and so on, as in summary.json. */
extern const char *const flight_cause_words[FLIGHT_N_CAUSES];

/* A rank that holds up others. */
struct flight_culprit {
    int64_t rank;
    enum flight_cause cause;
    size_t seen; /* the operation in which others wait for it, or it is stuck;
                    SIZE_MAX: a message is waited for */
    const struct flight_op *message; /* BY_MESSAGE: what waits for it, */
    int64_t waits;                   /* in this rank; otherwise -1 */
};

struct jp_flight {
    struct flight_dump *dumps; /* by rank; bad ones last */
    size_t n_dumps, n_bad;
    struct flight_group *groups;
    size_t n_groups;
    int64_t world; /* ranks of the job, by its largest group; 0: unknown */
    struct flight_seen *seen; /* the culprits' first, then oldest first */
    size_t n_seen;
    uint64_t seen_left_out;
    enum flight_cause cause;
    struct flight_culprit *culprits; /* by rank */
    size_t n_culprits;
    uint64_t waiting; /* ranks with something in flight */
    bool evidence;    /* taken of some ranks while the step hung */
    /* dumps that were left out, because several have one rank: they are of
     * another incident */
    uint64_t of_others;
    void *texts; /* owned: all texts above */
};

/* A file to read. */
struct flight_file {
    const char *path;
    int64_t mtime_us;
    int64_t rank; /* known from elsewhere; -1: by the file's name */
};

/* Reads the dumps and judges them. hang_us: an operation that was certainly in
 * flight for less is no hang. stop is called before each file; other than 0
 * ends the reading. *out is NULL if n is 0. Returns -1 without memory, or
 * stopped. */
int flight_load(const struct flight_file *files, size_t n, int64_t hang_us,
                int (*stop)(void *arg), void *arg, struct jp_flight **out,
                struct jp_error *err);
/* Accepts NULL. */
void flight_destroy(struct jp_flight *flight);

/* Whether it is a hang. */
bool flight_hangs(const struct jp_flight *flight);

/* "collective 31,443 (_reduce_scatter_base) of group 40 (TENSOR_...)". Returns
 * buf. */
#define FLIGHT_NAME 200
char *flight_name(const struct jp_flight *flight, const struct flight_seen *op,
                  char buf[FLIGHT_NAME]);
/* The members of a state: "3, 5-7". Returns buf. */
char *flight_ranks(const struct flight_seen *op, enum flight_state state,
                   char *buf, size_t size);
/* One sentence about all. Returns buf. */
#define FLIGHT_TEXT 700
char *flight_text(const struct jp_flight *flight, char buf[FLIGHT_TEXT]);
/* The same in a few short sentences, for the card, with what is missing; "" if
 * it is no hang. Returns buf. */
char *flight_plain(const struct jp_flight *flight, char buf[FLIGHT_TEXT]);
/* What the dumps do not show: ranks without one, unreadable ones. "" if they
 * show everything. Returns buf. */
char *flight_gaps(const struct jp_flight *flight, char buf[FLIGHT_TEXT]);

/* --- flight_dump.c -------------------------------------------------------- */

/* Reads one dump from memory and adds its groups. Returns 0, 1 if the file is
 * no good dump (dump->bad and ->why are set), or -1 without memory. */
int flight_dump_read(struct jp_flight *flight, struct flight_dump *dump,
                     const char *bytes, size_t len, struct jp_error *err);
void flight_dump_fini(struct flight_dump *dump);

/* The place of a rank in a group; NULL: the dump has neither entries nor a
 * status of it. */
const struct flight_place *flight_dump_place(const struct flight_dump *dump,
                                             size_t group);

/* Whether an entry is a message that is in flight for sure: not of a call that
 * has completed. Messages complete in any order, so one that is not after the
 * last completed one may be. Parts of a coalesced call are in a dump only if
 * the call has not completed. */
bool flight_dump_waits(const struct flight_dump *dump,
                       const struct flight_op *op);

/* --- flight_judge.c ------------------------------------------------------- */

/* Fills in everything from seen on. Returns 0, or -1 without memory. */
int flight_judge(struct jp_flight *flight, int64_t hang_us);

#endif
