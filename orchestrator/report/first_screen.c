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
#include "common/plan.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/proof.h"
#include "orchestrator/report/sections.h"

/* --- tiles: a figure each ------------------------------------------------- */

/* In a row, at most. */
enum { TILES = 5 };
/* of FIG_UTC, before the time of day */
enum { DATE_LEN = 11 };

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

/* When the last task ended, us since 1970; 0: unknown. */
static uint64_t end_of(const struct jp_nodes *nodes)
{
    int64_t last = 0;

    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++)
            if (nodes->nodes[i].tasks[k].end_us > last)
                last = nodes->nodes[i].tasks[k].end_us;
    return (uint64_t) last;
}

/* When the records of a communicator end, us since 1970; 0: unknown. */
static uint64_t last_record(const struct jp_result *r, int64_t comm)
{
    struct ops_reader reader = {.ops = r ? r->ops : NULL};
    uint64_t last = 0;

    if (!r || !r->ops || comm < 0)
        return 0;
    ops_want(&reader, OPS_DUMP);
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);

        if (op->comm == (uint64_t) comm && op->dump_max_us > last)
            last = op->dump_max_us;
    }
    return last;
}

/* How long a hang lasts. Logs list completed operations only: then it is known
 * when the communicator that stopped wrote its last record, and with the tasks'
 * ends for how long nothing followed. */
static void tile_stuck(const struct jp_report *report,
                       const struct jp_finding *f, struct first_screen_tile *t)
{
    const struct jp_hang *hang = report->result ? &report->result->hang : NULL;
    uint64_t end = end_of(report->nodes), last;

    t->label = "Stuck for";
    if (hang && hang->age_us) {
        SAY(t->value, "%s", FIG_US((double) hang->age_us));
        SAY(t->note, "at least, by the %s",
            hang->dumps ? "dumps" : "recordings");
        return;
    }
    if (hang && hang->since_us > 0) {
        t->label = "Stuck since";
        SAY(t->value, "%s", FIG_UTC((uint64_t) hang->since_us) + DATE_LEN);
        SAY(t->note, "%s",
            hang->dumps ? "dumps do not say when they were written"
                        : "for how long is not recorded");
        return;
    }
    last = f ? last_record(report->result, f->comm) : 0;
    if (last && end > last) {
        SAY(t->value, "%s", FIG_US((double) (end - last)));
        SAY(t->note, "at least, from its last record (%s) to its tasks' end",
            FIG_UTC(last) + DATE_LEN);
    } else if (last) {
        t->label = "Last record";
        SAY(t->value, "%s", FIG_UTC(last) + DATE_LEN);
        SAY(t->note, "of those that stopped. For how long is not recorded");
    } else {
        SAY(t->value, "not known");
        SAY(t->note, "%s",
            hang && hang->dumps ? "dumps do not say when they were written"
                                : "logs list completed operations only");
    }
}

/* Time lost, by verdict: how long a hang lasts, the share of the run (of
 * communication where the run's length is unknown), the tasks that a crash
 * ended, or that nothing was found. */
