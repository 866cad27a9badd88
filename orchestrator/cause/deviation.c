/* deviation.c - Student's t with a moderated variance. */
#include "orchestrator/cause/deviation.h"

#include <math.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/stats.h"

/* The continued fraction of the incomplete beta function, by Lentz' method
 * (Numerical Recipes; DiDonato and Morris 1992). */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1), h;

    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    h = d;
    for (int m = 1; m <= 300; m++) {
        for (int odd = 0; odd < 2; odd++) {
            double num = odd ? -(a + m) * (a + b + m) * x /
                                   ((a + 2 * m) * (a + 2 * m + 1))
                             : m * (b - m) * x /
                                   ((a + 2 * m - 1) * (a + 2 * m));

            d = 1 + num * d;
            c = 1 + num / c;
            d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
            c = fabs(c) < 1e-300 ? 1e-300 : c;
            h *= d * c;
        }
        if (fabs(d * c - 1) < 1e-12)
            break;
    }
    return h;
}

static double incomplete_beta(double x, double a, double b)
{
    double front;

    if (x <= 0 || x >= 1)
        return x >= 1;
    front =
        exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2)
               ? front * beta_fraction(x, a, b) / a
               : 1 - front * beta_fraction(1 - x, b, a) / b;
}

double deviation_t_tail(double t, double dof)
{
    double tail = incomplete_beta(dof / (dof + t * t), dof / 2, 0.5) / 2;

    return t >= 0 ? tail : 1 - tail;
}

/* Of n values, without bias for normal ones (Croux and Rousseeuw 1992). */
static double mad(double *v, size_t n, double median)
{
    static const double factor[] = {0,     0,     1.196, 1.495, 1.363,
                                    1.206, 1.200, 1.140, 1.129, 1.107};

    if (n < 2)
        return 0;
    for (size_t i = 0; i < n; i++)
        v[i] = fabs(v[i] - median);
    return 1.4826 * stats_median(v, n) *
           (n < 10 ? factor[n] : (double) n / ((double) n - 0.8));
}

static double moderated(double variance, double dof, double usual)
{
    double prior = limits_get(JP_LIMIT_CAUSE_PRIOR);

    return (prior * usual * usual + dof * variance) / (prior + dof);
}

double deviation_chance(double *peers, size_t n, double median, double excess,
                        double usual, double *deviations)
{
    double dof = n > 1 ? (double) n - 1 : 0, s = mad(peers, n, median);
    /* the median of n normal values varies by pi / 2 n of their variance */
    double variance = moderated(s * s, dof, usual) *
                      (1 + acos(-1) / 2 / (double) n);

    *deviations = excess / sqrt(variance);
    return deviation_t_tail(*deviations,
                            dof + limits_get(JP_LIMIT_CAUSE_PRIOR));
}

double deviation_within(double variance, size_t n, double a, double b,
                        double excess, double usual, double *deviations)
{
    double dof = n > 2 ? (double) (n - 2) / 3 : 0;

    *deviations = excess /
                  sqrt(moderated(variance, dof, usual) * (1 / a + 1 / b));
    return deviation_t_tail(*deviations,
                            dof + limits_get(JP_LIMIT_CAUSE_PRIOR));
}
