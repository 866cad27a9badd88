/* countsfile.h - the recorder's own counters of one process.
 *
 * <hostname>-pid<pid>.counts.json beside the .log, format in docs/internals.md
 * section 4. Foreign input: at most COUNTSFILE_MAX_BYTES, negative or absurd
 * counts refuse the file.
 */
#ifndef JP_INGEST_COUNTSFILE_H
#define JP_INGEST_COUNTSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define COUNTSFILE_MAX_BYTES (16 * 1024 * 1024)

struct jp_counts {
    uint64_t produced; /* over all communicators and functions */
    uint64_t lost;     /* records_lost */
    bool finalized;    /* every communicator of the file was */
};

/* 0, or -1 with *out unchanged. */
int countsfile_read(const char *path, struct jp_counts *out,
                    struct jp_error *err);
/* The same from memory; name stands for the file in errors. */
int countsfile_parse(const char *text, size_t len, const char *name,
                     struct jp_counts *out, struct jp_error *err);

#endif
