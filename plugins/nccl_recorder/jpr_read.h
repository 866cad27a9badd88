/* jpr_read.h - reads a recorder file, record by record.
 *
 *     struct jpr_reader *r = jpr_open(path, &err);
 *     struct jpr_record record;
 *     int rc;
 *
 *     while ((rc = jpr_next(r, &record, &err)) != 0) {
 *         if (rc < 0)
 *             ... a damaged block: say err, then continue or give up ...
 *         else
 *             ... switch (record.type) ...
 *     }
 *     if (jpr_end(r)->cut) ...
 *     jpr_close(r);
 *
 * Nothing in a file is trusted. Lengths, counts and indices are checked. Text
 * is cut at the first NUL, and bytes that are not UTF-8 as well as control
 * characters become '?'. Memory is bounded: 14 MB for a block, 16 MB for all
 * communicators; a file of the recorder needs a tenth of that. Errors name the
 * file and the offset of the block. A file may grow while it is read: its end
 * is where it is when jpr_next() gets there.
 *
 * Operations whose times are in a later block (jpr_op.later) have them here:
 * the reader looks ahead for them, at most JPR_MAX_LATER_BYTES. That takes
 * another 2 MB, and of a stream what lies between.
 */
#ifndef JP_JPR_READ_H
#define JP_JPR_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"
#include "plugins/nccl_recorder/jpr.h"
#include "plugins/nccl_recorder/jpr_frame.h"

struct jpr_reader;

enum jpr_type {
    JPR_HEADER,
    JPR_COMM,
    JPR_OP,
    JPR_INFLIGHT,
    JPR_COUNTERS, /* .final: the trailer */
    JPR_PROCESS,
    JPR_ROOM,
};

enum { JPR_TYPES = JPR_ROOM + 1 }; /* their number */

/* One record. What its pointers point to is borrowed until the next call of
 * jpr_next(); a communicator until jpr_close(). */
struct jpr_record {
    enum jpr_type type;
    union {
        const struct jpr_header *header;
        const struct jpr_comm *comm;
        const struct jpr_op *op;
        const struct jpr_inflight *inflight;
        const struct jpr_counters *counters;
        const struct jpr_process *process;
        const struct jpr_room *room;
    };
};

/* How the file ends; valid after jpr_next() has returned 0. */
struct jpr_end {
    bool complete; /* a trailer was the last block */
    bool cut; /* the last block is not complete: the process was killed, the
                 disk was full */
    uint64_t offset;  /* bytes of whole blocks up to the end or the cut */
    uint64_t damaged; /* blocks that were skipped (jpr_next said -1) */
    uint64_t n_ops;   /* operations read */
    uint64_t raw;     /* bytes of the payloads unpacked so far */
};

/* Reads up to cap bytes into buf. Returns how many; 0 at the end; -1 with
 * errno. */
typedef ssize_t jpr_fill(void *arg, void *buf, size_t cap);

/* Opens a file. NULL when it cannot be read or does not begin like a
 * recorder's. A file cut within its first 12 bytes opens and is empty. */
struct jpr_reader *jpr_open(const char *path, struct jp_error *err);

/* The same for bytes in memory, borrowed until jpr_close(); errors use `name`.
 */
struct jpr_reader *jpr_open_bytes(const void *bytes, size_t n, const char *name,
                                  struct jp_error *err);

/* The same for a stream (a compressed file), which fill() gives from its
 * beginning; arg is borrowed until jpr_close(). */
struct jpr_reader *jpr_open_stream(jpr_fill *fill, void *arg, const char *name,
                                   struct jp_error *err);

/* Reads the next record: 1; 0 at the end, complete or not; -1 for a damaged
 * block or a read error. After -1 the next call continues after the damage; a
 * file with more than 16 damaged blocks ends there. */
int jpr_next(struct jpr_reader *reader, struct jpr_record *record,
             struct jp_error *err);

const struct jpr_end *jpr_end(const struct jpr_reader *reader);

