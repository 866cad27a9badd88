/* hypothesis.c - the questions that the analyses ask about a step, and their
 * answers.
 *
 * hypotheses_table is the place to start: its texts are what readers see. The
 * rest stores answers and prints them.
 */
#include "orchestrator/insight/hypothesis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"

/* One row per question. The one-line summary prints `clear` of a question that
 * was answered "not found" and `name` of one that was not judged; a row without
 * them is left out of it. */
const struct jp_hypothesis hypotheses_table[JP_N_HYPOTHESES] = {
    [JP_HYPOTHESIS_LATE_RANK] =
        {.key = "late_rank",
         .title = "Late rank",
         .question = "Is a rank late on its own, so that the others wait?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "of the run's time",
         .most = 1,
         .family = JP_HYPOTHESIS_WAITS,
         .clear = "no rank that costs %s",
         .none = "no late rank",
         .name = "late ranks",
         .todo = "profile a longer run, with fewer filters"},
    [JP_HYPOTHESIS_LATE_NODE] =
        {.key = "late_node",
         .title = "Late node",
         .question = "Do all ranks of a node make the others wait?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "of the run's time",
         .most = 1,
         .family = JP_HYPOTHESIS_WAITS,
         .todo = "profile a longer run, on two nodes or more"},
    /* No `most`: a stall has no natural upper bound; insight.c compares it with
     * the length of the run. */
    [JP_HYPOTHESIS_STALL] =
        {.key = "stall",
         .title = "Stalls",
         .question = "Does a rank stop for long, once or now and then, while "
                     "the others wait?",
         .unit = JP_HYPOTHESIS_US,
         .of = "one of several stalls",
         .clear = "no recurring stall over %s",
         .none = "no recurring stalls",
         .name = "stalls",
         .todo = "profile a longer run, with fewer filters"},
    /* No `most` for the network either: it may be several times slower. */
    [JP_HYPOTHESIS_SLOW_NETWORK] =
        {.key = "slow_network",
         .title = "Slow network",
         .question = "Is the network slower than its peaks or earlier steps "
                     "suggest?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "longer than expected",
         .family = JP_HYPOTHESIS_NETWORK,
         .clear = "network no more than %s slower than expected",
         .none = "network as fast as expected",
         .name = "absolute speed",
         .todo = "give the site's peaks (peaks.conf), or collect a baseline "
                 "(jobprof baseline)"},
    [JP_HYPOTHESIS_SLOW_LINK] =
        {.key = "slow_link",
         .title = "Slow link",
         .question = "Is a communicator, or a link, slower than its peers in "
                     "this step?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "longer than its peers take",
         .family = JP_HYPOTHESIS_NETWORK,
         .clear = "no link %s slower than its peers",
         .none = "no link slower than its peers",
         .name = "single links",
         .todo = "three communicators of one shape or more can be compared"},
    [JP_HYPOTHESIS_DRIFT] =
        {.key = "drift",
         .title = "Drift",
         .question = "Did the network become slower during the run?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "longer than before",
         .family = JP_HYPOTHESIS_NETWORK,
         .clear = "no drift over %s",
         .none = "no drift",
         .name = "drift",
         .todo = "profile a longer run, with fewer filters"},
    [JP_HYPOTHESIS_HANG] = {.key = "hang",
                            .title = "Hang",
                            .question = "Did an operation never end?",
                            .unit = JP_HYPOTHESIS_US,
                            .of = "in flight",
                            .name = "hangs",
                            .todo = "record with mode recorder, within a step"},
    [JP_HYPOTHESIS_CRASH] = {.key = "crash",
                             .title = "Crash",
                             .question = "Did a task die by itself?",
                             .unit = JP_HYPOTHESIS_COUNT,
                             .of = "tasks",
                             .todo = "run as a Slurm step"},
    [JP_HYPOTHESIS_IMBALANCE] =
        {.key = "imbalance",
         .title = "Imbalance of sizes",
         .question = "Does a rank get far more data by Send and Recv than "
                     "the others?",
         .unit = JP_HYPOTHESIS_TIMES,
         .of = "the mean of its communicator",
         .todo = "record Send and Recv (p2p=on)"},
    [JP_HYPOTHESIS_STAGE_IMBALANCE] =
        {.key = "stage_imbalance",
         .title = "Imbalance of stages",
         .question = "Does a pipeline wait for one of its stages?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "of the run's time",
         .most = 1,
         .family = JP_HYPOTHESIS_WAITS,
         .todo = "record Send and Recv (p2p=on)"},
    [JP_HYPOTHESIS_TURNS] =
        {.key = "waits_by_turns",
         .title = "Waits by turns",
         .question = "Do ranks wait for another one each time, so that nobody "
                     "in particular causes it?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "of the run's GPU time",
         .most = 1,
         .todo = "profile a longer run, with fewer filters"},
    [JP_HYPOTHESIS_SMALL_MESSAGES] =
        {.key = "small_messages",
         .title = "Small messages",
         .question = "Do messages too small for the links take much of the "
                     "network's time?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "of the network's time",
         .most = 1,
         .todo = "profile a longer run, with min_size=0"},
    [JP_HYPOTHESIS_TOPOLOGY] =
        {.key = "topology",
         .title = "Topology",
         .question = "Do the nodes' records prove a fault: a dead NVLink, a "
                     "port that is down?",
         .unit = JP_HYPOTHESIS_COUNT,
         .of = "faults",
         .todo = "run as a Slurm step, so that nodes are described"},
    [JP_HYPOTHESIS_DATA_LOSS] =
        {.key = "data_loss",
         .title = "Data loss",
         .question = "Is data missing that could change an answer?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "of the records",
         .most = 1,
         .name = "completeness",
         .todo = "record with mode recorder, which counts what it keeps"},
    [JP_HYPOTHESIS_GPU_TIME] =
        {.key = "gpu_time",
         .title = "GPUs' time",
         .question = "Do GPUs wait for launches, copies or allocations, or "
                     "does a rank have more to compute than the others?",
         .unit = JP_HYPOTHESIS_SHARE,
         .of = "of the GPUs' time",
         .most = 1,
         .todo = "profile the GPUs, too"},
};

