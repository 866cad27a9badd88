/* reader_stamps.h - when a verbose record's operation ran.
 *
 * "event_trace_ts":{"coll_start_ts":..,"coll_stop_ts":..,"kernel_events":[
 * {"channel_id":0,"kernel_start_ts":..,"kernel_stop_ts":..,
 * "kernel_record_ts":..},..]}, microseconds of the host's clock. Of use are the
 * kernels' stamps: coll_start and coll_stop enclose the enqueueing only.
 */
#ifndef JP_NCCL_INSPECTOR_READER_STAMPS_H
#define JP_NCCL_INSPECTOR_READER_STAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAMPS_CHANNELS 64 /* NCCL's most */
#define STAMPS_DIGITS 16   /* microseconds of the years 2001 to 2286 */

struct reader_stamps {
    uint64_t start_us, stop_us; /* 0: unknown */
};

/* Where the stamps of each channel stand, in bytes from the text's begin. */
struct stamps_map {
    unsigned n; /* channels; 0: no map */
    uint16_t start[STAMPS_CHANNELS], stop[STAMPS_CHANNELS];
};

/* Reads the value of event_trace_ts. Another form leaves both unknown;
 * a channel without a start says nothing, one without a stop leaves the end
 * unknown. map (NULL: not wanted) is there if all stamps have STAMPS_DIGITS. */
struct reader_stamps reader_stamps_read(const char *text, size_t len,
                                        struct stamps_map *map);

/* The same from text that differs from the mapped one in digits only. */
struct reader_stamps reader_stamps_mapped(const char *text,
                                          const struct stamps_map *map);

#endif
