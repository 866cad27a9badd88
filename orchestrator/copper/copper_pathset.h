/* copper_pathset.h - events of distinct (category, path), in bounded memory. */
#ifndef JP_COPPER_COPPER_PATHSET_H
#define JP_COPPER_COPPER_PATHSET_H

#include "orchestrator/copper/copper.h"

struct copper_pathset;

/* limit: bytes; 0: 1 GiB. NULL: out of memory. */
struct copper_pathset *copper_pathset_create(uint64_t limit);
void copper_pathset_destroy(struct copper_pathset *set); /* takes NULL */

/* Adds a row of rank (an index); full: of a full table. 0: added; 1: the path
 * is one too many; -1: out of memory. Counts stop at UINT64_MAX. */
int copper_pathset_add(struct copper_pathset *set, const struct copper_row *row,
                       size_t rank, bool full);

/* Hands out the paths, sorted as in struct jp_copper, and the memory that they
 * stand in, which copper_pathset_free frees; set is empty then. */
void copper_pathset_take(struct copper_pathset *set,
                         struct jp_copper_path **paths, size_t *n,
                         void **memory);
void copper_pathset_free(void *memory);

/* Text that lives as long as the memory; NULL: out of memory. */
const char *copper_memory_keep(void **memory, const char *text, size_t len);

#endif