static void tile_lost(const struct jp_report *report,
                      const struct jp_finding *f, struct first_screen_tile *t)
{
    const struct jp_insight *x = report->insight;
    char share[JP_PLAIN_FIGURE], gain[JP_PLAIN_FIGURE],
        least[JP_HYPOTHESIS_LEN];
    char more[100] = "";

    t->label = "Time lost";
    if (report->verdict->word == JP_VERDICT_HANG) {
        tile_stuck(report, f, t);
    } else if (f && isfinite(f->share)) {
        bool run = isfinite(f->of_run);

        SAY(t->value, "%s", plain_share(run ? f->of_run : f->share, share));
        /* the gain from a replay without the fault is better than the cost
         * alone */
        if (f->gain_all > 0)
            SAY(more, "Without all causes the run takes %s less",
                plain_share(f->gain_all, gain));
        else if (isfinite(f->gain) && f->gain > 0)
            SAY(more, "Without it the run takes %s less",
                plain_share(f->gain, gain));
        else if (isfinite(f->cost_us))
            SAY(more, "%s", plain_gpu_time(f->cost_us, gain));
        SAY(t->note, "%s%s%s%s%s%s%s", run ? "of " : "",
            run ? finding_run(f) : "", run ? ", " : "",
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
static void tile_judged(const struct jp_insight *x, struct first_screen_tile *t)
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
                      const struct jp_finding *f, struct first_screen_tile *t)
{
    const struct jp_insight *x = report->insight;
    int digits;

    t->label = "Confidence";
    if (f && isfinite(f->low) && f->share > 0) {
        /* relative to the share: 1 % is wide for a share of 2 % */
        double width = (f->high - f->low) / f->share;

        SAY(t->value, "%s",
            width < report_limits[REPORT_LIMIT_SURE_HIGH].value     ? "high"
            : width < report_limits[REPORT_LIMIT_SURE_MEDIUM].value ? "medium"
                                                                    : "low");
        /* one decimal if the interval would otherwise be hidden by rounding */
        digits = f->share < 0.1 || f->high - f->low < 0.02;
        SAY(t->note, "%.*f to %.*f %% of communication time, by %s operations",
            digits, 100 * f->low, digits, 100 * f->high,
            FIG_COUNT(f->evidence));
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
        SAY(t->note, "%s",
            !seen ? "by the progress of each communicator"
            : report->result->hang.dumps
                ? "by dumps of PyTorch's Flight Recorder"
                : "operations in flight were recorded");
    } else if (report->verdict->word == JP_VERDICT_FAILED && x) {
        SAY(t->value, x->crash.sure || x->crash.alike ? "high" : "medium");
        if (x->crash.alike)
            SAY(t->note, "all tasks ended in the same way");
        else if (x->crash.sure)
            SAY(t->note, "no other task failed as early");
        else if (x->crash.rivals)
            SAY(t->note, "%s more task%s failed about then",
                FIG_COUNT(x->crash.rivals), plural(x->crash.rivals));
        else
            SAY(t->note, "which process ended first is not known");
    } else {
        tile_judged(x, t);
    }
}

/* How complete the data is: coverage, or the number of records if it is
 * unknown. */
static void tile_data(const struct jp_report *report,
                      struct first_screen_tile *t)
{
    const struct jp_result *r = report->result;
    uint32_t of = expected_ranks(report->conf, report->nodes, r);
    const char *what = report->verdict->coverage >= 0 ? "of the records"
                                                      : "records";
    const struct feature *in_place = quality_in_place(report);
    char share[JP_PLAIN_FIGURE], figure[DRAWER_FIGURE];

    t->label = "Data";
    if (in_place && in_place->sections && in_place->sections->figure &&
        in_place->sections->figure(report, figure)) {
        SAY(t->value, "%.40s", figure);
        SAY(t->note, "of %s; no records of NCCL", in_place->title);
        return;
    }
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

/* The network's bandwidth relative to what is expected. False: none was
 * measured. */
static bool tile_network(const struct jp_report *report,
                         struct first_screen_tile *t)
{
    t->label = "Network";
    return drawer_network_tile(report, t->value, t->note);
}

/* How many nodes ran the job: those that records are of where nobody says. */
static uint32_t nodes_of(const struct jp_report *report)
{
    uint32_t nodes = expected_nodes(report->conf, report->nodes);

    if (!nodes && !report->conf && report->processes)
        nodes = (uint32_t) report->processes->n_hosts;
    return nodes;
}

/* The bandwidth of the operations of most time, with their size. */
static bool tile_bandwidth(const struct jp_report *report,
                           struct first_screen_tile *t)
{
    const struct jp_cell *most = drawer_heaviest(report->result);

    if (!most || !most->busbw.n)
        return false;
    t->label = "Bandwidth";
    SAY(t->value, "%s GB/s", FIG_GBS(most->busbw.p50));
    SAY(t->note, "the median %.40s of %s", most->coll, FIG_BYTES(most->bytes));
    return true;
}

/* On how many nodes how many ranks ran. */
static bool tile_nodes(const struct jp_report *report,
                       struct first_screen_tile *t)
{
    uint32_t nodes = nodes_of(report);
    uint32_t ranks =
        expected_ranks(report->conf, report->nodes, report->result);

    if (!nodes || !ranks)
        return false;
    t->label = "Nodes";
    SAY(t->value, "%s", FIG_COUNT(nodes));
    SAY(t->note, "with %s rank%s", FIG_COUNT(ranks), plural(ranks));
    return true;
}

/* Whether there are samples of what happened while the step ran. */
static bool is_sampled(const struct jp_report *report)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->samples &&
            report_has(report, feature_registry[i]))
            return true;
    return false;
}

/* What limits the job, by samples. */
static void tile_bound(const struct jp_report *report,
                       struct first_screen_tile *t)
{
    t->label = "Bound by";
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->tile_bound &&
            report_has(report, feature_registry[i]) &&
            feature_registry[i]->tile_bound(report, t))
            return;
    if (is_sampled(report)) {
        SAY(t->value, "nothing");
        SAY(t->note, "no resource is near its limit");
    } else {
        SAY(t->value, "not sampled");
        SAY(t->note, "%s", feature_sampler() ? feature_sampler()->offer : "");
    }
}

