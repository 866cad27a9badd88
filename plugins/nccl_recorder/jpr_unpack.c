/* jpr_unpack.c - the payload of one block becomes records, trusting nothing.
 *
 * jpr_unpacked_load() reads what a block has before its records (texts,
 * templates, counts); jpr_unpacked_next() then reads one record a call.
 * Failures are static texts, to which jpr_read.c adds the place. Communicators
 * are kept for the whole file, everything else until the next block.
 */
#include "plugins/nccl_recorder/jpr_read.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_frame.h"

/* --- texts --------------------------------------------------------------- */

/* Returns the length of the printable UTF-8 character at s[0..n), or 0 where
 * there is none: control characters, overlong forms, surrogates. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
    uint32_t code;
    size_t length, i;

    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7F;
    length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || length > n)
        return 0;
    code = s[0] & (0xFFu >> (length + 1));
    for (i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3F);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000) ||
        code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) || code < 0xA0)
        return 0;
    return length;
}

/* Bytes that cannot be shown become '?', one for one, so a text never grows. */
const char *jpr_texts_get(struct jpr_texts *texts, struct jpr_in *in)
{
    const char *text;
    size_t n = jpr_get_text(in, &text);
    char *start = texts->bytes + texts->used;
    size_t i = 0;

    if (in->bad || texts->size - texts->used < n + 1)
        return "";
    while (i < n && text[i]) {
        size_t length = utf8_length((const unsigned char *) text + i, n - i);

        if (length == 0) {
            start[i++] = '?';
            continue;
        }
        memcpy(start + i, text + i, length);
        i += length;
    }
    start[i] = '\0';
    texts->used += n + 1;
    return start;
}

/* --- communicators ------------------------------------------------------- */

/* The communicators of a file by index. All zeros: none. */
struct jpr_comms {
    struct jpr_comm **list; /* owned; entries may be NULL */
    uint32_t n;
    size_t bytes; /* sum over all copies */
};

enum { N_COMM_TEXTS = 3, MAX_BYTES = 16 << 20 };

/* Returns a copy with its texts, in one allocation of *bytes. NULL without
 * memory. */
static struct jpr_comm *copy_of(const struct jpr_comm *comm, size_t *bytes)
{
    const char *const texts[N_COMM_TEXTS] = {comm->name, comm->gpu_pci,
                                             comm->gpu_uuid};
    const char *copies[N_COMM_TEXTS];
    struct jpr_comm *copy;
    char *at;
    int i;

    *bytes = sizeof(*comm);
    for (i = 0; i < N_COMM_TEXTS; i++)
        *bytes += strlen(texts[i]) + 1;
    copy = malloc(*bytes);
    if (!copy)
        return NULL;
    at = (char *) (copy + 1);
    for (i = 0; i < N_COMM_TEXTS; i++) {
        size_t n = strlen(texts[i]) + 1;

        copies[i] = memcpy(at, texts[i], n);
        at += n;
    }
    *copy = *comm;
    copy->name = copies[0];
    copy->gpu_pci = copies[1];
    copy->gpu_uuid = copies[2];
    return copy;
}

/* Makes room for an index. Returns 0 or -1. */
static int reserve_comm(struct jpr_comms *comms, uint32_t index)
{
    size_t room = comms->n;

    if (VECTOR_ROOM(comms->list, (size_t) index + 1, room) < 0)
        return -1;
    memset(comms->list + comms->n, 0, (room - comms->n) * sizeof(*comms->list));
    comms->n = (uint32_t) room;
    return 0;
}

/* Returns NULL for an unknown index. */
static const struct jpr_comm *comms_find(const struct jpr_comms *comms,
                                         uint32_t index)
{
    return index < comms->n ? comms->list[index] : NULL;
}

/* Adds a copy with its texts and sets *copy to it (borrowed until fini).
 * Returns NULL, or why not (static text): index out of range or used before,
 * more than 16 MiB in all, no memory. Then nothing has changed. */
