/* ownfolder.h - raw files that the user's own settings place in another folder.
 *
 * A profiler variable that the user has set is kept, including the one that
 * names the profiler's folder (folder in struct jp_profiler). begin records
 * that folder; a relative path starts at the tasks' working directory. finish
 * hard-links the step's files from it into raw/<node>/. On another file system
 * it copies them instead, up to OWNFOLDER_COPY_MAX_BYTES. The folder itself is
 * never changed. As root, nothing is taken if another user could replace the
 * folder.
 *
 * The step's files are the user's regular files named <this host>-pid<PID>.log
 * and written since begin. If some of them belong to the node's tasks, only
 * those count; otherwise a launcher started the processes, and all of them
 * count.
 *
 * nodes/<node>/folder.json: {path, since_us, taken, missed}. finish adds the
 * two counts. collect/nodes.h reads the file.
 */
#ifndef JP_AGENT_OWNFOLDER_H
#define JP_AGENT_OWNFOLDER_H

#include <stdint.h>

#include "common/error.h"
#include "common/jobconf.h"

#define OWNFOLDER_COPY_MAX_BYTES (1UL << 30)

/* Called by begin. cwd: the tasks' working directory; NULL or not absolute:
 * unknown, and a relative folder cannot be found. Returns 0 if there is nothing
 * to record. */
int ownfolder_note(const char *dir, const char *node,
                   const struct jp_jobconf *conf, const char *cwd,
                   struct jp_error *err);

/* Called by finish, after tasks.jsonl is written. Starts no copy after
 * deadline_ms of clock_mono_ms(). Does nothing if the user has set no
 * folder. */
int ownfolder_take(const char *dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err);

#endif
