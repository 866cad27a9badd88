/* rec_writer.c - the thread that writes, and what it writes each time.
 *
 * writer_main() is the thread. It sleeps until its timer or the bell wakes it
 * and then calls flush_run(): finished records become operations of the file
 * (take_record), times that were proven later a block of their own
 * (settle_times), operations in flight a snapshot (take_snapshot), and
 * rec_sink.c adds the counters and writes. `f` holds what flushes remember,
 * `later` the times that wait, `w` what the thread and its callers share.
 * NCCL's threads enter by the functions at the end.
 */
#include "plugins/nccl_recorder/rec_writer.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/ownfile.h"
#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/rec_chain.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_env.h"

enum { BATCH_OPS = 8 * 1024, FIRST_KEPT = 16, KEPT_PER_K = 128 };
/* SMALL_BATCH and OP_BYTES make writes smaller near the cap; an operation takes
 * about a fifth of OP_BYTES. KEPT_BYTES: what an operation is assumed to take
 * in a full sink. */
enum { SMALL_BATCH = 64, OP_BYTES = 128, KEPT_BYTES = 32 };
/* Pace of a full sink; see rec_writer.h. */
enum { PACE = 8, STILL_PART = 4, RESERVE_BYTES = 16 * 1024, OLDEST = 200 };
#define SECOND_NS 1000000000ULL
/* an unchanged snapshot of this age may be a hang */
#define STILL_NS (2 * SECOND_NS)
#define AGAIN_NS (10 * SECOND_NS) /* an unchanged snapshot is written again */
/* Without changes snapshots and counters are written again after this part of
 * the time since the last change, if that is longer. */
enum { AGAIN_PART = 60, BEAT_PART = 600 };

/* Which counter an operation belongs to. */
struct who {
    uint16_t comm; /* place in the table of communicators */
    uint8_t kind;
    uint8_t func;
};

static struct {
    struct jpr_packer *ops;
    struct jpr_packer *snapshot;
    /* operations of the block that is in the buffer or being packed */
    uint32_t n_batch;
    struct who batch[BATCH_OPS];
    bool full; /* the sink */
    uint64_t full_since_ns;
    uint64_t flushed_ns;     /* while full: time of the last flush */
    uint64_t flush_bytes;    /* what that flush took, without operations */
    uint64_t ops_bytes;      /* size of the block of operations just added */
    uint64_t still_told_ns;  /* time of the last flush for a hang alone */
    uint64_t allowance;      /* when the sink became full */
    uint64_t oldest[OLDEST]; /* starts of operations in flight, ascending */
    uint32_t n_oldest;
    uint64_t counted_ns; /* time of the last counters */
    uint64_t changed_ns; /* ... that had changed */
    bool only_header;
    bool net;                /* records hold network waits */
    bool more;               /* records hold what v7 adds */
    uint64_t n_seen;         /* operations since the sink is full */
    uint64_t n_kept;         /* of these written */
    uint64_t k;              /* each k-th is kept */
    uint64_t signature;      /* of what was in flight at the last look */
    uint64_t still_since_ns; /* since when it is the same */
    uint64_t told_signature; /* of the snapshot in the file */
    uint64_t told_at_ns;     /* when that was written */
    bool told_some;          /* it has operations */
    bool failed;             /* the last write did */
} f;

/* Operations with late stamps are written at once, so that a process that is
 * killed loses none. Their times wait here until later reports show whose the
 * stamps are. Those that nothing shows are never written: not when the
 * communicator ends, nor when JPR_MAX_LATER others wait. */
enum { TIMES_BYTES = 32 * 1024, TIMES_HEAD = 32 };

