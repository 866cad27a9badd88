/* trial.h - run short profiled steps of one program in different configurations
 * to find out which is fastest, and whether the difference is more than noise.
 *
 * trial_plan.c defines what is tried: axes (placements, options, variables),
 * their combinations and their order. trial_run.c runs the steps and reads
 * their reports. trial_judge.c compares runs (below) and makes the sentences.
 * trial_state.c writes and reads trial.json. trial_print.c shows the result as
 * text and as a page. All files of a trial are in its folder:
 *
 *     trial.json   plan and runs (docs/trial.schema.json); used to continue
 *     trial.txt    the table
 *     trial.html   the same as a page
 *     steps/       the steps' reports, one job folder per run
 */
#ifndef JP_TRIAL_TRIAL_H
#define JP_TRIAL_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* --- trial_stats.c ------------------------------------------------------ */

/* Which configuration is fastest, and whether the difference is
 * more than noise.
 *
 * A value is the time of one run. Runs differ by a factor rather than by an
 * amount, so logarithms are compared, and means are geometric.
 *
 * Each pair of configurations is compared by a t test. Its variance is the
 * larger one of the pair's own and that of all configurations together. With
 * three runs each, a pair alone estimates its variance too badly to find
 * anything; and a configuration that varies more than the others keeps its
 * larger variance. All pairs count, because the best one is chosen with the
 * same data: Holm (1979) over k (k - 1) / 2 comparisons.
 *
 * The looks after each round divide the error rate by the spending function of
 * Lan and DeMets (1983) that resembles O'Brien and Fleming's: early looks get
 * little, so a trial ends early only in clear cases. The parts add up to the
 * whole rate, however the looks depend on each other.
 */

enum { TRIAL_ARMS_MAX = 64, TRIAL_RUNS_MAX = 20 };

/* All figures that decide the result. */
enum trial_limit {
    TRIAL_ALPHA,
    TRIAL_EFFECT,
    TRIAL_RESOLUTION,
    TRIAL_FIRST_LOOK,
    TRIAL_LIMITS
};
struct trial_limit_row {
    const char *name;
    double value;
    const char *reason;
};
extern const struct trial_limit_row trial_limits[TRIAL_LIMITS];

enum trial_standing {
    TRIAL_UNJUDGED, /* fewer than two runs, or one failed */
    TRIAL_BEST,     /* the shortest mean */
    TRIAL_EVEN,     /* not distinguishable from the best */
    TRIAL_WORSE,
    TRIAL_STANDINGS
};

struct trial_arm {
    /* input */
    double us[TRIAL_RUNS_MAX];
    size_t n;
    bool failed; /* one of its runs failed; it is not compared */
    /* found worse in an earlier look; this is final */
    bool dropped;
    double dropped_p;
    /* results of the look */
    enum trial_standing standing;
    double mean_us, low_us, high_us; /* with 95 % interval; NAN below two
                                      * runs */
    double slower;                   /* relative to the best, a fraction */
    double slower_low, slower_high;  /* 95 % interval of this pair alone */
    double p; /* adjusted for pairs and looks; worse below TRIAL_ALPHA; NAN */
};

enum trial_finding {
    TRIAL_TOO_LITTLE, /* fewer than two configurations can be compared */
    TRIAL_NO_DIFFERENCE,
    TRIAL_SEVERAL, /* some are worse, several are indistinguishable */
    TRIAL_WINNER,
    TRIAL_FINDINGS
};

struct trial_look {
    enum trial_finding finding;
    size_t best;       /* index of the shortest mean */
    double level;      /* the look's part of the error rate */
    double detectable; /* smallest detectable difference between the best and
                        * another one, as a fraction; NAN */
    double noise;      /* standard deviation of a run, a fraction; NAN */
};

/* Takes the look after `round` complete rounds of `rounds`. final: no further
 * look will follow, so the rest of the error rate is used. Sets the results of
 * each arm and drops those that are clearly worse. */
void trial_stats_look(struct trial_arm *arms, size_t n, size_t round,
                      size_t rounds, bool final, struct trial_look *look);

/* Two-sided tail: the probability of |T| >= |t| with df degrees of freedom. */
double trial_stats_t_tail(double t, double df);
/* The t whose two-sided tail is p, for p in (0, 1). */
double trial_stats_t_quantile(double p, double df);

