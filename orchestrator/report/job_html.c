/* job_html.c - the page's bookkeeping: what ran, with which settings, and the
 * commands to run it again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/identity/parallel.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/report/out.h"
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
        if (jobconf_util(c, "labels"))
            html_out_fact(out, "Labels", jobconf_util(c, "labels"));
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
                      nodes->n_nodes ? FIG_COUNT(nodes->tasks_failed)
                                     : "unknown");
    }
    fputs("</dl>\n", out);
    return 0;
}

/* --- sections: settings with their sources, variables */

#define COLUMNS(list) (sizeof(list) / sizeof(*(list)))

/* Writes a row for each setting, with its source and reason. */
static void setting_rows(FILE *out, const char *area,
                         const struct jp_setting *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        html_out_row(out);
        html_out_cell(out, area);
        html_out_id(out, list[i].key);
        html_out_code(out, list[i].value);
        html_out_cell(out, list[i].source);
        html_out_cell(out, list[i].where);
        html_out_prose(out, list[i].reason);
        html_out_row_end(out);
    }
}

/* "7 not by default" */
bool drawer_settings(const struct jp_report *report, char *buf)
{
    const struct jp_jobconf *c = report->conf;
    size_t n = 0;

    for (size_t i = 0; c && i < c->n_settings; i++)
        n += strcmp(c->settings[i].source, "default") != 0;
    for (size_t i = 0; c && i < c->n_copper_settings; i++)
        n += strcmp(c->copper_settings[i].source, "default") != 0;
    if (n)
        snprintf(buf, DRAWER_FIGURE, "%s not by default", FIG_COUNT(n));
    else
        snprintf(buf, DRAWER_FIGURE, "all by default");
    return c && c->n_settings + c->n_copper_settings;
}

/* Writes the settings of NCCL's and of Copper's profile, with their sources. */
int job_html_settings(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;
    static const struct jp_html_column columns[] = {
        {"For", NULL, false},  {"Setting", NULL, false}, {"Value", NULL, false},
        {"From", NULL, false}, {"Where", NULL, false},   {"Why", NULL, false},
    };

    if (!conf || conf->n_settings + conf->n_copper_settings == 0)
        return 0;
    html_out_table(out, columns, COLUMNS(columns), true);
    setting_rows(out, "NCCL", conf->settings, conf->n_settings);
    setting_rows(out, "Copper", conf->copper_settings, conf->n_copper_settings);
    html_out_table_end(out, COLUMNS(columns), 0, NULL);
    return 0;
}

/* Writes the variables that the launch set for the tasks. */
int job_html_env(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;
    static const struct jp_html_column columns[] = {
        {"Variable", NULL, false},
        {"Value", "%N stands for the node's name", false},
        {"If the user has set it", NULL, false},
    };

    if (!conf || !conf->n_env)
        return 0;
    html_out_table(out, columns, COLUMNS(columns), false);
    for (size_t i = 0; i < conf->n_env; i++) {
        html_out_row(out);
        html_out_id(out, conf->env[i].name);
        html_out_code(out, conf->env[i].value);
        html_out_cell(out, conf->env[i].soft ? "the user's stays" : "replaced");
        html_out_row_end(out);
    }
    html_out_table_end(out, COLUMNS(columns), 0, NULL);
    return 0;
}