/* Returns the feature that the report has only data of; NULL: there is data of
 * NCCL, or of none. */
static const struct feature *alone_of(const struct jp_report *report)
{
    return quality_has_nccl(report) ? NULL : feature_first(report->features);
}

/* The nodes that left a record of their own, of those of the step. */
static bool tile_left(const struct jp_report *report,
                      struct first_screen_tile *t)
{
    uint32_t of = expected_nodes(report->conf, report->nodes);

    if (!report->conf || !report->nodes || !of)
        return false;
    t->label = "Nodes";
    SAY(t->value, "%s of %s", FIG_COUNT(report->nodes->n_nodes), FIG_COUNT(of));
    SAY(t->note, "left a record of their tasks");
    return true;
}

/* How long the tasks ran, and how they ended. */
static void tile_ran(const struct jp_report *report,
                     struct first_screen_tile *t)
{
    const struct jp_jobconf *c = report->conf;
    uint64_t end = end_of(report->nodes);
    uint32_t tasks = expected_tasks(c, report->nodes);
    const struct jp_crash *crash = report->insight ? &report->insight->crash
                                                   : NULL;
    uint32_t failed =
        report->nodes ? crash_count(report->nodes, crash, JP_CRASH_SELF) : 0;
    uint32_t killed =
        report->nodes ? crash_count(report->nodes, crash, JP_CRASH_KILL) : 0;

    if (c && end > c->created_us && c->created_us) {
        t->label = "Ran";
        SAY(t->value, "%s", FIG_US((double) (end - c->created_us)));
    } else if (tasks && !failed && !killed) {
        t->label = "Tasks";
        SAY(t->value, "%s", FIG_COUNT(tasks));
        SAY(t->note, "how long they ran is not known");
        return;
    } else {
        t->label = "Ran";
        SAY(t->value, "not known");
    }
    if (failed)
        SAY(t->note, "%s of %s tasks failed", FIG_COUNT(failed),
            FIG_COUNT(tasks));
    else if (killed)
        SAY(t->note, "%s of %s tasks were ended from outside",
            FIG_COUNT(killed), FIG_COUNT(tasks));
    else if (tasks)
        SAY(t->note, "%s task%s on %s node%s", FIG_COUNT(tasks), plural(tasks),
            FIG_COUNT(expected_nodes(c, report->nodes)),
            plural(expected_nodes(c, report->nodes)));
}

/* How long a step of the program's loop takes. */
static bool tile_pace(const struct jp_report *report,
                      struct first_screen_tile *t)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->tile_pace &&
            report_has(report, feature_registry[i]) &&
            feature_registry[i]->tile_pace(report, t))
            return true;
    return false;
}

/* The share of time in which processes communicate. */
static bool tile_communicating(const struct jp_report *report,
                               struct first_screen_tile *t)
{
    char figure[DRAWER_FIGURE];

    if (!drawer_busy(report, figure))
        return false;
    t->label = "Communicating";
    /* "median 71 %" */
    SAY(t->value, "%.60s", figure + strcspn(figure, " ") + 1);
    SAY(t->note, "of the time, the median process");
    return true;
}

/* What is known of a step in which nothing wrong was found. */
static size_t tiles_fine(const struct jp_report *report,
                         struct first_screen_tile *tiles)
{
    size_t n = 0;

    tile_lost(report, NULL, &tiles[n++]);
    n += tile_pace(report, &tiles[n]);
    n += tile_communicating(report, &tiles[n]);
    n += tile_network(report, &tiles[n]);
    tile_data(report, &tiles[n++]);
    if (n < TILES && is_sampled(report))
        tile_bound(report, &tiles[n++]);
    if (n < TILES)
        n += tile_bandwidth(report, &tiles[n]);
    if (n < TILES)
        n += tile_nodes(report, &tiles[n]);
    return n;
}

