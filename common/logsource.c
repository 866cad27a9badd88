/* logsource.c - plain and gzip bytes of a log, bounded.
 *
 * read_raw() gets raw bytes from the file or from memory. read_plain passes
 * them on; read_gzip decompresses them with the fastest engine, and starts
 * again with zlib if that engine finds damage, so that the result does not
 * depend on the engine.
 */
#include "common/logsource.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/inflate.h"

enum { IN_BYTES = 64 * 1024 };

struct jp_logsource {
    int fd; /* -1: memory */
    const unsigned char *memory;
    uint64_t size;     /* seen at open */
    uint64_t from;     /* where reading began */
    uint64_t taken;    /* of size */
    uint64_t solid;    /* no larger hole begins before this; a file's */
    uint64_t holes;    /* bytes of the smaller holes before solid */
    uint64_t produced; /* decompressed bytes */
    uint64_t known;    /* of these, given out before zlib took over */
    const char *damage;
    const struct inflate_engine *engine; /* of a compressed file */
    struct inflate *z;
    bool gzip, stream, ended, member_ended;
    bool begun; /* a mark of byte order is looked for no more */
    size_t in_start, in_end;
    unsigned char in[]; /* IN_BYTES; also the first bytes of a plain file */
};

/* All zeros but for in. NULL without memory. */
static struct jp_logsource *make_source(void)
{
    struct jp_logsource *s = malloc(sizeof(*s) + IN_BYTES);

    if (s)
        memset(s, 0, sizeof(*s));
    return s;
}

/* The offset where data (SEEK_DATA) or a hole (SEEK_HOLE) begins next; the size
 * if there is none. */
static uint64_t next_of(const struct jp_logsource *s, uint64_t from, int what)
{
    off_t at = lseek(s->fd, (off_t) from, what);

    return at >= 0 && (uint64_t) at < s->size ? (uint64_t) at : s->size;
}

/* Lets the file end at its next large hole, or at the one that makes the holes
 * too many. */
static void end_at_hole(struct jp_logsource *s)
{
    uint64_t hole = next_of(s, s->taken, SEEK_HOLE), data;

    if (hole == s->taken) {
        data = next_of(s, hole, SEEK_DATA);
        s->holes += data - hole;
        if (data - hole <= LOGSOURCE_HOLE && s->holes <= LOGSOURCE_HOLES)
            hole = next_of(s, data, SEEK_HOLE);
    }
    if (hole == s->taken && hole < s->size) {
        s->size = hole;
        s->damage = "it has a hole";
    }
    s->solid = hole;
    if (lseek(s->fd, (off_t) s->taken, SEEK_SET) < 0)
        s->size = s->taken;
}

/* Reads raw bytes, never more than the size at open. Returns the number, 0 at
 * the end, -1 with errno. */
