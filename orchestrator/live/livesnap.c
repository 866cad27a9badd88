/* livesnap.c - pack a node's state into 4 KiB, and unpack it.
 *
 * livesnap_pack and livesnap_unpack mirror each other function by function
 * (put_rank and get_rank, and so on); the format is in livesnap.h.
 * livesnap_join, at the end, turns a snapshot into the input of hangs.h and
 * hung.h. */
#include "orchestrator/live/livesnap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/nccl_recorder/jpr_read.h"

/* The line ends show a file that was changed by a transfer in text mode. */
static const char magic[8] = {'J', 'P', 'L', 'I', 'V', 'E', '\r', '\n'};

/* Functions that are written as one byte. Any other function is a 0 followed by
 * its name. The index is part of the file format: never reuse one. */
static const char *const functions[] = {
    NULL,     "",     "AllReduce", "AllGather", "ReduceScatter", "Broadcast",
    "Reduce", "Send", "Recv",      "AlltoAll",  "Gather",        "Scatter"};
#define N_FUNCTIONS (sizeof(functions) / sizeof(*functions))

/* --- fixed numbers of the head -------------------------------------------- */

/* Little-endian. */
static void put_le64(uint8_t *at, uint64_t value)
{
    jpr_put_le32(at, (uint32_t) value);
    jpr_put_le32(at + 4, (uint32_t) (value >> 32));
}

static uint64_t get_le64(const uint8_t *at)
{
    return jpr_get_le32(at) | (uint64_t) jpr_get_le32(at + 4) << 32;
}

/* CRC-32 of head and body. The field of the sum itself counts as zeros. */
static uint32_t sum_of(const uint8_t *bytes, size_t n)
{
    static const uint8_t zeros[4];
    uint32_t crc = jpr_crc32(0, bytes, 60);

    crc = jpr_crc32(crc, zeros, sizeof(zeros));
    return jpr_crc32(crc, bytes + LIVE_HEAD_BYTES, n - LIVE_HEAD_BYTES);
}

/* --- writing -------------------------------------------------------------- */

/* Writes a function as one byte if it has a number. */
static void put_func(struct jpr_out *out, const char *func)
{
    for (size_t i = 1; i < N_FUNCTIONS; i++)
        if (!strcmp(functions[i], func)) {
            jpr_put_u64(out, i);
            return;
        }
    jpr_put_u64(out, 0);
    jpr_put_text(out, func);
}

/* Times are stored relative to the snapshot's time, which keeps varints short.
 */
static void put_rank(struct jpr_out *out, const struct live_snap *snap,
                     const struct live_rank *r)
{
    uint64_t real_ns = snap->real_ns;

    jpr_put_i64(out, r->pid);
    jpr_put_i64(out, r->task);
    jpr_put_u64(out, r->state);
    jpr_put_u64(out, r->final | r->damaged << 1 | r->busy << 2 | r->logs << 3 |
                         r->numbered << 4 | (r->n_gpus > 0) << 5 |
                         r->unrated << 6);
    jpr_put_delta(out, (uint64_t) r->counted_ns, real_ns);
    jpr_put_u64(out, r->produced);
    jpr_put_u64(out, r->over);
    jpr_put_u64(out, r->bytes);
    jpr_put_u64(out, r->in_flight);
    jpr_put_u64(out, r->cpu_ms);
    if (!r->unrated) {
        jpr_put_u64(out, r->rate_milli);
        jpr_put_u64(out, r->share_permille);
    }
    jpr_put_i64(out, r->gpu_permille);
    jpr_put_i64(out, r->gpu_mhz);
    jpr_put_i64(out, r->gpu_watts);
    /* Members of logs only; version 1 does not have them. */
    if (r->logs) {
        jpr_put_u64(out, r->longest_ms);
        jpr_put_u64(out, r->batch_ms);
    }
    for (int i = 0; r->numbered && i < LAUNCHED_KINDS; i++)
        jpr_put_i64(out, r->numbers[i]);
    if (r->n_gpus)
        jpr_put_u64(out, r->n_gpus);
    for (uint32_t i = 0; i < r->n_gpus; i++)
        jpr_put_text(out, snap->gpus[r->first_gpu + i]);
}

