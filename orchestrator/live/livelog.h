/* livelog.h - follows a node's logs of ended operations while they grow.
 *
 * Where a profiler writes a line an operation (jp_profiler.tells_ended), its
 * own reader (plugins/reader.h) reads what raw/<node>/ has got since the last
 * look: each file from behind the last whole line, a half one waits. Files are
 * told by their inode: one that another has replaced, or that was cut, is read
 * from its beginning. At most LIVELOG_READ bytes of a file are read a turn
 * (liverate.h), the last ones; what is passed over is counted, and fronts that
 * were not seen since are not told. The numbers in the lines tell how many have
 * ended, so that rates need no line.
 *
 * A log does not tell what is in flight, when it ends in order, or why nothing
 * is written: the age of its last growth and /proc are all there is.
 */
#ifndef JP_LIVE_LIVELOG_H
#define JP_LIVE_LIVELOG_H

#include "orchestrator/live/livenode.h"
#include "plugins/backend.h"

/* Of a file at a turn; a longer line is passed over. */
#define LIVELOG_READ (256u << 10)

struct livelog;

/* Strings and times are borrowed. NULL without memory. */
struct livelog *livelog_create(const struct livenode_place *place);
void livelog_destroy(struct livelog *log); /* takes NULL */

/* As those of livenode.h. */
int livelog_look(struct livelog *log, const struct livenode_time *now,
                 bool last, struct jp_error *err);
enum live_class livelog_class(const struct livelog *log);
int livelog_fill(struct livelog *log, const struct livenode_time *now,
                 struct live_snap *snap);
int livelog_cells(struct livelog *log, uint32_t i, uint64_t mono_ns,
                  const struct livecells_labels *labels,
                  struct metrics_set *set);

/* For tests: bytes read and passed over, and lines that were bad. */
struct livelog_cost {
    uint64_t read, passed, bad;
};
struct livelog_cost livelog_cost(const struct livelog *log);

#endif
