/* probe.h - a folder made to see whether one can write in its parent.
 *
 * It is held by its descriptor: whoever renames what in the parent, files are
 * made and removed in the folder that was made, and only that one, empty,
 * goes in the end. Root makes none where somebody else could (ownplace.h).
 */
#ifndef JP_DOCTOR_PROBE_H
#define JP_DOCTOR_PROBE_H

#include <limits.h>
#include <sys/types.h>

#include "common/error.h"

struct probe {
    int parent, fd;
    char name[32]; /* in the parent */
    char path[PATH_MAX];
    dev_t dev;
    ino_t ino;
};

/* Makes the folder, mode 0700. */
int probe_open(const char *parent, struct probe *probe, struct jp_error *err);

/* A file in the open folder that replaces another one of that name, as a step
 * writes its own. */
int probe_write(int folder, const char *name, const char *text,
                struct jp_error *err);

/* Removes the files in it and then the folder. -1: something stays. */
int probe_close(struct probe *probe, struct jp_error *err);

#endif
