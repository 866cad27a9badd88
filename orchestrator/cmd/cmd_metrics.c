/* cmd_metrics.c - `jobprof metrics collect`: users' metrics, checked, for
 * node_exporter; `jobprof metrics list`: which metrics there are.
 *
 * metrics/ does the work; this file reads the settings, asks Slurm whose a job
 * is, prints what was left out, and finds the tables of the commands and the
 * features. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/plan.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/metrics/metrics.h"

/* Time for an answer of Slurm's controller. */
#define ASK_MS 1000

struct arguments {
    struct cmd_common common;
};

static const struct cmd_option rows[] = {
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"quiet", NULL, "do not print what was left out", OPT_QUIET},
    {"verbose", NULL, "also print what was collected", OPT_VERBOSE},
};

static const struct cmd_options command_line = {
    .command = "metrics",
    .about =
        "usage: jobprof metrics collect [options]\n"
        "       jobprof metrics list\n\n"
        "collect: check the metrics that users' steps write on this node "
        "(metrics.spool_dir), and write them to the folder of node_exporter's "
        "textfile collector (metrics.textfile_dir), which only root can "
        "change. Entries that do not belong into the spool are removed. A "
        "timer runs it as root (docs/metrics.md).\n"
        "list: print all metrics as tables in Markdown.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 5 a folder cannot be used, or output "
           "failed.\n",
    .least = 1,
    .most = 1,
    .need = "needs the word collect or list",
};

/* Asks Slurm's controller. A callback of metricscollect_run. */
static bool ask_job(void *arg, uint64_t number, struct metricscollect_job *out)
{
    /* too large for the stack */
    static struct slurmjob job;

    (void) arg;
    if (!slurmjob_get((uint32_t) number, ASK_MS, &job))
        return false;
    out->uid = job.uid;
    snprintf(out->account, sizeof(out->account), "%s", job.facts.account);
    snprintf(out->partition, sizeof(out->partition), "%s", job.facts.partition);
    return true;
}

/* Prints what was left out, by user. */
static void print_notes(const struct arguments *a,
                        const struct metricscollect *c)
{
    for (size_t i = 0; i < c->n_notes && !a->common.quiet; i++) {
        quote_printf(stderr, "jobprof: metrics: left out of ");
        quote_print(stderr, c->notes[i]);
        fputc('\n', stderr);
    }
    if (!a->common.quiet && c->cleaned.kept)
        quote_printf(stderr,
                     "jobprof: metrics: %zu entries cannot be removed from "
                     "the spool (jobprof doctor lists them)\n",
                     c->cleaned.kept);
    if (a->common.verbose)
        quote_printf(stderr,
                     "jobprof: metrics: %zu series of %zu files of %zu users; "
                     "removed %zu stale files and %zu other entries\n",
                     c->written, c->files, c->users, c->cleaned.stale,
                     c->cleaned.odd);
}

/* --- which tables there are ----------------------------------------------- */

/* Tables and the NULL at their end. */
struct tables {
    const struct jp_table **at;
    size_t n;
};

/* Adds a table if a column is a metric. -1: no memory. */
static int add_table(struct tables *tables, const struct jp_table *table)
{
    if (!metrics_at(table, 0))
        return 0;
    if (VECTOR_DOUBLE(tables->at, tables->n + 1) < 0)
        return -1;
    tables->at[tables->n++] = table;
    tables->at[tables->n] = NULL;
    return 0;
}

static int add_tables(struct tables *tables, const struct jp_table *const *of)
{
    for (; of && *of; of++)
        if (add_table(tables, *of) < 0)
            return -1;
    return 0;
}

/* Adds those of the commands. */
static int add_commands(struct tables *tables)
{
    for (size_t i = 0; command_registry[i]; i++)
        if (add_tables(tables, command_registry[i]->metrics) < 0)
            return -1;
    return 0;
}

static int list_metrics(void)
{
    struct tables all = {NULL, 0};
    struct jp_error err;
    int rc = 0;

    if (add_tables(&all, metrics_of_steps) < 0 ||
        add_tables(&all, metricscollect_tables) < 0 || add_commands(&all) < 0)
        rc = -1;
    for (size_t i = 0; feature_registry[i] && rc == 0; i++)
        rc = add_tables(&all, feature_registry[i]->tables);
    if (rc < 0)
        error_set(&err, "out of memory");
    else {
        metrics_describe(all.at, all.n, stdout);
        rc = table_output_end(NULL, stdout, &err);
    }
    free(all.at);
    return rc < 0 ? cmd_args_fail("metrics", JP_EXIT_IO, &err) : JP_EXIT_OK;
}

int cmd_metrics(int argc, char **argv)
{
    struct arguments a = {.common = {.json = false}};
    struct jp_sitefile file = {0};
    struct jp_site_metrics site;
    struct metricscollect c = {0};
    struct tables tables = {NULL, 0};
    struct jp_error err;
    int rc = cmd_options_parse(&command_line, argc, argv, &a);

    if (rc >= 0)
        return rc;
    if (strcmp(argv[optind], "list") == 0)
        return list_metrics();
    if (strcmp(argv[optind], "collect") != 0)
        return cmd_options_usage(&command_line, command_line.need);
    if (plan_load_site(a.common.config, &file, &err) < 0)
        return cmd_args_fail("metrics", JP_EXIT_USAGE, &err);
    sitefile_metrics(&file, &site);
    c = (struct metricscollect){.spool = site.spool,
                                .textfile = site.textfile,
                                .series = site.series,
                                .user_series = site.user_series,
                                .node_series = site.node_series,
                                .ask = site.ask_slurm ? ask_job : NULL};
    rc = add_commands(&tables);
    c.tables = tables.at;
    if (rc < 0 && error_set(&err, "out of memory"))
        rc = cmd_args_fail("metrics", JP_EXIT_IO, &err);
    else if (!site.textfile)
        rc = cmd_options_usage(&command_line,
                               "the site file has no metrics.textfile_dir");
    else if (metricscollect_run(&c, &err) < 0)
        rc = cmd_args_fail("metrics", JP_EXIT_IO, &err);
    else
        rc = JP_EXIT_OK;
    if (rc == JP_EXIT_OK)
        print_notes(&a, &c);
    metricscollect_fini(&c);
    free(tables.at);
    sitefile_fini(&file);
    return rc;
}