static const char *comms_add(struct jpr_comms *comms,
                             const struct jpr_comm *comm,
                             const struct jpr_comm **copy)
{
    struct jpr_comm *own;
    size_t bytes;

    /* check everything before anything is changed */
    if (comm->index >= JPR_MAX_COMMS)
        return "a communicator's index is too large";
    if (comms_find(comms, comm->index))
        return "a communicator appears more than once";
    if (reserve_comm(comms, comm->index) < 0)
        return "no memory for a communicator";
    own = copy_of(comm, &bytes);
    if (!own || bytes > MAX_BYTES - comms->bytes) {
        free(own);
        return "no room for a communicator";
    }
    comms->bytes += bytes;
    comms->list[comm->index] = own;
    *copy = own;
    return NULL;
}

static void comms_fini(struct jpr_comms *comms)
{
    uint32_t i;

    for (i = 0; i < comms->n; i++)
        free(comms->list[i]);
    free(comms->list);
    *comms = (struct jpr_comms){0};
}

/* --- the payload of one block into records, trusting nothing --- */

enum { N_TEXTS = 6 };

struct template
{
    struct jpr_op op;
    struct jpr_row_base last;
};

struct jpr_unpacked {
    enum jpr_block type;
    uint64_t left; /* records of the block that are not read yet */
    struct jpr_in in;
    struct jpr_texts texts;  /* of this block */
    const char **dictionary; /* as it is in the scratch */
    struct jpr_comms comms;
    uint64_t n_texts;
    struct template *templates;
    uint64_t n_templates;
    uint64_t last_start_ns; /* of the last row: base of the next */
    uint64_t last_later;    /* the same */
    struct jpr_header header;
    struct jpr_process process;
    struct jpr_room room;
    struct jpr_counters counters;
    struct jpr_inflight inflight;
};

struct jpr_scratch *jpr_scratch_create(void)
{
    struct jpr_scratch *scratch = calloc(1, sizeof(*scratch));

    if (!scratch)
        return NULL;
    scratch->disk = malloc(JPR_MAX_RAW_BYTES);
    scratch->raw = malloc(JPR_MAX_RAW_BYTES);
    scratch->texts = malloc(JPR_MAX_RAW_BYTES);
    scratch->dictionary =
        malloc(JPR_MAX_STRINGS * sizeof(*scratch->dictionary));
    if (scratch->disk && scratch->raw && scratch->texts && scratch->dictionary)
        return scratch;
    jpr_scratch_destroy(scratch);
    return NULL;
}

void jpr_scratch_destroy(struct jpr_scratch *scratch)
{
    if (!scratch)
        return;
    free(scratch->ahead);
    free(scratch->dictionary);
    free(scratch->texts);
    free(scratch->raw);
    free(scratch->disk);
    free(scratch);
}

struct jpr_unpacked *jpr_unpacked_create(void)
{
    return calloc(1, sizeof(struct jpr_unpacked));
}

/* The lists are const for readers, but owned here. */
static void free_counters(struct jpr_counters *c)
{
    free((void *) (uintptr_t) c->rows);
    free((void *) (uintptr_t) c->unseen);
    free((void *) (uintptr_t) c->doubts);
    free((void *) (uintptr_t) c->pauses);
    *c = (struct jpr_counters){0};
}

void jpr_unpacked_destroy(struct jpr_unpacked *u)
{
    if (!u)
        return;
    comms_fini(&u->comms);
    free(u->templates);
    free_counters(&u->counters);
    free(u);
}

void jpr_unpacked_drop(struct jpr_unpacked *u)
{
    u->left = 0;
}

bool jpr_unpacked_is_empty(const struct jpr_unpacked *u)
{
    return u->left == 0;
}

const struct jpr_comm *jpr_unpacked_comm(const struct jpr_unpacked *u,
                                         uint32_t index)
{
    return comms_find(&u->comms, index);
}

/* ------------------------------------------------- header and counters -- */

/* Reads the members of a record; in->bad shows whether all were there. */
static void get_fields(const struct jpr_fields *fields, void *record,
                       struct jpr_in *in, struct jpr_texts *texts)
{
    size_t i;

