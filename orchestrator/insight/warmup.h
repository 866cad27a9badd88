/* warmup.h - first operations that take far longer than later ones.
 *
 * With the first operations of a communicator NCCL connects, registers buffers
 * and tunes, and the program compiles. Recognised is, of each kind
 * (communicator, function, size), the first stretch of at most a fifth of its
 * operations of which half and the last take warmup_times_min times the median
 * of those behind that fifth, as the mean over ranks: who is not ready lets the
 * others wait. Of the job, where it is so in half of its kinds by time.
 */
#ifndef JP_INSIGHT_WARMUP_H
#define JP_INSIGHT_WARMUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jp_netserieses;

struct jp_warmup {
    size_t kinds, of_kinds; /* that have one; that were looked at */
    uint64_t ops;           /* recognised; 0: none, and the rest below is 0 */
    double times;           /* as long as usual, on average */
    double until_us;        /* of the last one, since 1970; NAN: not known */
    double took_us;         /* longer than usual, in all, per rank */
};

/* How many of n times are warm-up. scratch: room for n. *usual_us is the median
 * behind the first fifth. */
size_t warmup_length(const double *us, size_t n, double *scratch,
                     double *usual_us);

/* What the kinds say together. */
void warmup_sum(const struct jp_netserieses *kinds, struct jp_warmup *warmup);

/* One sentence. begin_us: of the first record, 0: not known. looked: false
 * where missing data forbids to look. */
#define JP_WARMUP_TEXT 400
void warmup_text(const struct jp_warmup *warmup, bool looked, uint64_t begin_us,
                 char text[JP_WARMUP_TEXT]);

#endif
