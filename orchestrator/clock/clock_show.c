/* clock_show.c - read the clock windows of the nodes' agents and apply the
 * checks of the guide to XLA's distributed profiling.
 *
 * A window is a few seconds of probes between two nodes; it fits a line, alpha
 * and beta, through the difference of their clocks. An edge
 * sums up the windows of one node with one neighbour. First all files are read
 * into edges, then names are filled in, then the four checks run over all
 * edges. */
#include "orchestrator/clock/clock_feature.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/table/table.h"
#include "plugins/clock/clock_read.h"

/* Limits of the guide: "alpha close to 1.0 (within 0.0001)", "low probe failure
 * rate (< 1%)". */
#define ALPHA_MAX 1e-4
#define FAILED_MAX 0.01
/* The guide's "Beta relatively stable": from one window to the next, a clock
 * follows its fitted line. The rate of a quartz changes by less than 5 ppm
 * within seconds while it warms up; the lines themselves are as accurate as
 * their margins. */
#define RATE_CHANGE 5e-6

/* One neighbour of one node. */
struct edge {
    char from[CLOCK_NODE_MAX], to[CLOCK_NODE_MAX];
    uint32_t to_id;
    uint64_t job;          /* job id of the component */
    uint64_t windows, bad; /* windows with a line, and without one */
    uint64_t exchanges, failures;
    uint64_t jumps;          /* windows that do not continue the one before */
    double alpha_off, alpha; /* largest |alpha - 1|; mean alpha */
    double beta_us, jump_us; /* of the first window; largest change */
    double margin_us, unc_us, rtt_us; /* smallest; largest; smallest */
};

/* A file that was read. */
struct origin {
    char node[CLOCK_NODE_MAX];
    uint32_t node_id;
    uint64_t job;
};

struct shown {
    struct edge *edges;
    struct origin *origins;
    size_t n, n_origins;
    uint64_t bad_lines;
    struct feature_shown *done;
    void (*say)(const char *text);
};

/* A check of the guide: the value found and whether it is good. */
struct check {
    const char *name; /* name in JSON */
    char text[400];
    double value, limit; /* value may be a share, a count or |alpha - 1| */
    bool good;
};
enum { CHECKS = 4 };

/* --- figures -------------------------------------------------------------- */

/* Percent of all probes. */
JP_GETTER(failed, edge, {
    double all = (double) at->exchanges + (double) at->failures;

    value_real(v, all > 0 ? 100 * (double) at->failures / all : 0);
})

#define FIELD(member) JP_FIELD(struct edge, member)
/* without a window there is no line */
#define LINE(member, places)                                                   \
    FIELD(member), JP_IF(struct edge, windows), .decimals = (places),          \
                                                .json_decimals = (places)
#define FIXED (JP_FIXED | JP_OMIT)
static const struct jp_column edge_columns[] = {
    {"from", JP_COL_TEXT, 0, 1, .raw = 1, .title = "from", .width = 16,
     .cut = 16, JP_CHARS(struct edge, from)},
    {"to", JP_COL_TEXT, 0, 2, .raw = 2, .title = "to", .width = 16, .cut = 16,
     JP_CHARS(struct edge, to)},
    {"windows", JP_COL_COUNT, 0, 3, .raw = 3, .title = "windows", .width = 8,
     FIELD(windows)},
    {"bad_windows", JP_COL_COUNT, 0, 4, .raw = 4, .title = "bad", .width = 5,
     FIELD(bad)},
    {"exchanges", JP_COL_COUNT, 0, 5, .raw = 5, .title = "exchanges",
     .width = 10, FIELD(exchanges)},
    {"failures", JP_COL_COUNT, 0, 6, FIELD(failures)},
    {"failed_percent", JP_COL_NUMBER, JP_FIXED, 7, .raw = 6,
     .title = "failed %", .width = 8, .decimals = 2, .json_decimals = 4,
     .get = get_failed},
    {"alpha", JP_COL_NUMBER, FIXED, 8, .raw = 7, .title = "alpha", .width = 13,
     LINE(alpha, 9)},
    {"beta_us", JP_COL_NUMBER, FIXED, 9, .raw = 8, .title = "beta us",
     .width = 16, LINE(beta_us, 1)},
    {"beta_jump_us", JP_COL_NUMBER, FIXED, 10, .raw = 9, .title = "jump us",
     .width = 9, LINE(jump_us, 2)},
    {"margin_us", JP_COL_NUMBER, FIXED, 11, .raw = 10, .title = "margin us",
     .width = 9, LINE(margin_us, 2)},
    {"uncertainty_us", JP_COL_NUMBER, FIXED, 12, .raw = 11,
     .title = "within us", .width = 9, LINE(unc_us, 2)},
    {"rtt_us", JP_COL_NUMBER, FIXED, 13, .raw = 12, .title = "rtt us",
     .width = 9, LINE(rtt_us, 2)},
};
#undef FIXED
#undef LINE
#undef FIELD
static const struct jp_table edge_table = {JP_COLUMNS(edge_columns),
                                           .row_size = sizeof(struct edge),
                                           .max_json = SIZE_MAX};

