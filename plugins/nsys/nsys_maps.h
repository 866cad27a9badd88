/* nsys_maps.h - what an export's numbers mean, looked up once each; and when
 * the kernels of launches began.
 */
#ifndef JP_PLUGINS_NSYS_MAPS_H
#define JP_PLUGINS_NSYS_MAPS_H

#include <stddef.h>
#include <stdint.h>

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
#define NSYS_LAUNCH_SLOTS ((size_t) 1 << 21) /* 32 MiB; three quarters used */

/* Of several kernels of a launch the first counts. -1: no memory; 1: there are
 * too many. */
int nsys_launch_keep(struct nsys_launches *l, uint64_t key, int64_t start);
/* NULL: none. */
const struct nsys_launch *nsys_launch_find(const struct nsys_launches *l,
                                           uint64_t key);
void nsys_launches_fini(struct nsys_launches *l);

#endif
