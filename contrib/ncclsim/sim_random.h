/* sim_random.h - numbers that look random and are the same in every process of
 * the job. */
#ifndef JP_SIM_RANDOM_H
#define JP_SIM_RANDOM_H

#include <stdint.h>

/* Returns a well mixed hash of two words, by splitmix64's finalizer. */
static inline uint64_t sim_random_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a + 0x9E3779B97F4A7C15ULL * (b + 1);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/* Returns a number in [0, below) for the key; `below` > 0. */
static inline uint64_t sim_random_below(uint64_t key, uint64_t below)
{
    return sim_random_mix(key, 7) % below;
}

#endif
