/* make_partials.c - partials of folders of logs, for tests and bench.
 *
 * make_partials [-s | -w] RAW NODES [NODE]: reads RAW/<node>/ and writes
 * NODES/<node>/partial.jpp for each folder, or only for NODE. -s: then each log
 * becomes a hole of its size and time, so that thousands of nodes fit a disk.
 * -w: without timelines, to see what they cost.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/partial.h"

/* Empties a log, but keeps its size and time. */
static int make_hole(int folder, const char *name)
{
    struct stat st;
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC);
    int rc = -1;

    if (fd >= 0 && fstat(fd, &st) == 0 && ftruncate(fd, 0) == 0 &&
        ftruncate(fd, st.st_size) == 0)
        rc = futimens(fd, (struct timespec[]){st.st_atim, st.st_mtim});
    if (fd >= 0)
        close(fd);
    return rc;
}

static int make_holes(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int rc = folder ? 0 : -1;

    while (rc == 0 && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            rc = make_hole(dirfd(folder), entry->d_name);
    if (folder)
        closedir(folder);
    if (rc < 0)
        perror(path);
    return rc;
}

static struct jp_aggregate_options options;

static int make_one(const char *raw, const char *nodes, const char *name,
                    int holes)
{
    char logs[4096], path[4096];
    struct jp_error err = {""};
    int rc;

    snprintf(logs, sizeof(logs), "%s/%s", raw, name);
    snprintf(path, sizeof(path), "%s/%s", nodes, name);
    if (fileio_mkdirs(path, &err) == 0) {
        snprintf(path, sizeof(path), "%s/%s/partial.jpp", nodes, name);
        rc = partial_make(logs, path, &options, &err);
        if (rc == 0 && holes)
            return make_holes(logs);
        if (rc >= 0)
            return 0;
    }
    fprintf(stderr, "%s: %s\n", name, err.text);
    return -1;
}

int main(int argc, char **argv)
{
    int rc = 0, holes = argc > 1 && !strcmp(argv[1], "-s");
    struct dirent *entry;
    DIR *folder;

    if (argc > 1 && !strcmp(argv[1], "-w")) {
        options.processes = UINT32_MAX; /* so many that no timeline gets an
                                         * operation */
        argc--;
        argv++;
    }
    argc -= holes;
    argv += holes;
    if (argc < 3 || argc > 4)
        return 2;
    if (argc == 4)
        return make_one(argv[1], argv[2], argv[3], holes) < 0 ? 5 : 0;
    folder = opendir(argv[1]);
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            rc |= make_one(argv[1], argv[2], entry->d_name, holes);
    if (folder)
        closedir(folder);
    return !folder || rc ? 5 : 0;
}
