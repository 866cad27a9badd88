/* jpr_pack.h - operations into the payload of one block.
 *
 * What operations of a block share (communicator, function, size, algorithm,
 * ...) is a template, told once; a row holds the template's number, the
 * sequence number and the times, each as the difference from what the last row
 * of the template makes likely.
 */
#ifndef JP_JPR_PACK_H
#define JP_JPR_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_frame.h"

/* Bits of a row. */
enum {
    JPR_ROW_KERNEL = 1 << 0, /* kernel times by the host */
    JPR_ROW_GPU = 1 << 1,    /* and by the GPU */
    JPR_ROW_SOURCE = 3 << 2, /* enum jpr_source */
    JPR_ROW_SOURCE_SHIFT = 2,
    JPR_ROW_NET = 1 << 4,
    JPR_ROW_INCOMPLETE = 1 << 5, /* channel counts, as for ops in flight */
    JPR_ROW_OVERTAKEN = 1 << 6,
    JPR_ROW_UNSURE = 1 << 7,
    JPR_ROW_FLAGS = (1 << 8) - 1,
};

/* What writer and reader remember of a template's last row. */
struct jpr_row_base {
    uint64_t seq;
    uint64_t kernel_ns;
    uint64_t gpu_ns;
};

struct jpr_packer;

/* About 380 KB; NULL without memory. */
struct jpr_packer *jpr_packer_create(void);
void jpr_packer_destroy(struct jpr_packer *packer);

/* Begins a block of operations, or of a snapshot of what is in flight.
 * `at_mono_ns` is the snapshot's time, else any time near the operations'. */
void jpr_packer_begin(struct jpr_packer *packer, bool in_flight,
                      uint64_t at_mono_ns);

/* Adds one; false when the block is full, then nothing changed. The texts of
 * `op` must live until jpr_packer_end; each text needs one address, for two
 * are told apart by that. */
bool jpr_packer_add(struct jpr_packer *packer, const struct jpr_op *op);

uint64_t jpr_packer_count(const struct jpr_packer *packer);

/* Ends it: the payload, borrowed until the next begin, and its length.
 * `omitted`: operations in flight that the snapshot leaves out. */
const uint8_t *jpr_packer_end(struct jpr_packer *packer, uint64_t omitted,
                              size_t *n);

/* out->full afterwards: it did not fit, and must not be written. */
void jpr_put_header(struct jpr_out *out, const struct jpr_header *header);
/* One communicator; its block begins with their number (jpr_put_u64). */
void jpr_put_comm(struct jpr_out *out, const struct jpr_comm *comm);
void jpr_put_counters(struct jpr_out *out, const struct jpr_counters *counters);

#endif
