/* jpr_comms.h - the communicators of a file that is being read, by their index.
 */
#ifndef JP_JPR_COMMS_H
#define JP_JPR_COMMS_H

#include <stddef.h>

#include "plugins/nccl_recorder/jpr.h"

/* All zeros: none. */
struct jpr_comms {
    struct jpr_comm **list; /* owned; entries may be NULL */
    uint32_t n;
    size_t bytes; /* of all copies */
};

/* Adds a copy, texts and all, and sets *copy to it (borrowed until fini).
 * NULL, or why not (static text): an index out of range or told before, more
 * than 16 MiB in all, no memory; then nothing changed. */
const char *jpr_comms_add(struct jpr_comms *comms, const struct jpr_comm *comm,
                          const struct jpr_comm **copy);

/* NULL: not told. */
const struct jpr_comm *jpr_comms_find(const struct jpr_comms *comms,
                                      uint32_t index);

void jpr_comms_fini(struct jpr_comms *comms);

#endif
