/* copper_advice.c - put a Copper profile into words: findings, answers and
 * advice.
 *
 * findings says what is wrong with single ranks. answers has a sentence for
 * each of six questions (say_...), "Unknown" included. advice has rules, each
 * of which adds at most one piece of advice with the paths that it concerns.
 * All texts are written to a stream in memory (words_begin, words_end). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/copper/copper_build.h"

/* --- findings --- */

/* A text while it is written. */
struct copper_words {
    FILE *out;
    char *text;
    size_t len;
};

#define MAX_FINDINGS 200 /* further ones are dropped */

/* Begins a text. Returns NULL when out of memory. */
static FILE *words_begin(struct copper_words *words)
{
    *words = (struct copper_words){0};
    words->out = open_memstream(&words->text, &words->len);
    return words->out;
}

/* Returns the text, which the caller frees; NULL when out of memory. */
static char *words_end(struct copper_words *words)
{
    if (fclose(words->out) == 0)
        return words->text;
    free(words->text);
    return NULL;
}

/* Takes ownership of text; NULL is an error of the caller's. Returns -1 without
 * memory. */
static int add_finding(struct jp_copper *c, const char *kind, size_t rank,
                       double from, double to, double cost_us, char *text)
{
    /* beyond the limit, the finding is dropped without an error */
    if (!text || c->n_findings == MAX_FINDINGS) {
        free(text);
        return text ? 0 : -1;
    }
    if (VECTOR_DOUBLE(c->findings, c->n_findings) < 0) {
        free(text);
        return -1;
    }
    c->findings[c->n_findings++] =
        (struct jp_copper_finding){.kind = kind,
                                   .rank = rank,
                                   .from = from,
                                   .to = to,
                                   .cost_us = cost_us,
                                   .text = text};
    return 0;
}

/* Averages say more than sums: for each rank, the first metric of this table in
 * which it is slow becomes its finding. */
static const struct {
    const char *metric, *words;
} metric_words[] = {
    {"getattr_us", "a getattr takes"},
    {"read_us", "a read takes"},
    {"readdir_us", "a readdir takes"},
    {"latency_without_init_s", "its operations take"},
    {"init_s", "its start takes"},
};
#define N_METRICS (sizeof(metric_words) / sizeof(*metric_words))

/* A rank whose latency is an outlier. Metrics ending in _us are microseconds,
 * the others seconds. */
static int slow_rank(struct jp_copper *c, const struct jp_copper_outlier *o,
                     const char *words)
{
    /* values of the outliers in microseconds */
    double us = strstr(o->metric, "_us") ? 1 : 1e6;
    struct copper_words w;

    if (!words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s is slow: %s %s, %.1f x the median of its tree level "
            "(%s); %s more in all (level %d, %" PRIu32 " ranks)",
            c->ranks[o->rank].host, words, FIG_US(o->value * us),
            o->value / o->median, FIG_US(o->median * us), FIG_US(o->cost_us),
            o->level, o->of);
    return add_finding(c, "copper_slow_rank", o->rank, o->median * us,
                       o->value * us, o->cost_us, words_end(&w));
}

/* Whether the rank has a finding already. */
static bool was_told(const struct jp_copper *c, size_t rank)
{
    for (size_t i = 0; i < c->n_findings; i++)
        if (c->findings[i].rank == rank)
            return true;
    return false;
}

/* A rank that is not complete, by its state. */
static int damaged_rank(struct jp_copper *c, size_t i)
{
    static const char *const kinds[JP_COPPER_N_STATES] = {
        [JP_COPPER_EARLIER] = "copper_earlier_rank",
        [JP_COPPER_PARTIAL] = "copper_partial_rank",
        [JP_COPPER_OVERFLOW] = "copper_counter_overflow",
        [JP_COPPER_DAMAGED] = "copper_damaged_rank",
        [JP_COPPER_MISSING] = "copper_missing_rank"};
    static const char *const words[JP_COPPER_N_STATES] = {
        [JP_COPPER_EARLIER] = "has figures only up to a snapshot",
        [JP_COPPER_PARTIAL] = "has only a part of its figures",
        [JP_COPPER_OVERFLOW] = "is left out",
        [JP_COPPER_DAMAGED] = "is left out",
        [JP_COPPER_MISSING] = "is missing"};
    const struct jp_copper_rank *rank = &c->ranks[i];
    struct copper_words w;

    /* a good rank */
    if (!kinds[rank->state])
        return 0;
    if (!words_begin(&w))
        return -1;
    fprintf(w.out, "%s", rank->host);
    if (rank->pid)
        fprintf(w.out, "-%" PRId64, rank->pid);
    fprintf(w.out, " %s%s%s", words[rank->state], *rank->why ? ": " : "",
            rank->why);
    return add_finding(c, kinds[rank->state], i, NAN, NAN, NAN, words_end(&w));
}