/* Writes a front; `ended` is stored relative to `begun`, which is near. */
static void put_front(struct jpr_out *out, const struct live_snap *snap,
                      const struct live_front *f)
{
    jpr_put_u64(out, f->rank);
    if (snap->ranks[f->rank].n_gpus)
        jpr_put_u64(out, f->gpu);
    jpr_put_i64(out, f->comm_rank);
    jpr_put_u64(out, f->kind);
    put_func(out, f->func);
    jpr_put_u64(out, f->begun);
    jpr_put_delta(out, f->ended, f->begun);
    jpr_put_u64(out, f->rate_milli);
    /* Without a rate there are no means. */
    if (f->rate_milli) {
        jpr_put_u64(out, f->mean_us);
        jpr_put_u64(out, f->mean_bytes);
    }
}

/* Writes an operation in flight. */
static void put_op(struct jpr_out *out, const struct live_snap *snap,
                   const struct live_op *op)
{
    uint64_t real_ns = snap->real_ns;

    jpr_put_u64(out, op->rank);
    if (snap->ranks[op->rank].n_gpus)
        jpr_put_u64(out, op->gpu);
    jpr_put_i64(out, op->comm_rank);
    jpr_put_i64(out, op->peer);
    jpr_put_u64(out, op->kind);
    put_func(out, op->func);
    jpr_put_u64(out, op->seq);
    jpr_put_u64(out, op->bytes);
    jpr_put_delta(out, (uint64_t) op->start_ns, real_ns);
    jpr_put_delta(out, (uint64_t) op->until_ns, real_ns);
    jpr_put_u64(out, (uint64_t) op->limit_ns / 1000000); /* ms in the file */
    jpr_put_u64(out, op->captured | op->unsure << 1 | op->cut_short << 2);
    jpr_put_u64(out, op->channels);
    jpr_put_u64(out, op->started);
    jpr_put_u64(out, op->stopped);
}

/* Writes a communicator with its fronts and operations. Rows of ranks that were
 * left out are left out as well. */
static void put_comm(struct jpr_out *out, const struct live_snap *snap,
                     uint32_t comm, uint32_t n_ranks)
{
    uint64_t n_fronts = 0, n_ops = 0;

    /* The counts precede the rows, so the rows are counted first. */
    for (uint32_t i = 0; i < snap->n_fronts; i++)
        n_fronts += snap->fronts[i].comm == comm &&
                    snap->fronts[i].rank < n_ranks;
    for (uint32_t i = 0; i < snap->n_ops; i++)
        n_ops += snap->ops[i].comm == comm && snap->ops[i].rank < n_ranks;
    jpr_put_u64(out, 1);
    jpr_put_u64(out, snap->comms[comm].hash);
    jpr_put_i64(out, snap->comms[comm].n_ranks);
    jpr_put_text(out, snap->comms[comm].name);
    jpr_put_u64(out, n_fronts);
    for (uint32_t i = 0; i < snap->n_fronts; i++)
        if (snap->fronts[i].comm == comm && snap->fronts[i].rank < n_ranks)
            put_front(out, snap, &snap->fronts[i]);
    jpr_put_u64(out, n_ops);
    for (uint32_t i = 0; i < snap->n_ops; i++)
        if (snap->ops[i].comm == comm && snap->ops[i].rank < n_ranks)
            put_op(out, snap, &snap->ops[i]);
}

/* Ranks get at most half of the room, because fronts show which rank is
 * missing. Returns the number of ranks that fit. */
