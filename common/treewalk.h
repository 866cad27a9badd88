/* treewalk.h - visit what lies below a folder, following no symbolic link.
 *
 * Trees are foreign and may change meanwhile: what vanishes is passed over, and
 * depth is bounded, as so many folders are open at once.
 */
#ifndef JP_COMMON_TREEWALK_H
#define JP_COMMON_TREEWALK_H

#include <sys/stat.h>

enum treewalk_what {
    TREEWALK_FILE,   /* a regular one */
    TREEWALK_FOLDER, /* before what is in it */
    TREEWALK_ODD,    /* a link, a FIFO, a device ... */
    TREEWALK_LOST,   /* its kind cannot be told: st is NULL */
    TREEWALK_CLOSED, /* after TREEWALK_FOLDER: it cannot be opened */
    TREEWALK_DEEP    /* likewise: it is one too deep */
};

struct treewalk_entry {
    enum treewalk_what what;
    int dir; /* the folder that holds it, and its name there */
    const char *name;
    const char *path;      /* the walk's path, a slash, ... */
    const struct stat *st; /* the entry's own, not a link's target */
};

/* Borrowed for the call. Not 0 ends the walk. */
typedef int treewalk_see(void *arg, const struct treewalk_entry *entry);

/* Visits all below the folder fd, which is taken over; path is what the
 * entries' paths begin with. Folders lie at most max_depth below it. 0, what
 * see said, or -1: no memory. */
int treewalk(int fd, const char *path, unsigned max_depth, treewalk_see *see,
             void *arg);

#endif
