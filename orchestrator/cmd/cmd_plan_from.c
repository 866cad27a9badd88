/* cmd_plan_from.c - make the next run's option from an earlier run's figures.
 *
 * plan_from_make reads the report, keeps the settings that the user has named,
 * and fills the others from the figures. plan_from_print shows the figures with
 * their origin. */
#include "orchestrator/cmd/cmd_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/grammar.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/agent/plan_view.h"
#include "orchestrator/table/text_cells.h"

/* Returns the knob of an NCCL setting, or NULL. */
static const struct jp_knob *knob_of(const char *key)
{
    int k = grammar_find_knob(grammar_nccl(), key);

    return k < 0 ? NULL : &grammar_nccl()->knobs[k];
}

/* Rounds up to two significant digits; a peak is not exact. */
static uint64_t round_up(uint64_t n)
{
    uint64_t unit = 1;

    while (n / unit >= 100)
        unit *= 10;
    return (n / unit + (n % unit != 0)) * unit;
}

/* Returns the number of iterations that the figures cover: from that run's
 * settings, or from the user now; otherwise the whole run counts as one. most:
 * the largest count that is divided by it. */
static uint64_t iterations_of(const struct plan_measured *m,
                              const struct jp_request *user, uint64_t most)
{
    const struct jp_knob *knob = knob_of("iterations");
    const char *said =
        user->values[grammar_find_knob(grammar_nccl(), "iterations")];
    uint64_t n = m->iterations, limit = knob_of("colls")->max;

    if (!n && said)
        knob_number(knob, said, &n, NULL);
    if (!n)
        n = 1;
    /* more iterations than named, so that the share fits in the knob */
    if (most / n >= limit)
        n = most / limit + 1;
    return n;
}

/* Returns total / iterations, rounded up. */
static uint64_t share(uint64_t total, uint64_t iterations)
{
    return total / iterations + (total % iterations != 0);
}

/* Estimates a count as it would be without lost records. */
static uint64_t whole_of(const struct plan_measured *m, uint64_t count)
{
    double whole;

    if (!m->records || m->expected <= m->records)
        return count;
    whole = (double) count * (double) m->expected / (double) m->records;
    /* rounds up; the margin absorbs errors of the division */
    return whole < 1e18 ? (uint64_t) (whole + 0.999999) : UINT64_MAX;
}

/* Returns the share of one iteration of a count, which is estimated if records
 * were lost. It tolerates 1 %: otherwise rounding up could add one to each
 * iteration, and each run would ask for another plan than the one before. */
static uint64_t share_of(const struct plan_measured *m, uint64_t count,
                         uint64_t iterations)
{
    uint64_t whole = whole_of(m, count);
    uint64_t slack = (count > iterations ? count : iterations) / 100;

    return share(whole - count > slack ? whole - slack : count, iterations);
}

/* Whether to set the key: the mode has it, and the user has not set it. */
static bool is_wanted(const struct jp_request *user, const char *key)
{
    int k = grammar_find_knob(grammar_nccl(), key);

    return !user->values[k] &&
           (grammar_nccl()->knobs[k].modes >> user->mode & 1);
}

/* Adds a figure, unless it is empty or the user has set the key. */
static void add_text(struct plan_from *from, const struct jp_request *user,
                     const char *key, const char *value)
{
    if (!*value || !is_wanted(user, key))
        return;
    from->figures[from->n].key = key;
    snprintf(from->figures[from->n++].value, sizeof(from->figures[0].value),
             "%s", value);
}

/* Adds a number, clamped to the knob's range. */
static void add_number(struct plan_from *from, const struct jp_request *user,
                       const char *key, uint64_t n)
{
    const struct jp_knob *knob = knob_of(key);
    char text[32];

    n = n > knob->max ? knob->max : n < knob->min ? knob->min : n;
    snprintf(text, sizeof(text), "%llu", (unsigned long long) n);
    add_text(from, user, key, text);
}

/* Adds all figures that the report has. */
static void add_figures(struct plan_from *from, const struct jp_request *user,
                        const struct plan_measured *m)
{
    uint64_t colls = whole_of(m, m->colls);
    uint64_t p2p = whole_of(m, m->p2p);
    uint64_t iterations = iterations_of(m, user, colls > p2p ? colls : p2p);

    add_number(from, user, "iterations", iterations);
    add_number(from, user, "colls", share_of(m, m->colls, iterations));
    /* 0: unknown, so the planner's default stays */
    if (m->comms)
        add_number(from, user, "comms", m->comms);
    /* that run has no count of Send and Recv, so plan none */
    if (m->p2p_off)
        add_text(from, user, "p2p", "off");
    else
        add_number(from, user, "p2p", share_of(m, m->p2p, iterations));
    if (m->rate)
        add_number(from, user, "rate", round_up(whole_of(m, m->rate)));
    add_text(from, user, "nccl", m->release);
}

