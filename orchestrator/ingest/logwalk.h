/* logwalk.h - which files below the given inputs are profilers' logs, in order
 * of path.
 *
 * Folders are read recursively (LOGWALK_MAX_DEPTH levels); a symbolic link is
 * followed only where it is itself an input and leads to a folder. Names decide
 * inside folders: .jpr .jpr.gz .log .log.gz .jsonl .jsonl.gz are logs; .json
 * .json.gz .txt may be traces of the example plugin (2.23 to 2.26 write .txt),
 * unless they are called as jobprof's own files; logs of Copper's daemons
 * (*-output.log) are recognised by their first line, or are empty, and skipped;
 * any other file is ignored. A file given by name is taken whatever its name
 * is; its first bytes decide which reader takes it (plugins/reader.h). A file
 * seen twice (inputs that overlap, hard links) is taken once.
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
    uint64_t size; /* as seen by the walk */
    int64_t mtime_us;
    bool maybe; /* by its name: a trace, or a file to ignore */
    dev_t dev;
    ino_t ino;
};

/* Something that is not read, and why. */
struct jp_logskip {
    char *path;
    const char *why; /* constant: "symbolic link", "FIFO" ... */
};

struct jp_logwalk {
    struct jp_logfile *logs; /* sorted by path */
    size_t n_logs;
    struct jp_logskip *skips; /* sorted by path */
    size_t n_skips;
    uint64_t bytes; /* of logs */
};

/* 0, or -1: no memory, or an input does not exist or cannot be read. */
int logwalk_init(struct jp_logwalk *walk, const char *const *inputs,
                 size_t n_inputs, struct jp_error *err);
void logwalk_fini(struct jp_logwalk *walk);

/* --- the recorder's files among them, one after the other
 * ---------------------
 *
 *     while ((file = recwalk_open(&walk)))
 *         while (recwalk_record(&walk, &record))
 *             ...
 *
 * Files that are not the recorder's are counted and passed over. Trouble with
 * a file (unreadable, a damaged block) is counted and passed to `say`, and the
 * walk goes on.
 */

struct jp_recwalk {
    /* gets one sentence that names file and offset; NULL: not wanted */
    void (*say)(void *arg, const char *text);
    void *arg;
    /* called before each file is opened; non-zero ends the walk (stopped).
     * May be NULL */
    int (*look)(void *arg);
    void *look_arg;
    bool stopped;
    struct jp_logwalk walk;
    size_t next;       /* of walk.logs */
    const char *path;  /* of the open file */
    const char *below; /* the same without the input it was found in */
    const char *const *inputs;
    size_t n_inputs;
    bool is_open;
    struct jp_recfile file;
    uint64_t files, others;
    uint64_t troubles; /* damaged or unreadable: data is missing */
};

/* inputs are borrowed. 0, or -1: no such input, no memory. */
int recwalk_init(struct jp_recwalk *walk, const char *const *inputs, size_t n,
                 struct jp_error *err);
/* Starts again at the first file, with all counts 0. */
void recwalk_rewind(struct jp_recwalk *walk);
void recwalk_fini(struct jp_recwalk *walk);

/* Opens the next file, closing the one before; NULL at the end. */
struct jp_recfile *recwalk_open(struct jp_recwalk *walk);
/* The next record of the open file; false at its end. */
bool recwalk_record(struct jp_recwalk *walk, struct jpr_record *record);

#endif
