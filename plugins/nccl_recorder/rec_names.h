/* rec_names.h - NCCL's words as small numbers: functions, datatypes, the rest.
 *
 * NCCL hands over strings whose life is its own. The hot path keeps numbers;
 * the writer turns them into text again. A word that is not known yet gets the
 * next number while there are any, without a lock; after that it is the last
 * number's "other". Names are never taken back. Number 0 is "".
 */
#ifndef JP_REC_NAMES_H
#define JP_REC_NAMES_H

#include <stdint.h>

/* Numbers are below these. */
enum { JP_REC_FUNCS = 24, JP_REC_WORDS = 64 };

/* The number that "Broadcast" always has. */
enum { JP_REC_FUNC_BROADCAST = 6 };

/* What a thread asked last: NCCL's strings are mostly the same few addresses.
 * All zeros to begin with. */
struct jp_rec_name_cache {
    struct {
        const char *text; /* as NCCL gave it; the bytes are compared again */
        unsigned number;
    } entries[16];
};

/* Number of a function's name ("AllReduce") or of any other word (datatype,
 * algorithm, protocol); NULL is "". Longer than 31 bytes is cut. A cache
 * serves one of the two. */
unsigned rec_names_func(struct jp_rec_name_cache *cache, const char *name);
unsigned rec_names_word(struct jp_rec_name_cache *cache, const char *word);

/* The text; one address for each number, for ever. */
const char *rec_names_func_text(unsigned number);
const char *rec_names_word_text(unsigned number);

/* Names of the numbers that interface v1 hands over; NULL for unknown ones. */
const char *rec_names_v1_func(unsigned number);
const char *rec_names_v1_datatype(unsigned number);

/* Bytes of one element of a datatype by its word's number; 0 where it is not
 * known. "Unknown" is one byte: so NCCL calls uint8 (2.24 to 2.30). */
uint64_t rec_names_datatype_bytes(unsigned word);

#endif
