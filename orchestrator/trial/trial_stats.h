/* trial_stats.h - which configuration is fastest, and whether the difference is
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
#ifndef JP_TRIAL_TRIAL_STATS_H
#define JP_TRIAL_TRIAL_STATS_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
