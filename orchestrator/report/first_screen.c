/* first_screen.c - what a reader sees before scrolling: the verdict in plain
 * words, its figures, its proof, and what to do next.
 *
 * first_screen_write is the order of the parts. Five tiles have a figure each;
 * the first two depend on the verdict and on the finding that made it
 * (worst_of). The command and the checks are also used by summary.txt and
 * summary.json. */
#include "orchestrator/report/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/copper/copper.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/proof.h"
#include "orchestrator/report/sections.h"

/* --- tiles: a figure each ------------------------------------------------- */

struct tile {
    const char *label;         /* HTML */
    char value[64], note[200]; /* plain text */
};

#define SAY(text, ...) snprintf((text), sizeof(text), __VA_ARGS__)

/* Returns the finding that made the verdict: the first one of its kind, as
 * findings are sorted worst first. NULL: the verdict has no finding. */
static const struct jp_finding *worst_of(const struct jp_report *report)
{
    const struct jp_insight *x = report->insight;

    for (size_t i = 0; x && i < x->findings.n; i++)
        if (finding_verdict(&x->findings.at[i]) == report->verdict->word)
            return &x->findings.at[i];
    return NULL;
}

/* Time lost, by verdict: how long a hang lasts, the share of the run (of
 * communication where the run's length is unknown), the tasks that a crash
 * ended, or that nothing was found. */
static void tile_lost(const struct jp_report *report,
                      const struct jp_finding *f, struct tile *t)
{
    const struct jp_insight *x = report->insight;
    char share[JP_PLAIN_FIGURE], gain[JP_PLAIN_FIGURE],
        least[JP_HYPOTHESIS_LEN];
    char more[100] = "";

    t->label = "Time lost";
    if (report->verdict->word == JP_VERDICT_HANG) {
        t->label = "Stuck for";
        if (report->result && report->result->hang.age_us)
            SAY(t->value, "%s", FIG_US((double) report->result->hang.age_us));
        else
            SAY(t->value, "not known");
        /* the value begins with 'n' only for "not known" */
        SAY(t->note, "%s",
            *t->value == 'n' ? "logs list completed operations only"
                             : "at least, by the recordings");
    } else if (f && isfinite(f->share)) {
        bool run = isfinite(f->of_run);

        SAY(t->value, "%s", plain_share(run ? f->of_run : f->share, share));
        /* the gain from a replay without the fault is better than the cost
         * alone */
        if (isfinite(f->gain) && f->gain > 0)
            SAY(more, "Without it the run takes %s less",
                plain_share(f->gain, gain));
        else if (isfinite(f->cost_us))
            SAY(more, "%s", plain_gpu_time(f->cost_us, gain));
        SAY(t->note, "%s%s%s%s%s", run ? "of the run, " : "",
            run ? plain_share(f->share, share) : "",
            run ? " of communication time" : "of communication time",
            *more ? ". " : "", more);
    } else if (report->verdict->word == JP_VERDICT_FAILED && x) {
        const uint32_t *ended = x->crash.ended;

        t->label = x->crash.task && x->crash.task->is_worker ? "Processes lost"
                                                             : "Tasks lost";
        SAY(t->value, "%s of %s",
            FIG_COUNT(ended[JP_CRASH_SELF] + ended[JP_CRASH_KILL]),
            FIG_COUNT(x->crash.tasks));
        SAY(t->note, "%s by %s, %s ended from outside",
            FIG_COUNT(ended[JP_CRASH_SELF]),
            ended[JP_CRASH_SELF] == 1 ? "itself" : "themselves",
            FIG_COUNT(ended[JP_CRASH_KILL]));
    } else if (report->verdict->word == JP_VERDICT_OK && x) {
        SAY(t->value, "none found");
        /* "none found" is worth as much as the smallest effect that would be
         * seen */
        hypothesis_least(&x->hypotheses, JP_HYPOTHESIS_LATE_RANK, least);
        if (*least)
            SAY(t->note, "a rank that costs %s would be seen", least);
    } else {
        SAY(t->value, "not known");
        SAY(t->note, "%s",
            report->verdict->word == JP_VERDICT_NODATA ? "nothing was recorded"
            : report->verdict->word == JP_VERDICT_INCOMPLETE
                ? "records are missing"
            : report->verdict->word == JP_VERDICT_UNJUDGED
                ? "late ranks were not judged"
                : "");
    }
}

