/* plain.h - the sentences that a reader meets first, all in one place.
 *
 * A finding's text has every figure in one clause. What stands here is for a
 * reader who was called at night: rank first, at most three sentences of at
 * most JP_PLAIN_WORDS words, numbers with the digits that matter. The page, the
 * card, summary.txt and summary.json ("plain") take them from here;
 * tests/report/plain.test prints them all.
 */
#ifndef JP_INSIGHT_PLAIN_H
#define JP_INSIGHT_PLAIN_H

#include "orchestrator/insight/insight.h"
#include "orchestrator/insight/verdict.h"

#define JP_PLAIN_TEXT 480
#define JP_PLAIN_WORDS 25

/* Who, what, how much. result may be NULL. Returns buf. */
char *plain_finding(const struct jp_finding *finding,
                    const struct jp_result *result, char buf[JP_PLAIN_TEXT]);

/* What is said of a step without a record, before the cause where it is known:
 * who prints this alone says the usual reasons, too. */
#define JP_PLAIN_NOTHING "Nothing was recorded."
#define JP_PLAIN_REASONS                                                       \
    " Usual reasons: (1) the program does not use NCCL; (2) it set "           \
    "NCCL_PROFILER_PLUGIN itself; (3) its container hides the profiler. "      \
    "Check with: jobprof doctor."

/* The same of a step: of its worst finding, else of what its word says. result
 * and insight may be NULL. Returns buf. */
char *plain_verdict(const struct jp_verdict *verdict,
                    const struct jp_result *result,
                    const struct jp_insight *insight, char buf[JP_PLAIN_TEXT]);

/* "29 %", "1.7 %"; "-" where it is not known. Returns buf. */
#define JP_PLAIN_FIGURE 48
char *plain_share(double share, char buf[JP_PLAIN_FIGURE]);
/* "1.7 GPU-seconds", "12 GPU-minutes", "4.1 GPU-hours"; returns buf. */
char *plain_gpu_time(double us, char buf[JP_PLAIN_FIGURE]);
/* "315 us", "3.8 ms", "20 ms": the digits that matter; returns buf. */
char *plain_time(double us, char buf[JP_PLAIN_FIGURE]);
/* "0, 2, 5-7, ...": ranks of a hanging operation in a state; as tasks where
 * all of them are known. At most `most` ranges. Returns buf. */
char *plain_hang_ranks(const struct jp_hang_op *op, enum jp_hang_state state,
                       unsigned most, char *buf, size_t size);

/* What to look at, for a word that no single finding explains: three sentences,
 * or NULL: the finding says what to do. copper: Copper's profiles alone are the
 * matter. */
enum { JP_PLAIN_CHECKS = 3 };
const char *const *plain_checks(enum jp_verdict_word word, bool copper);

/* The command that shows more: its begin, then the rank and the job where they
 * are wanted. kind < 0: no finding. */
struct jp_plain_command {
    const char *text;
    bool rank, job;
};
struct jp_plain_command plain_command(enum jp_verdict_word word, int kind,
                                      bool has_rank);

#endif
