/* copper_work.h - a daemon's place on its node, below /tmp: one folder for each
 * step, in it the mount point and a folder for each node that shares this /tmp.
 *
 *   /tmp/jobprof-copper-UID-JOB.STEP/mnt   the view; the same path on all
 *                    nodes, because Copper's guard against itself compares
 *                    paths of any node with it
 *   .../NODE/fs      link to the view, which tasks use; to "/" without Copper
 *   .../NODE/logs    the daemon's log and address
 *   .../NODE/book    a FIFO, from which the daemon reads its book
 *   .../NODE/pid     the daemon's
 *   .../NODE/lock    held by its supervisor and by the daemon
 *   .../NODE/raw     link to the place of its logs */
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
    char *base, *node; /* folders of the step and of this node; owned */
    char *fs;          /* what tasks use; owned */
    int lock;          /* descriptor of NODE/lock once made, otherwise -1 */
};

/* Sets the paths only. */
int copper_work_init(struct copper_work *w, const struct jp_jobconf *conf,
                     const char *node, struct jp_error *err);
void copper_work_fini(struct copper_work *w);

/* Makes the folders, the FIFO and the links; <raw>/logs leads there. The place
 * is then in use as long as this process lives, or one that inherits its
 * descriptors: the daemon. */
int copper_work_make(struct copper_work *w, const char *view, const char *raw,
                     struct jp_error *err);
int copper_work_note_pid(const struct copper_work *w, pid_t pid,
                         struct jp_error *err);
/* Whether all users of the place are gone and have not removed it. */
bool copper_work_is_left(const struct copper_work *w);
/* Removes the places on this node that earlier steps of this user have left. If
 * slurmstepd was killed, or killed the daemon after the tasks' end, nothing
 * else removes them. Takes limited time. */
void copper_work_sweep(const char *node);

/* From here on, new look-ups of the tasks bypass Copper. May be repeated; does
 * nothing without the folder. */
void copper_work_bypass(const struct copper_work *w);

/* The text of the last fatal line of a daemon's log, or "". */
void copper_work_fatal(const struct copper_work *w, const char *name, char *out,
                       size_t len);
/* The address that the daemon has written, or "". */
void copper_work_address(const struct copper_work *w, char *out, size_t len);

/* Copies the logs to <raw>/logs (NULL: nowhere) and removes this node's folder;
 * the last node removes the step's. */
void copper_work_clean(const struct copper_work *w, const char *raw);

/* --- the addresses of a step's daemons: which ones, in what order.
 *
 * Each daemon reads a book, "host address" a line, and builds the same tree
 * from its lines: a node asks its parent, and the node of the first line asks
 * the file system. A daemon ends if its own address is not in its book. The
 * step's book is raw/copper_address_book.txt, made from the site's book or from
 * what the daemons report. */

#define COPPER_BOOK_NAME "copper_address_book.txt"
#define COPPER_DEPTH_MAX 16

/* How the addresses for a -net_type are known. */
enum copper_addresses {
    COPPER_ADDRESSES_SITE, /* only from the site's book: cxi and similar ones */
    COPPER_ADDRESSES_ASKED, /* the daemon reports its own: tcp */
    COPPER_ADDRESSES_LOCAL  /* the same, within one node: na+sm */
};
enum copper_addresses copper_book_kind(const char *net_type);

/* The lines of the site's book (text, which is changed) that belong to nodes,
 * in the order of nodes and with their names; a book may have full or short
 * names. The last line of a host counts. Pure. *out: the caller frees; *found:
 * number of lines. */
int copper_book_filter(char *text, char *const *nodes, size_t n, char **out,
                       size_t *found, struct jp_error *err);

/* Reads the site's book at path and writes the step's. Returns -1 if none of
 * the nodes is in it, or if it cannot be read or written. */
int copper_book_prepare(const char *path, const char *step_dir,
                        char *const *nodes, size_t n, struct jp_error *err);

/* On a node: the address of its daemon, for copper_book_gather. */
int copper_book_offer(const char *step_dir, const char *node,
                      const char *address, struct jp_error *err);

/* In srun's keeper: writes the step's book when each node has reported an
 * address or failed; if late, from what there is. Returns 1 when written, 0:
 * not yet, or -1. */
int copper_book_gather(const char *step_dir, char *const *nodes, size_t n,
                       bool late, struct jp_error *err);

/* The step's book as text. Returns 1: it is in *text, which the caller frees;
 * 0: there is none yet; -1: it cannot be read. */
int copper_book_read(const char *step_dir, char **text, size_t *len);

/* The nodes between node and the file system, its parent first; *n of them, at
 * most COPPER_DEPTH_MAX. trees: number of trees that the book is cut into
 * (usually 1). The caller frees each name. Returns -1 if node is not in the
 * book. Pure. */
int copper_book_parents(const char *text, const char *node, size_t trees,
                        char *parents[COPPER_DEPTH_MAX], size_t *n);

/* --- copper_attach.c ---------------------------------------------------- */

/* The daemon that is mounted on this node already, and where it writes. With
 * attach=1, it writes its counters before and after the step. */

struct copper_target {
    char *mount, *logs; /* absolute; owned */
    char *name;         /* of its files: "<host>-<pid>"; owned */
};

/* The process id of a cu_fuse of any user that uses the network device net on
 * this node; 0: none is visible. */
long copper_attach_on(const char *net);

/* The name of a daemon's files from the path of its log,
 * "<logs>/logs/<name>-output.log", in place; *logs is the folder. NULL: it is
 * no log. Pure. */
char *copper_attach_name(char *path, char **logs);

/* Arguments of a daemon's command line: pointers into it, NULL if absent. */
struct copper_cmdline {
    const char *logs, *view, *net, *last;
};

/* Finds the user's mount at `mount`, or the user's only one of Copper if that
 * is NULL, and the process that serves it. May wait for a file system. Returns
 * -1 if there is none, or several; *out is empty then. */
int copper_target_find(const char *mount, struct copper_target *out,
                       struct jp_error *err);

/* text: words, each with a NUL after it, len bytes in all. Returns -1 if it is
 * no cu_fuse. Pure. */
int copper_cmdline_parse(const char *text, size_t len,
                         struct copper_cmdline *out);

/* The runner of attach=1. */
extern const struct backend_runner copper_attach;

#endif
