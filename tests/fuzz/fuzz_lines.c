/* fuzz_lines.c - any bytes as lines of any kind, from memory and from a file.
 * The first byte chooses the kind. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all lines and checks what is promised for each. Returns a sum of
 * them. */
static uint64_t read_lines(struct jp_lines *lines,
                           const struct lines_limit *limit)
{
    const struct lines_left *left;
    struct jp_error err = {""};
    uint64_t sum = 0, n = 0;
    char *text;
    size_t len;
    int rc;

    assert(lines);
    while ((rc = lines_next(lines, &text, &len, &err)) > 0) {
        assert(len <= limit->line && strlen(text) == len);
        assert(!memchr(text, '\n', len));
        n++;
        assert(lines_number(lines) >= n);
        assert(!limit->lines || n <= limit->lines);
        for (size_t i = 0; i <= len; i++)
            sum = sum * 31 + (unsigned char) text[i];
        text[len / 2] = 'x'; /* may be changed */
    }
    left = lines_left(lines);
    assert(!limit->bytes || lines_bytes(lines) <= limit->bytes);
    assert((left->too_long || left->with_nul || left->early) ==
           (left->why != NULL));
    assert(!left->why || strstr(left->first.text, left->why));
    assert(rc == 0 || (limit->odd == LINES_REFUSE && err.text[0]));
    assert(lines_next(lines, &text, &len, &err) == 0);
    lines_close(lines);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct lines_limit *limit;
    uint64_t sum;
    int fd;

    if (!size)
        return 0;
    limit = &lines_limits[data[0] % LINES_KINDS];
    data++;
    size--;
    sum =
        read_lines(lines_open_memory(data, size, "bytes", limit, NULL), limit);
    fd = memfd_create("lines", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t) size);
    assert(read_lines(lines_open_fd(fd, "file", limit, NULL), limit) == sum);
    return 0;
}