static uint32_t put_ranks(const struct live_snap *snap, struct jpr_out *out)
{
    uint8_t scratch[LIVE_SNAP_BYTES / 2];
    struct jpr_out rows = {.bytes = scratch, .size = sizeof(scratch)};
    size_t used = 0;
    uint32_t n = 0;

    /* Packing stops at the first rank that does not fit; `used` is the length
     * before it. */
    while (n < snap->n_ranks) {
        put_rank(&rows, snap, &snap->ranks[n]);
        if (rows.full)
            break;
        used = rows.used;
        n++;
    }
    /* Ranks that the node has left out, and those without room here. */
    jpr_put_u64(out, snap->left_ranks + (snap->n_ranks - n));
    jpr_put_u64(out, n);
    jpr_put_bytes(out, scratch, used);
    return n;
}

/* Writes as many communicators as fit; *left counts the others. Each is written
 * to a copy of the stream first, so that one that does not fit leaves no trace.
 */
static void put_comms(const struct live_snap *snap, struct jpr_out *out,
                      uint32_t n_ranks, uint64_t *left)
{
    for (uint32_t i = 0; i < snap->n_comms; i++) {
        struct jpr_out more = *out;

        more.size -= 12; /* the end marker and *left follow */
        put_comm(&more, snap, i, n_ranks);
        if (more.full) {
            ++*left;
            continue;
        }
        out->used = more.used;
    }
    jpr_put_u64(out, 0);
}

/* The head is written last, when the length is known. */
size_t livesnap_pack(const struct live_snap *snap,
                     uint8_t bytes[LIVE_SNAP_BYTES])
{
    struct jpr_out out = {
        .bytes = bytes, .used = LIVE_HEAD_BYTES, .size = LIVE_SNAP_BYTES};
    uint64_t left = snap->left_comms;
    uint32_t n;

    /* Whole blocks are written, so the rest must be defined. */
    memset(bytes, 0, LIVE_SNAP_BYTES);
    jpr_put_text(&out, snap->node);
    n = put_ranks(snap, &out);
    put_comms(snap, &out, n, &left);
    jpr_put_u64(&out, left);
    memcpy(bytes, magic, sizeof(magic));
    jpr_put_le32(bytes + 8, LIVE_SNAP_VERSION);
    jpr_put_le32(bytes + 12, (uint32_t) (out.used - LIVE_HEAD_BYTES));
    put_le64(bytes + 16, snap->conf);
    jpr_put_le32(bytes + 24, snap->nodeid);
    jpr_put_le32(bytes + 28, snap->sequence);
    put_le64(bytes + 32, snap->real_ns);
    put_le64(bytes + 40, snap->mono_ns);
    jpr_put_le32(bytes + 48, snap->due_ms);
    bytes[52] = (uint8_t) snap->class;
    bytes[53] = snap->last;
    /* The sum comes last: it covers everything else. */
    jpr_put_le32(bytes + 60, sum_of(bytes, out.used));
    return out.used;
}

/* --- reading -------------------------------------------------------------- */

/* Reads a text of the body, truncated to size; unprintable bytes become '?'. */
static void get_text(struct jpr_in *in, char *buf, size_t size)
{
    char room[JPR_MAX_TEXT_BYTES + 1];
    struct jpr_texts texts = {.bytes = room, .size = sizeof(room)};

    snprintf(buf, size, "%s", jpr_texts_get(&texts, in));
}

/* Reads a function by its number, or by its name. */
static void get_func(struct jpr_in *in, char buf[RECORD_MAX_FUNC + 1])
{
    uint64_t i = jpr_get_bounded(in, N_FUNCTIONS - 1);

    if (i)
        snprintf(buf, RECORD_MAX_FUNC + 1, "%s", functions[i]);
    else
        get_text(in, buf, RECORD_MAX_FUNC + 1);
}

/* Reads a time of day near base; marks the input as bad if it is out of range.
 */
static int64_t get_time(struct jpr_in *in, uint64_t base)
{
    uint64_t ns = jpr_get_delta(in, base);

    if (ns > INT64_MAX)
        in->bad = true;
    return in->bad ? 0 : (int64_t) ns;
}

/* Reads a figure of a GPU; -1: unknown. */
static int32_t get_figure(struct jpr_in *in)
{
    int64_t value = jpr_get_i64(in);

    if (value < -1 || value > INT32_MAX)
        in->bad = true;
    return in->bad ? -1 : (int32_t) value;
}

