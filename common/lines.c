/* lines.c - the bounded line reader.
 *
 * read_block() moves the unread bytes to the front of the buffer and reads a
 * block behind them; it is also the place of all limits but those of a line. A
 * line is returned in place. */
#include "common/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/logsource.h"
#include "common/quote.h"

#define KB UINT64_C(1024)
#define MB (1024 * KB)

const struct lines_limit lines_limits[LINES_KINDS] = {
    [LINES_RANKS] = {"ranks.jsonl", 256 * MB, 256 * 1024, 1000000, 60000,
                     LINES_SKIP,
                     "a rank is 200 bytes, a variable at most 1 KB"},
    [LINES_STARTS] = {"starts.jsonl", 64 * MB, 256 * 1024, 65536, 60000,
                      LINES_SKIP, "a line for each task of a node, 1 KB"},
    [LINES_TASKS] = {"tasks.jsonl", 16 * MB, 4096, 65536, 60000, LINES_SKIP,
                     "a line for each task of a node, 130 bytes at most"},
    [LINES_WORKERS] = {"ends.jsonl", 16 * MB, 4096, 65536, 60000, LINES_SKIP,
                       "a line for each process of a node, 200 bytes at most"},
    [LINES_ENDS] = {"slurmstepd's lines", 16 * MB, 192, 65536, 5000, LINES_SKIP,
                    "six numbers for each task of a node"},
    [LINES_DEBUG] = {"NCCL's log", 512 * MB, 64 * 1024, 0, 0, LINES_CUT,
                     "20 KB for each rank; more is a log of every operation"},
    [LINES_XLA] = {"probe_windows_node*.jsonl", 16 * MB, 8191, 200000, 60000,
                   LINES_SKIP, "a window with its neighbours is 2 KB"},
    [LINES_TABLE] = {"csv/*.csv", 0, LINES_TABLE_LINE, 0, 0, LINES_REFUSE,
                     "a row has 64 columns; a table is as long as its report"},
    [LINES_KERNEL] = {"/proc", 4 * MB, 16 * 1024, 100000, 5000, LINES_SKIP,
                      "two paths of 4,095 bytes, each byte escaped"},
    [LINES_SOCKETS] = {"/proc/net/tcp", 128 * MB, 1024, 0, 5000, LINES_SKIP,
                       "150 bytes for each socket of the machine"},
    [LINES_LOG] = {"an Inspector's log", 0, LINES_LOG_LINE, 0, 0, LINES_SKIP,
                   "a line is 1 KB; a file is as long as its step"},
};

enum { BLOCK = 64 * 1024, WHY = 96 };

struct jp_lines {
    const struct lines_limit *limit;
    const char *name;
    struct jp_logsource *source;
    uint64_t deadline_ms; /* UINT64_MAX: none */
    uint64_t number, bytes;
    bool cut;      /* the line read last had no line break */
    bool eof;      /* the source has no more bytes */
    bool over;     /* no more lines are returned */
    bool skipping; /* the buffer begins inside a line that is too long */
    bool has_nul;  /* a NUL byte was read */
    struct lines_left left;
    char why[WHY];
    size_t begin, end, size;
    char buffer[]; /* size bytes, and one for a NUL */
};

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000 + (uint64_t) t.tv_nsec / 1000000;
}

/* Takes the source over. NULL: there is none, and err is set. */
static struct jp_lines *start(struct jp_logsource *source, const char *name,
                              const struct lines_limit *limit,
                              struct jp_error *err)
{
    size_t size = (size_t) limit->line + 2 + BLOCK;
    struct jp_lines *l;

    if (!source)
        return NULL;
    l = malloc(sizeof(*l) + size + 1);
    if (!l) {
        logsource_close(source);
        error_set(err, "%s: out of memory", name);
        return NULL;
    }
    memset(l, 0, sizeof(*l));
    l->limit = limit;
    l->name = name;
    l->source = source;
    l->size = size;
    l->deadline_ms = limit->time_ms ? now_ms() + limit->time_ms : UINT64_MAX;
    return l;
}

struct jp_lines *lines_open(const char *path, const struct lines_limit *limit,
                            struct jp_error *err)
{
    int fd = fileio_open_regular(path, false, err);

    return fd < 0 ? NULL : lines_open_fd(fd, path, limit, err);
}

struct jp_lines *lines_open_fd(int fd, const char *name,
                               const struct lines_limit *limit,
                               struct jp_error *err)
{
    return start(logsource_open_fd(fd, name, err), name, limit, err);
}

struct jp_lines *lines_open_memory(const void *bytes, size_t len,
                                   const char *name,
                                   const struct lines_limit *limit,
                                   struct jp_error *err)
{
    return start(logsource_open_memory(bytes, len, err), name, limit, err);
}

