/* jpr_window.h - a stream read as if by offset, ever forwards.
 *
 * What lies before the last offset asked for is gone; memory is the window
 * itself.
 */
#ifndef JP_JPR_WINDOW_H
#define JP_JPR_WINDOW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Up to cap bytes into buf; 0: end; -1: failed, errno says why. */
typedef ssize_t jpr_fill(void *arg, void *buf, size_t cap);

struct jpr_window;

/* Holds up to max bytes. NULL without memory. arg is borrowed. */
struct jpr_window *jpr_window_create(jpr_fill *fill, void *arg, size_t max);
/* NULL is fine. */
void jpr_window_destroy(struct jpr_window *window);

/* Up to n bytes at an offset that is not before the last one, n <= max: how
 * many there are; -1 with errno. */
ssize_t jpr_window_read(struct jpr_window *window, uint64_t offset, void *out,
                        size_t n);

#endif