/* Reads the GPUs of a process. */
static void get_gpus(struct jpr_in *in, struct live_snap *snap,
                     struct live_rank *r)
{
    r->first_gpu = snap->n_gpus;
    r->n_gpus = (uint32_t) jpr_get_bounded(in, LIVE_GPUS_MAX - snap->n_gpus);
    if (!r->n_gpus)
        in->bad = true;
    for (uint32_t i = 0; i < r->n_gpus && !in->bad; i++)
        get_text(in, snap->gpus[snap->n_gpus++], LIVE_GPU_LEN);
}

/* Mirrors put_rank. */
static void get_rank(struct jpr_in *in, struct live_snap *snap,
                     struct live_rank *r)
{
    uint64_t flags, real_ns = snap->real_ns;

    r->pid = jpr_get_i64(in);
    r->task = jpr_get_i64(in);
    r->state = (enum hung_state) jpr_get_bounded(in, HUNG_N_STATES - 1);
    /* Seven bits; a larger value is damage. */
    flags = jpr_get_bounded(in, 127);
    r->final = flags & 1;
    r->damaged = flags >> 1 & 1;
    r->busy = flags >> 2 & 1;
    r->logs = flags >> 3 & 1;
    r->numbered = flags >> 4 & 1;
    r->unrated = flags >> 6 & 1;
    r->counted_ns = get_time(in, real_ns);
    r->produced = jpr_get_u64(in);
    r->over = jpr_get_u64(in);
    r->bytes = jpr_get_u64(in);
    r->in_flight = jpr_get_u64(in);
    r->cpu_ms = jpr_get_u64(in);
    r->rate_milli = r->unrated ? 0 : jpr_get_u64(in);
    r->share_permille = r->unrated ? 0 : jpr_get_u64(in);
    r->gpu_permille = get_figure(in);
    r->gpu_mhz = get_figure(in);
    r->gpu_watts = get_figure(in);
    if (r->logs) {
        r->longest_ms = jpr_get_u64(in);
        r->batch_ms = jpr_get_u64(in);
    }
    for (int i = 0; i < LAUNCHED_KINDS; i++)
        r->numbers[i] = r->numbered ? jpr_get_i64(in) : -1;
    if (flags >> 5 & 1)
        get_gpus(in, snap, r);
}

/* Reads an index below n; marks the input as bad otherwise. */
static uint32_t get_index(struct jpr_in *in, uint32_t n)
{
    uint32_t i = (uint32_t) jpr_get_bounded(in, UINT32_MAX);

    if (i >= n)
        in->bad = true;
    return in->bad ? 0 : i;
}

/* Reads the number of a GPU of this process; 0 where it has none of several. */
static uint32_t get_gpu(struct jpr_in *in, const struct live_snap *snap,
                        uint32_t rank)
{
    uint32_t n = snap->ranks[rank].n_gpus;

    return n && !in->bad ? (uint32_t) jpr_get_bounded(in, n) : 0;
}

/* Mirrors put_front. */
static void get_front(struct jpr_in *in, const struct live_snap *snap,
                      struct live_front *f)
{
    f->rank = get_index(in, snap->n_ranks);
    f->gpu = get_gpu(in, snap, f->rank);
    f->comm_rank = jpr_get_i64(in);
    f->kind = (unsigned) jpr_get_bounded(in, JPR_N_OP_KINDS);
    get_func(in, f->func);
    f->begun = jpr_get_u64(in);
    f->ended = jpr_get_delta(in, f->begun);
    f->rate_milli = jpr_get_u64(in);
    if (f->rate_milli) {
        f->mean_us = jpr_get_u64(in);
        f->mean_bytes = jpr_get_u64(in);
    }
}

/* Mirrors put_op. */
static void get_op(struct jpr_in *in, const struct live_snap *snap,
                   struct live_op *op)
{
    uint64_t flags, real_ns = snap->real_ns;

