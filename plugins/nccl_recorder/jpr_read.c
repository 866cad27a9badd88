/* jpr_read.c - reads a recorder file, record by record: bytes of the file
 * become blocks, and jpr_unpack.c makes records of a block.
 *
 * read_at() hides where the bytes come from: a file, memory, a stream through a
 * window, or a file that grows. next_block() reads a frame and its payload, and
 * skip_damage() searches for the next frame when there is none. look_ahead()
 * reads the blocks of times behind the block of an operation that needs them.
 */
#include "plugins/nccl_recorder/jpr_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/vector.h"
#include "plugins/nccl_recorder/jpr_frame.h"

struct jpr_window;

enum { BLOCK_BYTES = 64 * 1024 };

/* A window over a stream, which can only move forward. */
struct jpr_window {
    jpr_fill *fill;
    void *arg;
    size_t max;
    uint64_t offset;   /* offset in the stream of buf[start] */
    size_t start, end; /* the bytes that are kept */
    bool eof;
    char *buf;
    size_t size; /* of buf, max + BLOCK_BYTES or more */
};

/* Makes a window of up to max bytes. NULL without memory. arg is borrowed. */
static struct jpr_window *window_create(jpr_fill *fill, void *arg, size_t max)
{
    struct jpr_window *window = malloc(sizeof(*window));

    if (!window)
        return NULL;
    *window = (struct jpr_window){.fill = fill,
                                  .arg = arg,
                                  .max = max,
                                  .buf = malloc(max + BLOCK_BYTES),
                                  .size = max + BLOCK_BYTES};
    if (window->buf)
        return window;
    free(window);
    return NULL;
}

/* NULL is fine. */
static void window_destroy(struct jpr_window *window)
{
    if (window)
        free(window->buf);
    free(window);
}

/* Reads another block behind the bytes that are kept. Returns 0, or -1 with
 * errno. */
static int read_block(struct jpr_window *w)
{
    ssize_t n;

    if (w->size - w->end < BLOCK_BYTES) {
        memmove(w->buf, w->buf + w->start, w->end - w->start);
        w->end -= w->start;
        w->start = 0;
    }
    if (VECTOR_ROOM(w->buf, w->end + BLOCK_BYTES, w->size) < 0) {
        errno = ENOMEM;
        return -1;
    }
    n = w->fill(w->arg, w->buf + w->end, BLOCK_BYTES);
    if (n < 0)
        return -1;
    w->eof = n == 0;
    w->end += (size_t) n;
    return 0;
}

/* Drops what is before offset, which may not be read yet. Returns 0, or -1 with
 * errno. */
static int advance(struct jpr_window *w, uint64_t offset)
{
    while (w->offset < offset) {
        size_t kept = w->end - w->start;
        size_t n = offset - w->offset < kept ? (size_t) (offset - w->offset)
                                             : kept;

        w->start += n;
        w->offset += n;
        if (w->offset == offset || w->eof)
            break;
        if (read_block(w) < 0)
            return -1;
    }
    return 0;
}

/* Reads up to n bytes at an offset that is not before the last one, n <= max.
 * Returns how many there are, or -1 with errno. */
static ssize_t window_read(struct jpr_window *w, uint64_t offset, void *out,
                           size_t n)
{
    /* a stream cannot go back; callers never try that */
    if (offset < w->offset || n > w->max) {
        errno = EINVAL;
        return -1;
    }
    if (advance(w, offset) < 0)
        return -1;
    while (w->end - w->start < n && !w->eof)
        if (read_block(w) < 0)
            return -1;
    if (w->offset < offset)
        return 0;
    if (n > w->end - w->start)
        n = w->end - w->start;
    memcpy(out, w->buf + w->start, n);
    return (ssize_t) n;
}

/* The same for bytes behind the last ones, which stay to be read. */
static ssize_t window_look(struct jpr_window *w, uint64_t offset, void *out,
                           size_t n)
{
    size_t skip = (size_t) (offset - w->offset), kept;

    while (w->end - w->start < skip + n && !w->eof)
        if (read_block(w) < 0)
            return -1;
    kept = w->end - w->start;
    if (kept <= skip)
        return 0;
    if (n > kept - skip)
        n = kept - skip;
    memcpy(out, w->buf + w->start + skip, n);
    return (ssize_t) n;
}

/* --- reads a recorder file, record by record --- */

enum { MAX_DAMAGED = 16, SEARCH_BYTES = 64 * 1024, AHEAD_BYTES = 16 * 1024 };

