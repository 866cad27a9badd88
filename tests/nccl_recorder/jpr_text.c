/* jpr_text.c - a recorder file as JSON lines, to compare in tests and to read.
 */
#include "tests/nccl_recorder/jpr_text.h"

#include <inttypes.h>

#include "plugins/nccl_recorder/jpr_read.h"

static const char *const sources[] = {"kernel_gpu", "kernel_cpu",
                                      "collective_cpu"};
static const char *const kinds[] = {"coll", "p2p", "ce"};
static const char *const waits[] = {"send_gpu", "send_peer",  "send",
                                    "recv",     "recv_flush", "recv_gpu"};

static const char *yes(bool value)
{
    return value ? "true" : "false";
}

static void put_string(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":\"", key);
    for (; *text; text++)
        fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', out);
}

static void put_u64(FILE *out, const char *key, uint64_t value)
{
    fprintf(out, ",\"%s\":%" PRIu64, key, value);
}

static void put_i64(FILE *out, const char *key, int64_t value)
{
    fprintf(out, ",\"%s\":%" PRId64, key, value);
}

static void put_clocks(FILE *out, const struct jpr_clocks *clocks)
{
    fprintf(out,
            ",\"mono_ns\":%" PRIu64 ",\"real_ns\":%" PRIu64
            ",\"raw_ns\":%" PRIu64,
            clocks->mono_ns, clocks->real_ns, clocks->raw_ns);
}

static void put_header(FILE *out, const struct jpr_header *h)
{
    uint32_t i;

    fputs("{\"type\":\"header\"", out);
    put_clocks(out, &h->clocks);
    put_string(out, "recorder", h->recorder);
    put_string(out, "hostname", h->hostname);
    put_string(out, "boot_id", h->boot_id);
    put_u64(out, "pid", h->pid);
    put_u64(out, "pid_namespace", h->pid_namespace);
    put_string(out, "job", h->job);
    put_string(out, "step", h->step);
    put_i64(out, "procid", h->procid);
    put_i64(out, "nodeid", h->nodeid);
    put_i64(out, "localid", h->localid);
    put_u64(out, "interface", h->interface);
    put_u64(out, "nccl_release", h->nccl_release);
    put_u64(out, "memory_bytes", h->memory_bytes);
    put_u64(out, "disk_bytes", h->disk_bytes);
    put_u64(out, "min_free_bytes", h->min_free_bytes);
    put_u64(out, "net", h->net);
    put_u64(out, "kernels", h->kernels);
    put_u64(out, "start", h->start);
    for (i = 0; i < h->n_variables; i++)
        put_string(out, h->variables[i].name, h->variables[i].value);
    for (i = 0; i < h->n_notes; i++)
        put_string(out, "note", h->notes[i]);
    fputs("}\n", out);
}

static void put_process(FILE *out, const struct jpr_process *p)
{
    uint32_t i;

    fputs("{\"type\":\"process\"", out);
    for (i = 0; i < p->n_variables; i++)
        put_string(out, p->variables[i].name, p->variables[i].value);
    for (i = 0; i < p->n_pids; i++)
        put_u64(out, "pid", p->pids[i]);
    fputs("}\n", out);
}

static void put_comm(FILE *out, const struct jpr_comm *c)
{
    fprintf(out, "{\"type\":\"comm\",\"index\":%u,\"id\":\"0x%" PRIx64 "\"",
            (unsigned) c->index, c->id);
    put_string(out, "name", c->name);
    put_i64(out, "rank", c->rank);
    put_i64(out, "n_ranks", c->n_ranks);
    put_i64(out, "nnodes", c->n_nodes);
    put_string(out, "gpu_pci", c->gpu_pci);
    put_string(out, "gpu_uuid", c->gpu_uuid);
    fputs("}\n", out);
}

static void put_comm_name(FILE *out, const struct jpr_reader *r, uint32_t index)
{
    const struct jpr_comm *comm = jpr_comm(r, index);

    fprintf(out, ",\"comm\":\"0x%" PRIx64 "\"", comm ? comm->id : 0);
    put_string(out, "name", comm ? comm->name : "?");
}

