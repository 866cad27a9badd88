/* nodelist.h - a Slurm node list as single names.
 *
 * "n[1-3],gpu7" becomes n1 n2 n3 gpu7, by libslurm's own parser. Without Slurm,
 * only lists without brackets are accepted.
 */
#ifndef JP_COLLECT_NODELIST_H
#define JP_COLLECT_NODELIST_H

#include <stddef.h>

#include "common/error.h"

#define JP_NODELIST_MAX 200000 /* names; the text is foreign input */

/* Expands a list. *names is malloc'ed with *n malloc'ed strings; free with
 * nodelist_free. */
int nodelist_expand(const char *text, char ***names, size_t *n,
                    struct jp_error *err);
void nodelist_free(char **names, size_t n);

#endif
