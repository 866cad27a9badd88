/* clock_work.h - the clock module of a node's agent: asks neighbours, answers
 * them, and writes what it finds.
 *
 * Where the kernel stamps packets, it wakes at the beats of clock_talk.h: all
 * that has come is taken by one call, and all that is due leaves by one call.
 * Else each packet wakes it.
 *
 * All descriptors are in one of epoll's, so that the agent waits for a single
 * one. No call waits for anything. The pace follows the cost: beyond its budget
 * of processor time it asks less often, and its neighbours are told so.
 */
#ifndef JP_CLOCK_WORK_H
#define JP_CLOCK_WORK_H

#include "plugins/clock/clock_stamp.h"
#include "plugins/module.h"

#define CLOCK_BUDGET 0.005 /* of a processor */

struct clock_work;

/* shift: for tests, NULL otherwise. NULL: it does not run here, err says why,
 * "" where one node has nothing to compare. */
struct clock_work *clock_work_create(const struct module_place *place,
                                     const struct clock_shift *shift,
                                     struct jp_error *err);
void clock_work_destroy(struct clock_work *work);
int clock_work_fd(const struct clock_work *work);
/* Does what can be done now. spent_ns: processor time that its calls have taken
 * so far. -1: err is new trouble. */
int clock_work_run(struct clock_work *work, int64_t spent_ns,
                   struct jp_error *err);
/* Ends the windows that are open. */
void clock_work_finish(struct clock_work *work);

#endif
