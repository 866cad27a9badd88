/* plain.h - the sentences that a reader meets first, all in one place.
 *
 * A finding's text has all figures in one clause. The sentences here are for a
 * reader who was called at night: rank first, at most three sentences of at
 * most JP_PLAIN_WORDS words, numbers with the digits that matter. The page,
 * the card, summary.txt and summary.json ("plain") use them.
 * tests/report/plain.test prints them all.
 */
#ifndef JP_INSIGHT_PLAIN_H
#define JP_INSIGHT_PLAIN_H

#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/verdict.h"

#define JP_PLAIN_TEXT 480
#define JP_PLAIN_WORDS 25

/* Writes the sentences on a finding: which rank or node, what, and how much.
 * result may be NULL. Returns buf. */
char *plain_finding(const struct jp_finding *finding,
                    const struct jp_result *result, char buf[JP_PLAIN_TEXT]);

/* The first sentence about a step without a record; the reason follows if there
 * is one. A caller that prints this alone also prints the likeliest reasons. */
#define JP_PLAIN_NOTHING "Nothing was recorded."
#define JP_PLAIN_REASONS                                                       \
    " Likely reasons: (1) the program does not use NCCL; (2) NCCL did not "    \
    "load the profiler, because the program or its container hides it. "       \
    "Check with: jobprof doctor."

/* The same for a step: its worst finding, or what its verdict means if there is
 * no finding. result and insight may be NULL. Returns buf. */
char *plain_verdict(const struct jp_verdict *verdict,
                    const struct jp_result *result,
                    const struct jp_insight *insight, char buf[JP_PLAIN_TEXT]);

/* "29 %", "1.7 %", or "-" if unknown. Returns buf. */
#define JP_PLAIN_FIGURE 48
char *plain_share(double share, char buf[JP_PLAIN_FIGURE]);
/* "1.7 GPU-seconds", "12 GPU-minutes", "4.1 GPU-hours"; returns buf. */
char *plain_gpu_time(double us, char buf[JP_PLAIN_FIGURE]);
/* "315 us", "3.8 ms", "20 ms": the digits that matter; returns buf. */
char *plain_time(double us, char buf[JP_PLAIN_FIGURE]);
/* "0, 2, 5-7, ...": the ranks in one state of a hanging operation. At most
 * `most` ranges. Returns buf. */
char *plain_hang_ranks(const struct jp_hang_op *op, enum jp_hang_state state,
                       unsigned most, char *buf, size_t size);

/* What the report has, on which checks and commands depend. */
struct jp_plain_has {
    bool rank;       /* the finding names a rank of the job */
    bool records;    /* of operations */
    bool recordings; /* of the recorder, with operations that had not ended, or
                        cut, so that some may not have */
    /* shows what the network connects; NULL: nothing does */
    const char *network_command;
    bool evidence; /* what its processes did while they hung */
};

/* Checks for a verdict that no single finding explains, at most
 * JP_PLAIN_CHECKS; NULL ends a shorter list. NULL: the finding has its own
 * advice. Borrowed from the verdict. */
const char *const *plain_checks(const struct jp_verdict *verdict,
                                const struct jp_plain_has *has);

/* The command that shows more, which works with what the report has. kind < 0:
 * there is no finding. */
struct jp_plain_command plain_command(const struct jp_verdict *verdict,
                                      int kind, const struct jp_plain_has *has);

#endif
