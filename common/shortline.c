/* shortline.c - read a foreign file line by line in bounded memory. */
#include "common/shortline.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"

FILE *shortline_open(const char *path)
{
    int fd = fileio_open_regular(path, false, NULL);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (!file && fd >= 0)
        close(fd);
    return file;
}

ssize_t shortline_next(FILE *file, char *buffer, int size)
{
    size_t n;
    int c;

    if (!fgets(buffer, size, file))
        return -1;
    n = strlen(buffer);
    if (n == (size_t) size - 1 && buffer[n - 1] != '\n')
        while ((c = getc(file)) != '\n' && c != EOF)
            ;
    return (ssize_t) n;
}
