/* html_command.c - section: the commands that run and report this again. */
#include "orchestrator/report/html_sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/report/html_out.h"

#define WORD_MAX 400 /* bytes of one word shown */

/* Text as one word of a shell: in quotes where it needs them. */
static void put_word(FILE *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:=,%+@-";

    if (*text && !text[strspn(text, plain)]) {
        html_out_short(out, text, WORD_MAX);
        return;
    }
    fputs("&#39;", out);
    for (size_t n; *text; text += n) {
        char part[WORD_MAX];

        if (*text == '\'') {
            fputs("&#39;\\&#39;&#39;", out);
            n = 1;
            continue;
        }
        n = strcspn(text, "'");
        if (n >= sizeof(part))
            n = sizeof(part) - 1;
        memcpy(part, text, n);
        part[n] = '\0';
        html_out_text(out, part);
    }
    fputs("&#39;", out);
}

/* What the user gave as srun's option; other sources still hold. */
static void put_option(FILE *out, const struct jp_jobconf *conf)
{
    fputs(" --nccl-profile=", out);
    put_word(out, conf->nccl_request);
    for (size_t i = 0; i < conf->n_settings; i++) {
        const struct jp_setting *s = &conf->settings[i];

        if (strcmp(s->source, "option") || !strcmp(s->key, "mode"))
            continue;
        fputc(',', out);
        put_word(out, s->key);
        fputc('=', out);
        put_word(out, s->value);
    }
}

bool html_command_present(const struct jp_report *report)
{
    const struct jp_jobconf *conf = report->conf;

    return conf && conf->nccl_request && conf->command && conf->step_id;
}

int html_command_put(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;

    fputs("<dl class=\"commands\"><dt>Run it again</dt><dd><code>srun", out);
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
    fprintf(out, "%" PRIu64 ".", conf->job_id);
    put_word(out, conf->step_id);
    fputs("</code></dd>\n<dt>Make this report anew</dt><dd><code>jobprof "
          "report ",
          out);
    fprintf(out, "%" PRIu64 ".", conf->job_id);
    put_word(out, conf->step_id);
    fputs("</code></dd></dl>\n<p class=\"note\">The program&#39;s arguments "
          "are not recorded: they stand for the dots.</p>\n",
          out);
    return 0;
}
