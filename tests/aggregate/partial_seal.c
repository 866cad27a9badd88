/* partial_seal.c - give the blocks of a partial their right CRCs. */
#include "tests/aggregate/partial_seal.h"

#include <string.h>
#include <zlib.h>

#include "orchestrator/aggregate/partial_parts.h"

size_t partial_seal(uint8_t *bytes, size_t n)
{
    static const uint8_t head[PARTIAL_HEAD_BYTES] = {0x89,
                                                     'J',
                                                     'P',
                                                     'P',
                                                     '\r',
                                                     '\n',
                                                     0x1a,
                                                     '\n',
                                                     PARTIAL_VERSION % 256,
                                                     PARTIAL_VERSION / 256};
    size_t at = PARTIAL_HEAD_BYTES;
    uint8_t blocks = 0;

    if (n < at)
        return 0;
    memcpy(bytes, head, sizeof(head));
    while (n - at >= PARTIAL_FRAME_BYTES) {
        uint8_t *frame = bytes + at, *payload = frame + PARTIAL_FRAME_BYTES;
        size_t len = jpr_get_le32(frame + 4);

        at += PARTIAL_FRAME_BYTES;
        if (len > n - at)
            len = n - at;
        jpr_put_le32(frame, frame[0] % PARTIAL_N_TYPES);
        jpr_put_le32(frame + 4, (uint32_t) len);
        if (frame[0] == PARTIAL_END && len == 1)
            payload[0] = blocks & 0x7f;
        jpr_put_le32(frame + 8,
                     (uint32_t) crc32(crc32(0, frame, 8), payload, (uInt) len));
        at += len;
        blocks++;
    }
    return at;
}