static struct {
    struct waiting_times {
        struct jpr_times times; /* number 0: settled */
        uint64_t number;        /* among the communicator's operations */
        uint64_t channels;      /* with late stamps (bit i) */
        uint16_t comm;
        uint8_t link;         /* enum jp_rec_link */
    } entries[JPR_MAX_LATER]; /* by times.number */
    uint64_t first, next;     /* numbers of those that may wait: from, before */
    /* the block of times that is being made */
    struct jpr_out rows;
    uint64_t n_rows, lowest; /* of its numbers */
    struct jpr_times last;
    uint8_t space[TIMES_BYTES], payload[TIMES_BYTES + TIMES_HEAD];
} later;

/* --- a record of the writer becomes one of the file ---------------------- */

/* Returns whether kernel times are not used. */
static bool is_unsure(const struct jp_rec_record *r)
{
    return r->facts.flags & JP_REC_UNTIMED;
}

/* Returns the time from being enqueued until the last child stopped, or 0 if
 * none ever did. */
static uint64_t host_span(const struct jp_rec_record *r)
{
    uint64_t last = is_unsure(r) ? 0 : r->times[JP_REC_KERNEL_LAST];

    if (r->times[JP_REC_PROXY_LAST] > last)
        last = r->times[JP_REC_PROXY_LAST];
    return last > r->facts.start_ns ? last - r->facts.start_ns : 0;
}

/* Returns whether the GPU's times cannot be right: stamps of different
 * operations, or a span longer than the time that the host saw. */
static bool is_refused(const struct jp_rec_record *r)
{
    const struct jp_rec_trust *trust = &rec_comm_at(r->facts.comm)->trust;
    uint64_t since = r->facts.after_ns;
    uint64_t seen = r->times[JP_REC_KERNEL_LAST];

    return r->refused > 0 ||
           (r->late != 0 &&
            rec_trust_is_overrun(trust, r->times[JP_REC_GPU_FIRST],
                                 r->times[JP_REC_GPU_LAST])) ||
           (since > 0 && seen > since &&
            rec_trust_is_too_long(trust, r->times[JP_REC_GPU_MAX],
                                  seen - since));
}

/* Sets the execution time and its source. */
static void set_exec(const struct jp_rec_record *r, struct jpr_op *op)
{
    if (is_unsure(r)) { /* times of channels that came before the doubt */
        op->kernel_first_mono_ns = op->kernel_last_mono_ns = 0;
        op->gpu_first_ns = op->gpu_last_ns = 0;
        op->source = JPR_COLLECTIVE_CPU;
        op->exec_ns = host_span(r);
    } else if (is_refused(r)) {
        op->source = JPR_KERNEL_GPU; /* exec_ns 0: not known */
        op->gpu_first_ns = op->gpu_last_ns = 0;
    } else if (r->times[JP_REC_GPU_MAX] > 0) {
        op->source = JPR_KERNEL_GPU;
        op->exec_ns = r->times[JP_REC_GPU_MAX];
    } else {
        op->source = JPR_COLLECTIVE_CPU;
        op->exec_ns = host_span(r);
    }
}

/* The last two sums are of steps and bytes. */
static void set_net(const struct jp_rec_record *r, struct jpr_op *op)
{
    op->has_net = true;
    memcpy(op->wait_ns, r->net, sizeof(op->wait_ns));
    op->net_steps = r->net[JPR_N_WAITS];
    op->net_bytes = r->net[JPR_N_WAITS + 1];
}

/* Phases are used only where the kernel's own time is, of which they are parts.
 */
static void set_phases(const struct jp_rec_record *r, struct jpr_op *op)
{
    uint64_t longest = op->source == JPR_KERNEL_GPU ? op->exec_ns : 0;

    if (r->more[JP_REC_COMPUTE] == 0 || r->more[JP_REC_SYNC] > longest ||
        r->more[JP_REC_COMPUTE] > longest || r->more[JP_REC_CLOSE] > longest)
        return;
    op->has_phases = true;
    op->sync_ns = r->more[JP_REC_SYNC];
    op->compute_ns = r->more[JP_REC_COMPUTE];
    op->close_ns = r->more[JP_REC_CLOSE];
}

