/* rankscan.c - write ranks.jsonl of a node.
 *
 * rankscan_write is the entry. scan_all looks at each file in raw/<node>/
 * (scan_file), then at the logs that NCCL_DEBUG_FILE names (named_logs), and
 * writes what NCCL's logs contained (put_log). Whatever is not read makes the
 * file incomplete (cut_short), which its last line says. */
#include "orchestrator/topo/rankread.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/launched.h"
#include "common/lines.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/topo/nccldebug.h"
#include "orchestrator/topo/sysfile.h"
#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/jpr_read.h"

#define RANKSCAN_PATTERNS 16

struct rankscan_process {
    char *host;
    int64_t pid;
};

struct rankscan {
    /* borrowed */
    const char *step_dir, *node;
    uint64_t deadline_ms;
    FILE *out;
    /* written so far; limited by JP_RANKSCAN_LINES_MAX */
    size_t lines;
    /* collects NCCL's logs of the node */
    struct nccldebug *log;
    /* processes of the step, also for NCCL_DEBUG_FILE */
    struct rankscan_process *processes;
    size_t n_processes, room;
    char *patterns[RANKSCAN_PATTERNS]; /* values of NCCL_DEBUG_FILE, without
                                          duplicates */
    size_t n_patterns;
    /* NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE; NULL: not set */
    char *dumped, *given;
    char why[160]; /* why it is not complete; "": it is */
};

/* Reads one file of raw/<node>/. */
static void scan_file(struct rankscan *scan, const char *path,
                      const char *name);
/* Reads the logs that patterns name. */
static void named_logs(struct rankscan *scan);
/* Writes what NCCL's logs contained. */
static void put_log(struct rankscan *scan);

#define TOPO_MAX (4 * 1024 * 1024) /* NCCL's files are below 100 KB */

/* Notes why the result is incomplete. */
static void cut_short(struct rankscan *scan, const char *fmt, ...)
{
    va_list ap;

    if (scan->why[0])
        return; /* only the first reason counts */
    va_start(ap, fmt);
    vsnprintf(scan->why, sizeof(scan->why), fmt, ap);
    va_end(ap);
}

/* Whether the deadline has passed. */
static bool is_late(struct rankscan *scan)
{
    if (clock_mono_ms() <= scan->deadline_ms)
        return false;
    cut_short(scan, "the time limit ran out");
    return true;
}

/* Writes {"kind": json}. Takes json over; NULL means that its allocation
 * failed. */
static void put_line(struct rankscan *scan, const char *kind, json_t *json)
{
    json_t *line = json ? json_pack("{s:o}", kind, json) : NULL;
    /* One line each: no line ends inside the text. */
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;

    if (scan->lines == JP_RANKSCAN_LINES_MAX)
        cut_short(scan, "more than %d lines", JP_RANKSCAN_LINES_MAX);
    else if (!text)
        cut_short(scan, "out of memory, or a text that is not UTF-8");
    else
        fprintf(scan->out, "%s\n", text);
    scan->lines += scan->lines < JP_RANKSCAN_LINES_MAX;
    free(text);
    json_decref(line);
}

/* Adds a process of the step. */
static void add_process(struct rankscan *scan, const char *host, int64_t pid)
{
    if (VECTOR_ROOM(scan->processes, scan->n_processes + 1, scan->room) < 0) {
        cut_short(scan, "out of memory");
        return;
    }
    scan->processes[scan->n_processes] =
        (struct rankscan_process){strdup(host), pid};
    if (!scan->processes[scan->n_processes].host) {
        cut_short(scan, "out of memory");
        return;
    }
    scan->n_processes++;
}

/* Keeps the first absolute path. */
static void name_topo(char **name, const char *path)
{
    if (!*name && *path == '/')
        *name = strdup(path);
}

/* Copies NCCL's own topology of the node for the labels: the file that NCCL
 * wrote, otherwise the one that it read in place of the machine. */
static void keep_topo(struct rankscan *scan)
{
    const char *const names[] = {scan->dumped, scan->given};
    char *text = NULL, *out;
    size_t len = 0;

    for (size_t i = 0; !text && i < 2; i++)
        if (names[i])
            (void) fileio_read(names[i], true, TOPO_MAX, &text, &len, NULL);
    out = text_format("%s/nodes/%s/nccl-topo.xml", scan->step_dir, scan->node);
    if (text && out)
        (void) fileio_write(out, text, len, NULL);
    free(text);
    free(out);
}

