/* test_trial_stats.c - tests of trial_stats.c: the t distribution against
 * printed tables, and thousands of simulated trials, to count how often a
 * winner is named where there is none and found where there is one. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "orchestrator/trial/trial.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* --- distributions ---------------------------------------------------------
 */

/* Two-sided probabilities from printed tables of Student's t; the quantile is
 * the inverse. */
static void test_t_table(void **state)
{
    static const struct {
        double t, df, p;
    } rows[] = {
        {12.7062047, 1, 0.05},
        {4.30265273, 2, 0.05},
        {2.77644511, 4, 0.05},
        {2.22813885, 10, 0.05},
        {1.98397152, 100, 0.05},
        {63.6567412, 1, 0.01},
        {4.60409487, 4, 0.01},
        {3.16927267, 10, 0.01},
        {8.61030158, 4, 0.001},
        {4.58689386, 10, 0.001},
        {0, 5, 1},
    };

    (void) state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        double p = trial_stats_t_tail(rows[i].t, rows[i].df);

        assert_true(fabs(p - rows[i].p) < 1e-7);
        assert_true(trial_stats_t_tail(-rows[i].t, rows[i].df) == p);
        if (rows[i].p < 1)
            assert_true(
                fabs(trial_stats_t_quantile(rows[i].p, rows[i].df) / rows[i].t -
                     1) < 1e-6);
    }
}

/* Arguments outside the domain give NAN, not a number that looks plausible. */
static void test_t_bad(void **state)
{
    (void) state;
    assert_true(isnan(trial_stats_t_tail(NAN, 4)));
    assert_true(isnan(trial_stats_t_tail(1, 0)));
    assert_true(trial_stats_t_tail(INFINITY, 4) == 0);
    assert_true(isnan(trial_stats_t_quantile(0, 4)));
    assert_true(isnan(trial_stats_t_quantile(1, 4)));
    assert_true(isnan(trial_stats_t_quantile(0.05, -1)));
}

/* The page and docs/trials.md print each limit with its reason. */
static void test_limits(void **state)
{
    (void) state;
    for (size_t i = 0; i < TRIAL_LIMITS; i++) {
        assert_non_null(trial_limits[i].name);
        assert_true(trial_limits[i].value > 0);
        assert_true(strlen(trial_limits[i].reason) > 20);
    }
}

/* --- trials ----------------------------------------------------------------
 */

static uint64_t random_state;

/* splitmix64 in (0, 1), never 0: normal() takes its logarithm. The tests must
 * see the same numbers on every machine. */
