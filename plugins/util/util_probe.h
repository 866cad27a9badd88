/* util_probe.h - samples of one node, one step and its tasks, from Linux.
 *
 * The step is its cgroup (v2 or v1) where it has one,
 * else the sum of its tasks. Counters become rates; one that goes backwards (a
 * reset, an adapter that was restarted) makes an unknown figure, never a spike.
 *
 * root replaces / in tests ("" is the machine).
 */
#ifndef JP_UTIL_PROBE_H
#define JP_UTIL_PROBE_H

#include "common/error.h"
#include "plugins/util/util_rows.h"
#include "plugins/util/util_tasks.h"

struct util_probe;

/* Borrows the strings of step. NULL without memory. */
struct util_probe *util_probe_create(const struct util_step *step);

/* One sample of everything, given row by row. The first one has levels only;
 * rates need two. agent_us: processor time of the sampler itself so far.
 * -1: put failed, or no memory. */
typedef int util_put(void *arg, enum util_kind kind, const struct util_row *row,
                     struct jp_error *err);
int util_probe_take(struct util_probe *probe, uint64_t t_us, uint64_t mono_us,
                    uint64_t agent_us, util_put *put, void *arg,
                    struct jp_error *err);

/* The step's processes, as the last sample found them. */
void util_probe_pids(const struct util_probe *probe, struct util_pids *out);
/* Tasks that were seen so far. */
size_t util_probe_tasks(const struct util_probe *probe);

void util_probe_destroy(struct util_probe *probe); /* takes NULL */

#endif
