/* rec_sink.c - the file of one process: blocks, one write at a time, within its
 * allowance. */
#include "plugins/nccl_recorder/rec_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/rec_clock.h"

/* The allowance; without a cap, when the file system is full, 256 KiB. */
enum { MAX_TRIES = 1000, LAST_BYTES = 4096 };
#define ALLOWANCE_MIN (128ULL << 10)
#define ALLOWANCE_MAX (1ULL << 20)
#define ALLOWANCE_LOW_SPACE (256ULL << 10)
/* How old the number of free bytes may be. */
#define LOOK_NS 1000000000ULL
#define LOOK_BYTES (1ULL << 20)
/* Other ranks write there too: with less than 4 x min_free free, each of them
 * looks that much more often. */
enum { NEAR = 4 };
/* After a failed write the file system is left alone for a second. */
#define RETRY_NS 1000000000ULL

/* What a descriptor was opened on: the program may close all descriptors, and
 * its own files then get their numbers. */
struct identity {
    uint32_t major, minor;
    uint64_t inode;
    uint32_t mode; /* as it was */
};

static struct {
    int dir_fd;
    int fd;
    struct identity dir;
    struct identity file;
    bool lost;    /* one of them is no longer ours: nothing more is written */
    uint64_t end; /* bytes of whole blocks */
    uint64_t disk_bytes;
    uint64_t min_free_bytes;
    bool low_space;
    bool is_near;     /* to min_free */
    uint64_t low_end; /* where the file was when space became low */
    uint64_t looked_ns;
    uint64_t looked_end;
    bool capped;        /* a block was too long for what is left */
    uint64_t failed_ns; /* 0: the last write was fine */
} s = {.dir_fd = -1, .fd = -1};

/* By system call: the fstat() of a newer glibc does not load with an older one.
 * statx() answers from the cache where a file server would be asked. */
static bool identify(int fd, struct identity *out)
{
    struct stat st;
#ifdef SYS_statx
    struct statx stx;

    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                STATX_INO | STATX_MODE, &stx) == 0) {
        *out = (struct identity){stx.stx_dev_major, stx.stx_dev_minor,
                                 stx.stx_ino, stx.stx_mode};
        return true;
    }
#endif
    if (syscall(SYS_fstat, fd, &st) != 0) /* older kernels, some filters */
        return false;
    *out = (struct identity){major(st.st_dev), minor(st.st_dev), st.st_ino,
                             st.st_mode};
    return true;
}

static bool is_same(int fd, const struct identity *opened)
{
    struct identity now;

    return fd >= 0 && identify(fd, &now) && now.inode == opened->inode &&
           now.major == opened->major && now.minor == opened->minor;
}

/* Closes what is still ours. */
static void close_both(void)
{
    if (is_same(s.fd, &s.file))
        close(s.fd);
    if (is_same(s.dir_fd, &s.dir))
        close(s.dir_fd);
    s.fd = -1;
    s.dir_fd = -1;
}

/* 0 to 2 are the program's, also where it has none: what it prints would come
 * into our file. Not fcntl(): its newest symbol version is too new. */
static int above_standard(int fd)
{
    long higher;

    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    higher = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return (int) higher;
}

static bool check(int fd, const struct identity *opened)
{
    if (is_same(fd, opened))
        return true;
    close_both();
    s.lost = true;
    return false;
}

const char *rec_sink_init(const char *dir,
                          const struct jp_rec_settings *settings)
{
    struct identity opened;
    int fd;

    if (!dir || !dir[0])
        return "JOBPROF_RECORDER_DIR is not set";
    fd = above_standard(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd < 0)
        return "the directory of JOBPROF_RECORDER_DIR cannot be opened";
    if (!identify(fd, &opened)) {
        close(fd);
        return "the directory of JOBPROF_RECORDER_DIR cannot be identified";
    }
    /* not faccessat(), which is a newer call that old filters forbid */
    if (syscall(SYS_faccessat, fd, ".", W_OK | X_OK) < 0) {
        close(fd);
        return "the directory of JOBPROF_RECORDER_DIR is not writable";
    }
    memset(&s, 0, sizeof(s));
    s.dir_fd = fd;
    s.dir = opened;
    s.fd = -1;
    s.disk_bytes = settings->disk_bytes;
    s.min_free_bytes = settings->min_free_bytes;
    return NULL;
}