struct jp_lines *lines_open_tail(const char *path,
                                 const struct lines_limit *limit,
                                 struct jp_error *err)
{
    uint64_t most = limit->bytes, from;
    struct stat st;
    struct jp_lines *l;

    if (lstat(path, &st) < 0) {
        error_set(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    if (st.st_size < 0 || (uint64_t) st.st_size <= most)
        return lines_open(path, limit, err);
    from = (uint64_t) st.st_size - most;
    l = start(logsource_open_at(path, from, err), path, limit, err);
    if (l)
        l->skipping = true;
    return l;
}

void lines_close(struct jp_lines *lines)
{
    if (!lines)
        return;
    logsource_close(lines->source);
    free(lines);
}

void lines_end_at(struct jp_lines *lines, uint64_t deadline_ms)
{
    if (deadline_ms < lines->deadline_ms)
        lines->deadline_ms = deadline_ms;
}

/* Notes why something of line `number` is left out, if it is the first. */
static void note_first(struct jp_lines *l, uint64_t number, const char *text,
                       size_t len, const char *why)
{
    char shown[JP_QUOTE_SHOWN + 2];

    if (l->left.why)
        return;
    snprintf(l->why, sizeof(l->why), "%s", why);
    l->left.why = l->why;
    l->left.line = number;
    if (!text) {
        error_set(&l->left.first, "%s:%" PRIu64 ": %s", l->name, number, why);
        return;
    }
    /* One byte more than is shown, so that "..." follows. */
    if (len > sizeof(shown) - 1)
        len = sizeof(shown) - 1;
    memcpy(shown, text, len);
    shown[len] = '\0';
    error_set(&l->left.first, "%s:%" PRIu64 ": %s (\"%s\")", l->name, number,
              why, QUOTE(shown));
}

/* Ends the reading before the end of the file. */
static void stop_early(struct jp_lines *l, const char *format, uint64_t n)
    __attribute__((format(printf, 2, 0)));
static void stop_early(struct jp_lines *l, const char *format, uint64_t n)
{
    char why[WHY];

    snprintf(why, sizeof(why), format, n);
    note_first(l, l->number + 1, NULL, 0, why);
    l->left.early = true;
    l->eof = true;
}

/* Waits until a pipe has bytes. Returns false if the time ran out. */
static bool wait_for_bytes(const struct jp_lines *l)
{
    struct pollfd fd = {.fd = logsource_stream(l->source), .events = POLLIN};

    for (;;) {
        uint64_t now = now_ms();
        uint64_t left = l->deadline_ms > now ? l->deadline_ms - now : 0;
        int rc;

        if (l->deadline_ms != UINT64_MAX && !left)
            return false;
        if (fd.fd < 0)
            return true;
        rc = poll(&fd, 1, left > 60000 ? 60000 : (int) left);
        /* A read tells what is wrong with the descriptor. */
        if (rc > 0 || (rc < 0 && errno != EINTR))
            return true;
    }
}

/* Reads a block behind the unread bytes. Sets eof at the end of the file and
 * where a limit ends the reading. Returns 0, or -1 with err. */
static int read_block(struct jp_lines *l, struct jp_error *err)
{
    uint64_t most = l->limit->bytes;
    size_t cap;
    ssize_t n;

    if (l->begin) {
        memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->begin = 0;
    }
    cap = l->size - l->end < BLOCK ? l->size - l->end : BLOCK;
    /* One byte more than allowed shows that there are more. */
    if (most && cap > most - l->bytes + 1)
        cap = (size_t) (most - l->bytes + 1);
    if (!wait_for_bytes(l)) {
        stop_early(l, "it takes too long", 0);
        return 0;
    }
    n = logsource_read(l->source, l->buffer + l->end, cap, err);
    if (n < 0) {
        l->over = true;
        return error_wrap(err, "%s:%" PRIu64, l->name, l->number + 1);
    }
    if (n == 0) {
        l->eof = true;
        if (logsource_damage(l->source)) {
            note_first(l, l->number + 1, NULL, 0, logsource_damage(l->source));
            l->left.early = true;
        }
        return 0;
    }
    /* for the whole block, because lines are short */
    if (!l->has_nul)
        l->has_nul = memchr(l->buffer + l->end, '\0', (size_t) n) != NULL;
    l->end += (size_t) n;
    l->bytes += (uint64_t) n;
    if (most && l->bytes > most) {
        l->bytes--;
        l->end--;
        stop_early(l, "more than %" PRIu64 " bytes", most);
    }
    return 0;
}

/* Finds the end of the next line in the buffer, reading as much as it takes.
 * Only the beginning of a line that is too long stays. Returns 1 and *n, the
 * bytes of the line; 0 at the end; -1. */
static int find_end(struct jp_lines *l, size_t *n, size_t *next,
                    struct jp_error *err)
{
    size_t looked = 0; /* bytes without a line break */

    for (;;) {
        char *from = l->buffer + l->begin;
        size_t have = l->end - l->begin;
        char *newline =
            have > looked ? memchr(from + looked, '\n', have - looked) : NULL;

        if (newline) {
            *n = (size_t) (newline - from);
            *next = l->begin + *n + 1;
            l->cut = false;
            return 1;
        }
        if (l->eof && !have)
            return 0;
        if (l->eof) {
            *n = have;
            *next = l->end;
            l->cut = true;
            return 1;
        }
        /* A line that is too long: its beginning stays for the message, and
         * the rest of the buffer is used again. */
        looked = have;
        if (have > (size_t) l->limit->line + 1) {
            l->end = l->begin + l->limit->line + 2;
            looked = l->end - l->begin;
        }
        if (read_block(l, err) < 0)
            return -1;
    }
}

/* Drops the line in which a tail begins. */
static int skip_first(struct jp_lines *l, struct jp_error *err)
{
    size_t n, next;
    int rc = find_end(l, &n, &next, err);

    l->skipping = false;
    if (rc > 0)
        l->begin = next;
    return rc < 0 ? -1 : 0;
}

/* Whether the line is returned. Sets *n to what is returned of it. */
static bool keep_line(struct jp_lines *l, const char *text, size_t *n)
{
    const char *nul;
    char why[WHY];

    if (*n && text[*n - 1] == '\r' && !l->cut)
        --*n;
    if (*n > l->limit->line) {
        l->left.too_long++;
        snprintf(why, sizeof(why), "a line of over %u bytes", l->limit->line);
        note_first(l, l->number, text, *n, why);
        if (l->limit->odd != LINES_CUT)
            return false;
        *n = l->limit->line;
    }
    nul = l->has_nul ? memchr(text, '\0', *n) : NULL;
    if (nul) {
        l->left.with_nul++;
        note_first(l, l->number, text, (size_t) (nul - text), "a NUL byte");
        if (l->limit->odd != LINES_CUT)
            return false;
        *n = (size_t) (nul - text);
    }
    return true;
}

/* Ends the reading; with LINES_REFUSE, what was left out is an error. */
static int finish(struct jp_lines *l, struct jp_error *err)
{
    l->over = true;
    if (l->limit->odd == LINES_REFUSE && l->left.why)
        return error_set(err, "%s", l->left.first.text);
    return 0;
}

/* Takes a line that is in the buffer and within all limits, as most are.
 * Returns false for any other. */
static bool take_plain(struct jp_lines *l, char **text, size_t *len)
{
    char *from = l->buffer + l->begin, *newline;
    size_t n;

    if (l->begin == l->end || l->skipping || l->has_nul || l->over ||
        (l->limit->lines && l->number == l->limit->lines))
        return false;
    newline = memchr(from, '\n', l->end - l->begin);
    if (!newline || newline - from > l->limit->line)
        return false;
    n = (size_t) (newline - from);
    l->begin += n + 1;
    l->number++;
    l->cut = false;
    n -= n && from[n - 1] == '\r';
    from[n] = '\0';
    *text = from;
    *len = n;
    return true;
}

int lines_next(struct jp_lines *lines, char **text, size_t *len,
               struct jp_error *err)
{
    size_t n, next;
    int rc;

    if (take_plain(lines, text, len))
        return 1;
    if (lines->over || (lines->skipping && skip_first(lines, err) < 0))
        return lines->over ? 0 : -1;
    for (;;) {
        rc = find_end(lines, &n, &next, err);
        /* What a limit has cut off is no line. */
        if (rc > 0 && lines->cut && lines->left.early)
            rc = 0;
        if (rc > 0 && lines->limit->lines &&
            lines->number == lines->limit->lines) {
            stop_early(lines, "more than %" PRIu64 " lines",
                       lines->limit->lines);
            rc = 0;
        }
        if (rc <= 0)
            return rc < 0 ? -1 : finish(lines, err);
        lines->number++;
        *text = lines->buffer + lines->begin;
        lines->begin = next;
        if (keep_line(lines, *text, &n)) {
            (*text)[n] = '\0';
            *len = n;
            return 1;
        }
        if (lines->limit->odd == LINES_REFUSE)
            return finish(lines, err);
    }
}

uint64_t lines_number(const struct jp_lines *lines)
{
    return lines->number;
}

uint64_t lines_bytes(const struct jp_lines *lines)
{
    return lines->bytes;
}

bool lines_is_cut(const struct jp_lines *lines)
{
    return lines->cut;
}

const struct lines_left *lines_left(const struct jp_lines *lines)
{
    return &lines->left;
}