/* `comm` is the communicator's number in the file. */
static void convert(const struct jp_rec_record *r, uint32_t comm,
                    struct jpr_op *op)
{
    const struct jp_rec_facts *facts = &r->facts;

    *op = (struct jpr_op){
        .comm = comm,
        .kind = (enum jpr_op_kind) facts->kind,
        .seq = facts->seq,
        .func = rec_names_func_text(facts->func),
        .datatype = rec_names_word_text(facts->datatype),
        .algo = rec_names_word_text(facts->algo),
        .proto = rec_names_word_text(facts->proto),
        .count = facts->count,
        .bytes = facts->count * rec_names_datatype_bytes(facts->datatype),
        .root = facts->root,
        .peer = facts->peer,
        .n_channels = facts->n_channels,
        .api_func = rec_names_func_text(facts->api_func),
        .api_datatype = rec_names_word_text(facts->api_datatype),
        .api_count = facts->api_count,
        .graph_captured = facts->flags & JP_REC_GRAPH,
        .enqueue_start_mono_ns = facts->start_ns,
        .enqueue_stop_mono_ns = r->times[JP_REC_ENQUEUE_STOP],
        .kernel_first_mono_ns = r->times[JP_REC_KERNEL_FIRST],
        .kernel_last_mono_ns = r->times[JP_REC_KERNEL_LAST],
        .gpu_first_ns = r->times[JP_REC_GPU_FIRST],
        .gpu_last_ns = r->times[JP_REC_GPU_LAST],
        .incomplete = facts->flags & JP_REC_INCOMPLETE,
        .overtaken = facts->flags & JP_REC_OVER,
        .unsure = facts->flags & JP_REC_UNTIMED,
        .channels_started = r->started,
        .channels_stopped = r->stopped,
        .symmetric = facts->flags & JP_REC_SYMMETRIC,
    };
    set_exec(r, op);
    if (f.more) {
        op->tag = r->more[JP_REC_TAG];
        set_phases(r, op);
    }
    if (f.net && (r->net[JPR_N_WAITS] > 0 || r->net[JPR_WAIT_SEND_GPU] > 0 ||
                  r->net[JPR_WAIT_RECV] > 0))
        set_net(r, op);
}

/* --- everything new into the file ---------------------------------------- */

/* Prepares the packers and the sink. The packers are kept over a fork. */
static int begin(const struct jp_rec_settings *settings, int interface,
                 bool only_header)
{
    struct jpr_packer *ops = f.ops, *snapshot = f.snapshot;

    if (!ops)
        ops = jpr_packer_create();
    if (!snapshot)
        snapshot = jpr_packer_create();
    if (!ops || !snapshot || rec_sink_begin(settings, interface) < 0) {
        jpr_packer_destroy(ops);
        jpr_packer_destroy(snapshot);
        f.ops = f.snapshot = NULL;
        return -1;
    }
    memset(&f, 0, sizeof(f));
    later.first = later.next = 1;
    later.rows = (struct jpr_out){.bytes = later.space, .size = TIMES_BYTES};
    later.n_rows = 0;
    f.ops = ops;
    f.snapshot = snapshot;
    f.k = FIRST_KEPT;
    f.only_header = only_header;
    f.net = settings->net;
    f.more = interface >= 7;
    f.changed_ns = rec_clock_ns();
    jpr_packer_begin(f.ops, false, rec_clock_ns());
    return 0;
}

/* ------------------------------------------------- buffer and its accounts */

static struct jp_rec_count *count_of(struct who who)
{
    return &rec_comm_at(who.comm)->counts[who.kind][who.func];
}

/* The batch was counted as written but is not in the file: it is left out if
 * the sink is full, else lost. */
static void take_back(void)
{
    bool on_purpose = f.n_batch > 0 && rec_sink_allowance() != UINT64_MAX;
    uint32_t i;

    for (i = 0; i < f.n_batch; i++) {
        struct jp_rec_count *count = count_of(f.batch[i]);

        count->written--;
        if (on_purpose)
            count->left_out++;
        else
            atomic_fetch_add_explicit(&count->lost, 1, memory_order_relaxed);
    }
}