/* A rank whose start-up timed out. */
static int late_parent(struct jp_copper *c, size_t i)
{
    struct copper_words w;

    if (!c->ranks[i].log.timed_out)
        return 0;
    if (!words_begin(&w))
        return -1;
    fprintf(w.out, "%s waited for its parent in the tree until the time limit",
            c->ranks[i].host);
    return add_finding(c, "copper_parent_timeout", i, NAN, NAN, NAN,
                       words_end(&w));
}

static int findings(struct copper_build *b)
{
    struct jp_copper *c = b->copper;

    /* metrics outside, so that a rank gets its first one of the table */
    for (size_t m = 0; m < N_METRICS; m++)
        for (size_t i = 0; i < c->n_outliers; i++) {
            /* slow, in this metric, and without a finding from an earlier
             * one */
            const struct jp_copper_outlier *o = &c->outliers[i];

            if (o->slow && !strcmp(o->metric, metric_words[m].metric) &&
                !was_told(c, o->rank) &&
                slow_rank(c, o, metric_words[m].words) < 0)
                return -1;
        }
    for (size_t i = 0; i < c->n_ranks; i++)
        if (damaged_rank(c, i) < 0 || late_parent(c, i) < 0)
            return -1;
    return 0;
}

/* --- the six questions that a profile answers --- */

#define SHOWN 3 /* operations or paths in an answer */

static const struct copper_op *op_of(const struct jp_copper *c,
                                     const char *name)
{
    return &c->op[copper_op_find(name, strlen(name))];
}

/* NAN without a total. */
static double share(uint64_t part, uint64_t all)
{
    return all ? (double) part / (double) all : NAN;
}

typedef uint64_t weigh(const struct copper_op *op, size_t i);

static uint64_t calls_of(const struct copper_op *op, size_t i)
{
    return op->calls;
}

/* The start of the daemons is not an operation of the tasks. */
static uint64_t time_of(const struct copper_op *op, size_t i)
{
    return i == copper_op_find("init", 4) ? 0 : op->time_us;
}

/* The indices of the SHOWN heaviest operations, heaviest first. Returns their
 * number. */
static size_t heaviest(const struct jp_copper *c, weigh *weight, size_t *index)
{
    size_t n = 0;

    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        uint64_t own = weight(&c->op[i], i);
        size_t at = n;

        /* an operation without any weight is never among them */
        if (!own)
            continue;
        /* insertion sort of at most SHOWN entries; what moves beyond the end is
         * dropped */
        while (at && weight(&c->op[index[at - 1]], index[at - 1]) < own) {
            if (at < SHOWN)
                index[at] = index[at - 1];
            at--;
        }
        /* a place was found among the first */
        if (at < SHOWN) {
            index[at] = i;
            n += n < SHOWN;
        }
    }
    return n;
}

/* Which operations dominate by number. */
static void say_count(const struct jp_copper *c, FILE *out)
{
    size_t index[SHOWN], n = heaviest(c, calls_of, index);
    uint64_t all = 0;

    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        all = num_add(all, c->op[i].calls);
    if (!n)
        fputs("Unknown: no table of operations could be read.", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s with %s requests (%s)", i ? ", then " : "",
                copper_op_names[index[i]], FIG_COUNT(c->op[index[i]].calls),
                FIG_SHARE(share(c->op[index[i]].calls, all)));
    if (n)
        fprintf(out, ", of %s in all.", FIG_COUNT(all));
}

/* Which operations dominate by time. */
static void say_time(const struct jp_copper *c, FILE *out)
{
    size_t index[SHOWN], n = heaviest(c, time_of, index);
    uint64_t all = 0;

    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        all = num_add(all, time_of(&c->op[i], i));
    if (!n)
        fputs("Unknown: no table of operations could be read.", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s with %s (%s)", i ? ", then " : "",
                copper_op_names[index[i]],
                FIG_US((double) c->op[index[i]].time_us),
                FIG_SHARE(share(c->op[index[i]].time_us, all)));
    if (n)
        fprintf(out,
                ", of %s in all. The daemons' start (init) took %s more, "
                "which Copper's own total includes.",
                FIG_US((double) all), FIG_US((double) c->init_us));
}

/* The busiest paths of a category. Without full tables the figures are lower
 * bounds. */
