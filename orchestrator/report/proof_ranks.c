/* proof_ranks.c - pictures of ranks: how late each came over the run, which one
 * stalled, that none stands out, which processes miss records.
 *
 * A strip is a row per rank whose colour changes over the run. strips_write
 * draws strips of lateness or of stalls, by the function `part_of` that it is
 * given. With many ranks, rows become thin and only the marked ranks have
 * names. proof_excess draws a histogram of all ranks, proof_records a bar per
 * process. */
#include "orchestrator/report/proof.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/picture.h"
#include "orchestrator/report/table.h"

#define ROWS_NAMED 16 /* with more rows, each is too thin for a name */
#define ROWS_DRAWN 128
#define LEVELS 5 /* colours, the background among them */

/* --- strips: a row a rank, a column a part of the run --------------------- */

/* A rank of a communicator of the finding's shape. */
struct strip {
    size_t rank; /* index into the result */
    const struct jp_process *who;
    double part[JP_SLICES]; /* us per operation; NAN: unknown */
    double mean, most;
    double told; /* the figure beside it */
    bool hit;
};

/* What is drawn. in_use has a flag for each communicator; NULL: all are used.
 */
struct view {
    const struct jp_report *report;
    bool *in_use;
};

/* How late a rank was in a part of the run; NAN: unknown. */
typedef double part_of(const struct view *view, size_t rank, unsigned part);

/* Returns how late the rank was per operation in a part of the run, us. */
static double arrival(const struct view *view, size_t rank, unsigned part)
{
    const struct jp_lateness *l = &view->report->insight->lateness[rank];

    return l->ops > 0 ? (double) l->parts_us[part] * JP_SLICES / l->ops : NAN;
}

/* Returns how much of the rank's lateness is its own doing. For the rest, it
 * waited for another rank in another communicator. */
static double own_share(const struct jp_lateness *l)
{
    if (!l->judged || !(l->arrival_us > 0))
        return 1;
    return fmax(0, fmin(1, l->excess_us / l->arrival_us));
}

/* Returns the rank's stalls in a part of the run, us: the least over the
 * process's communicators in use. A process that stalls is late in all of them;
 * one that waited for it in one communicator is late only in the others. */
static double stalled(const struct view *view, size_t rank, unsigned part)
{
    const struct jp_report *report = view->report;
    const struct jp_processes *p = report->processes;
    const struct jp_process *who = &p->list[p->of_rank[rank]];
    double least = NAN;

    for (size_t i = who->first; i < who->first + who->n; i++) {
        const struct jp_rank *r = &report->result->ranks[p->by_process[i]];

        if (r->stalled_us && r->timed_ops >= JP_SLICES &&
            (!view->in_use || view->in_use[r->comm]))
            least = fmin(least, (double) r->stalled_us[part]);
    }
    return least;
}

/* Returns true if two communicators have the same shape: name and size. */
static bool is_alike(const struct jp_comm *a, const struct jp_comm *b)
{
    return a->n_ranks == b->n_ranks && a->type == b->type &&
           !strcmp(a->name ? a->name : "", b->name ? b->name : "");
}

/* Returns true if the finding is about this process or its node. */
static bool is_hit(const struct jp_report *report, const struct jp_finding *f,
                   const struct jp_process *who)
{
    (void) report;
    if (!f || strcmp(f->host, who->host) != 0)
        return false;
    return f->kind == JP_FINDING_LATE_NODE || f->pid == who->pid;
}

/* Returns the stalls of a rank over the whole run. */
static double stalls_of(const struct jp_rank *rank)
{
    double sum = 0;

    for (unsigned k = 0;
         rank->stalled_us && rank->timed_ops >= JP_SLICES && k < JP_SLICES; k++)
        sum += (double) rank->stalled_us[k];
    return sum;
}

/* Uses communicators of the shapes in which the stalling rank stands out. It
 * does not stand out in a communicator where ranks that waited for it elsewhere
 * are as late, such as a communicator of all ranks. Returns -1 when out of
 * memory. */
static int choose_comms(const struct jp_finding *f, struct view *view)
{
    const struct jp_result *r = view->report->result;
    const struct jp_processes *p = view->report->processes;
    double most = 0;

    view->in_use = calloc(r->n_comms + 1, sizeof(*view->in_use));
    if (!view->in_use)
        return -1;
    /* first the most, then all shapes with at least half of it */
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < r->n_ranks; i++) {
            double sum = is_hit(view->report, f, &p->list[p->of_rank[i]])
                             ? stalls_of(&r->ranks[i])
                             : 0;

            if (pass == 0)
                most = fmax(most, sum);
            else if (sum > 0 && sum >= most / 2)
                for (size_t c = 0; c < r->n_comms; c++)
                    view->in_use[c] |=
                        is_alike(&r->comms[c], &r->comms[r->ranks[i].comm]);
        }
    return 0;
}

