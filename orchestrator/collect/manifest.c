/* manifest.c - list the profiler's files of one node. */
#include "orchestrator/collect/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/noderec.h"

struct walk {
    json_t *files;
    uint64_t deadline_ms;
    bool complete; /* false: stopped at a cap or the deadline */
};

static bool may_go_on(struct walk *walk)
{
    if (json_array_size(walk->files) >= JP_MANIFEST_FILES_MAX ||
        clock_mono_ms() > walk->deadline_ms)
        walk->complete = false;
    return walk->complete;
}

static int add_file(struct walk *walk, const char *path, const struct stat *st)
{
    json_t *name = json_string(path); /* NULL: not UTF-8 */
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

static int walk_entry(struct walk *walk, int folder, const char *prefix,
                      const char *name, int depth)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s%s", prefix, name);
    int fd;

    if (n < 0 || (size_t) n >= sizeof(path) - 1 ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        walk->complete = false; /* too long a name, or gone just now */
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
    memcpy(path + n, "/", 2);
    return walk_folder(walk, fd, path, depth + 1);
}

/* Lists what is below fd, which is taken over. */
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

/* Takes files over. */
static int write_manifest(const struct jp_seat *seat, const char *node,
                          json_t *files, bool complete, struct jp_error *err)
{
    char *path = fileio_path("%s/nodes/%s/manifest", seat->dir, node);
    json_t *json = json_pack(
        "{s:i, s:s, s:i, s:I, s:I, s:I, s:b, s:o}", "schema", 1, "node", node,
        "nodeid", (int) seat->nodeid, "component", (json_int_t) seat->component,
        "finish_us", (json_int_t) clock_real_us(), "oom_kills",
        (json_int_t) noderec_oom_kills(), "complete", (int) complete, "files",
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

int manifest_write(const struct jp_seat *seat, const char *node,
                   uint64_t deadline_ms, struct jp_error *err)
{
    struct walk walk = {json_array(), deadline_ms, true};
    char *raw = fileio_path("%s/raw/%s", seat->dir, node);
    int fd = -1;

    if (!raw || !walk.files) {
        json_decref(walk.files);
        free(raw);
        return error_set(err, "out of memory");
    }
    fd = open(raw, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || walk_folder(&walk, fd, "", 0) < 0)
        walk.complete = false;
    free(raw);
    return write_manifest(seat, node, walk.files, walk.complete, err);
}

int manifest_write_empty(const struct jp_seat *seat, const char *node,
                         struct jp_error *err)
{
    return write_manifest(seat, node, json_array(), false, err);
}
