/* copper_face.h - Copper's runner face (plugins/backend.h): a daemon of the
 * step's own, or with attach=1 one that runs already. */
#ifndef JP_PLUGINS_COPPER_FACE_H
#define JP_PLUGINS_COPPER_FACE_H

#include "plugins/backend.h"

extern const struct backend_runner copper_face;

/* A mount point's text with %N as the node's name. Caller frees; NULL: no
 * memory. */
char *copper_face_expand(const char *text, const char *node);

#endif