/* Fills the strip's figures. Lateness of ranks that are not marked is reduced
 * to their own share, so that only the cause is dark. */
static void measure_parts(const struct view *view, part_of *of, struct strip *s)
{
    const struct jp_lateness *l = &view->report->insight->lateness[s->rank];
    double own = of == arrival && !s->hit ? own_share(l) : 1;
    unsigned n = 0;

    s->mean = s->most = 0;
    for (unsigned k = 0; k < JP_SLICES; k++) {
        s->part[k] = own * of(view, s->rank, k);
        if (!isfinite(s->part[k]))
            continue;
        s->mean += s->part[k];
        s->most = fmax(s->most, s->part[k]);
        n++;
    }
    /* stalls are summed up, lateness is a mean */
    s->told = n && of == stalled ? s->mean : n ? s->mean / n : NAN;
    /* the figure of the finding's sentence */
    if (n && of == arrival && l->ops > 0 && isfinite(l->told_us))
        s->told = own * l->told_us / l->ops;
    s->mean = n ? s->mean / n : NAN;
}

/* By world rank if all have one, else by node and number. */
static int by_place(const void *a, const void *b)
{
    const struct strip *x = a, *y = b;

    if (x->who->world_rank != y->who->world_rank)
        return x->who->world_rank < y->who->world_rank ? -1 : 1;
    return x->who < y->who ? -1 : x->who > y->who;
}

/* Lists each process once, in its first communicator of the shape. Returns NULL
 * when out of memory. */
static struct strip *strips_make(const struct view *view,
                                 const struct jp_finding *f, part_of *of,
                                 size_t *n)
{
    const struct jp_report *report = view->report;
    const struct jp_result *r = report->result;
    const struct jp_processes *p = report->processes;
    struct strip *list = calloc(r->n_ranks + 1, sizeof(*list));
    bool *seen = calloc(p->n + 1, sizeof(*seen));
    const struct jp_comm *like = rows_comm(r, (size_t) f->comm);

    *n = 0;
    for (size_t i = 0; list && seen && i < r->n_ranks; i++) {
        size_t process = p->of_rank[i];

        /* a process may be in several communicators of the shape */
        if (seen[process] || !is_alike(&r->comms[r->ranks[i].comm], like))
            continue;
        seen[process] = true;
        list[*n] = (struct strip){.rank = i, .who = &p->list[process]};
        list[*n].hit = is_hit(report, f, list[*n].who);
        measure_parts(view, of, &list[(*n)++]);
    }
    free(seen);
    if (list && *n)
        qsort(list, *n, sizeof(*list), by_place);
    return list;
}

/* Writes the rank by the name that the whole page uses, and where it ran. */
static void put_name(FILE *out, const struct jp_report *report,
                     const struct strip *s)
{
    char rank[JP_PROCESS_NAME_LEN], place[JP_PROCESS_NAME_LEN];

    processes_rank_name(report->processes, report->result, s->who, rank);
    processes_place(s->who, place);
    fputs("<span class=\"who\"><strong>rank ", out);
    html_out_short(out, rank, 34);
    fputs("</strong> ", out);
    html_out_short(out, place, 40);
    fputs("</span>", out);
}

/* Opens rows of colours; `most` has the darkest one. */
static void begin_strip(struct jp_json_stream *figures, double most, FILE *out)
{
    picture_begin(figures, "strip", out);
    json_stream_real(figures, "most", most);
    json_stream_array(figures, "rows");
}

static void end_strip(struct jp_json_stream *figures)
{
    json_stream_end_array(figures);
    picture_end(figures);
}

/* Draws a rank's row with its name and its figure. */
static void put_strip(FILE *out, const struct jp_report *report,
                      const struct strip *s, double most)
{
    struct jp_json_stream figures;
    char text[JP_PLAIN_FIGURE];

    fprintf(out, "<div class=\"row%s\">", s->hit ? " hit" : "");
    put_name(out, report, s);
    begin_strip(&figures, most, out);
    picture_numbers(&figures, NULL, s->part, JP_SLICES);
    end_strip(&figures);
    fprintf(out, "<span class=\"num\">%s</span></div>\n",
            isfinite(s->told) ? plain_time(fmax(s->told, 0), text) : "-");
}

