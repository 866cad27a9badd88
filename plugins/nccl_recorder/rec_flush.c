/* What the writer does each time: everything new into the file. */
#include "plugins/nccl_recorder/rec_flush.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_recorder/jpr_pack.h"
#include "plugins/nccl_recorder/jpr_put.h"
#include "plugins/nccl_recorder/rec_blocks.h"
#include "plugins/nccl_recorder/rec_clock.h"
#include "plugins/nccl_recorder/rec_convert.h"
#include "plugins/nccl_recorder/rec_finish.h"
#include "plugins/nccl_recorder/rec_sink.h"
#include "plugins/nccl_recorder/rec_tally.h"

enum { BATCH_OPS = 8 * 1024, FIRST_KEPT = 16, KEPT_PER_K = 128 };
#define STILL_NS 2000000000ULL      /* a snapshot this old may be a hang */
#define HEARTBEAT_NS 10000000000ULL /* an unchanged one is told again */

static struct {
    struct jpr_packer *ops;
    struct jpr_packer *snapshot;
    struct jpr_header header;
    bool told_header;
    /* operations of the block that is in the buffer or being packed */
    uint32_t n_batch;
    struct jp_rec_who batch[BATCH_OPS];
    bool full;
    uint64_t full_since_ns;
    uint64_t next_due_ns;
    uint64_t n_seen; /* while full */
    uint64_t n_kept;
    uint64_t k;
    uint64_t signature; /* of what was in flight at the last flush */
    uint64_t still_since_ns;
    uint64_t told_signature;
    uint64_t told_at_ns;
    bool told_some;
    bool failed; /* the last write */
} f;

int rec_flush_init(const struct jp_rec_settings *settings, int interface)
{
    struct jpr_packer *ops = f.ops, *snapshot = f.snapshot;

    if (!ops)
        ops = jpr_packer_create();
    if (!snapshot)
        snapshot = jpr_packer_create();
    if (!ops || !snapshot || rec_blocks_init() < 0) {
        jpr_packer_destroy(ops);
        jpr_packer_destroy(snapshot);
        f.ops = f.snapshot = NULL;
        return -1;
    }
    memset(&f, 0, sizeof(f));
    f.ops = ops;
    f.snapshot = snapshot;
    f.k = FIRST_KEPT;
    jpr_packer_begin(f.ops, false, rec_clock_ns());
    rec_env_header(settings, interface, &f.header);
    rec_tally_init();
    return 0;
}

/* ------------------------------------------------- buffer and its accounts */

/* Writes the buffer; what was in it is written, or lost or left out. */
static void write_out(bool last)
{
    int rc = rec_blocks_write(last);
    uint32_t i;

    if (rc < 0) {
        for (i = 0; i < f.n_batch; i++)
            rec_tally_take_back(f.batch[i], rec_sink_is_full());
        f.told_header = f.told_header && rec_blocks_ever();
        f.told_signature = 0;
        f.told_some = true;
    }
    rec_tally_told(rc == 0);
    f.failed = rc < 0;
    f.n_batch = 0;
}

static void add_header(void)
{
    struct jpr_out *out;

    if (f.told_header)
        return;
    out = rec_blocks_payload();
    jpr_put_header(out, &f.header);
    rec_blocks_add(JPR_BLOCK_HEADER, out->bytes, out->full ? 0 : out->used);
    f.told_header = true;
}

/* The communicator's block, before the first thing that names it. */
static void tell_comm(struct jp_rec_comm *comm)
{
    struct jpr_out *out;

    if (comm->told)
        return;
    add_header();
    comm->told = true;
    out = rec_blocks_payload();
    jpr_put_u64(out, 1);
    jpr_put_comm(out, &comm->about);
    rec_blocks_add(JPR_BLOCK_COMM, out->bytes, out->used);
}

static void end_ops(void)
{
    const uint8_t *raw;
    size_t n;

    if (jpr_packer_count(f.ops) == 0)
        return;
    raw = jpr_packer_end(f.ops, 0, &n);
    rec_blocks_add(JPR_BLOCK_OPS, raw, n);
    jpr_packer_begin(f.ops, false, rec_clock_ns());
}

/* ------------------------------------------------------------- operations */

/* Whether a full sink takes this one. */
static bool is_kept(void)
{
    if (f.n_seen++ % f.k != 0)
        return false;
    if (++f.n_kept % KEPT_PER_K == 0)
        f.k *= 2;
    return true;
}

