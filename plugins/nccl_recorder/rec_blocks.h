/* rec_blocks.h - blocks of the file, collected for one write. */
#ifndef JP_REC_BLOCKS_H
#define JP_REC_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr_bytes.h"
#include "plugins/nccl_recorder/jpr_frame.h"

/* Allocates once (about 800 KB with zlib's), empties. 0 or -1. */
int rec_blocks_init(void);

/* An empty payload to fill; valid until the next call. */
struct jpr_out *rec_blocks_payload(void);

/* Adds a block, an empty payload is left out; bytes it takes in the file. */
size_t rec_blocks_add(enum jpr_block type, const uint8_t *raw, size_t n);

/* Writes what was added since the last call, all or nothing: 0 or -1. */
int rec_blocks_write(bool last);

/* Whether a write ever succeeded. */
bool rec_blocks_ever(void);

#endif