    for (i = 0; i < fields->n; i++) {
        void *at = (char *) record + fields->rows[i].offset;

        switch (fields->rows[i].type) {
        case JPR_U64:
            *(uint64_t *) at = jpr_get_u64(in);
            break;
        case JPR_U32:
            *(uint32_t *) at = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
            break;
        case JPR_I64:
            *(int64_t *) at = jpr_get_i64(in);
            break;
        case JPR_BOOL:
            *(bool *) at = jpr_get_bounded(in, 1) != 0;
            break;
        case JPR_TEXT:
            *(const char **) at = jpr_texts_get(texts, in);
            break;
        }
    }
}

static const char *load_header(struct jpr_unpacked *u)
{
    struct jpr_header *h = &u->header;
    uint32_t i;

    memset(h, 0, sizeof(*h));
    get_fields(&jpr_header_fields, h, &u->in, &u->texts);
    h->n_variables = (uint32_t) jpr_get_bounded(&u->in, JPR_MAX_VARIABLES);
    for (i = 0; i < h->n_variables; i++)
        get_fields(&jpr_variable_fields, &h->variables[i], &u->in, &u->texts);
    /* a bad number becomes 0, so both loops are bounded */
    h->n_notes = (uint32_t) jpr_get_bounded(&u->in, JPR_MAX_NOTES);
    for (i = 0; i < h->n_notes; i++)
        h->notes[i] = jpr_texts_get(&u->texts, &u->in);
    h->kernels = true; /* version 1 always requested them */
    if (!u->in.bad && u->in.at < u->in.end)
        h->kernels = jpr_get_bounded(&u->in, 1) != 0;
    if (!u->in.bad && u->in.at < u->in.end)
        h->start = jpr_get_u64(&u->in);
    u->left = 1;
    return u->in.bad ? "damaged header" : NULL;
}

static const char *load_process(struct jpr_unpacked *u)
{
    struct jpr_process *p = &u->process;
    uint32_t i;

    memset(p, 0, sizeof(*p));
    p->n_variables = (uint32_t) jpr_get_bounded(&u->in, JPR_MAX_VARIABLES);
    for (i = 0; i < p->n_variables; i++)
        get_fields(&jpr_variable_fields, &p->variables[i], &u->in, &u->texts);
    /* a bad number becomes 0, so both loops are bounded */
    p->n_pids = (uint32_t) jpr_get_bounded(&u->in, JPR_MAX_PIDS);
    for (i = 0; i < p->n_pids; i++)
        p->pids[i] = jpr_get_u64(&u->in);
    u->left = 1;
    return u->in.bad ? "damaged record of the process" : NULL;
}

/* Reads a list of entries that take at least `least` bytes each, so that a
 * false number cannot ask for more memory than the block's size allows. Returns
 * NULL without memory. */
static void *load_list(struct jpr_unpacked *u, const struct jpr_fields *fields,
                       size_t size, unsigned least, uint64_t *n)
{
    char *list;
    uint64_t i;

    *n = jpr_get_bounded(&u->in, (uint64_t) (u->in.end - u->in.at) / least);
    list = calloc(*n + 1, size); /* + 1: not NULL for an empty list */
    for (i = 0; list && i < *n; i++)
        get_fields(fields, list + i * size, &u->in, &u->texts);
    return list;
}

