/* jpr_frame.c - the frame of a block, and the bytes and fields inside.
 *
 * jpr_packer_add() packs an operation: its template by find_template(), then a
 * row of differences. jpr_packer_end() puts texts, templates and rows together
 * as a payload, which jpr_frame_write() compresses and frames. jpr_unpack.c
 * reads all this. The plugin links this file, so it needs nothing but libc and
 * zlib.
 */
#include "plugins/nccl_recorder/jpr_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "plugins/nccl_recorder/jpr.h"

#ifndef JPR_WITHOUT_ZLIB
#include <zlib.h>
#endif

/* --- operations into the payload of one block --- */

/* Sizes of a block's parts. A block has at most about 3000 rows: larger ones
 * would not compress much better, and little is lost with one. */
enum {
    ROW_BYTES = 64 * 1024,
    ROW_ROOM = 240, /* more than the longest row: 24 varints */
    TEXT_BYTES = 16 * 1024,
    TEMPLATE_BYTES = 48 * 1024,
    TEMPLATE_ROOM = 128,
    TEMPLATES = 512,
    BUCKETS = 2 * TEMPLATES,
    TEXTS = 256,
    N_TEXTS = 6, /* that an operation has */
    PAYLOAD_BYTES = ROW_BYTES + TEXT_BYTES + TEMPLATE_BYTES + 64,
};

struct template
{
    struct jpr_op op; /* only the shared members are used */
    struct jpr_row_base last;
};

/* A block being packed. Texts, templates and rows grow side by side and are
 * joined at the end, as each is only complete then. */
struct jpr_packer {
    bool in_flight; /* a snapshot: each row has channel counts */
    uint64_t at_mono_ns;
    uint64_t n_rows;
    uint64_t last_start_ns;
    uint64_t last_later;
    const char *texts[TEXTS]; /* borrowed; the index is a text's number */
    unsigned n_texts;
    struct template templates[TEMPLATES];
    unsigned n_templates;
    /* A template's number + 1; 0: empty. A table of its own, as in the task all
     * memory is this struct and nothing is allocated (common/hash.h does). */
    uint16_t buckets[BUCKETS];
    struct jpr_out text;
    struct jpr_out template;
    struct jpr_out row;
    struct jpr_out payload;
    uint8_t space[2 * PAYLOAD_BYTES];
};

/* Puts the members of a record in the order of its table. */
static void put_fields(const struct jpr_fields *fields, const void *record,
                       struct jpr_out *out)
{
    size_t i;

    for (i = 0; i < fields->n; i++) {
        const void *at = (const char *) record + fields->rows[i].offset;

        switch (fields->rows[i].type) {
        case JPR_U64:
            jpr_put_u64(out, *(const uint64_t *) at);
            break;
        case JPR_U32:
            jpr_put_u64(out, *(const uint32_t *) at);
            break;
        case JPR_I64:
            jpr_put_i64(out, *(const int64_t *) at);
            break;
        case JPR_BOOL:
            jpr_put_u64(out, *(const bool *) at);
            break;
        case JPR_TEXT:
            jpr_put_text(out, *(const char *const *) at);
            break;
        }
    }
}

/* Lists follow the fixed members: a number, then the entries. */
void jpr_put_header(struct jpr_out *out, const struct jpr_header *header)
{
    uint32_t i;

    put_fields(&jpr_header_fields, header, out);
    jpr_put_u64(out, header->n_variables);
    for (i = 0; i < header->n_variables; i++)
        put_fields(&jpr_variable_fields, &header->variables[i], out);
    jpr_put_u64(out, header->n_notes);
    for (i = 0; i < header->n_notes; i++)
        jpr_put_text(out, header->notes[i]);
    jpr_put_u64(out, header->kernels); /* version 2 on */
    jpr_put_u64(out, header->start);   /* files of older releases end before */
}

