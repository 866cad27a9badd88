/* metricstext.c - read the text of a step's metrics, which its user wrote.
 *
 * metricstext_read splits the text into lines; take_line parses one
 * (name{label="value",...} value), finds its metric and its labels in the
 * tables, and adds it to the set. */
#include "orchestrator/metrics/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/quote.h"

/* A sample. The strings are in the line, which is changed. */
struct sample {
    const struct jp_table *table;       /* NULL: none of ours */
    size_t metric;                      /* its metric */
    const char *labels[METRICS_LABELS]; /* in the order of the table */
    double value;
};

static char *skip_blanks(char *at)
{
    return at + strspn(at, " \t");
}

/* Finds the metric of that name which a running step has. */
static void find_metric(const struct jp_table *const *tables, const char *name,
                        size_t len, struct sample *s)
{
    const struct metrics_row *row;

    for (; tables && *tables && !s->table; tables++)
        for (size_t i = 0; (row = metrics_at(*tables, i)); i++)
            if ((row->told & METRICS_RUNNING) && strlen(row->name) == len &&
                memcmp(row->name, name, len) == 0) {
                s->table = *tables;
                s->metric = i;
                break;
            }
}

/* The index of the label of that name; METRICS_LABELS: the table has none. */
static size_t find_label(const struct sample *s, const char *name, size_t len)
{
    const char *label;

    for (size_t i = 0;
         i < METRICS_LABELS && (label = metrics_label(s->table, i)); i++)
        if (strlen(label) == len && memcmp(label, name, len) == 0)
            return i;
    return METRICS_LABELS;
}

/* Unescapes a label's value in place; at is behind its first quote. Returns the
 * byte behind its last one, or NULL. */
static char *take_value(char *at, const char **value)
{
    char *to = at;

    *value = at;
    for (; *at && *at != '"'; at++) {
        if (*at == '\\') {
            at++;
            /* the three escapes of the format */
            if (*at != '"' && *at != '\\' && *at != 'n')
                return NULL;
        }
        /* the set replaces a line break, so its escape need not become one */
        *to++ = *at;
    }
    if (!*at)
        return NULL;
    *to = '\0';
    return at + 1;
}

/* Parses the labels; at is behind "{". Returns the byte behind "}", or NULL and
 * err. */
static char *take_labels(char *at, struct sample *s, struct jp_error *err)
{
    size_t i, len;

    for (at = skip_blanks(at); *at != '}'; at = skip_blanks(at)) {
        char *name = at;

        len = strcspn(name, "=\" \t{},");
        at = skip_blanks(name + len);
        i = find_label(s, name, len);
        if (i == METRICS_LABELS || s->labels[i]) {
            error_set(err, "a label that %s does not have, or has twice",
                      metrics_at(s->table, s->metric)->name);
            return NULL;
        }
        if (*at != '=' || *(at = skip_blanks(at + 1)) != '"' ||
            !(at = take_value(at + 1, &s->labels[i]))) {
            error_set(err, "a label without a value in quotes");
            return NULL;
        }
        at = skip_blanks(at);
        /* the last one may have a comma, too */
        if (*at == ',')
            at++;
        else if (*at != '}') {
            error_set(err, "labels without a comma between them");
            return NULL;
        }
    }
    return at + 1;
}

/* Parses a line without its line break. Returns -1 and err if it is no sample
 * that a step may have. */
static int take_sample(char *line, const struct metricstext *of,
                       struct sample *s, struct jp_error *err)
{
    size_t len = strspn(line, "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:");
    char *at = skip_blanks(line + len), *end;

    *s = (struct sample){.table = NULL};
    find_metric(metrics_of_steps, line, len, s);
    find_metric(of->tables, line, len, s);
    if (!s->table)
        return error_set(err, "not a metric of a running step");
    if (*at != '{')
        return error_set(err, "no labels");
    at = take_labels(at + 1, s, err);
    if (!at)
        return -1;
    at = skip_blanks(at);
    /* strtod takes hexadecimal numbers and words, too; a value that is not
     * finite is not written again */
    s->value = strtod(at, &end);
    if (end == at || *skip_blanks(end))
        return error_set(err, "no number behind the labels, or more than it");
    return 0;
}

/* The value of the label of that name; NULL: the table has none. */
static const char **label_of(struct sample *s, const char *name)
{
    size_t i = find_label(s, name, strlen(name));

    return i < METRICS_LABELS ? &s->labels[i] : NULL;
}

