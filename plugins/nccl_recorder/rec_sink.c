/* The file of one process, and how large it may grow. */
#include "plugins/nccl_recorder/rec_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

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

static struct {
    int dir_fd;
    int fd;
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

const char *rec_sink_init(const char *dir,
                          const struct jp_rec_settings *settings)
{
    int fd;

    if (!dir || !dir[0])
        return "JOBPROF_RECORDER_DIR is not set";
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return "the directory of JOBPROF_RECORDER_DIR cannot be opened";
    if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0) {
        close(fd);
        return "the directory of JOBPROF_RECORDER_DIR is not writable";
    }
    memset(&s, 0, sizeof(s));
    s.dir_fd = fd;
    s.fd = -1;
    s.disk_bytes = settings->disk_bytes;
    s.min_free_bytes = settings->min_free_bytes;
    return NULL;
}

bool rec_sink_ready(void)
{
    return s.dir_fd >= 0;
}

/* Creates the file under a name nobody has; 0 or -1. */
static int create_file(void)
{
    char name[320];
    int i;

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
    if (fstatvfs(s.dir_fd, &fs) < 0)
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
    if (s.min_free_bytes)
        look_at_space();
    return s.low_space || s.capped ||
           (s.disk_bytes && s.end >= s.disk_bytes - cap_allowance());
}

uint64_t rec_sink_room(void)
{
    uint64_t end = s.disk_bytes - cap_allowance();

    if (!s.disk_bytes)
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
        ssize_t k = pwrite(s.fd, at, n, (off_t) end);

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

int rec_sink_append(const void *blocks, size_t n, bool last)
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
    if (s.fd >= 0)
        (void) !ftruncate(s.fd, (off_t) s.end);
    s.failed_ns = rec_clock_ns();
    return -1;
}

void rec_sink_close(void)
{
    if (s.fd >= 0)
        close(s.fd);
    if (s.dir_fd >= 0)
        close(s.dir_fd);
    s.fd = -1;
    s.dir_fd = -1;
}
