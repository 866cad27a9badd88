/* html_sizes.c - section: operations by message size. */
#include "orchestrator/report/html_sections.h"

#include "common/figure.h"
#include "orchestrator/report/html_out.h"

enum { BINS = 64 }; /* powers of two */

struct bin {
    uint64_t ops;
    double bytes, us;
};

bool html_sizes_present(const struct jp_report *report)
{
    return report->result && report->result->n_cells;
}

static void add_up(const struct jp_result *r, struct bin *bins,
                   struct bin *total)
{
    for (size_t i = 0; i < r->n_cells; i++) {
        const struct jp_cell *c = &r->cells[i];
        double bytes = (double) c->bytes * (double) c->ops;
        double us = c->exec.n ? c->exec.mean * (double) c->exec.n : 0;
        struct bin *bin = &bins[c->bytes ? 63 - __builtin_clzll(c->bytes) : 0];

        bin->ops += c->ops;
        bin->bytes += bytes;
        bin->us += us;
        total->ops += c->ops;
        total->bytes += bytes;
        total->us += us;
    }
}

static double share(double part, double all)
{
    return all > 0 ? part / all : 0;
}

static void put_row(FILE *out, unsigned exponent, const struct bin *bin,
                    const struct bin *total)
{
    char range[2 * JP_FIGURE_LEN];
    double ops = share((double) bin->ops, (double) total->ops);
    double bytes = share(bin->bytes, total->bytes);
    double us = share(bin->us, total->us);

    if (exponent == BINS - 1)
        snprintf(range, sizeof(range), "%s and more",
                 FIG_BYTES(UINT64_C(1) << exponent));
    else
        snprintf(range, sizeof(range), "%s to %s",
                 FIG_BYTES(exponent ? UINT64_C(1) << exponent : 0),
                 FIG_BYTES(UINT64_C(2) << exponent));
    html_out_row(out);
    html_out_figure(out, range, exponent);
    html_out_figure(out, FIG_COUNT(bin->ops), (double) bin->ops);
    html_out_bar(out, FIG_SHARE(ops), ops, ops);
    html_out_bar(out, FIG_SHARE(bytes), bytes, bytes);
    html_out_figure(out, FIG_US(bin->us), bin->us);
    html_out_bar(out, FIG_SHARE(us), us, us);
    html_out_row_end(out);
}

int html_sizes_put(const struct jp_report *report, FILE *out)
{
    static const struct jp_html_column columns[] = {
        {"Size", "of the message: from, and less than", true},
        {"Operations", NULL, true},
        {"of them", NULL, true},
        {"of the data", "share of the sum of message sizes", true},
        {"Time", "sum over operations of the longest rank's time", true},
        {"of the time", NULL, true},
    };
    struct bin bins[BINS] = {{0}}, total = {0};

    add_up(report->result, bins, &total);
    html_out_chart(out, "sizes", "Operations, data and time by message size");
    html_out_table(out, columns, sizeof(columns) / sizeof(*columns), true);
    for (unsigned i = 0; i < BINS; i++)
        if (bins[i].ops)
            put_row(out, i, &bins[i], &total);
    html_out_table_end(out, sizeof(columns) / sizeof(*columns), 0, NULL);
    return 0;
}
