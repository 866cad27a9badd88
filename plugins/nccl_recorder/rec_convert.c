/* A record of the hot path as an operation of the file. */
#include "plugins/nccl_recorder/rec_convert.h"

#include <string.h>

#include "plugins/nccl_recorder/rec_names.h"

/* From being enqueued until the last child stopped; 0: none ever did. */
static uint64_t host_span(const struct jp_rec_record *r)
{
    uint64_t last = r->times[JP_REC_KERNEL_LAST];

    if (r->times[JP_REC_PROXY_LAST] > last)
        last = r->times[JP_REC_PROXY_LAST];
    return last > r->facts.start_ns ? last - r->facts.start_ns : 0;
}

static void set_exec(const struct jp_rec_record *r, struct jpr_op *op)
{
    if (r->times[JP_REC_GPU_MAX] > 0) {
        op->source = JPR_KERNEL_GPU;
        op->exec_ns = r->times[JP_REC_GPU_MAX];
    } else if (r->times[JP_REC_HOST_MAX] > 0) {
        op->source = JPR_KERNEL_CPU;
        op->exec_ns = r->times[JP_REC_HOST_MAX];
    } else {
        op->source = JPR_COLLECTIVE_CPU;
        op->exec_ns = host_span(r);
    }
}

static void set_net(const struct jp_rec_record *r, struct jpr_op *op)
{
    op->has_net = true;
    memcpy(op->wait_ns, r->net, sizeof(op->wait_ns));
    op->net_steps = r->net[JPR_N_WAITS];
    op->net_bytes = r->net[JPR_N_WAITS + 1];
}

void rec_convert(const struct jp_rec_record *r, uint32_t comm,
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
        .channels_started = r->started,
        .channels_stopped = r->stopped,
    };
    set_exec(r, op);
    if (rec_done_has_net() &&
        (r->net[JPR_N_WAITS] > 0 || r->net[JPR_WAIT_SEND_GPU] > 0 ||
         r->net[JPR_WAIT_RECV] > 0))
        set_net(r, op);
}