    op->rank = get_index(in, snap->n_ranks);
    op->gpu = get_gpu(in, snap, op->rank);
    op->comm_rank = jpr_get_i64(in);
    op->peer = jpr_get_i64(in);
    op->kind = (enum jpr_op_kind) jpr_get_bounded(in, JPR_N_OP_KINDS - 1);
    get_func(in, op->func);
    op->seq = jpr_get_u64(in);
    op->bytes = jpr_get_u64(in);
    op->start_ns = get_time(in, real_ns);
    op->until_ns = get_time(in, real_ns);
    op->limit_ns = (int64_t) jpr_get_bounded(in, INT64_MAX / 1000000) * 1000000;
    /* Three bits. */
    flags = jpr_get_bounded(in, 7);
    op->captured = flags & 1;
    op->unsure = flags >> 1 & 1;
    op->cut_short = flags >> 2 & 1;
    op->channels = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    op->started = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    op->stopped = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
}

/* Reads a communicator with its rows. All counts are bounded by the room that
 * is left. */
static void get_comm(struct jpr_in *in, struct live_snap *snap)
{
    uint32_t at = snap->n_comms;
    struct live_comm *comm;
    uint64_t n;

    if (at == LIVE_COMMS_MAX) {
        in->bad = true;
        return;
    }
    /* A communicator is followed by its fronts, and these by its operations. */
    comm = &snap->comms[snap->n_comms++];
    comm->hash = jpr_get_u64(in);
    comm->n_ranks = jpr_get_i64(in);
    get_text(in, comm->name, sizeof(comm->name));
    n = jpr_get_bounded(in, LIVE_FRONTS_MAX - snap->n_fronts);
    for (uint64_t i = 0; i < n && !in->bad; i++) {
        struct live_front *front = &snap->fronts[snap->n_fronts++];

        get_front(in, snap, front);
        front->comm = at;
    }
    n = jpr_get_bounded(in, LIVE_OPS_MAX - snap->n_ops);
    for (uint64_t i = 0; i < n && !in->bad; i++) {
        struct live_op *op = &snap->ops[snap->n_ops++];

        get_op(in, snap, op);
        op->comm = at;
    }
}

/* Any error sets in->bad, and ends all loops. */
static int get_body(struct jpr_in *in, struct live_snap *snap)
{
    get_text(in, snap->node, sizeof(snap->node));
    snap->left_ranks = jpr_get_u64(in);
    snap->n_ranks = (uint32_t) jpr_get_bounded(in, LIVE_RANKS_MAX);
    for (uint32_t i = 0; i < snap->n_ranks && !in->bad; i++)
        get_rank(in, snap, &snap->ranks[i]);
    while (!in->bad && jpr_get_bounded(in, 1))
        get_comm(in, snap);
    snap->left_comms = jpr_get_u64(in);
    return in->bad ? -1 : 0;
}

/* Newer members follow a flag that older versions never set, so every version
 * up to ours can be read. */
static bool is_version(uint32_t version)
{
    return version >= 1 && version <= LIVE_SNAP_VERSION;
}

uint64_t livesnap_conf(const char *hash)
{
    char first[17] = "";

    snprintf(first, sizeof(first), "%.16s", hash ? hash : "");
    return strtoull(first, NULL, 16);
}

/* Checks what can be checked without the body. */
int livesnap_head(const uint8_t bytes[LIVE_HEAD_BYTES],
                  struct livesnap_head *out)
{
    if (memcmp(bytes, magic, sizeof(magic)) != 0 ||
        !is_version(jpr_get_le32(bytes + 8)) || bytes[52] > LIVE_TROUBLE)
        return -1;
    *out = (struct livesnap_head){.conf = get_le64(bytes + 16),
                                  .nodeid = jpr_get_le32(bytes + 24),
                                  .sequence = jpr_get_le32(bytes + 28),
                                  .real_ns = get_le64(bytes + 32),
                                  .due_ms = jpr_get_le32(bytes + 48),
                                  .class = (enum live_class) bytes[52],
                                  .last = bytes[53] == 1};
    return 0;
}

