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

/* When GPUs were busy, and where they were not, in bounded
 * memory.
 *
 * Intervals may come in any order and overlap. Where there are more than fit,
 * the shortest gaps are closed: their time stays idle time, but they are not
 * counted as gaps any more, and merge_ns says which.
 */

struct nsys_span {
    int64_t start, end;
    uint64_t busy; /* of that; less where gaps were closed */
    uint32_t device;
};

/* Zeros are empty. */
struct nsys_busy {
    struct nsys_span *at;
    size_t n, room;
    size_t most;       /* that are kept; 0: NSYS_SPANS */
    uint64_t merge_ns; /* gaps no longer than that are closed; 0: none */
};

/* start <= end, both within +-2^61. -1: no memory. */
int nsys_busy_add(struct nsys_busy *busy, uint32_t device, int64_t start,
                  int64_t end);
/* Sorts by device and time; afterwards spans of a device do not overlap. */
void nsys_busy_settle(struct nsys_busy *busy);
void nsys_busy_fini(struct nsys_busy *busy);

/* What an export's numbers mean, looked up once each; and when
 * the kernels of launches began.
 */

/* What a call into CUDA is for. */
enum nsys_call {
    CALL_OTHER,
    CALL_LAUNCH,
    CALL_SYNC_COPY,
    CALL_SYNC,
    CALL_ALLOCATION
};

/* A number of the export, and which line of a table it means. */
struct nsys_meaning {
    int64_t id;
    uint32_t line; /* + 1; 0: not set */
    enum nsys_call class;
};

/* Zeros are empty. */
struct nsys_meanings {
    struct nsys_meaning *at;
    size_t n, n_slots; /* a power of two */
};

/* The place of a number; without a line it is new, and the caller sets id and
 * line and counts n up. Valid until the next call. NULL: no memory. */
struct nsys_meaning *nsys_meaning_find(struct nsys_meanings *m, int64_t id);
void nsys_meanings_fini(struct nsys_meanings *m);

/* When a kernel began, by its launch's process and number. */
struct nsys_launch {
    uint64_t key; /* not 0 */
    int64_t start;
};

/* Zeros are empty. */
struct nsys_launches {
    struct nsys_launch *at;
    size_t n, n_slots;
};

/* Of several kernels of a launch the first counts. -1: no memory; 1: there are
 * too many. */
int nsys_launch_keep(struct nsys_launches *l, uint64_t key, int64_t start);
/* NULL: none. */
const struct nsys_launch *nsys_launch_find(const struct nsys_launches *l,
                                           uint64_t key);
void nsys_launches_fini(struct nsys_launches *l);

#endif