void jpr_put_process(struct jpr_out *out, const struct jpr_process *process)
{
    uint32_t i;

    jpr_put_u64(out, process->n_variables);
    for (i = 0; i < process->n_variables; i++)
        put_fields(&jpr_variable_fields, &process->variables[i], out);
    jpr_put_u64(out, process->n_pids);
    for (i = 0; i < process->n_pids; i++)
        jpr_put_u64(out, process->pids[i]);
}

void jpr_put_comm(struct jpr_out *out, const struct jpr_comm *comm)
{
    put_fields(&jpr_comm_fields, comm, out);
}

/* Later parts are optional for a reader: a file of release 0.1 ends after the
 * rows, one of version 1 before the doubts, one of version 2 before the pauses.
 * Without cost (told) the record ends before it, as in older files. */
void jpr_put_counters(struct jpr_out *out, const struct jpr_counters *counters)
{
    uint64_t i;

    put_fields(&jpr_counters_fields, counters, out);
    jpr_put_u64(out, counters->n_rows);
    for (i = 0; i < counters->n_rows; i++)
        put_fields(&jpr_row_fields, &counters->rows[i], out);
    jpr_put_u64(out, counters->n_unseen);
    for (i = 0; i < counters->n_unseen; i++)
        put_fields(&jpr_unseen_fields, &counters->unseen[i], out);
    if (!counters->cost.told)
        return;
    put_fields(&jpr_cost_fields, &counters->cost, out);
    jpr_put_u64(out, counters->n_doubts);
    for (i = 0; i < counters->n_doubts; i++)
        put_fields(&jpr_doubts_fields, &counters->doubts[i], out);
    jpr_put_u64(out, counters->n_pauses);
    for (i = 0; i < counters->n_pauses; i++)
        put_fields(&jpr_pause_fields, &counters->pauses[i], out);
}

void jpr_put_room(struct jpr_out *out, const struct jpr_room *room)
{
    put_fields(&jpr_room_fields, room, out);
}

struct jpr_packer *jpr_packer_create(void)
{
    struct jpr_packer *p = malloc(sizeof(*p));
    uint8_t *at;

    if (!p)
        return NULL;
    /* one allocation for all parts; `payload` is as large as the others
     * together */
    at = p->space;
    p->row = (struct jpr_out){.bytes = at, .size = ROW_BYTES};
    p->text = (struct jpr_out){.bytes = at += ROW_BYTES, .size = TEXT_BYTES};
    p->template =
        (struct jpr_out){.bytes = at += TEXT_BYTES, .size = TEMPLATE_BYTES};
    p->payload =
        (struct jpr_out){.bytes = at + TEMPLATE_BYTES, .size = PAYLOAD_BYTES};
    jpr_packer_begin(p, false, 0);
    return p;
}

void jpr_packer_destroy(struct jpr_packer *packer)
{
    free(packer);
}

/* Keeps the memory. */
static void empty(struct jpr_out *out)
{
    out->used = 0;
    out->full = false;
}

/* The texts' addresses of the last block are forgotten: they need not live
 * longer. */
void jpr_packer_begin(struct jpr_packer *p, bool in_flight, uint64_t at_mono_ns)
{
    p->in_flight = in_flight;
    p->at_mono_ns = at_mono_ns;
    p->n_rows = 0;
    p->last_start_ns = at_mono_ns;
    p->last_later = 0;
    p->n_texts = 0;
    p->n_templates = 0;
    memset(p->buckets, 0, sizeof(p->buckets));
    empty(&p->row);
    empty(&p->text);
    empty(&p->template);
    empty(&p->payload);
}

uint64_t jpr_packer_count(const struct jpr_packer *packer)
{
    return packer->n_rows;
}

/* The texts are the recorder's own names, each at one address, so the addresses
 * are hashed and compared. */
static uint64_t hash_of(const struct jpr_op *op)
{
    uint64_t hash =
        hash_word(op->comm, (uint64_t) op->kind << 32 | op->n_channels);

    hash = hash_word(hash, op->bytes);
    hash = hash_word(hash, op->count ^ op->api_count << 1);
    hash = hash_word(hash, (uint64_t) op->root << 32 ^ (uint64_t) op->peer);
    hash =
        hash_word(hash, (uintptr_t) op->func ^ (uintptr_t) op->api_func << 1);
    hash = hash_word(hash, (uintptr_t) op->algo ^ (uintptr_t) op->proto << 1);
    return hash_word(hash, (uintptr_t) op->datatype ^ op->graph_captured);
}

