/* reader.h - one line of an Inspector log becomes one record.
 *
 * Format: NVIDIA's Inspector v4.0 JSON lines, as its plugin and our recorder
 * write them: {"header":{..},"metadata":{..},"coll_perf":{..}} or "p2p_perf".
 * Read leniently: any order of keys, blanks, escapes, unknown keys however
 * nested (verbose traces among them), an absent comm_name, timing source or
 * metadata. n_ranks and nnodes both 0 are "unknown" (our recorder under NCCL
 * before 2.27): such a line has no bandwidth. Trusted is nothing: rank <
 * n_ranks <= 1,048,576, 1 <= nnodes <= n_ranks, id is 0x and at most 16 hex
 * digits, names of hosts and functions are printable ASCII of limited length,
 * numbers have limits.
 *
 * With a cache the reader speculates on a line's structure: what is laid out as
 * lines before it is compared instead of parsed (reader_parts.h), any surprise
 * goes to the generic parser, which alone defines the meaning. The record is
 * the same either way, and the ways are counted.
 */
#ifndef JP_NCCL_INSPECTOR_READER_H
#define JP_NCCL_INSPECTOR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record.h"

enum inspector_line {
    INSPECTOR_RECORD,
    INSPECTOR_BLANK, /* nothing but blanks */
    INSPECTOR_OTHER, /* a JSON object, but no coll_perf or p2p_perf in it */
    INSPECTOR_BAD    /* why and bad say what */
};

/* Of the records read, how many were compared, parsed and kept for comparing,
 * or parsed because they are laid out in a way that is not known (which way
 * one goes then depends on that line alone). */
struct inspector_ways {
    uint64_t speculated, learned, odd;
};

/* What speculation remembers, from file to file; one a thread. NULL without
 * memory. Destroy takes NULL. */
struct inspector_cache;
struct inspector_cache *inspector_cache_create(void);
void inspector_cache_destroy(struct inspector_cache *cache);

/* One a thread; zero-initialised by its owner, nothing to free. */
struct inspector_reader {
    struct inspector_cache *cache; /* borrowed; NULL: no speculation */
    struct inspector_ways ways;    /* counted only with a cache */
    char why[64];    /* of the last INSPECTOR_BAD: "bad \"coll_sn\"" */
    enum jp_bad bad; /* its kind */
    char name[RECORD_MAX_NAME + 1];
    char host[RECORD_MAX_HOST + 2];
    char func[RECORD_MAX_FUNC + 2];
    char id[RECORD_MAX_ID + 2];
};

/* Reads a line of len bytes (without its newline). Texts in *out are borrowed
 * from the line or the reader until the next call. *out is undefined unless
 * INSPECTOR_RECORD is returned. */
enum inspector_line inspector_read_line(struct inspector_reader *reader,
                                        const char *line, size_t len,
                                        struct record *out);

/* The line at the front of len bytes, with its newline, without looking for
 * that first: only where speculation succeeds. *used bytes were taken. False:
 * ask inspector_read_line. */
bool inspector_read_ahead(struct inspector_reader *reader, const char *text,
                          size_t len, struct record *out, size_t *used);

#endif
