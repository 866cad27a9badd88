/* plot_copper.c - Copper's pictures: operations, ranks by level, classes,
 * snapshots over time. */
#include <inttypes.h>

#include "common/figure.h"
#include "orchestrator/report/plot_script.h"
#include "orchestrator/report/report_copper.h"

#define MAX_RANKS 20000
#define MAX_POINTS 20000

/* Lying bars of two shares, row by row. */
static void put_bars(FILE *gp, const char *name, size_t n, const char *first,
                     const char *second)
{
    fprintf(gp,
            "set xrange [0:100]\nset yrange [%zu:-1]\n"
            "set xlabel 'percent'\nunset grid\n"
            "set grid xtics linetype 0 linewidth 1 linecolor rgb '#bbbbbb'\n"
            "set style fill solid 0.9 noborder\nset rmargin 5\n"
            "set key outside top center horizontal Left reverse samplen 2\n",
            n);
    fprintf(gp,
            "plot '%s.tsv' using 2:0:(0):2:($0-0.4):($0):ytic(1) with "
            "boxxyerror linetype 1 title '%s', \\\n"
            "     '' using 3:0:(0):3:($0):($0+0.4) with boxxyerror linetype 2 "
            "title '%s'\n",
            name, first, second);
}

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double) part / (double) all : 0;
}

static int plot_ops(const struct jp_copper *c, FILE *tsv, FILE *gp)
{
    size_t init = copper_op_find("init", 4), n = 0;
    uint64_t calls = 0, us = 0;

    plot_script_begin(gp, "copper_ops",
                      "Copper: share of requests and of time (start-up left "
                      "out)");
    fputs("# operation\trequests_percent\ttime_percent\n", tsv);
    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        calls += c->op[i].calls;
        us += i == init ? 0 : c->op[i].time_us;
    }
    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        const struct copper_op *op = &c->op[i];

        if (!op->calls || i == init)
            continue;
        fprintf(tsv, "%s\t%s\t%s\n", copper_op_names[i],
                FIG_EXACT(percent(op->calls, calls)),
                FIG_EXACT(percent(op->time_us, us)));
        n++;
    }
    if (n)
        put_bars(gp, "copper_ops", n, "requests", "time");
    else
        plot_script_nothing(gp, "no table of operations");
    return 0;
}

/* A point a rank: its level and what a getattr takes. */
static int plot_ranks(const struct jp_copper *c, FILE *tsv, FILE *gp)
{
    size_t getattr = copper_op_find("getattr", 7), n = 0;

    plot_script_begin(gp, "copper_ranks",
                      "Copper: what a getattr takes, by level in the tree");
    fputs("# level\tgetattr_us\tlatency_without_init_s\thost\n", tsv);
    for (size_t i = 0; i < c->n_ranks && n < MAX_RANKS; i++) {
        const struct jp_copper_rank *r = &c->ranks[i];
        const struct copper_op *op = &r->op[getattr];
        uint64_t init = r->op[copper_op_find("init", 4)].time_us;
        char host[64];

        if (!r->has_ops || !op->calls)
            continue;
        fprintf(
            tsv, "%d\t%s\t%s\t%s\n", r->level,
            FIG_EXACT((double) op->time_us / (double) op->calls),
            FIG_EXACT(((double) r->value[COPPER_LATENCY_US] - (double) init) /
                      1e6),
            plot_script_name(r->host, host, sizeof(host)));
        n++;
    }
    if (!n) {
        plot_script_nothing(gp, "no rank with a getattr");
        return 0;
    }
    fputs("set xlabel 'level in the tree (root 0; -1 unknown)'\n"
          "set ylabel 'us'\nset yrange [0:*]\nset xtics 1\nset offsets "
          "0.5,0.5,0,0\nunset key\n"
          "plot 'copper_ranks.tsv' using 1:2 with points linetype 1",
          gp);
    if (n <= 64)
        fputs(", \\\n     '' using 1:2:4 with labels left offset 1,0 font "
              "',9' noenhanced",
              gp);
    fputs("\n", gp);
    return 0;
}

static int plot_classes(const struct jp_copper *c, FILE *tsv, FILE *gp)
{
    uint64_t top = 0, all = 0;
    size_t n = 0;

    plot_script_begin(gp, "copper_classes", "Copper: events by class of path");
    fputs("# class\ttop_percent\tfull_percent\n", tsv);
    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        top += c->classes[i].top_events;
        all += c->classes[i].events;
    }
    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        const struct jp_copper_class_sum *s = &c->classes[i];

        if (!s->top_rows && !s->paths)
            continue;
        fprintf(tsv, "%s\t%s\t%s\n", copper_class_names[s->class],
                FIG_EXACT(percent(s->top_events, top)),
                FIG_EXACT(percent(s->events, all)));
        n++;
    }
    if (n)
        put_bars(gp, "copper_classes", n, "busiest paths of each rank",
                 "all paths");
    else
        plot_script_nothing(gp, "no paths were recorded");
    return 0;
}

static int plot_series(const struct jp_copper *c, FILE *tsv, FILE *gp)
{
    int64_t first = c->n_points ? c->points[0].time_us : 0;

    plot_script_begin(gp, "copper_series",
                      "Copper: counted operations at each snapshot");
    fputs("# seconds\toperations\tlatency_s\trank\n", tsv);
    if (c->n_points < 2 || c->times_lost) {
        plot_script_nothing(gp, c->times_lost
                                    ? "the files were copied without their "
                                      "times"
                                    : "fewer than two snapshots");
        return 0;
    }
    for (size_t i = 0; i < c->n_points; i++)
        if (c->points[i].time_us < first)
            first = c->points[i].time_us;
    for (size_t i = 0; i < c->n_points && i < MAX_POINTS; i++) {
        const struct jp_copper_point *p = &c->points[i];

        /* a blank line ends a rank's line in the picture */
        fprintf(tsv, "%s%s\t%" PRIu64 "\t%s\t%zu\n",
                i && p->rank != p[-1].rank ? "\n" : "",
                FIG_EXACT((double) (p->time_us - first) / 1e6),
                p->value[COPPER_OPERATIONS],
                FIG_EXACT((double) p->value[COPPER_LATENCY_US] / 1e6), p->rank);
    }
    fputs("set xlabel 'seconds since the first snapshot'\n"
          "set ylabel 'operations of a rank so far'\nset yrange [0:*]\n"
          "unset key\n"
          "plot 'copper_series.tsv' using 1:2:(column(4)+1) with linespoints "
          "linecolor variable\n",
          gp);
    return 0;
}

const struct report_copper_plots report_copper_plots[] = {
    {"copper_ops", plot_ops},
    {"copper_ranks", plot_ranks},
    {"copper_classes", plot_classes},
    {"copper_series", plot_series},
};
const size_t report_copper_n_plots = sizeof(report_copper_plots) /
                                     sizeof(*report_copper_plots);