bool rec_sink_ready(void)
{
    return s.dir_fd >= 0 || s.lost;
}

/* Creates the file under a name nobody has; 0 or -1. */
static int create_file(void)
{
    char name[320];
    int i;

    if (!check(s.dir_fd, &s.dir))
        return -1;
    for (i = 0; i < MAX_TRIES && s.fd < 0; i++) {
        char suffix[16] = "";

        if (i > 0)
            snprintf(suffix, sizeof(suffix), "-%d", i);
        snprintf(name, sizeof(name), "%s-pid%d%s.jpr", rec_env_hostname(),
                 (int) getpid(), suffix);
        s.fd = openat(s.dir_fd, name,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      0600);
        if (s.fd < 0 && errno != EEXIST)
            break;
    }
    s.fd = above_standard(s.fd);
    if (s.fd >= 0 && !identify(s.fd, &s.file)) {
        close(s.fd);
        s.fd = -1;
    }
    if (s.fd >= 0 && (s.file.mode & 0600) != 0600) /* an odd umask */
        (void) fchmod(s.fd, 0600);
    return s.fd < 0 ? -1 : 0;
}

/* ------------------------------------------------------------------ caps -- */

static uint64_t cap_allowance(void)
{
    uint64_t part = s.disk_bytes / 16;

    if (part < ALLOWANCE_MIN)
        part = ALLOWANCE_MIN;
    if (part > s.disk_bytes / 2)
        part = s.disk_bytes / 2;
    return part < ALLOWANCE_MAX ? part : ALLOWANCE_MAX;
}

static void look_at_space(void)
{
    struct statvfs fs;
    uint64_t now = rec_clock_ns();
    uint64_t often = s.is_near ? NEAR : 1;
    uint64_t free_bytes, enough;

    if (s.looked_ns && now - s.looked_ns < LOOK_NS / often &&
        s.end - s.looked_end < LOOK_BYTES / often)
        return;
    s.looked_ns = now;
    s.looked_end = s.end;
    if (!check(s.dir_fd, &s.dir) || fstatvfs(s.dir_fd, &fs) < 0)
        return;
    free_bytes = (uint64_t) fs.f_bavail * fs.f_frsize;
    s.is_near = free_bytes / NEAR < s.min_free_bytes;
    /* leaving takes a little more than staying: no flutter at the edge */
    enough = s.min_free_bytes + (s.low_space ? s.min_free_bytes / 8 : 0);
    if (free_bytes < enough + LOOK_BYTES && !s.low_space)
        s.low_end = s.end;
    s.low_space = free_bytes < enough + LOOK_BYTES;
}

bool rec_sink_is_full(void)
{
    if (s.min_free_bytes && !s.lost)
        look_at_space();
    if (s.lost) /* what comes now is lost, not left out */
        return false;
    return s.low_space || s.capped ||
           (s.disk_bytes && s.end >= s.disk_bytes - cap_allowance());
}

uint64_t rec_sink_room(void)
{
    uint64_t end = s.disk_bytes - cap_allowance();

    if (!s.disk_bytes || s.lost)
        return UINT64_MAX;
    return s.end < end && !s.capped ? end - s.end : 0;
}

uint64_t rec_sink_allowance(void)
{
    uint64_t left = UINT64_MAX;

    if (!rec_sink_is_full())
        return left;
    if (s.disk_bytes)
        left = s.end < s.disk_bytes ? s.disk_bytes - s.end : 0;
    if (s.low_space) {
        uint64_t used = s.end - s.low_end;
        uint64_t low = used < ALLOWANCE_LOW_SPACE ? ALLOWANCE_LOW_SPACE - used
                                                  : 0;

        left = left < low ? left : low;
    }
    return left > LAST_BYTES ? left - LAST_BYTES : 0;
}

