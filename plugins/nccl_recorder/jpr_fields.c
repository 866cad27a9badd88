/* The members of a record in the order the file has them. */
#include "plugins/nccl_recorder/jpr_fields.h"

#include <string.h>

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

#define O(member, how) AT(jpr_op, member, how)
FIELDS(template, jpr_op, O(comm, JPR_U32), O(kind, JPR_U32), O(count, JPR_U64),
       O(bytes, JPR_U64), O(root, JPR_I64), O(peer, JPR_I64),
       O(n_channels, JPR_U32), O(api_count, JPR_U64),
       O(graph_captured, JPR_BOOL));

_Static_assert(sizeof(enum jpr_op_kind) == sizeof(uint32_t),
               "a kind is read as a number");

void jpr_fields_put(const struct jpr_fields *fields, const void *record,
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

void jpr_fields_get(const struct jpr_fields *fields, void *record,
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

/* Length of the UTF-8 character at s[0..n), 0 where there is none. */
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
