/* judge_resample.c - what blocks of a run come to, and how sure that is. */
#include "orchestrator/judge/judge_work.h"

#include <math.h>
#include <string.h>

#include "common/stats.h"

struct stats_trimmed judge_resample(const double *blocks, unsigned n)
{
    double one[JUDGE_BLOCKS], two[JUDGE_BLOCKS / 2];
    struct stats_trimmed a, b;

    memcpy(one, blocks, n * sizeof(*one));
    for (unsigned k = 0; k < n / 2; k++)
        two[k] = blocks[2 * k] + blocks[2 * k + 1];
    a = stats_trim(one, n);
    b = stats_trim(two, n / 2);
    a.mean *= n;
    a.error = fmax(a.error * n, b.error * (n / 2));
    return a;
}

double judge_neighbours(const double *blocks)
{
    double squares = 0;

    for (unsigned k = START_BLOCKS; k + 1 < JUDGE_BLOCKS; k++)
        squares += (blocks[k + 1] - blocks[k]) * (blocks[k + 1] - blocks[k]);
    return squares / (2 * (JUDGE_BLOCKS - START_BLOCKS - 1));
}

unsigned judge_freedom_of(unsigned blocks)
{
    return (unsigned) (0.6 * blocks / 2) - 1; /* kept pairs, less one */
}

double judge_moderate(double worth_us, double squares, double *freedom)
{
    double usual = worth_us / 2, known = JUDGE_DIFFER_KNOWN;

    squares += known * usual * usual;
    *freedom += known;
    return sqrt(squares / *freedom);
}
