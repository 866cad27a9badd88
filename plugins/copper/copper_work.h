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
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"
#include "common/jobconf.h"
#include "plugins/backend.h"

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

/* --- the addresses of a step's daemons: which ones, in what order.
 *
 * Each daemon reads a book, "host address" a line, and builds the same tree
 * from its lines: a node asks its parent, the first line's node asks the file
 * system. A daemon whose own address is not in its book ends. The step's book
 * is raw/copper_address_book.txt, from the site's, or from what the daemons
 * say.
 */

#define COPPER_BOOK_NAME "copper_address_book.txt"
#define COPPER_DEPTH_MAX 16

/* How the addresses of a -net_type are known. */
enum copper_addresses {
    COPPER_ADDRESSES_SITE,  /* by the site's book alone: cxi and the like */
    COPPER_ADDRESSES_ASKED, /* the daemon says its own: tcp */
    COPPER_ADDRESSES_LOCAL  /* the same, within one node: na+sm */
};
enum copper_addresses copper_book_kind(const char *net_type);

/* The lines of the site's book (text, changed) that belong to nodes, in the
 * order of nodes and with their names: a book may hold full or short names. The
 * last line of a host counts. Pure. *out: caller frees; *found lines. */
int copper_book_filter(char *text, char *const *nodes, size_t n, char **out,
                       size_t *found, struct jp_error *err);

/* Reads the site's book at path and writes the step's. -1: none of the nodes is
 * in it, or it cannot be read or written. */
int copper_book_prepare(const char *path, const char *step_dir,
                        char *const *nodes, size_t n, struct jp_error *err);

/* On a node: what its daemon said, for copper_book_gather. */
int copper_book_offer(const char *step_dir, const char *node,
                      const char *address, struct jp_error *err);

/* In srun's keeper: writes the step's book when each node has offered an
 * address or failed, or, late, from what there is. 1: written; 0: not yet; -1.
 */
int copper_book_gather(const char *step_dir, char *const *nodes, size_t n,
                       bool late, struct jp_error *err);

/* The step's book as text. 1: it is in *text, which the caller frees; 0: there
 * is none yet; -1: it cannot be read. */
int copper_book_read(const char *step_dir, char **text, size_t *len);

/* The names of the nodes between node and the file system, its parent first;
 * *n of them, at most COPPER_DEPTH_MAX. The book is cut into so many trees (1).
 * Caller frees each. -1: node is not in the book. Pure. */
int copper_book_parents(const char *text, const char *node, size_t trees,
                        char *parents[COPPER_DEPTH_MAX], size_t *n);

/* --- copper_attach.c ---------------------------------------------------- */

/* The daemon that is mounted on this node already, and where
 * it writes: attach=1 has it write its counters before and after the step. */

struct copper_target {
    char *mount, *logs; /* absolute; owned */
    char *name;         /* of its files: "<host>-<pid>"; owned */
};

/* The process id of a cu_fuse, anybody's, that uses the network device net on
 * this node; 0: none is seen. */
long copper_attach_on(const char *net);

/* The name of a daemon's files from the path of its log, in place:
 * "<logs>/logs/<name>-output.log"; *logs is the folder. NULL: it is no log.
 * Pure.
 */
char *copper_attach_name(char *path, char **logs);

/* What a daemon's command line says; pointers into it, NULL where it does not.
 */
struct copper_cmdline {
    const char *logs, *view, *net, *last;
};

/* Finds the user's mount at `mount`, or his only one of Copper where that is
 * NULL, and the process behind it. May wait for a file system. -1: there is
 * none, or it is not clear which; *out holds nothing. */
int copper_target_find(const char *mount, struct copper_target *out,
                       struct jp_error *err);

/* text: words, a NUL behind each, and behind the last of len bytes in any case.
 * -1: it is no cu_fuse. Pure. */
int copper_cmdline_parse(const char *text, size_t len,
                         struct copper_cmdline *out);

/* The runner of attach=1. */
extern const struct backend_runner copper_attach;

#endif