/* In place of a confidence: how many questions could be answered. */
static void tile_judged(const struct jp_insight *x, struct tile *t)
{
    unsigned judged = 0;

    for (int i = 0; x && i < JP_N_HYPOTHESES; i++)
        judged += hypothesis_judged(&x->hypotheses, (enum jp_hypothesis_id) i);
    SAY(t->value, "%u of %d", judged, JP_N_HYPOTHESES);
    SAY(t->note, "questions were answered");
}

/* Confidence, from the width of the confidence interval relative to the share;
 * for a hang or a crash, from the kind of evidence. */
static void tile_sure(const struct jp_report *report,
                      const struct jp_finding *f, struct tile *t)
{
    const struct jp_insight *x = report->insight;
    int digits;

    t->label = "Confidence";
    if (f && isfinite(f->low) && f->share > 0) {
        /* relative to the share: 1 % is wide for a share of 2 % */
        double width = (f->high - f->low) / f->share;

        SAY(t->value, "%s",
            width < limits_get(JP_LIMIT_SURE_HIGH)     ? "high"
            : width < limits_get(JP_LIMIT_SURE_MEDIUM) ? "medium"
                                                       : "low");
        /* one decimal if the interval would otherwise be hidden by rounding */
        digits = f->share < 0.1 || f->high - f->low < 0.02;
        SAY(t->note, "%.*f to %.*f %%, from %s operations", digits,
            100 * f->low, digits, 100 * f->high, FIG_COUNT(f->evidence));
    } else if (f && f->kind == JP_FINDING_LONG_WAIT) {
        SAY(t->value, "high");
        SAY(t->note, "one wait, which all its ranks recorded");
    } else if (f && f->kind == JP_FINDING_STALL) {
        SAY(t->value, "high");
        SAY(t->note, "%s stall%s in %s operations", FIG_COUNT(f->times),
            plural(f->times), FIG_COUNT(f->of));
    } else if (report->verdict->word == JP_VERDICT_HANG) {
        bool seen = report->result && report->result->hang.operations;

        SAY(t->value, seen ? "high" : "medium");
        SAY(t->note, seen ? "operations in flight were recorded"
                          : "by the progress of each communicator");
    } else if (report->verdict->word == JP_VERDICT_FAILED && x) {
        SAY(t->value, x->crash.sure ? "high" : "medium");
        if (x->crash.sure)
            SAY(t->note, "no other task ended as early");
        else
            SAY(t->note, "%s more task%s ended about then",
                FIG_COUNT(x->crash.rivals), plural(x->crash.rivals));
    } else {
        tile_judged(x, t);
    }
}

/* How complete the data is: coverage, or the number of records if it is
 * unknown. */
static void tile_data(const struct jp_report *report, struct tile *t)
{
    const struct jp_result *r = report->result;
    uint32_t of = expected_ranks(report->conf, report->nodes, r);
    const char *what = report->verdict->coverage >= 0 ? "of the records"
                                                      : "records";
    char share[JP_PLAIN_FIGURE];

    t->label = "Data";
    if (!r || !r->quality.records) {
        SAY(t->value, "none");
        SAY(t->note, "no record");
        return;
    }
    if (report->verdict->coverage >= 0)
        SAY(t->value, "%s", plain_share(report->verdict->coverage, share));
    else
        SAY(t->value, "%s", FIG_COUNT(r->quality.records));
    if (of)
        SAY(t->note, "%s of %s of %s ranks", what,
            FIG_COUNT(r->quality.ranks_seen), FIG_COUNT(of));
    else
        SAY(t->note, "%s of %s ranks", what, FIG_COUNT(r->quality.ranks_seen));
}

/* The network's bandwidth relative to what is expected, averaged over time;
 * without an expectation, that of the heaviest operations in GB/s. */