/* Returns whether two operations have the same template. */
static bool same(const struct jpr_op *a, const struct jpr_op *b)
{
    return a->comm == b->comm && a->kind == b->kind && a->func == b->func &&
           a->datatype == b->datatype && a->algo == b->algo &&
           a->proto == b->proto && a->count == b->count &&
           a->bytes == b->bytes && a->root == b->root && a->peer == b->peer &&
           a->n_channels == b->n_channels && a->api_func == b->api_func &&
           a->api_datatype == b->api_datatype && a->api_count == b->api_count &&
           a->graph_captured == b->graph_captured;
}

/* Returns the text's number in this block, or TEXTS when there is no room. A
 * new text is added. */
static unsigned text_number(struct jpr_packer *p, const char *text)
{
    unsigned i;

    for (i = 0; i < p->n_texts; i++) {
        if (p->texts[i] == text)
            return i;
    }
    if (i == TEXTS || p->text.size - p->text.used < JPR_MAX_TEXT_BYTES + 2)
        return TEXTS;
    p->texts[p->n_texts++] = text;
    jpr_put_text(&p->text, text);
    return i;
}

/* Adds a template; returns false when there is no room. Texts added before a
 * failure stay in the block, unused. */
static bool add_template(struct jpr_packer *p, const struct jpr_op *op)
{
    const char *const texts[N_TEXTS] = {op->func,     op->datatype,
                                        op->algo,     op->proto,
                                        op->api_func, op->api_datatype};
    unsigned numbers[N_TEXTS];
    int i;

    if (p->n_templates == TEMPLATES ||
        p->template.size - p->template.used < TEMPLATE_ROOM)
        return false;
    for (i = 0; i < N_TEXTS; i++) {
        numbers[i] = text_number(p, texts[i]);
        if (numbers[i] == TEXTS)
            return false;
    }
    put_fields(&jpr_template_fields, op, &p->template);
    for (i = 0; i < N_TEXTS; i++)
        jpr_put_u64(&p->template, numbers[i]);
    p->templates[p->n_templates] = (struct template){.op = *op};
    p->n_templates++;
    return true;
}

/* Returns the number of the operation's template, which is added if it is new,
 * or TEMPLATES when there is no room. Linear probing always ends, as there are
 * twice as many buckets as templates. */
static unsigned find_template(struct jpr_packer *p, const struct jpr_op *op)
{
    unsigned b = (unsigned) (hash_of(op) % BUCKETS);

    while (p->buckets[b] && !same(&p->templates[p->buckets[b] - 1].op, op))
        b = (b + 1) % BUCKETS;
    if (!p->buckets[b]) {
        if (!add_template(p, op))
            return TEMPLATES;
        p->buckets[b] = (uint16_t) p->n_templates;
    }
    return p->buckets[b] - 1u;
}

/* Returns the bits of a row, which say what it has. */
static unsigned flags_of(const struct jpr_op *op)
{
    unsigned flags = (unsigned) op->source << JPR_ROW_SOURCE_SHIFT;

    if (op->kernel_first_mono_ns)
        flags |= JPR_ROW_KERNEL;
    if (op->gpu_first_ns)
        flags |= JPR_ROW_GPU;
    if (op->has_net)
        flags |= JPR_ROW_NET;
    if (op->incomplete)
        flags |= JPR_ROW_INCOMPLETE;
    if (op->overtaken)
        flags |= JPR_ROW_OVERTAKEN;
    if (op->unsure)
        flags |= JPR_ROW_UNSURE;
    if (op->tag)
        flags |= JPR_ROW_TAG;
    if (op->symmetric)
        flags |= JPR_ROW_SYMMETRIC;
    if (op->later)
        return (flags & ~(unsigned) JPR_ROW_GPU) | JPR_ROW_LATER;
    if (op->has_phases)
        flags |= JPR_ROW_PHASES;
    return flags;
}

