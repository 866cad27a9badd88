/* jpr_unpack.h - the payload of one block into records, trusting nothing. */
#ifndef JP_JPR_UNPACK_H
#define JP_JPR_UNPACK_H

#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/jpr_read.h"

struct jpr_unpacked;

/* NULL without memory. */
struct jpr_unpacked *jpr_unpacked_create(void);
void jpr_unpacked_destroy(struct jpr_unpacked *u);

/* Takes the payload of a block, which must stay until all its records are
 * read. NULL, or what is wrong with it (static text); then it has none. */
const char *jpr_unpacked_load(struct jpr_unpacked *u,
                              const struct jpr_frame *frame,
                              const uint8_t *disk);

/* The next record of the block: 1; 0 when there is none left; -1 with *why
 * when the rest is damaged. */
int jpr_unpacked_next(struct jpr_unpacked *u, struct jpr_record *record,
                      const char **why);

/* Whether jpr_unpacked_next would give something. */
bool jpr_unpacked_left(const struct jpr_unpacked *u);
/* None is left. */
void jpr_unpacked_drop(struct jpr_unpacked *u);

/* A communicator of all blocks so far, or NULL. */
const struct jpr_comm *jpr_unpacked_comm(const struct jpr_unpacked *u,
                                         uint32_t index);

#endif
