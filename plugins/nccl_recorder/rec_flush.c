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
/* Near the cap; an operation takes a fifth of that. */
enum { SMALL_BATCH = 64, OP_BYTES = 128, KEPT_BYTES = 32 };
/* While full; see rec_flush.h. */
enum { PACE = 8, STILL_PART = 4, RESERVE_BYTES = 16 * 1024, OLDEST = 200 };
#define SECOND_NS 1000000000ULL
#define STILL_NS (2 * SECOND_NS)  /* a snapshot this old may be a hang */
#define AGAIN_NS (10 * SECOND_NS) /* an unchanged one is told again */
/* What nobody waits for is told again after this part of the time that nothing
 * changed, where that is longer. */
enum { AGAIN_PART = 60, BEAT_PART = 600 };

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
    uint64_t flushed_ns;     /* while full: when the last time */
    uint64_t flush_bytes;    /* what that took without operations */
    uint64_t ops_bytes;      /* of the block of operations just added */
    uint64_t still_told_ns;  /* when the last time for that alone */
    uint64_t allowance;      /* when it became full */
    uint64_t oldest[OLDEST]; /* starts of operations in flight, ascending */
    uint32_t n_oldest;
    uint64_t counted_ns; /* the last counters */
    uint64_t changed_ns; /* ... that were new */
    bool only_header;
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

int rec_flush_init(const struct jp_rec_settings *settings, int interface,
                   bool only_header)
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
    f.only_header = only_header;
    f.changed_ns = rec_clock_ns();
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

    f.ops_bytes = 0;
    if (jpr_packer_count(f.ops) == 0)
        return;
    raw = jpr_packer_end(f.ops, 0, &n);
    f.ops_bytes = rec_blocks_add(JPR_BLOCK_OPS, raw, n);
    jpr_packer_begin(f.ops, false, rec_clock_ns());
}

/* ------------------------------------------------------------- operations */

/* Whether a full sink takes this one: every k-th, from a quarter of what it
 * still takes. */
static bool is_kept(void)
{
    uint64_t spent = f.allowance - rec_sink_allowance();

    if (f.n_seen++ % f.k != 0 ||
        spent + f.n_batch * KEPT_BYTES > f.allowance / 4)
        return false;
    if (++f.n_kept % KEPT_PER_K == 0)
        f.k *= 2;
    return true;
}

static void set_full(uint64_t now)
{
    bool full = rec_sink_is_full();

    if (full && !f.full) {
        f.full_since_ns = now;
        f.flushed_ns = f.still_told_ns = 0;
        f.allowance = rec_sink_allowance();
        f.n_seen = f.n_kept = 0;
        f.k = FIRST_KEPT;
    }
    f.full = full;
}

/* Operations of one write: near the cap ever fewer, so that what does not fit
 * any more is little. */
static uint32_t batch_limit(void)
{
    uint64_t n = rec_sink_room() / OP_BYTES;

    if (f.full || n > BATCH_OPS)
        return BATCH_OPS;
    return n > SMALL_BATCH ? (uint32_t) n : SMALL_BATCH;
}

