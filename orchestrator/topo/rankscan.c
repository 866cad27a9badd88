/* rankscan.c - write ranks.jsonl of a node. */
#include "orchestrator/topo/rankscan.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/fileio.h"
#include "orchestrator/topo/rankscan_parts.h"
#include "orchestrator/topo/sysfile.h"

#define STARTS_MAX (64 * 1024 * 1024)

void rankscan_cut(struct rankscan *scan, const char *fmt, ...)
{
    va_list ap;

    if (scan->why[0])
        return; /* the first reason is the one that counts */
    va_start(ap, fmt);
    vsnprintf(scan->why, sizeof(scan->why), fmt, ap);
    va_end(ap);
}

bool rankscan_late(struct rankscan *scan)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    if ((uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000 <=
        scan->deadline_ms)
        return false;
    rankscan_cut(scan, "the time was over");
    return true;
}

void rankscan_put(struct rankscan *scan, const char *kind, json_t *json)
{
    json_t *line = json ? json_pack("{s:o}", kind, json) : NULL;
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;

    if (scan->lines == JP_RANKSCAN_LINES_MAX)
        rankscan_cut(scan, "more than %d lines", JP_RANKSCAN_LINES_MAX);
    else if (!text)
        rankscan_cut(scan, "out of memory, or a text that is not UTF-8");
    else
        fprintf(scan->out, "%s\n", text);
    scan->lines += scan->lines < JP_RANKSCAN_LINES_MAX;
    free(text);
    json_decref(line);
}

void rankscan_add_process(struct rankscan *scan, const char *host, int64_t pid)
{
    struct rankscan_process *more = scan->processes;

    if (scan->n_processes == scan->room) {
        more = realloc(more, (scan->room * 2 + 16) * sizeof(*more));
        if (!more) {
            rankscan_cut(scan, "out of memory");
            return;
        }
        scan->processes = more;
        scan->room = scan->room * 2 + 16;
    }
    more[scan->n_processes] = (struct rankscan_process){strdup(host), pid};
    if (!more[scan->n_processes].host) {
        rankscan_cut(scan, "out of memory");
        return;
    }
    scan->n_processes++;
}

void rankscan_add_pattern(struct rankscan *scan, const char *pattern)
{
    if (*pattern != '/')
        return; /* relative to a folder that nobody has told */
    for (size_t i = 0; i < scan->n_patterns; i++)
        if (strcmp(scan->patterns[i], pattern) == 0)
            return;
    if (scan->n_patterns == RANKSCAN_PATTERNS) {
        rankscan_cut(scan, "more than %d NCCL_DEBUG_FILE", RANKSCAN_PATTERNS);
        return;
    }
    scan->patterns[scan->n_patterns] = strdup(pattern);
    if (!scan->patterns[scan->n_patterns]) {
        rankscan_cut(scan, "out of memory");
        return;
    }
    scan->n_patterns++;
}

static int take_entry(void *arg, int folder, const char *name)
{
    struct rankscan *scan = arg;
    char *path;

    (void) folder;
    if (rankscan_late(scan))
        return 1;
    path = fileio_path("%s/raw/%s/%s", scan->step_dir, scan->node, name);
    if (path)
        rankscan_file(scan, path, name);
    free(path);
    return 0;
}

/* Where the tasks' NCCL logs to, by their start records. */
static void read_starts(struct rankscan *scan)
{
    char *path =
        fileio_path("%s/nodes/%s/starts.jsonl", scan->step_dir, scan->node);
    char *text = NULL, *rest, *line;

    if (path && fileio_read(path, false, STARTS_MAX, &text, NULL, NULL) == 0) {
        rest = text;
        while ((line = strsep(&rest, "\n"))) {
            json_t *json = json_loads(line, 0, NULL);
            const char *value = json_string_value(json_object_get(
                json_object_get(json, "env"), "NCCL_DEBUG_FILE"));

            if (value)
                rankscan_add_pattern(scan, value);
            json_decref(json);
        }
    }
    free(text);
    free(path);
}

static void scan_all(struct rankscan *scan)
{
    char *raw = fileio_path("%s/raw/%s", scan->step_dir, scan->node);
    int folder = raw ? sysfile_folder("", raw + (*raw == '/')) : -1;
    int more = 0;

    if (folder >= 0)
        sysfile_each(folder, JP_RANKSCAN_FILES_MAX, take_entry, scan, &more);
    else
        rankscan_cut(scan, "raw/%s cannot be read", scan->node);
    if (more)
        rankscan_cut(scan, "more than %d files", JP_RANKSCAN_FILES_MAX);
    free(raw);
    read_starts(scan);
    rankscan_named_logs(scan);
    rankscan_put_log(scan);
}

int rankscan_write(const char *step_dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err)
{
    struct rankscan scan = {.step_dir = step_dir,
                            .node = node,
                            .deadline_ms = deadline_ms,
                            .log = nccldebug_create()};
    char *path = fileio_path("%s/nodes/%s/ranks.jsonl", step_dir, node);
    struct jp_tempfile file;
    int rc = -1;

    if (!path || !scan.log) {
        error_set(err, "out of memory");
    } else if (fileio_temp_open(&file, path, err) == 0) {
        scan.out = file.stream;
        scan_all(&scan);
        scan.lines = 0; /* there is room for the last one */
        rankscan_put(
            &scan, "end",
            json_pack("{s:b, s:s}", "complete", !scan.why[0], "why", scan.why));
        rc = fileio_temp_commit(&file, err);
    }
    for (size_t i = 0; i < scan.n_processes; i++)
        free(scan.processes[i].host);
    for (size_t i = 0; i < scan.n_patterns; i++)
        free(scan.patterns[i]);
    free(scan.processes);
    nccldebug_destroy(scan.log);
    free(path);
    return rc;
}
