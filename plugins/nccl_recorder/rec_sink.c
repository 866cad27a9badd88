/* rec_sink.c - the file of one process: blocks, one write at a time, within its
 * allowance; and the counters of what was produced, written, lost, left out.
 *
 * Blocks are added to a buffer (rec_sink_add) and written together
 * (rec_sink_write). `s` is the file and its caps, `t` what the file's counters
 * say. A communicator's `told...` members hold what the buffer has of it; if a
 * write fails, they are reset so that it is added again.
 */
#include "plugins/nccl_recorder/rec_writer.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/ownfile.h"
#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_compat.h"
#include "plugins/nccl_recorder/rec_env.h"
#include "plugins/nccl_recorder/rec_op.h"

/* --- the file and its caps ------------------------------------------------ */

/* MAX_TRIES names are tried; LAST_BYTES are kept for the last block. The
 * allowance is a sixteenth of the cap within these limits. If the file system
 * is nearly full, it is 256 KiB at most. */
enum { MAX_TRIES = 1000, LAST_BYTES = 4096 };
#define ALLOWANCE_MIN (128ULL << 10)
#define ALLOWANCE_MAX (1ULL << 20)
#define ALLOWANCE_LOW_SPACE (256ULL << 10)
/* How old the number of free bytes may be: in time, and in bytes that this file
 * has grown by. */
#define LOOK_NS 1000000000ULL
#define LOOK_BYTES (1ULL << 20)
/* Other ranks write to the same file system. With less than 4 x min_free free,
 * each of them looks that much more often. */
enum { NEAR = 4 };
/* After a failed write no other is tried for a second. */
#define RETRY_NS 1000000000ULL

static struct {
    struct ownfile file; /* if it is lost, nothing more is written */
    uint64_t end;        /* bytes of whole blocks in the file */
    uint64_t disk_bytes;
    uint64_t min_free_bytes;
    bool low_space;      /* the file system has too little left */
    bool is_near;        /* free space is close to min_free */
    uint64_t low_end;    /* `end` when space became low */
    uint64_t looked_ns;  /* the last look at the file system: its time */
    uint64_t looked_end; /* ... and `end` then */
    bool capped;         /* a write was too long for what is left */
    uint64_t failed_ns;  /* time of a failed write; 0: the last one succeeded */
    struct jpr_room room; /* full: as the last look found it */
    struct jpr_room told; /* the last one in the file or the buffer */
    struct jpr_room in_file;
} s;

static struct jpr_header header;   /* the file's first block */
static struct jpr_process process; /* its second one */

const char *rec_sink_open(const char *dir,
                          const struct jp_rec_settings *settings)
{
    struct ownfile opened = {.lost = false};

    if (!dir || !dir[0])
        return "JOBPROF_RECORDER_DIR is not set";
    if (ownfile_open(&opened, dir, 0) < 0)
        return "the directory of JOBPROF_RECORDER_DIR cannot be opened";
    /* not faccessat(), which is a newer call that old filters forbid */
    if (syscall(SYS_faccessat, ownfile_folder(&opened), ".", W_OK | X_OK) < 0) {
        ownfile_close(&opened);
        return "the directory of JOBPROF_RECORDER_DIR is not writable";
    }
    memset(&s, 0, sizeof(s));
    s.file = opened;
    s.disk_bytes = settings->disk_bytes;
    s.min_free_bytes = settings->min_free_bytes;
    return NULL;
}