const char *const hypotheses_states[JP_HYPOTHESIS_STATES] = {
    [JP_HYPOTHESIS_NOT_JUDGED] = "not_judged",
    [JP_HYPOTHESIS_NOT_FOUND] = "not_found",
    [JP_HYPOTHESIS_FOUND] = "found",
};

const char *const hypotheses_units[JP_HYPOTHESIS_UNITS] = {
    [JP_HYPOTHESIS_SHARE] = "share",
    [JP_HYPOTHESIS_US] = "us",
    [JP_HYPOTHESIS_TIMES] = "times",
    [JP_HYPOTHESIS_COUNT] = "count",
};

void hypothesis_set(struct jp_hypotheses *h, enum jp_hypothesis_id id,
                    enum jp_hypothesis_state state, double least,
                    const char *text, ...)
{
    struct jp_judgement *j;
    va_list ap;

    if (!h)
        return;
    j = &h->of[id];
    *j = (struct jp_judgement){.state = state, .least = least};
    /* "Not found" means little if only an impossible effect would have been
     * seen (more than the whole run): then the question was not judged. */
    if (state == JP_HYPOTHESIS_NOT_FOUND && hypotheses_table[id].most > 0 &&
        least >= hypotheses_table[id].most) {
        *j = (struct jp_judgement){.state = JP_HYPOTHESIS_NOT_JUDGED,
                                   .least = NAN,
                                   .text = HYPOTHESIS_BLIND};
        return;
    }
    if (!text)
        return;
    va_start(ap, text);
    vsnprintf(j->text, sizeof(j->text), text, ap);
    va_end(ap);
}

/* "Not looked at" is state 0 with an empty text, so a zeroed struct is a valid
 * set of open questions. */
bool hypothesis_judged(const struct jp_hypotheses *h, enum jp_hypothesis_id id)
{
    return h && h->of[id].state != JP_HYPOTHESIS_NOT_JUDGED;
}

const char *hypothesis_why(const struct jp_hypotheses *h,
                           enum jp_hypothesis_id id)
{
    if (hypothesis_judged(h, id))
        return "";
    return h && *h->of[id].text ? h->of[id].text : "not examined";
}

const char *hypothesis_todo(const struct jp_hypotheses *h,
                            enum jp_hypothesis_id id)
{
    const char *own = h ? h->of[id].todo : NULL;

    if (own)
        return own;
    return hypothesis_judged(h, id) ? "" : hypotheses_table[id].todo;
}

