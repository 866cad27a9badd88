/* logwalk.c - collect log files below folders without following links.
 *
 * logwalk_init walks each input (take_input, take_entry), then sorts by path
 * and drops files that were found twice. The second part, recwalk, opens the
 * recorder's files among them one after the other. */
#include "orchestrator/ingest/logwalk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/vector.h"
#include "plugins/backend.h"

/* Endings of logs. */
static const char *const endings[] = {".jpr",    ".jpr.gz", ".log",
                                      ".log.gz", ".jsonl",  ".jsonl.gz"};

/* Endings of traces and of many other files. Then names of our own files that
 * end so. */
static const char *const maybe_endings[] = {".json", ".json.gz", ".txt"};
static const char *const ours[] = {"job.json", "node.json", JP_SUMMARY_NAME,
                                   "summary.txt", "log.txt"};

/* Whether a name ends as one of a list, with something before it. */
static bool ends_as(const char *name, const char *const *list, size_t n_list)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < n_list; i++) {
        size_t n = strlen(list[i]);

        /* a name that is only an ending is no log's */
        if (len > n && !strcmp(name + len - n, list[i]))
            return true;
    }
    return false;
}

bool logwalk_is_log(const char *name)
{
    return ends_as(name, endings, sizeof(endings) / sizeof(*endings));
}

/* Whether a name may be that of a trace: only the file's first bytes can tell.
 */
static bool is_maybe(const char *name)
{
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        if (!strcmp(name, ours[i]))
            return false;
    return ends_as(name, maybe_endings,
                   sizeof(maybe_endings) / sizeof(*maybe_endings));
}

bool logwalk_takes(const char *name)
{
    return logwalk_is_log(name) || is_maybe(name);
}

/* Whether a file that is named like a log is something else of a backend's. */
static bool is_other_log(int dir, const char *name)
{
    for (size_t i = 0; backend_registry[i]; i++)
        if (backend_registry[i]->other_log &&
            backend_registry[i]->other_log(dir, name))
            return true;
    return false;
}

/* Appends a log. maybe: only its first bytes show whether it is one. 0, or -1:
 * no memory. */
static int add_file(struct jp_logwalk *walk, const char *path,
                    const struct stat *st, bool maybe)
{
    if (VECTOR_DOUBLE(walk->logs, walk->n_logs) < 0)
        return -1;
    walk->logs[walk->n_logs] = (struct jp_logfile){
        .path = strdup(path),
        .size = st->st_size > 0 ? (uint64_t) st->st_size : 0,
        .mtime_us = (int64_t) st->st_mtim.tv_sec * 1000000 +
                    st->st_mtim.tv_nsec / 1000,
        .maybe = maybe,
        .dev = st->st_dev,
        .ino = st->st_ino};
    return walk->logs[walk->n_logs++].path ? 0 : -1;
}

/* Appends an entry that is not read. why: a constant. 0, or -1: no memory. */
static int add_skip(struct jp_logwalk *walk, const char *path, const char *why)
{
    if (VECTOR_DOUBLE(walk->skips, walk->n_skips) < 0)
        return -1;
    walk->skips[walk->n_skips] = (struct jp_logskip){strdup(path), why};
    return walk->skips[walk->n_skips++].path ? 0 : -1;
}

/* What a file that is not regular is, in a word. */
static const char *odd_type(mode_t mode)
{
    return S_ISLNK(mode)    ? "symbolic link"
           : S_ISFIFO(mode) ? "FIFO"
           : S_ISSOCK(mode) ? "socket"
                            : "device";
}

/* Takes an entry of the walk; a callback of type treewalk_see. 0, or -1: no
 * memory. */
static int take_entry(void *arg, const struct treewalk_entry *entry)
{
    struct jp_logwalk *walk = arg;
    const char *name = entry->name, *path = entry->path;

    switch (entry->what) {
    case TREEWALK_FILE:
        return logwalk_takes(name) && !is_other_log(entry->dir, name)
                   ? add_file(walk, path, entry->st, !logwalk_is_log(name))
                   : 0;
    case TREEWALK_ODD:
        return add_skip(walk, path, odd_type(entry->st->st_mode));
    case TREEWALK_LOST:
        return add_skip(walk, path, "cannot be read");
    case TREEWALK_CLOSED:
        return add_skip(walk, path, LOGWALK_NO_FOLDER);
    case TREEWALK_DEEP:
        return add_skip(walk, path, "folder too deep");
    case TREEWALK_FOLDER:
        break;
    }
    return 0;
}

