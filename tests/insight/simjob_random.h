/* simjob_random.h - numbers that look random and follow from a seed. */
#ifndef JP_TESTS_SIMJOB_RANDOM_H
#define JP_TESTS_SIMJOB_RANDOM_H

#include <math.h>
#include <stdint.h>

struct simjob_random {
    uint64_t state;
};

/* splitmix64 */
static inline uint64_t random_next(struct simjob_random *r)
{
    uint64_t z = r->state += 0x9E3779B97F4A7C15ULL;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/* In [0, below). */
static inline uint32_t random_below(struct simjob_random *r, uint32_t below)
{
    return (uint32_t) ((random_next(r) >> 32) * below >> 32);
}

/* In [0, 1). */
static inline double random_unit(struct simjob_random *r)
{
    return (double) (random_next(r) >> 11) * 0x1p-53;
}

/* Mean 0, deviation 1. */
static inline double random_normal(struct simjob_random *r)
{
    double u = 1 - random_unit(r), v = random_unit(r);

    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

#endif
