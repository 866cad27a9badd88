/* trial_stats.h - which of some configurations is faster, and whether that is
 * more than noise.
 *
 * A value is one run's time. Runs differ by a factor rather than by an amount,
 * so logarithms are compared; a mean is the geometric one.
 *
 * Each two configurations are compared by a t test whose variance is the larger
 * of the pair's own and that of all configurations together: with three runs
 * each, a pair alone knows its variance too badly to find anything, and a
 * configuration that varies more than the others keeps what it has. All pairs
 * count, as the best is chosen by the same data: Holm (1979) over
 * k (k - 1) / 2 comparisons.
 *
 * Looks at the data after each round share the error rate out by the function
 * of Lan and DeMets (1983) that is like O'Brien and Fleming's: early looks get
 * little, so only what is clear ends early. Their shares add up, whatever the
 * looks have to do with each other.
 */
#ifndef JP_TRIAL_TRIAL_STATS_H
#define JP_TRIAL_TRIAL_STATS_H

#include <stdbool.h>
#include <stddef.h>

enum { TRIAL_ARMS_MAX = 64, TRIAL_RUNS_MAX = 20 };

/* Every figure that decides something. */
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
    TRIAL_EVEN,     /* not told from the best */
    TRIAL_WORSE,
    TRIAL_STANDINGS
};

struct trial_arm {
    /* what is known */
    double us[TRIAL_RUNS_MAX];
    size_t n;
    bool failed; /* a run did: it is compared with nothing */
    /* an earlier look found it worse: it stays so */
    bool dropped;
    double dropped_p;
    /* what the look says */
    enum trial_standing standing;
    double mean_us, low_us, high_us; /* 95 %; NAN below two runs */
    double slower;                   /* than the best, a share */
    double slower_low, slower_high;  /* 95 % of this pair alone */
    double p; /* adjusted for pairs and looks: worse at TRIAL_ALPHA; NAN */
};

enum trial_finding {
    TRIAL_TOO_LITTLE, /* fewer than two configurations can be compared */
    TRIAL_NO_DIFFERENCE,
    TRIAL_SEVERAL, /* some are worse, several cannot be told apart */
    TRIAL_WINNER,
    TRIAL_FINDINGS
};

struct trial_look {
    enum trial_finding finding;
    size_t best;       /* index of the shortest mean */
    double level;      /* this look's share of the error rate */
    double detectable; /* the smallest difference between the best and another
                        * that would have been seen, a share; NAN */
    double noise;      /* a run's standard deviation, a share; NAN */
};

/* round: rounds that are complete, of rounds; final: none follows, whatever was
 * planned, so what is left of the error rate is spent. Sets what the look says
 * of each arm, and drops those that are clearly worse. */
void trial_stats_look(struct trial_arm *arms, size_t n, size_t round,
                      size_t rounds, bool final, struct trial_look *look);

/* Two-sided: how likely |T| >= |t| is with df degrees of freedom. */
double trial_stats_t_tail(double t, double df);
/* The t of which that is p in (0, 1). */
double trial_stats_t_quantile(double p, double df);

#endif
