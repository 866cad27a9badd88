/* trial.h - short profiled steps of one program in different configurations:
 * which is the fastest, and is that more than noise?
 *
 * trial_plan.c has what is to be tried: axes (placements, options, variables),
 * all their combinations, the order. trial_run.c runs one step and reads its
 * report, trial_judge.c compares (trial_stats.h) and has the sentences,
 * trial_state.c writes and reads trial.json, trial_print.c shows it as text and
 * as a page. All of a trial is in its folder:
 *
 *     trial.json   plan and runs (docs/trial.schema.json); to be continued
 *     trial.txt    the table
 *     trial.html   the same as a page
 *     steps/       the steps' reports, a job's folder for each run
 */
#ifndef JP_TRIAL_TRIAL_H
#define JP_TRIAL_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "orchestrator/trial/trial_stats.h"

#define TRIAL_NAME "trial.json"

enum {
    TRIAL_AXES_MAX = 8,
    TRIAL_ALL_RUNS_MAX = TRIAL_ARMS_MAX * TRIAL_RUNS_MAX,
    TRIAL_WORDS_MAX = 512, /* of the command */
    TRIAL_TEXT_MAX = 4096  /* bytes of a word or value */
};

/* What is varied: a row each of trial_kinds. */
enum trial_kind {
    TRIAL_DISTRIBUTION,
    TRIAL_NODELIST,
    TRIAL_GPU_BIND,
    TRIAL_CPU_BIND,
    TRIAL_SRUN,
    TRIAL_ENV,
    TRIAL_KINDS
};
struct trial_kind_row {
    const char *word;   /* of the command line and trial.json */
    const char *option; /* srun's; NULL: the axis has a name of its own */
    char separator;     /* of values */
    bool sbatch;        /* sbatch takes it, too */
    const char *help;
};
extern const struct trial_kind_row trial_kinds[TRIAL_KINDS];

/* A value that changes nothing. */
#define TRIAL_AS_IS "-"

struct trial_axis {
    enum trial_kind kind;
    char *name; /* srun's option without dashes, or the variable */
    char **values;
    size_t n;
};

enum trial_status {
    TRIAL_OK,
    TRIAL_FAILED, /* the step ended with an error, or hung */
    TRIAL_LATE,   /* it was ended at its limit */
    TRIAL_NODATA, /* it ran, and left nothing to compare */
    TRIAL_STATUSES
};
extern const char *const trial_statuses[TRIAL_STATUSES];

struct trial_run {
    size_t config, round; /* from 0 */
    enum trial_status status;
    int exit_status; /* of srun; 128 + N: signal N */
    double wall_s;
    double iteration_us;    /* the report's; NAN: it has none by collectives */
    uint64_t iteration_ops; /* operations of one; 0 with NAN */
    double operation_us; /* the span of all operations by their number; NAN */
    char *dir;     /* of the step's report, in the trial's folder, or "" */
    char *verdict; /* its word, or "" */
    char *over;    /* nodes and communicators, what they run over */
    char *why;     /* unless TRIAL_OK */
};

/* What runs are compared by: the same for all. */
enum trial_measure { TRIAL_BY_ITERATION, TRIAL_BY_OPERATION, TRIAL_MEASURES };
extern const char *const trial_measures[TRIAL_MEASURES];
extern const char *const trial_findings[TRIAL_FINDINGS];

enum trial_end {
    TRIAL_OPEN, /* it runs, or was killed */
    TRIAL_DONE,
    TRIAL_SETTLED, /* before all runs, as all but one are clearly worse */
    TRIAL_TIME_UP,
    TRIAL_INTERRUPTED,
    TRIAL_GAVE_UP, /* no configuration has a good run */
    TRIAL_ENDS
};
extern const char *const trial_ends[TRIAL_ENDS];

struct trial {
    struct trial_axis axes[TRIAL_AXES_MAX];
    size_t n_axes, n_configs;
    char **command; /* srun and its words */
    size_t n_words;
    size_t program; /* index of the first word that is not srun's */
    char *profile;  /* --nccl-profile's value, without dir and summary */
    uint64_t rounds, seed;
    uint64_t limit_us; /* of all; one step's is a part of what is left */
    struct trial_run runs[TRIAL_ALL_RUNS_MAX];
    size_t n_runs;
    enum trial_end end;
    /* made of the runs by trial_judge */
    enum trial_measure measure;
    struct trial_arm arms[TRIAL_ARMS_MAX];
    struct trial_look look;
    char text[400]; /* what came of it, a sentence or two */
};

/* --- trial_plan.c --------------------------------------------------------- */

