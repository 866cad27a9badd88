/* jpr_frame.h - the frame of a block, and how bytes and fields are encoded
 * inside.
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

#include "plugins/nccl_recorder/jpr.h"

/* --- zlib for blocks, where the build has it.
 *
 * The plugin contains zlib, with hidden symbols. Built without a static libz.a,
 * it stores blocks uncompressed.
 */

struct jpr_zip;

/* Makes a compressor of level 1, about 270 KB, so that compressing allocates
 * nothing later. NULL without memory or without zlib. It lives as long as the
 * process. */
struct jpr_zip *jpr_zip_create(void);

/* Unpacks exactly `size` bytes. Returns 0, or -1: not zlib's, another size, or
 * no zlib in this build. */
int jpr_unzip(const uint8_t *packed, size_t n, uint8_t *out, size_t size);

enum { JPR_HEAD_BYTES = 12, JPR_FRAME_BYTES = 20 };

/* Shorter blocks are stored. Counters of each 100 ms are 100 to 200 bytes and
 * shrink by a fifth only, but unpacking them was half the cost of following a
 * file. */
enum { JPR_ZIP_LEAST = 256 };

/* Numbers of the file format; never reuse one. */
enum jpr_block {
    JPR_BLOCK_HEADER = 1,
    JPR_BLOCK_COMM = 2,
    JPR_BLOCK_OPS = 3,
    JPR_BLOCK_INFLIGHT = 4,
    JPR_BLOCK_COUNTERS = 5,
    JPR_BLOCK_PROCESS = 6,
    JPR_BLOCK_ROOM = 7,
    JPR_BLOCK_TIMES = 8, /* from version 8 on */
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
/* Returns the version in them, or 0 when the magic is another's. */
uint32_t jpr_head_read(const uint8_t head[JPR_HEAD_BYTES]);

/* Puts frame and payload into out[0..size), compressed when that is shorter and
 * `zip` is not NULL. Returns the number of bytes, or 0 when they do not fit. */
size_t jpr_frame_write(enum jpr_block type, const uint8_t *raw, size_t n,
                       struct jpr_zip *zip, uint8_t *out, size_t size);

/* Reads 20 bytes; returns false unless they are a frame with possible lengths.
 */
bool jpr_frame_read(const uint8_t *bytes, struct jpr_frame *frame);

/* --- varints and strings, in and out of memory, always in bounds.
 *
 * A varint is LEB128: 7 bits a byte, low first, at most 10 bytes; a signed
 * number is zigzag-coded (0, -1, 1, -2 ... become 0, 1, 2, 3 ...).
 * A failure persists, so callers check `full` or `bad` once, at the end.
 */

struct jpr_out {
    uint8_t *bytes; /* borrowed */
    size_t used;
    size_t size;
    bool full; /* something did not fit and was left out */
};

void jpr_put_u64(struct jpr_out *out, uint64_t value);
void jpr_put_i64(struct jpr_out *out, int64_t value);
/* A difference of unsigned numbers, small either way, modulo 2^64. */
void jpr_put_delta(struct jpr_out *out, uint64_t value, uint64_t base);
void jpr_put_bytes(struct jpr_out *out, const void *bytes, size_t n);
/* Puts the length, then the bytes; NULL is "". A text longer than
 * JPR_MAX_TEXT_BYTES is cut. */
void jpr_put_text(struct jpr_out *out, const char *text);

struct jpr_in {
    const uint8_t *at; /* borrowed */
    const uint8_t *end;
    bool bad; /* truncated or too long; everything read since is 0 */
};

uint64_t jpr_get_long(struct jpr_in *in); /* reads a varint of any length */
static inline uint64_t jpr_get_u64(struct jpr_in *in)
{
    return in->at != in->end && *in->at < 0x80 && !in->bad ? *in->at++
                                                           : jpr_get_long(in);
}
int64_t jpr_get_i64(struct jpr_in *in);
uint64_t jpr_get_delta(struct jpr_in *in, uint64_t base);
/* Reads a number that must not exceed `max`; else sets `bad` and returns 0. */
static inline uint64_t jpr_get_bounded(struct jpr_in *in, uint64_t max)
{
    uint64_t value = jpr_get_u64(in);

    if (value <= max)
        return value;
    in->bad = true;
    return 0;
}
/* Returns the length of a text and, in *text, where its bytes begin (no NUL).
 */
size_t jpr_get_text(struct jpr_in *in, const char **text);

/* Fixed little-endian numbers of the frame. */
void jpr_put_le32(uint8_t *at, uint32_t value);
uint32_t jpr_get_le32(const uint8_t *at);

/* CRC-32 as in zlib and Ethernet; start with 0 and feed the result back. */
uint32_t jpr_crc32(uint32_t crc, const void *bytes, size_t n);

/* --- the members of a record in the order the file has them.
 *
 * One table per record serves writing and reading. A later version appends
 * rows; a reader ignores unknown bytes at the end of a payload.
 */

enum jpr_field_type { JPR_U64, JPR_U32, JPR_I64, JPR_BOOL, JPR_TEXT };

struct jpr_field {
    enum jpr_field_type type;
    size_t offset;
};

struct jpr_fields {
    const struct jpr_field *rows;
    size_t n;
};

extern const struct jpr_fields jpr_header_fields;   /* without the lists */
extern const struct jpr_fields jpr_variable_fields; /* struct jpr_variable */
extern const struct jpr_fields jpr_comm_fields;
extern const struct jpr_fields jpr_counters_fields; /* without the rows */
extern const struct jpr_fields jpr_row_fields;      /* struct jpr_comm_counts */
extern const struct jpr_fields jpr_unseen_fields;   /* struct jpr_unseen */
extern const struct jpr_fields jpr_cost_fields;     /* struct jpr_cost */
extern const struct jpr_fields jpr_doubts_fields;   /* struct jpr_doubts */
extern const struct jpr_fields jpr_pause_fields;    /* struct jpr_pause */
extern const struct jpr_fields jpr_room_fields;     /* struct jpr_room */
/* The part of struct jpr_op that operations of a block share. */
extern const struct jpr_fields jpr_template_fields;

/* Operations into the payload of one block.
 *
 * What operations of a block share (communicator, function, size, algorithm,
 * ...) is a template, which the block has once. A row holds the template's
 * number, the sequence number and the times, each as the difference from what
 * the template's last row makes likely.
 */

/* Bits of a row. */
enum {
    JPR_ROW_KERNEL = 1 << 0, /* has kernel times by the host */
    JPR_ROW_GPU = 1 << 1,    /* has kernel times by the GPU */
    JPR_ROW_SOURCE = 3 << 2, /* enum jpr_source */
    JPR_ROW_SOURCE_SHIFT = 2,
    JPR_ROW_NET = 1 << 4,
    JPR_ROW_INCOMPLETE =
        1 << 5, /* has channel counts, as operations in flight do */
    JPR_ROW_OVERTAKEN = 1 << 6,
    JPR_ROW_UNSURE = 1 << 7,
    JPR_ROW_TAG = 1 << 8, /* this and the next from version 4 on */
    JPR_ROW_SYMMETRIC = 1 << 9,
    JPR_ROW_PHASES = 1 << 10,
    /* from version 8 on; without GPU and PHASES, and it has no exec */
    JPR_ROW_LATER = 1 << 11,
    JPR_ROW_FLAGS = (1 << 12) - 1,
};

/* What writer and reader remember of a template's last row. */
struct jpr_row_base {
    uint64_t seq;
    uint64_t kernel_ns;
    uint64_t gpu_ns;
};

/* About 380 KB. NULL without memory. */
struct jpr_packer *jpr_packer_create(void);
void jpr_packer_destroy(struct jpr_packer *packer);

/* Begins a block of operations, or of a snapshot of what is in flight.
 * `at_mono_ns` is the snapshot's time, else any time near the operations'. */
void jpr_packer_begin(struct jpr_packer *packer, bool in_flight,
                      uint64_t at_mono_ns);

/* Adds an operation; returns false when the block is full, and then nothing has
 * changed. The texts of `op` must live until jpr_packer_end(). Each text must
 * always have the same address, as addresses are compared. */
bool jpr_packer_add(struct jpr_packer *packer, const struct jpr_op *op);

uint64_t jpr_packer_count(const struct jpr_packer *packer);

/* Ends the block. Returns the payload, borrowed until the next begin, and its
 * length. `omitted`: operations in flight that the snapshot leaves out. */
const uint8_t *jpr_packer_end(struct jpr_packer *packer, uint64_t omitted,
                              size_t *n);

/* If out->full is set afterwards, the record did not fit and must not be
 * written. */
void jpr_put_header(struct jpr_out *out, const struct jpr_header *header);
void jpr_put_process(struct jpr_out *out, const struct jpr_process *process);
/* One communicator; the caller begins its block with their number
 * (jpr_put_u64). */
void jpr_put_comm(struct jpr_out *out, const struct jpr_comm *comm);
void jpr_put_counters(struct jpr_out *out, const struct jpr_counters *counters);
void jpr_put_room(struct jpr_out *out, const struct jpr_room *room);

/* A block of times is a number, below which all are settled: their times are in
 * this block or in an earlier one, or will never come; then the number of rows,
 * then the rows. `last` is the row before, all zeros for the first. A row takes
 * at most JPR_TIMES_ROOM bytes. */
enum { JPR_TIMES_ROOM = 80 };
void jpr_put_times(struct jpr_out *out, const struct jpr_times *times,
                   const struct jpr_times *last);
/* The reverse; sets in->bad where the row is damaged. */
struct jpr_times jpr_get_times(struct jpr_in *in, const struct jpr_times *last);

#endif
