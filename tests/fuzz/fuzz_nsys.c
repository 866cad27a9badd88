/* fuzz_nsys.c - any bytes as an export of Nsight Systems. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plugins/nsys/nsys_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file may make SQLite walk in circles: time is what bounds it. */
static bool is_over(void *arg)
{
    return ++*(int *) arg > 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/fuzz_nsys.XXXXXX";
    int fd = mkstemp(path), asked = 0;
    const struct nsys_options options = {100000, 10000, false, is_over, &asked};
    struct jp_error err = {""};
    struct nsys_profile p;

    assert(fd >= 0 && write(fd, data, size) == (ssize_t) size);
    close(fd);
    if (nsys_read(path, &options, &p, &err) == 0) {
        assert(p.busy_ns <= p.span_ns || p.closed_ns);
        nsys_profile_fini(&p);
    } else {
        assert(err.text[0]);
    }
    unlink(path);
    return 0;
}
