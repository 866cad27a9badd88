/* fakecopper.c - a stand-in for Copper's cu_fuse: its flags, books, tree,
 * files, signals and ioctls, and its behaviour when something is wrong.
 *
 * It is a FUSE file system that shows the node's files below a mount, read
 * through the tree of daemons (fake_net.h), and counts all calls
 * (fake_counts.h).
 *
 * Flags of its own:
 *     -fake_destroy_s S   sleeps between pre-destroy and final
 *     -fake_start_s S     sleeps between the mount and the provider, on the
 * host of -fake_slow or on all hosts -fake_fail HOST     ends at once on that
 * host -fake_hang HOST     never mounts on that host -fake_cxi XXXX      the
 * fabric, four hexadecimal digits, in which node n7 has the address 0xXXXX0700
 */
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "contrib/fakecopper/fake_counts.h"
#include "contrib/fakecopper/fake_log.h"
#include "contrib/fakecopper/fake_net.h"

#define DUMP 2000 /* ioctl that writes everything */
#define ARGS_MAX 64

/* The settings of this daemon. */
static struct fake_profile profile = {.ttl_ms = 100};
static const char *view = "";
static unsigned destroy_s, start_s, interval_s;
static const char *fail_host = "", *hang_host = "", *slow_host;
static struct fake_net net = {
    .type = "cxi", .book = "", .device = "0060", .sync_s = 5};
static int64_t max_cached = 1048576;
static int log_level;
static char host[65] = "host", log_path[PATH_MAX], own_book[PATH_MAX];
static pthread_t snapshots;
static volatile bool ending;

/* Monotonic time in us. */
static uint64_t now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/* Whether the path is within this mount. Reading it would wait for this process
 * itself. Copper compares only the prefix. */
static bool is_view(const char *path)
{
    return !strncmp(path, view, strlen(view));
}

/* --- the file system ------------------------------------------------------ */

/* Crashes as Copper does: an engine that did not start is a null pointer there.
 */
static void use_engine(void)
{
    if (!fuse_get_context()->private_data)
        raise(SIGSEGV);
}

static int do_getattr(const char *path, struct stat *st,
                      struct fuse_file_info *fi)
{
    uint64_t start = now_us();
    bool asked = false;
    int rc = -ENOENT;

    (void) fi;
    use_engine();
    if (!is_view(path))
        rc = fake_net_stat(path, st, &asked);
    if (rc < 0 && !is_view(path))
        fake_log(FAKE_WARN, "cu_fuse_getattr", "failed to passthrough stat");
    fake_count_path(FAKE_GETATTR, FAKE_MD, path, rc < 0, now_us() - start);
    return rc;
}

static int do_readlink(const char *path, char *buf, size_t size)
{
    ssize_t n = is_view(path) ? -1 : readlink(path, buf, size - 1);

    fake_count(FAKE_READLINK, 0);
    if (n < 0)
        return is_view(path) ? -ENOENT : -errno;
    buf[n] = '\0';
    return 0;
}

/* Calls that change something have no effect and report success. */
static int do_open(const char *path, struct fuse_file_info *fi)
{
    (void) path;
    (void) fi;
    fake_count(FAKE_OPEN, 0);
    return 0;
}

static int do_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
    (void) path;
    (void) mode;
    (void) fi;
    return 0;
}

static int do_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
    (void) path;
    (void) size;
    (void) fi;
    return 0;
}

static int do_mkdir(const char *path, mode_t mode)
{
    (void) path;
    (void) mode;
    return 0;
}

static int do_unlink(const char *path)
{
    (void) path;
    return 0;
}

static int do_write(const char *path, const char *buf, size_t size,
                    off_t offset, struct fuse_file_info *fi)
{
    (void) path;
    (void) buf;
    (void) offset;
    (void) fi;
    return (int) size;
}

/* Reads a large file from this node's own file system, without cache and tree.
 */
static int read_large(const char *path, char *buf, size_t size, off_t offset)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, buf, size, offset);
    int rc = n < 0 ? -errno : (int) n;

    if (fd >= 0)
        close(fd);
    return rc;
}

/* Reads a part of a cached file. Returns the number of bytes, or -errno. */
static int read_cached(const char *path, char *buf, size_t size, off_t offset)
{
    const char *bytes;
    bool asked;
    size_t len, n = 0;
    int rc = fake_net_file(path, &bytes, &len, &asked);

    if (rc < 0)
        return rc;
    if ((size_t) offset < len) {
        n = len - (size_t) offset < size ? len - (size_t) offset : size;
        memcpy(buf, bytes + offset, n);
    }
    return (int) n;
}

static int do_read(const char *path, char *buf, size_t size, off_t offset,
                   struct fuse_file_info *fi)
{
    uint64_t start = now_us();
    bool large = fake_net_size(path) >= max_cached;
    int rc;

    (void) fi;
    use_engine();
    /* Copper counts large files as negative */
    rc = is_view(path) ? -ENOENT
         : large       ? read_large(path, buf, size, offset)
                       : read_cached(path, buf, size, offset);
    fake_count_path(FAKE_READ, FAKE_DATA, path, rc < 0 || large,
                    now_us() - start);
    return rc;
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
    (void) fi;
    fake_count(FAKE_RELEASE, 0);
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
    const char *names = NULL;
    size_t len = 0;
    bool asked;
    int rc;

