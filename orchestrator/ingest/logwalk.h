/* logwalk.h - which files below the given inputs are profilers' logs, in order
 * of path.
 *
 * Folders are read recursively (LOGWALK_MAX_DEPTH levels); a symbolic link is
 * followed only where it is itself an input and leads to a folder. Names decide
 * inside folders: .jpr .jpr.gz .log .log.gz .jsonl .jsonl.gz are logs; .json
 * .json.gz .txt may be traces of the example plugin (2.23 to 2.26 write .txt),
 * unless they are called as jobprof's own files; logs of Copper's daemons
 * (*-output.log) are told by their first line, or are empty, and passed over;
 * anything else is no concern of ours. A file given by name is taken whatever
 * it is called; what it holds its first bytes tell (plugins/reader.h). One file
 * seen twice (inputs that overlap, hard links) is taken once.
 */
#ifndef JP_INGEST_LOGWALK_H
#define JP_INGEST_LOGWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

#define LOGWALK_MAX_DEPTH 32

struct jp_logfile {
    char *path;
    uint64_t size; /* as seen by the walk */
    int64_t mtime_us;
    bool maybe; /* by its name: a trace, or no concern of ours */
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
#endif
