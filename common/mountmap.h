/* mountmap.h - how the host's paths read inside containers.
 *
 * "HOST=INSIDE", commas between several; both absolute, without "=", "," and
 * what pattern_check_path refuses. HOST is a file or a folder with all that is
 * in it.
 */
#ifndef JP_COMMON_MOUNTMAP_H
#define JP_COMMON_MOUNTMAP_H

#include "common/error.h"

/* Is text such a list? -1: err says why not. */
int mountmap_check(const char *text, struct jp_error *err);

/* path as map (checked; NULL or "": nothing is mapped) has it inside: of
 * several that hold it the longest HOST counts. Caller frees; NULL: no memory.
 */
char *mountmap_inside(const char *map, const char *path);

#endif
