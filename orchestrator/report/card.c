/* card.c - lay out the card from a summary.json, and print the line or card
 * that srun shows.
 *
 * The card has at most 12 lines, the most important first. put_card writes it
 * in one of four forms (enum form), from whole to shortest; card_print takes
 * the first form that fits. summary.json is read without trust: every text is
 * cleaned, every member may be missing. */
#include "orchestrator/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/profiler.h"
#include "common/quote.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/summary_file.h"

/* one less if there are findings, one less on a narrow terminal, and one less
 * if there is a note */
#define CELLS_SHOWN 4
#define FINDINGS_SHOWN 3 /* the verdict's own among them */
#define NEXT_BYTES 200   /* advice and checks */
#define JUDGED_BYTES 260 /* three lines */
#define PACE_BYTES 400   /* cut to one line when printed */
#define WHY_BYTES 260    /* three lines */
#define USED_BYTES 400   /* what was sampled */
/* bytes of a finding that are searched for in the verdict */
#define SAID_BYTES 80
#define VERDICT_BYTES 270 /* three lines */

/* Returns true if the locale (LC_ALL, LC_CTYPE, LANG) is UTF-8. */
static bool clean_locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

/* Returns the escape sequence for a verdict's word; "" if colour is false. */
static const char *card_colour(const char *word, bool colour)
{
    static const struct {
        const char *word, *code;
    } colours[] = {
        {"OK", "\033[1;32m"},       {"NODATA", "\033[1m"},
        {"UNJUDGED", "\033[1m"},    {"INCOMPLETE", "\033[1;33m"},
        {"DEGRADED", "\033[1;33m"}, {"SLOW", "\033[1;31m"},
        {"FAILED", "\033[1;31m"},   {"HANG", "\033[1;31m"},
    };

    for (size_t i = 0; colour && i < sizeof(colours) / sizeof(*colours); i++)
        if (!strcmp(word, colours[i].word))
            return colours[i].code;
    return "";
}

static const char *card_colour_end(bool colour)
{
    return colour ? "\033[0m" : "";
}

/* The verdict's word. "" if there is no verdict to give, as nobody asked for
 * one: UNJUDGED of a step that was only sampled. */
static const char *word_of(const struct summary_file *s)
{
    return summary_file_is(s, "UNJUDGED") && summary_file_without_nccl(s) &&
                   !feature_reported(s->root)
               ? ""
               : s->verdict.word;
}

/* Writes the word, in colour, and the verdict in plain words on at most three
 * lines. */
static void put_verdict(const struct summary_file *s, bool colour,
                        unsigned columns, FILE *out)
{
    const char *word = word_of(s);
    char text[VERDICT_BYTES];

    clean_text(summary_file_sentence(s->verdict.plain, s->verdict.text),
               JP_CLEAN_ASCII, text, sizeof(text));
    fputs("jobprof: ", out);
    fputs(card_colour(word, colour), out);
    quote_print(out, word);
    fputs(card_colour_end(colour), out);
    if (*word)
        fputc(' ', out);
    text_out_wrap_fit(out, columns, (unsigned) strlen(word) + 9 + (*word != 0),
                      9, text);
}

char *card_of(uint64_t some, uint64_t all, char *buf, size_t size)
{
    char parts[2][JP_FIGURE_LEN] = {"-", "-"};

    if (some != JSON_UNKNOWN)
        figure_count(some, parts[0]);
    if (all != JSON_UNKNOWN)
        figure_count(all, parts[1]);
    snprintf(buf, size, "%s/%s", parts[0], parts[1]);
    return buf;
}

/* Returns the total that the coverage refers to. */
static const char *share_of(const struct summary_file *s, char *buf,
                            size_t size)
{
    uint64_t unseen = s->quality.unseen_records;

    /* only if all expected records are there: else the coverage shows that some
     * are missing */
    if (!unseen || unseen == JSON_UNKNOWN ||
        s->quality.records == JSON_UNKNOWN ||
        s->quality.records != s->quality.expected)
        return "of those expected";
    snprintf(buf, size, "of those any rank recorded, %s more by none",
             FIG_COUNT(unseen));
    return buf;
}

/* Prints ranks, nodes and records that were seen, of those expected. Nothing
 * without records of NCCL. */
