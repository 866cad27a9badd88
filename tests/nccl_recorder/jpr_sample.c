/* jpr_sample.c - a small recorder file in memory, with every member set, so
 * that each one that is not read back is noticed. */
#include "tests/nccl_recorder/jpr_sample.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_recorder/jpr_frame.h"

const struct jpr_header sample_header = {
    .clocks = {123456789012345, 1700000000123456789, 123456000000000},
    .recorder = "jobprof 9.9",
    .hostname = "n\xc3\xa9 1",
    .boot_id = "0d0c0b0a-1111-2222-3333-444455556666",
    .pid = 4711,
    .pid_namespace = 4026531836,
    .job = "1234",
    .step = "0",
    .procid = 7,
    .nodeid = 1,
    .localid = -1,
    .interface = 6,
    .nccl_release = 23007,
    .memory_bytes = 16 << 20,
    .disk_bytes = UINT64_MAX,
    .min_free_bytes = 1 << 30,
    .net = true,
    .kernels = true,
    .start = 10512345,
    .n_variables = 2,
    .variables = {{"NCCL_ALGO", "Ring"}, {"NCCL_IB_DISABLE", ""}},
    .n_notes = 1,
    .notes = {"JOBPROF_RECORDER_MEM=1x: not a number"},
};

const struct jpr_process sample_process = {
    .n_variables = 3,
    .variables = {{"RANK", "5"},
                  {"TORCHELASTIC_RUN_ID", "run 7"},
                  {"SLURM_TASK_PID", "4700"}},
    .n_pids = 2,
    .pids = {4711, 1},
};

const struct jpr_comm sample_comms[2] = {
    {0, true, 0x8a07aed05ae9a0ff, "dp", 3, 8, 2, "0000:4f:00.0",
     "GPU-00112233-4455-6677-8899-aabbccddeeff", 123456789000000},
    {1, false, UINT64_MAX, "", -1, 0, 0, "", "", 0},
};

#define SHARED                                                                 \
    .func = "AllReduce", .datatype = "ncclBfloat16", .algo = "RING",           \
    .proto = "LL128", .api_func = "", .api_datatype = "", .peer = -1