/* Numbers of operations that wait for their times lie within JPR_MAX_LATER, and
 * so do those of a block. */
enum { LATER_PLACES = 2 * JPR_MAX_LATER };

/* Times that were read ahead of their operations. */
struct later {
    uint64_t offset;   /* of the next block to look at */
    uint64_t settled;  /* below this number nothing comes any more */
    uint64_t stuck_at; /* for this block there was nothing more to read */
    uint8_t disk[JPR_MAX_TIMES_BYTES], raw[JPR_MAX_TIMES_BYTES];
    struct jpr_times places[LATER_PLACES]; /* by number */
};

struct jpr_reader {
    char *name;
    int fd;                    /* -1: `stream` or `bytes` */
    struct jpr_window *stream; /* NULL: a file or `bytes` */
    const uint8_t *bytes;
    size_t n_bytes;
    uint64_t offset; /* where the next block begins */
    uint64_t block;  /* where the block of the current records begins */
    struct jpr_end end;
    bool over; /* no further block is read */
    struct jpr_scratch *scratch;
    bool is_shared; /* scratch is borrowed */
    struct jpr_unpacked *block_records;
    enum jpr_pass pass;
    bool follow; /* the file is still being written */
    /* For a file that grows: how much of it is in scratch->ahead, and where it
     * was read. A read mostly has many small blocks. */
    uint64_t ahead_at;
    size_t n_ahead;
    struct later *later; /* NULL: no operation has needed it, or no memory */
};

/* Reads up to n bytes of the file, all that are there. */
static ssize_t read_file(const struct jpr_reader *r, uint64_t offset, void *out,
                         size_t n)
{
    size_t done = 0;

    while (done < n) {
        ssize_t k = pread(r->fd, (char *) out + done, n - done,
                          (off_t) (offset + done));

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return -1;
        if (k == 0)
            break;
        done += (size_t) k;
    }
    return (ssize_t) done;
}

/* The same for a file that grows: from what was read last, if it is there. */
static ssize_t read_ahead(struct jpr_reader *r, uint64_t offset, void *out,
                          size_t n)
{
    uint64_t skip = offset - r->ahead_at;
    ssize_t got;

    if (n > AHEAD_BYTES)
        return read_file(r, offset, out, n);
    if (offset < r->ahead_at || skip > r->n_ahead || n > r->n_ahead - skip) {
        r->n_ahead = 0;
        /* one call is enough: a second one would only find the end */
        got = pread(r->fd, r->scratch->ahead, AHEAD_BYTES, (off_t) offset);
        if (got < 0)
            return errno == EINTR ? read_file(r, offset, out, n) : -1;
        r->ahead_at = offset;
        r->n_ahead = (size_t) got;
        skip = 0;
    }
    if (n > r->n_ahead - skip)
        n = r->n_ahead - (size_t) skip;
    if (n)
        memcpy(out, r->scratch->ahead + skip, n);
    return (ssize_t) n;
}

/* Reads up to n bytes at an offset. Returns how many there are, or -1 with
 * errno. */
static ssize_t read_at(struct jpr_reader *r, uint64_t offset, void *out,
                       size_t n)
{
    if (r->stream)
        return window_read(r->stream, offset, out, n);
    if (r->fd < 0) {
        if (offset >= r->n_bytes)
            return 0;
        if (n > r->n_bytes - offset)
            n = (size_t) (r->n_bytes - offset);
        memcpy(out, r->bytes + offset, n);
        return (ssize_t) n;
    }
    return r->follow && r->scratch->ahead ? read_ahead(r, offset, out, n)
                                          : read_file(r, offset, out, n);
}

/* The same for bytes behind the block, which stay to be read. */
static ssize_t look_at(struct jpr_reader *r, uint64_t offset, void *out,
                       size_t n)
{
    return r->stream   ? window_look(r->stream, offset, out, n)
           : r->fd < 0 ? read_at(r, offset, out, n)
                       : read_file(r, offset, out, n);
}

/* Counts a damaged block. Returns -1 with err. */
static int damage(struct jpr_reader *r, uint64_t offset, const char *what,
                  struct jp_error *err)
{
    r->end.damaged++;
    if (r->end.damaged > MAX_DAMAGED) /* not worth more searching */
        r->over = true;
    return error_set(err, "%s: offset %llu: %s", r->name,
                     (unsigned long long) offset, what);
}