static void take(const struct jp_rec_record *record)
{
    struct jp_rec_who who = {record->facts.comm, record->facts.kind,
                             record->facts.func};
    struct jp_rec_comm *comm = rec_comm_at(who.comm);
    struct jpr_op op;

    if (f.full && !is_kept()) {
        rec_tally_left_out(who);
        return;
    }
    tell_comm(comm);
    rec_convert(record, comm->about.index, &op);
    if (f.n_batch == BATCH_OPS || !jpr_packer_add(f.ops, &op)) {
        end_ops();
        write_out(false);
        tell_comm(comm);                   /* again, should that have failed */
        (void) jpr_packer_add(f.ops, &op); /* an empty block takes any */
    }
    f.batch[f.n_batch++] = who;
    rec_tally_written(who);
}

/* -------------------------------------------------- snapshot and counters */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

/* Packs what is in flight; how many there are, and a number that changes with
 * them. */
static uint64_t take_snapshot(uint64_t now, uint64_t *omitted)
{
    uint32_t n = jp_rec_ops ? rec_pool_used(&jp_rec_op_pool) : 0;
    struct jp_rec_record record;
    struct jpr_op op;
    uint64_t count = 0, hash = 0;
    uint32_t i;

    jpr_packer_begin(f.snapshot, true, now);
    for (i = 0; i < n; i++) {
        if (!rec_finish_look(i, &record))
            continue;
        count++;
        hash = mix(hash, record.facts.start_ns + record.started);
        hash = mix(hash, record.times[JP_REC_ENQUEUE_STOP] + record.stopped);
        tell_comm(rec_comm_at(record.facts.comm));
        rec_convert(&record, rec_comm_at(record.facts.comm)->about.index, &op);
        (void) jpr_packer_add(f.snapshot, &op);
    }
    if (hash != f.signature)
        f.still_since_ns = now;
    f.signature = hash;
    *omitted = count - jpr_packer_count(f.snapshot);
    return count;
}

static void add_snapshot(uint64_t now, uint64_t count, uint64_t omitted)
{
    const uint8_t *raw;
    size_t n;

    if (count == 0 && !f.told_some)
        return;
    if (f.signature == f.told_signature && f.told_some == (count > 0) &&
        now - f.told_at_ns < HEARTBEAT_NS)
        return;
    raw = jpr_packer_end(f.snapshot, omitted, &n);
    rec_blocks_add(JPR_BLOCK_INFLIGHT, raw, n);
    f.told_signature = f.signature;
    f.told_at_ns = now;
    f.told_some = count > 0;
}

static void tell_comms(void)
{
    unsigned i;

    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        if (rec_comm_used(comm) &&
            atomic_load_explicit(&comm->known, memory_order_acquire))
            tell_comm(comm);
    }
}

/* --------------------------------------------------------------- the flush */

static void set_full(uint64_t now)
{
    bool full = rec_sink_is_full();

    if (full && !f.full) {
        f.full_since_ns = f.next_due_ns = now;
        f.n_seen = f.n_kept = 0;
        f.k = FIRST_KEPT;
    }
    f.full = full;
}

/* Whether a full sink gets its counters and snapshot now. */
static bool is_due(uint64_t now, uint64_t in_flight)
{
    bool still = in_flight > 0 && now - f.still_since_ns > STILL_NS &&
                 f.signature != f.told_signature;

    if (!f.full || still)
        return true;
    if (now < f.next_due_ns)
        return false;
    f.next_due_ns = now + (now - f.full_since_ns) / 16;
    return true;
}

void rec_flush_run(bool final)
{
    uint64_t now = rec_clock_ns();
    uint64_t in_flight, omitted;

    if (!f.ops || !rec_sink_ready())
        return;
    set_full(now);
    rec_done_drain(take);
    in_flight = take_snapshot(now, &omitted);
    if (final || is_due(now, in_flight)) {
        tell_comms();
        end_ops();
        add_snapshot(now, in_flight, omitted);
        rec_tally_add(in_flight, final);
        write_out(final);
    }
    if (final && f.failed) { /* without the operations there may be room */
        tell_comms();
        rec_tally_add(in_flight, final);
        write_out(final);
    }
    rec_tally_release(f.failed && f.n_batch == 0);
}
