/* copper_mount.h - a FUSE mount point: its folder, whether it is mounted and
 * answers, and its end. Nothing here waits for a file system. */
#ifndef JP_COPPER_MOUNT_H
#define JP_COPPER_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"

struct copper_mountinfo {
    const char *point;   /* unescaped */
    const char *type;    /* "fuse.cu_fuse" */
    const char *options; /* of the file system, or "" */
};

/* Calls see(arg, mount) for each mount that this process sees, until it returns
 * true. Returns whether it did. */
bool copper_mount_each(bool (*see)(const void *arg,
                                   const struct copper_mountinfo *mount),
                       const void *arg);

/* Whether something is mounted at path (an absolute one without links). */
bool copper_mount_there(const char *path);

/* The path as mountinfo has it: without slashes at its end, without links, its
 * folders made. Caller frees; NULL: err says why. */
char *copper_mount_real(const char *path, struct jp_error *err);

/* Makes the folder, or takes one of ours on which nothing is mounted. What a
 * dead daemon left mounted there is unmounted. *made: the folder did not
 * exist. */
int copper_mount_prepare(const char *path, bool *made, struct jp_error *err);

/* Unmounts what dead daemons left mounted at paths that begin with prefix;
 * takes at most 3 s. Returns whether there was anything. */
bool copper_mount_sweep(const char *prefix);

/* What a child does with a mount point. */
enum copper_mount_work {
    COPPER_MOUNT_LOOK, /* reads its folder, to see whether the daemon answers */
    COPPER_MOUNT_END,  /* unmounts it, unless it is in use */
    COPPER_MOUNT_END_LAZILY
};
/* Starts the child. Returns its pid for copper_mount_reap, or -1. */
pid_t copper_mount_start(const char *path, enum copper_mount_work work);

/* Returns 0 while it runs, 1 if it succeeded, -1 if it failed. *pid becomes 0
 * when it has ended. */
int copper_mount_reap(pid_t *pid);

/* Splits line in place; *out borrows from it. false: not such a line. */
bool copper_mountinfo_parse(char *line, struct copper_mountinfo *out);

/* Whether it is a FUSE mount that uid has made and that serves only that
 * user. */
bool copper_mountinfo_is_users(const struct copper_mountinfo *mount,
                               unsigned long uid);

/* The PATH of the module's helpers on nodes. */
#define COPPER_MOUNT_PATH "/usr/local/bin:/usr/bin:/bin"

/* The program that ends mounts, in one of the folders; NULL: there is none.
 * Caller frees. */
char *copper_mount_program(const char *dirs);

#endif
