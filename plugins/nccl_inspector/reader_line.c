/* reader_line.c - a line goes one of two ways, and the ways are counted. */
#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_inspector/reader_cache.h"

struct inspector_cache *inspector_cache_create(void)
{
    struct inspector_cache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        return NULL;
    cache->generation = RECORD_MAX_SERIES;
    memcpy(&cache->stamp_text, "10000000", sizeof(cache->stamp_text));
    cache->stamp_value = 10000000;
    for (unsigned i = 0; i < CACHE_SETS; i++)
        cache->last[i] = &cache->heads[i * CACHE_WAYS];
    return cache;
}

void inspector_cache_destroy(struct inspector_cache *cache)
{
    free(cache);
}

/* Whether speculation took the whole line. */
static bool speculate(struct inspector_reader *reader, const char *line,
                      size_t len, struct record *out)
{
    const char *next, *end = line + len;

    return reader_speculate(reader->cache, line, end, out, &next) &&
           (next == end || (next + 1 == end && *next == '\r'));
}

enum inspector_line inspector_read_line(struct inspector_reader *reader,
                                        const char *line, size_t len,
                                        struct record *out)
{
    enum inspector_line kind;

    if (reader->cache && speculate(reader, line, len, out)) {
        reader->why[0] = '\0';
        reader->ways.speculated++;
        return INSPECTOR_RECORD;
    }
    kind = reader_parse(reader, line, len, out);
    if (reader->cache && kind == INSPECTOR_RECORD) {
        if (reader_learn(reader->cache, line, len, out))
            reader->ways.learned++;
        else
            reader->ways.odd++;
    }
    return kind;
}
