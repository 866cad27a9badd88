/* copper_proof.c - the picture that proves a verdict on a Copper cache. */
#include "orchestrator/copper/copper_feature.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/picture.h"

#define TICKS 400        /* of a level of daemons */
#define LEVELS_DRAWN 10  /* of Copper's tree, from the root on */
#define DAEMONS_DRAWN 12 /* those with the lowest shares of hits */

/* --- a slow daemon -------------------------------------------------------- */

static const struct {
    const char *metric, *op, *words;
} measures[] = {
    {"getattr_us", "getattr", "What a getattr takes"},
    {"read_us", "read", "What a read takes"},
    {"readdir_us", "readdir", "What a readdir takes"},
    {"latency_without_init_s", NULL, "What all operations take"},
    {"init_s", "init", "What the start takes"},
};

/* Returns what a rank takes by one measure, us; NaN if it is unknown. */
static double measure(const struct jp_copper_rank *r, unsigned m)
{
    const char *name = measures[m].op ? measures[m].op : "init";
    const struct copper_op *op = &r->op[copper_op_find(name, strlen(name))];

    if (!r->has_ops)
        return NAN;
    if (!measures[m].op)
        return r->has_counts
                   ? (double) r->value[COPPER_LATENCY_US] - (double) op->time_us
                   : NAN;
    if (!strcmp(name, "init"))
        return (double) op->time_us;
    return op->calls ? (double) op->time_us / (double) op->calls : NAN;
}

/* Returns the outlier that a finding is about, and its measure in *m; NULL if
 * there is none. */
static const struct jp_copper_outlier *outlier_of(const struct jp_copper *c,
                                                  unsigned *m)
{
    for (size_t i = 0; i < c->n_findings; i++) {
        if (strcmp(c->findings[i].kind, "copper_slow_rank") != 0)
            continue;
        /* the measures with a picture, in order of preference */
        for (*m = 0; *m < sizeof(measures) / sizeof(*measures); ++*m)
            for (size_t k = 0; k < c->n_outliers; k++)
                if (c->outliers[k].slow &&
                    c->outliers[k].rank == c->findings[i].rank &&
                    !strcmp(c->outliers[k].metric, measures[*m].metric))
                    return &c->outliers[k];
    }
    return NULL;
}

/* A row is: begin_row, more text, </span>, a picture, end_row. */
static void begin_row(FILE *out, bool hit, const char *name)
{
    fprintf(out, "<div class=\"row%s\"><span class=\"who\"><strong>",
            hit ? " hit" : "");
    html_out_short(out, name, 32);
    fputs("</strong> ", out);
}

static void end_row(FILE *out, const char *figure)
{
    fprintf(out, "<span class=\"num\">%s</span></div>\n", figure);
}

/* Draws every step-th of n daemons at its time; `most` is the right edge. */
static void put_ticks(FILE *out, const double *us, size_t n, size_t step,
                      double most, const char *look)
{
    struct jp_json_stream ticks;

    picture_begin(&ticks, "ticks", out);
    json_stream_real(&ticks, "most", most);
    json_stream_text(&ticks, "look", look);
    json_stream_array(&ticks, "at");
    for (size_t i = 0; i < n; i += step)
        json_stream_real(&ticks, NULL, us[i]);
    json_stream_end_array(&ticks);
    picture_end(&ticks);
}

/* Draws the daemons of one level as ticks, at most TICKS of them. */
static void put_level(FILE *out, const struct jp_copper *c, int level,
                      unsigned m, double most)
{
    size_t n = 0;
    double *values = calloc(c->n_ranks + 1, sizeof(*values));
    char name[32];

    for (size_t i = 0; values && i < c->n_ranks; i++) {
        double us = measure(&c->ranks[i], m);

        if (c->ranks[i].level == level && isfinite(us))
            values[n++] = us;
    }
    if (n) {
        snprintf(name, sizeof(name), "level %d", level);
        begin_row(out, false, name);
        fprintf(out, "%s daemon%s</span>", FIG_COUNT(n), plural(n));
        /* daemons beyond the limit are skipped evenly */
        put_ticks(out, values, n, n / TICKS + 1, most, "");
        end_row(out, "");
    }
    free(values);
}

/* Draws the slow daemon below those of its level, and the other levels for
 * comparison. */
