/* logsource.c - plain and gzip bytes of a log, bounded. */
#include "orchestrator/ingest/logsource.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "common/fileio.h"

enum { IN_BYTES = 64 * 1024 };

struct jp_logsource {
    int fd; /* -1: memory */
    const unsigned char *memory;
    uint64_t size;     /* seen at open */
    uint64_t taken;    /* of size */
    uint64_t produced; /* decompressed bytes */
    const char *damage;
    z_stream z;
    bool gzip, ended, member_ended;
    unsigned char in[IN_BYTES]; /* also the first two bytes of a plain file */
    size_t in_start, in_end;
};

/* Raw bytes, never more than size in all. */
static ssize_t take(struct jp_logsource *s, void *buf, size_t cap)
{
    uint64_t left = s->size - s->taken;
    ssize_t n;

    if (cap > left)
        cap = (size_t) left;
    if (!cap)
        return 0;
    if (s->fd < 0) {
        memcpy(buf, s->memory + s->taken, cap);
        n = (ssize_t) cap;
    } else {
        do
            n = read(s->fd, buf, cap);
        while (n < 0 && errno == EINTR);
    }
    if (n > 0)
        s->taken += (uint64_t) n;
    return n;
}

static int refill(struct jp_logsource *s)
{
    ssize_t n = take(s, s->in, sizeof(s->in));

    s->in_start = 0;
    s->in_end = n > 0 ? (size_t) n : 0;
    return n < 0 ? -1 : 0;
}

/* Looks at the first bytes and prepares zlib if they are gzip's. */
static int begin(struct jp_logsource *s, struct jp_error *err)
{
    if (refill(s) < 0)
        return error_set(err, "%s", strerror(errno));
    s->gzip = s->in_end >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b;
    if (s->gzip && inflateInit2(&s->z, 15 + 16) != Z_OK)
        return error_set(err, "out of memory");
    return 0;
}

struct jp_logsource *logsource_open(const char *path, struct jp_error *err)
{
    struct jp_logsource *s = calloc(1, sizeof(*s));
    struct stat st;

    if (!s) {
        error_set(err, "%s: out of memory", path);
        return NULL;
    }
    s->fd = fileio_open_regular(path, false, err);
    if (s->fd < 0)
        goto fail;
    if (fstat(s->fd, &st) < 0) {
        error_set(err, "%s: %s", path, strerror(errno));
        goto fail;
    }
    s->size = st.st_size > 0 ? (uint64_t) st.st_size : 0;
    (void) posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (begin(s, err) < 0) {
        error_wrap(err, "%s", path);
        goto fail;
    }
    return s;
fail:
    logsource_close(s);
    return NULL;
}

struct jp_logsource *logsource_open_memory(const void *data, size_t len,
                                           struct jp_error *err)
{
    struct jp_logsource *s = calloc(1, sizeof(*s));

    if (!s) {
        error_set(err, "out of memory");
        return NULL;
    }
    s->fd = -1;
    s->memory = data;
    s->size = len;
    if (begin(s, err) == 0)
        return s;
    logsource_close(s);
    return NULL;
}

static ssize_t read_plain(struct jp_logsource *s, char *buf, size_t cap)
{
    size_t n = s->in_end - s->in_start;

    if (!n)
        return take(s, buf, cap);
    if (n > cap)
        n = cap;
    memcpy(buf, s->in + s->in_start, n);
    s->in_start += n;
    return (ssize_t) n;
}

/* Behind a member: another one, padding or rubbish? Returns 1 to go on. */
static int next_member(struct jp_logsource *s)
{
    while (s->in_start < s->in_end && s->in[s->in_start] == 0)
        s->in_start++;
    if (s->in_start == s->in_end)
        return 1; /* more to refill, or the end */
    if (s->in[s->in_start] != 0x1f || inflateReset(&s->z) != Z_OK) {
        s->damage = "rubbish behind the compressed data";
        return 0;
    }
    s->member_ended = false;
    return 1;
}

/* One step of zlib into buf. Returns bytes made, 0 with s->ended at the end. */
static ssize_t inflate_some(struct jp_logsource *s, char *buf, size_t cap)
{
    size_t made;
    int rc;

    s->z.next_in = s->in + s->in_start;
    s->z.avail_in = (uInt) (s->in_end - s->in_start);
    s->z.next_out = (unsigned char *) buf;
    s->z.avail_out = (uInt) cap;
    rc = inflate(&s->z, Z_NO_FLUSH);
    s->in_start = s->in_end - s->z.avail_in;
    made = cap - s->z.avail_out;
    s->produced += made;
    if (rc == Z_STREAM_END)
        s->member_ended = true;
    else if (rc != Z_OK && rc != Z_BUF_ERROR)
        s->damage = "compressed data is corrupt";
    else if (s->produced > s->taken * LOGSOURCE_MAX_RATIO + (16u << 20))
        s->damage = "expands more than 300 to 1";
    s->ended = s->damage != NULL;
    return (ssize_t) made;
}

static ssize_t read_gzip(struct jp_logsource *s, char *buf, size_t cap)
{
    ssize_t n = 0;

    if (cap > 1u << 30)
        cap = 1u << 30;
    while (!s->ended && n == 0) {
        if (s->in_start == s->in_end) {
            if (refill(s) < 0)
                return -1;
            if (s->in_start == s->in_end) {
                s->ended = true;
                if (!s->member_ended)
                    s->damage = "compressed data is cut";
                break;
            }
        }
        if (s->member_ended && !next_member(s))
            s->ended = true;
        else if (!s->member_ended)
            n = inflate_some(s, buf, cap);
    }
    return n;
}

ssize_t logsource_read(struct jp_logsource *source, char *buf, size_t cap,
                       struct jp_error *err)
{
    ssize_t n;

    if (source->ended || !cap)
        return 0;
    n = source->gzip ? read_gzip(source, buf, cap)
                     : read_plain(source, buf, cap);
    if (n < 0) {
        error_set(err, "%s", strerror(errno));
        source->ended = true;
    }
    return n;
}

const char *logsource_damage(const struct jp_logsource *source)
{
    return source->damage;
}

uint64_t logsource_consumed(const struct jp_logsource *source)
{
    return source->taken - (source->in_end - source->in_start);
}

void logsource_close(struct jp_logsource *source)
{
    if (!source)
        return;
    if (source->gzip)
        inflateEnd(&source->z);
    if (source->fd >= 0)
        close(source->fd);
    free(source);
}
