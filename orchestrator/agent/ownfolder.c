/* ownfolder.c - take the step's files from a folder that the user has set.
 *
 * begin notes the folder and the time (ownfolder_note). finish collects the
 * candidates by name, owner and time (find_files), keeps those of the node's
 * tasks (keep_tasks), and links or copies them (take). agent.h describes the
 * rules.
 */
#include "orchestrator/agent/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/lines.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/profiler.h"
#include "common/vector.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/nodes.h"

/* Limits: files of one folder that are examined, and bytes copied at a time. */
#define FILES_MAX 100000
#define CHUNK (1 << 20)

/* The path of nodes/<node>/folder.json. Caller frees; NULL: no memory. */
static char *record_path(const char *dir, const char *node)
{
    return text_format("%s/nodes/%s/" JP_NODES_FOLDER, dir, node);
}

/* --- begin ---------------------------------------------------------------- */

/* The user's setting of the profiler's folder; NULL: the folder is ours. */
static const struct jp_setting *find_setting(const struct jp_jobconf *conf)
{
    const char *name = profiler_get(conf->nccl_mode)->folder;

    for (size_t i = 0; name && i < conf->n_settings; i++)
        if (!strcmp(conf->settings[i].key, name))
            return &conf->settings[i];
    return NULL;
}

/* Replaces folder.json. record NULL: no memory. */
static int write_record(const char *path, json_t *record, struct jp_error *err)
{
    char *text = record ? json_dumps(record, JSON_COMPACT) : NULL;
    int rc;

    if (!text)
        return error_set(err, "%s: out of memory, or no UTF-8", path);
    rc = fileio_write(path, text, strlen(text), err);
    free(text);
    return rc;
}

/* A relative folder starts at the working directory of the tasks, which only
 * they and slurmstepd know. */
int ownfolder_note(const char *dir, const char *node,
                   const struct jp_jobconf *conf, const char *cwd,
                   struct jp_error *err)
{
    const struct jp_setting *own = find_setting(conf);
    bool relative = own && own->value[0] != '/';
    char *path = record_path(dir, node), *folder;
    json_t *record;
    int rc;

    /* Nothing to record: our own folder, or a place that cannot be known. */
    if (!own || (relative && (!cwd || *cwd != '/'))) {
        free(path);
        return 0;
    }
    /* Files from before begin belong to earlier runs in the same folder, so the
     * time is recorded with it. */
    folder = relative ? text_format("%s/%s", cwd, own->value)
                      : strdup(own->value);
    if (!path || !folder) {
        free(path);
        free(folder);
        return error_set(err, "out of memory");
    }
    record = json_pack("{s:s, s:I}", "path", folder, "since_us",
                       (json_int_t) clock_real_us());
    rc = write_record(path, record, err);
    json_decref(record);
    free(folder);
    free(path);
    return rc;
}

/* --- finish --------------------------------------------------------------- */

/* A file of the folder that may belong to the step. */
struct found {
    char name[NAME_MAX + 1];
    int64_t pid;
};

/* The state of finish while it takes files. */
struct taking {
    DIR *folder;
    int raw;          /* descriptor of raw/<node>/ */
    int64_t since_us; /* older files belong to an earlier run */
    char host[256];   /* this host's name */
    int64_t *tasks;   /* process ids of the node's tasks */
    size_t n_tasks;
    struct found *found;
    size_t n_found;
    uint64_t copied, deadline_ms;
    /* The result: files taken, and files that could not be. */
    uint64_t taken, missed;
};

/* The process id in "<host>-pid<PID>.log" with this host's name; 0: another
 * kind of file. */
static int64_t pid_of(const struct taking *t, const char *name)
{
    size_t host = strlen(t->host), len = strlen(name);
    char digits[24];
    int64_t pid = 0;

    if (len < host + 9 || strncmp(name, t->host, host) != 0 ||
        strncmp(name + host, "-pid", 4) != 0 ||
        strcmp(name + len - 4, ".log") != 0 || len - host - 8 >= sizeof(digits))
        return 0;
    memcpy(digits, name + host + 4, len - host - 8);
    digits[len - host - 8] = '\0';
    num_parse_i64(digits, 1, INT32_MAX, &pid, NULL);
    return pid;
}

/* Whether the file is a regular file of the user, written since begin. */
static bool is_fresh(const struct taking *t, const char *name)
{
    struct stat st;

    return fstatat(dirfd(t->folder), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           (int64_t) st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000 >=
               t->since_us;
}

/* Collects the files of the folder that may belong to the step. */
static int find_files(struct taking *t, struct jp_error *err)
{
    struct dirent *entry;
    size_t room = 0;

    while ((entry = readdir(t->folder)) && t->n_found < FILES_MAX) {
        int64_t pid = pid_of(t, entry->d_name);

        if (!pid || !is_fresh(t, entry->d_name))
            continue;
        if (VECTOR_ROOM(t->found, t->n_found + 1, room) < 0)
            return error_set(err, "out of memory");
        snprintf(t->found[t->n_found].name, sizeof(t->found->name), "%s",
                 entry->d_name);
        t->found[t->n_found++].pid = pid;
    }
    return 0;
}

/* Whether the process is one of the node's tasks. Linear, but the number of
 * tasks per node is small. */
static bool is_task(const struct taking *t, int64_t pid)
{
    for (size_t i = 0; i < t->n_tasks; i++)
        if (t->tasks[i] == pid)
            return true;
    return false;
}

/* Removes files of other processes, if some files belong to tasks. */
static void keep_tasks(struct taking *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->n_found; i++)
        if (is_task(t, t->found[i].pid))
            t->found[kept++] = t->found[i];
    if (kept)
        t->n_found = kept;
}