/* Walks a folder, or takes a file. 0, or -1 and err. */
static int take_input(struct jp_logwalk *walk, const char *input,
                      struct jp_error *err)
{
    struct stat st;
    /* an input may be a link to a folder, as the user has named it */
    int rc, fd = open(input, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        if (treewalk(fd, input, LOGWALK_MAX_DEPTH, take_entry, walk) == 0)
            return 0;
        return error_set(err, "%s: out of memory", input);
    }
    /* not a folder: a file, or what lstat shows */
    if (errno != ENOTDIR)
        return error_set(err, "%s: %s", input, strerror(errno));
    if (lstat(input, &st) < 0)
        return error_set(err, "%s: %s", input, strerror(errno));
    if (!S_ISREG(st.st_mode))
        rc = add_skip(walk, input, odd_type(st.st_mode));
    else
        /* a file that is given by name is taken whatever its name is */
        rc = add_file(walk, input, &st, false);
    return rc < 0 ? error_set(err, "%s: out of memory", input) : 0;
}

static int by_path(const void *a, const void *b)
{
    const struct jp_logfile *x = a, *y = b;

    return strcmp(x->path, y->path);
}

static int skip_by_path(const void *a, const void *b)
{
    const struct jp_logskip *x = a, *y = b;

    return strcmp(x->path, y->path);
}

static int by_inode(const void *a, const void *b)
{
    const struct jp_logfile *x = a, *y = b;

    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    if (x->ino != y->ino)
        return x->ino < y->ino ? -1 : 1;
    /* so that the first path of a file is kept */
    return strcmp(x->path, y->path);
}

/* Keeps the first path of each file and sorts by path. */
static void sort_unique(struct jp_logfile *files, size_t *n)
{
    size_t kept = 0;

    if (!*n)
        return;
    /* hard links and overlapping inputs are one file */
    qsort(files, *n, sizeof(*files), by_inode);
    for (size_t i = 0; i < *n; i++) {
        if (kept && files[kept - 1].dev == files[i].dev &&
            files[kept - 1].ino == files[i].ino)
            free(files[i].path);
        else
            files[kept++] = files[i];
    }
    *n = kept;
    qsort(files, kept, sizeof(*files), by_path);
}

/* The same for skipped entries; a folder may have been given twice. */
static void sort_unique_skips(struct jp_logwalk *walk)
{
    size_t kept = 0;

    if (!walk->n_skips)
        return;
    qsort(walk->skips, walk->n_skips, sizeof(*walk->skips), skip_by_path);
    /* by path, as skipped entries have no inode here */
    for (size_t i = 0; i < walk->n_skips; i++) {
        if (kept && !strcmp(walk->skips[kept - 1].path, walk->skips[i].path))
            free(walk->skips[i].path);
        else
            walk->skips[kept++] = walk->skips[i];
    }
    walk->n_skips = kept;
}

int logwalk_init(struct jp_logwalk *walk, const char *const *inputs,
                 size_t n_inputs, struct jp_error *err)
{
    *walk = (struct jp_logwalk){0};
    for (size_t i = 0; i < n_inputs; i++)
        if (take_input(walk, inputs[i], err) < 0) {
            logwalk_fini(walk);
            return -1;
        }
    sort_unique(walk->logs, &walk->n_logs);
    sort_unique_skips(walk);
    for (size_t i = 0; i < walk->n_logs; i++)
        walk->bytes += walk->logs[i].size;
    return 0;
}

