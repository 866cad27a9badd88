/* zlib for blocks, where the build has it. */
#include "plugins/nccl_recorder/jpr_zip.h"

#ifndef JPR_WITHOUT_ZLIB

#include <stdlib.h>

#include <zlib.h>

struct jpr_zip {
    z_stream stream;
};

struct jpr_zip *jpr_zip_create(void)
{
    struct jpr_zip *zip = calloc(1, sizeof(*zip));

    if (zip && deflateInit(&zip->stream, 1) != Z_OK) {
        free(zip);
        zip = NULL;
    }
    return zip;
}

size_t jpr_zip_pack(struct jpr_zip *zip, const uint8_t *raw, size_t n,
                    uint8_t *out, size_t size)
{
    z_stream *s = &zip->stream;

    if (deflateReset(s) != Z_OK)
        return 0;
    s->next_in = (Bytef *) (uintptr_t) raw;
    s->avail_in = (uInt) n;
    s->next_out = out;
    s->avail_out = (uInt) size;
    return deflate(s, Z_FINISH) == Z_STREAM_END ? size - s->avail_out : 0;
}

int jpr_unzip(const uint8_t *packed, size_t n, uint8_t *out, size_t size)
{
    uLongf length = size;

    if (uncompress(out, &length, packed, n) != Z_OK || length != size)
        return -1;
    return 0;
}

#else

struct jpr_zip *jpr_zip_create(void)
{
    return NULL;
}

size_t jpr_zip_pack(struct jpr_zip *zip, const uint8_t *raw, size_t n,
                    uint8_t *out, size_t size)
{
    return 0;
}

int jpr_unzip(const uint8_t *packed, size_t n, uint8_t *out, size_t size)
{
    return -1;
}

#endif
