/* noderec.c - what a node writes about itself and its tasks: node.json when it
 * begins, tasks.jsonl and the manifest when it finishes. nodes.c reads these
 * files.
 *
 * Each file is written by temp + rename, so that a reader finds it complete or
 * not at all. The three parts of this file are the three records; noderec.h
 * describes their formats.
 */
#include "config.h"

#include "orchestrator/collect/noderec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/error.h"
#include "common/fileio.h"
#include "common/num.h"
#include "orchestrator/collect/clock.h"

/* Fields of a task line. Modules of earlier releases write four, without the
 * times. */
enum { FIELDS_OLD = 4, FIELDS = 6 };

/* The fields in the order of the line: key in tasks.jsonl, and range. */
static const struct {
    const char *key;
    int64_t min, max;
} fields[FIELDS] = {
    {"gtid", 0, UINT32_MAX},   {"ltid", 0, UINT32_MAX},
    {"pid", 0, INT32_MAX},     {"status", -1, INT32_MAX},
    {"mono_us", 0, INT64_MAX}, {"end_us", 0, INT64_MAX},
};

/* Splits the line in place and parses its fields. Returns the number of fields,
 * or 0 if the line is malformed. */
static int parse_line(char *line, int64_t field[FIELDS])
{
    int n = 0;

    for (; line && n < FIELDS; n++)
        if (num_parse_i64(strsep(&line, " "), fields[n].min, fields[n].max,
                          &field[n], NULL) < 0)
            return 0;
    return !line && (n == FIELDS || n == FIELDS_OLD) ? n : 0;
}

/* slurmstepd's module writes plain numbers, because it must not use a JSON
 * library; they get their names here. */
int tasklines_convert(struct jp_lines *in, const char *path, uint32_t *bad,
                      struct jp_error *err)
{
    const struct lines_left *left = lines_left(in);
    struct jp_tempfile file;
    int64_t field[FIELDS];
    char *line;
    size_t len;
    uint32_t dropped = 0;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    while (lines_next(in, &line, &len, NULL) > 0) {
        int got = parse_line(line, field);

        dropped += got == 0;
        for (int i = 0; i < got; i++)
            fprintf(file.stream, "%c\"%s\":%" PRId64 "%s", i ? ',' : '{',
                    fields[i].key, field[i], i + 1 < got ? "" : "}\n");
    }
    dropped += (uint32_t) (left->too_long + left->with_nul + left->early);
    if (fileio_temp_commit(&file, err) < 0)
        return -1;
    if (bad)
        *bad = dropped;
    return 0;
}

/* --- write a node's own record into the step directory --- */

/* A variable; "" if it is not set. */
static const char *from_env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

/* A variable as a number; otherwise if it is not set or malformed. */
static uint64_t number_from_env(const char *name, uint64_t otherwise)
{
    uint64_t value = otherwise;

    num_parse_u64(getenv(name), 0, UINT32_MAX, &value, NULL);
    return value;
}

/* A JSON string; "" if value is not UTF-8, which jansson refuses. */
static json_t *text(const char *value)
{
    json_t *json = json_string(value);

    return json ? json : json_string("");
}

/* The id of this boot of the kernel, which distinguishes two nodes of the same
 * name. "" if it is unknown. */
static json_t *boot_id(void)
{
    char *id = NULL;
    json_t *json;

    if (fileio_read("/proc/sys/kernel/random/boot_id", false, 128, &id, NULL,
                    NULL) < 0)
        return json_string("");
    id[strcspn(id, "\n")] = '\0';
    json = text(id);
    free(id);
    return json;
}

/* The number of processes that this host's kernel has killed since its start
 * because memory was short, in any control group; -1: unknown. The difference
 * between begin and finish is reported. */
static int64_t count_oom_kills(void)
{
    char *text = NULL, *at;
    int64_t n = -1;

    if (fileio_read("/proc/vmstat", false, 65536, &text, NULL, NULL) < 0)
        return -1;
    /* Since Linux 4.13. */
    at = strstr(text, "\noom_kill ");
    if (at) {
        at += strlen("\noom_kill ");
        at[strcspn(at, "\n")] = '\0';
        num_parse_i64(at, 0, INT64_MAX, &n, NULL);
    }
    free(text);
    return n;
}

/* Composes node.json. NULL: no memory. The json_object_set_new functions accept
 * NULL values and fail then, so one check at the end is enough. */
static json_t *make_record(const struct jp_seat *seat, const char *node)
{
    json_t *json = json_object();
    struct utsname uts = {0};
    /* Slurm's numbers are those of the whole step, also for heterogeneous
     * jobs. */
    uint64_t nodes = number_from_env("SLURM_STEP_NUM_NODES", seat->nodes);
    uint64_t tasks = number_from_env("SLURM_STEP_NUM_TASKS", 0);
    int rc = 0;

    uname(&uts);
    rc |= json_object_set_new(json, "schema", json_integer(1));
    rc |= json_object_set_new(json, "node", text(node));
    rc |= json_object_set_new(json, "hostname", text(uts.nodename));
    rc |= json_object_set_new(json, "nodeid", json_integer(seat->nodeid));
    rc |= json_object_set_new(json, "component",
                              json_integer((json_int_t) seat->component));
    rc |= json_object_set_new(json, "boot_id", boot_id());
    rc |= json_object_set_new(json, "kernel", text(uts.release));
    rc |= json_object_set_new(json, "step_nodelist",
                              text(from_env("SLURM_STEP_NODELIST")));
    rc |= json_object_set_new(json, "step_nodes",
                              json_integer((json_int_t) nodes));
    rc |= json_object_set_new(json, "step_tasks",
                              json_integer((json_int_t) tasks));
    rc |= json_object_set_new(json, "step_tasks_per_node",
                              text(from_env("SLURM_STEP_TASKS_PER_NODE")));
    rc |= json_object_set_new(json, "topology_addr",
                              text(from_env("SLURM_TOPOLOGY_ADDR")));
    rc |= json_object_set_new(json, "jobprof", text(PACKAGE_VERSION));
    rc |=
        json_object_set_new(json, "oom_kills", json_integer(count_oom_kills()));
    rc |= json_object_set_new(json, "begin_us",
                              json_integer((json_int_t) clock_real_us()));
    if (rc == 0)
        return json;
    json_decref(json);
    return NULL;
}

