/* jpr_window.c - keep the bytes of a stream from an offset on. */
#include "plugins/nccl_recorder/jpr_window.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct jpr_window {
    jpr_fill *fill;
    void *arg;
    size_t max;
    uint64_t offset;   /* of buf[start] */
    size_t start, end; /* of what is kept */
    bool eof;
    char buf[]; /* max + BLOCK_BYTES */
};

struct jpr_window *jpr_window_create(jpr_fill *fill, void *arg, size_t max)
{
    struct jpr_window *window = malloc(sizeof(*window) + max + BLOCK_BYTES);

    if (window)
        *window = (struct jpr_window){.fill = fill, .arg = arg, .max = max};
    return window;
}

void jpr_window_destroy(struct jpr_window *window)
{
    free(window);
}

/* A block more, less than max being kept. 0, or -1 with errno. */
static int grow(struct jpr_window *w)
{
    ssize_t n;

    if (w->end > w->max) {
        memmove(w->buf, w->buf + w->start, w->end - w->start);
        w->end -= w->start;
        w->start = 0;
    }
    n = w->fill(w->arg, w->buf + w->end, BLOCK_BYTES);
    if (n < 0)
        return -1;
    w->eof = n == 0;
    w->end += (size_t) n;
    return 0;
}

/* Forgets what is before offset, which may not be there yet. */
static int advance(struct jpr_window *w, uint64_t offset)
{
    while (w->offset < offset) {
        size_t kept = w->end - w->start;
        size_t n = offset - w->offset < kept ? (size_t) (offset - w->offset)
                                             : kept;

        w->start += n;
        w->offset += n;
        if (w->offset == offset || w->eof)
            break;
        if (grow(w) < 0)
            return -1;
    }
    return 0;
}

ssize_t jpr_window_read(struct jpr_window *w, uint64_t offset, void *out,
                        size_t n)
{
    if (offset < w->offset || n > w->max) {
        errno = EINVAL;
        return -1;
    }
    if (advance(w, offset) < 0)
        return -1;
    while (w->end - w->start < n && !w->eof)
        if (grow(w) < 0)
            return -1;
    if (w->offset < offset)
        return 0;
    if (n > w->end - w->start)
        n = w->end - w->start;
    memcpy(out, w->buf + w->start, n);
    return (ssize_t) n;
}
