/* plot_busbw.c - bus bandwidth over message size. */
#include "orchestrator/report/plots.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/report/plot_script.h"

#define MAX_SERIES 12 /* more lines cannot be told apart */

struct series {
    size_t from, to; /* cells */
    double time;
};

/* Cells of one type and function stand next to each other. */
static size_t series_end(const struct jp_result *r, size_t from)
{
    size_t to = from + 1;

    while (to < r->n_cells && r->cells[to].type == r->cells[from].type &&
           !strcmp(r->cells[to].coll, r->cells[from].coll))
        to++;
    return to;
}

static int is_plottable(const struct jp_cell *cell)
{
    return cell->bytes > 0 && cell->busbw.n > 0 && cell->busbw.p50 > 0;
}

/* The MAX_SERIES series of most time, in the cells' order. Returns how many,
 * and how many there are in all. */
static size_t pick_series(const struct jp_result *r, struct series *picked,
                          size_t *total)
{
    size_t n = 0;

    *total = 0;
    for (size_t from = 0, to; from < r->n_cells; from = to) {
        struct series s = {.from = from, .to = series_end(r, from)};
        size_t least = 0;

        to = s.to;
        for (size_t i = s.from; i < s.to; i++)
            if (is_plottable(&r->cells[i]))
                s.time += (double) r->cells[i].exec.n * r->cells[i].exec.mean +
                          1e-9;
        if (s.time <= 0)
            continue;
        (*total)++;
        if (n < MAX_SERIES) {
            picked[n++] = s;
            continue;
        }
        for (size_t i = 1; i < n; i++)
            if (picked[i].time < picked[least].time)
                least = i;
        if (s.time <= picked[least].time)
            continue;
        memmove(&picked[least], &picked[least + 1],
                (n - least - 1) * sizeof(*picked));
        picked[n - 1] = s;
    }
    return n;
}

static void put_series(const struct jp_result *r, const struct series *s,
                       FILE *tsv)
{
    for (size_t i = s->from; i < s->to; i++) {
        const struct jp_cell *c = &r->cells[i];

        if (is_plottable(c))
            fprintf(tsv, "%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%s\t%s\t%s\n",
                    c->bytes, c->ops, FIG_EXACT(c->busbw.min),
                    FIG_EXACT(c->busbw.p50), FIG_EXACT(c->busbw.p95),
                    FIG_EXACT(c->busbw.p99), FIG_EXACT(c->busbw.max));
    }
}

/* What the axes must span. */
struct span {
    double least, most;
};

static void widen(struct span *span, double value)
{
    if (!(value > 0) || !isfinite(value))
        return;
    if (span->most == 0 || value < span->least)
        span->least = value;
    if (value > span->most)
        span->most = value;
}

/* Ticks at powers of two, few enough to be read. */
static void put_size_axis(FILE *gp, const struct span *bytes)
{
    double low = exp2(floor(log2(bytes->least)));
    double high = exp2(ceil(log2(bytes->most)));
    double step = exp2(1 + floor(log2(high / low) / 14));
    unsigned n = 0;

    fprintf(gp, "set logscale x 2\nset xrange [%s:%s]\nset xtics (",
            FIG_EXACT(low / 1.5), FIG_EXACT(high * 1.5));
    for (double size = low; size <= high && n < 40 && size < 1e19; size *= step)
        fprintf(gp, "%s'%s' %s", n++ ? ", " : "", FIG_BYTES((uint64_t) size),
                FIG_EXACT(size));
    fputs(") rotate by -40\n", gp);
}

static void put_axes(FILE *gp, const struct jp_result *r,
                     const struct series *picked, size_t n)
{
    struct span bytes = {0}, gbs = {0};

    for (size_t k = 0; k < n; k++)
        for (size_t i = picked[k].from; i < picked[k].to; i++) {
            const struct jp_cell *c = &r->cells[i];

            if (!is_plottable(c))
                continue;
            widen(&bytes, (double) c->bytes);
            widen(&gbs, c->busbw.min);
            widen(&gbs, c->busbw.p50);
            widen(&gbs, c->busbw.p95);
        }
    fputs("set xlabel 'message size (bytes, powers of 1024)'\n"
          "set ylabel 'bus bandwidth (GB/s)'\n",
          gp);
    put_size_axis(gp, &bytes);
    fprintf(gp, "set logscale y %d\nset yrange [%s:%s]\n",
            plot_script_log_base(gbs.least, gbs.most),
            FIG_EXACT(gbs.least / 1.5), FIG_EXACT(gbs.most * 1.5));
    fputs("set format y '%g'\n"
          "set key outside right top vertical Left reverse samplen 2\n"
          "set bars 0.6\n",
          gp);
}

int plot_busbw_write(const struct jp_result *result, FILE *tsv, FILE *gp)
{
    struct series picked[MAX_SERIES];
    size_t total, n = pick_series(result, picked, &total);
    char title[160];

    snprintf(title, sizeof(title),
             "Bus bandwidth by message size: median, "
             "bars from least to 95th percentile");
    plot_script_begin(gp, "busbw", title);
    fputs("# msg_size_bytes\tops\tmin\tp50\tp95\tp99\tmax (GB/s)\n", tsv);
    if (!n) {
        plot_script_nothing(gp, "no operation with a bandwidth");
        return 0;
    }
    put_axes(gp, result, picked, n);
    if (n < total)
        fprintf(gp,
                "set label 1 'the %zu of %zu lines with most time' at "
                "graph 0.01,0.98 left\n",
                n, total);
    fputs("plot ", gp);
    for (size_t i = 0; i < n; i++) {
        const struct jp_cell *c = &result->cells[picked[i].from];
        char name[25];

        plot_script_name(c->coll, name, sizeof(name));
        fprintf(tsv, "%s# %s %s\n", i ? "\n\n" : "", comm_type_name(c->type),
                name);
        put_series(result, &picked[i], tsv);
        fprintf(gp,
                "%s'busbw.tsv' index %zu using 1:4:3:5 with yerrorlines "
                "linetype %zu title '%s %s'",
                i ? ", \\\n     " : "", i, i + 1, comm_type_name(c->type),
                name);
    }
    fputc('\n', gp);
    return 0;
}
