/* sentence.h - builds a sentence of bounded length, clause by clause. */
#ifndef JP_INSIGHT_SENTENCE_H
#define JP_INSIGHT_SENTENCE_H

#include <stddef.h>
#include <stdint.h>

struct jp_sentence {
    char *buf;
    size_t size; /* > 4 */
    size_t clauses;
};

/* Starts an empty sentence in buf. */
void sentence_init(struct jp_sentence *sentence, char *buf, size_t size);

/* Adds a clause after "; " (the first one without it). Control characters
 * become '?'. A sentence that is too long ends in "...". */
void sentence_add(struct jp_sentence *sentence, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