/* Writes beside the thin rows where the marked ranks are. Ranks of one node
 * share a mark. */
static void put_marks(FILE *out, const struct strip *list, size_t n,
                      bool of_node)
{
    enum { MARKS = 5 };
    const struct strip *last = NULL;
    unsigned marks = 0;

    fputs("<span class=\"who marks\">", out);
    for (size_t i = 0; i < n && marks < MARKS; i++) {
        const struct strip *s = &list[i];

        if (!s->hit || (last && !strcmp(last->who->host, s->who->host)))
            continue;
        last = s;
        marks++;
        fprintf(out, "<b style=\"top:%.1f%%\">",
                100 * ((double) i + 0.5) / (double) n);
        if (of_node || s->who->world_rank < 0)
            html_out_short(out, s->who->host, 20);
        else
            fprintf(out, "rank %" PRId64, s->who->world_rank);
        fputs("</b>", out);
    }
    fputs("</span>", out);
}

/* Draws all ranks as thin rows; a row for several ranks shows the latest. The
 * names of marked ranks are listed below. */
static void put_field(FILE *out, const struct strip *list, size_t n,
                      double most, bool of_node)
{
    size_t rows = n < ROWS_DRAWN ? n : ROWS_DRAWN;
    struct jp_json_stream figures;

    fprintf(out,
            "<p class=\"key\">All %s ranks, the first on top</p>\n"
            "<div class=\"row field\">",
            FIG_COUNT(n));
    put_marks(out, list, n, of_node);
    begin_strip(&figures, most, out);
    for (size_t row = 0; row < rows; row++) {
        double part[JP_SLICES] = {0};

        /* the row stands for these ranks: take the largest of each part */
        for (size_t i = row * n / rows; i < (row + 1) * n / rows; i++)
            for (unsigned k = 0; k < JP_SLICES; k++)
                if (list[i].part[k] > part[k])
                    part[k] = list[i].part[k];
        picture_numbers(&figures, NULL, part, JP_SLICES);
    }
    end_strip(&figures);
    fputs("<span class=\"num\"></span></div>\n", out);
}

/* The marked ranks first, then the latest. */
static int by_mean(const void *a, const void *b)
{
    const struct strip *x = a, *y = b;
    double mx = isfinite(x->mean) ? x->mean : -1;
    double my = isfinite(y->mean) ? y->mean : -1;

    if (x->hit != y->hit)
        return x->hit ? -1 : 1;
    return mx > my ? -1 : mx < my;
}

/* For many ranks: draws the marked ones and the latest of the others. */
static void put_latest(FILE *out, const struct jp_report *report,
                       struct strip *list, size_t n, double most)
{
    enum { MARKED = 8, OTHERS = 3 };
    size_t shown[2] = {0};

    qsort(list, n, sizeof(*list), by_mean);
    for (size_t i = 0; i < n; i++)
        if (shown[list[i].hit]++ < (list[i].hit ? MARKED : OTHERS))
            put_strip(out, report, &list[i], most);
}

/* Writes the time axis and the key. what: the meaning of the colours; told:
 * that of the figures. */
static void put_scale(FILE *out, double most, const char *what,
                      const char *told)
{
    char text[JP_PLAIN_FIGURE];

    fprintf(out,
            "<div class=\"scale\"><span>start of the run</span><span>end</span>"
            "<span class=\"unit\">%s</span></div>\n<p class=\"key\"><i "
            "class=\"h0\"></i> on time ",
            told);
    for (unsigned i = 1; i < LEVELS; i++)
        fprintf(out, "<i class=\"h%u\"></i>", i);
    fprintf(out, " %s or more %s</p>\n", plain_time(most, text), what);
}