static int put_slow(const struct jp_copper *c,
                    const struct jp_copper_outlier *o, unsigned m, FILE *out)
{
    const struct jp_copper_rank *slow = &c->ranks[o->rank];
    double most = 0, own = measure(slow, m);
    char caption[120], figure[JP_FIGURE_LEN];

    for (size_t i = 0; i < c->n_ranks; i++)
        most = fmax(most, measure(&c->ranks[i], m));
    if (!(most > 0) || !isfinite(own))
        return 1;
    snprintf(caption, sizeof(caption), "%s, by level of Copper's tree",
             measures[m].words);
    html_out_proof(out, "tasks daemons", caption);
    /* levels without daemons write nothing */
    for (int level = 0; level < LEVELS_DRAWN; level++) {
        put_level(out, c, level, m, most);
        if (level != o->level)
            continue;
        begin_row(out, true, slow->host);
        fprintf(out, "level %d</span>", level);
        put_ticks(out, &own, 1, 1, most, "hit");
        snprintf(figure, sizeof(figure), "%s", FIG_US(own));
        end_row(out, figure);
    }
    fprintf(out, "<div class=\"scale\"><span>0</span><span>%s</span></div>\n",
            FIG_US(most));
    html_out_proof_end(out, "Each tick is a daemon. Levels differ by design; a "
                            "daemon is compared with daemons of its own "
                            "level.");
    return 0;
}

/* --- what caches answered ------------------------------------------------- */

struct daemon {
    const struct jp_copper_rank *rank; /* borrowed */
    double share;                      /* of hits; -1: no profile */
};

static int by_share(const void *a, const void *b)
{
    const struct daemon *x = a, *y = b;

    if (x->share != y->share)
        return x->share < y->share ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Writes a part of a bar. */
static void put_part(struct jp_json_stream *bar, uint64_t count, double all,
                     const char *look)
{
    json_stream_array(bar, NULL);
    json_stream_real(bar, NULL, (double) count / all);
    json_stream_text(bar, NULL, look);
    json_stream_end_array(bar);
}

/* Draws what a daemon answered; a daemon without a whole profile shows its
 * state. */
static void put_daemon(FILE *out, const struct daemon *d)
{
    const struct jp_copper_rank *r = d->rank;
    bool whole = r->state == JP_COPPER_GOOD;
    double all = (double) r->value[COPPER_OPERATIONS];
    char figure[JP_FIGURE_LEN] = "";
    struct jp_json_stream bar;

    begin_row(out, !whole, r->host);
    if (!whole)
        html_out_text(out, copper_state_names[r->state]);
    fputs("</span>", out);
    picture_begin(&bar, "bar", out);
    json_stream_array(&bar, "parts");
    /* hits, misses and negative results side by side */
    if (d->share >= 0) {
        put_part(&bar, r->value[COPPER_HITS], all, "");
        put_part(&bar, r->value[COPPER_MISSES], all, "miss");
        put_part(&bar, r->value[COPPER_NEGATIVES], all, "neg");
        snprintf(figure, sizeof(figure), "%s", FIG_SHARE(d->share));
    }
    json_stream_end_array(&bar);
    picture_end(&bar);
    end_row(out, figure);
}

/* Draws the daemons with the lowest shares of hits. Returns as a proof_picture.
 */
static int put_answers(const struct jp_copper *c, FILE *out)
{
    struct daemon *list = calloc(c->n_ranks + 1, sizeof(*list));
    char note[120] = "";
    size_t n = 0, known = 0;

    if (!list)
        return -1;
    for (size_t i = 0; i < c->n_ranks; i++) {
        const struct jp_copper_rank *r = &c->ranks[i];
        bool has = r->has_counts && r->value[COPPER_OPERATIONS];

        /* daemons without a profile come first: -1 */
        list[n++] =
            (struct daemon){r, has ? (double) r->value[COPPER_HITS] /
                                         (double) r->value[COPPER_OPERATIONS]
                                   : -1};
        known += has;
    }
    if (!known) {
        free(list);
        return 1;
    }
    qsort(list, n, sizeof(*list), by_share);
    html_out_proof(out, "bars answers",
                   "Requests that each daemon answered from its cache");
    for (size_t i = 0; i < n && i < DAEMONS_DRAWN; i++)
        put_daemon(out, &list[i]);
    fputs("<p class=\"key\"><i class=\"col\"></i> cache hits <i class=\"col "
          "miss\"></i> misses <i class=\"col neg\"></i> negative results; the "
          "rest is not cached</p>\n",
          out);
    if (n > DAEMONS_DRAWN)
        snprintf(note, sizeof(note), "%s more daemons, up to %s hits.",
                 FIG_COUNT(n - DAEMONS_DRAWN), FIG_SHARE(list[n - 1].share));
    html_out_proof_end(out, note);
    free(list);
    return 0;
}

/* A slow daemon if there is one, else what the caches answered. */
int copper_proof(const struct jp_report *report, FILE *out)
{
    const struct jp_copper *c = copper_of(report);
    unsigned m = 0;
    const struct jp_copper_outlier *o = outlier_of(c, &m);
    int rc = 1;

    if (o)
        rc = put_slow(c, o, m, out);
    return rc == 1 ? put_answers(c, out) : rc;
}
