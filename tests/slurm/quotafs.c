/* quotafs.c - a file system with a quota: quotafs LIMIT SOURCE MOUNTPOINT.
 *
 * Shows SOURCE at MOUNTPOINT until it is unmounted. A write that would make the
 * files' sizes together more than the number of bytes in the file LIMIT fails
 * with EDQUOT; free space is told as of the disk below, as file systems with
 * quotas do. */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *limit_file;
static char *source;
static off_t used;

#define AT(path) (chdir(source) < 0 ? "/nonexistent" : at(path))
static const char *at(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int answer(int rc)
{
    return rc < 0 ? -errno : 0;
}

static int add_size(const char *path, const struct stat *st, int type,
                    struct FTW *walk)
{
    (void) path;
    (void) walk;
    if (type == FTW_F)
        used += st->st_size;
    return 0;
}

/* May path grow to end bytes? */
static bool is_within(const char *path, off_t end)
{
    FILE *f = fopen(limit_file, "r");
    struct stat st;
    char line[32] = "0";

    if (f && !fgets(line, sizeof(line), f))
        line[0] = '\0';
    if (f)
        fclose(f);
    used = 0;
    if (lstat(AT(path), &st) < 0 || end <= st.st_size)
        return true;
    nftw(".", add_size, 16, FTW_PHYS);
    return used + end - st.st_size <= strtoll(line, NULL, 10);
}

static int own(const char *path)
{
    const struct fuse_context *who = fuse_get_context();

    return answer(lchown(AT(path), who->uid, who->gid));
}

static int q_getattr(const char *path, struct stat *st,
                     struct fuse_file_info *fi)
{
    (void) fi;
    return answer(lstat(AT(path), st));
}

static int q_readdir(const char *path, void *buf, fuse_fill_dir_t fill,
                     off_t off, struct fuse_file_info *fi,
                     enum fuse_readdir_flags flags)
{
    DIR *dir = opendir(AT(path));
    struct dirent *entry;

    (void) off;
    (void) fi;
    (void) flags;
    if (!dir)
        return -errno;
    while ((entry = readdir(dir)))
        fill(buf, entry->d_name, NULL, 0, 0);
    closedir(dir);
    return 0;
}

static int q_mkdir(const char *path, mode_t mode)
{
    return mkdir(AT(path), mode) < 0 ? -errno : own(path);
}

static int q_unlink(const char *path)
{
    return answer(unlink(AT(path)));
}

static int q_rmdir(const char *path)
{
    return answer(rmdir(AT(path)));
}

static int q_rename(const char *from, const char *to, unsigned flags)
{
    return flags ? -EINVAL : answer(rename(AT(from), at(to)));
}

static int q_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
    (void) fi;
    return answer(chmod(AT(path), mode));
}

static int q_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
    (void) fi;
    return answer(truncate(AT(path), size));
}

static int q_utimens(const char *path, const struct timespec ts[2],
                     struct fuse_file_info *fi)
{
    (void) fi;
    return answer(utimensat(AT_FDCWD, AT(path), ts, AT_SYMLINK_NOFOLLOW));
}

static int q_open(const char *path, struct fuse_file_info *fi)
{
    int fd = open(AT(path), fi->flags & ~(O_APPEND | O_CREAT | O_EXCL));

    fi->fh = (uint64_t) fd;
    return answer(fd);
}

static int q_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
    int fd = open(AT(path), (fi->flags & ~O_APPEND) | O_CREAT, mode);

    fi->fh = (uint64_t) fd;
    return fd < 0 ? -errno : own(path);
}

static int q_read(const char *path, char *buf, size_t n, off_t off,
                  struct fuse_file_info *fi)
{
    ssize_t got = pread((int) fi->fh, buf, n, off);

    (void) path;
    return got < 0 ? -errno : (int) got;
}

static int q_write(const char *path, const char *buf, size_t n, off_t off,
                   struct fuse_file_info *fi)
{
    ssize_t put;

    if (path && !is_within(path, off + (off_t) n))
        return -EDQUOT;
    put = pwrite((int) fi->fh, buf, n, off);
    return put < 0 ? -errno : (int) put;
}

static int q_release(const char *path, struct fuse_file_info *fi)
{
    (void) path;
    return answer(close((int) fi->fh));
}

static int q_statfs(const char *path, struct statvfs *st)
{
    return answer(statvfs(AT(path), st));
}

static const struct fuse_operations operations = {
    .getattr = q_getattr,
    .readdir = q_readdir,
    .mkdir = q_mkdir,
    .unlink = q_unlink,
    .rmdir = q_rmdir,
    .rename = q_rename,
    .chmod = q_chmod,
    .truncate = q_truncate,
    .utimens = q_utimens,
    .open = q_open,
    .create = q_create,
    .read = q_read,
    .write = q_write,
    .release = q_release,
    .statfs = q_statfs,
};

int main(int argc, char **argv)
{
    char options[] = "allow_other,default_permissions";
    char *args[] = {argv[0], (char *) "-f", (char *) "-s", (char *) "-o",
                    options, NULL,          NULL};

    if (argc != 4 || !(source = realpath(argv[2], NULL)))
        return 2;
    limit_file = argv[1];
    args[5] = argv[3];
    umask(0);
    return fuse_main(6, args, &operations, NULL);
}