/* Creates the file under an unused name. Returns 0 or -1. */
static int create_file(void)
{
    char name[OWNFILE_NAME_MAX + 64];
    int i;

    for (i = 0; i < MAX_TRIES; i++) {
        char suffix[16] = "";

        if (i > 0)
            snprintf(suffix, sizeof(suffix), "-%d", i);
        snprintf(name, sizeof(name), "%s-pid%d%s.jpr", header.hostname,
                 (int) getpid(), suffix);
        if (ownfile_create(&s.file, name) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return -1;
}

/* ------------------------------------------------------------------ caps -- */

/* Returns the part of the cap that is for a full sink. */
static uint64_t cap_allowance(void)
{
    uint64_t part = s.disk_bytes / 16;

    if (part < ALLOWANCE_MIN)
        part = ALLOWANCE_MIN;
    if (part > s.disk_bytes / 2)
        part = s.disk_bytes / 2;
    return part < ALLOWANCE_MAX ? part : ALLOWANCE_MAX;
}

/* Notes a limit that leaves no room. */
static void reach(enum jpr_limit limit, int error)
{
    if (!s.room.limits)
        s.room.since_ns = rec_clock_ns();
    if (limit == JPR_LIMIT_WRITE && !(s.room.limits & JPR_LIMIT_WRITE))
        s.room.error = (uint64_t) error;
    s.room.limits |= limit;
}

/* Looks at the free space of the file system if the last look is too old. */
static void look_at_space(void)
{
    struct statvfs fs;
    uint64_t now = rec_clock_ns();
    uint64_t often = s.is_near ? NEAR : 1;
    uint64_t free_bytes, enough;
    int folder;

    if (s.looked_ns && now - s.looked_ns < LOOK_NS / often &&
        s.end - s.looked_end < LOOK_BYTES / often)
        return;
    s.looked_ns = now;
    s.looked_end = s.end;
    folder = ownfile_folder(&s.file);
    if (folder < 0 || fstatvfs(folder, &fs) < 0)
        return;
    free_bytes = (uint64_t) fs.f_bavail * fs.f_frsize;
    s.is_near = free_bytes / NEAR < s.min_free_bytes;
    /* hysteresis: a little more space is needed to leave the state than to
     * enter it */
    enough = s.min_free_bytes + (s.low_space ? s.min_free_bytes / 8 : 0);
    if (free_bytes < enough + LOOK_BYTES && !s.low_space)
        s.low_end = s.end;
    s.low_space = free_bytes < enough + LOOK_BYTES;
}

static bool is_full(void)
{
    if (s.min_free_bytes && !s.file.lost)
        look_at_space();
    if (s.file.lost) /* records count as lost, not as left out */
        return false;
    if (s.capped || (s.disk_bytes && s.end >= s.disk_bytes - cap_allowance())) {
        reach(JPR_LIMIT_DISK, 0);
        return true;
    }
    if (s.low_space)
        reach(JPR_LIMIT_MIN_FREE, 0);
    return s.low_space;
}

uint64_t rec_sink_room(void)
{
    uint64_t end = s.disk_bytes - cap_allowance();

    if (!s.disk_bytes || s.file.lost)
        return UINT64_MAX;
    return s.end < end && !s.capped ? end - s.end : 0;
}

uint64_t rec_sink_allowance(void)
{
    uint64_t left = UINT64_MAX;

    if (!is_full())
        return left;
    if (s.disk_bytes)
        left = s.end < s.disk_bytes ? s.disk_bytes - s.end : 0;
    if (s.low_space) {
        uint64_t filled = s.end - s.low_end;
        uint64_t low =
            filled < ALLOWANCE_LOW_SPACE ? ALLOWANCE_LOW_SPACE - filled : 0;

        left = left < low ? left : low;
    }
    return left > LAST_BYTES ? left - LAST_BYTES : 0;
}

/* --------------------------------------------------------------- writing -- */

/* Returns whether n bytes may be written. `last`: they may use what is kept for
 * the last block. */
static bool fits(size_t n, bool last)
{
    uint64_t left = rec_sink_allowance();
    uint64_t keep = left == UINT64_MAX ? cap_allowance() : LAST_BYTES;

    if (s.disk_bytes && s.end + n + (last ? 0 : keep) > s.disk_bytes) {
        s.capped = true;
        return false;
    }
    return left == UINT64_MAX || last || n <= left;
}

/* Writes at the end of the file. On failure `end` stays, so that the next write
 * goes over a partial block. */
static int write_all(const void *at, size_t n)
{
    if (ownfile_write(&s.file, at, n, s.end) < 0)
        return -1;
    s.end += n;
    return 0;
}

/* Creates the file with its first bytes, once. Returns 0 or -1. */
static int begin_file(void)
{
    uint8_t head[JPR_HEAD_BYTES];

    if (!s.file.fd && create_file() < 0)
        return -1;
    jpr_head_write(head);
    return s.end > 0 ? 0 : write_all(head, sizeof(head));
}

/* Writes whole blocks at the end of the file, which the first call creates.
 * Returns 0, or -1 when none of them is in the file. `last`: they may use what
 * is kept for the last block. */
static int append_blocks(const void *blocks, size_t n, bool last)
{
    if (!s.file.folder)
        return -1;
    if (s.failed_ns && !last && rec_clock_ns() - s.failed_ns < RETRY_NS)
        return -1;
    if (!fits(n, last))
        return -1;
    s.failed_ns = 0;
    if (begin_file() == 0 && write_all(blocks, n) == 0)
        return 0;
    reach(JPR_LIMIT_WRITE, errno);
    /* remove what was written of a block; if that fails as well, the next write
     * goes over it */
    (void) ownfile_truncate(&s.file, s.end);
    s.failed_ns = rec_clock_ns();
    return -1;
}

void rec_sink_close(void)
{
    ownfile_close(&s.file);
}

/* --- blocks of the file, collected for one write ------------------------- */

/* Room for two blocks of operations, one of times and the counters even if
 * nothing can be compressed. */
enum { BUFFER_BYTES = 432 * 1024, PAYLOAD_BYTES = 96 * 1024 };

static uint8_t *buffer; /* blocks for the next write */
static size_t used;
static bool overflow;    /* a block did not fit: the write will fail */
static bool ever;        /* a write has succeeded */
static bool told_header; /* the header is in the file or the buffer */
static uint8_t *space;   /* of `payload` */
static struct jpr_out payload;
static struct jpr_zip *zip; /* NULL: blocks are stored */

/* Returns an empty payload to fill, valid until the next call. */
static struct jpr_out *empty_payload(void)
{
    payload = (struct jpr_out){.bytes = space, .size = PAYLOAD_BYTES};
    return &payload;
}

size_t rec_sink_add(enum jpr_block type, const uint8_t *raw, size_t n)
{
    size_t added;

    if (n == 0)
        return 0;
    added =
        jpr_frame_write(type, raw, n, zip, buffer + used, BUFFER_BYTES - used);
    if (added == 0)
        overflow = true;
    used += added;
    return added;
}

void rec_sink_header(void)
{
    struct jpr_out *out;

    if (told_header)
        return;
    out = empty_payload();
    jpr_put_header(out, &header);
    rec_sink_add(JPR_BLOCK_HEADER, out->bytes, out->full ? 0 : out->used);
    out = empty_payload();
    jpr_put_process(out, &process);
    rec_sink_add(JPR_BLOCK_PROCESS, out->bytes, out->full ? 0 : out->used);
    told_header = true;
}

void rec_sink_tell_room(bool full)
{
    struct jpr_out *out;

    s.room.full = full;
    if (s.room.limits == s.told.limits && full == s.told.full)
        return;
    rec_sink_header();
    s.told = s.room;
    out = empty_payload();
    jpr_put_room(out, &s.room);
    rec_sink_add(JPR_BLOCK_ROOM, out->bytes, out->used);
}

void rec_sink_comm(struct jp_rec_comm *comm)
{
    struct jpr_out *out;

    if (comm->told)
        return;
    rec_sink_header();
    comm->told = true;
    out = empty_payload();
    jpr_put_u64(out, 1);
    jpr_put_comm(out, &comm->about);
    rec_sink_add(JPR_BLOCK_COMM, out->bytes, out->used);
}

/* --- counters: produced, written, lost, left out ------------------------- */

/* Rows of one block; with more of them a second block begins. A row is at most
 * 60 bytes. */
enum { MAX_ROWS = 1024, MAX_UNSEEN = 256, MAX_DOUBTS = 256 };
/* A call counts as unseen if it was so at two looks this far apart: NCCL
 * reports its operation only at the end of the program's group. */
#define UNSEEN_NS 500000000ULL

static struct {
    struct jpr_counts gone[JPR_N_OP_KINDS]; /* sums of communicators that have
                                               lost their places */
    struct jpr_comm_counts rows[MAX_ROWS];
    struct jpr_unseen unseen[MAX_UNSEEN];
    struct jpr_doubts doubts[MAX_DOUBTS];
    uint64_t looked_ns; /* the last look at calls without operation */
    uint64_t told_sum;  /* of all numbers in the last block, to find changes */
    uint64_t told_pauses; /* the same of the pauses */
    bool told_final;
} t;

static void add_counts(struct jpr_counts *sum, const struct jp_rec_count *count)
{
    /* read produced last: then it is never less than the other three together
     */
    sum->lost += atomic_load_explicit(&count->lost, memory_order_acquire);
    sum->written += count->written;
    sum->left_out += count->left_out;
    sum->produced += rec_comm_sum(&count->produced);
}

/* Counters only grow, so two states with one sum are the same. */
static uint64_t sum_of(const struct jpr_counts *c)
{
    return c->produced + c->written + c->lost + c->left_out;
}

/* Fills the row of a function over all kinds; returns false when nothing was
 * produced. */
static bool fill_row(const struct jp_rec_comm *comm, unsigned func,
                     struct jpr_comm_counts *row)
{
    int kind;

    *row = (struct jpr_comm_counts){.comm = comm->about.index,
                                    .func = rec_names_func_text(func),
                                    .finalized = atomic_load(&comm->finalized)};
    for (kind = 0; kind < JPR_N_OP_KINDS; kind++)
        add_counts(&row->counts, &comm->counts[kind][func]);
    return row->counts.produced > 0;
}

/* Adds the rows so far as a block of counters. */
static void emit(struct jpr_counters *counters, bool final)
{
    struct jpr_out *out = empty_payload();

    counters->final = final;
    jpr_put_counters(out, counters);
    rec_sink_add(JPR_BLOCK_COUNTERS, out->bytes, out->full ? 0 : out->used);
    counters->n_rows = 0;
    counters->n_unseen = 0;
    counters->n_doubts = 0;
}

/* Adds the rows of a communicator that changed, or all. */
static void add_rows(struct jpr_counters *counters, struct jp_rec_comm *comm,
                     bool all)
{
    unsigned func;

    for (func = 0; func < JP_REC_FUNCS; func++) {
        struct jpr_comm_counts row;
        uint64_t sum;

        if (!fill_row(comm, func, &row))
            continue;
        /* also changes when the communicator is finalized */
        sum = sum_of(&row.counts) * 2 + row.finalized;
        if (!all && sum == comm->told_sums[func])
            continue;
        if (counters->n_rows == MAX_ROWS)
            emit(counters, false);
        comm->told_sums[func] = sum;
        t.rows[counters->n_rows++] = row;
    }
}

/* Returns the number of calls without an operation so far. The counter may be
 * negative for a moment, when threads count in another order. */
static uint64_t unseen_of(const struct jp_rec_comm *comm, unsigned func)
{
    int64_t n = (int64_t) rec_comm_sum(&comm->unseen[func]);

    return n > 0 ? (uint64_t) n : 0;
}

/* Adds the unseen calls that changed. `all`: the process or its last
 * communicator has ended, so no operation is still to come. */
static void add_unseen(struct jpr_counters *counters, struct jp_rec_comm *comm,
                       bool all, bool look)
{
    bool over = all || atomic_load(&comm->finalized);
    unsigned func;

    for (func = 0; func < JP_REC_FUNCS && (look || over); func++) {
        uint64_t now = unseen_of(comm, func);
        uint64_t n = now;

        if (!over && comm->looked_unseen[func] < now)
            n = comm->looked_unseen[func];
        if (look)
            comm->looked_unseen[func] = now;
        if (n == comm->told_unseen[func] && !(all && n > 0))
            continue;
        if (counters->n_unseen == MAX_UNSEEN)
            emit(counters, false);
        comm->told_unseen[func] = n;
        t.unseen[counters->n_unseen++] = (struct jpr_unseen){
            comm->about.index, rec_names_func_text(func), n};
    }
}

/* Returns the doubts of a communicator as they are now. */
static struct jpr_doubts doubts_of(const struct jp_rec_comm *comm)
{
    const struct jp_rec_trust *trust = &comm->trust;

    return (struct jpr_doubts){
        .comm = comm->about.index,
        .reasons = atomic_load_explicit(&trust->reasons, memory_order_relaxed),
        .unsure = rec_comm_sum(&trust->n_unsure),
        .refused =
            atomic_load_explicit(&trust->n_refused, memory_order_relaxed),
    };
}

/* A number that changes with any of them: reasons are only added. */
static uint64_t sum_of_doubts(const struct jpr_doubts *doubts)
{
    return (doubts->unsure + doubts->refused) * (JPR_DOUBTS + 1) +
           doubts->reasons;
}

/* Adds the doubts of a communicator if they changed, or all that it has. */
static void add_doubts(struct jpr_counters *counters, struct jp_rec_comm *comm,
                       bool all)
{
    struct jpr_doubts doubts = doubts_of(comm);
    uint64_t sum = sum_of_doubts(&doubts);

    if (sum == comm->told_doubts && !(all && sum > 0))
        return;
    if (counters->n_doubts == MAX_DOUBTS)
        emit(counters, false);
    comm->told_doubts = sum;
    t.doubts[counters->n_doubts++] = doubts;
}

/* Sums by kind of operation over all communicators, past ones included. */
static void sum_kinds(struct jpr_counters *counters)
{
    unsigned i;
    int kind, func;

    memcpy(counters->kinds, t.gone, sizeof(t.gone));
    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        for (kind = 0; rec_comm_used(comm) && kind < JPR_N_OP_KINDS; kind++) {
            for (func = 0; func < JP_REC_FUNCS; func++)
                add_counts(&counters->kinds[kind], &comm->counts[kind][func]);
        }
    }
}

static uint64_t sum_of_all(const struct jpr_counters *c)
{
    return sum_of(&c->kinds[JPR_COLL]) + sum_of(&c->kinds[JPR_P2P]) +
           sum_of(&c->kinds[JPR_CE]) + c->lost_steps + c->lost_comms +
           c->lost_foreign;
}

/* Adds the rows of all communicators that have their block in the file or
 * buffer. */
static void add_comms(struct jpr_counters *counters, bool all)
{
    bool look = counters->clocks.mono_ns - t.looked_ns > UNSEEN_NS;
    unsigned i;

    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        if (!rec_comm_used(comm) || !comm->told)
            continue;
        add_rows(counters, comm, all);
        add_unseen(counters, comm, all, look);
        add_doubts(counters, comm, all);
    }
    if (look)
        t.looked_ns = counters->clocks.mono_ns;
}

