/* hypothesis.h - what was looked for in a step, and the answers.
 *
 * One row of a const table is one question ("does a rank make the others
 * wait?"). Each step's insight answers all of them: found; not found, with the
 * smallest effect that would have been seen; or not judged, and why. The
 * default answer is "not looked at", so that an analysis that was forgotten or
 * did not run never looks like a good result.
 *
 * An analysis answers with one call of hypothesis_set() that gives the smallest
 * effect it could have seen. insight.c derives from the findings whether
 * something was found.
 */
#ifndef JP_INSIGHT_HYPOTHESIS_H
#define JP_INSIGHT_HYPOTHESIS_H

#include <stdbool.h>
#include <stddef.h>

#include "orchestrator/insight/finding.h"

enum jp_hypothesis_id {
    JP_HYPOTHESIS_LATE_RANK,
    JP_HYPOTHESIS_LATE_NODE,
    JP_HYPOTHESIS_STALL,
    JP_HYPOTHESIS_SLOW_NETWORK, /* against peaks or a baseline */
    JP_HYPOTHESIS_SLOW_LINK, /* against communicators like it in the same step
                              */
    JP_HYPOTHESIS_DRIFT,     /* against itself, earlier */
    JP_HYPOTHESIS_HANG,
    JP_HYPOTHESIS_CRASH,
    JP_HYPOTHESIS_IMBALANCE,
    JP_HYPOTHESIS_STAGE_IMBALANCE,
    JP_HYPOTHESIS_TURNS,
    JP_HYPOTHESIS_SMALL_MESSAGES,
    JP_HYPOTHESIS_TOPOLOGY,
    JP_HYPOTHESIS_DATA_LOSS,
    JP_HYPOTHESIS_GPU_TIME, /* a feature answers it */
    JP_N_HYPOTHESES
};

enum jp_hypothesis_state {
    JP_HYPOTHESIS_NOT_JUDGED,
    JP_HYPOTHESIS_NOT_FOUND,
    JP_HYPOTHESIS_FOUND,
    JP_HYPOTHESIS_STATES
};
/* "not_judged", "not_found", "found" */
extern const char *const hypotheses_states[JP_HYPOTHESIS_STATES];

enum jp_hypothesis_unit {
    JP_HYPOTHESIS_SHARE, /* 0..1 */
    JP_HYPOTHESIS_US,
    JP_HYPOTHESIS_TIMES,
    JP_HYPOTHESIS_COUNT,
    JP_HYPOTHESIS_UNITS
};
extern const char *const hypotheses_units[JP_HYPOTHESIS_UNITS];

/* Families of questions whose faults hide each other: a large one makes smaller
 * ones invisible. */
enum jp_hypothesis_family {
    JP_HYPOTHESIS_ALONE,
    JP_HYPOTHESIS_WAITS,  /* an effect is a share of the run's time */
    JP_HYPOTHESIS_NETWORK /* ... a share longer than it should take */
};

struct jp_hypothesis {
    const char *key;      /* "late_rank" */
    const char *title;    /* of a row of a table */
    const char *question; /* one plain sentence */
    enum jp_hypothesis_unit unit;
    const char *of; /* a phrase: what the smallest effect measures */
    double most;    /* no effect can be that large; 0: there is no bound */
    enum jp_hypothesis_family family;
    const char *clear; /* the card's words for not found, with one %s for the
                          smallest effect; NULL: none */
    const char *none;  /* the same if that effect is unknown */
    const char *name;  /* the card's words for not judged; NULL: none */
    const char *todo;  /* what to do so that it can be judged next time */
};
extern const struct jp_hypothesis hypotheses_table[JP_N_HYPOTHESES];

#define JP_HYPOTHESIS_WHY 160

/* The answer to one question. Zero: not looked at. */
struct jp_judgement {
    enum jp_hypothesis_state state;
    double least; /* the smallest effect that would have been seen, in the row's
                     unit; NAN or 0: unknown */
    const char *todo;             /* instead of the row's; NULL: that */
    char text[JP_HYPOTHESIS_WHY]; /* Not judged: why. Not found: words that
                       replace the row's, or "". Found: how many, or "" */
};

struct jp_hypotheses {
    struct jp_judgement of[JP_N_HYPOTHESES];
};

/* Answers a question. least: the smallest effect that would have been seen,
 * NAN: unknown. text (printf) may be NULL; of a question that is not
 * judged it is the reason, which fits on a line. "Not found" becomes "not
 * judged" if only an impossible effect would have been seen. h may be NULL. */
__attribute__((format(printf, 5, 6))) void
hypothesis_set(struct jp_hypotheses *h, enum jp_hypothesis_id id,
               enum jp_hypothesis_state state, double least, const char *text,
               ...);

/* The reason if only an impossible effect would have been seen. */
#define HYPOTHESIS_BLIND "times vary too much to see any"

/* Returns true if the question was judged. False for a NULL h. */
bool hypothesis_judged(const struct jp_hypotheses *h, enum jp_hypothesis_id id);

/* Returns why the question could not be judged, or "". Never NULL. */
const char *hypothesis_why(const struct jp_hypotheses *h,
                           enum jp_hypothesis_id id);

/* Returns what to do so that the question can be judged next time, or that a
 * smaller effect would be seen; "" if there is nothing. Never NULL. */
const char *hypothesis_todo(const struct jp_hypotheses *h,
                            enum jp_hypothesis_id id);

/* Formats the smallest effect with its unit; "" if it is unknown. Returns buf.
 */
#define JP_HYPOTHESIS_LEN 40
char *hypothesis_least(const struct jp_hypotheses *h, enum jp_hypothesis_id id,
                       char buf[JP_HYPOTHESIS_LEN]);

/* Formats "no rank that costs 1.2 %, ...; not judged: drift (run of 40 s)".
 * Leaves out what was found, because the findings have it. Returns buf. */
#define JP_HYPOTHESES_LINE 600
char *hypotheses_line(const struct jp_hypotheses *h,
                      char buf[JP_HYPOTHESES_LINE]);

#endif
