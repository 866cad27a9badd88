/* follows.h - which earlier operation of its process an operation follows.
 *
 * Most operations follow what ended last before them. Where the operations of a
 * communicator (a stream) run beside the computation, as the gradients of a
 * backward pass do, the process computes on while others wait in the operation
 * before. Then an operation follows the start of the one before it in its
 * stream: the time after that start is what the process computed, and the time
 * after the end also varies by the waits in between.
 *
 * Which of both holds is learnt from the operations themselves, by kind: the
 * same operation at the same place of a step behaves alike in all processes of
 * a run. Both who replays a run (orchestrator/replay/replay.h) and who judges
 * own times (orchestrator/judge/judge.h) ask here.
 */
#ifndef JP_IDENTITY_FOLLOWS_H
#define JP_IDENTITY_FOLLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"

#define FOLLOWS_NONE UINT32_MAX
#define FOLLOWS_NEAR_US 5 /* time stamps of one host differ by up to this */
/* An operation this soon after the end of the one before waited in line. */
#define FOLLOWS_QUEUED_US 5

/* --- operations in flight ------------------------------------------------- */

enum { FOLLOWS_OPEN = 32 }; /* operations of one process in flight at a time */

/* Of a process whose operations are added by start. Begins as zeros with ended
 * FOLLOWS_NONE. */
struct follows_flight {
    struct {
        uint32_t operation;
        uint64_t end_us;
    } open[FOLLOWS_OPEN];
    unsigned n;
    uint32_t ended; /* what ended last; FOLLOWS_NONE: nothing yet */
    uint64_t ended_us;
};

/* Removes what has ended by at_us, and notes what ended last. If as many as
 * there is room for are in flight, all are taken as ended: so many overlap in
 * no program whose order can be followed. */
void follows_land(struct follows_flight *flight, uint64_t at_us);

/* Adds an operation. */
void follows_take_off(struct follows_flight *flight, uint32_t operation,
                      uint64_t end_us);

/* --- habits --------------------------------------------------------------- */

/* What an operation may follow: end or start of the one before in its own
 * stream. */
enum { FOLLOWS_END, FOLLOWS_START, FOLLOWS_N };

/* The times of one operation after the end and after the start of the one
 * before. */
struct follows_lag {
    uint64_t kind;    /* not 0; of operations at one place of a step */
    uint32_t members; /* of the operation */
    double us[FOLLOWS_N];
};

/* When an operation of a process ran. */
struct follows_moment {
    uint64_t what; /* kind of the operation itself, wherever it comes; not 0 */
    double start_us, end_us;
};

/* Returns the lag of an operation, given the one before in its stream, and what
 * came before that, because the same operation may have different times at
 * different places of a step. two: 0: nothing did. */
struct follows_lag follows_lag_of(const struct follows_moment *operation,
                                  const struct follows_moment *before,
                                  uint64_t two, uint32_t members);

/* Returns the lag where what ended last is an operation of another stream. It
 * is of a kind of its own, and has the time from that end, and from the start
 * of the one before. lag: as above; other: what that operation was; ended_us:
 * how long ago it ended. */
struct follows_lag follows_lag_between(struct follows_lag lag, uint64_t other,
                                       double ended_us);

/* Usual times of a kind of operation. Deviations are weighted by their number.
 */
struct follows_habit {
    uint64_t kind;
    double n;
    /* least of the processes' medians; a late process has longer ones, which
     * must not count as usual, and so has one that waits in line after the
     * start */
    double usual_us[FOLLOWS_N];
    double start_off; /* sum of the deviations after the start, of all */
    /* sums of the median absolute deviations, times numbers, of `steady` */
    double off[FOLLOWS_N];
    /* numbers of operations that were queued, that were not, and that came so
     * late that they certainly did not wait in line */
    double queued, steady, free;
    double lined; /* those of `steady` that waited in line */
    /* of those that were queued: operations, and numbers of those that
     * certainly did not wait in line */
    double ops, ahead;
};

/* All habits of a run. Starts as zeros. */
struct follows {
    struct follows_habit *at;
    size_t n, room;
    struct hash_table table; /* of the habits, by their kinds */
};

void follows_fini(struct follows *follows);

/* Returns of how many of its n operations the habits are learnt, of each of so
 * many processes: the first ones, so that time and memory do not grow with the
 * run. */
size_t follows_most(size_t processes, size_t n);

/* Learns from the n lags of one process, which it sorts. 0, or -1: no memory.
 */
int follows_learn(struct follows *follows, struct follows_lag *lags, size_t n);

/* Returns the habit of a kind, or NULL: it came too seldom. */
const struct follows_habit *follows_find(const struct follows *follows,
                                         uint64_t kind);

/* Returns true if operations of a kind follow the start of the one before. */
bool follows_start(const struct follows_habit *habit);

/* Returns true if an operation of a kind that follows the start of the one
 * before follows what ended in between instead, as the first gradients of a
 * step do that another operation began. between: the habit of the kind
 * of follows_lag_between; NULL: there is none. */
bool follows_what_ended(const struct follows_habit *between);

/* Returns true if an operation of a kind that follows the start of the one
 * before seems to begin anew, as the first gradients of the next step do. It
 * comes later after the end of that one than operations of its kind usually
 * come after the start. Where most of its kind waited in line, half as late is
 * enough, but it must also come unusually late after the start. A stall looks
 * the same, so the operation follows the end only if most of its members say
 * so. us: its times. */
bool follows_anew(const struct follows_habit *habit,
                  const double us[FOLLOWS_N]);

/* Returns true if what ended last ended beside an operation, which did not wait
 * for it: it came sooner after that end than is usual, and is nearer to its
 * usual time after the one before in its stream. */
bool follows_beside(const struct follows_habit *habit, double before_us,
                    double after_us);

#endif
