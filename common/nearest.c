/* nearest.c - find the nearest word by edit distance, to propose a
 * correction. */
#include "common/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define MAX_WORD 63
/* A distance above all limits, for words that are too long. */
#define FAR 1000u

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;

    return m < c ? m : c;
}

static int same(char a, char b)
{
    return tolower((unsigned char) a) == tolower((unsigned char) b);
}

/* Optimal string alignment (Damerau-Levenshtein without repeated edits of one
 * place). Three rows of the matrix are enough: the one before the previous row
 * is needed for swapped neighbours. */
unsigned nearest_distance(const char *a, const char *b)
{
    unsigned rows[3][MAX_WORD + 1];
    unsigned *before = rows[0], *prev = rows[1], *now = rows[2], *spare;
    size_t n = strlen(a), m = strlen(b);

    if (n > MAX_WORD || m > MAX_WORD)
        return FAR;
    for (size_t j = 0; j <= m; j++)
        prev[j] = (unsigned) j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = (unsigned) i;
        for (size_t j = 1; j <= m; j++) {
            unsigned cost = same(a[i - 1], b[j - 1]) ? 0 : 1;

            now[j] = min3(prev[j] + 1, now[j - 1] + 1, prev[j - 1] + cost);
            /* Two neighbours that were swapped cost one edit. */
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
                same(a[i - 2], b[j - 1]) && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        spare = before;
        before = prev;
        prev = now;
        now = spare;
    }
    return prev[m];
}

/* Whether one word begins with the other, ignoring case: "mem" and "memory". At
 * least three bytes must agree. */
static bool is_prefix(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    size_t least = n < m ? n : m;

    return least >= 3 && strncasecmp(a, b, least) == 0;
}

const char *nearest_find(const char *word, const char *const *words, size_t n)
{
    size_t len = strlen(word);
    /* One more than the most edits that are accepted for a word of this
     * length. */
    unsigned best = (len <= 4 ? 1 : len <= 8 ? 2 : 3) + 1;
    const char *found = NULL;

    for (size_t i = 0; i < n; i++) {
        unsigned d = words[i] ? nearest_distance(word, words[i]) : FAR;

        /* The first of equally near words wins. */
        if (d < best) {
            best = d;
            found = words[i];
        }
    }
    for (size_t i = 0; !found && i < n; i++)
        if (words[i] && is_prefix(word, words[i]))
            found = words[i];
    return found;
}