/* The unit decides the format. An unknown effect (NAN or 0) has no text. */
char *hypothesis_least(const struct jp_hypotheses *h, enum jp_hypothesis_id id,
                       char buf[JP_HYPOTHESIS_LEN])
{
    double least = h->of[id].least;

    *buf = '\0';
    if (!isfinite(least) || least <= 0)
        return buf;
    switch (hypotheses_table[id].unit) {
    case JP_HYPOTHESIS_SHARE:
        snprintf(buf, JP_HYPOTHESIS_LEN, "%s", FIG_SHARE(least));
        break;
    case JP_HYPOTHESIS_US:
        snprintf(buf, JP_HYPOTHESIS_LEN, "%s", FIG_US(least));
        break;
    case JP_HYPOTHESIS_TIMES:
        snprintf(buf, JP_HYPOTHESIS_LEN, "%.3g times", least);
        break;
    default:
        snprintf(buf, JP_HYPOTHESIS_LEN, "%.0f", least);
    }
    return buf;
}

/* Appends to the text in buf, as far as it fits. */
__attribute__((format(printf, 3, 4))) static void add(char *buf, size_t size,
                                                      const char *fmt, ...)
{
    size_t len = strlen(buf);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buf + len, size - len, fmt, ap);
    va_end(ap);
}

/* Appends "no rank that costs 1.2 %", or the text that the analysis gave. */
static void add_clear(const struct jp_hypotheses *h, enum jp_hypothesis_id id,
                      char *buf, size_t size)
{
    const struct jp_hypothesis *row = &hypotheses_table[id];
    char least[JP_HYPOTHESIS_LEN];
    const char *at;

    if (*h->of[id].text) {
        add(buf, size, "%s", h->of[id].text);
        return;
    }
    hypothesis_least(h, id, least);
    /* The row's text is not used as a format: it is data, and the compiler
     * could not check it. */
    at = strstr(row->clear, "%s");
    if (!*least || !at)
        add(buf, size, "%s", row->none);
    else
        add(buf, size, "%.*s%s%s", (int) (at - row->clear), row->clear, least,
            at + 2);
}

/* Returns true if an earlier question has the same reason. add_open has then
 * named this one beside it. */
static bool is_named(const struct jp_hypotheses *h, size_t id)
{
    for (size_t i = 0; i < id; i++)
        if (hypotheses_table[i].name && !hypothesis_judged(h, i) &&
            !strcmp(hypothesis_why(h, i), hypothesis_why(h, id)))
            return true;
    return false;
}

/* Appends "late ranks, stalls (too few operations)": this question and all
 * later ones with the same reason. */
static void add_open(const struct jp_hypotheses *h, size_t id, char *buf,
                     size_t size)
{
    const char *why = hypothesis_why(h, id);

    add(buf, size, "%s", hypotheses_table[id].name);
    for (size_t i = id + 1; i < JP_N_HYPOTHESES; i++)
        if (hypotheses_table[i].name && !hypothesis_judged(h, i) &&
            !strcmp(hypothesis_why(h, i), why))
            add(buf, size, ", %s", hypotheses_table[i].name);
    add(buf, size, " (%s)", why);
}

char *hypotheses_line(const struct jp_hypotheses *h,
                      char buf[JP_HYPOTHESES_LINE])
{
    size_t n = 0, open = 0;

    *buf = '\0';
    /* First what was ruled out, then what could not be judged and why. */
    for (size_t i = 0; h && i < JP_N_HYPOTHESES; i++)
        if (hypotheses_table[i].clear &&
            h->of[i].state == JP_HYPOTHESIS_NOT_FOUND) {
            add(buf, JP_HYPOTHESES_LINE, "%s", n++ ? ", " : "");
            add_clear(h, (enum jp_hypothesis_id) i, buf, JP_HYPOTHESES_LINE);
        }
    for (size_t i = 0; h && i < JP_N_HYPOTHESES; i++)
        if (hypotheses_table[i].name && !hypothesis_judged(h, i) &&
            !is_named(h, i)) {
            add(buf, JP_HYPOTHESES_LINE, "%s",
                open++ ? ", "
                : n    ? "; not judged: "
                       : "not judged: ");
            add_open(h, i, buf, JP_HYPOTHESES_LINE);
        }
    return buf;
}