static void put_net(FILE *out, const struct jpr_op *op)
{
    int i;

    for (i = 0; i < JPR_N_WAITS; i++)
        put_u64(out, waits[i], op->wait_ns[i]);
    put_u64(out, "net_steps", op->net_steps);
    put_u64(out, "net_bytes", op->net_bytes);
}

static void put_op(FILE *out, const struct jpr_reader *r,
                   const struct jpr_op *op)
{
    const struct jpr_comm *comm = jpr_comm(r, op->comm);

    put_comm_name(out, r, op->comm);
    put_string(out, "kind", kinds[op->kind]);
    put_string(out, "func", op->func);
    put_u64(out, "seq", op->seq);
    put_u64(out, "bytes", op->bytes);
    put_u64(out, "count", op->count);
    put_string(out, "datatype", op->datatype);
    put_i64(out, "root", op->root);
    put_i64(out, "peer", op->peer);
    put_string(out, "algo", op->algo);
    put_string(out, "proto", op->proto);
    put_u64(out, "channels", op->n_channels);
    put_string(out, "api", op->api_func);
    put_u64(out, "api_count", op->api_count);
    put_string(out, "api_datatype", op->api_datatype);
    fprintf(out, ",\"graph\":%s", yes(op->graph_captured));
    put_u64(out, "enqueue_start", op->enqueue_start_mono_ns);
    put_i64(out, "rank", comm ? comm->rank : -1);
    put_u64(out, "enqueue_stop", op->enqueue_stop_mono_ns);
    put_u64(out, "kernel_first", op->kernel_first_mono_ns);
    put_u64(out, "kernel_last", op->kernel_last_mono_ns);
    put_u64(out, "gpu_first", op->gpu_first_ns);
    put_u64(out, "gpu_last", op->gpu_last_ns);
    put_u64(out, "exec_ns", op->exec_ns);
    put_u64(out, "exec_us", op->exec_ns / 1000);
    put_string(out, "source", sources[op->source]);
    fprintf(out, ",\"incomplete\":%s", yes(op->incomplete));
    put_u64(out, "started", op->channels_started);
    put_u64(out, "stopped", op->channels_stopped);
    if (op->has_net)
        put_net(out, op);
    if (op->overtaken)
        fputs(",\"overtaken\":true", out);
    if (op->unsure)
        fputs(",\"unsure\":true", out);
    if (op->tag)
        put_u64(out, "tag", op->tag);
    if (op->symmetric)
        fputs(",\"symmetric\":true", out);
    if (op->has_phases) {
        put_u64(out, "sync_ns", op->sync_ns);
        put_u64(out, "compute_ns", op->compute_ns);
        put_u64(out, "close_ns", op->close_ns);
    }
    if (op->later)
        put_u64(out, "later", op->later);
    fputs("}\n", out);
}

static void put_counts(FILE *out, const struct jpr_counts *c)
{
    put_u64(out, "produced", c->produced);
    put_u64(out, "written", c->written);
    put_u64(out, "lost", c->lost);
    put_u64(out, "left_out", c->left_out);
}