static void put_data(const struct summary_file *s, unsigned columns, FILE *out)
{
    const char *kind = s->quality.expected_kind;
    double coverage = s->quality.coverage;
    char ranks[64], nodes[64], share[JP_FIGURE_LEN], whole[80];
    uint64_t n = s->quality.records;
    bool known;

    if (n == JSON_UNKNOWN || summary_file_without_nccl(s))
        return;
    card_of(s->quality.nodes_seen, s->quality.nodes_expected, nodes,
            sizeof(nodes));
    known = strcmp(nodes, "-/-") != 0; /* a folder of logs has no nodes */
    text_out_fit(
        out, columns, "  data     ranks %s%s%s   %s record%s, %s %s%s%.20s%s",
        card_of(s->quality.ranks_seen, s->quality.ranks_expected, ranks,
                sizeof(ranks)),
        known ? "   nodes " : "", known ? nodes : "", FIG_COUNT(n), plural(n),
        isfinite(coverage) ? figure_share(coverage, share) : "unknown share",
        share_of(s, whole, sizeof(whole)), *kind ? " (" : "", kind,
        *kind ? ")" : "");
}

/* Prints how small an effect would have been seen, and what was not judged. */
static void put_judged(const struct summary_file *s, unsigned columns,
                       FILE *out)
{
    char text[JUDGED_BYTES];

    clean_text(s->verdict.judged, JP_CLEAN_ASCII, text, sizeof(text));
    if (!*text)
        return;
    fputs("  judged   ", out);
    text_out_wrap_fit(out, columns, 11, 11, text);
}

/* Prints the recorder's own cost, and the warm-up if there is one. Returns the
 * number of lines. */
static unsigned put_notes(const struct summary_file *s, unsigned columns,
                          FILE *out)
{
    double share = s->quality.overhead.share;
    char left[80] = "", took[120] = "", percent[JP_FIGURE_LEN];
    uint64_t ops = s->warmup.ops;

    if (ops && ops != JSON_UNKNOWN)
        snprintf(left, sizeof(left),
                 "warm-up: first %s operation%s, %.1f x the time, left out",
                 FIG_COUNT(ops), plural(ops), s->warmup.times);
    if (isfinite(share))
        snprintf(took, sizeof(took), "recorder: %s of the time%s",
                 quality_overhead_percent(share, percent), *left ? "; " : "");
    /* both share a line, so the card keeps its height */
    if (*left || *took)
        text_out_fit(out, columns, "  note     %s%s", took, left);
    return *left || *took;
}

/* Prints which profiler ran in place of the requested one, and why. Returns the
 * number of lines. */
static unsigned put_stand_in(const struct summary_file *s, unsigned columns,
                             FILE *out)
{
    const char *mode = s->job.nccl_mode;
    const char *request = s->job.nccl_request;
    char why[NEXT_BYTES], *where;
    const char *title;

    clean_text(s->job.n_settings ? s->job.settings[0].reason : "",
               JP_CLEAN_ASCII, why, sizeof(why));
    /* auto is no profiler, and its choice needs no excuse */
    if (!*mode || !strcmp(mode, "off") || !strcmp(request, mode) ||
        !strcmp(request, "auto") || !*why)
        return 0;
    title = profiler_title(mode);
    /* where it is set is in the report */
    where = strstr(why, " (the site file");
    if (where)
        *where = '\0';
    text_out_fit(out, columns, "  note     %s%s ran, as %s",
                 strncmp(title, "the ", 4) ? "" : "jobprof's ",
                 strncmp(title, "the ", 4) ? title : title + 4, why);
    return 1;
}

/* Picks the cells of most time, heaviest first. Returns their number. */
static size_t pick_cells(const struct summary_file *s,
                         const struct summary_cell **picked)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_cells; i++) {
        const struct summary_cell *cell = &s->cells[i];
        size_t at = n < CELLS_SHOWN ? n++ : CELLS_SHOWN;

        if (at == CELLS_SHOWN) {
            /* the list is full and this cell is lighter than all */
            if (summary_cell_time(cell) <=
                summary_cell_time(picked[CELLS_SHOWN - 1]))
                continue;
            at--;
        }
        /* insertion into the short sorted list */
        for (; at > 0 &&
               summary_cell_time(cell) > summary_cell_time(picked[at - 1]);
             at--)
            picked[at] = picked[at - 1];
        picked[at] = cell;
    }
    return n;
}