int noderec_write(const struct jp_seat *seat, const char *node,
                  struct jp_error *err)
{
    char *path = text_format("%s/nodes/%s/node.json", seat->dir, node);
    json_t *json = make_record(seat, node);
    char *out = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int rc = -1;

    if (path && out)
        rc = fileio_write(path, out, strlen(out), err);
    else
        error_set(err, "out of memory");
    free(out);
    json_decref(json);
    free(path);
    return rc;
}

/* --- list the profiler's files of one node --- */

/* The walk over raw/<node>. */
struct walk {
    json_t *files;
    uint64_t deadline_ms;
    bool complete; /* false: stopped at a cap or the deadline */
};

/* Whether the walk is within its caps and its deadline. */
static bool may_go_on(struct walk *walk)
{
    if (json_array_size(walk->files) >= JP_MANIFEST_FILES_MAX ||
        clock_mono_ms() > walk->deadline_ms)
        walk->complete = false;
    return walk->complete;
}

/* Adds one regular file. A name that JSON cannot represent makes the manifest
 * incomplete. -1: no memory. */
static int add_file(struct walk *walk, const char *path, const struct stat *st)
{
    json_t *name = json_string(path); /* NULL: not UTF-8, or no memory */
    json_int_t mtime_us = (json_int_t) st->st_mtim.tv_sec * 1000000 +
                          st->st_mtim.tv_nsec / 1000;
    json_t *file;

    if (!name) {
        walk->complete = false;
        return 0;
    }
    file = json_pack("{s:o, s:I, s:I}", "path", name, "bytes",
                     (json_int_t) st->st_size, "mtime_us", mtime_us);
    return file ? json_array_append_new(walk->files, file) : -1;
}

static int walk_folder(struct walk *walk, int fd, const char *prefix,
                       int depth);

/* Handles one entry of a folder: files are added, folders entered, everything
 * else ignored. name is below prefix, which is relative to raw/<node>/. */
static int walk_entry(struct walk *walk, int folder, const char *prefix,
                      const char *name, int depth)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s%s", prefix, name);
    int fd;

    if (n < 0 || (size_t) n >= sizeof(path) - 1 ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        walk->complete = false; /* name too long, or the entry has vanished */
        return 0;
    }
    if (S_ISREG(st.st_mode))
        return add_file(walk, path, &st);
    if (!S_ISDIR(st.st_mode))
        return 0;
    fd = depth < JP_MANIFEST_DEPTH_MAX
             ? openat(folder, name,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
             : -1;
    if (fd < 0) {
        walk->complete = false;
        return 0;
    }
    /* The check above has left room for the slash. */
    memcpy(path + n, "/", 2);
    return walk_folder(walk, fd, path, depth + 1);
}

/* Lists what is below fd, which is taken over. -1: no memory. */
static int walk_folder(struct walk *walk, int fd, const char *prefix, int depth)
{
    DIR *folder = fdopendir(fd);
    struct dirent *entry;
    int rc = 0;

    if (!folder) {
        close(fd);
        return -1;
    }
    while (rc == 0 && may_go_on(walk) && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            rc = walk_entry(walk, dirfd(folder), prefix, entry->d_name, depth);
    closedir(folder);
    return rc;
}

/* Writes the manifest. Takes files over, even on failure. */
static int write_manifest(const struct jp_seat *seat, const char *node,
                          json_t *files, bool complete, struct jp_error *err)
{
    char *path = text_format("%s/nodes/%s/manifest", seat->dir, node);
    json_t *json = json_pack(
        "{s:i, s:s, s:i, s:I, s:I, s:I, s:b, s:o}", "schema", 1, "node", node,
        "nodeid", (int) seat->nodeid, "component", (json_int_t) seat->component,
        "finish_us", (json_int_t) clock_real_us(), "oom_kills",
        (json_int_t) count_oom_kills(), "complete", (int) complete, "files",
        files);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int rc = -1;

    if (path && text)
        rc = fileio_write(path, text, strlen(text), err);
    else
        error_set(err, "out of memory");
    free(text);
    json_decref(json);
    free(path);
    return rc;
}

/* The manifest is also the sign that this node has finished, so it is written
 * even if the walk has failed. */
int manifest_write(const struct jp_seat *seat, const char *node,
                   uint64_t deadline_ms, struct jp_error *err)
{
    struct walk walk = {json_array(), deadline_ms, true};
    char *raw = text_format("%s/raw/%s", seat->dir, node);
    int fd = -1;

    if (!raw || !walk.files) {
        json_decref(walk.files);
        free(raw);
        return error_set(err, "out of memory");
    }
    if (deadline_ms)
        fd = open(raw, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* A folder that cannot be read gives an incomplete manifest. */
    if (fd < 0 || walk_folder(&walk, fd, "", 0) < 0)
        walk.complete = false;
    free(raw);
    return write_manifest(seat, node, walk.files, walk.complete, err);
}