/* Returns the operations that are accounted for nowhere else. So a final block
 * adds up, even if a thread has begun an operation after the table was
 * searched. */
static uint64_t missing(const struct jpr_counters *counters)
{
    uint64_t n = 0;
    int kind;

    for (kind = 0; kind < JPR_N_OP_KINDS; kind++) {
        const struct jpr_counts *c = &counters->kinds[kind];

        n += c->produced - c->written - c->lost - c->left_out;
    }
    return n;
}

enum jp_rec_tally rec_sink_counters(uint64_t in_flight, bool final, bool anyway)
{
    struct jpr_counters counters = {
        .in_flight = in_flight,
        .lost_steps = rec_net_lost(),
        .rows = t.rows,
        .unseen = t.unseen,
        .doubts = t.doubts,
    };
    bool changed;
    uint64_t pauses = 0;
    uint64_t i;

    rec_env_clocks(&counters.clocks);
    rec_comm_totals(&counters);
    add_comms(&counters, final && !t.told_final);
    sum_kinds(&counters);
    if (final)
        counters.in_flight = missing(&counters);
    counters.n_pauses = rec_pause_list(&counters.pauses);
    for (i = 0; i < counters.n_pauses; i++)
        pauses += 1 + (counters.pauses[i].to_ns != 0) +
                  3 * counters.pauses[i].skipped;
    changed = counters.n_rows > 0 || counters.n_unseen > 0 ||
              counters.n_doubts > 0 || pauses != t.told_pauses ||
              sum_of_all(&counters) != t.told_sum || final != t.told_final;
    if (!changed && !anyway)
        return JP_REC_TALLY_NONE;
    t.told_sum = sum_of_all(&counters);
    t.told_pauses = pauses;
    t.told_final = final;
    emit(&counters, final);
    return changed ? JP_REC_TALLY_CHANGED : JP_REC_TALLY_BEAT;
}

