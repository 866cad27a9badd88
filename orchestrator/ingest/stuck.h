/* stuck.h - when a step that runs has stopped moving, and who keeps it so.
 *
 * The rule of a hang, for the report of a step that is over and for the one
 * that runs: which operation in flight is a sign of one, what kind it is and by
 * whom. hangs.h joins what files or the nodes' snapshots tell; here it is
 * judged. While a step runs, looks follow one another:
 *
 *     quiet -> SEEN -> SUSPECT -> CONFIRMED
 *       ^--------------- as soon as an operation of one of its ranks ends
 *
 * SEEN: an operation is in flight for longer than its kind ever takes
 * (stuck_limit_ns). SUSPECT: a second look, STUCK_LOOKS later, finds the same
 * one, and nothing has ended meanwhile in any of the processes that have part
 * in it. CONFIRMED: the same STUCK_CONFIRM later, with word of every node from
 * after the operation's start. A step that is suspended, and a process that a
 * debugger holds, is no hang for as long; a rank that reads, writes or computes
 * instead of entering has STUCK_BUSY_TIMES as long.
 */
#ifndef JP_INGEST_STUCK_H
#define JP_INGEST_STUCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/ingest/hangs.h"

/* --- which groups of hangs.h are a sign at all */

/* In flight by the records, and no sign of a hang: captured in a graph and not
 * seen to run, it may wait for a launch; with a later one of its kind ended, or
 * ended by a rank where nobody lacks, NCCL has not told all of its ends; where
 * nothing tells of them, somebody must not have come. */
bool stuck_is_harmless(const struct jp_hangs *hangs,
                       const struct hangs_group *group);

/* Do its ranks differ in the size of what they enter? *op and *other: two of
 * them. Only collectives have to be alike. */
bool stuck_sizes_differ(const struct jp_hangs *hangs,
                        const struct hangs_group *group,
                        const struct hangs_op **op,
                        const struct hangs_op **other);

/* --- the times of the rule */

enum stuck_time {
    STUCK_LEAST,   /* no operation is suspect before */
    STUCK_LOOKS,   /* between the two looks of SUSPECT, at least */
    STUCK_SAY,     /* from SUSPECT to the first line */
    STUCK_CONFIRM, /* from SUSPECT to CONFIRMED */
    STUCK_SILENT,  /* a recorder that writes nothing for so long is silent */
    STUCK_N_TIMES
};

/* Without a unit: multiples. */
#define STUCK_P99_TIMES 20   /* of what 99 % of its kind take */
#define STUCK_MAX_TIMES 2    /* of the longest of its kind */
#define STUCK_FIRST_TIMES 10 /* a communicator's first: init, compilation */
#define STUCK_BUSY_TIMES 10  /* who lacks reads, writes or computes */
/* Of a processor: who takes so much outside of NCCL computes. */
#define STUCK_BUSY_SHARE 0.2

struct stuck_time_row {
    const char *name;
    uint32_t ms; /* with policy.hang_suspect = 30 s */
    const char *reason;
};
extern const struct stuck_time_row stuck_time_rows[STUCK_N_TIMES];

/* The same in proportion for another policy.hang_suspect. */
struct stuck_times {
    uint64_t ms[STUCK_N_TIMES];
};
void stuck_times_set(struct stuck_times *times, uint32_t suspect_ms);

/* --- what is usual: how long operations of a (communicator, function) take */

#define STUCK_BUCKETS 28 /* half octaves from 1 s on */
struct stuck_usual {
    uint64_t n;
    uint64_t max_ns;
    uint32_t longer[STUCK_BUCKETS]; /* those of 1 s and more, by length */
};
void stuck_usual_add(struct stuck_usual *usual, uint64_t ns);
/* One that took more than so many times what it might is a hang that has gone,
 * and teaches nothing. */
#define STUCK_LEARN_TIMES 4
/* At least the 99th percentile, 0 where it is below a second. */
uint64_t stuck_usual_p99_ns(const struct stuck_usual *usual);
/* For how long one may be in flight. usual NULL: none has ended. first: none
 * of its communicator has. */
uint64_t stuck_limit_ns(const struct stuck_times *times,
                        const struct stuck_usual *usual, bool first);

/* --- one look at a step that runs */

