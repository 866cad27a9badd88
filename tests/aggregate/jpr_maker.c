/* jpr_maker.c - a recorder's file from the codec's writing side. */
#include "tests/aggregate/jpr_maker.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/launched.h"
#include "plugins/nccl_recorder/jpr_frame.h"

/* One for all makers; it is kept as long as the process runs. */
static struct jpr_zip *shared_zip(void)
{
    static struct jpr_zip *zip;

    if (!zip)
        zip = jpr_zip_create();
    return zip;
}

struct jpr_maker *jpr_maker_create(FILE *out)
{
    struct jpr_maker *maker = calloc(1, sizeof(*maker));
    uint8_t head[JPR_HEAD_BYTES];

    if (!maker || !(maker->packer = jpr_packer_create()))
        abort();
    maker->out = out;
    maker->zip = shared_zip();
    jpr_head_write(head);
    fwrite(head, 1, sizeof(head), out);
    return maker;
}

void jpr_maker_store(struct jpr_maker *maker)
{
    maker->zip = NULL;
}

static void put_block(struct jpr_maker *maker, enum jpr_block type,
                      const uint8_t *raw, size_t n)
{
    size_t len = jpr_frame_write(type, raw, n, maker->zip, maker->block,
                                 sizeof(maker->block));

    if (!len || fwrite(maker->block, 1, len, maker->out) != len)
        abort();
}

void jpr_maker_header(struct jpr_maker *maker, const char *host, uint64_t pid,
                      int64_t task, const char *note)
{
    char text[24];
    const struct jpr_process process = {
        .n_variables = 1, .variables = {{LAUNCHED_TASK_PID, text}}};

    /* the process is the task itself, not a child of it */
    snprintf(text, sizeof(text), "%" PRIu64, pid);
    jpr_maker_header_of(maker, host, pid, task, note,
                        task >= 0 ? &process : NULL);
}

void jpr_maker_header_of(struct jpr_maker *maker, const char *host,
                         uint64_t pid, int64_t task, const char *note,
                         const struct jpr_process *process)
{
    struct jpr_header h = {
        .clocks = {JPR_MAKER_MONO_NS, JPR_MAKER_REAL_NS, JPR_MAKER_MONO_NS},
        .recorder = "jobprof 0.1.0",
        .hostname = host,
        .boot_id = "",
        .pid = pid,
        .job = "1",
        .step = "0",
        .procid = task,
        .nodeid = -1,
        .localid = -1,
        .interface = 6,
        .nccl_release = 23007,
        .n_notes = note != NULL,
        .notes = {note}};
    uint8_t raw[4096];
    struct jpr_out out = {.bytes = raw, .size = sizeof(raw)};

    jpr_put_header(&out, &h);
    put_block(maker, JPR_BLOCK_HEADER, raw, out.used);
    out.used = 0;
    if (!process)
        return;
    jpr_put_process(&out, process);
    put_block(maker, JPR_BLOCK_PROCESS, raw, out.used);
}

void jpr_maker_comm(struct jpr_maker *maker, const struct jpr_comm *comm)
{
    uint8_t raw[4096];
    struct jpr_out out = {.bytes = raw, .size = sizeof(raw)};

    jpr_maker_flush(maker);
    jpr_put_u64(&out, 1);
    jpr_put_comm(&out, comm);
    put_block(maker, JPR_BLOCK_COMM, raw, out.used);
}

void jpr_maker_flush(struct jpr_maker *maker)
{
    const uint8_t *raw;
    size_t n;

    if (!maker->open)
        return;
    raw = jpr_packer_end(maker->packer, 0, &n);
    put_block(maker, JPR_BLOCK_OPS, raw, n);
    maker->open = false;
}

static struct jpr_comm_counts *row_of(struct jpr_maker *maker, uint32_t comm,
                                      const char *func)
{
    struct jpr_comm_counts *row = maker->rows;

    while (row < maker->rows + maker->counters.n_rows &&
           (row->comm != comm || row->func != func))
        row++;
    if (row == maker->rows + 64)
        abort();
    if (row == maker->rows + maker->counters.n_rows) {
        maker->counters.n_rows++;
        *row = (struct jpr_comm_counts){.comm = comm, .func = func};
    }
    return row;
}

