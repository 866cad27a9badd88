/* copper_feature.c - Copper as a feature of reports: reads its profiles, and
 * names its part of each file. */
#include "orchestrator/copper/copper_feature.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/quote.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/summary_file.h"

/* --- data ----------------------------------------------------------------- */

/* A hidden step is profiled by the site's default only, where missing data is
 * none. */
static bool is_asked(const struct jp_jobconf *conf)
{
    const char *mode = conf ? jobconf_side_find(conf, OPTION_COPPER, "mode")
                            : NULL;

    return mode && strcmp(mode, "off") != 0 && !conf->hidden;
}

/* A row is name, value, unit, text, reason. */
enum { LIMIT_SLOW, LIMIT_COST, N_LIMITS };
/* clang-format off */
static const struct jp_limit limits[N_LIMITS + 1] = {
    [LIMIT_SLOW] =
        {"copper_slow_min", 1.5, JP_LIMIT_IS_NUMBER,
         "copper_slow_rank where a rank of Copper takes at least {} "
         "times the median of its level in the tree, and is an outlier "
         "by the modified z of Iglewicz and Hoaglin (3.5)",
         "ranks of a level differ by a tenth or two anyway; a half is "
         "noticeable for programs that wait for files"},
    [LIMIT_COST] =
        {"copper_cost_min", 100000, JP_LIMIT_IS_US,
         "... and that cost at least {} over all its calls",
         "a tenth of a second is not worth a line"},
};
/* clang-format on */

/* Reads the profiles; options lacks what is the same for all callers. */
static int read_with(const struct feature_input *in,
                     struct jp_copper_options *options, void **data,
                     struct jp_error *err)
{
    struct jp_copper *copper = NULL;
    int rc;

    options->slow_share = limits[LIMIT_SLOW].value;
    options->slow_cost_us = limits[LIMIT_COST].value;
    options->progress = in->progress;
    options->progress_arg = in->progress_arg;
    rc = copper_run(in->inputs, in->n, options, &copper, err);
    *data = copper;
    return rc;
}

static int read_profiles(const struct feature_input *in, void **data,
                         struct jp_error *err)
{
    struct jp_copper_options options = {.expected = is_asked(in->conf)};

    return in->over ? 0 : read_with(in, &options, data, err);
}

/* --- options of `jobprof aggregate` --------------------------------------- */

enum { MAX_USAGE_ROOTS = 32 };

static int check_folder(const char *value, struct jp_error *err)
{
    return *value == '/'
               ? 0
               : error_set(err, "\"%s\" is not an absolute path", QUOTE(value));
}

enum { USAGE_ROOT, NO_USAGE, SYSROOT };
static const struct feature_option own_options[] = {
    [USAGE_ROOT] = {"usage-root", "DIR",
                    "also compare Copper's paths with the files below DIR; may "
                    "be given several times. For root, and for another user's "
                    "data, nothing else is compared",
                    MAX_USAGE_ROOTS, check_folder},
    [NO_USAGE] = {"no-usage", NULL, "do not compare Copper's paths with files",
                  UINT_MAX, NULL},
    [SYSROOT] = {"sysroot", "DIR",
                 "look Copper's paths up below DIR instead of /", UINT_MAX,
                 check_folder},
    {.name = NULL},
};

/* Its files are known by their folders, so it looks for them itself. */
static int read_found(const struct filekinds *found,
                      const struct feature_input *in, void **data,
                      struct jp_error *err)
{
    const char *roots[MAX_USAGE_ROOTS];
    struct jp_copper_options options = {.usage = true,
                                        .usage_roots = roots,
                                        .memory_bytes = in->memory_bytes,
                                        .home = getenv("HOME")};

    (void) found;
    for (size_t i = 0; i < in->n_given; i++) {
        const struct feature_given *given = &in->given[i];

        if (given->option == &own_options[USAGE_ROOT])
            roots[options.n_usage_roots++] = given->value;
        else if (given->option == &own_options[NO_USAGE])
            options.usage = false;
        else if (given->option == &own_options[SYSROOT])
            options.sysroot = given->value;
    }
    return read_with(in, &options, data, err);
}

static void
put_notes(const void *data,
          void (*note)(void *arg, const char *path, const char *why), void *arg)
{
    const struct jp_copper *copper = data;
    char more[64];

    for (size_t i = 0; i < copper->n_notes; i++)
        note(arg, copper->notes[i].path, copper->notes[i].what);
    snprintf(more, sizeof(more), "and %" PRIu64 " more notes",
             copper->notes_left_out);
    if (copper->notes_left_out)
        note(arg, more, NULL);
}

static void destroy(void *data)
{
    copper_destroy(data);
}

static void make_relative(void *data, void (*one)(char *path, const char *dir),
                          const char *dir)
{
    struct jp_copper *c = data;

    for (size_t i = 0; i < c->n_notes; i++)
        one(c->notes[i].path, dir);
}

/* --- verdict -------------------------------------------------------------- */

static void judge_copper(const void *data, const struct verdict_input *in,
                         bool alone, struct jp_verdict *verdict)
{
    (void) in;
    copper_verdict_add(data, alone, verdict);
}

