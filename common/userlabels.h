/* userlabels.h - the user's labels of a run: "model:gpt-3;run:42".
 *
 * Keys are names, values are anything but control characters, ';' and what
 * ends an option's value (','); a value may hold a ':'. The report repeats them
 * unchanged.
 */
#ifndef JP_COMMON_USERLABELS_H
#define JP_COMMON_USERLABELS_H

#include <stdbool.h>

#include "common/error.h"

#define USERLABELS_MAX 16
#define USERLABELS_KEY 32    /* bytes of a key */
#define USERLABELS_VALUE 128 /* bytes of a value */
#define USERLABELS_RANGE "at most 16 KEY:VALUE, separated by \";\""

struct userlabel {
    char key[USERLABELS_KEY + 1], value[USERLABELS_VALUE + 1];
};

/* -1: err says what is wrong, with the word at fault. */
int userlabels_check(const char *text, struct jp_error *err);

/* Takes the next label of a checked text; *at moves on. False: there is no
 * further one, or text was not checked. */
bool userlabels_next(const char **at, struct userlabel *out);

#endif