/* Adds a value of NCCL_DEBUG_FILE, once. Relative paths cannot be resolved. */
static void add_pattern(struct rankscan *scan, const char *pattern)
{
    if (*pattern != '/')
        return; /* relative to an unknown folder */
    for (size_t i = 0; i < scan->n_patterns; i++)
        if (strcmp(scan->patterns[i], pattern) == 0)
            return;
    if (scan->n_patterns == RANKSCAN_PATTERNS) {
        cut_short(scan, "more than %d NCCL_DEBUG_FILE", RANKSCAN_PATTERNS);
        return;
    }
    scan->patterns[scan->n_patterns] = strdup(pattern);
    if (!scan->patterns[scan->n_patterns]) {
        cut_short(scan, "out of memory");
        return;
    }
    scan->n_patterns++;
}

/* Called for each entry of raw/<node>/. Returns 1 to stop. */
static int take_entry(void *arg, int folder, const char *name)
{
    struct rankscan *scan = arg;
    char *path;

    (void) folder;
    if (is_late(scan))
        return 1;
    path = text_format("%s/raw/%s/%s", scan->step_dir, scan->node, name);
    if (path)
        scan_file(scan, path, name);
    free(path);
    return 0;
}

/* Reads the values of NCCL_DEBUG_FILE from the tasks' start records. */
static void read_starts(struct rankscan *scan)
{
    char *path =
        text_format("%s/nodes/%s/starts.jsonl", scan->step_dir, scan->node);
    struct jp_lines *lines =
        path ? lines_open(path, &lines_limits[LINES_STARTS], NULL) : NULL;
    char *line;
    size_t len;

    if (lines)
        lines_end_at(lines, scan->deadline_ms);
    while (lines && lines_next(lines, &line, &len, NULL) > 0) {
        json_t *json = jsonload(JSONLOAD_LINE, "", line, len, 0, NULL);
        /* Only NCCL_DEBUG_FILE matters here; rankread.c reads the rest. */
        const char *value = json_string_value(
            json_object_get(json_object_get(json, "env"), "NCCL_DEBUG_FILE"));

        if (value)
            add_pattern(scan, value);
        json_decref(json);
    }
    if (lines && lines_left(lines)->why)
        cut_short(scan, "%.150s", lines_left(lines)->first.text);
    lines_close(lines);
    free(path);
}

/* The order matters: patterns and processes come from the files, and are needed
 * for the named logs. */
static void scan_all(struct rankscan *scan)
{
    char *raw = text_format("%s/raw/%s", scan->step_dir, scan->node);
    int folder = raw ? sysfile_folder("", raw + (*raw == '/')) : -1;
    int more = 0;

    if (folder < 0)
        cut_short(scan, "raw/%s cannot be read", scan->node);
    else if (sysfile_each(folder, JP_RANKSCAN_FILES_MAX, take_entry, scan,
                          &more) < 0)
        cut_short(scan, "raw/%s cannot be listed", scan->node);
    if (more)
        cut_short(scan, "more than %d files", JP_RANKSCAN_FILES_MAX);
    free(raw);
    read_starts(scan);
    named_logs(scan);
    put_log(scan);
}

/* deadline_ms: CLOCK_MONOTONIC; the file is written even if it has passed. */
int rankscan_write(const char *step_dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err)
{
    struct rankscan scan = {.step_dir = step_dir,
                            .node = node,
                            .deadline_ms = deadline_ms,
                            .log = nccldebug_create()};
    char *path = text_format("%s/nodes/%s/ranks.jsonl", step_dir, node);
    struct jp_tempfile file;
    int rc = -1;

    if (!path || !scan.log) {
        error_set(err, "out of memory");
    } else if (fileio_temp_open(&file, path, err) == 0) {
        scan.out = file.stream;
        scan_all(&scan);
        keep_topo(&scan);
        scan.lines = 0; /* there is always room for the last line */
        put_line(
            &scan, "end",
            json_pack("{s:b, s:s}", "complete", !scan.why[0], "why", scan.why));
        rc = fileio_temp_commit(&file, err);
    }
    for (size_t i = 0; i < scan.n_processes; i++)
        free(scan.processes[i].host);
    for (size_t i = 0; i < scan.n_patterns; i++)
        free(scan.patterns[i]);
    free(scan.dumped);
    free(scan.given);
    free(scan.processes);
    nccldebug_destroy(scan.log);
    free(path);
    return rc;
}