/* Ends the reading, or this look at a file that grows. Returns 0. */
static int finish(struct jpr_reader *r, bool cut)
{
    r->over = !r->follow;
    r->n_ahead = 0; /* the next look must read the end again */
    /* a process that follows many files keeps no times between two looks: what
     * comes is behind its operation */
    if (r->follow) {
        free(r->later);
        r->later = NULL;
    }
    r->end.cut = cut;
    r->end.offset = r->offset;
    return 0;
}

/* Reads the file's first bytes. Returns 0 or -1. */
static int read_head(struct jpr_reader *r, struct jp_error *err)
{
    uint8_t head[JPR_HEAD_BYTES];
    uint8_t want[JPR_HEAD_BYTES];
    ssize_t n = read_at(r, 0, head, sizeof(head));

    if (n < 0)
        return error_set(err, "%s: %s", r->name, strerror(errno));
    jpr_head_write(want);
    /* a file that is cut here still counts as a recorder's */
    if (memcmp(head, want, n < 8 ? (size_t) n : 8) != 0)
        return error_set(err, "%s: not a recorder file", r->name);
    if (n < JPR_HEAD_BYTES) { /* the process was killed at once */
        finish(r, n > 0);
        return 0;
    }
    if (jpr_head_read(head) < JPR_OLDEST_VERSION ||
        jpr_head_read(head) > JPR_VERSION ||
        (jpr_head_read(head) & (jpr_head_read(head) - 1)))
        return error_set(err, "%s: version %u; this release reads 1, 2, 4, 8",
                         r->name, (unsigned) jpr_head_read(head));
    r->offset = JPR_HEAD_BYTES;
    return 0;
}

/* Makes a reader without a source. NULL and err without memory. */
static struct jpr_reader *create(const char *name, struct jp_error *err)
{
    struct jpr_reader *r = calloc(1, sizeof(*r));

    if (r) {
        r->fd = -1;
        r->name = strdup(name);
        r->scratch = jpr_scratch_create();
        r->block_records = jpr_unpacked_create();
    }
    if (r && r->name && r->scratch && r->block_records)
        return r;
    error_set(err, "%s: no memory", name);
    jpr_close(r);
    return NULL;
}

/* Reads the first bytes; on failure the reader is gone. */
static struct jpr_reader *begin(struct jpr_reader *r, struct jp_error *err)
{
    if (read_head(r, err) == 0)
        return r;
    jpr_close(r);
    return NULL;
}

struct jpr_reader *jpr_open(const char *path, struct jp_error *err)
{
    /* opening a FIFO or device must not block; it is refused below */
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int fd = open(path, flags);
    struct jpr_reader *r;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        error_set(err, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (!S_ISREG(st.st_mode)) {
        error_set(err, "%s: not a file", path);
        close(fd);
        return NULL;
    }
    r = create(path, err);
    if (!r) {
        close(fd);
        return NULL;
    }
    r->fd = fd;
    return begin(r, err);
}

struct jpr_reader *jpr_open_bytes(const void *bytes, size_t n, const char *name,
                                  struct jp_error *err)
{
    struct jpr_reader *r = create(name, err);

    if (!r)
        return NULL;
    r->bytes = bytes;
    r->n_bytes = n;
    return begin(r, err);
}

struct jpr_reader *jpr_open_stream(jpr_fill *fill, void *arg, const char *name,
                                   struct jp_error *err)
{
    struct jpr_reader *r = create(name, err);

    if (!r)
        return NULL;
    r->stream = window_create(fill, arg, JPR_MAX_RAW_BYTES);
    if (r->stream)
        return begin(r, err);
    error_set(err, "%s: no memory", name);
    jpr_close(r);
    return NULL;
}

/* Searches for the next frame from `from` on. Returns its offset, or
 * UINT64_MAX. Sets *zeros when there are only zeros up to the end of the file.
 */
static uint64_t find_frame(struct jpr_reader *r, uint64_t from, bool *zeros)
{
    uint8_t *buf = r->scratch->disk; /* no payload is in it now */
    struct jpr_frame frame;
    ssize_t n;

    *zeros = true;
    while ((n = read_at(r, from, buf, SEARCH_BYTES)) > 0) {
        ssize_t i;

        for (i = 0; i < n; i++) {
            *zeros = *zeros && buf[i] == 0;
            if (i + JPR_FRAME_BYTES <= n && buf[i] == 'J' &&
                jpr_frame_read(buf + i, &frame))
                return from + (uint64_t) i;
        }
        if (n < SEARCH_BYTES)
            break;
        /* a frame may begin in the last bytes of this piece */
        from += (uint64_t) (n - JPR_FRAME_BYTES + 1);
    }
    return UINT64_MAX;
}

/* There is no frame at r->offset: continues at the next one. Returns -1 with
 * err, or 0 if only zeros follow. */
static int skip_damage(struct jpr_reader *r, struct jp_error *err)
{
    uint64_t at = r->offset;
    bool zeros;
    uint64_t next = find_frame(r, at, &zeros);

    if (next == UINT64_MAX) {
        finish(r, true);
        /* a node that crashed leaves zeros where the data never arrived */
        return zeros ? 0 : damage(r, at, "damaged block", err);
    }
    r->offset = next;
    return damage(r, at, "damaged block", err);
}

/* Checks and unpacks the payload in the scratch. Returns 1, or -1 with err. */
static int unpack_payload(struct jpr_reader *r, const struct jpr_frame *frame,
                          struct jp_error *err)
{
    const char *why;

