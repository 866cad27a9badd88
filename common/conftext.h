/* conftext.h - libconfig text that cannot make libconfig open a file.
 *
 * libconfig's scanner exits the process on an @include of a directory or an
 * I/O error, and blocks on a FIFO. So nothing is handed to it that still has
 * an @include at the start of a line: job.conf refuses them (conftext_check),
 * site and user files have them expanded by our own careful reader
 * (sitefile_load).
 */
#ifndef JP_COMMON_CONFTEXT_H
#define JP_COMMON_CONFTEXT_H

#include <stddef.h>

#include "common/error.h"

/* Refuses NUL bytes and any line that begins with blanks and "@include",
 * also inside strings and comments: a superset of what the scanner takes for
 * an inclusion. name stands for the file in errors. */
int conftext_check(const char *text, size_t len, const char *name,
                   struct jp_error *err);

/* Copy of s with quotes around it, escaped so that libconfig reads back the
 * same bytes (", \ and control characters). Caller frees; NULL: no memory. */
char *conftext_quote(const char *s);

#endif
