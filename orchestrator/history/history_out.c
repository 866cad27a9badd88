/* history_out.c - print the tables of many steps as text, JSON and OpenMetrics,
 * and write the steps as a table in a format of other tools.
 *
 * history_put chooses the form. The columns of the tables are described in
 * history_tables.c, and orchestrator/table/ writes them. */
#include "orchestrator/history/history_sum.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/json_stream.h"
#include "common/num.h"
#include "common/quote.h"

/* Users who are named with what was left out of them. */
enum { LEFT_USERS = 20 };

/* --- text ----------------------------------------------------------------- */

/* Prints a table. of: number of rows without the limit. */
static void put_table(const struct jp_table *table,
                      const struct history_row *rows, size_t n, size_t of,
                      FILE *out)
{
    const struct table_source source = {.rows = rows, .n = n};

    quote_printf(out, "\n%s", table->title);
    /* --rows has cut the table */
    if (n < of)
        fprintf(out, " (%zu of %zu)", n, of);
    fputs("\n", out);
    table_show(table, &source, TABLE_FOR_PEOPLE, out);
}

/* Prints sentences about what was not read; nothing if everything was read. */
static void put_seen(const struct history_seen *seen,
                     const struct history_totals *totals, FILE *out)
{
    if (seen->unreadable)
        fprintf(out,
                "%s folder%s or file%s not readable for you: %s left out\n",
                FIG_COUNT(seen->unreadable), plural(seen->unreadable),
                seen->unreadable == 1 ? " is" : "s are",
                seen->unreadable == 1 ? "it is" : "they are");
    /* not an error: any user may put such files there */
    if (seen->strangers)
        fprintf(out,
                "%s folder%s or file%s left out: wrong owner, a link, a device "
                "or another file system\n",
                FIG_COUNT(seen->strangers), plural(seen->strangers),
                seen->strangers == 1 ? " is" : "s are");
    if (seen->bad_lines)
        fprintf(out, "%s bad line%s skipped\n", FIG_COUNT(seen->bad_lines),
                seen->bad_lines == 1 ? " is" : "s are");
    if (seen->cut)
        fprintf(out,
                "%s user%s too much to read: only the newest part was read\n",
                FIG_COUNT(seen->cut), seen->cut == 1 ? " has" : "s have");
    if (totals->unlisted)
        fprintf(out, "%s step%s no usable list of nodes\n",
                FIG_COUNT(totals->unlisted),
                totals->unlisted == 1 ? " has" : "s have");
}

/* A user of whom something was left out. */
struct left_user {
    const char *name;
    const uint64_t *left;
    uint64_t sum;
};

/* Most first. */
static int by_left(const void *a, const void *b)
{
    const struct left_user *x = a, *y = b;

    return (x->sum < y->sum) - (x->sum > y->sum);
}

/* Finds the users of whom something was left out, the worst first, at most
 * LEFT_USERS. *all: how many there are. */
static size_t find_left(const struct history_sum *sum,
                        struct left_user users[LEFT_USERS], size_t *all)
{
    struct left_user one;
    size_t n = 0;

    *all = 0;
    for (size_t u = 0; (one.left = history_sum_left(sum, u, &one.name)); u++) {
        one.sum = 0;
        for (int i = 0; i < HISTORY_LEFTS; i++)
            one.sum = num_add(one.sum, one.left[i]);
        *all += one.sum > 0;
        if (!one.sum || (n == LEFT_USERS && one.sum <= users[n - 1].sum))
            continue;
        /* in place of the least */
        n += n < LEFT_USERS;
        users[n - 1] = one;
        qsort(users, n, sizeof(*users), by_left);
    }
    return n;
}

/* Prints a sentence about each user of whom something was left out. */
static void put_left(const struct history_sum *sum, FILE *out)
{
    struct left_user users[LEFT_USERS];
    size_t all, n = find_left(sum, users, &all);

    for (size_t u = 0; u < n; u++) {
        const char *between = ": ";

        quote_printf(out, "left out of %s", users[u].name);
        for (int i = 0; i < HISTORY_LEFTS; i++)
            if (users[u].left[i]) {
                fprintf(out, "%s%s %s", between, FIG_COUNT(users[u].left[i]),
                        history_limits[i].text);
                between = ", ";
            }
        fputs("\n", out);
    }
    if (n < all)
        fprintf(out, "left out of %s more users\n", FIG_COUNT(all - n));
}