/* Parses the user's words. out->mode is the mode that runs: X for plan,mode=X.
 * Without words it is the mode of the earlier run. */
static int parse_user(const char *word, const struct plan_measured *m,
                      struct jp_request *out, struct jp_error *err)
{
    const char *mode = *m->mode ? m->mode : "auto";
    int k = grammar_find_knob(grammar_nccl(), "mode");

    if (request_parse(grammar_nccl(), word ? word : mode, out, err) < 0)
        return -1;
    /* the next run should record, not plan again */
    if (!strcmp(grammar_nccl()->modes[out->mode].name, "plan")) {
        mode = out->values[k] ? out->values[k] : grammar_nccl()->knobs[k].def;
        out->mode = grammar_find_mode(grammar_nccl(), mode);
        /* the mode is in out->mode now */
        free(out->values[k]);
        out->values[k] = NULL;
    }
    return 0;
}

/* Returns MODE,key=value...: the figures, then what the user has set. Caller
 * frees; NULL without memory. */
static char *make_option(const struct plan_from *from,
                         const struct jp_request *user)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return NULL;
    quote_print(out, grammar_nccl()->modes[user->mode].name);
    for (size_t i = 0; i < from->n; i++)
        quote_printf(out, ",%s=%s", from->figures[i].key,
                     from->figures[i].value);
    for (size_t i = 0; i < grammar_nccl()->n_knobs; i++)
        /* the user's own settings, at the end */
        if (user->values[i])
            quote_printf(out, ",%s=%s", grammar_nccl()->knobs[i].name,
                         user->values[i]);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Returns the srun command with the option, quoted for a shell if necessary.
 * Caller frees; NULL without memory. */