/* Each time is the difference from what is likely: the GPU's start moves with
 * the host's, and the execution time is the span of the kernel. */
static void put_times(struct jpr_out *row, const struct jpr_op *op,
                      unsigned flags, struct jpr_row_base *last)
{
    uint64_t likely_ns = 0;

    if (flags & JPR_ROW_KERNEL) {
        jpr_put_delta(row, op->kernel_first_mono_ns, op->enqueue_start_mono_ns);
        jpr_put_delta(row, op->kernel_last_mono_ns, op->kernel_first_mono_ns);
        likely_ns = op->kernel_last_mono_ns - op->kernel_first_mono_ns;
    }
    if (flags & JPR_ROW_GPU) {
        jpr_put_delta(row, op->gpu_first_ns,
                      last->gpu_ns + op->kernel_first_mono_ns -
                          last->kernel_ns);
        jpr_put_delta(row, op->gpu_last_ns, op->gpu_first_ns);
        likely_ns = op->gpu_last_ns - op->gpu_first_ns;
        last->gpu_ns = op->gpu_first_ns;
        last->kernel_ns = op->kernel_first_mono_ns;
    }
    if (!(flags & JPR_ROW_LATER))
        jpr_put_delta(row, op->exec_ns, likely_ns);
}

/* All waits, even zeros: a zero takes one byte. */
static void put_net(struct jpr_out *row, const struct jpr_op *op)
{
    int i;

    for (i = 0; i < JPR_N_WAITS; i++)
        jpr_put_u64(row, op->wait_ns[i]);
    jpr_put_u64(row, op->net_steps);
    jpr_put_u64(row, op->net_bytes);
}

bool jpr_packer_add(struct jpr_packer *p, const struct jpr_op *op)
{
    unsigned flags = flags_of(op);
    struct jpr_row_base *last;
    unsigned number;

    /* check for room first: a row that was begun cannot be taken back */
    if (p->row.size - p->row.used < ROW_ROOM)
        return false;
    number = find_template(p, op);
    if (number == TEMPLATES)
        return false;
    /* what is likely: the next number, a start after the last row's */
    last = &p->templates[number].last;
    jpr_put_u64(&p->row, number);
    jpr_put_u64(&p->row, flags);
    jpr_put_delta(&p->row, op->seq, last->seq + 1);
    last->seq = op->seq;
    jpr_put_delta(&p->row, op->enqueue_start_mono_ns, p->last_start_ns);
    p->last_start_ns = op->enqueue_start_mono_ns;
    jpr_put_delta(&p->row, op->enqueue_stop_mono_ns, op->enqueue_start_mono_ns);
    put_times(&p->row, op, flags, last);
    if (p->in_flight || (flags & JPR_ROW_INCOMPLETE)) {
        jpr_put_u64(&p->row, op->channels_started);
        jpr_put_u64(&p->row, op->channels_stopped);
    }
    if (flags & JPR_ROW_NET)
        put_net(&p->row, op);
    if (flags & JPR_ROW_TAG)
        jpr_put_u64(&p->row, op->tag);
    if (flags & JPR_ROW_PHASES) {
        jpr_put_u64(&p->row, op->sync_ns);
        jpr_put_u64(&p->row, op->compute_ns);
        jpr_put_u64(&p->row, op->close_ns);
    }
    if (flags & JPR_ROW_LATER) {
        jpr_put_delta(&p->row, op->later, p->last_later + 1);
        p->last_later = op->later;
    }
    p->n_rows++;
    return true;
}