/* --------------------------------------------------------------- writing -- */

static bool fits(size_t n, bool last)
{
    uint64_t left = rec_sink_allowance();
    uint64_t keep = left == UINT64_MAX ? cap_allowance() : LAST_BYTES;

    if (s.disk_bytes && s.end + n + (last ? 0 : keep) > s.disk_bytes) {
        s.capped = true;
        return false;
    }
    return left == UINT64_MAX || last || n <= left;
}

static int write_all(const char *at, size_t n)
{
    uint64_t end = s.end;

    while (n > 0) {
        ssize_t k;

        if (!check(s.fd, &s.file))
            return -1;
        k = pwrite(s.fd, at, n, (off_t) end);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        at += k;
        end += (uint64_t) k;
        n -= (size_t) k;
    }
    s.end = end;
    return 0;
}

/* The file with its first bytes; 0 or -1. */
static int begin_file(void)
{
    uint8_t head[JPR_HEAD_BYTES];

    if (s.fd < 0 && create_file() < 0)
        return -1;
    jpr_head_write(head);
    return s.end > 0 ? 0 : write_all((const char *) head, sizeof(head));
}

/* Writes whole blocks behind the last ones; the first call creates the file.
 * 0, or -1 when they are not in the file: none of them then. `last`: they may
 * use up what is kept for the last block. */
static int sink_append(const void *blocks, size_t n, bool last)
{
    if (s.dir_fd < 0)
        return -1;
    if (s.failed_ns && !last && rec_clock_ns() - s.failed_ns < RETRY_NS)
        return -1;
    if (!fits(n, last))
        return -1;
    s.failed_ns = 0;
    if (begin_file() == 0 && write_all(blocks, n) == 0)
        return 0;
    /* give back what there is of a cut block; should this fail too, the next
     * write goes over it */
    if (!s.lost && s.fd >= 0 && check(s.fd, &s.file))
        (void) !ftruncate(s.fd, (off_t) s.end);
    s.failed_ns = rec_clock_ns();
    return -1;
}

void rec_sink_close(void)
{
    close_both();
    s.lost = false;
}

/* --- blocks of the file, collected for one write --- */

/* Two blocks of operations and the counters, should nothing shrink. */
enum { BUFFER_BYTES = 400 * 1024, PAYLOAD_BYTES = 96 * 1024 };

static uint8_t *buffer;
static size_t used;
static bool overflow; /* a block did not fit: the write fails */
static bool ever;
static uint8_t *space;
static struct jpr_out payload;
static struct jpr_zip *zip;

int rec_blocks_init(void)
{
    if (!buffer && !(buffer = malloc(BUFFER_BYTES)))
        return -1;
    if (!space && !(space = malloc(PAYLOAD_BYTES)))
        return -1;
    if (!zip) /* without it blocks are stored as they are */
        zip = jpr_zip_create();
    used = 0;
    overflow = false;
    ever = false;
    return 0;
}

struct jpr_out *rec_blocks_payload(void)
{
    payload = (struct jpr_out){.bytes = space, .size = PAYLOAD_BYTES};
    return &payload;
}

size_t rec_blocks_add(enum jpr_block type, const uint8_t *raw, size_t n)
{
    size_t added;

    if (n == 0)
        return 0;
    added =
        jpr_frame_write(type, raw, n, zip, buffer + used, BUFFER_BYTES - used);
    if (added == 0)
        overflow = true;
    used += added;
    return added;
}

int rec_blocks_write(bool last)
{
    int rc = 0;

    if (overflow || (used > 0 && sink_append(buffer, used, last) < 0))
        rc = -1;
    else
        ever = ever || used > 0;
    used = 0;
    overflow = false;
    return rc;
}

bool rec_blocks_ever(void)
{
    return ever;
}