/* How a process is, by /proc and by its recording. */
enum stuck_state {
    STUCK_UNKNOWN,  /* cannot be told: no word of its node, another namespace */
    STUCK_MOVES,    /* operations begin or end */
    STUCK_WAITS,    /* in flight, and none ends */
    STUCK_OUTSIDE,  /* nothing in flight, and none begins */
    STUCK_COMPUTES, /* the same, and it takes processor time */
    STUCK_READS,    /* the same, and it reads, writes or waits for a disk */
    STUCK_MUTE,     /* its recorder writes nothing: its file system may block */
    STUCK_DISK,     /* the kernel's state D, for longer than a look */
    STUCK_TRACED,   /* a debugger holds it */
    STUCK_STOPPED,  /* by a signal */
    STUCK_GONE,     /* without its recording's end */
    STUCK_ENDED,    /* in order */
    STUCK_NO_END,   /* by a log of what has ended: nothing ends */
    STUCK_N_STATES
};
/* "waits in communication" and so on, for people and JSON alike. */
extern const char *const stuck_state_words[STUCK_N_STATES];

struct stuck_task {
    enum stuck_state state;
    uint64_t over; /* operations that have ended or were given up so far */
    /* its log tells only what has ended (orchestrator/live/livestall.h): for
     * how long nothing did; the longest time before, 0: not learnt yet; how
     * often its writer writes, 0: not known */
    bool logs;
    uint64_t silent_ms, longest_ms, batch_ms;
};

/* By which kind it is stuck. */
enum stuck_class {
    STUCK_NOTHING,
    STUCK_BY_GONE,      /* a process is gone */
    STUCK_BY_STOP,      /* ... is stopped */
    STUCK_BY_ABSENCE,   /* H1: a rank never entered */
    STUCK_BY_COMPUTING, /* H1, and it is busy outside of NCCL */
    STUCK_BY_FILES,     /* H1, and it reads, writes or waits for a disk */
    STUCK_BY_ORDER,     /* H2: ranks entered different operations */
    STUCK_BY_SIZE,      /* H2: ... of different sizes */
    STUCK_BY_CYCLE,     /* Send and Recv wait for each other in a circle */
    STUCK_INSIDE,       /* H3: all are inside and nothing moves */
    STUCK_UNTOLD,       /* somebody is missing of whom nothing is known */
    STUCK_SUSPENDED,    /* no hang: the whole step is stopped */
    STUCK_DEBUGGED,     /* no hang: a debugger holds a process */
    STUCK_N_CLASSES
};
/* "rank_absent" and so on: what JSON has. */
extern const char *const stuck_class_words[STUCK_N_CLASSES];

/* Why it is stuck. */
struct stuck_cause {
    enum stuck_class class;
    size_t group;     /* of hangs, that nothing ends in */
    uint32_t process; /* the first that keeps the others; UINT32_MAX: none */
    int64_t rank;     /* its rank in that group's communicator; -1: none */
    size_t elsewhere; /* STUCK_BY_ORDER: where it is; SIZE_MAX: nowhere */
};

struct stuck_view {
    const struct jp_hangs *hangs;    /* with its groups */
    const struct progress *progress; /* sorted */
    const struct stuck_task *tasks;  /* by process */
    uint64_t now_ms;                 /* monotonic */
    int64_t now_ns;                  /* wall clock */
    int64_t heard_ns;  /* every node has been heard since then, by its clock */
    uint32_t n_silent; /* nodes of which there is no word, or old word */
};

/* The class of the group, by its processes' states. */
struct stuck_cause stuck_judge(const struct stuck_view *view, size_t group);

enum stuck_phase { STUCK_QUIET, STUCK_SEEN, STUCK_SUSPECT, STUCK_CONFIRMED };
extern const char *const stuck_phase_words[4];

enum stuck_news {
    STUCK_NO_NEWS,
    STUCK_SLOW,   /* suspect for STUCK_SAY: say that nothing moves */
    STUCK_HANGS,  /* confirmed */
    STUCK_GOES_ON /* after one of the two */
};

/* What the rule remembers between looks; zero-initialised but for times. */
struct stuck {
    struct stuck_times times;
    enum stuck_phase phase;
    struct stuck_cause cause; /* of the last look; of its hangs */
    /* the operation that is stuck */
    uint64_t hash, seq;
    int64_t n_ranks, start_ns;
    unsigned kind;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t seen_ms, suspect_ms; /* when the phases began */
    uint64_t over;                /* what had ended then */
    int64_t calm_ns;              /* until then something explained the wait */
    bool said;                    /* of this hang */
    bool unheard;                 /* confirmed without word of all nodes */
    uint32_t n_hangs;             /* confirmed ones, so far */
};

/* One look. cause is filled in while the phase is not quiet. */
enum stuck_news stuck_look(struct stuck *stuck, const struct stuck_view *view);

/* In a sentence: who is stuck in what, of whose doing. Returns buf. */
char *stuck_answer(const struct stuck_view *view,
                   const struct stuck_cause *cause, char *buf, size_t size);

#endif