const struct jpr_op sample_ops[SAMPLE_OPS] = {
    {SHARED, .count = 512, .bytes = 1024, .n_channels = 2,
     .enqueue_start_mono_ns = 5000000, .enqueue_stop_mono_ns = 5000900,
     .kernel_first_mono_ns = 5010000, .kernel_last_mono_ns = 5090000,
     .gpu_first_ns = 999000000000, .gpu_last_ns = 999000081000,
     .exec_ns = 80999},
    {SHARED, .seq = 1, .count = 512, .bytes = 1024, .n_channels = 2,
     .enqueue_start_mono_ns = 5000100, .enqueue_stop_mono_ns = 5000950,
     .kernel_first_mono_ns = 5110000, .kernel_last_mono_ns = 5190000,
     .gpu_first_ns = 999000100000, .gpu_last_ns = 999000181000,
     .exec_ns = 81000, .has_net = true, .net_steps = 9, .net_bytes = 1 << 30,
     .wait_ns = {1, 2, 3, 4, 5, UINT64_MAX}},
    {.comm = 1,
     .kind = JPR_P2P,
     .seq = 77,
     .func = "Send",
     .datatype = "ncclInt8",
     .algo = "",
     .proto = "",
     .api_func = "Send",
     .api_datatype = "ncclFloat32",
     .api_count = 25,
     .count = 100,
     .bytes = 100,
     .root = -1,
     .peer = 12,
     .n_channels = 1,
     .graph_captured = true,
     .enqueue_start_mono_ns = 4000000,
     .enqueue_stop_mono_ns = 4000001,
     .kernel_first_mono_ns = 4000002,
     .kernel_last_mono_ns = 4000003,
     .exec_ns = 1,
     .source = JPR_KERNEL_CPU},
    {SHARED, .seq = 0, .count = UINT64_MAX, .bytes = UINT64_MAX, .root = 5,
     .n_channels = UINT32_MAX, .enqueue_start_mono_ns = UINT64_MAX,
     .enqueue_stop_mono_ns = 1, .exec_ns = UINT64_MAX,
     .source = JPR_COLLECTIVE_CPU},
    {SHARED, .seq = UINT64_MAX, .incomplete = true, .overtaken = true,
     .channels_started = 2, .channels_stopped = 1,
     .kernel_first_mono_ns = 6000000, .gpu_first_ns = 999000200000},
    {SHARED, .seq = JPR_REPLAY_SEQ + 4, .graph_captured = true, .unsure = true,
     .tag = UINT64_MAX, .symmetric = true, .has_phases = true, .sync_ns = 5,
     .compute_ns = UINT64_MAX, .close_ns = 0, .enqueue_start_mono_ns = 6100000,
     .enqueue_stop_mono_ns = 6100100, .source = JPR_COLLECTIVE_CPU},
    {.kind = JPR_CE,
     .seq = 3,
     .func = "AllGather",
     .datatype = "ncclInt8",
     .algo = "MC",
     .proto = "",
     .api_func = "AllGather",
     .peer = -1,
     .api_datatype = "ncclFloat16",
     .api_count = 2048,
     .count = 4096,
     .bytes = 4096,
     .enqueue_start_mono_ns = 7000000,
     .enqueue_stop_mono_ns = 7000100,
     .source = JPR_COLLECTIVE_CPU},
    /* times that came later, in sample_times; those of the second one never */
    {SHARED, .seq = 9, .count = 512, .bytes = 1024, .n_channels = 2,
     .enqueue_start_mono_ns = 7100000, .enqueue_stop_mono_ns = 7100900,
     .kernel_first_mono_ns = 7110000, .kernel_last_mono_ns = 7190000,
     .gpu_first_ns = 999000400000, .gpu_last_ns = 999000481000,
     .exec_ns = 80998, .later = 70000},
    {SHARED, .seq = 10, .count = 512, .bytes = 1024, .n_channels = 2,
     .enqueue_start_mono_ns = 7200000, .enqueue_stop_mono_ns = 7200900,
     .kernel_first_mono_ns = 7210000, .kernel_last_mono_ns = 7290000,
     .later = 70001},
    {SHARED, .seq = 11, .count = 512, .bytes = 1024, .n_channels = 2,
     .enqueue_start_mono_ns = 7300000, .enqueue_stop_mono_ns = 7300900,
     .kernel_first_mono_ns = 7310000, .kernel_last_mono_ns = 7390000,
     .gpu_first_ns = 999000600000, .gpu_last_ns = UINT64_MAX,
     .exec_ns = UINT64_MAX, .tag = 5, .symmetric = true, .has_phases = true,
     .sync_ns = 7, .compute_ns = 8, .close_ns = UINT64_MAX, .later = 70002},
};

/* In the order of their proof. */
static const struct jpr_times sample_times[2] = {
    {.number = 70002,
     .gpu_first_ns = 999000600000,
     .gpu_last_ns = UINT64_MAX,
     .exec_ns = UINT64_MAX,
     .has_phases = true,
     .sync_ns = 7,
     .compute_ns = 8,
     .close_ns = UINT64_MAX},
    {.number = 70000,
     .gpu_first_ns = 999000400000,
     .gpu_last_ns = 999000481000,
     .exec_ns = 80998},
};

const struct jpr_op sample_inflight[SAMPLE_INFLIGHT] = {
    {SHARED, .seq = 2, .count = 512, .bytes = 1024, .n_channels = 2,
     .enqueue_start_mono_ns = 8000000, .enqueue_stop_mono_ns = 8000900,
     .kernel_first_mono_ns = 8010000, .channels_started = 2,
     .channels_stopped = 1, .gpu_first_ns = 999000300000},
    {SHARED, .seq = 3, .count = 512, .bytes = 1024, .n_channels = 2,
     .enqueue_start_mono_ns = 8000100},
    {SHARED, .seq = 4, .count = 512, .bytes = 1024, .n_channels = 2,
     .enqueue_start_mono_ns = 8000200, .enqueue_stop_mono_ns = 8000300,
     .unsure = true},
};

static const struct jpr_comm_counts rows[] = {
    {0, "AllReduce", true, {10, 7, 2, 1}},
    {1, "Send", false, {UINT64_MAX, 1, 0, 0}},
};

static const struct jpr_unseen unseen[] = {
    {0, "Broadcast", 7},
    {1, "ReduceScatter", UINT64_MAX},
    {1, "AllReduce", 0},
};

static const struct jpr_doubts doubts[] = {
    {0, JPR_DOUBT_SELF_COPY | JPR_DOUBT_STALE, 12, 3},
    {1, JPR_DOUBTS, UINT64_MAX, 0},
};