/* Order in the file: what a reader needs first comes first. */
const uint8_t *jpr_packer_end(struct jpr_packer *p, uint64_t omitted, size_t *n)
{
    jpr_put_u64(&p->payload, p->at_mono_ns);
    jpr_put_u64(&p->payload, omitted);
    jpr_put_u64(&p->payload, p->n_texts);
    jpr_put_bytes(&p->payload, p->text.bytes, p->text.used);
    jpr_put_u64(&p->payload, p->n_templates);
    jpr_put_bytes(&p->payload, p->template.bytes, p->template.used);
    jpr_put_u64(&p->payload, p->n_rows);
    jpr_put_bytes(&p->payload, p->row.bytes, p->row.used);
    *n = p->payload.used;
    return p->payload.bytes;
}

/* --- times that come later --- */

enum { TIMES_PHASES = 1 };

/* Kernels of a long queue begin where the one before ended. */
void jpr_put_times(struct jpr_out *out, const struct jpr_times *t,
                   const struct jpr_times *last)
{
    jpr_put_delta(out, t->number, last->number + 1);
    jpr_put_u64(out, t->has_phases ? TIMES_PHASES : 0);
    jpr_put_delta(out, t->gpu_first_ns, last->gpu_last_ns);
    jpr_put_delta(out, t->gpu_last_ns, t->gpu_first_ns);
    jpr_put_delta(out, t->exec_ns, t->gpu_last_ns - t->gpu_first_ns);
    if (!t->has_phases)
        return;
    jpr_put_u64(out, t->sync_ns);
    jpr_put_u64(out, t->compute_ns);
    jpr_put_u64(out, t->close_ns);
}

struct jpr_times jpr_get_times(struct jpr_in *in, const struct jpr_times *last)
{
    struct jpr_times t = {.number = jpr_get_delta(in, last->number + 1)};

    t.has_phases = jpr_get_bounded(in, TIMES_PHASES) & TIMES_PHASES;
    t.gpu_first_ns = jpr_get_delta(in, last->gpu_last_ns);
    t.gpu_last_ns = jpr_get_delta(in, t.gpu_first_ns);
    t.exec_ns = jpr_get_delta(in, t.gpu_last_ns - t.gpu_first_ns);
    if (t.has_phases) {
        t.sync_ns = jpr_get_u64(in);
        t.compute_ns = jpr_get_u64(in);
        t.close_ns = jpr_get_u64(in);
    }
    return t;
}

/* --- varints, strings, checksums --- */

/* Seven bits a byte, lowest first; the top bit means that more follow. */
void jpr_put_u64(struct jpr_out *out, uint64_t value)
{
    uint8_t digits[10];
    size_t n = 0;

    while (value >= 0x80) {
        digits[n++] = (uint8_t) (value | 0x80);
        value >>= 7;
    }
    digits[n++] = (uint8_t) value;
    jpr_put_bytes(out, digits, n);
}

/* Small numbers of either sign become small unsigned ones. */
static uint64_t zigzag(int64_t value)
{
    return ((uint64_t) value << 1) ^ (uint64_t) (value >> 63);
}

void jpr_put_i64(struct jpr_out *out, int64_t value)
{
    jpr_put_u64(out, zigzag(value));
}

void jpr_put_delta(struct jpr_out *out, uint64_t value, uint64_t base)
{
    jpr_put_u64(out, zigzag((int64_t) (value - base)));
}

void jpr_put_bytes(struct jpr_out *out, const void *bytes, size_t n)
{
    /* all or nothing; later, shorter pieces must not follow a gap */
    if (out->full || n > out->size - out->used) {
        out->full = true;
        return;
    }
    if (n > 0)
        memcpy(out->bytes + out->used, bytes, n);
    out->used += n;
}

void jpr_put_text(struct jpr_out *out, const char *text)
{
    size_t n = text ? strnlen(text, JPR_MAX_TEXT_BYTES) : 0;

    jpr_put_u64(out, n);
    jpr_put_bytes(out, text, n);
}

/* Refuses numbers above 64 bits and a varint cut by the end. */
uint64_t jpr_get_long(struct jpr_in *in)
{
    const uint8_t *at = in->at, *end = in->end;
    uint64_t value = 0;
    unsigned shift;

    if (in->bad)
        return 0;
    for (shift = 0; shift < 64 && at != end; shift += 7) {
        uint8_t byte = *at++;

        value |= (uint64_t) (byte & 0x7F) << shift;
        if (byte < 0x80) {
            if (shift == 63 && byte > 1) /* beyond 64 bits */
                break;
            in->at = at;
            return value;
        }
    }
    in->at = at;
    in->bad = true;
    return 0;
}

