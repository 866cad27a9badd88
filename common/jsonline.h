/* jsonline.h - members of a line that is a flat JSON object, without a parser:
 * files of agents have many such lines.
 *
 * A member is found by a search for "key":, so the line must not have objects
 * within it, or escaped quotes. It is foreign input. Each function returns
 * false, and leaves *out unchanged, if the member is missing or is no such
 * value. */
#ifndef JP_COMMON_JSONLINE_H
#define JP_COMMON_JSONLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole number from min to max. */
bool jsonline_int(const char *line, const char *key, int64_t min, int64_t max,
                  int64_t *out);
/* A finite number. */
bool jsonline_real(const char *line, const char *key, double *out);
/* A text without escapes, with NUL into out of that size. */
bool jsonline_text(const char *line, const char *key, char *out, size_t size);

#endif