/* Returns whether everything that was produced is accounted for and, without
 * `anyway`, also in the file. */
static bool is_done(const struct jp_rec_comm *comm, bool anyway)
{
    const struct jpr_doubts doubts = doubts_of(comm);
    unsigned func;

    if (comm->n_waiting > 0)
        return false;
    if (!anyway && comm->told_doubts != sum_of_doubts(&doubts))
        return false;
    for (func = 0; func < JP_REC_FUNCS; func++) {
        struct jpr_comm_counts row;

        if (!anyway && comm->told_unseen[func] != unseen_of(comm, func))
            return false;
        if (!fill_row(comm, func, &row))
            continue;
        if (row.counts.produced !=
            row.counts.written + row.counts.lost + row.counts.left_out)
            return false;
        if (!anyway && comm->told_sums[func] != sum_of(&row.counts) * 2 + 1)
            return false;
    }
    return true;
}

void rec_sink_release(bool anyway)
{
    unsigned i;
    int kind, func;

    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        if (!rec_comm_used(comm) || !atomic_load(&comm->finalized) ||
            !is_done(comm, anyway))
            continue;
        for (kind = 0; kind < JPR_N_OP_KINDS; kind++) {
            for (func = 0; func < JP_REC_FUNCS; func++)
                add_counts(&t.gone[kind], &comm->counts[kind][func]);
        }
        /* an even generation: the place is free, and no context matches it */
        atomic_fetch_add(&comm->generation, 1);
    }
}