/* The reverse of zigzag(). */
int64_t jpr_get_i64(struct jpr_in *in)
{
    uint64_t code = jpr_get_u64(in);

    return (int64_t) ((code >> 1) ^ (0 - (code & 1)));
}

uint64_t jpr_get_delta(struct jpr_in *in, uint64_t base)
{
    return base + (uint64_t) jpr_get_i64(in);
}

size_t jpr_get_text(struct jpr_in *in, const char **text)
{
    size_t n = (size_t) jpr_get_bounded(in, JPR_MAX_TEXT_BYTES);

    *text = (const char *) in->at;
    if (in->bad || n > (size_t) (in->end - in->at)) {
        in->bad = true;
        return 0;
    }
    in->at += n;
    return n;
}

void jpr_put_le32(uint8_t *at, uint32_t value)
{
    int i;

    for (i = 0; i < 4; i++)
        at[i] = (uint8_t) (value >> (8 * i));
}

uint32_t jpr_get_le32(const uint8_t *at)
{
    return (uint32_t) at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 |
           (uint32_t) at[3] << 24;
}

#ifndef JPR_WITHOUT_ZLIB
uint32_t jpr_crc32(uint32_t crc, const void *bytes, size_t n)
{
    return (uint32_t) crc32_z(crc, bytes, n);
}
#else
/* Half a byte at a time: the table fits one cache line, and this is fast enough
 * for what one process records. */
uint32_t jpr_crc32(uint32_t crc, const void *bytes, size_t n)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    const uint8_t *p = bytes;

    crc = ~crc;
    for (; n > 0; n--) {
        crc ^= *p++;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}
#endif

/* --- The members of a record in the order the file has them --- */

/* Defines jpr_<name>_fields. New members come last, and none is ever removed:
 * files are read by position. */
#define FIELDS(name, type, ...)                                                \
    static const struct jpr_field name##_rows[] = {__VA_ARGS__};               \
    const struct jpr_fields jpr_##name##_fields = {                            \
        name##_rows, sizeof(name##_rows) / sizeof(name##_rows[0])}
#define AT(type, member, how)                                                  \
    {                                                                          \
        how, offsetof(struct type, member)                                     \
    }

#define H(member, how) AT(jpr_header, member, how)
FIELDS(header, jpr_header, H(clocks.mono_ns, JPR_U64),
       H(clocks.real_ns, JPR_U64), H(clocks.raw_ns, JPR_U64),
       H(recorder, JPR_TEXT), H(hostname, JPR_TEXT), H(boot_id, JPR_TEXT),
       H(pid, JPR_U64), H(pid_namespace, JPR_U64), H(job, JPR_TEXT),
       H(step, JPR_TEXT), H(procid, JPR_I64), H(nodeid, JPR_I64),
       H(localid, JPR_I64), H(interface, JPR_U64), H(nccl_release, JPR_U64),
       H(memory_bytes, JPR_U64), H(disk_bytes, JPR_U64),
       H(min_free_bytes, JPR_U64), H(net, JPR_BOOL));

#define V(member, how) AT(jpr_variable, member, how)
FIELDS(variable, jpr_variable, V(name, JPR_TEXT), V(value, JPR_TEXT));

#define C(member, how) AT(jpr_comm, member, how)
FIELDS(comm, jpr_comm, C(index, JPR_U32), C(known, JPR_BOOL), C(id, JPR_U64),
       C(name, JPR_TEXT), C(rank, JPR_I64), C(n_ranks, JPR_I64),
       C(n_nodes, JPR_I64), C(gpu_pci, JPR_TEXT), C(gpu_uuid, JPR_TEXT),
       C(init_mono_ns, JPR_U64));