/* Draws the strips of a finding. Returns as a proof_picture. */
static int strips_write(const struct jp_report *report,
                        const struct jp_finding *f, part_of *of,
                        const char *kind, const char *what, FILE *out)
{
    char caption[160];
    struct view view = {.report = report};
    struct strip *list = NULL;
    double most = 0, usual = 0;
    size_t n, hits = 0;
    bool others = false;

    if (!f || f->comm < 0 || !report->result || !report->processes ||
        !report->insight || !report->insight->lateness)
        return 1;
    if (of != stalled || choose_comms(f, &view) == 0)
        list = strips_make(&view, f, of, &n);
    free(view.in_use);
    if (!list)
        return -1;
    for (size_t i = 0; i < n; i++) {
        hits += list[i].hit;
        if (list[i].hit || !f->host[0])
            most = fmax(most, list[i].most);
    }
    /* a single extreme part, such as a warm-up, must not make the others look
     * pale */
    for (size_t i = 0; i < n; i++)
        if (list[i].hit && isfinite(list[i].mean))
            usual = fmax(usual, list[i].mean);
    if (of == arrival && usual > 0)
        most = fmin(most, 1.5 * usual);
    if (!hits || n < 2 || !(most > 0)) {
        free(list);
        return 1;
    }
    if (of == stalled)
        snprintf(caption, sizeof(caption), "Stalls of each rank over the run");
    else
        snprintf(caption, sizeof(caption),
                 "Own lateness of each rank at its %.40s collectives",
                 rows_comm(report->result, (size_t) f->comm)->name);
    html_out_proof(out, kind, caption);
    if (n <= ROWS_NAMED) {
        for (size_t i = 0; i < n; i++)
            put_strip(out, report, &list[i], most);
    } else {
        put_field(out, list, n, most, f->kind == JP_FINDING_LATE_NODE);
        put_latest(out, report, list, n, most);
    }
    put_scale(out, most, what, of == stalled ? "in all" : "mean");
    for (size_t i = 0; i < n; i++)
        others |= !list[i].hit && isfinite(list[i].mean) &&
                  list[i].mean > usual / 2;
    html_out_proof_end(out, of == arrival && usual > 0 && others
                                ? "Unmarked ranks that are equally late had "
                                  "waited for the marked ones in other "
                                  "operations."
                                : NULL);
    free(list);
    return 0;
}

int proof_strips(const struct jp_report *report, const struct jp_finding *f,
                 FILE *out)
{
    if (f && finding_is_stall(f->kind))
        return strips_write(report, f, stalled, "stalls",
                            "of stalls in a twentieth of the run", out);
    return strips_write(report, f, arrival, "arrivals",
                        "late in each operation", out);
}

/* --- no rank stands out --------------------------------------------------- */

#define BINS 61   /* odd: the middle bin is "like its peers" */
#define REACH 1.5 /* the axis ends at this multiple of the line */

/* Gets the process's own excess as a share of the run, and the smallest excess
 * that would have been called late, both from the communicator with the best
 * resolution. The answer on late ranks uses the same figures. Returns false if
 * the process was not judged. */
static bool excess_of(const struct jp_report *report, size_t process,
                      double *share, double *least)
{
    const struct jp_processes *p = report->processes;
    const struct jp_process *who = &p->list[process];

    *least = INFINITY;
    for (size_t i = who->first; i < who->first + who->n; i++) {
        const struct jp_lateness *l =
            &report->insight->lateness[p->by_process[i]];

        if (!l->judged || !(l->run_us > 0) || !isfinite(l->excess_us) ||
            !(l->stated_us / l->run_us < *least))
            continue;
        *least = l->stated_us / l->run_us;
        *share = l->excess_us / l->run_us;
    }
    return isfinite(*least);
}

/* Draws the histogram, with a line at the limit. */
static void put_columns(FILE *out, const double *bins)
{
    struct jp_json_stream figures;
    double most = 1;

    for (unsigned i = 0; i < BINS; i++)
        most = fmax(most, bins[i]);
    fputs("<div class=\"plot\">", out);
    picture_begin(&figures, "columns", out);
    json_stream_real(&figures, "from", 0);
    json_stream_real(&figures, "full", most);
    json_stream_real(&figures, "limit", BINS / 2.0 * (1 + 1 / REACH));
    picture_numbers(&figures, "values", bins, BINS);
    picture_end(&figures);
    fputs("</div>\n", out);
}

