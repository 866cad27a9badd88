/* rankscan_log.c - NCCL's log where NCCL_DEBUG_FILE says, and what it told. */
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/topo/rankscan_parts.h"

/* NCCL's rule: %h host, %p pid, %% a percent sign. NULL without memory. */
static char *expand(const char *pattern, const struct rankscan_process *p)
{
    char *path = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&path, &len);

    if (!out)
        return NULL;
    for (; *pattern; pattern++) {
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

static bool is_raw(const struct rankscan *scan, const char *path)
{
    char *raw = fileio_path("%s/raw/%s/", scan->step_dir, scan->node);
    bool same = raw && strncmp(path, raw, strlen(raw)) == 0;

    free(raw);
    return same;
}

static void read_named(struct rankscan *scan, const char *path)
{
    struct jp_error err = {""};
    int rc;

    if (is_raw(scan, path))
        return; /* read already */
    rc = nccldebug_file(scan->log, path, scan->deadline_ms, &err);
    if (rc > 0)
        rankscan_cut(scan, "%.100s: not read to its end", path);
    /* one that is not there was never opened by NCCL, or is another host's */
}

void rankscan_named_logs(struct rankscan *scan)
{
    for (size_t i = 0; i < scan->n_patterns; i++) {
        bool whole = !strstr(scan->patterns[i], "%p") &&
                     !strstr(scan->patterns[i], "%h");
        size_t n = whole && scan->n_processes ? 1 : scan->n_processes;

        for (size_t k = 0; k < n && !rankscan_late(scan); k++) {
            char *path = expand(scan->patterns[i], &scan->processes[k]);

            if (path)
                read_named(scan, path);
            free(path);
        }
    }
}

static bool is_ours(const struct rankscan *scan,
                    const struct jp_nccl_process *process)
{
    for (size_t i = 0; i < scan->n_processes; i++)
        if (scan->processes[i].pid == process->pid &&
            strcmp(scan->processes[i].host, process->host) == 0)
            return true;
    return false;
}

static void put_ranks(struct rankscan *scan,
                      const struct jp_nccl_process *processes, const bool *ours)
{
    size_t n;
    const struct jp_nccl_rank *ranks = nccldebug_ranks(scan->log, &n);

    for (size_t i = 0; i < n; i++) {
        const struct jp_nccl_rank *r = &ranks[i];

        if (ours[r->process] && *r->busid)
            rankscan_put(scan, "rank",
                         json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:s, s:s}",
                                   "source", "nccl_log", "host",
                                   processes[r->process].host, "pid",
                                   (json_int_t) processes[r->process].pid,
                                   "comm", r->id, "rank", (json_int_t) r->rank,
                                   "n_ranks", (json_int_t) r->n_ranks, "busid",
                                   r->busid, "uuid", ""));
    }
}

static void put_paths(struct rankscan *scan,
                      const struct jp_nccl_process *processes, const bool *ours)
{
    size_t n_ranks, n;
    const struct jp_nccl_rank *ranks = nccldebug_ranks(scan->log, &n_ranks);
    const struct jp_nccl_path *paths = nccldebug_paths(scan->log, &n);

    for (size_t i = 0; i < n; i++) {
        const struct jp_nccl_path *p = &paths[i];
        const char *comm = p->comm == NCCLDEBUG_NO_COMM ? ""
                                                        : ranks[p->comm].id;

        if (ours[p->process])
            rankscan_put(
                scan, "path",
                json_pack("{s:s, s:I, s:s, s:I, s:o, s:s, s:s, s:s, s:b, s:I}",
                          "host", processes[p->process].host, "pid",
                          (json_int_t) processes[p->process].pid, "comm", comm,
                          "rank", (json_int_t) p->rank, "peer",
                          p->peer == NCCLDEBUG_NO_PEER
                              ? json_null()
                              : json_integer((json_int_t) p->peer),
                          "via", nccldebug_via_word[p->via], "detail",
                          p->detail, "device", p->device, "gdr", (int) p->gdr,
                          "lines", (json_int_t) p->lines));
    }
}

/* Of a log only what processes of the step say: a file may be an older job's,
 * or everybody's. */
void rankscan_put_log(struct rankscan *scan)
{
    size_t n;
    const struct jp_nccl_process *processes =
        nccldebug_processes(scan->log, &n);
    bool *ours = calloc(n + 1, sizeof(*ours));

    if (!ours) {
        rankscan_cut(scan, "out of memory");
        return;
    }
    nccldebug_finish(scan->log);
    for (size_t i = 0; i < n; i++)
        ours[i] = is_ours(scan, &processes[i]);
    put_ranks(scan, processes, ours);
    put_paths(scan, processes, ours);
    if (nccldebug_full(scan->log))
        rankscan_cut(scan, "NCCL's log has more than fits");
    free(ours);
}