/* Writes the buffer. After a failure the snapshot is written again. */
static void write_out(bool last)
{
    f.failed = rec_sink_write(last) < 0;
    if (f.failed) {
        take_back();
        f.told_signature = 0;
        f.told_some = true;
    }
    f.n_batch = 0;
}

/* Moves the packed operations into the buffer as a block. */
static void end_ops(void)
{
    const uint8_t *raw;
    size_t n;

    f.ops_bytes = 0;
    if (jpr_packer_count(f.ops) == 0)
        return;
    raw = jpr_packer_end(f.ops, 0, &n);
    f.ops_bytes = rec_sink_add(JPR_BLOCK_OPS, raw, n);
    jpr_packer_begin(f.ops, false, rec_clock_ns());
}

/* ------------------------------------------------------------- operations */

/* Returns whether a full sink takes this operation: every k-th, until a quarter
 * of the allowance is used. */
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

static void refuse_all_times(void);

/* Looks whether the sink is full, and starts its pace anew when it has become
 * so. */
static void set_full(uint64_t now)
{
    uint64_t allowance = rec_sink_allowance();
    bool full = allowance != UINT64_MAX;

    if (full && !f.full) {
        f.full_since_ns = now;
        f.flushed_ns = f.still_told_ns = 0;
        f.allowance = allowance;
        f.n_seen = f.n_kept = 0;
        f.k = FIRST_KEPT;
    }
    if (full != f.full)
        end_ops(); /* those before it are whole */
    if (full && !f.full)
        refuse_all_times();
    f.full = full;
    rec_sink_tell_room(full);
}

/* Returns how many operations go into one write. Near the cap these are fewer
 * and fewer, so that little is lost by the last one that does not fit. */
static uint32_t batch_limit(void)
{
    uint64_t n = rec_sink_room() / OP_BYTES;

    if (f.full || n > BATCH_OPS)
        return BATCH_OPS;
    return n > SMALL_BATCH ? (uint32_t) n : SMALL_BATCH;
}

/* ------------------------------------------------- times that come later */

static struct waiting_times *waiting_at(uint64_t number)
{
    return &later.entries[number % JPR_MAX_LATER];
}

/* Moves the settled times into the buffer as a block. What the file has of
 * those below the first that waits is then all that comes. */
static void end_times(void)
{
    struct jpr_out out = {.bytes = later.payload,
                          .size = sizeof(later.payload)};

    if (later.n_rows == 0)
        return;
    jpr_put_u64(&out, later.first);
    jpr_put_u64(&out, later.n_rows);
    jpr_put_bytes(&out, later.rows.bytes, later.rows.used);
    f.ops_bytes += rec_sink_add(JPR_BLOCK_TIMES, out.bytes, out.used);
    later.rows.used = 0;
    later.n_rows = 0;
}

/* Adds proven times to the block. A reader has places for numbers that lie
 * within JPR_MAX_LATER. */
static void put_times(const struct jpr_times *times)
{
    if (later.n_rows > 0 &&
        (later.rows.size - later.rows.used < JPR_TIMES_ROOM ||
         times->number - later.lowest >= JPR_MAX_LATER)) {
        end_ops();
        end_times();
        write_out(false);
        set_full(rec_clock_ns());
    }
    if (later.n_rows == 0) {
        later.lowest = times->number;
        later.last = (struct jpr_times){0};
    }
    jpr_put_times(&later.rows, times, &later.last);
    later.last = *times;
    later.n_rows++;
}

/* The times wait no longer. */
static void release_times(struct waiting_times *t)
{
    t->times.number = 0;
    rec_comm_at(t->comm)->n_waiting--;
}