/* --- reading -------------------------------------------------------------- */

/* Orders windows by neighbour and time. */
static int by_edge(const void *a, const void *b)
{
    const struct clock_window *x = a, *y = b;

    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Adds a window's line and checks that it continues the one before. */
static void add_line(struct edge *e, const struct clock_window *w,
                     const struct clock_window *before)
{
    double jump, passed;

    e->windows++;
    /* the running mean, which needs no sum of many values near 1 */
    e->alpha += (1 + w->slope - e->alpha) / (double) e->windows;
    e->alpha_off = fmax(e->alpha_off, fabs(w->slope));
    e->unc_us = fmax(e->unc_us, w->unc_ns / 1000);
    if (e->windows == 1 || w->margin_ns / 1000 < e->margin_us)
        e->margin_us = w->margin_ns / 1000;
    if (e->windows == 1 || (double) w->rtt_min_ns / 1000 < e->rtt_us)
        e->rtt_us = (double) w->rtt_min_ns / 1000;
    if (e->windows == 1)
        e->beta_us = (double) w->beta_ns / 1000;
    if (!before)
        return;
    /* where the line of the window before ends up at the start of this one */
    passed = (double) (w->start_ns - before->start_ns);
    jump =
        fabs((double) (w->beta_ns - before->beta_ns) - before->slope * passed);
    e->jump_us = fmax(e->jump_us, jump / 1000);
    /* both lines are uncertain, and a quartz changes its rate a little */
    e->jumps += jump > fabs(before->margin_ns) + fabs(w->margin_ns) +
                           RATE_CHANGE * passed;
}

/* Appends an edge of zeros. Returns NULL without memory. */
static struct edge *add_edge(struct shown *s)
{
    return VECTOR_DOUBLE_ADD(s->edges, s->n);
}

/* Adds the windows of one neighbour, w[0] to w[n - 1], which are in order of
 * time. Returns -1 without memory. */
static int add_windows(struct shown *s, const struct clock_file *file,
                       const struct clock_window *w, size_t n)
{
    const struct clock_window *before = NULL;
    struct edge *e = add_edge(s);

    if (!e)
        return -1;
    memcpy(e->from, file->node, sizeof(e->from));
    snprintf(e->to, sizeof(e->to), "#%u", w->to); /* until its name is known */
    e->to_id = w->to;
    e->job = file->job;
    for (size_t i = 0; i < n; i++) {
        e->exchanges += w[i].exchanges;
        e->failures += (uint64_t) w[i].lost + w[i].no_stamp + w[i].disturbed;
        /* it has no line, and the next window does not continue it */
        if (w[i].status != CLOCK_OK) {
            e->bad++;
            continue;
        }
        add_line(e, &w[i], before);
        before = &w[i];
    }
    return 0;
}

/* Adds one node's file. Sorts its windows. Returns -1 without memory. */
static int add_file(struct shown *s, struct clock_file *file)
{
    struct clock_window *w = file->windows;
    struct origin *grown = VECTOR_DOUBLE_ADD(s->origins, s->n_origins);
    size_t n;

    if (!grown)
        return -1;
    *grown = (struct origin){.node_id = file->node_id, .job = file->job};
    memcpy(grown->node, file->node, sizeof(grown->node));
    s->bad_lines += file->bad_lines;

    if (file->n_windows)
        qsort(w, file->n_windows, sizeof(*w), by_edge);
    for (size_t i = 0; i < file->n_windows; i += n) {
        /* the windows of one neighbour */
        for (n = 1; i + n < file->n_windows && w[i + n].to == w[i].to;)
            n++;
        if (add_windows(s, file, &w[i], n) < 0)
            return -1;
    }
    return 0;
}

/* Reads one node's file, if it exists. A damaged file is counted and reported.
 * Returns -1 without memory. */
static int read_node(struct shown *s, const char *nodes, const char *name)
{
    char *path = text_format("%s/%s/" CLOCK_FILE, nodes, name);
    struct clock_file file;
    struct jp_error err;
    int rc = 0;

    if (!path)
        return -1;
    /* to distinguish a missing file from a damaged one */
    errno = 0;
    if (clock_file_read(path, &file, &err) == 0) {
        s->done->files++;
        rc = add_file(s, &file);
        clock_file_fini(&file);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        s->done->bad_files++;
        if (s->say)
            s->say(err.text);
    }
    free(path);
    return rc;
}

/* Reads the files of all nodes of a step. */
static int read_folder(struct shown *s, const char *nodes)
{
    struct dirent **entries = NULL;
    int n = scandir(nodes, &entries, NULL, alphasort), rc = 0;

    for (int i = 0; i < n; i++) {
        if (rc == 0 && entries[i]->d_name[0] != '.')
            rc = read_node(s, nodes, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* Replaces the numbers of neighbours by names, as far as their own files exist.
 * A number is only unique within a component of a heterogeneous job. */
static void name_neighbours(struct shown *s)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->n_origins; k++) {
            const struct origin *o = &s->origins[k];

            if (o->node_id == s->edges[i].to_id && o->job == s->edges[i].job)
                memcpy(s->edges[i].to, o->node, sizeof(s->edges[i].to));
        }
}

/* Removes the edges of other nodes. */
static void keep_node(struct shown *s, const char *node)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->edges[i].from, node) == 0 ||
            strcmp(s->edges[i].to, node) == 0)
            s->edges[kept++] = s->edges[i];
    s->n = kept;
}