static void put_counters(FILE *out, const struct jpr_reader *r,
                         const struct jpr_counters *c)
{
    uint64_t i;
    int kind;

    for (i = 0; i < c->n_rows; i++) {
        fputs("{\"type\":\"row\"", out);
        put_comm_name(out, r, c->rows[i].comm);
        put_string(out, "func", c->rows[i].func);
        fprintf(out, ",\"finalized\":%s", yes(c->rows[i].finalized));
        put_counts(out, &c->rows[i].counts);
        fputs("}\n", out);
    }
    for (i = 0; i < c->n_unseen; i++) {
        fputs("{\"type\":\"unseen\"", out);
        put_comm_name(out, r, c->unseen[i].comm);
        put_string(out, "func", c->unseen[i].func);
        put_u64(out, "calls", c->unseen[i].calls);
        fputs("}\n", out);
    }
    if (c->cost.told) {
        fputs("{\"type\":\"cost\"", out);
        put_u64(out, "events", c->cost.events);
        put_u64(out, "timed", c->cost.timed);
        put_u64(out, "timed_ns", c->cost.timed_ns);
        put_u64(out, "life_ns", c->cost.life_ns);
        put_u64(out, "writer_ns", c->cost.writer_ns);
        fputs("}\n", out);
    }
    for (i = 0; i < c->n_pauses; i++) {
        fputs("{\"type\":\"pause\"", out);
        put_u64(out, "from_ns", c->pauses[i].from_ns);
        put_u64(out, "to_ns", c->pauses[i].to_ns);
        put_u64(out, "why", c->pauses[i].why);
        put_u64(out, "skipped", c->pauses[i].skipped);
        fputs("}\n", out);
    }
    for (i = 0; i < c->n_doubts; i++) {
        fputs("{\"type\":\"doubts\"", out);
        put_comm_name(out, r, c->doubts[i].comm);
        put_u64(out, "reasons", c->doubts[i].reasons);
        put_u64(out, "unsure", c->doubts[i].unsure);
        put_u64(out, "refused", c->doubts[i].refused);
        fputs("}\n", out);
    }
    for (kind = 0; kind < JPR_N_OP_KINDS; kind++) {
        fprintf(out, "{\"type\":\"counters\",\"final\":%s,\"kind\":\"%s\"",
                yes(c->final), kinds[kind]);
        put_clocks(out, &c->clocks);
        put_counts(out, &c->kinds[kind]);
        put_u64(out, "in_flight", c->in_flight);
        put_u64(out, "lost_steps", c->lost_steps);
        put_u64(out, "lost_comms", c->lost_comms);
        put_u64(out, "lost_foreign", c->lost_foreign);
        fputs("}\n", out);
    }
}

static void put_record(FILE *out, const struct jpr_reader *r,
                       const struct jpr_record *record)
{
    switch (record->type) {
    case JPR_HEADER:
        put_header(out, record->header);
        break;
    case JPR_PROCESS:
        put_process(out, record->process);
        break;
    case JPR_ROOM:
        fprintf(out, "{\"type\":\"room\",\"full\":%s", yes(record->room->full));
        put_u64(out, "limits", record->room->limits);
        put_u64(out, "since_ns", record->room->since_ns);
        put_u64(out, "error", record->room->error);
        fputs("}\n", out);
        break;
    case JPR_COMM:
        put_comm(out, record->comm);
        break;
    case JPR_OP:
        fputs("{\"type\":\"op\"", out);
        put_op(out, r, record->op);
        break;
    case JPR_INFLIGHT:
        fprintf(out,
                "{\"type\":\"inflight\",\"at_ns\":%" PRIu64
                ",\"left\":%u,\"omitted\":%u,\"none\":%s",
                record->inflight->at_mono_ns, (unsigned) record->inflight->left,
                (unsigned) record->inflight->omitted,
                yes(record->inflight->none));
        put_op(out, r, &record->inflight->op);
        break;
    case JPR_COUNTERS:
        put_counters(out, r, record->counters);
        break;
    }
}

int jpr_text(const char *path, FILE *out)
{
    struct jp_error err = {""};
    struct jpr_reader *r = jpr_open(path, &err);
    struct jpr_record record;
    int bad = 0;
    int rc;

    if (!r) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    while ((rc = jpr_next(r, &record, &err)) != 0) {
        if (rc > 0)
            put_record(out, r, &record);
        else
            fprintf(stderr, "%s\n", err.text);
        bad |= rc < 0;
    }
    fprintf(out,
            "{\"type\":\"end\",\"complete\":%s,\"cut\":%s,\"ops\":%" PRIu64
            ",\"damaged\":%" PRIu64 "}\n",
            yes(jpr_end(r)->complete), yes(jpr_end(r)->cut), jpr_end(r)->n_ops,
            jpr_end(r)->damaged);
    jpr_close(r);
    return bad ? -1 : 0;
}