/* The columns for the lowest and highest bandwidth need a wide terminal. */
static void put_row(FILE *out, unsigned columns, const char *const texts[9])
{
    bool wide = columns >= JP_CARD_MAX_COLUMNS;

    /* a width of 0 with an empty text leaves one blank only */
    text_out_fit(out, columns, "  %-11.11s %-15s %9s %9s %8s %*s %*s %9s %9s",
                 texts[0], texts[1], texts[2], texts[3], texts[4], wide ? 8 : 0,
                 wide ? texts[5] : "", wide ? 8 : 0, wide ? texts[6] : "",
                 texts[7], texts[8]);
}

/* Writes a row of the card's table: one kind of operation. */
static void put_cell(const struct summary_cell *cell, unsigned columns,
                     FILE *out)
{
    bool sized = cell->msg_size_bytes != JSON_UNKNOWN;
    bool counted = cell->ops != JSON_UNKNOWN;
    char coll[16];

    put_row(out, columns,
            (const char *[]){
                cell->comm_type,
                clean_text(cell->coll, JP_CLEAN_ASCII, coll, sizeof(coll)),
                sized ? FIG_BYTES(cell->msg_size_bytes) : "-",
                counted ? FIG_COUNT(cell->ops) : "-",
                FIG_GBS(cell->busbw_gbs.p50), FIG_GBS(cell->busbw_gbs.min),
                FIG_GBS(cell->busbw_gbs.max), FIG_US(cell->exec_us.p50),
                FIG_US(cell->exec_us.p99)});
}

/* Writes the cells of most time, fewer if other lines need the room. notes: the
 * number of lines that put_notes wrote. */
static void put_cells(const struct summary_file *s, unsigned columns,
                      unsigned notes, FILE *out)
{
    const struct summary_cell *picked[CELLS_SHOWN + 1];
    size_t n = pick_cells(s, picked), most = CELLS_SHOWN;

    /* the verdict takes one more line if lines are short */
    most -= s->n_findings > 0;
    most -= columns < JP_CARD_MAX_COLUMNS;
    /* a note takes the place of a cell */
    most -= notes;
    n = n < most ? n : most;
    if (!n)
        return;
    put_row(out, columns,
            (const char *[]){"type", "function", "size", "ops", "GB/s p50",
                             "least", "most", "time p50", "p99"});
    for (size_t i = 0; i < n; i++)
        put_cell(picked[i], columns, out);
}

/* Returns true if the verdict contains the beginning of this text. The verdict
 * may be cut, so the whole text cannot be searched for. */
static bool is_said(const struct summary_file *s, const char *text)
{
    char begin[SAID_BYTES];

    snprintf(begin, sizeof(begin), "%s", text);
    return strstr(summary_file_sentence(s->verdict.plain, s->verdict.text),
                  begin);
}

/* Prints what coincides with the worst finding that has a known cause. */
static void put_why(const struct summary_file *s, unsigned columns, FILE *out)
{
    char text[WHY_BYTES];

    for (size_t i = 0; i < s->n_findings; i++) {
        clean_text(s->findings[i].why, JP_CLEAN_ASCII, text, sizeof(text));
        if (!*text)
            continue;
        fputs("  why      ", out);
        text_out_wrap_fit(out, columns, 11, 11, text);
        return;
    }
}

/* Prints findings that the verdict does not mention, and what to do about the
 * first; if `whole`, on as many lines as needed. */
static void put_findings(const struct summary_file *s, unsigned columns,
                         bool whole, FILE *out)
{
    char text[NEXT_BYTES];

    /* the verdict itself is the first of those shown */
    for (size_t i = 0, n = 1; i < s->n_findings && n < FINDINGS_SHOWN; i++) {
        const char *found =
            summary_file_sentence(s->findings[i].plain, s->findings[i].text);

        if (is_said(s, found))
            continue;
        clean_text(found, JP_CLEAN_ASCII, text, sizeof(text));
        text_out_clauses(out, columns, "also", text);
        n++;
    }
    clean_text(s->n_findings ? s->findings[0].next : "", JP_CLEAN_ASCII, text,
               sizeof(text));
    if (!*text)
        return;
    if (whole) {
        fputs("  next     ", out);
        text_out_wrap_fit(out, columns, 11, 11, text);
    } else {
        text_out_clauses(out, columns, "next", text);
    }
}

/* Prints what to check if no finding has advice, one line each. */
static void put_checks(const struct summary_file *s, unsigned columns,
                       FILE *out)
{
    char text[NEXT_BYTES];

    for (size_t i = 0; i < s->verdict.n_checks; i++) {
        clean_text(s->verdict.checks[i], JP_CLEAN_ASCII, text, sizeof(text));
        text_out_fit(out, columns, "  %s    %s", i ? "     " : "check", text);
    }
}

