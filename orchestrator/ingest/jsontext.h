/* jsontext.h - text of the recorder's files as a JSON string. */
#ifndef JP_INGEST_JSONTEXT_H
#define JP_INGEST_JSONTEXT_H

#include <stdio.h>

/* Prints text with its quotes. text is UTF-8 without control characters, as
 * jpr_read.h gives it. */
static inline void jsontext_put(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
    putc('"', out);
}

#endif