/* Zeroed; release with trial_free, which takes NULL. */
struct trial *trial_new(void);
void trial_free(struct trial *trial);

/* "block,cyclic" of a kind with an option of its own, "NAME=V1,V2" of others.
 * Adds to the axis of that name where there is one. A separator counts unless a
 * backslash stands before it, or what follows only extends a value of srun's:
 * a digit behind "map_gpu:0", Pack and NoPack. */
int trial_add_axis(struct trial *trial, enum trial_kind kind, const char *text,
                   struct jp_error *err);

/* One value as it is; name: srun's option, or the variable. */
int trial_add_value(struct trial *trial, enum trial_kind kind, const char *name,
                    const char *value, struct jp_error *err);

/* Takes a copy of srun's line. It finds where the program begins, and takes
 * --nccl-profile out of it. */
int trial_set_command(struct trial *trial, char *const *words, size_t n,
                      struct jp_error *err);

/* All is set: counts the combinations. -1: too many, or fewer than two. */
int trial_count(struct trial *trial, struct jp_error *err);

/* The axis' value in a configuration; its combinations are counted like digits,
 * the last axis first. */
const char *trial_value(const struct trial *trial, size_t config, size_t axis);

/* "--distribution=cyclic NCCL_ALGO=Ring"; cut at size. */
char *trial_label(const struct trial *trial, size_t config, char *buf,
                  size_t size);

/* The round's order of all configurations, into order[n_configs]. */
void trial_order(const struct trial *trial, size_t round, size_t *order);

/* The words that run a configuration: env, its variables, srun, its options,
 * --nccl-profile with dir, the program. NULL-terminated; caller frees it with
 * trial_free_words. NULL: no memory. dir: NULL leaves env and the profile out,
 * as people write it. */
char **trial_words(const struct trial *trial, size_t config, const char *dir);
void trial_free_words(char **words);

/* A word as a shell reads it back; malloc'ed. */
char *trial_quote(const char *word);

/* sbatch's words for a job that has room for the trial: those of srun's that
 * are about the allocation. minutes: its limit, unless the user has set one.
 * NULL: no memory. */
char **trial_sbatch_words(const struct trial *trial, uint64_t minutes,
                          const char *output);

/* --- trial_run.c ---------------------------------------------------------- */

struct trial_runner {
    const char *dir; /* the trial's folder, absolute */
    uint64_t limit_ms;
    volatile const int *stop; /* not 0: end the step, and do not count it */
};

/* Runs a step and appends it to the runs. 1: it was stopped and does not count.
 * -1 and err: it could not be started at all. */
int trial_run_step(struct trial *trial, size_t config, size_t round,
                   const struct trial_runner *runner, struct jp_error *err);

/* --- trial_judge.c -------------------------------------------------------- */

/* Compares the runs: a look after each complete round, and one at the end. */
void trial_judge(struct trial *trial);

/* Whether the configuration has a run in the round; whether it is to have more:
 * it is not found worse and has not failed. */
bool trial_has_run(const struct trial *trial, size_t config, size_t round);
bool trial_goes_on(const struct trial *trial, size_t config);

/* The standing's word: "fastest", "as good", "slower", "failed", "-". */
const char *trial_standing(const struct trial *trial, size_t config);

/* What is compared, a phrase. */
const char *trial_measure_text(const struct trial *trial);

/* "OK SLOW OK", the words of a configuration's runs; cut at size. */
char *trial_verdicts(const struct trial *trial, size_t config, char *buf,
                     size_t size);

/* NULL: it has none. */
const struct trial_run *trial_last_run(const struct trial *trial,
                                       size_t config);

/* The configuration to use; n_configs: none. Of several that cannot be told
 * apart the fastest. */
size_t trial_choice(const struct trial *trial);

/* The lines for the script, each through `put`. */
void trial_lines(const struct trial *trial,
                 void (*put)(void *arg, const char *line), void *arg);

/* --- trial_state.c -------------------------------------------------------- */

/* trial.json, by rename. */
int trial_save(const struct trial *trial, const char *dir,
               struct jp_error *err);
int trial_write(const struct trial *trial, FILE *out, struct jp_error *err);

/* Reads the plan and the runs back; all else is made anew. Foreign input. NULL
 * and err. */
struct trial *trial_load(const char *dir, struct jp_error *err);
struct trial *trial_parse(const char *text, size_t len, const char *name,
                          struct jp_error *err);

/* --- trial_print.c -------------------------------------------------------- */

void trial_print(const struct trial *trial, FILE *out);
/* trial.txt and trial.html. */
int trial_write_pages(const struct trial *trial, const char *dir,
                      struct jp_error *err);
void trial_page(const struct trial *trial, FILE *out);

#endif
