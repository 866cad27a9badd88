/* jpr_put.h - the payloads of the blocks that hold no operations. */
#ifndef JP_JPR_PUT_H
#define JP_JPR_PUT_H

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_bytes.h"

/* out->full afterwards: it did not fit, and must not be written. */
void jpr_put_header(struct jpr_out *out, const struct jpr_header *header);
/* One communicator; its block begins with their number (jpr_put_u64). */
void jpr_put_comm(struct jpr_out *out, const struct jpr_comm *comm);
void jpr_put_counters(struct jpr_out *out, const struct jpr_counters *counters);

#endif