/* Later releases appended parts: each is read if there are bytes left. */
static const char *load_counters(struct jpr_unpacked *u)
{
    struct jpr_counters *c = &u->counters;

    free_counters(c);
    get_fields(&jpr_counters_fields, c, &u->in, &u->texts);
    c->rows = load_list(u, &jpr_row_fields, sizeof(*c->rows), 7, &c->n_rows);
    /* a file of release 0.1 ends here */
    if (c->rows && u->in.at < u->in.end)
        c->unseen = load_list(u, &jpr_unseen_fields, sizeof(*c->unseen), 3,
                              &c->n_unseen);
    if (!c->rows || (c->n_unseen > 0 && !c->unseen))
        return "no memory for its counters";
    c->cost.told = !u->in.bad && u->in.at < u->in.end;
    if (c->cost.told)
        get_fields(&jpr_cost_fields, &c->cost, &u->in, &u->texts);
    if (c->cost.told && !u->in.bad && u->in.at < u->in.end) {
        c->doubts = load_list(u, &jpr_doubts_fields, sizeof(*c->doubts), 4,
                              &c->n_doubts);
        if (!c->doubts)
            return "no memory for its counters";
    }
    if (c->doubts && !u->in.bad && u->in.at < u->in.end) {
        c->pauses = load_list(u, &jpr_pause_fields, sizeof(*c->pauses), 4,
                              &c->n_pauses);
        if (!c->pauses)
            return "no memory for its counters";
    }
    u->left = 1;
    return u->in.bad ? "damaged counters" : NULL;
}

/* ---------------------------------------------------------- operations -- */

/* Reads the texts of a block of operations. */
static const char *load_dictionary(struct jpr_unpacked *u)
{
    uint64_t i;

    u->n_texts = jpr_get_bounded(&u->in, JPR_MAX_STRINGS);
    for (i = 0; i < u->n_texts; i++)
        u->dictionary[i] = jpr_texts_get(&u->texts, &u->in);
    return u->in.bad ? "damaged dictionary" : NULL;
}

/* Reads a template; returns false if it is damaged. */
static bool get_template(struct jpr_unpacked *u, struct template *t)
{
    const char **const texts[N_TEXTS] = {&t->op.func,     &t->op.datatype,
                                         &t->op.algo,     &t->op.proto,
                                         &t->op.api_func, &t->op.api_datatype};
    int i;

    memset(t, 0, sizeof(*t));
    get_fields(&jpr_template_fields, &t->op, &u->in, &u->texts);
    for (i = 0; i < N_TEXTS; i++) {
        uint64_t number = jpr_get_u64(&u->in);

        if (number >= u->n_texts) /* not in the dictionary */
            return false;
        *texts[i] = u->dictionary[number];
    }
    return !u->in.bad && (unsigned) t->op.kind < JPR_N_OP_KINDS;
}

/* Reads what a block of operations has before its rows. An empty snapshot gives
 * one record that says so. */
static const char *load_ops(struct jpr_unpacked *u)
{
    const char *why;
    uint64_t i;

    u->last_start_ns = u->inflight.at_mono_ns = jpr_get_u64(&u->in);
    u->last_later = 0;
    u->inflight.omitted = (uint32_t) jpr_get_bounded(&u->in, UINT32_MAX);
    why = load_dictionary(u);
    if (why)
        return why;
    u->n_templates = jpr_get_bounded(&u->in, JPR_MAX_TEMPLATES);
    free(u->templates);
    u->templates = malloc((size_t) u->n_templates * sizeof(*u->templates) + 1);
    if (!u->templates)
        return "no memory for its operations";
    for (i = 0; i < u->n_templates; i++) {
        if (!get_template(u, &u->templates[i]))
            return "damaged description of an operation";
    }
    /* a row takes more than a byte, so this is above any real number */
    u->left = jpr_get_bounded(&u->in, JPR_MAX_RAW_BYTES);
    u->inflight.none = u->type == JPR_BLOCK_INFLIGHT && u->left == 0;
    if (u->inflight.none)
        u->left = 1;
    return u->in.bad ? "damaged number of operations" : NULL;
}

/* The reverse of put_times() in jpr_frame.c. */
static void get_times(struct jpr_in *in, struct jpr_op *op, uint64_t flags,
                      struct jpr_row_base *last)
{
    uint64_t likely_ns = 0;

