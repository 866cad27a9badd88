/* recorder.h - the faces of the recorder's backend. */
#ifndef JP_NCCL_RECORDER_RECORDER_H
#define JP_NCCL_RECORDER_RECORDER_H

#include "plugins/reader.h"

extern const struct backend_reader recorder_reader;

#endif
