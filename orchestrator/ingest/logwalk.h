/* logwalk.h - list the profilers' logs below the given inputs, ordered by path.
 *
 * Folders are read recursively, up to LOGWALK_MAX_DEPTH levels. A symbolic link
 * is followed only if it is itself an input and leads to a folder. Inside
 * folders, the name decides. .jpr .jpr.gz .log .log.gz .jsonl .jsonl.gz are
 * logs. .json .json.gz .txt may be traces of the example plugin (2.23 to 2.26
 * write .txt), except for names that jobprof's own files use. What a backend
 * knows to be something else (its other_log) is skipped. All other files are
 * ignored. A file that is given by name is taken whatever its name is; its
 * first bytes determine the reader (plugins/reader.h). A file found twice
 * (overlapping inputs, hard links) is taken once.
 */
#ifndef JP_INGEST_LOGWALK_H
#define JP_INGEST_LOGWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "plugins/nccl_recorder/recfile.h"

#define LOGWALK_MAX_DEPTH 32

struct jp_logfile {
    char *path;
    uint64_t size; /* at the time of the walk */
    int64_t mtime_us;
    bool maybe; /* ambiguous name: a trace, or a file to ignore */
    dev_t dev;
    ino_t ino;
};

/* The reason of a folder that cannot be opened. */
#define LOGWALK_NO_FOLDER "folder cannot be read"

/* An entry that is not read, and the reason. */
struct jp_logskip {
    char *path;
    const char *why; /* constant: "symbolic link", "FIFO" ... */
};

struct jp_logwalk {
    struct jp_logfile *logs; /* sorted by path */
    size_t n_logs;
    struct jp_logskip *skips; /* sorted by path */
    size_t n_skips;
    uint64_t bytes; /* sum over the logs */
};

/* Whether a name is one of a log, whatever the file holds. */
bool logwalk_is_log(const char *name);
/* Whether a folder's file of this name is looked at. */
bool logwalk_takes(const char *name);

/* Returns 0, or -1: no memory, or an input does not exist or cannot be read. */
int logwalk_init(struct jp_logwalk *walk, const char *const *inputs,
                 size_t n_inputs, struct jp_error *err);
void logwalk_fini(struct jp_logwalk *walk);

/* The index of the input that contains the path, the longest one if inputs are
 * nested; n: none. */
size_t logwalk_input_of(const char *const *inputs, size_t n, const char *path);

enum logwalk_use {
    LOGWALK_KEEP,
    LOGWALK_DROP, /* another reader takes it */
    LOGWALK_SKIP  /* no reader takes it: it becomes a skipped entry, unless it
                     is a .txt file, of which other programs leave many */
};
/* Decides on each log. Returns 0, or -1 without memory. */
int logwalk_filter(struct jp_logwalk *walk,
                   enum logwalk_use (*use)(const void *arg, const char *path),
                   const void *arg);

/* --- the recorder's files among them, one after the other
 * ---------------------
 *
 *     while ((file = recwalk_open(&walk)))
 *         while (recwalk_record(&walk, &record))
 *             ...
 *
 * Files of other profilers are counted and skipped. An error in a file
 * (unreadable, a damaged block) is counted and passed to `say`, and the walk
 * continues.
 */

struct jp_recwalk {
    /* receives one sentence per error, with file and offset; NULL: not
     * wanted */
    void (*say)(void *arg, const char *text);
    void *arg;
    /* called before each file is opened; a non-zero result ends the walk
     * (stopped). NULL: not wanted */
    int (*look)(void *arg);
    void *look_arg;
    bool stopped;
    struct jp_logwalk walk;
    size_t next;       /* index in walk.logs */
    const char *path;  /* path of the open file */
    const char *below; /* the same, relative to its input */
    const char *const *inputs;
    size_t n_inputs;
    bool is_open;
    struct jp_recfile file;
    uint64_t files, others;
    uint64_t troubles; /* damaged or unreadable places: data is missing */
};

/* Borrows inputs. Returns 0, or -1: no such input, or no memory. */
int recwalk_init(struct jp_recwalk *walk, const char *const *inputs, size_t n,
                 struct jp_error *err);
/* Restarts at the first file and sets all counts to 0. */
void recwalk_rewind(struct jp_recwalk *walk);
void recwalk_fini(struct jp_recwalk *walk);

/* Closes the current file and opens the next one; NULL at the end. */
struct jp_recfile *recwalk_open(struct jp_recwalk *walk);
/* Reads the next record of the open file; false at its end. */
bool recwalk_record(struct jp_recwalk *walk, struct jpr_record *record);

#endif
