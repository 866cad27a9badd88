/* reasons.h - why a verdict is NODATA, INCOMPLETE or UNJUDGED: one table of all
 * reasons, with the situation that each stands for and what to look at. Those
 * of features are rows in their folders (`reasons` of struct feature).
 *
 * A verdict has the reasons that the data shows, the most certain one first
 * (verdict.c, expected.c). Only where there is none, it has the row of the
 * likeliest ones. docs/findings.md has the same table.
 * tests/report/test_verdict.c and tests/insight/test_insight.c produce each
 * row; tests of features produce theirs.
 */
#ifndef JP_INSIGHT_REASONS_H
#define JP_INSIGHT_REASONS_H

#include <stdbool.h>

#include "orchestrator/insight/finding.h"

enum jp_reason {
    /* NODATA */
    JP_REASON_NOT_ANALYSED,
    JP_REASON_OFF,
    JP_REASON_NO_NODE,
    JP_REASON_UNPROFILED,
    JP_REASON_GONE,
    JP_REASON_TASKS_FAILED,
    JP_REASON_TASKS_ENDED,
    JP_REASON_OWN_PLUGIN,
    JP_REASON_OTHER_PLUGIN,
    JP_REASON_NO_LIBRARY,
    JP_REASON_LIBRARY_UNREADABLE,
    JP_REASON_OWN_VARIABLE,
    JP_REASON_PLANNED,
    JP_REASON_OWN_FOLDER,
    JP_REASON_CONTAINER,
    JP_REASON_NO_OUTPUT,
    JP_REASON_NO_INPUT,
    JP_REASON_DENIED,
    JP_REASON_NO_LOGS,
    JP_REASON_UNREADABLE,
    JP_REASON_DAMAGED_INPUT,
    JP_REASON_BEGUN,
    JP_REASON_NO_ROOM,
    JP_REASON_LOST_ALL,
    JP_REASON_CUT_ALL,
    JP_REASON_FILTERED,
    JP_REASON_IDLE,
    JP_REASON_EMPTY,
    JP_REASON_NO_SAMPLES,
    /* INCOMPLETE */
    JP_REASON_SHARED,
    JP_REASON_TWINS,
    JP_REASON_UNSEEN,
    JP_REASON_IN_FLIGHT,
    JP_REASON_UNEVEN,
    JP_REASON_MISCOUNTED,
    JP_REASON_ELSEWHERE,
    JP_REASON_LOST_COMMS,
    JP_REASON_LOST,
    JP_REASON_OVERWRITTEN,
    JP_REASON_POOLS,
    JP_REASON_TAIL,
    JP_REASON_NODES,
    JP_REASON_UNFINISHED,
    JP_REASON_FOLDER,
    JP_REASON_RANKS_TRACED,
    JP_REASON_RANKS,
    JP_REASON_COMMS,
    JP_REASON_DAMAGED,
    JP_REASON_BAD_LINES,
    JP_REASON_MEMORY,
    JP_REASON_CUT,
    JP_REASON_STEPS_DIFFER,
    JP_REASON_UNKNOWN_CUT,
    JP_REASON_UNKNOWN_LOSS,
    /* UNJUDGED */
    JP_REASON_ONE_RANK,
    JP_REASON_ONE_RECORDED,
    JP_REASON_WAITS_UNKNOWN,
    JP_REASON_NO_PROCESSES,
    JP_REASON_NO_TIMES,
    JP_REASON_BLIND,
    JP_REASON_NO_WAITS,
    JP_REASON_ABSENT,
    JP_REASON_APART,
    JP_REASON_NO_BARRIERS,
    JP_REASON_UNEQUAL_ALLTOALLS,
    JP_REASON_MESSAGES,
    JP_REASON_FEW,
    JP_REASON_TORN,
    JP_REASON_SHARED_SO_FAR,
    JP_REASON_TWINS_SO_FAR,
    JP_REASON_UNSEEN_SO_FAR,
    JP_REASON_ROUGH,
    JP_REASON_FIGURES_ONLY,
    JP_REASONS
};

/* Reasons of a verdict, and checks that its reader can make, at most. */
enum { JP_PLAIN_CHECKS = 3 };

/* The command that shows more: its start, and whether the rank and the job are
 * appended. */
struct jp_plain_command {
    const char *text;
    bool rank, job;
};

struct jp_reason_row {
    const char *key; /* a word, for tests and docs */
    enum jp_verdict_word word;
    const char *situation; /* one clause, in the table of docs/findings.md */
    const char *checks[JP_PLAIN_CHECKS]; /* sentences; NULL ends them */
    /* INCOMPLETE, UNJUDGED: NULL is the plan of a better run */
    struct jp_plain_command command;
    /* UNJUDGED: a part of the text why late ranks were not judged
     * (hypothesis_why), by which the reason is known; NULL: set by its
     * function */
    const char *says;
};
extern const struct jp_reason_row reasons_table[JP_REASONS];

/* The first members of a row: its key, and the word without JP_VERDICT_. */
#define JP_REASON_OF(name, verdict) .key = (name), .word = JP_VERDICT_##verdict

/* The reasons of a verdict: rows of reasons_table, or of a feature's. Zero:
 * none. */
struct jp_reasons {
    const struct jp_reason_row *of[JP_PLAIN_CHECKS];
    unsigned n;
};

/* Appends a reason, unless it is there already or there is no room. reasons may
 * be NULL. */
void reasons_add(struct jp_reasons *reasons, enum jp_reason reason);
void reasons_add_row(struct jp_reasons *reasons,
                     const struct jp_reason_row *row);
/* The number of a row of reasons_table; JP_REASONS: it is a feature's, or
 * NULL. */
enum jp_reason reasons_number(const struct jp_reason_row *row);

/* Fills checks with those of the reasons. NULL ends a list of fewer than
 * JP_PLAIN_CHECKS. */
void reasons_checks(const struct jp_reasons *reasons,
                    const char *checks[JP_PLAIN_CHECKS]);

/* Returns the reason for a text of hypothesis_why; JP_REASONS: there is no row
 * for it. */
enum jp_reason reasons_find(const char *why);

#endif
