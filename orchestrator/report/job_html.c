/* job_html.c - the page's bookkeeping: what ran, with which settings, and the
 * commands to run it again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/grammar.h"
#include "common/figure.h"
#include "orchestrator/identity/parallel.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/table.h"
#include "orchestrator/report/sections.h"

/* Writes a count; 0 means that it is unknown. */
static void put_fact_count(FILE *out, const char *name, uint64_t value)
{
    html_out_fact(out, name, value ? FIG_COUNT(value) : "unknown");
}

/* --- section: the commands that run and report this again */

#define WORD_MAX 400 /* longest part of a word that is shown, bytes */

/* Writes text as one word of a shell, quoted if needed. */
static void put_word(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:=,%+@-";

    /* needs no quotes */
    if (*text && !text[strspn(text, plain)]) {
        html_out_short(out, text, WORD_MAX);
        return;
    }
    fputs("&#39;", out);
    /* A quote ends the quoted part, is escaped, and starts a new part. The text
     * between quotes is written in pieces of at most WORD_MAX bytes. */
    for (size_t n; *text; text += n) {
        char part[WORD_MAX];

        if (*text == '\'') {
            fputs("&#39;\\&#39;&#39;", out);
            n = 1;
            continue;
        }
        n = strcspn(text, "'");
        /* a long part is written in several pieces */
        if (n >= sizeof(part))
            n = sizeof(part) - 1;
        memcpy(part, text, n);
        part[n] = '\0';
        html_out_text(out, part);
    }
    fputs("&#39;", out);
}

/* Writes srun's option as the user gave it. Settings from other sources, such
 * as the environment or the site's file, apply again without it. */
static void put_option(FILE *out, const struct jp_jobconf *conf)
{
    fputs(" --nccl-profile=", out);
    put_word(out, conf->nccl_request);
    for (size_t i = 0; i < conf->n_settings; i++) {
        const struct jp_setting *s = &conf->settings[i];

        /* the mode comes first in the option, without its key */
        if (strcmp(s->source, "option") || !strcmp(s->key, "mode"))
            continue;
        fputc(',', out);
        put_word(out, s->key);
        fputc('=', out);
        put_word(out, s->value);
    }
}

/* Whether there is enough for the three commands: run, plan, report. */
static bool has_commands(const struct jp_report *report)
{
    const struct jp_jobconf *conf = report->conf;

    return conf && conf->nccl_request && conf->command && conf->step_id;
}

/* "3 commands" */
bool drawer_commands(const struct jp_report *report, char *buf)
{
    snprintf(buf, DRAWER_FIGURE, "3 commands");
    return has_commands(report);
}

/* Writes commands that can be copied. The program's arguments are not recorded.
 */
int job_html_command(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;
    char name[JP_JOBCONF_NAME_LEN];

    if (!has_commands(report))
        return 0;
    fputs("<dl class=\"commands\"><dt>Run it again</dt><dd><code>srun", out);
    /* 0: unknown */
    if (conf->nnodes)
        fprintf(out, " -N%" PRIu32, conf->nnodes);
    if (conf->ntasks)
        fprintf(out, " -n%" PRIu32, conf->ntasks);
    put_option(out, conf);
    fputc(' ', out);
    put_word(out, conf->command);
    fputs(" ...</code></dd>\n<dt>Size the next run by this "
          "one</dt><dd><code>jobprof plan "
          "--from ",
          out);
    put_word(out, jobconf_step_name(conf, name));
    fputs("</code></dd>\n<dt>Write this report again</dt><dd><code>jobprof "
          "report ",
          out);
    put_word(out, jobconf_step_name(conf, name));
    fputs("</code></dd></dl>\n<p class=\"note\">The program&#39;s arguments "
          "are not recorded: replace the dots by them.</p>\n",
          out);
    return 0;
}

/* --- section: what ran, where, by whom */

/* Writes the user, the command and the place; unknown facts are "-". */
int job_html_facts(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *c = report->conf;
    const struct jp_nodes *nodes = report->nodes;
    const struct jp_crash *crash = report->insight ? &report->insight->crash
                                                   : NULL;
    char loaded[JP_AGENTS_TEXT], unwatched[UNWATCHED_TEXT];
    char ranks[PARALLEL_TEXT];
    struct parallel parallel;

    fputs("<dl>\n", out);
    /* an unknown fact is shown as "-" */
    if (c) {
        html_out_fact(out, "Command", c->command);
        html_out_fact(out, "User", c->user);
        html_out_fact(out, "Account", c->account);
        html_out_fact(out, "Partition", c->partition);
        html_out_fact(out, "Submitted from", c->submit_host);
        html_out_fact(out, "Working directory", c->submit_dir);
        html_out_fact(out, "Started", FIG_UTC(c->created_us));
        html_out_fact(out, "Slurm", c->slurm_version);
        html_out_fact(out, "Profiler requested", c->nccl_request);
        html_out_fact(out, "Profiler used", c->nccl_mode);
        if (jobconf_labels(c))
            html_out_fact(out, "Labels", jobconf_labels(c));
    } else {
        html_out_fact(out, "Input",
                      "a folder of logs, without a job's settings");
    }
    if (report->agents &&
        *agents_loaded(report->agents, loaded, sizeof(loaded)))
        html_out_fact(out, "Loaded by tasks", loaded);
    if (*unwatched_text(report, unwatched, sizeof(unwatched)))
        html_out_fact(out, "Not watched for hangs", unwatched);
    put_fact_count(out, "Nodes", expected_nodes(c, nodes));
    put_fact_count(out, "Tasks", expected_tasks(c, nodes));
    if (parallel_find(&parallel, report->result, report->processes,
                      expected_tasks(c, nodes)) == 0 &&
        *parallel_text(&parallel, ranks))
        html_out_fact(out, "Parallelism, by its communicators", ranks);
    if (nodes) {
        html_out_fact(out, "Node list", nodes->step_nodelist);
        html_out_fact(out, "Tasks ended with an error",
                      nodes->n_nodes
                          ? FIG_COUNT(crash_count(nodes, crash, JP_CRASH_SELF))
                          : "unknown");
        if (crash_count(nodes, crash, JP_CRASH_KILL))
            html_out_fact(out, "Tasks ended from outside",
                          FIG_COUNT(crash_count(nodes, crash, JP_CRASH_KILL)));
    }
    fputs("</dl>\n", out);
    return 0;
}

