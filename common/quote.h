/* quote.h - foreign text in messages: short, and harmless to a terminal.
 *
 * Printable ASCII and well-formed UTF-8 stay; control characters (also those
 * that UTF-8 encodes), marks that turn the direction of writing, and bytes that
 * are no UTF-8 become \xHH.
 */
#ifndef JP_COMMON_QUOTE_H
#define JP_COMMON_QUOTE_H

#include <stdio.h>

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

/* Writes the whole text so, without cutting. */
void quote_print(FILE *out, const char *text);

#endif