/* Whether a command with the job's number, typed in the current folder, finds
 * this directory. Only of a job that was never requeued: later runs have the
 * same number. */
static bool is_found_here(uint64_t job, const char *step, const char *step_dir)
{
    char path[128];
    struct stat found, real;

    snprintf(path, sizeof(path), "jobprof-%" PRIu64 "_r1", job);
    if (lstat(path, &found) == 0)
        return false;
    snprintf(path, sizeof(path), "jobprof-%" PRIu64 "/step-%.60s", job, step);
    return stat(path, &found) == 0 && stat(step_dir, &real) == 0 &&
           found.st_dev == real.st_dev && found.st_ino == real.st_ino;
}

/* Prints the command to type next, unless the verdict is OK. It names the
 * report so that the command works where the reader stands now. dir: the
 * report's, cleaned. by_id: JOBID leads to it. */
static void put_command(const struct summary_file *s, const char *dir,
                        bool by_id, unsigned columns, FILE *out)
{
    char command[FIRST_SCREEN_COMMAND], text[FIRST_SCREEN_TYPED], step[96];
    const char *step_id = s->job.step;
    uint64_t id = s->job.id;

    clean_text(s->verdict.command, JP_CLEAN_ASCII, command, sizeof(command));
    if (!*command || summary_file_is(s, "OK"))
        return;
    if (id == JSON_UNKNOWN)
        first_screen_typed(command, "", dir, text);
    else if (by_id || is_found_here(id, step_id, dir))
        snprintf(text, sizeof(text), "%s", command);
    else {
        snprintf(step, sizeof(step), "%" PRIu64 ".%.60s", id, step_id);
        first_screen_typed(command, step, dir, text);
    }
    /* a command that is cut does not work, so a long one has its own lines */
    fputs("  type     ", out);
    text_out_wrap_fit(out, columns, 11, 11, text);
}

/* Returns what was asked for and left no data; "" if everything is there. The
 * reason is in log.txt. */
static const char *missing_of(const struct summary_file *s)
{
    for (size_t i = 0; feature_registry[i]; i++) {
        const char *missing = feature_registry[i]->missing
                                  ? feature_registry[i]->missing(s)
                                  : NULL;

        if (missing)
            return missing;
    }
    return "";
}

/* Prints what is missing. Returns the number of lines. */
static unsigned put_missing(const struct summary_file *s, unsigned columns,
                            FILE *out)
{
    const char *missing = missing_of(s);

    if (*missing)
        text_out_fit(out, columns, "  missing  %s", missing);
    return *missing != 0;
}

/* Prints the lines of features: of those with figures of the step, or of the
 * others. */
static void put_features(const struct summary_file *s, unsigned columns,
                         bool figures, FILE *out)
{
    for (size_t i = 0; feature_registry[i]; i++)
        if (feature_registry[i]->card &&
            (feature_registry[i]->role == FEATURE_FIGURES) == figures)
            feature_registry[i]->card(s, columns, out);
}

/* What a card leaves out if it is too long, in this order. */
enum form { CARD_WHOLE, CARD_SHORT_NEXT, CARD_NO_CELLS, CARD_NOT_JUDGED };

/* Writes all lines in the given form. `dir` is cleaned already. */
static void put_card(const struct summary_file *s, const char *dir, bool by_id,
                     bool colour, unsigned columns, enum form form, FILE *out)
{
    unsigned notes;

    put_verdict(s, colour, columns, out);
    put_data(s, columns, out);
    if (form < CARD_NOT_JUDGED)
        put_judged(s, columns, out);
    notes = put_notes(s, columns, out);
    notes += put_stand_in(s, columns, out);
    notes += put_missing(s, columns, out);
    put_features(s, columns, true, out);
    put_why(s, columns, out);
    put_findings(s, columns, form == CARD_WHOLE, out);
    put_checks(s, columns, out);
    put_command(s, dir, by_id, columns, out);
    if (form < CARD_NO_CELLS)
        put_cells(s, columns, notes, out);
    put_features(s, columns, false, out);
    quote_printf(out, "  report   %s/report.html\n", dir);
}

