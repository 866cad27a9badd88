/* partial_tables.c - blocks of a partial, and the tables in them: functions,
 * communicators and members, and what the members sent.
 *
 * First how a block is written (partial_put_block). Then each table has a put
 * function, and in the same order a get function that reads it into a join.
 * Members are numbered by communicator, in the order of struct partial_out.
 * Reading follows the order of blocks: tables, pairs, bits, kernels, messages,
 * series (partial_rows_in.c), strays. */
#include "common/vector.h"
#include "orchestrator/aggregate/partial_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* --- a block --- */

uint32_t partial_check(const uint8_t frame[PARTIAL_FRAME_BYTES],
                       const uint8_t *payload, size_t n)
{
    uLong crc = crc32(0, frame, 8);

    return (uint32_t) (n ? crc32(crc, payload, (uInt) n) : crc);
}

/* Doubles the buffer of a payload. False: it would be too large, or no memory.
 */
static bool double_payload(struct jpr_out *out)
{
    size_t size = out->size ? 2 * out->size : 64 << 10;

    if (size > PARTIAL_MAX_BLOCK || vector_resize(&out->bytes, size, 1) < 0)
        return false;
    out->size = size;
    return true;
}

int partial_put_block(struct partial_out *w, enum partial_block type,
                      partial_put *put, const void *arg)
{
    uint8_t frame[PARTIAL_FRAME_BYTES];

    /* how long a payload is shows only when it is written: try with twice the
     * room until it fits */
    do {
        if ((w->out.full || !w->out.bytes) && !double_payload(&w->out))
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

/* --- the tables --- */

void partial_put_counts(struct jpr_out *out, const struct jpr_counts *counts)
{
    jpr_put_u64(out, counts->produced);
    jpr_put_u64(out, counts->written);
    jpr_put_u64(out, counts->lost);
    jpr_put_u64(out, counts->left_out);
}

/* A histogram; buckets as differences to the one before. */
static void put_rates(struct jpr_out *out, const struct join_rates *rates)
{
    uint32_t next = 0;

    jpr_put_u64(out, rates->n);
    for (uint32_t i = 0; i < rates->n; i++) {
        jpr_put_u64(out, rates->at[i].bucket - next);
        jpr_put_u64(out, rates->at[i].count);
        next = rates->at[i].bucket + 1;
    }
}

/* A rank of a communicator. Its records of collectives are counted again when
 * its lanes are read. */
static void put_member(struct jpr_out *out, const struct join_member *m)
{
    jpr_put_u64(out, m->rank);
    jpr_put_text(out, m->host);
    jpr_put_i64(out, m->pid);
    jpr_put_u64(out, m->shared | (unsigned) m->many_files << 1); /* two flags */
    jpr_put_u64(out, m->p2p_records);
    jpr_put_u64(out, m->p2p_last);
    put_rates(out, &join_traffic_of(m)->rates);
}

/* A communicator and its members. */
static void put_comm(struct jpr_out *out, const struct partial_out *w,
                     uint32_t at)
{
    const struct join_comm *c = w->join->comms[at];

    jpr_put_text(out, c->id);
    jpr_put_text(out, c->name);
    jpr_put_u64(out, c->n_ranks); /* 0: not recorded */
    jpr_put_u64(out, c->nnodes);
    jpr_put_u64(out, c->gaps_lost);
    jpr_put_u64(out, c->counted);
    if (c->counted)
        partial_put_counts(out, &c->counts);
    jpr_put_u64(out, w->first[at + 1] - w->first[at]);
    for (uint32_t i = w->first[at]; i < w->first[at + 1]; i++)
        put_member(out, w->members[i]);
}

/* The payload of PARTIAL_TABLES. */
static void put_tables(struct jpr_out *out, const void *arg)
{
    const struct partial_out *w = arg;
    const struct join *join = w->join;

    jpr_put_u64(out, join->n_funcs);
    for (uint32_t i = 0; i < join->n_funcs; i++)
        jpr_put_text(out, join->funcs[i]);
    jpr_put_u64(out, join->n_comms);
    for (uint32_t i = 0; i < join->n_comms && !out->full; i++)
        put_comm(out, w, i);
    /* totals that cannot be summed up from the other blocks */
    jpr_put_u64(out, join->duplicates);
    jpr_put_u64(out, join->nan_busbw);
    jpr_put_u64(out, join->untimed);
}

/* The payload of PARTIAL_PAIRS. Rates that the report would not use are left
 * out. */
static void put_pairs(struct jpr_out *out, const void *arg)
{
    const struct join *join = arg;

    jpr_put_u64(out, join->n_p2p);
    for (uint32_t i = 0; i < join->n_p2p; i++) {
        static const struct join_rates none;
        const struct join_p2p *p = join->p2p[i];

        jpr_put_u64(out, p->comm);
        jpr_put_u64(out, p->src);
        jpr_put_u64(out, p->dst);
        jpr_put_u64(out, p->recv);
        jpr_put_u64(out, p->count);
        jpr_put_u64(out, p->bytes);
        jpr_put_u64(out, p->exec_us);
        jpr_put_u64(out, p->busbw_sum);
        jpr_put_u64(out, p->n_busbw);
        put_rates(out, join_p2p_has_rates(join, p) ? &p->rates : &none);
    }
}

static int put_all_pairs(struct partial_out *w)
{
    return w->join->n_p2p
               ? partial_put_block(w, PARTIAL_PAIRS, put_pairs, w->join)
               : 0;
}

/* A lane of Send or Recv: which numbers have a record. Collectives have theirs
 * in the rows (partial_rows.c). */
struct lane_bits {
    uint32_t member;              /* its number */
    const struct join_lane *lane; /* without series */
    void **blocks;                /* sorted */
};

static void put_lane_bits(struct jpr_out *out, const void *arg)
{
    const struct lane_bits *bits = arg;
    size_t n = bits->lane->blocks.n;
    uint64_t next = 0;

    jpr_put_u64(out, bits->member);
    jpr_put_u64(out, bits->lane->func);
    jpr_put_u64(out, n);
    for (size_t i = 0; i < n; i++) {
        const struct join_lane_block *block = bits->blocks[i];

        /* gaps between blocks, mostly 0 */
        jpr_put_u64(out, block->number - next);
        jpr_put_u64(out, ~block->seen); /* mostly all are seen */
        next = block->number + 1;
    }
}

static int put_all_bits(struct partial_out *w)
{
    for (uint32_t i = 0; i < w->join->n_members; i++)
        for (uint32_t k = 0; k < w->members[i]->n_lanes; k++) {
            struct join_lane *lane = w->members[i]->lanes[k];
            struct lane_bits bits = {.member = i, .lane = lane};

            if (lane->series)
                continue;
            bits.blocks = blockmap_sort(&lane->blocks);
            if (partial_put_block(w, PARTIAL_BITS, put_lane_bits, &bits) < 0)
                return -1;
        }
    return 0;
}

/* The times of a rank's AlltoAlls, in the way of counting that fits. */
struct member_kernels {
    uint32_t member; /* its number */
    unsigned per;    /* messages of each kernel */
    void **blocks;   /* sorted; n of them */
    size_t n;
};

static void put_kernels(struct jpr_out *out, const void *arg)
{
    const struct member_kernels *kernels = arg;
    uint64_t next = 0;

    jpr_put_u64(out, kernels->member);
    jpr_put_u64(out, kernels->n);
    for (size_t i = 0; i < kernels->n; i++) {
        const struct join_kernel_block *block = kernels->blocks[i];

        jpr_put_u64(out, block->number - next);
        /* 0: a message of the AlltoAll is missing; else its time and 1 */
        for (unsigned k = 0; k < JOIN_KERNEL_BLOCK; k++)
            jpr_put_u64(out, block->n[k] == kernels->per
                                 ? block->us[k] + UINT64_C(1)
                                 : 0);
        next = block->number + 1;
    }
}

/* Writes the kernels of each member with messages that form AlltoAlls. */
static int put_all_kernels(struct partial_out *w)
{
    for (uint32_t i = 0; i < w->join->n_members; i++) {
        struct member_kernels kernels = {.member = i};
        const struct blockmap *blocks =
            join_kernels_of(w->join, w->members[i], &kernels.per);
        int rc;

        if (!blocks)
            continue;
        kernels.blocks = blockmap_copy(blocks);
        kernels.n = blocks->n;
        if (!kernels.blocks)
            return error_set(w->err, "out of memory");
        rc = partial_put_block(w, PARTIAL_KERNELS, put_kernels, &kernels);
        free(kernels.blocks);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* The times of a rank's messages, over the run. */
struct member_messages {
    uint32_t member; /* its number */
    const struct join_messages *messages;
};

static void put_messages(struct jpr_out *out, const void *arg)
{
    const struct member_messages *at = arg;
    uint32_t n = join_messages_parts(at->messages);

    jpr_put_u64(out, at->member);
    jpr_put_u64(out, at->messages->shift);
    jpr_put_u64(out, n);
    for (uint32_t k = 0; k < n; k++)
        jpr_put_u64(out, at->messages->us[k]);
}

static int put_all_messages(struct partial_out *w)
{
    for (uint32_t i = 0; i < w->join->n_members; i++) {
        const struct member_messages at = {
            i, &join_traffic_of(w->members[i])->messages};

        if (at.messages->room &&
            partial_put_block(w, PARTIAL_MESSAGES, put_messages, &at) < 0)
            return -1;
    }
    return 0;
}

/* What tells the members' processes, and the devices of one, apart. */
static void put_members(struct jpr_out *out, const void *arg)
{
    const struct partial_out *w = arg;

    for (uint32_t i = 0; i < w->join->n_members; i++) {
        jpr_put_u64(out, w->members[i]->instance);
        jpr_put_u64(out, w->members[i]->device);
    }
}

/* Writes that for all members, if it is known of one. */
static int put_all_members(struct partial_out *w)
{
    bool known = false;

    for (uint32_t i = 0; i < w->join->n_members; i++)
        known |= w->members[i]->instance || w->members[i]->device;
    return known ? partial_put_block(w, PARTIAL_MEMBERS, put_members, w) : 0;
}

/* Algorithms and protocols of communicators, and members with times by a CPU's
 * clock. */
static void put_words(struct jpr_out *out, const void *arg)
{
    const struct partial_out *w = arg;
    const struct join *join = w->join;

    for (uint32_t i = 0; i < join->n_comms; i++)
        for (uint32_t k = 0; k < join->comms[i]->n_paths; k++) {
            const struct join_path *path = &join->comms[i]->paths[k];

            jpr_put_u64(out, i + UINT64_C(1)); /* 0 ends the list */
            jpr_put_u64(out, path->func);
            jpr_put_u64(out, path->algo);
            jpr_put_u64(out, path->proto);
            jpr_put_u64(out, path->records);
            jpr_put_u64(out, path->bytes_min);
            jpr_put_u64(out, path->bytes_max);
        }
    jpr_put_u64(out, 0);
    for (uint32_t i = 0; i < join->n_members; i++) {
        const struct join_member *m = w->members[i];

        if (!m->kernel_cpu && !m->call_cpu)
            continue;
        jpr_put_u64(out, i + UINT64_C(1));
        jpr_put_u64(out, m->kernel_cpu);
        jpr_put_u64(out, m->call_cpu);
    }
    jpr_put_u64(out, 0);
}

/* Returns whether there is anything of these. */
static bool has_words(const struct join *join)
{
    for (uint32_t i = 0; i < join->n_comms; i++)
        if (join->comms[i]->n_paths)
            return true;
    for (uint32_t i = 0; i < join->n_members; i++)
        if (join->members[i]->kernel_cpu || join->members[i]->call_cpu)
            return true;
    return false;
}

int partial_put_tables(struct partial_out *w)
{
    /* members, then what refers to them */
    if (partial_put_block(w, PARTIAL_TABLES, put_tables, w) < 0 ||
        put_all_members(w) < 0 || put_all_pairs(w) < 0 || put_all_bits(w) < 0 ||
        put_all_kernels(w) < 0 ||
        (has_words(w->join) &&
         partial_put_block(w, PARTIAL_WORD, put_words, w) < 0))
        return -1;
    return put_all_messages(w);
}

static void put_strays(struct jpr_out *out, const void *arg)
{
    const struct partial_out *w = arg;

    jpr_put_u64(out, w->join->n_strays);
    for (size_t i = 0; i < w->join->n_strays && !out->full; i++) {
        const struct join_stray *s = &w->join->strays[i];
        /* strays have one record each, so a few values restore row and stamp */
        uint64_t key = (uint64_t) s->comm << 32 | s->rank;
        uint32_t at = keymap_find(&w->join->member_map, key, 0);

        jpr_put_u64(out, w->place[at]); /* the member's number here */
        jpr_put_u64(out, s->func);
        jpr_put_u64(out, s->sn);
        jpr_put_u64(out, s->row.bytes);
        jpr_put_u64(out, s->row.exec_sum); /* of one record */
        jpr_put_u64(out, s->row.busbw_sum);
        jpr_put_u64(out, s->row.n_busbw);
        jpr_put_u64(out, s->row.dump_min);
        jpr_put_u64(out, s->stamp.start_min);
        jpr_put_u64(out, s->stamp.end_max);
    }
}

int partial_put_strays(struct partial_out *w)
{
    return w->join->n_strays
               ? partial_put_block(w, PARTIAL_STRAYS, put_strays, w)
               : 0;
}

/* --- the same read: foreign input, no number of it is trusted --- */

/* Larger counts of records are errors. Sums stay far below 64 bits. */
#define MAX_COUNT (UINT64_C(1) << 48)

/* Bytes of the payload that are left: an element takes one at least, so this
 * bounds any number of elements. */
static size_t left(const struct jpr_in *in)
{
    return (size_t) (in->end - in->at);
}

/* Reads the names of functions. Each has to be new, so that its number is that
 * of the writer. */
static int get_funcs(struct partial_in *r)
{
    uint64_t n = jpr_get_bounded(&r->in, JOIN_MAX_FUNCS);

    for (uint64_t i = 0; i < n; i++) {
        const char *text;
        size_t len = jpr_get_text(&r->in, &text);

        if (r->in.bad || !record_is_word(text, len, RECORD_MAX_FUNC) ||
            join_func_get(r->join, text, len) != i) /* twice */
            return -1;
    }
    return r->in.bad ? -1 : 0;
}

/* Whether it is "0x" and hexadecimal digits, as the readers of logs accept it.
 */
static bool good_id(const char *id, size_t len)
{
    if (len < 3 || len > RECORD_MAX_ID || memcmp(id, "0x", 2) != 0)
        return false;
    for (size_t i = 2; i < len; i++)
        if (!strchr("0123456789abcdefABCDEF", id[i]) || !id[i])
            return false;
    return true;
}

/* Whether it is a communicator's name of a length that a record may have. */
static bool good_name(const char *name, size_t len)
{
    if (len > RECORD_MAX_NAME)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char) name[i] < 0x20 || name[i] == 0x7f)
            return false;
    return true;
}

/* Reads a histogram of at most `records` messages. 0, or -1: damaged, or the
 * memory limit. */
static int get_rates(struct partial_in *r, struct join_rates *rates,
                     uint64_t records)
{
    uint64_t n = jpr_get_bounded(&r->in, JOIN_RATE_BUCKETS), next = 0;

    for (uint64_t i = 0; i < n; i++) {
        /* the difference keeps buckets ascending */
        uint64_t bucket = next + jpr_get_bounded(&r->in, JOIN_RATE_BUCKETS);
        uint64_t count = jpr_get_bounded(&r->in, UINT32_MAX);

        if (r->in.bad || bucket >= JOIN_RATE_BUCKETS || !count ||
            count > records ||
            join_rates_add(r->join, rates, (uint32_t) bucket,
                           (uint32_t) count) < 0)
            return -1;
        next = bucket + 1;
        records -= count;
    }
    return r->in.bad ? -1 : 0;
}

/* Reads a rank of a communicator. Each may come once. 0, or -1. */
static int get_member(struct partial_in *r, uint32_t comm, uint32_t n_ranks)
{
    uint64_t rank = jpr_get_bounded(
        &r->in, (n_ranks ? n_ranks : RECORD_MAX_RANKS) - UINT64_C(1));
    const char *host;
    size_t len = jpr_get_text(&r->in, &host);
    int64_t pid = jpr_get_i64(&r->in);
    uint64_t flags = jpr_get_bounded(&r->in, 3);
    uint64_t p2p = jpr_get_bounded(&r->in, MAX_COUNT);
    uint64_t p2p_last = jpr_get_u64(&r->in);
    uint32_t known = r->join->n_members;
    struct join_rates none = {0};
    struct join_member *member;

    /* all numbers are read before any is used */
    if (r->in.bad || (len && !record_is_word(host, len, RECORD_MAX_HOST)))
        return -1;
    /* a rank that is there already makes no new member */
    member = join_member_get(r->join, comm, (uint32_t) rank);
    if (!member || r->join->n_members == known ||
        join_member_process(member,
                            &(struct join_process){host, len, pid, 0, 0}) < 0 ||
        (p2p && !join_traffic_get(r->join, member)) ||
        get_rates(r, p2p ? &member->traffic->rates : &none, p2p) < 0)
        return -1;
    member->shared = flags & 1;
    member->many_files = flags >> 1 & 1;
    member->p2p_records = p2p;
    member->p2p_last = p2p_last;
    r->join->comms[comm]->p2p_records += p2p;
    r->join->p2p_records += p2p;
    return 0;
}

void partial_get_counts(struct jpr_in *in, struct jpr_counts *counts)
{
    counts->produced = jpr_get_u64(in);
    counts->written = jpr_get_u64(in);
    counts->lost = jpr_get_u64(in);
    counts->left_out = jpr_get_u64(in);
}

/* Reads a recorder's counters, if there are any. */
static int get_counts(struct partial_in *r, struct join_comm *comm)
{
    struct jpr_counts counts;

    if (!jpr_get_bounded(&r->in, 1))
        return r->in.bad ? -1 : 0;
    partial_get_counts(&r->in, &counts);
    join_counts_fold(comm, &counts);
    return r->in.bad ? -1 : 0;
}

/* Reads communicator `at` and its members. 0, or -1: damaged, or no memory. */
static int get_comm(struct partial_in *r, uint32_t at)
{
    const char *id, *name;
    size_t id_len = jpr_get_text(&r->in, &id);
    size_t len = jpr_get_text(&r->in, &name);
    uint32_t n_ranks = (uint32_t) jpr_get_bounded(&r->in, RECORD_MAX_RANKS);
    uint32_t nnodes = (uint32_t) jpr_get_bounded(&r->in, n_ranks);
    bool gaps_lost = jpr_get_bounded(&r->in, 1);
    uint64_t n;

    if (r->in.bad || !good_id(id, id_len) || !good_name(name, len) ||
        !n_ranks != !nnodes || /* both or none */
        join_comm_get(r->join, id, id_len, n_ranks, nnodes) !=
            at || /* each once */
        join_comm_name(r->join->comms[at], name, len) < 0 ||
        get_counts(r, r->join->comms[at]) < 0)
        return -1;
    r->join->comms[at]->gaps_lost = gaps_lost;
    n = jpr_get_bounded(&r->in, left(&r->in));
    for (uint64_t i = 0; i < n; i++)
        if (get_member(r, at, n_ranks) < 0)
            return -1;
    r->first[at + 1] = r->join->n_members;
    return r->in.bad ? -1 : 0;
}

static int get_tables(struct partial_in *r)
{
    uint64_t n;

    if (get_funcs(r) < 0)
        return -1;
    n = jpr_get_bounded(&r->in, left(&r->in));
    /* first[i + 1] becomes the number of members up to communicator i */
    r->first = calloc((size_t) n + 1, sizeof(*r->first));
    if (r->in.bad || !r->first)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (get_comm(r, i) < 0)
            return -1;
    r->join->duplicates = jpr_get_bounded(&r->in, MAX_COUNT);
    r->join->nan_busbw = jpr_get_bounded(&r->in, MAX_COUNT);
    r->join->untimed = jpr_get_bounded(&r->in, MAX_COUNT);
    return r->in.bad ? -1 : 0;
}

/* Reads a pair of ranks and its sums. Each pair and direction may come once. */
static int get_pair(struct partial_in *r)
{
    uint64_t comm = jpr_get_bounded(&r->in, UINT32_MAX);
    uint64_t src = jpr_get_bounded(&r->in, RECORD_MAX_RANKS - 1);
    uint64_t dst = jpr_get_bounded(&r->in, RECORD_MAX_RANKS - 1);
    bool recv = jpr_get_bounded(&r->in, 1);
    uint32_t known = r->join->n_p2p;
    struct join_p2p *p;

    if (r->in.bad || comm >= r->join->n_comms)
        return -1;
    /* as get_member */
    p = join_p2p_get(r->join, (uint32_t) comm, (uint32_t) src, (uint32_t) dst,
                     recv);
    if (!p || r->join->n_p2p == known) /* no memory, or twice */
        return -1;
    p->count = jpr_get_bounded(&r->in, MAX_COUNT);
    p->bytes = jpr_get_u64(&r->in);
    p->exec_us = jpr_get_u64(&r->in);
    p->busbw_sum = jpr_get_u64(&r->in);
    p->n_busbw = jpr_get_bounded(&r->in, p->count);
    return r->in.bad ? -1 : get_rates(r, &p->rates, p->count);
}

static int get_pairs(struct partial_in *r)
{
    uint64_t n = jpr_get_bounded(&r->in, left(&r->in));

    for (uint64_t i = 0; i < n; i++)
        if (get_pair(r) < 0)
            return -1;
    return r->in.bad ? -1 : 0;
}

static int get_bits(struct partial_in *r)
{
    uint64_t at = jpr_get_bounded(&r->in, UINT32_MAX); /* member */
    uint64_t func = jpr_get_bounded(&r->in, UINT32_MAX);
    uint64_t n = jpr_get_bounded(&r->in, left(&r->in)), next = 0;
    struct join_lane *lane;

    if (r->in.bad || at >= r->join->n_members || func >= r->join->n_funcs)
        return -1;
    /* NULL: a lane of Send or Recv */
    lane = join_lane_get(r->join, r->join->members[at], NULL, (uint32_t) func);
    /* one block for each lane */
    if (!lane || lane->blocks.n)
        return -1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t number = next + jpr_get_bounded(&r->in, UINT64_MAX / 64);
        uint64_t seen = ~jpr_get_u64(&r->in);
        struct join_lane_block *block;

        /* its sequence numbers must fit 64 bits */
        if (r->in.bad || number > UINT64_MAX / JOIN_BLOCK)
            return -1;
        block = join_lane_block_get(r->join, lane, number);
        if (!block)
            return -1;
        block->seen = seen;
        next = number + 1;
    }
    return 0;
}

/* Whether the stray's sequence number has a row, which has to be of another
 * size. */
static bool has_row(const struct partial_in *r, const struct join_stray *stray)
{
    const struct join_comm *comm = r->join->comms[stray->comm];

    for (uint32_t i = 0; i < comm->n_series; i++) {
        const struct join_block *block;
        const struct join_row *row;

        if (comm->series[i]->func != stray->func)
            continue;
        block = blockmap_find(&comm->series[i]->blocks, stray->sn / JOIN_BLOCK);
        /* a small block has few rows */
        row = block && stray->sn % JOIN_BLOCK < block->room
                  ? &block->rows[stray->sn % JOIN_BLOCK]
                  : NULL;
        return row && row->n && row->bytes != stray->row.bytes;
    }
    return false;
}

/* Whether the stray comes after those before it, so that all are sorted and
 * none comes twice. */
static bool is_next(const struct join *join, const struct join_stray *stray)
{
    size_t n = join->n_strays;

    return !n || join_stray_order(&join->strays[n - 1], stray) < 0;
}

/* Reads a stray, which is made from a record as in join.c. 0, or -1. */
static int get_stray(struct partial_in *r)
{
    uint64_t at = jpr_get_bounded(&r->in, UINT32_MAX); /* member */
    uint64_t func = jpr_get_bounded(&r->in, UINT32_MAX);
    uint64_t sn = jpr_get_bounded(&r->in, UINT64_MAX - 1);
    uint64_t bytes = jpr_get_bounded(&r->in, RECORD_MAX_BYTES);
    uint64_t exec = jpr_get_bounded(&r->in, RECORD_MAX_TIME_US);
    uint64_t busbw = jpr_get_bounded(&r->in, RECORD_MAX_BUSBW_MICRO);
    uint64_t n_busbw = jpr_get_bounded(&r->in, 1);
    uint64_t dump = jpr_get_bounded(&r->in, INT64_MAX);
    uint64_t start = jpr_get_bounded(&r->in, INT64_MAX);
    uint64_t end = jpr_get_bounded(&r->in, INT64_MAX);
    struct record record;
    struct join_member *member;
    struct join_stray stray;

    if (r->in.bad || at >= r->join->n_members || func >= r->join->n_funcs)
        return -1;
    member = r->join->members[at];
    record = (struct record){.bytes = bytes,
                             .exec_us = exec,
                             .exec_unknown = !exec,
                             .busbw_micro = busbw,
                             .busbw_nan = !n_busbw,
                             .dump_us = clockmap_us(r->clock, dump),
                             .start_us = clockmap_us(r->clock, start),
                             .end_us = clockmap_us(r->clock, end),
                             .rank = member->rank};
    stray = (struct join_stray){.comm = member->comm,
                                .func = (uint32_t) func,
                                .rank = member->rank,
                                .sn = sn,
                                .seq = r->join->n_strays};
    join_row_fill(&stray.row, &record);
    join_stamp_fill(&stray.stamp, &record, 0);
    if (!is_next(r->join, &stray) || !has_row(r, &stray) ||
        join_stray_add(r->join, &stray) < 0)
        return -1;
    /* as join.c counts it */
    member->records++;
    r->join->comms[member->comm]->records++;
    r->join->coll_records++;
    return 0;
}

/* Reads a block of 64 kernels. Pairs come before them and show whether a rank
 * sends to itself. */
static int get_kernel_block(struct partial_in *r, struct join_member *member,
                            bool self, uint64_t number)
{
    for (unsigned k = 0; k < JOIN_KERNEL_BLOCK; k++) {
        uint64_t us = jpr_get_bounded(&r->in, UINT32_MAX + UINT64_C(1));

        if (r->in.bad || (us && join_kernels_put(r->join, member, self,
                                                 number * JOIN_KERNEL_BLOCK + k,
                                                 (uint32_t) (us - 1)) < 0))
            return -1;
    }
    return 0;
}

static int get_kernels(struct partial_in *r)
{
    uint64_t at = jpr_get_bounded(&r->in, UINT32_MAX); /* member */
    uint64_t n = jpr_get_bounded(&r->in, left(&r->in)), next = 0;
    struct join_member *member;
    bool self;

    if (r->in.bad || at >= r->join->n_members)
        return -1;
    member = r->join->members[at];
    /* one block for each member, and only if its pairs form AlltoAlls */
    if (!join_kernels_fit(r->join, member, &self) ||
        join_traffic_of(member)->kernels.blocks[!self].n)
        return -1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t number = next + jpr_get_bounded(&r->in, MAX_COUNT);

        if (r->in.bad || number > MAX_COUNT ||
            get_kernel_block(r, member, self, number) < 0)
            return -1;
        next = number + 1;
    }
    return 0;
}