/* --- begin and write ----------------------------------------------------- */

int rec_sink_begin(const struct jp_rec_settings *settings, int interface)
{
    if (!buffer && !(buffer = malloc(BUFFER_BYTES)))
        return -1;
    if (!space && !(space = malloc(PAYLOAD_BYTES)))
        return -1;
    if (!zip) /* without it blocks are stored uncompressed */
        zip = jpr_zip_create();
    used = 0;
    overflow = false;
    ever = false;
    told_header = false;
    memset(&t, 0, sizeof(t));
    rec_env_header(settings, interface, &header);
    rec_env_process(&process);
    return 0;
}

/* All rows of the communicator must be written again. */
static void forget_told(struct jp_rec_comm *comm)
{
    unsigned func;

    memset(comm->told_sums, 0, sizeof(comm->told_sums));
    comm->told_doubts = 0;
    for (func = 0; func < JP_REC_FUNCS; func++) {
        if (comm->told_unseen[func] > 0)
            comm->told_unseen[func] = UINT64_MAX;
    }
}

/* After a write: what the buffer had of each communicator is in the file, or
 * must be added again. */
static void counters_told(bool in_file)
{
    unsigned i;

    if (!in_file) {
        t.told_sum = 0;
        t.told_final = false;
    }
    for (i = 0; i < rec_comm_places(); i++) {
        struct jp_rec_comm *comm = rec_comm_at(i);

        if (!rec_comm_used(comm))
            continue;
        if (in_file)
            comm->in_file = comm->told;
        else
            forget_told(comm);
        comm->told = comm->in_file;
    }
}

int rec_sink_write(bool last)
{
    int rc = 0;

    if (overflow || (used > 0 && append_blocks(buffer, used, last) < 0))
        rc = -1;
    else
        ever = ever || used > 0;
    if (rc < 0) {
        told_header = told_header && ever;
        s.told = s.in_file;
    } else {
        s.in_file = s.told;
    }
    counters_told(rc == 0);
    used = 0;
    overflow = false;
    return rc;
}