/* The same as an array. */
static void put_left_json(struct jp_json_stream *s,
                          const struct history_sum *sum)
{
    struct left_user users[LEFT_USERS];
    size_t all, n = find_left(sum, users, &all);

    json_stream_array(s, "left_out");
    for (size_t u = 0; u < n; u++) {
        json_stream_object(s, NULL);
        json_stream_text(s, "user", users[u].name);
        for (int i = 0; i < HISTORY_LEFTS; i++)
            if (users[u].left[i])
                json_stream_count(s, history_limits[i].word, users[u].left[i]);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Prints what was read, and the result in one sentence. */
static void put_head(const struct history_sum *sum,
                     const struct history_about *about, FILE *out)
{
    const struct history_totals *t = history_sum_totals(sum);

    fprintf(out, "%s step%s of %s job%s, %s user%s, %s node%s",
            FIG_COUNT(t->steps), plural(t->steps), FIG_COUNT(t->jobs),
            plural(t->jobs), FIG_COUNT(t->users), plural(t->users),
            FIG_COUNT(t->nodes), plural(t->nodes));
    if (t->steps)
        fprintf(out, ", %.10s to %.10s", FIG_UTC(t->from_us),
                FIG_UTC(t->to_us));
    fputs("\n", out);
    put_seen(about->seen, t, out);
    put_left(sum, out);
    fprintf(out,
            "%s of the steps were checked for late ranks; in %s job%s nodes "
            "waited for another node\n",
            FIG_COUNT(t->judged), FIG_COUNT(t->votes), plural(t->votes));
    /* the sentence that most readers look for */
    if (t->slow)
        fprintf(out, "%s node%s others wait more often than chance explains\n",
                FIG_COUNT(t->slow), t->slow == 1 ? " makes" : "s make");
    else if (t->votes)
        fputs("no node makes others wait more often than chance explains\n",
              out);
}

/* Returns the number of rows to print; *of: without the limit. Without --top,
 * these are the tables that sites usually need, and in each the rows with a
 * result. Rows are sorted, so the others follow. */
static size_t shown(const struct history_sum *sum,
                    const struct history_about *about, enum history_top top,
                    size_t *of)
{
    const struct history_row *rows = history_sum_rows(sum, top, of);
    size_t n = 0;

    /* one table was requested: all its rows */
    if (about->top >= 0) {
        n = about->top == (int) top ? *of : 0;
    } else if (top == HISTORY_TOP_NODES) {
        while (n < *of && (rows[n].late || rows[n].hangs || rows[n].crashes))
            n++;
        *of = n;
    } else if (top == HISTORY_TOP_PAIRS) {
        while (n < *of && rows[n].slow)
            n++;
        *of = n;
    } else if (top == HISTORY_TOP_ACCOUNTS) {
        n = *of;
    }
    return n < about->rows ? n : about->rows;
}

/* Prints everything for people. */
static int put_text_tables(const struct history_sum *sum,
                           const struct history_about *about, FILE *out)
{
    put_head(sum, about, out);
    for (int top = 0; top < HISTORY_TOPS; top++) {
        size_t of, n = shown(sum, about, (enum history_top) top, &of);
        size_t all;

        if (n)
            put_table(&history_tables[top],
                      history_sum_rows(sum, (enum history_top) top, &all), n,
                      of, out);
    }
    return ferror(out) ? -1 : 0;
}

/* --- JSON ----------------------------------------------------------------- */

/* Writes a table as an array. */
static void put_rows(struct jp_json_stream *s, const struct history_sum *sum,
                     const struct history_about *about, enum history_top top)
{
    size_t n;
    const struct history_row *rows = history_sum_rows(sum, top, &n);
    struct table_source source;

    /* --top: the other tables are omitted */
    if (about->top >= 0 && about->top != (int) top)
        return;
    source = (struct table_source){.rows = rows,
                                   .n = n < about->rows ? n : about->rows};
    table_write_json(s, history_tables[top].name, &history_tables[top],
                     &source);
}

static const struct {
    const char *key;
    size_t at;
} totals[] =
    {
#define TOTAL(member)                                                          \
    {                                                                          \
#member, offsetof(struct history_totals, member)                       \
    }
        TOTAL(steps), TOTAL(jobs),     TOTAL(users),    TOTAL(accounts),
        TOTAL(nodes), TOTAL(judged),   TOTAL(votes),    TOTAL(tested),
        TOTAL(slow),  TOTAL(unlisted), TOTAL(left_out), TOTAL(from_us),
        TOTAL(to_us)
#undef TOTAL
},
  seens[] = {
#define SEEN(member)                                                           \
    {                                                                          \
#member, offsetof(struct history_seen, member)                         \
    }
      SEEN(users),    SEEN(files),     SEEN(bytes),      SEEN(lines),
      SEEN(repeated), SEEN(bad_lines), SEEN(unreadable), SEEN(strangers),
      SEEN(cut)
#undef SEEN
};

/* Writes everything as one JSON object. */
static int put_json(const struct history_sum *sum,
                    const struct history_about *about, FILE *out,
                    struct jp_error *err)
{
    const char *t = (const char *) history_sum_totals(sum);
    const char *seen = (const char *) about->seen;
    struct jp_json_stream s;

    json_stream_open(&s, JSON_FILE, out);
    /* docs/history.md has the members */
    json_stream_count(&s, "schema_version", 1);
    json_stream_object(&s, "totals");
    for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++)
        json_stream_count(
            &s, totals[i].key,
            *(const uint64_t *) (const void *) (t + totals[i].at));
    json_stream_end_object(&s);
    json_stream_object(&s, "seen");
    for (size_t i = 0; i < sizeof(seens) / sizeof(*seens); i++)
        json_stream_count(
            &s, seens[i].key,
            *(const uint64_t *) (const void *) (seen + seens[i].at));
    json_stream_end_object(&s);
    put_left_json(&s, sum);
    for (int top = 0; top < HISTORY_TOPS; top++)
        put_rows(&s, sum, about, (enum history_top) top);
    return json_stream_close(&s, err);
}

/* --- metrics -------------------------------------------------------------- */

/* A value with its labels, see history_sum_metric. */
struct series {
    const char *first, *second;
    double value;
};

#define LABEL(word, member)                                                    \
    {                                                                          \
        .label = (word), JP_FIELD(struct series, member)                       \
    }
#define METRIC(...)                                                            \
    {                                                                          \
        METRICS_OF(__VA_ARGS__), JP_FIELD(struct series, value)                \
    }

static const struct jp_column of_steps[] = {
    LABEL("verdict", first),
    LABEL("account", second),
    METRIC("jobprof_history_step_total", METRICS_COUNTER, NULL, METRICS_HISTORY,
           "Steps with a report."),
};
static const struct jp_column of_findings[] = {
    LABEL("kind", first),
    LABEL("node", second),
    METRIC("jobprof_history_finding_total", METRICS_COUNTER, NULL,
           METRICS_HISTORY, "Findings of reports."),
};
static const struct jp_column of_waits[] = {
    LABEL("node", first),
    METRIC("jobprof_history_wait_seconds_total", METRICS_COUNTER, "seconds",
           METRICS_HISTORY, "Time for which others have waited for the node."),
};
static const struct jp_column of_busy[] = {
    LABEL("account", first),
    METRIC("jobprof_history_gpu_busy_ratio", METRICS_GAUGE, "ratio",
           METRICS_HISTORY,
           "Mean share of time in which the account's GPUs run kernels."),
};
#undef LABEL
#undef METRIC

static const struct jp_table metrics[HISTORY_METRICS] = {
    [HISTORY_METRIC_STEPS] = {.help = "steps of a verdict and an account",
                              JP_COLUMNS(of_steps),
                              .row_size = sizeof(struct series),
                              .metrics_place = 80},
    [HISTORY_METRIC_FINDINGS] = {.help = "findings of a kind and a node",
                                 JP_COLUMNS(of_findings),
                                 .row_size = sizeof(struct series),
                                 .metrics_place = 81},
    [HISTORY_METRIC_WAITS] = {.help = "a node over all steps",
                              JP_COLUMNS(of_waits),
                              .row_size = sizeof(struct series),
                              .metrics_place = 82},
    [HISTORY_METRIC_BUSY] = {.help = "an account",
                             JP_COLUMNS(of_busy),
                             .row_size = sizeof(struct series),
                             .metrics_place = 83}};
const struct jp_table *const history_metrics[HISTORY_METRICS + 1] = {
    &metrics[HISTORY_METRIC_STEPS], &metrics[HISTORY_METRIC_FINDINGS],
    &metrics[HISTORY_METRIC_WAITS], &metrics[HISTORY_METRIC_BUSY], NULL};

/* Filling of the set of metrics. */
struct filling {
    struct metrics_set set;
    const struct jp_table *table;
    bool is_out_of_memory;
};

/* Adds a value to the set. A callback of history_sum_metric. */
static void fill_metric(void *arg, const char *first, const char *second,
                        double value)
{
    struct filling *f = arg;
    const struct series row = {first, second, value};

    if (metrics_add_rows(&f->set, f->table, &row, 1) < 0)
        f->is_out_of_memory = true;
}

/* Writes the metrics. Returns -1 and err on failure. */
static int put_metrics(const struct history_sum *sum,
                       enum metrics_format format, FILE *out,
                       struct jp_error *err)
{
    const struct metrics_how how = {.format = format};
    struct filling f = {.is_out_of_memory = false};
    int rc;

    metrics_init(&f.set);
    /* one pass over the sums for each metric */
    for (int m = 0; m < HISTORY_METRICS; m++) {
        f.table = &metrics[m];
        history_sum_metric(sum, (enum history_metric) m, fill_metric, &f);
    }
    rc = f.is_out_of_memory ? error_set(err, "out of memory")
                            : metrics_write(&f.set, &how, out, NULL, err);
    metrics_fini(&f.set);
    return rc;
}

/* --- what to do about slow nodes ------------------------------------------ */

/* Whether the name is one of a node, which a shell and Slurm read as it is. */
static bool is_node_name(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789._-";

    return *name && *name != '-' && *name != '.' && !name[strspn(name, plain)];
}

/* Writes "others waited longest for it in 7 of 9 jobs (0.4 expected), chance
 * 1e-06". */
static void put_evidence(FILE *out, const struct history_row *row)
{
    char text[JP_FIGURE_LEN];

    table_chance(row->chance, text);
    quote_printf(out,
                 "others waited longest for it in %s of %s jobs (%s expected), "
                 "chance %s",
                 FIG_COUNT(row->late), FIG_COUNT(row->jobs),
                 FIG_REAL(row->expected), text);
}

/* Prints why a node is left out of the next job. */
static void put_reason(FILE *notes, const struct history_row *row, bool one)
{
    quote_printf(notes, "jobprof: %s: ", row->name);
    put_evidence(notes, row);
    fputs(one ? "; these are the jobs of one user, whose program may be the "
                "cause\n"
              : "\n",
          notes);
}

/* Prints srun's option, or scontrol's commands. Without a slow node, only a
 * note. Always returns 0. */
static int put_orders(const struct history_sum *sum,
                      const struct history_about *about, FILE *out)
{
    const struct history_totals *all = history_sum_totals(sum);
    bool drain = about->form == HISTORY_AS_DRAIN, one = all->users == 1;
    const struct history_row *rows;
    size_t n, found = 0, odd = 0;

    rows = history_sum_rows(sum, HISTORY_TOP_NODES, &n);
    /* a program can make its own jobs slow: no node is drained for one user */
    for (size_t i = 0; i < n && !(drain && one); i++) {
        const struct history_row *row = &rows[i];

        if (!row->slow)
            continue;
        /* a line is foreign text, and this becomes a command */
        if (!is_node_name(row->name)) {
            odd++;
            if (about->notes)
                quote_printf(about->notes,
                             "jobprof: %s is no name of a node and is left "
                             "out\n",
                             row->name);
            continue;
        }
        if (drain) {
            quote_printf(out,
                         "scontrol update NodeName=%s State=DRAIN "
                         "Reason=\"jobprof: ",
                         row->name);
            put_evidence(out, row);
            fputs("\"\n", out);
        } else {
            quote_printf(out, "%s%s", found ? "," : "--exclude=", row->name);
            if (about->notes)
                put_reason(about->notes, row, one);
        }
        found++;
    }
    if (found && !drain)
        fputc('\n', out);
    if (!found && !odd && about->notes && !all->votes)
        quote_printf(about->notes,
                     "jobprof: no node is judged: in none of %s job%s a node "
                     "waited for another one\n",
                     FIG_COUNT(all->jobs), plural(all->jobs));
    else if (!found && !odd && about->notes)
        quote_printf(about->notes, "jobprof: %s, in %s job%s of %s user%s\n",
                     drain && one ? "the jobs of one user drain no node"
                                  : "no node makes others wait more often than "
                                    "chance explains",
                     FIG_COUNT(all->jobs), plural(all->jobs),
                     FIG_COUNT(all->users), plural(all->users));
    return 0;
}

/* The most nodes of the line at a submission. */
enum { TOLD_NODES = 8 };

/* Prints the line at a submission. sum: of one user's steps. Always returns
 * 0. */
static int put_told(const struct history_sum *sum, FILE *out)
{
    const struct history_row *slow[TOLD_NODES], *rows;
    size_t all, n = 0, more = 0;

    rows = history_sum_rows(sum, HISTORY_TOP_NODES, &all);
    for (size_t i = 0; i < all; i++)
        /* a line is foreign text, and this becomes an option */
        if (rows[i].slow && is_node_name(rows[i].name)) {
            if (n < TOLD_NODES)
                slow[n++] = &rows[i];
            else
                more++;
        }
    for (size_t i = 0; i < n; i++)
        quote_printf(out, "%s%s slowed %s of your last %s jobs there",
                     i ? ", " : "jobprof: ", slow[i]->name,
                     FIG_COUNT(slow[i]->late), FIG_COUNT(slow[i]->jobs));
    if (more)
        fprintf(out, ", and %s more nodes", FIG_COUNT(more));
    for (size_t i = 0; i < n; i++)
        quote_printf(out, "%s%s", i ? "," : ": --exclude=", slow[i]->name);
    if (n)
        fputs(" (why: jobprof history)\n", out);
    return 0;
}

int history_put(const struct history_sum *sum,
                const struct history_about *about, FILE *out,
                struct jp_error *err)
{
    int rc =
        about->form == HISTORY_AS_METRICS
            ? put_metrics(sum, about->format, out, err)
        : about->form == HISTORY_AS_EXCLUDE || about->form == HISTORY_AS_DRAIN
            ? put_orders(sum, about, out)
        : about->form == HISTORY_AS_TOLD ? put_told(sum, out)
        : about->form == HISTORY_AS_JSON ? put_json(sum, about, out, err)
                                         : put_text_tables(sum, about, out);

    if (rc < 0 || fflush(out) != 0)
        return error_set(err, "standard output failed");
    /* the text has these sentences in its head */
    if (about->notes && about->form != HISTORY_FOR_PEOPLE)
        put_seen(about->seen, history_sum_totals(sum), about->notes);
    if (about->notes && about->form != HISTORY_FOR_PEOPLE)
        put_left(sum, about->notes);
    return 0;
}

/* --- steps as rows of a table in a format of other tools ------------------ */

/* Columns of the finding with the longest wait; they follow the members of a
 * line. */
enum { LATE_KIND, LATE_NODE, LATE_RANK, LATE_WAIT, LATE_CAUSE, LATE_COLUMNS };
static const struct feature_column late_columns[LATE_COLUMNS] = {
    [LATE_KIND] = {"late_kind", FEATURE_TEXT},
    [LATE_NODE] = {"late_node", FEATURE_TEXT},
    [LATE_RANK] = {"late_rank", FEATURE_COUNT},
    [LATE_WAIT] = {"late_wait_s", FEATURE_REAL},
    [LATE_CAUSE] = {"late_cause", FEATURE_TEXT}};

struct history_sheet {
    const struct feature_sheet *format;
    void *sheet; /* the format's */
    const struct history_field *fields[FEATURE_COLUMNS_MAX];
    size_t n; /* number of fields; the columns of the finding follow */
    /* the row, and room for its texts */
    struct feature_value row[FEATURE_COLUMNS_MAX];
    char texts[FEATURE_COLUMNS_MAX][3 * HISTORY_TEXT];
};

/* Returns the kind of a line's member. */
static enum feature_cell kind_of(enum history_kind kind)
{
    switch (kind) {
    case HISTORY_WORD:
        return FEATURE_TEXT;
    case HISTORY_CLOCK:
        return FEATURE_CLOCK;
    case HISTORY_FLAG:
        return FEATURE_BOOL;
    case HISTORY_REAL:
        return FEATURE_REAL;
    default:
        return FEATURE_COUNT;
    }
}

struct history_sheet *history_sheet_create(FILE *out,
                                           const struct feature_sheet *format,
                                           struct jp_error *err)
{
    struct feature_column columns[FEATURE_COLUMNS_MAX];
    struct history_sheet *s = calloc(1, sizeof(*s));
    size_t n;

    if (!s) {
        error_set(err, "out of memory");
        return NULL;
    }
    s->format = format;
    for (const struct history_field *f = history_fields; f->kind; f++)
        /* arrays have no column; the longest wait represents the findings */
        if (f->kind != HISTORY_ROWS &&
            s->n < FEATURE_COLUMNS_MAX - LATE_COLUMNS) {
            columns[s->n] = (struct feature_column){f->key, kind_of(f->kind)};
            s->fields[s->n++] = f;
        }
    n = s->n;
    for (size_t i = 0; i < LATE_COLUMNS; i++)
        columns[n++] = late_columns[i];
    s->sheet = format->create(out, "history", columns, n, err);
    if (!s->sheet) {
        history_sheet_destroy(s);
        return NULL;
    }
    return s;
}

void history_sheet_destroy(struct history_sheet *s)
{
    if (!s)
        return;
    s->format->destroy(s->sheet);
    free(s);
}

/* Sets a text, made harmless, or unknown. */
static void set_text(struct history_sheet *s, size_t column,
                     struct history_text text)
{
    history_text_copy(text, s->texts[column], sizeof(s->texts[column]));
    s->row[column] =
        (struct feature_value){.known = text.len, .text = s->texts[column]};
}

/* Sets a count, a time or a flag. */
static void set_number(struct history_sheet *s, size_t column, uint64_t value)
{
    s->row[column] =
        (struct feature_value){.known = value != UINT64_MAX, .number = value};
}

static void set_real(struct history_sheet *s, size_t column, double value)
{
    s->row[column] =
        (struct feature_value){.known = isfinite(value), .real = value};
}

/* Sets the finding with the longest wait. */
static void set_late(struct history_sheet *s, const struct history_step *step)
{
    const struct history_finding none = {{"", 0},    {"", 0}, {"", 0}, {"", 0},
                                         UINT64_MAX, NAN,     NAN};
    const struct history_finding *late = &none;

    for (size_t i = 0; i < step->n_findings; i++)
        if (isfinite(step->findings[i].wait_s) &&
            !(step->findings[i].wait_s <= late->wait_s))
            late = &step->findings[i];
    /* all unknown without a finding */
    set_text(s, s->n + LATE_KIND, late->kind);
    set_text(s, s->n + LATE_NODE, late->node);
    set_number(s, s->n + LATE_RANK, late->rank);
    set_real(s, s->n + LATE_WAIT, late->wait_s);
    set_text(s, s->n + LATE_CAUSE, late->cause);
}

int history_sheet_add(struct history_sheet *s, const struct history_step *step,
                      const char *user, struct jp_error *err)
{
    struct history_step as_read = *step;

    /* the folder's owner is reliable, the line's text is not */
    if (user)
        as_read.user = (struct history_text){user, (uint32_t) strlen(user)};
    for (size_t i = 0; i < s->n; i++) {
        const struct history_field *f = s->fields[i];
        const void *at = (const char *) &as_read + f->at;

        if (f->kind == HISTORY_WORD)
            set_text(s, i, *(const struct history_text *) at);
        else if (f->kind == HISTORY_REAL)
            set_real(s, i, *(const double *) at);
        else
            set_number(s, i, *(const uint64_t *) at);
    }
    set_late(s, step);
    return s->format->add(s->sheet, s->row, err);
}

int history_sheet_finish(struct history_sheet *s, struct jp_error *err)
{
    return s->format->finish(s->sheet, err);
}