#define TRIAL_NAME "trial.json"

enum {
    TRIAL_AXES_MAX = 8,
    TRIAL_ALL_RUNS_MAX = TRIAL_ARMS_MAX * TRIAL_RUNS_MAX,
    TRIAL_WORDS_MAX = 512, /* limit of words in the command */
    TRIAL_TEXT_MAX = 4096  /* limit of bytes in a word or value */
};

/* The kinds of axes, one row of trial_kinds each. */
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
    const char *word;   /* in the command line and in trial.json */
    const char *option; /* the srun option; NULL: each axis has its own name */
    char separator;     /* between values */
    bool sbatch;        /* sbatch has this option, too */
    const char *help;
};
extern const struct trial_kind_row trial_kinds[TRIAL_KINDS];

/* The value that leaves everything as it is. */
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
    TRIAL_LATE,   /* it was ended at its time limit */
    TRIAL_NODATA, /* it ran, but left nothing to compare */
    TRIAL_STATUSES
};
extern const char *const trial_statuses[TRIAL_STATUSES];

struct trial_run {
    size_t config, round; /* both counted from 0 */
    enum trial_status status;
    int exit_status; /* srun's exit status; 128 + N: signal N */
    double wall_s;
    double iteration_us;    /* from the report; NAN: no iteration found by
                             * collectives */
    uint64_t iteration_ops; /* operations per iteration; 0 with NAN */
    double operation_us;    /* span of all operations / their number; NAN */
    char *dir;     /* step directory of the report, relative to the trial's
                    * folder, or "" */
    char *verdict; /* verdict word, or "" */
    char *over;    /* nodes and communicators with their network */
    char *why;     /* reason, unless TRIAL_OK */
};

/* The value by which all runs are compared. */
enum trial_measure { TRIAL_BY_ITERATION, TRIAL_BY_OPERATION, TRIAL_MEASURES };
extern const char *const trial_measures[TRIAL_MEASURES];
extern const char *const trial_findings[TRIAL_FINDINGS];

enum trial_end {
    TRIAL_OPEN, /* it is running, or was killed */
    TRIAL_DONE,
    TRIAL_SETTLED, /* ended early, because all but one are clearly worse */
    TRIAL_TIME_UP,
    TRIAL_INTERRUPTED,
    TRIAL_GAVE_UP, /* no configuration has a usable run */
    TRIAL_ENDS
};
extern const char *const trial_ends[TRIAL_ENDS];

struct trial {
    struct trial_axis axes[TRIAL_AXES_MAX];
    size_t n_axes, n_configs;
    char **command; /* srun and its arguments */
    size_t n_words;
    size_t program; /* index of the program's first word */
    char *profile;  /* value of --nccl-profile, without dir and summary */
    uint64_t rounds, seed;
    uint64_t limit_us; /* limit of the whole trial; a step gets a part of the
                        * rest */
    struct trial_run runs[TRIAL_ALL_RUNS_MAX];
    size_t n_runs;
    enum trial_end end;
    /* derived from the runs by trial_judge */
    enum trial_measure measure;
    struct trial_arm arms[TRIAL_ARMS_MAX];
    struct trial_look look;
    char text[400]; /* the result, in one or two sentences */
};

/* --- trial_plan.c --------------------------------------------------------- */

/* Makes a zeroed trial. Release with trial_free, which accepts NULL. */
struct trial *trial_new(void);
void trial_free(struct trial *trial);

/* Adds the values of text: "block,cyclic" for a kind with its own option,
 * "NAME=V1,V2" for others. Extends an existing axis of that name. A separator
 * splits values unless a backslash precedes it, or the next part only continues
 * a value of srun's: a digit after "map_gpu:0", Pack and NoPack. */
int trial_add_axis(struct trial *trial, enum trial_kind kind, const char *text,
                   struct jp_error *err);

/* Adds one value literally. name: srun's option, or the variable. */
int trial_add_value(struct trial *trial, enum trial_kind kind, const char *name,
                    const char *value, struct jp_error *err);

/* Copies srun's command line, finds where the program begins, and removes
 * --nccl-profile. */
int trial_set_command(struct trial *trial, char *const *words, size_t n,
                      struct jp_error *err);

/* Call it when all is set: counts the combinations. Returns -1 if there are too
 * many, or fewer than two. */
