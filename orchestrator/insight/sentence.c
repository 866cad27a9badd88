/* sentence.c - append clauses to a text of fixed size. */
#include "orchestrator/insight/sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sentence_init(struct jp_sentence *sentence, char *buf, size_t size)
{
    *sentence = (struct jp_sentence){.buf = buf, .size = size};
    buf[0] = '\0';
}

/* Returns the end of what fits, at the start of a UTF-8 character. */
static void end_in_dots(char *buf, size_t size)
{
    size_t at = size - 4;

    while (at > 0 && ((unsigned char) buf[at] & 0xc0) == 0x80)
        at--;
    memcpy(buf + at, "...", 4);
}

void sentence_add(struct jp_sentence *sentence, const char *fmt, ...)
{
    size_t len = strlen(sentence->buf);
    char *at = sentence->buf + len;
    size_t room = sentence->size - len;
    va_list ap;
    int n = 0;

    if (sentence->clauses++ > 0) {
        n = snprintf(at, room, "; ");
        if ((size_t) n >= room) {
            end_in_dots(sentence->buf, sentence->size);
            return;
        }
        at += n;
        room -= (size_t) n;
    }
    va_start(ap, fmt);
    n = vsnprintf(at, room, fmt, ap);
    va_end(ap);
    if (n < 0)
        *at = '\0';
    else if ((size_t) n >= room)
        end_in_dots(sentence->buf, sentence->size);
    for (unsigned char *c = (unsigned char *) at; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
}
