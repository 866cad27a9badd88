/* bounded.h - do something that may hang or crash in a child of its own.
 *
 * The result goes into memory shared with the child, so that what was told
 * before a hang is kept. After the child a caller checks every number in it.
 */
#ifndef JP_TOPO_BOUNDED_H
#define JP_TOPO_BOUNDED_H

#include <stddef.h>
#include <stdint.h>

enum jp_bounded {
    JP_BOUNDED_DONE,
    JP_BOUNDED_LATE,  /* killed after limit_ms */
    JP_BOUNDED_DIED,  /* a signal, or a library called exit */
    JP_BOUNDED_NEVER, /* no child could be made */
};

/* Zeroed memory for bounded_run, NULL without; bounded_free takes NULL. */
void *bounded_alloc(size_t size);
void bounded_free(void *shared, size_t size);

/* Runs work(arg, shared) in a child with default signals, which also ends with
 * this process. One that a driver keeps from dying is left to init. */
enum jp_bounded bounded_run(void (*work)(const void *arg, void *shared),
                            const void *arg, void *shared, uint32_t limit_ms);

#endif
