/* nodemem.h - memory of this host from /proc and /sys.
 */
#ifndef JP_COMMON_NODEMEM_H
#define JP_COMMON_NODEMEM_H

#include "common/jobshape.h"

/* Reads <root>/proc/meminfo, <root>/proc/sys/vm/overcommit_memory and
 * <root>/sys/kernel/mm/transparent_hugepage/enabled; "" is the host itself.
 * What is missing or malformed stays zero. */
void nodemem_read(const char *root, struct jp_nodemem *out);

#endif
