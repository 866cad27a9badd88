/* trace_event.c - format name, category and arguments of an operation, for a
 * trace of events.
 *
 * The texts are made when an operation is read, and written when its turn comes
 * (export_chrome.c). Members without a value are left out. */
#include "orchestrator/export/export.h"

#include <stdlib.h>

#include "common/json_stream.h"

/* Words of enum jpr_op_kind, of enum jpr_source and of the waits in the
 * network. */
static const char *const kinds[JPR_N_OP_KINDS] = {"collective", "p2p",
                                                  "copy engine"};
static const char *const sources[] = {"kernel_gpu", "kernel_cpu",
                                      "collective_cpu"};
static const char *const waits[JPR_N_WAITS] = {
    "send_gpu", "send_peer", "send", "recv", "recv_flush", "recv_gpu"};

bool trace_event_span(const struct jpr_op *op, uint64_t *start_ns,
                      uint64_t *end_ns)
{
    uint64_t end = recfile_end_ns(op);

    /* the kernel's begin, or when the host enqueued the operation */
    *start_ns = op->kernel_first_mono_ns ? op->kernel_first_mono_ns
                                         : op->enqueue_start_mono_ns;
    *end_ns = end > *start_ns ? end : *start_ns;
    return *start_ns != 0;
}

/* Writes a member, unless its text is empty. */
static void put_text(struct jp_json_stream *s, const char *key,
                     const char *text)
{
    if (*text)
        json_stream_text(s, key, text);
}

/* Writes how long the network's steps of an operation waited, by reason. */
static void put_waits(struct jp_json_stream *s, const struct jpr_op *op)
{
    /* waits are recorded only if the network was used */
    if (!op->has_net)
        return;
    json_stream_object(s, "wait_us");
    for (int i = 0; i < JPR_N_WAITS; i++)
        json_stream_count(s, waits[i], op->wait_ns[i] / 1000);
    json_stream_end_object(s);
    json_stream_count(s, "net_steps", op->net_steps);
    json_stream_count(s, "net_bytes", op->net_bytes);
}

/* Writes execution time, bandwidth, and how long before its kernel an operation
 * was enqueued. */
static void put_times(struct jp_json_stream *s, const struct jp_recfile *file,
                      const struct jpr_op *op)
{
    const struct jpr_comm *comm = jpr_comm(file->reader, op->comm);
    uint64_t enqueue = op->enqueue_start_mono_ns, exec_us = recfile_exec_us(op);
    /* Inspector's formula */
    struct bandwidth b = bandwidth_of(
        bandwidth_find(op->func), comm ? comm->n_ranks : 0, op->bytes, exec_us);

    if (exec_us) {
        json_stream_count(s, "exec_us", exec_us);
        json_stream_text(s, "exec_source", sources[op->source]);
        json_stream_fixed(s, "busbw_gbs", b.bus_gbs, 6);
    }
    if (op->enqueue_stop_mono_ns > enqueue)
        json_stream_milli(s, "enqueue_us",
                          (int64_t) (op->enqueue_stop_mono_ns - enqueue));
    if (enqueue && op->kernel_first_mono_ns >= enqueue)
        json_stream_milli(s, "enqueued_before_us",
                          (int64_t) (op->kernel_first_mono_ns - enqueue));
    if (op->gpu_first_ns)
        json_stream_count(s, "gpu_start_ns", op->gpu_first_ns);
}

/* Writes all that is known of an operation. */
static void put_args(struct jp_json_stream *s, const struct jp_recfile *file,
                     const struct jpr_op *op)
{
    json_stream_count(s, "seq", op->seq);
    json_stream_count(s, "bytes", op->bytes);
    json_stream_count(s, "count", op->count);
    put_text(s, "datatype", op->datatype);
    put_text(s, "api", op->api_func);
    put_text(s, "algo", op->algo);
    put_text(s, "proto", op->proto);
    json_stream_count(s, "channels", op->n_channels);
    /* a peer, or the root of Broadcast and Reduce unless it is rank 0 */
    if (op->kind == JPR_P2P)
        json_stream_int(s, "peer", op->peer);
    else if (op->root > 0)
        json_stream_int(s, "root", op->root);
    put_times(s, file, op);
    put_waits(s, op);
    if (op->graph_captured)
        json_stream_bool(s, "graph", true);
    /* how far it got, if not all channels ended */
    if (op->channels_started || op->incomplete) {
        json_stream_count(s, "channels_started", op->channels_started);
        json_stream_count(s, "channels_stopped", op->channels_stopped);
    }
    if (op->incomplete)
        json_stream_bool(s, "incomplete", true);
}

char *trace_event_describe(const struct jp_recfile *file,
                           const struct jpr_op *op)
{
    struct jp_json_stream s;
    char *text = NULL;
    size_t len = 0;
    /* the stream allocates text, which fclose completes */
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return NULL;
    json_stream_open(&s, JSON_PART, out);
    json_stream_text(&s, "name", op->func);
    json_stream_text(&s, "cat", kinds[op->kind]);
    json_stream_object(&s, "args");
    put_args(&s, file, op);
    json_stream_end_object(&s);
    json_stream_close(&s, NULL);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

char *trace_event_of_record(const struct record *record,
                            const struct trace_op *op)
{
    char func[2 * RECORD_MAX_FUNC];
    struct jp_json_stream s;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return NULL;
    /* a record's texts are not terminated */
    snprintf(func, sizeof(func), "%.*s", (int) record->func.len,
             record->func.text);
    json_stream_open(&s, JSON_PART, out);
    json_stream_text(&s, "name", func);
    json_stream_text(&s, "cat", kinds[record->p2p ? 1 : 0]);
    json_stream_object(&s, "args");
    if (record->has_sn)
        json_stream_count(&s, "seq", record->sn);
    json_stream_count(&s, "bytes", record->bytes);
    /* the example plugin has more than a record */
    if (op) {
        json_stream_count(&s, "count", op->count);
        put_text(&s, "algo", op->algo);
        put_text(&s, "proto", op->proto);
        json_stream_count(&s, "channels", op->channels);
    }
    if (record->p2p)
        json_stream_count(&s, "peer", record->peer);
    if (!record->exec_unknown)
        json_stream_count(&s, "exec_us", record->exec_us);
    if (!record->busbw_nan && record->n_ranks)
        json_stream_fixed(&s, "busbw_gbs", (double) record->busbw_micro / 1e6,
                          6);
    json_stream_end_object(&s);
    json_stream_close(&s, NULL);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
