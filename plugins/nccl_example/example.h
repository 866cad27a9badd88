/* example.h - the faces of the example backend. */
#ifndef JP_NCCL_EXAMPLE_EXAMPLE_H
#define JP_NCCL_EXAMPLE_EXAMPLE_H

#include "plugins/reader.h"

extern const struct backend_reader example_reader;

#endif
