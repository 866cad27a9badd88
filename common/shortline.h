/* shortline.h - read a foreign file line by line in bounded memory. */
#ifndef JP_COMMON_SHORTLINE_H
#define JP_COMMON_SHORTLINE_H

#include <stdio.h>
#include <sys/types.h>

/* Opens a regular file for it; NULL with errno. Caller closes. */
FILE *shortline_open(const char *path);

/* The next line with its end into buffer, its length; -1: the end. A line that
 * does not fit is cut, and its rest is skipped. */
ssize_t shortline_next(FILE *file, char *buffer, int size);

#endif