int trial_count(struct trial *trial, struct jp_error *err);

/* The axis' value in a configuration. Configurations are numbered like digits;
 * the last axis changes fastest. */
const char *trial_value(const struct trial *trial, size_t config, size_t axis);

/* "--distribution=cyclic NCCL_ALGO=Ring", truncated to size. */
char *trial_label(const struct trial *trial, size_t config, char *buf,
                  size_t size);

/* Writes the round's order of all configurations to order[n_configs]. */
void trial_order(const struct trial *trial, size_t round, size_t *order);

/* The command of a configuration: env, its variables, srun, its options,
 * --nccl-profile with dir, the program. NULL-terminated; caller frees with
 * trial_free_words. Returns NULL without memory. dir NULL: for display, without
 * env and the profile. */
char **trial_words(const struct trial *trial, size_t config, const char *dir);
void trial_free_words(char **words);

/* Quotes a word for a shell; malloc'ed. */
char *trial_quote(const char *word);

/* The sbatch command of a job with room for the trial: the words of srun's
 * command that concern the allocation. minutes: its time limit, unless the user
 * has set one. Returns NULL without memory. */
char **trial_sbatch_words(const struct trial *trial, uint64_t minutes,
                          const char *output);

/* --- trial_run.c ---------------------------------------------------------- */

struct trial_runner {
    const char *dir;          /* absolute path of the trial's folder, which is
                               * held */
    uint64_t limit_ms;        /* for all steps together */
    volatile const int *stop; /* non-zero: end the running step, which then does
                               * not count */
    /* Called after each step; its run is the last one of trial->runs. NULL: no
     * call. */
    void (*on_run)(void *arg, const struct trial *trial);
    void *arg;
};

/* Runs the steps that are missing, round by round, and saves the trial after
 * each step. Sets why the trial ended and judges it. Returns 0, or -1 and err
 * if a step could not be started or the trial could not be saved. */
int trial_run_rounds(struct trial *trial, const struct trial_runner *runner,
                     struct jp_error *err);

/* --- trial_judge.c -------------------------------------------------------- */

/* Compares the runs: one look after each complete round, and one at the end. */
void trial_judge(struct trial *trial);

/* Whether the configuration has a run in the round, and whether it will get
 * more: it has neither failed nor been found worse. */
bool trial_has_run(const struct trial *trial, size_t config, size_t round);
bool trial_goes_on(const struct trial *trial, size_t config);

/* The standing's word: "fastest", "as good", "slower", "failed", "-". */
const char *trial_standing(const struct trial *trial, size_t config);

/* The name of the compared value. */
const char *trial_measure_text(const struct trial *trial);

/* "OK SLOW OK": the verdicts of a configuration's runs, truncated to size. */
char *trial_verdicts(const struct trial *trial, size_t config, char *buf,
                     size_t size);

/* The recommended configuration; n_configs: none. Of several that cannot be
 * distinguished, the one with the shortest mean. */
size_t trial_choice(const struct trial *trial);

/* Passes each line for the user's script to `put`. */
void trial_lines(const struct trial *trial,
                 void (*put)(void *arg, const char *line), void *arg);

/* --- trial_state.c -------------------------------------------------------- */

/* Writes trial.json by rename. */
int trial_save(const struct trial *trial, const char *dir,
               struct jp_error *err);
int trial_write(const struct trial *trial, FILE *out, struct jp_error *err);

/* What a trial is read for: anybody's may be looked at; its command is only run
 * if the caller has written it. */
enum trial_use { TRIAL_READ, TRIAL_RUN };

/* Reads plan and runs; everything else is recomputed. Foreign input. For
 * TRIAL_RUN, the file must belong to the caller or root and others must not be
 * able to write to it; the caller holds the folder (ownplace_hold). Returns
 * NULL and err on failure. */
struct trial *trial_load(const char *dir, enum trial_use use,
                         struct jp_error *err);
struct trial *trial_parse(const char *text, size_t len, const char *name,
                          struct jp_error *err);

/* --- trial_print.c -------------------------------------------------------- */

void trial_print(const struct trial *trial, FILE *out);
/* Writes trial.txt and trial.html. */
int trial_write_pages(const struct trial *trial, const char *dir,
                      struct jp_error *err);
void trial_page(const struct trial *trial, FILE *out);

#endif
