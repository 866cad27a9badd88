/* copper_words.h - build sentences in memory. */
#ifndef JP_COPPER_COPPER_WORDS_H
#define JP_COPPER_COPPER_WORDS_H

#include <stdio.h>

struct copper_words {
    FILE *out;
    char *text;
    size_t len;
};

/* NULL: out of memory. */
FILE *copper_words_begin(struct copper_words *words);
/* The text, which the caller frees; NULL: out of memory. */
char *copper_words_end(struct copper_words *words);

#endif
