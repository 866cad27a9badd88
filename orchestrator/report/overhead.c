/* overhead.c - the recorder's own cost, in words. */
#include "orchestrator/report/overhead.h"

#include <math.h>
#include <stdio.h>

#include "common/figure.h"
#include "orchestrator/insight/sentence.h"

double overhead_share(const struct jp_overhead *o)
{
    return o->wall_ns > 0 ? (o->callbacks_ns + o->life_ns) / o->wall_ns : NAN;
}

char *overhead_percent(double share, char buf[JP_FIGURE_LEN])
{
    snprintf(buf, JP_FIGURE_LEN, share < 0.995 ? "%.2g %%" : "%.0f %%",
             100 * share);
    return buf;
}

static const char *who_does_not(const struct jp_quality *q)
{
    return q->recordings ? "not told: recordings of an older release"
           : q->traces   ? "not told by the example plugin"
           : q->files    ? "not told by NCCL Inspector's logs"
                         : "not known: no data";
}

void overhead_text(const struct jp_quality *q, char text[JP_OVERHEAD_TEXT])
{
    const struct jp_overhead *o = &q->overhead;
    struct jp_sentence s;
    char each[40] = "", share[2][JP_FIGURE_LEN];

    sentence_init(&s, text, JP_OVERHEAD_TEXT);
    if (!o->recordings) {
        sentence_add(&s, "%s", who_does_not(q));
        return;
    }
    if (o->events)
        snprintf(each, sizeof(each), " of %.0f ns",
                 o->callbacks_ns / (double) o->events);
    sentence_add(&s,
                 "%s of the processes' time, at most %s of one: %s "
                 "callbacks%s, and %s in init and finalize",
                 overhead_percent(overhead_share(o), share[0]),
                 overhead_percent(o->worst_share, share[1]),
                 FIG_COUNT(o->events), each, FIG_US(o->life_ns / 1e3));
    sentence_add(&s, "besides %s of a processor to write %s",
                 overhead_percent(o->writer_ns / o->wall_ns, share[0]),
                 FIG_BYTES(o->bytes));
    if (o->recordings < q->files)
        sentence_add(&s, "told by %s of %s files", FIG_COUNT(o->recordings),
                     FIG_COUNT(q->files));
}
