/* fuzz_jpr.c - any bytes as a recorder file, and as blocks whose checks are
 * right.
 *
 * The first byte chooses: 'f' the rest is a file; any other byte is the type of
 * a block (its low half) and the rest its payload, framed here, for no mutation
 * finds a CRC. A block of times comes behind operations that wait for theirs.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/jpr_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t texts_of(const struct jpr_op *op)
{
    return strlen(op->func) + strlen(op->datatype) + strlen(op->algo) +
           strlen(op->proto) + strlen(op->api_func) + strlen(op->api_datatype);
}

static void look_at(const struct jpr_reader *r, const struct jpr_record *record)
{
    static volatile size_t sum;
    uint64_t i;

    (void) sum; /* only read, all of them */
    switch (record->type) {
    case JPR_HEADER:
        sum += strlen(record->header->hostname) + strlen(record->header->job);
        for (i = 0; i < record->header->n_variables; i++)
            sum += strlen(record->header->variables[i].value);
        for (i = 0; i < record->header->n_notes; i++)
            sum += strlen(record->header->notes[i]);
        break;
    case JPR_PROCESS:
        for (i = 0; i < record->process->n_variables; i++)
            sum += strlen(record->process->variables[i].value);
        for (i = 0; i < record->process->n_pids; i++)
            sum += record->process->pids[i] != 0;
        break;
    case JPR_ROOM:
        sum += record->room->limits + record->room->error;
        break;
    case JPR_COMM:
        sum += strlen(record->comm->name) + strlen(record->comm->gpu_uuid);
        assert(jpr_comm(r, record->comm->index) == record->comm);
        break;
    case JPR_OP:
        sum += texts_of(record->op);
        assert(record->op->kind < JPR_N_OP_KINDS);
        assert(record->op->source <= JPR_COLLECTIVE_CPU);
        break;
    case JPR_INFLIGHT:
        sum += texts_of(&record->inflight->op);
        break;
    case JPR_COUNTERS:
        for (i = 0; i < record->counters->n_rows; i++)
            sum += strlen(record->counters->rows[i].func);
        for (i = 0; i < record->counters->n_unseen; i++)
            sum += strlen(record->counters->unseen[i].func);
        break;
    }
}

/* What reading gave; equal for a file and for the same bytes as a stream. */
struct outcome {
    uint64_t records, errors, sum;
    struct jpr_end end;
};

/* Takes the reader over; NULL: it is none. */
static struct outcome read_all(struct jpr_reader *r, size_t n)
{
    struct outcome o = {0};
    struct jp_error err = {""};
    struct jpr_record record;
    int rc;

    if (!r)
        return o;
    while ((rc = jpr_next(r, &record, &err)) != 0) {
        o.records += rc > 0;
        o.errors += rc < 0;
        for (const char *p = err.text; rc < 0 && *p; p++)
            o.sum = o.sum * 31 + (unsigned char) *p;
        if (rc > 0 && record.type == JPR_OP)
            o.sum = o.sum * 31 + record.op->exec_ns;
        if (rc > 0)
            look_at(r, &record);
        else
            assert(strncmp(err.text, "fuzz: ", 6) == 0);
    }
    o.end = *jpr_end(r);
    assert(o.end.offset <= n);
    assert(jpr_next(r, &record, &err) == 0);
    jpr_close(r);
    return o;
}

struct stream {
    const uint8_t *at;
    size_t n, step;
};

static ssize_t fill(void *arg, void *buf, size_t cap)
{
    struct stream *s = arg;
    size_t n = s->n < s->step ? s->n : s->step;

    if (n > cap)
        n = cap;
    memcpy(buf, s->at, n);
    s->at += n;
    s->n -= n;
    return (ssize_t) n;
}

static void read_both(const uint8_t *bytes, size_t n)
{
    struct stream s = {bytes, n, n % 97 + 1};
    struct outcome a = read_all(jpr_open_bytes(bytes, n, "fuzz", NULL), n);
    struct outcome b = read_all(jpr_open_stream(fill, &s, "fuzz", NULL), n);

    assert(a.records == b.records && a.errors == b.errors && a.sum == b.sum);
    assert(a.end.complete == b.end.complete && a.end.cut == b.end.cut);
    assert(a.end.offset == b.end.offset && a.end.damaged == b.end.damaged);
}

/* Puts a block of operations whose times come later. Returns its bytes. */
static size_t put_ops(uint8_t *out, size_t size)
{
    struct jpr_packer *packer = jpr_packer_create();
    struct jpr_op op = {.func = "AllReduce",
                        .datatype = "",
                        .algo = "",
                        .proto = "",
                        .api_func = "",
                        .api_datatype = ""};
    const uint8_t *raw;
    size_t n;

    if (!packer)
        abort();
    for (op.later = 1; op.later <= 3; op.later++)
        (void) jpr_packer_add(packer, &op);
    raw = jpr_packer_end(packer, 0, &n);
    n = jpr_frame_write(JPR_BLOCK_OPS, raw, n, NULL, out, size);
    jpr_packer_destroy(packer);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { OPS_BYTES = 1024 };
    size_t room = size + JPR_HEAD_BYTES + OPS_BYTES + JPR_FRAME_BYTES;
    enum jpr_block type;
    uint8_t *file;
    size_t n;

    if (size == 0)
        return 0;
    if (data[0] == 'f') {
        read_both(data + 1, size - 1);
        return 0;
    }
    file = malloc(room);
    if (!file)
        abort();
    jpr_head_write(file);
    n = JPR_HEAD_BYTES;
    type = (enum jpr_block)(data[0] & 15);
    if (type == JPR_BLOCK_TIMES)
        n += put_ops(file + n, OPS_BYTES);
    n += jpr_frame_write(type, data + 1, size - 1, NULL, file + n, room - n);
    read_both(file, n);
    free(file);
    return 0;
}