int livesnap_unpack(const uint8_t *bytes, size_t n, struct live_snap *out,
                    struct jp_error *err)
{
    struct jpr_in in;
    size_t body;

    /* Identity, version, length and sum are checked in this order, so that the
     * message is specific. */
    if (n < LIVE_HEAD_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
        return error_set(err, "not a snapshot");
    if (!is_version(jpr_get_le32(bytes + 8)))
        return error_set(err, "a snapshot of version %u",
                         jpr_get_le32(bytes + 8));
    body = jpr_get_le32(bytes + 12);
    if (body > n - LIVE_HEAD_BYTES || body > LIVE_SNAP_BYTES - LIVE_HEAD_BYTES)
        return error_set(err, "a truncated snapshot");
    if (sum_of(bytes, LIVE_HEAD_BYTES + body) != jpr_get_le32(bytes + 60))
        return error_set(err, "an inconsistent snapshot");
    *out = (struct live_snap){.conf = get_le64(bytes + 16),
                              .nodeid = jpr_get_le32(bytes + 24),
                              .sequence = jpr_get_le32(bytes + 28),
                              .real_ns = get_le64(bytes + 32),
                              .mono_ns = get_le64(bytes + 40),
                              .due_ms = jpr_get_le32(bytes + 48),
                              .class = (enum live_class) bytes[52],
                              .last = bytes[53] == 1};
    /* The body is read strictly within its length. */
    in = (struct jpr_in){bytes + LIVE_HEAD_BYTES,
                         bytes + LIVE_HEAD_BYTES + body, false};
    if (bytes[52] > LIVE_TROUBLE || out->real_ns > INT64_MAX ||
        get_body(&in, out) < 0)
        return error_set(err, "a damaged snapshot");
    return 0;
}

/* A file that ends within a block is accepted if its body is complete. */
int livesnap_read(int folder, const char *name, struct live_snap *out,
                  struct jp_error *err)
{
    /* The user owns the folder: a link must not be followed, a pipe must not
     * block, and a terminal must not become ours. */
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    uint8_t bytes[LIVE_SNAP_BYTES];
    int fd = openat(folder, name, flags), rc;
    struct stat st;
    ssize_t n = -1;

    if (fd < 0)
        return error_set(err, "%s: %s", name, strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        n = pread(fd, bytes, sizeof(bytes), 0);
    rc = n < 0 ? error_set(err, "%s: cannot be read", name)
               : livesnap_unpack(bytes, (size_t) n, out, err);
    close(fd);
    return rc;
}

/* --- joining -------------------------------------------------------------- */

/* Converts an operation; its communicator has the hash, the size and the name.
 */
static void fill_op(struct hangs_op *to, const struct live_op *op,
                    const struct live_comm *comm)
{
    *to = (struct hangs_op){.hash = comm->hash,
                            .kind = op->kind,
                            .rank = op->comm_rank,
                            .n_ranks = comm->n_ranks,
                            .device = op->gpu,
                            .peer = op->peer,
                            .seq = op->seq,
                            .bytes = op->bytes,
                            .start_ns = op->start_ns,
                            .until_ns = op->until_ns,
                            .limit_ns = op->limit_ns,
                            .cut_short = op->cut_short,
                            .captured = op->captured,
                            .unsure = op->unsure,
                            .channels = op->channels,
                            .started = op->started,
                            .stopped = op->stopped};
    /* The id is the hash as text. */
    recfile_id(comm->hash, to->id);
    snprintf(to->name, sizeof(to->name), "%s", comm->name);
    memcpy(to->func, op->func, sizeof(to->func));
}

/* Makes the evidence of one process. Call hangs_evidence_fini in any case.
 * Returns 0, or -1 without memory. */
static int fill_evidence(const struct live_snap *snap, uint32_t rank,
                         struct hangs_evidence *e)
{
    const struct live_rank *r = &snap->ranks[rank];