int logwalk_filter(struct jp_logwalk *walk,
                   enum logwalk_use (*use)(const void *arg, const char *path),
                   const void *arg)
{
    static const char *const text[] = {".txt"};
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < walk->n_logs; i++) {
        struct jp_logfile *log = &walk->logs[i];
        enum logwalk_use what = use(arg, log->path);

        if (what == LOGWALK_KEEP) {
            walk->logs[kept++] = *log;
            continue;
        }
        if (what == LOGWALK_SKIP && !ends_as(log->path, text, 1) &&
            add_skip(walk, log->path, "of no kind that is read") < 0)
            rc = -1;
        walk->bytes -= log->size;
        free(log->path);
    }
    walk->n_logs = kept;
    sort_unique_skips(walk);
    return rc;
}

void logwalk_fini(struct jp_logwalk *walk)
{
    for (size_t i = 0; i < walk->n_logs; i++)
        free(walk->logs[i].path);
    for (size_t i = 0; i < walk->n_skips; i++)
        free(walk->skips[i].path);
    free(walk->logs);
    free(walk->skips);
    *walk = (struct jp_logwalk){0};
}

size_t logwalk_input_of(const char *const *inputs, size_t n, const char *path)
{
    size_t best = n, longest = 0;

    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(inputs[i]);

        /* "raw/" and "raw" are the same */
        while (len && inputs[i][len - 1] == '/')
            len--;
        if (!strncmp(path, inputs[i], len) &&
            (path[len] == '/' || !path[len]) && (best == n || len > longest)) {
            best = i;
            longest = len;
        }
    }
    return best;
}

/* --- open the recorder's files in order of path --- */

int recwalk_init(struct jp_recwalk *walk, const char *const *inputs, size_t n,
                 struct jp_error *err)
{
    *walk = (struct jp_recwalk){.inputs = inputs, .n_inputs = n};
    return logwalk_init(&walk->walk, inputs, n, err);
}

/* Closes the open file, if there is one. */
static void close_file(struct jp_recwalk *walk)
{
    if (walk->is_open)
        recfile_close(&walk->file);
    walk->is_open = false;
}

void recwalk_rewind(struct jp_recwalk *walk)
{
    close_file(walk);
    walk->next = 0;
    walk->files = walk->others = walk->troubles = 0;
}

void recwalk_fini(struct jp_recwalk *walk)
{
    close_file(walk);
    logwalk_fini(&walk->walk);
}

/* Counts a place that could not be read, and reports it. */
static void trouble(struct jp_recwalk *walk, const char *text)
{
    walk->troubles++;
    if (walk->say)
        walk->say(walk->arg, text);
}

/* The path relative to the input that contains it. */
static const char *below(const struct jp_recwalk *walk, const char *path)
{
    for (size_t i = 0; i < walk->n_inputs; i++) {
        size_t n = strlen(walk->inputs[i]);

        if (!strncmp(path, walk->inputs[i], n) && path[n] == '/')
            return path + n + 1;
    }
    return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

struct jp_recfile *recwalk_open(struct jp_recwalk *walk)
{
    struct jp_error err;

    close_file(walk);
    walk->stopped = walk->look && walk->look(walk->look_arg) != 0;
    if (walk->stopped)
        return NULL;
    while (walk->next < walk->walk.n_logs) {
        const char *path = walk->walk.logs[walk->next++].path;
        int kind = recfile_probe(path, &err);

        /* another profiler's file */
        if (kind == 0) {
            walk->others++;
        } else if (kind < 0 || recfile_open(&walk->file, path, &err) < 0) {
            trouble(walk, err.text);
        } else {
            walk->files++;
            walk->is_open = true;
            walk->path = path;
            walk->below = below(walk, path);
            return &walk->file;
        }
    }
    return NULL;
}

bool recwalk_record(struct jp_recwalk *walk, struct jpr_record *record)
{
    struct jp_error err;
    int rc;

    /* a damaged block is skipped */
    while ((rc = recfile_next(&walk->file, record, &err)) < 0)
        trouble(walk, err.text);
    /* damage of the compressed stream shows only at its end */
    if (rc == 0 && recfile_damage(&walk->file)) {
        error_set(&err, "%s: %s", walk->path, recfile_damage(&walk->file));
        trouble(walk, err.text);
    }
    return rc > 0;
}
