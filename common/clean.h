/* clean.h - foreign text for a report: what no reader may get becomes '?'. */
#ifndef JP_COMMON_CLEAN_H
#define JP_COMMON_CLEAN_H

#include <stddef.h>

/* Longest text that reaches a report, in bytes with the NUL. */
#define JP_CLEAN_MAX 4096

enum jp_clean { JP_CLEAN_UTF8, JP_CLEAN_ASCII };

/* Copies text into buf (size >= 8). '?' stands for each control character,
 * line or paragraph separator, bidirectional control and invalid byte; with
 * JP_CLEAN_ASCII for each character beyond ASCII too. What does not fit ends
 * in "...". NULL counts as "". Returns buf. */
char *clean_text(const char *text, enum jp_clean how, char *buf, size_t size);

#endif
