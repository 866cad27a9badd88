/* Blocks of the file, collected for one write. */
#include "plugins/nccl_recorder/rec_blocks.h"

#include <stdlib.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/rec_sink.h"

/* Two blocks of operations and the counters, should nothing shrink. */
enum { BUFFER_BYTES = 400 * 1024, PAYLOAD_BYTES = 96 * 1024 };

static uint8_t *buffer;
static size_t used;
static bool overflow; /* a block did not fit: the write fails */
static bool ever;
static uint8_t *space;
static struct jpr_out payload;
static struct jpr_zip *zip;

int rec_blocks_init(void)
{
    if (!buffer && !(buffer = malloc(BUFFER_BYTES)))
        return -1;
    if (!space && !(space = malloc(PAYLOAD_BYTES)))
        return -1;
    if (!zip) /* without it blocks are stored as they are */
        zip = jpr_zip_create();
    used = 0;
    overflow = false;
    ever = false;
    return 0;
}

struct jpr_out *rec_blocks_payload(void)
{
    payload = (struct jpr_out){.bytes = space, .size = PAYLOAD_BYTES};
    return &payload;
}

size_t rec_blocks_add(enum jpr_block type, const uint8_t *raw, size_t n)
{
    size_t added;

    if (n == 0)
        return 0;
    added =
        jpr_frame_write(type, raw, n, zip, buffer + used, BUFFER_BYTES - used);
    if (added == 0)
        overflow = true;
    used += added;
    return added;
}

int rec_blocks_write(bool last)
{
    int rc = 0;

    if (overflow || (used > 0 && rec_sink_append(buffer, used, last) < 0))
        rc = -1;
    else
        ever = ever || used > 0;
    used = 0;
    overflow = false;
    return rc;
}

bool rec_blocks_ever(void)
{
    return ever;
}