/* Checks whose sample it is: every metric of a running step has the job and the
 * step among its labels. Sets the labels for which the file's word does not
 * count. */
static int check_whose(struct sample *s, struct metricstext *of,
                       struct jp_error *err)
{
    const char **job = label_of(s, "jobid"), **step = label_of(s, "step");
    const char **user = label_of(s, "user");
    char word[METRICSFILE_STEP_BYTES], number[24];

    if (!job)
        job = label_of(s, "slurm_job_id");
    /* one form only, because "042" is another series than "42" */
    snprintf(number, sizeof(number), "%" PRIu64, of->job);
    if (!job || !*job || strcmp(*job, number) != 0)
        return error_set(err, "the labels name no job, or another job");
    if (!step || !*step || strcmp(metricsfile_word(*step, word), of->step) != 0)
        return error_set(err, "the labels name no step, or another step");
    if (user) {
        *user = of->user;
        if (of->account)
            *label_of(s, "account") = of->account;
        if (of->partition)
            *label_of(s, "partition") = of->partition;
    }
    return 0;
}

/* Adds the sample to the set. Returns -1 without memory. */
static int add_sample(struct sample *s, struct metricstext *of,
                      struct metrics_set *set)
{
    double *values;

    /* would not be written */
    if (!isfinite(s->value))
        return 0;
    values = metrics_add_texts(set, s->table, s->labels);
    if (!values)
        return -1;
    /* the same series again: the last value counts */
    of->series += isnan(values[s->metric]) != 0;
    values[s->metric] = s->value;
    if (s->table == &metrics_step && !*of->node)
        /* one buffer of this size each */
        clean_text(*label_of(s, "node") ?: "", JP_CLEAN_UTF8, of->node,
                   sizeof(of->node));
    return 0;
}

/* Takes a line of len bytes, which ends with a NUL in place of its line break.
 * Returns -1 without memory. */
static int take_line(char *line, size_t len, struct metricstext *of,
                     struct metrics_set *set)
{
    struct sample s;
    struct jp_error err = {""};
    char *at;
    int rc = -1;

    if (len > METRICSTEXT_LINE)
        error_set(&err, "a line of over %d bytes", METRICSTEXT_LINE);
    else if (memchr(line, '\0', len))
        error_set(&err, "a NUL");
    else if (at = skip_blanks(line), !*at || *at == '#')
        return 0; /* TYPE and HELP come from our table */
    else if (take_sample(at, of, &s, &err) == 0)
        rc = check_whose(&s, of, &err);
    if (rc < 0) {
        if (!of->bad_lines++)
            clean_text(err.text, JP_CLEAN_UTF8, of->bad, sizeof(of->bad));
        return 0;
    }
    if (of->series >= of->max_series) {
        of->left_out++;
        return 0;
    }
    return add_sample(&s, of, set);
}

uint64_t metricstext_job(const char *text, size_t len)
{
    static const char *const names[] = {"jobid=\"", "slurm_job_id=\""};
    uint64_t job = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !job; i++) {
        size_t n = strlen(names[i]), digits = 0;
        const char *at = memmem(text, len, names[i], n);
        char number[24];

        if (!at)
            continue;
        at += n;
        while (digits + 1 < sizeof(number) && at + digits < text + len &&
               at[digits] >= '0' && at[digits] <= '9')
            digits++;
        memcpy(number, at, digits);
        number[digits] = '\0';
        /* a job's number has 32 bits; on failure it stays 0 */
        (void) num_parse_u64(number, 1, UINT32_MAX, &job, NULL);
    }
    return job;
}

int metricstext_read(char *text, size_t len, struct metricstext *of,
                     struct metrics_set *set)
{
    of->series = of->bad_lines = of->left_out = 0;
    of->node[0] = of->bad[0] = '\0';
    for (size_t at = 0; at < len;) {
        char *end = memchr(text + at, '\n', len - at);

        /* a file appears by rename, so a last line without an end is an error
         */
        if (!end) {
            if (!of->bad_lines++)
                snprintf(of->bad, sizeof(of->bad), "the last line has no end");
            break;
        }
        *end = '\0';
        if (take_line(text + at, (size_t) (end - text) - at, of, set) < 0)
            return -1;
        at = (size_t) (end - text) + 1;
    }
    return 0;
}
