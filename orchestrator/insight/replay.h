/* replay.h - how long the run would have taken without a cause of waits.
 *
 * Model. Each process is a sequence of operations. It reaches each of them
 * after some time of its own, counted from what the operation follows. An
 * operation ends when its last member has arrived, plus its time without
 * waiting (net). A Send and its Recv are one operation of two members; the
 * messages of an AlltoAll are one operation of all ranks:
 *
 *   arrival = end of what it follows + own time     (time of the recording)
 *   end     = arrival of the last member + net
 *
 * Times come from the timelines (aggregate/timeline.h). Each is on the clock of
 * one process; only differences on one clock are used.
 *
 * What an operation follows. It follows the operation of its process that ended
 * last before it began, and the one before it in its communicator (a stream).
 *  - Operations may overlap: one that is still in flight is not waited for.
 *  - What ended last may have ended beside the operation. That is assumed if
 *    most members are then nearer to their usual time after the one before in
 *    their stream.
 *  - In a stream beside the computation an operation follows the start of the
 *    one before, if the time after the start is steadier than after the end.
 *  - Operations of one launch begin together and follow the same.
 *
 * Passes. The first pass follows each process' own clock. Members leave an
 * operation together, so their clocks are aligned by that. The pass is made
 * twice; the second one starts with the clocks that the first has found and
 * gives net, the mean over members. Members of an AlltoAll (uneven sizes), a
 * Broadcast or a Reduce leave at different times, which are kept. The next pass
 * is the model with nothing changed. If it misses the run's length by more than
 * the limit, or if too many operations lack members, the replay is not `usable`
 * and nothing is claimed. An operation that lacks a member (lost records) ends
 * for each of the others when it did in the recording.
 *
 * Bounds. At most REPLAY_EVENTS operations of processes, some 110 B each. Of
 * more, only the begin of each timeline is replayed, as long of each; `part` is
 * then set and the gain is of that part of the run. A pass takes O(operations
 * of processes).
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
    bool usable;        /* otherwise the other fields say why not */
    bool part;          /* only the start of the run was replayed */
    uint64_t events;    /* operations of processes in the replay */
    uint64_t lacking;   /* of these, in operations without all members */
    double recorded_us; /* the recorded length of the longest process */
    double replayed_us; /* the replayed length of the same one, with nothing
                           changed */
    double share;       /* share of the recorded operations in `events` */
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

/* The cause to remove. Borrowed during the call. */
struct replay_cause {
    enum replay_kind kind;
    const size_t *processes; /* LATE: the late ones; STAGES: those of all
                                stages. Indexes into processes->list */
    const uint32_t *stage;   /* STAGES: the stage number of each */
    size_t n;
    const char
        *host; /* NET: a host; operations with it are slow. NULL or "": any */
    int64_t comm;   /* NET: a communicator; -1: any */
    double from_us; /* NET: slow from then on, since 1970; NAN: always */
    bool grows;     /* NET: it becomes slower and slower */
};

/* Borrows the result (with its timelines) and the processes until destroy.
 * *state says whether the replay is usable. NULL: no memory. */
struct replay *replay_create(const struct jp_result *result,
                             const struct jp_processes *processes,
                             struct replay_state *state);
void replay_destroy(struct replay *replay); /* takes NULL */

/* The share of the run's time that the cause takes. 0.11: the run would be 11 %
 * shorter without it. NAN: there are no peers or similar communicators to
 * compare with. 0, or -1: no memory. Only for a usable replay. */
int replay_without(struct replay *replay, const struct replay_cause *cause,
                   double *gain);

enum { WHATIF_FINDINGS = 8 }; /* the first so many findings are replayed */

/* Sets gain and gain_kind of sorted findings, and adds a clause to their text.
 * The run is replayed where a finding names a cause that a replay can take
 * away; *state, of the replay, is all zeros else. 0, or -1 without memory. */
int whatif_findings(const struct jp_result *result,
                    const struct jp_processes *processes,
                    struct jp_findings *findings, struct replay_state *state);

#endif
