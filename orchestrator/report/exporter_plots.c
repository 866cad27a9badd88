/* exporter_plots.c - rows of the exporter's tables, its notation of sizes, and
 * the four kinds of pictures.
 *
 * exporter_picture_put chooses the kind. Each script has its data inside, so it
 * can be drawn anywhere. All pictures are bounded, whatever the number of
 * operations. */
#include "orchestrator/report/exporter.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/sorted.h"
#include "orchestrator/report/gnuplot.h"

/* panels of a combined plot, 500 pixels each */
#define EXPORTER_MAX_PANELS 48
#define EXPORTER_TITLE 160 /* bytes of a title */

enum {
    KEY_LINES = 30, /* more lines of a legend would be unreadable */
    FEW_COLOURS = 8,
    PANEL_PIXELS = 500,
    PANELS_A_ROW = 3,
    MIN_POINTS = 100 /* least points of one size */
};

size_t exporter_table_row(const struct exporter_table *table,
                          const struct exporter_cell *cell, size_t at,
                          struct exporter_row *row)
{
    const struct jp_result *r = table->result;
    const struct exporter_key *first = &table->keys[at];
    const char *id = r->comms[first->comm].id;
    uint64_t micro = 0, n = 0;

    *row = (struct exporter_row){
        .id = id, .sn = first->sn, .start_us = UINT64_MAX, .from = at};
    /* the exporter has only ids, so communicators with the same id share a
     * row */
    for (; at < cell->to && table->keys[at].sn == first->sn &&
           !strcmp(r->comms[table->keys[at].comm].id, id);
         at++) {
        const struct exporter_key *op = &table->keys[at];

        row->records += op->n;
        micro += op->busbw_sum_micro;
        n += op->n_busbw;
        if (op->dump_min_us < row->start_us)
            row->start_us = op->dump_min_us;
        if (op->dump_max_us > row->end_us)
            row->end_us = op->dump_max_us;
    }
    row->mean = n ? (double) micro / ((double) n * 1e6) : NAN;
    row->to = at;
    return at;
}

/* Formats a size in powers of 1000. numpy: rounds as numpy does. */
static char *put_size(uint64_t bytes, bool numpy, char *buf)
{
    static const char *const units[] = {"B",  "KB", "MB", "GB",
                                        "TB", "PB", "EB"};
    double value;
    int power;

    if (bytes == 0) {
        snprintf(buf, EXPORTER_WORD, "0B");
        return buf;
    }
    power = (int) (log10((double) bytes) / 3);
    value = (double) bytes * pow(10, -3 * power);
    /* numpy first rounds to two decimals, half to even. Python's format rounds
     * the exact value of the double. So 1055 B become 1.06KB in numpy
     * and 1.05KB in Python. */
    if (numpy)
        value = nearbyint(value * 100) / 100;
    snprintf(buf, EXPORTER_WORD, "%.2f%s", value, units[power]);
    return buf;
}

char *exporter_size(uint64_t bytes, char *buf)
{
    return put_size(bytes, false, buf);
}

char *exporter_size_numpy(uint64_t bytes, char *buf)
{
    return put_size(bytes, true, buf);
}

/* Formats "mixed, AllReduce" into buf, which has EXPORTER_TITLE bytes. */
static char *exporter_title(const struct exporter_table *table,
                            const struct exporter_cell *cell, char *buf)
{
    char name[40];

    snprintf(buf, EXPORTER_TITLE, "%s, %s", comm_type_name(cell->type),
             plot_script_name(table->result->coll_names[cell->coll], name,
                              sizeof(name)));
    return buf;
}

/* Returns how many cells of [from, to) have files and a bandwidth. */
static size_t count_kept(const struct exporter_table *table, size_t from,
                         size_t to)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++)
        n += table->cells[i].kept && table->cells[i].valued;
    return n;
}

/* Returns true if cell `at` is one of the `most` cells of greatest time, which
 * are drawn. */
