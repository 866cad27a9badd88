/* util_reader.h - the kernel's files below a root, read again and again.
 *
 * A file that is read in each sample stays open: that saves two of three calls
 * to the kernel. A text is the reader's own and holds until the next one.
 */
#ifndef JP_UTIL_READER_H
#define JP_UTIL_READER_H

#include <limits.h>
#include <stddef.h>

#define UTIL_TEXT_MAX 65536 /* of a file; environments may be larger: cut */
#define UTIL_KEPT_MAX 32

struct util_reader {
    const char *root; /* stands in for / in tests; "" is the machine */
    struct util_kept {
        const char *folder, *name; /* name NULL: free */
        int fd;
    } kept[UTIL_KEPT_MAX];
    char text[UTIL_TEXT_MAX];
};

/* A path below the root into out, which has PATH_MAX bytes. Returns out. */
const char *util_reader_path(const struct util_reader *reader, char *out,
                             const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The text of a file by its whole path; "" where there is none: readers find
 * nothing in it. */
const char *util_reader_text(struct util_reader *reader, const char *path);

/* The same through *fd, which is -1 at first and stays open; the caller closes
 * it. */
const char *util_reader_again(struct util_reader *reader, int *fd,
                              const char *path);

/* The same of <folder>/<name>; the reader keeps the descriptor. Both texts stay
 * where they are as long as the reader lives. */
const char *util_reader_kept(struct util_reader *reader, const char *folder,
                             const char *name);

void util_reader_fini(struct util_reader *reader);

#endif
