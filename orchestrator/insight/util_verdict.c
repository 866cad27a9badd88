/* util_verdict.c - judge a step of which only utilisation or clocks are known.
 */
#include "orchestrator/insight/util_verdict.h"

#include "common/figure.h"
#include "orchestrator/insight/finding.h"

static uint64_t samples_of(const struct jp_util *util)
{
    uint64_t most = 0;

    for (size_t i = 0; util && i < util->n_rows; i++)
        if (util->rows[i].samples > most)
            most = util->rows[i].samples;
    return most;
}

void util_verdict_alone(const struct jp_util *util, bool sampled, int probed,
                        const struct jp_insight *insight,
                        struct jp_verdict *verdict)
{
    const struct jp_crash *crash =
        insight && insight->crash.cause ? &insight->crash : NULL;
    struct jp_sentence s;

    sentence_init(&s, verdict->text, sizeof(verdict->text));
    if (crash)
        sentence_add(&s, "%s", crash->text);
    if (samples_of(util) || probed > 0) {
        verdict->word = JP_VERDICT_UNJUDGED;
        sentence_add(&s, "%s%s%s only: NCCL was not profiled",
                     samples_of(util) ? "utilisation" : "",
                     samples_of(util) && probed > 0 ? " and " : "",
                     probed > 0 ? "clocks" : "");
        if (samples_of(util) && (util->bad_files || util->cut_files))
            sentence_add(&s, "%s of %s files of samples are not whole",
                         FIG_COUNT(util->bad_files + util->cut_files),
                         FIG_COUNT(util->files));
    } else {
        verdict->word = JP_VERDICT_NODATA;
        sentence_add(&s, "no node left %s%s%s%s%s",
                     sampled ? "samples of utilisation" : "",
                     sampled && probed == 0 ? " or " : "",
                     probed == 0 ? "probes of clocks" : "",
                     util && *util->trouble ? ": " : "",
                     util ? util->trouble : "");
    }
    if (crash && crash_is_fault(crash))
        verdict->word = JP_VERDICT_FAILED;
}