static void say_paths(const struct jp_copper *c, enum copper_category category,
                      FILE *out)
{
    size_t from = c->path_from[category], to = c->path_from[category + 1];
    uint64_t all = c->category_events[category];

    /* no paths: either they were not recorded, or there were none */
    if (from == to) {
        fputs(c->n_counted && !c->n_tables && !c->n_top
                  ? "Unknown: paths were not recorded "
                    "(--copper-profile=top or full)."
                  : "None was recorded.",
              out);
        return;
    }
    /* paths are sorted by events within a category */
    for (size_t i = from; i < to && i < from + SHOWN; i++)
        fprintf(out, "%s%s with %s (%s)", i > from ? ", then " : "",
                c->paths[i].path, FIG_COUNT(c->paths[i].events),
                FIG_SHARE(share(c->paths[i].events, all)));
    fprintf(out, ", of %s events on %s paths%s.", FIG_COUNT(all),
            FIG_COUNT(to - from),
            c->n_tables < c->n_counted
                ? " (the busiest of each rank only: a lower bound)"
                : "");
}

static void say_metadata(const struct jp_copper *c, FILE *out)
{
    say_paths(c, COPPER_METADATA, out);
}

static void say_data(const struct jp_copper *c, FILE *out)
{
    say_paths(c, COPPER_DATA, out);
}

/* How much the caches served. */
static void say_reuse(const struct jp_copper *c, FILE *out)
{
    const struct copper_op *read = op_of(c, "read");
    const struct copper_op *readdir = op_of(c, "readdir");

    /* no rank whose counters can be trusted */
    if (!c->n_counted) {
        fputs("Unknown: no counters could be read.", out);
        return;
    }
    fprintf(out, "%s of %s operations were served by the caches.",
            FIG_COUNT(c->total[COPPER_HITS]),
            FIG_COUNT(c->total[COPPER_OPERATIONS]));
    /* negative results of reads are those that bypassed the cache */
    if (read->calls)
        fprintf(out,
                " Of %s reads %s (%s) were hits, %s went past the cache "
                "(large files, or errors).",
                FIG_COUNT(read->calls), FIG_COUNT(read->hits),
                FIG_SHARE(share(read->hits, read->calls)),
                FIG_COUNT(read->negatives));
    if (readdir->calls)
        fprintf(out, " Of %s readdirs %s (%s) were hits.",
                FIG_COUNT(readdir->calls), FIG_COUNT(readdir->hits),
                FIG_SHARE(share(readdir->hits, readdir->calls)));
    /* Copper's counter, not a property of the run */
    fputs(" A getattr counts as a hit even if the daemon asked its parent, so "
          "its hits do not show reuse.",
          out);
}

/* How much remembered ENOENT answers served. */
static void say_ttl(const struct jp_copper *c, FILE *out)
{
    uint64_t stores = c->total[COPPER_TTL_STORES];
    uint64_t serves = c->total[COPPER_TTL_SERVES];

    if (!c->n_ttl) {
        fputs("Unknown: no counters of it could be read.", out);
        return;
    }
    fprintf(out,
            "%s lookups of absent paths were answered from memory; %s "
            "answers were remembered",
            FIG_COUNT(serves), FIG_COUNT(stores));
    /* served answers for each that was remembered */
    if (stores)
        fprintf(out, ", so each saved %.1f lookups",
                (double) serves / (double) stores);
    fprintf(out, ". %s expired", FIG_COUNT(c->total[COPPER_TTL_EXPIRES]));
    /* the setting is known from a summary or a log */
    if (c->settings.ttl_ms >= 0)
        fprintf(out, " (%s)", FIG_US((double) c->settings.ttl_ms * 1000));
    fputs(". A parent in the tree also counts its children's requests.", out);
}

static int answers(struct copper_build *b)
{
    static const struct {
        const char *question;
        void (*say)(const struct jp_copper *, FILE *);
    } questions[JP_COPPER_QUESTIONS] = {
        {"Which operations dominate the number of requests?", say_count},
        {"Which operations dominate the time?", say_time},
        {"Which paths dominate the metadata traffic?", say_metadata},
        {"Which paths dominate the data traffic?", say_data},
        {"How much reuse comes from Copper's caches?", say_reuse},
        {"How much reuse comes from remembered ENOENT?", say_ttl},
    };

    for (size_t i = 0; i < JP_COPPER_QUESTIONS; i++) {
        struct jp_copper_answer *a = &b->copper->answers[i];
        struct copper_words w;

        if (!words_begin(&w))
            return -1;
        questions[i].say(b->copper, w.out);
        a->question = questions[i].question;
        a->answer = words_end(&w);
        if (!a->answer)
            return -1;
    }
    return 0;
}

