/* trace_event.c - name, category and arguments of an operation. */
#include "orchestrator/export/trace_event.h"

#include <inttypes.h>
#include <stdlib.h>

#include "orchestrator/ingest/jsontext.h"

static const char *const kinds[JPR_N_OP_KINDS] = {"collective", "p2p",
                                                  "copy engine"};
static const char *const sources[] = {"kernel_gpu", "kernel_cpu",
                                      "collective_cpu"};
static const char *const waits[JPR_N_WAITS] = {
    "send_gpu", "send_peer", "send", "recv", "recv_flush", "recv_gpu"};

void trace_event_us(FILE *out, int64_t ns)
{
    uint64_t all = ns < 0 ? 0 - (uint64_t) ns : (uint64_t) ns;

    fprintf(out, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", all / 1000,
            (unsigned) (all % 1000));
}

bool trace_event_span(const struct jpr_op *op, uint64_t *start_ns,
                      uint64_t *end_ns)
{
    uint64_t end = recfile_end_ns(op);

    *start_ns = op->kernel_first_mono_ns ? op->kernel_first_mono_ns
                                         : op->enqueue_start_mono_ns;
    *end_ns = end > *start_ns ? end : *start_ns;
    return *start_ns != 0;
}

static void put_text(FILE *out, const char *key, const char *text)
{
    if (!*text)
        return;
    fprintf(out, ",\"%s\":", key);
    jsontext_put(out, text);
}

static void put_waits(FILE *out, const struct jpr_op *op)
{
    if (!op->has_net)
        return;
    fputs(",\"wait_us\":{", out);
    for (int i = 0; i < JPR_N_WAITS; i++)
        fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", waits[i],
                op->wait_ns[i] / 1000);
    fprintf(out, "},\"net_steps\":%" PRIu64 ",\"net_bytes\":%" PRIu64,
            op->net_steps, op->net_bytes);
}

static void put_times(FILE *out, const struct jp_recfile *file,
                      const struct jpr_op *op)
{
    const struct jpr_comm *comm = jpr_comm(file->reader, op->comm);
    uint64_t enqueue = op->enqueue_start_mono_ns, exec_us = recfile_exec_us(op);
    struct bandwidth b = bandwidth_of(
        bandwidth_find(op->func), comm ? comm->n_ranks : 0, op->bytes, exec_us);

    if (exec_us)
        fprintf(out,
                ",\"exec_us\":%" PRIu64 ",\"exec_source\":\"%s\","
                "\"busbw_gbs\":%.6f",
                exec_us, sources[op->source], b.bus_gbs);
    if (op->enqueue_stop_mono_ns > enqueue) {
        fputs(",\"enqueue_us\":", out);
        trace_event_us(out, (int64_t) (op->enqueue_stop_mono_ns - enqueue));
    }
    if (enqueue && op->kernel_first_mono_ns >= enqueue) {
        fputs(",\"enqueued_before_us\":", out);
        trace_event_us(out, (int64_t) (op->kernel_first_mono_ns - enqueue));
    }
    if (op->gpu_first_ns)
        fprintf(out, ",\"gpu_start_ns\":%" PRIu64, op->gpu_first_ns);
}

static void put_name(FILE *out, const struct jpr_op *op)
{
    const char *api = op->api_func;

    fputs(",\"name\":", out);
    jsontext_put(out, op->func);
    fprintf(out,
            ",\"cat\":\"%s\",\"args\":{\"seq\":%" PRIu64 ",\"bytes\":%" PRIu64
            ",\"count\":%" PRIu64,
            kinds[op->kind], op->seq, op->bytes, op->count);
    put_text(out, "datatype", op->datatype);
    put_text(out, "api", api);
}

char *trace_event_describe(const struct jp_recfile *file,
                           const struct jpr_op *op)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return NULL;
    put_name(out, op);
    put_text(out, "algo", op->algo);
    put_text(out, "proto", op->proto);
    fprintf(out, ",\"channels\":%" PRIu32, op->n_channels);
    if (op->kind == JPR_P2P)
        fprintf(out, ",\"peer\":%" PRId64, op->peer);
    else if (op->root > 0)
        fprintf(out, ",\"root\":%" PRId64, op->root);
    put_times(out, file, op);
    put_waits(out, op);
    if (op->graph_captured)
        fputs(",\"graph\":true", out);
    if (op->channels_started || op->incomplete)
        fprintf(out,
                ",\"channels_started\":%" PRIu32
                ",\"channels_stopped\":%" PRIu32,
                op->channels_started, op->channels_stopped);
    if (op->incomplete)
        fputs(",\"incomplete\":true", out);
    fputc('}', out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
