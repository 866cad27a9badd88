/* rec_tally.h - produced, written, lost, left out: the writer's side. */
#ifndef JP_REC_TALLY_H
#define JP_REC_TALLY_H

#include <stdbool.h>
#include <stdint.h>

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
