/* reader_cache.h - what the speculation on a line's structure remembers.
 *
 * Inspector writes every line the same way, so a line that was read by the
 * generic parser is kept in parts, and the next ones are compared with them:
 *   head  {"header":{"id":..,"nnodes":8},"metadata":{..,"dump_timestamp_us":
 *         a number
 *   mid   ,"hostname":..,"pid":9},"coll_perf":{"coll":"AllReduce","coll_sn":
 *         numbers between keys that are known by heart
 *   late  ,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":
 *         two decimals, `,"coll_busbw_gbs":` between them
 *   tail  }} or what verbose records have besides, up to }}
 * head, mid and late must agree byte for byte; of a tail digits may differ, and
 * the number of digits in a row. That is exact: a tail's own keys hold no
 * digit, so all digits stand between the brackets of a skipped value, where the
 * generic parser looks at brackets and quotes only (no tail with a backslash is
 * kept). A part that is kept when its room is taken replaces another one.
 */
#ifndef JP_NCCL_INSPECTOR_READER_CACHE_H
#define JP_NCCL_INSPECTOR_READER_CACHE_H

#include "plugins/nccl_inspector/reader.h"
#include "plugins/nccl_inspector/reader_stamps.h"

enum {
    CACHE_SETS = 8, /* of heads, by the digits of the id */
    CACHE_WAYS = 8,
    CACHE_HEADS = CACHE_SETS * CACHE_WAYS,
    CACHE_MIDS = RECORD_MAX_SERIES / CACHE_HEADS,
    CACHE_LATES = 4,
    CACHE_TAILS = 16, /* also by the digits of their numbers */
    CACHE_PART_BYTES = 512,
    CACHE_TAIL_BYTES = 20 * 1024, /* 64 channels */
    CACHE_TAG_AT = 19             /* behind {"header":{"id":"0x */
};

struct cache_head {
    uint64_t tag; /* bytes at CACHE_TAG_AT */
    uint16_t len; /* 0: free */
    uint16_t series;
    uint8_t tail;
    uint32_t rank, n_ranks, nnodes;
    struct record_text id_text, name_text; /* of these: */
    char id[RECORD_MAX_ID];
    char name[RECORD_MAX_NAME];
    char text[CACHE_PART_BYTES];
};

struct cache_mid {
    uint64_t tag; /* bytes at tag_at: the function's name */
    uint16_t len, tag_at, series;
    bool p2p;
    int64_t pid;
    struct record_text host_text, func_text; /* of these: */
    char host[RECORD_MAX_HOST];
    char func[RECORD_MAX_FUNC];
    char text[CACHE_PART_BYTES];
};

struct cache_late {
    bool p2p;
    uint16_t len;
    char text[CACHE_PART_BYTES];
};

struct cache_tail {
    uint32_t len, stamps_at;        /* 0: holds no event_trace_ts */
    struct stamps_map map;          /* from there on */
    char text[CACHE_TAIL_BYTES];    /* every digit a 0 */
    uint8_t span[CACHE_TAIL_BYTES]; /* 9 where a digit stands, else 0 */
};

struct inspector_cache {
    /* of the numbers in record.series, which is this and a head's and
     * a mid's own */
    uint64_t generation;
    /* the first eight digits of the last timestamp of sixteen */
    uint64_t stamp_text, stamp_value;
    unsigned n_mids, n_lates, n_tails;
    unsigned next_way[CACHE_SETS], next_mid, next_late, next_tail;
    struct cache_head *last[CACHE_SETS]; /* that was found */
    unsigned late;                       /* the last one used */
    struct cache_head heads[CACHE_HEADS];
    struct cache_mid mids[CACHE_MIDS];
    struct cache_late lates[CACHE_LATES];
    struct cache_tail tails[CACHE_TAILS];
};

/* The set of heads of a tag. */
static inline unsigned cache_set(uint64_t tag)
{
    return (unsigned) (tag * UINT64_C(0x9e3779b97f4a7c15) >> 61);
}

/* A line at p in known parts. *next: behind its }}. false: *out is undefined.
 */
bool reader_speculate(struct inspector_cache *cache, const char *p,
                      const char *end, struct record *out, const char **next);

/* Keeps the parts of a line that the generic parser made *record of. false: its
 * layout is unknown. */
bool reader_learn(struct inspector_cache *cache, const char *line, size_t len,
                  const struct record *record);

#endif
