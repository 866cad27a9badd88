/* fakecopper.c - a stand-in for Copper's cu_fuse: a read-only FUSE pass-through
 * with its flags, files, signals and ioctls, and without its network.
 *
 * Flags of its own: -fake_destroy_s S sleeps between pre-destroy and final;
 * -fake_start_s S before the mount; -fake_fail HOST, -fake_hang HOST: ends at
 * once, or never mounts, on that host.
 */
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "contrib/fakecopper/fake_counts.h"

#define DUMP 2000 /* the ioctl that writes everything */
#define ARGS_MAX 64

static struct fake_profile profile = {.ttl_ms = 100};
static const char *view = "";
static unsigned destroy_s, start_s, interval_s;
static const char *fail_host = "", *hang_host = "";
static pthread_t snapshots;
static volatile bool ending;

static uint64_t now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/* Our own mount within itself would wait for us. */
static bool is_view(const char *path)
{
    size_t n = strlen(view);

    return n && !strncmp(path, view, n) && (!path[n] || path[n] == '/');
}

/* --- the file system ------------------------------------------------------ */

static int do_getattr(const char *path, struct stat *st,
                      struct fuse_file_info *fi)
{
    uint64_t start = now_us();
    int rc = is_view(path) ? -ENOENT : lstat(path, st) < 0 ? -errno : 0;

    (void) fi;
    fake_count_path(FAKE_GETATTR, FAKE_MD, path, rc < 0, now_us() - start);
    return rc;
}

static int do_readlink(const char *path, char *buf, size_t size)
{
    ssize_t n = readlink(path, buf, size - 1);

    fake_count(FAKE_READLINK, 0);
    if (n < 0)
        return -errno;
    buf[n] = '\0';
    return 0;
}

static int do_open(const char *path, struct fuse_file_info *fi)
{
    int fd;

    fake_count(FAKE_OPEN, 0);
    if ((fi->flags & O_ACCMODE) != O_RDONLY)
        return -EROFS;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    fi->fh = (uint64_t) fd;
    return 0;
}

static int do_read(const char *path, char *buf, size_t size, off_t offset,
                   struct fuse_file_info *fi)
{
    uint64_t start = now_us();
    ssize_t n = pread((int) fi->fh, buf, size, offset);

    fake_count_path(FAKE_READ, FAKE_DATA, path, n < 0, now_us() - start);
    return n < 0 ? -errno : (int) n;
}

static int do_flush(const char *path, struct fuse_file_info *fi)
{
    (void) path;
    (void) fi;
    fake_count(FAKE_FLUSH, 0);
    return 0;
}

static int do_release(const char *path, struct fuse_file_info *fi)
{
    (void) path;
    fake_count(FAKE_RELEASE, 0);
    close((int) fi->fh);
    return 0;
}

static int do_opendir(const char *path, struct fuse_file_info *fi)
{
    (void) path;
    (void) fi;
    fake_count(FAKE_OPENDIR, 0);
    return 0;
}

static int do_readdir(const char *path, void *buf, fuse_fill_dir_t fill,
                      off_t offset, struct fuse_file_info *fi,
                      enum fuse_readdir_flags flags)
{
    uint64_t start = now_us();
    DIR *dir = opendir(path);
    int rc = dir ? 0 : -errno;
    struct dirent *entry;

    (void) offset;
    (void) fi;
    (void) flags;
    while (dir && (entry = readdir(dir)))
        fill(buf, entry->d_name, NULL, 0, 0);
    if (dir)
        closedir(dir);
    fake_count_path(FAKE_READDIR, rc < 0 ? FAKE_MD : FAKE_TREE, path, rc < 0,
                    now_us() - start);
    return rc;
}

static int do_releasedir(const char *path, struct fuse_file_info *fi)
{
    (void) path;
    (void) fi;
    fake_count(FAKE_RELEASEDIR, 0);
    return 0;
}

static int do_ioctl(const char *path, unsigned cmd, void *arg,
                    struct fuse_file_info *fi, unsigned flags, void *data)
{
    (void) path;
    (void) arg;
    (void) fi;
    (void) flags;
    (void) data;
    fake_count(FAKE_IOCTL, 0);
    if (cmd != DUMP)
        return -ENOTTY;
    fake_dump(&profile);
    return 0;
}

/* --- its life ------------------------------------------------------------- */

