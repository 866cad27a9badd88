/* nodelist.h - a Slurm node list as single names.
 *
 * "n[1-3],gpu7" becomes n1 n2 n3 gpu7, by libslurm's own expander. Without
 * Slurm only a list without brackets is taken apart.
 */
#ifndef JP_COLLECT_NODELIST_H
#define JP_COLLECT_NODELIST_H

#include <stddef.h>

#include "common/error.h"

#define JP_NODELIST_MAX 200000 /* names; the text is foreign */

/* *names is malloc'ed with n malloc'ed strings; nodelist_free frees. */
int nodelist_expand(const char *text, char ***names, size_t *n,
                    struct jp_error *err);
void nodelist_free(char **names, size_t n);

#endif
