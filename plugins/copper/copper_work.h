/* copper_work.h - a daemon's place on its node, below /tmp: one folder a step,
 * in it the mount point and a folder of each node that shares this /tmp.
 *
 *   /tmp/jobprof-copper-UID-JOB.STEP/mnt        the view: one path on all
 * nodes, as Copper's guard against itself compares paths of any node with the
 * view of this one
 *   .../NODE/fs                                 link to the view: what tasks
 * use;
 *                                               "/" when Copper is gone
 *   .../NODE/logs                               the daemon's log and address
 *   .../NODE/book                               a FIFO: it reads its book there
 *   .../NODE/pid                                the daemon's
 *   .../NODE/lock                               held by its supervisor and by
 * it
 *   .../NODE/raw                                link to where its logs go
 */
#ifndef JP_COPPER_WORK_H
#define JP_COPPER_WORK_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/jobconf.h"

#define COPPER_WORK_PREFIX "/tmp/jobprof-copper-"

struct copper_work {
    char *base, *node; /* the step's folder, this node's; owned */
    char *fs;          /* what tasks use */
    int lock;          /* descriptor of NODE/lock once made, else -1 */
};

/* The paths alone. */
int copper_work_init(struct copper_work *w, const struct jp_jobconf *conf,
                     const char *node, struct jp_error *err);
void copper_work_fini(struct copper_work *w);

/* Makes the folders, the FIFO, the links; <raw>/logs leads there. From here on
 * the place is in use, as long as this process or one that it starts without
 * closing descriptors, the daemon, lives. */
int copper_work_make(struct copper_work *w, const char *view, const char *raw,
                     struct jp_error *err);
int copper_work_note_pid(const struct copper_work *w, pid_t pid,
                         struct jp_error *err);
/* Has everybody who uses it gone, without clearing it away? */
bool copper_work_is_left(const struct copper_work *w);
/* Clears the places on this node that earlier steps of this user have left:
 * where slurmstepd was killed, or killed the daemon after the tasks' end,
 * nobody else comes. Bounded in time. */
void copper_work_sweep(const char *node);

/* From here on new look-ups of the tasks go past Copper. Safe to repeat;
 * without the folder nothing. */
void copper_work_bypass(const struct copper_work *w);

/* The text of the last fatal line of a log of Copper's: into out, "" none. */
void copper_work_fatal(const struct copper_work *w, const char *name, char *out,
                       size_t len);
/* The address that the daemon has written, or "". */
void copper_work_address(const struct copper_work *w, char *out, size_t len);

/* Copies the logs to <raw>/logs (NULL: nowhere) and removes this node's folder;
 * the step's with the last. */
void copper_work_clean(const struct copper_work *w, const char *raw);

#endif
