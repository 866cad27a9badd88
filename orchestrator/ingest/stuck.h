/* stuck.h - decide whether a running step hangs, and which process causes it.
 *
 * The hang rule, used both for the report of a finished step and for a running
 * step. It decides which operation in flight is the sign of a hang, of which
 * kind the hang is, and which process is to blame. hangs.h combines the data of
 * the files or of the nodes' snapshots; this module judges them. While a step
 * runs, it is looked at repeatedly:
 *
 *     quiet -> SEEN -> SUSPECT -> CONFIRMED
 *       ^--------------- as soon as an operation of one of its ranks ends
 *
 * SEEN: an operation is in flight longer than its kind ever takes
 * (stuck_limit_ns). SUSPECT: a second look, STUCK_LOOKS later, finds the same
 * operation, and none has ended in the meantime in any process that takes part
 * in it. CONFIRMED: the same after another STUCK_CONFIRM, and every node has
 * reported since the operation's start. Time during which the step is suspended
 * or a debugger holds a process does not count. A rank that reads, writes or
 * computes instead of entering gets STUCK_BUSY_TIMES as long.
 */
#ifndef JP_INGEST_STUCK_H
#define JP_INGEST_STUCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/ingest/hangs.h"

/* --- which groups of hangs.h can be signs of a hang */

/* Whether a group in flight is no sign of a hang. An operation captured in a
 * graph and not seen to run may wait for a launch. If a later operation of its
 * kind has ended, or if a rank has ended it and no rank is missing, NCCL did
 * not report all ends. If ends are not recorded at all, only a missing rank is
 * a sign. */
bool stuck_is_harmless(const struct jp_hangs *hangs,
                       const struct hangs_group *group);

/* --- the time limits of the rule */

enum stuck_time {
    STUCK_LEAST,   /* no operation is suspect before this age */
    STUCK_LOOKS,   /* minimum time between the two looks of SUSPECT */
    STUCK_SAY,     /* from SUSPECT to the first message */
    STUCK_CONFIRM, /* from SUSPECT to CONFIRMED */
    STUCK_SILENT,  /* a recorder that writes nothing for this long is silent */
    STUCK_N_TIMES
};

/* Factors, without unit. */
#define STUCK_P99_TIMES 20   /* times the 99th percentile of its kind */
#define STUCK_MAX_TIMES 2    /* times the longest of its kind */
#define STUCK_FIRST_TIMES 10 /* for a communicator's first: init, compiling */
#define STUCK_BUSY_TIMES 10  /* a missing rank reads, writes or computes */
/* Share of a CPU: a process that uses more than this outside of NCCL is
 * computing. */
#define STUCK_BUSY_SHARE 0.2

struct stuck_time_row {
    const char *name;
    uint32_t ms; /* with policy.hang_suspect = 30 s */
    const char *reason;
};
extern const struct stuck_time_row stuck_time_rows[STUCK_N_TIMES];

/* The time limits, scaled to a policy.hang_suspect. */
struct stuck_times {
    uint64_t ms[STUCK_N_TIMES];
};
void stuck_times_set(struct stuck_times *times, uint32_t suspect_ms);

/* --- usual durations of the operations of a (communicator, function) */

#define STUCK_BUCKETS 28 /* half octaves from 1 s up */
struct stuck_usual {
    uint64_t n;
    uint64_t max_ns;
    uint32_t longer[STUCK_BUCKETS]; /* histogram of those of 1 s and more */
};
void stuck_usual_add(struct stuck_usual *usual, uint64_t ns);
/* An operation that took more than this many times its limit was a hang that
 * has resolved itself; it is left out of the usual durations. */
#define STUCK_LEARN_TIMES 4
/* Upper bound of the 99th percentile; 0: below one second. */
uint64_t stuck_usual_p99_ns(const struct stuck_usual *usual);
/* The longest time an operation may be in flight. usual NULL: none of its kind
 * has ended yet. first: none of its communicator has ended yet. */
uint64_t stuck_limit_ns(const struct stuck_times *times,
                        const struct stuck_usual *usual, bool first);

/* --- one look at a running step */

