/* nearest.h - the valid word that a mistyped one was meant to be.
 */
#ifndef JP_COMMON_NEAREST_H
#define JP_COMMON_NEAREST_H

#include <stddef.h>

/* The edit distance of a and b: insert, delete, replace, or swap neighbours;
 * case is ignored. Words longer than 63 bytes are far from everything. */
unsigned nearest_distance(const char *a, const char *b);

/* The nearest of n words (NULL entries are skipped), or NULL if none is near:
 * at most one edit in a word of up to four bytes, two up to eight, else three.
 * Borrowed from words. */
const char *nearest_find(const char *word, const char *const *words, size_t n);

#endif
