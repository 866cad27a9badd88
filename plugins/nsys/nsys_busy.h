/* nsys_busy.h - when GPUs were busy, and where they were not, in bounded
 * memory.
 *
 * Intervals may come in any order and overlap. Where there are more than fit,
 * the shortest gaps are closed: their time stays idle time, but they are not
 * counted as gaps any more, and merge_ns says which.
 */
#ifndef JP_PLUGINS_NSYS_BUSY_H
#define JP_PLUGINS_NSYS_BUSY_H

#include <stddef.h>
#include <stdint.h>

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
#define NSYS_SPANS ((size_t) 1 << 20)

/* start <= end, both within +-2^61. -1: no memory. */
int nsys_busy_add(struct nsys_busy *busy, uint32_t device, int64_t start,
                  int64_t end);
/* Sorts by device and time; afterwards spans of a device do not overlap. */
void nsys_busy_settle(struct nsys_busy *busy);
void nsys_busy_fini(struct nsys_busy *busy);

#endif