/* They will never be known. */
static void refuse_times(struct waiting_times *t)
{
    release_times(t);
    atomic_fetch_add_explicit(&rec_comm_at(t->comm)->trust.n_refused, 1,
                              memory_order_relaxed);
}

/* Settles the times if something shows by now whose they are, or if nothing
 * will (end). Reports since then may prove them and overrun others, so what is
 * proven is looked at first. */
static void settle_waiting(struct waiting_times *t, bool end)
{
    const struct jp_rec_trust *trust = &rec_comm_at(t->comm)->trust;
    const struct jpr_times times = t->times;

    if (!rec_trust_is_proven(trust, t->link, t->number, t->channels)) {
        if (end)
            refuse_times(t);
    } else if (rec_trust_is_overrun(trust, t->times.gpu_first_ns,
                                    t->times.gpu_last_ns)) {
        refuse_times(t);
    } else {
        release_times(t);
        put_times(&times);
    }
}

/* Settles what it can; with `all` the rest, too. Reports of a communicator
 * since the last look may show something. */
static void settle_times(bool all)
{
    unsigned i, n = later.first < later.next ? rec_comm_places() : 0;

    for (i = 0; i < n; i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);
        uint32_t proofs;

        if (!rec_comm_used(comm) || comm->n_waiting == 0)
            continue;
        proofs =
            atomic_load_explicit(&comm->trust.n_proofs, memory_order_acquire);
        comm->has_proof = proofs != comm->looked_proofs;
        comm->looked_proofs = proofs;
    }
    for (uint64_t number = later.first; number < later.next; number++) {
        struct waiting_times *t = waiting_at(number);
        const struct jp_rec_comm *comm = rec_comm_at(t->comm);
        bool end = all ||
                   atomic_load_explicit(&comm->finalized, memory_order_acquire);

        if (t->times.number && (end || comm->has_proof))
            settle_waiting(t, end);
    }
    while (later.first < later.next && !waiting_at(later.first)->times.number)
        later.first++;
}

/* A full sink takes no times. */
static void refuse_all_times(void)
{
    for (; later.first < later.next; later.first++) {
        if (waiting_at(later.first)->times.number)
            refuse_times(waiting_at(later.first));
    }
}

/* Takes the times of an operation that is about to be written without them. The
 * oldest ones make room. */
static void keep_times(const struct jp_rec_record *r, struct jpr_op *op)
{
    struct waiting_times *t = waiting_at(later.next);

    if (later.next - later.first == JPR_MAX_LATER) {
        if (t->times.number)
            settle_waiting(t, true);
        later.first++;
    }
    op->later = later.next++;
    *t = (struct waiting_times){
        .times = {.number = op->later,
                  .gpu_first_ns = op->gpu_first_ns,
                  .gpu_last_ns = op->gpu_last_ns,
                  .exec_ns = op->exec_ns,
                  .has_phases = op->has_phases,
                  .sync_ns = op->sync_ns,
                  .compute_ns = op->compute_ns,
                  .close_ns = op->close_ns},
        .number = r->facts.number,
        .channels = r->late,
        .comm = r->facts.comm,
        .link = (uint8_t) rec_op_link(r->facts.func),
    };
    rec_comm_at(t->comm)->n_waiting++;
}

/* Returns whether nothing shows yet whose the GPU's stamps are. To be called
 * before convert(), which looks whether those that are proven were overrun. */
static bool is_unproven(const struct jp_rec_record *r)
{
    return r->late != 0 &&
           !rec_trust_is_proven(&rec_comm_at(r->facts.comm)->trust,
                                rec_op_link(r->facts.func), r->facts.number,
                                r->late);
}

/* Takes a finished record. When the block is full, it is written and the record
 * begins the next one. */
