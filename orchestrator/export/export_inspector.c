/* export_inspector.c - write the recorder's files as Inspector's logs.
 *
 * inspector_line_format formats one operation, in the three parts of a line:
 * header, metadata and performance. The rest writes a file for each recording.
 * export.h describes what agrees with NVIDIA's Inspector and what does not. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/export/export.h"

/* Size of Inspector's buffer for one escaped string. */
enum { ESCAPED_BYTES = 2048 };

static const char *const source_names[] = {
    [JPR_KERNEL_GPU] = "kernel_gpu",
    [JPR_KERNEL_CPU] = "kernel_cpu",
    [JPR_COLLECTIVE_CPU] = "collective_cpu",
};

/* Copies `text` as the contents of a JSON string. `"`, `\`, `/`, tab and
 * newline get a backslash, as in Inspector; other control characters become
 * '?'. Stops at a complete character when `size` (> 0) is used up. Returns the
 * length. text is UTF-8, as provided by jpr_read.h. */
static size_t inspector_line_escape(char *out, size_t size, const char *text)
{
    return quote_json_escape(text, true, out, size);
}

/* Formats "header":{...} of a communicator. */
static int format_header(char *out, size_t size, const struct jpr_comm *comm)
{
    char id[RECORD_MAX_ID + 1], name[ESCAPED_BYTES];

    recfile_id(comm->id, id);
    inspector_line_escape(name, sizeof(name),
                          comm->name[0] ? comm->name : "unknown");
    return snprintf(out, size,
                    "{\"header\":{\"id\":\"%s\",\"comm_name\":\"%s\","
                    "\"rank\":%" PRId64 ",\"n_ranks\":%" PRId64
                    ",\"nnodes\":%" PRId64 "},",
                    id, name, comm->rank, comm->n_ranks, comm->n_nodes);
}

/* Formats "metadata":{...} of an operation. */
static int format_metadata(char *out, size_t size,
                           const struct jp_recfile *file,
                           const struct jpr_op *op)
{
    char host[2 * sizeof(file->host)], recorder[2 * sizeof(file->recorder)];
    uint64_t done_us = recfile_wall_ns(file, recfile_end_ns(op)) / 1000;

    inspector_line_escape(host, sizeof(host), file->host);
    inspector_line_escape(recorder, sizeof(recorder), file->recorder);
    /* a version has no blanks in Inspector's logs */
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

/* Formats "coll_perf":{...} or "p2p_perf":{...} and the end of the line. */
static int format_perf(char *out, size_t size, const struct jpr_comm *comm,
                       const struct jpr_op *op)
{
    const char *k = op->kind == JPR_P2P ? "p2p" : "coll";
    uint64_t exec_us = recfile_exec_us(op);
    struct bandwidth b = bandwidth_of(bandwidth_find(op->func), comm->n_ranks,
                                      op->bytes, exec_us);
    char name[JPR_MAX_TEXT_BYTES + sizeof(RECORD_REPLAY)];
    char func[2 * sizeof(name) + 8], peer[32] = "";

    inspector_line_escape(func, sizeof(func),
                          recfile_func_name(op, name, sizeof(name)));
    if (op->kind == JPR_P2P)
        snprintf(peer, sizeof(peer), "\"p2p_peer\":%" PRId64 ",", op->peer);
    return snprintf(out, size,
                    "\"%s_perf\":{\"%s\":\"%s\",\"%s_sn\":%" PRIu64 ",%s"
                    "\"%s_msg_size_bytes\":%" PRIu64 ","
                    "\"%s_exec_time_us\":%" PRIu64 ","
                    "\"%s_timing_source\":\"%s\","
                    "\"%s_algobw_gbs\":%lf,\"%s_busbw_gbs\":%lf}}\n",
                    k, k, func, k, recfile_seq(op), peer, k, op->bytes, k,
                    exec_us, k, source_names[op->source], k, b.algo_gbs, k,
                    b.bus_gbs);
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
    /* INSPECTOR_LINE_BYTES is enough for all three */
    n = format_header(out, size, comm);
    n += format_metadata(out + n, size - (size_t) n, file, op);
    n += format_perf(out + n, size - (size_t) n, comm, op);
    return (size_t) n;
}

/* --- the recorder's files as Inspector's logs */

/* Writes the operations of the open recording. */
static void write_lines(struct jp_recwalk *walk, FILE *out,
                        struct export_done *done)
{
    char line[INSPECTOR_LINE_BYTES];
    struct jpr_record record;

    while (recwalk_record(walk, &record)) {
        size_t n;

        if (record.type != JPR_OP)
            continue;
        n = inspector_line_format(line, &walk->file, record.op);
        done->ops += n > 0;
        done->left_out += n == 0;
        if (n && fwrite(line, 1, n, out) != n)
            break;
    }
}

/* dir/<folders below the input>/<stem>.log. Caller frees. */
static char *target(const struct jp_recwalk *walk, const char *dir)
{
    const char *name = walk->below;
    size_t len = strlen(name);

    /* ".jpr.gz" and ".jpr" become ".log" */
    if (len > 3 && !strcmp(name + len - 3, ".gz"))
        len -= 3;
    if (len > 4 && !memcmp(name + len - 4, ".jpr", 4))
        len -= 4;
    return text_format("%s/%.*s.log", dir, (int) len, name);
}

/* Writes the file of the open recording and the folders above it. 0, or -1 and
 * err. */
static int write_file(struct jp_recwalk *walk, const char *dir,
                      struct export_done *done, struct jp_error *err)
{
    char *path = target(walk, dir), *slash = path ? strrchr(path, '/') : NULL;
    struct jp_tempfile file;
    int rc = -1;

    if (!slash) {
        error_set(err, "out of memory");
        goto out;
    }
    *slash = '\0';
    if (fileio_mkdirs_held(dir, err) < 0 || fileio_mkdirs(path, err) < 0)
        goto out;
    *slash = '/';
    if (fileio_temp_open(&file, path, err) < 0)
        goto out;
    write_lines(walk, file.stream, done);
    rc = fileio_temp_commit(&file, err);
out:
    free(path);
    return rc;
}

int export_inspector(struct jp_recwalk *walk, const char *dir, FILE *out,
                     struct export_done *done, struct jp_error *err)
{
    while (recwalk_open(walk)) {
        if (dir && write_file(walk, dir, done, err) < 0)
            return -1;
        if (!dir)
            write_lines(walk, out, done);
        if (!dir && ferror(out))
            return error_set(err, "output failed: %m");
        done->files++;
    }
    if (!dir && fflush(out) != 0)
        return error_set(err, "output failed: %m");
    return 0;
}
