/* jpr_frame.h - a block's frame: what it is, how long, how packed, its check.
 *
 *   offset  bytes
 *   0       4      "JPRB"
 *   4       1      type (enum jpr_block)
 *   5       1      codec: 0 stored, 1 zlib
 *   6       2      check: low half of the CRC-32 of the frame's other bytes
 *   8       4      bytes of the payload in the file
 *   12      4      bytes of the payload unpacked
 *   16      4      CRC-32 of the payload as it is in the file
 * Numbers are little-endian. A file begins with 8 bytes of magic and a 4-byte
 * version.
 */
#ifndef JP_JPR_FRAME_H
#define JP_JPR_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr_zip.h"

enum { JPR_HEAD_BYTES = 12, JPR_FRAME_BYTES = 20 };

/* Numbers are the file's; never reuse one. */
enum jpr_block {
    JPR_BLOCK_HEADER = 1,
    JPR_BLOCK_COMM = 2,
    JPR_BLOCK_OPS = 3,
    JPR_BLOCK_INFLIGHT = 4,
    JPR_BLOCK_COUNTERS = 5,
};

enum jpr_codec { JPR_STORED = 0, JPR_ZLIB = 1 };

struct jpr_frame {
    uint8_t type; /* may be one this release does not know */
    uint8_t codec;
    uint32_t disk_bytes;
    uint32_t raw_bytes;
    uint32_t crc;
};

/* The first 12 bytes of a file. */
void jpr_head_write(uint8_t head[JPR_HEAD_BYTES]);
/* The version in them, 0 when the magic is another's. */
uint32_t jpr_head_read(const uint8_t head[JPR_HEAD_BYTES]);

/* Puts frame and payload into out[0..size), packed when that is shorter and
 * `zip` is not NULL. The number of bytes; 0 when they do not fit. */
size_t jpr_frame_write(enum jpr_block type, const uint8_t *raw, size_t n,
                       struct jpr_zip *zip, uint8_t *out, size_t size);

/* Reads 20 bytes; false unless they are a frame with possible lengths. */
bool jpr_frame_read(const uint8_t *bytes, struct jpr_frame *frame);

#endif