/* "36 operations, 56 % hits" */
static bool put_figure(const struct jp_report *report, char *buf)
{
    const struct jp_copper *c = copper_of(report);
    char share[JP_PLAIN_FIGURE];
    double ops = (double) c->total[COPPER_OPERATIONS];

    if (!c->total[COPPER_OPERATIONS])
        return false;
    snprintf(buf, DRAWER_FIGURE, "%s operations, %s hits",
             FIG_COUNT(c->total[COPPER_OPERATIONS]),
             plain_share((double) c->total[COPPER_HITS] / ops, share));
    return true;
}

static const char *const checks[JP_PLAIN_CHECKS] = {
    "Is the node of the slow rank busy with something else?",
    "Did every rank leave its profile?",
    "Does the program read files below the path that Copper caches?",
};

/* --- the first screen, and the card --------------------------------------- */

/* The first four tiles of a report that has only Copper's profiles. */
static void put_tiles(const struct jp_report *report,
                      struct first_screen_tile *tiles)
{
    const struct jp_copper *c = copper_of(report);
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
    } else if (!slow && c->n_counted > c->unjudged) {
        SAY(tiles[0].value, "none found");
    } else {
        /* of ranks that were not compared nothing is known */
        tiles[0].label = "Time in Copper";
        SAY(tiles[0].value, "%s", FIG_US((double) c->total[COPPER_LATENCY_US]));
        SAY(tiles[0].note, "of all daemons; %s",
            slow ? "what of it is lost is not known"
                 : "slow ranks were not judged");
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
        tiles[1].label = "Compared";
        SAY(tiles[1].note, "ranks, with others of their level");
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

/* What summary.json has of Copper's profiles. */
struct reported {
    struct {
        struct {
            uint64_t total_counted_fuse_operations, total_cache_hits;
            uint64_t metadata_enoent_ttl_serves;
            double latency_without_init_us;
        } totals;
        struct {
            uint64_t counted, ranks;
        } coverage;
    } copper;
};
#define REPORTED(member) JSON_FIELD(struct reported, copper.member)
static const struct json_field reported_fields[] = {
    REPORTED(totals.total_counted_fuse_operations),
    REPORTED(totals.total_cache_hits),
    REPORTED(totals.metadata_enoent_ttl_serves),
    REPORTED(totals.latency_without_init_us),
    REPORTED(coverage.counted),
    REPORTED(coverage.ranks),
};
#undef REPORTED
static const struct json_fields reported_read =
    JSON_FIELDS(struct reported, reported_fields);

/* A count, "-" if it is unknown. */
#define SAY_COUNT(n) ((n) == JSON_UNKNOWN ? "-" : FIG_COUNT(n))

/* Prints one line on Copper's profiles. */
static void put_card(const struct summary_file *summary, unsigned columns,
                     FILE *out)
{
    struct reported r;
    uint64_t ops;
    char ranks[64];

    summary_file_own(summary, &reported_read, &r);
    ops = r.copper.totals.total_counted_fuse_operations;
    /* no profiles of Copper */
    if (ops == JSON_UNKNOWN)
        return;
    text_out_fit(out, columns,
                 "  copper   ranks %s, %s operations, %s hits, %s lookups "
                 "saved, %s",
                 card_of(r.copper.coverage.counted, r.copper.coverage.ranks,
                         ranks, sizeof(ranks)),
                 FIG_COUNT(ops), SAY_COUNT(r.copper.totals.total_cache_hits),
                 SAY_COUNT(r.copper.totals.metadata_enoent_ttl_serves),
                 FIG_US(r.copper.totals.latency_without_init_us));
}

/* --- the feature ---------------------------------------------------------- */

static const struct feature_rows rows[] = {
    {&table_copper_totals, copper_report_totals}, {NULL, NULL}};

static const struct jp_html_section sections[] = {
    {.id = COPPER_FEATURE,
     .title = "Copper cache",
     .kind = JP_HTML_WIDE,
     .put = copper_html,
     .figure = put_figure},
    {.id = NULL},
};

static const char *const finding_kinds[] = {"copper_[a-z_]+", NULL};

const struct feature feature_copper = {
    .name = COPPER_FEATURE,
    .title = "Copper",
    .role = FEATURE_PROFILE,
    .inputs = "Log directories of the Copper cache become a part of the same "
              "report.",
    .limits = limits,
    .reasons = copper_reasons,
    .asked = is_asked,
    .read = read_profiles,
    .read_found = read_found,
    .options = own_options,
    .notes = put_notes,
    .destroy = destroy,
    .relative = make_relative,
    .judge = judge_copper,
    .failed = copper_verdict_failed,
    .checks = checks,
    .tables = tables_copper,
    .rows = rows,
    .charts = copper_charts,
    .json = copper_report_json,
    .findings = copper_report_findings,
    .finding_kinds = finding_kinds,
    .text = copper_report_text,
    .sections = sections,
    .files = copper_report_lists,
    .tiles = put_tiles,
    .proof = copper_proof,
    .card = put_card,
};
