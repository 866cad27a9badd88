/* inspector.h - the faces of the inspector backend. */
#ifndef JP_NCCL_INSPECTOR_INSPECTOR_H
#define JP_NCCL_INSPECTOR_INSPECTOR_H

#include "plugins/reader.h"

extern const struct backend_reader inspector_reader;

#endif
