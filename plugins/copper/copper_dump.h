/* copper_dump.h - what an ioctl makes a daemon write, with profiling off too.
 *
 * Five counters of all operations, one file each, and the sizes of three
 * caches (tables/final/<host>-<pid>-*.output).
 */
#ifndef JP_PLUGINS_COPPER_DUMP_H
#define JP_PLUGINS_COPPER_DUMP_H

#include "plugins/copper/copper_counts.h"

/* Which field of struct copper_op a file holds. */
enum copper_dump {
    COPPER_DUMP_COUNT,
    COPPER_DUMP_TIME, /* microseconds */
    COPPER_DUMP_HIT,
    COPPER_DUMP_MISS,
    COPPER_DUMP_NEG,
    COPPER_N_DUMPS
};

/* Sets that field of every operation. -1: not that file, cut or wrong; *ops
 * is untouched then. */
int copper_dump_read(struct copper_stream *stream, enum copper_dump dump,
                     struct copper_ops *ops, struct jp_error *err);

/* later - earlier, field by field: what happened in between. -1: a counter of
 * earlier is greater; *out is untouched then. */
int copper_ops_since(const struct copper_ops *later,
                     const struct copper_ops *earlier, struct copper_ops *out,
                     struct jp_error *err);

/* A *_cache_size.output: a line a path, then two sums. */
struct copper_cache_size {
    uint64_t bytes, entries;
};
int copper_cache_size_read(struct copper_stream *stream,
                           struct copper_cache_size *out, struct jp_error *err);

#endif