static char *make_command(const char *option)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789"
                                "_./%,=:+@-";
    char *text = NULL;
    size_t len = 0;
    FILE *out;

    if (!option[strspn(option, plain)])
        return text_format("srun --nccl-profile=%s ...", option);
    out = open_memstream(&text, &len);
    if (!out)
        return NULL;
    fputs("srun --nccl-profile='", out);
    for (const char *c = option; *c; c++)
        /* a quote ends the text, is escaped, and the text begins again */
        if (*c == '\'')
            fputs("'\\''", out);
        else
            fputc(*c, out);
    fputs("' ...", out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

enum jp_exit plan_from_make(const char *step_dir, const char *word,
                            struct plan_from *out, struct jp_error *err)
{
    struct plan_from from = {.mode = !word};
    struct jp_request user = {0};
    enum jp_exit rc = plan_measure(step_dir, &from.measured, err);

    if (rc != JP_EXIT_OK)
        return rc;
    rc = JP_EXIT_USAGE;
    if (parse_user(word, &from.measured, &user, err) < 0)
        goto out;
    add_figures(&from, &user, &from.measured);
    from.option = make_option(&from, &user);
    if (from.option)
        from.command = make_command(from.option);
    if (!from.command) {
        error_set(err, "out of memory");
        goto out;
    }
    *out = from;
    /* *out owns the strings now */
    from = (struct plan_from){0};
    rc = JP_EXIT_OK;
out:
    request_fini(&user);
    plan_from_fini(&from);
    return rc;
}

void plan_from_fini(struct plan_from *from)
{
    free(from->measured.path);
    free(from->option);
    free(from->command);
    *from = (struct plan_from){0};
}

/* Whether the report is the source of the setting. */
static bool is_figure(const struct plan_from *from, const char *key)
{
    for (size_t i = 0; i < from->n; i++)
        if (!strcmp(from->figures[i].key, key))
            return true;
    /* the mode is the report's as well */
    return from->mode && !strcmp(key, "mode");
}

void plan_from_attribute(const struct plan_from *from, struct plan_view *view)
{
    for (size_t i = 0; i < view->n_settings; i++)
        if (is_figure(from, view->settings[i].key)) {
            /* the view borrows these strings */
            view->settings[i].source = (char *) "report";
            view->settings[i].where = from->measured.path;
        }
}

/* --- as text ------------------------------------------------------------- */

/* Adds a row: what, its value, and where it is from. */
static void add_row(struct text_cells *t, const char *what, const char *value,
                    const char *from)
{
    text_cells_add(t, "%s", what);
    text_cells_add(t, "%s", value);
    text_cells_add(t, "%s", from);
}

/* Adds the number of communicators, and how uneven they are: the planner
 * distributes a rank's collectives evenly. */
static void add_comms(struct text_cells *t, const struct plan_measured *m,
                      const char *counted)
{
    uint64_t even = m->comms ? m->colls / m->comms + (m->colls % m->comms != 0)
                             : 0;
    char from[160];

    if (m->comms_estimated)
        snprintf(from, sizeof(from),
                 "estimated: the report lists %s of %s communicators",
                 FIG_COUNT(m->listed.comms),
                 FIG_COUNT(num_add(m->listed.comms, m->left_out.comms)));
    add_row(t, "communicators of a rank", FIG_COUNT(m->comms),
            m->comms_estimated ? from : counted);
    /* one communicator cannot be uneven */
    if (m->comms < 2 || !even || !m->busiest)
        return;
    snprintf(from, sizeof(from),
             "the busiest communicator%s; %s if a rank's %s were equally busy",
             m->left_out.comms ? " among those listed" : "", FIG_COUNT(even),
             FIG_COUNT(m->comms));
    add_row(t, "collectives in one", FIG_COUNT(m->busiest), from);
}

/* Adds the rate of collectives. It is only a lower bound if the report leaves
 * out windows, and only an upper one without windows. */
static void add_rate(struct text_cells *t, const struct plan_measured *m)
{
    bool part = m->slice_us ? m->left_out.windows : m->left_out.comms;
    char value[JP_FIGURE_LEN + 16], from[192];

    if (!m->rate)
        return;
    snprintf(value, sizeof(value), "%s%s", part ? "at least " : "",
             FIG_COUNT(m->rate));
    if (!m->slice_us)
        snprintf(from, sizeof(from),
                 "operations of a communicator / their own time%s",
                 part ? "; not all communicators are listed"
                      : "; an upper limit");
    /* the busiest window may be one that is left out */
    else if (part)
        snprintf(from, sizeof(from),
                 "mean of a communicator's busiest %s; the report lists %s of "
                 "%s time slices",
                 FIG_US((double) m->slice_us), FIG_COUNT(m->listed.windows),
                 FIG_COUNT(num_add(m->listed.windows, m->left_out.windows)));
    else
        snprintf(from, sizeof(from),
                 "mean of a communicator's busiest %s; shorter bursts are not "
                 "visible",
                 FIG_US((double) m->slice_us));
    add_row(t, "collectives a second", value, from);
}

/* Adds the counts of one rank. */
static void add_counts(struct text_cells *t, const struct plan_measured *m)
{
    char from[128];

    if (m->mean)
        snprintf(from, sizeof(from),
                 "mean of %s ranks, because the report does not list all",
                 FIG_COUNT(m->processes));
    else
        snprintf(from, sizeof(from), "the maximum of %s process%s",
                 FIG_COUNT(m->processes), m->processes == 1 ? "" : "es");
    add_row(t, "collectives of a rank", FIG_COUNT(m->colls), from);
    add_row(t, "sends and receives of a rank", FIG_COUNT(m->p2p),
            m->p2p_off ? "the run recorded none (p2p=off)" : from);
    add_comms(t, m, from);
    add_rate(t, m);
}

/* Adds sizes and losses, and the settings of that run. */
static void add_losses(struct text_cells *t, const struct plan_measured *m)
{
    char from[160];

    snprintf(from, sizeof(from), "%s of raw files", FIG_BYTES(m->bytes));
    add_row(t, "bytes of an operation", FIG_COUNT(m->bytes / m->records), from);
    snprintf(from, sizeof(from), "the recorder counted %s lost",
             FIG_COUNT(m->lost));
    add_row(t, "records", FIG_COUNT(m->records), m->lost ? from : "");
    if (m->expected > m->records) {
        snprintf(from, sizeof(from),
                 "%s of them are in the report; the option plans for all",
                 FIG_SHARE((double) m->records / (double) m->expected));
        add_row(t, "records expected", FIG_COUNT(m->expected), from);
    }
    if (*m->release)
        add_row(t, "NCCL", m->release, "settings of that run");
    if (m->iterations)
        add_row(t, "iterations", FIG_COUNT(m->iterations),
                "settings of that run");
    if (m->nodes && m->tasks) {
        snprintf(from, sizeof(from), "%s rank%s on %s node%s",
                 FIG_COUNT(m->tasks), plural(m->tasks), FIG_COUNT(m->nodes),
                 plural(m->nodes));
        add_row(t, "ranks on a node",
                FIG_COUNT(m->tasks / m->nodes + (m->tasks % m->nodes != 0)),
                from);
    }
}

int plan_from_print(const struct plan_from *from, bool brief, FILE *out,
                    struct jp_error *err)
{
    const struct plan_measured *measured = &from->measured;
    struct text_cells head = {.n_columns = 1};
    struct text_cells table = {.n_columns = 3};

    /* both tables are still empty */
    if (brief) {
        quote_printf(out, "the next run, by %s:\n  %s\n", measured->path,
                     from->command);
        return 0;
    }
    text_cells_add(&head, "measured: %s", measured->path);
    if (text_cells_print(&head, 0, out, err) < 0)
        return -1;
    add_counts(&table, measured);
    add_losses(&table, measured);
    if (text_cells_print(&table, 2, out, err) < 0)
        return -1;
    /* last, to be copied */
    quote_printf(out, "\nthe next run:\n  %s\n\n", from->command);
    return 0;
}