    *e = (struct hangs_evidence){.process = {.pid = r->pid,
                                             .task = r->task,
                                             .cut = !r->final,
                                             .busy = r->busy,
                                             .final = r->final,
                                             .damaged = r->damaged,
                                             .counted_ns = r->counted_ns,
                                             .last_ns = r->counted_ns}};
    launched_init(&e->process.launched);
    for (int i = 0; r->numbered && i < LAUNCHED_KINDS; i++)
        e->process.launched.rank[i] = r->numbers[i];
    /* the rule knows a task by this */
    e->process.launched.task_pid = r->task >= 0 ? r->pid : -1;
    e->process.rank = -1;
    snprintf(e->process.host, sizeof(e->process.host), "%s", snap->node);
    /* Room for all operations of the snapshot, of which this rank has some. */
    e->ops = snap->n_ops ? calloc(snap->n_ops, sizeof(*e->ops)) : NULL;
    if (snap->n_ops && !e->ops)
        return -1;
    for (uint32_t i = 0; i < snap->n_ops; i++)
        if (snap->ops[i].rank == rank)
            fill_op(&e->ops[e->n_ops++], &snap->ops[i],
                    &snap->comms[snap->ops[i].comm]);
    for (uint32_t i = 0; i < snap->n_fronts; i++) {
        const struct live_front *f = &snap->fronts[i];
        struct progress_row row = {.hash = snap->comms[f->comm].hash,
                                   .n_ranks = snap->comms[f->comm].n_ranks,
                                   .rank = f->comm_rank,
                                   .device = f->gpu,
                                   .kind = f->kind,
                                   .ended = f->ended,
                                   .begun = f->begun};

        memcpy(row.func, f->func, sizeof(row.func));
        if (f->rank == rank && progress_add(&e->progress, &row) < 0)
            return -1;
    }
    return 0;
}

/* silent_ms is only meaningful for logs; counted_ns is then the time of their
 * last growth. */
static struct hung_task task_of(const struct live_snap *snap,
                                const struct live_rank *r)
{
    uint64_t grown_ns = (uint64_t) r->counted_ns;

    return (struct hung_task){
        .state = r->state,
        .over = r->over,
        .logs = r->logs,
        .silent_ms =
            snap->real_ns > grown_ns ? (snap->real_ns - grown_ns) / 1000000 : 0,
        .longest_ms = r->longest_ms,
        .batch_ms = r->batch_ms};
}

/* Operations that have ended on one GPU of a process; of all of them, if it is
 * not known. */
static uint64_t over_of(const struct live_snap *snap, uint32_t rank,
                        uint64_t gpu)
{
    uint64_t over = 0;

    for (uint32_t i = 0; gpu && i < snap->n_fronts; i++)
        if (snap->fronts[i].rank == rank && snap->fronts[i].gpu == gpu)
            over += snap->fronts[i].ended;
    return over ? over : snap->ranks[rank].over;
}

/* hangs_sum_add numbers the processes in order, so tasks[] has the same index.
 * One with several GPUs becomes several. */
int livesnap_join(const struct live_snap *snap, struct hangs_sum *sum,
                  struct hung_task *tasks)
{
    size_t before = sum->hangs->n_processes;
    uint32_t joined = before ? tasks[before - 1].joined + 1 : 0;

    for (uint32_t i = 0; i < snap->n_ranks; i++) {
        size_t at = sum->hangs->n_processes;
        struct hangs_evidence e;
        int rc = fill_evidence(snap, i, &e);

        if (rc == 0)
            rc = hangs_sum_add(sum, &e);
        hangs_evidence_fini(&e);
        for (size_t k = at; rc == 0 && k < sum->hangs->n_processes; k++) {
            struct hangs_process *p = &sum->hangs->processes[k];
            const struct live_rank *r = &snap->ranks[i];

            tasks[k] = task_of(snap, r);
            tasks[k].joined = joined;
            tasks[k].over = over_of(snap, i, p->device);
            if (p->device && p->device <= r->n_gpus)
                snprintf(p->gpu, sizeof(p->gpu), "%s",
                         snap->gpus[r->first_gpu + p->device - 1]);
        }
        joined++;
        if (rc < 0)
            return -1;
    }
    return 0;
}