    if (jpr_crc32(0, r->scratch->disk, frame->disk_bytes) != frame->crc)
        return damage(r, r->block, "checksum differs", err);
    r->end.raw += frame->raw_bytes;
    why = jpr_unpacked_load(r->block_records, frame, r->scratch);
    if (why)
        return damage(r, r->block, why, err);
    return 1;
}

/* Returns whether the block of this frame is not wanted and is complete. */
static bool can_pass(struct jpr_reader *r, const struct jpr_frame *frame)
{
    uint64_t last = r->offset + JPR_FRAME_BYTES + frame->disk_bytes - 1;
    uint8_t byte;

    return ((frame->type == JPR_BLOCK_OPS && r->pass != JPR_PASS_NONE) ||
            (frame->type == JPR_BLOCK_INFLIGHT && r->pass == JPR_PASS_OPS)) &&
           read_at(r, last, &byte, 1) == 1;
}

/* Loads the next block. Returns 1; 0 at the end; -1 with err. */
static int next_block(struct jpr_reader *r, struct jp_error *err)
{
    uint8_t bytes[JPR_FRAME_BYTES];
    struct jpr_frame frame;
    ssize_t n = read_at(r, r->offset, bytes, sizeof(bytes));

    if (n == 0)
        return finish(r, false);
    if (n == (ssize_t) sizeof(bytes)) {
        if (!jpr_frame_read(bytes, &frame))
            return skip_damage(r, err);
        if (can_pass(r, &frame)) {
            r->offset += sizeof(bytes) + frame.disk_bytes;
            return 1; /* 1, without records */
        }
        n = read_at(r, r->offset + sizeof(bytes), r->scratch->disk,
                    frame.disk_bytes);
        if (n == (ssize_t) frame.disk_bytes) {
            r->block = r->offset;
            r->offset += sizeof(bytes) + frame.disk_bytes;
            return unpack_payload(r, &frame, err);
        }
    }
    if (n >= 0) /* the frame or its payload is not complete */
        return finish(r, true);
    r->over = true;
    return error_set(err, "%s: %s", r->name, strerror(errno));
}

/* --- times that come later ----------------------------------------------- */

/* Takes the rows of a block of times; a damaged one ends it. */
static void take_times(struct later *l, struct jpr_in *in)
{
    uint64_t settled = jpr_get_u64(in);
    uint64_t n = jpr_get_u64(in);
    struct jpr_times row = {0};

    for (; n > 0 && !in->bad; n--) {
        row = jpr_get_times(in, &row);
        if (!in->bad)
            l->places[row.number % LATER_PLACES] = row;
    }
    if (!in->bad && settled > l->settled)
        l->settled = settled;
}

/* Reads a block of times, if it is one. Returns whether it was complete. */
static bool read_times(struct jpr_reader *r, const struct jpr_frame *frame)
{
    struct later *l = r->later;
    uint64_t at = l->offset + JPR_FRAME_BYTES;
    const uint8_t *payload = l->disk;
    uint8_t byte;

    if (frame->disk_bytes > 0 &&
        look_at(r, at + frame->disk_bytes - 1, &byte, 1) != 1)
        return false;
    if (frame->type != JPR_BLOCK_TIMES ||
        frame->raw_bytes > JPR_MAX_TIMES_BYTES)
        return true;
    if (look_at(r, at, l->disk, frame->disk_bytes) !=
        (ssize_t) frame->disk_bytes)
        return false;
    if (jpr_crc32(0, l->disk, frame->disk_bytes) != frame->crc)
        return true;
    if (frame->codec == JPR_ZLIB) {
        if (jpr_unzip(l->disk, frame->disk_bytes, l->raw, frame->raw_bytes) < 0)
            return true;
        payload = l->raw;
    }
    take_times(l, &(struct jpr_in){payload, payload + frame->raw_bytes, false});
    return true;
}

/* Reads blocks of times until the number is settled, at most so far that a
 * stream can do the same. Stops where a frame is damaged, until that has been
 * passed. */
static void look_ahead(struct jpr_reader *r, uint64_t number)
{
    struct later *l = r->later;
    uint8_t bytes[JPR_FRAME_BYTES];
    struct jpr_frame frame;

    if (l->offset < r->offset)
        l->offset = r->offset;
    while (l->settled <= number &&
           l->offset - r->offset < JPR_MAX_LATER_BYTES &&
           look_at(r, l->offset, bytes, sizeof(bytes)) ==
               (ssize_t) sizeof(bytes) &&
           jpr_frame_read(bytes, &frame) && read_times(r, &frame))
        l->offset += sizeof(bytes) + frame.disk_bytes;
    if (l->settled <= number)
        l->stuck_at = r->block;
}

/* Gives the last record, an operation, the times that came later. Where they
 * are not in the file (yet), it has none. */
static void find_times(struct jpr_reader *r, uint64_t number)
{
    const struct jpr_times *times;

    if (!r->later)
        r->later = calloc(1, sizeof(*r->later));
    if (!r->later)
        return;
    if (r->later->settled <= number && r->later->stuck_at != r->block)
        look_ahead(r, number);
    times = &r->later->places[number % LATER_PLACES];
    if (times->number == number)
        jpr_unpacked_time(r->block_records, times);
}

/* ------------------------------------------------------------- the records */

/* Another reader may have used the buffers since. */
static void take_scratch(struct jpr_reader *r)
{
    if (r->scratch->user == r)
        return;
    r->scratch->user = r;
    r->n_ahead = 0;
    jpr_unpacked_drop(r->block_records);
}

int jpr_next(struct jpr_reader *r, struct jpr_record *record,
             struct jp_error *err)
{
    const char *why = NULL;
    int rc;