#define N(member, how) AT(jpr_counters, member, how)
#define KIND(i)                                                                \
    N(kinds[i].produced, JPR_U64), N(kinds[i].written, JPR_U64),               \
        N(kinds[i].lost, JPR_U64), N(kinds[i].left_out, JPR_U64)
FIELDS(counters, jpr_counters, N(clocks.mono_ns, JPR_U64),
       N(clocks.real_ns, JPR_U64), N(clocks.raw_ns, JPR_U64),
       N(final, JPR_BOOL), KIND(JPR_COLL), KIND(JPR_P2P), KIND(JPR_CE),
       N(in_flight, JPR_U64), N(lost_steps, JPR_U64), N(lost_comms, JPR_U64),
       N(lost_foreign, JPR_U64));

#define R(member, how) AT(jpr_comm_counts, member, how)
FIELDS(row, jpr_comm_counts, R(comm, JPR_U32), R(func, JPR_TEXT),
       R(finalized, JPR_BOOL), R(counts.produced, JPR_U64),
       R(counts.written, JPR_U64), R(counts.lost, JPR_U64),
       R(counts.left_out, JPR_U64));

#define U(member, how) AT(jpr_unseen, member, how)
FIELDS(unseen, jpr_unseen, U(comm, JPR_U32), U(func, JPR_TEXT),
       U(calls, JPR_U64));

#define S(member) AT(jpr_cost, member, JPR_U64)
FIELDS(cost, jpr_cost, S(events), S(timed), S(timed_ns), S(life_ns),
       S(writer_ns));

#define D(member, how) AT(jpr_doubts, member, how)
FIELDS(doubts, jpr_doubts, D(comm, JPR_U32), D(reasons, JPR_U64),
       D(unsure, JPR_U64), D(refused, JPR_U64));

#define P(member) AT(jpr_pause, member, JPR_U64)
FIELDS(pause, jpr_pause, P(from_ns), P(to_ns), P(why), P(skipped));

#define L(member, how) AT(jpr_room, member, how)
FIELDS(room, jpr_room, L(full, JPR_BOOL), L(limits, JPR_U64),
       L(since_ns, JPR_U64), L(error, JPR_U64));

#define O(member, how) AT(jpr_op, member, how)
FIELDS(template, jpr_op, O(comm, JPR_U32), O(kind, JPR_U32), O(count, JPR_U64),
       O(bytes, JPR_U64), O(root, JPR_I64), O(peer, JPR_I64),
       O(n_channels, JPR_U32), O(api_count, JPR_U64),
       O(graph_captured, JPR_BOOL));

_Static_assert(sizeof(enum jpr_op_kind) == sizeof(uint32_t),
               "a kind is read as a number");

/* --- zlib for blocks, where the build has it --- */

#ifndef JPR_WITHOUT_ZLIB

/* zlib's state, kept from block to block. */
struct jpr_zip {
    z_stream stream;
};

struct jpr_zip *jpr_zip_create(void)
{
    struct jpr_zip *zip = calloc(1, sizeof(*zip));

    if (zip && deflateInit(&zip->stream, 1) != Z_OK) {
        free(zip);
        zip = NULL;
    }
    return zip;
}

/* Compresses. Returns the number of bytes, or 0 when they do not fit. */
static size_t zip_pack(struct jpr_zip *zip, const uint8_t *raw, size_t n,
                       uint8_t *out, size_t size)
{
    z_stream *s = &zip->stream;

    if (deflateReset(s) != Z_OK)
        return 0;
    s->next_in = (Bytef *) (uintptr_t) raw;
    s->avail_in = (uInt) n;
    s->next_out = out;
    s->avail_out = (uInt) size;
    return deflate(s, Z_FINISH) == Z_STREAM_END ? size - s->avail_out : 0;
}

int jpr_unzip(const uint8_t *packed, size_t n, uint8_t *out, size_t size)
{
    uLongf length = size;

    if (uncompress(out, &length, packed, n) != Z_OK || length != size)
        return -1;
    return 0;
}

