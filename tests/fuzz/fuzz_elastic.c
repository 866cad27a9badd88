/* fuzz_elastic.c - any bytes as a worker's file about its exception. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/utf8.h"
#include "orchestrator/live/elasticfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One line of whole characters, without control characters. */
static void check(const char *text, size_t room)
{
    size_t len = strnlen(text, room), at = 0, n;
    uint32_t point;

    assert(len < room);
    for (; at < len; at += n) {
        n = utf8_decode(text + at, len - at, &point);
        assert(n && point >= ' ' && point != 0x7f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elasticfile f;
    int rc = elasticfile_parse((const char *) data, size, &f, NULL);

    assert((rc == 0) == (*f.type || *f.message));
    check(f.type, sizeof(f.type));
    check(f.message, sizeof(f.message));
    check(f.at, sizeof(f.at));
    return 0;
}
