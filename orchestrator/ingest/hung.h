/* hung.h - decide whether a running step hangs, and which process causes it.
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
 * (hung_limit_ns). SUSPECT: a second look, HUNG_LOOKS later, finds the same
 * operation, and none has ended in the meantime in any process that takes part
 * in it. CONFIRMED: the same after another HUNG_CONFIRM, and every node has
 * reported since the operation's start. Time during which the step is suspended
 * or a debugger holds a process does not count. A rank that reads, writes or
 * computes instead of entering gets HUNG_BUSY_TIMES as long.
 */
#ifndef JP_INGEST_HUNG_H
#define JP_INGEST_HUNG_H

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
bool hung_is_harmless(const struct jp_hangs *hangs,
                      const struct hangs_group *group);

/* --- the time limits of the rule */

enum hung_time {
    HUNG_LEAST,   /* no operation is suspect before this age */
    HUNG_LOOKS,   /* minimum time between the two looks of SUSPECT */
    HUNG_SAY,     /* from SUSPECT to the first message */
    HUNG_CONFIRM, /* from SUSPECT to CONFIRMED */
    HUNG_SILENT,  /* a recorder that writes nothing for this long is silent */
    HUNG_N_TIMES
};

/* Factors, without unit. */
#define HUNG_P99_TIMES 20   /* times the 99th percentile of its kind */
#define HUNG_MAX_TIMES 2    /* times the longest of its kind */
#define HUNG_FIRST_TIMES 10 /* for a communicator's first: init, compiling */
#define HUNG_BUSY_TIMES 10  /* a missing rank reads, writes or computes */
/* Share of a CPU: a process that uses more than this outside of NCCL is
 * computing. */
#define HUNG_BUSY_SHARE 0.2

struct hung_time_row {
    const char *name;
    uint32_t ms; /* with policy.hang_suspect = 30 s */
    const char *reason;
};
extern const struct hung_time_row hung_time_rows[HUNG_N_TIMES];

/* The time limits, scaled to a policy.hang_suspect. */
struct hung_times {
    uint64_t ms[HUNG_N_TIMES];
};
void hung_times_set(struct hung_times *times, uint32_t suspect_ms);

/* --- usual durations of the operations of a (communicator, function) */

#define HUNG_BUCKETS 28 /* half octaves from 1 s up */
struct hung_usual {
    uint64_t n;
    uint64_t max_ns;
    uint32_t longer[HUNG_BUCKETS]; /* histogram of those of 1 s and more */
};
void hung_usual_add(struct hung_usual *usual, uint64_t ns);
/* An operation that took more than this many times its limit was a hang that
 * has resolved itself; it is left out of the usual durations. */
#define HUNG_LEARN_TIMES 4
/* Upper bound of the 99th percentile; 0: below one second. */
uint64_t hung_usual_p99_ns(const struct hung_usual *usual);
/* The longest time an operation may be in flight. usual NULL: none of its kind
 * has ended yet. first: none of its communicator has ended yet. */
uint64_t hung_limit_ns(const struct hung_times *times,
                       const struct hung_usual *usual, bool first);

/* --- one look at a running step */

/* The state of a process, from /proc and its recording. */
enum hung_state {
    HUNG_UNKNOWN,  /* unknown: its node is silent, or it is in another
                    * namespace */
    HUNG_MOVES,    /* its operations begin or end */
    HUNG_WAITS,    /* operations are in flight, and none ends */
    HUNG_OUTSIDE,  /* nothing is in flight, and nothing begins */
    HUNG_COMPUTES, /* the same, and it uses CPU time */
    HUNG_READS,    /* the same, and it reads, writes or waits for a disk */
    HUNG_MUTE,     /* its recorder writes nothing: a file system may block */
    HUNG_DISK,     /* kernel state D for longer than one look */
    HUNG_TRACED,   /* stopped by a debugger */
    HUNG_STOPPED,  /* stopped by a signal */
    HUNG_GONE,     /* gone, without an end in its recording */
    HUNG_ENDED,    /* ended normally */
    HUNG_NO_END,   /* its log has only ended operations, and none ends */
    HUNG_N_STATES
};
/* "waits in communication" and so on, for messages and JSON. */
extern const char *const hung_state_words[HUNG_N_STATES];