/* Which blocks of operations are skipped unread. */
enum jpr_pass {
    JPR_PASS_NONE,  /* as a file opens */
    JPR_PASS_ENDED, /* operations that have ended, but not those in flight */
    JPR_PASS_OPS,   /* both: the header, communicators and counters remain */
};

/* Holds from the next block on. */
void jpr_pass(struct jpr_reader *reader, enum jpr_pass pass);

/* The buffers for a block, 3 MiB. Each reader has its own, except those that
 * share one because they follow files that are read in turn. NULL without
 * memory. */
struct jpr_scratch *jpr_scratch_create(void);
/* Only after all readers that share it were closed. NULL is fine. */
void jpr_scratch_destroy(struct jpr_scratch *scratch);

/* For a file that is still being written. From now on a 0 of jpr_next() means
 * "nothing more yet". The next call continues where it stopped, at the begin of
 * the last block if that was not complete. shared: buffers that are used
 * instead of the reader's own; NULL: none. While jpr_is_between() is false, no
 * other reader with these buffers may read: the rest of the block would be
 * lost. */
void jpr_follow(struct jpr_reader *reader, struct jpr_scratch *shared);

/* Whether all records of the last block were read. */
bool jpr_is_between(const struct jpr_reader *reader);

/* Returns how many bytes of the file have been read. */
uint64_t jpr_taken(const struct jpr_reader *reader);

/* Ends the file here, as if it were damaged. Returns -1; err gets `why`. */
int jpr_stop(struct jpr_reader *reader, const char *why, struct jp_error *err);

/* Returns a communicator by its index, or NULL if the file has not described it
 * (yet). In a file without damage it comes before its first operation. */
const struct jpr_comm *jpr_comm(const struct jpr_reader *reader,
                                uint32_t index);

/* NULL is fine. */
void jpr_close(struct jpr_reader *reader);

/* --- jpr_unpack.c ------------------------------------------------------- */

/* Where texts go when they are read: NUL-terminated and printable. */
struct jpr_texts {
    char *bytes;
    size_t used;
    /* the payload's size is enough, as a NUL replaces each length */
    size_t size;
};

/* Returns one text, or "" where it is missing or there is no room. */
const char *jpr_texts_get(struct jpr_texts *texts, struct jpr_in *in);

/* The payload of one block into records, trusting nothing. */

struct jpr_unpacked;

/* What the largest block needs, so that a block needs no allocation except for
 * templates, counters and communicators. */
struct jpr_scratch {
    uint8_t *disk;           /* the payload as it is in the file */
    uint8_t *raw;            /* the payload, if it was compressed */
    char *texts;             /* of the block */
    const char **dictionary; /* texts of a block of operations */
    uint8_t *ahead;          /* the last read of a file that grows; or NULL */
    const struct jpr_reader *user; /* whose bytes these are; NULL: nobody's */
};

/* NULL without memory. */
struct jpr_unpacked *jpr_unpacked_create(void);
void jpr_unpacked_destroy(struct jpr_unpacked *u);

/* Takes the payload of a block, scratch->disk. The buffers must stay as they
 * are until all its records are read. Returns NULL, or what is wrong (static
 * text); then there are no records. */
const char *jpr_unpacked_load(struct jpr_unpacked *u,
                              const struct jpr_frame *frame,
                              const struct jpr_scratch *scratch);

/* Reads the next record of the block: 1; 0 when none is left; -1 with *why when
 * the rest is damaged. */
int jpr_unpacked_next(struct jpr_unpacked *u, struct jpr_record *record,
                      const char **why);

/* Gives the last record, an operation, these times. */
void jpr_unpacked_time(struct jpr_unpacked *u, const struct jpr_times *times);

/* Drops the block's remaining records. */
void jpr_unpacked_drop(struct jpr_unpacked *u);

/* Whether no record is left. */
bool jpr_unpacked_is_empty(const struct jpr_unpacked *u);

/* Returns a communicator of all blocks so far, or NULL. */
const struct jpr_comm *jpr_unpacked_comm(const struct jpr_unpacked *u,
                                         uint32_t index);

#endif
