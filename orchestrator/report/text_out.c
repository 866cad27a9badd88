/* text_out.c - clip, clean and wrap lines. */
#include "orchestrator/report/text_out.h"

#include <stdarg.h>
#include <string.h>

#include "orchestrator/report/clean.h"

void text_out_line(FILE *out, const char *fmt, ...)
{
    char raw[4 * JP_TEXT_COLUMNS], line[JP_TEXT_COLUMNS + 1];
    size_t len;
    va_list ap;

    va_start(ap, fmt);
    if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
        raw[0] = '\0';
    va_end(ap);
    clean_text(raw, JP_CLEAN_ASCII, line, sizeof(line));
    len = strlen(line);
    while (len > 0 && line[len - 1] == ' ')
        line[--len] = '\0';
    fprintf(out, "%s\n", line);
}

/* How much of text (longer than room) goes into a line. */
static size_t break_at(const char *text, size_t room)
{
    size_t at = room;

    while (at > 0 && text[at] != ' ')
        at--;
    return at ? at : room;
}

void text_out_wrap(FILE *out, unsigned at, unsigned indent, const char *text)
{
    char buf[JP_CLEAN_MAX];
    const char *rest = clean_text(text, JP_CLEAN_ASCII, buf, sizeof(buf));
    size_t room = JP_TEXT_COLUMNS - at;

    while (strlen(rest) > room) {
        size_t n = break_at(rest, room);

        fprintf(out, "%.*s\n%*s", (int) n, rest, (int) indent, "");
        rest += n;
        while (*rest == ' ')
            rest++;
        room = JP_TEXT_COLUMNS - indent;
    }
    fprintf(out, "%s\n", rest);
}