    if (flags & JPR_ROW_KERNEL) {
        op->kernel_first_mono_ns = jpr_get_delta(in, op->enqueue_start_mono_ns);
        op->kernel_last_mono_ns = jpr_get_delta(in, op->kernel_first_mono_ns);
        likely_ns = op->kernel_last_mono_ns - op->kernel_first_mono_ns;
    }
    if (flags & JPR_ROW_GPU) {
        op->gpu_first_ns = jpr_get_delta(
            in, last->gpu_ns + op->kernel_first_mono_ns - last->kernel_ns);
        op->gpu_last_ns = jpr_get_delta(in, op->gpu_first_ns);
        likely_ns = op->gpu_last_ns - op->gpu_first_ns;
        last->gpu_ns = op->gpu_first_ns;
        last->kernel_ns = op->kernel_first_mono_ns;
    }
    if (!(flags & JPR_ROW_LATER))
        op->exec_ns = jpr_get_delta(in, likely_ns);
}

/* The waits of an operation. */
static void get_net(struct jpr_in *in, struct jpr_op *op)
{
    int i;

    for (i = 0; i < JPR_N_WAITS; i++)
        op->wait_ns[i] = jpr_get_u64(in);
    op->net_steps = jpr_get_u64(in);
    op->net_bytes = jpr_get_u64(in);
}

/* Reads one operation. Returns NULL, or what is wrong. */
static const char *get_row(struct jpr_unpacked *u, struct jpr_op *op)
{
    struct jpr_in *in = &u->in;
    uint64_t number = jpr_get_u64(in);
    uint64_t flags = jpr_get_u64(in);
    struct template *t;

    /* unknown flags may stand for members whose length is unknown */
    if (in->bad || number >= u->n_templates || flags > JPR_ROW_FLAGS ||
        (flags & JPR_ROW_SOURCE) == JPR_ROW_SOURCE)
        return "damaged operation";
    t = &u->templates[number];
    *op = t->op;
    op->source =
        (enum jpr_source)((flags & JPR_ROW_SOURCE) >> JPR_ROW_SOURCE_SHIFT);
    op->incomplete = flags & JPR_ROW_INCOMPLETE;
    op->overtaken = flags & JPR_ROW_OVERTAKEN;
    op->unsure = flags & JPR_ROW_UNSURE;
    op->has_net = flags & JPR_ROW_NET;
    /* each value is the base of the next row's */
    op->seq = t->last.seq = jpr_get_delta(in, t->last.seq + 1);
    op->enqueue_start_mono_ns = u->last_start_ns =
        jpr_get_delta(in, u->last_start_ns);
    op->enqueue_stop_mono_ns = jpr_get_delta(in, op->enqueue_start_mono_ns);
    get_times(in, op, flags, &t->last);
    if (u->type == JPR_BLOCK_INFLIGHT || op->incomplete) {
        op->channels_started = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
        op->channels_stopped = (uint32_t) jpr_get_bounded(in, UINT32_MAX);
    }
    if (op->has_net)
        get_net(in, op);
    op->symmetric = flags & JPR_ROW_SYMMETRIC;
    op->has_phases = flags & JPR_ROW_PHASES;
    op->tag = flags & JPR_ROW_TAG ? jpr_get_u64(in) : 0;
    if (op->has_phases) {
        op->sync_ns = jpr_get_u64(in);
        op->compute_ns = jpr_get_u64(in);
        op->close_ns = jpr_get_u64(in);
    }
    if (flags & JPR_ROW_LATER) {
        op->later = u->last_later = jpr_get_delta(in, u->last_later + 1);
        if (op->later == 0 || (flags & (JPR_ROW_GPU | JPR_ROW_PHASES)))
            return "damaged operation";
    }
    return in->bad ? "damaged operation" : NULL;
}

void jpr_unpacked_time(struct jpr_unpacked *u, const struct jpr_times *times)
{
    struct jpr_op *op = &u->inflight.op;

    op->gpu_first_ns = times->gpu_first_ns;
    op->gpu_last_ns = times->gpu_last_ns;
    op->exec_ns = times->exec_ns;
    op->has_phases = times->has_phases;
    op->sync_ns = times->sync_ns;
    op->compute_ns = times->compute_ns;
    op->close_ns = times->close_ns;
}