    (void) offset;
    (void) fi;
    (void) flags;
    use_engine();
    rc = is_view(path) ? -ENOENT : fake_net_list(path, &names, &len, &asked);
    for (size_t at = 0; rc == 0 && at < len; at += strlen(names + at) + 1)
        fill(buf, names + at, NULL, 0, 0);
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

/* An unknown ioctl is no error. */
static int do_ioctl(const char *path, unsigned cmd, void *arg,
                    struct fuse_file_info *fi, unsigned flags, void *data)
{
    (void) path;
    (void) arg;
    (void) fi;
    (void) flags;
    (void) data;
    fake_count(FAKE_IOCTL, 0);
    if (cmd == DUMP)
        fake_dump(&profile);
    return 0;
}

/* --- its life ------------------------------------------------------------- */

/* Writes snapshots. As in Copper, the thread sleeps until its interval ends,
 * even if the mount has gone. */
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
    bool started;

    (void) conn;
    config->use_ino = 0;
    /* the kernel must not cache anything: all calls are counted */
    config->entry_timeout = config->negative_timeout = 0;
    config->attr_timeout = 0;
    if (!freopen(log_path, "a", stderr))
        abort();
    net.start_s = !slow_host || !strcmp(host, slow_host) ? start_s : 0;
    started =
        fake_net_start(&net); /* without an engine it serves all the same */
    fake_count(FAKE_INIT, 1000);
    if (interval_s)
        pthread_create(&snapshots, NULL, take_snapshots, NULL);
    return started ? &net : NULL;
}

/* libfuse has restored the default actions of signals by now, so a SIGTERM ends
 * the process here. */
static void do_destroy(void *data)
{
    ending = true;
    if (interval_s)
        pthread_join(snapshots, NULL);
    fake_count(FAKE_DESTROY, 0);
    fake_write(&profile, "pre-destroy");
    if (data)
        fake_net_stop();
    sleep(destroy_s);
    fake_write(&profile, "final");
}

static const struct fuse_operations operations = {
    .getattr = do_getattr,
    .readlink = do_readlink,
    .open = do_open,
    .create = do_create,
    .truncate = do_truncate,
    .mkdir = do_mkdir,
    .unlink = do_unlink,
    .write = do_write,
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

/* Parses a number; 0 for anything else. */
static int number(const char *text)
{
    return (int) strtol(text, NULL, 10);
}

/* Whether it is a flag of Copper's with a value that has no meaning here. */
static bool is_unused(const char *flag)
{
    static const char *const unused[] = {"-tpath", "-log_type", "-es"};

    for (size_t i = 0; i < sizeof(unused) / sizeof(*unused); i++)
        if (!strcmp(flag, unused[i]))
            return true;
    return false;
}

/* Takes a flag whose value is a text. Returns false for other flags. */
static bool take_text(const char *flag, const char *value)
{
    const struct {
        const char *flag, **to;
    } rows[] = {{"-vpath", &view},
                {"-log_output_dir", &profile.logs},
                {"-net_type", &net.type},
                {"-nf", &net.nodes},
                {"-facility_address_book", &net.book},
                {"-fake_cxi", &net.device},
                {"-fake_slow", &slow_host},
                {"-fake_fail", &fail_host},
                {"-fake_hang", &hang_host}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (!strcmp(flag, rows[i].flag)) {
            *rows[i].to = value;
            return true;
        }
    return false;
}

/* Takes a flag with a value. Returns false for other flags. */
static bool take_pair(const char *flag, const char *value)
{
    if (!strcmp(flag, "-md_enoent_ttl_ms"))
        profile.ttl_ms = number(value);
    else if (!strcmp(flag, "-log_level"))
        log_level = number(value);
    else if (!strcmp(flag, "-prefiltered_address_book"))
        net.prefiltered = number(value) != 0;
    else if (!strcmp(flag, "-addr_write_sync_time"))
        net.sync_s = (unsigned) number(value);
    else if (!strcmp(flag, "-trees"))
        net.trees = (unsigned) number(value);
    else if (!strcmp(flag, "-max_cacheable_byte_size"))
        max_cached = number(value);
    else if (!strcmp(flag, "-profile_top_n"))
        profile.top_n = number(value), profile.on = true;
    else if (!strcmp(flag, "-profile_snapshot_interval_s"))
        interval_s = (unsigned) number(value), profile.on = true;
    else if (!strcmp(flag, "-fake_destroy_s"))
        destroy_s = (unsigned) number(value);
    else if (!strcmp(flag, "-fake_start_s"))
        start_s = (unsigned) number(value);
    else
        return take_text(flag, value) || is_unused(flag);
    return true;
}

/* Takes all flags. The others are passed to libfuse: stored in rest; returns
 * their number. */
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

/* Creates the folders of the logs, and sets the names of files. */
static void make_folders(void)
{
    static const char *const names[] = {"", "/logs", "/tables", "/profiling"};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s%s", profile.logs, names[i]);
        mkdir(path, 0777);
    }
    snprintf(own_book, sizeof(own_book), "%s/logs/copper_address_book.txt",
             profile.logs);
    snprintf(log_path, sizeof(log_path), "%s/logs/%s-%ld-output.log",
             profile.logs, host, profile.pid);
}

/* As in Copper, the pid is determined before libfuse forks; without -f it is
 * that of a dead process. */
int main(int argc, char **argv)
{
    char *rest[ARGS_MAX];
    int n = take_flags(argc, argv, rest);

    umask(0);
    gethostname(host, sizeof(host) - 1);
    profile.pid = (long) getpid();
    if (!profile.logs || !*view) {
        fprintf(stderr, "-vpath and -log_output_dir are needed\n");
        return 134;
    }
    make_folders();
    fake_log_open(log_path, log_level);
    net.host = host;
    net.own = own_book;
    if (!strcmp(host, fail_host)) {
        fprintf(stderr, "fails here, as requested\n");
        return 1;
    }
    while (!strcmp(host, hang_host))
        pause();
    return fuse_main(n, rest, &operations, NULL);
}
