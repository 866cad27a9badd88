/* livestall.h - a step whose logs tell only what has ended has stopped.
 *
 * With such logs (livelog.c) no operation is seen in flight, so that the rule
 * of hung.h has nothing to look at. What is left is silence: no process of the
 * step has ended an operation for longer than ever before. It is a suspicion
 * and no more, because a pause of the program looks the same: it is told once,
 * it is never confirmed, and nothing is done about it.
 *
 *     quiet -> SEEN -> SUSPECT (told HUNG_SAY later)
 *       ^------------- as soon as a log grows; before it is told, also as soon
 *                      as it is no stall any more
 *
 * How long it must be (livestall_limit_ms): computing and communicating look
 * the same, so that it is what hung.h grants a rank that computes,
 * HUNG_BUSY_TIMES the usual; at once where the cause shows, which is that a
 * rank has ended fewer operations than others of its communicator that none may
 * end alone, or that its process is stopped. Always more than twice the longest
 * silence before, and than three batches of the logs; not before those are
 * learnt. While a debugger holds a process or all are stopped it is no stall.
 */
#ifndef JP_LIVE_LIVESTALL_H
#define JP_LIVE_LIVESTALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/ingest/hung.h"

/* What JSON has where hung_class_words has others. */
#define LIVESTALL_CLASS "silence"

/* Why, as far as it shows. */
enum livestall_cause {
    LIVESTALL_UNKNOWN,
    LIVESTALL_BEHIND, /* a rank has ended fewer operations than others */
    LIVESTALL_STOPPED,
    LIVESTALL_ENDED /* a process has ended, the others have not */
};

/* What is remembered between looks; zero-initialised but for times. */
struct livestall {
    struct hung_times times;
    enum hung_phase phase; /* never CONFIRMED */
    uint64_t seen_ms, suspect_ms;
    bool said;
    /* of the last look */
    bool judged;        /* there are such logs, and all their paces are known */
    uint64_t silent_ms; /* no process has ended anything for so long */
    uint64_t was_ms;    /* ... by the look before the one that ended a stall */
    uint64_t limit_ms;
    size_t n_ranks; /* that have not ended */
    enum livestall_cause cause;
    uint32_t process;   /* UINT32_MAX: none is named */
    int64_t rank;       /* in the communicator; -1: not known */
    uint64_t behind;    /* operations */
    int64_t n_ranks_of; /* of the communicator it is behind in */
    size_t n_behind;    /* such ranks */
    uint64_t hash;
    char func[RECORD_MAX_FUNC + 1];
};

/* One look at a step of which view has the processes and how far they have
 * come. HUNG_SLOW: to be told; HUNG_GOES_ON: it moves again after that. */
enum hung_news livestall_look(struct livestall *stall,
                              const struct hung_view *view);

/* In a sentence. Returns buf. */
char *livestall_answer(const struct livestall *stall,
                       const struct hung_view *view, char *buf, size_t size);

#endif
