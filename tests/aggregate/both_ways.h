/* both_ways.h - a line read by speculation and by the generic parser. */
#ifndef JP_TEST_BOTH_WAYS_H
#define JP_TEST_BOTH_WAYS_H

#include "plugins/nccl_inspector/reader.h"

/* Reads lines twice, with the reader, which has a cache, and without one; the
 * text may hold several lines. Every copy ends at its heap block's end, so that
 * ASan sees any overrun. Returns NULL, or the first difference (static). */
const char *both_ways_differ(struct inspector_reader *reader, const char *text,
                             size_t len);

#endif
