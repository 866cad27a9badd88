/* trial_judge.c - the result of a trial: measure, looks, sentences.
 *
 * trial_judge computes everything again from the runs, so a trial that is
 * continued or read from its file has the same result. One look is taken after
 * each complete round, with the data up to then, because an arm that a look has
 * dropped stays dropped. trial_stats.c has the statistics. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/trial/trial.h"

const char *const trial_statuses[TRIAL_STATUSES] = {
    [TRIAL_OK] = "ok",
    [TRIAL_FAILED] = "failed",
    [TRIAL_LATE] = "late",
    [TRIAL_NODATA] = "nodata",
};
const char *const trial_measures[TRIAL_MEASURES] = {
    [TRIAL_BY_ITERATION] = "iteration",
    [TRIAL_BY_OPERATION] = "operation",
};
const char *const trial_findings[TRIAL_FINDINGS] = {
    [TRIAL_TOO_LITTLE] = "too little",
    [TRIAL_NO_DIFFERENCE] = "no difference",
    [TRIAL_SEVERAL] = "several",
    [TRIAL_WINNER] = "winner",
};
const char *const trial_ends[TRIAL_ENDS] = {
    [TRIAL_OPEN] = "open",
    [TRIAL_DONE] = "done",
    [TRIAL_SETTLED] = "settled",
    [TRIAL_TIME_UP] = "time up",
    [TRIAL_INTERRUPTED] = "interrupted",
    [TRIAL_GAVE_UP] = "gave up",
};

bool trial_has_run(const struct trial *t, size_t config, size_t round)
{
    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].config == config && t->runs[i].round == round)
            return true;
    return false;
}

bool trial_goes_on(const struct trial *t, size_t config)
{
    /* one failure is enough: a configuration must run reliably */
    return !t->arms[config].dropped && !t->arms[config].failed;
}

/* Uses the report's iteration if all runs have one with the same number
 * of operations; otherwise the repetition is not the same. */
static enum trial_measure choose_measure(const struct trial *t)
{
    uint64_t ops = 0;

    for (size_t i = 0; i < t->n_runs; i++) {
        const struct trial_run *run = &t->runs[i];

        /* a failed run has no times */
        if (run->status != TRIAL_OK)
            continue;
        if (isnan(run->iteration_us) || (ops && run->iteration_ops != ops))
            return TRIAL_BY_OPERATION;
        /* all runs must agree with this one */
        ops = run->iteration_ops;
    }
    return TRIAL_BY_ITERATION;
}

/* Adds the times of a round to the arms. */
static void add_round(struct trial *t, size_t round)
{
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct trial_run *run = &t->runs[i];
        struct trial_arm *arm = &t->arms[run->config];
        double us = t->measure == TRIAL_BY_ITERATION ? run->iteration_us
                                                     : run->operation_us;

        if (run->round != round)
            continue;
        /* a run without the chosen time counts as failed, too */
        if (run->status != TRIAL_OK || !(us > 0))
            arm->failed = true;
        else if (arm->n < TRIAL_RUNS_MAX)
            arm->us[arm->n++] = us;
    }
}

/* Whether each configuration that goes on has a run in the round. */
static bool is_complete(const struct trial *t, size_t round)
{
    for (size_t i = 0; i < t->n_configs; i++)
        if (trial_goes_on(t, i) && !trial_has_run(t, i, round))
            return false;
    return true;
}

/* Returns the last round with a run; 0 without runs. */
static size_t last_round(const struct trial *t)
{
    size_t last = 0;

    for (size_t i = 0; i < t->n_runs; i++)
        if (t->runs[i].round > last)
            last = t->runs[i].round;
    return last;
}

/* --- sentences ------------------------------------------------------------ */

/* What is compared, for people. */
static const char *const measure_texts[TRIAL_MEASURES] = {
    [TRIAL_BY_ITERATION] = "a step of the program's loop, which each report "
                           "finds in the collectives",
    [TRIAL_BY_OPERATION] = "from the begin of the first collective to the end "
                           "of the last one, divided by the number of "
                           "collectives (not all runs have the same loop)",
};

const char *trial_measure_text(const struct trial *t)
{
    return measure_texts[t->measure];
}

char *trial_verdicts(const struct trial *t, size_t config, char *buf,
                     size_t size)
{
    size_t at = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < t->n_runs && at < size; i++) {
        const struct trial_run *run = &t->runs[i];
        /* a failed run has no verdict of interest */
        const char *word = run->status == TRIAL_OK
                               ? run->verdict
                               : trial_statuses[run->status];

        if (run->config == config)
            /* beyond the size, at ends the loop */
            at += (size_t) snprintf(buf + at, size - at, "%s%s", at ? " " : "",
                                    word);
    }
    return buf;
}

const char *trial_standing(const struct trial *t, size_t config)
{
    static const char *const words[TRIAL_STANDINGS] = {
        [TRIAL_UNJUDGED] = "-",
        [TRIAL_BEST] = "fastest",
        [TRIAL_EVEN] = "as good",
        [TRIAL_WORSE] = "slower",
    };
    const struct trial_arm *arm = &t->arms[config];

    if (arm->failed)
        return "failed";
    /* without a certain difference, no configuration is called the best */
    if (arm->standing == TRIAL_BEST && t->look.finding == TRIAL_NO_DIFFERENCE)
        return words[TRIAL_EVEN];
    return words[arm->standing];
}