/* --- advice: what to remove or to set, each with its paths --- */

#define MAX_ADVICE 16
#define MAX_PATHS 10

/* Takes ownership of text. Returns NULL without memory, or if text is NULL. */
static struct jp_copper_advice *add_advice(struct jp_copper *c, char *text)
{
    struct jp_copper_advice *a = &c->advice[c->n_advice];

    if (!text)
        return NULL;
    c->n_advice++;
    *a = (struct jp_copper_advice){
        .text = text, .paths = calloc(MAX_PATHS, sizeof(*a->paths))};
    return a->paths ? a : NULL;
}

/* Adds a path to the advice, up to MAX_PATHS. Returns -1 without memory. */
static int add_path(struct jp_copper_advice *a, const char *path)
{
    /* more paths would hide the advice */
    if (a->n_paths == MAX_PATHS)
        return 0;
    a->paths[a->n_paths] = strdup(path);
    return a->paths[a->n_paths++] ? 0 : -1;
}

/* Whether shared libraries were looked for. */
static bool is_library(const struct jp_copper_failed *v)
{
    return v->class == JP_COPPER_MISSING_LIBRARY_PROBE ||
           v->class == JP_COPPER_GLIBC_HWCAPS_PROBE;
}

/* Folders without any successful lookup: of libraries, or others. */
static int vain_folders(struct jp_copper *c, bool libraries)
{
    struct copper_words w;
    struct jp_copper_advice *a;
    uint64_t events = 0, n = 0;

    for (size_t i = 0; i < c->n_failed_lookups; i++)
        if (c->failed_lookups[i].wholly &&
            is_library(&c->failed_lookups[i]) == libraries) {
            events = num_add(events, c->failed_lookups[i].events);
            n++;
        }
    if (!n)
        return 0;
    if (!words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s folder%s searched for %s %s lookups without a match: remove "
            "stale and duplicate entries from %s.",
            FIG_COUNT(n), n == 1 ? " was" : "s were",
            libraries ? "shared libraries in" : "modules and settings in",
            FIG_COUNT(events),
            libraries ? "LD_LIBRARY_PATH" : "PYTHONPATH and PATH");
    a = add_advice(c, words_end(&w));
    if (!a)
        return -1;
    for (size_t i = 0; i < c->n_failed_lookups; i++)
        if (c->failed_lookups[i].wholly &&
            is_library(&c->failed_lookups[i]) == libraries &&
            add_path(a, c->failed_lookups[i].folder) < 0)
            return -1;
    return 0;
}

static int vain_libraries(struct jp_copper *c)
{
    return vain_folders(c, true);
}

static int vain_modules(struct jp_copper *c)
{
    return vain_folders(c, false);
}

/* Folders in use in which files of other folders were also looked for. Only
 * full tables show which folders are in use. */
static int order(struct jp_copper *c)
{
    struct copper_words w;
    struct jp_copper_advice *a;
    uint64_t events = 0;

    for (size_t i = 0; i < c->n_failed_lookups; i++)
        if (!c->failed_lookups[i].wholly)
            events = num_add(events, c->failed_lookups[i].events);
    if (!events)
        return 0;
    if (!words_begin(&w))
        return -1;
    /* with full tables of all ranks, "in use" is certain */
    if (c->vain_known)
        fprintf(w.out,
                "%s lookups ended in ENOENT in folders that are also in use. "
                "Python's zip, pyvenv.cfg, suffix and hwcaps probes are "
                "normal; the rest shrinks if the folder with most of the "
                "files is first in the search path.",
                FIG_COUNT(events));
    else
        fprintf(w.out,
                "At least %s lookups ended in ENOENT. Full tables "
                "(--copper-profile=full) would show which of these folders "
                "had no match and can be removed from the search paths.",
                FIG_COUNT(events));
    a = add_advice(c, words_end(&w));
    if (!a)
        return -1;
    for (size_t i = 0; i < c->n_failed_lookups; i++)
        if (!c->failed_lookups[i].wholly &&
            add_path(a, c->failed_lookups[i].folder) < 0)
            return -1;
    return 0;
}