static bool is_drawn(const struct exporter_table *table, size_t from, size_t to,
                     size_t at, size_t most)
{
    const struct exporter_cell *mine = &table->cells[at];
    size_t before = 0;

    for (size_t i = from; i < to; i++) {
        const struct exporter_cell *other = &table->cells[i];

        before += other->kept && other->valued &&
                  (other->time_us > mine->time_us ||
                   (other->time_us == mine->time_us && i < at));
    }
    return mine->kept && mine->valued && before < most;
}

static void put_point(FILE *gp, const struct exporter_row *row)
{
    fprintf(gp, "%" PRIu64 "\t%s\n", row->sn, FIG_EXACT(row->mean));
}

/* Writes the lowest and the highest row of each slice, in order of their
 * numbers. */
static void put_points(const struct exporter_table *table,
                       const struct exporter_cell *cell, size_t max, FILE *gp)
{
    struct exporter_row low = {0}, high = {0};
    uint64_t slices = max / 2, slice = 0, i = 0;
    bool some = false;

    for (size_t at = cell->from; at < cell->to; i++) {
        struct exporter_row row;
        /* all rows if they fit, else slices of equally many rows */
        uint64_t mine = cell->rows <= max ? i
                                          : (uint64_t) ((double) i * slices /
                                                        (double) cell->rows);

        at = exporter_table_row(table, cell, at, &row);
        /* the slice ends: write its extremes in order of their numbers */
        if (some && mine != slice) {
            put_point(gp, low.from < high.from ? &low : &high);
            if (low.from != high.from)
                put_point(gp, low.from < high.from ? &high : &low);
            some = false;
        }
        slice = mine;
        if (isnan(row.mean))
            continue;
        if (!some || row.mean < low.mean)
            low = row;
        if (!some || row.mean > high.mean)
            high = row;
        some = true;
    }
    if (some) {
        put_point(gp, low.from < high.from ? &low : &high);
        if (low.from != high.from)
            put_point(gp, low.from < high.from ? &high : &low);
    }
}

/* Writes the drawn sizes as $s0, $s1, and so on. Returns true if all rows are
 * drawn. */
static bool put_data(const struct exporter_table *table, size_t from, size_t to,
                     size_t n, size_t most, FILE *gp)
{
    /* the points are shared by all sizes of the picture */
    size_t max = EXPORTER_MAX_POINTS / n, k = 0;
    bool all = true;

    if (max < MIN_POINTS)
        max = MIN_POINTS;
    for (size_t i = from; i < to; i++) {
        const struct exporter_cell *cell = &table->cells[i];

        if (!is_drawn(table, from, to, i, most))
            continue;
        fprintf(gp, "$s%zu << EOD\n", k++);
        put_points(table, cell, max, gp);
        fputs("EOD\n", gp);
        all &= cell->rows <= max;
    }
    return all;
}

/* Returns a shade from dark to light by size, for more sizes than there are
 * colours. */
static unsigned colour_of(size_t k, size_t n)
{
    static const unsigned char stops[][3] = {{68, 1, 84},
                                             {59, 82, 139},
                                             {33, 145, 140},
                                             {94, 201, 98},
                                             {235, 190, 30}};
    static const unsigned few[] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7,
                                   0xE69F00, 0x56B4E9, 0x666666, 0xB09C00};
    /* a position on the scale of 5 stops; below 4, so that stop + 1 exists */
    double at = n > 1 ? 3.999 * (double) k / (double) (n - 1) : 0;
    unsigned stop = (unsigned) at, colour = 0;

    if (n <= FEW_COLOURS)
        return few[k];
    for (unsigned c = 0; c < 3; c++) {
        double a = stops[stop][c], b = stops[stop + 1][c];

        colour = colour << 8 | (unsigned) (a + (b - a) * (at - stop));
    }
    return colour;
}

/* The ranges of the axes. */
struct span {
    double x0, x1, y0, y1; /* sequence numbers, GB/s */
};

static void widen_span(struct span *span, const struct exporter_table *table,
                       const struct exporter_cell *cell)
{
    span->x0 = fmin(span->x0, (double) table->keys[cell->from].sn);
    span->x1 = fmax(span->x1, (double) cell->last_sn);
    span->y0 = fmin(span->y0, cell->min);
    span->y1 = fmax(span->y1, cell->max);
}