size_t trial_choice(const struct trial *t)
{
    bool found = t->look.finding == TRIAL_WINNER ||
                 t->look.finding == TRIAL_SEVERAL;

    return found ? t->look.best : t->n_configs;
}

/* Makes the sentence for one or several best configurations. least and most:
 * how much longer the slower ones take. */
static void say_winner(struct trial *t)
{
    char label[160];
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < t->n_configs; i++) {
        /* only these are called slower */
        if (t->arms[i].standing != TRIAL_WORSE)
            continue;
        least = fmin(least, t->arms[i].slower);
        most = fmax(most, t->arms[i].slower);
    }
    trial_label(t, t->look.best, label, sizeof(label));
    if (t->look.finding == TRIAL_WINNER && least < most)
        snprintf(t->text, sizeof(t->text),
                 "%s is the fastest: the others take %s to %s longer.", label,
                 FIG_SHARE(least), FIG_SHARE(most));
    else if (t->look.finding == TRIAL_WINNER)
        snprintf(t->text, sizeof(t->text),
                 "%s is the fastest: the other takes %s longer.", label,
                 FIG_SHARE(most));
    else
        snprintf(t->text, sizeof(t->text),
                 "%s has the shortest mean, but those called \"as good\" may "
                 "be equally fast. Those called slower take up to %s longer.",
                 label, FIG_SHARE(most));
}

/* Makes the sentence for "no difference". */
static void say_none(struct trial *t)
{
    /* level 0: no look was taken yet */
    if (t->look.level > 0)
        snprintf(t->text, sizeof(t->text),
                 "No configuration is better than the others beyond noise (a "
                 "run varies by %s). A difference of %s or more would have "
                 "been detected. Nothing needs to change.",
                 FIG_SHARE(t->look.noise),
                 FIG_SHARE(fmax(t->look.detectable,
                                trial_limits[TRIAL_EFFECT].value)));
    else
        snprintf(t->text, sizeof(t->text),
                 "Too little to compare: two runs of each configuration are "
                 "needed.");
}

/* Makes the result's sentences. */
static void write_sentences(struct trial *t)
{
    size_t failed = 0, good = 0;

    for (size_t i = 0; i < t->n_configs; i++) {
        failed += t->arms[i].failed;
        good += !t->arms[i].failed && t->arms[i].n > 0;
    }
    if (t->look.finding == TRIAL_WINNER || t->look.finding == TRIAL_SEVERAL)
        say_winner(t);
    else if (t->look.finding == TRIAL_NO_DIFFERENCE)
        say_none(t);
    else if (!t->n_runs)
        snprintf(t->text, sizeof(t->text), "No step has run yet.");
    /* too few configurations work; more runs would not help */
    else if (failed && good < 2)
        snprintf(
            t->text, sizeof(t->text),
            "There is nothing to compare: of %zu configurations %zu failed.",
            t->n_configs, failed);
    else
        snprintf(t->text, sizeof(t->text),
                 "Too little to compare: two runs of each configuration are "
                 "needed.");
}

void trial_judge(struct trial *t)
{
    size_t last = last_round(t);

    /* start anew; NAN means unknown */
    for (size_t i = 0; i < TRIAL_ARMS_MAX; i++)
        t->arms[i] = (struct trial_arm){.mean_us = NAN,
                                        .low_us = NAN,
                                        .high_us = NAN,
                                        .slower = NAN,
                                        .slower_low = NAN,
                                        .slower_high = NAN,
                                        .p = NAN};
    t->look = (struct trial_look){.detectable = NAN, .noise = NAN};
    t->measure = choose_measure(t);
    for (size_t round = 0; t->n_runs && round <= last; round++) {
        bool done;

        add_round(t, round);
        done = is_complete(t, round);
        if (!done && round < last)
            continue; /* the run was added later by --continue */
        if (!done && t->end == TRIAL_OPEN)
            break; /* within a round; the next look comes at its end */
        trial_stats_look(t->arms, t->n_configs, round + 1, t->rounds,
                         round == last && t->end != TRIAL_OPEN, &t->look);
    }
    write_sentences(t);
}

/* --- lines for the script ------------------------------------------------- */

void trial_lines(const struct trial *t,
                 void (*put)(void *arg, const char *line), void *arg)
{
    size_t choice = trial_choice(t);
    char line[2 * TRIAL_TEXT_MAX];

    /* nothing is recommended */
    if (choice == t->n_configs)
        return;
    for (size_t i = 0; i < t->n_axes; i++) {
        const struct trial_axis *axis = &t->axes[i];
        const char *value = trial_value(t, choice, i);
        char *quoted;

        /* a value left as it is needs no line */
        if (!strcmp(value, TRIAL_AS_IS))
            continue;
        quoted = trial_quote(value);
        snprintf(line, sizeof(line),
                 axis->kind == TRIAL_ENV          ? "export %s=%s"
                 : trial_kinds[axis->kind].sbatch ? "#SBATCH --%s=%s"
                                                  : "srun --%s=%s ...",
                 axis->name, quoted ? quoted : value);
        free(quoted);
        put(arg, line);
    }
}
