/* clean.h - make foreign text harmless to print.
 *
 * Names of hosts, communicators, functions and jobs come from profilers' files:
 * they may hold control characters, bytes that are no UTF-8 (jansson refuses
 * those) or kilobytes of anything.
 */
#ifndef JP_REPORT_CLEAN_H
#define JP_REPORT_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

/* Longest text that reaches a report, in bytes with the NUL. */
#define JP_CLEAN_MAX 4096

enum jp_clean { JP_CLEAN_UTF8, JP_CLEAN_ASCII };

/* Copies text into buf (size >= 8). '?' stands for each control character,
 * line or paragraph separator, bidirectional control and invalid byte; with
 * JP_CLEAN_ASCII for each character beyond ASCII too. What does not fit ends
 * in "...". NULL counts as "". Returns buf. */
char *clean_text(const char *text, enum jp_clean how, char *buf, size_t size);

/* The same with a buffer of its own; caller frees. NULL: out of memory. */
char *clean_dup(const char *text, enum jp_clean how, size_t max);

/* Length in bytes of the UTF-8 character at text, 0: none starts there. */
unsigned clean_utf8_char(const char *text, unsigned *code);

/* True where the environment's locale (LC_ALL, LC_CTYPE, LANG) is UTF-8. */
bool clean_locale_is_utf8(void);

#endif
