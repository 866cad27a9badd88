/* inflate_isal.c - gzip by ISA-L, if configure has found it. Its results are
 * used only as long as they are good: logsource.c reads a file again with zlib
 * at the first sign of damage, so that reports do not depend on the library. */
#include "config.h"

#include <stdlib.h>
#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#include "common/inflate.h"

#ifdef HAVE_ISAL

struct inflate {
    struct inflate_state z; /* ISA-L's */
};

static struct inflate *create(void)
{
    struct inflate *z = malloc(sizeof(*z));

    if (!z)
        return NULL;
    isal_inflate_init(&z->z);
    /* Parse gzip's header and check its trailer. */
    z->z.crc_flag = ISAL_GZIP;
    return z;
}

static enum inflate_step step(struct inflate *z, const unsigned char *in,
                              size_t *in_len, char *out, size_t *out_len)
{
    int rc;

    z->z.next_in = (unsigned char *) (uintptr_t) in;
    z->z.avail_in = (uint32_t) *in_len;
    z->z.next_out = (unsigned char *) out;
    z->z.avail_out = (uint32_t) *out_len;
    rc = isal_inflate(&z->z);
    *in_len -= z->z.avail_in;
    *out_len -= z->z.avail_out;
    /* Both codes are success: the output is full, or the input is used up. */
    if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT)
        return INFLATE_CORRUPT;
    return z->z.block_state == ISAL_BLOCK_FINISH ? INFLATE_END : INFLATE_MORE;
}

static bool again(struct inflate *z)
{
    isal_inflate_reset(&z->z);
    return true;
}

static void destroy(struct inflate *z)
{
    free(z);
}

static const struct inflate_engine isal = {
    .name = "ISA-L",
    .create = create,
    .step = step,
    .again = again,
    .destroy = destroy,
};

#endif

/* ISA-L if this build has it, otherwise zlib. */
const struct inflate_engine *inflate_best(void)
{
#ifdef HAVE_ISAL
    return &isal;
#else
    return &inflate_zlib;
#endif
}