static void tile_network(const struct jp_report *report, struct tile *t)
{
    const struct jp_insight *x = report->insight;
    double us = 0, sum = 0, most = 0, told = 0, gbs = NAN;
    enum jp_against against = JP_AGAINST_NOTHING;
    char share[JP_PLAIN_FIGURE];

    t->label = "Network";
    for (size_t i = 0; x && i < x->network.n; i++) {
        const struct jp_netcell *c = &x->network.at[i];
        double p50 = bwhist_quantile(&c->gbs, 0.5);

        if (!isfinite(p50))
            continue;
        if (c->time_us > most) {
            most = c->time_us;
            gbs = p50;
        }
        /* weighted by time, so rare sizes hardly count */
        if (x->expected && x->expected[i].gbs > 0) {
            us += c->time_us;
            sum += c->time_us * p50 / x->expected[i].gbs;
            if (c->time_us > told) { /* what counts most gives the name */
                told = c->time_us;
                against = x->expected[i].against;
            }
        }
    }
    if (us > 0) {
        SAY(t->value, "%s", plain_share(sum / us, share));
        SAY(t->note, "%s",
            against == JP_AGAINST_PEAKS      ? "of its peak"
            : against == JP_AGAINST_BASELINE ? "of what earlier steps had"
                                             : "of its own best; no peak is "
                                               "known");
    } else if (isfinite(gbs)) {
        SAY(t->value, "%s GB/s", FIG_GBS(gbs));
        SAY(t->note, "of most operations; its peak is not known");
    } else {
        SAY(t->value, "not known");
        SAY(t->note, "no bandwidth was measured");
    }
}

/* What limits the job, by the samples of utilisation. */
static void tile_busiest(const struct jp_report *report, struct tile *t)
{
    const struct jp_bottlenecks *b = report->bottlenecks;

    t->label = "Bound by";
    if (b && b->n) {
        SAY(t->value, "%s", bottleneck_titles[b->at[0].kind]);
        SAY(t->note, "%.120s", b->at[0].text);
    } else if (report->util) {
        SAY(t->value, "nothing");
        SAY(t->note, "no resource is near its limit");
    } else {
        SAY(t->value, "not sampled");
        SAY(t->note, "--util-profile samples CPU, GPU and network");
    }
}

/* Returns true if the report has only Copper's profiles. */
static bool is_copper_alone(const struct jp_report *report)
{
    return report->copper && !quality_has_nccl(report);
}

/* The first four tiles of a report that has only Copper's profiles. */
static void tiles_copper(const struct jp_copper *c, struct tile tiles[4])
{
    const struct jp_copper_finding *slow = NULL;
    double ops = (double) c->total[COPPER_OPERATIONS];
    char text[JP_PLAIN_FIGURE];

    /* the first finding about a slow daemon */
    for (size_t i = 0; !slow && i < c->n_findings; i++)
        if (!strcmp(c->findings[i].kind, "copper_slow_rank"))
            slow = &c->findings[i];
    tiles[0].label = "Time lost";
    tiles[1].label = "Confidence";
    tiles[2].label = "Data";
    tiles[3].label = "Cache hits";
    if (slow && isfinite(slow->cost_us)) {
        SAY(tiles[0].value, "%s", plain_time(slow->cost_us, text));
        SAY(tiles[0].note, "more than daemons of its level take");
    } else {
        SAY(tiles[0].value, slow ? "not known" : "none found");
    }
    /* from: the median of the daemons of its level; to: its own */
    if (slow && slow->from > 0) {
        tiles[1].label = "Slowest daemon";
        SAY(tiles[1].value, "%.1f x", slow->to / slow->from);
        SAY(tiles[1].note, "the median of its level of the tree");
    } else {
        SAY(tiles[1].value, "%s of %s",
            FIG_COUNT(c->n_counted > c->unjudged ? c->n_counted - c->unjudged
                                                 : 0),
            FIG_COUNT(c->n_ranks));
        SAY(tiles[1].note, "ranks could be compared");
    }
    SAY(tiles[2].value, "%s of %s", FIG_COUNT(c->n_counted),
        FIG_COUNT(c->n_ranks));
    SAY(tiles[2].note, "ranks left a whole profile");
    SAY(tiles[3].value, "%s",
        plain_share(ops > 0 ? (double) c->total[COPPER_HITS] / ops : NAN,
                    text));
    SAY(tiles[3].note, "of %s operations",
        FIG_COUNT(c->total[COPPER_OPERATIONS]));
}

/* Writes the tiles. The labels are HTML, the other texts are cleaned. */
static void put_tiles(const struct jp_report *report, FILE *out)
{
    const struct jp_finding *f = worst_of(report);
    struct tile tiles[5] = {{0}};

    if (is_copper_alone(report)) {
        tiles_copper(report->copper, tiles);
    } else {
        tile_lost(report, f, &tiles[0]);
        tile_sure(report, f, &tiles[1]);
        tile_data(report, &tiles[2]);
        tile_network(report, &tiles[3]);
    }
    tile_busiest(report, &tiles[4]);
    fputs("<dl class=\"tiles\">\n", out);
    /* always five, so the layout does not depend on the data */
    for (size_t i = 0; i < sizeof(tiles) / sizeof(*tiles); i++) {
        fprintf(out, "<div><dt>%s</dt><dd><strong>", tiles[i].label);
        html_out_text(out, tiles[i].value);
        fputs("</strong><span>", out);
        html_out_text(out, tiles[i].note);
        fputs("</span></dd></div>\n", out);
    }
    fputs("</dl>\n", out);
}

