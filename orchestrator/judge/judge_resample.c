/* judge_resample.c - what blocks of a run come to, and how sure that is. */
#include "orchestrator/judge/judge.h"

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
