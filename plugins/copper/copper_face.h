/* copper_face.h - Copper's runner face (plugins/backend.h): a daemon of the
 * step's own, or with attach=1 one that runs already. */
#ifndef JP_PLUGINS_COPPER_FACE_H
#define JP_PLUGINS_COPPER_FACE_H

#include "plugins/backend.h"

extern const struct backend_runner copper_face;

/* The two that it chooses from. */
extern const struct backend_runner copper_runner;
extern const struct backend_runner copper_attach;

#endif