/* --- the checks ----------------------------------------------------------- */

/* Formats ": FROM to TO"; "" for NULL. Returns buf. */
static const char *pair_of(const struct edge *e, char buf[128])
{
    *buf = '\0';
    if (e)
        snprintf(buf, 128, ": %.48s to %.48s", e->from, e->to);
    return buf;
}

/* The guide's first check: there are completed windows. */
static void check_windows(const struct shown *s, struct check *c)
{
    uint64_t windows = 0, bad = 0;

    for (size_t i = 0; i < s->n; i++) {
        windows += s->edges[i].windows;
        bad += s->edges[i].bad;
    }
    *c = (struct check){"windows", "", (double) windows, 1, windows > 0};
    snprintf(c->text, sizeof(c->text),
             "%" PRIu64 " of %" PRIu64 " windows are completed", windows,
             windows + bad);
}

/* Both clocks run at the same rate. Finds the pair that is furthest off. */
static void check_alpha(const struct shown *s, struct check *c)
{
    const struct edge *worst = NULL;
    char pair[128];

    for (size_t i = 0; i < s->n; i++)
        if (s->edges[i].windows &&
            (!worst || s->edges[i].alpha_off > worst->alpha_off))
            worst = &s->edges[i];
    *c = (struct check){"alpha", "", worst ? worst->alpha_off : 0, ALPHA_MAX,
                        true};
    c->good = c->value <= c->limit;
    snprintf(c->text, sizeof(c->text), "alpha is within %.3g of 1, %s %.0e%s",
             c->value, c->good ? "not more than" : "more than", c->limit,
             pair_of(worst, pair));
}

/* The offset is stable. Finds the pair with the largest jump. */
static void check_beta(const struct shown *s, struct check *c)
{
    const struct edge *worst = NULL;
    uint64_t jumps = 0;
    char pair[128];

    for (size_t i = 0; i < s->n; i++) {
        jumps += s->edges[i].jumps;
        if (s->edges[i].jumps &&
            (!worst || s->edges[i].jump_us > worst->jump_us))
            worst = &s->edges[i];
    }
    *c = (struct check){"beta", "", (double) jumps, 0, jumps == 0};
    if (jumps)
        snprintf(c->text, sizeof(c->text),
                 "beta jumps %" PRIu64 " times, by %.1f us at most%s", jumps,
                 worst->jump_us, pair_of(worst, pair));
    else
        snprintf(c->text, sizeof(c->text),
                 "beta is stable: each window continues the one before");
}

