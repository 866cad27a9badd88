/* inspector.h - the faces of the inspector backend. */
#ifndef JP_NCCL_INSPECTOR_INSPECTOR_H
#define JP_NCCL_INSPECTOR_INSPECTOR_H

#include "common/knob.h"
#include "plugins/reader.h"

/* Its knobs, which RCCL's port has as well. */
extern const struct jp_knob inspector_knobs[];

extern const struct backend_reader inspector_reader;

#endif
