/* quote.h - foreign text in messages: short, and harmless to a terminal.
 *
 * Printable ASCII and well-formed UTF-8 stay; control characters (also those
 * that UTF-8 encodes), marks that turn the direction of writing, and bytes that
 * are invalid UTF-8 become \xHH.
 */
#ifndef JP_COMMON_QUOTE_H
#define JP_COMMON_QUOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether a terminal may get this character: no control of C0 or C1, nothing
 * without a width, nothing that ends a line or turns the direction of writing,
 * no noncharacter. The only such list. */
bool quote_is_harmless(uint32_t point);

/* Longest part of a value that a message shows, in bytes. */
#define JP_QUOTE_SHOWN 60
/* Room for it: each byte as \xHH, "..." and NUL. */
#define JP_QUOTE_LEN (4 * JP_QUOTE_SHOWN + 4)

/* Text ("" for NULL) into buf, cut with "..." behind JP_QUOTE_SHOWN bytes.
 * Returns buf. */
const char *quote_text(const char *text, char buf[JP_QUOTE_LEN]);

/* A buffer for one value of one message, for the calls above and below:
 * error_set(err, "\"%s\" is odd", QUOTE(text)). It lives as long as the
 * enclosing block. */
#define QUOTE(text) quote_text(text, (char[JP_QUOTE_LEN]){""})

/* Text into buf, with "..." for the front of what does not fit: the end of a
 * path says more. len is 8 at least. */
void quote_shorten(const char *text, char *buf, size_t len);

/* Writes the whole text so, without cutting; NULL counts as "". */
void quote_print(FILE *out, const char *text);

/* printf that quotes its %s arguments. Use it for names from files, XML, hosts
 * or records on a terminal. The format itself is not quoted. %n and %p are not
 * supported. Returns the bytes written, less than 0 if out has failed. */
int quote_printf(FILE *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The JSON text of the character at s, which has *n bytes: \uXXXX, or a pair of
 * these, for harmful ones; '/' is also escaped if slash is set. Returns the
 * length. */
enum { QUOTE_JSON_UNIT = 13 };
size_t quote_json_unit(const char *s, bool slash, size_t *n,
                       char buf[QUOTE_JSON_UNIT]);

/* A whole text so, as far as whole characters fit. Returns the length. */
size_t quote_json_escape(const char *text, bool slash, char *buf, size_t size);

/* A stream in front of out for JSON: harmful characters of its texts become
 * \uXXXX, bytes that are invalid UTF-8 \ufffd. Close it; out stays open. NULL
 * without memory. */
FILE *quote_json_open(FILE *out);

/* --- foreign text for a report: what no reader may get becomes '?' --- */

/* Longest text that reaches a report, in bytes with the NUL. */
#define JP_CLEAN_MAX 4096

enum jp_clean { JP_CLEAN_UTF8, JP_CLEAN_ASCII };

/* Copies text into buf (size >= 8). '?' replaces each control character, line
 * or paragraph separator, bidirectional control and invalid byte, and with
 * JP_CLEAN_ASCII each character beyond ASCII. A text that does not fit ends in
 * "...". NULL counts as "". Returns buf. */
char *clean_text(const char *text, enum jp_clean how, char *buf, size_t size);

#endif
