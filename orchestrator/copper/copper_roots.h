/* copper_roots.h - which trees the observed paths come from. */
#ifndef JP_COPPER_COPPER_ROOTS_H
#define JP_COPPER_COPPER_ROOTS_H

#include "orchestrator/copper/copper_build.h"

#define COPPER_MAX_ROOTS 64

/* Sets copper->used_roots to their paths: options' usage_roots; the folder of
 * an environment, by a component conda_env or by a file read below
 * <folder>/lib/python<digit>; children of the home with observed paths. Roots
 * below another root are dropped. */
int copper_roots(struct copper_build *b);

/* Is path root, or below it? */
bool copper_is_below(const char *path, const char *root);

#endif
