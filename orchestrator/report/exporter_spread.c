/* exporter_spread.c - how one size's bandwidths are spread: bars and a box. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/figure.h"
#include "orchestrator/report/exporter_plots.h"
#include "orchestrator/report/exporter_words.h"
#include "orchestrator/report/plot_script.h"

enum { MIN_BINS = 20, MAX_BINS = 50, WIDTH = 1000, HEIGHT = 600 };
#define MAX_OUTLIERS 2000 /* points of a box plot */

/* Begins the script; false: nothing to draw, and the script says so. */
static bool begin(const struct exporter_table *table,
                  const struct exporter_cell *cell, const char *name,
                  const char *what, FILE *gp)
{
    char title[2 * EXPORTER_TITLE], series[EXPORTER_TITLE];
    char size[EXPORTER_WORD];

    snprintf(
        title, sizeof(title), "%s: %s, %s (%" PRIu64 " bytes), %s operations",
        what, exporter_title(table, cell, series),
        exporter_size(cell->bytes, size), cell->bytes, FIG_COUNT(cell->valued));
    plot_script_begin_sized(gp, name, title, WIDTH, HEIGHT);
    fputs("set xlabel 'mean bus bandwidth (GB/s)'\nset format x '%g'\n", gp);
    if (!cell->valued)
        plot_script_nothing(gp, "no operation with a bandwidth");
    return cell->valued > 0;
}

void exporter_histogram(const struct exporter_table *table,
                        const struct exporter_cell *cell, const char *name,
                        FILE *gp)
{
    uint64_t counts[MAX_BINS] = {0};
    double range = cell->max - cell->min, low = cell->min, width;
    unsigned bins = range >= MAX_BINS  ? MAX_BINS
                    : range > MIN_BINS ? (unsigned) range + 1
                                       : MIN_BINS;

    if (!begin(table, cell, name, "Histogram", gp))
        return;
    if (!(range > 0)) { /* one value: a bar of some width around it */
        bins = 1;
        range = cell->min > 0 ? cell->min * 0.02 : 1;
        low -= range / 2;
    }
    width = range / bins;
    for (size_t at = cell->from; at < cell->to;) {
        struct exporter_row row;
        double bin;

        at = exporter_table_row(table, cell, at, &row);
        if (isnan(row.mean))
            continue;
        bin = (row.mean - low) / width;
        counts[bin >= bins ? bins - 1 : bin > 0 ? (unsigned) bin : 0]++;
    }
    fputs("$bins << EOD\n", gp);
    for (unsigned i = 0; i < bins; i++)
        fprintf(gp, "%s\t%" PRIu64 "\n", FIG_EXACT(low + (i + 0.5) * width),
                counts[i]);
    fprintf(gp,
            "EOD\nset ylabel 'operations'\nset format y '%%.0f'\n"
            "set boxwidth %s\nset style fill solid 0.7 border rgb '#222222'\n"
            "set xrange [%s:%s]\nset yrange [0:*]\n"
            "set offsets 0, 0, graph 0.05, 0\n"
            "plot $bins using 1:2 with boxes linetype 1 linewidth 1 notitle\n",
            FIG_EXACT(width), FIG_EXACT(low - (bins == 1 ? 2 : 0.02) * range),
            FIG_EXACT(low + (bins == 1 ? 3 : 1.02) * range));
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return x < y ? -1 : x > y;
}

/* The means in order; caller frees. NULL: out of memory. */
static double *sorted_means(const struct exporter_table *table,
                            const struct exporter_cell *cell)
{
    double *means = reallocarray(NULL, cell->valued + 1, sizeof(*means));
    size_t n = 0;

    for (size_t at = cell->from; means && at < cell->to;) {
        struct exporter_row row;

        at = exporter_table_row(table, cell, at, &row);
        if (!isnan(row.mean))
            means[n++] = row.mean;
    }
    if (means)
        qsort(means, n, sizeof(*means), ascending);
    return means;
}

/* Linear between the two neighbours, as numpy's default. */
static double quantile(const double *sorted, uint64_t n, double share)
{
    double at = share * (double) (n - 1);
    uint64_t i = (uint64_t) at;

    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double) i) * (sorted[i + 1] - sorted[i]);
}

/* Outliers are outside low..high (indexes, both inside); the outermost of many
 * are sure to be drawn, the others evenly. */
