/* pauses.h - the times in which the recording was off (struct jp_pause).
 *
 * Recorded time is the time of the run without them. What is compared over the
 * run, such as the parts in which a rank is late, is measured in recorded time:
 * of a pause nobody knows who was late in it. Where a recording has more pauses
 * than are kept (pauses_joined), it is not known when they were. All times are
 * in microseconds since 1970.
 */
#ifndef JP_AGGREGATE_PAUSES_H
#define JP_AGGREGATE_PAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

/* Adds the pause of one process: those of all processes that meet are one. */
void pauses_add(struct jp_quality *q, struct jp_pause one);

/* Returns for how long the recording was off between two moments. */
uint64_t pauses_us(const struct jp_quality *q, uint64_t from_us,
                   uint64_t to_us);

/* The same for the length of a run: 0 if it is not known when that was. */
uint64_t pauses_known_us(const struct jp_quality *q, uint64_t from_us,
                         uint64_t to_us);

/* Returns true if that moment is in a pause: of some processes at least, so
 * what others recorded then cannot be compared. */
bool pauses_have(const struct jp_quality *q, uint64_t at_us);

/* Returns true if the recording went on after a pause. Each process began again
 * at a moment of its own then, so operations without numbers, such as messages,
 * cannot be matched by counting them. */
bool pauses_ended(const struct jp_quality *q);

/* Returns the moment at which recorded_us were recorded since from_us. */
uint64_t pauses_moment(const struct jp_quality *q, uint64_t from_us,
                       uint64_t recorded_us);

/* Returns how many records there would be of operations in pauses within the
 * run: what was not recorded before its first operation, and after its last
 * one, is no part of it. */
uint64_t pauses_records(const struct jp_quality *q, uint64_t first_us,
                        uint64_t last_us);

#endif
