/* nsys_sums.h - what names add up to: count, total, least, most, deviation.
 *
 * Sums are kept so that they can be merged without the values they were made
 * of: the mean and the squared deviations are those of Welford and Chan.
 */
#ifndef JP_PLUGINS_NSYS_SUMS_H
#define JP_PLUGINS_NSYS_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeros: nothing was added. */
struct nsys_sum {
    uint64_t n, total, min, max; /* total: UINT64_MAX where it is more */
    double mean, squares;        /* squares: of the deviations from the mean */
};

void nsys_sum_add(struct nsys_sum *sum, uint64_t value);
void nsys_sum_merge(struct nsys_sum *sum, const struct nsys_sum *other);
/* total / n; 0 without values. */
double nsys_sum_average(const struct nsys_sum *sum);
/* Of the sample: over n - 1; 0 of less than two values. */
double nsys_sum_deviation(const struct nsys_sum *sum);

/* Names, each with a number from 0 on. Zeros are empty. */
struct nsys_names {
    char **at;
    size_t n;
    size_t room;
    uint32_t *slots; /* of the hash: number + 1; 0: free */
    size_t n_slots;  /* a power of two */
};

/* The name's number; -1: it has none. */
int64_t nsys_names_find(const struct nsys_names *names, const char *name);
/* The same; a new name is copied. -1: no memory. */
int64_t nsys_names_put(struct nsys_names *names, const char *name);
void nsys_names_fini(struct nsys_names *names);

#endif