/* --------------------------- one file of a node */

#define PROBE_BYTES 65536

/* Parses "<host>-pid<pid>.jpr", "...-1.jpr", "....log.gz". Returns the host,
 * which the caller frees, and *pid; NULL if the name has another form. */
static char *parse_name(const char *name, int64_t *pid)
{
    const char *mark = NULL, *hit = name;
    char digits[16];
    size_t n;

    while ((hit = strstr(hit, "-pid"))) /* a host name may contain "-pid" */
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

/* Negative numbers stand for unknown. */
static json_t *number(int64_t value)
{
    return value < 0 ? json_null() : json_integer((json_int_t) value);
}

/* Writes the process of a recording, with its variables. */
static void put_header(struct rankscan *scan, const char *name,
                       const struct jpr_header *h)
{
    json_t *variables = json_object();

    for (uint32_t i = 0; i < h->n_variables; i++) {
        json_object_set_new(variables, h->variables[i].name,
                            json_string(h->variables[i].value));
        /* These variables lead to further files. */
        if (strcmp(h->variables[i].name, "NCCL_DEBUG_FILE") == 0)
            add_pattern(scan, h->variables[i].value);
        else if (strcmp(h->variables[i].name, "NCCL_TOPO_DUMP_FILE") == 0)
            name_topo(&scan->dumped, h->variables[i].value);
        else if (strcmp(h->variables[i].name, "NCCL_TOPO_FILE") == 0)
            name_topo(&scan->given, h->variables[i].value);
    }
    put_line(scan, "process",
             json_pack(
                 "{s:s, s:s, s:s, s:I, s:I, s:s, s:o, s:o, s:o, s:I, s:o}",
                 "file", name, "source", "recorder", "host", h->hostname, "pid",
                 (json_int_t) h->pid, "pid_ns", (json_int_t) h->pid_namespace,
                 "boot_id", h->boot_id, "procid", number(h->procid), "localid",
                 number(h->localid), "nodeid", number(h->nodeid), "nccl",
                 (json_int_t) h->nccl_release, "variables", variables));
    add_process(scan, h->hostname, (int64_t) h->pid);
}

/* Writes which task the process of a recording is, or descends from. */
static void put_task(struct rankscan *scan, const char *name, const char *host,
                     int64_t pid, const struct jpr_process *process)
{
    struct launched launched;

    launched_init(&launched);
    for (uint32_t i = 0; i < process->n_variables; i++)
        launched_take(&launched, process->variables[i].name,
                      process->variables[i].value);
    if (launched.task_pid > 0)
        put_line(scan, "process",
                 json_pack("{s:s, s:s, s:s, s:I, s:I}", "file", name, "source",
                           "recorder", "host", host, "pid", (json_int_t) pid,
                           "task_pid", (json_int_t) launched.task_pid));
}

/* Writes a rank with its GPU from a recording. */
static void put_comm(struct rankscan *scan, const char *host, int64_t pid,
                     const struct jpr_comm *comm)
{
    char full[24], id[NCCLDEBUG_ID];

    if (!comm->known || comm->rank < 0 || comm->rank > UINT32_MAX ||
        (!*comm->gpu_pci && !*comm->gpu_uuid))
        return; /* the line of the process has all that is known */
    snprintf(full, sizeof(full), "0x%" PRIx64, comm->id);
    /* As NCCL Inspector truncates it, so that the join finds it. */
    snprintf(id, sizeof(id), "%.16s", full);
    put_line(scan, "rank",
             json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:s, s:s}", "source",
                       "recorder", "host", host, "pid", (json_int_t) pid,
                       "comm", id, "rank", (json_int_t) comm->rank, "n_ranks",
                       (json_int_t) comm->n_ranks, "busid", comm->gpu_pci,
                       "uuid", comm->gpu_uuid));
}