/* The state of a process, from /proc and its recording. */
enum stuck_state {
    STUCK_UNKNOWN,  /* unknown: its node is silent, or it is in another
                     * namespace */
    STUCK_MOVES,    /* its operations begin or end */
    STUCK_WAITS,    /* operations are in flight, and none ends */
    STUCK_OUTSIDE,  /* nothing is in flight, and nothing begins */
    STUCK_COMPUTES, /* the same, and it uses CPU time */
    STUCK_READS,    /* the same, and it reads, writes or waits for a disk */
    STUCK_MUTE,     /* its recorder writes nothing: a file system may block */
    STUCK_DISK,     /* kernel state D for longer than one look */
    STUCK_TRACED,   /* stopped by a debugger */
    STUCK_STOPPED,  /* stopped by a signal */
    STUCK_GONE,     /* gone, without an end in its recording */
    STUCK_ENDED,    /* ended normally */
    STUCK_NO_END,   /* its log has only ended operations, and none ends */
    STUCK_N_STATES
};
/* "waits in communication" and so on, for messages and JSON. */
extern const char *const stuck_state_words[STUCK_N_STATES];

struct stuck_task {
    enum stuck_state state;
    uint64_t over; /* operations that have ended or were abandoned */
    /* logs: its log has only ended operations (orchestrator/live/livestall.h).
     * How long none has ended, the longest such time before (0: not learnt
     * yet), and how often its writer writes (0: unknown). */
    bool logs;
    uint64_t silent_ms, longest_ms, batch_ms;
};

/* The kind of hang. */
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
    STUCK_INSIDE,       /* H3: all ranks have entered and nothing moves */
    STUCK_UNTOLD,       /* a rank is missing, and nothing is known of it */
    STUCK_SUSPENDED,    /* no hang: the whole step is stopped */
    STUCK_DEBUGGED,     /* no hang: a debugger holds a process */
    STUCK_N_CLASSES
};
/* "rank_absent" and so on, for JSON. */
extern const char *const stuck_class_words[STUCK_N_CLASSES];

/* The cause of a hang. */
struct stuck_cause {
    enum stuck_class class;
    size_t group;     /* index in hangs of the blocked group */
    uint32_t process; /* the first process that blocks the others; UINT32_MAX:
                       * none */
    int64_t rank;     /* its rank in that group's communicator; -1: none */
    size_t elsewhere; /* STUCK_BY_ORDER: the group it is in instead; SIZE_MAX:
                       * none */
};

struct stuck_view {
    const struct jp_hangs *hangs;    /* including its groups */
    const struct progress *progress; /* sorted */
    const struct stuck_task *tasks;  /* indexed by process */
    uint64_t now_ms;                 /* monotonic */
    int64_t now_ns;                  /* wall clock */
    int64_t heard_ns;  /* every node has reported since this time, by its
                        * clock */
    uint32_t n_silent; /* nodes without a report, or with an old one only */
};

/* Classifies a group by the states of its processes. */
struct stuck_cause stuck_judge(const struct stuck_view *view, size_t group);

enum stuck_phase { STUCK_QUIET, STUCK_SEEN, STUCK_SUSPECT, STUCK_CONFIRMED };
extern const char *const stuck_phase_words[4];

enum stuck_news {
    STUCK_NO_NEWS,
    STUCK_SLOW,   /* suspect for STUCK_SAY: report that nothing moves */
    STUCK_HANGS,  /* confirmed */
    STUCK_GOES_ON /* follows one of the two: operations end again */
};

/* The state between looks; zero-initialise all but times. */
struct stuck {
    struct stuck_times times;
    enum stuck_phase phase;
    struct stuck_cause cause; /* of the last look; indices refer to its hangs */
    /* the blocked operation */
    uint64_t hash, seq;
    int64_t n_ranks, start_ns;
    unsigned kind;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t seen_ms, suspect_ms; /* start of the phases */
    uint64_t over;                /* number of ended operations then */
    int64_t calm_ns;              /* last time at which something explained the
                                   * wait */
    bool said;                    /* this hang was reported */
    bool unheard;                 /* confirmed although some nodes are silent */
    uint32_t n_hangs;             /* hangs confirmed so far */
};

/* Takes one look. cause is valid unless the phase is quiet. */
enum stuck_news stuck_look(struct stuck *stuck, const struct stuck_view *view);

/* Formats a sentence: who is blocked in what, and by whom. Returns buf. */
char *stuck_answer(const struct stuck_view *view,
                   const struct stuck_cause *cause, char *buf, size_t size);

#endif