static double uniform(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return ((double) (z >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller's method, with one of its two numbers. */
static double normal(void)
{
    double r = sqrt(-2 * log(uniform()));

    return r * cos(2 * acos(-1) * uniform());
}

struct setup {
    size_t arms, rounds;
    double noise;       /* standard deviation of a run's logarithm */
    double noisy_third; /* of each third configuration; 0: as the others */
    double effect;      /* how much slower all but the last are; 0.1: 10 % */
};

/* What TRIALS trials ended with, and how many runs they took. */
struct tally {
    size_t none, found, several, wrong, runs;
};

/* Simulates one trial in the way jobprof runs it: a comparison after each
 * round, and no more runs of a configuration that is clearly worse. */
static void one(const struct setup *s, struct tally *tally)
{
    struct trial_arm arms[TRIAL_ARMS_MAX];
    struct trial_look look = {.finding = TRIAL_TOO_LITTLE};
    size_t going = s->arms;

    memset(arms, 0, sizeof(arms));
    for (size_t round = 1; round <= s->rounds && going > 1; round++) {
        going = 0;
        for (size_t i = 0; i < s->arms; i++) {
            double noise = i % 3 == 2 && s->noisy_third > 0 ? s->noisy_third
                                                            : s->noise;

            if (arms[i].dropped)
                continue;
            /* the last configuration is the fastest, 9 ms */
            arms[i].us[arms[i].n++] = 9000 *
                                      (i == s->arms - 1 ? 1 : 1 + s->effect) *
                                      exp(noise * normal());
            tally->runs++;
        }
        trial_stats_look(arms, s->arms, round, s->rounds, round == s->rounds,
                         &look);
        for (size_t i = 0; i < s->arms; i++)
            going += !arms[i].dropped;
    }
    tally->none += look.finding == TRIAL_NO_DIFFERENCE;
    tally->several += look.finding == TRIAL_SEVERAL;
    if (look.finding == TRIAL_WINNER && look.best == s->arms - 1)
        tally->found++;
    else if (look.finding == TRIAL_WINNER)
        tally->wrong++;
}

enum { TRIALS = 1000 };

static struct tally many(const struct setup *s)
{
    struct tally tally = {0};

    /* the same numbers for each setup, whichever tests ran before */
    random_state = 25;
    for (size_t i = 0; i < TRIALS; i++)
        one(s, &tally);
    printf("# %zu arms, %zu rounds, noise %g, effect %g: none %zu, found %zu, "
           "several %zu, wrong %zu; %.1f runs\n",
           s->arms, s->rounds, s->noise, s->effect, tally.none, tally.found,
           tally.several, tally.wrong, (double) tally.runs / TRIALS);
    return tally;
}

/* If all configurations are equal, the result is "no difference" in more than
 * 98 % of trials: the error rate is 1 %, and three standard deviations of 1,000
 * trials are another 1 %. */
static void test_nothing_there(void **state)
{
    static const struct setup rows[] = {
        {2, 2, 0.02, 0, 0},  {2, 3, 0.02, 0, 0},    {3, 3, 0.01, 0, 0},
        {4, 3, 0.05, 0, 0},  {6, 5, 0.02, 0, 0},    {12, 3, 0.02, 0, 0},
        {2, 20, 0.02, 0, 0}, {6, 3, 0.01, 0.03, 0},
    };

    (void) state;
    for (size_t i = 0; i < COUNT(rows); i++)
        /* the test assumes one variance for all; where the noise differs it
         * errs more often */
        assert_true(many(&rows[i]).none >=
                    (rows[i].noisy_third > 0 ? 965 : 980));
}

/* A configuration that is faster by several times the noise is found, and never
 * another one. */
static void test_planted(void **state)
{
    static const struct setup rows[] = {
        {2, 3, 0.01, 0, 0.08},
        {4, 3, 0.01, 0, 0.10},
        {6, 5, 0.02, 0, 0.12},
        {12, 3, 0.01, 0, 0.10},
    };

    (void) state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tally tally = many(&rows[i]);

        assert_true(tally.found >= 950);
        assert_int_equal(tally.wrong, 0);
        /* what is clearly worse gets no more runs; with two configurations and
         * two or three rounds there is nothing to save */
        assert_true(rows[i].arms == 2 ||
                    (double) tally.runs / TRIALS <
                        0.95 * (double) (rows[i].arms * rows[i].rounds));
    }
}

/* N times of one configuration. */
static void fill(struct trial_arm *arm, const double *us, size_t n)
{
    memset(arm, 0, sizeof(*arm));
    memcpy(arm->us, us, n * sizeof(*us));
    arm->n = n;
}

/* Equal times do not prove that there is no noise: the resolution of the clock
 * (0.2 %) is assumed. And a difference below 1 % is none, even if it is
 * certain. */
static void test_small_difference(void **state)
{
    struct trial_arm arms[2];
    struct trial_look look;

    (void) state;
    fill(&arms[0], (double[]){1000, 1000, 1000}, 3);
    fill(&arms[1], (double[]){1000, 1000, 1000}, 3);
    trial_stats_look(arms, 2, 3, 3, true, &look);
    assert_int_equal(look.finding, TRIAL_NO_DIFFERENCE);
    assert_true(look.noise == trial_limits[TRIAL_RESOLUTION].value);

    /* 0.8 %: significant, but too small to matter */
    fill(&arms[0], (double[]){1000, 1000, 1000, 1000, 1000, 1000, 1000}, 7);
    fill(&arms[1], (double[]){1008, 1008, 1008, 1008, 1008, 1008, 1008}, 7);
    trial_stats_look(arms, 2, 7, 7, true, &look);
    assert_true(arms[1].p < trial_limits[TRIAL_ALPHA].value);
    assert_int_equal(look.finding, TRIAL_NO_DIFFERENCE);
    for (size_t k = 0; k < 7; k++)
        /* 2 %: now it matters */
        arms[1].us[k] = 1020;
    trial_stats_look(arms, 2, 7, 7, true, &look);
    assert_int_equal(look.finding, TRIAL_WINNER);
    assert_true(fabs(arms[1].slower - 0.02) < 1e-9);
    assert_true(arms[1].slower_low < 0.02 && arms[1].slower_high > 0.02);
}

/* With nothing to compare (no run, one run each, all but one failed) no finding
 * is made, and figures that need two runs are NAN. */
static void test_too_little(void **state)
{
    struct trial_arm arms[3];
    struct trial_look look;

    (void) state;
    memset(arms, 0, sizeof(arms));
    trial_stats_look(arms, 3, 1, 3, false, &look);
    assert_int_equal(look.finding, TRIAL_TOO_LITTLE);
    assert_true(isnan(arms[0].mean_us));
    for (size_t i = 0; i < 3; i++)
        fill(&arms[i], (double[]){1000. * (double) (i + 1)}, 1);
    trial_stats_look(arms, 3, 1, 1, true, &look);
    assert_int_equal(look.finding, TRIAL_TOO_LITTLE);
    assert_true(fabs(arms[2].mean_us - 3000) < 1e-6);
    assert_true(isnan(arms[2].low_us));
    for (size_t i = 0; i < 3; i++) {
        fill(&arms[i], (double[]){1000, 1010, 990}, 3);
        arms[i].failed = i > 0;
    }
    trial_stats_look(arms, 3, 3, 3, true, &look);
    assert_int_equal(look.finding, TRIAL_TOO_LITTLE);
    assert_int_equal(arms[1].standing, TRIAL_UNJUDGED);
}

/* A failed configuration never wins, however fast it was. Its runs still count
 * for the noise. */
static void test_failed_is_not_best(void **state)
{
    struct trial_arm arms[3];
    struct trial_look look;

    (void) state;
    fill(&arms[0], (double[]){100, 101, 99}, 3);
    arms[0].failed = true;
    fill(&arms[1], (double[]){1000, 1001, 999}, 3);
    fill(&arms[2], (double[]){2000, 2001, 1999}, 3);
    trial_stats_look(arms, 3, 3, 3, true, &look);
    assert_int_equal(look.finding, TRIAL_WINNER);
    assert_int_equal(look.best, 1);
}

/* A configuration that was dropped stays worse, with the p of that time, even
 * if the one that beat it is no longer the best. Otherwise later noise could
 * bring it back without a further run. */
static void test_dropped_stays(void **state)
{
    struct trial_arm arms[2];
    struct trial_look look;

    (void) state;
    fill(&arms[0], (double[]){1000, 1001, 999}, 3);
    fill(&arms[1], (double[]){900, 1400, 1000}, 3);
    arms[1].dropped = true;
    arms[1].dropped_p = 0.01;
    trial_stats_look(arms, 2, 3, 3, true, &look);
    assert_int_equal(arms[1].standing, TRIAL_WORSE);
    assert_int_equal(look.best, 0);
    assert_true(arms[1].p == 0.01);
}

/* The error rate is divided among the looks: none for the first, as one run has
 * no variance, then more for later ones, and all of it together in the end. */
static void test_levels(void **state)
{
    struct trial_arm arms[2];
    struct trial_look look;
    double sum = 0, before = 0;

    (void) state;
    for (size_t round = 1; round <= 6; round++) {
        fill(&arms[0], (double[]){1000, 1001, 999}, 3);
        fill(&arms[1], (double[]){1000, 1001, 999}, 3);
        trial_stats_look(arms, 2, round, 6, round == 6, &look);
        assert_true(round == 1 ? look.level == 0 : look.level > 0);
        assert_true(look.level >= before);
        before = look.level;
        sum += look.level;
    }
    assert_true(fabs(sum - trial_limits[TRIAL_ALPHA].value) < 1e-9);
    /* the last look gets what is left, also if the trial ends early */
    trial_stats_look(arms, 2, 2, 6, true, &look);
    assert_true(fabs(look.level - trial_limits[TRIAL_ALPHA].value) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_t_table),
        cmocka_unit_test(test_t_bad),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_nothing_there),
        cmocka_unit_test(test_planted),
        cmocka_unit_test(test_small_difference),
        cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_failed_is_not_best),
        cmocka_unit_test(test_dropped_stays),
        cmocka_unit_test(test_levels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
