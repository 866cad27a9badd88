/* plot_waits.c - for whom the others waited. */
#include "orchestrator/report/plots.h"

#include <inttypes.h>

#include "common/figure.h"
#include "orchestrator/report/plot_script.h"
#include "orchestrator/report/rows.h"

#define MAX_RANKS 24

static void put_row(const struct jp_result *r, const struct jp_rank *k,
                    FILE *tsv)
{
    char host[32], name[32];

    plot_script_name(k->host ? k->host : "", host, sizeof(host));
    plot_script_comm(rows_comm(r, k->comm), name, sizeof(name));
    fprintf(tsv, "%s rank %" PRIu32 ", %s\t%s\t%s\t%s\n", name, k->rank, host,
            FIG_EXACT((double) k->caused_us / 1e6),
            FIG_EXACT((double) k->wait_us / 1e6), FIG_EXACT(k->last_share));
}

/* Lying bars: the labels are long. */
static void put_bars(FILE *gp, size_t n)
{
    fputs("set xlabel 'time, summed over operations'\n"
          "set format x '%.1s %cs'\n"
          "set rmargin 5\n"
          "set xrange [0:*]\n",
          gp);
    fprintf(gp, "set yrange [%zu:-1]\n", n);
    fputs("unset grid\n"
          "set grid xtics linetype 0 linewidth 1 linecolor rgb '#bbbbbb'\n"
          "set ytics font ',10'\n"
          "set style fill solid 0.9 noborder\n"
          "set key outside top center horizontal Left reverse samplen 2\n"
          "plot 'waits.tsv' using 2:0:(0):2:($0-0.4):($0):ytic(1) "
          "with boxxyerror linetype 2 title 'the others waited for it', \\\n"
          "     '' using 3:0:(0):3:($0):($0+0.4) with boxxyerror "
          "linetype 1 title 'it waited for others'\n",
          gp);
}

int plot_waits_write(const struct jp_result *result, FILE *tsv, FILE *gp)
{
    struct jp_rows rows;
    size_t n = 0;

    if (rows_pick(result, result->n_ranks, MAX_RANKS, rows_rank_caused, true,
                  &rows) < 0)
        return -1;
    plot_script_begin(gp, "waits",
                      "Ranks that arrived last: how long the "
                      "others waited for them");
    fputs("# communicator, rank and host\tcaused_s\twaited_s\tlast_share\n",
          tsv);
    for (size_t i = 0; i < rows.n; i++) {
        const struct jp_rank *k = &result->ranks[rows.index[i]];

        if (!k->timed_ops || (!k->caused_us && !k->wait_us))
            continue;
        put_row(result, k, tsv);
        n++;
    }
    rows_fini(&rows);
    if (!n) {
        plot_script_nothing(gp, "no operation in which a rank waited");
        return 0;
    }
    put_bars(gp, n);
    return 0;
}