struct hung_task {
    uint32_t joined; /* number of its process among all that were joined: those
                        with several GPUs are several tasks */
    enum hung_state state;
    uint64_t over; /* operations that have ended or were abandoned */
    /* logs: its log has only ended operations. How long none has ended, the
     * longest such time before (0: not learnt yet), and how often its writer
     * writes (0: unknown). */
    bool logs;
    uint64_t silent_ms, longest_ms, batch_ms;
};

/* The kind of hang. */
enum hung_class {
    HUNG_NOTHING,
    HUNG_BY_GONE,      /* a process is gone */
    HUNG_BY_STOP,      /* ... is stopped */
    HUNG_BY_ABSENCE,   /* H1: a rank never entered */
    HUNG_BY_COMPUTING, /* H1, and it is busy outside of NCCL */
    HUNG_BY_FILES,     /* H1, and it reads, writes or waits for a disk */
    HUNG_BY_ORDER,     /* H2: ranks entered different operations */
    HUNG_BY_SIZE,      /* H2: ... of different sizes */
    HUNG_BY_CYCLE,     /* Send and Recv wait for each other in a circle */
    HUNG_INSIDE,       /* H3: all ranks have entered and nothing moves */
    HUNG_UNTOLD,       /* a rank is missing, and nothing is known of it */
    HUNG_SUSPENDED,    /* no hang: the whole step is stopped */
    HUNG_DEBUGGED,     /* no hang: a debugger holds a process */
    HUNG_N_CLASSES
};
/* "never_entered" and so on, for JSON. */
extern const char *const hung_class_words[HUNG_N_CLASSES];

/* The cause of a hang. */
struct hung_cause {
    enum hung_class class;
    size_t group;     /* index in hangs of the blocked group */
    uint32_t process; /* the first process that blocks the others; UINT32_MAX:
                       * none */
    int64_t rank;     /* its rank in that group's communicator; -1: none */
    size_t elsewhere; /* HUNG_BY_ORDER: the group it is in instead; SIZE_MAX:
                       * none */
};

struct hung_view {
    const struct jp_hangs *hangs;    /* including its groups */
    const struct progress *progress; /* sorted */
    const struct hung_task *tasks;   /* indexed by process */
    uint64_t now_ms;                 /* monotonic */
    int64_t now_ns;                  /* wall clock */
    int64_t heard_ns;  /* every node has reported since this time, by its
                        * clock */
    uint32_t n_silent; /* nodes without a report, or with an old one only */
};

/* Classifies a group by the states of its processes. */
struct hung_cause hung_judge(const struct hung_view *view, size_t group);

enum hung_phase { HUNG_QUIET, HUNG_SEEN, HUNG_SUSPECT, HUNG_CONFIRMED };
extern const char *const hung_phase_words[4];

enum hung_news {
    HUNG_NO_NEWS,
    HUNG_SLOW,   /* suspect for HUNG_SAY: report that nothing moves */
    HUNG_HANGS,  /* confirmed */
    HUNG_GOES_ON /* follows one of the two: operations end again */
};

/* The state between looks; zero-initialise all but times. */
struct hung {
    struct hung_times times;
    enum hung_phase phase;
    struct hung_cause cause; /* of the last look; indices refer to its hangs */
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
enum hung_news hung_look(struct hung *hung, const struct hung_view *view);

/* Formats a sentence: which ranks are blocked in what, and by which process.
 * Returns buf. */
char *hung_answer(const struct hung_view *view, const struct hung_cause *cause,
                  char *buf, size_t size);

#endif