/* Reads a recording's processes and communicators; operations are skipped. */
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
        jpr_pass(reader, JPR_PASS_OPS);
    while (reader && (rc = jpr_next(reader, &record, &err)) != 0) {
        /* A damaged block is noted; the reader continues after it. */
        if (rc < 0)
            cut_short(scan, "%.120s", err.text);
        else if (record.type == JPR_HEADER && !host) {
            put_header(scan, name, record.header);
            host = strdup(record.header->hostname);
            pid = (int64_t) record.header->pid;
        } else if (record.type == JPR_PROCESS && host) {
            put_task(scan, name, host, pid, record.process);
        } else if (record.type == JPR_COMM && host) {
            put_comm(scan, host, pid, record.comm);
        }
        /* The clock is read for every 64th record only. */
        if (++looks % 64 == 0 && is_late(scan))
            break;
    }
    if (!reader)
        cut_short(scan, "%.120s", err.text);
    jpr_close(reader);
    free(host);
}

/* Writes the process that a file's name contains. */
static void put_name(struct rankscan *scan, const char *name)
{
    int64_t pid;
    char *host = parse_name(name, &pid);

    if (!host)
        return;
    put_line(scan, "process",
             json_pack("{s:s, s:s, s:s, s:I}", "file", name, "source", "file",
                       "host", host, "pid", (json_int_t) pid));
    add_process(scan, host, pid);
    free(host);
}

/* A recording is recognised by its first bytes; other files have a name, and
 * may be NCCL's log. */
static void scan_file(struct rankscan *scan, const char *path, const char *name)
{
    /* Static, to keep 64 KB off the stack. */
    static char head[PROBE_BYTES];
    uint8_t magic[JPR_HEAD_BYTES];
    struct jp_error err = {""};
    int fd = fileio_open_regular(path, false, NULL);
    ssize_t n = fd >= 0 ? pread(fd, head, sizeof(head), 0) : 0;

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return; /* a folder, a link, or an empty file */
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
        cut_short(scan, "%.100s%s", n < 0 ? err.text : name,
                  n < 0 ? "" : ": not read to its end");
}

/* ---------------- NCCL's logs outside of raw/, and what they contained */

/* Expands a pattern as NCCL does: %h is the host, %p the pid, %% a percent
 * sign. Returns NULL without memory. */
static char *expand(const char *pattern, const struct rankscan_process *p)
{
    char *path = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&path, &len);

    if (!out)
        return NULL;
    for (; *pattern; pattern++) {
        /* A percent sign at the end stands for itself. */
        if (*pattern != '%' || !pattern[1]) {
            fputc(*pattern, out);
            continue;
        }
        pattern++;
        if (*pattern == 'h')
            fputs(p->host, out);
        else if (*pattern == 'p')
            fprintf(out, "%lld", (long long) p->pid);
        else if (*pattern == '%')
            fputc('%', out);
        else
            fprintf(out, "%%%c", *pattern);
    }
    if (fclose(out) == 0)
        return path;
    free(path);
    return NULL;
}

/* Files in raw/ have been read already. */
static bool is_raw(const struct rankscan *scan, const char *path)
{
    char *raw = text_format("%s/raw/%s/", scan->step_dir, scan->node);
    bool same = raw && strncmp(path, raw, strlen(raw)) == 0;

    free(raw);
    return same;
}

/* Reads a log outside of raw/. */
static void read_named(struct rankscan *scan, const char *path)
{
    struct jp_error err = {""};
    int rc;

    if (is_raw(scan, path))
        return; /* read already */
    rc = nccldebug_file(scan->log, path, scan->deadline_ms, &err);
    if (rc > 0)
        cut_short(scan, "%.100s: not read to its end", path);
    /* A file that does not exist was never opened by NCCL, or belongs to
     * another host. */
}

/* Expands each pattern for each process. */
static void named_logs(struct rankscan *scan)
{
    for (size_t i = 0; i < scan->n_patterns; i++) {
        /* A pattern without %p and %h names one file for all processes. */
        bool whole = !strstr(scan->patterns[i], "%p") &&
                     !strstr(scan->patterns[i], "%h");
        size_t n = whole && scan->n_processes ? 1 : scan->n_processes;

        for (size_t k = 0; k < n && !is_late(scan); k++) {
            char *path = expand(scan->patterns[i], &scan->processes[k]);

            if (path)
                read_named(scan, path);
            free(path);
        }
    }
}