/* --- causes, what to do --------------------------------------------------- */

/* Writes text in which the name of an option is not broken at its hyphens. */
static void put_words(FILE *out, const char *text)
{
    char word[80];

    while (*text) {
        /* an option ends at a blank, other text at a hyphen */
        size_t n = strncmp(text, "--", 2) ? strcspn(text, "-")
                                          : strcspn(text, " ");

        if (strncmp(text, "--", 2) && !n)
            n = 1; /* a hyphen within a word */
        /* longer pieces are written in parts */
        n = n < sizeof(word) ? n : sizeof(word) - 1;
        snprintf(word, n + 1, "%s", text);
        fputs(strncmp(text, "--", 2) ? "" : "<span class=\"whole\">", out);
        html_out_text(out, word);
        fputs(strncmp(text, "--", 2) ? "" : "</span>", out);
        text += n;
    }
}

/* Writes text with a capital and a full stop; nothing for "". */
static void put_sentence(FILE *out, const char *text)
{
    if (!*text)
        return;
    fputc(toupper((unsigned char) *text), out);
    put_words(out, text + 1);
    if (!strchr(".!?", text[strlen(text) - 1]))
        fputc('.', out);
}

/* Writes what was sampled at the time of the finding. A hang, a crash and
 * uneven records have other evidence, so they have no such part. */
static void put_why(const struct jp_report *report, const struct jp_finding *f,
                    FILE *out)
{
    const struct jp_cause_look *look =
        f ? causes_look(report->causes,
                        (size_t) (f - report->insight->findings.at))
          : NULL;

    if (!f || f->kind == JP_FINDING_HANG || f->kind == JP_FINDING_CRASH ||
        f->kind == JP_FINDING_UNEVEN)
        return;
    fputs("<h2>Why</h2><p>", out);
    if (look && *look->why)
        put_sentence(out, look->why);
    else if (report->util)
        fputs("The samples of utilisation show nothing unusual there.", out);
    else
        put_words(out, "Utilisation was not sampled. --util-profile would show "
                       "what happens at the same time.");
    if (look && look->n)
        fputs(" <a href=\"#causes\">All causes</a>", out);
    fputs("</p>\n", out);
}

/* Returns true if the data was not analysed yet. */
static bool is_unread(const struct jp_report *report)
{
    return report->verdict->word == JP_VERDICT_NODATA &&
           !strncmp(report->verdict->text, "not yet analysed", 16);
}

const char *const *first_screen_checks(const struct jp_report *report)
{
    const struct jp_finding *f = worst_of(report);

    if (is_unread(report) || (f && f->kind == JP_FINDING_UNEVEN))
        return NULL; /* the finding has advice */
    return plain_checks(report->verdict,
                        is_copper_alone(report) &&
                            report->verdict->word != JP_VERDICT_OK);
}

/* Writes what to check, or the advice of the finding. */
static void put_checks(const struct jp_report *report,
                       const struct jp_finding *f, FILE *out)
{
    const char *const *checks = first_screen_checks(report);

    if (checks) {
        fputs("<h2>Check</h2><ol>", out);
        for (int i = 0; i < JP_PLAIN_CHECKS && checks[i]; i++) {
            fputs("<li>", out);
            put_words(out, checks[i]);
            fputs("</li>", out);
        }
        fputs("</ol>\n", out);
    } else if (f && *f->next) {
        fputs("<h2>Look at</h2><p>", out);
        put_sentence(out,
                     strncmp(f->next, "check ", 6) ? f->next : f->next + 6);
        fputs("</p>\n", out);
    }
}