/* Returns an empty range, which any point replaces. */
static struct span no_span(void)
{
    return (struct span){INFINITY, -INFINITY, INFINITY, -INFINITY};
}

/* Adds a small margin around the points, and a range if all are equal. */
static void put_ranges(FILE *gp, const struct span *span)
{
    double x = 0.02 * (span->x1 - span->x0), y = 0.06 * (span->y1 - span->y0);

    /* sequence numbers are integers: avoid a tick at 0.5 labelled 0 */
    fputs(span->x1 - span->x0 < 10 ? "set xtics 1\n" : "set xtics autofreq\n",
          gp);
    x = x > 0 ? x : 1;
    y = y > 0 ? y : span->y1 > 0 ? 0.05 * span->y1 : 1;
    fprintf(gp, "set xrange [%s:%s]\nset yrange [%s:%s]\n",
            FIG_EXACT(span->x0 - x), FIG_EXACT(span->x1 + x),
            FIG_EXACT(span->y0 - y), FIG_EXACT(span->y1 + y));
}

static void put_axes(FILE *gp)
{
    fputs("set xlabel 'operation sequence number'\n"
          "set ylabel 'mean bus bandwidth (GB/s)'\n"
          "set format x '%.0f'\nset format y '%g'\n",
          gp);
}

/* Writes that points are left out, unless all are there. */
static void put_note(FILE *gp, bool all)
{
    if (!all)
        fputs("set label 1 'of many operations, the lowest and highest of each "
              "slice' at graph 0.01,1.02 left font ',10'\n",
              gp);
}

/* Draws bandwidth over sequence number, one colour per size, for the kept cells
 * of the series from..to. */
static void put_scatter(const struct exporter_table *table, size_t from,
                        size_t to, const char *name, FILE *gp)
{
    size_t n = count_kept(table, from, to), k = 0;
    size_t step = (n + KEY_LINES - 1) / KEY_LINES;
    char title[EXPORTER_TITLE], size[EXPORTER_WORD], many[32] = "";
    struct span span = no_span();

    plot_script_begin(
        gp, name, exporter_title(table, &table->cells[from], title), 1200, 650);
    if (!n) {
        plot_script_nothing(gp, "no operation with a bandwidth");
        return;
    }
    /* the data blocks must come before the plot command */
    put_axes(gp);
    put_note(gp, put_data(table, from, to, n, n, gp));
    for (size_t i = from; i < to; i++)
        if (table->cells[i].kept && table->cells[i].valued)
            widen_span(&span, table, &table->cells[i]);
    put_ranges(gp, &span);
    if (step > 1)
        snprintf(many, sizeof(many), ", 1 of %zu", step);
    /* the legend's heading is an entry, because a title would have another font
     */
    fprintf(gp,
            "set key outside right top vertical Left reverse samplen 1 "
            "font ',%d'\n"
            "plot NaN with dots linecolor rgb 'white' title "
            "'size (mean GB/s)%s'",
            n > 20 ? 9 : 11, many);
    for (size_t i = from; i < to; i++) {
        const struct exporter_cell *cell = &table->cells[i];

        if (!cell->kept || !cell->valued)
            continue;
        fprintf(gp,
                ", \\\n     $s%zu using 1:2 with points pointtype 7 "
                "pointsize 0.8 linecolor rgb '#80%06x' ",
                k, colour_of(k, n));
        /* only every step-th size has an entry in the legend */
        if (k % step == 0)
            fprintf(gp, "title '%s (%s)'", exporter_size(cell->bytes, size),
                    FIG_GBS(cell->mean));
        else
            fputs("notitle", gp);
        k++;
    }
    fputc('\n', gp);
}

/* The same with one panel per size, at most three in a row. Of more than
 * EXPORTER_MAX_PANELS sizes, draws those of most time. */
