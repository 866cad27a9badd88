/* inspector_line.c - print an operation as NVIDIA's Inspector does. */
#include "orchestrator/export/inspector_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Inspector's buffer for one escaped string. */
enum { ESCAPED_BYTES = 2048 };

static const char *const source_names[] = {
    [JPR_KERNEL_GPU] = "kernel_gpu",
    [JPR_KERNEL_CPU] = "kernel_cpu",
    [JPR_COLLECTIVE_CPU] = "collective_cpu",
};

/* The character after the backslash, or 0 where none is needed. */
static char escape_of(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return (char) c;
    case '\t':
        return 't';
    case '\n':
        return 'n';
    default:
        return 0;
    }
}

static size_t utf8_length(unsigned char first)
{
    return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

size_t inspector_line_escape(char *out, size_t size, const char *text)
{
    const unsigned char *s = (const unsigned char *) text;
    size_t used = 0;

    while (*s) {
        char e = escape_of(*s);
        size_t n = strnlen((const char *) s, utf8_length(*s));
        size_t need = e ? 2 : n;

        if (used + need >= size)
            break;
        if (e) {
            out[used] = '\\';
            out[used + 1] = e;
        } else if (*s < 0x20) {
            out[used] = '?';
        } else {
            memcpy(out + used, s, n);
        }
        used += need;
        s += n;
    }
    out[used] = '\0';
    return used;
}

/* "header":{...} of a communicator. */
static int format_header(char *out, size_t size, const struct jpr_comm *comm)
{
    char id[INSPECTOR_MAX_ID + 1], name[ESCAPED_BYTES];

    recfile_id(comm->id, id);
    inspector_line_escape(name, sizeof(name),
                          comm->name[0] ? comm->name : "unknown");
    return snprintf(out, size,
                    "{\"header\":{\"id\":\"%s\",\"comm_name\":\"%s\","
                    "\"rank\":%" PRId64 ",\"n_ranks\":%" PRId64
                    ",\"nnodes\":%" PRId64 "},",
                    id, name, comm->rank, comm->n_ranks, comm->n_nodes);
}

static int format_metadata(char *out, size_t size,
                           const struct jp_recfile *file,
                           const struct jpr_op *op)
{
    char host[2 * sizeof(file->host)], recorder[2 * sizeof(file->recorder)];
    uint64_t done_us = recfile_wall_ns(file, recfile_end_ns(op)) / 1000;

    inspector_line_escape(host, sizeof(host), file->host);
    inspector_line_escape(recorder, sizeof(recorder), file->recorder);
    for (char *blank = recorder; (blank = strchr(blank, ' '));)
        *blank = '-';
    return snprintf(out, size,
                    "\"metadata\":{"
                    "\"inspector_output_format_version\":\"v4.0\","
                    "\"git_rev\":\"%s\","
                    "\"rec_mechanism\":\"nccl_profiler_interface\","
                    "\"dump_timestamp_us\":%" PRIu64 ","
                    "\"hostname\":\"%s\",\"pid\":%" PRId64 "},",
                    recorder, done_us, host, file->pid);
}

static int format_perf(char *out, size_t size, const struct jpr_comm *comm,
                       const struct jpr_op *op)
{
    const char *k = op->kind == JPR_P2P ? "p2p" : "coll";
    uint64_t exec_us = recfile_exec_us(op);
    struct bandwidth b = bandwidth_of(bandwidth_find(op->func), comm->n_ranks,
                                      op->bytes, exec_us);
    char func[2 * JPR_MAX_TEXT_BYTES + 8], peer[32] = "";

    inspector_line_escape(func, sizeof(func), op->func);
    if (op->kind == JPR_P2P)
        snprintf(peer, sizeof(peer), "\"p2p_peer\":%" PRId64 ",", op->peer);
    return snprintf(out, size,
                    "\"%s_perf\":{\"%s\":\"%s%s\",\"%s_sn\":%" PRIu64 ",%s"
                    "\"%s_msg_size_bytes\":%" PRIu64 ","
                    "\"%s_exec_time_us\":%" PRIu64 ","
                    "\"%s_timing_source\":\"%s\","
                    "\"%s_algobw_gbs\":%lf,\"%s_busbw_gbs\":%lf}}\n",
                    k, k, func, op->kind == JPR_CE ? RECFILE_CE : "", k,
                    op->seq, peer, k, op->bytes, k, exec_us, k,
                    source_names[op->source], k, b.algo_gbs, k, b.bus_gbs);
}

size_t inspector_line_format(char out[INSPECTOR_LINE_BYTES],
                             const struct jp_recfile *file,
                             const struct jpr_op *op)
{
    const struct jpr_comm *comm = jpr_comm(file->reader, op->comm);
    size_t size = INSPECTOR_LINE_BYTES;
    int n;

    if (!comm || !file->has_header)
        return 0;
    n = format_header(out, size, comm);
    n += format_metadata(out + n, size - (size_t) n, file, op);
    n += format_perf(out + n, size - (size_t) n, comm, op);
    return (size_t) n;
}
