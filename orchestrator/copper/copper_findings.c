/* copper_findings.c - what somebody should look at, rank by rank. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/copper/copper_build.h"
#include "orchestrator/copper/copper_words.h"

#define MAX_FINDINGS 200

FILE *copper_words_begin(struct copper_words *words)
{
    *words = (struct copper_words){0};
    words->out = open_memstream(&words->text, &words->len);
    return words->out;
}

char *copper_words_end(struct copper_words *words)
{
    if (fclose(words->out) == 0)
        return words->text;
    free(words->text);
    return NULL;
}

/* Takes text over. */
static int add(struct jp_copper *c, const char *kind, size_t rank, double from,
               double to, double cost_us, char *text)
{
    struct jp_copper_finding *more = c->findings;

    if (!text || c->n_findings == MAX_FINDINGS) {
        free(text);
        return text ? 0 : -1;
    }
    if (!(c->n_findings & (c->n_findings - 1))) {
        more = reallocarray(more, c->n_findings ? 2 * c->n_findings : 1,
                            sizeof(*more));
        if (!more) {
            free(text);
            return -1;
        }
        c->findings = more;
    }
    more[c->n_findings++] = (struct jp_copper_finding){.kind = kind,
                                                       .rank = rank,
                                                       .from = from,
                                                       .to = to,
                                                       .cost_us = cost_us,
                                                       .text = text};
    return 0;
}

/* An average says more than a sum: the first of these stands for a rank. */
static const struct {
    const char *metric, *words;
} metric_words[] = {
    {"getattr_us", "a getattr takes"},
    {"read_us", "a read takes"},
    {"readdir_us", "a readdir takes"},
    {"latency_without_init_s", "its operations take"},
    {"init_s", "its start takes"},
};
#define N_METRICS (sizeof(metric_words) / sizeof(*metric_words))

static int slow_rank(struct jp_copper *c, const struct jp_copper_outlier *o,
                     const char *words)
{
    double us = strstr(o->metric, "_us") ? 1 : 1e6;
    struct copper_words w;

    if (!copper_words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s is slow: %s %s, %.1f x the median of its tree level "
            "(%s, level %d, %" PRIu32 " ranks), %s more in all",
            c->ranks[o->rank].host, words, FIG_US(o->value * us),
            o->value / o->median, FIG_US(o->median * us), o->level, o->of,
            FIG_US(o->cost_us));
    return add(c, "copper_slow_rank", o->rank, o->median * us, o->value * us,
               o->cost_us, copper_words_end(&w));
}

static bool was_told(const struct jp_copper *c, size_t rank)
{
    for (size_t i = 0; i < c->n_findings; i++)
        if (c->findings[i].rank == rank)
            return true;
    return false;
}

static int damaged_rank(struct jp_copper *c, size_t i)
{
    static const char *const kinds[JP_COPPER_N_STATES] = {
        [JP_COPPER_EARLIER] = "copper_earlier_rank",
        [JP_COPPER_PARTIAL] = "copper_partial_rank",
        [JP_COPPER_OVERFLOW] = "copper_counter_overflow",
        [JP_COPPER_DAMAGED] = "copper_damaged_rank",
        [JP_COPPER_MISSING] = "copper_missing_rank"};
    static const char *const words[JP_COPPER_N_STATES] = {
        [JP_COPPER_EARLIER] = "is known up to a snapshot only",
        [JP_COPPER_PARTIAL] = "is known in part",
        [JP_COPPER_OVERFLOW] = "is left out",
        [JP_COPPER_DAMAGED] = "is left out",
        [JP_COPPER_MISSING] = "is missing"};
    const struct jp_copper_rank *rank = &c->ranks[i];
    struct copper_words w;

    if (!kinds[rank->state])
        return 0;
    if (!copper_words_begin(&w))
        return -1;
    fprintf(w.out, "%s", rank->host);
    if (rank->pid)
        fprintf(w.out, "-%" PRId64, rank->pid);
    fprintf(w.out, " %s%s%s", words[rank->state], *rank->why ? ": " : "",
            rank->why);
    return add(c, kinds[rank->state], i, NAN, NAN, NAN, copper_words_end(&w));
}

static int late_parent(struct jp_copper *c, size_t i)
{
    struct copper_words w;

    if (!c->ranks[i].log.timed_out)
        return 0;
    if (!copper_words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s waited for its parent in the tree until the time for that "
            "was up",
            c->ranks[i].host);
    return add(c, "copper_parent_timeout", i, NAN, NAN, NAN,
               copper_words_end(&w));
}

int copper_findings(struct copper_build *b)
{
    struct jp_copper *c = b->copper;

    for (size_t m = 0; m < N_METRICS; m++)
        for (size_t i = 0; i < c->n_outliers; i++) {
            const struct jp_copper_outlier *o = &c->outliers[i];

            if (o->slow && !strcmp(o->metric, metric_words[m].metric) &&
                !was_told(c, o->rank) &&
                slow_rank(c, o, metric_words[m].words) < 0)
                return -1;
        }
    for (size_t i = 0; i < c->n_ranks; i++)
        if (damaged_rank(c, i) < 0 || late_parent(c, i) < 0)
            return -1;
    return 0;
}