/* Makes the next record of a block of operations. */
static const char *next_op(struct jpr_unpacked *u, struct jpr_record *record)
{
    static const struct jpr_op no_op = {.func = "",
                                        .datatype = "",
                                        .algo = "",
                                        .proto = "",
                                        .api_func = "",
                                        .api_datatype = ""};
    const char *why = NULL;

    u->inflight.op = no_op;
    if (!u->inflight.none)
        why = get_row(u, &u->inflight.op);
    u->inflight.left = (uint32_t) (u->left - 1);
    if (u->type == JPR_BLOCK_INFLIGHT) {
        record->type = JPR_INFLIGHT;
        record->inflight = &u->inflight;
    } else {
        record->type = JPR_OP;
        record->op = &u->inflight.op;
    }
    return why;
}

/* Makes the next record of a block of communicators. */
static const char *next_comm(struct jpr_unpacked *u, struct jpr_record *record)
{
    struct jpr_comm comm = {0};

    get_fields(&jpr_comm_fields, &comm, &u->in, &u->texts);
    if (u->in.bad)
        return "damaged communicator";
    record->type = JPR_COMM;
    return comms_add(&u->comms, &comm, &record->comm);
}

/* ---------------------------------------------------------------- blocks -- */

/* A stored payload is read where it is; only a compressed one is copied. */
const char *jpr_unpacked_load(struct jpr_unpacked *u,
                              const struct jpr_frame *frame,
                              const struct jpr_scratch *scratch)
{
    const uint8_t *disk = scratch->disk;
    const char *why = NULL;

    u->left = 0;
    u->texts = (struct jpr_texts){scratch->texts, 0, JPR_MAX_RAW_BYTES};
    u->dictionary = scratch->dictionary;
    u->type = (enum jpr_block) frame->type;
    if (frame->codec == JPR_ZLIB) {
        if (jpr_unzip(disk, frame->disk_bytes, scratch->raw, frame->raw_bytes) <
            0)
            return "cannot be unpacked";
        disk = scratch->raw;
    }
    u->in = (struct jpr_in){.at = disk, .end = disk + frame->raw_bytes};
    switch (u->type) {
    case JPR_BLOCK_HEADER:
        why = load_header(u);
        break;
    case JPR_BLOCK_PROCESS:
        why = load_process(u);
        break;
    case JPR_BLOCK_ROOM:
        get_fields(&jpr_room_fields, &u->room, &u->in, &u->texts);
        u->left = 1;
        break;
    case JPR_BLOCK_COMM:
        u->left = jpr_get_bounded(&u->in, JPR_MAX_COMMS);
        break;
    case JPR_BLOCK_OPS:
    case JPR_BLOCK_INFLIGHT:
        why = load_ops(u);
        break;
    case JPR_BLOCK_COUNTERS:
        why = load_counters(u);
        break;
    default: /* of a later release, or times, which jpr_read.c takes: no
                records */
        break;
    }
    if (why || u->in.bad)
        u->left = 0;
    return !why && u->in.bad ? "damaged block" : why;
}

int jpr_unpacked_next(struct jpr_unpacked *u, struct jpr_record *record,
                      const char **why)
{
    *why = NULL;
    if (u->left == 0)
        return 0;
    switch (u->type) {
    case JPR_BLOCK_HEADER:
        record->type = JPR_HEADER;
        record->header = &u->header;
        break;
    case JPR_BLOCK_PROCESS:
        record->type = JPR_PROCESS;
        record->process = &u->process;
        break;
    case JPR_BLOCK_ROOM:
        record->type = JPR_ROOM;
        record->room = &u->room;
        break;
    case JPR_BLOCK_COUNTERS:
        record->type = JPR_COUNTERS;
        record->counters = &u->counters;
        break;
    case JPR_BLOCK_COMM:
        *why = next_comm(u, record);
        break;
    default:
        *why = next_op(u, record);
        break;
    }
    u->left = *why ? 0 : u->left - 1;
    return *why ? -1 : 1;
}
