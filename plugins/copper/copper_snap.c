/* copper_snap.c - have a daemon write its counters, and keep them.
 *
 * Copper's ioctl 2000 comes back when the files are written. They lie where any
 * other such ioctl overwrites them, another step's too: so what was copied is
 * read, and where it is cut, asked for again.
 */
#include "plugins/copper/copper_snap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/fileio.h"
#include "plugins/copper/copper_dump.h"

#define WRITE_ALL 2000
#define TRIES 3
#define PAUSE_US 200000
#define FILE_MAX (256 * 1024 * 1024) /* of sizes: a line for each path */

/* In the order of enum copper_dump; then the sizes of the caches. */
static const char *const kinds[] = {
    "operation_count",      "operation_time",      "operation_cache_hit",
    "operation_cache_miss", "operation_cache_neg", "data_cache_size",
    "tree_cache_size",      "md_cache_size"};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

static int ask(const char *mount, struct jp_error *err)
{
    int fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (fd < 0)
        return error_set(err, "%s: %s", mount, strerror(errno));
    rc = ioctl(fd, WRITE_ALL, 0);
    if (rc < 0)
        error_set(err, "%s: its ioctl %d: %s", mount, WRITE_ALL,
                  strerror(errno));
    close(fd);
    return rc < 0 ? -1 : 0;
}

static int copy(int from, const char *to, struct jp_error *err)
{
    struct jp_tempfile out;
    char buf[65536];
    ssize_t n = 0;
    size_t all = 0;

    if (fileio_temp_open(&out, to, err) < 0)
        return -1;
    while (all <= FILE_MAX && (n = read(from, buf, sizeof(buf))) > 0 &&
           fwrite(buf, 1, (size_t) n, out.stream) == (size_t) n)
        all += (size_t) n;
    if (n == 0)
        return fileio_temp_commit(&out, err);
    fileio_temp_abort(&out);
    return error_set(err, "%s: %s", to,
                     all > FILE_MAX ? "too large" : strerror(errno));
}

/* Whole? Sizes are the reader's business. */
static int check(const char *path, size_t kind, struct jp_error *err)
{
    struct copper_ops ops = {.odd = {""}};
    struct copper_stream stream;
    int rc;

    if (kind >= COPPER_N_DUMPS)
        return 0;
    if (copper_stream_open(&stream, path, err) < 0)
        return -1;
    rc = copper_dump_read(&stream, (enum copper_dump) kind, &ops, err);
    copper_stream_close(&stream);
    return rc < 0 ? error_wrap(err, "%s", path) : 0;
}

static int keep(const struct copper_target *target, const char *to, size_t kind,
                struct jp_error *err)
{
    char *from = fileio_path("%s/tables/final/%s-%s.output", target->logs,
                             target->name, kinds[kind]);
    char *path = fileio_path("%s/%s-%s.output", to, target->name, kinds[kind]);
    int fd = from ? fileio_open_regular(from, false, err) : -1;
    int rc = -1;

    if (!from || !path)
        error_set(err, "out of memory");
    else if (fd >= 0)
        rc = copy(fd, path, err) < 0 ? -1 : check(path, kind, err);
    else if (kind >= COPPER_N_DUMPS)
        rc = 0; /* figures do not need it */
    if (fd >= 0)
        close(fd);
    free(from);
    free(path);
    return rc;
}

static int keep_all(const struct copper_target *target, const char *to,
                    struct jp_error *err)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (keep(target, to, i, err) < 0)
            return -1;
    return 0;
}

int copper_snap(const struct copper_target *target, const char *to,
                struct jp_error *err)
{
    int rc;

    if (fileio_mkdirs(to, err) < 0)
        return -1;
    for (int i = 0;; i++) {
        rc = ask(target->mount, err);
        if (rc == 0)
            rc = keep_all(target, to, err);
        if (rc == 0 || i + 1 >= TRIES)
            return rc;
        usleep(PAUSE_US);
    }
}