/* Whether some data besides NCCL's has figures for the first screen. */
static bool has_further_tiles(const struct jp_report *report)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->further_tiles &&
            report_has(report, feature_registry[i]))
            return true;
    return false;
}

/* What is known of a step without records of NCCL. A folder of files does not
 * show how long the step ran. */
static size_t tiles_without_nccl(const struct jp_report *report,
                                 struct first_screen_tile *tiles)
{
    size_t n = 0;

    if (report->conf || !has_further_tiles(report))
        tile_ran(report, &tiles[n++]);
    if (!has_further_tiles(report))
        n += tile_left(report, &tiles[n]);
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->further_tiles &&
            report_has(report, feature_registry[i]))
            n += feature_registry[i]->further_tiles(report, &tiles[n],
                                                    TILES - n);
    return n;
}

/* Fills the tiles of the report: what its verdict is about. */
static size_t make_tiles(const struct jp_report *report,
                         struct first_screen_tile *tiles)
{
    const struct jp_finding *f = worst_of(report);
    const struct feature *alone = alone_of(report);
    enum jp_verdict_word word = report->verdict->word;
    bool read = report->result && report->result->quality.files;
    size_t n = 2;

    if (alone && alone->tiles) {
        alone->tiles(report, tiles);
        if (!is_sampled(report))
            return TILES - 1;
        tile_bound(report, &tiles[TILES - 1]);
        return TILES;
    }
    if (word == JP_VERDICT_OK)
        return tiles_fine(report, tiles);
    /* unless the step itself failed, there is nothing else to tell */
    if (word == JP_VERDICT_NODATA ||
        (word == JP_VERDICT_UNJUDGED &&
         (!quality_has_nccl(report) || (!read && has_further_tiles(report)))))
        return tiles_without_nccl(report, tiles);
    tile_lost(report, f, &tiles[0]);
    tile_sure(report, f, &tiles[1]);
    /* the dumps of a hang have no records */
    if (read || word != JP_VERDICT_HANG) {
        tile_data(report, &tiles[n++]);
        n += tile_network(report, &tiles[n]);
    }
    tile_bound(report, &tiles[n++]);
    return n;
}

