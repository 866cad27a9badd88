/* cuda_read.c - read the file of a process's CUDA counters.
 *
 * cuda_parse checks the head, then takes records until the first bad one. Of
 * many records only every step-th is kept, and the last one. */
#include "plugins/cuda/cuda_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/quote.h"

/* Times beyond a century are refused, so that sums cannot overflow. */
#define NS_MAX (100ull * 366 * 86400 * 1000000000)
enum { RECORD_MAX = 65536 }; /* limit of the sizes in the head */

/* Checks the head of a file. A newer writer may have a longer head and more
 * counters, but the checksum is always at the end. */
static int read_head(const unsigned char *data, size_t len,
                     struct cuda_file_head *head, struct jp_error *err)
{
    uint64_t check;

    if (len < sizeof(*head))
        return error_set(err, "%zu bytes: the header is incomplete", len);
    memcpy(head, data, sizeof(*head));
    /* the magic includes the format's version */
    if (memcmp(head->magic, CUDA_FILE_MAGIC, sizeof(head->magic)) != 0)
        return error_set(err, "not a file of CUDA counters");
    if (head->head_bytes < sizeof(*head) || head->head_bytes > RECORD_MAX ||
        head->head_bytes > len)
        return error_set(err, "a header of %u bytes", head->head_bytes);
    memcpy(&check, data + head->head_bytes - sizeof(check), sizeof(check));
    if (cuda_file_check(data, head->head_bytes - sizeof(check)) != check)
        return error_set(err, "the header's checksum is wrong");
    if (head->n_counters < CUDA_COUNTERS_N || head->record_bytes > RECORD_MAX ||
        head->record_bytes !=
            (CUDA_RECORD_WORDS + (uint64_t) head->n_counters) *
                sizeof(uint64_t))
        return error_set(err, "records of %u bytes with %u counters",
                         head->record_bytes, head->n_counters);
    return 0;
}

/* Whether a pair of clocks was read before its record was written. Not by GPU:
 * the times of two GPUs have nothing in common. */
static bool is_pair(const struct cuda_moment *m)
{
    const struct cuda_pair *p = &m->pair;

    return CUDA_PAIR_DEVICE(p->gpu) && p->at_ns <= m->since_ns &&
           p->width_ns <= NS_MAX && p->gpu_ns <= INT64_MAX;
}

/* Whether a record may come after `old`: sums only grow. */
static bool follows(const struct cuda_moment *m, const struct cuda_moment *old)
{
    /* live memory may fall, everything else only grows */
    if (m->since_ns > NS_MAX || m->since_ns < old->since_ns ||
        m->peak_bytes < old->peak_bytes || m->live_bytes > m->peak_bytes)
        return false;
    for (size_t i = 0; i < CUDA_COUNTERS_N; i++)
        if (m->sum[i] < old->sum[i])
            return false;
    return true;
}

/* Reads a record. A newer writer has more sums before the checksum; they are
 * ignored. */
static bool take_record(const unsigned char *at, uint32_t bytes,
                        const struct cuda_moment *old, struct cuda_moment *m)
{
    uint64_t check;

    memcpy(&check, at + bytes - sizeof(check), sizeof(check));
    if (cuda_file_check(at, bytes - sizeof(check)) != check)
        return false;
    memcpy(m, at, sizeof(*m));
    /* no pair, or the one of the record before */
    if (!is_pair(m) ||
        (m->pair.gpu == old->pair.gpu && m->pair.at_ns == old->pair.at_ns))
        m->pair = (struct cuda_pair){0};
    return follows(m, old);
}

_Static_assert(sizeof(struct cuda_moment) + sizeof(uint64_t) ==
                   sizeof(struct cuda_file_record),
               "a moment is a record without its checksum");

int cuda_parse(const void *data, size_t len, size_t max,
               struct cuda_process *out, struct jp_error *err)
{
    const unsigned char *bytes = data;
    struct cuda_moment last = {0};
    struct cuda_file_head head;
    struct cuda_process p = {0};
    size_t there, step;

    if (read_head(bytes, len, &head, err) < 0)
        return -1;
    there = (len - head.head_bytes) / head.record_bytes;
    /* round up, and leave one place for the last record */
    step = (there + max - 2) / (max - 1);
    /* two more: a record is read into the next free place before it is known
     * whether it stays */
    p.moments = calloc(there / (step ? step : 1) + 2, sizeof(*p.moments));
    if (!p.moments)
        return error_set(err, "out of memory");
    p.bad_records = (len - head.head_bytes) % head.record_bytes != 0;
    for (size_t i = 0; i < there; i++) {
        if (!take_record(bytes + head.head_bytes + i * head.record_bytes,
                         head.record_bytes, &last, &p.moments[p.n_moments])) {
            /* records after a bad one cannot be trusted */
            p.bad_records += there - i;
            break;
        }
        last = p.moments[p.n_moments];
        /* one that does not stay is overwritten by the next */
        p.n_moments += (i + 1) % step == 0;
    }
    /* the last record is the total, so it always stays */
    if (last.since_ns &&
        (!p.n_moments || p.moments[p.n_moments - 1].since_ns != last.since_ns))
        p.moments[p.n_moments++] = last;
    /* texts of the file may lack their NUL */
    head.host[sizeof(head.host) - 1] = '\0';
    head.note[sizeof(head.note) - 1] = '\0';
    clean_text(head.host, JP_CLEAN_ASCII, p.host, sizeof(p.host));
    clean_text(head.note, JP_CLEAN_ASCII, p.note, sizeof(p.note));
    p.pid = head.pid;
    p.cupti = head.cupti;
    p.rank = head.rank < 0 ? -1 : head.rank;
    p.start_us = head.start_us < NS_MAX / 1000 ? head.start_us : 0;
    p.mono_ns = head.mono_ns < NS_MAX ? head.mono_ns : 0;
    *out = p;
    return 0;
}

/* Reads up to `room` bytes. Returns their number, or -1 with errno. */
static ssize_t read_all(int fd, unsigned char *buf, size_t room)
{
    size_t n = 0;

    while (n < room) {
        ssize_t got = read(fd, buf + n, room - n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t) got;
    }
    return (ssize_t) n;
}

int cuda_read(const char *path, size_t max, struct cuda_process *out,
              struct jp_error *err)
{
    /* O_NONBLOCK: opening a FIFO must not wait for a writer */
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    unsigned char *buf = NULL;
    struct stat st;
    ssize_t n = -1;
    int rc = -1;

    if (fd < 0 || fstat(fd, &st) < 0) {
        error_set(err, "%s: %m", QUOTE(path));
        goto out;
    }
    /* a limit, because the whole file is read into memory */
    if (!S_ISREG(st.st_mode) || st.st_size > CUDA_FILE_MAX) {
        error_set(err, "%s: not a file of CUDA counters", QUOTE(path));
        goto out;
    }
    buf = malloc((size_t) st.st_size + 1);
    if (buf)
        n = read_all(fd, buf, (size_t) st.st_size);
    if (n < 0) {
        error_set(err, "%s: %m", QUOTE(path));
        goto out;
    }
    rc = cuda_parse(buf, (size_t) n, max, out, err);
    if (rc < 0 && err) {
        struct jp_error inner = *err;

        error_set(err, "%s: %s", QUOTE(path), inner.text);
    }
out:
    free(buf);
    if (fd >= 0)
        close(fd);
    return rc;
}

void cuda_process_fini(struct cuda_process *process)
{
    free(process->moments);
    process->moments = NULL;
    process->n_moments = 0;
}
