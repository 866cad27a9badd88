/* analyze.h - for static analysis: what lies in another file, and is taken for
 * unknown where a file is seen alone. */
#ifndef JP_CHECKS_ANALYZE_H
#define JP_CHECKS_ANALYZE_H

#include "common/error.h"

/* they always return -1 */
#define error_set(err, ...) (error_set(err, __VA_ARGS__), -1)
#define error_wrap(err, ...) (error_wrap(err, __VA_ARGS__), -1)

#endif