static void take_record(const struct jp_rec_record *record)
{
    struct who who = {record->facts.comm, record->facts.kind,
                      record->facts.func};
    struct jp_rec_comm *comm = rec_comm_at(who.comm);
    bool unproven;
    struct jpr_op op;

    if (f.full && !is_kept()) {
        count_of(who)->left_out++;
        return;
    }
    unproven = is_unproven(record);
    convert(record, comm->about.index, &op);
    if (unproven && op.gpu_first_ns) {
        if (op.source == JPR_KERNEL_GPU && !f.full)
            keep_times(record, &op);
        op.gpu_first_ns = op.gpu_last_ns = 0;
        op.has_phases = false;
        if (op.source == JPR_KERNEL_GPU)
            op.exec_ns = 0;
    }
    if (op.source == JPR_KERNEL_GPU && op.exec_ns == 0 && !op.later)
        atomic_fetch_add_explicit(&comm->trust.n_refused, 1,
                                  memory_order_relaxed);
    rec_sink_comm(comm);
    if (f.n_batch >= batch_limit() || !jpr_packer_add(f.ops, &op)) {
        end_ops();
        write_out(false);
        set_full(rec_clock_ns());
        rec_sink_comm(comm);               /* again, if the write has failed */
        (void) jpr_packer_add(f.ops, &op); /* an empty block takes any */
    }
    f.batch[f.n_batch++] = who;
    count_of(who)->written++;
}

/* -------------------------------------------------- snapshot and counters */

/* Keeps the starts of the oldest operations in flight, sorted by insertion. */
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

/* Looks at the first n places. */
static void find_oldest(uint32_t n)
{
    struct jp_rec_record record;
    uint32_t i;

    f.n_oldest = 0;
    for (i = 0; i < n; i++) {
        if (rec_op_look(i, &record))
            note_start(record.facts.start_ns);
    }
}

/* Returns whether the snapshot takes an operation that started then: in a full
 * sink only the oldest. */
static bool is_told(uint64_t start_ns)
{
    return !f.full || f.n_oldest < OLDEST || start_ns <= f.oldest[OLDEST - 1];
}

/* Packs the operations in flight. Returns how many there are, and in *omitted
 * those without room. The signature changes when any of them moves. */
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
        if (!rec_op_look(i, &record))
            continue;
        count++;
        hash = hash_word(hash, record.facts.start_ns + record.started);
        hash =
            hash_word(hash, record.times[JP_REC_ENQUEUE_STOP] + record.stopped);
        if (!is_told(record.facts.start_ns))
            continue;
        rec_sink_comm(rec_comm_at(record.facts.comm));
        convert(&record, rec_comm_at(record.facts.comm)->about.index, &op);
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

/* Adds the snapshot to the buffer if it has changed, or again after a while. An
 * empty one is added once, to replace the last. */
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
    rec_sink_add(JPR_BLOCK_INFLIGHT, raw, n);
    f.told_signature = f.signature;
    f.told_at_ns = now;
    f.told_some = count > 0;
}

/* Adds communicators even before their first operation, once their name is
 * known. */
static void tell_comms(void)
{
    unsigned i;

    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        if (rec_comm_used(comm) &&
            atomic_load_explicit(&comm->known, memory_order_acquire))
            rec_sink_comm(comm);
    }
}

