/* warmup.c - recognise the operations before all is set up. */
#include "orchestrator/insight/warmup.h"
#include "orchestrator/insight/limits.h"

#include <math.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/netseries.h"
#include "orchestrator/insight/sentence.h"
#include "orchestrator/insight/stats.h"

size_t warmup_length(const double *us, size_t n, double *scratch,
                     double *usual_us)
{
    size_t most = n / limits_get(JP_LIMIT_WARMUP_PART), length = 0, slow = 0;

    *usual_us = 0;
    if (!most)
        return 0;
    memcpy(scratch, us + most, (n - most) * sizeof(*scratch));
    *usual_us = stats_median(scratch, n - most);
    for (size_t i = 0; i < most; i++) {
        if (us[i] <= limits_get(JP_LIMIT_WARMUP_TIMES) * *usual_us)
            continue;
        if (2 * ++slow >= i + 1)
            length = i + 1;
    }
    return length;
}

void warmup_sum(const struct jp_netserieses *kinds, struct jp_warmup *w)
{
    double all_us = 0, warm_kinds_us = 0, took = 0, usual = 0;

    *w = (struct jp_warmup){.until_us = NAN};
    for (size_t i = 0; i < kinds->n; i++) {
        const struct jp_netseries *s = &kinds->at[i];
        double time_us = s->usual_us * (double) s->ops;

        w->of_kinds++;
        all_us += time_us;
        if (!s->warm_ops)
            continue;
        w->kinds++;
        w->ops += s->warm_ops;
        warm_kinds_us += time_us;
        took += s->warm_us;
        usual += s->usual_us * (double) s->warm_ops;
        if (!isnan(s->warm_until_us) && !(s->warm_until_us <= w->until_us))
            w->until_us = s->warm_until_us;
    }
    if (!w->ops || warm_kinds_us < limits_get(JP_LIMIT_WARMUP_KINDS) * all_us) {
        *w = (struct jp_warmup){.of_kinds = w->of_kinds, .until_us = NAN};
        return;
    }
    w->times = took / usual;
    w->took_us = took - usual;
}

void warmup_text(const struct jp_warmup *w, bool looked, uint64_t begin_us,
                 char text[JP_WARMUP_TEXT])
{
    struct jp_sentence s;

    sentence_init(&s, text, JP_WARMUP_TEXT);
    if (!looked) {
        sentence_add(&s, "not looked for, as data is missing");
    } else if (!w->of_kinds) {
        sentence_add(&s, "not looked for: no kind of collective has enough "
                         "complete operations");
    } else if (!w->ops) {
        sentence_add(&s,
                     "none is recognised: the first operations of %s kinds "
                     "(communicator, function, size) took as long as later "
                     "ones",
                     FIG_COUNT(w->of_kinds));
        sentence_add(&s, "findings on the network leave the first twentieth of "
                         "each out all the same");
    } else {
        bool known = begin_us && isfinite(w->until_us);
        bool later = known && w->until_us > (double) begin_us;

        sentence_add(
            &s,
            "the first %s operations of %s of %s kinds (communicator, "
            "function, size), %s%s, took %.1f times as long as later "
            "ones",
            FIG_COUNT(w->ops), FIG_COUNT(w->kinds), FIG_COUNT(w->of_kinds),
            later   ? "until "
            : known ? "all in the first records"
                    : "at an unknown time",
            later ? FIG_US(w->until_us - (double) begin_us) : "", w->times);
        sentence_add(&s, "findings leave them out, as NCCL connects and tunes "
                         "with its first operations; tables and charts of "
                         "bandwidth hold them");
    }
}
