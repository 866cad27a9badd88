/* proof_copper.c - pictures of the Copper cache: a slow daemon beside those of
 * its level of the tree, or what each daemon answered from its cache.
 */
#include "orchestrator/report/proof.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/copper/copper.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/table.h"

#define LEVELS_DRAWN 10
#define TICKS 400 /* of a level */
#define DAEMONS_DRAWN 12

/* --- a slow daemon ----------------------------------------------------------
 */

static const struct {
    const char *metric, *op, *words;
} measures[] = {
    {"getattr_us", "getattr", "What a getattr takes"},
    {"read_us", "read", "What a read takes"},
    {"readdir_us", "readdir", "What a readdir takes"},
    {"latency_without_init_s", NULL, "What all operations take"},
    {"init_s", "init", "What the start takes"},
};

/* What a rank takes, us; NAN: not known. */
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

/* The outlier that a finding is about; NULL: none. */
static const struct jp_copper_outlier *outlier_of(const struct jp_copper *c,
                                                  unsigned *m)
{
    for (size_t i = 0; i < c->n_findings; i++) {
        if (strcmp(c->findings[i].kind, "copper_slow_rank") != 0)
            continue;
        for (*m = 0; *m < sizeof(measures) / sizeof(*measures); ++*m)
            for (size_t k = 0; k < c->n_outliers; k++)
                if (c->outliers[k].slow &&
                    c->outliers[k].rank == c->findings[i].rank &&
                    !strcmp(c->outliers[k].metric, measures[*m].metric))
                    return &c->outliers[k];
    }
    return NULL;
}

static void put_tick(FILE *out, double us, double most, const char *class)
{
    fprintf(out, "<rect class=\"%s\" x=\"%.2f\" width=\"0.6\" height=\"1\"/>",
            class, 0.2 + 98.8 * us / most);
}

static void begin_row(FILE *out, bool hit, const char *name)
{
    fprintf(out, "<div class=\"row%s\"><span class=\"who\"><strong>",
            hit ? " hit" : "");
    html_out_short(out, name, 32);
    fputs("</strong> ", out);
}

static void begin_cells(FILE *out)
{
    fputs("</span><svg class=\"cells\" viewBox=\"0 0 100 1\" "
          "preserveAspectRatio=\"none\" aria-hidden=\"true\">",
          out);
}

static void end_row(FILE *out, const char *figure)
{
    fprintf(out, "</svg><span class=\"num\">%s</span></div>\n", figure);
}

/* Its daemons as ticks, at most TICKS of them. */
static void put_level(FILE *out, const struct jp_copper *c, int level,
                      unsigned m, double most)
{
    size_t n = 0, k = 0, step;
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
        fprintf(out, "%s daemon%s", FIG_COUNT(n), plural(n));
        begin_cells(out);
        step = n / TICKS + 1;
        for (k = 0; k < n; k += step)
            put_tick(out, values[k], most, "col");
        end_row(out, "");
    }
    free(values);
}

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
    for (int level = 0; level < LEVELS_DRAWN; level++) {
        put_level(out, c, level, m, most);
        if (level != o->level)
            continue;
        begin_row(out, true, slow->host);
        fprintf(out, "level %d", level);
        begin_cells(out);
        put_tick(out, own, most, "col hit");
        snprintf(figure, sizeof(figure), "%s", FIG_US(own));
        end_row(out, figure);
    }
    fprintf(out, "<div class=\"scale\"><span>0</span><span>%s</span></div>\n",
            FIG_US(most));
    html_out_proof_end(out, "A tick is a daemon. Levels differ by nature; a "
                            "daemon is compared with those of its own.");
    return 0;
}

/* --- what caches answered ----------------------------------------------------
 */

struct daemon {
    const struct jp_copper_rank *rank;
    double share; /* of hits; -1: no profile */
};

static int by_share(const void *a, const void *b)
{
    const struct daemon *x = a, *y = b;

    if (x->share != y->share)
        return x->share < y->share ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static double put_part(FILE *out, double from, uint64_t count, double all,
                       const char *class)
{
    double width = 100 * (double) count / all;

    fprintf(out, "<rect class=\"%s\" x=\"%.2f\" width=\"%.2f\" height=\"1\"/>",
            class, from, width);
    return from + width;
}

static void put_daemon(FILE *out, const struct daemon *d)
{
    const struct jp_copper_rank *r = d->rank;
    bool whole = r->state == JP_COPPER_GOOD;
    char figure[JP_FIGURE_LEN] = "";

    begin_row(out, !whole, r->host);
    if (!whole)
        html_out_text(out, copper_state_names[r->state]);
    begin_cells(out);
    if (d->share >= 0) {
        double all = (double) r->value[COPPER_OPERATIONS], at = 0;

        at = put_part(out, at, r->value[COPPER_HITS], all, "col");
        at = put_part(out, at, r->value[COPPER_MISSES], all, "col miss");
        put_part(out, at, r->value[COPPER_NEGATIVES], all, "col neg");
        snprintf(figure, sizeof(figure), "%s", FIG_SHARE(d->share));
    }
    end_row(out, figure);
}

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
                   "What each daemon answered from its cache");
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

int proof_copper(const struct jp_report *report, const struct jp_finding *f,
                 FILE *out)
{
    const struct jp_copper *c = report->copper;
    const struct jp_copper_outlier *o;
    unsigned m = 0;
    int rc = 1;

    (void) f;
    if (!c)
        return 1;
    o = outlier_of(c, &m);
    if (o)
        rc = put_slow(c, o, m, out);
    return rc == 1 ? put_answers(c, out) : rc;
}
