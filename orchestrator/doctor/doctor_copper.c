/* doctor_copper.c - can Copper's daemon be started and ended here? */
#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "plugins/copper/copper_mount.h"

#define CHECK "copper"
#define DEVICE "/dev/fuse"

/* This host may be no node: what is missing here is a warning, and --nodes asks
 * for the same files there. */
void doctor_copper(struct doctor *d)
{
    unsigned before = d->n_lines;

    if (!d->cu_fuse)
        return;
    d->fusermount = copper_mount_program(COPPER_MOUNT_PATH);
    if (access(d->cu_fuse, X_OK) < 0)
        doctor_add(d, DOCTOR_WARN, CHECK, "nodes without it run without Copper",
                   "%s: %s", d->cu_fuse, strerror(errno));
    if (!d->fusermount)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "install fuse3: nodes without it run without Copper",
                   "no fusermount3 in " COPPER_MOUNT_PATH);
    if (access(DEVICE, R_OK | W_OK) < 0)
        doctor_add(d, DOCTOR_WARN, CHECK,
                   "users of nodes need it (modprobe fuse)", DEVICE ": %s",
                   strerror(errno));
    if (d->n_lines == before)
        doctor_add(d, DOCTOR_OK, CHECK, "", "%s, ended by %s", d->cu_fuse,
                   d->fusermount);
}