/* Adds the counters if they have changed, or as a sign of life. */
static void add_counters(uint64_t now, uint64_t in_flight, bool final)
{
    uint64_t beat_ns = longer(SECOND_NS, (now - f.changed_ns) / BEAT_PART);
    bool beat = f.full || (rec_comm_live() > 0 && now - f.counted_ns > beat_ns);

    switch (rec_sink_counters(in_flight, final, beat)) {
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

/* Returns whether a full sink gets its counters and snapshot now; always true
 * for one that is not full. rec_writer.h has the formula. */
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
    /* nothing for another flush: wait as long again as the sink has been full
     */
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

/* Writes all that is new. */
static void flush(uint64_t now, uint64_t in_flight, uint64_t omitted,
                  bool final)
{
    uint64_t left = rec_sink_allowance();

    if (f.only_header)
        rec_sink_header();
    tell_comms();
    end_ops();
    end_times();
    add_snapshot(now, in_flight, omitted);
    add_counters(now, in_flight, final);
    write_out(final);
    f.flushed_ns = now;
    if (f.full && left > rec_sink_allowance() + f.ops_bytes)
        f.flush_bytes = left - rec_sink_allowance() - f.ops_bytes;
}

/* One flush. `final`: the process or its last communicator ends. */
static void flush_run(bool final)
{
    uint64_t now = rec_clock_ns();
    uint64_t in_flight, omitted;

    if (!f.ops)
        return;
    set_full(now);
    /* finished operations before the snapshot: one that ends in between is in
     * the next flush, not in both */
    rec_op_drain(take_record);
    settle_times(final);
    in_flight = take_snapshot(now, &omitted);
    if (final || is_due(now, in_flight))
        flush(now, in_flight, omitted, final);
    /* without the operations there may be room for the counters */
    if (final && f.failed) {
        tell_comms();
        rec_sink_counters(in_flight, final, false);
        write_out(final);
    }
    rec_sink_release(f.failed && f.n_batch == 0);
}

/* --- the thread that writes: every 100 ms, or when much is waiting ------- */

#define MS 1000000ULL
#define DRAIN_NS (100 * MS)
#define FLUSH_WAIT_NS (40 * MS)
#define OPEN_WAIT_NS (200 * MS)
#define CLOSE_WAIT_NS (2000 * MS)

static struct {
    bool started;
    pid_t pid; /* of the process that has the thread */
    atomic_bool closing;
    atomic_bool ready; /* rec_writer_init() was called: it may write */
    atomic_bool late;  /* a caller waited until its timeout */
    char dir[4096];
    const struct jp_rec_settings *settings;
    const char *why_not;       /* why the directory cannot be used, or NULL */
    _Atomic uint32_t opened;   /* 1: why_not has the outcome */
    _Atomic uint32_t asked;    /* flushes wanted so far */
    _Atomic uint32_t answered; /* flushes done so far */
} w;

/* Sleeps while *word is `value`, at most ns; 0: without a limit. */
static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec ts = {(time_t) (ns / 1000000000), (long) (ns % 1000000000)};

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &ts : NULL, NULL,
            0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Wakes the writer. The count changes first, so that a thread about to sleep
 * does not. */
static void ring(void)
{
    atomic_fetch_add(&jp_rec_bell.rung, 1);
    futex_wake(&jp_rec_bell.rung);
}

void rec_writer_wake(void)
{
    ring();
}

/* ------------------------------------------------------------- the thread */

/* Sleeps until *next_ns, or without a limit while no communicator is live.
 * ring() ends the sleep. The counter of rings is read before the conditions, so
 * that the futex returns at once if it has changed since. */
static void sleep_a_while(uint64_t *next_ns)
{
    uint32_t bell = atomic_load(&jp_rec_bell.rung);
    uint64_t now = rec_clock_ns();

    atomic_store(&jp_rec_bell.sleeping, true);
    if (atomic_load(&w.asked) == atomic_load(&w.answered) &&
        !atomic_load(&w.closing)) {
        if (rec_comm_live() == 0)
            futex_wait(&jp_rec_bell.rung, bell, 0);
        else if (now < *next_ns)
            futex_wait(&jp_rec_bell.rung, bell, *next_ns - now);
    }
    atomic_store(&jp_rec_bell.sleeping, false);
    *next_ns = rec_clock_ns() + DRAIN_NS;
}

/* Ends what is over, then writes. */
static void write_once(bool closing)
{
    int mask = rec_chain_is_on() ? rec_chain_seen() : rec_trust_seen();

    rec_pause_look(w.dir, mask, rec_clock_ns());
    if (rec_trust_look(mask))
        rec_op_doubt_waiting();
    if (closing) {
        rec_comm_close(NULL);
        rec_op_end_all(NULL);
    } else {
        rec_op_end_quiet();
    }
    flush_run(closing || rec_comm_live() == 0);
}

/* Opens the directory and wakes rec_writer_start(), which waits for the
 * outcome. */
static bool open_directory(void)
{
    w.why_not = rec_sink_open(w.dir, w.settings);
    atomic_store(&w.opened, 1);
    futex_wake(&w.opened);
    return !w.why_not;
}

/* The writer thread. `asked` is read before writing, so that an answer covers
 * everything that was there at the time of the request. */
static void *writer_main(void *unused)
{
    uint64_t next_ns = rec_clock_ns() + DRAIN_NS;
    bool closing = false;

    (void) unused;
    prctl(PR_SET_NAME, "jobprof-rec");
    (void) ownfile_own_table();
    if (!open_directory())
        return NULL;
    while (!closing) {
        uint32_t asked;

        sleep_a_while(&next_ns);
        asked = atomic_load(&w.asked);
        closing = atomic_load(&w.closing);
        if (atomic_load(&w.ready))
            write_once(closing);
        atomic_store(&w.answered, asked);
        atomic_store(&w.late, false);
        futex_wake(&w.answered);
    }
    return NULL;
}

/* Returns 0 or -1. The thread inherits a mask that blocks all signals. */
static int start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    /* sets the thread's mask on Linux, under a symbol that older glibcs have */
    sigprocmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&thread, &attr, writer_main, NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return rc == 0 ? 0 : -1;
}

const char *rec_writer_start(const char *dir,
                             const struct jp_rec_settings *settings)
{
    uint64_t until = rec_clock_ns() + OPEN_WAIT_NS;
    uint64_t now;

    if (w.started)
        return NULL;
    if (dir && strlen(dir) >= sizeof(w.dir))
        return "JOBPROF_RECORDER_DIR is too long";
    memcpy(w.dir, dir ? dir : "", dir ? strlen(dir) + 1 : 1);
    w.settings = settings;
    atomic_store(&w.closing, false);
    atomic_store(&w.ready, false);
    atomic_store(&w.late, false);
    atomic_store(&w.opened, 0);
    atomic_store(&w.asked, 0);
    atomic_store(&w.answered, 0);
    if (start_thread() < 0)
        return "the writer thread cannot be started";
    w.started = true;
    w.pid = getpid();
    while (!atomic_load(&w.opened) && (now = rec_clock_ns()) < until)
        futex_wait(&w.opened, 0, until - now);
    if (!atomic_load(&w.opened))
        return NULL;
    w.started = !w.why_not;
    return w.why_not;
}

int rec_writer_init(const struct jp_rec_settings *settings, int interface,
                    bool only_header)
{
    if (begin(settings, interface, only_header) < 0)
        return -1;
    atomic_store(&w.ready, true);
    if (only_header) /* no communicator will wake the thread */
        ring();
    return 0;
}

/* ------------------------------------------------------------------ others */

/* Requests a flush and waits until it is done, at most wait_ns. */
static void ask_and_wait(uint64_t wait_ns)
{
    uint64_t until = rec_clock_ns() + wait_ns;
    uint32_t mine, answered;

    if (!w.started || getpid() != w.pid)
        return; /* no thread here: a copy by clone(), which runs no fork
                   handlers */
    mine = atomic_fetch_add(&w.asked, 1) + 1;
    ring();
    while ((int32_t) ((answered = atomic_load(&w.answered)) - mine) < 0) {
        uint64_t now = rec_clock_ns();

        if (now >= until) {
            atomic_store(&w.late, true);
            break;
        }
        futex_wait(&w.answered, answered, until - now);
    }
}

void rec_writer_flush(void)
{
    ask_and_wait(atomic_load(&w.late) ? 0 : FLUSH_WAIT_NS);
}

void rec_writer_close(void)
{
    if (atomic_exchange(&w.closing, true))
        return;
    ask_and_wait(CLOSE_WAIT_NS);
}

void rec_writer_after_fork(void)
{
    rec_sink_close();
    w.started = false;
}