static unsigned count_lines(const char *text)
{
    unsigned n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

void card_print(const struct summary_file *s, const char *step_dir, bool by_id,
                bool colour, unsigned columns, FILE *out)
{
    char dir[JP_CLEAN_MAX], *text = NULL;
    bool fits = false;

    if (columns < JP_CARD_MIN_COLUMNS)
        columns = JP_CARD_MIN_COLUMNS;
    if (columns > JP_CARD_MAX_COLUMNS)
        columns = JP_CARD_MAX_COLUMNS;
    clean_text(step_dir,
               clean_locale_is_utf8() ? JP_CLEAN_UTF8 : JP_CLEAN_ASCII, dir,
               sizeof(dir));
    /* into memory, to count the lines before anything is printed */
    for (int form = CARD_WHOLE; !fits && form <= CARD_NOT_JUDGED; form++) {
        size_t len;
        FILE *memory = open_memstream(&text, &len);

        if (!memory)
            break;
        put_card(s, dir, by_id, colour, columns, (enum form) form, memory);
        fits = fclose(memory) == 0 && count_lines(text) <= JP_CARD_MAX_LINES;
        if (fits)
            fputs(text, out); /* raw: its parts are cleaned */
        free(text);
        /* a failed open_memstream leaves the pointer as it is */
        text = NULL;
    }
    /* out of memory, or too long even so */
    if (!fits)
        put_card(s, dir, by_id, colour, columns, CARD_NOT_JUDGED, out);
}

/* --- the line or card that srun prints */

static bool is_terminal(FILE *out)
{
    int fd = fileno(out); /* -1: a stream in memory */

    return fd >= 0 && isatty(fd);
}

/* NO_COLOR counts when it is set and not empty: no-color.org */
static bool wants_colour(FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return is_terminal(out) && !(no_color && *no_color) && term && *term &&
           strcmp(term, "dumb");
}

/* Columns of the terminal; for other outputs the most that a card may have. */
static unsigned columns_of(FILE *out)
{
    int fd = fileno(out);
    struct winsize size;

    return fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col
               ? size.ws_col
               : JP_CARD_MAX_COLUMNS;
}

/* Prints one line for logs: the verdict and where the report is. */
static void print_line(const struct summary_file *s, const char *step_dir,
                       FILE *out)
{
    const char *word = word_of(s);
    enum jp_clean how = clean_locale_is_utf8() ? JP_CLEAN_UTF8 : JP_CLEAN_ASCII;
    bool colour = wants_colour(out);
    const char *said = summary_file_sentence(s->verdict.plain, s->verdict.text);
    const char *missing = missing_of(s);
    bool alone = !strcmp(said, JP_PLAIN_NOTHING);
    char text[1024], used[USED_BYTES], dir[JP_CLEAN_MAX];

    /* a log may be read by any program, so nothing raw goes into it */
    clean_text(said, how, text, sizeof(text));
    clean_text(step_dir, how, dir, sizeof(dir));
    clean_text(*word ? "" : s->samples.text, how, used, sizeof(used));
    fputs("jobprof: ", out);
    fputs(card_colour(word, colour), out);
    quote_print(out, word);
    fputs(card_colour_end(colour), out);
    /* a verdict without a reason points to the findings */
    /* without a verdict, what was sampled is the answer */
    quote_printf(out, "%s%s%s", *word ? " " : "", text,
                 alone ? JP_PLAIN_REASONS : "");
    if (*used)
        quote_printf(out, " %s.", used);
    if (*missing)
        quote_printf(out, " Missing: %s.", missing);
    quote_printf(out, " | report: %s/report.html\n", dir);
}

int report_print_line(const char *step_dir, enum jp_summary how, bool by_id,
                      FILE *out, struct jp_error *err)
{
    struct summary_file s;
    int rc = 0;

    if (how == JP_SUMMARY_OFF)
        return 0;
    /* the long tables are skipped: the card needs none of them */
    if (summary_file_read(step_dir, SUMMARY_WITHOUT_TABLES, &s, err) < 0)
        return -1;
    errno = 0;
    /* automatic: the card for people, the line for files and pipes */
    if (how == JP_SUMMARY_CARD || (how == JP_SUMMARY_AUTO && is_terminal(out)))
        card_print(&s, step_dir, by_id, wants_colour(out), columns_of(out),
                   out);
    else
        print_line(&s, step_dir, out);
    summary_file_fini(&s);
    if (fflush(out) || ferror(out))
        rc = error_set(err, "summary line: %s", strerror(errno));
    return rc;
}
