/* fuzz_jpr.c - any bytes as a recorder file, and as blocks whose checks are
 * right.
 *
 * The first byte chooses: 'f' the rest is a file; any other byte is the type of
 * a block (its low half) and the rest its payload, framed here, for no mutation
 * finds a CRC.
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

    switch (record->type) {
    case JPR_HEADER:
        sum += strlen(record->header->hostname) + strlen(record->header->job);
        for (i = 0; i < record->header->n_variables; i++)
            sum += strlen(record->header->variables[i].value);
        for (i = 0; i < record->header->n_notes; i++)
            sum += strlen(record->header->notes[i]);
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

static void read_all(const uint8_t *bytes, size_t n)
{
    struct jp_error err = {""};
    struct jpr_reader *r = jpr_open_bytes(bytes, n, "fuzz", &err);
    struct jpr_record record;
    int rc;

    if (!r)
        return;
    while ((rc = jpr_next(r, &record, &err)) != 0) {
        if (rc > 0)
            look_at(r, &record);
        else
            assert(strncmp(err.text, "fuzz: ", 6) == 0);
    }
    assert(jpr_end(r)->offset <= n);
    assert(jpr_next(r, &record, &err) == 0);
    jpr_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t room = size + JPR_HEAD_BYTES + JPR_FRAME_BYTES;
    uint8_t *file;
    size_t n;

    if (size == 0)
        return 0;
    if (data[0] == 'f') {
        read_all(data + 1, size - 1);
        return 0;
    }
    file = malloc(room);
    if (!file)
        abort();
    jpr_head_write(file);
    n = jpr_frame_write((enum jpr_block)(data[0] & 15), data + 1, size - 1,
                        NULL, file + JPR_HEAD_BYTES, room - JPR_HEAD_BYTES);
    read_all(file, JPR_HEAD_BYTES + n);
    free(file);
    return 0;
}
