/* treewalk.c - visit what lies below a folder, following no symbolic link. */
#include "common/treewalk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"

struct walk {
    unsigned max_depth;
    treewalk_see *see;
    void *arg;
};

static int walk_folder(const struct walk *walk, int fd, const char *path,
                       unsigned depth);

static int enter(const struct walk *walk, struct treewalk_entry *entry,
                 unsigned depth)
{
    int fd;

    entry->what = depth < walk->max_depth ? TREEWALK_CLOSED : TREEWALK_DEEP;
    if (entry->what == TREEWALK_DEEP)
        return walk->see(walk->arg, entry);
    fd = openat(entry->dir, entry->name,
                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? walk->see(walk->arg, entry)
                  : walk_folder(walk, fd, entry->path, depth + 1);
}

static int take(const struct walk *walk, int dir, const char *name,
                const char *path, unsigned depth)
{
    struct stat st;
    struct treewalk_entry entry = {.dir = dir, .name = name, .path = path};
    int rc;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        entry.what = TREEWALK_LOST;
        return errno == ENOENT ? 0 : walk->see(walk->arg, &entry);
    }
    entry.st = &st;
    entry.what = S_ISREG(st.st_mode)   ? TREEWALK_FILE
                 : S_ISDIR(st.st_mode) ? TREEWALK_FOLDER
                                       : TREEWALK_ODD;
    rc = walk->see(walk->arg, &entry);
    return rc == 0 && S_ISDIR(st.st_mode) ? enter(walk, &entry, depth) : rc;
}

/* fd is taken over. */
static int walk_folder(const struct walk *walk, int fd, const char *path,
                       unsigned depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    int rc = 0;

    if (!dir) {
        close(fd);
        return -1;
    }
    while (rc == 0 && (entry = readdir(dir))) {
        char *below;

        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        below = fileio_path("%s/%s", path, entry->d_name);
        rc = below ? take(walk, dirfd(dir), entry->d_name, below, depth) : -1;
        free(below);
    }
    closedir(dir);
    return rc;
}

int treewalk(int fd, const char *path, unsigned max_depth, treewalk_see *see,
             void *arg)
{
    const struct walk walk = {max_depth, see, arg};

    return walk_folder(&walk, fd, path, 0);
}
