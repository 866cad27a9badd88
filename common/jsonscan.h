/* jsonscan.h - examine JSON before a parser makes a tree of it.
 *
 * A tree takes up to ninety times the bytes of its text ("[{},{},..."), so a
 * limit of the file's size is not enough. This computes the size of the tree as
 * jansson 2.14 and glibc allocate it, and removes unneeded members. It does not
 * tell whether the text is JSON: the parser does.
 */
#ifndef JP_COMMON_JSONSCAN_H
#define JP_COMMON_JSONSCAN_H

#include <stddef.h>

#include "common/error.h"

/* Deeper is nothing that jobprof writes. */
#define JSONSCAN_DEPTH 32
/* Nor is a longer text, of which a parser makes copies that grow. */
#define JSONSCAN_TEXT_MAX (1024 * 1024)

/* Bytes that a tree of the text takes, rounded up. -1: it is nested too deep,
 * has too long a text or would take more than max. */
int jsonscan_cost(const char *text, size_t len, size_t max, size_t *cost,
                  struct jp_error *err);

/* Takes the members named in drop (NULL ends) out of the outermost object, in
 * place. Returns the new length. What is no object stays. */
size_t jsonscan_drop(char *text, size_t len, const char *const *drop);

#endif
