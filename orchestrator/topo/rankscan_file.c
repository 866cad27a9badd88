/* rankscan_file.c - what one file of a node tells of its process. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "orchestrator/topo/rankscan_parts.h"
#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/jpr_read.h"

#define PROBE_BYTES 65536

/* Host and pid of "<host>-pid<pid>.jpr", "...-1.jpr", "....log.gz". Caller
 * frees; NULL: it is not so named. */
static char *parse_name(const char *name, int64_t *pid)
{
    const char *mark = NULL, *hit = name;
    char digits[16];
    size_t n;

    while ((hit = strstr(hit, "-pid"))) /* a host may have one in its name */
        mark = hit++;
    if (!mark || mark == name)
        return NULL;
    n = strspn(mark + 4, "0123456789");
    if (n == 0 || n >= sizeof(digits) || !strchr(".-", mark[4 + n]))
        return NULL;
    memcpy(digits, mark + 4, n);
    digits[n] = '\0';
    if (num_parse_i64(digits, 1, INT32_MAX, pid, NULL) < 0)
        return NULL;
    return strndup(name, (size_t) (mark - name));
}

static json_t *number(int64_t value)
{
    return value < 0 ? json_null() : json_integer((json_int_t) value);
}

static void put_header(struct rankscan *scan, const char *name,
                       const struct jpr_header *h)
{
    json_t *variables = json_object();

    for (uint32_t i = 0; i < h->n_variables; i++) {
        json_object_set_new(variables, h->variables[i].name,
                            json_string(h->variables[i].value));
        if (strcmp(h->variables[i].name, "NCCL_DEBUG_FILE") == 0)
            rankscan_add_pattern(scan, h->variables[i].value);
    }
    rankscan_put(
        scan, "process",
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:I, s:o}",
                  "file", name, "source", "recorder", "host", h->hostname,
                  "pid", (json_int_t) h->pid, "pid_ns",
                  (json_int_t) h->pid_namespace, "boot_id", h->boot_id,
                  "procid", number(h->procid), "localid", number(h->localid),
                  "nodeid", number(h->nodeid), "nccl",
                  (json_int_t) h->nccl_release, "variables", variables));
    rankscan_add_process(scan, h->hostname, (int64_t) h->pid);
}

static void put_comm(struct rankscan *scan, const char *host, int64_t pid,
                     const struct jpr_comm *comm)
{
    char full[24], id[NCCLDEBUG_ID];

    if (!comm->known || comm->rank < 0 || comm->rank > UINT32_MAX ||
        (!*comm->gpu_pci && !*comm->gpu_uuid))
        return; /* the process' line says what there is */
    snprintf(full, sizeof(full), "0x%" PRIx64, comm->id);
    snprintf(id, sizeof(id), "%.16s", full);
    rankscan_put(scan, "rank",
                 json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:s, s:s}", "source",
                           "recorder", "host", host, "pid", (json_int_t) pid,
                           "comm", id, "rank", (json_int_t) comm->rank,
                           "n_ranks", (json_int_t) comm->n_ranks, "busid",
                           comm->gpu_pci, "uuid", comm->gpu_uuid));
}

static void scan_recording(struct rankscan *scan, const char *path,
                           const char *name)
{
    struct jp_error err = {""};
    struct jpr_reader *reader = jpr_open(path, &err);
    struct jpr_record record;
    char *host = NULL;
    int64_t pid = 0;
    unsigned looks = 0;
    int rc;

    if (reader)
        jpr_pass_ops(reader);
    while (reader && (rc = jpr_next(reader, &record, &err)) != 0) {
        if (rc < 0)
            rankscan_cut(scan, "%.120s", err.text);
        else if (record.type == JPR_HEADER && !host) {
            put_header(scan, name, record.header);
            host = strdup(record.header->hostname);
            pid = (int64_t) record.header->pid;
        } else if (record.type == JPR_COMM && host) {
            put_comm(scan, host, pid, record.comm);
        }
        if (++looks % 64 == 0 && rankscan_late(scan))
            break;
    }
    if (!reader)
        rankscan_cut(scan, "%.120s", err.text);
    jpr_close(reader);
    free(host);
}

/* The node of a process whose file only has its name. */
static void put_name(struct rankscan *scan, const char *name)
{
    int64_t pid;
    char *host = parse_name(name, &pid);

    if (!host)
        return;
    rankscan_put(scan, "process",
                 json_pack("{s:s, s:s, s:s, s:I}", "file", name, "source",
                           "file", "host", host, "pid", (json_int_t) pid));
    rankscan_add_process(scan, host, pid);
    free(host);
}

void rankscan_file(struct rankscan *scan, const char *path, const char *name)
{
    static char head[PROBE_BYTES];
    uint8_t magic[JPR_HEAD_BYTES];
    struct jp_error err = {""};
    int fd = fileio_open_regular(path, false, NULL);
    ssize_t n = fd >= 0 ? pread(fd, head, sizeof(head), 0) : 0;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return; /* a folder, a link, nothing */
    jpr_head_write(magic);
    if (n >= 8 && memcmp(head, magic, 8) == 0) {
        scan_recording(scan, path, name);
        return;
    }
    put_name(scan, name);
    if (!nccldebug_probe(head, (size_t) n))
        return;
    n = nccldebug_file(scan->log, path, scan->deadline_ms, &err);
    if (n != 0)
        rankscan_cut(scan, "%.100s%s", n < 0 ? err.text : name,
                     n < 0 ? "" : ": not read to its end");
}
