/* reader_keys.c - the keys of a line's objects: which member of struct record a
 * value goes to, and its limit; and what a batch gives its records.
 */
#include "plugins/nccl_inspector/reader_parts.h"

#define AT(field) offsetof(struct record, field)
#define K(name) "\"" name "\":", sizeof(name) + 2
#define N(table) (sizeof(table) / sizeof(*(table)))

/* In the order in which the plugin writes them, as the next row is guessed
 * first. */
static const struct reader_key header_keys[] = {
    {K("id"), TEXT, HAS_ID, AT(id), RECORD_MAX_ID, NULL},
    {K("comm_name"), TEXT, 0, AT(name), 0, NULL},
    {K("rank"), U32, HAS_RANK, AT(rank), RECORD_MAX_RANKS - 1, NULL},
    {K("n_ranks"), U32, HAS_N_RANKS, AT(n_ranks), RECORD_MAX_RANKS, NULL},
    {K("nnodes"), U32, HAS_NNODES, AT(nnodes), RECORD_MAX_RANKS, NULL},
};
static const struct reader_key metadata_keys[] = {
    {K("inspector_output_format_version"), SKIP, 0, 0, 0, NULL},
    {K("git_rev"), SKIP, 0, 0, 0, NULL},
    {K("rec_mechanism"), SKIP, 0, 0, 0, NULL},
    {K("dump_timestamp_us"), U64, 0, AT(dump_us), INT64_MAX, NULL},
    {K("hostname"), TEXT, 0, AT(host), RECORD_MAX_HOST, NULL},
    {K("pid"), I64, 0, AT(pid), INT64_MAX, NULL},
};
static const struct reader_key coll_keys[] = {
    {K("coll"), TEXT, HAS_FUNC, AT(func), RECORD_MAX_FUNC, NULL},
    {K("coll_algo"), ALGO, 0, AT(algo), RECORD_MAX_FUNC, NULL},
    {K("coll_proto"), PROTO, 0, AT(proto), RECORD_MAX_FUNC, NULL},
    {K("coll_sn"), U64, HAS_SN, AT(sn), UINT64_MAX - 1, NULL},
    {K("coll_msg_size_bytes"), U64, HAS_BYTES, AT(bytes), RECORD_MAX_BYTES,
     NULL},
    {K("coll_exec_time_us"), U64, HAS_EXEC, AT(exec_us), RECORD_MAX_TIME_US,
     NULL},
    {K("coll_timing_source"), CLOCK, 0, AT(clock), RECORD_MAX_FUNC, NULL},
    {K("coll_algobw_gbs"), SKIP, 0, 0, 0, NULL},
    {K("coll_busbw_gbs"), DECIMAL, HAS_BUSBW, AT(busbw_micro),
     RECORD_MAX_BUSBW_MICRO, NULL},
    {K("event_trace_sn"), SKIP, 0, 0, 0, NULL},
    {K("event_trace_ts"), STAMPS, 0, 0, 0, NULL},
};
static const struct reader_key p2p_keys[] = {
    {K("p2p"), TEXT, HAS_FUNC, AT(func), RECORD_MAX_FUNC, NULL},
    {K("p2p_sn"), U64, HAS_SN, AT(sn), UINT64_MAX - 1, NULL},
    {K("p2p_peer"), U32, HAS_PEER, AT(peer), RECORD_MAX_RANKS - 1, NULL},
    {K("p2p_msg_size_bytes"), U64, HAS_BYTES, AT(bytes), RECORD_MAX_BYTES,
     NULL},
    {K("p2p_exec_time_us"), U64, HAS_EXEC, AT(exec_us), RECORD_MAX_TIME_US,
     NULL},
    {K("p2p_timing_source"), CLOCK, 0, AT(clock), RECORD_MAX_FUNC, NULL},
    {K("p2p_algobw_gbs"), SKIP, 0, 0, 0, NULL},
    {K("p2p_busbw_gbs"), DECIMAL, HAS_BUSBW, AT(busbw_micro),
     RECORD_MAX_BUSBW_MICRO, NULL},
    {K("event_trace_sn"), SKIP, 0, 0, 0, NULL},
    {K("event_trace_ts"), STAMPS, 0, 0, 0, NULL},
};
static const struct reader_key stats_keys[] = {
    {K("coll_records"), COUNT, 0, COLLS, UINT32_MAX, NULL},
    {K("coll_dropped_total"), SKIP, 0, 0, 0, NULL},
    {K("coll_dropped_since_last_dump"), COUNT, 0, COLLS_DROPPED, INT64_MAX,
     NULL},
    {K("p2p_records"), COUNT, 0, P2PS, UINT32_MAX, NULL},
    {K("p2p_dropped_total"), SKIP, 0, 0, 0, NULL},
    {K("p2p_dropped_since_last_dump"), COUNT, 0, P2PS_DROPPED, INT64_MAX, NULL},
};
static const struct reader_section header = {header_keys, N(header_keys)};
static const struct reader_section metadata = {metadata_keys, N(metadata_keys)};
static const struct reader_section coll_perf = {coll_keys, N(coll_keys)};
static const struct reader_section p2p_perf = {p2p_keys, N(p2p_keys)};
static const struct reader_section dump_stats = {stats_keys, N(stats_keys)};
static const struct reader_key line_keys[] = {
    {K("header"), SECTION, HAS_HEADER, 0, 0, &header},
    {K("metadata"), SECTION, HAS_METADATA, 0, 0, &metadata},
    {K("coll_perf"), SECTION, HAS_COLL, 0, 0, &coll_perf},
    {K("p2p_perf"), SECTION, HAS_P2P, 0, 0, &p2p_perf},
    {K("dump_stats"), SECTION, HAS_MARKER, 0, 0, &dump_stats},
};
const struct reader_section reader_line = {line_keys, N(line_keys)};

/* Returns the row of a key that was not guessed, or NULL for an unknown key. */
const struct reader_key *reader_find_key(const struct reader_section *section,
                                         const struct reader_json_raw *raw)
{
    for (size_t i = 0; i < section->n; i++) {
        const struct reader_key *key = &section->keys[i];

        if (key->len == raw->len + 3 &&
            !memcmp(key->quoted + 1, raw->text, raw->len))
            return key;
    }
    return NULL;
}

bool reader_knows(enum reader_object object, const struct reader_json_raw *key)
{
    switch (object) {
    case READER_LINE:
        return reader_find_key(&reader_line, key);
    case READER_HEADER:
        return reader_find_key(&header, key);
    case READER_METADATA:
        return reader_find_key(&metadata, key);
    default:
        return reader_find_key(&coll_perf, key) ||
               reader_find_key(&p2p_perf, key);
    }
}

/* Returns a text of a batch. */
static struct record_text text_of(const char *text, size_t len)
{
    return (struct record_text){len ? text : NULL, len};
}

void inspector_batch_base(const struct inspector_batch *batch,
                          struct record *out)
{
    out->id = text_of(batch->id, batch->id_len);
    out->name = text_of(batch->name, batch->name_len);
    out->host = text_of(batch->host, batch->host_len);
    out->rank = batch->rank;
    out->n_ranks = batch->n_ranks;
    out->nnodes = batch->nnodes;
    out->pid = batch->pid;
    out->dump_us = batch->dump_us;
}