/* Copies until the end of the file. False: an error, or the time or the budget
 * of bytes is used up. */
static bool copy_bytes(struct taking *t, int from, int to)
{
    char *buf = malloc(CHUNK);
    ssize_t n = -1;

    while (buf && clock_mono_ms() < t->deadline_ms &&
           t->copied < OWNFOLDER_COPY_MAX_BYTES &&
           (n = read(from, buf, CHUNK)) > 0) {
        if (write(to, buf, (size_t) n) != n) {
            n = -1;
            break;
        }
        t->copied += (uint64_t) n;
    }
    free(buf);
    return n == 0;
}

/* Copies the whole file or nothing: a partial copy would look like everything
 * that was written. O_NONBLOCK and O_NOFOLLOW, because the entry may have been
 * replaced since it was examined. */
static bool copy_file(struct taking *t, const char *name)
{
    int from = openat(dirfd(t->folder), name,
                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int to = from < 0 ? -1
                      : openat(t->raw, name,
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = to >= 0 && copy_bytes(t, from, to);

    if (from >= 0)
        close(from);
    if (to >= 0 && close(to) < 0)
        good = false;
    if (to >= 0 && !good)
        unlinkat(t->raw, name, 0);
    return good;
}

/* Takes one file into raw/<node>/: by a hard link, which costs nothing,
 * otherwise by a copy. A file that is there already counts as taken. */
static bool take_file(struct taking *t, const char *name)
{
    if (linkat(dirfd(t->folder), name, t->raw, name, 0) == 0)
        return true;
    return errno == EEXIST || copy_file(t, name);
}

/* Reads the process ids from tasks.jsonl. If the file is missing, t->tasks
 * stays empty and all files count. */
static void read_tasks(const char *dir, const char *node, struct taking *t)
{
    char *path = text_format("%s/nodes/%s/tasks.jsonl", dir, node), *line;
    struct jp_lines *lines =
        path ? lines_open(path, &lines_limits[LINES_TASKS], NULL) : NULL;
    size_t len;

    t->tasks = lines
                   ? calloc(lines_limits[LINES_TASKS].lines, sizeof(*t->tasks))
                   : NULL;
    while (t->tasks && lines_next(lines, &line, &len, NULL) > 0) {
        const char *at = strstr(line, "\"pid\":");
        char digits[24] = "";

        if (at)
            snprintf(digits, sizeof(digits), "%.*s",
                     (int) strspn(at + 6, "0123456789"), at + 6);
        if (num_parse_i64(digits, 1, INT32_MAX, &t->tasks[t->n_tasks], NULL) ==
            0)
            t->n_tasks++;
    }
    lines_close(lines);
    free(path);
}

/* Takes the files that exist and counts them in t. As root, nothing is taken
 * from a folder that another user could replace. Returns 0 also if the folder
 * does not exist: no rank has written a file. */
static int take_all(const char *dir, const char *node, const char *folder,
                    struct taking *t, struct jp_error *err)
{
    char *raw = text_format("%s/raw/%s", dir, node);
    int rc = -1;

    t->raw = raw ? open(raw, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                 : -1;
    /* Hard links and copies by root must not follow another user's changes. */
    if (geteuid() == 0 && ownplace_check_folders(folder, err) < 0) {
        if (t->raw >= 0)
            close(t->raw);
        free(raw);
        return errno == ENOENT ? 0 : -1;
    }
    t->folder = t->raw < 0 ? NULL : opendir(folder);
    gethostname(t->host, sizeof(t->host) - 1);
    if (t->raw < 0)
        error_set(err, "%s: %s", raw ? raw : "raw", strerror(errno));
    else if (!t->folder)
        rc = errno == ENOENT
                 ? 0
                 : error_set(err, "%s: %s", folder, strerror(errno));
    else
        rc = find_files(t, err);
    if (rc == 0 && t->folder) {
        read_tasks(dir, node, t);
        keep_tasks(t);
        for (size_t i = 0; i < t->n_found; i++)
            if (take_file(t, t->found[i].name))
                t->taken++;
            else
                t->missed++;
    }
    if (t->folder)
        closedir(t->folder);
    if (t->raw >= 0)
        close(t->raw);
    free(t->tasks);
    free(t->found);
    free(raw);
    return rc;
}

/* The record is rewritten with the counts, for the report. */
int ownfolder_take(const char *dir, const char *node, uint64_t deadline_ms,
                   struct jp_error *err)
{
    char *path = record_path(dir, node), *text = NULL;
    struct taking t = {.raw = -1, .deadline_ms = deadline_ms};
    const char *folder = NULL;
    json_t *record = NULL;
    size_t len = 0;
    int rc = 0;

    /* No record: the user has set no folder. */
    if (path && fileio_read(path, false, jsonload_limits[JSONLOAD_NODE].bytes,
                            &text, &len, err) == 0)
        record = jsonload(JSONLOAD_NODE, path, text, len,
                          JSON_REJECT_DUPLICATES, err);
    else
        rc = path && errno == ENOENT ? 0 : -1;
    if (text)
        rc = record ? 0 : -1;
    folder = json_string_value(json_object_get(record, "path"));
    t.since_us = json_integer_value(json_object_get(record, "since_us"));
    if (rc == 0 && folder && *folder == '/') {
        rc = take_all(dir, node, folder, &t, err);
        json_object_set_new(record, "taken",
                            json_integer((json_int_t) t.taken));
        json_object_set_new(record, "missed",
                            json_integer((json_int_t) t.missed));
        if (rc == 0)
            rc = write_record(path, record, err);
    }
    json_decref(record);
    free(text);
    free(path);
    return rc;
}
