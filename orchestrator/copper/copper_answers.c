/* copper_answers.c - the six questions that a profile is made for, in words. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "orchestrator/copper/copper_build.h"
#include "orchestrator/copper/copper_words.h"

#define SHOWN 3

static double share(uint64_t part, uint64_t all)
{
    return all ? (double) part / (double) all : NAN;
}

typedef uint64_t weigh(const struct copper_op *op, size_t i);

static uint64_t calls_of(const struct copper_op *op, size_t i)
{
    return op->calls;
}

static uint64_t time_of(const struct copper_op *op, size_t i)
{
    return i == copper_op_find("init", 4) ? 0 : op->time_us;
}

/* The indices of the heaviest operations. */
static size_t heaviest(const struct jp_copper *c, weigh *weight, size_t *index)
{
    size_t n = 0;

    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        uint64_t own = weight(&c->op[i], i);
        size_t at = n;

        if (!own)
            continue;
        while (at && weight(&c->op[index[at - 1]], index[at - 1]) < own) {
            if (at < SHOWN)
                index[at] = index[at - 1];
            at--;
        }
        if (at < SHOWN) {
            index[at] = i;
            n += n < SHOWN;
        }
    }
    return n;
}

static void say_count(const struct jp_copper *c, FILE *out)
{
    size_t index[SHOWN], n = heaviest(c, calls_of, index);
    uint64_t all = 0;

    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        all = num_add(all, c->op[i].calls);
    if (!n)
        fputs("Unknown: no table of operations could be read.", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s with %s requests (%s)", i ? ", then " : "",
                copper_op_names[index[i]], FIG_COUNT(c->op[index[i]].calls),
                FIG_SHARE(share(c->op[index[i]].calls, all)));
    if (n)
        fprintf(out, ", of %s in all.", FIG_COUNT(all));
}

static void say_time(const struct jp_copper *c, FILE *out)
{
    size_t index[SHOWN], n = heaviest(c, time_of, index);
    uint64_t all = 0;

    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        all = num_add(all, time_of(&c->op[i], i));
    if (!n)
        fputs("Unknown: no table of operations could be read.", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s with %s (%s)", i ? ", then " : "",
                copper_op_names[index[i]],
                FIG_US((double) c->op[index[i]].time_us),
                FIG_SHARE(share(c->op[index[i]].time_us, all)));
    if (n)
        fprintf(out,
                ", of %s in all. The daemons' start (init) took %s more, "
                "which Copper's own total includes.",
                FIG_US((double) all), FIG_US((double) c->init_us));
}

static void say_paths(const struct jp_copper *c, enum copper_category category,
                      FILE *out)
{
    size_t from = c->path_from[category], to = c->path_from[category + 1];
    uint64_t all = c->category_events[category];

    if (from == to) {
        fputs(c->n_counted && !c->n_tables && !c->n_top
                  ? "Unknown: paths were not recorded "
                    "(--copper-profile=top or full)."
                  : "None was recorded.",
              out);
        return;
    }
    for (size_t i = from; i < to && i < from + SHOWN; i++)
        fprintf(out, "%s%s with %s (%s)", i > from ? ", then " : "",
                c->paths[i].path, FIG_COUNT(c->paths[i].events),
                FIG_SHARE(share(c->paths[i].events, all)));
    fprintf(out, ", of %s events on %s paths%s.", FIG_COUNT(all),
            FIG_COUNT(to - from),
            c->n_tables < c->n_counted
                ? " (the busiest of each rank only: a lower bound)"
                : "");
}

static void say_metadata(const struct jp_copper *c, FILE *out)
{
    say_paths(c, COPPER_METADATA, out);
}

static void say_data(const struct jp_copper *c, FILE *out)
{
    say_paths(c, COPPER_DATA, out);
}

static void say_reuse(const struct jp_copper *c, FILE *out)
{
    const struct copper_op *read = copper_op_of(c, "read");
    const struct copper_op *readdir = copper_op_of(c, "readdir");

    if (!c->n_counted) {
        fputs("Unknown: no counters could be read.", out);
        return;
    }
    fprintf(out, "%s of %s operations were served by the caches.",
            FIG_COUNT(c->total[COPPER_HITS]),
            FIG_COUNT(c->total[COPPER_OPERATIONS]));
    if (read->calls)
        fprintf(out,
                " Of %s reads %s (%s) were hits, %s went past the cache "
                "(large files, or errors).",
                FIG_COUNT(read->calls), FIG_COUNT(read->hits),
                FIG_SHARE(share(read->hits, read->calls)),
                FIG_COUNT(read->negatives));
    if (readdir->calls)
        fprintf(out, " Of %s readdirs %s (%s) were hits.",
                FIG_COUNT(readdir->calls), FIG_COUNT(readdir->hits),
                FIG_SHARE(share(readdir->hits, readdir->calls)));
    fputs(" A getattr counts as a hit even where it asked the parent, so its "
          "hits say nothing on reuse.",
          out);
}

static void say_ttl(const struct jp_copper *c, FILE *out)
{
    uint64_t stores = c->total[COPPER_TTL_STORES];
    uint64_t serves = c->total[COPPER_TTL_SERVES];

    if (!c->n_ttl) {
        fputs("Unknown: no counters of it could be read.", out);
        return;
    }
    fprintf(out,
            "%s lookups of absent paths were answered from memory; %s "
            "answers were remembered",
            FIG_COUNT(serves), FIG_COUNT(stores));
    if (stores)
        fprintf(out, ", so each saved %.1f lookups",
                (double) serves / (double) stores);
    fprintf(out, ". %s were forgotten after their time",
            FIG_COUNT(c->total[COPPER_TTL_EXPIRES]));
    if (c->settings.ttl_ms >= 0)
        fprintf(out, " (%" PRId64 " ms)", c->settings.ttl_ms);
    fputs(". A parent in the tree counts its children's requests, too.", out);
}

int copper_answers(struct copper_build *b)
{
    static const struct {
        const char *question;
        void (*say)(const struct jp_copper *, FILE *);
    } questions[JP_COPPER_QUESTIONS] = {
        {"Which operations dominate the number of requests?", say_count},
        {"Which operations dominate the time?", say_time},
        {"Which paths dominate the metadata traffic?", say_metadata},
        {"Which paths dominate the data traffic?", say_data},
        {"How much reuse comes from Copper's caches?", say_reuse},
        {"How much reuse comes from remembered ENOENT?", say_ttl},
    };

    for (size_t i = 0; i < JP_COPPER_QUESTIONS; i++) {
        struct jp_copper_answer *a = &b->copper->answers[i];
        struct copper_words w;

        if (!copper_words_begin(&w))
            return -1;
        questions[i].say(b->copper, w.out);
        a->question = questions[i].question;
        a->answer = copper_words_end(&w);
        if (!a->answer)
            return -1;
    }
    return 0;
}