static void take(const struct jp_rec_record *record)
{
    struct jp_rec_who who = {record->facts.comm, record->facts.kind,
                             record->facts.func};
    struct jp_rec_comm *comm = rec_comm_at(who.comm);
    struct jpr_op op;

    rec_finish_saw(record);
    if (f.full && !is_kept()) {
        rec_tally_left_out(who);
        return;
    }
    tell_comm(comm);
    rec_convert(record, comm->about.index, &op);
    if (f.n_batch >= batch_limit() || !jpr_packer_add(f.ops, &op)) {
        end_ops();
        write_out(false);
        set_full(rec_clock_ns());
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

/* Keeps the starts of the oldest operations in flight. */
static void note_start(uint64_t ns)
{
    uint32_t i = f.n_oldest;

    if (i == OLDEST && ns >= f.oldest[i - 1])
        return;
    if (i < OLDEST)
        f.n_oldest++;
    else
        i--;
    for (; i > 0 && f.oldest[i - 1] > ns; i--)
        f.oldest[i] = f.oldest[i - 1];
    f.oldest[i] = ns;
}

static void find_oldest(uint32_t n)
{
    struct jp_rec_record record;
    uint32_t i;

    f.n_oldest = 0;
    for (i = 0; i < n; i++) {
        if (rec_finish_look(i, &record))
            note_start(record.facts.start_ns);
    }
}

/* Whether a snapshot has room for one that started then. */
static bool is_told(uint64_t start_ns)
{
    return !f.full || f.n_oldest < OLDEST || start_ns <= f.oldest[OLDEST - 1];
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
    if (f.full)
        find_oldest(n);
    for (i = 0; i < n; i++) {
        if (!rec_finish_look(i, &record))
            continue;
        count++;
        hash = mix(hash, record.facts.start_ns + record.started);
        hash = mix(hash, record.times[JP_REC_ENQUEUE_STOP] + record.stopped);
        if (!is_told(record.facts.start_ns))
            continue;
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

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void add_snapshot(uint64_t now, uint64_t count, uint64_t omitted)
{
    uint64_t again_ns = longer(AGAIN_NS, (now - f.still_since_ns) / AGAIN_PART);
    const uint8_t *raw;
    size_t n;

    if (count == 0 && !f.told_some)
        return;
    if (f.signature == f.told_signature && f.told_some == (count > 0) &&
        (f.full || now - f.told_at_ns < again_ns))
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

static void add_counters(uint64_t now, uint64_t in_flight, bool final)
{
    uint64_t beat_ns = longer(SECOND_NS, (now - f.changed_ns) / BEAT_PART);
    bool beat = f.full || (rec_comm_live() > 0 && now - f.counted_ns > beat_ns);

    switch (rec_tally_add(in_flight, final, beat)) {
    case JP_REC_TALLY_CHANGED:
        f.changed_ns = now;
        /* fall through */
    case JP_REC_TALLY_BEAT:
        f.counted_ns = now;
        break;
    case JP_REC_TALLY_NONE:
        break;
    }
}

/* --------------------------------------------------------------- the flush */

/* Whether a full sink gets its counters and snapshot now. */
static bool is_due(uint64_t now, uint64_t in_flight)
{
    bool still = in_flight > 0 && now - f.still_since_ns > STILL_NS &&
                 f.signature != f.told_signature;
    uint64_t age_ns = longer(now - f.full_since_ns, SECOND_NS);
    uint64_t left = rec_sink_allowance();
    uint64_t reserve = f.allowance / 4;
    double wait_ns;

    if (reserve > RESERVE_BYTES)
        reserve = RESERVE_BYTES;
    if (!f.full || f.flushed_ns == 0)
        return true;
    if (!still)
        left -= left < reserve ? left : reserve;
    /* what is left is used up: each time after as long again */
    wait_ns = (double) age_ns;
    if (left > f.flush_bytes)
        wait_ns *= PACE * (double) f.flush_bytes / (double) left;
    if (wait_ns > (double) age_ns)
        wait_ns = (double) age_ns;
    if (wait_ns < SECOND_NS)
        wait_ns = SECOND_NS;
    if ((double) (now - f.flushed_ns) >= wait_ns)
        return true;
    if (!still || (double) (now - f.still_told_ns) < wait_ns / STILL_PART)
        return false;
    f.still_told_ns = now;
    return true;
}

/* Writes all that is to be told now. */
static void flush(uint64_t now, uint64_t in_flight, uint64_t omitted,
                  bool final)
{
    uint64_t left = rec_sink_allowance();

    if (f.only_header)
        add_header();
    tell_comms();
    end_ops();
    add_snapshot(now, in_flight, omitted);
    add_counters(now, in_flight, final);
    write_out(final);
    f.flushed_ns = now;
    if (f.full && left > rec_sink_allowance() + f.ops_bytes)
        f.flush_bytes = left - rec_sink_allowance() - f.ops_bytes;
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
    if (final || is_due(now, in_flight))
        flush(now, in_flight, omitted, final);
    if (final && f.failed) { /* without the operations there may be room */
        tell_comms();
        rec_tally_add(in_flight, final, false);
        write_out(final);
    }
    rec_tally_release(f.failed && f.n_batch == 0);
}