int proof_excess(const struct jp_report *report, const struct jp_finding *f,
                 FILE *out)
{
    const struct jp_insight *x = report->insight;
    const struct jp_processes *p = report->processes;
    double least = 0, share, own, most = 0;
    double bins[BINS] = {0};
    uint64_t n = 0;
    char note[200], text[JP_PLAIN_FIGURE];

    (void) f;
    for (size_t i = 0; x && x->lateness && p && i < p->n; i++)
        if (excess_of(report, i, &share, &own)) {
            least = fmax(least, own);
            n++;
        }
    if (n < 2 || !(least > 0))
        return 1;
    for (size_t i = 0; i < p->n; i++) {
        double at;

        if (!excess_of(report, i, &share, &own))
            continue;
        most = fmax(most, share);
        /* -REACH to REACH times the limit, mapped to the bins */
        at = (share / (REACH * least) + 1) / 2 * BINS;
        bins[(unsigned) fmin(fmax(at, 0), BINS - 1)]++;
    }
    html_out_proof(out, "excess", "How far each rank is from its peers");
    put_columns(out, bins);
    fprintf(out,
            "<div class=\"scale\"><span>earlier than its peers</span><span>"
            "like them</span><span class=\"limit\">%s of the run: would be "
            "called late</span></div>\n",
            plain_share(least, text));
    snprintf(note, sizeof(note), "The latest of %s ranks costs %s of the run.",
             FIG_COUNT(n), plain_share(fmax(most, 0), text));
    html_out_proof_end(out, note);
    return 0;
}

/* --- processes with missing records --------------------------------------- */

#define COLUMNS 256 /* most bars; with more processes, several share one */
#define SHORT 0.8   /* share of the mean below which a bar is marked ... */
#define CHANCE 4    /* ... unless this number of its square roots explains it */

/* The records of each process, and what they are compared with. */
struct loads {
    uint64_t *records;
    double *level; /* the records as they would be with the communicators of the
                      process that has most; the bars' heights */
    bool scaled;   /* the processes have different communicators */
};

static void loads_fini(struct loads *loads)
{
    free(loads->records);
    free(loads->level);
}

/* The most records that a rank has in each communicator. NULL without memory.
 * Caller frees. */
static uint64_t *fullest_ranks(const struct jp_result *r)
{
    uint64_t *fullest = calloc(r->n_comms + 1, sizeof(*fullest));

    for (size_t i = 0; fullest && i < r->n_ranks; i++) {
        const struct jp_rank *rank = &r->ranks[i];

        if (rank->records > fullest[rank->comm])
            fullest[rank->comm] = rank->records;
    }
    return fullest;
}

/* Counts the records of each process. A process with fewer communicators than
 * others has fewer records, and misses none: its level is by what the fullest
 * rank of each of its communicators has. Communicators of which it has no
 * record at all do not count: nobody knows that it is in them. Returns -1
 * without memory. */
static int count_loads(const struct jp_report *report, struct loads *out)
{
    const struct jp_processes *p = report->processes;
    const struct jp_result *r = report->result;
    uint64_t *fullest = fullest_ranks(r);
    double *of = calloc(p->n + 1, sizeof(*of)), most = 0;

    *out = (struct loads){calloc(p->n + 1, sizeof(*out->records)),
                          calloc(p->n + 1, sizeof(*out->level)), false};
    if (!fullest || !of || !out->records || !out->level) {
        loads_fini(out);
        free(fullest);
        free(of);
        return -1;
    }
    for (size_t i = 0; i < r->n_ranks; i++) {
        size_t who = p->of_rank[i];

        out->records[who] += r->ranks[i].records;
        of[who] += (double) fullest[r->ranks[i].comm];
        most = fmax(most, of[who]);
    }
    for (size_t i = 0; i < p->n; i++) {
        /* more than what losses of the fullest ranks explain */
        bool other = of[i] > 0 && of[i] < most - CHANCE * sqrt(most);

        out->scaled |= other;
        out->level[i] = (double) out->records[i] * (other ? most / of[i] : 1);
    }
    free(fullest);
    free(of);
    return 0;
}

/* The scale of the bars: where they begin, how many records a complete process
 * has, and the mean of all processes. */
struct axis {
    double from, full, mean;
};

/* Returns true for fewer records than others of the same step have by chance.
 */
static bool is_short(double records, double mean)
{
    return records < SHORT * mean && records < mean - CHANCE * sqrt(mean);
}

/* Returns the level of a bar, which is the least of the processes that share
 * it. *marked: it has a process of the finding, or one with too few records. */
static double bar_level(const struct jp_report *report,
                        const struct jp_finding *f, const struct loads *loads,
                        const struct axis *axis, size_t bar, bool *marked)
{
    const struct jp_processes *p = report->processes;
    size_t n = p->n, bars = n < COLUMNS ? n : COLUMNS;
    double level = axis->full;

    *marked = false;
    for (size_t i = bar * n / bars; i < (bar + 1) * n / bars; i++) {
        level = fmin(level, loads->level[i]);
        *marked |= (f && is_hit(report, f, &p->list[i])) ||
                   is_short(loads->level[i], axis->mean);
    }
    return level;
}

