/* partial_frame.c - write head, blocks and end of a partial. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "orchestrator/aggregate/partial_parts.h"

const uint8_t partial_magic[PARTIAL_MAGIC_BYTES] = {0x89, 'J',  'P',  'P',
                                                    '\r', '\n', 0x1a, '\n'};

uint32_t partial_check(const uint8_t frame[PARTIAL_FRAME_BYTES],
                       const uint8_t *payload, size_t n)
{
    uLong crc = crc32(0, frame, 8);

    return (uint32_t) (n ? crc32(crc, payload, (uInt) n) : crc);
}

static bool grow(struct jpr_out *out)
{
    size_t size = out->size ? 2 * out->size : 64 << 10;
    uint8_t *bytes = size <= PARTIAL_MAX_BLOCK ? realloc(out->bytes, size)
                                               : NULL;

    if (!bytes)
        return false;
    out->bytes = bytes;
    out->size = size;
    return true;
}

int partial_put_block(struct partial_out *w, enum partial_block type,
                      partial_put *put, const void *arg)
{
    uint8_t frame[PARTIAL_FRAME_BYTES];

    do {
        if ((w->out.full || !w->out.bytes) && !grow(&w->out))
            return error_set(w->err, "a block is too large");
        w->out.used = 0;
        w->out.full = false;
        put(&w->out, arg);
    } while (w->out.full);
    jpr_put_le32(frame, type);
    jpr_put_le32(frame + 4, (uint32_t) w->out.used);
    jpr_put_le32(frame + 8, partial_check(frame, w->out.bytes, w->out.used));
    w->blocks++;
    if (fwrite(frame, sizeof(frame), 1, w->stream) != 1 ||
        fwrite(w->out.bytes, 1, w->out.used, w->stream) != w->out.used)
        return error_set(w->err, "%s", strerror(errno));
    return 0;
}

static void put_end(struct jpr_out *out, const void *arg)
{
    jpr_put_u64(out, *(const uint64_t *) arg);
}

/* Members side by side that are of one communicator. */
static int sort_members(struct partial_out *w)
{
    const struct join *join = w->join;
    uint32_t n = join->n_comms;

    w->members = calloc(join->n_members + 1, sizeof(struct join_member *));
    w->first = calloc((size_t) n + 2, sizeof(*w->first));
    w->place = calloc(join->n_members + 1, sizeof(*w->place));
    if (!w->members || !w->first || !w->place)
        return error_set(w->err, "out of memory");
    for (uint32_t i = 0; i < join->n_members; i++)
        w->first[join->members[i]->comm + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        w->first[i] += w->first[i - 1];
    for (uint32_t i = 0; i < join->n_members; i++) {
        w->place[i] = w->first[join->members[i]->comm + 1]++;
        w->members[w->place[i]] = join->members[i];
    }
    return 0;
}

static int put_all(struct partial_out *w, const struct jp_logwalk *walk,
                   size_t skip, const struct join_file *files)
{
    const struct join *join = w->join;

    if (partial_put_files(w, walk, skip, files) < 0)
        return -1;
    for (size_t i = 0; i < walk->n_logs; i++)
        if (files[i].recorder && partial_put_hang(w, files[i].evidence) < 0)
            return -1;
    if (partial_put_tables(w) < 0 || partial_put_pairs(w) < 0 ||
        partial_put_bits(w) < 0)
        return -1;
    for (uint32_t i = 0; i < join->n_comms; i++)
        for (uint32_t k = 0; k < join->comms[i]->n_series; k++)
            if (partial_put_series(w, i, join->comms[i]->series[k]) < 0)
                return -1;
    if (partial_put_strays(w) < 0)
        return -1;
    return partial_put_block(w, PARTIAL_END, put_end, &w->blocks);
}

int partial_write(FILE *stream, struct join *join,
                  const struct jp_logwalk *walk, size_t skip,
                  const struct join_file *files, struct jp_error *err)
{
    struct partial_out w = {.stream = stream, .join = join, .err = err};
    uint8_t head[PARTIAL_HEAD_BYTES];
    int rc;

    memcpy(head, partial_magic, PARTIAL_MAGIC_BYTES);
    jpr_put_le32(head + PARTIAL_MAGIC_BYTES, PARTIAL_VERSION);
    rc = sort_members(&w);
    if (rc == 0 && fwrite(head, sizeof(head), 1, stream) != 1)
        rc = error_set(err, "%s", strerror(errno));
    if (rc == 0)
        rc = put_all(&w, walk, skip, files);
    free(w.members);
    free(w.first);
    free(w.place);
    free(w.out.bytes);
    return rc;
}