char *first_screen_command(const struct jp_report *report,
                           char buf[FIRST_SCREEN_COMMAND])
{
    const struct jp_finding *f = worst_of(report);
    const struct jp_jobconf *conf = report->conf;
    struct jp_plain_command c = plain_command(
        report->verdict, f ? (int) f->kind : -1, f && f->world_rank >= 0);
    bool known = conf && conf->step_id;
    char name[JP_JOBCONF_NAME_LEN];
    size_t n = 0;

    /* nothing can be shown before the analysis */
    if (is_unread(report))
        c = (struct jp_plain_command){"jobprof report", false, true};
    if (is_copper_alone(report)) { /* other commands do not handle this case */
        snprintf(buf, FIRST_SCREEN_COMMAND,
                 "column -s, -t csv/copper_ranks.csv");
        return buf;
    }
    if (report->verdict->word == JP_VERDICT_HANG &&
        !(report->result && report->result->hang.operations))
        c.text = "jobprof show"; /* logs contain only operations that ended */
    n += (size_t) snprintf(buf, FIRST_SCREEN_COMMAND, "%.40s", c.text);
    if (c.rank)
        n += (size_t) snprintf(buf + n, FIRST_SCREEN_COMMAND - n, " %" PRId64,
                               f->world_rank);
    /* "." works in the report's folder */
    if (c.job && known)
        snprintf(buf + n, FIRST_SCREEN_COMMAND - n, " %s",
                 jobconf_step_name(conf, name));
    else if (c.job)
        snprintf(buf + n, FIRST_SCREEN_COMMAND - n, " .");
    return buf;
}

/* Writes the command to type next. */
static void put_command(const struct jp_report *report, FILE *out)
{
    char text[FIRST_SCREEN_COMMAND];

    fputs("<p class=\"command\"><strong>Next</strong><code>", out);
    html_out_text(out, first_screen_command(report, text));
    fputs("</code>", out);
    /* the command refers to files of this folder */
    if (!strcmp(text + strlen(text) - 2, " .") || is_copper_alone(report))
        fputs("<span class=\"note\">in this report&#39;s folder</span>", out);
    fputs("</p>\n", out);
}

/* Writes the link to the timeline, where the proof can be inspected; hidden
 * without JavaScript. */
static void put_timeline(const struct jp_report *report, FILE *out)
{
    if (timeline_html_proves(report))
        fputs("<p class=\"charts\"><a href=\"#timeline\">See it in the "
              "timeline of all ranks</a></p>\n",
              out);
}

/* Writes the full sentence of summary.json, with every figure; folded. */
static void put_full(const struct jp_report *report, FILE *out)
{
    char judged[JP_HYPOTHESES_LINE];

    fputs("<details class=\"full\"><summary>In full</summary><p>", out);
    put_sentence(out, report->verdict->text);
    fputs("</p>", out);
    if (quality_judged(report, judged)) {
        fputs("<p><a href=\"#hypotheses\">Judged</a>: ", out);
        html_out_text(out, judged);
        fputs("</p>", out);
    }
    fputs("</details>\n", out);
}

/* --- the whole ------------------------------------------------------------ */

/* Writes the step and the job's name. A folder of logs has neither. */
static void put_heading(const struct jp_report *report, FILE *out)
{
    char name[JP_JOBCONF_NAME_LEN];

    fputs("<h1>jobprof", out);
    if (report->conf) {
        fputs(" &middot; step ", out);
        html_out_text(out, jobconf_step_name(report->conf, name));
        fputs(" &middot; ", out);
        html_out_text(out, report->conf->job_name);
    }
    fputs("</h1>\n", out);
}

int first_screen_write(const struct jp_report *report, FILE *out)
{
    const char *word = verdict_word_name(report->verdict->word);
    const struct jp_finding *f = worst_of(report);
    char text[JP_PLAIN_TEXT];

    put_heading(report, out);
    /* the class gives the colour of the verdict */
    fprintf(out,
            "<div id=\"answer\" class=\"%s\">\n<div class=\"verdict\"><strong>"
            "%s</strong><p>",
            word, word);
    html_out_text(out, plain_verdict(report->verdict, report->result,
                                     report->insight, text));
    fputs("</p></div>\n", out);
    put_tiles(report, out);
    put_command(report, out);
    /* the proof stands beside causes and checks on a wide screen */
    fputs("<div class=\"why\">\n", out);
    if (proof_write(report, out) < 0)
        return -1;
    fputs("<div class=\"todo\">\n", out);
    put_why(report, f, out);
    put_timeline(report, out);
    put_checks(report, f, out);
    put_full(report, out);
    fputs("</div>\n</div>\n</div>\n", out);
    return 0;
}
