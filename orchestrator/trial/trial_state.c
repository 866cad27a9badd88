/* trial_state.c - write and read trial.json: plan, runs, and results.
 *
 * Results are written for other programs and never read back: trial_judge
 * computes them again from plan and runs. The file is foreign input, so it
 * goes through the functions that check a command line (trial_set_command,
 * trial_add_value, trial_count). */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/jsonload.h"
#include "common/ownplace.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/trial/trial.h"

/* Version of the file; docs/trial.schema.json describes it. */
#define SCHEMA 1

/* --- write ---------------------------------------------------------------- */

/* Writes the axes with their values. */
static void write_axes(const struct trial *t, struct jp_json_stream *s)
{
    json_stream_array(s, "axes");
    for (size_t i = 0; i < t->n_axes; i++) {
        const struct trial_axis *axis = &t->axes[i];

        json_stream_object(s, NULL);
        json_stream_text(s, "kind", trial_kinds[axis->kind].word);
        json_stream_text(s, "name", axis->name);
        json_stream_texts(s, "values", axis->values, axis->n, axis->n);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

/* Writes the result of a configuration. */
static void write_arm(const struct trial *t, size_t i, struct jp_json_stream *s)
{
    const struct trial_arm *arm = &t->arms[i];
    char label[400];

    json_stream_object(s, NULL);
    json_stream_text(s, "label", trial_label(t, i, label, sizeof(label)));
    json_stream_array(s, "values");
    for (size_t k = 0; k < t->n_axes; k++)
        json_stream_text(s, NULL, trial_value(t, i, k));
    json_stream_end_array(s);
    json_stream_text(s, "standing", trial_standing(t, i));
    json_stream_count(s, "runs", arm->n);
    /* NAN becomes null */
    json_stream_real(s, "mean_us", arm->mean_us);
    json_stream_real(s, "low_us", arm->low_us);
    json_stream_real(s, "high_us", arm->high_us);
    json_stream_real(s, "slower", arm->slower);
    json_stream_real(s, "slower_low", arm->slower_low);
    json_stream_real(s, "slower_high", arm->slower_high);
    json_stream_real(s, "p", arm->p);
    json_stream_end_object(s);
}

/* Writes a run. Unknown times are null. */
static void write_run(const struct trial_run *run, struct jp_json_stream *s)
{
    json_stream_object(s, NULL);
    json_stream_count(s, "configuration", run->config);
    json_stream_count(s, "round", run->round);
    json_stream_text(s, "status", trial_statuses[run->status]);
    json_stream_int(s, "exit_status", run->exit_status);
    json_stream_real(s, "wall_s", run->wall_s);
    json_stream_real(s, "iteration_us", run->iteration_us);
    json_stream_count(s, "iteration_ops", run->iteration_ops);
    json_stream_real(s, "operation_us", run->operation_us);
    json_stream_text(s, "dir", run->dir);
    json_stream_text(s, "verdict", run->verdict);
    json_stream_text(s, "over", run->over);
    json_stream_text(s, "why", run->why);
    json_stream_end_object(s);
}

/* Writes the figures of the last look, and the limits that decide. */
static void write_statistics(const struct trial *t, struct jp_json_stream *s)
{
    json_stream_object(s, "statistics");
    json_stream_real(s, "noise", t->look.noise);
    json_stream_real(s, "detectable", t->look.detectable);
    json_stream_real(s, "level", t->look.level);
    json_stream_array(s, "limits");
    for (size_t i = 0; i < TRIAL_LIMITS; i++) {
        json_stream_object(s, NULL);
        json_stream_text(s, "name", trial_limits[i].name);
        json_stream_real(s, "value", trial_limits[i].value);
        /* so that a reader need not look into the source */
        json_stream_text(s, "reason", trial_limits[i].reason);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
    json_stream_end_object(s);
}

/* Writes a line for the script. A callback of trial_lines. */
static void put_line(void *arg, const char *line)
{
    json_stream_text(arg, NULL, line);
}

int trial_write(const struct trial *t, FILE *out, struct jp_error *err)
{
    struct jp_json_stream s;
    size_t choice = trial_choice(t);

    json_stream_open(&s, JSON_LINES, out);
    json_stream_count(&s, "schema_version", SCHEMA);
    json_stream_text(&s, "generator", "jobprof " JP_VERSION);
    json_stream_text(&s, "end", trial_ends[t->end]);
    json_stream_text(&s, "finding", trial_findings[t->look.finding]);
    json_stream_text(&s, "text", t->text);
    json_stream_text(&s, "measure", trial_measures[t->measure]);
    /* null: nothing is recommended */
    json_stream_known(&s, "choice", choice < t->n_configs, choice);
    json_stream_array(&s, "lines");
    trial_lines(t, put_line, &s);
    json_stream_end_array(&s);
    json_stream_count(&s, "seed", t->seed);
    json_stream_count(&s, "rounds", t->rounds);
    json_stream_count(&s, "limit_us", t->limit_us);
    /* from here on the plan, which --continue needs */
    json_stream_text(&s, "profile", t->profile);
    json_stream_texts(&s, "command", t->command, t->n_words, t->n_words);
    write_axes(t, &s);
    write_statistics(t, &s);
    json_stream_array(&s, "configurations");
    for (size_t i = 0; i < t->n_configs; i++)
        write_arm(t, i, &s);
    json_stream_end_array(&s);
    json_stream_array(&s, "runs");
    for (size_t i = 0; i < t->n_runs; i++)
        write_run(&t->runs[i], &s);
    json_stream_end_array(&s);
    return json_stream_close(&s, err);
}

int trial_save(const struct trial *t, const char *dir, struct jp_error *err)
{
    char *path = text_format("%s/" TRIAL_NAME, dir);
    struct jp_tempfile file;
    int rc = -1;

    if (!path)
        return error_set(err, "out of memory");
    if (fileio_temp_open(&file, path, err) == 0) {
        /* by rename: the job that runs the trial may be killed at any time */
        if (trial_write(t, file.stream, err) == 0)
            rc = fileio_temp_commit(&file, err);
        else
            fileio_temp_abort(&file);
    }
    free(path);
    return rc;
}

/* --- read ----------------------------------------------------------------- */

/* Returns the index of the word, or -1. */
static int find_word(const char *const *words, int n, const char *word)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

/* Returns the kind of an axis, or -1. */
static int find_kind(const char *word)
{
    for (int i = 0; i < TRIAL_KINDS; i++)
        if (!strcmp(trial_kinds[i].word, word))
            return i;
    return -1;
}

/* Reads an axis. */
static int read_axis(struct trial *t, const json_t *axis, struct jp_error *err)
{
    const json_t *values = json_object_get(axis, "values");
    int kind = find_kind(json_tree_text(axis, "kind"));

    if (kind < 0)
        return error_set(err, "an axis of an unknown kind");
    /* an axis without values is not added at all */
    for (size_t i = 0; i < json_array_size(values); i++) {
        const char *value = json_string_value(json_array_get(values, i));

        /* trial_add_value refuses "" */
        if (trial_add_value(t, (enum trial_kind) kind,
                            json_tree_text(axis, "name"), value ? value : "",
                            err) < 0)
            return -1;
    }
    return 0;
}

/* Reads srun's command and the profile. */
static int read_command(struct trial *t, const json_t *root,
                        struct jp_error *err)
{
    const json_t *list = json_object_get(root, "command");
    const char *profile = json_tree_text(root, "profile");
    size_t n = json_array_size(list);
    char *words[TRIAL_WORDS_MAX];
    int rc;

    if (!n || n >= TRIAL_WORDS_MAX)
        return error_set(err, "no command, or one that is too long");
    for (size_t i = 0; i < n; i++) {
        /* borrowed from the tree; trial_set_command copies them */
        words[i] = (char *) json_string_value(json_array_get(list, i));
        if (!words[i])
            return error_set(err, "a word of the command is not text");
    }
    /* this sets a default profile, which the saved one replaces below */
    rc = trial_set_command(t, words, n, err);
    if (rc == 0 && *profile && strlen(profile) < TRIAL_TEXT_MAX) {
        char *copy = strdup(profile);

        if (!copy)
            return error_set(err, "out of memory");
        free(t->profile);
        t->profile = copy;
    }
    return rc;
}

/* Returns a copy of a text, truncated. Caller frees; NULL without memory. */
static char *text_of(const json_t *object, const char *key)
{
    return strndup(json_tree_text(object, key), TRIAL_TEXT_MAX - 1);
}

/* Returns a time, or NAN if it is missing or absurd. */
static double time_of(const json_t *object, const char *key)
{
    double v = json_tree_real(object, key);

    return v > 0 && v < 1e15 ? v : NAN;
}

/* Reads a run and checks that it fits the plan. */
static int read_run(struct trial *t, const json_t *in, struct jp_error *err)
{
    struct trial_run *run = &t->runs[t->n_runs];
    int status =
        find_word(trial_statuses, TRIAL_STATUSES, json_tree_text(in, "status"));
    uint64_t config, round;

    if (t->n_runs == TRIAL_ALL_RUNS_MAX || status < 0 ||
        !json_tree_count(in, "configuration", &config) ||
        !json_tree_count(in, "round", &round) || config >= t->n_configs ||
        /* a run may not count twice */
        round >= t->rounds || trial_has_run(t, config, round))
        return error_set(err, "run %zu does not match the plan", t->n_runs + 1);
    *run = (struct trial_run){
        .config = config,
        .round = round,
        .status = (enum trial_status) status,
        .exit_status = status == TRIAL_OK ? 0 : 1,
        .wall_s = time_of(in, "wall_s"),
        .iteration_us = time_of(in, "iteration_us"),
        .operation_us = time_of(in, "operation_us"),
        .dir = text_of(in, "dir"),
        .verdict = text_of(in, "verdict"),
        .over = text_of(in, "over"),
        .why = text_of(in, "why"),
    };
    /* counted before the checks below, so that trial_free frees its strings */
    t->n_runs++;
    /* the number of operations decides whether iterations can be compared */
    if (!json_tree_count(in, "iteration_ops", &run->iteration_ops) ||
        !run->iteration_ops)
        run->iteration_us = NAN;
    if (json_tree_real(in, "exit_status") > 0 &&
        json_tree_real(in, "exit_status") < 256)
        run->exit_status = (int) json_tree_real(in, "exit_status");
    if (!run->dir || !run->verdict || !run->over || !run->why)
        return error_set(err, "out of memory");
    return 0;
}

/* Reads plan and runs, in this order: a run is checked against the plan. */
static int read_all(struct trial *t, const json_t *root, struct jp_error *err)
{
    const json_t *axes = json_object_get(root, "axes");
    const json_t *runs = json_object_get(root, "runs");
    uint64_t version = 0;
    int end = find_word(trial_ends, TRIAL_ENDS, json_tree_text(root, "end"));

    if (!json_tree_count(root, "schema_version", &version) ||
        version != SCHEMA || end < 0)
        return error_set(err, "this is not a trial of schema_version %d",
                         SCHEMA);
    if (!json_tree_count(root, "seed", &t->seed) ||
        !json_tree_count(root, "limit_us", &t->limit_us) ||
        !json_tree_count(root, "rounds", &t->rounds) || t->rounds < 1 ||
        t->rounds > TRIAL_RUNS_MAX)
        return error_set(err, "seed, rounds or limit_us is missing or wrong");
    if (read_command(t, root, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(axes); i++)
        if (read_axis(t, json_array_get(axes, i), err) < 0)
            return -1;
    /* n_configs is needed for the runs */
    if (trial_count(t, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(runs); i++)
        if (read_run(t, json_array_get(runs, i), err) < 0)
            return -1;
    t->end = (enum trial_end) end;
    return 0;
}

struct trial *trial_parse(const char *text, size_t len, const char *name,
                          struct jp_error *err)
{
    json_t *root = jsonload(JSONLOAD_TRIAL, name, text, len, 0, err);
    struct trial *t = root ? trial_new() : NULL;

    if (root && !t)
        error_set(err, "out of memory");
    if (t && read_all(t, root, err) < 0) {
        error_wrap(err, "%s", name);
        trial_free(t);
        t = NULL;
    }
    json_decref(root);
    /* finds the dropped configurations and the result again */
    if (t)
        trial_judge(t);
    return t;
}

struct trial *trial_load(const char *dir, enum trial_use use,
                         struct jp_error *err)
{
    char *path = text_format("%s/" TRIAL_NAME, dir), *text = NULL;
    struct trial *t = NULL;
    size_t len;
    int fd = path ? fileio_open_regular(path, false, err)
                  : error_set(err, "out of memory");

    /* bounded: the file is foreign input */
    if (fd >= 0 &&
        (use == TRIAL_READ ||
         ownplace_check_owner(fd, path, false, err) == 0) &&
        fileio_read_fd(fd, path, jsonload_limits[JSONLOAD_TRIAL].bytes, &text,
                       &len, err) == 0)
        t = trial_parse(text, len, path, err);
    if (fd >= 0)
        close(fd);
    free(text);
    free(path);
    return t;
}
