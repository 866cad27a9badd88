/* nsys_name.h - whose a file of nsys is, by its name. */
#ifndef JP_NSYS_NAME_H
#define JP_NSYS_NAME_H

#include <stddef.h>
#include <stdint.h>

/* "42.0.rank00003.node1.sqlite": the rank, and the host, "" for none, harmless
 * to a terminal. -1: a name without a rank. */
int64_t nsys_name_read(const char *path, char *host, size_t len);

/* What a copyKind is called, "[CUDA memcpy HtoD]", into buf. Returns buf. */
const char *nsys_name_copy(int64_t kind, char *buf, size_t len);

#endif
