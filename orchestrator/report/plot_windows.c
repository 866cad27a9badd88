/* plot_windows.c - bus bandwidth over the run. */
#include "orchestrator/report/plots.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/keymap.h"
#include "orchestrator/report/plot_script.h"
#include "orchestrator/report/rows.h"

#define MAX_SERIES 8
#define WIDE 5 /* most / least beyond which the axis is logarithmic */

/* One communicator and function. */
struct series {
    size_t comm;
    const char *coll;
    double time;
};

static int by_owner(const void *a, const void *b)
{
    const struct series *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return strcmp(x->coll, y->coll);
}

static int by_time(const void *a, const void *b)
{
    const struct series *x = a, *y = b;

    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return by_owner(a, b);
}

/* Adds a window's time to its series. 0 or -1. */
static int add_window(struct series *list, size_t *n, struct keymap *map,
                      const struct jp_window *w)
{
    /* names are the result's own, each there once */
    uint64_t coll = (uintptr_t) w->coll;
    uint32_t at = keymap_find(map, w->comm, coll);

    if (at == KEYMAP_NONE) {
        at = (uint32_t) *n;
        if (keymap_add(map, w->comm, coll, at) < 0)
            return -1;
        list[(*n)++] = (struct series){w->comm, w->coll, 0};
    }
    list[at].time += (double) w->time_us;
    return 0;
}

/* All series, most time first; caller frees. NULL: out of memory. */
static struct series *list_series(const struct jp_result *r, size_t *n)
{
    struct series *list = calloc(r->n_windows + 1, sizeof(*list));
    struct keymap map = {0};
    int rc = list ? 0 : -1;

    for (size_t i = 0; i < r->n_windows && rc == 0; i++)
        rc = add_window(list, n, &map, &r->windows[i]);
    keymap_fini(&map);
    if (rc == 0) {
        qsort(list, *n, sizeof(*list), by_time);
        return list;
    }
    free(list);
    return NULL;
}

static void put_series(const struct jp_result *r, const struct series *s,
                       FILE *tsv)
{
    uint64_t start = r->windows[0].t0_us; /* sorted by t0 */

    for (size_t i = 0; i < r->n_windows; i++) {
        const struct jp_window *w = &r->windows[i];
        double middle =
            ((double) (w->t0_us - start) + (double) (w->t1_us - start)) / 2e6;

        if (w->comm == s->comm && !strcmp(w->coll, s->coll))
            fprintf(tsv, "%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n",
                    FIG_EXACT(middle), FIG_EXACT(w->busbw_mean), w->ops,
                    w->bytes);
    }
}

static void find_span(const struct jp_result *r, double *least, double *most)
{
    *least = INFINITY;
    *most = 0;
    for (size_t i = 0; i < r->n_windows; i++) {
        double gbs = r->windows[i].busbw_mean;

        if (!(gbs > 0) || !isfinite(gbs))
            continue;
        *least = gbs < *least ? gbs : *least;
        *most = gbs > *most ? gbs : *most;
    }
}

static void put_axes(const struct jp_result *r, FILE *gp)
{
    double least, most;

    find_span(r, &least, &most);
    fputs("set xlabel 'time since the first record was written (s)'\n"
          "set ylabel 'mean bus bandwidth (GB/s)'\n"
          "set format y '%g'\n"
          "set key outside right top vertical Left reverse samplen 2\n",
          gp);
    if (most > WIDE * least) /* lines of a fast and a slow network */
        fprintf(gp, "set logscale y %d\nset yrange [%s:%s]\n",
                plot_script_log_base(least, most), FIG_EXACT(least / 1.5),
                FIG_EXACT(most * 1.5));
    else
        fputs("set yrange [0:*]\n"
              "set offsets 0, 0, graph 0.08, 0\n",
              gp);
}

static void put_plot(const struct jp_result *r, const struct series *list,
                     size_t n, FILE *tsv, FILE *gp)
{
    fputs("plot ", gp);
    for (size_t i = 0; i < n; i++) {
        char coll[32], name[32];

        plot_script_name(list[i].coll, coll, sizeof(coll));
        plot_script_comm(rows_comm(r, list[i].comm), name, sizeof(name));
        fprintf(tsv, "%s# %s %s\n", i ? "\n\n" : "", name, coll);
        put_series(r, &list[i], tsv);
        fprintf(gp,
                "%s'windows.tsv' index %zu using 1:2 with linespoints "
                "linetype %zu pointsize 0.6 title '%s %s'",
                i ? ", \\\n     " : "", i, i + 1, name, coll);
    }
    fputc('\n', gp);
}

int plot_windows_write(const struct jp_result *result, FILE *tsv, FILE *gp)
{
    size_t total = 0;
    struct series *list = list_series(result, &total);
    size_t n = total < MAX_SERIES ? total : MAX_SERIES;

    if (!list)
        return -1;
    plot_script_begin(gp, "windows", "Bus bandwidth over the run");
    fputs("# seconds\tbusbw_gbs\tops\tbytes\n", tsv);
    if (n) {
        put_axes(result, gp);
        if (n < total)
            fprintf(gp,
                    "set label 1 'the %zu of %zu lines with most time' at "
                    "graph 0.01,0.98 left\n",
                    n, total);
        put_plot(result, list, n, tsv, gp);
    } else {
        plot_script_nothing(gp, "no operation with a time");
    }
    free(list);
    return 0;
}