/* Reads that bypassed the cache: at least 5 % of all. */
static int passed_by(struct jp_copper *c)
{
    const struct copper_op *read = op_of(c, "read");
    struct jp_copper_advice *a;
    struct copper_words w;

    if (read->negatives * 20 < read->calls || !read->negatives)
        return 0;
    if (!words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s of %s reads went past the cache: files of "
            "-max_cacheable_byte_size and above are not kept. If memory "
            "allows, raise it above the size of these.",
            FIG_COUNT(read->negatives), FIG_COUNT(read->calls));
    a = add_advice(c, words_end(&w));
    if (!a)
        return -1;
    for (size_t i = c->path_from[COPPER_DATA]; i < c->path_from[COPPER_TREE];
         i++)
        /* files of which more than half of the reads bypassed it */
        if (2 * c->paths[i].count[COPPER_ROW_NEGATIVES] > c->paths[i].events &&
            add_path(a, c->paths[i].path) < 0)
            return -1;
    return 0;
}

/* ENOENT answers that expired and were needed again: at least a fifth. */
static int short_ttl(struct jp_copper *c)
{
    uint64_t stores = c->total[COPPER_TTL_STORES];
    uint64_t expires = c->total[COPPER_TTL_EXPIRES];
    struct copper_words w;

    if (!expires || expires * 5 < stores)
        return 0;
    if (!words_begin(&w))
        return -1;
    fprintf(w.out,
            "%s of %s remembered ENOENT answers expired and were requested "
            "again: a longer -md_enoent_ttl_ms",
            FIG_COUNT(expires), FIG_COUNT(stores));
    if (c->settings.ttl_ms >= 0)
        fprintf(w.out, " (now %" PRId64 ")", c->settings.ttl_ms);
    fputs(" would keep them, unless files appear during the run.", w.out);
    return add_advice(c, words_end(&w)) ? 0 : -1;
}

/* Files below the roots that no rank has used, if all ranks have full
 * tables. */
static int unused(struct jp_copper *c)
{
    struct jp_copper_advice *a;
    struct copper_words w;
    uint64_t n = 0;

    for (size_t i = 0; i < c->n_used; i++)
        /* found by the walk of the folders, but never asked for */
        n += c->used[i].walked && !c->used[i].observed && !c->used[i].is_dir;
    /* without full tables, unobserved does not mean unused */
    if (!n || !c->vain_known)
        return 0;
    if (!words_begin(&w))
        return -1;
    fprintf(
        w.out,
        "%s files below the environment were not requested in this run "
        "(copper_paths/same_run_candidate_not_observed_existing_paths.txt). "
        "Try a reduced copy, never the original: another run may need "
        "them.",
        FIG_COUNT(n));
    a = add_advice(c, words_end(&w));
    if (!a)
        return -1;
    for (size_t i = 0; i < c->n_used_roots; i++)
        if (add_path(a, c->used_roots[i].path) < 0)
            return -1;
    return 0;
}

/* What is in use and must stay, with an example for each class. */
static int keep_used(struct jp_copper *c)
{
    /* classes that every Python job needs */
    static const enum jp_copper_class core[] = {
        JP_COPPER_STDLIB, JP_COPPER_SITE_PACKAGES, JP_COPPER_TORCH_PACKAGE,
        JP_COPPER_TORCH_LIBRARY};
    struct jp_copper_advice *a = NULL;

    for (size_t i = 0; i < sizeof(core) / sizeof(*core); i++)
        for (size_t k = 0; k < JP_COPPER_N_CLASSES; k++) {
            const struct jp_copper_class_sum *s = &c->classes[k];
            const char *example = s->example ? s->example : s->top_example;

            if (s->class != core[i] || !example)
                continue;
            if (!a)
                a = add_advice(
                    c, strdup("Keep what is in use: the interpreter's "
                              "library, site-packages and the native "
                              "libraries that are hot. Remove duplicate "
                              "entries of search paths first, then absent "
                              "ones, then stale ones."));
            if (!a || add_path(a, example) < 0)
                return -1;
        }
    return 0;
}

static int advice(struct copper_build *b)
{
    /* in this order in the report */
    static int (*const rules[])(struct jp_copper *) = {
        vain_libraries, vain_modules, order,    passed_by,
        short_ttl,      unused,       keep_used};
    struct jp_copper *c = b->copper;

    _Static_assert(sizeof(rules) / sizeof(*rules) <= MAX_ADVICE, "room");
    c->advice = calloc(MAX_ADVICE, sizeof(*c->advice));
    if (!c->advice)
        return -1;
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (rules[i](c) < 0)
            return -1;
    return 0;
}

int copper_advice(struct copper_build *b)
{
    return findings(b) < 0 || answers(b) < 0 || advice(b) < 0 ? -1 : 0;
}
