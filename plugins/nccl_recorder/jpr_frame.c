/* A block's frame: what it is, how long, how packed, its check. */
#include "plugins/nccl_recorder/jpr_frame.h"

#include <string.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_bytes.h"

/* A byte over 127, line ends and Ctrl-Z: a text-mode copy shows. */
static const uint8_t file_magic[8] = {0x89, 'J',  'P',  'R',
                                      '\r', '\n', 0x1A, '\n'};
static const uint8_t block_magic[4] = {'J', 'P', 'R', 'B'};

void jpr_head_write(uint8_t head[JPR_HEAD_BYTES])
{
    memcpy(head, file_magic, sizeof(file_magic));
    jpr_put_le32(head + 8, JPR_VERSION);
}

uint32_t jpr_head_read(const uint8_t head[JPR_HEAD_BYTES])
{
    if (memcmp(head, file_magic, sizeof(file_magic)) != 0)
        return 0;
    return jpr_get_le32(head + 8);
}

static uint32_t check_of(const uint8_t *frame)
{
    uint32_t crc = jpr_crc32(0, frame, 6);

    return jpr_crc32(crc, frame + 8, JPR_FRAME_BYTES - 8) & 0xFFFF;
}

size_t jpr_frame_write(enum jpr_block type, const uint8_t *raw, size_t n,
                       struct jpr_zip *zip, uint8_t *out, size_t size)
{
    uint8_t *payload = out + JPR_FRAME_BYTES;
    size_t packed = 0;
    uint32_t check;

    if (n > JPR_MAX_RAW_BYTES || size < JPR_FRAME_BYTES)
        return 0;
    size -= JPR_FRAME_BYTES;
    if (zip && n > 1)
        packed =
            jpr_zip_pack(zip, raw, n, payload, n - 1 < size ? n - 1 : size);
    if (packed == 0) {
        if (n > size)
            return 0;
        if (n > 0)
            memcpy(payload, raw, n);
    }
    memcpy(out, block_magic, sizeof(block_magic));
    out[4] = (uint8_t) type;
    out[5] = packed ? JPR_ZLIB : JPR_STORED;
    jpr_put_le32(out + 8, (uint32_t) (packed ? packed : n));
    jpr_put_le32(out + 12, (uint32_t) n);
    jpr_put_le32(out + 16, jpr_crc32(0, payload, packed ? packed : n));
    check = check_of(out);
    out[6] = (uint8_t) check;
    out[7] = (uint8_t) (check >> 8);
    return JPR_FRAME_BYTES + (packed ? packed : n);
}

bool jpr_frame_read(const uint8_t *bytes, struct jpr_frame *frame)
{
    if (memcmp(bytes, block_magic, sizeof(block_magic)) != 0 ||
        check_of(bytes) != ((uint32_t) bytes[6] | (uint32_t) bytes[7] << 8))
        return false;
    frame->type = bytes[4];
    frame->codec = bytes[5];
    frame->disk_bytes = jpr_get_le32(bytes + 8);
    frame->raw_bytes = jpr_get_le32(bytes + 12);
    frame->crc = jpr_get_le32(bytes + 16);
    if (frame->codec == JPR_STORED)
        return frame->disk_bytes == frame->raw_bytes &&
               frame->raw_bytes <= JPR_MAX_RAW_BYTES;
    return frame->codec == JPR_ZLIB && frame->raw_bytes <= JPR_MAX_RAW_BYTES &&
           frame->disk_bytes < frame->raw_bytes;
}
