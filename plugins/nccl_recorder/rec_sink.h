/* rec_sink.h - the file of one process, and how large it may grow.
 *
 * Name: <hostname>-pid<pid>.jpr; where that exists already (two containers may
 * share host name and pid), "-1", "-2", ... before the suffix. Nothing is ever
 * overwritten; mode 0600. One caller at a time (the writer thread).
 *
 * The cap: most of JOBPROF_RECORDER_DISK is for everything; when that is used
 * up, or the file system has less free than JOBPROF_RECORDER_MIN_FREE, the
 * sink is "full", and what is left is an allowance for the little that a full
 * sink still takes: a sixteenth of the cap, 128 KiB at least (half of a cap
 * below 256 KiB) and 1 MiB at most.
 *
 * A program may close descriptors that it has not opened, as one that becomes a
 * daemon does, and its own files then get their numbers. Device and inode are
 * compared with what was opened before each write and close: where they differ
 * the sink is lost. It then touches neither descriptor again, and refuses all
 * blocks until rec_sink_close(), so that what was in them counts as lost.
 */
#ifndef JP_REC_SINK_H
#define JP_REC_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/nccl_recorder/jpr_frame.h"
#include "plugins/nccl_recorder/rec_env.h"

/* Opens the directory, which may take as long as its file system does. Returns
 * NULL, or why it cannot be used (static text); then nothing changed. */
const char *rec_sink_init(const char *dir,
                          const struct jp_rec_settings *settings);

bool rec_sink_ready(void);

/* Whether only the allowance is left; looks at the file system once a second
 * and each MiB, where little more than `min_free` is free each 256 KiB. */
bool rec_sink_is_full(void);

/* Bytes of the allowance that are left, 0 with none; UINT64_MAX while the
 * sink is not full. */
uint64_t rec_sink_allowance(void);

/* Bytes of the cap that are left before only the allowance is; UINT64_MAX
 * without a cap. */
uint64_t rec_sink_room(void);

/* Closes what is still ours, back to not ready; for a forked child too. */
void rec_sink_close(void);

/* Allocates once (about 800 KB with zlib's), empties. 0 or -1. */
int rec_blocks_init(void);

/* An empty payload to fill; valid until the next call. */
struct jpr_out *rec_blocks_payload(void);

/* Adds a block, an empty payload is left out; bytes it takes in the file. */
size_t rec_blocks_add(enum jpr_block type, const uint8_t *raw, size_t n);

/* Writes what was added since the last call, all or nothing: 0 or -1. */
int rec_blocks_write(bool last);

/* Whether a write ever succeeded. */
bool rec_blocks_ever(void);

/* Produced, written, lost, left out: the writer's side. */

/* Whose operation it is. */
struct jp_rec_who {
    uint16_t comm; /* place in the table of communicators */
    uint8_t kind;
    uint8_t func;
};

void rec_tally_init(void);

void rec_tally_written(struct jp_rec_who who);
void rec_tally_left_out(struct jp_rec_who who);
/* It was counted as written but is not in the file. */
void rec_tally_take_back(struct jp_rec_who who, bool on_purpose);

/* Adds blocks of counters if any changed since the last, or where they are to
 * be told `anyway`. */
enum jp_rec_tally {
    JP_REC_TALLY_NONE,
    JP_REC_TALLY_BEAT,
    JP_REC_TALLY_CHANGED
};
enum jp_rec_tally rec_tally_add(uint64_t in_flight, bool final, bool anyway);

/* What was told is in the file; or it is not, and is told again. */
void rec_tally_told(bool in_file);

/* Frees the places of communicators of which everything is in the file, or,
 * where that takes no more (`anyway`), was at least counted. */
void rec_tally_release(bool anyway);

#endif
