/* jpr_pack.c - operations, and what else a block holds, into its payload. */
#include "plugins/nccl_recorder/jpr_pack.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_frame.h"

void jpr_put_header(struct jpr_out *out, const struct jpr_header *header)
{
    uint32_t i;

    jpr_fields_put(&jpr_header_fields, header, out);
    jpr_put_u64(out, header->n_variables);
    for (i = 0; i < header->n_variables; i++)
        jpr_fields_put(&jpr_variable_fields, &header->variables[i], out);
    jpr_put_u64(out, header->n_notes);
    for (i = 0; i < header->n_notes; i++)
        jpr_put_text(out, header->notes[i]);
    jpr_put_u64(out, header->kernels);
}

void jpr_put_comm(struct jpr_out *out, const struct jpr_comm *comm)
{
    jpr_fields_put(&jpr_comm_fields, comm, out);
}

void jpr_put_counters(struct jpr_out *out, const struct jpr_counters *counters)
{
    uint64_t i;

    jpr_fields_put(&jpr_counters_fields, counters, out);
    jpr_put_u64(out, counters->n_rows);
    for (i = 0; i < counters->n_rows; i++)
        jpr_fields_put(&jpr_row_fields, &counters->rows[i], out);
    jpr_put_u64(out, counters->n_unseen);
    for (i = 0; i < counters->n_unseen; i++)
        jpr_fields_put(&jpr_unseen_fields, &counters->unseen[i], out);
    if (!counters->cost.told)
        return;
    jpr_fields_put(&jpr_cost_fields, &counters->cost, out);
    jpr_put_u64(out, counters->n_doubts);
    for (i = 0; i < counters->n_doubts; i++)
        jpr_fields_put(&jpr_doubts_fields, &counters->doubts[i], out);
}

/* --- operations into the payload of one block --- */

/* A block is about 3000 rows at most: well inside zlib's window, and little
 * is lost with one. */
enum {
    ROW_BYTES = 64 * 1024,
    ROW_ROOM = 200, /* more than the longest row: 19 varints */
    TEXT_BYTES = 16 * 1024,
    TEMPLATE_BYTES = 48 * 1024,
    TEMPLATE_ROOM = 128,
    TEMPLATES = 512,
    BUCKETS = 2 * TEMPLATES,
    TEXTS = 256,
    N_TEXTS = 6, /* of an operation */
    PAYLOAD_BYTES = ROW_BYTES + TEXT_BYTES + TEMPLATE_BYTES + 64,
};

struct template
{
    struct jpr_op op; /* only the shared members are looked at */
    struct jpr_row_base last;
};

struct jpr_packer {
    bool in_flight;
    uint64_t at_mono_ns;
    uint64_t n_rows;
    uint64_t last_start_ns;
    const char *texts[TEXTS]; /* borrowed */
    unsigned n_texts;
    struct template templates[TEMPLATES];
    unsigned n_templates;
    uint16_t buckets[BUCKETS]; /* a template's number + 1; 0: empty */
    struct jpr_out text;
    struct jpr_out template;
    struct jpr_out row;
    struct jpr_out payload;
    uint8_t space[2 * PAYLOAD_BYTES];
};

struct jpr_packer *jpr_packer_create(void)
{
    struct jpr_packer *p = malloc(sizeof(*p));
    uint8_t *at;

    if (!p)
        return NULL;
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

static void empty(struct jpr_out *out)
{
    out->used = 0;
    out->full = false;
}

void jpr_packer_begin(struct jpr_packer *p, bool in_flight, uint64_t at_mono_ns)
{
    p->in_flight = in_flight;
    p->at_mono_ns = at_mono_ns;
    p->n_rows = 0;
    p->last_start_ns = at_mono_ns;
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

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

/* Texts are the recorder's interned names: their addresses serve. */
static uint64_t hash_of(const struct jpr_op *op)
{
    uint64_t hash = mix(op->comm, (uint64_t) op->kind << 32 | op->n_channels);

    hash = mix(hash, op->bytes);
    hash = mix(hash, op->count ^ op->api_count << 1);
    hash = mix(hash, (uint64_t) op->root << 32 ^ (uint64_t) op->peer);
    hash = mix(hash, (uintptr_t) op->func ^ (uintptr_t) op->api_func << 1);
    hash = mix(hash, (uintptr_t) op->algo ^ (uintptr_t) op->proto << 1);
    return mix(hash, (uintptr_t) op->datatype ^ op->graph_captured);
}

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

/* The text's number in this block, or TEXTS when there is no room. */
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

/* Tells a new template; false when there is no room. */
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
    jpr_fields_put(&jpr_template_fields, op, &p->template);
    for (i = 0; i < N_TEXTS; i++)
        jpr_put_u64(&p->template, numbers[i]);
    p->templates[p->n_templates] = (struct template){.op = *op};
    p->n_templates++;
    return true;
}

/* The number of the operation's template, or TEMPLATES: no room. */
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
    return flags;
}

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
    jpr_put_delta(row, op->exec_ns, likely_ns);
}

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

    if (p->row.size - p->row.used < ROW_ROOM)
        return false;
    number = find_template(p, op);
    if (number == TEMPLATES)
        return false;
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
    p->n_rows++;
    return true;
}

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
