/* replay.h - what the run would have taken without a cause of waits.
 *
 * Each process is a sequence of operations, each of which it reaches some time
 * of its own after what it waited for before. An operation ends when its last
 * member has arrived, plus its time without waiting; Send and Recv are one
 * operation of two members, the messages of an AlltoAll one of all ranks.
 * From the timelines (aggregate/timeline.h), which are on the clock of one
 * process each; only differences of one clock are used:
 *
 *   arrival = end of what it follows + own time     (time of the recording)
 *   end     = arrival of the last member + net
 *
 * - What an operation follows: the operation of its process that ended last
 *   before it began, and the one before it in its communicator (a stream).
 *   Operations may overlap: those that are in flight when it begins are not
 *   waited for; nor what ended last, if it ended beside it: where most members
 *   are then nearer to what is usual after the one before in their stream. In a
 *   stream beside the computation an operation follows the start of the one
 *   before, if it comes steadier after that than after its end
 *   (replay.c). Operations of one launch begin together and are followed
 *   together.
 * - A first pass follows each process' own clock, and lets the clocks of an
 *   operation's members, which leave it together, find each other. It is made
 *   twice: the second begins with what the first has found, and gives net, the
 *   mean over the members. Members of an AlltoAll (uneven sizes), of a
 *   Broadcast or Reduce leave at different times, and keep these.
 * - An operation that lacks a member (lost records) ends for each of the others
 *   when it did; it makes nobody wait.
 * - The next pass is the model itself, with nothing changed. Where it misses
 *   the run's length by more than limits.h says, or where too many operations
 *   lack members, nothing is claimed (`usable`).
 *
 * Bounds: at most REPLAY_EVENTS operations of processes, some 110 B each; more
 * processes or longer runs: the begin of each timeline, as long of each, and
 * `part` is set: what is told is of that part of the run. Time is
 * O(operations of processes) for each pass.
 */
#ifndef JP_INSIGHT_REPLAY_H
#define JP_INSIGHT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/processes.h"

enum { REPLAY_EVENTS = 1 << 21 };

struct replay;

struct replay_state {
    bool usable;        /* the rest says why not */
    bool part;          /* of the run only: its begin */
    uint64_t events;    /* operations of processes that are replayed */
    uint64_t lacking;   /* of these, in operations that lack members */
    double recorded_us; /* the length of the process that ran longest */
    double replayed_us; /* of the same one, with nothing changed */
    double share;       /* of the recorded operations that are in `events` */
};

enum replay_kind {
    REPLAY_LATE,   /* the processes' own times become those of their peers: late
                      ones, and those that stall */
    REPLAY_NET,    /* slow links: net of operations becomes that of their
                      likes (same function, size, numbers of ranks and hosts),
                      or what it was before from_us, or in the first tenth */
    REPLAY_STAGES, /* own times of groups of processes are evened, their sum
                      kept */
};

/* What is taken away. Borrowed for the call. */
struct replay_cause {
    enum replay_kind kind;
    const size_t *processes; /* LATE: whose; STAGES: those of all
                                stages; indices into processes->list */
    const uint32_t *stage;   /* STAGES: number of each one's */
    size_t n;
    const char *host; /* NET: operations that touch it; NULL or "": any */
    int64_t comm;     /* NET: of this communicator; -1: any */
    double from_us;   /* NET: since 1970, slow from then on; NAN: always */
    bool grows;       /* NET: slower and slower */
};

/* The result (with its timelines) and the processes are borrowed until destroy.
 * NULL only without memory; *state says whether it can be used. */
struct replay *replay_create(const struct jp_result *result,
                             const struct jp_processes *processes,
                             struct replay_state *state);
void replay_destroy(struct replay *replay); /* takes NULL */

/* What part of the run's time the cause took: 0.11: the run would have taken
 * 11 % less. NAN: nobody to compare with (no peers, no likes). 0, or -1 without
 * memory. Not to be called where it is not usable. */
int replay_without(struct replay *replay, const struct replay_cause *cause,
                   double *gain);

enum { WHATIF_FINDINGS = 8 }; /* as many are replayed, the first */

/* Sets gain and gain_kind of sorted findings, and adds a clause to their text.
 * The run is replayed where a finding names a cause that a replay can take
 * away; *state, of the replay, is all zeros else. 0, or -1 without memory. */
int whatif_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_findings *findings, struct replay_state *state);

#endif
