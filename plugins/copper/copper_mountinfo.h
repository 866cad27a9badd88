/* copper_mountinfo.h - take lines of /proc/self/mountinfo apart. Pure.
 *
 * "36 35 0:50 / /mnt/a\040b rw,nosuid shared:1 - fuse.cu_fuse cu_fuse
 * rw,user_id=1000": six fields, any number of optional ones, a dash, three more
 * (proc_pid_mountinfo(5)).
 */
#ifndef JP_PLUGINS_COPPER_MOUNTINFO_H
#define JP_PLUGINS_COPPER_MOUNTINFO_H

#include <stdbool.h>

struct copper_mountinfo {
    const char *point;   /* unescaped */
    const char *type;    /* "fuse.cu_fuse" */
    const char *options; /* of the file system, or "" */
};

/* Takes line apart in place; *out borrows from it. False: no such line. */
bool copper_mountinfo_parse(char *line, struct copper_mountinfo *out);

/* Whether it is a FUSE mount that uid has made, and that serves him alone. */
bool copper_mountinfo_is_users(const struct copper_mountinfo *mount,
                               unsigned long uid);

#endif