/* --- sections: settings with their sources, variables */

/* Setting number `index` of the page: NCCL's first, then those of the options
 * that have a word for the page. *area is whose it is. NULL after the last. */
static const struct jp_setting *setting_at(const struct jp_jobconf *conf,
                                           size_t index, const char **area)
{
    *area = "NCCL";
    if (index < conf->n_settings)
        return &conf->settings[index];
    index -= conf->n_settings;
    for (enum jp_option i = 0; i < OPTIONS; i++) {
        *area = grammar_of(i)->form->on_page;
        if (*area && index < conf->sides[i].n_settings)
            return &conf->sides[i].settings[index];
        if (*area)
            index -= conf->sides[i].n_settings;
    }
    return NULL;
}

static size_t count_settings(const struct jp_report *report)
{
    const struct jp_jobconf *conf = report->conf;
    size_t n = conf ? conf->n_settings : 0;

    for (enum jp_option i = 0; conf && i < OPTIONS; i++)
        n += grammar_of(i)->form->on_page ? conf->sides[i].n_settings : 0;
    return n;
}

/* "7 not by default" */
bool drawer_settings(const struct jp_report *report, char *buf)
{
    size_t n = count_settings(report), set = 0;
    const char *area;

    for (size_t i = 0; i < n; i++)
        set += strcmp(setting_at(report->conf, i, &area)->source, "default") !=
               0;
    if (set)
        snprintf(buf, DRAWER_FIGURE, "%s not by default", FIG_COUNT(set));
    else
        snprintf(buf, DRAWER_FIGURE, "all by default");
    return n > 0;
}

static void find_setting(struct jp_row *row)
{
    const char *area;

    row->at = setting_at(row->report->conf, row->index, &area);
}

static void get_area(const struct jp_row *row, struct jp_value *v)
{
    const char *area;

    setting_at(row->report->conf, row->index, &area);
    value_text(v, area);
}

#define FIELD(member) .none = "", JP_FIELD(struct jp_setting, member)
static const struct jp_column setting_columns[] = {
    {"area", JP_COL_WORD, 0, 0, 1, 0, "For", .get = get_area},
    {"key", JP_COL_ID, 0, 0, 2, 0, "Setting", FIELD(key)},
    {"value", JP_COL_CODE, 0, 0, 3, 0, "Value", FIELD(value)},
    {"source", JP_COL_TEXT, 0, 0, 4, 0, "From", FIELD(source)},
    {"where", JP_COL_TEXT, 0, 0, 5, 0, "Where", FIELD(where)},
    {"reason", JP_COL_PROSE, 0, 0, 6, 0, "Why", FIELD(reason)},
};
#undef FIELD
static const struct jp_table setting_table = {
    JP_COLUMNS(setting_columns), .count = count_settings, .find = find_setting,
    .max_html = SIZE_MAX};

/* Writes the settings of NCCL's profile and of the options that have a word for
 * the page, with their sources. */
int job_html_settings(const struct jp_report *report, FILE *out)
{
    return table_count(&setting_table, report)
               ? table_html(&setting_table, report, NULL, out)
               : 0;
}

static size_t count_env(const struct jp_report *report)
{
    return report->conf ? report->conf->n_env : 0;
}

static void find_env(struct jp_row *row)
{
    row->at = &row->report->conf->env[row->index];
}

JP_GETTER(env_user, jp_envvar,
          value_text(v, at->soft ? "the user's stays" : "replaced"))

#define FIELD(member) JP_FIELD(struct jp_envvar, member)
static const struct jp_column env_columns[] = {
    {"name", JP_COL_ID, 0, 0, 1, 0, "Variable", FIELD(name)},
    {"value", JP_COL_CODE, JP_TIP, 0, 2, 0, "Value",
     "%N stands for the node's name", FIELD(value)},
    {"user", JP_COL_TEXT, 0, 0, 3, 0, "If the user has set it",
     .get = get_env_user},
};
#undef FIELD
static const struct jp_table env_table = {
    JP_COLUMNS(env_columns), .count = count_env, .find = find_env,
    .max_html = SIZE_MAX, .unsorted = true};

/* Writes the variables that the launch set for the tasks. */
int job_html_env(const struct jp_report *report, FILE *out)
{
    return table_count(&env_table, report)
               ? table_html(&env_table, report, NULL, out)
               : 0;
}
