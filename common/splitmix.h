/* splitmix.h - splitmix64, a small generator of numbers whose sequence is the
 * same in every run, unlike rand(): for samples and orders that are made again.
 */
#ifndef JP_COMMON_SPLITMIX_H
#define JP_COMMON_SPLITMIX_H

#include <stdint.h>

/* Returns the next number. Any start of the state will do. */
static inline uint64_t splitmix_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