static const struct jpr_pause pauses[] = {
    {1000, 2000, JPR_PAUSE_BY_MASK, 12},
    {5000, 0, JPR_PAUSE_BY_FILE, UINT64_MAX},
};

const struct jpr_counters sample_counters = {
    .clocks = {223456789012345, 1700000100123456789, 223456000000000},
    .final = true,
    .kinds = {{10, 7, 2, 1}, {UINT64_MAX, 1, 0, 0}, {1, 1, 0, 0}},
    .in_flight = 2,
    .lost_steps = 3,
    .lost_comms = 4,
    .lost_foreign = 5,
    .n_rows = 2,
    .rows = rows,
    .n_unseen = 3,
    .unseen = unseen,
    .cost = {true, UINT64_MAX, 7, 300, 4000, 50000},
    .n_doubts = 2,
    .doubts = doubts,
    .n_pauses = 2,
    .pauses = pauses,
};

const struct jpr_room sample_room = {true, JPR_LIMIT_DISK | JPR_LIMIT_WRITE,
                                     UINT64_MAX, 28};

void sample_begin(struct sample *file)
{
    file->n = JPR_HEAD_BYTES;
    jpr_head_write(file->bytes);
    file->ends[0] = file->n;
    file->n_ends = 1;
}

void sample_block(struct sample *file, enum jpr_block type, const void *raw,
                  size_t n, struct jpr_zip *zip)
{
    size_t added = jpr_frame_write(type, raw, n, zip, file->bytes + file->n,
                                   sizeof(file->bytes) - file->n);

    if (added == 0)
        abort();
    file->n += added;
    file->ends[file->n_ends++] = file->n;
}

void sample_ops_block(struct sample *file, enum jpr_block type,
                      const struct jpr_op *ops, int n, struct jpr_zip *zip)
{
    struct jpr_packer *packer = jpr_packer_create();
    const uint8_t *raw;
    size_t length;
    int i;

    jpr_packer_begin(packer, type == JPR_BLOCK_INFLIGHT, 4999999);
    for (i = 0; i < n; i++) {
        if (!jpr_packer_add(packer, &ops[i]))
            abort();
    }
    raw = jpr_packer_end(packer, 3, &length);
    sample_block(file, type, raw, length, zip);
    jpr_packer_destroy(packer);
}

void sample_times_block(struct sample *file, uint64_t settled,
                        const struct jpr_times *times, int n,
                        struct jpr_zip *zip)
{
    uint8_t raw[4096];
    struct jpr_out out = {.bytes = raw, .size = sizeof(raw)};
    struct jpr_times last = {0};
    int i;

    jpr_put_u64(&out, settled);
    jpr_put_u64(&out, (uint64_t) n);
    for (i = 0; i < n; last = times[i++])
        jpr_put_times(&out, &times[i], &last);
    if (out.full)
        abort();
    sample_block(file, JPR_BLOCK_TIMES, raw, out.used, zip);
}

void sample_fill(struct sample *file, struct jpr_zip *zip)
{
    uint8_t raw[4096];
    struct jpr_out out = {.bytes = raw, .size = sizeof(raw)};

    sample_begin(file);
    jpr_put_header(&out, &sample_header);
    sample_block(file, JPR_BLOCK_HEADER, raw, out.used, zip);
    out.used = 0;
    jpr_put_process(&out, &sample_process);
    sample_block(file, JPR_BLOCK_PROCESS, raw, out.used, zip);
    out.used = 0;
    jpr_put_u64(&out, 2);
    jpr_put_comm(&out, &sample_comms[0]);
    jpr_put_comm(&out, &sample_comms[1]);
    sample_block(file, JPR_BLOCK_COMM, raw, out.used, zip);
    sample_ops_block(file, JPR_BLOCK_OPS, sample_ops, SAMPLE_OPS, zip);
    sample_ops_block(file, JPR_BLOCK_INFLIGHT, sample_inflight, SAMPLE_INFLIGHT,
                     zip);
    sample_times_block(file, 70000, sample_times, 1, zip);
    sample_times_block(file, 70003, sample_times + 1, 1, zip);
    sample_ops_block(file, JPR_BLOCK_INFLIGHT, NULL, 0, zip);
    out.used = 0;
    jpr_put_room(&out, &sample_room);
    sample_block(file, JPR_BLOCK_ROOM, raw, out.used, zip);
    out.used = 0;
    jpr_put_counters(&out, &sample_counters);
    sample_block(file, JPR_BLOCK_COUNTERS, raw, out.used, zip);
    if (out.full)
        abort();
}
