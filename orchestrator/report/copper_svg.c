/* copper_svg.c - Copper's two pictures within report.html, without a script. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/figure.h"
#include "orchestrator/report/html_out.h"
#include "orchestrator/report/report_copper.h"

#define WIDTH 900
#define HEIGHT 260
#define LEFT 80
#define TOP 12
#define BOTTOM 40
#define MAX_MARKS 5000

static void begin(FILE *out, const char *caption)
{
    fprintf(out,
            "<figure style=\"margin:1em 0\"><figcaption>%s</figcaption>"
            "<svg class=\"copper\" viewBox=\"0 0 %d %d\" "
            "style=\"max-width:100%%\" role=\"img\" "
            "font-size=\"12\" fill=\"currentColor\">\n",
            caption, WIDTH, HEIGHT);
}

static void end(FILE *out)
{
    fputs("</svg></figure>\n", out);
}

static double place_x(double share)
{
    return LEFT + share * (WIDTH - LEFT - 10);
}

static double place_y(double share)
{
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
}

/* Lines at 0, a half and the whole of most, each with its figure. */
static void put_scale(FILE *out, double most, bool us)
{
    for (int i = 0; i <= 2; i++) {
        double y = place_y(i / 2.0), value = most * i / 2.0;

        fprintf(out,
                "<path d=\"M%d %.1fH%d\" stroke=\"currentColor\" "
                "stroke-opacity=\".25\"/><text x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%s</text>\n",
                LEFT, y, WIDTH - 10, LEFT - 6, y + 4,
                us ? FIG_US(value) : FIG_COUNT((uint64_t) llround(value)));
    }
}

static double getattr_us(const struct jp_copper_rank *r)
{
    const struct copper_op *op = &r->op[copper_op_find("getattr", 7)];

    return r->has_ops && op->calls ? (double) op->time_us / (double) op->calls
                                   : NAN;
}

static bool is_slow(const struct jp_copper *c, size_t rank)
{
    for (size_t i = 0; i < c->n_outliers; i++)
        if (c->outliers[i].rank == rank && c->outliers[i].slow)
            return true;
    return false;
}

static void put_mark(FILE *out, double x, double y, bool slow,
                     const struct jp_copper_rank *rank, double us)
{
    fprintf(out,
            "<circle class=\"copper\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" "
            "fill=\"%s\"><title>",
            x, y, slow ? 5 : 3, slow ? "#D55E00" : "#0072B2");
    html_out_short(out, rank->host, 100);
    fprintf(out, ": %s</title></circle>\n", FIG_US(us));
}

/* The ranks of one level side by side in its column. */
static void put_level(const struct jp_copper *c, int level, unsigned column,
                      unsigned columns, double most, FILE *out)
{
    size_t n = 0, k = 0, step;

    for (size_t i = 0; i < c->n_ranks; i++)
        n += c->ranks[i].level == level && isfinite(getattr_us(&c->ranks[i]));
    fprintf(out,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s%s</text>\n",
            place_x((column + 0.5) / columns), HEIGHT - BOTTOM + 18,
            level < 0 ? "level unknown" : "level ",
            level < 0 ? "" : FIG_COUNT((uint64_t) level));
    step = n / MAX_MARKS + 1;
    for (size_t i = 0; i < c->n_ranks; i++) {
        double us = getattr_us(&c->ranks[i]);

        if (c->ranks[i].level != level || !isfinite(us))
            continue;
        if (k++ % step == 0 || is_slow(c, i))
            put_mark(
                out,
                place_x((column + 0.1 + 0.8 * ((double) k - 0.5) / (double) n) /
                        columns),
                place_y(us / most), is_slow(c, i), &c->ranks[i], us);
    }
}

static void ranks_by_level(const struct jp_copper *c, FILE *out)
{
    int least = 64, deepest = -1;
    double most = 0;

    for (size_t i = 0; i < c->n_ranks; i++) {
        double us = getattr_us(&c->ranks[i]);

        if (!isfinite(us))
            continue;
        most = fmax(most, us);
        least = c->ranks[i].level < least ? c->ranks[i].level : least;
        deepest = c->ranks[i].level > deepest ? c->ranks[i].level : deepest;
    }
    if (most <= 0)
        return;
    begin(out, "What a getattr takes on each rank, by level in Copper's tree");
    put_scale(out, most, true);
    for (int level = least; level <= deepest; level++)
        put_level(c, level, (unsigned) (level - least),
                  (unsigned) (deepest - least + 1), most, out);
    end(out);
}

/* One rank's snapshots, [from, to) of the points. */
static void put_line(const struct jp_copper *c, size_t from, size_t to,
                     int64_t first, double span, double most, FILE *out)
{
    fputs("<polyline class=\"copper\" fill=\"none\" stroke=\"#0072B2\" "
          "stroke-opacity=\".7\" "
          "points=\"",
          out);
    for (size_t i = from; i < to; i++)
        fprintf(out, "%.1f,%.1f ",
                place_x((double) (c->points[i].time_us - first) / span),
                place_y((double) c->points[i].value[COPPER_OPERATIONS] / most));
    fputs("\"><title>", out);
    html_out_short(out, c->ranks[c->points[from].rank].host, 100);
    fputs("</title></polyline>\n", out);
}

static void series(const struct jp_copper *c, FILE *out)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    double most = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct jp_copper_point *p = &c->points[i];

        first = p->time_us < first ? p->time_us : first;
        last = p->time_us > last ? p->time_us : last;
        most = fmax(most, (double) p->value[COPPER_OPERATIONS]);
    }
    /* final and pre-destroy alone are seconds apart, and no series */
    if (c->times_lost || c->n_points < 3 * c->n_ranks || most <= 0 ||
        last <= first)
        return;
    begin(out, "Operations of each rank so far, at each snapshot");
    put_scale(out, most, false);
    for (size_t i = 0, k; i < c->n_points && i < MAX_MARKS; i = k) {
        for (k = i + 1;
             k < c->n_points && c->points[k].rank == c->points[i].rank;)
            k++;
        put_line(c, i, k, first, (double) (last - first), most, out);
    }
    fprintf(out,
            "<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" y=\"%d\" "
            "text-anchor=\"end\">%s</text>\n",
            LEFT, HEIGHT - BOTTOM + 18, WIDTH - 10, HEIGHT - BOTTOM + 18,
            FIG_US((double) (last - first)));
    end(out);
}

void report_copper_pictures(const struct jp_copper *c, FILE *out)
{
    ranks_by_level(c, out);
    series(c, out);
}
