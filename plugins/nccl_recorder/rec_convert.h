/* rec_convert.h - a record of the hot path as an operation of the file. */
#ifndef JP_REC_CONVERT_H
#define JP_REC_CONVERT_H

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/rec_done.h"

/* `comm`: the communicator's number in the file. */
void rec_convert(const struct jp_rec_record *record, uint32_t comm,
                 struct jpr_op *op);

#endif