static ssize_t read_raw(struct jp_logsource *s, void *buf, size_t cap)
{
    uint64_t left;
    ssize_t n;

    if (s->fd >= 0 && !s->stream && s->taken >= s->solid && s->taken < s->size)
        end_at_hole(s);
    left = s->stream ? cap : s->size - s->taken;
    /* Read no further than the part that is known to have no large hole. */
    if (s->fd >= 0 && !s->stream && s->solid > s->taken && s->solid < s->size)
        left = s->solid - s->taken;
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

/* Fills the input buffer again. -1: errno. */
static int refill(struct jp_logsource *s)
{
    ssize_t n = read_raw(s, s->in, IN_BYTES);

    s->in_start = 0;
    s->in_end = n > 0 ? (size_t) n : 0;
    return n < 0 ? -1 : 0;
}

/* Makes the source use an engine from its current state on. */
static int use(struct jp_logsource *s, const struct inflate_engine *engine,
               struct jp_error *err)
{
    struct inflate *z = engine->create();

    if (!z)
        return error_set(err, "out of memory");
    if (s->z)
        s->engine->destroy(s->z);
    s->engine = engine;
    s->z = z;
    return 0;
}

int logsource_use_zlib(struct jp_logsource *source, struct jp_error *err)
{
    return source->gzip ? use(source, &inflate_zlib, err) : 0;
}

/* Looks at the first bytes and prepares to inflate if they are gzip's. */
static int begin(struct jp_logsource *s, struct jp_error *err)
{
    if (refill(s) < 0)
        return error_set(err, "%s", strerror(errno));
    s->gzip = s->in_end >= 2 && logsource_is_packed(s->in);
    return s->gzip ? use(s, inflate_best(), err) : 0;
}

/* Makes a source of a descriptor, which is taken over. NULL and err on
 * failure. */
static struct jp_logsource *open_fd(int fd, const char *path,
                                    struct jp_error *err)
{
    struct jp_logsource *s = make_source();
    struct stat st;

    if (!s) {
        close(fd);
        error_set(err, "%s: out of memory", path);
        return NULL;
    }
    s->fd = fd;
    if (fstat(fd, &st) < 0) {
        error_set(err, "%s: %s", path, strerror(errno));
        logsource_close(s);
        return NULL;
    }
    s->size = st.st_size > 0 ? (uint64_t) st.st_size : 0;
    s->stream = !S_ISREG(st.st_mode) || !s->size;
    s->solid = LOGSOURCE_HOLE; /* most files end before it */
    (void) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return s;
}

/* Opens path; NULL and err without it. A file that is empty now stays empty,
 * even if it grows. */
static struct jp_logsource *open_file(const char *path, struct jp_error *err)
{
    int fd = fileio_open_regular(path, false, err);
    struct jp_logsource *s = fd < 0 ? NULL : open_fd(fd, path, err);

    if (s)
        s->stream = false;
    return s;
}

struct jp_logsource *logsource_open(const char *path, struct jp_error *err)
{
    struct jp_logsource *s = open_file(path, err);

    if (!s || begin(s, err) == 0)
        return s;
    error_wrap(err, "%s", path);
    logsource_close(s);
    return NULL;
}

struct jp_logsource *logsource_open_fd(int fd, const char *path,
                                       struct jp_error *err)
{
    struct jp_logsource *s = open_fd(fd, path, err);

    if (!s || s->stream)
        return s;
    if (lseek(fd, 0, SEEK_SET) < 0)
        error_set(err, "%s", strerror(errno));
    else if (begin(s, err) == 0)
        return s;
    error_wrap(err, "%s", path);
    logsource_close(s);
    return NULL;
}

/* Opens a part of a plain file, for a reader that has found the offset
 * before. */
struct jp_logsource *logsource_open_at(const char *path, uint64_t offset,
                                       struct jp_error *err)
{
    struct jp_logsource *s = open_file(path, err);

    if (!s)
        return NULL;
    if (offset > s->size)
        offset = s->size; /* cut meanwhile: nothing to read */
    s->from = s->taken = offset;
    s->begun = true;
    if (lseek(s->fd, (off_t) offset, SEEK_SET) >= 0)
        return s;
    error_set(err, "%s: %s", path, strerror(errno));
    logsource_close(s);
    return NULL;
}

struct jp_logsource *logsource_open_memory(const void *data, size_t len,
                                           struct jp_error *err)
{
    struct jp_logsource *s = make_source();

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

/* Plain bytes: first those that were read to recognise gzip. */
static ssize_t read_plain(struct jp_logsource *s, char *buf, size_t cap)
{
    size_t n = s->in_end - s->in_start;

    if (!n)
        return read_raw(s, buf, cap);
    if (n > cap)
        n = cap;
    memcpy(buf, s->in + s->in_start, n);
    s->in_start += n;
    return (ssize_t) n;
}

/* After a member: another member, zeros as padding, or other bytes, which are
 * damage. Returns 1 to continue. */
static int next_member(struct jp_logsource *s)
{
    while (s->in_start < s->in_end && s->in[s->in_start] == 0)
        s->in_start++;
    if (s->in_start == s->in_end)
        return 1; /* more to refill, or the end */
    /* Another member begins with gzip's magic number. */
    if (s->in[s->in_start] != 0x1f || !s->engine->again(s->z)) {
        s->damage = "other bytes follow the compressed data";
        return 0;
    }
    s->member_ended = false;
    return 1;
}

/* Reads the file again with zlib, from its beginning, because a faster engine
 * may return a few bytes less or more of a damaged file. Bytes that were
 * returned already are skipped (known). */
static int start_over(struct jp_logsource *s)
{
    uint64_t known = s->produced;

    if (use(s, &inflate_zlib, NULL) < 0 ||
        (s->fd >= 0 && lseek(s->fd, 0, SEEK_SET) < 0))
        return -1;
    s->known = known;
    s->taken = s->produced = 0;
    s->in_start = s->in_end = 0;
    s->member_ended = false;
    return 0;
}

/* Removes bytes from buf that were returned before start_over. Returns how many
 * remain. */
static size_t drop_known(struct jp_logsource *s, char *buf, size_t made)
{
    uint64_t before = s->produced - made, drop;

    if (s->known <= before)
        return made;
    drop = s->known - before < made ? s->known - before : made;
    memmove(buf, buf + drop, made - drop);
    return made - drop;
}

/* Decompresses into buf. Returns the bytes made, -1 with errno. */
static ssize_t inflate_some(struct jp_logsource *s, char *buf, size_t cap)
{
    size_t taken = s->in_end - s->in_start, made = cap;
    bool at_end = taken == 0;
    enum inflate_step step =
        s->engine->step(s->z, s->in + s->in_start, &taken, buf, &made);

    /* Corrupt, or ended without a trailer. */
    if (s->engine != &inflate_zlib &&
        (step == INFLATE_CORRUPT ||
         (at_end && step == INFLATE_MORE && made == 0)))
        return start_over(s);
    s->in_start += taken;
    s->produced += made;
    if (step == INFLATE_END)
        s->member_ended = true;
    else if (step == INFLATE_CORRUPT)
        s->damage = "compressed data is corrupt";
    else if (s->produced > s->taken * LOGSOURCE_MAX_RATIO + (16u << 20))
        s->damage = "expands more than 300 to 1";
    else if (at_end && made == 0)
        s->damage = "compressed data is truncated";
    s->ended = s->damage != NULL;
    return (ssize_t) drop_known(s, buf, made);
}

/* Decompresses until there are bytes to return, or the end. */
static ssize_t read_gzip(struct jp_logsource *s, char *buf, size_t cap)
{
    ssize_t n = 0;

    /* zlib counts in 32 bits. */
    if (cap > 1u << 30)
        cap = 1u << 30;
    while (!s->ended && n == 0) {
        if (s->in_start == s->in_end && refill(s) < 0)
            return -1;
        if (!s->member_ended)
            n = inflate_some(s, buf, cap);
        else if (s->in_start == s->in_end || !next_member(s))
            s->ended = true;
    }
    return n;
}

static ssize_t read_some(struct jp_logsource *s, char *buf, size_t cap)
{
    return s->gzip ? read_gzip(s, buf, cap) : read_plain(s, buf, cap);
}

/* Reads the first bytes, without the mark of byte order of UTF-8 that editors
 * put before a text. */
static ssize_t read_first(struct jp_logsource *s, char *buf, size_t cap)
{
    static const char mark[] = "\xef\xbb\xbf";
    ssize_t n = read_some(s, buf, cap);

    s->begun = true;
    if (n < 3 || memcmp(buf, mark, 3) != 0)
        return n;
    if (n == 3)
        return read_some(s, buf, cap);
    memmove(buf, buf + 3, (size_t) n - 3);
    return n - 3;
}

ssize_t logsource_read(struct jp_logsource *source, char *buf, size_t cap,
                       struct jp_error *err)
{
    ssize_t n;

    if (source->ended || !cap)
        return 0;
    n = source->begun ? read_some(source, buf, cap)
                      : read_first(source, buf, cap);
    if (n < 0) {
        error_set(err, "%s", strerror(errno));
        source->ended = true;
    }
    return n;
}

/* Examines the whole file for holes, which costs a few system calls. The
 * position is restored afterwards. */
bool logsource_is_divisible(struct jp_logsource *source)
{
    uint64_t hole = 0, data, holes = 0;

    if (source->gzip || source->stream)
        return false;
    if (source->fd < 0)
        return true;
    do {
        data = next_of(source, hole, SEEK_DATA);
        holes += data - hole;
        if (data - hole > LOGSOURCE_HOLE || holes > LOGSOURCE_HOLES)
            break;
        hole = next_of(source, data, SEEK_HOLE);
    } while (hole < source->size);
    if (lseek(source->fd, (off_t) source->taken, SEEK_SET) < 0)
        source->ended = true;
    return hole >= source->size;
}

int logsource_stream(const struct jp_logsource *source)
{
    return source->stream ? source->fd : -1;
}

const char *logsource_damage(const struct jp_logsource *source)
{
    return source->damage;
}

uint64_t logsource_consumed(const struct jp_logsource *source)
{
    return source->taken - source->from - (source->in_end - source->in_start);
}

void logsource_close(struct jp_logsource *source)
{
    if (!source)
        return;
    if (source->z)
        source->engine->destroy(source->z);
    if (source->fd >= 0)
        close(source->fd);
    free(source);
}