static void put_combined(const struct exporter_table *table, size_t from,
                         size_t to, const char *name, FILE *gp)
{
    size_t all = count_kept(table, from, to), k = 0;
    size_t n = all < EXPORTER_MAX_PANELS ? all : EXPORTER_MAX_PANELS;
    unsigned columns = n < PANELS_A_ROW ? (n ? (unsigned) n : 1) : PANELS_A_ROW;
    unsigned rows = n ? ((unsigned) n + columns - 1) / columns : 1;
    char title[EXPORTER_TITLE], size[EXPORTER_WORD];
    bool every;

    plot_script_begin(gp, name, "", PANEL_PIXELS * columns,
                      PANEL_PIXELS * rows + 40);
    if (!n) {
        plot_script_nothing(gp, "no operation with a bandwidth");
        return;
    }
    put_axes(gp);
    every = put_data(table, from, to, n, n, gp);
    exporter_title(table, &table->cells[from], title);
    fprintf(gp, "set multiplot layout %u,%u title '%s", rows, columns, title);
    /* the title names what is left out, as there is no legend */
    if (n < all)
        fprintf(gp, " (the %zu of %zu sizes with most time)", n, all);
    if (!every)
        fputs(" (of many operations, the lowest and highest of each slice)",
              gp);
    fputs("' font ',15'\nset xtics rotate by -30 font ',10'\n", gp);
    for (size_t i = from; i < to; i++) {
        const struct exporter_cell *cell = &table->cells[i];
        struct span span = no_span();

        if (!is_drawn(table, from, to, i, n))
            continue;
        widen_span(&span, table, cell);
        put_ranges(gp, &span);
        fprintf(gp,
                "set title '%s (%" PRIu64 " bytes), mean %s GB/s' font ',12'\n"
                "plot $s%zu using 1:2 with points pointtype 7 pointsize 0.6 "
                "linecolor rgb '#80%06x' notitle\n",
                exporter_size(cell->bytes, size), cell->bytes,
                FIG_GBS(cell->mean), k, colour_of(k, n));
        k++;
    }
    fputs("unset multiplot\n", gp);
}

/* --- how one size's bandwidths are spread: bars and a box */

enum { MIN_BINS = 20, MAX_BINS = 50, WIDTH = 1000, HEIGHT = 600 };
#define MAX_OUTLIERS 2000 /* points of a box plot */

/* Begins the script. Returns false if there is nothing to draw; the script then
 * says so. */
static bool begin_script(const struct exporter_table *table,
                         const struct exporter_cell *cell, const char *name,
                         const char *what, FILE *gp)
{
    char title[2 * EXPORTER_TITLE], series[EXPORTER_TITLE];
    char size[EXPORTER_WORD];

    snprintf(
        title, sizeof(title), "%s: %s, %s (%" PRIu64 " bytes), %s operations",
        what, exporter_title(table, cell, series),
        exporter_size(cell->bytes, size), cell->bytes, FIG_COUNT(cell->valued));
    plot_script_begin(gp, name, title, WIDTH, HEIGHT);
    fputs("set xlabel 'mean bus bandwidth (GB/s)'\nset format x '%g'\n", gp);
    if (!cell->valued)
        plot_script_nothing(gp, "no operation with a bandwidth");
    return cell->valued > 0;
}

/* Draws a histogram of bandwidths with 20 to 50 bins. The exporter uses one bin
 * per GB/s, which is too coarse for slow operations. */
