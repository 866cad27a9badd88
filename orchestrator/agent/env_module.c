/* env_module.c - the node agent's module that sees whether the step's processes
 * have the profiler that was set for them.
 *
 * What runs after jobprof's SPANK module can set NCCL_PROFILER_PLUGIN anew:
 * another module, Slurm's TaskProlog, the program or its launcher. NCCL then
 * loads another profiler, and nothing is recorded. /proc/PID/environ has what a
 * process was started with. As long as the node has no file of the profiler,
 * the environments of the step's processes are compared with what was set, in
 * growing intervals. The first difference is written to
 * nodes/<node>/plugin.json, which orchestrator/collect/nodes.h reads. */
#include "orchestrator/agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/lines.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/ownproc.h"

#define PERIOD_MS 500
#define VARIABLE "NCCL_PROFILER_PLUGIN"

struct env {
    struct module_place place;
    uint64_t ticks, next; /* the tick of the next look */
    uint64_t looks;
    bool done;
    char text[1 << 16]; /* an environment */
};

/* What a look found. */
struct found {
    char *value;   /* "": not set */
    char comm[64]; /* the program's name */
    bool is_task;  /* Slurm has started it, not the program */
};

static void destroy(void *state)
{
    free(state);
}

static void *start(const struct module_place *place, struct jp_error *err)
{
    struct env *e;

    error_set(err, "%s", "");
    if (!place->plugin || *place->root)
        return NULL;
    e = calloc(1, sizeof(*e));
    if (!e) {
        error_set(err, "out of memory");
        return NULL;
    }
    e->place = *place;
    e->next = 1;
    return e;
}

/* Whether the profiler has written something on this node. */
static bool has_files(const struct env *e)
{
    char *path = text_format("%s/raw/%s", e->place.dir, e->place.node);
    DIR *folder = path ? ownplace_opendir(path) : NULL;
    struct dirent *entry;
    bool found = false;

    while (folder && !found && (entry = readdir(folder)))
        found = entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    free(path);
    return found;
}

/* Whether the environment is that of a process of the step on this node. */
static bool is_of_step(const struct env *e, size_t len)
{
    const char *job = ownproc_variable(e->text, len, "SLURM_JOB_ID"),
               *step = ownproc_step(e->text, len),
               *node = ownproc_variable(e->text, len, "SLURMD_NODENAME");
    uint64_t number;

    return job && step && !strcmp(step, e->place.step) &&
           num_parse_u64(job, 1, UINT32_MAX, &number, NULL) == 0 &&
           number == e->place.job && (!node || !strcmp(node, e->place.node));
}

/* Compares one process. A task counts for more than its children: what it was
 * started with is not the program's doing. */
static void look_at(struct env *e, int64_t pid, struct found *found)
{
    const struct ownproc_name name = {
        .root = e->place.root, .pid = pid, .uid = e->place.uid};
    const char *value, *task;
    struct ownproc proc;
    char comm[64];
    ssize_t len;

    if (ownproc_open(&name, &proc, NULL) < 0)
        return;
    len = ownproc_read(proc.dir, "environ", e->text, sizeof(e->text));
    if (len > 0 && is_of_step(e, (size_t) len) &&
        ownproc_read(proc.dir, "comm", comm, sizeof(comm)) > 0 &&
        strncmp(comm, "jobprof", 7) != 0 &&
        strncmp(comm, "slurmstepd", 10) != 0) {
        uint64_t number;
        bool is_task;

        value = ownproc_variable(e->text, (size_t) len, VARIABLE);
        task = ownproc_variable(e->text, (size_t) len, "SLURM_TASK_PID");
        is_task = task &&
                  num_parse_u64(task, 1, INT32_MAX, &number, NULL) == 0 &&
                  number == (uint64_t) pid;
        /* a child without it may be a tool that was given few variables */
        if ((value || is_task) &&
            strcmp(value ? value : "", e->place.plugin) != 0 &&
            (!found->value || (is_task && !found->is_task))) {
            free(found->value);
            found->value = strdup(value ? value : "");
            found->is_task = is_task;
            comm[strcspn(comm, "\n")] = '\0';
            memcpy(found->comm, comm, sizeof(comm));
        }
    }
    ownproc_close(&proc);
}

static void look_at_all(struct env *e, struct found *found)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    struct stat st;
    uint64_t pid;

    while (proc && (entry = readdir(proc)))
        if (num_parse_u64(entry->d_name, 1, INT32_MAX, &pid, NULL) == 0 &&
            fstatat(dirfd(proc), entry->d_name, &st, 0) == 0 &&
            st.st_uid == e->place.uid)
            look_at(e, (int64_t) pid, found);
    if (proc)
        closedir(proc);
}

/* Whether a task had what was set when jobprof's SPANK module saw it last: 1,
 * 0, or -1: not known. */
static int had_ours(const struct env *e)
{
    char *path = text_format("%s/nodes/%s/starts.jsonl", e->place.dir,
                             e->place.node),
         *line;
    struct jp_lines *lines =
        path ? lines_open(path, &lines_limits[LINES_STARTS], NULL) : NULL;
    int had = -1;
    size_t len;

    while (lines && had < 0 && lines_next(lines, &line, &len, NULL) > 0) {
        json_t *json = jsonload(JSONLOAD_LINE, "", line, len, 0, NULL);
        const char *value = json_string_value(
            json_object_get(json_object_get(json, "env"), VARIABLE));

        if (json)
            had = value && !strcmp(value, e->place.plugin);
        json_decref(json);
    }
    if (lines)
        lines_close(lines);
    free(path);
    return had;
}

/* Writes what was found, and who may have set it. */
static int write_found(const struct env *e, const struct found *found,
                       struct jp_error *err)
{
    int had = found->is_task ? had_ours(e) : 1;
    const char *by = !found->is_task ? "program"
                     : had == 0      ? "module"
                     : had > 0       ? "prolog"
                                     : "slurm";
    json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s}", "schema", 1, "wanted",
                             e->place.plugin, "found", found->value, "by", by,
                             "program", found->comm);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    char *path =
        text_format("%s/nodes/%s/plugin.json", e->place.dir, e->place.node);
    int rc = text && path ? fileio_write(path, text, strlen(text), err)
                          : error_set(err, "out of memory");

    json_decref(json);
    free(text);
    free(path);
    return rc;
}

/* Looks after 0.5, 1, 2, 4 s and so on. */
static int tick(void *state, const struct module_time *now,
                struct jp_error *err)
{
    struct env *e = state;
    struct found found = {0};
    int rc = 0;

    (void) now;
    if (e->done || ++e->ticks < e->next)
        return 0;
    e->next *= 2;
    e->looks++;
    e->done = has_files(e);
    if (!e->done)
        look_at_all(e, &found);
    if (found.value) {
        e->done = true;
        rc = write_found(e, &found, err);
    }
    free(found.value);
    return rc;
}

static void record(void *state, struct jp_json_stream *s)
{
    const struct env *e = state;

    json_stream_count(s, "looks", e->looks);
}

static void finish(void *state)
{
    (void) state;
}

const struct node_module env_module = {
    .name = "env",
    .budget = 0.001,
    .memory_bytes = 4 << 20,
    .period_ms = PERIOD_MS,
    .start = start,
    .tick = tick,
    .record = record,
    .finish = finish,
    .destroy = destroy,
};
