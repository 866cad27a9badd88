/* quote.h - foreign text in messages: short, and harmless to a terminal.
 *
 * Printable ASCII and well-formed UTF-8 stay. Control characters (including
 * those encoded by UTF-8), marks that change the direction of writing, and
 * bytes that are not UTF-8 become \xHH.
 */
#ifndef JP_COMMON_QUOTE_H
#define JP_COMMON_QUOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether a character is harmless to a terminal: not a control character of C0
 * or C1, not without width, not ending a line or changing the direction of
 * writing, not a noncharacter. This is the only such list. */
bool quote_is_harmless(uint32_t point);

/* The bytes of a value that a message shows at most. */
#define JP_QUOTE_SHOWN 60
/* Room for such a value: each byte as \xHH, "..." and NUL. */
#define JP_QUOTE_LEN (4 * JP_QUOTE_SHOWN + 4)

/* Writes text ("" for NULL) into buf, cut with "..." after JP_QUOTE_SHOWN
 * bytes. Returns buf. */
const char *quote_text(const char *text, char buf[JP_QUOTE_LEN]);

/* A value for a message, with its buffer: error_set(err, "\"%s\" is odd",
 * QUOTE(text)). The buffer lives as long as the enclosing block. */
#define QUOTE(text) quote_text(text, (char[JP_QUOTE_LEN]){""})

/* Writes text into buf. If it does not fit, "..." replaces its beginning,
 * because the end of a path is more important. len is at least 8. */
void quote_shorten(const char *text, char *buf, size_t len);

/* Prints the whole text in this way, without cutting it. NULL counts as "". */
void quote_print(FILE *out, const char *text);

/* printf that quotes its %s arguments. Use it for names from files, XML, hosts
 * or records on a terminal. The format itself is not quoted. %n and %p are not
 * supported. Returns the bytes written, less than 0 if out has failed. */
int quote_printf(FILE *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the JSON text of the character at s, which has *n bytes, into buf:
 * \uXXXX, or a pair of these, for harmful ones. slash: '/' is escaped as well.
 * Returns the length. */
enum { QUOTE_JSON_UNIT = 13 };
size_t quote_json_unit(const char *s, bool slash, size_t *n,
                       char buf[QUOTE_JSON_UNIT]);

/* The same for a whole text, cut after the last character that fits. Returns
 * the length. */
size_t quote_json_escape(const char *text, bool slash, char *buf, size_t size);

/* A stream that filters JSON for out: harmful characters of its texts become
 * \uXXXX, and bytes that are not UTF-8 become \ufffd. Close it; out stays open.
 * NULL: no memory. */
FILE *quote_json_open(FILE *out);

/* --- foreign text for a report: '?' replaces harmful characters --- */

/* Longest text that reaches a report, in bytes with the NUL. */
#define JP_CLEAN_MAX 4096

enum jp_clean { JP_CLEAN_UTF8, JP_CLEAN_ASCII };

/* Copies text into buf (size >= 8). '?' replaces each control character, line
 * or paragraph separator, bidirectional control and invalid byte, and with
 * JP_CLEAN_ASCII each character beyond ASCII. A text that does not fit ends in
 * "...". NULL counts as "". Returns buf. */
char *clean_text(const char *text, enum jp_clean how, char *buf, size_t size);

#endif