static void put_outliers(const double *means, uint64_t n, uint64_t low,
                         uint64_t high, FILE *gp)
{
    uint64_t all = low + (n - 1 - high);
    uint64_t step = (all + MAX_OUTLIERS - 1) / MAX_OUTLIERS;

    fputs("$outliers << EOD\n", gp);
    for (uint64_t i = 0; i < low; i += step)
        fprintf(gp, "%s\t1\n", FIG_EXACT(means[i]));
    for (uint64_t i = n - 1; i > high; i = i - high > step ? i - step : high)
        fprintf(gp, "%s\t1\n", FIG_EXACT(means[i]));
    if (!all)
        fputs("NaN\t1\n", gp); /* an empty block is an error to gnuplot */
    fputs("EOD\n", gp);
}

static void put_box(FILE *gp, double low, double q1, double median, double q3,
                    double high)
{
    fprintf(gp,
            "set object 1 rectangle from %s,0.85 to %s,1.15 "
            "fillcolor rgb '#cfe2f3' fillstyle solid border rgb '#0072B2' "
            "linewidth 2 back\n",
            FIG_EXACT(q1), FIG_EXACT(q3));
    fprintf(gp,
            "set arrow 1 from %s,0.85 to %s,1.15 nohead linewidth 3 "
            "linecolor rgb '#E69F00' front\n",
            FIG_EXACT(median), FIG_EXACT(median));
    fprintf(gp,
            "set arrow 2 from %s,1 to %s,1 nohead dashtype 2 linewidth 2 "
            "linecolor rgb '#009E73'\n",
            FIG_EXACT(low), FIG_EXACT(q1));
    fprintf(gp,
            "set arrow 3 from %s,1 to %s,1 nohead dashtype 2 linewidth 2 "
            "linecolor rgb '#009E73'\n",
            FIG_EXACT(q3), FIG_EXACT(high));
    for (int i = 0; i < 2; i++)
        fprintf(gp,
                "set arrow %d from %s,0.93 to %s,1.07 nohead linewidth 2 "
                "linecolor rgb '#222222'\n",
                4 + i, FIG_EXACT(i ? high : low), FIG_EXACT(i ? high : low));
}

/* A value in words, on a height of its own, so that none covers another. */
static void put_word(FILE *gp, int at, const char *word, double value,
                     double middle)
{
    double y = 1.28 + 0.12 * at;
    bool left = value <= middle;

    fprintf(gp,
            "set arrow %d from %s,%g to %s,1.17 size screen 0.008,20 "
            "linecolor rgb '#666666'\n",
            10 + at, FIG_EXACT(value), y, FIG_EXACT(value));
    fprintf(gp, "set label %d '%s %.*f GB/s' at %s,%g %s offset %d,0.3\n",
            10 + at, word, value < 1 ? 4 : 2, value, FIG_EXACT(value), y,
            left ? "left" : "right", left ? 1 : -1);
}

int exporter_boxplot(const struct exporter_table *table,
                     const struct exporter_cell *cell, const char *name,
                     FILE *gp)
{
    double *means = sorted_means(table, cell), q1, q3, median, middle, margin;
    uint64_t n = cell->valued, low = 0, high = n - 1;

    if (!means)
        return -1;
    if (!begin(table, cell, name, "Box plot", gp))
        goto out;
    q1 = quantile(means, n, 0.25);
    q3 = quantile(means, n, 0.75);
    median = quantile(means, n, 0.5);
    while (low < n - 1 && means[low] < q1 - 1.5 * (q3 - q1))
        low++;
    while (high > low && means[high] > q3 + 1.5 * (q3 - q1))
        high--;
    put_outliers(means, n, low, high, gp);
    put_box(gp, means[low], q1, median, q3, means[high]);
    margin = 0.05 * (cell->max - cell->min);
    if (!(margin > 0))
        margin = cell->max > 0 ? 0.02 * cell->max : 1;
    middle = (cell->min + cell->max) / 2;
    put_word(gp, 2, "min", cell->min, middle);
    put_word(gp, 1, "median", median, middle);
    put_word(gp, 0, "max", cell->max, middle);
    fprintf(gp,
            "set xrange [%s:%s]\nset yrange [0.7:1.7]\nunset ytics\n"
            "set border 1\n"
            "plot $outliers using 1:2 with points pointtype 7 pointsize 0.8 "
            "linecolor rgb '#80D55E00' notitle\n",
            FIG_EXACT(cell->min - margin), FIG_EXACT(cell->max + margin));
out:
    free(means);
    return 0;
}