#else

struct jpr_zip *jpr_zip_create(void)
{
    return NULL;
}

/* Without zlib nothing is compressed. */
static size_t zip_pack(struct jpr_zip *zip, const uint8_t *raw, size_t n,
                       uint8_t *out, size_t size)
{
    return 0;
}

int jpr_unzip(const uint8_t *packed, size_t n, uint8_t *out, size_t size)
{
    return -1;
}

#endif

/* --- frames --- */

/* As in PNG: a byte over 127, line ends and Ctrl-Z show a copy in text mode. */
static const uint8_t file_magic[8] = {0x89, 'J',  'P',  'R',
                                      '\r', '\n', 0x1A, '\n'};
static const uint8_t block_magic[4] = {'J', 'P', 'R', 'B'};

void jpr_head_write(uint8_t head[JPR_HEAD_BYTES])
{
    memcpy(head, file_magic, sizeof(file_magic));
    jpr_put_le32(head + 8, JPR_VERSION);
}

uint32_t jpr_head_read(const uint8_t head[JPR_HEAD_BYTES])
{
    if (memcmp(head, file_magic, sizeof(file_magic)) != 0)
        return 0;
    return jpr_get_le32(head + 8);
}

/* Returns the check of a frame: over all its bytes but the check itself. */
static uint32_t check_of(const uint8_t *frame)
{
    uint32_t crc = jpr_crc32(0, frame, 6);

    return jpr_crc32(crc, frame + 8, JPR_FRAME_BYTES - 8) & 0xFFFF;
}

/* The payload goes to its place first, compressed or copied; then the frame, as
 * its checks need the payload. */
size_t jpr_frame_write(enum jpr_block type, const uint8_t *raw, size_t n,
                       struct jpr_zip *zip, uint8_t *out, size_t size)
{
    uint8_t *payload = out + JPR_FRAME_BYTES;
    size_t packed = 0;
    uint32_t check;

    if (n > JPR_MAX_RAW_BYTES || size < JPR_FRAME_BYTES)
        return 0;
    size -= JPR_FRAME_BYTES;
    /* n - 1: compressed must be shorter than stored */
    if (zip && n >= JPR_ZIP_LEAST)
        packed = zip_pack(zip, raw, n, payload, n - 1 < size ? n - 1 : size);
    if (packed == 0) {
        if (n > size)
            return 0;
        if (n > 0)
            memcpy(payload, raw, n);
    }
    memcpy(out, block_magic, sizeof(block_magic));
    out[4] = (uint8_t) type;
    out[5] = packed ? JPR_ZLIB : JPR_STORED;
    jpr_put_le32(out + 8, (uint32_t) (packed ? packed : n));
    jpr_put_le32(out + 12, (uint32_t) n);
    jpr_put_le32(out + 16, jpr_crc32(0, payload, packed ? packed : n));
    check = check_of(out);
    out[6] = (uint8_t) check;
    out[7] = (uint8_t) (check >> 8);
    return JPR_FRAME_BYTES + (packed ? packed : n);
}

/* The check comes before all else: any four bytes may look like the magic. */
bool jpr_frame_read(const uint8_t *bytes, struct jpr_frame *frame)
{
    if (memcmp(bytes, block_magic, sizeof(block_magic)) != 0 ||
        check_of(bytes) != ((uint32_t) bytes[6] | (uint32_t) bytes[7] << 8))
        return false;
    frame->type = bytes[4];
    frame->codec = bytes[5];
    frame->disk_bytes = jpr_get_le32(bytes + 8);
    frame->raw_bytes = jpr_get_le32(bytes + 12);
    frame->crc = jpr_get_le32(bytes + 16);
    if (frame->codec == JPR_STORED)
        return frame->disk_bytes == frame->raw_bytes &&
               frame->raw_bytes <= JPR_MAX_RAW_BYTES;
    return frame->codec == JPR_ZLIB && frame->raw_bytes <= JPR_MAX_RAW_BYTES &&
           frame->disk_bytes < frame->raw_bytes;
}
