/* livestall.h - detects that a step has stopped, from logs that show only ended
 * operations.
 *
 * With such logs (livelog.c) no operation is visible in flight, so the rule of
 * hung.h has nothing to judge. Silence remains: no process of the step has
 * ended an operation for longer than ever before. This is only a suspicion,
 * because a pause of the program looks the same. It is reported once, never
 * confirmed, and no action follows.
 *
 *     quiet -> SEEN -> SUSPECT (reported HUNG_SAY later)
 *       ^------------- as soon as a log grows; before the report, also as soon
 *                      as it is no longer a stall
 *
 * The required silence is that of hung.h for a rank that computes,
 * HUNG_BUSY_TIMES the usual limit, because computing and communicating look the
 * same. It is the usual limit if the cause is visible: a process is stopped, or
 * a rank has ended fewer operations than others in a function that no rank can
 * end alone. It is always more than twice the longest earlier silence, and more
 * than three batches of the logs; nothing is judged before those are learnt.
 * While a debugger holds a process, or all processes are stopped, there is no
 * stall.
 */
#ifndef JP_LIVE_LIVESTALL_H
#define JP_LIVE_LIVESTALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/ingest/hung.h"

/* The class in JSON, next to those of hung_class_words. */
#define LIVESTALL_CLASS "silence"

/* The cause, as far as it is visible. */
enum livestall_cause {
    LIVESTALL_UNKNOWN,
    LIVESTALL_BEHIND, /* a rank has ended fewer operations than others */
    LIVESTALL_STOPPED,
    LIVESTALL_ENDED /* a process has ended, but others have not */
};

/* State between looks; zero-initialised except for times. */
struct livestall {
    struct hung_times times;
    enum hung_phase phase; /* never CONFIRMED */
    uint64_t seen_ms, suspect_ms;
    bool said;
    /* from the last look */
    bool judged;        /* there are such logs, and the pace of each is known */
    uint64_t silent_ms; /* time for which no process has ended an operation */
    uint64_t was_ms;    /* ... at the look before the one that ended a stall */
    uint64_t limit_ms;
    size_t n_ranks; /* processes that have not ended */
    enum livestall_cause cause;
    uint32_t process;   /* UINT32_MAX: unknown */
    int64_t rank;       /* in the communicator; -1: unknown */
    uint64_t behind;    /* operations */
    int64_t n_ranks_of; /* size of the communicator in which it is behind */
    size_t n_behind;    /* ranks that are behind */
    uint64_t hash;
    char func[RECORD_MAX_FUNC + 1];
};

/* Looks at a step; view has its processes and their positions. Returns
 * HUNG_SLOW if the stall is to be reported, HUNG_GOES_ON if the step makes
 * progress again after that. */
enum hung_news livestall_look(struct livestall *stall,
                              const struct hung_view *view);

/* Formats the stall as a sentence. Returns buf. */
char *livestall_answer(const struct livestall *stall,
                       const struct hung_view *view, char *buf, size_t size);

#endif