/* Writes the tiles. The labels are HTML, the other texts are cleaned. */
static void put_tiles(const struct jp_report *report, FILE *out)
{
    struct first_screen_tile tiles[TILES] = {{0}};
    size_t n = make_tiles(report, tiles);

    fputs("<dl class=\"tiles\">\n", out);
    for (size_t i = 0; i < n; i++) {
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
    struct feature_coincidence with = {.why = ""};

    if (!f || f->kind == JP_FINDING_HANG || f->kind == JP_FINDING_CRASH ||
        f->kind == JP_FINDING_UNEVEN)
        return;
    feature_coincides(report->features,
                      (size_t) (f - report->insight->findings.at), &with);
    if (!*with.why && !feature_sampler())
        return;
    fputs("<h2>Why</h2><p>", out);
    if (*with.why)
        put_sentence(out, with.why);
    else
        put_words(out, is_sampled(report) ? feature_sampler()->usual
                                          : feature_sampler()->unsampled);
    if (with.n)
        fputs(" <a href=\"#causes\">All causes</a>", out);
    fputs("</p>\n", out);
}

/* Returns true if the data was not analysed yet. */
static bool is_unread(const struct jp_report *report)
{
    return report->verdict->word == JP_VERDICT_NODATA &&
           !strncmp(report->verdict->text, "not yet analysed", 16);
}

/* What the commands and checks depend on. */
static struct jp_plain_has what_it_has(const struct jp_report *report)
{
    const struct jp_quality *q = report->result ? &report->result->quality
                                                : NULL;
    const struct jp_finding *f = worst_of(report);
    const char *network_command = NULL;
    bool evidence = false;

    for (size_t i = 0; feature_registry[i]; i++) {
        const struct feature *feature = feature_registry[i];

        evidence |= feature->read_hang &&
                    feature_data(report->features, feature);
        if (!network_command && feature->network_command &&
            report_has(report, feature))
            network_command = feature->network_command(report);
    }
    return (struct jp_plain_has){
        .rank = f && f->world_rank >= 0,
        .records = q && q->records,
        .recordings = q && q->recordings &&
                      (q->in_flight || (q->cut_recordings && q->records)),
        .network_command = network_command,
        .evidence = evidence};
}

const char *const *first_screen_checks(const struct jp_report *report)
{
    const struct jp_finding *f = worst_of(report);
    const struct feature *alone = alone_of(report);
    struct jp_plain_has has;

    if (is_unread(report) || (f && f->kind == JP_FINDING_UNEVEN) ||
        (f && f->kind == JP_FINDING_CRASH && report->insight &&
         report->insight->crash.alike))
        return NULL; /* the finding has advice */
    if (alone && alone->checks && report->verdict->word != JP_VERDICT_OK)
        return alone->checks;
    has = what_it_has(report);
    return plain_checks(report->verdict, &has);
}

/* Writes what to check, or the advice of the finding. */
static void put_checks(const struct jp_report *report,
                       const struct jp_finding *f, FILE *out)
{
    const char *const *checks = first_screen_checks(report);
    /* a step without records of NCCL was not to be judged */
    const char *todo = report->verdict->word == JP_VERDICT_UNJUDGED &&
                               report->insight && report->result &&
                               report->result->n_ops
                           ? hypothesis_todo(&report->insight->hypotheses,
                                             JP_HYPOTHESIS_LATE_RANK)
                           : "";

    if (checks) {
        fputs("<h2>Check</h2><ol>", out);
        for (int i = 0; i < JP_PLAIN_CHECKS && checks[i]; i++) {
            fputs("<li>", out);
            put_words(out, checks[i]);
            fputs("</li>", out);
        }
        fputs("</ol>\n", out);
    } else if (*todo) {
        fputs("<h2>To have them judged</h2><p>", out);
        put_sentence(out, todo);
        fputs("</p>\n", out);
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
    const struct jp_plain_has has = what_it_has(report);
    struct jp_plain_command c =
        plain_command(report->verdict, f ? (int) f->kind : -1, &has);
    bool known = conf && conf->step_id;
    char name[JP_JOBCONF_NAME_LEN];
    size_t n = 0;

    /* nothing can be shown before the analysis */
    if (is_unread(report))
        c = (struct jp_plain_command){"jobprof report", false, true};
    if (report->verdict->word == JP_VERDICT_HANG &&
        !(report->result && report->result->hang.operations))
        c.text = "jobprof show"; /* nothing is in flight */
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

/* Writes a word as a shell reads it. Returns false if it does not fit. */
static bool put_shell_word(const char *word, char *buf, size_t size)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789"
                                "_./%,=:+@-";
    size_t n = 0;

    if (!word[strspn(word, plain)])
        return snprintf(buf, size, "%s", word) < (int) size;
    if (size < 3)
        return false;
    buf[n++] = '\'';
    for (const char *c = word; *c; c++) {
        /* a quote ends the text, is escaped, and the text begins again */
        const char *part = *c == '\'' ? "'\\''" : (const char[]){*c, '\0'};

        if (n + strlen(part) + 2 > size)
            return false;
        n += (size_t) snprintf(buf + n, size - n, "%s", part);
    }
    buf[n++] = '\'';
    buf[n] = '\0';
    return true;
}

char *first_screen_typed(const char *command, const char *step,
                         const char *folder, char buf[FIRST_SCREEN_TYPED])
{
    const char *last = strrchr(command, ' ');
    size_t n = last ? (size_t) (last - command) + 1 : 0;

    if (last && (!strcmp(last + 1, ".") || !strcmp(last + 1, step)) &&
        n < FIRST_SCREEN_COMMAND) {
        memcpy(buf, command, n);
        if (put_shell_word(folder, buf + n, FIRST_SCREEN_TYPED - n))
            return buf;
    }
    snprintf(buf, FIRST_SCREEN_TYPED, "%s", command);
    return buf;
}

bool first_screen_by_id(const struct jp_jobconf *conf)
{
    /* the option of srun is not among them */
    for (size_t i = 0; i < conf->n_settings; i++)
        if (!strcmp(conf->settings[i].key, "dir"))
            return strcmp(conf->settings[i].source,
                          plan_source_words[PLAN_OPTION]) != 0;
    return true;
}

char *first_screen_type(const struct jp_report *report,
                        char buf[FIRST_SCREEN_TYPED])
{
    const struct jp_jobconf *conf = report->conf;
    char command[FIRST_SCREEN_COMMAND], step[JP_JOBCONF_NAME_LEN];

    first_screen_command(report, command);
    if (!conf || !conf->step_id || first_screen_by_id(conf)) {
        snprintf(buf, FIRST_SCREEN_TYPED, "%s", command);
        return buf;
    }
    /* no path: a report that is passed on has none of its owner's */
    return first_screen_typed(command, jobconf_step_name(conf, step), ".", buf);
}

/* Writes the command to type next, and the folder in which it works. */
static void put_command(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;
    char text[FIRST_SCREEN_TYPED];
    const char *last;

    fputs("<p class=\"command\"><strong>Next</strong><code>", out);
    html_out_text(out, first_screen_type(report, text));
    fputs("</code>", out);
    last = strrchr(text, ' ');
    /* the command refers to files of this folder, or to a job's id */
    if (last && !strcmp(last, " ."))
        fputs("<span class=\"note\">in this report&#39;s folder</span>", out);
    else if (last && isdigit((unsigned char) last[1]) && conf &&
             *conf->submit_dir) {
        fputs("<span class=\"note\">in ", out);
        html_out_text(out, conf->submit_dir);
        fputs("</span>", out);
    }
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

/* Writes a fact of the heading after a dot. */
static void put_fact(FILE *out, bool *first, const char *text)
{
    fputs(*first ? "" : " &middot; ", out);
    html_out_text(out, text);
    *first = false;
}

/* Writes who ran what, when, for how long and on what: what a reader who was
 * sent the page asks first. Logs without a job have the time of their first
 * record. Facts that are not known are left out. */
static void put_facts(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *c = report->conf;
    const struct jp_insight *x = report->insight;
    const struct jp_ops *ops = report->result ? report->result->ops : NULL;
    uint32_t nodes = nodes_of(report);
    uint32_t ranks = expected_ranks(c, report->nodes, report->result);
    uint64_t end = end_of(report->nodes);
    bool first = true;
    char text[160];

    fputs("<p class=\"facts\">", out);
    if (c && *c->user)
        put_fact(out, &first, c->user);
    if (c && c->created_us)
        put_fact(out, &first, FIG_UTC(c->created_us));
    else if (ops && ops->dump_first)
        put_fact(out, &first, FIG_UTC(ops->dump_first));
    if (c && c->created_us && end > c->created_us) {
        snprintf(text, sizeof(text), "ran %s",
                 FIG_US((double) (end - c->created_us)));
        put_fact(out, &first, text);
    } else if (x && x->run_us > 0) {
        snprintf(text, sizeof(text), "records of %s", FIG_US(x->run_us));
        put_fact(out, &first, text);
    }
    if (nodes) {
        snprintf(text, sizeof(text), "%s node%s", FIG_COUNT(nodes),
                 plural(nodes));
        put_fact(out, &first, text);
    }
    if (ranks) {
        snprintf(text, sizeof(text), "%s rank%s", FIG_COUNT(ranks),
                 plural(ranks));
        put_fact(out, &first, text);
    }
    fputs("</p>\n", out);
}

/* Writes the job's name, the step, and its facts. A folder of logs has no
 * name. */
static void put_heading(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *c = report->conf;
    char name[JP_JOBCONF_NAME_LEN];

    fputs("<div class=\"heading\"><h1>", out);
    if (c && *c->job_name)
        html_out_text(out, c->job_name);
    else
        fputs("jobprof", out);
    if (c) {
        fputs(" <span>step ", out);
        html_out_text(out, jobconf_step_name(c, name));
        fputs("</span>", out);
    }
    fputs("</h1>\n", out);
    put_facts(report, out);
    fputs("</div>\n", out);
}

int first_screen_write(const struct jp_report *report, FILE *out)
{
    const char *word = verdict_word_name(report->verdict->word);
    const struct jp_finding *f = worst_of(report);
    /* nobody asked for a verdict on a step that was only sampled */
    bool asked = report->verdict->word != JP_VERDICT_UNJUDGED ||
                 quality_has_nccl(report) || feature_first(report->features);
    char text[JP_PLAIN_TEXT];

    put_heading(report, out);
    /* the class gives the colour of the verdict */
    fprintf(out,
            "<div id=\"answer\" class=\"%s\">\n<div class=\"verdict\"><strong>"
            "%s</strong><p>",
            word, asked ? word : "");
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
