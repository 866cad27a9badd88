/* ownfolder.h - raw files that the user has told his profiler to write
 * elsewhere.
 *
 * A variable of the profiler that the user has set himself stays, also the one
 * that names its folder (struct jp_profiler, folder). begin writes down which
 * folder that is: a relative one starts where the tasks do. finish gives the
 * step's files of it a second name in raw/<node>/, as a hard link; where that
 * cannot be (another file system), as a copy within OWNFOLDER_COPY_MAX_BYTES.
 * What is in the folder is only read. As root nothing is taken where somebody
 * else could put another folder in its place.
 *
 * The step's files are the user's regular ones called <this host>-pid<PID>.log that were
 * written since begin: those of the node's tasks, or, where none of them is a
 * task's (a launcher has started the processes), all of them.
 *
 * nodes/<node>/folder.json: {path, since_us, taken, missed}; the counts are
 * there once finish has looked. collect/nodes.h reads it.
 */
#ifndef JP_AGENT_OWNFOLDER_H
#define JP_AGENT_OWNFOLDER_H

#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"

#define OWNFOLDER_COPY_MAX_BYTES (1UL << 30)

/* In begin. cwd: where the tasks start; NULL or not absolute: unknown, so that
 * a relative folder is not found. Nothing to write down is no failure. */
int ownfolder_note(const char *dir, const char *node,
                   const struct jp_jobconf *conf, const char *cwd,
                   struct jp_error *err);

/* In finish, once tasks.jsonl is there; no copy begins after deadline_ms of
 * clock_mono_ms(). Without a folder of the user's: nothing. */
int ownfolder_take(const char *dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err);

#endif
