/* badkind.h - the ways in which a profiler's record can be bad.
 *
 * Readers of all formats return one of these with a reason. Reports count bad
 * records by kind.
 */
#ifndef JP_COMMON_BADKIND_H
#define JP_COMMON_BADKIND_H

#include <stdbool.h>
#include <stddef.h>

enum jp_bad {
    JP_BAD_SYNTAX,  /* not a JSON object, or a broken one */
    JP_BAD_BYTES,   /* the line has NUL, other control bytes or invalid UTF-8 */
    JP_BAD_MISSING, /* a required key is missing */
    JP_BAD_TYPE,    /* a string for a number, a fraction for an integer ... */
    JP_BAD_RANGE, /* a number that is impossible in a record: negative, 1e400 */
    JP_BAD_VALUE, /* a word, or values that contradict one another */
    JP_BAD_LONG,  /* a line or an object of more than 1 MiB */
    JP_BAD_KINDS
};

/* "missing_key", as summary.json and quality.csv have it. */
const char *badkind_key(enum jp_bad kind);
/* "without a key that must be there", for readers. */
const char *badkind_text(enum jp_bad kind);

/* Whether the bytes are text: UTF-8 without control bytes but blanks. */
bool badkind_is_text(const char *bytes, size_t len);

/* What is wrong with a number that was refused: JP_BAD_RANGE where one stands
 * (an integer, where that was wanted), else JP_BAD_TYPE. */
enum jp_bad badkind_of_number(const char *text, size_t len, bool integer);

/* What is odd about a file. */
struct jp_file_note {
    char *path;
    char *what; /* "cut last line", "line 118: bad ...", "not a regular file" */
};

#endif