/* Whether a process in a log belongs to this step. */
static bool is_ours(const struct rankscan *scan,
                    const struct jp_nccl_process *process)
{
    for (size_t i = 0; i < scan->n_processes; i++)
        if (scan->processes[i].pid == process->pid &&
            strcmp(scan->processes[i].host, process->host) == 0)
            return true;
    return false;
}

/* Writes ranks with a GPU from NCCL's log. */
static void put_ranks(struct rankscan *scan, const struct nccldebug_told *told,
                      const bool *ours)
{
    const struct jp_nccl_process *processes = told->processes;

    for (size_t i = 0; i < told->n_ranks; i++) {
        const struct jp_nccl_rank *r = &told->ranks[i];

        if (ours[r->process] && *r->busid)
            put_line(scan, "rank",
                     json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:s, s:s}",
                               "source", "nccl_log", "host",
                               processes[r->process].host, "pid",
                               (json_int_t) processes[r->process].pid, "comm",
                               r->id, "rank", (json_int_t) r->rank, "n_ranks",
                               (json_int_t) r->n_ranks, "busid", r->busid,
                               "uuid", ""));
    }
}

/* Writes what a rank's log says about its communicator as a whole. */
static void put_carriers(struct rankscan *scan,
                         const struct nccldebug_told *told, const bool *ours)
{
    const struct jp_nccl_process *processes = told->processes;

    for (size_t i = 0; i < told->n_ranks; i++) {
        const struct jp_nccl_rank *r = &told->ranks[i];

        if (!ours[r->process] || !*r->id ||
            !(r->told_channels || r->nvls || r->collnet))
            continue;
        put_line(scan, "carriers",
                 json_pack("{s:s, s:I, s:s, s:I, s:o, s:b, s:b}", "host",
                           processes[r->process].host, "pid",
                           (json_int_t) processes[r->process].pid, "comm",
                           r->id, "rank", (json_int_t) r->rank, "nvls_channels",
                           r->told_channels ? json_integer(r->nvls_channels)
                                            : json_null(),
                           "nvls", (int) r->nvls, "collnet", (int) r->collnet));
    }
}

/* Writes the paths that NCCL's log named. */
static void put_paths(struct rankscan *scan, const struct nccldebug_told *told,
                      const bool *ours)
{
    const struct jp_nccl_process *processes = told->processes;

    for (size_t i = 0; i < told->n_paths; i++) {
        const struct jp_nccl_path *p = &told->paths[i];
        const char *comm =
            p->comm == NCCLDEBUG_NO_COMM ? "" : told->ranks[p->comm].id;

        if (ours[p->process])
            put_line(
                scan, "path",
                json_pack("{s:s, s:I, s:s, s:I, s:o, s:s, s:s, s:s, s:s, s:b, "
                          "s:b, s:I}",
                          "host", processes[p->process].host, "pid",
                          (json_int_t) processes[p->process].pid, "comm", comm,
                          "rank", (json_int_t) p->rank, "peer",
                          p->peer == NCCLDEBUG_NO_PEER
                              ? json_null()
                              : json_integer((json_int_t) p->peer),
                          "via", nccltext_via_word[p->via], "detail", p->detail,
                          "device", p->device, "layer", p->layer, "gdr",
                          (int) p->gdr, "pxn", (int) p->pxn, "lines",
                          (json_int_t) p->lines));
    }
}

/* Writes what the logs contained about processes of this step. A log may belong
 * to an earlier job, or to several. */
static void put_log(struct rankscan *scan)
{
    const struct nccldebug_told told = nccldebug_finish(scan->log);
    bool *ours = calloc(told.n_processes + 1, sizeof(*ours));

    if (!ours) {
        cut_short(scan, "out of memory");
        return;
    }
    for (size_t i = 0; i < told.n_processes; i++)
        ours[i] = is_ours(scan, &told.processes[i]);
    put_ranks(scan, &told, ours);
    put_paths(scan, &told, ours);
    put_carriers(scan, &told, ours);
    if (told.full)
        cut_short(scan, "NCCL's log is larger than the limit");
    free(ours);
}