static int get_messages(struct partial_in *r)
{
    uint64_t at = jpr_get_bounded(&r->in, UINT32_MAX); /* member */
    unsigned shift = (unsigned) jpr_get_bounded(&r->in, JOIN_MESSAGE_SHIFT);
    uint64_t n = jpr_get_bounded(&r->in, JOIN_MESSAGE_PARTS);
    struct join_messages *messages;
    struct join_traffic *traffic;

    if (r->in.bad || at >= r->join->n_members)
        return -1;
    traffic = join_traffic_get(r->join, r->join->members[at]);
    /* one block for each member */
    if (!traffic || traffic->messages.room)
        return -1;
    messages = &traffic->messages;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t us = jpr_get_bounded(&r->in, UINT32_MAX);

        if (r->in.bad ||
            join_messages_put(r->join, messages, shift, k, (uint32_t) us) < 0)
            return -1;
    }
    return 0;
}

static int get_members(struct partial_in *r)
{
    for (uint32_t i = 0; i < r->join->n_members && !r->in.bad; i++) {
        r->join->members[i]->instance = jpr_get_u64(&r->in);
        r->join->members[i]->device = jpr_get_u64(&r->in);
    }
    return r->in.bad ? -1 : 0;
}

/* Reads the words: each communicator's path and each member comes once. */
static int get_words(struct partial_in *r)
{
    struct join *join = r->join;
    uint64_t at;

    while ((at = jpr_get_bounded(&r->in, join->n_comms)) != 0) {
        struct join_comm *comm = join->comms[at - 1];
        uint32_t known = comm->n_paths;
        struct join_path path = {
            .func = (uint32_t) jpr_get_bounded(&r->in, UINT32_MAX),
            .algo = (uint8_t) jpr_get_bounded(&r->in, RECORD_ALGOS - 1),
            .proto = (uint8_t) jpr_get_bounded(&r->in, RECORD_PROTOS - 1),
            .records = jpr_get_bounded(&r->in, MAX_COUNT),
            .bytes_min = jpr_get_bounded(&r->in, RECORD_MAX_BYTES),
            .bytes_max = jpr_get_bounded(&r->in, RECORD_MAX_BYTES)};

        if (r->in.bad || path.func >= join->n_funcs || !path.algo ||
            !path.records || path.bytes_min > path.bytes_max ||
            join_path_add(comm, &path) < 0 || comm->n_paths == known)
            return -1;
    }
    while ((at = jpr_get_bounded(&r->in, join->n_members)) != 0) {
        struct join_member *member = join->members[at - 1];

        if (member->kernel_cpu || member->call_cpu)
            return -1;
        member->kernel_cpu = jpr_get_bounded(&r->in, MAX_COUNT);
        member->call_cpu = jpr_get_bounded(&r->in, MAX_COUNT);
        if (r->in.bad || (!member->kernel_cpu && !member->call_cpu))
            return -1;
    }
    return r->in.bad ? -1 : 0;
}

static int get_strays(struct partial_in *r)
{
    uint64_t n = jpr_get_bounded(&r->in, left(&r->in));

    for (uint64_t i = 0; i < n; i++)
        if (get_stray(r) < 0)
            return -1;
    return r->in.bad ? -1 : 0;
}

int partial_get_table(struct partial_in *r, enum partial_block type)
{
    static int (*const gets[PARTIAL_N_TYPES])(struct partial_in *) = {
        [PARTIAL_TABLES] = get_tables,     [PARTIAL_PAIRS] = get_pairs,
        [PARTIAL_BITS] = get_bits,         [PARTIAL_KERNELS] = get_kernels,
        [PARTIAL_MESSAGES] = get_messages, [PARTIAL_STRAYS] = get_strays,
        [PARTIAL_MEMBERS] = get_members,   [PARTIAL_WORD] = get_words,
    };

    /* in_order (partial.c) lets no other type come here */
    return gets[type](r);
}