/* As Copper's: it sleeps through the end of the mount. */
static void *take_snapshots(void *arg)
{
    (void) arg;
    while (!ending) {
        unsigned left = interval_s;

        while ((left = sleep(left)))
            ;
        if (!ending)
            fake_write(&profile, "runtime-snapshot");
    }
    return NULL;
}

static void *do_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
    (void) conn;
    config->use_ino = 0;
    fake_count(FAKE_INIT, 1000);
    if (interval_s)
        pthread_create(&snapshots, NULL, take_snapshots, NULL);
    return NULL;
}

/* libfuse has put the signals' defaults back by now: a SIGTERM ends us here. */
static void do_destroy(void *data)
{
    (void) data;
    ending = true;
    if (interval_s)
        pthread_join(snapshots, NULL);
    fake_count(FAKE_DESTROY, 0);
    fake_write(&profile, "pre-destroy");
    sleep(destroy_s);
    fake_write(&profile, "final");
}

static const struct fuse_operations operations = {
    .getattr = do_getattr,
    .readlink = do_readlink,
    .open = do_open,
    .read = do_read,
    .flush = do_flush,
    .release = do_release,
    .opendir = do_opendir,
    .readdir = do_readdir,
    .releasedir = do_releasedir,
    .ioctl = do_ioctl,
    .init = do_init,
    .destroy = do_destroy,
};

static int number(const char *text)
{
    return (int) strtol(text, NULL, 10);
}

/* A flag with a value. 0: not ours. */
static int take_pair(const char *flag, const char *value)
{
    static const char *const unused[] = {"-tpath",
                                         "-log_level",
                                         "-net_type",
                                         "-nf",
                                         "-facility_address_book",
                                         "-prefiltered_address_book",
                                         "-max_cacheable_byte_size"};

    if (!strcmp(flag, "-vpath"))
        view = value;
    else if (!strcmp(flag, "-log_output_dir"))
        profile.logs = value;
    else if (!strcmp(flag, "-md_enoent_ttl_ms"))
        profile.ttl_ms = number(value);
    else if (!strcmp(flag, "-profile_top_n"))
        profile.top_n = number(value), profile.on = true;
    else if (!strcmp(flag, "-profile_snapshot_interval_s"))
        interval_s = (unsigned) number(value), profile.on = true;
    else if (!strcmp(flag, "-fake_destroy_s"))
        destroy_s = (unsigned) number(value);
    else if (!strcmp(flag, "-fake_start_s"))
        start_s = (unsigned) number(value);
    else if (!strcmp(flag, "-fake_fail"))
        fail_host = value;
    else if (!strcmp(flag, "-fake_hang"))
        hang_host = value;
    else {
        for (size_t i = 0; i < sizeof(unused) / sizeof(*unused); i++)
            if (!strcmp(flag, unused[i]))
                return 1;
        return 0;
    }
    return 1;
}

/* What is not ours goes to libfuse; its number. */
static int take_flags(int argc, char **argv, char **rest)
{
    int n = 0;

    for (int i = 0; i < argc && n < ARGS_MAX - 1; i++) {
        if (!strcmp(argv[i], "-profile_metrics"))
            profile.on = true;
        else if (!strcmp(argv[i], "-profile_paths_full"))
            profile.on = profile.full = true;
        else if (i + 1 < argc && take_pair(argv[i], argv[i + 1]))
            i++;
        else
            rest[n++] = argv[i];
    }
    rest[n] = NULL;
    return n;
}

/* Every daemon leaves one, at any level. */
static void write_log(const char *host)
{
    char path[PATH_MAX];
    FILE *log;

    snprintf(path, sizeof(path), "%s/logs/%s-%ld-output.log", profile.logs,
             host, (long) getpid());
    log = fopen(path, "w");
    if (log)
        fclose(log);
}

int main(int argc, char **argv)
{
    char *rest[ARGS_MAX], host[65] = "host";
    int n = take_flags(argc, argv, rest);

    umask(0);
    gethostname(host, sizeof(host) - 1);
    if (!profile.logs || !*view) {
        fprintf(stderr, "-vpath and -log_output_dir are needed\n");
        return 134;
    }
    write_log(host);
    if (!strcmp(host, fail_host)) {
        fprintf(stderr, "fails here, as it was told\n");
        return 1;
    }
    sleep(start_s);
    while (!strcmp(host, hang_host))
        pause();
    return fuse_main(n, rest, &operations, NULL);
}