static void put_histogram(const struct exporter_table *table,
                          const struct exporter_cell *cell, const char *name,
                          FILE *gp)
{
    uint64_t counts[MAX_BINS] = {0};
    double range = cell->max - cell->min, low = cell->min, width;
    /* about one bin per GB/s, as in the exporter, but within the limits */
    unsigned bins = range >= MAX_BINS  ? MAX_BINS
                    : range > MIN_BINS ? (unsigned) range + 1
                                       : MIN_BINS;

    if (!begin_script(table, cell, name, "Histogram", gp))
        return;
    if (!(range > 0)) { /* a single value: draw a bar around it */
        bins = 1;
        range = cell->min > 0 ? cell->min * 0.02 : 1;
        low -= range / 2;
    }
    width = range / bins;
    for (size_t at = cell->from; at < cell->to;) {
        struct exporter_row row;
        /* the greatest value is on the upper edge of the last bin */
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

/* Returns the means, sorted; the caller frees them. NULL: out of memory. */
static double *sorted_means(const struct exporter_table *table,
                            const struct exporter_cell *cell)
{
    double *means = reallocarray(NULL, cell->valued + 1, sizeof(*means));
    size_t n = 0;

    /* rows without a bandwidth are left out, so `valued` is enough room */
    for (size_t at = cell->from; means && at < cell->to;) {
        struct exporter_row row;

        at = exporter_table_row(table, cell, at, &row);
        if (!isnan(row.mean))
            means[n++] = row.mean;
    }
    if (means)
        qsort(means, n, sizeof(*means), sorted_ascending);
    return means;
}

/* Outliers are the means outside of the indices low..high (inclusive). If there
 * are many, the outermost are always drawn, the others evenly sampled. */
static void put_outliers(const double *means, uint64_t n, uint64_t low,
                         uint64_t high, FILE *gp)
{
    uint64_t all = low + (n - 1 - high);
    uint64_t step = (all + MAX_OUTLIERS - 1) / MAX_OUTLIERS;

    fputs("$outliers << EOD\n", gp);
    /* from the lowest up, then from the highest down */
    for (uint64_t i = 0; i < low; i += step)
        fprintf(gp, "%s\t1\n", FIG_EXACT(means[i]));
    for (uint64_t i = n - 1; i > high; i = i - high > step ? i - step : high)
        fprintf(gp, "%s\t1\n", FIG_EXACT(means[i]));
    if (!all)
        fputs("NaN\t1\n", gp); /* an empty block is an error to gnuplot */
    fputs("EOD\n", gp);
}

/* Draws the box, the median and the whiskers as objects and arrows, from the
 * quartiles that are given. */
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
    /* the ends of the whiskers */
    for (int i = 0; i < 2; i++)
        fprintf(gp,
                "set arrow %d from %s,0.93 to %s,1.07 nohead linewidth 2 "
                "linecolor rgb '#222222'\n",
                4 + i, FIG_EXACT(i ? high : low), FIG_EXACT(i ? high : low));
}

/* Writes a value in words, each at its own height, so that they do not overlap.
 */
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

/* Draws quartiles, whiskers to the last value within 1.5 times the quartiles'
 * distance, and outliers. Least, median and greatest value are also in words.
 * Returns -1 when out of memory. */
static int put_boxplot(const struct exporter_table *table,
                       const struct exporter_cell *cell, const char *name,
                       FILE *gp)
{
    double *means = sorted_means(table, cell), q1, q3, median, middle, margin;
    uint64_t n = cell->valued, low = 0, high = n - 1;

    if (!means)
        return -1;
    if (!begin_script(table, cell, name, "Box plot", gp))
        goto out;
    q1 = sorted_quantile(means, n, 0.25);
    q3 = sorted_quantile(means, n, 0.75);
    median = sorted_quantile(means, n, 0.5);
    /* the whiskers end at the outermost values that are no outliers */
    while (low < n - 1 && means[low] < q1 - 1.5 * (q3 - q1))
        low++;
    while (high > low && means[high] > q3 + 1.5 * (q3 - q1))
        high--;
    put_outliers(means, n, low, high, gp);
    put_box(gp, means[low], q1, median, q3, means[high]);
    /* a single value still needs a range */
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

int exporter_picture_put(const struct exporter_table *table,
                         enum exporter_picture kind, size_t from, size_t to,
                         const char *name, FILE *gp)
{
    switch (kind) {
    case EXPORTER_SCATTER:
        put_scatter(table, from, to, name, gp);
        break;
    case EXPORTER_COMBINED:
        put_combined(table, from, to, name, gp);
        break;
    case EXPORTER_HISTOGRAM:
        put_histogram(table, &table->cells[from], name, gp);
        break;
    case EXPORTER_BOXPLOT:
        return put_boxplot(table, &table->cells[from], name, gp);
    }
    return 0;
}