    take_scratch(r);
    for (;;) {
        rc = jpr_unpacked_next(r->block_records, record, &why);
        if (rc > 0) {
            r->end.n_ops += record->type == JPR_OP;
            if (record->type == JPR_OP && record->op->later)
                find_times(r, record->op->later);
            /* a trailer counts only if nothing follows it */
            r->end.complete = record->type == JPR_COUNTERS &&
                              record->counters->final;
            return 1;
        }
        if (rc < 0)
            return damage(r, r->block, why, err);
        /* the block is read out */
        if (r->over)
            break;
        rc = next_block(r, err);
        if (rc <= 0)
            return rc;
    }
    r->end.offset = r->offset;
    return 0;
}

void jpr_pass(struct jpr_reader *reader, enum jpr_pass pass)
{
    reader->pass = pass;
}

void jpr_follow(struct jpr_reader *reader, struct jpr_scratch *shared)
{
    reader->follow = true;
    if (shared && !reader->is_shared) {
        jpr_unpacked_drop(reader->block_records);
        jpr_scratch_destroy(reader->scratch);
        reader->scratch = shared;
        reader->is_shared = true;
    }
    /* without this memory there are more reads */
    if (reader->fd >= 0 && !reader->scratch->ahead)
        reader->scratch->ahead = malloc(AHEAD_BYTES);
}

bool jpr_is_between(const struct jpr_reader *reader)
{
    return jpr_unpacked_is_empty(reader->block_records);
}

uint64_t jpr_taken(const struct jpr_reader *reader)
{
    return reader->offset;
}

int jpr_stop(struct jpr_reader *r, const char *why, struct jp_error *err)
{
    jpr_unpacked_drop(r->block_records);
    r->follow = false;
    finish(r, true);
    return damage(r, r->block, why, err);
}

const struct jpr_end *jpr_end(const struct jpr_reader *reader)
{
    return &reader->end;
}

const struct jpr_comm *jpr_comm(const struct jpr_reader *reader, uint32_t index)
{
    return jpr_unpacked_comm(reader->block_records, index);
}

void jpr_close(struct jpr_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    window_destroy(reader->stream);
    jpr_unpacked_destroy(reader->block_records);
    if (reader->scratch && reader->scratch->user == reader)
        reader->scratch->user = NULL; /* its address may be used again */
    if (!reader->is_shared)
        jpr_scratch_destroy(reader->scratch);
    free(reader->later);
    free(reader->name);
    free(reader);
}