/* Draws a bar for each process. expected: the records of a process on average
 * if none were missing; NaN: unknown. Returns true if a bar is marked. */
static bool put_records(const struct jp_report *report,
                        const struct jp_finding *f, const struct loads *loads,
                        const struct axis *axis, double expected, FILE *out)
{
    size_t n = report->processes->n, bars = n < COLUMNS ? n : COLUMNS;
    struct jp_json_stream figures;
    bool marked, any = false;

    picture_begin(&figures, "columns", out);
    /* all digits: bars may begin just below their ends */
    json_stream_fixed(&figures, "from", axis->from, 3);
    json_stream_fixed(&figures, "full", axis->full, 3);
    json_stream_fixed(&figures, "base", expected, 3);
    json_stream_array(&figures, "values");
    for (size_t i = 0; i < bars; i++)
        json_stream_fixed(&figures, NULL,
                          bar_level(report, f, loads, axis, i, &marked), 3);
    json_stream_end_array(&figures);
    json_stream_array(&figures, "marked");
    for (size_t i = 0; i < bars; i++) {
        bar_level(report, f, loads, axis, i, &marked);
        if (marked)
            json_stream_count(&figures, NULL, i);
        any |= marked;
    }
    json_stream_end_array(&figures);
    picture_end(&figures);
    return any;
}

int proof_records(const struct jp_report *report, const struct jp_finding *f,
                  FILE *out)
{
    const struct jp_processes *p = report->processes;
    size_t n = p ? p->n : 0;
    double most = 0, least = INFINITY, mean = 0, full;
    double coverage = report->verdict->coverage;
    uint64_t fewest = UINT64_MAX, greatest = 0;
    char note[400], name[JP_PROCESS_NAME_LEN];
    struct loads loads;
    size_t lowest = 0;
    struct axis axis;
    bool any;

    if (n < 2 || !report->result)
        return 1;
    if (count_loads(report, &loads) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, loads.level[i]);
        lowest = loads.level[i] < least ? i : lowest;
        least = fmin(least, loads.level[i]);
        mean += loads.level[i] / (double) n;
        fewest = loads.records[i] < fewest ? loads.records[i] : fewest;
        greatest = loads.records[i] > greatest ? loads.records[i] : greatest;
    }
    full = fmax(most, coverage > 0 && coverage < 1 ? mean / coverage : 0);
    if (!(full > 0)) {
        loads_fini(&loads);
        return 1;
    }
    axis = (struct axis){0, full, mean};
    /* If few records are missing, whole bars would look alike. */
    if (2 * least > full && least < full)
        axis.from = fmax(0, floor(full - 4 * (full - least)));
    html_out_proof(out, "records", "Records of each process");
    fputs("<div class=\"plot\">", out);
    any = put_records(report, f, &loads, &axis,
                      coverage > 0 && coverage < 1 ? mean / coverage : NAN,
                      out);
    fprintf(out,
            "</div>\n<div class=\"scale\"><span>first process</span>"
            "<span>%s</span><span>last</span></div>\n",
            coverage > 0 && coverage < 1 ? "dashed: expected on average" : "");
    processes_name(p, report->result, &p->list[lowest], name);
    if (fewest == greatest && !loads.scaled)
        snprintf(note, sizeof(note), "%s of each process.", FIG_COUNT(fewest));
    else
        snprintf(note, sizeof(note), "From %s to %s. Fewest%s: %s%.120s.%s",
                 FIG_COUNT(fewest), FIG_COUNT(greatest),
                 loads.scaled ? " by its communicators" : "",
                 isdigit((unsigned char) *name) ? "rank " : "", name,
                 any ? "" : " No rank stands out.");
    if (loads.scaled)
        snprintf(note + strlen(note), sizeof(note) - strlen(note),
                 " Ranks have different communicators: a bar is the share of "
                 "what the fullest rank of each of them has.");
    if (loads.scaled && axis.from > 0)
        snprintf(note + strlen(note), sizeof(note) - strlen(note),
                 " Bars begin at %.0f %%.", 100 * axis.from / axis.full);
    else if (axis.from > 0)
        snprintf(note + strlen(note), sizeof(note) - strlen(note),
                 " Bars begin at %s.", FIG_COUNT((uint64_t) axis.from));
    html_out_proof_end(out, note);
    loads_fini(&loads);
    return 0;
}