/* Few probes failed. */
static void check_failures(const struct shown *s, struct check *c)
{
    uint64_t exchanges = 0, failures = 0;
    double all;

    for (size_t i = 0; i < s->n; i++) {
        exchanges += s->edges[i].exchanges;
        failures += s->edges[i].failures;
    }
    all = (double) exchanges + (double) failures;
    *c = (struct check){"failures", "", all > 0 ? (double) failures / all : 1,
                        FAILED_MAX, false};
    /* without any probe the share is 1: all have failed */
    c->good = c->value < c->limit;
    snprintf(c->text, sizeof(c->text),
             "%.2f %% of the probes failed, %s %.0f %%: %" PRIu64 " of %.0f",
             100 * c->value, c->good ? "under" : "not under", 100 * c->limit,
             failures, all);
}

/* --- printing ------------------------------------------------------------- */

/* Prints the table, the checks, and how to check by hand. nodes: the folder for
 * these commands. */
static int print_text(const struct shown *s, const struct check *checks,
                      const char *nodes, FILE *out, struct jp_error *err)
{
    table_show(&edge_table,
               &(const struct table_source){.rows = s->edges, .n = s->n},
               TABLE_FOR_PROGRAMS, out);
    fputc('\n', out);
    for (size_t i = 0; i < CHECKS; i++)
        quote_printf(out, "%-4s %s\n", checks[i].good ? "ok" : "BAD",
                     checks[i].text);
    quote_printf(out,
                 "\nThe same by hand:\n"
                 "  cd '%s'\n"
                 "  grep \"Window completed\" */" CLOCK_FILE " | wc -l\n"
                 "  jq -r 'select(.type==\"window_stats\") | "
                 "\"\\(.window_id) \\(.alpha) \\(.beta)\"' */" CLOCK_FILE "\n"
                 "  jq -r 'select(.status==\"failed\")' */" CLOCK_FILE
                 " | wc -l\n",
                 nodes);
    return table_output_end(NULL, out, err);
}

/* Prints the same as JSON. Without any edge there are no checks. */
static int print_json(const struct shown *s, const struct check *checks,
                      FILE *out, struct jp_error *err)
{
    struct jp_json_stream json;

    json_stream_open(&json, JSON_LINES, out);
    json_stream_count(&json, "schema_version", 1);
    json_stream_count(&json, "files", s->done->files);
    json_stream_count(&json, "bad_files", s->done->bad_files);
    json_stream_count(&json, "bad_lines", s->bad_lines);
    json_stream_array(&json, "checks");
    for (size_t i = 0; s->n && i < CHECKS; i++) {
        json_stream_object(&json, NULL);
        json_stream_text(&json, "check", checks[i].name);
        json_stream_bool(&json, "good", checks[i].good);
        json_stream_real(&json, "value", checks[i].value);
        json_stream_real(&json, "limit", checks[i].limit);
        json_stream_text(&json, "text", checks[i].text);
        json_stream_end_object(&json);
    }
    json_stream_end_array(&json);
    table_write_json(&json, "neighbours", &edge_table,
                     &(const struct table_source){.rows = s->edges, .n = s->n});
    return table_output_end(&json, out, err);
}

int clock_show(char *const *nodes, size_t n, const struct feature_show *how,
               struct feature_shown *done, struct jp_error *err)
{
    static void (*const judges[CHECKS])(
        const struct shown *, struct check *) = {check_windows, check_alpha,
                                                 check_beta, check_failures};
    struct shown s = {.done = done, .say = how->say};
    struct check checks[CHECKS];
    int rc = 0;

    *done = (struct feature_shown){0};
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (nodes[i])
            rc = read_folder(&s, nodes[i]);
    /* the only cause of a failure so far */
    if (rc < 0)
        error_set(err, "out of memory");
    name_neighbours(&s);
    if (how->node)
        keep_node(&s, how->node);
    for (size_t i = 0; i < CHECKS; i++) {
        judges[i](&s, &checks[i]);
        /* without data a check that fails does not count */
        done->failed += s.n && !checks[i].good;
    }
    done->rows = s.n;
    if (rc == 0 && how->json)
        rc = print_json(&s, checks, how->out, err);
    else if (rc == 0 && s.n)
        rc = print_text(&s, checks, n > 1 ? "STEP/nodes" : nodes[0], how->out,
                        err);
    free(s.edges);
    free(s.origins);
    return rc;
}
