/* inflate_zlib.c - gzip by zlib, the reference. */
#include "orchestrator/ingest/inflate.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

struct inflate {
    z_stream z;
};

static struct inflate *create(void)
{
    struct inflate *z = calloc(1, sizeof(*z));

    if (z && inflateInit2(&z->z, 15 + 16) == Z_OK)
        return z;
    free(z);
    return NULL;
}

static enum inflate_step step(struct inflate *z, const unsigned char *in,
                              size_t *in_len, char *out, size_t *out_len)
{
    int rc;

    z->z.next_in = (unsigned char *) (uintptr_t) in;
    z->z.avail_in = (uInt) *in_len;
    z->z.next_out = (unsigned char *) out;
    z->z.avail_out = (uInt) *out_len;
    rc = inflate(&z->z, Z_NO_FLUSH);
    *in_len -= z->z.avail_in;
    *out_len -= z->z.avail_out;
    return rc == Z_STREAM_END                ? INFLATE_END
           : rc == Z_OK || rc == Z_BUF_ERROR ? INFLATE_MORE
                                             : INFLATE_CORRUPT;
}

static bool again(struct inflate *z)
{
    return inflateReset(&z->z) == Z_OK;
}

static void destroy(struct inflate *z)
{
    if (z)
        inflateEnd(&z->z);
    free(z);
}

const struct inflate_engine inflate_zlib = {
    .name = "zlib",
    .create = create,
    .step = step,
    .again = again,
    .destroy = destroy,
};