void jpr_maker_op(struct jpr_maker *maker, const struct jpr_op *op)
{
    struct jpr_comm_counts *row;

    if (maker->open && !jpr_packer_add(maker->packer, op))
        jpr_maker_flush(maker);
    else if (maker->open)
        goto out;
    jpr_packer_begin(maker->packer, false, op->enqueue_start_mono_ns);
    maker->open = true;
    if (!jpr_packer_add(maker->packer, op))
        abort();
out:
    maker->counters.kinds[op->kind].written++;
    maker->counters.kinds[op->kind].produced++;
    row = row_of(maker, op->comm, op->func);
    row->counts.written++;
    row->counts.produced++;
}

void jpr_maker_snapshot(struct jpr_maker *maker, uint64_t at_mono_ns,
                        const struct jpr_op *ops, size_t n)
{
    const uint8_t *raw;
    size_t len;

    jpr_maker_flush(maker);
    jpr_packer_begin(maker->packer, true, at_mono_ns);
    for (size_t i = 0; i < n; i++)
        if (!jpr_packer_add(maker->packer, &ops[i]))
            abort();
    raw = jpr_packer_end(maker->packer, 0, &len);
    put_block(maker, JPR_BLOCK_INFLIGHT, raw, len);
    maker->counters.in_flight = n;
}

void jpr_maker_unseen(struct jpr_maker *maker, uint32_t comm, const char *func,
                      uint64_t calls)
{
    if (maker->counters.n_unseen == 8)
        abort();
    maker->unseen[maker->counters.n_unseen++] =
        (struct jpr_unseen){comm, func, calls};
}

void jpr_maker_pause(struct jpr_maker *maker, const struct jpr_pause *pause)
{
    if (maker->counters.n_pauses == JPR_MAX_PAUSES)
        abort();
    maker->pauses[maker->counters.n_pauses++] = *pause;
    maker->counters.cost.told = true; /* pauses come after it */
}

void jpr_maker_counters(struct jpr_maker *maker, uint64_t at_mono_ns,
                        bool final, uint64_t lost, uint64_t left_out)
{
    struct jpr_counters c = maker->counters;
    uint8_t raw[4096];
    struct jpr_out out = {.bytes = raw, .size = sizeof(raw)};

    jpr_maker_flush(maker);
    c.clocks.mono_ns = at_mono_ns;
    c.clocks.real_ns = JPR_MAKER_REAL_NS + (at_mono_ns - JPR_MAKER_MONO_NS);
    c.final = final;
    c.kinds[JPR_COLL].lost = lost;
    c.kinds[JPR_COLL].left_out = left_out;
    c.kinds[JPR_COLL].produced += lost + left_out + c.in_flight;
    c.rows = maker->rows;
    c.unseen = maker->unseen;
    c.pauses = maker->pauses;
    maker->counters.n_unseen = 0;
    maker->rows[0].counts.lost += lost;
    maker->rows[0].counts.left_out += left_out;
    maker->rows[0].counts.produced += lost + left_out;
    jpr_put_counters(&out, &c);
    put_block(maker, JPR_BLOCK_COUNTERS, raw, out.used);
}

void jpr_maker_destroy(struct jpr_maker *maker)
{
    jpr_maker_flush(maker);
    jpr_packer_destroy(maker->packer);
    free(maker);
}

void jpr_maker_times(struct jpr_op *op, uint64_t start_mono_ns,
                     uint64_t exec_us)
{
    op->enqueue_start_mono_ns = start_mono_ns;
    op->enqueue_stop_mono_ns = start_mono_ns + 2000;
    op->exec_ns = exec_us * 1000;
    if (op->kind == JPR_CE) {
        op->source = JPR_COLLECTIVE_CPU;
        return;
    }
    op->kernel_first_mono_ns = start_mono_ns + 10000;
    op->kernel_last_mono_ns = op->kernel_first_mono_ns + exec_us * 1000 + 500;
    op->gpu_first_ns = start_mono_ns + UINT64_C(7000000000000);
    op->gpu_last_ns = op->gpu_first_ns + exec_us * 1000;
}
