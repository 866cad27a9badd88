/* ownplace.h - is a place root's alone, so that root may work there by path?
 *
 * Who can write in a folder can put another one, or a link, in the place of
 * what root has just made or looked at in it: root would then write, rename or
 * remove elsewhere. So root makes and removes nothing below a folder that
 * somebody else can change. Others do so with nobody's rights but their own.
 */
#ifndef JP_COMMON_OWNPLACE_H
#define JP_COMMON_OWNPLACE_H

#include "common/error.h"

/* As root: whether path and each folder and symbolic link on the way to it is
 * root's (who owns "/", in a user namespace too), and no folder is writable by
 * group or others unless sticky. What is not there yet is fine. 0 for everybody
 * else. -1 with errno EPERM: it is not. */
int ownplace_check(const char *path, struct jp_error *err);

/* The same of the folder that holds path, which must be there: below a sticky
 * folder others could make what is not. */
int ownplace_check_parent(const char *path, struct jp_error *err);

#endif
