/* comms_by_id.h - a result's communicators, found by their id. Several may have
 * the same one: their readers say which of them is meant.
 */
#ifndef JP_AGGREGATE_COMMS_BY_ID_H
#define JP_AGGREGATE_COMMS_BY_ID_H

#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

/* Returns the indexes of the communicators, sorted by id; those of one id are
 * in the order of the result. Caller frees. NULL: no memory. */
uint32_t *comms_by_id(const struct jp_result *result);

/* Returns the place in that list of the first communicator with this id. If
 * there is none, it is n_comms, or the place of another id. */
size_t comms_by_id_find(const struct jp_result *result, const uint32_t *by_id,
                        const char *id);

#endif
